/* SPDX-License-Identifier: Apache-2.0 */
/* RegexReplace: every match of a Perl-like expression is replaced. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "base/mem.h"
#include "feature/op/custom.h"

#define TEXT_MAX ((size_t)1 << 20)

struct regex_scratch {
    pcre2_match_data *match;
    pcre2_match_context *limits;
    char *out;
    size_t cap;
};

static void regex_compile(struct custom *c, struct fg *f, struct feature_plan *p,
                          struct diags *diags)
{
    const struct pc_CustomFeature *m = (const void *)f->conf->msg;
    const struct node *pattern = pc_operator_param(m->operator_params, "regex_patten");
    const struct node *with = pc_operator_param(m->operator_params, "replacement");
    int code;
    PCRE2_SIZE at;
    if (!pattern)
        pattern = pc_operator_param(m->operator_params, "regex_pattern");
    if (!pattern) {
        plan_report(diags, f, E1312, "operator_params",
                    "feature '%s': RegexReplace needs regex_patten", f->info.name);
        return;
    }
    c->replacement = with ? with->text : str_of("", 0);
    c->regex = pcre2_compile((PCRE2_SPTR)pattern->text.p, pattern->text.n, PCRE2_UTF,
                             &code, &at, NULL);
    if (!c->regex) {
        PCRE2_UCHAR msg[120] = "";
        pcre2_get_error_message(code, msg, sizeof(msg));
        plan_report(diags, f, E1312, "operator_params",
                    "feature '%s': regex_patten, character %zu: %s", f->info.name, at + 1,
                    (const char *)msg);
    }
    f->in[0].form = FORM_WHOLE;
}

static void *regex_scratch(const struct custom *c)
{
    struct regex_scratch *s = mem_calloc(1, sizeof(*s));
    s->match = pcre2_match_data_create_from_pattern(c->regex, NULL);
    s->limits = pcre2_match_context_create(NULL);
    if (s->limits)
        pcre2_set_match_limit(s->limits, 1000000);
    s->cap = 4096;
    s->out = mem_alloc(s->cap);
    return s;
}

static void regex_scratch_destroy(const struct custom *c, void *scratch)
{
    struct regex_scratch *s = scratch;
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->limits);
    mem_free(s->out);
    mem_free(s);
}

static int custom_regex_op_replace(const struct custom *c, struct regex_scratch *s,
                                   struct str text, PCRE2_SIZE *n)
{
    *n = s->cap;
    return pcre2_substitute(c->regex, (PCRE2_SPTR)text.p, text.n, 0,
                            PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
                            s->match, s->limits, (PCRE2_SPTR)c->replacement.p,
                            c->replacement.n, (PCRE2_UCHAR *)s->out, n);
}

static enum rc regex_step(struct fg_run *x, struct custom *c, const struct fg_range *in)
{
    struct regex_scratch *s = custom_inner(x);
    struct cell_buf buf;
    struct str text = cell_text(&x->st->in[0], in[0].begin, &buf);
    PCRE2_SIZE n;
    int rc = custom_regex_op_replace(c, s, text, &n);
    if (rc == PCRE2_ERROR_NOMEMORY && n > s->cap && n <= TEXT_MAX) {
        char *out = mem_try_realloc(s->out, n * 2, 1);
        if (!out)
            return fg_nomem(x);
        s->out = out;
        s->cap = n * 2;
        rc = custom_regex_op_replace(c, s, text, &n);
    }
    if (rc < 0) {
        PCRE2_UCHAR msg[120] = "";
        pcre2_get_error_message(rc, msg, sizeof(msg));
        return fg_fail(x, NULL, RC_FORMAT, E1319, "RegexReplace of '%.*s': %s",
                       SHOWN(text), (const char *)msg);
    }
    return n ? sink_text(x, str_of(s->out, n), 1.0f) : RC_OK;
}

static void regex_release(struct custom *c)
{
    pcre2_code_free(c->regex);
}

const struct custom_ops custom_regex_replace = {.name = "RegexReplace",
                                                .min_in = 1,
                                                .max_in = 1,
                                                .compile = regex_compile,
                                                .step = regex_step,
                                                .release = regex_release,
                                                .scratch = regex_scratch,
                                                .scratch_destroy = regex_scratch_destroy};
