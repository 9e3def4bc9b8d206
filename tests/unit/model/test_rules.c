/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of TorchEasyRec that a config does not show, one by one: which parameters and
 * tables a model has, in which sizes, and how texts are read.
 */
#include "base/mem.h"
#include "embed/embed.h"
#include "model/parts.h"
#include "tap.h"
#include "text/conf.h"
#include "unit/nn/golden_text.h"

#define HEAD                                                                          \
    "train_input_path: 'a' eval_input_path: 'b' model_dir: 'm'\n"                     \
    "train_config { num_epochs: 1\n"                                                  \
    " sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }\n" \
    " dense_optimizer { adam_optimizer { lr: 0.1 } constant_learning_rate {} } }\n"   \
    "data_config { dataset_type: ParquetDataset label_fields: ['clk', 'buy'] }\n"     \
    "feature_configs { id_feature { feature_name: 'u' expression: 'user:u' "          \
    "embedding_dim: 4 num_buckets: 20 } }\n"                                          \
    "feature_configs { id_feature { feature_name: 'i' expression: 'item:i' "          \
    "embedding_dim: 4 num_buckets: 30 } }\n"                                          \
    "feature_configs { sequence_feature { sequence_name: 's' sequence_length: 9 "     \
    "sequence_delim: ';' features { id_feature { feature_name: 'i' expression: "      \
    "'item:i' embedding_dim: 4 num_buckets: 30 } } } }\n"
#define GROUP(name, type, features)                              \
    " feature_groups { group_name: '" name "' group_type: " type \
    " feature_names: " features " }\n"
#define ALL GROUP("all", "DEEP", "['u', 'i']")
#define WIDE GROUP("wide", "WIDE", "['u', 'i']") GROUP("deep", "DEEP", "['u', 'i']")
#define LOSS " losses { binary_cross_entropy {} }\n"
#define TOWER(mlp) ALL " multi_tower { towers { input: 'all' mlp { " mlp " } } }" LOSS

struct made {
    struct conf conf;
    struct diags diags;
    struct model *model;
    struct err err;
    enum rc rc;
};

static void make(const char *text, bool training, struct made *m)
{
    struct buf b;
    *m = (struct made){0};
    buf_init(&b, 1 << 20);
    buf_printf(&b, "%s model_config {\n%s\n}\n", HEAD, text);
    (void)!conf_from("f", buf_str(&b), b.n, &(struct conf_options){0}, &m->conf,
                     &m->diags, &m->err);
    m->err = (struct err){0};
    CHECK(m->conf.data != NULL);
    struct model_options options = {.graph = {.training = training, .seed = 7}};
    m->rc = model_create(m->conf.data, &options, &m->model, &m->err);
    buf_release(&b);
}

static void unmake(struct made *m)
{
    model_destroy(m->model);
    diags_release(&m->diags);
    conf_release(&m->conf);
}

/* "[3,4]" of a parameter; "" when there is none. */
static const char *sizes_of(const struct model *m, const char *name, char *text, size_t n)
{
    const struct param *p = graph_param(m->graph, name);
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; p && i < p->n_dims; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%jd%s", i ? "," : "[",
                               (intmax_t)p->dims[i], i + 1 == p->n_dims ? "]" : "");
    return text;
}

static const struct {
    const char *model, *param, *sizes;
} params[] = {
    /* a batch norm takes the place of the bias */
    {TOWER("hidden_units: 3"), "model.towers.all.mlp.0.perceptron.0.bias", "[3]"},
    {TOWER("hidden_units: 3 use_bn: true"), "model.towers.all.mlp.0.perceptron.0.bias",
     ""},
    {TOWER("hidden_units: 3 use_bn: true"), "model.towers.all.mlp.0.perceptron.1.weight",
     "[3]"},
    {TOWER("hidden_units: 3 use_bn: true"),
     "model.towers.all.mlp.0.perceptron.1.running_var", "[3]"},
    {TOWER("hidden_units: 3 use_bn: true"),
     "model.towers.all.mlp.0.perceptron.1.num_batches_tracked", "[1]"},
    {TOWER("hidden_units: 3 bias: false"), "model.towers.all.mlp.0.perceptron.0.bias",
     ""},
    /* what is not there has no number */
    {TOWER("hidden_units: 3 activation: 'Dice'"),
     "model.towers.all.mlp.0.perceptron.1.alpha", "[3]"},
    {TOWER("hidden_units: 3 use_ln: true activation: 'Dice'"),
     "model.towers.all.mlp.0.perceptron.2.alpha", "[3]"},
    /* three heads have no bias */
    {ALL LOSS " dcn_v1 { cross { cross_num: 1 } deep { hidden_units: 3 } final { "
              "hidden_units: 3 } }",
     "model.output_linear.bias", ""},
    {ALL LOSS " dcn_v2 { cross { cross_num: 1 low_rank: 2 } final { hidden_units: 3 } }",
     "model.output_mlp.bias", ""},
    {ALL LOSS " mask_net { mask_net_module { n_mask_blocks: 1 mask_block { hidden_dim: 5 "
              "} top_mlp { hidden_units: 3 } } }",
     "model.output_linear.bias", ""},
    {WIDE LOSS " wide_and_deep { deep { hidden_units: 3 } }", "model.output_mlp.bias",
     "[1]"},
    {TOWER("hidden_units: 3"), "model.output_mlp.bias", "[1]"},
    /* the ratio goes before aggregation_dim, and is of what the block reads */
    {ALL LOSS " mask_net { mask_net_module { n_mask_blocks: 2 use_parallel: false "
              "mask_block { hidden_dim: 5 aggregation_dim: 2 } top_mlp { hidden_units: 3 "
              "} } }",
     "model.mask_net_layer.mask_blocks.0.mask_generator.0.weight", "[8,8]"},
    {ALL LOSS " mask_net { mask_net_module { n_mask_blocks: 2 use_parallel: false "
              "mask_block { hidden_dim: 5 aggregation_dim: 2 } top_mlp { hidden_units: 3 "
              "} } }",
     "model.mask_net_layer.mask_blocks.1.mask_generator.0.weight", "[5,8]"},
    {ALL LOSS " mask_net { mask_net_module { n_mask_blocks: 1 mask_block { hidden_dim: 5 "
              "reduction_ratio: 0 aggregation_dim: 2 } top_mlp { hidden_units: 3 } } }",
     "model.mask_net_layer.mask_blocks.0.mask_generator.0.weight", "[2,8]"},
    /* groups of one feature and the sequence of tdm lose nothing */
    {ALL LOSS " variational_dropout {} multi_tower { towers { input: 'all' mlp { "
              "hidden_units: 3 } } }",
     "model.group_variational_dropouts.all.feature_p", "[2]"},
    {GROUP("one", "DEEP", "['u']") LOSS
     " variational_dropout {} multi_tower { towers { input: 'one' mlp { hidden_units: 3 "
     "} } }",
     "model.group_variational_dropouts.one.feature_p", ""},
    {ALL GROUP("s", "SEQUENCE", "['i', 's__i']") LOSS
     " variational_dropout {} tdm { multiwindow_din { windows_len: 2 attn_mlp { "
     "hidden_units: 3 } } final { hidden_units: 3 } }",
     "model.group_variational_dropouts.all.feature_p", ""},
};

static void parameters_are_those_of_the_rules(void)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++) {
        struct made m;
        char text[64];
        make(params[i].model, true, &m);
        CHECK_STR(m.err.msg, "");
        if (m.model)
            CHECK_STR(sizes_of(m.model, params[i].param, text, sizeof(text)),
                      params[i].sizes);
        unmake(&m);
    }
}

enum first { WITHIN, DEVIATES, ALL_ARE };

#define INIT(names, how) \
    " initializers { regex_pattern: '" names "' init_fn: 'nn.init." how "' }"
#define NET " multi_tower { towers { input: 'all' mlp { hidden_units: 60 "
static const struct {
    const char *model, *param;
    enum first how;
    double by;
} firsts[] = {
    {ALL NET "} } }" LOSS, "model.towers.all.mlp.0.perceptron.0.weight", WITHIN, 0.35355},
    {ALL NET "} } }" LOSS, "model.towers.all.mlp.0.perceptron.0.bias", WITHIN, 0.35355},
    {ALL NET "} } }" LOSS, "model.output_mlp.weight", WITHIN, 0.12910},
    {ALL NET "use_bn: true } } }" LOSS, "model.towers.all.mlp.0.perceptron.1.weight",
     ALL_ARE, 1},
    {ALL NET "} } }" LOSS INIT(".*weight", "xavier_uniform_"),
     "model.towers.all.mlp.0.perceptron.0.weight", WITHIN, 0.29704}, /* sqrt(6 / 68) */
    {ALL NET "} } }" LOSS INIT(".*bias", "zeros_"),
     "model.towers.all.mlp.0.perceptron.0.bias", ALL_ARE, 0},
    {ALL NET "} } }" LOSS INIT(".*bias", "constant_,val=0.1"),
     "model.towers.all.mlp.0.perceptron.0.weight", WITHIN, 0.35355},
    {ALL NET "} } }" LOSS INIT("model.towers.*", "normal_,std=3") INIT(".*", "zeros_"),
     "model.towers.all.mlp.0.perceptron.0.weight", DEVIATES, 3},
    {ALL NET "} } }" LOSS INIT(".*", "trunc_normal_,std=0.5,a=-1,b=1"),
     "model.towers.all.mlp.0.perceptron.0.weight", WITHIN, 1},
    {ALL NET "} } }" LOSS INIT(".*", "trunc_normal_,std=0.01"),
     "model.towers.all.mlp.0.perceptron.0.weight", DEVIATES, 0.01},
    {ALL NET "} } }" LOSS INIT(".*", "kaiming_normal_,nonlinearity=linear"),
     "model.towers.all.mlp.0.perceptron.0.weight", DEVIATES, 0.35355},
    {ALL NET "use_bn: true } } }" LOSS, "model.towers.all.mlp.0.perceptron.1.bias",
     ALL_ARE, 0},
    {ALL NET "use_bn: true } } }" LOSS,
     "model.towers.all.mlp.0.perceptron.1.running_mean", ALL_ARE, 0},
    {ALL NET "use_bn: true } } }" LOSS, "model.towers.all.mlp.0.perceptron.1.running_var",
     ALL_ARE, 1},
    {ALL NET "activation: 'Dice' } } }" LOSS, "model.towers.all.mlp.0.perceptron.1.alpha",
     ALL_ARE, 0},
    {ALL NET "activation: 'nn.PReLU' } } }" LOSS,
     "model.towers.all.mlp.0.perceptron.1.weight", ALL_ARE, 0.25},
    {ALL NET "activation: 'nn.PReLU(init=-0.5)' } } }" LOSS,
     "model.towers.all.mlp.0.perceptron.1.weight", ALL_ARE, -0.5},
    {ALL LOSS " dcn_v1 { cross { cross_num: 1 } deep { hidden_units: 3 } final { "
              "hidden_units: 3 } }",
     "model.cross.b.0", ALL_ARE, 0},
    {ALL LOSS " wukong { wukong_layers { lcb_feature_num: 30 fmb_feature_num: 2 "
              "compressed_feature_num: 40 feature_num_mlp { hidden_units: 3 } } final { "
              "hidden_units: 3 } }",
     "model._wukong_layers.0.lcb.weight", WITHIN, 0.44721}, /* sqrt(6 / 30) */
    {ALL LOSS " wukong { wukong_layers { lcb_feature_num: 30 fmb_feature_num: 2 "
              "compressed_feature_num: 40 feature_num_mlp { hidden_units: 3 } } final { "
              "hidden_units: 3 } }",
     "model._wukong_layers.0.fmb.weight", WITHIN, 0.38730}, /* sqrt(6 / 40) */
    {WIDE LOSS " xdeepfm { cin { cin_layer_size: 30 } deep { hidden_units: 3 } final { "
               "hidden_units: 3 } }",
     "model.cin.cin_layers.0.weight", WITHIN, 0.5}, /* 2 x 2 fields */
    {GROUP("user", "DEEP", "['u']") GROUP("hist", "SEQUENCE", "['s__i']") GROUP(
         "item", "DEEP",
         "['i']") " losses { softmax_cross_entropy {} } mind { "
                  "user_tower { input: 'user' history_input: 'hist' user_mlp { hidden_units: 8 } "
                  "capsule_config { max_k: 3 max_seq_len: 9 high_dim: 60 } concat_mlp { hidden_units: "
                  "8 } } item_tower { input: 'item' mlp { hidden_units: 8 } } output_dim: 8 "
                  "in_batch_negative: true }",
     "model.user_tower._capsule_layer.bilinear_matrix", DEVIATES, 1},
    {" feature_groups { group_name: 'all' group_type: DEEP feature_names: 'u' "
     "sequence_groups { group_name: 'g' feature_names: 's__i' } sequence_encoders { "
     "self_attention_encoder { input: 'g' multihead_attn_dim: 24 num_heads: 2 } } }" NET
     "} } }" LOSS,
     "model.embedding_group._group_name_to_seq_encoders.all.0._multihead_attn."
     "in_proj_weight",
     WITHIN, 0.25}, /* sqrt(6 / (24 + 72)) */
    {" feature_groups { group_name: 'all' group_type: DEEP feature_names: 'u' "
     "sequence_groups { group_name: 'g' feature_names: 's__i' } sequence_encoders { "
     "self_attention_encoder { input: 'g' multihead_attn_dim: 24 num_heads: 2 } } }" NET
     "} } }" LOSS,
     "model.embedding_group._group_name_to_seq_encoders.all.0._multihead_attn."
     "in_proj_bias",
     ALL_ARE, 0},
};

/* Those of PyTorch's layers, or as the model says. */
static void first_values_are_those_of_the_rules(void)
{
    for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
        struct made m;
        make(firsts[i].model, true, &m);
        CHECK_STR(m.err.msg, "");
        struct param *p = graph_param(m.model->graph, firsts[i].param);
        const float *values = p ? param_read(p) : NULL;
        CHECK(p != NULL);
        double most = 0, sum = 0, by = firsts[i].by;
        bool alike = true;
        for (int64_t k = 0; p && k < p->n; k++) {
            double v = (double)values[k];
            most = fmax(most, fabs(v));
            sum += v * v;
            alike = alike && v == by;
        }
        if (firsts[i].how == WITHIN)
            CHECK(most <= by && most > 0.85 * by);
        else if (firsts[i].how == DEVIATES)
            CHECK_NEAR(sqrt(sum / (double)(p ? p->n : 1)), by, 0.15 * by);
        else
            CHECK(alike);
        unmake(&m);
    }
}

/* Narrow tables: 4 wide, 16 in xdeepfm, or as the model says. */
static void wide_tables_have_their_width(void)
{
    static const struct {
        const char *model;
        int64_t dim;
    } rows[] = {
        {" wide_and_deep { deep { hidden_units: 3 } }", 4},
        {" deepfm { deep { hidden_units: 3 } }", 4},
        {" deepfm { deep { hidden_units: 3 } wide_embedding_dim: 2 }", 2},
        {" xdeepfm { cin { cin_layer_size: 3 } deep { hidden_units: 3 } final { "
         "hidden_units: 3 } }",
         16},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made m;
        char *text = mem_printf("%s%s%s", WIDE, LOSS, rows[i].model);
        int64_t found = 0;
        make(text, true, &m);
        CHECK_STR(m.err.msg, "");
        for (int t = 0; m.model && t < embed_n_tables(embed_of(m.model->lookup)); t++) {
            const struct embed_table *table =
                embed_table_at(embed_of(m.model->lookup), t);
            if (!strstr(table->name, "_wide"))
                continue;
            CHECK_INT(table->conf.dim, rows[i].dim);
            found++;
        }
        CHECK_INT(found, 2);
        unmake(&m);
        mem_free(text);
    }
}

/* A pooled and a sequence use of one feature have a table each. */
static void sequences_have_tables_of_their_own(void)
{
    struct made m;
    make(
        ALL GROUP("s", "SEQUENCE", "['i', 's__i']") LOSS
        " multi_tower_din { towers { input: 'all' mlp { hidden_units: 3 } } din_towers { "
        "input: 's' attn_mlp { hidden_units: 3 } } }",
        true, &m);
    CHECK_STR(m.err.msg, "");
    static const char *const names[] = {
        "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.u_emb.weight",
        "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.i_emb.weight",
        "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.4.embeddings.i_emb.weight",
        "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.4.embeddings.s__i_emb."
        "weight",
    };
    CHECK_INT(embed_n_tables(embed_of(m.model->lookup)), (int)ARRAY_LEN(names));
    for (int t = 0; t < (int)ARRAY_LEN(names); t++)
        CHECK_STR(embed_table_at(embed_of(m.model->lookup), t)->name, names[t]);
    unmake(&m);
}

static void activations_are_read_as_written(void)
{
    static const char *const good[] = {"",
                                       "Dice",
                                       " nn.ReLU ",
                                       "torch.nn.ReLU",
                                       "nn.ReLU(inplace=True)",
                                       "torch.nn.PReLU",
                                       "nn.PReLU()",
                                       "nn.PReLU(init=.1)",
                                       "nn.PReLU(num_parameters=1, init=1e-1)",
                                       "nn.LeakyReLU(negative_slope=0.2, inplace=True)",
                                       "nn.ELU(alpha=0.5)",
                                       "nn.GELU",
                                       "nn.GELU(approximate=\"none\")",
                                       "nn.GELU(approximate = \"tanh\")",
                                       "nn.SELU",
                                       "nn.SiLU",
                                       "nn.Sigmoid",
                                       "nn.Tanh",
                                       "nn.Softplus",
                                       "nn.Mish",
                                       "nn.Hardswish",
                                       "nn.Softsign",
                                       "nn.ReLU6",
                                       "nn.Identity"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char *text = mem_printf("%s multi_tower { towers { input: 'all' mlp { "
                                "hidden_units: 3 activation: '%s' } } }%s",
                                ALL, good[i], LOSS);
        struct made m;
        make(text, true, &m);
        CHECK_STR(m.err.msg, "");
        unmake(&m);
        mem_free(text);
    }
}

/* Layers of equal width, nothing to distil: no loss beside the hint. */
static void nothing_is_distilled_unless_asked(void)
{
    static const char *const asked[] = {"", "feature_based_distillation: true"};
    for (int i = 0; i < 2; i++) {
        struct made m;
        struct buf b;
        buf_init(&b, 1 << 16);
        buf_printf(&b,
                   "%s rocket_launching { booster_mlp { hidden_units: [4, 3] } light_mlp "
                   "{ hidden_units: [4, 3] } %s }",
                   ALL LOSS, asked[i]);
        make(buf_str(&b), true, &m);
        CHECK_STR(m.err.msg, "");
        size_t pairs = 0;
        for (size_t k = 0; k < graph_n_losses(m.model->graph); k++)
            pairs += strncmp(graph_loss_name(m.model->graph, k), "similarity_", 11) == 0;
        CHECK_INT((int64_t)pairs, i ? 2 : 0);
        CHECK_INT((int64_t)graph_n_losses(m.model->graph), i ? 5 : 3);
        unmake(&m);
        buf_release(&b);
    }
}

#define WIDTH 4

/* What an encoder makes of three rows, the second of which has no positions. */
static int64_t encode(const char *text, float *second)
{
    static const int64_t offsets[] = {0, 2, 2, 5};
    struct nn_batch_rows rows = {.n = {3, 5}, .offsets = {NULL, offsets}};
    struct model m = {.match = {.items = -1}};
    struct written w;
    struct err err = {0};
    written_open(&w, &pc_SeqEncoderConfig_def, text);
    m.graph = graph_create(&(struct graph_options){.seed = 3});
    int axis = graph_axis(m.graph, "s");
    struct nn_val *in[] = {
        nn_input(m.graph, "q", &(struct nn_shape){AXIS_BATCH, 1, {WIDTH}}, false),
        nn_input(m.graph, "s", &(struct nn_shape){axis, 1, {WIDTH}}, false)};
    nn_output(m.graph, "y", part_encoder(&m, "0", w.msg, in[0], in[1], axis));
    CHECK(graph_finish(m.graph, &err) == RC_OK);
    CHECK_STR(err.msg, "");
    CHECK(graph_rows(m.graph, &rows, &err) == RC_OK);
    for (int i = 0; i < 2; i++) {
        struct view v = graph_write_begin(m.graph, in[i]);
        for (int64_t r = 0; r < v.rows; r++)
            for (int64_t k = 0; k < v.width; k++)
                view_row(&v, r)[k] = 0.5f + (float)(r - k) * 0.25f;
        graph_write_end(m.graph, in[i]);
    }
    graph_forward(m.graph, 0);
    struct view y = graph_read(m.graph, graph_output(m.graph, "y"));
    memcpy(second, view_row(&y, 1), (size_t)y.width * sizeof(float));
    bool first = false;
    for (int64_t k = 0; k < y.width; k++)
        first |= view_row(&y, 0)[k] != 0;
    CHECK(first);
    graph_destroy(m.graph);
    arena_release(&m.arena);
    written_close(&w);
    return y.width;
}

static void empty_sequences_give_exact_zeros(void)
{
    static const struct {
        const char *encoder;
        int64_t zeros, width;
    } rows[] = {
        {"din_encoder { input: 's' attn_mlp { hidden_units: 3 } }", 4, 4},
        {"din_encoder { input: 's' attn_mlp { hidden_units: 3 use_bn: true activation: "
         "'Dice' } }",
         4, 4},
        {"simple_attention { input: 's' }", 4, 4},
        {"pooling_encoder { input: 's' pooling_type: 'sum' }", 4, 4},
        {"pooling_encoder { input: 's' pooling_type: 'mean' }", 4, 4},
        {"self_attention_encoder { input: 's' multihead_attn_dim: 6 num_heads: 2 }", 6,
         6},
        /* the query stands behind the windows */
        {"multi_window_din_encoder { input: 's' windows_len: [1, 2, 3] attn_mlp { "
         "hidden_units: 3 } }",
         12, 16},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        float y[32] = {0};
        CHECK_INT(encode(rows[i].encoder, y), rows[i].width);
        for (int64_t k = 0; k < rows[i].zeros; k++)
            CHECK(y[k] == 0);
    }
}

static const struct tap_case cases[] = {
    TAP(first_values_are_those_of_the_rules), TAP(empty_sequences_give_exact_zeros),
    TAP(parameters_are_those_of_the_rules),   TAP(wide_tables_have_their_width),
    TAP(sequences_have_tables_of_their_own),  TAP(activations_are_read_as_written),
    TAP(nothing_is_distilled_unless_asked),
};
TAP_MAIN(cases)
