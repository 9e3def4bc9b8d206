/* SPDX-License-Identifier: Apache-2.0 */
/* Networks on the history of a user: PaddleRec's DIN, DIEN and BST. The item and the history
 * share tables. PaddleRec pads histories to the longest of a batch; here they keep their
 * length.
 */
#include <math.h>
#include <string.h>

#include "compat/paddlerec_private.h"

#define HISTORY_MAX 100000

struct kind {
    const char *name, *item, *history; /* of the feature, of both slots */
    int64_t rows, dim;
};

/* One feature of the item and the same of the history. */
static void put_kind(struct paddlerec_put *x, const struct kind *k)
{
    double bound = sqrt(6.0 / (double)(k->rows + k->dim));
    const char *same = arena_printf(
        x->a,
        "num_buckets: %jd embedding_dim: %jd embedding_name: \"%s_emb\" init_fn: "
        "\"nn.init.uniform_,a=%.9g,b=%.9g\"",
        (intmax_t)k->rows, (intmax_t)k->dim, k->name, -bound, bound);
    buf_printf(
        x->out,
        "feature_configs { id_feature { feature_name: \"%s\" expression: "
        "\"item:%s\" %s } }\n"
        "feature_configs { sequence_id_feature { feature_name: \"hist_%s\" "
        "expression: \"user:hist_%s\" sequence_length: %d sequence_delim: \";\" %s } "
        "}\n",
        k->name, k->name, same, k->name, k->name, HISTORY_MAX, same);
    buf_printf(&x->columns, " %s=id(%s) hist_%s=ids(%s)", k->name, k->item, k->name,
               k->history);
}

static void put_seq(struct paddlerec_put *x, const struct kind *kinds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_kind(x, &kinds[i]);
    buf_puts(x->out, "model_config {\n  feature_groups { group_name: \"seq\" group_type: "
                     "SEQUENCE");
    for (size_t i = 0; i < 2 * n; i++)
        buf_printf(x->out, " feature_names: \"%s%s\"", i < n ? "" : "hist_",
                   kinds[i % n].name);
    buf_puts(x->out, " }\n");
}

/* Items and categories of a history, and a bias for each item. */
static void put_interest(struct paddlerec_put *x, const char *how)
{
    const struct kind kinds[] = {
        {"item", "target_item", "hist_item", paddlerec_int(x, "item_count", 1),
         paddlerec_int(x, "item_emb_size", 1)},
        {"cat", "target_cat", "hist_cat", paddlerec_int(x, "cat_count", 1),
         paddlerec_int(x, "cat_emb_size", 1)}};
    const char *act = paddlerec_act(x, "act");
    buf_puts(&x->columns, "label=id(label)");
    put_seq(x, kinds, ARRAY_LEN(kinds));
    paddlerec_group(x, "wide", "WIDE", "", 0, "item");
    buf_printf(
        x->out,
        "  dien { %s wide_init_fn: \"nn.init.zeros_\" attn_mlp { hidden_units: [80, "
        "40] activation: \"%s\" } deep { hidden_units: [80, 40] activation: \"%s\" } "
        "}\n  num_class: 1\n  losses { binary_cross_entropy {} }\n  metrics { auc {} "
        "}\n" XAVIER "}\n",
        how, act, act);
}

static void put_din(struct paddlerec_put *x)
{
    put_interest(x, "gru_layers: 0 evolution: \"DIN\"");
}

static void put_dien(struct paddlerec_put *x)
{
    put_interest(x, "gru_layers: 2 evolution: \"AIGRU\"");
}

static void put_bst(struct paddlerec_put *x)
{
    if (!paddlerec_label(x, 7, 0))
        return;
    const struct prec_slot *s = x->sparse.at;
    const struct kind kinds[] = {
        {"item", s[4].name, s[1].name, paddlerec_int(x, "item_count", 1),
         paddlerec_int(x, "item_emb_size", 1)},
        {"cat", s[5].name, s[2].name, paddlerec_int(x, "cat_count", 1),
         paddlerec_int(x, "cat_emb_size", 1)},
        {"position", s[6].name, s[3].name, paddlerec_int(x, "position_count", 1),
         paddlerec_int(x, "position_emb_size", 1)}};
    int64_t heads = paddlerec_int(x, "n_head", 1), width = paddlerec_int(x, "d_key", 1);
    int64_t all = kinds[0].dim + kinds[1].dim + kinds[2].dim;
    if (paddlerec_int(x, "d_value", 1) != width || heads * width != all ||
        paddlerec_int(x, "d_model", 1) != all)
        paddlerec_fault(
            x, &x->c->hyper_parameters->base, "d_model",
            "hyper_parameters: rank/BST has d_key = d_value and d_model = "
            "n_head times d_key = the three emb_sizes together, which are %jd",
            (intmax_t)all);
    paddlerec_must_be_off(x, "dropout_rate");
    paddlerec_must_be_off(x, "prepostprocess_dropout");
    paddlerec_must_be_off(x, "relu_dropout");
    put_seq(x, kinds, ARRAY_LEN(kinds));
    buf_printf(
        x->out,
        "  bst { num_layers: %jd num_heads: %jd head_dim: %jd ffn_units: %jd deep { "
        "hidden_units: [%s] activation: \"%s\" } }\n",
        (intmax_t)paddlerec_int(x, "n_encoder_layers", 1), (intmax_t)heads,
        (intmax_t)width, (intmax_t)paddlerec_int(x, "d_inner_hid", 1),
        paddlerec_sizes(x, "fc_sizes"), paddlerec_act(x, "act"));
    paddlerec_initial(x, ".*deep_mlp.*weight",
                      paddlerec_truncated(x, 0.1 / sqrt(10)) + strlen("nn.init."));
    paddlerec_initial(x, ".*deep_mlp.*bias",
                      paddlerec_truncated(x, 0.1) + strlen("nn.init."));
    buf_puts(x->out, XAVIER);
    paddlerec_log_loss(x);
    buf_puts(x->out, "}\n");
}

#define INTEREST                                                   \
    .format = "din", .labels = "\"label\"",                        \
    .read = "item_emb_size|cat_emb_size|item_count|cat_count|act", \
    .idle = "use_DataLoader|is_sparse", .aucs = ONE_AUC(4095, 0)

const struct paddlerec_net paddlerec_net_rank_din = {
    .name = "rank/din",
    INTEREST,
    .put = put_din,
    .digest = "6d3e9b4bd665daaeda80a807014ab40db16690caf95a8496c72017308de94dae",
    .readers = {"e7d4978853b4505cb7a38a8302c7ed0433d66de890037325ca4afea594caaad8",
                "cacbb48594c36c86fb4a56da0d1f73bc0e70be85204b099335a5abdb0a468a17"}};

const struct paddlerec_net paddlerec_net_rank_dien = {
    .name = "rank/dien",
    INTEREST,
    .put = put_dien,
    .digest = "b57e253e422ffbce970ae15eb78da571698320e10cf98672fe9c05f03a98e78f",
    .readers = {"9e4cac8bba615c95f84582fc647249615a934ea8388e9fcb1154940fccbffca5",
                "fe3d0df437dfd3460e4be9dfe499a4398b8ad6f75486d53a5bedd4adcca02f76"}};

const struct paddlerec_net paddlerec_net_rank_bst = {
    .name = "rank/BST",
    .labels = "\"label\"",
    .read = "item_emb_size|cat_emb_size|position_emb_size|item_count|cat_count|"
            "position_count|n_encoder_layers|d_model|d_key|d_value|n_head|d_inner_hid|"
            "fc_sizes|act|dropout_rate|prepostprocess_dropout|relu_dropout",
    .idle = "use_DataLoader|is_sparse|postprocess_cmd",
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_bst,
    .digest = "fb0a0079230f8e85418f9fafd806f49bd81b1851cdb1b6450c468cb67743e2d8"};
