/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the training services, in NNI's words where it has any. One function per
 * service, found by the class of its message; what several have in common (GPUs,
 * sharing, storage) is checked once. A setting that the service leaves out is that of
 * the experiment.
 */
#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "text/nni/ecs.h"
#include "text/nni/nni_private.h"

#define DLC_CONCURRENCY 3 /* what the public DLC cluster runs at a time */

/* A setting of the service, else of the experiment. */
static const struct node *inherited(struct nni_checker *x, const struct msg *m,
                                    const char *name)
{
    const struct node *n = nni_get(m, name);
    return n ? n : nni_get(&x->e->base, name);
}

static int64_t gpu_number(struct nni_checker *x, const struct msg *m)
{
    const struct node *n = inherited(x, m, "trialGpuNumber");
    int64_t v = 0;
    return n && node_i64(n, &v) ? v : 0;
}

static const char *class_of(const struct msg *m)
{
    return m->def->name;
}

static void check_indices(struct nni_checker *x, const struct msg *m)
{
    const struct node *list = nni_get(m, "gpuIndices");
    struct buf shown;
    bool twice = false, negative = false;
    if (!list)
        return;
    buf_init(&shown, 4096);
    for (size_t i = 0; i < list->list.n; i++) {
        int64_t v = 0, w = 0;
        bool read = node_i64(list->list.at[i], &v);
        negative |= read && v < 0;
        for (size_t k = 0; k < i && k < 1024; k++)
            twice |= node_i64(list->list.at[k], &w) && w == v;
        buf_printf(&shown, "%s%jd", i ? ", " : "", (intmax_t)v);
    }
    if (twice)
        schema_report(x->d, DIAG_ERROR, E0417, m, "gpuIndices",
                      "Duplication detected in GPU indices [%s]", buf_str(&shown));
    if (negative)
        schema_report(x->d, DIAG_ERROR, E0417, m, "gpuIndices",
                      "Negative detected in GPU indices [%s]", buf_str(&shown));
    buf_release(&shown);
}

/* `m` holds maxTrialNumberPerGpu, `owner` is the class that NNI's message names. */
static void check_sharing(struct nni_checker *x, const struct msg *m, const char *owner,
                          int64_t gpus)
{
    int64_t share = 1;
    nni_at_least(x, m, "maxTrialNumberPerGpu", 1);
    if (nni_int(m, "maxTrialNumberPerGpu", &share) && share > 1 && gpus == 0)
        schema_report(x->d, DIAG_ERROR, E0416, m, "maxTrialNumberPerGpu",
                      "%s: max_trial_number_per_gpu does not work without "
                      "trial_gpu_number",
                      owner);
}

static void check_local(struct nni_checker *x, const struct msg *m)
{
    int64_t gpus = gpu_number(x, m);
    if (gpus > 0 && !nni_get(m, "useActiveGpu"))
        schema_report(x->d, DIAG_ERROR, E0416, m, NULL,
                      "LocalConfig: please set use_active_gpu to True if your system has "
                      "GUI, or set it to False if the computer runs multiple experiments "
                      "concurrently.");
    check_sharing(x, m, class_of(m), gpus);
    check_indices(x, m);
}

static void check_key_file(struct nni_checker *x, const struct nni_RemoteMachineConfig *r)
{
    const char *key = r->sshKeyFile;
    if (r->has_password) {
        schema_report(
            x->d, DIAG_WARNING, E0419, &r->base, "password",
            "SSH password will be exposed in web UI as plain text. We recommend "
            "to use SSH key file.");
        return;
    }
    if (nni_is_placeholder(str_c(key)) || fs_exists(nni_path(x->c, key)))
        return;
    /* A key below the home directory may be there on the machine that runs it. */
    schema_report(x->d, key[0] == '~' ? DIAG_WARNING : DIAG_ERROR, E0419, &r->base,
                  "sshKeyFile",
                  "RemoteMachineConfig: You must either provide password or a valid SSH "
                  "key file \"%s\"",
                  key);
}

static void check_remote(struct nni_checker *x, const struct msg *m)
{
    static const char *const needs[] = {"host", "user", NULL};
    const struct nni_RemoteConfig *r = (const void *)m;
    int64_t gpus = gpu_number(x, m);
    if (r->n_machineList == 0)
        schema_report(x->d, DIAG_ERROR, E0419, m, "machineList",
                      "RemoteConfig: must provide at least one machine in machine_list");
    for (int64_t i = 0; i < r->n_machineList; i++) {
        const struct nni_RemoteMachineConfig *machine = r->machineList[i];
        nni_need(x, &machine->base, needs);
        if (machine->port <= 0 || machine->port >= 65536)
            schema_report(
                x->d, DIAG_ERROR, E0412, &machine->base, "port",
                "RemoteMachineConfig: port must be between 1 and 65535, not %jd",
                (intmax_t)machine->port);
        check_sharing(x, &machine->base, "RemoteConfig", gpus);
        check_indices(x, &machine->base);
        check_key_file(x, machine);
    }
}

static void check_openpai(struct nni_checker *x, const struct msg *m)
{
    static const char *const needs[] = {"host",
                                        "username",
                                        "token",
                                        "trialCpuNumber",
                                        "trialMemorySize",
                                        "storageConfigName",
                                        "localStorageMountPoint",
                                        "containerStorageMountPoint",
                                        NULL};
    nni_need(x, m, needs);
    nni_at_least(x, m, "trialCpuNumber", 1);
    if (!inherited(x, m, "trialGpuNumber"))
        schema_report(x->d, DIAG_ERROR, E0416, m, NULL,
                      "OpenpaiConfig: trial_gpu_number is not set");
    nni_need_dir(x, m, "localStorageMountPoint");
    if (nni_get(m, "openpaiConfig") && nni_get(m, "openpaiConfigFile"))
        schema_report(x->d, DIAG_ERROR, E0426, m, "openpaiConfigFile",
                      "openpai_config and openpai_config_file can only be set one");
    const struct node *file = nni_get(m, "openpaiConfigFile");
    if (file && !fs_exists(nni_path(x->c, file->text.p)))
        schema_report(x->d, DIAG_ERROR, E0418, m, "openpaiConfigFile",
                      "OpenpaiConfig: openpai_config_file \"%s\" is not a file",
                      file->text.p);
}

static void check_aml(struct nni_checker *x, const struct msg *m)
{
    static const char *const needs[] = {"subscriptionId", "resourceGroup",
                                        "workspaceName", "computeTarget", NULL};
    nni_need(x, m, needs);
    check_sharing(x, m, class_of(m), gpu_number(x, m));
}

static void check_dlc(struct nni_checker *x, const struct msg *m)
{
    static const char *const needs[] = {
        "image",       "podCount",        "ecsSpec",         "region",
        "accessKeyId", "accessKeySecret", "nasDataSourceId", NULL};
    const struct nni_DlcConfig *dlc = (const void *)m;
    struct nni_ecs_spec spec;
    struct err why = {0};
    nni_need(x, m, needs);
    nni_at_least(x, m, "podCount", 1);
    if (dlc->has_ecsSpec && !nni_is_placeholder(str_c(dlc->ecsSpec)) &&
        nni_ecs_parse(str_c(dlc->ecsSpec), &x->c->arena, &spec, &why)) {
        struct diag *g = schema_report(x->d, DIAG_ERROR, E0420, m, "ecsSpec",
                                       "DlcConfig: ecs_spec: %s", why.msg);
        diag_hint(x->d, g,
                  "write ecs.c6.large or \"{'resource_id':'rg..','cpu':2,'memory':8,"
                  "'gpu':0}\"");
    }
    if (x->e->trialConcurrency > DLC_CONCURRENCY)
        schema_report(x->d, DIAG_WARNING, E0423, &x->e->base, "trialConcurrency",
                      "DLC's public cluster runs at most %d trials at a time",
                      DLC_CONCURRENCY);
}

static void forbid(struct nni_checker *x, const struct msg *m, const char *type,
                   const char *const *names)
{
    for (; *names; names++)
        if (nni_get(m, *names))
            schema_report(x->d, DIAG_ERROR, E0421, m, *names,
                          "K8sStorageConfig: %s does not belong to storage_type \"%s\"",
                          nni_snake(*names, &x->c->arena), type);
}

static void check_k8s_storage(struct nni_checker *x, const struct msg *owner,
                              const struct nni_K8sStorageConfig *s)
{
    static const char *const type[] = {"storageType", NULL};
    static const char *const nfs[] = {"server", "path", NULL};
    static const char *const azure[] = {"azureAccount", "azureShare", "keyVaultName",
                                        "keyVaultKey", NULL};
    if (!s) {
        schema_report(x->d, DIAG_ERROR, E0406, owner, NULL, "%s: storage is not set",
                      class_of(owner));
        return;
    }
    nni_need(x, &s->base, type);
    if (!s->has_storageType)
        return;
    bool is_nfs = strcmp(s->storageType, "nfs") == 0;
    if (!is_nfs && strcmp(s->storageType, "azureStorage") != 0) {
        schema_report(
            x->d, DIAG_ERROR, E0421, &s->base, "storageType",
            "Kubernetes storage_type (\"%s\") must either be \"azureStorage\" or "
            "\"nfs\"",
            s->storageType);
        return;
    }
    nni_need(x, &s->base, is_nfs ? nfs : azure);
    forbid(x, &s->base, s->storageType, is_nfs ? azure : nfs);
}

static void check_role(struct nni_checker *x, const struct nni_KubeflowRoleConfig *r)
{
    static const char *const needs[] = {"replicas", "command", "cpuNumber", "memorySize",
                                        NULL};
    if (!r)
        return;
    nni_need(x, &r->base, needs);
    nni_at_least(x, &r->base, "replicas", 1);
    nni_at_least(x, &r->base, "cpuNumber", 1);
    nni_at_least(x, &r->base, "gpuNumber", 0);
}

static void check_kubeflow(struct nni_checker *x, const struct msg *m)
{
    static const char *const needs[] = {"operator", "apiVersion", NULL};
    const struct nni_KubeflowConfig *k = (const void *)m;
    nni_need(x, m, needs);
    check_k8s_storage(x, m, k->storage);
    check_role(x, k->worker);
    check_role(x, k->ps);
    check_role(x, k->master);
    if (!k->has_operator)
        return;
    bool tf = strcmp(k->operator, "tf-operator") == 0;
    const char *main_role = tf ? "worker" : "master";
    const char *other = tf ? "master" : "ps";
    if (!nni_get(m, main_role))
        schema_report(x->d, DIAG_ERROR, E0421, m, "operator",
                      "KubeflowConfig: %s needs the role '%s'", k->operator, main_role);
    if (nni_get(m, other))
        schema_report(x->d, DIAG_WARNING, E0421, m, other,
                      "KubeflowConfig: %s has no role '%s'; it is ignored", k->operator,
                      other);
}

static void check_framework(struct nni_checker *x, const struct msg *m)
{
    static const char *const needs[] = {"name",
                                        "taskNumber",
                                        "command",
                                        "gpuNumber",
                                        "cpuNumber",
                                        "memorySize",
                                        "frameworkAttemptCompletionPolicy",
                                        NULL};
    static const char *const policy[] = {"minFailedTaskCount", "minSucceedTaskCount",
                                         NULL};
    const struct nni_FrameworkControllerConfig *f = (const void *)m;
    check_k8s_storage(x, m, f->storage);
    if (f->n_taskRoles == 0)
        schema_report(x->d, DIAG_ERROR, E0406, m, "taskRoles",
                      "FrameworkControllerConfig: task_roles is not set");
    for (int64_t i = 0; i < f->n_taskRoles; i++) {
        const struct nni_FrameworkControllerRoleConfig *r = f->taskRoles[i];
        nni_need(x, &r->base, needs);
        nni_at_least(x, &r->base, "taskNumber", 1);
        nni_at_least(x, &r->base, "cpuNumber", 1);
        nni_at_least(x, &r->base, "gpuNumber", 0);
        if (r->frameworkAttemptCompletionPolicy)
            nni_need(x, &r->frameworkAttemptCompletionPolicy->base, policy);
    }
}

static void check_trainyard(struct nni_checker *x, const struct msg *m)
{
    const struct nni_TrainyardConfig *t = (const void *)m;
    nni_at_least(x, m, "nodeNumber", 1);
    nni_at_least(x, m, "cpuNumber", 1);
    check_sharing(x, m, class_of(m), gpu_number(x, m));
    check_indices(x, m);
    if (!t->has_image && jobspec_backend_runs_images(t->backend))
        schema_report(x->d, DIAG_ERROR, E0406, m, "backend",
                      "TrainyardConfig: image is not set, and the backend '%s' needs one",
                      t->backend);
}

static const struct service {
    const struct msg_def *def;
    void (*check)(struct nni_checker *x, const struct msg *m);
    bool own_commands; /* its roles have commands of their own */
    bool reuses;       /* always in reuse mode */
} services[] = {
    {&nni_LocalConfig_def, check_local, false, false},
    {&nni_RemoteConfig_def, check_remote, false, false},
    {&nni_OpenpaiConfig_def, check_openpai, false, false},
    {&nni_AmlConfig_def, check_aml, false, true},
    {&nni_DlcConfig_def, check_dlc, false, true},
    {&nni_KubeflowConfig_def, check_kubeflow, true, false},
    {&nni_FrameworkControllerConfig_def, check_framework, true, false},
    {&nni_TrainyardConfig_def, check_trainyard, false, true},
};

static const struct service *service_of(const struct msg *m)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        if (services[i].def == m->def)
            return &services[i];
    return NULL;
}

static void check_reuse(struct nni_checker *x, const struct msg *m)
{
    const struct node *reuse = nni_get(m, "reuseMode");
    if (x->e->n_trainingService > 1 && reuse && reuse->kind == NODE_BOOL && !reuse->flag)
        schema_report(x->d, DIAG_WARNING, E0423, m, "reuseMode",
                      "%s: reuse_mode is always on when several training services are "
                      "mixed",
                      class_of(m));
}

/* Storage is shared by environments that are kept between trials. */
static void check_shared(struct nni_checker *x)
{
    static const char *const needs[] = {"storageType", "localMountPoint",
                                        "remoteMountPoint", "localMounted", NULL};
    static const char *const nfs[] = {"nfsServer", "exportedDirectory", NULL};
    static const char *const azure[] = {"storageAccountName", "containerName", NULL};
    const struct nni_SharedStorageConfig *s = x->e->sharedStorage;
    if (!s)
        return;
    nni_need(x, &s->base, needs);
    bool is_nfs = strcmp(s->storageType, "NFS") == 0;
    if (s->has_storageType)
        nni_need(x, &s->base, is_nfs ? nfs : azure);
    const char *const *other = is_nfs ? azure : nfs;
    for (; s->has_storageType && *other; other++)
        if (nni_get(&s->base, *other))
            schema_report(
                x->d, DIAG_ERROR, E0422, &s->base, *other,
                "SharedStorageConfig: %s does not belong to storage_type \"%s\"",
                nni_snake(*other, &x->c->arena), s->storageType);
    const struct msg *only =
        x->e->n_trainingService == 1 ? x->e->trainingService[0] : NULL;
    if (!only || service_of(only)->reuses)
        return;
    const struct field_def *f = schema_field(only->def, "reuseMode");
    const struct node *reuse = nni_get(only, "reuseMode");
    if (f && !(reuse ? reuse->flag : strcmp(f->init, "true") == 0))
        schema_report(
            x->d, DIAG_WARNING, E0422, &s->base, NULL,
            "SharedStorageConfig: only services in reuse mode share storage, and "
            "%s has reuse_mode false",
            class_of(only));
}

void nni_check_services(struct nni_checker *x)
{
    if (!nni_get(&x->e->base, "trainingService"))
        schema_report(x->d, DIAG_ERROR, E0406, &x->e->base, NULL,
                      "ExperimentConfig: training_service is not set");
    else if (x->e->n_trainingService == 0)
        schema_report(x->d, DIAG_ERROR, E0423, &x->e->base, "trainingService",
                      "ExperimentConfig: training_service is an empty list");
    for (int64_t i = 0; i < x->e->n_trainingService; i++) {
        const struct msg *m = x->e->trainingService[i];
        const struct service *s = service_of(m);
        if (!inherited(x, m, "trialCommand") && !s->own_commands)
            schema_report(x->d, DIAG_ERROR, E0406, m, NULL,
                          "%s: trial_command is not set", class_of(m));
        nni_at_least(x, m, "trialGpuNumber", 0);
        nni_need_dir(x, m, "trialCodeDirectory");
        check_reuse(x, m);
        s->check(x, m);
    }
    check_shared(x);
}
