#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs whose inputs and outputs lie in an object store, and tables as inputs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"
. "$(dirname "$0")/servers/lib.sh"

serve()
{
    place
    serve_with objects.py "$@"
    export AWS_ACCESS_KEY_ID=testkey AWS_SECRET_ACCESS_KEY=testsecret AWS_REGION=us-east-1
    export AWS_ENDPOINT_URL=$at AWS_MAX_ATTEMPTS=2
    unset AWS_SESSION_TOKEN AWS_PROFILE
}
put() # TEXT BUCKET/KEY
{
    printf '%s' "$1" >.object
    ask "/_put/$2" @.object
}
# get BUCKET/KEY: what is there, by our own reader.
get()
{
    "$TRAINYARD" job run --input "it=s3://$1" -- 'cat "$PAI_INPUT_IT"' 2>/dev/null
}

an_object_is_a_file_and_a_prefix_a_directory()
{
    serve
    private_ml
    put 'a,1' bucket/data/train/part-0.csv
    put 'b,2' bucket/data/train/sub/part-1.csv
    put 'hidden' bucket/data/train/_SUCCESS
    put '' bucket/data/train/empty
    put 'x,9' bucket/data/trainer.csv
    put '' bucket/data/train/dir/
    # No '/' at the end: the store is asked what it is.
    run "$TRAINYARD" job run --input train=s3://bucket/data/train --input one=s3://bucket/data/trainer.csv -- \
        'echo $PAI_INPUT_TRAIN $PAI_INPUT_ONE; cat $PAI_INPUT_ONE /ml/input/data/train/sub/part-1.csv; echo
        cd /ml/input/data/train && find . -type f | sort; touch new 2>/dev/null || echo read-only'
    status 0
    out_is <<'END'
/ml/input/data/train/ /ml/input/data/one/trainer.csv
x,9b,2
./_SUCCESS
./empty
./part-0.csv
./sub/part-1.csv
read-only
END
    local id
    id=$(sed -n 's/^job //p' .err)
    is "counted" "$(field "$id" '[(e["data"]["direction"], e["data"]["files"], e["data"]["bytes"], e["data"]["of_bytes"]) for e in d["events"] if e["type"] == "Transfer"][-1]')" \
        "('in', 5, 15, 15)"
    check "no copy is left" test ! -e "jobs/jobs/$id/remote"
    check "no key is left" sh -c '! grep -rq testsecret jobs'
    run "$TRAINYARD" job script "$id"
    out_has "--input=train=s3://bucket/data/train/"
}

the_key_is_the_submitters_and_nobody_elses()
{
    serve
    put 'a' bucket/a
    # This agent was started without any key.
    local id keys
    id=$(env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$TRAINYARD" job submit -- 'until [ -e go ]; do sleep 0.05; done')
    state_is "$id" Running
    run "$TRAINYARD" job run --input a=s3://bucket/a -- 'cat $PAI_INPUT_A; env | grep AWS; until [ -e go ]; do sleep 0.05; done' &
    for _ in $(seq 200); do
        keys=$(ls jobs/jobs/*/access.json 2>/dev/null) && break
        sleep 0.05
    done
    is "mode" "$(stat -c %a "$keys")" 600
    check "not in a command line" sh -c "! grep -qa '[t]estsecret' /proc/[0-9]*/cmdline 2>/dev/null"
    touch go
    wait $!
    is "seen by the job" "$(cat .out)" a
    check "no key is left" sh -c '! grep -rq testsecret jobs'
}

outputs_are_sent_with_their_list()
{
    serve
    private_ml
    mkdir src
    echo 'mkdir -p /ml/output/model/sub; echo weights >/ml/output/model/sub/w; echo step >/ml/output/checkpoints/c; echo x >$PAI_OUTPUT_TENSORBOARD/t' >src/main.sh
    put old bucket/run/checkpoints/before
    run "$TRAINYARD" job run --source src --output model=s3://bucket/run/model --output checkpoints=s3://bucket/run/checkpoints/ -- \
        'cat /ml/output/checkpoints/before; sh main.sh'
    status 0
    is "goes on from what was there" "$(cat .out)" old
    local id
    id=$(sed -n 's/^job //p' .err)
    is "sent" "$(get bucket/run/model/sub/w)" weights
    is "sent" "$(get bucket/run/checkpoints/c)" step
    get bucket/run/model/_trainyard_outputs.json >list.json
    python3 - <<'PY' || fail "the list that was sent"
import hashlib, json
c = {x["name"]: x for x in json.load(open("list.json"))["channels"]}
assert c["model"]["uri"] == "s3://bucket/run/model/"
assert c["model"]["files"] == [{"path": "sub/w", "bytes": 8, "sha256": hashlib.sha256(b"weights\n").hexdigest()}]
assert "uri" not in c["tensorboard"]
PY
    is "order" "$(field "$id" '[e["type"] for e in d["events"]][-3:]')" "['OutputsReady', 'Transfer', 'StateChanged']"
    stats 'not d["uploads"]'
}

what_is_missing_is_said_before_anything_runs()
{
    serve
    put a bucket/a
    run "$TRAINYARD" job submit --input train=s3://bucket/nothing/ -- true
    status 1
    err_has "error[E3005]: input 'train': 's3://bucket/nothing/': there is no such object, and none below it"
    run "$TRAINYARD" job submit --input train=s3://nowhere/x -- true
    status 1
    err_has "input 'train': 's3://nowhere"
    AWS_SECRET_ACCESS_KEY=wrong run "$TRAINYARD" job submit --input train=s3://bucket/a -- true
    status 1
    err_has "error[E1606]: input 'train'"
    err_lacks wrong
    AWS_ENDPOINT_URL=http://127.0.0.1:9 AWS_MAX_ATTEMPTS=1 run "$TRAINYARD" job submit --output model=s3://bucket/m -- true
    status 1
    err_has "error[E1607]: output 'model'"
    run "$TRAINYARD" job submit --input train=nas://fs-1.cn-hangzhou/dir -- true
    status 1
    err_has "error[E3006]: input 'train': 'nas://fs-1.cn-hangzhou/dir'"
    run "$TRAINYARD" job list --json
    json 'd == []'
}

names_cannot_leave_the_directory()
{
    serve
    put evil 'bucket/d/../../../x'
    put good bucket/d/good
    run "$TRAINYARD" job run --input d=s3://bucket/d/ -- true
    status 1
    err_has "Failed (InputMissing): input 'd': 's3://bucket/d/../../../x'"
    check "nothing escaped" sh -c '! find . -name x | grep -q .'
}

a_store_that_goes_away_is_tried_again()
{
    serve
    put data bucket/a
    fault '{"on": "GET", "key": "/bucket/a", "times": 3, "do": "503"}'
    run "$TRAINYARD" job run --retries 1 --backoff 0s --input a=s3://bucket/a -- 'cat $PAI_INPUT_A'
    status 0
    is "log" "$(cat .out)" data
    local id
    id=$(sed -n 's/^job //p' .err)
    is "why" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['BackendUnavailable']"
}

an_output_that_cannot_be_sent_is_kept_here()
{
    serve
    put x bucket/other
    fault '{"on": "PUT", "key": "", "times": 99, "do": "403"}'
    run "$TRAINYARD" job run --output model=s3://bucket/m/ -- 'echo weights >$PAI_OUTPUT_MODEL/w'
    status 1
    err_has "Failed (OutputFailed): "
    local id
    id=$(sed -n 's/^job //p' .err)
    err_has "all files are still in $PWD/jobs/jobs/$id/ml/output"
    is "kept" "$(cat "jobs/jobs/$id/ml/output/model/w")" weights
}

datasets_may_lie_in_a_store()
{
    serve
    private_ml
    put 42 bucket/taobao/answer
    run "$TRAINYARD" dataset create taobao --type s3 --path s3://bucket/taobao --mount /mnt/ty-test
    status 0
    run "$TRAINYARD" job run --data taobao -- 'cat /mnt/ty-test/answer'
    status 0
    is "read" "$(cat .out)" 42
    run "$TRAINYARD" job run --data s3://bucket/taobao/:/mnt/ty-other -- 'cat /mnt/ty-other/answer'
    status 0
    run "$TRAINYARD" job run --input t=dataset:taobao -- 'cat $PAI_INPUT_T/answer'
    is "read" "$(cat .out)" 42
}

a_table_is_an_address_and_a_key()
{
    place
    export ODPS_ENDPOINT=http://odps.example/api ODPS_ACCESS_ID=me ODPS_ACCESS_KEY=table-secret
    run "$TRAINYARD" job run --input t=odps://p/tables/t/dt=1 -- \
        'cat $PAI_INPUT_T/meta.json; echo; cat $PAI_ODPS_CREDENTIAL | tr -d a-z; stat -c %a $PAI_ODPS_CREDENTIAL'
    status 0
    out_has '{"endpoint": "http://odps.example/api", "path": "odps://p/tables/t/dt=1"}'
    out_has 600
    check "no key is left" sh -c '! grep -rq table-secret jobs'
}

tap_cases an_object_is_a_file_and_a_prefix_a_directory the_key_is_the_submitters_and_nobody_elses \
    outputs_are_sent_with_their_list what_is_missing_is_said_before_anything_runs \
    names_cannot_leave_the_directory a_store_that_goes_away_is_tried_again \
    an_output_that_cannot_be_sent_is_kept_here datasets_may_lie_in_a_store \
    a_table_is_an_address_and_a_key
