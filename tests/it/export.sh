#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# export: a directory that is complete or absent, loads, and says what is wrong when not.
. "$(dirname "$0")/lib.sh"

# A vocabulary, a sequence with attention, batch norm and a moving average.
config()
{
    cat >c.config <<'END'
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_epochs: 1
  sparse_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} ema { decay: 0.9 } }
}
data_config { batch_size: 256 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "pid" expression: "context:pid"
  vocab_file: "pids.txt" default_bucketize_value: 0 embedding_dim: 4 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "pid", "price"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [16, 8] use_bn: true
    activation: "Dice" } } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} }
}
END
    printf 'none\n430539_1007\n430548_1007\n' >pids.txt
}

model()
{
    config
    "$TRAINYARD" data gen taobao --rows 2000 --files 1 --out data >/dev/null 2>&1
    "$TRAINYARD" train c.config >/dev/null 2>&1 || fail "training"
}

export_writes_a_directory_that_is_whole()
{
    model
    run "$TRAINYARD" export c.config --export-dir x
    status 0
    out_has "exported m/model.ckpt-7 to x"
    out_has "32 sample rows"
    run ls x
    out_has dense.safetensors
    out_has fg.json
    out_has model.onnx
    out_has pipeline.config
    out_has samples.parquet
    check "rows as JSON" [ "$(wc -l <x/samples.jsonl)" = 32 ]
    check "and outputs" [ "$(wc -l <x/samples.outputs.jsonl)" = 32 ]
    grep -q '"samples.outputs.jsonl"' x/manifest.json || fail "the manifest lacks the samples"
    out_has tables.safetensors
    out_has pids_
    run cat x/manifest.json
    json 'd["version"] == 1 and d["step"] == 7 and d["onnx"]["opset"] == 17'
    json 'd["metrics"]["global_step"] == 7 and 0 < d["metrics"]["auc"] < 1'
    json 'd["config"]["train_config"]["log_step_count_steps"] == 100'
    json '[t["dim"] for t in d["tables"]] == [8, 4]'
    json 'len(d["data"]["fingerprint"]) == 16'
    run "$TRAINYARD" check x/pipeline.config
    status 0
    check "the config names the copy" grep -q 'vocab_file: "pids_' x/pipeline.config
    [ -z "$(find . -name '*.tmp')" ] || fail "something temporary is left"
}

tables_become_smaller()
{
    model
    "$TRAINYARD" export c.config --export-dir f --table-type f32 >/dev/null
    run "$TRAINYARD" export c.config --export-dir b --table-type bf16
    status 0
    run "$TRAINYARD" export c.config --export-dir h --table-type f16
    status 0
    [ "$(stat -c %s h/tables.safetensors)" -lt "$(stat -c %s f/tables.safetensors)" ] || fail "f16 is not smaller"
    run "$TRAINYARD" predict --model h --input data/eval --output h.csv
    status 0
    run "$TRAINYARD" export c.config --export-dir i --table-type int8 --json
    status 0
    json 'd["tables"] == 2 and d["samples"] == 32'
    f=$(stat -c %s f/tables.safetensors) b=$(stat -c %s b/tables.safetensors)
    i=$(stat -c %s i/tables.safetensors)
    [ "$f" -gt "$b" ] && [ "$b" -gt "$i" ] || fail "sizes $f $b $i"
}

# Fewer bits cost more; export says how much, as an evaluation of the export finds it.
what_small_tables_cost_is_printed()
{
    model
    run "$TRAINYARD" export c.config --export-dir f
    status 0
    out_lacks "with f32 tables"
    local type
    for type in int8 int4 int2; do
        run "$TRAINYARD" export c.config --export-dir $type --table-type $type --json
        status 0
        json 'd["cost"]["metric"] == "auc" and 0.4 < d["cost"]["f32"] < 1 and d["cost"]["rows"] > 100'
        json "abs(d['cost']['$type'] - d['cost']['f32']) < 0.1"
        run "$TRAINYARD" predict --model $type --input data/eval --output $type.csv
        status 0
        run "$TRAINYARD" parity $type data/eval
        status 0
    done
    [ "$(stat -c %s int8/tables.safetensors)" -gt "$(stat -c %s int4/tables.safetensors)" ] || fail "int4 is not smaller"
    [ "$(stat -c %s int4/tables.safetensors)" -gt "$(stat -c %s int2/tables.safetensors)" ] || fail "int2 is not smaller"
    # values are within half a step of the row's range
    python3 - <<'END' || fail "values are off"
import json, struct
def tensors(d):
    with open(d + "/tables.safetensors", "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(n))
        data = f.read()
    return {k: (v, data[v["data_offsets"][0]:v["data_offsets"][1]]) for k, v in head.items() if k != "__metadata__"}
exact = tensors("f")
for bits in 4, 2:
    t = tensors(f"int{bits}")
    for name, (info, data) in exact.items():
        rows, dim = info["shape"]
        want = struct.unpack(f"<{rows * dim}f", data)
        packed, ranges = t[name][1], struct.unpack(f"<{rows * 2}e", t[f"{name}.int{bits}"][1])
        width = t[name][0]["shape"][1]
        assert width == (dim * bits + 7) // 8
        for r in range(rows):
            step, least = ranges[2 * r], ranges[2 * r + 1]
            for k in range(dim):
                at = k * bits
                code = packed[r * width + at // 8] >> at % 8 & (1 << bits) - 1
                assert abs(code * step + least - want[r * dim + k]) <= step * 0.52 + abs(least) / 2048 + 1e-6, (name, r, k)
END
    run "$TRAINYARD" export c.config --export-dir text --table-type int4
    out_has "auc 0."
    out_has ", with int4 tables 0."
    run "$TRAINYARD" export c.config --export-dir none --table-type int4 --no-cost
    status 0
    out_lacks "with int4 tables"
}

# As in TorchEasyRec, where pooled tables and those of sequences are told apart.
tables_of_sequences_have_a_type_of_their_own()
{
    "$TRAINYARD" data gen taobao --rows 1500 --out data >/dev/null 2>&1
    sed -e 's|train_input_path: .*|train_input_path: "data/train"|' -e 's|eval_input_path: .*|eval_input_path: "data/eval"|' \
        -e 's|model_dir: .*|model_dir: "m"|' "$TY_SOURCE/examples/din-taobao.config" >din.config
    run "$TRAINYARD" train din.config --set train_config.num_steps=3
    status 0
    run "$TRAINYARD" export din.config --export-dir x --table-type int8 --sequence-table-type f32
    status 0
    python3 - <<'END' || fail "types: $(grep -A1 tensor x/manifest.json)"
import json
types = {t["tensor"]: t["type"] for t in json.load(open("x/manifest.json"))["tables"]}
assert set(types.values()) == {"int8", "f32"}, types
assert all((t == "f32") == (".ec_dict" in n) for n, t in types.items()), types
END
    run "$TRAINYARD" export din.config --export-dir y --sequence-table-type int4
    status 0
    out_has ", with int4 tables 0."
    run "$TRAINYARD" parity y data/eval
    status 0
}

a_directory_that_exists_is_left_alone()
{
    model
    mkdir x && echo mine >x/file
    run "$TRAINYARD" export c.config --export-dir x
    status 2
    err_has "[E2001]"
    err_has "'x' is there already"
    [ "$(ls x)" = file ] || fail "x was changed"
}

what_cannot_be_exported_leaves_nothing()
{
    model
    run "$TRAINYARD" export c.config
    status 2
    err_has "--export-dir DIR is missing"
    run "$TRAINYARD" export c.config --export-dir x --sample-input nowhere
    err_has "[E2006]"
    err_has "nowhere"
    run "$TRAINYARD" export c.config --export-dir x --asset-files nofile
    err_has "[E2008]"
    err_has "nofile"
    run "$TRAINYARD" export c.config --export-dir x --additional-export-config '{'
    err_has "--additional-export-config"
    run "$TRAINYARD" export c.config --export-dir x --checkpoint m/model.ckpt-99
    err_has "model.ckpt-99"
    run "$TRAINYARD" export c.config --export-dir x --set 'feature_configs[0].id_feature.embedding_dim=4'
    err_has "user_id_emb.weight"
    [ ! -e x ] || fail "x exists"
    [ -z "$(find . -name '*.tmp')" ] || fail "something temporary is left"
}

# What torch makes of it is compared by tests/interop/torchscript.sh; here, what is handed to it.
a_scripted_model_needs_torch()
{
    model
    printf '#!/bin/sh\necho "no torch: none here" >&2\nexit 1\n' >bare
    printf '#!/bin/sh\ncat >program.py\n[ "$2" = --probe ] && { echo 9.8; exit 0; }\n%s\n' \
        'cp "$2"/features.safetensors seen && echo scripted >"$2"/scripted_model.pt && echo "{\"difference\": 1e-8}"' >made
    printf '#!/bin/sh\n[ "$2" = --probe ] && { echo 9.8; exit 0; }\necho "the op Odd" >&2\nexit 1\n' >odd
    chmod +x bare made odd
    run "$TRAINYARD" export c.config --export-dir x --format torchscript --python ./bare
    status 2
    err_has "error[E2018]: --format torchscript needs a Python with torch; './bare' says: no torch: none here. Name another with --python"
    run "$TRAINYARD" export c.config --export-dir x --format torchscript --python ./nowhere
    status 2
    err_has "E2018"
    err_has "./nowhere"
    run "$TRAINYARD" export c.config --export-dir x --format torchscript --python ./odd
    status 2
    err_has "error[E2019]: no scripted model (exit status 1): the op Odd"
    run "$TRAINYARD" export c.config --export-dir x --format torchscript --python ./made --sample-rows 0
    status 2
    err_has "--sample-rows must be at least 1"
    [ ! -e x ] || fail "a failed export left a directory"
    run "$TRAINYARD" export c.config --export-dir x --format torchscript --python ./made
    status 0
    out_has "scripted_model.pt by torch 9.8, scores of the sample rows within 1.0e-08"
    check "the program is the one of python/" cmp program.py "$TY_SOURCE/python/trainyard_torchscript.py"
    check "features are there" grep -q 'pid.lengths' seen
    run "$TRAINYARD" predict --model x --input data/eval --output p.csv
    status 0
    run cat x/manifest.json
    json '{"scripted_model.pt", "features.safetensors"} <= {f["name"] for f in d["files"]}'
}

without_data_there_are_no_samples()
{
    model
    rm -r data
    run "$TRAINYARD" export c.config --export-dir x --sample-rows 0
    status 0
    out_has "0 sample rows"
}

a_full_disk_leaves_nothing()
{
    model
    (
        trap "" XFSZ
        ulimit -f 16
        "$TRAINYARD" export c.config --export-dir x >.out 2>.err
        echo $? >rc
    )
    [ "$(cat rc)" = 1 ] || fail "exit status $(cat rc)"
    err_has "File too large"
    [ ! -e x ] || fail "x exists"
}

tap_cases export_writes_a_directory_that_is_whole tables_become_smaller what_small_tables_cost_is_printed \
    tables_of_sequences_have_a_type_of_their_own \
    a_directory_that_exists_is_left_alone what_cannot_be_exported_leaves_nothing \
    a_scripted_model_needs_torch without_data_there_are_no_samples a_full_disk_leaves_nothing
