/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are taken apart into levels and values (shred_*), leaves turn them into pages, and
 * when a row group is full its columns are written one behind the other. Indexes and the
 * footer follow at the end.
 */
#include "data/parquet/writer.h"

#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/parquet/footer.h"
#include "data/parquet/leaf_writer.h"
#include "io/out.h"

#define DEPTH_MAX 16

struct node {
    const struct type *type;
    size_t first_leaf, n_leaves;
    int def, rep; /* levels of a value here; of a list's elements, rep is theirs */
    struct node *kids;
};

struct parquet_writer {
    struct io_out *file;
    char *path;
    struct parquet_writer_options o;
    struct data_schema schema;
    struct arena mem;
    struct node *nodes;            /* [schema.n] */
    struct pq_leaf_writer *leaves; /* [n_leaves] */
    size_t n_leaves;
    struct codec *codec;
    struct pq_footer footer;
    struct buf dict; /* scratch: a dictionary page */
    int64_t at;      /* bytes written */
    int64_t group_rows;
};

void parquet_writer_abandon(struct parquet_writer *w)
{
    if (!w)
        return;
    io_abandon(w->file);
    for (size_t i = 0; i < w->n_leaves; i++)
        pq_leaf_writer_release(&w->leaves[i]);
    mem_free(w->leaves);
    pq_footer_release(&w->footer);
    buf_release(&w->dict);
    codec_destroy(w->codec);
    arena_release(&w->mem);
    data_schema_release(&w->schema);
    mem_free(w->path);
    mem_free(w);
}

static size_t count_leaves(const struct type *t)
{
    size_t n = t->n_kids ? 0 : 1;
    for (size_t i = 0; i < t->n_kids; i++)
        n += count_leaves(&t->kids[i].type);
    return n;
}

static enum pq_physical physical_of(enum type_id id)
{
    static const uint8_t by_id[TYPE_COUNT] = {
        [TYPE_BOOL] = PQ_BOOLEAN, [TYPE_I32] = PQ_INT32,     [TYPE_U32] = PQ_INT32,
        [TYPE_I64] = PQ_INT64,    [TYPE_U64] = PQ_INT64,     [TYPE_F32] = PQ_FLOAT,
        [TYPE_F64] = PQ_DOUBLE,   [TYPE_STR] = PQ_BYTE_ARRAY};
    return (enum pq_physical)by_id[id];
}

/* Names of the schema elements from the top down to the one being planned. */
struct path {
    const char *at[3 * DEPTH_MAX];
    size_t n;
};

static void plan_leaf(struct parquet_writer *w, struct node *n, int rep,
                      const struct path *path)
{
    struct pq_leaf_writer *l = &w->leaves[w->n_leaves++];
    const char **names = arena_alloc(&w->mem, path->n * sizeof(*names));
    memcpy(names, path->at, path->n * sizeof(*names));
    *l = (struct pq_leaf_writer){.o = &w->o,
                                 .type = n->type,
                                 .path = names,
                                 .n_path = path->n,
                                 .physical = physical_of(n->type->id),
                                 .max_def = n->def,
                                 .max_rep = rep,
                                 .codec = w->codec};
    pq_leaf_writer_reset(l);
}

static enum rc pq_writer_plan(struct parquet_writer *w, struct node *n,
                              const struct type *t, int def, int rep, struct path path,
                              int depth, struct err *err)
{
    bool span = t->id == TYPE_LIST || t->id == TYPE_MAP;
    *n = (struct node){.type = t, .first_leaf = w->n_leaves};
    n->def = def + t->nullable;
    n->rep = rep + span;
    if (depth >= DEPTH_MAX)
        return err_coded(err, RC_UNSUPPORTED, E1009, "'%s' is nested more than %d deep",
                         path.at[0], DEPTH_MAX);
    if (!t->n_kids && type_is_nested(t->id))
        return err_coded(err, RC_UNSUPPORTED, E1009, "'%s' is a struct without fields",
                         path.at[0]);
    if (!t->n_kids)
        plan_leaf(w, n, rep, &path);
    if (span)
        path.at[path.n++] = t->id == TYPE_MAP ? "key_value" : "list";
    n->kids = arena_alloc(&w->mem, t->n_kids * sizeof(*n->kids));
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < t->n_kids; i++) {
        struct path below = path;
        below.at[below.n++] = t->kids[i].name;
        rc = pq_writer_plan(w, &n->kids[i], &t->kids[i].type, n->def + span, n->rep,
                            below, depth + 1, err);
    }
    n->n_leaves = w->n_leaves - n->first_leaf;
    return rc;
}

static enum rc plan_all(struct parquet_writer *w, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < w->schema.n; i++)
        n += count_leaves(&w->schema.at[i].type);
    w->leaves = mem_calloc(n, sizeof(*w->leaves));
    w->nodes = arena_alloc(&w->mem, w->schema.n * sizeof(*w->nodes));
    for (size_t i = 0; i < w->schema.n; i++) {
        struct path path = {.at = {w->schema.at[i].name}, .n = 1};
        enum rc rc =
            pq_writer_plan(w, &w->nodes[i], &w->schema.at[i].type, 0, 0, path, 0, err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static void fill_defaults(struct parquet_writer_options *o)
{
    if (!o->page_bytes)
        o->page_bytes = (size_t)1 << 20;
    if (!o->page_rows)
        o->page_rows = 20000;
    if (!o->group_rows)
        o->group_rows = 1 << 20;
    if (!o->group_bytes)
        o->group_bytes = (size_t)128 << 20;
    if (!o->dict_bytes)
        o->dict_bytes = (size_t)1 << 20;
}

static enum rc pq_writer_put(struct parquet_writer *w, const void *p, size_t n,
                             struct err *err)
{
    enum rc rc = n ? io_append(w->file, p, n, err) : RC_OK;
    w->at += (int64_t)n;
    return rc;
}

enum rc parquet_writer_create(const char *path, const struct data_schema *schema,
                              const struct parquet_writer_options *o,
                              struct parquet_writer **out, struct err *err)
{
    struct parquet_writer *w = mem_calloc(1, sizeof(*w));
    enum rc rc = RC_OK;
    if (o)
        w->o = *o;
    fill_defaults(&w->o);
    w->path = mem_strdup(path);
    w->codec = codec_create();
    buf_init(&w->dict, (size_t)INT32_MAX);
    data_schema_copy(&w->schema, schema);
    if (!codec_can_encode(w->o.codec))
        rc = err_coded(err, RC_UNSUPPORTED, E1009, "'%s': %s is not written", path,
                       codec_name(w->o.codec));
    if (!rc)
        rc = plan_all(w, err);
    if (!rc)
        rc = io_create(path, &w->file, err);
    if (!rc)
        rc = pq_writer_put(w, "PAR1", 4, err);
    if (rc) {
        parquet_writer_abandon(w);
        return rc;
    }
    *out = w;
    return RC_OK;
}

static enum rc shred_null(struct parquet_writer *w, const struct node *n, int rep,
                          int def, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < n->n_leaves; i++)
        rc = pq_leaf_writer_null(&w->leaves[n->first_leaf + i], rep, def, err);
    return rc;
}

/* Row i of c, below the levels rep and def. */
static enum rc shred(struct parquet_writer *w, const struct node *n,
                     const struct column *c, int64_t i, int rep, int def, struct err *err)
{
    const struct type *t = n->type;
    enum rc rc = RC_OK;
    if (column_is_null(c, i)) {
        if (!t->nullable)
            return err_coded(err, RC_INVAL, E1020,
                             "a null where the schema has none, in row %jd of the batch",
                             (intmax_t)i);
        return shred_null(w, n, rep, def, err);
    }
    if (!t->n_kids)
        return pq_leaf_writer_value(&w->leaves[n->first_leaf], c, i, rep, err);
    if (t->id == TYPE_STRUCT) {
        for (size_t k = 0; !rc && k < t->n_kids; k++)
            rc = shred(w, &n->kids[k], &c->kids[k], i, rep, n->def, err);
        return rc;
    }
    int32_t from = c->offsets[i], to = c->offsets[i + 1];
    if (from == to)
        return shred_null(w, n, rep, n->def, err);
    for (size_t k = 0; k < t->n_kids; k++)
        for (int32_t j = from; !rc && j < to; j++)
            rc = shred(w, &n->kids[k], &c->kids[k], j, j == from ? rep : n->rep,
                       n->def + 1, err);
    return rc;
}

static size_t group_size(const struct parquet_writer *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_leaves; i++)
        n += w->leaves[i].pages_n + w->leaves[i].values_n;
    return n;
}

static enum rc close_group(struct parquet_writer *w, struct err *err)
{
    if (!w->group_rows)
        return RC_OK;
    enum rc rc = pq_footer_group(&w->footer, w->group_rows, w->n_leaves, err);
    for (size_t i = 0; !rc && i < w->n_leaves; i++) {
        struct pq_leaf_writer *l = &w->leaves[i];
        rc = pq_leaf_writer_close(l, &w->dict, err);
        int64_t start = w->at;
        if (!rc)
            rc = pq_writer_put(w, w->dict.p, w->dict.n, err);
        int64_t data = w->at;
        if (!rc)
            rc = pq_writer_put(w, l->pages.p, l->pages_n, err);
        if (!rc)
            rc = pq_footer_chunk(&w->footer, l, i, start, data, w->at, err);
        pq_leaf_writer_reset(l);
    }
    w->group_rows = 0;
    return rc;
}

static enum rc check_batch(const struct parquet_writer *w, const struct batch *b,
                           struct err *err)
{
    if (b->n_cols != w->schema.n)
        return err_coded(err, RC_INVAL, E1020, "a batch of %zu columns where %zu belong",
                         b->n_cols, w->schema.n);
    for (size_t i = 0; i < b->n_cols; i++) {
        if (!type_equal(b->cols[i].type, &w->schema.at[i].type))
            return err_coded(err, RC_INVAL, E1020, "column '%s' is of another type",
                             w->schema.at[i].name);
        if (b->cols[i].n != b->n)
            return err_coded(err, RC_INVAL, E1020, "column '%s' has %jd rows, not %jd",
                             w->schema.at[i].name, (intmax_t)b->cols[i].n,
                             (intmax_t)b->n);
    }
    return RC_OK;
}

/* Rows [from, to) of one column. */
static enum rc write_column(struct parquet_writer *w, size_t k, const struct column *c,
                            int64_t from, int64_t to, struct err *err)
{
    const struct node *n = &w->nodes[k];
    enum rc rc = RC_OK;
    for (int64_t i = from; !rc && i < to; i++) {
        for (size_t l = 0; !rc && l < n->n_leaves; l++)
            rc = pq_leaf_writer_row(&w->leaves[n->first_leaf + l], err);
        if (!rc)
            rc = shred(w, n, c, i, 0, 0, err);
    }
    return rc ? err_wrap(err, rc, "column '%s'", w->schema.at[k].name) : RC_OK;
}

enum rc parquet_write(struct parquet_writer *w, const struct batch *b, struct err *err)
{
    enum rc rc = check_batch(w, b, err);
    for (int64_t at = 0; !rc && at < b->n;) {
        int64_t n = b->n - at, room = w->o.group_rows - w->group_rows;
        n = n < room ? n : room;
        n = n < 4096 ? n : 4096; /* the size is looked at in between */
        for (size_t k = 0; !rc && k < b->n_cols; k++)
            rc = write_column(w, k, &b->cols[k], at, at + n, err);
        at += n;
        w->group_rows += n;
        if (!rc &&
            (w->group_rows >= w->o.group_rows || group_size(w) >= w->o.group_bytes))
            rc = close_group(w, err);
    }
    return rc ? err_wrap(err, rc, "'%s'", w->path) : RC_OK;
}

enum rc parquet_writer_finish(struct parquet_writer *w, struct err *err)
{
    struct buf tail;
    buf_init(&tail, (size_t)UINT32_MAX);
    enum rc rc = close_group(w, err);
    if (!rc && !w->o.no_index) {
        rc = pq_footer_indexes(&w->footer, w->at, &tail, err);
        if (!rc)
            rc = pq_writer_put(w, tail.p, tail.n, err);
    }
    if (!rc)
        rc = pq_footer_write(&w->footer, &w->schema, &w->o, w->leaves, &tail, err);
    if (!rc) {
        uint32_t n = (uint32_t)tail.n;
        buf_add(&tail, &n, sizeof(n));
        buf_add(&tail, "PAR1", 4);
        rc = buf_check(&tail, err);
    }
    if (!rc)
        rc = pq_writer_put(w, tail.p, tail.n, err);
    buf_release(&tail);
    if (!rc) {
        struct io_out *file = w->file;
        w->file = NULL;
        rc = io_commit(file, err);
    }
    if (rc)
        err_wrap(err, rc, "'%s'", w->path);
    parquet_writer_abandon(w);
    return rc;
}
