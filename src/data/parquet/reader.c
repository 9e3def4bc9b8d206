/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a Parquet file. A top-level column is the unit of work, so that a pool of
 * threads can read columns side by side: first its leaves, then the lists above them.
 * When the rows of a batch would need too much memory they are read again, fewer of
 * them. Of remote files the pieces that are about to be read are announced, and fetched
 * ahead.
 */
#include "base/mem.h"
#include "data/parquet/ahead.h"
#include "data/parquet/assemble.h"
#include "data/parquet/parquet.h"

#define MAGIC_SIZE 4
#define TAIL_SIZE 8 /* footer length and magic */
#define MAX_BYTES_DEFAULT ((size_t)256 << 20)

/* One column of the batches. */
struct task {
    const struct pq_node *node;
    size_t first_leaf, n_leaves;
    struct codec *codec; /* owned; NULL unless there is a pool */
    enum rc rc;
    struct err err;
};

struct parquet {
    char *name;
    struct pq_source source;
    struct pq_file_meta meta;
    struct pq_schema file;
    struct data_schema schema;     /* of the batches */
    struct task *tasks;            /* [schema.n] */
    struct pq_leaf_reader *leaves; /* [n_leaves], those of the file; unused ones zeroed */
    int64_t row;
    struct codec *codec; /* without a pool */
    struct pool *pool;   /* borrowed, or NULL */
    struct batch *batch; /* the one that parquet_next() fills, and its rows */
    int64_t want;
    int64_t cap;      /* rows that fit into max_bytes, as far as is known */
    size_t max_bytes; /* of one column of a batch of several rows */
    int64_t planned;  /* the last row group that was announced; -1: none since a seek */
    size_t *chunks;   /* [n_chunks], owned: leaves that are read */
    size_t n_chunks;
};

void parquet_close(struct parquet *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->leaves && i < r->file.n_leaves; i++)
        pq_leaf_release(&r->leaves[i]);
    for (size_t i = 0; r->tasks && i < r->schema.n; i++)
        codec_destroy(r->tasks[i].codec);
    codec_destroy(r->codec);
    mem_free(r->leaves);
    mem_free(r->tasks);
    mem_free(r->chunks);
    data_schema_release(&r->schema);
    pq_schema_release(&r->file);
    pq_file_meta_release(&r->meta);
    io_close(r->source.file);
    mem_free(r->name);
    mem_free(r);
}

static enum rc read_footer(struct parquet *r, struct err *err)
{
    struct pq_source *s = &r->source;
    uint8_t head[MAGIC_SIZE] = {0}, tail[TAIL_SIZE];
    if (s->size < MAGIC_SIZE + TAIL_SIZE)
        return err_coded(err, RC_FORMAT, E1001,
                         "not a Parquet file: it has only %ju bytes", (uintmax_t)s->size);
    enum rc rc = pq_source_read(s, s->size - TAIL_SIZE, TAIL_SIZE, tail, err);
    /* The front of an object would cost a request of its own, and tells no more. */
    if (!rc && !s->is_remote)
        rc = pq_source_read(s, 0, MAGIC_SIZE, head, err);
    if (rc)
        return rc;
    if (memcmp(tail + 4, "PARE", 4) == 0)
        return err_coded(err, RC_UNSUPPORTED, E1008, "the file is encrypted");
    if (!s->is_remote && memcmp(head, "PAR1", 4) != 0)
        return err_coded(err, RC_FORMAT, E1001,
                         "not a Parquet file: it does not begin with PAR1");
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return err_coded(err, RC_FORMAT, E1002,
                         "it begins as a Parquet file but does not end as one: "
                         "cut short or still being written");
    uint64_t n = pq_load32(tail), room = s->size - MAGIC_SIZE - TAIL_SIZE;
    if (n == 0 || n > room)
        return err_coded(err, RC_FORMAT, E1002,
                         "metadata of %ju bytes does not fit in a file of %ju",
                         (uintmax_t)n, (uintmax_t)s->size);
    s->data_end = s->size - TAIL_SIZE - n;
    void *bytes = mem_try_alloc(n, 1);
    if (!bytes)
        return err_set(err, RC_NOMEM, "out of memory for %ju bytes of metadata",
                       (uintmax_t)n);
    rc = pq_source_read(s, s->data_end, n, bytes, err);
    if (!rc)
        rc = pq_file_meta_parse(&r->meta, bytes, n, s->data_end, err);
    mem_free(bytes);
    return rc;
}

static enum rc no_such_column(const struct parquet *r, const char *name, struct err *err)
{
    const struct data_schema *s = &r->file.schema;
    const char **names = mem_calloc(s->n + 1, sizeof(*names));
    for (size_t i = 0; i < s->n; i++)
        names[i] = s->at[i].name;
    const char *near = str_nearest(str_c(name), names, s->n);
    mem_free(names);
    return err_coded(err, RC_INVAL, E1011, "no column '%s'%s%s%s", name,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static size_t count_leaves(const struct pq_node *node)
{
    size_t n = node->type->n_kids ? 0 : 1;
    for (size_t i = 0; i < node->type->n_kids; i++)
        n += count_leaves(&node->kids[i]);
    return n;
}

static void init_leaf(struct parquet *r, const struct parquet_options *o, size_t i,
                      bool nested)
{
    struct pq_leaf_reader *l = &r->leaves[i];
    const struct pq_leaf *leaf = &r->file.leaves[i];
    pq_leaf_init(l, leaf);
    l->meta = &r->meta;
    l->kernels = pq_kernels_pick();
    l->want_codes = o->dict == PARQUET_DICT_ALL ||
                    (o->dict == PARQUET_DICT_STRINGS && leaf->type->id == TYPE_STR);
    l->is_nested = nested;
    l->pages.source = &r->source;
    l->pages.kernels = l->kernels;
    l->pages.check_crc = !o->skip_crc;
}

static enum rc choose_columns(struct parquet *r, const struct parquet_options *o,
                              struct err *err)
{
    const struct data_schema *all = &r->file.schema;
    size_t n = o->columns ? o->n_columns : all->n;
    r->max_bytes = o->max_bytes ? o->max_bytes : MAX_BYTES_DEFAULT;
    r->cap = INT32_MAX; /* offsets have 32 bits */
    r->leaves = mem_try_calloc(r->file.n_leaves, sizeof(*r->leaves));
    r->tasks = mem_try_calloc(n, sizeof(*r->tasks));
    if (!r->leaves || !r->tasks)
        return err_set(err, RC_NOMEM, "out of memory for %zu columns", n);
    for (size_t i = 0; i < n; i++) {
        int64_t at =
            o->columns ? data_schema_find(all, str_c(o->columns[i])) : (int64_t)i;
        if (at < 0)
            return no_such_column(r, o->columns[i], err);
        const struct pq_node *node = &r->file.nodes[at];
        struct task *t = &r->tasks[i];
        *t = (struct task){
            .node = node, .first_leaf = node->leaf, .n_leaves = count_leaves(node)};
        if (t->n_leaves && r->leaves[t->first_leaf].leaf)
            return err_coded(err, RC_INVAL, E1011, "column '%s' is asked for twice",
                             all->at[at].name);
        for (size_t k = 0; k < t->n_leaves; k++)
            init_leaf(r, o, t->first_leaf + k, type_is_nested(node->type->id));
        data_schema_add(&r->schema, str_c(all->at[at].name), &all->at[at].type);
    }
    return RC_OK;
}

static enum rc open_source(struct parquet *r, const struct parquet_options *o,
                           struct err *err)
{
    static const struct parquet_options defaults = {0};
    enum rc rc = read_footer(r, err);
    if (!rc)
        rc = pq_schema_build(&r->file, &r->meta, err);
    if (!rc)
        rc = choose_columns(r, o ? o : &defaults, err);
    r->codec = codec_create();
    return rc;
}

enum rc parquet_open(const char *path, const struct parquet_options *o,
                     struct parquet **out, struct err *err)
{
    struct parquet *r = mem_calloc(1, sizeof(*r));
    r->name = mem_strdup(path);
    r->planned = -1;
    enum rc rc = io_open(path, IO_BACK, &r->source.file, err);
    if (rc && io_is_remote(path)) {
        parquet_close(r);
        return rc; /* names the object already */
    }
    if (!rc) {
        r->source.size = io_size(r->source.file);
        r->source.is_remote = io_file_is_remote(r->source.file);
        rc = open_source(r, o, err);
    }
    if (rc) {
        parquet_close(r);
        return err_wrap(err, rc, "'%s'", path);
    }
    *out = r;
    return RC_OK;
}

enum rc parquet_open_memory(const char *name, const void *bytes, size_t n,
                            const struct parquet_options *o, struct parquet **out,
                            struct err *err)
{
    struct parquet *r = mem_calloc(1, sizeof(*r));
    r->name = mem_strdup(name);
    r->source = (struct pq_source){.bytes = bytes, .size = n};
    enum rc rc = open_source(r, o, err);
    if (rc) {
        parquet_close(r);
        return err_wrap(err, rc, "'%s'", name);
    }
    *out = r;
    return RC_OK;
}

const struct data_schema *parquet_schema(const struct parquet *r)
{
    return &r->schema;
}

int64_t parquet_rows(const struct parquet *r)
{
    return r->meta.n_rows;
}

size_t parquet_groups(const struct parquet *r)
{
    return r->meta.n_groups;
}

int64_t parquet_group_start(const struct parquet *r, size_t i)
{
    return i < r->meta.n_groups ? r->meta.groups[i].first_row : r->meta.n_rows;
}

const char *parquet_created_by(const struct parquet *r)
{
    return r->meta.created_by;
}

void parquet_set_pool(struct parquet *r, struct pool *pool)
{
    r->pool = pool;
    for (size_t i = 0; pool && i < r->schema.n; i++)
        if (!r->tasks[i].codec)
            r->tasks[i].codec = codec_create();
}

/* Which column each leaf fills. */
static void bind_leaves(struct parquet *r, const struct pq_node *node, struct column *c)
{
    if (!node->type->n_kids)
        r->leaves[node->leaf].out = c;
    for (size_t i = 0; i < node->type->n_kids; i++)
        bind_leaves(r, &node->kids[i], &c->kids[i]);
}

static void read_column(struct parquet *r, size_t i)
{
    struct task *t = &r->tasks[i];
    struct codec *codec = r->pool ? t->codec : r->codec;
    struct column *c = &r->batch->cols[i];
    enum rc rc = RC_OK;
    t->err.code = E_NONE;
    t->err.msg[0] = '\0';
    bind_leaves(r, t->node, c);
    for (size_t k = 0; !rc && k < t->n_leaves; k++)
        rc = pq_leaf_read(&r->leaves[t->first_leaf + k], codec, r->row, r->want, &t->err);
    if (!rc && type_is_nested(c->type->id))
        rc = pq_assemble(t->node, r->leaves, c, r->want, &t->err);
    t->rc = rc;
}

static void read_columns(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    for (int64_t i = begin; i < end; i++)
        read_column(arg, (size_t)i);
}

static void list_chunks(struct parquet *r)
{
    r->chunks = mem_calloc(r->file.n_leaves, sizeof(*r->chunks));
    for (size_t i = 0; i < r->file.n_leaves; i++)
        if (r->leaves[i].leaf)
            r->chunks[r->n_chunks++] = r->leaves[i].leaf->chunk;
}

static size_t group_of(const struct parquet *r, int64_t row)
{
    size_t lo = 0, hi = r->meta.n_groups;
    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->meta.groups[mid].first_row <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Of a remote file: the beginnings of the columns when reading starts; the next row group
 * when most of this one is done, since somebody who reads a few rows should not pay for
 * thousands.
 */
static void announce(struct parquet *r)
{
    size_t g = group_of(r, r->row);
    int64_t done = r->row - r->meta.groups[g].first_row;
    if (!r->chunks)
        list_chunks(r);
    if (r->planned < 0 && done == 0)
        pq_ahead(&r->source, &r->meta.groups[g], r->chunks, r->n_chunks, false);
    if (r->planned < (int64_t)g)
        r->planned = (int64_t)g;
    if (r->planned == (int64_t)g && g + 1 < r->meta.n_groups &&
        done > r->meta.groups[g].n_rows / 2) {
        pq_ahead(&r->source, &r->meta.groups[g + 1], r->chunks, r->n_chunks, true);
        r->planned++;
    }
}

/* The rows [row, row + want) of all columns; *which is the column that failed. */
static enum rc read_batch(struct parquet *r, size_t max_bytes, size_t *which)
{
    for (size_t i = 0; i < r->file.n_leaves; i++)
        r->leaves[i].max_bytes = max_bytes;
    pool_for(r->pool, (int64_t)r->schema.n, 1, read_columns, r);
    for (*which = 0; *which < r->schema.n; ++*which)
        if (r->tasks[*which].rc)
            return r->tasks[*which].rc;
    return RC_OK;
}

/* Rows that are too large together are read again, fewer of them; the next batches begin
 * with as few and grow again.
 */
enum rc parquet_next(struct parquet *r, int64_t max, struct batch *b, struct err *err)
{
    int64_t left = r->meta.n_rows - r->row;
    size_t which;
    batch_clear(b);
    max = max < r->cap ? max : r->cap;
    r->want = max < left ? max : left;
    if (r->want <= 0)
        return RC_OK;
    r->batch = b;
    if (r->source.is_remote)
        announce(r);
    enum rc rc = read_batch(r, r->max_bytes, &which);
    while (rc && r->tasks[which].err.code == E1090 && r->want > 1) {
        batch_clear(b);
        r->cap = r->want /= 2;
        rc = read_batch(r, r->max_bytes, &which);
    }
    if (rc && r->tasks[which].err.code == E1090 && r->max_bytes < PARQUET_ROW_MAX) {
        batch_clear(b);
        rc = read_batch(r, PARQUET_ROW_MAX, &which);
    }
    if (rc) {
        if (err)
            *err = r->tasks[which].err;
        batch_clear(b);
        return err_wrap(err, rc, "'%s'", r->name);
    }
    if (r->want == r->cap && r->cap < INT32_MAX)
        r->cap = r->cap < INT32_MAX / 2 ? r->cap * 2 : INT32_MAX;
    b->n = r->want;
    r->row += r->want;
    return RC_OK;
}

enum rc parquet_seek(struct parquet *r, int64_t row, struct err *err)
{
    if (row < 0 || row > r->meta.n_rows)
        return err_coded(err, RC_INVAL, E1015, "'%s': row %jd is outside of its %jd rows",
                         r->name, (intmax_t)row, (intmax_t)r->meta.n_rows);
    if (r->row != row)
        r->planned = -1;
    r->row = row;
    return RC_OK;
}

int64_t parquet_tell(const struct parquet *r)
{
    return r->row;
}
