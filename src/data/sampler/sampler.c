/* SPDX-License-Identifier: Apache-2.0 */
/* Negatives for a batch. Items are drawn by weight with an alias table; those of the
 * batch, or of the user's positive edges, are excluded by drawing again. The negatives
 * of all rows come first, each user's hard ones behind them. Draws depend on (seed,
 * step) alone, so a resumed run draws the same. Trees are in tree.c.
 */
#include "data/sampler/sampler.h"

#include <string.h>

#include "base/mem.h"
#include "data/rows.h"
#include "data/sampler/sampler_private.h"
#include "data/sampler/users.h"
#include "text/pipeline/feature.h"

#define NOTES_MAX 65536

enum rc list_room(struct sampler_list *l, int64_t n, struct err *err)
{
    if (n <= l->cap)
        return RC_OK;
    int64_t cap = n + n / 4;
    int64_t *at = mem_try_realloc(l->at, (size_t)cap, sizeof(*at));
    if (!at)
        return err_set(err, RC_NOMEM, "no memory for %jd samples", (intmax_t)n);
    l->at = at;
    l->cap = cap;
    return RC_OK;
}

static enum rc find_column(const struct sampler *s, const char *field, const char *name,
                           bool of_item, size_t *out, struct err *err)
{
    int64_t at = data_schema_find(s->data, str_c(name ? name : ""));
    if (at < 0)
        return err_coded(err, RC_INVAL, E1904, "%s: there is no column '%s' in the data",
                         field, name ? name : "");
    const struct type *t = &s->data->at[at].type;
    if (of_item && s->lists && t->id == TYPE_LIST)
        t = &t->kids[0].type;
    if (!id_column(t)) {
        struct buf type;
        buf_init(&type, 256);
        type_print(t, &type);
        enum rc rc = err_coded(err, RC_INVAL, E1904,
                               "%s: column '%s' is of type %s, ids are integers or texts",
                               field, name, buf_str(&type));
        buf_release(&type);
        return rc;
    }
    *out = (size_t)at;
    return RC_OK;
}

enum rc sampler_nodes(const struct sampler_conf *c, const struct data_schema *data,
                      struct buf *notes, struct nodes *out, struct err *err)
{
    const char **attrs = mem_calloc(c->n_attr_fields + 2, sizeof(*attrs));
    size_t n = 0, from = 0;
    if (pc_sampler_kinds[c->kind]
            .tree) { /* two attributes that every node has in front */
        attrs[n++] = "tree_level";
        attrs[n++] = c->item_id_field;
        for (size_t i = 0; i < 2; i++)
            from +=
                from < c->n_attr_fields && strcmp(c->attr_fields[from], attrs[i]) == 0;
    }
    for (size_t i = from; i < c->n_attr_fields; i++)
        attrs[n++] = c->attr_fields[i];
    struct nodes_conf conf = {.path = c->items,
                              .delim = c->field_delim,
                              .attr_delim = c->attr_delim ? c->attr_delim : ":",
                              .attr_fields = attrs,
                              .n_attr_fields = n,
                              .data = data,
                              .list_prefix = c->list_prefix,
                              .level_field =
                                  pc_sampler_kinds[c->kind].tree ? "tree_level" : NULL,
                              .notes = notes};
    enum rc rc = nodes_read(out, &conf, err);
    mem_free(attrs);
    return rc;
}

static enum rc check_users(struct sampler *s, const struct sampler_conf *c,
                           struct err *err)
{
    struct sampler_users_conf conf = {
        .path = c->users, .delim = c->field_delim, .notes = &s->notes};
    return s->by_user ? sampler_users_check(&conf, "positive edges", &s->positive, err)
                      : sampler_users_check(&conf, "hard edges", &s->hard, err);
}

static enum rc read_tables(struct sampler *s, const struct sampler_conf *c,
                           struct err *err)
{
    struct edges_conf edges = {.delim = c->field_delim, .notes = &s->notes};
    enum rc rc = sampler_nodes(c, s->data, &s->notes, &s->nodes, err);
    if (!rc && pc_sampler_kinds[c->kind].tree)
        return tree_open(&s->tree, c, s, err);
    if (!rc)
        rc = alias_init(&s->alias, s->nodes.weights.values, s->nodes.n, err);
    if (!rc && s->by_user) {
        edges.what = "positive edges";
        edges.path = c->positive_edges;
        edges.sorted = true;
        rc = edges_read(&s->positive, &edges, &s->nodes, err);
    }
    if (!rc && s->has_hard) {
        edges.what = "hard edges";
        edges.path = c->hard_edges;
        edges.sorted = false;
        rc = edges_read(&s->hard, &edges, &s->nodes, err);
    }
    if (!rc && s->by_user && s->has_hard && s->hard.kind != s->positive.kind)
        rc = err_coded(err, RC_FORMAT, E1901,
                       "hard edges '%s': users are not of the type of the positive "
                       "edges'",
                       c->hard_edges);
    return rc || !c->users ? rc : check_users(s, c, err);
}

enum rc sampler_open(const struct sampler_conf *conf, const struct data_schema *data,
                     struct sampler **out, struct err *err)
{
    struct sampler *s = mem_calloc(1, sizeof(*s));
    s->kind = conf->kind;
    s->data = data;
    s->seed = conf->seed;
    s->num_sample = conf->num_sample;
    s->num_hard = conf->num_hard_sample;
    s->by_user = pc_sampler_kinds[s->kind].by_user;
    s->has_hard = pc_sampler_kinds[s->kind].hard;
    s->lists = conf->list_prefix != NULL;
    s->delim = str_c(mem_strdup(conf->list_delim ? conf->list_delim : ";"));
    buf_init(&s->notes, NOTES_MAX);
    enum rc rc =
        find_column(s, "item_id_field", conf->item_id_field, true, &s->item_at, err);
    if (!rc && (s->by_user || s->has_hard))
        rc =
            find_column(s, "user_id_field", conf->user_id_field, false, &s->user_at, err);
    if (!rc)
        rc = read_tables(s, conf, err);
    if (rc) {
        sampler_close(s);
        return rc;
    }
    s->attr_at = mem_calloc(s->nodes.schema.n + 1, sizeof(*s->attr_at));
    for (size_t i = 0; i < s->nodes.schema.n; i++)
        s->attr_at[i] = (size_t)data_schema_find(data, str_c(s->nodes.schema.at[i].name));
    *out = s;
    return RC_OK;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    nodes_release(&s->nodes);
    alias_release(&s->alias);
    edges_release(&s->positive);
    edges_release(&s->hard);
    tree_release(&s->tree);
    mem_free(s->attr_at);
    mem_free((char *)(uintptr_t)s->delim.p);
    buf_release(&s->notes);
    mem_free(s);
}

int64_t sampler_items(const struct sampler *s)
{
    return s->nodes.n;
}

const char *sampler_notes(const struct sampler *s)
{
    return buf_str(&s->notes);
}

/* Of one item's id. */
static const struct type *item_type(const struct sampler *s)
{
    const struct type *t = &s->data->at[s->item_at].type;
    return s->lists && t->id == TYPE_LIST ? &t->kids[0].type : t;
}

struct sampler_scratch *sampler_scratch_create(const struct sampler *s)
{
    struct sampler_scratch *x = mem_calloc(1, sizeof(*x));
    x->s = s;
    batch_init(&x->items, &s->nodes.schema);
    batch_init(&x->longer, s->data);
    column_init(&x->ids, item_type(s));
    return x;
}

void sampler_scratch_destroy(struct sampler_scratch *x)
{
    if (!x)
        return;
    batch_release(&x->items);
    batch_release(&x->longer);
    keymap_release(&x->in_batch);
    mem_free(x->rows.at);
    mem_free(x->keys.at);
    mem_free(x->drawn.at);
    mem_free(x->hard_at.at);
    mem_free(x->own_at.at);
    column_release(&x->ids);
    mem_free(x->from.at);
    mem_free(x);
}

static enum rc bad_id(const struct sampler *s, const struct column *c, size_t col,
                      int64_t i, int64_t row, struct err *err)
{
    struct str v = column_str(c, i);
    return err_coded(
        err, RC_INVAL, E1904,
        "column '%s', row %jd of the batch: '%.*s' is not an integer, as the "
        "ids of the sampler's tables are",
        s->data->at[col].name, (intmax_t)row, (int)(v.n < 60 ? v.n : 60), v.p);
}

enum rc sampler_item_rows(const struct sampler *s, struct sampler_scratch *x,
                          const struct column *ids, int64_t n, struct err *err)
{
    enum rc rc = list_room(&x->rows, n, err);
    for (int64_t i = 0; i < n && !rc; i++) {
        int64_t key;
        if (!id_key(ids, i, s->nodes.kind, &key))
            rc = bad_id(s, ids, s->item_at, i, s->lists ? x->from.at[i] : i, err);
        else
            x->rows.at[i] = keymap_find(&s->nodes.index, key);
    }
    x->rows.n = n;
    return rc;
}

static enum rc user_keys(const struct sampler *s, struct sampler_scratch *x,
                         const struct batch *b, struct err *err)
{
    enum id_kind kind = s->by_user ? s->positive.kind : s->hard.kind;
    enum rc rc = list_room(&x->keys, b->n, err);
    for (int64_t i = 0; i < b->n && !rc; i++)
        if (!id_key(&b->cols[s->user_at], i, kind, &x->keys.at[i]))
            rc = bad_id(s, &b->cols[s->user_at], s->user_at, i, i, err);
    return rc;
}

static enum rc mark_batch(struct sampler_scratch *x, int64_t rows, struct err *err)
{
    if (x->in_batch.size / 2 < rows) {
        keymap_release(&x->in_batch);
        enum rc rc = keymap_init(&x->in_batch, rows, err);
        if (rc)
            return rc;
    }
    keymap_clear(&x->in_batch);
    for (int64_t i = 0; i < rows; i++)
        if (x->rows.at[i] >= 0)
            keymap_add(&x->in_batch, x->rows.at[i], i);
    return RC_OK;
}

static bool excluded(const struct sampler *s, const struct sampler_scratch *x,
                     int64_t row, int64_t item)
{
    if (!s->by_user)
        return keymap_find(&x->in_batch, item) >= 0;
    int64_t user = s->lists ? x->from.at[row] : row;
    return item == x->rows.at[row] || edges_has(&s->positive, x->keys.at[user], item);
}

/* Draws until one is not excluded; after many tries the next that is not, seen from the
 * last draw; an excluded one when there is none near.
 */
static int64_t draw_one(const struct sampler *s, const struct sampler_scratch *x,
                        int64_t row, struct rng *r)
{
    int64_t item = alias_draw(&s->alias, r);
    for (int t = 1; t < SAMPLER_TRIES && excluded(s, x, row, item); t++)
        item = alias_draw(&s->alias, r);
    for (int64_t k = 0; k < s->nodes.n && k < SAMPLER_SCAN; k++) {
        int64_t at = (item + k) % s->nodes.n;
        if (column_f64(&s->nodes.weights, at) > 0 && !excluded(s, x, row, at))
            return at;
    }
    return item;
}

/* Those for all rows: so many per row that all together are enough, the first are taken.
 */
static enum rc draw_common(const struct sampler *s, struct sampler_scratch *x,
                           int64_t rows, uint64_t step, struct err *err)
{
    int64_t per_row = rows ? (s->num_sample + rows - 1) / rows : 0;
    struct rng r;
    enum rc rc = list_room(&x->drawn, s->num_sample, err);
    if (!rc && !s->by_user)
        rc = mark_batch(x, rows, err);
    if (rc)
        return rc;
    rng_init(&r, s->seed, SAMPLER_STREAM, step, 0);
    x->drawn.n = rows ? s->num_sample : 0;
    for (int64_t i = 0; i < x->drawn.n; i++)
        x->drawn.at[i] = draw_one(s, x, i / per_row, &r);
    return RC_OK;
}

static enum rc add_hard(const struct sampler *s, struct sampler_scratch *x, int64_t rows,
                        struct err *err)
{
    int64_t common = x->drawn.n;
    enum rc rc = list_room(&x->hard_at, rows + 1, err);
    if (rc)
        return rc;
    x->hard_at.at[0] = 0;
    for (int64_t i = 0; i < rows && !rc; i++) {
        int64_t n;
        const int64_t *items = edges_of(&s->hard, x->keys.at[i], &n);
        n = n < s->num_hard ? n : s->num_hard;
        rc = list_room(&x->drawn, x->drawn.n + n, err);
        if (rc)
            break;
        if (n)
            memcpy(x->drawn.at + x->drawn.n, items, (size_t)n * sizeof(*items));
        x->drawn.n += n;
        x->hard_at.at[i + 1] = x->drawn.n - common;
    }
    return rc;
}

static enum rc fill_items(const struct sampler *s, struct sampler_scratch *x,
                          const struct batch *b, struct err *err)
{
    batch_clear(&x->items);
    for (size_t i = 0; i < s->nodes.schema.n; i++) {
        struct column *to = &x->items.cols[i];
        enum rc rc = s->lists ? sampler_flatten(s, x, b, s->attr_at[i], false, to, err)
                              : column_append(to, &b->cols[s->attr_at[i]], 0, b->n, err);
        if (!rc)
            rc = column_gather(to, &s->nodes.attrs.cols[i], x->drawn.at, x->drawn.n, err);
        if (rc)
            return err_wrap(err, rc, "column '%s'", s->nodes.schema.at[i].name);
    }
    x->items.n = x->rows.n + x->drawn.n;
    return RC_OK;
}

enum rc sampler_run(const struct sampler *s, struct sampler_scratch *x,
                    const struct batch *batch, uint64_t step, struct sampled *out,
                    struct err *err)
{
    const struct column *ids = s->lists ? &x->ids : &batch->cols[s->item_at];
    *out = (struct sampled){.rows = batch};
    column_clear(&x->ids);
    enum rc rc =
        s->lists ? sampler_flatten(s, x, batch, s->item_at, true, &x->ids, err) : RC_OK;
    if (!rc)
        rc = sampler_item_rows(s, x, ids, s->lists ? ids->n : batch->n, err);
    if (!rc && pc_sampler_kinds[s->kind].tree)
        return tree_run(s, x, batch, step, out, err);
    if (!rc && (s->by_user || s->has_hard))
        rc = user_keys(s, x, batch, err);
    if (!rc)
        rc = draw_common(s, x, x->rows.n, step, err);
    out->n_own = x->rows.n;
    out->own_at = s->lists ? x->own_at.at : NULL;
    out->n_common = x->drawn.n;
    if (!rc && s->has_hard)
        rc = add_hard(s, x, batch->n, err);
    if (!rc)
        rc = fill_items(s, x, batch, err);
    out->items = &x->items;
    out->hard_at = s->has_hard ? x->hard_at.at : NULL;
    return rc;
}
