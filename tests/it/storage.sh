#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Data in and out of a server: uploads, outputs, and what others can reach of them.
# shellcheck disable=SC2154 # $got is set by run
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/storage_lib.sh"

# A program that learns a line from a CSV with the standard library alone.
program()
{
    mkdir -p src
    cat >src/train.py <<'PY'
import csv, json, os
rows = [r for r in csv.DictReader(open(os.environ["PAI_INPUT_TRAIN"]))]
x, y = [float(r["x"]) for r in rows], [float(r["y"]) for r in rows]
mx, my = sum(x) / len(x), sum(y) / len(y)
w = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)
out = os.environ["PAI_OUTPUT_MODEL"]
json.dump({"w": w, "b": my - w * mx, "rows": len(rows)}, open(os.path.join(out, "model.json"), "w"))
open(os.path.join(out, "weights.bin"), "wb").write(bytes(range(256)) * 140000)
PY
}

a_remote_user_brings_data_and_fetches_the_model()
{
    local ann id
    start
    ann=$(person ann)
    as "$ann"
    program
    seq 1 1000 | awk 'BEGIN { print "x,y" } { print $1 "," 3 * $1 + 2 }' >train.csv
    run "$TRAINYARD" job submit --source src --input train=./train.csv --wait -- python3 train.py
    status 0
    id=$(head -1 .out)
    run "$TRAINYARD" job outputs "$id" --json
    json '[(o["channel"], o["path"], o["bytes"]) for o in d] == [("model", "model.json", len(open("yard/jobs/'"$id"'/ml/output/model/model.json").read())), ("model", "weights.bin", 256 * 140000)]'
    json 'all(len(o["sha256"]) == 64 for o in d)'
    run "$TRAINYARD" job download "$id" got
    status 0
    out_has "got/model/weights.bin"
    cmp "got/model/weights.bin" "yard/jobs/$id/ml/output/model/weights.bin" || fail "the model differs"
    is "the model" "$(python3 -c 'import json; m = json.load(open("got/model/model.json")); print(round(m["w"], 6), round(m["b"], 6), m["rows"])')" "3.0 2.0 1000"
    run "$TRAINYARD" job download "$id" got
    status 0
    out_has "got/model/weights.bin (there already)"
    # Broken off half-way: the rest alone is fetched, and a wrong beginning is noticed.
    head -c 20000000 got/model/weights.bin >got/model/weights.bin.part
    mv got/model/weights.bin want
    run "$TRAINYARD" job download "$id" got --path 'w*'
    status 0
    cmp want got/model/weights.bin || fail "the resumed file differs"
    head -c 20000000 /dev/zero >got/model/weights.bin.part
    rm got/model/weights.bin
    run "$TRAINYARD" job download "$id" got
    status 0
    cmp want got/model/weights.bin || fail "a wrong beginning was kept"
    check "no part is left" sh -c '! ls got/model/*.part'
    # The server's file is changed behind its back: the digest says so.
    printf x | dd of="yard/jobs/$id/ml/output/model/weights.bin" conv=notrunc 2>/dev/null
    rm got/model/weights.bin
    run "$TRAINYARD" job download "$id" got
    status 2
    err_has "error[E5503]: 'weights.bin' has the SHA-256"
    check "nothing wrong is left" test ! -e got/model/weights.bin
    finish
}

uploads_are_cut_deduplicated_and_resumed()
{
    local ann list id n
    start
    ann=$(person ann)
    as "$ann"
    mkdir -p data/sub
    python3 -c 'import random; random.seed(1); open("data/big.bin", "wb").write(random.randbytes(40 << 20))'
    cp data/big.bin data/sub/same.bin
    ln -s big.bin data/link.bin
    : >data/empty
    # shellcheck disable=SC2016
    run "$TRAINYARD" job submit --input train=data --wait -- \
        'cd $PAI_INPUT_TRAIN && find . -type f | sort && sha256sum big.bin link.bin sub/same.bin | cut -c1-8 | uniq -c'
    status 0
    id=$(head -1 .out)
    run "$TRAINYARD" job logs "$id"
    out_is <<END
./big.bin
./empty
./link.bin
./sub/same.bin
      3 $(digest data/big.bin | cut -c1-8)
END
    is "objects of 16 MiB and less, each once, code and lists" "$(find yard/users/ann/objects -type f -size +1M | wc -l)" 3
    check "the copy went with the job" test ! -e "yard/jobs/$id/remote"
    # The second time nothing but the list travels.
    n=$(curl -s -H "Authorization: Bearer $admin" "$url/metrics" | sed -n 's/.*operation="put_object".* //p' | head -1)
    run "$TRAINYARD" job submit --input train=data --wait -- true
    status 0
    is "nothing was sent again" "$(curl -s -H "Authorization: Bearer $admin" "$url/metrics" | sed -n 's/.*operation="put_object".* //p' | head -1)" "$n"
    # One object is lost half-way: only that one is missing.
    list=$(find yard/users/ann/objects -type f -size +1M | head -1)
    rm "$list"
    run "$TRAINYARD" job submit --input train=data --wait -- true
    status 0
    check "it is back" test -e "$list"
    finish
}

what_one_user_sent_is_nobody_elses()
{
    local ann eve id sha body
    start
    ann=$(person ann)
    eve=$(person eve)
    as "$ann"
    echo 'the secret recipe' >secret.txt
    run "$TRAINYARD" job submit --input s=secret.txt --wait -- 'cp $PAI_INPUT_S $PAI_OUTPUT_MODEL/'
    status 0
    id=$(head -1 .out)
    sha=$(digest secret.txt)
    body='[{"file": "'$sha'", "path": "secret.txt"}]'
    list=$(printf '%s' "$body" | sha256sum | cut -d' ' -f1)
    as "$eve"
    # She knows the digest: the server wants the bytes from her all the same.
    api PUT "/api/v1/snapshots/$list" -H 'Content-Type: application/octet-stream' --data-binary "$body"
    is "status" "$code" 200
    json 'd["missing"] == ["'"$sha"'"] and d["missing_count"] == 1 and d["bytes"] == 0'
    for input in "snapshot:$list" "snapshot:$list/secret.txt"; do
        api POST /api/v1/jobs -H 'Content-Type: application/json' --data '{"command": "cat $PAI_INPUT_S", "input": {"s": "'"$input"'"}}'
        is "input $input" "$code" 422
        out_has '1 files of'
    done
    api POST /api/v1/jobs -H 'Content-Type: application/json' --data '{"command": "true", "source": "snapshot:'"$list"'"}'
    is "source" "$code" 422
    # Ann's own list, by its id.
    list=$(find yard/users/ann/objects -type f -size -2 -print0 | xargs -0 grep -l secret.txt | head -1)
    list=$(basename "$(dirname "$list")")$(basename "$list")
    api POST /api/v1/jobs -H 'Content-Type: application/json' --data '{"command": "true", "input": {"s": "snapshot:'"$list"'"}}'
    is "her list" "$code" 422
    out_has "no snapshot"
    api POST /api/v1/schedules -H 'Content-Type: application/json' --data '{"name": "s", "cron": "@daily", "job": {"command": "true", "source": "snapshot:'"$list"'"}}'
    is "a schedule" "$code" 422
    api GET "/api/v1/jobs/$id/outputs"
    is "another's outputs" "$code" 404
    api GET "/api/v1/jobs/$id/outputs/model?path=secret.txt"
    is "another's output" "$code" 404
    run "$TRAINYARD" job download "$id"
    status 1
    err_has "no job '$id'"
    as "$ann"
    api GET "/api/v1/jobs/$id/outputs/model?path=secret.txt"
    is "ann's own" "$code" 200
    out_is <secret.txt
    finish
}

a_member_of_the_project_runs_the_job_again()
{
    local ann bob id
    start
    ann=$(person ann --project shared)
    bob=$(person bob --project shared)
    as "$ann"
    echo 42 >answer.txt
    mkdir src
    echo 'cat $PAI_INPUT_A' >src/main.sh
    run "$TRAINYARD" job submit --project shared --source src --input a=answer.txt --wait -- sh main.sh
    status 0
    id=$(head -1 .out)
    as "$bob"
    run "$TRAINYARD" job rerun "$id"
    status 0
    id=$(cat .out)
    run "$TRAINYARD" job wait "$id"
    status 0
    run "$TRAINYARD" job logs "$id"
    out_is <<<42
    finish
}

files_are_sent_in_ranges()
{
    local ann id sha
    start
    ann=$(person ann)
    as "$ann"
    run "$TRAINYARD" job submit --wait -- 'printf 0123456789 >"$PAI_OUTPUT_MODEL/d"; printf x >"$PAI_OUTPUT_MODEL/a b%c"'
    id=$(head -1 .out)
    sha=$(printf 0123456789 | sha256sum | cut -d' ' -f1)
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=2-4'
    is "status" "$code" 206
    is "part" "$(cat .out)" 234
    grep -qi "^content-range: bytes 2-4/10" .head || fail "no Content-Range"
    grep -qi "^etag: \"$sha\"" .head || fail "the ETag is not the digest"
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=-3'
    is "tail" "$code $(cat .out)" "206 789"
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=7-'
    is "rest" "$code $(cat .out)" "206 789"
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=10-'
    is "behind the end" "$code" 416
    grep -qi '^content-range: bytes \*/10' .head || fail "no size with 416"
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H 'Range: bytes=2-4' -H 'If-Range: "other"'
    is "another version" "$code $(cat .out)" "200 0123456789"
    api GET "/api/v1/jobs/$id/outputs/model?path=d" -H "If-None-Match: \"$sha\""
    is "known" "$code" 304
    api GET "/api/v1/jobs/$id/outputs/model?path=a%20b%25c"
    is "blanks" "$code $(cat .out)" "200 x"
    finish
}

no_path_and_no_link_leads_out_of_the_outputs()
{
    local ann id path
    start
    ann=$(person ann)
    as "$ann"
    # shellcheck disable=SC2016
    run "$TRAINYARD" job submit --wait -- 'cd $PAI_OUTPUT_MODEL && ln -s /etc/passwd link && ln -s / root && mkfifo pipe && echo fine >fine
        rm -rf $PAI_OUTPUT_CHECKPOINTS && ln -s /etc $PAI_OUTPUT_CHECKPOINTS || true'
    id=$(head -1 .out)
    run "$TRAINYARD" job outputs "$id" --json
    json '[o["path"] for o in d] == ["fine"]'
    for path in link root/etc/passwd pipe . .. ../../../../jobs.db ../../input/config/hyperparameters.json /etc/passwd \
        ./fine 'fine/' 'fine%00' '%2e%2e/%2e%2e/env.json' '..%2f..%2fenv.json' ''; do
        api GET "/api/v1/jobs/$id/outputs/model?path=$path"
        case $code in 404 | 400) ;; *) fail "path '$path' -> $code" ;; esac
    done
    api GET "/api/v1/jobs/$id/outputs/checkpoints?path=passwd"
    is "a channel that is a link" "$code" 404
    for path in '..' '%2e%2e' '..%2f..' 'model%2f..%2f..'; do
        api GET --path-as-is "/api/v1/jobs/$id/outputs/$path?path=env.json"
        api GET "/api/v1/jobs/$id/outputs/$path?path=env.json" --path-as-is
        case $code in 404 | 400) ;; *) fail "channel '$path' -> $code" ;; esac
    done
    finish
}

a_user_stores_no_more_than_allowed()
{
    local ann body
    start --user-storage 1m
    ann=$(person ann)
    as "$ann"
    head -c 2000000 /dev/urandom >big
    run "$TRAINYARD" job submit --input b=big -- true
    status 2
    err_has "error[E5501]: input 'b': $url: 1.9 MiB more do not fit: ann stores 4.0 KiB and may store 1.0 MiB; delete jobs or models"
    head -c 600000 /dev/urandom >one
    run "$TRAINYARD" job submit --input b=one -- true
    status 0
    run "$TRAINYARD" job submit --input b=one -- 'true again'
    status 0
    head -c 600000 /dev/urandom >two
    run "$TRAINYARD" job submit --input b=two -- true
    status 2
    err_has "ann stores"
    err_has "and may store 1.0 MiB"
    # An object that is not what its name says counts for nothing.
    head -c 300000 /dev/urandom >three
    body=$(printf '%064d' 0)
    api PUT "/api/v1/objects/$body" -H 'Content-Type: application/octet-stream' --data-binary @three
    is "wrong content" "$code" 422
    run "$TRAINYARD" job submit --input b=three -- true
    status 0
    finish
}

outputs_of_an_array_are_those_of_its_jobs()
{
    local array first
    start
    as "$(person ann)"
    # shellcheck disable=SC2016
    array=$("$TRAINYARD" job submit --array 3 -- 'echo $TRAINYARD_ARRAY_INDEX >$PAI_OUTPUT_MODEL/m; test $TRAINYARD_ARRAY_INDEX != 1' 2>/dev/null)
    run "$TRAINYARD" job wait "$array"
    status 1
    run "$TRAINYARD" job outputs "$array"
    status 0
    for i in 0 1 2; do out_has " $i/model/m"; done
    run "$TRAINYARD" job outputs --json "$array"
    json '[(o["index"], o["channel"], o["path"], o["job"][:3]) for o in d] == [(i, "model", "m", "jb-") for i in range(3)]'
    first=$("$TRAINYARD" job outputs --json "$array" | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["job"])')
    run "$TRAINYARD" job outputs --json "$first"
    json '[sorted(o) for o in d] == [["bytes", "channel", "path", "sha256"]]'
    run "$TRAINYARD" job download "$array" got
    status 0
    is "all of them" "$(cat got/0/model/m got/1/model/m got/2/model/m)" "0
1
2"
    run "$TRAINYARD" job download "$array"
    [ -e "$array/2/model/m" ] || fail "not below the array's name: $(find "$array")"
    run "$TRAINYARD" job download "$array" --channel nope
    err_has "array $array has no such outputs"
    run "$TRAINYARD" job download "$first"
    [ -e "$first/model/m" ] || fail "not below the job's name"
    run "$TRAINYARD" job outputs ja-000000000000
    err_has "no array 'ja-000000000000'"
    finish
}

what_is_deleted_frees_room_at_once()
{
    local ann bob id
    start --user-storage 1m
    ann=$(person ann)
    bob=$(person bob)
    head -c 600000 /dev/urandom >one
    head -c 600000 /dev/urandom >two
    head -c 600000 /dev/urandom >three
    head -c 600000 /dev/urandom >four
    as "$bob"
    run "$TRAINYARD" job run --input b=one -- true
    status 0
    as "$ann"
    id=$("$TRAINYARD" job submit --input b=one -- true)
    run "$TRAINYARD" job wait "$id"
    status 0
    run "$TRAINYARD" job submit --input b=two -- true
    status 2
    is "what a job needs stays" "$(find yard/users/ann/objects -type f -size +500k | wc -l)" 1
    run "$TRAINYARD" job delete "$id"
    status 0
    run "$TRAINYARD" job submit --input b=two -- true
    status 0
    id=$(cat .out)
    run "$TRAINYARD" job wait "$id"
    status 0
    is "another's stay" "$(find yard/users/bob/objects -type f -size +500k | wc -l)" 1
    # A model keeps its files when the job goes, and gives them up with itself.
    run "$TRAINYARD" job delete "$id"
    # shellcheck disable=SC2016
    id=$("$TRAINYARD" job submit -- 'head -c 600000 /dev/urandom >$PAI_OUTPUT_MODEL/m')
    run "$TRAINYARD" job wait "$id"
    status 0
    run "$TRAINYARD" model register big --job "$id"
    out_is <<<big:1
    run "$TRAINYARD" job delete "$id"
    status 0
    run "$TRAINYARD" job submit --input b=three -- true
    status 2
    err_has "error[E5501]"
    run "$TRAINYARD" model download big
    status 0
    run "$TRAINYARD" model delete big:1
    status 0
    # What was sent with a job that was refused gives way too.
    run "$TRAINYARD" job submit --input b=three --gpu 999 -- true
    status 2
    err_has "E3204"
    run "$TRAINYARD" schedule create s --cron '0 3 * * *' --input b=four -- true
    status 0
    run "$TRAINYARD" job submit --input b=one -- true
    status 2
    err_has "error[E5501]"
    run "$TRAINYARD" schedule delete s
    run "$TRAINYARD" job submit --input b=one -- true
    status 0
    finish
}

a_user_collects_what_is_their_own()
{
    local ann bob
    start --user-storage 10m
    ann=$(person ann)
    bob=$(person bob)
    head -c 600000 /dev/urandom >one
    as "$bob"
    run "$TRAINYARD" job submit --input b=one --gpu 999 -- true
    as "$ann"
    run "$TRAINYARD" job submit --input b=one --gpu 999 -- true
    run "$TRAINYARD" gc --dry-run
    out_has "would remove 0 jobs"
    out_has "2 contents (586.0 KiB) that nothing refers to"
    is "a dry run" "$(find yard/users/ann/objects -type f -size +500k | wc -l)" 1
    run "$TRAINYARD" gc
    status 0
    is "ann's are gone" "$(find yard/users/ann/objects -type f -size +500k | wc -l)" 0
    is "bob's are not" "$(find yard/users/bob/objects -type f -size +500k | wc -l)" 1
    as "$admin"
    "$TRAINYARD" user create eve --role viewer >/dev/null
    as "$("$TRAINYARD" token create eve)"
    run "$TRAINYARD" gc
    status 1
    err_has "E5010"
    finish
}

lists_that_lie_are_refused()
{
    local ann body
    start --no-queue
    ann=$(person ann)
    as "$ann"
    none=$(printf '%064d' 0)
    for body in '[{"file": "'$none'", "path": "../x"}]' '[{"file": "'$none'", "path": "/x"}]' \
        '[{"link": "/etc", "path": "a"}, {"file": "'$none'", "path": "a/passwd"}]' \
        '[{"parts": [], "path": "a"}]' '[{"parts": ["xyz"], "path": "a"}]' '[{"parts": "'$none'", "path": "a"}]' \
        '[{"file": "'$none'", "parts": ["'$none'"], "path": "a"}]' '{}' 'no'; do
        api PUT "/api/v1/snapshots/$(printf '%s' "$body" | sha256sum | cut -d' ' -f1)" \
            -H 'Content-Type: application/octet-stream' --data-binary "$body"
        is "$body" "$code" 422
    done
    for input in snapshot: snapshot:x "snapshot:$none/../x" "snapshot:$none/.." "snapshot:$none/" /etc/passwd file:///etc/passwd; do
        api POST /api/v1/jobs -H 'Content-Type: application/json' --data '{"command": "true", "input": {"s": "'"$input"'"}}'
        is "$input" "$code" 422
    done
    run "$TRAINYARD" job submit --input a=./nowhere -- true
    status 1
    err_has "error[E3005]: input 'a': '$PWD/./nowhere'"
    finish
}

what_is_refused_takes_no_room()
{
    local ann before
    start --user-storage 1m
    ann=$(person ann)
    as "$ann"
    stored() { tr -d ' ' <yard/users/ann/bytes; }
    # Half of it fits.
    mkdir many
    for i in 1 2 3 4; do head -c 300000 /dev/urandom >many/$i; done
    run "$TRAINYARD" job submit --input b=many -- true
    status 2
    err_has "error[E5501]"
    is "stored after a refusal" "$(stored)" 0
    is "objects after a refusal" "$(find yard/users/ann/objects -type f | wc -l)" 0
    rm many/4
    run "$TRAINYARD" job submit --input b=many -- true
    status 0
    "$TRAINYARD" gc >/dev/null # counts anew, with what the server itself put there
    before=$(stored)
    # What a job needs stays, though a refused upload named it too.
    head -c 300000 /dev/urandom >many/5
    run "$TRAINYARD" job submit --input b=many -- true
    status 2
    err_has "error[E5501]"
    is "stored after another" "$(stored)" "$before"
    rm many/5
    run "$TRAINYARD" job submit --input b=many --wait -- 'cat $PAI_INPUT_B/* | wc -c'
    status 0
    before=$(stored)
    # A list that is none.
    body='[{"file": "'$(printf '%064d' 0)'", "path": "../x"}]'
    api PUT "/api/v1/snapshots/$(printf '%s' "$body" | sha256sum | cut -d' ' -f1)" \
        -H 'Content-Type: application/octet-stream' --data-binary "$body"
    is "a list that lies" "$code" 422
    is "stored after a list that lies" "$(stored)" "$before"
    # By hand; another's is not theirs to remove.
    echo text >one
    id=$(digest one)
    api PUT "/api/v1/objects/$id" -H 'Content-Type: application/octet-stream' --data-binary @one
    body='[{"file": "'$id'", "path": "one"}]'
    list=$(printf '%s' "$body" | sha256sum | cut -d' ' -f1)
    api PUT "/api/v1/snapshots/$list" -H 'Content-Type: application/octet-stream' --data-binary "$body"
    is "an upload" "$code" 200
    as "$(person bob)"
    api DELETE "/api/v1/snapshots/$list"
    as "$ann"
    [ "$(stored)" -gt "$before" ] || fail "bob removed ann's upload"
    api DELETE "/api/v1/snapshots/$list"
    is "given up" "$code" 204
    is "stored at the end" "$(stored)" "$before"
    finish
}

names_may_be_any_bytes()
{
    local id file
    start
    id=$("$TRAINYARD" job submit --wait -- 'cd /ml/output/model && python3 -c "
import os
for n in [b\"a\\nb\", b\"\\xff\\xfe\", b\"t\\tt\", b\"back\\\\slash\", b\"d\\x1b\"]:
    open(b\"./\" + n, \"wb\").write(n)
" && mkdir "d d" && echo x >"d d/\u00e4 \"q\""' | head -1)
    run "$TRAINYARD" job outputs "$id"
    status 0
    out_has 'model/a\nb'
    out_has 'model/\xff\xfe'
    out_has 'model/t\tt'
    out_has 'model/back\\slash'
    out_has 'model/d\x1b'
    run "$TRAINYARD" job outputs --json "$id"
    json '{o["path_hex"] for o in d if "path_hex" in o} == {b.hex() for b in [b"a\nb", b"\xff\xfe", b"t\tt", b"d\x1b"]}'
    json 'all(bytes.fromhex(o["path_hex"]).decode("utf-8", "replace") == o["path"] for o in d if "path_hex" in o) and len(d) == 6'
    run "$TRAINYARD" job download "$id" got
    status 0
    diff -r got/model "yard/jobs/$id/ml/output/model" >/dev/null || fail "the download differs"
    [ "$(cat "got/model/$(printf '\377\376')")" = "$(printf '\377\376')" ] || fail "no such name"
    api GET "/api/v1/jobs/$id/outputs/model?path_hex=$(printf 'a\nb' | xxd -p)"
    is "by its bytes" "$code $(cat .out)" "200 a
b"
    for file in path_hex=6 path_hex=zz path_hex=00 path_hex=2e2e2f61 'path=a&path_hex=61' ''; do
        api GET "/api/v1/jobs/$id/outputs/model?$file"
        [ "$code" = 400 ] || [ "$code" = 404 ] || fail "$file: $code"
    done
    run "$TRAINYARD" model register m --job "$id"
    [ "$got" != 0 ] || fail "a model took them"
    err_has "a name of a file that is sent or kept must be UTF-8 without control characters"
    for file in "$(printf 'x\ny')" "$(printf 'x\377')"; do
        mkdir in
        echo x >"in/$file"
        for what in --source=in --input=d=in; do
            run "$TRAINYARD" job submit $what -- true
            status 2
            err_has "error[E3004]"
            err_has "'x\\"
            err_has "must be UTF-8 without control characters; rename it"
        done
        rm -r in
    done
    body='[{"file": "'$(printf '%064d' 0)'", "path": "a\nb"}]'
    api PUT "/api/v1/snapshots/$(printf '%s' "$body" | sha256sum | cut -d' ' -f1)" \
        -H 'Content-Type: application/octet-stream' --data-binary "$body"
    is "a list with such a name" "$code" 422
    finish
}

a_restart_of_the_server_does_not_break_a_transfer()
{
    local id where
    start
    where=${url#http://}
    # restarts FILE SIZE: kills the server when FILE is that large, and starts it again a moment later.
    restarts()
    {
        for _ in $(seq 600); do [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ] && break; sleep 0.02; done
        kill -9 "$server"
        sleep 3
        "$TRAINYARD" server --listen "$where" --dir yard --experiments none --rate 100000 2>>server.log &
        echo $! >again.pid
    }
    id=$("$TRAINYARD" job submit --wait -- 'head -c 100000000 /dev/urandom >/ml/output/model/copy' | head -1)
    restarts got/model/copy.part 16000000 &
    run "$TRAINYARD" job download "$id" got
    status 0
    cmp -s "yard/jobs/$id/ml/output/model/copy" got/model/copy || fail "the download differs"
    wait $!
    server=$(cat again.pid)
    finish 2>/dev/null
    kill "$server" 2>/dev/null
}

# A server of an ordinary user cannot read what the job forbids that user, unless it says otherwise.
modes_keep_nobody_out()
{
    local id
    if [ "$(id -u)" = 0 ]; then
        mkdir own && chown 64993 own && chmod 755 .. .
        setpriv --reuid=64993 --regid=64993 --clear-groups test -x "$TRAINYARD" || skip "another user cannot run $TRAINYARD"
        setpriv --reuid=64993 --regid=64993 --clear-groups env HOME="$PWD/own" TMPDIR="$PWD/own" TY_SOURCE="$TY_SOURCE" \
            TRAINYARD="$TRAINYARD" bash "$TY_SOURCE/tests/it/storage.sh" modes_keep_nobody_out >.tap 2>.err || { fail "as an ordinary user:"; cat .tap .err >&3; }
        ! grep -q SKIP .tap || skip "$(cat .tap)"
        return
    fi
    start
    id=$("$TRAINYARD" job submit --wait -- 'cd /ml/output/model; echo secret >f; mkdir -p d/e w; echo deep >d/e/g; echo x >w/x
        ln -s /etc/passwd link; chmod 000 f d/e/g d/e d; chmod 500 w' | head -1)
    run "$TRAINYARD" job outputs --json "$id"
    json '[o["path"] for o in d] == ["d/e/g", "f", "w/x"] and all("sha256" in o for o in d)'
    run "$TRAINYARD" job download "$id" got
    status 0
    is "content" "$(cat got/model/f got/model/d/e/g)" "secret
deep"
    run "$TRAINYARD" job delete "$id"
    status 0
    [ ! -e "yard/jobs/$id" ] || fail "left: $(find "yard/jobs/$id")"
    is "a mode behind a link" "$(stat -c %a /etc/passwd)" 644
    # While it runs, too; and such a directory hides nothing from the limit of the disk.
    id=$("$TRAINYARD" job submit -- 'cd /ml/output/model; mkdir d; echo now >d/f; chmod 000 d/f d; echo up; sleep 100')
    for _ in $(seq 100); do "$TRAINYARD" job logs "$id" | grep -q up && break; sleep 0.1; done
    run "$TRAINYARD" job outputs --json "$id"
    json '[o["path"] for o in d] == ["d/f"]'
    "$TRAINYARD" job stop --force "$id" >/dev/null
    finish
}

tap_cases a_remote_user_brings_data_and_fetches_the_model uploads_are_cut_deduplicated_and_resumed \
    what_one_user_sent_is_nobody_elses a_member_of_the_project_runs_the_job_again files_are_sent_in_ranges \
    no_path_and_no_link_leads_out_of_the_outputs a_user_stores_no_more_than_allowed lists_that_lie_are_refused \
    outputs_of_an_array_are_those_of_its_jobs what_is_deleted_frees_room_at_once a_user_collects_what_is_their_own \
    what_is_refused_takes_no_room names_may_be_any_bytes modes_keep_nobody_out \
    a_restart_of_the_server_does_not_break_a_transfer
