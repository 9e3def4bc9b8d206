#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Blocks of TorchEasyRec's documents that need more than files: tables of MaxCompute, jobs of DLC, variables of the
# planner; on two ranks, and on two hosts of two ranks each. Those of files are in compat.sh and ranks_hosts.sh.
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
. "$(dirname "$0")/servers/lib.sh"

tools()
{
    local name
    mkdir -p bin
    for name in dlc pip python torchrun; do
        ln -s "$TRAINYARD" "bin/$name"
    done
    PATH=$PWD/bin:$PATH
    export TZREC_NIGHTLY_VERSION=1.0 ASAN_OPTIONS=detect_leaks=0
    [ "$TY_TEST_NETWORK" = none ] || ip link set lo up
}

# small FILE WORDS: a config over columns of the Taobao data
small()
{
    cat >"$1" <<END
train_input_path: "" eval_input_path: "" model_dir: "experiments/small"
train_config {
  num_epochs: 1 save_checkpoints_steps: 100000 use_tensorboard: false
  sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config { batch_size: 64 fg_mode: FG_DAG label_fields: "clk" $2 }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id" hash_bucket_size: 200 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "cate_id"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [16, 8] } } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
}

# table [ADDRESS]: p/clicks of a MaxCompute that is reached under that address
table()
{
    serve_with tunnel.py ${1:+"$1"}
    [ -z "${1-}" ] || at=http://$1:$(cat port)
    unset ODPS_CONFIG_FILE_PATH ALIBABA_CLOUD_SECURITY_TOKEN ALIBABA_CLOUD_CREDENTIALS_URI
    export ALIBABA_CLOUD_ACCESS_KEY_ID=testid ALIBABA_CLOUD_ACCESS_KEY_SECRET=testkey no_proxy='*'
    "$TRAINYARD" data gen taobao --rows 1500 --eval-fraction 0 --out data >/dev/null 2>&1
    "$TRAINYARD" data head --json -n 1500 --columns user_id,cate_id,clk data/train/part-0.parquet >rows.jsonl
    python3 - >t.json <<'PY'
import json
rows = [json.loads(l) for l in open('rows.jsonl')]
print(json.dumps({"name": "p/clicks", "columns": [["user_id", "bigint"], ["cate_id", "bigint"], ["clk", "bigint"]],
    "keys": [["dt", "string"]], "parts": {"dt=1": [[r["user_id"], r["cate_id"], r["clk"]] for r in rows]}}))
PY
    ask /_table @t.json
    small odps.config 'dataset_type: OdpsDataset'
}

# The block with the variables of a job, and what stands for {region}, {project} and the like filled in.
read_block()
{
    # shellcheck disable=SC2016
    printf '%s' 'ODPS_ENDPOINT='"$at"'/api \
torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
--nnodes=$WORLD_SIZE --nproc-per-node=$NPROC_PER_NODE --node_rank=$RANK \
-m tzrec.train_eval \
--pipeline_config_path ${PIPELINE_CONFIG} \
--train_input_path odps://p/tables/clicks/dt=1'
}

# as_one_process SHARDS: the same bytes as one process that works on as many shards
as_one_process()
{
    ODPS_ENDPOINT=$at/api run "$TRAINYARD" train odps.config --train-input odps://p/tables/clicks/dt=1 --model-dir one --shards "$1"
    status 0
    same_end one experiments/small
}

a_table_of_maxcompute_is_read_by_two_ranks()
{
    tools
    table
    export MASTER_ADDR=localhost MASTER_PORT=32561 WORLD_SIZE=1 NPROC_PER_NODE=2 RANK=0 PIPELINE_CONFIG=odps.config
    mkdir -p t
    TMPDIR=$PWD/t run bash -c "$(read_block)"
    status 0
    err_has "ranks       2 of"
    as_one_process 2
}

a_table_of_maxcompute_is_read_on_two_hosts_of_two_ranks()
{
    local i
    tools
    hosts 2
    ip addr add 10.98.0.254/24 dev ty0
    table 10.98.0.254
    for i in 2 1; do
        on $i env MASTER_ADDR=10.98.0.1 MASTER_PORT=32562 WORLD_SIZE=2 NPROC_PER_NODE=2 RANK=$((i - 1)) PIPELINE_CONFIG=odps.config \
            bash -c "$(read_block)"
    done
    for i in 1 2; do
        ended $i
        status 0
    done
    said 1 "ranks       4 of"
    no_hosts
    as_one_process 4
}

# The script that the console of DLC writes, with two workers of two processes.
dlc_script()
{
    # shellcheck disable=SC2016
    dlc submit pytorchjob \
        --name=${JOB_NAME} \
        --command='pip install tzrec==${TZREC_NIGHTLY_VERSION} -f http://tzrec.oss-cn-beijing.aliyuncs.com/release/nightly/repo.html --trusted-host tzrec.oss-cn-beijing.aliyuncs.com
torchrun --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --nnodes=$WORLD_SIZE --nproc-per-node=2 --node_rank=$RANK -m tzrec.train_eval --pipeline_config_path '"$PWD"'/nas/small.config --train_input_path '"$PWD"'/nas/data/train/\*.parquet --eval_input_path '"$PWD"'/nas/data/eval/\*.parquet --model_dir '"$PWD"'/nas/model' \
        --data_sources=${DATA_SOURCE} \
        --workspace_id=${WORKSPACE_ID} \
        --vpc_id=${VPC_ID} \
        --switch_id=${VSWITCH_ID} \
        --security_group_id=${SG_ID} \
        --priority=1 \
        --workers=2 \
        --worker_image=mybigpai-public-registry.cn-beijing.cr.aliyuncs.com/easyrec/tzrec-devel:${TZREC_DOCKER_VERSION} \
        --worker_spec=ecs.gn6v-c10g1.20xlarge
}

the_script_of_a_dlc_job_trains_on_two_workers_of_two_ranks()
{
    local id
    tools
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE TRAINYARD_JOB_ID TRAINYARD_DLC_BACKEND
    mkdir nas
    "$TRAINYARD" data gen taobao --rows 1500 --out nas/data >/dev/null 2>&1
    small nas/small.config 'dataset_type: ParquetDataset'
    JOB_NAME=daily WORKSPACE_ID=1 VPC_ID=v VSWITCH_ID=s SG_ID=g TZREC_DOCKER_VERSION=1
    DATA_SOURCE=$("$TRAINYARD" dataset create nas --path nas --mount /mnt/data --type nas)
    run dlc_script
    status 0
    id=$(python3 -c 'import json; print(json.load(open(".out"))["JobId"])')
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 0
    run dlc logs "$id" "$id-worker-0"
    out_has "ranks       4 of"
    run "$TRAINYARD" train nas/small.config --train-input 'nas/data/train/*.parquet' --eval-input 'nas/data/eval/*.parquet' --model-dir one --shards 4
    status 0
    same_run one nas/model
}

# Machines without fast links between cards and hosts: the planner is told so.
variables_of_the_planner_are_set_as_printed()
{
    tools
    "$TRAINYARD" data gen taobao --rows 1500 --out data >/dev/null 2>&1
    mkdir -p data/taobao_data_train data/taobao_data_eval t
    mv data/train/* data/taobao_data_train
    mv data/eval/* data/taobao_data_eval
    small multi_tower_din_taobao_local.config 'dataset_type: ParquetDataset'
    TMPDIR=$PWD/t run bash -c 'export INTRA_NODE_BANDWIDTH=$(awk '\''BEGIN {printf("%f", 30 * 1024 * 1024 * 1024 / 1000)}'\'')
export CROSS_NODE_BANDWIDTH=$(awk '\''BEGIN {printf("%f", 3 * 1024 * 1024 * 1024 / 1000)}'\'')
export STORAGE_RESERVE_PERCENT=0.5
torchrun --master_addr=localhost --master_port=32555 \
    --nnodes=1 --nproc-per-node=2 --node_rank=0 \
    -m tzrec.train_eval \
    --pipeline_config_path multi_tower_din_taobao_local.config \
    --train_input_path data/taobao_data_train/\*.parquet \
    --eval_input_path data/taobao_data_eval/\*.parquet \
    --model_dir experiments/multi_tower_din_taobao_local'
    status 0
    err_has "ranks       2 of"
    run "$TRAINYARD" train multi_tower_din_taobao_local.config --train-input 'data/taobao_data_train/*.parquet' \
        --eval-input 'data/taobao_data_eval/*.parquet' --model-dir one --shards 2
    status 0
    same_run one experiments/multi_tower_din_taobao_local
}

tap_cases a_table_of_maxcompute_is_read_by_two_ranks a_table_of_maxcompute_is_read_on_two_hosts_of_two_ranks \
    the_script_of_a_dlc_job_trains_on_two_workers_of_two_ranks variables_of_the_planner_are_set_as_printed
