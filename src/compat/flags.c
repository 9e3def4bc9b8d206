/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/flags.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static bool same_letters(const char *rule, const char *given, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rule[i] != (given[i] == '-' ? '_' : given[i]))
            return false;
    return true;
}

/* The rule for the n letters of a long option; *several when a beginning fits more than
 * one. NULL when there is none.
 */
static const struct compat_flag *find_long(const struct compat_flag *rules,
                                           const char *name, size_t n, bool *several)
{
    const struct compat_flag *found = NULL;
    *several = false;
    for (const struct compat_flag *r = rules; r->name; r++) {
        if (strlen(r->name) < n || !same_letters(r->name, name, n))
            continue;
        if (!r->name[n]) {
            *several = false;
            return r;
        }
        *several = found != NULL;
        found = r;
    }
    return found;
}

static const struct compat_flag *find_letter(const struct compat_flag *rules, char letter)
{
    for (const struct compat_flag *r = rules; r->name; r++)
        if (r->letter == letter)
            return r;
    return NULL;
}

/* One option at argv[*at], which moves on. RC_NOTFOUND: no rule takes it. */
static enum rc read_one(const struct compat_flag *rules, int argc, char *const *argv,
                        int *at, struct compat_flags *out, struct err *err)
{
    const char *word = argv[*at];
    const char *equals = strchr(word, '=');
    bool is_long = word[1] == '-', several = false;
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const struct compat_flag *r = is_long ? find_long(rules, word + 2, n - 2, &several)
                                          : find_letter(rules, word[1]);
    if (several)
        return err_coded(err, RC_INVAL, E2202, "option %.*s is ambiguous", (int)n, word);
    if (!r || n < 3 - (size_t)!is_long)
        return RC_NOTFOUND;
    const char **value = &out->value[r - rules];
    const char *joined = !is_long && word[2] ? word + 2 : NULL;
    (*at)++;
    if (r->no_value)
        *value = "";
    else if (is_long && equals)
        *value = equals + 1;
    else if (joined)
        *value = joined;
    else if (*at < argc)
        *value = argv[(*at)++];
    else
        return err_coded(err, RC_INVAL, E2201, "option %s needs a value", word);
    return RC_OK;
}

enum rc compat_flags_read(const struct compat_flag *rules, int argc, char *const *argv,
                          bool stop_at_word, struct compat_flags *out, struct err *err)
{
    size_t n = 0;
    int i = 0;
    while (rules[n].name)
        n++;
    *out = (struct compat_flags){.value = mem_calloc(n + 1, sizeof(*out->value))};
    while (i < argc) {
        bool option = argv[i][0] == '-' && argv[i][1];
        if (!option && stop_at_word)
            break;
        enum rc rc = option ? read_one(rules, argc, argv, &i, out, err) : RC_NOTFOUND;
        if (rc == RC_NOTFOUND)
            VEC_PUSH(&out->unknown, argv[i++]);
        else if (rc)
            return rc;
    }
    out->used = i;
    return RC_OK;
}

void compat_flags_release(struct compat_flags *f)
{
    mem_free(f->value);
    VEC_RELEASE(&f->unknown);
    *f = (struct compat_flags){0};
}

const char *compat_flags_get(const struct compat_flags *f,
                             const struct compat_flag *rules, const char *name)
{
    for (size_t i = 0; rules[i].name; i++)
        if (strcmp(rules[i].name, name) == 0)
            return f->value[i];
    return NULL;
}
