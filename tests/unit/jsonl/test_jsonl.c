/* SPDX-License-Identifier: Apache-2.0 */
#include "data/jsonl/jsonl.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static const size_t blocks[] = {0, 64, 65, 100};

static enum rc rows_as_json(struct jsonl_reader *r, int64_t max, struct buf *out,
                            struct err *err)
{
    struct batch b;
    enum rc rc;
    batch_init(&b, jsonl_schema(r));
    do {
        rc = jsonl_next(r, max, &b, err);
        for (int64_t i = 0; i < b.n; i++) {
            batch_print_json(&b, i, out);
            buf_putc(out, '\n');
        }
    } while (rc == RC_OK && b.n);
    batch_release(&b);
    return rc;
}

static enum rc as_json(const char *text, size_t n, const struct jsonl_conf *conf,
                       int64_t max, struct buf *out, struct err *err)
{
    struct jsonl_reader *r = NULL;
    enum rc rc = jsonl_open_memory("t.jsonl", text, n, conf, &r, err);
    if (rc == RC_OK)
        rc = rows_as_json(r, max, out, err);
    jsonl_close(r);
    return rc;
}

static void check_rows(const char *text, struct jsonl_conf conf, const char *want)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        for (int64_t max = 1; max <= 100; max *= 10) {
            struct buf out;
            struct err err = {0};
            buf_init(&out, 1 << 20);
            conf.block = blocks[i];
            CHECK(as_json(text, strlen(text), &conf, max, &out, &err) == RC_OK);
            CHECK_STR(err.msg, "");
            CHECK_STR(buf_str(&out), want);
            buf_release(&out);
        }
}

static void check_error(const char *text, struct jsonl_conf conf, enum code code,
                        const char *want)
{
    struct buf out;
    struct err err = {0};
    buf_init(&out, 1 << 20);
    CHECK(as_json(text, strlen(text), &conf, 100, &out, &err) != RC_OK);
    CHECK_STR(err.msg, want);
    CHECK(err.code == code);
    buf_release(&out);
}

static void add_column(struct data_schema *s, const char *name, struct type t)
{
    data_schema_add(s, str_c(name), &t);
}

static void types_are_inferred(void)
{
    struct jsonl_conf conf = {0};
    check_rows(
        "{\"i\": 1, \"f\": 1, \"s\": \"x\", \"b\": true, \"n\": null}\n"
        "\r\n"
        "{ \"f\" : 2.5 , \"i\" : -7 , \"l\" : [ 1 , 2 ] , \"m\" : { \"k\" : 1 } }\r\n"
        "{\"s\": \"y\", \"l\": [], \"m\": {}, \"mix\": 5}\n"
        "{\"mix\": \"z\"}",
        conf,
        "{\"i\": 1, \"f\": 1, \"s\": \"x\", \"b\": true, \"n\": null, \"l\": null, "
        "\"m\": null, \"mix\": null}\n"
        "{\"i\": -7, \"f\": 2.5, \"s\": null, \"b\": null, \"n\": null, \"l\": [1, 2], "
        "\"m\": {\"k\": 1}, \"mix\": null}\n"
        "{\"i\": null, \"f\": null, \"s\": \"y\", \"b\": null, \"n\": null, \"l\": [], "
        "\"m\": {}, \"mix\": \"5\"}\n"
        "{\"i\": null, \"f\": null, \"s\": null, \"b\": null, \"n\": null, \"l\": null, "
        "\"m\": null, \"mix\": \"z\"}\n");
    check_rows("\xef\xbb\xbf{\"a\": [[1], [2, 3.5]]}\n", conf,
               "{\"a\": [[1], [2, 3.5]]}\n");
    check_rows("{\"a\": NaN}\n{\"a\": -Infinity}\n{\"a\": 1e3}\n", conf,
               "{\"a\": \"NaN\"}\n{\"a\": \"-Infinity\"}\n{\"a\": 1000}\n");
}

static void a_schema_decides(void)
{
    struct data_schema s = {0};
    struct jsonl_conf conf = {.schema = &s};
    add_column(&s, "i32", type_of(TYPE_I32, true));
    add_column(&s, "u64", type_of(TYPE_U64, true));
    add_column(&s, "f32", type_of(TYPE_F32, true));
    add_column(&s, "s", type_of(TYPE_STR, true));
    add_column(&s, "m",
               type_map(&s.mem, type_of(TYPE_I64, false), type_of(TYPE_F32, true), true));
    check_rows(
        "{\"skip\": {\"a\": [1, {\"b\": \"\\u00e9\"}]}, \"i32\": 1e3, \"u64\": "
        "18446744073709551615, \"f32\": \"NaN\", \"s\": 12, \"m\": {\"5\": 1, \"-6\": null}}\n"
        "{\"s\": true, \"i32\": 2147483647, \"u64\": true, \"f32\": false}\n{}\n",
        conf,
        "{\"i32\": 1000, \"u64\": 18446744073709551615, \"f32\": \"NaN\", \"s\": \"12\", "
        "\"m\": {\"5\": 1, \"-6\": null}}\n"
        "{\"i32\": 2147483647, \"u64\": 1, \"f32\": 0, \"s\": \"true\", \"m\": null}\n"
        "{\"i32\": null, \"u64\": null, \"f32\": null, \"s\": null, \"m\": null}\n");
    static const char *const want[] = {"s", "i32"};
    conf.want = want;
    conf.n_want = 2;
    check_rows("{\"s\": \"x\", \"m\": 5}\n", conf, "{\"i32\": null, \"s\": \"x\"}\n");
    data_schema_release(&s);
}

static void strings_are_unescaped(void)
{
    struct jsonl_conf conf = {0};
    check_rows(
        "{\"a\": \"q\\\"b\\\\s\\/\\b\\f\\n\\r\\tu\\u00e9\\u4f60\\ud83d\\ude00x\"}\n",
        conf,
        "{\"a\": \"q\\\"b\\\\s/\\u0008\\u000c\\n\\r\\tu\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x98\x80x\"}\n");
    check_rows("{\"\\u0061\": \"\xe4\xbd\xa0\"}\n{\"a\": \"\"}\n", conf,
               "{\"a\": \"\xe4\xbd\xa0\"}\n{\"a\": \"\"}\n");
}

static void structs_have_named_parts(void)
{
    struct data_schema s = {0};
    struct data_field kids[] = {{.name = "x", .type = type_of(TYPE_I64, true)},
                                {.name = "y", .type = type_of(TYPE_STR, true)}};
    struct type t = {.id = TYPE_STRUCT, .nullable = true, .kids = kids, .n_kids = 2};
    add_column(&s, "p", t);
    struct jsonl_conf conf = {.schema = &s};
    check_rows(
        "{\"p\": {\"y\": \"a\", \"z\": [1], \"x\": 3}}\n{\"p\": {}}\n{\"p\": null}\n",
        conf,
        "{\"p\": {\"x\": 3, \"y\": \"a\"}}\n{\"p\": {\"x\": null, \"y\": null}}\n{\"p\": "
        "null}\n");
    check_error(
        "{\"p\": {\"x\": 1, \"x\": 2}}\n", conf, E1157,
        "'t.jsonl': line 1, column 16: 'p': the key is given twice, found '\"x\"'");
    data_schema_release(&s);
}

static void every_error_names_its_place(void)
{
    struct data_schema s = {0};
    struct jsonl_conf conf = {.schema = &s};
    add_column(&s, "id", type_of(TYPE_I32, true));
    add_column(&s, "l", type_list(&s.mem, type_of(TYPE_F32, true), true));
    add_column(&s, "m",
               type_map(&s.mem, type_of(TYPE_I64, false), type_of(TYPE_I64, true), true));
    static const struct {
        const char *line;
        enum code code;
        const char *want;
    } bad[] = {
        {"[1]", E1151, "column 1: expected an object, found '[1'"},
        {"{\"id\": \"x\"}", E1152, "column 8: 'id': expected type int32, found '\"x\"'"},
        {"{\"id\": 1.5}", E1152, "column 8: 'id': expected type int32, found '1.5'"},
        {"{\"id\": [1]}", E1152, "column 8: 'id': expected type int32, found '[1'"},
        {"{\"l\": true}", E1152,
         "column 7: 'l': expected type list<float>, found 'true'"},
        {"{\"id\": 3000000000}", E1155,
         "column 8: 'id': the number does not fit type int32, found '3000000000'"},
        {"{\"l\": [1, 1e39]}", E1155,
         "column 11: 'l': the number does not fit type list<float>, found '1e39'"},
        {"{\"m\": {\"x\": 1}}", E1152,
         "column 8: 'm': expected type map<int64,int64>, found '\"x\"'"},
        {"{\"id\": 1, \"id\": 2}", E1157,
         "column 11: 'id': the key is given twice, found '\"id\"'"},
        {"{\"id\" 1}", E1150, "column 7: 'id': expected ':', found '1'"},
        {"{\"id\": }", E1150, "column 8: 'id': not a number, found '}'"},
        {"{\"id\": 01}", E1150, "column 8: 'id': not a number, found '01'"},
        {"{\"id\": 1.}", E1150, "column 8: 'id': not a number, found '1.'"},
        {"{\"id\": 1e}", E1150, "column 8: 'id': not a number, found '1e'"},
        {"{\"id\": 1,}", E1150, "column 10: expected a key in quotes, found '}'"},
        {"{id: 1}", E1150, "column 2: expected a key in quotes, found 'id: 1'"},
        {"{\"id\": 1 \"l\": 2}", E1150, "column 10: expected ',' or '}', found '\"l\"'"},
        {"{\"l\": [1 2]}", E1150, "column 10: 'l': expected ',' or ']', found '2'"},
        {"{\"id\": 1", E1150, "column 9: expected ',' or '}', found the end of the line"},
        {"{\"id\": 1} x", E1150, "column 11: expected the end of the line, found 'x'"},
        {"{\"id\": nul}", E1150, "column 8: 'id': expected a value, found 'nul'"},
        {"{\"x\": \"abc}", E1153,
         "column 7: the string is not closed on its line, found '\"abc}'"},
        {"{\"x\": \"a\\qc\"}", E1153, "column 9: no such escape, found '\\qc\"'"},
        {"{\"x\": \"\\ud800\"}", E1153, "column 8: no such escape, found '\\ud800\"'"},
        {"{\"x\": \"\\u12g4\"}", E1153, "column 8: no such escape, found '\\u12g4\"'"},
        {"{\"x\": \"a\tb\"}", E1153,
         "column 9: a control character must be escaped, found '\\x09b\"'"},
        {"{\"x\": \"a\xff\"}", E1153, "column 9: not UTF-8, found '\\xff\"'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char text[200], want[300];
        snprintf(text, sizeof(text), "{}\n\n%s\n", bad[i].line);
        snprintf(want, sizeof(want), "'t.jsonl': line 3, %s", bad[i].want);
        check_error(text, conf, bad[i].code, want);
    }
    data_schema_release(&s);
}

static void nesting_is_bounded(void)
{
    struct data_schema s = {0};
    struct jsonl_conf conf = {.schema = &s};
    char text[400] = "{\"x\": ";
    add_column(&s, "id", type_of(TYPE_I64, true));
    memset(text + 6, '[', JSONL_DEPTH);
    memset(text + 6 + JSONL_DEPTH, ']', JSONL_DEPTH);
    memcpy(text + 6 + 2 * JSONL_DEPTH, "}\n", 3);
    check_rows(text, conf, "{\"id\": null}\n");
    memset(text + 6, '[', 200);
    check_error(text, conf, E1154,
                "'t.jsonl': line 1, column 71: nested too deeply, found "
                "'[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...'");
    conf.schema = NULL;
    check_error(
        "{\"x\": [[[[[[[[[1]]]]]]]]]}\n", conf, E1154,
        "'t.jsonl': line 1, column 15: 'x': nested too deeply to infer a type, found "
        "'[1'");
    data_schema_release(&s);
}

static void shapes_that_do_not_fit_cannot_be_inferred(void)
{
    struct jsonl_conf conf = {0};
    static const char *const want[] = {"clik"};
    check_error(
        "{\"a\": 1}\n{\"a\": [1]}\n", conf, E1158,
        "'t.jsonl': line 2, column 7: 'a': does not fit the values before, found '[1'");
    check_error(
        "{\"a\": {}}\n{\"a\": 1}\n", conf, E1158,
        "'t.jsonl': line 2, column 7: 'a': does not fit the values before, found '1'");
    check_error("\n\n", conf, E1158,
                "'t.jsonl': no columns: there is no row to infer them from");
    conf.want = want;
    conf.n_want = 1;
    check_error("{\"click\": 1}\n", conf, E1159,
                "'t.jsonl': no column 'clik'; did you mean 'click'?");
    conf = (struct jsonl_conf){.infer_rows = 1};
    check_error("{\"a\": 1}\n{\"a\": [1]}\n", conf, E1152,
                "'t.jsonl': line 2, column 7: 'a': expected type int64, found '[1'");
    conf = (struct jsonl_conf){.block = 64, .max_record = 100};
    char text[300];
    snprintf(text, sizeof(text), "{\"a\": \"%0150d\"}\n", 1);
    check_error(
        text, conf, E1105,
        "'t.jsonl': line 1: the record that starts here is longer than 100 bytes");
}

static void malformed_lines_can_be_counted_and_skipped(void)
{
    struct jsonl_conf conf = {.skip_bad = true};
    const char *text =
        "{\"a\": 1, \"l\": [1]}\n{\"a\": 2, \"l\": [1, null, x]}\nrubbish\n"
        "{\"a\": 3, \"l\": [4]}\n{\"a\": 5, \"l\": null, \"a\": 1}\n";
    check_rows(text, conf, "{\"a\": 1, \"l\": [1]}\n{\"a\": 3, \"l\": [4]}\n");
    struct jsonl_reader *r = NULL;
    struct csv_cursor at;
    struct buf out;
    buf_init(&out, 1000);
    CHECK(jsonl_open_memory("t.jsonl", text, strlen(text), &conf, &r, NULL) == RC_OK);
    CHECK(rows_as_json(r, 1, &out, NULL) == RC_OK);
    jsonl_tell(r, &at);
    CHECK_INT(at.record, 5);
    CHECK_INT(at.bad, 3);
    CHECK_INT(at.line, 6);
    CHECK_STR(jsonl_first_bad(r),
              "'t.jsonl': line 2, column 25: 'l': not a number, found 'x'");
    jsonl_close(r);
    buf_release(&out);
    conf.max_bad = 2;
    check_error(
        text, conf, E1117,
        "more than 2 malformed records; the first: 't.jsonl': line 2, column 25: 'l': "
        "not a number, found 'x'");
}

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static void add_random(struct column *c, uint64_t *x)
{
    static const char *const texts[] = {"", "a", "\"\\\n\t", "\xe4\xbd\xa0", "{}", "1"};
    uint64_t r = next_random(x) << 33 ^ next_random(x) << 10 ^ next_random(x);
    double d;
    memcpy(&d, &r, sizeof(d));
    if (c->type->nullable && next_random(x) % 5 == 0) {
        CHECK(column_add_null(c, NULL) == RC_OK);
        return;
    }
    switch (c->type->id) {
    case TYPE_BOOL:
        CHECK(column_add_bool(c, r & 1, NULL) == RC_OK);
        break;
    case TYPE_I64:
        CHECK(column_add_i64(c, (int64_t)r >> r % 64, NULL) == RC_OK);
        break;
    case TYPE_F64:
        CHECK(column_add_f64(c, d, NULL) == RC_OK);
        break;
    case TYPE_STR:
        CHECK(column_add_str(c, str_c(texts[r % 6]), NULL) == RC_OK);
        break;
    default:
        for (uint64_t i = r % 4; i > 0; i--)
            for (size_t k = 0; k < c->type->n_kids; k++)
                add_random(&c->kids[k], x);
        CHECK(column_add_nested(c, NULL) == RC_OK);
    }
}

static void make_batch(struct data_schema *s, struct batch *b, uint64_t *x, int64_t rows)
{
    struct type text = type_of(TYPE_STR, true), key = type_of(TYPE_STR, false);
    add_column(s, "b", type_of(TYPE_BOOL, true));
    add_column(s, "i", type_of(TYPE_I64, true));
    add_column(s, "f", type_of(TYPE_F64, true));
    add_column(s, "s", text);
    add_column(s, "l", type_list(&s->mem, text, true));
    add_column(
        s, "ll",
        type_list(&s->mem, type_list(&s->mem, type_of(TYPE_I64, true), true), true));
    add_column(s, "m", type_map(&s->mem, key, type_of(TYPE_F64, true), true));
    batch_init(b, s);
    for (int64_t i = 0; i < rows; i++)
        for (size_t k = 0; k < b->n_cols; k++)
            add_random(&b->cols[k], x);
    CHECK(batch_finish(b, NULL) == RC_OK);
}

static void what_is_written_reads_back_the_same(void)
{
    char *dir = NULL;
    CHECK(fs_temp_dir("ty-jsonl", &dir, NULL) == RC_OK);
    char *path = fs_join(dir, "a.jsonl");
    uint64_t x = 5;
    for (int round = 0; round < 30 && !tap_failed; round++) {
        struct data_schema s = {0};
        struct batch b, back;
        struct jsonl_writer *w = NULL;
        struct jsonl_reader *r = NULL;
        struct err err = {0};
        make_batch(&s, &b, &x, 200);
        CHECK(jsonl_create(path, &w, NULL) == RC_OK);
        CHECK(jsonl_write(w, &b, NULL) == RC_OK);
        CHECK(jsonl_commit(w, NULL) == RC_OK);
        struct jsonl_conf conf = {.schema = round % 2 ? &s : NULL,
                                  .block = round % 3 ? 0 : 200};
        CHECK(jsonl_open(path, &conf, &r, &err) == RC_OK);
        batch_init(&back, jsonl_schema(r));
        CHECK(jsonl_next(r, 1000, &back, &err) == RC_OK);
        CHECK_STR(err.msg, "");
        CHECK(batch_equal(&b, &back));
        batch_release(&back);
        jsonl_close(r);
        batch_release(&b);
        data_schema_release(&s);
    }
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(path);
    mem_free(dir);
}

static void reading_goes_on_exactly_at_any_cursor(void)
{
    uint64_t x = 3;
    struct data_schema s = {0};
    struct batch b;
    struct buf text, all, parts;
    char path[] = "/tmp/ty-jsonl-XXXXXX";
    buf_init(&text, 1 << 24);
    buf_init(&all, 1 << 24);
    buf_init(&parts, 1 << 24);
    make_batch(&s, &b, &x, 300);
    for (int64_t i = 0; i < b.n; i++) {
        batch_print_json(&b, i, &text);
        buf_puts(&text, i % 7 == 0 ? "\r\n\r\n" : "\n");
        if (i % 11 == 0)
            buf_puts(&text, "not json\n");
    }
    struct jsonl_conf conf = {.schema = &s, .skip_bad = true, .block = 300};
    CHECK(as_json(text.p, text.n, &conf, 50, &all, NULL) == RC_OK);
    struct csv_cursor at = {0}, cut[6];
    int64_t got = 1, rows = 0;
    while (got) {
        struct jsonl_reader *r = NULL;
        struct batch part;
        CHECK(jsonl_open_memory("t.jsonl", text.p, text.n, &conf, &r, NULL) == RC_OK);
        CHECK(jsonl_seek(r, &at, NULL) == RC_OK);
        batch_init(&part, jsonl_schema(r));
        CHECK(jsonl_next(r, 1 + (int64_t)(next_random(&x) % 20), &part, NULL) == RC_OK);
        for (int64_t i = 0; i < part.n; i++) {
            batch_print_json(&part, i, &parts);
            buf_putc(&parts, '\n');
        }
        got = part.n;
        rows += got;
        jsonl_tell(r, &at);
        CHECK_INT(at.record - at.bad, rows);
        batch_release(&part);
        jsonl_close(r);
    }
    CHECK_STR(buf_str(&parts), buf_str(&all));

    int fd = mkstemp(path);
    CHECK(write(fd, text.p, text.n) == (ssize_t)text.n);
    close(fd);
    buf_clear(&parts);
    CHECK(jsonl_split(path, 5, cut, NULL) == RC_OK);
    for (size_t i = 0; i < 5; i++) {
        struct jsonl_reader *r = NULL;
        conf.end = cut[i + 1].offset;
        CHECK(jsonl_open(path, &conf, &r, NULL) == RC_OK);
        CHECK(jsonl_seek(r, &cut[i], NULL) == RC_OK);
        CHECK(rows_as_json(r, 10, &parts, NULL) == RC_OK);
        jsonl_tell(r, &at);
        CHECK_INT(at.record, cut[i + 1].record);
        struct err err = {0};
        at.offset = cut[i].offset + 2;
        CHECK(jsonl_seek(r, &at, &err) == RC_INVAL && err.code == E1112);
        jsonl_close(r);
    }
    CHECK_STR(buf_str(&parts), buf_str(&all));
    unlink(path);
    buf_release(&text);
    buf_release(&all);
    buf_release(&parts);
    batch_release(&b);
    data_schema_release(&s);
}

static void memory_does_not_grow_with_the_file(void)
{
    size_t n = (size_t)8 << 20, at = 0;
    char *text = mem_alloc(n + 200);
    for (unsigned i = 0; at < n; i++)
        at += (size_t)snprintf(
            text + at, 200, "{\"id\": %u, \"s\": \"a\\tb\", \"l\": [1, 2, %u]}\n", i, i);
    struct jsonl_conf conf = {0};
    struct jsonl_reader *r = NULL;
    struct batch b;
    CHECK(jsonl_open_memory("t.jsonl", text, at, &conf, &r, NULL) == RC_OK);
    batch_init(&b, jsonl_schema(r));
    for (int i = 0; i < 20; i++)
        CHECK(jsonl_next(r, 1024, &b, NULL) == RC_OK && b.n == 1024);
    int64_t total = mem_total();
    do
        CHECK(jsonl_next(r, 1024, &b, NULL) == RC_OK);
    while (b.n);
    CHECK_INT(mem_total(), total);
    batch_release(&b);
    jsonl_close(r);
    mem_free(text);
}

static void no_memory_is_an_error_and_nothing_leaks(void)
{
    static const char text[] =
        "{\"a\": 1, \"s\": \"x\\ty\", \"l\": [1, null]}\n{\"m\": {\"k\": 1}}\n";
    int64_t live = mem_live();
    enum rc rc = RC_NOMEM;
    int tries = 0;
    while (rc == RC_NOMEM && tries < 200) {
        struct jsonl_conf conf = {.skip_bad = true, .block = 64};
        struct err err = {0};
        struct jsonl_reader *r = NULL;
        struct batch b = {0};
        mem_fail_at(++tries);
        rc = jsonl_open_memory("t.jsonl", text, sizeof(text) - 1, &conf, &r, &err);
        if (rc == RC_OK) {
            batch_init(&b, jsonl_schema(r));
            rc = jsonl_next(r, 10, &b, &err);
            CHECK_INT(b.n, rc ? 0 : 2);
        }
        mem_fail_at(0);
        CHECK(rc == RC_OK || err.msg[0]);
        batch_release(&b);
        jsonl_close(r);
        CHECK_INT(mem_live(), live);
    }
    CHECK(rc == RC_OK && tries > 8);
}

static const struct tap_case cases[] = {
    TAP(types_are_inferred),
    TAP(a_schema_decides),
    TAP(strings_are_unescaped),
    TAP(structs_have_named_parts),
    TAP(every_error_names_its_place),
    TAP(nesting_is_bounded),
    TAP(shapes_that_do_not_fit_cannot_be_inferred),
    TAP(malformed_lines_can_be_counted_and_skipped),
    TAP(what_is_written_reads_back_the_same),
    TAP(reading_goes_on_exactly_at_any_cursor),
    TAP(memory_does_not_grow_with_the_file),
    TAP(no_memory_is_an_error_and_nothing_leaks),
};
TAP_MAIN(cases)
