/* SPDX-License-Identifier: Apache-2.0 */
/* The client of PAI's DLC. Jobs run on this machine: what chooses machines, networks and
 * accounts of the cloud is kept in the job's record and has no effect, which is said. The
 * image too, unless TRAINYARD_DLC_BACKEND is `container`: the program that most such
 * images are for is this one.
 */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/flags.h"
#include "compat/front.h"
#include "text/job/job.h"

#define FILE_MAX (1 << 20)

/* What can be said of the nodes of each kind. */
#define ROLE(r)                                                                        \
    {.name = r "_image"}, {.name = r "_spec"}, {.name = r "_cpu"}, {.name = r "_gpu"}, \
        {.name = r "_memory"}, {.name = r "_shared_memory"},                           \
    {                                                                                  \
        .name = r "_gpu_type"                                                          \
    }

static const struct compat_flag rules[] = {
    {.name = "name", .letter = 'n'},
    {.name = "command"},
    {.name = "workspace_id", .letter = 'w'},
    {.name = "resource_id"},
    {.name = "priority"},
    {.name = "data_sources"},
    {.name = "data_source_uris"},
    {.name = "code_source"},
    {.name = "code_branch"},
    {.name = "code_commit"},
    {.name = "thirdparty_libs"},
    {.name = "thirdparty_lib_dir"},
    {.name = "vpc_id"},
    {.name = "switch_id"},
    {.name = "security_group_id"},
    {.name = "extended_cidrs"},
    {.name = "job_max_running_time_minutes"},
    {.name = "running_timeout"},
    {.name = "envs"},
    {.name = "tags"},
    {.name = "interactive", .no_value = true},
    {.name = "success_policy"},
    {.name = "oversold_type"},
    {.name = "driver"},
    {.name = "aimaster_enable", .no_value = true},
    {.name = "aimaster_args"},
    {.name = "advanced_settings"},
    {.name = "node_names"},
    {.name = "enable_preemptible_job", .no_value = true},
    {.name = "workers"},
    {.name = "masters"},
    {.name = "master"},
    {.name = "chief", .no_value = true},
    {.name = "ps"},
    {.name = "evaluators"},
    {.name = "evaluator"},
    {.name = "graphlearns"},
    {.name = "graphlearn"},
    ROLE("worker"),
    ROLE("master"),
    ROLE("chief"),
    ROLE("ps"),
    ROLE("evaluator"),
    ROLE("graphlearn"),
    {.name = "job_file"},
    {.name = "region", .letter = 'r'},
    {.name = "endpoint", .letter = 'e'},
    {.name = "protocol"},
    {.name = "access_id"},
    {.name = "access_key"},
    {.name = "display_name"},
    {.name = "status"},
    {.name = "page_num"},
    {.name = "page_size"},
    {.name = "show_detail", .no_value = true},
    {.name = "max_events_num"},
    {.name = "start_time"},
    {.name = "end_time"},
    {.name = "force", .no_value = true},
    {.name = "help", .no_value = true, .letter = 'h'},
    {0},
};

static const char help_text[] =
    "dlc submit pytorchjob|tfjob|xgboostjob|mpijob --name N --command C [flags]\n"
    "dlc get job [ID] | dlc get pod ID POD | dlc get quota | dlc list jobs\n"
    "dlc logs ID [POD] | dlc stop job ID [--force]\n"
    "The flags are those of DLC's client; see docs/jobs.md for what they mean here.\n";

struct reading {
    const struct front_args *in;
    struct compat_flags f;
    struct front_call *out;
    struct arena *a;
};

static const char *dlc_get(const struct reading *r, const char *name)
{
    const char *v = compat_flags_get(&r->f, rules, name);
    return v && *v ? v : NULL;
}

/* A flag that becomes one of ours. */
static void dlc_pass(struct reading *r, const char *theirs, const char *ours)
{
    const char *v = dlc_get(r, theirs);
    if (v)
        front_option(r->out, ours, v);
}

/* One that has no effect here: kept in the record. */
static void dlc_keep(struct reading *r, const char *name, bool say)
{
    const char *v = dlc_get(r, name);
    if (!v)
        return;
    front_option(r->out, "extra", arena_printf(r->a, "%s=%s", name, v));
    if (say)
        front_note(r->out, "--%s has no effect on this machine; it is only recorded",
                   name);
}

/* Each part of a list with commas becomes a flag of ours. */
static void dlc_each(struct reading *r, const char *theirs, const char *ours)
{
    const char *v = dlc_get(r, theirs);
    struct str rest = str_c(v ? v : ""), part;
    while (rest.n && str_split(&rest, ',', &part))
        if (str_trim(part).n)
            front_option(r->out, ours,
                         arena_strndup(r->a, str_trim(part).p, str_trim(part).n));
}

/* URI::MOUNT, with commas between them. */
static enum rc data_uris(struct reading *r, struct err *err)
{
    const char *v = dlc_get(r, "data_source_uris");
    struct str rest = str_c(v ? v : ""), part;
    while (rest.n && str_split(&rest, ',', &part)) {
        char *one = arena_strndup(r->a, part.p, part.n), *sep = strstr(one, "::");
        bool known =
            one[0] == '/' || str_starts(one, "oss://") || str_starts(one, "s3://");
        if (!sep || !known)
            return err_coded(
                err, RC_UNSUPPORTED, E3401,
                "--data_source_uris: '%.200s' is neither a local /path::/mount nor "
                "oss://bucket/key/::/mount; make a dataset of it",
                one);
        *sep = '\0';
        front_option(r->out, "data", arena_printf(r->a, "%s:%s", one, sep + 2));
    }
    return RC_OK;
}

static enum rc dlc_number(struct reading *r, const char *name, int64_t none, int64_t *out,
                          struct err *err)
{
    const char *v = dlc_get(r, name);
    *out = none;
    if (v && (!str_to_i64(str_c(v), out) || *out < 0))
        return err_coded(err, RC_INVAL, E3401, "--%s: '%.60s' is not a number", name, v);
    return RC_OK;
}

static const struct {
    const char *role, *count, *other; /* flags that say how many */
} roles[] = {
    {"master", "masters", "master"},
    {"chief", "chief", NULL},
    {"worker", "workers", NULL},
    {"ps", "ps", NULL},
    {"evaluator", "evaluators", "evaluator"},
    {"graphlearn", "graphlearns", "graphlearn"},
};

static const char *of_role(struct reading *r, const char *role, const char *what)
{
    return dlc_get(r, arena_printf(r->a, "%s_%s", role, what));
}

static enum rc count_of(struct reading *r, size_t i, bool others, int64_t *out,
                        struct err *err)
{
    const char *flag = roles[i].count;
    if (roles[i].other && !dlc_get(r, flag) && dlc_get(r, roles[i].other))
        flag = roles[i].other;
    if (strcmp(flag, "chief") == 0) {
        *out = compat_flags_get(&r->f, rules, flag) ? 1 : 0;
        return RC_OK;
    }
    return dlc_number(r, flag, strcmp(flag, "workers") == 0 && !others ? 1 : 0, out, err);
}

/* worker=3,cpu=2: one flag of ours for each kind of node. */
static void put_role(struct reading *r, const char *role, int64_t count)
{
    static const char *const what[] = {"cpu", "memory", "gpu"};
    struct buf b;
    buf_init(&b, 4096);
    buf_printf(&b, "%s=%jd", role, (intmax_t)count);
    for (size_t i = 0; i < ARRAY_LEN(what); i++) {
        const char *v = of_role(r, role, what[i]);
        if (v)
            buf_printf(&b, ",%s=%.100s", what[i], v);
    }
    front_option(r->out, "role", arena_strndup(r->a, buf_str(&b), b.n));
    buf_release(&b);
}

static enum rc dlc_counts(struct reading *r, struct err *err)
{
    int64_t n[ARRAY_LEN(roles)] = {0}, others = 0, workers = 0;
    enum rc rc = RC_OK;
    for (int pass = 0; pass < 2 && !rc; pass++) /* whether there are others comes first */
        for (size_t i = 0; i < ARRAY_LEN(roles) && !rc; i++)
            if ((strcmp(roles[i].role, "worker") == 0) == (pass == 1)) {
                rc = count_of(r, i, others > 0, &n[i], err);
                *(pass ? &workers : &others) += n[i];
            }
    if (rc)
        return rc;
    for (size_t i = 0; others && i < ARRAY_LEN(roles); i++)
        if (n[i])
            put_role(r, roles[i].role, n[i]);
    if (others)
        return RC_OK;
    front_option(r->out, "workers", arena_printf(r->a, "%jd", (intmax_t)workers));
    dlc_pass(r, "worker_cpu", "cpu");
    dlc_pass(r, "worker_gpu", "gpu");
    dlc_pass(r, "worker_memory", "memory");
    return RC_OK;
}

static enum rc time_limit(struct reading *r, struct err *err)
{
    int64_t minutes, seconds;
    enum rc rc = dlc_number(r, "job_max_running_time_minutes", 0, &minutes, err);
    if (!rc)
        rc = dlc_number(r, "running_timeout", 0, &seconds, err);
    if (!rc && (minutes || seconds))
        front_option(
            r->out, "timeout",
            arena_printf(r->a, "%jds", (intmax_t)(seconds ? seconds : minutes * 60)));
    return rc;
}

static bool is_true(struct str v)
{
    return str_is(v, "True") || str_is(v, "true") || str_is(v, "1");
}

/* "--enable-job-restart True --max-num-of-job-restart 3 ...": what the supervisor of the
 * cloud would do, as settings of ours.
 */
static enum rc fault_tolerance(struct reading *r, struct err *err)
{
    const char *v = dlc_get(r, "aimaster_args");
    struct str rest = str_c(v ? v : ""), word, value;
    bool restart = false, hang = false, any_failure = false;
    int64_t most = 3, silence = 1800;
    while (rest.n && str_split(&rest, ' ', &word)) {
        word = str_trim(word);
        const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
        if (equals) {
            value = str_of(equals + 1, word.n - (size_t)(equals + 1 - word.p));
            word.n = (size_t)(equals - word.p);
        } else if (!word.n || !str_split(&rest, ' ', &value)) {
            continue;
        }
        if (str_is(word, "--enable-job-restart"))
            restart = is_true(value);
        else if (str_is(word, "--enable-job-hang-detection"))
            hang = is_true(value);
        else if (str_is(word, "--fault-tolerant-policy"))
            any_failure = str_is(value, "OnFailure");
        else if ((str_is(word, "--max-num-of-job-restart") &&
                  !str_to_i64(value, &most)) ||
                 (str_is(word, "--job-hang-interval") && !str_to_i64(value, &silence)))
            return err_coded(err, RC_INVAL, E3401,
                             "--aimaster_args: '%.*s' is not a number", (int)value.n,
                             value.p);
    }
    if (restart)
        front_option(r->out, "retries", arena_printf(r->a, "%jd", (intmax_t)most));
    if (restart && any_failure)
        front_option(r->out, "retry-on", "1-255");
    if (hang)
        front_option(r->out, "hang", arena_printf(r->a, "%jds", (intmax_t)silence));
    return RC_OK;
}

static void dlc_images(struct reading *r)
{
    const char *backend = r->in->env("TRAINYARD_DLC_BACKEND");
    const char *image = NULL;
    for (size_t i = 0; i < ARRAY_LEN(roles) && !image; i++)
        image = of_role(r, roles[i].role, "image");
    if (!image)
        return;
    if (backend && jobspec_backend_runs_images(backend)) {
        front_option(r->out, "image", image);
        return;
    }
    front_option(r->out, "extra", arena_printf(r->a, "worker_image=%s", image));
    front_note(r->out, "the image is not used: the job runs directly on this machine; "
                       "set TRAINYARD_DLC_BACKEND=container to use it");
}

/* Lines KEY=VALUE; they win over the flags of the command line. */
static enum rc job_file(struct reading *r, struct err *err)
{
    const char *path = dlc_get(r, "job_file");
    char *text = NULL;
    size_t n = 0;
    if (!path)
        return RC_OK;
    enum rc rc = fs_read(path, FILE_MAX, &text, &n, err);
    struct str rest = str_of(text, n), line;
    while (!rc && text && str_split(&rest, '\n', &line)) {
        struct str key;
        line = str_trim(line);
        if (!line.n || line.p[0] == '#')
            continue;
        bool pair = memchr(line.p, '=', line.n) && str_split(&line, '=', &key);
        size_t i = 0;
        while (pair && rules[i].name && !str_is(str_trim(key), rules[i].name))
            i++;
        if (!pair || !rules[i].name || strcmp(rules[i].name, "job_file") == 0 ||
            strcmp(rules[i].name, "thirdparty_lib_dir") == 0)
            rc = err_coded(err, RC_INVAL, E3401,
                           "%s: '%.*s' is not a flag of dlc "
                           "submit",
                           path, pair ? (int)key.n : (int)line.n, pair ? key.p : line.p);
        else
            r->f.value[i] = arena_strndup(r->a, str_trim(line).p, str_trim(line).n);
    }
    mem_free(text);
    return rc;
}

static const char *type_of(const char *word)
{
    static const char *const types[][2] = {{"pytorchjob", "PyTorchJob"},
                                           {"tfjob", "TFJob"},
                                           {"xgboostjob", "XGBoostJob"},
                                           {"mpijob", "MPIJob"},
                                           {"elasticbatchjob", "ElasticBatchJob"},
                                           {"oneflowjob", "OneFlowJob"},
                                           {"rayjob", "RayJob"}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i][0], word) == 0)
            return types[i][1];
    return NULL;
}

static void pass_all(struct reading *r)
{
    static const char *const cloud[] = {"resource_id",    "vpc_id",
                                        "switch_id",      "security_group_id",
                                        "extended_cidrs", "oversold_type",
                                        "driver",         "advanced_settings",
                                        "node_names",     "thirdparty_lib_dir",
                                        "code_source",    "code_branch",
                                        "code_commit"};
    static const char *const node[] = {"spec", "gpu_type", "shared_memory"};
    static const char *const alone[] = {"interactive", "enable_preemptible_job"};
    dlc_keep(r, "workspace_id", false);
    for (size_t i = 0; i < ARRAY_LEN(cloud); i++)
        dlc_keep(r, cloud[i], true);
    for (size_t i = 0; i < ARRAY_LEN(roles) * ARRAY_LEN(node); i++)
        dlc_keep(r,
                 arena_printf(r->a, "%s_%s", roles[i / ARRAY_LEN(node)].role,
                              node[i % ARRAY_LEN(node)]),
                 true);
    for (size_t i = 0; i < ARRAY_LEN(alone); i++)
        if (compat_flags_get(&r->f, rules, alone[i]))
            front_note(r->out, "--%s has no effect on this machine", alone[i]);
    dlc_keep(r, "aimaster_args", false);
    dlc_pass(r, "name", "name");
    dlc_pass(r, "priority", "priority");
    dlc_each(r, "data_sources", "data");
    dlc_each(r, "thirdparty_libs", "requirement");
    dlc_each(r, "envs", "env");
    dlc_each(r, "tags", "label");
    const char *policy = dlc_get(r, "success_policy");
    if (policy && strcmp(policy, "ChiefWorker") == 0)
        front_option(r->out, "success", "chief");
}

static enum rc dlc_submit(struct reading *r, const char *word, struct err *err)
{
    const char *type = word ? type_of(word) : NULL;
    if (!type)
        return err_coded(
            err, RC_INVAL, E3401,
            "submit: '%.60s' is not a kind of job; pytorchjob, tfjob, xgboostjob, "
            "mpijob",
            word ? word : "");
    enum rc rc = job_file(r, err);
    if (!rc && (!dlc_get(r, "name") || !dlc_get(r, "command")))
        rc = err_coded(err, RC_INVAL, E3401, "submit: --%s is needed",
                       dlc_get(r, "name") ? "command" : "name");
    if (rc)
        return rc;
    front_word(r->out, "job");
    front_word(r->out, "submit");
    front_option(r->out, "format", "dlc");
    front_option(r->out, "job-type", type);
    rc = dlc_counts(r, err);
    if (!rc)
        rc = time_limit(r, err);
    if (!rc)
        rc = fault_tolerance(r, err);
    if (!rc)
        rc = data_uris(r, err);
    if (rc)
        return rc;
    dlc_images(r);
    pass_all(r);
    front_word(r->out, "--");
    front_word(r->out, dlc_get(r, "command"));
    return RC_OK;
}

static void dlc_list(struct reading *r)
{
    front_word(r->out, "job");
    front_word(r->out, "list");
    front_option(r->out, "format", "dlc");
    dlc_pass(r, "display_name", "name");
    dlc_pass(r, "name", "name");
    dlc_pass(r, "status", "state");
    dlc_pass(r, "page_size", "limit");
    const char *page = dlc_get(r, "page_num");
    if (page && strcmp(page, "1") != 0)
        front_note(r->out, "--page_num has no effect; `trainyard job list --before ID` "
                           "shows the next page");
}

static void with_id(struct reading *r, const char *verb, const char *id)
{
    front_word(r->out, "job");
    front_word(r->out, verb);
    if (strcmp(verb, "logs") != 0)
        front_option(r->out, "format", "dlc");
    front_word(r->out, id);
}

/* A pod is JOB-worker-N, JOB-master-0 and the like; what is behind the job. */
static const char *worker_in(const char *id, const char *pod)
{
    size_t n = strlen(id);
    return strncmp(pod, id, n) == 0 && pod[n] == '-' ? pod + n + 1 : pod;
}

static void dlc_pod(struct reading *r, const char *id, const char *pod)
{
    front_word(r->out, "job");
    front_word(r->out, "get");
    front_option(r->out, "format", "dlc");
    front_option(r->out, "pod", worker_in(id, pod));
    front_word(r->out, id);
}

static void dlc_quota(struct reading *r)
{
    front_word(r->out, "quota");
    front_word(r->out, "list");
    front_word(r->out, "--json");
    front_note(r->out,
               "quotas here are limits of users and projects, in words of our own");
}

/* dlc logs JOB [POD] */
static void dlc_logs(struct reading *r, const char *id, const char *pod)
{
    with_id(r, "logs", id);
    if (pod)
        front_option(r->out, "worker", worker_in(id, pod));
    bool times = dlc_get(r, "start_time") || dlc_get(r, "end_time");
    dlc_pass(r, "start_time", "since");
    dlc_pass(r, "end_time", "until");
    if (!times)
        dlc_pass(r, "max_events_num", "tail");
    else if (dlc_get(r, "max_events_num"))
        front_note(r->out,
                   "--max_events_num has no effect beside a time: all lines of that "
                   "time are shown");
}

static enum rc by_verb(struct reading *r, struct err *err)
{
    const char *w[4] = {NULL, NULL, NULL, NULL};
    for (size_t i = 0; i < r->f.unknown.n; i++) {
        if (r->f.unknown.at[i][0] == '-' || i >= ARRAY_LEN(w))
            return err_coded(err, RC_INVAL, E3401, "'%.100s' is not understood",
                             r->f.unknown.at[i]);
        w[i] = r->f.unknown.at[i];
    }
    const char *verb = w[0] ? w[0] : "help";
    bool job = w[1] && (strcmp(w[1], "job") == 0 || strcmp(w[1], "jobs") == 0);
    if (compat_flags_get(&r->f, rules, "help") || strcmp(verb, "help") == 0) {
        r->out->does = FRONT_NOTHING;
        r->out->text = help_text;
        return RC_OK;
    }
    if (strcmp(verb, "config") == 0) {
        r->out->does = FRONT_NOTHING;
        front_note(r->out, "jobs run on this machine: there is nothing to configure");
        return RC_OK;
    }
    if (strcmp(verb, "submit") == 0)
        return dlc_submit(r, w[1], err);
    if (strcmp(verb, "list") == 0 || (strcmp(verb, "get") == 0 && job && !w[2]))
        dlc_list(r);
    else if (strcmp(verb, "get") == 0 && job)
        with_id(r, "get", w[2]);
    else if (strcmp(verb, "get") == 0 && w[1] && strcmp(w[1], "pod") == 0 && w[2] && w[3])
        dlc_pod(r, w[2], w[3]);
    else if (strcmp(verb, "get") == 0 && w[1] && strcmp(w[1], "quota") == 0 && !w[2])
        dlc_quota(r);
    else if (strcmp(verb, "logs") == 0 && w[1])
        dlc_logs(r, w[1], w[2]);
    else if (strcmp(verb, "stop") == 0 && job && w[2])
        with_id(r, "stop", w[2]);
    else
        return err_coded(err, RC_INVAL, E3401, "'%.60s%s%.60s' is not understood", verb,
                         w[1] ? " " : "", w[1] ? w[1] : "");
    return RC_OK;
}

static enum rc dlc_translate(const struct front_args *in, struct front_call *out,
                             struct err *err)
{
    struct reading r = {.in = in, .out = out, .a = &out->arena};
    out->does = FRONT_COMMAND;
    enum rc rc = compat_flags_read(rules, in->argc, in->argv, false, &r.f, err);
    if (!rc)
        rc = by_verb(&r, err);
    compat_flags_release(&r.f);
    return rc;
}

const struct front front_dlc = {
    .name = "dlc",
    .title = "the DLC job client",
    .translate = dlc_translate,
};
