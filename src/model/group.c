/* SPDX-License-Identifier: Apache-2.0 */
/* Feature groups: which features stand in which columns of which graph input, and through
 * which table they get there.
 */
#include <string.h>
#include <strings.h>

#include "model/parts.h"
#include "model/reference.h"

#define SAMPLED_DEPTH 16 /* of features that read features */

static const struct pc_FeatureGroupConfig *find(const struct model *m, const char *name)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    for (int64_t i = 0; i < mc->n_feature_groups; i++)
        if (strcmp(mc->feature_groups[i]->group_name, name) == 0)
            return mc->feature_groups[i];
    return NULL;
}

bool group_exists(const struct model *m, const char *name)
{
    return find(m, name) != NULL;
}

const char *group_first(const struct model *m)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    return mc->n_feature_groups ? mc->feature_groups[0]->group_name : NULL;
}

/* Whether a sampler gives a feature more rows than the batch has. */
static bool is_sampled(struct model *m, const struct pc_feature *f, int depth)
{
    const struct pc_DataConfig *d = m->conf->data_config;
    if (m->options.alone || depth > SAMPLED_DEPTH)
        return false;
    if (pc_feature_is_sampled(f, d, &m->arena))
        return true;
    for (size_t i = 0; pc_fg_mode(d) == pc_FgMode_FG_DAG && i < f->n_inputs; i++) {
        const struct pc_feature *from =
            str_is(f->inputs[i].side, "feature")
                ? pc_features_find(&m->features, f->inputs[i].name)
                : NULL;
        if (from && is_sampled(m, from, depth + 1))
            return true;
    }
    return false;
}

static const char *data_group(struct model *m, const struct pc_feature *f)
{
    static const char *const names[] = {
        [PC_BASE] = "__BASE__", [PC_NEG] = "__NEG__", [PC_CROSS_NEG] = "__CNEG__"};
    return names[pc_feature_data_group(f, m->conf->data_config, &m->arena)];
}

static const char *table_name(struct model *m, const struct pc_feature *f,
                              const char *suffix, bool wide, bool sequence, int64_t dim)
{
    const char *prefix = graph_prefix(m->graph);
    const char *rows = m->one_table ? "__BASE__" : data_group(m, f);
    const char *own = f->embedding_name && f->embedding_name[0]
                          ? f->embedding_name
                          : arena_printf(&m->arena, "%s_emb", f->name);
    const char *tail = suffix && suffix[0] ? suffix : "";
    own = arena_printf(&m->arena, "%s%s%s%s", own, wide ? "_wide" : "",
                       tail[0] ? "_" : "", tail);
    if (sequence && !m->one_table)
        return arena_printf(&m->arena,
                            "%sembedding_group.seq_emb_impls.%s.ec_dict.%jd."
                            "embeddings.%s.weight",
                            prefix, rows, (intmax_t)dim, own);
    return arena_printf(&m->arena,
                        "%sembedding_group.emb_impls.%s.ebc.embedding_bags.%s.weight",
                        prefix, rows, own);
}

/* Where a feature goes: one output of the embedding layer, from column `col` on. */
struct place {
    int output;
    struct nn_val *val;
    int64_t col, width;
    int axis;
    const char *suffix, *init;
    bool wide, first_only, leads, in_sequence_group;
};

static enum dtype type_of(const char *name)
{
    return strcmp(name, "FP16") == 0   ? DT_F16
           : strcmp(name, "BF16") == 0 ? DT_BF16
                                       : DT_F32;
}

/* Whether a row of the batch has the vector of one row of the table, and the gradients of
 * a row of the table may be added up before anything is done to them.
 */
static bool is_coded(const struct pc_feature *f, const struct embed_table_conf *table,
                     const struct embed_slot_conf *slot)
{
    return !f->sequence && table->keyed.kind == KEYED_NONE && slot->max_gradient <= 0;
}

/* Whether TorchEasyRec looks the feature up with weights: one of them in a batch of ids
 * gives weights of one to all others in it.
 */
static bool has_weights(struct model *m, const struct pc_feature *f)
{
    const struct pc_DataConfig *d = m->conf->data_config;
    enum pc_data_group group = pc_feature_data_group(f, d, &m->arena);
    for (size_t i = 0; i < m->features.n; i++) {
        const struct pc_feature *x = &m->features.at[i];
        if (x->weighted && pc_feature_is_sparse(x) &&
            pc_feature_data_group(x, d, &m->arena) == group)
            return true;
    }
    return false;
}

static bool is_dense(const struct model *m, const struct pc_feature *f,
                     const struct embed_table_conf *table, const struct place *p)
{
    const struct model_options *o = &m->options;
    return o->reference & REFERENCE_TABLES && o->dense && table->trainable &&
           table->type == DT_F32 && table->keyed.kind == KEYED_NONE &&
           o->dense(o->dense_arg, f, table->name, p->in_sequence_group);
}

/* The table as a parameter, which further uses of it share; the number of this use. */
static int add_dense(struct model *m, const struct embed_table_conf *table,
                     const struct embed_slot_conf *slot)
{
    const char *name = table->name + strlen(graph_prefix(m->graph));
    graph_reuse(m->graph, true);
    struct param *rows =
        nn_param(m->graph, name, (const int64_t[]){table->rows, table->dim}, 2,
                 (struct nn_init){INIT_ZEROS, 0, 0}, true);
    graph_reuse(m->graph, false);
    VEC_PUSH(&m->dense,
             ((struct model_dense){.rows = rows, .conf = *table, .slot = *slot}));
    return (int)m->dense.n - 1;
}

static void add_table_input(struct model *m, const struct pc_feature *f,
                            const struct place *p, int slot, bool dense)
{
    VEC_PUSH(&m->inputs, ((struct model_input){.feature = f,
                                               .axis = p->axis,
                                               .slot = slot,
                                               .dense = dense,
                                               .width = p->width,
                                               .first_only = p->first_only,
                                               .unweighted = p->in_sequence_group,
                                               .leads = p->leads}));
}

static bool add_table_feature(struct model *m, const struct pc_feature *f,
                              const struct place *p)
{
    struct err err = {0};
    struct embed_table_conf conf = {
        .name = table_name(m, f, p->suffix, p->wide, p->in_sequence_group, p->width),
        .rows = (int64_t)pc_feature_rows(f),
        .dim = p->width,
        .type = type_of(f->data_type),
        .trainable = f->trainable,
        .opt = m->options.row_opt,
        .seed = m->options.graph.seed,
        .dir = m->options.table_dir};
    if (conf.rows == 0 && m->options.rows)
        conf.rows = (int64_t)m->options.rows(m->options.rows_arg, f->name);
    if (conf.rows == 0)
        return graph_fail(m->graph, "feature '%s': the number of its ids is not known",
                          f->name) != NULL;
    if (!part_table_init(p->init ? p->init : f->init_fn, &conf, &err) ||
        !part_table_keyed(f, &conf, &err))
        return graph_fail(m->graph, "feature '%s': %s", f->name, err.msg) != NULL;
    struct embed_slot_conf slot = {
        .feature = f->name,
        .pooling = strcasecmp(f->pooling, "mean") == 0 ? EMBED_MEAN : EMBED_SUM,
        .output = p->output,
        .col = p->col,
        .max_gradient = m->options.max_gradient,
        .sum_gradient = m->options.reference & REFERENCE_MEAN && !p->in_sequence_group &&
                        has_weights(m, f)};
    if (is_dense(m, f, &conf, p)) {
        add_table_input(m, f, p, add_dense(m, &conf, &slot), true);
        return true;
    }
    slot.table = lookup_add_table(m->lookup, &conf, &err);
    int at = slot.table < 0 ? -1 : lookup_add_slot(m->lookup, &slot, &err);
    if (at < 0)
        return graph_fail_as(m->graph, err.code, "feature '%s': %s", f->name, err.msg) !=
               NULL;
    add_table_input(m, f, p, at, false);
    if (is_coded(f, &conf, &slot) &&
        nn_coded(m->graph, p->val, p->col, p->width, conf.rows))
        VEC_PUSH(&m->coded, ((struct model_coded){p->output, at}));
    return true;
}

static bool add_feature(struct model *m, const struct pc_feature *f,
                        const struct place *p)
{
    if (pc_feature_is_sparse(f))
        return add_table_feature(m, f, p);
    if (p->wide)
        return graph_fail(m->graph, "feature '%s': numbers cannot stand in a WIDE group",
                          f->name) != NULL;
    struct model_input in = {.feature = f,
                             .axis = p->axis,
                             .slot = -1,
                             .val = p->val,
                             .col = p->col,
                             .width = p->width,
                             .leads = p->leads};
    VEC_PUSH(&m->inputs, in);
    return true;
}

static const struct pc_feature *feature_of(struct model *m, const char *group,
                                           const char *name)
{
    const struct pc_feature *f = pc_features_find(&m->features, str_c(name));
    if (!f)
        graph_fail(m->graph, "group '%s' names no feature '%s'", group, name);
    return f;
}

static int64_t width_of(const struct pc_feature *f, int64_t wide_dim)
{
    return wide_dim > 0 ? wide_dim : (int64_t)pc_feature_width(f);
}

/* An input of `width` per row that the embedding layer fills; `learnt`: with rows of tables. */
static struct nn_val *embedded_input(struct model *m, const char *name, int axis,
                                     int64_t width, bool learnt, int *output)
{
    struct nn_shape shape = {.axis = axis, .n_dims = 1, .dims = {width}};
    struct nn_val *v = nn_input(m->graph, name, &shape, learnt);
    *output = (int)m->embedded.n;
    VEC_PUSH(&m->embedded, v);
    return v;
}

/* The features of one kind (sequence or not) of a list, side by side. */
struct listing {
    const char *group;
    const char *const *names;
    int64_t n;
    bool sequence;
    bool in_sequence_group;
    int64_t wide_dim;
    const char *suffix, *wide_init;
    int axis;
    bool follows; /* the axis is that of another group */
};

/* Numbers that become vectors in the graph. */
static bool is_dense_embedded(const struct pc_feature *f)
{
    return !pc_feature_is_sparse(f) && pc_feature_has_vector(f);
}

/* What the input holds of a feature: its vector, or the numbers that it is made from. */
static int64_t input_width(const struct pc_feature *f, int64_t wide_dim)
{
    if (is_dense_embedded(f))
        return f->value_dim ? f->value_dim : 1;
    return width_of(f, wide_dim);
}

static bool belongs(const struct listing *l, const struct pc_feature *f)
{
    return f->sequence == l->sequence;
}

/* Whether rows of tables are among them: else nobody wants gradients of the input. */
static bool has_rows(const struct model *m, const struct listing *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        const struct pc_feature *f = pc_features_find(&m->features, str_c(l->names[i]));
        if (f && belongs(l, f) && pc_feature_is_sparse(f))
            return true;
    }
    return false;
}

/* A dense embedding; one feature has one, whatever groups it is in. */
static struct nn_val *dense_embed(struct model *m, const struct pc_feature *f,
                                  struct nn_val *x)
{
    struct graph *g = m->graph;
    int64_t dim = (int64_t)pc_feature_width(f), v = input_width(f, 0);
    const char *key =
        f->autodis ? arena_printf(&m->arena, "autodis#%jd#%u#%.6f#%.6f", (intmax_t)dim,
                                  f->autodis->num_channels, f->autodis->keep_prob,
                                  f->autodis->temperature)
        : v == 1   ? arena_printf(&m->arena, "mlp#%jd", (intmax_t)dim)
                   : arena_printf(&m->arena, "mlp#%jd#vdim#%jd#feature_name#%s",
                                  (intmax_t)dim, (intmax_t)v, f->name);
    char *name = arena_printf(
        &m->arena, "embedding_group.emb_impls.%s.dense_ec.dense_embs.", data_group(m, f));
    char *end = arena_strdup(&m->arena, key);
    for (char *p = end; *p; p++)
        *p = *p == '.' ? '_' : *p;
    graph_push(g, arena_printf(&m->arena, "%s%s", name, end));
    graph_reuse(g, true);
    x = f->autodis
            ? nn_autodis(g, f->name, x, f->autodis->num_channels, dim,
                         (float)f->autodis->keep_prob, (float)f->autodis->temperature)
            : nn_number_embed(g, f->name, x, dim);
    graph_reuse(g, false);
    graph_pop(g);
    return x;
}

/* The input with its numbers turned into vectors, in the order of the features. */
static struct nn_val *with_dense_embeds(struct model *m, const struct listing *l,
                                        struct nn_val *input)
{
    struct nn_val **parts =
        arena_alloc(&m->arena, (size_t)(2 * l->n + 1) * sizeof(struct nn_val *));
    int n = 0;
    int64_t col = 0, done = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const struct pc_feature *f = feature_of(m, l->group, l->names[i]);
        if (!belongs(l, f))
            continue;
        int64_t width = input_width(f, l->wide_dim);
        if (is_dense_embedded(f)) {
            if (col > done)
                parts[n++] = nn_slice(m->graph, input, done, col - done);
            parts[n++] = dense_embed(m, f, nn_slice(m->graph, input, col, width));
            done = col + width;
        }
        col += width;
    }
    if (n == 0)
        return input;
    if (col > done)
        parts[n++] = nn_slice(m->graph, input, done, col - done);
    return nn_concat(m->graph, parts, n);
}

static struct nn_val *add_features(struct model *m, const struct listing *l,
                                   const char *name, int64_t *n_fields,
                                   int64_t *field_width)
{
    int64_t width = 0, count = 0, common = 0, col = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const struct pc_feature *f = feature_of(m, l->group, l->names[i]);
        if (!f)
            return NULL;
        if (f->sequence != l->sequence)
            continue;
        int64_t w = width_of(f, l->wide_dim);
        common = count == 0 || common == w ? w : 0;
        width += input_width(f, l->wide_dim);
        count++;
    }
    *n_fields = count;
    *field_width = common;
    if (count == 0)
        return NULL;
    struct place p = {.axis = l->axis,
                      .suffix = l->suffix,
                      .init = l->wide_dim > 0 ? l->wide_init : NULL,
                      .wide = l->wide_dim > 0,
                      .in_sequence_group = l->in_sequence_group};
    p.val = embedded_input(m, name, l->axis, width, has_rows(m, l), &p.output);
    bool first = true;
    for (int64_t i = 0; i < l->n; i++) {
        const struct pc_feature *f = feature_of(m, l->group, l->names[i]);
        if (f->sequence != l->sequence)
            continue;
        p.width = input_width(f, l->wide_dim);
        p.col = col;
        p.leads = l->sequence && first && !l->follows;
        p.first_only = l->in_sequence_group && !l->sequence && f->value_dim == 1;
        if (p.leads)
            VEC_PUSH(&m->axes, ((struct model_axis){.axis = l->axis, .leader = f}));
        if (!add_feature(m, f, &p))
            return NULL;
        col += p.width;
        first = false;
    }
    return with_dense_embeds(m, l, p.val);
}

/* The axis of a list of features: all of them are sampled, or none is. */
static bool list_axis(struct model *m, const char *group, const char *const *names,
                      int64_t n, int *axis)
{
    int64_t sampled = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct pc_feature *f = feature_of(m, group, names[i]);
        if (!f)
            return false;
        sampled += is_sampled(m, f, 0);
    }
    if (sampled > 0 && sampled < n)
        return graph_fail(m->graph,
                          "group '%s' holds features that the sampler adds rows to, and "
                          "others",
                          group) != NULL;
    if (sampled && m->match.items < 0)
        m->match.items = graph_axis(m->graph, "items");
    *axis = sampled ? m->match.items : AXIS_BATCH;
    return true;
}

static bool no_sequences(struct model *m, const char *group)
{
    return graph_fail(m->graph,
                      "group '%s': sequences of sampled items are not part of this "
                      "version",
                      group) != NULL;
}

/* Query and sequence of a list of features that holds both. */
static bool sequence_parts(struct model *m, const char *name, const char *const *names,
                           int64_t n, const char *suffix, struct nn_val **query,
                           struct nn_val **sequence, int *axis)
{
    int64_t n_fields, width;
    int rows;
    if (!list_axis(m, name, names, n, &rows))
        return false;
    if (rows != AXIS_BATCH)
        return no_sequences(m, name);
    *axis = graph_axis(m->graph, name);
    struct listing l = {.group = name,
                        .names = names,
                        .n = n,
                        .in_sequence_group = true,
                        .suffix = suffix,
                        .axis = AXIS_BATCH};
    *query =
        add_features(m, &l, arena_printf(&m->arena, "%s.query", name), &n_fields, &width);
    l.sequence = true;
    l.axis = *axis;
    *sequence = add_features(m, &l, arena_printf(&m->arena, "%s.sequence", name),
                             &n_fields, &width);
    if (!*sequence)
        graph_fail(m->graph, "group '%s' holds no sequence feature", name);
    return *sequence != NULL;
}

static void mark_read(struct model *m, const struct pc_FeatureGroupConfig *c)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    for (int64_t i = 0; i < mc->n_feature_groups && i < 64; i++)
        if (mc->feature_groups[i] == c)
            m->groups_read |= UINT64_C(1) << i;
}

struct nn_val *group_along(struct model *m, const char *name, int axis)
{
    const struct pc_FeatureGroupConfig *c = find(m, name);
    int64_t n_fields, width;
    if (!c)
        return graph_fail(m->graph, "there is no feature group '%s'", name);
    mark_read(m, c);
    struct listing l = {.group = name,
                        .names = c->feature_names,
                        .n = c->n_feature_names,
                        .sequence = true,
                        .in_sequence_group = true,
                        .suffix = c->embedding_name_suffix,
                        .axis = axis,
                        .follows = true};
    struct nn_val *y = add_features(m, &l, arena_printf(&m->arena, "%s.sequence", name),
                                    &n_fields, &width);
    return y ? y : graph_fail(m->graph, "group '%s' holds no sequence feature", name);
}

bool group_query(struct model *m, const char *name, struct group *out)
{
    const struct pc_FeatureGroupConfig *c = find(m, name);
    if (!c || (c->group_type != pc_FeatureGroupType_SEQUENCE &&
               c->group_type != pc_FeatureGroupType_JAGGED_SEQUENCE))
        return group_of(m, name, 0, NULL, out);
    *out = (struct group){.conf = c};
    mark_read(m, c);
    struct listing l = {.group = name,
                        .names = c->feature_names,
                        .n = c->n_feature_names,
                        .in_sequence_group = true,
                        .suffix = c->embedding_name_suffix};
    if (!list_axis(m, name, l.names, l.n, &l.axis))
        return false;
    out->deep = add_features(m, &l, arena_printf(&m->arena, "%s.query", name),
                             &out->n_fields, &out->field_width);
    if (!out->deep)
        graph_fail(m->graph, "group '%s' holds no feature but sequences", name);
    return out->deep != NULL;
}

static const struct pc_SeqGroupConfig *
encoder_input(const struct pc_FeatureGroupConfig *c, const char *input)
{
    for (int64_t i = 0; i < c->n_sequence_groups; i++) {
        const struct pc_SeqGroupConfig *s = c->sequence_groups[i];
        const char *own = s->has_group_name ? s->group_name : c->group_name;
        if (c->n_sequence_groups == 1 && (!input || !input[0]))
            return s;
        if (input && strcmp(own, input) == 0)
            return s;
    }
    return NULL;
}

static const char *encoder_input_name(const struct pc_SeqEncoderConfig *e)
{
    if (e->din_encoder)
        return e->din_encoder->input;
    if (e->simple_attention)
        return e->simple_attention->input;
    if (e->pooling_encoder)
        return e->pooling_encoder->input;
    if (e->multi_window_din_encoder)
        return e->multi_window_din_encoder->input;
    return e->self_attention_encoder ? e->self_attention_encoder->input : NULL;
}

/* Each encoder reads the sequence group that it names; lookups are made once per encoder.
 */
static bool add_encoders(struct model *m, const struct pc_FeatureGroupConfig *c,
                         struct nn_val **parts, int *n)
{
    for (int64_t i = 0; i < c->n_sequence_encoders; i++) {
        const struct pc_SeqEncoderConfig *e = c->sequence_encoders[i];
        const char *input = encoder_input_name(e);
        const struct pc_SeqGroupConfig *s = encoder_input(c, input);
        struct nn_val *query = NULL, *sequence = NULL;
        int axis;
        if (!s)
            return graph_fail(m->graph,
                              "group '%s': encoder %jd names no sequence group '%s'",
                              c->group_name, (intmax_t)i, input ? input : "") != NULL;
        const char *name =
            arena_printf(&m->arena, "%s.encoder%jd", c->group_name, (intmax_t)i);
        const char *suffix = s->has_embedding_name_suffix ? s->embedding_name_suffix
                                                          : c->embedding_name_suffix;
        if (!sequence_parts(m, name, s->feature_names, s->n_feature_names, suffix, &query,
                            &sequence, &axis))
            return false;
        m->axes.at[m->axes.n - 1].max_length = part_encoder_max_length(e);
        graph_push(m->graph, "embedding_group._group_name_to_seq_encoders");
        graph_push(m->graph, c->group_name);
        parts[*n] = part_encoder(m, arena_printf(&m->arena, "%jd", (intmax_t)i), e, query,
                                 sequence, axis);
        graph_pop(m->graph);
        graph_pop(m->graph);
        if (!parts[(*n)++])
            return false;
    }
    return true;
}

#define ENCODERS_MAX (OP_INPUTS_MAX - 1)

/* Widths of the features of a group and, behind them, of its encoders' outputs. */
static int64_t *block_widths(struct model *m, const struct listing *l,
                             struct nn_val *const *encoded, int n_encoded, int64_t *n)
{
    int64_t *widths =
        arena_alloc(&m->arena, (size_t)(l->n + n_encoded + 1) * sizeof(*widths));
    *n = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const struct pc_feature *f = feature_of(m, l->group, l->names[i]);
        if (f && !f->sequence)
            widths[(*n)++] = width_of(f, l->wide_dim);
    }
    for (int i = 0; i < n_encoded; i++)
        widths[(*n)++] = nn_shape_width(nn_val_shape(encoded[i]));
    return widths;
}

/* Learnt dropout of features, when the config asks for it; tdm has none. */
static struct nn_val *drop_features(struct model *m, const char *group, struct nn_val *x,
                                    const int64_t *widths, int64_t n)
{
    const struct pc_VariationalDropout *c = m->conf->model_config->variational_dropout;
    struct nn_val *loss = NULL;
    if (!c || n < 2 || !x || m->conf->model_config->tdm)
        return x;
    graph_push(m->graph, "group_variational_dropouts");
    x = nn_feature_dropout(m->graph, group, x, widths, n, c->regularization_lambda,
                           &loss);
    graph_pop(m->graph);
    nn_loss(m->graph, arena_printf(&m->arena, "%s_feature_p_loss", group), loss);
    return x;
}

static bool deep_group(struct model *m, int64_t wide_dim, const char *wide_init,
                       struct group *out)
{
    const struct pc_FeatureGroupConfig *c = out->conf;
    struct nn_val *parts[OP_INPUTS_MAX];
    int n = 0;
    struct listing l = {.group = c->group_name,
                        .names = c->feature_names,
                        .n = c->n_feature_names,
                        .wide_dim = wide_dim,
                        .wide_init = wide_init,
                        .suffix = c->embedding_name_suffix};
    if (!list_axis(m, l.group, l.names, l.n, &l.axis))
        return false;
    if (l.axis != AXIS_BATCH && c->n_sequence_encoders)
        return no_sequences(m, c->group_name);
    /* narrow tables beside those of the same group */
    const char *name = wide_dim > 0 && c->group_type != pc_FeatureGroupType_WIDE
                           ? arena_printf(&m->arena, "%s.wide", c->group_name)
                           : c->group_name;
    struct nn_val *plain = add_features(m, &l, name, &out->n_fields, &out->field_width);
    if (plain)
        parts[n++] = plain;
    if (c->n_sequence_encoders > ENCODERS_MAX)
        return graph_fail(m->graph, "group '%s': %jd encoders", c->group_name,
                          (intmax_t)c->n_sequence_encoders) != NULL;
    if (!add_encoders(m, c, parts, &n))
        return false;
    if (n == 0)
        return graph_fail(m->graph, "group '%s' holds no feature", c->group_name) != NULL;
    out->encoded = c->n_sequence_encoders > 0;
    int64_t n_blocks;
    int plain_parts = plain ? 1 : 0;
    const int64_t *widths =
        block_widths(m, &l, parts + plain_parts, n - plain_parts, &n_blocks);
    out->deep =
        drop_features(m, c->group_name, nn_concat(m->graph, parts, n), widths, n_blocks);
    return out->deep != NULL;
}

bool model_reads_group(const struct model *m, int64_t i)
{
    return i >= 64 || (m->groups_read >> i & 1);
}

void model_unread_groups(const struct model *m, struct buf *out)
{
    const struct pc_ModelConfig *mc = m->conf->model_config;
    for (int64_t i = 0; i < mc->n_feature_groups; i++)
        if (!model_reads_group(m, i))
            buf_printf(out, "%s'%s' (%jd features)", out->n ? ", " : "",
                       mc->feature_groups[i]->group_name,
                       (intmax_t)mc->feature_groups[i]->n_feature_names);
}

bool group_of(struct model *m, const char *name, int64_t wide_dim, const char *wide_init,
              struct group *out)
{
    *out = (struct group){.conf = find(m, name)};
    const struct pc_FeatureGroupConfig *c = out->conf;
    if (!c)
        return graph_fail(m->graph, "there is no feature group '%s'", name) != NULL;
    mark_read(m, c);
    if (c->group_type == pc_FeatureGroupType_SEQUENCE ||
        c->group_type == pc_FeatureGroupType_JAGGED_SEQUENCE)
        return sequence_parts(m, c->group_name, c->feature_names, c->n_feature_names,
                              c->embedding_name_suffix, &out->query, &out->sequence,
                              &out->axis);
    return deep_group(m, wide_dim, wide_init, out);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Vectors of a group are as tables have them: nothing drops or cuts them per group. */
static bool is_plain(const struct model *m, const struct pc_FeatureGroupConfig *c)
{
    return c->group_type == pc_FeatureGroupType_DEEP &&
           !m->conf->model_config->variational_dropout && m->options.max_gradient <= 0;
}

bool group_leads(struct model *m, const char *name, const char *of, int64_t *n,
                 int64_t *width)
{
    const struct pc_FeatureGroupConfig *a = find(m, name), *b = find(m, of);
    int64_t common = 0;
    if (!a || !b || !is_plain(m, a) || !is_plain(m, b) || a->n_sequence_encoders ||
        a->n_feature_names > b->n_feature_names ||
        !same_text(a->embedding_name_suffix, b->embedding_name_suffix))
        return false;
    for (int64_t i = 0; i < b->n_feature_names; i++) {
        const struct pc_feature *f =
            pc_features_find(&m->features, str_c(b->feature_names[i]));
        if (!f || f->sequence || is_dense_embedded(f))
            return false;
        if (i >= a->n_feature_names)
            continue;
        int64_t w = width_of(f, 0);
        if (!same_text(a->feature_names[i], b->feature_names[i]) ||
            !pc_feature_is_sparse(f) || (i > 0 && w != common))
            return false;
        common = w;
    }
    *n = a->n_feature_names;
    *width = common;
    return *n > 0;
}

static bool has_fields(struct model *m, const struct group *g)
{
    if (g->field_width > 0 && !g->encoded)
        return true;
    return graph_fail(m->graph, "group '%s': all features need one embedding_dim",
                      g->conf->group_name) != NULL;
}

struct nn_val *group_fields(struct model *m, const struct group *g)
{
    if (!has_fields(m, g))
        return NULL;
    int64_t dims[] = {g->n_fields, g->field_width};
    return nn_reshape(m->graph, g->deep, dims, 2);
}

struct nn_val *part_fields(struct model *m, const struct group *sparse,
                           struct nn_val *dense)
{
    struct graph *g = m->graph;
    if (!dense)
        return group_fields(m, sparse);
    if (!has_fields(m, sparse))
        return NULL;
    if (nn_shape_width(nn_val_shape(dense)) != sparse->field_width)
        return graph_fail(g, "dense_mlp ends in %jd units, the sparse vectors have %jd",
                          (intmax_t)nn_shape_width(nn_val_shape(dense)),
                          (intmax_t)sparse->field_width);
    struct nn_val *both = nn_concat(g, (struct nn_val *[]){dense, sparse->deep}, 2);
    return nn_reshape(g, both,
                      (const int64_t[]){sparse->n_fields + 1, sparse->field_width}, 2);
}
