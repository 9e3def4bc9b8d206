/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "data/sketch.h"
#include "data/stats.h"
#include "rows_of.h"

static void distinct_values_are_estimated_within_the_error(void)
{
    static const int64_t sizes[] = {0, 1, 10, 1000, 20000, 200000, 3000000};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        struct hll *h = mem_calloc(1, sizeof(*h));
        for (int64_t i = 0; i < sizes[k]; i++)
            hll_add(h, hash_xxh3(&i, sizeof(i)));
        /* Four standard errors. */
        CHECK_NEAR(hll_count(h), sizes[k], 4 * HLL_ERROR * (double)sizes[k] + 0.01);
        mem_free(h);
    }
}

static void merged_sketches_count_the_union(void)
{
    struct hll *a = mem_calloc(1, sizeof(*a)), *b = mem_calloc(1, sizeof(*b));
    for (int64_t i = 0; i < 60000; i++) {
        if (i < 40000)
            hll_add(a, hash_xxh3(&i, sizeof(i)));
        if (i >= 20000)
            hll_add(b, hash_xxh3(&i, sizeof(i)));
    }
    hll_merge(a, b);
    CHECK_NEAR(hll_count(a), 60000, 4 * HLL_ERROR * 60000);
    mem_free(a);
    mem_free(b);
}

static void add(struct top *t, int64_t v, int64_t count)
{
    top_add(t, hash_xxh3(&v, sizeof(v)), count, (uint64_t)v, str_of("", 0));
}

static void frequent_values_survive_many_rare_ones(void)
{
    struct top t;
    struct top_item items[3];
    top_init(&t);
    for (int64_t i = 0; i < 200000; i++) {
        add(&t, i % 10 == 0 ? 1 : i % 10 == 1 && i % 20 == 1 ? 2 : 1000 + i, 1);
        if (i == 1000)
            CHECK_INT(t.lost, 0);
    }
    CHECK(t.lost > 0);
    CHECK_INT(top_list(&t, items, 3), 3);
    CHECK_INT(items[0].bits, 1);
    CHECK_INT(items[1].bits, 2);
    CHECK(items[0].count <= 20000 && items[0].count + t.lost >= 20000);
    CHECK(items[1].count <= 10000 && items[1].count + t.lost >= 10000);
    top_release(&t);
}

static void few_values_are_counted_exactly(void)
{
    struct top t;
    struct top_item items[2];
    top_init(&t);
    for (int64_t i = 0; i < TOP_MAX; i++)
        add(&t, i, i + 1);
    CHECK_INT(t.lost, 0);
    CHECK_INT(t.n, TOP_MAX);
    CHECK_INT(top_list(&t, items, 2), 2);
    CHECK_INT(items[0].count, TOP_MAX);
    CHECK_INT(items[1].bits, TOP_MAX - 2);
    top_release(&t);
}

static void columns_are_measured(void)
{
    struct data_schema s = {0};
    struct batch b;
    struct buf out;
    struct err err = {0};
    struct type i64 = type_of(TYPE_I64, true), str = type_of(TYPE_STR, true);
    struct type list = type_list(&s.mem, type_of(TYPE_F64, true), true);
    data_schema_add(&s, str_c("clk"), &i64);
    data_schema_add(&s, str_c("name"), &str);
    data_schema_add(&s, str_c("seq"), &list);
    batch_init(&b, &s);
    for (int i = 0; i < 8; i++) {
        OK(column_add_i64(&b.cols[0], i % 4 == 0, &err));
        OK(i == 3 ? column_add_null(&b.cols[1], &err)
                  : column_add_str(&b.cols[1], str_c(i % 2 ? "ab" : "cde\"f"), &err));
        for (int k = 0; k < i % 3; k++)
            OK(column_add_f64(&b.cols[2].kids[0], i + 0.5, &err));
        OK(column_add_nested(&b.cols[2], &err));
    }
    OK(batch_finish(&b, &err));
    struct stats *st = stats_create(&s, NULL, 0);
    stats_add(st, &b);
    stats_add(st, &b);
    CHECK_INT(stats_rows(st), 16);
    buf_init(&out, 1 << 16);
    stats_print(st, &out);
    CHECK_STR(
        buf_str(&out),
        "column  type          nulls  distinct      min          mean      max  stddev  most "
        "frequent\n"
        "clk *   int64          0.0%         2        0        0.2500        1  0.4330  0 75.0%  1 "
        "25.0%\n"
        "name    string        12.5%         2      2 B       3.714 B      5 B   1.485  "
        "\"cde\\\"f\" 50.0%  \"ab\" 37.5%\n"
        "seq     list<double>   0.0%            0 items  0.8750 items  2 items  0.7806\n"
        "seq[]   double         0.0%         5    1.500         4.214    7.500   1.979  5.5 28.6%  "
        "2.5 28.6%  7.5 14.3%  1.5 14.3%  4.5 14.3%\n"
        "\n"
        "labels (*)\n"
        "  clk: 0: 12 (75.0%), 1: 4 (25.0%)\n");
    buf_clear(&out);
    stats_json(st, &out);
    CHECK_HAS(buf_str(&out), "\"rows\": 16, \"columns\": [");
    CHECK_HAS(buf_str(&out),
              "{\"name\": \"clk\", \"type\": \"int64\", \"count\": 16, \"nulls\": "
              "0, \"min\": 0, \"max\": 1, \"mean\": 0.25, ");
    CHECK_HAS(buf_str(&out), "\"items_max\": 2");
    CHECK_HAS(buf_str(&out), "{\"value\": \"cde\\\"f\", \"count\": 8}");
    CHECK_HAS(buf_str(&out),
              "\"labels\": [\n  {\"name\": \"clk\", \"mean\": 0.25, \"values\": "
              "[{\"value\": 0, \"count\": 12}, {\"value\": 1, \"count\": 4}]}]");
    buf_release(&out);
    stats_destroy(st);
    batch_release(&b);
    data_schema_release(&s);
}

/* Rows of an encoded column count like those of a plain one. */
static void dictionaries_are_counted_by_entry(void)
{
    struct data_schema s = {0};
    struct batch b;
    struct buf plain, coded;
    struct err err = {0};
    struct type str = type_of(TYPE_STR, true);
    static const uint32_t codes[] = {1, 0, 1, 1, 2};
    static const char *const words[] = {"x", "yy", "z", "never"};
    data_schema_add(&s, str_c("w"), &str);
    batch_init(&b, &s);
    for (size_t i = 0; i < 5; i++)
        OK(column_add_str(&b.cols[0], str_c(words[codes[i]]), &err));
    OK(batch_finish(&b, &err));
    struct stats *st = stats_create(&s, NULL, 0);
    buf_init(&plain, 1 << 16);
    buf_init(&coded, 1 << 16);
    stats_add(st, &b);
    stats_json(st, &plain);
    stats_destroy(st);
    struct dict *d = dict_create(&str);
    for (size_t i = 0; i < 4; i++)
        OK(column_add_str(&d->values, str_c(words[i]), &err));
    batch_clear(&b);
    b.cols[0].dict = d;
    b.cols[0].values = codes;
    b.cols[0].n = b.n = 5;
    st = stats_create(&s, NULL, 0);
    stats_add(st, &b);
    stats_json(st, &coded);
    /* Sums are made in another order; the counts are what matters. */
    CHECK_HAS(buf_str(&coded), "\"distinct\": 3");
    CHECK_HAS(buf_str(&coded), "{\"value\": \"yy\", \"count\": 3}");
    CHECK_HAS(buf_str(&plain), "{\"value\": \"yy\", \"count\": 3}");
    stats_destroy(st);
    batch_release(&b);
    buf_release(&plain);
    buf_release(&coded);
    data_schema_release(&s);
}

static const struct tap_case cases[] = {
    TAP(distinct_values_are_estimated_within_the_error),
    TAP(merged_sketches_count_the_union),
    TAP(frequent_values_survive_many_rare_ones),
    TAP(few_values_are_counted_exactly),
    TAP(columns_are_measured),
    TAP(dictionaries_are_counted_by_entry),
};
TAP_MAIN(cases)
