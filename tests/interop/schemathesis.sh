#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The server of jobs against its own OpenAPI document: schemathesis makes requests that fit it
# and requests that do not, and holds every answer against it. The seed is fixed, so that a
# change is what a failure comes from; SCHEMATHESIS_SEED tries others. The server admits no jobs, so
# nothing of what is submitted runs.
set -euo pipefail

yard=$(mktemp -d "${TMPDIR:-/tmp}/ty-schemathesis.XXXXXX")
: >"$yard/server.log"
"$TRAINYARD" server --listen 127.0.0.1:0 --dir "$yard" --experiments "$yard/experiments" --rate 0 --no-queue 2>"$yard/server.log" &
server=$!
# shellcheck disable=SC2064
trap "kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf '$yard'" EXIT
url=
for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$yard/server.log")
    [ -z "$url" ] || break
    sleep 0.1
done
schemathesis --config-file "$TY_SOURCE/tests/interop/schemathesis.toml" run "$url/api/v1/openapi.json" \
    -H "Authorization: Bearer $(cat "$yard/admin.token")" --phases coverage,fuzzing \
    --max-examples "${SCHEMATHESIS_EXAMPLES:-20}" --seed "${SCHEMATHESIS_SEED:-4751095654905469891291468758626215111}" --continue-on-failure --no-color --warnings off
kill -0 $server # it is still there
