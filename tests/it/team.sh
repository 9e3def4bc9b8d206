#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A server that does by itself what a team agreed on: schedules, quotas, notifications.
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN

the_server_keeps_what_was_agreed_on()
{
    local hook server url token
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_NOTIFY_ALLOW=127.0.0.1
    python3 "$TY_SOURCE/tests/it/servers/hook.py" . 2>hook.err &
    hook=$!
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard 2>server.log &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening on //p' server.log)
        [ -n "$url" ] && [ -f port ] && break
        sleep 0.05
    done
    token=$(cat yard/admin.token)
    URL=$url TOKEN=$token HOOK=http://127.0.0.1:$(cat port) \
        python3 "$TY_SOURCE/tests/it/team_check.py" >.check 2>&1 ||
        { fail "team_check.py:"; show .check; tail -n 5 server.log | sed 's/^/#   /' >&3; }
    kill "$server" "$hook"
    wait "$server" "$hook" 2>/dev/null
    if grep -rqF secret-path server.log yard/agent.log; then fail "a webhook's path is in a log"; fi
    for _ in $(seq 100); do
        flock -n yard/agent.lock true && break
        sleep 0.1
    done
}

tap_cases the_server_keeps_what_was_agreed_on
