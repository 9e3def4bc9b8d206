# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# jobs_lib.sh - what tests of jobs share.

# Every case has a directory of jobs of its own; agents end soon after it.
place()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE TRAINYARD_JOB_ID
}

# state_is ID STATE: waits for it.
state_is()
{
    local now=
    for _ in $(seq 600); do
        now=$("$TRAINYARD" job get --json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])')
        [ "$now" = "$2" ] && return
        sleep 0.05
    done
    fail "job $1 is $now, want $2"
}

field() # ID EXPRESSION over d
{
    "$TRAINYARD" job get --events --json "$1" | python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

is() # what got want
{
    [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

private_ml()
{
    unshare -rm true 2>/dev/null || skip "this machine allows no mount namespaces"
}
