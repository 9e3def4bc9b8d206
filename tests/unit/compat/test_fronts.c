/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/str.h"
#include "compat/front.h"
#include "compat/tzrec.h"
#include "tap.h"

#define WORDS_MAX 40

static const char *env_empty(const char *name)
{
    return NULL;
}

static const char *env_seeded(const char *name)
{
    return strcmp(name, "TORCH_MANUAL_SEED") == 0 ? "7" : NULL;
}

static const char *env_ranked(const char *name)
{
    return strcmp(name, "LOCAL_RANK") == 0 ? "1" : NULL;
}

static const char *env_pet(const char *name)
{
    return strcmp(name, "PET_NPROC_PER_NODE") == 0 ? "4" : NULL;
}

/* The words of `line` parted by single blanks; "''" is an empty word. The first names the
 * front end.
 */
static enum rc translate(const char *line, const char *(*env)(const char *),
                         struct front_call *out, struct err *err)
{
    static char text[2000];
    char *words[WORDS_MAX] = {0};
    int n = 0;
    snprintf(text, sizeof(text), "%s", line);
    for (char *p = text; p && n < WORDS_MAX - 1;) {
        words[n++] = p;
        p = strchr(p, ' ');
        if (p)
            *p++ = '\0';
        if (strcmp(words[n - 1], "''") == 0)
            words[n - 1][0] = '\0';
    }
    const struct front *f = front_find(words[0]);
    struct front_args in = {.argc = n - 1, .argv = words + 1, .env = env};
    return f->translate(&in, out, err);
}

/* What it does as one line: "command: a b", "program: a b", "nothing"; then its notes. */
static void check_line(const char *line, const char *(*env)(const char *),
                       const char *want)
{
    static const char *const does[] = {"command:", "program:", "nothing"};
    struct front_call c = {0};
    struct err err = {0};
    struct buf b;
    buf_init(&b, 10000);
    if (translate(line, env, &c, &err) != RC_OK) {
        buf_printf(&b, "error: %s", err.msg);
    } else {
        buf_puts(&b, does[c.does]);
        for (size_t i = 0; i < c.argv.n; i++)
            buf_printf(&b, " %s", c.argv.at[i]);
        for (size_t i = 0; i < c.notes.n; i++)
            buf_printf(&b, "; %s", c.notes.at[i]);
    }
    CHECK_STR(buf_str(&b), want);
    buf_release(&b);
    front_call_release(&c);
}

static void every_documented_argument_of_tzrec_is_taken(void)
{
    check_line(
        "tzrec train_eval --pipeline_config_path c --train_input_path d/*.parquet "
        "--eval_input_path e --model_dir m --continue_train "
        "--fine_tune_checkpoint f --ignore_restore_optimizer --edit_config_json {}",
        env_empty,
        "command: train --train-input=d/*.parquet --eval-input=e --model-dir=m "
        "--continue --fine-tune=f --ignore-restore-optimizer --edit-config-json={} "
        "-- c");
    check_line("tzrec tzrec.eval --pipeline_config_path=c --checkpoint_path=k "
               "--eval_input_path=e --eval_result_filename=r.txt",
               env_empty,
               "command: eval --checkpoint=k --eval-input=e --eval-result-filename=r.txt "
               "-- c");
    check_line("tzrec -m tzrec.export --pipeline_config_path c --export_dir x "
               "--asset_files a,b",
               env_empty, "command: export --export-dir=x --asset-files=a,b -- c");
    check_line("tzrec predict --scripted_model_path x --predict_input_path p "
               "--predict_output_path o --reserved_columns a,b --output_columns probs",
               env_empty,
               "command: predict --model=x --input=p --output=o --reserved-columns=a,b "
               "--output-columns=probs");
    check_line(
        "tzrec tools.feature_selection --pipeline_config_path c --model_dir m --topk 5 "
        "--output_dir o --visualize --clear_variational_dropout",
        env_empty,
        "command: features select --model-dir=m --output-dir=o --topk=5 "
        "--clear-variational-dropout -- c; --visualize has no effect: the "
        "ranking is printed, not drawn");
    check_line("tzrec tools.create_fg_json --pipeline_config_path a --fg_output_dir f "
               "--reserves clk --remove_bucketizer",
               env_empty,
               "command: features fg-json --output-dir=f --reserves=clk "
               "--remove-bucketizer -- a");
    check_line(
        "tzrec tools.dynamicemb.create_dynamicemb_init_ckpt --pipeline_config_path c "
        "--save_dir s --world_size 8",
        env_empty,
        "command: tables init --save-dir=s -- c; --world_size has no effect: a "
        "checkpoint serves any number of ranks");
    check_line(
        "tzrec tools.dynamicemb.zch_to_dynamicemb_convert --source_checkpoint_path z "
        "--source_pipeline_config_path a --target_pipeline_config_path b --save_dir s",
        env_empty,
        "command: tables from-zch --config=b --save-dir=s -- z; "
        "--source_pipeline_config_path has no effect: the checkpoint tells its tables");
    check_line(
        "tzrec tools.convert_easyrec_config_to_tzrec_config --easyrec_config_path e "
        "--fg_json_path f --use_old_fg --output_tzrec_config_path o",
        env_empty,
        "command: config from-easyrec --fg-json=f --output=o --use-old-fg -- e");
    check_line("tzrec tools.add_feature_info_to_config --template_model_config_path t "
               "--model_config_path n --config_table_path c",
               env_empty, "command: features update --output=n --table=c -- t");
    check_line("tzrec tools.list_distcp_param --checkpoint_path m/model.ckpt-0",
               env_empty, "command: params -- m/model.ckpt-0");
}

static void lines_of_paddlerec_are_runs(void)
{
    check_line("paddlerec -m config.yaml", env_empty, "command: run -- config.yaml");
    check_line("paddlerec --model=paddlerec.models.rank.dnn -b backend.yaml", env_empty,
               "command: run --backend=backend.yaml -- paddlerec.models.rank.dnn");
    struct front_call c = {0};
    struct err err = {0};
    CHECK(translate("paddlerec -b backend.yaml", env_empty, &c, &err) == RC_INVAL);
    CHECK_INT(err.code, E2204);
    front_call_release(&c);
}

/* Every program of the help text is one, and says what it becomes. */
static void help_names_every_program(void)
{
    char *argv[] = {(char *)"--help", NULL};
    struct front_args in = {.argc = 1, .argv = argv, .env = env_empty};
    struct front_call call = {0};
    struct err err = {0};
    CHECK(front_tzrec.translate(&in, &call, &err) == RC_OK);
    struct str rest = str_c(call.text), line, name;
    int n = 0;
    while (str_split(&rest, '\n', &line)) {
        if (line.n < 3 || memcmp(line.p, "  ", 2) != 0)
            continue;
        line = str_trim(line);
        CHECK(memmem(line.p, line.n, " trainyard ", 11) != NULL);
        str_split(&line, ' ', &name);
        char *one[] = {mem_strndup(name.p, name.n), NULL};
        struct front_args program = {.argc = 1, .argv = one, .env = env_empty};
        struct front_call none = {0};
        CHECK(front_tzrec.translate(&program, &none, &err) == RC_INVAL);
        CHECK_INT(err.code, E2204); /* it needs an argument: so it is known */
        front_call_release(&none);
        mem_free(one[0]);
        n++;
    }
    CHECK(n >= 13);
    front_call_release(&call);
}

static void tools_of_retrieval_are_ours(void)
{
    check_line("python -m tzrec.tools.tdm.init_tree --item_input_path i "
               "--item_id_field a --cate_id_field c --attr_fields c,d "
               "--raw_attr_fields p --node_edge_output_file t --tree_output_dir s "
               "--n_cluster 3",
               env_empty,
               "command: tdm init-tree --input=i --item=a --cate=c --attrs=c,d "
               "--raw-attrs=p --serving-dir=s --out=t --branch=3");
    check_line("python -m tzrec.tools.tdm.cluster_tree --item_input_path i "
               "--item_id_field a --embedding_field e --node_edge_output_file t "
               "--parallel 16",
               env_empty,
               "command: tdm cluster-tree --input=i --item=a --embedding=e --out=t; "
               "--parallel has no effect: one thread per CPU is used; the tree does "
               "not depend on it");
    check_line("tzrec tools.tdm.retrieval --scripted_model_path x/model "
               "--predict_input_path i --predict_output_path o --recall_num 9",
               env_empty,
               "command: tdm retrieval --model=x/model --input=i --output=o --items=9");
    check_line("tzrec tools.hitrate --user_gt_input u --item_embedding_input i "
               "--index_type IVFFlatL2 --topk_across_interests --num_interests 4",
               env_empty,
               "command: hitrate --users=u --items=i --index-type=IVFFlatL2 --across "
               "--interests=4");
    check_line(
        "tzrec tools.create_faiss_index --embedding_input_path e --index_output_dir o "
        "--index_type HNSWFlatL2 --hnsw_M 16 --id_field i --embedding_field v",
        env_empty,
        "command: index create --output-dir=o --index-type=HNSWFlatL2 --links=16 "
        "--id=i --embedding=v -- e");
    check_line("tzrec tools.hitrate --item_embedding_input i", env_empty,
               "error: tzrec.tools.hitrate needs --user_gt_input");
}

static void names_may_be_cut_and_dashed(void)
{
    check_line("tzrec train_eval --pipeline-config c --model m", env_empty,
               "command: train --model-dir=m -- c");
    check_line("tzrec predict --predict c", env_empty,
               "error: option --predict is ambiguous");
}

static void empty_values_are_as_good_as_none(void)
{
    check_line("tzrec train_eval --pipeline_config_path c --model_dir ''", env_empty,
               "command: train -- c");
    check_line("tzrec train_eval --pipeline_config_path=", env_empty,
               "error: tzrec.train_eval needs --pipeline_config_path");
}

static void what_is_missing_or_unknown_is_named(void)
{
    check_line("tzrec train_eval", env_empty,
               "error: tzrec.train_eval needs --pipeline_config_path");
    check_line("tzrec predict --predict_input_path p", env_empty,
               "error: tzrec.predict needs --scripted_model_path or "
               "--pipeline_config_path");
    check_line("tzrec train_eval --pipeline_config_path", env_empty,
               "error: option --pipeline_config_path needs a value");
    check_line(
        "tzrec train_evil --x 1", env_empty,
        "error: no program 'train_evil', did you mean 'train_eval'?; `tzrec --help` lists them");
    check_line("tzrec eval --pipeline_config_path c --warp 9", env_empty,
               "command: eval -- c; '--warp' is not an argument of tzrec.eval and is "
               "ignored; '9' is not an argument of tzrec.eval and is ignored");
}

static void the_seed_comes_from_the_environment(void)
{
    check_line("tzrec train_eval --pipeline_config_path c", env_seeded,
               "command: train --seed=7 -- c");
}

static void experiments_of_nnictl(void)
{
    check_line("nnictl create --config c.yml --port 8081 -d", env_empty,
               "command: tune create --config=c.yml");
    check_line("nnictl create -c c.yml --foreground", env_empty,
               "command: tune create --config=c.yml --wait");
    check_line("nnictl resume k3v9x2ab", env_empty, "command: tune resume k3v9x2ab");
    check_line("nnictl view k3v9x2ab -e /data/nni", env_empty,
               "command: tune view --dir=/data/nni/k3v9x2ab");
    check_line("nnictl stop --all", env_empty, "command: tune stop --all");
    check_line("nnictl update duration k3v9x2ab --value 2h", env_empty,
               "command: tune update --duration=2h k3v9x2ab");
    check_line("nnictl update trialnum -v 500", env_empty,
               "command: tune update --trials=500");
    check_line("nnictl trial ls --head 5", env_empty,
               "command: tune trials --nni --head=5");
    check_line("nnictl top", env_empty, "command: tune list --watch=3");
    check_line("nnictl top -t 10", env_empty, "command: tune list --watch=10");
    check_line("nnictl experiment delete k3v9x2ab", env_empty,
               "command: tune delete k3v9x2ab");
    check_line("nnictl experiment save k3v9x2ab -p out", env_empty,
               "command: tune save --to=out k3v9x2ab");
    check_line("nnictl experiment load --path a.zip -c code", env_empty,
               "command: tune load --code=code a.zip");
    check_line("nnictl experiment delete --all", env_empty, "command: tune delete --all");
    check_line("nnictl trial kill k3v9x2ab -T AAAwl", env_empty,
               "command: tune stop --trial=AAAwl k3v9x2ab");
    check_line("nnictl experiment export -t csv -f out.csv", env_empty,
               "command: tune export --type=csv --file=out.csv");
    check_line("nnictl create", env_empty, "error: nnictl create needs --config");
    check_line("nnictl update searchspace -f s.json", env_empty,
               "command: tune update --space=s.json");
    check_line("nnictl create -c c.yml -f", env_empty,
               "command: tune create --config=c.yml --wait");
    check_line("nnictl log stdout k3v9x2ab -T 5", env_empty,
               "command: tune logs --tail=5 k3v9x2ab");
    check_line("nnictl config show", env_empty, "command: tune get --as config");
    check_line("nnictl algo list", env_empty, "command: tune algorithms");
    check_line("nnictl algo show mine", env_empty,
               "command: tune algorithms --json mine");
    check_line("nnictl algo register -m meta.yml", env_empty,
               "command: tune register meta.yml");
    check_line("nnictl algo register", env_empty, "error: nnictl algo needs --meta_path");
    check_line("nnictl algo unreg mine", env_empty, "command: tune unregister mine");
    check_line("nnictl ss_gen -t run.sh -d code", env_empty,
               "command: tune space --overwrite --command=run.sh --dir=code");
    check_line("nnictl trainingservice list", env_empty,
               "error: 'nnictl trainingservice list' is not supported");
    check_line("nnictl stop a b", env_empty,
               "error: nnictl stop: unexpected argument 'b'");
    check_line("nnictl", env_empty, "nothing");
}

static const char *env_int8(const char *name)
{
    return strcmp(name, "QUANT_EMB") == 0 ? "INT8" : NULL;
}

static const char *env_int4(const char *name)
{
    return strcmp(name, "QUANT_EMB") == 0 ? "INT4" : NULL;
}

static const char *env_int3(const char *name)
{
    return strcmp(name, "QUANT_EMB") == 0 ? "INT3" : NULL;
}

static const char *env_trt(const char *name)
{
    return strcmp(name, "QUANT_EMB") == 0    ? "FP16"
           : strcmp(name, "ENABLE_TRT") == 0 ? "1"
           : strcmp(name, "INPUT_TILE") == 0 ? "0"
                                             : NULL;
}

static const char *env_others(const char *name)
{
    return strcmp(name, "QUANT_EC_EMB") == 0               ? "INT4"
           : strcmp(name, "MAX_EXPORT_BATCH_SIZE") == 0    ? "64"
           : strcmp(name, "FORCE_LOAD_SHARDING_PLAN") == 0 ? "1"
           : strcmp(name, "LOG_LEVEL") == 0                ? "INFO"
                                                           : NULL;
}

/* What belongs to another program is not mentioned. */
static void switches_are_noted_where_they_count(void)
{
    check_line(
        "tzrec export --pipeline_config_path c --export_dir x", env_others,
        "command: export --sequence-table-type=int4 --export-dir=x -- c; "
        "MAX_EXPORT_BATCH_SIZE has no effect: the graph takes batches of any size; "
        "LOG_LEVEL has no effect: progress and notes are always told; --log json for "
        "programs");
    check_line(
        "tzrec train_eval --pipeline_config_path c", env_others,
        "command: train -- c; FORCE_LOAD_SHARDING_PLAN has no effect: a checkpoint "
        "fits any number of ranks; LOG_LEVEL has no effect: progress and notes are "
        "always told; --log json for programs");
}

static const char *env_export(const char *name)
{
    static const char *const set[] = {"INPUT_TILE",         "USE_DISTRIBUTED_EMBEDDING",
                                      "DIST_QUANT",         "ENABLE_AOT",
                                      "ENABLE_TRT",         "USE_RTP",
                                      "ONLINE_DENSE_EXPORT"};
    for (size_t i = 0; i < ARRAY_LEN(set); i++)
        if (strcmp(set[i], name) == 0)
            return "1";
    return NULL;
}

static void every_switch_of_export_is_noted_with_its_reason(void)
{
    check_line(
        "tzrec export --pipeline_config_path c --export_dir x", env_export,
        "command: export --export-dir=x -- c; "
        "INPUT_TILE has no effect: a scorer computes what is common to a request's "
        "rows once; "
        "USE_DISTRIBUTED_EMBEDDING has no effect: an export holds its tables whole; "
        "DIST_QUANT has no effect: an export holds its tables whole; "
        "ENABLE_AOT has no effect: the graph is written as ONNX; "
        "ENABLE_TRT has no effect: the graph is written as ONNX; "
        "USE_RTP has no effect: names keep their '__', and no files for RTP are "
        "written");
    check_line(
        "tzrec train_eval --pipeline_config_path c", env_export,
        "command: train -- c; "
        "ONLINE_DENSE_EXPORT has no effect: each export holds tables and dense "
        "parameters; `trainyard export` makes one of a checkpoint while the run goes "
        "on; "
        "USE_RTP has no effect: names keep their '__', and no files for RTP are "
        "written");
}

static void quantisation_comes_from_the_environment(void)
{
    check_line(
        "tzrec export --pipeline_config_path c --export_dir x", env_trt,
        "command: export --table-type=f16 --sequence-table-type=f32 --export-dir=x -- c; ENABLE_TRT has no "
        "effect: the graph is written as ONNX");
    check_line(
        "tzrec export --pipeline_config_path c --export_dir x", env_int8,
        "command: export --table-type=int8 --sequence-table-type=f32 --export-dir=x -- c");
    check_line(
        "tzrec export --pipeline_config_path c --export_dir x", env_int4,
        "command: export --table-type=int4 --sequence-table-type=f32 --export-dir=x -- c");
    check_line("tzrec export --pipeline_config_path c --export_dir x", env_int3,
               "command: export --export-dir=x -- c; QUANT_EMB 'INT3' is not supported; "
               "tables stay 32-bit floats");
}

static void torchrun_starts_modules_of_tzrec(void)
{
    check_line("torchrun --master_addr=localhost --master_port=32555 --nnodes=1 "
               "--nproc-per-node=1 --node_rank=0 -m tzrec.train_eval "
               "--pipeline_config_path c",
               env_empty, "command: train -- c");
    check_line("torchrun --master_addr= --master_port= --nnodes= --nproc-per-node= "
               "--node_rank= -m tzrec.train_eval --pipeline_config_path c",
               env_empty, "command: train -- c");
    check_line("torchrun --standalone tzrec/train_eval.py --pipeline_config_path c",
               env_empty, "command: train -- c");
}

static void torchrun_trains_on_ranks(void)
{
    check_line("torchrun --nproc-per-node=2 -m tzrec.train_eval --pipeline_config_path c",
               env_empty, "command: launch --nproc-per-node=2 train -- c");
    check_line("torchrun --nnodes=3 --nproc-per-node=2 -m tzrec.train_eval "
               "--pipeline_config_path c",
               env_empty, "command: launch --nnodes=3 --nproc-per-node=2 train -- c");
    check_line("torchrun --master_addr=h0 --master_port=3255 --nnodes=2 "
               "--nproc-per-node=4 --node_rank=1 -m tzrec.train_eval "
               "--pipeline_config_path c",
               env_empty,
               "command: launch --nnodes=2 --node-rank=1 --master-addr=h0 "
               "--master-port=3255 --nproc-per-node=4 train -- c");
    check_line("torchrun --nnodes=1:3 --rdzv-backend=c10d --rdzv-endpoint=h0:29400 "
               "--rdzv-id=j7 --max-restarts=3 -m tzrec.train_eval "
               "--pipeline_config_path c",
               env_empty,
               "command: launch --nnodes=1:3 --rdzv-id=j7 --rdzv-endpoint=h0:29400 "
               "--max-restarts=3 --nproc-per-node=1 train -- c");
    check_line("torchrun --log_dir=logs -m tzrec.train_eval --pipeline_config_path c",
               env_empty, "command: launch --log-dir=logs --nproc-per-node=1 train -- c");
}

static void torchrun_says_what_runs_in_one_process(void)
{
    check_line("torchrun --nnodes=2 --nproc-per-node=8 -m tzrec.eval "
               "--pipeline_config_path c",
               env_empty,
               "command: eval -- c; 2 x 8 processes were asked for; this runs in one");
    check_line("torchrun --nnodes=2 --node_rank=1 -m tzrec.eval --pipeline_config_path c",
               env_empty,
               "nothing; node_rank 1: node 0 does this alone; nothing to do here");
    check_line("torchrun --nnodes=two -m tzrec.eval --pipeline_config_path c", env_empty,
               "error: --nnodes: 'two' is not a number");
    struct front_call c = {0};
    CHECK(translate("torchrun -m tzrec.eval --pipeline_config_path c", env_pet, &c,
                    NULL) == RC_OK);
    CHECK_INT(c.notes.n, 1);
    front_call_release(&c);
}

static void torchrun_starts_other_scripts_with_python(void)
{
    struct front_call c = {0};
    check_line("torchrun --nproc-per-node=1 convert.py --x 1", env_empty,
               "program: python3 -u convert.py --x 1");
    check_line("torchrun -m my.module -m", env_empty,
               "program: python3 -u -m my.module -m");
    check_line("torchrun --no-python ./a.out", env_empty, "program: ./a.out");
    check_line("torchrun --nnodes=1", env_empty,
               "error: torchrun needs a script or -m MODULE");
    CHECK(translate("torchrun --master_addr=h --master_port=9 a.py", env_empty, &c,
                    NULL) == RC_OK);
    CHECK_STR(c.env.at[0].name, "RANK");
    CHECK_STR(c.env.at[0].value, "0");
    CHECK_STR(c.env.at[c.env.n - 2].value, "h");
    CHECK_STR(c.env.at[c.env.n - 1].value, "9");
    front_call_release(&c);
}

static void python_and_pip_pass_on_what_is_not_tzrec(void)
{
    check_line("python -m tzrec.tools.list_distcp_param --checkpoint_path k", env_empty,
               "command: params -- k");
    check_line("python -u -m tzrec.train_eval --pipeline_config_path c", env_empty,
               "command: train -- c");
    check_line("python -m tzrec.train_eval --pipeline_config_path c", env_ranked,
               "nothing; LOCAL_RANK 1: this version trains in one process, rank 0; "
               "exiting");
    check_line("python -c tzrec.train_eval", env_empty,
               "program: python -c tzrec.train_eval");
    check_line("python -m paddlerec.run -m config.yaml", env_empty,
               "command: run -- config.yaml");
    check_line("python -m paddlerec.runs -m config.yaml", env_empty,
               "program: python -m paddlerec.runs -m config.yaml");
    check_line("python a.py -m tzrec.eval", env_empty,
               "program: python a.py -m tzrec.eval");
    check_line("pip install tzrec==1.0 -f http://x/repo.html --trusted-host x", env_empty,
               "nothing; nothing to install: trainyard takes the command lines of tzrec");
    check_line("pip install tzrec numpy", env_empty, "program: pip install tzrec numpy");
    check_line("pip install tzrecsys", env_empty, "program: pip install tzrecsys");
    check_line("pip list", env_empty, "program: pip list");
}

static void front_ends_are_found_by_the_end_of_the_path(void)
{
    CHECK(front_find("/usr/lib/trainyard/compat/torchrun") == &front_torchrun);
    CHECK(front_find("tzrec") == &front_tzrec);
    CHECK(front_find("trainyard") == NULL);
}

static const struct tap_case cases[] = {
    TAP(every_documented_argument_of_tzrec_is_taken),
    TAP(experiments_of_nnictl),
    TAP(lines_of_paddlerec_are_runs),
    TAP(help_names_every_program),
    TAP(tools_of_retrieval_are_ours),
    TAP(names_may_be_cut_and_dashed),
    TAP(empty_values_are_as_good_as_none),
    TAP(what_is_missing_or_unknown_is_named),
    TAP(the_seed_comes_from_the_environment),
    TAP(switches_are_noted_where_they_count),
    TAP(every_switch_of_export_is_noted_with_its_reason),
    TAP(quantisation_comes_from_the_environment),
    TAP(torchrun_starts_modules_of_tzrec),
    TAP(torchrun_trains_on_ranks),
    TAP(torchrun_says_what_runs_in_one_process),
    TAP(torchrun_starts_other_scripts_with_python),
    TAP(python_and_pip_pass_on_what_is_not_tzrec),
    TAP(front_ends_are_found_by_the_end_of_the_path),
};
TAP_MAIN(cases)
