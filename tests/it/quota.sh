#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Quotas from the command line: a job waits for one, and says so; use is added up.
. "$(dirname "$0")/lib.sh"

yard()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE
}

state_of() { "$TRAINYARD" job get --json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])'; }

until_state() # id state
{
    for _ in $(seq 100); do
        [ "$(state_of "$1")" = "$2" ] && return
        sleep 0.1
    done
    fail "$1 is $(state_of "$1"), not $2"
}

a_quota_holds_a_job_and_says_so()
{
    yard
    local first second third
    run "$TRAINYARD" quota set --project ads --running 1 --json
    status 0
    json 'd == {"project": "ads", "cpu_milli": None, "memory": None, "gpu": None, "running": 1, "weight": 100}'
    first=$("$TRAINYARD" job submit --project ads -- sleep 60)
    until_state "$first" Running
    second=$("$TRAINYARD" job submit --project ads -- true)
    third=$("$TRAINYARD" job submit -- true)
    until_state "$third" Succeeded # others are not held up
    run "$TRAINYARD" job why "$second"
    out_has "$second waits: the quota of project 'ads' is 1 running job; 1 running job counts against it, and this job asks for 1 running job; it starts when a job of that project ends, or when the quota is raised"
    check "it waits" [ "$(state_of "$second")" = Queuing ]
    run "$TRAINYARD" quota set --project ads --running 2
    until_state "$second" Succeeded
    "$TRAINYARD" job stop "$first" >/dev/null
    until_state "$first" Stopped
    run "$TRAINYARD" usage --by project --json
    json '[u["project"] for u in d] == ["ads", ""] and d[0]["jobs"] == 2 and d[0]["running"] == 0'
    run "$TRAINYARD" usage
    out_has "cpu hours"
    run "$TRAINYARD" quota delete --project ads
    status 0
    run "$TRAINYARD" quota list
    out_empty
}

every_user_has_the_common_quota()
{
    yard
    local me first second
    me=$(id -un)
    run "$TRAINYARD" quota set --user '*' --cpu 1.5
    status 0
    out_has "user      *"
    first=$("$TRAINYARD" job submit -- sleep 60)
    until_state "$first" Running
    second=$("$TRAINYARD" job submit -- true)
    run "$TRAINYARD" job why "$second"
    out_has "the quota of user '$me' is 1.5 processors; 1 processor counts against it"
    run "$TRAINYARD" quota set --user "$me" --cpu none
    until_state "$second" Succeeded
    "$TRAINYARD" job stop --force "$first" >/dev/null
    until_state "$first" Stopped
}

wrong_input_is_named()
{
    yard
    run "$TRAINYARD" quota set --gpu 1
    status 2
    err_has "error[E5201]: use --project P or --user U"
    run "$TRAINYARD" quota set --project 'a b' --gpu 1
    status 2
    err_has "error[E5201]: project 'a b'"
    run "$TRAINYARD" quota set --project a --gpu many
    status 2
    err_has "error[E5201]: gpu: 'many' is not a limit: give a number from 0 on, or none for no limit"
    run "$TRAINYARD" quota set --project a --memory -1
    status 2
    run "$TRAINYARD" quota delete --user nobody
    status 1
    err_has "error[E5202]: user 'nobody' has no quota"
}

tap_cases a_quota_holds_a_job_and_says_so every_user_has_the_common_quota wrong_input_is_named
