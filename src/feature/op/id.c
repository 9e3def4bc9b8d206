/* SPDX-License-Identifier: Apache-2.0 */
/* id_feature: each value of one input. Also the last stage of FG_BUCKETIZE for texts. */
#include "feature/feature_private.h"
#include "feature/op/id_fast.h"

static void id_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    f->in[0].form = f->weighted ? FORM_PAIRS : FORM_TEXTS;
    f->in[0].last_colon = true;
    f->in[0].keep_codes =
        !f->weighted && f->sink == SINK_IDS && f->bucket.kind != BUCKET_BOUNDS;
}

static enum rc weighted_step(struct fg_run *x, const struct fg_cells *c,
                             struct fg_range r)
{
    enum rc rc = RC_OK;
    struct cell_buf buf;
    for (int64_t i = r.begin; !rc && i < r.end; i++) {
        double w = 1.0;
        bool none = c->val.type == CELL_TEXT && !cells_text(c)[i].p;
        if (!none && !plane_number(&c->val, i, &w)) {
            struct str s = plane_text(&c->val, NULL, i, &buf);
            return fg_fail(x, NULL, RC_FORMAT, E1303, "weight '%.*s' is not a number",
                           SHOWN(s));
        }
        rc = c->key.type == CELL_I64
                 ? sink_i64(x, ((const int64_t *)c->key.mem.p)[i], (float)w)
                 : sink_text(x, ((const struct str *)c->key.mem.p)[i], (float)w);
    }
    return rc;
}

static enum rc id_step(struct fg_run *x, const struct fg_range *in)
{
    const struct fg_cells *c = &x->st->in[0];
    int64_t end = in->end;
    enum rc rc = RC_OK;
    if (x->f->keep && end - in->begin > x->f->keep)
        end = in->begin + x->f->keep;
    if (x->f->weighted)
        return weighted_step(x, c, (struct fg_range){in->begin, end});
    if (c->val.type == CELL_CODE) {
        rc = memo_use(x, &x->st->memo, c->dict);
        for (int64_t i = in->begin; !rc && i < end; i++)
            rc = memo_sink(x, &x->st->memo, cells_code(c)[i], c->split);
        return rc;
    }
    for (int64_t i = in->begin; !rc && i < end; i++)
        rc = sink_cell(x, c, i, 1.0f);
    return rc;
}

static void json_write_id(struct fg_json *w)
{
    const struct pc_IdFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_text(w, "expression", m->expression);
    fg_json_text(w, "value_type", m->has_fg_value_type ? m->fg_value_type : "string");
    fg_json_flag(w, "need_prefix", false);
    fg_json_count(w, "value_dim", w->f->value_dim);
    fg_json_separator(w);
    if (m->weighted)
        fg_json_flag(w, "weighted", true);
    fg_json_bucket(w);
}

const struct fg_ops fg_id = {.compile = id_compile,
                             .step = id_step,
                             .fast = feature_id_fast,
                             .json = {.write = json_write_id}};
