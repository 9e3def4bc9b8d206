/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities of a job file. Sizes and durations are those of the command line. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "text/job/job.h"

#define NAME_MAX_CHARS 256
#define TOKEN_MAX 128

struct units {
    int64_t size;
    double time;
};

static const struct opt units[] = {
    {OPT_SIZE(struct units, size, "0", 1, INT64_MAX, "")},
    {OPT_DURATION(struct units, time, "0", 0, 1e9, "")},
    {0},
};

static bool read_unit(struct str text, const char *name, struct units *out)
{
    char *copy = mem_strndup(text.p, text.n);
    enum rc rc = opt_set(units, out, name, copy, NULL);
    mem_free(copy);
    return rc == RC_OK;
}

bool jobspec_bytes(struct str text, int64_t *bytes)
{
    struct units u = {0};
    if (text.n > 2 && text.p[text.n - 1] == 'i') /* 4Gi, as Kubernetes writes it */
        text.n--;
    if (!read_unit(text, "size", &u))
        return false;
    *bytes = u.size;
    return true;
}

bool jobspec_seconds(struct str text, double *seconds)
{
    struct units u = {0};
    if (!read_unit(text, "time", &u))
        return false;
    *seconds = u.time;
    return true;
}

bool jobspec_cpu_milli(struct str text, int64_t *milli)
{
    double v;
    bool thousandths = text.n > 1 && text.p[text.n - 1] == 'm';
    struct str digits = thousandths ? str_of(text.p, text.n - 1) : text;
    if (!str_to_f64(digits, &v) || !(v > 0) || v > 1e6)
        return false;
    *milli = (int64_t)ceil(thousandths ? v : v * 1000);
    return *milli > 0;
}

static bool code_range(struct str part, int64_t *lo, int64_t *hi)
{
    struct str first;
    if (!str_split(&part, '-', &first) || !str_to_i64(str_trim(first), lo))
        return false;
    *hi = *lo;
    if (part.p && part.n && !str_to_i64(str_trim(part), hi))
        return false;
    return *lo >= 0 && *hi <= 255 && *lo <= *hi;
}

bool jobspec_codes_have(const char *list, int code)
{
    struct str rest = str_c(list), part;
    int64_t lo, hi;
    while (rest.n && str_split(&rest, ',', &part))
        if (code_range(str_trim(part), &lo, &hi) && code >= lo && code <= hi)
            return true;
    return false;
}

const char *jobspec_check_codes(struct str value)
{
    struct str rest = value, part;
    int64_t lo, hi;
    while (rest.n && str_split(&rest, ',', &part))
        if (!code_range(str_trim(part), &lo, &hi))
            return "exit statuses are written like 75,128-255, each from 0 to 255";
    return NULL;
}

const char *jobspec_check_name(struct str value)
{
    if (value.n < 1 || value.n > NAME_MAX_CHARS)
        return "a name has 1 to 256 characters";
    for (size_t i = 0; i < value.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                    value.p[i]) ||
            !value.p[i])
            return "a name holds letters, digits, '_', '.' and '-' only";
    return NULL;
}

const char *jobspec_check_token(struct str value)
{
    if (value.n < 1 || value.n > TOKEN_MAX)
        return "a token has 1 to 128 characters";
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] <= ' ' || value.p[i] > '~')
            return "a token holds printable ASCII characters only";
    return NULL;
}

const char *jobspec_check_cpu(struct str value)
{
    int64_t milli;
    return jobspec_cpu_milli(value, &milli)
               ? NULL
               : "processors are written like 2, 0.5 or 500m";
}

const char *jobspec_check_size(struct str value)
{
    int64_t bytes;
    return jobspec_bytes(value, &bytes) ? NULL
                                        : "memory is written like 4Gi, 512Mi or in bytes";
}

const char *jobspec_check_pull(struct str value)
{
    if (str_is(value, "always") || str_is(value, "missing") || str_is(value, "never"))
        return NULL;
    return "images are pulled always, missing or never";
}

const char *jobspec_check_duration(struct str value)
{
    double seconds;
    return jobspec_seconds(value, &seconds) ? NULL
                                            : "times are written like 90s, 30m or 1h30m";
}
