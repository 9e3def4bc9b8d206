# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh - integration tests in bash: cases are functions, each runs in its own empty
# directory, checks go on after a failure, TAP on stdout.
#
#     . "$(dirname "$0")/lib.sh"
#     help_names_the_commands() { run "$TRAINYARD" --help; status 0; out_has version; }
#     tap_cases help_names_the_commands
#
# `tests/it/cli.sh part` runs the cases whose name holds that text. $TRAINYARD is the
# program; without it the dev build's is taken.
set -u

TY_SOURCE=${TY_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
TRAINYARD=${TRAINYARD:-$TY_SOURCE/build/dev/trainyard}
export TY_SOURCE TRAINYARD LC_ALL=C
unset CDPATH

# Runs a command; leaves its output in the files .out and .err, its exit status in $got.
run()
{
    "$@" >.out 2>.err </dev/null
    got=$?
}

fail()
{
    local i=1
    while [ "${BASH_SOURCE[i]}" = "${BASH_SOURCE[0]}" ]; do i=$((i + 1)); done
    echo x >>.failed
    printf '# %s:%s: %s\n' "${BASH_SOURCE[i]##*/}" "${BASH_LINENO[i - 1]}" "$*" >&3
}

# shellcheck disable=SC2154 # $server is set by who starts it
# Until a server that writes to server.log answers: its address is in $url.
wait_for_server()
{
    for _ in $(seq 400); do
        # Before it is the program, server.log may still be that of the server before.
        if [ "$(readlink "/proc/$server/exe")" = "$(readlink -f "$TRAINYARD")" ]; then
            url=$(sed -n 's/^listening on //p' server.log)
            [ -n "$url" ] && return
        fi
        sleep 0.05
    done
    fail "no server: $(cat server.log)"
}

# shellcheck disable=SC2154 # $server is set by who starts it
# finish: ends $server of ./yard with its agent, which would end by itself in a while.
finish()
{
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    for p in /proc/[0-9]*; do
        tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "TRAINYARD_DIR=$PWD/yard" && kill "${p#/proc/}"
    done 2>/dev/null
    for _ in $(seq 100); do
        flock -n yard/agent.lock true && break
        sleep 0.1
    done
}

show()
{
    head -20 "$1" | sed 's/^/#   /' >&3
}

status()
{
    [ "$got" = "$1" ] && return
    fail "exit status $got, want $1; stderr:"
    show .err
}

# out_is, err_is: the whole output, read from stdin; *_has: a part; *_empty.
same()
{
    cat >.want
    cmp -s "$1" .want && return
    fail "$1 differs (< got, > want):"
    diff "$1" .want | sed 's/^/#   /' >&3
}
holds()
{
    grep -qF -e "$2" "$1" && return
    fail "$1 does not hold \"$2\":"
    show "$1"
}
lacks()
{
    grep -qF -e "$2" "$1" || return 0
    fail "$1 holds \"$2\":"
    show "$1"
}
blank()
{
    [ -s "$1" ] || return 0
    fail "$1 is not empty:"
    show "$1"
}
out_is() { same .out; }
err_is() { same .err; }
out_has() { holds .out "$1"; }
err_has() { holds .err "$1"; }
out_lacks() { lacks .out "$1"; }
err_lacks() { lacks .err "$1"; }
out_empty() { blank .out; }
err_empty() { blank .err; }

# check "what" COMMAND...: it must succeed.
check()
{
    local what=$1
    shift
    "$@" >/dev/null 2>&1 || fail "$what"
}

# Ends the current case as skipped.
skip()
{
    echo "$*" >.skip
    exit 0
}

# json EXPRESSION: a Python expression over d, the JSON in .out, that must be true.
json()
{
    python3 - "$1" 2>.pyerr <<'PY' && return
import json, sys
d = json.load(open('.out'))
assert eval(sys.argv[1]), json.dumps(d)
PY
    fail "JSON: not true: $1"
    tail -1 .pyerr | sed 's/^/#   /' >&3
}

tap_one() # number name
{
    local dir=$top/$1 note=
    mkdir "$dir"
    (
        cd "$dir" || exit 1
        "$2"
        touch .done
    )
    # A case that died half-way (an unset variable, say) has failed as well.
    [ -f "$dir/.done" ] || [ -f "$dir/.skip" ] || echo x >>"$dir/.failed"
    [ ! -f "$dir/.skip" ] || note=" # SKIP $(cat "$dir/.skip")"
    if [ -f "$dir/.failed" ]; then
        bad=$((bad + 1))
        echo "not ok $1 - $2"
    else
        echo "ok $1 - $2$note"
    fi
}

tap_cases()
{
    local name number=0 bad=0 top
    top=$(mktemp -d "${TMPDIR:-/tmp}/trainyard-it.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$top'" EXIT
    for name in "$@"; do
        case $name in *"${tap_part:-}"*) ;; *) continue ;; esac
        number=$((number + 1))
        tap_one "$number" "$name"
    done
    echo "1..$number"
    [ "$bad" = 0 ] && [ "$number" -gt 0 ]
}

tap_part=${1:-}
exec 3>&1
