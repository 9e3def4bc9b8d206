#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Object stores: s3:// and oss:// as inputs and outputs, and what happens when they fail.
# The server is ours (servers/objects.py) and checks signatures; a real one is asked by
# tests/interop/s3.sh.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/servers/lib.sh"

serve()
{
    serve_with objects.py "$@"
    export AWS_ACCESS_KEY_ID=testkey AWS_SECRET_ACCESS_KEY=testsecret AWS_REGION=us-east-1
    export AWS_ENDPOINT_URL=$at AWS_MAX_ATTEMPTS=3
    unset AWS_SESSION_TOKEN AWS_PROFILE
}
put() { ask "/_put/$2" "@$1"; }

some_csv()
{
    printf 'id,name\n1,a\n2,b\n3,c\n'
}

numbers()
{
    echo a,b
    seq 0 $(($1 - 1)) | awk '{ printf "%d,%d\n", $1, $1 * 7919 % 1000003 }'
}

# A Parquet file with one small and one large column.
two_columns()
{
    python3 - <<'PY' >wide.csv
import random
r = random.Random(7)
print('small,large')
for i in range(20000):
    print(f"{i % 7},{r.getrandbits(400):x}")
PY
    "$TRAINYARD" data convert --compression none wide.csv wide.parquet 2>/dev/null
}

head_reads_an_object()
{
    serve
    some_csv >a.csv
    put a.csv bucket/dir/a.csv
    run "$TRAINYARD" data head --json s3://bucket/dir/a.csv
    status 0
    out_is <<'X'
{"id": 1, "name": "a"}
{"id": 2, "name": "b"}
{"id": 3, "name": "c"}
X
}

keys_with_odd_characters_are_found()
{
    serve
    some_csv >a.csv
    put a.csv 'bucket/a%20b+c%26%C3%A9.csv'
    run "$TRAINYARD" data head --json -n 1 's3://bucket/a b+c&é.csv'
    status 0
    out_has '"id": 1'
    run "$TRAINYARD" data head --json -n 1 's3://bucket/a*.csv'
    status 0
    out_has '"id": 1'
}

oss_is_signed_its_own_way()
{
    serve --region cn-hangzhou
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    export OSS_ACCESS_KEY_ID=testkey OSS_ACCESS_KEY_SECRET=testsecret
    export OSS_ENDPOINT=$at OSS_REGION=cn-hangzhou
    some_csv >a.csv
    put a.csv bucket/x
    run "$TRAINYARD" data convert a.csv 'oss://bucket/dir/b c.parquet'
    status 0
    run "$TRAINYARD" data head --json -n 1 'oss://bucket/dir/'
    status 0
    out_has '{"id": 1, "name": "a"}'
    export OSS_SESSION_TOKEN=testtoken
    run "$TRAINYARD" data head --json -n 1 'oss://bucket/dir/*.parquet'
    status 0
}

buckets_in_the_host_name()
{
    serve --region cn-x
    some_csv >a.csv
    put a.csv bucket/a.csv
    at=http://localhost:$(cat port)
    export AWS_ENDPOINT_URL=$at AWS_REGION=cn-x
    export TRAINYARD_S3_ADDRESSING=virtual
    run "$TRAINYARD" data head --json -n 1 s3://bucket/a.csv
    status 0
    stats 'any(s.startswith("GET /a.csv") for s in d["seen"])'
    export OSS_ENDPOINT=$at OSS_REGION=cn-x TRAINYARD_OSS_ADDRESSING=virtual
    export OSS_ACCESS_KEY_ID=testkey OSS_ACCESS_KEY_SECRET=testsecret
    run "$TRAINYARD" data head --json -n 1 oss://bucket/a.csv
    status 0
}

keys_come_from_files_too()
{
    serve
    some_csv >a.csv
    put a.csv bucket/a.csv
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION AWS_ENDPOINT_URL
    mkdir .aws
    printf '[default]\naws_access_key_id = nobody\naws_secret_access_key = no\n[p1]\naws_access_key_id=testkey\naws_secret_access_key = testsecret\naws_session_token = testtoken\n' >.aws/credentials
    printf '[profile p1]\nregion = us-east-1\nendpoint_url = %s\ns3 =\n  addressing_style = path\n' "$at" >.aws/config
    AWS_PROFILE=p1 run "$TRAINYARD" data head -n 1 --json s3://bucket/a.csv
    status 0
    printf '[Credentials]\nlanguage=EN\nendpoint=%s\naccessKeyID=testkey\naccessKeySecret=testsecret\nregion=us-east-1\n' "$at" >.ossutilconfig
    run "$TRAINYARD" data head -n 1 --json oss://bucket/a.csv
    status 0
    rm .ossutilconfig
    OSS_ENDPOINT=$at OSS_REGION=us-east-1 ALIBABA_CLOUD_CREDENTIALS_URI=$at/_credentials \
        run "$TRAINYARD" data head -n 1 --json oss://bucket/a.csv
    status 0
}

patterns_and_directories_are_listed()
{
    serve --page 2
    for i in 1 2 3 4 5; do
        printf 'id\n%s\n' $i >x.csv
        put x.csv bucket/d/e$i/part.csv
    done
    put x.csv bucket/d/_tmp/part.csv
    put x.csv bucket/d/e1/part.txt
    run "$TRAINYARD" data head --json 's3://bucket/d/e*/*.csv'
    status 0
    out_is <<'X'
{"id": 1}
{"id": 2}
{"id": 3}
{"id": 4}
{"id": 5}
X
    run "$TRAINYARD" data head --json 's3://bucket/**/e[45]/*.csv,s3://bucket/d/e2'
    out_is <<'X'
{"id": 4}
{"id": 5}
{"id": 2}
X
    run "$TRAINYARD" data head 's3://bucket/d/*.parquet'
    status 1
    err_has "error[E1201]: no object matches 's3://bucket/d/*.parquet'"
    run "$TRAINYARD" data head s3://bucket/nothing
    err_has "error[E1201]: there is no object 's3://bucket/nothing', nor any below it"
}

one_column_costs_a_fraction()
{
    serve
    two_columns
    put wide.parquet bucket/wide.parquet
    size=$(stat -c %s wide.parquet)
    [ "$size" -gt 1500000 ] || fail "the file is too small to tell: $size"
    run "$TRAINYARD" data stats --columns small s3://bucket/wide.parquet
    status 0
    out_has "20000 rows"
    stats "d['bytes_out'] < $size / 5"
    run "$TRAINYARD" data convert s3://bucket/wide.parquet back.csv
    status 0
    check "the rows differ" cmp wide.csv back.csv
}

connections_are_kept()
{
    serve
    for i in $(seq 20); do
        printf 'id\n%s\n' "$i" >x.csv
        put x.csv "bucket/p$i.csv"
    done
    stats 'True'
    before=$(python3 -c 'import json; print(json.load(open(".stats"))["connections"])')
    run "$TRAINYARD" data stats 's3://bucket/*.csv'
    status 0
    stats "d['requests'] > 40 and d['connections'] - $before < 12"
}

compressed_text_is_read_on_the_way()
{
    serve
    numbers 300000 >big.csv
    gzip -k big.csv
    put big.csv bucket/big.csv
    put big.csv.gz bucket/big.csv.gz
    run "$TRAINYARD" data convert s3://bucket/big.csv one.csv
    status 0
    check "plain differs" cmp big.csv one.csv
    run "$TRAINYARD" data convert s3://bucket/big.csv.gz two.csv
    status 0
    check "gzip differs" cmp big.csv two.csv
}

large_objects_go_up_in_parts()
{
    serve
    some_csv >a.csv
    put a.csv bucket/x
    numbers 1500000 >big.csv
    run "$TRAINYARD" data convert big.csv s3://bucket/out/big.csv
    status 0
    err_has "s3://bucket/out/big.csv: 1500000 rows"
    stats "d['objects']['bucket/out/big.csv'] == $(stat -c %s big.csv) and d['uploads'] == 0"
    stats 'sum("partNumber" in s for s in d["seen"]) > 1'
    run "$TRAINYARD" data convert s3://bucket/out/big.csv back.csv
    check "it differs" cmp big.csv back.csv
}

a_failed_write_leaves_nothing()
{
    serve
    some_csv >a.csv
    put a.csv bucket/x
    numbers 1500000 >big.csv
    fault '{"on": "PUT", "key": "partNumber=2", "times": 9, "do": "403"}'
    run "$TRAINYARD" data convert big.csv s3://bucket/out/big.csv
    status 1
    err_has "error[E1606]: 's3://bucket/out/big.csv': the server refuses: 403 AccessDenied: as told"
    stats "d['uploads'] == 0 and 'bucket/out/big.csv' not in d['objects']"
    run "$TRAINYARD" data convert --to csv a.csv s3://bucket/out/
    err_has "error[E1601]: 's3://bucket/out/' names no object: write s3://bucket/key"
    stats "d['uploads'] == 0 and 'bucket/out/big.csv' not in d['objects']"
}

an_upload_that_cannot_be_completed_is_given_up()
{
    serve
    some_csv >a.csv
    put a.csv bucket/x
    numbers 900000 >big.csv
    fault '{"on": "POST", "key": "uploadId", "times": 9, "do": "error200"}'
    run "$TRAINYARD" data convert big.csv s3://bucket/big.csv
    status 1
    err_has "error[E1611]: 's3://bucket/big.csv': the server answers: 200 InternalError: We encountered an internal error."
    stats "d['uploads'] == 0 and 'bucket/big.csv' not in d['objects']"
}

passing_faults_are_overcome()
{
    serve
    two_columns
    put wide.parquet bucket/wide.parquet
    for kind in 500 503 429 reset cut; do
        fault "{\"on\": \"GET\", \"key\": \"wide\", \"times\": 2, \"do\": \"$kind\", \"after\": 2}"
        run "$TRAINYARD" data convert s3://bucket/wide.parquet back.csv --overwrite
        status 0
        cmp -s wide.csv back.csv || fail "$kind: the rows differ"
    done
    fault '{"on": "GET", "key": "wide", "times": 1, "do": "stall", "after": 3}'
    TRAINYARD_HTTP_TIMEOUT=1 AWS_MAX_ATTEMPTS=9 run "$TRAINYARD" data convert s3://bucket/wide.parquet back.csv --overwrite
    status 0
    check "stall: the rows differ" cmp wide.csv back.csv
    fault '{"on": "PUT", "times": 2, "do": "500"}'
    run "$TRAINYARD" data convert wide.csv s3://bucket/new.csv
    status 0
    stats "d['objects']['bucket/new.csv'] == $(stat -c %s wide.csv)"
}

lasting_faults_are_told()
{
    serve
    two_columns
    put wide.parquet bucket/wide.parquet
    fault '{"on": "GET", "key": "wide.parquet", "times": 99, "do": "500"}'
    run "$TRAINYARD" data head s3://bucket/wide.parquet
    status 1
    err_is <<'X'
trainyard data head: error[E1607]: 's3://bucket/wide.parquet': the server fails: 500 InternalError: as told (3 attempts)
X
    ask /_reset x
    put wide.parquet bucket/wide.parquet
    fault '{"on": "GET", "key": "wide.parquet", "times": 99, "do": "reset"}'
    run "$TRAINYARD" data head s3://bucket/wide.parquet
    err_has "error[E1607]: 's3://bucket/wide.parquet': no answer after 3 attempts: "
    ask /_reset x
    put wide.parquet bucket/wide.parquet
    fault '{"on": "GET", "key": "wide.parquet", "times": 99, "do": "etag", "after": 2}'
    run "$TRAINYARD" data stats s3://bucket/wide.parquet
    status 1
    err_has "error[E1608]: "
    err_has "'s3://bucket/wide.parquet': the object changed while it was read"
    ask /_reset x
    put wide.parquet bucket/wide.parquet
    fault '{"on": "GET", "key": "wide.parquet", "times": 99, "do": "range", "after": 1}'
    run "$TRAINYARD" data head s3://bucket/wide.parquet
    err_has "error[E1611]: "
    ask /_reset x
    put wide.parquet bucket/wide.parquet
    fault '{"on": "GET", "key": "prefix", "times": 99, "do": "garbage"}'
    run "$TRAINYARD" data head s3://bucket/wide.parquet
    err_is <<'X'
trainyard data head: error[E1611]: 's3://bucket/wide.parquet': the answer makes no sense: no listing
X
}

refusals_are_told()
{
    serve
    some_csv >a.csv
    put a.csv bucket/a.csv
    run "$TRAINYARD" data head s3://nobucket/a.csv
    err_has "error[E1604]: 's3://nobucket/a.csv': there is no such bucket"
    AWS_SECRET_ACCESS_KEY=hidden-one run "$TRAINYARD" data head s3://bucket/a.csv
    status 1
    err_is <<'X'
trainyard data head: error[E1606]: 's3://bucket/a.csv': the server refuses: 403 SignatureDoesNotMatch: the request is refused
X
    AWS_SESSION_TOKEN=hidden-token run "$TRAINYARD" data head s3://bucket/a.csv
    err_has "403 InvalidToken"
    err_lacks hidden
    AWS_REGION=eu-west-1 run "$TRAINYARD" data head s3://bucket/a.csv
    err_has "error[E1603]: 's3://bucket/a.csv': the bucket is in region 'us-east-1', not 'eu-west-1': set AWS_REGION"
    (unset AWS_ACCESS_KEY_ID
    run "$TRAINYARD" data head s3://bucket/a.csv
    status 2
    err_is <<'X'
trainyard data head: error[E1602]: no credentials for s3://: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to ~/.aws/credentials
X
    )
    run "$TRAINYARD" data head oss://bucket/a.csv
    err_has "error[E1603]: no endpoint for oss://: set OSS_ENDPOINT"
    OSS_ENDPOINT=https://store.example OSS_ACCESS_KEY_ID=a OSS_ACCESS_KEY_SECRET=b \
        run "$TRAINYARD" data head oss://bucket/a.csv
    err_has "error[E1603]: the endpoint 'store.example' does not tell its region: set OSS_REGION"
    AWS_ENDPOINT_URL=ftp://x run "$TRAINYARD" data head s3://bucket/a.csv
    err_has "error[E1603]: AWS_ENDPOINT_URL: 'ftp' is neither http nor https"
    run "$TRAINYARD" data head s3:///a.csv
    err_has "error[E1601]: 's3:///a.csv' has no bucket: write s3://bucket/key"
    AWS_ENDPOINT_URL=http://127.0.0.1:1 AWS_MAX_ATTEMPTS=2 run "$TRAINYARD" data head s3://bucket/a.csv
    err_has "error[E1607]: 's3://bucket/a.csv': no answer after 2 attempts: Failed to connect to 127.0.0.1 port 1"
}

certificates_are_checked()
{
    command -v openssl >/dev/null || skip "no openssl"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    cat >tls.py <<'PY'
import http.server, ssl, os
s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain('cert.pem', 'key.pem')
s.socket = c.wrap_socket(s.socket, server_side=True)
open('port.new', 'w').write(str(s.server_address[1]))
os.rename('port.new', 'port')
s.serve_forever()
PY
    python3 tls.py 2>/dev/null &
    server=$!
    # shellcheck disable=SC2064
    trap "kill $server 2>/dev/null; wait $server 2>/dev/null" EXIT
    for _ in $(seq 200); do [ -s port ] && break; sleep 0.05; done
    export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b no_proxy=127.0.0.1 HOME=$PWD
    at=https://127.0.0.1:$(cat port)
    export AWS_ENDPOINT_URL=$at
    run "$TRAINYARD" data head s3://bucket/a.csv
    status 1
    err_has "error[E1610]: 's3://bucket/a.csv': the server's certificate is refused: "
    AWS_CA_BUNDLE=$PWD/cert.pem run "$TRAINYARD" data head s3://bucket/a.csv
    err_lacks E1610
}

# The model is the one that local files give, byte by byte.
training_reads_a_bucket()
{
    serve
    click_config 'batch_size: 256 dataset_type: ParquetDataset'
    "$TRAINYARD" data gen taobao --rows 3000 --files 2 --out data >/dev/null 2>&1
    for f in train/part-0.parquet train/part-1.parquet; do put data/$f bucket/$f; done
    run "$TRAINYARD" train c.config --model-dir m1 --train-input 's3://bucket/train/*.parquet'
    status 0
    run "$TRAINYARD" train c.config --model-dir m2 --train-input 'data/train/*.parquet'
    status 0
    local n=0 f
    for f in m1/model.ckpt-*/*.safetensors; do
        cmp -s "$f" "m2/${f#m1/}" || fail "$f differs"
        n=$((n + 1))
    done
    [ "$n" -gt 0 ] || fail "no checkpoint"
}

# Files of the rows that changed, in a bucket: those that a directory gets.
training_writes_into_a_bucket()
{
    serve
    click_config 'batch_size: 256 dataset_type: ParquetDataset'
    "$TRAINYARD" data gen taobao --rows 3000 --files 2 --out data >/dev/null 2>&1
    put c.config bucket/c.config # so that there is one
    run "$TRAINYARD" train c.config --model-dir m1 --train-input 'data/train/*.parquet' \
        --set 'train_config.delta_embedding_dump_config={dump_interval_steps: 5 output_dir: "s3://bucket/rows"}'
    status 0
    run "$TRAINYARD" train c.config --model-dir m2 --train-input 'data/train/*.parquet' \
        --set 'train_config.delta_embedding_dump_config={dump_interval_steps: 5}'
    status 0
    [ -d m1/delta_embedding_dump ] && fail "a directory that is not used"
    local f
    for f in 5 10; do
        "$TRAINYARD" data convert "s3://bucket/rows/delta_embedding_step_$f.parquet" a.jsonl >/dev/null 2>.err || show .err
        "$TRAINYARD" data convert "m2/delta_embedding_dump/delta_embedding_step_$f.parquet" b.jsonl >/dev/null 2>&1
        [ -s a.jsonl ] || fail "no file of step $f"
        cmp -s a.jsonl b.jsonl || fail "files of step $f differ"
        rm -f a.jsonl b.jsonl
    done
}

tap_cases head_reads_an_object keys_with_odd_characters_are_found oss_is_signed_its_own_way \
    buckets_in_the_host_name keys_come_from_files_too patterns_and_directories_are_listed \
    one_column_costs_a_fraction connections_are_kept compressed_text_is_read_on_the_way \
    large_objects_go_up_in_parts a_failed_write_leaves_nothing \
    an_upload_that_cannot_be_completed_is_given_up passing_faults_are_overcome \
    lasting_faults_are_told refusals_are_told certificates_are_checked training_reads_a_bucket \
    training_writes_into_a_bucket
