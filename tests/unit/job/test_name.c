/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files that are no text: there and back, and for people. */
#include "job/name.h"
#include "job/status.h"
#include "tap.h"

static const struct {
    const char *path, *json, *shown;
    bool plain;
} names[] = {
    {"a/b c.txt", "\"path\": \"a/b c.txt\"", "a/b c.txt", true},
    {"\xc3\xa4", "\"path\": \"\xc3\xa4\"", "\xc3\xa4", true},
    {"a\\n", "\"path\": \"a\\\\n\"", "a\\\\n", true},
    {"a\nb", "\"path\": \"a\\nb\", \"path_hex\": \"610a62\"", "a\\nb", false},
    {"\xff", "\"path\": \"\xef\xbf\xbd\", \"path_hex\": \"ff\"", "\\xff", false},
    {"\x1b[2J", "\"path\": \"\\u001b[2J\", \"path_hex\": \"1b5b324a\"", "\\x1b[2J",
     false},
    {"\x7f", "\"path\": \"\\u007f\", \"path_hex\": \"7f\"", "\\x7f", false},
    {"\xc2\x9b", "\"path\": \"\xc2\x9b\", \"path_hex\": \"c29b\"", "\\xc2\\x9b", false},
};

static void names_come_back_from_json(void)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct buf b;
        struct arena a = {0};
        struct doc doc = {0};
        buf_init(&b, 1000);
        job_name_json(names[i].path, &b);
        CHECK_STR(buf_str(&b), names[i].json);
        char *text = mem_printf("{%s}", buf_str(&b));
        CHECK_STR(job_name_read(job_json_open(text, &doc), &a), names[i].path);
        CHECK_INT(job_name_is_plain(names[i].path), names[i].plain);
        doc_release(&doc);
        mem_free(text);
        arena_release(&a);
        buf_release(&b);
    }
}

static void names_are_shown_on_one_line(void)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct buf b;
        buf_init(&b, 1000);
        job_name_show(names[i].path, &b);
        CHECK_STR(buf_str(&b), names[i].shown);
        buf_release(&b);
    }
}

static void digits_that_are_none_are_refused(void)
{
    struct arena a = {0};
    static const char *const bad[] = {"6", "zz", "6g", "00", "6100", "-1", "6A"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(job_name_of_hex(bad[i], &a) == NULL);
    CHECK_STR(job_name_of_hex("", &a), "");
    CHECK_STR(job_name_of_hex("61ff", &a), "a\xff");
    arena_release(&a);
}

static const struct tap_case cases[] = {
    TAP(names_come_back_from_json),
    TAP(names_are_shown_on_one_line),
    TAP(digits_that_are_none_are_refused),
};
TAP_MAIN(cases)
