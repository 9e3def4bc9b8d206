#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# predict and parity: rows in their order, gone on with after a kill, refused with a reason.
. "$(dirname "$0")/lib.sh"

config() # num_class loss
{
    cat >c.config <<END
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_epochs: 1
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} ema { decay: 0.9 } }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" } }
feature_configs { id_feature { feature_name: "brand" expression: "item:brand" embedding_dim: 8
  zch { zch_size: 300 eviction_interval: 2 lfu {} } } }
feature_configs { id_feature { feature_name: "ad" expression: "item:adgroup_id" embedding_dim: 8
  hash_bucket_size: 500 data_type: "FP16" } }
feature_configs { sequence_id_feature { feature_name: "seen" expression: "user:click_50_seq__cate_id"
  sequence_delim: "|" sequence_length: 20 hash_bucket_size: 100 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate" expression: "item:cate_id"
  hash_bucket_size: 100 embedding_dim: 8 embedding_name: "cate" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "price", "brand", "ad"] }
  feature_groups { group_name: "seq" group_type: SEQUENCE feature_names: ["cate", "seen"] }
  multi_tower_din { towers { input: "deep" mlp { hidden_units: [16, 8] use_bn: true } }
    din_towers { input: "seq" attn_mlp { hidden_units: [8] activation: "Dice" } }
    final { hidden_units: 8 } }
  num_class: $1 losses { $2 {} } metrics { auc {} }
}
END
}

model() # num_class loss
{
    config "${1:-1}" "${2:-binary_cross_entropy}"
    "$TRAINYARD" data gen taobao --rows 3000 --files 2 --out data >/dev/null 2>&1
    "$TRAINYARD" train c.config >/dev/null 2>&1 || fail "training"
    "$TRAINYARD" export c.config --export-dir x >/dev/null || fail "export"
}

predict()
{
    run "$TRAINYARD" predict --model x --input data/eval "$@"
}

outputs_come_first_and_in_order()
{
    model
    predict --output a.csv --reserved-columns user_id,clk --threads 1
    status 0
    err_has "predicted 300 rows into a.csv"
    run head -1 a.csv
    out_is <<<'logits,probs,user_id,clk'
    predict --output b.csv --reserved-columns user_id,clk --threads 3 --batch-size 7
    check "threads and batches change nothing" cmp a.csv b.csv
    run "$TRAINYARD" predict c.config --input data/eval --output c.csv --reserved-columns user_id,clk
    check "the checkpoint gives the same" cmp a.csv c.csv
    "$TRAINYARD" data convert data/eval e.csv --columns user_id,clk 2>/dev/null
    cut -d, -f3,4 a.csv >kept.csv
    check "rows keep their order" cmp kept.csv e.csv
    predict --output d.csv --output-columns probs
    [ "$(head -1 d.csv)" = probs ] || fail "$(head -1 d.csv)"
    predict --output e.jsonl --debug-level 1 --output-columns probs
    check "features" grep -q '"__features__": *"user_id:[0-9]* | price:[0-9.]* | brand:[0-9]* | ad:[0-9]* | seen:' e.jsonl
}

all_columns_can_be_kept()
{
    model
    "$TRAINYARD" data convert data/eval e.csv --columns user_id,clk,price,brand,adgroup_id,cate_id,pid,click_50_seq__cate_id 2>/dev/null
    run "$TRAINYARD" predict --model x --input e.csv --output a.csv --reserved-columns ALL_COLUMNS
    status 0
    run head -1 a.csv
    out_is <<<"logits,probs,$(head -1 e.csv)"
    cut -d, -f3- a.csv | cmp -s - e.csv || fail "columns differ"
    run "$TRAINYARD" predict --model x --input e.csv --output b.csv --reserved-columns ALL_EFFECTIVE_COLUMNS,clk
    status 0
    run head -1 b.csv
    out_has logits,probs,user_id,price,brand
    out_has ,clk
    out_lacks pid
}

any_format_goes_in_and_out()
{
    model
    predict --output a.csv
    for f in csv jsonl; do
        "$TRAINYARD" data convert data/eval in.$f 2>/dev/null
        run "$TRAINYARD" predict --model x --input in.$f --output out-$f.csv \
            --dataset-type "$([ $f = csv ] && echo CsvDataset || echo ParquetDataset)" \
            --set data_config.with_header=true
        status 0
        check "$f" cmp a.csv out-$f.csv
    done
    predict --output dir
    run ls dir
    out_is <<<$'_predict.json\npart-00000.parquet'
    predict --output dir2 --writer-type CsvWriter --part-rows 100
    run ls dir2
    out_has part-00000.csv
    cat dir2/part-*.csv | grep -v logits >rows
    tail -n +2 a.csv | cmp -s - rows || fail "parts differ from the whole"
}

a_run_that_was_killed_goes_on()
{
    model
    for i in 1 2 3 4 5 6 7 8; do cp data/train/part-0.parquet "in-$i.parquet"; done
    args=(--model x --input 'in-*.parquet' --writer-type csv --part-rows 500 --batch-size 50
        --reserved-columns user_id)
    run "$TRAINYARD" predict "${args[@]}" --output whole
    status 0
    for i in 1 2 3 4 5 6; do
        "$TRAINYARD" predict "${args[@]}" --output parts >/dev/null 2>&1 &
        pid=$!
        sleep "0.0$((RANDOM % 9 + 1))"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
    done
    run "$TRAINYARD" predict "${args[@]}" --output parts
    status 0
    cat whole/part-*.csv | grep -v logits >a
    cat parts/part-*.csv | grep -v logits >b
    check "no row lost or twice" cmp a b
    [ -z "$(find parts -name '.*' -type f)" ] || fail "left behind: $(find parts -name '.*' -type f)"
    [ "$(wc -l <a)" = 10800 ] || fail "$(wc -l <a) rows"
    run "$TRAINYARD" predict "${args[@]}" --output parts
    err_has "parts is already complete: 10800 rows"
}

eval_export_and_predict_take_the_same_checkpoint()
{
    config 1 binary_cross_entropy
    "$TRAINYARD" data gen taobao --rows 3000 --files 2 --out data >/dev/null 2>&1
    run "$TRAINYARD" train c.config --set train_config.save_checkpoints_steps=2 --set train_config.num_epochs=3
    best=$(sed -n 's/^best .*at step //p' .err)
    last=$(sed -n 's/^checkpoint  m.model.ckpt-//p' .err)
    [ "$best" != "$last" ] || fail "the best is the last: nothing is shown by it"
    each() # what is said, options
    {
        run "$TRAINYARD" eval c.config "${@:2}"
        err_has "$1"
        run "$TRAINYARD" export c.config --export-dir x --overwrite "${@:2}"
        err_has "$1"
        run "$TRAINYARD" predict c.config --input data/eval --output a.csv --overwrite "${@:2}"
        err_has "$1"
    }
    each "checkpoint  m/model.ckpt-$last (the latest)"
    each "checkpoint  m/model.ckpt-$best (the best by auc)" --set export_config.exporter_type=best
    run "$TRAINYARD" eval c.config --checkpoint "m/model.ckpt-$last"
    err_lacks "checkpoint  "
    mv m elsewhere
    run "$TRAINYARD" predict c.config --model-dir elsewhere --input data/eval --output b.csv
    status 0
    err_has "checkpoint  elsewhere/model.ckpt-$last (the latest)"
    run "$TRAINYARD" predict --model x --model-dir elsewhere --input data/eval --output c.csv
    status 2
    err_has "error[E0609]: --model-dir needs a CONFIG"
}

an_output_directory_has_one_writer()
{
    model
    mkdir out
    (
        exec 9>out/.lock
        echo "process 7 on host h" >&9
        flock 9
        exec sleep 30
    ) &
    holder=$!
    for _ in $(seq 100); do
        flock -n out/.lock true || break
        sleep 0.05
    done
    predict --output out
    status 2
    err_has "error[E1410]: output 'out' is being written by process 7 on host h"
    kill $holder
    wait $holder 2>/dev/null
    predict --output out
    status 0
    [ ! -e out/.lock ] || fail "the lock stays"
}

what_a_killed_run_left_is_swept()
{
    model
    mkdir out
    touch -d '1 minute ago' .ty-dead00 .ty-alive0 out/.ty-dead00
    (
        exec 9<.ty-alive0
        flock -s 9
        exec sleep 30
    ) &
    holder=$!
    for _ in $(seq 100); do
        flock -n .ty-alive0 true || break
        sleep 0.05
    done
    predict --output a.csv
    status 0
    [ ! -e .ty-dead00 ] || fail "what a dead writer left is there"
    [ -e .ty-alive0 ] || fail "the file of a living writer is gone"
    kill $holder
    wait $holder 2>/dev/null
    predict --output out
    status 0
    [ ! -e out/.ty-dead00 ] || fail "what a dead writer left is there"
}

another_prediction_is_not_mixed_in()
{
    model
    predict --output dir
    predict --output dir --output-columns probs
    status 2
    err_has "[E2013]"
    predict --output dir --output-columns probs --overwrite
    status 0
    mkdir other && touch other/part-3.csv
    predict --output other
    err_has "[E2013]"
}

lists_do_not_fit_into_csv()
{
    model 2 softmax_cross_entropy
    predict --output a.csv
    status 2
    err_has "[E2015]"
    err_has "column 'logits' holds lists"
    predict --output a.jsonl
    status 0
    run head -1 a.jsonl
    json 'len(d["probs"]) == 2 and abs(d["probs"][1] - d["probs1"]) < 1e-6'
    predict --output b.csv --output-columns probs1
    status 0
}

what_is_wrong_is_named()
{
    model
    run "$TRAINYARD" predict --input data/eval --output a.csv
    err_has "--model DIR or a CONFIG is missing"
    run "$TRAINYARD" predict --model x --output a.csv
    err_has "--input PATH is missing"
    predict --output a.csv --reserved-columns nope
    err_has "there is no column 'nope' to be kept"
    predict --output a.csv --output-columns prob
    err_has "the model has no output 'prob'; it has logits, probs"
    predict --output a.csv --writer-type kafka
    err_has "--writer-type: 'kafka' is not one of parquet, csv, jsonl"
    echo '{"user_id": 1, "price": 2}' >few.jsonl
    run "$TRAINYARD" predict --model x --input few.jsonl --output a.csv
    status 2
    err_has "the data has no column 'cate_id'"
    echo '{"user_id": 1, "price": "cheap", "cate_id": 2, "brand": 1, "adgroup_id": 2, "click_50_seq__cate_id": "1"}' >odd.jsonl
    run "$TRAINYARD" predict --model x --input odd.jsonl --output a.csv
    [ "$got" != 0 ] || fail "a word as price"
    err_has "price"
    err_has cheap
    "$TRAINYARD" data convert data/eval all.csv 2>/dev/null
    head -1 all.csv >none.csv
    run "$TRAINYARD" predict --model x --input none.csv --output a.csv --dataset-type CsvDataset --set data_config.with_header=true
    err_has "[E2014]"
    run "$TRAINYARD" predict --model x --input nowhere --output a.csv
    err_has nowhere
    [ ! -e a.csv ] || fail "a.csv exists"
}

a_score_that_is_no_number_is_refused_or_null()
{
    model
    "$TRAINYARD" data convert data/eval e.csv 2>/dev/null
    price=$(head -1 e.csv | tr , '\n' | grep -nx price | cut -d: -f1)
    awk -F, -v OFS=, -v p="$price" 'NR == 7 { $p = "inf" } NR == 9 { $p = "-1e39" } 1' e.csv >odd.csv
    run "$TRAINYARD" predict --model x --input odd.csv --output a.csv
    status 2
    err_has "error[E2017]: row 6 of 'odd.csv' (line 7): output 'logits' is nan: feature 'price' is inf"
    [ ! -e a.csv ] || fail "a.csv exists"
    run "$TRAINYARD" predict --model x --input odd.csv --output a.csv --non-finite null
    status 0
    err_has "2 rows have no finite score; null was written"
    [ "$(sed -n 7p a.csv)$(sed -n 9p a.csv)" = ,, ] || fail "$(sed -n 7p a.csv)"
    [ "$(grep -c '^,$' a.csv)" = 2 ] || fail "more than those rows are null"
    run "$TRAINYARD" predict --model x --input odd.csv --output a.jsonl --non-finite null --output-columns probs
    [ "$(sed -n 6p a.jsonl)" = '{"probs": null}' ] || fail "$(sed -n 6p a.jsonl)"
    run "$TRAINYARD" predict --model x --input odd.csv --output a.parquet --non-finite null
    status 0
    awk -F, -v OFS=, -v p="$price" 'NR == 7 { $p = "cheap" } 1' e.csv >word.csv
    run "$TRAINYARD" predict --model x --input word.csv --output b.csv
    err_has "error[E1106]: 'word.csv': line 7, column "
    err_has "'price' (field $price): 'cheap' is not of type DOUBLE, with which the model was trained"
    rm -r m x
    model 2 softmax_cross_entropy
    run "$TRAINYARD" predict --model x --input odd.csv --output c.jsonl
    status 2
    err_has "row 6 of 'odd.csv' (line 7): output 'logits' is nan"
    run "$TRAINYARD" predict --model x --input odd.csv --output c.jsonl --non-finite null
    status 0
    [ "$(sed -n 6p c.jsonl | grep -o null | wc -l)" = 3 ] || fail "$(sed -n 6p c.jsonl)"
}

a_damaged_export_is_refused()
{
    model
    damage() # command
    {
        rm -rf y && cp -r x y
        eval "$1"
        run "$TRAINYARD" predict --model y --input data/eval --output a.csv
        [ "$got" != 0 ] || fail "not refused: $1"
    }
    damage 'truncate -s -1 y/tables.safetensors'
    err_has "[E2003]"
    err_has "file 'tables.safetensors' has"
    damage 'printf x | dd of=y/dense.safetensors bs=1 seek=900 conv=notrunc 2>/dev/null'
    err_has "file 'dense.safetensors' has other bytes than when it was written"
    damage 'rm y/model.onnx'
    err_has "file 'model.onnx' is missing"
    damage 'echo >>y/pipeline.config'
    err_has "[E2003]"
    damage 'rm y/manifest.json'
    err_has "[E2002]"
    damage 'echo "{" >y/manifest.json'
    err_has "[E2002]"
    damage 'echo "{}" >y/manifest.json'
    err_has "is not the manifest of an export"
    damage 'sed -i "s/\"version\": 1/\"version\": 99/" y/manifest.json'
    err_has "[E2004]"
    damage 'sed -i "/samples.safetensors/d" y/manifest.json; cp x/dense.safetensors y/samples.safetensors'
    err_has "[E2005]"
    run "$TRAINYARD" predict --model m --input data/eval --output a.csv
    err_has "there is no manifest.json in it"
}

a_full_disk_keeps_what_is_there()
{
    model
    "$TRAINYARD" predict --model x --input data/eval --output dir --writer-type csv \
        --predict-steps 1 >/dev/null 2>&1
    cp dir/part-00000.csv before
    (
        trap "" XFSZ
        ulimit -f 8
        "$TRAINYARD" predict --model x --input data/train --output dir2 --writer-type csv \
            --part-rows 100000 >.out 2>.err
        echo $? >rc
    )
    [ "$(cat rc)" = 1 ] || fail "exit status $(cat rc)"
    err_has "File too large"
    [ -z "$(ls dir2/part-* 2>/dev/null)" ] || fail "half a part is there"
    run "$TRAINYARD" predict --model x --input data/train --output dir2 --writer-type csv
    status 0
    err_has "predicted 2700 rows"
}

parity_agrees_and_names_what_does_not()
{
    model
    run "$TRAINYARD" parity x data/eval
    status 0
    out_has "300 rows: 6 features are the same, 2 outputs within 1e-05"
    "$TRAINYARD" export c.config --export-dir b --table-type int8 >/dev/null
    run "$TRAINYARD" parity b data/eval --json
    status 0
    json 'd["rows"] == 300 and 0 < d["largest"] < 0.05 and "row" in d["where"]'
    run "$TRAINYARD" parity b data/eval --tolerance 1e-7
    status 2
    err_has "[E2021]"
    err_has "row 1: output 'logits' is"
    run "$TRAINYARD" parity x data/eval --checkpoint nowhere
    err_has "[E2022]"
    # The export reads another vocabulary than training did.
    USE_FARM_HASH_TO_BUCKETIZE=true "$TRAINYARD" export c.config --export-dir f >/dev/null
    sed -i 's/"farm_hash": true/"farm_hash": false/' f/manifest.json
    run "$TRAINYARD" parity f data/eval
    err_has "[E2005]"
}

tap_cases outputs_come_first_and_in_order all_columns_can_be_kept any_format_goes_in_and_out \
    a_run_that_was_killed_goes_on eval_export_and_predict_take_the_same_checkpoint \
    an_output_directory_has_one_writer what_a_killed_run_left_is_swept another_prediction_is_not_mixed_in \
    lists_do_not_fit_into_csv what_is_wrong_is_named \
    a_score_that_is_no_number_is_refused_or_null a_damaged_export_is_refused \
    a_full_disk_keeps_what_is_there parity_agrees_and_names_what_does_not
