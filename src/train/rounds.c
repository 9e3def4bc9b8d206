/* SPDX-License-Identifier: Apache-2.0 */
/* A feeder for each shard of this rank. Before a batch the ranks tell each other how many
 * rows their shards have, which is all that they need to know of each other's data; what
 * a rank asks of all (to stop, to save), and how long the last step took it, goes along.
 *
 * There are two turns: the batch at hand, and the next one, which train_rounds_ahead() draws
 * while the former is worked on. What is wrong with the rows of the next one is said when it
 * is its turn: other ranks expect this one to take part until then.
 */
#include "train/rounds.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "comm/courier.h"
#include "model/reference.h"
#include "train/columns.h"
#include "train/event_time.h"

struct stream {
    struct train_feeder *feeder;
    struct train_fed last; /* that was drawn */
    bool ended;            /* waits for the others' end of the pass */
    const char *position;  /* behind the batch at hand; NULL: before the first */
    char *kept;            /* owned: `position` at the end of a pass */
};

#define ROWS_MAX ((int64_t)1 << 40)   /* of a shard of a batch; sums stay numbers */
enum { ASK, BUSY, COMM_TIME, WORDS }; /* in front of the rows of a rank's shards */

/* A batch of all ranks. */
struct turn {
    struct comm *comm;               /* borrowed */
    struct train_fed *fed;           /* [shards.n] */
    const struct feature_batch **at; /* [shards.n] */
    int64_t *rows;                   /* [shards.total] */
    int64_t *times;                  /* event times [shards.total] */
    int64_t *own, *all;        /* WORDS, then rows, then times: here, of all ranks */
    const int64_t *counts;     /* of train_rounds */
    bool over;                 /* of this rank's shards */
    struct comm_errand errand; /* tells the others */
    enum rc rc;                /* of this rank's rows */
    struct err err;
};

struct train_rounds {
    struct comm *comm;            /* borrowed */
    struct comm_courier *courier; /* borrowed; NULL: none */
    struct train_pace *paces;     /* [world] */
    int64_t told_ns,
        told_comm_ns; /* the clock and the comm's, when they were told last */
    struct dist_shards shards;
    struct arena arena;
    struct stream *streams; /* [shards.n] */
    struct turn turns[2];
    int at;     /* the turn at hand */
    bool ahead; /* the other one was drawn */
    double quorum;
    int64_t *counts; /* [world] */
    int64_t batch_size;
};

static void make_turn(struct train_rounds *r, struct turn *t)
{
    int world = comm_world(r->comm);
    size_t n = (size_t)r->shards.n, total = (size_t)r->shards.total;
    t->comm = r->comm;
    t->fed = mem_calloc(n, sizeof(*t->fed));
    t->at = mem_calloc(n, sizeof(*t->at));
    t->rows = mem_calloc(total, sizeof(*t->rows));
    t->times = mem_calloc(total, sizeof(*t->times));
    t->own = mem_calloc(2 * n + WORDS, sizeof(*t->own));
    t->all = mem_calloc(2 * total + (size_t)world * WORDS, sizeof(*t->all));
    t->counts = r->counts;
}

static void release_turn(struct turn *t)
{
    mem_free(t->fed);
    mem_free(t->at);
    mem_free(t->rows);
    mem_free(t->times);
    mem_free(t->own);
    mem_free(t->all);
}

static void make_room(struct train_rounds *r)
{
    int world = comm_world(r->comm);
    r->streams = mem_calloc((size_t)r->shards.n, sizeof(*r->streams));
    r->paces = mem_calloc((size_t)world, sizeof(*r->paces));
    r->counts = mem_calloc((size_t)world, sizeof(*r->counts));
    for (int i = 0; i < world; i++)
        r->counts[i] = WORDS + 2 * dist_shards_of(i, world, r->shards.total).n;
    for (int i = 0; i < 2; i++)
        make_turn(r, &r->turns[i]);
}

static enum rc open_stream(struct train_rounds *r, const struct train_session *s,
                           const struct train_rounds_conf *c, int i, struct diags *diags,
                           struct err *err)
{
    struct sampler_conf sampler;
    struct train_source_share share = {0};
    struct train_feeder_conf conf = {.plan = s->plan,
                                     .epochs = c->epochs,
                                     .positions = c->positions,
                                     .keeps = 2,
                                     .first_step = c->first_step};
    if (r->shards.total > 1)
        share =
            (struct train_source_share){.at = r->shards.first + i, .of = r->shards.total};
    share.workers = s->options.reference & REFERENCE_WORKERS;
    if (c->use == SOURCE_TRAIN)
        conf.mask = train_mask_conf_of(s->conf->data_config, s->plan, s->options.seed,
                                       (uint64_t)share.at);
    if (train_source_sampler(s->conf->data_config, s->plan, c->use, s->options.seed,
                             share, &r->arena, &sampler))
        conf.sampler = &sampler;
    enum rc rc = train_source_conf(s->conf->data_config, s->plan, c->path, c->use,
                                   s->options.seed, share, &r->arena, &conf.data, err);
    if (!rc && s->columns.n) {
        train_columns_conf(&s->columns, s->plan, &r->arena, &conf.data.reader);
        conf.columns = &s->columns;
    }
    conf.data.cursor = c->cursor;
    conf.data.prints = c->positions || comm_world(s->options.comm) > 1; /* they compare */
    r->batch_size = conf.data.batch_cost ? 0 : conf.data.batch_size;
    return rc ? rc : train_feeder_open(&conf, &r->streams[i].feeder, diags, err);
}

enum rc train_rounds_open(const struct train_session *s,
                          const struct train_rounds_conf *conf, struct train_rounds **out,
                          struct diags *diags, struct err *err)
{
    struct train_rounds *r = mem_calloc(1, sizeof(*r));
    enum rc rc = RC_OK;
    r->comm = s->options.comm;
    r->courier = s->courier;
    r->shards = s->shards;
    r->quorum = conf->quorum;
    make_room(r);
    for (int i = 0; i < r->shards.n && !rc; i++)
        rc = open_stream(r, s, conf, i, diags, err);
    if (rc)
        train_rounds_close(r);
    else
        *out = r;
    return rc;
}

void train_rounds_close(struct train_rounds *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->shards.n; i++) {
        train_feeder_close(r->streams[i].feeder);
        mem_free(r->streams[i].kept);
    }
    for (int i = 0; i < 2; i++)
        release_turn(&r->turns[i]);
    mem_free(r->streams);
    mem_free(r->paces);
    mem_free(r->counts);
    arena_release(&r->arena);
    mem_free(r);
}

/* What this rank has done since it last told the others. */
static void measure(struct train_rounds *r, struct turn *t)
{
    int64_t now = clock_mono_ns(), comm = comm_ns(r->comm);
    t->own[COMM_TIME] = comm - r->told_comm_ns;
    t->own[BUSY] = r->told_ns ? now - r->told_ns - t->own[COMM_TIME] : 0;
    r->told_ns = now;
    r->told_comm_ns = comm;
}

static enum rc tell_each_other(void *arg, struct err *err)
{
    struct turn *t = arg;
    return comm_all_gather(t->comm, comm_i64(t->own), comm_i64(t->all), t->counts, err);
}

/* Rows of each shard, as far as nothing is wrong with them. */
static void draw_rows(struct train_rounds *r, struct turn *t)
{
    t->rc = RC_OK;
    t->over = true;
    for (int i = 0; i < r->shards.n; i++) {
        struct stream *s = &r->streams[i];
        if (!s->ended && !t->rc) {
            t->rc = train_feeder_next(s->feeder, &s->last, &t->err);
            s->ended = !t->rc && !s->last.features;
        }
        t->fed[i] = s->last;
        t->at[i] = t->rc ? NULL : s->last.features;
        t->over = t->over && s->ended && !s->last.position;
    }
}

/* The next rows; the errand is left to the caller. */
static void draw(struct train_rounds *r, struct turn *t, unsigned ask)
{
    draw_rows(r, t);
    measure(r, t);
    t->own[ASK] = ask;
    for (int i = 0; i < r->shards.n; i++) {
        t->own[WORDS + i] = t->at[i] ? t->at[i]->rows : 0;
        t->own[WORDS + r->shards.n + i] = t->at[i] ? t->fed[i].time_ms : 0;
    }
    t->errand = (struct comm_errand){.run = tell_each_other, .arg = t};
}

/* What arrived has this rank's own rows, and no less than none of others. */
static enum rc check_rows(const struct train_rounds *r, const struct turn *t,
                          struct err *err)
{
    for (int i = 0; i < r->shards.total; i++) {
        int own = i - r->shards.first;
        bool here = own >= 0 && own < r->shards.n;
        if (t->rows[i] < 0 || t->rows[i] > ROWS_MAX ||
            (here && t->rows[i] != t->own[WORDS + own]))
            return comm_broken(r->comm, "all_gather", err, "%jd rows for shard %d",
                               (intmax_t)t->rows[i], i);
    }
    return RC_OK;
}

/* t->rows, t->times: of the shards of all ranks. */
static void sort_out(struct train_rounds *r, struct turn *t, unsigned *asked)
{
    const int64_t *from = t->all;
    int64_t done = 0;
    for (int k = 0; k < comm_world(r->comm); k++) {
        int64_t n = (r->counts[k] - WORDS) / 2;
        *asked |= (unsigned)from[ASK];
        r->paces[k] =
            (struct train_pace){.busy_ns = from[BUSY], .comm_ns = from[COMM_TIME]};
        from += WORDS;
        memcpy(t->rows + done, from, (size_t)n * sizeof(*from));
        memcpy(t->times + done, from + n, (size_t)n * sizeof(*from));
        from += 2 * n;
        done += n;
    }
}

static bool has_rows(const struct train_rounds *r, const struct turn *t)
{
    for (int i = 0; i < r->shards.total; i++)
        if (t->rows[i])
            return true;
    return false;
}

/* The position of a shard is behind its batch at hand. */
static void move_on(struct stream *s, const struct train_fed *fed)
{
    if (fed->features) {
        s->position = fed->position;
    } else if (fed->position && fed->position != s->position) {
        char *kept = mem_strdup(fed->position); /* the feeder's memory is used again */
        mem_free(s->kept);
        s->position = s->kept = kept;
    }
}

static void fill_round(struct train_rounds *r, struct turn *t, struct train_round *out)
{
    for (int i = 0; i < r->shards.n; i++) {
        move_on(&r->streams[i], &t->fed[i]);
        out->epoch = t->fed[i].epoch;
        if (t->at[i] && !out->fed)
            out->fed = &t->fed[i];
    }
    out->any = has_rows(r, t);
    out->paces = comm_world(r->comm) > 1 ? r->paces : NULL;
    if (out->any && r->quorum > 0)
        out->event_ms = train_event_quorum(t->times, (size_t)r->shards.total, r->quorum);
    for (int i = 0; i < r->shards.n && !out->any; i++)
        r->streams[i].ended = false;
}

void train_rounds_ahead(struct train_rounds *r, unsigned ask,
                        const struct feature_batch *const **at)
{
    struct turn *t = &r->turns[1 - r->at];
    draw(r, t, ask);
    comm_courier_post(r->courier, &t->errand);
    r->ahead = true;
    *at = t->at;
}

enum rc train_rounds_next(struct train_rounds *r, unsigned ask, struct train_round *out,
                          struct err *err)
{
    r->at = 1 - r->at;
    struct turn *t = &r->turns[r->at];
    *out = (struct train_round){.batch = {.at = t->at, .rows = t->rows}};
    if (!r->ahead) {
        draw(r, t, ask);
        if (t->rc) { /* nobody counts on this rank yet */
            if (err)
                *err = t->err;
            return t->rc;
        }
        comm_courier_post(NULL, &t->errand);
    }
    enum rc rc = comm_courier_wait(r->ahead ? r->courier : NULL, &t->errand, err);
    r->ahead = false;
    if (rc)
        return rc;
    if (t->rc && err)
        *err = t->err;
    out->over = t->over;
    sort_out(r, t, &out->asked);
    rc = check_rows(r, t, err);
    if (!rc)
        fill_round(r, t, out);
    return rc ? rc : t->rc;
}

/* The texts of this rank's shards, each with its zero byte. */
static void put_own(const struct train_rounds *r, struct buf *out)
{
    for (int i = 0; i < r->shards.n; i++)
        if (r->streams[i].position)
            buf_add(out, r->streams[i].position, strlen(r->streams[i].position) + 1);
}

enum rc train_rounds_position(struct train_rounds *r, struct buf *out, struct err *err)
{
    struct buf own;
    void *got = NULL;
    int64_t n = 0;
    size_t found = 0;
    if (r->shards.total == 1) {
        buf_puts(out, r->streams[0].position ? r->streams[0].position : "");
        return RC_OK;
    }
    buf_init(&own, (size_t)1 << 30);
    put_own(r, &own);
    const char **texts = mem_calloc((size_t)r->shards.total, sizeof(*texts));
    enum rc rc = comm_gather_bytes(r->comm, own.p, (int64_t)own.n, &got, &n, err);
    const char *all = got;
    for (int64_t at = 0; !rc && at < n; at += (int64_t)strlen(all + at) + 1) {
        if (found == (size_t)r->shards.total)
            rc =
                comm_broken(r->comm, "all_gather", err, "more than %zu positions", found);
        else
            texts[found++] = all + at;
    }
    if (!rc && found == (size_t)r->shards.total)
        rc = dataset_merge(texts, found, out, err);
    mem_free(texts);
    mem_free(got);
    buf_release(&own);
    return rc;
}

const char *train_rounds_notes(const struct train_rounds *r)
{
    return train_feeder_notes(r->streams[0].feeder);
}

int64_t train_rounds_rows(const struct train_rounds *r)
{
    return train_feeder_rows(r->streams[0].feeder);
}

enum rc train_rounds_no_rows(const struct train_rounds *r, const char *path,
                             struct err *err)
{
    int64_t rows = train_rounds_rows(r);
    if (rows > 0 && rows < r->shards.total)
        return err_coded(err, RC_INVAL, E1406,
                         "'%s': %jd %s fewer than %d shards, so none has a whole batch",
                         path, (intmax_t)rows, rows == 1 ? "row is" : "rows are",
                         r->shards.total);
    return err_coded(err, RC_INVAL, E1406, "no rows in '%s'", path);
}

uint64_t train_rounds_digest(const struct train_rounds *r)
{
    return train_feeder_digest(r->streams[0].feeder);
}

void train_rounds_outside(struct train_rounds *r, bool pass, struct buf *out)
{
    for (int i = 0; i < r->shards.n; i++)
        train_feeder_outside(r->streams[i].feeder, pass, out);
}

const struct data_schema *train_rounds_schema(const struct train_rounds *r)
{
    return train_feeder_schema(r->streams[0].feeder);
}

size_t train_rounds_files(const struct train_rounds *r)
{
    return train_feeder_files(r->streams[0].feeder);
}

int64_t train_rounds_waited(const struct train_rounds *r)
{
    int64_t ns = 0;
    for (int i = 0; i < r->shards.n; i++)
        ns += train_feeder_waited(r->streams[i].feeder);
    return ns;
}

int64_t train_rounds_batch_size(const struct train_rounds *r)
{
    return r->batch_size;
}

void train_rounds_name(const struct train_rounds *r, int shard, struct err *err)
{
    const struct train_fed *fed = r->turns[r->at].fed;
    if (shard >= 0 && fed[shard].where)
        train_where_name(fed[shard].where, err);
}
