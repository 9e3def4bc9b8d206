/* SPDX-License-Identifier: Apache-2.0 */
#include "team/spec_dates.h"

#include <string.h>

#include "base/mem.h"
#include "job/status.h"
#include "text/json.h"

#define TEXT_MAX (16 << 20)

/* Not in datasets, sources and secrets: a server has checked what these name. */
static const char *const filled[] = {"command", "hp", "input", "output", "env", "label"};

static void fill(struct arena *a, struct node *n, const struct team_dates *d)
{
    struct buf b;
    switch (n->kind) {
    case NODE_STR:
        if (!memchr(n->text.p, '$', n->text.n))
            return;
        buf_init(&b, TEXT_MAX);
        team_dates_expand(d, n->text, &b);
        n->text = str_of(arena_strndup(a, buf_str(&b), b.n), b.n);
        buf_release(&b);
        return;
    case NODE_LIST:
        for (size_t i = 0; i < n->list.n; i++)
            fill(a, n->list.at[i], d);
        return;
    case NODE_MAP:
        for (size_t i = 0; i < n->map.n; i++)
            fill(a, n->map.at[i].value, d);
        return;
    default:
        return;
    }
}

enum rc team_spec_dates_fill(const char *text, const struct team_dates *d,
                             struct job_spec *out, struct err *err)
{
    struct job_spec raw;
    struct buf b;
    enum rc rc = job_spec_from_json(text, &raw, err);
    if (rc) {
        job_spec_release(&raw);
        return rc;
    }
    for (size_t i = 0; i < ARRAY_LEN(filled); i++) {
        struct node *n = node_find(raw.conf.doc.root, filled[i]);
        if (n)
            fill(&raw.conf.doc.arena, n, d);
    }
    buf_init(&b, TEXT_MAX);
    job_spec_print(&raw, &b);
    rc = buf_check(&b, err);
    job_spec_release(&raw);
    if (!rc) {
        rc = job_spec_from_json(buf_str(&b), out, err);
        if (rc)
            job_spec_release(out);
    }
    buf_release(&b);
    return rc;
}

enum rc team_spec_dates_params(const char *json, struct arena *a,
                               struct team_dates_param **out, size_t *n, struct err *err)
{
    struct doc doc = {0};
    const struct node *map = job_json_open(*json ? json : "{}", &doc);
    enum rc rc = RC_OK;
    if (!map || map->kind != NODE_MAP)
        rc = err_coded(err, RC_INVAL, E5105, "the parameters are not a JSON object");
    size_t count = rc ? 0 : map->map.n;
    struct team_dates_param *at = arena_alloc(a, (count + 1) * sizeof(*at));
    for (size_t i = 0; i < count && !rc; i++) {
        const struct node_entry *e = &map->map.at[i];
        if (!team_dates_name_ok(e->key) || e->value->kind != NODE_STR)
            rc = err_coded(err, RC_INVAL, E5105,
                           "parameter '%.*s': names have letters, digits and '_', values "
                           "are texts",
                           (int)(e->key.n < 64 ? e->key.n : 64), e->key.p);
        else
            at[i] = (struct team_dates_param){
                arena_strndup(a, e->key.p, e->key.n),
                arena_strndup(a, e->value->text.p, e->value->text.n)};
    }
    if (doc.src)
        doc_release(&doc);
    if (rc)
        return rc;
    *out = at;
    *n = count;
    return RC_OK;
}
