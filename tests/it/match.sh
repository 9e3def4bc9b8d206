#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Retrieval: tables for samplers, models that train with each of them, stopped and continued.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"

# config SAMPLER MODEL [GROUPS]
config()
{
    cat >c.config <<END
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "m"
train_config {
  num_epochs: 1 save_checkpoints_steps: 5 log_step_count_steps: 1
  sparse_optimizer { adagrad_optimizer { lr: 0.05 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.002 } constant_learning_rate {} }
}
data_config {
  batch_size: 128 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk"
  shuffle: true shuffle_buffer_size: 3
  $1
}
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "tags" expression: "user:tag_category_list"
  separator: "|" hash_bucket_size: 500 embedding_dim: 8 embedding_name: "cate" } }
feature_configs { id_feature { feature_name: "adgroup_id" expression: "item:adgroup_id"
  hash_bucket_size: 1000 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id"
  hash_bucket_size: 500 embedding_dim: 8 embedding_name: "cate" } }
feature_configs { sequence_feature { sequence_name: "click_50_seq" sequence_length: 10
  sequence_delim: "|" features { id_feature { feature_name: "cate_id" expression: "item:cate_id"
  hash_bucket_size: 500 embedding_dim: 8 } } } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price"
  boundaries: [1, 10, 100] embedding_dim: 8 } }
model_config {
  feature_groups { group_name: "user" group_type: DEEP feature_names: ["user_id", "tags"] }
  feature_groups { group_name: "item" group_type: DEEP
    feature_names: ["adgroup_id", "cate_id", "price"] }
  ${3:-}
  $2
  losses { softmax_cross_entropy {} }
  metrics { recall_at_k { top_k: 1 } } metrics { recall_at_k { top_k: 5 } }
  train_metrics { recall_at_k { top_k: 5 } decay_step: 2 }
}
END
}

attrs='attr_fields: ["adgroup_id", "cate_id", "price"] item_id_field: "adgroup_id" num_sample: 60'
negative="negative_sampler { input_path: 'tables/items.txt' num_eval_sample: 9 $attrs }"
towers='user_tower { input: "user" mlp { hidden_units: [16] use_bn: true } }
  item_tower { input: "item" mlp { hidden_units: [16] } } output_dim: 8 similarity: COSINE temperature: 0.1'

data()
{
    "$TRAINYARD" data gen taobao --rows 2500 --out data >/dev/null 2>&1
    "$TRAINYARD" data items data/train data/eval --item adgroup_id --user user_id \
        --attrs adgroup_id,cate_id,price --out tables 2>/dev/null
}

# The loss of the last step is below that of the first.
loss_falls()
{
    sed -n 's/.*loss \([0-9.]*\) .*/\1/p' .err | sed -n '1p;$p' | tr '\n' ' ' >.losses
    awk '{ exit !($2 < $1) }' .losses || fail "losses $(cat .losses)"
}

items_are_counted()
{
    printf 'u,i,c,t\n7,1,3,a\n7,1,4,a\n8,2,5,\n7,2,6,b\n' >log.csv
    run "$TRAINYARD" data items log.csv --item i --user u --attrs c,t --out t
    status 0
    err_has "t: 2 items, 2 users, 3 edges from 4 rows"
    printf 'id:int64\tweight:float\tattrs:string\n1\t2\t3:a\n2\t2\t5:\n' | cmp -s - t/items.txt ||
        fail "items.txt"
    printf 'id:int64\tweight:float\n7\t3\n8\t1\n' | cmp -s - t/users.txt || fail "users.txt"
    printf 'userid:int64\titemid:int64\tweight:float\n7\t1\t2\n8\t2\t1\n7\t2\t1\n' |
        cmp -s - t/edges.txt || fail "edges.txt"
}

items_say_what_is_wrong()
{
    printf 'i,t\n1,a:b\n' >log.csv
    run "$TRAINYARD" data items log.csv --item i --attrs t --out t
    status 2
    err_has "error[E1908]: column 't': 'a:b' holds a tab, a line end or the delimiter ':'"
    run "$TRAINYARD" data items log.csv --item id --out t
    status 2
    err_has "error[E1904]: there is no column 'id' in the data"
    run "$TRAINYARD" data items log.csv --out t
    status 2
    err_has "missing option --item COLUMN"
}

each_sampler_trains()
{
    data
    local users='user_input_path: "tables/users.txt" item_input_path: "tables/items.txt" user_id_field: "user_id"'
    local edges='pos_edge_input_path: "tables/edges.txt"'
    local hard='hard_neg_edge_input_path: "tables/edges.txt" num_hard_sample: 3'
    local sampler
    for sampler in "$negative" "negative_sampler_v2 { $users $edges $attrs }" \
        "hard_negative_sampler { $users $hard $attrs }" \
        "hard_negative_sampler_v2 { $users $edges $hard $attrs }"; do
        rm -rf m
        config "$sampler" "dssm { $towers }"
        trained m
        status 0
        loss_falls
        run tail -n 1 m/train_eval_result_v2.txt
        json '0 < d["recall@1"] <= d["recall@5"] <= 1'
    done
}

in_batch_needs_no_sampler()
{
    data
    config "" "dssm { $towers in_batch_negative: true }"
    trained m
    status 0
    loss_falls
}

tables_may_be_shared()
{
    data
    config "$negative force_base_data_group: true" "dssm_v2 { $towers }"
    trained m
    status 0
    loss_falls
    run "$TRAINYARD" params m
    out_has "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags.cate.weight"
}

augment_vectors_train()
{
    data
    config "$negative" 'dat {
      user_tower { input: "user" augment_input: "user_aug" mlp { hidden_units: [16] } }
      item_tower { input: "item" augment_input: "item_aug" mlp { hidden_units: [16] } }
      output_dim: 8 amm_u_weight: 0.001 amm_i_weight: 0.001 }' \
        'feature_groups { group_name: "user_aug" group_type: DEEP feature_names: "user_id" }
      feature_groups { group_name: "item_aug" group_type: DEEP feature_names: "adgroup_id" }'
    trained m
    status 0
    loss_falls
}

# Routing draws its first logits: the same in every run of a seed.
interests_train()
{
    data
    config "$negative" 'mind {
      user_tower { input: "user" history_input: "hist" user_mlp { hidden_units: [16, 8] }
        hist_seq_mlp { hidden_units: 8 } concat_mlp { hidden_units: 16 }
        capsule_config { max_k: 3 max_seq_len: 10 high_dim: 8 } }
      item_tower { input: "item" mlp { hidden_units: [16] } } output_dim: 8 temperature: 0.1 }' \
        'feature_groups { group_name: "hist" group_type: SEQUENCE feature_names: "click_50_seq__cate_id" }'
    trained a --threads 1
    status 0
    loss_falls
    trained b --threads 2
    same_checkpoint a/model.ckpt-17 b/model.ckpt-17
    # Its routing is drawn at every step: an export draws what the checkpoint does.
    run "$TRAINYARD" export c.config --set model_dir=a --export-dir x
    status 0
    run "$TRAINYARD" parity x data/eval
    status 0
}

# A tree of three levels: a root, four nodes, all items below them.
tree()
{
    awk -F'\t' -v OFS='\t' 'NR == 1 { print; print 1000000000, 1, "0:1000000000:0:0"
            for (i = 1; i <= 4; i++) print 1000000000 + i, 1, "1:" 1000000000 + i ":" i ":0"; next }
        { print $1, $2, "2:" $3 }' tables/items.txt >tables/nodes.txt
    awk -F'\t' -v OFS='\t' 'NR == 1 { print "src_id:int64", "dst_id:int64", "weight:float"; next }
        { print $1, 1000000001 + $1 % 4, 1 }' tables/items.txt >tables/ancestors.txt
}

a_tree_trains()
{
    data && tree
    config "tdm_sampler { item_input_path: 'tables/nodes.txt' edge_input_path: 'tables/ancestors.txt'
      predict_edge_input_path: 'x' layer_num_sample: [0, 2, 5] item_id_field: 'adgroup_id'
      attr_fields: ['cate_id', 'price'] }" 'tdm {
      multiwindow_din { windows_len: [2, 8] attn_mlp { hidden_units: 8 } } final { hidden_units: 16 } }' \
        'feature_groups { group_name: "hist" group_type: SEQUENCE
          feature_names: ["cate_id", "click_50_seq__cate_id"] }'
    sed -i 's/softmax_cross_entropy/binary_cross_entropy/; s/^  metrics.*/  metrics { auc {} }/; /train_metrics/d' c.config
    trained m
    status 0
    loss_falls
}

# What is drawn follows from seed and step: not from threads, nor from where a run stopped.
a_stopped_run_goes_on_exactly()
{
    data
    config "$negative" "dssm { $towers }"
    trained a --threads 1
    status 0
    trained b --threads 3 --set train_config.num_steps=7
    status 0
    trained b --threads 2 --continue
    status 0
    same_checkpoint a/model.ckpt-17 b/model.ckpt-17
    tail -n 1 a/train_eval_result_v2.txt >want
    tail -n 1 b/train_eval_result_v2.txt | cmp -s - want || fail "results differ"
    trained c --seed 5
    cmp -s a/model.ckpt-17/model.safetensors c/model.ckpt-17/model.safetensors &&
        fail "another seed gives the same model"
}

bad_tables_end_the_run()
{
    data
    sed -i '3s/\t[0-9]*\t/\tmany\t/' tables/items.txt
    config "$negative" "dssm { $towers }"
    trained m
    status 1
    err_has "error[E1902]: sampler: item table 'tables/items.txt': row 2: weight 'many' is not a number"
    rm tables/items.txt
    trained m
    status 1
    err_has "sampler: item table: "
    config "$negative" "dssm { $towers temperature: 0 }"
    trained m
    err_has "temperature: 0 is not above 0"
}

tap_cases items_are_counted items_say_what_is_wrong each_sampler_trains \
    in_batch_needs_no_sampler tables_may_be_shared augment_vectors_train interests_train \
    a_tree_trains \
    a_stopped_run_goes_on_exactly \
    bad_tables_end_the_run
