# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# contract_lib.sh - what every backend promises (src/backend/backend.h), as cases that run
# on any of them. A script of a backend sets or defines, then calls contract:
#
#     flags=(--backend local)     for `job submit`
#     signals=yes                 a worker's own signal is told as one
#     ready                       makes what is needed, or skips
#     keeper ID                   prints the process whose death is the worker's
#     kept=NodeFailure            how that is told; this is the default
#     left ID                     prints what there still is of a job that has ended
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/jobs_lib.sh"

begin()
{
    place
    ready
}

submit() { "$TRAINYARD" job submit "${flags[@]}" "$@"; }

ended() # ID STATE REASON: waits, then nothing of it may be left
{
    run "$TRAINYARD" job wait --timeout 100s "$1"
    is "end of $1" "$("$TRAINYARD" job get --json "$1" |
        python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["state"], d["reason"])')" "$2 $3"
    local rest=
    for _ in $(seq 50); do
        rest=$(left "$1"; marked "$1")
        [ -z "$rest" ] && return
        sleep 0.1
    done
    fail "left of $1: $rest"
}

# Processes that carry the job in their environment.
marked()
{
    grep -lsz "^TRAINYARD_JOB_ID=$1\$" /proc/[0-9]*/environ 2>/dev/null
}

log_of() { "$TRAINYARD" job logs "$@"; }

log_has() # ID TEXT: waits for it
{
    for _ in $(seq 300); do
        log_of "$1" 2>/dev/null | grep -qF -e "$2" && return
        sleep 0.05
    done
    fail "the log of $1 does not hold '$2'"
}

supervisor_of() { pgrep -x "$1" || pgrep -f -- "--job $1"; }

kill_supervisor()
{
    local pid
    for pid in $(supervisor_of "$1"); do kill -9 "$pid"; done
}

exit_of() { field "$1" '(d["status"]["exit"]["code"], d["status"]["exit"]["signal"])'; }

a_job_runs_and_its_log_is_whole()
{
    begin
    local id
    id=$(submit -- 'i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done')
    ended "$id" Succeeded ""
    log_of "$id" >got.txt
    seq -f 'line %.0f' 0 19999 | cmp - got.txt || fail "the log differs"
}

both_streams_are_in_the_log_and_secrets_are_not()
{
    begin
    local id
    id=$(TOKEN=tops3cret submit --secret TOKEN -- 'echo "out $TOKEN"; echo "err $TOKEN" >&2')
    ended "$id" Succeeded ""
    is "log" "$(log_of "$id" | sort | tr '\n' ' ')" "err *** out *** "
}

workers_meet_at_the_masters_address()
{
    begin
    mkdir src
    cp "$TY_BUILD/tests/it/meet" src/
    local id
    id=$(submit --source src --workers 3 -- './meet')
    ended "$id" Succeeded ""
    is "rank 0" "$(log_of --worker 0 "$id" | sort | tr '\n' ' ')" "met rank 1 met rank 2 "
    is "rank 2" "$(log_of --worker 2 "$id")" "met rank 0"
}

a_log_is_followed_while_it_grows()
{
    begin
    local id
    id=$(submit -- 'echo first; while [ ! -e go ]; do sleep 0.05; done; echo second')
    "$TRAINYARD" job logs --follow "$id" >followed.txt &
    for _ in $(seq 300); do grep -q first followed.txt && break; sleep 0.05; done
    is "so far" "$(cat followed.txt)" first
    state_is "$id" Running
    touch "$(work_of "$id")/go"
    wait
    is "all" "$(tr '\n' ' ' <followed.txt)" "first second "
    ended "$id" Succeeded ""
}

# Where `--source`-less jobs of this backend stand in the file system of the test.
work_of()
{
    case ${flags[*]} in *--image*) echo "$TRAINYARD_DIR/jobs/$1/ml/usercode" ;; *) pwd ;; esac
}

ends_are_told_as_they_were()
{
    begin
    local id
    id=$(submit -- 'exit 3')
    ended "$id" Failed UserExit
    is "exit" "$(exit_of "$id")" "(3, 0)"
    id=$(submit -- '/bin/sh -c "kill -TERM \$\$"; exit $?')
    ended "$id" Failed UserExit
    is "exit" "$(exit_of "$id")" "(143, 0)"
    if [ "$signals" = yes ]; then # the first process of a container cannot end so
        id=$(submit -- 'kill -9 $$')
        ended "$id" Failed Signal
        is "exit" "$(exit_of "$id")" "(-1, 9)"
    fi
    id=$(submit -- /no/such/program)
    ended "$id" Failed LaunchFailure
    id=$(submit --workers 2 -- 'if [ "$RANK" = 1 ]; then exit 4; else sleep 100; fi')
    ended "$id" Failed UserExit
    is "exit" "$(exit_of "$id")" "(4, 0)"
}

a_stop_gives_time_and_is_never_a_success()
{
    begin
    local id
    id=$(submit -- 'trap "echo saved; exit 0" TERM; echo up; while :; do sleep 0.05; done')
    log_has "$id" up
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
    log_has "$id" saved
    id=$(submit --grace 300ms -- 'trap "" TERM; echo up; while :; do sleep 0.05; done')
    log_has "$id" up
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
    id=$(submit -- 'echo up; sleep 100')
    log_has "$id" up
    run "$TRAINYARD" job stop --force "$id"
    ended "$id" Stopped UserStopped
}

the_grace_time_is_that_of_all_processes_of_a_worker()
{
    begin
    local id text child='trap "echo told; sleep 0.4; echo saved; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    for text in "sh -c '$child'; echo never" "sh -c '$child' & wait"; do
        id=$(submit --grace 20s -- "$text")
        log_has "$id" up
        run "$TRAINYARD" job stop "$id"
        ended "$id" Stopped UserStopped
        is "$text" "$(log_of "$id" | grep -vx Terminated | tr '\n' ' ')" "up told saved "
    done
}

a_time_limit_is_never_a_success()
{
    begin
    local id
    id=$(submit --timeout 1s -- 'trap "exit 0" TERM; while :; do sleep 0.05; done')
    ended "$id" Failed Timeout
    run "$TRAINYARD" job why "$id"
    out_has "ran longer than"
}

it_is_paused_and_goes_on()
{
    begin
    local id n
    id=$(submit -- 'i=0; while [ $i -lt 60 ]; do echo "line $i"; i=$((i+1)); sleep 0.05; done')
    log_has "$id" "line 3"
    run "$TRAINYARD" job suspend "$id"
    state_is "$id" Suspended
    sleep 0.5
    n=$(log_of "$id" | wc -l)
    sleep 0.5
    is "lines while it is paused" "$(log_of "$id" | wc -l)" "$n"
    run "$TRAINYARD" job resume "$id"
    ended "$id" Succeeded ""
    is "lines" "$(log_of "$id" | wc -l)" 60
}

a_killed_supervisor_is_followed_by_another()
{
    begin
    local id
    id=$(submit --workers 2 -- 'i=0; while [ $i -lt 60 ]; do echo "line $i"; i=$((i+1)); sleep 0.05; done; sleep $RANK; exit $((5 * RANK))')
    log_has "$id" "line 3"
    kill_supervisor "$id"
    log_has "$id" "line 20"
    kill_supervisor "$id"
    ended "$id" Failed UserExit
    is "exit" "$(exit_of "$id")" "(5, 0)"
    is "attempts" "$(field "$id" 'd["attempt"]')" 1
    for n in 0 1; do
        log_of --worker $n "$id" >got.txt
        seq -f 'line %.0f' 0 59 | cmp - got.txt || fail "the log of worker $n differs"
    done
    is "taken over" "$(field "$id" 'sum(e["type"] == "Reattached" for e in d["events"]) >= 1')" True
}

an_end_that_nobody_watched_is_known()
{
    begin
    local id agent
    id=$(submit -- 'echo up; while [ ! -e go ]; do sleep 0.05; done; exit 7')
    log_has "$id" up
    agent=$(pgrep -f -- "job agent" | while read -r p; do
        grep -qsz "^TRAINYARD_DIR=$TRAINYARD_DIR\$" "/proc/$p/environ" && echo "$p"; done)
    for pid in $agent; do kill -STOP "$pid"; done
    kill_supervisor "$id"
    touch "$(work_of "$id")/go"
    sleep 1
    for pid in $agent; do kill -CONT "$pid"; done
    ended "$id" Failed UserExit
    is "exit" "$(exit_of "$id")" "(7, 0)"
}

what_keeps_a_worker_may_die()
{
    begin
    local id pid
    id=$(submit --retries 1 --backoff 100ms -- 'echo "try $TRAINYARD_RESTART_COUNT"; [ "$TRAINYARD_RESTART_COUNT" = 1 ] || sleep 100')
    log_has "$id" "try 0"
    pid=$(keeper "$id")
    kill -9 "$pid"
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['${kept:-NodeFailure}']"
    is "log of attempt 2" "$(log_of --attempt 2 "$id")" "try 1"
}

it_starts_again_after_a_passing_failure()
{
    begin
    local id
    id=$(submit --retries 2 --backoff 100ms --workers 2 -- 'echo "try $TRAINYARD_RESTART_COUNT"; [ "$TRAINYARD_RESTART_COUNT" = 1 ] || exit 75')
    ended "$id" Succeeded ""
    is "attempts" "$(field "$id" 'd["attempt"]')" 2
    is "log" "$(log_of --worker 1 --attempt 2 "$id")" "try 1"
}

contract() # more cases
{
    tap_cases "$@" a_job_runs_and_its_log_is_whole both_streams_are_in_the_log_and_secrets_are_not \
        workers_meet_at_the_masters_address a_log_is_followed_while_it_grows ends_are_told_as_they_were \
        a_stop_gives_time_and_is_never_a_success the_grace_time_is_that_of_all_processes_of_a_worker a_time_limit_is_never_a_success it_is_paused_and_goes_on \
        a_killed_supervisor_is_followed_by_another an_end_that_nobody_watched_is_known \
        what_keeps_a_worker_may_die it_starts_again_after_a_passing_failure
}
