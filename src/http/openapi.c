/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 document, made from the tables that requests are checked with: paths
 * from the routes, schemas from the tables of bodies and answers, the job's from the
 * fields of job files. Tables of query parameters become parameters of their operation,
 * not schemas. Which failures an operation may answer with follows from its kind: whether
 * its path has parameters, it takes a body, changes something, wants a token. The text is
 * written straight through; nothing is held but the buffer.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "http/api.h"
#include "http/route.h"
#include "text/job/job.h"
#include "text/json_out.h"

#define DOCUMENT_MAX ((size_t)4 << 20)

static void put_words(struct json_out *j, const char *words)
{
    struct str rest = str_c(words), part;
    char word[64];
    json_open(j, "enum", '[');
    while (str_split(&rest, '|', &part)) {
        if (part.n >= sizeof(word))
            continue;
        memcpy(word, part.p, part.n);
        word[part.n] = '\0';
        json_put_str(j, NULL, word);
    }
    json_close(j, ']');
}

static void put_ref(struct json_out *j, const char *name)
{
    char *ref = mem_printf("#/components/schemas/%s", name);
    json_put_str(j, "$ref", ref);
    mem_free(ref);
}

static void put_text_limits(struct json_out *j, const struct http_schema_item *f)
{
    if (f->min < f->max) {
        json_put_int(j, "minLength", f->min);
        json_put_int(j, "maxLength", f->max);
    }
    if (f->words)
        put_words(j, f->words);
    if (f->pattern)
        json_put_str(j, "pattern", f->pattern);
}

static void put_values(struct json_out *j, const char *type)
{
    json_put_str(j, "type", "object");
    json_open(j, "additionalProperties", '{');
    json_put_str(j, "type", type);
    json_close(j, '}');
}

static void put_shape(struct json_out *j, const struct http_schema_item *f)
{
    switch (f->shape) {
    case SHAPE_STRING:
        json_put_str(j, "type", "string");
        put_text_limits(j, f);
        break;
    case SHAPE_INT:
        json_put_str(j, "type", "integer");
        if (f->min < f->max) {
            json_put_int(j, "minimum", f->min);
            json_put_int(j, "maximum", f->max);
        }
        break;
    case SHAPE_NUMBER:
        json_put_str(j, "type", "number");
        break;
    case SHAPE_BOOL:
        json_put_str(j, "type", "boolean");
        break;
    case SHAPE_TIME:
        json_put_str(j, "type", "string");
        json_put_str(j, "format", "date-time");
        break;
    case SHAPE_ANY:
        break;
    case SHAPE_OBJECT:
        json_put_str(j, "type", "object");
        break;
    case SHAPE_STRINGS:
        json_put_str(j, "type", "array");
        json_put_int(j, "maxItems", 1000);
        json_open(j, "items", '{');
        json_put_str(j, "type", "string");
        put_text_limits(j, f);
        json_close(j, '}');
        break;
    case SHAPE_INTS:
        put_values(j, "integer");
        break;
    case SHAPE_TEXTS:
        put_values(j, "string");
        break;
    case SHAPE_ONE:
        put_ref(j, f->of->name);
        break;
    case SHAPE_LIST:
        json_put_str(j, "type", "array");
        json_open(j, "items", '{');
        put_ref(j, f->of->name);
        json_close(j, '}');
        break;
    }
}

static void put_object(struct json_out *j, const struct http_schema_table *t)
{
    json_open(j, "properties", '{');
    for (const struct http_schema_item *f = t->items; f->name; f++) {
        json_open(j, f->name, '{');
        put_shape(j, f);
        json_put_str(j, "description", f->help);
        json_close(j, '}');
    }
    json_close(j, '}');
    json_open(j, "required", '[');
    for (const struct http_schema_item *f = t->items; f->name; f++)
        if (f->required)
            json_put_str(j, NULL, f->name);
    json_close(j, ']');
    json_put_bool(j, "additionalProperties", false);
}

static const char *json_type(const struct field_def *f)
{
    switch (f->type) {
    case FIELD_BOOL:
        return "boolean";
    case FIELD_I64:
        return "integer";
    default:
        return "string";
    }
}

static void put_job_scalar(struct json_out *j, const struct field_def *f)
{
    json_put_str(j, "type", json_type(f));
    if (f->min < f->max) {
        json_put_int(j, "minimum", (int64_t)f->min);
        json_put_int(j, "maximum", (int64_t)f->max);
    }
    if (f->words)
        put_words(j, f->words);
}

static void put_job_field(struct json_out *j, const struct field_def *f)
{
    json_open(j, f->name, '{');
    if (f->type == FIELD_ANY && strcmp(f->name, "command") == 0) {
        json_put_raw(j, "oneOf",
                     "[{\"type\":\"string\",\"minLength\":1},{\"type\":\"array\","
                     "\"minItems\":1,\"items\":{\"type\":\"string\"}}]");
    } else if (f->type == FIELD_ANY) {
        json_put_str(j, "type", "object");
    } else if (f->label == LABEL_DICT) {
        put_values(j, json_type(f));
    } else if (f->label == LABEL_REP) {
        json_put_str(j, "type", "array");
        json_open(j, "items", '{');
        put_job_scalar(j, f);
        json_close(j, '}');
    } else {
        put_job_scalar(j, f);
    }
    if (f->init)
        json_put_str(j, "x-default", f->init);
    json_put_str(j, "description", f->doc);
    json_close(j, '}');
}

/* What the server sets itself, and what would name its own files, is left out. */
static void put_job_spec(struct json_out *j)
{
    json_open(j, "properties", '{');
    for (const struct field_def *f = jobspec_JobSpec_def.fields(); f->name; f++)
        if (strcmp(f->name, "workdir") != 0 && strcmp(f->name, "inherit") != 0)
            put_job_field(j, f);
    json_put_raw(
        j, "secret_values",
        "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
        "\"writeOnly\":true,\"description\":\"values of what `secret` names; kept "
        "in the job's own file until it ends, and never shown\"}");
    json_close(j, '}');
    json_put_raw(j, "required", "[\"command\"]");
    json_put_bool(j, "additionalProperties", false);
}

static void put_schemas(struct json_out *j)
{
    size_t n;
    const struct http_schema_table *const *all = http_schema_all(&n);
    json_open(j, "schemas", '{');
    for (size_t i = 0; i < n; i++) {
        const struct http_schema_table *t = all[i];
        if (t->kind != SCHEMA_OBJECT && t->kind != SCHEMA_JOB_SPEC)
            continue;
        if (str_ends(t->name, "Query"))
            continue; /* they are parameters */
        json_open(j, t->name, '{');
        json_put_str(j, "type", "object");
        json_put_str(j, "description", t->help);
        if (t->kind == SCHEMA_OBJECT)
            put_object(j, t);
        else
            put_job_spec(j);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void put_content(struct json_out *j, const struct http_schema_table *t)
{
    if (t->kind == SCHEMA_PAGE) {
        json_put_raw(j, "content", t->json);
        return;
    }
    json_open(j, "content", '{');
    switch (t->kind) {
    case SCHEMA_OBJECT:
    case SCHEMA_JOB_SPEC:
        json_open(j, "application/json", '{');
        json_open(j, "schema", '{');
        put_ref(j, t->name);
        json_close(j, '}');
        json_close(j, '}');
        break;
    case SCHEMA_BYTES:
        json_open(j, "application/octet-stream", '{');
        json_put_raw(j, "schema",
                     t->json ? t->json : "{\"type\":\"string\",\"format\":\"binary\"}");
        json_close(j, '}');
        break;
    case SCHEMA_DOCUMENT:
        json_put_raw(j, "application/json", "{\"schema\":{\"type\":\"object\"}}");
        break;
    case SCHEMA_ANY_JSON:
        json_put_raw(j, "application/json", "{\"schema\":{}}");
        break;
    case SCHEMA_TEXT:
        json_put_raw(j, "text/plain", "{\"schema\":{\"type\":\"string\"}}");
        break;
    case SCHEMA_STREAM:
        json_put_raw(j, "text/plain", "{\"schema\":{\"type\":\"string\"}}");
        json_put_raw(j, "text/event-stream", HTTP_SCHEMA_EVENT);
        break;
    case SCHEMA_NOTHING:
    case SCHEMA_PAGE:
        break;
    }
    json_close(j, '}');
}

static void put_answer(struct json_out *j, const char *status, const char *text,
                       const struct http_schema_table *t)
{
    json_open(j, status, '{');
    json_put_str(j, "description", text);
    if (t->kind != SCHEMA_NOTHING)
        put_content(j, t);
    json_close(j, '}');
}

/* Files are sent in parts, too. */
static void put_parts(struct json_out *j, const struct http_route *r)
{
    if (strcmp(r->method, "GET") != 0 || r->answer->kind != SCHEMA_BYTES)
        return;
    put_answer(j, "206", "the part that Range asked for", r->answer);
    put_answer(j, "304", "If-None-Match names this version", &http_schema_Nothing);
    put_answer(j, "409", "the file lies elsewhere", &http_schema_Error);
    put_answer(j, "416", "the range begins behind the end", &http_schema_Nothing);
}

/* The statuses that a route may have beside its own. */
static void put_failures(struct json_out *j, const struct http_route *r)
{
    static const struct {
        const char *status, *text;
        bool path, body, changes, token;
    } all[] = {
        {"400", "the address, a parameter or the body cannot be read", 0, 0, 0, 0},
        {"401", "no valid token", 0, 0, 0, 1},
        {"403", "the role does not allow it", 0, 0, 0, 0},
        {"404", "there is no such thing, or not for you", 1, 0, 0, 0},
        {"409", "it is not in the state for that, or the name is taken", 0, 0, 1, 0},
        {"413", "the body is too large", 0, 0, 0, 0},
        {"415", "the body is not JSON", 0, 1, 0, 0},
        {"421", "the server has another name", 0, 0, 0, 0},
        {"422", "the body reads well, but cannot be done", 0, 0, 1, 0},
        {"429", "too many requests", 0, 0, 0, 0},
        {"500", "a failure of the server", 0, 0, 0, 0},
        {"503", "the store does not answer now", 0, 0, 0, 0},
        {"507", "the disk of the store is full", 0, 0, 1, 0},
    };
    bool path = strchr(r->path, '{') || strcmp(r->tag, "nni") == 0 ||
                strcmp(r->tag, "models") == 0; /* a body names a job */
    bool changes = strcmp(r->method, "GET") != 0;
    bool body = r->body->kind == SCHEMA_OBJECT || r->body->kind == SCHEMA_JOB_SPEC;
    bool token = r->role > ROLE_NONE || r->body == &http_schema_SessionNew;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if ((!all[i].path || path) && (!all[i].body || body) &&
            (!all[i].changes || changes) && (!all[i].token || token))
            put_answer(j, all[i].status, all[i].text, &http_schema_Error);
}

static void put_parameter(struct json_out *j, const char *name, const char *in,
                          const char *help, const struct http_schema_item *f,
                          const char *pattern)
{
    json_open(j, NULL, '{');
    json_put_str(j, "name", name);
    json_put_str(j, "in", in);
    json_put_bool(j, "required", pattern != NULL || (f && f->required));
    json_put_str(j, "description", help);
    json_open(j, "schema", '{');
    if (f) {
        put_shape(j, f);
        bool text = f->shape == SHAPE_STRING && !f->words && !f->pattern;
        if (text && f->min >= f->max)
            json_put_int(j, "maxLength", SCHEMA_QUERY_TEXT);
        if (text)
            json_put_str(j, "pattern", "^[^\\u0000-\\u001f\\u007f]*$");
    } else {
        json_put_str(j, "type", "string");
        json_put_str(j, "pattern", pattern);
    }
    json_close(j, '}');
    json_close(j, '}');
}

static void put_parameters(struct json_out *j, const struct http_route *r)
{
    struct str rest = str_c(r->path), part;
    json_open(j, "parameters", '[');
    while (str_split(&rest, '/', &part)) {
        char name[24] = "";
        if (!part.n || part.p[0] != '{')
            continue;
        memcpy(name, part.p + 1, part.n - 2);
        put_parameter(j, name, "path", "which one", NULL, http_route_param_pattern(name));
    }
    for (const struct http_schema_item *f = r->query->items; f && f->name; f++)
        put_parameter(j, f->name, "query", f->help, f, NULL);
    json_close(j, ']');
}

static void put_operation(struct json_out *j, const struct http_route *r)
{
    char method[8] = "", status[8];
    for (size_t i = 0; r->method[i]; i++)
        method[i] = (char)(r->method[i] | 0x20);
    json_open(j, method, '{');
    json_put_str(j, "operationId", r->id);
    json_put_str(j, "summary", r->summary);
    json_open(j, "tags", '[');
    json_put_str(j, NULL, r->tag);
    json_close(j, ']');
    json_put_str(j, "x-role", http_role_name(r->role));
    if (r->role == ROLE_NONE)
        json_put_raw(j, "security", "[]");
    put_parameters(j, r);
    if (r->body->kind != SCHEMA_NOTHING) {
        json_open(j, "requestBody", '{');
        json_put_bool(j, "required", !http_schema_optional(r->body));
        put_content(j, r->body);
        json_close(j, '}');
    }
    json_open(j, "responses", '{');
    snprintf(status, sizeof(status), "%u", r->status);
    put_answer(j, status, "done", r->answer);
    if (strcmp(r->id, "create_job") == 0)
        put_answer(j, "200", "the client_token is known: the older job", r->answer);
    put_parts(j, r);
    put_failures(j, r);
    json_close(j, '}');
    json_close(j, '}');
}

/* Routes of one path stand together under it. */
static void put_paths(struct json_out *j)
{
    size_t n;
    const struct http_route *all = http_route_all(&n);
    json_open(j, "paths", '{');
    for (size_t i = 0; i < n; i++) {
        bool before = false;
        for (size_t k = 0; k < i; k++)
            before |= strcmp(all[k].path, all[i].path) == 0;
        if (before)
            continue;
        json_open(j, all[i].path, '{');
        for (size_t k = i; k < n; k++)
            if (strcmp(all[k].path, all[i].path) == 0)
                put_operation(j, &all[k]);
        json_close(j, '}');
    }
    json_close(j, '}');
}

char *api_document(const char *version)
{
    struct buf out;
    buf_init(&out, DOCUMENT_MAX);
    struct json_out j = {.out = &out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "openapi", "3.1.0");
    json_open(&j, "info", '{');
    json_put_str(&j, "title", "Trainyard");
    json_put_str(&j, "version", version);
    json_put_str(
        &j, "description",
        "Training jobs of a team: queue, logs, metrics, datasets, people, experiments. "
        "Times are RFC 3339, UTC; of experiments, milliseconds since 1970.");
    json_put_raw(&j, "license",
                 "{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}");
    json_close(&j, '}');
    json_put_raw(&j, "security", "[{\"token\":[]}]");
    put_paths(&j);
    json_open(&j, "components", '{');
    json_put_raw(&j, "securitySchemes",
                 "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}");
    put_schemas(&j);
    json_close(&j, '}');
    json_close(&j, '}');
    buf_putc(&out, '\n');
    char *text = buf_take(&out);
    buf_release(&out);
    return text;
}
