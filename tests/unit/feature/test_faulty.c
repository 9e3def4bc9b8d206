/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that break their contract: each failure has words, and numbers are counted. */
#include "feature/feature_private.h"
#include "vector.h"

static struct {
    enum rc answer;
    int numbers;
} fault;

static enum rc odd_step(struct fg_run *x, const struct fg_range *in)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < fault.numbers && !rc; i++)
        rc = sink_number(x, 0.5, true);
    return rc ? rc : fault.answer;
}

static enum rc odd_fast(struct fg_run *x, bool *done)
{
    return fault.answer;
}

/* Runs a combining feature, whose operator is replaced, over two rows. */
static enum rc run_odd(bool fast, struct err *err)
{
    static const char text[] =
        "data_config { fg_mode: FG_DAG }\n"
        "feature_configs { raw_feature { feature_name: 'f' expression: 'item:x'\n"
        "  boundaries: [0.1, 0.9] value_dim: 1 embedding_dim: 4 } }\n";
    struct bound b;
    struct table t;
    struct feature_plan *p = NULL;
    CHECK(bound_init(&b, text));
    CHECK(feature_plan_create(b.conf, NULL, &p, &b.diags, err) == RC_OK);
    table_init(&t, "x str 0.1 / 0.2");
    struct fg_ops ops = *p->at[0].ops;
    ops.step = odd_step;
    ops.fast = fast ? odd_fast : NULL;
    p->at[0].ops = &ops;
    struct feature_scratch *s = feature_scratch_create(p);
    struct feature_batch *o = feature_batch_create(p);
    enum rc rc = feature_run(p, s, &t.batch, NULL, o, err);
    feature_batch_destroy(o);
    feature_scratch_destroy(s);
    table_release(&t);
    feature_plan_destroy(p);
    bound_release(&b);
    return rc;
}

static void an_operator_that_fails_without_a_word_is_named(void)
{
    struct err err = {0};
    fault.answer = RC_INVAL;
    CHECK_INT(run_odd(false, &err), RC_INVAL);
    CHECK_STR(err.msg, "feature 'f': step() failed without a message (invalid)");
    CHECK_INT(err.code, E0010);
    err = (struct err){0};
    CHECK_INT(run_odd(true, &err), RC_INVAL);
    CHECK_STR(err.msg, "feature 'f': fast() failed without a message (invalid)");
    err = (struct err){0};
    fault.answer = (enum rc)4;
    CHECK_INT(run_odd(false, &err), RC_INVAL);
    CHECK_STR(err.msg, "feature 'f': step() answered 4, which is not an error code");
    CHECK_INT(err.code, E0011);
}

static void numbers_before_boundaries_are_as_many_as_the_feature_has(void)
{
    struct err err = {0};
    fault.answer = RC_OK;
    fault.numbers = 1;
    CHECK_INT(run_odd(false, &err), RC_OK);
    fault.numbers = 2;
    CHECK_INT(run_odd(false, &err), RC_FORMAT);
    CHECK_HAS(err.msg, "2 numbers, and it has 1");
    CHECK_INT(err.code, E1305);
}

static const struct tap_case cases[] = {
    TAP(an_operator_that_fails_without_a_word_is_named),
    TAP(numbers_before_boundaries_are_as_many_as_the_feature_has),
};
TAP_MAIN(cases)
