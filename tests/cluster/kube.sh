#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises (tests/it/contract_lib.sh), of pods in a real Kubernetes, started for
# this script and stopped behind it, with the rights that `trainyard backend role kubernetes`
# prints; then what is Kubernetes' own.
TY_SOURCE=${TY_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
TY_BUILD=${TY_BUILD:-$TY_SOURCE/build/dev}
TRAINYARD=${TRAINYARD:-$TY_BUILD/trainyard}
export TRAINYARD
. "$TY_SOURCE/tests/it/contract_lib.sh"
. "$TY_SOURCE/tests/it/train_lib.sh"
. "$TY_SOURCE/tests/cluster/kube_lib.sh"

workers_know_each_other()
{
    begin
    local id
    id=$(submit --workers 2 --nproc 2 -- 'echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT, $NPROC_PER_NODE each"')
    ended "$id" Succeeded ""
    is "worker 1" "$(log_of --worker 1 "$id")" "1 of 2 at $id-1-0.$id-1:23456, 2 each"
    is "nodes" "$(field "$id" '[w["node"] for w in d["status"]["workers"]]')" "['node-0', 'node-0']"
}

# Nothing else in the cluster can be seen with the rights that we ask for.
the_rights_are_no_more_than_needed()
{
    begin
    is "secrets" "$(kubectl auth can-i get secrets; kubectl auth can-i list secrets; kubectl auth can-i list pods -n kube-system)" "$(printf 'no\nno\nno')"
    is "pods" "$(kubectl auth can-i list pods)" yes
}

what_kubernetes_refuses_is_told_in_its_words()
{
    begin
    local id
    id=$(submit --backend-option namespace=kube-system -- true)
    ended "$id" Failed Rejected
    run "$TRAINYARD" job why "$id"
    out_has "cannot patch resource"
    id=$(submit --backend-option mounts=host:/tmp=/ml:ro -- true)
    ended "$id" Failed Rejected
    run "$TRAINYARD" job why "$id"
    out_has "duplicate entries for key"
    id=$(submit --backend-option service_account=nobody --queue-timeout 15s -- true)
    why_has "$id" 'serviceaccount "nobody" not found'
    ended "$id" Failed QueueTimeout
}

an_image_that_is_not_there_is_said()
{
    begin
    local id
    id=$("$TRAINYARD" job submit --backend kubernetes --image localhost/none:1 --backend-option image_wait=3s -- true)
    ended "$id" Failed ImagePull
    run "$TRAINYARD" job why "$id"
    out_has "its image cannot be had"
    id=$("$TRAINYARD" job submit --backend kubernetes --image localhost/none:1 --backend-option pull=never -- true)
    ended "$id" Failed ImagePull
}

what_no_node_has_is_waited_for_in_words()
{
    begin
    local id
    id=$(submit --gpu 1 --queue-timeout 30s -- true)
    why_has "$id" "Insufficient nvidia.com/gpu"
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
}

a_worker_that_needs_more_memory_than_it_asked_for_says_so()
{
    begin
    local id
    id=$(submit --memory 32Mi -- 'python3 -c "b = bytearray(200 << 20)"; exit $?')
    run "$TRAINYARD" job wait --timeout 100s "$id"
    is "end" "$(field "$id" '(d["state"], d["reason"] in ("OutOfMemory", "UserExit"))')" "('Failed', True)"
    id=$(submit --memory 32Mi -- python3 -c "b = bytearray(200 << 20)")
    ended "$id" Failed OutOfMemory
}

a_quota_is_waited_for()
{
    begin
    local id
    admin create quota few -n "$space" --hard=pods=0 >/dev/null
    id=$(submit --queue-timeout 60s -- 'echo at last')
    why_has "$id" "exceeded quota"
    admin delete quota few -n "$space" >/dev/null
    ended "$id" Succeeded ""
}

a_pod_that_somebody_deletes_starts_again()
{
    begin
    local id
    id=$(submit --retries 1 --backoff 100ms -- 'echo "try $TRAINYARD_RESTART_COUNT"; [ "$TRAINYARD_RESTART_COUNT" = 1 ] || sleep 100')
    log_has "$id" "try 0"
    admin delete pods -n "$space" -l "trainyard.io/job=$id" --grace-period=1 >/dev/null
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['Evicted']"
}

one_worker_starts_again_alone()
{
    begin
    local id
    id=$(submit --workers 2 --restart worker --retries 1 --backoff 100ms -- \
        'echo "try $TRAINYARD_RESTART_COUNT"; if [ "$RANK" = 0 ]; then while [ ! -e met ]; do sleep 0.1; done; elif [ "$TRAINYARD_RESTART_COUNT" = 0 ]; then exit 75; else getent hosts "$MASTER_ADDR" >/dev/null && touch met; fi')
    ended "$id" Succeeded ""
    is "worker 0" "$(log_of --worker 0 "$id")" "try 0"
    is "worker 1" "$(log_of --worker 1 "$id" | tr '\n' ' ')" "try 0 try 1 "
}

an_api_server_that_is_away_is_waited_for()
{
    begin
    local id
    id=$(submit -- 'i=0; while [ $i -lt 100 ]; do echo "line $i"; i=$((i+1)); sleep 0.1; done')
    log_has "$id" "line 5"
    "$up" "$cluster" part-kill kube-apiserver
    sleep 12
    state_is "$id" Running
    "$up" "$cluster" part-start kube-apiserver
    ended "$id" Succeeded ""
    log_of "$id" >got.txt
    seq -f 'line %.0f' 0 99 | cmp - got.txt || fail "the log differs"
}

a_token_that_is_over_can_be_renewed()
{
    begin
    local id
    cp "$cluster/account-$space" account
    export KUBECONFIG=$PWD/account
    id=$(submit -- 'echo up; sleep 8; echo over')
    log_has "$id" up
    token_config "$space" account junk
    sleep 2
    cp "$cluster/account-$space" account
    ended "$id" Succeeded ""
    log_has "$id" over
}

# Two workers with two ranks each, as printed in PAI's pages; on one machine the same bytes.
torchrun_on_two_pods_gives_the_bytes_of_one_machine()
{
    command -v mpirun >/dev/null || skip "Open MPI is not installed"
    begin
    local id c n=0
    mkdir src
    ln -s "$TRAINYARD" src/torchrun
    "$TRAINYARD" data gen taobao --rows 2000 --files 2 --out src/data >/dev/null 2>&1
    cp "$TY_SOURCE/examples/din-taobao.config" src/din.config
    (cd src && "$TRAINYARD" train din.config --set data_config.batch_size=64 --set train_config.num_epochs=1 --set 'train_input_path=data/train/*.parquet' \
        --set 'eval_input_path=data/eval/*.parquet' --shards 4 --model-dir ../one) >one.log 2>&1 || fail "one machine: $(tail -3 one.log)"
    id=$(submit --source src --workers 2 --nproc 2 --memory 3Gi --env OMPI_ALLOW_RUN_AS_ROOT=1 --env OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 -- \
        './torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
        -m tzrec.train_eval --pipeline_config_path din.config --model_dir $PAI_OUTPUT_MODEL/two --train_input_path data/train/\*.parquet --eval_input_path data/eval/\*.parquet --edit_config_json '"'"'{"data_config.batch_size": 64, "train_config.num_epochs": 1}'"'")
    run "$TRAINYARD" job wait --timeout 300s "$id"
    ended "$id" Succeeded ""
    log_of --worker 0 "$id" | grep -q "ranks       4 of" || fail "not four ranks: $(log_of --worker 0 "$id" | head -20)"
    for c in one/model.ckpt-*; do
        same_checkpoint "$c" "$TRAINYARD_DIR/jobs/$id/ml/output/model/two/${c##*/}"
        n=$((n + 1))
    done
    [ "$n" -gt 0 ] || fail "no checkpoints"
}

contract workers_know_each_other the_rights_are_no_more_than_needed what_kubernetes_refuses_is_told_in_its_words an_image_that_is_not_there_is_said \
    what_no_node_has_is_waited_for_in_words a_worker_that_needs_more_memory_than_it_asked_for_says_so a_quota_is_waited_for \
    a_pod_that_somebody_deletes_starts_again one_worker_starts_again_alone an_api_server_that_is_away_is_waited_for a_token_that_is_over_can_be_renewed \
    torchrun_on_two_pods_gives_the_bytes_of_one_machine
