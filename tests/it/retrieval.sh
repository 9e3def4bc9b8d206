#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trees of items, search in them, hit rates of vectors: docs/retrieval.md at a small scale.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

items()
{
    cat >items.csv <<END
id,cate,brand,price
3,b,y,3.0
1,a,x,1.0
5,c,y,5.0
2,a,x,2.0
4,b,,4.0
END
}

same_as() # FILE: what stdin says, with ~ for a tab
{
    tr '~' '\t' >.want
    cmp -s .want "$1" && return
    fail "$1 differs (< got, > want):"
    diff "$1" .want | sed 's/^/#   /' >&3
}

tree_tables_have_upstreams_form()
{
    items
    run "$TRAINYARD" tdm init-tree items.csv --item id --cate cate --attrs cate,brand \
        --raw-attrs price --out t --serving-dir s
    status 0
    echo 'layer_num_sample: [0, 1, 2, 2]' | out_is
    err_has "t: a tree of 5 items on 4 levels, 12 nodes"
    same_as t/node_table.txt <<END
id:int64~weight:float~feature:string
-1~1.0~-1,6,a,x,3
6~1.0~0,6,a,x,3
7~1.0~1,7,b,y,4
8~1.0~1,8,a,x,1.5
9~1.0~2,9,b,y,4.5
10~1.0~2,10,b,y,3
11~1.0~2,11,a,x,2
12~1.0~2,12,a,x,1
5~1.0~3,5,c,y,5
4~1.0~3,4,b,,4
3~1.0~3,3,b,y,3
2~1.0~3,2,a,x,2
1~1.0~3,1,a,x,1
END
    same_as t/edge_table.txt <<END
src_id:int64~dst_id:int64~weight:float
5~9~1.0
5~7~1.0
4~9~1.0
4~7~1.0
3~10~1.0
3~7~1.0
2~11~1.0
2~8~1.0
1~12~1.0
1~8~1.0
END
    same_as t/predict_edge_table.txt <<END
src_id:int64~dst_id:int64~weight:float
-1~6~1.0
6~7~1.0
6~8~1.0
7~9~1.0
7~10~1.0
8~11~1.0
8~12~1.0
9~5~1.0
9~4~1.0
10~3~1.0
11~2~1.0
12~1~1.0
END
    same_as s/serving_tree <<END
4 2
0 6
1 7
2 8
3 9
4 10
5 11
6 12
7 5
8 4
9 3
11 2
13 1
END
    run "$TRAINYARD" data convert t/node_feature/part-0.parquet n.csv
    run head -n 4 n.csv
    out_is <<END
id,cate,brand,price
6,a,x,3
7,b,y,4
8,a,x,1.5
END
}

ids_may_be_texts()
{
    printf 'id,c\nb,1\na,1\nc,2\n' >items.csv
    run "$TRAINYARD" tdm init-tree items.csv --item id --cate c --out t
    status 0
    same_as t/predict_edge_table.txt <<END
src_id:string~dst_id:string~weight:float
-1~nonleaf#0~1.0
nonleaf#0~nonleaf#1~1.0
nonleaf#0~nonleaf#2~1.0
nonleaf#1~c~1.0
nonleaf#1~b~1.0
nonleaf#2~a~1.0
END
}

trees_say_what_is_wrong()
{
    items
    local tree=("$TRAINYARD" tdm init-tree items.csv --out t)
    run "${tree[@]}" --item id
    status 2
    err_has "--cate COLUMN is missing"
    run "${tree[@]}" --item no --cate cate
    status 2
    err_has "error[E2401]: item table: there is no column 'no'"
    run "${tree[@]}" --item price --cate cate
    status 2
    err_has "error[E2401]: item table: column 'price' is of type double, ids are integers or texts"
    run "${tree[@]}" --item id --cate cate --attrs brand,id
    status 2
    err_has "error[E2401]: 'id' is named twice"
    run "${tree[@]}" --item id --cate cate --raw-attrs brand
    status 2
    err_has "error[E2401]: column 'brand' holds texts: no mean can be taken of them"
    printf 'id,c\n1,a\n2,b\n1,c\n' >items.csv
    run "${tree[@]}" --item id --cate c
    status 2
    err_has "error[E2402]: item table: rows 1 and 3 have the same 'id'"
    printf 'id,c\n1,"a,b"\n2,b\n' >items.csv
    run "${tree[@]}" --item id --cate c --attrs c
    status 2
    err_has "error[E1908]: column 'c': 'a,b' holds a tab, a line end or the delimiter ','"
    printf 'id,c\n-1,a\n2,b\n' >items.csv
    run "${tree[@]}" --item id --cate c
    status 2
    err_has "error[E2403]: row 1: an item of a tree cannot have the id -1"
    printf 'id,c\n9223372036854775807,a\n2,b\n' >items.csv
    run "${tree[@]}" --item id --cate c
    status 2
    err_has "error[E2403]: items have ids up to 9223372036854775807"
    printf 'id,item_emb\n1,"1,2"\n2,"1,2,3"\n' >items.csv
    run "$TRAINYARD" tdm cluster-tree items.csv --item id --out t
    status 2
    err_has "error[E2402]: item table, row 2: 'item_emb' has 3 numbers, not 2"
    printf 'id,item_emb\n1,"1,x"\n' >items.csv
    run "$TRAINYARD" tdm cluster-tree items.csv --item id --out t
    status 2
    err_has "error[E2402]: item table, row 1: 'item_emb'"
    [ ! -e t ] || fail "something was written"
}

# Items of eight hidden groups, with categories that say nothing of them; users who meet
# items of one group. Numbers come from a generator of our own, so that any awk agrees.
log()
{
    awk -v part="$1" -v rows="$2" 'function r(n) { s = (s * 16807) % 2147483647; return int(s / 2147483647 * n) }
        BEGIN { s = part == "train" ? 11 : 12; print "user_id,item_id,cate_id,price,hist,clk"
            for (k = 0; k < rows; k++) { u = r(160); g = u % 8; i = g + 8 * r(15); h = ""
                n = 2 + r(4); for (j = 0; j < n; j++) h = h (j ? "|" : "") (1 + (r(10) < 9 ? g + 8 * r(15) : r(120)))
                printf "%d,%d,%d,%d.5,%s,1\n", u, i + 1, (i * 7) % 5, (i * 37) % 90, h } }' >"$1.csv"
}

tutorial_data()
{
    log train 3000
    log eval 300
    awk 'BEGIN { print "item_id,cate_id,price"; for (i = 0; i < 120; i++) printf "%d,%d,%d.5\n", i + 1, (i * 7) % 5, (i * 37) % 90 }' >items.csv
    local f
    for f in train eval items; do
        "$TRAINYARD" data convert "$f.csv" "$f.parquet" 2>/dev/null
    done
}

tutorial_config()
{
    cat >tdm.config <<END
train_input_path: "train.parquet" eval_input_path: "eval.parquet" model_dir: "m1"
train_config { num_epochs: 8
  sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.005 } constant_learning_rate {} } }
data_config { batch_size: 64 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk"
  tdm_sampler { item_input_path: "tree/node_table.txt" edge_input_path: "tree/edge_table.txt"
    predict_edge_input_path: "tree/predict_edge_table.txt" item_id_field: "item_id" attr_delimiter: ","
    attr_fields: ["tree_level", "item_id", "cate_id", "price"] $1 } }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" num_buckets: 160 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "item_id" expression: "item:item_id" num_buckets: 400 embedding_dim: 16 } }
feature_configs { raw_feature { feature_name: "price" expression: "item:price" normalizer: "method=expression,expr=x/100" } }
feature_configs { sequence_id_feature { feature_name: "hist" expression: "user:hist" num_buckets: 400 embedding_dim: 16
  embedding_name: "item_id_emb" sequence_length: 6 sequence_delim: "|" } }
model_config {
  feature_groups { group_name: "seq" group_type: SEQUENCE feature_names: ["hist", "item_id"] }
  feature_groups { group_name: "user" group_type: DEEP feature_names: ["user_id"] }
  feature_groups { group_name: "item" group_type: DEEP feature_names: ["price"] }
  tdm { multiwindow_din { windows_len: [2, 4] attn_mlp { hidden_units: [16] activation: "nn.PReLU" } } final { hidden_units: [32, 16] } }
  num_class: 2 metrics { auc {} } losses { softmax_cross_entropy {} } }
END
}

recall_above() # LEAST: what retrieval printed
{
    status 0
    awk -v least="$1" '{ exit !($2 > least) }' .out || fail "$(cat .out), want more than $1"
}

# Chance finds 12 of 120 items: one in ten.
a_tree_is_built_learnt_and_searched()
{
    tutorial_data
    "$TRAINYARD" tdm init-tree items.parquet --item item_id --cate cate_id --attrs cate_id --raw-attrs price \
        --out tree --serving-dir tree >layers 2>/dev/null
    tutorial_config "$(cat layers)"
    run "$TRAINYARD" train tdm.config
    status 0
    run "$TRAINYARD" export m1/pipeline.config --export-dir x1 --asset-files tree/serving_tree
    status 0
    run "$TRAINYARD" tdm retrieval --model x1/model --input eval.parquet --output r1 --items 12 \
        --reserved-columns user_id,item_id
    recall_above 0.2
    cp .out first
    run "$TRAINYARD" data head r1
    out_has "user_id  item_id  recall_ids"
    # items alone are enough for their vectors; a part of the export may be named as upstream does
    run "$TRAINYARD" predict --model x1/embedding --input items.parquet --output emb \
        --reserved-columns item_id,cate_id,price
    status 0
    run "$TRAINYARD" tdm cluster-tree emb --item item_id --attrs cate_id --raw-attrs price --out tree2
    status 0
    cmp -s .out layers || fail "another depth than before"
    run "$TRAINYARD" tdm cluster-tree emb --item item_id --attrs cate_id --raw-attrs price --out tree3 --threads 1
    cmp -s tree2/node_table.txt tree3/node_table.txt || fail "threads changed the tree"
    run "$TRAINYARD" train tdm.config --model-dir m2 --edit-config-json \
        '{"data_config.tdm_sampler.item_input_path": "tree2/node_table.txt", "data_config.tdm_sampler.edge_input_path": "tree2/edge_table.txt", "data_config.tdm_sampler.predict_edge_input_path": "tree2/predict_edge_table.txt"}'
    status 0
    "$TRAINYARD" export m2/pipeline.config --export-dir x2 >/dev/null 2>&1
    run "$TRAINYARD" tdm retrieval --model x2 --input eval.parquet --output r2 --items 12
    recall_above 0.3
    # how many threads there are does not change what is found
    cp .out second
    run "$TRAINYARD" tdm retrieval --model x2 --input eval.parquet --output r3 --items 12 --threads 1 --batch-size 7
    cmp -s .out second || fail "threads changed the recall"
    # nor do ranks, which share the parts
    run "$TRAINYARD" tdm retrieval --model x2 --input eval.parquet --output r5 --items 12 --part-rows 50 --batch-size 25
    cmp -s .out second || fail "parts changed the recall"
    ranks 3 tdm retrieval --model x2 --input eval.parquet --output r6 --items 12 --part-rows 50 --batch-size 25
    status 0
    cmp -s .out second || { fail "ranks changed the recall:"; show .out; }
    diff -r r5 r6 >difference || { fail "ranks wrote something else:"; show difference; }
    # broken input
    run "$TRAINYARD" tdm retrieval --model x2 --input eval.parquet --output r4 --tree nowhere
    status 1
    err_has "error[E1201]: item table: 'nowhere/node_table.txt' does not exist"
    run "$TRAINYARD" tdm retrieval --model x2 --input items.parquet --output r4
    status 2
    err_has "user_id"
    run "$TRAINYARD" tdm retrieval --model x2 --input eval.parquet
    status 2
    err_has "--output PATH is missing"
    printf 'id:int64\tweight:float\tfeature:string\n' >tree2/node_table.txt
    run "$TRAINYARD" tdm retrieval --model x2 --input eval.parquet --output r4
    status 2
    err_has "error["
}

# Three users, four items on the axes.
vectors()
{
    cat >items.csv <<END
item_id,item_tower_emb
10,"1,0"
20,"0,1"
30,"-1,0"
40,"0,-1"
END
    cat >users.csv <<END
request_id,gt_items,user_tower_emb
1,"10,20","[1, 0.5]"
2,"30","[1, -0.5]"
3,"40,99,40","[0.1, -3]"
4,,"[0, 1]"
END
}

an_index_is_written_with_its_ids()
{
    vectors
    local type
    for type in FlatIP IVFFlatIP IVFFlatL2 HNSWFlatIP HNSWFlatL2; do
        run "$TRAINYARD" index create items.csv --output-dir $type --index-type $type --lists 2 --links 4
        status 0
        out_has "$type of 4 vectors of 2 numbers in "
        printf '10\n20\n30\n40\n' | cmp -s - $type/id_mapping || fail "$(cat $type/id_mapping)"
    done
    [ "$(head -c 4 FlatIP/faiss_index)" = IxFI ] || fail "no flat index"
    [ "$(head -c 4 IVFFlatL2/faiss_index)" = IwFl ] || fail "no inverted file"
    [ "$(head -c 4 HNSWFlatIP/faiss_index)" = IHNf ] || fail "no graph"
    # the same bytes again, by any number of threads
    run "$TRAINYARD" index create items.csv --output-dir again --index-type IVFFlatL2 --lists 2 --threads 3
    cmp -s again/faiss_index IVFFlatL2/faiss_index || fail "other bytes"
    run "$TRAINYARD" index create items.csv --output-dir FlatIP
    status 2
    err_has "error[E0008]: output 'FlatIP/faiss_index' exists; name another one, or say --overwrite"
    run "$TRAINYARD" index create items.csv
    status 2
    err_has "--output-dir DIR is missing"
    run "$TRAINYARD" index create items.csv --output-dir x --embedding vec
    status 2
    err_has "vec"
    echo "item_id,item_tower_emb" >none.csv
    run "$TRAINYARD" index create none.csv --output-dir x
    status 2
    [ ! -e x ] || fail "something was written"
}

hit_rates_are_counted()
{
    vectors
    local type
    for type in FlatIP FlatL2 IVFFlatIP IVFFlatL2 HNSWFlatIP HNSWFlatL2; do
        run "$TRAINYARD" hitrate --users users.csv --items items.csv --top-k 2 --index-type $type \
            --lists 4 --probes 4
        status 0
        out_is <<END
hitrate@2 0.600000 (3 of 5)
recall@2 0.500000 (mean of 3 users)
users with a hit 0.666667
END
        err_has "skipped 1 users without ground-truth items"
    done
    run "$TRAINYARD" hitrate --users users.csv --items items.csv --top-k 1 --json --total total.csv \
        --details found.jsonl
    status 0
    json 'd["hits"] == 2 and d["truths"] == 5 and abs(d["hitrate"] - 0.4) < 1e-9'
    printf 'hitrate\n0.4\n' | same_as total.csv
    run head -n 1 found.jsonl
    json 'd["id"] == 1 and d["topk_ids"] == [["10"]] and d["topk_dists"] == [[1.0]] and d["hitrate"] == 0.5 and d["hit_ids"] == ["10"]'
}

users_may_have_several_vectors()
{
    vectors
    cat >users.csv <<END
request_id,gt_items,user_tower_emb,n
1,"10,20","1,0.5;0.5,1",2
2,"10,30","1,0;-1,0",1
3,"10,20","0,0;0,2",2
END
    local args=(--users users.csv --items items.csv --interests 2)
    run "$TRAINYARD" hitrate "${args[@]}" --top-k 1
    out_has "hitrate@1 1.000000 (6 of 6)"
    run "$TRAINYARD" hitrate "${args[@]}" --top-k 1 --interests-field n
    out_has "hitrate@1 0.833333 (5 of 6)"
    run "$TRAINYARD" hitrate "${args[@]}" --top-k 1 --across
    out_has "hitrate@1 0.500000 (3 of 6)"
    run "$TRAINYARD" hitrate --users users.csv --items items.csv --interests 3
    status 2
    err_has "error[E2402]: user table, row 1: 'user_tower_emb' has 4 numbers, which are no 3 vectors"
}

hit_rates_say_what_is_wrong()
{
    vectors
    run "$TRAINYARD" hitrate --items items.csv
    status 2
    err_has "--users PATH is missing"
    run "$TRAINYARD" hitrate --users users.csv --items items.csv --index-type HNSW
    status 2
    err_has "--index-type: 'HNSW' is not one of FlatIP, FlatL2, IVFFlatIP, IVFFlatL2, HNSWFlatIP, HNSWFlatL2"
    run "$TRAINYARD" hitrate --users users.csv --items items.csv --truth no
    status 2
    err_has "error[E2401]: user table: there is no column 'no'"
    printf 'request_id,gt_items,user_tower_emb\n1,10,"1,2,3"\n' >users.csv
    run "$TRAINYARD" hitrate --users users.csv --items items.csv
    status 2
    err_has "error[E2405]: vectors of items have 2 numbers, those of users 3"
    printf 'request_id,gt_items,user_tower_emb\n' >users.csv
    run "$TRAINYARD" hitrate --users users.csv --items items.csv
    status 2
    err_has "user table: there are no rows"
}

# Far better than drawing one of 513 candidates.
examples_of_retrieval_train()
{
    "$TRAINYARD" data gen taobao --rows 6000 --out taobao >/dev/null 2>&1
    "$TRAINYARD" data items taobao/train taobao/eval --item adgroup_id \
        --attrs adgroup_id,cate_id,brand,price --out taobao/tables 2>/dev/null
    "$TRAINYARD" data items taobao/train taobao/eval --item cate_id --attrs cate_id \
        --out taobao/cates 2>/dev/null
    local name
    for name in youtube-dnn gru4rec srgnn word2vec; do
        run "$TRAINYARD" train "$TY_SOURCE/examples/$name-taobao.config" --set data_config.batch_size=256
        status 0
        run tail -n 1 "runs/$name-taobao/train_eval_result_v2.txt"
        json 'd["recall@1"] > 0.02 and d["recall@10"] > d["recall@1"]'
    done
}

tap_cases tree_tables_have_upstreams_form ids_may_be_texts trees_say_what_is_wrong \
    a_tree_is_built_learnt_and_searched an_index_is_written_with_its_ids hit_rates_are_counted users_may_have_several_vectors \
    hit_rates_say_what_is_wrong examples_of_retrieval_train
