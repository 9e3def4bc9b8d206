/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/describe.h"

#include "nn/graph_private.h"

/* Values have no number of their own: that of their place. */
static int64_t id_of(const struct graph *g, const struct nn_val *v)
{
    for (size_t i = 0; i < g->vals.n; i++)
        if (g->vals.at[i] == v)
            return (int64_t)i;
    return -1;
}

static void put_inputs(const struct graph *g, struct json_out *j)
{
    json_open(j, "inputs", '[');
    for (size_t i = 0; i < g->vals.n; i++) {
        const struct nn_val *v = g->vals.at[i];
        if (v->by)
            continue;
        json_open(j, NULL, '{');
        json_put_int(j, "id", (int64_t)i);
        json_put_str(j, "name", v->name ? v->name : "");
        json_put_int(j, "width", nn_shape_width(&v->shape));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_op(const struct graph *g, const struct op_node *o, struct json_out *j)
{
    int64_t params = 0;
    for (int i = 0; i < o->n_params; i++)
        params += o->params[i] ? o->params[i]->n : 0;
    json_open(j, NULL, '{');
    json_put_str(j, "op", o->op->name);
    json_put_str(j, "layer", o->layer);
    json_open(j, "in", '[');
    for (int i = 0; i < o->n_in; i++)
        if (o->in[i])
            json_put_int(j, NULL, id_of(g, o->in[i]));
    json_close(j, ']');
    json_open(j, "out", '[');
    for (int i = 0; i < o->n_out; i++)
        if (o->out[i])
            json_put_int(j, NULL, id_of(g, o->out[i]));
    json_close(j, ']');
    json_put_int(j, "width",
                 o->n_out && o->out[0] ? nn_shape_width(&o->out[0]->shape) : 0);
    json_put_int(j, "params", params);
    json_close(j, '}');
}

static void put_named(const struct graph *g, const char *key,
                      const struct graph_named_val *at, size_t n, struct json_out *j)
{
    json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, NULL, '{');
        json_put_str(j, "name", at[i].name);
        json_put_int(j, "id", id_of(g, at[i].val));
        json_close(j, '}');
    }
    json_close(j, ']');
}

void graph_describe(const struct graph *g, const char *key, struct json_out *j)
{
    json_open(j, key, '{');
    put_inputs(g, j);
    json_open(j, "ops", '[');
    for (size_t i = 0; i < g->ops.n; i++)
        put_op(g, g->ops.at[i], j);
    json_close(j, ']');
    put_named(g, "outputs", g->outputs.at, g->outputs.n, j);
    put_named(g, "losses", g->losses.at, g->losses.n, j);
    json_close(j, '}');
}
