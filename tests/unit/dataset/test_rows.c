/* SPDX-License-Identifier: Apache-2.0 */
#include "data/rows.h"
#include "rows_of.h"

static void nested_schema(struct data_schema *s)
{
    struct type i64 = type_of(TYPE_I64, true), str = type_of(TYPE_STR, true);
    struct type list = type_list(&s->mem, str, true);
    struct type map = type_map(&s->mem, str, type_of(TYPE_F32, true), true);
    data_schema_add(s, str_c("id"), &i64);
    data_schema_add(s, str_c("name"), &str);
    data_schema_add(s, str_c("tags"), &list);
    data_schema_add(s, str_c("kv"), &map);
}

static void fill(struct batch *b, int64_t n, bool nulls)
{
    struct err err = {0};
    char text[32];
    for (int64_t i = 0; i < n; i++) {
        struct column *c = b->cols;
        snprintf(text, sizeof(text), "v%jd", (intmax_t)(i % 11));
        bool null = nulls && i % 3 == 0;
        OK(null ? column_add_null(&c[0], &err) : column_add_i64(&c[0], i, &err));
        OK(null ? column_add_null(&c[1], &err)
                : column_add_str(&c[1], str_c(text), &err));
        for (int64_t k = 0; !null && k < i % 4; k++) {
            OK(column_add_str(&c[2].kids[0], str_c(text), &err));
            OK(column_add_str(&c[3].kids[0], str_c(text), &err));
            OK(nulls && k == 1 ? column_add_null(&c[3].kids[1], &err)
                               : column_add_f32(&c[3].kids[1], (float)k, &err));
        }
        OK(null ? column_add_null(&c[2], &err) : column_add_nested(&c[2], &err));
        OK(null ? column_add_null(&c[3], &err) : column_add_nested(&c[3], &err));
    }
    OK(batch_finish(b, &err));
}

static void pieces_add_up_to_the_whole(void)
{
    struct data_schema s = {0};
    struct err err = {0};
    struct batch from, to;
    nested_schema(&s);
    for (int nulls = 0; nulls < 2; nulls++) {
        batch_init(&from, &s);
        batch_init(&to, &s);
        fill(&from, 100, nulls);
        for (int64_t at = 0, step = 1; at < 100; at += step, step = step % 9 + 1)
            OK(batch_append(&to, &from, at, at + step < 100 ? step : 100 - at, &err));
        CHECK(batch_equal(&from, &to));
        CHECK_INT(to.cols[0].n_null, from.cols[0].n_null);
        batch_release(&from);
        batch_release(&to);
    }
    data_schema_release(&s);
}

/* Without nulls first, then with them: the bitmap appears in the middle. */
static void nulls_may_come_later(void)
{
    struct data_schema s = {0};
    struct err err = {0};
    struct batch a, b, to;
    nested_schema(&s);
    batch_init(&a, &s);
    batch_init(&b, &s);
    batch_init(&to, &s);
    fill(&a, 13, false);
    fill(&b, 13, true);
    OK(batch_append(&to, &a, 0, 13, &err));
    OK(batch_append(&to, &b, 0, 13, &err));
    OK(batch_append(&to, &a, 0, 13, &err));
    for (size_t c = 0; c < s.n; c++)
        for (int64_t i = 0; i < 13; i++) {
            CHECK(column_row_equal(&to.cols[c], i, &a.cols[c], i));
            CHECK(column_row_equal(&to.cols[c], 13 + i, &b.cols[c], i));
            CHECK(column_row_equal(&to.cols[c], 26 + i, &a.cols[c], i));
        }
    batch_release(&a);
    batch_release(&b);
    batch_release(&to);
    data_schema_release(&s);
}

static void check_encoded(const struct type *t, void (*add)(struct column *, int64_t))
{
    struct err err = {0};
    struct column from, to;
    struct dict *d = dict_create(t);
    column_init(&from, t);
    column_init(&to, t);
    for (int64_t i = 0; i < 4; i++)
        add(&d->values, i);
    static const uint32_t codes[] = {3, 1, 0, 2, 2, 0};
    static const uint8_t valid[] = {0x3b}; /* row 2 is null */
    from.n = 6;
    from.n_null = 1;
    from.values = codes;
    from.valid = valid;
    from.dict = d;
    OK(column_append(&to, &from, 0, 6, &err));
    CHECK(to.dict == NULL);
    CHECK_INT(to.n_null, 1);
    CHECK(column_equal(&from, &to));
    from.values = NULL;
    from.valid = NULL;
    column_release(&from);
    column_release(&to);
}

static void add_text(struct column *c, int64_t i)
{
    struct err err = {0};
    OK(column_add_str(c, str_of("abcdef", (size_t)i + 1), &err));
}

static void add_number(struct column *c, int64_t i)
{
    struct err err = {0};
    OK(column_add_i64(c, i * 1000, &err));
}

static void encoded_columns_arrive_decoded(void)
{
    struct type str = type_of(TYPE_STR, true), i64 = type_of(TYPE_I64, true);
    check_encoded(&str, add_text);
    check_encoded(&i64, add_number);
}

static void missing_memory_is_reported(void)
{
    struct data_schema s = {0};
    struct err err = {0};
    struct batch from;
    nested_schema(&s);
    batch_init(&from, &s);
    fill(&from, 50, true);
    enum rc rc = RC_NOMEM;
    int64_t live = mem_live();
    for (int64_t n = 1; rc && n < 100; n++) {
        struct batch to;
        batch_init(&to, &s);
        mem_fail_at(n);
        rc = batch_append(&to, &from, 0, 50, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        batch_release(&to);
    }
    CHECK_INT(rc, RC_OK);
    CHECK_INT(mem_live(), live);
    batch_release(&from);
    data_schema_release(&s);
}

static const struct tap_case cases[] = {
    TAP(pieces_add_up_to_the_whole),
    TAP(nulls_may_come_later),
    TAP(encoded_columns_arrive_decoded),
    TAP(missing_memory_is_reported),
};
TAP_MAIN(cases)
