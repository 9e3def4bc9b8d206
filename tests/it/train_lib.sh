# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# train_lib.sh - a small config and data for it; sourced behind lib.sh.

# A config with something random in every part: shuffle, dropout, batch norm, averages.
config()
{
    cat >c.config <<'END'
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_epochs: 2 save_checkpoints_steps: 5 log_step_count_steps: 5
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer {
    adam_optimizer { lr: 0.002 } exponential_decay_learning_rate { decay_size: 7 }
    ema { decay: 0.9 }
  }
}
data_config {
  batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk"
  shuffle: true shuffle_buffer_size: 3
}
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id"
  hash_bucket_size: 500 embedding_dim: 8 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price"
  boundaries: [1, 10, 100] embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "wide" group_type: WIDE feature_names: ["user_id", "cate_id"] }
  feature_groups { group_name: "deep" group_type: DEEP
    feature_names: ["user_id", "cate_id", "price"] }
  deepfm { deep { hidden_units: [16, 8] dropout_ratio: 0.1 use_bn: true } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
  train_metrics { auc {} decay_step: 3 }
}
END
}

data()
{
    "$TRAINYARD" data gen taobao --rows 3000 --files 2 --out data >/dev/null 2>&1
}

trained()
{
    run "$TRAINYARD" train c.config --model-dir "$@"
}

same_checkpoint()
{
    local f
    for f in "$1"/*.safetensors; do
        cmp -s "$f" "$2/${f##*/}" || fail "$f and $2/${f##*/} differ"
    done
}
