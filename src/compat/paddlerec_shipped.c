/* SPDX-License-Identifier: Apache-2.0 */
/* The configurations that PaddleRec has for its own models, by their dotted names, so that
 * `-m paddlerec.models.rank.dnn` needs no source tree: hyper-parameters, datasets, a runner
 * that trains and one that evaluates, with the names and values that users know. What only
 * PaddlePaddle reads (`strategy`, graphics cards, names of variables) is left out. Data are
 * not built in: `{workspace}` is where the source tree would have them.
 */
#include <string.h>

#include "compat/paddlerec_private.h"

/* Each pair: of training, of evaluation. */
struct shipped {
    const char *name;      /* of the network, and of the folder */
    const char *model;     /* NULL: model.py */
    const char *optimizer; /* class and rate */
    const char *hyper;     /* lines of YAML */
    const char *sparse, *dense;
    const char *infer_sparse; /* NULL: the same */
    const char *reader[2];    /* of lines that are no slots */
    const char *type;         /* NULL: DataLoader */
    const char *sets[2], *data[2];
    const char *runners[2], *phases[2];
    const char *saves, *loads;
    int batch[2], epochs, every, shows, threads;
    bool alone; /* `mode` has the training alone */
};

#define CRITEO_SLOTS \
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26"
#define CRITEO "{workspace}/../dataset/Criteo_data/sample_data/train"
#define SAMPLE "{workspace}/data/sample_data/train"
#define ROWS "sparse_feature_number: 1086460\n"
/* Of those on 39 fields with values. */
#define FIELDS .sparse = "label feat_idx", .dense = "feat_value:39"
#define FIELD_NAMES                                                                   \
    .sets = {"train_sample", "infer_sample"},                                         \
    .runners = {"train_runner", "infer_runner"}, .phases = {"phase1", "infer_phase"}, \
    .saves = "increment", .every = 1, .batch = {5, 5}, .shows = 1
/* Of those of them that train without an evaluation. */
#define ALONE .type = "QueueDataset", .loads = "increment/0", .threads = 1, .alone = true
#define COMMON FIELDS, FIELD_NAMES, ALONE, .data = {CRITEO, CRITEO}
#define OWN_SAMPLE .data = {SAMPLE, SAMPLE}
#define OWN_FOLDERS .data = {"{workspace}/data/train", "{workspace}/data/test"}
#define USUAL_NAMES                             \
    .sets = {"dataset_train", "dataset_infer"}, \
    .runners = {"train_runner", "infer_runner"}, .phases = {"train", "infer"}
#define SENSE_OF_HISTORY                                       \
    "item_emb_size: 64\ncat_emb_size: 64\nitem_count: 63001\n" \
    "cat_count: 801\nact: sigmoid\n"
#define FILMS                                                                       \
    .optimizer = "Adam, 0.001",                                                     \
    .hyper = "sparse_feature_number: 60000000\nsparse_feature_dim: 9\n"             \
             "fc_sizes: [512, 256, 128, 32]\n",                                     \
    .sparse = "logid time userid gender age occupation movieid title genres label", \
    .dense = "", .sets = {"dataset_train", "dataset_infer"},                        \
    .data = {"{workspace}/../data/train", "{workspace}/../data/test"},              \
    .runners = {"runner_train", "runner_infer"}, .phases = {"phase1", "phase2"},    \
    .batch = {128, 128}, .epochs = 10, .every = 1, .shows = 20, .threads = 4,       \
    .alone = true
#define HISTORY(to)                                                                      \
    .optimizer = "SGD, 0.0001", .sets = {"sample_1", "infer_sample"},                    \
    .data = {"{workspace}/data/train_data", "{workspace}/data/train_data"}, .epochs = 1, \
    .runners = {"train_runner", "infer_runner"}, .phases = {"phase1", "phase_infer"},    \
    .saves = to, .loads = to "/0", .every = 1, .shows = 1, .threads = 1, .alone = true

static const struct shipped all[] = {
    {.name = "contentunderstanding/tagspace",
     .optimizer = "Adagrad, 0.001",
     .hyper = "vocab_text_size: 75378\nvocab_tag_size: 4\nemb_dim: 10\nhid_dim: 1000\n"
              "win_size: 5\nmargin: 0.1\nneg_size: 3\n",
     .reader = {"reader.py", "reader.py"},
     .sets = {"sample_1", "inferdata"},
     .data = {"{workspace}/data/train_data", "{workspace}/data/test_data"},
     .runners = {"runner1", "infer_runner"},
     .phases = {"phase1", "phase_infer"},
     .saves = "increment",
     .loads = "increment/9",
     .batch = {10, 10},
     .epochs = 10,
     .every = 1,
     .shows = 20,
     .threads = 1},
    {.name = "contentunderstanding/textcnn",
     .optimizer = "Adagrad, 0.001",
     .hyper = "dict_dim: 33257\nmax_len: 100\ncnn_dim: 128\ncnn_filter_size1: 1\n"
              "cnn_filter_size2: 2\ncnn_filter_size3: 3\nemb_dim: 128\nhid_dim: 96\n"
              "class_dim: 2\n",
     .reader = {"reader.py", "reader.py"},
     OWN_FOLDERS,
     .sets = {"data1", "dataset_infer"},
     .runners = {"train_runner", "infer_runner"},
     .phases = {"phase_train", "phase_infer"},
     .saves = "increment",
     .loads = "increment/14",
     .batch = {10, 2},
     .epochs = 16,
     .every = 1,
     .shows = 10,
     .threads = 1},
    {.name = "contentunderstanding/textcnn_pretrain",
     .optimizer = "adam, 0.001",
     .hyper = "",
     .reader = {"reader.py", "reader.py"},
     .data = {"{workspace}/senta_data/train", "{workspace}/senta_data/test"},
     .sets = {"dataset_train", "dataset_infer"},
     .runners = {"train_runner", "infer_runner"},
     .phases = {"phase_train", "phase_infer"},
     .saves = "increment",
     .loads = "increment/3",
     .batch = {128, 256},
     .epochs = 6,
     .every = 1,
     .shows = 10,
     .threads = 1},
    {.name = "demo/movie_recommand/rank",
     FILMS,
     .saves = "increment_rank",
     .loads = "increment_rank"},
    {.name = "demo/movie_recommand/recall",
     FILMS,
     .saves = "increment_recall",
     .loads = "increment_recall"},
    {.name = "match/dssm",
     .optimizer = "adam, 0.001",
     .hyper = "trigram_d: 2900\nneg_num: 1\nslice_end: 8\nfc_sizes: [300, 300, 128]\n"
              "fc_acts: [tanh, tanh, tanh]\n",
     .reader = {"synthetic_reader.py", "synthetic_evaluate_reader.py"},
     OWN_FOLDERS,
     .sets = {"dataset_train", "dataset_infer"},
     .runners = {"train_runner", "infer_runner"},
     .phases = {"phase1", "phase2"},
     .saves = "increment",
     .loads = "increment/0",
     .batch = {8, 1},
     .epochs = 1,
     .every = 1,
     .shows = 10,
     .threads = 1},
    {.name = "match/multiview-simnet",
     .optimizer = "Adam, 0.001",
     .hyper = "query_encoder: gru\ntitle_encoder: gru\nquery_encode_dim: 128\n"
              "title_encode_dim: 128\nsparse_feature_dim: 6327\nembedding_dim: 128\n"
              "hidden_size: 128\nmargin: 0.1\n",
     .sparse = "0 1 2",
     .infer_sparse = "0 1",
     .dense = "",
     OWN_FOLDERS,
     .sets = {"dataset_train", "dataset_infer"},
     .runners = {"train_runner", "infer_runner"},
     .phases = {"phase1", "phase2"},
     .saves = "increment",
     .loads = "increment/1",
     .batch = {128, 1},
     .epochs = 2,
     .every = 1,
     .shows = 1,
     .threads = 1},
    {.name = "multitask/esmm",
     .optimizer = "adam, 0.001",
     .hyper = "vocab_size: 737946\nembed_size: 12\n",
     .reader = {"esmm_reader.py", "esmm_reader.py"},
     .type = "QueueDataset",
     OWN_FOLDERS,
     USUAL_NAMES,
     .saves = "increment_esmm",
     .loads = "increment_esmm/1",
     .batch = {5, 5},
     .epochs = 3,
     .every = 1,
     .shows = 10,
     .threads = 1},
    {.name = "multitask/mmoe",
     .optimizer = "adam, 0.001",
     .hyper = "feature_size: 499\nexpert_num: 8\ngate_num: 2\nexpert_size: 16\n"
              "tower_size: 8\n",
     .reader = {"census_reader.py", "census_reader.py"},
     .data = {"{workspace}/data/train", "{workspace}/data/train"},
     USUAL_NAMES,
     .saves = "increment",
     .loads = "increment/1",
     .batch = {5, 5},
     .epochs = 3,
     .every = 1,
     .shows = 1,
     .threads = 1},
    {.name = "multitask/share-bottom",
     .optimizer = "adam, 0.001",
     .hyper = "feature_size: 499\nbottom_size: 117\ntower_nums: 2\ntower_size: 8\n",
     .reader = {"census_reader.py", "census_reader.py"},
     .type = "QueueDataset",
     .data = {"{workspace}/data/train", "{workspace}/data/train"},
     USUAL_NAMES,
     .saves = "increment",
     .loads = "increment/0",
     .batch = {1, 1},
     .epochs = 3,
     .every = 2,
     .shows = 5,
     .threads = 1,
     .alone = true},
    {.name = "rank/AutoInt",
     COMMON,
     .optimizer = "SGD, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 96\nnum_field: 39\nd_model: 96\nd_key: 16\n"
                   "d_value: 16\nn_head: 6\ndropout_rate: 0\nn_interacting_layers: 1\n",
     .epochs = 2},
    {.name = "rank/BST",
     HISTORY("increment_BST"),
     .sparse = "label history cate position target target_cate target_position",
     .dense = "",
     .hyper = "item_emb_size: 96\ncat_emb_size: 96\nposition_emb_size: 96\n"
              "item_count: 63001\ncat_count: 801\nposition_count: 5001\n"
              "n_encoder_layers: 1\nd_model: 288\nd_key: 48\nd_value: 48\nn_head: 6\n"
              "dropout_rate: 0\nprepostprocess_dropout: 0\nd_inner_hid: 512\n"
              "relu_dropout: 0\nact: relu\nfc_sizes: [1024, 512, 256]\n",
     .batch = {5, 5}},
    {.name = "rank/afm",
     COMMON,
     .optimizer = "Adam, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 16\nnum_field: 39\nact: relu\n"
                   "hidden1_attention_size: 16\n",
     .epochs = 2},
    {.name = "rank/dcn",
     FIELD_NAMES,
     ALONE,
     .data = {SAMPLE, "{workspace}/data/sample_data/infer"},
     .sparse = "label C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C17 C18 C19 "
               "C20 C21 C22 C23 C24 C25 C26",
     .dense = "I1:1 I2:1 I3:1 I4:1 I5:1 I6:1 I7:1 I8:1 I9:1 I10:1 I11:1 I12:1 I13:1",
     .optimizer = "Adam, 0.0001",
     .hyper = "cross_num: 2\ndnn_hidden_units: [128, 128]\nl2_reg_cross: 0.00005\n"
              "dnn_use_bn: False\n"
              "cat_feat_num: \"{workspace}/data/sample_data/cat_feature_num.txt\"\n",
     .epochs = 1},
    {.name = "rank/deep_crossing",
     COMMON,
     .optimizer = "SGD, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 8\nnum_field: 39\nresidual_unit_num: 4\n"
                   "residual_w_dim: 128\n",
     .epochs = 1},
    {.name = "rank/deepfm",
     FIELDS,
     FIELD_NAMES,
     OWN_SAMPLE,
     .optimizer = "Adam, 0.001",
     .hyper = ROWS "sparse_feature_dim: 9\nnum_field: 39\nfc_sizes: [400, 400, 400]\n"
                   "act: relu\n",
     .loads = "increment/1",
     .epochs = 2,
     .threads = 10},
    {.name = "rank/dien",
     HISTORY("increment"),
     .reader = {"reader.py", "infer_reader.py"},
     .hyper = SENSE_OF_HISTORY,
     .batch = {32, 32}},
    {.name = "rank/din",
     HISTORY("increment"),
     .reader = {"reader.py", "infer_reader.py"},
     .hyper = SENSE_OF_HISTORY,
     .batch = {5, 5}},
    {.name = "rank/dnn",
     .optimizer = "Adam, 0.001",
     .hyper = "sparse_inputs_slots: 27\nsparse_feature_number: 1000001\n"
              "sparse_feature_dim: 9\ndense_input_dim: 13\n"
              "fc_sizes: [512, 256, 128, 32]\n",
     .sparse = "click " CRITEO_SLOTS,
     .dense = "dense_feature:13", /* as the data spell it */
     .sets = {"dataloader_train", "dataset_infer"},
     OWN_SAMPLE,
     .runners = {"single_cpu_train", "single_cpu_infer"},
     .phases = {"phase1", "phase2"},
     .saves = "increment_dnn",
     .loads = "increment_dnn",
     .batch = {2, 2},
     .epochs = 4,
     .every = 2,
     .shows = 10,
     .threads = 1},
    {.name = "rank/ffm",
     COMMON,
     .optimizer = "Adam, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 9\nnum_field: 39\n",
     .epochs = 1},
    {.name = "rank/fgcnn",
     COMMON,
     .optimizer = "Adam, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 9\nuse_batchnorm: False\n"
                   "filters: [38, 40, 42, 44]\nnew_filters: [3, 3, 3, 3]\n"
                   "pooling_size: [2, 2, 2, 2]\nfc_sizes: [4096, 2048]\n"
                   "num_field: 39\nact: relu\n",
     .epochs = 1},
    {.name = "rank/fibinet",
     .optimizer = "Adam, 0.001",
     .hyper = "sparse_inputs_slots: 27\nsparse_feature_number: 1000001\n"
              "sparse_feature_dim: 9\ndense_input_dim: 13\nbilinear_type: all\n"
              "reduction_ratio: 3\ndropout_rate: 0.5\n",
     .sparse = "click " CRITEO_SLOTS,
     .dense = "dense_feature:13",
     .sets = {"dataloader_train", "dataset_infer"},
     OWN_SAMPLE,
     .runners = {"single_cpu_train", "single_cpu_infer"},
     .phases = {"phase1", "phase2"},
     .saves = "increment_model_fibinet",
     .loads = "increment_model_fibinet",
     .batch = {2, 2},
     .epochs = 4,
     .every = 2,
     .shows = 100,
     .threads = 1},
    {.name = "rank/flen",
     .optimizer = "Adam, 0.001",
     .hyper = "sparse_feature_number: 100\nsparse_feature_dim: 8\ndropout_rate: 0.5\n",
     .sparse = "click user_0 user_1 user_2 user_3 user_4 user_5 user_6 user_7 user_8 "
               "user_9 user_10 user_11 item_0 item_1 item_2 contex_0 contex_1 contex_2 "
               "contex_3 contex_4 contex_5",
     .dense = "",
     .type = "QueueDataset",
     .sets = {"dataloader_train", "dataset_infer"},
     OWN_SAMPLE,
     .runners = {"single_cpu_train", "single_cpu_infer"},
     .phases = {"phase1", "phase2"},
     .saves = "increment_model_flen",
     .loads = "increment_model_flen",
     .batch = {2, 2},
     .epochs = 1,
     .every = 1,
     .shows = 2,
     .threads = 1},
    {.name = "rank/fm",
     FIELDS,
     FIELD_NAMES,
     OWN_SAMPLE,
     .optimizer = "Adam, 0.001",
     .hyper = ROWS "sparse_feature_dim: 9\nnum_field: 39\n",
     .loads = "increment/0",
     .epochs = 2,
     .threads = 1},
    {.name = "rank/fnn",
     COMMON,
     .optimizer = "SGD, 0.0001",
     .hyper =
         ROWS "sparse_feature_dim: 9\nnum_field: 39\nfc_sizes: [512, 256, 128, 32]\n",
     .epochs = 1},
    {.name = "rank/logistic_regression",
     FIELDS,
     FIELD_NAMES,
     OWN_SAMPLE,
     .optimizer = "Adam, 0.001",
     .hyper = ROWS "sparse_feature_dim: 9\nnum_field: 39\n",
     .loads = "increment/1",
     .epochs = 2,
     .threads = 1},
    {.name = "rank/nfm",
     FIELDS,
     FIELD_NAMES,
     ALONE,
     OWN_SAMPLE,
     .optimizer = "Adam, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 9\nuse_batchnorm: False\nuse_dropout: False\n"
                   "fc_sizes: [400, 400, 400]\nnum_field: 39\nact: relu\n",
     .epochs = 1},
    {.name = "rank/pnn",
     COMMON,
     .optimizer = "Adam, 0.0001",
     .hyper = ROWS "sparse_feature_dim: 9\ndeep_input_size: 50\n"
                   "use_inner_product: True\nnum_field: 39\nfc_sizes: [32, 32]\n"
                   "act: relu\n",
     .epochs = 1},
    {.name = "rank/wide_deep",
     .optimizer = "adam, 0.001",
     .hyper = "hidden1_units: 75\nhidden2_units: 50\nhidden3_units: 25\n",
     .sparse = "label",
     .dense = "wide_input:8 deep_input:58",
     .sets = {"sample_1", "infer_sample"},
     OWN_SAMPLE,
     .runners = {"train_runner", "infer_runner"},
     .phases = {"phase1", "infer_phase"},
     .saves = "increment",
     .loads = "increment/0",
     .batch = {5, 5},
     .epochs = 1,
     .every = 1,
     .shows = 20,
     .threads = 1},
    {.name = "rank/xdeepfm",
     FIELDS,
     FIELD_NAMES,
     ALONE,
     OWN_SAMPLE,
     .optimizer = "SGD, 0.0001",
     .hyper = ROWS "layer_sizes_dnn: [10, 10, 10]\nlayer_sizes_cin: [10, 10]\n"
                   "sparse_feature_dim: 9\nnum_field: 39\nact: relu\n",
     .epochs = 1},
    {.name = "recall/gru4rec",
     .optimizer = "adagrad, 0.01",
     .hyper = "recall_k: 20\nvocab_size: 37483\nhid_size: 100\nemb_lr_x: 10.0\n"
              "gru_lr_x: 1.0\nfc_lr_x: 1.0\ninit_low_bound: -0.04\n"
              "init_high_bound: 0.04\n",
     .reader = {"rsc15_reader.py", "rsc15_reader.py"},
     OWN_FOLDERS,
     .sets = {"dataset_train", "dataset_infer"},
     .runners = {"cpu_train_runner", "cpu_infer_runner"},
     .phases = {"train", "infer"},
     .saves = "increment_gru4rec",
     .loads = "increment_gru4rec",
     .batch = {500, 500},
     .epochs = 10,
     .every = 1,
     .shows = 10,
     .threads = 1},
    {.name = "recall/look-alike_recall",
     .optimizer = "SGD, 0.0001",
     .hyper = "user_emb_size: 96\nuser_count: 100000\nseeds_num: 20\n"
              "transformed_size: 96\n",
     .sparse = "label user_seeds target_user",
     .dense = "",
     .sets = {"sample_1", "infer_sample"},
     .data = {"{workspace}/data/train_data", "{workspace}/data/train_data"},
     .runners = {"train_runner", "infer_runner"},
     .phases = {"phase1", "infer_phase"},
     .saves = "increment",
     .loads = "increment/0",
     .batch = {32, 32},
     .epochs = 1,
     .every = 1,
     .shows = 1,
     .threads = 1,
     .alone = true},
    {.name = "recall/ncf",
     .optimizer = "adam, 0.001",
     .hyper = "num_users: 6040\nnum_items: 3706\nlatent_dim: 8\n"
              "fc_layers: [64, 32, 16, 8]\n",
     .reader = {"movielens_reader.py", "movielens_infer_reader.py"},
     .type = "QueueDataset",
     OWN_FOLDERS,
     USUAL_NAMES,
     .saves = "increment",
     .loads = "increment/0",
     .batch = {5, 5},
     .epochs = 3,
     .every = 2,
     .shows = 10,
     .threads = 1,
     .alone = true},
    {.name = "recall/ssr",
     .optimizer = "adagrad, 0.01",
     .hyper = "vocab_size: 1000\nemb_dim: 128\nhidden_size: 100\n",
     .reader = {"ssr_reader.py", "ssr_infer_reader.py"},
     .type = "QueueDataset",
     OWN_FOLDERS,
     USUAL_NAMES,
     .saves = "increment",
     .loads = "increment/0",
     .batch = {5, 5},
     .epochs = 3,
     .every = 2,
     .shows = 10,
     .threads = 1,
     .alone = true},
    {.name = "recall/youtube_dnn",
     .optimizer = "SGD, 0.01",
     .hyper = "watch_vec_size: 64\nsearch_vec_size: 64\nother_feat_size: 64\n"
              "output_size: 100\nlayers: [128, 64, 32]\n",
     .reader = {"reader.py", "reader.py"},
     OWN_FOLDERS,
     .sets = {"dataset_train", "dataset_infer"},
     .runners = {"cpu_single_train", "cpu_single_infer"},
     .phases = {"train", "infer"},
     .saves = "increment_youtubednn",
     .loads = "increment_youtubednn",
     .batch = {32, 32},
     .epochs = 20,
     .every = 1,
     .shows = 1,
     .threads = 1,
     .alone = true},
};

static const struct shipped *find(const char *name)
{
    const char *folder =
        str_starts(name, PADDLEREC_MODELS) ? name + strlen(PADDLEREC_MODELS) : NULL;
    for (size_t i = 0; folder && i < ARRAY_LEN(all); i++) {
        const char *want = all[i].name;
        size_t k = 0;
        while (want[k] && (want[k] == folder[k] || (want[k] == '/' && folder[k] == '.')))
            k++;
        if (!want[k] && !folder[k])
            return &all[i];
    }
    return NULL;
}

static void put_sets(const struct shipped *s, struct buf *out)
{
    buf_puts(out, "dataset:\n");
    for (int i = 0; i < 2; i++) {
        buf_printf(out, "- name: %s\n  type: %s\n  batch_size: %d\n  data_path: \"%s\"\n",
                   s->sets[i], s->type ? s->type : "DataLoader", s->batch[i], s->data[i]);
        if (s->reader[i])
            buf_printf(out, "  data_converter: \"{workspace}/%s\"\n", s->reader[i]);
        else
            buf_printf(out, "  sparse_slots: \"%s\"\n  dense_slots: \"%s\"\n",
                       i && s->infer_sparse ? s->infer_sparse : s->sparse, s->dense);
    }
}

static void put_hyper(const struct shipped *s, struct buf *out)
{
    struct str rest = str_c(s->optimizer), class, lines = str_c(s->hyper), line;
    str_split(&rest, ',', &class);
    rest = str_trim(rest);
    buf_printf(out,
               "hyper_parameters:\n  optimizer:\n    class: %.*s\n    learning_rate: "
               "%.*s\n",
               (int)class.n, class.p, (int)rest.n, rest.p);
    while (str_split(&lines, '\n', &line))
        if (line.n)
            buf_printf(out, "  %.*s\n", (int)line.n, line.p);
}

static void put_runners(const struct shipped *s, struct buf *out)
{
    buf_printf(out, s->alone ? "mode: [%s]\n" : "mode: [%s, %s]\n", s->runners[0],
               s->runners[1]);
    buf_printf(out,
               "runner:\n- name: %s\n  class: train\n  device: cpu\n  epochs: %d\n"
               "  save_checkpoint_interval: %d\n  save_checkpoint_path: %s\n"
               "  init_model_path: \"\"\n  print_interval: %d\n  phases: [%s]\n",
               s->runners[0], s->epochs, s->every, s->saves, s->shows, s->phases[0]);
    buf_printf(out,
               "- name: %s\n  class: infer\n  device: cpu\n  init_model_path: %s\n"
               "  print_interval: %d\n  phases: [%s]\n",
               s->runners[1], s->loads, s->shows, s->phases[1]);
    buf_puts(out, "phase:\n");
    for (int i = 0; i < 2; i++)
        buf_printf(out,
                   "- name: %s\n  model: \"{workspace}/%s\"\n  dataset_name: %s\n"
                   "  thread_num: %d\n",
                   s->phases[i], s->model ? s->model : "model.py", s->sets[i],
                   s->threads);
}

bool paddlerec_shipped(const char *name, struct buf *out)
{
    const struct shipped *s = find(name);
    if (!s)
        return false;
    buf_printf(out, "workspace: %s\n", name);
    put_sets(s, out);
    put_hyper(s, out);
    put_runners(s, out);
    return true;
}
