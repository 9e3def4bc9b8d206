/* SPDX-License-Identifier: Apache-2.0 */
/* Properties over random data: the plain, sequence and grouped forms of a feature agree,
 * so do the ways that columns may lie in memory, and several threads at once.
 */
#include <pthread.h>

#include "vector.h"

#define ROUNDS 60
#define ROWS 40

static uint64_t state;

static uint64_t rnd(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

/* A feature over columns a (user) and b (item); %s is where sequence settings go. */
static const char *const kinds[] = {
    "id_feature { feature_name: 'f' expression: 'item:b' embedding_dim: 4 value_dim: 0 "
    "hash_bucket_size: 50 default_value: 'x' %s }",
    "id_feature { feature_name: 'f' expression: 'item:b' embedding_dim: 4 value_dim: 1 "
    "vocab_list: ['1', '2', '3'] default_value: 'x' %s }",
    "combo_feature { feature_name: 'f' expression: ['user:a', 'item:b'] embedding_dim: 4 "
    "value_dim: 0 hash_bucket_size: 50 default_value: 'x' %s }",
    "combine_feature { feature_name: 'f' expression: 'item:b' combiner: 'mean' default_value: "
    "'7' %s }",
    "combine_feature { feature_name: 'f' expression: 'item:b' num_buckets: 9 default_value: '7' "
    "%s }",
    "expr_feature { feature_name: 'f' variables: ['user:a', 'item:b'] expression: "
    "'reduce_sum(a) * 2 + len(b)' default_value: '7' %s }",
    "overlap_feature { feature_name: 'f' query: 'user:a' title: 'item:b' method: "
    "'title_common_ratio' %s }",
    "overlap_feature { feature_name: 'f' query: 'user:a' title: 'item:b' method: "
    "'proximity_min_dist' boundaries: [1, 2, 3] %s }",
    "kv_dot_product { feature_name: 'f' query: 'user:a' document: 'item:b' default_value: '7' %s "
    "}",
    "lookup_feature { feature_name: 'f' map: 'user:m' key: 'item:b' default_value: '7' %s }",
    "lookup_feature { feature_name: 'f' map: 'user:m' key: 'item:b' num_buckets: 9 "
    "default_value: '7' %s }",
    "bool_mask_feature { feature_name: 'f' expression: ['item:b', 'item:c'] embedding_dim: 4 "
    "value_dim: 0 num_buckets: 9 default_value: '7' %s }",
    "custom_feature { feature_name: 'f' operator_name: 'EditDistance' operator_lib_file: "
    "'pyfg/x' expression: ['user:a', 'item:b'] default_value: '7' %s }",
};

/* Some digits with ^ between them, or nothing. */
static void values(struct buf *out, const char *words, uint64_t most)
{
    for (uint64_t n = rnd(most + 1), i = 0; i < n; i++)
        buf_printf(out, "%s%c", i ? "\x1d" : "", words[rnd(strlen(words))]);
}

struct data {
    struct buf a[ROWS], m[ROWS], b[ROWS][6], c[ROWS][6];
    int64_t steps[ROWS];
};

static void make_data(struct data *d)
{
    for (int r = 0; r < ROWS; r++) {
        buf_init(&d->a[r], 4096);
        buf_init(&d->m[r], 4096);
        values(&d->a[r], "12345", 3);
        for (uint64_t n = rnd(16), i = 0; i < n; i++)
            buf_printf(&d->m[r], "%s%ju:%ju", i ? "\x1d" : "", (uintmax_t)rnd(9),
                       (uintmax_t)rnd(12));
        d->steps[r] = 1 + (int64_t)rnd(6);
        for (int s = 0; s < 6; s++) {
            buf_init(&d->b[r][s], 4096);
            buf_init(&d->c[r][s], 4096);
            values(&d->b[r][s], "123456", 3);
            for (size_t i = 0; i < d->b[r][s].n; i++)
                buf_putc(&d->c[r][s], d->b[r][s].p[i] == '\x1d' ? '\x1d' : "01"[rnd(2)]);
        }
    }
}

static void free_data(struct data *d)
{
    for (int r = 0; r < ROWS; r++) {
        buf_release(&d->a[r]);
        buf_release(&d->m[r]);
        for (int s = 0; s < 6; s++) {
            buf_release(&d->b[r][s]);
            buf_release(&d->c[r][s]);
        }
    }
}

static void add(struct table *t, size_t col, const char *s)
{
    CHECK(column_add_str(&t->batch.cols[col], str_c(s), NULL) == RC_OK);
}

static void start(struct table *t, const char *prefix)
{
    char name[16];
    struct type text = type_of(TYPE_STR, true);
    *t = (struct table){0};
    data_schema_add(&t->schema, str_c("a"), &text);
    data_schema_add(&t->schema, str_c("m"), &text);
    snprintf(name, sizeof(name), "%sb", prefix);
    data_schema_add(&t->schema, str_c(name), &text);
    snprintf(name, sizeof(name), "%sc", prefix);
    data_schema_add(&t->schema, str_c(name), &text);
    batch_init(&t->batch, &t->schema);
}

/* One row per step. */
static void plain_table(struct table *t, const struct data *d)
{
    start(t, "");
    for (int r = 0; r < ROWS; r++)
        for (int64_t s = 0; s < d->steps[r]; s++) {
            add(t, 0, buf_str(&d->a[r]));
            add(t, 1, buf_str(&d->m[r]));
            add(t, 2, buf_str(&d->b[r][s]));
            add(t, 3, buf_str(&d->c[r][s]));
        }
    CHECK(batch_finish(&t->batch, NULL) == RC_OK);
}

static void joined(struct table *t, size_t col, const struct buf *steps, int64_t n)
{
    struct buf all;
    buf_init(&all, 1 << 16);
    for (int64_t s = 0; s < n; s++)
        buf_printf(&all, "%s%s", s ? ";" : "", buf_str(&steps[s]));
    add(t, col, buf_str(&all));
    buf_release(&all);
}

static void sequence_table(struct table *t, const struct data *d, const char *prefix)
{
    start(t, prefix);
    for (int r = 0; r < ROWS; r++) {
        add(t, 0, buf_str(&d->a[r]));
        add(t, 1, buf_str(&d->m[r]));
        joined(t, 2, d->b[r], d->steps[r]);
        joined(t, 3, d->c[r], d->steps[r]);
    }
    CHECK(batch_finish(&t->batch, NULL) == RC_OK);
}

/* The ids per row of a plain feature are the ids per step of a sequence. */
static void rename_sections(struct buf *plain)
{
    for (size_t i = 0; i + 1 < plain->n; i++)
        if (plain->p[i] == 'L' && plain->p[i + 1] == ' ')
            plain->p[i] = 'K';
}

static void config_of(char *out, size_t n, const char *kind, const char *before,
                      const char *settings, const char *after)
{
    const char *at = strstr(kind, "%s");
    snprintf(out, n, "%s%.*s%s%s%s", before, (int)(at - kind), kind, settings, at + 2,
             after);
}

static void one_round(const char *kind)
{
    static struct data d;
    struct table t;
    struct buf plain, seq, group;
    char config[1000];
    make_data(&d);
    buf_init(&plain, 1 << 20);
    buf_init(&seq, 1 << 20);
    buf_init(&group, 1 << 20);
    plain_table(&t, &d);
    config_of(config, sizeof(config), kind, "", "", "");
    vector_run("FG_NORMAL", config, &t, NULL, NULL, &plain);
    table_release(&t);
    sequence_table(&t, &d, "");
    config_of(config, sizeof(config), kind, "sequence_",
              "sequence_length: 100 sequence_fields: ['b', 'c']", "");
    char *fields = strstr(config, ", 'c'");
    if (fields && !strstr(config, "item:c"))
        memset(fields, ' ', 5);
    vector_run("FG_DAG", config, &t, NULL, NULL, &seq);
    table_release(&t);
    sequence_table(&t, &d, "g__");
    config_of(
        config, sizeof(config), kind,
        "sequence_feature { sequence_name: 'g' sequence_length: 100 sequence_delim: ';' "
        "features { ",
        "", " } }");
    vector_run("FG_NORMAL", config, &t, NULL, NULL, &group);
    table_release(&t);
    rename_sections(&plain);
    bool ok = same_result(buf_str(&seq), buf_str(&plain), 0) &&
              !str_starts(buf_str(&seq), "e") &&
              strcmp(buf_str(&seq), buf_str(&group)) == 0;
    if (!ok)
        printf("# %s\n#   plain   %s\n#   seq     %s\n#   grouped %s\n", kind,
               buf_str(&plain), buf_str(&seq), buf_str(&group));
    CHECK(ok);
    buf_release(&plain);
    buf_release(&seq);
    buf_release(&group);
    free_data(&d);
}

static void plain_sequence_and_group_agree(void)
{
    state = 88172645463325252u;
    for (int i = 0; i < ROUNDS; i++)
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
            one_round(kinds[k]);
}

/* ---- the short ways against the long one, which a mask of zeros asks for ---- */

static void random_cell(struct buf *out, bool texts)
{
    static const uint64_t sizes[] = {30, 30, 30, 100000, 9999999, 123456789012};
    if (texts)
        buf_printf(out, "%s%0*ju%s",
                   rnd(20)  ? ""
                   : rnd(2) ? "-"
                            : "+",
                   rnd(9) ? 1 : (int)rnd(12), (uintmax_t)rnd(sizes[rnd(6)]),
                   rnd(5) || !rnd(2) ? "" : "^7");
    else
        buf_printf(out, "%jd", (intmax_t)rnd(1000) - (rnd(9) ? 0 : 5000));
}

static void random_column(struct buf *out, int form)
{
    static const char *const types[] = {"i64",   "i32",   "str", "[i64]",
                                        "[i32]", "[str]", "str"};
    bool texts = form == 2 || form >= 5, list = form >= 3 && form <= 5;
    buf_printf(out, "x %s ", types[form]);
    for (int r = 0; r < ROWS; r++) {
        buf_puts(out, r ? " / " : "");
        uint64_t n = list || form == 6 ? rnd(5) : 1;
        if (rnd(6) == 0) {
            buf_puts(out, "N");
            continue;
        }
        if (form == 6 && n == 0) {
            buf_puts(out, "\"\"");
            continue;
        }
        buf_puts(out, list ? "[" : "");
        for (uint64_t i = 0; i < n; i++) {
            buf_puts(out, i == 0 ? "" : form == 6 ? ";" : ",");
            if (list && rnd(7) == 0)
                buf_puts(out, "N");
            else if (form == 6 && rnd(7) == 0)
                buf_puts(out, i + 1 < n ? "" : "1");
            else
                random_cell(out, texts);
        }
        buf_puts(out, list ? "]" : "");
    }
}

static void short_and_long_ways_agree(void)
{
    static const char *const buckets[] = {"hash_bucket_size: 97", "num_buckets: 20",
                                          "num_buckets: 99999",
                                          "vocab_list: ['1', '2', '7', '11']"};
    static const uint8_t mask[ROWS] = {0};
    state = 1234567;
    for (int round = 0; round < ROUNDS * 14; round++) {
        int form = round % 7;
        bool seq = form >= 3;
        struct buf columns, fast, slow;
        struct table t;
        char config[400];
        buf_init(&columns, 1 << 16);
        buf_init(&fast, 1 << 16);
        buf_init(&slow, 1 << 16);
        random_column(&columns, form);
        snprintf(
            config, sizeof(config),
            "%sid_feature { feature_name: 'f' expression: 'item:x' embedding_dim: 4 %s %s %s "
            "use_mask: true }",
            seq ? "sequence_" : "", buckets[rnd(4)], rnd(2) ? "default_value: '5'" : "",
            seq ? rnd(2) ? "sequence_length: 3" : "sequence_length: 50" : "");
        table_init(&t, buf_str(&columns));
        for (size_t i = 0; round % 2 && i < t.batch.n_cols; i++)
            encode(&t.batch.cols[i]);
        vector_run("FG_NORMAL", config, &t, NULL, NULL, &fast);
        vector_run("FG_NORMAL", config, &t, mask, NULL, &slow);
        if (strcmp(buf_str(&fast), buf_str(&slow)) != 0)
            printf("# %s\n# %s\n", config, buf_str(&columns));
        CHECK_STR(buf_str(&fast), buf_str(&slow));
        CHECK(!str_starts(buf_str(&fast), "error"));
        table_release(&t);
        buf_release(&columns);
        buf_release(&fast);
        buf_release(&slow);
    }
}

/* ---- threads ---- */

static const char many[] =
    "data_config { fg_mode: FG_DAG }"
    "feature_configs { id_feature { feature_name: 'q' expression: 'item:x' embedding_dim: 4 "
    "hash_bucket_size: 100 } }"
    "feature_configs { expr_feature { feature_name: 'e' variables: 'user:y' expression: "
    "'sqrt(y) + 1' } }"
    "feature_configs { combo_feature { feature_name: 'c' expression: ['feature:q', 'user:y'] "
    "embedding_dim: 4 hash_bucket_size: 100 } }";

struct job {
    const struct feature_plan *p;
    struct table *t;
    int64_t sum;
};

static void *work(void *arg)
{
    struct job *j = arg;
    struct feature_scratch *s = feature_scratch_create(j->p);
    struct feature_batch *o = feature_batch_create(j->p);
    struct err err = {0};
    for (int i = 0; i < 200; i++) {
        if (feature_run(j->p, s, &j->t->batch, NULL, o, &err))
            j->sum = -1000000;
        for (int64_t k = 0; k < o->at[2].n_ids; k++)
            j->sum += o->at[2].ids[k] * (k + 1);
    }
    feature_batch_destroy(o);
    feature_scratch_destroy(s);
    return NULL;
}

static void threads_share_a_plan(void)
{
    struct bound b;
    struct feature_plan *p = NULL;
    struct err err = {0};
    struct table t;
    pthread_t threads[4];
    struct job jobs[4] = {{0}};
    CHECK(bound_init(&b, many));
    CHECK_INT(feature_plan_create(b.conf, NULL, &p, &b.diags, &err), RC_OK);
    table_init(&t, "x str a^b / c / N / a\ny f64 1 / 4 / 9 / N");
    encode(&t.batch.cols[0]);
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct job){.p = p, .t = &t};
        CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(jobs[i].sum > 0);
        CHECK_INT(jobs[i].sum, jobs[0].sum);
    }
    table_release(&t);
    feature_plan_destroy(p);
    bound_release(&b);
}

static const struct tap_case cases[] = {
    TAP(plain_sequence_and_group_agree),
    TAP(short_and_long_ways_agree),
    TAP(threads_share_a_plan),
};
TAP_MAIN(cases)
