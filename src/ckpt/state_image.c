/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a checkpoint as the image of a table, which the model's lookup restores. */
#include <string.h>

#include "ckpt/state_private.h"

struct lookup_list ckpt_list_of(const struct ckpt_st_tensor *t)
{
    return t ? (struct lookup_list){.data = t->data, .n = ckpt_st_rows(t)}
             : (struct lookup_list){0};
}

/* Weights as they are stored when that is the table's own type; everything else as
 * floats.
 */
static enum rc read_tensor(const void *arg, int column, int64_t from, int64_t n,
                           void *out, struct err *err)
{
    const struct ckpt_table_job *j = arg;
    const struct ckpt_st_tensor *t = j->from[column];
    size_t bytes = (size_t)j->cols[column].width * ckpt_st_type_size(t->type);
    if (j->image.types[column] == DT_F32)
        return ckpt_st_read_f32(t, from, n, out, j->cols[column].width, err);
    memcpy(out, t->data + (size_t)from * bytes, (size_t)n * bytes);
    return RC_OK;
}

enum rc ckpt_table_job_run(struct ckpt_table_job *j, struct lookup *l, struct err *err)
{
    for (int i = 0; i < j->n_cols; i++) {
        bool same = j->from[i] && j->from[i]->type == ckpt_stored_type(j->cols[i].type);
        j->image.has[i] = j->from[i] != NULL;
        j->image.types[i] = same ? j->cols[i].type : DT_F32;
    }
    j->image.read = read_tensor;
    j->image.arg = j;
    j->image.origin = j->other_initial ? &j->origin : NULL;
    return lookup_restore(l, j->table, &j->image, err);
}
