/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet behind the common table. Snappy is what most readers expect. */
#include "data/parquet/writer.h"
#include "data/writer.h"
#include "io/codec.h"

static enum rc open_parquet(const char *path, const struct data_schema *schema,
                            const struct writer_conf *conf, void **state, struct err *err)
{
    struct parquet_writer_options o = {.codec = CODEC_SNAPPY,
                                       .group_rows = conf->group_rows};
    struct parquet_writer *w = NULL;
    if (conf->compression && !codec_find(conf->compression, &o.codec))
        return err_coded(err, RC_INVAL, E1205, "'%s': no compression '%.40s'", path,
                         conf->compression);
    enum rc rc = parquet_writer_create(path, schema, &o, &w, err);
    if (!rc)
        *state = w;
    return rc;
}

static enum rc writer_parquet_add(void *state, const struct batch *b, struct err *err)
{
    return parquet_write(state, b, err);
}

static enum rc writer_parquet_commit(void *state, struct err *err)
{
    return parquet_writer_finish(state, err);
}

static void writer_parquet_abandon(void *state)
{
    parquet_writer_abandon(state);
}

const struct writer_ops writer_parquet = {
    .name = "parquet",
    .suffixes = "parquet|pq",
    .nested = true,
    .compression = "none|snappy|zstd|gzip",
    .open = open_parquet,
    .add = writer_parquet_add,
    .commit = writer_parquet_commit,
    .abandon = writer_parquet_abandon,
};
