/* SPDX-License-Identifier: Apache-2.0 */
/* Nets and activations as configs describe them. Names of parameters count the
 * sub-modules that are really there: linear, norm, activation, dropout.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/parts.h"

static const struct {
    const char *name, *param; /* the keyword that it may take */
    enum act act;
    float preset;
} acts[] = {
    {"ReLU", NULL, ACT_RELU, 0},
    {"LeakyReLU", "negative_slope", ACT_LEAKY_RELU, 0.01f},
    {"ELU", "alpha", ACT_ELU, 1.0f},
    {"SELU", NULL, ACT_SELU, 0},
    {"GELU", NULL, ACT_GELU, 0},
    {"SiLU", NULL, ACT_SILU, 0},
    {"Sigmoid", NULL, ACT_SIGMOID, 0},
    {"Tanh", NULL, ACT_TANH, 0},
    {"Softplus", NULL, ACT_SOFTPLUS, 0},
    {"Mish", NULL, ACT_MISH, 0},
    {"Hardswish", NULL, ACT_HARDSWISH, 0},
    {"ReLU6", NULL, ACT_RELU6, 0},
    {"Identity", NULL, ACT_NONE, 0},
};

/* "nn.LeakyReLU(negative_slope=0.2)" -> the table's row and its parameter. */
static bool read_act(const char *text, size_t *row, float *param)
{
    struct str s = str_c(text), args = {0};
    if (str_starts(text, "torch.nn."))
        s = str_of(s.p + 9, s.n - 9);
    else if (str_starts(text, "nn."))
        s = str_of(s.p + 3, s.n - 3);
    const char *open = memchr(s.p, '(', s.n);
    if (open) {
        if (s.p[s.n - 1] != ')')
            return false;
        args = str_trim(str_of(open + 1, (size_t)(s.p + s.n - open) - 2));
        s.n = (size_t)(open - s.p);
    }
    for (*row = 0; *row < ARRAY_LEN(acts); ++*row) {
        if (!str_is(s, acts[*row].name))
            continue;
        *param = acts[*row].preset;
        if (args.n == 0)
            return true;
        const char *eq = memchr(args.p, '=', args.n);
        struct str key =
            eq ? str_trim(str_of(args.p, (size_t)(eq - args.p))) : str_of("", 0);
        struct str value =
            eq ? str_trim(str_of(eq + 1, (size_t)(args.p + args.n - eq) - 1)) : args;
        double v;
        if (!acts[*row].param || (eq && !str_is(key, acts[*row].param)) ||
            !str_to_f64(value, &v))
            return false;
        *param = (float)v;
        return true;
    }
    return false;
}

struct val *part_act(struct graph *g, const char *name, const char *text, struct val *x)
{
    size_t row;
    float param;
    if (!text || !text[0])
        return x;
    if (strcmp(text, "Dice") == 0)
        return nn_dice(g, name, x);
    if (strcmp(text, "nn.PReLU") == 0 || strcmp(text, "nn.PReLU()") == 0)
        return nn_prelu(g, name, x);
    if (!read_act(text, &row, &param))
        return graph_fail(g, "activation '%s' is not known", text);
    return nn_act(g, x, acts[row].act, param);
}

/* Activations that the product can do by itself. */
static bool fused_act(const char *text, enum act *act)
{
    size_t row;
    float param;
    if (!text || !text[0] || !read_act(text, &row, &param))
        return false;
    *act = acts[row].act;
    return *act == ACT_RELU || *act == ACT_SIGMOID || *act == ACT_TANH;
}

static double dropout_of(const struct pc_MLP *c, int64_t layer)
{
    if (c->n_dropout_ratio == 0)
        return 0;
    return c->dropout_ratio[c->n_dropout_ratio == 1 ? 0 : layer];
}

static struct val *layer(struct model *m, const struct pc_MLP *c, int64_t i,
                         struct val *x)
{
    struct graph *g = m->graph;
    enum act act = ACT_NONE;
    bool norm = c->use_bn || c->use_ln, whole = !norm && fused_act(c->activation, &act);
    int k = 1;
    char name[16];
    x = nn_linear(g, "0", x, c->hidden_units[i], c->bias && !c->use_bn, act);
    snprintf(name, sizeof(name), "%d", k);
    if (c->use_bn)
        x = nn_batch_norm(g, name, x, true);
    else if (c->use_ln)
        x = nn_layer_norm(g, name, x);
    k += norm;
    snprintf(name, sizeof(name), "%d", k);
    if (!whole)
        x = part_act(g, name, c->activation, x);
    return nn_dropout(g, x, dropout_of(c, i));
}

struct val *part_mlp(struct model *m, const char *name, const struct pc_MLP *conf,
                     struct val *x)
{
    if (!conf)
        return x;
    if (conf->n_hidden_units == 0)
        return graph_fail(m->graph, "%s: hidden_units is empty", name);
    if (conf->n_dropout_ratio > 1 && conf->n_dropout_ratio != conf->n_hidden_units)
        return graph_fail(m->graph, "%s: %jd dropout ratios for %jd layers", name,
                          (intmax_t)conf->n_dropout_ratio,
                          (intmax_t)conf->n_hidden_units);
    graph_push(m->graph, name);
    for (int64_t i = 0; i < conf->n_hidden_units; i++) {
        graph_push(m->graph, arena_printf(&m->arena, "mlp.%jd.perceptron", (intmax_t)i));
        x = layer(m, conf, i, x);
        graph_pop(m->graph);
    }
    graph_pop(m->graph);
    return x;
}

/* The value of key `name` in ",a=-0.01,b=0.01", or `preset`. */
static double init_arg(struct str args, const char *name, double preset)
{
    struct str part;
    while (str_split(&args, ',', &part)) {
        const char *eq = part.n ? memchr(part.p, '=', part.n) : NULL;
        double v;
        if (eq && str_is(str_trim(str_of(part.p, (size_t)(eq - part.p))), name) &&
            str_to_f64(str_trim(str_of(eq + 1, (size_t)(part.p + part.n - eq) - 1)), &v))
            return v;
    }
    return preset;
}

bool part_table_init(const char *text, struct table_conf *conf, struct err *err)
{
    double bound = sqrt(1.0 / (double)conf->rows);
    double fan = (double)(conf->rows + conf->dim);
    conf->init = TABLE_UNIFORM;
    conf->a = -bound;
    conf->b = bound;
    if (!text || !text[0])
        return true;
    struct str args = str_c(text), head;
    str_split(&args, ',', &head);
    const char *dot = memrchr(head.p, '.', head.n);
    struct str fn = dot ? str_of(dot + 1, (size_t)(head.p + head.n - dot) - 1) : head;
    double gain = init_arg(args, "gain", 1);
    if (str_is(fn, "uniform_")) {
        conf->a = init_arg(args, "a", 0);
        conf->b = init_arg(args, "b", 1);
    } else if (str_is(fn, "normal_")) {
        conf->init = TABLE_NORMAL;
        conf->a = init_arg(args, "mean", 0);
        conf->b = init_arg(args, "std", 1);
    } else if (str_is(fn, "zeros_") || str_is(fn, "ones_") || str_is(fn, "constant_")) {
        conf->init = TABLE_CONST;
        conf->a = str_is(fn, "ones_")    ? 1
                  : str_is(fn, "zeros_") ? 0
                                         : init_arg(args, "val", 0);
    } else if (str_is(fn, "xavier_uniform_")) {
        conf->b = gain * sqrt(6.0 / fan);
        conf->a = -conf->b;
    } else if (str_is(fn, "xavier_normal_")) {
        conf->init = TABLE_NORMAL;
        conf->a = 0;
        conf->b = gain * sqrt(2.0 / fan);
    } else if (str_is(fn, "kaiming_uniform_")) {
        conf->b = sqrt(6.0 / (double)conf->dim);
        conf->a = -conf->b;
    } else if (str_is(fn, "kaiming_normal_")) {
        conf->init = TABLE_NORMAL;
        conf->a = 0;
        conf->b = sqrt(2.0 / (double)conf->dim);
    } else {
        err_set(err, RC_UNSUPPORTED, "init_fn '%s' is not known", text);
        return false;
    }
    return true;
}
