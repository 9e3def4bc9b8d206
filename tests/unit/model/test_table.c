/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of tables, as init_fn writes them. */
#include <math.h>

#include "base/mem.h"
#include "embed/table.h"
#include "model/parts.h"
#include "tap.h"
#include "unit/nn/golden_text.h"

static void init_fn_is_a_call(void)
{
    static const struct {
        const char *text;
        enum embed_init init;
        double a, b;
    } cases[] = {
        {NULL, EMBED_UNIFORM, -0.1, 0.1},
        {"nn.init.uniform_,a=-0.01,b=0.02", EMBED_UNIFORM, -0.01, 0.02},
        {"nn.init.uniform_,b=0.01", EMBED_UNIFORM, 0, 0.01},
        {"nn.init.uniform_,-0.25, 0.5", EMBED_UNIFORM, -0.25, 0.5},
        {"nn.init.normal_,0.5,std=2", EMBED_NORMAL, 0.5, 2},
        {"nn.init.normal_", EMBED_NORMAL, 0, 1},
        {"nn.init.trunc_normal_,std=0.5", EMBED_TRUNCATED, 0, 0.5},
        {"nn.init.constant_,0.3", EMBED_CONST, 0.3, 0},
        {"nn.init.constant_,val=0.3", EMBED_CONST, 0.3, 0},
        {"torch.nn.init.ones_", EMBED_CONST, 1, 0},
        {"nn.init.zeros_", EMBED_CONST, 0, 0},
        {"nn.init.xavier_uniform_,gain=2", EMBED_UNIFORM, -0.46709936649691375,
         0.46709936649691375},
        {"nn.init.xavier_normal_", EMBED_NORMAL, 0, 0.134839972492648},
        {"nn.init.kaiming_uniform_", EMBED_UNIFORM, -0.774596669241483,
         0.774596669241483},
        {"nn.init.kaiming_normal_,mode=fan_out,nonlinearity=linear", EMBED_NORMAL, 0,
         0.1},
        {"nn.init.kaiming_normal_,a=1", EMBED_NORMAL, 0, 0.316227766016838},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct embed_table_conf c = {.rows = 100, .dim = 10};
        CHECK(part_table_init(cases[i].text, &c, NULL));
        CHECK_INT(c.init, cases[i].init);
        CHECK_NEAR(c.a, cases[i].a, 1e-12);
        CHECK_NEAR(c.b, cases[i].b, 1e-12);
        CHECK(c.init != EMBED_TRUNCATED || (c.lo == -2 && c.hi == 2));
    }
}

static void unknown_ones_are_named(void)
{
    struct embed_table_conf c = {.rows = 100, .dim = 10};
    struct err err = {0};
    CHECK(!part_table_init("nn.init.orthogonal_", &c, &err));
    CHECK_STR(err.msg, "init_fn 'nn.init.orthogonal_' is not known");
}

/* Means and bounds of what is drawn. */
static void drawn_values_follow_the_distribution(void)
{
    struct embed_values v = {EMBED_TRUNCATED, 0.1, 1, -0.5, 0.5};
    float x[1000];
    double sum = 0;
    bool within = true;
    for (int row = 0; row < 20; row++) {
        embed_values_draw(&v, 1, 2, row, x, 1000);
        for (int i = 0; i < 1000; i++) {
            sum += (double)x[i];
            within = within && x[i] >= -0.5f && x[i] <= 0.5f;
        }
    }
    CHECK(within);
    /* 0.1 + (phi(-0.6) - phi(0.4)) / (Phi(0.4) - Phi(-0.6)) */
    CHECK_NEAR(sum / 20000, 0.1 + (0.33322460 - 0.36827014) / (0.65542174 - 0.27425312),
               0.006);
    v.lo = v.hi = 50; /* out of reach: the bound itself */
    embed_values_draw(&v, 1, 2, 3, x, 2);
    CHECK(x[0] == 50 && x[1] == 50);
}

static struct embed_table_conf zch_of(const char *text)
{
    struct embed_table_conf c = {.rows = 100, .dim = 16};
    struct pc_feature f = {0};
    struct written w;
    struct err err = {0};
    written_open(&w, &pc_ZeroCollisionHash_def, text);
    f.zch = w.msg;
    CHECK(part_table_keyed(&f, &c, &err));
    CHECK_STR(err.msg, "");
    written_close(&w);
    return c;
}

/* The last row is the one that unknown ids share. */
static void zch_settings_become_a_table(void)
{
    struct embed_table_conf c = zch_of("zch_size: 50 lfu {}");
    CHECK(c.keyed.kind == KEYED_ZCH && c.keyed.worth == WORTH_COUNT);
    CHECK(c.keyed.capacity == 49 && c.rows == 50 && c.keyed.interval == 5);
    CHECK(c.keyed.decay == 1 && c.keyed.filter.kind == FILTER_NONE);
    c = zch_of("zch_size: 50 eviction_interval: 2 lru {}");
    CHECK(c.keyed.worth == WORTH_RECENT && c.keyed.decay == 1 && c.keyed.interval == 2);
    c = zch_of("zch_size: 50 lru { decay_exponent: 0.5 }");
    CHECK(c.keyed.decay == 0.5);
    c = zch_of("zch_size: 50 distance_lfu { decay_exponent: 2 } "
               "threshold_filtering_func: 'lambda x: (x > 3, 3)'");
    CHECK(c.keyed.worth == WORTH_COUNT_BY_AGE && c.keyed.decay == 2);
    CHECK(c.keyed.filter.kind == FILTER_ABOVE && c.keyed.filter.at == 3);
}

static bool dynamic_of(const char *text, struct embed_table_conf *c, struct err *err)
{
    struct pc_feature f = {0};
    struct written w;
    *c = (struct embed_table_conf){.rows = 100, .dim = 16};
    written_open(&w, &pc_DynamicEmbedding_def, text);
    f.dynamicemb = w.msg;
    bool good = part_table_keyed(&f, c, err);
    written_close(&w);
    return good;
}

static void dynamicemb_settings_become_a_table(void)
{
    struct embed_table_conf c;
    struct err err = {0};
    CHECK(dynamic_of("max_capacity: 400", &c, &err));
    CHECK(c.keyed.kind == KEYED_GROWING && c.keyed.worth == WORTH_RECENT);
    CHECK(c.keyed.capacity == 400 && c.keyed.bucket == 128 && c.keyed.admit == 0);
    CHECK(c.init == EMBED_UNIFORM && c.a == -0.05 && c.b == 0.05);
    CHECK(c.stranger.init == EMBED_CONST && c.stranger.a == 0);
    CHECK(c.unknown.init == EMBED_CONST && c.unknown.a == 0);
    CHECK(dynamic_of("max_capacity: 400 initializer_args { mode: 'NORMAL' }", &c, &err));
    CHECK(c.init == EMBED_NORMAL && c.a == 0 && c.b == 0.25);
    CHECK(dynamic_of("max_capacity: 400 score_strategy: 'LFU' bucket_capacity: 8 "
                     "initializer_args { mode: 'TRUNCATED_NORMAL' mean: 1 upper: 2 } "
                     "eval_initializer_args { value: 0.5 } frequency_admission_strategy "
                     "{ threshold: 3 initializer_args { mode: 'UNIFORM' } }",
                     &c, &err));
    CHECK(c.keyed.worth == WORTH_COUNT && c.keyed.bucket == 8 && c.keyed.admit == 3);
    CHECK(c.keyed.counters == 400 && c.keyed.counter_bucket == 1024);
    CHECK(c.init == EMBED_TRUNCATED && c.a == 1 && c.lo == -0.05 && c.hi == 2);
    CHECK(c.unknown.init == EMBED_CONST && c.unknown.a == 0.5);
    CHECK(c.stranger.init == EMBED_UNIFORM && c.stranger.b == 0.05);
    CHECK(dynamic_of("max_capacity: 4 score_strategy: 'NO_EVICTION'", &c, &err));
    CHECK(c.keyed.worth == WORTH_ALL);
    CHECK(dynamic_of("max_capacity: 4 score_strategy: 'TIMESTAMP'", &c, &err));
    CHECK(c.keyed.worth == WORTH_RECENT);
    CHECK(!dynamic_of("max_capacity: 4 score_strategy: 'CUSTOMIZED'", &c, &err));
    CHECK_STR(err.msg, "score_strategy CUSTOMIZED is not supported");
    CHECK_INT(err.code, E2302);
}

static const struct tap_case cases[] = {
    TAP(zch_settings_become_a_table),
    TAP(dynamicemb_settings_become_a_table),
    TAP(init_fn_is_a_call),
    TAP(unknown_ones_are_named),
    TAP(drawn_values_follow_the_distribution),
};
TAP_MAIN(cases)
