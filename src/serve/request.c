/* SPDX-License-Identifier: Apache-2.0 */
/* {"user": {...}, "items": [{...}, ...], "outputs": ["probs"]}: values go straight into
 * columns. The keys of the user and of the first item tell which columns a request has.
 */
#include <string.h>

#include "serve/workspace.h"

#define DEPTH 64

static enum rc fault(struct serve_workspace *d, const char *body, const char *column,
                     struct err *err)
{
    const struct jsonl_tokens *j = &d->json;
    struct buf type; /* some messages end with it */
    int64_t at = data_schema_find(d->schema, str_c(column));
    buf_init(&type, 1024);
    if (at >= 0 && str_ends(j->what, " type")) {
        buf_putc(&type, ' ');
        type_print(&d->schema->at[at].type, &type);
    }
    enum rc rc = err_coded(err, RC_INVAL, E2101, "byte %td%s%s%s: %s%s",
                           (const char *)j->fault - body, column[0] ? ", column '" : "",
                           column, column[0] ? "'" : "", j->what, buf_str(&type));
    buf_release(&type);
    return rc;
}

/* The keys of the object at j->p, which stays where it is. */
static void mark_present(struct serve_workspace *d)
{
    struct jsonl_tokens j = d->json;
    struct jsonl_tokens keep = d->json;
    bool first = true;
    struct str key;
    if (jsonl_token_peek(&j) != '{')
        return;
    j.p++;
    while (jsonl_token_more(&j, '}', &first)) {
        if (jsonl_token_peek(&j) != '"' || !jsonl_token_string(&j, &key))
            break;
        const struct map_entry *e = map_find(&d->by_name, key);
        if (e)
            d->present[(uintptr_t)e->value - 1] = true;
        if (!jsonl_token_take(&j, ':', "") || !jsonl_token_skip(&j, DEPTH))
            break;
    }
    keep.room = j.room; /* it may have grown */
    keep.room_cap = j.room_cap;
    d->json = keep;
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
        if (d->items.n == 0)
            mark_present(d);
        if (!jsonl_object(j, &d->by_name, &d->items, d->items.n, column))
            return false;
        d->items.n++;
    }
    return !j->fault;
}

static bool read_user(struct serve_workspace *d, const char **column)
{
    mark_present(d);
    if (d->user.n)
        return jsonl_token_fault(&d->json, d->json.p, E2101, "a second user");
    if (!jsonl_object(&d->json, &d->by_name, &d->user, 0, column))
        return false;
    d->user.n = 1;
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

static enum rc check_columns(const struct serve_workspace *d, struct err *err)
{
    size_t n;
    const struct feature_column *columns =
        feature_plan_columns(d->scorer->session->plan, &n);
    for (size_t i = 0; i < n && d->items.n > 0; i++) {
        int64_t at = data_schema_find(d->schema, str_c(columns[i].name));
        if (at >= 0 && !d->present[at])
            return err_coded(err, RC_INVAL, E2103,
                             "column '%s' is missing, which feature '%s' reads",
                             columns[i].name, columns[i].by ? columns[i].by : "");
    }
    return RC_OK;
}

enum rc serve_workspace_read(struct serve_workspace *d, char *body, size_t n,
                             int64_t max_items, struct err *err)
{
    struct jsonl_tokens *j = &d->json;
    const char *column = "";
    bool first = true;
    batch_clear(&d->user);
    batch_clear(&d->items);
    memset(d->present, 0, d->schema->n * sizeof(*d->present));
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
