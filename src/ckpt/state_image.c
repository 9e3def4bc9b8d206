/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a checkpoint as the image of a table, which the model's lookup restores. */
#include <string.h>

#include "ckpt/state_private.h"

struct lookup_list ckpt_list_of(const struct ckpt_st_tensor *t)
{
    return t ? (struct lookup_list){.data = t->data, .n = ckpt_st_rows(t)}
             : (struct lookup_list){0};
}

/* One by one, from where each is. */
static enum rc read_places(const struct ckpt_table_job *j, int column, int64_t from,
                           int64_t n, void *out, struct err *err)
{
    const struct ckpt_st_tensor *t = j->from[column];
    int64_t width = j->cols[column].width;
    bool floats = j->image.types[column] == DT_F32;
    size_t bytes = (size_t)width * (floats ? sizeof(float) : ckpt_st_type_size(t->type));
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i++) {
        int64_t at = j->places[from + i];
        char *to = (char *)out + (size_t)i * bytes;
        if (floats)
            rc = ckpt_st_read_f32(t, at, 1, (float *)(void *)to, width, err);
        else
            memcpy(to, t->data + (size_t)at * bytes, bytes);
    }
    return rc;
}

/* Where a row of the checkpoint's table lies in its tensors; -1: it was not used. */
static int64_t place_of(const struct ckpt_table_job *j, int64_t row)
{
    const struct lookup_image *image = &j->image;
    const struct lookup_list *ids = &image->lists[LOOKUP_ROW_IDS];
    if (row < 0 || row >= image->rows)
        return -1;
    if (image->form == LOOKUP_ALL)
        return !image->used || (image->used[row >> 3] >> (row & 7) & 1) ? row : -1;
    int64_t lo = 0, hi = ids->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (lookup_list_at(ids, mid) < row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < ids->n && lookup_list_at(ids, lo) == row ? lo : -1;
}

void ckpt_table_job_move(struct ckpt_table_job *j, const int64_t *then, struct arena *a)
{
    int64_t rows = j->conf->rows, n = 0;
    int64_t *places = arena_alloc(a, (size_t)(rows + 1) * sizeof(*places));
    int64_t *ids = arena_alloc(a, (size_t)(rows + 1) * sizeof(*ids));
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = place_of(j, then[r]);
        if (at < 0)
            continue;
        places[n] = at;
        ids[n++] = r;
    }
    j->places = places;
    j->other_initial = false;
    j->image.form = LOOKUP_LISTED;
    j->image.rows = rows;
    j->image.n = n;
    j->image.used = NULL;
    j->image.lists[LOOKUP_ROW_IDS] =
        (struct lookup_list){.data = (const unsigned char *)ids, .n = n};
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
    if (j->places)
        return read_places(j, column, from, n, out, err);
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
