#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs from the command line: contract, states, requests, bad input.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/jobs_lib.sh"

a_training_script_runs_unchanged()
{
    place
    private_ml
    make_program
    run "$TRAINYARD" job run --source src --input train=data --hp epochs=2 \
        --hp learning_rate=0.01 --metric 'loss=loss: ([0-9.]+)' -- \
        'python3 train.py $PAI_USER_ARGS'
    status 0
    out_is <<'END'
epoch 0 loss: 0.0100 rows 3
epoch 1 loss: 0.0050 rows 3
END
    local id
    id=$(sed -n 's/^job //p' .err)
    run "$TRAINYARD" job get --json "$id"
    json 'd["state"] == "Succeeded" and d["metrics"]["loss"]["value"] == 0.005'
    json 'd["status"]["output_files"] == 1'
    check "the model is kept" test -f "jobs/jobs/$id/ml/output/model/model-0.json"
    python3 - "jobs/jobs/$id" <<'PY' || fail "manifest"
import hashlib, json, os, sys
m = json.load(open(sys.argv[1] + "/outputs.json"))
c = {x["name"]: x for x in m["channels"]}
f = c["model"]["files"][0]
data = open(os.path.join(c["model"]["path"], f["path"]), "rb").read()
assert f["sha256"] == hashlib.sha256(data).hexdigest() and f["bytes"] == len(data)
assert set(c) == {"model", "checkpoints", "tensorboard"}
PY
    check "logs is another name of tensorboard" test "$(readlink "jobs/jobs/$id/ml/output/logs")" = tensorboard
    check "the machine has no /ml of ours" test ! -e /ml/usercode
}

bubblewrap_gives_a_private_ml_too()
{
    place
    command -v bwrap >/dev/null || skip "bubblewrap is not installed"
    bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap is not allowed here"
    export TRAINYARD_VIEW=bubblewrap
    make_program
    run "$TRAINYARD" job run --source src --input train=data --hp epochs=2 \
        --hp learning_rate=0.01 --data "$PWD/data:/mnt/ty-test/new" -- \
        'python3 train.py $PAI_USER_ARGS && cat /mnt/ty-test/new/part.csv && touch /ml/input/data/train/x 2>/dev/null || echo read-only'
    status 0
    out_has "epoch 1 loss: 0.0050 rows 3"
    out_has "b,2"
    out_has "read-only"
    local id
    id=$(sed -n 's/^job //p' .err)
    is "view" "$(field "$id" '[e["data"]["view"] for e in d["events"] if e["type"] == "WorkerStarted"]')" "['bubblewrap']"
    check "the machine has no /ml of ours" test ! -e /ml/usercode
    check "nor the mount" test ! -e /mnt/ty-test
    run "$TRAINYARD" job run -- no-such-program x
    status 127
    err_has "Failed (LaunchFailure): cannot execute 'no-such-program'"
    run "$TRAINYARD" job run --grace 1s --timeout 300ms -- 'sleep 62.25 & wait'
    err_has "Failed (Timeout)"
    check "nobody sleeps" sh -c '! pgrep -f "[s]leep 62.25" >/dev/null'
}

without_namespaces_the_variables_hold()
{
    place
    export TRAINYARD_VIEW=plain
    mkdir data
    echo 7 >data/x
    run "$TRAINYARD" job run --input train=data -- 'cat $PAI_INPUT_TRAIN/x; echo w >$PAI_OUTPUT_MODEL/w; ls /ml/input 2>/dev/null; echo $PAI_CONFIG_DIR'
    status 0
    local id
    id=$(sed -n 's/^job //p' .err)
    out_has 7
    out_has "$PWD/jobs/jobs/$id/ml/input/config/"
    is "kept" "$(cat "jobs/jobs/$id/ml/output/model/w")" w
    is "warned" "$(field "$id" 'any("no private /ml is possible here" in e.get("message", "") for e in d["events"])')" True
}

four_workers_see_each_other()
{
    place
    private_ml
    make_program
    run "$TRAINYARD" job submit --wait --workers 4 --source src --input train=data --hp epochs=2 \
        --hp learning_rate=0.01 --output model=out -- 'python3 train.py $PAI_USER_ARGS'
    status 0
    local id
    id=$(head -1 .out)
    is "models" "$(cat out/model-*.json | tr -d '\n')" \
        '{"world": "4", "rank": "0"}{"world": "4", "rank": "1"}{"world": "4", "rank": "2"}{"world": "4", "rank": "3"}'
    run "$TRAINYARD" job logs --worker 2 "$id"
    out_has "epoch 1 loss: 0.0050 rows 3"
    run "$TRAINYARD" job logs "$id"
    out_has "worker-3| epoch 0"
}

variables_are_those_of_the_contract()
{
    place
    run "$TRAINYARD" job run --hp epochs=10 --hp batch-size=32 --hp train.learning_rate=0.001 \
        --hp flag=True --env CITY=Ulm --nproc 2 -- env
    status 0
    out_has 'PAI_HPS_EPOCHS=10'
    out_has 'PAI_HPS_BATCH_SIZE=32'
    out_has 'PAI_HPS_TRAIN_LEARNING_RATE=0.001'
    out_has 'PAI_USER_ARGS=--epochs 10 --batch-size 32 --train.learning_rate 0.001 --flag True'
    out_has 'PAI_HPS={"epochs": "10", "batch-size": "32", "train.learning_rate": "0.001", "flag": "True"}'
    out_has 'NPROC_PER_NODE=2'
    out_has '/output/tensorboard/'
    is "the other name" "$(grep -c 'PAI_OUTPUT_LOGS=.*/output/logs/$' .out)" 1
    out_has 'WORLD_SIZE=1'
    out_has 'RANK=0'
    out_has 'CITY=Ulm'
}

the_exit_status_is_the_commands()
{
    place
    run "$TRAINYARD" job run -- sh -c 'exit 7'
    status 7
    err_has "Failed (UserExit): worker 0: exit status 7"
    run "$TRAINYARD" job run -- 'kill -9 $$'
    status 137
    err_has "Failed (Signal): worker 0: killed by SIGKILL"
    run "$TRAINYARD" job run -- ./no-such-program x
    status 127
    err_has "Failed (LaunchFailure): cannot execute './no-such-program': No such file or directory"
    run "$TRAINYARD" job run -- 'no-such-program'
    status 127
}

a_failed_worker_ends_the_others()
{
    place
    run "$TRAINYARD" job run --workers 3 --grace 1s -- 'if [ $RANK = 1 ]; then exit 5; fi; sleep 61.25'
    status 5
    err_has "worker 1: exit status 5"
    check "nobody sleeps" sh -c '! pgrep -f "[s]leep 61.25" >/dev/null'
}

passing_failures_are_retried()
{
    place
    run "$TRAINYARD" job run --retries 3 --backoff 0s -- \
        'echo attempt $TRAINYARD_RESTART_COUNT; test $TRAINYARD_RESTART_COUNT = 2 || exit 75'
    status 0
    out_is <<'END'
attempt 0
attempt 1
attempt 2
END
    run "$TRAINYARD" job run --retries 3 --backoff 0s -- 'echo once; exit 1'
    status 1
    out_is <<'END'
once
END
    run "$TRAINYARD" job run --retries 1 --backoff 0s --retry-on 9 -- 'echo x; exit 9'
    status 9
    out_is <<'END'
x
x
END
}

one_worker_starts_again_alone()
{
    place
    local id
    run "$TRAINYARD" job run --restart worker --workers 2 --retries 3 --backoff 10ms -- \
        'echo $RANK starts >>started; if [ $RANK = 1 ]; then test -e once || { touch once; exit 75; }; touch done; fi; until [ -e done ]; do sleep 0.05; done'
    status 0
    is "starts" "$(sort started | tr '\n' ' ')" "0 starts 1 starts 1 starts "
    id=$(sed -n 's/^job //p' .err)
    is "attempt" "$(field "$id" '(d["attempt"], d["status"]["restarts"])')" "(1, 1)"
    is "events" "$(field "$id" '[e["worker"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "[1]"
    # One that fails for good takes the others along.
    run "$TRAINYARD" job run --restart worker --workers 2 --retries 1 --backoff 10ms --grace 1s -- \
        'test $RANK = 0 && exec sleep 61.75; exit 75'
    status 75
    err_has "worker 1: exit status 75"
    check "nobody sleeps" sh -c '! pgrep -f "[s]leep 61.75" >/dev/null'
    # A stop while it waits to start again.
    id=$("$TRAINYARD" job submit --restart worker --retries 1 --backoff 100s -- 'exit 75')
    for _ in $(seq 200); do [ "$(field "$id" 'd["status"]["restarts"]')" = 1 ] && break; sleep 0.05; done
    "$TRAINYARD" job stop "$id" >/dev/null
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 3
}

the_end_is_explained()
{
    place
    run "$TRAINYARD" job run --workers 2 --grace 1s --inherit --env X=1 -- 'test $RANK = 0 && exec sleep 60; kill -USR1 $$'
    status 138
    err_has "worker 1: killed by SIGUSR1"
    run "$TRAINYARD" job why "$(sed -n 's/^job //p' .err)"
    out_has "is Failed: a signal ended a worker (Signal); worker 1: killed by SIGUSR1"
    TY_TEST_VAR=here run "$TRAINYARD" job run --inherit -- 'echo $TY_TEST_VAR; echo 0.5 >/ml/output/output_parameters/auc'
    out_has here
}

a_time_limit_ends_a_job()
{
    place
    run "$TRAINYARD" job run --timeout 300ms --grace 1s -- 'sleep 50 & wait'
    status 143
    err_has "Failed (Timeout): ran longer than 0.3 s"
    run "$TRAINYARD" job run --hang 400ms --grace 1s -- 'echo a; sleep 50'
    err_has "Failed (Hang): nothing was written for 0.4 s"
}

a_job_is_stopped_with_grace()
{
    place
    local id
    id=$("$TRAINYARD" job submit -- 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done')
    state_is "$id" Running
    run "$TRAINYARD" job stop "$id"
    status 0
    run "$TRAINYARD" job wait --timeout 100s "$id"
    run "$TRAINYARD" job logs "$id"
    out_has bye
    # It saved its work and ended well, as it was told to: that is no success.
    state_is "$id" Stopped
    run "$TRAINYARD" job why "$id"
    out_has "$id is Stopped: stopped on request (UserStopped)"
    out_lacks "; stopped on request"
    id=$("$TRAINYARD" job submit --grace 200ms -- 'trap "" TERM; while :; do sleep 0.05; done')
    state_is "$id" Running
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 3
    out_is <<END
$id Stopped
END
    run "$TRAINYARD" job stop "$id"
    status 0
    out_is <<END
$id Stopped
END
}

the_grace_time_is_that_of_all_processes()
{
    place
    local id text child='trap "echo told; sleep 0.4; echo saved; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    for text in "sh -c '$child'; echo never" "sh -c '$child' & wait" "setsid sh -c '$child' & wait"; do
        id=$("$TRAINYARD" job submit --grace 20s -- "$text")
        for _ in $(seq 200); do "$TRAINYARD" job logs "$id" | grep -q up && break; sleep 0.05; done
        run "$TRAINYARD" job stop "$id"
        run "$TRAINYARD" job wait --timeout 100s "$id"
        status 3
        is "$text" "$("$TRAINYARD" job logs "$id" | grep -vx Terminated | tr '\n' ' ')" "up told saved "
        state_is "$id" Stopped
    done
    # It does not last longer than its limit, and what is killed then counts as stopped.
    id=$("$TRAINYARD" job submit --grace 300ms -- "sh -c 'trap \"\" TERM; echo up; while :; do sleep 0.05; done' & wait")
    for _ in $(seq 200); do "$TRAINYARD" job logs "$id" | grep -q up && break; sleep 0.05; done
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 10s "$id"
    status 3
    # A job that ends by itself leaves nothing behind, as before.
    run timeout 10 "$TRAINYARD" job run --grace 60s -- "sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & sleep 0.2"
    status 0
}

the_beginning_of_an_id_is_enough()
{
    place
    local id other
    id=$("$TRAINYARD" job submit --wait -- echo hello | head -1)
    for part in "${id%??????}" "${id#jb-}" "$(cut -c4-7 <<<"$id")"; do
        run "$TRAINYARD" job logs "$part"
        out_is <<<hello
        run "$TRAINYARD" job get --json "$part"
        json "d['id'] == '$id'"
        run "$TRAINYARD" job wait "$part"
        out_is <<<"$id Succeeded"
        run "$TRAINYARD" job why "$part"
        status 0
        run "$TRAINYARD" job stop "$part"
        out_is <<<"$id Succeeded"
    done
    run "$TRAINYARD" job get 'jb-00000%'
    err_has "error[E3103]: no job 'jb-00000%'"
    # 37 jobs: two of them begin alike.
    for _ in $(seq 37); do "$TRAINYARD" job submit -- true; done >ids
    other=$(cut -c4 ids | sort | uniq -d | head -1)
    run "$TRAINYARD" job get "$other"
    status 2
    err_has "error[E3020]: '$other' is the beginning of jb-$other"
    run "$TRAINYARD" job get jb-
    status 2
    err_has "error[E3020]: 'jb-' is the beginning of jb-"
}

a_helper_that_is_not_needed_any_more_has_not_failed()
{
    place
    local id
    id=$("$TRAINYARD" job submit --wait --role worker=1 --role ps=1 --grace 5s -- \
        'test $TRAINYARD_ROLE = worker && exit 0; exec sleep 60' | head -1)
    is "states" "$(field "$id" 'sorted(w["state"] for w in d["status"]["workers"])')" "['Stopped', 'Succeeded']"
    run "$TRAINYARD" job get "$id"
    out_has "Stopped when the others had ended, 0.0"
    grep -q 'Failed\|exit 143' .out && fail "it looks like a failure: $(cat .out)"
}

progress_does_not_fall_back_with_a_new_supervisor()
{
    place
    local id pid
    id=$("$TRAINYARD" job submit -- 'for i in 10 20 30 40 50; do echo "::trainyard progress=$i step=$i"; sleep 0.3; done
        until [ -e go ]; do sleep 0.1; done; echo "::trainyard progress=60 step=60"')
    for _ in $(seq 100); do [ "$(field "$id" 'd["status"].get("percent", 0) >= 30')" = True ] && break; sleep 0.1; done
    for pid in $(pgrep -x "$id" || pgrep -f -- "--job $id"); do kill -9 "$pid"; done
    for _ in $(seq 100); do [ "$(field "$id" 'any(e["type"] == "Reattached" for e in d["events"])')" = True ] && break; sleep 0.1; done
    sleep 1
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
    is "taken over" "$(field "$id" 'any(e["type"] == "Reattached" for e in d["events"])')" True
    is "only forward" "$(field "$id" '(lambda p: p == sorted(set(p)))([e["data"]["percent"] for e in d["events"] if e["type"] == "Progress"])')" True
}

a_log_does_not_reach_into_the_terminal()
{
    place
    local id
    id=$("$TRAINYARD" job submit --wait -- 'printf "\033]0;owned\007\033[31mred\033[0m\033[2J ok\n"')
    run "$TRAINYARD" job logs "$(head -1 <<<"$id")"
    printf '\\x1b]0;owned\\x07\033[31mred\033[0m\\x1b[2J ok\n' | out_is
    run "$TRAINYARD" job logs --raw "$(head -1 <<<"$id")"
    printf '\033]0;owned\007\033[31mred\033[0m\033[2J ok\n' | out_is
    # The output of a program that one runs oneself is that program's.
    run "$TRAINYARD" job run -- 'printf "\033[2J\n"'
    printf '\033[2J\n' | out_is
}

a_job_is_suspended_and_resumed()
{
    place
    local id
    # It goes on only when the file is there, so nothing depends on time.
    id=$("$TRAINYARD" job submit -- 'until [ -e go ]; do sleep 0.05; done; echo went on')
    state_is "$id" Running
    run "$TRAINYARD" job suspend "$id"
    status 0
    out_is <<<"$id Suspended"
    state_is "$id" Suspended
    run "$TRAINYARD" job suspend "$id"
    status 2
    err_has "E3014"
    run "$TRAINYARD" job resume "$id"
    status 0
    out_is <<<"$id Running"
    "$TRAINYARD" job suspend "$id" >/dev/null
    touch go
    "$TRAINYARD" job resume "$id" >/dev/null
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 0
    is "last line" "$("$TRAINYARD" job logs --tail 1 "$id")" "went on"
}

the_time_in_which_it_is_suspended_does_not_count()
{
    place
    local id
    id=$("$TRAINYARD" job submit --timeout 8s -- 'echo "::trainyard progress=10 eta=600"; until [ -e go ]; do sleep 0.05; done; echo went on')
    state_is "$id" Running
    "$TRAINYARD" job suspend "$id" >/dev/null
    sleep 9
    "$TRAINYARD" job resume "$id" >/dev/null
    touch go
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 0
    run "$TRAINYARD" job get --json "$id"
    json 'd["state"] == "Succeeded" and "eta_s" not in d'
    run "$TRAINYARD" job get "$id"
    out_lacks "eta  "
    # It is a limit all the same.
    id=$("$TRAINYARD" job submit --timeout 2s --grace 1s -- 'sleep 600')
    state_is "$id" Running
    "$TRAINYARD" job suspend "$id" >/dev/null
    "$TRAINYARD" job resume "$id" >/dev/null
    state_is "$id" Failed
    run "$TRAINYARD" job why "$id"
    out_has "ran longer than 2 s"
}

stopping_says_what_follows()
{
    place
    local id
    id=$("$TRAINYARD" job submit --grace 30s -- 'trap "" TERM; echo up; while :; do sleep 0.1; done')
    for _ in $(seq 200); do "$TRAINYARD" job logs "$id" | grep -q up && break; sleep 0.05; done
    run "$TRAINYARD" job stop "$id"
    status 0
    out_is <<<"$id Stopping"
    run "$TRAINYARD" job stop --force "$id"
    status 0
    state_is "$id" Stopped
    run "$TRAINYARD" job stop "$id"
    out_is <<<"$id Stopped"
}

a_closed_directory_in_the_path_hides_no_missing_command()
{
    [ "$(id -u)" = 0 ] || skip "there is no directory that root alone may enter"
    place
    chmod 711 "$(dirname "$PWD")"
    mkdir closed own && chmod 700 closed && chown 64994 own
    local user=(setpriv --reuid=64994 --regid=64994 --clear-groups env HOME="$PWD/own" TRAINYARD_DIR="$PWD/own/jobs" PATH="$PWD/closed:$PATH")
    "${user[@]}" test -x "$TRAINYARD" || skip "another user cannot run $TRAINYARD"
    run "${user[@]}" "$TRAINYARD" job run -- no-such-command 1
    grep -q "No such file or directory" .out .err || { fail "not said to be missing:"; cat .out .err >&3; }
    err_lacks "Permission denied"
    run "${user[@]}" "$TRAINYARD" job run -- 'no-such-command; sh -c "echo $PATH"'
    grep -q "not found" .out .err || { fail "the shell does not miss it:"; cat .out .err >&3; }
    out_lacks closed
}

a_job_waits_for_room_and_says_why()
{
    place
    export TRAINYARD_SLOTS=cpu=1
    local first second third
    first=$("$TRAINYARD" job submit -- sleep 600)
    state_is "$first" Running
    second=$("$TRAINYARD" job submit -- echo second)
    third=$("$TRAINYARD" job submit --priority 9 -- echo third)
    run "$TRAINYARD" job why "$third"
    out_has "waits: it is next in line and needs 1 processor"
    run "$TRAINYARD" job why "$second"
    out_has "job $third goes first"
    run "$TRAINYARD" job submit --cpu 3 -- true
    status 2
    err_has "it asks for 3 processors, and this machine has 1 processor"
    run "$TRAINYARD" job stop "$second"
    out_has "$second Stopped"
    run "$TRAINYARD" job stop --force "$first"
    run "$TRAINYARD" job wait --timeout 100s "$third"
    status 0
    run "$TRAINYARD" job list --json --state Stopped
    json 'len(d) == 2'
}

the_same_token_is_the_same_job()
{
    place
    local a b
    a=$("$TRAINYARD" job submit --client-token t1 -- true 2>/dev/null)
    b=$("$TRAINYARD" job submit --client-token t1 -- true 2>/dev/null)
    is "token" "$a" "$b"
    run "$TRAINYARD" job rerun "$a"
    status 0
    check "another job" test "$(cat .out)" != "$a"
}

a_file_says_the_same_as_flags()
{
    place
    cat >job.yaml <<'END'
name: from-file
command: [sh, -c, 'echo $PAI_USER_ARGS']
hp: {lr: 1e-05, layers: [64, 32], deep: true, none: null}
label: {team: ads}
retries: 1
END
    run "$TRAINYARD" check job.yaml
    status 0
    out_has "job file, 1 worker"
    run "$TRAINYARD" job run job.yaml --hp lr=0.5
    status 0
    out_is <<'END'
--lr 0.5 --layers '[64, 32]' --deep True --none None
END
    run "$TRAINYARD" job list --label team=ads --json
    json 'len(d) == 1 and d[0]["name"] == "from-file"'
    sed -i 's/retries/retrys/; s/1e-05/1/' job.yaml
    run "$TRAINYARD" job submit job.yaml
    status 2
    err_has "did you mean 'retries'?"
    err_has "job.yaml:5:1"
}

a_script_submits_the_same_again()
{
    place
    local id
    id=$("$TRAINYARD" job submit --hp "msg=it's" --env 'A=b c' --priority 5 -- 'echo "$PAI_HPS_MSG" $A')
    run "$TRAINYARD" job script "$id"
    status 0
    sed "s|^trainyard|'$TRAINYARD'|" .out >again.sh
    id=$(sh again.sh)
    run "$TRAINYARD" job wait "$id"
    status 0
    is "log" "$("$TRAINYARD" job logs "$id")" "it's b c"
    is "priority" "$(field "$id" 'd["priority"]')" 5
}

secrets_stay_secret()
{
    place
    export TY_TEST_PASSWORD=hunter2-very-secret
    printf 'file-secret-value\n' >token.txt
    chmod 600 token.txt
    local id
    id=$("$TRAINYARD" job submit --secret TY_TEST_PASSWORD --secret TOKEN=file:"$PWD/token.txt" -- \
        'echo "$TY_TEST_PASSWORD and $TOKEN"; printf "%s" "$TY_TEST_PASSWORD"; test ${#TOKEN} = 17 && until [ -e go ]; do sleep 0.05; done')
    unset TY_TEST_PASSWORD
    state_is "$id" Running
    check "not in a command line" sh -c "! grep -qaE '[h]unter2|[f]ile-secret' /proc/[0-9]*/cmdline 2>/dev/null"
    is "mode" "$(stat -c %a "jobs/jobs/$id/secrets.json")" 600
    touch go
    run "$TRAINYARD" job wait "$id"
    status 0
    run "$TRAINYARD" job logs "$id"
    out_has "*** and ***"
    out_lacks hunter2
    check "not in any file" sh -c '! grep -rqE "hunter2|file-secret" jobs'
    run "$TRAINYARD" job get --events --json "$id"
    out_lacks hunter2
    # A path is the submitter's, wherever the job runs.
    mkdir sub
    printf 'relative-value' >sub/token.txt
    run "$TRAINYARD" job run --secret TOKEN=file:sub/token.txt --source sub -- 'echo "[$TOKEN]" ${#TOKEN}; echo $TOKEN | cut -c1-3'
    status 0
    printf '[***] 14\nrel\n' | out_is
    # One that would hide half the log, or nothing, is refused.
    run env SHORT=abc "$TRAINYARD" job run --secret SHORT -- 'echo $SHORT'
    status 2
    err_has "error[E3019]: secret 'SHORT' has fewer than 4 characters, which cannot be kept out of logs"
    printf 'ab\n' >sub/short
    run "$TRAINYARD" job run --secret SHORT=file:sub/short -- true
    status 2
    err_has "error[E3019]: secret 'SHORT'"
    run env EMPTY= "$TRAINYARD" job run --secret EMPTY -- 'echo "[$EMPTY]"'
    out_is <<<"[]"
    run "$TRAINYARD" job submit --secret PASSWORD=hunter2 -- true
    status 2
    err_has "never its value"
    err_lacks hunter2
    run "$TRAINYARD" job submit --secret NOT_THERE_AT_ALL -- true
    status 1
    err_has "E3008"
}

lines_and_names_forge_nothing()
{
    place
    local id esc
    esc=$(printf '\033[31m')
    id=$("$TRAINYARD" job submit --hp "x=${esc}evil" -- \
        'printf "::trainyard \",\"state\":\"Failed\"=1 a\nb=2 ok=3 bad=nan progress=200 %s=4\n" "$(printf "\033[2J")"; echo "{\"type\": \"StateChanged\"}"')
    run "$TRAINYARD" job wait "$id"
    status 0
    is "metrics" "$(field "$id" 'sorted(k for k in d["metrics"] if not k.startswith("sys/"))')" "[]"
    run "$TRAINYARD" job submit --name "a${esc}b" -- true
    status 2
    err_has "a name holds letters, digits"
    run "$TRAINYARD" job submit --input "../x=data" -- true
    status 2
    err_has "is not a valid channel name"
}

bad_input_is_refused_before_anything_runs()
{
    place
    run "$TRAINYARD" job submit
    status 2
    err_has "the job has no command"
    run "$TRAINYARD" job submit --source nowhere -- true
    status 1
    err_has "source '$PWD/nowhere' is not a directory"
    run "$TRAINYARD" job submit --input train=nowhere -- true
    status 1
    err_has "error[E3005]: input 'train': '$PWD/nowhere': No such file or directory"
    run "$TRAINYARD" job submit --data nothing -- true
    status 1
    err_has "error[E3107]: no dataset 'nothing'"
    run "$TRAINYARD" job submit --data /tmp -- true
    status 2
    err_has "error[E3301]: '/tmp' has no mount path: write /tmp:/mnt/data, or name it with \`trainyard dataset create\`"
    run "$TRAINYARD" job submit --data :/mnt/x -- true
    err_has "error[E3301]: ':/mnt/x' names no dataset: write NAME or NAME:/mount/path"
    run "$TRAINYARD" job submit --input train=ftp://host/x -- true
    err_has "error[E3006]: input 'train': 'ftp://host/x': ftp:// is not supported; give a path, s3://, oss://, odps:// or dataset:NAME"
    run "$TRAINYARD" job submit --output model=odps://p/tables/t -- true
    err_has "error[E3006]: output 'model': 'odps://p/tables/t': jobs write to tables themselves; give a directory, s3:// or oss://"
    run "$TRAINYARD" dataset create x --path ftp://host/x
    err_has "error[E3301]: --path: 'ftp://host/x' is a URI, not a path: name its kind with --type"
    run "$TRAINYARD" job submit --metric 'auc=(' -- true
    status 2
    err_has "error[E3010]: metric 'auc'"
    run "$TRAINYARD" job submit --metric 'auc=no group' -- true
    err_has "has 0 groups, not one"
    run "$TRAINYARD" job submit --priority 12 -- true
    status 2
    err_has "E0203"
    run "$TRAINYARD" job submit --priority high -- true
    status 2
    err_has "'high' is not a whole number"
    run "$TRAINYARD" job submit --timeout soon -- true
    status 2
    err_has "times are written like"
    run "$TRAINYARD" job submit --hp nothing -- true
    status 2
    err_has "--hp: 'nothing' is not NAME=VALUE"
    run "$TRAINYARD" job submit --output model=/proc/x -- true
    status 1
    err_has "error[E3007]: output 'model'"
    run "$TRAINYARD" job submit true
    status 1
    run "$TRAINYARD" job get jb-000000000000
    status 1
    err_has "error[E3103]: no job 'jb-000000000000'"
    run "$TRAINYARD" job stop ../../etc
    status 1
    err_has "error[E3103]"
    run "$TRAINYARD" job list --json
    json 'd == []'
}

datasets_are_mounted()
{
    place
    private_ml
    mkdir store
    echo 42 >store/answer
    run "$TRAINYARD" dataset create taobao --path store --mount /mnt/ty-test/data
    status 0
    local id
    id=$(cat .out)
    run "$TRAINYARD" dataset create taobao --path store
    status 2
    err_has "E3106"
    for place in '' relative /a/../b; do
        run "$TRAINYARD" job submit --data "taobao:$place" -- true
        status 2
        err_has "error[E3301]: dataset 'taobao': '$place' is not a mount path: it is absolute, without '..', ':', ',' and '\"', and not in /proc"
    done
    run "$TRAINYARD" job run --data taobao -- 'cat /mnt/ty-test/data/answer; echo new >/mnt/ty-test/data/result'
    status 0
    out_is <<'END'
42
END
    is "written" "$(cat store/result)" new
    check "nothing is left on the machine" test ! -e /mnt/ty-test
    run "$TRAINYARD" job run --data "$id:/mnt/ty-other" -- cat /mnt/ty-other/answer
    status 0
    run "$TRAINYARD" job run --input d=dataset:taobao -- 'cat $PAI_INPUT_D/answer; touch $PAI_INPUT_D/x 2>/dev/null || echo read-only'
    out_has read-only
    run "$TRAINYARD" dataset list --json
    json 'len(d) == 1 and d[0]["mount"] == "/mnt/ty-test/data"'
    run "$TRAINYARD" dataset delete taobao
    status 0
}

the_code_is_copied_at_submission()
{
    place
    export TRAINYARD_SLOTS=cpu=1
    mkdir -p src/.git src/skip
    echo 'echo old' >src/main.sh
    echo big >src/skip/big
    printf 'skip/\n*.tmp\n' >src/.trainyardignore
    touch src/a.tmp
    local block id
    block=$("$TRAINYARD" job submit -- sleep 600)
    state_is "$block" Running
    run "$TRAINYARD" job submit --source src -- sh main.sh
    err_has "copied 2 files"
    id=$(cat .out)
    echo 'echo new' >src/main.sh
    run "$TRAINYARD" job stop --force "$block"
    run "$TRAINYARD" job wait "$id"
    is "log" "$("$TRAINYARD" job logs "$id")" old
    check "ignored" test ! -e "jobs/jobs/$id/ml/usercode/skip"
}

the_submitter_may_die()
{
    place
    local pid id
    "$TRAINYARD" job run -- 'sleep 0.5; echo finished' >/dev/null 2>err.txt &
    pid=$!
    for _ in $(seq 100); do grep -q ^job err.txt && break; sleep 0.02; done
    kill -9 $pid
    wait $pid 2>/dev/null
    id=$(sed -n 's/^job //p' err.txt)
    run "$TRAINYARD" job wait --timeout 100s "$id"
    status 0
    is "log" "$("$TRAINYARD" job logs "$id")" finished
}

an_agent_ends_with_its_directory()
{
    place
    local id pid
    id=$("$TRAINYARD" job submit -- sleep 600)
    state_is "$id" Running
    "$TRAINYARD" job submit --cpu 8 -- true >/dev/null
    pid=$(pgrep -f -- 'job agent' | while read -r p; do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx "TRAINYARD_DIR=$PWD/jobs" &&
            [ "$(cat "/proc/$p/comm")" = trainyard ] && echo "$p"
    done)
    check "there is an agent" kill -0 "$pid"
    "$TRAINYARD" job stop --force "$id" >/dev/null
    rm -rf jobs
    for _ in $(seq 200); do
        kill -0 "$pid" 2>/dev/null || return
        sleep 0.05
    done
    fail "the agent is still there"
    kill "$pid"
}

wait_is_for_all_or_for_any()
{
    place
    local bad good slow
    bad=$("$TRAINYARD" job submit -- 'exit 5')
    good=$("$TRAINYARD" job submit -- 'sleep 1; echo done')
    slow=$("$TRAINYARD" job submit -- 'sleep 100')
    run "$TRAINYARD" job wait --timeout 60s "$good" "$bad"
    status 5
    is "ends" "$(sort .out)" "$(printf '%s\n' "$bad Failed" "$good Succeeded" | sort)"
    run "$TRAINYARD" job wait --any --timeout 60s "$slow" "$good"
    status 0
    out_is <<END
$good Succeeded
END
    run "$TRAINYARD" job wait --any "$slow" "$bad" "$good"
    status 5
    run "$TRAINYARD" job wait --timeout 300ms "$good" "$slow"
    status 124
    err_has "job $slow is Running after 0.3 s"
    run "$TRAINYARD" job stop --force "$slow"
    run "$TRAINYARD" job wait "$slow" "$bad"
    status 3
    run "$TRAINYARD" job wait "$good" jb-000000000000
    status 1
}

daemons_do_not_outlive_their_job()
{
    place
    run "$TRAINYARD" job run -- 'setsid sleep 77 & setsid sh -c "setsid sleep 77 &" ; echo started'
    status 0
    check "no daemon" sh -c '! pgrep -f "^[s]leep 77" >/dev/null'
}

an_output_without_a_path_is_kept_with_the_job()
{
    place
    run "$TRAINYARD" job run --output result= -- 'echo x >"$PAI_OUTPUT_RESULT/x"'
    status 0
    run "$TRAINYARD" job outputs "$(sed -n 's/^job //p' .err)"
    out_has "result/x"
    check "nothing here" test ! -e x
    run "$TRAINYARD" job run --input train= -- true
    status 2
    err_has "error[E3006]: input 'train': '' is not a path"
}

# Of this machine, and of a server.
logs_are_shown_of_a_time()
{
    place
    local id middle where
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none >server.log 2>&1 &
    server=$!
    wait_for_server
    for where in "" "$url"; do
        export TRAINYARD_SERVER=$where TRAINYARD_TOKEN
        TRAINYARD_TOKEN=$(cat yard/admin.token)
        id=$("$TRAINYARD" job submit --workers 2 -- 'echo first; sleep 1; echo second')
        run "$TRAINYARD" job wait --timeout 60s "$id"
        middle=$("$TRAINYARD" job get --json "$id" | python3 -c '
import datetime, json, sys
t = datetime.datetime.fromisoformat(json.load(sys.stdin)["finished"].replace("Z", "+00:00"))
print((t - datetime.timedelta(seconds=0.5)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))')
        is "since$where" "$("$TRAINYARD" job logs --worker 1 --since "$middle" "$id")" second
        is "until$where" "$("$TRAINYARD" job logs --worker 1 --until "$middle" "$id")" first
        is "both, of all$where" "$("$TRAINYARD" job logs --since now-1h --until "$middle" "$id" | sort | tr '\n' ' ')" "worker-0| first worker-1| first "
        is "none before$where" "$("$TRAINYARD" job logs --until 1h "$id")" ""
        is "none behind$where" "$("$TRAINYARD" job logs --since now "$id")" ""
    done
    unset TRAINYARD_SERVER TRAINYARD_TOKEN
    finish
    id=$(basename jobs/jobs/jb-*)
    run "$TRAINYARD" job logs --since yesterday "$id"
    status 2
    err_has "error[E0603]: --since: 'yesterday' is no time: 2026-01-31T18:00:00Z, or 90m for 90 minutes ago"
    run "$TRAINYARD" job logs --since 1h --tail 3 "$id"
    status 2
    run "$TRAINYARD" job logs --follow --until 1h "$id"
    status 2
}

tap_cases logs_are_shown_of_a_time a_training_script_runs_unchanged bubblewrap_gives_a_private_ml_too \
    without_namespaces_the_variables_hold four_workers_see_each_other \
    variables_are_those_of_the_contract the_exit_status_is_the_commands \
    a_failed_worker_ends_the_others one_worker_starts_again_alone the_end_is_explained passing_failures_are_retried a_time_limit_ends_a_job \
    a_job_is_stopped_with_grace the_grace_time_is_that_of_all_processes \
    the_beginning_of_an_id_is_enough a_helper_that_is_not_needed_any_more_has_not_failed \
    progress_does_not_fall_back_with_a_new_supervisor a_log_does_not_reach_into_the_terminal a_job_is_suspended_and_resumed \
    the_time_in_which_it_is_suspended_does_not_count stopping_says_what_follows a_closed_directory_in_the_path_hides_no_missing_command \
    a_job_waits_for_room_and_says_why the_same_token_is_the_same_job \
    a_file_says_the_same_as_flags a_script_submits_the_same_again secrets_stay_secret \
    lines_and_names_forge_nothing bad_input_is_refused_before_anything_runs \
    datasets_are_mounted the_code_is_copied_at_submission the_submitter_may_die \
    an_agent_ends_with_its_directory wait_is_for_all_or_for_any an_output_without_a_path_is_kept_with_the_job daemons_do_not_outlive_their_job
