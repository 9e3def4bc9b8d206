#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checkpoints against the safetensors package, python/trainyard_ckpt.py and, where a Python
# with torch is at hand, torch.
set -euo pipefail

export PYTHONPATH=$TY_SOURCE/python
python3 "$TY_SOURCE/tests/interop/checkpoint.py" "$TRAINYARD" "$TY_BUILD/tests/interop/ckpt_tool"
for python in "$TY_SOURCE/build/interop-torch/bin/python3" python3 /usr/bin/python3; do
    if [ -n "$(command -v "$python")" ] && "$python" -c 'import torch' 2>/dev/null; then
        exec "$python" "$TY_SOURCE/tests/interop/checkpoint_torch.py" "$TRAINYARD" \
            "$TY_BUILD/tests/interop/ckpt_tool"
    fi
done
echo "checkpoint.sh: no Python here has torch, that part was not run"
