/* SPDX-License-Identifier: Apache-2.0 */
/* Rows lie in the tables of a local lookup, of which a server uses those of its own ids; a
 * slot for each table looks them up. Dense blocks are parameters of their own, with an
 * optimizer of the same config. Gradients are collected until dist_ps_store_update().
 */
#include "dist/ps_store.h"

#include <string.h>

#include "base/mem.h"
#include "dist/ps_rows.h"
#include "embed/embed.h"

struct dist_ps_store {
    struct dist_ps_store_conf conf;
    struct embed *embed; /* that of conf.model.lookup */
    int n_tables, first_slot;
    struct dist_ps_rows *rows; /* [n_tables]: gradients */
    struct embed_slot_ids *slot_ids;
    struct view *views;
    int64_t *ids; /* of the question at hand */
    int64_t ids_room;
    struct dist_ps_block *blocks; /* of this server */
    size_t n_blocks;
    struct param *params, **param_at; /* [n_blocks] */
    float *values, *grads;            /* [n_dense] */
    int64_t n_dense;
    struct optim *optim;
    uint64_t steps;
    struct embed_touched **changed; /* geo: [n_tables][workers] */
};

/* --- made --- */

static void keep_own(struct dist_ps_store *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_blocks; i++)
        if (s->blocks[i].server == s->conf.server)
            s->blocks[kept++] = s->blocks[i];
    s->n_blocks = kept;
    s->n_dense = dist_ps_blocks_total(s->blocks, kept, -1);
}

static void make_params(struct dist_ps_store *s)
{
    int64_t at = 0;
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct dist_ps_block *b = &s->blocks[i];
        const struct param *whole = s->conf.model.params[b->param];
        s->params[i] = (struct param){.name = whole->name,
                                      .n_dims = 2,
                                      .dims = {b->rows, b->n / b->rows, 1},
                                      .n = b->n,
                                      .trainable = true,
                                      .value = s->values + at,
                                      .grad = s->grads + at};
        s->param_at[i] = &s->params[i];
        memcpy(s->values + at, param_read(whole) + b->at, (size_t)b->n * sizeof(float));
        at += b->n;
    }
}

/* The part of a parameter's state that belongs to a block. */
static void cut_state(const struct dist_ps_store *s, const struct nn_state *all,
                      struct nn_state *out)
{
    for (size_t i = 0; i < s->n_blocks; i++) {
        const struct dist_ps_block *b = &s->blocks[i];
        const struct param *whole = s->conf.model.params[b->param];
        char *prefix = mem_printf("state.%s.", whole->name);
        for (size_t k = 0; k < all->items.n; k++) {
            const struct nn_state_item *item = &all->items.at[k];
            bool whole_array = item->type == STATE_F32 && item->n == whole->n;
            if (strncmp(item->name, prefix, strlen(prefix)) != 0 ||
                strchr(item->name + strlen(prefix), '.'))
                continue;
            const float *from = item->data;
            nn_state_add(out, item->type, whole_array ? from + b->at : item->data,
                         whole_array ? b->n : item->n, "%s", item->name);
        }
        mem_free(prefix);
    }
}

static enum rc make_optim(struct dist_ps_store *s, struct err *err)
{
    struct optim_options o = {.pool = s->conf.pool};
    struct nn_state own = {0};
    size_t missing = 0;
    if (s->n_blocks == 0 || !s->conf.dense)
        return RC_OK;
    enum rc rc =
        optim_create(s->conf.dense, s->param_at, s->n_blocks, &o, &s->optim, err);
    if (!rc && s->conf.state) {
        cut_state(s, s->conf.state, &own);
        rc = optim_load(s->optim, &own, &missing, err);
    }
    nn_state_release(&own);
    return rc;
}

static enum rc make_dense(struct dist_ps_store *s, struct err *err)
{
    s->blocks = dist_ps_blocks(&s->conf.job, &s->conf.model, &s->n_blocks);
    keep_own(s);
    size_t n = (size_t)s->n_dense + 1;
    s->values = mem_try_alloc(n, sizeof(float));
    s->grads = mem_try_alloc(n, sizeof(float));
    s->params = mem_calloc(s->n_blocks + 1, sizeof(*s->params));
    s->param_at = mem_calloc(s->n_blocks + 1, sizeof(*s->param_at));
    if (!s->values || !s->grads)
        return err_set(err, RC_NOMEM, "no memory for %zu dense values", n);
    memset(s->grads, 0, n * sizeof(float));
    make_params(s);
    return make_optim(s, err);
}

static enum rc make_tables(struct dist_ps_store *s, struct err *err)
{
    enum rc rc = RC_OK;
    s->embed = embed_of(s->conf.model.lookup);
    s->n_tables = embed_n_tables(s->embed);
    s->first_slot = embed_n_slots(s->embed);
    int outputs = 0;
    for (int i = 0; i < s->first_slot; i++)
        if (embed_slot_at(s->embed, i)->output >= outputs)
            outputs = embed_slot_at(s->embed, i)->output + 1;
    for (int t = 0; t < s->n_tables; t++)
        embed_add_slot(s->embed, &(struct embed_slot_conf){.feature = "a trainer's ids",
                                                           .table = t,
                                                           .output = outputs + t});
    size_t n = (size_t)s->n_tables, w = (size_t)s->conf.job.workers;
    s->rows = mem_calloc(n + 1, sizeof(*s->rows));
    s->slot_ids = mem_calloc((size_t)s->first_slot + n + 1, sizeof(*s->slot_ids));
    s->views = mem_calloc((size_t)outputs + n + 1, sizeof(*s->views));
    s->changed = mem_calloc(n * w + 1, sizeof(struct embed_touched *));
    for (size_t i = 0; s->conf.job.mode == PS_GEO_MODE && i < n * w && !rc; i++)
        rc = embed_touched_create(embed_table_at(s->embed, (int)(i / w))->conf.rows,
                                  &s->changed[i], err);
    return rc;
}

enum rc dist_ps_store_create(const struct dist_ps_store_conf *conf,
                             struct dist_ps_store **out, struct err *err)
{
    struct dist_ps_store *s = mem_calloc(1, sizeof(*s));
    s->conf = *conf;
    enum rc rc = dist_ps_model_check(&conf->model, err);
    if (!rc)
        rc = make_tables(s, err);
    if (!rc)
        rc = make_dense(s, err);
    if (rc)
        dist_ps_store_destroy(s);
    else
        *out = s;
    return rc;
}

void dist_ps_store_destroy(struct dist_ps_store *s)
{
    if (!s)
        return;
    optim_destroy(s->optim);
    for (int t = 0; s->rows && t < s->n_tables; t++)
        dist_ps_rows_release(&s->rows[t]);
    for (int i = 0; s->changed && i < s->n_tables * s->conf.job.workers; i++)
        embed_touched_destroy(s->changed[i]);
    mem_free(s->changed);
    mem_free(s->rows);
    mem_free(s->slot_ids);
    mem_free(s->views);
    mem_free(s->ids);
    mem_free(s->blocks);
    mem_free(s->params);
    mem_free(s->param_at);
    mem_free(s->values);
    mem_free(s->grads);
    mem_free(s);
}

struct lookup *dist_ps_store_lookup(const struct dist_ps_store *s)
{
    return s->conf.model.lookup;
}

int64_t dist_ps_store_n_dense(const struct dist_ps_store *s)
{
    return s->n_dense;
}

const float *dist_ps_store_dense(struct dist_ps_store *s)
{
    return s->values;
}

int64_t dist_ps_store_dim(const struct dist_ps_store *s, int table)
{
    return table >= 0 && table < s->n_tables ? embed_table_at(s->embed, table)->conf.dim
                                             : 0;
}

uint64_t dist_ps_store_steps(const struct dist_ps_store *s)
{
    return s->steps;
}

/* --- rows --- */

/* Copies ids to where they are aligned, and looks at each. */
static enum rc take_ids(struct dist_ps_store *s, int table, const void *ids, int64_t n,
                        struct err *err)
{
    const struct embed_table *t = embed_table_at(s->embed, table);
    if (n > s->ids_room) {
        mem_free(s->ids);
        s->ids = mem_try_alloc((size_t)n, sizeof(*s->ids));
        s->ids_room = s->ids ? n : 0;
        if (!s->ids)
            return err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)n);
    }
    if (n)
        memcpy(s->ids, ids, (size_t)n * sizeof(*s->ids));
    for (int64_t i = 0; i < n; i++)
        if (s->ids[i] < 0 || s->ids[i] >= t->conf.rows ||
            dist_ps_owner(&s->conf.job, s->ids[i]) != s->conf.server)
            return err_coded(err, RC_INVAL, E2703,
                             "id %jd of table '%s' is not kept here", (intmax_t)s->ids[i],
                             t->name);
    return RC_OK;
}

enum rc dist_ps_store_check_ids(struct dist_ps_store *s, int table, const void *ids,
                                int64_t n, struct err *err)
{
    return take_ids(s, table, ids, n, err);
}

enum rc dist_ps_store_read_rows(struct dist_ps_store *s, int table, const void *ids,
                                int64_t n, bool training, float *out, struct err *err)
{
    const struct embed_table *t = embed_table_at(s->embed, table);
    int slot = s->first_slot + table;
    int view = embed_slot_at(s->embed, slot)->output;
    enum rc rc = take_ids(s, table, ids, n, err);
    if (rc || n == 0)
        return rc;
    s->slot_ids[slot] = (struct embed_slot_ids){.ids = s->ids, .rows = n};
    s->views[view] = view_of(out, n, t->conf.dim);
    rc = embed_batch(s->embed, s->slot_ids, training, err);
    if (!rc)
        embed_forward(s->embed, s->views);
    s->slot_ids[slot] = (struct embed_slot_ids){0};
    s->views[view] = (struct view){0};
    return rc;
}

enum rc dist_ps_store_add_rows(struct dist_ps_store *s, int table, const void *ids,
                               const void *sums, int64_t n, struct err *err)
{
    enum rc rc = take_ids(s, table, ids, n, err);
    return rc ? rc
              : dist_ps_rows_add(&s->rows[table], dist_ps_store_dim(s, table), s->ids,
                                 sums, n, err);
}

static void update_row(struct embed_table *t, const struct embed_row_rule *rule,
                       int64_t row, float *sum)
{
    float w[EMBED_DIM_MAX];
    if (!embed_table_used(t, row))
        embed_table_use(t, row);
    if (t->conf.type == DT_F32) {
        embed_row_rule_apply(rule, embed_table_row(t, row), embed_table_state(t, row),
                             sum, t->conf.dim);
        return;
    }
    embed_table_load(t, row, w);
    embed_row_rule_apply(rule, w, embed_table_state(t, row), sum, t->conf.dim);
    embed_table_store_step(t, row, w, rule->step);
}

static enum rc update_table(struct dist_ps_store *s, int table, float scale,
                            struct err *err)
{
    struct dist_ps_rows *r = &s->rows[table];
    struct embed_table *t = embed_table_at(s->embed, table);
    struct embed_row_step step = {.lr = nn_schedule_at(&s->conf.rows, s->steps, 0),
                                  .step = s->steps + 1};
    struct embed_row_rule rule = embed_row_rule_at(&t->conf.opt, &step);
    enum rc rc = r->lists > 1 ? dist_ps_rows_merge(r, err) : RC_OK;
    if (!rc && scale != 1)
        dist_ps_rows_scale(r, scale);
    for (int64_t i = 0; !rc && t->conf.trainable && i < r->n; i++)
        update_row(t, &rule, r->ids[i], r->sums + i * r->dim);
    dist_ps_rows_clear(r);
    return rc;
}

/* --- dense --- */

void dist_ps_store_add_dense(struct dist_ps_store *s, const void *grads)
{
    const unsigned char *at = grads;
    for (int64_t i = 0; i < s->n_dense; i++, at += sizeof(float)) {
        float g;
        memcpy(&g, at, sizeof(g));
        s->grads[i] += g;
    }
}

enum rc dist_ps_store_update(struct dist_ps_store *s, float scale, struct err *err)
{
    enum rc rc = RC_OK;
    for (int t = 0; t < s->n_tables && !rc; t++)
        rc = update_table(s, t, scale, err);
    for (int64_t i = 0; i < s->n_dense && scale != 1; i++)
        s->grads[i] *= scale;
    if (!rc && s->optim)
        optim_step(s->optim, s->steps, 0);
    memset(s->grads, 0, (size_t)s->n_dense * sizeof(float));
    s->steps++;
    return rc;
}

/* --- geo --- */

void dist_ps_store_shift_dense(struct dist_ps_store *s, const void *by)
{
    const unsigned char *at = by;
    for (int64_t i = 0; i < s->n_dense; i++, at += sizeof(float)) {
        float d;
        memcpy(&d, at, sizeof(d));
        s->values[i] += d;
    }
    s->steps++;
}

enum rc dist_ps_store_shift_rows(struct dist_ps_store *s, int table, const void *ids,
                                 const void *by, int64_t n, struct err *err)
{
    struct embed_table *t = embed_table_at(s->embed, table);
    int64_t dim = t->conf.dim;
    int workers = s->conf.job.workers;
    float w[EMBED_DIM_MAX], d[EMBED_DIM_MAX];
    enum rc rc = take_ids(s, table, ids, n, err);
    for (int64_t i = 0; i < n && !rc; i++) {
        memcpy(d, (const char *)by + (size_t)(i * dim) * sizeof(float),
               (size_t)dim * sizeof(float));
        embed_table_get(t, s->ids[i], w);
        for (int64_t k = 0; k < dim; k++)
            w[k] += d[k];
        embed_table_set(t, s->ids[i], w);
        for (int x = 0; x < workers && !rc; x++)
            rc = embed_touched_add(s->changed[table * workers + x], s->ids[i], err);
    }
    return rc;
}

enum rc dist_ps_store_changed(struct dist_ps_store *s, int table, int worker,
                              int64_t **ids, int64_t *n, struct err *err)
{
    struct embed_touched *c = s->changed[table * s->conf.job.workers + worker];
    enum rc rc = embed_touched_list(c, ids, n, err);
    if (!rc)
        embed_touched_clear(c);
    return rc;
}

/* --- to save --- */

enum rc dist_ps_store_piece(struct dist_ps_store *s, int table, int64_t from,
                            int64_t most, struct dist_ps_piece *out, struct err *err)
{
    const struct embed_table *t = embed_table_at(s->embed, table);
    *out = (struct dist_ps_piece){.stride = t->stride, .next = -1};
    out->ids = mem_try_alloc((size_t)most, sizeof(*out->ids));
    out->rows = mem_try_alloc((size_t)most, (size_t)t->stride * sizeof(float));
    if (!out->ids || !out->rows) {
        mem_free(out->ids);
        mem_free(out->rows);
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)most);
    }
    for (int64_t r = from < 0 ? 0 : from; r < t->conf.rows; r++) {
        if (!embed_table_used(t, r) || dist_ps_owner(&s->conf.job, r) != s->conf.server)
            continue;
        if (out->n == most) {
            out->next = r;
            break;
        }
        out->ids[out->n] = r;
        memcpy(out->rows + out->n++ * t->stride, embed_table_row(t, r),
               (size_t)t->stride * sizeof(float));
    }
    return RC_OK;
}

void dist_ps_store_state(const struct dist_ps_store *s, struct nn_state *out)
{
    if (s->optim)
        optim_save(s->optim, false, out);
}

int64_t dist_ps_store_stride(const struct dist_ps_store *s, int table)
{
    return embed_table_at(s->embed, table)->stride;
}

/* Trainers of geo may not have seen them all: they are new to everybody. */
static enum rc mark_changed(struct dist_ps_store *s, int table, int64_t id,
                            struct err *err)
{
    int workers = s->conf.job.workers;
    enum rc rc = RC_OK;
    for (int w = 0; s->conf.job.mode == PS_GEO_MODE && w < workers && !rc; w++)
        rc = embed_touched_add(s->changed[table * workers + w], id, err);
    return rc;
}

enum rc dist_ps_store_put_piece(struct dist_ps_store *s, int table, const void *ids,
                                const void *rows, int64_t n, struct err *err)
{
    struct embed_table *t = embed_table_at(s->embed, table);
    size_t bytes = (size_t)t->stride * sizeof(float);
    enum rc rc = take_ids(s, table, ids, n, err);
    for (int64_t i = 0; i < n && !rc; i++) {
        if (!embed_table_used(t, s->ids[i]))
            embed_table_use(t, s->ids[i]);
        memcpy(embed_table_row(t, s->ids[i]), (const char *)rows + (size_t)i * bytes,
               bytes);
        rc = mark_changed(s, table, s->ids[i], err);
    }
    return rc;
}

enum rc dist_ps_store_put_dense(struct dist_ps_store *s, const void *values,
                                const struct nn_state *state, uint64_t steps,
                                struct err *err)
{
    enum rc rc = s->optim ? optim_load(s->optim, state, NULL, err) : RC_OK;
    if (rc)
        return rc;
    if (s->n_dense)
        memcpy(s->values, values, (size_t)s->n_dense * sizeof(float));
    s->steps = steps;
    return RC_OK;
}
