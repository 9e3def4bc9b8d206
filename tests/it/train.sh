#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train and eval: from a config and files to a model; stopped, killed, continued, refused.
. "$(dirname "$0")/lib.sh"

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

train_saves_evaluates_and_says_where()
{
    config && data
    trained m
    status 0
    out_empty
    err_has "model deepfm: 3 features, 5 tables"
    err_has "data: 2700 rows in 2 files"
    err_has "checkpoint m/model.ckpt-5"
    err_has "evaluation at step 21, 300 rows:  auc"
    err_has "done after 22 steps, 5400 rows"
    run ls m
    out_has model.ckpt-21
    out_has pipeline.config
    run "$TRAINYARD" check m/pipeline.config
    status 0
    run tail -n 1 m/train_eval_result_v2.txt
    json 'd["global_step"] == 21 and 0 < d["auc"] < 1 and d["loss"] > 0'
    cp .out last
    run "$TRAINYARD" eval c.config --json
    status 0
    cmp -s .out last || fail "eval of the last checkpoint differs from that of training"
}

threads_do_not_change_a_byte()
{
    config && data
    trained a --threads 1
    status 0
    trained b --threads 3
    status 0
    same_checkpoint a/model.ckpt-21 b/model.ckpt-21
    cmp -s a/train_eval_result_v2.txt b/train_eval_result_v2.txt || fail "results differ"
}

# Killed without warning at any moment, a run goes on as if nothing had been.
a_killed_run_goes_on_exactly()
{
    config && data
    trained a
    status 0
    for wait_for in 5 15; do
        rm -rf b
        "$TRAINYARD" train c.config --model-dir b >/dev/null 2>&1 &
        pid=$!
        for _ in $(seq 2000); do
            [ -d "b/model.ckpt-$wait_for" ] && break
            sleep 0.005
        done
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        trained b --continue --threads 2
        status 0
        same_checkpoint a/model.ckpt-21 b/model.ckpt-21
    done
    tail -n 1 a/train_eval_result_v2.txt >want
    tail -n 1 b/train_eval_result_v2.txt | cmp -s - want || fail "results differ"
}

sigterm_saves_and_ends_well()
{
    config && data
    "$TRAINYARD" train c.config --set train_config.num_epochs=100000 >.out 2>.err &
    pid=$!
    for _ in $(seq 2000); do
        [ -d m/model.ckpt-5 ] && break
        sleep 0.005
    done
    kill -TERM $pid
    wait $pid
    got=$?
    status 0
    err_has "stopping: a checkpoint is being written"
    err_has "the same command with --continue goes on from here"
}

a_second_run_does_not_start_over()
{
    config && data
    trained m --set train_config.num_steps=3
    status 0
    trained m
    status 2
    err_has "error[E1405]: model_dir 'm' holds a checkpoint of step 2: use --continue"
}

damaged_checkpoints_are_passed_over()
{
    config && data
    trained m --set train_config.num_steps=12
    status 0
    truncate -s -100 m/model.ckpt-11/model-*.safetensors
    trained m --continue
    status 0
    err_has "note: "
    err_has "model.ckpt-11"
    err_has "resumed from m behind step 10"
}

bad_input_is_named()
{
    config && data
    trained m --train-input nowhere
    status 1
    err_has "nowhere"
    trained m --set data_config.label_fields='["clic"]'
    status 2
    err_has "clic"
    trained m --set 'feature_configs[1].id_feature.expression=item:cat_id'
    status 2
    err_has "cat_id"
    trained m --set train_config.num_epohcs=3
    status 2
    err_has "did you mean 'num_epochs'?"
    trained m --set model_config.deepfm.deep.activation=nn.Nope
    status 2
    err_has "nn.Nope"
    [ -d m ] && fail "a refused run left m behind"
}

tap_cases train_saves_evaluates_and_says_where threads_do_not_change_a_byte \
    a_killed_run_goes_on_exactly sigterm_saves_and_ends_well \
    a_second_run_does_not_start_over damaged_checkpoints_are_passed_over bad_input_is_named
