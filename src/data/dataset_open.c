/* SPDX-License-Identifier: Apache-2.0 */
/* The first file decides about columns and types; every other file is opened once, side
 * by side, to see that it has them too and how many rows it has. Text files are indexed
 * when their rows have to be split.
 */
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "data/dataset_private.h"
#include "data/files.h"
#include "data/rows.h"

#define OPEN_THREADS 8

void ds_release(struct dataset *d)
{
    for (size_t i = 0; i < d->n_files; i++) {
        mem_free(d->files[i].path);
        mem_free(d->files[i].order);
        reader_index_release(&d->files[i].index);
    }
    mem_free(d->files);
    data_schema_release(&d->schema);
    arena_release(&d->mem);
}

enum rc ds_open_file(const struct dataset *d, size_t file, int64_t end,
                     struct reader **out, struct err *err)
{
    struct reader_conf conf = d->reader;
    conf.end = end;
    conf.stop = &d->quit;
    return reader_open(d->files[file].path, d->files[file].ops, &conf, out, err);
}

enum rc ds_seek(const struct dataset *d, size_t file, struct reader *r,
                const struct reader_cursor *at, struct err *err)
{
    const struct reader_index *index = &d->files[file].index;
    struct reader_cursor now;
    reader_tell(r, &now);
    if (now.row == at->row)
        return RC_OK;
    if (at->offset >= 0 || index->n == 0)
        return reader_seek(r, at, err);
    size_t lo = 0, hi = index->n; /* the last place that is not behind it */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (index->at[mid].row <= at->row)
            lo = mid;
        else
            hi = mid;
    }
    enum rc rc = reader_seek(r, &index->at[lo], err);
    return rc ? rc
              : reader_seek(r, &(struct reader_cursor){.row = at->row, .offset = -1},
                            err);
}

static enum rc add_files(struct dataset *d, const struct dataset_conf *conf,
                         struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = files_expand(conf->input, &names, err);
    if (rc)
        return rc;
    d->files = mem_calloc(names.n, sizeof(*d->files));
    d->n_files = names.n;
    for (size_t i = 0; i < names.n; i++)
        d->files[i] =
            (struct ds_file){.path = names.at[i], .ops = conf->format, .rows = -1};
    mem_free(names.at);
    for (size_t i = 0; !rc && !conf->format && i < d->n_files; i++)
        rc = reader_detect(d->files[i].path, &d->files[i].ops, err);
    for (size_t i = 0; !rc && i < d->n_files; i++)
        d->streams |= d->files[i].ops->streams;
    return rc;
}

static bool is_declared(const struct dataset_conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->reader.n_fields; i++)
        if (strcmp(conf->reader.fields[i].name, name) == 0)
            return !conf->reader.fields[i].inferred;
    return false;
}

/* All columns of the first file, as fields that every text file is read with. */
static void keep_fields(struct dataset *d, const struct dataset_conf *conf,
                        const struct data_schema *full, const char *path)
{
    struct reader_field *fields = arena_alloc(&d->mem, full->n * sizeof(*fields));
    const char *guessed =
        arena_printf(&d->mem, "as the first rows of '%s' have it", path);
    for (size_t i = 0; i < full->n; i++) {
        const char *why = full->at[i].why;
        bool seen = !why && !is_declared(conf, full->at[i].name);
        fields[i] = (struct reader_field){
            .name = arena_strdup(&d->mem, full->at[i].name),
            .type = type_copy(&d->mem, &full->at[i].type),
            .exact = seen && conf->reader.exact,
            .why = seen  ? guessed
                   : why ? arena_strdup(&d->mem, why)
                         : NULL,
        };
    }
    d->reader.fields = fields;
    d->reader.n_fields = full->n;
    if (conf->reader.line_format)
        d->reader.line_format = arena_strdup(&d->mem, conf->reader.line_format);
    if (conf->reader.line_columns)
        d->reader.line_columns = arena_strdup(&d->mem, conf->reader.line_columns);
    d->reader.types = NULL; /* the fields have them */
    d->reader.n_types = 0;
}

static enum rc no_column(const struct dataset *d, const struct data_schema *s,
                         const char *what, const char *name, struct err *err)
{
    const char **names = mem_calloc(s->n ? s->n : 1, sizeof(*names));
    for (size_t i = 0; i < s->n; i++)
        names[i] = s->at[i].name;
    const char *near = str_nearest(str_c(name), names, s->n);
    mem_free(names);
    return near ? err_coded(err, RC_INVAL, E1204,
                            "%s '%.100s' is not in '%s', did you mean '%s'?", what, name,
                            d->files[0].path, near)
                : err_coded(err, RC_INVAL, E1204, "%s '%.100s' is not in '%s'", what,
                            name, d->files[0].path);
}

static bool is_number_or_list(const struct type *t)
{
    return column_is_number(t) ||
           (t->id == TYPE_LIST && column_is_number(&t->kids[0].type));
}

/* A column that is needed with a certain type; added to those that are read. */
struct need {
    const char *what, *name;
    bool list_too, text_too, any_type;
};

static enum rc check_need(const struct dataset *d, const struct data_schema *full,
                          const struct need *n, struct err *err)
{
    int64_t at = data_schema_find(full, str_c(n->name));
    if (at < 0)
        return no_column(d, full, n->what, n->name, err);
    const struct type *t = &full->at[at].type;
    if (n->any_type || column_is_number(t) || (n->list_too && is_number_or_list(t)) ||
        (n->text_too && t->id == TYPE_STR))
        return RC_OK;
    struct buf type;
    buf_init(&type, 4096);
    type_print(t, &type);
    enum rc rc = err_coded(err, RC_INVAL, E1207,
                           "%s '%s' of '%s' is of type %s, but must be a number%s",
                           n->what, n->name, d->files[0].path, buf_str(&type),
                           n->list_too ? " or a list of numbers" : "");
    buf_release(&type);
    return rc;
}

/* The columns to read, in the order of the first file. */
static void keep_wanted(struct dataset *d, const struct dataset_conf *conf,
                        const struct data_schema *full, const struct need *needs,
                        size_t n_needs)
{
    const char **want = arena_alloc(&d->mem, (full->n + 1) * sizeof(*want));
    size_t n = 0;
    for (size_t i = 0; i < full->n; i++) {
        bool wanted = !conf->reader.want;
        for (size_t k = 0; !wanted && k < n_needs; k++)
            wanted = strcmp(needs[k].name, full->at[i].name) == 0;
        if (!wanted)
            continue;
        want[n++] = arena_strdup(&d->mem, full->at[i].name);
        data_schema_add(&d->schema, str_c(full->at[i].name), &full->at[i].type);
    }
    d->reader.all = !conf->reader.want;
    d->reader.want = want;
    d->reader.n_want = n;
}

static bool may_be_text(const struct dataset_conf *conf, const char *label)
{
    for (size_t i = 0; i < conf->n_text_labels; i++)
        if (strcmp(conf->text_labels[i], label) == 0)
            return true;
    return false;
}

static size_t list_needs(const struct dataset_conf *conf, struct need *out)
{
    size_t n = 0;
    for (size_t i = 0; i < conf->n_labels; i++)
        out[n++] = (struct need){.what = "label",
                                 .name = conf->labels[i],
                                 .list_too = true,
                                 .text_too = may_be_text(conf, conf->labels[i])};
    for (size_t i = 0; i < conf->n_weights; i++)
        out[n++] = (struct need){.what = "sample weight", .name = conf->weights[i]};
    if (conf->cost_field)
        out[n++] = (struct need){.what = "sample cost", .name = conf->cost_field};
    for (size_t i = 0; conf->reader.want && i < conf->reader.n_want; i++)
        out[n++] = (struct need){
            .what = "column", .name = conf->reader.want[i], .any_type = true};
    return n;
}

/* `typed`: the types of `full` were seen, not guessed from nothing. */
static enum rc choose_columns(struct dataset *d, const struct dataset_conf *conf,
                              const struct data_schema *full, bool typed, struct err *err)
{
    struct need *needs = mem_calloc(
        conf->n_labels + conf->n_weights + conf->reader.n_want + 1, sizeof(*needs));
    size_t n = list_needs(conf, needs),
           strict = n - (conf->reader.want ? conf->reader.n_want : 0);
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < n; i++) {
        needs[i].any_type |= !typed;
        rc = check_need(d, full, &needs[i], err);
    }
    if (!rc) {
        keep_wanted(d, conf, full, needs, n);
        d->labels = arena_alloc(&d->mem, (strict + 1) * sizeof(*d->labels));
        for (size_t i = 0; i < strict; i++)
            d->labels[d->n_labels++] =
                (size_t)data_schema_find(&d->schema, str_c(needs[i].name));
        if (conf->cost_field)
            d->cost_at = data_schema_find(&d->schema, str_c(conf->cost_field));
    }
    mem_free(needs);
    return rc;
}

/* All columns of a file, and whether it has a row to infer types from. */
static enum rc open_sample(const struct dataset *d, const struct dataset_conf *conf,
                           size_t file, struct reader **out, bool *has_rows,
                           struct err *err)
{
    struct reader_conf all = conf->reader;
    struct batch b;
    all.want = NULL;
    all.n_want = 0;
    enum rc rc = reader_open(d->files[file].path, d->files[file].ops, &all, out, err);
    if (rc)
        return rc;
    *has_rows = reader_rows(*out) >= 0 || (*out)->ops->streams;
    if (!*has_rows) {
        batch_init(&b, reader_schema(*out));
        *has_rows = reader_next(*out, 1, &b, NULL) != RC_OK || b.n > 0;
        batch_release(&b);
    }
    return RC_OK;
}

/* A column without a value in the first file has the type of the first that has one. */
static void see_unseen(const struct dataset *d, const struct dataset_conf *conf,
                       size_t first, struct data_schema *full)
{
    size_t unseen = 0;
    for (size_t k = 0; k < full->n; k++)
        unseen += full->at[k].unseen;
    for (size_t i = first + 1; unseen && i < d->n_files; i++) {
        struct reader *r = NULL;
        bool has_rows = false;
        if (open_sample(d, conf, i, &r, &has_rows, NULL) || !has_rows) {
            reader_close(r);
            continue; /* told when it is opened to be read */
        }
        const struct data_schema *s = reader_schema(r);
        for (size_t k = 0; k < full->n; k++) {
            int64_t at = data_schema_find(s, str_c(full->at[k].name));
            if (!full->at[k].unseen || at < 0 || s->at[at].unseen)
                continue;
            full->at[k].type = type_copy(&full->mem, &s->at[at].type);
            full->at[k].unseen = false;
            unseen--;
        }
        reader_close(r);
    }
}

/* The first file with rows tells the types; when all are empty, the first file. */
static enum rc open_first(struct dataset *d, const struct dataset_conf *conf,
                          struct err *err)
{
    struct reader *r = NULL, *first = NULL;
    struct err other = {0};
    bool has_rows = false;
    enum rc rc = open_sample(d, conf, 0, &first, &has_rows, err);
    bool unknown = rc && err_code_of(err, rc) == E1158; /* an empty file of JSON lines */
    size_t from = 0;
    for (size_t i = 1; (!rc || unknown) && !has_rows && i < d->n_files; i++) {
        reader_close(r);
        r = NULL;
        from = i;
        if (open_sample(d, conf, i, &r, &has_rows, &other))
            has_rows = false;
    }
    if (has_rows || !rc) {
        struct data_schema full = {0};
        data_schema_copy(&full, reader_schema(has_rows && r ? r : first));
        see_unseen(d, conf, from, &full);
        keep_fields(d, conf, &full, d->files[has_rows ? from : 0].path);
        rc = choose_columns(d, conf, &full, has_rows, err);
        data_schema_release(&full);
    }
    reader_close(r);
    reader_close(first);
    return rc;
}

static enum rc files_differ(const struct dataset *d, const struct ds_file *f,
                            const char *name, const struct type *here,
                            const struct type *first, struct err *err)
{
    struct buf a, b;
    if (!here)
        return err_coded(err, RC_INVAL, E1202, "column '%s' of '%s' is not in '%s'", name,
                         d->files[0].path, f->path);
    buf_init(&a, 4096);
    buf_init(&b, 4096);
    type_print(here, &a);
    type_print(first, &b);
    enum rc rc = err_coded(err, RC_INVAL, E1202,
                           "column '%s' is of type %s in '%s', but %s in '%s'", name,
                           buf_str(&b), d->files[0].path, buf_str(&a), f->path);
    buf_release(&a);
    buf_release(&b);
    return rc;
}

/* Maps the columns of a file to those of the first one. */
static enum rc match_schema(const struct dataset *d, struct ds_file *f,
                            const struct data_schema *s, struct err *err)
{
    bool same = true;
    for (size_t i = 0; i < d->schema.n; i++) {
        const struct data_field *want = &d->schema.at[i];
        int64_t at = data_schema_find(s, str_c(want->name));
        if (at < 0 || !type_equal(&s->at[at].type, &want->type))
            return files_differ(d, f, want->name, at < 0 ? NULL : &s->at[at].type,
                                &want->type, err);
        same &= at == (int64_t)i;
    }
    if (same)
        return RC_OK;
    f->order = mem_calloc(s->n, sizeof(*f->order));
    for (size_t i = 0; i < s->n; i++)
        f->order[i] = (size_t)data_schema_find(&d->schema, str_c(s->at[i].name));
    return RC_OK;
}

struct opening {
    struct dataset *d;
    bool index;
    enum rc *rc;      /* [n_files] */
    struct err *errs; /* [n_files] */
};

/* A file that lacks a column: say which other file has it. */
static enum rc explain_missing(const struct dataset *d, struct ds_file *f, enum rc rc,
                               struct err *err)
{
    struct reader_conf all = d->reader;
    struct reader *r = NULL;
    all.want = NULL;
    all.n_want = 0;
    if (!all.no_header)
        all.n_fields = 0;
    if (rc != RC_INVAL || reader_open(f->path, f->ops, &all, &r, NULL))
        return rc;
    enum rc differ = match_schema(d, f, reader_schema(r), err);
    reader_close(r);
    return differ ? differ : rc;
}

static void open_one(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct opening *o = arg;
    struct ds_file *f = &o->d->files[begin];
    struct err *err = &o->errs[begin];
    struct reader *r = NULL;
    enum rc rc = ds_open_file(o->d, (size_t)begin, 0, &r, err);
    if (rc)
        rc = explain_missing(o->d, f, rc, err);
    else
        rc = match_schema(o->d, f, reader_schema(r), err);
    if (!rc)
        f->rows = reader_rows(r);
    if (!rc && o->d->prints)
        ds_print(f->path, f->print);
    reader_close(r);
    if (!rc && f->rows < 0 && o->index && f->ops->index) {
        rc = f->ops->index(f->path, &o->d->reader, &f->index, err);
        if (!rc)
            f->rows = f->index.at[f->index.n - 1].row;
        else if (rc == RC_UNSUPPORTED)
            rc = RC_OK; /* dealt as a whole */
    }
    o->rc[begin] = rc;
}

static enum rc open_all(struct dataset *d, bool index, struct err *err)
{
    struct opening o = {.d = d, .index = index};
    struct pool *pool = NULL;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cpus < 1 ? 1 : cpus > OPEN_THREADS ? OPEN_THREADS : (size_t)cpus;
    enum rc rc = pool_create((int)(n < d->n_files ? n : d->n_files), &pool, err);
    if (rc)
        return rc;
    o.rc = mem_calloc(d->n_files, sizeof(*o.rc));
    o.errs = mem_calloc(d->n_files, sizeof(*o.errs));
    pool_for(pool, (int64_t)d->n_files, 1, open_one, &o);
    pool_destroy(pool);
    d->rows = 0;
    for (size_t i = 0; !rc && i < d->n_files; i++) {
        rc = o.rc[i];
        if (rc && err)
            *err = o.errs[i];
        d->rows = d->rows < 0 || d->files[i].rows < 0 ? -1 : d->rows + d->files[i].rows;
    }
    mem_free(o.rc);
    mem_free(o.errs);
    return rc;
}

static enum rc check_conf(const struct dataset_conf *c, struct err *err)
{
    int64_t world = c->world ? c->world : 1;
    if (c->rank < 0 || c->rank >= world || world > INT32_MAX || c->readers < 0 ||
        c->readers > INT32_MAX / world)
        return err_set(err, RC_INVAL, "rank %jd of %jd with %jd readers is not possible",
                       (intmax_t)c->rank, (intmax_t)world, (intmax_t)c->readers);
    if (c->batch_size < 0 || c->batch_size > INT32_MAX || c->batch_cost < 0 ||
        c->shuffle < 0 || c->shuffle > INT32_MAX || c->queue < 0 || c->threads < 0)
        return err_set(err, RC_INVAL,
                       "a size of the dataset's settings is negative or "
                       "more than %d",
                       INT32_MAX);
    if (c->batch_cost > 0 && !c->cost_field)
        return err_set(err, RC_INVAL,
                       "batch_cost_size needs sample_cost_field, the column of costs");
    return RC_OK;
}

static struct dataset *dataset_open_create(const struct dataset_conf *c)
{
    struct dataset *d = mem_calloc(1, sizeof(*d));
    *d = (struct dataset){
        .reader = c->reader,
        .cost_at = -1,
        .batch_size = c->batch_size ? c->batch_size : 1024,
        .batch_cost = c->batch_cost,
        .shuffle = c->shuffle,
        .queue = c->queue ? c->queue : 2,
        .drop_remainder = c->drop_remainder,
        .every_row = c->every_row,
        .by_file = c->by_file,
        .prints = c->prints,
        .short_batches = c->short_batches,
        .seed = c->seed,
        .rank = c->rank,
        .world = c->world ? c->world : 1,
        .readers = c->readers ? c->readers : 1,
        .threads = c->threads,
        .rows = -1,
    };
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->filled, NULL);
    pthread_cond_init(&d->drained_some, NULL);
    return d;
}

static enum rc dataset_open_start(struct dataset *d, const char *cursor, struct err *err)
{
    span_vec all = {0};
    if (cursor)
        return ds_restore(d, cursor, err);
    enum rc rc = ds_count_slots(d, err);
    if (rc)
        return rc;
    ds_make_slots(d);
    ds_all_spans(d, &all);
    rc = ds_plan(d, &all, true, err);
    VEC_RELEASE(&all);
    return rc;
}

enum rc dataset_open(const struct dataset_conf *conf, struct dataset **out,
                     struct err *err)
{
    enum rc rc = check_conf(conf, err);
    if (rc)
        return rc;
    struct dataset *d = dataset_open_create(conf);
    bool index = !conf->by_file && (d->world * d->readers > 1 || conf->cursor);
    rc = add_files(d, conf, err);
    if (!rc)
        rc = open_first(d, conf, err);
    if (!rc)
        rc = open_all(d, index, err);
    if (!rc)
        rc = dataset_open_start(d, conf->cursor, err);
    if (rc)
        dataset_close(d);
    else
        *out = d;
    return rc;
}
