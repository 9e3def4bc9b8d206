#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Embedding tables from a config: keyed by ids, in halves, on disk, and in checkpoints.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

# config OPTIMIZER: four tables of different kinds over generated clicks.
config()
{
    cat >c.config <<END
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_epochs: 2 save_checkpoints_steps: 5 log_step_count_steps: 5
  sparse_optimizer { $1 constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  embedding_dim: 8 zch { zch_size: 300 eviction_interval: 2 distance_lfu {}
    threshold_filtering_func: "lambda x: (x > 1, 1)" } } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id"
  embedding_dim: 8 dynamicemb { max_capacity: 200 score_strategy: "LFU" bucket_capacity: 16
    initializer_args { mode: "TRUNCATED_NORMAL" std_dev: 0.1 lower: -0.1 upper: 0.15 }
    frequency_admission_strategy { threshold: 2 } } } }
feature_configs { id_feature { feature_name: "adgroup_id" expression: "item:adgroup_id"
  embedding_dim: 8 hash_bucket_size: 100000 data_type: "FP16" } }
feature_configs { id_feature { feature_name: "brand" expression: "item:brand"
  embedding_dim: 8 hash_bucket_size: 100000 init_fn: "nn.init.normal_,std=0.02" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP
    feature_names: ["user_id", "cate_id", "adgroup_id", "brand"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [16, 8] } } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
}
adagrad='adagrad_optimizer { lr: 0.05 }'

data()
{
    "$TRAINYARD" data gen taobao --rows 3000 --files 2 --out data >/dev/null 2>&1
}

trained()
{
    run "$TRAINYARD" train c.config --model-dir "$@"
    status 0
}

tables_of()
{
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1] + "/manifest.json"))["state"]["tables"])' "$1"
}

same_tables()
{
    same_checkpoint "$1" "$2"
    cmp -s <(tables_of "$1") <(tables_of "$2") || fail "what is known of the tables differs"
}

a_run_that_is_continued_ends_with_the_same_bytes()
{
    config "$adagrad" && data
    trained a --threads 1
    trained b --threads 3 --set train_config.num_steps=13
    rm -rf b/model.ckpt-12 # now at step 10
    trained b --threads 2 --continue
    same_tables a/model.ckpt-21 b/model.ckpt-21
    cmp -s <(tail -n 1 a/train_eval_result_v2.txt) <(tail -n 1 b/train_eval_result_v2.txt) ||
        fail "results differ"
    run "$TRAINYARD" eval c.config --model-dir a --json
    status 0
    cmp -s .out <(tail -n 1 a/train_eval_result_v2.txt | sed 's/, "eval_data": "[0-9a-f]*"//') || fail "eval differs from training"
}

checkpoints_hold_what_training_touched()
{
    config "$adagrad" && data
    trained a
    run "$TRAINYARD" params --json a
    status 0
    json '[t["dtype"] for t in d["tensors"] if t["name"].endswith("adgroup_id_emb.weight.rows") and t["part"] == "model"] == ["F16"]'
    json 'all(t["shape"][0] < 3000 for t in d["tensors"])'
    [ "$(du -sk a/model.ckpt-21 | cut -f1)" -lt 1000 ] || fail "$(du -sk a/model.ckpt-21)"
}

another_table_is_not_taken_for_this_one()
{
    config "$adagrad" && data
    trained a --set train_config.num_steps=3
    run "$TRAINYARD" train c.config --model-dir a --continue \
        --set 'feature_configs[0].id_feature.zch.zch_size=301'
    status 2
    err_has "user_id_emb.weight' follows another zch or dynamicemb block"
    run "$TRAINYARD" train c.config --model-dir b \
        --set 'feature_configs[1].id_feature.dynamicemb.score_strategy=CUSTOMIZED'
    status 2
    err_has "feature 'cate_id': score_strategy CUSTOMIZED is not supported"
}

# A table of 256 MB where a process may have 200: in files it goes, with the same result.
tables_larger_than_memory_lie_in_files()
{
    (ulimit -d 204800 && "$TRAINYARD" version >/dev/null 2>&1) ||
        skip "a program with sanitizers does not start under a limit of memory"
    config "$adagrad" && data && mkdir disk
    local large=(--set 'feature_configs[3].id_feature.hash_bucket_size=4000000'
        --set train_config.num_steps=5)
    trained a "${large[@]}"
    (
        ulimit -d 204800
        run "$TRAINYARD" train c.config --model-dir b --threads 2 "${large[@]}"
        status 2
        err_has "brand_emb.weight' of 4000000 rows: no memory for 256000000 bytes"
        run "$TRAINYARD" train c.config --model-dir c --threads 2 --table-dir disk "${large[@]}"
        status 0
        run "$TRAINYARD" eval c.config --model-dir c --threads 2 --table-dir disk --json \
            --set 'feature_configs[3].id_feature.hash_bucket_size=4000000'
        status 0
        cmp -s .out <(tail -n 1 c/train_eval_result_v2.txt | sed 's/, "eval_data": "[0-9a-f]*"//') || fail "eval differs from training"
    )
    same_tables a/model.ckpt-4 c/model.ckpt-4
    [ -z "$(ls disk)" ] || fail "files are left behind: $(ls disk)"
    run "$TRAINYARD" train c.config --model-dir d --table-dir nowhere
    status 2
    err_has "bytes in 'nowhere': No such file or directory"
}

# Training that moves nothing leaves the initial values, which Python works out as well.
python_knows_first_values()
{
    local python
    for python in python3 /usr/bin/python3 none; do
        "$python" -c 'import numpy' 2>/dev/null && break
    done
    [ "$python" = none ] && skip "no Python here has numpy"
    config 'sgd_optimizer { lr: 0 }' && data
    trained a --set train_config.num_steps=3
    cat >first.py <<'END'
import numpy as np, trainyard_ckpt as tc
c = tc.Checkpoint('a')
n = 0
for name, fact in c.state['tables'].items():
    ids, rows = c.rows(name)
    first = tc._as_stored(c.kinds[name + '.rows'], tc.first_values(fact['first'], ids, rows.shape[1]))
    assert len(ids) and first.tobytes() == np.asarray(rows, np.float32).tobytes(), (name, first[0], rows[0])
    if name + '.row_ids' in c:
        whole, used = c[name], c.used(name)
        assert whole.shape == (100000, 8) and used.sum() == len(ids) and len(np.unique(whole[:, 0])) > 1000
        assert (whole[ids] == rows).all()
        n += 1
print('tables', len(c.state['tables']), 'listed', n)
END
    PYTHONPATH=$TY_SOURCE/python run "$python" first.py
    status 0
    out_is <<'END'
tables 4 listed 2
END
}

# weights CHECKPOINT TABLE [LIST]: its ids and rows, or what LIST holds of them, as JSON, sorted by id.
weights()
{
    python3 - "$@" <<'END'
import json, struct, sys
m = json.load(open(sys.argv[1] + "/manifest.json"))
def read(name, code, size):
    t = m["tensors"][name]
    with open(sys.argv[1] + "/" + m["files"][t["file"]]["name"], "rb") as f:
        f.seek(t["offset"])
        n = 1
        for d in t["shape"]: n *= d
        return struct.unpack(f"<{n}{code}", f.read(n * size))
name = next(k[:-5] for k in m["tensors"] if k.endswith(sys.argv[2] + "_emb.weight.keys"))
keys, rows = read(name + ".keys", "q", 8), read(name + ".rows", "f", 4)
if len(sys.argv) > 3:
    print(json.dumps(sorted(zip(keys, read(name + "." + sys.argv[3], "q", 8)))))
    sys.exit()
dim = m["tensors"][name + ".rows"]["shape"][1]
print(json.dumps(sorted([k, [round(v, 5) for v in rows[i * dim:(i + 1) * dim]]] for i, k in enumerate(keys))))
END
}

init_tables_are_what_a_run_starts_from()
{
    config "sgd_optimizer { lr: 0 }" && data
    sed -i 's/dynamicemb { max_capacity: 200/dynamicemb { init_table: "init.csv" max_capacity: 20000/
        s/frequency_admission_strategy { threshold: 2 }//' c.config
    "$TRAINYARD" data convert --columns cate_id data/train ids.csv 2>/dev/null
    # a vector for every id of the data, one of them twice
    awk -F, 'NR > 1 { if (!seen[$1]++) print $1 "," $1 % 7 ";1;2;3;4;5;6;0.5"; last = $1 }
        END { print last ",9;9;9;9;9;9;9;9" }' ids.csv >rows
    { echo "id,vector"; cat rows; } >init.csv
    run "$TRAINYARD" check c.config
    out_has "a run does not read it: \`trainyard tables init\` makes a checkpoint of it for --fine-tune"
    run "$TRAINYARD" tables init c.config --save-dir start --separator ';'
    status 0
    local n
    n=$(sort -u -t, -k1,1 rows | wc -l)
    out_has "cate_id_emb.weight: $n ids of at most 20000, init.csv; 1 rows were replaced by later ones of the same id"
    out_has "next: trainyard train c.config --fine-tune start/model.ckpt-0"
    run "$TRAINYARD" train c.config --model-dir m --fine-tune start/model.ckpt-0
    status 0
    # nothing was learnt: every id was known under the same key
    weights start/model.ckpt-0 cate_id >want
    weights m/model.ckpt-21 cate_id >got
    cmp -s want got || fail "the rows differ: $(cut -c1-300 want got)"
    grep -q '9.0, 9.0, 9.0' got || fail "the last row of an id does not count"
    run "$TRAINYARD" tables init c.config --save-dir start --separator ';'
    status 2
    err_has "error[E0008]: output 'start/model.ckpt-0' exists; name another one, or say --overwrite"
    run "$TRAINYARD" tables init c.config --save-dir start2
    status 2
    err_has "error[E2308]: init_table 'init.csv': row 1: its second column is not a vector of 8 numbers"
    sed 's/init_table: "init.csv"//' c.config >none.config
    run "$TRAINYARD" tables init none.config --save-dir start3
    status 2
    err_has "error[E2307]: no feature has a dynamicemb block with init_table"
}

zch_tables_become_dynamic_ones()
{
    config "$adagrad" && data
    trained a --set train_config.num_steps=12
    python3 - <<'END'
import re
s = open("c.config").read()
s = re.sub(r'zch \{.*?"lambda x: \(x > 1, 1\)" \}', 'dynamicemb { max_capacity: 5000 score_strategy: "LFU" }', s, flags=re.S)
open("new.config", "w").write(s)
END
    run "$TRAINYARD" tables from-zch a --config new.config --save-dir start
    status 0
    out_has "user_id_emb.weight: 84 ids of at most 5000, with scores"
    python3 - <<'END' || fail "not what the checkpoint had"
import json
m, old = (json.load(open(d + "/manifest.json")) for d in ("start/model.ckpt-0", "a/model.ckpt-11"))
name = next(k for k in old["tensors"] if k.endswith("user_id_emb.weight.rows"))
assert old["tensors"][name]["shape"] == [85, 8] and m["tensors"][name]["shape"] == [84, 8]
assert name.replace(".rows", ".counts") in m["tensors"]
other = lambda t: {k: v["checksum"] for k, v in t["tensors"].items() if "user_id" not in k}
assert other(m) == other(old), "other tensors"
END
    run "$TRAINYARD" train new.config --model-dir b --fine-tune start/model.ckpt-0 \
        --set train_config.num_steps=1 --set 'train_config.sparse_optimizer.adagrad_optimizer.lr=0'
    status 0
    weights a/model.ckpt-11 user_id >old
    weights b/model.ckpt-0 user_id >new
    python3 -c 'import json
old, new = (dict(json.load(open(f))) for f in ("old", "new"))
assert len(old) == 84 and all(new[k] == v for k, v in old.items())' || fail "rows are not those of before"
    weights a/model.ckpt-11 user_id counts >old
    weights b/model.ckpt-0 user_id counts >new
    python3 -c 'import json
old, new = (dict(json.load(open(f))) for f in ("old", "new"))
assert sum(old.values()) > 100 and all(new[k] >= v for k, v in old.items())' || fail "counts are not those of before"
    run "$TRAINYARD" tables from-zch a --config c.config --save-dir start2
    status 2
    err_has "error[E2309]: no table is zch in the checkpoint and dynamicemb in the config"
    sed 's/embedding_dim: 8 dynamicemb { max_capacity: 5000/embedding_dim: 4 dynamicemb { max_capacity: 5000/' new.config >four.config
    run "$TRAINYARD" tables from-zch a --config four.config --save-dir start2
    status 2
    err_has "has rows of 8 in the checkpoint and of 4 in the config"
}

tap_cases a_run_that_is_continued_ends_with_the_same_bytes \
    checkpoints_hold_what_training_touched another_table_is_not_taken_for_this_one \
    tables_larger_than_memory_lie_in_files python_knows_first_values \
    init_tables_are_what_a_run_starts_from zch_tables_become_dynamic_ones
