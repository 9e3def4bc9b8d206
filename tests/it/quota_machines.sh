#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two machines (directories) on one PostgreSQL: a quota holds for both together.
. "$(dirname "$0")/lib.sh"

a_quota_holds_for_all_machines()
{
    local pg url rc=0 psql m
    pg=$(mktemp -d "${TMPDIR:-/tmp}/ty-pg.XXXXXX")
    url=$("$TY_SOURCE/tests/pg" start "$pg") || rc=$?
    [ $rc = 0 ] || skip "$url"
    for psql in /usr/lib/postgresql/*/bin/psql; do :; done
    export TRAINYARD_STORE=$url TRAINYARD_SLOTS=cpu=8,memory=64g
    TRAINYARD_DIR=$PWD/a "$TRAINYARD" quota set --user '*' --running 2 --cpu 3 >/dev/null
    for _ in 1 2 3; do
        for m in a b; do
            TRAINYARD_DIR=$PWD/$m "$TRAINYARD" job submit --cpu 1 -- sleep 0.7 >>ids
        done
    done
    # shellcheck disable=SC2046
    run env TRAINYARD_DIR="$PWD/a" timeout 60 "$TRAINYARD" job wait $(cat ids)
    status 0
    # Admission to end of each job, from its events.
    "$psql" -X -q -A -t "$url" -c "SELECT job, time, data FROM events WHERE type = 'StateChanged' ORDER BY time" >moves
    python3 - >.out <<'PY'
import json
live, most, ended = set(), 0, 0
for line in open('moves'):
    job, _, data = line.rstrip('\n').split('|', 2)
    state = json.loads(data)['state']
    if state == 'EnvPreparing':
        live.add(job)
    elif state == 'Succeeded':
        live.discard(job)
        ended += 1
    most = max(most, len(live))
print(ended, most)
PY
    out_is <<<'6 2'
    "$TY_SOURCE/tests/pg" stop "$pg"
    rm -rf "$pg"
}

tap_cases a_quota_holds_for_all_machines
