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

#define FILE_MAX (1 << 20)

static const struct flag_rule rules[] = {
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
    {.name = "worker_image"},
    {.name = "worker_spec"},
    {.name = "worker_cpu"},
    {.name = "worker_gpu"},
    {.name = "worker_memory"},
    {.name = "worker_shared_memory"},
    {.name = "worker_gpu_type"},
    {.name = "masters"},
    {.name = "master_image"},
    {.name = "master_spec"},
    {.name = "master_cpu"},
    {.name = "master_gpu"},
    {.name = "master_memory"},
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
    "dlc get job [ID] | dlc list jobs | dlc logs ID [POD] | dlc stop job ID [--force]\n"
    "The flags are those of DLC's client; see docs/jobs.md for what they mean here.\n";

struct reading {
    const struct front_args *in;
    struct flags f;
    struct front_call *out;
    struct arena *a;
};

static const char *get(const struct reading *r, const char *name)
{
    const char *v = flags_get(&r->f, rules, name);
    return v && *v ? v : NULL;
}

/* A flag that becomes one of ours. */
static void pass(struct reading *r, const char *theirs, const char *ours)
{
    const char *v = get(r, theirs);
    if (v)
        front_option(r->out, ours, v);
}

/* One that has no effect here: kept in the record. */
static void keep(struct reading *r, const char *name, bool say)
{
    const char *v = get(r, name);
    if (!v)
        return;
    front_option(r->out, "extra", arena_printf(r->a, "%s=%s", name, v));
    if (say)
        front_note(r->out, "--%s has no effect on this machine; it is kept in the record",
                   name);
}

/* Each part of a list with commas becomes a flag of ours. */
static void each(struct reading *r, const char *theirs, const char *ours)
{
    const char *v = get(r, theirs);
    struct str rest = str_c(v ? v : ""), part;
    while (rest.n && str_split(&rest, ',', &part))
        if (str_trim(part).n)
            front_option(r->out, ours,
                         arena_strndup(r->a, str_trim(part).p, str_trim(part).n));
}

/* URI::MOUNT, with commas between them. */
static enum rc data_uris(struct reading *r, struct err *err)
{
    const char *v = get(r, "data_source_uris");
    struct str rest = str_c(v ? v : ""), part;
    while (rest.n && str_split(&rest, ',', &part)) {
        char *one = arena_strndup(r->a, part.p, part.n), *sep = strstr(one, "::");
        if (!sep || one[0] != '/')
            return err_coded(err, RC_UNSUPPORTED, E3401,
                             "--data_source_uris: '%.200s' is no /path::/mount of this "
                             "machine; make a dataset of it",
                             one);
        *sep = '\0';
        front_option(r->out, "data", arena_printf(r->a, "%s:%s", one, sep + 2));
    }
    return RC_OK;
}

static enum rc number(struct reading *r, const char *name, int64_t none, int64_t *out,
                      struct err *err)
{
    const char *v = get(r, name);
    *out = none;
    if (v && (!str_to_i64(str_c(v), out) || *out < 0))
        return err_coded(err, RC_INVAL, E3401, "--%s: '%.60s' is no number", name, v);
    return RC_OK;
}

static enum rc counts(struct reading *r, struct err *err)
{
    int64_t workers, masters, minutes, seconds;
    enum rc rc = number(r, "workers", get(r, "masters") ? 0 : 1, &workers, err);
    if (!rc)
        rc = number(r, "masters", 0, &masters, err);
    if (!rc)
        rc = number(r, "job_max_running_time_minutes", 0, &minutes, err);
    if (!rc)
        rc = number(r, "running_timeout", 0, &seconds, err);
    if (rc)
        return rc;
    front_option(r->out, "workers",
                 arena_printf(r->a, "%jd", (intmax_t)(workers + masters)));
    if (minutes || seconds)
        front_option(
            r->out, "timeout",
            arena_printf(r->a, "%jds", (intmax_t)(seconds ? seconds : minutes * 60)));
    return RC_OK;
}

static void images(struct reading *r)
{
    const char *backend = r->in->env("TRAINYARD_DLC_BACKEND");
    const char *image = get(r, "worker_image");
    if (!image)
        image = get(r, "master_image");
    if (!image)
        return;
    if (backend && strcmp(backend, "container") == 0) {
        front_option(r->out, "image", image);
        return;
    }
    front_option(r->out, "extra", arena_printf(r->a, "worker_image=%s", image));
    front_note(r->out, "the image is not used: the job runs on this machine itself; "
                       "TRAINYARD_DLC_BACKEND=container runs it in the image");
}

/* Lines KEY=VALUE; they win over the flags of the command line. */
static enum rc job_file(struct reading *r, struct err *err)
{
    const char *path = get(r, "job_file");
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
            rc = err_coded(err, RC_INVAL, E3401, "%s: '%.*s' is no flag of dlc submit",
                           path, pair ? (int)key.n : (int)line.n, pair ? key.p : line.p);
        else
            r->f.value[i] = arena_strndup(r->a, str_trim(line).p, str_trim(line).n);
    }
    mem_free(text);
    return rc;
}

static const char *type_of(const char *word)
{
    static const char *const types[][2] = {
        {"pytorchjob", "PyTorchJob"},           {"tfjob", "TFJob"},
        {"xgboostjob", "XGBoostJob"},           {"mpijob", "MPIJob"},
        {"elasticbatchjob", "ElasticBatchJob"}, {"oneflowjob", "OneFlowJob"}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i][0], word) == 0)
            return types[i][1];
    return NULL;
}

static void pass_all(struct reading *r)
{
    static const char *const cloud[] = {"resource_id",
                                        "vpc_id",
                                        "switch_id",
                                        "security_group_id",
                                        "extended_cidrs",
                                        "oversold_type",
                                        "driver",
                                        "advanced_settings",
                                        "node_names",
                                        "worker_gpu_type",
                                        "worker_shared_memory",
                                        "thirdparty_lib_dir",
                                        "code_source",
                                        "code_branch",
                                        "code_commit",
                                        "worker_spec",
                                        "master_spec",
                                        "aimaster_args"};
    keep(r, "workspace_id", false);
    for (size_t i = 0; i < ARRAY_LEN(cloud); i++)
        keep(r, cloud[i], true);
    pass(r, "name", "name");
    pass(r, "priority", "priority");
    pass(r, "worker_cpu", "cpu");
    pass(r, "worker_gpu", "gpu");
    pass(r, "worker_memory", "memory");
    each(r, "data_sources", "data");
    each(r, "thirdparty_libs", "requirement");
    each(r, "envs", "env");
    each(r, "tags", "label");
    const char *policy = get(r, "success_policy");
    if (policy && strcmp(policy, "ChiefWorker") == 0)
        front_option(r->out, "success", "chief");
}

static enum rc submit(struct reading *r, const char *word, struct err *err)
{
    const char *type = word ? type_of(word) : NULL;
    if (!type)
        return err_coded(
            err, RC_INVAL, E3401,
            "submit: '%.60s' is no kind of job; pytorchjob, tfjob, xgboostjob, "
            "mpijob",
            word ? word : "");
    enum rc rc = job_file(r, err);
    if (!rc && (!get(r, "name") || !get(r, "command")))
        rc = err_coded(err, RC_INVAL, E3401, "submit: --%s is needed",
                       get(r, "name") ? "command" : "name");
    if (rc)
        return rc;
    front_word(r->out, "job");
    front_word(r->out, "submit");
    front_option(r->out, "format", "dlc");
    front_option(r->out, "job-type", type);
    rc = counts(r, err);
    if (!rc)
        rc = data_uris(r, err);
    if (rc)
        return rc;
    images(r);
    pass_all(r);
    front_word(r->out, "--");
    front_word(r->out, get(r, "command"));
    return RC_OK;
}

static void list(struct reading *r)
{
    front_word(r->out, "job");
    front_word(r->out, "list");
    front_option(r->out, "format", "dlc");
    pass(r, "display_name", "name");
    pass(r, "name", "name");
    pass(r, "status", "state");
    pass(r, "page_size", "limit");
}

static void with_id(struct reading *r, const char *verb, const char *id)
{
    front_word(r->out, "job");
    front_word(r->out, verb);
    if (strcmp(verb, "logs") != 0)
        front_option(r->out, "format", "dlc");
    front_word(r->out, id);
}

/* dlc logs JOB [POD]: a pod is JOB-worker-N or JOB-master-0. */
static void logs(struct reading *r, const char *id, const char *pod)
{
    const char *dash = pod ? strrchr(pod, '-') : NULL;
    with_id(r, "logs", id);
    if (dash)
        front_option(r->out, "worker", dash + 1);
    pass(r, "max_events_num", "tail");
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
    if (flags_get(&r->f, rules, "help") || strcmp(verb, "help") == 0) {
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
        return submit(r, w[1], err);
    if (strcmp(verb, "list") == 0 || (strcmp(verb, "get") == 0 && job && !w[2]))
        list(r);
    else if (strcmp(verb, "get") == 0 && job)
        with_id(r, "get", w[2]);
    else if (strcmp(verb, "logs") == 0 && w[1])
        logs(r, w[1], w[2]);
    else if (strcmp(verb, "stop") == 0 && job && w[2])
        with_id(r, "stop", w[2]);
    else
        return err_coded(err, RC_INVAL, E3401, "'%.60s%s%.60s' is not understood", verb,
                         w[1] ? " " : "", w[1] ? w[1] : "");
    return RC_OK;
}

static enum rc translate(const struct front_args *in, struct front_call *out,
                         struct err *err)
{
    struct reading r = {.in = in, .out = out, .a = &out->arena};
    out->does = FRONT_COMMAND;
    enum rc rc = flags_read(rules, in->argc, in->argv, false, &r.f, err);
    if (!rc)
        rc = by_verb(&r, err);
    flags_release(&r.f);
    return rc;
}

const struct front front_dlc = {
    .name = "dlc",
    .title = "the DLC job client",
    .translate = translate,
};
