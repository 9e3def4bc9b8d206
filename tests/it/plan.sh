#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plan: what a run takes, before it takes it; and train, which does not start without room.
. "$(dirname "$0")/lib.sh"

config()
{
    cat >c.config <<'END'
train_input_path: "data/train" eval_input_path: "" model_dir: "m"
train_config {
  num_steps: 3
  sparse_optimizer { rowwise_adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config { batch_size: 100 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000000 embedding_dim: 16 } }
feature_configs { id_feature { feature_name: "pid" expression: "context:pid"
  hash_bucket_size: 10 embedding_dim: 16 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "pid"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [8] } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
    "$TRAINYARD" data gen taobao --rows 1000 --out data >/dev/null 2>&1
}

every_table_and_every_byte_is_listed()
{
    config
    run "$TRAINYARD" plan c.config --memory 1g
    status 0
    err_empty
    out_has "user_id_emb      1,000,000     16    61.0 MiB     3.8 MiB            900  user_id"
    out_has "pid_emb"
    out_has "by 900 rows in 1 file"
    out_has "memory          1.0 GiB: fits"
    run "$TRAINYARD" plan c.config --memory 1g --json
    json 'd["fits"] and d["weights"] == (1000000 + 10) * 16 * 4 and d["state"] == (1000000 + 10) * 4'
    json 'd["dense"] == 4 * (32 * 8 + 8 + 8 * 4 + 4 + 4 + 1) and d["activations"] > 0'
    # 900 rows may lie in all 33 pages of the table, and a save copies rows alone
    json 'd["in_use"] == d["weights"] + d["state"] and d["save"] < 100000'
    run "$TRAINYARD" plan c.config --memory 1g --json --set 'feature_configs[0].id_feature.hash_bucket_size=1000000000'
    # a table that large has pages of 4 KiB as long as few rows are used
    json 'd["in_use"] == 900 * 4096 + 10 * 17 * 4 and d["expected"] < d["most"] and d["fits"]'
    run "$TRAINYARD" plan c.config --train-input nowhere --memory 1g --json
    status 0
    json 'd["data_rows"] == -1 and d["in_use"] >= d["weights"] + d["state"]'
    [ -d m ] && fail "plan made model_dir"
}

# Tables are shared by ranks, but for those with keys, which one rank has.
ranks_share_the_tables()
{
    config
    run "$TRAINYARD" plan c.config --memory 20m
    status 1
    err_has "ranks hold it"
    local n
    n=$(sed -n 's/.*; \([0-9]*\) ranks hold it/\1/p' .err)
    run "$TRAINYARD" plan c.config --memory 20m --ranks "$n"
    status 0
    out_has "rank  tables in use"
    out_has "   0  "
    out_has ": fits"
    run "$TRAINYARD" plan c.config --memory 20m --ranks $((n - 1))
    status 1
    run "$TRAINYARD" plan c.config --memory 1g --json
    json 'd["ranks"] == 1'
    cp .out one
    run "$TRAINYARD" plan c.config --memory 1g --json --ranks 4
    json 'd["ranks"] == 4 and d["in_use"] * 4 <= json.load(open("one"))["in_use"] < d["in_use"] * 5'
    sed -i 's/hash_bucket_size: 1000000 embedding_dim: 16/embedding_dim: 16 zch { zch_size: 1000000 eviction_interval: 2 lfu {} }/' c.config
    run "$TRAINYARD" plan c.config --memory 1g --json
    cp .out one
    run "$TRAINYARD" plan c.config --memory 1g --json --ranks 4
    json 'd["in_use"] >= 0.9 * json.load(open("one"))["in_use"]'
}

# The limits of the config count; times follow from bandwidths of the environment.
tables_are_placed_on_ranks()
{
    config
    run "$TRAINYARD" plan c.config --memory 1g --ranks 4 --hosts 2
    status 0
    out_has "placement    of the planner, for 4 ranks on 2 hosts"
    out_has "slowest      rank "
    run "$TRAINYARD" plan c.config --memory 1g --ranks 4 --hosts 2 --json
    status 0
    cp .out usual
    json 'len(d["placement"]["ranks"]) == 4 and abs(d["placement"]["ms"] - max(sum(v for k, v in r.items() if k != "bytes") for r in d["placement"]["ranks"])) < 1e-4'
    CROSS_NODE_BANDWIDTH=1000000 run "$TRAINYARD" plan c.config --memory 1g --ranks 4 --hosts 2 --json
    json 'd["placement"]["ms"] > json.load(open("usual"))["placement"]["ms"]'
    run "$TRAINYARD" plan c.config --memory 1g --ranks 4 --hosts 2 --json \
        --edit-config-json '{"train_config.global_embedding_constraints": "sharding_types: \"table_row_wise\""}'
    json 'all(t["sharding_type"] == "table_row_wise" and len({s["rank"] // 2 for s in t["shards"]}) == 1 for t in d["placement"]["tables"])'
    run "$TRAINYARD" check c.config --set 'train_config.global_embedding_constraints.compute_kernels=["fused_uvm"]'
    out_or_err="$(cat .out .err)"
    [[ "$out_or_err" = *"warning[E0208]: 'compute_kernels' has no effect"* ]] || fail "it is not said that kinds of memory have no effect"
    run "$TRAINYARD" plan c.config --ranks 5 --hosts 2
    [ "$got" != 0 ] || fail "5 ranks on 2 hosts"
    err_has "--hosts 2: 5 ranks cannot be spread evenly over them"
    INTRA_NODE_BANDWIDTH=fast run "$TRAINYARD" plan c.config --ranks 2
    [ "$got" != 0 ] || fail "a bandwidth in words"
    err_has "the variable INTRA_NODE_BANDWIDTH is 'fast', which is not a number"
}

what_does_not_fit_is_an_error_with_advice()
{
    config
    run "$TRAINYARD" plan c.config --memory 100k
    status 1
    out_has "does not fit"
    err_has "trainyard plan: error[E1408]: "
    err_has "may be used: the table of feature 'user_id' comes to use 900 rows of 16, 64.8 MiB"
    err_has "an optimizer with less state (rowwise_adagrad_optimizer) help"
    run "$TRAINYARD" train c.config --memory 100k
    status 1
    err_has "trainyard train: error[E1408]: "
    [ -d m ] && fail "a run that was refused left m behind"
    run "$TRAINYARD" train c.config --memory 100m
    status 0
    err_has "note: if every row of every table comes to be used, "
    rm -r m
    run "$TRAINYARD" train c.config --overcommit
    status 0
}

the_data_is_looked_at()
{
    config
    run "$TRAINYARD" plan c.config --memory 1g --set eval_input_path=data/eval
    status 0
    out_has "data         'data/train': 900 rows in 1 file; columns, types and the first 100 rows are good"
    out_has "evaluation   'data/eval': 100 rows in 1 file; columns, types and the first 100 rows are good"
    run "$TRAINYARD" plan c.config --memory 1g --train-input nowhere
    status 0
    out_has "data         'nowhere': not looked at: "
    run "$TRAINYARD" plan c.config --memory 1g --json
    json 'd["data"] == {"looked_at": True, "rows": 900, "files": 1, "rows_seen": 100, "why_not": None, "notes": []} and not d["eval_data"]["looked_at"]'
    # ids outside their table, in the text and for scripts
    sed 's/hash_bucket_size: 1000000 /num_buckets: 3 /' c.config >few.config
    run "$TRAINYARD" plan few.config --memory 1g
    status 0
    out_has "'user_id'"
    run "$TRAINYARD" plan few.config --memory 1g --json
    json 'len(d["data"]["notes"]) == 1 and "user_id" in d["data"]["notes"][0]'
    [ ! -e m ] || fail "plan made model_dir"
}

# A bit per row of a table, which says what changed since the last dump.
dumps_of_changed_rows_count()
{
    config
    run "$TRAINYARD" plan c.config --memory 1g --set 'train_config.delta_embedding_dump_config={dump_interval_steps: 5}'
    status 0
    out_has "for which rows were used since the last one"
    run "$TRAINYARD" plan c.config --memory 1g --json --set 'train_config.delta_embedding_dump_config={dump_interval_steps: 5}'
    json 'd["dump"] >= 1000000 / 8'
    run "$TRAINYARD" plan c.config --memory 1g --json
    json 'd["dump"] == 0'
}

# says_the_same ARG...: plan refuses what train refuses, in the same words.
says_the_same()
{
    run "$TRAINYARD" train c.config --memory 1g "$@"
    local want=$got
    [ "$want" != 0 ] || fail "train accepts it"
    grep -v '^[a-z_]\+  ' .err | sed 's/^trainyard train/trainyard plan/; s/: step 0: /: /' >expected
    run "$TRAINYARD" plan c.config --memory 1g "$@"
    status "$want"
    out_empty
    err_is <expected
    rm -rf m
}

data_that_does_not_fit_is_said_as_train_says_it()
{
    config
    says_the_same --set 'feature_configs[0].id_feature.expression=user:user'
    err_has "column 'user'"
    says_the_same --set 'data_config.label_fields[0]=bought'
    says_the_same --set 'data_config.label_fields[0]=user_id'
    err_has "binary losses take 0 to 1"
    says_the_same --set 'feature_configs[1]="raw_feature { feature_name: \"pid\" expression: \"user:click_50_seq__adgroup_id\" }"'
    mkdir other && printf 'user_id,clk\n1,0\n' >other/a.csv
    "$TRAINYARD" data convert other/a.csv other.parquet >/dev/null 2>&1
    says_the_same --set eval_input_path=other.parquet
    err_has "pid"
    printf 'PAR1 is no parquet' >broken.parquet
    says_the_same --set train_input_path=broken.parquet
}

batches_count_too()
{
    config
    run "$TRAINYARD" plan c.config --memory 80m --set data_config.batch_size=1000000
    status 1
    err_has "activations take "
    err_has "a smaller data_config.batch_size"
}

tap_cases every_table_and_every_byte_is_listed ranks_share_the_tables tables_are_placed_on_ranks what_does_not_fit_is_an_error_with_advice the_data_is_looked_at dumps_of_changed_rows_count \
    data_that_does_not_fit_is_said_as_train_says_it \
    batches_count_too
