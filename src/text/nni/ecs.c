/* SPDX-License-Identifier: Apache-2.0 */
#include "text/nni/ecs.h"

#include <ctype.h>
#include <string.h>

struct scanner {
    struct str rest;
    struct arena *a;
    struct err *err;
};

static void skip_blanks(struct scanner *s)
{
    while (s->rest.n && isspace((unsigned char)*s->rest.p)) {
        s->rest.p++;
        s->rest.n--;
    }
}

static bool nni_ecs_take(struct scanner *s, char c)
{
    skip_blanks(s);
    if (s->rest.n == 0 || *s->rest.p != c)
        return false;
    s->rest.p++;
    s->rest.n--;
    return true;
}

static enum rc take_quoted(struct scanner *s, const char **out)
{
    skip_blanks(s);
    char quote = s->rest.n ? *s->rest.p : 0;
    if (quote != '\'' && quote != '"')
        return err_set(s->err, RC_FORMAT, "a name in quotes is missing before '%.*s'",
                       (int)(s->rest.n > 20 ? 20 : s->rest.n), s->rest.p);
    const char *from = s->rest.p + 1;
    const char *end = memchr(from, quote, s->rest.n - 1);
    if (!end)
        return err_set(s->err, RC_FORMAT, "a quote is not closed");
    *out = arena_strndup(s->a, from, (size_t)(end - from));
    s->rest = str_of(end + 1, s->rest.n - (size_t)(end + 1 - s->rest.p));
    return RC_OK;
}

static enum rc take_number(struct scanner *s, const char *name, double *out)
{
    size_t n = 0;
    double v;
    skip_blanks(s);
    while (n < s->rest.n && s->rest.p[n] != ',' && s->rest.p[n] != '}')
        n++;
    struct str word = str_trim(str_of(s->rest.p, n));
    if (!str_to_f64(word, &v) || !(v >= 0 && v <= 1e6))
        return err_set(s->err, RC_FORMAT, "'%s' takes a number, not '%.*s'", name,
                       (int)(word.n > 40 ? 40 : word.n), word.p);
    *out = v;
    s->rest = str_of(s->rest.p + n, s->rest.n - n);
    return RC_OK;
}

static enum rc take_pair(struct scanner *s, struct nni_ecs_spec *out)
{
    const char *name = NULL;
    enum rc rc = take_quoted(s, &name);
    if (rc)
        return rc;
    if (!nni_ecs_take(s, ':'))
        return err_set(s->err, RC_FORMAT, "no ':' after '%s'", name);
    if (strcmp(name, "cpu") == 0)
        return take_number(s, name, &out->cpu);
    if (strcmp(name, "memory") == 0)
        return take_number(s, name, &out->memory);
    if (strcmp(name, "gpu") == 0)
        return take_number(s, name, &out->gpu);
    if (strcmp(name, "resource_id") == 0)
        return take_quoted(s, &out->resource_id);
    if (strcmp(name, "gputype") == 0)
        return take_quoted(s, &out->gputype);
    if (strcmp(name, "shared_memory") == 0)
        return take_quoted(s, &out->shared_memory);
    return err_set(s->err, RC_FORMAT,
                   "'%s' is not one of resource_id, cpu, memory, gpu, gputype, "
                   "shared_memory",
                   name);
}

static enum rc parse_map(struct scanner *s, struct nni_ecs_spec *out)
{
    *out = (struct nni_ecs_spec){
        .cpu = 1, .memory = 2, .resource_id = "", .gputype = "", .shared_memory = ""};
    while (!nni_ecs_take(s, '}')) {
        enum rc rc = take_pair(s, out);
        if (rc)
            return rc;
        if (nni_ecs_take(s, ','))
            continue;
        if (!nni_ecs_take(s, '}'))
            return err_set(s->err, RC_FORMAT, "the map does not end in '}'");
        break;
    }
    skip_blanks(s);
    if (s->rest.n)
        return err_set(s->err, RC_FORMAT, "'%.*s' follows the map",
                       (int)(s->rest.n > 20 ? 20 : s->rest.n), s->rest.p);
    return RC_OK;
}

enum rc nni_ecs_parse(struct str text, struct arena *a, struct nni_ecs_spec *out,
                      struct err *err)
{
    struct scanner s = {.rest = str_trim(text), .a = a, .err = err};
    struct nni_ecs_spec spec = {0};
    struct str word = s.rest;
    enum rc rc;
    if (nni_ecs_take(&s, '{')) {
        rc = parse_map(&s, &spec);
        if (rc)
            return rc;
    } else {
        bool dot = false;
        for (size_t i = 0; i < word.n; i++) {
            if (!isalnum((unsigned char)word.p[i]) && !strchr("._-", word.p[i]))
                return err_set(err, RC_FORMAT, "an instance type holds no '%c'",
                               word.p[i]);
            dot |= word.p[i] == '.';
        }
        if (!dot)
            return err_set(err, RC_FORMAT, "an instance type reads like ecs.c6.large");
        spec.instance_type = arena_strndup(a, word.p, word.n);
    }
    *out = spec;
    return RC_OK;
}
