/* SPDX-License-Identifier: Apache-2.0 */
#include "data/csv/writer.h"

#include <float.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "csv_text.h"
#include "tap.h"

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static void add_column(struct data_schema *s, const char *name, enum type_id id)
{
    struct type t = type_of(id, true);
    data_schema_add(s, str_c(name), &t);
}

static void add_random(struct column *c, uint64_t *x)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "a,b",
                                        "\"",
                                        "x\"y",
                                        "two\nlines",
                                        "cr\r",
                                        "\t",
                                        " pad ",
                                        "null",
                                        "\xe4\xbd\xa0\xe5\xa5\xbd",
                                        "\"\"",
                                        "a longer text than sixteen bytes"};
    uint64_t r = next_random(x) << 33 ^ next_random(x) << 10 ^ next_random(x);
    double d;
    float f;
    memcpy(&d, &r, sizeof(d));
    memcpy(&f, &r, sizeof(f));
    if (next_random(x) % 5 == 0) {
        CHECK(column_add_null(c, NULL) == RC_OK);
        return;
    }
    switch (c->type->id) {
    case TYPE_I32:
        CHECK(column_add_i32(c, (int32_t)(r >> r % 32), NULL) == RC_OK);
        break;
    case TYPE_I64:
        CHECK(column_add_i64(c, (int64_t)r >> r % 64, NULL) == RC_OK);
        break;
    case TYPE_F32:
        CHECK(column_add_f32(c, isnan(f) ? 0.1f : f, NULL) == RC_OK);
        break;
    case TYPE_F64:
        CHECK(column_add_f64(c, isnan(d) ? -0.0 : d, NULL) == RC_OK);
        break;
    default:
        CHECK(column_add_str(c, str_c(texts[r % 13]), NULL) == RC_OK);
    }
}

static void what_is_written_reads_back_the_same(void)
{
    static const enum type_id types[] = {TYPE_I32, TYPE_I64, TYPE_F32, TYPE_F64,
                                         TYPE_STR};
    uint64_t x = 11;
    for (int round = 0; round < 200 && !tap_failed; round++) {
        struct data_schema s = {0};
        struct batch b, back;
        struct csv_field f[6];
        char names[6][8];
        size_t n_cols = 2 + next_random(&x) % 5;
        for (size_t k = 0; k < n_cols; k++) {
            snprintf(names[k], sizeof(names[k]), "n,%zu", k);
            enum type_id id = types[next_random(&x) % 5];
            add_column(&s, names[k], id);
            f[k] = (struct csv_field){.name = names[k], .type = id};
        }
        batch_init(&b, &s);
        int64_t rows = (int64_t)(next_random(&x) % 500);
        for (int64_t i = 0; i < rows; i++)
            for (size_t k = 0; k < n_cols; k++)
                add_random(&b.cols[k], &x);
        CHECK(batch_finish(&b, NULL) == RC_OK);
        struct csv_style style = {.delim = round % 2 ? '\t' : ',', .empty_is_null = true};
        struct csv_conf conf = {.delim = style.delim,
                                .fields = f,
                                .n_fields = n_cols,
                                .empty_is_null = true,
                                .block = round % 3 ? 0 : 64 + (size_t)round};
        struct buf text;
        struct csv_reader *r = NULL;
        struct err err = {0};
        buf_init(&text, 1 << 24);
        csv_print_header(&s, &style, &text);
        csv_print_rows(&b, 0, b.n, &style, &text);
        CHECK(csv_open_memory("w.csv", text.p, text.n, &conf, &r, &err) == RC_OK);
        CHECK_STR(err.msg, "");
        if (r) {
            batch_init(&back, csv_schema(r));
            CHECK(csv_next(r, 1000, &back, &err) == RC_OK);
            CHECK_STR(err.msg, "");
            CHECK_INT(back.n, b.n);
            CHECK(batch_equal(&b, &back));
            batch_release(&back);
        }
        csv_close(r);
        buf_release(&text);
        batch_release(&b);
        data_schema_release(&s);
    }
}

static void check_text(const struct batch *b, struct csv_style style, const char *want)
{
    struct buf out;
    buf_init(&out, 10000);
    csv_print_header(b->schema, &style, &out);
    csv_print_rows(b, 0, b->n, &style, &out);
    CHECK_STR(buf_str(&out), want);
    buf_release(&out);
}

static void quotes_stand_only_where_they_must(void)
{
    struct data_schema s = {0};
    struct batch b;
    add_column(&s, "t", TYPE_STR);
    add_column(&s, "f", TYPE_F32);
    batch_init(&b, &s);
    static const char *const texts[] = {"plain", "", "a;b", "a,b", "q\"q", "l\nl", "c\r"};
    for (size_t i = 0; i < 7; i++) {
        CHECK(column_add_str(&b.cols[0], str_c(texts[i]), NULL) == RC_OK);
        CHECK(column_add_f32(&b.cols[1], 0.1f, NULL) == RC_OK);
    }
    CHECK(column_add_null(&b.cols[0], NULL) == RC_OK);
    CHECK(column_add_null(&b.cols[1], NULL) == RC_OK);
    CHECK(batch_finish(&b, NULL) == RC_OK);
    check_text(
        &b, (struct csv_style){0},
        "t,f\nplain,0.1\n,0.1\na;b,0.1\n\"a,b\",0.1\n\"q\"\"q\",0.1\n\"l\nl\",0.1\n"
        "\"c\r\",0.1\n,\n");
    check_text(
        &b, (struct csv_style){.delim = ';', .empty_is_null = true},
        "t;f\nplain;0.1\n\"\";0.1\n\"a;b\";0.1\na,b;0.1\n\"q\"\"q\";0.1\n\"l\nl\";0.1\n"
        "\"c\r\";0.1\n;\n");
    batch_release(&b);
    data_schema_release(&s);
}

static void a_single_empty_value_is_not_a_blank_line(void)
{
    struct data_schema s = {0};
    struct batch b;
    add_column(&s, "i", TYPE_I64);
    batch_init(&b, &s);
    CHECK(column_add_null(&b.cols[0], NULL) == RC_OK);
    CHECK(column_add_i64(&b.cols[0], INT64_MIN, NULL) == RC_OK);
    CHECK(batch_finish(&b, NULL) == RC_OK);
    check_text(&b, (struct csv_style){0}, "i\n\"\"\n-9223372036854775808\n");
    batch_release(&b);
    data_schema_release(&s);
}

static void dates_and_bools_are_words(void)
{
    struct data_schema s = {0};
    struct batch b;
    struct type date = {.id = TYPE_I32, .logical = LOGICAL_DATE};
    data_schema_add(&s, str_c("d"), &date);
    add_column(&s, "b", TYPE_BOOL);
    add_column(&s, "u", TYPE_U64);
    batch_init(&b, &s);
    CHECK(column_add_i32(&b.cols[0], 19723, NULL) == RC_OK);
    CHECK(column_add_bool(&b.cols[1], 1, NULL) == RC_OK);
    CHECK(column_add_u64(&b.cols[2], UINT64_MAX, NULL) == RC_OK);
    CHECK(batch_finish(&b, NULL) == RC_OK);
    check_text(&b, (struct csv_style){0},
               "d,b,u\n2024-01-01,true,18446744073709551615\n");
    batch_release(&b);
    data_schema_release(&s);
}

static void lists_cannot_be_written(void)
{
    struct data_schema s = {0};
    struct csv_writer *w = NULL;
    struct err err = {0};
    struct type list = type_list(&s.mem, type_of(TYPE_I64, true), true);
    data_schema_add(&s, str_c("seq"), &list);
    CHECK(csv_create("/tmp/x.csv", &s, &(struct csv_style){0}, &w, &err) ==
          RC_UNSUPPORTED);
    CHECK_STR(err.msg, "'/tmp/x.csv': column 'seq': CSV cannot hold list<int64>");
    CHECK(err.code == E1114 && !w);
    CHECK(csv_check_style(&s, &(struct csv_style){.delim = '"'}, &err) == RC_INVAL);
    CHECK_STR(err.msg, "delimiter: a line end or a quote cannot be one");
    data_schema_release(&s);
}

static void a_file_appears_only_when_it_is_whole(void)
{
    char *dir = NULL;
    CHECK(fs_temp_dir("ty-csv", &dir, NULL) == RC_OK);
    char *path = fs_join(dir, "out.csv");
    struct data_schema s = {0};
    struct batch b;
    struct csv_writer *w = NULL;
    add_column(&s, "i", TYPE_I64);
    add_column(&s, "j", TYPE_I64);
    batch_init(&b, &s);
    for (int64_t i = 0; i < 1000; i++)
        for (size_t k = 0; k < 2; k++)
            CHECK(column_add_i64(&b.cols[k], i, NULL) == RC_OK);
    CHECK(batch_finish(&b, NULL) == RC_OK);
    CHECK(csv_create(path, &s, &(struct csv_style){0}, &w, NULL) == RC_OK);
    CHECK(csv_write(w, &b, NULL) == RC_OK);
    CHECK(!fs_exists(path));
    csv_abandon(w);
    CHECK(!fs_exists(path));
    CHECK(csv_create(path, &s, &(struct csv_style){0}, &w, NULL) == RC_OK);
    for (int i = 0; i < 300; i++)
        CHECK(csv_write(w, &b, NULL) == RC_OK);
    CHECK(csv_commit(w, NULL) == RC_OK);
    struct csv_reader *r = NULL;
    struct csv_cursor end;
    struct csv_conf conf = {0};
    struct batch back;
    CHECK(csv_open(path, &conf, &r, NULL) == RC_OK);
    batch_init(&back, csv_schema(r));
    do
        CHECK(csv_next(r, 1000, &back, NULL) == RC_OK);
    while (back.n);
    csv_tell(r, &end);
    CHECK_INT(end.record, 300000);
    batch_release(&back);
    csv_close(r);
    batch_release(&b);
    data_schema_release(&s);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(path);
    mem_free(dir);
}

static const struct tap_case cases[] = {
    TAP(what_is_written_reads_back_the_same),
    TAP(quotes_stand_only_where_they_must),
    TAP(a_single_empty_value_is_not_a_blank_line),
    TAP(dates_and_bools_are_words),
    TAP(lists_cannot_be_written),
    TAP(a_file_appears_only_when_it_is_whole),
};
TAP_MAIN(cases)
