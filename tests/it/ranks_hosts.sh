#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several hosts, each a network namespace with a name of its own, connected by a bridge: one
# launcher on each, and ranks that train one model together.
if [ -z "${TY_TEST_NETWORK:-}" ]; then # all of it in a network of its own, which ends with it
    export TY_TEST_NETWORK=1
    if command -v ip >/dev/null && unshare -n ip link add br0 type bridge 2>/dev/null; then
        exec unshare -n "$0" "$@"
    elif command -v ip >/dev/null && unshare -rn ip link add br0 type bridge 2>/dev/null; then
        exec unshare -rn "$0" "$@"
    fi
    TY_TEST_NETWORK=none
fi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"
. "$(dirname "$0")/ranks_hosts_lib.sh"

meet=(--nnodes 2 --master-addr 10.98.0.1 --master-port 29555 --rdzv-id s3cret --nproc-per-node 2)

torchrun_trains_on_two_hosts_as_on_one()
{
    config && data
    hosts 2
    ln -s "$TRAINYARD" torchrun
    set -- --nproc-per-node=2 -m tzrec.train_eval --pipeline_config_path c.config --model_dir m \
        --edit_config_json '{"data_config.batch_size": 64}'
    on 2 ./torchrun --master_addr=10.98.0.1 --master_port=32555 --nnodes=2 --node_rank=1 "$@"
    on 1 ./torchrun --master_addr=10.98.0.1 --master_port=32555 --nnodes=2 --node_rank=0 "$@"
    ended 1
    status 0
    said 1 "ranks       4 of"
    said 1 "launch: note: without --rdzv-id or TRAINYARD_LAUNCH_SECRET any process that reaches port 32555 can join this run"
    ended 2
    status 0
    trained one --set data_config.batch_size=64 --shards 4
    same_run one m
    no_hosts
}

# job TEXT: a block of a job as it is printed, on both hosts, each with its own variables
job()
{
    local i
    for i in 2 1; do
        on $i env MASTER_ADDR=10.98.0.1 MASTER_PORT=32558 WORLD_SIZE=2 NPROC_PER_NODE=2 RANK=$((i - 1)) PATH="$PWD/bin:$PATH" bash -c "$1"
    done
    for i in 1 2; do
        ended $i
        status 0
    done
}

# Training, evaluation, export and prediction of a job with two workers of two processes.
commands_of_a_job_run_on_two_hosts_as_printed()
{
    config && data
    hosts 2
    mkdir -p bin
    ln -s "$TRAINYARD" bin/torchrun
    mv c.config multi_tower_din_taobao_dlc.config
    # shellcheck disable=SC2016
    job 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.train_eval \
    --pipeline_config_path multi_tower_din_taobao_dlc.config \
    --train_input_path data/train/\*.parquet \
    --eval_input_path data/eval/\*.parquet \
    --model_dir multi_tower_din_taobao_dlc'
    said 1 "ranks       4 of"
    # shellcheck disable=SC2016
    job 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.eval \
    --pipeline_config_path multi_tower_din_taobao_dlc/pipeline.config \
    --eval_input_path data/eval/\*.parquet'
    [ "$(grep -c '"auc"' multi_tower_din_taobao_dlc/eval_result.txt)" = 1 ] || fail "not one evaluation"
    # shellcheck disable=SC2016
    job 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.export \
    --pipeline_config_path multi_tower_din_taobao_dlc/pipeline.config \
    --export_dir multi_tower_din_taobao_dlc/export'
    # shellcheck disable=SC2016
    job 'torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
    -m tzrec.predict \
    --scripted_model_path multi_tower_din_taobao_dlc/export \
    --predict_input_path data/eval/\*.parquet \
    --predict_output_path multi_tower_din_taobao_dlc/predict_result \
    --reserved_columns user_id,adgroup_id,clk'
    said 1 "predicted 300 rows into multi_tower_din_taobao_dlc/predict_result"
    run "$TRAINYARD" predict --model multi_tower_din_taobao_dlc/export --input data/eval --output one --reserved-columns user_id,adgroup_id,clk
    status 0
    cmp one/part-00000.parquet multi_tower_din_taobao_dlc/predict_result/part-00000.parquet || fail "other predictions than one process makes"
    no_hosts
}

the_host_of_the_endpoint_is_the_first()
{
    config && data
    hosts 3
    set -- --nnodes 3 --rdzv-endpoint 10.98.0.2:29500 --rdzv-id x train c.config --model-dir m --set data_config.batch_size=64
    for i in 1 2 3; do
        on $i "$TRAINYARD" launch "$@"
    done
    for i in 1 2 3; do
        ended $i
        status 0
    done
    said 2 "ranks       3 of"
    trained one --set data_config.batch_size=64 --shards 3
    same_run one m
    no_hosts
}

a_host_that_never_comes_is_named()
{
    config && data
    hosts 2
    export PROCESS_GROUP_TIMEOUT_SECONDS=2
    on 1 "$TRAINYARD" launch "${meet[@]}" train c.config
    ended 1
    status 1
    said 1 "error[E2502]: after 2 s (PROCESS_GROUP_TIMEOUT_SECONDS) 1 of 2 nodes are here; these node_ranks have not come to port 29555: 1"
    one_message 1
    on 2 "$TRAINYARD" launch "${meet[@]}" --node-rank 1 train c.config
    ended 2
    status 1
    said 2 "error[E2502]: node 0 at 10.98.0.1 port 29555 did not answer for 2 s"
    one_message 2
    no_hosts
}

a_port_in_use_is_named()
{
    config && data
    hosts 1
    export PROCESS_GROUP_TIMEOUT_SECONDS=60
    on 1 "$TRAINYARD" launch "${meet[@]}" train c.config
    for _ in $(seq 200); do # 29555 in hexadecimal
        nsenter -t "${host_pids[1]}" -n cat /proc/net/tcp /proc/net/tcp6 | grep -q ':7373 ' && break
        sleep 0.1
    done
    nsenter -t "${host_pids[1]}" -n -u "$TRAINYARD" launch "${meet[@]}" train c.config >.out 2>.err
    got=$?
    status 1
    err_has "error[E2504]: cannot listen on port 29555: Address already in use; another run has it: choose another --master-port"
    kill "${launchers[1]}"
    ended 1
    no_hosts
}

who_does_not_know_the_secret_is_refused()
{
    config && data
    hosts 2
    export PROCESS_GROUP_TIMEOUT_SECONDS=20
    on 1 "$TRAINYARD" launch "${meet[@]}" train c.config
    on 2 "$TRAINYARD" launch "${meet[@]}" --rdzv-id guess --node-rank 1 train c.config
    ended 2
    status 1
    said 2 "error[E2504]: "
    said 2 "--rdzv-id or TRAINYARD_LAUNCH_SECRET"
    ended 1
    status 1
    said 1 "launch: note: a process that wants to join this run is refused: the other side has another --rdzv-id"
    said 1 "these node_ranks have not come to port 29555: 1"
    no_hosts
}

# A training of some 20 s; $1: its model_dir
long=(--set data_config.batch_size=16 --set train_config.num_epochs=2000 --set train_config.save_checkpoints_steps=20
    --set train_config.keep_checkpoint_max=1000)

a_host_that_is_cut_off_ends_all_within_ten_seconds()
{
    config && data
    sed -i 's,eval_input_path: "data/eval",,' c.config
    hosts 2
    on 2 "$TRAINYARD" launch "${meet[@]}" --node-rank 1 train c.config --model-dir m "${long[@]}"
    on 1 "$TRAINYARD" launch "${meet[@]}" train c.config --model-dir m "${long[@]}"
    appears m/model.ckpt-20
    local start=$SECONDS
    ip link set ty2 down
    ended 1
    [ $((SECONDS - start)) -le 30 ] || fail "it took $((SECONDS - start)) s"
    status 1
    one_message 1
    grep -q 'error\[E250[12]\]: .*host host2' host1.log || { fail "no message about host2:"; show host1.log; }
    ended 2
    [ $((SECONDS - start)) -le 60 ] || fail "the other launcher took $((SECONDS - start)) s"
    status 1
    no_hosts
}

# The launcher of the second host and all that it started are killed; the run goes on on the
# first alone, and ends as if it had not been disturbed.
a_run_goes_on_without_a_host_that_is_gone()
{
    config && data
    sed -i 's,eval_input_path: "data/eval",,' c.config
    set -- "${long[@]}" --set train_config.num_epochs=8
    trained whole "$@" --shards 4
    status 0
    hosts 2
    on 2 "$TRAINYARD" launch "${meet[@]}" --nnodes 1:2 --node-rank 1 train c.config --model-dir m "$@"
    on 1 "$TRAINYARD" launch "${meet[@]}" --nnodes 1:2 --max-restarts 1 train c.config --model-dir m "$@"
    appears m/model.ckpt-20
    local p
    for p in $(pgrep -P "${launchers[2]}") "${launchers[2]}" $(rank_pid 2) $(rank_pid 3); do
        kill -KILL "$p" 2>/dev/null
    done
    ended 1
    status 0
    said 1 "restart 1 of 1, from the last checkpoint"
    said 1 "ranks       2 of"
    same_end whole m
    no_hosts
}

a_stop_on_any_host_saves_a_checkpoint()
{
    config && data
    sed -i 's,eval_input_path: "data/eval",,' c.config
    hosts 2
    on 2 "$TRAINYARD" launch "${meet[@]}" --node-rank 1 train c.config --model-dir m "${long[@]}"
    on 1 "$TRAINYARD" launch "${meet[@]}" train c.config --model-dir m "${long[@]}"
    appears m/model.ckpt-20
    kill -TERM "$(pgrep -P "${launchers[2]}")"
    ended 1
    status 0
    said 1 "stopping: saving a checkpoint"
    ended 2
    status 0
    no_hosts
}

tap_cases \
    torchrun_trains_on_two_hosts_as_on_one \
    commands_of_a_job_run_on_two_hosts_as_printed \
    the_host_of_the_endpoint_is_the_first \
    a_host_that_never_comes_is_named \
    a_port_in_use_is_named \
    who_does_not_know_the_secret_is_refused \
    a_host_that_is_cut_off_ends_all_within_ten_seconds \
    a_run_goes_on_without_a_host_that_is_gone \
    a_stop_on_any_host_saves_a_checkpoint
