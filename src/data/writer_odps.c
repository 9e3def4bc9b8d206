/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of MaxCompute behind the common table. Rows go up in blocks, which appear in the
 * table together when they are committed; what is not committed, the service forgets.
 */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "data/odps/odps.h"
#include "data/odps/wire.h"
#include "data/writer.h"

#define BLOCK_BYTES ((size_t)16 << 20)
#define BLOCK_MAX ((size_t)1 << 30)

struct odps_writer {
    struct odps_path path;
    struct odps *client;
    struct odps_session session;
    size_t *column_of; /* [session.n]: column of the batches, or SIZE_MAX for nulls */
    struct odps_out out;
    int64_t blocks;
};

static void writer_odps_abandon(void *state)
{
    struct odps_writer *w = state;
    if (!w)
        return;
    odps_out_release(&w->out);
    mem_free(w->column_of);
    odps_session_release(&w->session);
    odps_close(w->client);
    odps_path_release(&w->path);
    mem_free(w);
}

static enum rc wrong_type(const struct odps_writer *w, const struct odps_column *c,
                          const struct type *t, struct err *err)
{
    struct buf a, b;
    buf_init(&a, 1000);
    buf_init(&b, 1000);
    type_print(t, &a);
    odps_type_print(&c->type, &b);
    enum rc rc = err_coded(err, RC_INVAL, E1709,
                           "'%s': column '%s' is of type %s, the table's is %s",
                           w->path.url, c->name, buf_str(&a), buf_str(&b));
    buf_release(&a);
    buf_release(&b);
    return rc;
}

static enum rc writer_odps_match(struct odps_writer *w, const struct data_schema *schema,
                                 struct err *err)
{
    const struct odps_session *s = &w->session;
    w->column_of = mem_calloc(s->n, sizeof(*w->column_of));
    for (size_t k = 0; k < s->n; k++)
        w->column_of[k] = SIZE_MAX;
    for (size_t i = 0; i < schema->n; i++) {
        size_t k = 0;
        while (k < s->n && strcasecmp(s->columns[k].name, schema->at[i].name) != 0)
            k++;
        if (k == s->n)
            return err_coded(err, RC_INVAL, E1709, "'%s': the table has no column '%s'",
                             w->path.url, schema->at[i].name);
        if (s->columns[k].is_key)
            continue; /* its value is that of the partition */
        if (!odps_type_takes(&s->columns[k].type, &schema->at[i].type))
            return wrong_type(w, &s->columns[k], &schema->at[i].type, err);
        w->column_of[k] = i;
    }
    return RC_OK;
}

/* A table that is missing is made, with the columns of the rows. */
static enum rc begin_upload(struct odps_writer *w, const struct data_schema *schema,
                            struct err *err)
{
    struct err why = {0};
    bool missing;
    enum rc rc =
        odps_upload(w->client, &w->path, !w->path.append, &w->session, &missing, &why);
    if (!rc || !missing) {
        if (rc && err)
            *err = why;
        return rc;
    }
    rc = odps_create_table(w->client, &w->path, schema, err);
    return rc ? rc
              : odps_upload(w->client, &w->path, !w->path.append, &w->session, &missing,
                            err);
}

static enum rc open_odps(const char *path, const struct data_schema *schema,
                         const struct writer_conf *conf, void **state, struct err *err)
{
    struct odps_writer *w = mem_calloc(1, sizeof(*w));
    odps_out_init(&w->out, BLOCK_MAX);
    enum rc rc = odps_path_parse(path, &w->path, err);
    if (!rc)
        rc = odps_open(&(struct odps_conf){.quota = conf->quota}, &w->client, err);
    if (!rc)
        rc = begin_upload(w, schema, err);
    if (!rc)
        rc = writer_odps_match(w, schema, err);
    if (rc) {
        writer_odps_abandon(w);
        return rc;
    }
    *state = w;
    return RC_OK;
}

static enum rc send_block(struct odps_writer *w, struct err *err)
{
    enum rc rc = odps_out_end(&w->out, err);
    if (rc)
        return err_wrap(err, rc, "'%s': a block of rows", w->path.url);
    rc = odps_block(w->client, &w->path, w->session.id, w->blocks, w->out.bytes.p,
                    w->out.bytes.n, err);
    if (!rc)
        w->blocks++;
    odps_out_clear(&w->out);
    return rc;
}

static enum rc writer_odps_add(void *state, const struct batch *b, struct err *err)
{
    struct odps_writer *w = state;
    enum rc rc = RC_OK;
    for (int64_t i = 0; !rc && i < b->n; i++) {
        for (size_t k = 0; k < w->session.n; k++)
            if (w->column_of[k] != SIZE_MAX)
                odps_out_value(&w->out, k, &w->session.columns[k].type,
                               &b->cols[w->column_of[k]], i);
        odps_out_row(&w->out);
        if (w->out.bytes.n >= BLOCK_BYTES)
            rc = send_block(w, err);
    }
    return rc;
}

static enum rc writer_odps_commit(void *state, struct err *err)
{
    struct odps_writer *w = state;
    enum rc rc = w->out.rows || w->blocks == 0 ? send_block(w, err) : RC_OK;
    if (!rc)
        rc = odps_commit(w->client, &w->path, w->session.id, w->blocks, err);
    writer_odps_abandon(w);
    return rc;
}

const struct writer_ops writer_odps = {
    .name = "odps",
    .scheme = "odps",
    .suffixes = "",
    .compression = "none",
    .open = open_odps,
    .add = writer_odps_add,
    .commit = writer_odps_commit,
    .abandon = writer_odps_abandon,
};
