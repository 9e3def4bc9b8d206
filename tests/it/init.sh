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
    run "$TRAINYARD" check pipeline.config
    status 0
    out_has "model $model"
    out_lacks warning
    run "$TRAINYARD" train pipeline.config --set train_config.num_epochs=0 \
        --set train_config.num_steps=3
    status 0
    [ -d model/model.ckpt-2 ] || [ -d model/model.ckpt-3 ] || fail "no checkpoint: $(ls model)"
}

criteo_becomes_deepfm()
{
    trains criteo deepfm
    run cat pipeline.config
    out_has 'train_input_path: "criteo/train"'
    out_has 'eval_input_path: "criteo/eval"'
    out_has 'raw_feature { feature_name: "int_1" expression: "item:int_1" normalizer: "method='
    out_has 'id_feature { feature_name: "cat_1" expression: "item:cat_1"'
}

taobao_becomes_din()
{
    trains taobao multi_tower_din
    run cat pipeline.config
    out_has 'sequence_name: "click_50_seq"'
    out_has 'sequence_delim: "|"'
    out_has 'embedding_name: "adgroup_id_emb"'
    out_has 'id_feature { feature_name: "tag_brand_list" expression: "item:tag_brand_list" separator: "|"'
    out_has '#   time_stamp: a timestamp: it only grows'
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

csv_is_read_as_it_was()
{
    run "$TRAINYARD" data gen movielens --rows 1000 --format csv --out d
    tr ',' ';' <d/train/part-0.csv >a.csv
    run "$TRAINYARD" init a.csv --out a.config
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
{"label": 0, "emb": [0.1, 0.2], "tags": ["a", "b"], "n": -3}
{"label": 1, "emb": [0.3, 0.2], "tags": ["a"], "n": 12}
END
    run "$TRAINYARD" init a.jsonl
    status 1
    err_has "training cannot read JSON lines: convert it to Parquet with \`trainyard data convert\`"
    run "$TRAINYARD" data convert a.jsonl a.parquet
    run "$TRAINYARD" init a.parquet --out -
    status 0
    out_has 'raw_feature { feature_name: "emb" expression: "item:emb" value_dim: 2 }'
    out_has 'id_feature { feature_name: "tags" expression: "item:tags" hash_bucket_size: 10'
    out_has 'raw_feature { feature_name: "n" expression: "item:n" normalizer: "method=zscore'
    out_has '# no other file was at hand: better rows that training does not see'
}

what_is_missing_is_said()
{
    printf 'a,b\n1,2\n3,4\n' >none.csv
    run "$TRAINYARD" init none.csv
    status 2
    err_is <<'END'
trainyard init: error[E1220]: which column is the label? none has a usual name, and none holds only 0 and 1; use --label
END
    printf 'a,b\n1,0\n0,1\n' >two.csv
    run "$TRAINYARD" init two.csv
    err_has "but these hold only 0 and 1: 'a', 'b'; use --label"
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

tap_cases criteo_becomes_deepfm taobao_becomes_din two_labels_become_mmoe movielens_has_tags \
    a_number_is_learned_too csv_is_read_as_it_was lists_become_vectors_and_tags \
    what_is_missing_is_said
