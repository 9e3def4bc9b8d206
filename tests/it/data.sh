#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# data gen, head, stats, convert: from nothing to files and back.
. "$(dirname "$0")/lib.sh"

gen_makes_files_and_says_the_best_auc()
{
    run "$TRAINYARD" data gen criteo --rows 2000 --files 2 --out d
    status 0
    err_empty
    out_has "best AUC"
    out_has "label"
    run ls d d/train d/eval
    out_is <<'END'
d:
eval
gen.json
train

d/eval:
part-0.parquet

d/train:
part-0.parquet
part-1.parquet
END
    cp d/gen.json .out
    json 'd["kind"] == "criteo" and d["rows"] == 2000 and len(d["splits"]) == 2'
    json 'all(0.7 < s["labels"][0]["best_auc"] < 0.9 for s in d["splits"])'
    run "$TRAINYARD" data stats --json 'd/train/*.parquet' d/eval
    status 0
    json 'd["rows"] == 2000 and d["files"] == 3 and len(d["columns"]) == 40'
    json '[c["name"] for c in d["columns"]][:2] == ["label", "int_0"]'
    json 'd["labels"][0]["name"] == "label" and d["labels"][0]["values"][0]["value"] == 0'
}

gen_is_the_same_with_any_number_of_threads()
{
    for kind in ccp criteo movielens taobao; do
        "$TRAINYARD" data gen "$kind" --rows 500 --files 3 --out "a/$kind" >/dev/null
        "$TRAINYARD" data gen "$kind" --rows 500 --files 3 --threads 3 --out "b/$kind" >/dev/null
    done
    run diff -r a b
    status 0
    "$TRAINYARD" data gen ccp --rows 500 --files 3 --seed 2 --out c >/dev/null
    ! cmp -s a/ccp/train/part-0.parquet c/train/part-0.parquet || fail "the seed does nothing"
}

# The bytes of a text format do not depend on libraries, so they are known.
gen_bytes_are_known()
{
    for kind in ccp criteo movielens taobao; do
        "$TRAINYARD" data gen "$kind" --rows 1000 --eval-fraction 0 --format csv --out "$kind" \
            >/dev/null
        cksum <"$kind/train/part-0.csv" >>sums
    done
    cp sums .out
    out_is <"$TY_SOURCE/tests/it/data/gen.cksum"
}

gen_knows_its_kinds()
{
    run "$TRAINYARD" data gen foo --out d
    status 2
    err_is <<'END'
trainyard data gen: error[E1214]: unknown kind 'foo'; choose from ccp, criteo, kuairand, movielens, taobao
END
    run "$TRAINYARD" data gen ccp
    status 2
    err_has "missing option --out DIR"
    : >file
    run "$TRAINYARD" data gen ccp --rows 10 --out file/d
    status 1
    err_has "file"
    run "$TRAINYARD" data gen ccp --rows 10 --compression foo --out d
    status 2
    err_has "parquet files have no compression 'foo'; there is none|snappy|zstd|gzip"
    run find . -name 'part*'
    out_empty
}

head_shows_a_table()
{
    printf 'id,name,price\n1,"a ""b""",0.5\n22,,1e3\n3,ü,\n' >a.csv
    run "$TRAINYARD" data head a.csv
    status 0
    err_empty
    out_is <<'END'
id     name     price
int64  string   double
    1  a \"b\"     0.5
   22             1000
    3  ü          null
END
    run "$TRAINYARD" data head --rows 1 --columns price,id a.csv
    out_is <<'END'
id     price
int64  double
    1     0.5
END
}

head_as_json_is_complete()
{
    printf '{"a": 1, "l": [1, null, 2], "m": {"x": 1.5}}\n{"a": null, "l": [], "m": {}}\n' >a.jsonl
    run "$TRAINYARD" data head --json a.jsonl
    status 0
    out_is <<'END'
{"a": 1, "l": [1, null, 2], "m": {"x": 1.5}}
{"a": null, "l": [], "m": {}}
END
    "$TRAINYARD" data convert a.jsonl a.parquet 2>/dev/null
    run "$TRAINYARD" data head --json a.parquet
    out_is <<'END'
{"a": 1, "l": [1, null, 2], "m": {"x": 1.5}}
{"a": null, "l": [], "m": {}}
END
    run "$TRAINYARD" data head --json --rows 0 a.parquet
    status 0
    out_empty
}

formats_are_found_by_content()
{
    printf 'id\tx\n1\t2\n' >a.dat
    printf '{"id": 1, "x": 2}\n' >b.dat
    "$TRAINYARD" data convert --to parquet a.dat c.dat 2>/dev/null
    gzip -c a.dat >d.dat
    for f in a b c d; do
        run "$TRAINYARD" data head --json $f.dat
        status 0
        out_is <<'END'
{"id": 1, "x": 2}
END
    done
    printf '\000\001' >e.dat
    run "$TRAINYARD" data head e.dat
    status 1
    err_is <<'END'
trainyard data head: error[E1203]: 'e.dat' is neither CSV, JSON lines, Parquet nor slots
END
    run "$TRAINYARD" data head .
    status 1
    err_has "error[E1203]"
}

missing_things_are_named()
{
    run "$TRAINYARD" data head nope.csv
    status 1
    err_is <<'END'
trainyard data head: error[E1201]: 'nope.csv' does not exist
END
    run "$TRAINYARD" data stats 'x/*.csv'
    status 1
    err_is <<'END'
trainyard data stats: error[E1201]: no file matches 'x/*.csv'
END
    printf 'id,label\n1,2\n' >a.csv
    run "$TRAINYARD" data head --columns lable a.csv
    status 2
    err_is <<'END'
trainyard data head: error[E1204]: column 'lable' is not in 'a.csv', did you mean 'label'?
END
    run "$TRAINYARD" data stats --label zzz a.csv
    status 2
    err_has "error[E1204]: there is no column 'zzz'"
    run "$TRAINYARD" data head --delimiter ab a.csv
    status 2
    err_has "--delimiter: 'ab' is not one character"
}

malformed_rows_stop_or_are_counted()
{
    printf 'id,x\n1,2\n3\n4,5\n' >a.csv
    run "$TRAINYARD" data stats a.csv
    status 1
    err_has "a.csv"
    err_has "line 3"
    run "$TRAINYARD" data stats --skip-bad --json a.csv
    status 0
    err_has "skipped 1 malformed rows; the first: "
    json 'd["rows"] == 2 and d["malformed"] == 1'
    run "$TRAINYARD" data head --skip-bad --rows 2 a.csv
    status 0
    err_has "the first: 'a.csv': line 3"
}

files_that_differ_are_named()
{
    printf 'id,x\n1,2\n' >a.csv
    printf 'id\n1\n' >b.csv
    run "$TRAINYARD" data stats a.csv b.csv
    status 2
    err_is <<'END'
trainyard data stats: error[E1202]: column 'x' of 'a.csv' is not in 'b.csv'
END
}

convert_goes_around_without_loss()
{
    "$TRAINYARD" data gen movielens --rows 3000 --format csv --eval-fraction 0 --out d >/dev/null
    run "$TRAINYARD" data convert d/train a.parquet
    status 0
    out_empty
    err_is <<'END'
a.parquet: 3000 rows
  int64: user_id, age, occupation, zip, movie_id, year, timestamp, rating, label
  string: gender, genres
END
    "$TRAINYARD" data convert a.parquet b.jsonl 2>/dev/null
    "$TRAINYARD" data convert b.jsonl c.parquet --compression zstd 2>/dev/null
    "$TRAINYARD" data convert c.parquet d.csv 2>/dev/null
    run cmp d.csv d/train/part-0.csv
    status 0
    "$TRAINYARD" data convert a.parquet e.tsv --columns user_id,genres 2>/dev/null
    run sed -n 1p e.tsv
    printf 'user_id\tgenres\n' | out_is
}

convert_keeps_what_a_number_would_lose()
{
    cat >a.csv <<'END'
y,id,zip,big,mix,price,plus
1,5,00501,9223372036854775808,1.5,1.50,+5
0,70,10001,3,12345678901234567890,2,6
END
    run "$TRAINYARD" data convert a.csv a.parquet
    status 0
    err_is <<'END'
a.parquet: 2 rows
  int64: y, id
  string: zip, big, mix, plus
  double: price
END
    run "$TRAINYARD" data convert a.parquet b.csv
    status 0
    err_is <<'END'
b.csv: 2 rows
END
    sed 's/1\.50/1.5/' a.csv >.want
    check "texts come back" cmp b.csv .want
    echo '{"id": 9223372036854775808}' >a.jsonl
    run "$TRAINYARD" data convert a.jsonl j.csv
    check "a large id comes back" grep -qx 9223372036854775808 j.csv
}

convert_types_are_as_told()
{
    printf 'id,zip\n5,00501\n' >a.csv
    run "$TRAINYARD" data convert a.csv a.jsonl --types zip=int64,id=string
    status 0
    run cat a.jsonl
    out_is <<'END'
{"id": "5", "zip": 501}
END
    run "$TRAINYARD" data convert a.csv b.jsonl --types zip=number
    status 2
    err_has "--types: 'zip=number' is not NAME=int32, int64, float, double or string"
    run "$TRAINYARD" data convert a.csv b.jsonl --types zap=int64
    status 2
    err_has "--types: there is no column 'zap' in 'a.csv'"
    run "$TRAINYARD" data convert a.csv a.parquet
    run "$TRAINYARD" data convert a.parquet b.jsonl --types zip=int64
    status 2
    err_has "--types: 'a.parquet' is Parquet, which tells the types of its columns"
}

# The type of a column is told by the first file.
convert_refuses_what_a_number_would_lose_later()
{
    printf 'id\n5\n' >a.csv
    printf 'id\n6\n007\n' >b.csv
    run "$TRAINYARD" data convert a.csv b.csv all.parquet
    status 1
    err_is <<'END'
trainyard data convert: error[E1119]: 'b.csv': line 3, column 1: 'id' (field 1): '007' would be another text as type INT64, as the first rows of 'a.csv' have it
END
    run "$TRAINYARD" data convert a.csv b.csv all.parquet --types id=string
    status 0
}

# many N LINE: N rows, and one of another kind behind them.
many()
{
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "{\"a\": %d, \"b\": \"x\"}\n", i }'
    printf '%s\n' "$2"
}

json_lines_are_looked_at_far_beyond_the_first_thousand()
{
    many 1500 '{"a": 1.5, "b": "x"}' >a.jsonl
    run "$TRAINYARD" data convert a.jsonl a.parquet
    status 0
    err_has "double: a"
    many 1500 '{"a": 1, "b": "x", "later": 7}' >b.jsonl
    run "$TRAINYARD" data convert b.jsonl -  --to csv
    status 0
    [ "$(tail -n 1 .out)" = 1,x,7 ] || fail "a key of the last row is lost: $(tail -n 1 .out)"
    # whole numbers that a double would round, among fractions
    printf '{"a": 0.5}\n{"a": 9007199254740993}\n' >c.jsonl
    run "$TRAINYARD" data convert c.jsonl - --to jsonl
    out_is <<'END'
{"a": "0.5"}
{"a": "9007199254740993"}
END
}

json_lines_that_would_lose_something_are_an_error_with_their_line()
{
    printf '{"a": 1}\n' >a.jsonl
    printf '{"a": 2}\n\n{"a": 3, "late": true}\n' >b.jsonl
    run "$TRAINYARD" data convert a.jsonl b.jsonl all.parquet
    status 1
    err_is <<'END'
trainyard data convert: error[E1156]: 'b.jsonl': line 3, column 10: a key that the rows before it do not have, found '"late"'
END
    [ ! -e all.parquet ] || fail "a part was written"
    run "$TRAINYARD" data convert a.jsonl b.jsonl - --to jsonl --types late=string
    status 0
    out_is <<'END'
{"a": 1, "late": null}
{"a": 2, "late": null}
{"a": 3, "late": "true"}
END
    run "$TRAINYARD" data convert a.jsonl b.jsonl - --to csv --columns a
    status 0
    printf '{"a": 0.5}\n' >a.jsonl
    printf '{"a": 9007199254740993}\n' >b.jsonl
    run "$TRAINYARD" data convert a.jsonl b.jsonl all.parquet
    status 1
    err_is <<'END'
trainyard data convert: error[E1119]: 'b.jsonl': line 1, column 7: 'a': would be another number as type double, as the first rows of 'a.jsonl' have it, found '9007199254740993'
END
    run "$TRAINYARD" data convert a.jsonl b.jsonl all.parquet --types a=double
    status 0
    run "$TRAINYARD" data convert a.jsonl b.jsonl - --to csv --types a=string
    status 0
    out_has 9007199254740993
    printf '{"a": "x"}\n' >b.jsonl
    run "$TRAINYARD" data convert a.jsonl b.jsonl all.parquet --overwrite
    status 1
    err_has "error[E1152]: 'b.jsonl': line 1, column 7: 'a': expected type double, as the first rows of 'a.jsonl' have it, found '\"x\"'"
}

convert_leaves_nothing_behind_when_it_fails()
{
    printf 'id,x\n1,2\n3\n' >a.csv
    run "$TRAINYARD" data convert a.csv out.parquet
    status 1
    run "$TRAINYARD" data convert a.csv out.xyz
    status 2
    err_is <<'END'
trainyard data convert: error[E1206]: 'out.xyz' has no known extension; use --to
END
    printf '{"l": [1]}\n' >l.jsonl
    run "$TRAINYARD" data convert l.jsonl out.csv
    [ "$got" != 0 ] || fail "CSV took a list"
    run ls
    out_is <<'END'
a.csv
l.jsonl
END
}

full_disk_is_a_failure()
{
    [ -e /dev/full ] || skip "no /dev/full"
    printf 'id\n1\n' >a.csv
    # shellcheck disable=SC2016
    run sh -c '"$1" data head a.csv >/dev/full' - "$TRAINYARD"
    status 1
    err_has "cannot write to stdout"
}

tap_cases \
    gen_makes_files_and_says_the_best_auc \
    gen_is_the_same_with_any_number_of_threads \
    gen_bytes_are_known \
    gen_knows_its_kinds \
    head_shows_a_table \
    head_as_json_is_complete \
    formats_are_found_by_content \
    missing_things_are_named \
    malformed_rows_stop_or_are_counted \
    files_that_differ_are_named \
    convert_goes_around_without_loss \
    convert_keeps_what_a_number_would_lose \
    convert_types_are_as_told \
    convert_refuses_what_a_number_would_lose_later \
    json_lines_are_looked_at_far_beyond_the_first_thousand \
    json_lines_that_would_lose_something_are_an_error_with_their_line \
    convert_leaves_nothing_behind_when_it_fails \
    full_disk_is_a_failure
