/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, one argument at a time. An argument that begins with "--" is never
 * taken as the value of the option before it: `--model-dir --continue` is a forgotten
 * value far more often than a directory of that name, and `=` is there for the rest.
 */
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/opt_private.h"

struct line {
    const struct opt *opts;
    void *conf;
    int argc, at; /* `at`: the next argument */
    char *const *argv;
};

static const struct opt *find_letter(const struct opt *opts, char letter)
{
    for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

static enum rc next_value(struct line *l, const struct opt *o, const char *shown,
                          const char **value, struct err *err)
{
    if (l->at < l->argc && !str_starts(l->argv[l->at], "--")) {
        *value = l->argv[l->at++];
        return RC_OK;
    }
    if (l->at < l->argc && shown[1] == '-')
        return err_coded(
            err, RC_INVAL, E0602,
            "%s needs a value, but '%s' follows (write %s=%s if it is meant)", shown,
            l->argv[l->at], shown, l->argv[l->at]);
    return err_coded(err, RC_INVAL, E0602, "%s needs a value", shown);
}

/* `--no-name` of a switch. */
static const struct opt *find_negated(const struct opt *opts, struct str name)
{
    if (name.n < 4 || (memcmp(name.p, "no-", 3) != 0 && memcmp(name.p, "no_", 3) != 0))
        return NULL;
    const struct opt *o = opt_lookup(opts, str_of(name.p + 3, name.n - 3));
    return o && o->kind == OPT_KIND_BOOL ? o : NULL;
}

static enum rc parse_long(struct line *l, const char *arg, struct err *err)
{
    const char *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    struct str name = str_of(arg + 2, n - 2);
    char *shown = mem_strndup(arg, n);
    const char *value = equals ? equals + 1 : NULL;
    const struct opt *o = opt_lookup(l->opts, name);
    const struct opt *negated = o ? NULL : find_negated(l->opts, name);
    enum rc rc = RC_OK;
    if (negated && value)
        rc = err_coded(err, RC_INVAL, E0604, "%s takes no value, '%s' was given", shown,
                       value);
    else if (negated)
        rc = opt_assign(negated, l->conf, shown, "false", err);
    else if (!o)
        rc = opt_unknown(l->opts, "option", "--", name, err);
    else if (!value && o->kind == OPT_KIND_BOOL)
        value = "true";
    else if (!value)
        rc = next_value(l, o, shown, &value, err);
    if (!rc && o)
        rc = opt_assign(o, l->conf, shown, value, err);
    mem_free(shown);
    return rc;
}

/* `-x`, `-xvalue`, `-x=value`, `-xy`. */
static enum rc parse_letters(struct line *l, const char *arg, struct err *err)
{
    for (const char *c = arg + 1; *c; c++) {
        const struct opt *o = find_letter(l->opts, *c);
        char shown[3] = {'-', *c, '\0'};
        if (!o)
            return err_coded(err, RC_INVAL, E0601, "unknown option '-%s'", c);
        const char *value = "true";
        bool whole = o->kind != OPT_KIND_BOOL || c[1] == '=';
        if (whole && c[1])
            value = c + (c[1] == '=' ? 2 : 1);
        else if (whole) {
            enum rc rc = next_value(l, o, shown, &value, err);
            if (rc)
                return rc;
        }
        enum rc rc = opt_assign(o, l->conf, shown, value, err);
        if (rc || whole)
            return rc;
    }
    return RC_OK;
}

static enum rc opt_parse_keep(struct opt_args *rest, const char *arg, struct err *err)
{
    if (!rest)
        return err_coded(err, RC_INVAL, E0604, "unexpected argument '%s'", arg);
    rest->at = mem_realloc(rest->at, rest->n + 1, sizeof(*rest->at));
    rest->at[rest->n++] = arg;
    return RC_OK;
}

static enum rc keep_all(struct line *l, struct opt_args *rest, struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && l->at < l->argc)
        rc = opt_parse_keep(rest, l->argv[l->at++], err);
    return rc;
}

static enum rc parse_line(struct line *l, struct opt_args *rest, struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && l->at < l->argc) {
        const char *arg = l->argv[l->at++];
        if (strcmp(arg, "--") == 0) {
            if (rest)
                rest->n_dashed = (size_t)(l->argc - l->at);
            return keep_all(l, rest, err);
        }
        if (str_starts(arg, "--")) {
            rc = parse_long(l, arg, err);
        } else if (arg[0] == '-' && arg[1]) {
            rc = parse_letters(l, arg, err);
        } else {
            rc = opt_parse_keep(rest, arg, err);
            if (!rc && rest->stop_at_word)
                return keep_all(l, rest, err);
        }
    }
    return rc;
}

enum rc opt_parse(const struct opt *opts, void *conf, int argc, char *const *argv,
                  struct opt_args *rest, struct err *err)
{
    struct line l = {.opts = opts, .conf = conf, .argc = argc, .argv = argv};
    enum rc rc = parse_line(&l, rest, err);
    if (rc && rest)
        opt_args_release(rest);
    return rc;
}

enum rc opt_args_check(const struct opt_args *args, size_t min, size_t max,
                       const char *names, struct err *err)
{
    if (args->n > max)
        return err_coded(err, RC_INVAL, E0604, "unexpected argument '%s'", args->at[max]);
    if (args->n >= min)
        return RC_OK;
    struct str rest = str_c(names), name = str_c("");
    for (size_t i = 0; i <= args->n; i++)
        if (!str_split(&rest, ' ', &name))
            break;
    return err_coded(err, RC_INVAL, E0605, "argument %.*s is missing", (int)name.n,
                     name.p);
}

void opt_args_release(struct opt_args *args)
{
    mem_free(args->at);
    args->at = NULL;
    args->n = args->n_dashed = 0;
}
