/* SPDX-License-Identifier: Apache-2.0 */
/* PaddleRec's files: each rule with its message and place. */
#include "checked.h"
#include "text/paddlerec/paddlerec.h"
#include "text/paddlerec/slots.h"

/* One line each, so that a row can be read with its line numbers. */
#define TOP "workspace: ./\nmode: [r]\n"
#define DATA "dataset: [{name: d, data_path: train_data, sparse_slots: a b}]\n"
#define PHASE "phase: [{name: p, model: m.py, dataset_name: d}]\n"
#define RUNNER(more) "runner: [{name: r" more "}]\n"
#define CONFIG(more) TOP DATA PHASE RUNNER(more)
#define OF(set) TOP PHASE RUNNER("") "dataset: [{name: d, " set "}]\n"

#define ERR(code_, msg_, line_, col_) DIAG_ERROR, code_, msg_, line_, col_, NULL
#define WARN(code_, msg_, line_, col_) DIAG_WARNING, code_, msg_, line_, col_, NULL

static const struct conf_kind *const config = &conf_kind_paddlerec_config;
static const struct conf_kind *const backend = &conf_kind_paddlerec_backend;

static void names_and_references(void)
{
    static const struct checked_row rows[] = {
        {"mode: r\n" DATA PHASE RUNNER(""),
         ERR(E0501, "can not find workspace in yaml, which is required", 1, 1)},
        {"workspace: ./\n" DATA PHASE RUNNER(""),
         ERR(E0501, "can not find mode in yaml, which is required", 1, 1)},
        {TOP DATA PHASE,
         ERR(E0501, "can not find runner in yaml, which is required", 1, 1)},
        {TOP DATA RUNNER(""),
         ERR(E0501, "can not find phase in yaml, which is required", 1, 1)},
        {"workspace: ./\nmode: []\n" DATA PHASE RUNNER(""),
         ERR(E0504, "yaml mast have config: mode", 2, 7)},
        {"workspace: ./\nmode: [runner_1]\n" DATA PHASE "runner: [{name: runner1}]\n",
         DIAG_ERROR, E0504, "mode names no runner: 'runner_1'", 2, 8,
         "did you mean 'runner1'?"},
        {TOP PHASE RUNNER("") DATA "debug: maybe\n",
         ERR(E0202, "'debug' takes true or false, not a string \"maybe\"", 6, 8)},
        {TOP PHASE RUNNER("") "dataset: [{data_path: x, sparse_slots: a}, {name: d, "
                              "data_path: x, sparse_slots: a}]\n",
         ERR(E0502, "name must be in dataset list", 5, 11)},
        {TOP DATA PHASE "runner: [{name: r}, {name: r}]\n",
         ERR(E0503, "runner has two elements named 'r'", 5, 28)},
        {CONFIG(", phases: [p1]"), DIAG_ERROR, E0509,
         "runner.r.phases names no phase: 'p1'", 5, 29, "did you mean 'p'?"},
        {CONFIG(", phases: other"),
         ERR(E0509, "runner.r.phases names no phase: 'other'", 5, 28)},
        {TOP DATA RUNNER("") "phase: [{name: p, dataset_name: d}]\n",
         ERR(E0510, "phase 'p' has no model", 5, 9)},
        {TOP DATA RUNNER("") "phase: [{name: p, model: m}]\n",
         ERR(E0510, "phase 'p' has no dataset_name", 5, 9)},
        {TOP DATA RUNNER("") "phase: [{name: p, model: m, dataset_name: train}]\n",
         ERR(E0511, "dataset_name names no dataset: 'train'", 5, 43)},
        {TOP DATA RUNNER(
             "") "phase: [{name: p, model: m, dataset_name: d, thread_num: 0}]\n",
         ERR(E0203, "'thread_num': 0 is below 1", 5, 58)},
        {TOP DATA RUNNER("") "phase: [{name: p, model: m, dataset_name: d, "
                             "gradient_scale_strategy: 3}]\n",
         ERR(E0512,
             "Unsupported config. gradient_scale_strategy must be one of [0, 1, 2].", 5,
             71)},
        {TOP DATA RUNNER(
             "") "phase: [{name: p, model: m, dataset_name: d, shuffle_filelist: "
                 "2}]\n",
         ERR(E0202, "'shuffle_filelist' takes true or false, not an integer '2'", 5, 64)},
    };
    CHECKED_ROWS(config, rows);
}

static void runners(void)
{
    static const struct checked_row rows[] = {
        {CONFIG(", class: trian"), DIAG_ERROR, E0505,
         "runner.r.class can only be chosen in ['TRAIN', 'INFER', 'LOCAL_CLUSTER_TRAIN', "
         "'CLUSTER_TRAIN']",
         5, 27, "did you mean 'train'?"},
        {CONFIG(", device: tpu"), ERR(E0506, "Not Support device tpu", 5, 28)},
        {CONFIG(", fleet_mode: xps"), ERR(E0507, "Not Support Fleet Mode xps", 5, 32)},
        {CONFIG(", class: cluster_train, fleet_mode: collective"),
         ERR(E0507, "COLLECTIVE can not be used without GPU", 5, 54)},
        {CONFIG(", distribute_strategy: asycn"), DIAG_WARNING, E0508,
         "distribute_strategy 'asycn' is read as 'async'", 5, 41,
         "did you mean 'async'?"},
        {CONFIG(", distribute_strategy: synch"), DIAG_ERROR, E0508,
         "distribute_strategy takes async, sync, half_async or geo, not 'synch'", 5, 41,
         "did you mean 'sync'?"},
        {CONFIG(", fleet_mode: collective, distribute_strategy: sync"),
         WARN(E0508, "distribute_strategy has no effect: fleet_mode is collective", 5,
              65)},
        {CONFIG(", geo_step: 10"),
         WARN(E0520, "geo_step has no effect: distribute_strategy is async", 5, 30)},
        {CONFIG(", save_checkpoint_interval: 0"),
         ERR(E0513, "save_checkpoint_interval must be at least 1, not 0", 5, 46)},
        {CONFIG(", save_inference_interval: -2"),
         ERR(E0513, "save_inference_interval must be at least 1, not -2", 5, 45)},
        {CONFIG(", save_checkpoint_interval: 2"),
         WARN(E0520,
              "save_checkpoint_interval has no effect: save_checkpoint_path is not set",
              5, 46)},
        {CONFIG(", save_inference_feed_varnames: [a]"),
         WARN(E0520, "nothing is exported: save_inference_fetch_varnames is not set", 5,
              50)},
        {CONFIG(", finetuning_aspect_varnames: [a, b]"),
         ERR(E0522, "fine tuning mode can only accept one varname now", 5, 48)},
        {CONFIG(", device: gpu, selected_gpus: '0;1'"),
         ERR(E0517, "selected_gpus takes numbers of cards separated by commas, not '0;1'",
             5, 48)},
        {CONFIG(", device: gpu, selected_gpus: '1,1'"),
         ERR(E0517, "selected_gpus names a card twice, not '1,1'", 5, 48)},
        {CONFIG(", selected_gpus: 0"),
         WARN(E0517, "selected_gpus has no effect: device is cpu", 5, 35)},
        {CONFIG(", class: infer, init_model_path: m, device: gpu, selected_gpus: '2,3'"),
         WARN(E0517, "Not Support Distributed Infer: card 2 alone is used", 5, 82)},
        {CONFIG(", class: infer, init_model_path: m, epochs: 2"),
         WARN(E0518, "It makes no sense to predict the same model for multiple epochs", 5,
              62)},
        {CONFIG(", class: INFER"),
         WARN(E0518,
              "runner.r evaluates a model that was never trained: init_model_path is "
              "not set",
              5, 10)},
        {CONFIG(", worker_num: 2"),
         WARN(E0520, "worker_num has no effect: class is train, not local_cluster_train",
              5, 32)},
        {CONFIG(", epochs: 0"), ERR(E0203, "'epochs': 0 is below 1", 5, 28)},
        {CONFIG(", print_intervall: 3"), DIAG_ERROR, E0201,
         "Runner has no field 'print_intervall'", 5, 20,
         "did you mean 'print_interval'?"},
        {CONFIG(", load_vars: [a]"), WARN(E0208, "'load_vars' has no effect", 5, 20)},
        {TOP DATA RUNNER(
             "") "phase: [{name: p, model: m, dataset_name: d}, {name: q, model: "
                 "m, dataset_name: d}]\n",
         DIAG_NOTE, E0524, "runner.r names no phases and runs all 2", 4, 10, NULL},
        {"workspace: models/x\nmode: r\n" DATA PHASE RUNNER(", class: cluster_train"),
         DIAG_WARNING, E0519,
         "runner.r is cluster_train: files lie in the working directory of a node", 1, 12,
         "write workspace: \"./\""},
        {TOP PHASE RUNNER(
             ", class: cluster_train") "dataset: [{name: d, data_path: data, "
                                       "sparse_slots: a}]\n",
         WARN(
             E0519,
             "runner.r is cluster_train: nodes find data below train_data/ (mpi) or afs/ "
             "(k8s)",
             5, 32)},
        {CONFIG(", class: cluster_train, phases: [p, p]"),
         WARN(E0519, "Cluster Train Only Support One Phase.", 5, 50)},
        {CONFIG(", class: cluster_train, save_inference_path: i, "
                "save_inference_feed_varnames: [a], save_inference_fetch_varnames: [b]"),
         WARN(E0519,
              "Save inference model in cluster training is not recommended! Using "
              "save checkpoint instead.",
              5, 63)},
        {"workspace: a\nworkspace: ./\nmode: r\n" DATA PHASE RUNNER(""),
         WARN(E0108,
              "key 'workspace' is given twice; this one counts, the first is at line 1, "
              "column 1",
              2, 1)},
        {CONFIG("") "hyper_parameters: {optimizer: {class: Adamm}}\n",
         ERR(E0521, "configured optimizer can only supported SGD/Adam/Adagrad", 6, 39)},
        {CONFIG("") "hyper_parameters: {optimizer: {learning_rate: small}}\n",
         ERR(E0521,
             "In your config yaml, 'learning_rate': small must be written as a floating "
             "piont number,such as 0.001 or 1e-3",
             6, 47)},
        {CONFIG("") "hyper_parameters: {optimizr: {class: Adam}}\n", DIAG_WARNING, E0212,
         "'optimizr' is not a field of HyperParameters", 6, 20,
         "did you mean 'optimizer'?"},
        {CONFIG("") "hyper_parameters: {optimizer: {strategy: async}}\n", DIAG_WARNING,
         E0208, "'strategy' has no effect", 6, 32,
         "the runner's distribute_strategy counts"},
    };
    CHECKED_ROWS(config, rows);
}

static void datasets_and_slots(void)
{
    static const struct checked_row rows[] = {
        {OF("sparse_slots: a"), ERR(E0514, "dataset 'd' has no data_path", 5, 11)},
        {OF("data_path: x"),
         ERR(E0514, "dataset 'd' has neither slots nor a data_converter", 5, 11)},
        {OF("data_path: x, sparse_slots: a, data_converter: r.py"),
         WARN(E0520, "data_converter has no effect: the dataset has slots", 5, 68)},
        {OF("data_path: x, sparse_slots: a, type: Dataloader"), DIAG_ERROR, E0204,
         "'type' takes 'DataLoader' or 'QueueDataset', not \"Dataloader\"", 5, 58,
         "did you mean 'DataLoader'?"},
        {OF("data_path: x, sparse_slots: 'a b a'"),
         ERR(E0515, "sparse_slots: 'a' occurs twice here", 5, 54)},
        {OF("data_path: x, sparse_slots: \"a b:3\""),
         ERR(E0515, "sparse_slots: 'b': a sparse slot has a name only, no ':'", 5, 52)},
        {OF("data_path: x, dense_slots: 'v'"),
         ERR(E0515, "dense_slots: 'v': a dense slot is written name:size", 5, 49)},
        {OF("data_path: x, dense_slots: 'v:13 w:0'"),
         ERR(E0515, "dense_slots: 'w': '0' is not a size of at least 1", 5, 54)},
        {OF("data_path: x, dense_slots: 'v:[2, 3]'"),
         ERR(E0515,
             "dense_slots: 'v': '[' is not closed; sizes are written [2,3], without blanks",
             5, 49)},
        {OF("data_path: x, dense_slots: 'v:'"),
         ERR(E0515, "dense_slots: 'v': a size is missing behind ':'", 5, 49)},
        {OF("data_path: x, dense_slots: ':3'"),
         ERR(E0515, "dense_slots: a slot without a name", 5, 49)},
        {OF("data_path: x, sparse_slots: a b, dense_slots: 'c:1 b:2'"),
         ERR(E0516, "slot 'b' is sparse and dense", 5, 72)},
        {OF("data_path: x, sparse_slots: a, batch_size: 0"),
         ERR(E0203, "'batch_size': 0 is below 1", 5, 64)},
        {OF("data_path: '{worksapce}/x', sparse_slots: a"), DIAG_WARNING, E0523,
         "data_path: '{worksapce}' is not replaced by anything", 5, 33,
         "did you mean '{workspace}'?"},
        {OF("data_path: x, sparse_slots: a, batchsize: 3"), DIAG_WARNING, E0212,
         "'batchsize' is not a field of Dataset", 5, 52, "did you mean 'batch_size'?"},
        {TOP PHASE RUNNER(
             ", save_step_interval: 3, save_step_path: s") "dataset: [{name: d, "
                                                           "data_path: x, "
                                                           "type: "
                                                           "QueueDataset, "
                                                           "sparse_slots: "
                                                           "a}]\n",
         WARN(E0520,
              "QueueDataset can not support save by step, please not config "
              "save_step_interval and save_step_path in your yaml",
              4, 40)},
        {TOP PHASE RUNNER(
             ", fleet_mode: collective, device: gpu") "dataset: [{name: d, type: "
                                                      "QueueDataset, data_path: "
                                                      "x, sparse_slots: a}]\n",
         ERR(E0507, "runner.r is collective, which reads a DataLoader only", 5, 27)},
    };
    CHECKED_ROWS(config, rows);
}

#define CLOUD "backend: PaddleCloud\n"
#define MPI CLOUD "cluster_type: mpi\n"
#define K8S CLOUD "cluster_type: K8S\n"
#define STORE "fs_name: afs://h, fs_ugi: 'u,p', output_path: /o"
#define PATHS ", train_data_path: /a, test_data_path: /b, thirdparty_path: /c"
#define KEYS "submit: {ak: a, sk: s, files: ./*.py ./*.yaml}\n"
#define BACKEND(more) MPI "config: {" STORE PATHS more "}\n" KEYS
#define SUBMIT(more) MPI "config: {" STORE PATHS "}\nsubmit: {ak: a, sk: s" more "}\n"

static void backends(void)
{
    static const struct checked_row rows[] = {
        {"backend: slurm\nsubmit: {ak: a}\n",
         ERR(E0530, "SLURM can not be supported now", 1, 10)},
        {"cluster_type: mpi\nsubmit: {ak: a}\n",
         ERR(E0530, "NONE can not be supported now", 1, 1)},
        {CLOUD "cluster_type: yarn\nconfig: {" STORE "}\n" KEYS,
         ERR(E0531, "cluster_type yarn error, must in MPI/K8S", 2, 15)},
        {CLOUD "config: {" STORE "}\n" KEYS,
         ERR(E0531, "cluster_type None error, must in MPI/K8S", 1, 1)},
        {K8S "config: {fs_name: afs://h, output_path: /o}\n" KEYS,
         ERR(E0532,
             "No -- FS_UGI or FS_NAME -- found in your backend.yaml, please check.", 3,
             1)},
        {K8S "config: {fs_name: afs://h, fs_ugi: u, output_path: /o}\n" KEYS,
         ERR(E0532, "fs_ugi is written user,password", 3, 36)},
        {K8S "config: {fs_name: afs://h, fs_ugi: 'u,p'}\n" KEYS,
         WARN(E0535, "Job output_path not set! Please check your backend yaml.", 3, 1)},
        {MPI "config: {" STORE PATHS "}\nsubmit: {ak: , sk: s, files: '*'}\n",
         ERR(E0533, "No -- AK or SK -- found in your backend.yaml, please check.", 4, 1)},
        {MPI "config: {" STORE PATHS "}\nsubmit: {ak: a, sk: '', files: '*'}\n",
         ERR(E0533, "No -- AK or SK -- found in your backend.yaml, please check.", 4,
             21)},
        {SUBMIT(""),
         ERR(E0534, "No -- files -- found in your backend.yaml, please check.", 4, 1)},
        {SUBMIT(", files: ./*.py"),
         WARN(E0534, "start_cmd runs config.yaml, but files does not upload it", 4, 31)},
        {SUBMIT(", files: '*', priority: urgent"),
         WARN(E0537, "priority is normal, high or very_high, not 'urgent'", 4, 46)},
        {SUBMIT(", files: '*', nodes: 0"), ERR(E0203, "'nodes': 0 is below 1", 4, 43)},
        {SUBMIT(", files: '*', k8s_trainer: 2"), DIAG_ERROR, E0201,
         "Submit has no field 'k8s_trainer'", 4, 36, "did you mean 'k8s_trainers'?"},
        {MPI "config: {" STORE "}\n" KEYS,
         ERR(E0535,
             "No -- TRAIN_DATA_PATH -- found in your backend.yaml, please add "
             "train_data_path in your backend yaml.",
             3, 1)},
        {MPI "config: {" STORE ", train_data_path: /t}\n" KEYS,
         WARN(E0535, "Job test_data_path not set! Please check your backend yaml.", 3,
              1)},
        {MPI "config: {" STORE ", train_data_path: /t}\n" KEYS,
         WARN(E0535, "Job thirdparty_path not set! Please check your backend yaml.", 3,
              1)},
        {K8S "config: {" STORE "}\n" KEYS,
         WARN(E0535,
              "Job afs_remote_mount_point not set! Please check your backend yaml.", 3,
              1)},
        {K8S "config: {" STORE ", afs_remote_mount_point: /m}\n" KEYS, DIAG_NOTE, E0535,
         "The remote afs path will be mounted to the ./afs/", 3, 84, NULL},
        {BACKEND(", paddle_version: 1.7.1"),
         ERR(E0536, "paddle_version must be at least 1.7.2, not 1.7.1", 3, 138)},
        {BACKEND(", paddle_version: newest"),
         ERR(E0536, "paddle_version reads like 1.8.5, not 'newest'", 3, 138)},
        {K8S "config: {" STORE ", afs_remote_mount_point: 'afs:/user/x'}\n" KEYS,
         DIAG_WARNING, E0539, "afs_remote_mount_point is written without a scheme", 3, 84,
         "write afs_remote_mount_point: \"/user/x\""},
        {BACKEND(", communicator: {FLAGS_communicator_send_queue_size: 0}"),
         ERR(E0203, "'FLAGS_communicator_send_queue_size': 0 is below 1", 3, 173)},
        {"backend: k8s\nengine: {job_name: j}\n",
         WARN(E0535, "engine.submit.docker_image is not set", 2, 1)},
    };
    CHECKED_ROWS(backend, rows);
}

/* The example of PaddleRec's manual: repeated keys, and a key in another spelling. */
static void the_manuals_backend_loads(void)
{
    struct conf c;
    struct diags d = {0};
    struct err err = {0};
    struct conf_options o = {0};
    const char *text = MPI
        "config:\n  paddle_version: \"1.7.2\"\n  use_python3: 1\n  fs_name: \"afs://xxx.com\"\n"
        "  fs_ugi: \"usr,pwd\"\n  output_path: \"\"\n  train_data_path: \"/t\"\n"
        "  communicator:\n    FLAGS_communicator_is_sgd_optimizer: 0\n"
        "    FLAGS_communicator_min_send_grad_num_before_recv: 5\n"
        "submit:\n  ak: \"a\"\n  sk: \"s\"\n  files: ./*.py ./*.yaml\n  nodes: 2\n"
        "  k8s_trainers: 2\n  k8s-cpu-cores: 3\n  k8s_trainers: 4\n  k8s-cpu-cores: 4\n";
    CHECK_INT(conf_from("b", text, strlen(text), &o, &c, &d, &err), RC_OK);
    CHECK(c.kind == backend);
    const struct prec_Backend *b = c.data;
    if (b) {
        CHECK(b->config->use_python3);
        CHECK_INT(
            b->config->communicator->FLAGS_communicator_max_send_grad_num_before_recv, 5);
        CHECK_INT(b->submit->k8s_trainers, 4);
        CHECK_INT(b->submit->k8s_cpu_cores, 4);
        CHECK_STR(b->submit->group, "paddle");
    }
    CHECK(schema_field(&prec_Submit_def, "sk")->flags & FIELD_SECRET);
    diags_release(&d);
    conf_release(&c);
}

static void the_manuals_config_loads_without_a_word(void)
{
    struct conf c;
    struct diags d = {0};
    struct err err = {0};
    struct conf_options o = {0};
    const char *text =
        "workspace: \"./\"\nmode: [ps_cluster]\nrunner:\n- name: ps_cluster\n"
        "  class: cluster_train\n  epochs: 4\n  device: cpu\n  fleet_mode: ps\n"
        "  distribute_strategy: async\n  save_checkpoint_interval: 2\n"
        "  save_checkpoint_path: \"increment_dnn\"\n  init_model_path: \"\"\n"
        "  print_interval: 10\n  phases: [phase1]\ndataset:\n- name: dataloader_train\n"
        "  batch_size: 2\n  type: DataLoader\n  data_path: \"{workspace}/train_data\"\n"
        "  sparse_slots: \"click 1 2 3\"\n  dense_slots: \"dense_var:13\"\nphase:\n"
        "- name: phase1\n  model: \"{workspace}/model.py\"\n"
        "  dataset_name: dataloader_train\n  thread_num: 1\n"
        "hyper_parameters:\n  optimizer: {class: adam, learning_rate: '1e-3'}\n"
        "  sparse_feature_dim: 9\ntrain: {strategy: {mode: {push_num: 50}}}\n";
    CHECK_INT(conf_from("c", text, strlen(text), &o, &c, &d, &err), RC_OK);
    CHECK(c.kind == config);
    CHECK_INT(d.list.n, 0);
    const struct prec_Config *f = c.data;
    if (f) {
        CHECK_STR(f->mode[0], "ps_cluster");
        CHECK_STR(f->runner[0]->phases[0], "phase1");
        CHECK_NEAR(f->hyper_parameters->optimizer->learning_rate, 1e-3, 0);
        CHECK(node_find(f->hyper_parameters->base.node, "sparse_feature_dim") != NULL);
        CHECK_INT(f->train->strategy->mode->push_num, 50);
        CHECK_STR(f->dataset[0]->sparse_slots, "click 1 2 3");
    }
    diags_release(&d);
    conf_release(&c);
}

static void slots_become_a_typed_list(void)
{
    struct arena a = {0};
    struct prec_slots s = {0};
    struct err err = {0};
    size_t off, len;
    CHECK_INT(
        prec_slots_parse(str_c(" v:13  img:[3,8] "), true, &a, &s, &off, &len, &err),
        RC_OK);
    CHECK_INT(s.n, 2);
    CHECK_STR(s.at[0].name, "v");
    CHECK_INT(s.at[0].width, 13);
    CHECK_STR(s.at[1].name, "img");
    CHECK_INT(s.at[1].n_dims, 2);
    CHECK_INT(s.at[1].dims[1], 8);
    CHECK_INT(s.at[1].width, 24);
    CHECK_INT(s.at[1].off, 7);
    CHECK_INT(prec_slots_parse(str_c(""), false, &a, &s, &off, &len, &err), RC_OK);
    CHECK_INT(s.n, 0);
    CHECK_INT(prec_slots_parse(str_c("v:[65536,65536]"), true, &a, &s, &off, &len, &err),
              RC_FORMAT);
    CHECK_STR(err.msg, "'v': more than 2147483648 values");
    CHECK_INT(
        prec_slots_parse(str_c("v:[1,1,1,1,1,1,1,1,1]"), true, &a, &s, &off, &len, &err),
        RC_FORMAT);
    CHECK_STR(err.msg, "'v': more than 8 dimensions");
    arena_release(&a);
}

static const struct tap_case cases[] = {
    TAP(names_and_references),      TAP(runners),
    TAP(datasets_and_slots),        TAP(backends),
    TAP(the_manuals_backend_loads), TAP(the_manuals_config_loads_without_a_word),
    TAP(slots_become_a_typed_list),
};
TAP_MAIN(cases)
