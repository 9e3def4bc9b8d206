# SPDX-License-Identifier: Apache-2.0
"""The models of bench/zoo: what is chosen in our config. torch_peer.py has a class of the same name for each.

Rows are of the shape of Criteo's: 26 fields of 100000 ids, 13 numbers; models on a history have an item and a
category, and 50 of each behind. Where a model has a net it is [256, 128]. Models of retrieval have the items of the
batch as negatives, or those that a sampler draws for all rows.
"""
FIELDS, NUMBERS, DIM, ROWS = 26, 13, 16, 100000
FFM_DIM = 4 * FIELDS
HISTORY = {"item": 100000, "cate": 10000}
NEGATIVES, SESSION_DIM, CAPSULES = 1024, 64, 4
MAPS = [14, 16, 18, 20]
WINDOWS = [5, 5, 10, 10, 20]
UNITS = "{ hidden_units: [256, 128] }"
TOP = "{ hidden_units: [64] }"


def group(name, names, kind="DEEP"):
    listed = ", ".join(f'"{n}"' for n in names)
    return f'feature_groups {{ group_name: "{name}" group_type: {kind} feature_names: [{listed}] }}\n'


IDS = [f"c{i}" for i in range(FIELDS)]
REALS = [f"d{i}" for i in range(NUMBERS)]
DEEP, WIDE, DENSE = group("deep", IDS), group("wide", IDS, "WIDE"), group("dense", REALS)
SPARSE, ALL = group("sparse", IDS), group("all", IDS + REALS)
SEQ = group("seq", [*HISTORY, *(f"s__{n}" for n in HISTORY)], "SEQUENCE")
SIDES = group("user", IDS[:13]) + group("item", IDS[13:])
BCE = "losses { binary_cross_entropy {} }\n"
MATCH = "losses { softmax_cross_entropy {} }\n"
TASKS = "".join(f'task_towers {{ tower_name: "t{i}" label_name: "{y}" mlp {TOP} {BCE} }}\n'
                for i, y in enumerate(("clk", "buy")))
LAYER = (f'extraction_networks {{ network_name: "x" expert_num_per_task: 2 share_num: 1 task_expert_net {UNITS} '
         f"share_expert_net {UNITS} }}\n")
RELATED = TASKS.replace('label_name: "buy"', f'label_name: "buy" relation_tower_names: "t0" relation_mlp {TOP}')
TOWERS = (f'user_tower {{ input: "user" mlp {UNITS} }} item_tower {{ input: "item" mlp {UNITS} }} output_dim: 64 '
          "in_batch_negative: true similarity: COSINE temperature: 0.1")
AUGMENTED = TOWERS.replace('input: "user"', 'input: "user" augment_input: "user_aug"').replace(
    'input: "item"', 'input: "item" augment_input: "item_aug"')
ESMM = "".join(TASKS.splitlines()).replace("task_towers", "ctr_tower", 1).replace("task_towers", "cvr_tower")
SHIFTED = TASKS.replace('label_name: "buy"', 'label_name: "buy" intervention_tower_names: "t0" low_rank_dim: 8').replace(
    "label_name", "dropout_ratio: 0 label_name")
ITEM = group("item", ["item"])

SAMPLED, SESSIONS = ("youtube_dnn", "word2vec", "gru4rec", "srgnn"), ("gru4rec", "srgnn")

CASES = {
    "logistic_regression": WIDE + DENSE + "logistic_regression {} " + BCE,
    "fm": WIDE + DEEP + "fm {} " + BCE,
    "fnn": WIDE + DEEP + DENSE + f"fnn {{ deep {UNITS} }} " + BCE,
    "nfm": WIDE + DEEP + f"nfm {{ deep {UNITS} }} " + BCE,
    "pnn": WIDE + DEEP + f"pnn {{ product_units: 50 deep {UNITS} }} " + BCE,
    "pnn_outer": WIDE + DEEP + f"pnn {{ product_units: 50 use_inner_product: false deep {UNITS} }} " + BCE,
    "ffm": WIDE + DEEP + "ffm {} " + BCE,
    "afm": WIDE + DEEP + "afm { attention_units: 16 } " + BCE,
    "fwfm": WIDE + DEEP + "fwfm {} " + BCE,
    "fibinet": DEEP + DENSE + f"fibinet {{ deep {UNITS} }} " + BCE,
    "fibinet_all": DEEP + DENSE + f'fibinet {{ bilinear_type: "all" deep {UNITS} }} ' + BCE,
    "fgcnn": DEEP + f"fgcnn {{ conv_filters: {MAPS} deep {UNITS} }} " + BCE,
    "autoint": DEEP + f"autoint {{ num_layers: 1 num_heads: 6 head_dim: 16 }} " + BCE,
    "gatenet": DEEP + DENSE + f"gatenet {{ deep {UNITS} }} " + BCE,
    "flen": group("user", IDS[:12]) + group("item", IDS[12:15]) + group("context", IDS[15:])
            + f"flen {{ interaction {{ hidden_units: 16 }} deep {UNITS} }} " + BCE,
    "deep_crossing": WIDE + DEEP + "deep_crossing { residual_units: [128, 128, 128, 128] } " + BCE,
    "bst": SEQ + DEEP + f"bst {{ num_heads: 2 head_dim: 16 ffn_units: 64 deep {UNITS} }} " + BCE,
    "dien": SEQ + DEEP + f"dien {{ attn_mlp {{ hidden_units: [80, 40] }} deep {UNITS} }} " + BCE,
    "multi_tower": DEEP + DENSE + f'multi_tower {{ towers {{ input: "deep" mlp {UNITS} }} towers {{ input: "dense" mlp {TOP} }} final {TOP} }} ' + BCE,
    "multi_tower_din": DEEP + SEQ + f'multi_tower_din {{ towers {{ input: "deep" mlp {UNITS} }} din_towers {{ input: "seq" attn_mlp {{ hidden_units: [80, 40] }} }} final {TOP} }} ' + BCE,
    "wide_and_deep": WIDE + DEEP + f"wide_and_deep {{ wide_embedding_dim: 1 deep {UNITS} }} " + BCE,
    "deepfm": WIDE + DEEP + f"deepfm {{ wide_embedding_dim: 1 deep {UNITS} }} " + BCE,
    "dlrm": SPARSE + DENSE + f"dlrm {{ dense_mlp {{ hidden_units: [64, 16] }} arch_with_sparse: false final {UNITS} }} " + BCE,
    "dcn_v1": ALL + f"dcn_v1 {{ cross {{ cross_num: 3 }} deep {UNITS} final {TOP} }} " + BCE,
    "dcn_v2": ALL + f"dcn_v2 {{ cross {{ cross_num: 3 low_rank: 32 }} deep {UNITS} final {TOP} }} " + BCE,
    "xdeepfm": WIDE + DEEP + f"xdeepfm {{ cin {{ cin_layer_size: [16, 16] }} deep {UNITS} final {TOP} wide_embedding_dim: 16 }} " + BCE,
    "mask_net": ALL + f"mask_net {{ mask_net_module {{ n_mask_blocks: 3 mask_block {{ reduction_ratio: 1 hidden_dim: 128 }} top_mlp {UNITS} }} }} " + BCE,
    "wukong": SPARSE + DENSE + f"wukong {{ dense_mlp {{ hidden_units: [64, 16] }} final {UNITS} "
              + f"wukong_layers {{ lcb_feature_num: 16 fmb_feature_num: 16 compressed_feature_num: 16 feature_num_mlp {TOP} }} " * 2 + "} " + BCE,
    "mmoe": ALL + f"mmoe {{ expert_mlp {UNITS} num_expert: 3 {TASKS} }} ",
    "simple_multi_task": ALL + f"simple_multi_task {{ {TASKS} }} ",
    "share_bottom": ALL + f"share_bottom {{ bottom_mlp {UNITS} {TASKS} }} ",
    "ple": ALL + f"ple {{ {LAYER}{LAYER}{TASKS} }} ",
    "dbmtl": ALL + f"dbmtl {{ bottom_mlp {UNITS} {RELATED} }} ",
    "dmr": group("seq", ["item", "s__item", "s__cate"], "SEQUENCE") + group("match", ["cate", "s__cate"], "SEQUENCE")
           + DEEP + f"dmr {{ attn_mlp {{ hidden_units: [80, 40] }} deep {UNITS} }} " + BCE,
    "tdm": SEQ + DEEP + f"tdm {{ multiwindow_din {{ windows_len: {WINDOWS} attn_mlp {{ hidden_units: [80, 40] }} }} final {UNITS} }} "
           + "num_class: 2 " + MATCH,
    "esmm": ALL + f"esmm {{ bottom_mlp {UNITS} {ESMM} }} ",
    "dc2vr": ALL + f"dc2vr {{ bottom_mlp {UNITS} {SHIFTED} }} ",
    "pepnet": ALL + group("domain", IDS[:2]) + group("uia", IDS[2:6])
              + f"pepnet {{ epnet_hidden_unit: 64 ppnet_hidden_units: [256, 128] {TASKS} }} ",
    "rocket_launching": ALL + "rocket_launching { share_mlp { hidden_units: [256] } "
                        + f"booster_mlp {UNITS} light_mlp {{ hidden_units: [128] }} feature_based_distillation: true }} " + BCE,
    "dssm": SIDES + f"dssm {{ {TOWERS} }} " + MATCH,
    "dssm_v2": SIDES + f"dssm_v2 {{ {TOWERS} }} " + MATCH,
    "dat": group("user", IDS[:9]) + group("user_aug", IDS[9:13]) + group("item", IDS[13:22]) + group("item_aug", IDS[22:])
           + f"dat {{ {AUGMENTED} }} " + MATCH,
    "mind": group("user", IDS[:13]) + group("hist", [f"s__{n}" for n in HISTORY], "SEQUENCE") + group("item", IDS[13:])
            + 'mind { user_tower { input: "user" history_input: "hist" user_mlp { hidden_units: [256, 128] } '
            + f"hist_seq_mlp {TOP} capsule_config {{ max_k: {CAPSULES} max_seq_len: 50 high_dim: 64 }} "
            + f'concat_mlp {{ hidden_units: [128] }} }} item_tower {{ input: "item" mlp {UNITS} }} '
            + "output_dim: 64 in_batch_negative: true } " + MATCH,
    "ncf": group("user_mf", IDS[:1]) + group("item_mf", IDS[1:2]) + group("user_mlp", IDS[:1]) + group("item_mlp", IDS[1:2])
           + f"ncf {{ mlp {UNITS} }} " + BCE,
    "youtube_dnn": group("user", IDS) + ITEM
                   + f'youtube_dnn {{ user_tower {{ input: "user" mlp {UNITS} }} item_input: "item" item_bias: true }} ' + MATCH,
    "word2vec": group("word", IDS[:1]) + ITEM + 'word2vec { input: "word" context_input: "item" } ' + BCE,
    "gru4rec": group("session", ["s__item"], "SEQUENCE") + ITEM
               + f'gru4rec {{ input: "session" hidden_units: {SESSION_DIM} item_input: "item" item_bias: true share_tables: true }} '
               + MATCH,
    "srgnn": group("session", ["s__item", "s__number"], "SEQUENCE") + ITEM
             + 'srgnn { input: "session" node_feature: "s__number" item_input: "item" } ' + MATCH,
}


def config(name):
    """Sessions have one table for their items and those to choose from."""
    dim = FFM_DIM if name == "ffm" else SESSION_DIM if name in SESSIONS else DIM
    init = "init_fn: 'nn.init.uniform_,a=-0.01,b=0.01'"
    sampler = (f"negative_sampler {{ input_path: 'x' num_sample: {NEGATIVES} item_id_field: 'item' attr_fields: 'item' }} "
               if name in SAMPLED else "")
    text = """train_input_path: 'a' eval_input_path: 'b' model_dir: 'm'
train_config { num_epochs: 1 sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
 dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} } }
data_config { dataset_type: ParquetDataset label_fields: ['clk', 'buy'] """ + sampler + """}
"""
    def ids(n, rows, more=""):
        return (f"id_feature {{ feature_name: '{n}' expression: 'user:{n}' num_buckets: {rows} embedding_dim: {dim} "
                f"{init} {more}}}")
    for n in IDS:
        text += f"feature_configs {{ {ids(n, ROWS)} }}\n"
    for n in REALS:
        text += f"feature_configs {{ raw_feature {{ feature_name: '{n}' expression: 'user:{n}' }} }}\n"
    for n, rows in HISTORY.items():
        text += f"feature_configs {{ {ids(n, rows)} }}\n"
    shared = "embedding_name: '{}_emb' " if name in SESSIONS else ""
    parts = " ".join(f"features {{ {ids(n, rows, shared.format(n))} }}" for n, rows in HISTORY.items())
    parts += " features { raw_feature { feature_name: 'number' expression: 'user:number' } }"
    text += f"feature_configs {{ sequence_feature {{ sequence_name: 's' sequence_length: 50 sequence_delim: ';' {parts} }} }}\n"
    return text + f"model_config {{\n{CASES[name]}}}\n"
