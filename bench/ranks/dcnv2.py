# SPDX-License-Identifier: Apache-2.0
"""The shape of DLRM-DCNv2 as MLPerf trains it, for `trainyard train`: a config and random rows.

13 numbers, 26 tables of 128 columns, 214 ids a row, three cross layers of rank 512, layers of 1024, 1024, 512, 256
behind them; products in bfloat16. Tables are cut to `most` rows. Numbers become one vector of 128 by one layer, not by
three, which is 1 % of the products.

    python3 dcnv2.py ROWS MOST OUT    OUT.config and OUT.csv
"""
import random
import sys

IDS = [3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1]
ROWS = [40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4, 976,
        14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36]
HEAD = """train_input_path: "%s.csv" eval_input_path: "" model_dir: "m"
train_config {
  num_epochs: 1 log_step_count_steps: 1 use_tensorboard: false save_checkpoints_steps: 1000000 mixed_precision: "BF16"
  sparse_optimizer { adagrad_optimizer { lr: 0.005 } constant_learning_rate {} }
  dense_optimizer { adagrad_optimizer { lr: 0.005 } constant_learning_rate {} }
}
data_config { batch_size: 1024 dataset_type: CsvDataset with_header: true delimiter: "|" fg_mode: FG_DAG label_fields: "clk"
  input_fields { input_name: "clk" input_type: INT64 } input_fields { input_name: "dense" input_type: STRING }
"""
TAIL = """model_config {
  feature_groups { group_name: "all" group_type: DEEP feature_names: [%s] }
  dcn_v2 { cross { cross_num: 3 low_rank: 512 } final { hidden_units: [1024, 1024, 512, 256] } }
  losses { binary_cross_entropy {} }
}
"""


def main():
    n, most, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rows = [min(r, most) for r in ROWS]
    names = [f"c{i}" for i in range(len(IDS))]
    with open(out + ".config", "w") as f:
        f.write(HEAD % out)
        f.write("\n".join(f'  input_fields {{ input_name: "{x}" input_type: STRING }}' for x in names) + " }\n")
        f.write('feature_configs { raw_feature { feature_name: "dense" expression: "user:dense" separator: "," value_dim: 13 '
                "embedding_dim: 128 mlp {} } }\n")
        for name, size in zip(names, rows):
            f.write(f'feature_configs {{ id_feature {{ feature_name: "{name}" expression: "item:{name}" separator: "," '
                    f'num_buckets: {size} embedding_dim: 128 pooling: "sum" }} }}\n')
        f.write(TAIL % ", ".join(f'"{x}"' for x in ["dense"] + names))
    draw = random.Random(1)
    with open(out + ".csv", "w") as f:
        f.write("|".join(["clk", "dense"] + names) + "\n")
        for _ in range(n):
            ids = [",".join(str(int(draw.random() * size)) for _ in range(k)) for k, size in zip(IDS, rows)]
            f.write("|".join([str(int(draw.random() < 0.25)), ",".join(f"{draw.random():.3f}" for _ in range(13))] + ids) + "\n")


if __name__ == "__main__":
    main()
