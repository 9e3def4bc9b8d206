#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every example is right and trains on the data that its first lines generate.
. "$(dirname "$0")/lib.sh"

examples_are_right()
{
    run "$TRAINYARD" check "$TY_SOURCE"/examples/*.config "$TY_SOURCE"/examples/zoo/*.config
    status 0
    out_lacks "warning"
}

# A model comes with an example, a row in the manual and a case of another implementation.
every_model_is_shown()
{
    local model
    while read -r model; do
        grep -qE "^ +$model \{" "$TY_SOURCE"/examples/*.config "$TY_SOURCE"/examples/zoo/*.config ||
            fail "$model has no example"
        grep -q "^| \`$model\` |" "$TY_SOURCE/docs/models.md" || fail "docs/models.md lacks $model"
        ls "$TY_SOURCE/tests/golden/models/$model"*.json >/dev/null 2>&1 || fail "$model has no golden"
    done < <(sed -n 's/^MODEL(\(.*\))$/\1/p' "$TY_SOURCE/src/model/models.def")
}

# On few rows, with small tables: better than chance is all that can be asked.
train_example() # NAME KIND
{
    "$TRAINYARD" data gen "$2" --rows 12000 --out "$2" >/dev/null 2>&1
    run "$TRAINYARD" train "$TY_SOURCE/examples/$1.config" --set data_config.batch_size=512
    status 0
    err_has "done        "
    run tail -n 1 "runs/$1/train_eval_result_v2.txt"
    json 'all(v > 0.52 for k, v in d.items() if k.startswith("auc"))'
}
din_trains() { train_example din-taobao taobao; }
mmoe_trains() { train_example mmoe-taobao taobao; }
deepfm_trains() { train_example deepfm-criteo criteo; }
dlrm_trains() { train_example dlrm-criteo criteo; }
ncf_trains() { train_example ncf-movielens movielens; }

# One after the other on the same few rows, with larger steps.
the_zoo_trains()
{
    local config name
    "$TRAINYARD" data gen taobao --rows 12000 --out taobao >/dev/null 2>&1
    for config in "$TY_SOURCE"/examples/zoo/*.config; do
        name=$(basename "$config" .config)
        run "$TRAINYARD" train "$config" --set data_config.batch_size=256 \
            --set train_config.num_epochs=2 \
            --set train_config.dense_optimizer.adam_optimizer.lr=0.01
        status 0
        run tail -n 1 "runs/$name/train_eval_result_v2.txt"
        json 'all(v > 0.51 for k, v in d.items() if k.startswith("auc"))'
    done
}

# Far better than drawing one of 513 candidates.
dssm_trains()
{
    "$TRAINYARD" data gen taobao --rows 12000 --out taobao >/dev/null 2>&1
    "$TRAINYARD" data items taobao/train taobao/eval --item adgroup_id \
        --attrs adgroup_id,cate_id,brand,price --out taobao/tables 2>/dev/null
    run "$TRAINYARD" train "$TY_SOURCE/examples/dssm-taobao.config" --set data_config.batch_size=512
    status 0
    run tail -n 1 runs/dssm-taobao/train_eval_result_v2.txt
    json 'd["recall@1"] > 0.02 and d["recall@10"] > d["recall@1"]'
}

# Two numbers of 64 say more of a vector than its mean does.
codes_train()
{
    "$TRAINYARD" data gen criteo --rows 12000 --out criteo >/dev/null 2>&1
    for name in sid-rqvae-criteo sid-rqkmeans-criteo; do
        run "$TRAINYARD" train "$TY_SOURCE/examples/$name.config" --set data_config.batch_size=512
        status 0
        run tail -n 1 "runs/$name/train_eval_result_v2.txt"
        json '0 < d["mse"] < 3 and d["codebook_use_0"] > 0.3 and d["unique_sid_ratio"] > 0.05'
    done
}

# Candidates by what their users did before, one history and two.
candidates_train()
{
    "$TRAINYARD" data gen kuairand --rows 3000 --out kuairand >/dev/null 2>&1
    for name in dlrm-hstu-kuairand ultra-hstu-kuairand; do
        run "$TRAINYARD" train "$TY_SOURCE/examples/$name.config" \
            --set train_config.dense_optimizer.adam_optimizer.lr=0.005
        status 0
        run tail -n 1 "runs/$name/train_eval_result_v2.txt"
        json 'all(v > 0.52 for k, v in d.items() if k.startswith("auc"))'
    done
    run "$TRAINYARD" data items kuairand/train --item cand_seq__video_id --attrs cand_seq__video_id --out kuairand/tables
    err_has "kuairand/tables: 5"
    run "$TRAINYARD" train "$TY_SOURCE/examples/hstu-match-kuairand.config" \
        --set train_config.dense_optimizer.adam_optimizer.lr=0.005
    status 0
    run tail -n 1 runs/hstu-match-kuairand/train_eval_result_v2.txt
    json 'd["recall@1"] > 0.04 and d["recall@10"] > 0.3'
}

tap_cases examples_are_right every_model_is_shown codes_train candidates_train dssm_trains ncf_trains din_trains mmoe_trains deepfm_trains dlrm_trains \
    the_zoo_trains
