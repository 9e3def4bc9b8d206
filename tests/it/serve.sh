#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# serve: scores over HTTP, bad requests, limits, and a new version under load.
. "$(dirname "$0")/lib.sh"

command -v curl >/dev/null || { echo "1..0 # SKIP there is no curl"; exit 77; }

config() # model_dir
{
    cat >"$1.config" <<END
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "$1"
train_config {
  num_epochs: 1
  sparse_optimizer { adam_optimizer { lr: $2 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: $2 } constant_learning_rate {} }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  num_buckets: 1000000 embedding_dim: 8 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" } }
feature_configs { sequence_id_feature { feature_name: "seen" expression: "user:click_50_seq__cate_id"
  sequence_delim: "|" sequence_length: 20 hash_bucket_size: 100 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate" expression: "item:cate_id"
  hash_bucket_size: 100 embedding_dim: 8 embedding_name: "cate" } }
feature_configs { combo_feature { feature_name: "both" expression: ["user:user_id", "item:cate_id"]
  hash_bucket_size: 500 embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "price", "both"] }
  feature_groups { group_name: "seq" group_type: SEQUENCE feature_names: ["cate", "seen"] }
  multi_tower_din { towers { input: "deep" mlp { hidden_units: [16, 8] use_bn: true } }
    din_towers { input: "seq" attn_mlp { hidden_units: [8] activation: "Dice" } }
    final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
}

models() # name learning-rate ...; $edit changes the configs
{
    "$TRAINYARD" data gen taobao --rows 2000 --files 1 --out data >/dev/null 2>&1
    while [ $# -gt 0 ]; do
        config "$1" "$2"
        sed -i "${edit:-}" "$1.config"
        "$TRAINYARD" train "$1.config" >/dev/null 2>&1 || fail "training"
        "$TRAINYARD" export "$1.config" --export-dir "x$1" >/dev/null || fail "export"
        shift 2
    done
}

serve() # arguments; sets $url and $pid
{
    "$TRAINYARD" serve --listen 127.0.0.1:0 "$@" 2>log &
    pid=$!
    for _ in $(seq 100); do
        url=$(sed -n 's/^listening on //p' log)
        [ -z "$url" ] || return 0
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    fail "the server did not start: $(cat log)"
}

finish()
{
    kill -TERM $pid
    wait $pid
    got=$?
    [ "$got" = 0 ] || fail "the server ended with $got"
}

post() # body [path]
{
    run curl -s -S -w '\n%{http_code}' --data-binary "$1" "$url${2:-/score}"
    tail -1 .out >code
    sed -i '$d' .out
}
code() { [ "$(cat code)" = "$1" ] || fail "HTTP $(cat code), want $1: $(cat .out)"; }

scores_are_those_of_predict()
{
    models m 0.01
    serve --model xm --threads 2
    "$TRAINYARD" data convert data/eval rows.jsonl 2>/dev/null
    python3 - >want <<'PY'
import json
rows = [json.loads(x) for x in open('rows.jsonl')]
user = {k: rows[7][k] for k in ('user_id', 'click_50_seq__cate_id')}
items = [{k: r[k] for k in ('cate_id', 'price')} for r in rows]
open('body.json', 'w').write(json.dumps({'user': user, 'items': items}, indent=1))
with open('in.jsonl', 'w') as f:
    for i in items:
        f.write(json.dumps({**user, **i}) + '\n')
PY
    "$TRAINYARD" predict --model xm --input in.jsonl --output p.jsonl 2>/dev/null
    run curl -s --data-binary @body.json "$url/score"
    cp .out answer
    python3 - <<'PY' || fail "scores differ"
import json
want = [json.loads(x) for x in open('p.jsonl')]
got = json.load(open('answer'))
assert got['items'] == len(want) == 200 and got['model'] == 'multi_tower_din'
for name in ('logits', 'probs'):
    assert max(abs(a - b[name]) for a, b in zip(got['outputs'][name], want)) < 1e-6
PY
    post '{"items": [{"user_id": 1, "click_50_seq__cate_id": null, "cate_id": 2, "price": 3}], "outputs": ["probs"]}'
    code 200
    json 'list(d["outputs"]) == ["probs"] and len(d["outputs"]["probs"]) == 1'
    post '{"user": {}, "items": []}'
    code 200
    json 'd["items"] == 0 and d["outputs"]["probs"] == []'
    run curl -s "$url/model"
    json '{"name": "cate_id", "type": "int64"} in d["columns"] and d["outputs"][1]["name"] == "probs"'
    run curl -s "$url/samples"
    json 'len(d["rows"]) == len(d["outputs"]) == 32 and "cate_id" in d["rows"][0]'
    python3 -c 'import json, sys; d = json.load(open(".out")); json.dump({"items": d["rows"]}, open("rows.json", "w")); json.dump(d["outputs"], open("want.json", "w"))'
    run curl -s -d @rows.json "$url/score"
    python3 -c 'import json; got = json.load(open(".out"))["outputs"]["probs"]; want = [w["probs"] for w in json.load(open("want.json"))]; \
assert max(abs(a - b) for a, b in zip(got, want)) < 1e-6 and len(got) == 32, (got, want)' || fail "the samples are scored otherwise"
    run curl -s "$url/healthz"
    json 'd["status"] == "ok" and len(d["version"]) == 16'
    run curl -s "$url/metrics"
    out_has 'trainyard_requests_total{result="ok"} 4'
    out_has 'trainyard_items_total 233'
    out_has 'trainyard_request_seconds_count 4'
    out_has 'trainyard_model_info{model="multi_tower_din"'
    finish
}

bad_requests_are_told_what_is_wrong()
{
    models m 0.01
    serve --model xm --max-items 3 --max-body 2000
    row='"user_id": 1, "click_50_seq__cate_id": "1|2", "cate_id": 2, "price": 3'
    while IFS='@' read -r status want body; do
        [ -n "$status" ] || continue
        post "$body"
        code "$status"
        out_has "$want"
    done <<END
400@E2101@
400@byte 0: expected an object@[]
400@byte 0: expected an object@hello
400@byte 10: expected a list of items@{"items": {}}
400@byte 1: the keys are@{"item": []}
400@column 'user_id': expected type int64@{"items": [{"user_id": "x"}]}
400@column 'price': expected type float@{"items": [{"price": {}}]}
400@the key is given twice@{"items": [{"price": 1, "price": 2}]}
400@E2101@{}
400@E2103@{"items": [{"user_id": 1, "cate_id": 2, "price": 3}]}
400@column 'click_50_seq__cate_id' is missing, which feature 'seen' reads@{"items": [{"user_id": 1, "cate_id": 2, "price": 3}]}
400@no output of that name@{"outputs": ["nope"], "items": []}
400@expected the end@{"items": []} {}
400@more than 3 items@{"items": [{$row}, {$row}, {$row}, {$row}]}
413@E2105@{"items": [$(printf '"%02000d"' 1)]}
200@"items": 3@{"items": [{$row}, {$row}, {$row}]}
END
    post "" /nope
    code 405
    run curl -s "$url/nope"
    out_has E2107
    run curl -s "$url/score"
    out_has "GET /score is not served"
    run curl -s -X DELETE "$url/model"
    out_has E2107
    printf 'POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n' >raw
    (exec 5<>"/dev/tcp/127.0.0.1/${url##*:}" && cat raw >&5 && timeout 2 cat <&5 >/dev/null)
    post '{"items": []}'
    code 200
    finish
}

every_item_is_checked_and_named()
{
    edit='s/sequence_length: 20 hash_bucket_size: 100/sequence_length: 20 num_buckets: 1000000/' models m 0.01
    serve --model "$PWD/xm"
    user='"user": {"user_id": 1, "click_50_seq__cate_id": "1|2"}'
    while IFS='@' read -r want body; do
        [ -n "$want" ] || continue
        post "{$user, \"items\": [$body]}"
        code 400
        out_has "$want"
        out_lacks "$PWD"
        out_lacks pipeline.config
    done <<END
items[1]: column 'price' is missing, which feature 'price' reads@{"cate_id": 2, "price": 3}, {"cate_id": 2}, {}
items[2]: column 'cate_id' is missing@{"cate_id": 2, "price": 3}, {"cate_id": 2, "price": null}, {"price": 1}
column 'price' is missing, which feature@{"cate_id": 2}, {"cate_id": 2}
items[1], byte @{"cate_id": 2, "price": 3}, {"cate_id": 2, "price": "x"}
column 'price': expected type float@{"cate_id": 2, "price": 3}, {"cate_id": 2, "price": "x"}
items[1], byte @{"cate_id": 2, "price": 3}, 5
feature 'seen': column 'click_50_seq__cate_id', items[1]: 'x' is not@{"cate_id": 2, "price": 3}, {"click_50_seq__cate_id": "1|x", "cate_id": 2, "price": 4}
END
    post '{"user": {"user_id": "x"}, "items": []}'
    out_has "user, byte 21, column 'user_id': expected type int64"
    post "{$user, \"items\": [{\"cate_id\": 2, \"price\": 3}]}"
    json 'd.get("errors") is None'
    finish
}

# What is said once of the user counts as what every item says.
a_user_is_worked_out_once()
{
    edit='s/embedding_dim: 8 } }$/embedding_dim: 24 } }/' models a 0.02
    serve --model xa
    for user in '"user_id":7,"click_50_seq__cate_id":"3|9|3|27"' '"user_id":7,"click_50_seq__cate_id":""' \
        '"user_id":2000000,"click_50_seq__cate_id":null'; do
        python3 - "$user" >bodies <<'PY'
import json, sys
user = json.loads('{' + sys.argv[1] + '}')
items = [{'price': k / 9, 'cate_id': k % 40} for k in range(150)]
print(json.dumps({'user': user, 'items': items}))
print(json.dumps({'items': [user | i for i in items]}))
PY
        post "$(sed -n 1p bodies)"
        cp .out once
        post "$(sed -n 2p bodies)"
        cp .out each
        python3 - <<'PY' || fail "scores differ"
import json
a, b = (json.load(open(x))['outputs'] for x in ('once', 'each'))
for name in ('logits', 'probs'):
    assert len(a[name]) == 150 and len(set(a[name])) > 20
    assert max(abs(x - y) for x, y in zip(a[name], b[name])) < 1e-5
PY
    done
    curl -s "$url/metrics" >.out
    out_has 'trainyard_values_outside_total{feature="user_id"} 300'
    finish
}

an_item_without_the_column_takes_the_value_of_the_user()
{
    models m 0.01
    serve --model xm
    user='"user_id": 1, "click_50_seq__cate_id": "1|2", "cate_id": 3, "price": 5'
    post "{\"user\": {$user}, \"items\": [{\"price\": 900}, {\"cate_id\": 4}, {}]}"
    code 200
    cp .out mixed
    post "{\"items\": [{$user, \"x\": 1}, {$user}]}"
    sed 's/"cate_id": 3/"cate_id": 4/' <<<"{$user}" >second
    sed 's/"price": 5/"price": 900/' <<<"{$user}" >first
    post "{\"items\": [$(cat first), $(cat second), {$user}]}"
    cp .out whole
    cmp -s mixed whole || fail "$(cat mixed whole)"
    finish
}

a_score_that_is_no_number_is_an_error_of_its_item()
{
    edit='s/expression: "item:price"/& normalizer: "method=expression,expr=log(x)"/' models m 0.01
    serve --model xm
    user='"user": {"user_id": 1, "click_50_seq__cate_id": "1|2"}'
    post "{$user, \"items\": [{\"cate_id\": 2, \"price\": 3}, {\"cate_id\": 2, \"price\": -1}, {\"cate_id\": 2, \"price\": 4}]}"
    code 200
    json 'd["outputs"]["probs"][1] is None and 0 < d["outputs"]["probs"][0] < 1 and 0 < d["outputs"]["probs"][2] < 1'
    json 'd["errors"] == [{"item": 1, "code": "E2113", "message": "output \u0027logits\u0027 is nan: feature \u0027price\u0027 is nan"}]'
    run curl -s "$url/metrics"
    out_has 'trainyard_items_not_finite_total 1'
    finish
}

a_token_is_asked_for()
{
    models m 0.01
    echo 0123456789abcdef0123 >token
    serve --model xm --token-file token
    post '{"items": []}'
    code 401
    out_has E2111
    run curl -s -H 'Authorization: Bearer 0123456789abcdef0123' -d '{"items": []}' "$url/score"
    out_has '"items": 0'
    run curl -s "$url/healthz"
    out_has ok
    finish
    run "$TRAINYARD" serve --model xm --listen 0.0.0.0:0
    status 2
    err_has "[E2112]"
    run "$TRAINYARD" serve --model xm --listen 127.0.0.1:http
    err_has "[E2108]"
    run "$TRAINYARD" serve --model data
    err_has "[E2002]"
    "$TRAINYARD" export m.config --export-dir bare --sample-rows 0 >/dev/null
    run "$TRAINYARD" serve --model bare
    err_has "[E2102]"
}

a_new_version_takes_over_under_load()
{
    models a 0.01 b 0.1
    mkdir versions
    cp -r xa versions/1
    serve --model versions --watch 0 --threads 2
    cat >load.py <<'PY'
import http.client, json, sys, threading
host = sys.argv[1].split('//')[1]
body = json.dumps({'user': {'user_id': 3, 'click_50_seq__cate_id': '1|2|3'},
                   'items': [{'cate_id': i, 'price': i / 7} for i in range(50)]})
seen, bad, count, stop = {}, [], [0], threading.Event()
def ask():
    c = http.client.HTTPConnection(host, timeout=20)
    while not stop.is_set():
        try:
            c.request('POST', '/score', body)
            r = c.getresponse()
            d = json.loads(r.read())
            assert r.status == 200, d
            probs = d['outputs']['probs']
            assert seen.setdefault(d['version'], probs) == probs, 'two answers of one version'
            count[0] += 1
        except Exception as e:
            bad.append(repr(e))
            return
threads = [threading.Thread(target=ask) for _ in range(4)]
for t in threads: t.start()
print('ready', flush=True)
sys.stdin.read()
stop.set()
for t in threads: t.join()
print(json.dumps({'versions': len(seen), 'bad': bad, 'count': count[0], 'answers': len({str(x) for x in seen.values()})}))
PY
    mkfifo hold
    python3 load.py "$url" <hold >result &
    load=$!
    exec 6>hold
    while ! grep -q ready result; do sleep 0.05; done
    for i in 2 3 4 5 6 7; do
        cp -r "x$([ $((i % 2)) = 0 ] && echo b || echo a)" versions/.tmp
        mv versions/.tmp versions/$i
        post "" /reload
        code 200
        json 'd["changed"] == True'
    done
    post "" /reload
    json 'd["changed"] == False'
    cp -r xa versions/.tmp && truncate -s -5 versions/.tmp/tables.safetensors && mv versions/.tmp versions/10
    post "" /reload
    code 500
    out_has E2109
    out_has "the log of the server says why"
    out_lacks "$PWD"
    grep -q "file 'tables.safetensors' has" log || fail "$(cat log)"
    exec 6>&-
    wait $load
    tail -1 result >.out
    json 'd["bad"] == [] and d["count"] > 20 and d["versions"] == 2 and d["answers"] == 2'
    run curl -s "$url/metrics"
    out_has 'trainyard_model_swaps_total{result="ok"} 6'
    out_has 'trainyard_model_swaps_total{result="failed"} 1'
    rm -r versions/10
    kill -HUP $pid
    finish
}

a_link_is_watched()
{
    models a 0.01 b 0.1
    ln -s xa current
    serve --model current --watch 50ms
    before=$(curl -s "$url/healthz")
    ln -s xb next && mv -T next current
    for _ in $(seq 100); do
        [ "$(curl -s "$url/healthz")" = "$before" ] || break
        sleep 0.05
    done
    [ "$(curl -s "$url/healthz")" != "$before" ] || fail "the new version does not serve"
    grep -q "xb" log || fail "$(cat log)"
    finish
}

tap_cases scores_are_those_of_predict a_user_is_worked_out_once bad_requests_are_told_what_is_wrong \
    every_item_is_checked_and_named an_item_without_the_column_takes_the_value_of_the_user \
    a_score_that_is_no_number_is_an_error_of_its_item \
    a_token_is_asked_for a_new_version_takes_over_under_load a_link_is_watched
