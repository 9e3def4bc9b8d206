/* SPDX-License-Identifier: Apache-2.0 */
/* CSV and TSV behind the common table. */
#include "data/csv/writer.h"
#include "data/suffix.h"
#include "data/writer.h"

static enum rc open_csv(const char *path, const struct data_schema *schema,
                        const struct writer_conf *conf, void **state, struct err *err)
{
    struct csv_style style = {.delim = conf->delim};
    struct csv_writer *w = NULL;
    if (!style.delim && suffix_matches(path, "tsv"))
        style.delim = '\t';
    enum rc rc = csv_create(path, schema, &style, &w, err);
    if (!rc)
        *state = w;
    return rc;
}

static enum rc writer_csv_add(void *state, const struct batch *b, struct err *err)
{
    return csv_write(state, b, err);
}

static enum rc writer_csv_commit(void *state, struct err *err)
{
    return csv_commit(state, err);
}

static void writer_csv_abandon(void *state)
{
    csv_abandon(state);
}

const struct writer_ops writer_csv = {
    .name = "csv",
    .suffixes = "csv|tsv",
    .compression = "none",
    .open = open_csv,
    .add = writer_csv_add,
    .commit = writer_csv_commit,
    .abandon = writer_csv_abandon,
};
