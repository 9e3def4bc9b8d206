#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names for outputs: versions, where they came from, and who may have them.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage_lib.sh"

submit() # ARGUMENT...: submits and waits; $id
{
    run "$TRAINYARD" job submit --wait "$@"
    status 0
    id=$(head -1 .out)
}

a_model_outlives_its_job_and_knows_where_it_came_from()
{
    local ann id first
    start
    ann=$(person ann)
    as "$ann"
    echo '1,2' >rows.csv
    mkdir src
    # shellcheck disable=SC2016
    echo 'head -c 20000000 /dev/urandom >$PAI_OUTPUT_MODEL/weights; mkdir $PAI_OUTPUT_MODEL/sub; cp $PAI_INPUT_TRAIN $PAI_OUTPUT_MODEL/sub/rows; : >$PAI_OUTPUT_MODEL/empty
echo ::trainyard step=9 auc=0.75' >src/main.sh
    submit --name fit --source src --input train=rows.csv --hp lr=0.1 -- sh main.sh
    first=$id
    run "$TRAINYARD" model register ctr --job "$first" --note 'first try'
    status 0
    out_is <<<ctr:1
    cp "yard/jobs/$first/ml/output/model/weights" want
    run "$TRAINYARD" job delete "$first"
    status 0
    find yard/users -type f -exec touch -d '2 days ago' {} +
    as "$admin"
    run "$TRAINYARD" gc
    status 0
    as "$ann"
    run "$TRAINYARD" model download ctr
    status 0
    cmp ctr-1/weights want || fail "the weights differ"
    is "a small file" "$(cat ctr-1/sub/rows)" 1,2
    check "an empty file" test -e ctr-1/empty -a ! -s ctr-1/empty
    head -c 17000000 want >ctr-1/weights.part
    rm ctr-1/weights
    run "$TRAINYARD" model download ctr:1 ctr-1
    status 0
    cmp ctr-1/weights want || fail "the resumed weights differ"
    api GET "/api/v1/models/ctr/versions/latest/file?path=weights" -H 'Range: bytes=16777210-16777219'
    is "a range over two parts" "$code $(sha256sum <.out)" "206 $(tail -c +16777211 want | head -c 10 | sha256sum)"
    grep -qi "^etag: \"$(digest want)\"" .head || fail "the ETag is not the digest"

    # The next one is made from it.
    # shellcheck disable=SC2016
    submit --name tune --input base=model:ctr:1 -- 'cmp $PAI_INPUT_BASE/weights $PAI_INPUT_BASE/weights && cp $PAI_INPUT_BASE/sub/rows $PAI_OUTPUT_MODEL/'
    run "$TRAINYARD" model register ctr --job "$id"
    out_is <<<ctr:2
    run "$TRAINYARD" model show ctr
    status 0
    out_has "ctr:2  1 files, 4 B, by ann"
    out_has "job          $id 'tune' of ann, output 'model'"
    out_has ", which is model ctr:1"
    out_has "  job          $first 'fit' of ann, output 'model'"
    out_has '  command      ["sh", "main.sh"]'
    out_has '  parameters   {"lr":'
    out_has '  metrics      {"auc": 0.75'
    out_has '  input        train from snapshot:'
    # Two versions of the same contents: the one that was asked for is named.
    "$TRAINYARD" model register twin --job "$id" >/dev/null
    "$TRAINYARD" model register twin --job "$id" >/dev/null
    keep=$id
    submit --input base=model:twin:1 -- 'cp $PAI_INPUT_BASE/rows $PAI_OUTPUT_MODEL/'
    "$TRAINYARD" model register grown --job "$id" >/dev/null
    run "$TRAINYARD" model show grown
    out_has ", which is model twin:1"
    run "$TRAINYARD" job get "$id"
    out_has "model.base=twin:1"
    id=$keep
    run "$TRAINYARD" model show ctr:1 --json
    json 'd["version"] == 1 and d["note"] == "first try" and d["lineage"]["job"] == "'"$first"'" and d["files"] == 3'
    run "$TRAINYARD" model list
    out_has "first try"
    run "$TRAINYARD" model delete ctr
    status 2
    err_has "say which version: ctr:2 is the latest"
    run "$TRAINYARD" model delete ctr:2
    status 0
    run "$TRAINYARD" model register ctr --job "$id"
    out_is <<<ctr:3
    run "$TRAINYARD" model list ctr --json
    json '[m["version"] for m in d] == [3, 1]'
    finish
}

a_model_is_its_owners_and_its_projects()
{
    local ann bob eve id
    start --user-storage 3m
    ann=$(person ann --project ads)
    bob=$(person bob --project ads)
    eve=$(person eve)
    as "$ann"
    submit --project ads -- 'echo secret >$PAI_OUTPUT_MODEL/m'
    run "$TRAINYARD" model register ctr --job "$id"
    out_is <<<ctr:1
    as "$bob"
    run "$TRAINYARD" model download ctr
    status 0
    is "bob reads it" "$(cat ctr-1/m)" secret
    # shellcheck disable=SC2016
    submit --input m=model:ctr -- 'cat $PAI_INPUT_M/m'
    run "$TRAINYARD" model delete ctr:1
    status 1
    err_has "the model is ann's"
    as "$eve"
    run "$TRAINYARD" model list --json
    json 'd == []'
    for path in /api/v1/models/ctr /api/v1/models/ctr/versions/1 /api/v1/models/ctr/versions/latest '/api/v1/models/ctr/versions/1/file?path=m'; do
        api GET "$path"
        is "$path" "$code" 404
    done
    api DELETE /api/v1/models/ctr/versions/1
    is "delete" "$code" 404
    run "$TRAINYARD" job submit --input m=model:ctr:1 -- true
    [ "$got" != 0 ] || fail "eve used it"
    err_has "no model 'ctr:1'"
    run "$TRAINYARD" model register mine --job "$id"
    status 1
    err_has "no job '$id'"
    submit -- 'echo hers >$PAI_OUTPUT_MODEL/m; ln -s /etc/passwd $PAI_OUTPUT_MODEL/link; ln -s / $PAI_OUTPUT_MODEL/root'
    run "$TRAINYARD" model register ctr --job "$id"
    [ "$got" != 0 ] || fail "eve took the name"
    err_has "the name 'ctr' is taken"
    # Links of a job lead nowhere.
    run "$TRAINYARD" model register hers --job "$id"
    out_is <<<hers:1
    run "$TRAINYARD" model show hers --json
    json 'd["files"] == 1'
    for path in link root/etc/passwd ../m /etc/passwd ''; do
        api GET "/api/v1/models/hers/versions/1/file?path=$path"
        case $code in 404 | 400) ;; *) fail "path '$path' -> $code" ;; esac
    done
    run "$TRAINYARD" model register none --job "$id" --channel checkpoints
    status 1
    err_has "has no files in the output channel 'checkpoints'"
    run "$TRAINYARD" model register none --job "$id" --channel ../../..
    status 1
    submit -- 'head -c 5000000 /dev/urandom >$PAI_OUTPUT_MODEL/m'
    run "$TRAINYARD" model register big --job "$id"
    err_has "error[E5501]"
    id=$("$TRAINYARD" job submit -- 'sleep 600')
    run "$TRAINYARD" model register live --job "$id"
    err_has "its outputs get a name when it has ended"
    "$TRAINYARD" job stop --force "$id" >/dev/null
    finish
}

without_a_server_it_is_the_same()
{
    local id
    export TRAINYARD_DIR=$PWD/jobs
    # shellcheck disable=SC2016
    submit -- 'echo weights >$PAI_OUTPUT_MODEL/w'
    run "$TRAINYARD" model register ctr --job "$id"
    out_is <<<ctr:1
    run "$TRAINYARD" job delete "$id"
    run "$TRAINYARD" gc --older-than 0s
    run "$TRAINYARD" model download ctr out
    status 0
    is "the file" "$(cat out/w)" weights
    run "$TRAINYARD" model show nothing
    status 1
    err_has "no model 'nothing'"
    run "$TRAINYARD" model show ../x
    status 2
}

tap_cases a_model_outlives_its_job_and_knows_where_it_came_from a_model_is_its_owners_and_its_projects \
    without_a_server_it_is_the_same
