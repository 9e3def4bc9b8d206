/* SPDX-License-Identifier: Apache-2.0 */
/* data_config: columns and their types, labels and weights, CSV's settings, samplers.
 * Columns are those that input_fields declares; when it declares none, names cannot be
 * checked and are taken on trust. Required fields of a sampler are found by their label
 * in the schema, one loop for all.
 */
#include <ctype.h>
#include <string.h>

#include "text/pipeline/pipeline_private.h"

/* Columns as they are declared: by input_fields_str when it is not empty. */
struct columns {
    struct map names;
    bool known; /* something was declared, and all of it could be read */
};

static bool is_base_type(struct str s)
{
    static const char *const names[] = {"INT32", "INT64", "STRING", "FLOAT", "DOUBLE"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(s, names[i]))
            return true;
    return str_is(s, "INT") || str_is(s, "BIGINT");
}

/* The inside of NAME<...>; false when it is something else. */
static bool inside(struct str s, const char *name, struct str *in)
{
    size_t n = strlen(name);
    if (s.n < n + 2 || memcmp(s.p, name, n) != 0 || s.p[n] != '<' || s.p[s.n - 1] != '>')
        return false;
    *in = str_of(s.p + n + 1, s.n - n - 2);
    return true;
}

static bool is_key_type(struct str s)
{
    return is_base_type(s) && !str_is(s, "FLOAT") && !str_is(s, "DOUBLE");
}

/* `s` is upper case and holds no blanks. */
static bool is_column_type(struct str s)
{
    struct str in, key;
    if (inside(s, "ARRAY", &in)) {
        struct str item = in;
        return is_base_type(in) || (inside(in, "ARRAY", &item) && is_base_type(item));
    }
    if (inside(s, "MAP", &in) && str_split(&in, ',', &key))
        return is_key_type(key) && is_base_type(in);
    return is_base_type(s);
}

static struct str upper_without_blanks(struct pc_check *x, struct str s)
{
    char *out = arena_alloc(&x->arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        if (!isspace((unsigned char)s.p[i]))
            out[n++] = (char)toupper((unsigned char)s.p[i]);
    return str_of(out, n);
}

static void aim(struct pc_check *x, struct diag *g, struct str part)
{
    check_aim(g, &x->data->base, "input_fields_str", -1, x->data->input_fields_str, part);
}

static void add_column(struct pc_check *x, struct columns *c, struct str name,
                       const struct msg *m, const char *field)
{
    struct map_entry *e = map_put(&c->names, name);
    if (e->value) {
        struct diag *g =
            schema_report(x->diags, DIAG_ERROR, E0316, m, field,
                          "column '%.*s' is declared twice", (int)name.n, name.p);
        if (strcmp(field, "input_fields_str") == 0)
            aim(x, g, name);
    }
    e->value = x;
}

/* The grammar of input_fields_str */
static void check_column_part(struct pc_check *x, struct columns *c, struct str part)
{
    const struct msg *m = &x->data->base;
    struct str type = part, name;
    struct diag *g;
    bool has_type = memchr(part.p, ':', part.n) && str_split(&type, ':', &name);
    struct str bare = has_type ? str_trim(name) : part;
    if (!has_type || bare.n == 0 || str_trim(type).n == 0) {
        g = schema_report(x->diags, DIAG_ERROR, E0315, m, "input_fields_str",
                          "input_fields_str: '%.*s' is not of the form name:TYPE",
                          (int)part.n, part.p);
        aim(x, g, part);
        c->known = false;
        return;
    }
    type = str_trim(type);
    if (!is_column_type(upper_without_blanks(x, type))) {
        g = schema_report(x->diags, DIAG_ERROR, E0315, m, "input_fields_str",
                          "input_fields_str: column '%.*s' has unknown type '%.*s'",
                          (int)bare.n, bare.p, (int)type.n, type.p);
        aim(x, g, type);
    }
    add_column(x, c, bare, m, "input_fields_str");
}

static void read_columns(struct pc_check *x, struct columns *c)
{
    struct str rest = str_c(x->data->input_fields_str), part;
    if (*x->data->input_fields_str) {
        c->known = true;
        while (str_split(&rest, ';', &part))
            if (str_trim(part).n)
                check_column_part(x, c, str_trim(part));
        return;
    }
    c->known = x->data->n_input_fields > 0;
    for (int64_t i = 0; i < x->data->n_input_fields; i++) {
        const struct pc_Field *f = x->data->input_fields[i];
        add_column(x, c, str_c(f->input_name), &f->base, "input_name");
    }
}

static bool is_csv_like(const struct pc_DataConfig *d)
{
    return d->dataset_type == pc_DatasetType_CsvDataset ||
           d->dataset_type == pc_DatasetType_KafkaDataset;
}

/* Labels and weights are read from the data like any column. */
static void check_declared(struct pc_check *x, const struct columns *c, const char *field,
                           const char *const *names, int64_t n)
{
    bool whole = c->known && is_csv_like(x->data) && !x->data->with_header;
    for (int64_t i = 0; i < n; i++) {
        if (check_listed(names[i], names, i))
            check_item(x, DIAG_WARNING, E0316, &x->data->base, field, i,
                       "%s: '%s' is listed twice", field, names[i]);
        if (!whole || map_find(&c->names, str_c(names[i])))
            continue;
        struct diag *g =
            check_item(x, DIAG_ERROR, E0317, &x->data->base, field, i,
                       "%s: '%s' is not among the declared columns", field, names[i]);
        check_nearest(x, g, names[i], &c->names);
    }
}

static void check_csv(struct pc_check *x, const struct columns *c)
{
    const struct pc_DataConfig *d = x->data;
    if (d->dataset_type != pc_DatasetType_CsvDataset)
        return;
    if (strlen(d->delimiter) != 1)
        schema_report(x->diags, DIAG_ERROR, E0319, &d->base, "delimiter",
                      "delimiter '%s' is not one character", d->delimiter);
    if (!d->with_header && c->names.n == 0)
        schema_report(x->diags, DIAG_WARNING, E0318, &d->base, "dataset_type",
                      "neither with_header nor input_fields is set: the first line of "
                      "each file is taken as the names of the columns");
}

static void check_label_texts(struct pc_check *x, int64_t i)
{
    const struct pc_DataConfig *d = x->data;
    const struct pc_LabelText *t = d->label_texts[i];
    if (!check_listed(t->label_name, d->label_fields, d->n_label_fields))
        check_nearest_in(
            x,
            schema_report(x->diags, DIAG_ERROR, E0377, &t->base, "label_name",
                          "label_name '%s' is not in data_config.label_fields",
                          t->label_name),
            t->label_name, d->label_fields, d->n_label_fields);
    for (int64_t k = 0; k < i; k++)
        if (strcmp(d->label_texts[k]->label_name, t->label_name) == 0)
            schema_report(x->diags, DIAG_ERROR, E0316, &t->base, "label_name",
                          "label_texts: '%s' is there twice", t->label_name);
    if (strcmp(t->one, t->zero) == 0)
        schema_report(x->diags, DIAG_ERROR, E0316, &t->base, "zero",
                      "label_texts: '%s' stands for 1 and for 0", t->one);
}

/* Labels. Semantic-id models learn from the features alone. */
static void check_labels(struct pc_check *x)
{
    if (x->data->n_label_fields == 0 && x->family != FAMILY_SID &&
        x->family != FAMILY_NONE)
        schema_report(x->diags, DIAG_ERROR, E0314, &x->data->base, NULL,
                      "data_config has no label_fields");
    for (int64_t i = 0; i < x->data->n_label_texts; i++)
        check_label_texts(x, i);
}

static void check_cost(struct pc_check *x)
{
    const struct pc_DataConfig *d = x->data;
    if (d->has_sample_cost_field && !d->has_batch_cost_size)
        schema_report(x->diags, DIAG_WARNING, E0322, &d->base, "sample_cost_field",
                      "sample_cost_field without batch_cost_size has no effect");
    else if (d->batch_cost_size && !d->sample_cost_field[0])
        schema_report(x->diags, DIAG_ERROR, E0322, &d->base, "batch_cost_size",
                      "batch_cost_size needs sample_cost_field, the column of costs");
    else if (d->has_batch_cost_size && !d->batch_cost_size)
        schema_report(x->diags, DIAG_WARNING, E0322, &d->base, "batch_cost_size",
                      "batch_cost_size 0 has no effect");
}

/* fg_encoded, when set, wins. */
static void check_fg_encoded(struct pc_check *x)
{
    const struct pc_DataConfig *d = x->data;
    if (d->has_fg_encoded && d->has_fg_mode && (int)x->fg_mode != d->fg_mode)
        schema_report(x->diags, DIAG_WARNING, E0326, &d->base, "fg_encoded",
                      "fg_encoded makes fg_mode %s, not %s",
                      schema_enum_number(&pc_FgMode_def, x->fg_mode)->name,
                      schema_enum_number(&pc_FgMode_def, d->fg_mode)->name);
}

/* It only tells FG_DAG from FG_NORMAL, and only where fg_encoded is false. */
static void check_fg_threads(struct pc_check *x)
{
    const struct pc_DataConfig *d = x->data;
    if (d->has_fg_threads && !(d->has_fg_encoded && !d->fg_encoded))
        schema_report(x->diags, DIAG_WARNING, E0208, &d->base, "fg_threads",
                      "fg_threads has no effect: the threads of the run compute the "
                      "features");
}

/* What a sampler cannot do without; paths are often filled in later. */
static void check_sampler_fields(struct pc_check *x, const struct pc_sampler *s)
{
    for (const struct field_def *f = s->msg->def->fields(); f->name; f++) {
        if (f->label != LABEL_REQ || strcmp(f->name, "num_hard_sample") == 0)
            continue;
        const void *at = (const char *)s->msg + f->at;
        bool text = f->type == FIELD_STR;
        if (text ? **(const char *const *)at != '\0' : *(const uint32_t *)at != 0)
            continue;
        schema_report(x->diags, str_ends(f->name, "_path") ? DIAG_WARNING : DIAG_ERROR,
                      E0320, s->msg, f->name, "%s: %s is %s", s->name, f->name,
                      text ? "not set" : "0");
    }
    if (s->n_attr_fields == 0)
        schema_report(x->diags, DIAG_WARNING, E0320, s->msg, NULL,
                      "%s: attr_fields is empty: sampled items have no features",
                      s->name);
}

void check_tree(struct pc_check *x, const struct msg *m)
{
    const struct pc_TDMSampler *t = (const void *)m;
    if (t->n_layer_num_sample < 2)
        schema_report(x->diags, DIAG_ERROR, E0321, &t->base, "layer_num_sample",
                      "layer_num_sample has %jd levels, not 2 or more",
                      (intmax_t)t->n_layer_num_sample);
    else if (t->layer_num_sample[0] != 0)
        check_item(x, DIAG_ERROR, E0321, &t->base, "layer_num_sample", 0,
                   "layer_num_sample begins with %u: the root has no negatives, so it "
                   "must be 0",
                   t->layer_num_sample[0]);
}

/* Attributes that no feature reads are dropped. */
static void check_attrs(struct pc_check *x, const struct pc_sampler *s)
{
    struct map read = {0};
    for (size_t i = 0; i < x->features.n; i++) {
        const struct pc_feature *f = &x->features.at[i];
        map_put(&read, str_c(f->name));
        map_put(&read, str_c(f->feature_name));
        for (size_t k = 0; k < f->n_inputs; k++) {
            map_put(&read, f->inputs[k].name);
            map_put(&read, str_c(pc_input_column(f, &f->inputs[k], &x->arena)));
        }
    }
    for (int64_t i = 0; i < s->n_attr_fields; i++) {
        const char *name = s->attr_fields[i];
        if (map_find(&read, str_c(name)) || strcmp(name, "tree_level") == 0 ||
            strcmp(name, s->item_id_field) == 0)
            continue;
        struct diag *g = check_item(x, DIAG_WARNING, E0325, s->msg, "attr_fields", i,
                                    "attr_fields: no feature reads '%s'", name);
        check_nearest(x, g, name, &read);
    }
    map_release(&read);
}

void check_sampler(struct pc_check *x)
{
    struct pc_sampler s = pc_sampler_of(x->data);
    if (!s.msg)
        return;
    check_sampler_fields(x, &s);
    check_attrs(x, &s);
    if (s.kind->check)
        s.kind->check(x, s.msg);
}

void check_data(struct pc_check *x)
{
    const struct pc_DataConfig *d = x->data;
    struct columns c = {0};
    read_columns(x, &c);
    check_declared(x, &c, "label_fields", d->label_fields, d->n_label_fields);
    check_declared(x, &c, "sample_weight_fields", d->sample_weight_fields,
                   d->n_sample_weight_fields);
    check_csv(x, &c);
    check_labels(x);
    check_cost(x);
    check_fg_encoded(x);
    check_fg_threads(x);
    check_sampler(x);
    map_release(&c.names);
}
