/* SPDX-License-Identifier: Apache-2.0 */
/* RQ-VAE (Lee et al. 2022; as semantic ids Rajput et al. 2023): an encoder, codes of its output
 * by a residual quantiser, and a decoder of the codes' vectors. Pairs of items may be drawn
 * together by a contrastive loss; both go through the same nets.
 */
#include <string.h>

#include "model/parts.h"

/* One item on its way. */
struct pass {
    struct nn_val *x, *encoded, *decoded;
    struct part_sid_walk walk;
};

static struct pc_MLP net_of(struct model *m, const uint32_t *units, int64_t n, bool back)
{
    uint32_t *own = arena_alloc(&m->arena, (size_t)n * sizeof(*own));
    for (int64_t i = 0; i < n; i++)
        own[i] = units[back ? n - 1 - i : i];
    return (struct pc_MLP){.base = {.def = &pc_MLP_def},
                           .hidden_units = own,
                           .n_hidden_units = n,
                           .activation = "nn.ReLU",
                           .bias = true};
}

static struct nn_val *coder(struct model *m, const char *name,
                            const struct pc_SidRqvae *c, struct nn_val *x, int64_t out,
                            bool back)
{
    if (!x)
        return NULL;
    int64_t input = back ? out : nn_shape_width(nn_val_shape(x));
    uint32_t half = (uint32_t)(input / 2);
    bool given = c->n_hidden_dims > 0;
    if (!given && half == 0)
        return graph_fail(m->graph,
                          "without hidden_dims the input needs 2 values or more");
    struct pc_MLP net =
        net_of(m, given ? c->hidden_dims : &half, given ? c->n_hidden_dims : 1, back);
    graph_push(m->graph, name);
    x = nn_linear(m->graph, "1", part_mlp(m, "0", &net, x), out, true, ACT_NONE);
    graph_pop(m->graph);
    return x;
}

static struct part_sid_conf conf_of(const struct pc_SidRqvae *c)
{
    const struct pc_SinkhornConfig *s = c->sinkhorn_config;
    bool gumbel = strcmp(c->forward_mode, "gumbel_softmax") == 0;
    struct nn_code_conf code = {.cosine = strcmp(c->distance_type, "cosine") == 0,
                                .gumbel = gumbel,
                                .starts = c->kmeans_init,
                                .restart = c->restart_unused_steps,
                                .sharpness = s ? (float)s->epsilon : 10.0f};
    if (!gumbel && (!s || s->enabled))
        code.sinkhorn_iterations = s ? s->iters : 5;
    return (struct part_sid_conf){.codebook = c->codebook,
                                  .layers = c->n_codebook,
                                  .normalise = c->normalize_residuals,
                                  .trained = true,
                                  .code = code,
                                  .candidates = c->candidate_output_config};
}

static bool run_pass(struct model *m, const struct pc_SidRqvae *c,
                     const struct part_sid_conf *conf, struct nn_val *x, struct pass *out)
{
    struct graph *g = m->graph;
    out->x = x;
    out->encoded = coder(m, "_encoder", c, x, c->embed_dim, false);
    /* drawn codes have gradients; others are passed by */
    struct nn_val *from =
        conf->code.gumbel ? out->encoded : nn_stop_gradient(g, out->encoded);
    if (!part_sid_walk(m, conf, from, &out->walk))
        return false;
    struct nn_val *z = out->walk.latents[conf->layers - 1];
    if (!conf->code.gumbel)
        z = nn_through(g, out->encoded, z, c->rotation_trick);
    out->decoded = coder(m, "_decoder", c, z, nn_shape_width(nn_val_shape(x)), true);
    return out->decoded != NULL;
}

static enum nn_distance distance_named(const char *name)
{
    return strcmp(name, "l1") == 0    ? DISTANCE_L1
           : strcmp(name, "cos") == 0 ? DISTANCE_COS
                                      : DISTANCE_L2;
}

static struct nn_val *commitment(struct model *m, const struct pc_SidCommitmentLoss *c,
                                 const struct pass *p, int64_t layers, double share)
{
    struct graph *g = m->graph;
    bool given = c->n_latent_weight == 2;
    double weights[] = {given ? (double)c->latent_weight[0] : 1.0,
                        given ? (double)c->latent_weight[1] : 0.5};
    enum nn_distance kind = distance_named(c->commitment_type);
    struct nn_val *all = NULL;
    for (int64_t i = 0; i < layers; i++) {
        struct nn_val *z = p->walk.latents[i];
        struct nn_val *to = nn_distance(g, p->encoded, nn_stop_gradient(g, z), kind);
        struct nn_val *from = nn_distance(g, nn_stop_gradient(g, p->encoded), z, kind);
        struct nn_val *both =
            nn_add(g, nn_scale(g, to, (float)(weights[0] * share / (double)layers), 0),
                   nn_scale(g, from, (float)(weights[1] * share / (double)layers), 0));
        all = all ? nn_add(g, all, both) : both;
    }
    return nn_mean_share(g, all);
}

/* Three contrasts: of what the codes give of both items, with the other's original, and with
 * the own original.
 */
static struct nn_val *contrast(struct model *m, const struct pass *a,
                               const struct pass *b, struct nn_val *flag)
{
    struct graph *g = m->graph;
    struct nn_val *u = nn_l2_normalise(g, a->decoded, 1e-12f);
    struct nn_val *v = nn_l2_normalise(g, b->decoded, 1e-12f);
    graph_push(g, "_loss_modules.contrastive_loss");
    struct nn_val *self = nn_contrast_loss(g, "logit_scale_self", u, v, v, u, flag);
    struct nn_val *other = nn_contrast_loss(g, "logit_scale_ori", u, b->x, v, a->x, flag);
    struct nn_val *own = nn_contrast_loss(g, "logit_scale_cl", u, a->x, v, b->x, flag);
    graph_pop(g);
    return nn_scale(g, nn_add(g, self, nn_add(g, other, own)), 1.0f / 3, 0);
}

/* The losses of the config; pair and flag NULL: there are no pairs. */
static void add_losses(struct model *m, int64_t layers, const struct pass *item,
                       const struct pass *pair, struct nn_val *flag)
{
    struct graph *g = m->graph;
    const struct pc_ModelConfig *mc = m->conf->model_config;
    for (int64_t i = 0; i < mc->n_losses; i++) {
        const struct pc_LossConfig *l = mc->losses[i];
        if (l->recon_loss) {
            struct nn_val *d = nn_distance(g, item->decoded, item->x,
                                           distance_named(l->recon_loss->recon_type));
            nn_loss(g, "recon_loss",
                    flag ? nn_flagged_share(g, d, flag, false) : nn_mean_share(g, d));
        } else if (l->commitment_loss) {
            struct nn_val *d =
                commitment(m, l->commitment_loss, item, layers, pair ? 0.5 : 1.0);
            if (pair)
                d = nn_add(g, d, commitment(m, l->commitment_loss, pair, layers, 0.5));
            nn_loss(g, "commitment_loss", d);
        } else if (l->contrastive_loss && pair) {
            nn_loss(g, "contrastive_loss", contrast(m, item, pair, flag));
        } else {
            graph_fail(g, "losses of sid_rqvae are recon_loss, commitment_loss and "
                          "contrastive_loss");
        }
    }
}

static bool pair_groups(struct model *m, const struct pc_ContrastiveConfig *c,
                        int64_t width, struct group *pair, struct group *flag)
{
    if (!group_of(m, c->pair_feature_group, 0, NULL, pair) ||
        !group_of(m, c->pair_flag_feature_group, 0, NULL, flag))
        return false;
    if (!pair->deep || nn_shape_width(nn_val_shape(pair->deep)) != width)
        return graph_fail(m->graph, "group '%s' must have %jd values, as the first group",
                          c->pair_feature_group, (intmax_t)width) != NULL;
    if (!flag->deep || nn_shape_width(nn_val_shape(flag->deep)) != 1)
        return graph_fail(m->graph, "group '%s' must be one number per row",
                          c->pair_flag_feature_group) != NULL;
    return true;
}

static void sid_rqvae_build(struct model *m)
{
    const struct pc_SidRqvae *c = (const void *)m->message;
    struct part_sid_conf conf = conf_of(c);
    struct group first, second, flag = {0};
    struct pass item = {0}, pair = {0};
    m->one_shard = c->kmeans_init            ? "kmeans_init"
                   : c->restart_unused_steps ? "restart_unused_steps"
                                             : NULL;
    if (!part_first_group(m, &first) || !run_pass(m, c, &conf, first.deep, &item))
        return;
    bool pairs = c->contrastive_config && !m->options.alone;
    if (pairs) {
        if (!pair_groups(m, c->contrastive_config,
                         nn_shape_width(nn_val_shape(first.deep)), &second, &flag))
            return;
        struct part_sid_conf other = conf;
        other.code.restart = 0; /* the items' own pass counts */
        graph_reuse(m->graph, true);
        bool ok = run_pass(m, c, &other, second.deep, &pair);
        graph_reuse(m->graph, false);
        if (!ok)
            return;
    }
    if (!m->options.alone)
        add_losses(m, conf.layers, &item, pairs ? &pair : NULL, flag.deep);
    head_sid(m, &conf, &item.walk, item.decoded, item.x);
    m->sid.flag = flag.deep;
    nn_keep(m->graph, flag.deep);
}

const struct model_ops model_sid_rqvae = {.name = "sid_rqvae", .build = sid_rqvae_build};
