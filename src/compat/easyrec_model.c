/* SPDX-License-Identifier: Apache-2.0 */
/* Models. A row of `models` says which messages of EasyRec's model become which of ours;
 * nets (`dnn`) become `mlp`, with EasyRec's default of use_bn written out, since ours is
 * another. Losses and metrics, which EasyRec has beside the model for a single task, go
 * into model_config, or into each tower.
 */
#include <string.h>

#include "compat/easyrec_private.h"

static void put_mlp(struct compat_easyrec *x, const struct node *dnn, struct node *to,
                    const char *as)
{
    if (!dnn || dnn->kind != NODE_MAP || !easyrec_at(dnn, "hidden_units", 0))
        return;
    struct node *mlp = easyrec_sub(x, to, as);
    easyrec_copy(x, dnn, "hidden_units", mlp, "hidden_units");
    easyrec_copy(x, dnn, "dropout_ratio", mlp, "dropout_ratio");
    easyrec_put_word(x, mlp, "use_bn",
                     strcmp(easyrec_text(dnn, "use_bn"), "false") == 0 ? "false"
                                                                       : "true");
}

static void put_loss(struct compat_easyrec *x, const char *type, struct node *to)
{
    static const struct {
        const char *from, *to;
    } losses[] = {{"", "binary_cross_entropy"},
                  {"CLASSIFICATION", "binary_cross_entropy"},
                  {"JRC_LOSS", "jrc_loss"},
                  {"L2_LOSS", "l2_loss"},
                  {"SOFTMAX_CROSS_ENTROPY", "softmax_cross_entropy"}};
    for (size_t i = 0; i < ARRAY_LEN(losses); i++)
        if (strcmp(losses[i].from, type) == 0) {
            easyrec_sub(x, easyrec_sub(x, to, "losses"), losses[i].to);
            return;
        }
    easyrec_note(x, "loss %s is not converted", type);
}

static void put_losses(struct compat_easyrec *x, const struct node *from, struct node *to)
{
    const struct node *loss;
    size_t n = 0;
    for (; (loss = easyrec_at(from, "losses", n)) != NULL; n++)
        put_loss(x, easyrec_text(loss, "loss_type"), to);
    if (!n)
        put_loss(x, easyrec_text(from, "loss_type"), to);
}

/* One of metrics_set: { auc {} } */
static void put_metric(struct compat_easyrec *x, const struct node *m, struct node *to)
{
    static const char *const same[] = {"auc", "mean_absolute_error", "mean_squared_error",
                                       "accuracy"};
    const struct node *gauc = node_find(m, "gauc"),
                      *recall = node_find(m, "recall_at_topk");
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (node_find(m, same[i])) {
            easyrec_sub(x, easyrec_sub(x, to, "metrics"), same[i]);
            return;
        }
    if (gauc) {
        struct node *g = easyrec_sub(x, easyrec_sub(x, to, "metrics"), "grouped_auc");
        easyrec_put_text(x, g, "grouping_key", easyrec_text(gauc, "uid_field"));
    } else if (recall) {
        struct node *r = easyrec_sub(x, easyrec_sub(x, to, "metrics"), "recall_at_k");
        easyrec_copy(x, recall, "topk", r, "top_k");
    } else if (m->kind == NODE_MAP && m->map.n) {
        easyrec_note(x, "metric %s is not converted", m->map.at[0].key.p);
    }
}

static void put_metrics(struct compat_easyrec *x, const struct node *from,
                        struct node *to)
{
    const struct node *m;
    for (size_t i = 0; (m = easyrec_at(from, "metrics_set", i)) != NULL; i++)
        put_metric(x, m, to);
}

static void put_task(struct compat_easyrec *x, const struct node *t, struct node *to)
{
    static const char *const same[] = {"tower_name", "label_name", "num_class", "weight",
                                       "relation_tower_names"};
    struct node *tower = easyrec_sub(x, to, "task_towers");
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        easyrec_copy(x, t, same[i], tower, same[i]);
    put_mlp(x, node_find(t, "dnn"), tower, "mlp");
    put_mlp(x, node_find(t, "relation_dnn"), tower, "relation_mlp");
    put_losses(x, t, tower);
    put_metrics(x, t, tower);
}

static void put_tower(struct compat_easyrec *x, const struct node *t, const char *id,
                      struct node *to, const char *as)
{
    struct node *tower = easyrec_sub(x, to, as);
    easyrec_put_text(x, tower, "input", easyrec_text(t, id));
    put_mlp(x, node_find(t, "dnn"), tower, "mlp");
}

static void put_extraction(struct compat_easyrec *x, const struct node *e,
                           struct node *to)
{
    static const char *const same[] = {"network_name", "expert_num_per_task",
                                       "share_num"};
    struct node *net = easyrec_sub(x, to, "extraction_networks");
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        easyrec_copy(x, e, same[i], net, same[i]);
    put_mlp(x, node_find(e, "task_expert_net"), net, "task_expert_net");
    put_mlp(x, node_find(e, "share_expert_net"), net, "share_expert_net");
}

/* Nets of a model by their names there and here. */
struct easyrec_net {
    const char *from, *to;
};
static const struct easyrec_model_row {
    const char *model_class, *member, *to;
    struct easyrec_net nets[4];
    bool tasks; /* losses and metrics belong to its towers */
} models[] = {
    {"DBMTL",
     "dbmtl",
     "dbmtl",
     {{"bottom_dnn", "bottom_mlp"}, {"expert_dnn", "expert_mlp"}},
     true},
    {"SimpleMultiTask", "simple_multi_task", "simple_multi_task", {{0}}, true},
    {"MMoE",
     "mmoe",
     "mmoe",
     {{"expert_dnn", "expert_mlp"}, {"expert_dnn", "gate_mlp"}},
     true},
    {"PLE", "ple", "ple", {{0}}, true},
    {"DeepFM", "deepfm", "deepfm", {{"dnn", "deep"}, {"final_dnn", "final"}}, false},
    {"WideAndDeep",
     "wide_and_deep",
     "wide_and_deep",
     {{"dnn", "deep"}, {"final_dnn", "final"}},
     false},
    {"MultiTower", "multi_tower", "multi_tower", {{"final_dnn", "final"}}, false},
    {"DSSM", "dssm", "dssm", {{0}}, false}};

static void put_parts(struct compat_easyrec *x, const struct node *from, struct node *to)
{
    const struct node *v;
    for (size_t i = 0; (v = easyrec_at(from, "towers", i)) != NULL; i++)
        put_tower(x, v, "input", to, "towers");
    for (size_t i = 0; (v = easyrec_at(from, "extraction_networks", i)) != NULL; i++)
        put_extraction(x, v, to);
    for (size_t i = 0; (v = easyrec_at(from, "task_towers", i)) != NULL; i++)
        put_task(x, v, to);
    easyrec_copy(x, from, "num_expert", to, "num_expert");
    easyrec_copy(x, from, "wide_output_dim", to, "wide_embedding_dim");
}

static void put_dssm(struct compat_easyrec *x, const struct node *from, struct node *to)
{
    put_tower(x, node_find(from, "user_tower"), "id", to, "user_tower");
    put_tower(x, node_find(from, "item_tower"), "id", to, "item_tower");
    easyrec_put_int(x, to, "output_dim", 32);
    easyrec_note(x, "dssm: output_dim is 32; EasyRec's is the width of the towers");
    easyrec_copy(x, from, "temperature", to, "temperature");
}

static void put_model(struct compat_easyrec *x, const struct easyrec_model_row *row,
                      const struct node *model, struct node *to)
{
    const struct node *from = node_find(model, row->member);
    struct node *m = easyrec_sub(x, to, row->to);
    for (size_t i = 0; i < ARRAY_LEN(row->nets) && row->nets[i].from; i++)
        put_mlp(x, node_find(from, row->nets[i].from), m, row->nets[i].to);
    put_parts(x, from, m);
    bool dssm = strcmp(row->member, "dssm") == 0;
    if (dssm)
        put_dssm(x, from, m);
    if (row->tasks)
        return;
    if (dssm) /* the loss over sampled items is the one that it has here */
        put_loss(x, "SOFTMAX_CROSS_ENTROPY", to);
    else
        put_losses(x, model, to);
    put_metrics(x, node_find(x->from, "eval_config"), to);
}

static void put_sequence_group(struct compat_easyrec *x, const struct node *s, size_t i,
                               struct node *group)
{
    static const char *const parts[] = {"key", "hist_seq", "aux_hist_seq"};
    const char *name = easyrec_text(s, "group_name");
    const struct node *map;
    if (!name[0])
        name = arena_printf(x->arena, "seq_%zu", i);
    struct node *seq = easyrec_sub(x, group, "sequence_groups");
    easyrec_put_text(x, seq, "group_name", name);
    for (size_t k = 0; (map = easyrec_at(s, "seq_att_map", k)) != NULL; k++)
        for (size_t p = 0; p < ARRAY_LEN(parts); p++)
            easyrec_copy(x, map, parts[p], seq, "feature_names");
    struct node *din =
        easyrec_sub(x, easyrec_sub(x, group, "sequence_encoders"), "din_encoder");
    easyrec_put_text(x, din, "input", name);
    const struct node *dnn = node_find(s, "seq_dnn");
    if (dnn) {
        put_mlp(x, dnn, din, "attn_mlp");
        return;
    }
    struct node *mlp = easyrec_sub(x, din, "attn_mlp"); /* EasyRec's own default */
    for (int64_t units = 128; units >= 32; units /= 2)
        easyrec_put_int(x, mlp, "hidden_units", units);
}

static void put_groups(struct compat_easyrec *x, const struct node *model,
                       struct node *to)
{
    const struct node *g, *s;
    for (size_t i = 0; (g = easyrec_at(model, "feature_groups", i)) != NULL; i++) {
        struct node *group = easyrec_sub(x, to, "feature_groups");
        easyrec_put_text(x, group, "group_name", easyrec_text(g, "group_name"));
        easyrec_copy(x, g, "feature_names", group, "feature_names");
        easyrec_put_word(x, group, "group_type",
                         strcmp(easyrec_text(g, "wide_deep"), "WIDE") == 0 ? "WIDE"
                                                                           : "DEEP");
        for (size_t k = 0; (s = easyrec_at(g, "sequence_features", k)) != NULL; k++)
            put_sequence_group(x, s, k, group);
    }
}

enum rc easyrec_model(struct compat_easyrec *x, struct err *err)
{
    const struct node *model = node_find(x->from, "model_config");
    const char *class = easyrec_text(model, "model_class");
    struct node *to = easyrec_sub(x, x->to, "model_config");
    put_groups(x, model, to);
    for (size_t i = 0; i < ARRAY_LEN(models); i++)
        if (strcmp(models[i].model_class, class) == 0) {
            put_model(x, &models[i], model, to);
            return RC_OK;
        }
    return err_coded(
        err, RC_INVAL, E2209,
        "model_class '%s' is not converted; known are DBMTL, DSSM, DeepFM, MMoE, "
        "MultiTower, PLE, SimpleMultiTask and WideAndDeep",
        class);
}
