/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/watch.h"
#include "tap.h"

static enum rc read_line(const char *line, enum kube_event *type, struct err *err)
{
    struct doc d = {0};
    const struct node *object = NULL;
    *err = (struct err){0};
    enum rc rc = kube_event_read(line, strlen(line), &d, type, &object, err);
    CHECK(rc || object);
    doc_release(&d);
    return rc;
}

static void lines_of_a_watch_are_events(void)
{
    static const struct {
        const char *line;
        enum rc rc;
        enum kube_event type;
    } rows[] = {
        {"{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}", RC_OK, KUBE_ADDED},
        {"{\"type\":\"BOOKMARK\",\"object\":{}}", RC_OK, KUBE_BOOKMARK},
        {"{\"type\":\"ERROR\",\"object\":{\"code\":410}}", RC_OK, KUBE_ERROR},
        {"{\"type\":\"NEW\",\"object\":{}}", RC_FORMAT, 0},
        {"{\"type\":\"ADDED\"}", RC_FORMAT, 0},
        {"{\"type\":\"ADDED\",\"object\":[]}", RC_FORMAT, 0},
        {"{\"type\":7,\"object\":{}}", RC_FORMAT, 0},
        {"<html>", RC_FORMAT, 0},
        {"{\"type\":\"MODIF", RC_FORMAT, 0},
        {"[]", RC_FORMAT, 0},
        {"", RC_FORMAT, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum kube_event type = KUBE_ERROR;
        struct err err;
        CHECK_INT(read_line(rows[i].line, &type, &err), rows[i].rc);
        CHECK(rows[i].rc || type == rows[i].type);
    }
}

static void failures_have_the_servers_words(void)
{
    static const struct {
        int status;
        const char *body, *words;
    } rows[] = {
        {403, "{\"kind\":\"Status\",\"message\":\"pods is forbidden\"}",
         "pods is forbidden"},
        {422,
         "{\"message\":\"Job is invalid\",\"details\":{\"causes\":[{\"field\":\"spec.x\","
         "\"message\":\"Required value\"}]}}",
         "Job is invalid; spec.x: Required value"},
        {502, "<html><h1>Bad gateway</h1>", "the API server answers with status 502"},
        {500, "upstream gone\nmore", "upstream gone"},
        {503, "", "the API server answers with status 503"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        buf_init(&b, 1000);
        kube_status_words(rows[i].status, rows[i].body, strlen(rows[i].body), &b);
        CHECK_STR(buf_str(&b), rows[i].words);
        buf_release(&b);
    }
}

static const struct tap_case cases[] = {
    TAP(lines_of_a_watch_are_events),
    TAP(failures_have_the_servers_words),
};
TAP_MAIN(cases)
