/* SPDX-License-Identifier: Apache-2.0 */
/* HSTU (Zhai et al. 2024, "Actions speak louder than words"): a user's context, history and
 * candidates as one sequence of tokens, through layers of transduction units. Per row the
 * tokens are [context | history | candidates]; with interleaving each item of the history
 * is followed by a token of what was done with it. TorchEasyRec adds such tokens behind
 * candidates, too, while it trains: nobody sees them and nothing is read from them, so they
 * are left out here. Formulas: docs/models.md.
 */
#include <math.h>
#include <string.h>

#include "model/parts.h"

#define NORM_EPS 1e-6f
#define INPUT_EPS 1e-6
#define ACTION_DEVIATION 0.1
#define BIAS_DEVIATION 0.02

/* What a model has of one history while its graph is built. */
struct hstu {
    struct model *m;
    const struct part_hstu_conf *conf;
    const struct pc_HSTU *c;
    int64_t width;          /* of a token */
    struct nn_val *history; /* of items */
    struct nn_val *times;   /* [1] per item of the history, or NULL */
    int axis, target_axis;  /* of the history; of candidates, or 0 */
    int tokens;             /* axis of all tokens */
    int64_t each;           /* tokens per item of the history */
    struct nn_val *token_times;
};

size_t part_count_params(const struct model *m)
{
    size_t n;
    graph_params(m->graph, &n);
    return n;
}

void part_xavier(struct model *m, size_t from)
{
    size_t n;
    struct param *const *params = graph_params(m->graph, &n);
    for (size_t i = from; i < n; i++) {
        struct param *p = params[i];
        size_t end = strlen(p->name);
        if (p->n_dims != 2 || end < 7 || strcmp(p->name + end - 7, ".weight") != 0)
            continue;
        double bound = sqrt(6.0 / (double)(p->dims[0] + p->dims[1]));
        p->init = (struct nn_init){INIT_UNIFORM, -bound, bound};
        struct param *bias = graph_param(
            m->graph, arena_printf(&m->arena, "%.*s.bias", (int)end - 7, p->name));
        if (bias)
            bias->init = (struct nn_init){INIT_ZEROS, 0, 0};
    }
}

/* x * sigmoid(layer norm of x) */
static struct nn_val *swish_norm(struct graph *g, const char *name, struct nn_val *x)
{
    return nn_mul(g, x, nn_act(g, nn_layer_norm(g, name, x), ACT_SIGMOID, 0));
}

struct nn_val *part_swish_net(struct model *m, const char *name, struct nn_val *x,
                              int64_t hidden, int64_t out)
{
    struct graph *g = m->graph;
    size_t from = part_count_params(m);
    graph_push(g, name);
    x = swish_norm(g, "1", nn_linear(g, "0", x, hidden, true, ACT_NONE));
    x = nn_layer_norm(g, "3", nn_linear(g, "2", x, out, true, ACT_NONE));
    graph_pop(g);
    part_xavier(m, from);
    return x;
}

bool part_hstu_context(struct model *m, bool one_token, struct part_hstu_conf *out)
{
    struct group g;
    if (!group_query(m, "contextual", &g))
        return false;
    if (!one_token && g.field_width == 0)
        return graph_fail(m->graph,
                          "group 'contextual': its features make a token each, so all "
                          "need one embedding_dim (or set concat_contextual_features)") !=
               NULL;
    out->context = g.deep;
    out->n_context = one_token ? 1 : g.n_fields;
    return true;
}

/* --- nets on items and actions --- */

/* A net whose matrix depends on the context of the row: made once, for items of the
 * history and candidates.
 */
struct net {
    const struct pc_GRContextualizedMLP *c;
    const char *name;
    struct nn_val *matrix, *bias;
};

static bool make_matrix(struct hstu *h, struct net *n, int64_t in)
{
    const struct pc_GRParameterizedContextualizedMLP *c = n->c->parameterized_mlp;
    struct graph *g = h->m->graph;
    const int64_t dims[] = {in, h->width};
    if (!h->conf->context)
        return graph_fail(g, "parameterized_mlp needs the feature group 'contextual'") !=
               NULL;
    size_t from = part_count_params(h->m);
    struct nn_val *x = nn_dropout(g, h->conf->context, c->contextual_dropout_ratio);
    x = nn_linear(g, "_dense_features_compress", x, c->hidden_dim, true, ACT_NONE);
    struct nn_val *raw =
        nn_linear(g, "_attn_raw_weights.0", x, in * h->width, true, ACT_NONE);
    struct param *w = nn_param(g, "_attn_weights_norm.weight", dims, 2,
                               (struct nn_init){INIT_ONES, 0, 0}, true);
    struct param *b = nn_param(g, "_attn_weights_norm.bias", dims, 2,
                               (struct nn_init){INIT_ZEROS, 0, 0}, true);
    n->matrix = nn_layer_norm_by(g, w, b, 1e-5, raw);
    graph_push(g, "_res_weights");
    x = swish_norm(g, "1", nn_linear(g, "0", x, c->hidden_dim, true, ACT_NONE));
    n->bias = nn_linear(g, "2", x, h->width, true, ACT_NONE);
    graph_pop(g);
    part_xavier(h->m, from);
    if (w) /* a norm's, though it is a matrix */
        w->init = (struct nn_init){INIT_ONES, 0, 0};
    return n->bias != NULL;
}

static struct nn_val *apply_net(struct hstu *h, struct net *n, struct nn_val *x)
{
    struct graph *g = h->m->graph;
    if (!x)
        return NULL;
    graph_push(g, n->name);
    if (n->c->simple_mlp) {
        graph_reuse(g, true);
        x = part_swish_net(h->m, "_mlp", x, n->c->simple_mlp->hidden_dim, h->width);
        graph_reuse(g, false);
    } else if (n->matrix || make_matrix(h, n, nn_shape_width(nn_val_shape(x)))) {
        x = nn_seq_times(g, x, n->matrix, n->bias);
    }
    graph_pop(g);
    return x;
}

/* --- content: items of the history and candidates, as wide as each other --- */

struct content {
    struct nn_val *history, *targets; /* targets NULL: there are none */
};

static bool slice_content(struct hstu *h, struct content *x)
{
    int64_t n = nn_shape_width(nn_val_shape(x->history));
    if (nn_shape_width(nn_val_shape(x->targets)) < n)
        return graph_fail(h->m->graph,
                          "slice_content_encoder: candidates of %jd values are not as "
                          "wide as the history's %jd",
                          (intmax_t)nn_shape_width(nn_val_shape(x->targets)),
                          (intmax_t)n) != NULL;
    x->targets = nn_slice(h->m->graph, x->targets, 0, n);
    return true;
}

static bool pad_content(struct hstu *h, struct content *x)
{
    struct graph *g = h->m->graph;
    int64_t more = nn_shape_width(nn_val_shape(x->targets)) -
                   nn_shape_width(nn_val_shape(x->history));
    if (more < 1)
        return graph_fail(g,
                          "pad_content_encoder: candidates are not wider than the "
                          "history's %jd values",
                          (intmax_t)nn_shape_width(nn_val_shape(x->history))) != NULL;
    struct param *p =
        nn_param(g, "_target_enrich_dummy_embeddings", (const int64_t[]){1, more}, 2,
                 (struct nn_init){INIT_NORMAL, 0, ACTION_DEVIATION}, true);
    struct nn_val *parts[] = {x->history, nn_learned_row(g, p, x->history)};
    x->history = nn_concat(g, parts, 2);
    return true;
}

static bool make_content(struct hstu *h, const struct pc_GRContentEncoder *c,
                         struct content *x)
{
    bool ok = true;
    *x = (struct content){.history = h->history, .targets = h->conf->targets};
    graph_push(h->m->graph, "_content_encoder");
    if (c->slice_content_encoder)
        ok = slice_content(h, x);
    else if (c->pad_content_encoder)
        ok = pad_content(h, x);
    else if (c->mlp_content_encoder) {
        x->history =
            part_mlp(h->m, "uih_mlp", c->mlp_content_encoder->uih_mlp, x->history);
        x->targets =
            part_mlp(h->m, "target_mlp", c->mlp_content_encoder->target_mlp, x->targets);
    }
    graph_pop(h->m->graph);
    return ok && x->history && x->targets;
}

/* --- what was done with an item --- */

static bool action_conf(struct hstu *h, const struct pc_GRSimpleActionEncoder *c,
                        struct nn_action_conf *out)
{
    int64_t n = c->n_action_weights, more = c->n_watchtime_to_action_weights;
    *out = (struct nn_action_conf){.types = n + more, .thresholds = more};
    if (n + more < 1 || n + more > NN_ACTIONS_MAX || c->action_embedding_dim < 1)
        return graph_fail(h->m->graph,
                          "simple_action_encoder: %jd types of actions of %u values; "
                          "there are 1 to %d",
                          (intmax_t)(n + more), c->action_embedding_dim,
                          NN_ACTIONS_MAX) != NULL;
    for (int64_t i = 0; i < n; i++)
        out->bits[i] = c->action_weights[i];
    for (int64_t i = 0; i < more; i++) {
        out->bits[n + i] = c->watchtime_to_action_weights[i];
        out->threshold[i] = c->watchtime_to_action_thresholds[i];
    }
    return true;
}

/* A group of the history: "uih" and "action" are the group "uih_action". */
static const char *history_group(const struct hstu *h, const char *what)
{
    const char *name = h->c->name && h->c->name[0] ? h->c->name : "uih";
    return arena_printf(&h->m->arena, "%s_%s", name, what);
}

/* A number per item of the history; in the order of time. */
static struct nn_val *history_number(struct hstu *h, const char *what, const char *by)
{
    const char *name = history_group(h, what);
    if (!group_exists(h->m, name))
        return graph_fail(h->m->graph, "%s needs the feature group '%s'", by, name);
    struct nn_val *x = group_along(h->m, name, h->axis);
    if (x && nn_shape_width(nn_val_shape(x)) != 1)
        return graph_fail(h->m->graph, "group '%s' has %jd values per item, not one",
                          name, (intmax_t)nn_shape_width(nn_val_shape(x)));
    return x && h->conf->newest_first ? nn_seq_reverse(h->m->graph, x) : x;
}

static bool make_actions(struct hstu *h, const struct pc_GRActionEncoder *encoder,
                         struct content *x)
{
    const struct pc_GRSimpleActionEncoder *c = encoder->simple_action_encoder;
    struct graph *g = h->m->graph;
    struct nn_action_conf conf;
    struct nn_init normal = {INIT_NORMAL, 0, ACTION_DEVIATION};
    if (!c)
        return graph_fail(g, "action_encoder names no encoder") != NULL;
    if (!action_conf(h, c, &conf))
        return false;
    struct nn_val *action = history_number(h, "action", "action_encoder"), *watch = NULL;
    if (conf.thresholds)
        watch = history_number(h, "watchtime", "watchtime_to_action_thresholds");
    if (!action || (conf.thresholds && !watch))
        return false;
    int64_t dim = c->action_embedding_dim;
    graph_push(g, "_action_encoder");
    struct param *table = nn_param(g, "_action_embedding_table",
                                   (const int64_t[]){conf.types, dim}, 2, normal, true);
    struct param *target =
        nn_param(g, "_target_action_embedding_table",
                 (const int64_t[]){1, conf.types * dim}, 2, normal, true);
    graph_pop(g);
    x->history = nn_action_embed(g, action, watch, table, &conf);
    x->targets = h->conf->targets ? nn_learned_row(g, target, h->conf->targets) : NULL;
    return x->history != NULL;
}

/* --- tokens --- */

/* The context as tokens, [n * width]. */
static struct nn_val *context_tokens(struct hstu *h)
{
    struct graph *g = h->m->graph;
    const struct part_hstu_conf *c = h->conf;
    if (!c->context)
        return NULL;
    int64_t dim = nn_shape_width(nn_val_shape(c->context)) / c->n_context;
    double deviation = sqrt(2.0 / (double)(dim + h->width));
    struct param *w = nn_param(g, "_batched_contextual_linear_weights",
                               (const int64_t[]){c->n_context, dim, h->width}, 3,
                               (struct nn_init){INIT_NORMAL, 0, deviation}, true);
    struct param *b = nn_param(g, "_batched_contextual_linear_bias",
                               (const int64_t[]){c->n_context, 1, h->width}, 3,
                               (struct nn_init){INIT_ZEROS, 0, 0}, true);
    return nn_field_times(g, w, b, c->context);
}

/* Context, history and candidates, in this order; those that are NULL are not there. */
static struct nn_val *join(struct hstu *h, struct nn_val *context, struct nn_val *history,
                           struct nn_val *targets, int64_t width)
{
    struct nn_val *parts[3];
    int n = 0;
    if (context)
        parts[n++] = context;
    parts[n++] = history;
    if (targets)
        parts[n++] = targets;
    const char *name = arena_printf(&h->m->arena, "%s tokens", h->conf->history);
    struct nn_val *x = nn_seq_join(h->m->graph, name, parts, n, width,
                                   h->tokens ? h->tokens : AXIS_BATCH);
    if (x)
        h->tokens = nn_val_shape(x)->axis;
    return x;
}

static struct nn_val *ranked_tokens(struct hstu *h,
                                    const struct pc_GRContentEncoder *encoder,
                                    const struct pc_GRContextualizedMLP *net,
                                    const struct pc_GRActionEncoder *actions,
                                    const struct pc_GRContextualizedMLP *action_net,
                                    bool interleave)
{
    struct graph *g = h->m->graph;
    struct content x, done = {0};
    struct net content_net = {.c = net, .name = "_content_embedding_mlp"};
    struct net done_net = {.c = action_net, .name = "_action_embedding_mlp"};
    if (!encoder || !net || (actions && !action_net) || (interleave && !actions))
        return graph_fail(g, "the preprocessor needs %s",
                          !encoder   ? "content_encoder"
                          : !net     ? "content_mlp"
                          : !actions ? "action_encoder for interleaving"
                                     : "action_mlp");
    if (!h->conf->targets)
        return graph_fail(g, "this preprocessor takes candidates; without them use "
                             "uih_preprocessor");
    struct nn_val *context = context_tokens(h);
    if (!make_content(h, encoder, &x))
        return NULL;
    x.history = apply_net(h, &content_net, x.history);
    x.targets = apply_net(h, &content_net, x.targets);
    if (actions && !make_actions(h, actions, &done))
        return NULL;
    if (actions) {
        done.history = apply_net(h, &done_net, done.history);
        if (interleave) {
            struct nn_val *both[] = {x.history, done.history};
            x.history = nn_concat(g, both, 2);
            h->each = 2;
        } else {
            x.history = nn_add(g, x.history, done.history);
            x.targets = nn_add(g, x.targets, apply_net(h, &done_net, done.targets));
        }
    }
    return join(h, context, x.history, x.targets, h->width);
}

static struct nn_val *history_tokens(struct hstu *h, const struct pc_GRUIHPreprocessor *c)
{
    struct graph *g = h->m->graph;
    struct content done = {0};
    struct net net = {.c = c->action_mlp, .name = "_action_embedding_mlp"};
    if (h->conf->targets)
        return graph_fail(g, "uih_preprocessor leaves candidates out, which this model "
                             "ranks; use contextual_preprocessor");
    if (c->action_encoder && !c->action_mlp)
        return graph_fail(g, "the preprocessor needs action_mlp");
    struct nn_val *context = context_tokens(h);
    struct nn_val *x =
        nn_linear(g, "_input_projection", h->history, h->width, true, ACT_NONE);
    if (c->action_encoder) {
        if (!make_actions(h, c->action_encoder, &done))
            return NULL;
        x = nn_add(g, x, apply_net(h, &net, done.history));
    }
    return join(h, context, x, NULL, h->width);
}

static struct nn_val *make_tokens(struct hstu *h)
{
    const struct pc_GRInputPreprocessor *p = h->c->input_preprocessor;
    struct nn_val *x = NULL;
    graph_push(h->m->graph, "_input_preprocessor");
    if (p && p->contextual_preprocessor) {
        const struct pc_GRContextualPreprocessor *c = p->contextual_preprocessor;
        x = ranked_tokens(h, c->content_encoder, c->content_mlp, c->action_encoder,
                          c->action_mlp, false);
    } else if (p && p->contextual_interleave_preprocessor) {
        const struct pc_GRContextualInterleavePreprocessor *c =
            p->contextual_interleave_preprocessor;
        x = ranked_tokens(h, c->content_encoder, c->content_mlp, c->action_encoder,
                          c->action_mlp, c->enable_interleaving);
    } else if (p && p->uih_preprocessor) {
        x = history_tokens(h, p->uih_preprocessor);
    } else {
        graph_fail(h->m->graph, "there is no input_preprocessor");
    }
    graph_pop(h->m->graph);
    return x;
}

/* The time of each token; 0 of the context. */
static struct nn_val *make_times(struct hstu *h)
{
    struct graph *g = h->m->graph;
    const struct part_hstu_conf *c = h->conf;
    struct nn_val *history = h->times, *context = NULL;
    if (!history)
        return NULL;
    if (h->each == 2) {
        struct nn_val *both[] = {history, history};
        history = nn_concat(g, both, 2);
    }
    if (c->context)
        context = nn_scale(
            g, nn_stop_gradient(g, nn_slice(g, c->context, 0, c->n_context)), 0, 0);
    return join(h, context, history, c->target_times, 1);
}

static struct nn_val *with_positions(struct hstu *h, struct nn_val *x)
{
    const struct pc_GRPositionalEncoder *c = h->c->positional_encoder;
    struct graph *g = h->m->graph;
    if (!c || !x)
        return x;
    double at = sqrt(1.0 / (double)c->num_position_buckets);
    struct nn_positions_conf conf = {.contextual = h->conf->n_context,
                                     .targets = h->target_axis,
                                     .log = strcmp(c->time_bucket_fn, "log") == 0,
                                     .scale = sqrtf((float)h->width),
                                     .increments = (float)c->time_bucket_increments};
    struct param *times = NULL;
    graph_push(g, "_positional_encoder");
    struct param *positions =
        nn_param(g, "_position_embeddings_weight",
                 (const int64_t[]){c->num_position_buckets, h->width}, 2,
                 (struct nn_init){INIT_UNIFORM, -at, at}, true);
    if (c->use_time_encoding) {
        double near = sqrt(1.0 / (double)(c->num_time_buckets ? c->num_time_buckets : 1));
        times = nn_param(g, "_timestamp_embeddings_weight",
                         (const int64_t[]){(int64_t)c->num_time_buckets + 1, h->width}, 2,
                         (struct nn_init){INIT_UNIFORM, -near, near}, true);
    }
    x = nn_add_positions(g, x, h->token_times, h->conf->query_time, positions, times,
                         &conf);
    graph_pop(g);
    return x;
}

/* --- layers --- */

static struct nn_stu_conf attention_conf(const struct hstu *h)
{
    const struct pc_STU *s = h->c->stu;
    double n =
        s->scaling_seqlen < 0 ? (double)h->conf->max_seq_len : (double)s->scaling_seqlen;
    return (struct nn_stu_conf){
        .heads = s->num_heads,
        .hidden = s->hidden_dim,
        .attention = s->attention_dim,
        .contextual =
            s->contextual_seq_len < 0 ? h->conf->n_context : s->contextual_seq_len,
        .window = s->max_attn_len,
        .local = s->sla_k1,
        .global = s->sla_k2,
        .targets = h->target_axis,
        .alpha = s->attn_alpha != 0 ? (float)s->attn_alpha
                                    : 1.0f / sqrtf((float)s->attention_dim),
        .scale = n > 0 ? (float)(1.0 / n) : 0};
}

static struct nn_val *stu_layer(struct hstu *h, const struct nn_stu_conf *conf,
                                struct nn_val *x)
{
    const struct pc_STU *s = h->c->stu;
    struct graph *g = h->m->graph;
    int64_t made = conf->heads * conf->hidden, three = 3 * made;
    int64_t all = 2 * (made + conf->heads * conf->attention);
    int64_t norms = s->use_group_norm ? conf->heads : made;
    double in = sqrt(6.0 / (double)(h->width + all)),
           out = sqrt(6.0 / (double)(h->width + three));
    struct nn_init ones = {INIT_ONES, 0, 0}, zeros = {INIT_ZEROS, 0, 0};
    struct param *w = nn_param(g, "_uvqk_weight", (const int64_t[]){h->width, all}, 2,
                               (struct nn_init){INIT_UNIFORM, -in, in}, true);
    struct param *beta = nn_param(g, "_uvqk_beta", &all, 1, zeros, true);
    struct param *iw = nn_param(g, "_input_norm_weight", &h->width, 1, ones, true);
    struct param *ib = nn_param(g, "_input_norm_bias", &h->width, 1, zeros, true);
    struct param *wo = nn_param(g, "_output_weight", (const int64_t[]){three, h->width},
                                2, (struct nn_init){INIT_UNIFORM, -out, out}, true);
    struct param *ow = nn_param(g, "_output_norm_weight", &norms, 1, ones, true);
    struct param *ob = nn_param(g, "_output_norm_bias", &norms, 1, zeros, true);
    int64_t near = s->relative_position_buckets;
    struct param *bias =
        near ? nn_param(g, "_relative_position_bias", &near, 1,
                        (struct nn_init){INIT_NORMAL, 0, BIAS_DEVIATION}, true)
             : NULL;
    struct nn_val *uvqk =
        nn_times_bias(g, w, beta, nn_layer_norm_by(g, iw, ib, INPUT_EPS, x));
    if (!uvqk)
        return NULL;
    struct nn_val *y = nn_stu_gate(g, uvqk, nn_stu_attention(g, uvqk, bias, conf), ow, ob,
                                   s->use_group_norm ? conf->heads : 1);
    return nn_add(g, x, nn_times(g, wo, nn_dropout(g, y, s->output_dropout_ratio)));
}

/* From here on only context, the last tokens of the history, and candidates. */
static int truncated_axis(struct hstu *h)
{
    struct nn_axis_part parts[2] = {
        {.axis = h->axis, .times = h->each, .most = h->c->attn_truncation_tail_len},
        {.axis = h->target_axis, .times = 1}};
    return graph_axis_sum(
        h->m->graph, arena_printf(&h->m->arena, "%s tail", h->conf->history),
        h->conf->context ? h->conf->n_context : 0, parts, h->target_axis ? 2 : 1);
}

static struct nn_val *all_layers(struct hstu *h, struct nn_val *x)
{
    struct graph *g = h->m->graph;
    struct nn_stu_conf conf = attention_conf(h);
    bool cut = h->c->attn_truncation_split_layer > 0;
    if (conf.scale <= 0)
        return graph_fail(g, "scores are divided by scaling_seqlen or max_seq_len, which "
                             "is 0");
    if (conf.contextual > h->conf->n_context)
        return graph_fail(g,
                          "contextual_seq_len %jd is more than the %jd tokens of the "
                          "context",
                          (intmax_t)conf.contextual, (intmax_t)h->conf->n_context);
    for (uint32_t i = 0; i < h->c->attn_num_layers && x; i++) {
        if (cut && i == h->c->attn_truncation_split_layer) {
            int axis = truncated_axis(h);
            int64_t front = h->conf->context ? h->conf->n_context : 0;
            x = axis > 0 ? nn_seq_keep(g, x, front, axis) : NULL;
            if (h->token_times && axis > 0)
                h->token_times = nn_seq_keep(g, h->token_times, front, axis);
        }
        graph_push(g, arena_printf(&h->m->arena, "_stu_module._stu_layers.%u", i));
        x = stu_layer(h, &conf, x);
        graph_pop(g);
    }
    return x;
}

/* --- behind the layers --- */

static struct nn_val *with_waves(struct hstu *h,
                                 const struct pc_GRTimestampLayerNormPostprocessor *c,
                                 struct nn_val *x, struct nn_val *times)
{
    struct graph *g = h->m->graph;
    if (!times)
        return graph_fail(g,
                          "timestamp_layernorm_postprocessor needs the feature groups "
                          "'%s' and 'candidate_timestamp'",
                          history_group(h, "timestamp"));
    if (c->n_time_duration_period_units != c->n_time_duration_units_per_period)
        return graph_fail(g, "time_duration_period_units and "
                             "time_duration_units_per_period differ in length");
    struct nn_val *waves =
        nn_time_waves(g, times, c->time_duration_period_units,
                      c->time_duration_units_per_period, c->n_time_duration_period_units);
    struct nn_val *parts[] = {x, waves};
    size_t from = part_count_params(h->m);
    x = nn_linear(g, "_time_feature_combiner", nn_concat(g, parts, 2), h->width, true,
                  ACT_NONE);
    part_xavier(h->m, from);
    return nn_layer_norm(g, "_layer_norm", x);
}

static struct nn_val *postprocessed(struct hstu *h, struct nn_val *x,
                                    struct nn_val *times)
{
    const struct pc_GROutputPostprocessor *p = h->c->output_postprocessor;
    struct graph *g = h->m->graph;
    graph_push(g, "_output_postprocessor");
    if (p && p->l2norm_postprocessor)
        x = nn_l2_normalise(g, x, NORM_EPS);
    else if (p && p->layernorm_postprocessor)
        x = nn_layer_norm(g, "_layer_norm", x);
    else if (p && p->timestamp_layernorm_postprocessor)
        x = with_waves(h, p->timestamp_layernorm_postprocessor, x, times);
    else
        x = graph_fail(g, "there is no output_postprocessor");
    graph_pop(g);
    return x;
}

/* Candidates out of all tokens, or the last token of each row. */
static struct nn_val *result(struct hstu *h, struct nn_val *x)
{
    struct graph *g = h->m->graph;
    if (!x)
        return NULL;
    if (!h->target_axis)
        return nn_seq_last(g, postprocessed(h, x, h->token_times));
    return postprocessed(h, nn_seq_keep(g, x, 0, h->target_axis), h->conf->target_times);
}

/* Whether anything asks for the time of tokens. */
static bool wants_times(const struct pc_HSTU *c)
{
    return (c->positional_encoder && c->positional_encoder->use_time_encoding) ||
           (c->output_postprocessor &&
            c->output_postprocessor->timestamp_layernorm_postprocessor);
}

/* From the items of the history on; parameters below the graph's prefix. */
static struct nn_val *build_below(struct hstu *h)
{
    struct graph *g = h->m->graph;
    if (h->conf->newest_first)
        h->history = nn_seq_reverse(g, h->history);
    if (wants_times(h->c)) {
        h->times = history_number(h, "timestamp", "the time of tokens");
        if (!h->times)
            return NULL;
        if (h->conf->targets && !h->conf->target_times)
            return graph_fail(g, "the time of tokens needs the feature group "
                                 "'candidate_timestamp'");
    }
    struct nn_val *x = make_tokens(h);
    h->token_times = x ? make_times(h) : NULL;
    x = nn_dropout(g, with_positions(h, x), h->c->input_dropout_ratio);
    return result(h, all_layers(h, x));
}

struct nn_val *part_hstu(struct model *m, const struct part_hstu_conf *conf)
{
    struct hstu h = {.m = m, .conf = conf, .c = conf->hstu, .each = 1};
    struct group history;
    if (!h.c || !h.c->stu || !h.c->stu->embedding_dim)
        return graph_fail(m->graph, "there is no %s",
                          h.c && h.c->stu ? "embedding_dim" : "stu");
    m->jagged = true;
    h.width = h.c->stu->embedding_dim;
    h.target_axis = conf->targets ? nn_val_shape(conf->targets)->axis : 0;
    if (!group_of(m, conf->history, 0, NULL, &history) || !history.sequence)
        return NULL;
    h.axis = history.axis;
    h.history = history.sequence;
    graph_push(m->graph, conf->name);
    struct nn_val *x = build_below(&h);
    graph_pop(m->graph);
    return x;
}
