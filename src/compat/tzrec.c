/* SPDX-License-Identifier: Apache-2.0 */
/* TorchEasyRec's programs. A row per argument says which option of ours it becomes. What
 * upstream does not know it passes over in silence; we name it.
 */
#include "compat/tzrec.h"

#include <string.h>

#include "base/str.h"
#include "compat/flags.h"

#define ARGS_MAX 24

/* An argument of a program. */
struct tz_arg {
    const char *name;
    const char *to;      /* our option; "": the argument beside options; NULL: none */
    const char *because; /* of one without effect: why */
    bool no_value;
};

struct tz_program {
    const char *name;    /* module behind "tzrec." */
    const char *command; /* ours */
    const char *verb;    /* of a command of two words; else NULL */
    const char *needs;   /* one of these must be given, '|' between them */
    bool seeded;         /* takes --seed */
    bool quantised;      /* takes --table-type */
    struct tz_arg args[ARGS_MAX];
};

static const struct tz_program programs[] = {
    {.name = "train_eval",
     .command = "train",
     .needs = "pipeline_config_path",
     .seeded = true,
     .args = {{"pipeline_config_path", ""},
              {"train_input_path", "train-input"},
              {"eval_input_path", "eval-input"},
              {"model_dir", "model-dir"},
              {"continue_train", "continue", .no_value = true},
              {"fine_tune_checkpoint", "fine-tune"},
              {"ignore_restore_optimizer", "ignore-restore-optimizer", .no_value = true},
              {"edit_config_json", "edit-config-json"}}},
    {.name = "eval",
     .command = "eval",
     .needs = "pipeline_config_path",
     .args = {{"pipeline_config_path", ""},
              {"checkpoint_path", "checkpoint"},
              {"eval_input_path", "eval-input"},
              {"eval_result_filename", "eval-result-filename"},
              {"edit_config_json", "edit-config-json"}}},
    {.name = "export",
     .command = "export",
     .needs = "pipeline_config_path",
     .quantised = true,
     .args = {{"pipeline_config_path", ""},
              {"checkpoint_path", "checkpoint"},
              {"export_dir", "export-dir"},
              {"asset_files", "asset-files"},
              {"additional_export_config", "additional-export-config"},
              {"item_input_path", "sample-input"},
              {"edit_config_json", "edit-config-json"}}},
    {.name = "predict",
     .command = "predict",
     .needs = "scripted_model_path|pipeline_config_path",
     .args = {{"scripted_model_path", "model"},
              {"pipeline_config_path", "config"},
              {"checkpoint_path", "checkpoint"},
              {"predict_input_path", "input"},
              {"predict_output_path", "output"},
              {"reserved_columns", "reserved-columns"},
              {"output_columns", "output-columns"},
              {"batch_size", "batch-size"},
              {"predict_threads", "threads"},
              {"dataset_type", "dataset-type"},
              {"writer_type", "writer-type"},
              {"predict_steps", "predict-steps"},
              {"debug_level", "debug-level"},
              {"edit_config_json", "edit-config-json"},
              {"is_profiling", NULL, "there is no trace of a prediction", true}}},
    {.name = "tools.list_distcp_param",
     .command = "params",
     .needs = "checkpoint_path",
     .args = {{"checkpoint_path", ""}}},
    {.name = "tools.feature_selection",
     .command = "features",
     .verb = "select",
     .needs = "pipeline_config_path",
     .args = {{"pipeline_config_path", ""},
              {"model_dir", "model-dir"},
              {"output_dir", "output-dir"},
              {"topk", "topk"},
              {"clear_variational_dropout", "clear-variational-dropout",
               .no_value = true},
              {"visualize", NULL, "the ranking is printed, not drawn", true}}},
    {.name = "tools.create_fg_json",
     .command = "features",
     .verb = "fg-json",
     .needs = "pipeline_config_path",
     .args = {{"pipeline_config_path", ""},
              {"fg_output_dir", "output-dir"},
              {"reserves", "reserves"},
              {"fg_resource_name", "file-name"},
              {"remove_bucketizer", "remove-bucketizer", .no_value = true},
              {"odps_project_name", NULL, "the file is not uploaded"},
              {"odps_schema_name", NULL, "the file is not uploaded"},
              {"force_update_resource", NULL, "the file is not uploaded", true},
              {"debug", NULL, "`trainyard predict --debug-level 1` shows features",
               true}}},
    {.name = "tools.add_feature_info_to_config",
     .command = "features",
     .verb = "update",
     .needs = "template_model_config_path",
     .args = {{"template_model_config_path", ""},
              {"model_config_path", "output"},
              {"config_table_path", "table"},
              {"reader_type", NULL, "the format is detected from the files"},
              {"odps_data_quota_name", NULL, "the default quota is used"}}},
    {.name = "tools.convert_easyrec_config_to_tzrec_config",
     .command = "config",
     .verb = "from-easyrec",
     .needs = "easyrec_config_path",
     .args = {{"easyrec_config_path", ""},
              {"fg_json_path", "fg-json"},
              {"output_tzrec_config_path", "output"},
              {"use_old_fg", "use-old-fg", .no_value = true},
              {"easyrec_package_path", NULL, "no package of EasyRec is needed"}}},
    {.name = "tools.dynamicemb.create_dynamicemb_init_ckpt",
     .command = "tables",
     .verb = "init",
     .needs = "pipeline_config_path",
     .args = {{"pipeline_config_path", ""},
              {"save_dir", "save-dir"},
              {"separator", "separator"},
              {"world_size", NULL, "a checkpoint serves any number of ranks"},
              {"reader_worker_num", NULL, "one thread reads"},
              {"reader_type", NULL, "the format is detected from the files"},
              {"odps_data_quota_name", NULL, "the quota is that of data_config"}}},
    {.name = "tools.dynamicemb.zch_to_dynamicemb_convert",
     .command = "tables",
     .verb = "from-zch",
     .needs = "source_checkpoint_path",
     .args = {{"source_checkpoint_path", ""},
              {"target_pipeline_config_path", "config"},
              {"save_dir", "save-dir"},
              {"source_pipeline_config_path", NULL, "the checkpoint tells its tables"},
              {"world_size", NULL, "a checkpoint serves any number of ranks"}}},
    {.name = "tools.create_faiss_index",
     .command = "index",
     .verb = "create",
     .needs = "embedding_input_path",
     .args = {{"embedding_input_path", ""},
              {"index_output_dir", "output-dir"},
              {"index_type", "index-type"},
              {"ivf_nlist", "lists"},
              {"hnsw_M", "links"},
              {"hnsw_efConstruction", "ef-construction"},
              {"id_field", "id"},
              {"embedding_field", "embedding"},
              {"batch_size", NULL, "the table is read whole"},
              {"reader_type", NULL, "the format is detected from the files"},
              {"odps_data_quota_name", NULL, "the default quota is used"}}},
    {.name = "tools.tdm.init_tree",
     .command = "tdm",
     .verb = "init-tree",
     .needs = "item_input_path",
     .args = {{"item_input_path", "input"},
              {"item_id_field", "item"},
              {"cate_id_field", "cate"},
              {"attr_fields", "attrs"},
              {"raw_attr_fields", "raw-attrs"},
              {"attr_delimiter", "attr-delimiter"},
              {"tree_output_dir", "serving-dir"},
              {"node_edge_output_file", "out"},
              {"n_cluster", "branch"},
              {"odps_data_quota_name", NULL, "the default quota is used"}}},
    {.name = "tools.tdm.cluster_tree",
     .command = "tdm",
     .verb = "cluster-tree",
     .needs = "item_input_path",
     .args = {{"item_input_path", "input"},
              {"item_id_field", "item"},
              {"embedding_field", "embedding"},
              {"attr_fields", "attrs"},
              {"raw_attr_fields", "raw-attrs"},
              {"attr_delimiter", "attr-delimiter"},
              {"tree_output_dir", "serving-dir"},
              {"node_edge_output_file", "out"},
              {"parallel", NULL,
               "one thread per CPU is used; the tree does not depend on it"},
              {"n_cluster", "branch"},
              {"odps_data_quota_name", NULL, "the default quota is used"}}},
    {.name = "tools.tdm.retrieval",
     .command = "tdm",
     .verb = "retrieval",
     .needs = "scripted_model_path",
     .args = {{"scripted_model_path", "model"},
              {"predict_input_path", "input"},
              {"predict_output_path", "output"},
              {"reserved_columns", "reserved-columns"},
              {"recall_num", "items"},
              {"n_cluster", "branch"},
              {"batch_size", "batch-size"},
              {"writer_type", "writer-type"},
              {"dataset_type", NULL, "the format is detected from the files"},
              {"debug_level", NULL, "the rows of nodes are not shown"},
              {"num_worker_per_level", NULL, "one thread per CPU is used"},
              {"is_profiling", NULL, "there is no trace of a retrieval", true}}},
    {.name = "tools.hitrate",
     .command = "hitrate",
     .needs = "user_gt_input",
     .args = {{"user_gt_input", "users"},
              {"item_embedding_input", "items"},
              {"total_hitrate_output", "total"},
              {"hitrate_details_output", "details"},
              {"batch_size", "batch-size"},
              {"index_type", "index-type"},
              {"top_k", "top-k"},
              {"topk_across_interests", "across", .no_value = true},
              {"ivf_nlist", "lists"},
              {"ivf_nprobe", "probes"},
              {"hnsw_M", "links"},
              {"hnsw_efConstruction", "ef-construction"},
              {"item_id_field", "item-id"},
              {"item_embedding_field", "item-embedding"},
              {"request_id_field", "user-id"},
              {"gt_items_field", "truth"},
              {"user_embedding_field", "user-embedding"},
              {"num_interests", "interests"},
              {"num_interests_field", "interests-field"},
              {"writer_type", "writer-type"},
              {"reader_type", NULL, "the format is detected from the files"},
              {"odps_data_quota_name", NULL, "the default quota is used"}}},
};

/* The part of a module or file name that names the program. */
static struct str program_part(const char *name)
{
    const char *dir = strstr(name, "tzrec/");
    struct str s = str_c(dir ? dir + strlen("tzrec/") : name);
    if (!dir && str_starts(name, "tzrec."))
        s = str_c(name + strlen("tzrec."));
    if (str_ends(name, ".py"))
        s.n -= 3;
    return s;
}

static bool same_module(struct str a, const char *b)
{
    if (a.n != strlen(b))
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (b[i] != (a.p[i] == '/' ? '.' : a.p[i]))
            return false;
    return true;
}

static const struct tz_program *find_program(const char *name)
{
    struct str part = program_part(name);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (same_module(part, programs[i].name))
            return &programs[i];
    return NULL;
}

bool tzrec_is_module(const char *name)
{
    const char *dir = strstr(name, "tzrec/");
    return str_starts(name, "tzrec.") || strcmp(name, "tzrec") == 0 ||
           (dir && (dir == name || dir[-1] == '/'));
}

static void make_rules(const struct tz_program *p, struct compat_flag *rules)
{
    for (size_t i = 0; i < ARGS_MAX && p->args[i].name; i++)
        rules[i] = (struct compat_flag){.name = p->args[i].name,
                                        .no_value = p->args[i].no_value};
}

static enum rc check_needs(const struct tz_program *p, const struct compat_flags *f,
                           const struct compat_flag *rules, struct err *err)
{
    struct str rest = str_c(p->needs), part;
    while (str_split(&rest, '|', &part))
        for (size_t i = 0; rules[i].name; i++)
            if (str_is(part, rules[i].name) && f->value[i] && f->value[i][0])
                return RC_OK;
    const char *bar = strchr(p->needs, '|');
    return err_coded(err, RC_INVAL, E2204, "tzrec.%s needs --%.*s%s%s", p->name,
                     bar ? (int)(bar - p->needs) : (int)strlen(p->needs), p->needs,
                     bar ? " or --" : "", bar ? bar + 1 : "");
}

/* An empty value is as good as none, as it is upstream. */
static void put_args(const struct tz_program *p, const struct compat_flags *f,
                     struct front_call *out)
{
    const char *config = NULL;
    for (size_t i = 0; i < ARGS_MAX && p->args[i].name; i++) {
        const struct tz_arg *a = &p->args[i];
        const char *v = f->value[i];
        if (!v || (!a->no_value && !v[0]))
            continue;
        if (!a->to)
            front_note(out, "--%s has no effect: %s", a->name, a->because);
        else if (!a->to[0])
            config = v;
        else
            front_option(out, a->to, a->no_value ? NULL : v);
    }
    for (size_t i = 0; i < f->unknown.n; i++)
        front_note(out, "'%s' is not an argument of tzrec.%s and is ignored",
                   f->unknown.at[i], p->name);
    if (config) {
        front_word(out, "--");
        front_word(out, config);
    }
}

/* A type of tables by TorchEasyRec's name; NULL: none of ours. */
static const char *quant_type(const char *name)
{
    static const struct {
        const char *name, *type;
    } types[] = {{"INT8", "int8"}, {"INT4", "int4"}, {"INT2", "int2"},
                 {"FP16", "f16"},  {"FP32", "f32"},  {"0", "f32"}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return NULL;
}

/* QUANT_EMB as the type of pooled tables, QUANT_EC_EMB of those of sequences. Without
 * either they stay as they are, which is not what TorchEasyRec does: pooled tables of an
 * export are INT8 there unless told otherwise.
 */
static void put_quant(const struct front_args *in, struct front_call *out)
{
    static const struct {
        const char *variable, *option;
    } both[] = {{"QUANT_EMB", "table-type"}, {"QUANT_EC_EMB", "sequence-table-type"}};
    const char *pooled = in->env("QUANT_EMB");
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        const char *v = in->env(both[i].variable);
        if (i && (!v || !v[0]) && pooled && quant_type(pooled))
            v = "0"; /* sequences are left alone unless asked for */
        if (!v || !v[0])
            continue;
        if (quant_type(v))
            front_option(out, both[i].option, quant_type(v));
        else
            front_note(out, "%s '%s' is not supported; tables stay 32-bit floats",
                       both[i].variable, v);
    }
}

/* Switches of TorchEasyRec that change nothing here; of one program, or of all. */
static void note_switches(const char *program, const struct front_args *in,
                          struct front_call *out)
{
    static const struct {
        const char *program, *name, *because;
    } switches[] = {
        {"export", "INPUT_TILE",
         "a scorer computes what is common to a request's rows once"},
        {"export", "INPUT_TILE_3_ONLINE",
         "a scorer computes what is common to a request's rows once"},
        {"export", "USE_DISTRIBUTED_EMBEDDING", "an export holds its tables whole"},
        {"export", "DIST_QUANT", "an export holds its tables whole"},
        {"export", "ENABLE_AOT", "the graph is written as ONNX"},
        {"export", "ENABLE_TRT", "the graph is written as ONNX"},
        {"export", "MAX_EXPORT_BATCH_SIZE", "the graph takes batches of any size"},
        {"export", "TRT_MAX_BATCH_SIZE", "the graph takes batches of any size"},
        {"export", "TRT_MAX_SEQ_LEN", "the graph takes sequences of any length"},
        {"train_eval", "ONLINE_DENSE_EXPORT",
         "each export holds tables and dense parameters; `trainyard export` makes one of a "
         "checkpoint while the run goes on"},
        {"train_eval", "FORCE_LOAD_SHARDING_PLAN",
         "a checkpoint fits any number of ranks"},
        {"train_eval", "USE_INPLACE_TRUNC_NORMAL",
         "initial values take no memory of their own"},
        {"train_eval", "ENABLE_TMA", "it chooses kernels of a GPU library"},
        {"", "USE_RTP", "names keep their '__', and no files for RTP are written"},
        {"", "USE_FSSPEC", "s3:// and oss:// are read and written directly"},
        {"", "LOCAL_CACHE_DIR", "nothing is staged: s3:// and oss:// are read directly"},
        {"", "LOG_LEVEL", "progress and notes are always told; --log json for programs"}};
    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        const char *v = in->env(switches[i].name);
        bool ours = !switches[i].program[0] || strcmp(switches[i].program, program) == 0;
        if (ours && v && v[0] && strcmp(v, "0") != 0)
            front_note(out, "%s has no effect: %s", switches[i].name,
                       switches[i].because);
    }
}

static void put_seed(const struct front_args *in, struct front_call *out)
{
    const char *seed = in->env("TORCH_MANUAL_SEED");
    uint64_t n;
    if (!seed || !seed[0])
        return;
    if (str_to_u64(str_c(seed), &n) && n <= INT64_MAX)
        front_option(out, "seed", seed);
    else
        front_note(out, "TORCH_MANUAL_SEED '%s' is not a number and was left out", seed);
}

static enum rc no_program(const char *name, struct err *err)
{
    const char *names[ARRAY_LEN(programs)];
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        names[i] = programs[i].name;
    const char *near = str_nearest(program_part(name), names, ARRAY_LEN(programs));
    return err_coded(err, RC_INVAL, E2203,
                     "no program '%s'%s%s%s; `tzrec --help` lists them", name,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

enum rc tzrec_translate(const char *module, const struct front_args *in,
                        struct front_call *out, struct err *err)
{
    const struct tz_program *p = find_program(module);
    struct compat_flag rules[ARGS_MAX + 1] = {0};
    struct compat_flags f = {0};
    if (!p)
        return no_program(module, err);
    make_rules(p, rules);
    enum rc rc = compat_flags_read(rules, in->argc, in->argv, false, &f, err);
    if (!rc)
        rc = check_needs(p, &f, rules, err);
    if (!rc) {
        out->does = FRONT_COMMAND;
        front_word(out, p->command);
        if (p->verb)
            front_word(out, p->verb);
        if (p->seeded)
            put_seed(in, out);
        if (p->quantised)
            put_quant(in, out);
        note_switches(p->name, in, out);
        put_args(p, &f, out);
    }
    compat_flags_release(&f);
    return rc;
}

static bool wants_help(const struct front_args *in)
{
    return in->argc == 0 || strcmp(in->argv[0], "-h") == 0 ||
           strcmp(in->argv[0], "--help") == 0;
}

static const char *help_text(struct arena *a)
{
    const char *text = "usage: tzrec PROGRAM --pipeline_config_path FILE ...\n\n"
                       "PROGRAM, and the command that it becomes:\n";
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        text = arena_printf(a, "%s  %-46s trainyard %s%s%s\n", text, programs[i].name,
                            programs[i].command, programs[i].verb ? " " : "",
                            programs[i].verb ? programs[i].verb : "");
    return arena_printf(a,
                        "%sEach takes the arguments that it has in TorchEasyRec. See "
                        "docs/compat.md.\n",
                        text);
}

/* `tzrec train_eval ...` and `tzrec -m tzrec.train_eval ...`. */
static enum rc tzrec_front(const struct front_args *in, struct front_call *out,
                           struct err *err)
{
    struct front_args rest = *in;
    if (wants_help(in)) {
        out->does = FRONT_NOTHING;
        out->text = help_text(&out->arena);
        return RC_OK;
    }
    int skip = strcmp(in->argv[0], "-m") == 0 && in->argc > 1 ? 2 : 1;
    rest.argc -= skip;
    rest.argv += skip;
    return tzrec_translate(in->argv[skip - 1], &rest, out, err);
}

const struct front front_tzrec = {
    .name = "tzrec", .title = "TorchEasyRec's entry points", .translate = tzrec_front};
