# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh - what tests with a server of ours share: starting it, and its control.

# serve SCRIPT [ARG...]: starts it for the case; it ends with it. Sets $at.
serve_with()
{
    rm -f port
    python3 "$TY_SOURCE/tests/it/servers/$1" port "${@:2}" &
    server=$!
    # shellcheck disable=SC2064
    trap "kill $server 2>/dev/null; wait $server 2>/dev/null" EXIT
    for _ in $(seq 400); do [ -s port ] && break; sleep 0.05; done
    at=http://127.0.0.1:$(cat port)
    export no_proxy=127.0.0.1,localhost,.localhost HOME=$PWD
}

# ask PATH [TEXT | @FILE]: a request to the server's control, without starting a program.
ask()
{
    local n=0 line
    case ${2-} in
    '') ;;
    @*) n=$(stat -c %s "${2#@}") ;;
    *) n=$(printf %s "$2" | wc -c) ;;
    esac
    exec 9<>"/dev/tcp/127.0.0.1/$(cat port)"
    printf '%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' \
        "$([ $# -gt 1 ] && echo POST || echo GET)" "$1" "$n" >&9
    case ${2-} in
    '') ;;
    @*) cat "${2#@}" >&9 ;;
    *) printf %s "$2" >&9 ;;
    esac
    while IFS= read -r line <&9 && [ "$line" != $'\r' ]; do :; done
    cat <&9
    exec 9>&-
}
fault() { ask /_fault "$1"; }
# stats EXPRESSION: over d, the server's counts.
stats()
{
    ask /_stats >.stats
    python3 -c 'import json,sys; d=json.load(open(".stats")); assert eval(sys.argv[1]), d' "$1" 2>.pyerr && return
    fail "server: not true: $1"
    tail -1 .pyerr | cut -c1-300 | sed 's/^/#   /' >&3
}
