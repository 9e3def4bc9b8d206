/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/sampler/table.h"

static const struct type key_type = {.id = TYPE_I64};

struct reading {
    const struct nodes *nodes;
    struct edges *to;
    struct column from, items; /* of every edge, int64 */
    int64_t first_unknown;
    bool first;
};

static enum rc add_rows(void *arg, const struct sampler_table_rows *rows, struct err *err)
{
    struct reading *r = arg;
    enum rc rc = RC_OK;
    if (!r->first && rows->kinds[0] != r->to->kind)
        return err_coded(err, RC_FORMAT, E1901,
                         "its ids are not of the type of the files before it");
    if (rows->kinds[1] != r->nodes->kind)
        return err_coded(err, RC_FORMAT, E1901,
                         "the item's ids are not of the type of the item table's");
    r->first = false;
    r->to->kind = rows->kinds[0];
    for (int64_t i = 0; i < rows->batch->n && !rc; i++) {
        int64_t from = 0, item = 0;
        double weight;
        rc = sampler_table_id(rows, 0, i, &from, err);
        if (!rc)
            rc = sampler_table_id(rows, 1, i, &item, err);
        if (!rc)
            rc = sampler_table_weight(rows, 2, i, &weight, err);
        if (rc)
            break;
        item = keymap_find(&r->nodes->index, item);
        if (item < 0) {
            if (r->to->unknown++ == 0)
                r->first_unknown = rows->first + i;
            continue;
        }
        rc = column_add_i64(&r->from, from, err);
        if (!rc)
            rc = column_add_i64(&r->items, item, err);
    }
    return rc;
}

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* From a list of pairs to a list per source. */
static enum rc arrange(struct edges *e, const struct reading *r, bool sorted,
                       struct err *err)
{
    int64_t n = r->from.n;
    enum rc rc = keymap_init(&e->sources, n, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < n; i++)
        keymap_add(&e->sources, column_i64(&r->from, i), e->sources.n);
    e->at = mem_try_calloc((size_t)e->sources.n + 2, sizeof(*e->at));
    e->items = mem_try_alloc((size_t)n + 1, sizeof(*e->items));
    if (!e->at || !e->items)
        return err_set(err, RC_NOMEM, "no memory for %jd edges", (intmax_t)n);
    /* counts two places on, then starts one place on, then, filled, where they belong */
    for (int64_t i = 0; i < n; i++)
        e->at[keymap_find(&e->sources, column_i64(&r->from, i)) + 2]++;
    for (int64_t s = 0; s < e->sources.n; s++)
        e->at[s + 2] += e->at[s + 1];
    for (int64_t i = 0; i < n; i++) {
        int64_t s = keymap_find(&e->sources, column_i64(&r->from, i));
        e->items[e->at[s + 1]++] = column_i64(&r->items, i);
    }
    for (int64_t s = 0; sorted && s < e->sources.n; s++)
        qsort(e->items + e->at[s], (size_t)(e->at[s + 1] - e->at[s]), sizeof(*e->items),
              by_value);
    return RC_OK;
}

enum rc edges_read(struct edges *e, const struct edges_conf *conf,
                   const struct nodes *nodes, struct err *err)
{
    *e = (struct edges){0};
    struct reading r = {.nodes = nodes, .to = e, .first = true};
    struct sampler_table_conf table = {
        .what = conf->what, .path = conf->path, .delim = conf->delim, .n_ids = 2};
    column_init(&r.from, &key_type);
    column_init(&r.items, &key_type);
    enum rc rc = sampler_table_read(&table, add_rows, &r, err);
    if (!rc)
        rc = arrange(e, &r, conf->sorted, err);
    if (!rc && e->unknown && conf->notes)
        buf_printf(conf->notes,
                   "%s '%s': %jd edges name items that the item table does not have, the "
                   "first in row %jd: left out\n",
                   conf->what, conf->path, (intmax_t)e->unknown,
                   (intmax_t)r.first_unknown);
    column_release(&r.from);
    column_release(&r.items);
    if (rc)
        edges_release(e);
    return rc;
}

void edges_release(struct edges *e)
{
    keymap_release(&e->sources);
    mem_free(e->at);
    mem_free(e->items);
    *e = (struct edges){0};
}

const int64_t *edges_of(const struct edges *e, int64_t source, int64_t *n)
{
    int64_t s = keymap_find(&e->sources, source);
    *n = s < 0 ? 0 : e->at[s + 1] - e->at[s];
    return s < 0 ? NULL : e->items + e->at[s];
}

bool edges_has(const struct edges *e, int64_t source, int64_t item)
{
    int64_t n;
    const int64_t *items = edges_of(e, source, &n);
    return n && bsearch(&item, items, (size_t)n, sizeof(*items), by_value) != NULL;
}
