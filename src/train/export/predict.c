/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of batches. A thread takes the next ticket together with the rows that belong to
 * it, so tickets follow the input; the caller's thread takes the results out by ticket
 * and writes them. The first failure in the order of the rows is the one that is
 * reported. Of several ranks every one reads all rows, which is cheap against scoring them,
 * and takes those of its own parts.
 */
#include "train/export/predict.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "nn/onnx.h"
#include "train/export/predict_private.h"
#include "train/outside.h"

#define SLOTS_PER_THREAD 3

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_READY };

struct pslot {
    enum slot_state state;     /* guarded by ring.lock */
    struct data_schema schema; /* of the rows */
    int64_t file;              /* whose schema it is; -1: none yet */
    struct batch rows, out;
    struct train_predict_place behind;
    int64_t part;             /* of the output, that its rows go to */
    bool ends;                /* that part */
    struct train_where where; /* its rows */
    struct train_outside outside;
    int64_t nulls; /* rows with an output that is not finite */
    enum rc rc;
    struct err err;
    bool unread; /* its rows could not be read; the message says where */
};

struct ring {
    struct train_predict_input *in; /* used under read_lock */
    const struct train_predict_columns *columns;
    pthread_mutex_t read_lock;          /* taken before `lock` */
    int64_t next;                       /* ticket; read_lock */
    int64_t most;                       /* batches; 0: all */
    struct train_predict_dealer dealer; /* read_lock */
    pthread_mutex_t lock;
    pthread_cond_t moved; /* a slot changed its state, or `end`, `stop` */
    int64_t end;          /* tickets in all, once known; else -1 */
    bool stop;
    struct pslot *slots;
    int64_t n_slots;
    int64_t nulls;                /* in rows that were written */
    struct train_outside outside; /* likewise */
};

struct worker {
    struct ring *ring;
    struct train_scorer *scorer;
    pthread_t thread;
    bool started;
};

static void set_state(struct ring *r, struct pslot *s, enum slot_state state)
{
    pthread_mutex_lock(&r->lock);
    s->state = state;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until the slot is free; false when the run is over. */
static bool wait_free(struct ring *r, struct pslot *s)
{
    pthread_mutex_lock(&r->lock);
    while (s->state != SLOT_FREE && !r->stop)
        pthread_cond_wait(&r->moved, &r->lock);
    bool go = !r->stop;
    if (go)
        s->state = SLOT_BUSY;
    pthread_mutex_unlock(&r->lock);
    return go;
}

static void set_end(struct ring *r, struct pslot *s)
{
    pthread_mutex_lock(&r->lock);
    r->end = r->next;
    s->state = SLOT_FREE;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
}

/* The next rows of this rank; none at the end. */
static enum rc read_own(struct ring *r, struct pslot *s)
{
    do {
        if (r->most && r->dealer.seen == r->most) {
            s->rows.n = 0;
            return RC_OK;
        }
        enum rc rc =
            train_predict_input_next(r->in, &s->schema, &s->file, &s->rows, &s->err);
        if (rc || s->rows.n == 0)
            return rc;
    } while (!train_predict_deal(&r->dealer, s->rows.n, &s->part, &s->ends));
    return RC_OK;
}

/* The rows of the next ticket, under read_lock; NULL at the end. */
static struct pslot *take_rows(struct ring *r)
{
    struct pslot *s = &r->slots[r->next % r->n_slots];
    if (r->end >= 0 || !wait_free(r, s))
        return NULL;
    s->err = (struct err){0};
    s->rc = read_own(r, s);
    if (!s->rc && s->rows.n == 0) {
        set_end(r, s);
        return NULL;
    }
    s->unread = s->rc != RC_OK;
    s->behind = r->in->place;
    if (!s->rc)
        train_predict_input_where(r->in, s->rows.n, &s->where);
    r->next++;
    if (s->rc) { /* nothing can be read behind it */
        pthread_mutex_lock(&r->lock);
        r->end = r->next;
        pthread_mutex_unlock(&r->lock);
    }
    return s;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct ring *r = w->ring;
    for (;;) {
        pthread_mutex_lock(&r->read_lock);
        struct pslot *s = take_rows(r);
        pthread_mutex_unlock(&r->read_lock);
        if (!s)
            return NULL;
        if (!s->rc)
            s->rc = train_scorer_run(w->scorer, &s->rows, &s->err);
        if (!s->rc)
            train_outside_add(&s->outside, w->scorer->session->plan, w->scorer->features,
                              &s->where);
        if (!s->rc)
            s->rc = train_predict_columns_fill(r->columns, w->scorer, &s->rows, &s->out,
                                               &s->nulls, &s->err);
        set_state(r, s, SLOT_READY);
    }
}

/* The result of a ticket; NULL when there is none any more. */
static struct pslot *wait_ready(struct ring *r, int64_t ticket)
{
    struct pslot *s = &r->slots[ticket % r->n_slots];
    pthread_mutex_lock(&r->lock);
    while (s->state != SLOT_READY && (r->end < 0 || ticket < r->end))
        pthread_cond_wait(&r->moved, &r->lock);
    if (s->state != SLOT_READY)
        s = NULL;
    pthread_mutex_unlock(&r->lock);
    return s;
}

static enum rc write_all(struct ring *r, struct train_predict_output *out,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t ticket = 0; !rc; ticket++) {
        struct pslot *s = wait_ready(r, ticket);
        if (!s)
            break;
        rc = s->rc;
        if (rc) {
            *err = s->err;
            if (!s->unread && !train_where_name(&s->where, err))
                err_wrap(err, rc, "%s: the batch that ends with row %jd",
                         r->in->files.at[s->behind.file], (intmax_t)s->behind.at.row);
        } else {
            rc =
                train_predict_output_add(out,
                                         &(struct train_predict_rows){.rows = &s->out,
                                                                      .behind = s->behind,
                                                                      .part = s->part,
                                                                      .ends = s->ends},
                                         err);
            r->nulls += s->nulls;
            train_outside_merge(&r->outside, &s->outside);
        }
        train_predict_columns_clear(r->columns, &s->out);
        set_state(r, s, SLOT_FREE);
    }
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->moved);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static void ring_init(struct ring *r, int64_t threads)
{
    pthread_mutex_init(&r->read_lock, NULL);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->moved, NULL);
    r->end = -1;
    r->n_slots = threads * SLOTS_PER_THREAD;
    r->slots = mem_calloc((size_t)r->n_slots, sizeof(*r->slots));
    for (int64_t i = 0; i < r->n_slots; i++) {
        r->slots[i].file = -1;
        train_predict_columns_batch(r->columns, &r->slots[i].out);
    }
}

static void ring_release(struct ring *r)
{
    for (int64_t i = 0; i < r->n_slots; i++) {
        struct pslot *s = &r->slots[i];
        train_predict_columns_clear(r->columns, &s->out);
        batch_release(&s->out);
        batch_release(&s->rows);
        train_where_release(&s->where);
        train_outside_release(&s->outside);
        data_schema_release(&s->schema);
    }
    mem_free(r->slots);
    pthread_cond_destroy(&r->moved);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->read_lock);
}

static enum rc run_threads(struct ring *r, struct train_session *s, int64_t threads,
                           struct train_predict_output *out, struct err *err)
{
    struct worker *workers = mem_calloc((size_t)threads, sizeof(*workers));
    enum rc rc = RC_OK;
    ring_init(r, threads);
    for (int64_t i = 0; i < threads && !rc; i++) {
        workers[i].ring = r;
        rc = train_scorer_create(s, threads > 1, &workers[i].scorer, err);
    }
    for (int64_t i = 0; i < threads && !rc; i++) {
        int failed = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        workers[i].started = failed == 0;
        if (failed && i == 0)
            rc = err_sys(err, failed, "cannot start a thread");
    }
    if (!rc)
        rc = write_all(r, out, err);
    for (int64_t i = 0; i < threads; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        train_scorer_destroy(workers[i].scorer);
    }
    ring_release(r);
    mem_free(workers);
    return rc;
}

static const struct writer_ops *same_format(const struct train_predict_input *in)
{
    const struct writer_ops *w = writer_find(in->reader->ops->name);
    return w && !w->scheme ? w : &writer_parquet; /* a service has no files of its own */
}

static void keep_outside(const struct train_session *s, struct train_outside *o,
                         struct train_predict_summary *summary)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 24);
    train_outside_take(o, s->plan, &b);
    summary->outside = mem_strdup(buf_str(&b));
    buf_release(&b);
    train_outside_release(o);
}

/* What all ranks have to say about the rows, on all of them. */
static enum rc sum_up(struct comm *comm, struct train_predict_summary *summary,
                      struct err *err)
{
    void *all = NULL;
    int64_t n = 0;
    if (comm_world(comm) == 1)
        return RC_OK;
    enum rc rc = comm_all_reduce(comm, comm_i64(&summary->nulls), 1, COMM_SUM, err);
    const char *own = summary->outside ? summary->outside : "";
    if (!rc)
        rc = comm_gather_bytes(comm, own, (int64_t)strlen(own), &all, &n, err);
    if (!rc) {
        mem_free(summary->outside);
        summary->outside = mem_strndup(all, (size_t)n);
    }
    mem_free(all);
    return rc;
}

static enum rc go_on(struct train_session *s, const struct train_predict_options *o,
                     struct train_predict_input *in,
                     const struct train_predict_columns *columns,
                     struct train_predict_output *out,
                     struct train_predict_summary *summary, struct err *err)
{
    struct ring ring = {
        .in = in, .columns = columns, .dealer = train_predict_dealer_of(out)};
    int64_t before = out->rows;
    enum rc rc = RC_OK;
    if (out->done)
        return RC_OK;
    if (out->rows > 0)
        rc = train_predict_input_seek(in, &out->next, err);
    if (o->steps && out->batches >= o->steps)
        return train_predict_output_finish(out, rc, err);
    if (o->steps)
        ring.most = o->steps - out->batches;
    if (!rc)
        rc = run_threads(&ring, s, o->threads < 1 ? 1 : o->threads, out, err);
    summary->nulls = ring.nulls;
    keep_outside(s, &ring.outside, summary);
    if (!rc && before + ring.dealer.seen == 0)
        rc = err_coded(err, RC_INVAL, E2014, "no rows in '%s'", o->input);
    if (ring.dealer.ranks > 1)
        out->next = in->place; /* behind the rows of all */
    rc = train_predict_output_finish(out, rc, err);
    return rc ? rc : sum_up(o->comm, summary, err);
}

/* What the graph reads for outputs with these names; false when one is not there. */
static bool find_inputs(const struct train_session *s, const char *outputs,
                        struct onnx_inputs *in)
{
    struct arena a = {0};
    struct str rest = str_c(outputs), part;
    VEC(const char *) names = {0};
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n)
            VEC_PUSH(&names, arena_strndup(&a, part.p, part.n));
    }
    bool ok = names.n && !onnx_inputs(s->model->graph, names.at, names.n, in, NULL);
    VEC_RELEASE(&names);
    arena_release(&a);
    return ok;
}

/* Columns that chosen outputs need, the caller's; NULL: all. */
static bool *needed_columns(const struct train_session *s, const char *outputs)
{
    const struct model *m = s->model;
    struct onnx_inputs *in = outputs ? mem_calloc(1, sizeof(*in)) : NULL;
    size_t n_columns;
    if (!in || !find_inputs(s, outputs, in)) {
        mem_free(in);
        return NULL;
    }
    bool *wanted = mem_calloc(feature_plan_count(s->plan) + 1, sizeof(*wanted));
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *x = &m->inputs.at[i];
        const struct nn_val *v =
            x->slot >= 0 ? m->embedded.at[lookup_slot(m->lookup, x->slot)->output]
                         : x->val;
        int64_t at = feature_plan_find(s->plan, str_c(x->feature->name));
        for (size_t k = 0; k < in->n && at >= 0; k++)
            wanted[at] |= in->vals[k] == v ||
                          (x->leads && nn_val_shape(in->vals[k])->axis == x->axis);
    }
    feature_plan_columns(s->plan, &n_columns);
    bool *columns = mem_calloc(n_columns + 1, sizeof(*columns));
    feature_plan_reads(s->plan, wanted, columns);
    mem_free(wanted);
    mem_free(in);
    return columns;
}

enum rc train_predict_run(struct train_session *s, const struct train_predict_options *o,
                          struct train_predict_summary *summary, struct diags *diags,
                          struct err *err)
{
    struct train_predict_input in;
    struct train_predict_columns columns = {0};
    struct train_predict_output out = {0};
    bool *needs = needed_columns(s, o->outputs);
    enum rc rc = train_predict_input_open(&in, s, needs, o, diags, err);
    if (!rc)
        rc = train_predict_columns_init(&columns, s, o, &in.kept, err);
    if (!rc)
        rc = train_predict_output_open(&out, o, same_format(&in), &columns.schema,
                                       &in.files, err);
    summary->before = out.rows;
    summary->done_before = out.done;
    if (!rc)
        rc = go_on(s, o, &in, &columns, &out, summary, err);
    summary->rows = out.rows - summary->before;
    summary->parts = out.parts;
    train_predict_output_release(&out);
    train_predict_columns_release(&columns);
    train_predict_input_release(&in);
    mem_free(needs);
    return rc;
}

void train_predict_summary_release(struct train_predict_summary *s)
{
    mem_free(s->outside);
    s->outside = NULL;
}
