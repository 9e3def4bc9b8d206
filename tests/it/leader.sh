#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two watchers on one PostgreSQL: one leads; killed or stopped, the other takes over, every
# planned time is submitted once, and the jobs notice nothing.
. "$(dirname "$0")/lib.sh"

soon() # what command...: it becomes true within a while
{
    local what=$1
    shift
    for _ in $(seq 200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "$what"
    tail -n 5 ./*.err | sed 's/^/#   /' >&3
}

sql() { "$psql" -X -q -A -t "$TRAINYARD_STORE" -c "$1"; }

watcher() # name
{
    TRAINYARD_DIR=$PWD/$1 "$TRAINYARD" schedule due --loop 2>>"$1.err" &
    eval "$1=\$!"
}

leads() { sql 'SELECT holder FROM leases' | grep -q ":$1:"; }

# Makes one of the schedules due: for the first of January, hours or months ago.
due() { sql "UPDATE schedules SET next = $planned WHERE name = '$1'"; }
fired() { sql "SELECT outcome FROM schedule_runs WHERE schedule = '$1'" | grep -q submitted; }

one_leads_and_the_other_takes_over()
{
    local pg url rc=0 a b i job planned
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    url=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$url"
    for psql in /usr/lib/postgresql/*/bin/psql; do :; done
    export TRAINYARD_STORE=$url TRAINYARD_SLOTS=cpu=8,memory=64g
    mkdir a b
    # Yearly lines: they are due only when this test says so.
    planned=$(date -u -d "$(date -u +%Y)-01-01" +%s)000000000
    for i in 1 2 3; do
        TRAINYARD_DIR=$PWD/a "$TRAINYARD" schedule create "t$i" --cron '0 0 1 1 *' \
            --zone UTC --catch-up last -- true >/dev/null
    done
    # shellcheck disable=SC2016
    job=$(TRAINYARD_DIR=$PWD/a "$TRAINYARD" job submit -- 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; done')
    watcher a
    soon "the first leads" leads "$a"
    watcher b

    # Killed: nobody gives the lease back.
    kill -9 "$a"
    wait "$a" 2>/dev/null
    due t1
    soon "the second leads" leads "$b"
    soon "and fires" fired t1

    # Stopped: it believes that it leads when it wakes up, and must not act on it.
    watcher a
    kill -STOP "$b"
    soon "the first leads again" leads "$a"
    due t2
    soon "and fires" fired t2
    kill -CONT "$b"
    due t3
    soon "one of them fires" fired t3
    check "still the first" leads "$a"

    # Told to end: the other leads at once.
    kill "$a"
    wait "$a" 2>/dev/null
    soon "the second leads again" leads "$b"
    kill "$b"
    wait "$b" 2>/dev/null

    run sql "SELECT count(*), count(DISTINCT job), min(outcome), max(outcome) FROM schedule_runs"
    out_is <<<'3|3|submitted|submitted'
    run sql "SELECT count(*) FROM jobs WHERE name LIKE 't_'"
    out_is <<<3
    run sql "SELECT epoch FROM leases WHERE name = 'leader'"
    out_is <<<4
    run env TRAINYARD_DIR="$PWD/a" "$TRAINYARD" job wait "$job"
    status 0
    run env TRAINYARD_DIR="$PWD/a" "$TRAINYARD" job logs "$job"
    out_is < <(seq 8)
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

tap_cases one_leads_and_the_other_takes_over
