/* SPDX-License-Identifier: Apache-2.0 */
/* From the config to a plan. Each mode decides what a feature reads and which operator
 * works on it; the rest is the same for all.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "feature/feature_private.h"
#include "feature/words.h"

struct diag *plan_report(struct diags *d, const struct fg *f, enum code code,
                         const char *field, const char *fmt, ...)
{
    char msg[900];
    va_list args;
    va_start(args, fmt);
    vsnprintf(msg, sizeof(msg), fmt, args);
    va_end(args);
    return schema_report(d, DIAG_ERROR, code, f->conf->msg, field, "%s", msg);
}

char *plan_path(struct feature_plan *p, const char *asset_dir, const char *file)
{
    if (asset_dir && *asset_dir)
        return fs_join(asset_dir, file);
    return p->options.dir ? fs_join(p->options.dir, file) : mem_strdup(file);
}

const struct fg_ops *fg_ops_of(const struct pc_feature_kind *kind)
{
    static const struct fg_ops *const all[] = {
#define FEATURE(name, ...) &fg_##name,
#include "text/pipeline/features.def"
#undef FEATURE
    };
    return all[kind - pc_feature_kinds];
}

static bool reads_columns_of_its_name(const struct feature_plan *p)
{
    return p->mode == pc_FgMode_FG_NONE || p->mode == pc_FgMode_FG_BUCKETIZE;
}

static const struct fg_ops *choose_ops(const struct fg *f, const struct feature_plan *p)
{
    const struct pc_feature_kind *kind = f->conf->kind;
    if (kind->own_ids) /* in every mode */
        return fg_ops_of(kind);
    if (p->mode == pc_FgMode_FG_NONE)
        return NULL;
    if (p->mode == pc_FgMode_FG_BUCKETIZE)
        return f->sink == SINK_NUMBERS || f->bucket.kind == BUCKET_BOUNDS || kind->numbers
                   ? &fg_raw
                   : &fg_id;
    return fg_ops_of(kind);
}

/* Where it stands in the file. */
static void set_place(struct fg *f)
{
    struct span at = schema_span(f->conf->msg, "feature_name");
    uint32_t col;
    f->file = "config";
    if (!at.src)
        return;
    f->file = at.src->name;
    source_locate(at.src, at.off, &f->line, &col);
}

static void set_basics(struct fg *f, const struct feature_plan *p)
{
    const struct pc_feature *c = f->conf;
    f->info = (struct feature_info){
        .name = c->name, .conf = c, .sequence = c->sequence, .stub = c->stub_type};
    f->sequence = c->sequence;
    f->weighted = f->info.weighted = c->weighted;
    f->use_mask = c->use_mask;
    f->delim = str_c(c->sequence_delim && *c->sequence_delim ? c->sequence_delim : ";");
    f->sep = c->separator && *c->separator ? *c->separator : '\x1d';
    if (p->mode != pc_FgMode_FG_NONE) {
        f->max_steps = c->sequence ? c->sequence_length : 0;
        f->keep = c->kind->keeps ? c->value_dim : 0;
    }
    if (!p->options.no_places)
        set_place(f);
}

static void set_sink(struct fg *f, const struct feature_plan *p, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    f->info.sparse = pc_feature_is_sparse(c);
    f->sink = f->info.sparse ? SINK_IDS : SINK_NUMBERS;
    f->info.value_dim = c->value_dim ? c->value_dim : 1;
    if (f->sink == SINK_NUMBERS)
        f->dim = f->want = f->info.value_dim;
    else if (c->kind->exact)
        f->want = c->value_dim;
    if (f->info.sparse && f->bucket.kind == BUCKET_NONE && !c->kind->own_ids &&
        p->mode != pc_FgMode_FG_NONE) {
        f->sink = SINK_TEXTS;
        f->keep = c->stub_type ? f->keep : 0;
        if (!c->stub_type)
            plan_report(diags, f, E1317, NULL, "feature '%s' has no way to make ids",
                        f->info.name);
    }
}

int64_t plan_want_column(struct feature_plan *p, const char *name, enum feature_use use,
                         const char *by)
{
    struct map_entry *e = map_put(&p->by_column, str_c(name));
    if (!e->value) {
        struct feature_column c = {.name = e->key, .use = use, .by = by};
        VEC_PUSH(&p->columns, c);
        e->value = (void *)(uintptr_t)p->columns.n;
    }
    return (int64_t)(uintptr_t)e->value - 1;
}

/* By the column's name, the bare name, or that of a member of the same group. */
static const struct fg *find_feature(const struct feature_plan *p, const struct fg *f,
                                     const struct pc_input *in, struct arena *a)
{
    const struct pc_feature *to =
        pc_features_find(&p->conf, str_c(pc_input_column(f->conf, in, a)));
    if (!to)
        to = pc_features_find(&p->conf, in->name);
    if (!to && f->conf->group)
        to = pc_features_find(
            &p->conf, str_c(arena_printf(a, "%s__%.*s", f->conf->group->sequence_name,
                                         (int)in->name.n, in->name.p)));
    return to ? &p->at[to - p->conf.at] : NULL;
}

static void set_input(struct fg *f, struct feature_plan *p, struct fg_input *to,
                      struct pc_input *from, struct diags *diags)
{
    bool dag = p->mode == pc_FgMode_FG_DAG;
    to->conf = from;
    to->column = pc_input_column(f->conf, from, &p->mem);
    to->seq = pc_input_is_sequence(f->conf, from);
    to->slot = -1;
    if (dag && str_is(from->side, "const")) {
        to->literal = from->name;
        to->is_const = true;
        to->seq = false;
    } else if (dag && str_is(from->side, "feature")) {
        to->feature = find_feature(p, f, from, &p->mem);
        to->seq = f->sequence && to->feature && to->feature->conf->sequence;
        if (!to->feature)
            plan_report(diags, f, E1308, from->field,
                        "feature '%s' reads '%s', and there is no such feature",
                        f->info.name, from->text);
    } else {
        to->slot = plan_want_column(p, to->column, FEATURE_INPUT, f->info.name);
    }
}

static void set_inputs(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_feature *c = f->conf;
    bool own = reads_columns_of_its_name(p);
    f->n_in = own ? 1 : c->n_inputs;
    f->in = arena_alloc(&p->mem, (f->n_in + 1) * sizeof(*f->in));
    for (size_t i = 0; !own && i < f->n_in; i++)
        set_input(f, p, &f->in[i], &c->inputs[i], diags);
    if (own)
        f->in[0] = (struct fg_input){
            .column = f->info.name,
            .seq = f->sequence,
            .slot = f->info.stub
                        ? -1
                        : plan_want_column(p, f->info.name, FEATURE_INPUT, f->info.name)};
    for (size_t i = 0; i < f->n_in; i++)
        f->in[i].sep = f->sep;
}

/* FG_NONE and FG_BUCKETIZE start behind the normalizer. */
static void set_normal(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    struct err err = {0};
    if (reads_columns_of_its_name(p))
        return;
    if (normal_parse(f->conf->normalizer, &f->normal, &err))
        plan_report(diags, f, E1311, "normalizer", "feature '%s': normalizer '%s': %s",
                    f->info.name, f->conf->normalizer, err.msg);
}

static void plan_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    size_t need = f->conf->kind->min_inputs;
    if (!reads_columns_of_its_name(p) && f->n_in < need) {
        plan_report(diags, f, E1318, NULL, "feature '%s' needs %zu inputs and has %zu",
                    f->info.name, need, f->n_in);
        return;
    }
    f->ops = choose_ops(f, p);
    if (f->ops)
        f->ops->compile(f, p, diags);
}

static void add_targets(struct feature_plan *p)
{
    const struct pc_DataConfig *d = p->data;
    if (!d || p->options.no_labels)
        return;
    for (int64_t i = 0; i < d->n_label_fields; i++)
        VEC_PUSH(&p->targets,
                 plan_want_column(p, d->label_fields[i], FEATURE_LABEL, NULL));
    p->n_labels = p->targets.n;
    for (size_t i = 0; i < p->n_labels; i++)
        p->columns.at[p->targets.at[i]].two_texts = target_texts(p, i) != NULL;
    for (int64_t i = 0; i < d->n_sample_weight_fields; i++)
        VEC_PUSH(&p->targets,
                 plan_want_column(p, d->sample_weight_fields[i], FEATURE_WEIGHT, NULL));
    p->n_weights = p->targets.n - p->n_labels;
}

static bool wants_text(const struct feature_plan *p, const struct fg *f,
                       const struct fg_input *in)
{
    if (p->mode == pc_FgMode_FG_NONE)
        return f->info.sparse;
    return in->form != FORM_NUMBERS && in->form != FORM_NUMBER;
}

/* Which columns are read as text: by some feature, or by a sampler alone. */
static void mark_text(struct feature_plan *p)
{
    for (size_t i = 0; i < p->columns.n; i++)
        p->columns.at[i].text =
            p->columns.at[i].use == FEATURE_INPUT && !p->columns.at[i].by;
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->at[i].n_in; k++) {
            const struct fg_input *in = &p->at[i].in[k];
            if (in->slot >= 0)
                p->columns.at[in->slot].text |= wants_text(p, &p->at[i], in);
        }
}

static void plan_build(struct feature_plan *p, struct diags *diags)
{
    for (size_t i = 0; i < p->n; i++) {
        p->at[i].conf = &p->conf.at[i];
        p->at[i].index = i;
        set_basics(&p->at[i], p);
    }
    for (size_t i = 0; i < p->n; i++) {
        struct fg *f = &p->at[i];
        f->def_text = feature_default_text(f->conf);
        plan_bucket(f, p, diags);
        set_sink(f, p, diags);
        set_inputs(f, p, diags);
        set_normal(f, p, diags);
        plan_compile(f, p, diags);
        plan_defaults(f, p, diags);
        if (p->mode == pc_FgMode_FG_NONE)
            f->bucket.kind = BUCKET_NONE;
    }
    dag_sort(p, diags);
    add_targets(p);
    plan_sampler_columns(p);
    mark_text(p);
    if (!diags->n_errors)
        plan_sampled(p, diags);
}

enum rc feature_plan_create(const struct pc_EasyRecConfig *conf,
                            const struct feature_options *options,
                            struct feature_plan **out, struct diags *diags,
                            struct err *err)
{
    struct feature_plan *p = mem_calloc(1, sizeof(*p));
    size_t before = diags->n_errors;
    p->data = conf->data_config;
    p->mode = pc_fg_mode(p->data);
    if (options)
        p->options = *options;
    p->multi_sep = str_c(p->data && *p->data->fg_encoded_multival_sep
                             ? p->data->fg_encoded_multival_sep
                             : "\x03");
    pc_features_init(&p->conf, conf, &p->mem);
    p->n = p->conf.n;
    p->at = mem_calloc(p->n + 1, sizeof(*p->at));
    plan_build(p, diags);
    if (diags->n_errors > before) {
        feature_plan_destroy(p);
        return err_set(err, RC_INVAL, "the features have %zu errors",
                       diags->n_errors - before);
    }
    *out = p;
    return RC_OK;
}

void feature_plan_destroy(struct feature_plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++) {
        struct fg *f = &p->at[i];
        if (f->op && f->ops->release)
            f->ops->release(f->op);
        bucket_release(&f->bucket);
        normal_release(&f->normal);
        mem_free(f->def_ids);
        mem_free(f->def_values);
    }
    mem_free(p->at);
    VEC_RELEASE(&p->columns);
    VEC_RELEASE(&p->targets);
    map_release(&p->by_column);
    pc_features_release(&p->conf);
    arena_release(&p->mem);
    mem_free(p);
}

size_t feature_plan_count(const struct feature_plan *p)
{
    return p->n;
}

const struct feature_info *feature_plan_info(const struct feature_plan *p, size_t i)
{
    return &p->at[i].info;
}

int64_t feature_plan_find(const struct feature_plan *p, struct str name)
{
    const struct pc_feature *f = pc_features_find(&p->conf, name);
    return f ? f - p->conf.at : -1;
}

const struct pc_features *feature_plan_conf(const struct feature_plan *p)
{
    return &p->conf;
}

const struct vocab *feature_plan_words(const struct feature_plan *p, size_t i,
                                       int64_t *unknown)
{
    const struct fg_bucket *b = &p->at[i].bucket;
    if (b->kind != BUCKET_VOCAB)
        return NULL;
    *unknown = b->unknown;
    return &b->vocab;
}

/* Features are at most as deep as there are; dag_sort() has refused circles. */
static void add_reads(const struct feature_plan *p, const struct fg *f, bool *columns)
{
    for (size_t i = 0; i < f->n_in; i++) {
        if (f->in[i].feature)
            add_reads(p, f->in[i].feature, columns);
        if (f->in[i].slot >= 0)
            columns[f->in[i].slot] = true;
    }
}

void feature_plan_reads(const struct feature_plan *p, const bool *wanted, bool *columns)
{
    for (size_t i = 0; i < p->columns.n; i++)
        columns[i] = false;
    for (size_t i = 0; i < p->n; i++)
        if (wanted[i])
            add_reads(p, &p->at[i], columns);
}

const struct feature_column *feature_plan_columns(const struct feature_plan *p, size_t *n)
{
    *n = p->columns.n;
    return p->columns.at;
}

static const char *type_name(const struct type *t, struct diags *d)
{
    struct buf b;
    buf_init(&b, 256);
    type_print(t, &b);
    const char *name = arena_strdup(&d->arena, buf_str(&b));
    buf_release(&b);
    return name;
}

static void no_column(const struct data_schema *s, struct diags *d, struct diag *g,
                      const char *name)
{
    const char **names = mem_calloc(s->n + 1, sizeof(*names));
    for (size_t i = 0; i < s->n; i++)
        names[i] = s->at[i].name;
    const char *near = str_nearest(str_c(name), names, s->n);
    if (near)
        diag_hint(d, g, "did you mean '%s'?", near);
    mem_free(names);
}

static void check_input(const struct feature_plan *p, const struct fg *f,
                        const struct fg_input *in, const struct data_schema *s,
                        struct diags *d)
{
    const char *field = in->conf ? in->conf->field : NULL;
    int64_t at = data_schema_find(s, str_c(in->column));
    if (at < 0) {
        struct diag *g =
            plan_report(d, f, E1301, field, "feature '%s': the data has no column '%s'",
                        f->info.name, in->column);
        no_column(s, d, g, in->column);
        return;
    }
    const struct type *t = &s->at[at].type;
    if (f->conf->of_items && t->id == TYPE_LIST)
        t = &t->kids[0].type; /* they are taken apart */
    bool ok = p->mode == pc_FgMode_FG_NONE ? none_accept(f, t) : cells_accept(in, t);
    if (!ok)
        plan_report(d, f, E1302, field,
                    "feature '%s': column '%s' of type %s cannot be read here",
                    f->info.name, in->column, type_name(t, d));
}

static void check_target(const struct feature_plan *p, size_t i,
                         const struct data_schema *s, struct diags *d)
{
    const char *name = p->columns.at[p->targets.at[i]].name;
    enum feature_use use = i < p->n_labels ? FEATURE_LABEL : FEATURE_WEIGHT;
    const char *field = use == FEATURE_LABEL ? "label_fields" : "sample_weight_fields";
    int64_t at = data_schema_find(s, str_c(name));
    if (at < 0)
        no_column(s, d,
                  schema_report(d, DIAG_ERROR, E1301, &p->data->base, field,
                                "%s: the data has no column '%s'", field, name),
                  name);
    else if (!target_accept(use, target_texts(p, i), &s->at[at].type))
        schema_report(d, DIAG_ERROR, E1314, &p->data->base, field,
                      "%s: column '%s' of type %s cannot be used: %s", field, name,
                      type_name(&s->at[at].type, d),
                      use == FEATURE_WEIGHT
                          ? "weights are float or double; a CSV column's "
                            "type is set by input_fields"
                          : "labels are numbers");
}

enum rc feature_plan_check(const struct feature_plan *p, const struct data_schema *schema,
                           struct diags *diags)
{
    size_t before = diags->n_errors;
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->at[i].n_in; k++)
            if (p->at[i].in[k].slot >= 0)
                check_input(p, &p->at[i], &p->at[i].in[k], schema, diags);
    for (size_t i = 0; i < p->targets.n; i++)
        check_target(p, i, schema, diags);
    return diags->n_errors > before ? RC_INVAL : RC_OK;
}
