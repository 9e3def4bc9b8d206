/* SPDX-License-Identifier: Apache-2.0 */
/* Files of each kind: found by content, edited, checked. */
#include "text/conf.h"

#include "tap.h"
#include "text/pipeline/pipeline.h"

struct opened {
    struct conf conf;
    struct diags diags;
    struct err err;
    enum rc rc;
};

static struct opened open_with(const char *text, const struct conf_options *options)
{
    struct opened o = {0};
    o.rc = conf_from("f", text, strlen(text), options, &o.conf, &o.diags, &o.err);
    return o;
}

static void done(struct opened *o)
{
    diags_release(&o->diags);
    conf_release(&o->conf);
}

static void kinds_are_found_by_content(void)
{
    static const struct {
        const char *text, *kind;
        enum syntax syntax;
    } files[] = {
        {"train_config { num_epochs: 1 }\nfeature_configs { }", "pipeline",
         SYNTAX_PROTOTEXT},
        {"{\"trainConfig\": {\"num_epochs\": 1}, \"model_dir\": \"x\"}", "pipeline",
         SYNTAX_JSON},
        {"searchSpaceFile: s.json\ntrialCommand: python t.py\ntrialConcurrency: 1\n"
         "tuner: {name: TPE}\ntrainingService: {platform: local}\n",
         "nni-experiment", SYNTAX_YAML},
        {"{\"lr\": {\"_type\": \"uniform\", \"_value\": [0, 1]}}", "nni-search-space",
         SYNTAX_JSON},
        {"lr: {_type: uniform, _value: [0, 1]}\n", "nni-search-space", SYNTAX_YAML},
        {"workspace: ./\nmode: [r]\nrunner:\n- name: r\n  class: train\nphase:\n- name: p\n",
         "paddlerec-config", SYNTAX_YAML},
        {"backend: PaddleCloud\ncluster_type: k8s\nconfig: {fs_name: x}\nsubmit: {ak: a}\n",
         "paddlerec-backend", SYNTAX_YAML},
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct opened o = open_with(files[i].text, &(struct conf_options){0});
        CHECK_STR(o.conf.kind ? o.conf.kind->name : o.err.msg, files[i].kind);
        CHECK_INT(o.conf.syntax, files[i].syntax);
        CHECK(conf_kind_find(files[i].kind) == o.conf.kind);
        done(&o);
    }
}

static void unknown_files_are_refused(void)
{
    static const char *const texts[] = {"", "hello", "a: 1\n", "[1, 2]", "{}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct opened o = open_with(texts[i], &(struct conf_options){0});
        CHECK(o.rc == RC_UNSUPPORTED);
        CHECK_STR(o.err.msg, "f: not a file of a known kind; --kind names one");
        CHECK(o.err.code == E0210);
        done(&o);
    }
    CHECK(conf_kind_find("nope") == NULL);
}

static void syntax_errors_do_not_hide_unknown_fields(void)
{
    struct opened o = open_with("model_dir 'x'\ntrain_config { num_epohcs: 1 }\n",
                                &(struct conf_options){0});
    CHECK(o.rc == RC_INVAL && o.conf.data == NULL);
    CHECK_INT(o.diags.n_errors, 2);
    CHECK_STR(o.diags.list.at[1].hint, "did you mean 'num_epochs'?");
    done(&o);
}

static void unknown_fields_can_be_skipped(void)
{
    const char *text = "train_config { from_the_future { x: [1] } }\nmodel_dir: 'm'";
    struct opened o = open_with(text, &(struct conf_options){.kind = &conf_kind_pipeline,
                                                             .ignore_unknown = true});
    for (size_t i = 0; i < o.diags.list.n; i++)
        CHECK(o.diags.list.at[i].code != E0201);
    done(&o);
}

static const char small[] =
    "train_input_path: 'a' eval_input_path: 'b' model_dir: 'm'\n"
    "train_config { num_epochs: 1\n"
    "  sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }\n"
    "  dense_optimizer { adam_optimizer { lr: 0.1 } constant_learning_rate {} } }\n"
    "data_config { dataset_type: ParquetDataset label_fields: 'clk' }\n"
    "feature_configs { id_feature { feature_name: 'u' expression: 'user:u' embedding_dim: 8 "
    "hash_bucket_size: 10 } }\n"
    "model_config { feature_groups { group_name: 'deep' feature_names: 'u' group_type: DEEP }\n"
    "  multi_tower { towers { input: 'deep' mlp { hidden_units: 8 } } }\n"
    "  losses { binary_cross_entropy {} } metrics { auc {} } }\n";

static void edits_reach_the_struct(void)
{
    const struct conf_edit edits[] = {
        {.origin = "--set", .text = "train_config.num_epochs=7"},
        {.origin = "--edit-config-json",
         .json = true,
         .text =
             "{\"feature_configs[0].id_feature.embedding_dim\": 16, \"model_dir\": \"n\"}"},
    };
    struct opened o =
        open_with(small, &(struct conf_options){.edits = edits, .n_edits = 2});
    CHECK(o.rc == RC_OK);
    const struct pc_EasyRecConfig *c = o.conf.data;
    CHECK_INT(c->train_config->num_epochs, 7);
    CHECK_INT(c->feature_configs[0]->id_feature->embedding_dim, 16);
    CHECK_STR(c->model_dir, "n");
    done(&o);
}

static void each_problem_of_an_edit_is_said_once(void)
{
    const struct conf_edit edits[] = {
        {.origin = "--set",
         .text = "data_config.fg_encoded=true"}, /* deprecated: a warning */
        {.origin = "--set", .text = "train_config.num_epochs=many"},
        {.origin = "--set", .text = "train_config.log_step_count_steps=5"},
        {.origin = "--set", .text = "train_config.nope=5"},
    };
    struct opened o =
        open_with(small, &(struct conf_options){.edits = edits, .n_edits = 4});
    CHECK(o.rc == RC_INVAL);
    CHECK_INT(o.diags.n_errors, 2);
    CHECK_INT(o.diags.n_warnings, 1);
    done(&o);
}

static void meaning_is_checked_beside_errors(void)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    /* an unknown field in one feature; another one named twice; a group that names none
     */
    buf_printf(
        &b, "%s%s%s%s", small,
        "feature_configs { id_feature { feature_name: 'v' expression: 'user:v' "
        "embedding_dim: 8 hash_bukket_size: 10 } }\n",
        "feature_configs { id_feature { feature_name: 'u' expression: 'user:u' "
        "embedding_dim: 8 hash_bucket_size: 10 } }\n",
        "model_config { feature_groups { group_name: 'x' feature_names: 'w' } }\n");
    struct opened o = open_with(buf_str(&b), &(struct conf_options){0});
    CHECK(o.rc == RC_INVAL && o.conf.data == NULL);
    bool unknown = false, twice = false, none = false;
    for (size_t i = 0; i < o.diags.list.n; i++) {
        const struct diag *g = &o.diags.list.at[i];
        unknown |= g->code == E0201;
        twice |= strstr(g->msg, "'u'") != NULL;
        none |= strstr(g->msg, "'w'") != NULL;
        /* that 'v' has no bucketiser follows from the misspelt field */
        CHECK(g->code == E0201 || !g->where || !strstr(g->where, "'v'"));
    }
    CHECK(unknown && twice && none);
    done(&o);
    buf_release(&b);
}

static const struct tap_case cases[] = {
    TAP(kinds_are_found_by_content),
    TAP(unknown_files_are_refused),
    TAP(syntax_errors_do_not_hide_unknown_fields),
    TAP(unknown_fields_can_be_skipped),
    TAP(edits_reach_the_struct),
    TAP(each_problem_of_an_edit_is_said_once),
    TAP(meaning_is_checked_beside_errors),
};
TAP_MAIN(cases)
