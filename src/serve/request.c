/* SPDX-License-Identifier: Apache-2.0 */
/* {"user": {...}, "items": [{...}, ...], "outputs": ["probs"]}: values go straight into
 * columns. The keys of the user and of each item are noted: a column that a feature reads
 * is the user's, or every item has it.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/workspace.h"

/* The part of the request that was being read, as a client writes it; "" between them. */
static void name_part(const struct serve_workspace *d, char *out, size_t size)
{
    out[0] = '\0';
    if (d->reading == READING_ITEMS)
        snprintf(out, size, "items[%jd], ", (intmax_t)d->items.n);
    else if (d->reading == READING_USER)
        snprintf(out, size, "user, ");
}

static enum rc fault(struct serve_workspace *d, const char *body, const char *column,
                     struct err *err)
{
    const struct jsonl_tokens *j = &d->json;
    struct buf type; /* some messages end with it */
    char part[40];
    name_part(d, part, sizeof(part));
    int64_t at = data_schema_find(d->schema, str_c(column));
    buf_init(&type, 1024);
    if (at >= 0 && str_ends(j->what, " type")) {
        buf_putc(&type, ' ');
        type_print(&d->schema->at[at].type, &type);
    }
    enum rc rc = err_coded(err, RC_INVAL, E2101, "%sbyte %td%s%s%s: %s%s", part,
                           (const char *)j->fault - body, column[0] ? ", column '" : "",
                           column, column[0] ? "'" : "", j->what, buf_str(&type));
    buf_release(&type);
    return rc;
}

/* What the next item has: [schema->n], all 0; NULL when there is no memory. */
static uint8_t *given_next(struct serve_workspace *d)
{
    size_t width = d->schema->n, need = ((size_t)d->items.n + 1) * width;
    if (need > d->given_cap) {
        size_t cap = need * 2;
        uint8_t *p = mem_try_alloc(cap, 1);
        if (!p)
            return NULL;
        if (d->given)
            memcpy(p, d->given, d->given_cap);
        mem_free(d->given);
        d->given = p;
        d->given_cap = cap;
    }
    uint8_t *at = d->given + (size_t)d->items.n * width;
    memset(at, 0, width);
    return at;
}

static bool read_items(struct serve_workspace *d, int64_t max, const char **column)
{
    struct jsonl_tokens *j = &d->json;
    bool first = true;
    if (!jsonl_token_take(j, '[', "expected a list of items"))
        return false;
    while (jsonl_token_more(j, ']', &first)) {
        if (d->items.n == max)
            return jsonl_token_fault(j, j->p, E2104, "too many items");
        d->reading = READING_ITEMS;
        uint8_t *given = given_next(d);
        if (!given)
            return jsonl_token_fault(j, j->p, E2101, "no memory for the items");
        if (!jsonl_object(j, &d->by_name, &d->items, d->items.n, given, column))
            return false;
        d->items.n++;
        d->reading = READING_KEYS;
    }
    return !j->fault;
}

static bool read_user(struct serve_workspace *d, const char **column)
{
    if (d->user.n)
        return jsonl_token_fault(&d->json, d->json.p, E2101, "a second user");
    d->reading = READING_USER;
    if (!jsonl_object(&d->json, &d->by_name, &d->user, 0, d->user_given, column))
        return false;
    d->user.n = 1;
    d->reading = READING_KEYS;
    return true;
}

static bool read_outputs(struct serve_workspace *d)
{
    struct jsonl_tokens *j = &d->json;
    bool first = true;
    struct str name;
    if (!jsonl_token_take(j, '[', "expected a list of outputs"))
        return false;
    while (jsonl_token_more(j, ']', &first)) {
        size_t i = 0;
        const unsigned char *at = (jsonl_token_peek(j), j->p);
        if (*at != '"')
            return jsonl_token_fault(j, at, E2101, "expected the name of an output");
        if (!jsonl_token_string(j, &name))
            return false;
        while (i < d->n_outputs && !str_is(name, d->outputs[i].name))
            i++;
        if (i == d->n_outputs)
            return jsonl_token_fault(j, at, E2101,
                                     "the model has no output of that name");
        d->wanted[i] = 1;
    }
    return !j->fault;
}

static bool read_field(struct serve_workspace *d, int64_t max, const char **column)
{
    struct jsonl_tokens *j = &d->json;
    struct str key;
    jsonl_token_peek(j);
    const unsigned char *at = j->p;
    if (*at != '"' || !jsonl_token_string(j, &key))
        return jsonl_token_fault(j, at, E2101, "expected a key");
    bool user = str_is(key, "user"), items = str_is(key, "items"),
         outputs = str_is(key, "outputs");
    if (!user && !items && !outputs)
        return jsonl_token_fault(j, at, E2101,
                                 "the keys are \"user\", \"items\" and \"outputs\"");
    if (!jsonl_token_take(j, ':', "expected ':'"))
        return false;
    d->has_items = d->has_items || items;
    return user    ? read_user(d, column)
           : items ? read_items(d, max, column)
                   : read_outputs(d);
}

int64_t serve_workspace_lacks(const struct serve_workspace *d, size_t column)
{
    for (int64_t r = 0; r < d->items.n; r++)
        if (!d->given[(size_t)r * d->schema->n + column])
            return r;
    return -1;
}

static bool no_item_has(const struct serve_workspace *d, size_t column)
{
    for (int64_t r = 0; r < d->items.n; r++)
        if (d->given[(size_t)r * d->schema->n + column])
            return false;
    return true;
}

static enum rc check_column(const struct serve_workspace *d,
                            const struct feature_column *c, struct err *err)
{
    char item[40] = "";
    int64_t at = data_schema_find(d->schema, str_c(c->name)), lacks = -1;
    if (at >= 0 && !d->user_given[at])
        lacks = serve_workspace_lacks(d, (size_t)at);
    if (lacks < 0)
        return RC_OK;
    if (!no_item_has(d, (size_t)at))
        snprintf(item, sizeof(item), "items[%jd]: ", (intmax_t)lacks);
    return err_coded(err, RC_INVAL, E2103,
                     "%scolumn '%s' is missing, which feature '%s' reads", item, c->name,
                     c->by ? c->by : "");
}

static enum rc check_columns(const struct serve_workspace *d, struct err *err)
{
    size_t n;
    const struct feature_column *columns =
        feature_plan_columns(d->scorer->session->plan, &n);
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_column(d, &columns[i], err);
    return rc;
}

enum rc serve_workspace_read(struct serve_workspace *d, char *body, size_t n,
                             int64_t max_items, struct err *err)
{
    struct jsonl_tokens *j = &d->json;
    const char *column = "";
    bool first = true;
    batch_clear(&d->user);
    batch_clear(&d->items);
    memset(d->user_given, 0, d->schema->n);
    d->reading = READING_KEYS;
    memset(d->wanted, 0, d->n_outputs);
    d->has_items = false;
    for (size_t i = 0; i < n; i++) /* a line end cannot stand in a token */
        if (body[i] == '\n')
            body[i] = ' ';
    body[n] = '\n';
    jsonl_token_line(j, (const unsigned char *)body, (const unsigned char *)body + n);
    bool ok = jsonl_token_take(j, '{', "expected an object");
    while (ok && jsonl_token_more(j, '}', &first))
        ok = read_field(d, max_items, &column);
    if (ok && !j->fault && jsonl_token_peek(j) != '\n')
        jsonl_token_fault(j, j->p, E2101, "expected the end");
    if (j->fault) {
        enum rc rc = fault(d, body, column, err);
        if (j->code == E2104 && err)
            err_coded(err, rc, E2104, "more than %jd items", (intmax_t)max_items);
        return rc;
    }
    if (!d->has_items)
        return err_coded(err, RC_INVAL, E2101,
                         "there is nothing to score: a request has \"items\", a list of "
                         "objects, and usually \"user\", an object");
    return check_columns(d, err);
}
