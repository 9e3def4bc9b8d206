#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Parquet files against pyarrow, DuckDB and polars: the parts of parquet.py, two at a time.
# The files of apache/parquet-testing are read from $PARQUET_TESTING, a checkout, or fetched
# into build/parquet-testing; without network that part says SKIP.
set -euo pipefail
commit=1a2a75127be06fc0123f03ebd36c966f7beda27d
url=https://github.com/apache/parquet-testing
files=${PARQUET_TESTING:-$TY_SOURCE/build/parquet-testing}
if [ ! -d "$files/bad_data" ]; then
    rm -rf "$files.tmp"
    if git init -q "$files.tmp" && timeout 120 git -C "$files.tmp" fetch -q --depth 1 $url $commit &&
        git -C "$files.tmp" checkout -q FETCH_HEAD; then
        mv "$files.tmp" "$files"
    else
        rm -rf "$files.tmp"
        echo "SKIP apache/parquet-testing: cannot be fetched; set PARQUET_TESTING to a checkout"
    fi
fi
part()
{
    python3 "$TY_SOURCE/tests/interop/parquet.py" "$TY_BUILD/tests/interop/pq_tool" \
        --quick --only "$1" --testing "$files" >"$1.log" 2>&1 || { cat "$1.log"; return 1; }
    echo "parquet, $1: $(tail -1 "$1.log")"
}
export -f part
parts=(ours pyarrow duckdb polars)
[ ! -d "$files/bad_data" ] || parts+=(testing)
export files
printf '%s\n' "${parts[@]}" | xargs -P 2 -I{} bash -c 'part {}'
