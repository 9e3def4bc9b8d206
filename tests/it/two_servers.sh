#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two servers on one PostgreSQL: files of a job are answered by the one that has them, or
# passed on; never an empty success.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE

# serve NAME [isolated] [FLAG...]: a server below ./NAME; ${NAME}_url, ${NAME}_pid.
serve()
{
    local name=$1 url=
    shift
    [ "${1:-}" = isolated ] && shift || set -- --trust-submitters "$@"
    "$TRAINYARD" server --listen 127.0.0.1:0 --dir "$name" --store "$store" --experiments none --rate 100000 "$@" 2>"$name.log" &
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

psql_() { psql -q -d "$store" -c "$1"; }

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

# The first server leads; code, input and secret of the schedule are at the second.
a_schedule_is_run_by_the_one_that_has_its_files()
{
    local pg store rc=0 id a_url b_url a_pid b_pid
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    store=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$store"
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_SERVER TRAINYARD_TOKEN
    serve a
    serve b
    TRAINYARD_TOKEN=$(cat a/admin.token)
    at "$b_url"
    mkdir src rows
    # shellcheck disable=SC2016
    echo 'cat "$PAI_INPUT_TRAIN/part"; [ "$KEY" = hushhushhush ] && echo "secret of $1"' >src/main.sh
    echo rows >rows/part
    # shellcheck disable=SC2016
    KEY=hushhushhush "$TRAINYARD" schedule create nightly --cron '* * * * *' --source src --input train=rows --secret KEY \
        -- sh main.sh '${bizdate}' >/dev/null || fail "create"
    run "$TRAINYARD" schedule create plain --cron @daily -- true
    status 0

    at "$a_url"
    run "$TRAINYARD" schedule get --json nightly
    json 'd["node"].endswith("/b") and "late" not in d'
    run "$TRAINYARD" schedule get nightly
    out_has "files at "
    run "$TRAINYARD" schedule get --json plain
    json '"node" not in d'
    run "$TRAINYARD" schedule run nightly --at 2024-03-01T02:30:00Z --wait
    status 0
    id=$(cat .out)
    run "$TRAINYARD" job logs "$id"
    out_is <<<"rows
secret of 20240229"
    check "it ran where the files are" test -d "b/jobs/$id"
    # When it is due as well, though another leads.
    for _ in $(seq 150); do
        [ "$("$TRAINYARD" job list --label schedule=nightly --json | grep -c '"Succeeded"')" -ge 2 ] && break
        sleep 0.5
    done
    run "$TRAINYARD" schedule get --json nightly
    json 'len(d["runs"]) >= 2 and all(r["outcome"] == "submitted" for r in d["runs"])'

    # Away: said, not failed; the others' schedules go on.
    kill "$b_pid"
    wait "$b_pid" 2>/dev/null
    run "$TRAINYARD" schedule run nightly --at 2024-03-02T02:30:00Z
    status 1
    err_has "its server does not answer"
    run "$TRAINYARD" schedule run plain --at 2024-03-02T02:30:00Z --wait
    status 0
    TZ=UTC psql_ "UPDATE schedules SET next = next - 600000000000 WHERE name = 'nightly'"
    run "$TRAINYARD" schedule list
    out_has "late: waits for "
    run "$TRAINYARD" schedule get --json nightly
    json 'd["late"] == "its server, which has its files, is away"'
    run "$TRAINYARD" schedule get --json nightly
    json 'all(r["outcome"] == "submitted" for r in d["runs"])'
    # Deleted at the other one: the file goes with the next look of its server.
    "$TRAINYARD" schedule delete nightly >/dev/null
    touch -d '1 hour ago' b/schedules/*
    serve b
    for _ in $(seq 100); do
        [ -z "$(ls b/schedules)" ] && break
        sleep 0.2
    done
    [ -z "$(ls b/schedules)" ] || fail "secrets of a deleted schedule are left"
    kill "$a_pid" "$b_pid"
    wait "$a_pid" "$b_pid" 2>/dev/null
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

# as NAME: the token of that user.
as() { TRAINYARD_TOKEN=$(cat "$1.token"); }
person() # NAME [FLAG...]
{
    "$TRAINYARD" user create "$@" --role submitter >/dev/null
    "$TRAINYARD" token create "$1" >"$1.token"
}

a_user_has_one_uid_at_all_servers_and_nobody_else_has_it()
{
    local pg store rc=0 a_url b_url a_pid b_pid vic
    [ "$(id -u)" = 0 ] || skip "accounts need root"
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    store=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$store"
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_SERVER TRAINYARD_TOKEN
    chmod 711 . .. && mkdir -m 777 shared
    serve a isolated
    serve b isolated
    if grep -q "^isolation: accounts" a.log; then
        cp a/admin.token admin.token
        as admin
        at "$a_url"
        person vic
        person xan
        "$TRAINYARD" dataset create sh --path "$PWD/shared" --writable >/dev/null
        as vic
        run "$TRAINYARD" job run --data sh:/mnt/s -- 'id -u; umask 077; echo private >/mnt/s/vic.txt'
        status 0
        vic=$(cat .out)
        at "$b_url"
        as xan
        run "$TRAINYARD" job run --data sh:/mnt/s -- 'id -u; cat /mnt/s/vic.txt'
        status 1
        [ "$(head -1 .out)" != "$vic" ] || fail "vic and xan are both $vic"
        out_lacks private
        as vic
        run "$TRAINYARD" job run --data sh:/mnt/s -- 'id -u; cat /mnt/s/vic.txt; echo more >>/mnt/s/vic.txt'
        status 0
        out_is <<<"$vic
private"
        as admin
        run "$TRAINYARD" user list --json
        json "[u['uid'] for u in d if u['name'] == 'vic'] == [$vic]"
    fi
    kill "$a_pid" "$b_pid"
    wait "$a_pid" "$b_pid" 2>/dev/null
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

servers_of_a_private_authority_trust_each_other()
{
    local pg store rc=0 id a_url b_url a_pid b_pid
    command -v openssl >/dev/null || skip "openssl is not installed"
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    store=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$store"
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_SERVER TRAINYARD_TOKEN
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=company -addext subjectAltName=IP:127.0.0.1 \
        -keyout key.pem -out cert.pem 2>/dev/null
    serve a --tls-cert cert.pem --tls-key key.pem
    serve b --tls-cert cert.pem --tls-key key.pem
    grep -q "does not trust the certificate of $a_url" a.log || fail "no warning: $(cat a.log)"
    export SSL_CERT_FILE=$PWD/cert.pem # of the command line alone
    TRAINYARD_TOKEN=$(cat a/admin.token)
    at "$a_url"
    id=$("$TRAINYARD" job submit --wait -- 'echo from a' | head -1)
    at "$b_url"
    for what in logs 'logs -f' outputs; do
        # shellcheck disable=SC2086
        run timeout 20 "$TRAINYARD" job $what "$id"
        status 1
        err_has "error[E5031]"
        err_has "the certificate of $a_url is not trusted; start this server with --peer-ca FILE"
    done
    # One that is away: said at once, and given up after a while.
    kill "$a_pid" "$b_pid"
    wait "$a_pid" "$b_pid" 2>/dev/null
    unset SSL_CERT_FILE
    serve b --tls-cert cert.pem --tls-key key.pem --peer-ca cert.pem
    export SSL_CERT_FILE=$PWD/cert.pem
    at "$b_url"
    run timeout 3 "$TRAINYARD" job logs -f "$id"
    err_has "waiting up to a minute: "
    err_has "its server does not answer"
    unset SSL_CERT_FILE
    serve a --tls-cert cert.pem --tls-key key.pem --peer-ca cert.pem
    grep -q "does not trust" a.log && fail "a warning: $(cat a.log)"
    export SSL_CERT_FILE=$PWD/cert.pem
    run "$TRAINYARD" job logs -f "$id"
    status 0
    out_is <<<"from a"
    kill "$a_pid" "$b_pid"
    wait "$a_pid" "$b_pid" 2>/dev/null
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

what_lies_at_the_other_server_is_reached_or_named()
{
    local pg store rc=0 id again exp a_url b_url a_pid b_pid snapshot
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    store=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$store"
    export TRAINYARD_SLOTS=cpu=8,memory=64g TRAINYARD_SERVER TRAINYARD_TOKEN
    serve a --experiments ea
    serve b --experiments eb
    TRAINYARD_TOKEN=$(cat a/admin.token)
    mkdir src && echo 'echo code; cd "$PAI_OUTPUT_MODEL"; echo weights >w; head -c 40000000 /dev/urandom >large' >src/main.sh
    at "$a_url"
    person eve
    person bob --project ads
    id=$("$TRAINYARD" job submit --project ads --wait --source src -- sh main.sh | head -1)
    "$TRAINYARD" model register mm --job "$id" >/dev/null
    at "$b_url"
    # Run again where its code is.
    again=$("$TRAINYARD" job rerun "$id")
    run "$TRAINYARD" job wait --timeout 60s "$again"
    status 0
    check "it ran where the code is" test -d "a/jobs/$again"
    # A model of the other server is fetched, by those who may see it.
    run "$TRAINYARD" job run --input b=model:mm:1 -- 'cat "$PAI_INPUT_B/w"; wc -c <"$PAI_INPUT_B/large"'
    status 0
    out_has weights
    out_has 40000000
    id=$("$TRAINYARD" job list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
    check "it ran here" test -d "b/jobs/$id"
    run "$TRAINYARD" job get "$id"
    out_has mm:1
    as eve
    run "$TRAINYARD" job submit --input b=model:mm:1 -- true
    err_has "no model 'mm:1'"
    snapshot=$(psql -At -d "$store" -c 'SELECT snapshot FROM models')
    api "/api/v1/models/mm/versions/1/objects/$snapshot"
    is "the list, for a stranger" "$code" 404
    TRAINYARD_TOKEN=$(cat a/admin.token)
    api "/api/v1/models/mm/versions/1/objects/$snapshot"
    is "the list, from the other server" "$code" 200
    is "its name is its content" "$(sha256sum <.out | cut -d' ' -f1)" "$snapshot"
    api "/api/v1/models/mm/versions/1/objects/$(printf '%064d' 0)"
    is "what it does not name" "$code" 404
    mkdir exp
    printf '%s\n' 'searchSpace: {x: {_type: choice, _value: [1]}}' 'trialCommand: "echo"' 'trialConcurrency: 1' 'maxTrialNumber: 1' \
        'tuner: {name: Random}' 'trainingService: {platform: local}' >exp/exp.yml
    at "$a_url"
    exp=$("$TRAINYARD" tune create exp/exp.yml 2>.err | head -1)
    [ -n "$exp" ] || fail "no experiment: $(cat .err)"
    at "$b_url"
    run "$TRAINYARD" tune list
    out_has "$exp"
    out_has "(admin) at $a_url"
    run "$TRAINYARD" tune list --json
    json '[(x["id"], x["server"]) for x in d] == [("'"$exp"'", "'"$a_url"'")]'
    run "$TRAINYARD" tune get "${exp:0:4}*"
    status 0
    as eve
    run "$TRAINYARD" tune list --json
    json 'd == []'
    TRAINYARD_TOKEN=$(cat a/admin.token)
    run "$TRAINYARD" tune get "$exp"
    status 0
    run "$TRAINYARD" tune stop "$exp"
    status 0
    run "$TRAINYARD" tune get NoSuch00
    err_has "E4008"
    at "$a_url"
    id=$("$TRAINYARD" job submit --project ads --wait -- 'echo new >"$PAI_OUTPUT_MODEL/w"' | head -1)
    "$TRAINYARD" model register mm --job "$id" >/dev/null
    at "$b_url"
    # Without that server nothing new comes from it; what was fetched is here.
    kill "$a_pid"
    wait "$a_pid" 2>/dev/null
    run "$TRAINYARD" tune list
    status 0
    out_lacks "$exp"
    err_has "warning: the files for this are at "
    run "$TRAINYARD" job run --input b=model:mm:1 -- true
    status 0
    as bob
    run "$TRAINYARD" job submit --project ads --input b=model:mm:2 -- true
    [ "$got" != 0 ] || fail "a model came from a server that has ended"
    err_has "input 'b': the files for this are at"
    kill "$b_pid"
    wait "$a_pid" "$b_pid" 2>/dev/null
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

# shellcheck disable=SC2016 # texts for jobs
tap_cases files_are_answered_by_the_one_that_has_them \
    a_schedule_is_run_by_the_one_that_has_its_files \
    a_user_has_one_uid_at_all_servers_and_nobody_else_has_it \
    servers_of_a_private_authority_trust_each_other \
    what_lies_at_the_other_server_is_reached_or_named
