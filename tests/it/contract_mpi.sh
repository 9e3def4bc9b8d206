#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises, of mpirun on two hosts without ssh, and what is its own. The hosts are network namespaces with
# a `trainyard backend host` each; this machine has none of the workers.
if [ -z "${TY_TEST_NETWORK:-}" ]; then # all of it in a network of its own, which ends with it
    export TY_TEST_NETWORK=1
    if command -v ip >/dev/null && unshare -n ip link add br0 type bridge 2>/dev/null; then
        exec unshare -n "$0" "$@"
    elif command -v ip >/dev/null && unshare -rn ip link add br0 type bridge 2>/dev/null; then
        exec unshare -rn "$0" "$@"
    fi
    TY_TEST_NETWORK=none
fi
. "$(dirname "$0")/ranks_hosts_lib.sh"
. "$(dirname "$0")/contract_lib.sh" # whose `ended` is meant

flags=(--backend mpi)
signals=yes
# Four slots on two hosts, which are called by their addresses.
ready()
{
    hosts 2
    trap 'kill "${agents[@]}" "${host_pids[@]}" 2>/dev/null' EXIT
    mkdir -p "$TRAINYARD_DIR"
    ip addr add 10.98.0.250/24 dev ty0
    printf '# hosts of the test\n10.98.0.1 slots=2\n\n10.98.0.2  slots=2 max_slots=2\n' >"$TRAINYARD_DIR/hostfile"
    for i in 1 2; do host_begins $i; done
    disown -a # cases wait for what they start themselves
}
host_begins() # I
{
    mkdir -p "t$1"
    TMPDIR=$PWD/t$1 nsenter -t "${host_pids[$1]}" -n -u "$TRAINYARD" backend host --dir "$TRAINYARD_DIR" --name "10.98.0.$1" >"host$1.log" 2>&1 3>&- </dev/null &
    agents[$1]=$!
    for _ in $(seq 200); do [ -s "$TRAINYARD_DIR/mpi/hosts/10.98.0.$1" ] && return; sleep 0.05; done
    fail "host $1 does not come up: $(cat "host$1.log")"
}
keeper() { cut -d' ' -f1 "$TRAINYARD_DIR/jobs/$1/run/0.1.shim" | head -1; }
left() { find "$TRAINYARD_DIR/mpi/slots" -name "*$1*" 2>/dev/null; }

why_has() # ID TEXT: waits for it
{
    for _ in $(seq 150); do
        run "$TRAINYARD" job why "$1"
        grep -qF -e "$2" .out && return
        sleep 0.1
    done
    fail "job why does not say '$2': $(cat .out)"
}

workers_fill_the_hosts_of_the_file_in_its_order()
{
    begin
    local id
    id=$(submit --workers 3 -- 'echo "$RANK of $WORLD_SIZE at $MASTER_ADDR on $(hostname)"; env | grep -c "^OMPI_\|^PMIX_" || true')
    ended "$id" Succeeded ""
    is "worker 1" "$(log_of --worker 1 "$id" | tr '\n' ' ')" "1 of 3 at 10.98.0.1 on host1 0 "
    is "worker 2" "$(log_of --worker 2 "$id" | tr '\n' ' ')" "2 of 3 at 10.98.0.1 on host2 0 "
    is "nodes" "$(field "$id" '[w["node"] for w in d["status"]["workers"]]')" "['10.98.0.1', '10.98.0.1', '10.98.0.2']"
    id=$(submit --workers 2 --backend-option tasks_per_node=1 -- 'hostname')
    ended "$id" Succeeded ""
    is "one on each host" "$(log_of --worker 1 "$id")" host2
}

programs_of_workers_are_ranks_where_the_job_asks_for_it()
{
    begin
    local id
    id=$(submit --workers 3 --backend-option world=yes -- 'echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"')
    ended "$id" Succeeded ""
    is "rank 2" "$(log_of --worker 2 "$id")" "2 of 3"
}

jobs_wait_for_slots_in_their_order_and_say_who_has_them()
{
    begin
    local first second third
    first=$(submit --workers 3 -- 'echo up; while [ ! -e go ]; do sleep 0.05; done')
    log_has "$first" up
    second=$(submit --workers 2 -- 'echo second >>order')
    why_has "$second" "1 of its 2 workers find no slot: 3 of the 4 slots of its hosts are taken, by $first"
    third=$(submit -- 'echo third >>order')
    why_has "$third" "$second waits for these hosts before it"
    run "$TRAINYARD" job stop "$third"
    ended "$third" Stopped UserStopped
    touch go
    ended "$first" Succeeded ""
    ended "$second" Succeeded ""
    is "order" "$(sort -u order)" second
}

a_hostfile_that_cannot_be_used_is_named_with_its_line()
{
    begin
    local id
    id=$(submit --workers 5 -- true)
    ended "$id" Failed LaunchFailure
    why_has "$id" "/hostfile' has 4 slots, which are too few for 5 workers"
    for line in 'host3 slots=x' 'host3 cores=2' 'a,b' '-x'; do
        printf 'host1\n%s\n' "$line" >hosts
        id=$(submit --backend-option hostfile="$PWD/hosts" -- true)
        ended "$id" Failed LaunchFailure
        why_has "$id" "/hosts' line 2: '"
    done
    id=$(submit --backend-option hostfile=/no/such/hosts -- true)
    ended "$id" Failed LaunchFailure
    why_has "$id" "/no/such/hosts"
    for option in hostfile=hosts world=maybe tasks_per_node=0 program=x; do
        run "$TRAINYARD" job submit --backend mpi --backend-option "$option" -- true
        status 2
        err_has "'${option%%=*}' of the mpi backend: "
    done
}

a_host_that_cannot_be_reached_is_named()
{
    begin
    local id
    kill "${agents[2]}"
    for _ in $(seq 100); do kill -0 "${agents[2]}" 2>/dev/null || break; sleep 0.05; done
    [ -e "$TRAINYARD_DIR/mpi/hosts/10.98.0.2" ] && fail "a host that has ended is still there"
    mkdir -p bin
    printf '#!/bin/sh\nfor word; do host=$command command=$word; done\necho "ssh: connect to host $host port 22: refused" >&2\nexit 255\n' >bin/ssh
    chmod +x bin/ssh
    PATH=$PWD/bin:$PATH
    id=$(submit --workers 3 -- 'echo up; sleep 100')
    ended "$id" Failed NodeFailure
    why_has "$id" "ssh: connect to host 10.98.0.2 port 22: refused"
    id=$(submit --workers 2 -- 'hostname')
    ended "$id" Succeeded ""
}

strangers_are_refused()
{
    begin
    local id port
    port=$(cut -d' ' -f2 "$TRAINYARD_DIR/mpi/hosts/10.98.0.1")
    mkdir -p other/mpi/hosts
    echo "10.98.0.1 $port" >other/mpi/hosts/10.98.0.1
    run env TRAINYARD_MPI_DIR="$PWD/other" "$TRAINYARD" backend host --reach 10.98.0.1 touch "$PWD/taken"
    status 1
    run python3 -c "import socket; s = socket.create_connection(('10.98.0.1', $port)); s.sendall(b'GET / HTTP/1.0\r\n\r\n' * 10); print(len(s.recv(100)))"
    status 0
    [ -e taken ] && fail "a command of a stranger was run"
    grep -q "a connection is refused" host1.log || fail "the host says nothing: $(cat host1.log)"
    run env TRAINYARD_MPI_DIR="$TRAINYARD_DIR" "$TRAINYARD" backend host --reach 10.98.0.1 exit 7
    status 7
    is "mode of the secret" "$(stat -c %a "$TRAINYARD_DIR/mpi/secret")" 600
    run "$TRAINYARD" backend host --dir "$TRAINYARD_DIR" --name 'a b'
    status 2
    err_has "--name 'a b' is not what a hostfile can call a host"
}

a_runner_that_is_killed_takes_nothing_with_it_that_stays()
{
    begin
    local id
    id=$(submit --workers 3 --retries 1 --backoff 100ms -- 'echo "try $TRAINYARD_RESTART_COUNT"; [ "$TRAINYARD_RESTART_COUNT" = 1 ] || sleep 100')
    log_has "$id" "try 0"
    kill -9 "$(pgrep -f -- "--mpi-run $TRAINYARD_DIR/jobs/$id/")"
    ended "$id" Succeeded ""
    is "reasons" "$(field "$id" '[e["reason"] for e in d["events"] if e["type"] == "RestartScheduled"]')" "['NodeFailure']"
}

contract workers_fill_the_hosts_of_the_file_in_its_order programs_of_workers_are_ranks_where_the_job_asks_for_it \
    jobs_wait_for_slots_in_their_order_and_say_who_has_them a_hostfile_that_cannot_be_used_is_named_with_its_line \
    a_host_that_cannot_be_reached_is_named strangers_are_refused a_runner_that_is_killed_takes_nothing_with_it_that_stays
