#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs of a server's users are kept apart from the server and from each other. What an attacker would try is in
# hostile.sh; here it is looked at how they run.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

# start [FLAG...]: a server below ./yard; $url, and the command line speaks to it as its admin.
start()
{
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none "$@" 2>server.log &
    server=$!
    wait_for_server
    TRAINYARD_TOKEN=${TRAINYARD_TOKEN:-$(cat yard/admin.token)}
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
}

isolated()
{
    start "$@"
    grep -q "^isolation: accounts" server.log || { finish; skip "no accounts here: $(grep ^isolation server.log)"; }
}

the_server_says_how_jobs_are_isolated()
{
    start
    grep -qE '^isolation: (accounts|namespaces|containers|none)' server.log || fail "it does not: $(cat server.log)"
    [ "$(id -u)" != 0 ] || grep -q "^warning: this server is root" server.log || fail "root is not warned"
    finish
    start --trust-submitters
    grep -q '^isolation: none: .*(--trust-submitters)' server.log || fail "$(cat server.log)"
    finish
    run "$TRAINYARD" server --dir yard --job-uids 0-10
    status 2
    err_has "error[E0603]: --job-uids"
}

ones_own_job_can_be_isolated()
{
    unset TRAINYARD_SERVER TRAINYARD_TOKEN
    mkdir code && echo 'print("code", open("x").read())' >code/main.py && echo data >code/x
    echo mine >private
    local user=(env) name keys=
    export TRAINYARD_DIR=$PWD/own
    for name in here ordinary; do
        if [ "$name" = ordinary ]; then
            [ "$(id -u)" = 0 ] || break
            user=(setpriv --reuid=64992 --regid=64992 --clear-groups env "HOME=$PWD/home" "TRAINYARD_DIR=$PWD/home/own")
            chmod 711 "$(dirname "$PWD")" && mkdir home && chown 64992 home
            keys=$(mktemp /var/lib/trainyard-it.XXXXXX) && echo mine >"$keys" && chown 64992 "$keys"
            user+=("AWS_SHARED_CREDENTIALS_FILE=$keys")
            "${user[@]}" test -x "$TRAINYARD" && "${user[@]}" unshare -Ur true 2>/dev/null || break
        fi
        run "${user[@]}" "$TRAINYARD" job run --isolate --source code -- \
            "python3 -S main.py; pwd; cat '$PWD/private' $keys; ls -A '$PWD/home'; tr -d '\t' </proc/self/status; touch /etc/x /ml/input/x 2>&1; echo w >/ml/output/model/w; kill -9 1; echo end"
        [ "$got" = 1 ] && grep -q E3205 .err && { echo "# $(cat .err)" >&3; continue; }
        status 0
        out_has "code data"
        out_has /ml/usercode
        out_has CapEff:0000000000000000
        out_has NoNewPrivs:1
        out_has "'/etc/x': Read-only file system"
        out_has end
        out_lacks mine
        check "$name: the output is there" sh -c 'cat own/jobs/*/ml/output/model/w || cat home/own/jobs/*/ml/output/model/w'
    done
    rm -f "$keys"
    run env TRAINYARD_DIR= "$TRAINYARD" job run --isolate --server http://127.0.0.1:1 -- true
    err_has "--isolate is for jobs of this machine"
}

a_job_has_an_identity_and_a_view_of_its_own()
{
    isolated
    run "$TRAINYARD" job run -- 'id -u; id -g; id -G; pwd; ls /proc | grep -c "^[0-9]"; tr -d "\t" </proc/self/status; ls -A /run'
    status 0
    out_has 1879100000
    out_has /ml/usercode
    out_has "NoNewPrivs:1"
    out_has "Seccomp:2"
    out_has "CapEff:0000000000000000"
    out_has "CapBnd:0000000000000000"
    [ "$(sed -n 5p .out)" -le 6 ] || fail "it sees $(sed -n 5p .out) processes"
    run "$TRAINYARD" job run -- "ls -A '$PWD' '$PWD/yard' 2>/dev/null; touch /usr/x /etc/x 2>&1; touch /ml/input/x 2>&1
        echo data >/ml/usercode/a && echo data >\"\$PAI_OUTPUT_MODEL/b\" && echo data >/tmp/c && echo data >/dev/shm/d && echo wrote"
    out_has wrote
    out_lacks jobs.db
    out_has "'/usr/x': Read-only file system"
    [ -z "$(ls yard/jobs/*/tmp 2>/dev/null)" ] || fail "its /tmp is left"
    finish
}

a_job_whose_view_cannot_be_made_does_not_run()
{
    export TRAINYARD_SLOTS=cpu=1
    isolated
    unset TRAINYARD_SLOTS
    local first id
    first=$("$TRAINYARD" job submit -- 'while :; do sleep 0.05; done')
    id=$("$TRAINYARD" job submit -- 'echo it runs')
    : >"yard/jobs/$id/root" || fail "no directory of the job that waits"
    "$TRAINYARD" job stop "$first" >/dev/null
    run "$TRAINYARD" job wait --timeout 30s "$id"
    [ "$got" != 0 ] || fail "it succeeded"
    run "$TRAINYARD" job get --events --json "$id"
    out_has LaunchFailure
    out_has "cannot isolate the job: cannot make directory"
    run "$TRAINYARD" job logs "$id"
    out_lacks "it runs"
    finish
}

ends_of_isolated_jobs_are_told_as_they_were()
{
    isolated
    run "$TRAINYARD" job run -- 'exit 9'
    status 9
    run "$TRAINYARD" job run -- 'kill -9 $$'
    [ "$got" != 0 ] || fail "a kill"
    err_has SIGKILL
    run "$TRAINYARD" job run -- /no/such/program x
    status 127
    local id
    id=$("$TRAINYARD" job submit -- 'trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done')
    for _ in $(seq 200); do "$TRAINYARD" job logs "$id" 2>/dev/null | grep -q ready && break; sleep 0.05; done
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 20s "$id"
    run "$TRAINYARD" job logs "$id"
    out_has bye
    # The grace time is that of all processes, also of those in another session.
    local text child='trap "echo told; sleep 0.4; echo saved; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
    for text in "sh -c '$child'; echo never" "setsid sh -c '$child' & wait"; do
        id=$("$TRAINYARD" job submit --grace 20s -- "$text")
        for _ in $(seq 200); do "$TRAINYARD" job logs "$id" 2>/dev/null | grep -q ready && break; sleep 0.05; done
        run "$TRAINYARD" job stop "$id"
        run "$TRAINYARD" job wait --timeout 10s "$id"
        status 3
        run "$TRAINYARD" job logs "$id"
        out_has saved
        out_lacks never
    done
    # What it leaves behind goes with it, also from another session.
    id=$("$TRAINYARD" job submit --wait -- 'setsid sleep 4711 & sleep 0.2')
    for p in /proc/[0-9]*/cmdline; do { tr "\0" " " <"$p"; echo; } 2>/dev/null; done | grep -q '^sleep 4711' && fail "a process is left"
    finish
}

users_have_accounts_of_their_own_and_keep_them()
{
    isolated
    local ann bob
    for name in ann bob; do
        curl -s -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' \
            -d "{\"name\": \"$name\", \"role\": \"submitter\"}" "$url/api/v1/users" >/dev/null
        curl -s -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' -d '{"role": "submitter"}' \
            "$url/api/v1/users/$name/tokens" >$name.json
    done
    ann=$(python3 -c 'import json; print(json.load(open("ann.json"))["token"])')
    bob=$(python3 -c 'import json; print(json.load(open("bob.json"))["token"])')
    run env TRAINYARD_TOKEN="$ann" "$TRAINYARD" job run -- 'id -u'
    cp .out first
    run env TRAINYARD_TOKEN="$bob" "$TRAINYARD" job run -- 'id -u'
    cmp -s .out first && fail "two users have one identity"
    run env TRAINYARD_TOKEN="$ann" "$TRAINYARD" job run -- 'id -u'
    cmp -s .out first || fail "ann has another identity now"
    finish
}

processors_memory_and_processes_are_limited()
{
    isolated --job-processes 40
    grep -q "control groups limit processors memory processes" server.log || { finish; skip "no control groups here"; }
    run "$TRAINYARD" job run --cpu 0.2 -- 'python3 -S -c "
import time
a = time.time(); c = time.process_time()
while time.time() - a < 2: pass
print(\"share\", (time.process_time() - c) / 2 < 0.5)"'
    out_has "share True"
    run "$TRAINYARD" job run --memory 64Mi -- 'python3 -S -c "x = bytearray(400 << 20); print(len(x))"'
    [ "$got" != 0 ] || fail "400 MiB in 64 MiB"
    run "$TRAINYARD" job run -- 'i=0; while [ $i -lt 100 ]; do sleep 3 & i=$((i+1)); done; echo all'
    out_lacks all
    finish
}

disks_are_limited()
{
    isolated --job-disk 16m
    run "$TRAINYARD" job run -- 'cd /ml/output/model; i=0; while [ $i -lt 60 ]; do head -c 1m /dev/zero >f$i; i=$((i+1)); sleep 0.1; done; sleep 30; echo all'
    [ "$got" != 0 ] || fail "a job fills the disk"
    out_lacks all
    err_has "QuotaExceeded"
    err_has "more than the 16 MiB of --job-disk"
    run "$TRAINYARD" job run -- 'head -c 8m /dev/zero >/ml/output/model/f; sleep 5; echo fine'
    status 0
    out_has fine
    finish
}

a_job_that_cannot_be_limited_does_not_run()
{
    export TRAINYARD_SLOTS=cpu=1
    isolated
    unset TRAINYARD_SLOTS
    local first id
    first=$("$TRAINYARD" job submit -- 'while :; do sleep 0.05; done')
    id=$("$TRAINYARD" job submit -- 'echo it runs')
    # Control groups were found, but this worker's cannot be noted.
    sed -i 's/"held_memory": 0/"held_memory": 1/' "yard/jobs/$id/isolation.json"
    grep -q '"held_memory": 1' "yard/jobs/$id/isolation.json" || fail "$(cat "yard/jobs/$id/isolation.json")"
    mkdir -p "yard/jobs/$id/run/0.1.cgroup"
    "$TRAINYARD" job stop "$first" >/dev/null
    run "$TRAINYARD" job wait --timeout 30s "$id"
    [ "$got" != 0 ] || fail "it succeeded"
    run "$TRAINYARD" job get --events --json "$id"
    out_has LaunchFailure
    out_has "cannot limit the memory of a worker: "
    run "$TRAINYARD" job logs "$id"
    out_lacks "it runs"
    finish
}

packages_are_installed_as_the_job()
{
    isolated
    mkdir -p src/evil
    cat >src/evil/setup.py <<'PY'
import os, sys
sys.stderr.write("uid %d\n" % os.getuid())
open("/ml/output/model/uid", "w").write(str(os.getuid()))
raise SystemExit(3)
PY
    echo ./evil >src/requirements.txt
    run "$TRAINYARD" job run --source src -- true
    [ "$got" != 0 ] || fail "a package that cannot be installed"
    grep -rqs '^18791' yard/jobs/*/ml/output/model/uid || skip "pip does not run setup.py here: $(tail -3 yard/jobs/*/logs/prepare*)"
    finish
}

a_job_can_be_without_a_network()
{
    isolated --job-network none
    run "$TRAINYARD" job run --workers 2 -- 'cat /proc/net/dev | grep -c :; cut -d: -f1 /proc/net/dev
        python3 -S -c "
import os, socket, time
a = (os.environ[\"MASTER_ADDR\"], int(os.environ[\"MASTER_PORT\"]))
if os.environ[\"RANK\"] == \"0\":
    s = socket.create_server(a); print(\"met\", s.accept()[0].recv(9))
else:
    for i in range(100):
        try: socket.create_connection(a).send(b\"hello\"); break
        except OSError: time.sleep(0.1)
"'
    status 0
    out_has "met b'hello'"
    out_lacks eth
    finish
}

containers_that_could_not_meet_are_not_started()
{
    mkdir bin
    printf '#!/bin/sh\necho "$1" >>%q/asked\n' "$PWD" >bin/podman
    chmod +x bin/podman
    PATH=$PWD/bin:$PATH isolated --job-network none
    run "$TRAINYARD" job run --workers 2 --image x -- true
    status 126
    err_has "the 2 workers of this job could not reach each other: the server gives jobs no network"
    ! grep -q run asked || fail "a container was started"
    finish
}

# shellcheck disable=SC2016 # texts for jobs
tap_cases the_server_says_how_jobs_are_isolated ones_own_job_can_be_isolated a_job_has_an_identity_and_a_view_of_its_own \
    a_job_whose_view_cannot_be_made_does_not_run ends_of_isolated_jobs_are_told_as_they_were users_have_accounts_of_their_own_and_keep_them \
    processors_memory_and_processes_are_limited disks_are_limited a_job_that_cannot_be_limited_does_not_run packages_are_installed_as_the_job a_job_can_be_without_a_network containers_that_could_not_meet_are_not_started
