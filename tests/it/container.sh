#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs in containers, with an image that is made here from the programs of this machine.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/jobs_lib.sh"
. "$(dirname "$0")/image_lib.sh"

engine_place()
{
    place
    command -v podman >/dev/null || skip "podman is not installed"
}

# Containers of jobs of this place; those of others on this machine are none of our business.
ours()
{
    local dir names
    names=$(podman ps "$@" --filter label=trainyard --format '{{.Names}}')
    for dir in jobs/jobs/*/; do
        [ ! -d "$dir" ] || grep -e "^trainyard-$(basename "$dir")-" <<<"$names"
    done
}

# The interpreter with what the script of make_program imports, and no more.
add_python()
{
    /usr/bin/python3 -S - "$1" <<'PY' || return
import argparse, gettext, json, locale, os, shutil, subprocess, sys, zipfile, encodings.ascii, encodings.latin_1
root = sys.argv[1]
files = {os.path.realpath(m.__file__) for m in list(sys.modules.values()) if getattr(m, "__file__", None) and m.__name__ != "__main__"}
programs = [os.path.realpath(sys.executable)] + [f for f in files if f.endswith(".so")]
for p in programs:
    for word in subprocess.run(["ldd", p], capture_output=True, text=True).stdout.split():
        if word.startswith("/"):
            files.add(word)
for f in files | {programs[0]}:
    to = root + f
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy(f, to)
os.makedirs(root + os.path.dirname(os.__file__) + "/lib-dynload", exist_ok=True)
os.symlink(programs[0], root + "/bin/python3")
PY
}

the_same_script_runs_in_an_image()
{
    engine_place
    [ -x /usr/bin/python3 ] || skip "there is no /usr/bin/python3"
    make_image add_python
    make_program
    run "$TRAINYARD" job run --image $image --source src --input train=data --hp epochs=2 \
        --hp learning_rate=0.01 --metric 'loss=loss: ([0-9.]+)' -- 'python3 train.py $PAI_USER_ARGS'
    status 0
    out_is <<'END'
epoch 0 loss: 0.0100 rows 3
epoch 1 loss: 0.0050 rows 3
END
    run "$TRAINYARD" job submit --wait --image $image --workers 4 --source src --input train=data --hp epochs=2 \
        --hp learning_rate=0.01 --output model=out -- 'python3 train.py $PAI_USER_ARGS'
    status 0
    is "models" "$(cat out/model-*.json | tr -d '\n')" \
        '{"world": "4", "rank": "0"}{"world": "4", "rank": "1"}{"world": "4", "rank": "2"}{"world": "4", "rank": "3"}'
}

a_job_runs_in_an_image()
{
    engine_place
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
    run "$TRAINYARD" job run --image localhost/trainyard-no-such-image:9 -- true
    status 125
    err_has "Failed (ImagePull): image 'localhost/trainyard-no-such-image:9' could not be had"
    export TY_TEST_TOKEN=sesame-open-sesame
    run "$TRAINYARD" job run --image $image --secret TY_TEST_TOKEN -- '/bin/sh -c "echo [$TY_TEST_TOKEN]"'
    out_has "[***]"
    local id
    id=$("$TRAINYARD" job submit --image $image --grace 1s -- /bin/sleep 100)
    for _ in $(seq 100); do [ "$(ours)" ] && break; sleep 0.1; done
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 60s "$id"
    status 3
    [ -z "$(ours -a)" ] || fail "a container is left"
}

# With the whole library, and pip.
add_pip()
{
    add_python "$1" || return
    local version lib
    version=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    mkdir -p "$1/usr/lib/$version" "$1/usr/lib/python3/dist-packages"
    (cd "/usr/lib/$version" && tar -c --exclude=test --exclude=__pycache__ --exclude=idlelib --exclude=tkinter --exclude=lib2to3 \
        --exclude=ensurepip --exclude=pydoc_data --exclude='config-*' --exclude='*.a' .) | tar -C "$1/usr/lib/$version" -x
    cp -r /usr/lib/python3/dist-packages/pip "$1/usr/lib/python3/dist-packages/"
    for lib in $(ldd "/usr/lib/$version"/lib-dynload/*.so | grep -o '/[^ ]*[0-9]' | sort -u); do
        mkdir -p "$1$(dirname "$lib")"
        cp -L "$lib" "$1$lib" 2>/dev/null
    done
    true
}

packages_are_installed_inside_the_image()
{
    engine_place
    [ -d /usr/lib/python3/dist-packages/pip ] || skip "there is no pip of /usr/bin/python3"
    make_image add_pip
    mkdir src
    make_wheel
    mv ty_test_pack-1.0-py3-none-any.whl src
    echo ./ty_test_pack-1.0-py3-none-any.whl >src/requirements.txt
    export PIP_NO_INDEX=1
    run "$TRAINYARD" job run --image $image --source src --workers 2 -- python3 -c 'import ty_test_pack; print(ty_test_pack.VALUE)'
    status 0
    is "both workers" "$(grep -c 42 .out)" 2
    err_has "prepare| Successfully installed ty-test-pack-1.0"
    # The same by a flag, and one that is not there.
    rm src/requirements.txt
    run "$TRAINYARD" job run --image $image --source src --requirement ./ty_test_pack-1.0-py3-none-any.whl -- \
        'python3 -c "import ty_test_pack; print(ty_test_pack.VALUE)"'
    status 0
    out_has 42
    run "$TRAINYARD" job run --image $image --requirement no-such-package-at-all -- 'echo ran; true'
    status 1
    err_has "Failed (DependencyInstall): the Python packages could not be installed"
    out_lacks ran
    run "$TRAINYARD" job run --image $image --requirement no-such-package-at-all --requirements-optional -- 'echo ran; true'
    status 0
    out_has ran
    [ -z "$(ours -a)" ] || fail "a container is left"
    # A stop during the installation leaves no container. pip tries this address again and again.
    local id
    export PIP_RETRIES=100
    id=$("$TRAINYARD" job submit --image $image --requirement http://127.0.0.1:9/x --env X=1 --grace 1s -- true)
    for _ in $(seq 100); do [ "$(podman ps -q --filter "name=trainyard-$id-prepare")" ] && break; sleep 0.05; done
    run "$TRAINYARD" job stop "$id"
    run "$TRAINYARD" job wait --timeout 30s "$id"
    status 3
    [ -z "$(ours -a)" ] || fail "a container is left"
    [ -z "$(find jobs/jobs -name prepare.env)" ] || fail "variables of pip are left"
}

paths_with_odd_characters_are_mounted()
{
    engine_place
    make_image
    mkdir 'in:put' 'a,b' "c\"d"
    echo colon >'in:put/x'
    echo comma >'a,b/x'
    echo file >'in:put/part:0.csv'
    run "$TRAINYARD" job run --image $image --input train='in:put' --input one='in:put/part:0.csv' --input two='a,b' \
        --output model='out:put' -- 'cat /ml/input/data/train/x "$PAI_INPUT_ONE" /ml/input/data/two/x; echo model >/ml/output/model/m'
    status 0
    printf 'colon\nfile\ncomma\n' | out_is
    is "output" "$(cat 'out:put/m')" model
}

an_image_without_python_says_so()
{
    engine_place
    make_image
    run "$TRAINYARD" job run --image $image --requirement x -- 'echo ran; true'
    status 127
    err_has "Failed (DependencyInstall)"
    err_has "prepare| this image has no python3, so no packages can be installed: use an image that has them"
}

the_grace_time_is_that_of_all_processes_of_a_container()
{
    engine_place
    make_image
    local id text='sh -c "trap \"echo told; sleep 0.3; echo saved; exit 0\" TERM; echo up; while :; do sleep 0.05; done"'
    for text in "$text; echo never" "$text & wait"; do
        id=$("$TRAINYARD" job submit --image $image --grace 20s -- "$text")
        for _ in $(seq 200); do "$TRAINYARD" job logs "$id" | grep -q up && break; sleep 0.1; done
        run "$TRAINYARD" job stop "$id"
        run "$TRAINYARD" job wait --timeout 15s "$id"
        status 3
        run "$TRAINYARD" job logs "$id"
        out_has saved
        out_lacks never
        state_is "$id" Stopped
    done
}

settings_of_containers_reach_the_engine()
{
    engine_place
    make_image
    run "$TRAINYARD" job run --image $image --backend-option shm_size=96Mi --backend-option pull=never -- 'cat /proc/mounts'
    status 0
    out_has "size=98304k"
    run "$TRAINYARD" job run --image localhost/ty-no-such-image:1 --backend-option pull=never -- true
    status 125
    err_has "(ImagePull)"
    run "$TRAINYARD" job submit --image $image --backend-option pull=often -- true
    status 2
    err_has "'pull' of the container backend: 'often': images are pulled always, missing or never"
}

containers_of_all_workers_are_removed_in_one_call()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    mkdir bin
    printf '#!/bin/sh\n[ "$1" != rm ] || echo "$@" >>%q/removed\n[ "$1" != run ]\n' "$PWD" >bin/podman
    chmod +x bin/podman
    run env PATH="$PWD/bin:$PATH" "$TRAINYARD" job run --image x --workers 4 -- true
    [ "$got" != 0 ] || fail "it ran"
    is "calls" "$(wc -l <removed)" 1
    is "containers" "$(grep -o 'trainyard-jb-[a-z0-9]*-[0-3]-1' removed | sort -u | wc -l)" 4
}

without_an_engine_it_says_so()
{
    export TRAINYARD_DIR=$PWD/jobs TRAINYARD_SLOTS=cpu=8,memory=64g
    mkdir bin
    ln -s "$TRAINYARD" bin/trainyard
    run env PATH="$PWD/bin" trainyard job run --image x -- true
    status 1
    err_has "Failed (BackendUnavailable): run a container: no podman or docker"
}

tap_cases the_same_script_runs_in_an_image a_job_runs_in_an_image packages_are_installed_inside_the_image an_image_without_python_says_so paths_with_odd_characters_are_mounted \
    the_grace_time_is_that_of_all_processes_of_a_container settings_of_containers_reach_the_engine containers_of_all_workers_are_removed_in_one_call without_an_engine_it_says_so
