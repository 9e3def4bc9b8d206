/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "data/gen/gen.h"
#include "rows_of.h"

static void each_kind(void (*fn)(const struct gen_kind *, const struct data_schema *))
{
    size_t n;
    const struct gen_kind *const *all = gen_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct data_schema s = {0};
        gen_schema(all[i], &s);
        fn(all[i], &s);
        data_schema_release(&s);
    }
}

static void check_pieces(const struct gen_kind *k, const struct data_schema *s)
{
    struct err err = {0};
    struct batch whole, part;
    batch_init(&whole, s);
    batch_init(&part, s);
    OK(gen_rows(k, 5, 0, 300, &whole, NULL, &err));
    OK(gen_rows(k, 5, 123, 100, &part, NULL, &err));
    CHECK_INT(whole.n, 300);
    for (size_t c = 0; c < s->n; c++)
        for (int64_t i = 0; i < part.n; i++)
            CHECK(column_row_equal(&part.cols[c], i, &whole.cols[c], 123 + i));
    OK(gen_rows(k, 6, 0, 300, &part, NULL, &err));
    CHECK(!batch_equal(&part, &whole));
    batch_release(&whole);
    batch_release(&part);
}

static void a_row_depends_on_seed_and_number_alone(void)
{
    each_kind(check_pieces);
}

/* The AUC by its definition, from the scores' histogram against sampled labels, must be
 * above chance and below certainty, and the labels as frequent as their probabilities say
 * (best log loss is the mean entropy then).
 */
static void check_scores(const struct gen_kind *k, const struct data_schema *s)
{
    struct err err = {0};
    struct batch b;
    struct gen_score scores[GEN_LABELS_MAX];
    batch_init(&b, s);
    for (size_t i = 0; i < GEN_LABELS_MAX; i++)
        gen_score_init(&scores[i]);
    for (int64_t at = 0; at < 40000; at += 4000)
        OK(gen_rows(k, 1, at, 4000, &b, scores, &err));
    for (size_t i = 0; i < gen_labels(k); i++) {
        CHECK_INT(scores[i].n, 40000);
        CHECK(gen_score_auc(&scores[i]) > 0.7 && gen_score_auc(&scores[i]) < 0.95);
        double p = (double)scores[i].n_pos / 40000;
        double entropy = -p * log(p) - (1 - p) * log(1 - p);
        CHECK(gen_score_logloss(&scores[i]) < entropy);
        CHECK(gen_score_logloss(&scores[i]) > 0.3 * entropy);
        gen_score_release(&scores[i]);
    }
    for (size_t i = gen_labels(k); i < GEN_LABELS_MAX; i++)
        gen_score_release(&scores[i]);
    batch_release(&b);
}

static void best_auc_is_that_of_the_true_probabilities(void)
{
    each_kind(check_scores);
}

/* Ids stay within their range and are never missing, also at the ends of the range. */
static void check_ids(const struct gen_kind *k, const struct data_schema *s)
{
    struct err err = {0};
    struct batch b;
    int64_t wrong = 0;
    batch_init(&b, s);
    for (int64_t at = 0; at < 100000; at += 4000) {
        OK(gen_rows(k, 1, at, 4000, &b, NULL, &err));
        for (size_t c = 0; c < s->n; c++)
            for (int64_t i = 0; s->at[c].type.id == TYPE_I64 && i < b.n; i++)
                wrong += column_is_null(&b.cols[c], i) ? !s->at[c].type.nullable
                                                       : column_i64(&b.cols[c], i) < 0;
    }
    CHECK_INT(wrong, 0);
    batch_release(&b);
}

static void ids_are_never_negative_or_missing(void)
{
    each_kind(check_ids);
}

static void auc_counts_pairs(void)
{
    struct gen_score s;
    gen_score_init(&s);
    CHECK(isnan(gen_score_auc(&s)));
    s.neg[10] = 2;
    s.neg[20] = 1;
    s.pos[20] = 1;
    s.pos[30] = 1;
    s.n = 5;
    s.n_pos = 2;
    CHECK_NEAR(gen_score_auc(&s), (2 + 0.5 + 3) / 6, 1e-12);
    gen_score_release(&s);
}

static void second_label_implies_the_first(void)
{
    struct err err = {0};
    struct data_schema s = {0};
    struct batch b;
    gen_schema(gen_find("ccp"), &s);
    batch_init(&b, &s);
    OK(gen_rows(gen_find("ccp"), 3, 0, 20000, &b, NULL, &err));
    const struct column *click = batch_find(&b, str_c("click"));
    const struct column *buy = batch_find(&b, str_c("purchase"));
    int64_t n = 0;
    for (int64_t i = 0; i < b.n; i++) {
        CHECK(column_i64(click, i) || !column_i64(buy, i));
        n += column_i64(buy, i);
    }
    CHECK(n > 0);
    batch_release(&b);
    data_schema_release(&s);
}

static uint64_t hash_of(const char *dir, const char *name)
{
    struct err err = {0};
    char *path = fs_join(dir, name), *data = NULL;
    size_t n = 0;
    OK(fs_read(path, 1 << 26, &data, &n, &err));
    uint64_t h = hash_xxh3(data, n);
    mem_free(data);
    mem_free(path);
    return h;
}

static void files_are_the_same_with_any_number_of_threads(void)
{
    struct err err = {0};
    char *a = rows_dir(), *b = rows_dir();
    struct gen_conf conf = {.kind = gen_find("taobao"),
                            .rows = 3000,
                            .files = 3,
                            .seed = 9,
                            .eval_fraction = 0.2,
                            .threads = 1,
                            .out = a,
                            .format = writer_find("csv")};
    struct gen_report ra = {0}, rb = {0};
    OK(gen_run(&conf, &ra, &err));
    conf.out = b;
    conf.threads = 3;
    OK(gen_run(&conf, &rb, &err));
    static const char *const names[] = {"gen.json", "train/part-0.csv",
                                        "train/part-2.csv", "eval/part-0.csv"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK(hash_of(a, names[i]) == hash_of(b, names[i]));
    CHECK_INT(ra.splits[0].rows, 2400);
    CHECK_INT(ra.splits[1].rows, 600);
    gen_report_release(&ra);
    gen_report_release(&rb);
    rows_drop(a);
    rows_drop(b);
}

static void missing_memory_is_reported(void)
{
    struct err err = {0};
    struct data_schema s = {0};
    gen_schema(gen_find("taobao"), &s);
    enum rc rc = RC_NOMEM;
    int64_t live = mem_live();
    for (int64_t n = 1; rc && n < 1000; n++) {
        struct batch b;
        batch_init(&b, &s);
        mem_fail_at(n);
        rc = gen_rows(gen_find("taobao"), 1, 0, 50, &b, NULL, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        CHECK_INT(b.n, rc ? 0 : 50);
        batch_release(&b);
    }
    CHECK_INT(rc, RC_OK);
    CHECK_INT(mem_live(), live);
    data_schema_release(&s);
}

static const struct tap_case cases[] = {
    TAP(a_row_depends_on_seed_and_number_alone),
    TAP(best_auc_is_that_of_the_true_probabilities),
    TAP(ids_are_never_negative_or_missing),
    TAP(auc_counts_pairs),
    TAP(second_label_implies_the_first),
    TAP(files_are_the_same_with_any_number_of_threads),
    TAP(missing_memory_is_reported),
};
TAP_MAIN(cases)
