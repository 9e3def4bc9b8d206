/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to predict: the columns that the model's features and the reserved columns need
 * are read, others are left out, and columns that a file lacks but nothing needs are null.
 */
#include <string.h>

#include "base/mem.h"
#include "data/files.h"
#include "train/columns.h"
#include "train/export/predict_private.h"
#include "train/source.h"

static void split_names(struct train_predict_input *in)
{
    struct str rest = str_c(in->o->reserved ? in->o->reserved : ""), part;
    size_t most = 1;
    for (size_t i = 0; i < rest.n; i++)
        most += rest.p[i] == ',';
    in->reserved = arena_alloc(&in->arena, most * sizeof(*in->reserved));
    while (str_split(&rest, ',', &part)) {
        part = str_trim(part);
        if (part.n)
            in->reserved[in->n_reserved++] = arena_strndup(&in->arena, part.p, part.n);
    }
}

static bool is_reserved(const struct train_predict_input *in, const char *name)
{
    for (size_t i = 0; i < in->n_reserved; i++)
        if (strcmp(in->reserved[i], name) == 0)
            return true;
    return false;
}

static void keep_column(struct train_predict_input *in, const char *name)
{
    if (!is_reserved(in, name))
        in->reserved[in->n_reserved++] = arena_strdup(&in->arena, name);
}

/* ALL_COLUMNS stands for the columns of the first file, ALL_EFFECTIVE_COLUMNS for those
 * that features read; what is named behind it comes behind it.
 */
static enum rc expand_names(struct train_predict_input *in, struct err *err)
{
    const char **named = in->reserved;
    size_t n_named = in->n_reserved, n = 0;
    bool all = n_named && strcmp(named[0], "ALL_COLUMNS") == 0;
    if (!all && !(n_named && strcmp(named[0], "ALL_EFFECTIVE_COLUMNS") == 0))
        return RC_OK;
    const struct feature_column *read = feature_plan_columns(in->plan, &n);
    struct reader_conf conf = in->conf.reader;
    struct reader *r = NULL;
    conf.want = NULL;
    conf.n_want = 0;
    enum rc rc = all ? reader_open(in->files.at[0], NULL, &conf, &r, err) : RC_OK;
    if (!rc && all)
        n = reader_schema(r)->n;
    in->reserved = arena_alloc(&in->arena, (n + n_named) * sizeof(*in->reserved));
    in->n_reserved = 0;
    for (size_t i = 0; !rc && i < n; i++)
        if (all || read[i].use == FEATURE_INPUT)
            keep_column(in, all ? reader_schema(r)->at[i].name : read[i].name);
    for (size_t i = 1; !rc && i < n_named; i++)
        keep_column(in, named[i]);
    reader_close(r);
    return rc;
}

/* Takes columns that nothing needs out of those that are read. */
static void leave_out(struct train_predict_input *in, const bool *needs)
{
    struct reader_conf *r = &in->conf.reader;
    size_t n_columns, n = 0;
    const struct feature_column *columns = feature_plan_columns(in->plan, &n_columns);
    const char **want = arena_alloc(&in->arena, (r->n_want + 1) * sizeof(*want));
    in->absent = arena_alloc(&in->arena, (n_columns + 1) * sizeof(*in->absent));
    for (size_t i = 0; i < n_columns; i++)
        if (columns[i].use == FEATURE_INPUT && !needs[i] &&
            !is_reserved(in, columns[i].name))
            in->absent[in->n_absent++] = columns[i].name;
    for (size_t i = 0; i < r->n_want; i++) {
        bool out = false;
        for (size_t k = 0; k < in->n_absent; k++)
            out |= strcmp(r->want[i], in->absent[k]) == 0;
        if (!out)
            want[n++] = r->want[i];
    }
    r->want = want;
    r->n_want = n;
}

/* The columns of a file and those that are null. */
static void add_absent(const struct train_predict_input *in, struct data_schema *s)
{
    struct type null = type_of(TYPE_STR, true);
    for (size_t i = 0; i < in->n_absent; i++)
        if (data_schema_find(s, str_c(in->absent[i])) < 0)
            data_schema_add(s, str_c(in->absent[i]), &null);
}

/* Reserved columns are read as well. */
static void add_wanted(struct train_predict_input *in)
{
    struct reader_conf *r = &in->conf.reader;
    const char **want =
        arena_alloc(&in->arena, (r->n_want + in->n_reserved + 1) * sizeof(*want));
    size_t n = r->n_want;
    if (n)
        memcpy(want, r->want, n * sizeof(*want));
    for (size_t i = 0; i < in->n_reserved; i++) {
        bool there = false;
        for (size_t k = 0; k < n; k++)
            there |= strcmp(want[k], in->reserved[i]) == 0;
        if (!there)
            want[n++] = in->reserved[i];
    }
    r->want = want;
    r->n_want = n;
}

static enum rc check_reserved(struct train_predict_input *in, const struct data_schema *s,
                              struct err *err)
{
    bool first = in->kept.n == 0;
    for (size_t i = 0; i < in->n_reserved; i++) {
        int64_t at = data_schema_find(s, str_c(in->reserved[i]));
        if (at < 0)
            return err_coded(err, RC_INVAL, E2011,
                             "there is no column '%s' to be kept in the input",
                             in->reserved[i]);
        if (first)
            data_schema_add(&in->kept, str_c(in->reserved[i]), &s->at[at].type);
        else if (!type_equal(&s->at[at].type, &in->kept.at[i].type))
            return err_coded(err, RC_INVAL, E2011,
                             "column '%s' has another type than in the first file",
                             in->reserved[i]);
    }
    return RC_OK;
}

/* Where a model tells no types, and for columns that are only kept, the first file does. */
static void keep_types(struct train_predict_input *in, const struct data_schema *found)
{
    struct reader_conf *r = &in->conf.reader;
    if (in->place.file > 0 || in->typed)
        return;
    in->typed = true;
    train_columns_add(&in->columns, in->plan, found);
    train_columns_conf(&in->columns, in->plan, &in->arena, r);
    struct reader_field *types =
        arena_alloc(&in->arena, (r->n_types + in->kept.n + 1) * sizeof(*types));
    size_t n = r->n_types;
    if (n)
        memcpy(types, r->types, n * sizeof(*types));
    for (size_t i = 0; i < in->kept.n; i++)
        if (data_schema_find(&in->columns, str_c(in->kept.at[i].name)) < 0)
            types[n++] = (struct reader_field){.name = in->kept.at[i].name,
                                               .type = in->kept.at[i].type,
                                               .why = "as in the first file"};
    r->types = types;
    r->n_types = n;
}

/* All columns are looked at once, so that a missing one is told by who wants it. */
static enum rc open_file(struct train_predict_input *in, struct err *err)
{
    const char *path = in->files.at[in->place.file];
    struct reader_conf all = in->conf.reader;
    struct reader *r = NULL;
    all.want = NULL;
    all.n_want = 0;
    enum rc rc = reader_open(path, NULL, &all, &r, err);
    struct data_schema found = {0};
    if (!rc) {
        data_schema_copy(&found, reader_schema(r));
        add_absent(in, &found);
        rc = feature_plan_check(in->plan, &found, in->diags);
    }
    if (rc && r && err)
        err->msg[0] = '\0'; /* the diagnostics say it */
    if (!rc)
        rc = train_columns_check(&in->columns, in->plan, reader_schema(r), r->ops->text,
                                 path, err);
    if (!rc)
        rc = check_reserved(in, reader_schema(r), err);
    if (!rc)
        keep_types(in, reader_schema(r));
    data_schema_release(&found);
    if (rc && err && err->msg[0] && r)
        err_wrap(err, rc, "%s", path);
    reader_close(r);
    if (!rc)
        rc = reader_open(path, NULL, &in->conf.reader, &in->reader, err);
    return rc;
}

enum rc train_predict_input_open(struct train_predict_input *in,
                                 const struct train_session *s, const bool *needs,
                                 const struct train_predict_options *o,
                                 struct diags *diags, struct err *err)
{
    *in = (struct train_predict_input){.o = o, .plan = s->plan, .diags = diags};
    data_schema_copy(&in->columns, &s->columns);
    enum rc rc =
        train_source_conf(o->data, s->plan, o->input, SOURCE_PREDICT, 0,
                          (struct train_source_share){0}, &in->arena, &in->conf, err);
    if (rc)
        return rc;
    train_columns_conf(&in->columns, in->plan, &in->arena, &in->conf.reader);
    in->batch_size = o->batch_size ? o->batch_size : in->conf.batch_size;
    if (in->batch_size < 1)
        in->batch_size = 1024;
    split_names(in);
    rc = files_expand(o->input, &in->files, err);
    if (!rc)
        rc = expand_names(in, err);
    if (rc)
        return rc;
    if (needs)
        leave_out(in, needs);
    add_wanted(in);
    return open_file(in, err);
}

void train_predict_input_release(struct train_predict_input *in)
{
    reader_close(in->reader);
    fs_names_release(&in->files);
    data_schema_release(&in->kept);
    data_schema_release(&in->columns);
    arena_release(&in->arena);
}

const char *train_predict_input_file(const struct train_predict_input *in)
{
    return in->files.at[in->place.file];
}

static enum rc next_file(struct train_predict_input *in, int64_t file, struct err *err)
{
    reader_close(in->reader);
    in->reader = NULL;
    in->place = (struct train_predict_place){.file = file};
    return open_file(in, err);
}

enum rc train_predict_input_seek(struct train_predict_input *in,
                                 const struct train_predict_place *at, struct err *err)
{
    enum rc rc = RC_OK;
    if (at->file < 0 || (size_t)at->file >= in->files.n)
        return err_set(err, RC_FORMAT, "file %jd of %zu", (intmax_t)at->file,
                       in->files.n);
    if (at->file != in->place.file)
        rc = next_file(in, at->file, err);
    if (!rc && at->at.row > 0)
        rc = reader_seek(in->reader, &at->at, err);
    in->place = *at;
    return rc;
}

/* A column of one row stands for all rows. */
static enum rc read_rows(struct train_predict_input *in, struct batch *b, struct err *err)
{
    size_t all = b->n_cols, own = reader_schema(in->reader)->n;
    b->n_cols = own; /* the reader does not know of the others */
    enum rc rc = reader_next(in->reader, in->batch_size, b, err);
    b->n_cols = all;
    for (size_t i = own; i < all && !rc; i++) {
        column_clear(&b->cols[i]);
        rc = column_add_null(&b->cols[i], err);
    }
    return rc;
}

enum rc train_predict_input_next(struct train_predict_input *in,
                                 struct data_schema *schema, int64_t *file,
                                 struct batch *b, struct err *err)
{
    for (;;) {
        if (*file != in->place.file) {
            batch_release(b);
            data_schema_release(schema);
            data_schema_copy(schema, reader_schema(in->reader));
            add_absent(in, schema);
            batch_init(b, schema);
            *file = in->place.file;
        }
        reader_tell(in->reader, &in->from);
        enum rc rc = read_rows(in, b, err);
        if (rc)
            return rc;
        if (b->n) {
            reader_tell(in->reader, &in->place.at);
            return RC_OK;
        }
        if ((size_t)in->place.file + 1 == in->files.n)
            return RC_OK;
        rc = next_file(in, in->place.file + 1, err);
        if (rc)
            return rc;
    }
}

void train_predict_input_where(const struct train_predict_input *in, int64_t n,
                               struct train_where *out)
{
    const struct reader_cursor *from = &in->from;
    struct dataset_part part = {
        .path = train_predict_input_file(in), .row = from->row + 1, .n = n};
    if (in->reader->ops->delimited && from->line > 0)
        part.line = from->line + from->back;
    train_where_set(out, &part, from->bad != in->place.at.bad);
}
