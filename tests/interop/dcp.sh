#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A checkpoint of torch.distributed.checkpoint, written by torch from PyPI. That is several
# gigabytes: TY_NO_TORCH=1 leaves it out, and so does a disk without room for it.
set -euo pipefail

venv=$TY_SOURCE/build/interop-torch
if [ ! -f "$venv/installed" ]; then
    if [ -n "${TY_NO_TORCH:-}" ] || [ "$(df --output=avail -k "$TY_SOURCE" | tail -1)" -lt 12000000 ]; then
        echo "dcp.sh: torch is not installed here"
        exit 77
    fi
    echo "dcp.sh: installing torch into build/interop-torch"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 torch==2.15.0
    touch "$venv/installed"
fi
PYTHONWARNINGS=ignore PYTHONPATH=$TY_SOURCE/python exec "$venv/bin/python3" \
    "$TY_SOURCE/tests/interop/dcp.py" "$TRAINYARD"
