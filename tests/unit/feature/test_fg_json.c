/* SPDX-License-Identifier: Apache-2.0 */
/* fg.json: what is written, and that reading it back gives the same features. */
#include "feature/fg_json.h"
#include "text/json.h"
#include "vector.h"

#define IN(x) "feature_configs { " x " }\n"
#define DIM "embedding_dim: 4 "

static void printed(const char *config, struct buf *out)
{
    struct bound b;
    CHECK(bound_init(&b, config));
    if (b.conf)
        fg_json_print(b.conf, out);
    else
        bound_print(&b);
    bound_release(&b);
}

static void check_print(const char *config, const char *want)
{
    struct buf out, text;
    buf_init(&out, 1 << 20);
    buf_init(&text, 1 << 20);
    printed(config, &out);
    /* blanks are of no interest */
    for (size_t i = 0; i < out.n; i++)
        if (out.p[i] != '\n' &&
            !(out.p[i] == ' ' && (i == 0 || out.p[i - 1] == ' ' || out.p[i - 1] == '\n')))
            buf_putc(&text, out.p[i]);
    CHECK_STR(buf_str(&text), want);
    buf_release(&out);
    buf_release(&text);
}

static void features_are_written(void)
{
    check_print(
        IN("id_feature { feature_name: 'a' expression: 'user:x' vocab_list: ['p', 'q'] "
           "weighted: true separator: ',' " DIM "}"),
        "{\"features\": [{\"feature_type\": \"id_feature\",\"feature_name\": \"a\","
        "\"default_value\": \"\",\"expression\": \"user:x\",\"value_type\": \"string\","
        "\"need_prefix\": false,\"value_dim\": 0,\"separator\": \",\",\"weighted\": true,"
        "\"vocab_list\": [\"\",\"<OOV>\",\"p\",\"q\"],\"default_bucketize_value\": 1}]}");
    check_print(
        IN("raw_feature { feature_name: 'a' expression: 'user:x' boundaries: [0.5, 1] "
           "value_dim: 2 normalizer: 'method=log10' }"),
        "{\"features\": [{\"feature_type\": \"raw_feature\",\"feature_name\": \"a\","
        "\"default_value\": \"0\",\"expression\": \"user:x\",\"value_type\": \"float\","
        "\"value_dim\": 2,\"normalizer\": \"method=log10\",\"boundaries\": [0.5,1.0]}]}");
    check_print(
        IN("sequence_feature { sequence_name: 's' sequence_length: 9 sequence_delim: '|' features "
           "{ id_feature { feature_name: 'a' expression: 'item:x' zch { zch_size: 5 lfu {} } " DIM
           "} } }"),
        "{\"features\": [{\"sequence_name\": \"s\",\"sequence_length\": 9,\"sequence_delim\": "
        "\"|\",\"sequence_pk\": \"user:s\",\"features\": [{\"feature_type\": \"id_feature\","
        "\"feature_name\": \"a\",\"default_value\": \"0\",\"expression\": \"item:x\","
        "\"value_type\": \"string\",\"need_prefix\": false,\"value_dim\": 1,"
        "\"hash_bucket_size\": 9223372036854775807}]}]}");
    check_print(
        IN("match_feature { feature_name: 'a' nested_map: 'user:m' pkey: 'ALL' skey: "
           "'item:s' hash_bucket_size: 9 " DIM "}"),
        "{\"features\": [{\"feature_type\": \"match_feature\",\"feature_name\": \"a\","
        "\"user\": \"user:m\",\"category\": \"ALL\",\"item\": \"item:s\",\"matchType\": "
        "\"multihit\",\"default_value\": \"0\",\"value_type\": \"string\","
        "\"needDiscrete\": true,\"show_category\": false,\"show_item\": false,"
        "\"hash_bucket_size\": 9}]}");
}

static const char all[] = IN(
    "id_feature { feature_name: 'id' expression: 'user:x' num_buckets: 9 stub_type: true " DIM
    "}") IN("sequence_id_feature { feature_name: 'sid' expression: 'user:x' sequence_length: 3 "
            "hash_bucket_size: 9 value_dim: 2 " DIM
            "}") IN("combo_feature { feature_name: 'combo' expression: ['user:x', 'item:y'] vocab_dict { key: "
                    "'a' value: 3 } default_value: 'z' " DIM
                    "}") IN("combine_feature { feature_name: 'combine' expression: 'user:x' value_map { key: 'a' value: "
                            "1.5 } combiner: 'max' num_buckets: 4 }")
    IN("lookup_feature { feature_name: 'lookup' map: 'user:m' key: 'item:k' value_dim: 2 "
       "combiner: 'min' }") IN("match_feature { feature_name: 'match' nested_map: 'user:m' pkey: 'item:p' skey: 'item:k' "
                               "show_pkey: true vocab_file: 'v' default_bucketize_value: 2 " DIM
                               "}") IN("expr_feature { feature_name: 'expr' variables: ['user:x', 'item:y'] expression: 'x+y' "
                                       "fill_missing: 2 boundaries: [1, 2] }")
        IN("sequence_overlap_feature { feature_name: 'overlap' query: 'user:x' title: 'item:y' method: "
           "'is_equal' sequence_length: 4 sequence_delim: '#' sequence_fields: ['y'] }")
            IN("kv_dot_product { feature_name: 'kv' query: 'user:x' document: 'item:y' separator: '|' }") IN(
                "sequence_bool_mask_feature { feature_name: 'mask' expression: ['user:x', 'user:y'] "
                "num_buckets: 4 value_dim: 2 sequence_length: 3 " DIM
                "}") IN("custom_feature { feature_name: 'custom' operator_name: 'SeqExpr' operator_lib_file: 'l' "
                        "operator_params { formula: 'x*2' } expression: ['user:x'] normalizer: 'method=log10' }")
                IN("sequence_feature { sequence_name: 's' sequence_length: 9 sequence_delim: '|' sequence_pk: "
                   "'user:u' features { raw_feature { feature_name: 'a' expression: 'item:x' } } features { "
                   "lookup_feature { feature_name: 'b' map: 'user:m' key: 'item:k' sequence_fields: ['k'] "
                   "num_buckets: 4 " DIM "} } }")
                    IN("tokenize_feature { feature_name: 'tok' expression: 'user:q' vocab_file: 'v.json' " DIM
                       "text_normalizer { max_length: 9 stop_char_file: 's' norm_options: "
                       "[TEXT_UPPER2LOWER, TEXT_SPLITCHRS, TEXT_REMOVE_SPACE] } }")
                        IN("sequence_feature { sequence_name: 'ts' sequence_length: 9 sequence_delim: '|' "
                           "features { tokenize_feature { feature_name: 'tok' expression: 'item:q' "
                           "vocab_file: 'v.json' " DIM "text_normalizer {} } } }");

/* Text of fg.json to the bound config of its features. */
static bool reread(const char *json, struct bound *b)
{
    struct err err = {0};
    *b = (struct bound){0};
    if (source_from("fg.json", json, strlen(json), &b->doc.src, &err) ||
        json_parse(&b->doc, &b->diags))
        return false;
    struct node *tree = fg_json_tree(b->doc.root, &b->arena, &b->diags);
    if (!tree ||
        schema_normalise(&pc_EasyRecConfig_def, tree, SCHEMA_JSON, &b->arena, &b->diags))
        return false;
    b->conf = schema_bind(&pc_EasyRecConfig_def, tree, &b->arena);
    return true;
}

static void what_is_written_reads_back(void)
{
    struct buf one, two;
    struct bound b;
    buf_init(&one, 1 << 20);
    buf_init(&two, 1 << 20);
    printed(all, &one);
    bool ok = reread(buf_str(&one), &b);
    CHECK(ok);
    if (ok)
        fg_json_print(b.conf, &two);
    else
        bound_print(&b);
    CHECK_STR(buf_str(&two), buf_str(&one));
    bound_release(&b);
    buf_release(&one);
    buf_release(&two);
}

static void mistakes_have_a_place(void)
{
    static const struct {
        const char *json, *msg;
        uint32_t col;
    } rows[] = {
        {"[]", "fg.json is an object with features", 1},
        {"{\"features\": 1}", "features is a list", 14},
        {"{\"features\": [1]}", "a feature is an object", 15},
        {"{\"features\": [{}]}", "the feature has no feature_type", 15},
        {"{\"features\": [{\"feature_type\": \"x\"}]}", "there is no feature_type 'x'",
         15},
        {"{\"features\": [{\"feature_type\": \"sequence_feature\"}]}",
         "there is no feature_type 'sequence_feature'", 15},
        {"{\"features\": [{\"sequence_name\": \"s\", \"features\": [2]}]}",
         "a feature is an object", 51},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bound b;
        uint32_t line = 0, col = 0;
        CHECK(!reread(rows[i].json, &b));
        CHECK(b.diags.n_errors == 1);
        if (b.diags.list.n) {
            const struct diag *g = &b.diags.list.at[0];
            CHECK_STR(g->msg, rows[i].msg);
            CHECK_INT(g->code, E1316);
            source_locate(g->at.src, g->at.off, &line, &col);
            CHECK_INT(col, rows[i].col);
        }
        bound_release(&b);
    }
}

/* What TorchEasyRec writes as two features is two here as well. */
static void some_features_are_two(void)
{
    check_print(
        IN("lookup_feature { feature_name: 'a' map: 'user:m' key: 'item:k' value_dim: 2 "
           "value_separator: '#' normalizer: 'method=log10' }"),
        "{\"features\": [{\"feature_type\": \"lookup_feature\",\"feature_name\": "
        "\"a__lookup\",\"map\": \"user:m\",\"key\": \"item:k\",\"default_value\": \"0#0\","
        "\"value_type\": \"string\",\"needDiscrete\": true,\"needKey\": false,"
        "\"combiner\": \"\",\"value_dim\": 1,\"stub_type\": true},"
        "{\"feature_type\": \"raw_feature\",\"feature_name\": \"a\",\"default_value\": "
        "\"0\",\"expression\": \"feature:a__lookup\",\"value_type\": \"float\","
        "\"value_dim\": 2,\"separator\": \"#\",\"normalizer\": \"method=log10\"}]}");
    check_print(
        IN("tokenize_feature { feature_name: 'a' expression: 'user:q' vocab_file: 'v.json' " DIM
           "text_normalizer { max_length: 9 norm_options: [TEXT_UPPER2LOWER, "
           "TEXT_REMOVE_SPACE] } }"),
        "{\"features\": [{\"feature_type\": \"text_normalizer\",\"feature_name\": "
        "\"a__text_norm\",\"expression\": \"user:q\",\"is_gbk_input\": false,"
        "\"is_gbk_output\": false,\"stub_type\": true,\"max_length\": 9,"
        "\"remove_space\": true,\"parameter\": 4},"
        "{\"feature_type\": \"tokenize_feature\",\"feature_name\": \"a\","
        "\"default_value\": \"\",\"vocab_file\": \"v.json\",\"expression\": "
        "\"feature:a__text_norm\",\"tokenizer_type\": \"bpe\",\"output_type\": "
        "\"word_id\"}]}");
}

/* The two say the same as the one. */
static void a_split_lookup_gives_the_same(void)
{
    static const char columns[] =
        "m str ca:1,2^cb:3,4 / ca:1,2^cb:3,4 / \"\"\nk str ca / cd / ca";
    static const struct vector rows[] = {
        {"lookup_feature { feature_name: 'f' map: 'user:m' key: 'item:k' value_dim: 2 }",
         columns, "d 1 2 0 0 0 0"},
        {"lookup_feature { feature_name: 'f__lookup' map: 'user:m' key: 'item:k' value_dim: 1 "
         "default_value: '0,0' need_discrete: true combiner: '' stub_type: true } ||| "
         "raw_feature { feature_name: 'f' expression: 'feature:f__lookup' separator: ',' "
         "value_dim: 2 }",
         columns, "d 1 2 0 0 0 0"},
    };
    VECTORS("FG_DAG", rows);
}

static const struct tap_case cases[] = {
    TAP(some_features_are_two), TAP(a_split_lookup_gives_the_same),
    TAP(features_are_written),  TAP(what_is_written_reads_back),
    TAP(mistakes_have_a_place),
};
TAP_MAIN(cases)
