/* SPDX-License-Identifier: Apache-2.0 */
/* Slot files: what lines hold, what columns make of them, and what is refused. */
#include "data/slots/slots.h"

#include "base/fs.h"
#include "base/mem.h"
#include "data/jsonl/jsonl.h"
#include "tap.h"

/* All rows as JSON, one per line; the message of a failure instead. */
static char *rows_of(const char *text, const struct slots_conf *conf, int64_t at_once)
{
    struct slots_reader *r = NULL;
    struct err err = {0};
    struct batch b;
    struct buf out;
    buf_init(&out, 1 << 20);
    enum rc rc = slots_open_memory("t", text, strlen(text), conf, &r, &err);
    if (rc) {
        buf_puts(&out, err.msg);
        return buf_take(&out);
    }
    batch_init(&b, slots_schema(r));
    do {
        rc = slots_next(r, at_once, &b, &err);
        for (int64_t i = 0; i < b.n; i++) {
            batch_print_json(&b, i, &out);
            buf_putc(&out, '\n');
        }
    } while (!rc && b.n);
    if (rc)
        buf_puts(&out, err.msg);
    batch_release(&b);
    slots_close(r);
    return buf_take(&out);
}

static void check_rows(const char *text, const char *columns, const char *want)
{
    struct slots_conf conf = {.columns = columns};
    char *got = rows_of(text, &conf, 100);
    CHECK_STR(got, want);
    mem_free(got);
    conf.block = 16; /* a block at a time gives the same */
    got = rows_of(text, &conf, 1);
    CHECK_STR(got, want);
    mem_free(got);
}

static void repeated_slots_hold_several_values(void)
{
    check_rows("click:0 d:0.5 d:1.5 1:7 2:8 2:9\nclick:1 d:1 d:2 1:4 2:3\n",
               "y=id(click) a=ids(1) b=ids(2) x=floats(d,2)",
               "{\"y\": 0, \"a\": [7], \"b\": [8, 9], \"x\": [0.5, 1.5]}\n"
               "{\"y\": 1, \"a\": [4], \"b\": [3], \"x\": [1, 2]}\n");
}

static void order_of_tokens_is_free_and_other_slots_are_left_out(void)
{
    check_rows("b:2 a:1 z:9\na:3 z:9 b:4\n", "a=id(a) b=id(b)",
               "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n");
}

static void missing_slots_are_padded_to_their_width(void)
{
    struct slots_conf conf = {.columns = "y=id(y) a=ids(a) x=floats(d,3) p=pair(i,1,w)",
                              .padding = 5};
    char *got = rows_of("z:1\n", &conf, 100);
    CHECK_STR(got, "{\"y\": 5, \"a\": [5], \"x\": [5, 5, 5], \"p\": {\"5\": 5}}\n");
    mem_free(got);
}

static void single_values_and_pairs_are_taken_by_place(void)
{
    check_rows("i:10 i:11 w:0.5 w:2\n", "a=id(i,1) b=float(w,0) p=pair(i,1,w)",
               "{\"a\": 11, \"b\": 0.5, \"p\": {\"11\": 2}}\n");
    check_rows("i:10 i:0\n", "p=pair(i,0) q=pair(i,1)",
               "{\"p\": {\"10\": 1}, \"q\": {\"0\": 0}}\n");
}

static void sessions_and_texts_are_taken_apart(void)
{
    check_rows("s:4 s:5 s:6\n", "a=head(s) b=tail(s) c=last(s) y=value(-7)",
               "{\"a\": [4, 5], \"b\": [5, 6], \"c\": 6, \"y\": -7}\n");
    check_rows("s:4 s:6\n", "d=other(s)",
               "{\"d\": 4}\n"); /* the only one before the last */
    check_rows("t:7 t:8 t:0 t:2 t:1\n", "w=text(t,3) y=id(t,4)",
               "{\"w\": [7, 8], \"y\": 1}\n");
    check_rows("x:1 x:2 x:3 x:4\n", "a=floats(x,2,0) b=ids(x,2,1)",
               "{\"a\": [1, 2], \"b\": [3, 4]}\n");
    check_rows("y:1\n", "a=floats(x,2,1)", "{\"a\": [0, 0]}\n");
    check_rows("s:4\n", "a=head(s)",
               "'t': line 1, column 3: slot 's': holds 1 value, where 2 are expected, "
               "found '4'");
    check_rows("t:7 t:8 t:3\n", "w=text(t,2)",
               "'t': line 1, column 11: slot 't': a text has 1 to 2 values, found '3'");
    check_rows("t:7 t:8\n", "w=text(t,2)",
               "'t': line 1, column 3: slot 't': holds 2 values, where 3 are expected, "
               "found '7'");
    check_rows("x:1 x:2 x:3\n", "b=floats(x,2,1)",
               "'t': line 1, column 3: slot 'x': holds 3 values, where 4 are expected, "
               "found '1'");
}

/* What is drawn of a session follows from it, and is any of those before its last. */
static void one_of_a_session_is_drawn_by_its_values(void)
{
    bool seen[6] = {false};
    for (int k = 0; k < 60; k++) {
        char *text = mem_printf("s:0 s:1 s:2 s:3 s:4 s:%d\n", 100 + k), *twice;
        struct slots_conf conf = {.columns = "d=other(s)"};
        char *got = rows_of(text, &conf, 1);
        CHECK_STR(twice = rows_of(text, &conf, 9), got);
        int64_t which = 5;
        CHECK(str_to_i64(str_of(got + 6, 1), &which) && which < 5);
        seen[which] = true;
        mem_free(twice);
        mem_free(got);
        mem_free(text);
    }
    for (int i = 0; i < 5; i++)
        CHECK(seen[i]);
}

static void carriage_returns_blanks_and_a_byte_order_mark_do_no_harm(void)
{
    check_rows("\xef\xbb\xbf  a:1  b:2 \r\n\r\n\na:3 b:4", "a=id(a) b=id(b)",
               "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n");
}

static void a_value_ends_at_a_second_colon(void)
{
    check_rows("a:1:2 b:3\n", "a=id(a)", "{\"a\": 1}\n");
}

static void ids_of_64_bits_are_exact(void)
{
    check_rows("a:9223372036854775807\n", "a=id(a)", "{\"a\": 9223372036854775807}\n");
}

static void columns_are_inferred_from_the_first_lines(void)
{
    check_rows("a:1 b:0.5\na:2 c:3\n", NULL,
               "{\"a\": [1], \"b\": [0.5], \"c\": [0]}\n"
               "{\"a\": [2], \"b\": [0], \"c\": [3]}\n");
}

static void faults_name_line_column_slot_and_value(void)
{
    static const struct {
        const char *text, *columns, *want;
    } rows[] = {
        {"a:1\nb a:2\n", "a=id(a)",
         "{\"a\": 1}\n't': line 2, column 1: a token is written slot:value, found 'b'"},
        {"a:1\n a:x\n", "a=id(a)",
         "{\"a\": 1}\n't': line 2, column 4: slot 'a': 'x' is not a whole number of 64 "
         "bits"},
        {"a:1.5\n", "a=ids(a)",
         "'t': line 1, column 3: slot 'a': '1.5' is not a whole number of 64 bits"},
        {"a:1 a:2\n", "a=id(a)",
         "'t': line 1, column 3: slot 'a': holds 2 values, where 1 is expected, found '1'"},
        {"d:1 d:2\n", "x=floats(d,3)",
         "'t': line 1, column 3: slot 'd': holds 2 values, where 3 are expected, found '1'"},
        {"d:1 d:2\n", "x=float(d,2)",
         "'t': line 1, column 3: slot 'd': holds 2 values, where 3 are expected, found '1'"},
        {"d:1e999\n", "x=floats(d)",
         "'t': line 1, column 3: slot 'd': '1e999' is not a 32-bit float"},
        {" \n", "a=id(a)", "'t': line 1, column 1: a token is written slot:value"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slots_conf conf = {.columns = rows[i].columns};
        char *got = rows_of(rows[i].text, &conf, 1);
        CHECK_STR(got, rows[i].want);
        mem_free(got);
    }
}

static void malformed_lines_can_be_left_out(void)
{
    struct slots_conf conf = {.columns = "a=id(a)", .skip_bad = true};
    char *got = rows_of("a:1\na\na:x\na:2\n", &conf, 100);
    CHECK_STR(got, "{\"a\": 1}\n{\"a\": 2}\n");
    mem_free(got);
    conf.max_bad = 1;
    got = rows_of("a:1\na\na:x\na:2\n", &conf, 100);
    CHECK_STR(got, "more than 1 malformed records; the first: 't': line 2, column 1: a "
                   "token is written slot:value, found 'a'");
    mem_free(got);
}

static void columns_that_cannot_be_are_refused(void)
{
    static const char *const rows[][2] = {
        {"", "a slot file without columns"},
        {"a", "column 'a' of a slot file: is written name=kind(slot)"},
        {"a=id", "column 'a=id' of a slot file: is written name=kind(slot)"},
        {"a=text(b)",
         "column 'a=text(b)' of a slot file: text takes a slot and a number of values"},
        {"a=word(b)", "column 'a=word(b)' of a slot file: the kind is id, ids, float, "
                      "floats, pair, value, head, tail, last, other or text"},
        {"a=floats(b,2,x)",
         "column 'a=floats(b,2,x)' of a slot file: the third argument is "
         "which share of that many values"},
        {"a=last(b,1)", "column 'a=last(b,1)' of a slot file: takes a slot alone"},
        {"a=value(b)", "column 'a=value(b)' of a slot file: value takes a whole number"},
        {"a=id()",
         "column 'a=id()' of a slot file: a slot, a number and for pair another slot"},
        {"a=floats(b,0)",
         "column 'a=floats(b,0)' of a slot file: the second argument is a "
         "number of values"},
        {"a=id(b,-1)",
         "column 'a=id(b,-1)' of a slot file: the second argument is a place"},
        {"a=id(b,1,c)",
         "column 'a=id(b,1,c)' of a slot file: takes a slot, perhaps a number"},
        {"a=pair(b)",
         "column 'a=pair(b)' of a slot file: pair takes a slot, a place, perhaps a slot"},
        {"a=id(b) a=id(c)",
         "column 'a=id(c)' of a slot file: another column has this name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        CHECK(slots_columns_check(NULL, rows[i][0], &err) == RC_INVAL);
        CHECK_STR(err.msg, rows[i][1]);
    }
    struct err err = {0};
    CHECK(slots_columns_check("nope", "a=id(b)", &err) == RC_INVAL);
    CHECK_HAS(err.msg, "'nope' is not a line format; there are slots|din|");
}

static void forms_of_lines_fill_slots_of_fixed_names(void)
{
    static const struct {
        const char *format, *columns, *text, *want;
    } rows[] = {
        {"din", "h=ids(hist_item) t=id(target_item) y=id(label)", "1 2 3;4 5 6;7;8;1\n",
         "{\"h\": [1, 2, 3], \"t\": 7, \"y\": 1}\n"},
        {"mmoe", "m=id(marital) i=id(income) x=floats(features,2)", "0,1,0.5,2\n",
         "{\"m\": 0, \"i\": 1, \"x\": [0.5, 2]}\n"},
        {"ncf", "u=id(user) i=id(item) y=id(label)", "4,5,0\n",
         "{\"u\": 4, \"i\": 5, \"y\": 0}\n"},
        {"items", "s=ids(items)", "4 5 6\n", "{\"s\": [4, 5, 6]}\n"},
        {"session", "s=ids(items) y=id(label)", "4,5\t6\n",
         "{\"s\": [4, 5], \"y\": 6}\n"},
        {"youtube", "w=floats(watch,2) s=floats(search,1) y=id(label)", "1,2;3;4;5\n",
         "{\"w\": [1, 2], \"s\": [3], \"y\": 5}\n"},
        {"esmm", "c=id(click) v=id(conversion) f=ids(101)", "9,1,0,101:5,205:6,101:7\n",
         "{\"c\": 1, \"v\": 0, \"f\": [5, 7]}\n"},
        {"tagspace", "t=id(tag) w=ids(words)", "3,17 40 5 \n",
         "{\"t\": 3, \"w\": [17, 40, 5]}\n"},
        {"texts", "q=floats(query,2) t=floats(title,1) a=floats(others,2,1)",
         "0,1\t1\t1,2\t3,4\n", "{\"q\": [0, 1], \"t\": [1], \"a\": [3, 4]}\n"},
        {"texts", "q=ids(query) t=ids(title)", "5,6\t7\n",
         "{\"q\": [5, 6], \"t\": [7]}\n"},
        {"tdm", "x=floats(input,2) i=id(item)", "0.5 1\t9\n",
         "{\"x\": [0.5, 1], \"i\": 9}\n"},
        {"tdm", "x=floats(input,2)", "0.5 1\n", "{\"x\": [0.5, 1]}\n"},
        {"texts", "q=ids(query)", "5,6\n",
         "'t': line 1, column 1: 1 parts, where 'texts' has 2, found '5,6'"},
        {"din", "y=id(label)", "1;2;3\n",
         "'t': line 1, column 1: 3 parts, where 'din' has 5, found '1;2;3'"},
        {"ncf", "y=id(label)", "1,2,3,4\n",
         "'t': line 1, column 1: more than 3 parts, where 'ncf' has 3, found '1,2,3,4'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slots_conf conf = {.format = rows[i].format, .columns = rows[i].columns};
        char *got = rows_of(rows[i].text, &conf, 100);
        CHECK_STR(got, rows[i].want);
        mem_free(got);
    }
}

static void every_form_can_be_opened_by_its_name(void)
{
    struct str rest = str_c(slots_formats()), part;
    while (str_split(&rest, '|', &part)) {
        char *name = mem_strndup(part.p, part.n);
        CHECK(slots_columns_check(name, "a=id(b)", NULL) == RC_OK);
        mem_free(name);
    }
}

static void reading_goes_on_at_any_row(void)
{
    static const char text[] = "a:1\n\na:2\na:3\na:4\n";
    struct slots_conf conf = {.columns = "a=id(a)", .block = 16};
    struct slots_reader *r = NULL, *other = NULL;
    struct err err = {0};
    struct batch b;
    CHECK(slots_open_memory("t", text, sizeof(text) - 1, &conf, &r, &err) == RC_OK);
    CHECK(slots_open_memory("t", text, sizeof(text) - 1, &conf, &other, &err) == RC_OK);
    batch_init(&b, slots_schema(r));
    for (int64_t row = 1; row < 4; row++) {
        struct csv_cursor at;
        CHECK(slots_next(r, 1, &b, &err) == RC_OK);
        slots_tell(r, &at);
        CHECK_INT(at.record, row);
        CHECK(slots_seek(other, &at, &err) == RC_OK);
        CHECK(slots_next(other, 1, &b, &err) == RC_OK && b.n == 1);
        CHECK_INT(column_i64(&b.cols[0], 0), row + 1);
    }
    struct csv_cursor wrong = {.offset = 2};
    CHECK(slots_seek(r, &wrong, &err) == RC_INVAL);
    CHECK_STR(err.msg, "'t': cannot continue at byte 2: no record starts there");
    batch_release(&b);
    slots_close(r);
    slots_close(other);
}

static void slot_lines_are_recognised_by_their_first_line(void)
{
    static const struct {
        const char *text;
        bool slots;
    } rows[] = {{"click:0 1:5 2:7\n", true},
                {"click:0 1:5 2:7 3:", true},
                {"click:0 1:5 2:x\n", false},
                {"a b c\n", false},
                {"1,2,3\n", false},
                {"a:1 b:2\n", false},
                {"1 3:0.5 4:1.0 7:2\n", false},
                {"{\"a\": 1}\n", false},
                {"name:1 text: 3:4 5:6\n", false},
                {"", false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const unsigned char *head = (const unsigned char *)rows[i].text;
        CHECK((slots_probe(head, strlen(rows[i].text)) > 0) == rows[i].slots);
    }
}

static void slots_that_do_not_fit_the_data_are_listed(void)
{
    char *dir = NULL;
    struct err err = {0};
    struct slots_look look;
    CHECK(fs_temp_dir("slots", &dir, &err) == RC_OK);
    char *path = fs_join(dir, "a");
    static const char text[] = "click:0 dense_feature:1 1:2\nclick:1 2:3 1:4\n";
    CHECK(fs_write(path, text, sizeof(text) - 1, 0644, &err) == RC_OK);
    CHECK(slots_look(path, "y=id(click) x=floats(dense_var,1) a=ids(1)", 1000, &look,
                     &err) == RC_OK);
    CHECK_STR(buf_str(&look.unknown), "dense_feature, 2");
    CHECK_STR(buf_str(&look.missing), "dense_var");
    CHECK_INT(look.lines, 2);
    slots_look_release(&look);
    mem_free(path);
    CHECK(fs_remove_all(dir, &err) == RC_OK);
    mem_free(dir);
}

static void failing_memory_fails_cleanly(void)
{
    static const char text[] = "a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:8 a:9 b:0.5\n";
    enum rc rc = RC_NOMEM;
    int64_t live = mem_live();
    int tries = 0;
    while (rc == RC_NOMEM && tries < 200) {
        struct slots_conf conf = {.columns = "a=ids(a) b=floats(b)", .block = 16};
        struct err err = {0};
        struct slots_reader *r = NULL;
        struct batch b = {0};
        mem_fail_at(++tries);
        rc = slots_open_memory("t", text, sizeof(text) - 1, &conf, &r, &err);
        if (rc == RC_OK) {
            batch_init(&b, slots_schema(r));
            rc = slots_next(r, 10, &b, &err);
            CHECK_INT(b.n, rc ? 0 : 1);
        }
        mem_fail_at(0);
        CHECK(rc == RC_OK || err.msg[0]);
        batch_release(&b);
        slots_close(r);
        CHECK_INT(mem_live(), live);
    }
    CHECK(rc == RC_OK && tries > 5);
}

static const struct tap_case cases[] = {
    TAP(repeated_slots_hold_several_values),
    TAP(order_of_tokens_is_free_and_other_slots_are_left_out),
    TAP(missing_slots_are_padded_to_their_width),
    TAP(single_values_and_pairs_are_taken_by_place),
    TAP(sessions_and_texts_are_taken_apart),
    TAP(one_of_a_session_is_drawn_by_its_values),
    TAP(carriage_returns_blanks_and_a_byte_order_mark_do_no_harm),
    TAP(a_value_ends_at_a_second_colon),
    TAP(ids_of_64_bits_are_exact),
    TAP(columns_are_inferred_from_the_first_lines),
    TAP(faults_name_line_column_slot_and_value),
    TAP(malformed_lines_can_be_left_out),
    TAP(columns_that_cannot_be_are_refused),
    TAP(forms_of_lines_fill_slots_of_fixed_names),
    TAP(every_form_can_be_opened_by_its_name),
    TAP(reading_goes_on_at_any_row),
    TAP(slot_lines_are_recognised_by_their_first_line),
    TAP(slots_that_do_not_fit_the_data_are_listed),
    TAP(failing_memory_fails_cleanly),
};
TAP_MAIN(cases)
