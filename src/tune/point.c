/* SPDX-License-Identifier: Apache-2.0 */
/* Points of a search space: drawn, changed, printed for a trial, read back from what a
 * user gave. The space is a flat list, depth first, a parameter behind the choice that it
 * hangs on; so one pass from front to back knows what is active, and most of what is here
 * is such a pass. A changed choice draws anew what becomes active and makes NAN of what
 * is no more. Printing nests the list again; reading goes the other way and refuses what
 * is missing or no value of its type.
 */
#include "tune/point.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/json.h"

bool tune_point_active(const struct nni_space *s, const double *x, int64_t i)
{
    const struct nni_param *p = &s->at[i];
    return p->parent < 0 || x[p->parent] == (double)p->option;
}

double tune_point_prior(const struct nni_param *p, struct rng *r)
{
    if (p->categorical)
        return (double)rng_below(r, (uint64_t)p->size);
    if (p->sigma > 0)
        return p->mu + p->sigma * rng_normal(r);
    return p->low + (p->high - p->low) * rng_f64(r);
}

void tune_point_draw(const struct nni_space *s, struct rng *r, double *x)
{
    for (int64_t i = 0; i < s->n; i++)
        x[i] = tune_point_active(s, x, i) ? tune_point_prior(&s->at[i], r) : NAN;
}

void tune_point_change(const struct nni_space *s, int64_t i, double v, struct rng *r,
                       double *x)
{
    x[i] = v;
    for (int64_t j = i + 1; j < s->n; j++)
        if (!tune_point_active(s, x, j))
            x[j] = NAN;
        else if (isnan(x[j]))
            x[j] = tune_point_prior(&s->at[j], r);
}

double tune_point_user(const struct nni_param *p, double v)
{
    if (p->type == NNI_RANDINT)
        return (double)p->lower + v;
    if (p->log)
        v = fmax(exp(v), DBL_MIN);
    if (p->q > 0)
        v = rint(v / p->q) * p->q;
    if (p->clip)
        v = fmin(fmax(v, p->clip_low), p->clip_high);
    return fmin(fmax(v, -DBL_MAX), DBL_MAX); /* a normal without bounds may go beyond */
}

double tune_point_settle(const struct nni_param *p, double v)
{
    if (p->categorical || !(p->q > 0))
        return v;
    v = tune_point_user(p, v);
    return p->log ? log(fmax(v, 1e-300)) : v;
}

void tune_point_print_real(double v, struct buf *out)
{
    char text[32];
    str_from_f64(v, text);
    buf_puts(out, text);
    if (!strpbrk(text, ".eEn"))
        buf_puts(out, ".0");
}

static void print_value(const struct nni_param *p, double v, struct buf *out)
{
    if (p->type == NNI_CHOICE)
        json_print(p->options[(int64_t)v], 0, out);
    else if (p->type == NNI_RANDINT)
        buf_printf(out, "%jd", (intmax_t)(p->lower + (int64_t)v));
    else
        tune_point_print_real(tune_point_user(p, v), out);
}

struct printer {
    const struct nni_space *s;
    const double *x;
    struct buf *out;
    int64_t i; /* the next parameter of the flat list */
};

/* The parameters that hang on option `option` of `parent`; silently when that option was
 * not chosen. The flat list is depth first, so one walk passes every parameter once.
 */
static void print_branch(struct printer *w, int64_t parent, int64_t option, bool chosen,
                         bool comma)
{
    while (w->i < w->s->n && w->s->at[w->i].parent == parent &&
           (parent < 0 || w->s->at[w->i].option == option)) {
        int64_t i = w->i++;
        const struct nni_param *p = &w->s->at[i];
        if (chosen) {
            buf_puts(w->out, comma ? ", " : "");
            comma = true;
            buf_json_str(w->out, p->name, strlen(p->name));
            buf_puts(w->out, ": ");
        }
        if (!p->nested) {
            if (chosen)
                print_value(p, w->x[i], w->out);
            continue;
        }
        if (chosen) {
            const char *name = p->option_names[(int64_t)w->x[i]];
            buf_puts(w->out, "{\"_name\": ");
            buf_json_str(w->out, name, strlen(name));
        }
        for (int64_t o = 0; o < p->size; o++)
            print_branch(w, i, o, chosen && w->x[i] == (double)o, true);
        if (chosen)
            buf_putc(w->out, '}');
    }
}

void tune_point_print(const struct nni_space *s, const double *x, struct buf *out)
{
    struct printer w = {.s = s, .x = x, .out = out};
    print_branch(&w, -1, 0, true, false);
}

static const char *value_text(const struct node *n, char *out, size_t size)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    json_print(n, 0, &b);
    snprintf(out, size, "%.*s%s", (int)(size - 5), buf_str(&b),
             b.n > size - 5 ? "..." : "");
    buf_release(&b);
    return out;
}

static bool read_option(const struct nni_param *p, const struct node *v, double *out)
{
    const struct node *name = p->nested ? node_find(v, "_name") : NULL;
    for (int64_t k = 0; k < p->size; k++) {
        bool same = p->nested ? name && name->kind == NODE_STR &&
                                    str_is(name->text, p->option_names[k])
                              : node_equal(p->options[k], v);
        if (same) {
            *out = (double)k;
            return true;
        }
    }
    return false;
}

static bool read_number(const struct nni_param *p, const struct node *n, double *out)
{
    double v;
    if (!node_number(n, &v) || !isfinite(v))
        return false;
    if (p->type == NNI_RANDINT) {
        v -= (double)p->lower;
        if (v != floor(v) || v < 0 || v >= (double)p->size)
            return false;
    } else if (p->log) {
        if (v < 0 || (v == 0 && !(p->q > 0)))
            return false;
        v = log(fmax(v, 1e-300));
    }
    *out = v;
    return true;
}

enum rc tune_point_read(const struct nni_space *s, const struct node *params, double *x,
                        struct err *err)
{
    char text[80];
    const struct node **at = mem_calloc((size_t)s->n + 1, sizeof(*at));
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < s->n && !rc; i++) {
        const struct nni_param *p = &s->at[i];
        x[i] = NAN;
        if (!tune_point_active(s, x, i))
            continue;
        const struct node *v = node_find(p->parent < 0 ? params : at[p->parent], p->name);
        if (!v)
            rc = err_set(err, RC_INVAL, "parameter '%s' is missing", p->path);
        else if (p->type == NNI_CHOICE ? !read_option(p, v, &x[i])
                                       : !read_number(p, v, &x[i]))
            rc = err_set(err, RC_INVAL, "parameter '%s': %s is not a value of its %s",
                         p->path, value_text(v, text, sizeof(text)),
                         nni_type_name(p->type));
        at[i] = v;
    }
    mem_free(at);
    return rc;
}
