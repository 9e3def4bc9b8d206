#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exports against onnxruntime and the checker of onnx.
set -euo pipefail
exec python3 "$TY_SOURCE/tests/interop/export.py" "$TRAINYARD" "$TY_BUILD/tests/interop/onnx_tool" "$TY_SOURCE"
