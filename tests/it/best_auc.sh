#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every model reaches, within 0.01, the best AUC that its data allows: labels are drawn from
# probabilities that the script knows. bench/quality does the same on larger logs.
. "$(dirname "$0")/lib.sh"

where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT

# An effect of each value, one of two values together, and (but for the third label) one of how
# much of the history is like the item. Leaves the AUC of the true probabilities over the eval
# rows in $best.
data()
{
    (cd "$where" && mkdir train eval && python3 - >best) <<'END'
import bisect, math, random
r = random.Random(5)
single = [[r.gauss(0, .7) for _ in range(5)] for _ in range(4)]
pair = [[r.gauss(0, 1) for _ in range(5)] for _ in range(5)]
kind = [k % 3 for k in range(9)]
def rows(path, n):
    probs = []
    with open(path, 'w') as f:
        f.write('y0,y1,y2,f0,f1,f2,f3,h\n')
        for _ in range(n):
            x = [r.randrange(5) for _ in range(4)]
            h = [r.randrange(1, 9) for _ in range(r.randrange(1, 5))]
            like = sum(kind[k] == kind[x[3]] for k in h) / len(h)
            odds = sum(s[v] for s, v in zip(single, x)) + pair[x[0]][x[1]]
            with_h = odds + 1.5 * (like - .4)
            p = [1 / (1 + math.exp(-o)) for o in (with_h, single[2][x[2]] - .5 * with_h, odds)]
            y = [int(r.random() < q) for q in p]
            probs.append((p, y))
            f.write(','.join(map(str, y + x)) + ',' + ';'.join(map(str, h)) + '\n')
    return probs
def auc(scored):
    scored.sort()
    wins = seen = 0
    for _, y in scored:
        wins, seen = (wins + seen, seen) if y else (wins, seen + 1)
    return wins / seen / (len(scored) - seen)
rows('train/a.csv', 40000)
e = rows('eval/a.csv', 10000)
print(*(f'{auc([(p[i], y[i]) for p, y in e]):.6f}' for i in range(3)))
END
    read -ra best <"$where/best"
}

# config LABELS GROUPS MODEL
config()
{
    local i features=
    for i in 0 1 2 3; do
        features+="feature_configs { id_feature { feature_name: \"f$i\" expression: \"item:f$i\"
          num_buckets: 5 embedding_dim: 8 init_fn: \"nn.init.normal_,std=0.5\"
          embedding_name: \"e$i\" } }
"
    done
    cat >c.config <<END
train_input_path: "$where/train/*.csv" eval_input_path: "$where/eval/*.csv" model_dir: "m"
train_config { num_epochs: 6 save_checkpoints_epochs: 6 save_checkpoints_steps: 0
  use_tensorboard: false
  sparse_optimizer { adam_optimizer { lr: 0.003 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.003 } constant_learning_rate {} } }
data_config { batch_size: 256 dataset_type: CsvDataset with_header: true fg_mode: FG_DAG $1 }
$features
feature_configs { sequence_id_feature { feature_name: "h" expression: "user:h" sequence_length: 8
  sequence_delim: ";" num_buckets: 9 embedding_dim: 8 init_fn: "nn.init.normal_,std=0.5" } }
model_config { $2
  $3 }
END
}

deep='feature_groups { group_name: "deep" group_type: DEEP feature_names: ["f0", "f1", "f2", "f3"]
  sequence_groups { group_name: "s" feature_names: ["f3", "h"] }
  sequence_encoders { din_encoder { input: "s" attn_mlp { hidden_units: 32 } } } }'
wide='feature_groups { group_name: "wide" group_type: WIDE feature_names: ["f0", "f1", "f2", "f3"] }'
fm='feature_groups { group_name: "fm" group_type: DEEP feature_names: ["f0", "f1", "f2", "f3"] }'
one='losses { binary_cross_entropy {} } metrics { auc {} }'

# reaches KEY BEST
reaches()
{
    run "$TRAINYARD" train c.config
    status 0
    tail -n 1 m/train_eval_result_v2.txt >.out
    json "$2 - d[\"$1\"] < 0.01"
    json "d[\"$1\"] < $2 + 0.005"
}

single() # GROUPS MODEL
{
    config 'label_fields: "y0"' "$1" "$2 $one"
    reaches exact_auc "${best[0]}"
}

multi_tower() { single "$deep" 'multi_tower { towers { input: "deep" mlp { hidden_units: [64, 32] } } final { hidden_units: 32 } }'; }
wide_and_deep() { single "$wide $deep" 'wide_and_deep { deep { hidden_units: [64, 32] } }'; }
deepfm() { single "$wide $deep $fm" 'deepfm { deep { hidden_units: [64, 32] } }'; }
dcn_v1() { single "$deep" 'dcn_v1 { cross { cross_num: 2 } deep { hidden_units: [64, 32] } final { hidden_units: 32 } }'; }
dcn_v2() { single "$deep" 'dcn_v2 { backbone { hidden_units: 32 } cross { cross_num: 2 low_rank: 16 } deep { hidden_units: [64, 32] } final { hidden_units: 32 } }'; }
# This model takes no history.
dlrm()
{
    config 'label_fields: "y2"' \
        'feature_groups { group_name: "sparse" group_type: DEEP feature_names: ["f0", "f1", "f2", "f3"] }' \
        "dlrm { final { hidden_units: [64, 32] } } $one"
    reaches exact_auc "${best[2]}"
}
multi_tower_din()
{
    single 'feature_groups { group_name: "deep" group_type: DEEP feature_names: ["f0", "f1", "f2", "f3"] }
      feature_groups { group_name: "seq" group_type: SEQUENCE feature_names: ["f3", "h"] }' \
        'multi_tower_din { towers { input: "deep" mlp { hidden_units: [64, 32] } }
          din_towers { input: "seq" attn_mlp { hidden_units: 32 } } final { hidden_units: [64, 32] } }'
}
mmoe()
{
    local tower='losses { binary_cross_entropy {} } metrics { auc {} } mlp { hidden_units: 16 }'
    config 'label_fields: "y0" label_fields: "y1"' "$deep" "mmoe { expert_mlp { hidden_units: [64, 32] } num_expert: 3
      task_towers { tower_name: \"a\" label_name: \"y0\" $tower }
      task_towers { tower_name: \"b\" label_name: \"y1\" $tower } }"
    reaches exact_auc_a "${best[0]}"
    json "${best[1]} - d[\"exact_auc_b\"] < 0.01"
}

data
tap_cases multi_tower wide_and_deep deepfm dcn_v1 dcn_v2 dlrm multi_tower_din mmoe
