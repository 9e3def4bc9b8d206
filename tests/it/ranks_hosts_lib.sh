# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ranks_hosts_lib.sh - hosts that are network namespaces; sourced behind lib.sh and ranks_lib.sh, by a script that
# has put itself into a network of its own.

# hosts N: host1 .. hostN, with addresses 10.98.0.1 and on
hosts()
{
    local i
    [ "$TY_TEST_NETWORK" = none ] && skip "this machine allows no network namespaces"
    for i in 0 1 2 3; do
        ip link del "ty$i" 2>/dev/null
    done
    ip link add ty0 type bridge && ip link set ty0 up && ip link set lo up
    host_pids=()
    for i in $(seq "$1"); do
        unshare -nu sh -c "hostname host$i; exec sleep 300" &
        host_pids[i]=$!
        for _ in $(seq 100); do
            [ "$(nsenter -t "${host_pids[i]}" -u hostname 2>/dev/null)" = "host$i" ] && break
            sleep 0.02
        done
        ip link add "ty$i" type veth peer name eth0 netns "${host_pids[i]}"
        ip link set "ty$i" master ty0 up
        nsenter -t "${host_pids[i]}" -n sh -c "ip addr add 10.98.0.$i/24 dev eth0; ip link set eth0 up; ip link set lo up"
    done
}
# on I COMMAND...: in the background, with its output in the file host<I>.log
on()
{
    local i=$1
    shift
    mkdir -p "t$i"
    TY_TEST_RUN=$PWD TMPDIR=$PWD/t$i nsenter -t "${host_pids[i]}" -n -u timeout 200 "$@" >"host$i.log" 2>&1 </dev/null &
    launchers[i]=$!
}
# ended I: the exit status of that launcher, in $got
ended()
{
    wait "${launchers[$1]}"
    got=$?
    cp "host$1.log" .err # for status
}
no_hosts()
{
    kill "${host_pids[@]}" 2>/dev/null
    wait "${host_pids[@]}" 2>/dev/null
    no_ranks_left
}
# said I TEXT
said() { grep -qF -- "$2" "host$1.log" || { fail "host $1 does not say '$2':"; show "host$1.log"; }; }
one_message() { [ "$(grep -c 'error\[' "host$1.log")" = 1 ] || { fail "not one message of host $1:"; show "host$1.log"; }; }
