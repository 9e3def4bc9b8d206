/* SPDX-License-Identifier: Apache-2.0 */
/* Turns tables and their uses into what the planner takes, with the memory that the dense
 * part and batches under way leave. For training the choice is narrowed to what the lookup
 * can do and memory is not looked at, so that all ranks come to the same placement without
 * a word to each other.
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

static unsigned kernels_of(const struct pc_ParameterConstraints *c)
{
    unsigned bits = 0;
    for (int64_t i = 0; i < c->n_compute_kernels; i++)
        bits |= 1u << dist_kernel_find(c->compute_kernels[i]);
    return bits & ~(1u << DIST_KERNELS); /* key_value is a kind of keyed table */
}

/* Of several features of one table the first that has limits counts. */
static void limit(struct dist_plan_table *t, const struct pc_ParameterConstraints *c)
{
    if (!c || t->keyed)
        return;
    t->kinds = t->kinds ? t->kinds : kinds_of(c);
    t->kernels = t->kernels ? t->kernels : kernels_of(c);
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

static void add_uses(struct train_placement *p, const struct train_session *s)
{
    const struct model *m = s->model;
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        if (in->slot < 0)
            continue;
        struct dist_plan_table *t =
            &p->tables.at[lookup_slot(m->lookup, in->slot)->table];
        t->inputs++;
        t->sequence = t->sequence || in->feature->sequence;
        t->weighted = t->weighted || (in->feature->weighted && !in->unweighted);
        limit(t, in->feature->embedding_constraints);
    }
    for (size_t i = 0; i < p->tables.n; i++)
        limit(&p->tables.at[i], s->conf->train_config->global_embedding_constraints);
}

/* Rows of a batch, with those that a sampler adds. */
static double batch_of(const struct train_session *s)
{
    struct sampler_conf sampler;
    double n = s->conf->data_config->batch_size;
    if (train_source_sampler(s->conf->data_config, SOURCE_TRAIN, 0,
                             (struct train_source_share){0}, &sampler))
        n += (double)sampler.num_sample;
    return n;
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
    add_uses(out, s);
    t->host_bytes = room_for_tables(out, s, conf);
    return dist_plan_make(t, out->tables.at, (int)out->tables.n, &out->plan, err);
}

void train_placement_release(struct train_placement *p)
{
    dist_plan_release(&p->plan);
    VEC_RELEASE(&p->tables);
}

/* Where the planner puts a table whose kind the lookup can do. */
static struct dist_place place_of(const struct dist_plan_option *o, int local)
{
    if (o->kind == DIST_TABLE_WISE)
        return (struct dist_place){.first = o->shards[0].rank, .n = 1};
    return (struct dist_place){.first = o->shards[0].rank, .n = local};
}

/* All ranks may keep rows anyway, or a kind that spreads them is allowed. */
static bool is_free(const struct dist_plan_table *t)
{
    return t->keyed || !t->kinds || t->kinds & 1u << DIST_ROW_WISE;
}

static bool can_keep(const struct dist_plan_table *t)
{
    return t->kinds & (1u << DIST_TABLE_WISE | 1u << DIST_TABLE_ROW_WISE);
}

/* The planner may choose among what the lookup can do. */
static bool narrow(struct train_placement *p, const char **unmet)
{
    bool any = false;
    for (size_t i = 0; i < p->tables.n; i++) {
        struct dist_plan_table *t = &p->tables.at[i];
        if (!is_free(t) && !can_keep(t))
            *unmet = t->name;
        if (is_free(t) || !can_keep(t)) {
            t->kinds = 1u << DIST_ROW_WISE;
            continue;
        }
        t->kinds &= 1u << DIST_TABLE_WISE | 1u << DIST_TABLE_ROW_WISE;
        any = true;
    }
    return any;
}

enum rc train_placement_apply(struct train_session *s, const char **unmet,
                              struct err *err)
{
    int world = comm_world(s->options.comm);
    int local =
        s->options.local > 0 && world % s->options.local == 0 ? s->options.local : world;
    struct train_placement p = {.topology = dist_topology_of(world, local, batch_of(s))};
    enum rc rc = RC_OK;
    *unmet = NULL;
    p.topology.host_bytes = (double)PLENTY;
    add_tables(&p, s->model->lookup);
    add_uses(&p, s);
    if (world > 1 && narrow(&p, unmet))
        rc = dist_plan_make(&p.topology, p.tables.at, (int)p.tables.n, &p.plan, err);
    for (int i = 0; i < p.plan.n && !rc; i++)
        if (p.plan.at[i].kind != DIST_ROW_WISE)
            dist_sharded_place(s->model->lookup, i, place_of(&p.plan.at[i], local));
    train_placement_release(&p);
    return rc;
}
