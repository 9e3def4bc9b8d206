#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MaxCompute: odps:// as input and output, against a server of ours that speaks the tunnel
# protocol (servers/tunnel.py); tests/interop/maxcompute.sh lets the real client talk to it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/servers/lib.sh"

serve()
{
    serve_with tunnel.py
    unset ODPS_CONFIG_FILE_PATH ALIBABA_CLOUD_SECURITY_TOKEN ALIBABA_CLOUD_CREDENTIALS_URI
    export ALIBABA_CLOUD_ACCESS_KEY_ID=testid ALIBABA_CLOUD_ACCESS_KEY_SECRET=testkey
    export ODPS_ENDPOINT=$at/api AWS_MAX_ATTEMPTS=2
}

# Every type that is read, with and without nulls.
all_types()
{
    ask /_table '{"name": "p/all", "columns": [["a", "BIGINT"], ["b", "INT"], ["c", "SMALLINT"],
 ["d", "TINYINT"], ["e", "DOUBLE"], ["f", "FLOAT"], ["g", "BOOLEAN"], ["h", "STRING"],
 ["i", "VARCHAR(10)"], ["j", "DATETIME"], ["k", "DATE"], ["l", "TIMESTAMP"], ["m", "DECIMAL(10,2)"],
 ["n", "ARRAY<BIGINT>"], ["o", "MAP<STRING,DOUBLE>"], ["p", "ARRAY<ARRAY<STRING>>"],
 ["q", "STRUCT<x:INT,y:STRING>"]],
 "parts": {"": [[-5, 7, -300, 100, 1.5, 0.25, true, "hé", "v", 1700000000123, 19000, [1700000000, 5],
  "12.34", [1, null, -3], [["k", 2.5], ["z", null]], [["a"], [], null], [3, "s"]],
  [null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null],
  [9223372036854775807, -2147483648, 1, 2, -0.0, -1.5, false, "", "", 0, -1, [-1, 999999999], "-0.5",
  [], [], [], [null, null]]]}}'
}

# p/clicks, partitioned: rows from..to of id, name.
clicks()
{
    python3 - >t.json <<'PY'
import json
rows = lambda a, b: [[i, f"n{i % 17}", [i % 5] * (i % 4), i / 8] for i in range(a, b)]
print(json.dumps({"name": "p/clicks", "columns": [["id", "bigint"], ["name", "string"],
    ["tags", "array<bigint>"], ["w", "double"]], "keys": [["dt", "string"], ["hour", "bigint"]],
    "parts": {"dt=20240101,hour=1": rows(0, 5000), "dt=20240101,hour=2": rows(5000, 5003),
              "dt=20240102,hour=1": rows(5003, 9000)}}))
PY
    ask /_table @t.json
}

every_type_is_read()
{
    serve
    all_types
    run "$TRAINYARD" data head --json odps://p/tables/all
    status 0
    out_is <<'X'
{"a": -5, "b": 7, "c": -300, "d": 100, "e": 1.5, "f": 0.25, "g": true, "h": "hé", "i": "v", "j": "2023-11-14T22:13:20.123Z", "k": "2022-01-08", "l": "2023-11-14T22:13:20.000000005Z", "m": 12.34, "n": [1, null, -3], "o": {"k": 2.5, "z": null}, "p": [["a"], [], null], "q": {"x": 3, "y": "s"}}
{"a": null, "b": null, "c": null, "d": null, "e": null, "f": null, "g": null, "h": null, "i": null, "j": null, "k": null, "l": null, "m": null, "n": null, "o": null, "p": null, "q": null}
{"a": 9223372036854775807, "b": -2147483648, "c": 1, "d": 2, "e": -0, "f": -1.5, "g": false, "h": "", "i": "", "j": "1970-01-01T00:00:00Z", "k": "1969-12-31", "l": "1969-12-31T23:59:59.999999999Z", "m": -0.5, "n": [], "o": {}, "p": [], "q": {"x": null, "y": null}}
X
}

partitions_are_files()
{
    serve
    clicks
    run "$TRAINYARD" data stats --json --columns id,hour \
        'odps://p/tables/clicks/dt=20240101/hour=1&dt=20240101/hour=2,odps://p/tables/clicks/dt=20240102/hour=1'
    status 0
    json 'd["rows"] == 9000 and d["files"] == 3'
    run "$TRAINYARD" data head --json odps://p/tables/clicks/dt=20240101/hour=2
    out_is <<'X'
{"id": 5000, "name": "n2", "tags": [], "w": 625, "dt": "20240101", "hour": 2}
{"id": 5001, "name": "n3", "tags": [1], "w": 625.125, "dt": "20240101", "hour": 2}
{"id": 5002, "name": "n4", "tags": [2, 2], "w": 625.25, "dt": "20240101", "hour": 2}
X
}

columns_are_projected_and_rows_cut()
{
    serve
    clicks
    run "$TRAINYARD" data head --json -n 2 --columns w,hour odps://p/tables/clicks/dt=20240101/hour=1
    out_is <<'X'
{"w": 0, "hour": 1}
{"w": 0.125, "hour": 1}
X
    stats 'd["rows_out"] <= 1024 and d["sessions"] == 1'
    stats 'all("columns=w&" in s for s in d["seen"] if "data" in s)'
    run "$TRAINYARD" data head --json -n 1 --columns hour odps://p/tables/clicks/dt=20240101/hour=1
    out_has '{"hour": 1}'
    run "$TRAINYARD" data convert --columns id,w odps://p/tables/clicks/dt=20240101/hour=1 o.csv
    status 0
    python3 - <<'PY' >want.csv
print("id,w")
for i in range(5000): print(f"{i},{i/8:g}")
PY
    check "the rows differ" cmp want.csv o.csv
}

rows_go_up_in_blocks_and_appear_together()
{
    serve
    ask /_table '{"name": "p/out", "columns": [["id", "bigint"], ["score", "double"], ["v", "array<float>"],
 ["s", "string"], ["extra", "string"]], "keys": [["dt", "string"]], "parts": {}}'
    printf '{"id": 1, "s": "a", "score": 0.5, "v": [1.5, null]}\n{"id": 2, "s": null, "score": null, "v": []}\n' >in.jsonl
    run "$TRAINYARD" data convert --columns id,s,score in.jsonl odps://p/tables/out/dt=1
    status 0
    ask '/_rows/p/out?dt=1' >rows
    [ "$(cat rows)" = '[[1, 0.5, null, "a", null], [2, null, null, null, null]]' ] ||
        fail "rows: $(cat rows)"
    run "$TRAINYARD" data convert --columns id in.jsonl 'odps://p/tables/out/dt=1?overwrite=false'
    status 0
    ask '/_rows/p/out?dt=1' >rows
    python3 -c 'import json; assert len(json.load(open("rows"))) == 4' || fail "not appended: $(cat rows)"
    run "$TRAINYARD" data convert --columns id in.jsonl odps://p/tables/out/dt=1
    ask '/_rows/p/out?dt=1' >rows
    python3 -c 'import json; assert len(json.load(open("rows"))) == 2' || fail "not replaced: $(cat rows)"
    fault '{"on": "PUT", "do": "lose"}'
    run "$TRAINYARD" data convert --columns id in.jsonl odps://p/tables/out/dt=2
    status 1
    err_has "error[E1710]: 'odps://p/tables/out/dt=2': 1 blocks were sent, the server has 0"
    [ "$(ask '/_rows/p/out?dt=2')" = '[]' ] || fail "rows appeared"
}

rows_that_do_not_fit_are_refused()
{
    serve
    ask /_table '{"name": "p/out", "columns": [["id", "bigint"], ["s", "string"]], "parts": {"": []}}'
    printf 'id,t\n1,a\n' >in.csv
    run "$TRAINYARD" data convert in.csv odps://p/tables/out
    status 2
    err_has "error[E1709]: 'odps://p/tables/out': the table has no column 't'"
    printf 'id,s\na,1\n' >in.csv
    run "$TRAINYARD" data convert in.csv odps://p/tables/out
    err_has "error[E1709]: 'odps://p/tables/out': column 'id' is of type string, the table's is bigint"
}

accounts_come_from_files_too()
{
    serve
    clicks
    unset ODPS_ENDPOINT ALIBABA_CLOUD_ACCESS_KEY_ID ALIBABA_CLOUD_ACCESS_KEY_SECRET
    printf 'access_id=testid\naccess_key=testkey\nend_point=%s/api/\nproject_name=p\n' "$at" >odps.conf
    ODPS_CONFIG_FILE_PATH=$PWD/odps.conf run "$TRAINYARD" data head -n 1 odps://p/tables/clicks/dt=20240101/hour=2
    status 0
    cp odps.conf .odps_config.ini
    run "$TRAINYARD" data head -n 1 odps://p/tables/clicks/dt=20240101/hour=2
    status 0
    rm .odps_config.ini
    ODPS_ENDPOINT=$at/api ALIBABA_CLOUD_CREDENTIALS_URI=$at/_credentials \
        run "$TRAINYARD" data head -n 1 odps://p/tables/clicks/dt=20240101/hour=2
    status 0
    ODPS_ENDPOINT=http://127.0.0.1:1/api ODPS_TUNNEL_ENDPOINT=$at ACCESS_ID=testid ACCESS_KEY=testkey STS_TOKEN=testtoken \
        run "$TRAINYARD" data head -n 1 odps://p/tables/clicks/dt=20240101/hour=2
    status 0
    run "$TRAINYARD" data head odps://p/tables/clicks
    status 2
    err_is <<'X'
trainyard data head: error[E1702]: no credentials for MaxCompute: set ODPS_CONFIG_FILE_PATH, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET
X
    ACCESS_ID=testid ACCESS_KEY=testkey run "$TRAINYARD" data head odps://p/tables/clicks
    err_has "error[E1702]: no endpoint for MaxCompute: set ODPS_ENDPOINT, such as https://service.cn-hangzhou.maxcompute.aliyun.com/api"
    printf 'access_id=testid\nend_point=x\n' >odps.conf
    ODPS_CONFIG_FILE_PATH=$PWD/odps.conf run "$TRAINYARD" data head odps://p/tables/clicks
    err_has "odps.conf' has no line access_key="
}

refusals_are_told()
{
    serve
    clicks
    run "$TRAINYARD" data head odps://p/tables/none
    status 1
    err_is <<'X'
trainyard data head: error[E1703]: 'odps://p/tables/none': NoSuchTable: the table p/none does not exist
X
    run "$TRAINYARD" data head odps://p/tables/clicks/dt=1/hour=1
    err_has "error[E1703]: 'odps://p/tables/clicks/dt=1/hour=1': NoSuchPartition: the partition dt=1,hour=1 does not exist"
    run "$TRAINYARD" data head odps://p/tables/clicks
    err_has "error[E1705]: 'odps://p/tables/clicks': the server answers: 400 InvalidPartitionSpec: the partition does not fit the table"
    ALIBABA_CLOUD_ACCESS_KEY_SECRET=hidden-key run "$TRAINYARD" data head odps://p/tables/clicks/dt=20240101/hour=1
    err_has "error[E1704]: 'odps://p/tables/clicks/dt=20240101/hour=1': the server refuses: 401 SignatureNotMatch: the request is refused"
    err_lacks hidden
    run "$TRAINYARD" data head odps://p/table/clicks
    err_has "error[E1701]: 'odps://p/table/clicks': 'tables' does not follow the project; write odps://project/tables/table/key=value"
    run "$TRAINYARD" data head odps://p/tables/clicks/20240101
    err_has "error[E1701]: 'odps://p/tables/clicks/20240101': a part of the partition is not key=value"
    run "$TRAINYARD" data head --columns nam odps://p/tables/clicks/dt=20240101/hour=1
    err_has "error[E1204]: column 'nam' is not in 'odps://p/tables/clicks/dt=20240101/hour=1', did you mean 'name'?"
    ask /_table '{"name": "p/odd", "columns": [["id", "interval_day_time"]], "parts": {"": []}}'
    run "$TRAINYARD" data head odps://p/tables/odd
    err_has "error[E1706]: 'odps://p/tables/odd': column 'id': type 'interval_day_time' is not supported"
}

faults_on_the_way()
{
    serve
    clicks
    local url=odps://p/tables/clicks/dt=20240101/hour=1
    fault '{"on": "GET", "key": "rowrange", "do": "500"}'
    fault '{"on": "GET", "key": "rowrange", "do": "cut", "after": 2}'
    run "$TRAINYARD" data stats --json --columns id "$url"
    status 0
    json 'd["rows"] == 5000'
    fault '{"on": "GET", "key": "rowrange", "do": "crc"}'
    run "$TRAINYARD" data stats --columns id "$url"
    status 1
    err_has "error[E1707]: '$url': damaged rows near byte "
    err_has "the checksum of a row does not fit"
    fault '{"on": "GET", "key": "rowrange", "do": "count"}'
    run "$TRAINYARD" data stats --columns id "$url"
    err_has "error[E1707]: '$url': 1023 rows came where 1024 were asked for"
    fault '{"on": "GET", "key": "rowrange", "do": "forget", "times": 9}'
    run "$TRAINYARD" data stats --columns id "$url"
    err_has "error[E1708]: '$url': the session is gone: 400 InvalidDownloadId: the session has expired"
}

a_missing_table_is_created()
{
    serve
    printf '{"id": 1, "s": "a", "x": 0.5, "v": [1, 2], "m": {"k": 1}, "dt": "z"}\n' >in.jsonl
    ODPS_TABLE_LIFECYCLE=7 run "$TRAINYARD" data convert --columns id,s,x,v,dt in.jsonl \
        odps://p/tables/made/dt=1/h=2
    status 0
    ask /_table/p/made >t
    [ "$(cat t)" = '{"name": "p.`made`", "columns": [["id", "BIGINT"], ["s", "STRING"], ["x", "DOUBLE"], ["v", "ARRAY<BIGINT>"]], "keys": [["dt", "STRING"], ["h", "STRING"]], "parts": null, "lifecycle": "7"}' ] || fail "$(cat t)"
    [ "$(ask '/_rows/p/made?dt=1,h=2')" = '[[1, "a", 0.5, [1, 2]]]' ] || fail "$(ask '/_rows/p/made?dt=1,h=2')"
    run "$TRAINYARD" data convert --columns id in.jsonl odps://p/tables/sc.plain
    status 0
    [ "$(ask /_rows/p/sc.plain)" = '[[1]]' ] || fail "$(ask /_rows/p/sc.plain)"
    ask /_table/p/sc.plain >t
    grep -q '"keys": \[\], "parts": null, "lifecycle": null' t || fail "$(cat t)"
    ODPS_TABLE_LIFECYCLE=soon run "$TRAINYARD" data convert --columns id in.jsonl odps://p/tables/other
    status 2
    err_has "error[E1702]: ODPS_TABLE_LIFECYCLE: 'soon' is not a number of days from 1 to 37231"
    printf '{"a b": 1}\n' >odd.jsonl
    run "$TRAINYARD" data convert odd.jsonl odps://p/tables/other
    status 2
    err_has "error[E1709]: 'odps://p/tables/other': no table can be made with a column 'a b': names are letters, digits and '_'"
    ask /_deny x >/dev/null
    run "$TRAINYARD" data convert --columns id in.jsonl odps://p/tables/other
    status 1
    err_has "error[E1711]: 'odps://p/tables/other': the table cannot be created: ODPS-0420095: Access Denied - no CreateTable on project p"
}

# p/train, in three partitions, and a config over it.
to_train()
{
    "$TRAINYARD" data gen taobao --rows 3000 --eval-fraction 0 --out data >/dev/null 2>&1
    "$TRAINYARD" data head --json -n 3000 --columns user_id,cate_id,clk data/train/part-0.parquet >rows.jsonl
    python3 - >t.json <<'PY'
import json
rows = [json.loads(l) for l in open('rows.jsonl')]
print(json.dumps({"name": "p/train", "columns": [["user_id", "bigint"], ["cate_id", "bigint"], ["clk", "bigint"]],
    "keys": [["dt", "string"]], "parts": {f"dt={k}": [[r["user_id"], r["cate_id"], r["clk"]]
        for r in rows[k * 1000: k * 1000 + 1000]] for k in range(3)}}))
PY
    ask /_table @t.json
    click_config 'batch_size: 128 dataset_type: OdpsDataset'
    input='odps://p/tables/train/dt=0&dt=1&dt=2'
}

quota_and_compression_are_those_of_the_config()
{
    serve
    to_train
    run "$TRAINYARD" train c.config --model-dir lz4 --train-input "$input"
    status 0
    stats 'd["compressed"] > 0 and not any("quotaName" in s for s in d["seen"])'
    run "$TRAINYARD" train c.config --model-dir zstd --train-input "$input" \
        --set data_config.odps_data_compression=ZSTD --set data_config.odps_data_quota_name=night
    status 0
    check "other bytes" diff -r -x manifest.json -x '*.config' lz4/model.ckpt-23 zstd/model.ckpt-23
    stats 'sum("&quotaName=night" in s for s in d["seen"]) == d["requests"] // 2'
    local n
    n=$(ask /_stats | python3 -c 'import json, sys; print(json.load(sys.stdin)["compressed"])')
    run "$TRAINYARD" train c.config --model-dir none --train-input "$input" \
        --set data_config.odps_data_compression=UNCOMPRESSED
    status 0
    stats "d['compressed'] == $n"
    fault '{"on": "GET", "key": "rowrange", "do": "spoil"}'
    run "$TRAINYARD" train c.config --model-dir bad --train-input "$input"
    status 1
    err_has "error[E1705]: 'odps://p/tables/train/dt=0': the answer's compression is damaged"
}

training_goes_on_where_it_stopped()
{
    serve
    to_train
    run "$TRAINYARD" train c.config --model-dir whole --train-input "$input"
    status 0
    # The same in two runs: the first stops after five steps.
    sed 's/num_epochs: 1/num_steps: 5/' c.config >first.config
    run "$TRAINYARD" train first.config --model-dir part --train-input "$input"
    status 0
    run "$TRAINYARD" train c.config --model-dir part --train-input "$input" --continue
    status 0
    local last
    last=$(ls -d whole/model.ckpt-* | sort -t- -k2 -n | tail -1)
    last=${last#whole/}
    for f in whole/"$last"/*.safetensors; do
        cmp -s "$f" "part/$last/${f##*/}" || fail "$f differs"
    done
    [ -n "$last" ] || fail "no checkpoint"
}

tap_cases every_type_is_read partitions_are_files columns_are_projected_and_rows_cut \
    rows_go_up_in_blocks_and_appear_together rows_that_do_not_fit_are_refused \
    accounts_come_from_files_too refusals_are_told faults_on_the_way \
    training_goes_on_where_it_stopped a_missing_table_is_created \
    quota_and_compression_are_those_of_the_config
