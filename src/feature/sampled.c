/* SPDX-License-Identifier: Apache-2.0 */
/* Which features a negative sampler makes longer: those that read a column of its
 * attr_fields, or such a feature. All inputs of one must have the same rows.
 */
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"

static bool is_attr(const struct pc_sampler *s, const char *column)
{
    for (int64_t i = 0; i < s->n_attr_fields; i++)
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
        p->columns.at[i].sampled = is_attr(&s, p->columns.at[i].name);
    for (size_t i = 0; i < p->n; i++)
        mark_feature(p, &p->at[p->order[i]->index], diags);
}

enum rc feature_sampled_keep(struct feature_batch *out, const struct sampled *in,
                             struct err *err)
{
    int64_t n = in->rows->n + 1;
    out->item_rows = in->items ? in->items->n : 0;
    out->n_common = in->n_common;
    out->hard_at = NULL;
    if (!in->hard_at)
        return RC_OK;
    if (!feature_mem_room(&out->own_hard, (size_t)n, sizeof(int64_t)))
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)n);
    memcpy(out->own_hard.p, in->hard_at, (size_t)n * sizeof(int64_t));
    out->hard_at = out->own_hard.p;
    return RC_OK;
}
