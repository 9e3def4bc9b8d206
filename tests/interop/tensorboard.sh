#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Event files of a run, read by TensorBoard's own reader.
set -euo pipefail

"$TRAINYARD" data gen taobao --rows 3000 --out data >/dev/null 2>&1
cat >c.config <<'END'
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_epochs: 2 save_checkpoints_steps: 5 log_step_count_steps: 5
  tensorboard_summaries: ["loss", "learning_rate", "parameter", "gradient", "gradient_norm"]
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } exponential_decay_learning_rate { decay_size: 7 } }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [16, 8] } } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} } train_metrics { auc {} decay_step: 3 }
}
END
"$TRAINYARD" train c.config --log json --set train_config.num_steps=13 2>first.jsonl
"$TRAINYARD" train c.config --log json --continue 2>second.jsonl
python3 "$TY_SOURCE/tests/interop/read_events.py"
