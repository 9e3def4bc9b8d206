/* SPDX-License-Identifier: Apache-2.0 */
/* Opens an export: its manifest (sizes and checksums of all files), its config, the session with
 * the tensors, the columns that its features read, and in the end the samples, which are
 * computed and compared. What follows hands out parts of it.
 */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/reader.h"
#include "train/columns.h"
#include "train/export/export_private.h"

struct train_export {
    char *dir;
    char id[17];
    struct doc manifest;
    struct conf conf;
    struct train_session *session;
    struct data_schema columns;
};

static const char *text_of(const struct train_export *x, const char *key)
{
    const struct node *n = node_find(x->manifest.root, key);
    return n && n->kind == NODE_STR ? n->text.p : "";
}

static enum rc read_config(struct train_export *x, struct diags *diags, struct err *err)
{
    struct conf_options o = {.kind = &conf_kind_pipeline, .ignore_unknown = true};
    char *path = fs_join(x->dir, EXPORT_CONFIG);
    enum rc rc = conf_open(path, &o, &x->conf, diags, err);
    mem_free(path);
    return rc;
}

static enum rc read_columns(struct train_export *x, struct err *err)
{
    struct reader *r = NULL;
    char *path = fs_join(x->dir, EXPORT_ROWS);
    enum rc rc = RC_OK;
    if (fs_exists(path)) {
        rc = reader_open(path, &reader_parquet, &(struct reader_conf){0}, &r, err);
        if (!rc)
            data_schema_copy(&x->columns, reader_schema(r));
    }
    reader_close(r);
    mem_free(path);
    return rc;
}

/* What a model draws outside training depends on the step: it is that of the checkpoint. */
static void read_step(struct train_export *x)
{
    const struct node *step = node_find(x->manifest.root, "step");
    int64_t last;
    if (step && node_i64(step, &last) && last >= 0)
        x->session->step = (uint64_t)last + 1;
}

static enum rc load(struct train_export *x, unsigned flags, struct pool *pool,
                    const struct device *device, struct diags *diags, struct err *err)
{
    const struct node *farm = NULL;
    struct train_session_options so = {.pool = pool,
                                       .device = device,
                                       .no_labels = true,
                                       .no_places = (flags & EXPORT_NO_PLACES) != 0,
                                       .dir = x->dir};
    enum rc rc = train_export_get_manifest(x->dir, &x->manifest, x->id, err);
    if (!rc)
        rc = read_config(x, diags, err);
    if (!rc) {
        const struct node *seed = node_find(x->manifest.root, "seed");
        if (seed && !node_u64(seed, &so.seed))
            so.seed = 0;
        farm = node_find(x->manifest.root, "farm_hash");
        so.farm_hash = farm && farm->kind == NODE_BOOL && farm->flag;
        rc = train_session_create(x->conf.data, &so, &x->session, diags, err);
    }
    if (!rc)
        rc = train_export_get_tensors(x->session, x->dir, err);
    if (!rc)
        read_step(x);
    if (!rc)
        rc = read_columns(x, err);
    if (!rc)
        train_columns_know(&x->session->columns, x->session->plan, x->manifest.root,
                           &x->columns);
    if (!rc && !(flags & EXPORT_NO_SAMPLES))
        rc = train_export_check_samples(x->session, x->dir, err);
    return rc;
}

enum rc train_export_open(const char *dir, unsigned flags, struct pool *pool,
                          struct train_export **out, struct err *err)
{
    return train_export_open_on(NULL, dir, flags, pool, out, err);
}

enum rc train_export_open_on(const struct device *device, const char *dir, unsigned flags,
                             struct pool *pool, struct train_export **out,
                             struct err *err)
{
    struct train_export *x = mem_calloc(1, sizeof(*x));
    x->dir = mem_strdup(dir);
    struct diags diags = {0}; /* of its config, which is not the user's: errors only */
    enum rc rc =
        train_export_first_error(&diags, load(x, flags, pool, device, &diags, err), err);
    diags_release(&diags);
    if (rc) {
        train_export_close(x);
        return err_wrap(err, rc, "export '%s'", dir);
    }
    *out = x;
    return RC_OK;
}

void train_export_close(struct train_export *x)
{
    if (!x)
        return;
    train_session_destroy(x->session);
    conf_release(&x->conf);
    doc_release(&x->manifest);
    data_schema_release(&x->columns);
    mem_free(x->dir);
    mem_free(x);
}

const char *train_export_dir(const struct train_export *x)
{
    return x->dir;
}

struct train_session *train_export_session(const struct train_export *x)
{
    return x->session;
}

const struct pc_EasyRecConfig *train_export_conf(const struct train_export *x)
{
    return x->conf.data;
}

const struct node *train_export_manifest(const struct train_export *x)
{
    return x->manifest.root;
}

const struct data_schema *train_export_columns(const struct train_export *x)
{
    return x->columns.n ? &x->columns : NULL;
}

const char *train_export_id(const struct train_export *x)
{
    return x->id;
}

const char *train_export_checkpoint(const struct train_export *x)
{
    return text_of(x, "checkpoint");
}

static double tolerance_of(const char *type)
{
    return strcmp(type, "f32") == 0    ? 0
           : strcmp(type, "int4") == 0 ? 0.5
           : strcmp(type, "int2") == 0 ? 1
                                       : 0.1;
}

/* That of the coarsest table. */
double train_export_tolerance(const struct train_export *x)
{
    const struct node *tables = node_get_list(x->manifest.root, "tables");
    double most = 0;
    for (size_t i = 0; tables && i < tables->list.n; i++) {
        double one = tolerance_of(node_get_text(tables->list.at[i], "type", "f32"));
        most = one > most ? one : most;
    }
    return most;
}
