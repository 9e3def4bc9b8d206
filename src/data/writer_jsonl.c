/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines behind the common table. */
#include "data/jsonl/jsonl.h"
#include "data/writer.h"

static enum rc open_jsonl(const char *path, const struct data_schema *schema,
                          const struct writer_conf *conf, void **state, struct err *err)
{
    struct jsonl_writer *w = NULL;
    enum rc rc = jsonl_create(path, &w, err);
    if (!rc)
        *state = w;
    return rc;
}

static enum rc writer_jsonl_add(void *state, const struct batch *b, struct err *err)
{
    return jsonl_write(state, b, err);
}

static enum rc writer_jsonl_commit(void *state, struct err *err)
{
    return jsonl_commit(state, err);
}

static void writer_jsonl_abandon(void *state)
{
    jsonl_abandon(state);
}

const struct writer_ops writer_jsonl = {
    .name = "jsonl",
    .suffixes = "jsonl|ndjson|json",
    .nested = true,
    .compression = "none",
    .open = open_jsonl,
    .add = writer_jsonl_add,
    .commit = writer_jsonl_commit,
    .abandon = writer_jsonl_abandon,
};
