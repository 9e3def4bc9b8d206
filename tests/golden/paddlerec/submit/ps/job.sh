#!/bin/sh
# Submits this folder as it is; run it here: sh job.sh
. ./.keys
job_name=PaddleRec_CTR
group_name='g 1'
priority=high
start_cmd='python -m paddlerec.run -m ./config.yaml'
k8s_trainers=2
k8s_cpu_cores=4
k8s_ps_num=2
k8s_ps_cores=4

paddlecloud job --ak "$ak" --sk "$sk" train --job-name "$job_name" \
    --group-name "$group_name" \
    --job-conf config.ini --start-cmd "$start_cmd" --files ./* --job-version paddle-fluid-v1.7.1 \
    --k8s-priority "$priority" --wall-time 2000:00:00 --k8s-trainers "$k8s_trainers" --k8s-cpu-cores "$k8s_cpu_cores" \
    --k8s-ps-num "$k8s_ps_num" --k8s-ps-cores "$k8s_ps_cores" --is-standalone 0 --distribute-job-type PSERVER --json
