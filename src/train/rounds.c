/* SPDX-License-Identifier: Apache-2.0 */
/* A feeder for each shard of this rank. Before a batch the ranks tell each other how many
 * rows their shards have, which is all that they need to know of each other's data; what
 * a rank asks of all (to stop, to save), and how long the last step took it, goes along.
 */
#include "train/rounds.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "model/reference.h"
#include "train/columns.h"
#include "train/event_time.h"

struct stream {
    struct train_feeder *feeder;
    struct train_fed fed; /* the last */
    bool ended;           /* waits for the others' end of the pass */
    const char *position; /* behind the last batch; NULL: before the first */
    char *kept;           /* owned: `position` at the end of a pass */
};

enum { ASK, BUSY, COMM_TIME, WORDS }; /* in front of the rows of a rank's shards */

struct train_rounds {
    struct comm *comm;        /* borrowed */
    struct train_pace *paces; /* [world] */
    int64_t told_ns,
        told_comm_ns; /* the clock and the comm's, when they were told last */
    struct dist_shards shards;
    struct arena arena;
    struct stream *streams;          /* [shards.n] */
    const struct feature_batch **at; /* [shards.n] */
    int64_t *rows;                   /* [shards.total] */
    int64_t *times;                  /* event times [shards.total] */
    int64_t *own, *all; /* WORDS, then rows, then times: here, of all ranks */
    double quorum;
    int64_t *counts; /* [world] */
    int64_t batch_size;
};

static void make_room(struct train_rounds *r)
{
    int world = comm_world(r->comm);
    size_t n = (size_t)r->shards.n, total = (size_t)r->shards.total;
    r->streams = mem_calloc(n, sizeof(*r->streams));
    r->at = mem_calloc(n, sizeof(*r->at));
    r->rows = mem_calloc(total, sizeof(*r->rows));
    r->times = mem_calloc(total, sizeof(*r->times));
    r->own = mem_calloc(2 * n + WORDS, sizeof(*r->own));
    r->all = mem_calloc(2 * total + (size_t)world * WORDS, sizeof(*r->all));
    r->paces = mem_calloc((size_t)world, sizeof(*r->paces));
    r->counts = mem_calloc((size_t)world, sizeof(*r->counts));
    for (int i = 0; i < world; i++)
        r->counts[i] = WORDS + 2 * dist_shards_of(i, world, r->shards.total).n;
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
                                     .first_step = c->first_step};
    if (r->shards.total > 1)
        share =
            (struct train_source_share){.at = r->shards.first + i, .of = r->shards.total};
    share.workers = s->options.reference & REFERENCE_WORKERS;
    if (c->use == SOURCE_TRAIN)
        conf.mask = train_mask_conf_of(s->conf->data_config, s->plan, s->options.seed,
                                       (uint64_t)share.at);
    if (train_source_sampler(s->conf->data_config, c->use, s->options.seed, share,
                             &sampler))
        conf.sampler = &sampler;
    enum rc rc = train_source_conf(s->conf->data_config, s->plan, c->path, c->use,
                                   s->options.seed, share, &r->arena, &conf.data, err);
    if (!rc && s->columns.n) {
        train_columns_conf(&s->columns, s->plan, &r->arena, &conf.data.reader);
        conf.columns = &s->columns;
    }
    conf.data.cursor = c->cursor;
    conf.data.prints = c->positions;
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
    mem_free(r->streams);
    mem_free(r->at);
    mem_free(r->rows);
    mem_free(r->times);
    mem_free(r->own);
    mem_free(r->paces);
    mem_free(r->all);
    mem_free(r->counts);
    arena_release(&r->arena);
    mem_free(r);
}

static enum rc next_of(struct stream *s, struct err *err)
{
    enum rc rc = train_feeder_next(s->feeder, &s->fed, err);
    if (rc)
        return rc;
    s->ended = s->fed.features == NULL;
    if (!s->ended) {
        s->position = s->fed.position;
    } else if (s->fed.position) { /* the feeder's memory is used again */
        mem_free(s->kept);
        s->position = s->kept = mem_strdup(s->fed.position);
    }
    return RC_OK;
}

/* What this rank has done since it last told the others. */
static void measure(struct train_rounds *r)
{
    int64_t now = clock_mono_ns(), comm = comm_ns(r->comm);
    r->own[COMM_TIME] = comm - r->told_comm_ns;
    r->own[BUSY] = r->told_ns ? now - r->told_ns - r->own[COMM_TIME] : 0;
    r->told_ns = now;
    r->told_comm_ns = comm;
}

/* r->rows, r->times: of the shards of all ranks. */
static void sort_out(struct train_rounds *r, unsigned *asked)
{
    const int64_t *from = r->all;
    int64_t done = 0;
    for (int k = 0; k < comm_world(r->comm); k++) {
        int64_t n = (r->counts[k] - WORDS) / 2;
        *asked |= (unsigned)from[ASK];
        r->paces[k] =
            (struct train_pace){.busy_ns = from[BUSY], .comm_ns = from[COMM_TIME]};
        from += WORDS;
        memcpy(r->rows + done, from, (size_t)n * sizeof(*from));
        memcpy(r->times + done, from + n, (size_t)n * sizeof(*from));
        from += 2 * n;
        done += n;
    }
}

static enum rc tell_each_other(struct train_rounds *r, unsigned ask, unsigned *asked,
                               struct err *err)
{
    measure(r);
    r->own[ASK] = ask;
    for (int i = 0; i < r->shards.n; i++) {
        r->own[WORDS + i] = r->at[i] ? r->at[i]->rows : 0;
        r->own[WORDS + r->shards.n + i] = r->at[i] ? r->streams[i].fed.time_ms : 0;
    }
    enum rc rc =
        comm_all_gather(r->comm, comm_i64(r->own), comm_i64(r->all), r->counts, err);
    *asked = 0;
    if (!rc)
        sort_out(r, asked);
    return rc;
}

static bool has_rows(const struct train_rounds *r)
{
    for (int i = 0; i < r->shards.total; i++)
        if (r->rows[i])
            return true;
    return false;
}

enum rc train_rounds_next(struct train_rounds *r, unsigned ask, struct train_round *out,
                          struct err *err)
{
    enum rc rc = RC_OK;
    *out = (struct train_round){.batch = {.at = r->at, .rows = r->rows}, .over = true};
    for (int i = 0; i < r->shards.n && !rc; i++) {
        struct stream *s = &r->streams[i];
        if (!s->ended)
            rc = next_of(s, err);
        r->at[i] = s->fed.features;
        out->epoch = s->fed.epoch;
        out->over = out->over && s->ended && !s->fed.position;
        if (s->fed.features && !out->fed)
            out->fed = &s->fed;
    }
    if (!rc)
        rc = tell_each_other(r, ask, &out->asked, err);
    out->any = !rc && has_rows(r);
    out->paces = comm_world(r->comm) > 1 ? r->paces : NULL;
    if (out->any && r->quorum > 0)
        out->event_ms = train_event_quorum(r->times, (size_t)r->shards.total, r->quorum);
    for (int i = 0; i < r->shards.n && !out->any; i++)
        r->streams[i].ended = false;
    return rc;
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
    for (int64_t at = 0; !rc && at < n; at += (int64_t)strlen(all + at) + 1)
        texts[found++] = all + at;
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
    if (shard >= 0 && r->streams[shard].fed.where)
        train_where_name(r->streams[shard].fed.where, err);
}
