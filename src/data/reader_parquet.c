/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet behind the common table. */
#include <string.h>

#include "data/parquet/parquet.h"
#include "data/reader.h"

static int reader_parquet_probe(const unsigned char *head, size_t n, const char *path)
{
    return n >= 4 && memcmp(head, "PAR1", 4) == 0 ? 100 : 0;
}

static enum rc open_parquet(const char *path, const struct reader_conf *conf,
                            void **state, struct err *err)
{
    struct parquet_options o = {
        .dict = conf->decode ? PARQUET_DICT_NONE : PARQUET_DICT_STRINGS,
        .columns = conf->want,
        .n_columns = conf->n_want,
    };
    struct parquet *r = NULL;
    enum rc rc = parquet_open(path, &o, &r, err);
    if (!rc)
        *state = r;
    return rc;
}

static const struct data_schema *reader_parquet_schema(const void *state)
{
    return parquet_schema(state);
}

static int64_t reader_parquet_rows(const void *state)
{
    return parquet_rows(state);
}

static enum rc reader_parquet_next(void *state, int64_t max, struct batch *b,
                                   struct err *err)
{
    return parquet_next(state, max, b, err);
}

static void reader_parquet_tell(const void *state, struct reader_cursor *at)
{
    *at = (struct reader_cursor){.row = parquet_tell(state), .offset = -1};
}

static enum rc reader_parquet_seek(void *state, const struct reader_cursor *at,
                                   struct err *err)
{
    return parquet_seek(state, at->row, err);
}

static void close_parquet(void *state)
{
    parquet_close(state);
}

const struct reader_ops reader_parquet = {
    .name = "parquet",
    .title = "Parquet",
    .suffixes = "parquet|pq",
    .probe = reader_parquet_probe,
    .open = open_parquet,
    .schema = reader_parquet_schema,
    .rows = reader_parquet_rows,
    .next = reader_parquet_next,
    .tell = reader_parquet_tell,
    .seek = reader_parquet_seek,
    .close = close_parquet,
};
