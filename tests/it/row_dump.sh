#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# delta_embedding_dump_config: files of the embedding rows that training came across.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

# dumping DIR CONF [ARGS]
dumping()
{
    local dir=$1 conf=$2
    shift 2
    trained "$dir" --set "train_config.delta_embedding_dump_config={$conf}" "$@"
}

# keyed: the same config, one table with zch and one with dynamicemb, both too small.
keyed()
{
    sed -i 's/hash_bucket_size: 1000 /zch { zch_size: 60 eviction_interval: 2 lfu {} } /
        s/hash_bucket_size: 500 /dynamicemb { max_capacity: 40 bucket_capacity: 8 } /' c.config
}

# All rows of all dumps in the order of steps, a JSON object each.
rows_of()
{
    local f
    for f in $(find "$1" -name '*.parquet' | sort -t_ -k"${2:-5}" -V); do
        "$TRAINYARD" data convert "$f" rows.jsonl >/dev/null 2>&1 || fail "cannot read $f"
        cat rows.jsonl && rm rows.jsonl
    done
}

every_row_that_was_trained_is_in_the_last_file_that_has_it()
{
    config && data
    dumping m "dump_interval_steps: 4"
    status 0
    run ls m/delta_embedding_dump
    out_is <<'END'
delta_embedding_step_12.parquet
delta_embedding_step_16.parquet
delta_embedding_step_20.parquet
delta_embedding_step_21.parquet
delta_embedding_step_4.parquet
delta_embedding_step_8.parquet
END
    rows_of m/delta_embedding_dump >all
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import glob, json, struct
rows = [json.loads(l) for l in open('all')]
assert sorted({r['global_step'] for r in rows}) == [4, 8, 12, 16, 20, 21]
assert {(r['rank'], r['world_size'], r['source']) for r in rows} == {(0, 1, 'model_delta_tracker')}
latest = {}
for r in rows:
    latest[r['table_fqn'], r['key_id']] = r['embedding']
assert len(rows) > len(latest) > 100, (len(rows), len(latest))
names = {(r['feature_name'], r['table_fqn'].split('.')[-1]) for r in rows}
assert names == {(f, f + s) for f in ('user_id', 'cate_id') for s in ('_emb', '_emb_wide')} | {('price', 'price_emb')}, names
def tensors(path):
    b = open(path, 'rb').read()
    n = struct.unpack('<Q', b[:8])[0]
    return {k: (v['shape'], b[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]])
            for k, v in json.loads(b[8:8 + n]).items() if k != '__metadata__'}
model, state = {}, {}
for f in glob.glob('m/model.ckpt-21/model-*.safetensors'):
    model.update(tensors(f))
for f in glob.glob('m/model.ckpt-21/state-*.safetensors'):
    state.update(tensors(f))
assert not [k for k in state if k.endswith('.touched')], list(state)
checked = 0
for table in {r['table_fqn'] for r in rows}:
    (n, dim), data = model[table + '.weight']
    used = state[table + '.weight.used'][1]
    for row in range(n):
        is_used = used[row // 8] >> row % 8 & 1
        assert bool(is_used) == ((table, row) in latest), (table, row)
        if is_used:
            want = struct.unpack(f'<{dim}f', data[row * dim * 4:(row + 1) * dim * 4])
            got = [struct.unpack('<f', struct.pack('<f', x))[0] for x in latest[table, row]]
            assert list(want) == got, (table, row)
            checked += 1
assert checked == len(latest)
PY
}

# Ended without warning between and within dumps, the files are those of a run in one go.
files_do_not_depend_on_where_a_run_was_ended()
{
    config && keyed && data
    dumping a "dump_interval_steps: 3" --set train_config.save_checkpoints_steps=2
    status 0
    RANDOM=${SEED:-$$}
    echo "# seed $RANDOM" >&3
    for _ in $(seq 8); do
        "$TRAINYARD" train c.config --model-dir b --continue --threads $((1 + RANDOM % 3)) \
            --set "train_config.delta_embedding_dump_config={dump_interval_steps: 3}" \
            --set train_config.save_checkpoints_steps=2 >/dev/null 2>&1 &
        pid=$!
        sleep "0.$((RANDOM % 20 + 10))"
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
    done
    dumping b "dump_interval_steps: 3" --set train_config.save_checkpoints_steps=2 --continue
    status 0
    same_checkpoint a/model.ckpt-20 b/model.ckpt-20
    # whoever is killed within a dump leaves what it had written under a hidden name
    diff -r -x '.ty-*' a/delta_embedding_dump b/delta_embedding_dump >difference || { fail "dumps differ:"; show difference; }
    [ "$(find a/delta_embedding_dump -name '*.parquet' | wc -l)" = 7 ] || fail "$(ls a/delta_embedding_dump)"
    # a checkpoint between two dumps knows what is due; without dumps nobody asks
    grep -aq 'user_id_emb.weight.touched' a/model.ckpt-20/state-* || fail "no touched ids in a checkpoint"
    trained b --continue --set train_config.num_steps=23
    status 0
}

# Ids of zch that have no row read that of all strangers; they and those that lost theirs
# are told, too. Of dynamicemb only ids with a row are.
ids_without_a_row_read_the_shared_one()
{
    config && keyed && data
    dumping m "dump_interval_steps: 100"
    status 0
    rows_of m/delta_embedding_dump >all
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import collections, json
rows = [json.loads(l) for l in open('all')]
zch = [r for r in rows if r['table_fqn'].endswith('.user_id_emb')]
grown = [r for r in rows if r['table_fqn'].endswith('.cate_id_emb')]
assert max(r['key_id'] for r in zch) > 1 << 40  # ids, not numbers of rows
seen = collections.Counter(tuple(r['embedding']) for r in zch)
(_, most), (_, next_) = seen.most_common(2)
assert next_ == 1 and len(seen) == 60 and most == len(zch) - 59, (len(seen), len(zch), most)
assert len(grown) == 40, len(grown)
PY
}

rows_in_bytes_come_back_near()
{
    config && data
    dumping f "" --set train_config.num_steps=9
    dumping q "quant_type: DELTA_EMBEDDING_QUANT_INT8 file_prefix: \"part\"" \
        --set train_config.num_steps=9
    status 0
    rows_of f/delta_embedding_dump >floats
    rows_of q/delta_embedding_dump 4 >bytes
    [ -f q/delta_embedding_dump/part_step_8.parquet ] || fail "$(ls q/delta_embedding_dump)"
    python3 - <<'PY' >.out 2>&1 || fail "$(cat .out)"
import json, struct
pairs = list(zip(*[[json.loads(l) for l in open(f)] for f in ('floats', 'bytes')]))
assert len(pairs) > 500
for w, q in pairs:
    assert (w['table_fqn'], w['key_id']) == (q['table_fqn'], q['key_id'])
    values, tail = q['embedding'][:-4], bytes(q['embedding'][-4:])
    scale, offset = struct.unpack('<2e', tail)
    assert len(values) == len(w['embedding'])
    assert all(abs(v * scale + offset - x) <= 0.6 * scale for v, x in zip(values, w['embedding'])), (w, q)
PY
}

a_directory_and_minutes_can_be_named()
{
    config && data
    dumping m 'dump_interval_minutes: 10 output_dir: "out/here"'
    status 0
    run find out m/delta_embedding_dump -type f
    out_is <<'END'
out/here/delta_embedding_step_21.parquet
END
}

what_cannot_be_dumped_is_refused_before_training()
{
    config && data
    sed -i 's/embedding_dim: 8/embedding_dim: 7/' c.config
    dumping m "quant_type: DELTA_EMBEDDING_QUANT_INT8"
    status 2
    err_has "error[E1409]: "
    err_has "quant_type INT8 needs an even embedding_dim, and table 'model.embedding_group"
    err_has "user_id_emb.weight' has 7"
    touch file
    dumping m 'output_dir: "file/below"'
    status 1
    err_has "delta_embedding_dump_config: "
    err_has "cannot make directory 'file'"
    [ -d m/model.ckpt-5 ] && fail "it was trained all the same"
    true
}

tap_cases every_row_that_was_trained_is_in_the_last_file_that_has_it \
    files_do_not_depend_on_where_a_run_was_ended ids_without_a_row_read_the_shared_one \
    rows_in_bytes_come_back_near a_directory_and_minutes_can_be_named \
    what_cannot_be_dumped_is_refused_before_training
