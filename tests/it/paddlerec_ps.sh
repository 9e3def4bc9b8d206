#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Parameter servers: class local_cluster_train, nodes that the environment describes, every strategy, what the result
# depends on, processes that die, strangers.
. "$(dirname "$0")/lib.sh"

# rows N [FIRST]: lines of slots whose label follows from slot 1.
rows()
{
    awk -v n="$1" -v from="${2:-0}" 'BEGIN { for (i = from; i < from + n; i++)
        printf "click:%d dense_feature:%g dense_feature:%g 1:%d 2:%d 2:%d\n", i % 3 == 0, i / 100, 1 - i / 100, i % 3, i % 7, i % 5 }'
}

# config [CLASS]
config()
{
    mkdir -p models/rank/dnn data
    rows 40 >data/part-0
    rows 40 40 >data/part-1
    cat >config.yaml <<END
workspace: models/rank/dnn
mode: [train]
dataset:
- {name: d, type: DataLoader, data_path: data, batch_size: 4, sparse_slots: "click 1 2", dense_slots: "dense_feature:2"}
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_feature_number: 50
  sparse_feature_dim: 4
  fc_sizes: [16, 8]
runner:
- {name: train, class: ${1:-local_cluster_train}, distribute_strategy: sync, print_interval: 5, phases: [p], epochs: 6,
   save_checkpoint_interval: 3, save_checkpoint_path: increment}
- {name: infer, class: infer, init_model_path: increment, phases: [p]}
phase:
- {name: p, model: "{workspace}/model.py", dataset_name: d}
END
}

# train [KEY=VALUE]...: of the runner.
train()
{
    local words=()
    for pair in "$@"; do words+=(--set "runner[name=train].$pair"); done
    run "$TRAINYARD" run config.yaml "${words[@]}"
}

one_trainer_does_what_a_single_process_does()
{
    config
    train class=train
    status 0
    mv increment single
    for mode in sync half_async geo; do
        train distribute_strategy=$mode server_num=2 geo_step=1
        status 0
        check "$mode: the same checkpoints" diff -r single increment
        rm -r increment
    done
    out_has "launch GeneralTrainer engine with cluster to run model: config.yaml"
    err_has 'all workers already completed, you can view logs under the `logs` directory'
    check "logs are there" test -s logs/server.1 -a -s logs/worker.0
    check "they are PaddleRec's" grep -qx "Running PSRunner." logs/worker.0
    check "only the first trainer saves" grep -q 'save epoch_id:5 model into: "increment/5"' logs/worker.0
}

sync_depends_on_trainers_alone()
{
    config
    for servers in 1 3; do
        train worker_num=2 server_num=$servers
        status 0
        mv increment "with$servers"
    done
    check "the same bytes on any number of servers" diff -r with1 with3
    check "epochs have names" test "$(cd with1 && echo *)" = "2 5"
}

every_strategy_learns()
{
    config
    for mode in half_async async geo; do
        run "$TRAINYARD" run config.yaml --set 'mode=[train, infer]' --set 'runner[name=train].worker_num=2' \
            --set "runner[name=train].distribute_strategy=$mode" --set 'runner[name=train].epochs=20' --set 'train.strategy.mode.push_num=3'
        status 0
        grep -q 'Infer p of epoch increment/19 done.*AUC=\[1.\]' .out || fail "$mode: $(tail -n 2 .out)"
        rm -r increment
    done
}

files_are_shared_by_trainers()
{
    config
    train worker_num=5
    status 0
    out_has "phases do not have enough datas for training, set worker/gpu cards num from 5 to 2"
    check "two of them" test "$(echo logs/worker.*)" = "logs/worker.0 logs/worker.1"
    check "10 batches each" test "$(grep -c 'batch: 5,' logs/worker.1)" = 6
    train worker_num=2 phases='[p, q]'
    status 2
}

servers_start_from_a_model()
{
    config
    train epochs=20 save_checkpoint_interval=20
    status 0
    mv increment first
    train epochs=1 init_model_path=first/19 worker_num=2
    status 0
    check "the server loads it" grep -qx "load from first/19 success" logs/server.0
    loss=$(sed -n 's/^epoch 0 .*LOSS=\[\(.*\)\]/\1/p' logs/worker.0)
    check "the loss goes on ($loss)" awk "BEGIN { exit !($loss < 0.05) }"
    train init_model_path=nowhere
    status 1
    err_has "server 0 ended with exit status 1: see logs/server.0"
    check "which says it" grep -q "There is no directory named 'nowhere'" logs/server.0
    train init_model_path=first/19 distribute_strategy=geo
    status 2
    err_has "error[E0529]: runner.train: geo does not start from a model"
}

a_dead_trainer_stops_only_those_that_wait_for_it()
{
    config
    echo broken >>data/part-1
    train worker_num=2 distribute_strategy=async
    status 1
    err_has "worker 1 failed: see logs/worker.1; the others train on"
    err_has "error[E2705]: runner train: worker 1 ended with exit status 1: see logs/worker.1; the others trained on"
    check "its log says why" grep -q "data/part-1': line 41" logs/worker.1
    check "the model is saved" test -d increment/5
    rm -r increment
    train worker_num=2
    status 1
    err_has "error[E2705]: runner train: worker 1 ended with exit status 1: see logs/worker.1"
    check "nothing is left" test ! -d increment/5
}

# kill_servers: those of the run in this directory.
kill_servers()
{
    for p in /proc/[0-9]*; do
        [ "$(readlink "$p/cwd")" = "$PWD" ] && tr '\0' '\n' <"$p/environ" | grep -qx TRAINING_ROLE=PSERVER && kill -9 "${p#/proc/}"
    done 2>/dev/null
}

# wait_for TEXT FILE
wait_for()
{
    for _ in $(seq 600); do
        grep -q "$1" "$2" 2>/dev/null && return
        sleep 0.05
    done
    fail "$2 has no '$1'"
}

a_killed_server_goes_on_from_its_snapshot()
{
    config
    for mode in sync geo; do
        train epochs=30 distribute_strategy=$mode geo_step=2
        status 0
        mv increment "plain-$mode"
        rm -r logs
        TRAINYARD_PS_SNAPSHOT_SECONDS=0 "$TRAINYARD" run config.yaml --set 'runner[name=train].epochs=30' --set 'runner[name=train].geo_step=2' \
            --set "runner[name=train].distribute_strategy=$mode" >.out 2>.err &
        run=$!
        wait_for 'epoch: 2,' logs/worker.0
        kill_servers
        wait $run
        got=$?
        status 0
        err_has "server 0 ended with killed by SIGKILL: it goes on from its last snapshot (1 of 3)"
        check "$mode: nothing is lost or done twice" diff -r "plain-$mode" increment
        check "no snapshot is left" test "$(echo logs/*.snapshot)" = 'logs/*.snapshot'
        rm -r increment
    done
}

a_server_that_is_killed_again_and_again_ends_the_run()
{
    config
    "$TRAINYARD" run config.yaml --set 'runner[name=train].epochs=1000000' >.out 2>.err &
    run=$!
    wait_for 'batch: 5' logs/worker.0
    for _ in $(seq 100); do
        kill -0 $run 2>/dev/null || break
        kill_servers
        sleep 0.2
    done
    wait $run
    got=$?
    status 1
    err_has "goes on from its last snapshot (3 of 3)"
    err_has "error[E2705]: runner train: server 0 ended with killed by SIGKILL: see logs/server.0"
}

# node ROLE NUMBER [VARIABLE=VALUE]...: a process of a cluster on this machine, with one server at $port.
node()
{
    local role=$1 number=$2
    shift 2
    env PADDLE_PADDLEREC_ROLE=WORKER PADDLEREC_CLUSTER_TYPE=K8S "TRAINING_ROLE=$role" "PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:$port" \
        POD_IP=127.0.0.1 "PADDLE_PORT=$port" PADDLE_TRAINERS_NUM=2 "PADDLE_TRAINER_ID=$number" TRAINYARD_PS_SECRET=twenty-letters-or-so "$@" \
        "$TRAINYARD" run config.yaml
}

free_port()
{
    python3 -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
}

nodes_meet_and_strangers_get_nothing()
{
    config cluster_train
    port=$(free_port)
    node PSERVER 0 >server.log 2>&1 &
    server=$!
    for _ in $(seq 200); do
        (echo "GET / HTTP/1.0" >"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
        sleep 0.05
    done
    head -c 3000 /dev/urandom >"/dev/tcp/127.0.0.1/$port"
    run node TRAINER 0 TRAINYARD_PS_SECRET=another-secret-as-long FLAGS_rpc_deadline=1500 FLAGS_rpc_retry_times=1
    status 1
    err_has "error[E2701]: runner train: server 0 (127.0.0.1:$port) has not answered for 1 s"
    sed 's/sparse_feature_dim: 4/sparse_feature_dim: 5/' config.yaml >other.yaml
    mv config.yaml good.yaml && mv other.yaml config.yaml
    run node TRAINER 0
    status 2
    err_has "error[E2703]: runner train: server 0: trainer 0 trains another model"
    mv good.yaml config.yaml
    node TRAINER 1 >worker.1 2>&1 &
    other=$!
    printf 'twenty-letters-or-so\n' >secret
    run node TRAINER 0 TRAINYARD_PS_SECRET_FILE=secret
    status 0
    out_has "PADDLEREC_CLUSTER_TYPE: K8S"
    wait $other || fail "$(cat worker.1)"
    wait $server || fail "$(cat server.log)"
    check "they trained" test -d increment/5
    check "the secret is told to nobody" test "$(cat server.log worker.1 .out .err | grep -c twenty-letters)" = 0
}

# not_a_node CODE TEXT [VARIABLE=VALUE]...
not_a_node()
{
    code=$1 text=$2
    shift 2
    run node TRAINER 0 "$@"
    status 2
    err_has "error[$code]: runner train: $text"
}

an_environment_that_cannot_be_is_told()
{
    config cluster_train
    port=1
    not_a_node E2706 "TRAINING_ROLE must be PSERVER or TRAINER, not 'BOSS'" TRAINING_ROLE=BOSS
    not_a_node E2706 "something wrong with PaddleCloud, please check environment: PADDLE_PSERVERS_IP_PORT_LIST is not set" PADDLE_PSERVERS_IP_PORT_LIST=
    not_a_node E2706 "something wrong with PaddleCloud, please check environment: PADDLE_TRAINERS_NUM" PADDLE_TRAINERS_NUM=none
    not_a_node E2706 "something wrong with PaddleCloud, please check environment: PADDLE_TRAINER_ID is a number below 2" PADDLE_TRAINER_ID=2
    not_a_node E2706 "something wrong with PaddleCloud, please check environment: POD_IP:PADDLE_PORT is '127.0.0.9:1'" TRAINING_ROLE=PSERVER POD_IP=127.0.0.9
    not_a_node E2702 "servers and trainers know each other by the job's secret" TRAINYARD_PS_SECRET=short
    not_a_node E2702 "servers and trainers know each other by the job's secret" TRAINYARD_PS_SECRET=
    config
    train fleet_mode=collective
    status 2
    err_has "error[E0529]: runner.train: this version trains on clusters with fleet_mode ps"
}

a_pipeline_config_is_trained_by_servers()
{
    config train
    "$TRAINYARD" run config.yaml --print-pipeline >p.config 2>/dev/null
    run "$TRAINYARD" train p.config --ps 1x2 --ps-mode sync --model-dir one --set train_config.num_epochs=30
    status 0
    err_has "done        1 servers and 2 trainers, sync"
    run "$TRAINYARD" train p.config --ps 2x2 --ps-mode sync --model-dir two --set train_config.num_epochs=30
    status 0
    check "sync does not depend on the number of servers" cmp one/model.ckpt-*/model-*.safetensors two/model.ckpt-*/model-*.safetensors
    check "each made its passes" test "$(grep -hc '^pass [0-9]*: 10 steps, loss' logs/worker.0 logs/worker.1 | tr '\n' ' ')" = "30 30 "
    for mode in half_async async geo; do
        run "$TRAINYARD" train p.config --ps 2x2 --ps-mode $mode --ps-geo-step 3 --model-dir $mode --set train_config.num_epochs=30
        status 0
        run "$TRAINYARD" eval $mode/pipeline.config --set eval_input_path=data
        status 0
        check "$mode learns" awk '/^auc/ { exit !($2 > 0.9) }' .out
    done
    run "$TRAINYARD" train p.config --ps 2x2 --model-dir two
    status 2
    err_has "error[E1405]: model_dir 'two' holds a checkpoint"
    run "$TRAINYARD" train p.config --ps 2x3 --model-dir three
    status 2
    err_has "error[E0603]: --ps: 3 trainers take whole files, and train_input_path 'data' has 2"
    for word in 2 0x1 2x 2x2x2 ax2 300x1; do
        run "$TRAINYARD" train p.config --ps $word --model-dir three
        status 2
        err_has "error[E0603]: --ps: '$word' is not SERVERSxTRAINERS, such as 2x4"
    done
    run "$TRAINYARD" train p.config --ps 2x2 --continue
    status 2
    err_has "error[E0609]: --ps has no --continue"
    for pair in num_steps=5/num_steps fine_tune_checkpoint=two/fine_tune_checkpoint; do
        run "$TRAINYARD" train p.config --ps 2x2 --model-dir three --set "train_config.${pair%%/*}"
        status 2
        err_has "error[E0609]: --ps "
        err_has "${pair#*/}"
    done
    check "nothing was begun" test ! -e three
}

if [ ! -e "$(dirname "$(readlink -f "$TRAINYARD")")/libtrainyard_zmq.so" ]; then
    echo "1..0 # SKIP no libtrainyard_zmq.so beside the program"
    exit 0
fi
tap_cases one_trainer_does_what_a_single_process_does sync_depends_on_trainers_alone every_strategy_learns \
    files_are_shared_by_trainers servers_start_from_a_model a_dead_trainer_stops_only_those_that_wait_for_it \
    a_killed_server_goes_on_from_its_snapshot a_server_that_is_killed_again_and_again_ends_the_run nodes_meet_and_strangers_get_nothing a_pipeline_config_is_trained_by_servers an_environment_that_cannot_be_is_told
