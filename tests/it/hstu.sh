#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Models that rank the candidates of a user: from data with lists to predictions that are lists.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

CONFIG=$TY_SOURCE/examples/dlrm-hstu-kuairand.config

few_rows() # ROWS
{
    "$TRAINYARD" data gen kuairand --rows "$1" --out kuairand >/dev/null 2>&1
}

train() # ARGS...
{
    run "$TRAINYARD" train "$CONFIG" --set train_config.num_epochs=1 --set data_config.batch_size=32 "$@"
}

# Any number of threads, and a run that was cut in two, end with the same bytes.
bytes_stay()
{
    few_rows 600
    train --model-dir one --threads 1
    status 0
    train --model-dir two --threads 2
    status 0
    same_checkpoint one/model.ckpt-16 two/model.ckpt-16
    train --model-dir cut --set train_config.num_steps=6 --set train_config.num_epochs=0
    status 0
    train --model-dir cut --continue
    status 0
    same_checkpoint one/model.ckpt-16 cut/model.ckpt-16
}

lists_come_out()
{
    few_rows 400
    train --model-dir run
    status 0
    run "$TRAINYARD" export run/pipeline.config --export-dir model
    status 0
    err_has "no model.onnx"
    run "$TRAINYARD" parity model kuairand/eval
    status 0
    run "$TRAINYARD" predict --model model --input kuairand/eval --output out.jsonl --reserved-columns cand_seq__video_id \
        --output-columns probs_is_click,y_watchtime
    status 0
    run python3 - <<'END'
import json, sys
rows = [json.loads(x) for x in open("out.jsonl")]
assert len(rows) == 40, len(rows)
for r in rows:
    n = len(r["cand_seq__video_id"])
    assert len(r["probs_is_click"]) == len(r["y_watchtime"]) == n, r
    assert all(0 < p < 1 for p in r["probs_is_click"]), r
assert len({p for r in rows for p in r["probs_is_click"]}) > 20
END
    status 0
    serves_the_same
}

# A user and its candidates are one item of a request; the answer has a list for it.
serves_the_same()
{
    local pid url=
    command -v curl >/dev/null || return 0
    "$TRAINYARD" data convert kuairand/eval rows.jsonl 2>/dev/null
    python3 -c '
import json
row = json.loads(open("rows.jsonl").readline())
json.dump({"user": row, "items": [{}]}, open("body.json", "w"))'
    "$TRAINYARD" serve --listen 127.0.0.1:0 --model model 2>log &
    pid=$!
    for _ in $(seq 100); do
        url=$(sed -n 's/^listening on //p' log)
        [ -n "$url" ] && break
        sleep 0.1
    done
    run curl -s "$url/model"
    out_has '"name": "probs_is_click", "width": 1, "per": "candidate"'
    run curl -s --data-binary @body.json "$url/score"
    kill "$pid"
    wait "$pid"
    json 'all(abs(a - b) < 1e-5 for a, b in zip(d["outputs"]["probs_is_click"][0],
          json.loads(open("out.jsonl").readline())["probs_is_click"]))'
}

# Labels that do not belong to candidates are told before a step is made.
wrong_labels_are_told()
{
    few_rows 100
    train --model-dir a --set 'model_config.dlrm_hstu.fusion_mtl_tower.task_configs[0].label_name=user_id' \
        --set 'data_config.label_fields=["user_id","cand_seq__action_weight","cand_seq__watch_time"]'
    status 2
    err_has "E1401"
    err_has "label 'user_id' is one number per row; it needs a list with one per candidate"
    train --model-dir b --set 'model_config.dlrm_hstu.fusion_mtl_tower.task_configs[0].label_name=uih_seq__action_weight' \
        --set 'data_config.label_fields=["uih_seq__action_weight","cand_seq__action_weight","cand_seq__watch_time"]'
    status 2
    err_has "labels for "
    err_has "candidates ('cand_seq__video_id')"
    train --model-dir c --set 'model_config.dlrm_hstu.hstu.stu.contextual_seq_len=5'
    status 2
    err_has "contextual_seq_len 5 is more than the 2 tokens of the context"
}

# The mean over candidates of all shards is not worked out; that of each is.
shards_average_alone()
{
    few_rows 200
    train --model-dir a --shards 2
    status 2
    err_has "E0395"
    err_has "enable_global_average_loss"
    train --model-dir a --shards 2 --set model_config.dlrm_hstu.enable_global_average_loss=false
    status 0
}

# Retrieval: lists of items in training, an item per row in an export.
items_of_a_row_meet_its_user()
{
    local config=$TY_SOURCE/examples/hstu-match-kuairand.config
    few_rows 300
    run "$TRAINYARD" data items kuairand/train --item cand_seq__video_id --user user_id --attrs cand_seq__video_id --out kuairand/tables
    status 0
    run "$TRAINYARD" data items kuairand/train --item cand_seq__video_id --attrs user_id --out kuairand/more
    status 2
    err_has "E1904"
    err_has "column 'user_id' is no list, as 'cand_seq__video_id' is"
    for threads in 1 2; do
        run "$TRAINYARD" train "$config" --set train_config.num_epochs=1 --model-dir "m$threads" --threads "$threads"
        status 0
    done
    same_checkpoint m1/model.ckpt-4 m2/model.ckpt-4
    run "$TRAINYARD" export m1/pipeline.config --export-dir x
    status 0
    run "$TRAINYARD" parity x kuairand/eval
    status 0
    printf '{"cand_seq__video_id": 5}\n{"cand_seq__video_id": 7}\n' >one.jsonl
    printf '{"cand_seq__video_id": [5, 7]}\n{"cand_seq__video_id": [7]}\n' >first.jsonl
    for f in one first; do
        run "$TRAINYARD" predict --model x --input $f.jsonl --output $f.out.jsonl --output-columns item_tower_emb
        status 0
    done
    cmp one.out.jsonl first.out.jsonl || fail "a list is its first item"
    run "$TRAINYARD" train "$config" --model-dir a --set 'model_config.hstu_match.in_batch_negative=true'
    status 2
    err_has "E0393"
    run "$TRAINYARD" train "$config" --model-dir b --set 'data_config.negative_sampler.item_id_field=request_time'
    status 2
    err_has "hstu_match needs a sampler whose item_id_field is a column of a sequence_feature"
}

tap_cases items_of_a_row_meet_its_user shards_average_alone bytes_stay lists_come_out wrong_labels_are_told
