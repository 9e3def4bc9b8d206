#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line of DLC's client, as scripts of its users have it.
. "$(dirname "$0")/lib.sh"

place()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE TRAINYARD_JOB_ID TRAINYARD_DLC_BACKEND
    mkdir bin
    ln -s "$TRAINYARD" bin/dlc
    PATH=$PWD/bin:$PATH
}

job_id()
{
    python3 -c 'import json; print(json.load(open(".out"))["JobId"])'
}

# A torchrun and a pip that say what they were asked for.
fakes()
{
    printf '#!/bin/sh\necho pip "$@"\n' >bin/pip
    printf '#!/bin/sh\necho torchrun "$@"\n' >bin/torchrun
    chmod +x bin/pip bin/torchrun
}

# The script that DLC's console writes ("generate script"), as printed in the tutorial.
script()
{
    dlc submit pytorchjob \
        --name=${JOB_NAME} \
        --command='pip install tzrec==${TZREC_NIGHTLY_VERSION} -f http://tzrec.oss-cn-beijing.aliyuncs.com/release/nightly/repo.html --trusted-host tzrec.oss-cn-beijing.aliyuncs.com
torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK -m tzrec.train_eval --pipeline_config_path /mnt/data/multi_tower_din_taobao_dlc.config --train_input_path /mnt/data/data/taobao_data_train/\*.parquet --eval_input_path /mnt/data/taobao_data_eval/\*.parquet --model_dir /mnt/data/multi_tower_din_taobao_dlc' \
        --data_sources=${DATA_SOURCE} \
        --workspace_id=${WORKSPACE_ID} \
        --vpc_id=${VPC_ID} \
        --switch_id=${VSWITCH_ID} \
        --security_group_id=${SG_ID} \
        --priority=1 \
        --workers=1 \
        --worker_image=mybigpai-public-registry.cn-beijing.cr.aliyuncs.com/easyrec/tzrec-devel:${TZREC_DOCKER_VERSION} \
        --worker_spec=ecs.gn6v-c10g1.20xlarge
}

the_printed_script_submits()
{
    place
    fakes
    mkdir nas
    JOB_NAME=din-daily WORKSPACE_ID=1234 VPC_ID=vpc-1 VSWITCH_ID=vsw-1 SG_ID=sg-1
    TZREC_DOCKER_VERSION=0.7
    DATA_SOURCE=$("$TRAINYARD" dataset create nas --path nas --mount /mnt/data --type nas)
    run script
    status 0
    json 'd["DisplayName"] == "din-daily" and d["JobType"] == "PyTorchJob"'
    json 'd["WorkspaceId"] == "1234" and d["Priority"] == 1'
    json 'd["UserCommand"].startswith("pip install tzrec==${TZREC_NIGHTLY_VERSION}")'
    err_has "--vpc_id has no effect on this machine"
    err_has "--worker_spec has no effect on this machine"
    err_has "the image is not used"
    local id
    id=$(job_id)
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 0
    run dlc logs "$id" "$id-worker-0"
    status 0
    out_has "pip install tzrec== -f http://tzrec.oss-cn-beijing"
    out_has "torchrun --master_addr=127.0.0.1"
    out_has "--nnodes=1 --nproc-per-node=1 --node_rank=0 -m tzrec.train_eval"
    out_has '/mnt/data/data/taobao_data_train/*.parquet'
    run dlc get job "$id"
    status 0
    json 'd["Status"] == "Succeeded" and d["Pods"][0]["PodId"].endswith("-worker-0")'
    run dlc get job
    json 'd["TotalCount"] == 1 and d["Jobs"][0]["JobId"]'
    run dlc list jobs --status Failed
    json 'd["TotalCount"] == 0'
    run "$TRAINYARD" job get --json "$id"
    json 'd["spec"]["extra"]["worker_spec"] == "ecs.gn6v-c10g1.20xlarge"'
}

flags_become_ours()
{
    place
    run dlc submit tfjob -n t1 --command 'echo $A $B $TF_CONFIG; sleep 600' --workers=2 --worker_cpu 0.5 \
        --worker_memory=200Mi --envs A=1,B=2 --tags team=ads --job_max_running_time_minutes 60
    status 0
    local id
    id=$(job_id)
    run "$TRAINYARD" job get --json "$id"
    json 'd["workers"] == 2 and d["spec"]["timeout"] == "3600s" and d["spec"]["memory"] == "200Mi"'
    json 'd["spec"]["label"] == {"team": "ads"}'
    for _ in $(seq 100); do "$TRAINYARD" job logs "$id" | grep -q cluster && break; sleep 0.05; done
    run dlc logs "$id" "$id-worker-1" --max_events_num 1
    out_has '1 2 {"cluster"'
    run dlc stop job "$id" --force
    status 0
    out_is <<END
[OK] Job [$id] was stopped successfully
END
    run "$TRAINYARD" job wait "$id"
    run dlc stop job "$id"
    status 2
    out_has "[FAILED] code: 400, Job can't be stopped, because it is Stopped"
}

nodes_have_kinds()
{
    place
    run dlc submit tfjob --name=tf --chief --ps=1 --workers=2 --evaluators=1 --chief_cpu=0.5 --ps_cpu=0.5 --ps_memory=200Mi \
        --worker_cpu=0.5 --evaluator_cpu=0.5 --ps_spec=ecs.c6.large --command='echo $TRAINYARD_ROLE $RANK $TF_CONFIG
case $TRAINYARD_ROLE in ps|evaluator) sleep 600 ;; esac'
    status 0
    err_has "--ps_spec has no effect on this machine"
    json '[(s["Type"], s["PodCount"]) for s in d["JobSpecs"]] == [("Chief", 1), ("Worker", 2), ("PS", 1), ("Evaluator", 1)]'
    local id
    id=$(job_id)
    # Those that serve are stopped when the others have ended.
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 0
    run dlc get job "$id"
    json '[p["PodId"].split("-", 2)[2] for p in d["Pods"]] == ["chief-0", "worker-0", "worker-1", "ps-0", "evaluator-0"]'
    run dlc logs "$id" "$id-ps-0"
    python3 - <<'PY' || fail "TF_CONFIG of the parameter server: $(cat .out)"
import json
role, rank, text = open(".out").read().split("\n")[0].split(" ", 2)
d = json.loads(text)
assert (role, rank) == ("ps", "3"), (role, rank)
assert {k: len(v) for k, v in d["cluster"].items()} == {"chief": 1, "worker": 2, "ps": 1}
assert len({a for v in d["cluster"].values() for a in v}) == 4
assert d["task"] == {"type": "ps", "index": 0}
PY
    run dlc submit pytorchjob --name=pt --masters=1 --workers=1 --worker_cpu=0.5 --command='echo $TRAINYARD_ROLE $RANK of $WORLD_SIZE'
    id=$(job_id)
    run "$TRAINYARD" job wait --timeout 100s "$id"
    run dlc logs "$id" "$id-master-0"
    is_out "master 0 of 2"
    run dlc logs "$id" "$id-worker-0"
    is_out "worker 1 of 2"
    run dlc logs "$id" "$id-worker-7"
    status 2
    err_has "neither a number nor a worker of the job"
    run dlc submit tfjob --name=x --ps=1 --workers=0 --command=true
    status 2
    err_has "none of the roles ends by itself"
}

is_out() { [ "$(cat .out)" = "$1" ] || { fail "got '$(cat .out)', want '$1'"; }; }

faults_are_tolerated_as_asked()
{
    place
    run dlc submit pytorchjob --name=x --aimaster_enable --aimaster_args='--enable-job-restart True --max-num-of-job-restart 2 --fault-tolerant-policy=OnFailure --enable-job-hang-detection True --job-hang-interval 600' \
        --command='test $TRAINYARD_RESTART_COUNT = 1'
    status 0
    local id
    id=$(job_id)
    run "$TRAINYARD" job get --json "$id"
    json 'd["spec"]["retries"] == 2 and d["spec"]["retry_on"] == "1-255" and d["spec"]["hang"] == "600s"'
    "$TRAINYARD" job stop --force "$id" >/dev/null
    run dlc submit pytorchjob --name=x --aimaster_args='--max-num-of-job-restart many' --command=true
    status 2
    err_has "--aimaster_args: 'many' is not a number"
}

a_file_of_flags_wins()
{
    place
    printf 'name=from-file\npriority=7\ncommand=echo hi\n' >job.txt
    run dlc submit pytorchjob --name=x --command=false --job_file job.txt
    status 0
    json 'd["DisplayName"] == "from-file" and d["Priority"] == 7 and d["UserCommand"] == "echo hi"'
    "$TRAINYARD" job wait "$(job_id)" >/dev/null
}

a_pod_and_the_quotas_are_shown()
{
    place
    run dlc submit pytorchjob --name=two --workers=1 --masters=1 --command='echo up; while [ ! -e go ]; do sleep 0.05; done'
    local id
    id=$(job_id)
    for _ in $(seq 200); do
        run dlc get pod "$id" "$id-worker-0"
        grep -q Running .out && break
        sleep 0.05
    done
    json "d == {'PodId': '$id-worker-0', 'Type': 'worker', 'Status': 'Running'}"
    run dlc logs "$id" "$id-worker-0" --start_time now-7d --end_time now --max_events_num 2000
    status 0
    out_has up
    err_has "--max_events_num has no effect beside a time"
    run dlc logs "$id" "$id-worker-0" --end_time 2020-11-08T16:00:00Z
    out_is </dev/null
    run dlc get pod "$id" master-0
    json "d['PodId'] == '$id-master-0' and d['Type'] == 'master'"
    run dlc get pod "$id" "$id-worker-1"
    status 1
    err_has "error[E3103]: job $id has no pod 'worker-1'"
    touch go
    run "$TRAINYARD" quota set --user somebody --gpu 2
    status 0
    run dlc get quota
    status 0
    err_has "quotas here are limits of users and projects"
    json "'somebody' in json.dumps(d)"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
}

mistakes_are_named()
{
    place
    run dlc submit pytorchjob --command=true
    status 2
    err_has "dlc: error[E3401]: submit: --name is needed"
    run dlc submit rocketjob --name=x --command=true
    status 2
    err_has "'rocketjob' is not a kind of job"
    run dlc submit pytorchjob --name=x --command=true --data_sources=d-none
    status 1
    err_has "no dataset 'd-none'"
    run dlc submit pytorchjob --name=x --command=true --workers=many
    status 2
    err_has "--workers: 'many' is not a number"
    run dlc fly
    status 2
}

tap_cases the_printed_script_submits flags_become_ours nodes_have_kinds \
    faults_are_tolerated_as_asked a_file_of_flags_wins a_pod_and_the_quotas_are_shown mistakes_are_named
