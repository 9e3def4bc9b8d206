/* SPDX-License-Identifier: Apache-2.0 */
/* raw_feature: the specification's table 12.4. */
#include "vector.h"

#define RAW "raw_feature { feature_name: 'f' expression: 'item:x' "
#define DEF(text) "default_value: '" text "' }"
#define LOG(rest) "normalizer: 'method=log10" rest "' "
#define Z(mean, sd) "normalizer: 'method=zscore,mean=" mean ",standard_deviation=" sd "' "
#define B3 "boundaries: [0.05, 0.15, 0.25] "
#define GROUP(inside)                                                                \
    "sequence_feature { sequence_name: 's' sequence_length: 50 sequence_delim: ';' " \
    "features { " RAW inside " } }"

static const struct vector given[] = {
    {RAW DEF("0.1"), "x str 0.202392938293829442 / \"\" / 0.3 / N",
     "d .2023929 .1 .3 .1"},
    {RAW "value_dim: 2 " DEF("0.1\\x1d"
                             "0.4"),
     "x str 0.2^0.5 / \"\" / 0.3^0.6", "d .2 .5 .1 .4 .3 .6"},
    {RAW "value_dim: 2 " DEF("0.1\\x1d"
                             "0.4"),
     "x [str] [0.2,0.5] / [] / [0.3,0.6]", "d .2 .5 .1 .4 .3 .6"},
    {RAW LOG(",threshold=0.05,default=-5") DEF("0.01"), "x str 0.1 / \"\" / 10",
     "d -1 .01 1"},
    {RAW LOG(",threshold=0.05,default=-5") DEF("0.1"), "x f64 .1 / .01 / 10 / N",
     "d -1 -5 1 .1"},
    {RAW LOG("") DEF("0.1"), "x f32 0 / .05 / .1 / 1 / 10 / N", "d 0 0 0 0 1 .1"},
    {RAW LOG(",threshold=0.05") DEF("0.1"), "x f64 0 / .05 / .1 / 1 / 10",
     "d 0 0 -1 0 1"},
    {RAW LOG(",default=-5") DEF("0.1"), "x f64 0 / .05 / .1 / 1 / 10", "d -5 -5 -5 -5 1"},
    {RAW Z("0.1", "10") DEF("0.1"), "x f64 .2 / .1 / .3 / N", "d .01 0 .02 .1"},
    {RAW "normalizer: 'method=minmax,min=0.1,max=0.6' value_dim: 2 " DEF("0.1\\x1d"
                                                                         "0.4"),
     "x str 0.2^0.5 / \"\" / 0.3^0.6", "d .2 .8 .1 .4 .4 1"},
    {RAW B3 DEF("0.1"), "x f64 .2 / .1 / .3 / N", "v 2 1 3 1"},
    {RAW B3 DEF(""), "x str 0.2 / \"\" / 0.3", "v 2 3, L 1 0 1"},
    {RAW B3 "value_dim: 2 " DEF("0.1\\x1d"
                                "0.4"),
     "x str 0.2^0.5 / \"\" / 0.3^0.6", "v 2 3 1 3 3 3, L 2 2 2"},
    {RAW B3 LOG(",threshold=0.05,default=-5") DEF("0.01"), "x str 0.1 / \"\" / 10",
     "v 0 0 3"},
    {RAW "boundaries: [0.1, 0.2, 0.3] " DEF(""), "x f64 .05 / .1 / .2 / .3 / N",
     "v 0 1 2 3 0, L 1 1 1 1 1"},
    {RAW "boundaries: [0.1, 0.2] " DEF(""), "x str 0.05 / 0.1 / \"\" / N",
     "v 0 1, L 1 1 0 0"},
    {RAW "boundaries: [-2, -1] " DEF(""), "x f64 -3 / -2 / -1 / N", "v 0 1 2 2"},
    {RAW "boundaries: [0] " DEF(""), "x f64 -1 / 0 / 1 / N", "v 0 1 1 1"},
    {RAW "boundaries: [0.1, 0.2] " DEF("0.2"), "x f64 .05 / N", "v 0 2"},
    {RAW "boundaries: [-1, 0, 1] " Z("10", "1") DEF(""), "x f64 0.0 / N", "v 0 2"},
    {RAW "boundaries: [0.1, 0.2] value_dim: 2 " DEF(""), "x [f64] [.1,.2] / [] / N",
     "v 1 2, L 2 0 0"},
    {RAW "boundaries: [0.1, 0.2] value_dim: 2 " DEF("0.1\\x1d"
                                                    "0.3"),
     "x [f64] [.1,.2] / [] / N", "v 1 2 1 2 1 2"},
    {GROUP(DEF("")), "s__x str 0.1;0.2 / \"\" / 0.3", "d .1 .2 0 .3, S 2 1 1"},
    {GROUP(DEF("0.0")), "s__x [f64] [0.1,0.2] / [] / [0.3]", "d .1 .2 0 .3, S 2 1 1"},
    {GROUP(DEF("")), "s__x [str] [0.1,0.2] / N / [0.3]", "d .1 .2 0 .3, S 2 1 1"},
    {GROUP("value_dim: 2 " DEF("")), "s__x str 0.1^1.1;0.2^1.2 / \"\" / 0.3^1.3",
     "d .1 1.1 .2 1.2 0 0 .3 1.3, S 2 1 1"},
    {GROUP(B3 DEF("")), "s__x str 0.1;0.2 / \"\" / 0.3", "v 1 2 0 3, S 2 1 1"},
    {GROUP(B3 "value_dim: 2 " DEF("")), "s__x str 0.1^1.1;0.2^1.2 / \"\" / 0.3^1.3",
     "v 1 3 2 3 0 0 3 3"},
};

static void booleans_and_times_are_numbers(void)
{
    static const struct vector rows[] = {
        {RAW DEF(""), "x bool 1 / 0 / N", "d 1 0 0"},
        {RAW DEF(""), "x ms 7999 / -1500 / N", "d 7 -1 0"},
        {RAW DEF(""), "x days 2", "d 172800"},
        {RAW "boundaries: [5, 10] " DEF(""), "x ns 7000000000 / 11000000000", "v 1 2"},
        {RAW Z("5", "2") DEF(""), "x us 7000000", "d 1"},
    };
    FG_VECTORS(rows);
}

static void the_table_holds(void)
{
    FG_VECTORS(given);
}

/* Below, at and above each boundary, as float32, double and text. */
static void bounds_are_float32(void)
{
    static const float bounds[] = {-1, 0, 0.05f, 0.1f, 1, 16777216};
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        float b = bounds[i];
        static const char *const types[] = {"f32", "f64", "str"};
        for (size_t k = 0; k < ARRAY_LEN(types); k++) {
            char config[200], columns[200], num[32];
            str_from_f32(b, num);
            snprintf(config, sizeof(config), RAW "boundaries: [%s] }", num);
            snprintf(columns, sizeof(columns), "x %s %.9g / %.9g / %.9g", types[k],
                     (double)nextafterf(b, -INFINITY), (double)b,
                     (double)nextafterf(b, INFINITY));
            struct vector v = {config, columns, "v 0 1 1"};
            vector_check(&v, "FG_NORMAL", false, NULL, NULL);
        }
    }
}

static float log_of(float x)
{
    struct buf out;
    struct table t;
    char columns[64], *at;
    buf_init(&out, 1 << 16);
    snprintf(columns, sizeof(columns), "x f32 %.9g", (double)x);
    table_init(&t, columns);
    vector_run("FG_NORMAL", RAW LOG("") "}", &t, NULL, NULL, &out);
    float v = strtof(buf_str(&out) + 2, &at);
    table_release(&t);
    buf_release(&out);
    return v;
}

static void log10_is_float32(void)
{
    static const struct {
        float x, want[3];
    } rows[] = {{2, {.30102998f, .30103001f, .30103004f}},
                {3, {.47712123f, .47712123f, .47712129f}},
                {7, {.84509802f, .84509802f, .84509808f}},
                {10, {.99999994f, 1, 1}},
                {32, {1.50514996f, 1.50514996f, 1.50515008f}},
                {100, {2, 2, 2}}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        float at[3] = {nextafterf(rows[i].x, 0), rows[i].x, nextafterf(rows[i].x, 1000)};
        for (int k = 0; k < 3; k++) {
            float got = log_of(at[k]);
            if (got != rows[i].want[k])
                printf("# log10(%.9g): got %.9g\n", (double)at[k], (double)got);
            CHECK(got == rows[i].want[k]);
        }
    }
}

/* Texts are computed in double, lists of texts in float32 unless there are boundaries. */
static void precision_depends_on_the_column(void)
{
    struct buf out;
    struct table t;
    static const struct {
        const char *columns;
        float first, second;
    } rows[] = {{"x str 0.1|0.2", -4.967053e-09f, .33333331f},
                {"x [str] [0.1,0.2]", 0, .33333331f},
                {"x [f32] [0.1,0.2]", 0, .33333331f}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *at;
        buf_init(&out, 1 << 16);
        table_init(&t, rows[i].columns);
        vector_run("FG_NORMAL", RAW Z("0.1", "0.3") "value_dim: 2 separator: '|' }", &t,
                   NULL, NULL, &out);
        float a = strtof(buf_str(&out) + 2, &at), b = strtof(at, NULL);
        CHECK_NEAR(a, rows[i].first, 1e-15);
        CHECK(b == rows[i].second);
        table_release(&t);
        buf_release(&out);
    }
}

static void open_questions(void)
{
    static const struct vector rows[] = {
        /* the separator means nothing when value_dim is 1 */
        {RAW "separator: '-' }", "x str 1e-3 / -2", "d .001 -2"},
        /* one number is the default of all */
        {RAW "value_dim: 3 " DEF("0.5"), "x str N", "d .5 .5 .5"},
        /* an empty default of a number is 0 */
        {RAW DEF(""), "x str N / 1", "d 0 1"},
        {RAW "}", "x i64 3 / N", "d 3 0"},
        {RAW "}", "x u32 4000000000", "d 4000000000"},
        {RAW "}", "x [f32] [2] / []", "d 2 0"},
        {RAW "}", "x str nan / -inf / +1.5e2", "d nan -inf 150"},
        {RAW B3 "}", "x str nan", "v 0"},
        {RAW "normalizer: 'method=expression,expr=x>1?log(x):x*2' " DEF("7"),
         "x f64 1 / 2.718281828459045 / N", "d 2 1 7"},
    };
    FG_VECTORS(rows);
}

static void mistakes_are_named(void)
{
    static const struct vector rows[] = {
        {RAW "}", "x str 1 / 1,5",
         "error: feature 'f' (t:3): column 'x', row 1: '1,5' is not a number"},
        {RAW "value_dim: 2 }", "x str 1^2 / 1^2^3",
         "error: feature 'f' (t:3): column 'x', row 1: 3 values, and value_dim is 2"},
        {RAW "value_dim: 2 }", "x str 1^",
         "error: feature 'f' (t:3): column 'x', row 0: '' is not a number"},
        {RAW B3 "value_dim: 2 }", "x [f64] [1]",
         "error: feature 'f' (t:3): column 'x', row 0: 1 values, and value_dim is 2"},
        {RAW DEF("a"), "x str 1",
         "error: feature 'f': default_value 'a' is not a number"},
        {RAW "value_dim: 3 " DEF("1\\x1d"
                                 "2"),
         "x str 1",
         "error: feature 'f': default_value '1\x1d"
         "2' is not a number or 3 numbers"},
        {RAW "normalizer: 'method=sqrt' }", "x str 1",
         "error: feature 'f': normalizer 'method=sqrt': there is no method 'sqrt'"},
        {RAW "normalizer: 'method=expression,expr=y' }", "x str 1",
         "error: feature 'f': normalizer 'method=expression,expr=y': formula 'y', character "
         "1: there is no variable 'y'; did you mean 'x'?"},
        {RAW "}", "x {str,str} {a:b}",
         "error: feature 'f' (t:3): column 'x': type map<string,string> cannot be read here"},
    };
    FG_VECTORS(rows);
}

static const struct tap_case cases[] = {
    TAP(the_table_holds),
    TAP(booleans_and_times_are_numbers),
    TAP(bounds_are_float32),
    TAP(log10_is_float32),
    TAP(precision_depends_on_the_column),
    TAP(open_questions),
    TAP(mistakes_are_named),
};
TAP_MAIN(cases)
