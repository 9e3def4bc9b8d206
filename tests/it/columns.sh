#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The types of a model's columns are decided once and hold for whatever is read for it
# afterwards: one odd value does not change what the others mean.
. "$(dirname "$0")/lib.sh"

# An id by its hash, a price by its number; 5 is an id with and without a zero before it.
csv_config()
{
    cat >c.config <<'END'
train_input_path: "train*.csv" eval_input_path: "eval.csv" model_dir: "m"
train_config {
  num_epochs: 2 save_checkpoints_steps: 1000
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
}
data_config {
  batch_size: 64 dataset_type: CsvDataset fg_mode: FG_DAG label_fields: "y"
  with_header: true
}
feature_configs { id_feature { feature_name: "id" expression: "item:id"
  hash_bucket_size: 1000 embedding_dim: 4 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["id", "price"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: 8 } } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
}

# rows FROM TO: y,id,price with ids from 000 to 099.
rows()
{
    awk -v a="$1" -v b="$2" 'BEGIN { for (i = a; i < b; i++)
        printf "%d,%03d,%d\n", (i * 7919) % 13 < 5, (i * 31) % 100, i % 9 }'
}

files()
{
    csv_config
    { echo y,id,price; rows 0 400; } >train1.csv
    { echo y,id,price; rows 400 500; } >eval.csv
}

model()
{
    files
    run "$TRAINYARD" train c.config
    status 0
}

predicted() # input
{
    run "$TRAINYARD" predict c.config --input "$1" --output p.csv --overwrite
}

the_types_of_columns_are_kept_with_a_checkpoint()
{
    model
    holds m/model.ckpt-13/manifest.json '"columns":'
    holds m/model.ckpt-13/manifest.json '"id":'
    run python3 -c "
import json
print(json.load(open('m/model.ckpt-13/manifest.json'))['state']['columns'])"
    out_has "'y': 'int64', 'id': 'int64', 'price': 'int64'"
}

a_text_among_ids_is_refused_with_its_place_and_not_another_hash_for_all()
{
    model
    { echo y,id,price; rows 0 4; echo 1,abc,3; } >eval.csv
    run "$TRAINYARD" eval c.config
    status 1
    err_has "'eval.csv': line 6, column 3: 'id' (field 2): 'abc' is not of type INT64, with which the model was trained"
    predicted eval.csv
    status 1
    err_has "'eval.csv': line 6, column 3: 'id' (field 2): 'abc' is not of type INT64, with which the model was trained"
}

an_id_beyond_64_bits_and_a_fraction_are_refused()
{
    model
    { echo y,id,price; rows 0 4; echo 1,9223372036854775808,3; } >eval.csv
    predicted eval.csv
    status 1
    err_has "'9223372036854775808' does not fit type INT64, with which the model was trained"
    { echo y,id,price; rows 0 4; echo 1,1.5,3; } >eval.csv
    predicted eval.csv
    status 1
    err_has "'1.5' is not of type INT64, with which the model was trained"
}

# Scores of rows do not depend on what else is in their file.
rows_are_scored_alike_in_every_file()
{
    model
    predicted eval.csv
    status 0
    cp p.csv whole.csv
    for n in 1 2 7; do
        { echo y,id,price; rows 400 $((400 + n)); } >part.csv
        predicted part.csv
        status 0
        head -$((n + 1)) whole.csv >.want
        check "$n rows are scored alike" cmp p.csv .want
    done
    { echo y,id,price; echo 1,,3; } >part.csv # an id column without a value
    predicted part.csv
    status 0
}

a_price_may_get_fractions_later()
{
    model
    { echo y,id,price; rows 0 4; echo 1,005,3.5; } >day2.csv
    predicted day2.csv
    status 0
    run "$TRAINYARD" train c.config --continue --train-input day2.csv --eval-input day2.csv
    status 0
    { echo y,id,price; rows 0 4; echo 1,005,cheap; } >day2.csv
    predicted day2.csv
    status 1
    err_has "'price' (field 3): 'cheap' is not of type INT64, with which the model was trained"
}

the_next_days_training_keeps_the_types()
{
    model
    { echo y,id,price; rows 0 90; echo 1,x9,3; } >day2.csv
    run "$TRAINYARD" train c.config --continue --train-input day2.csv
    status 1
    err_has "'day2.csv': line 92, column 3: 'id' (field 2): 'x9' is not of type INT64, with which the model was trained"
    run "$TRAINYARD" train c.config --model-dir other --fine-tune m --train-input day2.csv
    status 1
    err_has "'x9' is not of type INT64, with which the model was trained"
}

declared_types_hold_and_a_change_of_them_is_refused()
{
    files
    sed -i 's/with_header: true/with_header: true input_fields { input_name: "id" input_type: STRING }/' c.config
    run "$TRAINYARD" train c.config
    status 0
    { echo y,id,price; rows 0 4; echo 1,abc,3; } >eval.csv
    run "$TRAINYARD" eval c.config
    status 0
    sed -i 's/input_type: STRING/input_type: INT64/' c.config
    { echo y,id,price; rows 0 4; } >eval.csv
    run "$TRAINYARD" eval c.config
    status 2
    err_has "error[E1411]: evaluation: column 'id' of 'eval.csv' is int64, but was string when the model was trained"
    { echo y,id,price; echo 1,x,3; } >eval.csv
    cp eval.csv train1.csv
    run "$TRAINYARD" train c.config --model-dir n
    err_has "'x' is not of type INT64, which input_fields declares"
}

all_files_of_a_glob_have_one_type()
{
    files
    { echo y,id,price; rows 0 9; echo 1,abc,3; } >train2.csv
    run "$TRAINYARD" train c.config
    status 1
    err_has "'train2.csv': line 11, column 3: 'id' (field 2): 'abc' is not of type INT64, as the first rows of 'train1.csv' have it"
    # a first file without any id tells nothing
    { echo y,id,price; echo 1,,3; echo 0,,4; } >train0.csv
    { echo y,id,price; rows 0 9; } >train2.csv
    run "$TRAINYARD" train c.config --model-dir n
    status 0
    run cat n/model.ckpt-13/manifest.json
    out_has '"int64"'
    out_lacks '"string"'
}

an_export_has_the_types_too()
{
    model
    run "$TRAINYARD" export c.config --export-dir x
    status 0
    holds x/manifest.json '"columns": {"y": "int64", "id": "int64", "price": "int64"'
    { echo y,id,price; rows 0 4; echo 1,abc,3; } >part.csv
    run "$TRAINYARD" predict --model x --input part.csv --output p.csv
    status 1
    err_has "'abc' is not of type INT64, with which the model was trained"
    # JSON lines: ids as numbers, by the same types
    echo '{"y": 1, "id": 5, "price": 2}' >a.jsonl
    { echo y,id,price; echo 1,005,2; } >a.csv
    run "$TRAINYARD" predict --model x --input a.jsonl --output j.csv
    status 0
    run "$TRAINYARD" predict --model x --input a.csv --output c.csv
    status 0
    check "5 is 005" cmp j.csv c.csv
    echo '{"y": 1, "id": "5x", "price": 2}' >a.jsonl
    run "$TRAINYARD" predict --model x --input a.jsonl --output j2.csv
    status 1
    err_has "expected type int64, with which the model was trained, found '\"5x\"'"
}

# What pandas makes of whole numbers with one missing among them.
a_parquet_column_of_fractions_is_not_a_column_of_ids()
{
    model
    { echo y,id,price; rows 0 4; } >a.csv
    run "$TRAINYARD" data convert a.csv a.parquet
    status 0
    predicted a.parquet
    status 0
    { echo y,id,price; echo 1,5.0,3; } >b.csv
    run "$TRAINYARD" data convert b.csv b.parquet
    predicted b.parquet
    status 2
    err_has "error[E1411]: "
    err_has "column 'id' of 'b.parquet' is double, but was int64 when the model was trained"
}

# As an earlier version wrote it.
a_checkpoint_without_types_takes_those_of_the_data()
{
    model
    python3 - <<'END'
import re, zlib
p = 'm/model.ckpt-13/manifest.json'
text = re.sub(r'\n *"columns": \{[^}]*\},?', '', open(p).read())
body = text[:text.index('  "checksum": ')]
open(p, 'w').write(body + '  "checksum": "crc32:%08x"\n}\n' % zlib.crc32(body.encode()))
END
    { echo y,id,price; rows 0 4; echo 1,abc,3; } >eval.csv
    run "$TRAINYARD" eval c.config
    status 0
    err_has "note: the checkpoint does not tell the types of its columns"
    predicted eval.csv
    status 0
    err_has "note: the checkpoint does not tell the types of its columns"
    { echo y,id,price; rows 0 90; } >day2.csv
    run "$TRAINYARD" train c.config --continue --train-input day2.csv --eval-input day2.csv
    status 0
    err_has "note: the checkpoint does not tell the types of its columns"
    predicted eval.csv
    status 1
    err_has "with which the model was trained"
}

# A number beyond num_buckets counts as 0, which is an id of its own.
ids_outside_their_table_are_counted_and_shown()
{
    files
    sed -i 's/hash_bucket_size: 1000/num_buckets: 60/' c.config
    run "$TRAINYARD" train c.config
    status 0
    err_has "note: evaluation data, first rows: feature 'id': "
    [ "$(grep -c "note: training data: feature 'id': 160 values outside its table of 60 rows count as 0; the first is 62, row 3 of 'train1.csv' (line 4)" .err)" = 2 ] ||
        fail "$(cat .err)"
    err_has "note: evaluation data: feature 'id': 40 values outside its table of 60 rows count as 0; the first is 62, row 3 of 'eval.csv' (line 4)"
    run "$TRAINYARD" eval c.config
    status 0
    err_has "note: feature 'id': 40 values outside its table of 60 rows count as 0; the first is 62, row 3 of 'eval.csv' (line 4)"
    # texts of a dictionary, and negative numbers
    { echo y,id,price; echo 1,-5,3; echo 0,7,3; echo 1,-5,3; } >a.csv
    run "$TRAINYARD" data convert a.csv a.parquet --types id=string
    run "$TRAINYARD" eval c.config --eval-input a.parquet --set data_config.dataset_type=ParquetDataset
    status 0
    err_has "note: feature 'id': 2 values outside its table of 60 rows count as 0; the first is \"-5\", row 1 of 'a.parquet'"
}

predict_and_serve_count_ids_outside_their_table()
{
    files
    sed -i 's/hash_bucket_size: 1000/num_buckets: 60/' c.config
    "$TRAINYARD" train c.config 2>.err || fail "$(cat .err)"
    "$TRAINYARD" export c.config --export-dir e 2>.err || fail "$(cat .err)"
    for threads in 1 3; do
        run "$TRAINYARD" predict --model e --input eval.csv --output p.csv --overwrite --threads $threads --batch-size 7
        status 0
        err_has "note: feature 'id': 40 values outside its table of 60 rows count as 0; the first is 62, row 3 of 'eval.csv' (line 4)"
    done
    { echo id,price; echo 7,3; } >good.csv
    run "$TRAINYARD" predict --model e --input good.csv --output p.csv --overwrite
    status 0
    err_lacks "outside its table"
    "$TRAINYARD" serve --model e --listen 127.0.0.1:0 2>serve.log &
    local pid=$! url=
    for _ in $(seq 100); do
        url=$(sed -n 's/^listening on //p' serve.log)
        [ -z "$url" ] || break
        sleep .1
    done
    for _ in 1 2; do
        run curl -s -d '{"items": [{"id": 7, "price": 1}, {"id": 62, "price": 1}, {"id": -5, "price": 1}]}' "$url/score"
        out_has '"items": 3'
    done
    run curl -s "$url/metrics"
    out_has 'trainyard_values_outside_total{feature="id"} 4'
    kill $pid
    wait $pid
    [ "$(grep -c "feature 'id': 62 of items\[1\] is outside its table of 60 rows and counts as 0" serve.log)" = 1 ] || fail "$(cat serve.log)"
}

# The place of a value is that of its file, however many files a batch is made of.
a_value_that_is_no_id_is_named_with_its_file_row_and_line()
{
    files
    sed -i 's/hash_bucket_size: 1000/num_buckets: 1000/; s/batch_size: [0-9]*/batch_size: 64/' c.config
    "$TRAINYARD" train c.config >/dev/null 2>.err || fail "$(cat .err)"
    "$TRAINYARD" export c.config --export-dir e >/dev/null 2>.err || fail "$(cat .err)"
    mkdir many
    for i in 10 11 12 13 14 15 16 17 18 19 20 21; do
        { echo y,id,price; echo "0,$i,3"; echo "1,$([ $i = 19 ] && echo x9 || echo 5),4"; } >many/$i.csv
    done
    local where="column 'id', row 2 of 'many/19.csv' (line 3): 'x9' is not an integer"
    "$TRAINYARD" data convert many/19.csv odd.parquet --types id=string >/dev/null 2>&1
    sed 's/with_header: true/& input_fields { input_name: "id" input_type: STRING }/' c.config >c2.config
    run "$TRAINYARD" train c2.config --model-dir m2 --train-input 'many/*.csv' --eval-input train1.csv
    [ "$got" != 0 ] || fail "it went through"
    err_has "error[E1304]: feature 'id' (c2.config:"
    err_has "$where"
    run "$TRAINYARD" eval c.config --eval-input odd.parquet --set data_config.dataset_type=ParquetDataset
    err_has "column 'id', row 2 of 'odd.parquet': 'x9' is not an integer"
    run "$TRAINYARD" predict --model e --input odd.parquet --output -
    err_has "column 'id', row 2 of 'odd.parquet': 'x9' is not an integer"
    run "$TRAINYARD" parity e odd.parquet
    err_has "column 'id', row 2 of 'odd.parquet': 'x9' is not an integer"
}

tap_cases the_types_of_columns_are_kept_with_a_checkpoint \
    a_text_among_ids_is_refused_with_its_place_and_not_another_hash_for_all \
    an_id_beyond_64_bits_and_a_fraction_are_refused \
    rows_are_scored_alike_in_every_file \
    a_price_may_get_fractions_later \
    the_next_days_training_keeps_the_types \
    declared_types_hold_and_a_change_of_them_is_refused \
    all_files_of_a_glob_have_one_type \
    an_export_has_the_types_too a_value_that_is_no_id_is_named_with_its_file_row_and_line \
    a_parquet_column_of_fractions_is_not_a_column_of_ids \
    a_checkpoint_without_types_takes_those_of_the_data \
    ids_outside_their_table_are_counted_and_shown predict_and_serve_count_ids_outside_their_table
