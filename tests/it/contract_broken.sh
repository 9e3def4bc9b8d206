#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What becomes of a job whose backend breaks its contract (src/backend/backend.h): it ends,
# and says which method answered what. tests/it/backends/faulty.c takes the fault from the
# job's name.
. "$(dirname "$0")/contract_lib.sh"

TRAINYARD=$TY_BUILD/tests/it/trainyard_backends
flags=(--backend faulty)
ready() { :; }
left() { :; }

# ends FAULT REASON TEXT [FLAG...]: the job, $id, fails so, and `job why` says it.
ends()
{
    local fault=$1 reason=$2 text=$3
    shift 3
    id=$(submit --name "$fault" "$@" -- true)
    ended "$id" Failed "$reason"
    run "$TRAINYARD" job why "$id"
    out_has "($reason); $text"
}

a_backend_that_cannot_be_opened_ends_the_job_with_its_words()
{
    begin
    ends open-fails BackendUnavailable "the cluster refuses us"
    is "attempts" "$(field "$id" 'd["attempt"]')" 1
}

an_opening_that_may_pass_is_tried_again()
{
    begin
    local id
    id=$(submit --name open-passes -- 'echo up')
    for _ in $(seq 100); do
        run "$TRAINYARD" job why "$id"
        grep -q restarting .out && break
        sleep 0.05
    done
    out_has "backend faulty cannot be used now, and is tried again: the controller is restarting"
    ended "$id" Succeeded ""
    is "opened" "$(wc -c <"$TRAINYARD_DIR/jobs/$id/opens")" 3
    is "said once" "$(field "$id" '[e["message"] for e in d["events"] if e["type"] == "Waiting"].__len__()')" 1
}

a_job_is_stopped_while_its_backend_is_tried()
{
    begin
    local id
    id=$(submit --name open-hangs -- true)
    state_is "$id" EnvPreparing
    sleep 0.5
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
}

a_job_of_a_backend_that_is_not_here_fails_with_what_its_probe_says()
{
    begin
    mkdir -p jobs
    printf 'sbatch is not installed' >jobs/faulty.probe
    ends none BackendUnavailable "sbatch is not installed"
    run "$TRAINYARD" job run --backend local -- true
    status 0
}

a_job_waits_for_a_backend_that_may_come_back()
{
    begin
    local id
    mkdir -p jobs
    printf '~the controller does not answer' >jobs/faulty.probe
    id=$(submit --name none -- 'echo up')
    sleep 1.5
    run "$TRAINYARD" job why "$id"
    out_has "$id waits for the backend faulty: the controller does not answer"
    local other
    other=$(submit --queue-timeout 1s -- true)
    ended "$other" Failed QueueTimeout
    run "$TRAINYARD" job why "$other"
    out_has "for the backend faulty: the controller does not answer"
    rm jobs/faulty.probe
    ended "$id" Succeeded ""
}

a_backend_that_was_not_here_is_asked_again_before_a_job_fails()
{
    begin
    mkdir -p jobs
    printf 'sbatch is not installed' >jobs/faulty.probe
    "$TRAINYARD" job submit --backend local -- sleep 20 >/dev/null
    sleep 6 # the answer of the agent's start is old now
    rm jobs/faulty.probe
    run "$TRAINYARD" job run --backend faulty -- true
    status 0
}

a_failure_without_words_gets_some()
{
    begin
    ends open-fails-silently BackendUnavailable "backend faulty: open failed without saying why"
    ends start-fails-silently LaunchFailure "backend faulty: start failed without saying why"
    ends start-unknown BackendFault "backend faulty: start() answered 12, which is not an error code"
}

a_start_that_started_nothing_is_a_fault()
{
    begin
    ends start-nothing BackendFault "backend faulty: start() answered success, but worker 0 was not started"
    ends start-some BackendFault "backend faulty: start() answered success, but worker 1 was not started" --workers 2
    ends start-without-handle BackendFault "backend faulty: start() left no handle of worker 0"
}

what_a_job_is_prepared_with_is_checked()
{
    begin
    ends prepare-nothing BackendFault 'backend faulty: prepare() left `root` unset'
    ends address-empty BackendFault "backend faulty: address() gave '' for worker 0"
    ends address-endless BackendFault "backend faulty: address() gave 'aaaaaaaa"
    ends port-impossible BackendFault "backend faulty: port() answered 70000"
    ends prepare-markup BackendFault "backend faulty: prepare() gave the view 'plain\", \"more', which is not one word"
}

a_start_that_failed_is_no_success_whatever_status_it_tells()
{
    begin
    local id
    id=$(submit --name start-status -- true)
    ended "$id" Failed LaunchFailure
    run "$TRAINYARD" job wait "$id"
    status 126
    id=$(submit --name start-again-zero --restart worker --retries 1 --retry-on 3 --backoff 100ms -- 'sleep 0.3; exit 3')
    ended "$id" Failed LaunchFailure
}

numbers_that_no_machine_has_are_left_out()
{
    begin
    local id
    id=$(submit --name usage-huge --workers 2 -- 'sleep 7')
    ended "$id" Succeeded ""
    run "$TRAINYARD" job get --json "$id"
    json 'all(w.get("cpu_s", 0) < 1e6 for w in d["status"]["workers"])'
}

a_state_that_cannot_follow_is_a_fault()
{
    begin
    ends poll-unknown BackendFault "backend faulty: poll() answered 77, which is not a state, for worker 0"
    ends poll-none BackendFault "backend faulty: poll() answered NONE for worker 0, which was RUNNING"
    ends end-waits BackendFault "backend faulty: poll() answered WAITING for worker 0, which was RUNNING"
}

an_end_that_cannot_be_is_a_fault()
{
    begin
    ends end-unknown-reason BackendFault "backend faulty: poll() gave the reason 9999 for the end of worker 0"
    ends end-unknown-status BackendFault "backend faulty: poll() gave the exit status 256 for the end of worker 0"
    ends end-unknown-signal BackendFault "backend faulty: poll() gave the signal -5 for the end of worker 0"
    ends end-endless-text Evicted "xxxxxxxxxx"
}

a_reason_beats_an_exit_status_of_0()
{
    begin
    ends end-limit Timeout "the partition's? time limit"
}

what_is_known_of_a_lost_worker_is_shown()
{
    begin
    local id
    ends end-lost Evicted "node n7 lost power"
    ends end-lost-without-reason NodeFailure "node n8 does not answer"
    id=$(submit --name end-lost --workers 2 --retries 1 --backoff 100ms -- true)
    ended "$id" Failed Evicted
    is "exits" "$(field "$id" 'sorted({(e["reason"], e["message"]) for e in d["events"] if e["type"] == "WorkerExited"})')" "[('Evicted', 'node n7 lost power')]"
    is "restarts" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['Evicted']"
    run "$TRAINYARD" job why "$id"
    grep -qE "worker [01]: node n7 lost power" .out || { fail "no worker is named:"; show .out; } # whichever was seen first
}

a_log_that_never_ends_does_not_hold_up_the_job()
{
    begin
    local id
    id=$(submit --name logs-endless -- true)
    ended "$id" Succeeded ""
    is "warnings" "$(field "$id" '[e["message"] for e in d["events"] if e["type"] == "Warning"]')" \
        "['backend faulty: logs() says that there is more of worker 0, but brings nothing']"
    id=$(submit --name logs-flood -- true)
    ended "$id" Succeeded ""
    is "warnings" "$(field "$id" '[e["message"] for e in d["events"] if e["type"] == "Warning"]')" \
        "['a log did not end with its worker; the rest is left out']"
}

a_backend_that_does_not_answer_for_a_while_is_warned_of_once()
{
    begin
    local id
    id=$(submit --name refresh-fails -- 'sleep 2')
    ended "$id" Succeeded ""
    is "warnings" "$(field "$id" '[e["message"] for e in d["events"] if e["type"] == "Warning"]')" "['the controller is restarting']"
}

a_worker_that_does_not_end_is_told_again_and_the_job_says_so()
{
    begin
    local id
    id=$(submit --name signal-deaf --grace 100ms -- 'sleep 100')
    state_is "$id" Running
    run "$TRAINYARD" job stop "$id"
    for _ in $(seq 300); do
        run "$TRAINYARD" job why "$id"
        grep -q "does not end" .out && break
        sleep 0.1
    done
    out_has "worker 0 does not end: the backend faulty says that it still runs, though it was destroyed"
    ended "$id" Stopped UserStopped
}

an_answer_of_reattach_outside_the_contract_is_a_fault()
{
    begin
    local id
    id=$(submit --name reattach-unknown -- 'touch up; sleep 100')
    state_is "$id" Running
    for _ in $(seq 100); do [ -e up ] && break; sleep 0.05; done
    kill_supervisor "$id"
    ended "$id" Failed BackendFault
    run "$TRAINYARD" job why "$id"
    out_has "(BackendFault); backend faulty: reattach() answered 77, which is not a state, for worker 0"
    rm up
    id=$(submit --name reattach-none -- 'touch up; sleep 100')
    state_is "$id" Running
    for _ in $(seq 100); do [ -e up ] && break; sleep 0.05; done
    kill_supervisor "$id"
    ended "$id" Failed BackendFault
    run "$TRAINYARD" job why "$id"
    out_has "(BackendFault); backend faulty: reattach() answered NONE for worker 0, whose handle is there"
}

# crashed STATE REASON HOW ID: it has ended so, and says how.
crashed()
{
    ended "$4" "$1" "$2"
    run "$TRAINYARD" job why "$4"
    out_has "its supervisors crashed again and again without getting on ($3), by a fault of the backend faulty"
    grep -qF "its supervisor crashed ($3)" "$TRAINYARD_DIR/agent.log" || fail "agent.log does not tell of $4"
}

a_supervisor_that_crashes_again_and_again_ends_the_job()
{
    begin
    local ids=() id name
    for name in crash-open abort-start crash-poll exit-poll; do
        ids+=("$(submit --name "$name" -- 'sleep 200')")
    done
    ids+=("$(submit --name abort-clean -- 'exit 3')")
    crashed Failed NodeFailure "in open(): killed by SIGSEGV" "${ids[0]}"
    crashed Failed NodeFailure "in start(): killed by SIGABRT" "${ids[1]}"
    crashed Failed NodeFailure "in poll(): killed by SIGSEGV" "${ids[2]}"
    crashed Failed NodeFailure "in poll(): exit status 7" "${ids[3]}"
    crashed Failed NodeFailure "in clean(): killed by SIGABRT" "${ids[4]}"
    TRAINYARD_SLOTS=cpu=8 run "$TRAINYARD" job run --backend local --cpu 8 -- true # nothing of theirs is still taken
    status 0
}

a_job_whose_supervisor_crashes_can_be_stopped()
{
    begin
    local id
    id=$(submit --name crash-poll -- 'sleep 200')
    for _ in $(seq 100); do grep -qs "supervisor crashed" "$TRAINYARD_DIR/agent.log" && break; sleep 0.1; done
    run "$TRAINYARD" job stop "$id"
    status 0
    crashed Stopped UserStopped "in poll(): killed by SIGSEGV" "$id"
}

a_method_that_does_not_return_ends_the_job()
{
    begin
    local ids=()
    export TRAINYARD_BACKEND_PATIENCE=3
    ids+=("$(submit --name hang-poll -- 'sleep 200')")
    ids+=("$(submit --name hang-open -- 'sleep 200')")
    ids+=("$(submit --name hang-start -- 'sleep 200')")
    run "$TRAINYARD" job stop "${ids[2]}"
    crashed Failed NodeFailure "in poll(): it did not return" "${ids[0]}"
    crashed Failed NodeFailure "in open(): it did not return" "${ids[1]}"
    ended "${ids[2]}" Stopped UserStopped
    grep -q "poll() of its backend has not returned for" "$TRAINYARD_DIR/agent.log" || fail "agent.log does not tell of it"
}

a_probe_that_crashes_or_hangs_keeps_no_other_backend_from_work()
{
    begin
    mkdir -p "$TRAINYARD_DIR"
    echo abort >"$TRAINYARD_DIR/faulty.probe"
    run "$TRAINYARD" job run --backend local -- true
    status 0
    id=$(submit --name none -- true)
    ended "$id" Failed BackendUnavailable
    run "$TRAINYARD" job why "$id"
    out_has "backend faulty: probe() ended its process (killed by SIGABRT)"
}

a_probe_that_is_killed_from_outside_fails_no_job()
{
    begin
    local id
    mkdir -p "$TRAINYARD_DIR"
    echo killed >"$TRAINYARD_DIR/faulty.probe"
    id=$(submit --name none -- true)
    for _ in $(seq 100); do
        "$TRAINYARD" job why "$id" | grep -q "the process of probe() was killed from outside" && break
        sleep 0.1
    done
    run "$TRAINYARD" job why "$id"
    out_has "for the backend faulty: backend faulty: the process of probe() was killed from outside"
    rm "$TRAINYARD_DIR/faulty.probe"
    ended "$id" Succeeded ""
}

a_supervisor_that_crashed_twice_is_followed_by_one_that_goes_on()
{
    begin
    local id
    id=$(submit --name twice-poll -- 'sleep 1; echo done')
    ended "$id" Succeeded ""
    is "attempts" "$(field "$id" 'd["attempt"]')" 1
    is "crashes" "$(grep -c "supervisor crashed (in poll(): killed by SIGABRT); another one follows" "$TRAINYARD_DIR/agent.log")" 2
}

a_supervisor_that_is_killed_from_outside_is_replaced_however_often()
{
    begin
    local id
    id=$(submit --name none -- 'touch up; while [ ! -e go ]; do sleep 0.1; done')
    for _ in $(seq 100); do [ -e up ] && break; sleep 0.1; done
    for _ in $(seq 8); do
        for _ in $(seq 100); do supervisor_of "$id" >/dev/null && break; sleep 0.1; done
        kill_supervisor "$id"
    done
    touch go
    ended "$id" Succeeded ""
}

workers_whose_handles_are_gone_are_ended_and_nobody_is_said_to_have_stopped_them()
{
    begin
    local id
    id=$("$TRAINYARD" job submit --backend local -- 'touch up; sleep 200')
    for _ in $(seq 100); do [ -e up ] && break; sleep 0.1; done
    rm "$TRAINYARD_DIR"/jobs/"$id"/run/0.1
    kill_supervisor "$id"
    ended "$id" Failed NodeFailure
    run "$TRAINYARD" job why "$id"
    out_has "the handles of its workers are gone; what was found of them was ended"
}

a_backend_that_lacks_a_method_is_found_before_a_job_starts()
{
    begin
    local id
    id=$("$TRAINYARD" job submit --backend lacking -- true)
    ended "$id" Failed BackendUnavailable
    run "$TRAINYARD" job why "$id"
    out_has "backend lacking has no prepare()"
    run "$TRAINYARD" doctor
    out_has "backend lacking has no prepare()"
}

every_call_goes_through_the_checks()
{
    grep -nE 'ops->(probe|capacity|open|prepare|packages|address|port|start|reattach|poll|signal|logs|usage|enter|release|clean|close)\(' \
        "$TY_SOURCE"/src/backend/*.c "$TY_SOURCE"/src/cmd/*.c | grep -v '/call\.c:' | grep -E 'backend|job' >found.txt
    is "calls" "$(cat found.txt)" ""
}

tap_cases every_call_goes_through_the_checks a_backend_that_lacks_a_method_is_found_before_a_job_starts \
    a_supervisor_that_crashes_again_and_again_ends_the_job a_job_whose_supervisor_crashes_can_be_stopped \
    a_method_that_does_not_return_ends_the_job a_probe_that_crashes_or_hangs_keeps_no_other_backend_from_work \
    a_probe_that_is_killed_from_outside_fails_no_job \
    a_supervisor_that_crashed_twice_is_followed_by_one_that_goes_on \
    a_supervisor_that_is_killed_from_outside_is_replaced_however_often \
    workers_whose_handles_are_gone_are_ended_and_nobody_is_said_to_have_stopped_them \
    a_backend_that_cannot_be_opened_ends_the_job_with_its_words an_opening_that_may_pass_is_tried_again \
    a_job_is_stopped_while_its_backend_is_tried \
    a_job_of_a_backend_that_is_not_here_fails_with_what_its_probe_says a_job_waits_for_a_backend_that_may_come_back \
    a_backend_that_was_not_here_is_asked_again_before_a_job_fails a_failure_without_words_gets_some \
    a_start_that_started_nothing_is_a_fault what_a_job_is_prepared_with_is_checked \
    a_start_that_failed_is_no_success_whatever_status_it_tells numbers_that_no_machine_has_are_left_out \
    a_state_that_cannot_follow_is_a_fault an_end_that_cannot_be_is_a_fault a_reason_beats_an_exit_status_of_0 \
    what_is_known_of_a_lost_worker_is_shown a_log_that_never_ends_does_not_hold_up_the_job \
    a_worker_that_does_not_end_is_told_again_and_the_job_says_so a_backend_that_does_not_answer_for_a_while_is_warned_of_once \
    an_answer_of_reattach_outside_the_contract_is_a_fault
