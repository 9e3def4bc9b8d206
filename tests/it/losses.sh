#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Losses and metrics of a run, by name: in the log, after an evaluation, weighted, accumulated.
. "$(dirname "$0")/lib.sh"

# config MORE: two tasks over generated clicks; the tables stand still.
config()
{
    cat >c.config <<END
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_steps: 8 log_step_count_steps: 1
  sparse_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} }
  dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG
  label_fields: "clk" label_fields: "buy" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 trainable: false init_fn: "nn.init.normal_" } }
model_config {
  feature_groups { group_name: "all" group_type: DEEP feature_names: "user_id" }
  mmoe { expert_mlp { hidden_units: 16 } num_expert: 2
    task_towers { tower_name: "ctr" label_name: "clk" losses { binary_cross_entropy {} }
      losses { binary_focal_loss {} } metrics { auc {} } mlp { hidden_units: 8 }
      pareto_min_loss_weight: 0.1 }
    task_towers { tower_name: "cvr" label_name: "buy" losses { binary_cross_entropy {} }
      metrics { auc {} } mlp { hidden_units: 8 } } }
  $1
}
END
}

data()
{
    "$TRAINYARD" data gen taobao --rows 4000 --out data >/dev/null 2>&1
}

# field LINE KEY: of a line of train_eval_result_v2.txt
field()
{
    python3 -c 'import json, sys; print(json.loads(sys.stdin.read())[sys.argv[1]])' "$1"
}

near()
{
    python3 -c 'import sys; a, b, t = map(float, sys.argv[1:]); sys.exit(abs(a - b) > t)' "$@" ||
        fail "$1 and $2 differ by more than $3"
}

each_loss_has_its_name()
{
    config "" && data
    run "$TRAINYARD" train c.config --log json
    status 0
    grep '"event": "progress"' .err | tail -n 1 >line
    cp line .out
    json 'abs(d["loss"] - d["binary_cross_entropy_ctr"] - d["binary_focal_loss_ctr"] - d["binary_cross_entropy_cvr"]) < 1e-5'
    tail -n 1 m/train_eval_result_v2.txt >.out
    json 'abs(d["loss"] - d["binary_cross_entropy_ctr"] - d["binary_focal_loss_ctr"] - d["binary_cross_entropy_cvr"]) < 1e-6'
    json 'abs(d["exact_auc_ctr"] - d["auc_ctr"]) < 0.02 and d["exact_auc_cvr"] > 0'
}

# Two batches that each count half make the step of one batch.
accumulated_batches_count_their_share()
{
    config "" && data
    run "$TRAINYARD" train c.config --model-dir whole
    status 0
    run "$TRAINYARD" train c.config --model-dir halves --set data_config.batch_size=128 \
        --set train_config.num_steps=16 --set train_config.gradient_accumulation_steps=2
    status 0
    near "$(tail -n 1 whole/train_eval_result_v2.txt | field loss)" \
        "$(tail -n 1 halves/train_eval_result_v2.txt | field loss)" 1e-6
    run "$TRAINYARD" train c.config --model-dir less --set train_config.num_steps=4
    status 0
    [ "$(tail -n 1 whole/train_eval_result_v2.txt | field loss)" = \
        "$(tail -n 1 less/train_eval_result_v2.txt | field loss)" ] && fail "steps change nothing"
}

# The loss that is logged is the plain sum, as in TorchEasyRec; the same bytes for any threads.
pareto_weights_are_used()
{
    config "use_pareto_loss_weight: true" && data
    run "$TRAINYARD" train c.config --log json --threads 1
    status 0
    grep '"event": "progress"' .err | tail -n 1 >.out
    json 'abs(d["binary_cross_entropy_ctr"] + d["binary_focal_loss_ctr"] + d["binary_cross_entropy_cvr"] - d["loss"]) < 1e-5'
    run "$TRAINYARD" train c.config --model-dir again --threads 3
    status 0
    cmp -s m/model.ckpt-7/model-00001-of-00001.safetensors \
        again/model.ckpt-7/model-00001-of-00001.safetensors || fail "threads change the result"
    config ""
    run "$TRAINYARD" train c.config --model-dir plain
    status 0
    cmp -s m/model.ckpt-7/model-00001-of-00001.safetensors \
        plain/model.ckpt-7/model-00001-of-00001.safetensors && fail "the weights change nothing"
}

# Under loss scaling the same steps are made; gradients that overflow are left out until the scale fits.
a_loss_scale_changes_no_step()
{
    config "" && data
    run "$TRAINYARD" train c.config --model-dir plain
    status 0
    run "$TRAINYARD" train c.config --model-dir scaled --set 'train_config.grad_scaler={}' \
        --set 'train_config.grad_scaler.growth_interval=3'
    status 0
    near "$(tail -n 1 plain/train_eval_result_v2.txt | field loss)" \
        "$(tail -n 1 scaled/train_eval_result_v2.txt | field loss)" 1e-6
    run "$TRAINYARD" train c.config --model-dir large --set 'train_config.grad_scaler={}' \
        --set 'train_config.grad_scaler.init_scale=3e38' --set 'train_config.grad_scaler.backoff_factor=1e-9'
    status 0
    tail -n 1 large/train_eval_result_v2.txt >.out
    json 'd["loss"] > 0'
    near "$(tail -n 1 plain/train_eval_result_v2.txt | field loss)" \
        "$(tail -n 1 large/train_eval_result_v2.txt | field loss)" 0.1
    [ "$(tail -n 1 plain/train_eval_result_v2.txt | field loss)" = \
        "$(tail -n 1 large/train_eval_result_v2.txt | field loss)" ] && fail "no step was left out"
    run "$TRAINYARD" train c.config --model-dir scaled --continue --set 'train_config.grad_scaler={}' \
        --set train_config.num_steps=12
    status 0
}

# softmax_cross_entropy counts classes from 0.
a_label_must_be_a_class()
{
    data
    cat >c.config <<END
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config { num_steps: 8
  sparse_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} }
  dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "age_level" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
model_config {
  num_class: 9
  feature_groups { group_name: "all" group_type: DEEP feature_names: "user_id" }
  multi_tower { towers { input: "all" mlp { hidden_units: 8 } } final { hidden_units: 8 } }
  losses { softmax_cross_entropy {} }
}
END
    run "$TRAINYARD" train c.config
    status 0
    run "$TRAINYARD" train c.config --model-dir less --set model_config.num_class=2
    status 2
    err_has "error[E1401]"
    err_has "not a class from 0 to 1"
}

tap_cases a_label_must_be_a_class a_loss_scale_changes_no_step each_loss_has_its_name accumulated_batches_count_their_share pareto_weights_are_used
