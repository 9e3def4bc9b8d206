#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check over good and bad files: exact output, exit statuses, JSON, edits, write-back.
. "$(dirname "$0")/lib.sh"

good=$TY_SOURCE/examples/quickstart/pipeline.config

check_files()
{
    run "$TRAINYARD" check "$@"
}

# A pipeline.config with two errors on known lines.
bad_file()
{
    cat >bad.config <<'END'
model_dir: "out"
train_config {
  num_epoch: 1
}
feature_configs {
  id_feature {
    feature_name: "uid"
    expression: "user:uid"
    embedding_dim: "x"
  }
}
END
}

a_good_file_is_named_and_described()
{
    cp "$good" pipeline.config
    check_files pipeline.config
    status 0
    err_empty
    out_is <<'END'
ok: pipeline.config: TorchEasyRec pipeline.config, 4 features, model deepfm
END
}

files_of_nni_are_described_too()
{
    cat >space.json <<'END'
{"lr": {"_type": "loguniform", "_value": [0.0001, 0.1]},
 "dim": {"_type": "choice", "_value": [8, 16]}}
END
    cat >config.yml <<'END'
searchSpaceFile: space.json
trialCommand: python3 train.py
trialConcurrency: 2
maxTrialNumber: 10
tuner:
  name: TPE
  classArgs:
    optimize_mode: maximize
trainingService:
  platform: local
END
    check_files config.yml space.json
    status 0
    out_is <<'END'
ok: config.yml: NNI experiment, tuner TPE, at most 10 trials, 2 at a time
ok: space.json: NNI search space, 2 parameters
END
}

every_example_is_good()
{
    while read -r file; do
        check_files "$file"
        status 0
        out_has "ok: $file: "
    done < <(find "$TY_SOURCE/examples" -name '*.config' ! -name 'mistakes*')
}

problems_are_shown_with_excerpt_caret_and_place()
{
    bad_file
    check_files bad.config
    status 2
    err_empty
    out_is <<'END'
bad.config:3:3: error[E0201]: TrainConfig has no field 'num_epoch'
     3 |   num_epoch: 1
       |   ^~~~~~~~~
       = in train_config
       = did you mean 'num_epochs'?
bad.config:9:20: error[E0202]: 'embedding_dim' takes an integer, not a string "x"
     9 |     embedding_dim: "x"
       |                    ^~~
       = in id_feature 'uid' at feature_configs[0].id_feature
2 errors
END
}

json_is_one_object_per_problem()
{
    bad_file
    check_files --json bad.config
    status 2
    [ "$(wc -l <.out)" = 2 ] || fail "want two lines"
    head -1 .out >first && mv first .out
    json 'd == {"severity": "error", "code": "E0201", "title": "unknown field",
        "file": "bad.config", "line": 3, "column": 3, "end_line": 3, "end_column": 12,
        "message": "TrainConfig has no field '"'num_epoch'"'", "where": "train_config",
        "hint": "did you mean '"'num_epochs'"'?"}'
    check_files --json "$good"
    status 0
    out_empty
    check_files --json nowhere.config
    status 1
    json 'd["code"] == "E0005" and d["file"] == "nowhere.config" and d["line"] == 0'
}

colours_only_when_asked_for_in_a_file()
{
    bad_file
    check_files bad.config
    grep -q $'\033' .out && fail "colours in a file"
    check_files --color always bad.config
    check "no colours" grep -q $'\033\[1;31m' .out
    check_files --colour=never bad.config
    grep -q $'\033' .out && fail "colours although never"
    check_files --color sometimes bad.config
    status 2
    err_has "error[E0603]: --color: 'sometimes' is not one of auto, always, never"
}

# on_terminal COMMAND...: its stdout is a pseudo-terminal.
on_terminal()
{
    run python3 -c 'import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@"
}

colours_on_a_terminal_unless_refused()
{
    python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminals here"
    bad_file
    on_terminal env TERM=xterm "$TRAINYARD" check bad.config
    status 2
    check "no colours on a terminal" grep -q $'\033\\[1;31m' .out
    on_terminal env TERM=xterm NO_COLOR=1 "$TRAINYARD" check bad.config
    grep -q $'\033' .out && fail "colours although NO_COLOR"
    on_terminal env TERM=xterm "$TRAINYARD" train bad.config
    check "no colours on a terminal" grep -q $'\033\\[1;31m' .out
    on_terminal env TERM=xterm NO_COLOR=1 "$TRAINYARD" train bad.config
    grep -q $'\033' .out && fail "train has colours although NO_COLOR"
    on_terminal env TERM=dumb "$TRAINYARD" check bad.config
    grep -q $'\033' .out && fail "colours on a dumb terminal"
}

names_and_values_do_nothing_to_a_terminal()
{
    local name=$'e\033]0;owned\007vil.config'
    printf 'model_config { \033]0;x: 1 } train_input_path: "a\302\2331m" nonsense\n' >"$name"
    run "$TRAINYARD" check --kind pipeline "$name" $'no\033[2Jthing'
    grep -q $'[\033\007]\|\302\233' .out .err && fail "control characters in messages: $(cat -v .out .err)"
    out_has 'e?]0;owned?vil.config:1:'
    err_has 'no?[2Jthing'
    python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminals here"
    echo 'train_input_path: "x"' >"$name"
    on_terminal env TERM=xterm NO_COLOR=1 "$TRAINYARD" check "$name"
    grep -q $'[\033\007]' .out && fail "control characters in results: $(cat -v .out)"
    return 0
}

several_files_are_all_checked()
{
    bad_file
    check_files bad.config nowhere.config "$good"
    status 2
    out_has "bad.config:3:3: error"
    out_has "ok: $good: "
    err_is <<'END'
trainyard check: error[E0005]: nowhere.config: cannot open: No such file or directory
END
    check_files nowhere.config "$good"
    status 1
}

a_file_of_no_known_kind()
{
    echo "hello: world" >other.yaml
    check_files other.yaml
    status 2
    err_has "trainyard check: error[E0210]: other.yaml: not a file of a known kind"
    check_files --kind pipelin other.yaml
    status 2
    err_has "error[E0603]: --kind: 'pipelin' is not one of "
    err_has "did you mean 'pipeline'?"
    check_files --kind pipeline other.yaml
    status 2
    out_has "error[E0201]: EasyRecConfig has no field 'hello'"
    : >empty
    check_files empty
    status 2
    head -c 100 /dev/zero >zeros
    check_files zeros
    [ "$got" != 0 ] || fail "zero bytes are good?"
    check_files .
    status 1
}

stdin_is_a_dash()
{
    run bash -c '"$1" check - <"$2"' - "$TRAINYARD" "$good"
    status 0
    out_has "ok: -: TorchEasyRec pipeline.config, 4 features"
}

edits_are_applied_before_the_check()
{
    check_files --set train_config.num_epochs=2 --print "$good"
    status 0
    out_has "  num_epochs: 2"
    check_files --set train_config.num_epoch=2 "$good"
    status 2
    out_has "num_epoch"
    check_files --edit-config-json '{"data_config.batch_size": 77}' --print "$good"
    status 0
    out_has "batch_size: 77"
    check_files --edit_config_json '{"data_config.batch_size": 77}' \
        --set data_config.batch_size=78 --print "$good"
    out_has "batch_size: 78"
}

what_print_writes_reads_back_the_same()
{
    check_files --print "$good"
    status 0
    err_empty
    cp .out once.config
    check_files --print once.config
    out_is <once.config
    bad_file
    check_files --print bad.config
    status 2
    out_empty
    err_has "bad.config:3:3: error[E0201]"
}

a_file_is_printed_as_json_with_its_edits()
{
    check_files --print-json --set train_config.num_epochs=2 "$good"
    status 0
    err_empty
    python3 -c 'import json; c = json.load(open(".out")); assert c["train_config"]["num_epochs"] == 2' ||
        fail "not that JSON"
    bad_file
    check_files --print-json bad.config
    status 2
    err_has "bad.config:3:3: error[E0201]"
    check "what was read is there" python3 -c 'import json; json.load(open(".out"))'
}

warnings_count_when_asked()
{
    sed 's/fg_mode: FG_NORMAL/fg_encoded: true/' "$good" >warn.config
    check_files warn.config
    status 0
    out_has "warn.config:21:3: warning[E0207]: "
    out_has "ok: warn.config: TorchEasyRec pipeline.config, 4 features, model deepfm (1 warning)"
    check_files --werror warn.config
    status 2
    out_lacks "ok: "
}

a_job_file_is_known_without_its_command()
{
    printf 'comand: echo hi\nworkers: 2x\nretires: 3\n' >job.yaml
    run "$TRAINYARD" check job.yaml
    [ "$got" != 0 ] || fail "it passed"
    out_has "job.yaml:1:1: error[E0201]: JobSpec has no field 'comand'"
    out_has "did you mean 'command'?"
    out_has "job.yaml:2:10: error"
    out_has "JobSpec has no field 'retires'"
    out_has "3 errors"
}

nothing_named_is_wrong_usage()
{
    check_files
    status 2
    err_has "trainyard check: error[E0605]: argument FILE... is missing"
}

all_mistakes_of_an_nni_file_come_at_once()
{
    cat >exp.yml <<'YML'
trialConcurrency: two
maxTrialNumber: 1
trialCommand: echo
searchSpace: {x: {_type: unifrm, _value: [0, 1]}, y: {_type: uniform, _value: [3]}}
tuner: {name: TPEE}
trainingService: {platform: local}
YML
    run "$TRAINYARD" check exp.yml
    status 2
    for text in "exp.yml:1:19: error[E0202]" "exp.yml:4:26: error[E0432]" "exp.yml:4:79: error[E0433]" "exp.yml:5:15: error[E0408]" "4 errors"; do
        grep -qF "$text" .out .err || fail "not said: $text"
    done
    # The same in a file of its own; nothing is said twice of the wrong value.
    echo '{"x": {"_type": "unifrm", "_value": [0, 1]}}' >space.json
    sed -i 's/^searchSpace: .*/searchSpaceFile: space.json/; s/TPEE/TPE/' exp.yml
    run "$TRAINYARD" check exp.yml
    status 2
    for text in "error[E0202]" "space.json:1:" "2 errors"; do
        grep -qF "$text" .out .err || fail "not said: $text"
    done
}

tap_cases \
    a_good_file_is_named_and_described \
    files_of_nni_are_described_too \
    every_example_is_good \
    problems_are_shown_with_excerpt_caret_and_place \
    json_is_one_object_per_problem \
    colours_only_when_asked_for_in_a_file \
    colours_on_a_terminal_unless_refused \
    names_and_values_do_nothing_to_a_terminal \
    several_files_are_all_checked \
    a_file_of_no_known_kind \
    stdin_is_a_dash \
    edits_are_applied_before_the_check \
    what_print_writes_reads_back_the_same \
    a_file_is_printed_as_json_with_its_edits \
    warnings_count_when_asked \
    a_job_file_is_known_without_its_command nothing_named_is_wrong_usage \
    all_mistakes_of_an_nni_file_come_at_once
