#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train and eval: from a config and files to a model; stopped, killed, continued, refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

train_saves_evaluates_and_says_where()
{
    config && data
    trained m
    status 0
    out_empty
    err_has "model       deepfm, "
    err_has "features    3: 3 of ids, 0 of numbers, 0 sequences"
    err_has "tables      5 with "
    err_has "data        2,700 rows in 2 files, batches of 256: 22 steps"
    err_has "evaluation  data/eval"
    err_has "seed 1"
    err_has " expected, "
    err_has "checkpoint m/model.ckpt-5"
    err_has "evaluation       step       rows        auc  binary_cross_entropy  exact_auc       loss  auc against the best"
    err_has "                   21        300   0."
    err_has "done        deepfm after 22 steps, 5,400 rows, 2 passes over the data"
    err_has "best        auc 0."
    err_has "checkpoint  m/model.ckpt-21"
    err_has "next        trainyard "
    LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" .err && fail "control characters in a file"
    run ls m
    out_has model.ckpt-21
    out_has pipeline.config
    run "$TRAINYARD" check m/pipeline.config
    status 0
    run tail -n 1 m/train_eval_result_v2.txt
    json 'd["global_step"] == 21 and 0 < d["auc"] < 1 and d["loss"] > 0'
    sed 's/, "eval_data": "[0-9a-f]*"//' .out >last
    run "$TRAINYARD" eval c.config --json
    status 0
    cmp -s .out last || fail "eval of the last checkpoint differs from that of training"
}

threads_do_not_change_a_byte()
{
    config && data
    trained a --threads 1
    status 0
    trained b --threads 3
    status 0
    same_checkpoint a/model.ckpt-21 b/model.ckpt-21
    cmp -s a/train_eval_result_v2.txt b/train_eval_result_v2.txt || fail "results differ"
}

# What a person sees who looks at a terminal: one line that is always the present.
a_terminal_has_one_live_line()
{
    config && data
    run python3 "$TY_SOURCE/tests/it/pty.py" 100 "$TRAINYARD" train c.config
    status 0
    tr '\r' '\n' <.out | sed 's/^.*\x1b\[K//' >shown
    grep -qE '^ *[0-9]+%  step [0-9]+/22  rows [0-9,]+  loss [0-9.]+ ' shown || fail "no live line"
    grep -E '%  step' shown | awk 'length > 99 { exit 1 }' || fail "a line is wider than the terminal"
    grep -q 'auc against the best' shown || fail "no table of evaluations"
    grep -q '^done        deepfm after 22 steps' shown || fail "no closing block"
    grep -c $'\x1b' shown | grep -qx 0 || fail "other control sequences than to clear a line"
}

the_live_line_follows_the_terminal()
{
    config && data
    run python3 "$TY_SOURCE/tests/it/pty.py" 100,60 "$TRAINYARD" train c.config --eval-input "" \
        --set train_config.num_epochs=0 --set train_config.num_steps=3000 --set train_config.save_checkpoints_steps=5000
    status 0
    tr '\r' '\n' <.out | sed 's/^.*\x1b\[K//' | sed '1,/^resized$/d' | grep '%  step' | sed 1d >shown
    [ "$(wc -l <shown)" -ge 3 ] || fail "only $(wc -l <shown) lines behind the change"
    awk 'length > 59 { exit 1 }' shown || fail "wider than the terminal is now: $(cat shown)"
}

a_table_of_evaluations_fits_the_terminal()
{
    config && data
    for width in 80 100 140; do
        run python3 "$TY_SOURCE/tests/it/pty.py" $width "$TRAINYARD" train c.config --model-dir m$width
        status 0
        tr '\r' '\n' <.out | sed 's/^.*\x1b\[K//' | sed -n '/^evaluation  *step/,/^done/p' >table
        awk -v w=$width 'length > w - 1 { exit 1 }' table || fail "wider than $width: $(cat table)"
        [ "$(grep -c 'auc against the best' table)" = 1 ] || fail "no head"
        grep -q 'binary_cross_entropy  *0\.' table || [ $width != 80 ] || fail "a result is not shown"
    done
    grep -q 'exact_auc       loss  auc against the best' table || fail "140 columns have room for all: $(cat table)"
}

progress_as_json_is_a_stream_of_objects()
{
    config && data
    trained m --log json --set train_config.num_steps=1000
    status 0
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import json
e = [json.loads(l) for l in open('.err')]
assert e[0]['code'] == 'E0303' and e[0]['severity'] == 'warning', e[0]
e = e[1:]
kinds = [x['event'] for x in e]
assert kinds[0] == 'start' and kinds[-1] == 'end', kinds
assert e[0]['steps'] == 22 and e[0]['rows'] == 2700, e[0]
assert [x['step'] for x in e if x['event'] == 'progress'] == [0, 5, 10, 15, 20]
assert [x['step'] for x in e if x['event'] == 'evaluation'] == [5, 10, 15, 20, 21]
assert e[-1]['how'] == 'done' and e[-1]['metric'] == 'auc' and 0 < e[-1]['best'] < 1
PY
}

# Perfetto and Chrome want whole spans with a name, a start and a length.
a_profile_is_a_trace_of_steps()
{
    config && data
    trained m --set train_config.is_profiling=true --set train_config.use_tensorboard=false
    status 0
    err_has "trace of 10 steps in m/train_eval_trace/trainyard_"
    python3 - m/train_eval_trace/*.pt.trace.json <<'PY' >.out 2>&1 || fail "$(cat .out)"
import json, sys
e = json.load(open(sys.argv[1]))['traceEvents']
spans = [x for x in e if x['ph'] == 'X']
assert all(x['dur'] >= 0 and isinstance(x['tid'], int) and x['name'] for x in spans)
steps = [x for x in spans if x['name'].startswith('step ')]
assert [x['name'] for x in steps] == [f'step {i}' for i in range(2, 12)], steps
names = {x['name'] for x in spans}
assert {'wait for data', 'forward', 'backward', 'update', 'read', 'features'} <= names, names
for s in steps:  # what the trainer did in a step lies within it
    inner = [x for x in spans if x['tid'] == 2 and s['ts'] <= x['ts'] < s['ts'] + s['dur']]
    assert len(inner) == 6, inner
assert {x['args']['name'] for x in e if x['ph'] == 'M'} == {'steps', 'trainer', 'reader'}
PY
    [ -z "$(find m -name 'events.out*')" ] || fail "event files although use_tensorboard is off"
}

curves_go_to_event_files()
{
    config && data
    trained m
    status 0
    [ "$(find m -maxdepth 1 -name 'events.out.tfevents.*' -size +1k | wc -l)" = 1 ] || fail "$(ls -l m)"
    [ "$(find m/eval_val -name 'events.out.tfevents.*' | wc -l)" = 1 ] || fail "$(ls -l m)"
    err_has "curves      tensorboard --logdir m"
    rm -rf m/eval_val
    touch m/eval_val # a file where a directory should be
    trained m --continue --set train_config.num_epochs=3
    status 0
    err_has "note: no files for TensorBoard: "
}

# As TorchEasyRec does: the order of eight workers, schedules that begin anew.
the_reference_may_be_followed()
{
    config && data
    trained a --set train_config.num_steps=6
    trained b --set train_config.num_steps=6 --set data_config.num_workers=8
    trained c --set train_config.num_steps=6 --like-reference workers
    status 0
    same_checkpoint b/model.ckpt-5 c/model.ckpt-5
    cmp -s a/model.ckpt-5/model-00001-of-00001.safetensors c/model.ckpt-5/model-00001-of-00001.safetensors &&
        fail "the order is that of the files"
    for d in d e; do cp -r a $d; done
    run "$TRAINYARD" train c.config --model-dir d --continue --restart-schedules --set train_config.num_steps=9
    status 0
    run "$TRAINYARD" train c.config --model-dir e --continue --like-reference schedules --set train_config.num_steps=9
    status 0
    same_checkpoint d/model.ckpt-8 e/model.ckpt-8
    run "$TRAINYARD" train c.config --model-dir f --like-reference means
    status 2
    err_has "error[E0603]: --like-reference: 'means' is not one of mean, workers, schedules, tables, steps, all"
}

what_has_no_effect_is_said()
{
    config && data
    trained m --set train_config.num_steps=3 \
        --set train_config.save_checkpoints_timestamp_interval=60
    status 0
    err_has "note: save_checkpoints_timestamp*: rows of files have no time of their own"
}

# Evaluations on other data than was trained on do not get better for ever.
patience_ends_a_run_that_gets_no_better()
{
    config && data
    trained m --patience 2 --set train_config.num_epochs=200 \
        --set 'train_config.sparse_optimizer.adam_optimizer.lr=0.2'
    status 0
    err_has "stopped early deepfm after "
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import json
auc = [json.loads(l)['auc'] for l in open('m/train_eval_result_v2.txt')]
best = auc.index(max(auc))
assert len(auc) - 1 - best == 2, auc
PY
    run "$TRAINYARD" params --json c.config
    status 0
    json 'd["step"] == [json.loads(l)["global_step"] for l in open("m/train_eval_result_v2.txt")][-3]'
    run "$TRAINYARD" params --json --set export_config.exporter_type=latest c.config
    json 'd["step"] == [json.loads(l)["global_step"] for l in open("m/train_eval_result_v2.txt")][-1]'
}

# With exporter_type best the best one outlives keep_checkpoint_max.
the_best_checkpoint_is_kept()
{
    config && data
    trained m --set train_config.keep_checkpoint_max=2 \
        --edit-config-json '{"export_config": "exporter_type: \"best\" best_exporter_metric: \"auc\" metric_larger_is_better: false"}'
    status 0
    best=$(python3 -c "
import json
r = [json.loads(l) for l in open('m/train_eval_result_v2.txt')]
print(min(r, key=lambda x: x['auc'])['global_step'])")
    [ -d "m/model.ckpt-$best" ] || fail "model.ckpt-$best is gone: $(ls m)"
    [ -d m/model.ckpt-21 ] && [ -d m/model.ckpt-20 ] || fail "the newest are gone: $(ls m)"
    [ "$(find m -name 'model.ckpt-*' | wc -l)" -le 3 ] || fail "too many: $(ls m)"
}

# A run that does not end by itself, past its first checkpoint; sets $pid.
start_endless()
{
    "$TRAINYARD" train c.config --set train_config.num_epochs=100000 >.out 2>.err &
    pid=$!
    for _ in $(seq 2000); do
        [ -d m/model.ckpt-5 ] && break
        sleep 0.005
    done
}

sigterm_saves_and_ends_well()
{
    config && data
    start_endless
    kill -TERM $pid
    wait $pid
    got=$?
    status 0
    err_has "stopping: saving a checkpoint"
    err_has "run the same command with --continue to resume"
}

# Both signals wait while the program is stopped, so the second is there before the first is looked at.
a_second_signal_ends_it_at_once()
{
    config && data
    start_endless
    kill -STOP $pid
    kill -INT $pid
    kill -TERM $pid
    kill -CONT $pid
    wait $pid
    got=$?
    status 143
    err_lacks "with --continue to resume"
    step=$(find m -maxdepth 1 -name 'model.ckpt-*[0-9]' | sed 's/.*-//' | sort -n | tail -1)
    run "$TRAINYARD" train c.config --continue --set train_config.num_steps=$((step + 3))
    status 0
}

a_second_run_does_not_start_over()
{
    config && data
    trained m --set train_config.num_steps=3
    status 0
    trained m
    status 2
    err_has "error[E1405]: model_dir 'm' holds a checkpoint of step 2: use --continue"
}

# The steps of the first sequence of a group count, row by row: what another one has
# beyond them changes nothing, whatever else is in the batch.
the_first_sequence_of_a_group_says_how_many_steps()
{
    cat >c.config <<'END'
train_input_path: "a.csv" model_dir: "m"
train_config { num_epochs: 1
  sparse_optimizer { adagrad_optimizer { lr: 0.05 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 2 dataset_type: CsvDataset fg_mode: FG_DAG label_fields: "clk"
  with_header: true input_fields { input_name: "clk" input_type: INT64 } }
feature_configs { id_feature { feature_name: "i" expression: "item:i" num_buckets: 50 embedding_dim: 4 } }
feature_configs { sequence_id_feature { feature_name: "a" expression: "user:a" num_buckets: 50
  embedding_dim: 4 sequence_length: 9 sequence_delim: "|" } }
feature_configs { sequence_id_feature { feature_name: "b" expression: "user:b" num_buckets: 50
  embedding_dim: 4 sequence_length: 9 sequence_delim: "|" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["i"]
    sequence_groups { group_name: "s" feature_names: ["a", "b"] }
    sequence_encoders { pooling_encoder { input: "s" pooling_type: "sum" } } }
  multi_tower { towers { input: "deep" mlp { hidden_units: [4] } } final { hidden_units: 2 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
    printf 'clk,i,a,b\n1,3,1|2,4|5\n0,4,1|2|3,4|5|6\n1,2,1,4\n0,2,1|2|3,7|8|9\n' >a.csv
    printf 'clk,i,a,b\n1,3,1|2,4|5\n0,4,1|2|3,4|5|6\n1,2,1,4|6|9\n0,2,1|2|3,7|8|9\n' >b.csv
    printf 'clk,i,a,b\n1,3,1|2,4|5\n0,4,1|2|3,4|5\n1,2,1,4\n0,2,1|2|3,7|8|9\n' >c.csv
    trained m
    status 0
    err_lacks "number of steps"
    trained n --train-input b.csv
    status 0
    err_has "note: in 1 of 2 rows of a batch, first in row 3 of 'b.csv' (line 4), 'b' has another number of steps than 'a', the first sequence of its group; it is cut or filled up to that"
    same_checkpoint m/model.ckpt-1 n/model.ckpt-1
    trained o --train-input c.csv
    status 0
    [ "$(grep -c "number of steps" .err)" = 1 ] || fail "the note is not there once"
    cmp -s m/model.ckpt-1/model-00001-of-00001.safetensors o/model.ckpt-1/model-00001-of-00001.safetensors && fail "a missing step counts as one"
}

# Where all steps of both sequences count, a sum over a group is that over two groups.
steps_beyond_the_first_sequence_may_count()
{
    the_first_sequence_of_a_group_says_how_many_steps
    # a row without steps of `a`, and a default of `b` alone
    sed -i 's/FG_DAG/FG_NONE/; s/feature_name: "b"/& fg_encoded_default_value: "7"/' c.config
    printf 'clk,i,a,b\n1,3,1;2,4;5;6\n0,4,1;2;3,4\n1,2,,\n0,2,1;2;3,7;8;9\n' | tr ';' '|' >d.csv
    sed 's/sequence_groups {.*/sequence_groups { group_name: "s" feature_names: "a" } sequence_groups { group_name: "t" feature_names: "b" }/
        s/sequence_encoders {.*/sequence_encoders { pooling_encoder { input: "s" pooling_type: "sum" } } sequence_encoders { pooling_encoder { input: "t" pooling_type: "sum" } } }/' c.config >two.config
    for data in b d; do
        run "$TRAINYARD" train two.config --model-dir two.$data --train-input $data.csv
        status 0
        trained steps.$data --train-input $data.csv --like-reference steps
        status 0
        err_lacks "number of steps"
        same_checkpoint two.$data/model.ckpt-1 steps.$data/model.ckpt-1
        trained cut.$data --train-input $data.csv
        cmp -s cut.$data/model.ckpt-1/model-00001-of-00001.safetensors steps.$data/model.ckpt-1/model-00001-of-00001.safetensors &&
            fail "the switch changes nothing"
    done
}

commands_to_copy_are_quoted_for_the_shell()
{
    config && data
    trained "my mo'del" --set train_config.num_steps=4
    status 0
    sed -n 's/^next  *trainyard //p' .err >next
    [ "$(wc -l <next)" = 1 ] || fail "no next line"
    eval "run \"$TRAINYARD\" $(cat next)"
    status 0
    [ -e "my mo'del/export/manifest.json" ] || fail "the command does something else: $(cat next)"
}

a_failure_is_a_line_of_json_too()
{
    config && data
    run "$TRAINYARD" train c.config --log json --train-input nowhere
    status 1
    [ "$(wc -l <.err)" = 1 ] || fail "more than a line"
    cp .err .out
    json 'd == {"event": "error", "code": "E1201", "message": "\u0027nowhere\u0027 does not exist"}'
    run "$TRAINYARD" train c.config --log json --data restart
    status 2
    cp .err .out
    json 'd["event"] == "error" and d["code"] == "E0609"'
    run "$TRAINYARD" train c.config --log json --set data_config.batch_size=0
    status 2
    cp .err .out
    json 'd["severity"] == "error" and d["code"] == "E0203"'
}

forty_sequence_groups_train()
{
    python3 - >c.config <<'PY'
n = 40
print('''train_input_path: "t.csv" eval_input_path: "t.csv" model_dir: "m"
train_config { num_steps: 4 sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 8 dataset_type: CsvDataset with_header: true fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "i" expression: "item:i" embedding_dim: 4 hash_bucket_size: 10 } }''')
for k in range(n):
    print('feature_configs { sequence_id_feature { feature_name: "s%d" expression: "user:s" sequence_delim: "|" '
          'sequence_length: %d embedding_dim: 4 hash_bucket_size: 10 } }' % (k, k % 3 + 1))
print('model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: "i" }')
for k in range(n):
    print('feature_groups { group_name: "g%d" group_type: SEQUENCE feature_names: ["i", "s%d"] }' % (k, k))
print('multi_tower_din { towers { input: "deep" mlp { hidden_units: 4 } }')
for k in range(n):
    print('din_towers { input: "g%d" attn_mlp { hidden_units: 4 } }' % k)
print('final { hidden_units: 4 } } losses { binary_cross_entropy {} } metrics { auc {} } }')
PY
    {
        echo clk,i,s
        for k in $(seq 32); do echo "$((k % 2)),$((k % 5)),1|$k|3"; done
    } >t.csv
    run "$TRAINYARD" check c.config
    status 0
    trained m
    status 0
    run "$TRAINYARD" export c.config --export-dir x
    status 0
    run "$TRAINYARD" predict --model x --input t.csv --output a.csv
    status 0
    [ "$(wc -l <a.csv)" = 33 ] || fail "$(wc -l <a.csv) lines"
}

tap_cases forty_sequence_groups_train commands_to_copy_are_quoted_for_the_shell a_failure_is_a_line_of_json_too \
    train_saves_evaluates_and_says_where threads_do_not_change_a_byte \
    a_terminal_has_one_live_line the_live_line_follows_the_terminal a_table_of_evaluations_fits_the_terminal \
    a_profile_is_a_trace_of_steps curves_go_to_event_files \
    progress_as_json_is_a_stream_of_objects patience_ends_a_run_that_gets_no_better \
    the_reference_may_be_followed what_has_no_effect_is_said the_best_checkpoint_is_kept sigterm_saves_and_ends_well \
    a_second_signal_ends_it_at_once a_second_run_does_not_start_over \
    the_first_sequence_of_a_group_says_how_many_steps steps_beyond_the_first_sequence_may_count
