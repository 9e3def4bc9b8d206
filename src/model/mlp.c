/* SPDX-License-Identifier: Apache-2.0 */
/* Nets and activations as configs describe them. Names of parameters count the
 * sub-modules that are really there: linear, norm, activation, dropout; on a sequence a
 * batch norm stands between two transpositions, which are counted too.
 *
 * Batch statistics of a sequence count its padding. All padded positions of a row are
 * alike, so the net is applied to one of them per row beside the real positions.
 */
#include <stdio.h>
#include <string.h>

#include "model/parts.h"
#include "text/pipeline/activation.h"

static const struct {
    const char *name;
    enum nn_act act;
} acts[] = {
    {"ReLU", ACT_RELU},
    {"LeakyReLU", ACT_LEAKY_RELU},
    {"ELU", ACT_ELU},
    {"SELU", ACT_SELU},
    {"GELU", ACT_GELU},
    {"SiLU", ACT_SILU},
    {"Sigmoid", ACT_SIGMOID},
    {"Tanh", ACT_TANH},
    {"Softplus", ACT_SOFTPLUS},
    {"Mish", ACT_MISH},
    {"Hardswish", ACT_HARDSWISH},
    {"ReLU6", ACT_RELU6},
    {"Softsign", ACT_SOFTSIGN},
    {"Identity", ACT_NONE},
    {"", ACT_NONE},
};

/* Of those without parameters of their own. */
static bool act_of(const struct pc_activation *a, enum nn_act *out)
{
    for (size_t i = 0; i < ARRAY_LEN(acts); i++)
        if (strcmp(a->name, acts[i].name) == 0) {
            *out = a->tanh ? ACT_GELU_TANH : acts[i].act;
            return true;
        }
    return false;
}

struct nn_val *part_act(struct graph *g, const char *name, const char *text,
                        struct nn_val *x)
{
    struct pc_activation a;
    struct err err = {0};
    enum nn_act act;
    if (pc_activation_read(text, &a, &err) != RC_OK)
        return graph_fail(g, "activation '%s': %s", text, err.msg);
    if (act_of(&a, &act))
        return nn_act(g, x, act, a.param);
    return strcmp(a.name, "Dice") == 0 ? nn_dice(g, name, x)
                                       : nn_prelu(g, name, x, a.param);
}

/* Activations that the product can do by itself. */
static bool fused_act(const char *text, enum nn_act *act)
{
    struct pc_activation a;
    enum nn_act found = ACT_NONE;
    if (pc_activation_read(text, &a, NULL) != RC_OK || !act_of(&a, &found) ||
        (found != ACT_RELU && found != ACT_SIGMOID && found != ACT_TANH))
        return false;
    *act = found;
    return true;
}

static double dropout_of(const struct pc_MLP *c, int64_t layer)
{
    if (c->n_dropout_ratio == 0)
        return 0;
    return c->dropout_ratio[c->n_dropout_ratio == 1 ? 0 : layer];
}

/* What flows through a net: positions or rows, and the padding behind the positions
 * (NULL: it does not count).
 */
struct stream {
    struct nn_val *x, *pad;
};

struct layer {
    struct graph *graph;
    const struct pc_MLP *conf;
    int64_t index;
    bool last;
    /* Of a first layer that reads pairs of a query and x. */
    struct nn_val *query;
    bool differences;
    bool sequence; /* of positions, not of rows */
    enum nn_act fused;
    char norm[8], act[8]; /* names */
};

typedef struct nn_val *piece_fn(const struct layer *l, struct nn_val *x);

static struct nn_val *linear_piece(const struct layer *l, struct nn_val *x)
{
    int64_t out = l->conf->hidden_units[l->index];
    bool bias = l->conf->bias && !l->conf->use_bn;
    if (l->query)
        return nn_pair_linear(l->graph, "0", l->query, x, l->differences, out, bias,
                              l->fused);
    return nn_linear(l->graph, "0", x, out, bias, l->fused);
}

static struct nn_val *layer_norm_piece(const struct layer *l, struct nn_val *x)
{
    return nn_layer_norm(l->graph, l->norm, x);
}

static struct nn_val *act_piece(const struct layer *l, struct nn_val *x)
{
    return part_act(l->graph, l->act, l->conf->activation, x);
}

static struct nn_val *dropout_piece(const struct layer *l, struct nn_val *x)
{
    return nn_dropout(l->graph, x, dropout_of(l->conf, l->index));
}

static void apply(const struct layer *l, piece_fn *piece, struct stream *s)
{
    s->x = piece(l, s->x);
    graph_reuse(l->graph, true);
    s->pad = s->pad ? piece(l, s->pad) : NULL;
    graph_reuse(l->graph, false);
}

static bool is_dice(const struct pc_MLP *c)
{
    return c->activation && str_is(str_trim(str_c(c->activation)), "Dice");
}

static void apply_batch_norm(const struct layer *l, struct stream *s)
{
    bool more = !l->last || is_dice(l->conf);
    struct nn_val *pad = s->pad;
    s->pad = NULL;
    s->x = pad ? nn_batch_norm_padded(l->graph, l->norm, s->x, pad, true,
                                      more ? &s->pad : NULL)
               : nn_batch_norm(l->graph, l->norm, s->x, true);
}

static void apply_dice(const struct layer *l, struct stream *s)
{
    struct nn_val *pad = s->pad;
    s->pad = NULL;
    s->x = nn_dice_padded(l->graph, l->act, s->x, pad, l->last ? NULL : &s->pad);
}

static void apply_layer(struct layer *l, struct stream *s)
{
    const struct pc_MLP *c = l->conf;
    bool norm = c->use_bn || c->use_ln,
         whole = !norm && fused_act(c->activation, &l->fused);
    bool turned = c->use_bn && l->sequence;
    snprintf(l->norm, sizeof(l->norm), "%d", turned ? 2 : 1);
    snprintf(l->act, sizeof(l->act), "%d", turned ? 4 : norm ? 2 : 1);
    apply(l, linear_piece, s);
    if (c->use_bn)
        apply_batch_norm(l, s);
    else if (c->use_ln)
        apply(l, layer_norm_piece, s);
    if (is_dice(c))
        apply_dice(l, s);
    else if (!whole)
        apply(l, act_piece, s);
    apply(l, dropout_piece, s);
}

/* Layers 0 and 1 over pairs in one go, where nothing comes between them. */
static bool two_pair_layers(struct model *m, const struct pc_MLP *c,
                            const struct layer *first, struct stream *s)
{
    enum nn_act act;
    struct nn_pair_layer layers[2];
    if (!first->query || c->n_hidden_units < 2 || c->use_bn || c->use_ln || is_dice(c) ||
        dropout_of(c, 0) > 0 || dropout_of(c, 1) > 0 || !fused_act(c->activation, &act))
        return false;
    for (int i = 0; i < 2; i++)
        layers[i] = (struct nn_pair_layer){
            .name = arena_printf(&m->arena, "mlp.%d.perceptron.0", i),
            .out = c->hidden_units[i],
            .bias = c->bias,
            .act = act};
    if (!nn_pair_net_fits(layers))
        return false;
    s->x = nn_pair_net(m->graph, first->query, s->x, first->differences, layers);
    return true;
}

static struct nn_val *mlp(struct model *m, const char *name, const struct pc_MLP *conf,
                          struct stream s, const struct layer *first,
                          struct nn_val **layers)
{
    if (conf->n_hidden_units == 0)
        return graph_fail(m->graph, "%s: hidden_units is empty", name);
    if (conf->n_dropout_ratio > 1 && conf->n_dropout_ratio != conf->n_hidden_units)
        return graph_fail(m->graph, "%s: %jd dropout ratios for %jd layers", name,
                          (intmax_t)conf->n_dropout_ratio,
                          (intmax_t)conf->n_hidden_units);
    if (conf->use_bn && conf->use_ln)
        return graph_fail(m->graph, "%s: use_bn and use_ln exclude each other", name);
    graph_push(m->graph, name);
    int64_t from = two_pair_layers(m, conf, first, &s) ? 2 : 0;
    for (int64_t i = from; i < conf->n_hidden_units; i++) {
        struct layer l = i == 0 ? *first : (struct layer){0};
        int axis = s.x ? nn_val_shape(s.x)->axis : AXIS_BATCH;
        l.graph = m->graph;
        l.conf = conf;
        l.index = i;
        l.last = i + 1 == conf->n_hidden_units;
        l.sequence = (axis != AXIS_BATCH && axis != m->match.items && !m->jagged) ||
                     (s.x && nn_val_shape(s.x)->n_dims > 1);
        graph_push(m->graph, arena_printf(&m->arena, "mlp.%jd.perceptron", (intmax_t)i));
        apply_layer(&l, &s);
        graph_pop(m->graph);
        if (layers)
            layers[i] = s.x;
    }
    graph_pop(m->graph);
    return s.x;
}

struct nn_val *part_mlp_padded(struct model *m, const char *name,
                               const struct pc_MLP *conf, struct nn_val *x,
                               struct nn_val *pad)
{
    return conf ? mlp(m, name, conf, (struct stream){x, pad}, &(struct layer){0}, NULL)
                : x;
}

struct nn_val *part_mlp_pairs(struct model *m, const char *name,
                              const struct pc_MLP *conf, struct nn_val *query,
                              struct nn_val *keys, bool differences)
{
    return mlp(m, name, conf, (struct stream){keys, NULL},
               &(struct layer){.query = query, .differences = differences}, NULL);
}

struct nn_val *part_mlp(struct model *m, const char *name, const struct pc_MLP *conf,
                        struct nn_val *x)
{
    return part_mlp_padded(m, name, conf, x, NULL);
}

struct nn_val *part_mlp_layers(struct model *m, const char *name,
                               const struct pc_MLP *conf, struct nn_val *x,
                               struct nn_val **layers)
{
    return mlp(m, name, conf, (struct stream){x, NULL}, &(struct layer){0}, layers);
}

bool part_mlp_counts_padding(const struct pc_MLP *conf)
{
    return conf && (conf->use_bn || is_dice(conf));
}
