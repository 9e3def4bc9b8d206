#!/bin/sh
# Submits this folder as it is; run it here: sh job.sh
. ./.keys
job_name=PaddleRec_CTR
group_name='g 1'
priority=high
start_cmd='python -m paddlerec.run -m ./config.yaml'
mpi_nodes=2

paddlecloud job --ak "$ak" --sk "$sk" train --job-name "$job_name" \
    --mpi-priority "$priority" --group-name "$group_name" --mpi-wall-time 2000:00:00 --mpi-nodes "$mpi_nodes" \
    --is-standalone 0 --permission group --job-version paddle-fluid-v1.7.1 --job-conf config.ini \
    --start-cmd "$start_cmd" --files ./* --json
