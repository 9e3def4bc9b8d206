#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `--backend auto`: where a job goes, and that it is said why. Slurm is a sinfo that answers what a case says.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"

begin()
{
    place
    mkdir -p "$TRAINYARD_DIR" bin
    export PATH=$PWD/bin:$PATH KUBECONFIG=$PWD/none HOME=$PWD
}
# sinfo LINE...: what `sinfo -N -o "%N %C %m %G"` prints
sinfo()
{
    printf '%s\n' "$@" >nodes
    printf '#!/bin/sh\necho "$@" >>%s\ncat %s\n' "$PWD/asked" "$PWD/nodes" >bin/sinfo
    chmod +x bin/sinfo
}
submit() { "$TRAINYARD" job submit --backend auto "$@"; }
# went ID BACKEND TEXT: there, with TEXT in the reason
went()
{
    is "backend of $1" "$(field "$1" 'd["spec"]["backend"]')" "$2"
    run "$TRAINYARD" job why "$1"
    out_has "; its backend was chosen by auto: $2: $3"
    is "said once" "$(field "$1" 'sum(e["type"] == "BackendChosen" for e in d["events"])')" 1
}

a_job_that_fits_here_stays_here()
{
    begin
    sinfo 'n1 0/8/0/8 8000 (null)'
    local id
    id=$(submit --cpu 2 -- true)
    went "$id" local "what it asks for is free on this machine"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
}

a_job_that_does_not_goes_to_hosts_with_room()
{
    begin
    command -v mpirun >/dev/null || skip "Open MPI is not installed"
    printf 'localhost slots=2\n' >"$TRAINYARD_DIR/hostfile"
    sinfo 'n1 8/0/0/8 8000 (null)'
    local id
    id=$(submit --workers 2 --cpu 6 --backend-option tasks_per_node=2 --backend-option time=1h -- 'echo rank $RANK')
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 0
    went "$id" mpi "2 of the 2 slots of its hosts are free; not local: it will never start: it asks for 12 processors, and this machine has 8 processors; ask for less; not slurm: its nodes have room for 0 of 2 workers now, for 1 when they are empty"
    is "log" "$("$TRAINYARD" job logs --worker 1 "$id")" "rank 1"
    is "settings" "$(field "$id" 'd["spec"]["backend_option"]')" "{'tasks_per_node': '2'}"
}

slurm_takes_what_its_nodes_have_room_for()
{
    begin
    sinfo 'n1 6/2/0/8 8000 gpu:a100:2(S:0)' 'n1 6/2/0/8 8000 gpu:a100:2(S:0)' 'n2 0/8/0/8 8000+ gpu:2,shard:4' 'n3 0/0/8/8 64000 (null)'
    local id
    run submit --cpu 9 --gpu 2 -- true
    status 2
    err_has "not slurm: its nodes have room for 0 of 1 workers now, for 0 when they are empty"
    id=$(submit --workers 4 --cpu 2 --gpu 2 --memory 4Gi --backend-option partition=big -- true)
    went "$id" slurm "its nodes have room for 4 of 4 workers now, for 8 when they are empty; not local: "
    grep -q -- '--partition=big' asked || fail "sinfo was not asked about the partition: $(cat asked)"
    is "settings" "$(field "$id" 'd["spec"]["backend_option"]')" "{'partition': 'big'}"
}

of_two_where_it_would_wait_the_first_takes_it()
{
    begin
    sinfo 'n1 8/0/0/8 64000 (null)'
    local first id
    first=$(submit --cpu 8 -- 'while [ ! -e go ]; do sleep 0.05; done')
    state_is "$first" Running
    id=$(submit --cpu 4 -- true)
    went "$id" local "it is next in line and needs 4 processors"
    sinfo 'n1 4/4/0/8 64000 (null)'
    id=$(submit --cpu 4 --name other -- true)
    went "$id" slurm "its nodes have room for 1 of 1 workers now"
    touch go
}

what_no_backend_can_run_is_refused_with_all_reasons()
{
    begin
    printf '#!/bin/sh\necho "sinfo: fatal: no such cluster" >&2\nexit 1\n' >bin/sinfo
    chmod +x bin/sinfo
    run "$TRAINYARD" job submit --backend auto --cpu 64 -- true
    status 2
    err_has "error[E3204]: no backend can run it: not local: it will never start: it asks for 64 processors, and this machine has 8 processors; ask for less; not slurm: sinfo: "
    err_has "no such cluster; not mpi: file '"
    err_has "/jobs/hostfile"
    err_lacks "not kubernetes" # which runs images
    is "jobs" "$("$TRAINYARD" job list --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" 0
    run "$TRAINYARD" job submit --backend auto --backend-option cores=2 -- true
    status 2
    err_has "error[E3021]: no backend has a setting 'cores'"
    run "$TRAINYARD" job submit --backend auto --backend-option time=soon -- true
    status 2
    err_has "'time' of the slurm backend: 'soon': "
}

tap_cases a_job_that_fits_here_stays_here a_job_that_does_not_goes_to_hosts_with_room slurm_takes_what_its_nodes_have_room_for \
    of_two_where_it_would_wait_the_first_takes_it what_no_backend_can_run_is_refused_with_all_reasons
