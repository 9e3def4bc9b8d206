#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fields of a pipeline.config that decide what a model learns, with TorchEasyRec's meaning.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

# csv_config DATA_CONFIG FEATURE: logistic regression over `u` and `i` of a CSV file.
csv_config()
{
    cat >c.config <<END
train_input_path: "a.csv" model_dir: "m"
train_config { num_epochs: 1 save_checkpoints_steps: 2 log_step_count_steps: 1
  sparse_optimizer { sgd_optimizer { lr: 0.5 } constant_learning_rate {} }
  dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} } }
data_config { batch_size: 4 dataset_type: CsvDataset fg_mode: FG_NORMAL label_fields: "clk" with_header: true
  input_fields { input_name: "clk" input_type: INT64 } $1 }
feature_configs { id_feature { feature_name: "u" expression: "user:u" num_buckets: 50 embedding_dim: 4 default_value: "0" ${2:-} } }
feature_configs { id_feature { feature_name: "i" expression: "item:i" num_buckets: 50 embedding_dim: 4 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["u", "i"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [4] } } final { hidden_units: 2 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
}

# rows FROM TO
rows()
{
    local n
    echo clk,u,i
    for n in $(seq "$1" "$2"); do echo "$((n * 7 % 3 % 2)),$((n % 40 + 1)),$((n * 11 % 50))"; done
}

masked_rows_see_no_input()
{
    csv_config "sample_mask_prob: 1" "use_mask: true"
    rows 1 32 >a.csv
    sed 's/,[0-9]*,/,,/; 1s/,,/,u,/' a.csv >b.csv
    trained m
    status 0
    csv_config ""
    trained n --train-input b.csv
    status 0
    same_checkpoint m/model.ckpt-7 n/model.ckpt-7
    trained o
    cmp -s m/model.ckpt-7/model-00001-of-00001.safetensors o/model.ckpt-7/model-00001-of-00001.safetensors &&
        fail "the mask changes nothing"
    csv_config "sample_mask_prob: 0.5" "use_mask: true"
    trained p
    trained q --set train_config.num_steps=4
    trained q --continue
    status 0
    same_checkpoint p/model.ckpt-7 q/model.ckpt-7
    cmp -s p/model.ckpt-7/model-00001-of-00001.safetensors m/model.ckpt-7/model-00001-of-00001.safetensors &&
        fail "half of the rows are all of them"
    run "$TRAINYARD" check c.config --set data_config.fg_mode=FG_DAG
    out_has "use_mask has no effect under fg_mode FG_DAG"
}

# Rows of ranges 1-10, 11-20, 21-30, taken by batches of 4 in turn.
in_turn()
{
    local from
    echo clk,u,i
    for from in 1 11 21 5 15 25 9 19 29; do
        rows "$from" "$((from % 10 == 9 ? from + 1 : from + 3))" | sed 1d
    done
}

workers_take_turns()
{
    config
    rows 1 30 >a.csv
    csv_config ""
    in_turn >turns.csv
    "$TRAINYARD" data convert a.csv a.parquet 2>/dev/null
    local parquet='--set data_config.dataset_type=ParquetDataset --set data_config.input_fields=[]'
    # shellcheck disable=SC2086
    trained m $parquet --train-input a.parquet --set data_config.num_workers=3
    status 0
    # Batches of four, four and two rows: of a file in that order, three times.
    head -n 13 turns.csv >x1.csv
    { head -n 1 turns.csv && sed -n 14,25p turns.csv; } >x2.csv
    { head -n 1 turns.csv && sed -n 26,27p turns.csv; } >x3.csv
    { head -n 1 turns.csv && sed -n 28,29p turns.csv; } >x4.csv
    { head -n 1 turns.csv && sed -n 30,31p turns.csv; } >x5.csv
    trained n --train-input x1.csv
    for n in 2 3 4 5; do
        trained n --train-input x$n.csv --continue --data restart
        status 0
    done
    same_checkpoint m/model.ckpt-8 n/model.ckpt-8
    # Resumed in the middle of a turn.
    # shellcheck disable=SC2086
    trained o $parquet --train-input a.parquet --set data_config.num_workers=3 --set train_config.num_steps=4
    # shellcheck disable=SC2086
    trained o $parquet --train-input a.parquet --set data_config.num_workers=3 --continue
    status 0
    same_checkpoint m/model.ckpt-8 o/model.ckpt-8
    # One worker, or none named, is the order of the file.
    # shellcheck disable=SC2086
    trained p $parquet --train-input a.parquet --set data_config.num_workers=1
    # shellcheck disable=SC2086
    trained q $parquet --train-input a.parquet
    same_checkpoint p/model.ckpt-7 q/model.ckpt-7
}

text_files_are_dealt_to_workers()
{
    csv_config "num_workers: 8"
    mkdir d
    rows 1 8 >d/1.csv
    rows 9 16 >d/2.csv
    rows 17 24 >d/3.csv
    trained m --train-input 'd/*.csv'
    status 0
    csv_config ""
    { rows 1 4; rows 9 12 | sed 1d; rows 17 20 | sed 1d; rows 5 8 | sed 1d; rows 13 16 | sed 1d; rows 21 24 | sed 1d; } >x.csv
    trained n --train-input x.csv
    same_checkpoint m/model.ckpt-5 n/model.ckpt-5
    csv_config "num_workers: 8"
    trained o --train-input 'd/*.csv' --set train_config.num_steps=2
    trained o --train-input 'd/*.csv' --continue
    status 0
    same_checkpoint m/model.ckpt-5 o/model.ckpt-5
}

# TorchEasyRec looks up a sequence group without weights, those of its query too.
weights_of_a_query_do_not_count()
{
    cat >c.config <<'END'
train_input_path: "a.csv" model_dir: "m"
train_config { num_epochs: 1
  sparse_optimizer { adagrad_optimizer { lr: 0.05 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 2 dataset_type: CsvDataset fg_mode: FG_DAG label_fields: "clk"
  with_header: true input_fields { input_name: "clk" input_type: INT64 } }
feature_configs { id_feature { feature_name: "q" expression: "item:q" num_buckets: 50 embedding_dim: 4 weighted: true separator: "|" pooling: "mean" } }
feature_configs { sequence_id_feature { feature_name: "a" expression: "user:a" num_buckets: 50
  embedding_dim: 4 sequence_length: 9 sequence_delim: "|" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["q"] }
  feature_groups { group_name: "s" group_type: SEQUENCE feature_names: ["q", "a"] }
  multi_tower_din { towers { input: "deep" mlp { hidden_units: [4] } }
    din_towers { input: "s" attn_mlp { hidden_units: 4 } } final { hidden_units: 2 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
    printf 'clk,q,a\n1,3:2|4:5,1|2\n0,4:1,1|2|3\n1,2:7|9:1,1\n0,2:3,1|2|3\n' >a.csv
    printf 'clk,q,a\n1,3:1|4:1,1|2\n0,4:1,1|2|3\n1,2:1|9:1,1\n0,2:1,1|2|3\n' >b.csv
    trained m
    status 0
    trained n --train-input b.csv
    cmp -s m/model.ckpt-1/model-00001-of-00001.safetensors n/model.ckpt-1/model-00001-of-00001.safetensors &&
        fail "weights count nowhere"
    # Without the pooled group no weight is left to count.
    sed -i 's/feature_names: \["q"\]/feature_names: ["w"]/; s/^model_config/feature_configs { id_feature { feature_name: "w" expression: "item:clk" num_buckets: 5 embedding_dim: 4 } }\nmodel_config/' c.config
    trained o
    status 0
    trained p --train-input b.csv
    same_checkpoint o/model.ckpt-1 p/model.ckpt-1
}

# Numbers that become vectors, more than one operation joins; experts and losses likewise.
wide_groups_train()
{
    local n names=
    rows 1 8 >a.csv
    csv_config ""
    for n in $(seq 80); do
        names="$names, \"r$n\""
        sed -i "s/^model_config/feature_configs { raw_feature { feature_name: \"r$n\" expression: \"item:i\" embedding_dim: 2 mlp {} } }\n&/" c.config
    done
    sed -i "s/feature_names: \[\"u\", \"i\"/&$names/" c.config
    trained m
    status 0
    run "$TRAINYARD" params m
    out_has "mlp#2"
    run "$TRAINYARD" check c.config
    status 0
}

check_refuses_what_train_refuses()
{
    rows 1 8 >a.csv
    csv_config "" 'dynamicemb { max_capacity: 10 score_strategy: "CUSTOMIZED" }'
    sed -i 's/num_buckets: 50 embedding_dim: 4 default_value: "0" dynamicemb/embedding_dim: 4 dynamicemb/' c.config
    run "$TRAINYARD" check c.config
    status 2
    err_has "c.config: multi_tower: model: feature 'u': score_strategy CUSTOMIZED is not supported"
    trained m
    status 2
    err_has "score_strategy CUSTOMIZED is not supported"
    csv_config ""
    sed -i 's/multi_tower {.*/mmoe { num_expert: 2000 expert_mlp { hidden_units: 4 } task_towers { tower_name: "a" label_name: "clk" losses { binary_cross_entropy {} } } }/; /^  losses/d' c.config
    echo '}' >>c.config
    run "$TRAINYARD" check c.config
    status 2
    err_has "c.config: mmoe: model: 2000 experts: 1 to 1024 are possible"
}

# --continue with a checkpoint to start from and an empty model_dir takes up its data, too.
fine_tuning_can_take_up_the_data()
{
    rows 1 32 >a.csv
    csv_config ""
    trained m --set train_config.num_steps=3
    status 0
    trained n --fine-tune m --continue
    status 0
    err_has "note: the data resumes where the checkpoint left it"
    trained o --fine-tune m
    err_lacks "the data resumes"
    [ -d n/model.ckpt-4 ] && [ ! -d n/model.ckpt-5 ] || fail "five batches are left of eight"
    [ -d o/model.ckpt-7 ] || fail "without it the data starts at its beginning"
}

checkpoints_of_others_name_the_converter()
{
    rows 1 8 >a.csv
    csv_config ""
    mkdir -p t/model.ckpt-7/model
    touch t/model.ckpt-7/model/.metadata
    for path in t t/model.ckpt-7 t/model.ckpt-7/model; do
        trained m --fine-tune "$path"
        status 1
        err_has "TorchEasyRec wrote it; convert it with \`trainyard_ckpt.py from-dcp t/model.ckpt-7"
    done
}

encoded_tokens_are_steps()
{
    csv_config "fg_mode: FG_NONE" ""
    echo '{"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"d":3},"merges":[]}}' >tokenizer.json
    sed -i 's/fg_mode: FG_NORMAL //; s/feature_configs { id_feature { feature_name: "u".*/feature_configs { tokenize_feature { feature_name: "u" expression: "user:u" embedding_dim: 4 vocab_file: "tokenizer.json" tokens_as_sequence: true fg_encoded_default_value: "3" } }/' c.config
    sed -i 's/group_name: "deep" group_type: DEEP feature_names: \["u", "i"\]/group_name: "deep" group_type: DEEP feature_names: "i" sequence_groups { group_name: "s" feature_names: "u" } sequence_encoders { pooling_encoder { input: "s" } }/' c.config
    printf 'clk,u,i\n1,1\0032\0030,3\n0,,4\n1,2,5\n0,1\0031,6\n' >a.csv
    trained m
    status 0
    run "$TRAINYARD" predict c.config --input a.csv --output b.jsonl --debug-level 1 --output-columns probs
    status 0
    grep -o '"u:[^ ]*' b.jsonl | tr '\n' ' ' >.out
    out_has '"u:1;2;0 "u:3 "u:2 "u:1;1 '
}

# table_config RATE: a history `s` and an id `u`, tables under plain descent with RATE, Adam on the rest.
table_config()
{
    cat >c.config <<END
train_input_path: "a.csv" eval_input_path: "a.csv" model_dir: "m"
train_config { num_epochs: 1 save_checkpoints_steps: 2
  sparse_optimizer { sgd_optimizer { lr: $1 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.05 } constant_learning_rate {} } }
data_config { batch_size: 4 dataset_type: CsvDataset fg_mode: FG_NORMAL label_fields: "clk" with_header: true
  input_fields { input_name: "clk" input_type: INT64 } }
feature_configs { id_feature { feature_name: "u" expression: "user:u" num_buckets: 50 embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "i" expression: "item:i" num_buckets: 50 embedding_dim: 4 ${2:-} } }
feature_configs { sequence_id_feature { feature_name: "s" expression: "user:u" num_buckets: 50 embedding_dim: 4
  sequence_length: 9 sequence_delim: "|" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["u", "i"]
    sequence_groups { group_name: "g" feature_names: "s" }
    sequence_encoders { pooling_encoder { input: "g" } } }
  multi_tower { towers { input: "deep" mlp { hidden_units: [4] } } final { hidden_units: 2 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
}

# changed A B: names of the tables in which the checkpoints differ, with how many rows do.
changed()
{
    python3 - "$1" "$2" <<'PY'
import json, struct, sys
def tables(d):
    raw = open(d + '/model-00001-of-00001.safetensors', 'rb').read()
    n, = struct.unpack('<Q', raw[:8])
    for name, t in json.loads(raw[8:8 + n]).items():
        if name.endswith('_emb.weight'):
            a, b = t['data_offsets']
            rows, dim = t['shape']
            data = raw[8 + n + a:8 + n + b]
            yield name.split('.')[-2], [data[4 * dim * r:4 * dim * (r + 1)] for r in range(rows)]
a, b = dict(tables(sys.argv[1])), dict(tables(sys.argv[2]))
print(' '.join(f'{x}:{sum(p != q for p, q in zip(a[x], b[x]))}' for x in sorted(a) if a[x] != b[x]))
PY
}

# With a rate of zero only the dense optimizer moves rows.
tables_may_have_the_dense_optimizer()
{
    rows 1 16 >a.csv
    table_config 0
    trained m
    status 0
    [ "$(changed m/model.ckpt-2 m/model.ckpt-3)" = "" ] || fail "a rate of zero moves $(changed m/model.ckpt-2 m/model.ckpt-3)"
    trained n --like-reference tables
    status 0
    # rows of the first two batches go on moving while others come
    [ "$(changed n/model.ckpt-2 n/model.ckpt-3)" = "s_emb:16" ] || fail "moved: $(changed n/model.ckpt-2 n/model.ckpt-3)"
    trained o --like-reference tables --set train_config.num_steps=3
    trained o --like-reference tables --continue
    status 0
    same_checkpoint n/model.ckpt-3 o/model.ckpt-3
    run "$TRAINYARD" eval c.config --model-dir n
    status 0
    sed 's/.*"auc": //; s/[,}].*//' n/train_eval_result_v2.txt | tail -1 >want
    out_has "$(cut -c1-6 want)"
    trained p --like-reference tables --set 'feature_configs[1].id_feature.embedding_constraints.sharding_types=["data_parallel"]'
    status 0
    [ "$(changed p/model.ckpt-2 p/model.ckpt-3)" = "i_emb:16 s_emb:16" ] || fail "moved: $(changed p/model.ckpt-2 p/model.ckpt-3)"
}

a_plan_of_torcheasyrec_says_which_tables()
{
    rows 1 16 >a.csv
    table_config 0
    mkdir -p t/model.ckpt-9
    cat >t/model.ckpt-9/plan <<'END'
{"model.embedding_group.emb_impls.__BASE__.ebc": {
  "u_emb": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0]},
  "i_emb": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [0]}},
 "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.4": {
  "s_emb": {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0]}}}
END
    trained m --like-reference tables --reference-plan t/model.ckpt-9
    status 0
    [ "$(changed m/model.ckpt-2 m/model.ckpt-3)" = "u_emb:16" ] || fail "moved: $(changed m/model.ckpt-2 m/model.ckpt-3)"
    trained n --like-reference mean --reference-plan t/model.ckpt-9
    status 2
    err_has "error[E0603]: --reference-plan goes with --like-reference tables"
    trained n --like-reference tables --reference-plan t
    status 1
    err_has "--reference-plan: there is no file 't/plan'"
    trained n --like-reference tables --shards 2
    status 1
    err_has "--like-reference tables: the dense optimizer updates tables in runs of one shard, not of 2"
}

tap_cases masked_rows_see_no_input workers_take_turns text_files_are_dealt_to_workers \
    weights_of_a_query_do_not_count \
    wide_groups_train check_refuses_what_train_refuses \
    tables_may_have_the_dense_optimizer a_plan_of_torcheasyrec_says_which_tables \
    fine_tuning_can_take_up_the_data checkpoints_of_others_name_the_converter encoded_tokens_are_steps
