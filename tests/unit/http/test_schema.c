/* SPDX-License-Identifier: Apache-2.0 */
#include "http/schema.h"

#include "tap.h"
#include "text/diag.h"
#include "text/json.h"

/* The message, or "" when the body is fine. */
static const char *check(const struct http_schema_table *t, const char *json)
{
    static struct err err;
    struct doc doc = {0};
    struct diags diags = {0};
    err = (struct err){0};
    CHECK_INT(source_from("body", json, strlen(json), &doc.src, NULL), RC_OK);
    CHECK_INT(json_parse(&doc, &diags), RC_OK);
    enum rc rc = http_schema_check(t, doc.root, &err);
    CHECK(rc == RC_OK || (rc == RC_INVAL && err.code == E5006));
    diags_release(&diags);
    doc_release(&doc);
    return err.msg;
}

static void a_body_holds_what_its_table_allows(void)
{
    CHECK_STR(check(&http_schema_UserNew, "{\"name\": \"ann\", \"role\": \"viewer\"}"),
              "");
    CHECK_STR(check(&http_schema_UserNew, "{\"name\": \"ann\", \"role\": \"admin\", "
                                          "\"projects\": [\"ads\", \"feed\"]}"),
              "");
    CHECK_STR(check(&http_schema_StopRequest, "{}"), "");
    CHECK_STR(check(&http_schema_StopRequest, "{\"force\": true}"), "");
}

static void what_is_wrong_is_named(void)
{
    static const struct {
        const struct http_schema_table *t;
        const char *json, *message;
    } bad[] = {
        {&http_schema_UserNew, "[]", "a JSON object is required"},
        {&http_schema_UserNew, "{\"name\": \"ann\"}", "'role': is missing"},
        {&http_schema_UserNew, "{\"name\": \"ann\", \"role\": \"root\"}",
         "'role': 'root' is not one of viewer|auditor|submitter|admin"},
        {&http_schema_UserNew, "{\"name\": 7, \"role\": \"viewer\"}",
         "'name': not a text"},
        {&http_schema_UserNew, "{\"name\": \"a b\", \"role\": \"viewer\"}",
         "'name': names have letters, digits, '_', '.' and '-', at most 128"},
        {&http_schema_UserNew, "{\"name\": \"a\\u0000b\", \"role\": \"viewer\"}",
         "'name': a string with a NUL in it"},
        {&http_schema_UserNew, "{\"nme\": \"a\", \"role\": \"viewer\"}",
         "there is no 'nme' here; did you mean 'name'?"},
        {&http_schema_UserNew,
         "{\"name\": \"a\", \"role\": \"viewer\", \"projects\": \"x\"}",
         "'projects': not a list"},
        {&http_schema_UserNew,
         "{\"name\": \"a\", \"role\": \"viewer\", \"projects\": [1]}",
         "'projects': an element that is not a string"},
        {&http_schema_StopRequest, "{\"force\": 1}", "'force': neither true nor false"},
        {&http_schema_TokenNew, "{\"expires_s\": 0}",
         "'expires_s': 0 is outside [1, 3155760000]"},
        {&http_schema_TokenNew, "{\"expires_s\": 1.5}",
         "'expires_s': not a whole number"},
        {&http_schema_RunRequest, "{\"planned\": \"tomorrow\"}",
         "'planned': not a time such as 2030-01-31T12:00:00Z"},
        {&http_schema_ScheduleNew,
         "{\"name\": \"a\", \"cron\": \"@daily\", \"job\": {}, \"params\": {\"x\": 1}}",
         "'params': a value that is not a string"},
        {&http_schema_ScheduleNew,
         "{\"name\": \"a\", \"cron\": \"@daily\", \"job\": {\"x\": [\"\\u0000\"]}}",
         "a string with a NUL in it"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_STR(check(bad[i].t, bad[i].json), bad[i].message);
}

static void a_whole_number_may_have_a_point(void)
{
    CHECK_STR(check(&http_schema_TokenNew, "{\"expires_s\": 60.0}"), "");
    CHECK_STR(check(&http_schema_TokenNew, "{\"expires_s\": 1e300}"),
              "'expires_s': not a whole number");
}

static void years_beyond_the_clock_are_its_ends(void)
{
    CHECK_STR(check(&http_schema_RunRequest, "{\"planned\": \"0064-09-29T21:16:28Z\"}"),
              "");
    CHECK_STR(check(&http_schema_RunRequest, "{\"planned\": \"9999-02-28T21:16:28Z\"}"),
              "");
    CHECK_STR(check(&http_schema_RunRequest, "{\"planned\": \"0064-13-29T21:16:28Z\"}"),
              "'planned': not a time such as 2030-01-31T12:00:00Z");
}

static void a_query_becomes_typed_values(void)
{
    struct arena a = {0};
    struct http_target t;
    struct node *q = NULL;
    struct err err = {0};
    CHECK_INT(
        http_target_parse("/x?limit=7&since=2024-01-01T00:00:00Z&name=y", &a, &t, &err),
        RC_OK);
    CHECK_INT(http_schema_query(&http_schema_JobQuery, &t, &a, &q, &err), RC_OK);
    CHECK_INT(http_schema_int(q, "limit", 0), 7);
    CHECK_INT(http_schema_time(q, "since"), INT64_C(1704067200000000000));
    CHECK_STR(http_schema_text(q, "name", ""), "y");
    CHECK_STR(http_schema_text(q, "owner", "none"), "none");
    arena_release(&a);
}

static void a_flag_may_be_written_as_python_does(void)
{
    static const struct {
        const char *uri;
        bool on;
    } flags[] = {
        {"/x?follow=true", true},   {"/x?follow=True", true},   {"/x?follow=TRUE", true},
        {"/x?follow=false", false}, {"/x?follow=False", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        struct arena a = {0};
        struct http_target t;
        struct node *q = NULL;
        struct err err = {0};
        CHECK_INT(http_target_parse(flags[i].uri, &a, &t, &err), RC_OK);
        CHECK_INT(http_schema_query(&http_schema_ChangesQuery, &t, &a, &q, &err), RC_OK);
        CHECK_INT(http_schema_bool(q, "follow", !flags[i].on), flags[i].on);
        arena_release(&a);
    }
}

static void a_query_that_is_wrong_is_refused(void)
{
    static const struct {
        const char *uri, *message;
    } bad[] = {
        {"/x?limit=0", "'limit': 0 is outside [1, 1000]"},
        {"/x?limit=many", "'limit': not a whole number"},
        {"/x?limit=1&limit=2", "'limit': given twice"},
        {"/x?limitt=1", "there is no 'limitt' here; did you mean 'limit'?"},
        {"/x?since=now", "'since': not a time such as 2030-01-31T12:00:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena a = {0};
        struct http_target t;
        struct node *q = NULL;
        struct err err = {0};
        CHECK_INT(http_target_parse(bad[i].uri, &a, &t, &err), RC_OK);
        CHECK_INT(http_schema_query(&http_schema_JobQuery, &t, &a, &q, &err), RC_INVAL);
        CHECK_STR(err.msg, bad[i].message);
        arena_release(&a);
    }
}

static const struct tap_case cases[] = {
    TAP(a_body_holds_what_its_table_allows),   TAP(what_is_wrong_is_named),
    TAP(a_whole_number_may_have_a_point),      TAP(years_beyond_the_clock_are_its_ends),
    TAP(a_query_becomes_typed_values),         TAP(a_query_that_is_wrong_is_refused),
    TAP(a_flag_may_be_written_as_python_does),
};
TAP_MAIN(cases)
