/* SPDX-License-Identifier: Apache-2.0 */
/* Which features a negative sampler makes longer: those that read a column of its
 * attr_fields, or such a feature. All inputs of one must have the same rows.
 */
#include <string.h>

#include "base/mem.h"
#include "data/rows.h"
#include "feature/feature_private.h"

static bool is_attr(const struct feature_plan *p, const struct pc_sampler *s,
                    const char *column)
{
    if (p->conf.candidates)
        column = pc_behind_prefix(p->conf.candidates, column);
    for (int64_t i = 0; column && i < s->n_attr_fields; i++)
        if (strcmp(column, s->attr_fields[i]) == 0)
            return true;
    return false;
}

/* The columns that a sampler reads, whether or not a feature does. */
void plan_sampler_columns(struct feature_plan *p)
{
    struct pc_sampler s = pc_sampler_of(p->data);
    if (!s.msg || p->options.no_labels)
        return;
    if (s.item_id_field && s.item_id_field[0])
        plan_want_column(p, s.item_id_field, FEATURE_INPUT, NULL);
    if (s.user_id_field && s.user_id_field[0])
        plan_want_column(p, s.user_id_field, FEATURE_INPUT, NULL);
}

static bool input_sampled(const struct feature_plan *p, const struct fg_input *in)
{
    if (in->feature)
        return in->feature->sampled;
    return in->slot >= 0 && p->columns.at[in->slot].sampled;
}

static void mark_feature(const struct feature_plan *p, struct fg *f, struct diags *diags)
{
    const char *one = NULL, *other = NULL;
    for (size_t i = 0; i < f->n_in; i++) {
        const struct fg_input *in = &f->in[i];
        if (in->is_const || (in->slot < 0 && !in->feature))
            continue;
        if (input_sampled(p, in))
            one = in->column;
        else
            other = in->column;
    }
    f->sampled = one != NULL;
    if (one && other)
        plan_report(diags, f, E1907, NULL,
                    "feature '%s' reads '%s', to which the sampler adds rows, and '%s', "
                    "to which it does not",
                    f->info.name, one, other);
}

void plan_sampled(struct feature_plan *p, struct diags *diags)
{
    struct pc_sampler s = pc_sampler_of(p->data);
    if (!s.msg || s.kind->tree)
        return;
    for (size_t i = 0; i < p->columns.n; i++)
        p->columns.at[i].sampled = is_attr(p, &s, p->columns.at[i].name);
    for (size_t i = 0; i < p->n; i++)
        mark_feature(p, &p->at[p->order[i]->index], diags);
}

static enum rc keep_offsets(const int64_t *from, int64_t n, struct feature_mem *mem,
                            const int64_t **out, struct err *err)
{
    *out = NULL;
    if (!from)
        return RC_OK;
    if (!feature_mem_room(mem, (size_t)n, sizeof(int64_t)))
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)n);
    memcpy(mem->p, from, (size_t)n * sizeof(int64_t));
    *out = mem->p;
    return RC_OK;
}

enum rc feature_sampled_keep(struct feature_batch *out, const struct sampled *in,
                             struct err *err)
{
    int64_t n = in->rows->n + 1;
    out->item_rows = in->items ? in->items->n : 0;
    out->n_common = in->n_common;
    enum rc rc = keep_offsets(in->hard_at, n, &out->own_hard, &out->hard_at, err);
    return rc ? rc : keep_offsets(in->own_at, n, &out->own_items, &out->own_at, err);
}

static enum rc add_first(const struct column *from, int64_t row, struct str delim,
                         struct column *to, struct err *err)
{
    if (from->type->id == TYPE_LIST)
        return from->offsets[row] == from->offsets[row + 1]
                   ? column_add_null(to, err)
                   : column_append(to, &from->kids[0], from->offsets[row], 1, err);
    struct str s = column_str(from, row);
    const char *end = s.n ? memmem(s.p, s.n, delim.p, delim.n) : NULL;
    return column_is_null(from, row)
               ? column_add_null(to, err)
               : column_add_str(to, end ? str_of(s.p, (size_t)(end - s.p)) : s, err);
}

static enum rc first_of(const struct column *from, struct str delim, struct column *to,
                        struct err *err)
{
    const struct type *t =
        from->type->id == TYPE_LIST ? &from->type->kids[0].type : from->type;
    enum rc rc = RC_OK;
    if (to->type && !type_equal(to->type, t))
        column_release(to);
    if (!to->type)
        column_init(to, t);
    to->type = t; /* of this batch */
    column_clear(to);
    for (int64_t i = 0; i < from->n && !rc; i++)
        rc = add_first(from, i, delim, to, err);
    return rc;
}

enum rc feature_first_items(struct feature_scratch *s, struct err *err)
{
    const struct feature_plan *p = s->plan;
    const struct pc_SequenceFeature *group = p->conf.candidates;
    enum rc rc = RC_OK;
    for (size_t i = 0; group && i < p->columns.n && !rc; i++) {
        enum type_id id = s->column[i]->type->id;
        if (!p->columns.at[i].sampled || (id != TYPE_LIST && id != TYPE_STR))
            continue;
        const char *delim =
            group->sequence_delim && *group->sequence_delim ? group->sequence_delim : ";";
        rc = first_of(s->column[i], str_c(delim), &s->first[i], err);
        s->column[i] = &s->first[i];
    }
    return rc;
}
