/* SPDX-License-Identifier: Apache-2.0 */
/* The HSTU family and the semantic-id models: settings that only make sense together.
 * The model is walked message by message and each one that has rules is looked at,
 * wherever it stands.
 */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

/* action_mlp belongs to action_encoder. */
static void check_action(struct pc_check *x, const struct msg *m, bool encoder, bool mlp)
{
    if (encoder && !mlp)
        schema_report(x->diags, DIAG_ERROR, E0392, m, "action_encoder",
                      "%s has action_encoder but no action_mlp", m->field);
}

static void check_interleave(struct pc_check *x,
                             const struct pc_GRContextualInterleavePreprocessor *p)
{
    if (p->enable_interleaving && !p->action_encoder)
        schema_report(x->diags, DIAG_ERROR, E0392, &p->base, "enable_interleaving",
                      "interleaving needs action_encoder");
}

static void check_pair(struct pc_check *x, const struct msg *m, const char *a,
                       int64_t n_a, const char *b, int64_t n_b)
{
    if (n_a != n_b)
        schema_report(x->diags, DIAG_ERROR, E0393, m, b, "%jd %s and %jd %s",
                      (intmax_t)n_a, a, (intmax_t)n_b, b);
}

/* Both above 0 or both 0, and the split inside the stack. */
static void check_truncation(struct pc_check *x, const struct pc_HSTU *h)
{
    uint32_t split = h->attn_truncation_split_layer, tail = h->attn_truncation_tail_len;
    if ((split > 0) != (tail > 0))
        schema_report(
            x->diags, DIAG_ERROR, E0393, &h->base,
            split ? "attn_truncation_split_layer" : "attn_truncation_tail_len",
            "attn_truncation_split_layer and attn_truncation_tail_len must both "
            "be above 0, or both 0");
    else if (split > 0 && split >= h->attn_num_layers)
        schema_report(x->diags, DIAG_ERROR, E0393, &h->base,
                      "attn_truncation_split_layer",
                      "attn_truncation_split_layer %u is not below attn_num_layers %u",
                      split, h->attn_num_layers);
}

static void check_positions(struct pc_check *x, const struct pc_GRPositionalEncoder *p)
{
    if (p->use_time_encoding && p->num_time_buckets == 0)
        schema_report(x->diags, DIAG_ERROR, E0393, &p->base, "use_time_encoding",
                      "use_time_encoding needs num_time_buckets above 0");
    if (p->use_time_encoding && p->time_bucket_increments <= 0)
        schema_report(x->diags, DIAG_ERROR, E0393, &p->base, "time_bucket_increments",
                      "time_bucket_increments must be above 0");
}

/* Semi-local attention and the kernel */
static void check_local(struct pc_check *x, const struct pc_STU *s)
{
    if ((s->sla_k1 || s->sla_k2) && x->model_config->kernel == pc_Kernel_TRITON)
        schema_report(x->diags, DIAG_WARNING, E0393, &s->base,
                      s->sla_k1 ? "sla_k1" : "sla_k2",
                      "semi-local attention does not exist for kernel TRITON elsewhere; "
                      "use PYTORCH or CUTLASS");
}

/* Messages that consist of a choice */
static void check_choice(struct pc_check *x, const struct msg *m)
{
    static const struct {
        const struct msg_def *def;
        const char *oneof;
    } rows[] = {{&pc_GRActionEncoder_def, "action_encoder"},
                {&pc_GRContentEncoder_def, "content_encoder"},
                {&pc_GRContextualizedMLP_def, "contextualized_mlp"},
                {&pc_GRInputPreprocessor_def, "input_preprocessor"},
                {&pc_GROutputPostprocessor_def, "output_postprocessor"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (m->def == rows[i].def && !schema_oneof(m, rows[i].oneof, NULL))
            schema_report(x->diags, DIAG_ERROR, E0392, m, NULL,
                          "%s names none of its alternatives", m->field);
}

/* The two nets end alike. */
static void check_content(struct pc_check *x, const struct pc_GRMLPContentEncoder *e)
{
    const struct pc_MLP *a = e->uih_mlp, *b = e->target_mlp;
    if (!a || !b || !a->n_hidden_units || !b->n_hidden_units)
        return;
    uint32_t m = a->hidden_units[a->n_hidden_units - 1],
             n = b->hidden_units[b->n_hidden_units - 1];
    if (m != n)
        check_item(x, DIAG_ERROR, E0391, &b->base, "hidden_units", b->n_hidden_units - 1,
                   "target_mlp ends with %u units and uih_mlp with %u", n, m);
}

static void check_hstu_visit(struct pc_check *x, const struct msg *m)
{
    const void *p = m;
    check_choice(x, m);
    if (m->def == &pc_GRContextualPreprocessor_def) {
        const struct pc_GRContextualPreprocessor *c = p;
        check_action(x, m, c->action_encoder, c->action_mlp);
    } else if (m->def == &pc_GRContextualInterleavePreprocessor_def) {
        const struct pc_GRContextualInterleavePreprocessor *c = p;
        check_action(x, m, c->action_encoder, c->action_mlp);
        check_interleave(x, c);
    } else if (m->def == &pc_GRUIHPreprocessor_def) {
        const struct pc_GRUIHPreprocessor *c = p;
        check_action(x, m, c->action_encoder, c->action_mlp);
    } else if (m->def == &pc_GRSimpleActionEncoder_def) {
        const struct pc_GRSimpleActionEncoder *a = p;
        check_pair(x, m, "watchtime_to_action_thresholds",
                   a->n_watchtime_to_action_thresholds, "watchtime_to_action_weights",
                   a->n_watchtime_to_action_weights);
    } else if (m->def == &pc_GRTimestampLayerNormPostprocessor_def) {
        const struct pc_GRTimestampLayerNormPostprocessor *t = p;
        check_pair(x, m, "time_duration_period_units", t->n_time_duration_period_units,
                   "time_duration_units_per_period", t->n_time_duration_units_per_period);
    } else if (m->def == &pc_HSTU_def) {
        check_truncation(x, p);
    } else if (m->def == &pc_GRPositionalEncoder_def) {
        check_positions(x, p);
    } else if (m->def == &pc_STU_def) {
        check_local(x, p);
    } else if (m->def == &pc_GRMLPContentEncoder_def) {
        check_content(x, p);
    }
}

/* Several channels need names of their own. */
static void check_channels(struct pc_check *x, const struct pc_UltraHSTU *u)
{
    if (u->n_hstu == 0)
        schema_report(x->diags, DIAG_ERROR, E0375, &u->base, NULL,
                      "ultra_hstu has no hstu");
    for (int64_t i = 0; i < u->n_hstu && u->n_hstu > 1; i++) {
        const struct pc_HSTU *h = u->hstu[i];
        bool twice = false;
        for (int64_t k = 0; k < i; k++)
            twice = twice || strcmp(h->name, u->hstu[k]->name) == 0;
        if (!*h->name)
            schema_report(x->diags, DIAG_ERROR, E0394, &h->base, NULL,
                          "one of several hstu channels has no name");
        else if (twice)
            schema_report(x->diags, DIAG_ERROR, E0394, &h->base, "name",
                          "there is already an hstu channel '%s'", h->name);
    }
}

void check_hstu(struct pc_check *x)
{
    const struct pc_ModelConfig *m = x->model_config;
    check_walk(x, x->model, check_hstu_visit);
    if (m->ultra_hstu)
        check_channels(x, m->ultra_hstu);
    if (m->hstu_match && m->hstu_match->in_batch_negative)
        schema_report(x->diags, DIAG_ERROR, E0393, x->model, "in_batch_negative",
                      "hstu_match takes its negatives from a sampler; in_batch_negative "
                      "must stay false");
}

/* Codes per layer, and how many candidates they allow */
static void check_codebook(struct pc_check *x, const uint32_t *codes, int64_t n,
                           const struct pc_SidCandidateOutputConfig *out)
{
    if (n == 0)
        schema_report(x->diags, DIAG_ERROR, E0395, x->model, NULL, "%s has no codebook",
                      x->model_field->name);
    if (n > 0 && out && out->enabled && (out->topk < 1 || out->topk > codes[n - 1]))
        schema_report(x->diags, DIAG_ERROR, E0395, &out->base, "topk",
                      "topk %u is outside [1, %u], the codes of the last layer",
                      out->topk, codes[n - 1]);
}

/* contrastive_config is the structure, contrastive_loss the objective. */
static void check_contrastive(struct pc_check *x, const struct pc_SidRqvae *s)
{
    const struct pc_ContrastiveConfig *c = s->contrastive_config;
    const struct pc_LossConfig *loss = NULL;
    for (int64_t i = 0; i < x->model_config->n_losses; i++)
        if (x->model_config->losses[i]->contrastive_loss)
            loss = x->model_config->losses[i];
    if (c && !loss)
        schema_report(x->diags, DIAG_ERROR, E0396, &c->base, NULL,
                      "contrastive_config needs a contrastive_loss among the losses");
    if (!c && loss)
        schema_report(x->diags, DIAG_ERROR, E0396, &loss->base, NULL,
                      "contrastive_loss needs contrastive_config in sid_rqvae");
    if (!c)
        return;
    check_group_of(x, &c->base, "pair_feature_group", c->pair_feature_group);
    check_group_of(x, &c->base, "pair_flag_feature_group", c->pair_flag_feature_group);
}

/* The sample must cover the largest layer. */
static void check_sample(struct pc_check *x, const struct pc_SidRqkmeans *s)
{
    for (int64_t i = 0; i < s->n_codebook; i++)
        if (s->train_sample_size > 0 && s->train_sample_size < s->codebook[i]) {
            schema_report(x->diags, DIAG_ERROR, E0395, &s->base, "train_sample_size",
                          "train_sample_size %u is less than the %u codes of a layer",
                          s->train_sample_size, s->codebook[i]);
            return;
        }
}

void check_sid(struct pc_check *x)
{
    const struct pc_SidRqvae *v = x->model_config->sid_rqvae;
    const struct pc_SidRqkmeans *k = x->model_config->sid_rqkmeans;
    if (v) {
        check_codebook(x, v->codebook, v->n_codebook, v->candidate_output_config);
        check_contrastive(x, v);
    }
    if (k) {
        check_codebook(x, k->codebook, k->n_codebook, k->candidate_output_config);
        check_sample(x, k);
    }
}
