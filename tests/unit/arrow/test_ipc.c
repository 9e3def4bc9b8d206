/* SPDX-License-Identifier: Apache-2.0 */
/* The messages are pyarrow's: tests/golden/arrow/arrow.py. */
#include "data/arrow/ipc.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "tap.h"

static const char *const rows[] = {
    "{\"id\": 1, \"i\": -1, \"f\": 0.5, \"d\": 1e+300, \"s\": \"a\", \"b\": true, \"l\": [1, "
    "null], \"ll\": [[\"a\"], null, []], \"m\": {\"k\": 1.5, \"z\": null}, \"st\": {\"x\": 1, "
    "\"y\": \"p\"}}",
    "{\"id\": 2, \"i\": null, \"f\": 1.5, \"d\": null, \"s\": \"\", \"b\": false, \"l\": [], "
    "\"ll\": [], \"m\": {}, \"st\": null}",
    "{\"id\": 3, \"i\": 3, \"f\": null, \"d\": -0.5, \"s\": null, \"b\": null, \"l\": null, "
    "\"ll\": null, \"m\": null, \"st\": {\"x\": null, \"y\": \"\"}}",
    "{\"id\": 4, \"i\": null, \"f\": -2, \"d\": 0.25, \"s\": \"h\xc3\xa9llo\", \"b\": true, "
    "\"l\": [-3], \"ll\": [[\"b\", null]], \"m\": {\"q\": 2}, \"st\": {\"x\": 4, \"y\": null}}",
    "{\"id\": 5, \"i\": 2147483647, \"f\": 0, \"d\": 3, \"s\": \"e\", \"b\": true, \"l\": [4, 5, "
    "6], \"ll\": [[\"c\"]], \"m\": {}, \"st\": {\"x\": 5, \"y\": \"t\"}}",
};

static char *load(const char *name, size_t *n)
{
    char *path = mem_printf("%s/%s", GOLDEN_ARROW, name), *data = NULL;
    CHECK(fs_read(path, 1 << 20, &data, n, NULL) == RC_OK);
    mem_free(path);
    return data;
}

static void all_columns(struct data_schema *out)
{
    size_t n = 0;
    char *data = load("types.stream", &n);
    CHECK(arrow_schema(data, n, out, NULL) == RC_OK);
    CHECK_INT(out->n, 10);
    mem_free(data);
}

static void check_rows(const struct batch *b, int64_t from)
{
    for (int64_t i = 0; i < b->n; i++) {
        struct buf out;
        buf_init(&out, 10000);
        batch_print_json(b, i, &out);
        CHECK_STR(buf_str(&out), rows[from + i]);
        buf_release(&out);
    }
}

static void the_schema_is_read(void)
{
    struct data_schema s = {0};
    struct buf out;
    buf_init(&out, 10000);
    all_columns(&s);
    data_schema_print(&s, &out);
    CHECK_STR(buf_str(&out),
              "id: int64\ni: int32\nf: float\nd: double\ns: string\nb: bool\n"
              "l: list<int64>\nll: list<list<string>>\nm: map<string,float>\n"
              "st: struct<x:int32,y:string>\n");
    buf_release(&out);
    data_schema_release(&s);
}

static void every_form_of_a_message_gives_the_rows(void)
{
    static const struct {
        const char *name;
        int64_t rows;
    } at[] = {{"types.stream", 5}, {"sliced.stream", 5}, {"lz4.stream", 5},
              {"zstd.stream", 5},  {"legacy.stream", 5}, {"reordered.stream", 5},
              {"two.stream", 2},   {"empty.stream", 0}};
    struct data_schema s = {0};
    struct arrow *a = arrow_create();
    all_columns(&s);
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        const struct batch *b = NULL;
        struct err err = {0};
        size_t n = 0;
        char *data = load(at[i].name, &n);
        CHECK(arrow_batch(a, data, n, NULL, &s, &b, &err) == RC_OK);
        if (err.msg[0])
            printf("# %s: %s\n", at[i].name, err.msg);
        CHECK_INT(b ? b->n : -1, at[i].rows);
        if (b)
            check_rows(b, 0);
        mem_free(data);
    }
    arrow_destroy(a);
    data_schema_release(&s);
}

static void a_batch_alone_needs_known_columns(void)
{
    struct data_schema s = {0}, want = {0};
    struct arrow *a = arrow_create();
    const struct batch *b = NULL;
    struct err err = {0};
    size_t n = 0;
    char *data = load("bare.batch", &n);
    all_columns(&s);
    CHECK(arrow_batch(a, data, n, &s, &s, &b, NULL) == RC_OK);
    check_rows(b, 0);
    data_schema_add(&want, str_c("m"), &s.at[8].type);
    data_schema_add(&want, str_c("id"), &s.at[0].type);
    CHECK(arrow_batch(a, data, n, &s, &want, &b, NULL) == RC_OK);
    CHECK_INT(b->n_cols, 2);
    CHECK_INT(column_i64(&b->cols[1], 4), 5);
    CHECK(arrow_batch(a, data, n, NULL, &s, &b, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "not an Arrow record batch: it has no schema (declare the columns "
                       "with input_fields)");
    mem_free(data);
    data = load("types.stream", &n);
    CHECK(arrow_batch(a, data, n, &s, &s, &b, &err) == RC_FORMAT);
    CHECK_STR(err.msg,
              "not an Arrow record batch: it has a schema, but input_fields says "
              "that it has none");
    mem_free(data);
    arrow_destroy(a);
    data_schema_release(&s);
    data_schema_release(&want);
}

static void other_types_are_passed_over(void)
{
    struct data_schema all = {0}, s = {0};
    struct arrow *a = arrow_create();
    const struct batch *b = NULL;
    size_t n = 0;
    char *data = load("odd.stream", &n);
    all_columns(&all);
    data_schema_add(&s, str_c("id"), &all.at[0].type);
    data_schema_add(&s, str_c("s"), &all.at[4].type);
    CHECK(arrow_batch(a, data, n, NULL, &s, &b, NULL) == RC_OK);
    CHECK(b && b->n == 5 && column_i64(&b->cols[0], 4) == 5);
    CHECK(b && str_is(column_str(&b->cols[1], 3), "h\xc3\xa9llo"));
    mem_free(data);
    arrow_destroy(a);
    data_schema_release(&all);
    data_schema_release(&s);
}

static void columns_that_changed_are_told(void)
{
    struct data_schema s = {0};
    struct arrow *a = arrow_create();
    const struct batch *b = NULL;
    struct err err = {0};
    size_t n = 0;
    all_columns(&s);
    char *data = load("missing.stream", &n);
    CHECK(arrow_batch(a, data, n, NULL, &s, &b, &err) == RC_INVAL);
    CHECK_STR(err.msg, "there is no column 'f'");
    mem_free(data);
    data = load("retyped.stream", &n);
    CHECK(arrow_batch(a, data, n, NULL, &s, &b, &err) == RC_INVAL);
    CHECK_STR(err.msg, "column 'id' is of type int32, not int64");
    CHECK(err.code == E1806);
    mem_free(data);
    arrow_destroy(a);
    data_schema_release(&s);
}

static void every_cut_is_noticed_and_every_flip_survived(void)
{
    static const char *const names[] = {"types.stream", "lz4.stream", "odd.stream"};
    struct data_schema s = {0};
    struct arrow *a = arrow_create();
    const struct batch *b = NULL;
    all_columns(&s);
    for (size_t k = 0; k < 3; k++) {
        size_t n = 0;
        char *data = load(names[k], &n);
        char *copy = mem_alloc(n);
        for (size_t cut = 0; cut + 8 < n; cut += 7) {
            memcpy(copy, data, cut);
            CHECK(arrow_batch(a, copy, cut, NULL, &s, &b, NULL) != RC_OK);
        }
        memcpy(copy, data, n);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            struct data_schema t = {0};
            copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
            if (arrow_batch(a, copy, n, NULL, &s, &b, NULL) == RC_OK && bit % 64 == 0) {
                struct buf out;
                buf_init(&out, 1 << 20);
                for (int64_t i = 0; i < b->n; i++)
                    batch_print_json(b, i, &out);
                buf_release(&out);
            }
            if (bit % 16 == 0)
                (void)!arrow_schema(copy, n, &t, NULL);
            data_schema_release(&t);
            copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
        }
        mem_free(copy);
        mem_free(data);
    }
    arrow_destroy(a);
    data_schema_release(&s);
}

static const struct tap_case cases[] = {
    TAP(the_schema_is_read),
    TAP(every_form_of_a_message_gives_the_rows),
    TAP(a_batch_alone_needs_known_columns),
    TAP(other_types_are_passed_over),
    TAP(columns_that_changed_are_told),
    TAP(every_cut_is_noticed_and_every_flip_survived),
};
TAP_MAIN(cases)
