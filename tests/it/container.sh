#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs in containers, with an image that is made here from the programs of this machine.
. "$(dirname "$0")/lib.sh"

image=localhost/trainyard-test:1

place()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    unset TRAINYARD_STORE TRAINYARD_JOB_ID
    command -v podman >/dev/null || skip "podman is not installed"
}

# A shell and a few tools with their libraries: nothing has to be downloaded.
make_image()
{
    local root=image-root file lib
    mkdir -p "$root/bin" "$root/tmp" "$root/proc" "$root/dev" "$root/etc"
    for file in sh ls cat sleep env mkdir; do
        cp "$(readlink -f "$(command -v $file)")" "$root/bin/$file"
        for lib in $(ldd "$(command -v $file)" | grep -o '/[^ ]*'); do
            mkdir -p "$root$(dirname "$lib")"
            cp -L "$lib" "$root$lib"
        done
    done
    tar -C "$root" -c . | podman import - $image >import.log 2>&1 ||
        skip "podman cannot make an image here: $(tail -1 import.log)"
    # Machines that are containers themselves may not raise limits and have older groups.
    if ! podman run --rm --network host $image /bin/sh -c true >run.log 2>&1; then
        printf '[containers]\ndefault_ulimits=["nofile=1024:1024","nproc=1024:1024"]\n[engine]\nruntime="runc"\n' \
            >containers.conf
        export CONTAINERS_CONF=$PWD/containers.conf
    fi
    podman run --rm --network host $image /bin/sh -c true >run.log 2>&1 ||
        skip "podman cannot run here: $(tail -1 run.log)"
}

a_job_runs_in_an_image()
{
    place
    make_image
    mkdir -p src data
    echo '1,2' >data/part.csv
    cat >src/train.sh <<'END'
echo "args $*"
cat /ml/input/data/train/part.csv
cat /ml/input/config/hyperparameters.json; echo
test -e /bin/ls && ! test -e /usr/bin/python3 && echo in the image
echo model >"$PAI_OUTPUT_MODEL/model-$RANK.txt"
echo "$PAI_WORKING_DIR $WORLD_SIZE"
END
    run "$TRAINYARD" job run --image $image --source src --input train=data --hp lr=0.1 -- \
        '/bin/sh train.sh $PAI_USER_ARGS'
    status 0
    out_has "args --lr 0.1"
    out_has "1,2"
    out_has '{"lr": "0.1"}'
    out_has "in the image"
    out_has "/ml/usercode/ 1"
    run "$TRAINYARD" job run --image $image --workers 4 --source src --input train=data \
        --output model=out -- '/bin/sh train.sh'
    status 0
    [ "$(ls out | tr '\n' ' ')" = "model-0.txt model-1.txt model-2.txt model-3.txt " ] || fail "models: $(ls out)"
    run "$TRAINYARD" job run --image $image -- /bin/sh -c 'exit 9'
    status 9
    run "$TRAINYARD" job run --image $image -- /bin/no-such-program x
    status 127
    export TY_TEST_TOKEN=sesame-open-sesame
    run "$TRAINYARD" job run --image $image --secret TY_TEST_TOKEN -- '/bin/sh -c "echo [$TY_TEST_TOKEN]"'
    out_has "[***]"
    local id
    id=$("$TRAINYARD" job submit --image $image --grace 1s -- /bin/sleep 100)
    for _ in $(seq 100); do [ "$(podman ps -q --filter label=trainyard)" ] && break; sleep 0.1; done
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 3
    [ -z "$(podman ps -aq --filter label=trainyard)" ] || fail "a container is left"
}

without_an_engine_it_says_so()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    mkdir bin
    ln -s "$TRAINYARD" bin/trainyard
    run env PATH="$PWD/bin" trainyard job run --image x -- true
    status 126
    err_has "Failed (LaunchFailure): run a container: no podman or docker"
}

tap_cases a_job_runs_in_an_image without_an_engine_it_says_so
