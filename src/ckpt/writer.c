/* SPDX-License-Identifier: Apache-2.0 */
/* Adding only takes notes. At the commit all sizes are known: tensors are dealt out to
 * files, the files are streamed one after the other, and their checksums go into the
 * manifest, which is written last. The directory gets its name when all of that is on
 * disk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "ckpt/ckpt.h"
#include "ckpt/ckpt_private.h"
#include "ckpt/manifest.h"

#define SHARD_BYTES ((int64_t)4 << 30)
#define DIR_MODE 0755
#define FILE_MODE 0644

/* Strided floats or plain bytes. */
struct block {
    const unsigned char *at; /* live, or `copy` */
    size_t row_bytes, stride;
    int64_t rows;
    unsigned char *copy; /* owned */
};

struct owner {
    const struct ckpt_owner_ops *ops;
    void *owner;
};

struct item {
    enum ckpt_part part;
    struct ckpt_st_source source; /* .name owned by `names` */
    size_t shard;                 /* of its part */
};

struct ckpt_writer {
    char *model_dir, *config;
    int64_t step, epoch, shard_bytes;
    VEC(struct item) items;
    VEC(struct owner) owners;
    VEC(struct ckpt_manifest_blob) blobs;
    struct map names, blob_names; /* own the names */
    enum rc rc;                   /* of the first add that failed */
    struct err err;
};

const char *ckpt_part_name(enum ckpt_part part)
{
    static const char *const names[] = {
        [CKPT_MODEL] = "model", [CKPT_OPTIMIZER] = "optimizer", [CKPT_STATE] = "state"};
    return names[part];
}

struct ckpt_writer *ckpt_writer_open(const char *model_dir,
                                     const struct ckpt_writer_conf *conf)
{
    struct ckpt_writer *w = mem_calloc(1, sizeof(*w));
    w->model_dir = mem_strdup(model_dir);
    w->config = mem_strdup(conf->config ? conf->config : "");
    w->step = conf->step;
    w->epoch = conf->epoch;
    w->shard_bytes = conf->shard_bytes > 0 ? conf->shard_bytes : SHARD_BYTES;
    if (w->step < 0 || w->epoch < 0)
        w->rc = err_set(&w->err, RC_INVAL, "step %jd, epoch %jd", (intmax_t)w->step,
                        (intmax_t)w->epoch);
    return w;
}

void ckpt_abort(struct ckpt_writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->owners.n; i++)
        w->owners.at[i].ops->release(w->owners.at[i].owner);
    for (size_t i = 0; i < w->blob_names.n; i++)
        mem_free(w->blob_names.at[i].value);
    VEC_RELEASE(&w->owners);
    VEC_RELEASE(&w->items);
    VEC_RELEASE(&w->blobs);
    map_release(&w->names);
    map_release(&w->blob_names);
    mem_free(w->config);
    mem_free(w->model_dir);
    mem_free(w);
}

static bool is_utf8(const char *s)
{
    for (size_t n = strlen(s), k; n; n -= k, s += k)
        if (!(k = utf8_len(s, n)))
            return false;
    return true;
}

/* The name as the map keeps it, or NULL with the writer failed. */
static const char *take_name(struct ckpt_writer *w, struct map *names, const char *name)
{
    const char *why = NULL;
    if (!*name || !is_utf8(name))
        why = "is empty or not UTF-8";
    else if (map_find(names, str_c(name)))
        why = "was given twice";
    if (why) {
        w->rc = err_coded(&w->err, RC_INVAL, E1513, "the name '%s' %s", name, why);
        return NULL;
    }
    return map_put(names, str_c(name))->key;
}

void ckpt_add_owner(struct ckpt_writer *w, const struct ckpt_owner_ops *ops, void *owner)
{
    VEC_PUSH(&w->owners, ((struct owner){ops, owner}));
}

void ckpt_add_source(struct ckpt_writer *w, enum ckpt_part part,
                     const struct ckpt_st_source *source)
{
    struct item item = {.part = part, .source = *source};
    if (w->rc)
        return;
    item.source.name = take_name(w, &w->names, source->name);
    if (item.source.name)
        VEC_PUSH(&w->items, item);
}

static const void *block_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                              struct err *err)
{
    const struct block *b = arg;
    const unsigned char *from = b->at + (size_t)row * b->stride;
    if (n == 1 || b->stride == b->row_bytes)
        return from;
    unsigned char *to = scratch;
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * b->row_bytes, from + (size_t)i * b->stride, b->row_bytes);
    return scratch;
}

static int64_t block_bytes(const void *owner)
{
    const struct block *b = owner;
    return b->rows * (int64_t)b->row_bytes;
}

static enum rc block_detach(void *owner, struct err *err)
{
    struct block *b = owner;
    size_t bytes = (size_t)b->rows * b->row_bytes;
    if (b->copy || bytes == 0)
        return RC_OK;
    b->copy = mem_try_alloc(bytes, 1);
    if (!b->copy)
        return err_set(err, RC_NOMEM, "no memory for a copy of %zu bytes", bytes);
    for (int64_t i = 0; i < b->rows; i++)
        memcpy(b->copy + (size_t)i * b->row_bytes, b->at + (size_t)i * b->stride,
               b->row_bytes);
    b->at = b->copy;
    b->stride = b->row_bytes;
    return RC_OK;
}

static void block_release(void *owner)
{
    struct block *b = owner;
    mem_free(b->copy);
    mem_free(b);
}

static const struct ckpt_owner_ops block_ops = {
    .bytes = block_bytes, .detach = block_detach, .release = block_release};

/* Contiguous data is one long column, so that it is written in pieces of any size. */
static void add_block(struct ckpt_writer *w, enum ckpt_part part,
                      struct ckpt_st_source *s, const void *data, int64_t rows,
                      size_t row_bytes, size_t stride)
{
    struct block *b = mem_calloc(1, sizeof(*b));
    size_t item = ckpt_st_type_size(s->type);
    if (rows <= 1 || stride == row_bytes) {
        rows *= (int64_t)(row_bytes / item);
        row_bytes = stride = item;
    }
    *b = (struct block){
        .at = data, .rows = rows, .row_bytes = row_bytes, .stride = stride};
    s->rows = rows;
    s->row_bytes = row_bytes;
    s->fn = block_rows;
    s->arg = b;
    ckpt_add_owner(w, &block_ops, b);
    ckpt_add_source(w, part, s);
}

void ckpt_add_f32(struct ckpt_writer *w, enum ckpt_part part, const char *name,
                  const int64_t *dims, int n_dims, const float *data, int64_t stride)
{
    struct ckpt_st_source s = {.name = name, .type = ST_F32, .n_dims = n_dims};
    int64_t bytes = 0, rows = n_dims ? dims[0] : 1;
    bool ok = n_dims >= 0 && n_dims <= ST_DIMS_MAX && rows >= 0;
    for (int i = 0; ok && i < n_dims; i++) {
        s.dims[i] = dims[i];
        ok = dims[i] >= 0;
    }
    if (w->rc)
        return;
    if (!ok || !ckpt_shape_bytes(s.dims, n_dims, sizeof(float), &bytes)) {
        w->rc = err_coded(&w->err, RC_INVAL, E1513, "tensor '%s' has no sensible shape",
                          name);
        return;
    }
    size_t row_bytes = rows ? (size_t)(bytes / rows) : 0;
    add_block(w, part, &s, data, bytes ? rows : 0, row_bytes,
              (size_t)stride * sizeof(float));
}

void ckpt_add_bytes(struct ckpt_writer *w, enum ckpt_part part, const char *name,
                    const void *data, size_t n)
{
    struct ckpt_st_source s = {
        .name = name, .type = ST_U8, .n_dims = 1, .dims = {(int64_t)n}};
    if (!w->rc)
        add_block(w, part, &s, data, (int64_t)n, 1, 1);
}

void ckpt_add_i64(struct ckpt_writer *w, enum ckpt_part part, const char *name,
                  const int64_t *data, int64_t n)
{
    struct ckpt_st_source s = {.name = name, .type = ST_I64, .n_dims = 1, .dims = {n}};
    if (!w->rc)
        add_block(w, part, &s, data, n, sizeof(*data), sizeof(*data));
}

void ckpt_fail(struct ckpt_writer *w, enum rc rc, const struct err *err)
{
    if (w->rc)
        return;
    w->rc = rc;
    w->err = *err;
}

void ckpt_add_json(struct ckpt_writer *w, const char *name, const char *json)
{
    struct doc doc = {0};
    if (w->rc)
        return;
    w->rc = ckpt_parse_json(name, json, strlen(json), E1513, &doc, &w->err);
    doc_release(&doc);
    const char *key = w->rc ? NULL : take_name(w, &w->blob_names, name);
    if (!key)
        return;
    char *copy = mem_strdup(json);
    map_find(&w->blob_names, str_c(key))->value = copy;
    VEC_PUSH(&w->blobs, ((struct ckpt_manifest_blob){.name = key, .json = copy}));
}

int64_t ckpt_copy_bytes(const struct ckpt_writer *w)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < w->owners.n; i++)
        bytes += w->owners.at[i].ops->bytes(w->owners.at[i].owner);
    return bytes;
}

enum rc ckpt_detach(struct ckpt_writer *w, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < w->owners.n && !rc; i++)
        rc = w->owners.at[i].ops->detach(w->owners.at[i].owner, err);
    return rc;
}

/* Deals the tensors of a part out to files; returns how many files. */
static size_t deal(struct ckpt_writer *w, enum ckpt_part part)
{
    size_t shards = 0;
    int64_t filled = 0;
    for (size_t i = 0; i < w->items.n; i++) {
        struct item *item = &w->items.at[i];
        if (item->part != part)
            continue;
        int64_t bytes = ckpt_st_source_bytes(&item->source);
        if (shards == 0 || (filled && bytes > w->shard_bytes - filled)) {
            shards++;
            filled = 0;
        }
        filled += bytes;
        item->shard = shards - 1;
    }
    return shards;
}

static void index_tensors(struct ckpt_st_source *const *s, size_t n, size_t file,
                          struct ckpt_manifest *m)
{
    for (size_t i = 0; i < n; i++) {
        struct ckpt_manifest_tensor t = {.name = s[i]->name,
                                         .file = file,
                                         .type = s[i]->type,
                                         .n_dims = s[i]->n_dims,
                                         .offset = s[i]->offset,
                                         .sum = {SUM_CRC32C, s[i]->crc32c}};
        memcpy(t.dims, s[i]->dims, sizeof(t.dims));
        VEC_PUSH(&m->tensors, t);
    }
}

static enum rc write_shard(struct ckpt_writer *w, const char *dir, enum ckpt_part part,
                           size_t shard, const char *name, struct ckpt_manifest *m,
                           struct err *err)
{
    VEC(struct ckpt_st_source *) sources = {0};
    struct ckpt_st_sum sum;
    for (size_t i = 0; i < w->items.n; i++)
        if (w->items.at[i].part == part && w->items.at[i].shard == shard)
            VEC_PUSH(&sources, &w->items.at[i].source);
    char *path = fs_join(dir, name);
    enum rc rc = ckpt_st_write(path, sources.at, sources.n, &sum, err);
    if (!rc) {
        struct ckpt_manifest_file f = {
            .name = name, .bytes = sum.bytes, .sum = {SUM_CRC32C, sum.crc32c}};
        index_tensors(sources.at, sources.n, m->files.n, m);
        VEC_PUSH(&m->files, f);
    }
    mem_free(path);
    VEC_RELEASE(&sources);
    return rc;
}

static enum rc write_parts(struct ckpt_writer *w, const char *dir,
                           struct ckpt_manifest *m, struct err *err)
{
    enum rc rc = RC_OK;
    for (int part = 0; part < CKPT_PARTS && !rc; part++) {
        size_t shards = deal(w, (enum ckpt_part)part);
        for (size_t i = 0; i < shards && !rc; i++) {
            const char *name =
                arena_printf(&m->doc.arena, "%s-%05zu-of-%05zu.safetensors",
                             ckpt_part_name((enum ckpt_part)part), i + 1, shards);
            rc = write_shard(w, dir, (enum ckpt_part)part, i, name, m, err);
        }
    }
    return rc;
}

static enum rc write_manifest(const char *dir, const struct ckpt_manifest *m,
                              struct err *err)
{
    struct buf text;
    buf_init(&text, MANIFEST_MAX);
    ckpt_manifest_print(m, &text);
    char *path = fs_join(dir, CKPT_MANIFEST);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = fs_write(path, text.p, text.n, FILE_MODE, err);
    mem_free(path);
    buf_release(&text);
    return rc;
}

static enum rc write_all(struct ckpt_writer *w, const char *dir, struct err *err)
{
    struct ckpt_manifest m = {
        .schema = CKPT_SCHEMA, .step = w->step, .epoch = w->epoch, .config = w->config};
    enum rc rc = write_parts(w, dir, &m, err);
    for (size_t i = 0; i < w->blobs.n; i++)
        VEC_PUSH(&m.blobs, w->blobs.at[i]);
    if (!rc)
        rc = write_manifest(dir, &m, err);
    ckpt_manifest_release(&m);
    return rc;
}

/* What interrupted saves and removals left. */
static enum rc clean(const char *model_dir, struct err *err)
{
    struct fs_names names;
    enum rc rc = fs_list(model_dir, &names, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < names.n && !rc; i++) {
        if (!str_starts(names.at[i], CKPT_PREFIX) || !str_ends(names.at[i], CKPT_TMP))
            continue;
        char *path = fs_join(model_dir, names.at[i]);
        rc = fs_remove_all(path, err);
        mem_free(path);
    }
    fs_names_release(&names);
    return rc;
}

/* Says so before the first byte is written, when it is plain that they will not fit. */
static enum rc check_space(const struct ckpt_writer *w, struct err *err)
{
    int64_t need = 0, free_bytes, total;
    for (size_t i = 0; i < w->items.n; i++)
        need += ckpt_st_source_bytes(&w->items.at[i].source);
    enum rc rc = fs_space(w->model_dir, &free_bytes, &total, err);
    if (rc || total <= 0 || free_bytes >= need)
        return rc;
    return err_set(err, RC_IO, "%jd bytes are needed, %jd are free on its disk",
                   (intmax_t)need, (intmax_t)free_bytes);
}

static enum rc write_checkpoint(struct ckpt_writer *w, const char *path, struct err *err)
{
    char *temp = mem_printf("%s" CKPT_TMP, path);
    enum rc rc = fs_mkdirs(w->model_dir, DIR_MODE, err);
    if (!rc)
        rc = clean(w->model_dir, err);
    if (!rc)
        rc = check_space(w, err);
    if (!rc)
        rc = fs_mkdirs(temp, DIR_MODE, err);
    if (!rc)
        rc = write_all(w, temp, err);
    if (!rc)
        rc = fs_move(temp, path, err);
    /* After a failure what was written, after an exchange what was there before. What
     * stays all the same, the next save removes.
     */
    (void)!fs_remove_all(temp, NULL);
    mem_free(temp);
    return rc;
}

enum rc ckpt_commit(struct ckpt_writer *w, struct err *err)
{
    char *path = ckpt_dir(w->model_dir, w->step);
    enum rc rc = w->rc;
    if (rc)
        err_coded(err, rc, err_code_of(&w->err, rc), "%s", w->err.msg);
    else
        rc = write_checkpoint(w, path, err);
    if (rc) {
        err_wrap(err, rc, "checkpoint '%s' was not saved", path);
        if (err && err->code == E_NONE && rc == RC_IO)
            err->code = E1509;
    }
    mem_free(path);
    ckpt_abort(w);
    return rc;
}
