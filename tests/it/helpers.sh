#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the programs that we start are told: nothing that a job says becomes an option of theirs or a variable of
# their environment. A stand-in for podman writes down its words and its environment.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/jobs_lib.sh"

# fake NAME: a program of that name, first in PATH, whose calls are seen in calls/N.{argv,env,file}.
fake()
{
    mkdir -p bin calls
    cat >"bin/$1" <<END
#!/bin/bash
n=\$(ls "$PWD/calls" | wc -l)
for w in "\$0" "\$@"; do printf '%s\0' "\$w"; done >"$PWD/calls/\$n.argv"
env -0 >"$PWD/calls/\$n.env"
while [ \$# -gt 0 ]; do [ "\$1" = --env-file ] && cp "\$2" "$PWD/calls/\$n.file" && stat -c %a "\$2" >"$PWD/calls/\$n.mode"; shift; done
exit "\${FAKE_EXIT:-0}"
END
    chmod +x "bin/$1"
    export PATH=$PWD/bin:$PATH
}

# The call of the engine that ran the container, as lines.
ran()
{
    local f
    f=$(grep -lz '^run$' calls/*.argv | head -1)
    tr '\0' '\n' <"$f"
}

a_bad_image_is_refused_wherever_a_job_is_checked()
{
    place
    fake podman
    local bad
    for bad in --volume=/:/host --privileged -v 'a b' oci:x dir:/etc ../x 'x$(id)'; do
        run "$TRAINYARD" job run --image="$bad" -- x cat /host/etc/shadow
        status 2
        err_has "error[E3017]: 'image': '$bad'"
        printf '{"command": "true", "image": "%s"}' "$bad" >job.json
        run "$TRAINYARD" check job.json
        [ "$got" != 0 ] || fail "check takes the image '$bad'"
        grep -q E3017 .out .err || fail "no code for '$bad'"
        run "$TRAINYARD" job submit job.json
        status 2
        err_has "E3017"
    done
    [ -z "$(ls calls)" ] || fail "the engine was called"
}

a_bad_variable_is_refused()
{
    place
    local bad
    for bad in 'A B' 'A-B' 1A 'A
B'; do
        run "$TRAINYARD" job run --env "$bad=x" -- true
        status 2
        err_has "error[E3018]: 'env'"
    done
    run "$TRAINYARD" job run --image x --env $'A=1\nLD_PRELOAD=/x' -- true
    status 2
    err_has "E3018"
    run "$TRAINYARD" job run --env $'A=1\n2' -- 'printf %s "$A"'
    status 0
    out_has 2
}

options_of_the_engine_end_before_the_image()
{
    place
    fake podman
    mkdir 'in,put:x'
    run "$TRAINYARD" job run --image bb:1 --input 'train=in,put:x' -- --privileged -v /:/host
    status 0
    ran >words
    local end image
    end=$(grep -nxF -e -- words | head -1 | cut -d: -f1)
    image=$(grep -nx bb:1 words | head -1 | cut -d: -f1)
    is "the image" "$image" $((end + 1))
    [ "$(grep -nxF -e --privileged words | cut -d: -f1)" -gt "$end" ] || fail "an option of the job's"
    head -"$end" words | grep -q -e --volume && fail "a volume by ':'"
    grep -qE '^type=bind,source=/.*/run/mount-[0-9a-f]+,destination=/ml/input/data/train,readonly$' words ||
        fail "the input: $(grep source words)"
    rm calls/*
    run "$TRAINYARD" job run --image bb:1 -- '-x'
    ran >words
    is "a command for the shell" "$(tail -3 words | tr '\n' ' ')" "-c -- -x "
    run "$TRAINYARD" job run --image bb:1 --data "$PWD/bin:/a,readonly=false" -- true
    [ "$got" != 0 ] || fail "a comma in a place"
}

images_are_looked_for_and_containers_removed_by_name()
{
    place
    fake podman
    sed -i 's/^exit.*/exit 125/' bin/podman
    run "$TRAINYARD" job run --image bb:1 -- true
    status 125
    tr '\0' ' ' <"$(grep -lz '^inspect$' calls/*.argv | head -1)" >.out
    out_has " image inspect -- bb:1 "
    tr '\0' ' ' <"$(grep -lz '^rm$' calls/*.argv | head -1)" >.out
    out_has " rm -f -t 0 --ignore -- trainyard-jb-"
}

# As podman run does when it is stopped while it makes its container: it ends with 0, and the container is left.
a_container_is_removed_whatever_its_client_says()
{
    place
    mkdir bin
    cat >bin/podman <<END
#!/bin/bash
echo "\$@" >>"$PWD/calls"
[ "\$1" = run ] || exit 0
trap 'exit 0' TERM
sleep 60 &
wait
END
    chmod +x bin/podman
    export PATH=$PWD/bin:$PATH
    local id
    id=$("$TRAINYARD" job submit --image bb:1 --grace 20s -- true)
    for _ in $(seq 200); do grep -qs '^run' calls && break; sleep 0.05; done
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 3
    grep -q -e "^rm .* trainyard-$id-0-1" calls || fail "no call removed the container: $(cut -c1-60 calls)"
}

# Variables that would run code in the engine's client, or send it elsewhere.
traps()
{
    echo LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PYTHONPATH PYTHONSTARTUP PATH HOME CONTAINERS_CONF DOCKER_HOST BASH_ENV ENV \
        GODEBUG GIT_SSH_COMMAND HTTPS_PROXY IFS
}

a_containers_variables_are_not_its_engines()
{
    place
    fake podman
    local flags=() name
    for name in $(traps); do flags+=(--env "$name=/trap"); done
    # shellcheck disable=SC2016 # as it is
    run "$TRAINYARD" job run --image bb:1 "${flags[@]}" --env 'ODD=a b=$c "d"' --hp $'text=two\nlines' \
        --env TRAINYARD_WORKER=7 -- true
    status 0
    local call
    call=$(grep -lz '^run$' calls/*.argv | head -1)
    tr '\0' '\n' <"${call%.argv}.env" | grep -F /trap && fail "a variable of the job reached the engine"
    for name in $(traps); do grep -qxF "$name=/trap" "${call%.argv}.file" || fail "the container lacks $name"; done
    # shellcheck disable=SC2016
    grep -qxF 'ODD=a b=$c "d"' "${call%.argv}.file" || fail "ODD: $(grep ODD "${call%.argv}.file")"
    is "mode" "$(cat "${call%.argv}.mode")" 600
    tr '\0' '\n' <"$call" | grep -F /trap && fail "values are in the command line"
    tr '\0' '\n' <"$call" | grep -qx PAI_HPS_TEXT || fail "a value of two lines is lost"
    tr '\0' '\n' <"${call%.argv}.env" >env.txt
    while IFS='=' read -r name _; do
        case $name in PATH | HOME | LANG | XDG_RUNTIME_DIR | DOCKER_* | CONTAINERS_CONF | TRAINYARD_JOB_ID | TRAINYARD_ATTEMPT | \
            TRAINYARD_WORKER | PAI_HPS_TEXT | lines* | PWD | SHLVL | _ | PAI_USER_ARGS) ;;
        *) fail "the engine has $name" ;; esac
    done <env.txt
    find "$TRAINYARD_DIR" -name '*.env' | grep . && fail "the file is left"
    find "$TRAINYARD_DIR" -type f -exec grep -l /trap {} + | grep -v -e jobs.db | grep . && fail "values are kept elsewhere"
    export TY_LINES=$'aaaa\nbbbb'
    run "$TRAINYARD" job run --image bb:1 --secret TY_LINES -- true
    [ "$got" != 0 ] || fail "a secret of two lines"
    err_has "variable TY_LINES holds a line end, which cannot be given to a container"
}

packages_are_installed_with_an_environment_of_ours()
{
    place
    fake python3
    mkdir src
    echo no-such-package >src/requirements.txt
    export TY_TEST_TOKEN=a-secret-of-the-server
    run "$TRAINYARD" job run --source src --env LD_PRELOAD=/trap --env PYTHONPATH=/trap -- true
    local call
    call=$(grep -lz '^-c$' calls/*.argv | head -1)
    [ -n "$call" ] || fail "python3 was not called: $(cat .err)"
    tr '\0' '\n' <"${call%.argv}.env" >env.txt
    grep -e /trap -e TY_TEST_TOKEN env.txt && fail "the environment of pip"
    grep -q ^PATH= env.txt || fail "no PATH"
}

a_link_that_a_container_left_in_its_packages_is_not_followed()
{
    place
    mkdir -p bin
    printf 'key-of-the-server' >key
    cat >bin/podman <<END
#!/bin/bash
[ "\$1" = run ] || exit 0
while [ \$# -gt 0 ]; do [ "\$1" = --env-file ] && f=\$2; shift; done
case "\$f" in *prepare.env) exit 0 ;; esac
cat "\$f" >>"$PWD/variables"
cd "\$(dirname "\$(dirname "\$f")")/packages" || exit 1
mkdir -p lib && ln -sfn "$PWD" lib/target && ln -sf "$PWD/key" PATH && ln -sf "$PWD/key" PYTHONPATH
exit 75
END
    chmod +x bin/podman
    export PATH=$PWD/bin:$PATH
    run "$TRAINYARD" job run --image x --requirement nothing --retries 1 --backoff 100ms -- true
    [ "$(grep -c '^PATH=/trainyard/packages/bin' variables)" = 2 ] || fail "$(cat variables .err)"
    grep -q 'key-of-the-server' variables && fail "$(grep key-of variables)"
    grep -q '^PYTHONPATH=' variables && fail "a link stands for a directory of packages"
    return 0
}

tap_cases a_bad_image_is_refused_wherever_a_job_is_checked a_bad_variable_is_refused \
    options_of_the_engine_end_before_the_image images_are_looked_for_and_containers_removed_by_name \
    a_container_is_removed_whatever_its_client_says \
    a_containers_variables_are_not_its_engines packages_are_installed_with_an_environment_of_ours \
    a_link_that_a_container_left_in_its_packages_is_not_followed
