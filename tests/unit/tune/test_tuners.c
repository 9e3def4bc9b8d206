/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every tuner, on random spaces; and what is special to some. */
#include "tune/tuner.h"

#include "base/rng.h"
#include "space.h"
#include "text/nni/algo.h"
#include "tune/point.h"

/* A random space of what `algo` accepts, as text. */
static void random_param(struct rng *r, const struct nni_algo *algo, int depth,
                         struct buf *b);

static void random_params(struct rng *r, const struct nni_algo *algo, int depth, int n,
                          bool comma, struct buf *b)
{
    for (int i = 0; i < n; i++) {
        buf_printf(b, "%s\"p%d\": ", comma || i ? ", " : "", i);
        random_param(r, algo, depth, b);
    }
}

static void random_choice(struct rng *r, const struct nni_algo *algo, int depth,
                          struct buf *b)
{
    int n = 1 + (int)rng_below(r, 4);
    bool nested = (algo->flags & NNI_NESTED) && depth < 3 && rng_below(r, 2);
    buf_puts(b, "[");
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ", " : "");
        if (nested) {
            buf_printf(b, "{\"_name\": \"o%d\"", i);
            random_params(r, algo, depth + 1, (int)rng_below(r, 3), true, b);
            buf_puts(b, "}");
        } else if (algo->flags & NNI_NUMERIC || rng_below(r, 2)) {
            buf_printf(b, "%d", (int)rng_below(r, 100));
        } else {
            buf_printf(b, "\"word%d\"", i);
        }
    }
    buf_puts(b, "]");
}

static void random_param(struct rng *r, const struct nni_algo *algo, int depth,
                         struct buf *b)
{
    enum nni_type type;
    do
        type = (enum nni_type)rng_below(r, NNI_TYPES);
    while (!(algo->types & (1u << type)));
    double low = floor(rng_f64(r) * 20 - 10), range = floor(rng_f64(r) * 10);
    double q = 0.25 * (double)(1 + rng_below(r, 8));
    buf_printf(b, "{\"_type\": \"%s\", \"_value\": ", nni_type_name(type));
    switch (type) {
    case NNI_CHOICE:
        random_choice(r, algo, depth, b);
        break;
    case NNI_RANDINT:
        buf_printf(b, "[%g, %g]", low, low + range + 1);
        break;
    case NNI_UNIFORM:
        buf_printf(b, "[%g, %g]", low, low + range);
        break;
    case NNI_QUNIFORM:
        buf_printf(b, "[%g, %g, %g]", low, low + range, q);
        break;
    case NNI_LOGUNIFORM:
        buf_printf(b, "[%g, %g]", exp(low), exp(low + range));
        break;
    case NNI_QLOGUNIFORM:
        buf_printf(b, "[%g, %g, %g]", fabs(low) + 0.5, fabs(low) + 0.5 + range, q);
        break;
    case NNI_NORMAL:
    case NNI_LOGNORMAL:
        buf_printf(b, "[%g, %g]", low / 4, range / 4 + 0.1);
        break;
    default:
        buf_printf(b, "[%g, %g, %g]", low / 4, range / 4 + 0.1, q);
    }
    buf_puts(b, "}");
}

static void random_space(struct rng *r, const struct nni_algo *algo, struct space *s)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "{");
    if (algo->flags & NNI_ONE_CHOICE)
        buf_puts(&b,
                 "\"p\": {\"_type\": \"choice\", \"_value\": [{\"x\": 1}, {\"x\": 2}]}");
    else
        random_params(r, algo, 0, 1 + (int)rng_below(r, 4), false, &b);
    buf_puts(&b, "}");
    space_open(s, buf_str(&b));
    buf_release(&b);
}

static bool legal(const struct nni_space *s, const double *x)
{
    for (int64_t i = 0; i < s->n; i++) {
        const struct nni_param *p = &s->at[i];
        bool active = tune_point_active(s, x, i);
        if (!active && isnan(x[i]))
            continue;
        if (!active || !isfinite(x[i]))
            return false;
        if (p->categorical) {
            if (x[i] != floor(x[i]) || x[i] < 0 || x[i] >= (double)p->size)
                return false;
            continue;
        }
        double v = tune_point_user(p, x[i]);
        if (!isfinite(v) || (p->clip && (v < p->clip_low || v > p->clip_high)))
            return false;
        if (!(p->q > 0) && !(p->sigma > 0) &&
            (x[i] < p->low - 1e-9 || x[i] > p->high + 1e-9))
            return false;
    }
    return true;
}

/* Some function of the point, with a failure, a NaN and a late result now and then. */
static double judge(const struct nni_space *s, const double *x)
{
    double v = 0;
    for (int64_t i = 0; i < s->n; i++)
        v += isnan(x[i]) ? 0.3 : sin(x[i] * (double)(i + 1)) + 0.01 * x[i];
    return v;
}

/* Runs `n` trials, four in flight; fills `forms` with what the trials got. */
static void drive(struct tuner *t, const struct nni_space *s, int n, struct buf *forms)
{
    int64_t flight[4];
    int in_flight = 0, steps = 0;
    for (int made = 0; made < n || in_flight > 0; steps++) {
        int64_t trial;
        enum tuner_answer a = TUNER_WAITS;
        if (made < n && in_flight < 4)
            a = tuner_ask(t, &trial);
        if (a == TUNER_GIVES) {
            char id[TUNER_ID_SIZE];
            CHECK(legal(s, tuner_history(t)->trials.at[trial].x));
            tuner_params(t, trial, forms);
            tuner_param_id(t, trial, id);
            buf_printf(forms, " %s\n", id);
            flight[in_flight++] = trial;
            made++;
            continue;
        }
        if (in_flight == 0)
            break;
        trial = flight[0];
        memmove(flight, flight + 1, (size_t)--in_flight * sizeof(*flight));
        double v = trial % 11 == 7 ? NAN : judge(s, tuner_history(t)->trials.at[trial].x);
        if (trial % 7 != 3)
            tuner_tell(t, trial, &v, 0);
        tuner_end(t, trial);
        v = -1e9;
        tuner_tell(t, trial, &v, 0); /* too late */
        tuner_end(t, trial);
    }
}

static const char *const names[] = {"Anneal",     "Auto",      "Batch",     "BOHB",
                                    "CMAES",      "DNGO",      "Evolution", "GP",
                                    "GridSearch", "Hyperband", "Metis",     "PBT",
                                    "Random",     "SMAC",      "TPE",       "TPE_legacy"};

#define SPACES 1000

static bool slow(const char *name)
{
    return strcmp(name, "Auto") == 0 || strcmp(name, "GP") == 0 ||
           strcmp(name, "SMAC") == 0 || strcmp(name, "DNGO") == 0 ||
           strcmp(name, "Metis") == 0;
}

/* Arguments that bring a tuner's model into play after two results, and keep it cheap. */
static const char *soon(const char *name)
{
    if (strcmp(name, "TPE") == 0)
        return "{\"tpe_args\": {\"n_startup_jobs\": 2}}";
    if (strcmp(name, "GP") == 0)
        return "{\"cold_start_num\": 2, \"selection_num_warm_up\": 30, "
               "\"selection_num_starting_points\": 1}";
    if (strcmp(name, "Metis") == 0)
        return "{\"cold_start_num\": 2, \"selection_num_starting_points\": 1}";
    return "{}";
}

/* A thousand spaces for every tuner; few trials each, and every tenth space twice with
 * many, to see that the same calls give the same answers.
 */
static void try_space(const char *name, const struct nni_algo *algo, size_t i, int k)
{
    struct rng r;
    struct space s;
    struct buf forms[2];
    struct text args;
    const struct node *few = text_open(&args, soon(name));
    int before = tap_failed, rounds = k % 10 == 0 ? 2 : 1;
    int n = slow(name) ? k % 50 == 0 ? 16 : 4 : k % 10 == 0 ? 40 : 6;
    rng_init(&r, 42, i, (uint64_t)k, 0);
    random_space(&r, algo, &s);
    for (int again = 0; again < rounds; again++) {
        struct tuner *t = tuner_of(&s, name, few, (uint64_t)k);
        buf_init(&forms[again], 1 << 22);
        drive(t, &s.space, n, &forms[again]);
        tuner_destroy(t);
    }
    if (rounds == 2)
        CHECK_STR(buf_str(&forms[0]), buf_str(&forms[1]));
    if (tap_failed > before)
        printf("#   tuner %s, space %d: %s\n", name, k, s.text.doc.src->text);
    for (int again = 0; again < rounds; again++)
        buf_release(&forms[again]);
    text_close(&args);
    space_close(&s);
}

static void suggestions_are_legal_and_repeatable(void)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct nni_algo *algo = nni_algo_find(NNI_TUNER, names[i]);
        int before = tap_failed;
        for (int k = 0; k < SPACES && tap_failed == before; k++)
            try_space(names[i], algo, i, k);
    }
}

/* A log is the points and results in order; a tuner that gets them again goes on alike.
 */
static void a_replayed_log_goes_on_alike(void)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct nni_algo *algo = nni_algo_find(NNI_TUNER, names[i]);
        struct rng r;
        struct space s;
        struct err err = {0};
        rng_init(&r, 43, i, 1, 0);
        random_space(&r, algo, &s);
        struct tuner *t = tuner_of(&s, names[i], NULL, 7),
                     *u = tuner_of(&s, names[i], NULL, 7);
        for (int k = 0; k < 30; k++) {
            int64_t a = -1, b = -2;
            if (tuner_ask(t, &a) != TUNER_GIVES)
                break;
            const double *x = tuner_history(t)->trials.at[a].x;
            CHECK_INT(k < 20 ? tuner_replay(u, x, &b, &err) : (enum rc)tuner_ask(u, &b),
                      RC_OK);
            CHECK_INT(a, b);
            if (tap_failed) {
                printf("#   tuner %s, trial %d: %s\n", names[i], k, s.text.doc.src->text);
                break;
            }
            const double *y = tuner_history(u)->trials.at[b].x;
            CHECK(memcmp(x, y, (size_t)s.space.n * sizeof(*x)) == 0);
            double v = judge(&s.space, x);
            tuner_tell(t, a, &v, 0);
            tuner_tell(u, b, &v, 0);
            tuner_end(t, a);
            tuner_end(u, b);
        }
        tuner_destroy(t);
        tuner_destroy(u);
        space_close(&s);
    }
}

static void a_log_of_another_tuner_is_refused(void)
{
    struct space s;
    struct err err = {0};
    int64_t trial = -1;
    double x = 0.123;
    space_open(&s, "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}");
    struct tuner *t = tuner_of(&s, "Evolution", NULL, 7);
    CHECK_INT(tuner_replay(t, &x, &trial, &err), RC_FORMAT);
    CHECK_INT(err.code, E4002);
    CHECK_STR(err.msg,
              "trial 0 has parameters that the tuner 'Evolution' would not have given "
              "with this seed and these results");
    CHECK_INT(trial, -1);
    tuner_destroy(t);
    space_close(&s);
}

static void a_finite_space_ends_without_repeats(void)
{
    static const char *const finite[] = {"TPE", "Random", "GridSearch",
                                         "GP",  "CMAES",  "Auto"};
    for (size_t i = 0; i < 6; i++) {
        struct space s;
        struct buf forms;
        space_open(&s, "{\"a\": {\"_type\": \"choice\", \"_value\": [1, 2, 3]}, \"b\": "
                       "{\"_type\": \"quniform\", \"_value\": [0, 1, 0.5]}}");
        buf_init(&forms, 1 << 20);
        struct tuner *t = tuner_of(&s, finite[i], NULL, 3);
        int64_t trial, n = 0;
        while (n < 20 && tuner_ask(t, &trial) == TUNER_GIVES) {
            double v = (double)n++;
            struct buf one;
            buf_init(&one, 1000);
            tuner_params(t, trial, &one);
            CHECK(!strstr(buf_str(&forms), buf_str(&one)));
            buf_puts(&forms, buf_str(&one));
            buf_release(&one);
            tuner_tell(t, trial, &v, 0);
        }
        CHECK_INT(n, 9);
        CHECK_INT(tuner_ask(t, &trial), TUNER_ENDS);
        tuner_destroy(t);
        buf_release(&forms);
        space_close(&s);
    }
}

static void batch_gives_its_options_whole(void)
{
    struct space s;
    struct text other;
    struct err err = {0};
    struct buf b;
    int64_t trial;
    double one = 1;
    space_open(&s,
               "{\"all\": {\"_type\": \"choice\", \"_value\": [{\"lr\": 0.1, \"n\": 2}, "
               "{\"lr\": 0.2, \"n\": 3}, {\"lr\": 0.3, \"n\": 4}]}}");
    struct tuner *t = tuner_of(&s, "BatchTuner", NULL, 1);
    CHECK_INT(
        tuner_import(t, text_open(&other, "{\"lr\": 0.2, \"n\": 3}"), &one, 0, &err),
        RC_OK);
    text_close(&other);
    buf_init(&b, 1000);
    CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
    tuner_params(t, trial, &b);
    CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
    tuner_params(t, trial, &b);
    CHECK_STR(buf_str(&b), "{\"lr\": 0.1, \"n\": 2}{\"lr\": 0.3, \"n\": 4}");
    CHECK_INT(tuner_ask(t, &trial), TUNER_ENDS);
    CHECK_INT(tuner_import(t, text_open(&other, "{\"lr\": 9}"), &one, 0, &err), RC_INVAL);
    CHECK_STR(err.msg, "the parameters are not one of the options of 'all'");
    text_close(&other);
    buf_release(&b);
    tuner_destroy(t);
    space_close(&s);
}

/* Arguments that say what is so anyway change nothing. */
static void defaults_may_be_spelt_out(void)
{
    struct space s;
    struct text args;
    struct buf a, b;
    space_open(&s,
               "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1]}, \"c\": {\"_type\": "
               "\"choice\", \"_value\": [\"p\", \"q\"]}}");
    buf_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    struct tuner *t = tuner_of(&s, "TPE", NULL, 5);
    drive(t, &s.space, 40, &a);
    tuner_destroy(t);
    t = tuner_of(
        &s, "TPE",
        text_open(&args, "{\"seed\": 5, \"tpe_args\": {\"n_ei_candidates\": 24}}"), 9);
    drive(t, &s.space, 40, &b);
    CHECK_STR(buf_str(&a), buf_str(&b));
    tuner_destroy(t);
    text_close(&args);
    t = tuner_of(&s, "Random", NULL, 5);
    CHECK(tuner_maximizes(t, 0));
    tuner_destroy(t);
    struct tuner_conf conf = {
        .name = "PBT", .space = &s.space, .checkpoint_dir = "/exp/checkpoint"};
    struct err err = {0};
    int64_t trial = -1;
    CHECK_INT(tuner_create(&conf, &t, &err), RC_OK);
    CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
    buf_clear(&a);
    tuner_params(t, trial, &a);
    CHECK_HAS(buf_str(&a), "\"save_checkpoint_dir\": \"/exp/checkpoint/0/0\"");
    tuner_destroy(t);
    buf_release(&a);
    buf_release(&b);
    space_close(&s);
}

static void pbt_hands_checkpoints_on(void)
{
    struct space s;
    struct text args;
    struct buf b;
    int64_t trial, first[4];
    space_open(&s, "{\"lr\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}");
    struct tuner *t = tuner_of(
        &s, "PBT",
        text_open(&args,
                  "{\"population_size\": 4, \"fraction\": 0.25, \"all_checkpoint_dir\": "
                  "\"/c\"}"),
        1);
    for (int64_t i = 0; i < 4; i++)
        CHECK_INT(tuner_ask(t, &first[i]), TUNER_GIVES);
    CHECK_INT(tuner_ask(t, &trial), TUNER_WAITS);
    buf_init(&b, 10000);
    tuner_params(t, first[2], &b);
    CHECK_HAS(buf_str(&b),
              ", \"load_checkpoint_dir\": \"/c/2/0\", \"save_checkpoint_dir\": "
              "\"/c/2/0\"}");
    static const double score[] = {0.5, 0.9, 0.1, 0.7};
    for (int64_t i = 0; i < 4; i++) {
        tuner_tell(t, first[i], &score[i], 0);
        tuner_end(t, first[i]);
    }
    static const char *const want[] = {"\"/c/0/0\", \"save_checkpoint_dir\": \"/c/0/1\"",
                                       "\"/c/1/0\", \"save_checkpoint_dir\": \"/c/1/1\"",
                                       "\"/c/1/0\", \"save_checkpoint_dir\": \"/c/2/1\"",
                                       "\"/c/3/0\", \"save_checkpoint_dir\": \"/c/3/1\""};
    for (int64_t i = 0; i < 4; i++) {
        CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
        buf_clear(&b);
        tuner_params(t, trial, &b);
        CHECK_HAS(buf_str(&b), want[i]);
        bool same = tuner_history(t)->trials.at[trial].x[0] ==
                    tuner_history(t)->trials.at[first[i]].x[0];
        CHECK(same == (i != 2));
    }
    buf_release(&b);
    tuner_destroy(t);
    text_close(&args);
    space_close(&s);
}

static void results_from_elsewhere_steer_the_search(void)
{
    struct space s;
    struct text p;
    struct err err = {0};
    int64_t trial;
    space_open(&s, "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}");
    struct tuner *t = tuner_of(&s, "TPE", NULL, 5);
    for (int i = 0; i < 60; i++) {
        char text[60];
        double x = (double)i / 60, v = fabs(x - 0.8);
        snprintf(text, sizeof(text), "{\"x\": %.17g}", x);
        CHECK_INT(tuner_import(t, text_open(&p, text), &v, 0, &err), RC_OK);
        text_close(&p);
    }
    double far = 0;
    for (int i = 0; i < 20; i++) {
        CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
        far += fabs(tuner_history(t)->trials.at[trial].x[0] - 0.8) / 20;
    }
    CHECK(far < 0.15);
    tuner_destroy(t);
    space_close(&s);
}

/* A bowl with noise as large as its inner half: what the tuner calls best is nearer to the
 * bottom than the trial with the least result. Without noise the two are one trial.
 */
static void noise_does_not_choose_the_best(void)
{
    struct space s;
    struct err err = {0};
    double ours = 0, least = 0;
    space_open(
        &s, "{\"x\": {\"_type\": \"uniform\", \"_value\": [-1, 1]}, \"y\": {\"_type\": "
            "\"uniform\", \"_value\": [-1, 1]}}");
    for (uint64_t seed = 0; seed < 12; seed++) {
        double noise = seed < 8 ? 0.3 : 0;
        struct tuner *t = tuner_of(&s, "Auto", NULL, seed),
                     *u = tuner_of(&s, "Auto", NULL, seed);
        struct rng r;
        rng_init(&r, 5, seed, 0, 0);
        CHECK_INT(tuner_best(t), -1);
        for (int i = 0; i < 60; i++) {
            int64_t trial = -1, same = -2;
            CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
            const double *x = tuner_history(t)->trials.at[trial].x;
            CHECK_INT(tuner_replay(u, x, &same, &err), RC_OK);
            double v = (x[0] - 0.3) * (x[0] - 0.3) + (x[1] + 0.2) * (x[1] + 0.2) +
                       noise * rng_normal(&r);
            tuner_tell(t, trial, &v, 0);
            tuner_tell(u, same, &v, 0);
        }
        const struct tune_history *h = tuner_history(t);
        int64_t best = tuner_best(t), first = h->by_loss.at[0];
        CHECK_INT(tuner_best(u), best); /* of the log alone */
        const double *a = h->trials.at[best].x, *b = h->trials.at[first].x;
        if (noise > 0) {
            ours += hypot(a[0] - 0.3, a[1] + 0.2);
            least += hypot(b[0] - 0.3, b[1] + 0.2);
        } else {
            CHECK_INT(best, first);
            CHECK(h->trials.at[best].loss < 1e-4);
        }
        tuner_destroy(t);
        tuner_destroy(u);
    }
    CHECK(ours < 0.7 * least);
    space_close(&s);
}

/* Six numbers, one of them in logarithms, and choices: 60 trials find what takes random
 * search thousands.
 */
static void the_default_finds_the_bottom(void)
{
    struct space s;
    double worst = 0;
    space_open(
        &s,
        "{\"lr\": {\"_type\": \"loguniform\", \"_value\": [1e-5, 1]}, \"a\": {\"_type\": "
        "\"uniform\", \"_value\": [0, 1]}, \"n\": {\"_type\": \"randint\", \"_value\": [1, "
        "9]}, \"c\": {\"_type\": \"choice\", \"_value\": [\"p\", \"q\", \"r\"]}}");
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct tuner *t = tuner_of(&s, "auto", NULL, seed);
        for (int i = 0; i < 60; i++) {
            int64_t trial;
            CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
            const double *x = tuner_history(t)->trials.at[trial].x;
            double lr = x[0] / log(10) + 2.5;
            double v = lr * lr + (x[1] - .7) * (x[1] - .7) +
                       .1 * (x[2] - 4) * (x[2] - 4) + (x[3] == 1 ? 0 : .3);
            tuner_tell(t, trial, &v, 0);
        }
        worst = fmax(worst, tuner_history(t)->trials.at[tuner_best(t)].loss);
        tuner_destroy(t);
    }
    CHECK(worst < 1e-3);
    space_close(&s);
}

static void several_objectives_make_a_front(void)
{
    struct space s;
    space_open(&s, "{\"x\": {\"_type\": \"uniform\", \"_value\": [-2, 4]}}");
    const bool maximize[] = {false, true};
    struct tuner_conf conf = {.name = "TPE",
                              .space = &s.space,
                              .seed = 1,
                              .n_objectives = 2,
                              .maximize = maximize};
    struct tuner *t = NULL;
    struct err err = {0};
    CHECK_INT(tuner_create(&conf, &t, &err), RC_OK);
    int64_t trial, within = 0, front = 0;
    for (int i = 0; i < 120; i++) {
        CHECK_INT(tuner_ask(t, &trial), TUNER_GIVES);
        double x = tuner_history(t)->trials.at[trial].x[0];
        double v[] = {x * x, -(x - 2) * (x - 2)}; /* best between 0 and 2 */
        tuner_tell(t, trial, v, 0);
        within += i >= 60 && x >= -0.1 && x <= 2.1;
    }
    for (size_t i = 0; i < tuner_history(t)->done.n; i++) {
        const struct tuner_trial *d =
            &tuner_history(t)->trials.at[tuner_history(t)->done.at[i]];
        CHECK((d->front == 0) == (d->x[0] >= 0 && d->x[0] <= 2) || d->front > 0 ||
              fabs(d->x[0] - 1) < 1.3);
        front += d->front == 0;
    }
    CHECK(within > 50);
    CHECK(front > 40);
    tuner_destroy(t);
    space_close(&s);
}

static void a_name_that_is_not_there_is_refused(void)
{
    struct space s;
    struct tuner *t = NULL;
    struct err err = {0};
    space_open(&s, "{}");
    CHECK_INT(
        tuner_create(&(struct tuner_conf){.name = "PPO", .space = &s.space}, &t, &err),
        RC_UNSUPPORTED);
    CHECK_STR(err.msg, "no tuner 'PPO'");
    CHECK_INT(err.code, E4001);
    space_close(&s);
}

static const struct tap_case cases[] = {
    TAP(suggestions_are_legal_and_repeatable),
    TAP(a_replayed_log_goes_on_alike),
    TAP(a_log_of_another_tuner_is_refused),
    TAP(a_finite_space_ends_without_repeats),
    TAP(batch_gives_its_options_whole),
    TAP(pbt_hands_checkpoints_on),
    TAP(defaults_may_be_spelt_out),
    TAP(results_from_elsewhere_steer_the_search),
    TAP(noise_does_not_choose_the_best),
    TAP(the_default_finds_the_bottom),
    TAP(several_objectives_make_a_front),
    TAP(a_name_that_is_not_there_is_refused),
};
TAP_MAIN(cases)
