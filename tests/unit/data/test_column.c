/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "data/batch.h"
#include "tap.h"

#define OK(x) CHECK_INT((x), RC_OK)

static void make_schema(struct data_schema *s)
{
    struct type i64 = type_of(TYPE_I64, true), str = type_of(TYPE_STR, true);
    struct type f32 = type_of(TYPE_F32, true);
    struct type list = type_list(&s->mem, i64, true);
    struct type map = type_map(&s->mem, type_of(TYPE_STR, false), f32, true);
    data_schema_add(s, str_c("id"), &i64);
    data_schema_add(s, str_c("name"), &str);
    data_schema_add(s, str_c("seq"), &list);
    data_schema_add(s, str_c("kv"), &map);
}

/* Row i: null in a column when (i + column) % 5 == 0. */
static enum rc add_row(struct batch *b, int64_t i, struct err *err)
{
    char text[32];
    enum rc rc = RC_OK;
    struct column *c = b->cols;
    snprintf(text, sizeof(text), "n%jd", (intmax_t)(i % 7));
    rc = i % 5 ? column_add_i64(&c[0], i, err) : column_add_null(&c[0], err);
    if (!rc)
        rc = (i + 1) % 5 ? column_add_str(&c[1], str_c(text), err)
                         : column_add_null(&c[1], err);
    for (int64_t k = 0; !rc && (i + 2) % 5 && k < i % 3; k++)
        rc = k == 1 ? column_add_null(&c[2].kids[0], err)
                    : column_add_i64(&c[2].kids[0], k, err);
    if (!rc)
        rc = (i + 2) % 5 ? column_add_nested(&c[2], err) : column_add_null(&c[2], err);
    for (int64_t k = 0; !rc && (i + 3) % 5 && k < i % 2; k++) {
        rc = column_add_str(&c[3].kids[0], str_c(text), err);
        if (!rc)
            rc = column_add_f32(&c[3].kids[1], 0.5f, err);
    }
    if (!rc)
        rc = (i + 3) % 5 ? column_add_nested(&c[3], err) : column_add_null(&c[3], err);
    return rc;
}

static enum rc fill(struct batch *b, int64_t rows, struct err *err)
{
    enum rc rc = RC_OK;
    batch_clear(b);
    for (int64_t i = 0; !rc && i < rows; i++)
        rc = add_row(b, i, err);
    return rc ? rc : batch_finish(b, err);
}

static void rows_print_as_json(void)
{
    static const char *const want[] = {
        "{\"id\": null, \"name\": \"n0\", \"seq\": [], \"kv\": {}}",
        "{\"id\": 1, \"name\": \"n1\", \"seq\": [0], \"kv\": {\"n1\": 0.5}}",
        "{\"id\": 2, \"name\": \"n2\", \"seq\": [0, null], \"kv\": null}",
        "{\"id\": 3, \"name\": \"n3\", \"seq\": null, \"kv\": {\"n3\": 0.5}}",
        "{\"id\": 4, \"name\": null, \"seq\": [0], \"kv\": {}}",
    };
    struct data_schema s = {0};
    struct batch b;
    struct err err = {0};
    struct buf out;
    make_schema(&s);
    batch_init(&b, &s);
    buf_init(&out, 1 << 20);
    OK(fill(&b, 5, &err));
    CHECK_INT(b.n, 5);
    CHECK_INT(b.cols[0].n_null, 1);
    for (int64_t i = 0; i < 5; i++) {
        buf_clear(&out);
        batch_print_json(&b, i, &out);
        CHECK_STR(buf_str(&out), want[i]);
    }
    buf_release(&out);
    batch_release(&b);
    data_schema_release(&s);
}

static void print_as(const struct type *t, int64_t v, const char *want)
{
    struct column c;
    struct buf out;
    buf_init(&out, 1024);
    column_init(&c, t);
    if (t->id == TYPE_I32)
        OK(column_add_i32(&c, (int32_t)v, NULL));
    else
        OK(column_add_i64(&c, v, NULL));
    column_print_json(&c, 0, &out);
    CHECK_STR(buf_str(&out), want);
    buf_release(&out);
    column_release(&c);
}

static void times_are_iso_strings(void)
{
    struct type t = {.id = TYPE_I32, .logical = LOGICAL_DATE};
    print_as(&t, 0, "\"1970-01-01\"");
    print_as(&t, 19782, "\"2024-02-29\"");
    print_as(&t, -1, "\"1969-12-31\"");
    t = (struct type){.id = TYPE_I64, .logical = LOGICAL_TIMESTAMP_MS};
    print_as(&t, -1, "\"1969-12-31T23:59:59.999\"");
    t.utc = true;
    t.logical = LOGICAL_TIMESTAMP_US;
    print_as(&t, 1700000000000000, "\"2023-11-14T22:13:20Z\"");
    t.logical = LOGICAL_TIMESTAMP_NS;
    print_as(&t, INT64_MIN, "\"1677-09-21T00:12:43.145224192Z\"");
}

static void floats_that_json_lacks_are_strings(void)
{
    struct type t = type_of(TYPE_F64, false);
    struct column c;
    struct buf out;
    buf_init(&out, 1024);
    column_init(&c, &t);
    OK(column_add_f64(&c, (double)NAN, NULL));
    OK(column_add_f64(&c, (double)-INFINITY, NULL));
    OK(column_add_f64(&c, 0.1, NULL));
    for (int64_t i = 0; i < 3; i++)
        column_print_json(&c, i, &out);
    CHECK_STR(buf_str(&out), "\"NaN\"\"-Infinity\"0.1");
    buf_release(&out);
    column_release(&c);
}

static void types_print_as_people_write_them(void)
{
    struct data_schema s = {0};
    struct buf out;
    struct type dec = {
        .id = TYPE_F64, .logical = LOGICAL_DECIMAL, .precision = 9, .scale = 2};
    struct type ts = {.id = TYPE_I64, .logical = LOGICAL_TIMESTAMP_MS};
    make_schema(&s);
    struct type nested = type_list(&s.mem, s.at[2].type, true);
    data_schema_add(&s, str_c("d"), &dec);
    data_schema_add(&s, str_c("t"), &ts);
    data_schema_add(&s, str_c("ll"), &nested);
    buf_init(&out, 1024);
    data_schema_print(&s, &out);
    CHECK_STR(buf_str(&out), "id: int64\nname: string\nseq: list<int64>\n"
                             "kv: map<string,float>\nd: decimal(9,2)\n"
                             "t: timestamp[ms]\nll: list<list<int64>>\n");
    CHECK_INT(data_schema_find(&s, str_c("kv")), 3);
    CHECK_INT(data_schema_find(&s, str_c("nope")), -1);
    buf_release(&out);
    data_schema_release(&s);
}

static void encoded_equals_plain(void)
{
    struct type t = type_of(TYPE_STR, true);
    struct column plain, coded;
    struct dict *d = dict_create(&t);
    static const uint32_t codes[] = {1, 0, 1, 0};
    static const uint8_t valid[] = {0x7};
    column_init(&plain, &t);
    column_init(&coded, &t);
    OK(column_add_str(&d->values, str_c("a"), NULL));
    OK(column_add_str(&d->values, str_c("bb"), NULL));
    OK(column_add_str(&plain, str_c("bb"), NULL));
    OK(column_add_str(&plain, str_c("a"), NULL));
    OK(column_add_str(&plain, str_c("bb"), NULL));
    OK(column_add_null(&plain, NULL));
    coded.n = 4;
    coded.n_null = 1;
    coded.values = codes;
    coded.valid = valid;
    coded.dict = dict_ref(d);
    CHECK(column_equal(&plain, &coded));
    CHECK(column_equal(&coded, &plain));
    CHECK(!column_row_equal(&plain, 0, &coded, 1));
    CHECK(!column_row_equal(&plain, 0, &coded, 3));
    CHECK(dict_is_shared(d));
    column_clear(&coded);
    CHECK(!dict_is_shared(d));
    CHECK(!column_equal(&plain, &coded));
    dict_unref(d);
    column_release(&plain);
    column_release(&coded);
}

static void a_second_fill_allocates_nothing(void)
{
    struct data_schema s = {0};
    struct batch a, b;
    int64_t live = mem_live();
    make_schema(&s);
    batch_init(&a, &s);
    batch_init(&b, &s);
    OK(fill(&a, 1000, NULL));
    int64_t total = mem_total();
    OK(fill(&a, 1000, NULL));
    CHECK_INT(mem_total(), total);
    OK(fill(&b, 1000, NULL));
    CHECK(batch_equal(&a, &b));
    OK(fill(&a, 999, NULL));
    CHECK(!batch_equal(&a, &b));
    batch_release(&a);
    batch_release(&a);
    batch_release(&b);
    data_schema_release(&s);
    CHECK_INT(mem_live(), live);
}

static void short_memory_is_an_error(void)
{
    struct data_schema s = {0};
    int64_t live = mem_live(), n = 0;
    struct err err = {0};
    make_schema(&s);
    for (enum rc rc = RC_NOMEM; rc; n++) {
        struct batch b;
        batch_init(&b, &s);
        mem_fail_at(n + 1);
        rc = fill(&b, 200, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        batch_release(&b);
    }
    CHECK(n > 10);
    data_schema_release(&s);
    CHECK_INT(mem_live(), live);
}

static void uneven_columns_are_refused(void)
{
    struct data_schema s = {0};
    struct batch b;
    struct err err = {0};
    make_schema(&s);
    batch_init(&b, &s);
    OK(fill(&b, 3, &err));
    OK(column_add_i64(&b.cols[0], 1, &err));
    CHECK_INT(batch_finish(&b, &err), RC_INVAL);
    CHECK_STR(err.msg, "column 'name' has 3 rows, 'id' has 4");
    batch_release(&b);
    data_schema_release(&s);
}

static void types_are_read_as_they_are_printed(void)
{
    static const char *const texts[] = {"int64",
                                        "uint32",
                                        "string",
                                        "list<double>",
                                        "list<list<int32>>",
                                        "map<string,list<float>>"};
    static const char *const others[] = {
        "", "int", "list<int64", "list<int64>>", "date", "map<string>", "int64 "};
    struct arena mem = {0};
    struct type t;
    struct buf out;
    buf_init(&out, 100);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CHECK(type_parse(str_c(texts[i]), &mem, &t));
        buf_clear(&out);
        type_print(&t, &out);
        CHECK_STR(buf_str(&out), texts[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        CHECK(!type_parse(str_c(others[i]), &mem, &t));
    buf_release(&out);
    arena_release(&mem);
}

static void too_much_text_is_refused(void)
{
    struct type t = type_of(TYPE_STR, false);
    struct column c;
    struct err err = {0};
    column_init(&c, &t);
    CHECK_INT(column_reserve_text(&c, (size_t)INT32_MAX + 1, &err), RC_INVAL);
    CHECK_STR(err.msg, "a column holds at most 2147483647 bytes of text per batch");
    CHECK(err.code == E1090);
    CHECK_INT(column_reserve(&c, INT64_MAX, &err), RC_INVAL);
    column_release(&c);
}

static const struct tap_case cases[] = {
    TAP(rows_print_as_json),
    TAP(times_are_iso_strings),
    TAP(floats_that_json_lacks_are_strings),
    TAP(types_print_as_people_write_them),
    TAP(encoded_equals_plain),
    TAP(a_second_fill_allocates_nothing),
    TAP(short_memory_is_an_error),
    TAP(uneven_columns_are_refused),
    TAP(types_are_read_as_they_are_printed),
    TAP(too_much_text_is_refused),
};
TAP_MAIN(cases)
