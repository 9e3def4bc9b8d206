/* SPDX-License-Identifier: Apache-2.0 */
#include "train/mask.h"

#include <string.h>

#include "tap.h"

#define ROWS 4000
#define ITEMS 9000

static const struct batch rows = {.n = ROWS}, items = {.n = ITEMS};

static int64_t count(const struct train_mask *m, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t i = from; i < to; i++)
        n += m->at[i];
    return n;
}

static void draw(struct train_mask *m, const struct train_mask_conf *c,
                 const struct sampled *in, uint64_t step)
{
    struct err err = {0};
    CHECK(train_mask_draw(m, c, in, step, &err) == RC_OK);
}

static void without_probabilities_nothing_is_masked(void)
{
    struct train_mask m = {0};
    struct sampled in = {.rows = &rows};
    draw(&m, &(struct train_mask_conf){.seed = 7}, &in, 1);
    CHECK(!m.at);
}

static void rows_and_drawn_items_have_their_own_probability(void)
{
    struct train_mask m = {0};
    struct train_mask_conf c = {.rows = 0.25, .negatives = 0.75, .seed = 7};
    draw(&m, &c, &(struct sampled){.rows = &rows, .items = &items, .n_own = ROWS}, 1);
    int64_t a = count(&m, 0, ROWS), b = count(&m, ROWS, ITEMS);
    CHECK(a > 900 && a < 1100);  /* 1000, six deviations to either side */
    CHECK(b > 3560 && b < 3940); /* 3750 */
    draw(&m, &c, &(struct sampled){.rows = &rows, .n_negatives = 1000}, 1);
    b = count(&m, 3000, ROWS);
    CHECK(b > 660 && b < 840); /* 750 */
    train_mask_release(&m);
}

static void a_mask_follows_from_seed_step_and_rank(void)
{
    struct train_mask a = {0}, b = {0};
    struct sampled in = {.rows = &rows};
    const struct train_mask_conf c = {.rows = 0.5, .seed = 7},
                                 other[] = {{.rows = 0.5, .seed = 8},
                                            {.rows = 0.5, .seed = 7, .rank = 1}};
    draw(&a, &c, &in, 3);
    draw(&b, &c, &in, 3);
    CHECK(memcmp(a.at, b.at, ROWS) == 0);
    draw(&b, &c, &in, 4);
    CHECK(memcmp(a.at, b.at, ROWS) != 0);
    for (size_t i = 0; i < 2; i++) {
        draw(&b, &other[i], &in, 3);
        CHECK(memcmp(a.at, b.at, ROWS) != 0);
    }
    train_mask_release(&a);
    train_mask_release(&b);
}

static const struct tap_case cases[] = {
    TAP(without_probabilities_nothing_is_masked),
    TAP(rows_and_drawn_items_have_their_own_probability),
    TAP(a_mask_follows_from_seed_step_and_rank),
};
TAP_MAIN(cases)
