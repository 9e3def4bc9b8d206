/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is verified before a checkpoint is handed out: the manifest by its own
 * checksum, each file by size and checksum, its header against the manifest. A file whose
 * bytes are wrong is searched for the first tensor that they belong to.
 */
#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ckpt/ckpt.h"
#include "ckpt/ckpt_private.h"
#include "ckpt/manifest.h"

#define NOTE_MAX ((size_t)64 << 10)

struct entry {
    const struct ckpt_st_tensor *tensor;
    enum ckpt_part part;
};

struct ckpt {
    char *path;
    struct ckpt_manifest manifest;
    bool single; /* one safetensors file, no manifest */
    VEC(struct ckpt_st_file *) files;
    VEC(struct entry) entries;
    struct map by_name; /* to struct ckpt_st_tensor */
};

void ckpt_close(struct ckpt *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->files.n; i++)
        ckpt_st_close(c->files.at[i]);
    VEC_RELEASE(&c->files);
    VEC_RELEASE(&c->entries);
    map_release(&c->by_name);
    ckpt_manifest_release(&c->manifest);
    mem_free(c->path);
    mem_free(c);
}

static enum ckpt_part part_of(const char *file_name)
{
    for (int p = 0; p < CKPT_PARTS; p++) {
        const char *name = ckpt_part_name((enum ckpt_part)p);
        if (str_starts(file_name, name) && file_name[strlen(name)] == '-')
            return (enum ckpt_part)p;
    }
    return CKPT_MODEL;
}

static enum rc add_file(struct ckpt *c, struct ckpt_st_file *f, enum ckpt_part part,
                        struct err *err)
{
    VEC_PUSH(&c->files, f);
    for (size_t i = 0; i < ckpt_st_count(f); i++) {
        const struct ckpt_st_tensor *t = ckpt_st_at(f, i);
        struct map_entry *e = map_put(&c->by_name, str_c(t->name));
        if (e->value)
            return err_coded(err, RC_FORMAT, E1502,
                             "tensor '%s' occurs in two files of the checkpoint",
                             t->name);
        e->value = (void *)(uintptr_t)t; /* read only, by ckpt_find() */
        VEC_PUSH(&c->entries, ((struct entry){t, part}));
    }
    return RC_OK;
}

/* The tensor of the file that byte `at` belongs to; NULL: none, the header. */
static const struct ckpt_manifest_tensor *tensor_at(const struct ckpt_manifest *m,
                                                    size_t file, int64_t at)
{
    for (size_t i = 0; i < m->tensors.n; i++) {
        const struct ckpt_manifest_tensor *t = &m->tensors.at[i];
        if (t->file == file && at >= t->offset && at < t->offset + t->bytes)
            return t;
    }
    return NULL;
}

static enum rc bad_size(const struct ckpt_manifest *m, size_t file, int64_t got,
                        struct err *err)
{
    const struct ckpt_manifest_tensor *t = tensor_at(m, file, got);
    int64_t want = m->files.at[file].bytes;
    if (got < want && t)
        return err_coded(err, RC_FORMAT, E1506,
                         "it ends at byte %jd of %jd, within tensor '%s' (bytes %jd to "
                         "%jd)",
                         (intmax_t)got, (intmax_t)want, t->name, (intmax_t)t->offset,
                         (intmax_t)(t->offset + t->bytes));
    if (got < want)
        return err_coded(err, RC_FORMAT, E1506,
                         "it ends at byte %jd of %jd, within its header", (intmax_t)got,
                         (intmax_t)want);
    return err_coded(err, RC_FORMAT, E1506, "it has %jd bytes, the manifest says %jd",
                     (intmax_t)got, (intmax_t)want);
}

static enum rc bad_sum(const struct ckpt_manifest *m, size_t file,
                       const unsigned char *data, struct err *err)
{
    for (size_t i = 0; i < m->tensors.n; i++) {
        const struct ckpt_manifest_tensor *t = &m->tensors.at[i];
        if (t->file != file || t->sum.kind == SUM_NONE)
            continue;
        uint32_t got = ckpt_checksum_of(&t->sum, data + t->offset, (size_t)t->bytes);
        if (got != t->sum.value)
            return err_coded(err, RC_FORMAT, E1507,
                             "tensor '%s' (bytes %jd to %jd) is damaged: checksum %08x, "
                             "the manifest says %08x",
                             t->name, (intmax_t)t->offset,
                             (intmax_t)(t->offset + t->bytes), got, t->sum.value);
    }
    return err_coded(err, RC_FORMAT, E1507,
                     "its header is damaged: the checksum of the file differs from the "
                     "manifest's");
}

static enum rc verify_bytes(const struct ckpt_manifest *m, size_t file, unsigned flags,
                            const char *path, struct err *err)
{
    const struct ckpt_manifest_file *f = &m->files.at[file];
    struct fs_map map;
    enum rc rc = fs_map(path, &map, err);
    if (rc == RC_NOTFOUND)
        return err_coded(err, RC_FORMAT, E1506, "file '%s' is missing", f->name);
    if (rc)
        return rc;
    if ((int64_t)map.n != f->bytes)
        rc = bad_size(m, file, (int64_t)map.n, err);
    else if (!(flags & CKPT_NO_CHECKSUMS) &&
             ckpt_checksum_of(&f->sum, map.data, map.n) != f->sum.value)
        rc = bad_sum(m, file, map.data, err);
    fs_unmap(&map);
    return rc ? err_wrap(err, rc, "file '%s'", f->name) : RC_OK;
}

static enum rc open_file(struct ckpt *c, size_t file, unsigned flags, struct err *err)
{
    const char *name = c->manifest.files.at[file].name;
    char *path = fs_join(c->path, name);
    struct ckpt_st_file *f = NULL;
    enum rc rc = verify_bytes(&c->manifest, file, flags, path, err);
    if (!rc)
        rc = ckpt_st_open(path, &f, err);
    if (!rc)
        rc = add_file(c, f, part_of(name), err);
    mem_free(path);
    return rc;
}

static bool same_tensor(const struct ckpt_manifest_tensor *m,
                        const struct ckpt_st_tensor *t)
{
    return t && t->type == m->type && t->n_dims == m->n_dims && t->offset == m->offset &&
           memcmp(t->dims, m->dims, sizeof(t->dims)) == 0;
}

static enum rc check_index(const struct ckpt *c, struct err *err)
{
    const struct ckpt_manifest *m = &c->manifest;
    for (size_t i = 0; i < m->tensors.n; i++) {
        const struct ckpt_manifest_tensor *t = &m->tensors.at[i];
        const struct ckpt_st_tensor *have =
            ckpt_st_find(c->files.at[t->file], str_c(t->name));
        if (!same_tensor(t, have))
            return err_coded(err, RC_FORMAT, E1505, "tensor '%s' is %s file '%s'",
                             t->name, have ? "described otherwise in its" : "not in its",
                             m->files.at[t->file].name);
    }
    if (c->entries.n != m->tensors.n)
        return err_coded(err, RC_FORMAT, E1505, "%zu tensors, the manifest lists %zu",
                         c->entries.n, m->tensors.n);
    return RC_OK;
}

/* A directory of torch.distributed.checkpoint, such as TorchEasyRec's model.ckpt-N. */
static bool is_distcp(const char *dir)
{
    static const char *const marks[] = {".metadata", "model/.metadata"};
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(marks) && !found; i++) {
        char *path = fs_join(dir, marks[i]);
        found = fs_exists(path);
        mem_free(path);
    }
    return found;
}

static enum rc open_manifest(struct ckpt *c, struct err *err)
{
    char *path = fs_join(c->path, CKPT_MANIFEST), *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, MANIFEST_MAX, &text, &n, err);
    if (rc == RC_NOTFOUND && is_distcp(c->path))
        rc = err_coded(
            err, RC_UNSUPPORTED, E1504,
            "TorchEasyRec wrote it; convert it with `trainyard_ckpt.py from-dcp "
            "%s MODEL_DIR`",
            c->path);
    else if (rc == RC_NOTFOUND)
        rc = err_coded(err, RC_FORMAT, E1506, "it has no " CKPT_MANIFEST);
    else if (!rc)
        rc = ckpt_manifest_parse(CKPT_MANIFEST, text, n, &c->manifest, err);
    mem_free(text);
    mem_free(path);
    return rc;
}

static enum rc open_dir(const char *path, unsigned flags, struct ckpt **out,
                        struct err *err)
{
    struct ckpt *c = mem_calloc(1, sizeof(*c));
    c->path = mem_strdup(path);
    enum rc rc = open_manifest(c, err);
    for (size_t i = 0; i < c->manifest.files.n && !rc; i++)
        rc = open_file(c, i, flags, err);
    if (!rc)
        rc = check_index(c, err);
    if (rc) {
        ckpt_close(c);
        return err_wrap(err, rc, "checkpoint '%s'", path);
    }
    *out = c;
    return RC_OK;
}

static enum rc open_single(const char *path, struct ckpt **out, struct err *err)
{
    struct ckpt *c = mem_calloc(1, sizeof(*c));
    struct ckpt_st_file *f = NULL;
    c->path = mem_strdup(path);
    c->single = true;
    enum rc rc = ckpt_st_open(path, &f, err);
    if (!rc)
        rc = add_file(c, f, CKPT_MODEL, err);
    if (rc) {
        ckpt_close(c);
        return rc;
    }
    *out = c;
    return RC_OK;
}

/* Whether another checkpoint may do where this one failed. */
static bool passes_over(enum rc rc)
{
    return rc == RC_FORMAT || rc == RC_IO || rc == RC_NOTFOUND;
}

static enum rc open_latest(const char *model_dir, const struct ckpt_list *list,
                           unsigned flags, struct ckpt **out, struct buf *note,
                           struct err *err)
{
    struct err first = {0}, why = {0};
    for (size_t i = list->n; i-- > 0;) {
        char *path = ckpt_dir(model_dir, list->steps[i]);
        why = (struct err){0};
        enum rc rc = open_dir(path, flags, out, &why);
        if (!rc && note->n)
            buf_printf(note, "; '%s' is used instead", path);
        mem_free(path);
        if (!rc)
            return RC_OK;
        if (!passes_over(rc))
            return err_coded(err, rc, err_code_of(&why, rc), "%s", why.msg);
        buf_printf(note, "%s%s", note->n ? "; " : "", why.msg);
        if (i + 1 == list->n)
            first = why;
    }
    if (list->n == 1)
        return err_coded(err, RC_FORMAT, err_code_of(&first, RC_FORMAT), "%s", first.msg);
    return err_coded(err, RC_FORMAT, E1515, "none of %zu checkpoints can be loaded: %s",
                     list->n, first.msg);
}

/* The latest of model_dir, or RC_NOTFOUND when it is not one. */
static enum rc open_model_dir(const char *path, unsigned flags, struct ckpt **out,
                              char **note, struct err *err)
{
    struct ckpt_list list;
    struct buf text;
    enum rc rc = ckpt_list(path, &list, err);
    if (rc)
        return rc;
    buf_init(&text, NOTE_MAX);
    if (list.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E1504, "no checkpoint in '%s'", path);
    else
        rc = open_latest(path, &list, flags, out, &text, err);
    if (!rc && note && text.n)
        *note = buf_take(&text);
    buf_release(&text);
    ckpt_list_release(&list);
    return rc;
}

static bool named_as_checkpoint(const char *path)
{
    int64_t step;
    char *name = fs_basename(path);
    bool yes = ckpt_parse_step(name, &step);
    mem_free(name);
    return yes;
}

static bool has_manifest(const char *path)
{
    char *file = fs_join(path, CKPT_MANIFEST);
    bool yes = fs_exists(file);
    mem_free(file);
    return yes;
}

enum rc ckpt_open(const char *path, unsigned flags, struct ckpt **out, char **note,
                  struct err *err)
{
    if (note)
        *note = NULL;
    if (!fs_exists(path))
        return err_coded(err, RC_NOTFOUND, E1504, "checkpoint '%s' does not exist", path);
    if (!fs_is_dir(path))
        return open_single(path, out, err);
    if (named_as_checkpoint(path) || has_manifest(path) || is_distcp(path))
        return open_dir(path, flags, out, err);
    return open_model_dir(path, flags, out, note, err);
}

const char *ckpt_path(const struct ckpt *c)
{
    return c->path;
}

int64_t ckpt_step(const struct ckpt *c)
{
    return c->single ? -1 : c->manifest.step;
}

int64_t ckpt_epoch(const struct ckpt *c)
{
    return c->manifest.epoch;
}

const char *ckpt_config(const struct ckpt *c)
{
    return c->manifest.config ? c->manifest.config : "";
}

size_t ckpt_count(const struct ckpt *c)
{
    return c->entries.n;
}

const struct ckpt_st_tensor *ckpt_at(const struct ckpt *c, size_t i)
{
    return c->entries.at[i].tensor;
}

enum ckpt_part ckpt_part_at(const struct ckpt *c, size_t i)
{
    return c->entries.at[i].part;
}

const struct ckpt_st_tensor *ckpt_find(const struct ckpt *c, const char *name)
{
    return map_get(&c->by_name, name);
}

const struct node *ckpt_json(const struct ckpt *c, const char *name)
{
    return node_find(c->manifest.state, name);
}
