/* SPDX-License-Identifier: Apache-2.0 */
#include "http/target.h"

#include "http/route.h"
#include "tap.h"

static enum rc parse(const char *uri, struct arena *a, struct http_target *t,
                     struct err *err)
{
    *err = (struct err){0};
    return http_target_parse(uri, a, t, err);
}

static void parts_and_parameters_are_decoded_once(void)
{
    struct arena a = {0};
    struct http_target t;
    struct err err;
    CHECK_INT(parse("/api/v1/jobs/a%2Fb?name=x%26y+z&empty=&bare", &a, &t, &err), RC_OK);
    CHECK_INT(t.n_parts, 4);
    CHECK_STR(t.parts[3], "a/b"); /* still one part */
    CHECK_INT(t.n_query, 3);
    CHECK_STR(t.query[0].name, "name");
    CHECK_STR(t.query[0].value, "x&y z");
    CHECK_STR(t.query[1].value, "");
    CHECK_STR(t.query[2].name, "bare");
    CHECK_STR(t.query[2].value, "");
    CHECK_INT(parse("/a%252e", &a, &t, &err), RC_OK);
    CHECK_STR(t.parts[0], "a%2e");
    CHECK_INT(parse("/", &a, &t, &err), RC_OK);
    CHECK_INT(t.n_parts, 0);
    arena_release(&a);
}

static void what_is_doubtful_is_refused(void)
{
    static const struct {
        const char *uri, *message;
    } bad[] = {
        {"", "the address holds no path"},
        {"jobs", "the address holds no path"},
        {"*", "the address holds no path"},
        {"http://x/api", "the address holds no path"},
        {"/a//b", "the address holds an empty part, '.' or '..'"},
        {"/a/", "the address holds an empty part, '.' or '..'"},
        {"/a/../b", "the address holds an empty part, '.' or '..'"},
        {"/a/%2e%2E/b", "the address holds an empty part, '.' or '..'"},
        {"/a/./b", "the address holds an empty part, '.' or '..'"},
        {"/a%00b", "the address holds a control character"},
        {"/a%0d%0ab", "the address holds a control character"},
        {"/a?x=%1b", "the address holds a control character"},
        {"/a%", "the address holds a '%' without two hexadecimal digits"},
        {"/a%4", "the address holds a '%' without two hexadecimal digits"},
        {"/a%zz", "the address holds a '%' without two hexadecimal digits"},
        {"/a?b=%4", "the address holds a '%' without two hexadecimal digits"},
        {"/a%ff", "the address holds bytes that are not UTF-8"},
        {"/%c0%ae%c0%ae", "the address holds bytes that are not UTF-8"},
        {"/1/2/3/4/5/6/7/8/9/10/11", "the address holds too many parts"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena a = {0};
        struct http_target t = {.n_parts = 77};
        struct err err;
        CHECK_INT(parse(bad[i].uri, &a, &t, &err), RC_INVAL);
        CHECK_STR(err.msg, bad[i].message);
        CHECK_INT(err.code, E5003);
        CHECK_INT(t.n_parts, 77); /* untouched */
        arena_release(&a);
    }
}

static void an_address_has_its_most_bytes(void)
{
    static char uri[TARGET_BYTES_MAX + 2] = "/";
    struct arena a = {0};
    struct http_target t;
    struct err err;
    memset(uri + 1, 'x', TARGET_BYTES_MAX - 1);
    CHECK_INT(parse(uri, &a, &t, &err), RC_OK);
    uri[TARGET_BYTES_MAX] = 'x';
    CHECK_INT(parse(uri, &a, &t, &err), RC_INVAL);
    CHECK_STR(err.msg, "the address has more than 8192 bytes");
    arena_release(&a);
}

static void a_route_is_found_by_path_and_method(void)
{
    struct arena a = {0};
    struct http_target t;
    struct err err;
    const struct http_route *r = NULL;
    const char *params[ROUTE_PARAMS_MAX] = {NULL};
    struct buf allow;
    buf_init(&allow, 1000);
    CHECK_INT(parse("/api/v1/jobs/jb-0123456789ab/logs/7", &a, &t, &err), RC_OK);
    CHECK_INT(http_route_find("GET", &t, &r, params, &allow), ROUTE_FOUND);
    CHECK_STR(r->id, "get_log");
    CHECK_STR(params[0], "jb-0123456789ab");
    CHECK_STR(params[1], "7");
    CHECK_INT(http_route_find("HEAD", &t, &r, params, &allow), ROUTE_FOUND);
    CHECK_INT(http_route_find("POST", &t, &r, params, &allow), ROUTE_NO_METHOD);
    CHECK_STR(buf_str(&allow), "GET");
    CHECK_INT(parse("/api/v1/jobs", &a, &t, &err), RC_OK);
    buf_clear(&allow);
    CHECK_INT(http_route_find("DELETE", &t, &r, params, &allow), ROUTE_NO_METHOD);
    CHECK_STR(buf_str(&allow), "GET, POST");
    buf_release(&allow);
    arena_release(&a);
}

static void a_part_of_the_wrong_form_is_no_route(void)
{
    static const char *const bad[] = {
        "/api/v1/jobs/jb-0123456789AB",
        "/api/v1/jobs/jb-0123456789a",
        "/api/v1/jobs/..%2f..%2fetc",
        "/api/v1/jobs/jb-0123456789ab/logs/-1",
        "/api/v1/jobs/jb-0123456789ab/logs/12345",
        "/api/v1/jobs/jb-0123456789ab/logs/worker-0.1.log",
        "/api/v1/datasets/a%20b",
        "/api/v1/objects/ABCDEF",
        "/api/v1/users/.hidden",
        "/api/v2/jobs",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena a = {0};
        struct http_target t;
        struct err err;
        const struct http_route *r = NULL;
        const char *params[ROUTE_PARAMS_MAX] = {NULL};
        struct buf allow;
        buf_init(&allow, 1000);
        CHECK_INT(parse(bad[i], &a, &t, &err), RC_OK);
        CHECK_INT(http_route_find("GET", &t, &r, params, &allow), ROUTE_NO_PATH);
        buf_release(&allow);
        arena_release(&a);
    }
}

static const struct tap_case cases[] = {
    TAP(parts_and_parameters_are_decoded_once), TAP(what_is_doubtful_is_refused),
    TAP(an_address_has_its_most_bytes),         TAP(a_route_is_found_by_path_and_method),
    TAP(a_part_of_the_wrong_form_is_no_route),
};
TAP_MAIN(cases)
