#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configs of EasyRec as pipeline.configs.
. "$(dirname "$0")/lib.sh"

# easyrec MODEL: a config over three columns; MODEL is the rest of model_config.
easyrec()
{
    cat >old.config <<X
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config { optimizer_config { adam_optimizer { learning_rate {
    exponential_decay_learning_rate { initial_learning_rate: 0.003 } } } } num_steps: 20 }
eval_config { metrics_set { auc {} } metrics_set { gauc { uid_field: "user_id" } } metrics_set { max_f1 {} } }
data_config { batch_size: 256 label_fields: "clk" input_type: ParquetInput input_fields { input_name: "clk" } }
feature_config {
  features { input_names: "user_id" feature_type: IdFeature embedding_dim: 8 hash_bucket_size: 1000 combiner: "mean" }
  features { input_names: "cate_id" embedding_dim: 8 num_buckets: 20000 }
  features { input_names: "price" feature_type: RawFeature embedding_dim: 8 boundaries: [1.0, 10.0, 100.0] }
  features { feature_name: "uxc" input_names: ["user_id", "cate_id"] feature_type: ComboFeature embedding_dim: 8 hash_bucket_size: 500 }
  features { input_names: "odd" feature_type: PassThroughFeature }
}
model_config {
  feature_groups { group_name: "deep" feature_names: "user_id" feature_names: "cate_id" feature_names: "price"
    feature_names: "uxc" wide_deep: DEEP }
  feature_groups { group_name: "wide" feature_names: ["user_id", "cate_id"] wide_deep: WIDE }
  $1
}
X
}

a_converted_config_trains()
{
    easyrec 'model_class: "DeepFM" deepfm { dnn { hidden_units: [16, 8] } final_dnn { hidden_units: 8 use_bn: false } }'
    "$TRAINYARD" data gen taobao --rows 2000 --out data >/dev/null 2>&1
    run "$TRAINYARD" config from-easyrec old.config --output new.config
    status 0
    err_has "note: feature 'odd': PassThroughFeature is not converted"
    err_has "note: metric max_f1 is not converted"
    err_has "note: optimizer: adam with a constant learning rate"
    run cat new.config
    out_has "lr: 0.003"
    out_has "num_steps: 20"
    out_has 'dataset_type: ParquetDataset'
    out_has 'grouping_key: "user_id"'
    run "$TRAINYARD" train new.config
    status 0
    run "$TRAINYARD" config from-easyrec old.config --output new.config
    status 2
    err_has "error[E0008]: output 'new.config' exists"
    run "$TRAINYARD" config from-easyrec old.config --output old.config --overwrite
    status 2
    err_has "error[E0009]"
}

# Every model that is converted passes the check.
each_model_is_converted()
{
    local tasks='task_towers { tower_name: "ctr" label_name: "clk" dnn { hidden_units: 8 }
        losses { loss_type: CLASSIFICATION } metrics_set { auc {} } }'
    local net='hidden_units: [16] dropout_ratio: [0.1]'
    for model in "model_class: 'MMoE' mmoe { expert_dnn { $net } num_expert: 3 $tasks }" \
        "model_class: 'DBMTL' dbmtl { bottom_dnn { $net } expert_dnn { $net } num_expert: 2 $tasks }" \
        "model_class: 'SimpleMultiTask' simple_multi_task { $tasks }" \
        "model_class: 'PLE' ple { extraction_networks { network_name: 'l1' expert_num_per_task: 2 share_num: 1
            task_expert_net { $net } share_expert_net { $net } } $tasks }" \
        "model_class: 'WideAndDeep' wide_and_deep { dnn { $net } }" \
        "model_class: 'MultiTower' multi_tower { towers { input: 'deep' dnn { $net } } final_dnn { $net } }"; do
        easyrec "$model"
        run "$TRAINYARD" config from-easyrec old.config --output new.config --overwrite
        status 0
        run "$TRAINYARD" check new.config
        status 0
    done
    run grep -A8 "losses" new.config
    out_has "binary_cross_entropy {}"
}

fg_json_says_what_features_read()
{
    easyrec 'model_class: "DeepFM" deepfm { dnn { hidden_units: [16, 8] } final_dnn { hidden_units: 8 } }'
    cat >fg.json <<'X'
{"features": [
 {"feature_name": "user_id", "feature_type": "id_feature", "value_type": "String", "expression": "user:uid", "default_value": -1, "combiner": "mean"},
 {"feature_name": "cate_id", "feature_type": "id_feature", "expression": "item:cate", "need_prefix": false},
 {"feature_name": "price", "feature_type": "lookup_feature", "map": "item:prices", "key": "user:uid", "needDiscrete": false, "combiner": "max"},
 {"feature_name": "uxc", "feature_type": "combo_feature", "expression": ["user:uid", "item:cate"]},
 {"sequence_name": "hist", "sequence_length": 20, "sequence_delim": ";", "sequence_pk": "user:hist", "features": [
   {"feature_name": "cate_id", "feature_type": "id_feature", "expression": "item:cate"}]}]}
X
    sed -i 's/  features { input_names: "odd".*/  features { input_names: "hist__cate_id" feature_type: SequenceFeature embedding_dim: 8 num_buckets: 20000 }/' old.config
    run "$TRAINYARD" config from-easyrec old.config --fg-json fg.json --output new.config
    status 0
    run cat new.config
    out_has 'expression: "user:uid"'
    out_has 'default_value: "-1"'
    out_has 'map: "item:prices"'
    out_has 'sequence_name: "hist"'
    out_has 'hash_bucket_size: 1000'
    run "$TRAINYARD" config from-easyrec old.config --fg-json fg.json --use-old-fg
    status 0
    out_has 'expression: "item:cate"'
    out_has 'key: "user:uid"'
    out_has 'sequence_name: "hist"'
    out_lacks 'default_value'
}

what_cannot_be_converted_is_told()
{
    easyrec 'model_class: "BST" bst {}'
    run "$TRAINYARD" config from-easyrec old.config --output new.config
    status 2
    err_has "error[E2209]: 'old.config': model_class 'BST' is not converted; known are DBMTL"
    [ ! -e new.config ] || fail "it was written"
    echo 'a { b: 1 }' >no.config
    run "$TRAINYARD" config from-easyrec no.config
    status 2
    err_has "'no.config': it has no model_config and data_config: no config of EasyRec"
    # written, but a person must decide about a size
    easyrec 'model_class: "DeepFM" deepfm { dnn { hidden_units: [16] } final_dnn { hidden_units: 8 } }'
    sed -i 's/ num_buckets: 20000//' old.config
    run "$TRAINYARD" config from-easyrec old.config --output new.config
    status 2
    err_has "feature 'cate_id' has no way to make ids"
    err_has "error[E2209]: 'new.config' was written, and needs changes by hand before it can be used"
    [ -s new.config ] || fail "nothing was written"
}

tap_cases a_converted_config_trains each_model_is_converted fg_json_says_what_features_read \
    what_cannot_be_converted_is_told
