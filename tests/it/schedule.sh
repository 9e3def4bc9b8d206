#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Schedules from the command line: dates in jobs, history, runs by hand, wrong input.
# shellcheck disable=SC2154 # $got is set by run, $url by wait_for_server
. "$(dirname "$0")/lib.sh"

yard()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE
}

a_run_gets_its_dates()
{
    yard
    mkdir -p data/20240229
    echo rows >data/20240229/part
    # shellcheck disable=SC2016
    run "$TRAINYARD" schedule create nightly --cron '30 2 * * *' --zone Asia/Shanghai \
        -P 'week=${yyyymmdd-7}' --hp 'dt=${yyyy-mm-dd}' --input 'train=data/${bizdate}' \
        --project ads -- 'echo ${week} $PAI_HPS_DT $[yyyymmddhh24mi]; cat $PAI_INPUT_TRAIN/part'
    status 0
    out_has "nightly: next run "
    out_has " 02:30 +08:00"
    run "$TRAINYARD" schedule run nightly --at 2024-03-01T02:30:00+08:00 --wait
    status 0
    local id
    id=$(cat .out)
    run "$TRAINYARD" job logs "$id"
    out_is <<'END'
20240222 2024-02-29 202403010230
rows
END
    run "$TRAINYARD" job get --json "$id"
    json 'd["name"] == "nightly" and d["spec"]["label"]["schedule"] == "nightly"'
    json 'd["spec"]["project"] == "ads"'
    # The same planned time is the same job.
    run "$TRAINYARD" schedule run nightly --at 2024-02-29T18:30:00Z
    status 0
    out_is <<<"$id"
    err_has "this run was already submitted: job $id"
    run "$TRAINYARD" schedule get nightly --json
    json 'd["runs"] == [{"outcome": "submitted", "planned": "2024-02-29T18:30:00.000Z", "fired": d["runs"][0]["fired"], "job": "'"$id"'"}]'
    json 'd["catch_up"] == "last" and d["overlap"] == "skip" and d["paused"] is False'
    # A day without data fails, and the history says why.
    run "$TRAINYARD" schedule run nightly --at 2024-03-02T02:30:00+08:00
    status 2
    err_has "data/20240301': No such file or directory"
    run "$TRAINYARD" schedule get nightly
    out_has "failed"
    out_has "data/20240301': No such file or directory"
}

due_runs_are_submitted_once()
{
    yard
    run "$TRAINYARD" schedule create minutely --cron '* * * * *' --zone UTC --overlap allow -- true
    status 0
    # As if nothing had looked at it for an hour.
    python3 - <<'PY'
import sqlite3, time
db = sqlite3.connect('jobs/jobs.db')
db.execute("UPDATE schedules SET next = ?", ((int(time.time()) // 60 - 60) * 60 * 10**9,))
db.commit()
PY
    "$TRAINYARD" schedule due >a.out 2>&1 &
    "$TRAINYARD" schedule due >b.out 2>&1 &
    "$TRAINYARD" schedule due >c.out 2>&1 &
    wait
    run "$TRAINYARD" job list --json
    json 'len(d) in (1, 2)' # 2: a minute began meanwhile
    run "$TRAINYARD" schedule get minutely --json
    json '[r["outcome"] for r in d["runs"]][-2:] == ["submitted", "missed"]'
    json 'len(set(r.get("job") for r in d["runs"])) == len(d["runs"])'
    run "$TRAINYARD" schedule pause minutely
    status 0
    run "$TRAINYARD" schedule list
    out_has "paused"
    run "$TRAINYARD" schedule resume minutely
    run "$TRAINYARD" schedule delete minutely
    status 0
    run "$TRAINYARD" schedule list --json
    json 'd == []'
}

wrong_input_is_named()
{
    yard
    run "$TRAINYARD" schedule create n --cron '0 25 * * *' -- true
    status 2
    err_is <<'END'
trainyard schedule create: error[E5101]: cron line '0 25 * * *': hour: '25' is not a number from 0 to 23, a range or a list
END
    run "$TRAINYARD" schedule create n -- true
    status 2
    err_has "error[E5101]: --cron says when"
    run "$TRAINYARD" schedule create n --cron @daily --zone Mars/Base -- true
    status 2
    err_has "error[E5102]: no time zone 'Mars/Base' on this machine"
    run "$TRAINYARD" schedule create n --cron @daily --catch-up often -- true
    status 2
    err_has "error[E5105]: catch-up: 'often' is not none, last, all or all:N"
    run "$TRAINYARD" schedule create n --cron @daily -P 1=2 -- true
    status 2
    err_has "error[E5105]: --param: '1=2' is not NAME=VALUE"
    run "$TRAINYARD" schedule create n --cron @daily
    status 2
    err_has "E3001"
    run "$TRAINYARD" schedule create 'a/b' --cron @daily -- true
    status 2
    err_has "error[E5105]: name 'a/b'"
    run "$TRAINYARD" schedule get nobody
    status 1
    err_has "error[E5103]: no schedule 'nobody'"
    run "$TRAINYARD" schedule run nobody --at yesterday
    status 2
    err_has "error[E5105]: --at: 'yesterday' is not a time"
    run "$TRAINYARD" schedule create n --cron @daily -- true
    run "$TRAINYARD" schedule create n --cron @daily -- true
    status 2
    err_has "error[E5104]: there is a schedule 'n' already"
}

# All that a run needs went to the server when the schedule was created; nothing of it is read here again.
at_a_server_a_schedule_carries_code_inputs_and_secrets()
{
    unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_TOKEN TRAINYARD_SERVER
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none 2>server.log &
    server=$!
    wait_for_server
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
    mkdir src rows
    echo 'cat $PAI_INPUT_TRAIN/part $PAI_INPUT_ONE; [ "$KEY" = "hushhushhush" ] && [ "$PIN" = "number-4711" ] && echo "secrets of $1"' >src/main.sh
    echo rows >rows/part
    echo one >one.txt
    echo number-4711 >pin
    # shellcheck disable=SC2016
    run env KEY=hushhushhush "$TRAINYARD" schedule create nightly --cron '30 2 * * *' --source src --input train=rows \
        --input one=one.txt --secret KEY --secret PIN=file:pin -- sh main.sh '${bizdate}'
    status 0
    out_has "nightly: next run "
    rm -rf src rows one.txt pin
    run "$TRAINYARD" schedule get --json nightly
    json 'd["job"]["secret"] == ["KEY", "PIN"] and d["job"]["source"].startswith("snapshot:") and "secret_values" not in d["job"]'
    out_lacks hushhushhush
    grep -rlF hushhushhush yard --include 'jobs.db*' && fail "a secret is in the store"
    is_mode "$(echo yard/schedules/*)" 600
    local id day
    for day in 01 02; do
        run "$TRAINYARD" gc --older-than 0s
        status 0
        run "$TRAINYARD" schedule run nightly --at 2024-03-${day}T02:30:00Z --wait
        status 0
        id=$(cat .out)
        run "$TRAINYARD" job logs "$id"
        out_has rows
        out_has one
        [ $day = 02 ] || out_has "secrets of 20240229"
        "$TRAINYARD" job delete "$id" >/dev/null
    done
    # A restart changes nothing.
    kill "$server"
    wait "$server" 2>/dev/null
    "$TRAINYARD" server --listen "${url#http://}" --dir yard --experiments none 2>server.log &
    server=$!
    wait_for_server
    run "$TRAINYARD" schedule run nightly --at 2024-03-04T02:30:00Z --wait
    status 0
    "$TRAINYARD" job delete "$(cat .out)" >/dev/null
    # What nobody refers to any more goes, the secrets at once.
    "$TRAINYARD" schedule delete nightly >/dev/null
    [ -z "$(ls yard/schedules)" ] || fail "the secrets are left"
    run "$TRAINYARD" gc --older-than 0s --json
    json 'd["objects"] > 0'
    # What cannot be sent is said at once.
    # shellcheck disable=SC2016
    run "$TRAINYARD" schedule create n --cron @daily --input 'train=rows/${bizdate}' -- true
    status 2
    err_has "error[E3005]: input 'train': 'rows/\${bizdate}' depends on the date"
    run "$TRAINYARD" schedule create n --cron @daily --source nowhere -- true
    status 1
    err_has "nowhere"
    run env -u NONE "$TRAINYARD" schedule create n --cron @daily --secret NONE -- true
    status 1
    err_has "error[E3008]: secret 'NONE'"
    run "$TRAINYARD" schedule create n --cron @daily --input "x=snapshot:$(printf '%064d' 1)" -- true
    [ "$got" != 0 ] || fail "an upload that is not there was taken"
    err_has "error[E3004]"
    # What a submission would be refused for.
    run "$TRAINYARD" schedule create n --cron @daily --input train=dataset:nope -- true
    [ "$got" != 0 ] || fail "a dataset that is not there was taken"
    err_has "error[E3107]"
    err_has "input 'train': "
    # shellcheck disable=SC2016
    run "$TRAINYARD" schedule create n --cron @daily --data 'rod-${bizdate}:/mnt/x' -- true
    err_has "error[E3107]"
    run "$TRAINYARD" schedule create n --cron @daily --cpu 50 -- true
    [ "$got" != 0 ] || fail "a job that never fits was taken"
    err_has "error[E3204]"
    run env KEY=abc "$TRAINYARD" schedule create n --cron @daily --secret KEY -- true
    status 2
    err_has "error[E3019]"
    [ -z "$(ls yard/schedules)" ] || fail "secrets of a schedule that was refused are left"
    finish
}

is_mode() # FILE MODE
{
    [ "$(stat -c %a "$1")" = "$2" ] || fail "$1 has mode $(stat -c %a "$1"), want $2"
}

tap_cases a_run_gets_its_dates due_runs_are_submitted_once wrong_input_is_named \
    at_a_server_a_schedule_carries_code_inputs_and_secrets
