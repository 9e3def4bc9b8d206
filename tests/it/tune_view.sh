#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Experiments as people look at them: nnictl's words, the view of a terminal, NNI's shapes;
# and trials that are trainings of our own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

experiment() # LINE... are added to the file
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g HOME=$PWD/home
    unset TRAINYARD_STORE
    mkdir -p home
    ln -sf "$TRAINYARD" nnictl
    cat >config.yml <<'YML'
experimentName: seen
trialCommand: echo "::trainyard default={{x}}"; sleep ${NAP:-0}
searchSpace: {x: {_type: uniform, _value: [0, 1]}}
trainingService: {platform: local}
tuner: {name: Random, classArgs: {seed: 3}}
YML
    printf '%s\n' "$@" >>config.yml
}

pick() # EXPRESSION over d, of .out
{
    python3 -c 'import json,sys; d=json.load(open(".out")); print(eval(sys.argv[1]))' "$1"
}

is() # what got want
{
    [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

until_has() # TEXT COMMAND... shows TEXT
{
    local text=$1 i
    shift
    for i in $(seq 150); do
        "$@" 2>/dev/null | grep -q -- "$text" && return
        sleep 0.1
    done
    fail "$* never showed '$text' ($i tries)"
}

nnictl_has_its_words()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 3'
    run ./nnictl create -c config.yml -f --port 8080
    status 0
    id=$(cat .out)
    run ./nnictl experiment status "$id"
    is status "$(pick 'd["status"]')" DONE
    run ./nnictl experiment show "$id"
    is profile "$(pick 'd["id"], d["params"]["maxTrialNumber"], d["nextSequenceId"]')" "('$id', 3, 3)"
    run ./nnictl config show
    is config "$(pick 'd["tuner"]')" "{'name': 'Random', 'classArgs': {'seed': 3}}"
    run ./nnictl experiment list --all
    out_has "$id"
    run ./nnictl trial ls --head 2
    is "best two" "$(pick 'len(d), sorted(d[0])')" \
        "(2, ['endTime', 'finalMetricData', 'hyperParameters', 'logPath', 'sequenceId', 'startTime', 'status', 'trialJobId'])"
    is "best first" "$(pick 'float(json.loads(d[0]["finalMetricData"][0]["data"])) >= float(json.loads(d[1]["finalMetricData"][0]["data"]))')" True
    run ./nnictl top
    status 0
    out_has "$id"
    run ./nnictl experiment export "$id" -t json -f out.json -i
    status 0
    cp out.json .out
    is exported "$(pick 'len(d), sorted(d[0])')" "(3, ['intermediate', 'parameter', 'trialJobId', 'value'])"
    trial=$(pick 'd[0]["trialJobId"]')
    run ./nnictl log trial "$id" --trial_id "$trial"
    out_has "::trainyard default="
    run ./nnictl log stderr "$id" --path
    out_has "$id/manager.log"
    run ./nnictl webui url "$id"
    status 0
    run ./nnictl view "${id:0:5}"
    out_has "seen"
    out_has "SUCCEEDED"
    run ./nnictl stop "${id:0:4}*"
    status 0
    run ./nnictl experiment save "$id"
    status 0
    python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None and z.namelist() == ["experiment.json", "log.jsonl"]' \
        "nni_experiment_$id.zip" || fail "no archive"
    run ./nnictl experiment save "$id"
    status 2
    run ./nnictl experiment load -p "nni_experiment_$id.zip" -c .
    status 2
    err_has "there is an experiment '$id' already"
    "$TRAINYARD" tune trials "$id" --json >before
    run ./nnictl experiment delete
    status 2
    run ./nnictl experiment delete "$id"
    status 0
    run ./nnictl experiment load -p "nni_experiment_$id.zip" -c .
    status 0
    "$TRAINYARD" tune trials "$id" --json >after
    cmp before after || fail "another experiment was loaded"
    run "$TRAINYARD" tune update "$id" --trials 4
    run "$TRAINYARD" tune resume "$id" --wait
    status 0
    run ./nnictl experiment delete "$id"
    status 0
    head -c 300 "nni_experiment_$id.zip" >cut.zip
    run "$TRAINYARD" tune load cut.zip
    status 1
    err_has "not an archive of an experiment"
    run ./nnictl experiment show "$id"
    status 1
    run ./nnictl experiment show nothing
    status 1
    run ./nnictl update searchspace
    status 2
    err_has "needs --filename"
    run ./nnictl dance
    status 2
    err_has "'nnictl dance' is not supported"
}

nnictl_changes_what_runs()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 50'
    export NAP=60
    run ./nnictl create --config config.yml
    id=$(cat .out)
    until_has RUNNING "$TRAINYARD" tune trials "$id"
    run ./nnictl update concurrency "$id" --value 2
    status 0
    until_has '2 RUNNING' "$TRAINYARD" tune get "$id"
    run "$TRAINYARD" tune trials "$id" --json
    run ./nnictl trial kill "$id" --trial_id "$(pick 'd[0]["id"]')"
    status 0
    until_has USER_CANCELED "$TRAINYARD" tune trials "$id"
    run ./nnictl update trialnum "$id" -v 3
    run ./nnictl update duration "$id" -v 1h
    until_has 3600 "$TRAINYARD" tune get "$id" --json
    run ./nnictl stop --all
    status 0
    run ./nnictl experiment status "$id"
    is stopped "$(pick 'd["status"]')" STOPPED
}

the_view_of_a_terminal()
{
    experiment 'trialConcurrency: 2' 'maxTrialNumber: 4'
    export NAP=0.5
    run "$TRAINYARD" tune create --config config.yml --dir exp
    until_has RUNNING "$TRAINYARD" tune trials --dir exp
    run python3 "$TY_SOURCE/tests/it/pty.py" 60 "$TRAINYARD" tune get --dir exp --watch
    status 0
    out_has "progress    [##############################] 100%"
    out_has "of 4 ended"
    out_has "best        trial"
    out_has "$(printf '\033[H')"
    check "no line is wider than the terminal" python3 -c '
import re
for line in re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", open(".out").read()).splitlines():
    assert len(line) <= 60, line'
    run "$TRAINYARD" tune get --dir exp --watch
    status 0
    out_has "DONE: 4 of 4 trials, 0 running, best"
    check "no control characters without a terminal" python3 -c 'assert "\x1b" not in open(".out").read()'
}

shapes_of_nni()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 2'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    for path in /experiment /check-status /trial-jobs /metric-data /metric-data-latest \
        /metric-data-range/0/1 /job-statistics /export-data /experiment-metadata; do
        run "$TRAINYARD" tune get --dir exp --as "$path"
        status 0
        check "$path is JSON" python3 -c 'import json; json.load(open(".out"))'
    done
    run "$TRAINYARD" tune get --dir exp --as /trial-jobs
    is "the record inside" "$(pick 'json.loads(d[1]["hyperParameters"][0])["parameter_id"]')" 1
    is "decoded twice" "$(pick 'json.loads(json.loads(d[0]["finalMetricData"][0]["data"])) == json.loads(d[0]["hyperParameters"][0])["parameters"]["x"]')" True
    trial=$(pick 'd[1]["trialJobId"]')
    run "$TRAINYARD" tune get --dir exp --as "/metric-data/$trial"
    is "of one trial" "$(pick '{m["trialJobId"] for m in d}')" "{'$trial'}"
    is "both kinds" "$(pick '[m["type"] for m in d]')" "['PERIODICAL', 'FINAL']"
    run "$TRAINYARD" tune get --dir exp --as /nothing
    status 1
    err_has "has no '/nothing'"
}

trainings_are_trials()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 2' 'objectives: [{metric: auc}]'
    config
    data
    sed -i "s/^trialCommand.*/trialCommand: ${TRAINYARD//\//\\/} train c.config/
        s/^searchSpace.*/searchSpace: {\"train_config.sparse_optimizer.adam_optimizer.lr\": {_type: loguniform, _value: [0.001, 0.1]}, \"train_config.num_epochs\": {_type: choice, _value: [1]}}/" config.yml
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 0
    run "$TRAINYARD" tune best --dir exp --json
    is "the metric of the evaluation" "$(pick '0.4 < d["values"]["auc"] < 1')" True
    lr=$(pick 'd["parameters"]["train_config.sparse_optimizer.adam_optimizer.lr"]')
    id=$(pick 'd["id"]')
    run cat "exp/trials/$id/model/pipeline.config"
    out_has "${lr:0:8}"
    run "$TRAINYARD" tune export --dir exp --trial 0
    out_has "--set 'train_config.num_epochs=1'"
}

tap_cases nnictl_has_its_words nnictl_changes_what_runs the_view_of_a_terminal shapes_of_nni \
    trainings_are_trials
