/* SPDX-License-Identifier: Apache-2.0 */
/* The header says where everything will lie, so sizes are fixed before the first byte is
 * written; then each source is asked for its rows, a few MiB at a time, or to have them written
 * by all processes that keep some.
 */
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"

#define HEADER_ALIGN 64 /* of the data: blanks fill the header up */
#define FILE_MODE 0644
#define TYPE_SIZE_MAX ((size_t)8)

int64_t ckpt_st_source_bytes(const struct ckpt_st_source *s)
{
    return s->rows * (int64_t)s->row_bytes;
}

static void put_entry(const struct ckpt_st_source *s, int64_t offset, struct buf *out)
{
    buf_json_str(out, s->name, strlen(s->name));
    buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", ckpt_st_type_name(s->type));
    for (int i = 0; i < s->n_dims; i++)
        buf_printf(out, "%s%jd", i ? "," : "", (intmax_t)s->dims[i]);
    buf_printf(out, "],\"data_offsets\":[%jd,%jd]}", (intmax_t)offset,
               (intmax_t)(offset + ckpt_st_source_bytes(s)));
}

/* Wider types first, so that every tensor is aligned to its type. */
static void sort_by_width(struct ckpt_st_source *const *in, size_t n,
                          struct ckpt_st_source **out)
{
    size_t at = 0;
    for (size_t size = TYPE_SIZE_MAX; size > 0; size /= 2)
        for (size_t i = 0; i < n; i++)
            if (ckpt_st_type_size(in[i]->type) == size)
                out[at++] = in[i];
}

/* Length and header; the sources learn their offsets. */
static enum rc build_header(struct ckpt_st_source **s, size_t n, struct buf *out,
                            struct err *err)
{
    uint64_t length = 0;
    int64_t offset = 0;
    buf_add(out, &length, sizeof(length));
    buf_puts(out, "{\"__metadata__\":{\"producer\":\"trainyard\"}");
    for (size_t i = 0; i < n; i++) {
        buf_putc(out, ',');
        put_entry(s[i], offset, out);
        s[i]->offset = offset;
        offset += ckpt_st_source_bytes(s[i]);
    }
    buf_putc(out, '}');
    while (!out->failed && out->n % HEADER_ALIGN)
        buf_putc(out, ' ');
    enum rc rc = buf_check(out, err);
    if (rc)
        return err_wrap(err, rc, "the header of %zu tensors", n);
    for (size_t i = 0; i < n; i++)
        s[i]->offset += (int64_t)out->n;
    length = out->n - sizeof(length);
    memcpy(out->p, &length, sizeof(length));
    return RC_OK;
}

struct out {
    struct fs_file *file;
    struct ckpt_st_sum sum;
    void *scratch; /* [ST_CHUNK] */
};

static enum rc put(struct out *o, const void *p, size_t n, struct err *err)
{
    o->sum.crc32c = hash_crc32c(o->sum.crc32c, p, n);
    o->sum.bytes += (int64_t)n;
    return fs_append(o->file, p, n, err);
}

/* By all that have rows of it. */
static enum rc put_together(struct out *o, struct ckpt_st_source *s, bool *done,
                            struct err *err)
{
    int64_t n = ckpt_st_source_bytes(s);
    enum rc rc =
        s->write(s->arg, fs_file_temp(o->file), s->offset, done, &s->crc32c, err);
    if (rc || !*done)
        return rc ? err_wrap(err, rc, "tensor '%s'", s->name) : rc;
    o->sum.crc32c = hash_crc32c_join(o->sum.crc32c, s->crc32c, (uint64_t)n);
    o->sum.bytes += n;
    return fs_file_skip(o->file, n, err);
}

static enum rc put_rows(struct out *o, struct ckpt_st_source *s, struct err *err)
{
    int64_t at_once = s->row_bytes ? (int64_t)(ST_CHUNK / s->row_bytes) : s->rows;
    enum rc rc = RC_OK;
    if (at_once < 1)
        at_once = 1;
    s->crc32c = 0;
    for (int64_t row = 0; row < s->rows && s->row_bytes && !rc; row += at_once) {
        int64_t n = s->rows - row < at_once ? s->rows - row : at_once;
        const void *p = s->fn(s->arg, row, n, o->scratch, err);
        if (!p)
            return err_wrap(err, RC_IO, "tensor '%s'", s->name);
        s->crc32c = hash_crc32c(s->crc32c, p, (size_t)n * s->row_bytes);
        rc = put(o, p, (size_t)n * s->row_bytes, err);
    }
    return rc ? err_wrap(err, rc, "tensor '%s'", s->name) : RC_OK;
}

static enum rc put_source(struct out *o, struct ckpt_st_source *s, struct err *err)
{
    bool done = false;
    enum rc rc = s->write ? put_together(o, s, &done, err) : RC_OK;
    return rc || done ? rc : put_rows(o, s, err);
}

static enum rc put_all(const char *path, struct ckpt_st_source **s, size_t n,
                       struct out *o, const struct buf *header, struct err *err)
{
    enum rc rc = fs_create(path, FILE_MODE, &o->file, err);
    if (rc)
        return rc;
    rc = put(o, header->p, header->n, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = put_source(o, s[i], err);
    if (rc) {
        fs_abandon(o->file);
        return rc;
    }
    return fs_commit(o->file, err);
}

enum rc ckpt_st_write(const char *path, struct ckpt_st_source *const *sources, size_t n,
                      struct ckpt_st_sum *sum, struct err *err)
{
    struct buf header;
    struct out o = {.scratch = mem_try_alloc(ST_CHUNK, 1)};
    struct ckpt_st_source **sorted = mem_calloc(n + 1, sizeof(struct ckpt_st_source *));
    enum rc rc = o.scratch ? RC_OK : err_set(err, RC_NOMEM, "out of memory");
    buf_init(&header, ST_HEADER_MAX);
    sort_by_width(sources, n, sorted);
    if (!rc)
        rc = build_header(sorted, n, &header, err);
    if (!rc)
        rc = put_all(path, sorted, n, &o, &header, err);
    if (!rc)
        *sum = o.sum;
    buf_release(&header);
    mem_free(sorted);
    mem_free(o.scratch);
    return rc;
}
