/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks, wherever in the model they stand: nets, encoders, blocks. The whole
 * model is walked once; what is looked at depends on the type of the message. Required
 * fields are enforced here, because the format itself does not: a run would fail later.
 */
#include <string.h>

#include "text/pipeline/activation.h"
#include "text/pipeline/pipeline_private.h"

/* Dropout takes a probability; at 1 nothing is left. */
static void check_ratio(struct pc_check *x, const struct msg *m, const char *field,
                        int64_t index, double ratio)
{
    if (ratio >= 0 && ratio < 1)
        return;
    check_item(x, ratio == 1 ? DIAG_WARNING : DIAG_ERROR, E0387, m, field, index,
               ratio == 1 ? "%s: 1 drops everything" : "%s: %g is outside [0, 1)", field,
               ratio);
}

static void check_ratios(struct pc_check *x, const struct msg *m, const char *field,
                         const double *ratios, int64_t n, int64_t layers)
{
    if (n > 1 && n != layers)
        schema_report(x->diags, DIAG_ERROR, E0386, m, field,
                      "%s: %jd ratios for %jd layers", field, (intmax_t)n,
                      (intmax_t)layers);
    for (int64_t i = 0; i < n; i++)
        check_ratio(x, m, field, i, ratios[i]);
}

static void check_activation(struct pc_check *x, const struct msg *m, const char *field,
                             const char *text)
{
    struct pc_activation act;
    struct err err = {0};
    if (pc_activation_read(text, &act, &err) != RC_OK)
        schema_report(x->diags, DIAG_ERROR, E0389, m, field, "activation '%s': %s", text,
                      err.msg);
}

/* hist_seq_mlp without units is the identity. */
static void check_mlp(struct pc_check *x, const struct pc_MLP *m)
{
    if (m->n_hidden_units == 0 && strcmp(m->base.field, "hist_seq_mlp") != 0)
        schema_report(x->diags, DIAG_ERROR, E0385, &m->base, NULL,
                      "%s has no hidden_units", m->base.field);
    check_ratios(x, &m->base, "dropout_ratio", m->dropout_ratio, m->n_dropout_ratio,
                 m->n_hidden_units);
    if (m->use_bn && m->use_ln)
        schema_report(x->diags, DIAG_ERROR, E0388, &m->base, "use_ln",
                      "%s sets use_bn and use_ln", m->base.field);
    check_activation(x, &m->base, "activation", m->activation);
}

/* Heads split the width evenly. */
static void check_self_attention(struct pc_check *x,
                                 const struct pc_SelfAttentionEncoder *e)
{
    if (e->multihead_attn_dim % e->num_heads != 0)
        schema_report(x->diags, DIAG_ERROR, E0398, &e->base, "num_heads",
                      "num_heads %d does not divide multihead_attn_dim %d", e->num_heads,
                      e->multihead_attn_dim);
    check_ratio(x, &e->base, "dropout", -1, e->dropout);
}

static void need_windows(struct pc_check *x, const struct msg *m, int64_t n)
{
    if (n == 0)
        schema_report(x->diags, DIAG_ERROR, E0398, m, NULL, "%s has no windows_len",
                      m->field);
}

/* MaskBlock */
static void check_mask_block(struct pc_check *x, const struct pc_MaskBlock *b)
{
    if (b->reduction_ratio <= 0 && b->aggregation_dim == 0)
        schema_report(x->diags, DIAG_ERROR, E0398, &b->base, "reduction_ratio",
                      "reduction_ratio is 0 and aggregation_dim is not set: the mask has "
                      "no width");
}

/* Shared experts need a net. */
static void check_extraction(struct pc_check *x, const struct pc_ExtractionNetwork *e)
{
    if (!e->share_expert_net && e->share_num > 0)
        schema_report(x->diags, DIAG_ERROR, E0399, &e->base, "share_num",
                      "%u shared experts need share_expert_net", e->share_num);
}

static void check_pepnet(struct pc_check *x, const struct pc_PEPNet *p)
{
    check_ratios(x, &p->base, "ppnet_dropout_ratio", p->ppnet_dropout_ratio,
                 p->n_ppnet_dropout_ratio, p->n_ppnet_hidden_units);
    check_activation(x, &p->base, "ppnet_activation", p->ppnet_activation);
}

/* wide_init_fn has the grammar of init_fn. */
static void check_wide_init(struct pc_check *x, const struct msg *m)
{
    const struct node *n = node_find(m->node, "wide_init_fn");
    const char *bad = n ? pc_init_fn_problem(x, n->text.p) : NULL;
    if (bad)
        schema_report(x->diags, DIAG_ERROR, E0348, m, "wide_init_fn",
                      "wide_init_fn '%s': %s", n->text.p, bad);
}

static const void *at(const struct msg *m, const struct field_def *f)
{
    return (const char *)m + f->at;
}

/* One of the two parts may be switched off. */
static void check_wukong(struct pc_check *x, const struct pc_WuKongLayer *w)
{
    if (w->lcb_feature_num == 0 && w->fmb_feature_num == 0)
        schema_report(x->diags, DIAG_ERROR, E0398, &w->base, "lcb_feature_num",
                      "lcb_feature_num and fmb_feature_num are both 0");
}

/* Presence of these is tested, or they are a switch. */
static bool may_be_absent(const struct msg *m, const struct field_def *f)
{
    return m->def == &pc_MultiTower_def || m->def == &pc_MultiTowerDIN_def ||
           strcmp(f->name, "low_rank_dim") == 0 ||
           (m->def == &pc_DCNV1_def && strcmp(f->name, "final") == 0) ||
           (m->def == &pc_xDeepFM_def && strcmp(f->name, "final") == 0 &&
            ((const struct pc_xDeepFM *)(const void *)m)->share_fields) ||
           (m->def == &pc_WuKongLayer_def && f->type == FIELD_U32);
}

/* Required is not enforced at load, "fail later only where a value is really
 * needed": messages and sizes without which the model cannot be built.
 */
static void check_required(struct pc_check *x, const struct msg *m)
{
    for (const struct field_def *f = m->def->fields(); f->name; f++) {
        if (f->label != LABEL_REQ || may_be_absent(m, f))
            continue;
        if (f->type == FIELD_MSG && !*(const struct msg *const *)at(m, f))
            schema_report(x->diags, DIAG_ERROR, E0399, m, NULL, "%s has no %s",
                          m->field ? m->field : m->def->name, f->name);
        else if (f->type == FIELD_U32 && *(const uint32_t *)at(m, f) == 0)
            schema_report(x->diags, DIAG_ERROR, E0398, m, f->name,
                          "%s: %s must be above 0", m->field ? m->field : m->def->name,
                          f->name);
    }
}

static void check_module_visit(struct pc_check *x, const struct msg *m)
{
    const void *p = m;
    check_required(x, m);
    if (m->def == &pc_MLP_def)
        check_mlp(x, p);
    else if (m->def == &pc_SelfAttentionEncoder_def)
        check_self_attention(x, p);
    else if (m->def == &pc_MultiWindowDINEncoder_def)
        need_windows(x, m, ((const struct pc_MultiWindowDINEncoder *)p)->n_windows_len);
    else if (m->def == &pc_MultiWindowDINTower_def)
        need_windows(x, m, ((const struct pc_MultiWindowDINTower *)p)->n_windows_len);
    else if (m->def == &pc_MaskBlock_def)
        check_mask_block(x, p);
    else if (m->def == &pc_ExtractionNetwork_def)
        check_extraction(x, p);
    else if (m->def == &pc_PEPNet_def)
        check_pepnet(x, p);
    else if (m->def == &pc_WuKongLayer_def)
        check_wukong(x, p);
    else if (m->def == &pc_InterventionTaskTower_def)
        check_ratio(x, m, "dropout_ratio", -1,
                    ((const struct pc_InterventionTaskTower *)p)->dropout_ratio);
    else if (m->def == &pc_STU_def)
        check_ratio(x, m, "output_dropout_ratio", -1,
                    ((const struct pc_STU *)p)->output_dropout_ratio);
    else if (m->def == &pc_HSTU_def)
        check_ratio(x, m, "input_dropout_ratio", -1,
                    ((const struct pc_HSTU *)p)->input_dropout_ratio);
    check_wide_init(x, m);
}

void check_modules(struct pc_check *x)
{
    check_walk(x, &x->model_config->base, check_module_visit);
}
