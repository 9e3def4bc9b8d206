# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# storage_lib.sh - a server and its people, for tests of what it stores.
unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

# start [FLAG...]: a server below ./yard on a free port; $url, and a token per user.
start()
{
    local trust=
    [ "$(id -u)" = 0 ] || trust=--trust-submitters # as root, jobs are isolated
    # shellcheck disable=SC2086
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none --rate 100000 \
        $trust "$@" 2>server.log &
    server=$!
    wait_for_server
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    admin=$TRAINYARD_TOKEN
}

person() # NAME [FLAG...]: makes a submitter; prints the token
{
    local name=$1
    shift
    TRAINYARD_TOKEN=$admin "$TRAINYARD" user create "$name" --role submitter "$@" >/dev/null
    TRAINYARD_TOKEN=$admin "$TRAINYARD" token create "$name"
}
as() { TRAINYARD_TOKEN=$1; }
# api METHOD PATH [CURL ARGUMENT...]: status in $code, body in .out
api()
{
    local method=$1 path=$2
    shift 2
    code=$(curl -s -o .out -D .head -w '%{http_code}' -X "$method" -H "Authorization: Bearer $TRAINYARD_TOKEN" "$@" "$url$path")
}
is() { [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"; }
digest() { sha256sum <"$1" | cut -d' ' -f1; }
