#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# init: from a data file to a config that check accepts and train trains.
. "$(dirname "$0")/lib.sh"

# trains KIND MODEL [OPTION...] - generated data of that kind, all the way to a checkpoint.
trains()
{
    local kind=$1 model=$2
    shift 2
    run "$TRAINYARD" data gen "$kind" --rows 2000 --out "$kind"
    status 0
    run "$TRAINYARD" init "$kind" "$@"
    status 0
    err_has "pipeline.config: $model on "
    err_has "  trainyard export $kind-model/pipeline.config --export-dir $kind-export"
    run "$TRAINYARD" check pipeline.config
    status 0
    out_has "model $model"
    out_lacks warning
    run "$TRAINYARD" train pipeline.config --set train_config.num_epochs=0 \
        --set train_config.num_steps=3
    status 0
    [ -d "$kind-model/model.ckpt-2" ] || fail "no checkpoint: $(ls "$kind-model")"
}

criteo_becomes_deepfm()
{
    trains criteo deepfm
    run cat pipeline.config
    out_has 'train_input_path: "criteo/train"'
    out_has 'eval_input_path: "criteo/eval"'
    out_has 'raw_feature { feature_name: "int_1" expression: "item:int_1" normalizer: "method='
    out_has 'id_feature { feature_name: "cat_1" expression: "item:cat_1"'
    out_has 'raw_feature { feature_name: "int_1_bin" expression: "item:int_1"'
    out_has 'exporter_type: "best"'
    [ ! -e criteo-data ] || fail "rows were copied though there is something to evaluate on"
}

taobao_becomes_din()
{
    trains taobao multi_tower_din
    run cat pipeline.config
    out_has 'sequence_name: "click_50_seq"'
    out_has 'sequence_delim: "|"'
    out_has 'embedding_name: "adgroup_id_emb"'
    out_has 'id_feature { feature_name: "tag_brand_list" expression: "item:tag_brand_list" separator: "|"'
    out_has '#   time_stamp: times within one hour'
    out_has '#   buy: looks like another label: known only after the event'
}

two_labels_become_mmoe()
{
    trains taobao mmoe --model mmoe
    run cat pipeline.config
    out_has 'label_fields: ["clk", "buy"]'
    out_has 'this model looks at no order, so all are pooled'
}

movielens_has_tags()
{
    trains movielens deepfm
    run cat pipeline.config
    out_has 'feature_name: "genres" expression: "item:genres" separator: "|"'
    out_has '#   rating: looks like another label: known only after the event'
}

a_number_is_learned_too()
{
    trains movielens deepfm --label rating
    run cat pipeline.config
    out_has 'losses { l2_loss {} }'
}

a_label_that_the_loss_cannot_have_is_refused()
{
    printf 'label,b\n1,2\n1,4\n' >same.csv
    run "$TRAINYARD" init same.csv
    status 2
    err_is <<'END'
trainyard init: error[E1224]: label 'label' is the same in all 2 rows (1): there is nothing to tell apart
END
    printf 'label,b\na,2\nb,4\nc,5\n' >three.csv
    run "$TRAINYARD" init three.csv --label label
    status 2
    err_has "error[E1207]: label 'label' holds text; only text of exactly two values, in every row, can be a label"
    [ ! -e three-data ] || fail "rows were written"
}

# people N: raw rows without a header, a text label, weights, an id per row, two leaks.
people()
{
    awk -v n="$1" 'BEGIN { srand(7); for (i = 0; i < n; i++) {
        age = 18 + int(rand() * 60); y = rand() < (age > 45 ? .7 : .2)
        printf "%d,%s, %d, 1%018d%d, %s, %d, %s\n", age, rand() < .5 ? " \"Self emp not inc\"" : "\"Private, large\"",
            1000 + int(rand() * 90000), i, i % 10, y ? "yes" : "no", !y, y ? ">50K" : "<=50K" } }' >people.data
}

raw_files_need_no_edits()
{
    people 600
    run "$TRAINYARD" init people.data --names age,work,fnlwgt,row_id,paid,free,income
    status 0
    err_has "label 'income': '>50K' is 1, '<=50K' is 0; --positive says otherwise"
    err_has "left out 'fnlwgt': says how much a row counts"
    err_has "left out 'row_id': a different text in nearly every row"
    err_has "left out 'paid': a leak: it equals the label, or its opposite, in every row"
    err_has "left out 'free': a leak: it equals the label, or its opposite, in every row"
    err_has "of 600 rows, chosen by a hash of their features; training never sees them"
    run "$TRAINYARD" data head -n 1 people-data/train.parquet
    out_has 'income'
    run "$TRAINYARD" data convert --to csv people-data/train.parquet -
    out_has ',Self emp not inc,'
    out_has ',"Private, large",'
    run "$TRAINYARD" check pipeline.config
    status 0
    run "$TRAINYARD" train pipeline.config --patience 1 --threads 2
    status 0
    run "$TRAINYARD" init people.data --names age,work,fnlwgt,row_id,paid,free,income --positive '<=50K' --out b.config
    status 2
    err_has "error[E0008]: output 'people-data/train.parquet' exists"
    run "$TRAINYARD" init people.data --header none --label c6 --positive 'none' --out b.config --overwrite
    status 2
    err_has "--positive: label 'c6' is '"
    run "$TRAINYARD" init people.data --label c6 --out b.config --overwrite
    status 0
    err_has "note: the first line is taken for data, not for a header; columns are called c0, c1, ..."
}

numbers_that_floats_merge_are_ids()
{
    # Of 50 users, numbered from 9 * 10^18 on; and as many with numbers far apart.
    awk 'BEGIN { srand(3); print "uid,far,price,click"; for (i = 0; i < 2000; i++) {
        u = int(rand() * 50); p = rand() * 10
        printf "90000000000000000%02d,%d00000000000%02d,%.3f,%d\n", u, 100000 + u * 7, u, p, rand() < (u % 5 < 2 ? .8 : .2) } }' >log.csv
    run "$TRAINYARD" init log.csv
    status 0
    run cat pipeline.config
    out_has 'id_feature { feature_name: "uid"'
    out_has '"9000000000000000049"'
    out_has 'id_feature { feature_name: "far"'
    run "$TRAINYARD" train pipeline.config --patience 3
    status 0
    run tail -n 1 log-model/train_eval_result_v2.txt
    json 'd["auc"] > 0.7'
}

held_out_rows_are_never_trained_on()
{
    people 400
    "$TRAINYARD" init people.data --header none --label c6 2>.err
    run "$TRAINYARD" data convert people-data/train.parquet t.csv
    run "$TRAINYARD" data convert people-data/eval.parquet e.csv
    [ "$(tail -qn +2 t.csv e.csv | sort -u | wc -l)" = 400 ] || fail "rows were lost or doubled"
    [ "$(tail -n +2 e.csv | wc -l)" -gt 15 ] || fail "only $(wc -l <e.csv) lines are held out"
    [ -z "$(comm -12 <(tail -n +2 t.csv | sort) <(tail -n +2 e.csv | sort))" ] || fail "a row is in both"
    run "$TRAINYARD" init people.data --header none --label c6 --holdout 0 --out none.config --overwrite
    status 0
    err_has "no rows are held out: nothing is evaluated"
    run grep eval_input_path none.config
    status 1
}

the_latest_rows_are_held_out()
{
    awk 'BEGIN { srand(3); print "label,when,day,x"; for (i = 0; i < 500; i++)
        printf "%d,2024-03-%02d %02d:15:00,202403%02d,%f\n", rand() < .4, 1 + i / 25, i % 24, 1 + i / 25, rand() }' >log.csv
    run "$TRAINYARD" init log.csv
    status 0
    err_has "held out: 50 of 500 rows, the latest by 'when'; training never sees them"
    run cat pipeline.config
    out_has 'feature_name: "when_hour" expression: "mod(floor(when/3600),24)" variables: "item:when"'
    out_has 'feature_name: "when_weekday"'
    out_has '# day: dates as 20141021'
    run "$TRAINYARD" data head -n 1 log-data/eval.parquet
    out_has 1710872100
    run "$TRAINYARD" train pipeline.config --threads 2 --set train_config.num_epochs=1
    status 0
    run "$TRAINYARD" init log.csv --holdout-by x --overwrite
    status 2
    err_has "--holdout-by: column 'x' does not hold times"
    run "$TRAINYARD" init log.csv --holdout-by hash --overwrite
    err_has "chosen by a hash"
}

# Users 0 and up of whom 0 always clicks; shops 1 to 300, fields 0 to 299; a few colours.
clicks()
{
    awk 'BEGIN { srand(5); print "label,user_id,shop_id,field_id,colour"; for (i = 0; i < 3000; i++) {
        u = i % 7; printf "%d,%d,%d,%d,%s\n", u == 0 || rand() < .3, u, 1 + i % 300, i % 300,
            i == 9 ? "mauve" : i % 3 ? "red" : "blue" } }' >clicks.csv
}

# score USER SHOP COLOUR: of one row, by the model of clicks-export.
score()
{
    printf 'user_id,shop_id,field_id,colour\n%s,%s,7,%s\n' "$1" "$2" "$3" >one.csv
    "$TRAINYARD" predict --model clicks-export --input one.csv --output - 2>/dev/null | tail -n 1
}

# apart A B WHAT: two scores that must differ.
apart()
{
    [ -n "$1" ] && [ "$1" != "$2" ] || fail "$3: $1 and $2"
}

ids_that_are_not_in_the_file_have_a_row_of_their_own()
{
    clicks
    run "$TRAINYARD" init clicks.csv
    status 0
    run cat pipeline.config
    out_has '# user_id: 7 values, each with a row; all others share one'
    out_has '"0", "1", "2", "3", "4", "5", "6"]'
    out_has '# colour: 2 values, each with a row; those seen once (1) and all others share one'
    out_has '# shop_id: ids up to 300, 300 distinct; those from 310 on share row 0, which no id of this file has'
    out_has 'expression: "item:shop_id" num_buckets: 310'
    out_has '# field_id: 300 distinct values, hashed; another one meets the row of one of them in 10 % of cases'
    out_has 'expression: "item:field_id" hash_bucket_size: 3000'
    "$TRAINYARD" train pipeline.config --threads 2 --set train_config.num_epochs=2 2>.err || fail "$(cat .err)"
    "$TRAINYARD" export clicks-model/pipeline.config --export-dir clicks-export 2>.err || fail "$(cat .err)"
    apart "$(score 99 5 red)" "$(score 0 5 red)" "an unknown user is user 0"
    apart "$(score 99 5 red)" "$(score 1 5 red)" "an unknown user is user 1"
    apart "$(score 1 5 green)" "$(score 1 5 red)" "an unknown colour is red"
    apart "$(score 1 999 red)" "$(score 1 1 red)" "an unknown shop is shop 1"
    [ "$(score 99 5 red)" = "$(score 12345 5 red)" ] || fail "unknown users differ"
    [ "$(score 1 5 green)" = "$(score 1 5 mauve)" ] || fail "what was seen once is not as what is unknown"
}

csv_is_read_as_it_was()
{
    run "$TRAINYARD" data gen movielens --rows 1000 --format csv --out d
    for part in train eval; do
        mkdir -p a/$part
        tr ',' ';' <d/$part/part-0.csv >a/$part/part-0.csv
    done
    run "$TRAINYARD" init a --out a.config
    status 0
    run cat a.config
    out_has 'dataset_type: CsvDataset'
    out_has 'delimiter: ";"'
    run "$TRAINYARD" check a.config
    status 0
    run "$TRAINYARD" train a.config --set train_config.num_epochs=0 --set train_config.num_steps=2
    status 0
}

lists_become_vectors_and_tags()
{
    cat >a.jsonl <<'END'
{"label": 0, "emb": [0.1, 0.2], "tags": ["a", "b"], "n": -3, "sure": true}
{"label": 1, "emb": [0.3, 0.2], "tags": ["a"], "n": 12, "sure": false}
END
    run "$TRAINYARD" init a.jsonl --out -
    status 0
    err_has "too few rows to hold any out: nothing is evaluated"
    out_has 'train_input_path: "a-data/train.parquet"'
    out_has 'raw_feature { feature_name: "emb" expression: "item:emb" value_dim: 2 }'
    out_has 'id_feature { feature_name: "tags" expression: "item:tags" hash_bucket_size: 20'
    out_has 'raw_feature { feature_name: "n" expression: "item:n" normalizer: "method=zscore'
    out_has 'id_feature { feature_name: "sure" expression: "item:sure"'
}

# Names of columns and texts of labels are data: none of them may say anything in the config.
names_of_strangers_stay_names()
{
    local evil='x
model_dir: "elsewhere"
#'
    awk -v evil="$evil" 'BEGIN { q = evil; gsub(/"/, "\"\"", q); srand(3)
        printf "\"y%s\",\"n%s\",\"fnl\nwgt\",item_id,\"hist\"\" } train_config { } #__item_id\",\"when%s\",u:v,\n", q, q, q
        for (i = 0; i < 400; i++) printf "%s,%.3f,7,%d,%d|%d,2024-01-%02d 10:%02d:00,3,%d\n", rand() < .5 ? "yes" : "no",
            rand(), i % 9 + 1, i % 7 + 1, i % 5 + 1, i % 28 + 1, i % 60, i % 4 }' >names.csv
    run "$TRAINYARD" init names.csv --label "y$evil" --model multi_tower_din
    status 0
    err_has "left out 'fnl?wgt': the same in every row"
    err_has "left out 'u:v': a name with ':', which an expression cannot hold: rename the column"
    err_has "left out '': it has no name: give it one"
    run "$TRAINYARD" check --print pipeline.config
    status 0
    out_has 'model_dir: "names-model"'
    out_lacks 'model_dir: "elsewhere"'
    out_has 'group_name: "hist\" } train_config { } #"'
    run "$TRAINYARD" train pipeline.config --set train_config.num_epochs=0 --set train_config.num_steps=2
    status 0
    { [ -d names-model ] && [ ! -e elsewhere ]; } || fail "the model is not where it was to be: $(ls)"
}

rows_are_copied_on_request_and_nothing_is_half_replaced()
{
    printf 'label,b\n1,2\n0,4\n1,6\n' >rows.csv
    mkdir at
    run "$TRAINYARD" init rows.csv --label label --holdout 0 --copy --name at/mine --out at/mine.config
    status 0
    run cat at/mine.config
    out_has 'train_input_path: "at/mine-data/train.parquet"'
    out_has 'model_dir: "at/mine-model"'
    run cksum at/mine-data/train.parquet
    local before
    before=$(cat .out)
    run "$TRAINYARD" init rows.csv --label label --holdout 0 --copy --name at/mine --out nowhere/mine.config --overwrite
    status 1
    err_has "error[E0005]: 'nowhere/mine.config': there is no directory 'nowhere'"
    run cksum at/mine-data/train.parquet
    [ "$(cat .out)" = "$before" ] || fail "the rows were replaced"
    run "$TRAINYARD" init rows.csv --name ''
    status 2
    err_has "error[E0603]: --name: it is empty"
}

few_rows_of_which_each_differs_leak_nothing()
{
    awk 'BEGIN { srand(5); print "label,x"; for (i = 0; i < 60; i++) printf "%d,%.6f\n", i % 2, rand() }' >few.csv
    run "$TRAINYARD" init few.csv
    status 0
    err_lacks "a leak"
    awk 'BEGIN { print "label,x,n"; for (i = 0; i < 60; i++) printf "%d,%d,%d\n", i % 2, i % 6, (i * 7) % 11 }' >leak.csv
    run "$TRAINYARD" init leak.csv --overwrite
    status 0
    err_has "left out 'x': a leak: each of its values goes with one label only"
}

vectors_with_gaps_are_left_out()
{
    cat >gaps.jsonl <<'END'
{"label": 0, "emb": [0.1, 0.2], "gap": [0.1, 0.2], "n": -3}
{"label": 1, "emb": [0.3, 0.2], "gap": [null, 0.2], "n": 12}
END
    run "$TRAINYARD" init gaps.jsonl --out -
    status 0
    out_has 'feature_name: "emb"'
    out_has '#   gap: numbers, of which some are missing'
}

what_is_missing_is_said()
{
    printf 'a,b\n1,2\n3,4\n' >none.csv
    run "$TRAINYARD" init none.csv
    status 2
    err_is <<'END'
trainyard init: error[E1220]: which column is the label? none has a usual name, and none holds only two values; use --label
END
    printf 'a,b\n1,0\n0,1\n' >two.csv
    run "$TRAINYARD" init two.csv
    err_has "but these hold only two values: 'a', 'b'; use --label"
    run "$TRAINYARD" init two.csv --label c
    err_has "error[E1204]: there is no column 'c'"
    run "$TRAINYARD" init two.csv --label a --model multi_tower_din
    err_has "error[E1222]: multi_tower_din needs a sequence and an id of the same name"
    printf 'label,b,c\n1,7,\n0,7,\n' >same.csv
    run "$TRAINYARD" init same.csv
    err_has "error[E1221]: no feature column is left besides the label"
    touch pipeline.config
    run "$TRAINYARD" init two.csv --label a
    err_has "error[E1223]: 'pipeline.config' is there already; say --overwrite to replace it, or --out"
    run "$TRAINYARD" init two.csv --label a --force
    status 0
}

tap_cases numbers_that_floats_merge_are_ids ids_that_are_not_in_the_file_have_a_row_of_their_own criteo_becomes_deepfm taobao_becomes_din two_labels_become_mmoe movielens_has_tags \
    a_number_is_learned_too a_label_that_the_loss_cannot_have_is_refused \
    raw_files_need_no_edits held_out_rows_are_never_trained_on the_latest_rows_are_held_out csv_is_read_as_it_was lists_become_vectors_and_tags \
    names_of_strangers_stay_names rows_are_copied_on_request_and_nothing_is_half_replaced few_rows_of_which_each_differs_leak_nothing \
    vectors_with_gaps_are_left_out what_is_missing_is_said
