/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a request against the table of its shapes. A query string is turned into a map
 * of typed nodes first, so query and body go through the same check of items. Nothing
 * unknown or missing passes, and no text with a NUL, which would end early in C. Since
 * handlers run only after the check, the readers at the end (http_schema_text() and the
 * like) take the default for anything absent and report no errors. A JSON number such as
 * 3.0 counts as a whole number.
 */
#include "http/schema.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "text/node.h"

#define TEXT_MAX 1024            /* bytes, where an item says nothing */
#define EXACT 9007199254740992.0 /* up to here every whole number is a double */

static enum rc wrong(const struct http_schema_item *f, const char *what, struct err *err)
{
    return err_coded(err, RC_INVAL, E5006, "'%s': %s", f->name, what);
}

static bool has_nul(struct str s)
{
    return s.n && memchr(s.p, '\0', s.n);
}

static bool is_word(const char *words, struct str value)
{
    struct str rest = str_c(words), part;
    while (str_split(&rest, '|', &part))
        if (str_eq(part, value))
            return true;
    return false;
}

static enum rc check_text(const struct http_schema_item *f, struct str v, struct err *err)
{
    int64_t max = f->min < f->max ? f->max : TEXT_MAX;
    int64_t n = (int64_t)utf8_count(v.p, v.n);
    const char *what = f->check ? f->check(v) : NULL;
    if (has_nul(v))
        return wrong(f, "a string with a NUL in it", err);
    if (n > max || (f->min < f->max && n < f->min))
        return err_coded(err, RC_INVAL, E5006,
                         "'%s': a string of %jd characters, not of %jd to %jd", f->name,
                         (intmax_t)n, (intmax_t)(f->min < f->max ? f->min : 0),
                         (intmax_t)max);
    if (f->words && !is_word(f->words, v))
        return err_coded(err, RC_INVAL, E5006, "'%s': '%.60s' is not one of %s", f->name,
                         v.p, f->words);
    return what ? wrong(f, what, err) : RC_OK;
}

bool http_schema_whole(const struct node *n, int64_t *out)
{
    if (node_i64(n, out))
        return true;
    bool whole = n->kind == NODE_REAL && n->real >= -EXACT && n->real <= EXACT &&
                 (double)(int64_t)n->real == n->real;
    if (whole)
        *out = (int64_t)n->real;
    return whole;
}

/* Years that the clock cannot count are as good as the first or last that it can. */
static bool time_of(struct str text, int64_t *ns)
{
    char moved[64];
    int64_t year;
    if (clock_from_rfc3339(text, ns))
        return true;
    if (text.n < 5 || text.n >= sizeof(moved) || !str_to_i64(str_of(text.p, 4), &year))
        return false;
    memcpy(moved, year < 1900 ? "1680" : "2260", 4); /* leap years */
    memcpy(moved + 4, text.p + 4, text.n - 4);
    return (year < 1680 || year > 2260) && clock_from_rfc3339(str_of(moved, text.n), ns);
}

static enum rc check_number(const struct http_schema_item *f, const struct node *n,
                            struct err *err)
{
    int64_t v = 0;
    double d = 0;
    if (f->shape == SHAPE_NUMBER)
        return node_number(n, &d) ? RC_OK : wrong(f, "not a number", err);
    if (!http_schema_whole(n, &v))
        return wrong(f, "not a whole number", err);
    if (f->min < f->max && (v < f->min || v > f->max))
        return err_coded(err, RC_INVAL, E5006, "'%s': %jd is outside [%jd, %jd]", f->name,
                         (intmax_t)v, (intmax_t)f->min, (intmax_t)f->max);
    return RC_OK;
}

static enum rc check_strings(const struct http_schema_item *f, const struct node *n,
                             struct err *err)
{
    if (n->kind != NODE_LIST)
        return wrong(f, "not a list", err);
    if (n->list.n > 1000)
        return wrong(f, "more than 1000 elements", err);
    for (size_t i = 0; i < n->list.n; i++) {
        const struct node *e = n->list.at[i];
        enum rc rc = e->kind == NODE_STR
                         ? check_text(f, e->text, err)
                         : wrong(f, "an element that is not a string", err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc check_texts(const struct http_schema_item *f, const struct node *n,
                           struct err *err)
{
    if (n->kind != NODE_MAP)
        return wrong(f, "not an object", err);
    for (size_t i = 0; i < n->map.n; i++) {
        const struct node *e = n->map.at[i].value;
        enum rc rc = e->kind == NODE_STR ? check_text(f, e->text, err)
                                         : wrong(f, "a value that is not a string", err);
        if (!rc && has_nul(n->map.at[i].key))
            rc = wrong(f, "a name with a NUL in it", err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc check_item(const struct http_schema_item *f, const struct node *n,
                          struct err *err)
{
    int64_t ns;
    switch (f->shape) {
    case SHAPE_STRING:
        return n->kind == NODE_STR ? check_text(f, n->text, err)
                                   : wrong(f, "not a text", err);
    case SHAPE_INT:
    case SHAPE_NUMBER:
        return check_number(f, n, err);
    case SHAPE_BOOL:
        return n->kind == NODE_BOOL ? RC_OK : wrong(f, "neither true nor false", err);
    case SHAPE_TIME:
        return n->kind == NODE_STR && time_of(n->text, &ns)
                   ? RC_OK
                   : wrong(f, "not a time such as 2030-01-31T12:00:00Z", err);
    case SHAPE_STRINGS:
        return check_strings(f, n, err);
    case SHAPE_TEXTS:
        return check_texts(f, n, err);
    case SHAPE_ONE:
        return http_schema_check(f->of, n, err);
    case SHAPE_OBJECT:
    case SHAPE_INTS:
        return n->kind == NODE_MAP ? http_schema_no_nul(n, err)
                                   : wrong(f, "not an object", err);
    case SHAPE_ANY:
    case SHAPE_LIST:
        break;
    }
    return wrong(f, "cannot be given", err);
}

static const struct http_schema_item *find(const struct http_schema_table *t,
                                           struct str name)
{
    for (const struct http_schema_item *f = t->items; f && f->name; f++)
        if (str_is(name, f->name))
            return f;
    return NULL;
}

static enum rc unknown(const struct http_schema_table *t, struct str name,
                       struct err *err)
{
    const char *names[64];
    size_t n = 0;
    for (const struct http_schema_item *f = t->items; f && f->name && n < 64; f++)
        names[n++] = f->name;
    const char *near = str_nearest(name, names, n);
    return err_coded(err, RC_INVAL, E5006, "there is no '%.*s' here%s%s%s",
                     (int)(name.n < 60 ? name.n : 60), name.p,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static enum rc check_required(const struct http_schema_table *t, const struct node *root,
                              struct err *err)
{
    for (const struct http_schema_item *f = t->items; f && f->name; f++)
        if (f->required && !node_find(root, f->name))
            return wrong(f, "is missing", err);
    return RC_OK;
}

enum rc http_schema_check(const struct http_schema_table *t, const struct node *root,
                          struct err *err)
{
    if (!root || root->kind != NODE_MAP)
        return err_coded(err, RC_INVAL, E5006, "a JSON object is required");
    for (size_t i = 0; i < root->map.n; i++) {
        const struct http_schema_item *f = find(t, root->map.at[i].key);
        enum rc rc = f ? check_item(f, root->map.at[i].value, err)
                       : unknown(t, root->map.at[i].key, err);
        if (rc)
            return rc;
    }
    return check_required(t, root, err);
}

bool http_schema_optional(const struct http_schema_table *t)
{
    for (const struct http_schema_item *f = t->items; f && f->name; f++)
        if (f->required)
            return false;
    return t->kind == SCHEMA_OBJECT;
}

/* True and False too: what clients in Python write for a flag. */
static struct node *typed(const struct http_schema_item *f, const char *value,
                          struct arena *a)
{
    static const struct span nowhere;
    int64_t v;
    if (f->shape == SHAPE_INT && str_to_i64(str_c(value), &v))
        return node_int(a, v, nowhere);
    if (f->shape == SHAPE_BOOL &&
        (strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0))
        return node_bool(a, value[0] == 't' || value[0] == 'T', nowhere);
    return node_str(a, value, strlen(value), nowhere);
}

enum rc http_schema_query(const struct http_schema_table *t,
                          const struct http_target *target, struct arena *a,
                          struct node **out, struct err *err)
{
    static const struct span nowhere;
    struct node *map = node_create(a, NODE_MAP, nowhere);
    for (size_t i = 0; i < target->n_query; i++) {
        const struct http_target_pair *q = &target->query[i];
        const struct http_schema_item *f = find(t, str_c(q->name));
        if (!f)
            return unknown(t, str_c(q->name), err);
        if (node_find(map, q->name))
            return wrong(f, "given twice", err);
        struct node *v = typed(f, q->value, a);
        enum rc rc = check_item(f, v, err);
        if (!rc && f->shape == SHAPE_STRING && f->min >= f->max &&
            utf8_count(q->value, strlen(q->value)) > SCHEMA_QUERY_TEXT)
            rc = wrong(f, "a string that is too long", err);
        if (rc)
            return rc;
        node_put(a, map, f->name, v);
    }
    enum rc rc = check_required(t, map, err);
    if (!rc)
        *out = map;
    return rc;
}

enum rc http_schema_no_nul(const struct node *n, struct err *err)
{
    enum rc rc = RC_OK;
    if (n->kind == NODE_STR && has_nul(n->text))
        rc = err_coded(err, RC_INVAL, E5006, "a string with a NUL in it");
    for (size_t i = 0; n->kind == NODE_LIST && i < n->list.n && !rc; i++)
        rc = http_schema_no_nul(n->list.at[i], err);
    for (size_t i = 0; n->kind == NODE_MAP && i < n->map.n && !rc; i++) {
        if (has_nul(n->map.at[i].key))
            rc = err_coded(err, RC_INVAL, E5006, "a name with a NUL in it");
        if (!rc)
            rc = http_schema_no_nul(n->map.at[i].value, err);
    }
    return rc;
}

const char *http_schema_text(const struct node *map, const char *key,
                             const char *otherwise)
{
    const struct node *n = node_find(map, key);
    return n && n->kind == NODE_STR ? n->text.p : otherwise;
}

int64_t http_schema_int(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_find(map, key);
    int64_t v = otherwise;
    return n && http_schema_whole(n, &v) ? v : otherwise;
}

bool http_schema_bool(const struct node *map, const char *key, bool otherwise)
{
    const struct node *n = node_find(map, key);
    return n && n->kind == NODE_BOOL ? n->flag : otherwise;
}

int64_t http_schema_time(const struct node *map, const char *key)
{
    const struct node *n = node_find(map, key);
    int64_t ns = 0;
    return n && n->kind == NODE_STR && time_of(n->text, &ns) ? ns : 0;
}
