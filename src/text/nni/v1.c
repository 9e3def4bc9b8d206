/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the first generation become files of the second: a new tree is built from the
 * old one's nodes, which keep their positions, so that everything said later points into
 * the file as the user wrote it. Each section is a table of old and new names. What is
 * left over at the end has no meaning in either form.
 */
#include <ctype.h>
#include <string.h>

#include "text/nni/nni_private.h"

#define V1_COUNT_MAX 99999

struct convert {
    struct conf *c;
    struct arena *a;
    struct diags *d;
    struct node *v1, *v2;
    const char *platform;
    struct span at; /* trainingServicePlatform */
};

struct move {
    const char *from, *to; /* to NULL: dropped with a warning */
};

static const struct move top_moves[] = {
    {"authorName", NULL},
    {"description", NULL},
    {"multiThread", NULL},
    {"versionCheck", NULL},
    {"logCollection", NULL},
    {"experimentName", "experimentName"},
    {"trialConcurrency", "trialConcurrency"},
    {"nniManagerIp", "nniManagerIp"},
    {"debug", "debug"},
    {"logLevel", "logLevel"},
    {"useAnnotation", "useAnnotation"},
    {"maxExecDuration", "maxExperimentDuration"},
    {"maxTrialDuration", "maxTrialDuration"},
    {"maxTrialNum", "maxTrialNumber"},
    {"searchSpacePath", "searchSpaceFile"},
    {"logDir", "experimentWorkingDirectory"},
    {0},
};
static const struct move trial_moves[] = {
    {"command", "trialCommand"},
    {"codeDir", "trialCodeDirectory"},
    {"gpuNum", "trialGpuNumber"},
    {"nasMode", NULL},
    {0},
};
static const struct move local_moves[] = {
    {"gpuIndices", "gpuIndices"},
    {"maxTrialNumPerGpu", "maxTrialNumberPerGpu"},
    {"useActiveGpu", "useActiveGpu"},
    {0},
};
static const struct move remote_moves[] = {{"reuse", "reuseMode"}, {0}};
static const struct move machine_moves[] = {
    {"ip", "host"},
    {"port", "port"},
    {"username", "user"},
    {"passwd", "password"},
    {"sshKeyPath", "sshKeyFile"},
    {"passphrase", "sshPassphrase"},
    {"gpuIndices", "gpuIndices"},
    {"maxTrialNumPerGpu", "maxTrialNumberPerGpu"},
    {"useActiveGpu", "useActiveGpu"},
    {"pythonPath", "pythonPath"},
    {0},
};
static const struct move pai_trial_moves[] = {
    {"nniManagerNFSMountPath", "localStorageMountPoint"},
    {"containerNFSMountPath", "containerStorageMountPoint"},
    {"cpuNum", "trialCpuNumber"},
    {"memoryMB", "trialMemorySize"},
    {"image", "dockerImage"},
    {"virtualCluster", "virtualCluster"},
    {"paiStorageConfigName", "storageConfigName"},
    {"paiConfigPath", "openpaiConfigFile"},
    {0},
};
static const struct move pai_moves[] = {
    {"userName", "username"},
    {"token", "token"},
    {"host", "host"},
    {"reuse", "reuseMode"},
    {"gpuNum", "trialGpuNumber"},
    {"cpuNum", "trialCpuNumber"},
    {"memoryMB", "trialMemorySize"},
    {"password", NULL},
    {"maxTrialNumPerGpu", NULL},
    {"useActiveGpu", NULL},
    {0},
};
static const struct move aml_trial_moves[] = {{"image", "dockerImage"}, {0}};
static const struct move aml_moves[] = {
    {"subscriptionId", "subscriptionId"},
    {"resourceGroup", "resourceGroup"},
    {"workspaceName", "workspaceName"},
    {"computeTarget", "computeTarget"},
    {"maxTrialNumPerGpu", "maxTrialNumberPerGpu"},
    {"useActiveGpu", NULL},
    {0},
};
static const struct move k8s_moves[] = {
    {"operator", "operator"},
    {"apiVersion", "apiVersion"},
    {"serviceAccountName", "serviceAccountName"},
    {"namespace", "namespace"},
    {"reuse", "reuseMode"},
    {"uploadRetryCount", NULL},
    {0},
};
static const struct move nfs_moves[] = {{"server", "server"}, {"path", "path"}, {0}};
static const struct move vault_moves[] = {
    {"vaultName", "keyVaultName"}, {"name", "keyVaultKey"}, {0}};
static const struct move azure_moves[] = {
    {"accountName", "azureAccount"}, {"azureShare", "azureShare"}, {0}};
static const struct move role_moves[] = {
    {"name", "name"},
    {"replicas", "replicas"},
    {"taskNum", "taskNumber"},
    {"command", "command"},
    {"gpuNum", "gpuNumber"},
    {"cpuNum", "cpuNumber"},
    {"memoryMB", "memorySize"},
    {"image", "dockerImage"},
    {"privateRegistryAuthPath", NULL},
    {0},
};
static const struct move policy_moves[] = {
    {"minFailedTaskCount", "minFailedTaskCount"},
    {"minSucceededTaskCount", "minSucceedTaskCount"},
    {0},
};

static void remove_entry(struct node *map, struct node_entry *e)
{
    size_t i = (size_t)(e - map->map.at);
    memmove(e, e + 1, (map->map.n - i - 1) * sizeof(*e));
    map->map.n--;
}

/* Takes an entry out of `from`; null counts as absent. */
static bool nni_v1_take(struct node *from, const char *name, struct node_entry *out)
{
    struct node_entry *e = nni_find(from, name);
    if (!e)
        return false;
    *out = *e;
    remove_entry(from, e);
    return out->value->kind != NODE_NULL;
}

/* Takes a section (a map) out of `from`; an empty one when it is not there. */
static struct node *take_map(struct convert *x, struct node *from, const char *name)
{
    struct node_entry e;
    if (!nni_v1_take(from, name, &e))
        return node_create(x->a, NODE_MAP, x->at);
    if (e.value->kind == NODE_MAP)
        return e.value;
    diag_add(x->d, DIAG_ERROR, E0405, e.value->at,
             "'%s' of a legacy file takes a mapping", name);
    return node_create(x->a, NODE_MAP, x->at);
}

static void nni_v1_put(struct convert *x, struct node *to, const char *name,
                       struct span key_at, struct node *value)
{
    node_add(x->a, to, str_c(name), key_at, value);
}

static void move_all(struct convert *x, struct node *from, struct node *to,
                     const struct move *moves)
{
    for (; moves->from; moves++) {
        struct node_entry e;
        if (!nni_v1_take(from, moves->from, &e))
            continue;
        if (moves->to)
            nni_v1_put(x, to, moves->to, e.key_at, e.value);
        else
            diag_add(x->d, DIAG_WARNING, E0404, e.key_at,
                     "Config field \"%s\" is no longer supported and has been ignored",
                     moves->from);
    }
}

/* What no table took. */
static void report_rest(struct convert *x, const struct node *map, const char *where)
{
    for (size_t i = 0; i < map->map.n; i++) {
        const struct node_entry *e = &map->map.at[i];
        struct diag *g =
            diag_add(x->d, DIAG_ERROR, E0405, e->key_at,
                     "Config not fully converted: '%.*s' is not a field of %s",
                     (int)e->key.n, e->key.p, where);
        diag_hint(x->d, g, "platform %s of a legacy file does not have it", x->platform);
    }
}

static void check_count(struct convert *x, const char *name)
{
    const struct node_entry *e = nni_find(x->v1, name);
    int64_t v;
    if (e && node_i64(e->value, &v) && (v < 1 || v > V1_COUNT_MAX))
        diag_add(x->d, DIAG_ERROR, E0412, e->value->at,
                 "%s should be in range of (1, %d)!", name, V1_COUNT_MAX);
}

/* ^[1-9][0-9]*[smhd]$ */
static void check_time(struct convert *x, const char *name)
{
    const struct node_entry *e = nni_find(x->v1, name);
    if (!e || !node_is_scalar(e->value) || e->value->kind == NODE_NULL)
        return;
    struct str s = e->value->text;
    bool ok = s.n >= 2 && s.p[0] >= '1' && s.p[0] <= '9' && strchr("smhd", s.p[s.n - 1]);
    for (size_t i = 1; ok && i + 1 < s.n; i++)
        ok = isdigit((unsigned char)s.p[i]) != 0;
    if (ok)
        return;
    struct diag *g =
        diag_add(x->d, DIAG_ERROR, E0405, e->value->at,
                 "%s format is [digit]{s,m,h,d}, not '%.*s'", name, (int)s.n, s.p);
    diag_hint(x->d, g, "whole numbers only, such as 90m");
    e->value->kind = NODE_NULL; /* said once is enough */
}

static void convert_top(struct convert *x)
{
    struct node_entry e;
    check_count(x, "trialConcurrency");
    check_count(x, "maxTrialNum");
    check_time(x, "maxExecDuration");
    check_time(x, "maxTrialDuration");
    if (nni_v1_take(x->v1, "multiPhase", &e) &&
        !(e.value->kind == NODE_BOOL && !e.value->flag))
        diag_add(x->d, DIAG_ERROR, E0405, e.value->at,
                 "Multi-phase is no longer supported");
    move_all(x, x->v1, x->v2, top_moves);
    if (nni_v1_take(x->v1, "sharedStorage", &e))
        nni_v1_put(x, x->v2, "sharedStorage", e.key_at, e.value);
}

/* codeDir, classFileName x.py and className C: codeDirectory and className x.C */
static void convert_class(struct convert *x, struct node *from, struct node *to)
{
    struct node_entry file, name, dir;
    bool has_name = nni_v1_take(from, "className", &name);
    if (nni_v1_take(from, "codeDir", &dir))
        nni_v1_put(x, to, "codeDirectory", dir.key_at, dir.value);
    if (!nni_v1_take(from, "classFileName", &file)) {
        if (has_name)
            nni_v1_put(x, to, "className", name.key_at, name.value);
        return;
    }
    struct str s = file.value->kind == NODE_STR ? file.value->text : str_of("", 0);
    if (s.n < 4 || memcmp(s.p + s.n - 3, ".py", 3) != 0) {
        diag_add(x->d, DIAG_ERROR, E0405, file.value->at,
                 "classFileName takes the name of a .py file");
    } else if (!has_name || name.value->kind != NODE_STR) {
        diag_add(x->d, DIAG_ERROR, E0409, file.key_at,
                 "classFileName is set, but className is not");
    } else {
        const char *whole =
            arena_printf(x->a, "%.*s.%s", (int)(s.n - 3), s.p, name.value->text.p);
        nni_v1_put(x, to, "className", name.key_at,
                   node_str(x->a, whole, strlen(whole), name.value->at));
    }
}

static void convert_algorithm(struct convert *x, const char *role, const char *builtin)
{
    static const struct move dropped[] = {{"includeIntermediateResults", NULL}, {0}};
    static const struct move args[] = {{"classArgs", "classArgs"}, {0}};
    static const struct move gpus[] = {{"gpuIndices", "tunerGpuIndices"}, {0}};
    struct node_entry e, name;
    if (!nni_v1_take(x->v1, role, &e))
        return;
    if (e.value->kind != NODE_MAP) {
        nni_v1_put(x, x->v2, role, e.key_at, e.value);
        return;
    }
    struct node *from = e.value, *to = node_create(x->a, NODE_MAP, from->at);
    if (nni_v1_take(from, builtin, &name))
        nni_v1_put(x, to, "name", name.key_at, name.value);
    convert_class(x, from, to);
    move_all(x, from, to, args);
    move_all(x, from, x->v2, gpus);
    move_all(x, from, to, dropped);
    report_rest(x, from, role);
    nni_v1_put(x, x->v2, role, e.key_at, to);
}

static void convert_machines(struct convert *x, struct node *service)
{
    struct node_entry e;
    if (!nni_v1_take(x->v1, "machineList", &e))
        return;
    struct node *list = node_create(x->a, NODE_LIST, e.value->at);
    for (size_t i = 0; e.value->kind == NODE_LIST && i < e.value->list.n; i++) {
        struct node *from = e.value->list.at[i];
        if (from->kind == NODE_MAP) {
            struct node *to = node_create(x->a, NODE_MAP, from->at);
            move_all(x, from, to, machine_moves);
            report_rest(x, from, "machineList");
            from = to;
        }
        node_push(x->a, list, from);
    }
    nni_v1_put(x, service, "machineList", e.key_at, list);
}

static void convert_storage(struct convert *x, struct node *config, struct node *service)
{
    struct node_entry e = {0};
    bool named = nni_v1_take(config, "storage", &e);
    bool nfs = named ? str_is(e.value->text, "nfs") : nni_find(config, "nfs") != NULL;
    struct span at = named ? e.value->at : x->at;
    if (named && !nfs && !str_is(e.value->text, "azureStorage")) {
        diag_add(x->d, DIAG_ERROR, E0421, e.value->at,
                 "Kubernetes storage_type (\"%s\") must either be \"azureStorage\" or "
                 "\"nfs\"",
                 e.value->text.p);
        return;
    }
    const char *word = nfs ? "nfs" : "azureStorage";
    struct node *storage = node_create(x->a, NODE_MAP, at);
    nni_v1_put(x, storage, "storageType", at, node_str(x->a, word, strlen(word), at));
    if (nfs) {
        move_all(x, take_map(x, config, "nfs"), storage, nfs_moves);
    } else {
        move_all(x, take_map(x, config, "keyVault"), storage, vault_moves);
        move_all(x, take_map(x, config, "azureStorage"), storage, azure_moves);
    }
    nni_v1_put(x, service, "storage", named ? e.key_at : x->at, storage);
}

static void convert_role(struct convert *x, const char *name, struct node *trial,
                         struct node *service)
{
    struct node_entry e;
    if (!nni_v1_take(trial, name, &e))
        return;
    if (e.value->kind != NODE_MAP) {
        nni_v1_put(x, service, name, e.key_at, e.value);
        return;
    }
    struct node *to = node_create(x->a, NODE_MAP, e.value->at);
    move_all(x, e.value, to, role_moves);
    const struct node_entry *code = nni_find(x->v2, "trialCodeDirectory");
    if (code)
        nni_v1_put(x, to, "codeDirectory", code->key_at, code->value);
    report_rest(x, e.value, name);
    nni_v1_put(x, service, name, e.key_at, to);
}

static void convert_kubeflow(struct convert *x, struct node *trial, struct node *service)
{
    struct node *config = take_map(x, x->v1, "kubeflowConfig");
    convert_storage(x, config, service);
    move_all(x, config, service, k8s_moves);
    report_rest(x, config, "kubeflowConfig");
    convert_role(x, "worker", trial, service);
    convert_role(x, "ps", trial, service);
    convert_role(x, "master", trial, service);
}

static struct node *convert_task(struct convert *x, struct node *from)
{
    struct node_entry e;
    if (from->kind != NODE_MAP)
        return from;
    struct node *to = node_create(x->a, NODE_MAP, from->at);
    move_all(x, from, to, role_moves);
    if (nni_v1_take(from, "frameworkAttemptCompletionPolicy", &e) &&
        e.value->kind == NODE_MAP) {
        struct node *policy = node_create(x->a, NODE_MAP, e.value->at);
        move_all(x, e.value, policy, policy_moves);
        report_rest(x, e.value, "frameworkAttemptCompletionPolicy");
        nni_v1_put(x, to, "frameworkAttemptCompletionPolicy", e.key_at, policy);
    }
    report_rest(x, from, "taskRoles");
    return to;
}

static void convert_framework(struct convert *x, struct node *trial, struct node *service)
{
    struct node *config = take_map(x, x->v1, "frameworkcontrollerConfig");
    struct node_entry e;
    convert_storage(x, config, service);
    move_all(x, config, service, k8s_moves);
    report_rest(x, config, "frameworkcontrollerConfig");
    if (!nni_v1_take(trial, "taskRoles", &e))
        return;
    struct node *list = node_create(x->a, NODE_LIST, e.value->at);
    for (size_t i = 0; e.value->kind == NODE_LIST && i < e.value->list.n; i++)
        node_push(x->a, list, convert_task(x, e.value->list.at[i]));
    nni_v1_put(x, service, "taskRoles", e.key_at, list);
}

static void convert_simple(struct convert *x, const char *section,
                           const struct move *moves, struct node *service)
{
    struct node *config = take_map(x, x->v1, section);
    move_all(x, config, service, moves);
    report_rest(x, config, section);
}

static void convert_service(struct convert *x, struct node *trial, struct node *service)
{
    if (strcmp(x->platform, "local") == 0) {
        convert_simple(x, "localConfig", local_moves, service);
    } else if (strcmp(x->platform, "remote") == 0) {
        convert_simple(x, "remoteConfig", remote_moves, service);
        convert_machines(x, service);
    } else if (strcmp(x->platform, "openpai") == 0) {
        move_all(x, trial, service, pai_trial_moves);
        convert_simple(x, "paiConfig", pai_moves, service);
    } else if (strcmp(x->platform, "aml") == 0) {
        move_all(x, trial, service, aml_trial_moves);
        convert_simple(x, "amlConfig", aml_moves, service);
    } else if (strcmp(x->platform, "kubeflow") == 0) {
        convert_kubeflow(x, trial, service);
    } else {
        convert_framework(x, trial, service);
    }
}

/* The platform's name in the second form, or NULL with a diagnostic. */
static const char *platform_of(struct convert *x, const struct node *n)
{
    static const char *const names[] = {"local", "remote", "aml", "kubeflow",
                                        "frameworkcontroller"};
    if (n->kind == NODE_STR && str_is(n->text, "pai"))
        return "openpai";
    for (size_t i = 0; n->kind == NODE_STR && i < ARRAY_LEN(names); i++)
        if (str_is(n->text, names[i]))
            return names[i];
    struct str word = node_is_scalar(n) ? n->text : str_of("", 0);
    struct diag *g =
        diag_add(x->d, DIAG_ERROR, E0405, n->at,
                 "trainingServicePlatform '%.*s' has no form that runs today",
                 (int)word.n, word.p);
    const char *near = str_nearest(word, names, ARRAY_LEN(names));
    if (near)
        diag_hint(x->d, g, "did you mean '%s'?", near);
    else if (str_is(word, "hybrid"))
        diag_hint(x->d, g, "write trainingService as a list of services");
    return NULL;
}

/* Sections of platforms that this file does not use. */
static void drop_idle_sections(struct convert *x)
{
    static const struct move idle[] = {
        {"localConfig", NULL},
        {"remoteConfig", NULL},
        {"machineList", NULL},
        {"paiConfig", NULL},
        {"amlConfig", NULL},
        {"kubeflowConfig", NULL},
        {"adlConfig", NULL},
        {"frameworkcontrollerConfig", NULL},
        {0},
    };
    for (const struct move *m = idle; m->from; m++) {
        struct node_entry e;
        if (nni_v1_take(x->v1, m->from, &e))
            diag_add(x->d, DIAG_WARNING, E0404, e.key_at,
                     "'%s' has no effect: trainingServicePlatform is '%s'", m->from,
                     x->platform);
    }
}

void nni_convert_v1(struct conf *c, struct diags *diags)
{
    struct convert x = {.c = c, .a = &c->doc.arena, .d = diags, .v1 = c->doc.root};
    struct node_entry platform;
    nni_v1_take(x.v1, "trainingServicePlatform", &platform);
    x.at = platform.value->at;
    x.v2 = node_create(x.a, NODE_MAP, x.v1->at);
    diag_add(diags, DIAG_NOTE, E0403, platform.key_at,
             "You are using legacy config file, please update it to latest format");
    x.platform = platform_of(&x, platform.value);
    if (!x.platform) {
        x.v2->map.n = 0;
        c->doc.root = x.v2;
        return;
    }
    struct node *service = node_create(x.a, NODE_MAP, x.at);
    nni_v1_put(&x, service, "platform", platform.key_at,
               node_str(x.a, x.platform, strlen(x.platform), x.at));
    convert_top(&x);
    struct node *trial = take_map(&x, x.v1, "trial");
    move_all(&x, trial, x.v2, trial_moves);
    convert_algorithm(&x, "tuner", "builtinTunerName");
    convert_algorithm(&x, "assessor", "builtinAssessorName");
    convert_algorithm(&x, "advisor", "builtinAdvisorName");
    convert_service(&x, trial, service);
    nni_v1_put(&x, x.v2, "trainingService", platform.key_at, service);
    drop_idle_sections(&x);
    report_rest(&x, trial, "trial");
    report_rest(&x, x.v1, "a legacy experiment");
    c->doc.root = x.v2;
}
