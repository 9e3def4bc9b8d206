/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of rows: a loss is the sum of rows times weights, so a mean is 1 / rows each.
 */
#include "train/weights.h"

#include <math.h>

#include "tap.h"

#define ROWS 4

static enum rc fill(const struct model_task *t, const float *weights, const float *space,
                    float *out, struct err *err)
{
    return train_weights_fill(t, weights, space, view_of(out, ROWS, 1), err);
}

static struct model_task task(double weight, double in, double out)
{
    return (struct model_task){
        .weight = weight, .in_space = in, .out_space = out, .sample_weight = "w"};
}

/* The scale of sample weights does not count, only their ratios. */
static void sample_weights_are_divided_by_their_mean(void)
{
    struct model_task t = task(1, 1, 1);
    float w[ROWS], again[ROWS];
    CHECK(fill(&t, (float[]){1, 3, 0, 4}, NULL, w, NULL) == RC_OK);
    CHECK(w[0] == 0.125f && w[1] == 0.375f && w[2] == 0 && w[3] == 0.5f);
    CHECK(fill(&t, (float[]){10, 30, 0, 40}, NULL, again, NULL) == RC_OK);
    CHECK(memcmp(w, again, sizeof(w)) == 0);
    CHECK(fill(&t, NULL, NULL, w, NULL) == RC_OK);
    CHECK(w[0] == 0.25f && w[3] == 0.25f);
}

/* The weight of a task is what is left of the scale. */
static void a_tasks_weight_scales_its_loss(void)
{
    struct model_task t = task(0.5, 1, 1);
    float w[ROWS];
    CHECK(fill(&t, (float[]){1, 3, 0, 4}, NULL, w, NULL) == RC_OK);
    CHECK(w[0] + w[1] + w[2] + w[3] == 0.5f);
    t = task(0, 1, 1);
    CHECK(fill(&t, NULL, NULL, w, NULL) == RC_OK);
    CHECK(w[0] == 0 && w[3] == 0);
}

/* In and out of a task's space; above 0 is inside, 0 and below are not. */
static void rows_count_by_the_space_they_are_in(void)
{
    struct model_task t = task(1, 3, 1);
    float w[ROWS];
    CHECK(fill(&t, NULL, (float[]){1, 0, -1, 2}, w, NULL) == RC_OK);
    CHECK(w[0] == 0.375f && w[1] == 0.125f && w[2] == 0.125f && w[3] == 0.375f);
    CHECK(fill(&t, (float[]){1, 1, 2, 3}, (float[]){1, 0, 0, 1}, w, NULL) == RC_OK);
    CHECK_NEAR(w[0], 3.0 / 15, 1e-7);
    CHECK_NEAR(w[1], 1.0 / 15, 1e-7);
    CHECK_NEAR(w[2], 2.0 / 15, 1e-7);
    CHECK_NEAR(w[3], 9.0 / 15, 1e-7);
}

/* A batch without rows inside contributes nothing, and no NaN. */
static void a_batch_outside_the_space_counts_nothing(void)
{
    struct model_task t = task(2, 1, 0);
    float w[ROWS] = {NAN, NAN, NAN, NAN};
    CHECK(fill(&t, NULL, (float[]){0, 0, -1, 0}, w, NULL) == RC_OK);
    for (int i = 0; i < ROWS; i++)
        CHECK(w[i] == 0);
    CHECK(fill(&t, (float[]){0, 0, 0, 0}, NULL, w, NULL) == RC_OK);
    for (int i = 0; i < ROWS; i++)
        CHECK(w[i] == 0);
    CHECK(train_weights_fill(&t, NULL, NULL, view_of(w, 0, 1), NULL) == RC_OK);
}

static void a_weight_that_is_none_is_named(void)
{
    struct model_task t = task(1, 1, 1);
    float w[ROWS];
    struct err err = {0};
    CHECK(fill(&t, (float[]){1, NAN, 1, 1}, NULL, w, &err) == RC_INVAL);
    CHECK_INT(err.code, E1403);
    CHECK_STR(err.msg, "sample weight 'w': row 1 of the batch is nan");
    CHECK(fill(&t, (float[]){1, 1, 1, -2}, NULL, w, &err) == RC_INVAL);
    CHECK_STR(err.msg, "sample weight 'w': row 3 of the batch is -2");
}

static const struct tap_case cases[] = {
    TAP(sample_weights_are_divided_by_their_mean),
    TAP(a_tasks_weight_scales_its_loss),
    TAP(rows_count_by_the_space_they_are_in),
    TAP(a_batch_outside_the_space_counts_nothing),
    TAP(a_weight_that_is_none_is_named),
};
TAP_MAIN(cases)
