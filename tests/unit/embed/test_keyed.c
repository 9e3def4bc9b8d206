/* SPDX-License-Identifier: Apache-2.0 */
/* Keyed tables against the rules as they are written down: everything is sorted, nothing
 * is clever.
 */
#include "embed/embed.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

#define FREE INT64_MAX

/* --- zch, literally --- */

struct held {
    int64_t id, count, last;
    double score;
    bool held, pinned;
};

struct embed_plain {
    struct embed_keyed_conf conf;
    struct held at[64]; /* conf.capacity + 1, the last one pinned */
    int64_t n, now, last_round;
    int64_t ids[4096], times[4096], n_history, room;
};

static double plain_score(const struct embed_plain *p, const struct held *h)
{
    double age = pow((double)(p->now - h->last + 1), p->conf.decay);
    if (h->pinned)
        return INFINITY;
    return p->conf.worth == WORTH_RECENT         ? -age
           : p->conf.worth == WORTH_COUNT_BY_AGE ? (double)h->count / age
                                                 : (double)h->count;
}

/* Insertion sort: stable. */
static void sort_desc(struct held *h, int64_t n, bool by_score)
{
    for (int64_t i = 1; i < n; i++) {
        struct held x = h[i];
        int64_t k = i;
        for (; k > 0 && (by_score ? h[k - 1].score < x.score : h[k - 1].count < x.count);
             k--)
            h[k] = h[k - 1];
        h[k] = x;
    }
}

static void sort_ids(struct held *h, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        struct held x = h[i];
        int64_t k = i;
        for (; k > 0 && h[k - 1].id > x.id; k--)
            h[k] = h[k - 1];
        h[k] = x;
    }
}

static void plain_init(struct embed_plain *p, const struct embed_keyed_conf *conf)
{
    *p = (struct embed_plain){.conf = *conf, .n = conf->capacity + 1};
    for (int64_t i = 0; i < p->n; i++)
        p->at[i] = (struct held){.id = FREE, .held = true, .pinned = i == p->n - 1};
}

static int64_t uniques(struct embed_plain *p, struct held *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_history; i++) {
        int64_t k = 0;
        while (k < n && out[k].id != p->ids[i])
            k++;
        if (k == n)
            out[n++] = (struct held){.id = p->ids[i]};
        out[k].count++;
        out[k].last = p->times[i];
    }
    sort_ids(out, n);
    struct embed_filter_round round = {.mean = n ? (double)p->n_history / (double)n : 0};
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (embed_filter_keeps(&p->conf.filter, &round, out[i].count, 0))
            out[kept++] = out[i];
    sort_desc(out, kept, false);
    return kept;
}

static void plain_round(struct embed_plain *p)
{
    struct held all[4096], u[2048];
    int64_t n_u = uniques(p, u), n = p->n;
    memcpy(all, p->at, (size_t)p->n * sizeof(*all));
    for (int64_t i = 0; i < n_u; i++) {
        int64_t k = 0;
        while (k < p->n && all[k].id != u[i].id)
            k++;
        if (k == p->n) {
            all[n++] = u[i];
        } else {
            all[k].count += u[i].count;
            all[k].last = u[i].last;
        }
    }
    for (int64_t i = 0; i < n; i++)
        all[i].score = plain_score(p, &all[i]);
    sort_desc(all, n, true);
    memcpy(p->at, all, (size_t)p->n * sizeof(*all));
    sort_ids(p->at, p->n);
    p->n_history = 0;
    p->last_round = p->now;
}

static void plain_batch(struct embed_plain *p, const int64_t *ids, int64_t n)
{
    if (p->room == 0)
        p->room = (int64_t)(1.25 * (double)p->conf.interval * (double)n);
    p->now++;
    for (int64_t i = 0; i < n && p->n_history < p->room; i++) {
        p->ids[p->n_history] = ids[i];
        p->times[p->n_history++] = p->now;
    }
    if (p->now - p->last_round == p->conf.interval)
        plain_round(p);
}

static bool same_ids(const struct embed_plain *p, const struct embed_keyed *k)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        if (p->at[i].id == FREE)
            continue;
        int64_t row = embed_keyed_find(k, p->at[i].id);
        n++;
        if (row < 0 || k->ids.counts[row] != p->at[i].count ||
            k->ids.last[row] != p->at[i].last)
            return false;
    }
    return n == k->ids.n;
}

/* Some ids often, most rarely; more of them later. */
static void draw_ids(struct rng *r, int64_t *ids, int64_t n, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t range = 3 + rng_below(r, 10) * rng_below(r, 10);
        ids[i] = (int64_t)(rng_below(r, range) * 7919 + (uint64_t)(step / 8) * 13);
    }
}

static void check_zch(enum embed_keyed_worth worth, double decay, const char *filter)
{
    struct embed_keyed_conf conf = {
        .kind = KEYED_ZCH, .capacity = 19, .worth = worth, .decay = decay, .interval = 3};
    uint64_t used[1] = {0};
    int64_t ids[64], rows[64];
    struct embed_keyed *k = NULL;
    struct embed_plain *p = mem_calloc(1, sizeof(*p));
    struct rng r;
    CHECK(embed_filter_parse(filter, &conf.filter, NULL) == RC_OK);
    CHECK(embed_keyed_create(&conf, "t", used, &k, NULL) == RC_OK);
    plain_init(p, &conf);
    rng_init(&r, 5, 0, 0, (uint64_t)worth);
    bool same = true, rows_fit = true;
    for (int64_t step = 0; step < 60; step++) {
        int64_t n = 20 + (int64_t)rng_below(&r, 44); /* some do not fit the history */
        draw_ids(&r, ids, n, step);
        struct embed_keyed_use use = {.ids = ids, .n = n, .rows = rows};
        CHECK(embed_keyed_train(k, NULL, &use, 1, NULL) == RC_OK);
        plain_batch(p, ids, n);
        same = same && same_ids(p, k);
        for (int64_t i = 0; i < n; i++) {
            int64_t row = embed_keyed_find(k, ids[i]);
            rows_fit = rows_fit && rows[i] == (row < 0 ? 19 : row);
        }
    }
    CHECK(same);
    CHECK(rows_fit);
    CHECK(k->evicted > 0 || k->conf.filter.kind == FILTER_ABOVE);
    embed_keyed_destroy(k);
    mem_free(p);
}

static void zch_keeps_the_ids_that_the_rules_keep(void)
{
    check_zch(WORTH_COUNT, 1, NULL);
    check_zch(WORTH_RECENT, 1, NULL);
    check_zch(WORTH_RECENT, 0.5, "");
    check_zch(WORTH_COUNT_BY_AGE, 1, NULL);
    check_zch(WORTH_COUNT_BY_AGE, 2, "lambda x: (x > 1, 1)");
    check_zch(WORTH_COUNT, 1, "average_threshold_filter");
}

/* A quarter more than the first batch would need; rows without an id need nothing. */
static void what_is_remembered_follows_from_the_first_batch(void)
{
    struct embed_keyed_conf conf = {.kind = KEYED_ZCH,
                                    .capacity = 9,
                                    .worth = WORTH_COUNT,
                                    .decay = 1,
                                    .interval = 4};
    uint64_t used[1] = {0};
    int64_t ids[] = {1, -1, 2, -1, 3, 4, 5, -1}, rows[8];
    struct embed_keyed *k = NULL;
    struct embed_keyed_use use = {.ids = ids, .n = 8, .rows = rows};
    CHECK(embed_keyed_create(&conf, "t", used, &k, NULL) == RC_OK);
    CHECK(embed_keyed_train(k, NULL, &use, 1, NULL) == RC_OK);
    CHECK(k->history.room == 25 && k->history.n == 5); /* 1.25 * 4 * 5 */
    int64_t many[15] = {6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7};
    int64_t many_rows[15];
    use = (struct embed_keyed_use){.ids = many, .n = 15, .rows = many_rows};
    CHECK(embed_keyed_train(k, NULL, &use, 1, NULL) == RC_OK);
    CHECK(embed_keyed_train(k, NULL, &use, 1, NULL) == RC_OK);
    CHECK(k->history.room == 25 && k->history.n == 25); /* the rest is left out */
    CHECK(embed_keyed_train(k, NULL, &use, 1, NULL) == RC_OK);
    CHECK(k->history.n == 0 && k->ids.counts[embed_keyed_find(k, 6)] == 19);
    CHECK(k->ids.counts[embed_keyed_find(k, 7)] == 1 && rows[1] < 0);
    embed_keyed_destroy(k);
}

static struct embed_keyed *growing(int64_t capacity, enum embed_keyed_worth worth,
                                   int64_t admit, uint64_t *used)
{
    struct embed_keyed_conf conf = {.kind = KEYED_GROWING,
                                    .capacity = capacity,
                                    .worth = worth,
                                    .bucket = 128,
                                    .admit = admit,
                                    .counters = 16,
                                    .counter_bucket = 16};
    struct embed_keyed *k = NULL;
    CHECK(embed_keyed_create(&conf, "t", used, &k, NULL) == RC_OK);
    return k;
}

static void batch(struct embed_keyed *k, const int64_t *ids, int64_t n, int64_t *rows)
{
    struct embed_keyed_use use = {.ids = ids, .n = n, .rows = rows};
    CHECK(embed_keyed_train(k, NULL, &use, 1, NULL) == RC_OK);
}

static void a_growing_table_gives_up_what_was_not_seen_for_longest(void)
{
    uint64_t used[1] = {0};
    int64_t rows[4];
    struct embed_keyed *k = growing(3, WORTH_RECENT, 0, used);
    batch(k, (int64_t[]){10, 11, 10}, 3, rows);
    CHECK(rows[0] == 0 && rows[1] == 1 && rows[2] == 0);
    batch(k, (int64_t[]){12, -1}, 2, rows);
    CHECK(rows[0] == 2 && rows[1] < 0);
    used[0] = 7;
    batch(k, (int64_t[]){10, 13}, 2, rows);
    CHECK(rows[0] == 0 && rows[1] == 1); /* 11 went */
    CHECK(embed_keyed_find(k, 11) < 0 && used[0] == 5);
    /* Ids of a batch do not push out each other; the fourth is turned away. */
    batch(k, (int64_t[]){20, 21, 22, 23}, 4, rows);
    CHECK(rows[0] < 3 && rows[1] < 3 && rows[2] < 3);
    CHECK_INT(rows[3], 3);
    CHECK(!embed_keyed_trains(k, 3) && embed_keyed_trains(k, 2));
    struct embed_keyed_use look = {.ids = (int64_t[]){20, 99}, .n = 2, .rows = rows};
    embed_keyed_look_up(k, NULL, &look, 1);
    CHECK(rows[0] < 3 && rows[1] == 4); /* outside training: the other vector */
    CHECK_INT(k->ids.n, 3);
    CHECK_INT(k->evicted, 4);
    embed_keyed_destroy(k);
}

static void a_growing_table_gives_up_what_occurred_least(void)
{
    uint64_t used[1] = {0};
    int64_t rows[4];
    struct embed_keyed *k = growing(3, WORTH_COUNT, 0, used);
    batch(k, (int64_t[]){10, 10, 11, 12}, 4, rows);
    batch(k, (int64_t[]){11, 11}, 2, rows);
    batch(k, (int64_t[]){13}, 1, rows);
    CHECK(embed_keyed_find(k, 12) < 0 && rows[0] == 2);
    struct embed_keyed_use twice[] = {
        {.ids = (int64_t[]){10}, .n = 1, .rows = rows},
        {.ids = (int64_t[]){10}, .n = 1, .rows = rows + 1, .again = true}};
    CHECK(embed_keyed_train(k, NULL, twice, 2, NULL) == RC_OK);
    CHECK_INT(k->ids.counts[0], 3); /* one feature, used twice */
    embed_keyed_destroy(k);
}

static void nobody_goes_where_all_stay(void)
{
    uint64_t used[1] = {0};
    int64_t rows[2];
    struct embed_keyed *k = growing(2, WORTH_ALL, 0, used);
    batch(k, (int64_t[]){10, 11}, 2, rows);
    batch(k, (int64_t[]){12, 10}, 2, rows);
    CHECK(rows[0] == 2 && rows[1] == 0 && k->evicted == 0);
    embed_keyed_destroy(k);
}

static void an_id_is_admitted_when_it_was_seen_often_enough(void)
{
    uint64_t used[1] = {0};
    int64_t rows[3];
    struct embed_keyed *k = growing(4, WORTH_RECENT, 3, used);
    batch(k, (int64_t[]){10, 10, 11}, 3, rows);
    CHECK(rows[0] == 4 && rows[2] == 4);
    batch(k, (int64_t[]){11, 10, 10}, 3, rows); /* counted before any is placed */
    CHECK(rows[0] == 4 && rows[1] == 0 && rows[2] == 0);
    batch(k, (int64_t[]){11}, 1, rows);
    CHECK_INT(rows[0], 1);
    CHECK_INT(k->admitted, 2);
    embed_keyed_destroy(k);
}

/* Many ids in many buckets: never more than fit, each found where it says. */
static void large_sets_stay_consistent(void)
{
    uint64_t used[64] = {0};
    struct embed_keyed *k = growing(4000, WORTH_RECENT, 0, used);
    struct rng r;
    int64_t ids[500], rows[500];
    bool good = true;
    rng_init(&r, 6, 0, 0, 0);
    for (int step = 0; step < 100; step++) {
        for (int i = 0; i < 500; i++)
            ids[i] = (int64_t)(rng_u64(&r) >> 1) % (1000 + step * 1000);
        batch(k, ids, 500, rows);
        for (int i = 0; i < 500; i++)
            good = good && (rows[i] == 4000 ||
                            (rows[i] < k->ids.n && k->ids.keys[rows[i]] == ids[i] &&
                             embed_keyed_find(k, ids[i]) == rows[i]));
    }
    CHECK(good && k->ids.n <= 4000 && k->ids.n > 3900 && k->evicted > 1000);
    int64_t found = 0;
    for (int64_t i = 0; i < k->ids.n; i++)
        found += embed_keyed_find(k, k->ids.keys[i]) == i;
    CHECK_INT(found, k->ids.n);
    embed_keyed_destroy(k);
}

static void filters_are_read_as_written(void)
{
    static const struct {
        const char *text;
        enum embed_filter_kind kind;
        double at;
    } good[] = {
        {NULL, FILTER_NONE, 0},
        {"lambda x: (x > 10, 10)", FILTER_ABOVE, 10},
        {"lambda x: dynamic_threshold_filter(x)", FILTER_MEAN, 10},
        {"lambda x: dynamic_threshold_filter(x, 5)", FILTER_MEAN, 5},
        {"partial(dynamic_threshold_filter, threshold_skew_multiplier=2.5)", FILTER_MEAN,
         2.5},
        {"average_threshold_filter", FILTER_MEAN, 1},
        {"lambda x: probabilistic_threshold_filter(x, per_id_probability=0.25)",
         FILTER_CHANCE, 0.25},
        {"probabilistic_threshold_filter", FILTER_CHANCE, 0.01},
    };
    static const char *const bad[] = {"lambda x: x",
                                      "eval(x)",
                                      "lambda x: (x > y, y)",
                                      "dynamic_threshold_filter(",
                                      "partial(average_threshold_filter, m=3)",
                                      "partial(average_threshold_filter"};
    struct embed_filter f;
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK(embed_filter_parse(good[i].text, &f, &err) == RC_OK);
        CHECK(f.kind == good[i].kind && f.at == good[i].at);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(embed_filter_parse(bad[i], &f, &err) == RC_UNSUPPORTED &&
              err.code == E2302);
    CHECK_STR(err.msg, "threshold_filtering_func 'partial(average_threshold_filter' is "
                       "not understood");
    const struct embed_filter_round none = {0};
    f = (struct embed_filter){.kind = FILTER_CHANCE, .at = 0.5};
    CHECK(embed_filter_keeps(&f, &none, 2, 0.74) &&
          !embed_filter_keeps(&f, &none, 2, 0.75));
}

/* Which of the counts 1, 2, 3, 10, 100 a formula keeps, as bits. */
static unsigned kept_by(const char *text, double chance)
{
    static const int64_t counts[] = {1, 2, 3, 10, 100};
    struct embed_filter f;
    struct embed_filter_round r;
    unsigned bits = 0;
    if (embed_filter_parse(text, &f, NULL))
        return 99;
    CHECK(f.kind == FILTER_FORMULA);
    embed_filter_begin(&f, counts, 1, 5, &r);
    for (unsigned i = 0; i < 5; i++)
        bits |= (unsigned)embed_filter_keeps(&f, &r, counts[i], chance) << i;
    return bits;
}

/* Expected values are those of torch for the same tensor. */
static void formulas_are_those_of_python(void)
{
    CHECK_INT(kept_by("lambda x: (x >= 3, 3)", 0), 28);
    CHECK_INT(kept_by("lambda counts: (counts > 2 * 5 - 1, 9)", 0), 24);
    CHECK_INT(kept_by("lambda x: (x > x.float().mean(), x.float().mean())", 0), 16);
    CHECK_INT(kept_by("lambda x: (x > 0.1 * torch.mean(x.float()), 0)", 0), 28);
    CHECK_INT(kept_by("lambda x: ((x > 1) & (x < 100), 1)", 0), 14);
    CHECK_INT(kept_by("lambda x: (~(x > 1) | (x == 10), 1)", 0), 9);
    CHECK_INT(kept_by("lambda x: (x % 2 == 0, 0)", 0), 26);
    CHECK_INT(kept_by("lambda x: (x // 3 >= 1, 0)", 0), 28);
    CHECK_INT(kept_by("lambda x: (-x + 4 > 0, 0)", 0), 7);
    CHECK_INT(kept_by("lambda x: (x ** 2 > 99, 0)", 0), 24);
    CHECK_INT(kept_by("lambda x: (x < x.max(), 0)", 0), 15);
    CHECK_INT(kept_by("lambda x: (x > x.min() + len(x), 0)", 0), 24);
    CHECK_INT(kept_by("lambda x: (x > x.sum() / x.numel(), 0)", 0), 16);
    CHECK_INT(kept_by("lambda x: (x.log() > torch.sqrt(x.size(0)) - 1, 0)", 0), 24);
    CHECK_INT(kept_by("lambda x: (x - x.float().mean() > x.float().std(), 0)", 0), 16);
    CHECK_INT(kept_by("lambda x: ((x - (x - x.min()).float().mean()) > 0, 0)", 0), 16);
    CHECK_INT(kept_by("lambda x: (torch.rand_like(x.float()) < 0.5, 0)", 0.4), 31);
    CHECK_INT(kept_by("lambda x: (torch.rand_like(x.float()) < 0.5, 0)", 0.6), 0);
}

static void other_formulas_are_refused(void)
{
    static const char *const bad[] = {
        "lambda x: (x, 1)",
        "lambda x: (x > 1)",
        "lambda x: (x > , 1)",
        "lambda x: (x > 1, 1",
        "lambda x: (x > 1, 1) y",
        "lambda x: (x & 1 > 0, 1)",
        "lambda x: (open(x), 1)",
        "lambda x: (x.foo() > 1, 1)",
        "lambda x: (x.size(1) > 1, 1)",
        "lambda: (x > 1, 1)",
        "lambda x: (x > 1 > 0, 1)",
        "lambda x: ((((((((((((((((((((((((((((((((((((((((x > 1)))))))))))))))))))))))))))))))))))))))), 1)"};
    struct embed_filter f;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(embed_filter_parse(bad[i], &f, NULL) == RC_UNSUPPORTED);
    char deep[2000] = "lambda x: (x > 1";
    for (int i = 0; i < 200; i++)
        strcat(deep, " + 1");
    strcat(deep, ", 1)");
    CHECK(embed_filter_parse(deep, &f, NULL) == RC_UNSUPPORTED);
}

static void settings_that_cannot_be_are_refused(void)
{
    struct embed_keyed_conf conf = {
        .kind = KEYED_ZCH, .capacity = 0, .interval = 1, .decay = 1};
    struct embed_keyed *k = NULL;
    struct err err = {0};
    CHECK(embed_keyed_create(&conf, "u_emb", NULL, &k, &err) == RC_INVAL);
    CHECK_STR(err.msg, "table 'u_emb': room for 0 ids is outside [1, 2147483646]");
    CHECK_INT(err.code, E2301);
    conf = (struct embed_keyed_conf){.kind = KEYED_ZCH, .capacity = 5, .decay = 1};
    CHECK(embed_keyed_create(&conf, "u_emb", NULL, &k, &err) == RC_INVAL);
    CHECK_STR(err.msg, "table 'u_emb': eviction_interval 0 and decay_exponent 1 must be "
                       "above 0");
}

static struct embed_table_conf conf_of(enum embed_keyed_kind kind, enum dtype type)
{
    struct embed_table_conf c = {.name = kind == KEYED_ZCH ? "z_emb" : "g_emb",
                                 .dim = 6,
                                 .type = type,
                                 .init = EMBED_NORMAL,
                                 .b = 0.1,
                                 .trainable = true,
                                 .seed = 3,
                                 .opt = {.kind = ROW_ADAGRAD, .eps = 1e-8},
                                 .keyed = {.kind = kind,
                                           .capacity = 40,
                                           .worth = WORTH_COUNT,
                                           .decay = 1,
                                           .interval = 2,
                                           .bucket = 8},
                                 .stranger = {.init = EMBED_CONST, .a = 0.5},
                                 .unknown = {.init = EMBED_CONST, .a = -0.5}};
    c.rows = embed_keyed_rows(&c.keyed);
    return c;
}

/* Some training of two keyed tables; the last outputs and the tables come back. */
static struct embed *trained(int threads, enum dtype type, float out[32 * 12],
                             struct pool **pool)
{
    CHECK(pool_create(threads, pool, NULL) == RC_OK);
    struct embed *e = embed_create(*pool);
    struct rng r;
    int64_t ids[2][32];
    float grad[32 * 12];
    struct view view = view_of(out, 32, 12), grads = view_of(grad, 32, 12);
    for (int t = 0; t < 2; t++) {
        struct embed_table_conf c = conf_of(t ? KEYED_GROWING : KEYED_ZCH, type);
        struct embed_slot_conf s = {.feature = "f", .table = t, .col = 6 * t};
        CHECK_INT(embed_add_table(e, &c, NULL), t);
        embed_add_slot(e, &s);
    }
    rng_init(&r, 7, 0, 0, 0);
    for (uint64_t step = 1; step <= 30; step++) {
        struct embed_slot_ids slots[2] = {{.ids = ids[0], .rows = 32},
                                          {.ids = ids[1], .rows = 32}};
        draw_ids(&r, ids[0], 32, (int64_t)step);
        draw_ids(&r, ids[1], 32, (int64_t)step);
        ids[0][3] = ids[1][7] = -1;
        CHECK(embed_batch(e, slots, true, NULL) == RC_OK);
        embed_forward(e, &view);
        rng_fill_normal(&r, 0, 1, grad, 32 * 12);
        embed_backward(e, &grads, &(struct embed_row_step){.lr = 0.1, .step = step});
    }
    return e;
}

static void results_do_not_depend_on_threads(void)
{
    for (enum dtype type = DT_F32; type <= DT_F16; type++) {
        float want[32 * 12], got[32 * 12];
        struct pool *p, *q;
        struct embed *a = trained(1, type, want, &p);
        for (int threads = 2; threads <= 5; threads += 3) {
            struct embed *b = trained(threads, type, got, &q);
            CHECK(memcmp(want, got, sizeof(got)) == 0);
            for (int t = 0; t < 2; t++) {
                const struct embed_table *x = embed_table_at(a, t),
                                         *y = embed_table_at(b, t);
                CHECK(memcmp(x->data, y->data, embed_table_bytes(x)) == 0);
                CHECK(x->keyed->evicted > 0 &&
                      memcmp(x->keyed->ids.keys, y->keyed->ids.keys, 40 * 8) == 0);
            }
            embed_destroy(b);
            pool_destroy(q);
        }
        embed_destroy(a);
        pool_destroy(p);
    }
}

/* Unknown ids: the shared row of zch, constants of a growing table; nothing changes. */
static void evaluation_reads_and_leaves_alone(void)
{
    float out[32 * 12], seen[12];
    struct pool *p;
    struct embed *e = trained(2, DT_F32, out, &p);
    struct embed_table *z = embed_table_at(e, 0), *g = embed_table_at(e, 1);
    int64_t now = z->keyed->now, n = g->keyed->ids.n;
    int64_t ids[1] = {1 << 30};
    struct embed_slot_ids slots[2] = {{.ids = ids, .rows = 1}, {.ids = ids, .rows = 1}};
    struct view view = view_of(seen, 1, 12);
    CHECK(embed_batch(e, slots, false, NULL) == RC_OK);
    embed_forward(e, &view);
    CHECK(memcmp(seen, embed_table_row(z, 40), 6 * sizeof(float)) == 0);
    CHECK(seen[6] == -0.5f && seen[11] == -0.5f);
    CHECK(embed_table_row(g, 40)[0] == 0.5f && embed_table_row(g, 41)[5] == -0.5f);
    CHECK(z->keyed->now == now && g->keyed->ids.n == n);
    embed_destroy(e);
    pool_destroy(p);
}

/* An id that comes back starts where it started: values follow from the id. */
static void first_values_belong_to_the_id(void)
{
    struct embed_table_conf c = conf_of(KEYED_GROWING, DT_F32);
    c.keyed.capacity = 2;
    c.rows = embed_keyed_rows(&c.keyed);
    struct embed_table *t = NULL;
    float first[6], again[6];
    int64_t rows[2];
    CHECK(embed_table_create(&c, &t, NULL) == RC_OK);
    batch(t->keyed, (int64_t[]){100, 200}, 2, rows);
    embed_table_initial(t, rows[1], first);
    batch(t->keyed, (int64_t[]){300, 400}, 2, rows);
    batch(t->keyed, (int64_t[]){200}, 1, rows);
    embed_table_initial(t, rows[0], again);
    CHECK(memcmp(first, again, sizeof(first)) == 0 && first[0] != 0);
    embed_table_destroy(t);
}

/* Trains one id per call; what its row holds afterwards, state behind the weights. */
static void train_id(struct embed *e, int64_t id, double lr, uint64_t step, float row[12])
{
    const struct embed_table *t = embed_table_at(e, 0);
    float out[6], grad[6] = {1, 2, 3, 4, 5, 6};
    struct embed_slot_ids ids = {.ids = &id, .rows = 1};
    struct view view = view_of(out, 1, 6), grads = view_of(grad, 1, 6);
    CHECK(embed_batch(e, &ids, true, NULL) == RC_OK);
    embed_forward(e, &view);
    embed_backward(e, &grads, &(struct embed_row_step){.lr = lr, .step = step});
    int64_t at = embed_keyed_find(t->keyed, id);
    memcpy(row, embed_table_row(t, at < 0 ? t->conf.keyed.capacity : at),
           12 * sizeof(float));
}

/* Neither weights nor optimizer state of the one before are left. */
static void a_row_that_changes_hands_begins_anew(void)
{
    for (enum embed_keyed_kind kind = KEYED_ZCH; kind <= KEYED_GROWING; kind++) {
        struct embed_table_conf c = conf_of(kind, DT_F32);
        struct embed *e = embed_create(NULL);
        struct embed_slot_conf s = {.feature = "f"};
        float row[12], first[6], untouched[12];
        c.keyed.capacity = 1;
        c.keyed.interval = 1;
        c.keyed.worth = WORTH_RECENT;
        c.opt.initial_accumulator = 0.5;
        c.rows = embed_keyed_rows(&c.keyed);
        CHECK_INT(embed_add_table(e, &c, NULL), 0);
        embed_add_slot(e, &s);
        struct embed_table *t = embed_table_at(e, 0);
        train_id(e, 100, 0.1, 1, row);
        train_id(e, 100, 0.1, 2, row);
        CHECK(embed_keyed_find(t->keyed, 100) == 0 && row[6] == 2.5f); /* 0.5 + 1 + 1 */
        train_id(e, 200, 0, 3, row);
        CHECK(embed_keyed_find(t->keyed, 100) < 0 &&
              embed_keyed_find(t->keyed, 200) == 0);
        embed_table_initial(t, 0, first);
        CHECK(memcmp(row, first, sizeof(first)) == 0);
        CHECK(row[6] == 1.5f && row[11] == 36.5f); /* the one gradient since */
        train_id(e, 200, 0.1, 4, untouched);
        CHECK(memcmp(untouched, row, sizeof(row)) != 0);
        CHECK_INT(t->keyed->evicted, 1);
        embed_destroy(e);
    }
}

/* Until a round admits them, unknown ids train the row that they share. */
static void unknown_ids_train_the_shared_row(void)
{
    struct embed_table_conf c = conf_of(KEYED_ZCH, DT_F32);
    struct embed *e = embed_create(NULL);
    struct embed_slot_conf s = {.feature = "f"};
    float row[12], before[12];
    c.keyed.capacity = 2;
    c.keyed.interval = 3;
    c.rows = embed_keyed_rows(&c.keyed);
    CHECK_INT(c.rows, 3);
    CHECK_INT(embed_add_table(e, &c, NULL), 0);
    embed_add_slot(e, &s);
    struct embed_table *t = embed_table_at(e, 0);
    train_id(e, 7, 0.1, 1, before);
    CHECK(embed_keyed_find(t->keyed, 7) < 0);
    train_id(e, 8, 0.1, 2, row);
    CHECK(row[6] == 2 && row[0] != before[0]); /* both were added up there */
    train_id(e, 7, 0.1, 3, row);               /* the round sees its own batch */
    CHECK(embed_keyed_find(t->keyed, 7) == 0 && embed_keyed_find(t->keyed, 8) == 1);
    CHECK(row[6] == 1 && t->keyed->last_round == 3);
    embed_destroy(e);
}

static void memory_that_is_refused_is_an_error(void)
{
    struct embed_table_conf c = conf_of(KEYED_ZCH, DT_F32);
    int64_t live = mem_live(), ids[32], rows[32];
    struct rng r;
    rng_init(&r, 8, 0, 0, 0);
    draw_ids(&r, ids, 32, 0);
    struct embed_keyed_use use = {.ids = ids, .n = 32, .rows = rows};
    bool done = false;
    for (int64_t n = 1; n < 100 && !done; n++) {
        struct embed_table *t = NULL;
        struct err err = {0};
        mem_fail_at(n);
        enum rc rc = embed_table_create(&c, &t, &err);
        for (int i = 0; i < 4 && !rc; i++)
            rc = embed_keyed_train(t->keyed, NULL, &use, 1, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || (rc == RC_NOMEM && err.code == E2304));
        done = rc == RC_OK;
        embed_table_destroy(t);
        CHECK_INT(mem_live(), live);
    }
    CHECK(done);
}

static const struct tap_case cases[] = {
    TAP(zch_keeps_the_ids_that_the_rules_keep),
    TAP(what_is_remembered_follows_from_the_first_batch),
    TAP(a_growing_table_gives_up_what_was_not_seen_for_longest),
    TAP(a_growing_table_gives_up_what_occurred_least),
    TAP(nobody_goes_where_all_stay),
    TAP(an_id_is_admitted_when_it_was_seen_often_enough),
    TAP(large_sets_stay_consistent),
    TAP(filters_are_read_as_written),
    TAP(formulas_are_those_of_python),
    TAP(other_formulas_are_refused),
    TAP(settings_that_cannot_be_are_refused),
    TAP(results_do_not_depend_on_threads),
    TAP(evaluation_reads_and_leaves_alone),
    TAP(first_values_belong_to_the_id),
    TAP(a_row_that_changes_hands_begins_anew),
    TAP(unknown_ids_train_the_shared_row),
    TAP(memory_that_is_refused_is_an_error),
};
TAP_MAIN(cases)
