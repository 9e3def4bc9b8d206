/* SPDX-License-Identifier: Apache-2.0 */
/* A ring with one writer and one reader. The reader keeps the slot that it was given
 * until it asks for the next (or, with .keeps, for one behind that), so a ring of depth d has
 * at most d - 1 batches waiting.
 */
#include "train/feeder.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "train/columns.h"

#define DEPTH 3

struct feeder_slot {
    struct feature_batch *features;
    struct buf position;
    int64_t epoch;
    bool pass_end;
    struct buf outside; /* of a pass that ends here */
    int64_t time_ms;
    struct train_where where;
    int64_t begun_ns, read_ns, made_ns;
};

struct train_feeder {
    struct train_feeder_conf conf;
    struct dataset *data;
    struct feature_scratch *scratch;
    struct sampler *sampler; /* NULL: none */
    struct sampler_scratch *draws;
    struct train_mask mask;
    uint64_t step;            /* batches made so far, the thread's own */
    struct feeder_slot *ring; /* [depth] */
    int depth;
    pthread_t thread;
    bool started;
    int64_t wait_ns; /* the reader's own */
    int held;        /* slots that the reader has: ring[head] and on */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    int head, n; /* filled slots: head, head + 1, ... */
    bool stop, ended;
    struct train_outside outside; /* of the pass under way */
    enum rc rc; /* of the thread; the reader gets it after the batches before it */
    struct err err;
};

/* Waits for a free slot; NULL when the feeder is being closed. */
static struct feeder_slot *free_slot(struct train_feeder *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->stop && f->n == f->depth)
        pthread_cond_wait(&f->changed, &f->lock);
    struct feeder_slot *s = f->stop ? NULL : &f->ring[(f->head + f->n) % f->depth];
    pthread_mutex_unlock(&f->lock);
    return s;
}

static void publish(struct train_feeder *f)
{
    pthread_mutex_lock(&f->lock);
    f->n++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void finish(struct train_feeder *f, enum rc rc, const struct err *err)
{
    pthread_mutex_lock(&f->lock);
    f->ended = true;
    f->rc = rc;
    if (rc)
        f->err = *err;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* Features of a batch and of what the sampler adds to it. */
static enum rc make_features(struct train_feeder *f, const struct batch *rows,
                             struct feature_batch *out, struct err *err)
{
    struct sampled sampled = {.rows = rows};
    uint64_t step = f->step++;
    enum rc rc =
        f->sampler ? sampler_run(f->sampler, f->draws, rows, step, &sampled, err) : RC_OK;
    if (rc)
        return err_wrap(err, rc, "sampler");
    rc = train_mask_draw(&f->mask, &f->conf.mask, &sampled, step, err);
    if (rc)
        return rc;
    return feature_run_sampled(f->conf.plan, f->scratch, &sampled, f->mask.at, out, err);
}

static void count_outside(struct train_feeder *f, const struct feeder_slot *s)
{
    pthread_mutex_lock(&f->lock);
    train_outside_add(&f->outside, f->conf.plan, s->features, &s->where);
    pthread_mutex_unlock(&f->lock);
}

static void end_outside(struct train_feeder *f, struct feeder_slot *s)
{
    buf_clear(&s->outside);
    pthread_mutex_lock(&f->lock);
    train_outside_take(&f->outside, f->conf.plan, &s->outside);
    pthread_mutex_unlock(&f->lock);
}

/* Fills one slot; *over when the last pass ended with it. */
static enum rc fill_slot(struct train_feeder *f, struct feeder_slot *s, int64_t *epoch,
                         bool *over, struct err *err)
{
    const struct batch *rows = NULL;
    s->begun_ns = clock_mono_ns();
    enum rc rc = dataset_next(f->data, &rows, err);
    if (rc)
        return rc;
    s->read_ns = clock_mono_ns();
    s->epoch = *epoch;
    s->pass_end = rows == NULL;
    s->time_ms = dataset_time(f->data);
    if (!rows) {
        *over = ++*epoch == f->conf.epochs;
        end_outside(f, s);
    } else {
        train_where_take(&s->where, f->data);
        rc = make_features(f, rows, s->features, err);
        if (rc)
            train_where_name(&s->where, err);
        else
            count_outside(f, s);
    }
    s->made_ns = clock_mono_ns();
    if (!rc && f->conf.positions) {
        buf_clear(&s->position);
        dataset_tell(f->data, &s->position);
    }
    return rc;
}

static void *feeder_thread(void *arg)
{
    struct train_feeder *f = arg;
    struct err err = {0};
    struct dataset_counts counts;
    dataset_counts(f->data, &counts);
    int64_t epoch = counts.epoch;
    bool over = f->conf.epochs > 0 && epoch >= f->conf.epochs;
    enum rc rc = RC_OK;
    while (!over && !rc) {
        struct feeder_slot *s = free_slot(f);
        if (!s)
            break;
        rc = fill_slot(f, s, &epoch, &over, &err);
        if (!rc)
            publish(f);
    }
    finish(f, rc, &err);
    return NULL;
}

static void make_ring(struct train_feeder *f)
{
    if (f->conf.keeps < 1)
        f->conf.keeps = 1;
    f->depth = (f->conf.depth > 1 ? f->conf.depth : DEPTH) + f->conf.keeps - 1;
    f->ring = mem_calloc((size_t)f->depth, sizeof(*f->ring));
    for (int i = 0; i < f->depth; i++) {
        f->ring[i].features = feature_batch_create(f->conf.plan);
        buf_init(&f->ring[i].position, (size_t)1 << 30);
        buf_init(&f->ring[i].outside, (size_t)1 << 24);
    }
}

static enum rc open_sampler(struct train_feeder *f, struct err *err)
{
    f->step = f->conf.first_step;
    if (!f->conf.sampler)
        return RC_OK;
    enum rc rc = sampler_open(f->conf.sampler, dataset_schema(f->data), &f->sampler, err);
    if (rc)
        return err_wrap(err, rc, "sampler");
    f->draws = sampler_scratch_create(f->sampler);
    return RC_OK;
}

/* Columns of a file with nothing but a header have no types: say that, not what follows. */
static enum rc check_columns(struct train_feeder *f, struct diags *diags, struct err *err)
{
    const struct batch *rows = NULL;
    enum rc rc = feature_plan_check(f->conf.plan, dataset_schema(f->data), diags);
    if (!rc && f->conf.columns) {
        const char *format, *path = dataset_first_file(f->data, &format);
        return train_columns_check(f->conf.columns, f->conf.plan, dataset_schema(f->data),
                                   reader_find(format)->text, path, err);
    }
    if (!rc || dataset_next(f->data, &rows, NULL) || rows)
        return rc;
    diags_release(diags);
    return err_coded(err, RC_INVAL, E1406, "no rows in '%s'%s", f->conf.data.input,
                     dataset_rows(f->data) ? ": it holds a header and nothing else" : "");
}

enum rc train_feeder_open(const struct train_feeder_conf *conf, struct train_feeder **out,
                          struct diags *diags, struct err *err)
{
    struct train_feeder *f = mem_calloc(1, sizeof(*f));
    f->conf = *conf;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    enum rc rc = dataset_open(&conf->data, &f->data, err);
    if (!rc)
        rc = check_columns(f, diags, err);
    if (!rc)
        rc = open_sampler(f, err);
    if (!rc) {
        f->scratch = feature_scratch_create(conf->plan);
        make_ring(f);
        int failed = pthread_create(&f->thread, NULL, feeder_thread, f);
        f->started = !failed;
        if (failed)
            rc = err_sys(err, failed, "cannot start a thread");
    }
    if (rc)
        train_feeder_close(f);
    else
        *out = f;
    return rc;
}

void train_feeder_close(struct train_feeder *f)
{
    if (!f)
        return;
    if (f->started) {
        pthread_mutex_lock(&f->lock);
        f->stop = true;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
        pthread_join(f->thread, NULL);
    }
    for (int i = 0; f->ring && i < f->depth; i++) {
        feature_batch_destroy(f->ring[i].features);
        buf_release(&f->ring[i].position);
        buf_release(&f->ring[i].outside);
        train_where_release(&f->ring[i].where);
    }
    mem_free(f->ring);
    feature_scratch_destroy(f->scratch);
    sampler_scratch_destroy(f->draws);
    sampler_close(f->sampler);
    train_outside_release(&f->outside);
    train_mask_release(&f->mask);
    dataset_close(f->data);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}

static void give_back(struct train_feeder *f)
{
    if (f->held < f->conf.keeps)
        return;
    f->head = (f->head + 1) % f->depth;
    f->n--;
    f->held--;
    pthread_cond_broadcast(&f->changed);
}

enum rc train_feeder_next(struct train_feeder *f, struct train_fed *out, struct err *err)
{
    int64_t start = clock_mono_ns();
    *out = (struct train_fed){0};
    pthread_mutex_lock(&f->lock);
    give_back(f);
    while (f->n == f->held && !f->ended)
        pthread_cond_wait(&f->changed, &f->lock);
    bool more = f->n > f->held;
    enum rc rc = more ? RC_OK : f->rc;
    if (rc && err)
        *err = f->err;
    struct feeder_slot *s = more ? &f->ring[(f->head + f->held) % f->depth] : NULL;
    f->held += more;
    pthread_mutex_unlock(&f->lock);
    f->wait_ns += clock_mono_ns() - start;
    if (s)
        *out = (struct train_fed){.features = s->pass_end ? NULL : s->features,
                                  .position =
                                      f->conf.positions ? buf_str(&s->position) : NULL,
                                  .epoch = s->epoch,
                                  .time_ms = s->time_ms,
                                  .where = &s->where,
                                  .begun_ns = s->begun_ns,
                                  .read_ns = s->read_ns,
                                  .made_ns = s->made_ns};
    return rc;
}

struct feature_batch *train_feeder_swap(struct train_feeder *f,
                                        struct feature_batch *spare)
{
    assert(f->held > 0);
    struct feeder_slot *s = &f->ring[(f->head + f->held - 1) % f->depth];
    struct feature_batch *out = s->features;
    assert(!s->pass_end);
    s->features = spare;
    return out;
}

void train_feeder_outside(struct train_feeder *f, bool pass, struct buf *out)
{
    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < f->n; i++) { /* of passes that ended, and have not been told */
        struct feeder_slot *s = &f->ring[(f->head + i) % f->depth];
        if (s->pass_end && (!pass || i == f->held - 1)) {
            buf_puts(out, buf_str(&s->outside));
            buf_clear(&s->outside);
        }
    }
    if (!pass)
        train_outside_take(&f->outside, f->conf.plan, out);
    pthread_mutex_unlock(&f->lock);
}

const char *train_feeder_notes(const struct train_feeder *f)
{
    return f->sampler ? sampler_notes(f->sampler) : "";
}

int64_t train_feeder_rows(const struct train_feeder *f)
{
    return dataset_rows(f->data);
}

uint64_t train_feeder_digest(const struct train_feeder *f)
{
    return dataset_digest(f->data);
}

const struct data_schema *train_feeder_schema(const struct train_feeder *f)
{
    return dataset_schema(f->data);
}

size_t train_feeder_files(const struct train_feeder *f)
{
    return dataset_files(f->data);
}

int64_t train_feeder_waited(const struct train_feeder *f)
{
    return f->wait_ns;
}
