/* SPDX-License-Identifier: Apache-2.0 */
/* id_feature and combo_feature: the specification's tables 12.3 and 12.5. */
#include <unistd.h>

#include "base/fs.h"
#include "vector.h"

#define ID "id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
#define HASH ID "hash_bucket_size: 100 "
#define NUM ID "num_buckets: 100 "
#define DEF(text) "default_value: '" text "' }"
#define GROUP(inside, delim)                                                            \
    "sequence_feature { sequence_name: 's' sequence_length: 50 sequence_delim: '" delim \
    "' features { " inside " } }"
#define SEQ_ID GROUP(ID "hash_bucket_size: 100 value_dim: 0 " DEF(""), ";")

static const struct vector hashed[] = {
    {HASH DEF(""), "x str abc^efg / N / hij", "v 33 44 66, L 2 0 1"},
    {HASH DEF("xyz"), "x str abc^efg / N / hij", "v 33 44 13 66, L 2 1 1"},
    {HASH DEF("xyz"), "x [str] [abc,efg] / N / [hij]", "v 33 44 13 66, L 2 1 1"},
    {HASH DEF("xyz"), "x [str] [abc,efg] / [] / [hij]", "v 33 44 13 66, L 2 1 1"},
    {HASH DEF(""), "x i64 1 / 2 / N / 3", "v 95 70 13, L 1 1 0 1"},
    {HASH DEF("4"), "x i32 1 / 2 / N / 3", "v 95 70 56 13"},
};

#define LIST ID "vocab_list: ['abc', 'efg'] "
#define LIST0 ID "vocab_list: ['xyz', 'abc', 'efg'] default_bucketize_value: 0 "
#define KV(k, v) "vocab_dict { key: '" k "' value: " v " } "
#define DICT ID KV("abc", "2") KV("efg", "2")
#define DICT0 ID KV("abc", "1") KV("efg", "1") "default_bucketize_value: 0 "
#define DICT1 \
    ID KV("xyz", "0") KV("abc", "1") KV("efg", "1") "default_bucketize_value: 0 "
#define WORDS "x str abc^efg / \"\" / hij"

static const struct vector known[] = {
    {LIST DEF(""), WORDS, "v 2 3 1, L 2 0 1"},
    {LIST DEF("xyz"), WORDS, "v 2 3 0 1"},
    {LIST DEF("abc"), WORDS, "v 2 3 2 1"},
    {LIST0 DEF(""), WORDS, "v 1 2 0, L 2 0 1"},
    {LIST0 DEF("xyz"), WORDS, "v 1 2 0 0"},
    {DICT DEF(""), WORDS, "v 2 2 1"},
    {DICT DEF("xyz"), WORDS, "v 2 2 0 1"},
    {DICT DEF("abc"), WORDS, "v 0 2 0 1"},
    {DICT0 DEF(""), WORDS, "v 1 1 0, L 2 0 1"},
    {DICT1 DEF("xyz"), WORDS, "v 1 1 0 0"},
};

static const struct vector numbered[] = {
    {NUM DEF(""), "x str 0^1 / \"\" / 2", "v 0 1 2, L 2 0 1"},
    {NUM DEF("3"), "x str 0^1 / \"\" / 2", "v 0 1 3 2"},
    {NUM DEF("99"), "x i64 -1 / 0 / 99 / 100 / 101 / 9223372036854775807 / N",
     "v 0 0 99 0 0 0 99"},
    {NUM DEF(""), "x str +01 / 00099 / 9223372036854775808", "v 1 99 0"},
    {NUM "separator: '|' " DEF(""), "x str 1|2|1 / \"\" / N", "v 1 2 1, L 3 0 0"},
    {NUM "separator: ',' " DEF(""), "x str 1,2,1 / \"\" / N", "v 1 2 1, L 3 0 0"},
    {NUM "separator: '\\t' " DEF(""), "x str 1\t2\t1 / \"\" / N", "v 1 2 1, L 3 0 0"},
    {NUM "separator: '-' " DEF("-1"), "x str 2 / \"\" / N", "v 2 0 0"},
    {ID "num_buckets: 100000 weighted: true " DEF(""),
     "x str 123:0.5 / 1391:0.3 / N / 12:0.9^123:0.21 / \"\"",
     "v 123 1391 12 123, L 1 1 0 2 0, w .5 .3 .9 .21"},
    {ID "num_buckets: 100000 weighted: true " DEF(""),
     "x {i64,f32} {123:0.5} / {1391:0.3} / N / {12:0.9,123:0.21} / {}",
     "v 123 1391 12 123, L 1 1 0 2 0, w .5 .3 .9 .21"},
};

#define SEQ(inside) GROUP(ID inside, ";")
static const struct vector sequences[] = {
    {SEQ("hash_bucket_size: 100 value_dim: 0 " DEF("")),
     "s__x str abc^efg;hij / \"\" / hij", "v 33 44 66 26 66, K 2 1 1 1, S 2 1 1"},
    {SEQ("hash_bucket_size: 100 value_dim: 0 " DEF("xyz")),
     "s__x str abc^efg;hij / \"\" / hij", "v 33 44 66 13 66, K 2 1 1 1, S 2 1 1"},
    {SEQ("hash_bucket_size: 100 value_dim: 1 " DEF("")),
     "s__x str abc^efg;hij / \"\" / hij", "v 33 66 26 66, K 1 1 1 1"},
    {SEQ("num_buckets: 10 value_dim: 0 " DEF("")), "s__x str 1;2 / \"\" / 3 / 4^5;6",
     "v 1 2 0 3 4 5 6, K 1 1 1 1 2 1, S 2 1 1 2"},
    {SEQ("num_buckets: 10 value_dim: 0 " DEF("0")), "s__x str 1;2 / \"\" / 3 / 4^5;6",
     "v 1 2 0 3 4 5 6, K 1 1 1 1 2 1, S 2 1 1 2"},
    {SEQ("num_buckets: 10 value_dim: 0 " DEF("")), "s__x [str] [1,2] / N / [3] / [4^5,6]",
     "v 1 2 0 3 4 5 6, K 1 1 1 1 2 1, S 2 1 1 2"},
    {SEQ("num_buckets: 10 value_dim: 1 " DEF("0")), "s__x str 1;2 / \"\" / 3 / 4^5;6",
     "v 1 2 0 3 4 6"},
    {GROUP(ID "vocab_list: ['a', 'b', 'c'] " DEF("0"), "|"),
     "s__x str c||a|b|b| / \"\" / a|b||c", "v 4 0 2 3 3 0 0 2 3 0 4, S 6 1 4"},
};

#define COMBO                                                                                \
    "combo_feature { feature_name: 'f' expression: ['user:uid', 'item:iid'] embedding_dim: " \
    "4 "
#define PAIRS                                                           \
    "uid str ua^ub / uc^ud / uee^uf / ug / uh / uj / \"\" / N / \"\"\n" \
    "iid str ia^ib / ic / \"\" / id^ie / if / N / ia / ij / \"\""
#define SEQ_COMBO(inside) GROUP(COMBO "hash_bucket_size: 100 " inside, ";")
#define SEQ_PAIRS "uid str ua / \"\" / ub\ns__iid str abc^efg;hij / \"\" / hij"

static const struct vector combined[] = {
    {COMBO "hash_bucket_size: 100 }", PAIRS,
     "v 37 90 5 97 60 56 40 57 55, L 4 2 0 2 1 0 0 0 0"},
    {COMBO "hash_bucket_size: 100 " DEF("xyz"), PAIRS,
     "v 37 90 5 97 60 56 13 40 57 55 13 13 13 13, L 4 2 1 2 1 1 1 1 1"},
    {COMBO "vocab_list: ['ua_ia', 'ua_ib', 'ub_ia'] }",
     "uid str ua^ub / ua^ub / N / ua / ua\niid str ia^ib / ia / ia / ia^ib / ib",
     "v 2 3 4 1 2 4 2 3 3, L 4 2 0 2 1"},
    {SEQ_COMBO("value_dim: 0 " DEF("")), SEQ_PAIRS, "v 2 42 3 26 23, K 2 1 1 1, S 2 1 1"},
    {SEQ_COMBO("value_dim: 1 " DEF("")), SEQ_PAIRS, "v 2 3 26 23"},
    {SEQ_COMBO("value_dim: 0 " DEF("xyz")), SEQ_PAIRS, "v 2 42 3 13 23"},
};

static void hashes_match(void)
{
    FG_VECTORS(hashed);
}

static void vocabularies_match(void)
{
    FG_VECTORS(known);
}

static void numbers_match(void)
{
    FG_VECTORS(numbered);
}

static void sequences_match(void)
{
    FG_VECTORS(sequences);
}

static void combinations_match(void)
{
    FG_VECTORS(combined);
}

static void farm_hash_by_switch(void)
{
    static const struct vector rows[] = {
        {HASH DEF(""), "x str 1 / 2 / 3 / 4 / abc / efg / hij / xyz / -1 / 00099",
         "v 49 59 21 43 85 59 95 20 30 2"},
        {HASH DEF(""), "x i64 1 / -1 / 2147483647 / -9223372036854775808",
         "v 49 30 57 12"},
        {ID "zch { zch_size: 10 lfu {} } }", "x str 中文", "v 6104483040626166955"},
    };
    struct feature_options farm = {.farm_hash = true};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        vector_check(&rows[i], "FG_NORMAL", false, NULL, &farm);
        vector_check(&rows[i], "FG_NORMAL", true, NULL, &farm);
    }
}

static void zch_ids_have_63_bits(void)
{
    static const struct vector rows[] = {
        {ID "zch { zch_size: 10 lfu {} } }", "x str abc / 12345678",
         "v 3663726644998027833 890464382063271078"},
    };
    FG_VECTORS(rows);
}

/* ---- files ---- */

static char *dir;

static void write_file(const char *name, const char *text)
{
    char *path = fs_join(dir, name);
    CHECK_INT(fs_write(path, text, strlen(text), 0644, NULL), RC_OK);
    mem_free(path);
}

static void vocabulary_files_match(void)
{
    static const struct vector rows[] = {
        {ID "vocab_file: 'list' default_bucketize_value: 1 " DEF(""), WORDS,
         "v 2 3 1, L 2 0 1"},
        {ID "vocab_file: 'list_xyz' default_bucketize_value: 1 " DEF("xyz"), WORDS,
         "v 2 3 0 1"},
        {ID "vocab_file: 'dict' default_bucketize_value: 1 " DEF(""), WORDS, "v 2 2 1"},
        {ID "vocab_file: 'dict' default_bucketize_value: 1 " DEF("xyz"), WORDS,
         "v 2 2 0 1"},
        {ID "vocab_file: 'twice' default_bucketize_value: 1 " DEF(""), WORDS,
         "error: feature 'f': vocabulary '%s/twice': line 3: 'a' appears twice"},
        {ID "vocab_file: 'bad' default_bucketize_value: 1 " DEF(""), WORDS,
         "error: feature 'f': vocabulary '%s/bad': line 2: 'x' is not an id"},
        {ID "vocab_file: 'list' default_bucketize_value: 4 " DEF(""), WORDS,
         "error: feature 'f': default_bucketize_value 4 is beyond the 4 rows of 'list'"},
    };
    struct err err = {0};
    CHECK_INT(fs_temp_dir("test-feature", &dir, &err), RC_OK);
    write_file("list", "<BLK>\n<OOV>\nabc\nefg\n");
    write_file("list_xyz", "xyz\n<OOV>\nabc\nefg");
    write_file("dict", "xyz 0\n<OOV> 1\r\nabc\t2\n  efg  2  \n\n");
    write_file("twice", "a\nb\na\n");
    write_file("bad", "a 1\nb x\n");
    struct feature_options options = {.dir = dir};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct vector v = rows[i];
        char want[400];
        const char *at = strstr(v.want, "%s");
        snprintf(want, sizeof(want), "%.*s%s%s", at ? (int)(at - v.want) : 400, v.want,
                 at ? dir : "", at ? at + 2 : "");
        v.want = want;
        vector_check(&v, "FG_NORMAL", false, NULL, &options);
        vector_check(&v, "FG_DAG", true, NULL, &options);
    }
    CHECK_INT(fs_remove_all(dir, &err), RC_OK);
    mem_free(dir);
}

/* ---- what the tables leave open: docs/features.md ---- */

static void open_questions(void)
{
    static const struct vector rows[] = {
        /* empty values are left out; a row of them is missing */
        {HASH DEF(""), "x str abc^^efg^ / ^", "v 33 44, L 2 0"},
        {HASH DEF("xyz"), "x [str] [abc,\"\",N] / [\"\"]", "v 33 13, L 1 1"},
        /* elements of a list are taken whole outside sequences */
        {ID "vocab_list: ['a^b', 'a'] " DEF(""), "x [lit] [a^b] / [a]", "v 2 3"},
        /* value_dim keeps the first ones */
        {HASH "value_dim: 1 " DEF(""), "x str abc^efg / hij", "v 33 66, L 1 1"},
        {HASH "value_dim: 1 " DEF(""), "x [str] [abc,efg] / [hij]", "v 33 66, L 1 1"},
        /* floats under num_buckets are cut to integers, as text they are shortest
           decimals */
        {NUM DEF(""), "x f64 1.9 / -0.5 / 7", "v 1 0 7"},
        {ID "vocab_list: ['0.1', '2'] " DEF(""), "x f32 0.1 / 2", "v 2 3"},
        {ID "vocab_list: ['0.1', '2'] " DEF(""), "x [f64] [0.1,2]", "v 2 3"},
        /* a default is one text and is not split */
        {ID "vocab_list: ['1|2'] separator: '|' " DEF("1|2"), "x str N / 1", "v 2 1"},
        /* lists of lists are flattened outside sequences */
        {NUM DEF(""), "x [[i64]] [[1,2],[3]] / [[]]", "v 1 2 3, L 3 0"},
        /* weights: none is 1, the last colon counts, defaults weigh 1 */
        {ID "vocab_list: ['a:b', 'c'] weighted: true " DEF("c"), "x str c / a:b:2 / N",
         "v 3 2 3, w 1 2 1"},
        /* sequence_length keeps the first steps */
        {"sequence_id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
         "sequence_length: 2 num_buckets: 9 }",
         "x str 1;2;3 / 4", "v 1 2 4, S 2 1"},
        {"sequence_id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
         "sequence_length: 2 num_buckets: 9 }",
         "x [i64] [1,2,3] / [4]", "v 1 2 4, S 2 1"},
        /* a delimiter of several characters; a number is a sequence of one step */
        {"sequence_id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
         "sequence_length: 9 sequence_delim: '--' num_buckets: 9 }",
         "x str 1--2-- / 4", "v 1 2 0 4, S 3 1"},
        {"sequence_id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
         "sequence_length: 9 num_buckets: 9 }",
         "x i64 5 / N", "v 5 0, S 1 1"},
        /* one row stands for all */
        {HASH DEF(""), "x str abc^efg\ny i64 1 / 2", "v 33 44 33 44, L 2 2"},
        {"sequence_id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
         "sequence_length: 3 num_buckets: 9 separator: ',' value_dim: 0 }",
         "x str 1,2;3;4;5\ny i64 1 / 2 / 3",
         "v 1 2 3 4 1 2 3 4 1 2 3 4, L 4 4 4, S 3 3 3, K 2 1 1 2 1 1 2 1 1"},
        {COMBO "hash_bucket_size: 100 }", "uid str ua\niid str ia / ib / N",
         "v 37 90, L 1 1 0"},
    };
    FG_VECTORS(rows);
}

static void booleans_and_times_are_whole_numbers(void)
{
    static const struct vector rows[] = {
        {NUM DEF(""), "x bool 1 / 0 / N", "v 1 0, L 1 1 0"},
        {ID "vocab_list: ['0', '1'] " DEF(""), "x bool 1 / 0", "v 3 2"},
        {NUM DEF(""), "x ms 7999 / N / 0", "v 7 0, L 1 0 1"},
        {NUM DEF(""), "x us 7999999", "v 7"},
        {NUM DEF(""), "x [ns] [7999999999,1000000000]", "v 7 1"},
        {ID "num_buckets: 90000 " DEF(""), "x days 1 / 0", "v 86400 0"},
    };
    FG_VECTORS(rows);
}

static void mistakes_are_named(void)
{
    static const struct vector rows[] = {
        {NUM DEF(""), "x str 1 / 2^2.5",
         "error: feature 'f' (t:3): column 'x', row 1: '2.5' is not an integer"},
        {NUM DEF("x"), "x str 1",
         "error: feature 'f': default_value 'x' is not an integer"},
        {NUM "separator: '|' " DEF("1|2"), "x str 1",
         "error: feature 'f': default_value '1|2' is not an integer"},
        {HASH DEF(""), "x clock 1",
         "error: feature 'f' (t:3): column 'x': type time[us] cannot be read here"},
        {HASH DEF(""), "x {str,f32} {a:1}",
         "error: feature 'f' (t:3): column 'x': type map<string,float> cannot be read here"},
        {HASH "weighted: true " DEF(""), "x str a:1 / a:b",
         "error: feature 'f' (t:3): column 'x', row 1: weight 'b' is not a number"},
        {ID "}", "x str a", "error: feature 'f' has no way to make ids"},
    };
    FG_VECTORS(rows);
}

static const struct tap_case cases[] = {
    TAP(hashes_match),         TAP(vocabularies_match),
    TAP(numbers_match),        TAP(sequences_match),
    TAP(combinations_match),   TAP(farm_hash_by_switch),
    TAP(zch_ids_have_63_bits), TAP(vocabulary_files_match),
    TAP(open_questions),       TAP(booleans_and_times_are_whole_numbers),
    TAP(mistakes_are_named),
};
TAP_MAIN(cases)
