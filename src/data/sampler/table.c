/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables of items and edges. A table may be of any format that has a reader;
 * text is read as text throughout and ids and weights are parsed here, because the
 * header of such a file ("id:int64") says what they are. Rows go to the caller batch by
 * batch.
 */
#include "data/sampler/table.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/files.h"
#include "data/reader.h"
#include "data/rows.h"

#define BATCH_ROWS 8192

static size_t columns_needed(const struct sampler_table_conf *c)
{
    return c->n_ids + 1 + c->attrs;
}

/* "id:int64" -> what the ids are. */
static enum id_kind declared_kind(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon && (strcmp(colon, ":string") == 0 || strcmp(colon, ":str") == 0)
               ? ID_TEXT
               : ID_NUMBER;
}

static enum rc check_columns(const struct sampler_table_conf *c,
                             const struct data_schema *s, struct err *err)
{
    int64_t number;
    if (s->n && str_to_i64(str_c(s->at[0].name), &number))
        return err_coded(err, RC_FORMAT, E1901,
                         "the first line must name the columns, it begins with '%s'",
                         s->at[0].name);
    if (s->n < columns_needed(c))
        return err_coded(err, RC_FORMAT, E1901,
                         "there are %zu columns, not %zu (%s, weight%s)", s->n,
                         columns_needed(c), c->n_ids == 2 ? "id, id" : "id",
                         c->attrs ? ", attrs" : "");
    for (size_t i = 0; i < c->n_ids; i++)
        if (!id_column(&s->at[i].type))
            return err_coded(err, RC_FORMAT, E1901,
                             "column '%s' holds neither integers nor texts",
                             s->at[i].name);
    const struct data_field *weight = &s->at[c->n_ids], *attrs = weight + 1;
    if (weight->type.id != TYPE_STR && !column_is_number(&weight->type))
        return err_coded(err, RC_FORMAT, E1901, "column '%s' holds no numbers",
                         weight->name);
    if (c->attrs && attrs->type.id != TYPE_STR)
        return err_coded(err, RC_FORMAT, E1901, "column '%s' holds no texts",
                         attrs->name);
    return RC_OK;
}

/* A text file once more, now that its columns are known: all of them are texts. */
static enum rc open_as_texts(const char *path, const struct reader_conf *conf,
                             struct reader **r, struct err *err)
{
    const struct data_schema *s = reader_schema(*r);
    struct reader_field *fields = mem_calloc(s->n + 1, sizeof(*fields));
    struct reader_conf texts = *conf;
    struct reader *again = NULL;
    for (size_t i = 0; i < s->n; i++)
        fields[i] =
            (struct reader_field){.name = s->at[i].name, .type = type_of(TYPE_STR, true)};
    texts.fields = fields;
    texts.n_fields = s->n;
    enum rc rc = reader_open(path, (*r)->ops, &texts, &again, err);
    mem_free(fields);
    if (rc)
        return rc;
    reader_close(*r);
    *r = again;
    return RC_OK;
}

static enum rc read_batches(const struct sampler_table_conf *c, struct reader *r,
                            bool texts, sampler_table_fn *each, void *arg,
                            struct err *err)
{
    const struct data_schema *s = reader_schema(r);
    struct sampler_table_rows rows = {.first = 1};
    struct batch b;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < c->n_ids; i++)
        rows.kinds[i] = texts                          ? declared_kind(s->at[i].name)
                        : s->at[i].type.id == TYPE_STR ? ID_TEXT
                                                       : ID_NUMBER;
    batch_init(&b, s);
    rows.batch = &b;
    do {
        rc = reader_next(r, BATCH_ROWS, &b, err);
        if (!rc && b.n)
            rc = each(arg, &rows, err);
        rows.first += b.n;
    } while (!rc && b.n);
    batch_release(&b);
    return rc;
}

static enum rc read_file(const struct sampler_table_conf *c, const char *path,
                         sampler_table_fn *each, void *arg, struct err *err)
{
    struct reader_conf conf = {.delim = c->delim ? c->delim : '\t', .no_quotes = true};
    const struct reader_ops *ops = NULL;
    struct reader *r = NULL;
    enum rc rc = reader_detect(path, &ops, err);
    if (rc == RC_FORMAT) { /* separators that text seldom holds: \x02, \x1d */
        ops = &reader_csv;
        rc = RC_OK;
    }
    bool texts = !rc && ops->delimited;
    if (!rc)
        rc = reader_open(path, ops, &conf, &r, err);
    if (!rc && texts)
        rc = open_as_texts(path, &conf, &r, err);
    if (rc) {
        reader_close(r);
        return err_wrap(err, rc, "%s", c->what);
    }
    rc = check_columns(c, reader_schema(r), err);
    if (!rc)
        rc = read_batches(c, r, texts, each, arg, err);
    reader_close(r);
    return rc ? err_wrap(err, rc, "%s '%s'", c->what, path) : RC_OK;
}

enum rc sampler_table_read(const struct sampler_table_conf *conf, sampler_table_fn *each,
                           void *arg, struct err *err)
{
    struct fs_names files = {0};
    if (!conf->path || !conf->path[0])
        return err_coded(err, RC_INVAL, E1901, "%s: no path is given", conf->what);
    enum rc rc = files_expand(conf->path, &files, err);
    if (rc)
        return err_wrap(err, rc, "%s", conf->what);
    for (size_t i = 0; i < files.n && !rc; i++)
        rc = read_file(conf, files.at[i], each, arg, err);
    fs_names_release(&files);
    return rc;
}

enum rc sampler_table_id(const struct sampler_table_rows *rows, size_t col, int64_t i,
                         int64_t *out, struct err *err)
{
    const struct column *c = &rows->batch->cols[col];
    if (id_key(c, i, rows->kinds[col], out))
        return RC_OK;
    struct str s = column_str(c, i);
    return err_coded(err, RC_FORMAT, E1902, "row %jd: id '%.*s' is not an integer",
                     (intmax_t)(rows->first + i), (int)(s.n < 60 ? s.n : 60), s.p);
}

enum rc sampler_table_weight(const struct sampler_table_rows *rows, size_t col, int64_t i,
                             double *out, struct err *err)
{
    const struct column *c = &rows->batch->cols[col];
    struct str s = {0};
    bool ok = !column_is_null(c, i);
    if (c->type->id == TYPE_STR) {
        s = column_str(c, i);
        ok = ok && str_to_f64(str_trim(s), out);
    } else if (ok) {
        *out = column_number(c, i);
    }
    if (!ok)
        return err_coded(err, RC_FORMAT, E1902, "row %jd: weight '%.*s' is not a number",
                         (intmax_t)(rows->first + i), (int)(s.n < 60 ? s.n : 60),
                         s.p ? s.p : "");
    if (!isfinite(*out) || *out < 0)
        return err_coded(err, RC_FORMAT, E1902,
                         "row %jd: weight %g is not a finite number of at least 0",
                         (intmax_t)(rows->first + i), *out);
    return RC_OK;
}
