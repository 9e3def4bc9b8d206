/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: columns, rows of tables, modes, dependencies, labels, memory. */
#include "vector.h"

#define ID(name, rest)                                              \
    "id_feature { feature_name: '" name "' expression: 'user:" name \
    "' embedding_dim: 4 " rest " } "
#define IN(x) "feature_configs { " x " } "

struct made {
    struct bound b;
    struct feature_plan *p;
    struct err err;
};

static bool make(struct made *m, const char *text, const struct feature_options *o)
{
    *m = (struct made){0};
    if (!bound_init(&m->b, text)) {
        bound_print(&m->b);
        return false;
    }
    return feature_plan_create(m->b.conf, o, &m->p, &m->b.diags, &m->err) == RC_OK;
}

static void unmake(struct made *m)
{
    feature_plan_destroy(m->p);
    bound_release(&m->b);
}

static void check_columns(const char *text, const char *want)
{
    struct made m;
    struct buf out;
    size_t n = 0;
    buf_init(&out, 4096);
    CHECK(make(&m, text, NULL));
    const struct feature_column *c = m.p ? feature_plan_columns(m.p, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s%s%s", i ? " " : "", c[i].name,
                   c[i].use == FEATURE_LABEL    ? "!"
                   : c[i].use == FEATURE_WEIGHT ? "?"
                                                : "");
    CHECK_STR(buf_str(&out), want);
    buf_release(&out);
    unmake(&m);
}

#define FEATURES                                                                              \
    IN(ID("a", "num_buckets: 5"))                                                             \
    IN("combo_feature { feature_name: 'c' expression: ['user:a', 'item:b'] "                  \
       "hash_bucket_size: 9 embedding_dim: 4 }")                                              \
    IN("sequence_feature { sequence_name: 's' sequence_length: 3 sequence_delim: ';' "        \
       "features { id_feature { feature_name: 'i' expression: 'item:cat_b' embedding_dim: 4 " \
       "num_buckets: 7 } } features { combo_feature { feature_name: 'k' expression: "         \
       "['user:id_str', 'item:iid_str'] hash_bucket_size: 9 embedding_dim: 4 } } }")          \
    IN("sequence_id_feature { feature_name: 'p' expression: 'item:seq' sequence_length: 3 "   \
       "num_buckets: 7 embedding_dim: 4 }")
#define TARGETS "label_fields: ['clk', 'buy'] sample_weight_fields: ['wt'] "

static void each_mode_reads_its_columns(void)
{
    check_columns("data_config { fg_mode: FG_NORMAL " TARGETS "}" FEATURES,
                  "a b s__cat_b id_str s__iid_str seq clk! buy! wt?");
    check_columns("data_config { fg_mode: FG_DAG }" FEATURES,
                  "a b s__cat_b id_str s__iid_str seq");
    check_columns("data_config { fg_mode: FG_NONE }" FEATURES, "a c s__i s__k p");
    check_columns("data_config { fg_mode: FG_BUCKETIZE }" FEATURES, "a c s__i s__k p");
}

static void tables_have_rows(void)
{
    static const struct {
        const char *feature;
        uint64_t rows;
    } rows[] = {
        {ID("f", "hash_bucket_size: 100"), 100},
        {ID("f", "num_buckets: 7"), 7},
        {ID("f", "zch { zch_size: 10 lfu {} }"), 10},
        {ID("f", "dynamicemb { max_capacity: 12 }"), 12},
        {ID("f", "vocab_list: ['abc', 'efg']"), 4},
        {ID("f", "vocab_list: ['x', 'abc', 'efg'] default_bucketize_value: 0"), 3},
        {ID("f", "vocab_dict { key: 'a' value: 2 } vocab_dict { key: 'b' value: 2 }"), 3},
        {ID("f", "vocab_dict { key: 'a' value: 1 } default_bucketize_value: 0"), 2},
        {"raw_feature { feature_name: 'f' expression: 'user:f' boundaries: [1, 2, 3] }",
         4},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct made m;
        char text[600];
        snprintf(text, sizeof(text),
                 "data_config { fg_mode: FG_DAG } feature_configs { %s }",
                 rows[i].feature);
        CHECK(make(&m, text, NULL));
        if (m.p)
            CHECK_INT(feature_plan_info(m.p, 0)->rows, rows[i].rows);
        unmake(&m);
    }
}

static void bucketize_starts_at_the_value(void)
{
    static const struct vector rows[] = {
        {ID("f", "hash_bucket_size: 100 default_value: 'xyz'"), "f str abc^efg / N / hij",
         "v 33 44 13 66, L 2 1 1"},
        {ID("f", "hash_bucket_size: 100"), "f [str] [abc,efg] / N / [hij]",
         "v 33 44 66, L 2 0 1"},
        {"combo_feature { feature_name: 'f' expression: ['user:a', 'item:b'] "
         "hash_bucket_size: 100 embedding_dim: 4 }",
         "f [str] [ua_ia,ua_ib] / []", "v 37 90, L 2 0"},
        {"raw_feature { feature_name: 'f' expression: 'user:a' boundaries: [1, 2] "
         "normalizer: 'method=log10' }",
         "f f32 0.5 / 1 / 2.5", "v 0 1 2"},
        {"raw_feature { feature_name: 'f' expression: 'user:a' normalizer: 'method=log10' "
         "value_dim: 2 }",
         "f [f32] [10,100] / N", "d 10 100 0 0"},
        {"sequence_id_feature { feature_name: 'f' expression: 'item:seq' sequence_length: 3 "
         "num_buckets: 7 embedding_dim: 4 }",
         "f [str] [1,2,3,4] / N", "v 1 2 3 0, S 3 1"},
        {ID("f", "num_buckets: 10 weighted: true"), "f {str,f32} {1:0.5,2:2} / N",
         "v 1 2, w .5 2, L 2 0"},
        {ID("f", "hash_bucket_size: 100") "|||" ID("g", "num_buckets: 3 stub_type: true"),
         "f str abc", "v 33"},
    };
    VECTORS("FG_BUCKETIZE", rows);
}

static void features_read_features(void)
{
    static const struct vector rows[] = {
        /* A 12.5 */
        {"sequence_id_feature { feature_name: 'q' expression: 'item:x' sequence_length: 9 "
         "embedding_dim: 4 stub_type: true } ||| combo_feature { feature_name: 'f' expression: "
         "['feature:q', 'user:y'] hash_bucket_size: 100 embedding_dim: 4 }",
         "x str 10;11;12 / 13 / \"\"\ny i64 1 / 2 / 3", "v 93 23 25 38 12, L 3 1 1"},
        /* the same with ids, and written before what it reads */
        {"combo_feature { feature_name: 'f' expression: ['feature:q', 'user:y'] "
         "hash_bucket_size: 100 embedding_dim: 4 } ||| sequence_id_feature { feature_name: 'q' "
         "expression: 'item:x' sequence_length: 9 num_buckets: 100 embedding_dim: 4 stub_type: "
         "true }",
         "x str 10;11;12 / 13 / \"\"\ny i64 1 / 2 / 3", "v 93 23 25 38 12, L 3 1 1"},
        /* steps stay steps where both are sequences */
        {"sequence_id_feature { feature_name: 'q' expression: 'item:x' sequence_length: 9 "
         "embedding_dim: 4 stub_type: true value_dim: 0 } ||| sequence_combo_feature { "
         "feature_name: 'f' expression: ['feature:q', 'user:y'] hash_bucket_size: 100 "
         "embedding_dim: 4 sequence_length: 9 }",
         "x str 10;11;12 / 13 / \"\"\ny i64 1 / 2 / 3", "v 93 23 25 38 12, S 3 1 1"},
        /* numbers as inputs of numbers, of texts, and constants */
        {"raw_feature { feature_name: 'q' expression: 'item:x' stub_type: true normalizer: "
         "'method=zscore,mean=1,standard_deviation=2' } ||| raw_feature { feature_name: 'f' "
         "expression: 'feature:q' boundaries: [0, 1] }",
         "x f32 0 / 1 / 4 / N", "v 0 1 2 1"},
        {"raw_feature { feature_name: 'q' expression: 'item:x' stub_type: true } ||| "
         "combo_feature { feature_name: 'f' expression: ['feature:q', 'const:k'] embedding_dim: "
         "4 vocab_list: ['0.5_k', '2_k'] }",
         "x f32 0.5 / 2", "v 2 3"},
        /* a member of the same group */
        {"sequence_feature { sequence_name: 's' sequence_length: 9 sequence_delim: ';' features "
         "{ id_feature { feature_name: 'q' expression: 'item:x' embedding_dim: 4 stub_type: true "
         "} } features { combo_feature { feature_name: 'f' expression: ['feature:q', 'item:y'] "
         "embedding_dim: 4 vocab_list: ['a_1', 'b_2'] } } }",
         "s__x str a;b / N\ns__y str 1;2 / 1", "v 2 3 1, S 2 1"},
        {"combo_feature { feature_name: 'f' expression: ['feature:g', 'user:x'] embedding_dim: 4 "
         "hash_bucket_size: 9 } ||| combo_feature { feature_name: 'g' expression: ['feature:h', "
         "'user:x'] embedding_dim: 4 hash_bucket_size: 9 } ||| combo_feature { feature_name: 'h' "
         "expression: ['feature:g', 'user:x'] embedding_dim: 4 hash_bucket_size: 9 }",
         "x str 1",
         "error: features read each other in a circle: 'g' reads 'h' reads 'g'"},
        {"raw_feature { feature_name: 'f' expression: 'feature:f' }", "x str 1",
         "error: features read each other in a circle: 'f' reads 'f'"},
        {"raw_feature { feature_name: 'f' expression: 'feature:g' }", "x str 1",
         "error: feature 'f' reads 'feature:g', and there is no such feature"},
        {"id_feature { feature_name: 'q' expression: 'item:x' embedding_dim: 4 stub_type: true } "
         "||| raw_feature { feature_name: 'f' expression: 'feature:q' }",
         "x str 1 / b",
         "error: feature 'f' (t:4): column 'q', row 1: 'b' is not a number"},
    };
    VECTORS("FG_DAG", rows);
    static const struct vector as_columns[] = {
        {"raw_feature { feature_name: 'f' expression: 'feature:q' }", "q f32 0.5 / 2",
         "d .5 2"},
        {"combo_feature { feature_name: 'f' expression: ['const:k', 'user:x'] embedding_dim: 4 "
         "vocab_list: ['a_b'] }",
         "k str a\nx str b", "v 2"},
    };
    VECTORS("FG_NORMAL", as_columns);
}

static void labels_are_floats(void)
{
    struct made m;
    struct table t;
    struct err err = {0};
    CHECK(make(
        &m, "data_config { fg_mode: FG_NORMAL " TARGETS "}" IN(ID("a", "num_buckets: 5")),
        NULL));
    table_init(&t, "a i64 1 / 2\nclk i64 1 / 0\nbuy [f64] [0.5] / [1,2]\nwt f32 2 / 3");
    struct feature_scratch *s = feature_scratch_create(m.p);
    struct feature_batch *o = feature_batch_create(m.p);
    CHECK_INT(feature_run(m.p, s, &t.batch, NULL, o, &err), RC_OK);
    CHECK_INT(o->n_labels, 2);
    CHECK_INT(o->n_weights, 1);
    CHECK_STR(o->targets[0].name, "clk");
    CHECK(o->targets[0].values[0] == 1.0f && o->targets[0].values[1] == 0.0f);
    CHECK(!o->targets[0].offsets);
    CHECK_INT(o->targets[1].offsets[2], 3);
    CHECK(o->targets[1].values[2] == 2.0f);
    CHECK_STR(o->targets[2].name, "wt");
    CHECK(o->targets[2].values[1] == 3.0f);
    table_release(&t);

    table_init(&t, "a i64 1 / 2\nclk i64 1 / N\nbuy i64 1 / 2\nwt f32 2 / 3");
    CHECK_INT(feature_run(m.p, s, &t.batch, NULL, o, &err), RC_FORMAT);
    CHECK_STR(err.msg, "label 'clk', row 1: the value is missing");
    CHECK_INT(err.code, E1314);
    table_release(&t);
    table_init(&t, "a i64 1 / 2\nclk i64 1 / 1\nbuy i64 1 / 2\nwt i64 2 / 3");
    CHECK_INT(feature_run(m.p, s, &t.batch, NULL, o, &err), RC_INVAL);
    CHECK_STR(err.msg, "sample weight 'wt' is of a type that cannot be used");
    table_release(&t);
    feature_batch_destroy(o);
    feature_scratch_destroy(s);
    unmake(&m);

    struct feature_options predict = {.no_labels = true};
    CHECK(make(
        &m, "data_config { fg_mode: FG_NORMAL " TARGETS "}" IN(ID("a", "num_buckets: 5")),
        &predict));
    size_t n;
    feature_plan_columns(m.p, &n);
    CHECK_INT(n, 1);
    unmake(&m);
}

static void a_schema_is_checked_early(void)
{
    struct made m;
    struct table t;
    CHECK(make(&m,
               "data_config { fg_mode: FG_NORMAL label_fields: 'clk' }\n" IN(
                   ID("age", "num_buckets: 5")) "\n" IN(ID("b", "num_buckets: 5")),
               NULL));
    table_init(&t, "ages i64 1\nb clock 1\nclk str 1");
    CHECK_INT(feature_plan_check(m.p, &t.schema, &m.b.diags), RC_INVAL);
    CHECK_INT(m.b.diags.n_errors, 3);
    CHECK_STR(m.b.diags.list.at[0].msg, "feature 'age': the data has no column 'age'");
    CHECK_STR(m.b.diags.list.at[0].hint, "did you mean 'ages'?");
    CHECK_INT(m.b.diags.list.at[0].code, E1301);
    CHECK_STR(m.b.diags.list.at[1].msg,
              "feature 'b': column 'b' of type time[us] cannot be read here");
    CHECK_STR(
        m.b.diags.list.at[2].msg,
        "label_fields: column 'clk' of type string cannot be used: labels are numbers");
    uint32_t line, col;
    source_locate(m.b.diags.list.at[1].at.src, m.b.diags.list.at[1].at.off, &line, &col);
    CHECK_INT(line, 3);
    table_release(&t);
    unmake(&m);
}

#define DUMP                                                                                               \
    "data_config { fg_mode: FG_NONE }" IN(ID("f_cat_a", "")) IN(                                           \
        ID("f_tag_b", "weighted: true"))                                                                   \
        IN("raw_feature { feature_name: 'f_int_a' expression: 'user:a' }") IN(                             \
            "raw_feature { feature_name: 'f_int_b' expression: 'user:a' value_dim: 2 }")                   \
            IN("lookup_feature { feature_name: 'f_lookup_a' map: 'user:a' key: 'item:b' }")                \
                IN("sequence_feature { sequence_name: 'click_seq' sequence_length: 3 sequence_delim: ';' " \
                   "features { " ID(                                                                       \
                       "f_cat_a",                                                                          \
                       "") " } features { raw_feature { feature_name: 'f_int_a' "                          \
                           "expression: 'user:a' } } features { " ID("f_tag_b",                            \
                                                                     "") " } }")

/* A 12.10 */
static void a_row_prints(void)
{
    struct made m;
    struct table t;
    struct err err = {0};
    struct buf out;
    CHECK(make(&m, DUMP, NULL));
    table_init(
        &t, "f_cat_a i64 1\nf_tag_b str 4:0.1~5:0.2\nf_int_a f32 7\nf_int_b str 27~37\n"
            "f_lookup_a f64 0.1\nclick_seq__f_cat_a str 10;11;12\n"
            "click_seq__f_int_a str 14;15;16\nclick_seq__f_tag_b str 17~18;19;20~21");
    struct feature_scratch *s = feature_scratch_create(m.p);
    struct feature_batch *o = feature_batch_create(m.p);
    buf_init(&out, 4096);
    CHECK_INT(feature_run(m.p, s, &t.batch, NULL, o, &err), RC_OK);
    feature_print_row(m.p, o, 0, &out);
    CHECK_STR(
        buf_str(&out),
        "f_cat_a:1 | f_tag_b:4:0.1,5:0.2 | f_int_a:7.0 | f_int_b:27.0,37.0 | "
        "f_lookup_a:0.1 | click_seq__f_cat_a:10;11;12 | click_seq__f_int_a:14.0;15.0;16.0 "
        "| click_seq__f_tag_b:17,18;19;20,21");
    buf_release(&out);
    table_release(&t);
    feature_batch_destroy(o);
    feature_scratch_destroy(s);
    unmake(&m);
}

#define COLUMNS                                                       \
    "a i64 1 / 2 / N\nb str x / y^z / \"\"\nid_str str u / v / w\n"   \
    "s__cat_b str 1;2 / 3 / \"\"\ns__iid_str [str] [a,b] / [c] / N\n" \
    "seq [i64] [1,2] / [3] / []"

static void nothing_is_allocated_after_warm_up(void)
{
    struct made m;
    struct table t, encoded;
    struct err err = {0};
    CHECK(make(&m, "data_config { fg_mode: FG_DAG }" FEATURES, NULL));
    table_init(&t, COLUMNS);
    table_init(&encoded, COLUMNS);
    for (size_t i = 0; i < encoded.batch.n_cols; i++)
        encode(&encoded.batch.cols[i]);
    struct feature_scratch *s = feature_scratch_create(m.p);
    struct feature_batch *o = feature_batch_create(m.p);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(feature_run(m.p, s, &t.batch, NULL, o, &err), RC_OK);
        CHECK_INT(feature_run(m.p, s, &encoded.batch, NULL, o, &err), RC_OK);
    }
    int64_t before = mem_total();
    for (int i = 0; i < 5; i++) {
        CHECK_INT(feature_run(m.p, s, &t.batch, NULL, o, &err), RC_OK);
        CHECK_INT(feature_run(m.p, s, &encoded.batch, NULL, o, &err), RC_OK);
    }
    CHECK_INT(mem_total() - before, 0);
    feature_batch_destroy(o);
    feature_scratch_destroy(s);
    table_release(&t);
    table_release(&encoded);
    unmake(&m);
}

static void short_memory_is_reported(void)
{
    struct made m;
    struct table t;
    CHECK(make(&m, "data_config { fg_mode: FG_DAG }" FEATURES, NULL));
    table_init(&t, COLUMNS);
    enum rc rc = RC_NOMEM;
    int tries = 0;
    for (int64_t n = 1; rc == RC_NOMEM && n < 1000; n++, tries++) {
        struct err err = {0};
        struct feature_scratch *s = feature_scratch_create(m.p);
        struct feature_batch *o = feature_batch_create(m.p);
        mem_fail_at(n);
        rc = feature_run(m.p, s, &t.batch, NULL, o, &err);
        mem_fail_at(0);
        if (rc)
            CHECK_HAS(err.msg, "no memory");
        feature_batch_destroy(o);
        feature_scratch_destroy(s);
    }
    CHECK_INT(rc, RC_OK);
    CHECK(tries > 10);
    table_release(&t);
    unmake(&m);
}

static const struct tap_case cases[] = {
    TAP(each_mode_reads_its_columns),
    TAP(tables_have_rows),
    TAP(bucketize_starts_at_the_value),
    TAP(features_read_features),
    TAP(labels_are_floats),
    TAP(a_schema_is_checked_early),
    TAP(a_row_prints),
    TAP(nothing_is_allocated_after_warm_up),
    TAP(short_memory_is_reported),
};
TAP_MAIN(cases)
