/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/optim/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "base/mem.h"

#define MATCH_LIMIT \
    1000000 /* tries at one name; a sane expression needs a few hundred \
             */

struct optim_pattern {
    char *regex;
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

enum rc optim_pattern_create(const char *regex, struct optim_pattern **out,
                             struct err *err)
{
    int number = 0;
    PCRE2_SIZE at = 0;
    unsigned options = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF | PCRE2_UCP;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options,
                                     &number, &at, NULL);
    if (!code) {
        PCRE2_UCHAR text[120] = "";
        pcre2_get_error_message(number, text, sizeof(text));
        return err_coded(err, RC_INVAL, E0308, "regex_pattern '%s': %s, at character %zu",
                         regex, (const char *)text, (size_t)at);
    }
    struct optim_pattern *p = mem_calloc(1, sizeof(*p));
    p->regex = mem_strdup(regex);
    p->code = code;
    p->data = pcre2_match_data_create_from_pattern(code, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (!p->data || !p->context) {
        optim_pattern_destroy(p);
        return err_set(err, RC_NOMEM, "no memory for regex_pattern '%s'", regex);
    }
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    *out = p;
    return RC_OK;
}

void optim_pattern_destroy(struct optim_pattern *p)
{
    if (!p)
        return;
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    mem_free(p->regex);
    mem_free(p);
}

enum rc optim_pattern_match(const struct optim_pattern *p, const char *name, bool *out,
                            struct err *err)
{
    int n =
        pcre2_match(p->code, (PCRE2_SPTR)name, strlen(name), 0, 0, p->data, p->context);
    if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR text[120] = "";
        pcre2_get_error_message(n, text, sizeof(text));
        return err_coded(err, RC_INVAL, E0308, "regex_pattern '%s' on '%s': %s", p->regex,
                         name, (const char *)text);
    }
    *out = n >= 0;
    return RC_OK;
}
