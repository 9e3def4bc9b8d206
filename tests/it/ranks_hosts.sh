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

# hosts N: host1 .. hostN, with addresses 10.98.0.1 and on
hosts()
{
    local i
    [ "$TY_TEST_NETWORK" = none ] && skip "this machine allows no network namespaces"
    for i in 0 1 2 3; do
        ip link del "ty$i" 2>/dev/null
    done
    ip link add ty0 type bridge && ip link set ty0 up && ip link set lo up
    host_pids=()
    for i in $(seq "$1"); do
        unshare -nu sh -c "hostname host$i; exec sleep 300" &
        host_pids[i]=$!
        for _ in $(seq 100); do
            [ "$(nsenter -t "${host_pids[i]}" -u hostname 2>/dev/null)" = "host$i" ] && break
            sleep 0.02
        done
        ip link add "ty$i" type veth peer name eth0 netns "${host_pids[i]}"
        ip link set "ty$i" master ty0 up
        nsenter -t "${host_pids[i]}" -n sh -c "ip addr add 10.98.0.$i/24 dev eth0; ip link set eth0 up; ip link set lo up"
    done
}
# on I COMMAND...: in the background, with its output in the file host<I>.log
on()
{
    local i=$1
    shift
    mkdir -p "t$i"
    TY_TEST_RUN=$PWD TMPDIR=$PWD/t$i nsenter -t "${host_pids[i]}" -n -u timeout 200 "$@" >"host$i.log" 2>&1 </dev/null &
    launchers[i]=$!
}
# ended I: the exit status of that launcher, in $got
ended()
{
    wait "${launchers[$1]}"
    got=$?
    cp "host$1.log" .err # for status
}
no_hosts()
{
    kill "${host_pids[@]}" 2>/dev/null
    wait "${host_pids[@]}" 2>/dev/null
    no_ranks_left
}
# said I TEXT
said() { grep -qF -- "$2" "host$1.log" || { fail "host $1 does not say '$2':"; show "host$1.log"; }; }
one_message() { [ "$(grep -c 'error\[' "host$1.log")" = 1 ] || { fail "not one message of host $1:"; show "host$1.log"; }; }

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
    the_host_of_the_endpoint_is_the_first \
    a_host_that_never_comes_is_named \
    a_port_in_use_is_named \
    who_does_not_know_the_secret_is_refused \
    a_host_that_is_cut_off_ends_all_within_ten_seconds \
    a_run_goes_on_without_a_host_that_is_gone \
    a_stop_on_any_host_saves_a_checkpoint
