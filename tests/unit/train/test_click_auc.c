/* SPDX-License-Identifier: Apache-2.0 */
/* AUC by histogram, against counting all pairs. */
#include "train/click_auc.h"

#include "base/rng.h"
#include "tap.h"

#define ROWS 200
#define K 4095

struct rows {
    float probs[ROWS], labels[ROWS];
};

static void draw(struct rows *r, uint64_t seed)
{
    struct rng g;
    rng_init(&g, seed, 1, 0, 0);
    for (int i = 0; i < ROWS; i++) {
        r->probs[i] = rng_f32(&g);
        r->labels[i] = rng_f32(&g) < r->probs[i] ? 1.0f : 0.0f;
    }
}

static int64_t bucket(float p)
{
    return (int64_t)((double)p * K);
}

/* The share of pairs in the right order; pairs of one bucket count half. */
static double by_pairs(const struct rows *const *all, int n)
{
    double right = 0, pairs = 0;
    for (int a = 0; a < n * ROWS; a++)
        for (int b = 0; b < n * ROWS; b++) {
            const struct rows *x = all[a / ROWS], *y = all[b / ROWS];
            if (x->labels[a % ROWS] <= 0 || y->labels[b % ROWS] > 0)
                continue;
            int64_t p = bucket(x->probs[a % ROWS]), q = bucket(y->probs[b % ROWS]);
            right += p > q ? 1 : p == q ? 0.5 : 0;
            pairs++;
        }
    return right / pairs;
}

static void add(struct train_click_auc *a, const struct rows *r)
{
    struct err err = {0};
    CHECK(train_click_auc_add(a, r->probs, 1, r->labels, ROWS, &err) == RC_OK);
}

static void areas_are_the_share_of_pairs(void)
{
    struct rows r[3];
    const struct rows *all[] = {&r[0], &r[1], &r[2]};
    struct train_click_auc *a = train_click_auc_create(K, 2);
    for (int i = 0; i < 3; i++) {
        draw(&r[i], (uint64_t)i + 1);
        add(a, &r[i]);
    }
    CHECK_NEAR(train_click_auc_all(a), by_pairs(all, 3), 1e-12);
    CHECK_NEAR(train_click_auc_last(a), by_pairs(all + 1, 2), 1e-12);
    train_click_auc_reset(a);
    add(a, &r[0]);
    CHECK_NEAR(train_click_auc_all(a), by_pairs(all, 1), 1e-12);
    CHECK_NEAR(train_click_auc_last(a), by_pairs(all, 1), 1e-12);
    train_click_auc_destroy(a);
}

static void a_window_of_0_is_everything(void)
{
    struct rows r;
    struct train_click_auc *a = train_click_auc_create(K, 0);
    for (int i = 0; i < 4; i++) {
        draw(&r, (uint64_t)i);
        add(a, &r);
    }
    CHECK(train_click_auc_last(a) == train_click_auc_all(a));
    train_click_auc_destroy(a);
}

static void one_class_alone_has_no_area(void)
{
    struct train_click_auc *a = train_click_auc_create(K, 1);
    const float probs[] = {0, 1, 0.5f}, labels[] = {1, 1, 1};
    struct err err = {0};
    CHECK(train_click_auc_all(a) == 0);
    CHECK(train_click_auc_add(a, probs, 1, labels, 3, &err) == RC_OK);
    CHECK(train_click_auc_all(a) == 0 && train_click_auc_last(a) == 0);
    train_click_auc_destroy(a);
}

static void what_is_no_probability_is_refused(void)
{
    struct train_click_auc *a = train_click_auc_create(K, 1);
    const float probs[] = {0.5f, 0, 1.5f, 0, NAN, 0}, labels[] = {1, 0, 1};
    struct err err = {0};
    CHECK(train_click_auc_add(a, probs, 2, labels, 3, &err) == RC_INVAL);
    CHECK_STR(err.msg, "row 1 of the batch: 1.5 is not a probability");
    CHECK(train_click_auc_add(a, probs + 4, 1, labels, 1, &err) == RC_INVAL);
    CHECK(train_click_auc_all(a) == 0);
    train_click_auc_destroy(a);
}

static const struct tap_case cases[] = {
    TAP(areas_are_the_share_of_pairs),
    TAP(a_window_of_0_is_everything),
    TAP(one_class_alone_has_no_area),
    TAP(what_is_no_probability_is_refused),
};
TAP_MAIN(cases)
