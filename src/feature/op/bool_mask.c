/* SPDX-License-Identifier: Apache-2.0 */
/* bool_mask_feature: the values of one input where the other one says true. */
#include <strings.h>

#include "feature/feature_private.h"

static void mask_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    f->in[0].form = f->in[1].form = FORM_TEXTS;
}

static bool is_word(struct str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

static enum rc read_mask(struct fg_run *x, int64_t i, bool *on)
{
    struct cell_buf buf;
    struct str s = cell_text(&x->st->in[1], i, &buf);
    *on = is_word(s, "true") || is_word(s, "1");
    if (*on || is_word(s, "false") || is_word(s, "0"))
        return RC_OK;
    return fg_fail(x, &x->f->in[1], RC_FORMAT, E1303, "'%.*s' is neither true nor false",
                   SHOWN(s));
}

static enum rc mask_step(struct fg_run *x, const struct fg_range *in)
{
    int64_t n = in[0].end - in[0].begin, n_mask = in[1].end - in[1].begin;
    enum rc rc = RC_OK;
    if (n == 0 || n_mask == 0)
        return RC_OK;
    if (n != n_mask)
        return fg_fail(x, &x->f->in[1], RC_FORMAT, E1305,
                       "%jd entries in the mask for %jd values", (intmax_t)n_mask,
                       (intmax_t)n);
    for (int64_t i = 0; !rc && i < n; i++) {
        bool on;
        rc = read_mask(x, in[1].begin + i, &on);
        if (!rc && on)
            rc = sink_cell(x, &x->st->in[0], in[0].begin + i, 1.0f);
    }
    return rc;
}

static void json_write_mask(struct fg_json *w)
{
    const struct pc_BoolMaskFeature *m = (const void *)w->f->msg;
    fg_json_default(w);
    fg_json_texts(w, "expression", m->expression, m->n_expression);
    fg_json_count(w, "value_dim", m->has_value_dim ? m->value_dim : 0);
    fg_json_separator(w);
    fg_json_bucket(w);
    if (m->has_fg_value_type)
        fg_json_text(w, "value_type", m->fg_value_type);
}

const struct fg_ops fg_bool_mask = {.compile = mask_compile,
                                    .step = mask_step,
                                    .json = {.write = json_write_mask, .bare = true}};
