#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Parquet files against pyarrow, DuckDB and polars: the parts of parquet.py, two at a time.
set -euo pipefail
part()
{
    python3 "$TY_SOURCE/tests/interop/parquet.py" "$TY_BUILD/tests/interop/pq_tool" \
        --quick --only "$1" >"$1.log" 2>&1 || { cat "$1.log"; return 1; }
    echo "parquet, $1: $(tail -1 "$1.log")"
}
export -f part
printf '%s\n' ours pyarrow duckdb polars | xargs -P 2 -I{} bash -c 'part {}'
