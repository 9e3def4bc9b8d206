/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments: each rule with its message and place. */
#include "base/fs.h"
#include "base/mem.h"
#include "checked.h"
#include "text/nni/algo.h"
#include "text/nni/ecs.h"
#include "text/nni/nni.h"

/* One line each, so that a row can be read with its line numbers. */
#define SPACE "searchSpace: {x: {_type: uniform, _value: [0, 1]}}\n"
#define COMMAND "trialCommand: python3 t.py\n"
#define COUNT "trialConcurrency: 2\n"
#define TUNER "tuner: {name: TPE}\n"
#define LOCAL "trainingService: {platform: local}\n"
#define ABOVE SPACE COMMAND COUNT
#define ALL ABOVE TUNER LOCAL

#define ERR(code_, msg_, line_, col_) DIAG_ERROR, code_, msg_, line_, col_, NULL
#define WARN(code_, msg_, line_, col_) DIAG_WARNING, code_, msg_, line_, col_, NULL

static const struct conf_kind *const kind = &conf_kind_nni_experiment;

static void what_is_missing_or_out_of_bounds(void)
{
    static const struct checked_row rows[] = {
        {COMMAND COUNT TUNER LOCAL,
         ERR(E0401,
             "ExperimentConfig: search_space and search_space_file must be set one", 1,
             1)},
        {SPACE COMMAND TUNER LOCAL,
         ERR(E0406, "ExperimentConfig: trial_concurrency is not set", 1, 1)},
        {SPACE COUNT TUNER LOCAL,
         ERR(E0406, "LocalConfig: trial_command is not set", 4, 18)},
        {ABOVE LOCAL, ERR(E0407, "ExperimentConfig: tuner must be set", 1, 1)},
        {ABOVE TUNER, ERR(E0406, "ExperimentConfig: training_service is not set", 1, 1)},
        {ABOVE TUNER "trainingService: []\n",
         ERR(E0423, "ExperimentConfig: training_service is an empty list", 5, 18)},
        {SPACE COMMAND TUNER LOCAL "trial_concurrency: 0\n",
         ERR(E0412, "ExperimentConfig: trial_concurrency must be at least 1, not 0", 5,
             20)},
        {ALL "maxTrialNumber: -3\n",
         ERR(E0412, "ExperimentConfig: max_trial_number must be at least 1, not -3", 6,
             17)},
        {ALL "trialGpuNumber: -1\n",
         ERR(E0412, "ExperimentConfig: trial_gpu_number must be at least 0, not -1", 6,
             17)},
        {ALL "maxTrialDuration: 0s\n",
         ERR(E0412, "ExperimentConfig: max_trial_duration must be positive, not 0s", 6,
             19)},
        {ALL "maxExperimentDuration: 0\n",
         ERR(E0412, "ExperimentConfig: max_experiment_duration must be positive, not 0s",
             6, 24)},
        {ALL "maxTrialDuration: '100'\n",
         ERR(E0211,
             "'maxTrialDuration': \"100\": bad unit, supported units are d, h, m, s", 6,
             19)},
        {COMMAND COUNT TUNER LOCAL "useAnnotation: true\n",
         ERR(E0414,
             "You are using annotation to specify search space. This is not supported since "
             "NNI v3.0.",
             5, 16)},
        {ALL "experimentType: nas\n",
         ERR(E0415, "experimentType 'nas' does not run here; hpo does", 6, 17)},
        {ALL "trialCodeDirectory: no/such/dir\n",
         ERR(E0418,
             "ExperimentConfig: trial_code_directory \"no/such/dir\" is not a "
             "directory",
             6, 21)},
        {ALL "maxTrialNum: 3\n", DIAG_ERROR, E0201,
         "ExperimentConfig has no field 'maxTrialNum'", 6, 1,
         "did you mean 'maxTrialNumber'?"},
        {ALL "logLevel: loud\n",
         ERR(E0204,
             "'logLevel' takes 'fatal', 'error', 'warning', 'info', 'debug' or "
             "'trace', not \"loud\"",
             6, 11)},
        {COMMAND COUNT TUNER LOCAL "searchSpaceFile: none.json\n",
         ERR(E0402,
             "ExperimentConfig: Failed to load search space file \"none.json\": ./none.json: "
             "cannot open: No such file or directory",
             5, 18)},
    };
    CHECKED_ROWS(kind, rows);
}

static void tuners_and_assessors(void)
{
    static const struct checked_row rows[] = {
        {ABOVE LOCAL "tuner: {name: TPEE}\n", DIAG_ERROR, E0408,
         "Builtin name is not found: tpee", 5, 15, "did you mean 'TPE'?"},
        {ABOVE LOCAL "tuner: {name: medianstop}\n", DIAG_ERROR, E0408,
         "Builtin name is not found: medianstop", 5, 15, "medianstop is an assessor"},
        {ALL "assessor: {name: Medianstopp}\n", DIAG_ERROR, E0408,
         "Builtin name is not found: medianstopp", 6, 18, "did you mean 'Medianstop'?"},
        {ABOVE LOCAL "tuner: {name: TPE, className: a.B}\n",
         ERR(E0409, "tuner: a built-in name and a custom class cannot both be set", 5,
             31)},
        {ABOVE LOCAL "tuner: {codeDirectory: .}\n",
         ERR(E0409, "tuner needs a name, or className and codeDirectory", 5, 1)},
        {ABOVE LOCAL "tuner: {className: Mine}\n",
         ERR(E0409, "className takes module.Class, not 'Mine'", 5, 20)},
        {ABOVE LOCAL "tuner: {className: a.B, codeDirectory: no/such}\n",
         ERR(E0418,
             "CustomAlgorithmConfig: code_directory \"no/such\" is not a directory", 5,
             40)},
        {ALL "advisor: {name: BOHB}\n",
         ERR(E0407, "\"advisor\" is deprecated. You should only set \"tuner\".", 6, 1)},
        {ABOVE LOCAL "advisor: {name: BOHB}\n", DIAG_WARNING, E0207,
         "'advisor' is deprecated", 5, 1, "write tuner: it takes the same names"},
        {ABOVE LOCAL "tuner: {name: PPOTuner}\n",
         ERR(E4001, "PPO searches network architectures, which is not supported", 5, 15)},
        {ABOVE LOCAL "tuner: {name: Hyperband}\nassessor: {name: Medianstop}\n",
         WARN(E0424, "Hyperband stops trials itself; the assessor is ignored", 6, 1)},
    };
    CHECKED_ROWS(kind, rows);
}

#define TPE(args) ABOVE LOCAL "tuner: {name: TPE, classArgs: {" args "}}\n"
#define ARGS(name, args) ABOVE LOCAL "tuner: {name: " name ", classArgs: {" args "}}\n"
#define STOP(name, args) ALL "assessor: {name: " name ", classArgs: {" args "}}\n"

static void arguments_of_algorithms(void)
{
    static const struct checked_row rows[] = {
        {TPE("optimize_mode: max"),
         ERR(E0411, "optimize_mode should be in [maximize, minimize]!", 5, 47)},
        {TPE("optimise_mode: maximize"), DIAG_ERROR, E0410,
         "TPE takes no argument 'optimise_mode'", 5, 32, "did you mean 'optimize_mode'?"},
        {TPE("seed: 1.5"), ERR(E0411, "seed should be int type!", 5, 38)},
        {TPE("seed: -1"),
         ERR(E0411, "seed should be in range of (0, 9007199254740992)!", 5, 38)},
        {TPE("tpe_args: 3"), ERR(E0411, "tpe_args should be dict type!", 5, 42)},
        {TPE("tpe_args: {gama: 1}"), DIAG_ERROR, E0410,
         "tpe_args takes no argument 'gama'", 5, 43, "did you mean 'gamma'?"},
        {TPE("tpe_args: {gamma: '0.1'}"), DIAG_ERROR, E0411,
         "gamma should be float type!", 5, 50, "write the value without quotes"},
        {ARGS("Evolution", "population_size: 0"),
         ERR(E0411, "population_size should be in range of (1, 99999)!", 5, 55)},
        {ARGS("Evolution", "population_size: 1"),
         WARN(E0411,
              "population_size 1 is below trialConcurrency 2, so some slots stay idle", 5,
              55)},
        {ARGS("Hyperband", "exec_mode: both"),
         ERR(E0411, "exec_mode should be in [parallelism, serial]!", 5, 49)},
        {ARGS("BOHB", "min_budget: 9, max_budget: 3"),
         ERR(E0411, "min_budget should not be above max_budget, which is 3", 5, 45)},
        {ARGS("BOHB", "config_space: a.pcs"),
         WARN(E0424, "argument 'config_space' of BOHB has no effect", 5, 33)},
        {ARGS("SMAC", "config_dedup: 3"),
         ERR(E0411, "config_dedup should be bool type!", 5, 47)},
        {STOP("Medianstop", "start_step: -1"),
         ERR(E0411, "start_step should be in range of (0, 9999)!", 6, 54)},
        {STOP("Curvefitting", "optimize_mode: minimize"), DIAG_ERROR, E0411,
         "Curvefitting works only when larger results are better", 6, 59,
         "report the negative of the metric, or use Medianstop"},
        {STOP("ASHA", "min_resource: few"),
         ERR(E0411, "min_resource should be auto or an integer of at least 1", 6, 50)},
        {ABOVE LOCAL "tuner: {name: TPE, classArgs: [1]}\n",
         ERR(E0411, "classArgs should be dict type!", 5, 31)},
    };
    CHECKED_ROWS(kind, rows);
}

#define WITH(space, tuner) "searchSpace: {" space "}\n" COMMAND COUNT LOCAL tuner "\n"
#define NESTED \
    "x: {_type: choice, _value: [{_name: a, y: {_type: uniform, _value: [0, 1]}}]}"

static void tuners_refuse_spaces_they_do_not_take(void)
{
    static const struct checked_row rows[] = {
        {WITH("x: {_type: loguniform, _value: [1, 2]}", "tuner: {name: Metis}"),
         ERR(E0442, "search space \"x\": Metis does not take the type \"loguniform\"", 1,
             15)},
        {WITH("x: {_type: normal, _value: [1, 2]}", "tuner: {name: GP}"),
         ERR(E0442, "search space \"x\": GP does not take the type \"normal\"", 1, 15)},
        {WITH("x: {_type: qloguniform, _value: [1, 2, 1]}", "tuner: {name: SMAC}"),
         ERR(E0442, "search space \"x\": SMAC does not take the type \"qloguniform\"", 1,
             15)},
        {WITH(NESTED, "tuner: {name: BOHB}"),
         ERR(E0442, "search space \"x\": BOHB does not take nested choices", 1, 15)},
        {WITH("x: {_type: choice, _value: [1, a]}", "tuner: {name: GPTuner}"),
         ERR(E0442, "search space \"x\" (choice): GP takes numbers as options", 1, 46)},
        {WITH("x: {_type: uniform, _value: [1, 2]}", "tuner: {name: BatchTuner}"),
         ERR(E0442, "Batch takes a search space of exactly one choice", 1, 15)},
        {WITH("x: {_type: choice, _value: [yes, 'no', Off]}", "tuner: {name: TPE}"),
         DIAG_WARNING, E0440,
         "search space \"x\" (choice): 'yes' is a string here and a boolean in NNI", 1,
         43, "write true, or put it in quotes"},
        {WITH("x: {_type: choice, _value: [yes, 'no', Off]}", "tuner: {name: TPE}"),
         DIAG_WARNING, E0440,
         "search space \"x\" (choice): 'Off' is a string here and a boolean in NNI", 1,
         54, "write false, or put it in quotes"},
        {WITH("", "tuner: {name: GridSearch}"),
         ERR(E0445, "Search space is empty", 1, 1)},
        {WITH("", "tuner: {name: TPE}"), WARN(E0445, "Search space is empty", 1, 1)},
        {WITH("x: {_type: uniform, _value: [1]}", "tuner: {name: TPE}"),
         ERR(E0433, "search space \"x\" (uniform) must have 2 values, not 1", 1, 43)},
    };
    CHECKED_ROWS(kind, rows);
}

#define SERVICE(fields) ABOVE TUNER "trainingService:\n" fields
#define GPU "trialGpuNumber: 1\n"

static void local_and_remote_services(void)
{
    static const struct checked_row rows[] = {
        {ALL GPU,
         ERR(E0416,
             "LocalConfig: please set use_active_gpu to True if your system has GUI, or set "
             "it to False if the computer runs multiple experiments concurrently.",
             5, 18)},
        {SERVICE("  platform: local\n  maxTrialNumberPerGpu: 2\n"),
         ERR(E0416,
             "LocalConfig: max_trial_number_per_gpu does not work without trial_gpu_number",
             7, 25)},
        {SERVICE("  platform: local\n  gpuIndices: '1,1'\n"),
         ERR(E0417, "Duplication detected in GPU indices [1, 1]", 7, 15)},
        {SERVICE("  platform: local\n  gpuIndices: -1\n"),
         ERR(E0417, "Negative detected in GPU indices [-1]", 7, 15)},
        {SERVICE("  platform: loacl\n"), DIAG_ERROR, E0204,
         "'platform': 'loacl' is not a kind of trainingService", 6, 13,
         "did you mean 'local'?"},
        {SERVICE("  platform: remote\n  machineList: []\n"),
         ERR(E0419, "RemoteConfig: must provide at least one machine in machine_list", 7,
             16)},
        {SERVICE("  platform: remote\n  machineList: [{host: h, password: p}]\n"),
         ERR(E0406, "RemoteMachineConfig: user is not set", 7, 17)},
        {SERVICE(
             "  platform: remote\n  machineList: [{host: h, user: u, password: p, port: "
             "0}]\n"),
         ERR(E0412, "RemoteMachineConfig: port must be between 1 and 65535, not 0", 7,
             55)},
        {SERVICE(
             "  platform: remote\n  machineList: [{host: h, user: u, password: p}]\n"),
         WARN(E0419,
              "SSH password will be exposed in web UI as plain text. We recommend to use "
              "SSH key file.",
              7, 46)},
        {SERVICE("  platform: remote\n  machineList: [{host: h, user: u, sshKeyFile: "
                 "no/key}]\n"),
         ERR(E0419,
             "RemoteMachineConfig: You must either provide password or a valid SSH key file "
             "\"no/key\"",
             7, 48)},
        {SERVICE(
             "- platform: local\n- platform: remote\n  reuseMode: false\n  machineList: "
             "[{host: h, user: u, password: p}]\n"),
         WARN(E0423,
              "RemoteConfig: reuse_mode is always on when several training services are "
              "mixed",
              8, 14)},
        {SERVICE("  platform: trainyard\n  backend: container\n"),
         ERR(E0406,
             "TrainyardConfig: image is not set, and the backend 'container' needs "
             "one",
             7, 12)},
        {SERVICE("  platform: trainyard\n  memorySize: 4g\n"),
         ERR(E0211,
             "'memorySize': \"4g\": bad unit, supported units are tb, gb, mb, kb, b", 7,
             15)},
    };
    CHECKED_ROWS(kind, rows);
}

#define DLC                                                                           \
    "  platform: dlc\n  image: i\n  podCount: 1\n  region: r\n  nasDataSourceId: n\n" \
    "  accessKeyId: a\n  accessKeySecret: s\n"
#define FLOW "  platform: kubeflow\n  apiVersion: v1\n  operator: tf-operator\n"
#define NFS "  storage: {storageType: nfs, server: s, path: /p}\n"
#define ROLE "{replicas: 1, command: c, cpuNumber: 1, memorySize: 8gb}\n"
#define TASK                                                                        \
    "{name: w, taskNumber: 1, command: c, gpuNumber: 0, cpuNumber: 1, memorySize: " \
    "8192, frameworkAttemptCompletionPolicy: {minFailedTaskCount: 1, "              \
    "minSucceedTaskCount: 1}}"

static void cluster_services(void)
{
    static const struct checked_row rows[] = {
        {SERVICE(DLC), ERR(E0406, "DlcConfig: ecs_spec is not set", 6, 3)},
        {SERVICE(DLC "  ecsSpec: big one\n"),
         ERR(E0420, "DlcConfig: ecs_spec: an instance type holds no ' '", 13, 12)},
        {SERVICE(DLC "  ecsSpec: \"{'cpu': two}\"\n"),
         ERR(E0420, "DlcConfig: ecs_spec: 'cpu' takes a number, not 'two'", 13, 12)},
        {SERVICE(DLC "  ecsSpec: ecs.c6.large\n  jobType: PyTorch\n"),
         ERR(E0204, "'jobType' takes 'TFJob' or 'PyTorchJob', not \"PyTorch\"", 14, 12)},
        {SPACE COMMAND TUNER "trainingService:\n" DLC
                             "  ecsSpec: ecs.c6.large\ntrialConcurrency: 4\n",
         WARN(E0423, "DLC's public cluster runs at most 3 trials at a time", 13, 19)},
        {SERVICE(FLOW NFS),
         ERR(E0421, "KubeflowConfig: tf-operator needs the role 'worker'", 8, 13)},
        {SERVICE(FLOW NFS "  worker: " ROLE "  master: " ROLE),
         WARN(E0421, "KubeflowConfig: tf-operator has no role 'master'; it is ignored",
              11, 3)},
        {SERVICE(FLOW "  worker: " ROLE),
         ERR(E0406, "KubeflowConfig: storage is not set", 6, 3)},
        {SERVICE(FLOW NFS "  worker: {replicas: 0, command: c, cpuNumber: 1, memorySize: "
                          "8gb}\n"),
         ERR(E0412, "KubeflowRoleConfig: replicas must be at least 1, not 0", 10, 22)},
        {SERVICE(FLOW "  storage: {storageType: pvc}\n  worker: " ROLE),
         ERR(E0421,
             "Kubernetes storage_type (\"pvc\") must either be \"azureStorage\" or \"nfs\"",
             9, 26)},
        {SERVICE(FLOW
                 "  storage: {storageType: nfs, server: s, path: /p, azureShare: x}\n  "
                 "worker: " ROLE),
         ERR(E0421,
             "K8sStorageConfig: azure_share does not belong to storage_type \"nfs\"", 9,
             64)},
        {SERVICE("  platform: frameworkcontroller\n" NFS "  taskRoles: []\n"),
         ERR(E0406, "FrameworkControllerConfig: task_roles is not set", 8, 14)},
        {SERVICE(
             "  platform: frameworkcontroller\n" NFS "  taskRoles: [" TASK "]\n"
             "sharedStorage: {storageType: NFS, localMountPoint: /a, remoteMountPoint: "
             "/b, localMounted: usermount, nfsServer: s}\n"),
         ERR(E0406, "SharedStorageConfig: exported_directory is not set", 9, 1)},
        {ALL
         "sharedStorage: {storageType: NFS, localMountPoint: /a, remoteMountPoint: /b, "
         "localMounted: nomount, nfsServer: s, exportedDirectory: /e}\n",
         WARN(E0422,
              "SharedStorageConfig: only services in reuse mode share storage, and "
              "LocalConfig has reuse_mode false",
              6, 1)},
        {SERVICE(
             "  platform: frameworkcontroller\n" NFS "  taskRoles: [" TASK "]\n"
             "sharedStorage: {storageType: NFS, localMountPoint: /a, remoteMountPoint: "
             "/b, localMounted: usermount, nfsServer: s, exportedDirectory: /e, "
             "containerName: c}\n"),
         ERR(E0422,
             "SharedStorageConfig: container_name does not belong to storage_type "
             "\"NFS\"",
             9, 155)},
        {SERVICE("  platform: openpai\n  host: h\n  username: u\n  token: ${token}\n  "
                 "trialCpuNumber: 1\n  trialMemorySize: 8gb\n  storageConfigName: s\n  "
                 "localStorageMountPoint: .\n  containerStorageMountPoint: /c\n"),
         ERR(E0416, "OpenpaiConfig: trial_gpu_number is not set", 6, 3)},
        {SERVICE(
             "  platform: aml\n  subscriptionId: s\n  resourceGroup: r\n  workspaceName: "
             "w\n"),
         ERR(E0406, "AmlConfig: compute_target is not set", 6, 3)},
        {ALL "nniManagerIp: ${your ip}\n",
         WARN(E0425, "'nniManagerIp' is still to be filled in: ${your ip}", 6, 15)},
        {ALL "nniManagerIp: {your_ip}\n",
         WARN(E0425, "'nniManagerIp' is still to be filled in: {your_ip}", 6, 15)},
    };
    CHECKED_ROWS(kind, rows);
}

static enum rc load(const char *text, struct conf *c, struct diags *d)
{
    struct err err = {0};
    struct conf_options o = {0};
    enum rc rc = conf_from("t", text, strlen(text), &o, c, d, &err);
    if (rc) {
        struct buf shown;
        buf_init(&shown, 1 << 20);
        diags_print(d, &shown, false);
        printf("# %s\n%s\n", err.msg, buf_str(&shown));
        buf_release(&shown);
    }
    return rc;
}

static void annotation_beside_a_space_is_two_errors(void)
{
    struct conf c;
    struct diags d = {0};
    struct err err = {0};
    struct conf_options o = {0};
    const char *text = ALL "useAnnotation: true\n";
    CHECK_INT(conf_from("t", text, strlen(text), &o, &c, &d, &err), RC_INVAL);
    CHECK_INT(d.n_errors, 2);
    CHECK(c.data == NULL);
    diags_sort(&d);
    CHECK_STR(
        d.list.at[0].msg,
        "ExperimentConfig: search space must not be set when annotation is enabled");
    CHECK_INT(d.list.at[1].code, E0414);
    diags_release(&d);
    conf_release(&c);
}

static void keys_are_folded_and_user_data_is_not(void)
{
    struct conf c;
    struct diags d = {0};
    CHECK_INT(
        load("SEARCH_SPACE: {Batch_Size: {_type: choice, _value: [1, 2]}}\n"
             "trial_command: run\nTrialConcurrency: 3\nmax_trial_duration: 90\n"
             "tuner: {NAME: tpe, class_args: {seed: 7}}\ntuner_gpu_indices: '0, 2'\n"
             "training_service: [{platform: Local, max_trial_number_per_gpu: 1}]\n",
             &c, &d),
        RC_OK);
    const struct nni_ExperimentConfig *e = c.data;
    int64_t seconds = 0;
    CHECK(c.kind == kind);
    CHECK_INT(d.list.n, 0);
    CHECK_STR(e->trialCommand, "run");
    CHECK_INT(e->trialConcurrency, 3);
    CHECK_STR(e->maxTrialDuration, "90s");
    CHECK(nni_duration(str_c(e->maxTrialDuration), &seconds));
    CHECK_INT(seconds, 90);
    CHECK_INT(e->n_tunerGpuIndices, 2);
    CHECK_INT(e->tunerGpuIndices[1], 2);
    CHECK(node_find(e->searchSpace, "Batch_Size") != NULL);
    CHECK_INT(e->n_trainingService, 1);
    CHECK(e->trainingService[0]->def == &nni_LocalConfig_def);
    diags_release(&d);
    conf_release(&c);
}

static void the_dlc_example_loads_with_its_secrets_marked(void)
{
    struct conf c;
    struct diags d = {0};
    CHECK_INT(
        load(SERVICE(DLC "  ecsSpec: \"{'resource_id':'rg1','cpu':2,'memory':8,'gpu':0,"
                         "'gputype':'','shared_memory':''}\"\n  workspaceId: 123\n"),
             &c, &d),
        RC_OK);
    const struct nni_ExperimentConfig *e = c.data;
    const struct nni_DlcConfig *dlc = (const void *)e->trainingService[0];
    CHECK_STR(dlc->workspaceId, "123");
    CHECK_STR(dlc->containerStorageMountPoint, "/root/data/");
    CHECK(schema_field(&nni_DlcConfig_def, "accessKeySecret")->flags & FIELD_SECRET);
    CHECK(schema_field(&nni_RemoteMachineConfig_def, "password")->flags & FIELD_SECRET);
    struct nni_ecs_spec spec;
    CHECK_INT(nni_ecs_parse(str_c(dlc->ecsSpec), &c.arena, &spec, NULL), RC_OK);
    CHECK_STR(spec.resource_id, "rg1");
    CHECK_NEAR(spec.memory, 8, 0);
    CHECK(!spec.instance_type);
    diags_release(&d);
    conf_release(&c);
}

static void a_search_space_file_is_checked_where_it_stands(void)
{
    char *dir = NULL;
    struct err err = {0};
    struct conf c;
    struct diags d = {0};
    struct conf_options o = {0};
    CHECK_INT(fs_temp_dir("nni", &dir, &err), RC_OK);
    char *space = fs_join(dir, "s.json"), *file = fs_join(dir, "c.yml");
    const char *json = "{\"x\": {\"_type\": \"uniform\", \"_value\": [0, 1,],},\n"
                       "\t\"y\": {\"_type\": \"uniform\", \"_value\": [1, 0]}}";
    const char *yaml = COMMAND COUNT TUNER LOCAL "searchSpaceFile: s.json\n";
    CHECK_INT(fs_write(space, json, strlen(json), 0644, &err), RC_OK);
    CHECK_INT(fs_write(file, yaml, strlen(yaml), 0644, &err), RC_OK);
    CHECK_INT(conf_open(file, &o, &c, &d, &err), RC_INVAL);
    CHECK_INT(d.n_errors, 1);
    CHECK_INT(d.list.at[0].code, E0435);
    CHECK_STR(d.list.at[0].at.src->name, space);
    uint32_t line, col;
    source_locate(d.list.at[0].at.src, d.list.at[0].at.off, &line, &col);
    CHECK_INT(line, 2);
    CHECK_INT(col, 38);
    diags_release(&d);
    conf_release(&c);

    /* Neither JSON nor YAML: its own message, and one at the value. */
    const char *broken = "{\"x\": {";
    CHECK_INT(fs_write(space, broken, strlen(broken), 0644, &err), RC_OK);
    CHECK_INT(conf_open(file, &o, &c, &d, &err), RC_INVAL);
    CHECK_INT(d.n_errors, 2);
    CHECK_STR(d.list.at[0].at.src->name, space);
    CHECK_INT(d.list.at[1].code, E0402);
    CHECK_STR(d.list.at[1].at.src->name, file);
    diags_release(&d);
    conf_release(&c);
    CHECK_INT(fs_remove_all(dir, &err), RC_OK);
    mem_free(space);
    mem_free(file);
    mem_free(dir);
}

static void arguments_are_bound_with_defaults(void)
{
    struct conf c;
    struct diags d = {0};
    const struct nni_algo *tpe = nni_algo_find(NNI_TUNER, "tpe");
    CHECK_INT(
        load(TPE("seed: 3.0, tpe_args: {gamma: 1, constant_liar_type: null}"), &c, &d),
        RC_OK);
    const struct nni_ExperimentConfig *e = c.data;
    const struct nni_TpeArgs *t = nni_args_bind(tpe, e->tuner->classArgs, &c.arena);
    CHECK_STR(t->optimize_mode, "minimize");
    CHECK_INT(t->seed, 3);
    CHECK(t->has_seed);
    CHECK_NEAR(t->tpe_args->gamma, 1, 0);
    CHECK(!t->tpe_args->has_n_startup_jobs && t->tpe_args->multivariate);
    CHECK_STR(t->tpe_args->constant_liar_type, "none");
    t = nni_args_bind(tpe, NULL, &c.arena);
    CHECK(!t->has_seed);
    CHECK(t->tpe_args == NULL);
    diags_release(&d);
    conf_release(&c);
}

static void every_algorithm_has_consistent_defaults(void)
{
    size_t n;
    const struct nni_algo *algos = nni_algos(&n);
    struct arena a = {0};
    CHECK(n >= 20);
    for (size_t i = 0; i < n; i++) {
        struct diags d = {0};
        CHECK(nni_algo_find(algos[i].role, algos[i].name) == &algos[i]);
        CHECK(!algos[i].alias ||
              nni_algo_find(algos[i].role, algos[i].alias) == &algos[i]);
        CHECK((algos[i].flags & NNI_ELSEWHERE) || algos[i].args);
        if (!algos[i].args)
            continue;
        /* Each default, written out, is accepted. */
        struct node *map = node_create(&a, NODE_MAP, (struct span){0});
        for (const struct field_def *f = algos[i].args->fields(); f->name; f++) {
            double v;
            bool text = f->type == FIELD_STR;
            if (!f->init)
                continue;
            if (f->type == FIELD_BOOL)
                node_put(&a, map, f->name,
                         node_bool(&a, strcmp(f->init, "true") == 0, map->at));
            else if (!text && str_to_f64(str_c(f->init), &v))
                node_put(&a, map, f->name, node_real(&a, v, map->at));
            else
                node_put(&a, map, f->name,
                         node_str(&a, f->init, strlen(f->init), map->at));
        }
        nni_args_check(&algos[i], map, &d);
        CHECK_INT(d.list.n, 0);
        if (d.list.n)
            printf("#   %s: %s\n", algos[i].name, d.list.at[0].msg);
        diags_release(&d);
    }
    arena_release(&a);
}

static void a_space_file_with_commas_too_many_is_read_as_yaml(void)
{
    struct conf c;
    struct diags d = {0};
    CHECK_INT(
        load("{\"x\": {\"_type\": \"uniform\",\t\"_value\": [1e-5, 1,],},}\n", &c, &d),
        RC_OK);
    CHECK(c.kind == &conf_kind_nni_space);
    CHECK_INT(c.syntax, SYNTAX_YAML);
    const struct nni_space *space = c.data;
    CHECK_INT(space->n, 1);
    CHECK_NEAR(space->at[0].low, 1e-5, 0);
    diags_release(&d);
    conf_release(&c);
}

static void durations_and_sizes(void)
{
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
        bool size;
    } rows[] = {
        {"0.5h", 1800, false}, {"10m", 600, false},   {"1D", 86400, false},
        {"1.2s", 2, false},    {"100", -1, false},    {"m", -1, false},
        {"1 h", 3600, false},  {"1e300d", -1, false}, {"nand", -1, false},
        {"", -1, false},       {"2gb", 2048, true},   {"1TB", 1048576, true},
        {"1kb", 1, true},      {"1048577b", 2, true}, {"4g", -1, true},
        {"8", -1, true},       {"1.5 mb", 2, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = -1;
        struct str s = str_c(rows[i].text);
        bool ok = rows[i].size ? nni_size(s, &v) : nni_duration(s, &v);
        CHECK_INT(ok, rows[i].value >= 0);
        CHECK_INT(v, rows[i].value);
    }
}

static const struct tap_case cases[] = {
    TAP(what_is_missing_or_out_of_bounds),
    TAP(tuners_and_assessors),
    TAP(arguments_of_algorithms),
    TAP(tuners_refuse_spaces_they_do_not_take),
    TAP(local_and_remote_services),
    TAP(cluster_services),
    TAP(annotation_beside_a_space_is_two_errors),
    TAP(keys_are_folded_and_user_data_is_not),
    TAP(the_dlc_example_loads_with_its_secrets_marked),
    TAP(a_search_space_file_is_checked_where_it_stands),
    TAP(arguments_are_bound_with_defaults),
    TAP(every_algorithm_has_consistent_defaults),
    TAP(a_space_file_with_commas_too_many_is_read_as_yaml),
    TAP(durations_and_sizes),
};
TAP_MAIN(cases)
