/* SPDX-License-Identifier: Apache-2.0 */
/* Turns tables and their uses into what the planner takes, with the memory that the dense
 * part and batches under way leave. For training tables without limits are spread over
 * all ranks and memory is not looked at, so that all ranks come to the same placement
 * without a word to each other.
 */
#include "train/placement.h"

#include <math.h>

#include "comm/comm.h"
#include "dist/sharded.h"
#include "train/source.h"

#define DENSE_COPIES 6  /* parameters, gradients, states, and what gathers them */
#define INPUT_COPIES 20 /* batches under way */
#define ID 8
#define PLENTY ((int64_t)1 << 60) /* bytes: the same on all ranks */

static unsigned kinds_of(const struct pc_ParameterConstraints *c)
{
    unsigned bits = 0;
    for (int64_t i = 0; i < c->n_sharding_types; i++)
        bits |= 1u << dist_kind_find(c->sharding_types[i]);
    return bits;
}

/* Of several features of one table the first that has limits counts. */
static void limit(struct dist_plan_table *t, const struct pc_ParameterConstraints *c)
{
    if (!c || t->keyed)
        return;
    t->kinds = t->kinds ? t->kinds : kinds_of(c);
}

static void add_tables(struct train_placement *p, const struct lookup *l)
{
    for (int i = 0; i < lookup_n_tables(l); i++) {
        const struct embed_table_conf *c = lookup_table(l, i);
        double element = c->type == DT_F32 ? 4 : 2;
        double state = (double)(embed_table_stride(c) - embed_table_state_at(c)) * 4;
        VEC_PUSH(&p->tables,
                 ((struct dist_plan_table){.name = c->name,
                                           .rows = c->rows,
                                           .dim = c->dim,
                                           .element = element,
                                           .pooling = 1,
                                           .state = state / ((double)c->dim * element),
                                           .keyed = c->keyed.kind != KEYED_NONE}));
    }
}

/* Limits of features count before those of an earlier plan, these before the model's. */
static void add_uses(struct train_placement *p, const struct train_session *s,
                     const struct train_pins *pins)
{
    const struct model *m = s->model;
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        if (in->slot < 0 || in->dense)
            continue;
        struct dist_plan_table *t =
            &p->tables.at[lookup_slot(m->lookup, in->slot)->table];
        t->inputs++;
        t->sequence = t->sequence || in->feature->sequence;
        t->weighted = t->weighted || (in->feature->weighted && !in->unweighted);
        limit(t, in->feature->embedding_constraints);
    }
    for (size_t i = 0; i < p->tables.n; i++) {
        struct dist_plan_table *t = &p->tables.at[i];
        enum dist_kind pin = train_pins_find(pins, t->name);
        if (!t->kinds && !t->keyed && pin != DIST_KINDS)
            t->kinds = 1u << pin;
        limit(t, s->conf->train_config->global_embedding_constraints);
    }
}

/* Rows of a batch, with those that a sampler adds. */
static double batch_of(const struct train_session *s)
{
    struct pc_sampler sampler = pc_sampler_of(s->conf->data_config);
    return (double)s->conf->data_config->batch_size + (double)sampler.num_sample;
}

/* Without what the dense part and batches under way take. */
static double room_for_tables(const struct train_placement *p,
                              const struct train_session *s,
                              const struct train_placement_conf *c)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    double dense = 0, ids = 0;
    for (size_t i = 0; i < n; i++)
        dense += (double)params[i]->n * sizeof(float) *
                 (params[i]->trainable ? DENSE_COPIES : 1);
    for (size_t i = 0; i < p->tables.n; i++)
        ids += p->topology.batch * p->tables.at[i].pooling * ID;
    double room = (double)c->memory * (1 - c->reserve) - dense - INPUT_COPIES * ceil(ids);
    return room > 0 ? room : 0;
}

enum rc train_placement_make(struct train_placement *out, const struct train_session *s,
                             const struct train_placement_conf *conf, struct err *err)
{
    *out = (struct train_placement){
        .topology =
            dist_topology_of(conf->ranks, conf->ranks / conf->hosts, batch_of(s))};
    struct dist_topology *t = &out->topology;
    if (conf->intra > 0)
        t->intra = conf->intra;
    if (conf->cross > 0)
        t->cross = conf->cross;
    if (conf->bins > 0)
        t->host_bins = conf->bins;
    add_tables(out, s->model->lookup);
    add_uses(out, s, NULL);
    t->host_bytes = room_for_tables(out, s, conf);
    return dist_plan_make(t, out->tables.at, (int)out->tables.n, &out->plan, err);
}

void train_placement_release(struct train_placement *p)
{
    dist_plan_release(&p->plan);
    VEC_RELEASE(&p->tables);
}

/* --- of a training --- */

#define BIT(kind) (1u << (kind))
#define CUT_COLUMNS (BIT(DIST_COLUMN_WISE) | BIT(DIST_TABLE_COLUMN_WISE) | BIT(DIST_GRID))

/* Where the planner puts the parts of a table; 0: its rows lie on all ranks. */
static int parts_of(const struct dist_plan_option *o, int local, struct dist_part *out)
{
    int step = o->kind == DIST_GRID ? local : 1, n = 0;
    struct dist_place place = {.n = step};
    if (o->kind == DIST_ROW_WISE)
        return 0;
    if (o->kind == DIST_DATA_PARALLEL || o->kind == DIST_TABLE_ROW_WISE) {
        out[0] = (struct dist_part){.place.copies = o->kind == DIST_DATA_PARALLEL};
        if (o->kind == DIST_TABLE_ROW_WISE)
            out[0].place = (struct dist_place){.first = o->shards[0].rank, .n = local};
        return 1;
    }
    for (int i = 0; i < o->n; i += step) {
        place.first = o->shards[i].rank;
        out[n] = (struct dist_part){
            .place = place, .col = n * o->shards[i].cols, .dim = o->shards[i].cols};
        n++;
    }
    return n;
}

static enum rc place_table(struct lookup *l, int table, const struct dist_plan_option *o,
                           int local, struct err *err)
{
    struct dist_part parts[EMBED_DIM_MAX];
    int n = parts_of(o, local, parts);
    return n ? dist_sharded_place(l, table, parts, n, err) : RC_OK;
}

/* Columns are cut only where each weight moves for itself: a rule that looks at the whole
 * row would give other values. The row stays whole then.
 */
static void keep_rows_whole(struct dist_plan_table *t)
{
    unsigned kinds = t->kinds & ~CUT_COLUMNS;
    if (!kinds && t->kinds & (BIT(DIST_COLUMN_WISE) | BIT(DIST_TABLE_COLUMN_WISE)))
        kinds = BIT(DIST_TABLE_WISE);
    t->kinds = kinds ? kinds : BIT(DIST_ROW_WISE);
}

/* Tables without limits are spread over all ranks. */
static void narrow(struct train_placement *p, const struct lookup *l, const char **whole)
{
    for (size_t i = 0; i < p->tables.n; i++) {
        struct dist_plan_table *t = &p->tables.at[i];
        const struct embed_table_conf *c = lookup_table(l, (int)i);
        if (t->keyed || !t->kinds || t->kinds & BIT(DIST_ROW_WISE)) {
            t->kinds = BIT(DIST_ROW_WISE);
            continue;
        }
        if (!(t->kinds & CUT_COLUMNS) || embed_row_opt_each(c->opt.kind))
            continue;
        if (!(t->kinds & ~CUT_COLUMNS))
            *whole = t->name;
        keep_rows_whole(t);
    }
}

enum rc train_placement_apply(struct train_session *s, const struct train_pins *pins,
                              struct train_placement *p, const char **whole,
                              struct err *err)
{
    struct lookup *l = s->model->lookup;
    int world = comm_world(s->options.comm);
    int local =
        s->options.local > 0 && world % s->options.local == 0 ? s->options.local : world;
    *p =
        (struct train_placement){.topology = dist_topology_of(world, local, batch_of(s))};
    *whole = NULL;
    p->topology.host_bytes = (double)PLENTY;
    add_tables(p, l);
    add_uses(p, s, pins);
    narrow(p, l, whole);
    enum rc rc =
        dist_plan_make(&p->topology, p->tables.at, (int)p->tables.n, &p->plan, err);
    for (int i = 0; i < p->plan.n && !rc; i++)
        rc = place_table(l, i, &p->plan.at[i], local, err);
    return rc;
}
