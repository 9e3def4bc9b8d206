#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises, of one that shares no network, no log and no process tree
# with the supervisor: tests/it/backends/netns.c, built into a program of its own.
. "$(dirname "$0")/contract_lib.sh"

product=$TRAINYARD
TRAINYARD=$TY_BUILD/tests/it/trainyard_backends
flags=(--backend netns)
signals=yes
ready()
{
    command -v ip >/dev/null || skip "ip is not installed"
    unshare -n ip link add br0 type bridge 2>/dev/null ||
        unshare -rn ip link add br0 type bridge 2>/dev/null ||
        skip "this machine allows no network namespaces"
}
keeper() { cat "$TRAINYARD_DIR/jobs/$1/run/node"; }
left()
{
    grep -sF "@ty-netns-$1" /proc/net/unix # its socket lives as long as the node
}

the_product_does_not_know_it()
{
    place
    run "$product" job submit --backend netns -- true
    status 2
    err_has "'backend' takes "
    err_has ", not \"netns\""
    err_lacks "'netns'"
    run "$TRAINYARD" job submit --backend slurp -- true
    err_has "'backend' takes "
    err_has "'netns'"
    err_has ", not \"slurp\""
}

workers_have_a_network_of_their_own()
{
    begin
    local id
    id=$(submit --workers 2 -- 'ip -4 -o addr show dev eth0 | grep -o "10[0-9.]*/24"; echo "$MASTER_ADDR"')
    ended "$id" Succeeded ""
    is "rank 1" "$(log_of --worker 1 "$id" | tr '\n' ' ')" "10.99.0.2/24 10.99.0.1 "
}

it_waits_in_the_queue_of_its_backend_and_says_so()
{
    begin
    local id
    export TRAINYARD_SLOTS=cpu=1,memory=1g
    id=$(submit --name held --cpu 64 --memory 900g --gpu 8 -- 'echo up; test -z "$NVIDIA_VISIBLE_DEVICES"')
    for _ in $(seq 100); do
        run "$TRAINYARD" job why "$id"
        grep -q seat .out && break
        sleep 0.1
    done
    out_has "$id is EnvPreparing: got its resources (Admitted); the backend netns does not run it yet: no seat is free"
    sleep 0.5
    is "said once" "$(field "$id" 'sum(e["type"] == "Waiting" for e in d["events"])')" 1
    kill_supervisor "$id"
    run "$TRAINYARD" job run --backend local -- true # which takes none of this machine's slots
    status 0
    touch "$TRAINYARD_DIR/jobs/$id/go"
    ended "$id" Succeeded ""
    is "node" "$(field "$id" 'd["status"]["workers"][0]["node"]')" seat-0
    run "$TRAINYARD" job get "$id"
    out_has "worker 0   Succeeded on seat-0"
}

the_wait_in_that_queue_has_a_limit_and_can_be_stopped()
{
    begin
    local id
    id=$(submit --name held --queue-timeout 1s -- true)
    ended "$id" Failed QueueTimeout
    id=$(submit --name held --workers 2 -- true)
    sleep 1
    run "$TRAINYARD" job stop "$id"
    ended "$id" Stopped UserStopped
}

a_backend_has_settings_of_its_own()
{
    begin
    local id
    id=$(submit --backend-option partition=gpu -- true)
    ended "$id" Succeeded ""
    is "node" "$(field "$id" 'd["status"]["workers"][0]["node"]')" gpu/seat-0
    run "$TRAINYARD" explain backend_option
    out_has "partition (netns): part"
    run "$TRAINYARD" explain backend
    out_has "image; netns: without an image"
    run "$TRAINYARD" job submit --backend netns --backend-option account=x -- true
    status 2
    err_has "error[E3021]: the netns backend has no setting 'account'; it has 'partition'"
    run "$TRAINYARD" job submit --backend netns --backend-option 'partition=a b' -- true
    status 2
    err_has "'partition' of the netns backend: 'a b': "
    printf 'command: "true"\nworkers: 1\nbackend_options:\n  shm_size: 1g\n' >job.yaml
    run "$product" job submit job.yaml
    status 2
    err_has "the local backend has no setting 'shm_size'; it has none"
}

programs_run_beside_a_worker_that_is_elsewhere()
{
    [ "$(id -u)" = 0 ] || skip "only root enters namespaces of others"
    begin
    local id
    id=$(submit -- 'echo up; while [ ! -e go ]; do sleep 0.05; done')
    log_has "$id" up
    run "$TRAINYARD" job exec "$id" -- ip -4 -o addr show dev eth0
    status 0
    out_has 10.99.0.1/24
    touch go
    ended "$id" Succeeded ""
}

contract programs_run_beside_a_worker_that_is_elsewhere a_backend_has_settings_of_its_own it_waits_in_the_queue_of_its_backend_and_says_so the_wait_in_that_queue_has_a_limit_and_can_be_stopped the_product_does_not_know_it workers_have_a_network_of_their_own
