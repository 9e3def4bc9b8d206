/* SPDX-License-Identifier: Apache-2.0 */
/* data_config in the words of data/dataset.h: the types of columns as the two spellings
 * of input_fields give them, the columns that the features read, and the samplers.
 */
#include "train/source.h"

#include <string.h>
#include <strings.h>

#include "data/odps/type.h"
#include "text/pipeline/feature.h"

#define PAY_AS_YOU_GO "pay-as-you-go" /* the quota that every project has */
#define DECLARED "which input_fields declares"
#define SHARD_STREAM 0x9e3779b97f4a7c15u /* other random numbers for each shard */

static bool scalar_type(enum pc_FieldType t, struct type *out)
{
    static const enum type_id ids[] = {[pc_FieldType_INT32] = TYPE_I32,
                                       [pc_FieldType_INT64] = TYPE_I64,
                                       [pc_FieldType_STRING] = TYPE_STR,
                                       [pc_FieldType_FLOAT] = TYPE_F32,
                                       [pc_FieldType_DOUBLE] = TYPE_F64};
    if (t > pc_FieldType_DOUBLE)
        return false;
    *out = type_of(ids[t], true);
    return true;
}

/* "BIGINT" and so on; the check of the config has been through the grammar. */
static bool named_type(struct str s, struct type *out)
{
    static const struct {
        const char *name;
        enum pc_FieldType type;
    } names[] = {{"INT32", pc_FieldType_INT32},   {"INT", pc_FieldType_INT32},
                 {"INT64", pc_FieldType_INT64},   {"BIGINT", pc_FieldType_INT64},
                 {"STRING", pc_FieldType_STRING}, {"FLOAT", pc_FieldType_FLOAT},
                 {"DOUBLE", pc_FieldType_DOUBLE}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strlen(names[i].name) == s.n && strncasecmp(names[i].name, s.p, s.n) == 0)
            return scalar_type(names[i].type, out);
    return false;
}

static enum rc unusable(const char *name, struct err *err)
{
    return err_set(err, RC_UNSUPPORTED,
                   "column '%s': text files hold numbers and texts, no lists or maps",
                   name);
}

/* input_fields_str: name:TYPE;name:TYPE */
static enum rc fields_of_text(const char *text, struct arena *a, struct reader_conf *out,
                              struct err *err)
{
    struct str rest = str_c(text), part;
    size_t most = 1;
    for (const char *p = text; *p; p++)
        most += *p == ';';
    struct reader_field *fields = arena_alloc(a, most * sizeof(*fields));
    while (str_split(&rest, ';', &part)) {
        part = str_trim(part);
        const char *colon = part.n ? memchr(part.p, ':', part.n) : NULL;
        if (!colon)
            continue;
        struct str name = str_trim(str_of(part.p, (size_t)(colon - part.p)));
        struct reader_field *f = &fields[out->n_fields++];
        *f = (struct reader_field){.name = arena_strndup(a, name.p, name.n)};
        f->why = DECLARED;
        if (!named_type(
                str_trim(str_of(colon + 1, (size_t)(part.p + part.n - colon) - 1)),
                &f->type))
            return unusable(f->name, err);
    }
    out->fields = fields;
    return RC_OK;
}

/* With a header the fields only tell types, and a file may lack those that nobody reads:
 * labels, when there is nothing but to predict.
 */
static void name_in_header(struct reader_conf *out, struct arena *a)
{
    struct reader_field *types = arena_alloc(a, (out->n_fields + 1) * sizeof(*types));
    size_t n = 0;
    for (size_t i = 0; i < out->n_fields; i++)
        if (!out->fields[i].inferred)
            types[n++] = out->fields[i];
    out->types = types;
    out->n_types = n;
    out->fields = NULL;
    out->n_fields = 0;
}

static enum rc declared_fields(const struct pc_DataConfig *d, struct arena *a,
                               struct reader_conf *out, struct err *err)
{
    if (d->input_fields_str[0])
        return fields_of_text(d->input_fields_str, a, out, err);
    struct reader_field *fields =
        arena_alloc(a, ((size_t)d->n_input_fields + 1) * sizeof(*fields));
    for (int64_t i = 0; i < d->n_input_fields; i++) {
        const struct pc_Field *f = d->input_fields[i];
        fields[i] = (struct reader_field){.name = f->input_name,
                                          .inferred = !f->has_input_type,
                                          .why = f->has_input_type ? DECLARED : NULL};
        if (f->has_input_type &&
            !scalar_type((enum pc_FieldType)f->input_type, &fields[i].type))
            return unusable(f->input_name, err);
    }
    out->fields = fields;
    out->n_fields = (size_t)d->n_input_fields;
    return RC_OK;
}

/* A type as input_fields_str writes it. MaxCompute's spelling of types has the same
 * forms, but for the two names of whole numbers.
 */
static enum rc message_type(const char *name, struct str text, struct arena *a,
                            struct type *out, struct err *err)
{
    struct buf b;
    struct odps_type t;
    buf_init(&b, text.n + 64);
    for (size_t i = 0; i < text.n;) {
        bool word = i + 5 <= text.n && strncasecmp(text.p + i, "INT", 3) == 0 &&
                    (memcmp(text.p + i + 3, "64", 2) == 0 ||
                     memcmp(text.p + i + 3, "32", 2) == 0);
        if (word)
            buf_puts(&b, text.p[i + 3] == '6' ? "bigint" : "int");
        else
            buf_putc(&b, text.p[i]);
        i += word ? 5 : 1;
    }
    enum rc rc = odps_type_parse(str_of(buf_str(&b), b.n), a, &t, err);
    buf_release(&b);
    if (rc)
        return err_wrap(err, rc, "column '%.100s'", name);
    *out = odps_type_ours(&t, a);
    return RC_OK;
}

/* The five kinds of values, then lists, lists of lists and maps of each. */
static enum rc message_type_of(const char *name, int64_t t, struct arena *a,
                               struct type *out, struct err *err)
{
    static const char *const kinds[] = {"int", "bigint", "string", "float", "double"};
    static const char *const forms[] = {
        "%s",         "array<%s>", "array<array<%s>>", "map<string,%s>", "map<bigint,%s>",
        "map<int,%s>"};
    if (t < 0 || t >= (int64_t)(ARRAY_LEN(forms) * ARRAY_LEN(kinds)))
        return err_set(err, RC_UNSUPPORTED, "column '%.100s': unknown type", name);
    struct buf text;
    buf_init(&text, 100);
    const char *form = forms[(size_t)t / ARRAY_LEN(kinds)], *at = strchr(form, '%');
    buf_add(&text, form, (size_t)(at - form));
    buf_puts(&text, kinds[(size_t)t % ARRAY_LEN(kinds)]);
    buf_puts(&text, at + 2);
    enum rc rc = message_type(name, str_of(buf_str(&text), text.n), a, out, err);
    buf_release(&text);
    return rc;
}

/* Columns of messages that carry no schema; none when they do. */
static enum rc message_fields(const struct pc_DataConfig *d, struct arena *a,
                              struct reader_conf *out, struct err *err)
{
    struct str rest = str_c(d->input_fields_str), part;
    size_t most = (size_t)d->n_input_fields + 1;
    for (size_t i = 0; i < rest.n; i++)
        most += rest.p[i] == ';';
    struct reader_field *fields = arena_alloc(a, most * sizeof(*fields));
    memset(fields, 0, most * sizeof(*fields));
    out->fields = fields;
    enum rc rc = RC_OK;
    while (!rc && rest.n && str_split(&rest, ';', &part)) {
        part = str_trim(part);
        const char *colon = part.n ? memchr(part.p, ':', part.n) : NULL;
        if (!colon)
            continue;
        struct str name = str_trim(str_of(part.p, (size_t)(colon - part.p)));
        struct reader_field *f = &fields[out->n_fields++];
        f->name = arena_strndup(a, name.p, name.n);
        rc = message_type(f->name,
                          str_of(colon + 1, part.n - (size_t)(colon + 1 - part.p)), a,
                          &f->type, err);
    }
    for (int64_t i = 0; !rc && !d->input_fields_str[0] && i < d->n_input_fields; i++) {
        struct reader_field *f = &fields[out->n_fields++];
        f->name = d->input_fields[i]->input_name;
        rc = message_type_of(f->name, d->input_fields[i]->input_type, a, &f->type, err);
    }
    out->bare = out->n_fields > 0;
    return rc;
}

static void wanted_columns(const struct feature_plan *plan, bool labels, struct arena *a,
                           struct dataset_conf *out)
{
    size_t n;
    const struct feature_column *columns = feature_plan_columns(plan, &n);
    const char **want = arena_alloc(a, (n + 1) * sizeof(*want));
    const char **label = arena_alloc(a, (n + 1) * sizeof(*label));
    const char **weight = arena_alloc(a, (n + 1) * sizeof(*weight));
    const char **texts = arena_alloc(a, (n + 1) * sizeof(*texts));
    for (size_t i = 0; i < n; i++) {
        if (columns[i].use == FEATURE_INPUT)
            want[out->reader.n_want++] = columns[i].name;
        else if (labels && columns[i].use == FEATURE_LABEL)
            label[out->n_labels++] = columns[i].name;
        else if (labels)
            weight[out->n_weights++] = columns[i].name;
        if (labels && columns[i].two_texts)
            texts[out->n_text_labels++] = columns[i].name;
    }
    out->reader.want = want;
    out->labels = label;
    out->weights = weight;
    out->text_labels = texts;
}

/* TorchEasyRec's workers: each reads a range of the rows, or of text every n-th file, and
 * batches are taken from them in turn. Without the field the order is that of the files.
 */
static void use_workers(const struct pc_DataConfig *d, bool unset_too,
                        struct dataset_conf *out)
{
    if ((!d->has_num_workers && !unset_too) || d->num_workers < 2)
        return;
    out->readers = d->num_workers;
    out->by_file = d->dataset_type == pc_DatasetType_CsvDataset && out->world <= 1;
}

const char *train_source_quota(const struct pc_DataConfig *d)
{
    const char *q = d->odps_data_quota_name;
    return d->has_odps_data_quota_name && q[0] && strcmp(q, PAY_AS_YOU_GO) != 0 ? q
                                                                                : NULL;
}

/* Of MaxCompute tables. */
static void use_tunnel(const struct pc_DataConfig *d, struct reader_conf *out)
{
    out->quota = train_source_quota(d);
    if (strcmp(d->odps_data_compression, "UNCOMPRESSED") != 0)
        out->compression = d->odps_data_compression;
}

static void use_slots(const struct pc_DataConfig *d, struct dataset_conf *out)
{
    out->format = &reader_slots;
    out->reader.line_format = d->line_format;
    out->reader.line_columns = d->line_columns[0] ? d->line_columns : NULL;
    out->reader.line_padding = d->line_padding;
}

enum rc train_source_conf(const struct pc_DataConfig *d, const struct feature_plan *plan,
                          const char *path, enum train_source_use use, uint64_t seed,
                          struct train_source_share share, struct arena *a,
                          struct dataset_conf *out, struct err *err)
{
    bool training = use == SOURCE_TRAIN;
    int64_t batch =
        training || !d->has_eval_batch_size ? d->batch_size : d->eval_batch_size;
    *out = (struct dataset_conf){
        .input = path,
        .batch_size = batch,
        .drop_remainder = d->drop_remainder && use != SOURCE_PREDICT,
        .every_row = use == SOURCE_PREDICT,
        .seed = seed,
        .rank = share.at,
        .world = share.of,
        .threads = 1,
        .batch_cost = d->has_batch_cost_size ? (int64_t)d->batch_cost_size : 0};
    if (d->sample_cost_field[0])
        out->cost_field = d->sample_cost_field;
    if (training && d->shuffle)
        out->shuffle = d->shuffle_buffer_size;
    if (use != SOURCE_PREDICT)
        use_workers(d, share.workers, out);
    wanted_columns(plan, use != SOURCE_PREDICT, a, out);
    use_tunnel(d, &out->reader);
    if (d->dataset_type == pc_DatasetType_SlotDataset)
        use_slots(d, out);
    if (d->dataset_type == pc_DatasetType_KafkaDataset)
        return message_fields(d, a, &out->reader, err);
    if (d->dataset_type != pc_DatasetType_CsvDataset)
        return RC_OK; /* files and tables that tell their columns themselves */
    if (strlen(d->delimiter) != 1)
        return err_set(err, RC_INVAL, "delimiter: '%s' is not one character",
                       d->delimiter);
    out->reader.delim = d->delimiter[0];
    enum rc rc = declared_fields(d, a, &out->reader, err);
    /* without names of its own a file must have them in its first line, as upstream */
    out->reader.no_header = !d->with_header && out->reader.n_fields > 0;
    if (!rc && !out->reader.no_header)
        name_in_header(&out->reader, a);
    return rc;
}

static enum sampler_levels levels_of(const char *word)
{
    static const char *const names[] = {[LEVELS_UNIFORM] = "UNIFORM",
                                        [LEVELS_ARITHMETIC] = "ARITHMETIC",
                                        [LEVELS_RECIPROCAL] = "RECIPROCAL"};
    for (size_t i = 0; word && i < ARRAY_LEN(names); i++)
        if (strcmp(word, names[i]) == 0)
            return (enum sampler_levels)i;
    return LEVELS_UNIFORM;
}

/* Rows of several items, when the features say so. */
static void use_lists(const struct feature_plan *plan, struct arena *a,
                      struct sampler_conf *out)
{
    const struct pc_SequenceFeature *group =
        plan ? feature_plan_conf(plan)->candidates : NULL;
    if (!group)
        return;
    out->list_prefix = arena_printf(a, "%s__", group->sequence_name);
    out->list_delim =
        group->sequence_delim && *group->sequence_delim ? group->sequence_delim : ";";
}

bool train_source_sampler(const struct pc_DataConfig *d, const struct feature_plan *plan,
                          enum train_source_use use, uint64_t seed,
                          struct train_source_share share, struct arena *a,
                          struct sampler_conf *out)
{
    struct pc_sampler s = pc_sampler_of(d);
    *out = (struct sampler_conf){.seed = seed ^ (uint64_t)share.at * SHARD_STREAM,
                                 .labels = d->label_fields,
                                 .n_labels = (size_t)d->n_label_fields};
    if (use == SOURCE_PREDICT || !s.msg)
        return false;
    out->kind = (enum sampler_kind)(s.kind - pc_sampler_kinds);
    out->items = s.item_input_path ? s.item_input_path : s.input_path;
    out->positive_edges = s.pos_edge_input_path;
    out->hard_edges = s.hard_neg_edge_input_path;
    out->tree_edges = s.edge_input_path;
    out->users = s.user_input_path;
    out->field_delim = s.has_field_delimiter ? s.field_delimiter[0] : 0;
    out->attr_delim = s.attr_delimiter;
    out->attr_fields = s.attr_fields;
    out->n_attr_fields = (size_t)s.n_attr_fields;
    out->item_id_field = s.item_id_field;
    out->user_id_field = s.user_id_field;
    out->num_sample =
        use == SOURCE_EVAL && s.has_num_eval_sample ? s.num_eval_sample : s.num_sample;
    out->num_hard_sample = s.num_hard_sample;
    out->layer_num_sample = s.layer_num_sample;
    out->n_layers = (size_t)s.n_layer_num_sample;
    out->remain_ratio = s.remain_ratio;
    out->levels = levels_of(s.probability_type);
    use_lists(plan, a, out);
    return true;
}
