#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One model trained by several processes of mpirun: the same bytes on any number of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ranks N ARG...: the program on N ranks
ranks()
{
    local n=$1
    shift
    mkdir -p t
    TMPDIR=$PWD/t run timeout 100 mpirun --oversubscribe --bind-to none -n "$n" "$TRAINYARD" "$@"
}

# same_run A B: the same checkpoints, and the same results of evaluations
same_run()
{
    local c
    for c in "$1"/model.ckpt-*; do
        same_checkpoint "$c" "$2/${c##*/}"
    done
    diff "$1/train_eval_result_v2.txt" "$2/train_eval_result_v2.txt" >difference || { fail "results differ:"; show difference; }
}

a_run_of_shards_has_the_same_bytes_on_any_number_of_ranks()
{
    config && data
    set -- --set data_config.batch_size=64 --shards 4
    trained one "$@"
    status 0
    err_has "batches of 4 x 64"
    for n in 2 3 4; do
        ranks $n train c.config --model-dir w$n "$@" --threads $((1 + n % 2))
        status 0
        err_has "ranks       $n of"
        same_run one w$n
    done
    # not those of one shard with as many rows
    trained whole --set data_config.batch_size=256
    cmp -s one/model.ckpt-10/model-00001-of-00001.safetensors whole/model.ckpt-10/model-00001-of-00001.safetensors &&
        fail "shards make no difference"
}

a_run_goes_on_with_any_number_of_ranks()
{
    config && data
    set -- --set data_config.batch_size=64 --set train_config.save_checkpoints_steps=2
    trained whole "$@" --shards 3
    status 0
    ranks 3 train c.config --model-dir parts "$@" --set train_config.num_steps=5
    status 0
    trained parts "$@" --continue --set train_config.num_steps=9
    status 0
    err_has "3 shards"
    ranks 2 train c.config --model-dir parts "$@" --continue
    status 0
    same_run whole parts
}

shards_stay_as_they_are()
{
    config && data
    trained m --shards 2 --set train_config.num_steps=3
    status 0
    trained m --shards 3 --continue
    status 2
    err_has "error[E2505]: --shards 3: the run in model_dir 'm' has 2 shards"
    ranks 3 train c.config --model-dir m --continue
    [ "$got" != 0 ] || fail "three ranks with two shards"
    [ "$(grep -c 'error\[' .err)" = 1 ] || { fail "more than one message:"; show .err; }
    err_has "3 ranks, but a batch has 2 shards"
    trained m --continue
    status 0
}

# As many ranks as were asked for, each with a command of its own.
different_ranks()
{
    mkdir -p t
    start=$(date +%s)
    TMPDIR=$PWD/t run timeout 100 mpirun --oversubscribe --bind-to none -n 1 "$TRAINYARD" train c.config --model-dir m "${first[@]}" \
        : -n 1 "$TRAINYARD" train c.config --model-dir m "${second[@]}"
    [ "$got" != 0 ] || fail "they trained together"
    [ $(($(date +%s) - start)) -le 12 ] || fail "it took $(($(date +%s) - start)) s"
    [ "$(grep -c 'error\[' .err)" = 1 ] || { fail "not one message:"; show .err; }
}

ranks_that_differ_are_refused()
{
    config && data
    first=(--seed 1) second=(--seed 2)
    different_ranks
    err_has "error[E2503]: rank 1 on host $(hostname) has another seed than rank 0: 2, not 1"
    first=() second=(--set train_config.num_epochs=7)
    different_ranks
    err_has "has another config than rank 0"
    ls m/model.ckpt-* 2>/dev/null && fail "something was trained"
}

a_rank_that_fails_ends_all_with_one_message()
{
    config && data
    first=() second=(--train-input nothing/here)
    different_ranks
    err_has "rank 1 of 2 gave up: host $(hostname): "
    err_has "nothing/here"
}

# Killed in the middle of a step; the run goes on on fewer ranks as if nothing had been.
a_killed_rank_ends_all_and_the_run_goes_on()
{
    config && data
    set -- --set data_config.batch_size=16 --set train_config.num_epochs=20 --set train_config.save_checkpoints_steps=20
    sed -i 's,eval_input_path: "data/eval",,' c.config
    trained whole "$@" --shards 3
    status 0
    mkdir -p t
    TMPDIR=$PWD/t timeout 100 mpirun --oversubscribe --bind-to none -n 3 "$TRAINYARD" train c.config --model-dir m "$@" >log 2>&1 &
    local mpi=$! victim=
    for _ in $(seq 400); do
        [ -d m/model.ckpt-40 ] && victim=$(pgrep -P $mpi -x mpirun)
        [ -n "$victim" ] && victim=$(pgrep -P "$victim" trainyard | tail -1)
        [ -n "$victim" ] && break
        sleep 0.05
    done
    kill -KILL "$victim" 2>/dev/null || fail "nobody to kill"
    local start
    start=$(date +%s)
    wait $mpi && fail "it did not notice"
    [ $(($(date +%s) - start)) -le 10 ] || fail "it took $(($(date +%s) - start)) s to end"
    ranks 2 train c.config --model-dir m "$@" --continue
    status 0
    for c in whole/model.ckpt-*; do
        [ "${c##*-}" -gt 60 ] && same_checkpoint "$c" "m/${c##*/}"
    done
}

without_mpi_there_is_one_clear_message()
{
    config && data
    mkdir bin
    cp "$TRAINYARD" bin/trainyard
    OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 run bin/trainyard train c.config
    status 1
    err_has "error[E2504]: 2 processes were started as one run: comm 'mpi' needs libtrainyard_mpi.so"
}

tap_cases \
    a_run_of_shards_has_the_same_bytes_on_any_number_of_ranks \
    a_run_goes_on_with_any_number_of_ranks \
    shards_stay_as_they_are \
    ranks_that_differ_are_refused \
    a_rank_that_fails_ends_all_with_one_message \
    a_killed_rank_ends_all_and_the_run_goes_on \
    without_mpi_there_is_one_clear_message
