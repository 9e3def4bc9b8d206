#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What check takes, train takes; what train refuses, check refuses: odd values of every field of
# data_config, train_config, eval_config, export_config, optimizers, schedules and features.
. "$(dirname "$0")/lib.sh"

rows()
{
    python3 - <<'PY'
import json
header = 'uid,cat,price,clk\n'
with open('t.jsonl', 'w') as rows, open('t.csv', 'w') as csv, open('bare.csv', 'w') as bare:
    csv.write(header)
    for i in range(40):
        rows.write(json.dumps({
            'uid': i % 7, 'cat': str(i % 5), 'price': i / 3, 'text': 'a\x1db' if i % 2 else 'b\x1dc',
            'm': 'a:1\x1db:2', 'k': 'ab'[i % 2], 'nm': 'a^1:2,2:3|b^1:4', 'many': '1,2,3',
            'mask': 'true,false,true', 'clk': float(i % 3 == 0)}) + '\n')
        line = '%d,%d,%g,%g\n' % (i % 7, i % 5, i / 3, float(i % 3 == 0))
        csv.write(line)
        bare.write(line)
PY
    "$TRAINYARD" data convert t.jsonl t.parquet 2>/dev/null
}

check_and_train_agree_on_odd_values_of_every_field()
{
    rows
    python3 "$TY_SOURCE/tests/it/check_train.py" "$TRAINYARD" "$TY_SOURCE/docs/reference/pipeline.md" >report || {
        fail "check and train differ"
        cut -c1-300 report | head -30 | sed 's/^/# /' >&3
    }
    [ "$(sed -n '1s/ .*//p' report)" -gt 1000 ] || fail "$(head -1 report)"
}

columns_without_names_are_named_by_the_first_line()
{
    rows
    cat >c.config <<'END'
train_input_path: "t.csv" eval_input_path: "t.csv" model_dir: "m"
train_config { num_steps: 2 sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 8 dataset_type: CsvDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "u" expression: "user:uid" embedding_dim: 4 hash_bucket_size: 10 } }
model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: ["u"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [4] } } final { hidden_units: 4 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
    run "$TRAINYARD" check c.config
    status 0
    out_has "the first line of each file is taken as the names of the columns"
    run "$TRAINYARD" train c.config
    status 0
    err_has "done        multi_tower after 2 steps"
}

tap_cases columns_without_names_are_named_by_the_first_line check_and_train_agree_on_odd_values_of_every_field
