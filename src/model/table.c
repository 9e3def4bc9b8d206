/* SPDX-License-Identifier: Apache-2.0 */
/* What the config of a feature makes of its table: initial values (init_fn, in the words of
 * PyTorch's initialisers), and rows keyed by ids (zch, dynamicemb) with their admission and
 * eviction. It writes struct embed_table_conf; nothing is allocated here.
 */
#include <math.h>
#include <string.h>

#include "model/parts.h"

#define BUCKET_USUAL 128

/* An argument of ",-0.01,b=0.01": by name, or the n-th without one; else `preset`. */
static double init_arg(struct str args, const char *name, int n, double preset)
{
    struct str part;
    for (int at = 0; str_split(&args, ',', &part); at++) {
        const char *eq = part.n ? memchr(part.p, '=', part.n) : NULL;
        double v;
        if (eq && !str_is(str_trim(str_of(part.p, (size_t)(eq - part.p))), name))
            continue;
        if (!eq && at != n)
            continue;
        if (eq)
            part = str_of(eq + 1, (size_t)(part.p + part.n - eq) - 1);
        if (str_to_f64(str_trim(part), &v))
            return v;
    }
    return preset;
}

/* Gain of kaiming_*_: sqrt(2 / (1 + a^2)) of leaky_relu, or by the name given. */
static double kaiming_gain(struct str args)
{
    static const struct {
        const char *name;
        double gain;
    } known[] = {{"linear", 1}, {"sigmoid", 1}, {"tanh", 5.0 / 3}, {"selu", 0.75}};
    double a = init_arg(args, "a", 0, 0);
    struct str part;
    while (str_split(&args, ',', &part)) {
        const char *eq = part.n ? memchr(part.p, '=', part.n) : NULL;
        struct str key = eq ? str_trim(str_of(part.p, (size_t)(eq - part.p))) : part;
        struct str v =
            str_trim(eq ? str_of(eq + 1, (size_t)(part.p + part.n - eq) - 1) : part);
        if (!eq || !str_is(key, "nonlinearity"))
            continue;
        if (str_is(v, "relu"))
            return sqrt(2);
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_is(v, known[i].name))
                return known[i].gain;
    }
    return sqrt(2 / (1 + a * a));
}

static bool mode_is_fan_out(struct str args)
{
    struct str part;
    while (str_split(&args, ',', &part))
        if (part.n > 7 && memmem(part.p, part.n, "fan_out", 7))
            return true;
    return false;
}

static void set_values(struct embed_table_conf *conf, enum embed_init init, double a,
                       double b)
{
    conf->init = init;
    conf->a = a;
    conf->b = b;
}

static bool plain_init(struct str fn, struct str args, struct embed_table_conf *conf)
{
    if (str_is(fn, "uniform_"))
        set_values(conf, EMBED_UNIFORM, init_arg(args, "a", 0, 0),
                   init_arg(args, "b", 1, 1));
    else if (str_is(fn, "normal_"))
        set_values(conf, EMBED_NORMAL, init_arg(args, "mean", 0, 0),
                   init_arg(args, "std", 1, 1));
    else if (str_is(fn, "trunc_normal_"))
        set_values(conf, EMBED_TRUNCATED, init_arg(args, "mean", 0, 0),
                   init_arg(args, "std", 1, 1));
    else if (str_is(fn, "zeros_"))
        set_values(conf, EMBED_CONST, 0, 0);
    else if (str_is(fn, "ones_"))
        set_values(conf, EMBED_CONST, 1, 0);
    else if (str_is(fn, "constant_"))
        set_values(conf, EMBED_CONST, init_arg(args, "val", 0, 0), 0);
    else
        return false;
    conf->lo = init_arg(args, "a", 2, -2);
    conf->hi = init_arg(args, "b", 3, 2);
    return true;
}

/* Those that depend on the shape: fan in is the width of a row, fan out their number. */
static bool scaled_init(struct str fn, struct str args, struct embed_table_conf *conf)
{
    double rows = (double)conf->rows, dim = (double)conf->dim, bound;
    bool xavier = str_is(fn, "xavier_uniform_") || str_is(fn, "xavier_normal_");
    double deviation =
        xavier ? init_arg(args, "gain", 0, 1) * sqrt(2 / (rows + dim))
               : kaiming_gain(args) / sqrt(mode_is_fan_out(args) ? rows : dim);
    bound = deviation * sqrt(3);
    if (str_is(fn, "xavier_uniform_") || str_is(fn, "kaiming_uniform_"))
        set_values(conf, EMBED_UNIFORM, -bound, bound);
    else if (str_is(fn, "xavier_normal_") || str_is(fn, "kaiming_normal_"))
        set_values(conf, EMBED_NORMAL, 0, deviation);
    else
        return false;
    return true;
}

bool part_table_init(const char *text, struct embed_table_conf *conf, struct err *err)
{
    double bound = sqrt(1.0 / (double)conf->rows);
    set_values(conf, EMBED_UNIFORM, -bound, bound);
    if (!text || !text[0])
        return true;
    struct str args = str_c(text), head;
    str_split(&args, ',', &head);
    const char *dot = memrchr(head.p, '.', head.n);
    struct str fn = dot ? str_of(dot + 1, (size_t)(head.p + head.n - dot) - 1) : head;
    if (plain_init(fn, args, conf) || scaled_init(fn, args, conf))
        return true;
    err_set(err, RC_UNSUPPORTED, "init_fn '%s' is not known", text);
    return false;
}

static bool zch_conf(const struct pc_ZeroCollisionHash *z, struct embed_table_conf *conf,
                     struct err *err)
{
    struct embed_keyed_conf *k = &conf->keyed;
    *k = (struct embed_keyed_conf){.kind = KEYED_ZCH,
                                   .capacity = (int64_t)z->zch_size - 1,
                                   .worth = WORTH_COUNT,
                                   .decay = 1,
                                   .interval = z->eviction_interval};
    if (z->lru) {
        k->worth = WORTH_RECENT;
        k->decay = (double)z->lru->decay_exponent;
    } else if (z->distance_lfu) {
        k->worth = WORTH_COUNT_BY_AGE;
        k->decay = (double)z->distance_lfu->decay_exponent;
    }
    return embed_filter_parse(z->threshold_filtering_func, &k->filter, err) == RC_OK;
}

static struct embed_values values_of(const struct pc_DynamicEmbInitializerArgs *a,
                                     const struct embed_table_conf *conf,
                                     int64_t capacity, bool constant)
{
    double bound = 1 / sqrt((double)capacity), deviation = 1 / sqrt((double)conf->dim);
    const char *mode = a && a->mode && a->mode[0] ? a->mode
                       : constant                 ? "CONSTANT"
                                                  : "UNIFORM";
    struct embed_values v = {.init = EMBED_UNIFORM, .a = -bound, .b = bound};
    if (strcmp(mode, "CONSTANT") == 0)
        return (struct embed_values){.init = EMBED_CONST, .a = a ? (double)a->value : 0};
    double lower = a && a->has_lower ? (double)a->lower : -bound;
    double upper = a && a->has_upper ? (double)a->upper : bound;
    if (strcmp(mode, "UNIFORM") == 0) {
        v.a = lower;
        v.b = upper;
        return v;
    }
    v.init = strcmp(mode, "NORMAL") == 0 ? EMBED_NORMAL : EMBED_TRUNCATED;
    v.a = a ? (double)a->mean : 0;
    v.b = a && a->has_std_dev ? (double)a->std_dev : deviation;
    v.lo = lower;
    v.hi = upper;
    return v;
}

static bool worth_of(const char *strategy, enum embed_keyed_worth *out, struct err *err)
{
    static const struct {
        const char *name;
        enum embed_keyed_worth worth;
    } known[] = {{"STEP", WORTH_RECENT},
                 {"TIMESTAMP", WORTH_RECENT}, /* later batches are seen later */
                 {"LFU", WORTH_COUNT},
                 {"NO_EVICTION", WORTH_ALL}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(strategy, known[i].name) == 0) {
            *out = known[i].worth;
            return true;
        }
    err_coded(err, RC_UNSUPPORTED, E2302, "score_strategy %s is not supported", strategy);
    return false;
}

static bool growing_conf(const struct pc_DynamicEmbedding *d,
                         struct embed_table_conf *conf, struct err *err)
{
    const struct pc_DynamicEmbFrequencyAdmissionStrategy *f =
        d->frequency_admission_strategy;
    int64_t capacity = (int64_t)d->max_capacity;
    struct embed_keyed_conf *k = &conf->keyed;
    *k = (struct embed_keyed_conf){
        .kind = KEYED_GROWING,
        .capacity = capacity,
        .bucket = d->has_bucket_capacity ? (int64_t)d->bucket_capacity : BUCKET_USUAL};
    if (f) {
        k->admit = (int64_t)f->threshold;
        k->counters = f->has_counter_capacity ? (int64_t)f->counter_capacity : capacity;
        k->counter_bucket = (int64_t)f->counter_bucket_capacity;
    }
    struct embed_values first = values_of(d->initializer_args, conf, capacity, false);
    conf->init = first.init;
    conf->a = first.a;
    conf->b = first.b;
    conf->lo = first.lo;
    conf->hi = first.hi;
    conf->stranger = values_of(f ? f->initializer_args : NULL, conf, capacity, true);
    conf->unknown = values_of(d->eval_initializer_args, conf, capacity, true);
    return worth_of(d->score_strategy, &k->worth, err);
}

bool part_table_keyed(const struct pc_feature *f, struct embed_table_conf *conf,
                      struct err *err)
{
    bool good = f->zch          ? zch_conf(f->zch, conf, err)
                : f->dynamicemb ? growing_conf(f->dynamicemb, conf, err)
                                : true;
    if (good && conf->keyed.kind && conf->keyed.capacity <= EMBED_IDS_MAX)
        conf->rows = embed_keyed_rows(&conf->keyed);
    return good;
}
