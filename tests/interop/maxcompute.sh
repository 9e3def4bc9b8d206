#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# odps:// and the real client, PyODPS, over one server of ours.
set -euo pipefail
export no_proxy=127.0.0.1
exec python3 "$TY_SOURCE/tests/interop/maxcompute.py" "$TRAINYARD" "$TY_SOURCE"
