#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options that would do nothing are refused, or it is said that they do nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

an_empty_value_is_refused()
{
    config && data
    while IFS=@ read -r command option; do
        # shellcheck disable=SC2086
        run "$TRAINYARD" $command $option ""
        status 2
        err_has "error[E0603]: $option: the value is empty"
    done <<'END'
train c.config@--fine-tune
train c.config@--model-dir
train c.config@--train-input
train c.config@--edit-config-json
eval c.config@--checkpoint
export c.config@--export-dir
predict@--model
predict c.config@--input
serve@--token-file
END
    [ ! -e m ] || fail "a refused run left m behind"
    run "$TRAINYARD" train c.config --eval-input "" --set train_config.num_steps=4
    status 0
    err_has "evaluation  none"
}

what_belongs_to_continue_needs_it()
{
    config && data
    run "$TRAINYARD" train c.config --data restart
    status 2
    err_has "error[E0609]: --data restart needs --continue"
    run "$TRAINYARD" train c.config --data resume
    err_has "error[E0609]: --data resume needs --continue"
    run "$TRAINYARD" train c.config --restart-schedules
    status 2
    err_has "error[E0609]: --restart-schedules needs --continue"
    run "$TRAINYARD" train c.config --memory 1g --overcommit
    err_has "error[E0609]: --memory sets a limit that --overcommit ignores"
    [ ! -e m ] || fail "a refused run left m behind"
    trained m --continue --data restart --restart-schedules --set train_config.num_steps=4
    status 0
    err_has "note: --restart-schedules has no effect: no checkpoint is resumed"
    err_has "note: --data has no effect: no checkpoint is resumed"
}

what_belongs_to_a_checkpoint_says_when_there_is_none()
{
    config && data
    trained m --strict --fresh-optimizer --set train_config.num_steps=4
    status 0
    err_has "note: --strict has no effect: "
    err_has "note: --fresh-optimizer has no effect: no checkpoint is loaded"
    trained other --fine-tune m --strict --fresh-optimizer --set train_config.num_steps=4
    status 0
    err_lacks "has no effect"
    trained m --continue --fine-tune other --set train_config.num_steps=5
    status 0
    err_has "note: --fine-tune has no effect: the run resumes from its own checkpoint"
}

a_resumed_run_may_discard_the_optimizer_state()
{
    config && data
    trained a --set train_config.num_steps=4
    cp -r a b
    trained a --continue --set train_config.num_steps=5
    trained b --continue --fresh-optimizer --set train_config.num_steps=5
    status 0
    err_lacks "has no effect"
    cmp -s a/model.ckpt-4/model.safetensors b/model.ckpt-4/model.safetensors &&
        fail "the optimizer state was not discarded"
}

patience_needs_an_evaluation()
{
    config && data
    trained m --patience 2 --eval-input ""
    status 2
    err_has "error[E0609]: --patience needs evaluations"
    [ ! -e m ] || fail "a refused run left m behind"
    trained m --patience 2 --set train_config.num_steps=1
    [ "$(grep -c 'warning\[E0303\]' .err)" = 1 ] || fail "a warning comes more than once"
}

patience_says_when_the_metric_is_undefined()
{
    config && data
    mkdir one
    "$TRAINYARD" data convert data/eval all.jsonl 2>/dev/null
    grep '"clk": *0' all.jsonl >one/eval.jsonl
    "$TRAINYARD" data convert one/eval.jsonl one.parquet 2>/dev/null
    trained m --patience 1 --eval-input one.parquet
    status 0
    err_has "auc is undefined: all labels are 0"
    [ "$(grep -c 'note: --patience has no effect after this evaluation: auc is undefined: all labels are 0' .err)" = 1 ] ||
        fail "it is not said once"
    err_has "after 22 steps"
}

a_model_that_tells_nothing_apart_is_said()
{
    config && data
    # No step changes a weight: all scores are equal only if no feature has any say.
    trained m --set train_config.num_steps=1
    status 0
    err_lacks "no threshold lies between"
    sed -i 's/user_id", "cate_id", "price"\]/price"]/; s/feature_names: \["user_id", "cate_id"\]/feature_names: ["price"]/' c.config
    sed -i 's/boundaries: \[1, 10, 100\]/boundaries: [1e30]/' c.config
    trained flat --set train_config.num_steps=1
    status 0
    err_has "auc: no threshold lies between any two scores"
    run "$TRAINYARD" eval c.config --model-dir flat
    status 0
    out_has "auc                      0.500000  no threshold lies between any two scores"
}

predict_and_serve_say_it_too()
{
    config && data
    run "$TRAINYARD" predict c.config --input data/eval --output a.csv --part-rows 5
    status 2
    err_has "error[E0609]: --part-rows is for an output directory, and 'a.csv' is one file"
    echo 0123456789abcdef >token
    run "$TRAINYARD" serve --model x --token-file token --no-token
    status 2
    err_has "error[E0609]: --no-token contradicts --token-file"
}

tap_cases an_empty_value_is_refused what_belongs_to_continue_needs_it \
    what_belongs_to_a_checkpoint_says_when_there_is_none \
    a_resumed_run_may_discard_the_optimizer_state patience_needs_an_evaluation \
    patience_says_when_the_metric_is_undefined a_model_that_tells_nothing_apart_is_said \
    predict_and_serve_say_it_too
