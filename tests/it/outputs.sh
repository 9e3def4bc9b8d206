#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One rule for every output: never an input, nothing that exists unless --overwrite, and
# what was there stays when a command fails.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

a_conversion_never_overwrites_its_input()
{
    printf 'a,b\n1,2\n' >x.csv
    cp x.csv keep.csv
    ln -s x.csv link.csv
    ln x.csv hard.csv
    for out in x.csv ./x.csv link.csv hard.csv; do
        run "$TRAINYARD" data convert x.csv $out --overwrite
        status 2
        err_has "error[E0009]: output '$out' is the input 'x.csv'; name another output"
        check "$out: the input is as it was" cmp x.csv keep.csv
    done
    run "$TRAINYARD" data convert '*.csv' link.csv --overwrite
    status 2
    check "a pattern, too" cmp x.csv keep.csv
}

an_existing_output_needs_overwrite()
{
    printf 'a,b\n1,2\n' >x.csv
    echo old >y.csv
    run "$TRAINYARD" data convert x.csv y.csv
    status 2
    err_is <<'E'
trainyard data convert: error[E0008]: output 'y.csv' exists; name another one, or say --overwrite
E
    check "it stays" grep -qx old y.csv
    ln -s nowhere dangling.csv
    run "$TRAINYARD" data convert x.csv dangling.csv
    status 2
    err_has E0008
    printf 'a,b\n1,"2\n' >bad.csv
    run "$TRAINYARD" data convert bad.csv y.csv --overwrite
    status 1
    check "a failure leaves the old file" grep -qx old y.csv
    run "$TRAINYARD" data convert x.csv y.csv --overwrite
    status 0
    check "replaced" cmp x.csv y.csv
}

stdout_and_devices_are_written_as_they_are()
{
    printf 'a,b\n1,2\n' >x.csv
    run "$TRAINYARD" data convert x.csv - --to csv
    status 0
    out_is <x.csv
    printf 'stdout: 1 rows\n  int64: a, b\n' | err_is
    mkfifo p
    timeout 20 cat p >got.csv &
    run timeout 20 "$TRAINYARD" data convert x.csv p --to csv
    status 0
    wait
    [ -p p ] || fail "the pipe was replaced"
    check "through a pipe" cmp got.csv x.csv
    run sh -c '"$1" data convert x.csv - --to csv >/dev/full' - "$TRAINYARD"
    status 1
    err_has "cannot write to 'stdout'"
}

generated_data_needs_overwrite()
{
    run "$TRAINYARD" data gen taobao --rows 300 --files 3 --out d
    status 0
    cp -r d keep
    run "$TRAINYARD" data gen taobao --rows 300 --files 1 --out d --seed 2
    status 2
    err_has "error[E0008]: output 'd/gen.json' exists"
    check "untouched" diff -r d keep
    rm d/gen.json
    run "$TRAINYARD" data gen taobao --rows 300 --out d
    status 2
    err_has "error[E0008]: output 'd/train/part-0.parquet' exists"
    run "$TRAINYARD" data gen taobao --rows 300 --files 1 --out d --seed 2 --overwrite
    status 0
    [ "$(cd d/train && echo *)" = part-0.parquet ] || fail "old parts stay: $(ls d/train)"
}

a_prediction_never_overwrites_its_input()
{
    config
    data
    trained m --set train_config.num_epochs=1
    status 0
    "$TRAINYARD" data convert data/eval x.parquet 2>/dev/null
    cp x.parquet keep.parquet
    run "$TRAINYARD" predict c.config --input x.parquet --output x.parquet --overwrite
    status 2
    err_has "error[E0009]: output 'x.parquet' is the input 'x.parquet'"
    cp -r data/eval dir
    run "$TRAINYARD" predict c.config --input dir --output dir --overwrite
    status 2
    err_has "error[E0009]: output directory 'dir' holds the input 'dir/part-0.parquet'"
    check "the directory stays" diff -r dir data/eval
    check "the input is as it was" cmp x.parquet keep.parquet
}

predictions_and_exports_need_overwrite()
{
    config
    data
    trained m --set train_config.num_epochs=1
    run "$TRAINYARD" predict c.config --input data/eval --output p.csv
    status 0
    run "$TRAINYARD" predict c.config --input data/eval --output p.csv
    status 2
    err_has "error[E0008]: output 'p.csv' exists"
    cp p.csv keep.csv
    run "$TRAINYARD" predict c.config --input data/eval --output - --writer-type csv
    status 0
    check "stdout has the same rows" cmp .out p.csv
    err_has "predicted 300 rows into stdout"
    run "$TRAINYARD" predict c.config --input data/eval --output p.csv --overwrite
    status 0
    run "$TRAINYARD" predict c.config --input data/eval --output parts --part-rows 100
    status 0
    cp -r parts keep
    run "$TRAINYARD" predict c.config --input /none --output parts --overwrite
    check "a failure keeps the parts" diff -r parts keep
    run "$TRAINYARD" predict c.config --input data/eval --output parts --overwrite
    status 0
    [ "$(cd parts && echo *)" = "_predict.json part-00000.parquet" ] || fail "$(ls parts)"
    run "$TRAINYARD" export c.config --export-dir x
    status 0
    run "$TRAINYARD" export c.config --export-dir x
    status 2
    err_has "error[E2001]: 'x' is there already; name another directory, or say --overwrite"
    run "$TRAINYARD" export c.config --export-dir x --overwrite --table-type bf16
    status 0
    mkdir home
    echo mine >home/file
    run "$TRAINYARD" export c.config --export-dir home --overwrite
    status 2
    err_has "is not an export, so it is not replaced"
    check "it stays" grep -qx mine home/file
}

tables_need_overwrite()
{
    printf 'item,user,cate\n1,1,a\n2,1,b\n3,2,a\n' >log.csv
    run "$TRAINYARD" data items log.csv --item item --user user --out t
    status 0
    run "$TRAINYARD" data items log.csv --item item --user user --out t
    status 2
    err_has "error[E0008]: output 't/items.txt' exists"
    run "$TRAINYARD" data items log.csv --item item --user user --out t --overwrite
    status 0
    run "$TRAINYARD" tdm init-tree log.csv --item item --cate cate --out tree
    status 0
    run "$TRAINYARD" tdm init-tree log.csv --item item --cate cate --out tree
    status 2
    err_has "error[E0008]: output 'tree/node_table.txt' exists"
    printf 'item_id,item_tower_emb\n1,"1,0"\n2,"0,1"\n' >i.csv
    printf 'request_id,gt_items,user_tower_emb\n7,"1","1,0"\n' >u.csv
    run "$TRAINYARD" hitrate --users u.csv --items i.csv --top-k 1 --total r.csv
    status 0
    run "$TRAINYARD" hitrate --users u.csv --items i.csv --top-k 1 --total r.csv
    status 2
    err_has "error[E0008]: output 'r.csv' exists"
    run "$TRAINYARD" hitrate --users u.csv --items i.csv --total u.csv --overwrite
    status 2
    err_has "error[E0009]: output 'u.csv' is the input 'u.csv'"
    run "$TRAINYARD" init log.csv --label user --out log.csv --overwrite
    status 2
    err_has E0009
}

tap_cases \
    a_conversion_never_overwrites_its_input \
    an_existing_output_needs_overwrite \
    stdout_and_devices_are_written_as_they_are \
    generated_data_needs_overwrite \
    a_prediction_never_overwrites_its_input \
    predictions_and_exports_need_overwrite \
    tables_need_overwrite
