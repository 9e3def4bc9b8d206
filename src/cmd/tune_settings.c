/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of an NNI experiment file to those of the engine, and of jobs. struct
 * reading collects two things: settings of the experiment (exp_settings) and, as a tree
 * of fields with lists of values, what the job of every trial gets. The training service
 * may override command, code and GPUs; what this machine has no use for is told on
 * stderr, and what DLC was to get is kept in the job's `extra`. At the end a job is made
 * on trial, so that what cannot run is said before the first trial.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/tune_common.h"
#include "job/spec.h"
#include "text/nni/ecs.h"
#include "text/nni/load.h"
#include "text/nni/nni.h"
#include "text/nni/registered.h"

char *tune_absolute(const char *path, const char *base)
{
    const char *home = getenv("HOME");
    char *joined = path[0] == '~' && (path[1] == '/' || !path[1])
                       ? fs_join(home ? home : ".", path[1] ? path + 2 : "")
                       : fs_join(base, path);
    char *real = realpath(joined, NULL);
    char *out = mem_strdup(real ? real : joined);
    free(real);
    mem_free(joined);
    return out;
}

/* The file being read, and what the job of a trial is to get. */
struct reading {
    const struct nni_ExperimentConfig *x;
    const char *base;
    struct exp_settings *s;
    struct arena *a;
    struct node *job;
};

static bool tune_settings_given(const char *text)
{
    return text && *text;
}

static int64_t seconds_of(const char *text)
{
    int64_t s = 0;
    if (text && !nni_duration(str_c(text), &s) && !str_to_i64(str_c(text), &s))
        s = 0;
    return s;
}

/* One more value for a field of the job. */
static void job_add(struct reading *r, const char *field, const char *value)
{
    struct span nowhere = {0};
    struct node *list = node_find(r->job, field);
    if (!list) {
        list = node_create(r->a, NODE_LIST, nowhere);
        node_put(r->a, r->job, field, list);
    }
    node_push(r->a, list, node_str(r->a, value, strlen(value), nowhere));
}

static void job_pair(struct reading *r, const char *field, const char *name,
                     const char *value)
{
    job_add(r, field, arena_printf(r->a, "%s=%s", name, value));
}

static void job_record(struct reading *r, const char *name, const char *value)
{
    if (tune_settings_given(value))
        job_pair(r, "extra", name, value);
}

static const char *path_of(struct reading *r, const char *path)
{
    char *p = tune_absolute(path, r->base);
    const char *out = arena_strdup(r->a, p);
    mem_free(p);
    return out;
}

static void read_objectives(struct reading *r)
{
    struct tune_objectives *o = &r->s->objectives;
    for (int64_t i = 0; i < r->x->n_objectives; i++)
        o->at[o->n++] = (struct tune_objective){
            .metric = r->x->objectives[i]->metric,
            .maximize = strcmp(r->x->objectives[i]->optimizeMode, "maximize") == 0};
    for (int64_t i = 0; i < r->x->n_constraints; i++) {
        const struct nni_Constraint *k = r->x->constraints[i];
        o->bounds[o->n_bounds++] =
            (struct tune_constraint){.metric = k->metric,
                                     .least = k->has_atLeast ? k->atLeast : -INFINITY,
                                     .most = k->has_atMost ? k->atMost : INFINITY};
    }
}

/* A built-in name, or a class: the file's own or one that was registered. */
static void read_algorithm(struct reading *r, const struct nni_Algorithm *x,
                           enum nni_role role, const char **name, const char **class_name,
                           const char **dir)
{
    struct nni_registered own;
    *name = tune_settings_given(x->name) ? x->name : NULL;
    if (!*name) {
        *class_name = x->className;
        *dir = path_of(r, tune_settings_given(x->codeDirectory) ? x->codeDirectory : ".");
    } else if (!nni_algo_find(role, *name) &&
               nni_registered_get(role, *name, r->a, &own)) {
        *name = NULL;
        *class_name = own.class_name;
        *dir = own.dir;
    }
}

static void read_algorithms(struct reading *r)
{
    const struct nni_Algorithm *t = r->x->tuner ? r->x->tuner : r->x->advisor;
    const struct nni_Algorithm *a = r->x->assessor;
    struct exp_settings *s = r->s;
    read_algorithm(r, t, NNI_TUNER, &s->tuner, &s->tuner_class, &s->tuner_dir);
    s->tuner_args = t->classArgs;
    if (!a)
        return;
    read_algorithm(r, a, NNI_ASSESSOR, &s->assessor, &s->assessor_class,
                   &s->assessor_dir);
    s->assessor_args = a->classArgs;
}

/* On this machine a path inside the container is one of the shared disk. */
static const char *paths_here(struct reading *r, const char *command, const char *inside,
                              const char *outside)
{
    const char *at = tune_settings_given(inside) ? strstr(command, inside) : NULL;
    struct buf b;
    if (!at || strcmp(inside, "/") == 0)
        return command;
    buf_init(&b, CMD_TEXT_MAX);
    for (; at; at = strstr(command, inside)) {
        buf_add(&b, command, (size_t)(at - command));
        buf_puts(&b, outside);
        command = at + strlen(inside);
    }
    buf_puts(&b, command);
    const char *out = arena_strdup(r->a, buf_str(&b));
    buf_release(&b);
    fprintf(stderr, "note: '%s' in trialCommand is '%s' on this machine\n", inside,
            outside);
    return out;
}

static void read_ecs(struct reading *r, const char *text, bool limits)
{
    struct nni_ecs_spec spec = {0};
    if (!tune_settings_given(text) || nni_ecs_parse(str_c(text), r->a, &spec, NULL))
        return;
    job_record(r, "ecsSpec", text);
    if (!spec.instance_type && limits) {
        job_add(r, "cpu", arena_printf(r->a, "%g", spec.cpu));
        job_add(r, "memory", arena_printf(r->a, "%gGi", spec.memory));
    }
    if (!spec.instance_type && spec.gpu > 0 && r->s->gpu < 0)
        r->s->gpu = (int64_t)spec.gpu;
}

static void read_dlc(struct reading *r, const struct nni_DlcConfig *d, bool container)
{
    job_add(r, "job_type", d->jobType);
    job_record(r, "type", d->type);
    job_record(r, "region", d->region);
    job_record(r, "workspaceId", d->workspaceId);
    job_record(r, "nasDataSourceId", d->nasDataSourceId);
    job_record(r, "ossDataSourceId", d->ossDataSourceId);
    read_ecs(r, d->ecsSpec, container);
    if (d->podCount > 1)
        fprintf(stderr, "note: podCount is %jd; a trial runs once, not in every pod\n",
                (intmax_t)d->podCount);
    if (container) {
        job_add(r, "image", d->image);
        fprintf(stderr,
                "note: trainingService is 'dlc'; trials run in containers of this "
                "machine\n");
        return;
    }
    job_record(r, "image", d->image);
    r->s->command = paths_here(r, r->s->command, d->containerStorageMountPoint,
                               d->localStorageMountPoint);
    fprintf(stderr,
            "note: trainingService is 'dlc'; trials run on this machine, without the "
            "image (--backend container uses it)\n");
}

static void read_trainyard(struct reading *r, const struct nni_TrainyardConfig *t)
{
    if (tune_settings_given(t->image))
        job_add(r, "image", t->image);
    if (tune_settings_given(t->queue))
        job_add(r, "queue", t->queue);
    if (t->nodeNumber > 1)
        job_add(r, "workers", arena_printf(r->a, "%jd", (intmax_t)t->nodeNumber));
    if (t->has_cpuNumber)
        job_add(r, "cpu", arena_printf(r->a, "%jd", (intmax_t)t->cpuNumber));
    int64_t megabytes;
    if (tune_settings_given(t->memorySize) && nni_size(str_c(t->memorySize), &megabytes))
        job_add(r, "memory", arena_printf(r->a, "%jdMi", (intmax_t)megabytes));
    for (int64_t i = 0; i < t->n_env; i++)
        job_pair(r, "env", t->env[i].key, t->env[i].value);
}

/* The first service of a list counts; others are named and left out. */
static void read_service(struct reading *r, const char *backend)
{
    const struct nni_ExperimentConfig *x = r->x;
    const struct msg *m = x->n_trainingService ? x->trainingService[0] : NULL;
    const struct nni_LocalConfig *shared = (const void *)m; /* SERVICE_FIELDS */
    if (!m)
        return;
    if (tune_settings_given(shared->trialCommand))
        r->s->command = shared->trialCommand;
    if (tune_settings_given(shared->trialCodeDirectory))
        r->s->code_dir = path_of(r, shared->trialCodeDirectory);
    if (shared->has_trialGpuNumber)
        r->s->gpu = shared->trialGpuNumber;
    for (int64_t i = 1; i < x->n_trainingService; i++)
        fprintf(stderr, "note: trainingService is a list; only its first one is used\n");
    const char *where = backend;
    if (m->def == &nni_TrainyardConfig_def && !where)
        where = ((const struct nni_TrainyardConfig *)m)->backend;
    if (m->def == &nni_DlcConfig_def)
        read_dlc(r, (const struct nni_DlcConfig *)m,
                 where && jobspec_backend_runs_images(where));
    else if (m->def == &nni_TrainyardConfig_def)
        read_trainyard(r, (const struct nni_TrainyardConfig *)m);
    else if (m->def != &nni_LocalConfig_def)
        fprintf(stderr, "note: trainingService is '%s'; trials run on this machine\n",
                shared->platform);
    if (where && strcmp(where, jobspec_backend_for(false)->name) != 0)
        job_add(r, "backend", where);
}

/* A job as a trial will have it, so that what cannot be is said now. */
static enum rc try_job(struct reading *r, struct err *err)
{
    VEC(struct job_spec_flag) flags = {0};
    struct job_spec spec = {0};
    struct diags diags = {0};
    for (size_t i = 0; i < r->job->map.n; i++)
        for (size_t k = 0; k < r->job->map.at[i].value->list.n; k++)
            VEC_PUSH(&flags, ((struct job_spec_flag){
                                 r->job->map.at[i].key.p,
                                 r->job->map.at[i].value->list.at[k]->text.p}));
    struct job_spec_flags all = {.at = flags.at,
                                 .n = flags.n,
                                 .command = (const char *const[]){"true"},
                                 .n_command = 1};
    struct err why = {0};
    enum rc rc = job_spec_load(NULL, &all, &spec, &diags, &why);
    if (rc)
        rc = err_coded(err, RC_UNSUPPORTED, E4010, "trials cannot be such jobs: %s",
                       diags.list.n ? diags.list.at[0].msg : why.msg);
    diags_release(&diags);
    job_spec_release(&spec);
    VEC_RELEASE(&flags);
    return rc;
}

enum rc tune_settings(struct conf *c, const char *base, const char *backend,
                      struct diags *diags, struct exp_settings *s, struct arena *a,
                      struct err *err)
{
    const struct nni_ExperimentConfig *x = c->data;
    struct reading r = {.x = x, .base = base, .s = s, .a = a};
    r.job = node_create(a, NODE_MAP, (struct span){0});
    s->code_dir = path_of(&r, x->trialCodeDirectory);
    s->name = x->experimentName ? x->experimentName : "";
    s->command = x->trialCommand;
    s->gpu = x->has_trialGpuNumber ? x->trialGpuNumber : -1;
    s->job = r.job;
    s->space = nni_space_tree(c, diags);
    s->created = clock_wall_ns() / 1000000;
    s->limits =
        (struct exp_limits){.concurrency = x->trialConcurrency,
                            .trials = x->has_maxTrialNumber ? x->maxTrialNumber : 0,
                            .seconds = seconds_of(x->maxExperimentDuration),
                            .trial_seconds = seconds_of(x->maxTrialDuration)};
    if (!s->space)
        return RC_FORMAT;
    for (int64_t i = 0; i < x->n_metrics; i++)
        job_pair(&r, "metric", x->metrics[i].key, x->metrics[i].value);
    for (int64_t i = 0; i < x->n_tags; i++)
        job_pair(&r, "label", x->tags[i], "tag");
    read_algorithms(&r);
    read_objectives(&r);
    const struct nni_LocalConfig *service =
        x->n_trainingService ? (const void *)x->trainingService[0] : NULL;
    if (!tune_settings_given(x->trialCommand) &&
        !(service && tune_settings_given(service->trialCommand)))
        return err_coded(err, RC_INVAL, E4010, "trialCommand is missing");
    read_service(&r, tune_settings_given(backend) ? backend : NULL);
    return try_job(&r, err);
}
