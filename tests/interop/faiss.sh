#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# index create, and what faiss makes of its files.
set -euo pipefail
exec python3 "$TY_SOURCE/tests/interop/faiss_index.py" "$TRAINYARD"
