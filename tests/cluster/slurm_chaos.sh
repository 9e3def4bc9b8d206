#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs on a real Slurm while supervisors, the agent, the controller and the daemons of nodes
# are killed: every job ends once and rightly, none runs twice at a time, nothing is left in
# Slurm. CHAOS_JOBS (default 12), CHAOS_SEED.
TY_SOURCE=${TY_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
TY_BUILD=${TY_BUILD:-$TY_SOURCE/build/dev}
. "$TY_SOURCE/tests/it/contract_lib.sh"
. "$TY_SOURCE/tests/cluster/slurm_lib.sh"

jobs=${CHAOS_JOBS:-12}
RANDOM=${CHAOS_SEED:-$$}

# A job that says when it runs twice at a time, and ends as it is told.
work='exec 9>"$DIR/$TRAINYARD_JOB_ID.$RANK"; flock -n 9 || echo "$TRAINYARD_JOB_ID" >>"$DIR/doubled"
i=0; while [ $i -lt $TICKS ]; do sleep 0.1; i=$((i+1)); done; echo "$TRAINYARD_JOB_ID $RANK" >>"$DIR/ended"; exit $END'

submit_some() # N
{
    local end workers
    for _ in $(seq "$1"); do
        end=$((RANDOM % 4 == 0 ? 3 : 0))
        workers=$((RANDOM % 3 == 0 ? 2 : 1))
        echo "$(submit --retries 50 --backoff 200ms --workers $workers --env DIR="$PWD" --env TICKS=$((20 + RANDOM % 60)) \
            --env END=$end -- "$work") $end $workers" >>submitted
    done
}

kill_something()
{
    local n
    case $((RANDOM % 6)) in
    0 | 1)
        echo supervisors >>kills
        pgrep -x 'jb-[a-z0-9]*' | while read -r p; do
            grep -qsz "^TRAINYARD_DIR=$TRAINYARD_DIR\$" "/proc/$p/environ" && [ $((RANDOM % 3)) = 0 ] && kill -9 "$p"
        done ;;
    2)
        echo agent >>kills
        for p in $(pgrep -f -- "job agent"); do
            grep -qsz "^TRAINYARD_DIR=$TRAINYARD_DIR\$" "/proc/$p/environ" && kill -9 "$p"
        done
        "$TRAINYARD" job list >/dev/null ;; # which starts another
    3)
        echo controller >>kills
        "$up" "$cluster" controller-kill
        sleep $((RANDOM % 4))
        "$up" "$cluster" controller-start ;;
    4)
        echo node >>kills
        n=$((1 + RANDOM % 4))
        "$up" "$cluster" node-kill $n
        scontrol update nodename=n$n state=down reason=chaos
        sleep $((RANDOM % 4))
        "$up" "$cluster" node-start $n
        scontrol update nodename=n$n state=resume 2>/dev/null ;;
    5)
        echo shim >>kills
        for p in $(pgrep -x ty-worker); do # a shim
            grep -qsz "^SLURM_CONF=$SLURM_CONF\$" "/proc/$p/environ" && kill -9 "$p" && break
        done ;;
    esac 2>/dev/null
}

every_job_ends_once_and_rightly()
{
    begin
    local id end workers left
    flags=(--backend slurm --backend-option poll=2s)
    : >submitted
    SECONDS=0
    for _ in 1 2 3 4; do
        submit_some $((jobs / 4))
        sleep 2
        kill_something
    done
    for _ in $(seq 200); do
        "$TRAINYARD" job list | grep -E ' (Creating|Queuing|EnvPreparing|Running|Restarting|Unknown) ' >live
        [ -s live ] || break
        [ "$SECONDS" -lt "${CHAOS_KILL_S:-60}" ] && kill_something
        sleep 2
    done
    while read -r id end workers; do
        run "$TRAINYARD" job wait --timeout 200s "$id"
        is "$id" "$(field "$id" '(d["state"], d["status"]["exit"]["code"])')" \
            "$([ "$end" = 0 ] && echo "('Succeeded', 0)" || echo "('Failed', 3)")"
        [ "$end" != 0 ] || is "workers of $id that ended" "$(grep "^$id " ended | sort -u | wc -l)" "$workers"
    done <submitted
    [ ! -e doubled ] || fail "ran twice at a time: $(cat doubled)"
    for _ in $(seq 100); do
        left=$(squeue -h -t PD,R,S,CG,CF -o '%i %T %j')
        [ -z "$left" ] && break
        sleep 0.2
    done
    is "left in Slurm" "$left" ""
    is "submitted" "$(wc -l <submitted)" $((jobs / 4 * 4))
    echo "# $(wc -l <submitted) jobs; $(cat kills 2>/dev/null | sort | uniq -c | tr '\n' ' ')" >&3
}

(tap_cases every_job_ends_once_and_rightly) # it has a trap of its own
