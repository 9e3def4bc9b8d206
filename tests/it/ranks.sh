#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One model trained by several processes of mpirun: the same bytes on any number of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

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

# One model of each family: interactions, several tasks, sequences, retrieval with negatives
# that a sampler draws or that are the other rows of the shard.
models_of_all_families_have_the_same_bytes_on_any_number_of_ranks()
{
    "$TRAINYARD" data gen taobao --rows 3000 --out taobao >/dev/null 2>&1
    "$TRAINYARD" data gen criteo --rows 3000 --out criteo >/dev/null 2>&1
    "$TRAINYARD" data items taobao/train taobao/eval --item adgroup_id --attr-delimiter : \
        --attrs adgroup_id,cate_id,brand,price --out taobao/tables 2>/dev/null
    local name
    for name in dlrm-criteo mmoe-taobao din-taobao dssm-taobao dssm-v2-taobao mind-taobao; do
        set -- train "$TY_SOURCE/examples/$name.config" --set data_config.batch_size=128 --set train_config.num_epochs=1
        run "$TRAINYARD" "$@" --model-dir one-$name --shards 3
        status 0
        ranks 2 "$@" --model-dir two-$name --shards 3
        status 0
        same_run one-$name two-$name
    done
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

# Where rows lie makes no difference: on one rank, on those of a host, on all.
results_do_not_depend_on_where_tables_lie()
{
    config && data
    set -- --set data_config.batch_size=64
    trained one "$@" --shards 3
    ranks 3 train c.config --model-dir whole "$@" \
        --edit-config-json '{"train_config.global_embedding_constraints": "sharding_types: \"table_wise\""}'
    status 0
    same_run one whole
    grep -q "tables      5 with 3,004 rows: up to 23.5 KiB" .err && { fail "rows lie on all ranks:"; show .err; }
    ranks 3 train c.config --model-dir some "$@" \
        --set 'feature_configs[0].id_feature.embedding_constraints.sharding_types=["table_row_wise"]' \
        --set 'feature_configs[1].id_feature.embedding_constraints.sharding_types=["data_parallel"]' \
        --set 'feature_configs[2].raw_feature.embedding_constraints.sharding_types=["column_wise"]'
    status 0
    same_run one some
    [ "$(grep -o '"sharding_type":"[a-z_]*"' some/plan | sort -u | tr -d '\n')" = \
        '"sharding_type":"column_wise""sharding_type":"data_parallel""sharding_type":"table_row_wise"' ] ||
        { fail "the plan is another:"; show some/plan; }
    # and the run goes on on other ranks
    trained whole "$@" --continue --set train_config.num_epochs=3
    status 0
    trained one "$@" --continue --set train_config.num_epochs=3
    same_run one whole
    # what was data parallel stays so, all other tables when that is asked for
    ranks 2 train c.config --model-dir some "$@" --continue --set train_config.num_epochs=3
    status 0
    same_run one some
    [ "$(grep -o data_parallel some/plan | wc -l)" = 2 ] && ! grep -q table_row_wise some/plan || { fail "not pinned:"; show some/plan; }
    FORCE_LOAD_SHARDING_PLAN=1 ranks 2 train c.config --model-dir whole "$@" --continue --set train_config.num_epochs=4
    status 0
    grep -q '"table_wise"' whole/plan && ! grep -q '"row_wise"' whole/plan || { fail "the plan was not kept:"; show whole/plan; }
    trained one "$@" --continue --set train_config.num_epochs=4
    same_run one whole
}

# Ids that come and go: of dynamicemb those of a bucket lie on one rank, of zch all do.
tables_with_keys_have_the_same_bytes_on_any_number_of_ranks()
{
    local n
    config && data
    sed -i 's/hash_bucket_size: 1000/dynamicemb { max_capacity: 200 score_strategy: "LFU" bucket_capacity: 16 frequency_admission_strategy { threshold: 2 counter_capacity: 96 counter_bucket_capacity: 16 } }/
        s/hash_bucket_size: 500/dynamicemb { max_capacity: 60 bucket_capacity: 8 }/' c.config
    cat >>c.config <<'END'
feature_configs { id_feature { feature_name: "brand" expression: "item:brand" embedding_dim: 8 zch { zch_size: 64 eviction_interval: 2 lfu {} } } }
END
    sed -i 's/"cate_id", "price"/"cate_id", "price", "brand"/' c.config
    set -- --set data_config.batch_size=64
    trained one "$@" --shards 3
    status 0
    for n in 2 3; do
        ranks $n train c.config --model-dir w$n "$@" --shards 3
        status 0
        same_run one w$n
    done
    # none is lost when other ranks go on
    ranks 3 train c.config --model-dir parts "$@" --set train_config.num_steps=8
    status 0
    ranks 2 train c.config --model-dir parts "$@" --continue --set train_config.num_steps=17
    status 0
    trained parts "$@" --continue
    status 0
    same_end one parts
}

# Batches of about the same cost have different numbers of rows.
batches_by_cost_have_the_same_bytes_on_any_number_of_ranks()
{
    config && data
    set -- --set data_config.batch_size=200 --set data_config.batch_cost_size=1500 --set data_config.sample_cost_field=cms_segid --shards 3
    trained one "$@"
    status 0
    err_lacks "after 10 steps" # as batches of 200 rows would take
    ranks 2 train c.config --model-dir two "$@"
    status 0
    same_run one two
}

# Rounded where it would travel, on one rank too; and ranks that are told differently do not begin.
a_narrow_wire_has_the_same_bytes_on_any_number_of_ranks()
{
    config && data
    set -- --set data_config.batch_size=64 --wire bf16
    trained one "$@" --shards 3
    status 0
    ranks 3 train c.config --model-dir three "$@" --log json
    status 0
    same_run one three
    python3 - <<'PY' || fail "more was sent than must be"
import json
last = [json.loads(l) for l in open(".err") if l.startswith('{"event": "progress"')][-1]
assert 0 < last["least_bytes"] <= last["sent_bytes"] < last["least_bytes"] * 1.2, last
PY
    trained wide --set data_config.batch_size=64 --shards 3
    cmp -s one/model.ckpt-10/model-00001-of-00001.safetensors wide/model.ckpt-10/model-00001-of-00001.safetensors && fail "nothing was rounded"
    first=(--wire bf16) second=()
    different_ranks
    err_has "has another --wire than rank 0: f32, not bf16"
    trained alone --wire bf16
    err_has "--wire bf16: with one shard nothing travels, and nothing is rounded"
}

# Each rank writes some of the parts that one process would write.
predictions_are_the_same_files_on_any_number_of_ranks()
{
    config && data
    trained m
    status 0
    run "$TRAINYARD" export c.config --model-dir m --export-dir x
    status 0
    set -- predict --model x --input data/train --reserved-columns user_id --part-rows 300 --batch-size 100
    run "$TRAINYARD" "$@" --output one
    status 0
    [ "$(find one -name '*part-*' | wc -l)" = 9 ] || { fail "not nine parts:"; ls one >some; show some; }
    for n in 2 3; do
        ranks $n "$@" --output w$n
        status 0
        err_has "predicted 2700 rows into w$n"
        diff -r one w$n >difference || { fail "$n ranks wrote something else:"; show difference; }
    done
    # once more there is nothing to do; what a killed run left behind goes
    ranks 2 "$@" --output w2
    status 0
    err_has "w2 is already complete: 2700 rows"
    sed -i 's/"done": true/"done": false/; s/"parts": [0-9]*, "rows": [0-9]*, "batches": [0-9]*/"parts": 0, "rows": 0, "batches": 0/' w3/_predict.json
    rm w3/part-00001.parquet && cp w3/part-00008.parquet w3/part-00042.parquet
    sed -i 's/"file": [0-9]*, "row": [0-9]*, "offset": [-0-9]*/"file": 0, "row": 0, "offset": -1/' w3/_predict.json
    ranks 2 "$@" --output w3
    status 0
    diff -r one w3 >difference || { fail "after a kill something else is there:"; show difference; }
    # a single file is the first rank's
    ranks 3 predict --model x --input data/train --output some.csv
    status 0
    [ "$(wc -l <some.csv)" = 2701 ] || fail "some.csv has $(wc -l <some.csv) lines"
    ranks 2 "$@" --output w2 --overwrite --part-rows 1000
    status 0
    [ "$(find w2 -name '*part-*' | wc -l)" = 3 ] || { fail "not three parts:"; ls w2 >some; show some; }
    ranks 2 predict --model x --input nothing --output w4
    status 1
    [ "$(grep -c 'error\[' .err)" = 1 ] || { fail "not one message:"; show .err; }
}

# A user's rows lie in several shards: their groups are put together before they count.
grouped_metrics_are_merged_exactly()
{
    config && data
    sed -i 's/metrics { auc {} }$/metrics { auc {} } metrics { grouped_auc { grouping_key: "user_id" } }/; s/hash_bucket_size: 1000/hash_bucket_size: 40/' c.config
    set -- --set data_config.batch_size=64 --shards 4
    trained one "$@"
    status 0
    grep -q '"grouped_auc": 0\.[0-9]' one/train_eval_result_v2.txt || { fail "no grouped metric:"; show one/train_eval_result_v2.txt; }
    for n in 2 4; do
        ranks $n train c.config --model-dir w$n "$@"
        status 0
        same_run one w$n
    done
    # and it is that of one pass over all rows
    run "$TRAINYARD" eval c.config --model-dir one
    status 0
    python3 - <<'PY' || fail "an evaluation of one process has another value"
import json
last = json.loads(open("one/train_eval_result_v2.txt").read().splitlines()[-1])
whole = json.loads(open("one/eval_result.txt").read().splitlines()[-1])
assert abs(last["grouped_auc"] - whole["grouped_auc"]) < 1e-12, (last, whole)
PY
}

# Each rank evaluates its stretch of the data, with its part of the tables.
evaluations_are_those_of_one_process()
{
    local n
    config && data
    sed -i 's/hash_bucket_size: 500/dynamicemb { max_capacity: 60 bucket_capacity: 8 }/' c.config
    trained m
    status 0
    run "$TRAINYARD" eval c.config --model-dir m --json
    status 0
    cp .out whole.json
    run "$TRAINYARD" eval c.config --model-dir m --json --shards 3
    status 0
    cp .out one.json
    python3 - <<'PY' || fail "shards make another result"
import json
a, b = (json.load(open(f)) for f in ("whole.json", "one.json"))
assert a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-6 for k in a), (a, b)
PY
    for n in 2 3; do
        rm m/eval_result.txt
        ranks $n eval c.config --model-dir m --json --shards 3
        status 0
        cmp .out one.json || { fail "$n ranks have another result:"; show .out; }
        [ "$(wc -l <m/eval_result.txt)" = 1 ] || fail "not one line"
    done
    ranks 3 eval c.config --model-dir m --json
    status 0
    cmp .out one.json || { fail "another result without --shards:"; show .out; }
    ranks 3 eval c.config --model-dir m --shards 2
    [ "$got" != 0 ] || fail "three ranks with two shards"
    err_has "error[E2505]: "
    err_has ": 3 ranks, but the data has 2 shards"
    TMPDIR=$PWD/t run timeout 100 mpirun --oversubscribe --bind-to none -n 1 "$TRAINYARD" eval c.config --model-dir m \
        : -n 1 "$TRAINYARD" eval c.config --model-dir m --set data_config.batch_size=77
    [ "$got" != 0 ] || fail "they evaluated together"
    err_has "error[E2503]: rank 1 on host $(hostname) has another config than rank 0"
    # as many rows, of another seed
    mkdir other
    (cd other && "$TRAINYARD" data gen taobao --rows 3000 --files 2 --seed 7 --out data >/dev/null 2>&1 && ln -s ../m m && cp ../c.config .)
    TMPDIR=$PWD/t run timeout 100 mpirun --oversubscribe --bind-to none -n 1 "$TRAINYARD" eval c.config \
        : -n 1 -wdir "$PWD/other" "$TRAINYARD" eval c.config
    [ "$got" != 0 ] || fail "they evaluated different data"
    err_has "has another evaluation data than rank 0"
    [ "$(grep -c 'error\[' .err)" = 1 ] || { fail "not one message:"; show .err; }
}

# A disk that only the first rank has: it then writes all.
checkpoints_need_no_disk_that_all_ranks_share()
{
    config && data
    mkdir apart t && cp c.config apart/
    sed -i 's,eval_input_path: "data/eval",,' c.config apart/c.config
    set -- --train-input "$PWD/data/train" --set data_config.batch_size=64 --set train_config.save_checkpoints_steps=5 --shards 2
    run "$TRAINYARD" train c.config --model-dir one "$@"
    status 0
    TMPDIR=$PWD/t run timeout 100 mpirun --oversubscribe --bind-to none -n 1 "$TRAINYARD" train c.config --model-dir m "$@" \
        : -n 1 -wdir "$PWD/apart" "$TRAINYARD" train c.config --model-dir m "$@"
    status 0
    same_end one m
    [ ! -e apart/m/manifest.json ] && ! ls apart/m/model.ckpt-* >/dev/null 2>&1 || fail "the other rank has a checkpoint"
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
    # as many rows, of another seed
    mkdir other && cp -r c.config other/
    (cd other && "$TRAINYARD" data gen taobao --rows 3000 --files 2 --seed 7 --out data >/dev/null 2>&1)
    TMPDIR=$PWD/t run timeout 100 mpirun --oversubscribe --bind-to none -n 1 "$TRAINYARD" train c.config --model-dir "$PWD/m" \
        : -n 1 -wdir "$PWD/other" "$TRAINYARD" train c.config --model-dir "$PWD/m"
    [ "$got" != 0 ] || fail "they trained together on different data"
    err_has "error[E2503]: rank 1 on host $(hostname) has another training data than rank 0: 2700 rows in 2 files ("
    [ "$(grep -c 'error\[' .err)" = 1 ] || { fail "not one message:"; show .err; }
    ls m/model.ckpt-* 2>/dev/null && fail "something was trained"
}

a_rank_that_fails_ends_all_with_one_message()
{
    config && data
    first=() second=(--train-input nothing/here)
    different_ranks
    err_has "rank 1 of 2 gave up: host $(hostname), before the first step: "
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

launch_starts_ranks_with_or_without_mpirun()
{
    config && data
    mkdir -p t bin
    export TMPDIR=$PWD/t
    set -- --nproc-per-node 2 train c.config --set data_config.batch_size=64
    run "$TRAINYARD" launch "$@" --model-dir a
    status 0
    err_has "ranks       2 of"
    ln -s "$TRAINYARD" bin/trainyard
    PATH=$PWD/bin run "$TRAINYARD" launch "$@" --model-dir b
    status 0
    err_has "launch: note: there is no mpirun on PATH: one process does the work of 2 ranks"
    err_has "ranks       1 of"
    same_run a b
    PATH=$PWD/bin run "$TRAINYARD" launch --nproc-per-node 2 ls
    status 1
    err_has "there is no mpirun on PATH: install Open MPI"
}

a_launched_run_saves_a_checkpoint_when_it_is_asked_to_stop()
{
    config && data
    mkdir -p t
    sed -i 's,eval_input_path: "data/eval",,' c.config
    set -- --set data_config.batch_size=8 --set train_config.save_checkpoints_steps=100000
    TMPDIR=$PWD/t "$TRAINYARD" launch --nproc-per-node 2 train c.config --model-dir m "$@" --set train_config.num_epochs=4000 \
        >log 2>&1 &
    local launcher=$!
    for _ in $(seq 200); do
        grep -q "^step 20 " log && break
        sleep 0.1
    done
    kill -TERM $launcher
    wait $launcher || fail "exit status $?"
    grep -q "stopping: saving a checkpoint" log || { fail "no note:"; show log; }
    local at
    at=$(ls -d m/model.ckpt-*)
    at=${at##*-}
    trained whole "$@" --shards 2 --set train_config.num_steps=$((at + 1)) --set train_config.num_epochs=0
    status 0
    same_checkpoint whole/model.ckpt-$at m/model.ckpt-$at
}

# A table of which one rank may not hold all, and four may hold a quarter each.
a_table_too_large_for_one_rank_trains_on_four() { too_large "num_buckets: 120000"; }
a_table_with_keys_that_is_too_large_for_one_rank_trains_on_four() { too_large "dynamicemb { max_capacity: 120000 }"; }

# too_large WORDS: a table of so many rows
too_large()
{
    mkdir data
    awk 'BEGIN { print "clk,u"; for (i = 0; i < 120000; i++) print (i % 7 == 0) "," i }' >data/train.csv
    cat >c.config <<END
train_input_path: "data/train.csv" model_dir: "m"
train_config { num_epochs: 1 sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} } }
data_config { batch_size: 2000 dataset_type: CsvDataset with_header: true fg_mode: FG_DAG label_fields: "clk"
  input_fields { input_name: "clk" input_type: INT64 } input_fields { input_name: "u" input_type: INT64 } }
feature_configs { id_feature { feature_name: "u" expression: "user:u" $1 embedding_dim: 128 } }
model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: "u" }
  multi_tower { towers { input: "deep" mlp { hidden_units: 8 } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} } }
END
    run "$TRAINYARD" train c.config --model-dir one --memory 100M --shards 4
    status 1
    err_has "error[E1408]"
    err_has "ranks hold it"
    trained one --shards 4 --threads 1
    status 0
    ranks 4 train c.config --model-dir four --memory 100M --threads 1 --set train_config.log_step_count_steps=1
    status 0
    local peak
    peak=$(sed -n 's/.* mem \([0-9]*\)\.[0-9]* MiB.*/\1/p' .err | sort -n | tail -1)
    echo "# the table takes 176 MiB; rank 0 used ${peak:-?} MiB" >&3
    [ "${peak:-999}" -lt 120 ] || fail "rank 0 used ${peak:-?} MiB"
    same_checkpoint one/model.ckpt-14 four/model.ckpt-14
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
    models_of_all_families_have_the_same_bytes_on_any_number_of_ranks \
    a_run_goes_on_with_any_number_of_ranks \
    results_do_not_depend_on_where_tables_lie \
    tables_with_keys_have_the_same_bytes_on_any_number_of_ranks \
    batches_by_cost_have_the_same_bytes_on_any_number_of_ranks \
    a_narrow_wire_has_the_same_bytes_on_any_number_of_ranks \
    predictions_are_the_same_files_on_any_number_of_ranks \
    grouped_metrics_are_merged_exactly \
    evaluations_are_those_of_one_process \
    checkpoints_need_no_disk_that_all_ranks_share \
    shards_stay_as_they_are \
    ranks_that_differ_are_refused \
    a_rank_that_fails_ends_all_with_one_message \
    a_killed_rank_ends_all_and_the_run_goes_on \
    launch_starts_ranks_with_or_without_mpirun \
    a_launched_run_saves_a_checkpoint_when_it_is_asked_to_stop \
    a_table_too_large_for_one_rank_trains_on_four \
    a_table_with_keys_that_is_too_large_for_one_rank_trains_on_four \
    without_mpi_there_is_one_clear_message
