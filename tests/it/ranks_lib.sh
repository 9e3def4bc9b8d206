# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ranks_lib.sh - runs of several processes; sourced behind lib.sh and train_lib.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ranks N ARG...: the program on N ranks
ranks()
{
    local n=$1
    shift
    mkdir -p t
    # Open MPI's own leaks, in libraries that it has unloaded, are no failure under a sanitizer
    TMPDIR=$PWD/t ASAN_OPTIONS=detect_leaks=0 run timeout 100 mpirun --oversubscribe --bind-to none -n "$n" "$TRAINYARD" "$@"
}

# same_run A B: the same checkpoints, and the same results of evaluations
same_run()
{
    local c
    for c in "$1"/model.ckpt-*; do
        same_checkpoint "$c" "$2/${c##*/}"
    done
    diff "$1/train_eval_result_v2.txt" "$2/train_eval_result_v2.txt" >difference || { fail "results differ:"; show difference; }
}

# same_end A B: the last checkpoint of A, and the same in B
same_end()
{
    local last
    last=$(ls -d "$1"/model.ckpt-* | sort -V | tail -1)
    [ -d "$2/${last##*/}" ] || { fail "$2 has no ${last##*/}"; return; }
    same_checkpoint "$last" "$2/${last##*/}"
}

# launched ARG...: `launch` in the background, with its output in the file log; $launcher.
# Its ranks carry a variable by which they are found.
launched()
{
    mkdir -p t
    export TY_TEST_RUN=$PWD
    TMPDIR=$PWD/t "$TRAINYARD" launch "$@" >log 2>&1 </dev/null &
    launcher=$!
}

# ranks_left: the processes of ranks of this case that live
ranks_left()
{
    local p
    for p in /proc/[0-9]*; do
        tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "TY_TEST_RUN=$PWD" &&
            tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -q '^OMPI_COMM_WORLD_RANK=' &&
            ! grep -q '^State:.Z' "$p/status" 2>/dev/null && echo "${p#/proc/}"
    done 2>/dev/null
}

# no_ranks_left: those that were told to end have a moment for it
no_ranks_left()
{
    local left
    for _ in $(seq 50); do
        left=$(ranks_left)
        [ -z "$left" ] && return
        sleep 0.1
    done
    fail "ranks are left: $left"
}

# rank_pid N: the process of rank N
rank_pid()
{
    local p
    for p in $(ranks_left); do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$p"
    done
}

# appears PATH: waits until it is there
appears()
{
    for _ in $(seq 2400); do
        [ -e "$1" ] && return
        sleep 0.05
    done
    fail "no $1"
    show log
}

# ends_within SECONDS: the launcher fails in this time, with one message, exit status 1 and no rank left
ends_within()
{
    local start=$SECONDS
    wait "$launcher"
    got=$?
    [ $((SECONDS - start)) -le "$1" ] || fail "it took $((SECONDS - start)) s"
    [ "$got" = 1 ] || { fail "exit status $got, want 1"; show log; }
    [ "$(grep -c 'error\[' log)" = 1 ] || { fail "not one message:"; grep -v '^step\|^check' log >some; show some; }
    no_ranks_left
}
log_has() { grep -qF -- "$1" log || { fail "log does not have '$1':"; grep -v '^step\|^check' log >some; show some; }; }
