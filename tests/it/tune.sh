#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Experiments from the command line: NNI's files and protocol, resume, limits, bad input.
. "$(dirname "$0")/lib.sh"

# A trial that speaks NNI's file protocol as its client does, and an experiment of it.
experiment() # LINE... are added to the file
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g HOME=$PWD/home
    unset TRAINYARD_STORE
    mkdir -p home
    cat >trial.py <<'PY'
import json, os, sys, time
place = os.environ["NNI_SYS_DIR"]
with open(place + "/parameter.cfg") as f:
    record = json.load(f)
x, y = record["parameters"]["x"], record["parameters"]["y"]
def report(kind, sequence, value):
    text = json.dumps({"parameter_id": record["parameter_id"],
                       "trial_job_id": os.environ["NNI_TRIAL_JOB_ID"], "type": kind,
                       "sequence": sequence, "value": json.dumps(value)}) + "\n"
    with open(place + "/.nni/metrics", "ab") as f:
        f.write(b"ME%06d" % len(text) + text.encode())
for step in range(2):
    report("PERIODICAL", step, (x - 0.3) ** 2 + (y - 2) ** 2 + 1 / (step + 1))
time.sleep(float(os.environ.get("NAP", "0")))
report("FINAL", 0, {"default": (x - 0.3) ** 2 + (y - 2) ** 2, "more": 1})
PY
    cat >config.yml <<'YML'
experimentName: parabola
trialCommand: python3 trial.py
searchSpace:
  x: {_type: uniform, _value: [0, 1]}
  y: {_type: quniform, _value: [0, 4, 0.25]}
trainingService: {platform: local}
YML
    printf '%s\n' "$@" >>config.yml
    grep -q '^tuner' config.yml ||
        echo 'tuner: {name: TPE, classArgs: {optimize_mode: minimize, seed: 3}}' >>config.yml
}

pick() # EXPRESSION over d, of .out
{
    python3 -c 'import json,sys; d=json.load(open(".out")); print(eval(sys.argv[1]))' "$1"
}

is() # what got want
{
    [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

an_experiment_runs_to_its_end()
{
    experiment 'trialConcurrency: 3' 'maxTrialNumber: 8'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 0
    err_has "DONE"
    err_has "best of 8 trials"
    run "$TRAINYARD" tune get --dir exp --json
    is status "$(pick 'd["status"]')" DONE
    is trials "$(pick 'd["trials"]["SUCCEEDED"]')" 8
    run "$TRAINYARD" tune best --dir exp --json
    is best "$(pick 'd["value"] == (d["parameters"]["x"]-0.3)**2 + (d["parameters"]["y"]-2)**2')" True
    best=$(pick 'd["value"]')
    run "$TRAINYARD" tune trials --dir exp --json
    is order "$(pick 'd[0]["value"] == min(t["value"] for t in d)')" True
    is "the best" "$(pick 'd[0]["value"]')" "$best"
    is intermediate "$(pick '[len(t["intermediate"]) for t in d] == [2] * 8')" True
    run "$TRAINYARD" tune export --dir exp --type csv
    out_has "x,y,reward,trialJobId"
    is rows "$(wc -l <.out)" 9
    run "$TRAINYARD" tune export --dir exp
    is exported "$(pick 'all(json.loads(t["value"])["more"] == 1 for t in d)')" True
    run "$TRAINYARD" tune export --dir exp --trial 2
    is again "$(pick 'd["command"]')" "python3 trial.py"
    run "$TRAINYARD" job list --json --label experiment
    is jobs "$(pick 'len(d)')" 8
}

ids_and_the_latest_experiment()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 1'
    run "$TRAINYARD" tune create --config config.yml --wait
    status 0
    id=$(cat .out)
    run "$TRAINYARD" tune best
    status 0
    run "$TRAINYARD" tune get "$id"
    out_has "parabola"
    run "$TRAINYARD" tune list
    out_has "$id"
    # A name of an older version says nothing to the terminals of others.
    sed -i 's/"parabola"/"red\\u001b[31m\\nline"/' "$(dirname "$("$TRAINYARD" tune get --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["dir"])')")/$id/experiment.json"
    run "$TRAINYARD" tune list
    out_has 'red?[31m?line'
    run "$TRAINYARD" tune get
    out_has 'red?[31m?line'
    run "$TRAINYARD" tune get nothere
    status 1
    err_has "there is no experiment 'nothere'"
}

# What was suggested, in order.
suggestions() { "$TRAINYARD" tune trials --dir "$1" --json | python3 -c '
import json, sys
for t in sorted(json.load(sys.stdin), key=lambda t: t["trial"]): print(t["status"], t["value"], t["parameters"])'; }

what_was_killed_is_interrupted_and_goes_on()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 4'
    sed -i "s|^trialCommand.*|trialCommand: python3 $PWD/trial.py|" config.yml
    export NAP=0.5
    "$TRAINYARD" tune create --config config.yml --dir exps/one --wait >/dev/null 2>&1 &
    for _ in $(seq 200); do "$TRAINYARD" tune get --dir exps/one 2>/dev/null | grep -q "a process runs it" && break; sleep 0.05; done
    run "$TRAINYARD" tune get --dir exps/one --json
    json 'd["status"] == "RUNNING" and d["managed"]'
    kill -9 $!
    wait $! 2>/dev/null
    run "$TRAINYARD" tune get --dir exps/one
    out_has 'INTERRUPTED: what ran it is gone; `trainyard tune resume` continues it'
    run "$TRAINYARD" tune list --dir exps
    out_has INTERRUPTED
    run "$TRAINYARD" tune get --dir exps/one --json
    json 'd["status"] == "INTERRUPTED" and not d["managed"]'
    run timeout 60 "$TRAINYARD" tune resume --dir exps/one --wait
    status 0
    run "$TRAINYARD" tune get --dir exps/one --json
    json 'd["status"] == "DONE" and d["trials"]["SUCCEEDED"] == 4'
}

# TUNE_KILL_TRIALS=200 for a longer run than the tests have time for.
killed_managers_and_trials_change_nothing()
{
    local n=${TUNE_KILL_TRIALS:-11} i=0
    experiment 'trialConcurrency: 1' "maxTrialNumber: $n"
    sed -i "s|^trialCommand.*|trialCommand: python3 $PWD/trial.py|" config.yml
    "$TRAINYARD" tune create --config config.yml --dir whole --wait >/dev/null 2>&1
    suggestions whole >whole.txt
    export NAP=0.15
    "$TRAINYARD" tune create --config config.yml --dir cut --wait >/dev/null 2>&1 &
    while [ $((i += 1)) -le $((n / 3 + 1)) ]; do
        sleep 0.$((RANDOM % 5 + 3))
        kill -9 $! 2>/dev/null
        # a trial that is killed a third time has failed, so not too often
        [ $((i % 5)) = 2 ] && pkill -9 -f "python3 $PWD/trial.py"
        wait $! 2>/dev/null
        "$TRAINYARD" tune resume --dir cut --wait >/dev/null 2>>resume.err &
    done
    wait $!
    is "exit status of the last" $? 0
    suggestions cut >cut.txt
    is trials "$(wc -l <cut.txt)" "$n"
    diff whole.txt cut.txt >/dev/null || { fail "the suggestions differ:"; diff whole.txt cut.txt | head -5 | sed 's/^/# /' >&3; }
}

a_second_manager_is_refused()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 50'
    export NAP=0.2
    run "$TRAINYARD" tune create --config config.yml --dir exp
    status 0
    for i in $(seq 50); do "$TRAINYARD" tune get --dir exp | grep -q "a process runs it" && break; sleep 0.1; done
    run "$TRAINYARD" tune resume --dir exp --wait
    status 2
    err_has "is run by another process"
    run "$TRAINYARD" tune update --dir exp --trials 2
    status 0
    for i in $(seq 100); do "$TRAINYARD" tune get --dir exp | grep -q "a process runs it" || break; sleep 0.1; done
    run "$TRAINYARD" tune get --dir exp --json
    is "after the update" "$(pick 'd["status"]')" DONE
}

stop_ends_the_trials()
{
    experiment 'trialConcurrency: 2' 'maxTrialNumber: 50'
    export NAP=60
    run "$TRAINYARD" tune create --config config.yml --dir exp
    for i in $(seq 100); do "$TRAINYARD" tune get --dir exp | grep -q "step 2" && break; sleep 0.1; done
    run "$TRAINYARD" tune stop --dir exp
    status 0
    run "$TRAINYARD" tune get --dir exp --json
    is status "$(pick 'd["status"]')" STOPPED
    is canceled "$(pick '{k: n for k, n in d["trials"].items() if n and k != "USER_CANCELED"}')" '{}'
    run pgrep -f "$PWD/exp"
    status 1
}

an_assessor_stops_the_bad_ones()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 10' \
        'assessor: {name: Medianstop, classArgs: {optimize_mode: minimize}}'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 0
    export NAP=0
    run "$TRAINYARD" tune get --dir exp --json
    is "all have ended" "$(pick 'd["trials"]["SUCCEEDED"] + d["trials"]["EARLY_STOPPED"]')" 10
}

parameters_stand_in_the_command_and_results_on_a_line()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 3'
    sed -i "s/^trialCommand.*/trialCommand: sleep 1.2; echo '::trainyard default='{{y}}/" config.yml
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 0
    run "$TRAINYARD" tune trials --dir exp --json
    is "a result each" "$(pick '[len(t["intermediate"]) for t in d]')" '[1, 1, 1]'
    is "the value is the parameter" "$(pick 'all(t["value"] == t["parameters"]["y"] for t in d)')" True
    sed -i "s/{{y}}/{{z}}/" config.yml
    run "$TRAINYARD" tune create --config config.yml --dir bad --wait
    status 2
    err_has "the trial command uses {{z}}, which is not a parameter"
}

trials_that_all_fail_end_the_experiment()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 20'
    sed -i 's/^trialCommand.*/trialCommand: echo no such column; exit 3/' config.yml
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 2
    err_has "all trials failed"
    err_has "no such column"
    run "$TRAINYARD" tune get --dir exp --json
    is status "$(pick 'd["status"]')" ERROR
    is failed "$(pick 'd["trials"]["FAILED"]')" 3
    run "$TRAINYARD" tune best --dir exp
    status 1
    err_has "has a result yet"
    sed -i 's/^trialCommand.*/trialCommand: echo all is well/' config.yml
    run "$TRAINYARD" tune create --config config.yml --dir silent --wait
    err_has "the trial succeeded but reported no result"
    err_has "all is well"
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 1'
    sed -i 's/^report("FINAL.*/report("FINAL", 0, "good")/' trial.py
    run "$TRAINYARD" tune create --config config.yml --dir words --wait
    status 2
    err_has "the result \"good\" has no number 'default'"
}

bad_files_are_refused_with_their_place()
{
    experiment 'trialConcurrency: 1' 'tuner: {name: TPEE}'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 2
    err_has "TPE"
    err_has "config.yml:"
    check "no folder was made" test ! -e exp/experiment.json
    experiment 'trialConcurrency: 1' 'tuner: {name: TPE, classArgs: {optimize_mode: sideways, depth: 3}}'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 2
    err_has "optimize_mode should be in"
    err_has "depth"
    experiment 'trialConcurrency: 1'
    sed -i '/^trialCommand/d' config.yml
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 2
    err_has "trial_command is not set"
    experiment 'trialConcurrency: 1'
    sed -i 's/\[0, 1\]/[1, 0]/' config.yml
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 2
    err_has "must have high > low"
    check "nothing was made" test ! -e exp/experiment.json
    mkdir empty
    run "$TRAINYARD" tune get --dir empty
    err_has "there is no experiment in '$PWD/empty'"
}

a_tuner_that_is_not_supported_is_refused_before_anything_is_made()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 3'
    sed -i '/^tuner/,$d' config.yml
    printf 'tuner:\n  name: PPO\n' >>config.yml
    run "$TRAINYARD" check config.yml
    status 2
    out_has "error[E4001]: PPO searches network architectures, which is not supported"
    run "$TRAINYARD" tune create --config config.yml --dir exp
    status 2
    err_has "PPO searches network architectures, which is not supported"
    check "nothing was made" test ! -e exp
}

two_updates_while_nothing_runs_both_count()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 1'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    status 0
    run "$TRAINYARD" tune update --dir exp --trials 3
    status 0
    run "$TRAINYARD" tune update --dir exp --concurrency 2
    status 0
    run "$TRAINYARD" tune resume --dir exp --wait
    status 0
    run "$TRAINYARD" tune get --dir exp --json
    is trials "$(pick 'd["trials"]["SUCCEEDED"]')" 3
    is "at a time" "$(pick 'd["concurrency"]')" 2
}

a_trial_that_is_stopped_keeps_what_it_reported_by_lines()
{
    local -r lines="'echo ::trainyard default=0.4; echo ::trainyard default=0.9; sleep 60'"
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 1' 'maxTrialDuration: 2s'
    sed -i "s/^trialCommand:.*/trialCommand: $lines/" config.yml
    run "$TRAINYARD" tune create --config config.yml --dir late --wait
    status 0
    run "$TRAINYARD" tune trials --dir late --json
    is "out of time" "$(pick 'd[0]["status"], d[0]["value"]')" "('EARLY_STOPPED', 0.9)"
    sed -i '/^maxTrialDuration/d' config.yml
    run "$TRAINYARD" tune create --config config.yml --dir exp
    for _ in $(seq 100); do
        run "$TRAINYARD" tune trials --dir exp --json
        [ "$(pick 'd and d[0]["intermediate"]')" = "[0.4, 0.9]" ] && break
        sleep 0.1
    done
    run "$TRAINYARD" tune stop --dir exp
    status 0
    run "$TRAINYARD" tune trials --dir exp --json
    is "stopped by a user" "$(pick 'd[0]["status"], d[0]["value"]')" "('USER_CANCELED', 0.9)"
}

a_log_that_was_cut_goes_on()
{
    experiment 'trialConcurrency: 1' 'maxTrialNumber: 3'
    run "$TRAINYARD" tune create --config config.yml --dir exp --wait
    printf '{"e": "ask", "t": 17' >>exp/log.jsonl
    run "$TRAINYARD" tune update --dir exp --trials 4
    status 0
    run "$TRAINYARD" tune resume --dir exp --wait
    status 0
    run "$TRAINYARD" tune get --dir exp --json
    is trials "$(pick 'd["trials"]["SUCCEEDED"]')" 4
    echo '{"e": "dance"}' >>exp/log.jsonl
    run "$TRAINYARD" tune get --dir exp
    status 1
    err_has "an event of the unknown kind 'dance'"
    err_has "log.jsonl', line"
}

a_study_answers_line_by_line()
{
    printf '{"x": {"_type": "uniform", "_value": [0, 2]}}' >space.json
    printf '%s\n' '{"ask": 1}' '{"tell": 0, "value": 1}' '{"tell": 3, "value": 1}' '{"tell": 0.5, "value": 1}' '{"ask": 1}' '{"fail": 1}' \
        '{"report": 0, "value": 1, "step": -1}' '{"import": {"y": 1}, "value": 0}' '{"import": {"x": 1}}' '[]' '{' >lines
    run sh -c "\"\$TRAINYARD\" tune study space.json --seed 7 <lines"
    status 0
    is "an answer each" "$(wc -l <.out)" 11
    is "errors" "$(grep -c '"error"' .out)" 7
    out_has "there is no trial 3"
    out_has "parameter 'x' is missing"
    cp .out first
    run sh -c "\"\$TRAINYARD\" tune study space.json --seed 7 <lines"
    check "the same lines get the same answers" cmp -s .out first
    run "$TRAINYARD" tune study space.json --tuner PPO </dev/null
    err_has "error[E4001]: no tuner 'PPO'"
    run "$TRAINYARD" tune study space.json --tuner-args '{"optimize_mod": "maximize"}' </dev/null
    status 2
    err_has "did you mean 'optimize_mode'?"
}

tap_cases a_study_answers_line_by_line an_experiment_runs_to_its_end ids_and_the_latest_experiment \
    what_was_killed_is_interrupted_and_goes_on killed_managers_and_trials_change_nothing a_second_manager_is_refused stop_ends_the_trials \
    an_assessor_stops_the_bad_ones parameters_stand_in_the_command_and_results_on_a_line \
    trials_that_all_fail_end_the_experiment bad_files_are_refused_with_their_place \
    a_tuner_that_is_not_supported_is_refused_before_anything_is_made \
    two_updates_while_nothing_runs_both_count \
    a_trial_that_is_stopped_keeps_what_it_reported_by_lines a_log_that_was_cut_goes_on
