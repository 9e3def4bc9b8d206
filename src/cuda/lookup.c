/* SPDX-License-Identifier: Apache-2.0 */
/* The card's lookup: vectors and gradients never leave it. Tables of numbered rows in f32 lie
 * in its memory (lookup_tables.c); the others (dynamic ones, 16 bits, in files) stay with the
 * host's lookup, whose vectors are copied into their columns of the outputs, and the gradients
 * back. What follows from ids alone happens on a stream of its own (lookup_batch.c); reading and
 * updating rows happens in the order of the graph.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/lookup_private.h"

enum { OUTPUTS, GRADS };

static struct cuda_lookup *card(struct lookup *l)
{
    return (struct cuda_lookup *)l;
}

static const struct cuda_lookup *card_of(const struct lookup *l)
{
    return (const struct cuda_lookup *)l;
}

static void card_destroy(struct lookup *lookup)
{
    struct cuda_lookup *l = card(lookup);
    cudaDeviceSynchronize();
    for (size_t i = 0; i < l->uses.n; i++) {
        mem_free(l->uses.at[i]->feature);
        mem_free(l->uses.at[i]);
    }
    for (size_t i = 0; i < l->works.n; i++)
        cuda_work_release(&l->works.at[i]);
    for (size_t i = 0; i < l->host_rooms.n; i++)
        cuda_room_release(&l->host_rooms.at[i], true);
    for (int i = 0; i < CUDA_SIDES; i++) {
        struct CUevent_st *events[] = {l->copied[i], l->sorted[i], l->done[i]};
        for (size_t k = 0; k < ARRAY_LEN(events); k++)
            if (events[k])
                cudaEventDestroy(events[k]);
    }
    if (l->ids)
        cudaStreamDestroy(l->ids);
    if (l->shared)
        lookup_destroy(l->host);
    else
        cuda_tables_release(l->tables);
    VEC_RELEASE(&l->uses);
    VEC_RELEASE(&l->works);
    VEC_RELEASE(&l->pieces);
    VEC_RELEASE(&l->host_uses);
    VEC_RELEASE(&l->host_ids);
    VEC_RELEASE(&l->host_views);
    VEC_RELEASE(&l->host_rooms);
    mem_free(l);
}

static enum rc open_queue(struct cuda_lookup *l, struct err *err)
{
    int code = (int)cudaStreamCreateWithFlags(&l->ids, cudaStreamNonBlocking);
    for (int i = 0; i < CUDA_SIDES; i++) {
        struct CUevent_st **events[] = {&l->copied[i], &l->sorted[i], &l->done[i]};
        for (size_t k = 0; k < ARRAY_LEN(events) && !code; k++)
            code = (int)cudaEventCreateWithFlags(events[k], cudaEventDisableTiming);
    }
    if (!code)
        return RC_OK;
    return err_coded(err, RC_IO, E2603, "%s: %s", l->cuda->name,
                     cudaGetErrorString((cudaError_t)code));
}

static enum rc card_create(const struct lookup_conf *conf, struct lookup **out,
                           struct err *err)
{
    struct cuda_lookup *l = mem_calloc(1, sizeof(*l));
    struct lookup_conf host = {.pool = conf->pool};
    l->lookup.ops = &cuda_lookup_ops;
    l->cuda = cuda_of(conf->device);
    l->pool = conf->pool;
    l->tables = mem_calloc(1, sizeof(*l->tables));
    l->tables->device = conf->device;
    enum rc rc = lookup_create(&lookup_local_ops, &host, &l->tables->host, err);
    l->host = l->tables->host;
    if (!rc)
        rc = open_queue(l, err);
    if (rc)
        card_destroy(&l->lookup);
    else
        *out = &l->lookup;
    return rc;
}

static int card_add_table(struct lookup *lookup, const struct embed_table_conf *conf,
                          struct err *err)
{
    struct cuda_lookup *l = card(lookup);
    int n = lookup_add_table(l->host, conf, err);
    if (n < 0 || (size_t)n < l->tables->homes.n)
        return n;
    cuda_tables_add(l->tables, conf);
    if (l->tables->groups.n > l->works.n)
        VEC_PUSH(&l->works, (struct cuda_work){0});
    return n;
}

static int first_like(const struct cuda_lookup *l, const struct embed_slot_conf *conf)
{
    for (size_t i = 0; i < l->uses.n; i++) {
        const struct cuda_use *u = l->uses.at[i];
        if (u->conf.table == conf->table && u->conf.pooling == conf->pooling &&
            strcmp(u->feature, conf->feature) == 0)
            return (int)i;
    }
    return (int)l->uses.n;
}

/* A slot of the host's lookup has an output for itself. */
static int add_host_slot(struct cuda_lookup *l, const struct embed_slot_conf *conf,
                         struct err *err)
{
    struct embed_slot_conf own = *conf;
    own.output = (int)l->host_uses.n;
    own.col = 0;
    VEC_PUSH(&l->host_uses, (int)l->uses.n);
    VEC_PUSH(&l->host_ids, (struct embed_slot_ids){0});
    VEC_PUSH(&l->host_views, (struct view){0});
    VEC_PUSH(&l->host_rooms, (struct cuda_room){0});
    return lookup_add_slot(l->host, &own, err);
}

static int card_add_slot(struct lookup *lookup, const struct embed_slot_conf *conf,
                         struct err *err)
{
    struct cuda_lookup *l = card(lookup);
    const struct cuda_home *home = &l->tables->homes.at[conf->table];
    struct cuda_use *u = mem_calloc(1, sizeof(*u));
    *u = (struct cuda_use){.conf = *conf,
                           .feature = mem_strdup(conf->feature),
                           .first = first_like(l, conf),
                           .host_slot = -1,
                           .group = home->group,
                           .base = home->base,
                           .rows = lookup_table(l->host, conf->table)->rows};
    u->conf.feature = u->feature;
    if (u->group < 0)
        u->host_slot = add_host_slot(l, conf, err);
    else
        u->at = (int)l->works.at[u->group].uses.n;
    if (u->group >= 0)
        VEC_PUSH(&l->works.at[u->group].uses, (int)l->uses.n);
    VEC_PUSH(&l->uses, u);
    return u->group < 0 && u->host_slot < 0 ? -1 : (int)l->uses.n - 1;
}

static int card_n_tables(const struct lookup *l)
{
    return lookup_n_tables(card_of(l)->host);
}

static int card_n_slots(const struct lookup *l)
{
    return (int)card_of(l)->uses.n;
}

static const struct embed_table_conf *card_table(const struct lookup *l, int table)
{
    return lookup_table(card_of(l)->host, table);
}

static const struct embed_slot_conf *card_slot(const struct lookup *l, int slot)
{
    return &card_of(l)->uses.at[slot]->conf;
}

static enum rc card_share(struct lookup *lookup, const struct lookup *with,
                          struct err *err)
{
    struct cuda_lookup *l = card(lookup);
    enum rc rc = lookup_share(l->host, card_of(with)->host, err);
    if (rc)
        return rc;
    l->tables->host =
        NULL; /* it goes on with its slots, and with the tables of the other */
    cuda_tables_release(l->tables);
    l->tables = card_of(with)->tables;
    l->shared = true;
    return RC_OK;
}

static enum rc card_finish(struct lookup *l, struct err *err)
{
    return cuda_tables_settle(card(l)->tables, err);
}

static const char *card_by_host(const struct lookup *l, int table)
{
    const struct cuda_tables *t = card_of(l)->tables;
    if (t->homes.at[table].group >= 0)
        return NULL;
    const char *why = cuda_tables_refuse(lookup_table(t->host, table));
    return why ? why : "in a file"; /* its conf has no directory any more */
}

static enum rc card_prepare(struct lookup *lookup, const struct embed_slot_ids *ids,
                            bool training, struct err *err)
{
    struct cuda_lookup *l = card(lookup);
    enum rc rc = cuda_tables_settle(l->tables, err);
    if (!rc)
        rc = cuda_lookup_batch(l, ids, training, err);
    for (size_t i = 0; training && !rc && i < l->tables->homes.n; i++)
        l->tables->homes.at[i].stale = true;
    return rc;
}

/* --- outputs and gradients --- */

static struct view columns_of(const struct cuda_lookup *l, const struct cuda_use *u,
                              const struct view *given)
{
    int64_t dim = lookup_table(l->host, u->conf.table)->dim;
    return given->data ? view_cols(given, u->conf.col, dim) : (struct view){0};
}

static bool is_aligned(const struct view *v)
{
    return (uintptr_t)v->data % 16 == 0 && v->ld % 4 == 0;
}

/* What the kernels need to know of views. */
struct seen {
    bool aligned; /* all of them, and rows of tables */
    bool all;     /* every slot has one */
};

/* The views of a group's slots are the card's; as a rule they are those of the batch before.
 */
static enum rc give_views(struct cuda_lookup *l, int group, int which,
                          const struct view *given, struct seen *seen, struct err *err)
{
    struct cuda_work *w = &l->works.at[group];
    const struct cuda_table *t = &l->tables->groups.at[group].rows;
    size_t bytes = w->uses.n * sizeof(struct cuda_slot_view);
    bool grown = bytes > w->views[which].bytes;
    *seen = (struct seen){t->dim % 4 == 0 && t->stride % 4 == 0, true};
    if (!cuda_room_host(&w->staged_views[which], bytes) ||
        !cuda_room_card(&w->views[which], bytes))
        return err_set(err, RC_NOMEM, "%s has no memory for views", l->cuda->name);
    struct cuda_slot_view *views = w->staged_views[which].at;
    bool changed = grown;
    for (size_t i = 0; i < w->uses.n; i++) {
        const struct cuda_use *u = l->uses.at[w->uses.at[i]];
        struct view v = columns_of(l, u, &given[u->conf.output]);
        struct cuda_slot_view now = {v.data, v.ld,
                                     which == GRADS ? u->conf.max_gradient : 0};
        seen->aligned = seen->aligned && is_aligned(&v);
        seen->all = seen->all && v.data;
        changed |=
            views[i].at != now.at || views[i].ld != now.ld || views[i].most != now.most;
        views[i] = now;
    }
    if (changed)
        cuda_note(l->cuda, (int)cudaMemcpyAsync(w->views[which].at, views, bytes,
                                                cudaMemcpyHostToDevice, l->cuda->stream));
    return RC_OK;
}

/* The host's memory for the vectors or gradients of its slots. */
static enum rc reserve_host(struct cuda_lookup *l, struct err *err)
{
    for (size_t i = 0; i < l->host_uses.n; i++) {
        const struct cuda_use *u = l->uses.at[l->host_uses.at[i]];
        int64_t dim = lookup_table(l->host, u->conf.table)->dim;
        size_t bytes = (size_t)(u->ids.rows * dim + 1) * sizeof(float);
        if (!cuda_room_host(&l->host_rooms.at[i], bytes))
            return err_set(err, RC_NOMEM, "no memory for %jd vectors",
                           (intmax_t)u->ids.rows);
        l->host_views.at[i] = view_of(l->host_rooms.at[i].at, u->ids.rows, dim);
    }
    return RC_OK;
}

static void copy_view(struct cuda_lookup *l, const struct view *to,
                      const struct view *from, enum cudaMemcpyKind way)
{
    if (to->rows && to->data && from->data)
        cuda_note(l->cuda,
                  (int)cudaMemcpy2DAsync(to->data, (size_t)to->ld * sizeof(float),
                                         from->data, (size_t)from->ld * sizeof(float),
                                         (size_t)to->width * sizeof(float),
                                         (size_t)to->rows, way, l->cuda->stream));
}

static enum rc forward_host(struct cuda_lookup *l, const struct view *outputs,
                            struct err *err)
{
    if (l->host_uses.n == 0)
        return RC_OK;
    enum rc rc = reserve_host(l, err);
    if (!rc)
        rc = lookup_forward(l->host, l->host_views.at, err);
    for (size_t i = 0; i < l->host_uses.n && !rc; i++) {
        const struct cuda_use *u = l->uses.at[l->host_uses.at[i]];
        struct view to = columns_of(l, u, &outputs[u->conf.output]);
        to.rows = u->ids.rows;
        copy_view(l, &to, &l->host_views.at[i], cudaMemcpyHostToDevice);
    }
    return rc;
}

static enum rc card_forward(struct lookup *lookup, const struct view *outputs,
                            struct err *err)
{
    struct cuda_lookup *l = card(lookup);
    cuda_stream s = l->cuda->stream;
    enum rc rc = RC_OK;
    cuda_note(l->cuda, (int)cudaStreamWaitEvent(s, l->copied[l->side], 0));
    for (size_t i = 0; i < l->works.n && !rc; i++) {
        struct cuda_work *w = &l->works.at[i];
        struct seen seen;
        rc = give_views(l, (int)i, OUTPUTS, outputs, &seen, err);
        if (!rc)
            cuda_gather(s, l->tables->groups.at[i].rows, w->now->batch,
                        w->views[OUTPUTS].at, seen.aligned);
    }
    cuda_note(l->cuda, (int)cudaEventRecord(l->done[l->side], s));
    return rc ? rc : forward_host(l, outputs, err);
}

static struct cuda_row_rule rule_at(const struct embed_row_opt *o,
                                    const struct embed_row_step *step)
{
    struct embed_row_rule r = embed_row_rule_at(o, step);
    return (struct cuda_row_rule){.kind = (enum cuda_row_kind)o->kind,
                                  .lr = r.lr,
                                  .beta1 = o->beta1,
                                  .beta2 = o->beta2,
                                  .eps = o->eps,
                                  .weight_decay = o->weight_decay,
                                  .momentum = o->momentum,
                                  .rho = o->rho,
                                  .alpha = o->alpha,
                                  .l2 = o->decay_mode == DECAY_L2,
                                  .decouple = o->decay_mode == DECAY_DECOUPLE,
                                  .correct1 = r.correct1,
                                  .correct2 = r.correct2};
}

static enum rc update_host(struct cuda_lookup *l, const struct view *grads,
                           const struct embed_row_step *step, struct err *err)
{
    if (l->host_uses.n == 0)
        return RC_OK;
    enum rc rc = reserve_host(l, err);
    for (size_t i = 0; i < l->host_uses.n && !rc; i++) {
        const struct cuda_use *u = l->uses.at[l->host_uses.at[i]];
        struct view from = columns_of(l, u, &grads[u->conf.output]);
        if (!from.data)
            l->host_views.at[i].data = NULL;
        copy_view(l, &l->host_views.at[i], &from, cudaMemcpyDeviceToHost);
    }
    cuda_note(l->cuda, (int)cudaStreamSynchronize(l->cuda->stream));
    return rc ? rc : lookup_update(l->host, l->host_views.at, step, err);
}

static enum rc card_update(struct lookup *lookup, const struct view *grads,
                           const struct embed_row_step *step, struct err *err)
{
    struct cuda_lookup *l = card(lookup);
    cuda_stream s = l->cuda->stream;
    enum rc rc = RC_OK;
    cuda_note(l->cuda, (int)cudaStreamWaitEvent(s, l->sorted[l->side], 0));
    for (size_t i = 0; i < l->works.n && !rc; i++) {
        struct cuda_work *w = &l->works.at[i];
        const struct cuda_group *g = &l->tables->groups.at[i];
        struct seen seen;
        if (!g->trainable)
            continue;
        rc = give_views(l, (int)i, GRADS, grads, &seen, err);
        if (!rc)
            cuda_rows_update(s, g->rows, w->now->batch, w->now->sorted,
                             w->views[GRADS].at, rule_at(&g->opt, step), seen.aligned,
                             seen.all);
    }
    cuda_note(l->cuda, (int)cudaEventRecord(l->done[l->side], s));
    return rc ? rc : update_host(l, grads, step, err);
}

/* --- rows --- */

static enum rc card_snapshot(struct lookup *lookup, int table, bool whole,
                             struct lookup_snapshot **out, struct err *err)
{
    struct cuda_tables *t = card(lookup)->tables;
    enum rc rc = cuda_tables_pull(t, table, err);
    return rc ? rc : lookup_snapshot(t->host, table, whole, out, err);
}

static enum rc card_restore(struct lookup *lookup, int table,
                            const struct lookup_image *image, struct err *err)
{
    struct cuda_tables *t = card(lookup)->tables;
    enum rc rc = cuda_tables_pull(t, table, err);
    if (!rc)
        rc = lookup_restore(t->host, table, image, err);
    return rc ? rc : cuda_tables_push(t, table, err);
}

static bool card_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    const struct cuda_tables *t = card_of(l)->tables;
    return t->homes.at[table].group < 0 ? lookup_peek(t->host, table, id, out)
                                        : cuda_tables_peek(t, table, id, out);
}

static enum rc card_track(struct lookup *l, struct err *err)
{
    return cuda_tables_track(card(l)->tables, err);
}

static bool card_tracks(const struct lookup *l, int table)
{
    return lookup_tracks(card_of(l)->tables->host, table);
}

static enum rc card_touched(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                            struct err *err)
{
    struct cuda_tables *t = card_of(l)->tables;
    enum rc rc = cuda_tables_pull(t, table, err);
    return rc ? rc : lookup_touched(t->host, table, ids, n, err);
}

static void card_forget_touched(struct lookup *l)
{
    cuda_tables_forget(card(l)->tables);
}

static void card_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    lookup_memory(card_of(l)->tables->host, table, out);
}

static size_t card_reach(const struct lookup *l, int table, int64_t rows)
{
    return lookup_reach(card_of(l)->tables->host, table, rows);
}

const struct lookup_ops cuda_lookup_ops = {
    .name = "cuda",
    .summary = "tables in the memory of an NVIDIA card",
    .on_device = true,
    .create = card_create,
    .destroy = card_destroy,
    .add_table = card_add_table,
    .add_slot = card_add_slot,
    .n_tables = card_n_tables,
    .n_slots = card_n_slots,
    .table = card_table,
    .slot = card_slot,
    .share = card_share,
    .finish = card_finish,
    .by_host = card_by_host,
    .prepare = card_prepare,
    .forward = card_forward,
    .update = card_update,
    .snapshot = card_snapshot,
    .restore = card_restore,
    .peek = card_peek,
    .track = card_track,
    .tracks = card_tracks,
    .touched = card_touched,
    .forget_touched = card_forget_touched,
    .memory = card_memory,
    .reach = card_reach,
};
