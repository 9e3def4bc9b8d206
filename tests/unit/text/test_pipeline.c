/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline.config through its C structs: presence, defaults, choices, features. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "pipeline_texts.h"
#include "tap.h"
#include "text/conf.h"
#include "text/pipeline/feature.h"

struct loaded {
    struct conf conf;
    struct diags diags;
    struct err err;
    enum rc rc;
    const struct pc_EasyRecConfig *data;
};

static void load(struct loaded *l, const char *text)
{
    struct conf_options options = {0};
    *l = (struct loaded){0};
    l->rc = conf_from("t", text, strlen(text), &options, &l->conf, &l->diags, &l->err);
    l->data = l->conf.data;
}

static void unload(struct loaded *l)
{
    diags_release(&l->diags);
    conf_release(&l->conf);
}

/* Text that has only the schema to satisfy, for what needs no whole run. */
static const void *bound(struct loaded *l, const char *text)
{
    load(l, text);
    return schema_bind(&pc_EasyRecConfig_def, l->conf.doc.root, &l->conf.arena);
}

static void defaults_are_those_of_the_schema(void)
{
    struct loaded l;
    const struct pc_EasyRecConfig *c =
        bound(&l, "train_config { grad_scaler {} } data_config {} export_config {}\n"
                  "model_config { xdeepfm {} } feature_configs { raw_feature {} }\n"
                  "feature_configs { id_feature {} }");
    CHECK_INT(c->train_config->save_checkpoints_steps, 1000);
    CHECK(!c->train_config->has_save_checkpoints_steps);
    CHECK(c->train_config->grad_scaler->init_scale == 65536);
    CHECK(c->train_config->save_checkpoints_timestamp_quorum == 0.5);
    CHECK_INT(c->data_config->dataset_type, pc_DatasetType_OdpsDataset);
    CHECK_INT(c->data_config->fg_mode, pc_FgMode_FG_NONE);
    CHECK_STR(c->data_config->fg_encoded_multival_sep, "\x03");
    CHECK_STR(c->data_config->delimiter, ",");
    CHECK(c->data_config->pin_memory && !c->data_config->shuffle);
    CHECK_STR(c->export_config->exporter_type, "latest");
    CHECK_INT(c->model_config->kernel, pc_Kernel_PYTORCH);
    CHECK_INT(c->model_config->xdeepfm->wide_embedding_dim, 16);
    CHECK_STR(c->feature_configs[0]->raw_feature->default_value, "0");
    CHECK_INT(c->feature_configs[0]->raw_feature->value_dim, 1);
    CHECK_STR(c->feature_configs[1]->id_feature->default_value, "");
    CHECK_STR(c->feature_configs[1]->id_feature->separator, "\x1d");
    unload(&l);
}

static void a_value_equal_to_the_default_counts_as_set(void)
{
    struct loaded l;
    const struct pc_EasyRecConfig *c =
        bound(&l, "train_config { save_checkpoints_steps: 1000 num_steps: 0 }\n"
                  "export_config { best_exporter_metric: \"auc\" }");
    CHECK(c->train_config->has_save_checkpoints_steps);
    CHECK(c->train_config->has_num_steps && !c->train_config->has_num_epochs);
    CHECK(c->export_config->has_best_exporter_metric);
    CHECK(c->model_config == NULL && c->data_config == NULL);
    unload(&l);
}

static void absent_messages_are_null_and_lists_empty(void)
{
    struct loaded l;
    const struct pc_EasyRecConfig *c = bound(&l, "model_config { dbmtl {} }");
    CHECK(c->train_config == NULL);
    CHECK_INT(c->n_feature_configs, 0);
    CHECK(c->model_config->dbmtl->expert_mlp == NULL);
    CHECK_INT(c->model_config->dbmtl->n_task_towers, 0);
    CHECK_INT(c->model_config->dbmtl->num_expert, 3);
    unload(&l);
}

static void float_settings_keep_their_decimals(void)
{
    struct loaded l;
    const struct pc_EasyRecConfig *c =
        bound(&l, "train_config { dense_optimizer { adam_optimizer { lr: 0.1 } } }");
    const struct pc_AdamOptimizer *a = c->train_config->dense_optimizer->adam_optimizer;
    CHECK(a->lr == 0.1 && a->beta2 == 0.999 && a->eps == 1e-8);
    unload(&l);
}

static void the_last_member_of_a_oneof_stays(void)
{
    struct loaded l;
    const struct pc_EasyRecConfig *c =
        bound(&l, "model_config { dlrm {} dssm { output_dim: 4 } }");
    const struct msg *model = NULL;
    const struct field_def *f = schema_oneof(&c->model_config->base, "model", &model);
    CHECK(c->model_config->dlrm == NULL);
    CHECK(f && strcmp(f->name, "dssm") == 0);
    CHECK(model == &c->model_config->dssm->base);
    CHECK_INT(c->model_config->dssm->output_dim, 4);
    CHECK_INT(l.diags.list.at[0].code, E0206);
    unload(&l);
}

static void lists_maps_and_trees_are_bound(void)
{
    struct loaded l;
    const struct pc_EasyRecConfig *c = bound(
        &l,
        "feature_configs { id_feature { vocab_dict { key: \"a\" value: 2 }\n"
        "  vocab_dict: [{ key: \"b\" value: 18446744073709551615 }, { key: \"a\" value: 3 }] } }\n"
        "feature_configs { custom_feature { boundaries: [1, 2.5] boundaries: 3\n"
        "  operator_params { fields { key: \"k\" value { string_value: \"v\" } } } } }");
    const struct pc_IdFeature *id = c->feature_configs[0]->id_feature;
    const struct pc_CustomFeature *op = c->feature_configs[1]->custom_feature;
    CHECK_INT(id->n_vocab_dict, 2);
    CHECK_STR(id->vocab_dict[0].key, "a");
    CHECK_INT(id->vocab_dict[0].value, 3);
    CHECK(id->vocab_dict[1].value == UINT64_MAX);
    CHECK_INT(op->n_boundaries, 3);
    CHECK(op->boundaries[1] == 2.5 && op->boundaries[2] == 3);
    CHECK(op->operator_params && op->operator_params->kind == NODE_MAP);
    unload(&l);
}

/* Each with its own message: field, place, and what to do. */
static void the_schema_names_what_is_wrong(void)
{
    static const struct {
        const char *text;
        enum code code;
        const char *msg, *hint;
    } rows[] = {
        {"train_config { num_stps: 1 }", E0201, "TrainConfig has no field 'num_stps'",
         "did you mean 'num_steps'?"},
        {"train_config { mixed_precision: \"FP8\" }", E0204, "'mixed_precision' takes",
         NULL},
        {"train_config { grad_clipping { clipping_type: \"NORMS\" } }", E0204,
         "'clipping_type' takes 'norm', 'value' or 'none'", NULL},
        {"train_config { global_embedding_constraints { sharding_types: \"rowwise\" } }",
         E0204, "'sharding_types' takes", "did you mean 'row_wise'?"},
        {"feature_configs { id_feature { pooling: \"max\" } }", E0204, "'pooling' takes",
         NULL},
        {"feature_configs { overlap_feature { method: \"is_contains\" } }", E0204,
         "'method' takes", "did you mean 'is_contain'?"},
        {"data_config { batch_size: 0 }", E0203, "'batch_size': 0 is outside", NULL},
        {"data_config { batch_size: 4294967296 }", E0203, "does not fit", NULL},
        {"data_config { fg_encoded: true }", E0207, "fg_encoded", "use fg_mode"},
        {"feature_configs { kv_dot_product { kv_delimiter: 1 } }", E0208, "kv_delimiter",
         NULL},
        {"model_config { variational_dropout { embedding_wise_variational_dropout: true } }",
         E0208, "embedding_wise_variational_dropout", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct loaded l;
        load(&l, rows[i].text);
        const struct diag *g = NULL;
        for (size_t k = 0; k < l.diags.list.n && !g; k++)
            if (l.diags.list.at[k].code == rows[i].code)
                g = &l.diags.list.at[k];
        CHECK_HAS(g ? g->msg : rows[i].text, rows[i].msg);
        if (rows[i].hint)
            CHECK_HAS(g ? g->hint : NULL, rows[i].hint);
        unload(&l);
    }
}

static void words_without_regard_to_case_and_other_names_pass(void)
{
    struct loaded l;
    char *text = mem_printf(
        "%s",
        "train_config { fine_tune_ckpt_var_map: \"m\" grad_clipping { clipping_type: "
        "\"NORM\" } }\nfeature_configs { id_feature { pooling: \"MEAN\" } }");
    const struct pc_EasyRecConfig *c = bound(&l, text);
    CHECK_STR(c->train_config->fine_tune_ckpt_param_map, "m");
    for (size_t i = 0; i < l.diags.list.n; i++)
        CHECK(l.diags.list.at[i].code >= E0301);
    unload(&l);
    mem_free(text);
}

static void json_is_the_same_config(void)
{
    struct loaded l;
    load(&l,
         "{\"trainInputPath\": \"a\", \"eval_input_path\": \"\", \"modelDir\": \"m\",\n"
         " \"trainConfig\": {\"numSteps\": 5}, \"featureConfigs\": [{\"idFeature\": "
         "{\"featureName\": \"u\", \"hashBucketSize\": \"10\"}}]}");
    CHECK(l.conf.kind && strcmp(l.conf.kind->name, "pipeline") == 0);
    CHECK_INT(l.conf.syntax, SYNTAX_JSON);
    const struct pc_EasyRecConfig *c =
        schema_bind(&pc_EasyRecConfig_def, l.conf.doc.root, &l.conf.arena);
    CHECK_STR(c->train_input_path, "a");
    CHECK_INT(c->train_config->num_steps, 5);
    CHECK_INT(c->feature_configs[0]->id_feature->hash_bucket_size, 10);
    unload(&l);
}

static void features_are_seen_alike(void)
{
    struct loaded l;
    struct pc_features f;
    struct arena a = {0};
    load(&l, text_rank);
    CHECK_INT(l.rc, RC_OK);
    pc_features_init(&f, l.data, &a);
    CHECK_INT(f.n, 7);
    const struct pc_feature *price = pc_features_find(&f, str_c("price"));
    CHECK(price && strcmp(price->kind->member, "raw_feature") == 0 &&
          pc_feature_is_sparse(price));
    CHECK_INT(pc_feature_rows(price), 4);
    CHECK_INT(pc_feature_width(price), 4);
    const struct pc_feature *age = pc_features_find(&f, str_c("age"));
    CHECK(age && !pc_feature_is_sparse(age) && !pc_feature_has_vector(age));
    CHECK_INT(pc_feature_width(age), 1);
    const struct pc_feature *seq = pc_features_find(&f, str_c("clicks__iid"));
    CHECK(seq && seq->sequence && seq->group && seq->sequence_length == 10);
    CHECK(pc_features_find(&f, str_c("clicks_iid")) == seq);
    CHECK_INT(seq->value_dim, 1);
    CHECK_STR(pc_input_column(seq, &seq->inputs[0], &a), "clicks__iid");
    const struct pc_feature *cross = pc_features_find(&f, str_c("cross"));
    CHECK(cross && cross->n_inputs == 2 && str_is(cross->inputs[1].side, "item"));
    CHECK(pc_features_find(&f, str_c("nothing")) == NULL);
    pc_features_release(&f);
    arena_release(&a);
    unload(&l);
}

static void sampled_columns_make_data_groups(void)
{
    struct loaded l;
    struct pc_features f;
    struct arena a = {0};
    load(&l, text_match);
    pc_features_init(&f, l.data, &a);
    const struct pc_DataConfig *d = l.data->data_config;
    CHECK_INT(pc_feature_data_group(pc_features_find(&f, str_c("uid")), d, &a), PC_BASE);
    CHECK_INT(pc_feature_data_group(pc_features_find(&f, str_c("iid")), d, &a), PC_NEG);
    struct pc_sampler s = pc_sampler_of(d);
    CHECK_STR(s.name, "negative_sampler");
    CHECK_INT(s.num_sample, 4);
    pc_features_release(&f);
    arena_release(&a);
    unload(&l);
}

static void every_message_and_field_is_described(void)
{
    size_t n_msgs = 0, n_fields = 0;
    for (const struct msg_def *const *m = schema_family_pipeline.msgs; *m; m++) {
        n_msgs++;
        CHECK(strlen((*m)->doc) > 5);
        for (const struct field_def *f = (*m)->fields(); f->name; f++) {
            n_fields++;
            if (!f->doc || strlen(f->doc) < 5 || f->doc[strlen(f->doc) - 1] == '.')
                printf("# %s.%s\n", (*m)->name, f->name);
            CHECK(f->doc && strlen(f->doc) >= 5 && f->doc[strlen(f->doc) - 1] != '.');
            CHECK(!(f->flags & (FIELD_DEPRECATED | FIELD_IGNORED)) || f->note);
        }
        CHECK(!(*m)->title || schema_field(*m, (*m)->title));
    }
    CHECK(schema_family_pipeline.msgs[0] == &pc_EasyRecConfig_def);
    /* those of TorchEasyRec, and ours beside them */
    CHECK(n_msgs > 168);
    CHECK(n_fields > 1149);
}

static void a_kind_of_feature_names_inputs_that_its_message_has(void)
{
    struct arena a = {0};
    for (size_t i = 0; i < pc_feature_kind_count; i++) {
        const struct pc_feature_kind *k = &pc_feature_kinds[i];
        struct str rest = str_c(k->inputs), word;
        size_t n = 0;
        const struct field_def *d = NULL;
        for (; str_split(&rest, ' ', &word); n++) {
            d = schema_field(k->msg, arena_strndup(&a, word.p, word.n));
            CHECK(d && d->type == FIELD_STR);
        }
        bool list = n == 1 && d && d->label == LABEL_REP;
        CHECK(list || k->max_inputs == n);
        CHECK(k->min_inputs >= 1 && (!k->max_inputs || k->min_inputs <= k->max_inputs));
        CHECK(schema_field(&pc_FeatureConfig_def, k->member)->msg == k->msg);
        CHECK(pc_feature_kind_find(k->member) == k);
    }
    CHECK(pc_feature_kind_find("sequence_feature") == NULL);
    arena_release(&a);
}

/* Texts around a message, from the root: "model_config { dlrm { " and " } }"; false when
 * nothing leads to it within `depth` messages.
 */
static bool lead_to(const struct msg_def *from, const struct msg_def *to, int depth,
                    struct buf *before, struct buf *after)
{
    if (from == to)
        return true;
    for (const struct field_def *f = from->fields(); f->name && depth > 0; f++) {
        size_t n = before->n;
        if (f->type != FIELD_MSG)
            continue;
        buf_printf(before, "%s { ", f->name);
        if (lead_to(f->msg, to, depth - 1, before, after)) {
            buf_puts(after, " }");
            return true;
        }
        before->n = n;
    }
    return false;
}

static const char *some_value(const struct field_def *f)
{
    return f->type == FIELD_MSG    ? "{}"
           : f->type == FIELD_ENUM ? f->enums->values[0].name
           : f->type == FIELD_STR  ? "\"x\""
           : f->type == FIELD_BOOL ? "true"
                                   : "1";
}

static void check_named(const struct msg_def *m, const struct field_def *f)
{
    struct buf before, after;
    struct loaded l;
    const struct diag *found = NULL;
    buf_init(&before, 4096);
    buf_init(&after, 4096);
    CHECK(f->note && f->note[0]);
    CHECK(lead_to(&pc_EasyRecConfig_def, m, 8, &before, &after));
    char *text = mem_printf("%.*s%s: %s%s", (int)before.n, before.p, f->name,
                            some_value(f), buf_str(&after));
    load(&l, text);
    for (size_t i = 0; i < l.diags.list.n; i++)
        if (l.diags.list.at[i].code == E0208)
            found = &l.diags.list.at[i];
    CHECK_HAS(found ? found->msg : text, "has no effect");
    CHECK_HAS(found ? found->msg : text, f->name);
    CHECK_STR(found ? found->hint : "", f->note);
    unload(&l);
    mem_free(text);
    buf_release(&before);
    buf_release(&after);
}

static void every_field_without_effect_is_named_with_its_reason(void)
{
    const struct schema_family *s = &schema_family_pipeline;
    int n = 0;
    for (size_t i = 0; s->msgs[i]; i++)
        for (const struct field_def *f = s->msgs[i]->fields(); f->name; f++)
            if (f->flags & FIELD_IGNORED) {
                check_named(s->msgs[i], f);
                n++;
            }
    CHECK(n >= 20);
}

static const struct tap_case cases[] = {
    TAP(every_field_without_effect_is_named_with_its_reason),
    TAP(defaults_are_those_of_the_schema),
    TAP(a_value_equal_to_the_default_counts_as_set),
    TAP(absent_messages_are_null_and_lists_empty),
    TAP(float_settings_keep_their_decimals),
    TAP(the_last_member_of_a_oneof_stays),
    TAP(lists_maps_and_trees_are_bound),
    TAP(the_schema_names_what_is_wrong),
    TAP(words_without_regard_to_case_and_other_names_pass),
    TAP(json_is_the_same_config),
    TAP(features_are_seen_alike),
    TAP(a_kind_of_feature_names_inputs_that_its_message_has),
    TAP(sampled_columns_make_data_groups),
    TAP(every_message_and_field_is_described),
};
TAP_MAIN(cases)
