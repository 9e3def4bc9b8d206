/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, unfolded from http/routes.def, and the search in it. A path is
 * compared part by part; a part in braces takes any value that the check of its name
 * accepts, so handlers get parameters of good form and a value of bad form is no such
 * path. Checks and the patterns of the OpenAPI document stand side by side in one table.
 * Where the path fits but no method does, the methods that would are collected for the
 * header Allow. HEAD is a GET.
 */
#include "http/route.h"

#include <string.h>

#include "http/assets.h"
#include "http/handlers.h"
#include "http/schemas_private.h"
#include "job/place.h"
#include "job/snapshot.h"
#include "tune/experiment.h"
#include "tune/retain.h"

static const struct http_route routes[] = {
#define ROUTE(file_, method_, path_, role_, fn_, query_, body_, answer_, status_, tag_, \
              summary_)                                                                 \
    {.method = #method_,                                                                \
     .path = path_,                                                                     \
     .role = ROLE_##role_,                                                              \
     .fn = http_##fn_,                                                                  \
     .id = #fn_,                                                                        \
     .query = &http_schema_##query_,                                                    \
     .body = &http_schema_##body_,                                                      \
     .answer = &http_schema_##answer_,                                                  \
     .status = status_,                                                                 \
     .tag = tag_,                                                                       \
     .summary = summary_},
#include "http/routes.def"
#undef ROUTE
};

const struct http_route *http_route_all(size_t *n)
{
    *n = ARRAY_LEN(routes);
    return routes;
}

static bool log_ok(const char *v)
{
    size_t n = strspn(v, "0123456789");
    return strcmp(v, "prepare") == 0 || (n > 0 && n <= 4 && !v[n]);
}

static bool session_ok(const char *v)
{
    return strlen(v) == 15 && strncmp(v, "xs-", 3) == 0 &&
           strspn(v + 3, "abcdefghijklmnopqrstuvwxyz0123456789") == 12;
}

static bool name_ok(const char *v)
{
    return !http_schema_name_check(str_c(v));
}

static bool experiment_ok(const char *v)
{
    return name_ok(v) && v[0] != '_' && strlen(v) < EXP_ID_SIZE;
}

static bool trial_ok(const char *v)
{
    size_t n =
        strspn(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    return n > 0 && n < TRIAL_ID_SIZE && !v[n];
}

static bool number_ok(const char *v)
{
    size_t n = strspn(v, "0123456789");
    return n > 0 && n <= 9 && !v[n];
}

static bool version_ok(const char *v)
{
    return strcmp(v, "latest") == 0 || number_ok(v);
}

static bool policy_ok(const char *v)
{
    v += str_starts(v, TUNE_POLICY) ? strlen(TUNE_POLICY) : 0;
    return strcmp(v, "default") == 0 || (str_starts(v, "user:") && name_ok(v + 5)) ||
           (str_starts(v, "project:") && name_ok(v + 8));
}

/* Of a quota: a user's name, or '*' for those who have none of their own. */
static bool user_ok(const char *v)
{
    return strcmp(v, "*") == 0 || name_ok(v);
}

static bool asset_ok(const char *v)
{
    return http_asset_find(v) != NULL;
}

static bool channel_ok(const char *v)
{
    return *v && *v != '.' && strlen(v) <= 128 && !strchr(v, '/');
}

static bool run_ok(const char *v)
{
    return strlen(v) == 16 && strspn(v, "0123456789abcdef") == 16;
}

/* What NNI has directly below its prefix. */
#define NNI_WORDS                                                               \
    "check-status|experiment|experiment-metadata|experiments-info|export-data|" \
    "job-statistics|metric-data|metric-data-latest|trial-jobs|version"

static bool nni_ok(const char *v)
{
    struct str rest = str_c(NNI_WORDS), part;
    while (str_split(&rest, '|', &part))
        if (str_is(part, v))
            return true;
    return false;
}

static const struct {
    const char *name, *pattern;
    bool (*ok)(const char *value);
} params[] = {
    {"asset", "^[a-z]+-[0-9a-f]{12}\\.(css|js)$", asset_ok},
    {"channel", "^[^/.\\u0000-\\u001f\\u007f][^/\\u0000-\\u001f\\u007f]{0,127}$",
     channel_ok},
    {"experiment", "^[A-Za-z0-9][A-Za-z0-9_.-]{0,38}$", experiment_ok},
    {"first", "^[0-9]{1,9}$", number_ok},
    {"job", "^jb-[a-z0-9]{12}$", job_id_ok},
    {"last", "^[0-9]{1,9}$", number_ok},
    {"log", "^(prepare|[0-9]{1,4})$", log_ok},
    {"name", NAME_PATTERN, name_ok},
    {"nni", "^(" NNI_WORDS ")$", nni_ok},
    {"policy",
     "^(experiments:)?(default|(user|project):[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})$",
     policy_ok},
    {"rule", NAME_PATTERN, name_ok},
    {"run", "^[0-9a-f]{16}$", run_ok},
    {"session", "^xs-[a-z0-9]{12}$", session_ok},
    {"sha256", "^[0-9a-f]{64}$", job_snapshot_id_ok},
    {"token", NAME_PATTERN, name_ok},
    {"trial", "^[A-Za-z0-9]{1,7}$", trial_ok},
    {"user", "^(\\*|[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})$", user_ok},
    {"version", "^(latest|[0-9]{1,9})$", version_ok},
};

const char *http_route_param_pattern(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        if (strcmp(params[i].name, name) == 0)
            return params[i].pattern;
    return NULL;
}

bool http_route_param_ok(const char *name, const char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(params); i++)
        if (strcmp(params[i].name, name) == 0)
            return params[i].ok(value);
    return false;
}

static bool route_matches(const char *path, const struct http_target *t,
                          const char *out[ROUTE_PARAMS_MAX])
{
    struct str rest = str_c(path + 1), part;
    size_t i = 0, n = 0;
    if (!rest.n) /* "/" */
        return t->n_parts == 0;
    while (str_split(&rest, '/', &part)) {
        if (i == t->n_parts)
            return false;
        const char *have = t->parts[i++];
        if (part.p[0] != '{') {
            if (!str_is(part, have))
                return false;
        } else {
            char name[24] = "";
            memcpy(name, part.p + 1, part.n - 2);
            if (!http_route_param_ok(name, have))
                return false;
            out[n++] = have;
        }
    }
    return i == t->n_parts;
}

enum http_route_found http_route_find(const char *method, const struct http_target *t,
                                      const struct http_route **out,
                                      const char *found[ROUTE_PARAMS_MAX],
                                      struct buf *allow)
{
    bool path = false;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        const char *values[ROUTE_PARAMS_MAX] = {NULL};
        if (!route_matches(routes[i].path, t, values))
            continue;
        if (strcmp(routes[i].method, method) == 0) {
            memcpy(found, values, sizeof(values));
            *out = &routes[i];
            return ROUTE_FOUND;
        }
        path = true;
        buf_printf(allow, "%s%s", allow->n ? ", " : "", routes[i].method);
    }
    return path ? ROUTE_NO_METHOD : ROUTE_NO_PATH;
}
