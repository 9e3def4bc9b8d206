/* SPDX-License-Identifier: Apache-2.0 */
/* Of a batch, nodes (rows and nulls) and buffers stand in one row, column by column,
 * depth first. So every column is walked, wanted or not, by the same function; for those
 * that nobody wants it only counts.
 */
#include "data/arrow/ipc.h"

#include <lz4frame.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "data/arrow/flat.h"

#define DEPTH_MAX 16
#define BODY_MAX ((int64_t)1 << 30)
#define CONTINUES 0xffffffffu

enum { HEADER_SCHEMA = 1, HEADER_BATCH = 3 };
enum { CODEC_LZ4 = 0, CODEC_ZSTD_ = 1, CODEC_NONE_ = -1 };
enum {
    ARROW_NULL = 1,
    ARROW_INT = 2,
    ARROW_FLOAT = 3,
    ARROW_BINARY = 4,
    ARROW_UTF8 = 5,
    ARROW_BOOL = 6,
    ARROW_LIST = 12,
    ARROW_STRUCT = 13,
    ARROW_UNION = 14,
    ARROW_FIXED_LIST = 16,
    ARROW_MAP = 17,
    ARROW_LARGE_BINARY = 19,
    ARROW_LARGE_UTF8 = 20,
    ARROW_LARGE_LIST = 21,
    ARROW_PLAIN_LAST = 21, /* later ones have layouts of their own */
};

struct arrow {
    struct batch view; /* what was handed out; columns point into messages and `mem` */

    struct arena mem;         /* of one message */
    VEC(unsigned char *) own; /* decompressed and copied buffers of one message */
    ZSTD_DCtx *zstd;
    LZ4F_dctx *lz4;
};

struct arrow *arrow_create(void)
{
    return mem_calloc(1, sizeof(struct arrow));
}

static void forget(struct arrow *a)
{
    for (size_t i = 0; i < a->own.n; i++)
        mem_free(a->own.at[i]);
    a->own.n = 0;
    arena_release(&a->mem);
    mem_free(a->view.cols);
    a->view = (struct batch){0};
}

void arrow_destroy(struct arrow *a)
{
    if (!a)
        return;
    forget(a);
    VEC_RELEASE(&a->own);

    ZSTD_freeDCtx(a->zstd);
    LZ4F_freeDecompressionContext(a->lz4);
    mem_free(a);
}

static enum rc arrow_damaged(const char *why, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1805, "not an Arrow record batch: %s", why);
}

/* One message: its description and its body. */
struct message {
    struct flat meta;
    size_t root, header;
    uint8_t kind;
    struct str body;
};

static enum rc take_message(struct str *in, struct message *m, struct err *err)
{
    uint32_t word[2] = {0};
    size_t skip = 8;
    if (in->n < 8)
        return arrow_damaged("it is too short", err);
    memcpy(word, in->p, 8);
    if (word[0] != CONTINUES) {
        word[1] = word[0]; /* the form before version 0.15 */
        skip = 4;
    }
    if (word[1] == 0 || word[1] > in->n - skip)
        return arrow_damaged("its description runs past the end", err);
    *m = (struct message){.meta = {(const uint8_t *)in->p + skip, word[1]}};
    m->root = flat_root(&m->meta);
    m->kind = flat_u8(&m->meta, m->root, 1, 0);
    m->header = flat_table(&m->meta, m->root, 2);
    int64_t body = flat_i64(&m->meta, m->root, 3, 0);
    size_t at = skip + word[1];
    if (!m->root || !m->header)
        return arrow_damaged("its description is malformed", err);
    if (body < 0 || body > BODY_MAX || (size_t)body > in->n - at)
        return arrow_damaged("its body runs past the end", err);
    m->body = str_of(in->p + at, (size_t)body);
    *in = str_of(in->p + at + (size_t)body, in->n - at - (size_t)body);
    return RC_OK;
}

/* A field as a type of ours; false when there is none. */
static bool read_type(const struct flat *f, size_t field, int depth, struct arena *mem,
                      struct type *out)
{
    uint8_t kind = flat_u8(f, field, 2, 0);
    size_t t = flat_table(f, field, 3), at = 0;
    size_t n = flat_vector(f, field, 5, 4, &at);
    bool nullable = flat_u8(f, field, 1, 0) != 0;
    if (depth > DEPTH_MAX || flat_table(f, field, 4))
        return false; /* too deep, or encoded with a dictionary */
    *out = type_of(TYPE_STR, nullable);
    if (kind == ARROW_INT) {
        int32_t bits = flat_i32(f, t, 0, 0);
        bool is_signed = flat_u8(f, t, 1, 0) != 0;
        out->id = bits == 32  ? (is_signed ? TYPE_I32 : TYPE_U32)
                  : is_signed ? TYPE_I64
                              : TYPE_U64;
        return bits == 32 || bits == 64;
    }
    if (kind == ARROW_FLOAT) {
        int16_t precision = flat_i16(f, t, 0, 0);
        out->id = precision == 1 ? TYPE_F32 : TYPE_F64;
        return precision == 1 || precision == 2;
    }
    if (kind == ARROW_BOOL)
        out->id = TYPE_BOOL;
    if (kind == ARROW_BINARY)
        out->logical = LOGICAL_BINARY;
    if (kind == ARROW_BOOL || kind == ARROW_UTF8 || kind == ARROW_BINARY)
        return true;
    if (kind != ARROW_LIST && kind != ARROW_STRUCT && kind != ARROW_MAP)
        return false;
    struct type kid[2];
    if (kind == ARROW_LIST) {
        if (n != 1 || !read_type(f, flat_element(f, at, 0), depth + 1, mem, &kid[0]))
            return false;
        *out = type_list(mem, kid[0], nullable);
        return true;
    }
    if (kind == ARROW_MAP) {
        size_t entries = n == 1 ? flat_element(f, at, 0) : 0, kids = 0;
        if (flat_vector(f, entries, 5, 4, &kids) != 2 ||
            !read_type(f, flat_element(f, kids, 0), depth + 1, mem, &kid[0]) ||
            !read_type(f, flat_element(f, kids, 1), depth + 1, mem, &kid[1]))
            return false;
        *out = type_map(mem, kid[0], kid[1], nullable);
        return true;
    }
    out->id = TYPE_STRUCT;
    out->kids = arena_alloc(mem, n * sizeof(*out->kids));
    out->n_kids = n;
    for (size_t i = 0; i < n; i++) {
        size_t k = flat_element(f, at, i);
        struct str name = flat_text(f, k, 0);
        out->kids[i].name = arena_strndup(mem, name.p, name.n);
        if (!read_type(f, k, depth + 1, mem, &out->kids[i].type))
            return false;
    }
    return n > 0;
}

enum rc arrow_schema(const void *p, size_t n, struct data_schema *out, struct err *err)
{
    struct str in = str_of(p, n);
    struct message m;
    enum rc rc = take_message(&in, &m, err);
    if (!rc && m.kind != HEADER_SCHEMA)
        rc = arrow_damaged("it has no schema (declare the columns with input_fields)",
                           err);
    if (rc)
        return rc;
    if (flat_i16(&m.meta, m.header, 0, 0) != 0)
        return arrow_damaged("its numbers are big-endian", err);
    size_t at = 0, fields = flat_vector(&m.meta, m.header, 1, 4, &at);
    for (size_t i = 0; i < fields; i++) {
        size_t f = flat_element(&m.meta, at, i);
        struct type t;
        if (f && read_type(&m.meta, f, 0, &out->mem, &t))
            data_schema_add(out, flat_text(&m.meta, f, 0), &t);
    }
    return RC_OK;
}

/* Nodes and buffers of a batch, taken one after the other. */
struct walk {
    struct arrow *a;
    struct flat meta;
    struct str body;
    size_t nodes, n_nodes, node;       /* 16 bytes each: rows, nulls */
    size_t buffers, n_buffers, buffer; /* 16 bytes each: place in the body, bytes */
    int codec;
    struct err *err;
};

static enum rc next_node(struct walk *w, int64_t *rows, int64_t *nulls)
{
    if (w->node == w->n_nodes)
        return arrow_damaged("it has fewer columns than its schema", w->err);
    *rows = flat_at_i64(&w->meta, w->nodes + 16 * w->node);
    *nulls = flat_at_i64(&w->meta, w->nodes + 16 * w->node + 8);
    w->node++;
    if (*rows < 0 || *rows > INT32_MAX || *nulls < 0 || *nulls > *rows)
        return arrow_damaged("a column has an impossible number of rows", w->err);
    return RC_OK;
}

static enum rc arrow_ipc_keep(struct walk *w, size_t n, unsigned char **out)
{
    *out = mem_try_alloc(n + COLUMN_PAD, 1);
    if (!*out)
        return err_set(w->err, RC_NOMEM, "no memory for a buffer of %zu bytes", n);
    VEC_PUSH(&w->a->own, *out);
    return RC_OK;
}

static bool inflate(struct walk *w, struct str in, unsigned char *out, size_t n)
{
    if (w->codec == CODEC_ZSTD_) {
        if (!w->a->zstd)
            w->a->zstd = ZSTD_createDCtx();
        return w->a->zstd && ZSTD_decompressDCtx(w->a->zstd, out, n, in.p, in.n) == n;
    }
    if (!w->a->lz4 &&
        LZ4F_isError(LZ4F_createDecompressionContext(&w->a->lz4, LZ4F_VERSION)))
        return false;
    LZ4F_resetDecompressionContext(w->a->lz4);
    for (size_t done = 0; in.n;) {
        size_t room = n - done, used = in.n;
        size_t left = LZ4F_decompress(w->a->lz4, out + done, &room, in.p, &used, NULL);
        if (LZ4F_isError(left) || (!room && !used))
            return false;
        done += room;
        in = str_of(in.p + used, in.n - used);
        if (left == 0)
            return done == n;
    }
    return false;
}

static enum rc decompress(struct walk *w, struct str *s)
{
    int64_t size;
    unsigned char *out;
    if (s->n < sizeof(size))
        return arrow_damaged("a compressed buffer is too short", w->err);
    memcpy(&size, s->p, sizeof(size));
    *s = str_of(s->p + sizeof(size), s->n - sizeof(size));
    if (size == -1)
        return RC_OK; /* stored as it is */
    if (size < 0 || size > BODY_MAX || (size_t)size / 2000 > s->n)
        return arrow_damaged("a compressed buffer claims an impossible size", w->err);
    enum rc rc = arrow_ipc_keep(w, (size_t)size, &out);
    if (!rc && size && !inflate(w, *s, out, (size_t)size))
        rc = arrow_damaged("a compressed buffer is damaged", w->err);
    *s = str_of((char *)out, (size_t)size);
    return rc;
}

/* The next buffer, at least `need` bytes unless it is empty and nobody looks into it.
 * Without `wanted` it is only passed over.
 */
static enum rc next_buffer(struct walk *w, bool wanted, size_t need, size_t align,
                           struct str *out)
{
    if (w->buffer == w->n_buffers)
        return arrow_damaged("it has fewer buffers than its columns need", w->err);
    int64_t at = flat_at_i64(&w->meta, w->buffers + 16 * w->buffer);
    int64_t n = flat_at_i64(&w->meta, w->buffers + 16 * w->buffer + 8);
    w->buffer++;
    *out = str_of(NULL, 0);
    if (at < 0 || n < 0 || (uint64_t)at > w->body.n ||
        (uint64_t)n > w->body.n - (size_t)at)
        return arrow_damaged("a buffer lies outside of the body", w->err);
    if (!wanted || n == 0)
        return need && wanted ? arrow_damaged("a buffer is missing", w->err) : RC_OK;
    *out = str_of(w->body.p + at, (size_t)n);
    enum rc rc = w->codec == CODEC_NONE_ ? RC_OK : decompress(w, out);
    if (!rc && out->n < need)
        rc = arrow_damaged("a buffer is too short for its rows", w->err);
    if (!rc && (uintptr_t)out->p % align) {
        unsigned char *copy;
        rc = arrow_ipc_keep(w, out->n, &copy);
        if (!rc)
            memcpy(copy, out->p, out->n);
        *out = rc ? *out : str_of((char *)copy, out->n);
    }
    return rc;
}

static enum rc take_offsets(struct walk *w, struct column *c, int64_t rows, int64_t *last)
{
    static const int32_t none[2];
    struct str s;
    enum rc rc = next_buffer(w, c != NULL, rows ? ((size_t)rows + 1) * 4 : 0, 4, &s);
    if (rc || !c)
        return rc;
    c->offsets = rows ? (const int32_t *)(const void *)s.p : none;
    if (c->offsets[0] < 0)
        return arrow_damaged("an offset is negative", w->err);
    for (int64_t i = 0; i < rows; i++)
        if (c->offsets[i + 1] < c->offsets[i])
            return arrow_damaged("offsets go backwards", w->err);
    *last = c->offsets[rows];
    return RC_OK;
}

static enum rc take_bools(struct walk *w, struct column *c, int64_t rows)
{
    struct str s;
    unsigned char *bytes;
    enum rc rc = next_buffer(w, c != NULL, ((size_t)rows + 7) / 8, 1, &s);
    if (rc || !c)
        return rc;
    rc = arrow_ipc_keep(w, (size_t)rows, &bytes);
    for (int64_t i = 0; !rc && i < rows; i++)
        bytes[i] = (unsigned char)s.p[i >> 3] >> (i & 7) & 1;
    c->values = rc ? NULL : bytes;
    return rc;
}

/* A column by its type; `c` NULL: it is passed over. */
static enum rc take_column(struct walk *w, const struct type *t, struct column *c,
                           int64_t *n_rows);

/* Kids of which each has at least `need` rows. */
static enum rc take_kids(struct walk *w, const struct type *t, struct column *c,
                         int64_t need)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < t->n_kids; i++) {
        int64_t rows = 0;
        rc = take_column(w, &t->kids[i].type, c ? &c->kids[i] : NULL, &rows);
        if (!rc && c && rows < need)
            rc = arrow_damaged("a list has fewer elements than its offsets say", w->err);
    }
    return rc;
}

/* Arrow's map is a list of structs of two; ours has the two as its kids. */
static enum rc take_entries(struct walk *w)
{
    int64_t rows, nulls;
    struct str unused;
    enum rc rc = next_node(w, &rows, &nulls);
    return rc ? rc : next_buffer(w, false, 0, 1, &unused);
}

static enum rc take_values(struct walk *w, const struct type *t, struct column *c,
                           int64_t rows)
{
    struct str s;
    int64_t last = 0;
    size_t width = type_width(t->id);
    enum rc rc;
    if (t->id == TYPE_BOOL)
        return take_bools(w, c, rows);
    if (width) {
        rc = next_buffer(w, c != NULL, (size_t)rows * width, width, &s);
        if (c)
            c->values = s.p;
        return rc;
    }
    if (t->id == TYPE_STRUCT)
        return take_kids(w, t, c, rows);
    rc = take_offsets(w, c, rows, &last);
    if (rc)
        return rc;
    if (t->id == TYPE_STR) {
        rc = next_buffer(w, c != NULL, (size_t)last, 1, &s);
        if (c)
            c->text = s.p ? s.p : "";
        return rc;
    }
    if (t->id == TYPE_MAP)
        rc = take_entries(w);
    return rc ? rc : take_kids(w, t, c, last);
}

static enum rc take_column(struct walk *w, const struct type *t, struct column *c,
                           int64_t *n_rows)
{
    int64_t rows, nulls;
    struct str bits;
    enum rc rc = next_node(w, &rows, &nulls);
    if (!rc)
        rc = next_buffer(w, c && nulls, nulls ? ((size_t)rows + 7) / 8 : 0, 1, &bits);
    if (rc)
        return rc;
    *n_rows = rows;
    if (c) {
        c->type = t;
        c->n = rows;
        c->n_null = nulls;
        c->valid = nulls ? (const uint8_t *)bits.p : NULL;
        c->kids = arena_alloc(&w->a->mem, (t->n_kids + 1) * sizeof(*c->kids));
        memset(c->kids, 0, (t->n_kids + 1) * sizeof(*c->kids));
    }
    return take_values(w, t, c, rows);
}

/* A column whose type is none of ours: only its layout counts. */
static enum rc pass_field(struct walk *w, size_t field, const struct flat *schema,
                          int depth)
{
    uint8_t kind = flat_u8(schema, field, 2, 0);
    int64_t rows, nulls;
    struct str unused;
    enum rc rc = RC_OK;
    size_t at = 0, n = flat_vector(schema, field, 5, 4, &at);
    bool coded = flat_table(schema, field, 4) != 0;
    if (kind == ARROW_UNION || kind > ARROW_PLAIN_LAST || depth > DEPTH_MAX)
        return arrow_damaged("a column of a kind whose layout is not known", w->err);
    size_t buffers = coded                                              ? 2
                     : kind == ARROW_NULL                               ? 0
                     : kind == ARROW_STRUCT || kind == ARROW_FIXED_LIST ? 1
                     : kind == ARROW_UTF8 || kind == ARROW_BINARY ||
                             kind == ARROW_LARGE_UTF8 || kind == ARROW_LARGE_BINARY
                         ? 3
                         : 2;
    rc = next_node(w, &rows, &nulls);
    for (size_t i = 0; !rc && i < buffers; i++)
        rc = next_buffer(w, false, 0, 1, &unused);
    for (size_t i = 0; !rc && !coded && i < n; i++)
        rc = pass_field(w, flat_element(schema, at, i), schema, depth + 1);
    return rc;
}

static enum rc open_batch(struct arrow *a, const struct message *m, struct walk *w,
                          int64_t *rows, struct err *err)
{
    size_t compression = flat_table(&m->meta, m->header, 3);
    *w = (struct walk){.a = a, .meta = m->meta, .body = m->body, .err = err};
    w->n_nodes = flat_vector(&m->meta, m->header, 1, 16, &w->nodes);
    w->n_buffers = flat_vector(&m->meta, m->header, 2, 16, &w->buffers);
    w->codec = compression ? flat_u8(&m->meta, compression, 0, 0) : CODEC_NONE_;
    *rows = flat_i64(&m->meta, m->header, 0, 0);
    if (compression && w->codec != CODEC_LZ4 && w->codec != CODEC_ZSTD_)
        return arrow_damaged("its compression is not known", err);
    if (*rows < 0 || *rows > INT32_MAX)
        return arrow_damaged("it has an impossible number of rows", err);
    return RC_OK;
}

static enum rc other_type(const char *name, const struct type *have,
                          const struct type *want, struct err *err)
{
    struct buf a, b;
    buf_init(&a, 400);
    buf_init(&b, 400);
    type_print(have, &a);
    type_print(want, &b);
    enum rc rc = err_coded(err, RC_INVAL, E1806, "column '%.100s' is of type %s, not %s",
                           name, buf_str(&a), buf_str(&b));
    buf_release(&a);
    buf_release(&b);
    return rc;
}

/* One column of the message: into the view, when it is wanted. */
static enum rc take_field(struct walk *w, struct str name, const struct type *t,
                          const struct data_schema *want, bool *found, int64_t rows)
{
    int64_t at = data_schema_find(want, name), n = 0;
    struct column *c = at >= 0 && !found[at] ? &w->a->view.cols[at] : NULL;
    if (c && !type_equal(t, &want->at[at].type))
        return other_type(want->at[at].name, t, &want->at[at].type, w->err);
    enum rc rc = take_column(w, c ? &want->at[at].type : t, c, &n);
    if (!rc && c && n != rows)
        rc = arrow_damaged("a column has another number of rows than the batch", w->err);
    if (c)
        found[at] = true;
    return rc;
}

static enum rc take_all(struct walk *w, const struct message *schema,
                        const struct data_schema *known, const struct data_schema *want,
                        bool *found, int64_t rows)
{
    enum rc rc = RC_OK;
    if (known) {
        for (size_t i = 0; !rc && i < known->n; i++)
            rc = take_field(w, str_c(known->at[i].name), &known->at[i].type, want, found,
                            rows);
        return rc;
    }
    size_t at = 0, n = flat_vector(&schema->meta, schema->header, 1, 4, &at);
    for (size_t i = 0; !rc && i < n; i++) {
        size_t f = flat_element(&schema->meta, at, i);
        struct type t;
        if (read_type(&schema->meta, f, 0, &w->a->mem, &t))
            rc = take_field(w, flat_text(&schema->meta, f, 0), &t, want, found, rows);
        else
            rc = pass_field(w, f, &schema->meta, 0);
    }
    return rc;
}

/* The schema, unless the columns are known, and the first batch. */
static enum rc find_parts(struct str in, bool known, struct message *schema,
                          struct message *batch, struct err *err)
{
    enum rc rc = RC_OK;
    if (!known) {
        rc = take_message(&in, schema, err);
        if (!rc && schema->kind != HEADER_SCHEMA)
            rc = arrow_damaged("it has no schema (declare the columns with input_fields)",
                               err);
    }
    do {
        if (!rc)
            rc = take_message(&in, batch, err);
    } while (!rc && batch->kind != HEADER_BATCH && batch->kind != HEADER_SCHEMA);
    if (!rc && batch->kind != HEADER_BATCH)
        rc = arrow_damaged(known
                               ? "it has a schema, but input_fields says that it has none"
                               : "a second schema",
                           err);
    return rc;
}

enum rc arrow_batch(struct arrow *a, const void *p, size_t n,
                    const struct data_schema *known, const struct data_schema *want,
                    const struct batch **out, struct err *err)
{
    struct message schema = {0}, batch = {0};
    struct walk w;
    int64_t rows = 0;
    forget(a);
    enum rc rc = find_parts(str_of(p, n), known != NULL, &schema, &batch, err);
    if (!rc)
        rc = open_batch(a, &batch, &w, &rows, err);
    if (rc)
        return rc;
    bool *found = mem_calloc(want->n + 1, sizeof(*found));
    a->view = (struct batch){.schema = want, .n = rows, .n_cols = want->n};
    a->view.cols = mem_calloc(want->n + 1, sizeof(*a->view.cols));
    rc = take_all(&w, &schema, known, want, found, rows);
    for (size_t i = 0; !rc && i < want->n; i++)
        if (!found[i])
            rc = err_coded(err, RC_INVAL, E1806, "there is no column '%.100s'",
                           want->at[i].name);
    mem_free(found);
    if (!rc)
        *out = &a->view;
    return rc;
}
