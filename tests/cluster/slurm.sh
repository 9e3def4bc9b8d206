#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises (tests/it/contract_lib.sh), of Slurm, and what is Slurm's own:
# against a real one with four nodes, started for this script and stopped behind it. Skipped
# where Slurm is not installed (tools/deps cluster).
TY_SOURCE=${TY_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
TY_BUILD=${TY_BUILD:-$TY_SOURCE/build/dev}
. "$TY_SOURCE/tests/it/contract_lib.sh"
. "$TY_SOURCE/tests/it/train_lib.sh"
. "$TY_SOURCE/tests/cluster/slurm_lib.sh"

# why_has ID TEXT: waits for it.
why_has()
{
    for _ in $(seq 150); do
        run "$TRAINYARD" job why "$1"
        grep -qF -e "$2" .out && return
        sleep 0.2
    done
    fail "job why does not say '$2': $(cat .out)"
}

slurm_id() # ID: waits for the number of its Slurm job
{
    local answer=$TRAINYARD_DIR/jobs/$1/run/slurm.1.answer
    for _ in $(seq 100); do [ -s "$answer" ] && break; sleep 0.1; done
    tr -d '\n' <"$answer"
}

# Programs of Slurm behind fakes that are read from stdin; "$real" is the true one.
fake()
{
    mkdir -p bin
    { echo '#!/bin/sh'; echo "real=$(command -v "$1")"; cat; } >"bin/$1"
    chmod +x "bin/$1"
    export PATH=$PWD/bin:$PATH
}

workers_know_each_other_and_slurms_variables()
{
    begin
    local id
    id=$(submit --workers 2 --nproc 2 --gpu 1 -- 'echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT on $SLURMD_NODENAME, $NPROC_PER_NODE each, gpu $CUDA_VISIBLE_DEVICES"')
    ended "$id" Succeeded ""
    local port
    port=$(field "$id" 'next(e["data"]["port"] for e in d["events"] if e["type"] == "WorkerStarted")')
    is "worker 1" "$(log_of --worker 1 "$id")" "1 of 2 at 127.0.0.1:$port on n2, 2 each, gpu 0"
    is "nodes" "$(field "$id" '[w["node"] for w in d["status"]["workers"]]')" "['n1', 'n2']"
}

workers_can_share_a_node()
{
    begin
    local id
    id=$(submit --workers 3 --memory 64Mi --backend-option tasks_per_node=2 -- 'echo "$SLURMD_NODENAME"; echo "$SLURM_MEM_PER_NODE"')
    ended "$id" Succeeded ""
    is "worker 1" "$(log_of --worker 1 "$id" | tr '\n' ' ')" "n1 128 "
    is "worker 2" "$(log_of --worker 2 "$id" | tr '\n' ' ')" "n2 128 "
}

values_never_become_options()
{
    begin
    for option in partition=--wait account=-x 'qos=a b' 'constraint=a;b' time=10s tasks_per_node=0 program=bin/x poll=0s view=x partition=; do
        run "$TRAINYARD" job submit --backend slurm --backend-option "$option" -- true
        status 2
        err_has "'${option%%=*}' of the slurm backend: "
    done
    run "$TRAINYARD" job submit --backend slurm --backend-option queue=x -- true
    status 2
    err_has "the slurm backend has no setting 'queue'; it has 'partition', 'account', 'qos', 'time'"
    local id
    id=$(submit --name=--wait -- 'echo "$SLURM_JOB_NAME"')
    ended "$id" Succeeded ""
    is "name" "$(log_of "$id")" "--wait.$id.1"
}

what_slurm_refuses_is_told_in_its_words()
{
    begin
    local id
    id=$(submit --backend-option partition=nowhere -- true)
    ended "$id" Failed Rejected
    why_has "$id" "Slurm does not take it: "
    out_has "nvalid partition"
    id=$(submit --backend-option partition=short --backend-option time=10m -- true)
    ended "$id" Failed Unschedulable
    why_has "$id" "PartitionTimeLimit: it asks for more time than the partition gives"
}

job_why_says_what_slurm_waits_for()
{
    begin
    local id other
    id=$(submit --workers 4 --cpu 8 -- 'echo up; while [ ! -e go ]; do sleep 0.1; done')
    log_has "$id" up
    other=$(submit --cpu 8 -- 'echo came')
    why_has "$other" "$other is EnvPreparing: got its resources (Admitted); the backend slurm does not run it yet: Slurm job $(slurm_id "$other") waits: Resources: nodes with what it asks for are not free yet"
    local closed
    closed=$(submit --backend-option partition=closed -- true)
    why_has "$closed" "waits: PartitionDown: the partition is down"
    run "$TRAINYARD" job stop "$closed"
    ended "$closed" Stopped UserStopped
    local late
    late=$(submit --cpu 8 --queue-timeout 2s -- true)
    ended "$late" Failed QueueTimeout
    touch go
    ended "$id" Succeeded ""
    ended "$other" Succeeded ""
    is "log" "$(log_of "$other")" came
}

a_supervisor_that_dies_while_it_submits_never_doubles_a_job()
{
    begin
    local id n
    fake sbatch <<'END'
echo called >>"$HOME/calls"
case $(cat "$HOME/mode") in
slow) sleep 3; exec "$real" "$@" ;;
lost) "$real" "$@" >/dev/null; sleep 3; kill -9 $$ ;;
esac
exec "$real" "$@"
END
    export HOME=$PWD
    for mode in slow lost; do
        echo "$mode" >mode
        : >calls
        id=$(submit --name "$mode" -- 'echo "job $SLURM_JOB_ID"; sleep 1')
        for _ in $(seq 100); do [ -s calls ] && break; sleep 0.1; done
        echo quick >mode
        kill_supervisor "$id"
        ended "$id" Succeeded ""
        is "runs of $mode" "$(log_of "$id" | wc -l)" 1
        is "jobs of $mode" "$(squeue -h -t all -o %j | grep -cF "$mode.$id")" 1
    done
    is "calls" "$(wc -l <calls)" 1
}

jobs_wait_for_a_controller_that_is_down()
{
    begin
    local id running
    running=$(submit -- 'echo up; while [ ! -e go ]; do sleep 0.1; done; exit 9')
    log_has "$running" up
    "$up" "$cluster" controller-kill
    id=$(submit -- 'echo came')
    why_has "$id" "Unable to contact slurm controller"
    state_is "$running" Running
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$running" # its end is seen without Slurm
    is "end" "$(field "$running" '(d["state"], d["status"]["exit"]["code"])')" "('Failed', 9)"
    "$up" "$cluster" controller-start
    ended "$id" Succeeded ""
    is "log" "$(log_of "$id")" came
    is "jobs" "$(squeue -h -t all -o %j | grep -cF "$id")" 1
}

a_stop_reaches_a_worker_also_without_the_controller()
{
    begin
    local id
    id=$(submit -- 'trap "echo saved; exit 0" TERM; echo up; while :; do sleep 0.05; done')
    log_has "$id" up
    "$up" "$cluster" controller-kill
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    log_has "$id" saved
    "$up" "$cluster" controller-start
    ended "$id" Stopped UserStopped
}

a_job_goes_on_elsewhere_when_its_node_fails()
{
    begin
    local id node
    id=$(submit --retries 1 --backoff 100ms -- 'echo "try $TRAINYARD_RESTART_COUNT on $SLURMD_NODENAME"; [ "$TRAINYARD_RESTART_COUNT" = 1 ] || sleep 1000')
    log_has "$id" "try 0"
    node=$(field "$id" 'd["status"]["workers"][0]["node"]')
    "$up" "$cluster" node-kill "${node#n}"
    scontrol update nodename="$node" state=down reason=test
    run "$TRAINYARD" job wait --timeout 100s "$id"
    "$up" "$cluster" node-start "${node#n}" # which ends what was left on it
    scontrol update nodename="$node" state=resume 2>/dev/null
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[(e["reason"], e["message"].split(":")[0]) for e in d["events"] if e["type"] == "RestartScheduled"]')" \
        "[('NodeFailure', 'Slurm job $(slurm_number "$id") failed')]"
}

slurm_number() { field "$1" 'next(e["message"] for e in d["events"] if e["type"] == "RestartScheduled").split()[2]'; }

a_preempted_job_says_so_and_starts_again()
{
    begin
    local id high
    id=$(submit --workers 4 --cpu 8 --retries 1 --backoff 100ms --backend-option partition=low -- \
        'trap "echo saved; exit 0" TERM; echo up; while [ "$TRAINYARD_RESTART_COUNT" = 0 ]; do sleep 0.05; done')
    log_has "$id" up
    high=$(submit --workers 4 --cpu 8 --backend-option partition=high -- 'sleep 1')
    ended "$high" Succeeded ""
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['Preempted']"
    is "log" "$(log_of --attempt 1 --worker 2 "$id" | grep -vx Terminated | tr '\n' ' ')" "up saved "
}

who_cancels_it_in_slurm_ends_it()
{
    begin
    local id
    id=$(submit --retries 3 -- 'echo up; sleep 1000')
    log_has "$id" up
    scancel "$(slurm_id "$id")"
    ended "$id" Failed UserStopped
    why_has "$id" "was canceled in Slurm, not by us (CANCELLED"
    id=$(submit --retries 3 --backend-option partition=closed -- true)
    why_has "$id" PartitionDown
    scancel "$(slurm_id "$id")"
    ended "$id" Failed UserStopped
}

a_job_that_needs_more_memory_than_it_asked_for_says_so()
{
    begin
    local id
    id=$(submit --memory 60Mi --retries 3 -- 'exec python3 -c "
import time
x = b\"x\" * (400 << 20)
time.sleep(100)"')
    ended "$id" Failed OutOfMemory
    why_has "$id" "needed more memory than it asked for"
}

before_its_time_is_over_a_job_saves_and_starts_again()
{
    begin
    local id
    id=$(submit --retries 1 --backoff 100ms --grace 5s --backend-option time=2m -- \
        'trap "echo saved; exit 0" TERM; echo "try $TRAINYARD_RESTART_COUNT"; while [ "$TRAINYARD_RESTART_COUNT" = 0 ]; do sleep 0.05; done')
    run "$TRAINYARD" job wait --timeout 150s "$id"
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['Evicted']"
    is "log" "$(log_of --attempt 1 "$id" | grep -vx Terminated | tr '\n' ' ')" "try 0 saved "
}

one_worker_starts_again_alone()
{
    begin
    local id
    id=$(submit --workers 2 --restart worker --retries 2 --backoff 100ms -- \
        'echo "$RANK of $MASTER_ADDR, try $TRAINYARD_RESTART_COUNT"; if [ "$RANK" = 1 ] && [ "$TRAINYARD_RESTART_COUNT" = 0 ]; then sleep 2; exit 75; fi; sleep 6')
    ended "$id" Succeeded ""
    is "worker 0" "$(log_of --worker 0 "$id")" "0 of 127.0.0.1, try 0"
    is "worker 1" "$(log_of --worker 1 "$id" | tr '\n' ';')" "1 of 127.0.0.1, try 0;1 of 127.0.0.1, try 1;"
    is "attempt" "$(field "$id" 'd["attempt"]')" 1
}

one_squeue_asks_for_all_jobs()
{
    begin
    local id ids=() n
    fake squeue <<'END'
echo "$(date +%s)" >>"$HOME/asked"
exec "$real" "$@"
END
    export HOME=$PWD
    flags=(--backend slurm --backend-option poll=3s)
    for _ in $(seq 8); do ids+=("$(submit -- 'sleep 8')"); done
    for id in "${ids[@]}"; do run "$TRAINYARD" job wait --timeout 60s "$id"; status 0; done
    n=$(wc -l <asked)
    [ "$n" -le 15 ] || fail "squeue was run $n times for 8 jobs in about 12 s"
}

# Two workers with two ranks each, as printed in PAI's pages; on one machine the same bytes.
torchrun_on_two_nodes_gives_the_bytes_of_one_machine()
{
    command -v mpirun >/dev/null || skip "Open MPI is not installed"
    begin
    local id
    mkdir bin
    ln -s "$TRAINYARD" bin/torchrun
    "$TRAINYARD" data gen taobao --rows 2000 --files 2 --out data >/dev/null 2>&1
    cp "$TY_SOURCE/examples/din-taobao.config" din.config
    "$TRAINYARD" train din.config "${din[@]}" --shards 4 --model-dir "$PWD/one" >one.log 2>&1 || fail "one machine: $(tail -3 one.log)"
    id=$(PATH=$PWD/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 submit --inherit --workers 2 --nproc 2 --cpu 2 --memory 3Gi -- \
        "torchrun --master_addr=\$MASTER_ADDR --master_port=\$MASTER_PORT --nnodes=\$WORLD_SIZE --nproc-per-node=\$NPROC_PER_NODE --node_rank=\$RANK \
        -m tzrec.train_eval --pipeline_config_path din.config --model_dir $PWD/two --train_input_path $PWD/data/train/\\*.parquet --eval_input_path $PWD/data/eval/\\*.parquet --edit_config_json '{\"data_config.batch_size\": 64, \"train_config.num_epochs\": 1}'")
    run "$TRAINYARD" job wait --timeout 200s "$id"
    ended "$id" Succeeded ""
    log_of --worker 0 "$id" | grep -q "ranks       4 of" || fail "not four ranks: $(log_of --worker 0 "$id" | head -20)"
    local c n=0
    for c in one/model.ckpt-*; do
        same_checkpoint "$c" "two/${c##*/}"
        n=$((n + 1))
    done
    [ "$n" -gt 0 ] || fail "no checkpoints"
}
din=(--set data_config.batch_size=64 --set train_config.num_epochs=1 --set 'train_input_path=data/train/*.parquet' --set 'eval_input_path=data/eval/*.parquet')

(contract workers_know_each_other_and_slurms_variables workers_can_share_a_node values_never_become_options \
    what_slurm_refuses_is_told_in_its_words job_why_says_what_slurm_waits_for \
    a_supervisor_that_dies_while_it_submits_never_doubles_a_job jobs_wait_for_a_controller_that_is_down \
    a_stop_reaches_a_worker_also_without_the_controller a_job_goes_on_elsewhere_when_its_node_fails \
    a_preempted_job_says_so_and_starts_again who_cancels_it_in_slurm_ends_it \
    a_job_that_needs_more_memory_than_it_asked_for_says_so one_worker_starts_again_alone one_squeue_asks_for_all_jobs torchrun_on_two_nodes_gives_the_bytes_of_one_machine \
    before_its_time_is_over_a_job_saves_and_starts_again) # it has a trap of its own
