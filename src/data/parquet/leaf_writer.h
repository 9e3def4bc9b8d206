/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/leaf_writer.h - one leaf column on its way into a row group. */
#ifndef DATA_PARQUET_LEAF_WRITER_H
#define DATA_PARQUET_LEAF_WRITER_H

#include "base/vec.h"
#include "data/column.h"
#include "data/parquet/meta.h"
#include "data/parquet/writer.h"

#define PQ_STAT_MAX 64 /* longest text kept as smallest or largest value */

/* Smallest and largest of some values, as they are stored (plain encoding). */
struct pq_stats {
    int64_t n_values, n_nulls;
    bool has;  /* min and max are known */
    bool lost; /* a value was too long to be kept, or only NaN was seen */
    uint8_t min[PQ_STAT_MAX], max[PQ_STAT_MAX];
    size_t min_n, max_n;
};

/* Distinct values in order of appearance; `slots` is a hash table over them. */
struct pq_dict_builder {
    struct column values;
    struct type type;
    uint32_t *slots; /* index plus one, or 0; owned */
    size_t n_slots;  /* power of two, or 0 */
    size_t bytes;    /* of the values in plain encoding */
};

struct pq_page_entry {
    int64_t at; /* within the pages of the chunk */
    int32_t size;
    int64_t first_row;
    struct pq_stats stats;
};

struct pq_leaf_writer {
    const struct parquet_writer_options *o; /* borrowed, without zeros */
    const struct type *type;
    const char *const *path; /* [n_path]; of the schema elements above and of it */
    size_t n_path;
    enum pq_physical physical;
    int max_def, max_rep;
    struct codec *codec;

    bool use_dict; /* still */
    struct pq_dict_builder dict;
    bool dict_used; /* a page of this chunk has codes */
    bool plain_used;

    /* The open page. */
    struct column_mem def, rep; /* uint32_t, [n_levels] */
    size_t n_levels;
    int64_t n_rows, n_page_values;
    struct column_mem values; /* plain encoding, or uint32_t codes */
    size_t values_n;          /* bytes */
    size_t plain_bytes;       /* that the codes stand for */
    struct pq_stats stats;

    /* The chunk. */
    struct column_mem pages; /* headers and compressed data */
    size_t pages_n;
    int64_t raw; /* bytes before compression, with headers */
    int64_t chunk_rows, chunk_values;
    struct pq_stats chunk_stats;
    VEC(struct pq_page_entry) entries;

    struct column_mem body, packed; /* scratch */
};

void pq_leaf_writer_release(struct pq_leaf_writer *w);

/* Begins a row: the first levels of each row are added behind this. Closes the page when
 * it is full.
 */
enum rc pq_leaf_writer_row(struct pq_leaf_writer *w, struct err *err) MUST_CHECK;
enum rc pq_leaf_writer_null(struct pq_leaf_writer *w, int rep, int def,
                            struct err *err) MUST_CHECK;
/* Row i of c, which is not null. */
enum rc pq_leaf_writer_value(struct pq_leaf_writer *w, const struct column *c, int64_t i,
                             int rep, struct err *err) MUST_CHECK;
/* Closes the last page and the dictionary; *dict are its page's bytes (empty without),
 * valid until the next call.
 */
enum rc pq_leaf_writer_close(struct pq_leaf_writer *w, struct buf *dict,
                             struct err *err) MUST_CHECK;
/* Ready for the next row group. */
void pq_leaf_writer_reset(struct pq_leaf_writer *w);

#endif
