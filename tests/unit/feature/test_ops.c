/* SPDX-License-Identifier: Apache-2.0 */
/* The other kinds: the specification's tables 12.6 to 12.8, and what they leave open. */
#include "vector.h"

#define DEF(text) "default_value: '" text "' }"
#define GROUP(inside)                                                                \
    "sequence_feature { sequence_name: 's' sequence_length: 50 sequence_delim: ';' " \
    "features { " inside " } }"
#define B4 "boundaries: [-0.5, 0.5, 1.5, 2.5] "

/* ---- lookup ---- */

#define LOOKUP "lookup_feature { feature_name: 'f' map: 'user:m' key: 'item:k' "
#define MAPS \
    "m str ca:1^cb:2 / ca:1^cb:2 / ca:1^cb:2 / ca:1^cb:2 / ca:1^cb:2 / \"\" / \"\"\n"
#define KEYS "k str ca^cb / ca / ca^cd / cd / \"\" / ca / \"\""
#define LETTERS \
    "m str ca:x^cb:y / ca:x^cb:y / ca:x^cb:y / ca:x^cb:y / ca:x^cb:y / \"\" / \"\"\n"
#define VECTORS_OF \
    "m str ca:1,2^cb:3,4 / ca:1,2^cb:3,4 / ca:1,2^cb:3,4 / \"\" / ca:1,2^cb:3,4\n"

static const struct vector lookups[] = {
    {LOOKUP "}", MAPS KEYS, "d 3 1 1 0 0 0 0"},
    {LOOKUP "}",
     "m {str,f32} {ca:1,cb:2} / {ca:1,cb:2} / {ca:1,cb:2} / {ca:1,cb:2} / {ca:1} / {} / N\n"
     "k [str] [ca,cb] / [ca] / [ca,cd] / [cd] / [] / [ca] / N",
     "d 3 1 1 0 0 0 0"},
    {LOOKUP "combiner: 'mean' }", MAPS KEYS, "d 1.5 1 1 0 0 0 0"},
    {LOOKUP "value_dim: 2 }", VECTORS_OF "k str ca / cd / \"\" / ca / \"\"",
     "d 1 2 0 0 0 0 0 0 0 0"},
    {LOOKUP B4 "}", MAPS KEYS, "v 4 2 2 1 1 1 1"},
    {LOOKUP B4 "combiner: 'mean' }", MAPS KEYS, "v 3 2 2 1 1 1 1"},
    {LOOKUP B4 "combiner: '' }", MAPS KEYS, "v 2 3 2 2 1 1 1 1, L 2 1 1 1 1 1 1"},
    {LOOKUP "num_buckets: 10 " DEF(""), MAPS KEYS, "v 1 2 1 1, L 2 1 1 0 0 0 0"},
    {LOOKUP "num_buckets: 10 " DEF("0"), MAPS KEYS, "v 1 2 1 1 0 0 0 0"},
    {LOOKUP "hash_bucket_size: 100 " DEF(""), LETTERS KEYS, "v 35 30 35 35"},
    {LOOKUP "hash_bucket_size: 100 " DEF("z"), LETTERS KEYS, "v 35 30 35 35 54 54 54 54"},
    {GROUP(LOOKUP B4 "}"),
     MAPS "s__k str ca^cb;ca / ca / ca^cd;ce / cd / \"\" / ca / \"\"",
     "v 4 2 2 2 1 1 1 1 1, S 2 1 2 1 1 1 1"},
    {GROUP(LOOKUP "}"), MAPS "s__k str ca^cb;ca / ca / ca^cd / cd / \"\" / ca / \"\"",
     "d 3 1 1 1 0 0 0 0, S 2 1 1 1 1 1 1"},
    {GROUP(LOOKUP "value_dim: 2 }"),
     VECTORS_OF "s__k str ca;cb / cd;ca / \"\" / ca / \"\"",
     "d 1 2 3 4 0 0 1 2 0 0 0 0 0 0, S 2 2 1 1 1"},
};

static void lookups_match(void)
{
    static const struct vector dag[] = {
        {"id_feature { feature_name: 'q' expression: 'item:x' stub_type: true embedding_dim: 4 } "
         "||| lookup_feature { feature_name: 'f' map: 'user:m' key: 'feature:q' }",
         "m str 1:0.1^3:0.2 / \"\" / 1:0.1^3:0.2\nx i64 1 / 2 / 3", "d .1 0 .2"},
        {"lookup_feature { feature_name: 'f' map: 'user:m' key: 'item:x' }",
         "m str 1:0.1^3:0.2 / \"\" / 1:0.1^3:0.2\nx i64 1 / 2 / 3", "d .1 0 .2"},
        {"lookup_feature { feature_name: 'f' map: 'user:m' key: 'const:1' }",
         "m str 1:0.1^3:0.2 / \"\" / 1:0.1^3:0.2", "d .1 0 .1"},
    };
    FG_VECTORS(lookups);
    VECTORS("FG_DAG", dag);
}

static void lookups_left_open(void)
{
    static const struct vector rows[] = {
        {LOOKUP "combiner: 'min' }", MAPS KEYS, "d 1 1 1 0 0 0 0"},
        {LOOKUP "combiner: 'max' }", MAPS KEYS, "d 2 1 1 0 0 0 0"},
        /* whole numbers are combined before they become an id */
        {LOOKUP "num_buckets: 10 fg_value_type: 'int64' " DEF("0"), MAPS KEYS,
         "v 3 1 1 0 0 0 0, L 1 1 1 1 1 1 1"},
        {LOOKUP "num_buckets: 10 fg_value_type: 'int64' combiner: 'max' " DEF("0"),
         MAPS KEYS, "v 2 1 1 0 0 0 0"},
        {LOOKUP "num_buckets: 10 fg_value_type: 'int64' combiner: '' " DEF(""), MAPS KEYS,
         "v 1 2 1 1, L 2 1 1 0 0 0 0"},
        {LOOKUP "num_buckets: 10 fg_value_type: 'string' " DEF("0"), MAPS KEYS,
         "v 1 2 1 1 0 0 0 0"},
        {LOOKUP "combiner: 'count' }", MAPS KEYS, "d 2 1 1 0 0 0 0"},
        {LOOKUP "combiner: 'gap_min' }", "m str a:1^b:4^c:6\nk str a^b^c", "d 2"},
        {LOOKUP "combiner: 'gap_max' }", "m str a:1^b:4^c:6\nk str a^b^c", "d 3"},
        /* of a key that appears twice the last one counts, also in a long map */
        {LOOKUP "}", "m str a:1^a:2\nk str a", "d 2"},
        {LOOKUP "}",
         "m str a:1^b:1^c:1^d:1^e:1^f:1^g:1^h:1^i:1^j:1^k:1^l:1^m:1^a:5^n:7\nk str a^n^o",
         "d 12"},
        /* <key>_<value> */
        {LOOKUP "need_key: true vocab_list: ['ca_x', 'cb_y'] " DEF(""), LETTERS KEYS,
         "v 2 3 2 2"},
        /* the value begins behind the first colon */
        {LOOKUP "vocab_list: ['b:c'] " DEF(""), "m str a:b:c\nk str a", "v 2"},
        {LOOKUP "value_dim: 2 value_separator: '|' default_value: '7' }",
         "m str a:1|2 / N\nk str a / a", "d 1 2 7 7"},
        {LOOKUP
         "normalizer: 'method=zscore,mean=1,standard_deviation=2' default_value: '9' }",
         "m str a:3 / N\nk str a / a", "d 1 9"},
        {LOOKUP "}", "m {i64,i64} {5:7}\nk str 5", "d 7"},
        {LOOKUP "}", "m str a:x\nk str a",
         "error: feature 'f' (t:3): column 'm', row 0: 'x' is not a number"},
        {LOOKUP "value_dim: 2 }", "m str a:1,2,3\nk str a",
         "error: feature 'f' (t:3), row 0: 3 values, and value_dim is 2"},
    };
    FG_VECTORS(rows);
}

/* ---- match ---- */

#define MATCH                                                                         \
    "match_feature { feature_name: 'match_feat' nested_map: 'user:m' pkey: 'item:p' " \
    "skey: 'item:s' "
#define NESTED                                                                                 \
    "m lit ca^ba:1,bb:2|cb^ba:3,bb:4 / ca^ba:1,bb:2|cb^ba:3,bb:4 / ca^ba:1,bb:2|cb^ba:3,bb:4 " \
    "/ \"\" / \"\"\n"
#define PS "p str ca / ca / \"\" / ca / N\ns str ba / \"\" / \"\" / ba / N"

static const struct vector matches[] = {
    {MATCH "}", NESTED PS, "d 1 0 0 0 0"},
    {MATCH B4 "}", NESTED PS, "v 2 1 1 1 1"},
    {MATCH B4 DEF(""), NESTED PS, "v 2, L 1 0 0 0 0"},
    {MATCH "num_buckets: 10 " DEF(""), NESTED PS, "v 1"},
    {MATCH "num_buckets: 10 " DEF("0"), NESTED PS, "v 1 0 0 0 0"},
    {MATCH "hash_bucket_size: 100 " DEF(""), NESTED PS, "v 71"},
    {MATCH "hash_bucket_size: 100 " DEF("z"), NESTED PS, "v 71 54 54 54 54"},
};

#define ALL(p, s) \
    "match_feature { feature_name: 'f' nested_map: 'user:m' pkey: '" p "' skey: '" s "' "

static void matches_match(void)
{
    static const struct vector open[] = {
        /* ALL fits everything, in the order of the map */
        {ALL("ALL", "item:s") "num_buckets: 10 " DEF(""), NESTED PS,
         "v 1 3, L 2 0 0 0 0"},
        {ALL("item:p", "ALL") "num_buckets: 10 " DEF(""), NESTED PS,
         "v 1 2 1 2, L 2 2 0 0 0"},
        {ALL("ALL", "ALL") "num_buckets: 10 " DEF(""), "m lit ca^ba:1,bb:2|cb^ba:3",
         "v 1 2 3"},
        /* of several numbers the first */
        {ALL("ALL", "ALL") "}", "m lit ca^ba:1,bb:2|cb^ba:3", "d 1"},
        /* vocabularies see the value, behind the keys that are shown */
        {MATCH "vocab_list: ['1'] " DEF(""), NESTED PS, "v 2"},
        {MATCH "show_pkey: true show_skey: true vocab_list: ['ca_ba_1'] " DEF(""),
         NESTED PS, "v 2"},
        {MATCH "}", "m {str,lit} {ca:ba:1} / N\np str ca / ca\ns str ba / ba", "d 1 0"},
        {MATCH "}", "m lit a^b:x\np str a\ns str b",
         "error: feature 'match_feat' (t:3): column 'm', row 0: 'x' is not a number"},
    };
    FG_VECTORS(matches);
    FG_VECTORS(open);
}

/* ---- expr ---- */

#define EXPR(formula)                                                                        \
    "expr_feature { feature_name: 'f' variables: ['user:a', 'item:b'] expression: '" formula \
    "' "
static const struct vector formulas[] = {
    {EXPR("a+b") DEF("0.1"), "a str 0.2 / \"\" / 0.3 / N\nb f32 .2 / .2 / .2 / .2",
     "d .4 .1 .5 .1"},
    {EXPR("a+b") DEF("0.1"), "a f64 .2\nb f64 .2 / .2 / .2 / .2", "d .4 .4 .4 .4"},
    {EXPR("a+b") DEF("0.1"), "a f64 .2 / .1 / .3 / N\nb f64 .2", "d .4 .3 .5 .1"},
    {EXPR("a+b") "boundaries: [0.15, 0.25, 0.35] " DEF("0.1"),
     "a f64 .2 / .1 / .3 / N\nb f64 .2 / .2 / .2 / .2", "v 3 2 3 0"},
    {EXPR("a+b") "boundaries: [0.15, 0.25, 0.35] " DEF(""),
     "a str 0.2 / \"\" / 0.3\nb f64 .2 / .2 / .2", "v 3 3, L 1 0 1"},
    {EXPR("dot(a,b)") "boundaries: [0.05, 0.1, 0.15] " DEF("0.1"),
     "a [f64] [.2,.3] / [.1,.2] / [.3,.4] / []\nb [f64] [.2,.2]", "v 2 1 2 2"},
    {EXPR("dot(a,b)") "boundaries: [0.05, 0.1, 0.15] " DEF(""),
     "a str 0.2^0.2 / \"\" / 0.3^0.4\nb str 0.2^0.2", "v 1 2, L 1 0 1"},
    {EXPR("dot(a,b)") "separator: ',' boundaries: [0.05, 0.1, 0.15] " DEF(""),
     "a str 0.2,0.2 / \"\" / 0.3,0.4\nb str 0.2,0.2", "v 1 2, L 1 0 1"},
};

static void formulas_match(void)
{
    static const struct vector open[] = {
        {EXPR("a*b") "value_dim: 3 }", "a [f64] [1,2,3]\nb f32 2", "d 2 4 6"},
        {EXPR("a+b") "value_dim: 3 fill_missing: 10 }", "a [f64] [1,2,3]\nb [f64] [1,2]",
         "d 2 4 13"},
        {EXPR("reduce_sum(a)/len(b)") "}", "a [i64] [1,2,3] / []\nb [i64] [1,2] / [1]",
         "d 3 0"},
        /* 64-bit integers keep their digits until the result is rounded */
        {EXPR("a-b") "}", "a i64 1700000000123\nb i64 1700000000000", "d 123"},
        {EXPR("a+b") "}", "a [f64] [1,2]\nb f64 1",
         "error: feature 'f' (t:3), row 0: 2 values, and value_dim is 1"},
        {EXPR("a+") "}", "a f64 1\nb f64 1",
         "error: feature 'f': formula 'a+', character 3: the formula ends where a value is "
         "missing"},
        {EXPR("a+c") "}", "a f64 1\nb f64 1",
         "error: feature 'f': formula 'a+c', character 3: there is no variable 'c'; did you mean "
         "'a'?"},
        {"sequence_expr_feature { feature_name: 'f' variables: ['user:a', 'item:b'] expression: "
         "'a-b' sequence_length: 9 }",
         "a f64 10 / 20 / N\nb str 1;2 / \"\" / 3", "d 9 8 0 0, S 2 1 1"},
    };
    FG_VECTORS(formulas);
    FG_VECTORS(open);
}

/* ---- overlap, kv_dot_product, bool_mask, combine ---- */

#define OVERLAP(method)                                                                    \
    "overlap_feature { feature_name: 'f' query: 'user:q' title: 'item:t' method: '" method \
    "' "
#define ROWS3                              \
    "q str abc^efg / abc^efg / \"\" / N\n" \
    "t str abc^qwe^rty^uio / abc^efg^rty / abc / \"\""

static void overlaps_match(void)
{
    static const struct vector rows[] = {
        {OVERLAP("query_common_ratio") "}", ROWS3, "d .5 1 0 0"},
        {OVERLAP("title_common_ratio") "}",
         "q str abc^efg / abc^efg\nt str abc^qwe^rty^uio / abc", "d .25 1"},
        {OVERLAP("is_contain") "}", ROWS3, "d 0 1 0 0"},
        {OVERLAP("is_equal") "}", "q str abc^efg / abc^efg\nt str abc^efg^rty / abc^efg",
         "d 0 1"},
        {OVERLAP("query_common_ratio") "boundaries: [0.25, 0.75] }", ROWS3, "v 1 2 0 0"},
        /* left open: contiguous, terms counted as often as they occur */
        {OVERLAP("is_contain") "}", "q str a^c / b^c\nt str a^b^c / a^b^c", "d 0 1"},
        {OVERLAP("index_of") "}", "q str b^c / c^b / a\nt str a^b^c / a^b^c / a",
         "d 1 -1 0"},
        {OVERLAP("query_common_ratio") "}", "q str a^a^b\nt str a", "d .6666667"},
        {OVERLAP("title_common_ratio") "}", "q str a\nt str a^a^b", "d .6666667"},
        {OVERLAP("proximity_min_cover") "}",
         "q str a^b / a^b / z\nt str a^x^b^a / b^x / x", "d 2 1 0"},
        {OVERLAP("proximity_min_dist") "}",
         "q str a^b^c / a / z\nt str a^x^b^c / a^b / x", "d 1 3 2"},
        {OVERLAP("proximity_max_dist") "}", "q str a^b^c\nt str a^x^b^c", "d 3"},
        {OVERLAP("proximity_avg_dist") "}", "q str a^b^c\nt str a^x^b^c", "d 2"},
        {OVERLAP("is_equal") "}", "q [i64] [1,2]\nt [str] [1,2]", "d 1"},
    };
    FG_VECTORS(rows);
}

#define KV \
    "kv_dot_product { feature_name: 'f' query: 'user:q' document: 'item:d' separator: '|' "
#define KV_ROWS \
    "q str a:0.5|b:0.5 / a|b|c / a|b / N\nd str a:0.5|b:0.5 / a|b / \"\" / \"\""

static void dot_products_match(void)
{
    static const struct vector rows[] = {
        {KV DEF("0.1"), KV_ROWS, "d .5 2 .1 .1"},
        {KV DEF("0.1"),
         "q [str] [a:0.5,b:0.5] / [a,b,c] / [a,b] / N\nd [str] [a:0.5,b:0.5] / [a,b] / [] / []",
         "d .5 2 .1 .1"},
        {KV DEF("0.1"),
         "q {str,f32} {a:0.5,b:0.5} / {a:1,b:1,c:1} / {a:1} / N\n"
         "d {str,f64} {a:0.5,b:0.5} / {a:1,b:1} / {} / N",
         "d .5 2 .1 .1"},
        {KV "boundaries: [0.05, 0.15, 1.0] " DEF("0.1"), KV_ROWS, "v 2 3 1 1"},
        {KV "boundaries: [0.05, 0.15, 1.0] " DEF(""), KV_ROWS, "v 2 3 0 0"},
        {KV "}", "q str a:0.5|b:0.5\nd str d:0.5|b:0.5", "d .25"},
        {KV "}", "q [str] [a,b,c]\nd {str,f32} {a:.5,b:.5}", "d 1"},
        /* left open: nothing in common is 0, not the default */
        {KV DEF("7"), "q str a\nd str b", "d 0"},
        {KV "}", "q [i64] [1,2]\nd str 2:3", "d 3"},
        {KV "}", "q str a:x\nd str a",
         "error: feature 'f' (t:3): column 'q', row 0: weight 'x' is not a number"},
    };
    FG_VECTORS(rows);
}

#define MASK(rest)                                                                           \
    "bool_mask_feature { feature_name: 'f' expression: ['item:x', 'item:k'] separator: ',' " \
    "embedding_dim: 4 " rest " }"

static void masks_match(void)
{
    static const struct vector rows[] = {
        {MASK("num_buckets: 10"), "x str 1,2,3,4\nk str true,false,true,false",
         "v 1 3, L 2"},
        {MASK("num_buckets: 10"), "x str 1 / 2 / N\nk str true / false / true",
         "v 1, L 1 0 0"},
        {MASK("num_buckets: 10"), "x str 1,2 / 3,4,5\nk str true,false / true,false,true",
         "v 1 3 5, L 1 2"},
        {MASK("hash_bucket_size: 10"),
         "x str 1,2 / 3,4,5\nk str true,false / true,false,true", "v 5 3 9"},
        {MASK("num_buckets: 10"), "x [i64] [1,2]\nk [i64] [0,1]", "v 2"},
        /* left open */
        {MASK("num_buckets: 10"), "x str 1,2,3\nk str True,FALSE",
         "error: feature 'f' (t:3): column 'k', row 0: 2 entries in the mask for 3 values"},
        {MASK("num_buckets: 10"), "x str 1\nk str yes",
         "error: feature 'f' (t:3): column 'k', row 0: 'yes' is neither true nor false"},
        {MASK("num_buckets: 10 default_value: '7'"), "x str 1 / 2\nk str 0 / N", "v 7 7"},
        {"sequence_bool_mask_feature { feature_name: 'f' expression: ['item:x', 'item:k'] "
         "separator: ',' sequence_length: 9 value_dim: 0 num_buckets: 10 embedding_dim: 4 }",
         "x str 1,2;3\nk str 0,1;0", "v 2 0, K 1 1, S 2"},
    };
    FG_VECTORS(rows);
}

#define COMBINE "combine_feature { feature_name: 'f' expression: 'user:x' "
#define MEAN "combiner: 'mean' "
#define TAGS                                                                                  \
    "value_map { key: 'tag1' value: 1 } value_map { key: 'tag2' value: 2 } value_map { key: " \
    "'tag3' value: 3 } "
#define SEQ_COMBINE                                                      \
    "sequence_combine_feature { feature_name: 'f' expression: 'user:x' " \
    "sequence_length: 9 num_buckets: 10 "

static void combined_match(void)
{
    static const struct vector rows[] = {
        {COMBINE DEF("0"), "x str 1.0^2.0 / 3.0 / \"\" / N", "d 3 3 0 0"},
        {COMBINE MEAN DEF("0"), "x str 1.0^2.0 / 3.0 / \"\" / N", "d 1.5 3 0 0"},
        {COMBINE B4 DEF("0"), "x str 1.0^2.0 / 0.0 / \"\" / N", "v 4 1 1 1"},
        {COMBINE B4 MEAN DEF("0"), "x str 1.0^2.0 / 0.0 / \"\" / N", "v 3 1 1 1"},
        {COMBINE "num_buckets: 10 " DEF("0"), "x str 1^2 / 3 / \"\" / N", "v 3 3 0 0"},
        {COMBINE "num_buckets: 10 " MEAN DEF("0"), "x str 1^2 / 3 / \"\" / N",
         "v 1 3 0 0"},
        {COMBINE "num_buckets: 10 " TAGS DEF("0"), "x str tag1^tag2 / tag3 / \"\" / N",
         "v 3 3 0 0"},
        {COMBINE "num_buckets: 10 " MEAN TAGS DEF("0"),
         "x str tag1^tag2 / tag3 / \"\" / N", "v 1 3 0 0"},
        {GROUP(COMBINE "num_buckets: 10 " TAGS DEF("0")),
         "s__x str tag1^tag2;tag1 / tag2 / \"\"", "v 3 1 2 0, S 2 1 1"},
        {GROUP(COMBINE TAGS DEF("0")), "s__x str tag1^tag2;tag1 / tag2 / \"\"",
         "d 3 1 2 0, S 2 1 1"},
        {GROUP(COMBINE "num_buckets: 10 " MEAN TAGS DEF("0")),
         "s__x str tag1^tag2;tag1 / tag2 / \"\"", "v 1 1 2 0, S 2 1 1"},
        {GROUP(COMBINE MEAN TAGS DEF("0")), "s__x str tag1^tag2;tag1 / tag2 / \"\"",
         "d 1.5 1 2 0, S 2 1 1"},
        {SEQ_COMBINE DEF(""), "x str 1^2;3 / 4 / \"\"", "v 3 3 4 0"},
        {SEQ_COMBINE DEF("0"), "x str 1^2;3 / 4 / \"\"", "v 3 3 4 0"},
        {SEQ_COMBINE MEAN DEF("0"), "x str 1^2;3 / 4 / \"\"", "v 1 3 4 0"},
        /* left open: words without a number are left out; ids outside the buckets are 0
         */
        {COMBINE TAGS DEF("9"), "x str tag1^other / other", "d 1 9"},
        {COMBINE "num_buckets: 3 }", "x [i64] [1,2] / [-1]", "v 0 0"},
        {COMBINE "combiner: 'count' }", "x [f32] [1,2,2] / []", "d 3 0"},
        {COMBINE "combiner: 'gap_max' }", "x [f32] [1,5,6] / [3]", "d 4 0"},
    };
    FG_VECTORS(rows);
}

static void bucketize_works_for_all(void)
{
    static const struct vector rows[] = {
        {LOOKUP "hash_bucket_size: 100 " DEF("z"), "f [str] [x,y] / N",
         "v 35 30 54, L 2 1"},
        {LOOKUP B4 "}", "f [f32] [1,2] / N", "v 2 3 1, L 2 1"},
        {LOOKUP "value_dim: 2 }", "f [f32] [1,2] / N", "d 1 2 0 0"},
        {"match_feature { feature_name: 'f' nested_map: 'user:m' pkey: 'item:p' skey: 'item:s' "
         "hash_bucket_size: 100 }",
         "f str match_feat_1", "v 71"},
        {COMBINE "num_buckets: 10 }", "f f32 1.5 / N / 12", "v 1 0"},
        {EXPR("a+b") B4 "}", "f f32 1 / N", "v 2 1"},
        {KV B4 "}", "f f32 1 / N", "v 2 1"},
        {MASK("num_buckets: 10"), "f str 1,2", "v 1 2"},
    };
    VECTORS("FG_BUCKETIZE", rows);
}

/* ---- custom ---- */

#define CUSTOM(op, params, in)                                                        \
    "custom_feature { feature_name: 'f' operator_name: '" op "' operator_lib_file: '" \
    "pyfg/lib/libx.so' operator_params { " params " } expression: [" in "] "
#define SEQ_CUSTOM(params, in)                                              \
    "sequence_custom_feature { feature_name: 'f' operator_name: 'SeqExpr' " \
    "operator_lib_file: 'pyfg/lib/libx.so' operator_params { " params       \
    " } expression: [" in "] sequence_length: 9 sequence_delim: '|' "
#define SPHERE "formula: 'spherical_distance'"
#define PLACES "'item:i_lng', 'item:i_lat', 'user:u_lng', 'user:u_lat'"

static void operators_match(void)
{
    static const struct vector rows[] = {
        {CUSTOM("EditDistance", "encoding: 'utf-8'", "'user:a', 'item:b'") "}",
         "a str 裙子\nb str 连衣裙", "d 3"},
        {CUSTOM("EditDistance",
                "fields { key: 'encoding' value { string_value: 'utf-8' } }",
                "'user:a', 'item:b'") "boundaries: [0, 5, 10] }",
         "a str 裙子 / N\nb str 连衣裙 / x", "v 1 1"},
        {SEQ_CUSTOM("formula: 'cur_time-clk_time_seq'",
                    "'user:cur_time', 'item:clk_time_seq'") "}",
         "cur_time str 10\nclk_time_seq str 2|3 / 4", "d 8 7 6, S 2 1"},
        {SEQ_CUSTOM("formula: 'cur_time-clk_time_seq'",
                    "'user:cur_time', 'item:clk_time_seq'") DEF("0"),
         "cur_time str 10 / N / N\nclk_time_seq str 2|3 / 4 / N", "d 8 7 0 0, S 2 1 1"},
        {SEQ_CUSTOM("formula: 'cur_time-clk_time_seq'",
                    "'user:cur_time', 'user:clk_time_seq'") "}",
         "cur_time str 10\nclk_time_seq str 2|3 / 4", "d 8 7 6, S 2 1"},
        {SEQ_CUSTOM("formula: 'cur_time-clk_time_seq'",
                    "'user:cur_time', 'user:clk_time_seq'") DEF("0"),
         "cur_time str 10 / N / N\nclk_time_seq str 2|3 / 4 / N", "d 8 7 0 0, S 2 1 1"},
        {SEQ_CUSTOM(SPHERE, PLACES) "boundaries: [0, 150, 1500] }",
         "i_lng str 113.728|116.4074 / 121.4737 / N\ni_lat str 23.002|39.9042 / 31.2304 / N\n"
         "u_lng f64 113.1057 / 116.4074 / N\nu_lat f64 22.5614 / 39.9042 / N",
         "v 1 3 2 1, S 2 1 1"},
        /* left open */
        {CUSTOM("EditDistance", "encoding: 'latin'", "'user:a', 'item:b'") "}",
         "a str 裙 / kitten\nb str x / sitting", "d 3 3"},
        {CUSTOM("RegexReplace", "regex_patten: '[0-9]+' replacement: '#'",
                "'user:a'") "vocab_list: ['a#b#'] }",
         "a str a12b3 / 7", "v 2 1"},
        {CUSTOM("RegexReplace", "regex_patten: '(' replacement: '#'", "'user:a'") "}",
         "a str a",
         "error: feature 'f': regex_patten, character 2: missing closing parenthesis"},
        {CUSTOM("EditDistance", "", "'user:a'") "}", "a str a",
         "error: feature 'f': EditDistance takes 2 inputs, not 1"},
        {CUSTOM("Nothing", "", "'user:a'") "}", "a str a",
         "error: feature 'f': there is no operator 'Nothing'"},
        {SEQ_CUSTOM(SPHERE, "'item:a', 'item:b'") "}", "a str a\nb str b",
         "error: feature 'f': spherical_distance takes lng1, lat1, lng2 and lat2"},
    };
    FG_VECTORS(rows);
}

#define PLUG(op, params, in, rest)                                                       \
    "custom_feature { feature_name: 'f' operator_name: '" op                             \
    "' operator_lib_file: 'libratio.so' operator_params { " params " } expression: [" in \
    "] " rest " }"

/* examples/custom-feature */
static void plug_ins_are_loaded(void)
{
    static const struct vector rows[] = {
        {PLUG("Ratio", "scale: 1000", "'item:a', 'item:b'", "default_value: '-1'"),
         "a f64 1 / 3 / N\nb f64 2 / 4 / 1", "d 500 750 -1"},
        {PLUG("Ratio", "fields { key: 'scale' value { number_value: 10 } }",
              "'item:a', 'item:b'", "boundaries: [1, 10]"),
         "a str 1 / 3\nb str 20 / 1", "v 0 2"},
        {PLUG("Initials", "", "'item:a'", "value_dim: 0 vocab_list: ['x', '4']"),
         "a str xy^z^xa", "v 2 1 2"},
        {PLUG("Initials", "", "'item:a'", "value_dim: 0 vocab_list: ['x', '4']"),
         "a [i64] [42,7]", "v 3 1"},
        {PLUG("Ratio", "", "'item:a', 'item:b'", ""), "a f64 1 / 3\nb f64 2 / 0",
         "error: feature 'f' (t:3), row 1: 3 divided by 0"},
        {PLUG("Ratio", "", "'item:a'", ""), "a f64 1",
         "error: feature 'f': operator 'Ratio' of 'libratio.so': Ratio takes 2 inputs, not 1"},
        {PLUG("Sum", "", "'item:a'", ""), "a f64 1",
         "error: feature 'f': operator 'Sum' of 'libratio.so': it has no operator 'Sum'"},
    };
    struct feature_options options = {.dir = TEST_PLUGIN_DIR};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        vector_check(&rows[i], "FG_NORMAL", false, NULL, &options);
        vector_check(&rows[i], "FG_DAG", true, NULL, &options);
    }
    struct vector lost = {PLUG("Ratio", "", "'item:a'", ""), "a f64 1", ""};
    struct buf out;
    struct table t;
    buf_init(&out, 4096);
    table_init(&t, lost.columns);
    vector_run("FG_DAG", lost.config, &t, NULL, &(struct feature_options){.dir = "/none"},
               &out);
    CHECK_HAS(buf_str(&out), "/none/libratio.so: cannot open shared object file");
    table_release(&t);
    buf_release(&out);
}

static const struct tap_case cases[] = {
    TAP(lookups_match),   TAP(lookups_left_open),   TAP(matches_match),
    TAP(formulas_match),  TAP(overlaps_match),      TAP(dot_products_match),
    TAP(masks_match),     TAP(combined_match),      TAP(bucketize_works_for_all),
    TAP(operators_match), TAP(plug_ins_are_loaded),
};
TAP_MAIN(cases)
