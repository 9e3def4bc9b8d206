#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random SIGKILL of workers, supervisors, agents and submitters, on both stores. CHAOS_JOBS
# says how many jobs; 200 in the long version (`make chaos`).
. "$(dirname "$0")/lib.sh"

jobs=${CHAOS_JOBS:-16}
seed=${CHAOS_SEED:-$RANDOM}

chaos()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=6,memory=64g
    echo "# $jobs jobs, seed $seed" >&3
    run python3 "$TY_SOURCE/tests/it/chaos.py" "$jobs" "$seed"
    sed 's/^/# /' .out >&3
    status 0
}

every_job_ends_once_on_sqlite()
{
    unset TRAINYARD_STORE
    chaos
}

every_job_of_five_users_ends_once_on_sqlite()
{
    unset TRAINYARD_STORE
    export CHAOS_SERVER=1
    chaos
}

every_job_of_five_users_ends_once_on_postgresql()
{
    export CHAOS_SERVER=1
    every_job_ends_once_on_postgresql
}

every_job_ends_once_on_postgresql()
{
    local url rc=0 pg
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    url=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$url"
    export TRAINYARD_STORE=$url
    chaos
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

tap_cases \
    every_job_ends_once_on_sqlite \
    every_job_ends_once_on_postgresql \
    every_job_of_five_users_ends_once_on_sqlite \
    every_job_of_five_users_ends_once_on_postgresql
