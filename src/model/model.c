/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <string.h>

#include "model/parts.h"

static const struct model_ops *const models[] = {
#define MODEL(name) &model_##name,
#include "model/models.def"
#undef MODEL
};

const struct model_ops *const *model_all(size_t *n)
{
    *n = ARRAY_LEN(models);
    return models;
}

static const struct model_ops *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}

static enum rc choose(struct model *m, struct err *err)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    const struct field_def *f = mc ? schema_oneof(&mc->base, "model", &m->message) : NULL;
    if (!f)
        return err_set(err, RC_INVAL, "model_config names no model");
    m->ops = find(f->name);
    if (!m->ops)
        return err_set(err, RC_UNSUPPORTED, "model '%s' is not part of this version",
                       f->name);
    return RC_OK;
}

enum rc model_create(const struct pc_EasyRecConfig *conf,
                     const struct model_options *options, struct model **out,
                     struct err *err)
{
    struct model *m = mem_calloc(1, sizeof(*m));
    m->conf = conf;
    m->options = *options;
    m->match = (struct model_match){.items = -1, .scores = -1, .hard = -1, .own = -1};
    m->options.graph.device_inputs = options->lookup && options->lookup->on_device;
    m->graph = graph_create(&m->options.graph);
    pc_features_init(&m->features, conf, &m->arena);
    struct lookup_conf keep = {.pool = options->graph.pool,
                               .comm = options->comm,
                               .device = options->graph.device,
                               .inner = options->inner};
    enum rc rc = lookup_create(options->lookup, &keep, &m->lookup, err);
    if (!rc)
        rc = choose(m, err);
    if (!rc) {
        graph_push(m->graph, "model");
        m->ops->build(m);
        graph_pop(m->graph);
        rc = part_initializers(m, err);
    }
    if (!rc) {
        rc = graph_finish(m->graph, err);
    }
    if (rc) {
        rc = m->ops ? err_wrap(err, rc, "%s", m->ops->name) : rc;
        model_destroy(m);
    } else {
        *out = m;
    }
    return rc;
}

enum rc model_settle(struct model *m, bool last, struct err *err)
{
    enum rc rc = m->ops->settle ? m->ops->settle(m, last, err) : RC_OK;
    return rc ? err_wrap(err, rc, "%s", m->ops->name) : RC_OK;
}

void model_codes(struct model *m, const struct embed_slot_ids *slots)
{
    for (size_t i = 0, n; i < m->coded.n; i += n) {
        struct nn_code_ids ids[CODED_MAX];
        int output = m->coded.at[i].output;
        int64_t rows = graph_rows_of(m->graph, m->embedded.at[output]);
        bool plain = false;
        for (n = 0; i + n < m->coded.n && m->coded.at[i + n].output == output; n++) {
            const struct embed_slot_ids *s = &slots[m->coded.at[i + n].slot];
            ids[n] = (struct nn_code_ids){.ids = s->ids, .offsets = s->offsets};
            plain |= s->weights || s->rows != rows;
        }
        if (!plain)
            graph_codes(m->graph, m->embedded.at[output], ids);
    }
}

void model_destroy(struct model *m)
{
    if (!m)
        return;
    graph_destroy(m->graph);
    lookup_destroy(m->lookup);
    pc_features_release(&m->features);
    VEC_RELEASE(&m->inputs);
    VEC_RELEASE(&m->embedded);
    VEC_RELEASE(&m->coded);
    VEC_RELEASE(&m->dense);
    VEC_RELEASE(&m->axes);
    VEC_RELEASE(&m->tasks);
    VEC_RELEASE(&m->columns);
    mem_free(m->match.item_at);
    mem_free(m->match.score_at);
    mem_free(m->match.hard_at);
    mem_free(m->match.own_at);
    arena_release(&m->arena);
    mem_free(m);
}
