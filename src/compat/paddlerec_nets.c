/* SPDX-License-Identifier: Apache-2.0 */
/* The networks of PaddleRec's models, each as features, groups and model of a
 * pipeline.config. What a network takes from hyper_parameters is read here; keys that it
 * does not know are reported by paddlerec_config.c. Initial values are those of PaddleRec:
 * U(-1, 1) and normal ones cut at two deviations for tables, Xavier unless a network has
 * its own for nets.
 */
#include <math.h>
#include <string.h>

#include "compat/paddlerec_private.h"

#define TOWER                                                                       \
    "mlp { hidden_units: [200, 80] } losses { binary_cross_entropy {} } metrics { " \
    "auc {} }"

/* Slots in one table, their sums beside the dense slot, then a net of relus. */
static void put_dnn(struct paddlerec_put *x)
{
    if (!paddlerec_label(x, 2, 1))
        return;
    const char *sizes = paddlerec_sizes(x, "fc_sizes");
    paddlerec_must_be(x, "sparse_inputs_slots", (int64_t)x->sparse.n);
    paddlerec_must_be(x, "dense_input_dim", paddlerec_dense_width(x));
    paddlerec_slots(x, "SparseFeatFactors", "nn.init.uniform_,a=-1,b=1");
    paddlerec_numbers(x, "dense", x->dense.at[0].name, paddlerec_dense_width(x));
    buf_puts(x->out, "model_config {\n");
    paddlerec_group(x, "deep", "DEEP", "slot", (int64_t)x->sparse.n - 1, "dense");
    buf_printf(
        x->out,
        "  multi_tower { towers { input: \"deep\" mlp { hidden_units: [%s] } } }\n"
        "  num_class: 2\n  losses { softmax_cross_entropy {} }\n  metrics { auc {} }\n"
        "  initializers { regex_pattern: \".*weight\" init_fn: "
        "\"nn.init.kaiming_normal_,nonlinearity=linear\" }\n"
        "  initializers { regex_pattern: \".*bias\" init_fn: \"nn.init.zeros_\" }\n}\n",
        sizes);
}

static void put_logistic_regression(struct paddlerec_put *x)
{
    int64_t n = paddlerec_fields(x, false, false);
    paddlerec_group(x, "wide", "WIDE", "f", n, NULL);
    buf_printf(x->out, "  logistic_regression { wide_init_fn: \"%s\" }\n",
               paddlerec_truncated(x, 0.1));
    paddlerec_log_loss(x);
    buf_puts(x->out, "}\n");
}

static void put_fm(struct paddlerec_put *x)
{
    int64_t n = paddlerec_fields(x, false, false);
    paddlerec_group(x, "deep", "DEEP", "f", n, NULL);
    paddlerec_group(x, "wide", "WIDE", "f", n, NULL);
    buf_printf(x->out, "  fm { wide_init_fn: \"%s\" }\n", paddlerec_truncated(x, 0.1));
    paddlerec_log_loss(x);
    buf_puts(x->out, "}\n");
}

static void put_deepfm(struct paddlerec_put *x)
{
    int64_t n = paddlerec_fields(x, false, false);
    const char *sizes = paddlerec_sizes(x, "fc_sizes");
    const char *act = paddlerec_act(x, "act");
    paddlerec_group(x, "deep", "DEEP", "f", n, NULL);
    paddlerec_group(x, "wide", "WIDE", "f", n, NULL);
    buf_printf(x->out,
               "  deepfm { wide_embedding_dim: 1 wide_init_fn: \"%s\" deep { "
               "hidden_units: [%s] activation: \"%s\" } }\n",
               paddlerec_truncated(x, 0.1), sizes, act);
    buf_printf(x->out,
               "  initializers { regex_pattern: \".*output_mlp.*\" init_fn: \"%s\" }\n",
               paddlerec_truncated(x, 0.1));
    buf_printf(x->out, "  initializers { regex_pattern: \".*weight\" init_fn: \"%s\" }\n",
               paddlerec_truncated(x, 0.1 / sqrt(10)));
    buf_printf(x->out, "  initializers { regex_pattern: \".*bias\" init_fn: \"%s\" }\n",
               paddlerec_truncated(x, 0.1));
    paddlerec_log_loss(x);
    buf_puts(x->out, "}\n");
}

/* Two tasks of two classes each on the numbers of census-income. */
static void put_tasks(struct paddlerec_put *x)
{
    static const char *const tasks[] = {"income", "marital"};
    int64_t tower = paddlerec_int(x, "tower_size", 1);
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++)
        buf_printf(x->out,
                   "    task_towers { tower_name: \"%s\" label_name: \"%s\" num_class: 2 "
                   "mlp { hidden_units: [%jd] } losses { softmax_cross_entropy {} } "
                   "metrics { auc {} } }\n",
                   tasks[i], tasks[i], (intmax_t)tower);
}

static void put_census(struct paddlerec_put *x)
{
    buf_puts(&x->columns, "income=id(income) marital=id(marital)");
    paddlerec_numbers(x, "features", "features", paddlerec_int(x, "feature_size", 1));
    buf_puts(x->out, "model_config {\n");
    paddlerec_group(x, "all", "DEEP", "", 0, "features");
}

static void put_mmoe(struct paddlerec_put *x)
{
    put_census(x);
    paddlerec_must_be(x, "gate_num", 2);
    buf_printf(x->out,
               "  mmoe {\n    expert_mlp { hidden_units: [%jd] } num_expert: %jd\n",
               (intmax_t)paddlerec_int(x, "expert_size", 1),
               (intmax_t)paddlerec_int(x, "expert_num", 1));
    put_tasks(x);
    buf_puts(x->out, "  }\n" XAVIER "}\n");
}

static void put_share_bottom(struct paddlerec_put *x)
{
    put_census(x);
    paddlerec_must_be(x, "tower_nums", 2);
    buf_printf(x->out, "  share_bottom {\n    bottom_mlp { hidden_units: [%jd] }\n",
               (intmax_t)paddlerec_int(x, "bottom_size", 1));
    put_tasks(x);
    buf_puts(x->out, "  }\n" XAVIER "}\n");
}

/* Numbers through one linear unit beside a net of three layers; both are weighed and added.
 * The weights' two biases are one here, which moves twice as fast.
 */
static void put_wide_deep(struct paddlerec_put *x)
{
    int64_t units[3] = {paddlerec_int(x, "hidden1_units", 1),
                        paddlerec_int(x, "hidden2_units", 1),
                        paddlerec_int(x, "hidden3_units", 1)};
    if (!paddlerec_label(x, 1, 2))
        return;
    int64_t in[3] = {x->dense.at[1].width, units[0], units[1]};
    paddlerec_numbers(x, "wide_input", x->dense.at[0].name, x->dense.at[0].width);
    paddlerec_numbers(x, "deep_input", x->dense.at[1].name, x->dense.at[1].width);
    buf_puts(x->out, "model_config {\n");
    paddlerec_group(x, "wide", "DEEP", "", 0, "wide_input");
    paddlerec_group(x, "deep", "DEEP", "", 0, "deep_input");
    buf_printf(x->out,
               "  multi_tower {\n    towers { input: \"wide\" mlp { hidden_units: [1] "
               "activation: \"\" } }\n    towers { input: \"deep\" mlp { hidden_units: "
               "[%jd, %jd, %jd] } }\n  }\n  num_class: 1\n  losses { "
               "binary_cross_entropy {} }\n  metrics { auc {} }\n",
               (intmax_t)units[0], (intmax_t)units[1], (intmax_t)units[2]);
    paddlerec_initial(x, ".*bias", "zeros_");
    paddlerec_initial(x, ".*output_mlp.weight",
                      paddlerec_truncated(x, 1) + strlen("nn.init."));
    paddlerec_initial(x, ".*towers.wide.*",
                      paddlerec_truncated(x, 1 / sqrt((double)x->dense.at[0].width)) +
                          strlen("nn.init."));
    for (int i = 0; i < 3; i++)
        paddlerec_initial(x, arena_printf(x->a, ".*towers.deep.mlp.%d.*", i),
                          paddlerec_truncated(x, 1 / sqrt((double)in[i])) +
                              strlen("nn.init."));
    buf_puts(x->out, "}\n");
    paddlerec_part(x, ".*towers.wide.*weight", 1, 1e-4);
    paddlerec_part(x, ".*output_mlp.bias", 2, 0);
}

/* Of two classes only the difference of their logits counts. It is one logit here, which
 * moves twice as fast as each of the two.
 */
static void put_esmm(struct paddlerec_put *x)
{
    static const char *const fields[] = {
        "101", "109_14", "110_14", "127_14", "150_14", "121", "122", "124",
        "125", "126",    "127",    "128",    "129",    "205", "206", "207",
        "210", "216",    "508",    "509",    "702",    "853", "301"};
    int64_t rows = paddlerec_int(x, "vocab_size", 1);
    int64_t dim = paddlerec_int(x, "embed_size", 1);
    double bound = sqrt(6.0 / (double)(2 * dim));
    buf_puts(&x->columns, "click=id(click) conversion=id(conversion)");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        buf_printf(x->out,
                   "feature_configs { id_feature { feature_name: \"field%zu\" "
                   "expression: \"user:field%zu\" num_buckets: %jd embedding_dim: %jd "
                   "embedding_name: \"embedding\" init_fn: "
                   "\"nn.init.uniform_,a=%.9g,b=%.9g\" } }\n",
                   i, i, (intmax_t)rows, (intmax_t)dim, -bound, bound);
        buf_printf(&x->columns, " field%zu=ids(%s)", i, fields[i]);
    }
    buf_puts(x->out, "model_config {\n");
    paddlerec_group(x, "all", "DEEP", "field", (int64_t)ARRAY_LEN(fields), NULL);
    buf_puts(x->out, "  esmm {\n"
                     "    ctr_tower { tower_name: \"ctr\" label_name: \"click\" " TOWER
                     " }\n    cvr_tower { tower_name: \"cvr\" label_name: "
                     "\"conversion\" " TOWER " }\n  }\n");
    paddlerec_initial(x, ".*linear.weight",
                      arena_printf(x->a, "normal_,mean=0,std=%.9g", sqrt(2.0 / 80)));
    paddlerec_initial(x, ".*linear.bias", "zeros_");
    paddlerec_initial(x, ".*weight", "kaiming_normal_,nonlinearity=linear");
    paddlerec_initial(x, ".*bias", "constant_,val=0.1");
    buf_puts(x->out, "}\n");
    x->table_rate = 5;
    paddlerec_part(x, ".*linear.*", 2, 0);
}

/* A product of vectors beside a net on others. */
static void put_ncf(struct paddlerec_put *x)
{
    static const char *const who[] = {"user", "item"};
    int64_t rows[2] = {paddlerec_int(x, "num_users", 1),
                       paddlerec_int(x, "num_items", 1)};
    int64_t latent = paddlerec_int(x, "latent_dim", 1), first = 0;
    struct str sizes = str_c(paddlerec_sizes(x, "fc_layers")), part;
    str_split(&sizes, ',', &part);
    if (!str_to_i64(part, &first) || first % 2 || !sizes.p)
        paddlerec_fault(x, &x->c->hyper_parameters->base, "fc_layers",
                        "hyper_parameters.fc_layers: the first size is that of both "
                        "vectors together, an even number, and others follow");
    buf_puts(&x->columns, "label=id(label)");
    for (int i = 0; i < 4; i++) {
        buf_printf(x->out,
                   "feature_configs { id_feature { feature_name: \"%s%d\" expression: "
                   "\"user:%s%d\" num_buckets: %jd embedding_dim: %jd init_fn: "
                   "\"nn.init.normal_,mean=0,std=0.01\" } }\n",
                   who[i % 2], i / 2, who[i % 2], i / 2, (intmax_t)rows[i % 2],
                   (intmax_t)(i < 2 ? latent : first / 2));
        buf_printf(&x->columns, " %s%d=id(%s)", who[i % 2], i / 2, who[i % 2]);
    }
    buf_puts(x->out, "model_config {\n");
    paddlerec_group(x, "user_mf", "DEEP", "", 0, "user0");
    paddlerec_group(x, "item_mf", "DEEP", "", 0, "item0");
    paddlerec_group(x, "user_mlp", "DEEP", "", 0, "user1");
    paddlerec_group(x, "item_mlp", "DEEP", "", 0, "item1");
    buf_printf(x->out,
               "  ncf { mlp { hidden_units: [%.*s] } }\n  num_class: 1\n  losses { "
               "log_loss { epsilon: 0.0001 } }\n" XAVIER "}\n",
               (int)sizes.n, sizes.p ? sizes.p : "");
    paddlerec_part(x, ".*mlp.*weight", 1, 1e-4);
}

/* A net on three vectors of numbers that tells one of many classes. */
static void put_youtube_dnn(struct paddlerec_put *x)
{
    const char *sizes = paddlerec_sizes(x, "layers");
    buf_puts(&x->columns, "label=id(label)");
    paddlerec_numbers(x, "watch", "watch", paddlerec_int(x, "watch_vec_size", 1));
    paddlerec_numbers(x, "search", "search", paddlerec_int(x, "search_vec_size", 1));
    paddlerec_numbers(x, "other", "other", paddlerec_int(x, "other_feat_size", 1));
    buf_printf(x->out,
               "model_config {\n  feature_groups { group_name: \"deep\" group_type: DEEP "
               "feature_names: [\"watch\", \"search\", \"other\"] }\n  multi_tower { "
               "towers { input: \"deep\" mlp { hidden_units: [%s] } } }\n  num_class: "
               "%jd\n  losses { softmax_cross_entropy {} }\n" XAVIER "}\n",
               sizes, (intmax_t)paddlerec_int(x, "output_size", 2));
}

#define CENSUS_AUCS            \
    {                          \
        {"income", 4095, 1},   \
        {                      \
            "marital", 4095, 1 \
        }                      \
    }

const struct paddlerec_net paddlerec_net_rank_dnn = {
    .name = "rank/dnn",
    .labels = "\"label\"",
    .read = "sparse_feature_number|sparse_feature_dim|fc_sizes",
    .may = "sparse_inputs_slots|dense_input_dim",
    .idle = "distributed_embedding",
    .adam = true,
    .aucs = ONE_AUC(4096, 20),
    .put = put_dnn,
    .digest = "5792bbf0d223e7a00884a0a8cc6c0d52d755f2b43be35eb69e538d1f40f8ebd2"};

const struct paddlerec_net paddlerec_net_rank_logistic_regression = {
    .name = "rank/logistic_regression",
    .labels = "\"label\"",
    .read = FM_READ,
    .idle = FM_IDLE,
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_logistic_regression,
    .digest = "e6dda1af4675b77eb6037ab8a6732782aa29bd03af9ff6bf7701b1f8fe3758c4"};

const struct paddlerec_net paddlerec_net_rank_fm = {
    .name = "rank/fm",
    .labels = "\"label\"",
    .read = FM_READ,
    .idle = FM_IDLE,
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_fm,
    .digest = "59ae61bbc4aefa346bc755f362589c05f6fd400e66b88f5854f9828c2d95da89"};

const struct paddlerec_net paddlerec_net_rank_deepfm = {
    .name = "rank/deepfm",
    .labels = "\"label\"",
    .read = FM_READ "|fc_sizes|act",
    .idle = FM_IDLE,
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_deepfm,
    .digest = "858838ac71a6927a64081ce064326e7a24f66ae9fa5a4f96b2b0bc72c05bfa00"};

const struct paddlerec_net paddlerec_net_rank_wide_deep = {
    .name = "rank/wide_deep",
    .labels = "\"label\"",
    .read = "hidden1_units|hidden2_units|hidden3_units",
    .idle = "",
    .aucs = ONE_AUC(4095, 1),
    .accuracy = "ACC",
    .put = put_wide_deep,
    .digest = "812c6b29873e4ac729ebbd5434d52239feff1def41c64adc34ff9d733a4e5fa8"};

const struct paddlerec_net paddlerec_net_recall_ncf = {
    .name = "recall/ncf",
    .format = "ncf",
    .labels = "\"label\"",
    .read = "num_users|num_items|latent_dim|fc_layers",
    .idle = "",
    .put = put_ncf,
    .digest = "750c3e23834c58b0aba57bf50d1115c0b8880cd87b97752aaa0a302597b3167b",
    .readers = {"5fa36b31825fd24d1742a801debc28f9b374c301405b3c062cdd3bebeaf3be03",
                "2659d0c3a8662776764c660aefac9d603f56c77e477f9e10b71077ca95aba9fb"}};

const struct paddlerec_net paddlerec_net_recall_youtube_dnn = {
    .name = "recall/youtube_dnn",
    .format = "youtube",
    .labels = "\"label\"",
    .read = "watch_vec_size|search_vec_size|other_feat_size|output_size|layers",
    .idle = "",
    .accuracy = "acc",
    .put = put_youtube_dnn,
    .digest = "e820191595c8a216c3199fb39b3b5db25350236e8ed2855883cce08a0a9cf295",
    .readers = {"3941fab180f0992e4cb9b7ae4439f483f3ade0330287b9af520eb66b75b265d6"}};

const struct paddlerec_net paddlerec_net_multitask_esmm = {
    .name = "multitask/esmm",
    .format = "esmm",
    .labels = "\"click\", \"conversion\"",
    .read = "vocab_size|embed_size",
    .idle = "",
    .aucs = {{"ctr", 4095, 1}, {"ctcvr", 4095, 1}},
    .put = put_esmm,
    .digest = "264c7d47bb337cb6bfd1a5ebe467ae698a9ddf7f746d95cb2e022db4c9978270",
    .readers = {"f4c6c60e8aa5e3191887cd0482b9668d1baecd3145a07e6845182a3eaa09a632"}};

const struct paddlerec_net paddlerec_net_multitask_mmoe = {
    .name = "multitask/mmoe",
    .format = "mmoe",
    .labels = "\"income\", \"marital\"",
    .read = "feature_size|expert_num|gate_num|expert_size|tower_size",
    .idle = "",
    .aucs = CENSUS_AUCS,
    .put = put_mmoe,
    .digest = "f7a7cdf74c77d884fadba23ff903c05ec34037057060ec11fdc1c0b32b605268",
    .readers = {"21bdffd23b7b2db09e20124f81b3cf69fd3542994a2b837408ef3295b171ba29"}};

const struct paddlerec_net paddlerec_net_multitask_share_bottom = {
    .name = "multitask/share-bottom",
    .format = "mmoe",
    .labels = "\"income\", \"marital\"",
    .read = "feature_size|bottom_size|tower_nums|tower_size",
    .idle = "",
    .aucs = CENSUS_AUCS,
    .put = put_share_bottom,
    .digest = "78c7d526a3ca7cc09bd56884f45700c2ec20e7839066e919e04a49b14c959813",
    .readers = {"c244a79f068bf86bbba0f65e13ad5d0fbb59a62d09fab2158289aaa2f012b56b"}};
