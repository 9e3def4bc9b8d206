/* SPDX-License-Identifier: Apache-2.0 */
/* feature_configs: names, inputs, sequences, one feature at a time. How many inputs a
 * kind takes and what else is its own comes from its line of features.def. Ways to make
 * ids are checked in check_ids.c, tables in check_table.c, formulas in check_formula.c.
 */
#include <string.h>

#include "text/pipeline/pipeline_private.h"

static void check_empty(struct pc_check *x)
{
    for (int64_t i = 0; i < x->conf->n_feature_configs; i++) {
        const struct pc_FeatureConfig *c = x->conf->feature_configs[i];
        const struct pc_SequenceFeature *s = c->sequence_feature;
        if (!schema_oneof(&c->base, "feature", NULL))
            schema_report(x->diags, DIAG_ERROR, E0327, &c->base, NULL,
                          "feature_configs[%jd] names no kind of feature", (intmax_t)i);
        if (!s)
            continue;
        if (!*s->sequence_name)
            schema_report(x->diags, DIAG_ERROR, E0328, &s->base, "sequence_name",
                          "the sequence has no sequence_name");
        if (s->n_features == 0)
            schema_report(x->diags, DIAG_ERROR, E0327, &s->base, NULL,
                          "sequence '%s' has no features", s->sequence_name);
        if (x->generates && s->sequence_length == 0)
            schema_report(x->diags, DIAG_ERROR, E0344, &s->base, "sequence_length",
                          "sequence '%s': sequence_length must be above 0",
                          s->sequence_name);
        for (int64_t k = 0; k < s->n_features; k++)
            if (!schema_oneof(&s->features[k]->base, "feature", NULL))
                schema_report(x->diags, DIAG_ERROR, E0327, &s->features[k]->base, NULL,
                              "sequence '%s': features[%jd] names no kind of feature",
                              s->sequence_name, (intmax_t)k);
    }
}

/* Full feature names are unique. */
static void check_name(struct pc_check *x, const struct pc_feature *f)
{
    const struct pc_feature *first = map_get(&x->features.by_name, f->name);
    if (!*f->feature_name)
        schema_report(x->diags, DIAG_ERROR, E0328, f->msg, "feature_name",
                      "the feature has no feature_name");
    else if (first != f)
        schema_report(x->diags, DIAG_ERROR, E0329, f->msg, "feature_name",
                      "there is already a feature '%s'", f->name);
}

/* side:name */
static void check_input(struct pc_check *x, const struct pc_feature *f,
                        const struct pc_input *in)
{
    if (in->ok)
        return;
    struct diag *g =
        check_item(x, DIAG_ERROR, E0331, f->msg, in->field, in->index,
                   "%s: '%s' is not of the form side:name", in->field, in->text);
    if (in->side.n)
        diag_hint(x->diags, g,
                  "side is user, item, context, feature or const, not '%.*s'",
                  (int)in->side.n, in->side.p);
    else
        diag_hint(x->diags, g, "for example user:age or item:price");
}

/* FG_DAG lets features read each other; FG_NORMAL looks for a column. */
static void check_reference(struct pc_check *x, const struct pc_feature *f,
                            const struct pc_input *in)
{
    if (!in->ok || !str_is(in->side, "feature"))
        return;
    if (x->fg_mode != pc_FgMode_FG_DAG) {
        check_item(x, DIAG_WARNING, E0333, f->msg, in->field, in->index,
                   "%s: '%s' is read as a column; only FG_DAG reads features", in->field,
                   in->text);
        return;
    }
    struct str column = str_c(pc_input_column(f, in, &x->arena));
    const struct pc_feature *to = pc_features_find(&x->features, column);
    if (!to)
        to = pc_features_find(&x->features, in->name);
    if (!to && f->group)
        to = pc_features_find(
            &x->features,
            str_c(arena_printf(&x->arena, "%s__%.*s", f->group->sequence_name,
                               (int)in->name.n, in->name.p)));
    if (to) {
        map_put(&x->used, str_c(to->name));
        return;
    }
    struct diag *g = check_item(x, DIAG_ERROR, E0332, f->msg, in->field, in->index,
                                "%s: there is no feature '%.*s'", in->field,
                                (int)in->name.n, in->name.p);
    check_nearest(x, g, arena_strndup(&x->arena, in->name.p, in->name.n),
                  &x->features.by_name);
}

/* "map and key" of "map key" */
static const char *listed_inputs(struct pc_check *x, const struct pc_feature_kind *kind)
{
    struct str rest = str_c(kind->inputs), word;
    const char *text = "";
    for (bool first = true; str_split(&rest, ' ', &word); first = false)
        text = arena_printf(&x->arena, "%s%s%.*s", text,
                            first    ? ""
                            : rest.p ? ", "
                                     : " and ",
                            (int)word.n, word.p);
    return text;
}

/* How many inputs a list of them has. */
static void check_count(struct pc_check *x, const struct pc_feature *f)
{
    const struct pc_feature_kind *k = f->kind;
    bool list = f->inputs[0].index >= 0,
         over = k->max_inputs && f->n_inputs > k->max_inputs;
    if (list && (f->n_inputs < k->min_inputs || over))
        schema_report(x->diags, DIAG_ERROR, E0350, f->msg, k->inputs,
                      "%s '%s' takes %zu%s inputs, not %zu", k->member, f->name,
                      k->min_inputs, k->max_inputs ? "" : " or more", f->n_inputs);
}

static void check_inputs(struct pc_check *x, const struct pc_feature *f)
{
    for (size_t i = 0; i < f->n_inputs; i++) {
        check_input(x, f, &f->inputs[i]);
        check_reference(x, f, &f->inputs[i]);
    }
    if (f->n_inputs == 0)
        schema_report(x->diags, DIAG_ERROR, E0330, f->msg, NULL,
                      "feature '%s' names no input: set %s", f->name,
                      listed_inputs(x, f->kind));
    else
        check_count(x, f);
}

/* Separator is exactly one ASCII character. */
static void check_separator(struct pc_check *x, const struct pc_feature *f)
{
    const char *s = f->separator;
    if (s && (strlen(s) != 1 || (unsigned char)*s >= 0x80))
        schema_report(x->diags, DIAG_ERROR, E0343, f->msg, "separator",
                      "separator '%s' is not one ASCII character", s);
}

/* The length of a sequence of its own; inside a group the group has it. */
static void check_sequence(struct pc_check *x, const struct pc_feature *f)
{
    bool own = f->sequence && !f->group && str_starts(f->msg->field, "sequence_");
    if (own && f->sequence_length == 0)
        schema_report(x->diags, DIAG_ERROR, E0344, f->msg, "sequence_length",
                      "sequence feature '%s': sequence_length must be above 0", f->name);
    for (int64_t i = 0; i < f->n_sequence_fields; i++) {
        const char **names = arena_alloc(&x->arena, (f->n_inputs + 1) * sizeof(*names));
        for (size_t k = 0; k < f->n_inputs; k++)
            names[k] =
                arena_strndup(&x->arena, f->inputs[k].name.p ? f->inputs[k].name.p : "",
                              f->inputs[k].name.n);
        if (check_listed(f->sequence_fields[i], names, (int64_t)f->n_inputs))
            continue;
        struct diag *g =
            check_item(x, DIAG_ERROR, E0355, f->msg, "sequence_fields", i,
                       "sequence_fields: '%s' is not an input of feature '%s'",
                       f->sequence_fields[i], f->name);
        check_nearest_in(x, g, f->sequence_fields[i], names, (int64_t)f->n_inputs);
    }
}

/* tokens_as_sequence only with the tokenize_feature member. */
void check_tokens(struct pc_check *x, const struct pc_feature *f)
{
    if (f->tokens_as_sequence && strcmp(f->msg->field, f->kind->member) != 0)
        schema_report(x->diags, DIAG_ERROR, E0353, f->msg, "tokens_as_sequence",
                      "tokens_as_sequence is for %s, not %s", f->kind->member,
                      f->msg->field);
}

/* Stubs are an error under FG_NORMAL. */
static void check_stub(struct pc_check *x, const struct pc_feature *f)
{
    if (f->stub_type && x->fg_mode == pc_FgMode_FG_NORMAL)
        schema_report(x->diags, DIAG_ERROR, E0333, f->msg, "stub_type",
                      "feature '%s': stub_type needs fg_mode FG_DAG", f->name);
}

/* With both probabilities 0 nothing is ever masked, nor where all features are made in
 * one go.
 */
static void check_mask(struct pc_check *x, const struct pc_feature *f)
{
    if (!f->use_mask || !x->data)
        return;
    if (!pc_fg_mode_masks(x->fg_mode))
        schema_report(x->diags, DIAG_WARNING, E0323, f->msg, "use_mask",
                      "use_mask has no effect under fg_mode %s; FG_NORMAL and FG_NONE "
                      "mask",
                      schema_enum_number(&pc_FgMode_def, x->fg_mode)->name);
    else if (x->data->sample_mask_prob <= 0 && x->data->negative_sample_mask_prob <= 0)
        schema_report(x->diags, DIAG_WARNING, E0323, f->msg, "use_mask",
                      "use_mask has no effect: sample_mask_prob and "
                      "negative_sample_mask_prob are 0");
}

void check_features(struct pc_check *x)
{
    check_empty(x);
    for (size_t i = 0; i < x->features.n; i++) {
        const struct pc_feature *f = &x->features.at[i];
        check_name(x, f);
        check_ids(x, f);
        check_numbers(x, f);
        if (f->kind->check)
            f->kind->check(x, f);
        check_stub(x, f);
        check_mask(x, f);
        if (!x->generates)
            continue;
        check_inputs(x, f);
        check_separator(x, f);
        check_sequence(x, f);
    }
}
