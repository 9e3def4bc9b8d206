#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A server that does by itself what a team agreed on: schedules, quotas, notifications.
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN

# Commands say the same of a server as of a store.
commands_at_the_server()
{
    local rule
    local -x TRAINYARD_SERVER=$url TRAINYARD_TOKEN=$token
    # shellcheck disable=SC2016
    run "$TRAINYARD" schedule create cli --cron @daily --zone Asia/Shanghai \
        -P 'day=$bizdate' --hp 'dt=${day}' -- 'echo $PAI_HPS_DT'
    status 0
    out_has "cli: next run "
    out_has " 00:00 +08:00"
    run "$TRAINYARD" schedule run cli --at 2024-03-01T00:00:00+08:00 --wait
    status 0
    run "$TRAINYARD" job logs "$(cat .out)"
    out_is <<<20240229
    run "$TRAINYARD" schedule get cli
    out_has "policy     last skip"
    out_has "2024-03-01 00:00 +08:00  submitted  jb-"
    run "$TRAINYARD" schedule pause cli
    status 0
    run "$TRAINYARD" schedule list --json
    json '[(x["name"], x["paused"]) for x in d] == [("cli", True), ("nightly", False), ("often", True)]'
    run "$TRAINYARD" schedule resume cli
    run "$TRAINYARD" schedule delete cli
    status 0
    run "$TRAINYARD" schedule get cli
    status 1
    err_has "error[E5103]: $url: no schedule 'cli'"
    run "$TRAINYARD" schedule create cli --cron '61 * * * *' -- true
    err_has "error[E5101]: $url: cron line '61 * * * *': minute: '61'"
    run "$TRAINYARD" quota set --user bob --gpu 1
    status 0
    out_has "user      bob "
    run "$TRAINYARD" quota set --project ads --running 3
    run "$TRAINYARD" quota set --project ads --cpu 4 --json
    json 'd["project"] == "ads" and d["running"] == 3 and d["cpu_milli"] == 4000'
    run "$TRAINYARD" quota list
    out_has "project   ads "
    run "$TRAINYARD" quota delete --user bob
    status 0
    run "$TRAINYARD" usage --by project --json
    json '{u["project"] for u in d} == {"ads", ""}'
    run "$TRAINYARD" notify create --webhook "http://127.0.0.1:$(cat port)/ok/cli" --state Failed
    status 0
    rule=$(cat .out)
    run "$TRAINYARD" notify list --json
    json 'any(r["id"] == "'"$rule"'" and r["target"].endswith("/ok/cli") for r in d)'
    run "$TRAINYARD" notify log "$rule"
    status 0
    run "$TRAINYARD" notify delete "$rule"
    status 0
    run "$TRAINYARD" notify delete "$rule"
    status 1
    err_has "error[E5304]: no rule '$rule'"
}

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
    commands_at_the_server
    kill "$server" "$hook"
    wait "$server" "$hook" 2>/dev/null
    if grep -rqF secret-path server.log yard/agent.log; then fail "a webhook's path is in a log"; fi
    for _ in $(seq 100); do
        flock -n yard/agent.lock true && break
        sleep 0.1
    done
}

tap_cases the_server_keeps_what_was_agreed_on
