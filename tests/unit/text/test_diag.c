/* SPDX-License-Identifier: Apache-2.0 */
#include "text/diag.h"

#include "tap.h"

static struct source *source(const char *text)
{
    struct source *s = NULL;
    CHECK(source_from("f", text, strlen(text), &s, NULL) == RC_OK);
    return s;
}

static void prints_by_position_with_carets(void)
{
    struct source *s = source("one\ntwo\tthree\r\nvier");
    struct diags d = {0};
    struct buf out;
    buf_init(&out, 1 << 16);
    diag_add(&d, DIAG_WARNING, E0207, (struct span){s, 8, 5}, "late");
    struct diag *g = diag_add(&d, DIAG_ERROR, E0201, (struct span){s, 0, 3}, "early");
    diag_hint(&d, g, "do %d", 1);
    diag_where(&d, g, "here");
    diag_add(&d, DIAG_NOTE, E_NONE, (struct span){0}, "nowhere");
    diags_sort(&d);
    diags_print(&d, &out, false);
    CHECK_STR(buf_str(&out), "f:1:1: error[E0201]: early\n     1 | one\n       | ^~~\n"
                             "       = in here\n       = do 1\n"
                             "f:2:5: warning[E0207]: late\n     2 | two three\n"
                             "       |     ^~~~~\nnote: nowhere\n1 error, 1 warning\n");
    buf_clear(&out);
    diags_print(&d, &out, true);
    CHECK_HAS(buf_str(&out), "\033[1;31merror[E0201]\033[0m");
    buf_release(&out);
    diags_release(&d);
    source_close(s);
}

static void spans_at_the_end_and_over_lines_are_shown(void)
{
    struct source *s = source("a {\n}\n");
    struct diags d = {0};
    struct buf out;
    buf_init(&out, 1 << 16);
    diag_add(&d, DIAG_ERROR, E0104, (struct span){s, 2, 3}, "over lines");
    diag_add(&d, DIAG_ERROR, E0103, (struct span){s, 6, 0}, "at the end");
    diags_print(&d, &out, false);
    CHECK_STR(buf_str(&out),
              "f:1:3: error[E0104]: over lines\n     1 | a {\n       |   ^\n"
              "f:3:1: error[E0103]: at the end\n     3 | \n       | ^\n2 errors\n");
    buf_release(&out);
    diags_release(&d);
    source_close(s);
}

static void long_lines_are_cut_around_the_place(void)
{
    char text[2001];
    memset(text, 'a', 2000);
    text[2000] = '\0';
    text[1000] = 'B';
    struct source *s = source(text);
    struct diags d = {0};
    struct buf out;
    buf_init(&out, 1 << 16);
    diag_add(&d, DIAG_ERROR, E0103, (struct span){s, 1000, 1}, "x");
    diags_print(&d, &out, false);
    CHECK(out.n < 500);
    const char *caret = strchr(buf_str(&out), '^'), *b = strchr(buf_str(&out), 'B');
    const char *line2 = strstr(buf_str(&out), "\n       | ");
    CHECK(caret && b && line2);
    const char *line1 = strchr(buf_str(&out), '\n') + 1;
    CHECK_INT(caret - (line2 + 1), b - line1);
    buf_release(&out);
    diags_release(&d);
    source_close(s);
}

static void json_has_one_object_per_line(void)
{
    struct source *s = source("x: \"y\"");
    struct diags d = {0};
    struct buf out;
    buf_init(&out, 1 << 16);
    diag_add(&d, DIAG_ERROR, E0202, (struct span){s, 3, 3}, "say \"%s\"", "y");
    diags_json(&d, &out);
    CHECK_STR(
        buf_str(&out),
        "{\"severity\":\"error\",\"code\":\"E0202\",\"title\":\"wrong type\",\"file\":\"f\","
        "\"line\":1,\"column\":4,\"end_line\":1,\"end_column\":7,"
        "\"message\":\"say \\\"y\\\"\",\"where\":null,\"hint\":null}\n");
    buf_release(&out);
    diags_release(&d);
    source_close(s);
}

static void too_many_are_counted_not_kept(void)
{
    struct diags d = {0};
    for (int i = 0; i < DIAGS_MAX + 50; i++)
        diag_add(&d, DIAG_ERROR, E0103, (struct span){0}, "n %d", i);
    CHECK_INT(d.n_errors, DIAGS_MAX + 50);
    CHECK_INT(d.list.n, DIAGS_MAX);
    diags_release(&d);
}

static void sources_refuse_what_is_no_text(void)
{
    struct source *s = NULL;
    struct err err = {0};
    CHECK(source_from("f", "ok\nab\xff", 6, &s, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "line 2, column 3: not UTF-8 text");
    CHECK(source_from("f", "a\0b", 3, &s, &err) == RC_FORMAT);
    CHECK_STR(err.msg, "line 1, column 2: a NUL byte in a text file");
    CHECK(err.code == E0101);
    CHECK(source_open("/no/such/file", &s, &err) == RC_NOTFOUND);
    CHECK_STR(err.msg, "/no/such/file: cannot open: No such file or directory");
    CHECK(source_open("/", &s, &err) == RC_IO);
    CHECK_STR(err.msg, "/: cannot read: Is a directory");
}

static const struct tap_case cases[] = {
    TAP(prints_by_position_with_carets),
    TAP(spans_at_the_end_and_over_lines_are_shown),
    TAP(long_lines_are_cut_around_the_place),
    TAP(json_has_one_object_per_line),
    TAP(too_many_are_counted_not_kept),
    TAP(sources_refuse_what_is_no_text),
};
TAP_MAIN(cases)
