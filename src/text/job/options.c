/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of settings that one backend alone has (backend_options.def). */
#include <string.h>

#include "text/job/job.h"

#define VALUE_MAX_CHARS 256

const char *jobspec_check_slurm(struct str value)
{
    if (value.n < 1 || value.n > VALUE_MAX_CHARS)
        return "a value has 1 to 256 characters";
    if (value.p[0] == '-')
        return "a value does not begin with '-'";
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] <= ' ' || value.p[i] > '~' || strchr("\"'`\\;$<>", value.p[i]))
            return "a value is printable ASCII without spaces, quotes and \\ ; $ < >";
    return NULL;
}

/* Between so many seconds, both included. */
static bool is_between(struct str value, double least, double most)
{
    double s;
    return jobspec_seconds(value, &s) && s >= least && s <= most;
}

const char *jobspec_check_slurm_time(struct str value)
{
    return is_between(value, 60, 366 * 86400.0)
               ? NULL
               : "a time limit is 1m to 366d, such as 90m";
}

const char *jobspec_check_slurm_poll(struct str value)
{
    return is_between(value, 1, 3600) ? NULL : "this is a time from 1s to 1h";
}

const char *jobspec_check_count(struct str value)
{
    int64_t n;
    bool good = str_to_i64(value, &n) && n >= 1 && n <= JOB_WORKERS_MAX;
    return good ? NULL : "this is a number from 1 to 1024";
}

const char *jobspec_check_view(struct str value)
{
    return str_is(value, "mount") || str_is(value, "plain") ? NULL
                                                            : "this is mount or plain";
}

const char *jobspec_check_yes(struct str value)
{
    return str_is(value, "yes") || str_is(value, "no") ? NULL : "this is yes or no";
}

const char *jobspec_check_path(struct str value)
{
    bool good = value.n > 1 && value.p[0] == '/' && !memchr(value.p, '\n', value.n);
    return good ? NULL : "this is an absolute path";
}

const char *jobspec_check_kube_text(struct str value)
{
    if (value.n < 1 || value.n > VALUE_MAX_CHARS * 8)
        return "a value has 1 to 2048 characters";
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] <= ' ' || value.p[i] > '~' || strchr("\"'`\\$", value.p[i]))
            return "a value is printable ASCII without spaces, quotes, \\ and $";
    return NULL;
}

const char *jobspec_check_kube_kind(struct str value)
{
    static const char *const names[] = {
#define KIND(name, group, version, resource, object) #name,
#include "text/job/pods_kinds.def"
#undef KIND
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(value, names[i]))
            return NULL;
    return "objects are job, jobset, pytorchjob, mpijob, trainjob or volcano";
}

const char *jobspec_check_kube_name(struct str value)
{
    bool good = value.n >= 1 && value.n <= 253;
    for (size_t i = 0; i < value.n && good; i++) {
        char c = value.p[i];
        bool inner = i > 0 && i + 1 < value.n;
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               (inner && (c == '-' || c == '.'));
    }
    return good ? NULL : "a name has a-z, 0-9, and - and . within";
}

const char *jobspec_check_kube_wait(struct str value)
{
    return is_between(value, 0, 86400) ? NULL : "this is a time from 0s to 1d";
}

const char *jobspec_check_run_as(struct str value)
{
    return str_is(value, "self") || str_is(value, "image") ? NULL
                                                           : "this is self or image";
}
