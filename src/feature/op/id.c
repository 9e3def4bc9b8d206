/* SPDX-License-Identifier: Apache-2.0 */
/* id_feature: each value of one input. Also the last stage of FG_BUCKETIZE for texts.
 *
 * Plain columns take a short way: no cells are made, and a dictionary is looked up.
 */
#include <string.h>

#include "feature/feature_private.h"
#include "feature/number.h"

static void id_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    f->in[0].form = f->weighted ? FORM_PAIRS : FORM_TEXTS;
    f->in[0].last_colon = true;
    f->in[0].keep_codes =
        !f->weighted && f->sink == SINK_IDS && f->bucket.kind != BUCKET_BOUNDS;
}

static enum rc weighted_step(struct run *x, const struct cells *c, struct range r)
{
    enum rc rc = RC_OK;
    struct cell_buf buf;
    for (int64_t i = r.begin; !rc && i < r.end; i++) {
        double w = 1.0;
        bool none = c->val.type == CELL_TEXT && !cells_text(c)[i].p;
        if (!none && !plane_number(&c->val, i, &w)) {
            struct str s = plane_text(&c->val, NULL, i, &buf);
            return run_fail(x, NULL, RC_FORMAT, E1303, "weight '%.*s' is no number",
                            SHOWN(s));
        }
        rc = c->key.type == CELL_I64
                 ? sink_i64(x, ((const int64_t *)c->key.mem.p)[i], (float)w)
                 : sink_text(x, ((const struct str *)c->key.mem.p)[i], (float)w);
    }
    return rc;
}

static enum rc id_step(struct run *x, const struct range *in)
{
    const struct cells *c = &x->st->in[0];
    int64_t end = in->end;
    enum rc rc = RC_OK;
    if (x->f->keep && end - in->begin > x->f->keep)
        end = in->begin + x->f->keep;
    if (x->f->weighted)
        return weighted_step(x, c, (struct range){in->begin, end});
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

/* The rows of a column one by one; `give` does what is in a row that is not null. */
#define ROWS(x, col, give)                                    \
    do {                                                      \
        enum rc rows_rc = RC_OK;                              \
        for (int64_t r = 0; !rows_rc && r < (x)->rows; r++) { \
            (x)->row = r;                                     \
            if (!column_is_null((col), r))                    \
                rows_rc = (give);                             \
            if (!rows_rc)                                     \
                rows_rc = sink_end_step(x);                   \
            sink_end_row(x);                                  \
        }                                                     \
        return rows_rc;                                       \
    } while (0)

static enum rc fast_codes(struct run *x, const struct column *col)
{
    enum rc rc = memo_use(x, &x->st->memo, col->dict);
    if (rc)
        return rc;
    ROWS(x, col, memo_sink(x, &x->st->memo, column_code(col, r), true));
}

static enum rc fast_i64(struct run *x, const struct column *col)
{
    ROWS(x, col, sink_i64(x, column_i64(col, r), 1.0f));
}

static enum rc fast_i32(struct run *x, const struct column *col)
{
    ROWS(x, col, sink_i64(x, column_i32(col, r), 1.0f));
}

static enum rc give_text(struct run *x, struct str s)
{
    return s.n ? sink_text(x, s, 1.0f) : RC_OK;
}

static enum rc fast_texts(struct run *x, const struct column *col)
{
    ROWS(x, col, give_text(x, column_str(col, r)));
}

static enum rc id_fast(struct run *x, bool *done)
{
    const struct fg_input *in = &x->f->in[0];
    if (in->slot < 0 || in->seq || x->f->sequence || x->f->weighted ||
        (x->mask && x->f->use_mask))
        return RC_OK;
    const struct column *col = run_column(x, in);
    enum rc (*way)(struct run *, const struct column *) = NULL;
    if (col->n != x->rows || col->type->logical > LOGICAL_BINARY)
        return RC_OK;
    if (col->type->id == TYPE_STR && col->dict)
        way = in->keep_codes ? fast_codes : NULL;
    else if (col->type->id == TYPE_STR &&
             (col->n == 0 || !col->offsets[col->n] ||
              !memchr(col->text, in->sep, (size_t)col->offsets[col->n])))
        way = fast_texts;
    else if (!col->dict && col->type->id == TYPE_I64)
        way = fast_i64;
    else if (!col->dict && col->type->id == TYPE_I32)
        way = fast_i32;
    if (!way)
        return RC_OK;
    *done = true;
    return way(x, col);
}

const struct fg_ops fg_id = {
    .name = "id_feature", .compile = id_compile, .step = id_step, .fast = id_fast};
