#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes: deleted jobs, policies, contents that nothing refers to; and a disk that is full.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage_lib.sh"

submit() # ARGUMENT...: submits and waits; $id
{
    run "$TRAINYARD" job submit --wait "$@"
    status 0
    id=$(head -1 .out)
}
# Makes everything below the objects as old as two days.
grow_old() { find yard/users yard/objects -type f -exec touch -d '2 days ago' {} + 2>/dev/null; }

a_job_is_deleted_with_all_that_is_its_own()
{
    local ann eve id live
    start
    ann=$(person ann)
    eve=$(person eve)
    as "$ann"
    submit --name gone --label a=b -- 'echo hi; echo ::trainyard step=1 auc=0.5; echo x >$PAI_OUTPUT_MODEL/m'
    as "$eve"
    run "$TRAINYARD" job delete "$id"
    status 1
    err_has "no job '$id'"
    as "$ann"
    live=$("$TRAINYARD" job submit -- 'sleep 600')
    run "$TRAINYARD" job delete "$live"
    status 1
    err_has "error[E3014]"
    err_has "stop it first"
    run "$TRAINYARD" job delete "$id"
    status 0
    out_is <<<"$id deleted"
    check "no files" test ! -e "yard/jobs/$id"
    for table in jobs:id specs:job events:job labels:job metrics:job; do
        is "rows in $table" "$(python3 -c 'import sqlite3, sys; t, c = sys.argv[1].split(":"); print(sqlite3.connect("yard/jobs.db").execute(f"SELECT count(*) FROM {t} WHERE {c} = ?", (sys.argv[2],)).fetchone()[0])' "$table" "$id")" 0
    done
    run "$TRAINYARD" job get "$id"
    status 1
    run "$TRAINYARD" usage --json
    json 'd[0]["user"] == "ann" and d[0]["jobs"] == 2'
    # The record of a job that is there stays what it was.
    check "events of a job cannot be removed" sh -c '! python3 -c "
import sqlite3; sqlite3.connect(\"yard/jobs.db\").execute(\"DELETE FROM events\")"'
    "$TRAINYARD" job stop --force "$live" >/dev/null
    finish
}

contents_go_when_nothing_refers_to_them()
{
    local ann id used
    start --user-storage 10m
    ann=$(person ann)
    as "$ann"
    head -c 3000000 /dev/urandom >one
    head -c 2000000 /dev/urandom >two
    submit --input d=one -- true
    submit --input d=two -- true
    # Sent, and never submitted: they are nobody's.
    head -c 1000000 /dev/urandom >three
    api PUT "/api/v1/objects/$(digest three)" -H 'Content-Type: application/octet-stream' --data-binary @three
    is "sent" "$code" 204
    is "all are here" "$(find yard/users/ann/objects -type f -size +900k | wc -l)" 3
    as "$admin"
    run "$TRAINYARD" gc
    out_has "removed 0 jobs (0 B) and 0 experiments (0 B) by policy, 0 contents (0 B)"
    grow_old
    run "$TRAINYARD" gc --dry-run --json
    json 'd["object_bytes"] >= 1000000 and d["object_bytes"] < 1100000'
    is "a dry run removes nothing" "$(find yard/users/ann/objects -type f -size +900k | wc -l)" 3
    run "$TRAINYARD" gc
    status 0
    is "the refused job's are gone" "$(find yard/users/ann/objects -type f -size +900k | wc -l)" 2
    # With the job its data go; the other's stay, and it can run again.
    as "$ann"
    run "$TRAINYARD" job delete "$("$TRAINYARD" job list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[-1]["id"])')"
    status 0
    as "$admin"
    grow_old
    run "$TRAINYARD" gc
    is "one is left" "$(find yard/users/ann/objects -type f -size +900k | wc -l)" 1
    as "$ann"
    run "$TRAINYARD" job rerun "$id"
    status 0
    run "$TRAINYARD" job wait "$(cat .out)"
    status 0
    used=$(cat yard/users/ann/bytes)
    check "the counter follows: $used" test "$used" -gt 2000000 -a "$used" -lt 2100000
    finish
}

policies_keep_the_latest()
{
    local ann bob i ids kept
    start
    ann=$(person ann --project ads)
    bob=$(person bob)
    as "$ann"
    for i in 1 2 3 4; do
        submit --name "n$i" -- true
        ids="${ids:-} $id"
    done
    submit --name kept --label keep=yes -- true
    kept=$id
    as "$bob"
    submit --name bobs -- 'head -c 3000000 /dev/zero >$PAI_OUTPUT_MODEL/m'
    submit --name small -- true
    run "$TRAINYARD" retention set --jobs 2
    err_has "needs the role admin"
    as "$admin"
    run "$TRAINYARD" retention set --user ann --jobs 2
    status 0
    run "$TRAINYARD" retention set --size 2m
    status 0
    run "$TRAINYARD" retention set --project ads --age 30d
    run "$TRAINYARD" retention list --json
    json '[(p["name"], p["jobs"], p["bytes"], p["age_s"]) for p in d] == [("default", -1, 2097152, -1), ("project:ads", -1, -1, 2592000), ("user:ann", 2, -1, -1)]'
    run "$TRAINYARD" gc --dry-run
    out_has "would remove 4 jobs"
    run "$TRAINYARD" gc
    out_has "removed 4 jobs"
    run "$TRAINYARD" job list --json
    json 'sorted(j["name"] for j in d) == ["kept", "n4", "small"]'
    check "the label keeps it" test -d "yard/jobs/$kept"
    run "$TRAINYARD" retention delete --user ann
    status 0
    run "$TRAINYARD" retention delete --user ann
    status 1
    err_has "no retention policy 'user:ann'"
    run "$TRAINYARD" retention list
    out_has " 30d "
    run "$TRAINYARD" retention set --user ann
    status 2
    err_has "error[E5504]"
    err_has "a policy without a limit deletes nothing: give an age, a count or a size"
    run "$TRAINYARD" retention set --user x --project y
    status 2
    # An old job: the age counts from its end.
    python3 -c 'import sqlite3; c = sqlite3.connect("yard/jobs.db"); c.execute("UPDATE jobs SET finished = finished - 40 * 86400 * 1000000000 WHERE name = ?", ("n4",)); c.commit()'
    run "$TRAINYARD" retention set --age 30d
    run "$TRAINYARD" gc
    out_has "removed 1 jobs"
    run "$TRAINYARD" df --json
    json '{u["name"]: u["jobs"] for u in d["use"]}["bob"] == 1 and d["free"] > 0 and d["total"] > d["free"]'
    as "$bob"
    run "$TRAINYARD" df --json
    json '[u["name"] for u in d["use"]] == ["bob"]'
    finish
}

the_server_cleans_up_by_itself()
{
    local ann
    start --clean-every 1s
    ann=$(person ann)
    as "$admin"
    run "$TRAINYARD" retention set --jobs 0
    as "$ann"
    id=$("$TRAINYARD" job submit -- true)
    for _ in $(seq 60); do
        [ -e "yard/jobs/$id" ] || break
        sleep 0.5
    done
    check "it is gone" test ! -e "yard/jobs/$id"
    finish
}

a_full_disk_stops_admissions_and_nothing_else()
{
    local ann id
    start --min-free 900000g
    ann=$(person ann)
    as "$ann"
    id=$("$TRAINYARD" job submit -- true) || fail "queueing goes on"
    sleep 2
    run "$TRAINYARD" job why "$id"
    status 0
    out_has "$id waits: the disk of $PWD/yard is nearly full: "
    out_has "are kept free (--min-free); delete jobs or run \`trainyard gc\`"
    run "$TRAINYARD" df
    out_has ": no job starts"
    echo x >file
    run "$TRAINYARD" job submit --input a=file -- true
    status 1
    err_has "error[E3108]: input 'a': $url: the disk of"
    grep -q "no job starts: the disk of" yard/agent.log || fail "the agent said nothing"
    echo 0 >yard/min-free
    run "$TRAINYARD" job wait --timeout 60 "$id"
    status 0
    finish
}

a_log_keeps_its_beginning_and_its_latest_part()
{
    local ann id n
    start --job-log-size 1m
    ann=$(person ann)
    as "$ann"
    id=$("$TRAINYARD" job submit -- 'echo first line; seq 1 2000000; echo last line; echo ::trainyard step=7 auc=0.5')
    run "$TRAINYARD" job wait --timeout 120 "$id"
    status 0
    n=$(du -k "yard/jobs/$id/logs/worker-0.1.log" | cut -f1)
    [ "$(stat -c %s "yard/jobs/$id/logs/worker-0.1.log")" -gt 10000000 ] || fail "offsets changed"
    [ "$n" -le 1100 ] || skip "this file system knows no holes: $n KiB"
    check "the index is small" test "$(stat -c %s "yard/jobs/$id/logs/worker-0.1.log.idx")" -le 140000
    run "$TRAINYARD" job logs "$id"
    status 0
    is "begins" "$(head -1 .out)" "first line"
    is "ends" "$(tail -2 .out | head -1)" "last line"
    is "says what is missing, once" "$(grep -c 'bytes were dropped here: the log reached its limit' .out)" 1
    grep -qP '\x00' .out && fail "the hole is shown"
    run "$TRAINYARD" job logs --tail 2 "$id"
    is "tail" "$(head -1 .out)" "last line"
    run "$TRAINYARD" job get --json "$id"
    json 'd["metrics"]["auc"]["value"] == 0.5'
    api GET "/api/v1/jobs/$id/logs/0?follow=true"
    grep -q 'bytes were dropped here' .out || fail "a follower is not told"
    [ "$(stat -c %s .out)" -lt 4000000 ] || fail "a follower reads the hole"
    grep -q 'last line' .out || fail "a follower misses the end"
    TRAINYARD_SERVER='' TRAINYARD_TOKEN='' run "$TRAINYARD" job logs --dir yard --server local "$id"
    is "the same here" "$(grep -c 'bytes were dropped here' .out)" 1
    finish
}

without_a_server_it_is_the_same()
{
    local id
    export TRAINYARD_DIR=$PWD/jobs
    mkdir src
    echo 'echo hi' >src/main.sh
    submit --source src -- sh main.sh
    find jobs/objects -type f -exec touch -d '2 days ago' {} +
    run "$TRAINYARD" gc
    check "the code of a job stays" test "$(find jobs/objects -type f | wc -l)" = 2
    mkdir -p jobs/jobs/jb-000000000000
    touch -d '2 days ago' jobs/jobs/jb-000000000000
    run "$TRAINYARD" job delete "$id"
    status 0
    find jobs/objects -type f -exec touch -d '2 days ago' {} +
    run "$TRAINYARD" gc
    out_has "2 contents"
    out_has "1 directories without a job"
    check "all is gone" test "$(find jobs/objects jobs/jobs -type f | wc -l)" = 0
}

# An experiment of the caller at the server, to its end or, with a long trial, under way; $exp.
search() # SECONDS [FLAG...]
{
    mkdir -p search
    printf 'trialCommand: sleep %s; echo ::trainyard default={{x}}\nmaxTrialNumber: 1\ntrialConcurrency: 1\nsearchSpace: {x: {_type: choice, _value: [3]}}\ntuner: {name: GridSearch}\ntrainingService: {platform: local}\n' "$1" >search/config.yml
    shift
    run "$TRAINYARD" tune create --config search/config.yml "$@"
    status 0
    exp=$(head -1 .out)
}
experiments() { "$TRAINYARD" tune list --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }

policies_delete_experiments_that_have_ended()
{
    local ann bob live old
    start --experiments exps --clean-every 0
    ann=$(person ann)
    bob=$(person bob)
    as "$ann"
    for _ in 1 2 3; do
        search 0 --wait
        [ -n "${old:-}" ] || old=$exp
        touch -d "$((5 - $(experiments))) days ago" "exps/$exp/log.jsonl"
    done
    as "$bob"
    search 0 --wait
    search 600
    live=$exp
    as "$admin"
    run "$TRAINYARD" df --json
    json '[(u["name"], u["experiments"]) for u in sorted(d["use"], key=lambda u: u["name"])] == [("ann", 3), ("bob", 2)] and all(u["experiment_bytes"] > 0 for u in d["use"])'
    run "$TRAINYARD" retention set --experiments --user ann --count 2
    status 0
    run "$TRAINYARD" retention list
    out_has "experiments:user:ann"
    run "$TRAINYARD" gc --dry-run --json
    json 'd["experiments"] == 1 and d["jobs"] == 0'
    check "a rehearsal" test -e "exps/$old"
    run "$TRAINYARD" gc
    out_has "removed 0 jobs (0 B) and 1 experiments"
    check "the oldest went" test ! -e "exps/$old"
    run "$TRAINYARD" job list --json
    json 'len(d) == 5' # trials are jobs of their own
    # By size, and what runs stays whatever a policy says.
    run "$TRAINYARD" retention set --experiments --size 1
    status 0
    run "$TRAINYARD" gc --json
    json 'd["experiments"] == 1'
    check "one that runs stays" test -e "exps/$live"
    # By age, those of ann as well once the policy of her own is gone.
    run "$TRAINYARD" retention delete --experiments --user ann
    status 0
    run "$TRAINYARD" retention set --experiments --age 1d
    status 0
    run "$TRAINYARD" gc --json
    json 'd["experiments"] == 2'
    run "$TRAINYARD" df --json
    json '[(u["name"], u["experiments"]) for u in d["use"] if u["experiments"]] == [("bob", 1)]'
    # A user deletes one, too, and not one that runs.
    as "$bob"
    run "$TRAINYARD" tune delete "$live"
    [ "$got" != 0 ] || fail "deleted while it ran"
    err_has "stop it first"
    run "$TRAINYARD" retention set --experiments --jobs 3
    status 2
    err_has "experiments have --count"
    run "$TRAINYARD" retention set --experiments --count 3
    [ "$got" != 0 ] || fail "a policy set by a submitter"
    "$TRAINYARD" tune stop "$live" >/dev/null
    finish
}

the_server_deletes_experiments_by_itself()
{
    local ann
    start --experiments exps --clean-every 1s
    ann=$(person ann)
    as "$ann"
    search 0 --wait
    as "$admin"
    run "$TRAINYARD" retention set --experiments --count 0
    for _ in $(seq 100); do
        [ -e "exps/$exp" ] || break
        sleep 0.1
    done
    check "gone" test ! -e "exps/$exp"
    check "and said so" grep -q "removed 1 experiments by policy" server.log
    finish
}

tap_cases policies_delete_experiments_that_have_ended the_server_deletes_experiments_by_itself \
    a_job_is_deleted_with_all_that_is_its_own contents_go_when_nothing_refers_to_them \
    policies_keep_the_latest the_server_cleans_up_by_itself a_full_disk_stops_admissions_and_nothing_else \
    a_log_keeps_its_beginning_and_its_latest_part \
    without_a_server_it_is_the_same
