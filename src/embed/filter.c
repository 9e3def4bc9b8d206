/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes that TorchEasyRec's pages show are recognised as texts without blanks and
 * have a kind of their own; every other lambda is a formula. Before a round its means and
 * other values over all ids are worked out, then each id is one run of its operations.
 */
#include "embed/filter.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

#define TEXT_MAX 256

static const struct {
    const char *name;
    enum embed_filter_kind kind;
    const char *arg; /* keyword of its parameter, or NULL */
    double usual;
} named[] = {
    {"dynamic_threshold_filter", FILTER_MEAN, "threshold_skew_multiplier", 10},
    {"average_threshold_filter", FILTER_MEAN, NULL, 1},
    {"probabilistic_threshold_filter", FILTER_CHANCE, "per_id_probability", 0.01},
};

static enum rc unknown(const char *text, struct err *err)
{
    return err_coded(err, RC_UNSUPPORTED, E2302,
                     "threshold_filtering_func '%s' is not understood", text);
}

/* "x>10,10)": the second number is what the first one was compared with. */
static bool plain(const char *s, struct embed_filter *out)
{
    struct str rest, first;
    double shown;
    size_t n = strlen(s);
    if (!str_starts(s, "(x>") || n < 5 || s[n - 1] != ')')
        return false;
    rest = str_of(s + 3, n - 4);
    out->kind = FILTER_ABOVE;
    return str_split(&rest, ',', &first) && str_to_f64(first, &out->at) && rest.p &&
           str_to_f64(rest, &shown);
}

/* What follows the name: "", "(x)", "(x,5)", "(x,name=5)", ",name=5)". */
static bool argument(const char *s, bool call, size_t i, struct embed_filter *out)
{
    size_t n = strlen(s);
    if (n == 0)
        return !call;
    if (call && !str_starts(s, "(x"))
        return false;
    s += call ? 2 : 0;
    n = strlen(s);
    if (n == 0 || s[n - 1] != ')')
        return false;
    if (n == 1)
        return true;
    if (s[0] != ',' || !named[i].arg)
        return false;
    struct str v = str_of(s + 1, n - 2);
    size_t key = strlen(named[i].arg);
    if (v.n > key + 1 && memcmp(v.p, named[i].arg, key) == 0 && v.p[key] == '=')
        v = str_of(v.p + key + 1, v.n - key - 1);
    return str_to_f64(v, &out->at);
}

enum rc embed_filter_parse(const char *text, struct embed_filter *out, struct err *err)
{
    char squeezed[TEXT_MAX];
    size_t n = 0;
    *out = (struct embed_filter){0};
    if (!text || !text[0])
        return RC_OK;
    for (const char *s = text; *s && n < TEXT_MAX - 1; s++)
        if (!isspace((unsigned char)*s))
            squeezed[n++] = *s;
    squeezed[n] = '\0';
    bool lambda = str_starts(squeezed, "lambdax:");
    bool partial = str_starts(squeezed, "partial(");
    const char *s = squeezed + (lambda || partial ? 8 : 0);
    if (lambda && plain(s, out))
        return RC_OK;
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        size_t name = strlen(named[i].name);
        if (strncmp(s, named[i].name, name) != 0)
            continue;
        *out = (struct embed_filter){.kind = named[i].kind, .at = named[i].usual};
        if (argument(s + name, lambda, i, out) && (s[name] || !partial))
            return RC_OK;
    }
    out->kind = FILTER_FORMULA;
    return pc_admission_parse(text, &out->formula) ? RC_OK : unknown(text, err);
}

bool embed_filter_is_random(const struct embed_filter *f)
{
    return f->kind == FILTER_CHANCE || (f->kind == FILTER_FORMULA && f->formula.random);
}

/* Values of a sum's operations over all counts, as `over` says. */
static double sum_of(const struct pc_admission *a, const struct pc_admission_sum *s,
                     const int64_t *counts, size_t stride, int64_t n, const double *sums)
{
    double total = 0, squares = 0, most = -INFINITY, least = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double v = pc_admission_run(a, s->from, s->to, (double)counts[(size_t)i * stride],
                                    0, sums);
        total += v;
        squares += v * v;
        most = v > most ? v : most;
        least = v < least ? v : least;
    }
    double mean = n ? total / (double)n : 0;
    switch (s->over) {
    case ADMIT_MEAN:
        return mean;
    case ADMIT_TOTAL:
        return total;
    case ADMIT_MOST:
        return most;
    case ADMIT_LEAST:
        return least;
    case ADMIT_COUNT:
        return (double)n;
    case ADMIT_STD: /* torch's, of a sample */
        break;
    }
    double spread = squares - mean * total;
    return n > 1 ? sqrt((spread > 0 ? spread : 0) / (double)(n - 1)) : NAN;
}

void embed_filter_begin(const struct embed_filter *f, const int64_t *counts,
                        size_t stride, int64_t n, struct embed_filter_round *out)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++)
        total += counts[(size_t)i * stride];
    *out = (struct embed_filter_round){.mean = n ? (double)total / (double)n : 0};
    for (int i = 0; f->kind == FILTER_FORMULA && i < f->formula.n_sums; i++)
        out->sums[i] =
            sum_of(&f->formula, &f->formula.sums[i], counts, stride, n, out->sums);
}

bool embed_filter_keeps(const struct embed_filter *f, const struct embed_filter_round *r,
                        int64_t count, double chance)
{
    switch (f->kind) {
    case FILTER_NONE:
        return true;
    case FILTER_ABOVE:
        return (double)count > f->at;
    case FILTER_MEAN:
        return (double)count > f->at * r->mean;
    case FILTER_CHANCE:
        return 1 - pow(1 - f->at, (double)count) > chance;
    case FILTER_FORMULA:
        return pc_admission_run(&f->formula, 0, f->formula.n, (double)count, chance,
                                r->sums) != 0;
    }
    return true;
}
