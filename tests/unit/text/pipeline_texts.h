/* SPDX-License-Identifier: Apache-2.0 */
/* Small pipeline configs without any fault, one per family of models. */
#ifndef PIPELINE_TEXTS_H
#define PIPELINE_TEXTS_H

/* clang-format off */
#define TEXT_TRAIN \
    "train_input_path: \"train\"\n" \
    "eval_input_path: \"eval\"\n" \
    "model_dir: \"out\"\n" \
    "train_config {\n" \
    "  sparse_optimizer { adagrad_optimizer { lr: 0.001 } constant_learning_rate {} }\n" \
    "  dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} }\n" \
    "  num_epochs: 1\n" \
    "}\n"

/* One task, every kind of group. */
static const char text_rank[] =
    TEXT_TRAIN
    "data_config {\n"
    "  dataset_type: ParquetDataset\n"
    "  fg_mode: FG_DAG\n"
    "  label_fields: \"clk\"\n"
    "}\n"
    "feature_configs { id_feature { feature_name: \"uid\" expression: \"user:uid\" hash_bucket_size: 100 embedding_dim: 8 } }\n"
    "feature_configs { id_feature { feature_name: \"iid\" expression: \"item:iid\" num_buckets: 50 embedding_dim: 8 } }\n"
    "feature_configs { raw_feature { feature_name: \"price\" expression: \"item:price\" boundaries: [1, 2, 3] embedding_dim: 4 } }\n"
    "feature_configs { raw_feature { feature_name: \"age\" expression: \"user:age\" } }\n"
    "feature_configs { expr_feature { feature_name: \"ratio\" expression: \"log(a) / (b + 1e-3)\" variables: \"user:a\" variables: \"item:b\" } }\n"
    "feature_configs { combo_feature { feature_name: \"cross\" expression: [\"user:uid\", \"item:iid\"] hash_bucket_size: 90 embedding_dim: 8 } }\n"
    "feature_configs { sequence_feature { sequence_name: \"clicks\" sequence_length: 10\n"
    "  features { id_feature { feature_name: \"iid\" expression: \"item:iid\" num_buckets: 50 embedding_dim: 8 } } } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"deep\" group_type: DEEP\n"
    "    feature_names: [\"uid\", \"price\", \"age\", \"ratio\", \"cross\"]\n"
    "    sequence_groups { group_name: \"hist\" feature_names: [\"iid\", \"clicks__iid\"] }\n"
    "    sequence_encoders { din_encoder { input: \"hist\" attn_mlp { hidden_units: 4 } } } }\n"
    "  feature_groups { group_name: \"seq\" group_type: SEQUENCE feature_names: [\"iid\", \"clicks__iid\"] }\n"
    "  multi_tower_din {\n"
    "    towers { input: \"deep\" mlp { hidden_units: [8, 4] dropout_ratio: [0.1, 0.2] } }\n"
    "    din_towers { input: \"seq\" attn_mlp { hidden_units: 4 } }\n"
    "    final { hidden_units: 4 }\n"
    "  }\n"
    "  num_class: 1\n"
    "  losses { binary_cross_entropy {} }\n"
    "  metrics { auc {} }\n"
    "}\n";

/* Features used by several of the texts below. */
#define TEXT_FEATURES \
    "feature_configs { id_feature { feature_name: \"uid\" expression: \"user:uid\" hash_bucket_size: 100 embedding_dim: 8 } }\n" \
    "feature_configs { id_feature { feature_name: \"iid\" expression: \"item:iid\" hash_bucket_size: 100 embedding_dim: 8 } }\n"

/* Groups with fixed names, ids and numbers apart. */
static const char text_dlrm[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: \"clk\" }\n"
    TEXT_FEATURES
    "feature_configs { raw_feature { feature_name: \"age\" expression: \"user:age\" } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"sparse\" feature_names: [\"uid\", \"iid\"] }\n"
    "  feature_groups { group_name: \"dense\" feature_names: \"age\" }\n"
    "  dlrm { dense_mlp { hidden_units: [16, 8] } final { hidden_units: 8 } }\n"
    "  losses { binary_cross_entropy {} }\n"
    "}\n";

static const char text_deepfm[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: \"clk\" }\n"
    TEXT_FEATURES
    "feature_configs { raw_feature { feature_name: \"age\" expression: \"user:age\" } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"wide\" group_type: WIDE feature_names: [\"uid\", \"iid\"] }\n"
    "  feature_groups { group_name: \"deep\" feature_names: [\"uid\", \"iid\", \"age\"] }\n"
    "  feature_groups { group_name: \"fm\" feature_names: [\"uid\", \"iid\"] }\n"
    "  deepfm { deep { hidden_units: 8 } wide_init_fn: \"nn.init.zeros_\" }\n"
    "  losses { binary_cross_entropy {} }\n"
    "}\n";

/* Models on fields. */
#define TEXT_FIELDS(model) \
    TEXT_TRAIN \
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: \"clk\" }\n" \
    TEXT_FEATURES \
    "feature_configs { raw_feature { feature_name: \"age\" expression: \"user:age\" } }\n" \
    "feature_configs { id_feature { feature_name: \"zid\" expression: \"user:z\" num_buckets: 5 embedding_dim: 8 } }\n" \
    "model_config {\n" \
    "  feature_groups { group_name: \"wide\" group_type: WIDE feature_names: [\"uid\", \"iid\", \"zid\"] }\n" \
    "  feature_groups { group_name: \"deep\" feature_names: [\"uid\", \"iid\"] }\n" \
    "  feature_groups { group_name: \"dense\" feature_names: \"age\" }\n" \
    model \
    "  losses { binary_cross_entropy {} }\n" \
    "}\n"
#define TEXT_HISTORY(groups, model) \
    TEXT_TRAIN \
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: \"clk\" }\n" \
    TEXT_FEATURES \
    "feature_configs { sequence_id_feature { feature_name: \"h\" expression: \"user:h\" sequence_length: 5 num_buckets: 9 embedding_dim: 8 } }\n" \
    "feature_configs { sequence_id_feature { feature_name: \"n\" expression: \"user:n\" sequence_length: 5 num_buckets: 9 embedding_dim: 8 } }\n" \
    "model_config {\n" \
    groups \
    model \
    "  losses { binary_cross_entropy {} }\n" \
    "}\n"
#define TEXT_SEQ(name, features) \
    "  feature_groups { group_name: \"" name "\" group_type: SEQUENCE feature_names: [" features "] }\n"
static const char text_dien[] = TEXT_HISTORY(
    TEXT_SEQ("seq", "\"uid\", \"iid\", \"h\", \"n\""),
    "  dien { attn_mlp { hidden_units: 4 } deep { hidden_units: 4 } }\n");
static const char text_bst[] = TEXT_HISTORY(
    TEXT_SEQ("seq", "\"uid\", \"iid\", \"h\", \"n\""),
    "  bst { deep { hidden_units: 4 } }\n");
static const char text_dmr[] = TEXT_HISTORY(
    TEXT_SEQ("seq", "\"uid\", \"h\", \"n\"") TEXT_SEQ("match", "\"iid\", \"h\""),
    "  dmr { attn_mlp { hidden_units: 4 } deep { hidden_units: 4 } }\n");
static const char text_fm[] = TEXT_FIELDS("  fm {}\n");
static const char text_ffm[] = TEXT_FIELDS("  ffm {}\n");
static const char text_fgcnn[] = TEXT_FIELDS(
    "  feature_groups { group_name: \"generate\" feature_names: [\"iid\", \"zid\"] embedding_name_suffix: \"_fg\" }\n"
    "  fgcnn { conv_filters: 4 deep { hidden_units: 4 } }\n");
static const char text_flen[] = TEXT_FIELDS(
    "  feature_groups { group_name: \"more\" feature_names: \"zid\" }\n"
    "  flen { deep { hidden_units: 4 } }\n");

/* Several tasks. */
static const char text_tasks[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: [\"clk\", \"buy\"] sample_weight_fields: \"w\" }\n"
    TEXT_FEATURES
    "model_config {\n"
    "  feature_groups { group_name: \"all\" feature_names: [\"uid\", \"iid\"] }\n"
    "  dbmtl {\n"
    "    bottom_mlp { hidden_units: 8 }\n"
    "    task_towers { tower_name: \"ctr\" label_name: \"clk\" mlp { hidden_units: 4 }\n"
    "      losses { binary_cross_entropy {} } metrics { grouped_auc { grouping_key: \"uid\" } } }\n"
    "    task_towers { tower_name: \"cvr\" sample_weight_name: \"w\" task_space_indicator_label: \"clk\"\n"
    "      num_class: 2 losses { jrc_loss { session_name: \"uid\" } } metrics { auc {} }\n"
    "      relation_tower_names: \"ctr\" relation_mlp { hidden_units: 4 } pareto_min_loss_weight: 0.1 }\n"
    "  }\n"
    "}\n";

static const char text_match[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: \"clk\"\n"
    "  negative_sampler { input_path: \"items\" num_sample: 4 attr_fields: \"iid\" item_id_field: \"iid\" }\n"
    "}\n"
    TEXT_FEATURES
    "model_config {\n"
    "  feature_groups { group_name: \"user\" feature_names: \"uid\" }\n"
    "  feature_groups { group_name: \"item\" feature_names: \"iid\" }\n"
    "  dssm {\n"
    "    user_tower { input: \"user\" mlp { hidden_units: 8 } }\n"
    "    item_tower { input: \"item\" mlp { hidden_units: 8 } }\n"
    "    output_dim: 4 }\n"
    "  losses { softmax_cross_entropy {} }\n"
    "  metrics { recall_at_k { top_k: 5 } }\n"
    "}\n";

/* Our own models of retrieval. */
static const char text_recall[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL label_fields: \"clk\"\n"
    "  negative_sampler { input_path: \"items\" num_sample: 4 attr_fields: \"iid\" item_id_field: \"iid\" }\n"
    "}\n"
    TEXT_FEATURES
    "model_config {\n"
    "  feature_groups { group_name: \"user\" feature_names: \"uid\" }\n"
    "  feature_groups { group_name: \"item\" feature_names: \"iid\" }\n"
    "  word2vec { input: \"user\" context_input: \"item\" }\n"
    "  losses { binary_cross_entropy {} }\n"
    "  metrics { recall_at_k { top_k: 5 } }\n"
    "}\n";

static const char text_hstu[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NONE label_fields: \"action\" }\n"
    TEXT_FEATURES
    "feature_configs { sequence_feature { sequence_name: \"h\" sequence_length: 9 features { id_feature { feature_name: \"v\" hash_bucket_size: 9 embedding_dim: 8 } } } }\n"
    "feature_configs { sequence_feature { sequence_name: \"c\" sequence_length: 9 features { id_feature { feature_name: \"v\" hash_bucket_size: 9 embedding_dim: 8 } } } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"contextual\" feature_names: [\"uid\", \"iid\"] }\n"
    "  feature_groups { group_name: \"uih\" group_type: JAGGED_SEQUENCE feature_names: \"h__v\" }\n"
    "  feature_groups { group_name: \"candidate\" group_type: JAGGED_SEQUENCE feature_names: \"c__v\" }\n"
    "  dlrm_hstu { max_seq_len: 20\n"
    "    hstu { attn_num_layers: 2\n"
    "      stu { embedding_dim: 8 num_heads: 2 hidden_dim: 4 attention_dim: 4 }\n"
    "      positional_encoder { num_position_buckets: 32 use_time_encoding: true num_time_buckets: 8 }\n"
    "      input_preprocessor { contextual_preprocessor {\n"
    "        action_encoder { simple_action_encoder { action_embedding_dim: 4 action_weights: [1, 2]\n"
    "          watchtime_to_action_thresholds: 9 watchtime_to_action_weights: 4 } }\n"
    "        action_mlp { simple_mlp { hidden_dim: 8 } }\n"
    "        content_encoder { mlp_content_encoder { uih_mlp { hidden_units: 8 } target_mlp { hidden_units: [4, 8] } } }\n"
    "        content_mlp { parameterized_mlp { hidden_dim: 8 } } } }\n"
    "      output_postprocessor { layernorm_postprocessor {} }\n"
    "    }\n"
    "    fusion_mtl_tower { mlp { hidden_units: 8 }\n"
    "      task_configs { task_name: \"like\" label_name: \"action\" task_bitmask: 1 losses { binary_cross_entropy {} } } }\n"
    "  }\n"
    "}\n";

static const char text_sid[] =
    TEXT_TRAIN
    "data_config { dataset_type: ParquetDataset fg_mode: FG_NORMAL }\n"
    "feature_configs { raw_feature { feature_name: \"e\" expression: \"item:e\" value_dim: 4 } }\n"
    "model_config {\n"
    "  feature_groups { group_name: \"item\" feature_names: \"e\" }\n"
    "  sid_rqvae { codebook: [8, 8] candidate_output_config { enabled: true topk: 2 } }\n"
    "  losses { recon_loss {} }\n"
    "  losses { commitment_loss { latent_weight: [1, 0.5] } }\n"
    "}\n";
/* clang-format on */

#endif
