#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a reboot leaves: everything is killed at once, and a new server goes on. The units that start it at boot.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"

unset TRAINYARD_DIR TRAINYARD_STORE TRAINYARD_SERVER TRAINYARD_TOKEN TRAINYARD_SLOTS

units_are_what_systemd_takes()
{
    command -v systemd-analyze >/dev/null || skip "there is no systemd-analyze"
    mkdir system user
    run "$TRAINYARD" server install --scope system --unit-dir system -- --listen 127.0.0.1:8421 --experiments '/srv/50% of $all "x"'
    status 0
    out_has "wrote system/trainyard.service"
    out_has "systemctl daemon-reload && systemctl enable --now trainyard"
    run "$TRAINYARD" server install --scope user --unit-dir user
    status 0
    out_has "loginctl enable-linger"
    for scope in system user; do
        run systemd-analyze verify --man=no --$scope "$PWD/$scope/trainyard.service"
        grep trainyard.service .err >.mine && fail "$scope: $(cat .mine)"
        [ "$got" = 0 ] || ! grep -q trainyard .err || fail "$scope: $(cat .err)"
        for line in KillMode=process Delegate=yes Restart=always; do
            grep -qx "$line" $scope/trainyard.service || fail "$scope has no $line"
        done
    done
    grep -qF 'server --listen 127.0.0.1:8421 --experiments "/srv/50%% of $$all \"x\""' system/trainyard.service ||
        fail "$(grep ExecStart system/trainyard.service)"
    grep -q 'WantedBy=multi-user.target' system/trainyard.service || fail "system"
    grep -q 'WantedBy=default.target' user/trainyard.service || fail "user"
    # The one of the package is the same, for the installed program.
    run "$TRAINYARD" server install --scope system --print --program /usr/bin/trainyard
    out_has 'ExecStart=/usr/bin/trainyard server $TRAINYARD_SERVER_FLAGS'
}

a_unit_is_not_written_for_flags_that_the_server_refuses()
{
    run "$TRAINYARD" server install --unit-dir units -- --listen 0.0.0.0:8420 --tls-cert /x.pem
    status 2
    err_has "error[E5002]: flags of the server: --tls-cert and --tls-key must be given together"
    run "$TRAINYARD" server install --unit-dir units -- --listen 0.0.0.0:8420
    err_has "error[E5002]: flags of the server: 0.0.0.0:8420 is reachable from the network: use --tls-cert and --tls-key"
    run "$TRAINYARD" server install --unit-dir units -- --listen 0.0.0.0:8420 --tls-cert "$PWD/no.pem" --tls-key "$PWD/no.pem"
    err_has "no.pem"
    run "$TRAINYARD" server install --unit-dir units -- --dir yard
    err_has "flags of the server: --dir 'yard': a unit needs an absolute path"
    [ ! -e units ] || fail "a unit was written"
    run "$TRAINYARD" server install --unit-dir units -- --no-such-flag
    status 2
    err_has "flags of the server: unknown option '--no-such-flag'"
    [ ! -e units ] || fail "a unit was written"
    mkdir units
    echo mine >units/trainyard.service
    run "$TRAINYARD" server install --unit-dir units
    status 2
    err_has "was written by somebody else; --force replaces it"
    run "$TRAINYARD" server install --unit-dir units --force
    status 0
    run "$TRAINYARD" server install --unit-dir units
    status 0
}

start()
{
    TRAINYARD_SLOTS=cpu=2 "$TRAINYARD" server --listen 127.0.0.1:0 --dir yard --experiments none --trust-submitters 2>server.log &
    server=$!
    wait_for_server
    TRAINYARD_TOKEN=$(cat yard/admin.token)
    export TRAINYARD_SERVER=$url TRAINYARD_TOKEN
}

# Every process of this directory's jobs, as a power cut would.
kill_all()
{
    local p
    kill -9 "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    for _ in 1 2 3; do
        for p in /proc/[0-9]*; do
            if tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qxF -e "TRAINYARD_DIR=$PWD/yard" -e "TY_TEST_MARK=$PWD" ||
                [ "$(readlink "$p/cwd" 2>/dev/null)" = "$PWD" ] && [ "${p#/proc/}" != $$ ] && [ "${p#/proc/}" != "$BASHPID" ]; then
                kill -9 "${p#/proc/}" 2>/dev/null
            fi
        done
    done
}

everything_goes_on_after_a_reboot()
{
    start
    local again once queued chained array
    again=$("$TRAINYARD" job submit --retries 2 --backoff 0s --env TY_TEST_MARK="$PWD" -- \
        "echo attempt \$TRAINYARD_ATTEMPT; [ \$TRAINYARD_ATTEMPT = 2 ] && exit 0; touch $PWD/up; while :; do sleep 0.1; done")
    once=$("$TRAINYARD" job submit --env TY_TEST_MARK="$PWD" -- "touch $PWD/up1; while :; do sleep 0.1; done")
    queued=$("$TRAINYARD" job submit --env TY_TEST_MARK="$PWD" -- 'echo queued')
    chained=$("$TRAINYARD" job submit --after-ok "$again" --env TY_TEST_MARK="$PWD" -- 'echo chained')
    array=$("$TRAINYARD" job submit --array 3%1 --env TY_TEST_MARK="$PWD" -- 'echo $TRAINYARD_ARRAY_INDEX')
    for _ in $(seq 200); do [ -e up ] && [ -e up1 ] && break; sleep 0.05; done
    kill_all
    for p in /proc/[0-9]*/environ; do
        tr '\0' '\n' 2>/dev/null <"$p" | grep -qxF "TY_TEST_MARK=$PWD" && fail "process $p is left"
    done
    start
    run "$TRAINYARD" job wait --timeout 120s "$again" "$queued" "$chained" "$array"
    status 0
    is "all" "$(grep -c Succeeded .out)" 6
    run "$TRAINYARD" job logs "$again"
    out_has "attempt 2"
    run "$TRAINYARD" job wait --timeout 60s "$once"
    err_has "Failed (NodeFailure)"
    kill "$server"
    wait "$server" 2>/dev/null
}

tap_cases units_are_what_systemd_takes a_unit_is_not_written_for_flags_that_the_server_refuses everything_goes_on_after_a_reboot
