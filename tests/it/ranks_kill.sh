#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A random rank is killed at a random time, again and again; each time the run goes on on a
# random number of ranks. It ends with the bytes of a run that nobody disturbed. RANKS_KILLS
# says how often (5), RANKS_SEED repeats an order of kills. `make chaos-ranks` kills 50.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

RANDOM=${RANKS_SEED:-$$}
seed=$RANDOM
RANDOM=$seed

# start N: the run on N ranks, in the background; $mpi
start()
{
    mkdir -p t
    TY_TEST_RUN=$PWD TMPDIR=$PWD/t timeout 300 mpirun --oversubscribe --bind-to none -n "$1" \
        "$TRAINYARD" train c.config --model-dir m --continue "${conf[@]}" >log 2>&1 </dev/null &
    mpi=$!
}

# until_it_trains: false when it has ended before
until_it_trains()
{
    for _ in $(seq 600); do
        grep -q "^step " log && return 0
        kill -0 "$mpi" 2>/dev/null || return 1
        sleep 0.05
    done
}

# One model with tables by number and by key, shuffled, with dropout and batch norm.
a_run_whose_ranks_are_killed_ends_as_if_they_had_not_been()
{
    local kills=0 ended=0 n victim
    config && data
    sed -i 's,eval_input_path: "data/eval",,; s,hash_bucket_size: 500 embedding_dim: 8,zch { zch_size: 400 eviction_interval: 3 lfu {} } embedding_dim: 8,' c.config
    conf=(--set data_config.batch_size=16 --set train_config.num_epochs=20 --set train_config.save_checkpoints_steps=20
        --set train_config.log_step_count_steps=1 --shards 4 --threads 1)
    trained whole "${conf[@]}"
    status 0
    while [ "$kills" -lt "${RANKS_KILLS:-5}" ]; do
        n=$((1 + RANDOM % 4))
        start "$n"
        if until_it_trains; then
            sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
            victim=$(rank_pid $((RANDOM % n)))
            [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null && kills=$((kills + 1))
        fi
        if wait "$mpi"; then # it was faster: from the beginning
            same_end whole m
            rm -rf m
            ended=$((ended + 1))
        fi
    done
    start $((1 + RANDOM % 4))
    wait "$mpi" || { fail "it does not go on:"; show log; }
    same_end whole m
    echo "# $kills kills, $((ended + 1)) runs came to their end; RANKS_SEED=$seed" >&3
    no_ranks_left
}

tap_cases a_run_whose_ranks_are_killed_ends_as_if_they_had_not_been
