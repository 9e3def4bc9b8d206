/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients are applied as they come, but in the synchronous mode: there the message of each
 * trainer is kept until all that still train have sent theirs; then they are added in the
 * order of trainers, which makes the result independent of who came first, divided by the
 * number of trainers, and answered. A trainer pulls rows before it sends and after it was
 * answered, so that no pull sees half a round.
 *
 * A trainer that hears nothing asks again with the same number: what was done already is not
 * done twice. A snapshot that is due is written between an update and its answer.
 */
#include "dist/ps_server.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "dist/ps_server_private.h"

#define LOG_AREA "ps"
#define WAIT_MS 200

struct dist_ps_server *dist_ps_server_create(const struct dist_ps_server_conf *conf)
{
    struct dist_ps_server *s = mem_calloc(1, sizeof(*s));
    s->conf = *conf;
    s->workers = mem_calloc((size_t)conf->job.workers + 1, sizeof(*s->workers));
    for (int w = 0; w < conf->job.workers; w++)
        buf_init(&s->workers[w].message, COMM_LINK_MESSAGE_MAX);
    buf_init(&s->out, COMM_LINK_MESSAGE_MAX);
    return s;
}

void dist_ps_server_destroy(struct dist_ps_server *s)
{
    if (!s)
        return;
    for (int w = 0; w < s->conf.job.workers; w++)
        buf_release(&s->workers[w].message);
    mem_free(s->workers);
    buf_release(&s->out);
    mem_free(s->vectors);
    mem_free(s);
}

static void begin(struct dist_ps_server *s, const struct dist_ps_head *h)
{
    dist_ps_begin(&s->out, &(struct dist_ps_head){
                               .kind = PS_OK, .worker = h->worker, .seq = h->seq});
}

static enum rc answer(struct dist_ps_server *s, const struct comm_link_peer *to,
                      struct err *err)
{
    enum rc rc = buf_check(&s->out, err);
    return rc ? rc : comm_link_reply(s->conf.link, to, s->out.p, s->out.n, err);
}

static enum rc reserve(struct dist_ps_server *s, int64_t n, struct err *err)
{
    if (n <= s->room)
        return RC_OK;
    mem_free(s->vectors);
    s->vectors = mem_try_alloc((size_t)n, sizeof(float));
    s->room = s->vectors ? n : 0;
    return s->vectors ? RC_OK : err_set(err, RC_NOMEM, "no memory for an answer");
}

/* The number of a table that there is; RC_FORMAT else. */
static enum rc get_table(const struct dist_ps_server *s, struct dist_ps_in *in,
                         int *table, struct err *err)
{
    uint32_t t = dist_ps_get_u32(in);
    *table = t > INT32_MAX ? -1 : (int)t;
    if (in->bad || dist_ps_store_dim(s->conf.store, *table) == 0)
        return err_coded(err, RC_FORMAT, E2703, "a message about table %u", t);
    return RC_OK;
}

/* --- questions --- */

static enum rc on_hello(struct dist_ps_server *s, const struct dist_ps_head *h,
                        struct dist_ps_in *in, struct err *err)
{
    const void *digest;
    int64_t n = dist_ps_get_list(in, 1, &digest);
    enum rc rc = dist_ps_end(in, err);
    if (!rc && (n != DIST_PS_DIGEST - 1 ||
                memcmp(digest, s->conf.digest, DIST_PS_DIGEST - 1) != 0))
        rc = err_coded(err, RC_INVAL, E2703,
                       "trainer %u trains another model, or counts other servers and "
                       "trainers",
                       h->worker);
    begin(s, h);
    dist_ps_put_u64(&s->out, s->workers[h->worker].done);
    return rc;
}

static enum rc on_pull_rows(struct dist_ps_server *s, const struct dist_ps_head *h,
                            struct dist_ps_in *in, struct err *err)
{
    bool training = dist_ps_get_u32(in) != 0;
    uint32_t tables = dist_ps_get_u32(in);
    enum rc rc = RC_OK;
    begin(s, h);
    for (uint32_t i = 0; i < tables && !rc; i++) {
        const void *ids;
        int table;
        rc = get_table(s, in, &table, err);
        int64_t n = rc ? 0 : dist_ps_get_list(in, sizeof(int64_t), &ids);
        int64_t dim = rc ? 0 : dist_ps_store_dim(s->conf.store, table);
        if (!rc)
            rc = reserve(s, n * dim, err);
        if (!rc)
            rc = dist_ps_store_read_rows(s->conf.store, table, ids, n, training,
                                         s->vectors, err);
        if (!rc)
            dist_ps_put_floats(&s->out, s->vectors, n * dim);
    }
    return rc ? rc : dist_ps_end(in, err);
}

static void put_dense(struct dist_ps_server *s)
{
    dist_ps_put_floats(&s->out, dist_ps_store_dense(s->conf.store),
                       dist_ps_store_n_dense(s->conf.store));
}

static enum rc on_pull_dense(struct dist_ps_server *s, const struct dist_ps_head *h,
                             struct dist_ps_in *in, struct err *err)
{
    begin(s, h);
    put_dense(s);
    return dist_ps_end(in, err);
}

/* What a push says is done, or only looked at. */
enum walk { WALK_CHECK, WALK_ADD, WALK_SHIFT };

static enum rc walk_rows(struct dist_ps_server *s, struct dist_ps_in *in, enum walk how,
                         struct err *err)
{
    const void *ids;
    int table;
    enum rc rc = get_table(s, in, &table, err);
    if (rc)
        return rc;
    int64_t n = dist_ps_get_list(in, sizeof(int64_t), &ids);
    int64_t dim = dist_ps_store_dim(s->conf.store, table);
    const void *sums = dist_ps_get_some(in, n, (size_t)dim * sizeof(float));
    if (in->bad)
        return dist_ps_end(in, err);
    if (how == WALK_SHIFT)
        return dist_ps_store_shift_rows(s->conf.store, table, ids, sums, n, err);
    if (how == WALK_ADD)
        return dist_ps_store_add_rows(s->conf.store, table, ids, sums, n, err);
    return dist_ps_store_check_ids(s->conf.store, table, ids, n, err);
}

/* *wants: whether dense values are to come back. */
static enum rc walk_push(struct dist_ps_server *s, struct dist_ps_in in, enum walk how,
                         bool *wants, struct err *err)
{
    const void *grads;
    *wants = dist_ps_get_u32(&in) != 0;
    int64_t n = dist_ps_get_list(&in, sizeof(float), &grads);
    uint32_t tables = dist_ps_get_u32(&in);
    enum rc rc = RC_OK;
    if (in.bad || n != dist_ps_store_n_dense(s->conf.store))
        rc = err_coded(err, RC_FORMAT, E2703, "%jd dense values, where %jd are kept",
                       (intmax_t)n, (intmax_t)dist_ps_store_n_dense(s->conf.store));
    else if (how == WALK_ADD)
        dist_ps_store_add_dense(s->conf.store, grads);
    else if (how == WALK_SHIFT)
        dist_ps_store_shift_dense(s->conf.store, grads);
    for (uint32_t i = 0; i < tables && !rc; i++)
        rc = walk_rows(s, &in, how, err);
    return rc ? rc : dist_ps_end(&in, err);
}

/* Whether all that still train have sent theirs, and at least one has. */
static bool round_is_full(const struct dist_ps_server *s)
{
    int waiting = 0;
    for (int w = 0; w < s->conf.job.workers; w++) {
        if (!s->workers[w].complete && !s->workers[w].waits)
            return false;
        waiting += s->workers[w].waits;
    }
    return waiting > 0;
}

static enum rc end_round(struct dist_ps_server *s, struct err *err)
{
    bool wants;
    enum rc rc = RC_OK;
    for (int w = 0; w < s->conf.job.workers && !rc; w++) {
        struct dist_ps_in in;
        struct dist_ps_head h;
        struct dist_ps_worker *x = &s->workers[w];
        if (!x->waits)
            continue;
        rc = dist_ps_open(x->message.p, x->message.n, &in, &h, err);
        if (!rc)
            rc = walk_push(s, in, WALK_ADD, &wants, err);
    }
    if (!rc)
        rc = dist_ps_store_update(s->conf.store, 1.0f / (float)s->conf.job.workers, err);
    for (int w = 0; w < s->conf.job.workers; w++)
        if (s->workers[w].waits)
            s->workers[w].done = s->workers[w].head.seq;
    if (!rc)
        rc = dist_ps_snapshot_write(s, err);
    for (int w = 0; w < s->conf.job.workers && !rc; w++) {
        struct dist_ps_worker *x = &s->workers[w];
        if (!x->waits)
            continue;
        x->waits = false;
        begin(s, &x->head);
        put_dense(s);
        rc = answer(s, &x->peer, err);
    }
    return rc;
}

static enum rc keep_for_round(struct dist_ps_server *s, const struct comm_link_asked *q,
                              const struct dist_ps_head *h, struct err *err)
{
    struct dist_ps_worker *x = &s->workers[h->worker];
    x->peer = q->peer;
    x->head = *h;
    buf_clear(&x->message);
    buf_add(&x->message, q->data, q->n);
    enum rc rc = buf_check(&x->message, err);
    x->waits = !rc;
    return rc || !round_is_full(s) ? rc : end_round(s, err);
}

/* *later: it is answered with its round. */
static enum rc on_push(struct dist_ps_server *s, const struct comm_link_asked *q,
                       const struct dist_ps_head *h, struct dist_ps_in *in, bool *later,
                       struct err *err)
{
    struct dist_ps_worker *x = &s->workers[h->worker];
    bool wants, again = h->seq <= x->done;
    enum rc rc = walk_push(s, *in, WALK_CHECK, &wants, err);
    if (rc)
        return rc;
    if (s->conf.job.mode == PS_SYNC && !again) {
        *later = true;
        return keep_for_round(s, q, h, err);
    }
    if (!again) {
        rc = walk_push(s, *in, WALK_ADD, &wants, err);
        if (!rc)
            rc = dist_ps_store_update(s->conf.store, 1, err);
        x->done = h->seq;
        if (!rc)
            rc = dist_ps_snapshot_write(s, err);
    }
    begin(s, h);
    if (wants)
        put_dense(s);
    else
        dist_ps_put_u64(&s->out, 0);
    return rc;
}

static enum rc put_changed(struct dist_ps_server *s, int table, int worker,
                           struct err *err)
{
    int64_t *ids = NULL, n = 0, dim = dist_ps_store_dim(s->conf.store, table);
    enum rc rc = dist_ps_store_changed(s->conf.store, table, worker, &ids, &n, err);
    if (!rc)
        rc = reserve(s, n * dim, err);
    if (!rc)
        rc =
            dist_ps_store_read_rows(s->conf.store, table, ids, n, false, s->vectors, err);
    if (!rc) {
        dist_ps_put_u32(&s->out, (uint32_t)table);
        dist_ps_put_ids(&s->out, ids, n);
        buf_add(&s->out, s->vectors, (size_t)(n * dim) * sizeof(float));
    }
    mem_free(ids);
    return rc;
}

static enum rc on_geo(struct dist_ps_server *s, const struct dist_ps_head *h,
                      struct dist_ps_in *in, struct err *err)
{
    struct dist_ps_worker *x = &s->workers[h->worker];
    bool wants;
    int tables = lookup_n_tables(dist_ps_store_lookup(s->conf.store));
    enum rc rc = walk_push(s, *in, WALK_CHECK, &wants, err);
    if (!rc && h->seq > x->done) {
        rc = walk_push(s, *in, WALK_SHIFT, &wants, err);
        x->done = h->seq;
        if (!rc)
            rc = dist_ps_snapshot_write(s, err);
    }
    begin(s, h);
    put_dense(s);
    dist_ps_put_u32(&s->out, (uint32_t)tables);
    for (int t = 0; t < tables && !rc; t++)
        rc = put_changed(s, t, (int)h->worker, err);
    return rc;
}

static enum rc on_save_rows(struct dist_ps_server *s, const struct dist_ps_head *h,
                            struct dist_ps_in *in, struct err *err)
{
    struct dist_ps_piece piece = {0};
    int table;
    enum rc rc = get_table(s, in, &table, err);
    uint64_t from = dist_ps_get_u64(in);
    if (!rc)
        rc = dist_ps_end(in, err);
    if (rc || from > INT64_MAX)
        return rc ? rc : err_coded(err, RC_FORMAT, E2703, "a row that cannot be");
    rc = dist_ps_store_piece(s->conf.store, table, (int64_t)from,
                             dist_ps_piece_rows(s->conf.store, table), &piece, err);
    if (rc)
        return rc;
    begin(s, h);
    dist_ps_put_u64(&s->out, (uint64_t)piece.next);
    dist_ps_put_ids(&s->out, piece.ids, piece.n);
    dist_ps_put_floats(&s->out, piece.rows, piece.n * piece.stride);
    mem_free(piece.ids);
    mem_free(piece.rows);
    return RC_OK;
}

void dist_ps_put_state(struct buf *b, const struct dist_ps_store *store)
{
    struct nn_state state = {0};
    dist_ps_store_state(store, &state);
    dist_ps_put_u32(b, (uint32_t)state.items.n);
    for (size_t i = 0; i < state.items.n; i++) {
        const struct nn_state_item *item = &state.items.at[i];
        dist_ps_put_bytes(b, item->name, strlen(item->name));
        dist_ps_put_u32(b, (uint32_t)item->type);
        dist_ps_put_bytes(b, item->data, (size_t)item->n * nn_state_size(item->type));
    }
    nn_state_release(&state);
}

static enum rc on_save_state(struct dist_ps_server *s, const struct dist_ps_head *h,
                             struct dist_ps_in *in, struct err *err)
{
    begin(s, h);
    put_dense(s);
    dist_ps_put_u64(&s->out, dist_ps_store_steps(s->conf.store));
    dist_ps_put_state(&s->out, s->conf.store);
    return dist_ps_end(in, err);
}

static enum rc on_complete(struct dist_ps_server *s, const struct dist_ps_head *h,
                           const struct comm_link_peer *to, struct err *err)
{
    s->workers[h->worker].complete = true;
    begin(s, h);
    enum rc rc = answer(s, to, err);
    return rc || !round_is_full(s) ? rc : end_round(s, err);
}

/* --- one message --- */

static enum rc dispatch(struct dist_ps_server *s, const struct comm_link_asked *q,
                        const struct dist_ps_head *h, struct dist_ps_in *in, bool *later,
                        struct err *err)
{
    switch (h->kind) {
    case PS_HELLO:
        return on_hello(s, h, in, err);
    case PS_PULL_ROWS:
        return on_pull_rows(s, h, in, err);
    case PS_PULL_DENSE:
        return on_pull_dense(s, h, in, err);
    case PS_PUSH:
        return on_push(s, q, h, in, later, err);
    case PS_GEO:
        if (s->conf.job.mode == PS_GEO_MODE)
            return on_geo(s, h, in, err);
        break;
    case PS_SAVE_ROWS:
        return on_save_rows(s, h, in, err);
    case PS_SAVE_STATE:
        return on_save_state(s, h, in, err);
    case PS_COMPLETE:
        *later = true;
        return on_complete(s, h, &q->peer, err);
    default:
        break;
    }
    return err_coded(err, RC_FORMAT, E2703, "a message %u that nobody asks", h->kind);
}

static enum rc complain(struct dist_ps_server *s, const struct comm_link_asked *q,
                        const struct dist_ps_head *h, const struct err *why,
                        struct err *err)
{
    dist_ps_begin(&s->out, &(struct dist_ps_head){
                               .kind = PS_ERROR, .worker = h->worker, .seq = h->seq});
    dist_ps_put_bytes(&s->out, why->msg, strlen(why->msg));
    return answer(s, &q->peer, err);
}

enum rc dist_ps_server_handle(struct dist_ps_server *s, const struct comm_link_asked *q,
                              struct err *err)
{
    struct dist_ps_head h = {0};
    struct dist_ps_in in;
    struct err why = {0};
    bool later = false;
    enum rc rc = dist_ps_open(q->data, q->n, &in, &h, &why);
    if (!rc && h.worker >= (uint32_t)s->conf.job.workers)
        rc = err_coded(&why, RC_INVAL, E2703, "trainer %u of %d", h.worker,
                       s->conf.job.workers);
    if (!rc) {
        s->workers[h.worker].seen_ns = clock_mono_ns();
        rc = dispatch(s, q, &h, &in, &later, &why);
    }
    if (rc == RC_NOMEM || rc == RC_IO) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc)
        return complain(s, q, &h, &why, err);
    return later ? RC_OK : answer(s, &q->peer, err);
}

/* --- until all are done --- */

static bool all_complete(const struct dist_ps_server *s)
{
    for (int w = 0; w < s->conf.job.workers; w++)
        if (!s->workers[w].complete)
            return false;
    return true;
}

static enum rc look_for_silent(struct dist_ps_server *s, struct err *err)
{
    int64_t now = clock_mono_ns();
    for (int w = 0; w < s->conf.job.workers && s->conf.silence_ms > 0; w++) {
        struct dist_ps_worker *x = &s->workers[w];
        if (x->complete || x->waits || x->seen_ns == 0 ||
            now - x->seen_ns < s->conf.silence_ms * 1000000)
            continue;
        if (s->conf.job.mode == PS_SYNC)
            return err_coded(err, RC_IO, E2705,
                             "trainer %d has said nothing for %jd s, and all others wait",
                             w, (intmax_t)(s->conf.silence_ms / 1000));
        log_warn("trainer %d has said nothing for %jd s: it is not waited for", w,
                 (intmax_t)(s->conf.silence_ms / 1000));
        x->complete = true;
    }
    return RC_OK;
}

enum rc dist_ps_server_run(struct dist_ps_server *s, struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && !all_complete(s)) {
        struct comm_link_asked q;
        if (s->conf.stop && *s->conf.stop)
            return err_set(err, RC_CANCELED, "told to stop");
        rc = comm_link_receive(s->conf.link, WAIT_MS, &q, err);
        if (!rc && q.data)
            rc = dist_ps_server_handle(s, &q, err);
        if (!rc)
            rc = look_for_silent(s, err);
    }
    return rc;
}
