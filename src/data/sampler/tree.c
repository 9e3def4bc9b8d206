/* SPDX-License-Identifier: Apache-2.0 */
/* Positives and negatives on the levels of an item tree (Zhu et al. 2018). A row's item
 * is a leaf; its ancestors are further positives, and on each level that is trained some
 * of the other nodes are negatives. Levels are those that the node table says.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/rows.h"
#include "data/sampler/sampler_private.h"

#define LEVELS_MAX 64
#define TREE_STREAM 0x74646d /* of base/rng.h */

static void set_chances(struct sampler_tree *t, enum sampler_levels how)
{
    int64_t middle = t->n_levels - 2;
    double sum = 0;
    for (int64_t l = 1; l <= middle; l++) {
        t->chance[l] = how == LEVELS_ARITHMETIC   ? (double)l
                       : how == LEVELS_RECIPROCAL ? 1.0 / (double)(middle + 1 - l)
                                                  : 1.0;
        sum += t->chance[l];
    }
    for (int64_t l = 1; l <= middle; l++)
        t->chance[l] /= sum;
}

static enum rc level_make(struct sampler_level *to, int64_t level, const struct nodes *n,
                          struct err *err)
{
    double *weights = mem_try_alloc((size_t)to->n + 1, sizeof(*weights));
    to->items = mem_try_alloc((size_t)to->n + 1, sizeof(*to->items));
    enum rc rc = weights && to->items
                     ? RC_OK
                     : err_set(err, RC_NOMEM, "no memory for %jd nodes", (intmax_t)to->n);
    double sum = 0;
    int64_t k = 0;
    for (int64_t i = 0; i < n->n && !rc; i++) {
        if (column_i64(&n->levels, i) != level)
            continue;
        weights[k] = column_f64(&n->weights, i);
        sum += weights[k];
        to->items[k++] = i;
    }
    if (!rc && !(sum > 0))
        rc = err_coded(err, RC_INVAL, E1905, "no node of level %jd has a weight above 0",
                       (intmax_t)level);
    if (!rc)
        rc = alias_init(&to->alias, weights, to->n, err);
    mem_free(weights);
    return rc;
}

static enum rc make_levels(struct sampler_tree *t, const struct nodes *n, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n->n; i++) {
        int64_t level = column_i64(&n->levels, i);
        if (level == TREE_ABOVE)
            continue;
        if (level < 0 || level >= t->n_levels)
            return err_coded(err, RC_INVAL, E1906,
                             "row %jd of the item table: level %jd, layer_num_sample has "
                             "%jd levels",
                             (intmax_t)i + 1, (intmax_t)level, (intmax_t)t->n_levels);
        t->levels[level].n++;
    }
    for (int64_t l = 0; l < t->n_levels && !rc; l++) {
        struct sampler_level *level = &t->levels[l];
        if (level->n == 0)
            rc = err_coded(err, RC_INVAL, E1906, "no node has level %jd", (intmax_t)l);
        else if (t->samples[l] >= level->n)
            rc = err_coded(err, RC_INVAL, E1906,
                           "level %jd has %jd nodes: too few for %u negatives beside a "
                           "positive",
                           (intmax_t)l, (intmax_t)level->n, t->samples[l]);
        else if (t->samples[l])
            rc = level_make(level, l, n, err);
    }
    return rc;
}

/* Labels are numbers: those of what is added are 1 and 0. */
static enum rc find_labels(struct sampler_tree *t, const struct sampler_conf *c,
                           const struct data_schema *data, struct err *err)
{
    for (size_t i = 0; i < c->n_labels; i++) {
        int64_t at = data_schema_find(data, str_c(c->labels[i]));
        if (at < 0 || data->at[at].type.id == TYPE_BOOL ||
            !column_is_number(&data->at[at].type))
            return err_coded(
                err, RC_INVAL, E1904,
                "label '%s' is not a column of numbers, the tree's positives "
                "and negatives cannot be labelled",
                c->labels[i]);
        VEC_PUSH(&t->labels, (size_t)at);
    }
    return RC_OK;
}

enum rc tree_open(struct sampler_tree *t, const struct sampler_conf *c, struct sampler *s,
                  struct err *err)
{
    struct edges_conf edges = {.what = "tree edges",
                               .path = c->tree_edges,
                               .delim = c->field_delim,
                               .notes = &s->notes};
    if (c->n_layers < 2 || c->n_layers > LEVELS_MAX || c->layer_num_sample[0] != 0)
        return err_coded(err, RC_INVAL, E1906,
                         "layer_num_sample: %zu levels, the first with %u negatives; 2 "
                         "to %d levels from the root's 0 on are possible",
                         c->n_layers, c->n_layers ? c->layer_num_sample[0] : 0,
                         LEVELS_MAX);
    t->n_levels = (int64_t)c->n_layers;
    t->levels = mem_calloc(c->n_layers, sizeof(*t->levels));
    t->samples = mem_calloc(c->n_layers, sizeof(*t->samples));
    t->chance = mem_calloc(c->n_layers, sizeof(*t->chance));
    memcpy(t->samples, c->layer_num_sample, c->n_layers * sizeof(*t->samples));
    t->remain = c->remain_ratio;
    set_chances(t, c->levels);
    enum rc rc = make_levels(t, &s->nodes, err);
    if (!rc)
        rc = find_labels(t, c, s->data, err);
    if (!rc)
        rc = edges_read(&t->ancestors, &edges, &s->nodes, err);
    if (!rc && t->ancestors.sources.n && t->ancestors.kind != s->nodes.kind)
        rc = err_coded(err, RC_FORMAT, E1901,
                       "tree edges '%s': ids are not of the type of the item table's",
                       c->tree_edges);
    return rc;
}

void tree_release(struct sampler_tree *t)
{
    for (int64_t l = 0; t->levels && l < t->n_levels; l++) {
        mem_free(t->levels[l].items);
        alias_release(&t->levels[l].alias);
    }
    mem_free(t->levels);
    mem_free(t->samples);
    mem_free(t->chance);
    edges_release(&t->ancestors);
    VEC_RELEASE(&t->labels);
    *t = (struct sampler_tree){0};
}

/* The levels that this batch trains: the leaves', and of the middle ones as many as
 * remain_ratio says, drawn without replacement.
 */
static void choose_levels(const struct sampler_tree *t, struct rng *r, bool *kept)
{
    int64_t middle = t->n_levels - 2;
    int64_t want = (int64_t)lround(t->remain * (double)middle);
    kept[0] = false;
    kept[t->n_levels - 1] = true;
    for (int64_t l = 1; l <= middle; l++)
        kept[l] = want >= middle;
    for (int64_t k = 0; k < want && want < middle; k++) {
        double rest = 0, at;
        int64_t chosen = 0;
        for (int64_t l = 1; l <= middle; l++)
            rest += kept[l] ? 0 : t->chance[l];
        at = rng_f64(r) * rest;
        for (int64_t l = 1; l <= middle; l++) {
            if (kept[l])
                continue;
            chosen = l;
            at -= t->chance[l];
            if (at < 0)
                break;
        }
        kept[chosen] = true;
    }
}

/* The row's node on a level, or -1. */
static int64_t node_at(const struct sampler *s, int64_t leaf, int64_t level)
{
    int64_t n;
    if (column_i64(&s->nodes.levels, leaf) == level)
        return leaf;
    const int64_t *up =
        edges_of(&s->tree.ancestors, column_i64(&s->nodes.keys, leaf), &n);
    for (int64_t i = 0; i < n; i++)
        if (column_i64(&s->nodes.levels, up[i]) == level)
            return up[i];
    return -1;
}

static bool taken(const int64_t *at, int64_t n, int64_t node)
{
    for (int64_t i = 0; i < n; i++)
        if (at[i] == node)
            return true;
    return false;
}

/* `samples` nodes of a level that are neither the positive nor twice the same. */
static void draw_level(const struct sampler_level *l, int64_t samples, int64_t positive,
                       struct rng *r, int64_t *to)
{
    for (int64_t k = 0; k < samples; k++) {
        int64_t at = alias_draw(&l->alias, r), node = l->items[at];
        for (int t = 1; t < SAMPLER_TRIES && (node == positive || taken(to, k, node));
             t++) {
            at = alias_draw(&l->alias, r);
            node = l->items[at];
        }
        while (node == positive || taken(to, k, node)) { /* there is one: checked */
            at = (at + 1) % l->n;
            node = l->items[at];
        }
        to[k] = node;
    }
}

static enum rc add_positives(const struct sampler *s, struct sampler_scratch *x,
                             const bool *kept, struct sampled *out, struct err *err)
{
    const struct sampler_tree *t = &s->tree;
    enum rc rc = list_room(&x->drawn, x->rows.n * t->n_levels, err);
    if (!rc)
        rc = list_room(&x->from, x->rows.n * (t->n_levels + 1), err);
    for (int64_t i = 0; i < x->rows.n && !rc; i++) {
        int64_t leaf = x->rows.at[i];
        out->unknown += leaf < 0;
        for (int64_t l = 1; leaf >= 0 && l < t->n_levels - 1; l++) {
            int64_t node = kept[l] ? node_at(s, leaf, l) : -1;
            if (node < 0)
                continue;
            x->from.at[x->from.n++] = i;
            x->drawn.at[x->drawn.n++] = node;
        }
    }
    return rc;
}

static enum rc add_negatives(const struct sampler *s, struct sampler_scratch *x,
                             const bool *kept, uint64_t step, struct err *err)
{
    const struct sampler_tree *t = &s->tree;
    int64_t most = 0;
    for (int64_t l = 0; l < t->n_levels; l++)
        most += kept[l] ? t->samples[l] : 0;
    enum rc rc = list_room(&x->drawn, x->drawn.n + x->rows.n * most, err);
    if (!rc)
        rc = list_room(&x->from, x->from.n + x->rows.n * most, err);
    for (int64_t i = 0; i < x->rows.n && !rc; i++) {
        int64_t leaf = x->rows.at[i];
        struct rng r;
        rng_init(&r, s->seed, TREE_STREAM, step, (uint64_t)i + 1);
        for (int64_t l = 1; leaf >= 0 && l < t->n_levels; l++) {
            int64_t node = kept[l] && t->samples[l] ? node_at(s, leaf, l) : -1;
            if (node < 0)
                continue;
            draw_level(&t->levels[l], t->samples[l], node, &r, x->drawn.at + x->drawn.n);
            x->drawn.n += t->samples[l];
            for (uint32_t k = 0; k < t->samples[l]; k++)
                x->from.at[x->from.n++] = i;
        }
    }
    return rc;
}

static enum rc add_label(struct column *c, int value, struct err *err)
{
    switch (c->type->id) {
    case TYPE_I32:
        return column_add_i32(c, value, err);
    case TYPE_I64:
        return column_add_i64(c, value, err);
    case TYPE_U32:
        return column_add_u32(c, (uint32_t)value, err);
    case TYPE_U64:
        return column_add_u64(c, (uint64_t)value, err);
    case TYPE_F32:
        return column_add_f32(c, (float)value, err);
    default:
        return column_add_f64(c, value, err);
    }
}

static enum rc add_labels(struct column *c, int64_t positives, int64_t negatives,
                          struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < positives + negatives && !rc; i++)
        rc = add_label(c, i < positives, err);
    return rc;
}

/* Which column of the node table a column of the data is, or -1. */
static int64_t attr_of(const struct sampler *s, size_t col)
{
    for (size_t i = 0; i < s->nodes.schema.n; i++)
        if (s->attr_at[i] == col)
            return (int64_t)i;
    return -1;
}

static bool is_label(const struct sampler_tree *t, size_t col)
{
    for (size_t i = 0; i < t->labels.n; i++)
        if (t->labels.at[i] == col)
            return true;
    return false;
}

static enum rc fill_longer(const struct sampler *s, struct sampler_scratch *x,
                           const struct batch *b, int64_t positives, struct err *err)
{
    enum rc rc = RC_OK;
    batch_clear(&x->longer);
    for (size_t i = 0; i < b->n_cols && !rc; i++) {
        struct column *to = &x->longer.cols[i];
        int64_t attr = attr_of(s, i);
        rc = column_append(to, &b->cols[i], 0, b->n, err);
        if (!rc && is_label(&s->tree, i))
            rc = add_labels(to, positives, x->drawn.n - positives, err);
        else if (!rc && attr >= 0)
            rc = column_gather(to, &s->nodes.attrs.cols[attr], x->drawn.at, x->drawn.n,
                               err);
        else if (!rc)
            rc = column_gather(to, &b->cols[i], x->from.at, x->from.n, err);
        if (rc)
            err_wrap(err, rc, "column '%s'", b->schema->at[i].name);
    }
    x->longer.n = b->n + x->drawn.n;
    return rc;
}

enum rc tree_run(const struct sampler *s, struct sampler_scratch *x,
                 const struct batch *b, uint64_t step, struct sampled *out,
                 struct err *err)
{
    bool kept[LEVELS_MAX] = {false};
    struct rng r;
    rng_init(&r, s->seed, TREE_STREAM, step, 0);
    choose_levels(&s->tree, &r, kept);
    x->drawn.n = x->from.n = 0;
    enum rc rc = add_positives(s, x, kept, out, err);
    int64_t positives = x->drawn.n;
    if (!rc)
        rc = add_negatives(s, x, kept, step, err);
    if (!rc)
        rc = fill_longer(s, x, b, positives, err);
    out->rows = &x->longer;
    out->n_negatives = x->drawn.n - positives;
    return rc;
}
