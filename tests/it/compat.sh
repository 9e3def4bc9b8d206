#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Command lines written for TorchEasyRec, run as they are printed in its documents.
. "$(dirname "$0")/lib.sh"

links()
{
    mkdir bin
    for name in dlc nnictl paddlerec pip python torchrun tzrec; do
        ln -s "$TRAINYARD" "bin/$name"
    done
    PATH=$PWD/bin:$PATH
}

data()
{
    "$TRAINYARD" data gen taobao --rows 2000 --files 2 --out data >/dev/null 2>&1
    mv data/train data/taobao_data_train
    mv data/eval data/taobao_data_eval
    cat >multi_tower_din_taobao_local.config <<'END'
train_input_path: "" eval_input_path: "" model_dir: "elsewhere"
train_config {
  num_epochs: 1
  sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price"
  boundaries: [1, 10, 100] embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "price"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [16, 8] } } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
}

# The blocks of "export" and "prediction".
export_and_predict()
{
    "$TRAINYARD" help export >/dev/null 2>&1 || return 0
    # shellcheck disable=SC2016
    run bash -c 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.export \
    --pipeline_config_path experiments/multi_tower_din_taobao_local/pipeline.config \
    --export_dir experiments/multi_tower_din_taobao_local/export'
    status 0
    # shellcheck disable=SC2016
    run bash -c 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.predict \
    --scripted_model_path experiments/multi_tower_din_taobao_local/export \
    --predict_input_path data/taobao_data_eval/\*.parquet \
    --predict_output_path experiments/multi_tower_din_taobao_local/predict_result \
    --reserved_columns user_id,adgroup_id,clk'
    status 0
    cp .err .predicted
    run "$TRAINYARD" data head -n 1 experiments/multi_tower_din_taobao_local/predict_result
    status 0
    out_has "probs"
    out_has "adgroup_id"
}

# The blocks of "training", "evaluation" and of the list of parameters.
commands_of_the_documents_run_as_printed()
{
    links && data
    # What Open MPI leaks is none of ours.
    run env ASAN_OPTIONS=detect_leaks=0 bash -c 'torchrun --master_addr=localhost --master_port=32555 \
    --nnodes=1 --nproc-per-node=2 --node_rank=0 \
    -m tzrec.train_eval \
    --pipeline_config_path multi_tower_din_taobao_local.config \
    --train_input_path data/taobao_data_train/\*.parquet \
    --eval_input_path data/taobao_data_eval/\*.parquet \
    --model_dir experiments/multi_tower_din_taobao_local'
    status 0
    err_has "batches of 2 x 256: 4 steps"
    [ -d experiments/multi_tower_din_taobao_local/model.ckpt-3 ] || fail "no checkpoint"
    run bash -c 'pip install tzrec==${TZREC_NIGHTLY_VERSION} -f http://tzrec.oss-cn-beijing.aliyuncs.com/release/nightly/repo.html --trusted-host tzrec.oss-cn-beijing.aliyuncs.com
torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.eval \
    --pipeline_config_path experiments/multi_tower_din_taobao_local/pipeline.config \
    --eval_input_path data/taobao_data_eval/\*.parquet'
    status 0
    err_has "pip: note: nothing to install"
    out_has "auc"
    run tail -n 1 experiments/multi_tower_din_taobao_local/eval_result.txt
    json 'd["global_step"] == 3 and 0 < d["auc"] < 1'
    export_and_predict
    run bash -c 'python -m tzrec.tools.list_distcp_param --checkpoint_path experiments/multi_tower_din_taobao_local/model.ckpt-3'
    status 0
    out_has "embedding"
}

# The blocks of a job with their variables as one machine with two processes has them.
commands_of_a_job_run_on_two_ranks_as_printed()
{
    links && data
    mkdir -p experiments
    export MASTER_ADDR=localhost MASTER_PORT=32557 WORLD_SIZE=1 NPROC_PER_NODE=2 RANK=0 ASAN_OPTIONS=detect_leaks=0
    # shellcheck disable=SC2016
    run bash -c 'pip install tzrec==${TZREC_NIGHTLY_VERSION} -f http://tzrec.oss-cn-beijing.aliyuncs.com/release/nightly/repo.html --trusted-host tzrec.oss-cn-beijing.aliyuncs.com
torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.train_eval \
    --pipeline_config_path multi_tower_din_taobao_local.config \
    --train_input_path data/taobao_data_train/\*.parquet \
    --eval_input_path data/taobao_data_eval/\*.parquet \
    --model_dir experiments/multi_tower_din_taobao_local'
    status 0
    err_has "ranks       2 of"
    # shellcheck disable=SC2016
    run bash -c 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.eval \
    --pipeline_config_path experiments/multi_tower_din_taobao_local/pipeline.config \
    --eval_input_path data/taobao_data_eval/\*.parquet'
    status 0
    [ "$(grep -c '"auc"' experiments/multi_tower_din_taobao_local/eval_result.txt)" = 1 ] || fail "not one evaluation"
    export_and_predict
    [ "$(grep -c 'predicted 200 rows' .predicted)" = 1 ] || { fail "not one report:"; show .predicted; }
}

a_seed_in_the_environment_is_the_runs_seed()
{
    links && data
    export TORCH_MANUAL_SEED=5
    run tzrec train_eval --pipeline_config_path multi_tower_din_taobao_local.config \
        --train_input_path data/taobao_data_train --model_dir m \
        --edit_config_json '{"train_config.num_epochs": 0, "train_config.num_steps": 2}'
    status 0
    run cat m/model.ckpt-1/manifest.json
    out_has '"seed": 5'
}

wrong_lines_are_refused()
{
    links
    run tzrec train_eval --model_dir m
    status 2
    out_empty
    err_is <<'END'
tzrec: error[E2204]: tzrec.train_eval needs --pipeline_config_path
END
    run torchrun --nnodes=x a.py
    status 2
    err_has "torchrun: error[E2205]: --nnodes: 'x' is not a number"
    run tzrec --help
    status 0
    for program in train_eval eval export predict tools.hitrate; do out_has "  $program "; done
}

# Python itself is one link away.
other_programs_get_what_is_theirs()
{
    command -v python3 >/dev/null || skip "no python3"
    links
    cat >script.py <<'END'
import os, sys
print(os.environ["RANK"], os.environ["WORLD_SIZE"], sys.argv[1:])
END
    run torchrun --nproc-per-node=1 script.py --x 1
    status 0
    out_is <<'END'
0 1 ['--x', '1']
END
    run python -c 'print(6 * 7)'
    status 0
    out_is <<'END'
42
END
    run env PATH="$PWD/bin" "$PWD/bin/pip" list
    status 1
    err_has "pip: error[E2206]: no other 'pip' on PATH"
}

tools_to_come_say_so()
{
    links
    for name in nnictl paddlerec; do
        [ "$("$name" --help 2>&1)" ] || fail "$name says nothing"
    done
}

links_of_the_build_reach_the_program()
{
    for link in "$(dirname "$TRAINYARD")"/compat/*; do
        [ -d "$link" ] || [ -x "$link" ] || fail "$link leads nowhere"
    done
    check "tzrec is there" test -x "$(dirname "$TRAINYARD")/compat/tzrec"
}

# What bench-torcheasyrec trains with both programs; one that does not check would be told only there.
configs_that_are_compared_with_torcheasyrec_check()
{
    local against=$TY_SOURCE/bench/compat/against f
    run python3 "$against/compare.py" "$TRAINYARD" no-checkout python3
    status 1
    err_has "usage: make bench-torcheasyrec CHECKOUT=DIR PYTHON=PROGRAM"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$against python3 - <<'PY' || fail "no cases"
import cases, rows
for i, (config, kind) in enumerate(cases.cases().values()):
    open(f'{i}.config', 'w').write(config)
    assert kind in rows.KINDS
assert i == 87, i
for part in ('train', 'eval'):
    rows.write(f'{part}.jsonl', 'rows', part, 64)
PY
    for f in *.config; do
        run "$TRAINYARD" check "$f"
        status 0
    done
    for f in train eval; do "$TRAINYARD" data convert $f.jsonl $f.parquet >/dev/null 2>&1; done
    run "$TRAINYARD" train 3.config --set train_config.num_steps=1
    status 0
}

tap_cases configs_that_are_compared_with_torcheasyrec_check links_of_the_build_reach_the_program commands_of_the_documents_run_as_printed commands_of_a_job_run_on_two_ranks_as_printed a_seed_in_the_environment_is_the_runs_seed \
    wrong_lines_are_refused other_programs_get_what_is_theirs tools_to_come_say_so
