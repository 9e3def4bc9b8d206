#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Models that give items codes (semantic ids): they train, resume, are evaluated and predict.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

# Items in 4 x 4 clumps: of two layers of 4 codes, all of an item but a little noise.
items() # ROWS FILE
{
    python3 - "$1" "$2" <<'PY'
import random, sys
r, rows = random.Random(5), int(sys.argv[1])
far = [[r.gauss(0, 4) for _ in range(6)] for _ in range(4)]
near = [[r.gauss(0, 1) for _ in range(6)] for _ in range(4)]
with open(sys.argv[2], "w") as f:
    f.write("item,embedding,pair_embedding,is_pair\n")
    for k in range(rows):
        a, b = r.choice(far), r.choice(near)
        one = [x + y + r.gauss(0, .05) for x, y in zip(a, b)]
        two = [x + r.gauss(0, .05) for x in one]
        f.write(f"{k},{';'.join(f'{x:.4f}' for x in one)},{';'.join(f'{x:.4f}' for x in two)},{int(k % 3 == 0)}\n")
PY
}

config() # MODEL...: the lines of model_config behind the groups
{
    cat >c.config <<END
train_input_path: "train.csv" eval_input_path: "eval.csv" model_dir: "m"
train_config {
  num_epochs: 4 save_checkpoints_steps: 20 log_step_count_steps: 10
  sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} }
}
data_config { batch_size: 64 dataset_type: CsvDataset fg_mode: FG_DAG delimiter: "," with_header: true shuffle: true }
feature_configs { raw_feature { feature_name: "item_emb" expression: "item:embedding" value_dim: 6 separator: ";" } }
feature_configs { raw_feature { feature_name: "pair_emb" expression: "item:pair_embedding" value_dim: 6 separator: ";" } }
feature_configs { raw_feature { feature_name: "is_pair" expression: "item:is_pair" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: "item_emb" }
  $*
}
END
    items 640 train.csv
    items 200 eval.csv
}

PAIR='feature_groups { group_name: "pair" group_type: DEEP feature_names: "pair_emb" }
  feature_groups { group_name: "flag" group_type: DEEP feature_names: "is_pair" }'
LOSSES='losses { recon_loss {} } losses { commitment_loss {} }'

last() { run tail -n 1 "$1/train_eval_result_v2.txt"; }

# Killed after its first checkpoint, with other threads: the same bytes.
goes_on_exactly()
{
    trained a --threads 2
    status 0
    trained b --threads 1 --set train_config.num_epochs=2
    status 0
    trained b --threads 1 --continue
    status 0
    same_checkpoint a/model.ckpt-39 b/model.ckpt-39
}

an_rqvae_trains_and_resumes()
{
    config "$LOSSES sid_rqvae { embed_dim: 4 hidden_dims: [16] codebook: [4, 4] kmeans_init: true rotation_trick: true }"
    goes_on_exactly
    run head -n 1 a/train_eval_result_v2.txt
    cp .out first
    last a
    json "d['recon_loss'] < json.load(open('first'))['recon_loss']"
    json "d['unique_sid_ratio'] > 0.05 and d['codebook_use_0'] > 0.4 and 0 < d['code_entropy_1'] <= 1"
    json "0 < d['mse'] < 20 and d['rel_loss'] > 0 and d['sid_collisions'] > 0.8"
}

# Codes that begin far from all items come into use, and nothing of it is lost by a stop.
unused_codes_begin_anew()
{
    local far="sid_rqvae { embed_dim: 4 hidden_dims: [16] codebook: [24] sinkhorn_config { enabled: false }"
    config "$LOSSES $far }"
    trained without
    status 0
    last without
    cp .out before
    config "$LOSSES $far restart_unused_steps: 3 }"
    goes_on_exactly
    last a
    json "d['codebook_use_0'] > 1.5 * json.load(open('before'))['codebook_use_0']"
    trained c --shards 2
    status 2
    err_has "restart_unused_steps needs all rows of a batch in one place"
}

codes_are_whole_numbers_of_a_column()
{
    config "$LOSSES sid_rqvae { embed_dim: 4 codebook: [4, 5] forward_mode: 'gumbel_softmax'
  candidate_output_config { enabled: true topk: 2 } }"
    trained m
    status 0
    run "$TRAINYARD" predict c.config --model-dir m --input eval.csv --output out.jsonl --reserved-columns item
    status 0
    head -n 1 out.jsonl >.out
    json "len(d['codes']) == 2 and all(type(x) is int for x in d['codes'] + d['candidate_codes'])"
    json "len(d['candidate_codes']) == 4 and d['candidate_codes'][:2] == d['codes']"
    json "len(d['candidate_scores']) == 2 and d['candidate_scores'][0] <= d['candidate_scores'][1] and 'x_hat' not in d"
    run "$TRAINYARD" export c.config --export-dir x
    status 0
    run "$TRAINYARD" parity x eval.csv
    status 0
}

pairs_are_drawn_together()
{
    config "$PAIR $LOSSES losses { contrastive_loss {} }
  sid_rqvae { embed_dim: 4 hidden_dims: [16] codebook: [4, 4]
    contrastive_config { pair_feature_group: 'pair' pair_flag_feature_group: 'flag' } }"
    trained m
    status 0
    run head -n 1 m/train_eval_result_v2.txt
    cp .out first
    last m
    json "d['contrastive_loss'] < json.load(open('first'))['contrastive_loss']"
}

an_rqkmeans_finds_the_clumps()
{
    config "sid_rqkmeans { codebook: [4, 4] train_sample_size: 300 faiss_kmeans_kwargs { niter: 20 nredo: 4 } }"
    goes_on_exactly
    last a
    json "d['mse'] < 0.6 and d['codebook_use_0'] == 1 and d['codebook_use_1'] == 1"
    run "$TRAINYARD" predict c.config --model-dir a --input eval.csv --output out.jsonl
    status 0
    head -n 1 out.jsonl >.out
    json "len(d['codes']) == 2 and max(d['codes']) < 4"
}

# Codes of vectors, of a model and of a column: figures, a table and a picture.
ids_are_given_and_measured()
{
    config "sid_rqkmeans { codebook: [4, 4] train_sample_size: 300 faiss_kmeans_kwargs { niter: 20 nredo: 4 } }"
    tr ';' ' ' <eval.csv >blanks.csv
    run "$TRAINYARD" sid blanks.csv --item item --embedding embedding --codebook 4,4 --out a.parquet --picture a.svg --json
    status 0
    cp .out figures
    json "d['items'] == 200 and d['tuples'] <= 16 and d['mse'] < 2 < d['variance'] and [x['used'] for x in d['layers']] == [4, 4]"
    grep -q 'layer 1: 4 of 4 codes used' a.svg || fail "no picture"
    run "$TRAINYARD" sid blanks.csv --item item --embedding embedding --codebook 4,4 --out b.parquet --threads 1
    status 0
    cmp a.parquet b.parquet || fail "threads change the codes"
    run "$TRAINYARD" sid a.parquet --item item --codes codes --codebook 4,4 --json
    status 0
    json "d['tuples'] == json.load(open('figures'))['tuples']"
    trained m
    status 0
    run "$TRAINYARD" export c.config --export-dir x
    status 0
    run "$TRAINYARD" sid eval.csv --item item --model x --unique --out u.jsonl
    status 0
    out_has "200 items, 200 tuples of 3 codes, collisions 0.0000"
    run "$TRAINYARD" predict --model x --input eval.csv --output p.jsonl --reserved-columns item
    status 0
    run python3 -c '
import json
a, b = ([json.loads(x) for x in open(f)] for f in ("u.jsonl", "p.jsonl"))
assert [(x["item"], x["codes"][:2]) for x in a] == [(x["item"], x["codes"]) for x in b]'
    status 0
    [ -z "$(find . -name '.trainyard-sid*')" ] || fail "a directory is left"
    run "$TRAINYARD" sid blanks.csv --item item --embedding embedding --codebook 4,900
    status 2
    err_has "E2406"
    run "$TRAINYARD" sid blanks.csv --item item --embedding embedding
    status 2
    err_has "codebook N,N is missing"
    run "$TRAINYARD" sid blanks.csv --item item --embedding embedding --codebook 4,4 --out a.parquet
    status 2
    err_has "E0008"
}

too_few_rows_and_several_shards_are_refused()
{
    config "sid_rqkmeans { codebook: [1000] }"
    trained m --set train_config.num_epochs=1
    status 2
    err_has "sid_rqkmeans: 640 rows were seen, fewer than the 1000 codes of a layer"
    config "sid_rqkmeans { codebook: [4] }"
    trained n --shards 2
    status 2
    err_has "sid_rqkmeans needs all rows of a batch in one place, and this run has 2 shards"
    config "$LOSSES sid_rqvae { codebook: [4] kmeans_init: true }"
    trained n --shards 2
    status 2
    err_has "kmeans_init needs all rows of a batch in one place, and this run has 2 shards"
}

tap_cases an_rqvae_trains_and_resumes unused_codes_begin_anew codes_are_whole_numbers_of_a_column pairs_are_drawn_together \
    an_rqkmeans_finds_the_clumps ids_are_given_and_measured too_few_rows_and_several_shards_are_refused
