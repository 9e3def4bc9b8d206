#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What several ranks write beside checkpoints: rows that changed, and hit rates.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

# Tables of numbered rows, a small one that every rank has, and two of keys: on one rank, and spread.
dump_config()
{
    "$TRAINYARD" data gen taobao --rows 3000 --out data >/dev/null 2>&1
    cat >c.config <<END
train_input_path: "data/train" eval_input_path: "" model_dir: "m"
train_config {
  num_steps: 8 num_epochs: 0 use_tensorboard: false save_checkpoints_steps: 4
  delta_embedding_dump_config { dump_interval_steps: 3 }
  sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { sgd_optimizer { lr: 0.01 } constant_learning_rate {} }
}
data_config { batch_size: 32 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" hash_bucket_size: 5000 embedding_dim: 4
  embedding_constraints { sharding_types: "${1:-row_wise}" } } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id" hash_bucket_size: 300 embedding_dim: 4
  embedding_constraints { sharding_types: "${1:-data_parallel}" } } }
feature_configs { id_feature { feature_name: "brand" expression: "item:brand" embedding_dim: 4
  zch { zch_size: 64 eviction_interval: 2 lfu {} } } }
feature_configs { id_feature { feature_name: "customer" expression: "item:customer" embedding_dim: 4
  dynamicemb { max_capacity: 256 bucket_capacity: 16 } } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "cate_id", "brand", "customer"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [8] } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} }
}
END
}

# rows_of FILE...: rows of dumps, without the rank that wrote them, sorted
rows_of()
{
    local f
    for f in "$@"; do
        "$TRAINYARD" data convert "$f" rows.jsonl --overwrite >/dev/null 2>&1 || fail "cannot read $f"
        cat rows.jsonl
    done | sed 's/"rank": [0-9]*, "world_size": [0-9]*, //' | sort
}

# same_dumps ONE SEVERAL RANKS: each file of ONE has the rows of those of all ranks
same_dumps()
{
    local step n
    n=$(ls "$1"/delta_embedding_dump | wc -l)
    [ "$n" = 3 ] || fail "$n dumps of one process"
    for step in 3 6 7; do
        rows_of "$1/delta_embedding_dump/delta_embedding_step_$step.parquet" >want
        rows_of "$2/delta_embedding_dump/step_$step/"*"_of_$3.parquet" >got
        [ -s want ] || fail "no rows of step $step"
        cmp want got >/dev/null || { fail "step $step: other rows"; diff want got | head -3 >&3; }
    done
}

dumps_of_ranks_hold_the_rows_of_one_process()
{
    dump_config
    run "$TRAINYARD" train c.config --shards 2 --model-dir one
    status 0
    ranks 2 train c.config --model-dir two
    status 0
    same_dumps one two 2
    [ "$(ls two/delta_embedding_dump/step_3 | wc -l)" = 2 ] || fail "not a file of each rank"
    for n in 0 1; do
        rows_of two/delta_embedding_dump/step_3/*"_$n"_of_2.parquet | grep -q customer || fail "rank $n has no rows of a table with keys"
    done
}

ids_that_are_due_go_on_with_another_number_of_ranks()
{
    dump_config
    run "$TRAINYARD" train c.config --shards 2 --model-dir one
    status 0
    ranks 2 train c.config --model-dir two --set train_config.num_steps=5
    status 0
    [ -d two/model.ckpt-4 ] || fail "no checkpoint of step 4"
    rm -r two/delta_embedding_dump
    run "$TRAINYARD" train c.config --model-dir two --continue
    status 0
    rows_of one/delta_embedding_dump/delta_embedding_step_6.parquet >want
    rows_of two/delta_embedding_dump/delta_embedding_step_6.parquet >got
    cmp want got >/dev/null || { fail "other rows"; diff want got | head -3 >&3; }
}

rows_that_are_cut_by_columns_are_refused()
{
    dump_config column_wise
    ranks 2 train c.config --model-dir two --set feature_configs[0].id_feature.embedding_dim=256
    status 1
    err_has "delta_embedding_dump_config: rows of table '"
    err_has "are cut by columns; sharding_types row_wise, table_wise or data_parallel in its embedding_constraints keep them whole"
}

vectors()
{
    awk 'BEGIN {
        srand(1)
        for (i = 0; i < 400; i++)
            printf "{\"item_id\": %d, \"item_tower_emb\": \"%.4f,%.4f,%.4f,%.4f\"}\n", i, rand() - 0.5, rand() - 0.5, rand() - 0.5, rand() - 0.5 >"items.jsonl"
        for (i = 0; i < 301; i++)
            printf "{\"request_id\": %d, \"user_tower_emb\": \"%.4f,%.4f,%.4f,%.4f\", \"gt_items\": \"%s\"}\n", i, rand() - 0.5, rand() - 0.5, rand() - 0.5, rand() - 0.5,
                i % 7 ? int(rand() * 400) "," int(rand() * 400) "," int(rand() * 400) : "" >"users.jsonl"
    }'
}

hit_rates_are_those_of_one_rank()
{
    local n
    vectors
    run "$TRAINYARD" hitrate --users users.jsonl --items items.jsonl --top-k 50 --json --details one --writer-type jsonl --total one_total
    status 0
    mv .out one.json
    for n in 2 3; do
        ranks $n hitrate --users users.jsonl --items items.jsonl --top-k 50 --json --details "d$n" --writer-type jsonl --total "t$n" --batch-size 16
        status 0
        cmp .out one.json >/dev/null || { fail "another result on $n ranks:"; show .out; show one.json; }
        [ "$(ls "d$n" | wc -l)" = "$n" ] || fail "not a part of each rank"
        cat "d$n"/part-*.jsonl >all
        cmp all one/part-0.jsonl >/dev/null || fail "other details on $n ranks"
        cmp "t$n/part-0.parquet" one_total/part-0.parquet >/dev/null 2>&1 || cmp "t$n/part-0.jsonl" one_total/part-0.jsonl >/dev/null || fail "another total"
    done
    ranks 2 hitrate --users users.jsonl --items items.jsonl --top-k 50 --json --details all.jsonl --overwrite
    status 0
    cmp .out one.json >/dev/null || fail "another result with a single file"
    cmp all.jsonl one/part-0.jsonl >/dev/null || fail "other details in a single file"
}

tap_cases dumps_of_ranks_hold_the_rows_of_one_process ids_that_are_due_go_on_with_another_number_of_ranks \
    rows_that_are_cut_by_columns_are_refused hit_rates_are_those_of_one_rank
