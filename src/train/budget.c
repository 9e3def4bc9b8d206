/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up what a run will take: tables by what the lookup says of them, dense parameters
 * with gradients and optimizer state, activations of a batch with the longest sequences,
 * the batches made ahead, and the copy that a save makes. Sums too large for 64 bits stay
 * at a very large number.
 */
#include "train/budget.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dist/owner.h"

#define AHEAD 3           /* batches; see feeder.c */
#define SEQUENCE_GUESS 50 /* of a sequence without a longest length */

const char *train_budget_text(int64_t bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    size_t u = 0;
    for (; v >= 1024 && u + 1 < ARRAY_LEN(units); u++)
        v /= 1024;
    snprintf(out, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return out;
}

/* a * b, or the largest number when that is too large. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX / 8 : r;
}

static int64_t ids_per_row(const struct pc_feature *f)
{
    int64_t n = f->value_dim > 1 ? f->value_dim : 1;
    if (f->sequence)
        n *= f->sequence_length ? f->sequence_length : SEQUENCE_GUESS;
    return n;
}

static void add_tables(struct train_budget *b, const struct lookup *l)
{
    for (int i = 0; i < lookup_n_tables(l); i++) {
        struct lookup_memory memory;
        lookup_memory(l, i, &memory);
        struct train_budget_table x = {.number = i,
                                       .table = lookup_table(l, i),
                                       .weights = (int64_t)memory.weights,
                                       .state = (int64_t)memory.state};
        VEC_PUSH(&b->tables, x);
        b->weights += x.weights;
        b->state += x.state;
    }
}

static void reach_rows(struct train_budget *b, const struct model *m, int64_t data_rows)
{
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        if (in->slot < 0 || in->dense)
            continue;
        struct train_budget_table *x =
            &b->tables.at[lookup_slot(m->lookup, in->slot)->table];
        if (x->n_features++ == 0)
            x->feature = in->feature->name;
        x->used_rows +=
            data_rows < 0 ? x->table->rows : times(data_rows, ids_per_row(in->feature));
    }
    for (size_t i = 0; i < b->tables.n; i++) {
        struct train_budget_table *x = &b->tables.at[i];
        if (x->used_rows > x->table->rows)
            x->used_rows = x->table->rows;
        x->used = (int64_t)lookup_reach(m->lookup, x->number, x->used_rows);
        b->used += x->used;
        b->copied +=
            times(x->used_rows, embed_table_stride(x->table) * (int64_t)sizeof(float));
    }
}

/* Which rows were used since the last dump (embed/touched.h): of tables by key the ids that
 * occur, in a hash table that is at most half full and grows by doubling.
 */
static void add_dump(struct train_budget *b, const struct train_session *s)
{
    const struct pc_TrainConfig *t = s->conf->train_config;
    if (!t || !t->delta_embedding_dump_config)
        return;
    for (size_t i = 0; i < b->tables.n; i++) {
        const struct train_budget_table *x = &b->tables.at[i];
        b->dump += x->table->keyed.kind == KEYED_NONE
                       ? (x->table->rows + 63) / 64 * 8
                       : times(x->used_rows, 4 * (int64_t)sizeof(int64_t));
    }
}

static void add_dense(struct train_budget *b, const struct train_session *s)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    struct nn_state state = {0};
    for (size_t i = 0; i < n; i++) {
        b->n_params += params[i]->n;
        b->params += params[i]->n * (int64_t)sizeof(float);
        b->optimizer += params[i]->grad ? params[i]->n * (int64_t)sizeof(float) : 0;
    }
    if (s->optim)
        optim_save(s->optim, false, &state);
    if (s->ema)
        optim_ema_save(s->ema, "", &state);
    for (size_t i = 0; i < state.items.n; i++)
        b->optimizer += state.items.at[i].n * (int64_t)sizeof(float);
    nn_state_release(&state);
}

/* Activations with the longest sequences, and the batches that wait. */
static void add_batch(struct train_budget *b, const struct train_session *s)
{
    int64_t rows[AXES_MAX] = {0}, ids = 0;
    int64_t batch = s->conf->data_config ? s->conf->data_config->batch_size : 0;
    rows[AXIS_BATCH] = batch;
    for (size_t i = 0; i < s->model->axes.n; i++) {
        const struct model_axis *a = &s->model->axes.at[i];
        int64_t length = a->max_length ? a->max_length : a->leader->sequence_length;
        rows[a->axis] = times(batch, length ? length : SEQUENCE_GUESS);
    }
    b->activations = (int64_t)graph_plan_bytes(s->model->graph, rows);
    for (size_t i = 0; i < feature_plan_count(s->plan); i++)
        ids += times(batch, ids_per_row(feature_plan_info(s->plan, i)->conf));
    b->batches = times(ids, AHEAD * 2 * (int64_t)sizeof(int64_t));
}

static void add_up(struct train_budget *b)
{
    int64_t rest = b->params + b->optimizer + b->activations + b->batches + b->dump;
    int64_t dense_copy = b->params + b->optimizer;
    if (b->ranks > 1) /* rows are written from where they are */
        b->copied = 0;
    b->save = b->copied + dense_copy;
    b->most = (b->ranks > 1 ? 1 : 2) * (b->weights + b->state) + dense_copy + rest;
    b->expected = b->used + b->save + rest;
}

/* What a rank keeps of a table that takes so many bytes. */
static int64_t share_of(const struct train_budget_table *x, int64_t bytes, int rank,
                        int ranks)
{
    struct dist_owner o = dist_owner_of(x->table, x->number, ranks, NULL);
    if (dist_owner_share(&o, rank) <= 1)
        return dist_owner_share(&o, rank) * bytes;
    return bytes / ranks;
}

int64_t train_budget_of_rank(const struct train_budget *b, int rank, int ranks)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < b->tables.n; i++)
        bytes += share_of(&b->tables.at[i], b->tables.at[i].used, rank, ranks);
    return bytes;
}

void train_budget_spread(struct train_budget *b, int ranks)
{
    int most = 0;
    for (int r = 1; r < ranks; r++)
        if (train_budget_of_rank(b, r, ranks) > train_budget_of_rank(b, most, ranks))
            most = r;
    b->ranks = ranks;
    b->weights = b->state = b->used = 0;
    for (size_t i = 0; i < b->tables.n; i++) {
        struct train_budget_table *x = &b->tables.at[i];
        x->weights = share_of(x, x->weights, most, ranks);
        x->state = share_of(x, x->state, most, ranks);
        x->used = share_of(x, x->used, most, ranks);
        b->weights += x->weights;
        b->state += x->state;
        b->used += x->used;
    }
    add_up(b);
}

void train_budget_init(struct train_budget *b, const struct train_session *s,
                       int64_t data_rows)
{
    *b = (struct train_budget){.ranks = comm_world(s->options.comm)};
    add_tables(b, s->model->lookup);
    reach_rows(b, s->model, data_rows);
    add_dense(b, s);
    add_batch(b, s);
    add_dump(b, s);
    add_up(b);
}

void train_budget_release(struct train_budget *b)
{
    VEC_RELEASE(&b->tables);
}

static const struct train_budget_table *largest(const struct train_budget *b)
{
    const struct train_budget_table *x = NULL;
    for (size_t i = 0; i < b->tables.n; i++)
        if (!x || b->tables.at[i].used > x->used)
            x = &b->tables.at[i];
    return x;
}

/* The least number of ranks on which the tables fit; 0: none does. */
static int64_t enough_ranks(const struct train_budget *b, int64_t memory)
{
    int64_t room = memory - (b->expected - b->used - b->copied);
    return room > 0 ? times(b->used, b->ranks) / room + 1 : 0;
}

enum rc train_budget_check(const struct train_budget *b, int64_t memory, struct err *err)
{
    const struct train_budget_table *x = largest(b);
    char need[32], have[32], part[32];
    if (memory <= 0 || b->expected <= memory)
        return RC_OK;
    train_budget_text(b->expected, need);
    train_budget_text(memory, have);
    if (!x || x->used < b->activations)
        return err_coded(
            err, RC_NOMEM, E1408,
            "%s of memory are needed, %s may be used: activations take %s; a "
            "smaller data_config.batch_size or sequence_length helps",
            need, have, train_budget_text(b->activations, part));
    char ranks[64] = "";
    if (enough_ranks(b, memory))
        snprintf(ranks, sizeof(ranks), "; %jd ranks hold it",
                 (intmax_t)enough_ranks(b, memory));
    return err_coded(
        err, RC_NOMEM, E1408,
        "%s of memory are needed, %s may be used: the table of feature '%s' comes to use "
        "%jd rows of %jd, %s; fewer rows (hash_bucket_size, num_buckets), a smaller "
        "embedding_dim or an optimizer with less state (rowwise_adagrad_optimizer) "
        "help%s",
        need, have, x->feature ? x->feature : x->table->name, (intmax_t)x->used_rows,
        (intmax_t)x->table->dim, train_budget_text(x->used, part), ranks);
}
