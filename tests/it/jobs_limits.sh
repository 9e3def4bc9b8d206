#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs that meet a limit of the machine: memory, disk, packages, a record that is away.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"

job_of_err() { sed -n 's/^job //p' .err; }

too_much_memory_ends_a_job()
{
    place
    local id how
    run "$TRAINYARD" job run --memory 64Mi --retries 3 --backoff 0s --workers 2 --grace 1s -- \
        'test $RANK = 0 && exec sleep 60; exec python3 -c "import time; x = bytearray(400 << 20); time.sleep(60)"'
    status 137
    err_has "Failed (OutOfMemory): "
    id=$(job_of_err)
    how=$(field "$id" '[e["data"]["memory"] for e in d["events"] if e["type"] == "WorkerStarted"]')
    is "attempts" "$(field "$id" 'd["attempt"]')" 1
    case $how in
    "['cgroup', 'cgroup']") err_has "worker 1: killed by SIGKILL, which needed more than 64 MiB of memory" ;;
    "['measured', 'measured']") err_has "worker 1 had more than 64 MiB of memory" ;;
    *) fail "limited by $how" ;;
    esac
    check "no group is left" sh -c "! find /sys/fs/cgroup -name 'trainyard-$id*' 2>/dev/null | grep -q ."
    # Enough is enough.
    run "$TRAINYARD" job run --memory 512Mi -- python3 -c 'x = bytearray(100 << 20); print(len(x) >> 20)'
    status 0
    out_has 100
}

# A small disk of one's own for the directory of jobs; the rest of the case runs on it.
on_a_small_disk()
{
    export TRAINYARD TY_SOURCE
    unshare -rm sh -c 'true' 2>/dev/null || skip "this machine allows no mount namespaces"
    unshare -m true 2>/dev/null || skip "only root may mount a small disk here"
    mkdir disk
    timeout 60 unshare -m --propagation private bash -c 'mount -t tmpfs -o size=4m none disk || exit 77; . ./case.sh' >.out 2>.err
    got=$?
    [ $got != 77 ] || skip "no disk can be mounted here"
}

# Processes that share pages have more in sum than the kernel counts for their group.
a_next_supervisor_knows_who_limits_memory()
{
    place
    local id pid
    cat >share.py <<'PY'
import mmap, os, time
m = mmap.mmap(-1, 60 << 20)
m.write(bytes(60 << 20))
for _ in range(3):
    if os.fork() == 0:
        sum(m[i] for i in range(0, len(m), 4096))
        time.sleep(8)
        os._exit(0)
print("shared", flush=True)
for _ in range(3): os.wait()
PY
    id=$("$TRAINYARD" job submit --memory 160Mi -- "python3 -S $PWD/share.py")
    for _ in $(seq 200); do "$TRAINYARD" job logs "$id" 2>/dev/null | grep -q shared && break; sleep 0.05; done
    [ "$(field "$id" '[e["data"]["memory"] for e in d["events"] if e["type"] == "WorkerStarted"]')" = "['cgroup']" ] ||
        { "$TRAINYARD" job stop "$id" >/dev/null; skip "no control groups here"; }
    for pid in $(pgrep -x "$id" || pgrep -f -- "--job $id"); do kill -9 "$pid"; done
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
    is "taken over" "$(field "$id" 'any(e["type"] == "Reattached" for e in d["events"])')" True
}

a_full_disk_is_said()
{
    place
    cat >case.sh <<'END'
export TRAINYARD_DIR=$PWD/disk/jobs
ty() { "$TRAINYARD" "$@"; }
# 1: the job fills it with its output.
ty job run -- 'head -c 8000000 /dev/zero >$PAI_OUTPUT_MODEL/big' 2>&1
echo "status $?"
id=$(ty job list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
ty job get "$id" --json --events | python3 -c 'import json,sys
d = json.load(sys.stdin); print(d["state"], d["reason"], [e["message"] for e in d["events"] if e["type"] == "Warning"])'
rm -rf "disk/jobs/jobs/$id/ml/output"
# 2: the copy of the code does not fit.
mkdir src; head -c 8000000 /dev/urandom >src/blob
ty job submit --source src -- true 2>&1
echo "status $?"
# 3: nothing fits any more.
head -c 8000000 /dev/zero >disk/fill 2>/dev/null
ty job submit -- true 2>&1
echo "status $?"
rm disk/fill
ty job run -- echo again 2>&1
echo "status $?"
END
    on_a_small_disk
    out_has "No space left on device"
    out_has "Failed UserExit"
    out_has "the disk of"
    grep -q "error\[E[0-9]*\].*No space left on device\|error\[E31.*full" .out || { fail "submission"; show .out; }
    out_has again
    is "statuses" "$(grep -c '^status 0' .out)" 1
}

outputs_that_cannot_be_listed_fail_the_job()
{
    place
    run "$TRAINYARD" job run -- 'cd $PAI_OUTPUT_MODEL && for i in $(seq 70); do mkdir d && cd d; done'
    status 1
    err_has "Failed (OutputFailed): "
    err_has "is nested deeper than 64"
}

what_vanishes_before_the_start_is_named()
{
    place
    export TRAINYARD_SLOTS=cpu=1
    local block input output data code
    mkdir in set
    touch file
    block=$("$TRAINYARD" job submit -- 'until [ -e go ]; do sleep 0.05; done')
    state_is "$block" Running
    "$TRAINYARD" dataset create gone --path set >/dev/null
    input=$("$TRAINYARD" job submit --input train=in -- true)
    output=$("$TRAINYARD" job submit --output model=out -- true)
    data=$("$TRAINYARD" job submit --data gone -- true)
    code=$("$TRAINYARD" job submit --input x=file -- 'cat $PAI_INPUT_X')
    rm -r in out
    touch out
    "$TRAINYARD" dataset delete gone
    touch go
    run "$TRAINYARD" job wait --timeout 60s "$input"
    status 1
    err_has "Failed (InputMissing): input 'train': '$PWD/in': No such file or directory"
    run "$TRAINYARD" job wait --timeout 60s "$output"
    status 1
    err_has "Failed (OutputFailed): output 'model': '$PWD/out'"
    run "$TRAINYARD" job wait --timeout 60s "$data"
    status 1
    err_has "Failed (InputMissing): no dataset 'gone'"
    run "$TRAINYARD" job wait --timeout 60s "$code"
    status 0
}

packages_are_installed_for_one_job()
{
    place
    python3 -m venv --help >/dev/null 2>&1 || skip "python3 has no venv"
    mkdir -p src
    make_wheel
    echo "$PWD/ty_test_pack-1.0-py3-none-any.whl" >src/requirements.txt
    export PIP_NO_INDEX=1 PIP_CONFIG_FILE=/dev/null
    run "$TRAINYARD" job run --source src -- python3 -c 'import ty_test_pack; print(ty_test_pack.VALUE)'
    status 0
    out_has 42
    check "only for that job" sh -c '! python3 -c "import ty_test_pack" 2>/dev/null'
    echo 'no-such-package-at-all==9.9' >src/requirements.txt
    run "$TRAINYARD" job run --source src -- echo ran
    status 1
    err_has "Failed (DependencyInstall): the Python packages could not be installed; \`trainyard job logs --worker prepare jb-"
    out_lacks ran
    # What pip wrote is not the program's output, but it is in the log.
    err_has "prepare| ERROR: No matching distribution found for no-such-package-at-all"
    local id
    id=$(job_of_err)
    run "$TRAINYARD" job logs "$id"
    out_has "prepare| ERROR: No matching distribution found for no-such-package-at-all"
    run "$TRAINYARD" job logs --worker prepare --tail 1 "$id"
    out_is <<'END'
ERROR: No matching distribution found for no-such-package-at-all==9.9
END
    run "$TRAINYARD" job run --source src --requirements-optional -- echo ran
    status 0
    out_has ran
}

a_postgresql_that_is_away_for_a_while()
{
    place
    local url rc=0 pg id
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    url=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$url"
    export TRAINYARD_STORE=$url
    id=$("$TRAINYARD" job submit --metric 'x=x: ([0-9]+)' -- \
        'echo x: 1; until [ -e down ]; do sleep 0.05; done; echo x: 2; until [ -e go ]; do sleep 0.05; done; echo x: 3')
    state_is "$id" Running
    "$TY_SOURCE/tests/pg" stop "$pg"
    touch down go
    run "$TRAINYARD" job list
    status 1
    err_has "error[E31"
    # The program has ended by now, and nobody could be told.
    for _ in $(seq 200); do [ -e "jobs/jobs/$id/run/0.1.exit" ] && break; sleep 0.05; done
    "$TY_SOURCE/tests/pg" restart "$pg"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
    is "nothing is lost" "$(field "$id" '(d["metrics"]["x"]["value"], d["attempt"], d["events"][-1]["data"]["state"])')" \
        "(3, 1, 'Succeeded')"
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

a_record_that_somebody_locks()
{
    place
    local id pid
    id=$("$TRAINYARD" job submit -- 'until [ -e go ]; do sleep 0.05; done; echo done')
    state_is "$id" Running
    python3 - <<'PY' &
import os, sqlite3, time
c = sqlite3.connect("jobs/jobs.db", isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
open("locked", "w").close()
while not os.path.exists("unlock"): time.sleep(0.05)
c.execute("ROLLBACK")
PY
    pid=$!
    for _ in $(seq 200); do [ -e locked ] && break; sleep 0.05; done
    touch go
    for _ in $(seq 200); do [ -e "jobs/jobs/$id/run/0.1.exit" ] && break; sleep 0.05; done
    touch unlock
    wait $pid
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
}

the_agent_goes_on_without_its_fork_server()
{
    place
    local id pid
    id=$("$TRAINYARD" job submit --cpu 8 -- 'until [ -e go ]; do sleep 0.05; done')
    state_is "$id" Running
    pid=$(pgrep -x ty-forkserver | while read -r p; do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx "TRAINYARD_DIR=$PWD/jobs" && echo "$p"
    done)
    check "there is a fork server" kill -9 "$pid"
    touch go
    run "$TRAINYARD" job run -- echo after
    status 0
    out_has after
    state_is "$id" Succeeded
}

gpus_are_given_and_watched()
{
    place
    local id nvml=${TY_BUILD:-$TY_SOURCE/build/dev}/tests/it/nvml
    [ -e "$nvml/libnvidia-ml.so.1" ] || skip "the stand-in for NVIDIA's library was not built"
    export TRAINYARD_SLOTS=cpu=8,gpu=4
    # A job that has the first GPU, so that the other one gets 1,2 and 3.
    id=$(LD_LIBRARY_PATH=$nvml "$TRAINYARD" job submit --gpu 1 -- 'until [ -e go ]; do sleep 0.05; done')
    state_is "$id" Running
    id=$("$TRAINYARD" job submit --workers 3 --gpu 1 --cpu 0.5 -- \
        'echo $RANK has $CUDA_VISIBLE_DEVICES of $NPROC_PER_NODE; until [ -e go ]; do sleep 0.05; done')
    for _ in $(seq 200); do
        run "$TRAINYARD" job get --json --metrics "$id"
        grep -q gpu0_bytes .out && break
        sleep 0.1
    done
    touch go
    run "$TRAINYARD" job wait "$id"
    status 0
    run "$TRAINYARD" job get --metrics "$id"
    out_has "sys/gpu0_percent"
    run "$TRAINYARD" job logs "$id"
    out_has "worker-0| 0 has 1 of 1"
    out_has "worker-2| 2 has 3 of 1"
    is "sampled" "$(field "$id" '(d["metrics"]["sys/gpu0_bytes"]["value"] >> 20) in (1, 2, 3)')" True
    is "memory and time too" "$(field "$id" 'd["metrics"]["sys/rss_bytes"]["value"] > 0 and d["metrics"]["sys/cpu_s"]["value"] >= 0')" True
}

tap_cases too_much_memory_ends_a_job a_next_supervisor_knows_who_limits_memory a_full_disk_is_said outputs_that_cannot_be_listed_fail_the_job \
    what_vanishes_before_the_start_is_named packages_are_installed_for_one_job a_postgresql_that_is_away_for_a_while \
    a_record_that_somebody_locks the_agent_goes_on_without_its_fork_server \
    gpus_are_given_and_watched
