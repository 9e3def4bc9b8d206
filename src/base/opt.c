/* SPDX-License-Identifier: Apache-2.0 */
/* Values: one reader per kind, from text to field. The command line is in opt_parse.c,
 * the help in opt_help.c.
 */
#include "base/opt.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/opt_private.h"
#include "base/vec.h"

#define SHOWN_MAX 80 /* bytes of a refused value that a message repeats */

const char *opt_name(const struct opt *o)
{
    if (o->flag)
        return o->flag;
    const char *dot = strrchr(o->field, '.');
    return dot ? dot + 1 : o->field;
}

static char plain(char c)
{
    return c == '-' ? '_' : c;
}

static bool same_name(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (plain(a.p[i]) != plain(b.p[i]))
            return false;
    return true;
}

static bool has_alias(const struct opt *o, struct str name)
{
    struct str rest = o->alias ? str_c(o->alias) : (struct str){0}, part;
    while (str_split(&rest, '|', &part))
        if (same_name(part, name))
            return true;
    return false;
}

const struct opt *opt_lookup(const struct opt *opts, struct str name)
{
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++)
        if (o->kind != OPT_KIND_HEADING &&
            (same_name(str_c(opt_name(o)), name) || has_alias(o, name)))
            return o;
    return NULL;
}

const struct opt *opt_find(const struct opt *opts, const char *name)
{
    return opt_lookup(opts, str_c(name));
}

static char *with(struct arena *a, struct str name, char sep)
{
    char *copy = arena_strndup(a, name.p, name.n);
    for (size_t i = 0; i < name.n; i++)
        if (plain(copy[i]) == '_')
            copy[i] = sep;
    return copy;
}

enum rc opt_unknown(const struct opt *opts, const char *kind, const char *dashes,
                    struct str name, struct err *err)
{
    struct arena scratch = {0};
    VEC(const char *) names = {0};
    char sep = *dashes ? '-' : '_';
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
        if (o->kind == OPT_KIND_HEADING || o->hidden)
            continue;
        VEC_PUSH(&names, with(&scratch, str_c(opt_name(o)), sep));
        struct str rest = o->alias ? str_c(o->alias) : (struct str){0}, part;
        while (str_split(&rest, '|', &part))
            VEC_PUSH(&names, with(&scratch, part, sep));
    }
    const char *near = str_nearest(str_c(with(&scratch, name, sep)), names.at, names.n);
    int cut = name.n > SHOWN_MAX ? SHOWN_MAX : (int)name.n;
    enum rc rc = near ? err_coded(err, RC_INVAL, E0601,
                                  "unknown %s '%s%.*s', did you mean '%s%s'?", kind,
                                  dashes, cut, name.p, dashes, near)
                      : err_coded(err, RC_INVAL, E0601, "unknown %s '%s%.*s'", kind,
                                  dashes, cut, name.p);
    VEC_RELEASE(&names);
    arena_release(&scratch);
    return rc;
}

static bool read_bool(const char *value, bool *out)
{
    static const char *const words[2][5] = {{"false", "no", "off", "0", "f"},
                                            {"true", "yes", "on", "1", "t"}};
    for (int truth = 0; truth < 2; truth++)
        for (size_t i = 0; i < ARRAY_LEN(words[truth]); i++)
            if (strcasecmp(value, words[truth][i]) == 0) {
                *out = truth == 1;
                return true;
            }
    return false;
}

/* Splits "1.5g" before its letters. */
static struct str number_part(struct str s, struct str *unit)
{
    size_t n = 0;
    while (n < s.n && (s.p[n] == '.' || s.p[n] == '+' || s.p[n] == '-' ||
                       (s.p[n] >= '0' && s.p[n] <= '9')))
        n++;
    *unit = str_of(s.p + n, s.n - n);
    return str_of(s.p, n);
}

static bool unit_bits(struct str unit, int *bits)
{
    static const char letters[] = "kmgt";
    *bits = 0;
    if (unit.n == 0 || (unit.n == 1 && (unit.p[0] | 0x20) == 'b'))
        return true;
    const char *at = strchr(letters, unit.p[0] | 0x20);
    if (!at || !*at)
        return false;
    *bits = 10 * (int)(at - letters + 1);
    struct str rest = str_of(unit.p + 1, unit.n - 1);
    return rest.n == 0 || (rest.n == 1 && strncasecmp(rest.p, "b", 1) == 0) ||
           (rest.n == 2 && strncasecmp(rest.p, "ib", 2) == 0);
}

static bool read_size(const char *value, int64_t *out)
{
    struct str unit, digits = number_part(str_c(value), &unit);
    int bits;
    int64_t whole;
    double part;
    if (!unit_bits(unit, &bits))
        return false;
    if (str_to_i64(digits, &whole)) {
        if (whole > INT64_MAX >> bits || whole < INT64_MIN >> bits)
            return false;
        *out = whole * ((int64_t)1 << bits);
        return true;
    }
    if (!str_to_f64(digits, &part) || fabs(part) >= ldexp(1.0, 62 - bits))
        return false;
    *out = (int64_t)ldexp(part, bits);
    return true;
}

static bool unit_seconds(struct str unit, double *seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1},    {"m", 60},
                 {"min", 60},  {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_is(unit, units[i].name)) {
            *seconds = units[i].seconds;
            return true;
        }
    return false;
}

static bool read_duration(const char *value, double *out)
{
    struct str rest = str_c(value), tail;
    double sum = 0, count, unit;
    if (str_to_f64(rest, out))
        return true;
    do {
        struct str digits = number_part(rest, &tail);
        size_t n = 0;
        while (n < tail.n && tail.p[n] >= 'a' && tail.p[n] <= 'z')
            n++;
        if (!str_to_f64(digits, &count) || !unit_seconds(str_of(tail.p, n), &unit))
            return false;
        sum += count * unit;
        rest = str_of(tail.p + n, tail.n - n);
    } while (rest.n);
    *out = sum;
    return true;
}

static bool is_choice(const struct opt *o, const char *value)
{
    struct str rest = str_c(o->choices), part;
    while (str_split(&rest, '|', &part))
        if (str_is(part, value))
            return true;
    return false;
}

static enum rc refuse_choice(const struct opt *o, const char *shown, const char *value,
                             struct err *err)
{
    struct arena scratch = {0};
    VEC(const char *) names = {0};
    struct buf list;
    buf_init(&list, 600);
    struct str rest = str_c(o->choices), part;
    while (str_split(&rest, '|', &part)) {
        VEC_PUSH(&names, arena_strndup(&scratch, part.p, part.n));
        buf_printf(&list, "%s%.*s", list.n ? ", " : "", (int)part.n, part.p);
    }
    const char *near = str_nearest(str_c(value), names.at, names.n);
    enum rc rc =
        err_coded(err, RC_INVAL, E0603, "%s: '%.*s' is not one of %s%s%s%s", shown,
                  SHOWN_MAX, value, buf_str(&list), near ? ", did you mean '" : "",
                  near ? near : "", near ? "'?" : "");
    buf_release(&list);
    VEC_RELEASE(&names);
    arena_release(&scratch);
    return rc;
}

static bool is_int(const struct opt *o)
{
    return o->kind == OPT_KIND_INT || o->kind == OPT_KIND_SIZE;
}

static void print_size(int64_t v, struct buf *out)
{
    static const char *const units[] = {"", "k", "m", "g", "t"};
    size_t u = 0;
    while (v != 0 && v % 1024 == 0 && u + 1 < ARRAY_LEN(units)) {
        v /= 1024;
        u++;
    }
    buf_printf(out, "%jd%s", (intmax_t)v, units[u]);
}

static void print_int(const struct opt *o, int64_t v, struct buf *out)
{
    if (o->kind == OPT_KIND_SIZE)
        print_size(v, out);
    else
        buf_printf(out, "%jd", (intmax_t)v);
}

static void print_num(const struct opt *o, double v, struct buf *out)
{
    char text[32];
    str_from_f64(v, text);
    buf_puts(out, text);
    if (o->kind == OPT_KIND_DURATION)
        buf_putc(out, 's');
}

static void print_limit(const struct opt *o, bool upper, struct buf *out)
{
    if (is_int(o))
        print_int(o, upper ? o->int_max : o->int_min, out);
    else
        print_num(o, upper ? o->num_max : o->num_min, out);
}

static void limits(const struct opt *o, bool *below, bool *above)
{
    *below = *above = false;
    if (is_int(o)) {
        *below = o->int_min != INT64_MIN;
        *above = o->int_max != INT64_MAX;
    } else if (o->kind == OPT_KIND_NUM || o->kind == OPT_KIND_DURATION) {
        *below = o->num_min > -HUGE_VAL;
        *above = o->num_max < HUGE_VAL;
    }
}

void opt_print_range(const struct opt *o, struct buf *out)
{
    bool below, above;
    limits(o, &below, &above);
    if (below && !above)
        buf_puts(out, "at least ");
    if (!below && above)
        buf_puts(out, "at most ");
    if (below)
        print_limit(o, false, out);
    if (below && above)
        buf_puts(out, "..");
    if (above)
        print_limit(o, true, out);
}

static enum rc refuse_range(const struct opt *o, const char *shown, const char *value,
                            struct err *err)
{
    bool below, above;
    struct buf text;
    buf_init(&text, 200);
    limits(o, &below, &above);
    if (below && above) {
        buf_puts(&text, "outside [");
        print_limit(o, false, &text);
        buf_puts(&text, ", ");
        print_limit(o, true, &text);
        buf_putc(&text, ']');
    } else {
        buf_puts(&text, "not ");
        opt_print_range(o, &text);
    }
    enum rc rc = err_coded(err, RC_INVAL, E0603, "%s: %.*s is %s", shown, SHOWN_MAX,
                           value, buf_str(&text));
    buf_release(&text);
    return rc;
}

static enum rc opt_refuse(const char *shown, const char *value, const char *what,
                          struct err *err)
{
    return err_coded(err, RC_INVAL, E0603, "%s: '%.*s' is not %s", shown, SHOWN_MAX,
                     value, what);
}

static enum rc assign_int(const struct opt *o, int64_t *field, const char *shown,
                          const char *value, struct err *err)
{
    int64_t v;
    if (o->kind == OPT_KIND_SIZE ? !read_size(value, &v) : !str_to_i64(str_c(value), &v))
        return opt_refuse(shown, value,
                          o->kind == OPT_KIND_SIZE ? "a size such as 512, 64k or 2g"
                                                   : "a whole number",
                          err);
    if (v < o->int_min || v > o->int_max)
        return refuse_range(o, shown, value, err);
    *field = v;
    return RC_OK;
}

static enum rc assign_num(const struct opt *o, double *field, const char *shown,
                          const char *value, struct err *err)
{
    double v;
    bool duration = o->kind == OPT_KIND_DURATION;
    bool ok = duration ? read_duration(value, &v) : str_to_f64(str_c(value), &v);
    if (!ok || isnan(v))
        return opt_refuse(
            shown, value,
            duration ? "a duration such as 90s, 10m, 1h30m or 7d" : "a number", err);
    if (!(v >= o->num_min && v <= o->num_max))
        return refuse_range(o, shown, value, err);
    *field = v;
    return RC_OK;
}

static void free_text(const char *text)
{
    mem_free((void *)(uintptr_t)text);
}

static void assign_text(const char **field, const char *value)
{
    const char *old = *field;
    *field = mem_strdup(value); /* first: `value` may be the old one */
    free_text(old);
}

static void append(struct opt_list *list, const char *value)
{
    list->at = mem_realloc(list->at, list->n + 1, sizeof(*list->at));
    list->at[list->n++] = mem_strdup(value);
}

enum rc opt_assign(const struct opt *o, void *conf, const char *shown, const char *value,
                   struct err *err)
{
    void *field = (char *)conf + o->at;
    switch (o->kind) {
    case OPT_KIND_INT:
    case OPT_KIND_SIZE:
        return assign_int(o, field, shown, value, err);
    case OPT_KIND_NUM:
    case OPT_KIND_DURATION:
        return assign_num(o, field, shown, value, err);
    case OPT_KIND_BOOL:
        if (!read_bool(value, field))
            return opt_refuse(shown, value, "true or false", err);
        return RC_OK;
    case OPT_KIND_CHOICE:
        if (!is_choice(o, value))
            return refuse_choice(o, shown, value, err);
        assign_text(field, value);
        return RC_OK;
    case OPT_KIND_TEXT:
        if (o->filled && !value[0])
            return err_coded(err, RC_INVAL, E0603, "%s: the value is empty", shown);
        assign_text(field, value);
        return RC_OK;
    case OPT_KIND_LIST:
        append(field, value);
        return RC_OK;
    case OPT_KIND_END:
    case OPT_KIND_HEADING:
        break;
    }
    return RC_OK;
}

static void zero_field(const struct opt *o, void *conf)
{
    void *field = (char *)conf + o->at;
    if (is_int(o))
        *(int64_t *)field = 0;
    else if (o->kind == OPT_KIND_NUM || o->kind == OPT_KIND_DURATION)
        *(double *)field = 0;
    else if (o->kind == OPT_KIND_BOOL)
        *(bool *)field = false;
    else if (o->kind == OPT_KIND_LIST)
        *(struct opt_list *)field = (struct opt_list){0};
    else if (o->kind == OPT_KIND_TEXT || o->kind == OPT_KIND_CHOICE)
        *(const char **)field = NULL;
}

enum rc opt_defaults(const struct opt *opts, void *conf, struct err *err)
{
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++)
        zero_field(o, conf);
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
        enum rc rc = RC_OK;
        if (o->preset)
            rc = opt_assign(o, conf, opt_name(o), o->preset, err);
        if (rc)
            return err_wrap(err, rc, "default");
    }
    return RC_OK;
}

enum rc opt_set(const struct opt *opts, void *conf, const char *name, const char *value,
                struct err *err)
{
    const struct opt *o = opt_find(opts, name);
    if (!o)
        return opt_unknown(opts, "setting", "", str_c(name), err);
    return opt_assign(o, conf, name, value, err);
}

void opt_release(const struct opt *opts, void *conf)
{
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++) {
        void *field = (char *)conf + o->at;
        if (o->kind == OPT_KIND_TEXT || o->kind == OPT_KIND_CHOICE) {
            free_text(*(const char **)field);
            zero_field(o, conf);
        } else if (o->kind == OPT_KIND_LIST) {
            struct opt_list *list = field;
            for (size_t i = 0; i < list->n; i++)
                free_text(list->at[i]);
            mem_free(list->at);
            zero_field(o, conf);
        }
    }
}

void opt_print(const struct opt *o, const void *conf, struct buf *out)
{
    const void *field = (const char *)conf + o->at;
    if (is_int(o)) {
        print_int(o, *(const int64_t *)field, out);
    } else if (o->kind == OPT_KIND_NUM || o->kind == OPT_KIND_DURATION) {
        print_num(o, *(const double *)field, out);
    } else if (o->kind == OPT_KIND_BOOL) {
        buf_puts(out, *(const bool *)field ? "true" : "false");
    } else if (o->kind == OPT_KIND_LIST) {
        const struct opt_list *list = field;
        for (size_t i = 0; i < list->n; i++)
            buf_printf(out, "%s%s", i ? "," : "", list->at[i]);
    } else if (o->kind != OPT_KIND_HEADING) {
        const char *text = *(const char *const *)field;
        buf_puts(out, text ? text : "");
    }
}
