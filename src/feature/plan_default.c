/* SPDX-License-Identifier: Apache-2.0 */
/* What a row or step without values gets, worked out once for each feature:
 * default_value, or fg_encoded_default_value under FG_NONE, as ids, numbers or a text,
 * whatever the feature gives. It goes through the same bucket as other values, but not
 * through the normalizer. A default that cannot be read is reported at its place in the
 * config.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/number.h"

static bool plan_default_cut(struct str *rest, struct str sep, struct str *part)
{
    if (!rest->p)
        return false;
    const char *end = sep.n ? memmem(rest->p, rest->n, sep.p, sep.n) : NULL;
    *part = end ? str_of(rest->p, (size_t)(end - rest->p)) : *rest;
    *rest = end ? str_of(end + sep.n, rest->n - part->n - sep.n) : str_of(NULL, 0);
    return true;
}

/* `n` numbers, or one that stands for all; n == 0: as many as there are. */
static bool numbers(struct str text, struct str sep, size_t n, double **out,
                    size_t *count)
{
    VEC(double) v = {0};
    struct str rest = text, part;
    double x;
    bool ok = true;
    while (ok && plan_default_cut(&rest, sep, &part)) {
        ok = number_parse(part, &x);
        if (ok)
            VEC_PUSH(&v, x);
    }
    if (ok && n > 1 && v.n == 1)
        while (v.n < n)
            VEC_PUSH(&v, v.at[0]);
    if (!ok || (n && v.n != n)) {
        VEC_RELEASE(&v);
        return false;
    }
    *out = v.at;
    *count = v.n;
    return true;
}

static void plan_default_refuse(const struct fg *f, struct diags *diags,
                                const char *field, struct str text, const char *what)
{
    plan_report(diags, f, E1315, field, "feature '%s': %s '%.*s' is not %s", f->info.name,
                field, SHOWN(text), what);
}

static void set_values(struct fg *f, const double *v, size_t n)
{
    f->def_values = mem_calloc(n + 1, sizeof(float));
    for (size_t i = 0; i < n; i++)
        f->def_values[i] = (float)v[i];
    f->has_def = true;
}

/* A default outside its table is 0. */
static int64_t within(int64_t id)
{
    return id == BUCKET_OUTSIDE ? 0 : id;
}

static void set_number_ids(struct fg *f, const double *v, size_t n)
{
    f->def_ids = mem_calloc(n + 1, sizeof(*f->def_ids));
    f->n_def = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        f->def_ids[i] = within(bucket_f64(&f->bucket, v[i]));
}

static void from_numbers(struct fg *f, struct diags *diags, const char *field,
                         struct str text, struct str sep, size_t n)
{
    double *v;
    size_t count;
    char what[60];
    if (!numbers(text, sep, n, &v, &count)) {
        if (n > 1)
            snprintf(what, sizeof(what), "a number or %zu numbers", n);
        plan_default_refuse(f, diags, field, text, n > 1 ? what : "a number");
        return;
    }
    if (f->sink == SINK_NUMBERS)
        set_values(f, v, count);
    else
        set_number_ids(f, v, count);
    mem_free(v);
}

static void from_text(struct fg *f, struct diags *diags)
{
    int64_t id;
    if (!bucket_text(&f->bucket, f->def_text, &id)) {
        plan_default_refuse(f, diags, "default_value", f->def_text, "an integer");
        return;
    }
    f->def_ids = mem_calloc(1, sizeof(*f->def_ids));
    f->def_ids[0] = within(id);
    f->n_def = 1;
}

static bool is_numeric(const struct fg *f)
{
    return f->sink == SINK_NUMBERS || f->bucket.kind == BUCKET_BOUNDS ||
           f->conf->kind->numbers;
}

static void generated(struct fg *f, struct diags *diags)
{
    struct str sep = str_of(&f->sep, 1);
    size_t n = f->sink == SINK_NUMBERS ? f->dim : f->want;
    if (f->sink == SINK_TEXTS || f->def_text.n == 0 || f->conf->kind->own_ids)
        return;
    if (is_numeric(f))
        from_numbers(f, diags, "default_value", f->def_text,
                     n == 1 ? str_of(NULL, 0) : sep, n);
    else if (f->bucket.kind != BUCKET_NONE)
        from_text(f, diags);
}

static void encoded_ids(struct fg *f, struct str text, struct str sep,
                        struct diags *diags)
{
    VEC(int64_t) v = {0};
    struct str rest = text, part;
    bool over;
    int64_t id;
    while (plan_default_cut(&rest, sep, &part)) {
        if (!bucket_parse(part, &id, &over) || over) {
            plan_default_refuse(f, diags, "fg_encoded_default_value", text,
                                "made of integers");
            VEC_RELEASE(&v);
            return;
        }
        VEC_PUSH(&v, id);
    }
    f->def_ids = v.at;
    f->n_def = (int64_t)v.n;
}

void plan_defaults(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    struct str text = str_c(f->conf->fg_encoded_default_value);
    if (p->mode != pc_FgMode_FG_NONE) {
        generated(f, diags);
        return;
    }
    if (text.n && f->sink == SINK_NUMBERS)
        from_numbers(f, diags, "fg_encoded_default_value", text, p->multi_sep, f->dim);
    else if (text.n)
        encoded_ids(f, text, p->multi_sep, diags);
    else if (f->use_mask)
        generated(f, diags);
}
