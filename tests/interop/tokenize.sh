#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Token ids against Hugging Face's tokenizers and sentencepiece.
set -euo pipefail
python3 "$TY_SOURCE/tests/interop/compare_tokens.py" "$TY_BUILD/tests/interop/token_tool"
