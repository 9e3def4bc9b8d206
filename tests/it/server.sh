#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The server of a team: who may what, hostile requests, and a kill at any moment.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

# start [FLAG...]: a server below ./yard on a free port; $url, $token, $server.
start()
{
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none --rate 100000 "$@" 2>server.log &
    server=$!
    wait_for_server
    token=$(cat yard/admin.token)
}

helper()
{
    URL=$url TOKEN=$token python3 "$TY_SOURCE/tests/it/server_check.py" "$@" >.check 2>&1 && return
    fail "server_check.py $*:"
    show .check
}

first_start_makes_a_token_for_the_owner_alone()
{
    start
    [ "$(stat -c %a yard/admin.token)" = 600 ] || fail "admin.token has another mode"
    grep -q "created the user admin; its token is in" server.log || fail "nothing was said"
    grep -qF "$token" server.log && fail "the token is in the log"
    grep -rqF "$token" yard --exclude=admin.token && fail "the token is kept elsewhere"
    cp yard/admin.token before
    finish
    start
    cmp -s yard/admin.token before || fail "a second start changed the token"
    finish
}

the_network_needs_tls()
{
    run "$TRAINYARD" server --listen 0.0.0.0:0 --dir yard
    status 2
    err_has "error[E5002]: 0.0.0.0:0 is reachable from the network: use --tls-cert and --tls-key"
    run "$TRAINYARD" server --listen nowhere --dir yard
    status 2
    err_has "error[E5001]"
    command -v openssl >/dev/null || skip "openssl is not installed"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    "$TRAINYARD" server --listen 0.0.0.0:0 --dir yard --tls-cert cert.pem --tls-key key.pem 2>server.log &
    server=$!
    for _ in $(seq 100); do
        port=$(sed -n 's/^listening on https:.*://p' server.log)
        [ -n "$port" ] && break
        sleep 0.05
    done
    run curl -s --cacert cert.pem "https://127.0.0.1:$port/healthz"
    out_has '"status":"ok"'
    run curl -s "http://127.0.0.1:$port/healthz"
    out_lacks '"status":"ok"'
    finish
}

every_route_asks_for_the_right_token()
{
    start --no-queue
    helper matrix
    finish
}

hostile_requests_get_their_status()
{
    start --no-queue --header-timeout 1s --body-timeout 2s --max-body 64k
    helper hostile
    finish
}

bad_input_gets_status_and_message()
{
    start --no-queue
    helper bad
    finish
}

people_see_their_own_and_their_projects()
{
    start --no-queue
    helper owners
    finish
}

secrets_are_never_shown()
{
    start
    helper secrets yard server.log
    finish
}

logs_are_followed_and_resumed()
{
    start
    helper follow
    finish
}

too_many_requests_are_told_so()
{
    start --no-queue --rate 5
    helper rate
    finish
}

a_locked_store_is_said_to_be()
{
    start --no-queue
    helper locked yard/jobs.db
    finish
}

# In a name space of its own, with a disk of two megabytes.
a_full_disk_is_said_to_be()
{
    unshare -rm true 2>/dev/null || skip "no name spaces here"
    mkdir small
    cat >inside.sh <<'END'
mount -t tmpfs -o size=2m none small || exit 77
"$TRAINYARD" server --listen 127.0.0.1:0 --dir small --no-queue 2>server.log &
for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' server.log)
    [ -n "$url" ] && break
    sleep 0.05
done
head -c 3m /dev/zero >small/filler 2>/dev/null
URL=$url TOKEN=$(cat small/admin.token) python3 "$TY_SOURCE/tests/it/server_check.py" full small/filler
rc=$?
kill $!
exit $rc
END
    run unshare -rm bash inside.sh
    [ "$got" != 77 ] || skip "no mounts here"
    status 0
    [ "$got" = 0 ] || show .out
}

a_killed_server_loses_nothing()
{
    start
    helper submit 3 'sleep 2; echo done'
    kill -9 "$server"
    wait "$server" 2>/dev/null
    start
    helper ended 3
    finish
}

a_follower_waits_for_the_next_server()
{
    export XDG_CONFIG_HOME=$PWD/config
    start
    port=${url##*:}
    run "$TRAINYARD" login "$url" --token-file yard/admin.token
    "$TRAINYARD" job run -- 'echo one; sleep 3; echo two' >follow.out 2>follow.err &
    follower=$!
    sleep 1
    kill -9 "$server"
    wait "$server" 2>/dev/null
    sleep 1
    "$TRAINYARD" server --listen "127.0.0.1:$port" --dir yard 2>server.log &
    server=$!
    wait "$follower" || fail "the follower failed: $(cat follow.err)"
    printf 'one\ntwo\n' | cmp -s - follow.out || fail "it saw: $(cat follow.out)"
    finish
}

the_command_line_uses_a_server()
{
    export XDG_CONFIG_HOME=$PWD/config
    start
    run "$TRAINYARD" login http://yard.example.com --token-file yard/admin.token
    status 2
    err_has "the token would travel in the clear"
    run "$TRAINYARD" login "$url" --token-file yard/admin.token
    status 0
    out_has "logged in to $url as admin (admin)"
    [ ! -e yard/admin.token ] || fail "admin.token is there after a login"
    grep -q "admin.token was used to log in" server.log || fail "the server does not say so"
    [ "$(stat -c %a config/trainyard/login.json)" = 600 ] || fail "login.json has another mode"
    mkdir -p code/sub
    echo 'print("data", open("sub/x").read().strip())' >code/main.py
    echo deep >code/sub/x
    PASSWORD=hushhush run "$TRAINYARD" job run --source code --secret PASSWORD -- \
        "python3 main.py; echo pw \$PASSWORD; exit 3"
    status 3
    out_is <<'END'
data deep
pw ***
END
    run "$TRAINYARD" job list --json
    status 0
    json 'd[0]["state"] == "Failed" and d[0]["owner"] == "admin" and "dir" not in d[0]'
    id=$(python3 -c 'import json; print(json.load(open(".out"))[0]["id"])')
    run "$TRAINYARD" job get --json --events "$id"
    json 'd["spec"]["secret"] == ["PASSWORD"] and d["events"][0]["type"] == "Submitted"'
    run "$TRAINYARD" job logs --tail 1 "${id%???}"
    out_is <<<"pw ***"
    run "$TRAINYARD" job get "${id}x"
    err_has "error[E3103]: no job '${id}x'"
    run "$TRAINYARD" job why "$id"
    out_has "UserExit"
    run "$TRAINYARD" job submit --output model=/etc -- true
    status 2
    err_has "E5015"
    run "$TRAINYARD" dataset create etc --path /etc --mount /mnt/etc
    status 0
    run "$TRAINYARD" dataset list --json
    json 'd[0]["path"] == "/etc"'
    run "$TRAINYARD" job run --input t=dataset:etc -- "ls /ml/input/data/t/passwd"
    status 0
    run "$TRAINYARD" job get jb-000000000000
    status 1
    err_has "no job 'jb-000000000000'"
    run "$TRAINYARD" job list --server local --dir elsewhere --json
    json 'd == []'
    run "$TRAINYARD" user create ann --project ads --role viewer
    status 0
    run "$TRAINYARD" user create ann
    status 1
    err_has "there is a user 'ann' already"
    run "$TRAINYARD" token create ann --expires 1h --note laptop
    status 0
    TRAINYARD_TOKEN=$(cat .out) run "$TRAINYARD" job submit --server "$url" -- true
    status 1
    err_has "this needs the role submitter, the token has viewer"
    run "$TRAINYARD" token create ann --role admin --note boast
    run "$TRAINYARD" token list ann --json
    json '[(t["name"], t["owner"], t["role"]) for t in d] == [("laptop", "ann", "viewer"), ("boast", "ann", "viewer")]'
    run "$TRAINYARD" token list
    out_has "  ann                   viewer "
    out_has "  admin                 admin "
    run "$TRAINYARD" user list
    out_has "ann                       viewer                            ads"
    run "$TRAINYARD" user update ann --role submitter --project ads --project feed
    status 0
    run "$TRAINYARD" user list --json
    json '[(u["role"], u["projects"], u["disabled"]) for u in d if u["name"] == "ann"] == [("submitter", "ads,feed", False)]'
    run "$TRAINYARD" token create ann --note phone
    token=$(cat .out)
    TRAINYARD_TOKEN=$token run "$TRAINYARD" job list --server "$url"
    status 0
    run "$TRAINYARD" user update ann --disable --no-projects
    status 0
    run "$TRAINYARD" user list
    out_has "ann                       submitter   disabled"
    TRAINYARD_TOKEN=$token run "$TRAINYARD" job list --server "$url"
    status 1
    err_has "error[E5008]"
    run "$TRAINYARD" user update ann --enable --server local --dir yard
    status 0
    run "$TRAINYARD" user update ann
    status 2
    err_has "nothing to change"
    for where in "--server $url" "--server local --dir yard"; do
        # shellcheck disable=SC2086
        run "$TRAINYARD" user update admin --disable $where
        status 1
        err_has "'admin' is the last admin"
        # shellcheck disable=SC2086
        run "$TRAINYARD" user update nobody --disable $where
        status 1
        err_has "no user 'nobody'"
    done
    run "$TRAINYARD" user delete ann
    status 0
    run "$TRAINYARD" token create admin --server local --dir yard
    status 0
    TRAINYARD_TOKEN=$(cat .out) run "$TRAINYARD" job list --server "$url" --json
    status 0
    chmod 644 config/trainyard/login.json
    run "$TRAINYARD" job list
    err_has "error[E5019]"
    chmod 600 config/trainyard/login.json
    finish
    run "$TRAINYARD" job list
    status 1
    err_has "error[E5017]"
    run "$TRAINYARD" logout
    out_is <<<'logged out; the token itself stays valid (`logout --revoke` revokes it, `token delete ID` later)'
}

tap_cases \
    first_start_makes_a_token_for_the_owner_alone \
    the_network_needs_tls \
    every_route_asks_for_the_right_token \
    hostile_requests_get_their_status \
    bad_input_gets_status_and_message \
    people_see_their_own_and_their_projects \
    secrets_are_never_shown \
    logs_are_followed_and_resumed \
    too_many_requests_are_told_so \
    a_locked_store_is_said_to_be \
    a_full_disk_is_said_to_be \
    a_killed_server_loses_nothing \
    a_follower_waits_for_the_next_server \
    the_command_line_uses_a_server
