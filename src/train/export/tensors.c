/* SPDX-License-Identifier: Apache-2.0 */
/* Tables are written row by row from memory, converted on the way. An int8 row is its
 * values divided by the row's scale, which is the largest of them over 127; scales are a
 * tensor of their own, `<table>.scale`. A row of int4 or int2 is numbers from 0 on, several
 * in a byte, the first in the lowest bits; `<table>.int4` or `<table>.int2` has each
 * row's step and least value.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/state.h"
#include "train/export/export_private.h"

#define INT8_MOST 127

const char *train_export_tables_name(enum train_export_tables t)
{
    static const char *const names[] = {
        [EXPORT_F32] = "f32",   [EXPORT_BF16] = "bf16", [EXPORT_F16] = "f16",
        [EXPORT_INT8] = "int8", [EXPORT_INT4] = "int4", [EXPORT_INT2] = "int2"};
    return names[t];
}

/* Rows that are not pooled lie in collections of their own, as their names tell. */
enum train_export_tables train_export_type_of(const struct train_export_options *o,
                                              const struct embed_table_conf *t)
{
    return strstr(t->name, ".ec_dict") ? o->sequence_tables : o->tables;
}

/* --- writing --- */

struct table_source {
    const struct embed_table_conf *t;
    struct lookup_snapshot *rows; /* all of them; of a keyed table those of its ids */
    float *row;                   /* [dim] */
    char *name, *scale_name, *keys_name;
    int bits; /* of a value, 4 or 2; 0: not packed */
};

/* Row i in floats; false with `err` when it is out of reach. */
static bool read_row(const struct table_source *s, int64_t i, float *out, struct err *err)
{
    const struct lookup_image *image = &s->rows->image;
    uint16_t halves[EMBED_DIM_MAX];
    bool whole = s->t->type == DT_F32;
    if (lookup_image_read(image, 0, i, 1, whole ? (void *)out : halves, err))
        return false;
    for (int64_t k = 0; !whole && k < s->t->dim; k++)
        out[k] = s->t->type == DT_F16 ? f16_to_f32(halves[k]) : bf16_to_f32(halves[k]);
    return true;
}

static uint16_t to_bf16(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof(u));
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); /* stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float scale_of(const float *row, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabsf(row[i]) > most ? fabsf(row[i]) : most;
    return most / INT8_MOST;
}

static const void *f32_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                            struct err *err)
{
    const struct table_source *s = arg;
    for (int64_t i = 0; i < n; i++)
        if (!read_row(s, row + i, (float *)scratch + i * s->t->dim, err))
            return NULL;
    return scratch;
}

static const void *bf16_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                             struct err *err)
{
    const struct table_source *s = arg;
    uint16_t *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        if (!read_row(s, row + i, s->row, err))
            return NULL;
        for (int64_t k = 0; k < s->t->dim; k++)
            *to++ = to_bf16(s->row[k]);
    }
    return scratch;
}

static const void *f16_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                            struct err *err)
{
    const struct table_source *s = arg;
    uint16_t *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        if (!read_row(s, row + i, s->row, err))
            return NULL;
        for (int64_t k = 0; k < s->t->dim; k++)
            *to++ = f16_from_f32(s->row[k]);
    }
    return scratch;
}

static const void *int8_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                             struct err *err)
{
    const struct table_source *s = arg;
    int8_t *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        if (!read_row(s, row + i, s->row, err))
            return NULL;
        float scale = scale_of(s->row, s->t->dim);
        for (int64_t k = 0; k < s->t->dim; k++)
            *to++ = scale > 0 ? (int8_t)lrintf(s->row[k] / scale) : 0;
    }
    return scratch;
}

static int64_t packed_bytes(int64_t dim, int bits)
{
    return (dim * bits + 7) / 8;
}

/* The step and the least value of a row, as halves. */
static void range_of(const float *row, int64_t n, int bits, uint16_t out[2])
{
    float least = row[0], most = row[0];
    for (int64_t i = 1; i < n; i++) {
        least = row[i] < least ? row[i] : least;
        most = row[i] > most ? row[i] : most;
    }
    out[0] = f16_from_f32((most - least) / (float)((1 << bits) - 1));
    out[1] = f16_from_f32(least);
}

static const void *packed_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                               struct err *err)
{
    const struct table_source *s = arg;
    int64_t bytes = packed_bytes(s->t->dim, s->bits), per = 8 / s->bits;
    unsigned char *to = scratch;
    memset(to, 0, (size_t)(n * bytes));
    for (int64_t i = 0; i < n; i++, to += bytes) {
        uint16_t range[2];
        if (!read_row(s, row + i, s->row, err))
            return NULL;
        range_of(s->row, s->t->dim, s->bits, range);
        float step = f16_to_f32(range[0]), least = f16_to_f32(range[1]);
        for (int64_t k = 0; k < s->t->dim && step > 0; k++) {
            long v = lrintf((s->row[k] - least) / step), top = (1 << s->bits) - 1;
            v = v < 0 ? 0 : v > top ? top : v;
            to[k / per] |= (unsigned char)(v << (k % per * s->bits));
        }
    }
    return scratch;
}

static const void *range_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                              struct err *err)
{
    const struct table_source *s = arg;
    uint16_t *to = scratch;
    for (int64_t i = 0; i < n; i++, to += 2) {
        if (!read_row(s, row + i, s->row, err))
            return NULL;
        range_of(s->row, s->t->dim, s->bits, to);
    }
    return scratch;
}

static struct ckpt_st_source range_source(const struct table_source *s)
{
    return (struct ckpt_st_source){.name = s->scale_name,
                                   .type = ST_F16,
                                   .n_dims = 2,
                                   .dims = {s->rows->image.n, 2},
                                   .rows = s->rows->image.n,
                                   .row_bytes = 2 * sizeof(uint16_t),
                                   .fn = range_rows,
                                   .arg = s};
}

static const void *scale_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                              struct err *err)
{
    const struct table_source *s = arg;
    float *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        if (!read_row(s, row + i, s->row, err))
            return NULL;
        to[i] = scale_of(s->row, s->t->dim);
    }
    return scratch;
}

static struct ckpt_st_source weights_source(const struct table_source *s,
                                            enum train_export_tables type)
{
    static const struct {
        enum ckpt_st_type type;
        ckpt_st_rows_fn *fn;
    } kinds[] = {
        [EXPORT_F32] = {ST_F32, f32_rows},    [EXPORT_BF16] = {ST_BF16, bf16_rows},
        [EXPORT_F16] = {ST_F16, f16_rows},    [EXPORT_INT8] = {ST_I8, int8_rows},
        [EXPORT_INT4] = {ST_U8, packed_rows}, [EXPORT_INT2] = {ST_U8, packed_rows}};
    int64_t width = s->bits ? packed_bytes(s->t->dim, s->bits) : s->t->dim;
    return (struct ckpt_st_source){.name = s->name,
                                   .type = kinds[type].type,
                                   .n_dims = 2,
                                   .dims = {s->rows->image.n, width},
                                   .rows = s->rows->image.n,
                                   .row_bytes = (size_t)width *
                                                ckpt_st_type_size(kinds[type].type),
                                   .fn = kinds[type].fn,
                                   .arg = s};
}

static struct ckpt_st_source scale_source(const struct table_source *s)
{
    return (struct ckpt_st_source){.name = s->scale_name,
                                   .type = ST_F32,
                                   .n_dims = 1,
                                   .dims = {s->rows->image.n},
                                   .rows = s->rows->image.n,
                                   .row_bytes = sizeof(float),
                                   .fn = scale_rows,
                                   .arg = s};
}

static const void *key_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                            struct err *err)
{
    const struct table_source *s = arg;
    int64_t *to = scratch;
    for (int64_t i = 0; i < n; i++)
        to[i] = lookup_list_at(&s->rows->image.lists[LOOKUP_KEYS], row + i);
    return scratch;
}

static struct ckpt_st_source keys_source(const struct table_source *s)
{
    const struct lookup_list *keys = &s->rows->image.lists[LOOKUP_KEYS];
    return (struct ckpt_st_source){.name = s->keys_name,
                                   .type = ST_I64,
                                   .n_dims = 1,
                                   .dims = {keys->n},
                                   .rows = keys->n,
                                   .row_bytes = sizeof(int64_t),
                                   .fn = key_rows,
                                   .arg = s};
}

static enum rc put_all(const char *dir, const char *name, struct ckpt_st_source *sources,
                       size_t n, struct err *err)
{
    struct ckpt_st_source **list = mem_calloc(n + 1, sizeof(*list));
    struct ckpt_st_sum sum;
    char *path = fs_join(dir, name);
    for (size_t i = 0; i < n; i++)
        list[i] = &sources[i];
    enum rc rc = ckpt_st_write(path, list, n, &sum, err);
    mem_free(path);
    mem_free(list);
    return rc;
}

static enum rc open_source(struct table_source *s, struct lookup *l, int table,
                           enum train_export_tables type, struct err *err)
{
    s->t = lookup_table(l, table);
    s->bits = type == EXPORT_INT4 ? 4 : type == EXPORT_INT2 ? 2 : 0;
    s->row = mem_calloc((size_t)s->t->dim, sizeof(float));
    s->name = ckpt_table_name(s->t);
    s->scale_name = s->bits ? mem_printf("%s.int%d", s->name, s->bits)
                            : mem_printf("%s.scale", s->name);
    s->keys_name = mem_printf("%s.keys", s->name);
    return lookup_snapshot(l, table, true, &s->rows, err);
}

static void close_source(struct table_source *s)
{
    lookup_snapshot_release(s->rows);
    mem_free(s->row);
    mem_free(s->name);
    mem_free(s->scale_name);
    mem_free(s->keys_name);
}

static enum rc put_tables(const struct train_session *s, const char *dir,
                          const struct train_export_options *o, struct err *err)
{
    struct lookup *l = s->model->lookup;
    size_t n_tables = (size_t)lookup_n_tables(l), n = 0;
    struct table_source *from = mem_calloc(n_tables + 1, sizeof(*from));
    struct ckpt_st_source *sources = mem_calloc(3 * n_tables + 1, sizeof(*sources));
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n_tables && !rc; i++) {
        enum train_export_tables type = train_export_type_of(o, lookup_table(l, (int)i));
        rc = open_source(&from[i], l, (int)i, type, err);
        if (rc)
            break;
        sources[n++] = weights_source(&from[i], type);
        if (type == EXPORT_INT8)
            sources[n++] = scale_source(&from[i]);
        if (from[i].bits)
            sources[n++] = range_source(&from[i]);
        if (from[i].t->keyed.kind)
            sources[n++] = keys_source(&from[i]);
    }
    if (!rc)
        rc = put_all(dir, EXPORT_TABLES, sources, n, err);
    for (size_t i = 0; i < n_tables; i++)
        close_source(&from[i]);
    mem_free(from);
    mem_free(sources);
    return rc;
}

static const void *param_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                              struct err *err)
{
    return (const float *)arg + row;
}

static enum rc put_dense(const struct train_session *s, const char *dir, struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    struct ckpt_st_source *sources = mem_calloc(n + 1, sizeof(*sources));
    for (size_t i = 0; i < n; i++) {
        const struct param *p = params[i];
        sources[i] = (struct ckpt_st_source){.name = p->name,
                                             .type = ST_F32,
                                             .n_dims = p->n_dims,
                                             .rows = p->n,
                                             .row_bytes = sizeof(float),
                                             .fn = param_rows,
                                             .arg = param_read(params[i])};
        memcpy(sources[i].dims, p->dims, (size_t)p->n_dims * sizeof(*p->dims));
    }
    enum rc rc = put_all(dir, EXPORT_DENSE, sources, n, err);
    mem_free(sources);
    return rc;
}

enum rc train_export_put_tensors(const struct train_session *s, const char *dir,
                                 const struct train_export_options *o, struct err *err)
{
    enum rc rc = put_tables(s, dir, o, err);
    return rc ? rc : put_dense(s, dir, err);
}

/* --- reading --- */

static enum rc misfit(const struct ckpt_st_tensor *t, const char *name, const char *want,
                      struct err *err)
{
    struct buf have;
    if (!t)
        return err_coded(err, RC_FORMAT, E2007, "there is no tensor '%s'", name);
    buf_init(&have, 256);
    ckpt_st_print_shape(&t->type, t->dims, t->n_dims, &have);
    enum rc rc = err_coded(err, RC_FORMAT, E2007, "tensor '%s' is %s, the model wants %s",
                           name, buf_str(&have), want);
    buf_release(&have);
    return rc;
}

static enum rc get_param(const struct ckpt_st_file *f, struct param *p, struct err *err)
{
    const struct ckpt_st_tensor *t = ckpt_st_find(f, str_c(p->name));
    bool fits = t && t->n_dims == p->n_dims &&
                memcmp(t->dims, p->dims, (size_t)p->n_dims * sizeof(*p->dims)) == 0;
    if (!fits) {
        struct buf want;
        buf_init(&want, 256);
        ckpt_st_print_shape(NULL, p->dims, p->n_dims, &want);
        enum rc rc = misfit(t, p->name, buf_str(&want), err);
        buf_release(&want);
        return rc;
    }
    enum rc rc = ckpt_st_read_f32(t, 0, ckpt_st_rows(t), param_write_begin(p),
                                  ckpt_st_width(t), err);
    param_write_end(p);
    return rc;
}

static enum rc get_dense(struct train_session *s, const char *dir, struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    struct ckpt_st_file *f = NULL;
    char *path = fs_join(dir, EXPORT_DENSE);
    enum rc rc = ckpt_st_open(path, &f, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = get_param(f, params[i], err);
    ckpt_st_close(f);
    mem_free(path);
    return rc;
}

/* The tensors of a table as an image of its weights. */
struct table_tensors {
    const struct ckpt_st_tensor *weights, *scale; /* scale NULL: floats */
    int64_t dim;
    int bits; /* 8, or of packed values */
};

static void unpack_rows(const struct table_tensors *t, int64_t from, int64_t n, float *to)
{
    int64_t bytes = packed_bytes(t->dim, t->bits), per = 8 / t->bits;
    const unsigned char *row = t->weights->data + from * bytes;
    const unsigned mask = (1u << t->bits) - 1;
    for (int64_t i = 0; i < n; i++, row += bytes) {
        uint16_t range[2];
        memcpy(range, t->scale->data + (size_t)(from + i) * sizeof(range), sizeof(range));
        float step = f16_to_f32(range[0]), least = f16_to_f32(range[1]);
        for (int64_t k = 0; k < t->dim; k++)
            *to++ = (float)((unsigned)row[k / per] >> (k % per * t->bits) & mask) * step +
                    least;
    }
}

static enum rc read_weights(const void *arg, int column, int64_t from, int64_t n,
                            void *out, struct err *err)
{
    const struct table_tensors *t = arg;
    int64_t dim = t->dim;
    if (t->scale && t->bits < 8) {
        unpack_rows(t, from, n, out);
        return RC_OK;
    }
    if (!t->scale)
        return ckpt_st_read_f32(t->weights, from, n, out, dim, err);
    const int8_t *bytes = (const int8_t *)t->weights->data + from * dim;
    const float *scales = (const float *)(const void *)t->scale->data + from;
    float *to = out;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < dim; k++)
            *to++ = (float)*bytes++ * scales[i];
    return RC_OK;
}

static enum rc find_keys(const struct ckpt_st_file *f, const char *name,
                         struct lookup_image *image, struct err *err)
{
    char *keys_name = mem_printf("%s.keys", name);
    const struct ckpt_st_tensor *keys = ckpt_st_find(f, str_c(keys_name));
    enum rc rc = RC_OK;
    if (!keys || keys->type != ST_I64 || keys->n_dims != 1)
        rc = err_coded(err, RC_FORMAT, E2007, "there are no ids '%s'", keys_name);
    else
        image->lists[LOOKUP_KEYS] =
            (struct lookup_list){.data = keys->data, .n = keys->dims[0]};
    mem_free(keys_name);
    return rc;
}

/* The rows that the weights must have. */
static int64_t rows_of(const struct embed_table_conf *t, const struct lookup_image *image)
{
    if (!t->keyed.kind)
        return t->rows;
    return image->lists[LOOKUP_KEYS].n + (t->keyed.kind == KEYED_ZCH);
}

/* The tensor beside packed weights, which tells how many bits a value has. */
static const struct ckpt_st_tensor *find_range(const struct ckpt_st_file *f,
                                               const char *name, int64_t rows, int *bits)
{
    for (*bits = 4; *bits >= 2; *bits -= 2) {
        char *range = mem_printf("%s.int%d", name, *bits);
        const struct ckpt_st_tensor *t = ckpt_st_find(f, str_c(range));
        mem_free(range);
        if (t && t->type == ST_F16 && t->n_dims == 2 && t->dims[0] == rows &&
            t->dims[1] == 2)
            return t;
    }
    return NULL;
}

static bool find_scale(const struct ckpt_st_file *f, const char *name, int64_t rows,
                       struct table_tensors *x)
{
    char *scale_name = mem_printf("%s.scale", name);
    const struct ckpt_st_tensor *scale = ckpt_st_find(f, str_c(scale_name));
    mem_free(scale_name);
    if (x->weights->type == ST_U8) {
        x->scale = find_range(f, name, rows, &x->bits);
        return x->scale && x->weights->dims[1] == packed_bytes(x->dim, x->bits);
    }
    if (x->weights->type == ST_I8) {
        x->scale = scale;
        x->bits = 8;
        return scale && scale->type == ST_F32 && scale->n_dims == 1 &&
               scale->dims[0] == rows && x->weights->dims[1] == x->dim;
    }
    return x->weights->dims[1] == x->dim;
}

static enum rc check_tensors(const struct ckpt_st_file *f, const char *name, int64_t rows,
                             int64_t dim, struct table_tensors *out, struct err *err)
{
    const struct ckpt_st_tensor *t = ckpt_st_find(f, str_c(name));
    struct buf want;
    *out = (struct table_tensors){.weights = t, .dim = dim};
    if (t && t->n_dims == 2 && t->dims[0] == rows && find_scale(f, name, rows, out))
        return RC_OK;
    buf_init(&want, 256);
    ckpt_st_print_shape(NULL, (int64_t[]){rows, dim}, 2, &want);
    enum rc rc = misfit(t, name, buf_str(&want), err);
    buf_release(&want);
    return rc;
}

static enum rc get_table(const struct ckpt_st_file *f, struct lookup *l, int table,
                         struct err *err)
{
    const struct embed_table_conf *t = lookup_table(l, table);
    struct table_tensors from = {0};
    struct lookup_image image = {.form = t->keyed.kind ? LOOKUP_KEYED : LOOKUP_ALL,
                                 .rows = t->rows,
                                 .has = {true},
                                 .types = {DT_F32},
                                 .read = read_weights,
                                 .arg = &from};
    char *name = ckpt_table_name(t);
    enum rc rc = t->keyed.kind ? find_keys(f, name, &image, err) : RC_OK;
    image.n = rows_of(t, &image);
    if (!rc)
        rc = check_tensors(f, name, image.n, t->dim, &from, err);
    if (!rc)
        rc = lookup_restore(l, table, &image, err);
    mem_free(name);
    return rc;
}

enum rc train_export_get_tensors(struct train_session *s, const char *dir,
                                 struct err *err)
{
    struct lookup *l = s->model->lookup;
    struct ckpt_st_file *f = NULL;
    char *path = fs_join(dir, EXPORT_TABLES);
    enum rc rc = ckpt_st_open(path, &f, err);
    for (int i = 0; !rc && i < lookup_n_tables(l); i++)
        rc = get_table(f, l, i, err);
    ckpt_st_close(f);
    mem_free(path);
    return rc ? rc : get_dense(s, dir, err);
}
