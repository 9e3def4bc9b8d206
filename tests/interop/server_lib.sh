# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# server_lib.sh - a server for scripts that log in to it. They define bad() and set server= before their trap.

# serve FLAG...: a server on a free port, in place of the one before; its address is in $url
serve()
{
    if [ -n "$server" ]; then
        kill "$server"
        wait "$server" 2>/dev/null || true
    fi
    : >server.log
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none --rate 100000 "$@" 2>server.log &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening on //p' server.log)
        [ -n "$url" ] && return
        sleep 0.1
    done
    bad "no server"
}
