#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises, of one that shares no network, no log and no process tree
# with the supervisor: tests/it/backends/netns.c, built into a program of its own.
. "$(dirname "$0")/contract_lib.sh"

product=$TRAINYARD
TRAINYARD=$TY_BUILD/tests/it/trainyard_netns
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
    err_has "'backend' takes 'local' or 'container', not \"netns\""
    run "$TRAINYARD" job submit --backend slurp -- true
    err_has "'backend' takes 'local', 'container' or 'netns', not \"slurp\""
}

workers_have_a_network_of_their_own()
{
    begin
    local id
    id=$(submit --workers 2 -- 'ip -4 -o addr show dev eth0 | grep -o "10[0-9.]*/24"; echo "$MASTER_ADDR"')
    ended "$id" Succeeded ""
    is "rank 1" "$(log_of --worker 1 "$id" | tr '\n' ' ')" "10.99.0.2/24 10.99.0.1 "
}

contract the_product_does_not_know_it workers_have_a_network_of_their_own
