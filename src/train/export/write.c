/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is written beside the directory that is wanted, under a name that ends in
 * .tmp, loaded from there as a user would load it, and renamed.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "feature/fg_json.h"
#include "nn/onnx.h"
#include "text/prototext.h"
#include "train/export/export_private.h"
#include "train/save.h"

bool train_export_averages(const struct pc_EasyRecConfig *c)
{
    const struct pc_ExportConfig *x = c->export_config;
    return !x || !x->has_use_dense_ema || x->use_dense_ema;
}

enum rc train_export_checkpoint_session(const struct pc_EasyRecConfig *conf,
                                        const char *path, bool farm_hash,
                                        struct pool *pool, const struct device *device,
                                        struct train_session **out, char **checkpoint,
                                        char why[EXPORT_WHY_SIZE], struct diags *diags,
                                        struct err *err)
{
    struct train_session_options so = {
        .pool = pool, .device = device, .farm_hash = farm_hash, .no_labels = true};
    struct train_session *s = NULL;
    struct ckpt *ckpt = NULL;
    char *picked = NULL;
    enum rc rc = train_export_pick(conf, path, &picked, why, err);
    if (!rc)
        rc = ckpt_open(picked, 0, &ckpt, NULL, err);
    if (!rc && ckpt_json(ckpt, "session"))
        rc = train_session_saved_seed(ckpt, &so.seed, err);
    if (!rc)
        rc = train_session_create(conf, &so, &s, diags, err);
    if (!rc)
        rc = train_session_load_weights(s, ckpt, train_export_averages(conf), err);
    if (!rc) {
        *out = s;
        s = NULL;
        *checkpoint = mem_strdup(ckpt_path(ckpt));
    }
    train_session_destroy(s);
    ckpt_close(ckpt);
    mem_free(picked);
    return rc;
}

static enum rc put_text(const char *dir, const char *name, const struct buf *b,
                        struct err *err)
{
    char *path = fs_join(dir, name);
    enum rc rc = buf_check(b, err);
    if (!rc)
        rc = fs_write(path, buf_str(b), b->n, 0644, err);
    mem_free(path);
    return rc;
}

static enum rc put_graph(const struct train_session *s, const char *const *outputs,
                         size_t n, const char *dir, const char *name, char *note,
                         struct err *err)
{
    struct buf b;
    buf_init(&b, ONNX_BYTES_MAX);
    enum rc rc = onnx_print(s->model->graph, outputs, n, &b, err);
    if (!rc)
        rc = put_text(dir, name, &b, err);
    buf_release(&b);
    if (rc != RC_UNSUPPORTED)
        return rc;
    if (!note[0]) /* everything else of the export is as good without it */
        snprintf(note, EXPORT_NOTE_SIZE, "no %s: %.200s", name, err ? err->msg : "");
    if (err)
        *err = (struct err){0};
    return RC_OK;
}

/* The whole, and each tower of a model that has two. */
static enum rc put_onnx(const struct train_session *s, const char *dir, char *note,
                        struct err *err)
{
    size_t n;
    struct train_score_output *outputs = train_scorer_outputs(s, &n);
    const char **names = mem_calloc(n + 1, sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = outputs[i].name;
    enum rc rc = put_graph(s, names, n, dir, EXPORT_ONNX, note, err);
    for (size_t i = 0; i < ARRAY_LEN(export_towers) && !rc; i++)
        if (graph_output(s->model->graph, export_towers[i].output))
            rc = put_graph(s, &export_towers[i].output, 1, dir, export_towers[i].file,
                           note, err);
    mem_free(names);
    mem_free(outputs);
    return rc;
}

enum rc train_export_fg_json(const struct conf *conf, const char *dir, struct buf *out,
                             struct err *err)
{
    struct arena a = {0};
    struct node *tree = node_clone(&a, conf->doc.root);
    enum rc rc = dir ? train_export_put_assets(tree, NULL, NULL, dir, &a, err) : RC_OK;
    if (!rc) {
        fg_json_print(schema_bind(conf->kind->root, tree, &a), out);
        rc = buf_check(out, err);
    }
    arena_release(&a);
    return rc;
}

/* pipeline.config and fg.json; assets are copied and named as they lie in `dir`. */
static enum rc put_config(const struct conf *conf, const struct train_export_options *o,
                          const char *dir, struct err *err)
{
    struct arena a = {0};
    struct buf b;
    buf_init(&b, SOURCE_MAX);
    struct node *tree = node_clone(&a, conf->doc.root);
    enum rc rc = train_export_put_assets(tree, NULL, o->asset_files, dir, &a, err);
    if (!rc) {
        prototext_print(tree, &b);
        rc = put_text(dir, EXPORT_CONFIG, &b, err);
    }
    if (!rc) {
        buf_clear(&b);
        fg_json_print(schema_bind(conf->kind->root, tree, &a), &b);
        rc = put_text(dir, EXPORT_FG, &b, err);
    }
    buf_release(&b);
    arena_release(&a);
    return rc;
}

static enum rc put_all(const struct conf *conf, const struct train_export_options *o,
                       struct train_session *s, const char *checkpoint, const char *dir,
                       struct train_export_summary *out, struct err *err)
{
    struct train_export_about about = {.conf = conf,
                                       .session = s,
                                       .options = o,
                                       .checkpoint = checkpoint,
                                       .step = (int64_t)s->step - 1};
    enum rc rc = put_config(conf, o, dir, err);
    if (!rc)
        rc = train_export_put_tensors(s, dir, o, err);
    if (!rc && (o->tables != EXPORT_F32 ||
                o->sequence_tables !=
                    EXPORT_F32)) /* from here on it is the model that was written */
        rc = train_export_get_tensors(s, dir, err);
    if (!rc)
        rc = put_onnx(s, dir, out->note, err);
    if (!rc)
        rc = train_export_put_samples(s, o, dir, &about.samples, err);
    if (!rc) /* what was copied from the device is whole */
        rc = graph_wait(s->model->graph, err);
    if (!rc)
        rc = train_export_put_manifest(&about, dir, &out->bytes, err);
    if (!rc && o->torchscript) {
        rc = train_torchscript_write(o->torchscript, dir, &out->scripted, err);
        if (!rc) /* with the files that there are now */
            rc = train_export_put_manifest(&about, dir, &out->bytes, err);
    }
    out->samples = about.samples;
    out->step = about.step;
    return rc;
}

static void summarise(const struct train_session *s, const char *checkpoint,
                      struct train_export_summary *out)
{
    size_t n, tables, dense, activations;
    graph_params(s->model->graph, &n);
    train_session_bytes(s, &tables, &dense, &activations);
    snprintf(out->checkpoint, sizeof(out->checkpoint), "%s", checkpoint);
    out->tables = lookup_n_tables(s->model->lookup);
    out->dense = (int64_t)(dense / sizeof(float));
    out->table_bytes = (int64_t)tables;
    for (int i = 0; i < lookup_n_tables(s->model->lookup); i++)
        out->table_rows += lookup_table(s->model->lookup, i)->rows;
}

/* Loads what was written, in a session of its own. */
static enum rc try_out(const char *dir, struct pool *pool, struct err *err)
{
    struct train_export *x = NULL;
    enum rc rc = train_export_open(dir, 0, pool, &x, err);
    train_export_close(x);
    return rc ? err_wrap(err, rc, "what was written does not load") : RC_OK;
}

/* It stands in the manifest as it is given. */
static enum rc check_extra(const char *json, struct err *err)
{
    struct doc d = {0};
    enum rc rc = json ? train_export_parse("--additional-export-config", json,
                                           strlen(json), &d, err)
                      : RC_OK;
    doc_release(&d);
    return rc;
}

/* A scripted model is compared with the scores of sample rows. */
static enum rc check_torchscript(const struct train_export_options *o,
                                 struct train_torchscript *out, struct err *err)
{
    if (o->sample_rows == 0)
        return err_coded(err, RC_INVAL, E2019,
                         "--format torchscript compares the scores of sample rows: "
                         "--sample-rows must be at least 1");
    return train_torchscript_probe(o->torchscript, out, err);
}

/* Only an export is replaced, as a whole, and only when that is asked for: a directory
 * with anything else in it may be the user's home.
 */
static enum rc check_dir(const struct train_export_options *o, struct err *err)
{
    char *manifest = fs_join(o->dir, "manifest.json");
    bool there = fs_exists(o->dir), is_export = fs_exists(manifest);
    enum rc rc = RC_OK;
    mem_free(manifest);
    if (there && !o->overwrite)
        rc = err_coded(err, RC_INVAL, E2001,
                       "'%.300s' is there already; name another directory, or say "
                       "--overwrite",
                       o->dir);
    else if (there && !is_export)
        rc = err_coded(err, RC_INVAL, E2001,
                       "'%.300s' exists and is not an export, so it is not replaced",
                       o->dir);
    return rc;
}

enum rc train_export_write(const struct conf *conf, const struct train_export_options *o,
                           struct diags *diags, struct train_export_summary *out,
                           struct err *err)
{
    const struct pc_EasyRecConfig *pc = conf->data;
    struct train_session *s = NULL;
    char *checkpoint = NULL;
    struct train_export_summary summary = {0};
    if (check_dir(o, err))
        return RC_INVAL;
    if (check_extra(o->extra_config, err))
        return RC_INVAL;
    if (o->torchscript && check_torchscript(o, &summary.scripted, err))
        return RC_INVAL;
    char *dir = fs_dirname(o->dir), *base = fs_basename(o->dir);
    char *beside = mem_printf("%s/.%s.tmp", dir, base);
    enum rc rc =
        train_export_checkpoint_session(pc, o->checkpoint, o->farm_hash, o->pool, NULL,
                                        &s, &checkpoint, summary.why, diags, err);
    if (!rc)
        rc = fs_remove_all(beside, err);
    if (!rc)
        rc = fs_mkdirs(beside, 0755, err);
    if (!rc)
        rc = put_all(conf, o, s, checkpoint, beside, &summary, err);
    if (!rc) {
        summarise(s, checkpoint, &summary);
        train_session_destroy(s); /* its memory is needed for the next one */
        s = NULL;
        rc = try_out(beside, o->pool, err);
    }
    if (!rc)
        rc = fs_move(beside, o->dir, err);
    (void)!fs_remove_all(beside, NULL); /* what failed, or was replaced */
    if (!rc)
        *out = summary;
    train_session_destroy(s);
    mem_free(checkpoint);
    mem_free(beside);
    mem_free(dir);
    mem_free(base);
    return rc;
}
