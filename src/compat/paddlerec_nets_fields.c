/* SPDX-License-Identifier: Apache-2.0 */
/* Networks on fields: those of PaddleRec's models/rank that read ids with values (feat_idx,
 * feat_value), or slots of a table, and mix the vectors of pairs of them. Each is a model of
 * the same name; docs/paddlerec.md says where that one follows the paper and not PaddleRec.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "compat/paddlerec_private.h"

#define SIZES_MAX ((size_t)1 << 20) /* bytes of a cat_feat_num */

static const char *small(struct paddlerec_put *x, double deviation)
{
    return paddlerec_truncated(x, deviation) + strlen("nn.init.");
}

/* Groups of the fields, and of their weights of first order. */
static void groups(struct paddlerec_put *x, int64_t n, const char *wide)
{
    paddlerec_group(x, "deep", "DEEP", "f", n, NULL);
    if (wide)
        paddlerec_group(x, "wide", "WIDE", wide, n, NULL);
}

static void finish(struct paddlerec_put *x)
{
    paddlerec_log_loss(x);
    buf_puts(x->out, "}\n");
}

static void put_ffm(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, true, false), "f");
    buf_printf(x->out, "  ffm { wide_init_fn: \"%s\" }\n", paddlerec_truncated(x, 0.1));
    finish(x);
}

static void put_fm(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, false), "f");
    buf_printf(x->out, "  fm { wide_init_fn: \"%s\" }\n", paddlerec_truncated(x, 0.1));
    finish(x);
}

/* Normal with the deviation 1 / sqrt(inputs). */
static void by_inputs(struct paddlerec_put *x)
{
    paddlerec_initial(x, ".*weight", "kaiming_normal_,nonlinearity=linear");
    paddlerec_initial(x, ".*bias", "zeros_");
}

static void put_fnn(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, true), "w");
    buf_printf(x->out, "  fnn { wide_init_fn: \"%s\" deep { hidden_units: [%s] } }\n",
               paddlerec_truncated(x, 0.1), paddlerec_sizes(x, "fc_sizes"));
    by_inputs(x);
    finish(x);
}

static void put_deep_crossing(struct paddlerec_put *x)
{
    int64_t n = paddlerec_int(x, "residual_unit_num", 1);
    int64_t width = paddlerec_int(x, "residual_w_dim", 1);
    groups(x, paddlerec_fields(x, false, true), "w");
    buf_printf(x->out, "  deep_crossing { wide_init_fn: \"%s\"",
               paddlerec_truncated(x, 0.1));
    for (int64_t i = 0; i < n && i < 1000; i++)
        buf_printf(x->out, " residual_units: %jd", (intmax_t)width);
    buf_puts(x->out, " }\n");
    by_inputs(x);
    finish(x);
}

static void put_pnn(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, false), "f");
    buf_printf(
        x->out,
        "  pnn { wide_init_fn: \"%s\" product_units: %jd use_inner_product: %s deep "
        "{ hidden_units: [%s] activation: \"%s\" } }\n",
        paddlerec_truncated(x, 0.1), (intmax_t)paddlerec_int(x, "deep_input_size", 1),
        paddlerec_is_true(x, "use_inner_product") ? "true" : "false",
        paddlerec_sizes(x, "fc_sizes"), paddlerec_act(x, "act"));
    paddlerec_initial(x, ".*(deep_mlp|output_mlp).*", small(x, 0.1));
    buf_puts(x->out, XAVIER);
    finish(x);
}

static void put_nfm(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, false), "f");
    paddlerec_must_be_off(x, "use_batchnorm");
    paddlerec_must_be_off(x, "use_dropout");
    buf_printf(
        x->out,
        "  nfm { wide_init_fn: \"%s\" deep { hidden_units: [%s] activation: \"%s\" } "
        "}\n",
        paddlerec_truncated(x, 0.1), paddlerec_sizes(x, "fc_sizes"),
        paddlerec_act(x, "act"));
    paddlerec_initial(x, ".*output_mlp.*", small(x, 0.1));
    paddlerec_initial(x, ".*weight", small(x, 0.1 / sqrt(10)));
    paddlerec_initial(x, ".*bias", small(x, 0.1));
    finish(x);
}

static void put_afm(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, false), "f");
    if (strcmp(paddlerec_act(x, "act"), "nn.ReLU") != 0)
        paddlerec_fault(x, &x->c->hyper_parameters->base, "act",
                        "hyper_parameters.act: the attention of rank/afm has relu");
    buf_printf(x->out, "  afm { wide_init_fn: \"%s\" attention_units: %jd }\n",
               paddlerec_truncated(x, 0.1),
               (intmax_t)paddlerec_int(x, "hidden1_attention_size", 1));
    paddlerec_initial(x, ".*(attention|output_mlp).*", small(x, 0.1));
    buf_puts(x->out, XAVIER);
    finish(x);
}

/* Its three parts have a bias each, which are one here, their sum, and all start alike. */
static void put_xdeepfm(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, false), "f");
    buf_printf(
        x->out,
        "  xdeepfm { share_fields: true wide_init_fn: \"%s\" cin { cin_layer_size: "
        "[%s] } deep { hidden_units: [%s] activation: \"%s\" } }\n",
        paddlerec_truncated(x, 0.1), paddlerec_sizes(x, "layer_sizes_cin"),
        paddlerec_sizes(x, "layer_sizes_dnn"), paddlerec_act(x, "act"));
    paddlerec_initial(x, ".*weight", small(x, 0.1));
    paddlerec_initial(x, ".*bias", "zeros_");
    buf_puts(x->out,
             "  num_class: 1\n  losses { log_loss { epsilon: 1e-7 } }\n  metrics { "
             "auc {} }\n}\n");
    paddlerec_part(x, ".*output_mlp.bias", 3, 0);
}

static void put_autoint(struct paddlerec_put *x)
{
    int64_t heads = paddlerec_int(x, "n_head", 1), width = paddlerec_int(x, "d_key", 1);
    int64_t model = paddlerec_int(x, "d_model", 1);
    if (paddlerec_int(x, "d_value", 1) != width || heads * width != model)
        paddlerec_fault(
            x, &x->c->hyper_parameters->base, "d_model",
            "hyper_parameters: rank/AutoInt has d_key = d_value and d_model = "
            "n_head times d_key; they are %jd, %jd and %jd, with n_head %jd",
            (intmax_t)width, (intmax_t)paddlerec_int(x, "d_value", 1), (intmax_t)model,
            (intmax_t)heads);
    paddlerec_must_be_off(x, "dropout_rate");
    groups(x, paddlerec_fields(x, false, false), NULL);
    buf_printf(x->out, "  autoint { num_layers: %jd num_heads: %jd head_dim: %jd }\n",
               (intmax_t)paddlerec_int(x, "n_interacting_layers", 1), (intmax_t)heads,
               (intmax_t)width);
    paddlerec_initial(x, ".*output_mlp.*", small(x, 0.1));
    buf_puts(x->out, XAVIER);
    finish(x);
}

static void put_fgcnn(struct paddlerec_put *x)
{
    groups(x, paddlerec_fields(x, false, false), NULL);
    buf_printf(
        x->out,
        "  fgcnn { conv_filters: [%s] conv_height: 9 pooling_height: %jd new_maps: "
        "%jd use_bn: %s deep { hidden_units: [%s] activation: \"%s\" } }\n",
        paddlerec_sizes(x, "filters"), (intmax_t)paddlerec_same(x, "pooling_size"),
        (intmax_t)paddlerec_same(x, "new_filters"),
        paddlerec_is_true(x, "use_batchnorm") ? "true" : "false",
        paddlerec_sizes(x, "fc_sizes"), paddlerec_act(x, "act"));
    paddlerec_initial(x, ".*(deep_mlp|output_mlp).*weight",
                      "kaiming_normal_,nonlinearity=linear");
    buf_puts(x->out, XAVIER);
    finish(x);
}

/* Xavier's bound of a vector: both sides count as wide as it is. */
static const char *vector_init(struct paddlerec_put *x)
{
    double bound = sqrt(3.0 / (double)paddlerec_int(x, "sparse_feature_dim", 1));
    return arena_printf(x->a, "nn.init.uniform_,a=%.9g,b=%.9g", -bound, bound);
}

static void mean_log_loss(struct paddlerec_put *x)
{
    buf_puts(x->out,
             "  num_class: 1\n  losses { log_loss { epsilon: 0.0001 } }\n  metrics "
             "{ auc {} }\n}\n");
}

static void put_fibinet(struct paddlerec_put *x)
{
    if (!paddlerec_label(x, 3, 1))
        return;
    const char *type = paddlerec_text(x, "bilinear_type");
    if (strcmp(type, "all") != 0)
        paddlerec_fault(x, &x->c->hyper_parameters->base, "bilinear_type",
                        "hyper_parameters.bilinear_type: rank/fibinet knows 'all' alone");
    paddlerec_must_be(x, "sparse_inputs_slots", (int64_t)x->sparse.n);
    paddlerec_must_be(x, "dense_input_dim", paddlerec_dense_width(x));
    paddlerec_slots(x, "dis_emb", vector_init(x));
    paddlerec_numbers(x, "dense", x->dense.at[0].name, paddlerec_dense_width(x));
    buf_puts(x->out, "model_config {\n");
    paddlerec_group(x, "deep", "DEEP", "slot", (int64_t)x->sparse.n - 1, NULL);
    paddlerec_group(x, "dense", "DEEP", "", 0, "dense");
    double drop = paddlerec_num(x, "dropout_rate", 0);
    buf_printf(x->out,
               "  fibinet { reduction_ratio: %jd bilinear_type: \"interaction\" deep { "
               "hidden_units: [400, 400, 400] dropout_ratio: [%.9g, %.9g, %.9g] } }\n",
               (intmax_t)paddlerec_int(x, "reduction_ratio", 1), drop, drop, drop);
    paddlerec_initial(x, ".*weight", "xavier_normal_");
    paddlerec_initial(x, ".*bias", "zeros_");
    mean_log_loss(x);
    x->table_rate = 5;
}

/* Slots 1 to 12 are the user's, 3 the item's, all others the context's. */
static void put_flen(struct paddlerec_put *x)
{
    static const char *const names[] = {"user", "item", "context"};
    size_t ends[] = {12, 15, x->sparse.n ? x->sparse.n - 1 : 0}, from = 0;
    if (!paddlerec_label(x, 17, 0))
        return;
    paddlerec_slots(x, "item_emb", vector_init(x));
    buf_puts(x->out, "model_config {\n");
    for (size_t g = 0; g < ARRAY_LEN(names); from = ends[g++]) {
        buf_printf(x->out, "  feature_groups { group_name: \"%s\" group_type: DEEP",
                   names[g]);
        for (size_t i = from; i < ends[g]; i++)
            buf_printf(x->out, " feature_names: \"slot%zu\"", i);
        buf_puts(x->out, " }\n");
    }
    double drop = paddlerec_num(x, "dropout_rate", 0);
    buf_printf(x->out,
               "  flen { deep { hidden_units: [64, 32] dropout_ratio: [%.9g, %.9g] } }\n",
               drop, drop);
    paddlerec_initial(x, ".*(between|within).*", "ones_");
    paddlerec_initial(x, ".*weight", "xavier_normal_");
    paddlerec_initial(x, ".*bias", "zeros_");
    mean_log_loss(x);
    x->table_rate = 5;
}

/* The number of values of a slot, as a file says: "C1 139". */
static int64_t size_of_slot(struct paddlerec_put *x, struct str rest, const char *slot)
{
    struct str line;
    while (str_split(&rest, '\n', &line)) {
        struct str name, number = str_trim(line);
        int64_t n;
        if (!str_split(&number, ' ', &name) || !str_is(name, slot))
            continue;
        if (str_to_i64(str_trim(number), &n) && n > 0 && n < INT32_MAX)
            return n;
        break;
    }
    paddlerec_fault(x, &x->c->hyper_parameters->base, "cat_feat_num",
                    "hyper_parameters.cat_feat_num: no line '%s SIZE'", slot);
    return 1;
}

/* Each slot has a table of its own; how wide they are together. */
static int64_t dcn_slots(struct paddlerec_put *x, struct str sizes)
{
    int64_t width = 0;
    for (size_t i = 1; i < x->sparse.n; i++) {
        int64_t n = size_of_slot(x, sizes, x->sparse.at[i].name);
        int64_t dim = 6 * (int64_t)pow((double)n, 0.25);
        double bound = sqrt(6.0 / (double)(n + 1 + dim));
        buf_printf(x->out,
                   "feature_configs { id_feature { feature_name: \"slot%zu\" expression: "
                   "\"user:slot%zu\" num_buckets: %jd embedding_dim: %jd init_fn: "
                   "\"nn.init.uniform_,a=%.9g,b=%.9g\" } }\n",
                   i - 1, i - 1, (intmax_t)n + 1, (intmax_t)dim, -bound, bound);
        buf_printf(&x->columns, " slot%zu=ids(%s)", i - 1, x->sparse.at[i].name);
        width += dim;
    }
    return width;
}

static void put_dcn(struct paddlerec_put *x)
{
    const char *path = paddlerec_text(x, "cat_feat_num");
    struct err err = {0};
    char *sizes = NULL;
    size_t n = 0;
    int64_t width = paddlerec_dense_width(x);
    if (!paddlerec_label(x, 2, x->dense.n ? x->dense.n : 1))
        return;
    if (fs_read(path, SIZES_MAX, &sizes, &n, &err))
        paddlerec_fault(x, &x->c->hyper_parameters->base, "cat_feat_num", "%s", err.msg);
    else
        width += dcn_slots(x, str_of(sizes, n));
    mem_free(sizes);
    for (size_t i = 0; i < x->dense.n; i++)
        paddlerec_numbers(x, arena_printf(x->a, "dense%zu", i), x->dense.at[i].name,
                          x->dense.at[i].width);
    buf_puts(x->out, "model_config {\n  feature_groups { group_name: \"all\" group_type: "
                     "DEEP");
    for (size_t i = 0; i < x->dense.n; i++)
        buf_printf(x->out, " feature_names: \"dense%zu\"", i);
    for (size_t i = 1; i < x->sparse.n; i++)
        buf_printf(x->out, " feature_names: \"slot%zu\"", i - 1);
    buf_printf(
        x->out,
        " }\n  dcn_v1 { cross { cross_num: %jd } deep { hidden_units: [%s] use_bn: "
        "%s } }\n",
        (intmax_t)paddlerec_int(x, "cross_num", 1),
        paddlerec_sizes(x, "dnn_hidden_units"),
        paddlerec_is_true(x, "dnn_use_bn") ? "true" : "false");
    double bound = sqrt(3.0 / (double)(width ? width : 1)); /* Xavier's, of a vector */
    paddlerec_initial(x, ".*cross.*",
                      arena_printf(x->a, "uniform_,a=%.9g,b=%.9g", -bound, bound));
    buf_puts(x->out, XAVIER);
    mean_log_loss(x);
    paddlerec_part(x, ".*cross.w.*", 1, 2 * paddlerec_num(x, "l2_reg_cross", 0));
}

#define ON_FIELDS \
    .labels = "\"label\"", .idle = FM_IDLE, .sum = true, .aucs = ONE_AUC(4095, 0)

const struct paddlerec_net paddlerec_net_rank_afm = {
    .name = "rank/afm",
    ON_FIELDS,
    .read = FM_READ "|hidden1_attention_size|act",
    .put = put_afm,
    .digest = "9baac9212484889bb7821bb7923eb96ca2cd630b744f96aec5104251f0ad4c11"};

const struct paddlerec_net paddlerec_net_rank_autoint = {
    .name = "rank/AutoInt",
    ON_FIELDS,
    .read = FM_READ "|d_model|d_key|d_value|n_head|dropout_rate|n_interacting_layers",
    .put = put_autoint,
    .digest = "56bb9e42ddec6d3e8657961f12b760678f446962402947292b4101e13c62ebb4"};

const struct paddlerec_net paddlerec_net_rank_dcn = {
    .name = "rank/dcn",
    .labels = "\"label\"",
    .read = "cross_num|dnn_hidden_units|l2_reg_cross|dnn_use_bn|cat_feat_num",
    .idle = FM_IDLE,
    .aucs = ONE_AUC(4095, 0),
    .put = put_dcn,
    .digest = "178484813b7faacc83738ffa7bb25a0356ef02cbf773077a001ee863127d7666"};

const struct paddlerec_net paddlerec_net_rank_deep_crossing = {
    .name = "rank/deep_crossing",
    ON_FIELDS,
    .read = FM_READ "|residual_unit_num|residual_w_dim",
    .put = put_deep_crossing,
    .digest = "a916d66d6eb939ea5b492e35fe3e166dbf82b4a31e05afe5f888cf6b5ac2ded2"};

const struct paddlerec_net paddlerec_net_rank_ffm = {
    .name = "rank/ffm",
    ON_FIELDS,
    .read = FM_READ,
    .put = put_ffm,
    .digest = "f2e142c897843528a2565f6e3f26cd79eef7eaba474f562c054335108e468ab9"};

const struct paddlerec_net paddlerec_net_rank_fgcnn = {
    .name = "rank/fgcnn",
    ON_FIELDS,
    .read = FM_READ "|use_batchnorm|filters|new_filters|pooling_size|fc_sizes|act",
    .put = put_fgcnn,
    .digest = "f261fffdb3d6c547608afaf7ef60346e7fdd4aa52ba9f2933014c79a0f234976"};

const struct paddlerec_net paddlerec_net_rank_fibinet = {
    .name = "rank/fibinet",
    .labels = "\"label\"",
    .read = "sparse_feature_number|sparse_feature_dim|bilinear_type|reduction_ratio|"
            "dropout_rate",
    .may = "sparse_inputs_slots|dense_input_dim",
    .idle = "",
    .aucs = ONE_AUC(4096, 20),
    .put = put_fibinet,
    .digest = "6309244582bf99e492fdd58fd4cf5e20ec4d08b3252c12c3c9fc82ca9d2b53ce"};

const struct paddlerec_net paddlerec_net_rank_flen = {
    .name = "rank/flen",
    .labels = "\"label\"",
    .read = "sparse_feature_number|sparse_feature_dim|dropout_rate",
    .idle = "sparse_inputs_slots|dense_input_dim",
    .aucs = ONE_AUC(4096, 20),
    .put = put_flen,
    .digest = "a3d18e3964840ac002ea474afa71006c16b9d728a7624db5b2968fdb718743a5"};

const struct paddlerec_net paddlerec_net_rank_fnn = {
    .name = "rank/fnn",
    ON_FIELDS,
    .read = FM_READ "|fc_sizes",
    .put = put_fnn,
    .digest = "20a2128f0afbdcdc329b13c3aa09bf52400c62709811342ddd158bb94c1871e4"};

/* The first stage of rank/fnn. */
const struct paddlerec_net paddlerec_net_rank_fnn_fm_model = {
    .name = "rank/fnn/fm_model",
    .labels = "\"label\"",
    .read = FM_READ,
    .idle = FM_IDLE "|fc_sizes",
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_fm,
    .digest = "72f9922ae6840339e2ba47c86e75049139f67fc10e2b73b2fa0731194636e3a8"};

const struct paddlerec_net paddlerec_net_rank_nfm = {
    .name = "rank/nfm",
    .labels = "\"label\"",
    .read = FM_READ "|use_batchnorm|use_dropout|fc_sizes|act",
    .idle = FM_IDLE "|dropout_prob|loss_type",
    .sum = true,
    .aucs = ONE_AUC(4095, 0),
    .put = put_nfm,
    .digest = "b83bea1501d31c532f3530a6ec464384372c6998f94270336d5261066f98e3d4"};

const struct paddlerec_net paddlerec_net_rank_pnn = {
    .name = "rank/pnn",
    ON_FIELDS,
    .read = FM_READ "|deep_input_size|use_inner_product|fc_sizes|act",
    .put = put_pnn,
    .digest = "6a2281a6c47221f5c3276b404f543fce664954041b06e055622831de4b50d7bc"};

const struct paddlerec_net paddlerec_net_rank_xdeepfm = {
    .name = "rank/xdeepfm",
    .labels = "\"label\"",
    .read = FM_READ "|layer_sizes_dnn|layer_sizes_cin|act",
    .idle = FM_IDLE "|fc_sizes",
    .aucs = ONE_AUC(4095, 0),
    .put = put_xdeepfm,
    .digest = "52ca9ed66bd730737154043a4d284ef1e33bdaf1c213f7c2098914c9ae951343"};
