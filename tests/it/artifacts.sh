#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A server that keeps uploads, models and outputs in an object store (--artifacts): everything
# works as with its own disk, two servers share it, and nothing is lost while it is away.
# shellcheck disable=SC2016,SC2154 # variables of jobs; $got is set by run
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/storage_lib.sh"
. "$(dirname "$0")/servers/lib.sh"

# The store, with the keys that the server and nobody else gets.
bucket()
{
    serve_with objects.py --page 7
    store_at=$at
    ask /_put/yard/.keep x
}
keys() { AWS_ACCESS_KEY_ID=testkey AWS_SECRET_ACCESS_KEY=testsecret AWS_REGION=us-east-1 AWS_ENDPOINT_URL=$store_at AWS_MAX_ATTEMPTS=2 "$@"; }
stored() { curl -s "$store_at/_stats" | python3 -c 'import json, sys; print("\n".join(sorted(json.load(sys.stdin)["objects"])))'; }
has_key() # what GREP-ARGUMENT...
{
    stored >.keys
    grep "${@:2}" .keys || fail "$1: $(cat .keys)"
}
archived() # ID: until the outputs of a job are in the store
{
    for _ in $(seq 300); do
        [ -e "yard/jobs/$1/archived" ] && [ ! -e "yard/jobs/$1/ml/output/model" ] && return
        sleep 0.1
    done
    fail "the outputs of $1 were not moved: $(cat server.log)"
}
again() # ID: the same job once more, to its good end
{
    run "$TRAINYARD" job rerun "$1"
    status 0
    run "$TRAINYARD" job wait "$(head -1 .out)"
    status 0
}
# What a job's program writes into its model.
writes() { printf 'head -c 3000000 /dev/urandom >$PAI_OUTPUT_MODEL/m; printf 0123456789 >$PAI_OUTPUT_MODEL/d; : >$PAI_OUTPUT_MODEL/e'; }

outputs_uploads_and_models_live_in_the_store()
{
    local ann bob id next
    bucket
    keys start --artifacts s3://yard/team/ --clean-every 0
    ann=$(person ann)
    bob=$(person bob)
    as "$ann"
    mkdir -p src in
    echo 'cat $PAI_INPUT_TRAIN/x; env >$PAI_OUTPUT_MODEL/env;' "$(writes)" >src/run.sh
    echo "the data" >in/x
    : >in/empty
    run "$TRAINYARD" job submit --source src --input train=./in --wait -- sh run.sh
    status 0
    id=$(head -1 .out)
    archived "$id"
    has_key "the upload is there" -q '^yard/team/users/ann/objects/'
    has_key "the list is there" -qx "yard/team/jobs/$id/outputs.json"
    has_key "the model is there" -qx "yard/team/jobs/$id/output/model/m"
    run "$TRAINYARD" job logs "$id"
    out_has "the data"

    run "$TRAINYARD" job outputs "$id" --json
    json '[(o["path"], o["bytes"]) for o in d if o["path"] != "env"] == [("d", 10), ("e", 0), ("m", 3000000)] and all(len(o["sha256"]) == 64 for o in d)'
    run "$TRAINYARD" job download "$id" got
    status 0
    is "the bytes" "$(digest got/model/m)" "$(curl -s "$store_at/_get/yard/team/jobs/$id/output/model/m" | sha256sum | cut -d' ' -f1)"
    check "an empty file" test -e got/model/e -a ! -s got/model/e
    check "no key reaches a job" sh -c '! grep -q "testsecret\|AWS_" got/model/env'
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=2-4'
    is "a range" "$code $(cat .out)" "206 234"
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=20-'
    is "a range behind the end" "$code" 416
    api GET "/api/v1/jobs/$id/outputs/model?path=none"
    is "a file that is not there" "$code" 404
    as "$bob"
    api GET "/api/v1/jobs/$id/outputs/model?path=d"
    is "somebody else" "$code" 404

    # A model of it, and a job that takes the model as input, with nothing left on the disk.
    as "$ann"
    run "$TRAINYARD" model register ctr --job "$id"
    status 0
    find yard/users/ann/objects -type f -delete
    run "$TRAINYARD" model download ctr:1 model
    status 0
    cmp got/model/m model/m || fail "the model differs"
    run "$TRAINYARD" job submit --input base=model:ctr:1 --wait -- 'cat $PAI_INPUT_BASE/d'
    status 0
    next=$(head -1 .out)
    run "$TRAINYARD" job logs "$next"
    out_has 0123456789
    again "$id"

    as "$admin"
    run "$TRAINYARD" df --json
    json 'd["use"][0]["name"] == "ann" and d["use"][0]["job_bytes"] > 6000000 and d["use"][0]["models"] == 1'
    run "$TRAINYARD" job delete "$id"
    status 0
    is "deleted there as well" "$(stored | grep -c "$id")" 0
    run "$TRAINYARD" user delete ann --purge
    status 0
    is "with all that was hers" "$(stored | grep -c users/ann/)" 0
    finish
}

# Names that are not text and files that nobody may read come and go like others.
files_of_odd_names_and_modes_are_moved_as_well()
{
    local id
    bucket
    keys start --artifacts s3://yard/team --clean-every 0
    run "$TRAINYARD" job submit --wait -- 'cd $PAI_OUTPUT_MODEL; printf one >"$(printf "a\\377")"; printf two >hex:61; mkdir d; printf three >"d/x y%25"; chmod 0 d/* d'
    status 0
    id=$(head -1 .out)
    archived "$id"
    run "$TRAINYARD" job download "$id" got
    status 0
    is "bytes that are no text" "$(cat "$(printf 'got/model/a\377')")" one
    is "a name like ours" "$(cat got/model/hex:61)" two
    is "a closed directory" "$(cat 'got/model/d/x y%25')" three
    run "$TRAINYARD" model register odd --job "$id" # the same refusal as from the disk
    err_has "must be UTF-8 without control characters"
    finish
}

# Local commands say where the outputs are; a failed job's are moved as well.
what_a_failed_job_wrote_is_moved_and_local_commands_say_where()
{
    local id
    bucket
    keys start --artifacts s3://yard/team --clean-every 0
    run "$TRAINYARD" job submit --wait -- "$(writes); exit 3"
    id=$(head -1 .out)
    archived "$id"
    run "$TRAINYARD" job outputs "$id" --json
    json '[(o["path"], o["bytes"]) for o in d] == [("d", 10), ("e", 0), ("m", 3000000)] and all(len(o["sha256"]) == 64 for o in d)'
    run "$TRAINYARD" job download "$id" got
    status 0
    run env -u TRAINYARD_SERVER "$TRAINYARD" job outputs "$id" --dir yard
    out_has "s3://yard/team/jobs/$id/output/model"
    finish
}

a_store_that_is_away_loses_nothing()
{
    local id left
    bucket
    keys start --artifacts s3://yard/team --clean-every 0
    mkdir src
    writes >src/run.sh
    # Uploads are confirmed only when the store has them.
    ask /_fault '{"on": "PUT", "key": "/team/users/", "times": 1000, "do": "503"}'
    run "$TRAINYARD" job submit --source src -- sh run.sh
    [ "$got" != 0 ] || fail "an upload was confirmed that the store does not have"
    err_has "the store of artifacts"
    err_has "E5510"
    ask /_reset ''
    ask /_put/yard/.keep x
    # Outputs stay on the disk until they are there.
    ask /_fault '{"on": "PUT", "key": "/team/jobs/", "times": 6, "do": "503"}'
    run "$TRAINYARD" job submit --source src --wait -- sh run.sh
    status 0
    id=$(head -1 .out)
    for _ in $(seq 100); do
        grep -q "outputs stay here" server.log && break
        sleep 0.1
    done
    check "the server says so" grep -q "job $id: the store of artifacts: .*503.*outputs stay here, next try in" server.log
    run "$TRAINYARD" job download "$id" got
    status 0
    archived "$id"
    for _ in $(seq 100); do
        grep -q "the store of artifacts answers again" server.log && break
        sleep 0.1
    done
    check "and when it is over" grep -q "the store of artifacts answers again" server.log
    # What lies in a store that is away is asked for later: no success, nothing half.
    ask /_fault '{"on": "GET", "key": "/team/jobs/", "times": 1000, "do": "503"}'
    api GET "/api/v1/jobs/$id/outputs/model?path=m"
    is "away" "$code" 503
    json 'd["code"] == "E5510" and "503 SlowDown" in d["message"]'
    run "$TRAINYARD" gc
    [ "$got" != 0 ] || left=$(stored | grep -c "$id")
    check "nothing was collected" test "${left:-4}" = 4
    finish
}

old_contents_that_nothing_refers_to_are_collected_there_too()
{
    local ann id kept before
    bucket
    keys start --artifacts s3://yard/team --clean-every 0
    ann=$(person ann)
    as "$ann"
    mkdir src in
    echo 'cat $PAI_INPUT_TRAIN/x' >src/run.sh
    echo kept >in/x
    run "$TRAINYARD" job submit --source src --input train=./in --wait -- sh run.sh
    kept=$(head -1 .out)
    echo gone >in/x
    run "$TRAINYARD" job submit --source src --input train=./in --wait -- sh run.sh
    id=$(head -1 .out)
    echo young >one # sent, and not submitted yet
    api PUT "/api/v1/objects/$(digest one)" -H 'Content-Type: application/octet-stream' --data-binary @one
    run "$TRAINYARD" job delete "$id"
    status 0
    # What the deleted job left goes at once, what is young stays.
    before=$(stored | grep -c users/ann/objects)
    as "$admin"
    run "$TRAINYARD" gc --dry-run --json
    json 'd["objects"] == 2'
    is "a rehearsal" "$(stored | grep -c users/ann/objects)" "$before"
    as "$ann"
    run "$TRAINYARD" gc --json
    json 'd["objects"] == 2'
    is "the list and the file" "$(stored | grep -c users/ann/objects)" $((before - 2))
    # The same contents again are whole.
    run "$TRAINYARD" job submit --source src --input train=./in --wait -- sh run.sh
    status 0
    id=$(head -1 .out)
    is "it ran" "$("$TRAINYARD" job logs "$id")" gone
    run "$TRAINYARD" job delete "$id"
    run "$TRAINYARD" gc --json
    as "$admin"
    ask /_age/100000 ''
    find yard/users -type f -exec touch -d '2 days ago' {} +
    run "$TRAINYARD" gc --json
    json 'd["objects"] == 1'
    is "nor what was young" "$(stored | grep -c users/ann/objects)" $((before - 3))
    # The disk keeps no copies that are a day old; the job can still be run again.
    check "no old copies here" sh -c '! grep -rqx kept yard/users/ann/objects'
    as "$ann"
    again "$kept"
    # Outputs of jobs that are in no record.
    ask /_put/yard/team/jobs/jb-000000000000/output/model/m x
    as "$admin"
    run "$TRAINYARD" gc --json
    json 'd["orphans"] == 1'
    is "gone" "$(stored | grep -c jb-000000000000)" 0
    finish
}

two_servers_on_one_postgresql_share_artifacts()
{
    local pg where rc=0 id a b
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    where=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$where"
    bucket
    keys start --artifacts s3://yard/team --store "$where" --clean-every 0
    a=$server
    mkdir src
    writes >src/run.sh
    run "$TRAINYARD" job submit --source src --wait -- sh run.sh
    status 0
    id=$(head -1 .out)
    archived "$id"
    run "$TRAINYARD" model register ctr --job "$id"
    status 0
    mkdir other
    AWS_ACCESS_KEY_ID=testkey AWS_SECRET_ACCESS_KEY=testsecret AWS_REGION=us-east-1 AWS_ENDPOINT_URL=$store_at \
        "$TRAINYARD" server --listen 127.0.0.1:0 --dir other/yard --experiments none --trust-submitters \
        --artifacts s3://yard/team --store "$where" --clean-every 0 >/dev/null 2>other.log &
    b=$!
    for _ in $(seq 100); do
        grep -q '^listening on ' other.log && break
        sleep 0.1
    done
    kill "$a" # the one that ran the job is away
    wait "$a" 2>/dev/null
    export TRAINYARD_SERVER
    TRAINYARD_SERVER=$(sed -n 's/^listening on //p' other.log)
    run "$TRAINYARD" job outputs "$id" --json
    json '[o["path"] for o in d] == ["d", "e", "m"]'
    run "$TRAINYARD" job download "$id" got
    status 0
    is "the bytes" "$(digest got/model/m)" "$(curl -s "$store_at/_get/yard/team/jobs/$id/output/model/m" | sha256sum | cut -d' ' -f1)"
    run "$TRAINYARD" model download ctr:1 model
    status 0
    cmp got/model/m model/m || fail "the model differs"
    run "$TRAINYARD" model register again --job "$id"
    status 0
    again "$id"
    kill "$b"
    wait "$b" 2>/dev/null
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

a_place_of_another_store_or_without_a_key_is_refused()
{
    bucket
    keys start --artifacts s3://yard/team
    finish
    run keys timeout 20 "$TRAINYARD" server --listen 127.0.0.1:0 --dir elsewhere --artifacts s3://yard/team --trust-submitters
    [ "$got" != 0 ] || fail "two stores in one place"
    err_has "'s3://yard/team' holds the artifacts of another store"
    run env -u AWS_ACCESS_KEY_ID HOME="$PWD" AWS_REGION=us-east-1 AWS_ENDPOINT_URL="$store_at" AWS_EC2_METADATA_DISABLED=true \
        timeout 20 "$TRAINYARD" server --listen 127.0.0.1:0 --dir elsewhere --artifacts s3://yard/other --trust-submitters
    [ "$got" != 0 ] || fail "no key"
    run "$TRAINYARD" server --listen 127.0.0.1:0 --dir elsewhere --artifacts /tmp/x --trust-submitters
    err_has "--artifacts '/tmp/x': s3://bucket/prefix is required"
}

tap_cases outputs_uploads_and_models_live_in_the_store \
    files_of_odd_names_and_modes_are_moved_as_well \
    what_a_failed_job_wrote_is_moved_and_local_commands_say_where \
    a_store_that_is_away_loses_nothing \
    old_contents_that_nothing_refers_to_are_collected_there_too \
    two_servers_on_one_postgresql_share_artifacts \
    a_place_of_another_store_or_without_a_key_is_refused
