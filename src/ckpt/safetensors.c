/* SPDX-License-Identifier: Apache-2.0 */
/* The header is read into a tree, each tensor is checked by itself, and then all of them
 * together, sorted by their place: where one ends the next must begin, and the last ends
 * with the file. So no two can overlap and no byte belongs to nobody.
 */
#include "ckpt/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "ckpt/ckpt_private.h"
#include "tensor/tensor.h"
#include "text/diag.h"
#include "text/json.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors files are mapped");

#define LENGTH_BYTES 8
#define SHOWN 64 /* bytes of a name that messages repeat */

struct ckpt_st_file {
    char *name;
    struct fs_map map; /* of ckpt_st_open() */
    const unsigned char *data;
    size_t n;
    size_t begin; /* of the tensors' data */
    struct doc doc;
    struct ckpt_st_tensor *at;
    size_t count;
    struct map by_name;
    const struct node *meta; /* NULL when there is none */
};

static const struct {
    const char *name;
    size_t size;
} types[] = {
#define ST_TYPE(name, bytes) {#name, bytes},
#include "ckpt/st_types.def"
#undef ST_TYPE
};

const char *ckpt_st_type_name(enum ckpt_st_type t)
{
    return types[t].name;
}

size_t ckpt_st_type_size(enum ckpt_st_type t)
{
    return types[t].size;
}

bool ckpt_st_type_find(struct str name, enum ckpt_st_type *out)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(name, types[i].name)) {
            *out = (enum ckpt_st_type)i;
            return true;
        }
    return false;
}

enum rc ckpt_parse_json(const char *what, const char *text, size_t n, enum code code,
                        struct doc *doc, struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_from(what, text, n, &doc->src, err);
    if (rc == RC_FORMAT)
        return err_coded(err, rc, code, "%s: not text in UTF-8", what);
    if (rc)
        return rc;
    rc = json_parse(doc, &diags);
    if (rc && diags.list.n) {
        uint32_t line, col;
        const struct diag *g = &diags.list.at[0];
        source_locate(doc->src, g->at.off, &line, &col);
        err_coded(err, rc, code, "%s: line %u, column %u: %s", what, line, col, g->msg);
    }
    diags_release(&diags);
    return rc;
}

bool ckpt_parse_shape(const struct node *list, int64_t *dims, int *n_dims)
{
    if (!list || list->kind != NODE_LIST || list->list.n > ST_DIMS_MAX)
        return false;
    for (size_t i = 0; i < list->list.n; i++)
        if (!node_i64(list->list.at[i], &dims[i]) || dims[i] < 0)
            return false;
    *n_dims = (int)list->list.n;
    return true;
}

bool ckpt_shape_bytes(const int64_t *dims, int n_dims, size_t item, int64_t *bytes)
{
    int64_t total = (int64_t)item;
    for (int i = 0; i < n_dims; i++)
        if (dims[i] == 0) {
            *bytes = 0;
            return true;
        }
    for (int i = 0; i < n_dims; i++) {
        if (dims[i] > INT64_MAX / total)
            return false;
        total *= dims[i];
    }
    *bytes = total;
    return true;
}

void ckpt_st_print_shape(const enum ckpt_st_type *type, const int64_t *dims, int n_dims,
                         struct buf *out)
{
    if (type)
        buf_printf(out, "%s ", ckpt_st_type_name(*type));
    buf_putc(out, '[');
    for (int i = 0; i < n_dims; i++)
        buf_printf(out, "%s%jd", i ? ", " : "", (intmax_t)dims[i]);
    buf_putc(out, ']');
}

static int shown(struct str s)
{
    return (int)(s.n < SHOWN ? s.n : SHOWN);
}

static enum rc bad_type(const struct node *type, struct err *err)
{
    if (!type || type->kind != NODE_STR)
        return err_coded(err, RC_FORMAT, E1501, "its dtype is not a string");
    return err_coded(err, RC_UNSUPPORTED, E1503, "type '%.*s' is not supported",
                     shown(type->text), type->text.p);
}

static enum rc bad_shape(const struct node *shape, struct err *err)
{
    if (shape && shape->kind == NODE_LIST && shape->list.n > ST_DIMS_MAX)
        return err_coded(err, RC_UNSUPPORTED, E1503, "%zu axes, more than %d",
                         shape->list.n, ST_DIMS_MAX);
    return err_coded(err, RC_FORMAT, E1501,
                     "its shape is not a list of sizes of 0 or more");
}

/* Of one tensor alone; its place among the others is looked at later. */
static enum rc read_tensor(const struct ckpt_st_file *f, const struct node *v,
                           struct ckpt_st_tensor *t, struct err *err)
{
    const struct node *type = node_find(v, "dtype"), *shape = node_find(v, "shape");
    const struct node *place = node_find(v, "data_offsets");
    int64_t begin, end, bytes, room = (int64_t)(f->n - f->begin);
    if (v->kind != NODE_MAP)
        return err_coded(err, RC_FORMAT, E1501, "%s instead of an object",
                         node_kind_name(v->kind));
    if (!type || type->kind != NODE_STR || !ckpt_st_type_find(type->text, &t->type))
        return bad_type(type, err);
    if (!ckpt_parse_shape(shape, t->dims, &t->n_dims))
        return bad_shape(shape, err);
    if (!place || place->kind != NODE_LIST || place->list.n != 2 ||
        !node_i64(place->list.at[0], &begin) || !node_i64(place->list.at[1], &end) ||
        begin < 0 || end < begin)
        return err_coded(err, RC_FORMAT, E1501,
                         "its data_offsets are not two numbers, begin and end");
    if (end > room)
        return err_coded(err, RC_FORMAT, E1502,
                         "bytes %jd to %jd of the data, which has %jd", (intmax_t)begin,
                         (intmax_t)end, (intmax_t)room);
    if (!ckpt_shape_bytes(t->dims, t->n_dims, ckpt_st_type_size(t->type), &bytes))
        return err_coded(err, RC_FORMAT, E1502, "its shape has more than 2^63 bytes");
    if (bytes != end - begin)
        return err_coded(err, RC_FORMAT, E1502,
                         "%jd bytes of data, its shape and type need %jd",
                         (intmax_t)(end - begin), (intmax_t)bytes);
    t->offset = (int64_t)f->begin + begin;
    t->bytes = bytes;
    t->data = f->data + t->offset;
    return RC_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct ckpt_st_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static enum rc check_places(struct ckpt_st_file *f, struct err *err)
{
    int64_t at = (int64_t)f->begin;
    const char *before = NULL;
    if (f->count)
        qsort(f->at, f->count, sizeof(*f->at), by_place);
    for (size_t i = 0; i < f->count; i++) {
        const struct ckpt_st_tensor *t = &f->at[i];
        if (t->offset < at)
            return err_coded(err, RC_FORMAT, E1502,
                             "tensors '%.64s' and '%.64s' overlap at byte %jd", before,
                             t->name, (intmax_t)t->offset);
        if (t->offset > at)
            return err_coded(err, RC_FORMAT, E1502,
                             "tensor '%.64s' begins at byte %jd, %jd bytes before it "
                             "belong to no tensor",
                             t->name, (intmax_t)t->offset, (intmax_t)(t->offset - at));
        at = t->offset + t->bytes;
        before = t->name;
    }
    if (at != (int64_t)f->n)
        return err_coded(err, RC_FORMAT, E1502,
                         "%jd bytes behind the last tensor belong to no tensor",
                         (intmax_t)((int64_t)f->n - at));
    for (size_t i = 0; i < f->count; i++)
        map_put(&f->by_name, str_c(f->at[i].name))->value = &f->at[i];
    return RC_OK;
}

static enum rc check_meta(const struct node *meta, struct err *err)
{
    bool ok = meta->kind == NODE_MAP;
    for (size_t i = 0; ok && i < meta->map.n; i++)
        ok = meta->map.at[i].value->kind == NODE_STR;
    return ok ? RC_OK
              : err_coded(err, RC_FORMAT, E1501,
                          "header: __metadata__ is not an object of strings");
}

static enum rc read_tensors(struct ckpt_st_file *f, const struct node *root,
                            struct err *err)
{
    f->at = mem_try_calloc(root->map.n + 1, sizeof(*f->at));
    if (!f->at)
        return err_set(err, RC_NOMEM, "out of memory for %zu tensors", root->map.n);
    for (size_t i = 0; i < root->map.n; i++) {
        const struct node_entry *e = &root->map.at[i];
        struct ckpt_st_tensor *t = &f->at[f->count];
        enum rc rc;
        if (str_is(e->key, "__metadata__")) {
            f->meta = e->value;
            rc = check_meta(f->meta, err);
            if (rc)
                return rc;
            continue;
        }
        if (memchr(e->key.p, '\0', e->key.n))
            return err_coded(err, RC_FORMAT, E1501, "header: NUL in the name '%s'",
                             e->key.p);
        *t = (struct ckpt_st_tensor){.file = f->name};
        t->name = arena_strndup(&f->doc.arena, e->key.p, e->key.n);
        rc = read_tensor(f, e->value, t, err);
        if (rc)
            return err_wrap(err, rc, "tensor '%.*s'", shown(e->key), e->key.p);
        f->count++;
    }
    return check_places(f, err);
}

static enum rc read_header(struct ckpt_st_file *f, struct err *err)
{
    uint64_t length = 0;
    if (f->n < LENGTH_BYTES)
        return err_coded(err, RC_FORMAT, E1501,
                         "%zu bytes are too few for a safetensors file", f->n);
    memcpy(&length, f->data, sizeof(length));
    size_t room = f->n - LENGTH_BYTES;
    if (length > ST_HEADER_MAX)
        return err_coded(err, RC_FORMAT, E1501, "a header of %ju bytes, more than %zu",
                         (uintmax_t)length, ST_HEADER_MAX);
    if (length > room)
        return err_coded(err, RC_FORMAT, E1501,
                         "a header of %ju bytes, but only %zu follow", (uintmax_t)length,
                         room);
    const char *text = (const char *)f->data + LENGTH_BYTES;
    if (length < 2 || text[0] != '{')
        return err_coded(err, RC_FORMAT, E1501, "its header does not begin with '{'");
    f->begin = LENGTH_BYTES + (size_t)length;
    enum rc rc = ckpt_parse_json("header", text, (size_t)length, E1501, &f->doc, err);
    return rc ? rc : read_tensors(f, f->doc.root, err);
}

static enum rc open_bytes(struct ckpt_st_file *f, struct ckpt_st_file **out,
                          struct err *err)
{
    enum rc rc = read_header(f, err);
    if (rc) {
        err_wrap(err, rc, "file '%s'", f->name);
        ckpt_st_close(f);
        return rc;
    }
    *out = f;
    return RC_OK;
}

enum rc ckpt_st_open(const char *path, struct ckpt_st_file **out, struct err *err)
{
    struct fs_map map;
    enum rc rc = fs_map(path, &map, err);
    if (rc)
        return rc;
    struct ckpt_st_file *f = mem_calloc(1, sizeof(*f));
    f->name = mem_strdup(path);
    f->map = map;
    f->data = map.data;
    f->n = map.n;
    return open_bytes(f, out, err);
}

enum rc ckpt_st_open_memory(const char *name, const void *data, size_t n,
                            struct ckpt_st_file **out, struct err *err)
{
    struct ckpt_st_file *f = mem_calloc(1, sizeof(*f));
    f->name = mem_strdup(name);
    f->data = data;
    f->n = n;
    return open_bytes(f, out, err);
}

void ckpt_st_close(struct ckpt_st_file *f)
{
    if (!f)
        return;
    map_release(&f->by_name);
    mem_free(f->at);
    doc_release(&f->doc);
    fs_unmap(&f->map);
    mem_free(f->name);
    mem_free(f);
}

size_t ckpt_st_count(const struct ckpt_st_file *f)
{
    return f->count;
}

const struct ckpt_st_tensor *ckpt_st_at(const struct ckpt_st_file *f, size_t i)
{
    return &f->at[i];
}

const struct ckpt_st_tensor *ckpt_st_find(const struct ckpt_st_file *f, struct str name)
{
    const struct map_entry *e = map_find(&f->by_name, name);
    return e ? e->value : NULL;
}

const char *ckpt_st_meta(const struct ckpt_st_file *f, const char *key)
{
    const struct node *v = node_find(f->meta, key);
    return v ? v->text.p : NULL;
}

const unsigned char *ckpt_st_bytes(const struct ckpt_st_file *f, size_t *n)
{
    *n = f->n;
    return f->data;
}

int64_t ckpt_st_rows(const struct ckpt_st_tensor *t)
{
    return t->n_dims ? t->dims[0] : 1;
}

int64_t ckpt_st_width(const struct ckpt_st_tensor *t)
{
    int64_t rows = ckpt_st_rows(t);
    return rows ? t->bytes / (int64_t)ckpt_st_type_size(t->type) / rows : 0;
}

static bool is_float(enum ckpt_st_type t)
{
    return t == ST_F32 || t == ST_F64 || t == ST_F16 || t == ST_BF16;
}

/* Data need not be aligned: each value is copied out. */
static void convert(enum ckpt_st_type type, const unsigned char *from, float *to,
                    int64_t n)
{
    uint16_t half;
    double wide;
    if (type == ST_F32) {
        memcpy(to, from, (size_t)n * sizeof(*to));
    } else if (type == ST_F64) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(&wide, from + (size_t)i * sizeof(wide), sizeof(wide));
            to[i] = (float)wide;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy(&half, from + (size_t)i * sizeof(half), sizeof(half));
            to[i] = type == ST_F16 ? f16_to_f32(half) : bf16_to_f32(half);
        }
    }
}

enum rc ckpt_st_read_f32(const struct ckpt_st_tensor *t, int64_t row, int64_t n,
                         float *dst, int64_t stride, struct err *err)
{
    int64_t rows = ckpt_st_rows(t), width = ckpt_st_width(t);
    if (row < 0 || n < 0 || row > rows || n > rows - row)
        return err_coded(err, RC_INVAL, E1514,
                         "tensor '%s': %jd rows from %jd on, it has %jd", t->name,
                         (intmax_t)n, (intmax_t)row, (intmax_t)rows);
    if (!is_float(t->type))
        return err_coded(err, RC_INVAL, E1514,
                         "tensor '%s': type %s is not read as 32-bit floats", t->name,
                         ckpt_st_type_name(t->type));
    if (n == 0 || width == 0)
        return RC_OK;
    size_t row_bytes = (size_t)width * ckpt_st_type_size(t->type);
    const unsigned char *from = t->data + (size_t)row * row_bytes;
    if (stride == width) {
        convert(t->type, from, dst, n * width);
        return RC_OK;
    }
    for (int64_t i = 0; i < n; i++)
        convert(t->type, from + (size_t)i * row_bytes, dst + i * stride, width);
    return RC_OK;
}
