/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of Kafka behind the common table: each is one Arrow record batch. A place is
 * the offset of a message and the rows taken of it.
 */
#include <string.h>

#include "base/mem.h"
#include "data/arrow/ipc.h"
#include "data/kafka/kafka.h"
#include "data/reader.h"
#include "data/rows.h"

struct kafka_reader {
    struct kafka_path path;
    struct kafka *consumer;
    struct arrow *arrow;
    struct data_schema full;   /* of the messages */
    struct data_schema schema; /* what is read */
    bool bare;                 /* messages have no schema */
    const atomic_bool *stop;
    const struct batch *now; /* of the current message; NULL: none */
    int64_t at;              /* rows taken of it */
    int64_t offset;          /* of it */
    int64_t next;            /* of the next message; -1: where reading starts */
    int64_t row;             /* rows taken in all */
    int64_t time_ms;         /* of the current message; 0: none */
};

static int reader_kafka_probe(const unsigned char *head, size_t n, const char *path)
{
    return 0; /* by its scheme, never by bytes */
}

static void close_kafka(void *state)
{
    struct kafka_reader *r = state;
    if (!r)
        return;
    kafka_close(r->consumer);
    arrow_destroy(r->arrow);
    data_schema_release(&r->full);
    data_schema_release(&r->schema);
    kafka_path_release(&r->path);
    mem_free(r);
}

/* The columns: declared, known from another partition, or those of the newest message of
 * partition 0.
 */
static enum rc learn_columns(struct kafka_reader *r, const struct reader_conf *conf,
                             struct err *err)
{
    for (size_t i = 0; i < conf->n_fields; i++)
        data_schema_add(&r->full, str_c(conf->fields[i].name), &conf->fields[i].type);
    if (conf->n_fields)
        return RC_OK;
    struct kafka_path first = r->path;
    struct kafka *k = NULL;
    struct kafka_message m = {0};
    first.partition = 0;
    enum rc rc = kafka_open(&first, &k, err);
    if (!rc)
        rc = kafka_newest(k, &m, err);
    if (!rc) {
        rc = arrow_schema(m.p, m.n, &r->full, err);
        if (rc)
            rc = err_wrap(err, rc, "'%.300s': message %jd", r->path.url,
                          (intmax_t)m.offset);
    }
    kafka_close(k);
    return rc;
}

static enum rc choose_columns(struct kafka_reader *r, const struct reader_conf *conf,
                              struct err *err)
{
    for (size_t i = 0; i < r->full.n; i++) {
        bool wanted = !conf->want;
        for (size_t k = 0; !wanted && k < conf->n_want; k++)
            wanted = strcmp(conf->want[k], r->full.at[i].name) == 0;
        if (wanted)
            data_schema_add(&r->schema, str_c(r->full.at[i].name), &r->full.at[i].type);
    }
    for (size_t k = 0; conf->want && k < conf->n_want; k++)
        if (data_schema_find(&r->schema, str_c(conf->want[k])) < 0)
            return err_coded(err, RC_INVAL, E1806,
                             "'%.300s': there is no column '%.100s'", r->path.url,
                             conf->want[k]);
    return RC_OK;
}

static enum rc open_kafka(const char *path, const struct reader_conf *conf, void **state,
                          struct err *err)
{
    struct kafka_reader *r = mem_calloc(1, sizeof(*r));
    r->arrow = arrow_create();
    r->bare = conf->bare;
    r->stop = conf->stop;
    r->next = -1;
    enum rc rc = kafka_path_parse(path, &r->path, err);
    if (!rc)
        rc = learn_columns(r, conf, err);
    if (!rc)
        rc = choose_columns(r, conf, err);
    if (rc) {
        close_kafka(r);
        return rc;
    }
    *state = r;
    return RC_OK;
}

static const struct data_schema *schema_of(const void *state)
{
    return &((const struct kafka_reader *)state)->schema;
}

static int64_t rows_of(const void *state)
{
    return -1;
}

/* A consumer costs threads and connections: it is made by whoever reads, not by whoever
 * only asks for the columns.
 */
static enum rc need_consumer(struct kafka_reader *r, struct err *err)
{
    return r->consumer ? RC_OK : kafka_open(&r->path, &r->consumer, err);
}

/* The next message that has rows; r->now stays NULL at the end. */
static enum rc next_message(struct kafka_reader *r, struct err *err)
{
    r->at = 0;
    enum rc rc = need_consumer(r, err);
    while (!rc) {
        struct kafka_message m;
        r->now = NULL;
        rc = kafka_next(r->consumer, r->stop, &m, err);
        if (rc || !m.p)
            return rc;
        rc = arrow_batch(r->arrow, m.p, m.n, r->bare ? &r->full : NULL, &r->schema,
                         &r->now, err);
        if (rc)
            return err_wrap(err, rc, "'%.300s': message %jd", r->path.url,
                            (intmax_t)m.offset);
        r->offset = m.offset;
        r->next = m.offset + 1;
        r->time_ms = m.time_ms;
        if (r->now->n > 0)
            return RC_OK;
    }
    return rc;
}

static enum rc reader_kafka_next(void *state, int64_t max, struct batch *b,
                                 struct err *err)
{
    struct kafka_reader *r = state;
    batch_clear(b);
    if (!r->now || r->at == r->now->n) {
        enum rc rc = next_message(r, err);
        if (rc || !r->now)
            return rc;
    }
    int64_t left = r->now->n - r->at, n = max < left ? max : left;
    enum rc rc = batch_append(b, r->now, r->at, n, err);
    if (rc)
        return rc;
    r->at += n;
    r->row += n;
    return RC_OK;
}

static void reader_kafka_tell(const void *state, struct reader_cursor *at)
{
    const struct kafka_reader *r = state;
    *at = (struct reader_cursor){.row = r->row, .offset = r->next};
    if (r->now && r->at < r->now->n) {
        at->offset = r->offset;
        at->back = r->at;
    }
}

static int64_t reader_kafka_time(const void *state)
{
    return ((const struct kafka_reader *)state)->time_ms;
}

/* The common code takes care of rows within a message. */
static enum rc reader_kafka_seek(void *state, const struct reader_cursor *at,
                                 struct err *err)
{
    struct kafka_reader *r = state;
    enum rc rc = need_consumer(r, err);
    if (!rc)
        rc = kafka_seek(r->consumer, at->offset, err);
    if (rc)
        return rc;
    r->now = NULL;
    r->at = 0;
    r->row = at->row;
    r->next = at->offset < 0 ? -1 : at->offset;
    return RC_OK;
}

const struct reader_ops reader_kafka = {
    .name = "kafka",
    .title = "Kafka",
    .scheme = "kafka",
    .expand = kafka_expand,
    .streams = true,
    .suffixes = "",
    .probe = reader_kafka_probe,
    .open = open_kafka,
    .schema = schema_of,
    .rows = rows_of,
    .next = reader_kafka_next,
    .tell = reader_kafka_tell,
    .time = reader_kafka_time,
    .seek = reader_kafka_seek,
    .close = close_kafka,
};
