/* SPDX-License-Identifier: Apache-2.0 */
/* Files of NNI's first generation: what becomes of each key, and what cannot. */
#include "checked.h"
#include "text/nni/nni.h"

#define TOP                                                                          \
    "trialConcurrency: 1\nsearchSpacePath: s.json\ntuner: {builtinTunerName: TPE}\n" \
    "trial: {command: c, codeDir: .}\n"
#define LOCAL "trainingServicePlatform: local\n"

#define ERR(code_, msg_, line_, col_) DIAG_ERROR, code_, msg_, line_, col_, NULL
#define WARN(code_, msg_, line_, col_) DIAG_WARNING, code_, msg_, line_, col_, NULL

static const struct conf_kind *const kind = &conf_kind_nni_experiment;

/* The files below name a search space that does not exist, so that each has one error
 * more; what is under test comes before it.
 */
static void check_rows(const struct checked_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct checked_row *r = &rows[i];
        struct conf c;
        struct diags d = {0};
        struct err err = {0};
        struct conf_options o = {0};
        CHECK_INT(conf_from("t", r->text, strlen(r->text), &o, &c, &d, &err), RC_INVAL);
        const struct diag *g = checked_find(&d, r);
        CHECK(c.kind == kind);
        CHECK(g != NULL);
        uint32_t line = 0, col = 0;
        if (g) {
            source_locate(g->at.src, g->at.off, &line, &col);
            CHECK_INT(g->severity, r->severity);
            if (r->hint)
                CHECK_STR(g->hint, r->hint);
        }
        CHECK_INT(line, r->line);
        CHECK_INT(col, r->col);
        if (!g || line != r->line || col != r->col) {
            struct buf shown;
            buf_init(&shown, 1 << 20);
            diags_print(&d, &shown, false);
            printf("# want %s at %u:%u, got\n%s\n", r->msg, r->line, r->col,
                   buf_str(&shown));
            buf_release(&shown);
        }
        diags_release(&d);
        conf_release(&c);
    }
}

static void what_has_no_counterpart_is_named_at_its_place(void)
{
    static const struct checked_row rows[] = {
        {TOP LOCAL, DIAG_NOTE, E0403,
         "You are using legacy config file, please update it to latest format", 5, 1,
         NULL},
        {TOP LOCAL "authorName: me\n",
         WARN(E0404,
              "Config field \"authorName\" is no longer supported and has been "
              "ignored",
              6, 1)},
        {TOP LOCAL "versionCheck: false\n",
         WARN(E0404,
              "Config field \"versionCheck\" is no longer supported and has been "
              "ignored",
              6, 1)},
        {TOP LOCAL "multiPhase: true\n",
         ERR(E0405, "Multi-phase is no longer supported", 6, 13)},
        {TOP LOCAL "maxTrialNums: 3\n",
         ERR(E0405,
             "Config not fully converted: 'maxTrialNums' is not a field of a legacy experiment",
             6, 1)},
        {TOP LOCAL "localConfig: {gpus: 1}\n",
         ERR(E0405, "Config not fully converted: 'gpus' is not a field of localConfig", 6,
             15)},
        {TOP LOCAL "paiConfig: {host: h}\n",
         WARN(E0404, "'paiConfig' has no effect: trainingServicePlatform is 'local'", 6,
              1)},
        {TOP LOCAL "maxTrialNum: 100000\n",
         ERR(E0412, "maxTrialNum should be in range of (1, 99999)!", 6, 14)},
        {TOP LOCAL "maxExecDuration: 0.5h\n", DIAG_ERROR, E0405,
         "maxExecDuration format is [digit]{s,m,h,d}, not '0.5h'", 6, 18,
         "whole numbers only, such as 90m"},
        {TOP "trainingServicePlatform: locl\n", DIAG_ERROR, E0405,
         "trainingServicePlatform 'locl' has no form that runs today", 5, 26,
         "did you mean 'local'?"},
        {TOP "trainingServicePlatform: hybrid\n", DIAG_ERROR, E0405,
         "trainingServicePlatform 'hybrid' has no form that runs today", 5, 26,
         "write trainingService as a list of services"},
        {TOP "trainingServicePlatform: kubeflow\nkubeflowConfig: {storage: pvc}\n",
         ERR(E0421,
             "Kubernetes storage_type (\"pvc\") must either be \"azureStorage\" or \"nfs\"",
             6, 27)},
        {TOP LOCAL "assessor: {classFileName: a.py, codeDir: .}\n",
         ERR(E0409, "classFileName is set, but className is not", 6, 12)},
        {TOP LOCAL "assessor: {classFileName: a, className: B}\n",
         ERR(E0405, "classFileName takes the name of a .py file", 6, 27)},
        {TOP LOCAL "localConfig: [1]\n",
         ERR(E0405, "'localConfig' of a legacy file takes a mapping", 6, 14)},
        {TOP LOCAL "maxTrialNum: many\n",
         ERR(E0202, "'maxTrialNumber' takes an integer, not a string \"many\"", 6, 14)},
        {TOP LOCAL,
         ERR(E0402,
             "ExperimentConfig: Failed to load search space file \"s.json\": ./s.json: "
             "cannot open: No such file or directory",
             2, 18)},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

struct loaded {
    struct conf c;
    struct diags d;
    const struct nni_ExperimentConfig *e;
};

static void load(struct loaded *l, const char *text)
{
    struct err err = {0};
    struct conf_options o = {0};
    *l = (struct loaded){0};
    enum rc rc = conf_from("t", text, strlen(text), &o, &l->c, &l->d, &err);
    /* Only the search space is missing: the tree is converted and bound all the same. */
    CHECK_INT(rc, RC_INVAL);
    CHECK_INT(l->d.n_errors, 1);
    for (size_t i = 0; i < l->d.list.n; i++)
        CHECK(l->d.list.at[i].severity != DIAG_ERROR || l->d.list.at[i].code == E0402);
    l->e = schema_bind(&nni_ExperimentConfig_def, l->c.doc.root, &l->c.arena);
}

static void release(struct loaded *l)
{
    diags_release(&l->d);
    conf_release(&l->c);
}

static void every_key_of_a_local_file_arrives(void)
{
    struct loaded l;
    load(&l,
         "experimentName: n\ntrialConcurrency: 2\nmaxExecDuration: 1h\nmaxTrialNum: 9\n"
         "maxTrialDuration: 5m\nnniManagerIp: 10.0.0.1\ndebug: true\nlogLevel: info\n"
         "logDir: /tmp\nuseAnnotation: false\nmultiPhase: false\n"
         "trainingServicePlatform: local\n"
         "tuner: {builtinTunerName: TPE, classArgs: {optimize_mode: maximize}, "
         "gpuIndices: '0,1'}\n"
         "trial: {command: c, codeDir: ., gpuNum: 1}\n"
         "localConfig: {gpuIndices: 3, maxTrialNumPerGpu: 2, useActiveGpu: true}\n"
         "searchSpacePath: s.json\n");
    const struct nni_LocalConfig *s = (const void *)l.e->trainingService[0];
    CHECK_STR(l.e->experimentName, "n");
    CHECK_STR(l.e->maxExperimentDuration, "1h");
    CHECK_INT(l.e->maxTrialNumber, 9);
    CHECK_STR(l.e->maxTrialDuration, "5m");
    CHECK_STR(l.e->nniManagerIp, "10.0.0.1");
    CHECK(l.e->debug);
    CHECK_STR(l.e->logLevel, "info");
    CHECK_STR(l.e->experimentWorkingDirectory, "/tmp");
    CHECK_STR(l.e->tuner->name, "TPE");
    CHECK(node_find(l.e->tuner->classArgs, "optimize_mode") != NULL);
    CHECK_INT(l.e->n_tunerGpuIndices, 2);
    CHECK_STR(l.e->trialCommand, "c");
    CHECK_INT(l.e->trialGpuNumber, 1);
    CHECK(s->base.def == &nni_LocalConfig_def);
    CHECK_INT(s->n_gpuIndices, 1);
    CHECK_INT(s->maxTrialNumberPerGpu, 2);
    CHECK(s->useActiveGpu);
    release(&l);
}

static void remote_machines_are_renamed(void)
{
    struct loaded l;
    load(&l,
         TOP "trainingServicePlatform: remote\nremoteConfig: {reuse: true}\n"
             "machineList: [{ip: h, port: 2222, username: u, passwd: p, passphrase: x, "
             "pythonPath: /b}]\n");
    const struct nni_RemoteConfig *r = (const void *)l.e->trainingService[0];
    CHECK(r->reuseMode);
    CHECK_INT(r->n_machineList, 1);
    CHECK_STR(r->machineList[0]->host, "h");
    CHECK_INT(r->machineList[0]->port, 2222);
    CHECK_STR(r->machineList[0]->user, "u");
    CHECK_STR(r->machineList[0]->password, "p");
    CHECK_STR(r->machineList[0]->sshPassphrase, "x");
    CHECK_STR(r->machineList[0]->pythonPath, "/b");
    release(&l);
}

static void a_class_of_ones_own_is_joined(void)
{
    struct loaded l;
    load(&l,
         "trialConcurrency: 1\nsearchSpacePath: s.json\ntrial: {command: c, codeDir: .}\n"
         "tuner: {codeDir: ., classFileName: my_tuner.py, className: Mine}\n" LOCAL);
    CHECK_STR(l.e->tuner->className, "my_tuner.Mine");
    CHECK_STR(l.e->tuner->codeDirectory, ".");
    CHECK(!l.e->tuner->has_name);
    release(&l);
}

static void kubeflow_roles_and_storage_are_renamed(void)
{
    struct loaded l;
    load(&l,
         "trialConcurrency: 1\nsearchSpacePath: s.json\ntuner: {builtinTunerName: TPE}\n"
         "trial: {codeDir: ., worker: {replicas: 2, command: w, gpuNum: 1, cpuNum: 4, "
         "memoryMB: 8192, image: i}}\ntrainingServicePlatform: kubeflow\n"
         "kubeflowConfig: {operator: tf-operator, apiVersion: v1, keyVault: {vaultName: "
         "v, name: k}, azureStorage: {accountName: a, azureShare: s}}\n");
    const struct nni_KubeflowConfig *k = (const void *)l.e->trainingService[0];
    CHECK_STR(k->operator, "tf-operator");
    CHECK_INT(k->worker->replicas, 2);
    CHECK_INT(k->worker->gpuNumber, 1);
    CHECK_INT(k->worker->cpuNumber, 4);
    CHECK_STR(k->worker->memorySize, "8192mb");
    CHECK_STR(k->worker->dockerImage, "i");
    CHECK_STR(k->worker->codeDirectory, ".");
    CHECK_STR(k->storage->storageType, "azureStorage");
    CHECK_STR(k->storage->azureAccount, "a");
    CHECK_STR(k->storage->azureShare, "s");
    CHECK_STR(k->storage->keyVaultName, "v");
    CHECK_STR(k->storage->keyVaultKey, "k");
    release(&l);
}

static void framework_roles_are_renamed(void)
{
    struct loaded l;
    load(&l,
         "trialConcurrency: 1\nsearchSpacePath: s.json\ntuner: {builtinTunerName: TPE}\n"
         "trial: {codeDir: ., taskRoles: [{name: w, taskNum: 1, command: c, gpuNum: 0, "
         "cpuNum: 1, memoryMB: 1, image: i, frameworkAttemptCompletionPolicy: "
         "{minFailedTaskCount: 1, minSucceededTaskCount: 2}}]}\n"
         "trainingServicePlatform: frameworkcontroller\n"
         "frameworkcontrollerConfig: {storage: nfs, serviceAccountName: a, nfs: {server: "
         "h, path: /p}}\n");
    const struct nni_FrameworkControllerConfig *f = (const void *)l.e->trainingService[0];
    CHECK_STR(f->serviceAccountName, "a");
    CHECK_STR(f->storage->server, "h");
    CHECK_INT(f->n_taskRoles, 1);
    CHECK_INT(f->taskRoles[0]->taskNumber, 1);
    CHECK_INT(f->taskRoles[0]->frameworkAttemptCompletionPolicy->minSucceedTaskCount, 2);
    release(&l);
}

static void pai_and_aml_settings_are_renamed(void)
{
    struct loaded l;
    load(&l,
         "trialConcurrency: 1\nsearchSpacePath: s.json\ntuner: {builtinTunerName: TPE}\n"
         "trial: {command: c, codeDir: ., gpuNum: 0, cpuNum: 1, memoryMB: 8, image: i, "
         "nniManagerNFSMountPath: ., containerNFSMountPath: /c, paiStorageConfigName: "
         "s}\ntrainingServicePlatform: pai\npaiConfig: {userName: u, token: t, host: "
         "h}\n");
    const struct nni_OpenpaiConfig *p = (const void *)l.e->trainingService[0];
    CHECK_STR(p->platform, "openpai");
    CHECK_STR(p->username, "u");
    CHECK_STR(p->token, "t");
    CHECK_STR(p->trialMemorySize, "8mb");
    CHECK_STR(p->storageConfigName, "s");
    CHECK_STR(p->dockerImage, "i");
    release(&l);
    load(&l, TOP
         "trainingServicePlatform: aml\namlConfig: {subscriptionId: s, resourceGroup: "
         "r, workspaceName: w, computeTarget: t}\n");
    const struct nni_AmlConfig *a = (const void *)l.e->trainingService[0];
    CHECK_STR(a->subscriptionId, "s");
    CHECK_STR(a->computeTarget, "t");
    release(&l);
}

static const struct tap_case cases[] = {
    TAP(what_has_no_counterpart_is_named_at_its_place),
    TAP(every_key_of_a_local_file_arrives),
    TAP(remote_machines_are_renamed),
    TAP(a_class_of_ones_own_is_joined),
    TAP(kubeflow_roles_and_storage_are_renamed),
    TAP(framework_roles_are_renamed),
    TAP(pai_and_aml_settings_are_renamed),
};
TAP_MAIN(cases)
