#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs and shells beside running workers, here and over a server; what jobs use.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"
. "$(dirname "$0")/image_lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

# sit WORDS INPUT COMMAND...: at a terminal of 33 lines and 99 columns; types INPUT when it has seen WORDS, and has 44
# lines and 122 columns after the answer.
sit()
{
    cat >sit.py <<'PY'
import fcntl, os, pty, select, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[3], sys.argv[3:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
seen, typed, end = b"", False, time.time() + 60
while time.time() < end:
    if select.select([fd], [], [], 1)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    if typed and b"tty yes [" in seen:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 122, 0, 0))
        typed = None
    if typed is False and (sys.argv[1].encode() in seen or time.time() > end - 50):
        os.write(fd, sys.argv[2].encode())
        typed = True
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
PY
    run python3 sit.py "$@"
}

wait_for_log() # ID TEXT
{
    for _ in $(seq 400); do "$TRAINYARD" job logs "$1" 2>/dev/null | grep -q "$2" && return; sleep 0.05; done
    fail "job $1 did not write $2"
}

start()
{
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none 2>server.log &
    server=$!
    wait_for_server
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
}

# What a program beside a worker sees, wherever it is asked for.
looks_around()
{
    local id=$1
    run "$TRAINYARD" job exec "${id%????}" -- sh -c 'echo "[$CITY]" "$PWD"; cat here; echo oops >&2; exit 7'
    status 7
    out_is <<END
[Ulm] /ml/usercode
from the job
END
    err_is <<<oops
    printf 'one\ntwo\n' | "$TRAINYARD" job exec "$id" -- wc -l >.out
    is "input" "$(tr -d ' ' <.out)" 2
    run "$TRAINYARD" job exec "$id" -- no-such-program
    status 127
    err_has "no-such-program"
    run "$TRAINYARD" job exec --worker 3 "$id" -- true
    status 2
    err_has "has 1 workers, numbered from 0"
    run "$TRAINYARD" job exec "$id"
    status 2
    is "recorded" "$(field "$id" '[(e["data"]["command"][0], e["worker"]) for e in d["events"] if e["type"] == "Exec"][0]')" "('sh', 0)"
}

shell_works()
{
    sit '$' 'stty size; echo "tty $(test -t 0 && echo yes) [$CITY]"; until [ "$(stty size)" = "44 122" ]; do sleep 0.1; done; stty size; exit 9
' "$TRAINYARD" job shell "$1"
    status 9
    out_has "33 99"
    out_has "tty yes [Ulm]"
    out_has 'stty size; echo "tty' # what is typed is shown
    grep -qE '^.?44 122' .out || fail "a change of the window is not told"
    run "$TRAINYARD" job shell "$1"
    status 2
    err_has "stdin is not a terminal"
}

submit_job()
{
    mkdir -p src
    echo 'from the job' >src/here
    "$TRAINYARD" job submit --env CITY=Ulm --source src --grace 1s "$@" -- 'echo up; while :; do sleep 0.1; done' 2>/dev/null
}

a_program_runs_beside_a_worker()
{
    place
    private_ml
    local id
    id=$(submit_job)
    wait_for_log "$id" up
    looks_around "$id"
    shell_works "$id"
    # It ends with the worker.
    "$TRAINYARD" job exec "$id" -- sleep 4711 &
    sleep 1
    "$TRAINYARD" job stop "$id" >/dev/null
    wait $!
    pgrep -f '^sleep 4711' >/dev/null && fail "it outlived the worker"
    state_is "$id" Stopped
    run "$TRAINYARD" job exec "$id" -- true
    status 2
    err_has "error[E3014]: job $id is Stopped; programs can be run beside running workers only"
}

over_a_server_it_is_as_isolated_as_the_worker()
{
    start
    grep -q "^isolation: accounts" server.log || { finish; skip "no accounts here: $(grep ^isolation server.log)"; }
    local id uid name
    for name in ann bob; do
        curl -s -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' \
            -d "{\"name\": \"$name\", \"role\": \"submitter\"}" "$url/api/v1/users" >/dev/null
        curl -s -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' -d '{"role": "submitter"}' \
            "$url/api/v1/users/$name/tokens" >$name.json
    done
    admin=$TRAINYARD_TOKEN
    TRAINYARD_TOKEN=$(python3 -c 'import json; print(json.load(open("ann.json"))["token"])')
    id=$(submit_job)
    wait_for_log "$id" up
    looks_around "$id"
    shell_works "$id"
    out_lacks "no name"
    uid=$("$TRAINYARD" job exec "$id" -- id -u)
    [ "$uid" -ge 1879100000 ] || fail "user id $uid"
    run "$TRAINYARD" job exec "$id" -- sh -c "tr -d '\t' </proc/self/status; ls /proc | grep -c '^[0-9]'; ls -A '$PWD/yard'; touch /etc/x"
    out_has NoNewPrivs:1
    out_has Seccomp:2
    out_has CapEff:0000000000000000
    out_lacks jobs.db
    err_has "Read-only file system"
    [ "$(grep -xE '[0-9]+' .out | head -1)" -le 8 ] || fail "it sees $(grep -xE '[0-9]+' .out | head -1) processes"
    run "$TRAINYARD" job exec "$id" -- sh -c 'i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done'
    status 0
    is "all lines" "$(wc -l <.out)" 20000
    # Others do not even see the job; an admin may, and all is in the audit log.
    TRAINYARD_TOKEN=$(python3 -c 'import json; print(json.load(open("bob.json"))["token"])')
    run "$TRAINYARD" job exec "$id" -- id
    [ "$got" != 0 ] || fail "bob ran a program beside ann's job"
    err_has "no job"
    TRAINYARD_TOKEN=$admin
    run "$TRAINYARD" job exec "$id" -- id -u
    out_is <<<"$uid"
    curl -s -H "Authorization: Bearer $admin" "$url/api/v1/audit" >.out
    json 'any(a["who"] == "ann" and a["action"] == "start_exec" and a["outcome"] == "201" for a in d["entries"])'
    json 'not any(a["action"] == "write_exec" for a in d["entries"])'
    json 'any(a["who"] == "bob" and a["action"] == "start_exec" and a["outcome"] == "404" for a in d["entries"])'
    "$TRAINYARD" job stop --force "$id" >/dev/null
    finish
}

members_of_a_project_may_look_but_not_run()
{
    start
    local id
    curl -s -X PUT -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' -d '{}' "$url/api/v1/projects/p" >/dev/null
    curl -s -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' \
        -d '{"name": "cat", "role": "submitter", "projects": ["p"]}' "$url/api/v1/users" >/dev/null
    curl -s -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' -d '{"role": "submitter"}' \
        "$url/api/v1/users/cat/tokens" >cat.json
    id=$(submit_job --project p)
    wait_for_log "$id" up
    run env TRAINYARD_TOKEN="$(python3 -c 'import json; print(json.load(open("cat.json"))["token"])')" "$TRAINYARD" job exec "$id" -- id
    [ "$got" != 0 ] || fail "it ran"
    err_has "only the owner of a job and admins may do that"
    "$TRAINYARD" job stop --force "$id" >/dev/null
    finish
}

# runs WHAT, ends WHAT: a program with that in its command line is there; is gone within ten seconds.
runs()
{
    for _ in $(seq 100); do pgrep -f "^$1" >/dev/null && return; sleep 0.1; done
    fail "'$1' does not run"
}
ends()
{
    for _ in $(seq 100); do pgrep -f "^$1" >/dev/null || return 0; sleep 0.1; done
    fail "'$1' is left"
    pkill -9 -f "^$1"
}

# Whatever ends the client: the program, what it started, and what has left its session.
ends_with_its_client() # ID
{
    local signal id=$1
    for signal in KILL INT TERM HUP; do
        env --default-signal=INT,HUP "$TRAINYARD" job exec "$id" -- \
            sh -c 'sleep 4712 & setsid sleep 4713 & trap "echo bye; exit 3" HUP; echo up >&2; while :; do sleep 0.1; done' >bye.$signal 2>up.$signal </dev/zero &
        for _ in $(seq 100); do grep -q up up.$signal && break; sleep 0.1; done
        runs 'sleep 4712'
        runs 'sleep 4713'
        kill -s $signal $!
        wait $!
        is "status after $signal" $? $((128 + $(kill -l $signal)))
        ends 'sleep 471[23]'
        [ $signal = KILL ] || is "its last words after $signal" "$(cat bye.$signal)" bye
    done
    # One that does not listen is killed.
    "$TRAINYARD" job exec "$id" -- sh -c 'trap "" HUP; sleep 4714; sleep 4714' &
    runs 'sleep 4714'
    kill $!
    wait $!
    ends 'sleep 4714'
}

a_program_ends_with_its_client()
{
    place
    local id
    id=$(submit_job)
    wait_for_log "$id" up
    ends_with_its_client "$id"
    # A terminal that is closed under the program.
    cat >close.py <<'PY'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
time.sleep(1)
os.write(fd, b"(trap '' HUP; sleep 4715) & sleep 4716\n")
time.sleep(2)
os.close(fd)
PY
    python3 close.py "$TRAINYARD" job shell "$id"
    ends 'sleep 471[56]'
    "$TRAINYARD" job stop --force "$id" >/dev/null
}

a_session_ends_with_its_client_and_its_server()
{
    start
    local id
    id=$(submit_job)
    wait_for_log "$id" up
    ends_with_its_client "$id"
    "$TRAINYARD" job exec "$id" -- sleep 4717 &
    runs 'sleep 4717'
    kill "$server"
    wait "$server" 2>/dev/null
    ends 'sleep 4717'
    kill -9 $! 2>/dev/null
    start
    "$TRAINYARD" job exec "$id" -- sleep 4718 &
    runs 'sleep 4718'
    kill -9 "$server"
    ends 'sleep 4718'
    kill -9 $! 2>/dev/null
    wait "$server" 2>/dev/null
    start
    run "$TRAINYARD" job exec "$id" -- echo again
    out_is <<<again
    "$TRAINYARD" job stop --force "$id" >/dev/null
    finish
}

interrupted_sessions_do_not_use_up_what_a_user_may_run()
{
    start
    local id pids=()
    id=$(submit_job)
    wait_for_log "$id" up
    for _ in $(seq 16); do
        # Nothing of it can be read any more, and it goes on.
        "$TRAINYARD" job exec "$id" -- sh -c 'exec >/dev/null 2>&1 </dev/null; exec sleep 4719' &
        pids+=($!)
    done
    for _ in $(seq 100); do [ "$(pgrep -fc '^sleep 4719')" = 16 ] && break; sleep 0.1; done
    run "$TRAINYARD" job exec "$id" -- true
    err_has "you run 16 programs beside jobs already"
    kill -9 "${pids[@]}"
    ends 'sleep 4719'
    run "$TRAINYARD" job exec "$id" -- echo again
    out_is <<<again
    "$TRAINYARD" job stop --force "$id" >/dev/null
    finish
}

a_child_in_the_background_is_not_waited_for()
{
    start
    local id
    id=$(submit_job)
    wait_for_log "$id" up
    run timeout 20 "$TRAINYARD" job exec "$id" -- sh -c 'sleep 4720 & echo started; exit 5'
    status 5
    out_is <<<started
    runs 'sleep 4720'
    "$TRAINYARD" job stop --force "$id" >/dev/null
    ends 'sleep 4720'
    finish
}

it_works_in_containers()
{
    place
    command -v podman >/dev/null || skip "podman is not installed"
    make_image
    local id
    id=$(submit_job --image $image)
    wait_for_log "$id" up
    run "$TRAINYARD" job exec "$id" -- /bin/sh -c 'echo "[$CITY]"; cat here; exit 7'
    status 7
    printf '[Ulm]\nfrom the job\n' | out_is
    shell_works "$id"
    local signal
    for signal in TERM KILL; do
        "$TRAINYARD" job exec "$id" -- /bin/sh -c 'sleep 4721; true' &
        runs 'sleep 4721'
        kill -s $signal $!
        wait $!
        ends 'sleep 4721'
    done
    "$TRAINYARD" job stop --force "$id" >/dev/null
    run "$TRAINYARD" job wait --timeout 30s "$id"
}

top_shows_what_jobs_use()
{
    place
    local id
    id=$("$TRAINYARD" job submit --name burner -- 'echo "::trainyard progress=40"; python3 -S -c "
x = bytearray(100 << 20)
while True: pass"')
    for _ in $(seq 60); do
        run "$TRAINYARD" job top --json
        python3 -c 'import json; d = json.load(open(".out")); exit(not (d and d[0]["rss_bytes"] > 1e8))' && break
        sleep 0.25
    done
    json "d[0]['id'] == '$id' and d[0]['rss_bytes'] > 1e8 and d[0]['cpu_percent'] > 1 and d[0]['progress'] == 40"
    run "$TRAINYARD" job top
    status 0
    out_has burner
    out_has "40%"
    "$TRAINYARD" job stop --force "$id" >/dev/null
    state_is "$id" Stopped
    run "$TRAINYARD" job top --json
    json 'd == []'
}

tap_cases a_program_runs_beside_a_worker over_a_server_it_is_as_isolated_as_the_worker members_of_a_project_may_look_but_not_run \
    a_program_ends_with_its_client a_session_ends_with_its_client_and_its_server interrupted_sessions_do_not_use_up_what_a_user_may_run \
    a_child_in_the_background_is_not_waited_for it_works_in_containers top_shows_what_jobs_use
