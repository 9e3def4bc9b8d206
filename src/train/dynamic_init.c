/* SPDX-License-Identifier: Apache-2.0 */
/* The model is built for its tables alone: their names in a checkpoint follow from groups
 * and towers. The data of a table is read into memory, ids made of its first column as the
 * feature makes them, and of rows with the same id the last one kept. The checkpoint holds
 * ids and rows; counters and dense parameters start anew in the run that takes it.
 */
#include "train/dynamic_init.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/state.h"
#include "data/dataset.h"
#include "data/rows.h"
#include "data/sampler/keymap.h"
#include "feature/bucket.h"
#include "text/pipeline/feature.h"
#include "train/session.h"
#include "train/source.h"

#define BATCH 4096
#define ROWS_MAX ((size_t)1 << 40) /* bytes of vectors */

/* The rows of one table, in the order of its data; then without those that were replaced.
 */
struct gathered {
    VEC(int64_t) keys;
    struct buf values; /* floats */
    int64_t dim, again;
};

struct making {
    const struct pc_EasyRecConfig *conf;
    const struct train_dynamic_conf *how;
    struct fg_bucket bucket;
    bool plain; /* FG_NONE: numbers are ids */
};

void train_dynamic_report_release(struct train_dynamic_report *r)
{
    for (size_t i = 0; i < r->tables.n; i++)
        mem_free(r->tables.at[i].name);
    VEC_RELEASE(&r->tables);
}

static enum rc bad_row(const char *path, int64_t row, const char *what, struct err *err)
{
    return err_coded(err, RC_INVAL, E2308, "init_table '%.300s': row %jd: %s", path,
                     (intmax_t)row, what);
}

/* The id of row i; false when it is none. */
static bool key_of(const struct making *m, const struct column *c, int64_t i,
                   int64_t *out)
{
    bool text = c->type->id == TYPE_STR;
    if (column_is_null(c, i))
        return false;
    if (!m->plain && text)
        return bucket_text(&m->bucket, column_str(c, i), out);
    if (text ? !str_to_i64(column_str(c, i), out) : false)
        return false;
    int64_t v = text                      ? *out
                : c->type->id == TYPE_I64 ? column_i64(c, i)
                                          : (int64_t)column_number(c, i);
    *out = m->plain ? v : bucket_i64(&m->bucket, v);
    return *out >= 0;
}

/* "0.5,1.5" */
static bool text_vector(struct str s, const char *separator, int64_t dim, float *out)
{
    struct str part;
    int64_t n = 0;
    double v;
    while (s.p) {
        const char *at = memmem(s.p, s.n, separator, strlen(separator));
        part = at ? str_of(s.p, (size_t)(at - s.p)) : s;
        s = at ? str_of(at + strlen(separator), s.n - part.n - strlen(separator))
               : (struct str){0};
        if (n == dim || !str_to_f64(str_trim(part), &v))
            return false;
        out[n++] = (float)v;
    }
    return n == dim;
}

static bool list_vector(const struct column *c, int64_t i, int64_t dim, float *out)
{
    int64_t from = c->offsets[i], n = c->offsets[i + 1] - from;
    if (n != dim)
        return false;
    for (int64_t k = 0; k < n; k++) {
        if (column_is_null(&c->kids[0], from + k))
            return false;
        out[k] = (float)column_number(&c->kids[0], from + k);
    }
    return true;
}

static bool vector_of(const struct making *m, const struct column *c, int64_t i,
                      int64_t dim, float *out)
{
    if (column_is_null(c, i))
        return false;
    return c->type->id == TYPE_STR
               ? text_vector(column_str(c, i), m->how->separator, dim, out)
               : list_vector(c, i, dim, out);
}

static enum rc take_rows(const struct making *m, const char *path, const struct batch *b,
                         struct gathered *g, struct err *err)
{
    float row[EMBED_DIM_MAX];
    for (int64_t i = 0; i < b->n; i++) {
        int64_t key, number = (int64_t)g->keys.n + 1;
        if (!key_of(m, &b->cols[0], i, &key))
            return bad_row(path, number, "its first column is not an id", err);
        if (!vector_of(m, &b->cols[1], i, g->dim, row)) {
            char text[80];
            snprintf(text, sizeof(text),
                     "its second column is not a vector of %jd numbers",
                     (intmax_t)g->dim);
            return bad_row(path, number, text, err);
        }
        VEC_PUSH(&g->keys, key);
        buf_add(&g->values, (const char *)row, (size_t)g->dim * sizeof(*row));
    }
    return buf_check(&g->values, err);
}

/* The first two columns of a file, whatever their names. */
static enum rc check_columns(const char *path, const struct data_schema *s,
                             struct err *err)
{
    const struct type *id = s->n ? &s->at[0].type : NULL,
                      *vector = s->n > 1 ? &s->at[1].type : NULL;
    bool good = id && vector &&
                (id->id == TYPE_STR || id->id == TYPE_I64 || id->id == TYPE_I32) &&
                (vector->id == TYPE_STR ||
                 (vector->id == TYPE_LIST && column_is_number(&vector->kids[0].type)));
    return good ? RC_OK
                : err_coded(
                      err, RC_INVAL, E2308,
                      "init_table '%.300s': its first two columns are not an id and a "
                      "vector (a list of numbers, or a text of them)",
                      path);
}

static enum rc read_table(const struct making *m, const char *path, struct gathered *g,
                          struct err *err)
{
    struct dataset_conf conf = {.input = path, .batch_size = BATCH, .every_row = true};
    struct dataset *d = NULL;
    const struct batch *b = NULL;
    conf.reader.decode = true;
    conf.reader.quota = train_source_quota(m->conf->data_config);
    enum rc rc = dataset_open(&conf, &d, err);
    if (!rc)
        rc = check_columns(path, dataset_schema(d), err);
    if (!rc)
        rc = dataset_next(d, &b, err);
    while (!rc && b) {
        rc = take_rows(m, path, b, g, err);
        if (!rc)
            rc = dataset_next(d, &b, err);
    }
    dataset_close(d);
    return rc;
}

/* Of rows with one id the last stays, in the place of the first. */
static enum rc drop_repeated(struct gathered *g, struct err *err)
{
    struct keymap seen;
    size_t n = 0, bytes = (size_t)g->dim * sizeof(float);
    enum rc rc = keymap_init(&seen, (int64_t)g->keys.n, err);
    for (size_t i = 0; i < g->keys.n && !rc; i++) {
        size_t at = (size_t)keymap_add(&seen, g->keys.at[i], (int64_t)n);
        g->keys.at[at] = g->keys.at[i];
        memmove(g->values.p + at * bytes, g->values.p + i * bytes, bytes);
        n += at == n;
    }
    g->again = (int64_t)(g->keys.n - n);
    g->keys.n = n;
    keymap_release(&seen);
    return rc;
}

static void add_table(struct ckpt_writer *w, const char *name, const struct gathered *g)
{
    char *rows = mem_printf("%s.rows", name), *keys = mem_printf("%s.keys", name);
    int64_t dims[] = {(int64_t)g->keys.n, g->dim};
    ckpt_add_f32(w, CKPT_MODEL, rows, dims, 2, (const float *)(const void *)g->values.p,
                 g->dim);
    ckpt_add_i64(w, CKPT_MODEL, keys, g->keys.at, (int64_t)g->keys.n);
    mem_free(rows);
    mem_free(keys);
}

/* {"name": {"optimizer": "none"}, ..}: no state comes with the rows. */
static void add_facts(struct ckpt_writer *w, const struct train_dynamic_report *r)
{
    struct buf b;
    buf_init(&b, (size_t)1 << 24);
    for (size_t i = 0; i < r->tables.n; i++) {
        buf_puts(&b, i ? ", " : "{");
        buf_json_str(&b, r->tables.at[i].name, strlen(r->tables.at[i].name));
        buf_puts(&b, ": {\"optimizer\": \"none\"}");
    }
    buf_putc(&b, '}');
    ckpt_add_json(w, "tables", buf_str(&b));
    buf_release(&b);
}

static const char *init_table_of(const struct pc_feature *f)
{
    const struct pc_DynamicEmbedding *d = f ? f->dynamicemb : NULL;
    return d && d->init_table && d->init_table[0] ? d->init_table : NULL;
}

/* The data of a table, by the features that read it; NULL: none. */
static const char *data_of(const struct lookup *l, const struct pc_features *features,
                           int table)
{
    for (int i = 0; i < lookup_n_slots(l); i++) {
        const struct embed_slot_conf *slot = lookup_slot(l, i);
        const char *path =
            init_table_of(pc_features_find(features, str_c(slot->feature)));
        if (slot->table == table && path)
            return path;
    }
    return NULL;
}

static enum rc make_table(const struct making *m, const struct embed_table_conf *t,
                          const char *path, struct gathered *g,
                          struct train_dynamic_report *out, struct err *err)
{
    buf_init(&g->values, ROWS_MAX);
    g->dim = t->dim;
    enum rc rc = read_table(m, path, g, err);
    if (!rc)
        rc = drop_repeated(g, err);
    if (rc)
        return rc;
    struct train_dynamic_table one = {.name = ckpt_table_name(t),
                                      .from = path,
                                      .rows = (int64_t)g->keys.n,
                                      .again = g->again,
                                      .capacity = t->keyed.capacity};
    VEC_PUSH(&out->tables, one);
    return RC_OK;
}

static enum rc no_table(struct err *err)
{
    return err_coded(err, RC_INVAL, E2307,
                     "no feature has a dynamicemb block with init_table");
}

static enum rc make_all(const struct making *m, const struct train_session *s,
                        struct train_dynamic_report *out, struct err *err)
{
    const struct lookup *l = s->model->lookup;
    struct pc_features features;
    struct arena a = {0};
    int n = lookup_n_tables(l);
    struct gathered *all = mem_calloc((size_t)n + 1, sizeof(*all));
    struct ckpt_writer_conf conf = {.config = m->how->config};
    struct ckpt_writer *w = ckpt_writer_open(m->how->save_dir, &conf);
    enum rc rc = RC_OK;
    pc_features_init(&features, m->conf, &a);
    for (int i = 0; i < n && !rc; i++) {
        const char *path = data_of(l, &features, i);
        if (path)
            rc = make_table(m, lookup_table(l, i), path, &all[i], out, err);
        if (path && !rc)
            add_table(w, out->tables.at[out->tables.n - 1].name, &all[i]);
    }
    if (!rc && !out->tables.n)
        rc = no_table(err);
    add_facts(w, out);
    if (rc)
        ckpt_abort(w);
    else
        rc = ckpt_commit(w, err);
    for (int i = 0; i < n; i++) {
        VEC_RELEASE(&all[i].keys);
        buf_release(&all[i].values);
    }
    mem_free(all);
    pc_features_release(&features);
    arena_release(&a);
    return rc;
}

enum rc train_dynamic_init(const struct pc_EasyRecConfig *conf,
                           const struct train_dynamic_conf *how,
                           struct train_dynamic_report *out, struct diags *diags,
                           struct err *err)
{
    struct making m = {.conf = conf,
                       .how = how,
                       .bucket = {.farm = how->farm_hash},
                       .plain = pc_fg_mode(conf->data_config) == pc_FgMode_FG_NONE};
    struct train_session_options options = {
        .pool = how->pool, .no_labels = true, .farm_hash = how->farm_hash};
    struct train_session *s = NULL;
    *out = (struct train_dynamic_report){0};
    bucket_set_hash(&m.bucket, INT64_MAX);
    enum rc rc = train_session_create(conf, &options, &s, diags, err);
    if (!rc)
        rc = make_all(&m, s, out, err);
    train_session_destroy(s);
    bucket_release(&m.bucket);
    if (rc)
        train_dynamic_report_release(out);
    return rc;
}
