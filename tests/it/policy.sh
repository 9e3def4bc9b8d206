#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What jobs of a role may ask for, as the file of `server --policy` says.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

policy()
{
    cat >policy.yaml <<'END'
policy: team
submitter:
  images: ["registry.example/team/*"]
  datasets: ["open-*"]
  network: none
  max_priority: 5
  max_workers: 2
admin:
  max_priority: 8
END
}

start()
{
    TRAINYARD_SLOTS=cpu=8,memory=8g "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none "$@" 2>server.log &
    server=$!
    wait_for_server
    export TRAINYARD_SERVER=$url
    admin=$(cat yard/admin.token)
}

refused() # RULE FLAG...
{
    run "$TRAINYARD" job submit "${@:2}" -- true
    [ "$got" != 0 ] || fail "taken: ${*:2}"
    err_has "E5010"
    err_has "$1"
}

check_knows_the_file()
{
    policy
    run "$TRAINYARD" check policy.yaml
    status 0
    out_has "ok: policy.yaml: policy file"
    run "$TRAINYARD" explain policy:PolicyRole
    status 0
    out_has max_workers
    printf 'policy: x\nsubmitter:\n  max_worker: 2\n  max_priority: 10\n  network: some\n' >bad.yaml
    run "$TRAINYARD" check bad.yaml
    status 2
    out_has "bad.yaml:3:3"
    out_has max_workers
    out_has "bad.yaml:4:"
    out_has "bad.yaml:5:"
    run "$TRAINYARD" server --dir yard --policy bad.yaml
    [ "$got" != 0 ] || fail "a server starts with a bad policy"
    err_has "bad.yaml:3:3"
}

jobs_of_a_role_are_held_to_its_rules()
{
    policy
    start --policy policy.yaml
    grep -q '^isolation: none' server.log && { finish; skip "no other users can be let in here"; }
    export TRAINYARD_TOKEN=$admin
    "$TRAINYARD" user create ann --role submitter >/dev/null
    mkdir data closed && chmod 755 data closed
    "$TRAINYARD" dataset create open-data --path "$PWD/data" >/dev/null
    "$TRAINYARD" dataset create closed --path "$PWD/closed" >/dev/null
    refused "admin.max_priority: priority 9 is above 8" --priority 9
    run "$TRAINYARD" job submit --priority 8 --workers 3 -- true
    status 0
    TRAINYARD_TOKEN=$("$TRAINYARD" token create ann)
    refused "submitter.max_priority: priority 6 is above 5" --priority 6
    refused "submitter.max_workers: 3 workers are more than 2" --workers 3
    refused "submitter.max_workers: 4 workers are more than 2" --role worker=3 --role master=1
    refused "submitter.images: the image 'evil.example/x' is none of those allowed" --image evil.example/x
    refused "submitter.images" --image registry.example/teams/x
    refused "submitter.datasets: the dataset 'closed' is none of those allowed" --input x=dataset:closed
    refused "submitter.datasets" --data closed:/mnt/x
    refused "submitter.datasets" --output model=dataset:closed
    run "$TRAINYARD" schedule create late --cron '0 0 1 1 *' --priority 9 -- true
    [ "$got" != 0 ] || fail "a schedule goes around the rules"
    err_has "submitter.max_priority: priority 9 is above 5"
    if grep -q '^isolation: \(accounts\|namespaces\)' server.log; then
        run "$TRAINYARD" job run --priority 5 --input x=dataset:open-data -- 'cat /proc/net/dev; echo ran'
        status 0
        out_has ran
        out_lacks eth
        export TRAINYARD_TOKEN=$admin
        run "$TRAINYARD" job run -- 'echo ran'
        status 0
    fi
    finish
}

an_image_can_be_required()
{
    printf 'policy: x\nsubmitter:\n  require_image: true\n' >policy.yaml
    run "$TRAINYARD" check policy.yaml
    status 0
    out_has "any image may be named"
    start --policy policy.yaml
    grep -q '^isolation: none' server.log && { finish; skip "no other users can be let in here"; }
    export TRAINYARD_TOKEN=$admin
    "$TRAINYARD" user create ann --role submitter >/dev/null
    TRAINYARD_TOKEN=$("$TRAINYARD" token create ann)
    refused "submitter.require_image: the job needs an image"
    finish
}

# experiment PRIORITY: one is made; its id, or the refusal, is in .out.
experiment()
{
    curl -s -o .out -X POST -H "Authorization: Bearer $TRAINYARD_TOKEN" -H 'Content-Type: application/json' -d '{"settings": {"id": "x", "code_dir": "",
        "name": "e", "command": "sleep 0.1; echo ::trainyard default=1", "tuner": "Random", "tuner_args": {}, "concurrency": 1, "trials": 100000,
        "space": {"x": {"_type": "uniform", "_value": [0, 1]}}, "job": {"priority": ["'"$1"'"]}}}' "$url/api/v1/experiments"
}

what_was_made_before_the_rules_is_held_to_them()
{
    local made i
    start --experiments "$PWD/experiments"
    grep -q '^isolation: none' server.log && { finish; skip "no other users can be let in here"; }
    export TRAINYARD_TOKEN=$admin
    "$TRAINYARD" user create ann --role submitter >/dev/null
    TRAINYARD_TOKEN=$("$TRAINYARD" token create ann)
    run "$TRAINYARD" schedule create late --cron '0 0 1 1 *' --priority 9 -- true
    status 0
    experiment 9
    made=$(python3 -c 'import json; print(json.load(open(".out"))["id"])')
    finish
    policy
    start --policy policy.yaml --experiments "$PWD/experiments"
    run "$TRAINYARD" schedule run late
    [ "$got" != 0 ] || fail "a schedule goes around the rules"
    # An experiment that gets no trial any more says why, and has ended.
    for i in $(seq 100); do
        run "$TRAINYARD" tune get "$made" --json
        grep -q '"status": *"ERROR"' .out && break
        sleep 0.2
    done
    out_has ERROR
    out_has "submitter.max_priority: priority 9 is above 5"
    experiment 9
    out_has '"E5010"'
    out_has "submitter.max_priority: priority 9 is above 5"
    finish
}

tap_cases what_was_made_before_the_rules_is_held_to_them check_knows_the_file jobs_of_a_role_are_held_to_its_rules an_image_can_be_required
