/* SPDX-License-Identifier: Apache-2.0 */
/* The features of the sample rows in a file, by the names that TorchEasyRec gives the
 * tensors of a batch. Offsets become lengths; all else is written from where it lies.
 */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "train/export/export_private.h"

struct feature_tensors {
    VEC(struct ckpt_st_source *) list; /* owned, with names and the arrays of `made` */
    VEC(int64_t *) made;
};

static void release_tensors(struct feature_tensors *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        mem_free((char *)t->list.at[i]->name);
        mem_free(t->list.at[i]);
    }
    for (size_t i = 0; i < t->made.n; i++)
        mem_free(t->made.at[i]);
    VEC_RELEASE(&t->list);
    VEC_RELEASE(&t->made);
}

static const void *bytes_at(const void *arg, int64_t row, int64_t n, void *scratch,
                            struct err *err)
{
    return (const char *)arg + row;
}

/* `width` 0: a tensor of one dimension. */
static void add(struct feature_tensors *t, const char *feature, const char *what,
                enum ckpt_st_type type, const void *data, int64_t n, int64_t width)
{
    struct ckpt_st_source *s = mem_calloc(1, sizeof(*s));
    size_t each = type == ST_I64 ? sizeof(int64_t) : sizeof(float);
    *s = (struct ckpt_st_source){.name = mem_printf("%s.%s", feature, what),
                                 .type = type,
                                 .n_dims = width ? 2 : 1,
                                 .dims = {n, width},
                                 .rows = n * (width ? width : 1) * (int64_t)each,
                                 .row_bytes = 1,
                                 .fn = bytes_at,
                                 .arg = data};
    VEC_PUSH(&t->list, s);
}

/* offsets[n + 1] as n lengths. */
static void add_lengths(struct feature_tensors *t, const char *feature, const char *what,
                        const int64_t *offsets, int64_t n)
{
    int64_t *lengths = mem_calloc((size_t)n + 1, sizeof(*lengths));
    for (int64_t i = 0; i < n; i++)
        lengths[i] = offsets[i + 1] - offsets[i];
    VEC_PUSH(&t->made, lengths);
    add(t, feature, what, ST_I64, lengths, n, 0);
}

static bool one_per_step(const struct feature_out *o)
{
    for (int64_t s = 0; s < o->steps; s++)
        if (o->step_offsets[s + 1] - o->step_offsets[s] != 1)
            return false;
    return true;
}

static void add_feature(struct feature_tensors *t, const struct feature_info *f,
                        const struct feature_out *o)
{
    if (f->sparse)
        add(t, f->name, "values", ST_I64, o->ids, o->n_ids, 0);
    else
        add(t, f->name, "values", ST_F32, o->values, f->sequence ? o->steps : o->rows,
            f->value_dim);
    if (f->sequence)
        add_lengths(t, f->name, "lengths", o->seq_offsets, o->rows);
    else if (f->sparse)
        add_lengths(t, f->name, "lengths", o->offsets, o->rows);
    if (f->sequence && f->sparse && !one_per_step(o))
        add_lengths(t, f->name, "key_lengths", o->step_offsets, o->steps);
    if (f->sparse && o->weights)
        add(t, f->name, "weights", ST_F32, o->weights, o->n_ids, 0);
}

enum rc train_export_put_features(const struct feature_plan *plan,
                                  const struct feature_batch *b, const char *dir,
                                  struct err *err)
{
    struct feature_tensors t = {0};
    struct ckpt_st_sum sum;
    char *path = fs_join(dir, EXPORT_FEATURES);
    for (size_t i = 0; i < b->n; i++) {
        const struct feature_info *info = feature_plan_info(plan, i);
        if (!info->stub)
            add_feature(&t, info, &b->at[i]);
    }
    enum rc rc = ckpt_st_write(path, t.list.at, t.list.n, &sum, err);
    release_tensors(&t);
    mem_free(path);
    return rc;
}
