/* SPDX-License-Identifier: Apache-2.0 */
/* What models of semantic ids share: the walk of a residual quantiser and its outputs. */
#include <math.h>
#include <string.h>

#include "model/parts.h"

#define NORM_EPS 1e-12f

static struct param *codebook(struct model *m, const struct part_sid_conf *c,
                              int64_t layer, int64_t width)
{
    const char *name = arena_printf(&m->arena, "layers.%jd.%s", (intmax_t)layer,
                                    c->trained ? "embedding.weight" : "centroids");
    double bound = sqrt(6.0 / (double)width);
    struct nn_init first = {INIT_UNIFORM, -bound, bound};
    return nn_param(m->graph, name, (const int64_t[]){c->codebook[layer], width}, 2,
                    c->trained ? first : (struct nn_init){INIT_ZEROS, 0, 0}, c->trained);
}

/* Whether codebooks hold something: one for all layers, or that of each fit. */
static struct param *started(struct model *m, const struct part_sid_conf *c,
                             int64_t layer)
{
    bool at_once = c->trained && !c->code.starts;
    const char *name = c->trained ? "initted"
                                  : arena_printf(&m->arena, "layers.%jd._is_initialized",
                                                 (intmax_t)layer);
    return nn_param(m->graph, name, (const int64_t[]){1}, 1,
                    (struct nn_init){at_once ? INIT_ONES : INIT_ZEROS, 0, 0}, false);
}

/* For how many steps each code had no rows; NULL where nothing follows from it. */
static struct param *unused(struct model *m, const struct part_sid_conf *c, int64_t layer)
{
    const int64_t n = c->codebook[layer];
    if (!c->code.restart || !m->options.graph.training)
        return NULL;
    return nn_param(m->graph,
                    arena_printf(&m->arena, "layers.%jd.unused", (intmax_t)layer), &n, 1,
                    (struct nn_init){INIT_ZEROS, 0, 0}, false);
}

bool part_sid_walk(struct model *m, const struct part_sid_conf *c, struct nn_val *x,
                   struct part_sid_walk *out)
{
    struct graph *g = m->graph;
    struct nn_val *codes[SID_LAYERS_MAX], *sum = NULL;
    *out = (struct part_sid_walk){0};
    if (!x)
        return false;
    if (c->layers > SID_LAYERS_MAX)
        return graph_fail(g, "codebook has %jd layers, of %d at most",
                          (intmax_t)c->layers, SID_LAYERS_MAX) != NULL;
    int64_t width = nn_shape_width(nn_val_shape(x));
    graph_push(g, "_quantizer");
    for (int64_t i = 0; i < c->layers; i++) {
        struct nn_code_conf code = c->code;
        code.last = i + 1 == c->layers;
        x = c->normalise ? nn_l2_normalise(g, x, NORM_EPS) : x;
        out->rest = x;
        if (i == 0 || !c->trained)
            out->started = started(m, c, i);
        out->book = codebook(m, c, i, width);
        struct nn_val *e = nn_nearest_code(g, out->book, out->started, unused(m, c, i), x,
                                           &code, &codes[i]);
        sum = sum ? nn_add(g, sum, e) : e;
        out->latents[i] = sum;
        x = nn_sub(g, x, nn_stop_gradient(g, e));
    }
    graph_pop(g);
    out->codes = nn_concat(g, codes, (int)c->layers);
    return out->codes != NULL;
}

void head_sid(struct model *m, const struct part_sid_conf *c,
              const struct part_sid_walk *w, struct nn_val *made, struct nn_val *target)
{
    struct graph *g = m->graph;
    struct nn_val *distances = NULL;
    nn_output_whole(g, "codes", w->codes);
    if (c->candidates && c->candidates->enabled) {
        if (strcmp(c->candidates->strategy, "last_layer_knn") != 0)
            graph_fail(g, "candidate_output_config: there is no strategy '%s'",
                       c->candidates->strategy);
        struct nn_val *all =
            nn_code_candidates(g, w->book, w->rest, w->codes, c->code.cosine,
                               c->candidates->topk, &distances);
        nn_output_whole(g, "candidate_codes", all);
        nn_output(g, "candidate_scores", distances);
    }
    nn_keep(g, made);
    nn_keep(g, target);
    m->sid = (struct model_sid){.codes = w->codes,
                                .made = made,
                                .target = target,
                                .sizes = c->codebook,
                                .layers = c->layers,
                                .fitted = c->trained ? NULL : w->started};
}
