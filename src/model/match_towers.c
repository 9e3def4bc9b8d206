/* SPDX-License-Identifier: Apache-2.0 */
/* A query and candidates, each through an encoder and a net, compared by cosine: the deep
 * structured semantic models of Huang et al. 2013, with recurrent or convolutional encoders
 * of texts (Palangi et al. 2014, Shen et al. 2014, TagSpace of Weston et al. 2014). The label
 * says which candidate is the right one.
 */
#include <string.h>

#include "model/parts.h"

#define NORM_EPS 1e-12f

/* A text as one vector. */
static struct nn_val *encode(struct graph *g, const struct pc_TextTower *c,
                             struct nn_val *x)
{
    if (strcmp(c->encoder, "sum") == 0)
        return nn_seq_sum(g, NULL, x);
    if (strcmp(c->encoder, "gru") == 0)
        return nn_seq_max(g, nn_seq_gru(g, "gru", 0, x, c->units));
    return nn_seq_max(g, part_text_conv(g, "conv", x, c->window, c->units, "nn.Tanh"));
}

static struct nn_val *tower(struct model *m, const char *name, const char *group,
                            const struct pc_TextTower *c)
{
    struct graph *g = m->graph;
    struct group in;
    if (!group_of(m, group, 0, NULL, &in))
        return NULL;
    graph_push(g, name);
    struct nn_val *x = in.deep ? in.deep : encode(g, c, in.sequence);
    x = part_mlp(m, "mlp", c->mlp, x);
    if (c->output_dim > 0)
        x = nn_linear(g, "output", x, c->output_dim, true, ACT_NONE);
    graph_pop(g);
    return nn_l2_normalise(g, x, NORM_EPS);
}

static void match_towers_build(struct model *m)
{
    const struct pc_MatchTowers *c = (const void *)m->message;
    struct graph *g = m->graph;
    struct nn_val *scores[OP_INPUTS_MAX];
    uint32_t classes = m->conf->model_config->num_class;
    if (c->n_candidate_inputs < 1 || c->n_candidate_inputs > OP_INPUTS_MAX ||
        classes != (uint32_t)c->n_candidate_inputs) {
        graph_fail(g, "there are %jd candidate_inputs, and num_class is %u",
                   (intmax_t)c->n_candidate_inputs, classes);
        return;
    }
    m->one_table = true;
    struct nn_val *query = tower(m, "query_tower", c->query_input, c->query_tower);
    for (int64_t i = 0; i < c->n_candidate_inputs; i++) {
        const char *name =
            c->share_candidate_tower
                ? "candidate_tower"
                : arena_printf(&m->arena, "candidate_tower.%jd", (intmax_t)i);
        graph_reuse(g, c->share_candidate_tower && i > 0);
        struct nn_val *x = tower(m, name, c->candidate_inputs[i], c->candidate_tower);
        graph_reuse(g, false);
        scores[i] = nn_row_sum(g, nn_mul(g, query, x));
    }
    head_single(m, nn_scale(g, nn_concat(g, scores, (int)c->n_candidate_inputs),
                            (float)c->scale, 0));
}

const struct model_ops model_match_towers = {.name = "match_towers",
                                             .build = match_towers_build};
