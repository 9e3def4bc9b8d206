#!/bin/sh
# Submits this folder as it is; run it here: sh job.sh
. ./.keys
job_name=PaddleRec_CTR
group_name='g 1'
priority=high
start_cmd='python -m paddlerec.run -m ./config.yaml'
k8s_trainers=2
k8s_cpu_cores=4
k8s_gpu_cards=1

is_standalone=0
set -- --distribute-job-type NCCL2
if [ "$k8s_trainers" -eq 1 ]; then
    is_standalone=1
    set -- --job-remark single-trainer
    if [ "$k8s_gpu_cards" -eq 1 ]; then
        echo "Attention: Use single GPU card for PaddleRec distributed training, please set runner class from 'cluster_train' to 'train' in config.yaml."
        set -- --job-remark single-gpu
    fi
fi

paddlecloud job --ak "$ak" --sk "$sk" train --job-name "$job_name" \
    --group-name "$group_name" \
    --job-conf config.ini --start-cmd "$start_cmd" --files ./* --job-version paddle-fluid-v1.7.1 \
    --k8s-trainers "$k8s_trainers" --k8s-cpu-cores "$k8s_cpu_cores" --k8s-gpu-cards "$k8s_gpu_cards" \
    --k8s-priority "$priority" --wall-time 2000:00:00 --is-standalone "$is_standalone" --json "$@"
