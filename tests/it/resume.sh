#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs that were ended at any moment and go on; runs that start from another's checkpoint.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

# Killed without warning, again and again, at moments that nobody chose; some of them fall
# into a save. In the end everything is as if nothing had been.
a_run_that_is_killed_many_times_equals_one_that_was_not()
{
    config && data
    trained a --set train_config.save_checkpoints_steps=2
    status 0
    RANDOM=${SEED:-$$}
    echo "# seed $RANDOM" >&3
    local kills=0 over=0
    for _ in $(seq 60); do
        "$TRAINYARD" train c.config --model-dir b --continue --threads $((1 + RANDOM % 3)) \
            --set train_config.save_checkpoints_steps=2 >/dev/null 2>&1 &
        pid=$!
        sleep "0.0$((RANDOM % 90 + 10))"
        [ $kills -lt 20 ] || { wait $pid; over=1; break; }
        kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
        wait $pid 2>/dev/null
        [ -d b/model.ckpt-21 ] && { over=1; break; }
    done
    [ $over = 1 ] || fail "it never came to its end"
    echo "# $kills kills" >&3
    trained b --continue --set train_config.save_checkpoints_steps=2
    status 0
    same_checkpoint a/model.ckpt-21 b/model.ckpt-21
    same_checkpoint a/model.ckpt-10 b/model.ckpt-10
    diff a/train_eval_result_v2.txt b/train_eval_result_v2.txt >difference || { fail "results differ:"; show difference; }
}

# Passes are counted once: a checkpoint of a pass's end is where the next one begins.
a_checkpoint_of_a_pass_end_goes_on_exactly()
{
    config && data
    sed -i 's/exponential_decay_learning_rate { decay_size: 7 }/exponential_decay_learning_rate { decay_size: 1 decay_factor: 0.5 by_epoch: true }/' c.config
    trained a --set train_config.num_epochs=3
    status 0
    err_has "3 passes over the data"
    # the last one of a run, behind its pass and behind the batch before that
    for every in 4 5; do
        set -- --set train_config.save_checkpoints_steps=$every
        trained b$every "$@" --set train_config.num_epochs=1
        trained b$every "$@" --set train_config.num_epochs=3 --continue
        status 0
        err_has "3 passes over the data"
        same_checkpoint a/model.ckpt-32 b$every/model.ckpt-32
    done
    # ended behind the checkpoint of the first pass
    set -- --set train_config.save_checkpoints_epochs=1
    trained c "$@" --set train_config.num_epochs=3
    rm -r c/model.ckpt-21 c/model.ckpt-32
    trained c "$@" --set train_config.num_epochs=3 --continue
    status 0
    err_has "from c/model.ckpt-10, after step 10"
    same_checkpoint a/model.ckpt-32 c/model.ckpt-32
    # the same on data that was begun anew
    trained d "$@" --set train_config.num_epochs=1
    cp -r d e
    trained d "$@" --set train_config.num_epochs=2 --continue --data restart
    trained e "$@" --set train_config.num_epochs=1 --continue --data restart
    trained e "$@" --set train_config.num_epochs=2 --continue
    status 0
    err_has "3 passes over the data"
    same_checkpoint d/model.ckpt-32 e/model.ckpt-32
}

# Ended between the checkpoint of a pass's end and its evaluation.
an_evaluation_of_a_pass_end_is_made_up_for()
{
    config && data
    set -- --set train_config.num_epochs=3 --set train_config.save_checkpoints_epochs=1
    trained a "$@"
    status 0
    cp -r a b
    rm -r b/model.ckpt-21 b/model.ckpt-32
    : >b/train_eval_result_v2.txt
    trained b "$@" --continue
    status 0
    diff a/train_eval_result_v2.txt b/train_eval_result_v2.txt >difference || { fail "results differ:"; show difference; }
    # one within a pass has none
    trained c "$@" --set train_config.num_steps=13
    sed -i '$d' c/train_eval_result_v2.txt
    trained c "$@" --continue
    status 0
    diff a/train_eval_result_v2.txt c/train_eval_result_v2.txt >difference || { fail "results differ:"; show difference; }
}

# An early end is an end: the results tell.
a_run_that_ended_early_stays_ended()
{
    config && data
    set -- --patience 1 --set train_config.save_checkpoints_steps=2 --set train_config.num_epochs=20
    trained a "$@"
    status 0
    err_has "stopped early"
    ls -d a/model.ckpt-* >before
    cp a/train_eval_result_v2.txt results
    trained a "$@" --continue
    status 0
    err_has "note: nothing is left to train: the run ended early, at step"
    ls -d a/model.ckpt-* >now
    cmp -s before now || fail "it trained on: $(cat now)"
    cmp -s results a/train_eval_result_v2.txt || fail "the results changed"
    trained a --continue --patience 2 --set train_config.save_checkpoints_steps=2 --set train_config.num_epochs=20
    status 0
    err_lacks "nothing is left"
    trained a "$@" --continue --data restart
    status 0
    err_lacks "nothing is left"
    err_has "note: --patience counts evaluations from here on: those before belong to the data before"
}

# A first layer wide enough to take the few values of a feature (price) once per batch.
layers_of_few_values_go_on_exactly()
{
    config && data
    trained a --set 'model_config.deepfm.deep.hidden_units=[64, 8]' --threads 1
    status 0
    trained b --set 'model_config.deepfm.deep.hidden_units=[64, 8]' --threads 2 \
        --set train_config.num_steps=13
    trained b --set 'model_config.deepfm.deep.hidden_units=[64, 8]' --threads 3 --continue
    status 0
    same_checkpoint a/model.ckpt-21 b/model.ckpt-21
}

# Averages of training metrics go on, too: every report equals that of a run in one go.
what_a_run_reports_goes_on_where_it_was()
{
    config && data
    trained a --log json --set train_config.log_step_count_steps=1
    cp .err whole
    trained b --log json --set train_config.log_step_count_steps=1 --set train_config.num_steps=13
    cp .err parts
    trained b --log json --set train_config.log_step_count_steps=1 --continue
    cat .err >>parts
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import json
def reports(f):
    e = [json.loads(l) for l in open(f) if l.startswith('{"event": "progress"')]
    return [(x['step'], x['rows'], x['loss'], x['auc']) for x in e]
whole, parts = reports('whole'), reports('parts')
assert len(whole) == 22 and whole[-1][3], whole
assert whole == parts, [x for x in zip(whole, parts) if x[0] != x[1]]
PY
}

a_checkpoint_of_the_clock_changes_nothing()
{
    config && data
    trained a
    trained b --save-every 1ms
    status 0
    same_checkpoint a/model.ckpt-21 b/model.ckpt-21
    [ "$(find b -name 'model.ckpt-*' | wc -l)" -gt 8 ] || fail "few checkpoints: $(ls b)"
}

damaged_checkpoints_are_passed_over()
{
    config && data
    trained m --set train_config.num_steps=12
    status 0
    truncate -s -100 m/model.ckpt-11/model-*.safetensors
    trained m --continue
    status 0
    err_has "note: "
    err_has "model.ckpt-11"
    err_has "resumed     from m/model.ckpt-10, after step 10"
}

every_checkpoint_damaged_is_an_error()
{
    config && data
    trained m --set train_config.num_steps=7
    for f in m/model.ckpt-*/model-*.safetensors; do truncate -s -100 "$f"; done
    cp -r m before
    trained m --continue
    status 1
    err_has "error[E1515]: "
    err_has "model.ckpt-6"
    diff -r m before >/dev/null || fail "model_dir was changed"
}

# Resuming asks for everything; the names of what differs are in the message.
a_checkpoint_of_another_model_is_named_by_its_parameters()
{
    config && data
    trained m --set train_config.num_steps=3
    cp -r m before
    trained m --continue --set 'model_config.deepfm.deep.hidden_units=[16, 4]'
    status 2
    err_has "error[E1510]: "
    err_has "deep"
    err_has "[8, 16] in the checkpoint, F32 [4, 16] in the model"
    diff -r m before >/dev/null || fail "model_dir was changed"
    trained m --continue --seed 2
    status 2
    err_has "it was trained with seed 1, not 2"
}

a_changed_config_is_told()
{
    config && data
    trained m --set train_config.num_steps=3
    trained m --continue --set train_config.num_steps=5 --set data_config.batch_size=128
    status 0
    err_has "note: the config has changed since the checkpoint: train_config.num_steps: 3 -> 5; data_config.batch_size: 256 -> 128"
    trained m --continue --set train_config.num_steps=5 --set data_config.batch_size=128
    status 0
    err_lacks "has changed"
}

fine_tuning_starts_from_the_weights_of_another_run()
{
    config && data
    trained a --set train_config.num_steps=12
    trained b --fine-tune a --set train_config.num_steps=1
    status 0
    err_has "started     from "
    err_has "a/model.ckpt-11"
    trained c --fine-tune a/model.ckpt-10 --fresh-optimizer --set train_config.num_steps=1
    status 0
    err_has "a/model.ckpt-10"
    # the first loss is that of a trained model, not of a new one
    trained d --fine-tune a --set train_config.num_steps=1 --log json
    cp .err tuned
    trained e --set train_config.num_steps=1 --log json
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import json
first = [next(json.loads(l)['loss'] for l in open(f) if '"progress"' in l) for f in ('tuned', '.err')]
assert first[0] < first[1], first
PY
    trained f --fine-tune nowhere
    status 1
    err_has "error[E1504]: "
    [ -d f ] && fail "a refused run left f behind"
}

# rates FILE STEP...: learning rates of events, dense ones, by step.
rates()
{
    python3 "$TY_SOURCE/tests/it/rates.py" "$@" >.out 2>&1 || fail "$(cat .out)"
}

schedules_go_on_unless_they_are_told_to_begin_anew()
{
    config && data
    sed -i 's/exponential_decay_learning_rate { decay_size: 7 }/exponential_decay_learning_rate { decay_size: 2 decay_factor: 0.5 warmup_size: 4 warmup_learning_rate: 0 }/' c.config
    set -- --log json --set train_config.log_step_count_steps=1
    trained a "$@"
    status 0
    trained b "$@" --set train_config.num_steps=8
    trained b "$@" --continue --set train_config.num_steps=12
    cp -r b c
    trained b "$@" --continue
    status 0
    same_checkpoint a/model.ckpt-21 b/model.ckpt-21
    rates a 0 0 2 0.001 4 0.002 6 0.001 8 0.0005 12 0.000125
    rates b 8 0.0005 12 0.000125
    # anew from step 12 on, and remembered by the checkpoint
    cp -r c d
    trained c "$@" --continue --restart-schedules
    status 0
    rates c 8 0.0005 12 0 14 0.001 16 0.002 18 0.001
    trained d "$@" --continue --restart-schedules --set train_config.num_steps=15
    trained d "$@" --continue
    status 0
    rates d 12 0 14 0.001 16 0.002 18 0.001
    same_checkpoint c/model.ckpt-21 d/model.ckpt-21
    cmp -s a/model.ckpt-21/model-00001-of-00001.safetensors c/model.ckpt-21/model-00001-of-00001.safetensors && fail "--restart-schedules changed nothing"
    true
}

# Features come and go: what is left of the model is not trained again.
# Rows are ids: a table whose rows stand for other ones is of no use.
tables_whose_rows_mean_other_ids_are_not_loaded()
{
    config
    data
    trained a --set train_config.num_steps=6
    sed 's/hash_bucket_size: 1000/hash_bucket_size: 900/' -i c.config
    trained b --set train_config.num_steps=1 --fine-tune a
    status 0
    err_has "note: initialized: rows mean other ids: "
    err_has "user_id_emb.weight' (hash_bucket_size 900, was 1000)"
    trained c --set train_config.num_steps=1 --fine-tune a --strict
    status 2
    err_has "E1510"
    err_has "with rows that mean other ids: "
    # as many rows by other means
    sed 's/hash_bucket_size: 900/num_buckets: 1000/' -i c.config
    trained d --set train_config.num_steps=1 --fine-tune a
    status 0
    err_has "user_id_emb.weight' (num_buckets, was hash_bucket_size)"
    # more numbers are the same numbers, and some
    trained e --set train_config.num_steps=1
    sed 's/num_buckets: 1000/num_buckets: 2000/' -i c.config
    trained f --set train_config.num_steps=1 --fine-tune e
    status 0
    err_lacks "rows mean other ids"
    sed 's/boundaries: \[1, 10, 100\]/boundaries: [1, 20, 100]/' -i c.config
    trained g --set train_config.num_steps=1 --fine-tune e
    status 0
    err_has "price_emb.weight' (other boundaries)"
}

words_may_be_added_behind_a_vocabulary()
{
    config
    data
    sed 's/hash_bucket_size: 500/vocab_list: ["1", "2", "3"]/' -i c.config
    trained a --set train_config.num_steps=3
    sed 's/"1", "2", "3"/"1", "2", "3", "4"/' -i c.config
    trained b --set train_config.num_steps=1 --fine-tune a
    status 0
    err_lacks "rows mean other ids"
}

# table DIR: rows of cate_id's tables, one to a line.
table()
{
    python3 - "$1" <<'PY'
import glob, json, struct, sys
for path in sorted(glob.glob(sys.argv[1] + '/*.safetensors')):
    with open(path, 'rb') as f:
        n, = struct.unpack('<Q', f.read(8))
        head, data = json.loads(f.read(n)), f.read()
    for name, t in sorted(head.items()):
        if 'cate_id_emb' in name and name.endswith('.weight') and not name.startswith('optimizer'):
            rows, (a, b) = t['shape'][0], t['data_offsets']
            width = (b - a) // rows
            for r in range(rows):
                print(r, data[a + r * width:a + (r + 1) * width].hex())
PY
}

# moved THEN NOW FROM TO...: row FROM of the one is row TO of the other, and so on.
moved()
{
    local then=$1 now=$2
    shift 2
    while [ $# -gt 1 ]; do
        a=$(grep "^$1 " "$then" | cut -d' ' -f2) b=$(grep "^$2 " "$now" | cut -d' ' -f2)
        [ -n "$a" ] && [ "$a" = "$b" ] || fail "row $1 is not row $2 now"
        shift 2
    done
}

# Nothing is learned: tables are as they were loaded.
frozen="--set train_config.num_steps=1 --set train_config.sparse_optimizer.adam_optimizer.lr=0"

rows_follow_their_words_to_another_vocabulary()
{
    config
    data
    sed 's/hash_bucket_size: 500/vocab_list: ["1", "2", "3", "5"]/' -i c.config
    trained a --set train_config.num_steps=3
    table a/model.ckpt-2 >a.rows
    sed 's/"1", "2", "3", "5"/"3", "9", "1", "2"/' -i c.config
    trained b $frozen --fine-tune a
    status 0
    err_lacks "rows mean other ids"
    err_has "note: rows follow their words: 'model."
    err_has "cate_id_emb.weight' (5 words found again, 1 new, 1 gone)"
    table b/model.ckpt-0 >b.rows
    # default and unknown, then 3, 1 and 2
    moved a.rows b.rows 0 0 1 1 4 2 2 4 3 5
    # a list becomes a dictionary, and that a file
    sed 's/vocab_list: \[[^]]*\]/vocab_dict { key: "1" value: 3 } vocab_dict { key: "2" value: 2 } default_bucketize_value: 1/' -i c.config
    trained c $frozen --fine-tune a
    status 0
    table c/model.ckpt-0 >c.rows
    moved a.rows c.rows 2 3 3 2 1 1
    printf 'x\n1\n2\n' >words
    sed 's/vocab_dict { key: "1".*default_bucketize_value: 1/vocab_file: "words" default_bucketize_value: 0/' -i c.config
    trained d $frozen --fine-tune a
    status 0
    table d/model.ckpt-0 >d.rows
    moved a.rows d.rows 2 1 3 2 1 0
    # the file changes where it is: the checkpoint knows its words
    printf '2\nx\n1\nnew\n' >words
    trained e $frozen --fine-tune d
    status 0
    err_has "cate_id_emb.weight' (3 words found again, 1 new, 0 gone)"
    table e/model.ckpt-0 >e.rows
    moved d.rows e.rows 2 0 1 2
    trained f --set train_config.num_steps=1 --fine-tune d --strict
    status 2
    err_has "with rows that mean other ids: "
    err_has "vocab_file has another id for '2'"
}

a_run_does_not_go_on_with_another_vocabulary()
{
    config
    data
    sed 's/hash_bucket_size: 500/vocab_list: ["1", "2", "3"]/' -i c.config
    trained a --set train_config.num_steps=3
    sed 's/"1", "2", "3"/"2", "1", "3"/' -i c.config
    trained a --set train_config.num_steps=6 --continue
    status 2
    err_has "error[E1510]: "
    err_has "with rows that mean other ids: "
    err_has "cate_id_emb.weight' vocab_list has '2' where it had '1'"
    run "$TRAINYARD" eval c.config --model-dir a
    status 2
    err_has "vocab_list has '2' where it had '1'"
}

features_may_be_added_and_removed_when_fine_tuning()
{
    config && data
    trained a --set train_config.num_steps=12
    sed -i -z 's/feature_configs { raw_feature[^}]*} }//; s/, "price"//' c.config
    trained b --set train_config.num_steps=1 --fine-tune a
    status 0
    err_has "note: of another shape in that checkpoint, so initialized: 'model."
    err_has "note: only in that checkpoint, and left out: 'model."
    err_has price_emb
    trained c --set train_config.num_steps=1 --fine-tune a --strict
    status 2
    err_has "error[E1510]: "
    err_has "in the checkpoint, F32 ["
    [ -d c ] && fail "a refused run left c behind"
    true
}

a_mistyped_model_dir_is_said()
{
    config && data
    trained model --set train_config.num_steps=3
    trained modle --continue --set train_config.num_steps=3
    status 0
    err_has "note: --continue: model_dir 'modle' holds no checkpoint, so the run starts from its beginning; did you mean 'model'?"
    trained elsewhere/x --continue --set train_config.num_steps=3
    err_has "holds no checkpoint, so the run starts from its beginning"
    err_lacks "did you mean"
}

# Names of one model mapped to those of another; what is not there keeps its initial values.
a_map_of_names_carries_weights_over()
{
    config && data
    trained a --set train_config.num_steps=12
    sed -i 's/boundaries:/embedding_name: "cost_emb" boundaries:/' c.config
    trained b --set train_config.num_steps=1 --fine-tune a
    status 0
    err_has "note: not in that checkpoint, so initialized: 'model."
    err_has "note: only in that checkpoint, and left out: 'model."
    err_has "cost_emb"
    old=$("$TRAINYARD" params a/model.ckpt-11 | grep -o '[^ ]*price_emb.weight' | head -1)
    printf '%s\t%s\n' "${old/price_emb/cost_emb}" "$old" >map
    trained c --set train_config.num_steps=1 --fine-tune a \
        --set train_config.fine_tune_ckpt_param_map=map
    status 0
    err_lacks "so initialized"
    rm -r c
    printf 'nonsense\n' >map
    trained c --set train_config.num_steps=1 --fine-tune a \
        --set train_config.fine_tune_ckpt_param_map=map
    status 1
    err_has "error[E1511]: "
    printf 'no.such.parameter\tneither.this\n' >map
    trained c --set train_config.num_steps=1 --fine-tune a \
        --set train_config.fine_tune_ckpt_param_map=map
    status 2
    err_has "error[E1512]: "
    err_has "no.such.parameter"
}

tap_cases a_run_that_is_killed_many_times_equals_one_that_was_not \
    a_checkpoint_of_a_pass_end_goes_on_exactly an_evaluation_of_a_pass_end_is_made_up_for \
    tables_whose_rows_mean_other_ids_are_not_loaded words_may_be_added_behind_a_vocabulary rows_follow_their_words_to_another_vocabulary a_run_does_not_go_on_with_another_vocabulary features_may_be_added_and_removed_when_fine_tuning a_mistyped_model_dir_is_said \
    a_run_that_ended_early_stays_ended layers_of_few_values_go_on_exactly \
    what_a_run_reports_goes_on_where_it_was \
    a_checkpoint_of_the_clock_changes_nothing damaged_checkpoints_are_passed_over \
    every_checkpoint_damaged_is_an_error a_checkpoint_of_another_model_is_named_by_its_parameters \
    a_changed_config_is_told fine_tuning_starts_from_the_weights_of_another_run \
    a_map_of_names_carries_weights_over schedules_go_on_unless_they_are_told_to_begin_anew
