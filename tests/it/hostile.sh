#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Attacks of an ordinary submitter: nothing gained, the server alive, jobs of others unharmed. hostile.py has those that
# come from outside, hostile_job.py those of a job. Bombs are small, loops are bounded, all traffic stays on the loopback.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/servers/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

# attack [COMMAND...]: a server, started by that command, is attacked.
attack()
{
    serve_with objects.py
    local objects=$server
    printf 'rows of the team' >.object
    ask /_put/team/data/part-0 @.object
    # Keys of the server's, none of which may reach a job: SERVERKEY is what they have in common.
    export AWS_ACCESS_KEY_ID=testkey AWS_SECRET_ACCESS_KEY=testsecret AWS_REGION=us-east-1 AWS_ENDPOINT_URL=$at
    export ODPS_ACCESS_ID=SERVERKEY-id ODPS_ACCESS_KEY=SERVERKEY-odps ODPS_ENDPOINT=http://127.0.0.1:1/api
    export ALIBABA_CLOUD_ACCESS_KEY_SECRET=SERVERKEY-aliyun OSS_ACCESS_KEY_SECRET=SERVERKEY-oss PGPASSWORD=SERVERKEY-pg
    export PIP_EXTRA_INDEX_URL=http://name:SERVERKEY-pip@127.0.0.1:1/simple PIP_NO_INDEX=1
    export TY_SERVER_SECRET=SERVERKEY-of-the-server TRAINYARD_SLOTS=cpu=8,memory=8g
    # A provider of logins that takes connections and never answers.
    python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(1800)' >silent.port &
    local silent=$!
    while [ ! -s silent.port ]; do sleep 0.1; done
    "$@" "$TRAINYARD" server --oidc-issuer "http://127.0.0.1:$(cat silent.port)" --oidc-client-id ty --listen 127.0.0.1:0 --dir yard --experiments none --rate 100000 --user-jobs 50 --job-processes 64 \
        --job-file-size 8m --job-disk 64m --job-network none 2>server.log &
    server=$!
    wait_for_server
    local mode
    mode=$(sed -n 's/^isolation: \([a-z]*\).*/\1/p' server.log)
    [ "$mode" = none ] && { finish; kill "$objects" "$silent"; skip "this machine cannot isolate jobs, so a server lets nobody in"; }
    case $mode in accounts | namespaces) export ISOLATED=$mode ;; esac
    URL=$url TOKEN=$(cat yard/admin.token) SERVER_PID=$server run python3 "$TY_SOURCE/tests/it/hostile.py" yard server.log
    status 0
    tail -3 .out | sed 's/^/# /' >&3
    [ "$got" = 0 ] || show .out
    kill "$objects" "$silent"
    kill -0 "$server" 2>/dev/null || fail "the server has ended"
    [ -n "${ISOLATED-}" ] || echo "# without isolation of processes: attacks of jobs were left out" >&3
    finish
}

an_ordinary_submitter_gains_nothing()
{
    attack env
}

nor_from_a_server_that_is_an_ordinary_user()
{
    [ "$(id -u)" = 0 ] || skip "the case before was one"
    local user=(setpriv --reuid=64991 --regid=64991 --clear-groups env "HOME=$PWD/home")
    chmod 711 "$(dirname "$PWD")"
    mkdir home && chown 64991 . home
    "${user[@]}" test -x "$TRAINYARD" || skip "another user cannot run $TRAINYARD"
    "${user[@]}" unshare -Ur true 2>/dev/null || skip "this kernel lets no ordinary user make a user namespace"
    attack "${user[@]}"
    grep -q '^isolation: namespaces' server.log || fail "$(cat server.log)"
}

tap_cases an_ordinary_submitter_gains_nothing nor_from_a_server_that_is_an_ordinary_user
