#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples of models with several tasks train on the data that their first lines generate.
. "$(dirname "$0")/lib.sh"

# On few rows: better than chance is all that can be asked.
train_example() # NAME
{
    "$TRAINYARD" data gen taobao --rows 12000 --out taobao >/dev/null 2>&1
    run "$TRAINYARD" train "$TY_SOURCE/examples/$1-taobao.config" --set data_config.batch_size=512
    status 0
    run tail -n 1 "runs/$1-taobao/train_eval_result_v2.txt"
    json 'all(v > 0.52 for k, v in d.items() if k.startswith("auc"))'
}
dbmtl_trains() { train_example dbmtl; }
dc2vr_trains() { train_example dc2vr; }
pepnet_trains() { train_example pepnet; }
ple_trains() { train_example ple; }
share_bottom_trains() { train_example share-bottom; }
simple_multi_task_trains() { train_example simple-multi-task; }

# The product of both is what is compared with purchases.
esmm_trains()
{
    train_example esmm
    json 'set(d) >= {"auc_ctr", "auc_ctcvr", "binary_cross_entropy_ctcvr"} and "auc_cvr" not in d'
    run "$TRAINYARD" export "$TY_SOURCE/examples/esmm-taobao.config" --export-dir e
    status 0
    run "$TRAINYARD" predict --model e --input taobao/eval --output p.jsonl
    status 0
    run tail -n 1 p.jsonl
    json 'abs(d["probs_ctr"] * d["probs_cvr"] - d["probs_ctcvr"]) < 1e-6'
}

# The booster counts in training alone, and is not there to predict.
rocket_launching_trains()
{
    train_example rocket-launching
    json 'set(d) - {"eval_data"} == {"global_step", "auc_light", "exact_auc_light", "binary_cross_entropy_light", "loss"}'
    json 'abs(d["loss"] - d["binary_cross_entropy_light"]) < 1e-9'
    run "$TRAINYARD" export "$TY_SOURCE/examples/rocket-launching-taobao.config" --export-dir e
    status 0
    run "$TRAINYARD" predict --model e --input taobao/eval --output p.jsonl
    status 0
    run tail -n 1 p.jsonl
    json '"probs_light" in d and not any("booster" in k for k in d)'
}

# Losses that go down together, and their names where a config refers to them.
results_have_the_names_of_tasks()
{
    "$TRAINYARD" data gen taobao --rows 3000 --out taobao >/dev/null 2>&1
    for model in dbmtl dc2vr pepnet ple simple-multi-task; do
        run "$TRAINYARD" train "$TY_SOURCE/examples/$model-taobao.config" --model-dir m-$model \
            --set model_config.use_pareto_loss_weight=true --set export_config.exporter_type=best \
            --set export_config.best_exporter_metric=binary_cross_entropy_cvr
        status 0
    done
    run "$TRAINYARD" check "$TY_SOURCE/examples/esmm-taobao.config" \
        --set export_config.exporter_type=best --set export_config.best_exporter_metric=auc_ctcvr
    status 0
    run "$TRAINYARD" check "$TY_SOURCE/examples/esmm-taobao.config" \
        --set export_config.exporter_type=best --set export_config.best_exporter_metric=auc_cvr
    status 2
    out_has "best_exporter_metric: no metric or loss is called 'auc_cvr'"
    run "$TRAINYARD" check "$TY_SOURCE/examples/esmm-taobao.config" --set model_config.esmm.ctcvr_name=ctr
    status 2
    out_has "there is already a task 'ctr'"
    run "$TRAINYARD" check "$TY_SOURCE/examples/esmm-taobao.config" \
        --set model_config.esmm.cvr_tower.tower_name=ctcvr
    status 2
    out_has "there is already a task 'ctcvr'"
}

# A head per domain; a row learns in its own, and domains that there are not are refused.
domains_have_heads()
{
    "$TRAINYARD" data gen taobao --rows 3000 --out taobao >/dev/null 2>&1
    local n=model_config.pepnet.task_domain_num
    domains=(--set 'data_config.label_fields=["clk","buy","occupation"]'
        --set model_config.pepnet.domain_input_name=occupation)
    run "$TRAINYARD" train "$TY_SOURCE/examples/pepnet-taobao.config" "${domains[@]}" --set $n=3
    status 0
    run "$TRAINYARD" export "$TY_SOURCE/examples/pepnet-taobao.config" "${domains[@]}" --set $n=3 --export-dir e
    status 0
    run "$TRAINYARD" predict --model e --input taobao/eval --output p.jsonl
    status 0
    run tail -n 1 p.jsonl
    json 'sum(k.startswith("probs_") for k in d) == 6 and 0 < d["probs_cvr_2"] < 1'
    run "$TRAINYARD" train "$TY_SOURCE/examples/pepnet-taobao.config" "${domains[@]}" --set $n=1 --model-dir other
    status 2
    err_has "E1401"
    err_has "column 'occupation': row"
    err_has "is 1, not one of 0 to 0"
}

tap_cases dbmtl_trains dc2vr_trains domains_have_heads esmm_trains pepnet_trains ple_trains \
    results_have_the_names_of_tasks rocket_launching_trains share_bottom_trains simple_multi_task_trains
