#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan --simulate against a run on hosts whose links are as slow as the prediction was told. Steps are short and
# messages long, so that the link counts. A step takes what was predicted within a fifth. Who else uses this machine
# makes a run slower, never faster: where others do, how much more it takes is shown and not checked.
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
. "$(dirname "$0")/ranks_lib.sh"
. "$(dirname "$0")/ranks_hosts_lib.sh"

# Few rows and wide layers: gradients of 12 MB.
wide()
{
    "$TRAINYARD" data gen taobao --rows 4000 --files 2 --out data >/dev/null 2>&1
    cat >c.config <<'END'
train_input_path: "data/train" eval_input_path: "" model_dir: "m"
train_config {
  num_steps: 14 num_epochs: 0 log_step_count_steps: 1 use_tensorboard: false save_checkpoints_steps: 100000
  sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { sgd_optimizer { lr: 0.01 } constant_learning_rate {} }
}
data_config { batch_size: 16 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" hash_bucket_size: 100000 embedding_dim: 256 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id" hash_bucket_size: 10000 embedding_dim: 256 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "cate_id"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [2048, 1024] } } final { hidden_units: 16 } }
  losses { binary_cross_entropy {} }
}
END
}

# delays: this kernel can hold packets back
delays()
{
    # shellcheck disable=SC2016
    unshare -n sh -c 'ip link add va type veth peer name vb && tc qdisc add dev va root netem delay 1ms' 2>/dev/null
}

# slow RATE DELAY: the links of all hosts; a delay of 50us is what they have
slow()
{
    local p
    for p in "${host_pids[@]}"; do
        nsenter -t "$p" -n tc qdisc add dev eth0 root handle 1: tbf rate "$1" burst 1mb latency 400ms 2>/dev/null ||
            { no_hosts; skip "this kernel does not slow down links"; }
        [ "$2" = 50us ] || nsenter -t "$p" -n tc qdisc add dev eth0 parent 1: netem delay "$2" limit 100000 ||
            fail "netem"
    done
}

# quiet: nobody else uses this machine to speak of
quiet() { awk -v n="$(nproc)" '{ exit !($1 < n / 2) }' /proc/loadavg; }

# as_predicted N RATE WORDS DELAY: a step on N hosts with such links takes what was predicted for them
as_predicted()
{
    local i most=1.2 delay=$4
    quiet || most=1000
    delays || delay=50us
    run "$TRAINYARD" plan c.config --simulate --ranks "$1" --hosts "$1" --link "$3,$delay" --json
    status 0
    cp .out predicted
    hosts "$1"
    slow "$2" "$delay"
    rm -rf m
    for i in $(seq "$1" -1 1); do
        on "$i" "$TRAINYARD" launch --nnodes "$1" --node-rank $((i - 1)) --master-addr 10.98.0.1 --master-port 29556 --rdzv-id s \
            --nproc-per-node 1 train c.config --threads 1 --log json
    done
    for i in $(seq "$1"); do
        ended "$i"
        status 0
    done
    no_hosts
    python3 - host1.log $most <<'PY' >compared || { fail "$1 hosts of $3 take another time than predicted:"; show compared; }
import json, statistics, sys
want = json.load(open("predicted"))["ranks"][0]
lines = [json.loads(l) for l in open(sys.argv[1]) if l.startswith('{"event": "progress"')]
took = sorted(16 * want["ranks"] / l["rows_per_s"] * 1e3 for l in lines[3:-1])
took = statistics.median(took[:len(took) // 2 + 1])  # the half that was disturbed least
print(f"# {want['ranks']} hosts: {took:.1f} ms a step, predicted {want['step_ms']:.1f} ms, most of it {want['then']}")
sys.exit(not 0.8 <= took / want["step_ms"] <= float(sys.argv[2]) or want["then"] != "dense")
PY
    cat compared >&3
}

a_slow_link_costs_what_was_predicted()
{
    wide
    as_predicted 2 200mbit 200Mbit 100us
}

a_slow_link_of_four_hosts_costs_what_was_predicted()
{
    wide
    as_predicted 4 200mbit 200Mbit 1ms
}

a_link_of_a_gigabit_costs_what_was_predicted()
{
    wide
    as_predicted 2 1gbit 1Gbit 1ms
}

predictions_say_what_is_wrong()
{
    wide
    run "$TRAINYARD" plan c.config --simulate --ranks 2..x
    status 2
    err_has "error[E0603]: --ranks: '2..x' is neither a number from 1 to 1024 nor two of them as in 8..1024"
    run "$TRAINYARD" plan c.config --ranks 2..8
    status 2
    err_has "error[E0609]: --ranks 2..8: several numbers need --simulate"
    run "$TRAINYARD" plan c.config --simulate --link 3,4
    status 2
    err_has "error[E0603]: --link: '3,4' is not a rate and a one-way time such as 25Gbit,5us or 100Mbit,1ms"
    run "$TRAINYARD" plan c.config --simulate --ranks 8..1024 --hosts 2
    status 0
    [ "$(grep -c '%  ' .out)" = 8 ] || { fail "not eight lines:"; show .out; }
    out_has "85 % at 64 ranks on 16 hosts needs "
}

tap_cases a_slow_link_costs_what_was_predicted a_slow_link_of_four_hosts_costs_what_was_predicted \
    a_link_of_a_gigabit_costs_what_was_predicted predictions_say_what_is_wrong
