#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a nightly pipeline relies on: the next day's data, signals, one writer, problems told
# before the first step.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

days()
{
    config
    sed -i 's/num_epochs: 2/num_epochs: 1/' c.config
    data
    "$TRAINYARD" data gen taobao --rows 3000 --seed 7 --out day2 >/dev/null 2>&1
}

# A config whose run lasts until it is stopped.
endless()
{
    config
    data
    sed -i 's/num_epochs: 2 save_checkpoints_steps: 5/num_epochs: 100000 save_checkpoints_steps: 100000000/
        s/log_step_count_steps: 5/log_step_count_steps: 20/' c.config
}

wait_for() # file text
{
    for _ in $(seq 600); do
        grep -qF "$2" "$1" 2>/dev/null && return
        sleep 0.05
    done
    fail "$1 never held \"$2\""
    show "$1"
}

other_data_starts_at_its_beginning_and_the_model_goes_on()
{
    days
    trained m
    status 0
    trained m --continue --train-input day2/train
    status 0
    err_has "note: other data than the checkpoint's ('day2/train/part-0.parquet' in place of 'data/train/part-0.parquet'): the model is resumed, the data starts at its beginning"
    run cat m/model.ckpt-21/manifest.json
    status 0
    err_lacks E1212
    # stopped on the second day and gone on with: as if it had not been
    cp -r m a
    rm -r m
    trained m
    trained m --continue --train-input day2/train --set train_config.num_steps=4
    status 0
    trained m --continue --train-input day2/train
    status 0
    err_has "note: the data resumes where the checkpoint left it"
    same_checkpoint a/model.ckpt-21 m/model.ckpt-21
}

num_steps_counts_on_the_new_data()
{
    days
    trained m --set train_config.num_steps=5
    [ -d m/model.ckpt-4 ] || fail "$(ls m)"
    trained m --continue --train-input day2/train --set train_config.num_steps=5
    status 0
    [ -d m/model.ckpt-9 ] || fail "$(ls m)"
}

a_moved_path_is_the_same_data()
{
    days
    trained m --set train_config.num_steps=5
    trained a --set train_config.num_epochs=1
    mv data moved
    trained m --continue --train-input moved/train --eval-input moved/eval
    status 0
    err_has "note: the data resumes where the checkpoint left it"
    same_checkpoint a/model.ckpt-10 m/model.ckpt-10
}

the_same_name_with_other_content_is_other_data()
{
    days
    trained m --set train_config.num_steps=5
    cp day2/train/part-0.parquet data/train/part-0.parquet
    trained m --continue
    status 0
    err_has "note: other data than the checkpoint's ('data/train/part-0.parquet' has other content)"
}

# As many bytes, and the same ones at both ends.
content_counts_in_the_middle_of_a_file_too()
{
    config
    sed -i 's/ParquetDataset/CsvDataset with_header: true/; s/num_epochs: 2/num_epochs: 1/
        s/data\/train/data\/train.csv/; s/data\/eval/data\/eval.csv/' c.config
    data
    "$TRAINYARD" data convert data/train data/train.csv 2>/dev/null
    "$TRAINYARD" data convert data/eval data/eval.csv 2>/dev/null
    trained m --set train_config.num_steps=5
    status 0
    trained m --continue --set train_config.num_steps=7
    err_has "note: the data resumes where the checkpoint left it"
    sed -i '1500{h;d};1501G' data/train.csv # two lines change places
    trained m --continue
    status 0
    err_has "note: other data than the checkpoint's ('data/train.csv' has other content)"
}

the_best_is_looked_for_anew_on_other_evaluation_data()
{
    days
    trained m --patience 3
    status 0
    err_lacks "other evaluation data"
    run cat m/train_eval_result_v2.txt
    out_has '"eval_data": "'
    # an old result that no new one can reach
    sed -i 's/"auc": [0-9.]*/"auc": 0.9999/' m/train_eval_result_v2.txt
    trained m --continue --train-input day2/train --eval-input day2/eval --patience 3
    status 0
    err_has "note: other evaluation data than before: the search for the best checkpoint starts over with this evaluation"
    err_has "best        auc 0.456770 at step 15"
    run "$TRAINYARD" export m/pipeline.config --export-dir x
    status 0
    holds x/manifest.json '"checkpoint": "m/model.ckpt-'
    lacks x/manifest.json 0.9999
    # the same evaluation data under another name
    mv day2 day3
    trained m --continue --train-input data/train --eval-input day3/eval --patience 3
    status 0
    err_lacks "other evaluation data"
}

data_is_restarted_or_resumed_as_told()
{
    days
    trained m --set train_config.num_steps=5
    trained m --continue --data restart
    status 0
    err_has "note: the model is resumed; the data starts at its beginning, as requested"
    [ -d m/model.ckpt-15 ] || fail "$(ls m)"
    trained m --continue --data resume --train-input day2/train
    status 2
    err_has "error[E1212]: "
    trained m --continue
    status 0
    err_has "note: nothing is left to train: the run was finished before, at step 15"
}

a_hangup_saves_and_ends()
{
    endless
    "$TRAINYARD" train c.config >out 2>err &
    pid=$!
    wait_for err "step 0 "
    kill -HUP $pid
    wait $pid
    [ $? = 0 ] || fail "status $?"
    check "saved" test -n "$(ls -d m/model.ckpt-*)"
    holds err "stopping: saving a checkpoint"
    rm -r m
    : >err # that of the run before
    (trap '' HUP; exec "$TRAINYARD" train c.config >out 2>err) &
    pid=$!
    wait_for err "step 0 "
    kill -HUP $pid
    sleep 0.3
    kill -0 $pid || fail "nohup was not heeded"
    kill -TERM $pid
    wait $pid
}

a_closed_output_saves_and_ends()
{
    endless
    mkfifo p
    (exec "$TRAINYARD" train c.config >out 2>p; ) &
    pid=$!
    head -30 p >err
    for _ in $(seq 400); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
    kill -0 $pid 2>/dev/null && fail "it goes on" && kill $pid
    wait $pid
    check "saved" test -n "$(ls -d m/model.ckpt-*)"
    rm -r m
    run "$TRAINYARD" train c.config --set train_config.num_steps=3 >&-
    [ -d m/model.ckpt-2 ] || fail "$(ls m)"
}

one_process_writes_a_model_dir()
{
    endless
    "$TRAINYARD" train c.config >out 2>err &
    pid=$!
    wait_for err "step 0 "
    run "$TRAINYARD" train c.config --continue
    status 2
    err_has "error[E1410]: model_dir 'm' is being written by process $pid on host $(uname -n);"
    kill -KILL $pid
    wait $pid
    touch m/.ty-abcdef
    run "$TRAINYARD" train c.config --continue --set train_config.num_steps=3
    status 0
    [ -e m/.ty-abcdef ] && fail "what a killed run left is there"
    [ -e m/.lock ] && fail "the lock stays behind"
}

evaluation_is_tried_before_the_first_step()
{
    days
    trained m --eval-input /none
    status 1
    err_has "evaluation: "
    err_lacks "step 0"
    "$TRAINYARD" data convert data/eval e.parquet --columns user_id,cate_id,price 2>/dev/null
    trained m --eval-input e.parquet
    status 2
    err_has "evaluation: "
    err_has "clk"
    err_lacks "saved"
    [ -z "$(ls -d m/model.ckpt-* 2>/dev/null)" ] || fail "it trained first"
}

a_limit_of_address_space_counts()
{
    (ulimit -v 3000000 && "$TRAINYARD" version >/dev/null 2>&1) ||
        skip "a program with sanitizers does not start under a limit of memory"
    days
    run sh -c 'ulimit -v 3000000; "$1" plan c.config --json' - "$TRAINYARD"
    json "0 < d['memory'] < 3000000 * 1024"
}

# control_group BYTES: sets `group` to a new one with a limit of memory; of version 1 or 2.
control_group()
{
    local base=/sys/fs/cgroup limit=memory.max
    if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
        base=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    elif ! grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
        return 1
    fi
    group=$base/trainyard-unattended-$$
    mkdir "$group" 2>/dev/null || return 1
    echo "$1" >"$group/$limit" && return
    rmdir "$group"
    return 1
}

# inside GROUP ARGS...: the program in that group
inside()
{
    run sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$1" "$TRAINYARD" "${@:2}"
}

a_limit_of_the_control_group_counts()
{
    local group
    (ulimit -v 3000000 && "$TRAINYARD" version >/dev/null 2>&1) ||
        skip "a program with sanitizers takes more than the limit"
    [ "$(id -u)" = 0 ] && control_group $((256 << 20)) || skip "no control group of memory here"
    days
    run "$TRAINYARD" plan c.config --json
    json "d['memory'] > 256 << 20"
    inside "$group" plan c.config --json
    json "0 < d['memory'] <= 256 << 20"
    # what is too much is refused, not ended by the kernel: parameters, and rows and activations
    inside "$group" train c.config --set 'model_config.deepfm.deep.hidden_units=[6000,6000]'
    status 1
    err_has "error[E1408]: deepfm: 36"
    err_has "dense parameters and their gradients need 27"
    err_has "MiB may be used; smaller hidden_units help"
    inside "$group" train c.config --set 'model_config.deepfm.deep.hidden_units=[3000,3000]'
    status 1
    err_has "of memory are needed, 2"
    err_has "may be used"
    inside "$group" train c.config
    status 0
    for _ in $(seq 50); do rmdir "$group" 2>/dev/null && break || sleep 0.1; done
}

plan_counts_what_dumps_remember()
{
    days
    run "$TRAINYARD" plan c.config --json
    json "d['dump'] == 0"
    sed -i 's/train_config {/train_config { delta_embedding_dump_config { dump_interval_steps: 5 output_dir: "d" }/' c.config
    run "$TRAINYARD" plan c.config --json
    json "d['dump'] > 0"
    run "$TRAINYARD" plan c.config
    out_has "dumps "
}

a_checkpoint_is_told_when_it_is_safe()
{
    days
    run sh -c "trap '' XFSZ; ulimit -f 40; exec \"$TRAINYARD\" train c.config --log json"
    status 1
    err_has "File too large"
    cat .out .err >all
    lacks all '"event": "checkpoint"'
    run "$TRAINYARD" train c.config --continue --log json
    status 0
    cat .out .err >all
    [ "$(grep -c '"event": "checkpoint"' all)" = 2 ] || fail "$(cat all)"
}

early_stopping_keeps_the_best_and_export_takes_it()
{
    days
    trained m --patience 1 --log json --set train_config.num_epochs=200 \
        --set train_config.keep_checkpoint_max=1 --set train_config.dense_optimizer.adam_optimizer.lr=0.1
    status 0
    cat .out .err | grep '"event": "end"' >end
    holds end '"how": "stopped early"'
    best=$(sed 's/.*"best_step": \([0-9]*\).*/\1/' end)
    [ -d "m/model.ckpt-$best" ] || fail "the best is gone: $(ls m)"
    lacks end "\"checkpoint\": \"m/model.ckpt-$best\""
    for config in c.config m/pipeline.config; do
        rm -rf x
        run "$TRAINYARD" export $config --export-dir x
        status 0
        out_has "exported m/model.ckpt-$best to x"
    done
    rm -r x
    run "$TRAINYARD" export c.config --export-dir x --set export_config.exporter_type=latest
    status 0
    out_lacks "model.ckpt-$best "
}

bad_days_of_a_nightly_run_are_named_and_change_nothing()
{
    config && data
    trained m
    status 0
    before=$(ls m)
    # a missing file, one cut short, an empty day, an empty file
    mkdir cut none empty
    head -c 2000 data/train/part-0.parquet >cut/part-0.parquet
    : >empty/part-0.parquet
    while IFS='@' read -r input want; do
        trained m --continue --train-input "$input"
        [ "$got" != 0 ] || fail "$input was trained on"
        err_has "$want"
        [ "$(ls m)" = "$before" ] || fail "$input changed model_dir: $(ls m)"
        run "$TRAINYARD" predict c.config --model-dir m --input "$input" --output s.csv
        [ "$got" != 0 ] || fail "$input was scored"
        err_has "$want"
        [ ! -e s.csv ] || fail "$input left scores"
    done <<'END'
nowhere@'nowhere' does not exist
cut@'cut/part-0.parquet': it begins as a Parquet file but does not end as one
none@directory 'none' holds no data files
empty@'empty/part-0.parquet': not a Parquet file: it has only 0 bytes
END
}

a_day_of_one_class_is_said()
{
    config && data
    trained m
    status 0
    err_lacks "in all"
    "$TRAINYARD" data convert data/train all.jsonl 2>/dev/null
    grep '"clk": *0' all.jsonl >one.jsonl
    "$TRAINYARD" data convert one.jsonl one.parquet 2>/dev/null
    trained m --continue --train-input one.parquet
    status 0
    err_has "note: label 'clk' is 0 in all $(($(wc -l <one.jsonl) * 2)) rows of this run"
}

tap_cases \
    early_stopping_keeps_the_best_and_export_takes_it \
    other_data_starts_at_its_beginning_and_the_model_goes_on \
    num_steps_counts_on_the_new_data \
    a_moved_path_is_the_same_data \
    the_same_name_with_other_content_is_other_data \
    content_counts_in_the_middle_of_a_file_too \
    the_best_is_looked_for_anew_on_other_evaluation_data \
    data_is_restarted_or_resumed_as_told \
    a_hangup_saves_and_ends \
    a_closed_output_saves_and_ends \
    one_process_writes_a_model_dir \
    evaluation_is_tried_before_the_first_step \
    a_limit_of_address_space_counts a_limit_of_the_control_group_counts \
    plan_counts_what_dumps_remember \
    a_checkpoint_is_told_when_it_is_safe \
    bad_days_of_a_nightly_run_are_named_and_change_nothing a_day_of_one_class_is_said
