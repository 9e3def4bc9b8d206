/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a batch as tensors in the form of DLPack. A tensor holds a reference to its
 * batch, which its deleter gives back; whichever thread calls it.
 */
#include "base/mem.h"
#include "lib/features_private.h"

enum { CPU = 1, CODE_INT = 0, CODE_FLOAT = 2 }; /* as DLPack numbers them */

struct tensor_memory {
    struct ty_tensor tensor;
    int64_t shape[2], strides[2];
};

/* [rows], or [rows][width] where it is more than 1; not there without data for its rows. */
struct part {
    const void *data;
    bool floats;
    int64_t rows, width;
};

static void delete_tensor(struct ty_tensor *t)
{
    struct ty_batch *b = t->manager_ctx;
    mem_free(t); /* the first member of its memory */
    ty_batch_release(b);
}

static struct ty_tensor *make_tensor(struct ty_batch *b, const struct part *p)
{
    if (p->width == 0 || (!p->data && p->rows > 0))
        return NULL;
    struct tensor_memory *m = mem_calloc(1, sizeof(*m));
    m->shape[0] = p->rows;
    m->shape[1] = m->strides[0] = p->width;
    m->strides[1] = 1;
    m->tensor = (struct ty_tensor){.data = (void *)p->data,
                                   .device_type = CPU,
                                   .ndim = p->width > 1 ? 2 : 1,
                                   .type_code = p->floats ? CODE_FLOAT : CODE_INT,
                                   .type_bits = p->floats ? 32 : 64,
                                   .type_lanes = 1,
                                   .shape = m->shape,
                                   .strides = m->strides,
                                   .manager_ctx = lib_batch_ref(b),
                                   .deleter = delete_tensor};
    return &m->tensor;
}

static struct part numbers(const void *data, int64_t rows, int64_t width)
{
    return (struct part){.data = data, .floats = true, .rows = rows, .width = width};
}

static struct part integers(const int64_t *data, int64_t n)
{
    return (struct part){.data = data, .rows = n, .width = 1};
}

static struct part part_of_feature(const struct feature_out *o,
                                   const struct ty_features_column *about, int part)
{
    switch (part) {
    case TY_PART_VALUES:
        return about->sparse ? integers(o->ids, o->n_ids)
                             : numbers(o->values, about->sequence ? o->steps : o->rows,
                                       about->width);
    case TY_PART_OFFSETS:
        return integers(o->offsets, o->rows + 1);
    case TY_PART_WEIGHTS:
        return numbers(o->weights, o->n_ids, about->weighted);
    case TY_PART_SEQ_OFFSETS:
        return integers(o->seq_offsets, o->rows + 1);
    case TY_PART_STEP_OFFSETS:
        return integers(o->step_offsets, o->steps + 1);
    default:
        return (struct part){0};
    }
}

static struct part part_of_target(const struct feature_target *t, int64_t rows, int part)
{
    switch (part) {
    case TY_PART_VALUES:
        return numbers(t->values, t->offsets ? t->offsets[rows] : rows, 1);
    case TY_PART_OFFSETS:
        return integers(t->offsets, rows + 1);
    default:
        return (struct part){0};
    }
}

struct ty_tensor *ty_batch_tensor(struct ty_batch *b, int64_t column, int part)
{
    struct ty_features_column about;
    const struct feature_out *o = lib_batch_feature(b, column, &about);
    const struct feature_target *t = lib_batch_target(b, column);
    struct part p = {0};
    if (o)
        p = part_of_feature(o, &about, part);
    else if (t)
        p = part_of_target(t, b->features->rows, part);
    return make_tensor(b, &p);
}

struct ty_tensor *ty_batch_hard_negatives(struct ty_batch *b)
{
    struct part p = integers(b->features->hard_at, b->features->rows + 1);
    return make_tensor(b, &p);
}
