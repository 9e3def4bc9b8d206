/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, columns and names are those of TorchEasyRec, so that what reads its files reads
 * these. A file appears whole or not at all; a dump without rows writes none, unless there
 * are several ranks: then each has a file, with the rows that it keeps.
 *
 * Under INT8 a row is its values in steps of `scale` from `offset` on, a byte each, and
 * behind them scale and offset as 16-bit floats. Both are rounded to 16 bits before they
 * are used, so that value * scale + offset is as near as a reader can come.
 */
#include "train/row_dump.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "data/writer.h"
#include "io/file.h"
#include "tensor/tensor.h"

#define DELTA_DIR "delta_embedding_dump"
#define DELTA_SOURCE "model_delta_tracker"
#define BATCH_ROWS 8192
#define F16_MOST 65504.0
#define LEVELS 255
#define UNSET 0xff /* of each byte of a value: a NaN that no computation gives */
#define TAIL 4     /* bytes of scale and offset */

enum { STEP, RANK, WORLD, FEATURE, TABLE, KEY, VALUES, SOURCE, COLUMNS };

struct train_row_dump {
    const struct pc_DeltaEmbeddingDumpConfig *conf; /* borrowed */
    struct lookup *lookup;                          /* borrowed */
    const struct graph *graph; /* borrowed: whose device is waited for */
    char *dir;                 /* owned */
    bool bytes;                /* INT8 */
    int rank, world;
    uint64_t last;  /* step of the last file; 0: none */
    int64_t due_ns; /* of an interval of minutes */
    struct data_schema schema;
};

static void make_schema(struct train_row_dump *d)
{
    static const struct {
        const char *name;
        enum type_id id;
    } columns[COLUMNS] = {
        [STEP] = {"global_step", TYPE_I64},  [RANK] = {"rank", TYPE_I32},
        [WORLD] = {"world_size", TYPE_I32},  [FEATURE] = {"feature_name", TYPE_STR},
        [TABLE] = {"table_fqn", TYPE_STR},   [KEY] = {"key_id", TYPE_I64},
        [VALUES] = {"embedding", TYPE_LIST}, [SOURCE] = {"source", TYPE_STR}};
    struct type value = type_of(d->bytes ? TYPE_U32 : TYPE_F32, true);
    value.logical = d->bytes ? LOGICAL_UINT8 : LOGICAL_NONE;
    for (int i = 0; i < COLUMNS; i++) {
        struct type t = i == VALUES ? type_list(&d->schema.mem, value, true)
                                    : type_of(columns[i].id, true);
        data_schema_add(&d->schema, str_c(columns[i].name), &t);
    }
}

/* Others read values two bytes at a time. */
static enum rc check_widths(const struct train_row_dump *d, struct err *err)
{
    for (int i = 0; d->bytes && i < lookup_n_tables(d->lookup); i++) {
        const struct embed_table_conf *t = lookup_table(d->lookup, i);
        if (t->dim % 2)
            return err_coded(err, RC_INVAL, E1409,
                             "delta_embedding_dump_config: quant_type INT8 needs an even "
                             "embedding_dim, and table '%s' has %jd",
                             t->name, (intmax_t)t->dim);
    }
    return RC_OK;
}

enum rc train_row_dump_create(const struct pc_DeltaEmbeddingDumpConfig *conf,
                              const char *model_dir, const struct model *model,
                              const struct comm *comm, struct train_row_dump **out,
                              struct err *err)
{
    struct train_row_dump *d = mem_calloc(1, sizeof(*d));
    bool named = conf->output_dir && conf->output_dir[0];
    d->conf = conf;
    d->lookup = model->lookup;
    d->graph = model->graph;
    d->rank = comm_rank(comm);
    d->world = comm_world(comm);
    d->bytes = conf->quant_type == pc_DeltaEmbeddingQuantType_DELTA_EMBEDDING_QUANT_INT8;
    d->dir = named ? mem_strdup(conf->output_dir) : fs_join(model_dir, DELTA_DIR);
    make_schema(d);
    enum rc rc = check_widths(d, err);
    if (!rc)
        rc = lookup_track(d->lookup, err);
    if (rc)
        train_row_dump_destroy(d);
    else
        *out = d;
    return rc;
}

void train_row_dump_destroy(struct train_row_dump *d)
{
    if (!d)
        return;
    data_schema_release(&d->schema);
    mem_free(d->dir);
    mem_free(d);
}

static int64_t interval_ns(const struct train_row_dump *d)
{
    return (int64_t)d->conf->dump_interval_minutes * 60 * CLOCK_SECOND;
}

enum rc train_row_dump_start(struct train_row_dump *d, struct err *err)
{
    if (!d)
        return RC_OK;
    d->due_ns = clock_mono_ns() + interval_ns(d);
    enum rc rc = io_is_remote(d->dir) ? RC_OK : fs_mkdirs(d->dir, 0755, err);
    return rc ? err_wrap(err, rc, "delta_embedding_dump_config") : RC_OK;
}

/* A table as checkpoints name its weights, without their last word. */
static char *name_of(const struct embed_table_conf *t)
{
    char *name = mem_strdup(t->name);
    if (str_ends(name, ".weight"))
        name[strlen(name) - strlen(".weight")] = '\0';
    return name;
}

/* The features of a table, in order, each once: "a,b". */
static void features_of(const struct lookup *l, int table, struct buf *out)
{
    for (int i = 0; i < lookup_n_slots(l); i++) {
        const char *name = lookup_slot(l, i)->feature;
        bool again = lookup_slot(l, i)->table != table;
        for (int k = 0; k < i && !again; k++)
            again = lookup_slot(l, k)->table == table &&
                    strcmp(lookup_slot(l, k)->feature, name) == 0;
        if (!again)
            buf_printf(out, "%s%s", out->n ? "," : "", name);
    }
}

/* Bytes [dim + TAIL]; false when 16 bits cannot hold scale or offset. */
static bool quantise(const float *w, int64_t dim, uint8_t *out)
{
    float least = w[0], most = w[0];
    for (int64_t i = 1; i < dim; i++) {
        least = w[i] < least ? w[i] : least;
        most = w[i] > most ? w[i] : most;
    }
    uint16_t halves[2] = {0, f16_from_f32(least)};
    float offset = f16_to_f32(halves[1]);
    double range = (double)most - (double)offset;
    if (!(fabs((double)least) <= F16_MOST) || !(fabs(range) <= F16_MOST * LEVELS))
        return false;
    float width = most - offset;
    float scale = f16_to_f32(f16_from_f32(width != 0 ? width / LEVELS : 1.0f));
    scale = scale != 0 ? scale : 1.0f;
    halves[0] = f16_from_f32(scale);
    for (int64_t i = 0; i < dim; i++) {
        float q = nearbyintf((w[i] - offset) / scale);
        out[i] = (uint8_t)(q > 0 ? (q < LEVELS ? q : LEVELS) : 0);
    }
    memcpy(out + dim, halves, sizeof(halves));
    return true;
}

struct dump {
    const struct train_row_dump *d;
    uint64_t step;
    char *path;
    struct writer *writer; /* NULL until there is a row */
    struct batch batch;
};

/* Of the table under way. */
struct dump_table {
    int number;
    const struct embed_table_conf *t;
    struct str name, features;
};

static enum rc flush_rows(struct dump *x, struct err *err)
{
    enum rc rc = batch_finish(&x->batch, err);
    if (!rc && (x->batch.n || x->d->world > 1) && !x->writer)
        rc = writer_open(x->path, &writer_parquet, &x->d->schema,
                         &(struct writer_conf){0}, &x->writer, err);
    if (!rc && x->batch.n)
        rc = writer_add(x->writer, &x->batch, err);
    batch_clear(&x->batch);
    return rc;
}

static enum rc add_values(struct dump *x, const struct dump_table *at, int64_t id,
                          const float *w, struct err *err)
{
    struct column *list = &x->batch.cols[VALUES];
    int64_t dim = at->t->dim;
    uint8_t bytes[EMBED_DIM_MAX + TAIL];
    enum rc rc = RC_OK;
    if (x->d->bytes && !quantise(w, dim, bytes))
        return err_coded(err, RC_INVAL, E1409,
                         "table '%s': the row of id %jd has values that 8 bits with a "
                         "16-bit scale cannot hold; set quant_type to "
                         "DELTA_EMBEDDING_QUANT_NONE",
                         at->t->name, (intmax_t)id);
    for (int64_t i = 0; x->d->bytes && i < dim + TAIL && !rc; i++)
        rc = column_add_u32(&list->kids[0], bytes[i], err);
    for (int64_t i = 0; !x->d->bytes && i < dim && !rc; i++)
        rc = column_add_f32(&list->kids[0], w[i], err);
    return rc ? rc : column_add_nested(list, err);
}

/* Whether a row's last value is as it was before peek(). */
static bool is_unset(const float *w, int64_t dim)
{
    static const unsigned char unset[sizeof(float)] = {UNSET, UNSET, UNSET, UNSET};
    return memcmp(w + dim - 1, unset, sizeof(unset)) == 0;
}

static enum rc add_row(struct dump *x, const struct dump_table *at, int64_t id,
                       struct err *err)
{
    struct column *c = x->batch.cols;
    float w[EMBED_DIM_MAX];
    memset(w, UNSET, (size_t)at->t->dim * sizeof(*w));
    if (!lookup_peek(x->d->lookup, at->number, id, w))
        return RC_OK;
    if (is_unset(w, at->t->dim))
        return err_coded(
            err, RC_INVAL, E0011,
            "table '%s': peek() gave no values of id %jd, and said that it did",
            at->t->name, (intmax_t)id);
    enum rc rc = column_add_i64(&c[STEP], (int64_t)x->step, err);
    if (!rc)
        rc = column_add_i32(&c[RANK], x->d->rank, err);
    if (!rc)
        rc = column_add_i32(&c[WORLD], x->d->world, err);
    if (!rc)
        rc = column_add_str(&c[FEATURE], at->features, err);
    if (!rc)
        rc = column_add_str(&c[TABLE], at->name, err);
    if (!rc)
        rc = column_add_i64(&c[KEY], id, err);
    if (!rc)
        rc = add_values(x, at, id, w, err);
    if (!rc)
        rc = column_add_str(&c[SOURCE], str_c(DELTA_SOURCE), err);
    return rc || c[KEY].n < BATCH_ROWS ? rc : flush_rows(x, err);
}

static enum rc add_table(struct dump *x, int number, struct err *err)
{
    const struct embed_table_conf *t = lookup_table(x->d->lookup, number);
    int64_t *ids = NULL, n = 0;
    struct buf features;
    buf_init(&features, (size_t)1 << 20);
    features_of(x->d->lookup, number, &features);
    char *name = name_of(t);
    struct dump_table at = {number, t, str_c(name), str_c(buf_str(&features))};
    enum rc rc = lookup_touched(x->d->lookup, number, &ids, &n, err);
    for (int64_t i = 0; i < n && !rc; i++)
        rc = add_row(x, &at, ids[i], err);
    mem_free(ids);
    mem_free(name);
    buf_release(&features);
    return rc;
}

/* Of several ranks in a directory of the step. */
static enum rc place_file(const struct train_row_dump *d, uint64_t step, char **path,
                          struct err *err)
{
    const char *prefix = d->conf->file_prefix && d->conf->file_prefix[0]
                             ? d->conf->file_prefix
                             : "delta_embedding";
    if (d->world == 1) {
        *path = mem_printf("%s/%s_step_%ju.parquet", d->dir, prefix, (uintmax_t)step);
        return RC_OK;
    }
    char *dir = mem_printf("%s/step_%ju", d->dir, (uintmax_t)step);
    enum rc rc = io_is_remote(dir) ? RC_OK : fs_mkdirs(dir, 0755, err);
    *path = mem_printf("%s/%s_step_%ju_rank_%d_of_%d.parquet", dir, prefix,
                       (uintmax_t)step, d->rank, d->world);
    mem_free(dir);
    return rc;
}

static enum rc write_dump(struct train_row_dump *d, uint64_t step, struct err *err)
{
    struct dump x = {.d = d, .step = step};
    enum rc rc = place_file(d, step, &x.path, err);
    batch_init(&x.batch, &d->schema);
    for (int i = 0; i < lookup_n_tables(d->lookup) && !rc; i++)
        rc = add_table(&x, i, err);
    if (!rc)
        rc = flush_rows(&x, err);
    if (!rc) /* rows may have come from a device */
        rc = graph_wait(d->graph, err);
    if (!rc && x.writer)
        rc = writer_commit(x.writer, err);
    else
        writer_abandon(x.writer);
    if (!rc) {
        lookup_forget_touched(d->lookup);
        d->last = step;
    }
    batch_release(&x.batch);
    mem_free(x.path);
    return rc ? err_wrap(err, rc, "delta_embedding_dump_config") : RC_OK;
}

/* Moments that were missed are passed over. */
static bool clock_is_due(struct train_row_dump *d)
{
    int64_t now = clock_mono_ns();
    if (now < d->due_ns)
        return false;
    d->due_ns += ((now - d->due_ns) / interval_ns(d) + 1) * interval_ns(d);
    return true;
}

bool train_row_dump_asks(struct train_row_dump *d)
{
    return d && d->conf->has_dump_interval_minutes && clock_is_due(d);
}

enum rc train_row_dump_step(struct train_row_dump *d, uint64_t step, bool asked,
                            struct err *err)
{
    if (!d)
        return RC_OK;
    bool due = d->conf->has_dump_interval_minutes
                   ? asked
                   : step > 0 && step % d->conf->dump_interval_steps == 0;
    return due && step > 0 ? write_dump(d, step, err) : RC_OK;
}

enum rc train_row_dump_end(struct train_row_dump *d, uint64_t step, struct err *err)
{
    return d && step > 0 && step != d->last ? write_dump(d, step, err) : RC_OK;
}
