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
    grep -qE '^type=bind,source=/.*/run/mount-[0-9]+,destination=/ml/input/data/train,readonly$' words ||
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
    out_has " rm -f -t 0 -- trainyard-jb-"
}

tap_cases a_bad_image_is_refused_wherever_a_job_is_checked a_bad_variable_is_refused \
    options_of_the_engine_end_before_the_image images_are_looked_for_and_containers_removed_by_name
