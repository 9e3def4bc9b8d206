/* SPDX-License-Identifier: Apache-2.0 */
/* http/schema.h - the shapes of what is asked and answered. The same tables check
 * requests and make the OpenAPI document, so the two cannot differ.
 */
#ifndef HTTP_SCHEMA_H
#define HTTP_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "http/target.h"
#include "text/node.h"

enum http_shape {
    SHAPE_STRING,
    SHAPE_INT,
    SHAPE_NUMBER,
    SHAPE_BOOL,
    SHAPE_TIME,    /* RFC 3339 */
    SHAPE_ANY,     /* any JSON; only in answers */
    SHAPE_OBJECT,  /* of any content */
    SHAPE_STRINGS, /* list of texts */
    SHAPE_INTS,    /* object whose values are whole numbers */
    SHAPE_TEXTS,   /* object whose values are texts */
    SHAPE_ONE,     /* another schema */
    SHAPE_LIST,    /* list of another schema */
};

#define SCHEMA_QUERY_TEXT 200 /* characters of a text in a query, unless it says more */

struct http_schema_table;

struct http_schema_item {
    const char *name;
    enum http_shape shape;
    const char *help;
    const struct http_schema_table *of; /* SHAPE_ONE, SHAPE_LIST */
    const char *words;   /* the texts that are allowed, with '|' between them */
    const char *pattern; /* of a text; `check` says the same in C */
    const char *(*check)(struct str value); /* NULL: fine; else what is wrong */
    int64_t min, max;                       /* numbers; texts: characters; min < max */
    bool required;
};

enum http_schema_kind {
    SCHEMA_OBJECT,
    SCHEMA_JOB_SPEC, /* a job file; described by text/job */
    SCHEMA_BYTES,    /* application/octet-stream */
    SCHEMA_TEXT,     /* text/plain */
    SCHEMA_STREAM,   /* text/plain, or text/event-stream for who follows */
    SCHEMA_NOTHING,
    SCHEMA_DOCUMENT, /* a JSON object of any shape */
    SCHEMA_ANY_JSON, /* any JSON */
    SCHEMA_PAGE,     /* for browsers; `json` says which media types */
};

struct http_schema_table {
    const char *name, *help;
    enum http_schema_kind kind;
    const struct http_schema_item *items; /* ends with a NULL name */
    const char
        *json; /* of SCHEMA_BYTES whose bytes are JSON: its schema; of SCHEMA_PAGE its
                         content; else NULL */
};

/* Content of one event of a stream, as OpenAPI says it. */
#define HTTP_SCHEMA_EVENT                                                               \
    "{\"schema\":{\"type\":\"object\",\"properties\":{\"event\":{\"type\":\"string\"}," \
    "\"data\":{\"type\":\"string\"},\"id\":{\"type\":\"string\"}}}}"

#define SCHEMA(n, file) extern const struct http_schema_table http_schema_##n;
#include "http/schemas.def"
#undef SCHEMA

/* All of them; *n. */
const struct http_schema_table *const *http_schema_all(size_t *n);

/* A body: `root` is a map that holds nothing but what the table allows. Texts without
 * NUL. RC_INVAL (E5006), with the field's name.
 */
enum rc http_schema_check(const struct http_schema_table *t, const struct node *root,
                          struct err *err) MUST_CHECK;
/* Could a body of this shape be left out? An object without anything that must be there.
 */
bool http_schema_optional(const struct http_schema_table *t);
/* A query becomes a map of typed values. */
enum rc http_schema_query(const struct http_schema_table *t,
                          const struct http_target *target, struct arena *a,
                          struct node **out, struct err *err) MUST_CHECK;
/* Any text with a NUL in it, however deep: RC_INVAL (E5006). */
enum rc http_schema_no_nul(const struct node *n, struct err *err) MUST_CHECK;

/* A whole number as JSON Schema means it: 2.0 is one, too. */
bool http_schema_whole(const struct node *n, int64_t *out);
/* Of what was checked; `otherwise` when it is not there. */
const char *http_schema_text(const struct node *map, const char *key,
                             const char *otherwise);
int64_t http_schema_int(const struct node *map, const char *key, int64_t otherwise);
bool http_schema_bool(const struct node *map, const char *key, bool otherwise);
int64_t http_schema_time(const struct node *map, const char *key); /* ns, 0: not there */

#endif
