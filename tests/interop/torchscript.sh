#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Scripted models (export --format torchscript) against our own scores, where a Python has torch.
set -euo pipefail

for python in "$TY_SOURCE/build/interop-torch/bin/python3" python3 /usr/bin/python3; do
    if [ -n "$(command -v "$python")" ] && "$python" -c 'import torch' 2>/dev/null; then
        exec "$python" "$TY_SOURCE/tests/interop/torchscript.py" "$TRAINYARD" "$python"
    fi
done
echo "torchscript.sh: no Python here has torch"
exit 77
