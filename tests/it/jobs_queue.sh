#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs that wait for each other, arrays of jobs, and jobs that make room for others.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"

until_file() # FILE: a job that runs until it is there
{
    "$TRAINYARD" job submit --priority "${2-1}" ${3+"$3"} -- "echo up; until [ -e $PWD/$1 ]; do sleep 0.05; done"
}

a_job_starts_after_others()
{
    place
    local first second bad after ok no
    first=$(until_file go)
    second=$("$TRAINYARD" job submit -- 'exit 0')
    after=$("$TRAINYARD" job submit --after "$first" --after "${second%???}" -- 'echo after')
    ok=$("$TRAINYARD" job submit --after-ok "$first" -- 'echo ok')
    state_is "$second" Succeeded
    run "$TRAINYARD" job why "$after"
    out_is <<<"$after waits for job $first, which is Running"
    is "it waits" "$("$TRAINYARD" job get --json "$after" | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])')" Queuing
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$after" "$ok"
    status 0
    is "order" "$(field "$after" '[e["type"] for e in d["events"] if e["type"] in ("Eligible", "WorkerStarted")]')" "['Eligible', 'WorkerStarted']"
    # One that had to succeed and did not takes those behind it along; --after does not mind.
    bad=$("$TRAINYARD" job submit -- 'exit 3')
    no=$("$TRAINYARD" job submit --after-ok "$bad" -- 'echo never')
    after=$("$TRAINYARD" job submit --after-ok "$no" -- 'echo never')
    ok=$("$TRAINYARD" job submit --after "$no" -- 'echo whatever')
    run "$TRAINYARD" job wait --timeout 60s "$ok"
    status 0
    run "$TRAINYARD" job wait --timeout 60s "$after"
    status 1
    err_has "Failed (DependencyFailed): job $no, which had to succeed first, is Failed"
    run "$TRAINYARD" job why "$no"
    out_has "a job that had to succeed first did not (DependencyFailed); job $bad, which had to succeed first, is Failed"
    # The time limit of the queue counts from the moment that it stands in line.
    rm go
    first=$(until_file go)
    ok=$("$TRAINYARD" job submit --after "$first" --queue-timeout 1s -- true)
    sleep 2
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$ok"
    status 0
    run "$TRAINYARD" job submit --after jb-000000000000 -- true
    status 1
    err_has "error[E3103]: no job 'jb-000000000000'"
    run "$TRAINYARD" job submit --after nonsense! -- true
    status 1
    err_has "'after': no job 'nonsense!'"
}

what_waits_for_others_can_be_stopped()
{
    place
    local first after
    first=$(until_file go)
    after=$("$TRAINYARD" job submit --after-ok "$first" -- true)
    run "$TRAINYARD" job stop "$after"
    out_is <<<"$after Stopped"
    "$TRAINYARD" job stop "$first" >/dev/null
    after=$("$TRAINYARD" job submit --after-ok "$first" -- true)
    run "$TRAINYARD" job wait --timeout 60s "$after"
    err_has "Failed (DependencyFailed): job $first, which had to succeed first, is Stopped"
}

an_array_is_one_job_per_index()
{
    place
    local array all
    mkdir src
    echo 'echo $TRAINYARD_ARRAY_INDEX of $TRAINYARD_ARRAY_COUNT >>$1' >src/run.sh
    array=$("$TRAINYARD" job submit --name seeds --array 2-8:3 --source src --label team=ads -- "sh run.sh $PWD/out" 2>/dev/null)
    all=$("$TRAINYARD" job submit --after-ok "$array" -- "wc -l <$PWD/out")
    run "$TRAINYARD" job wait --timeout 60s "$array" "$all"
    status 0
    is "lines" "$(grep -c Succeeded .out)" 4
    is "indexes" "$(sort out | tr '\n' ';')" "2 of 3;5 of 3;8 of 3;"
    run "$TRAINYARD" job logs "$all"
    out_is <<<3
    run "$TRAINYARD" job list --json --label "array=$array"
    json '[j["name"] for j in d] == ["seeds-8", "seeds-5", "seeds-2"]'
    run "$TRAINYARD" job list --json --label team=ads
    json 'len(d) == 3'
    is "the code is there once" "$(find jobs/objects -type f | wc -l)" 2
    run "$TRAINYARD" job submit --json --array 2 --client-token t1 -- true
    json 'd["array"].startswith("ja-") and len(d["jobs"]) == 2'
    cp .out first
    run "$TRAINYARD" job submit --json --array 2 --client-token t1 -- true
    is "the same jobs" "$(python3 -c 'import json; print(json.load(open("first"))["jobs"] == json.load(open(".out"))["jobs"])')" True
    # The status is that of the first that did not succeed.
    run "$TRAINYARD" job submit --array 3 --wait -- 'exit $TRAINYARD_ARRAY_INDEX'
    status 1
    run "$TRAINYARD" job submit --array 5-2 -- true
    status 2
    err_has "indexes are written 10 (0 to 9), 1-8, 1-9:2 or 1,4,7"
    run "$TRAINYARD" job stop ja-000000000000
    status 1
    err_has "error[E3103]: no array 'ja-000000000000'"
}

a_job_of_an_array_is_run_again_in_its_place()
{
    place
    local array again
    array=$("$TRAINYARD" job submit --array 3 -- "[ \$TRAINYARD_ARRAY_INDEX != 1 ] || [ -e $PWD/mended ]")
    run "$TRAINYARD" job wait --timeout 60s "$array"
    status 1
    run "$TRAINYARD" job list --json --label "array=$array"
    json 'sorted(j["name"].rsplit("-", 1)[1] for j in d) == ["0", "1", "2"]'
    touch mended
    run "$TRAINYARD" job list --json --label "array=$array" --state Failed
    again=$("$TRAINYARD" job rerun "$(python3 -c 'import json; print(json.load(open(".out"))[0]["id"])')")
    run "$TRAINYARD" job wait --timeout 60s "$array"
    status 0
    is "jobs of the array" "$(wc -l <.out)" 3
    out_has "$again Succeeded"
    run "$TRAINYARD" job get --json "$again"
    json 'd["name"].endswith("-1") and d["spec"]["label"]["array"] == "'"$array"'"'
    run "$TRAINYARD" job submit --after-ok "$array" --wait -- true
    status 0
    # All of them, each once.
    run "$TRAINYARD" job rerun "$array"
    status 0
    is "run again" "$(wc -l <.out)" 3
    run "$TRAINYARD" job wait --timeout 60s "$array"
    is "jobs of the array" "$(wc -l <.out)" 3
}

an_array_runs_so_many_at_a_time()
{
    place
    local array running
    array=$("$TRAINYARD" job submit --array 6%2 -- "echo x >$PWD/run.\$TRAINYARD_ARRAY_INDEX; sleep 0.5; rm $PWD/run.\$TRAINYARD_ARRAY_INDEX")
    for _ in $(seq 60); do
        running=$(ls run.* 2>/dev/null | wc -l)
        [ "$running" -le 2 ] || fail "$running at a time"
        [ "$running" -gt 0 ] && "$TRAINYARD" job why "$array" >>why
        sleep 0.05
    done
    grep -q "waits for a place: array $array runs 2 at a time" why || fail "why: $(head -3 why)"
    run "$TRAINYARD" job wait --timeout 60s "$array"
    status 0
    is "all" "$(grep -c Succeeded .out)" 6
}

a_job_of_higher_priority_gets_the_place()
{
    place
    export TRAINYARD_SLOTS=cpu=2
    local low other high next
    # Saves its work when it is told to stop, and goes on from there.
    low=$("$TRAINYARD" job submit --preemptible --priority 2 --cpu 1 --grace 20s -- "
        trap 'sleep 0.3; echo saved; echo done >$PWD/saved; exit 0' TERM
        [ -e $PWD/saved ] && { echo goes on, attempt \$TRAINYARD_ATTEMPT; exit 0; }
        echo up; while :; do sleep 0.05; done")
    other=$("$TRAINYARD" job submit --priority 1 --cpu 1 -- "until [ -e $PWD/go ]; do sleep 0.05; done")
    for _ in $(seq 200); do "$TRAINYARD" job logs "$low" | grep -q up && break; sleep 0.05; done
    state_is "$other" Running
    high=$("$TRAINYARD" job submit --priority 9 --cpu 1 -- "echo high; until [ -e $PWD/go ]; do sleep 0.05; done")
    state_is "$high" Running
    is "waits again" "$("$TRAINYARD" job get --json "$low" | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["state"], d["reason"])')" "Queuing Preempted"
    is "untouched" "$("$TRAINYARD" job get --json "$other" | python3 -c 'import json,sys; print(json.load(sys.stdin)["attempt"])')" 1
    is "by whom" "$(field "$low" '[e["data"]["by"] for e in d["events"] if e["type"] == "Preempted"]')" "['$high']"
    # One of the same priority does not push anybody out.
    next=$("$TRAINYARD" job submit --priority 9 --cpu 1 -- true)
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$high" "$other" "$low" "$next"
    status 0
    run "$TRAINYARD" job logs "$low"
    out_has saved
    out_has "goes on, attempt 2"
    is "no restart was used" "$(field "$low" 'd["status"]["restarts"]')" 0
}

who_may_not_be_preempted_stays()
{
    place
    export TRAINYARD_SLOTS=cpu=1
    local low high
    low=$(until_file go 1)
    state_is "$low" Running
    high=$(until_file go 9)
    sleep 2
    is "stays" "$("$TRAINYARD" job get --json "$low" | python3 -c 'import json,sys; print(json.load(sys.stdin)["attempt"])')" 1
    is "waits" "$("$TRAINYARD" job get --json "$high" | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])')" Queuing
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$low" "$high"
    status 0
}

a_preempted_job_that_is_stopped_is_stopped()
{
    place
    export TRAINYARD_SLOTS=cpu=1
    local low high
    low=$(until_file go 1 --preemptible)
    for _ in $(seq 200); do "$TRAINYARD" job logs "$low" | grep -q up && break; sleep 0.05; done
    high=$(until_file go 9)
    state_is "$high" Running
    run "$TRAINYARD" job stop "$low"
    out_is <<<"$low Stopped"
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$high"
    status 0
}

tap_cases a_job_starts_after_others what_waits_for_others_can_be_stopped an_array_is_one_job_per_index a_job_of_an_array_is_run_again_in_its_place \
    an_array_runs_so_many_at_a_time a_job_of_higher_priority_gets_the_place who_may_not_be_preempted_stays \
    a_preempted_job_that_is_stopped_is_stopped
