#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every backend promises, of containers.
. "$(dirname "$0")/contract_lib.sh"
. "$(dirname "$0")/image_lib.sh"

flags=(--image "$image")
signals=no
ready()
{
    command -v podman >/dev/null || skip "podman is not installed"
    make_image
}
keeper() { cut -d' ' -f1 "$TRAINYARD_DIR/jobs/$1/run/0.1" | head -1; }
left() { podman ps -aq --filter "name=trainyard-$1"; }

contract
