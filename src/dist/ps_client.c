/* SPDX-License-Identifier: Apache-2.0 */
/* A question goes to all servers at once, each over a line of its own; a line that is silent
 * asks again, ever more seldom, so that a server that was started again is found.
 *
 * Asynchronous: a step puts its gradients in a queue and returns; a thread takes up to `merge`
 * of them, adds or averages them, and sends them over lines of its own. When more than
 * `before_pull` were sent it fetches the dense values, which the next step puts in place: the
 * parameters of a batch do not change while it is computed.
 */
#include "dist/ps_client.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/ps_rows.h"
#include "dist/ps_wire.h"
#include "embed/embed.h"

#define FIRST_WAIT_MS 2000 /* until a question is asked again */
#define LOOK_MS 20
#define MORE_MS 50 /* for more gradients to merge */

struct line {
    struct comm_link_client *link;
    struct buf out;
    struct dist_ps_in in; /* of the answer */
    uint64_t seq;
    bool answered;
    int64_t asked_ms, patience_ms;
    int64_t *ids; /* scratch: what goes to this server */
    float *floats;
    int64_t ids_room, floats_room;
};

/* Gradients of one batch, or of several merged. */
struct gradients {
    struct gradients *next;
    float *dense;              /* [n_dense] */
    struct dist_ps_rows *rows; /* [n_tables] */
};

struct dist_ps_client {
    struct dist_ps_client_conf conf;
    int n_tables;
    struct dist_ps_block *blocks;
    size_t n_blocks;
    int64_t n_dense;
    float *flat;                 /* [n_dense] */
    struct line *lines, *behind; /* [servers]: of the trainer, and of the thread */
    uint64_t seq, pushes;        /* questions of the trainer, and of `behind` */
    /* async */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct gradients *first, *last;
    int64_t queued;
    bool busy, stop, fresh; /* the thread sends; ends; `fetched` is newer */
    float *fetched;
    enum rc rc; /* of the thread */
    struct err err;
};

static int64_t now_ms(void)
{
    return clock_mono_ns() / 1000000;
}

/* --- questions --- */

static void begin(struct dist_ps_client *c, struct line *l, enum dist_ps_kind kind,
                  uint64_t seq)
{
    l->seq = seq;
    dist_ps_begin(&l->out, &(struct dist_ps_head){.kind = kind,
                                                  .worker = (uint32_t)c->conf.worker,
                                                  .seq = seq});
}

static enum rc send_line(struct line *l, struct err *err)
{
    l->asked_ms = now_ms();
    enum rc rc = buf_check(&l->out, err);
    return rc ? rc : comm_link_ask(l->link, l->out.p, l->out.n, err);
}

static enum rc refused(struct line *l, int server, struct err *err)
{
    const void *text;
    int64_t n = dist_ps_get_list(&l->in, 1, &text);
    return err_coded(err, RC_INVAL, E2703, "server %d: %.*s", server,
                     (int)(n < 400 ? n : 400), n ? (const char *)text : "");
}

/* Answers to questions that were asked before are thrown away. */
static enum rc take_answer(struct line *l, int server, int64_t ms, struct err *err)
{
    const void *data;
    size_t n;
    struct dist_ps_head h;
    enum rc rc = comm_link_answer(l->link, ms, &data, &n, err);
    if (rc || !data)
        return rc;
    rc = dist_ps_open(data, n, &l->in, &h, err);
    if (rc || h.seq != l->seq)
        return rc;
    l->answered = true;
    return h.kind == PS_ERROR ? refused(l, server, err) : RC_OK;
}

static enum rc ask_again(const struct dist_ps_client *c, struct line *l, int server,
                         int64_t since_ms, struct err *err)
{
    int64_t limit = c->conf.deadline_ms * (c->conf.tries < 1 ? 1 : c->conf.tries);
    if (now_ms() - since_ms > limit)
        return err_coded(err, RC_IO, E2701, "server %d (%s) has not answered for %jd s",
                         server, c->conf.servers[server], (intmax_t)(limit / 1000));
    if (now_ms() - l->asked_ms < l->patience_ms)
        return RC_OK;
    l->patience_ms *= 2;
    return send_line(l, err);
}

static enum rc wait_for(const struct dist_ps_client *c, struct line *l, int server,
                        struct err *err)
{
    int64_t since = now_ms();
    enum rc rc = RC_OK;
    while (!rc && !l->answered) {
        rc = take_answer(l, server, LOOK_MS, err);
        if (!rc && !l->answered)
            rc = ask_again(c, l, server, since, err);
    }
    return rc;
}

static enum rc ask_all(const struct dist_ps_client *c, struct line *lines,
                       struct err *err)
{
    enum rc rc = RC_OK;
    for (int s = 0; s < c->conf.job.servers && !rc; s++) {
        lines[s].answered = false;
        lines[s].patience_ms = FIRST_WAIT_MS;
        rc = send_line(&lines[s], err);
    }
    for (int s = 0; s < c->conf.job.servers && !rc; s++)
        rc = wait_for(c, &lines[s], s, err);
    return rc;
}

/* A question without a text of its own. */
static enum rc ask_plain(struct dist_ps_client *c, struct line *lines,
                         enum dist_ps_kind kind, struct err *err)
{
    uint64_t seq = ++c->seq;
    for (int s = 0; s < c->conf.job.servers; s++)
        begin(c, &lines[s], kind, seq);
    return ask_all(c, lines, err);
}

static enum rc end_answers(struct dist_ps_client *c, struct line *lines, struct err *err)
{
    enum rc rc = RC_OK;
    for (int s = 0; s < c->conf.job.servers && !rc; s++)
        rc = dist_ps_end(&lines[s].in, err);
    return rc;
}

/* --- dense values --- */

int64_t dist_ps_client_n_dense(const struct dist_ps_client *c)
{
    return c->n_dense;
}

void dist_ps_client_read(const struct dist_ps_client *c, float *values)
{
    for (size_t i = 0; i < c->n_blocks; i++) {
        const struct dist_ps_block *b = &c->blocks[i];
        memcpy(values, param_read(c->conf.model.params[b->param]) + b->at,
               (size_t)b->n * sizeof(float));
        values += b->n;
    }
}

void dist_ps_client_write(struct dist_ps_client *c, const float *values)
{
    for (size_t i = 0; i < c->n_blocks; i++) {
        const struct dist_ps_block *b = &c->blocks[i];
        struct param *p = c->conf.model.params[b->param];
        memcpy(param_write_begin(p) + b->at, values, (size_t)b->n * sizeof(float));
        param_write_end(p);
        values += b->n;
    }
}

static void read_grads(const struct dist_ps_client *c, float *out)
{
    for (size_t i = 0; i < c->n_blocks; i++) {
        const struct dist_ps_block *b = &c->blocks[i];
        const float *g = param_read_grad(c->conf.model.params[b->param]);
        if (g)
            memcpy(out, g + b->at, (size_t)b->n * sizeof(float));
        else
            memset(out, 0, (size_t)b->n * sizeof(float));
        out += b->n;
    }
}

static void put_dense(const struct dist_ps_client *c, struct line *l, int server,
                      const float *all)
{
    dist_ps_put_u64(&l->out,
                    (uint64_t)dist_ps_blocks_total(c->blocks, c->n_blocks, server));
    for (size_t i = 0; i < c->n_blocks; all += c->blocks[i].n, i++)
        if (c->blocks[i].server == server)
            buf_add(&l->out, all, (size_t)c->blocks[i].n * sizeof(float));
}

/* The dense values of an answer into their places. */
static void get_dense(const struct dist_ps_client *c, struct line *l, int server,
                      float *all)
{
    const void *at;
    int64_t n = dist_ps_get_list(&l->in, sizeof(float), &at);
    if (n != dist_ps_blocks_total(c->blocks, c->n_blocks, server)) {
        l->in.bad = true;
        return;
    }
    const char *from = at;
    for (size_t i = 0; i < c->n_blocks; all += c->blocks[i].n, i++)
        if (c->blocks[i].server == server && n) {
            memcpy(all, from, (size_t)c->blocks[i].n * sizeof(float));
            from += (size_t)c->blocks[i].n * sizeof(float);
        }
}

static enum rc get_all_dense(struct dist_ps_client *c, struct line *lines, float *all,
                             struct err *err)
{
    for (int s = 0; s < c->conf.job.servers; s++)
        get_dense(c, &lines[s], s, all);
    return end_answers(c, lines, err);
}

static enum rc pull_dense(struct dist_ps_client *c, struct line *lines, uint64_t seq,
                          float *all, struct err *err)
{
    for (int s = 0; s < c->conf.job.servers; s++)
        begin(c, &lines[s], PS_PULL_DENSE, seq);
    enum rc rc = ask_all(c, lines, err);
    return rc ? rc : get_all_dense(c, lines, all, err);
}

/* --- rows --- */

static int64_t dim_of(const struct dist_ps_client *c, int table)
{
    return lookup_table(c->conf.model.lookup, table)->dim;
}

static enum rc reserve(struct line *l, int64_t n, int64_t dim, struct err *err)
{
    if (n > l->ids_room) {
        mem_free(l->ids);
        l->ids = mem_try_alloc((size_t)n, sizeof(*l->ids));
        l->ids_room = l->ids ? n : 0;
    }
    if (n * dim > l->floats_room) {
        mem_free(l->floats);
        l->floats = mem_try_alloc((size_t)(n * dim), sizeof(float));
        l->floats_room = l->floats ? n * dim : 0;
    }
    return n == 0 || (l->ids && l->floats)
               ? RC_OK
               : err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)n);
}

/* Ids of one server, and with `sums` their gradients. */
static enum rc put_rows(struct dist_ps_client *c, struct line *l, int server, int table,
                        const struct dist_ps_table *t, const float *sums, struct err *err)
{
    int64_t dim = dim_of(c, table), n = 0;
    enum rc rc = reserve(l, t->n, dim, err);
    for (int64_t i = 0; i < t->n && !rc; i++) {
        if (dist_ps_owner(&c->conf.job, t->ids[i]) != server)
            continue;
        l->ids[n] = t->ids[i];
        if (sums)
            memcpy(l->floats + n * dim, sums + i * dim, (size_t)dim * sizeof(float));
        n++;
    }
    if (rc)
        return rc;
    dist_ps_put_u32(&l->out, (uint32_t)table);
    dist_ps_put_ids(&l->out, l->ids, n);
    if (sums && n)
        buf_add(&l->out, l->floats, (size_t)(n * dim) * sizeof(float));
    return RC_OK;
}

static void get_rows(const struct dist_ps_client *c, struct line *l, int server,
                     int table, const struct dist_ps_table *t)
{
    int64_t dim = dim_of(c, table);
    const void *at;
    int64_t have = dist_ps_get_list(&l->in, sizeof(float), &at);
    const char *from = at;
    for (int64_t i = 0; i < t->n && !l->in.bad; i++) {
        if (dist_ps_owner(&c->conf.job, t->ids[i]) != server)
            continue;
        have -= dim;
        if (have < 0) {
            l->in.bad = true;
            return;
        }
        memcpy(t->vectors + i * dim, from, (size_t)dim * sizeof(float));
        from += (size_t)dim * sizeof(float);
    }
    l->in.bad |= have != 0;
}

enum rc dist_ps_client_pull(struct dist_ps_client *c, const struct dist_ps_table *tables,
                            bool training, struct err *err)
{
    uint64_t seq = ++c->seq;
    enum rc rc = RC_OK;
    for (int s = 0; s < c->conf.job.servers; s++) {
        begin(c, &c->lines[s], PS_PULL_ROWS, seq);
        dist_ps_put_u32(&c->lines[s].out, training);
        dist_ps_put_u32(&c->lines[s].out, (uint32_t)c->n_tables);
        for (int t = 0; t < c->n_tables && !rc; t++)
            rc = put_rows(c, &c->lines[s], s, t, &tables[t], NULL, err);
    }
    if (!rc)
        rc = ask_all(c, c->lines, err);
    for (int s = 0; s < c->conf.job.servers && !rc; s++)
        for (int t = 0; t < c->n_tables; t++)
            get_rows(c, &c->lines[s], s, t, &tables[t]);
    return rc ? rc : end_answers(c, c->lines, err);
}

/* --- gradients --- */

/* `moves`: tables without sums have nothing to say. */
static enum rc put_push(struct dist_ps_client *c, struct line *lines,
                        enum dist_ps_kind kind, bool wants, const float *dense,
                        const struct dist_ps_table *tables, struct err *err)
{
    uint32_t moves = 0;
    uint64_t seq = ++c->pushes;
    enum rc rc = RC_OK;
    for (int t = 0; t < c->n_tables; t++)
        moves += tables[t].sums != NULL;
    for (int s = 0; s < c->conf.job.servers; s++) {
        begin(c, &lines[s], kind, seq);
        dist_ps_put_u32(&lines[s].out, wants);
        put_dense(c, &lines[s], s, dense);
        dist_ps_put_u32(&lines[s].out, moves);
        for (int t = 0; t < c->n_tables && !rc; t++)
            if (tables[t].sums)
                rc = put_rows(c, &lines[s], s, t, &tables[t], tables[t].sums, err);
    }
    return rc;
}

/* Sends, waits until it is done, and takes the new values. */
static enum rc step_and_wait(struct dist_ps_client *c, const struct dist_ps_table *tables,
                             struct err *err)
{
    read_grads(c, c->flat);
    enum rc rc = put_push(c, c->behind, PS_PUSH, true, c->flat, tables, err);
    if (!rc)
        rc = ask_all(c, c->behind, err);
    if (!rc)
        rc = get_all_dense(c, c->behind, c->flat, err);
    if (!rc)
        dist_ps_client_write(c, c->flat);
    return rc;
}

/* --- async --- */

static void gradients_free(const struct dist_ps_client *c, struct gradients *g)
{
    if (!g)
        return;
    for (int t = 0; t < c->n_tables; t++)
        dist_ps_rows_release(&g->rows[t]);
    mem_free(g->rows);
    mem_free(g->dense);
    mem_free(g);
}

static enum rc gradients_of(struct dist_ps_client *c, const struct dist_ps_table *tables,
                            struct gradients **out, struct err *err)
{
    struct gradients *g = mem_calloc(1, sizeof(*g));
    enum rc rc = RC_OK;
    g->rows = mem_calloc((size_t)c->n_tables + 1, sizeof(*g->rows));
    g->dense = mem_try_alloc((size_t)c->n_dense + 1, sizeof(float));
    if (!g->dense)
        rc = err_set(err, RC_NOMEM, "no memory for gradients");
    else
        read_grads(c, g->dense);
    for (int t = 0; t < c->n_tables && !rc; t++)
        if (tables[t].sums)
            rc = dist_ps_rows_add(&g->rows[t], dim_of(c, t), tables[t].ids,
                                  tables[t].sums, tables[t].n, err);
    if (rc)
        gradients_free(c, g);
    else
        *out = g;
    return rc;
}

/* Waits while the queue is full. */
static enum rc enqueue(struct dist_ps_client *c, struct gradients *g, struct err *err)
{
    pthread_mutex_lock(&c->lock);
    while (c->queued >= c->conf.queue && !c->rc)
        pthread_cond_wait(&c->changed, &c->lock);
    enum rc rc = c->rc;
    if (rc) {
        if (err)
            *err = c->err;
    } else {
        *(c->last ? &c->last->next : &c->first) = g;
        c->last = g;
        c->queued++;
        pthread_cond_broadcast(&c->changed);
    }
    if (c->fresh) {
        c->fresh = false;
        dist_ps_client_write(c, c->fetched);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

static enum rc join(const struct dist_ps_client *c, struct gradients *to,
                    const struct gradients *more, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < c->n_dense; i++)
        to->dense[i] += more->dense[i];
    for (int t = 0; t < c->n_tables && !rc; t++)
        rc = dist_ps_rows_add(&to->rows[t], dim_of(c, t), more->rows[t].ids,
                              more->rows[t].sums, more->rows[t].n, err);
    return rc;
}

/* Up to `merge` batches as one; *n of them. NULL: there are none. The lock is held. */
static struct gradients *dequeue(struct dist_ps_client *c, int64_t *n)
{
    struct gradients *got = c->first, *last = got;
    *n = got ? 1 : 0;
    while (got && *n < c->conf.merge && last->next) {
        last = last->next;
        ++*n;
    }
    if (got) {
        c->first = last->next;
        c->last = c->first ? c->last : NULL;
        last->next = NULL;
        c->queued -= *n;
    }
    return got;
}

static enum rc merge(struct dist_ps_client *c, struct gradients *g, int64_t n,
                     struct err *err)
{
    float scale = c->conf.sum ? (float)c->conf.replicas : 1.0f / (float)n;
    enum rc rc = RC_OK;
    while (g->next && !rc) {
        struct gradients *more = g->next;
        g->next = more->next;
        rc = join(c, g, more, err);
        gradients_free(c, more);
    }
    for (int64_t i = 0; i < c->n_dense && scale != 1; i++)
        g->dense[i] *= scale;
    for (int t = 0; t < c->n_tables && !rc; t++) {
        rc = dist_ps_rows_merge(&g->rows[t], err);
        if (!rc && scale != 1)
            dist_ps_rows_scale(&g->rows[t], scale);
    }
    return rc;
}

static enum rc send_gradients(struct dist_ps_client *c, struct gradients *g,
                              struct err *err)
{
    struct dist_ps_table *tables = mem_calloc((size_t)c->n_tables + 1, sizeof(*tables));
    for (int t = 0; t < c->n_tables; t++)
        tables[t] = (struct dist_ps_table){
            .n = g->rows[t].n, .ids = g->rows[t].ids, .sums = g->rows[t].sums};
    enum rc rc = put_push(c, c->behind, PS_PUSH, false, g->dense, tables, err);
    if (!rc)
        rc = ask_all(c, c->behind, err);
    mem_free(tables);
    return rc;
}

static enum rc fetch_dense(struct dist_ps_client *c, struct err *err)
{
    enum rc rc = pull_dense(c, c->behind, ++c->pushes, c->flat, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&c->lock);
    memcpy(c->fetched, c->flat, (size_t)c->n_dense * sizeof(float));
    c->fresh = true;
    pthread_mutex_unlock(&c->lock);
    return RC_OK;
}

/* Others that are about to come are waited for a moment. The lock is held. */
static void wait_for_more(struct dist_ps_client *c)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MORE_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (c->queued < c->conf.merge && c->queued < c->conf.queue && !c->stop &&
           pthread_cond_timedwait(&c->changed, &c->lock, &until) == 0)
        ;
}

/* What is there, when something is; NULL: the end. */
static struct gradients *next_gradients(struct dist_ps_client *c, int64_t *n)
{
    pthread_mutex_lock(&c->lock);
    c->busy = false;
    pthread_cond_broadcast(&c->changed);
    while (!c->first && !c->stop)
        pthread_cond_wait(&c->changed, &c->lock);
    wait_for_more(c);
    struct gradients *g = c->stop ? NULL : dequeue(c, n);
    c->busy = g != NULL;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return g;
}

static void *send_behind(void *arg)
{
    struct dist_ps_client *c = arg;
    struct err err = {0};
    enum rc rc = RC_OK;
    int64_t n, sent = 0;
    for (struct gradients *g; !rc && (g = next_gradients(c, &n));) {
        rc = merge(c, g, n, &err);
        if (!rc)
            rc = send_gradients(c, g, &err);
        gradients_free(c, g);
        sent += n;
        if (!rc && sent > c->conf.before_pull) {
            rc = fetch_dense(c, &err);
            sent = 0;
        }
    }
    pthread_mutex_lock(&c->lock);
    c->busy = false;
    c->rc = rc;
    c->err = err;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static enum rc wait_until_sent(struct dist_ps_client *c, struct err *err)
{
    pthread_mutex_lock(&c->lock);
    while ((c->first || c->busy) && !c->rc)
        pthread_cond_wait(&c->changed, &c->lock);
    enum rc rc = c->rc;
    if (rc && err)
        *err = c->err;
    c->fresh = false;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* --- the interface --- */

enum rc dist_ps_client_step(struct dist_ps_client *c, const struct dist_ps_table *tables,
                            struct err *err)
{
    struct gradients *g = NULL;
    if (c->conf.job.mode != PS_ASYNC)
        return step_and_wait(c, tables, err);
    enum rc rc = gradients_of(c, tables, &g, err);
    if (!rc)
        rc = enqueue(c, g, err);
    if (rc)
        gradients_free(c, g);
    return rc;
}

enum rc dist_ps_client_flush(struct dist_ps_client *c, struct err *err)
{
    enum rc rc = c->has_thread ? wait_until_sent(c, err) : RC_OK;
    if (!rc)
        rc = pull_dense(c, c->lines, ++c->seq, c->flat, err);
    if (!rc)
        dist_ps_client_write(c, c->flat);
    return rc;
}

enum rc dist_ps_client_complete(struct dist_ps_client *c, struct err *err)
{
    enum rc rc = c->has_thread ? wait_until_sent(c, err) : RC_OK;
    return rc ? rc : ask_plain(c, c->lines, PS_COMPLETE, err);
}

enum rc dist_ps_client_exchange(struct dist_ps_client *c, const float *dense,
                                const struct dist_ps_table *tables, float *values,
                                dist_ps_changed_fn *rows, void *arg, struct err *err)
{
    enum rc rc = put_push(c, c->behind, PS_GEO, true, dense, tables, err);
    if (!rc)
        rc = ask_all(c, c->behind, err);
    for (int s = 0; s < c->conf.job.servers && !rc; s++) {
        struct dist_ps_in *in = &c->behind[s].in;
        get_dense(c, &c->behind[s], s, values);
        uint32_t n_tables = dist_ps_get_u32(in);
        for (uint32_t k = 0; k < n_tables && !in->bad; k++) {
            const void *ids;
            uint32_t t = dist_ps_get_u32(in);
            int64_t n = dist_ps_get_list(in, sizeof(int64_t), &ids);
            in->bad |= t >= (uint32_t)c->n_tables;
            size_t dim = in->bad ? 1 : (size_t)dim_of(c, (int)t);
            const void *v = dist_ps_get_some(in, n, dim * sizeof(float));
            if (v)
                rows(arg, (int)t, ids, v, n);
        }
    }
    return rc ? rc : end_answers(c, c->behind, err);
}

/* --- to save --- */

static enum rc put_piece(struct dist_ps_client *c, struct line *l, int table,
                         uint64_t *next, struct err *err)
{
    struct embed_table *t = embed_table_at(embed_of(c->conf.model.lookup), table);
    const void *ids, *rows;
    *next = dist_ps_get_u64(&l->in);
    int64_t n = dist_ps_get_list(&l->in, sizeof(int64_t), &ids);
    int64_t floats = dist_ps_get_list(&l->in, sizeof(float), &rows);
    enum rc rc = dist_ps_end(&l->in, err);
    if (!rc && floats != n * t->stride)
        rc = err_coded(err, RC_FORMAT, E2703, "rows of another width");
    size_t bytes = (size_t)t->stride * sizeof(float);
    for (int64_t i = 0; i < n && !rc; i++) {
        int64_t id;
        memcpy(&id, (const char *)ids + (size_t)i * sizeof(id), sizeof(id));
        if (id < 0 || id >= t->conf.rows)
            return err_coded(err, RC_FORMAT, E2703, "row %jd of %jd", (intmax_t)id,
                             (intmax_t)t->conf.rows);
        if (!embed_table_used(t, id))
            embed_table_use(t, id);
        memcpy(embed_table_row(t, id), (const char *)rows + (size_t)i * bytes, bytes);
    }
    return rc;
}

static enum rc fetch_rows(struct dist_ps_client *c, int server, int table,
                          struct err *err)
{
    struct line *l = &c->lines[server];
    enum rc rc = RC_OK;
    for (uint64_t from = 0; from != UINT64_MAX && !rc;) {
        begin(c, l, PS_SAVE_ROWS, ++c->seq);
        dist_ps_put_u32(&l->out, (uint32_t)table);
        dist_ps_put_u64(&l->out, from);
        l->answered = false;
        l->patience_ms = FIRST_WAIT_MS;
        rc = send_line(l, err);
        if (!rc)
            rc = wait_for(c, l, server, err);
        if (!rc)
            rc = put_piece(c, l, table, &from, err);
    }
    return rc;
}

/* Where an array of a whole parameter grows from its blocks; at first use it is made. */
static void *whole_array(struct arena *a, struct nn_state *state, const char *name,
                         enum nn_state_type type, int64_t n)
{
    const struct nn_state_item *item = nn_state_find(state, name);
    if (item)
        return (void *)item->data;
    void *data = arena_alloc(a, (size_t)n * nn_state_size(type) + 1);
    nn_state_add(state, type, data, n, "%s", name);
    return data;
}

/* The block of this server that belongs to "state.<parameter>.<array>". */
static const struct dist_ps_block *block_of(const struct dist_ps_client *c, int server,
                                            const char *name)
{
    for (size_t i = 0; i < c->n_blocks; i++) {
        const char *param = c->conf.model.params[c->blocks[i].param]->name;
        size_t n = strlen(param);
        if (c->blocks[i].server == server && strncmp(name, "state.", 6) == 0 &&
            strncmp(name + 6, param, n) == 0 && name[6 + n] == '.' &&
            !strchr(name + 7 + n, '.'))
            return &c->blocks[i];
    }
    return NULL;
}

static bool get_state_item(const struct dist_ps_client *c, int server,
                           struct dist_ps_in *in, struct arena *a, struct nn_state *state)
{
    const void *name_at, *data;
    int64_t name_n = dist_ps_get_list(in, 1, &name_at);
    uint32_t type = dist_ps_get_u32(in);
    int64_t bytes = dist_ps_get_list(in, 1, &data);
    if (in->bad || type > STATE_I64)
        return false;
    char *name = arena_strndup(a, name_at, (size_t)name_n);
    const struct dist_ps_block *b = block_of(c, server, name);
    size_t size = nn_state_size((enum nn_state_type)type);
    if (!b || bytes % (int64_t)size != 0)
        return false;
    int64_t n = bytes / (int64_t)size;
    bool part = type == STATE_F32 && n == b->n;
    if (!part && n != 1)
        return false;
    char *to = whole_array(a, state, name, (enum nn_state_type)type,
                           part ? c->conf.model.params[b->param]->n : 1);
    memcpy(to + (part ? (size_t)b->at * size : 0), data, (size_t)bytes);
    return true;
}

static enum rc fetch_state(struct dist_ps_client *c, struct arena *a,
                           struct nn_state *state, uint64_t *steps, struct err *err)
{
    enum rc rc = ask_plain(c, c->lines, PS_SAVE_STATE, err);
    *steps = 0;
    for (int s = 0; s < c->conf.job.servers && !rc; s++) {
        struct dist_ps_in *in = &c->lines[s].in;
        get_dense(c, &c->lines[s], s, c->flat);
        uint64_t n_steps = dist_ps_get_u64(in);
        *steps = n_steps > *steps ? n_steps : *steps;
        for (uint32_t n = dist_ps_get_u32(in); n > 0 && !in->bad; n--)
            in->bad |= !get_state_item(c, s, in, a, state);
    }
    if (!rc)
        rc = end_answers(c, c->lines, err);
    if (!rc)
        dist_ps_client_write(c, c->flat);
    return rc;
}

enum rc dist_ps_client_fetch(struct dist_ps_client *c, struct arena *a,
                             struct nn_state *state, uint64_t *steps, struct err *err)
{
    enum rc rc = c->has_thread ? wait_until_sent(c, err) : RC_OK;
    for (int s = 0; s < c->conf.job.servers; s++)
        for (int t = 0; t < c->n_tables && !rc; t++)
            rc = fetch_rows(c, s, t, err);
    return rc ? rc : fetch_state(c, a, state, steps, err);
}

/* --- made --- */

static enum rc connect_lines(struct dist_ps_client *c, struct line **out, struct err *err)
{
    enum rc rc = RC_OK;
    struct line *lines = mem_calloc((size_t)c->conf.job.servers, sizeof(*lines));
    *out = lines;
    for (int s = 0; s < c->conf.job.servers && !rc; s++) {
        buf_init(&lines[s].out, COMM_LINK_MESSAGE_MAX);
        rc = comm_link_connect(c->conf.ops, &c->conf.link, c->conf.servers[s],
                               &lines[s].link, err);
    }
    return rc;
}

static enum rc say_hello(struct dist_ps_client *c, struct err *err)
{
    char digest[DIST_PS_DIGEST];
    uint64_t seq = ++c->seq;
    dist_ps_digest(&c->conf.job, &c->conf.model, digest);
    for (int s = 0; s < c->conf.job.servers; s++) {
        begin(c, &c->lines[s], PS_HELLO, seq);
        dist_ps_put_bytes(&c->lines[s].out, digest, DIST_PS_DIGEST - 1);
    }
    enum rc rc = ask_all(c, c->lines, err);
    /* One that is started again goes on behind what was done. */
    for (int s = 0; s < c->conf.job.servers && !rc; s++) {
        uint64_t done = dist_ps_get_u64(&c->lines[s].in);
        c->pushes = done > c->pushes ? done : c->pushes;
    }
    return rc ? rc : end_answers(c, c->lines, err);
}

static enum rc start_thread(struct dist_ps_client *c, struct err *err)
{
    if (c->conf.job.mode != PS_ASYNC)
        return RC_OK;
    int failed = pthread_create(&c->thread, NULL, send_behind, c);
    c->has_thread = !failed;
    return failed ? err_sys(err, failed, "no thread for gradients") : RC_OK;
}

enum rc dist_ps_client_create(const struct dist_ps_client_conf *conf,
                              struct dist_ps_client **out, struct err *err)
{
    struct dist_ps_client *c = mem_calloc(1, sizeof(*c));
    c->conf = *conf;
    c->n_tables = lookup_n_tables(conf->model.lookup);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->blocks = dist_ps_blocks(&conf->job, &conf->model, &c->n_blocks);
    c->n_dense = dist_ps_blocks_total(c->blocks, c->n_blocks, -1);
    c->flat = mem_try_alloc((size_t)c->n_dense + 1, sizeof(float));
    c->fetched = mem_try_alloc((size_t)c->n_dense + 1, sizeof(float));
    enum rc rc = c->flat && c->fetched
                     ? dist_ps_model_check(&conf->model, err)
                     : err_set(err, RC_NOMEM, "no memory for dense values");
    if (!rc)
        rc = connect_lines(c, &c->lines, err);
    if (!rc)
        rc = connect_lines(c, &c->behind, err);
    if (!rc)
        rc = say_hello(c, err);
    if (!rc)
        rc = pull_dense(c, c->lines, ++c->seq, c->flat, err);
    if (!rc) {
        dist_ps_client_write(c, c->flat);
        rc = start_thread(c, err);
    }
    if (rc)
        dist_ps_client_destroy(c);
    else
        *out = c;
    return rc;
}

static void end_thread(struct dist_ps_client *c)
{
    if (!c->has_thread)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
}

static void close_lines(struct dist_ps_client *c, struct line *lines)
{
    for (int s = 0; lines && s < c->conf.job.servers; s++) {
        comm_link_disconnect(lines[s].link);
        buf_release(&lines[s].out);
        mem_free(lines[s].ids);
        mem_free(lines[s].floats);
    }
    mem_free(lines);
}

void dist_ps_client_destroy(struct dist_ps_client *c)
{
    if (!c)
        return;
    end_thread(c);
    while (c->first) {
        struct gradients *g = c->first;
        c->first = g->next;
        gradients_free(c, g);
    }
    close_lines(c, c->lines);
    close_lines(c, c->behind);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    mem_free(c->blocks);
    mem_free(c->flat);
    mem_free(c->fetched);
    mem_free(c);
}
