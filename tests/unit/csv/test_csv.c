/* SPDX-License-Identifier: Apache-2.0 */
#include "data/csv/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "csv_text.h"
#include "tap.h"

/* Small blocks put every record across their borders. */
static const size_t blocks[] = {0, 64, 65, 100, 1000};

static void check_rows(const char *text, struct csv_conf conf, const char *want)
{
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        for (int64_t max = 1; max <= 1000; max *= 10) {
            struct buf out;
            struct err err = {0};
            buf_init(&out, 1 << 20);
            conf.block = blocks[i];
            CHECK(csv_as_json(text, strlen(text), &conf, max, &out, &err) == RC_OK);
            CHECK_STR(err.msg, "");
            CHECK_STR(buf_str(&out), want);
            buf_release(&out);
        }
}

static void check_error(const char *text, struct csv_conf conf, enum code code,
                        const char *want)
{
    struct buf out;
    struct err err = {0};
    buf_init(&out, 1 << 20);
    CHECK(csv_as_json(text, strlen(text), &conf, 100, &out, &err) != RC_OK);
    CHECK_STR(err.msg, want);
    CHECK(err.code == code);
    buf_release(&out);
}

static void quotes_follow_rfc_4180(void)
{
    struct csv_conf conf = {0};
    check_rows("a,b\nx,\"y\"\n\"p,q\",\"r\"\"s\"\n\"two\nlines\",\"\"\n", conf,
               "{\"a\": \"x\", \"b\": \"y\"}\n{\"a\": \"p,q\", \"b\": \"r\\\"s\"}\n"
               "{\"a\": \"two\\nlines\", \"b\": \"\"}\n");
    check_rows(
        "a,b\n5\" pipe,x\"\"y\n\"\"\"\",\"\"\"\"\"\"\n", conf,
        "{\"a\": \"5\\\" pipe\", \"b\": \"x\\\"\\\"y\"}\n{\"a\": \"\\\"\", \"b\": \"\\\"\\\"\"}\n");
    conf.no_quotes = true;
    check_rows("a,b\n\"x,y\"\n", conf, "{\"a\": \"\\\"x\", \"b\": \"y\\\"\"}\n");
}

static void line_ends_marks_and_blank_lines(void)
{
    struct csv_conf conf = {0};
    check_rows(
        "a,b\r\n1,x\r\n\r\n\n2,\r\n3,\"z\"\r\n", conf,
        "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": \"\"}\n{\"a\": 3, \"b\": \"z\"}\n");
    check_rows("\xef\xbb\xbf"
               "a,b\n1,x",
               conf, "{\"a\": 1, \"b\": \"x\"}\n");
    check_rows("\xef\xbb\xbf\"a\",b\n1,x\r", conf, "{\"a\": 1, \"b\": \"x\"}\n");
    check_rows("a,b\n1,2", conf, "{\"a\": 1, \"b\": 2}\n");
    check_rows("a\n1\n\n2\r\n\r\n3\n\"\"\n", conf,
               "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n{\"a\": null}\n");
    check_rows("\n\r\n\na,b\n", conf, "");
    check_rows("a,b", conf, "");
}

static void names_come_from_header_caller_or_number(void)
{
    struct csv_conf conf = {.delim = '\t'};
    static const struct csv_field two[] = {{.name = "u", .type = TYPE_I32},
                                           {.name = "v", .inferred = true}};
    check_rows("a\tb\n1\t2\n", conf, "{\"a\": 1, \"b\": 2}\n");
    conf.names = CSV_NAMES_GIVEN;
    check_rows("a\tb\n1\t2\n", conf,
               "{\"a\": 1, \"b\": 2}\n"); /* none given: the header */
    conf.fields = two;
    conf.n_fields = 2;
    check_rows("1\tb\n2\t\n", conf,
               "{\"u\": 1, \"v\": \"b\"}\n{\"u\": 2, \"v\": \"\"}\n");
    check_rows("", conf, "");
    conf = (struct csv_conf){.delim = '\x01', .names = CSV_NAMES_NUMBER};
    check_rows("1\x01x\n", conf, "{\"c0\": 1, \"c1\": \"x\"}\n");
}

static void known_types_hold_whatever_the_values_look_like(void)
{
    static const struct csv_field types[] = {
        {.name = "id", .type = TYPE_STR},
        {.name = "n", .type = TYPE_I64, .widens = true},
        {.name = "w", .type = TYPE_I64, .widens = true},
        {.name = "not there", .type = TYPE_I64},
        {.name = "id", .type = TYPE_I64}}; /* the first of a name counts */
    struct csv_conf conf = {.types = types, .n_types = 5};
    check_rows("id,n,w\n007,1,2\n", conf, "{\"id\": \"007\", \"n\": 1, \"w\": 2}\n");
    check_rows("id,n,w\n7,1.5,2\n", conf, "{\"id\": \"7\", \"n\": 1.5, \"w\": 2}\n");
    static const struct csv_field id[] = {
        {.name = "id", .type = TYPE_I64, .why = "with which it was trained"}};
    conf = (struct csv_conf){.types = id, .n_types = 1};
    check_error(
        "id\n7\nx\n", conf, E1106,
        "'t.csv': line 3, column 1: 'id' (field 1): 'x' is not of type INT64, with "
        "which it was trained");
    static const struct csv_field n[] = {
        {.name = "id", .type = TYPE_I64, .widens = true}};
    conf.types = n;
    check_error("id\n7\n1.5\nx\n", conf, E1106,
                "'t.csv': line 3, column 1: 'id' (field 1): '1.5' is not of type INT64");
}

static void declared_types_win_and_nulls_have_many_spellings(void)
{
    static const struct csv_field f[] = {{.name = "i", .type = TYPE_I32},
                                         {.name = "l", .type = TYPE_I64},
                                         {.name = "f", .type = TYPE_F32},
                                         {.name = "d", .type = TYPE_F64},
                                         {.name = "s", .type = TYPE_STR}};
    struct csv_conf conf = {.fields = f, .n_fields = 5};
    check_rows(
        "i,l,f,d,s\n"
        "-2147483648,9223372036854775807,0.1,1e-7,007\n"
        " 12 ,+5,\"1.5\",\t2 ,\" x \"\n"
        "12345678,-1234567,.5,-inf,null\n"
        "123456789,-12345678,1e3,5.,NA\n",
        conf,
        "{\"i\": -2147483648, \"l\": 9223372036854775807, \"f\": 0.1, \"d\": 1e-07, \"s\": \"007\"}\n"
        "{\"i\": 12, \"l\": 5, \"f\": 1.5, \"d\": 2, \"s\": \" x \"}\n"
        "{\"i\": 12345678, \"l\": -1234567, \"f\": 0.5, \"d\": \"-Infinity\", \"s\": \"null\"}\n"
        "{\"i\": 123456789, \"l\": -12345678, \"f\": 1000, \"d\": 5, \"s\": \"NA\"}\n");
    static const char *const nulls[] = {
        "",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
        "-nan", "1.#IND", "1.#QNAN",  "N/A",  "NA",      "NULL",     "NaN",
        "n/a",  "nan",    "null",     "\"\"", "\"NA\"",  "  "};
    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), "i,l,f,d,s\n%s,%s,%s,%s,x\n", nulls[i], nulls[i],
                 nulls[i], nulls[i]);
        check_rows(
            text, conf,
            "{\"i\": null, \"l\": null, \"f\": null, \"d\": null, \"s\": \"x\"}\n");
    }
}

/* As floats, ids that differ in their last digits would become one. */
static void whole_numbers_beyond_64_bits_are_text(void)
{
    struct csv_conf conf = {0};
    check_rows("a,b\n99999999999999999999,\"7\"\n1,8\n", conf,
               "{\"a\": \"99999999999999999999\", \"b\": 7}\n{\"a\": \"1\", \"b\": 8}\n");
    check_rows("a\n1.5\n99999999999999999999\n", conf, "{\"a\": 1.5}\n{\"a\": 1e+20}\n");
}

static void types_are_inferred_from_the_values(void)
{
    struct csv_conf conf = {0};
    check_rows(
        "i,d,s,n,b,m\n1,1,1,,true,2024-01-01\nNA,2.5,x,NA,false,2024-01-02\n", conf,
        "{\"i\": 1, \"d\": 1, \"s\": \"1\", \"n\": \"\", \"b\": \"true\", \"m\": \"2024-01-01\"}\n"
        "{\"i\": null, \"d\": 2.5, \"s\": \"x\", \"n\": \"NA\", \"b\": \"false\", \"m\": \"2024-01-02\"}\n");
    conf.infer_bytes = 1;
    struct buf out;
    struct err err = {0};
    char *text = mem_alloc(20000);
    size_t n = (size_t)snprintf(text, 20000, "a,b\n");
    while (n < 3000)
        n += (size_t)snprintf(text + n, 100, "1,2\n");
    n += (size_t)snprintf(text + n, 100, "1,x\n");
    buf_init(&out, 1 << 20);
    conf.block = 64;
    CHECK(csv_as_json(text, n, &conf, 100, &out, &err) == RC_FORMAT);
    CHECK_STR(err.msg,
              "'t.csv': line 751, column 3: 'b' (field 2): 'x' is not of type INT64");
    buf_release(&out);
    mem_free(text);
}

static void only_wanted_columns_are_parsed(void)
{
    static const char *const want[] = {"c", "a"};
    static const char *const absent[] = {"clik"};
    static const char *const none[1];
    struct csv_conf conf = {.want = want, .n_want = 2};
    check_rows("a,b,c\n1,\"x\"y,3\r\n4,,6\r\n", conf,
               "{\"a\": 1, \"c\": 3}\n{\"a\": 4, \"c\": 6}\n");
    check_rows("a,b,b,c\n1,2,3,4\n", conf, "{\"a\": 1, \"c\": 4}\n");
    conf.want = none;
    conf.n_want = 0;
    check_rows("a,b\n1,2\n3,4\n", conf, "{}\n{}\n");
    conf.want = absent;
    conf.n_want = 1;
    check_error("user,click\n1,2\n", conf, E1110,
                "'t.csv': no column 'clik'; did you mean 'click'?");
}

static void empty_can_mean_null_for_text(void)
{
    struct csv_conf conf = {.empty_is_null = true};
    check_rows("a,b\nx,\n,\"\"\n", conf,
               "{\"a\": \"x\", \"b\": null}\n{\"a\": null, \"b\": \"\"}\n");
}

static void every_error_names_its_place(void)
{
    static const struct csv_field f[] = {{.name = "id", .type = TYPE_I32},
                                         {.name = "w", .type = TYPE_F32},
                                         {.name = "s", .type = TYPE_STR}};
    struct csv_conf conf = {.fields = f, .n_fields = 3};
    check_error("id,w,s\n1,2,x\n1,2\n", conf, E1102,
                "'t.csv': line 3, column 1: 2 fields, where 3 are expected");
    check_error("id,w,s\n\n1,2,x,y\n", conf, E1102,
                "'t.csv': line 3, column 1: 4 fields, where 3 are expected");
    check_error("id,w,s\n1\n", conf, E1102,
                "'t.csv': line 2, column 1: 1 field, where 3 are expected");
    check_error("id,w,s\n1,2,\"x\"y\n", conf, E1103,
                "'t.csv': line 2, column 5: 's' (field 3): '\"x\"y' has text behind its "
                "closing quote");
    check_error(
        "id,w,s\n1,2,\"a\nb\"\n1,2,\"open,\nx\n", conf, E1104,
        "'t.csv': line 4, column 5: the quote that opens here is not closed before "
        "the end");
    check_error("id,w,s\n1,2,\"a\nb\"\n12x,2,y\r\n", conf, E1106,
                "'t.csv': line 4, column 1: 'id' (field 1): '12x' is not of type INT32");
    check_error("id,w,s\n1,2,y\n1,one,z\nx,2,y\n", conf, E1106,
                "'t.csv': line 3, column 3: 'w' (field 2): 'one' is not of type FLOAT");
    check_error(
        "id,w,s\n2147483648,2,y\n", conf, E1107,
        "'t.csv': line 2, column 1: 'id' (field 1): '2147483648' does not fit type "
        "INT32");
    check_error(
        "id,w,s\n1,1e39,y\n", conf, E1107,
        "'t.csv': line 2, column 3: 'w' (field 2): '1e39' does not fit type FLOAT");
    check_error("id,w,s\n1,2,a\xff\x01"
                "b\r\n",
                conf, E1108,
                "'t.csv': line 2, column 5: 's' (field 3): 'a\\xff\\x01b' is not UTF-8");
    check_error("", conf, E1113, "'t.csv': no header: the file is empty");
    check_error("id,w,s,id\n", conf, E1109,
                "'t.csv': columns 1 and 4 have the same name 'id'");
    check_error("id,w,\"s\"x\n", conf, E1109,
                "'t.csv': the name of column 3 in the header is malformed");
    check_error("identifier,weight\n", conf, E1110, "'t.csv': no column 'id'");
    char text[300];
    snprintf(text, sizeof(text), "id,w,s\n%0100d,2,x\nx%0100d,3,x\n", 7, 7);
    check_error(text, conf, E1106,
                "'t.csv': line 3, column 1: 'id' (field 1): "
                "'x000000000000000000000000000000000000000...' is not of type INT32");
}

static void settings_are_checked(void)
{
    static const struct csv_field f[] = {{.name = "a", .type = TYPE_LIST}};
    struct csv_conf conf = {.delim = '\n'};
    check_error("a\n", conf, E1101,
                "'t.csv': delimiter: a line end or a quote cannot be one");
    conf = (struct csv_conf){.delim = '"'};
    check_error("a\n", conf, E1101,
                "'t.csv': delimiter: a line end or a quote cannot be one");
    conf = (struct csv_conf){.max_bad = -1};
    check_error("a\n", conf, E1101,
                "'t.csv': max_bad, end and infer_bytes cannot be negative");
    conf = (struct csv_conf){.fields = f, .n_fields = 1};
    check_error(
        "a\n", conf, E1116,
        "'t.csv': column 'a': a column of CSV is INT32, INT64, FLOAT, DOUBLE or STRING");
}

static void records_have_a_longest_length(void)
{
    struct csv_conf conf = {.block = 64, .max_record = 1000};
    char text[3000] = "a,b\n";
    memset(text + 4, 'x', 900);
    memcpy(text + 904, ",y\n", 4);
    struct buf out;
    struct err err = {0};
    buf_init(&out, 1 << 20);
    CHECK(csv_as_json(text, strlen(text), &conf, 10, &out, &err) == RC_OK);
    CHECK(out.n > 900);
    memset(text + 904, 'x', 200);
    memcpy(text + 1104, ",y\n", 4);
    check_error(text, conf, E1105,
                "'t.csv': line 2: the record that starts here is longer than 1000 bytes");
    text[4] = '"';
    check_error(
        text, conf, E1105,
        "'t.csv': line 2: the record that starts here is longer than 1000 bytes; a "
        "quote in it may not be closed");
    buf_release(&out);
}

static void malformed_records_can_be_counted_and_skipped(void)
{
    static const struct csv_field f[] = {{.name = "i", .type = TYPE_I64},
                                         {.name = "s", .type = TYPE_STR}};
    struct csv_conf conf = {.fields = f, .n_fields = 2, .skip_bad = true};
    const char *text = "i,s\n1,a\nx,b\n2\n,c\n3,\"d\"e\n4,\xff\n5,f\n";
    check_rows(
        text, conf,
        "{\"i\": 1, \"s\": \"a\"}\n{\"i\": null, \"s\": \"c\"}\n{\"i\": 5, \"s\": \"f\"}\n");
    struct csv_reader *r = NULL;
    struct buf out;
    struct csv_cursor at;
    buf_init(&out, 1000);
    CHECK(csv_open_memory("t.csv", text, strlen(text), &conf, &r, NULL) == RC_OK);
    CHECK_STR(csv_first_bad(r), "");
    CHECK(rows_as_json(r, 10, &out, NULL) == RC_OK);
    csv_tell(r, &at);
    CHECK_INT(at.record, 7);
    CHECK_INT(at.bad, 4);
    CHECK_INT(at.offset, strlen(text));
    CHECK_STR(csv_first_bad(r),
              "'t.csv': line 3, column 1: 'i' (field 1): 'x' is not of type INT64");
    csv_close(r);
    buf_release(&out);
    conf.max_bad = 3;
    check_error(
        text, conf, E1117,
        "more than 3 malformed records; the first: 't.csv': line 3, column 1: 'i' "
        "(field 1): 'x' is not of type INT64");
}

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

/* Lines of three fields, some blank, some too short, quotes and line ends within. */
static size_t random_csv(char *text, size_t rows, uint64_t *x)
{
    static const char *const pieces[] = {
        "a",        "\"q\"",    "\"x\ny\"", "\"\"\"\"",
        "",         "12345678", "\"a,b\"",  "long long long text",
        "\xc3\xa9", "\r"};
    size_t n = (size_t)snprintf(text, 100, "a,b,c%s\n", next_random(x) % 2 ? "\r" : "");
    for (size_t i = 0; i < rows; i++) {
        uint64_t kind = next_random(x) % 12;
        if (kind == 0)
            n += (size_t)snprintf(text + n, 200, "%s\n", next_random(x) % 2 ? "\r" : "");
        else if (kind == 1)
            n += (size_t)snprintf(text + n, 200, "only,two\n");
        else
            n += (size_t)snprintf(text + n, 200, "%zu,%s,%s%s\n", i,
                                  pieces[next_random(x) % 10], pieces[next_random(x) % 9],
                                  next_random(x) % 3 ? "" : "\r");
    }
    return n;
}

static void reading_goes_on_exactly_at_any_cursor(void)
{
    char *text = mem_alloc(100000);
    uint64_t x = 3;
    for (int round = 0; round < 40; round++) {
        size_t n = random_csv(text, 200, &x);
        struct csv_conf conf = {.skip_bad = true, .block = blocks[round % 5]};
        struct buf all, parts;
        buf_init(&all, 1 << 20);
        buf_init(&parts, 1 << 20);
        CHECK(csv_as_json(text, n, &conf, 1000, &all, NULL) == RC_OK);
        struct csv_cursor at = {0}, end;
        struct batch b;
        int64_t got = 1, rows = 0;
        while (got) { /* a new reader for every batch */
            struct csv_reader *r = NULL;
            CHECK(csv_open_memory("t.csv", text, n, &conf, &r, NULL) == RC_OK);
            if (at.offset)
                CHECK(csv_seek(r, &at, NULL) == RC_OK);
            batch_init(&b, csv_schema(r));
            CHECK(csv_next(r, 1 + (int64_t)(next_random(&x) % 20), &b, NULL) == RC_OK);
            for (int64_t i = 0; i < b.n; i++) {
                batch_print_json(&b, i, &parts);
                buf_putc(&parts, '\n');
            }
            got = b.n;
            rows += b.n;
            csv_tell(r, &at);
            CHECK_INT(at.record - at.bad, rows);
            batch_release(&b);
            csv_close(r);
        }
        CHECK_STR(buf_str(&parts), buf_str(&all));
        struct csv_reader *r = NULL;
        struct err err = {0};
        struct buf rest;
        buf_init(&rest, 1 << 20);
        CHECK(csv_open_memory("t.csv", text, n, &conf, &r, NULL) == RC_OK);
        CHECK(rows_as_json(r, 7, &rest, NULL) == RC_OK);
        csv_tell(r, &end);
        CHECK(end.offset == at.offset && end.record == at.record && end.bad == at.bad);
        CHECK_INT(end.line, at.line);
        CHECK_INT(end.offset, n);
        end.offset = 8;
        CHECK(csv_seek(r, &end, &err) != RC_OK || text[7] == '\n');
        csv_close(r);
        buf_release(&all);
        buf_release(&parts);
        buf_release(&rest);
    }
    mem_free(text);
}

static void cursors_that_cannot_be_are_refused(void)
{
    struct csv_conf conf = {0};
    struct csv_reader *r = NULL;
    struct err err = {0};
    CHECK(csv_open_memory("t.csv", "a,b\n1,2\n3,4\n", 12, &conf, &r, NULL) == RC_OK);
    struct csv_cursor at = {.offset = 6};
    CHECK(csv_seek(r, &at, &err) == RC_INVAL && err.code == E1112);
    CHECK_STR(err.msg, "'t.csv': cannot continue at byte 6: no record starts there");
    at.offset = 50;
    CHECK(csv_seek(r, &at, &err) == RC_INVAL);
    CHECK_STR(err.msg, "'t.csv': cannot continue at byte 50: the file is shorter");
    at.offset = 1;
    CHECK(csv_seek(r, &at, &err) == RC_INVAL);
    CHECK_STR(err.msg,
              "'t.csv': cannot continue at byte 1: not a position of this reader");
    at = (struct csv_cursor){.offset = 8}; /* right, but the line is not known */
    CHECK(csv_seek(r, &at, &err) == RC_OK);
    csv_close(r);
    static const struct csv_field f[] = {{.name = "b", .type = TYPE_I64}};
    conf = (struct csv_conf){.fields = f, .n_fields = 1};
    CHECK(csv_open_memory("t.csv", "a,b\n1,2\n3,x\n", 12, &conf, &r, NULL) == RC_OK);
    CHECK(csv_seek(r, &at, &err) == RC_OK);
    struct buf out;
    buf_init(&out, 1000);
    CHECK(rows_as_json(r, 10, &out, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "'t.csv': byte 10: 'b' (field 2): 'x' is not of type INT64");
    buf_release(&out);
    csv_close(r);
}

static void write_file(char *path, const void *p, size_t n)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    close(fd);
}

static void ranges_of_a_file_make_up_the_whole(void)
{
    char *text = mem_alloc(200000);
    uint64_t x = 5;
    for (int round = 0; round < 30; round++) {
        char path[] = "/tmp/ty-csv-XXXXXX";
        size_t n = random_csv(text, (size_t)(round * 20), &x),
               pieces = 1 + next_random(&x) % 9;
        if (round % 3 == 0)
            n--; /* no line end at the end */
        struct csv_cursor cut[11];
        struct csv_conf conf = {.skip_bad = true};
        struct buf all, parts;
        buf_init(&all, 1 << 20);
        buf_init(&parts, 1 << 20);
        write_file(path, text, n);
        CHECK(csv_as_json(text, n, &conf, 1000, &all, NULL) == RC_OK);
        CHECK(csv_split(path, &conf, pieces, cut, NULL) == RC_OK);
        CHECK_INT(cut[pieces].offset, n);
        /* types come from the whole file, so that all ranges agree */
        for (size_t i = 0; i < pieces; i++) {
            struct csv_reader *r = NULL;
            struct csv_cursor end;
            conf.end = cut[i + 1].offset;
            CHECK(csv_open(path, &conf, &r, NULL) == RC_OK);
            CHECK(csv_seek(r, &cut[i], NULL) == RC_OK);
            CHECK(rows_as_json(r, 10, &parts, NULL) == RC_OK);
            csv_tell(r, &end);
            CHECK_INT(end.offset, cut[i + 1].offset);
            CHECK_INT(end.record, cut[i + 1].record);
            if (i + 1 < pieces)
                CHECK_INT(end.line, cut[i + 1].line);
            csv_close(r);
        }
        CHECK_STR(buf_str(&parts), buf_str(&all));
        buf_release(&all);
        buf_release(&parts);
        unlink(path);
    }
    mem_free(text);
}

static void compressed_files_read_but_do_not_split(void)
{
    char path[] = "/tmp/ty-csv-XXXXXX";
    struct csv_conf conf = {.read_ahead = 2};
    struct csv_cursor cut[3], at;
    struct csv_reader *r = NULL;
    struct err err = {0};
    struct buf out;
    int fd = mkstemp(path);
    gzFile z = gzdopen(fd, "wb");
    gzputs(z, "a,b\n");
    for (int i = 0; i < 100000; i++)
        gzprintf(z, "%d,text %d\n", i, i);
    gzclose(z);
    buf_init(&out, 1 << 24);
    CHECK(csv_open(path, &conf, &r, &err) == RC_OK);
    CHECK(rows_as_json(r, 1000, &out, &err) == RC_OK);
    csv_tell(r, &at);
    CHECK_INT(at.record, 100000);
    CHECK_INT(at.line, 100002);
    CHECK_HAS(buf_str(&out), "{\"a\": 99999, \"b\": \"text 99999\"}\n");
    csv_close(r);
    CHECK(csv_split(path, &conf, 2, cut, &err) == RC_UNSUPPORTED && err.code == E1118);
    CHECK_HAS(err.msg, "a compressed file cannot be split");
    buf_release(&out);
    unlink(path);
}

static void memory_does_not_grow_with_the_file(void)
{
    struct csv_conf conf = {.delim = '\t', .names = CSV_NAMES_NUMBER, .infer_bytes = 1};
    size_t n = (size_t)16 << 20, at = 0;
    char *text = mem_alloc(n + 200);
    for (uint64_t i = 0; at < n; i++)
        at += (size_t)snprintf(text + at, 200, "%" PRIu64 "\t%s\t%.3f\tsome text\n", i,
                               i % 3 ? "8c0d1e2f" : "", (double)i / 7);
    struct csv_reader *r = NULL;
    struct batch b;
    CHECK(csv_open_memory("t.csv", text, at, &conf, &r, NULL) == RC_OK);
    batch_init(&b, csv_schema(r));
    for (int i = 0; i < 20; i++)
        CHECK(csv_next(r, 1024, &b, NULL) == RC_OK && b.n == 1024);
    int64_t total = mem_total(), live = mem_live(), rows = 0;
    do {
        CHECK(csv_next(r, 1024, &b, NULL) == RC_OK);
        rows += b.n;
    } while (b.n);
    CHECK(rows > 400000);
    CHECK(mem_total() - total <= 2 * (int64_t)b.n_cols); /* a longer text may come late */
    CHECK_INT(mem_live(), live);
    batch_release(&b);
    csv_close(r);
    mem_free(text);
}

static void no_memory_is_an_error_and_nothing_leaks(void)
{
    static const char text[] = "a,b,c\n1,x,2.5\n,\"y\"\"z\",\n2\nq,w,3\n5,v,\n\n";
    static const struct csv_field f[] = {{.name = "a", .type = TYPE_I64}};
    int64_t live = mem_live();
    enum rc rc = RC_NOMEM;
    int tries = 0;
    while (rc == RC_NOMEM && tries < 200) {
        struct csv_conf conf = {
            .skip_bad = true, .block = 64, .fields = f, .n_fields = 1};
        struct buf out;
        struct err err = {0};
        struct csv_reader *r = NULL;
        struct batch b = {0};
        buf_init(&out, 1000);
        mem_fail_at(++tries);
        rc = csv_open_memory("t.csv", text, sizeof(text) - 1, &conf, &r, &err);
        if (rc == RC_OK) {
            batch_init(&b, csv_schema(r));
            rc = csv_next(r, 10, &b, &err);
            CHECK_INT(b.n, rc ? 0 : 3);
        }
        mem_fail_at(0);
        CHECK(rc == RC_OK || err.msg[0]);
        batch_release(&b);
        csv_close(r);
        buf_release(&out);
        CHECK_INT(mem_live(), live);
    }
    CHECK(rc == RC_OK && tries > 8);
}

static const struct tap_case cases[] = {
    TAP(quotes_follow_rfc_4180),
    TAP(line_ends_marks_and_blank_lines),
    TAP(names_come_from_header_caller_or_number),
    TAP(known_types_hold_whatever_the_values_look_like),
    TAP(declared_types_win_and_nulls_have_many_spellings),
    TAP(whole_numbers_beyond_64_bits_are_text),
    TAP(types_are_inferred_from_the_values),
    TAP(only_wanted_columns_are_parsed),
    TAP(empty_can_mean_null_for_text),
    TAP(every_error_names_its_place),
    TAP(settings_are_checked),
    TAP(records_have_a_longest_length),
    TAP(malformed_records_can_be_counted_and_skipped),
    TAP(reading_goes_on_exactly_at_any_cursor),
    TAP(cursors_that_cannot_be_are_refused),
    TAP(ranges_of_a_file_make_up_the_whole),
    TAP(compressed_files_read_but_do_not_split),
    TAP(memory_does_not_grow_with_the_file),
    TAP(no_memory_is_an_error_and_nothing_leaks),
};
TAP_MAIN(cases)
