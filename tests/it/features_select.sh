#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# features select: what variational dropout has learnt, and a config without the rest.
. "$(dirname "$0")/lib.sh"

# The label follows from a and b; c to e are noise. d is what f reads, g groups a metric.
make_config()
{
    python3 - <<'EOF'
import random
r = random.Random(3)
for part, n in (("train", 8000), ("eval", 1000)):
    with open(part + ".csv", "w") as out:
        out.write("y,a,b,c,d,e,g\n")
        for _ in range(n):
            row = [r.randrange(8) for _ in range(6)]
            y = int(r.random() < (0.9 if (row[0] % 2) ^ (row[1] % 3 == 0) else 0.1))
            out.write(",".join(map(str, [y] + row)) + "\n")
EOF
    {
        echo 'train_input_path: "train.csv" eval_input_path: "eval.csv" model_dir: "m"
train_config { num_epochs: 6
 sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }
 dense_optimizer { adam_optimizer { lr: 0.02 } constant_learning_rate {} } }
data_config { batch_size: 128 dataset_type: CsvDataset with_header: true fg_mode: FG_DAG label_fields: "y" }'
        for f in a b c d e g; do
            echo "feature_configs { id_feature { feature_name: '$f' expression: 'user:$f' num_buckets: 8 embedding_dim: 4 } }"
        done
        echo 'feature_configs { raw_feature { feature_name: "h" expression: "user:c" } }
feature_configs { expr_feature { feature_name: "f" expression: "h + 1" variables: "feature:h" } }
model_config {
 feature_groups { group_name: "all" group_type: DEEP feature_names: ["a", "b", "c", "d", "e", "g", "f", "h"] }
 variational_dropout { regularization_lambda: 0.5 }
 multi_tower { towers { input: "all" mlp { hidden_units: [16] } } final { hidden_units: [8] } }
 losses { binary_cross_entropy {} }
 metrics { grouped_auc { grouping_key: "g" } } }'
    } >c.config
}

the_best_stay()
{
    make_config
    run "$TRAINYARD" train c.config
    status 0
    run "$TRAINYARD" features select c.config --topk 2 --output-dir slim --clear-variational-dropout --json
    status 0
    json '[f["feature_name"] for f in d["groups"]["all"] if f["kept"]] in (["a", "b"], ["b", "a"])'
    json '[f["mean_drop_p"] for f in d["groups"]["all"]] == sorted(f["mean_drop_p"] for f in d["groups"]["all"])'
    json 'd["removed"] == 5 and d["output_dir"] == "slim"' # g groups a metric, f and h go together
    run head -n 1 slim/feature_dropout_ratio_all.csv
    out_is <<<"feature_name,mean_drop_p"
    run wc -l slim/feature_dropout_ratio_all.csv
    out_has "9 "
    run "$TRAINYARD" check slim/c.config
    status 0
    out_has "3 features, model multi_tower"
    out_lacks "variational"
    run "$TRAINYARD" train slim/c.config --model-dir m2 --set train_config.num_epochs=1
    status 0
    run "$TRAINYARD" features select c.config --topk 3 --output-dir other
    status 0
    out_has "group all: 3 of 8 stay"
    out_has "written to other"
}

what_is_read_stays()
{
    make_config
    sed -i 's/"f", "h"\]/"f"]/' c.config
    run "$TRAINYARD" train c.config --set train_config.num_epochs=1
    status 0
    run "$TRAINYARD" features select c.config --topk 7
    status 0
    run "$TRAINYARD" check m/feature_selection/c.config
    status 0
    out_has "8 features" # h is read by f
}

nothing_learnt_is_said()
{
    make_config
    sed -i '/variational_dropout/d' c.config
    run "$TRAINYARD" train c.config --set train_config.num_epochs=1
    status 0
    run "$TRAINYARD" features select c.config
    status 2
    err_has "error[E1510]: checkpoint 'm/model.ckpt-62' has learnt nothing about leaving features out: train with variational_dropout {} in model_config"
    run "$TRAINYARD" features select c.config --model-dir nowhere
    [ "$got" != 0 ] || fail "no checkpoint is no failure"
    err_has "E1504"
}

other_features_are_said()
{
    make_config
    run "$TRAINYARD" train c.config --set train_config.num_epochs=1
    status 0
    sed -i 's/"f", "h"\]/"f"]/' c.config
    run "$TRAINYARD" features select c.config
    status 2
    err_has "'model.group_variational_dropouts.all.feature_p' is about 8 features, and group 'all' has 7"
}

fg_json_is_written_with_its_vocabularies()
{
    printf 'a\nb\n' >words.txt
    cat >f.config <<'END'
train_input_path: "a" model_dir: "m"
train_config { num_epochs: 1 sparse_optimizer { sgd_optimizer { lr: 0.5 } constant_learning_rate {} } dense_optimizer { sgd_optimizer { lr: 0.1 } constant_learning_rate {} } }
data_config { dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "u" expression: "user:u" hash_bucket_size: 50 embedding_dim: 4 } }
feature_configs { id_feature { feature_name: "w" expression: "item:w" vocab_file: "words.txt" default_bucketize_value: 0 embedding_dim: 4 } }
model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: ["u", "w"] }
  multi_tower { towers { input: "deep" mlp { hidden_units: [4] } } final { hidden_units: 2 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
END
    run "$TRAINYARD" features fg-json f.config
    status 0
    json '[f["feature_name"] for f in d["features"]] == ["u", "w"] and d["features"][0]["hash_bucket_size"] == 50 and "reserves" not in d'
    run "$TRAINYARD" features fg-json f.config --output-dir fg --reserves 'clk, id' --remove-bucketizer
    status 0
    cp fg/fg.json .out
    json 'd["reserves"] == ["clk", "id"] and not any("hash_bucket_size" in f or "vocab_file" in f for f in d["features"])'
    run "$TRAINYARD" features fg-json f.config --output-dir fg
    status 2
    run "$TRAINYARD" features fg-json f.config --output-dir fg --overwrite
    status 0
    name=$(python3 -c 'import json; print(json.load(open("fg/fg.json"))["features"][1]["vocab_file"])')
    cmp -s "fg/$name" words.txt || fail "the vocabulary '$name' is not there"
}

tap_cases the_best_stay what_is_read_stays nothing_learnt_is_said other_features_are_said \
    fg_json_is_written_with_its_vocabularies
