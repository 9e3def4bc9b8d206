/* SPDX-License-Identifier: Apache-2.0 */
/* The form is that of faiss' index_write.cpp, little-endian: four letters for the kind, a
 * header (width, vectors, two words without meaning, trained, metric), then what the kind
 * needs. A vector of values is its length in 64 bits and the values. An inverted file holds
 * a flat index of its centres and the lists; a graph its arrays and a flat index of the
 * vectors.
 */
#include "recall/faiss.h"

#include "base/mem.h"
#include "io/out.h"
#include "recall/index_private.h"

#define NOTHING ((int64_t)1 << 20) /* what faiss writes in fields without meaning */
#define EF_SEARCH 16

/* The first failure stays. */
struct faiss_out {
    struct io_out *o;
    enum rc rc;
    struct err *err;
};

static void put(struct faiss_out *f, const void *p, size_t n)
{
    if (!f->rc && n)
        f->rc = io_append(f->o, p, n, f->err);
}

static void put_i32(struct faiss_out *f, int32_t v)
{
    put(f, &v, sizeof(v));
}

static void put_i64(struct faiss_out *f, int64_t v)
{
    put(f, &v, sizeof(v));
}

static void put_vector(struct faiss_out *f, const void *p, int64_t n, size_t size)
{
    put_i64(f, n);
    put(f, p, (size_t)n * size);
}

static void put_header(struct faiss_out *f, const char *kind, int64_t d, int64_t n,
                       enum recall_metric metric)
{
    unsigned char trained = 1;
    put(f, kind, 4);
    put_i32(f, (int32_t)d);
    put_i64(f, n);
    put_i64(f, NOTHING);
    put_i64(f, NOTHING);
    put(f, &trained, 1);
    put_i32(f, metric == INDEX_DOT ? 0 : 1);
}

static void put_flat(struct faiss_out *f, const float *x, int64_t n, int64_t d,
                     enum recall_metric metric)
{
    put_header(f, metric == INDEX_DOT ? "IxFI" : "IxF2", d, n, metric);
    put_vector(f, x, n * d, sizeof(float));
}

/* Lengths of all lists, or where most are empty pairs of number and length. */
static void put_lengths(struct faiss_out *f, const struct recall_index *x)
{
    int64_t filled = 0;
    for (int64_t l = 0; l < x->lists; l++)
        filled += x->list_at[l + 1] > x->list_at[l];
    bool full = filled > x->lists / 2;
    put(f, full ? "full" : "sprs", 4);
    put_i64(f, full ? x->lists : 2 * filled);
    for (int64_t l = 0; l < x->lists; l++) {
        int64_t n = x->list_at[l + 1] - x->list_at[l];
        if (!full && !n)
            continue;
        if (!full)
            put_i64(f, l);
        put_i64(f, n);
    }
}

static void put_lists(struct faiss_out *f, const struct recall_index *x)
{
    unsigned char no_map = 0;
    put_header(f, "IwFl", x->d, x->n, x->metric);
    put_i64(f, x->lists);
    put_i64(f, 1); /* nprobe */
    put_flat(f, x->centres, x->lists, x->d, x->metric);
    put(f, &no_map, 1);
    put_i64(f, 0);
    put(f, "ilar", 4);
    put_i64(f, x->lists);
    put_i64(f, x->d * (int64_t)sizeof(float));
    put_lengths(f, x);
    for (int64_t l = 0; l < x->lists; l++) {
        int64_t at = x->list_at[l], n = x->list_at[l + 1] - at;
        put(f, x->own + at * x->d, (size_t)(n * x->d) * sizeof(float));
        put(f, x->rows + at, (size_t)n * sizeof(*x->rows));
    }
}

static void put_graph(struct faiss_out *f, const struct recall_index *x)
{
    const struct recall_hnsw *h = x->graph;
    put_header(f, "IHNf", x->d, x->n, x->metric);
    put_vector(f, h->chances, h->n_levels, sizeof(*h->chances));
    put_vector(f, h->per_level, h->n_levels + 1, sizeof(*h->per_level));
    put_vector(f, h->levels, h->n, sizeof(*h->levels));
    put_vector(f, h->offsets, h->n + 1, sizeof(*h->offsets));
    put_vector(f, h->neighbours, (int64_t)h->offsets[h->n], sizeof(*h->neighbours));
    put_i32(f, h->entry);
    put_i32(f, h->top);
    put_i32(f, (int32_t)h->conf.ef);
    put_i32(f, EF_SEARCH);
    put_i32(f, 1); /* upper_beam, no longer used */
    put_flat(f, x->x, x->n, x->d, x->metric);
}

enum rc recall_faiss_write(const struct recall_index *x, const char *path,
                           struct err *err)
{
    struct faiss_out f = {.err = err};
    f.rc = io_create(path, &f.o, err);
    if (f.rc)
        return f.rc;
    if (x->graph)
        put_graph(&f, x);
    else if (x->lists)
        put_lists(&f, x);
    else
        put_flat(&f, x->x, x->n, x->d, x->metric);
    if (!f.rc)
        return io_commit(f.o, err);
    io_abandon(f.o);
    return f.rc;
}
