/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.json is written last, over files that are there already: their sizes and
 * checksums are read back from the disk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ckpt/state.h"
#include "data/files.h"
#include "nn/onnx.h"
#include "text/defaults.h"
#include "text/json.h"
#include "train/columns.h"
#include "train/export/export_private.h"

#define TEXT_MAX ((size_t)256 << 20)
#define PRODUCER "trainyard-export"

static void put_str(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, "\"%s\": ", key);
    buf_json_str(b, value, strlen(value));
}

static enum rc put_files(const char *dir, struct buf *b, int64_t *bytes, struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = fs_list(dir, &names, err);
    *bytes = 0;
    buf_puts(b, "  \"files\": [");
    for (size_t i = 0, n = 0; i < names.n && !rc; i++) {
        if (strcmp(names.at[i], EXPORT_MANIFEST) == 0) /* which this replaces */
            continue;
        char *path = fs_join(dir, names.at[i]);
        struct fs_map map = {0};
        rc = fs_map(path, &map, err);
        if (!rc) {
            buf_printf(b, "%s\n    {", n++ ? "," : "");
            put_str(b, "name", names.at[i]);
            buf_printf(b, ", \"bytes\": %zu, \"crc32c\": \"%08" PRIx32 "\"}", map.n,
                       hash_crc32c(0, map.data, map.n));
            *bytes += (int64_t)map.n;
            fs_unmap(&map);
        }
        mem_free(path);
    }
    buf_puts(b, "\n  ],\n");
    fs_names_release(&names);
    return rc;
}

static void put_tables(const struct train_export_about *x, struct buf *b)
{
    const struct lookup *l = x->session->model->lookup;
    buf_puts(b, "  \"tables\": [");
    for (int i = 0; i < lookup_n_tables(l); i++) {
        const struct embed_table_conf *t = lookup_table(l, i);
        char *name = ckpt_table_name(t);
        buf_printf(b, "%s\n    {", i ? "," : "");
        put_str(b, "tensor", name);
        buf_printf(b, ", \"rows\": %jd, \"dim\": %jd, ", (intmax_t)t->rows,
                   (intmax_t)t->dim);
        put_str(b, "type", train_export_tables_name(train_export_type_of(x->options, t)));
        if (t->keyed.kind != KEYED_NONE)
            buf_puts(b, ", \"keyed\": true");
        buf_putc(b, '}');
        mem_free(name);
    }
    buf_puts(b, "\n  ],\n");
}

/* What fills the columns of one input of the graph. */
static void put_columns(const struct model *m, const struct nn_val *v, struct buf *b)
{
    bool first = true;
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        struct embed_slot_conf slot = {0};
        const struct embed_table_conf *t = NULL;
        if (in->slot >= 0) {
            slot = *lookup_slot(m->lookup, in->slot);
            t = lookup_slot_table(m->lookup, in->slot);
        }
        if ((t ? m->embedded.at[slot.output] : in->val) != v)
            continue;
        buf_puts(b, first ? "\n      {" : ",\n      {");
        put_str(b, "feature", in->feature->name);
        buf_printf(b, ", \"from\": %jd, \"width\": %jd",
                   (intmax_t)(t ? slot.col : in->col),
                   (intmax_t)(t ? t->dim : in->width));
        if (t) {
            char *name = ckpt_table_name(t);
            buf_puts(b, ", ");
            put_str(b, "table", name);
            buf_puts(b, ", ");
            put_str(b, "pooling",
                    in->axis != AXIS_BATCH
                        ? (slot.pooling == EMBED_MEAN ? "step mean" : "step sum")
                    : slot.pooling == EMBED_MEAN ? "mean"
                                                 : "sum");
            mem_free(name);
        }
        if (in->first_only)
            buf_puts(b, ", \"first_only\": true");
        if (in->unweighted)
            buf_puts(b, ", \"unweighted\": true");
        buf_putc(b, '}');
        first = false;
    }
}

/* Sequences: whose lengths count, and how many steps at most (0: all). */
static void put_axes(const struct model *m, struct buf *b)
{
    buf_puts(b, "],\n    \"axes\": [");
    for (size_t i = 0; i < m->axes.n; i++) {
        const struct model_axis *a = &m->axes.at[i];
        buf_puts(b, i ? ", {" : "{");
        put_str(b, "name", graph_axis_name(m->graph, a->axis));
        buf_puts(b, ", ");
        put_str(b, "leader", a->leader->name);
        buf_printf(b, ", \"max_length\": %jd}", (intmax_t)a->max_length);
    }
}

static bool has_file(const char *dir, const char *name)
{
    char *path = fs_join(dir, name);
    bool there = fs_exists(path);
    mem_free(path);
    return there;
}

static enum rc put_onnx(const struct train_export_about *x, const char *dir,
                        struct buf *b, struct err *err)
{
    const struct graph *g = x->session->model->graph;
    size_t n;
    struct train_score_output *outputs = train_scorer_outputs(x->session, &n);
    const char **names = mem_calloc(n + 1, sizeof(*names));
    struct onnx_inputs in;
    for (size_t i = 0; i < n; i++)
        names[i] = outputs[i].name;
    enum rc rc = onnx_inputs(g, names, n, &in, err);
    buf_printf(b, "  \"onnx\": {\"file\": %s, \"opset\": %d, \"inputs\": [",
               has_file(dir, EXPORT_ONNX) ? "\"" EXPORT_ONNX "\"" : "null", ONNX_OPSET);
    for (size_t i = 0; i < in.n && !rc; i++) {
        const struct nn_shape *s = nn_val_shape(in.vals[i]);
        buf_printf(b, "%s\n    {", i ? "," : "");
        put_str(b, "name", nn_val_name(in.vals[i]));
        buf_printf(b, ", \"width\": %jd, \"dims\": [", (intmax_t)nn_shape_width(s));
        for (int k = 0; k < s->n_dims; k++)
            buf_printf(b, k ? ", %jd" : "%jd", (intmax_t)s->dims[k]);
        buf_puts(b, "], ");
        put_str(b, "axis", graph_axis_name(g, s->axis));
        buf_puts(b, ", \"columns\": [");
        put_columns(x->session->model, in.vals[i], b);
        buf_puts(b, "]}");
    }
    buf_puts(b, "],\n    \"masks\": [");
    for (int i = 1, k = 0; i < AXES_MAX && !rc; i++)
        if (in.mask[i]) {
            buf_puts(b, k++ ? ", " : "");
            char *mask = mem_printf("%s.mask", graph_axis_name(g, i));
            buf_json_str(b, mask, strlen(mask));
            mem_free(mask);
        }
    put_axes(x->session->model, b);
    buf_puts(b, "],\n    \"outputs\": [");
    for (size_t i = 0; i < n; i++) {
        buf_puts(b, i ? ", {" : "{");
        put_str(b, "name", outputs[i].name);
        buf_printf(b, ", \"width\": %jd%s}", (intmax_t)outputs[i].width,
                   outputs[i].axis != AXIS_BATCH ? ", \"per\": \"candidate\"" : "");
    }
    buf_puts(b, "]");
    for (size_t i = 0; i < ARRAY_LEN(export_towers); i++)
        if (has_file(dir, export_towers[i].file)) {
            buf_puts(b, ", ");
            put_str(b, export_towers[i].output, export_towers[i].file);
        }
    buf_puts(b, "},\n");
    mem_free(names);
    mem_free(outputs);
    return rc;
}

/* Names and sizes of the training files as one number: tells whether two models saw the
 * same data, as far as can be told without reading it.
 */
static void put_data(const struct train_export_about *x, struct buf *b)
{
    const struct pc_EasyRecConfig *c = x->conf->data;
    struct fs_names files = {0};
    uint64_t hash = 0;
    int64_t bytes = 0;
    bool known =
        c->train_input_path[0] && !files_expand(c->train_input_path, &files, NULL);
    for (size_t i = 0; known && i < files.n; i++) {
        char *name = fs_basename(files.at[i]);
        struct stat st;
        int64_t size = stat(files.at[i], &st) == 0 ? (int64_t)st.st_size : -1;
        hash = hash_xxh3_seeded(name, strlen(name), hash);
        hash = hash_xxh3_seeded(&size, sizeof(size), hash);
        bytes += size > 0 ? size : 0;
        mem_free(name);
    }
    buf_puts(b, "  \"data\": {");
    put_str(b, "input", c->train_input_path);
    if (known)
        buf_printf(
            b, ", \"files\": %zu, \"bytes\": %jd, \"fingerprint\": \"%016" PRIx64 "\"",
            files.n, (intmax_t)bytes, hash);
    buf_puts(b, "},\n");
    fs_names_release(&files);
}

/* All settings, those that the config leaves unsaid with their defaults. */
static void put_config(const struct train_export_about *x, struct buf *b)
{
    struct arena a = {0};
    struct node *tree = node_clone(&a, x->conf->doc.root);
    schema_fill_defaults(x->conf->kind->root, tree, &a);
    buf_puts(b, "  \"config\": ");
    json_print(tree, 0, b);
    buf_puts(b, "\n}\n");
    arena_release(&a);
}

enum rc train_export_put_manifest(const struct train_export_about *x, const char *dir,
                                  int64_t *bytes, struct err *err)
{
    const struct pc_EasyRecConfig *c = x->conf->data;
    struct buf b;
    char *metrics = train_export_metrics(c, x->step),
         *path = fs_join(dir, EXPORT_MANIFEST);
    buf_init(&b, TEXT_MAX);
    buf_printf(&b, "{\n  \"format\": \"" PRODUCER "\", \"version\": %d,\n  ",
               EXPORT_FORMAT);
    put_str(&b, "program", "trainyard " TY_VERSION);
    buf_puts(&b, ", ");
    put_str(&b, "model", x->session->model->ops->name);
    buf_puts(&b, ",\n  ");
    put_str(&b, "checkpoint", x->checkpoint);
    buf_printf(
        &b, ", \"step\": %jd, \"sample_rows\": %jd, \"seed\": %ju, \"farm_hash\": %s, ",
        (intmax_t)x->step, (intmax_t)x->samples, (uintmax_t)x->session->options.seed,
        x->options->farm_hash ? "true" : "false");
    put_str(&b, "table_type", train_export_tables_name(x->options->tables));
    buf_printf(&b, ",\n  \"metrics\": %s,\n", metrics ? metrics : "null");
    if (x->options->extra_config)
        buf_printf(&b, "  \"additional\": %s,\n", x->options->extra_config);
    buf_puts(&b, "  \"" TRAIN_COLUMNS "\": ");
    train_columns_print(&x->session->columns, &b);
    buf_puts(&b, ",\n");
    put_data(x, &b);
    enum rc rc = put_files(dir, &b, bytes, err);
    put_tables(x, &b);
    if (!rc)
        rc = put_onnx(x, dir, &b, err);
    put_config(x, &b);
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc)
        rc = fs_write(path, b.p, b.n, 0644, err);
    buf_release(&b);
    mem_free(metrics);
    mem_free(path);
    return rc;
}

/* --- reading --- */

static enum rc check_file(const char *dir, const struct node *f, struct err *err)
{
    const struct node *name = node_find(f, "name"), *sum = node_find(f, "crc32c");
    const struct node *size = node_find(f, "bytes");
    int64_t bytes;
    if (!name || name->kind != NODE_STR || !sum || sum->kind != NODE_STR || !size ||
        !node_i64(size, &bytes) || memchr(name->text.p, '/', name->text.n))
        return err_coded(err, RC_FORMAT, E2002, "an entry of 'files' is not whole");
    char *path = fs_join(dir, name->text.p);
    struct fs_map map = {0};
    enum rc rc = RC_OK;
    char have[16];
    if (fs_map(path, &map, NULL))
        rc = err_coded(err, RC_FORMAT, E2003, "file '%s' is missing or cannot be read",
                       name->text.p);
    else if ((int64_t)map.n != bytes)
        rc = err_coded(err, RC_FORMAT, E2003, "file '%s' has %zu bytes, not %jd",
                       name->text.p, map.n, (intmax_t)bytes);
    else {
        snprintf(have, sizeof(have), "%08" PRIx32, hash_crc32c(0, map.data, map.n));
        if (!str_is(sum->text, have))
            rc = err_coded(err, RC_FORMAT, E2003,
                           "file '%s' has other bytes than when it was written",
                           name->text.p);
    }
    fs_unmap(&map);
    mem_free(path);
    return rc;
}

static enum rc check_manifest(const char *dir, const struct doc *d, struct err *err)
{
    const struct node *format = node_find(d->root, "format");
    const struct node *version = node_find(d->root, "version");
    const struct node *files = node_find(d->root, "files");
    int64_t v;
    if (!format || !str_is(format->text, PRODUCER) || !version || !node_i64(version, &v))
        return err_coded(err, RC_FORMAT, E2002, "'%s' is not the manifest of an export",
                         EXPORT_MANIFEST);
    if (v > EXPORT_FORMAT)
        return err_coded(err, RC_UNSUPPORTED, E2004,
                         "it has the form %jd, this program knows up to %d", (intmax_t)v,
                         EXPORT_FORMAT);
    if (!files || files->kind != NODE_LIST)
        return err_coded(err, RC_FORMAT, E2002, "the manifest names no files");
    enum rc rc = RC_OK;
    for (size_t i = 0; i < files->list.n && !rc; i++)
        rc = check_file(dir, files->list.at[i], err);
    return rc;
}

enum rc train_export_get_manifest(const char *dir, struct doc *out, char *id,
                                  struct err *err)
{
    char *path = fs_join(dir, EXPORT_MANIFEST), *text = NULL;
    size_t n;
    *out = (struct doc){0};
    enum rc rc = fs_read(path, TEXT_MAX, &text, &n, err);
    if (rc) {
        bool absent = rc == RC_NOTFOUND;
        if (absent)
            err_set(err, rc, "there is no " EXPORT_MANIFEST " in it");
        if (err)
            err->code = E2002;
    } else {
        snprintf(id, 17, "%016" PRIx64, hash_xxh3(text, n));
        rc = train_export_parse(path, text, n, out, err);
        if (rc)
            err->code = E2002;
        else
            rc = check_manifest(dir, out, err);
    }
    mem_free(text);
    mem_free(path);
    return rc;
}
