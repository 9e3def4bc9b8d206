#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two servers on one PostgreSQL: files of a job are answered by the one that has them, or
# passed on; never an empty success.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN

# serve NAME [FLAG...]: a server below ./NAME; ${NAME}_url, ${NAME}_pid.
serve()
{
    local name=$1 url=
    shift
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir "$name" --store "$store" --experiments none --trust-submitters \
        --rate 100000 "$@" 2>"$name.log" &
    eval "${name}_pid=\$!"
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening on //p' "$name.log")
        [ -n "$url" ] && break
        sleep 0.1
    done
    [ -n "$url" ] || fail "no server: $(cat "$name.log")"
    eval "${name}_url=\$url"
}
at() { TRAINYARD_SERVER=$1; }
is() { [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"; }
api() # PATH [CURL ARGUMENT...]
{
    local path=$1
    shift
    code=$(curl -s -o .out -D .head -w '%{http_code}' -H "Authorization: Bearer $TRAINYARD_TOKEN" "$@" "$TRAINYARD_SERVER$path")
}

files_are_answered_by_the_one_that_has_them()
{
    local pg store rc=0 id live eve a_url b_url a_pid b_pid
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    store=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$store"
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_SERVER TRAINYARD_TOKEN
    serve a
    serve b
    TRAINYARD_TOKEN=$(cat a/admin.token)
    at "$a_url"
    # shellcheck disable=SC2016
    run "$TRAINYARD" job submit --wait -- 'echo from a; head -c 3000000 /dev/urandom >$PAI_OUTPUT_MODEL/m; printf 0123456789 >$PAI_OUTPUT_MODEL/d; : >$PAI_OUTPUT_MODEL/e'
    status 0
    id=$(head -1 .out)

    at "$b_url"
    run "$TRAINYARD" job logs "$id"
    status 0
    out_is <<<"from a"
    run "$TRAINYARD" job outputs "$id" --json
    json '[o["path"] for o in d] == ["d", "e", "m"]'
    run "$TRAINYARD" job download "$id" got
    status 0
    cmp got/model/m "a/jobs/$id/ml/output/model/m" || fail "the file differs"
    check "an empty file" test -e got/model/e -a ! -s got/model/e
    api "/api/v1/jobs/$id/outputs/model?path=m"
    is "whole" "$code $(sha256sum <.out)" "200 $(sha256sum <got/model/m)"
    api "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=2-4'
    is "range" "$code $(cat .out)" "206 234"
    api "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=20-'
    is "behind the end" "$code" 416
    api "/api/v1/jobs/$id/outputs/model?path=none"
    is "not there" "$code" 404
    api "/api/v1/jobs/$id/logs"
    json 'd["logs"][0]["bytes"] == 7'
    api "/api/v1/jobs/$id/logs/0?tail=1"
    is "tail" "$code $(cat .out)" "200 from a"
    grep -qi '^log-over: true' .head || fail "no Log-Over"
    api "/api/v1/jobs/$id/logs/0?follow=true"
    is "a stream is asked for there" "$code" 307
    grep -qi "^location: $a_url/api/v1/jobs/$id/logs/0?follow=true" .head || fail "no Location"
    # A request that was passed on is not passed on again.
    api "/api/v1/jobs/$id/logs/0" -H 'Trainyard-Forwarded: 1'
    is "no circle" "$code" 503

    # Who may not see the job there may not see it here.
    "$TRAINYARD" user create eve --role submitter >/dev/null
    eve=$("$TRAINYARD" token create eve)
    TRAINYARD_TOKEN=$eve
    api "/api/v1/jobs/$id/logs/0"
    is "eve" "$code" 404
    TRAINYARD_TOKEN=$(cat a/admin.token)

    # A program beside a worker runs where the worker is.
    live=$(TRAINYARD_SERVER=$a_url "$TRAINYARD" job submit -- 'sleep 600')
    for _ in $(seq 100); do
        "$TRAINYARD" job get --json "$live" | grep -q '"Running"' && break
        sleep 0.2
    done
    run "$TRAINYARD" job exec "$live" -- sh -c 'echo beside; exit 3'
    out_is <<<beside
    status 3
    "$TRAINYARD" job stop --force "$live" >/dev/null

    # The one that has them is away: that is said, with no success around it.
    kill "$a_pid"
    wait "$a_pid" 2>/dev/null
    for path in logs logs/0 outputs 'outputs/model?path=d'; do
        api "/api/v1/jobs/$id/$path"
        is "$path" "$code" 503
        json 'd["code"] == "E5017" and "its server does not answer" in d["message"]'
    done
    run "$TRAINYARD" job logs "$id"
    [ "$got" != 0 ] || fail "logs of a server that is away"
    # Another server of that machine, at another address, takes over.
    serve a
    run "$TRAINYARD" job logs "$id"
    out_is <<<"from a"
    run "$TRAINYARD" job delete "$id"
    status 0
    check "deleted where it was" test ! -e "a/jobs/$id"
    kill "$a_pid" "$b_pid"
    wait "$a_pid" "$b_pid" 2>/dev/null
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

tap_cases files_are_answered_by_the_one_that_has_them
