/* SPDX-License-Identifier: Apache-2.0 */
/* FG_NONE: every row of the specification's table, and what it leaves open. */
#include "vector.h"

#define ID "id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 "
#define RAW "raw_feature { feature_name: 'f' expression: 'item:x' "
#define SEQ                                                                          \
    "sequence_id_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 " \
    "sequence_length: 2 "
#define SEQ_RAW \
    "sequence_raw_feature { feature_name: 'f' expression: 'item:x' sequence_length: 2 "
#define D(text) "fg_encoded_default_value: '" text "' }"
#define SEMI "fg_encoded_multival_sep: ';' &&&"

static const struct vector given[] = {
    {ID "}", "f str 1~2 / \"\" / N / 3", "v 1 2 3, L 2 0 0 1"},
    {ID D("0"), "f str 1~2 / \"\" / N / 3", "v 1 2 0 0 3, L 2 1 1 1"},
    {ID "}", "f i64 1 / 2 / N / 3", "v 1 2 3, L 1 1 0 1"},
    {ID D("0"), "f i32 1 / 2 / N / 3", "v 1 2 0 3, L 1 1 1 1"},
    {SEMI ID "}", "f [str] [1,2,3] / [] / N / [4]", "v 1 2 3 4, L 3 0 0 1"},
    {SEMI ID D("0"), "f [str] [1,2,3] / [] / N / [4]", "v 1 2 3 0 0 4, L 3 1 1 1"},
    {SEMI ID "weighted: true " D("0"), "f str 1:0.1;2:0.2;3:0.3 / \"\" / N / 4:0.4",
     "v 1 2 3 0 0 4, L 3 1 1 1, w .1 .2 .3 1 1 .4"},
    {SEMI ID "weighted: true }", "f str 1:0.1;2:0.2;3:0.3 / \"\" / N / 4:0.4",
     "v 1 2 3 4, L 3 0 0 1, w .1 .2 .3 .4"},
    {ID "weighted: true " D("0"), "f {i64,f32} {1:.1} / {2:.2} / N / {4:.4}",
     "v 1 2 0 4, w .1 .2 1 .4"},
    {ID "weighted: true }", "f {i64,f32} {1:.1} / {2:.2} / N / {4:.4}",
     "v 1 2 4, L 1 1 0 1"},
    {ID "weighted: true }", "f str 1:1.0 / 2:1.5~3:2.0 / 4:2.5",
     "v 1 2 3 4, L 1 2 1, w 1 1.5 2 2.5"},
    {ID "weighted: true }", "f [str] [1:1.0] / [2:1.5,3:2.0] / [4:2.5]",
     "v 1 2 3 4, L 1 2 1, w 1 1.5 2 2.5"},
    {ID "weighted: true }", "f {i32,f64} {1:1.0} / {2:1.5,3:2.0} / {4:2.5}",
     "v 1 2 3 4, L 1 2 1, w 1 1.5 2 2.5"},
    {ID "weighted: true }", "f {str,f32} {1:1.0} / {2:1.5,3:2.0} / {4:2.5}",
     "v 1 2 3 4, L 1 2 1, w 1 1.5 2 2.5"},
    {RAW D("0.1"), "f str N / 0.2 / 0.3", "d .1 .2 .3"},
    {RAW "value_dim: 2 " D("0.0\\x03"
                           "0.0"),
     "f str 0.1~0.4 / 0.2~0.5 / N / 0.3~0.6", "d .1 .4 .2 .5 0 0 .3 .6"},
    {RAW D("0"), "f i64 25304793 / 16777217 / 16777215 / N",
     "d 25304792 16777216 16777215 0"},
    {RAW "boundaries: [1, 2, 3] }", "f str 1 / \"\" / N / 3", "v 1 3, L 1 0 0 1"},
    {"lookup_feature { feature_name: 'f' map: 'user:m' key: 'item:k' value_dim: 2 " D(
         "0\\x03"
         "0"),
     "f str 1~2 / \"\" / 3~4", "d 1 2 0 0 3 4"},
    {SEQ "}", "f str 1;2 / \"\" / 3 / 4~5;6 / N",
     "v 1 2 3 4 5 6, K 1 1 1 2 1, S 2 0 1 2 0, L 2 0 1 3 0"},
    {SEQ D("0"), "f str 1;2 / \"\" / 3 / 4~5;6 / N",
     "v 1 2 0 3 4 5 6 0, K 1 1 1 1 2 1 1, S 2 1 1 2 1"},
    {SEQ D("0"), "f [[i64]] [[1],[2]] / [] / [[3]] / [[4,5],[6]] / N",
     "v 1 2 0 3 4 5 6 0, K 1 1 1 1 2 1 1, S 2 1 1 2 1"},
    {SEQ "}", "f [i64] [1,2] / [] / [3] / [4,6] / N",
     "v 1 2 3 4 6, K 1 1 1 1 1, S 2 0 1 2 0"},
    {SEQ_RAW "value_dim: 2 " D("0\\x03"
                               "0"),
     "f str 0.1~1.1;0.2~1.2 / \"\" / 0.3~1.3", "d .1 1.1 .2 1.2 0 0 .3 1.3, S 2 1 1"},
};

static void the_table_holds(void)
{
    VECTORS("FG_NONE", given);
}

static void masked_rows_are_missing(void)
{
    static const struct vector rows[] = {
        {ID "use_mask: true }", "f str 1~2 / \"\" / N / 3", "v 3, L 0 0 0 1"},
        {ID "use_mask: true num_buckets: 9 default_value: '7' }",
         "f str 1~2 / \"\" / N / 3", "v 7 7 7 3, L 1 1 1 1"},
        {ID "}", "f str 1~2 / \"\" / N / 3", "v 1 2 3, L 2 0 0 1"},
    };
    static const uint8_t mask[] = {1, 0, 0, 0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        vector_check(&rows[i], "FG_NONE", false, mask, NULL);
}

static void what_the_table_leaves_open(void)
{
    static const struct vector rows[] = {
        /* lists of numbers are cast, nulls in them left out */
        {ID "}", "f [f64] [1.9,-2.9] / [3]", "v 1 -2 3, L 2 1"},
        {ID "}", "f [i64] [1,N,2] / [N]", "v 1 2, L 2 0"},
        {RAW "value_dim: 2 }", "f [i32] [1,2] / [3,4]", "d 1 2 3 4"},
        /* a weight that is not there is 1; the last colon counts */
        {ID "weighted: true }", "f str 5 / 6:2", "v 5 6, w 1 2"},
        /* an integer is a sequence of one step; an empty step holds the default or
           nothing */
        {SEQ "}", "f i64 7 / N", "v 7, K 1, S 1 0"},
        {SEQ "}", "f str 1;;2", "v 1 2, K 1 0 1, S 3"},
        {SEQ D("9"), "f str 1;;2", "v 1 9 2, K 1 1 1, S 3"},
        {SEQ D("9"), "f [[i64]] [[1],[]] / [[]]", "v 1, K 1 0 0, S 2 1"},
        {SEQ D("8\\x03"
               "9"),
         "f str \"\" / 1", "v 8 9 1, K 2 1, S 1 1"},
        /* value_dim and sequence_length cut nothing */
        {SEQ "}", "f str 1;2;3;4", "v 1 2 3 4, S 4"},
        {SEQ_RAW "}", "f str 1;2 / N / 3", "d 1 2 3, S 2 0 1"},
        {SEQ_RAW "}", "f [f32] [1,2] / [] / [3]", "d 1 2 3, S 2 0 1"},
        {ID "}", "f str -5 / +6", "v -5 6"},
        {RAW "value_dim: 3 " D("1.5"), "f str N", "d 1.5 1.5 1.5"},
        {"fg_encoded_multival_sep: '::' &&&" ID "}", "f str 1::2 / 3", "v 1 2 3, L 2 1"},
    };
    VECTORS("FG_NONE", rows);
}

static void mistakes_are_named(void)
{
    static const struct vector rows[] = {
        {ID "}", "f str 1 / 2~x",
         "error: feature 'f' (t:3): column 'f', row 1: 'x' is not an integer of 64 bits"},
        {ID "}", "f str 9223372036854775808",
         "error: feature 'f' (t:3): column 'f', row 0: '9223372036854775808' is not an integer "
         "of 64 bits"},
        {ID "}", "f str 1~~2",
         "error: feature 'f' (t:3): column 'f', row 0: '' is not an integer of 64 bits"},
        {ID "weighted: true }", "f str 1:x",
         "error: feature 'f' (t:3): column 'f', row 0: weight 'x' is not a number"},
        {ID "}", "f f64 1.5",
         "error: feature 'f' (t:3): column 'f': type double cannot be read here"},
        {ID "}", "f {str,f32} {1:2}",
         "error: feature 'f' (t:3): column 'f': type map<string,float> cannot be read here"},
        {ID "}", "f [[i64]] [[1]]",
         "error: feature 'f' (t:3): column 'f': type list<list<int64>> cannot be read here"},
        {RAW "}", "f str 0.5 / N",
         "error: feature 'f' (t:3): column 'f', row 1: the value is missing, and there is no "
         "fg_encoded_default_value"},
        {RAW "}", "f str 0x10",
         "error: feature 'f' (t:3): column 'f', row 0: '0x10' is not a number"},
        {RAW "value_dim: 2 }", "f str 1~2 / 3",
         "error: feature 'f' (t:3): column 'f', row 1: 1 values, and value_dim is 2"},
        {ID D("a"), "f str 1",
         "error: feature 'f': fg_encoded_default_value 'a' is not made of integers"},
        {RAW "value_dim: 3 " D("1\\x03"
                               "2"),
         "f str 1",
         "error: feature 'f': fg_encoded_default_value '1\x03"
         "2' is not a number or 3 "
         "numbers"},
        {ID "}", "g str 1",
         "error: there is no column 'f', which feature 'f' reads, in the data"},
    };
    VECTORS("FG_NONE", rows);
}

static const struct tap_case cases[] = {
    TAP(the_table_holds),
    TAP(masked_rows_are_missing),
    TAP(what_the_table_leaves_open),
    TAP(mistakes_are_named),
};
TAP_MAIN(cases)
