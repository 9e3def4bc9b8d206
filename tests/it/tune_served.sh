#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Experiments at a server: made, looked at and ended from a client; whose they are, under
# which quotas and accounts their trials run, and what a server that starts again does.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN

start()
{
    export HOME=$PWD/home TRAINYARD_SLOTS=cpu=8,memory=64g
    mkdir -p home
    "$TRAINYARD" server --listen "${1:-127.0.0.1:0}" --dir yard --experiments exps 2>server.log &
    server=$!
    wait_for_server
}

admin()
{
    TRAINYARD_SERVER=$url TRAINYARD_TOKEN=$(cat yard/admin.token) "$TRAINYARD" "$@"
}

# person NAME [FLAG...]: a user whose token is in NAME.token
person()
{
    admin user create "$@" || fail "user create $*"
    admin token create "$1" >"$1.token" || fail "token create $1"
}

# as NAME: commands speak for that user
as()
{
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
    TRAINYARD_TOKEN=$(cat "$1.token")
}

config() # TRIALS COMMAND [LINE...]
{
    mkdir -p code
    cat >code/config.yml <<YML
experimentName: shell
trialCommand: $2
trialConcurrency: 2
maxTrialNumber: $1
searchSpace: {x: {_type: choice, _value: [3, 1, 2]}}
tuner: {name: GridSearch}
trainingService: {platform: local}
YML
    [ $# -lt 3 ] || printf '%s\n' "${@:3}" >>code/config.yml
}

create() # [FLAG...]: $id
{
    run "$TRAINYARD" tune create --config code/config.yml "$@"
    status 0
    id=$(head -n 1 .out)
}

is_no_root() { [ "$(id -u)" != 0 ]; }

a_client_runs_an_experiment_at_the_server()
{
    start
    person ann
    person bob
    as ann
    config 3 "'python3 trial.py; cat \$NNI_SYS_DIR/parameter.cfg; id -u'"
    cat >code/trial.py <<'PY'
import json, os
place = os.environ["NNI_SYS_DIR"]
record = json.load(open(place + "/parameter.cfg"))
text = json.dumps({"parameter_id": record["parameter_id"], "trial_job_id": os.environ["NNI_TRIAL_JOB_ID"],
                   "type": "FINAL", "sequence": 0, "value": json.dumps(record["parameters"]["x"])}) + "\n"
with open(place + "/.nni/metrics", "ab") as f:
    f.write(b"ME%06d" % len(text) + text.encode())
PY
    create --wait
    err_has "experiment $id at $url"
    err_has "best of 3 trials"
    [ -e home/nni-experiments ] && fail "the client made an experiment of its own"
    [ -d "exps/$id" ] || fail "the server has none"
    # Others see its name in lists.
    curl -s -o .out -X POST -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' -d '{"settings": {"id": "x", "code_dir": "",
        "name": "red\u001b[31m", "command": "true", "tuner": "Random", "tuner_args": {}, "concurrency": 1, "trials": 1,
        "space": {"x": {"_type": "uniform", "_value": [0, 1]}}}}' "$url/api/v1/experiments"
    out_has "a control character cannot be in it"
    run "$TRAINYARD" tune list
    out_has "$id    DONE                        3  3 "
    out_has "(ann)"
    run "$TRAINYARD" tune list --json
    json 'd[0]["owner"] == "ann" and d[0]["trials"]["SUCCEEDED"] == 3'
    run "$TRAINYARD" tune get
    out_has "owner       ann"
    out_has "server      $url"
    run "$TRAINYARD" tune get "$(printf %.4s "$id")" --json
    json 'd["id"] == "'"$id"'" and d["best"]["value"] == 3 and d["status"] == "DONE"'
    run "$TRAINYARD" tune get --as /check-status
    json 'd == {"status": "DONE", "errors": []}'
    run "$TRAINYARD" tune best --json
    json 'd["value"] == 3 and d["parameters"] == {"x": 3}'
    run "$TRAINYARD" tune trials --json
    json '[t["value"] for t in d] == [3, 2, 1]'
    job=$(python3 -c 'import json; print(json.load(open(".out"))[0]["job"])')
    run "$TRAINYARD" tune view
    out_has "SUCCEEDED      3"
    run "$TRAINYARD" tune export --type csv
    out_has "x,reward,trialJobId"
    run "$TRAINYARD" tune logs
    out_has "trial 0 SUCCEEDED"
    run "$TRAINYARD" tune logs --trial 0
    out_has '"parameter_source": "algorithm", "parameters": {"x": 3}'
    is_no_root || [ "$(tail -n 1 .out)" != 0 ] || fail "a trial ran as root"
    run "$TRAINYARD" tune logs --trial 9
    status 1
    err_has "experiment $id has no trial '9'"
    run "$TRAINYARD" job get "$job" --json
    json 'd["owner"] == "ann" and d["spec"]["label"]["experiment"] == "'"$id"'"'
    run "$TRAINYARD" tune delete
    status 2
    run "$TRAINYARD" tune delete "$id"
    status 0
    [ -e "exps/$id" ] && fail "it is still there"
    run "$TRAINYARD" tune get "$id"
    status 1
    err_has "there is no experiment '$id' at $url"
    finish
}

nobody_else_sees_or_touches_it()
{
    start
    person ann --project ads
    person bob
    person eve --project ads
    as ann
    config 2 "'sleep 60'"
    create
    mine=$id
    create --project ads
    ours=$id
    as bob
    run "$TRAINYARD" tune list --json
    json 'd == []'
    for words in get trials best view export logs stop resume update "stop --trial AAAAA" delete; do
        # shellcheck disable=SC2086
        run "$TRAINYARD" tune $words "$mine"
        status 1
        err_has "there is no experiment '$mine'"
    done
    for tail in "" /settings /log /trials /trials/0/log /nni/experiment; do
        code=$(curl -s -o .out -w '%{http_code}' -H "Authorization: Bearer $TRAINYARD_TOKEN" \
            "$url/api/v1/experiments/$mine$tail")
        [ "$code" = 404 ] || fail "$tail: $code"
    done
    code=$(curl -s -o .out -w '%{http_code}' -H "Authorization: Bearer $TRAINYARD_TOKEN" "$url/api/v1/nni/experiment")
    [ "$code" = 404 ] || fail "the newest of somebody else: $(cat .out)"
    run "$TRAINYARD" tune create --config code/config.yml --project ads
    status 1
    err_has "you are not a member of 'ads'"
    as eve
    run "$TRAINYARD" tune list --json
    json '[e["id"] for e in d] == ["'"$ours"'"]'
    # what the space holds becomes part of commands that run in ann's name
    echo '{"x": {"_type": "choice", "_value": ["$(id)"]}}' >theirs.json
    run "$TRAINYARD" tune update "$ours" --space theirs.json
    status 1
    err_has "only 'ann' may change the search space of this experiment"
    run "$TRAINYARD" tune stop "$ours"
    status 0
    as ann
    run "$TRAINYARD" tune get "$ours" --json
    json 'd["status"] == "STOPPED" and not d["managed"]'
    run "$TRAINYARD" tune delete "$mine"
    status 1
    err_has "is running; stop it first"
    run "$TRAINYARD" tune stop --all
    status 0
    for _ in $(seq 40); do
        run "$TRAINYARD" tune get "$mine" --json
        grep -q '"managed": false' .out && break
        sleep 0.5
    done
    json 'd["status"] == "STOPPED"'
    finish
}

trials_obey_quotas_and_the_rights_of_their_owner()
{
    start
    person ann
    admin quota set --user ann --running 1 >/dev/null
    as ann
    config 40 "'sleep 2; echo ::trainyard default={{x}}'" "maxTrialDuration: 1h"
    sed -i 's/_value: .*/_value: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}}/; s/trialConcurrency: 2/trialConcurrency: 4/' code/config.yml
    create
    for _ in $(seq 60); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"WAITING": [23], "RUNNING": 1' .out && break
        sleep 0.5
    done
    json 'd["trials"]["RUNNING"] <= 1 and d["trials"]["WAITING"] >= 2'
    run "$TRAINYARD" tune update "$id" --trials 45
    status 0
    run "$TRAINYARD" tune update "$id" --concurrency 3
    status 0
    for _ in $(seq 20); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"concurrency": 3' .out && break
        sleep 0.5
    done
    json 'd["concurrency"] == 3 and d["max_trials"] == 45'
    echo '{"x": {"_type": "choice", "_value": []}}' >bad.json
    run "$TRAINYARD" tune update "$id" --space bad.json
    status 2
    echo '{"x": {"_type": "choice", "_value": [7, 8]}}' >space.json
    run "$TRAINYARD" tune update "$id" --space space.json
    status 0
    # Trials that wait when their owner is disabled are held as other jobs are; without them the next one is refused.
    run "$TRAINYARD" tune update "$id" --concurrency 1
    status 0
    for _ in $(seq 60); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"WAITING": 0, "RUNNING": 1' .out && break
        sleep 0.2
    done
    admin user update ann --disable
    export TRAINYARD_TOKEN
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    for _ in $(seq 60); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"ERROR"' .out && break
        sleep 0.5
    done
    json 'd["status"] == "ERROR" and d["error"] == "'"'ann' is disabled"'"'
    finish
}

an_experiment_whose_trials_are_held_says_so()
{
    start
    person ann --role submitter
    as ann
    config 3 "'sleep 1; echo ::trainyard default={{x}}'"
    admin quota set --user ann --running 0 >/dev/null
    create
    for _ in $(seq 60); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"WAITING": 2' .out && break
        sleep 0.2
    done
    json '"held" not in d'
    for how in --disable "--role viewer"; do
        # shellcheck disable=SC2086
        admin user update ann $how
        export TRAINYARD_TOKEN
        TRAINYARD_TOKEN=$(cat yard/admin.token)
        run "$TRAINYARD" tune get "$id"
        out_has "status      RUNNING"
        out_has "held        no trial starts: 'ann' "
        run "$TRAINYARD" tune list
        out_has "(ann), held: 'ann' "
        run "$TRAINYARD" tune get "$id" --json
        json 'd["status"] == "RUNNING" and d["held"].startswith("'"'ann' "'")'
        admin user update ann --enable
    done
    admin user update ann --role submitter
    admin quota set --user ann --running 2 >/dev/null
    as ann
    for _ in $(seq 60); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"DONE"' .out && break
        sleep 0.5
    done
    json 'd["status"] == "DONE" and "held" not in d'
    finish
}

paths_of_a_served_experiment_are_the_servers()
{
    start
    person ann --role submitter
    as ann
    config 1 "'echo ::trainyard default={{x}}'"
    create --wait
    run "$TRAINYARD" tune trials "$id" --nni
    json 'd[0]["logPath"].startswith("'"$PWD"'/exps/'"$id"'/trials/")'
    run "$TRAINYARD" tune export "$id" --trial 0
    json 'd["source"].startswith("snapshot:") and "directory" not in d'
    TMPDIR=/no/such/directory run "$TRAINYARD" tune trials "$id"
    status 0
    TMPDIR=/no/such/directory run "$TRAINYARD" tune get "$id"
    status 0
    out_has DONE
    for how in 0 "$("$TRAINYARD" tune trials "$id" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')"; do
        run "$TRAINYARD" tune stop "$id" --trial "$how"
        status 1
        err_has "error[E4021]"
        err_has "trial 0 ("
        err_has "has ended: SUCCEEDED"
    done
    run "$TRAINYARD" tune stop "$id" --trial 7
    err_has "error[E4008]"
    finish
}

a_server_that_starts_again_goes_on()
{
    start
    person ann
    as ann
    config 3 "'sleep 3; echo ::trainyard default={{x}}'"
    "$TRAINYARD" tune create --config code/config.yml --wait >waited 2>waited.err &
    waits=$!
    for _ in $(seq 100); do
        id=$(head -n 1 waited)
        grep -q '"e": "running"' "exps/${id:-none}/log.jsonl" 2>/dev/null && break
        sleep 0.1
    done
    kill -9 "$server"
    wait "$server" 2>/dev/null
    sleep 1.5 # who waits has asked meanwhile
    start "${url#http://}"
    wait "$waits" || fail "who waited stopped: $(tail -n 2 waited.err)"
    grep -q 'waiting up to a minute' waited.err || fail "nobody was told that the server is away"
    run "$TRAINYARD" tune get "$id" --json
    json 'd["status"] == "DONE" and d["trials"]["SUCCEEDED"] == 3 and d["best"]["value"] == 3'
    run "$TRAINYARD" tune update "$id" --trials 5
    err_has "nothing runs the experiment now"
    run "$TRAINYARD" tune resume "$id" --wait
    status 0
    finish
}

# Its jobs are deleted and nothing runs; it can still be continued, and needs its code for that.
code_of_an_idle_experiment_is_not_collected()
{
    start
    person ann
    as ann
    config 3 "'sh trial.sh {{x}}'"
    echo 'sleep 5; echo "::trainyard default=$1"' >code/trial.sh
    create
    for _ in $(seq 100); do
        grep -q '"e": "running"' "exps/$id/log.jsonl" 2>/dev/null && break
        sleep 0.1
    done
    "$TRAINYARD" tune stop "$id" >/dev/null || fail "stop"
    for _ in $(seq 100); do
        run "$TRAINYARD" tune get "$id" --json
        grep -q '"STOPPED"' .out && break
        sleep 0.2
    done
    local job
    for job in $("$TRAINYARD" job list --json | python3 -c 'import json, sys; [print(j["id"]) for j in json.load(sys.stdin)]'); do
        "$TRAINYARD" job wait "$job" >/dev/null 2>&1
        "$TRAINYARD" job delete "$job" >/dev/null || fail "delete $job"
    done
    rm -rf code/trial.sh
    admin gc --older-than 0s >/dev/null || fail "gc"
    run "$TRAINYARD" tune resume "$id" --wait
    status 0
    run "$TRAINYARD" tune get "$id" --json
    json 'd["status"] == "DONE" and d["trials"]["SUCCEEDED"] >= 1'
    # A deleted one holds nothing.
    for job in $("$TRAINYARD" job list --json | python3 -c 'import json, sys; [print(j["id"]) for j in json.load(sys.stdin)]'); do
        "$TRAINYARD" job delete "$job" >/dev/null || fail "delete $job"
    done
    "$TRAINYARD" tune delete "$id" >/dev/null || fail "tune delete"
    run admin gc --older-than 0s --json
    json 'd["objects"] > 0'
    finish
}

what_cannot_run_leaves_nothing_behind()
{
    start
    person ann
    as ann
    post()
    {
        code=$(curl -s -o .out -w '%{http_code}' -X POST -H "Authorization: Bearer $TRAINYARD_TOKEN" \
            -H 'Content-Type: application/json' -d "$1" "$url/api/v1/experiments")
    }
    settings='"id":"x","command":"true","code_dir":"","concurrency":1,"space":{"x":{"_type":"choice","_value":[1]}}'
    post "{\"settings\":{$settings,\"tuner\":\"Random\",\"tuner_class\":\"a.B\"}}"
    [ "$code" = 422 ] && grep -q 'custom tuners' .out || fail "a Python class: $code $(cat .out)"
    post "{\"settings\":{$settings,\"tuner\":\"PPO\"}}"
    [ "$code" = 422 ] || fail "PPO: $code $(cat .out)"
    post "{\"settings\":{$settings}}"
    [ "$code" = 422 ] || fail "no tuner: $code $(cat .out)"
    for job in '"source":["/etc"]' '"inherit":["true"]' '"workdir":["/"]' '"secret":["S=file:/etc/passwd"]' \
        '"input":["a=/etc"]' '"project":["ads"]' '"cpu":["4000"]' '"image":["--volume=/:/host"]' '"nonsense":["1"]' '"cpu":"1"'; do
        post "{\"settings\":{$settings,\"tuner\":\"Random\",\"job\":{$job}}}"
        case $code in 4??) ;; *) fail "$job: $code $(cat .out)" ;; esac
    done
    [ -z "$(ls exps 2>/dev/null)" ] || fail "something is left: $(ls exps)"
    mkdir -p code
    printf 'class T: pass\n' >code/own.py
    config 1 true
    sed -i 's/^tuner:.*/tuner: {className: own.T, codeDirectory: .}/' code/config.yml
    run "$TRAINYARD" tune create --config code/config.yml
    status 1
    err_has "a server does not run custom tuners"
    run "$TRAINYARD" tune create --config code/config.yml --server local --dir here --jobs-dir jobs
    [ -d here ] || fail "--server local and --dir: $(cat .err)"
    "$TRAINYARD" tune stop --dir here --jobs-dir jobs >/dev/null 2>&1
    finish
}

tap_cases \
    a_client_runs_an_experiment_at_the_server \
    nobody_else_sees_or_touches_it \
    trials_obey_quotas_and_the_rights_of_their_owner \
    an_experiment_whose_trials_are_held_says_so paths_of_a_served_experiment_are_the_servers \
    a_server_that_starts_again_goes_on \
    code_of_an_idle_experiment_is_not_collected \
    what_cannot_run_leaves_nothing_behind
