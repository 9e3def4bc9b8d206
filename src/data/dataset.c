/* SPDX-License-Identifier: Apache-2.0 */
/* Each slot has a short queue of finished batches. A thread takes a slot that nobody
 * works on and whose queue has room, the one that the consumer will come to first, and
 * makes its next batch; the consumer takes from the slots in turn. So no thread waits for
 * another, and the order never depends on them.
 *
 * A pass starts and joins its threads: passes are long, and nothing is left to be
 * undone when one is over.
 */
#include "data/dataset.h"

#include "base/clock.h"
#include "base/mem.h"
#include "data/dataset_private.h"

static void stop_threads(struct dataset *d)
{
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_broadcast(&d->drained_some);
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; i < d->n_workers; i++)
        pthread_join(d->workers[i], NULL);
    mem_free(d->workers);
    d->workers = NULL;
    d->n_workers = 0;
    d->stop = false;
}

void dataset_close(struct dataset *d)
{
    if (!d)
        return;
    atomic_store(&d->quit, true);
    stop_threads(d);
    ds_release_slots(d);
    ds_release(d);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->filled);
    pthread_cond_destroy(&d->drained_some);
    mem_free(d);
}

const struct data_schema *dataset_schema(const struct dataset *d)
{
    return &d->schema;
}

int64_t dataset_rows(const struct dataset *d)
{
    return d->rows;
}

const char *dataset_first_file(const struct dataset *d, const char **format)
{
    *format = d->files[0].ops->name;
    return d->files[0].path;
}

size_t dataset_files(const struct dataset *d)
{
    return d->n_files;
}

int64_t dataset_time(const struct dataset *d)
{
    return d->out ? d->out->time_ms : 0;
}

static struct ds_batch *take_idle(struct ds_slot *s)
{
    struct ds_batch *b = s->spare;
    struct dataset *d = s->d;
    s->spare = NULL;
    if (b)
        return b;
    pthread_mutex_lock(&d->lock);
    if (s->idle.n)
        b = s->idle.at[--s->idle.n];
    pthread_mutex_unlock(&d->lock);
    if (b)
        return b;
    return ds_batch_create(d);
}

/* With d->lock held: the slot to work on, nearest to the consumer's turn. */
static struct ds_slot *dataset_choose(struct dataset *d)
{
    struct ds_slot *best = NULL;
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[(d->turn + i) % d->n_slots];
        if (s->busy || s->ended || s->q_n == (size_t)d->queue)
            continue;
        if (!best || s->q_n < best->q_n)
            best = s;
    }
    return best;
}

static void *dataset_work(void *arg)
{
    struct dataset *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        struct ds_slot *s = dataset_choose(d);
        if (!s) {
            pthread_cond_wait(&d->drained_some, &d->lock);
            continue;
        }
        struct ds_batch *b = NULL;
        struct err err = {0};
        s->busy = true;
        pthread_mutex_unlock(&d->lock);
        enum rc rc = ds_slot_next(s, take_idle, &b, &err);
        pthread_mutex_lock(&d->lock);
        s->busy = false;
        if (b)
            s->queue[(s->q_at + s->q_n++) % (size_t)d->queue] = b;
        else
            s->ended = true;
        s->rc = rc;
        s->err = err;
        if (s->first_bad.msg[0] && !d->seen_bad.msg[0])
            d->seen_bad = s->first_bad;
        pthread_cond_signal(&d->filled);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static enum rc start_threads(struct dataset *d, struct err *err)
{
    int n = d->threads < d->n_slots ? d->threads : (int)d->n_slots;
    d->workers = mem_calloc((size_t)(n ? n : 1), sizeof(*d->workers));
    for (d->n_workers = 0; d->n_workers < n; d->n_workers++) {
        int no = pthread_create(&d->workers[d->n_workers], NULL, dataset_work, d);
        if (no)
            return err_sys(err, no, "cannot start a reader thread");
    }
    d->running = true;
    return RC_OK;
}

static void keep_bad(struct dataset *d, const struct err *bad)
{
    if (bad->msg[0] && !d->first_bad.msg[0])
        d->first_bad = *bad;
}

/* The next batch of a slot, waiting for it when threads make it; NULL at its end. */
static enum rc pull(struct dataset *d, struct ds_slot *s, struct ds_batch **out,
                    struct err *err)
{
    *out = NULL;
    if (!d->n_workers) {
        if (s->ended)
            return RC_OK;
        enum rc rc = ds_slot_next(s, take_idle, out, err);
        s->ended = !*out;
        keep_bad(d, &s->first_bad);
        return rc;
    }
    pthread_mutex_lock(&d->lock);
    int64_t before = s->q_n || s->ended ? 0 : clock_mono_ns();
    while (s->q_n == 0 && !s->ended)
        pthread_cond_wait(&d->filled, &d->lock);
    if (before)
        d->counts.wait_ns += clock_mono_ns() - before;
    keep_bad(d, &d->seen_bad);
    enum rc rc = RC_OK;
    if (s->q_n) {
        *out = s->queue[s->q_at];
        s->q_at = (s->q_at + 1) % (size_t)d->queue;
        s->q_n--;
        pthread_cond_signal(&d->drained_some);
    } else if (s->rc) {
        rc = s->rc;
        if (err)
            *err = s->err;
    }
    pthread_mutex_unlock(&d->lock);
    return rc;
}

/* Of streams: the next batch of whichever slot has one; *which is its slot. */
static enum rc pull_any(struct dataset *d, struct ds_slot **which, struct ds_batch **out,
                        struct err *err)
{
    int64_t before = clock_mono_ns(), ended = 0;
    enum rc rc = RC_OK;
    *out = NULL;
    pthread_mutex_lock(&d->lock);
    while (!rc && !*out && ended < d->n_slots) {
        ended = 0;
        for (int64_t i = 0; !rc && !*out && i < d->n_slots; i++) {
            struct ds_slot *s = &d->slots[(d->turn + i) % d->n_slots];
            *which = s;
            if (s->q_n) {
                *out = s->queue[s->q_at];
                s->q_at = (s->q_at + 1) % (size_t)d->queue;
                s->q_n--;
                pthread_cond_broadcast(&d->drained_some);
            } else if (s->ended) {
                rc = s->rc;
                if (rc && err)
                    *err = s->err;
                ended++;
            }
        }
        if (!rc && !*out && ended < d->n_slots)
            pthread_cond_wait(&d->filled, &d->lock);
    }
    d->counts.wait_ns += clock_mono_ns() - before;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static void give_back(struct dataset *d)
{
    if (!d->out)
        return;
    pthread_mutex_lock(&d->lock);
    VEC_PUSH(&d->out_slot->idle, d->out);
    pthread_mutex_unlock(&d->lock);
    d->out = NULL;
}

static void held_swap(struct ds_mark *a, struct ds_mark *b)
{
    struct ds_mark swap = *a;
    *a = *b;
    *b = swap;
}

static void set_turn(struct dataset *d, int64_t turn)
{
    pthread_mutex_lock(&d->lock);
    d->turn = turn;
    pthread_mutex_unlock(&d->lock);
}

static void hand_out(struct dataset *d, struct ds_slot *s, struct ds_batch *b)
{
    d->out = b;
    d->out_slot = s;
    set_turn(d, (s - d->slots + 1) % d->n_slots);
    held_swap(&s->mark, &b->mark);
    d->counts.rows += b->b.n;
    d->counts.batches++;
    d->counts.malformed += b->malformed;
    d->counts.skipped += b->skipped;
}

/* The pass is over: what the slots lost behind their last batch is counted now. */
static void finish_pass(struct dataset *d)
{
    stop_threads(d);
    d->running = false;
    d->pass_over = true;
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[i];
        d->counts.malformed += s->lost_malformed;
        d->counts.skipped += s->lost_skipped;
        s->lost_malformed = s->lost_skipped = 0;
        ds_mark_now(s, &s->mark);
        keep_bad(d, &s->first_bad);
    }
}

static enum rc next_pass(struct dataset *d, struct err *err)
{
    span_vec all = {0};
    d->epoch++;
    d->pass_over = false;
    d->turn = 0;
    for (int64_t i = 0; i < d->n_slots; i++) {
        struct ds_slot *s = &d->slots[i];
        s->spans.n = s->span = 0;
        s->opened = s->drained = s->ended = false;
        s->single_to = 0;
        s->drawn = 0;
    }
    ds_all_spans(d, &all);
    enum rc rc = ds_plan(d, &all, true, err);
    VEC_RELEASE(&all);
    return rc;
}

enum rc dataset_next(struct dataset *d, const struct batch **out, struct err *err)
{
    enum rc rc = RC_OK;
    struct ds_batch *b = NULL;
    int64_t now = clock_mono_ns();
    if (!d->started_ns)
        d->started_ns = now;
    give_back(d);
    if (d->pass_over)
        rc = next_pass(d, err);
    if (!rc && !d->running)
        rc = start_threads(d, err);
    if (!rc && d->streams) {
        struct ds_slot *s = NULL;
        rc = pull_any(d, &s, &b, err);
        if (b)
            hand_out(d, s, b);
    }
    for (int64_t tried = 0; !rc && !b && !d->streams && tried < d->n_slots; tried++) {
        struct ds_slot *s = &d->slots[d->turn];
        rc = pull(d, s, &b, err);
        if (b)
            hand_out(d, s, b);
        else
            set_turn(d, (d->turn + 1) % d->n_slots);
    }
    if (!rc && !b)
        finish_pass(d);
    d->counts.all_ns = clock_mono_ns() - d->started_ns;
    if (!d->n_workers)
        d->counts.wait_ns += clock_mono_ns() - now;
    if (!rc)
        *out = b ? &b->b : NULL;
    return rc;
}

size_t dataset_parts(const struct dataset *d, struct dataset_part *out, size_t max,
                     bool *loose)
{
    const struct ds_batch *b = d->out;
    *loose = b && b->malformed;
    if (!b)
        return 0;
    for (size_t i = 0; i < b->spans.n && i < max; i++) {
        const struct ds_span *s = &b->spans.at[i];
        const struct ds_file *f = &d->files[s->file];
        out[i] = (struct dataset_part){
            .path = f->path, .row = s->from.row + 1, .n = s->to - s->from.row};
        if (f->ops->delimited && s->from.line > 0)
            out[i].line = s->from.line + s->from.back;
    }
    return b->spans.n;
}

void dataset_counts(const struct dataset *d, struct dataset_counts *out)
{
    *out = d->counts;
    out->epoch = d->epoch;
}

const char *dataset_first_bad(const struct dataset *d)
{
    return d->first_bad.msg;
}
