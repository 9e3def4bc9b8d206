#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Data and disks that are not as they should be: one clear message, and nothing is lost.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

bad_input_is_named()
{
    config && data
    trained m --train-input nowhere
    status 1
    err_has "nowhere"
    trained m --set data_config.label_fields='["clic"]'
    status 2
    err_has "clic"
    trained m --set 'feature_configs[1].id_feature.expression=item:cat_id'
    status 2
    err_has "cat_id"
    trained m --set train_config.num_epohcs=3
    status 2
    err_has "did you mean 'num_epochs'?"
    trained m --set model_config.deepfm.deep.activation=nn.Nope
    status 2
    err_has "nn.Nope"
    [ -d m ] && fail "a refused run left m behind"
}

a_device_without_its_plug_in_is_refused()
{
    config && data
    trained m --device cuda
    status 1
    err_has "error[E2602]: device 'cuda' needs libtrainyard_cuda.so, which is not beside the program"
    trained m --device abacus
    status 2
    err_has "abacus"
    [ -d m ] && fail "a refused run left m behind"
}

# Rows as text, so that anything can be put into them.
text_data() # COLUMN VALUE...: in place of the value of COLUMN in the first rows
{
    config
    "$TRAINYARD" data gen taobao --rows 600 --format csv --out text >/dev/null 2>&1
    python3 - "$@" <<'PY'
import csv, sys
column, values = sys.argv[1], sys.argv[2:]
rows = list(csv.reader(open('text/train/part-0.csv')))
at = rows[0].index(column)
for row, v in zip(rows[1:] if len(values) > 1 else rows[1:2], values * (len(rows) if values[-1:] == ['*'] else 1)):
    row[at] = v
csv.writer(open('rows.csv', 'w'), lineterminator='\n').writerows(rows)
PY
    "$TRAINYARD" data convert --overwrite rows.csv rows.parquet >/dev/null 2>&1
}

train_text() # MORE...
{
    trained m --train-input rows.parquet --eval-input '' "$@"
}

a_label_that_is_no_number_is_named()
{
    text_data clk maybe
    train_text
    status 2
    err_has "clk"
    [ -d m/model.ckpt-0 ] && fail "a checkpoint of nothing"
    return 0
}

a_label_that_is_missing_is_named()
{
    text_data clk ''
    train_text
    [ "$got" != 0 ] || fail "it went through"
    err_has "error[E1208]: "
    err_has "clk"
    err_has "row 1 has no value"
}

an_id_beyond_its_table_is_named()
{
    text_data user_id 5000
    train_text --edit-config-json '{"feature_configs[0]": "id_feature { feature_name: \"user_id\" expression: \"user:user_id\" num_buckets: 100 embedding_dim: 8 }"}'
    status 0 # generated features send ids outside of num_buckets to 0, as upstream
    rm -r m
    python3 - <<'PY'
import csv
rows = list(csv.reader(open('rows.csv')))
at = [rows[0].index(c) for c in ('price', 'cate_id', 'user_id')]
for i, r in enumerate(rows[1:]):
    r[at[0]], r[at[1]], r[at[2]] = '3', '5', '100' if i == 7 else '99'
csv.writer(open('rows.csv', 'w'), lineterminator='\n').writerows(rows)
PY
    "$TRAINYARD" data convert --overwrite rows.csv rows.parquet >/dev/null 2>&1
    # under FG_NONE ids come from the data as they are
    train_text --set data_config.fg_mode=FG_NONE --edit-config-json '{"feature_configs[0]": "id_feature { feature_name: \"user_id\" num_buckets: 100 embedding_dim: 8 }", "feature_configs[2]": "id_feature { feature_name: \"price\" num_buckets: 8 embedding_dim: 8 }"}'
    status 2
    err_has "error[E1402]: "
    err_has "user_id"
    err_has "row 8 of 'rows.parquet': id 100 is outside table"
    err_has "of 100 rows"
}

no_rows_are_an_error()
{
    config && data
    "$TRAINYARD" data head -n 0 data/train/part-0.parquet >/dev/null 2>&1
    head -1 <("$TRAINYARD" data gen taobao --rows 10 --format csv --out t >/dev/null 2>&1; cat t/train/part-0.csv) >none.csv
    "$TRAINYARD" data convert --overwrite none.csv none.parquet >/dev/null 2>&1
    trained m --train-input none.parquet
    [ "$got" != 0 ] || fail "it went through"
    err_has "none.parquet"
    find m -name 'model.ckpt-*' 2>/dev/null | grep -q . && fail "a checkpoint of nothing"
    return 0
}

# Without a positive the AUC is not 0 and not 1: it has no value, and a reason.
one_class_leaves_auc_undefined()
{
    config && data
    text_data clk 0 '*'
    python3 - <<'PY'
import csv
rows = list(csv.reader(open('rows.csv')))
at = rows[0].index('clk')
for r in rows[1:]:
    r[at] = '0'
csv.writer(open('zeros.csv', 'w'), lineterminator='\n').writerows(rows)
PY
    "$TRAINYARD" data convert --overwrite zeros.csv zeros.parquet >/dev/null 2>&1
    trained m --eval-input zeros.parquet --set train_config.num_steps=3
    status 0
    err_has "undefined"
    err_has "auc is undefined: "
    run tail -n 1 m/train_eval_result_v2.txt
    json 'd["auc"] is None and d["loss"] > 0'
}

# The loss would be NaN; it is told which value was, and nothing is updated with it.
nan_in_the_data_is_named()
{
    text_data price 7777.5
    "$TRAINYARD" data convert --overwrite rows.csv rows.jsonl >/dev/null 2>&1
    sed -i 's/7777.5/NaN/' rows.jsonl
    "$TRAINYARD" data convert --overwrite rows.jsonl rows.parquet >/dev/null 2>&1
    train_text --set train_config.save_checkpoints_steps=1 \
        --edit-config-json '{"feature_configs[2]": "raw_feature { feature_name: \"price\" expression: \"item:price\" }", "model_config": "feature_groups { group_name: \"deep\" group_type: DEEP feature_names: [\"user_id\", \"price\"] } multi_tower { towers { input: \"deep\" mlp { hidden_units: 8 } } final { hidden_units: 4 } } losses { binary_cross_entropy {} } metrics { auc {} }"}'
    [ "$got" != 0 ] || fail "it went through"
    err_has "error[E1404]: "
    err_has "feature 'price' is nan in row 1 of 'rows.parquet'"
}

# A disk that fills up in the middle of a save: the run ends, what was saved stays.
a_full_disk_leaves_the_checkpoints_that_were_there()
{
    config && data
    unshare -Urm true 2>/dev/null || skip "no user namespaces here"
    mkdir m
    run unshare -Urm bash -c '
        mount -t tmpfs -o size=400k tmpfs m || exit 77
        "$1" train c.config --set train_config.use_tensorboard=false --set train_config.num_epochs=50
        got=$?
        "$1" params m >params.txt 2>&1 || echo "no loadable checkpoint: $(cat params.txt)" >&2
        ls m >&2
        exit $got' - "$TRAINYARD"
    [ "$got" = 77 ] && skip "no tmpfs here"
    status 1
    err_has "error[E1509]: "
    err_has "was not saved"
    err_lacks "no loadable checkpoint"
    err_has "model.ckpt-5"
    err_lacks ".tmp"
}

# text_config [OPTION...]: training on rows.csv as it is.
text_config()
{
    sed 's/ParquetDataset/CsvDataset with_header: true/; s#"data/eval"#"text/eval"#' c.config >t.config
    run "$TRAINYARD" train t.config --train-input rows.csv --model-dir m "$@"
}

a_label_that_the_loss_cannot_have_is_named()
{
    text_data clk 0 0 2
    text_config --edit-config-json '{"model_config.train_metrics": null}'
    status 2
    err_has "error[E1401]: "
    err_has "label 'clk': row 3 of 'rows.csv' (line 4) is 2; binary losses take 0 to 1"
    text_data clk 0.5 0 0
    text_config
    err_has "row 1 of 'rows.csv' (line 2): label 0.5 is neither 0 nor 1"
    find m -name 'model.ckpt-*' | grep -q . && fail "a checkpoint of wrong labels"
    true
}

what_a_model_does_not_read_is_said()
{
    config && data
    sed -i 's/deepfm {.*/dcn_v2 { cross { cross_num: 2 low_rank: 4 } deep { hidden_units: [8] } final { hidden_units: 8 } }/' c.config
    trained m --set train_config.num_steps=1
    status 0
    err_has "note: feature groups that dcn_v2 does not read: 'deep' (3 features)"
    run "$TRAINYARD" check c.config
    status 0
    out_has "warning[E0208]: dcn_v2 does not read the group 'deep': its 3 features have no effect there"
}

odd_inputs_have_messages_of_their_own()
{
    text_data clk 0 1
    head -1 rows.csv >none.csv
    text_config --train-input none.csv
    status 2
    err_has "error[E1406]: no rows in 'none.csv': it holds a header and nothing else"
    head -4 rows.csv >few.csv
    text_config --train-input few.csv --shards 4
    status 2
    err_has "error[E1406]: 'few.csv': 3 rows are fewer than 4 shards, so none has a whole batch"
    text_config --eval-input few.csv --shards 4
    status 2
    err_has "error[E1406]: evaluation: 'few.csv': 3 rows are fewer than 4 shards"
    text_config --set 'data_config.sample_weight_fields=["user_id"]'
    status 2
    err_has "sample_weight_fields: column 'user_id' of type int64 cannot be used: weights are float or double"
    text_config --set train_config.num_epochs=null
    status 2
    err_has "to unset a field, leave it out of the file, or say --edit-config-json"
    mkfifo p
    text_config --train-input p
    status 1
    err_has "error[E1201]: 'p' is a pipe, which can be read once only: write it to a file first"
}

tap_cases bad_input_is_named a_device_without_its_plug_in_is_refused \
    a_label_that_is_no_number_is_named a_label_that_is_missing_is_named \
    a_label_that_the_loss_cannot_have_is_named what_a_model_does_not_read_is_said \
    odd_inputs_have_messages_of_their_own \
    an_id_beyond_its_table_is_named no_rows_are_an_error one_class_leaves_auc_undefined \
    nan_in_the_data_is_named a_full_disk_leaves_the_checkpoints_that_were_there
