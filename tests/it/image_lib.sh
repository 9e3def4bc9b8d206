# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# image_lib.sh - an image for tests of containers, made here from the programs of this machine.
image=localhost/trainyard-test:1

# A shell and a few tools with their libraries: nothing has to be downloaded.
make_image()
{
    local root=image-root file lib
    mkdir -p "$root/bin" "$root/tmp" "$root/proc" "$root/dev" "$root/etc"
    for file in sh ls cat sleep env mkdir stty; do
        cp "$(readlink -f "$(command -v $file)")" "$root/bin/$file"
        for lib in $(ldd "$(command -v $file)" | grep -o '/[^ ]*'); do
            mkdir -p "$root$(dirname "$lib")"
            cp -L "$lib" "$root$lib"
        done
    done
    [ -z "${1-}" ] || "$1" "$root"
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
