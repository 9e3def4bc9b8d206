/* SPDX-License-Identifier: Apache-2.0 */
#include "http/framing.h"

#include <string.h>

#include "tap.h"

#define GOOD "HTTP/1.1\0\0Host\0 a\0\0Accept\0*/*\0\0\0"

/* The head as the library leaves it; its last NUL is that of the literal. */
#define LINES(text, fields) http_framing_lines(text, sizeof(text), fields)

static void a_head_whose_lines_end_with_cr_lf_is_fine(void)
{
    size_t fields = 0;
    CHECK(LINES(GOOD, &fields));
    CHECK_INT(fields, 2);
    CHECK(LINES("HTTP/1.1\0\0Host\0\0\0\0", &fields)); /* no value */
    CHECK_INT(fields, 1);
    CHECK(LINES("HTTP/1.1\0\0\0", &fields)); /* no field */
    CHECK_INT(fields, 0);
}

static void a_bare_line_end_is_found_wherever_it_is(void)
{
    size_t fields;
    CHECK(!LINES("HTTP/1.1\0Host\0 a\0\0\0", &fields));                /* first line */
    CHECK(!LINES("HTTP/1.1\0\0Host\0 a\0Accept\0*/*\0\0\0", &fields)); /* a field */
    CHECK(!LINES("HTTP/1.1\0\0Host\0 a\0\0", &fields));                /* the last one */
    CHECK(!LINES("HTTP/1.1\0\0Host\0 a\0", &fields));                  /* and the end */
    CHECK(!LINES("HTTP/1.1\0\0Host\0 a\0\0\0\0", &fields));            /* one too many */
    CHECK(!LINES("HTTP/1.1\0\0Ho st\0 a\0\0\0", &fields));             /* no name */
    CHECK(!LINES("HTTP/1.1\0\0\0\0", &fields) || fields == 0);
    for (size_t n = 0; n < sizeof(GOOD); n++)
        CHECK(!http_framing_lines(GOOD, n, &fields));
}

static struct http_framing judge(const char *const *pairs)
{
    struct http_framing_fields f = {.length = NULL};
    for (; *pairs; pairs += 2)
        http_framing_field(&f, pairs[0], pairs[1]);
    return http_framing_judge(&f);
}

static void what_can_be_read_in_two_ways_is_refused(void)
{
    static const struct {
        const char *wrong;
        unsigned status;
        const char *fields[7];
    } cases[] = {
        {NULL, 0, {"Host", "a", "Content-Length", "5", NULL}},
        {NULL, 0, {"Content-Length", "5", "content-length", "5", NULL}},
        {"two values of Content-Length",
         400,
         {"Content-Length", "5", "Content-Length", "6", NULL}},
        {"Content-Length is not a number", 400, {"Content-Length", "+5", NULL}},
        {"Content-Length is not a number", 400, {"Content-Length", "", NULL}},
        {"two Host headers", 400, {"Host", "a", "host", "a", NULL}},
        {"two Authorization headers",
         400,
         {"Authorization", "a", "AUTHORIZATION", "b", NULL}},
        {"both Content-Length and Transfer-Encoding",
         400,
         {"Content-Length", "5", "Transfer-Encoding", "chunked", NULL}},
        {"a body in chunks (Transfer-Encoding); send it with Content-Length",
         411,
         {"Transfer-Encoding", "chunked", NULL}},
        {"a body in chunks (Transfer-Encoding); send it with Content-Length",
         411,
         {"Transfer-Encoding", "identity", NULL}},
        {"a header holds a control character", 400, {"X", "a\rb", NULL}},
        {"a header holds a control character", 400, {"X", "a\x7f", NULL}},
        {"the name of a header holds a blank or worse",
         400,
         {"Content-Length ", "5", NULL}},
        {"the name of a header holds a blank or worse", 400, {"", "5", NULL}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_framing f = judge(cases[i].fields);
        CHECK_STR(f.wrong ? f.wrong : "", cases[i].wrong ? cases[i].wrong : "");
        CHECK_INT(f.status, cases[i].status);
    }
}

static const struct tap_case cases[] = {
    TAP(a_head_whose_lines_end_with_cr_lf_is_fine),
    TAP(a_bare_line_end_is_found_wherever_it_is),
    TAP(what_can_be_read_in_two_ways_is_refused),
};
TAP_MAIN(cases)
