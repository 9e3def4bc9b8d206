#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong with several processes that train one model: one message that names rank,
# host, step and cause, exit status 1, and no process left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

# A run that does not end by itself soon, with a checkpoint every 20 steps.
long_run()
{
    config && data
    sed -i 's,eval_input_path: "data/eval",,' c.config
    long=(--set data_config.batch_size=16 --set train_config.num_epochs=2000 --set train_config.save_checkpoints_steps=20
        --set train_config.keep_checkpoint_max=1000)
}

a_rank_that_is_killed_is_named()
{
    long_run
    launched --nproc-per-node 3 train c.config --model-dir m "${long[@]}"
    appears m/model.ckpt-20
    kill -KILL "$(rank_pid 1)"
    ends_within 30
    log_has "error[E2501]: rank 1 of 3: host $(hostname), step "
    log_has ": killed by SIGKILL"
    grep -q "stopping: saving" log && fail "it says that it was asked to stop"
    grep -q "mpirun\|^---" log && { fail "words of mpirun:"; show log; }
}

# It was noticed in time, however slow the machine that runs the test was then.
silence_is_short()
{
    local n
    n=$(sed -n 's/.*not heard of for \([0-9]*\) s.*/\1/p' log)
    [ "${n:-99}" -le 10 ] || fail "noticed after ${n:-?} s"
}

# ticks PID: of processor time so far, a hundred a second
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# stopped RANK WORLD: that rank of a long run is stopped; the message names it. Others wait meanwhile
# without taking much of their processors.
stopped()
{
    local waiting before took
    long_run
    launched --nproc-per-node "$2" train c.config --model-dir m "${long[@]}"
    appears m/model.ckpt-20
    waiting=$(rank_pid $((1 - $1)))
    kill -STOP "$(rank_pid "$1")"
    sleep 1.5
    before=$(ticks "$waiting")
    sleep 4
    took=$(($(ticks "$waiting") - before))
    [ "$took" -lt 24 ] || fail "a rank that waits took $took of 400 ticks"
    ends_within 40
    silence_is_short
    log_has "error[E2502]: rank $1 of $2: host $(hostname): not heard of for "
}

a_rank_that_stops_is_noticed_within_ten_seconds()
{
    stopped 1 2
    log_has " s, at step "
}

when_the_first_rank_stops_another_says_so()
{
    stopped 0 3
}

a_loss_that_is_not_a_number_names_its_rank()
{
    mkdir data
    awk 'BEGIN { for (i = 0; i < 4000; i++)
        printf "{\"clk\": %d, \"u\": %d, \"x\": %s}\n", i % 7 == 0, i % 50, i == 3500 ? "NaN" : i % 10 ".5" }' >rows.jsonl
    "$TRAINYARD" data convert rows.jsonl data/train.parquet >/dev/null 2>&1
    cat >c.config <<'END'
train_input_path: "data/train.parquet" model_dir: "m"
train_config { num_epochs: 1 sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} } }
data_config { batch_size: 100 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "u" expression: "user:u" num_buckets: 50 embedding_dim: 8 } }
feature_configs { raw_feature { feature_name: "x" expression: "user:x" } }
model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: ["u", "x"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: 8 } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} } }
END
    launched --nproc-per-node 2 train c.config
    ends_within 60
    log_has "rank 1 of 2 gave up: host $(hostname): step 15 "
    log_has "feature 'x' is nan"
}

a_rank_without_memory_names_itself()
{
    long_run
    cat >limited <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && ulimit -v 700000
exec "$@"
END
    chmod +x limited
    launched --nproc-per-node 2 ./limited "$TRAINYARD" train c.config --model-dir m --overcommit \
        --set 'feature_configs[0].id_feature.hash_bucket_size=100000000'
    ends_within 60
    log_has "rank 1 of 2 gave up: host $(hostname), before the first step: "
    log_has "memory"
}

# rank_in_little_memory BYTES: a program that starts rank 1 in a control group of that much memory
rank_in_little_memory()
{
    local base=/sys/fs/cgroup limit=memory.max
    if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
        base=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    elif ! grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
        return 1
    fi
    group=$base/trainyard-test-$$
    mkdir "$group" 2>/dev/null || return 1
    echo "$1" >"$group/$limit" || { rmdir "$group"; return 1; }
    [ ! -w "$group/memory.memsw.limit_in_bytes" ] || echo "$1" >"$group/memory.memsw.limit_in_bytes"
    cat >little <<END
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] && echo \$\$ >$group/cgroup.procs
exec "\$@"
END
    chmod +x little
}

# The kernel ends it without a word of its own; the launcher sees that and says so.
a_rank_that_the_kernel_ends_for_want_of_memory_is_named()
{
    long_run
    local group
    rank_in_little_memory $((400 << 20)) || { echo "# no control group of memory here" >&3; return; }
    awk 'BEGIN { print "clk,u"; for (i = 0; i < 400000; i++) print (i % 7 == 0) "," i }' >data/wide.csv
    cat >wide.config <<'END'
train_input_path: "data/wide.csv" model_dir: "m"
train_config { num_epochs: 3 sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} } }
data_config { batch_size: 2000 dataset_type: CsvDataset with_header: true fg_mode: FG_DAG label_fields: "clk"
  input_fields { input_name: "clk" input_type: INT64 } input_fields { input_name: "u" input_type: INT64 } }
feature_configs { id_feature { feature_name: "u" expression: "user:u" num_buckets: 400000 embedding_dim: 256 } }
model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: "u" }
  multi_tower { towers { input: "deep" mlp { hidden_units: 8 } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} } }
END
    launched --nproc-per-node 2 ./little "$TRAINYARD" train wide.config --overcommit --threads 1
    ends_within 120
    log_has "error[E2501]: rank 1 of 2: host $(hostname), step "
    log_has ": killed by SIGKILL: the machine ran out of memory, and the kernel ended it"
    rmdir "$group"
}

# Killed in a way that it cannot see coming, it leaves neither mpirun nor ranks.
a_launcher_that_is_killed_leaves_nobody()
{
    long_run
    launched --nproc-per-node 2 train c.config --model-dir m "${long[@]}"
    appears m/model.ckpt-20
    local mpi
    mpi=$(pgrep -P "$launcher" mpirun)
    [ -n "$mpi" ] || fail "no mpirun"
    kill -KILL "$launcher"
    for _ in $(seq 150); do
        [ -n "$(ranks_left)" ] || [ -d "/proc/$mpi" ] || break
        sleep 0.1
    done
    [ -d "/proc/$mpi" ] && fail "mpirun is left"
    no_ranks_left
    # and the run goes on
    launched --nproc-per-node 2 train c.config --model-dir m --continue "${long[@]}"
    for _ in $(seq 100); do
        grep -q "^step " log && break
        sleep 0.1
    done
    kill -TERM "$launcher"
    wait "$launcher" || fail "it does not go on"
}

# The run is disturbed twice and ends as if it had not been.
a_run_that_fails_starts_again_from_its_last_checkpoint()
{
    long_run
    set -- "${long[@]}" --set train_config.num_epochs=20 --set train_config.save_checkpoints_steps=200
    trained whole "$@" --shards 2
    status 0
    launched --nproc-per-node 2 --max-restarts 2 --log-dir logs train c.config --model-dir m "$@"
    appears m/model.ckpt-200
    kill -KILL "$(rank_pid 1)"
    appears m/model.ckpt-800
    kill -KILL "$(rank_pid 0)"
    wait "$launcher" || { fail "exit status $?"; show log; }
    log_has "launch: note: the run failed: rank 1 of 2: host $(hostname), step "
    log_has "; restart 2 of 2, from the last checkpoint"
    same_end whole m
    grep -q "^resumed     from m/model.ckpt-" logs/rank-1.log || { fail "rank 1 has no log:"; show logs/rank-1.log; }
    grep -q "^done " logs/rank-0.log || fail "rank 0 has no log"
}

# torchrun puts the config behind a "--".
torchrun_starts_again_too()
{
    long_run
    ln -s "$TRAINYARD" torchrun
    mkdir -p t
    TY_TEST_RUN=$PWD TMPDIR=$PWD/t ./torchrun --nproc-per-node=2 --max-restarts=1 -m tzrec.train_eval --pipeline_config_path c.config \
        --model_dir m --edit_config_json '{"data_config.batch_size": 16, "train_config.num_epochs": 4}' >log 2>&1 </dev/null &
    launcher=$!
    appears m/model.ckpt-20
    kill -KILL "$(rank_pid 1)"
    wait "$launcher" || { fail "exit status $?"; show log; }
    log_has "restart 1 of 1, from the last checkpoint"
    log_has "resumed     from m/model.ckpt-"
}

# As under the mpirun of another MPI, where each process would train alone in one directory.
a_launcher_of_another_mpi_is_refused()
{
    config && data
    run env OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 "$TRAINYARD" train c.config --model-dir m
    status 2
    err_has "error[E2504]: 4 processes were started as one run: the launcher started rank 0 of 4, but MPI sees rank 0 of 1"
    # srun with PMI2, mpirun of MPICH
    run env PMI_SIZE=3 PMI_RANK=0 PMI_FD=99 "$TRAINYARD" train c.config --model-dir m
    [ "$got" != 0 ] || fail "it trained alone"
    err_has "error[E2504]: 3 processes were started as one run: "
    [ -e m ] && fail "it began to train"
}

a_wrong_config_is_not_tried_again()
{
    long_run
    launched --nproc-per-node 2 --max-restarts 3 train c.config --model-dir m --set train_config.num_epochs=x
    wait "$launcher"
    [ $? = 2 ] || fail "exit status"
    [ "$(grep -c 'error\[' log)" = 1 ] || { fail "not one message:"; show log; }
    grep -q "restart " log && fail "it was started again"
    no_ranks_left
}

progress_names_the_slowest_rank()
{
    long_run
    ranks 2 train c.config --model-dir m --log json --set train_config.num_epochs=1 --set train_config.log_step_count_steps=1
    status 0
    grep -q '"comm": 0\.[0-9]*, "slowest_rank": [01], "skew": [0-9.]*' .err || { fail "no skew:"; show .err; }
    run "$TRAINYARD" train c.config --model-dir one --log json --set train_config.num_epochs=1
    grep -q slowest_rank .err && fail "of one process"
}

# cpus N: the processors of rank N
cpus() { sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(rank_pid "$1")/status"; }

# bound ARG...: the processors of the two ranks of a launched run, in a and b
bound()
{
    launched --nproc-per-node 2 "$@" train c.config --model-dir m --continue "${long[@]}"
    appears m/model.ckpt-20
    a=$(cpus 0) b=$(cpus 1)
    kill -TERM "$launcher"
    wait "$launcher" || { fail "exit status $?"; show log; }
}

ranks_of_a_launcher_run_on_their_own_processors()
{
    [ "$(nproc)" -ge 2 ] || skip "one processor"
    local a b mine
    mine=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
    long_run
    bound
    [ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ] && [ "$a" != "$mine" ] || fail "rank 0 on $a, rank 1 on $b of $mine"
    rm -rf m
    bound --bind none
    [ "$a" = "$mine" ] && [ "$b" = "$mine" ] || fail "rank 0 on $a, rank 1 on $b, not on $mine"
}

tap_cases \
    a_rank_that_is_killed_is_named \
    a_rank_that_stops_is_noticed_within_ten_seconds \
    when_the_first_rank_stops_another_says_so \
    a_loss_that_is_not_a_number_names_its_rank \
    a_rank_without_memory_names_itself \
    a_rank_that_the_kernel_ends_for_want_of_memory_is_named \
    a_launcher_that_is_killed_leaves_nobody \
    a_run_that_fails_starts_again_from_its_last_checkpoint \
    torchrun_starts_again_too \
    a_launcher_of_another_mpi_is_refused \
    a_wrong_config_is_not_tried_again \
    progress_names_the_slowest_rank \
    ranks_of_a_launcher_run_on_their_own_processors
