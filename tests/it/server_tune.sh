#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Experiments over HTTP: what is shown, NNI's own paths, who may stop one, and bad names.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN

start()
{
    export HOME=$PWD/home TRAINYARD_SLOTS=cpu=8,memory=64g
    mkdir -p home
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments exps --no-queue 2>server.log &
    server=$!
    wait_for_server
    token=$(cat yard/admin.token)
}

# ask METHOD PATH [BODY]: the answer is in .out, its status in $code.
ask()
{
    code=$(curl -s -o .out -w '%{http_code}' -X "$1" -H "Authorization: Bearer $token" \
        ${3:+-H 'Content-Type: application/json' -d "$3"} "$url/api/v1$2")
}

answers() # STATUS
{
    [ "$code" = "$1" ] || fail "status $code, want $1: $(cat .out)"
}

is() # EXPRESSION over d, of .out
{
    python3 -c 'import json,sys; d=json.load(open(".out")); sys.exit(not eval(sys.argv[1]))' "$1" ||
        fail "not so: $1: $(cat .out)"
}

person() # NAME ROLE: $token speaks for them
{
    token=$(cat yard/admin.token)
    ask POST /users "{\"name\":\"$1\",\"role\":\"$2\"}"
    answers 201
    ask POST "/users/$1/tokens" '{}'
    answers 201
    token=$(python3 -c 'import json; print(json.load(open(".out"))["token"])')
}

# experiment FOLDER TRIALS COMMAND [FLAG...]
experiment()
{
    cat >config.yml <<YML
experimentName: shell
trialCommand: $3
trialConcurrency: 2
maxTrialNumber: $2
searchSpace: {x: {_type: choice, _value: [3, 1, 2]}}
tuner: {name: GridSearch}
trainingService: {platform: local}
YML
    "$TRAINYARD" tune create --config config.yml --dir "exps/$1" --jobs-dir jobs "${@:4}" >.id 2>create.log ||
        fail "tune create: $(cat create.log)"
    id=$(cat .id)
}

finished_experiments_are_shown()
{
    start
    ask GET /experiments
    answers 200
    is 'd == {"experiments": [], "total": 0}'
    ask GET /nni/check-status
    answers 404
    is 'd["code"] == "E4008" and d["message"] == "there is no experiment yet"'
    experiment first 3 "'echo ::trainyard default={{x}}'" --wait
    ask GET /experiments
    answers 200
    is 'd["total"] == 1 and d["experiments"][0]["id"] == "'"$id"'" and "next" not in d'
    for name in first "$id"; do
        ask GET "/experiments/$name"
        answers 200
        is 'd["id"] == "'"$id"'" and d["dir"] == "'"$PWD/exps/first"'" and d["status"] == "DONE" and d["trials"]["SUCCEEDED"] == 3 and not d["managed"]'
    done
    ask GET "/experiments/$id/best"
    is 'd["value"] == 3 and d["parameters"] == {"x": 3}'
    ask GET "/experiments/$id/trials"
    answers 200
    is 'd["total"] == 3 and [t["trial"] for t in d["trials"]] == [0, 1, 2]'
    ask GET "/experiments/$id/trials?order=best&limit=2"
    is '[t["value"] for t in d["trials"]] == [3, 2] and d["next"] == 2 and d["total"] == 3'
    ask GET "/experiments/$id/trials?order=best&limit=2&offset=2"
    is '[t["value"] for t in d["trials"]] == [1] and "next" not in d'
    ask GET "/experiments/$id/trials?status=FAILED&offset=5"
    is 'd == {"trials": [], "total": 0}'
    ask GET "/experiments/$id/trials?status=LOST"
    answers 400
    is 'd["code"] == "E5006"'
    ask GET "/experiments/$id/trials/1"
    answers 200
    trial=$(python3 -c 'import json; print(json.load(open(".out"))["id"])')
    cp .out byid
    ask GET "/experiments/$id/trials/$trial"
    cmp -s .out byid || fail "a trial by id is another than by number"
    ask POST "/experiments/$id/update"
    answers 202
    [ -e exps/first/requests/limits ] && fail "nothing was asked, and yet it is written"
    ask POST "/experiments/$id/update" '{"concurrency":5}'
    ask POST "/experiments/$id/update" '{"max_trials":0}'
    answers 202
    is 'd == {"experiment": "'"$id"'", "managed": False}'
    cp exps/first/requests/limits .out # neither is lost before somebody reads them
    is 'd == {"concurrency": 5, "trials": 0, "seconds": -1, "trial_seconds": -1}'
    mkdir -p exps/broken exps/other
    echo '{' >exps/broken/experiment.json
    echo 'no JSON' >>exps/first/log.jsonl
    ask GET "/experiments/$id"
    answers 500
    is 'd["code"] == "E4005"'
    ask GET /experiments
    answers 200
    is 'd["experiments"] == []'
    finish
}

clients_of_nni_find_their_paths()
{
    start
    experiment one 3 "'echo ::trainyard default={{x}}'" --wait
    for base in /nni "/experiments/$id/nni"; do
        ask GET "$base/check-status"
        answers 200
        is 'd == {"status": "DONE", "errors": []}'
        ask GET "$base/experiment"
        is 'd["id"] == "'"$id"'" and d["params"]["maxTrialNumber"] == 3'
        ask GET "$base/experiment/imported-data"
        is 'd == []'
        ask GET "$base/experiments-info"
        is '[e["id"] for e in d] == ["'"$id"'"]'
        ask GET "$base/job-statistics"
        is 'd == [{"trialJobStatus": "SUCCEEDED", "trialJobNumber": 3}]'
        ask GET "$base/trial-jobs?status=RUNNING"
        is 'd == []'
        ask GET "$base/trial-jobs"
        is 'len(d) == 3 and json.loads(d[0]["hyperParameters"][0])["parameters"]["x"] in (1, 2, 3)'
        trial=$(python3 -c 'import json; print(json.load(open(".out"))[1]["trialJobId"])')
        ask GET "$base/trial-jobs/$trial"
        is 'd["trialJobId"] == "'"$trial"'"'
        ask GET "$base/metric-data/$trial?type=FINAL"
        is 'len(d) == 1 and d[0]["type"] == "FINAL"'
        ask GET "$base/metric-data?type=PERIODICAL"
        is '[m["type"] for m in d] == ["PERIODICAL"] * 3'
        ask GET "$base/metric-data-range/1/2?type=FINAL"
        is '[m["parameterId"] for m in d] == ["1", "2"]'
        ask GET "$base/metric-data-latest"
        is 'len(d) == 6'
        ask GET "$base/export-data"
        is 'len(d) == 3'
        ask GET "$base/trial-jobs/ZZZZZ"
        answers 404
        is 'd["code"] == "E4008"'
        ask GET "$base/logs"
        answers 404
        is 'd["code"] == "E5007"'
        ask POST "$base/trial-jobs" '{}'
        answers 405
    done
    finish
}

a_running_one_is_changed_and_stopped()
{
    start
    experiment long 3 "'sleep 60'"
    ask POST "/experiments/$id/update" '{"concurrency":0}'
    answers 400
    is 'd["code"] == "E5006"'
    person vi viewer
    for verb in stop update; do
        ask POST "/experiments/$id/$verb"
        answers 403
        is 'd["code"] == "E5010"'
    done
    ask GET "/experiments/$id"
    answers 200
    person su submitter
    for verb in stop update; do # it was made on the server's machine: not theirs
        ask POST "/experiments/$id/$verb"
        answers 403
        is 'd["code"] == "E5010"'
    done
    person boss admin
    for _ in $(seq 100); do
        ask GET "/experiments/$id"
        python3 -c 'import json,sys; d=json.load(open(".out")); sys.exit(not (d["managed"] and d["trials"]["RUNNING"]))' && break
        sleep 0.1
    done
    is 'd["status"] == "RUNNING" and d["trials"]["RUNNING"] > 0'
    ask GET "/experiments/$id/best"
    answers 404
    is 'd["message"] == "no trial of experiment '"$id"' has a result yet"'
    ask POST "/experiments/$id/update" '{"max_trials":2,"max_seconds":900}'
    answers 202
    is 'd == {"experiment": "'"$id"'", "managed": True}'
    for _ in $(seq 100); do
        ask GET "/experiments/$id"
        grep -q '"max_trials": 2,' .out && break
        sleep 0.1
    done
    is 'd["max_trials"] == 2 and d["max_seconds"] == 900 and d["concurrency"] == 2'
    ask POST "/experiments/$id/stop"
    answers 202
    for _ in $(seq 150); do
        ask GET "/experiments/$id"
        grep -q '"managed": false' .out && break
        sleep 0.1
    done
    is 'd["status"] == "STOPPED" and d["trials"]["RUNNING"] == 0'
    ask POST "/experiments/$id/stop"
    answers 409
    is 'd["code"] == "E4014"'
    [ -e exps/long/requests/stop ] && fail "a request was left for the next manager"
    token=$(cat yard/admin.token)
    ask GET '/audit?who=boss'
    is '[e["action"] for e in d["entries"]][:2] == ["stop_experiment", "stop_experiment"]'
    finish
}

names_lead_nowhere_else()
{
    start
    mkdir -p secret
    experiment ../secret/one 1 "'echo ::trainyard default=1'" --wait
    for name in missing00 .. . %2e%2e ..%2fsecret%2fone %2fetc _latest .hidden a%00b; do
        for tail in "" /trials /best /nni/check-status; do
            code=$(curl -s --path-as-is -o .out -w '%{http_code}' -H "Authorization: Bearer $token" \
                "$url/api/v1/experiments/$name$tail")
            case $code in 404 | 400) ;; *) fail "$name$tail: status $code: $(cat .out)" ;; esac
        done
    done
    for verb in stop update; do
        ask POST "/experiments/missing00/$verb"
        answers 404
        is 'd["code"] == "E4008" and d["message"] == "there is no experiment '"'missing00'"'"'
    done
    ask GET "/experiments/$id/trials/toolong88"
    answers 404
    token=
    ask GET /experiments
    answers 401
    finish
}

tap_cases \
    finished_experiments_are_shown \
    clients_of_nni_find_their_paths \
    a_running_one_is_changed_and_stopped \
    names_lead_nowhere_else
