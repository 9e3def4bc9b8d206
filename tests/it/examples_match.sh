#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples of models of retrieval train on the data that their first lines generate.
. "$(dirname "$0")/lib.sh"

data()
{
    "$TRAINYARD" data gen taobao --rows "$1" --out taobao >/dev/null 2>&1
    "$TRAINYARD" data items taobao/train taobao/eval --item adgroup_id --attr-delimiter "$2" \
        --attrs adgroup_id,cate_id,brand,price --out taobao/tables 2>/dev/null
}

# Better than drawing one of so many candidates.
train_example() # NAME LEAST
{
    data 6000 :
    run "$TRAINYARD" train "$TY_SOURCE/examples/$1-taobao.config" --set data_config.batch_size=256
    status 0
    run tail -n 1 "runs/$1-taobao/train_eval_result_v2.txt"
    json "d['recall@1'] > $2 and d['recall@10'] > d['recall@1']"
}
dat_trains() { train_example dat 0.02; }
dssm_v2_trains() { train_example dssm-v2 0.008; }
mind_trains() { train_example mind 0.02; }

tdm_trains()
{
    local layers tree=taobao/tree
    data 2000 ,
    (echo adgroup_id,cate_id,brand,price && tail -n +2 taobao/tables/items.txt | cut -f 3) >taobao/items.csv
    layers=$("$TRAINYARD" tdm init-tree taobao/items.csv --item adgroup_id --cate cate_id \
        --attrs cate_id,brand --raw-attrs price --out $tree 2>/dev/null)
    run "$TRAINYARD" train "$TY_SOURCE/examples/tdm-taobao.config" --set data_config.batch_size=64 \
        --set "data_config.tdm_sampler.layer_num_sample=${layers#*: }"
    status 0
    run tail -n 1 runs/tdm-taobao/train_eval_result_v2.txt
    json 'd["auc"] > 0.55'
}

tap_cases dat_trains dssm_v2_trains mind_trains tdm_trains
