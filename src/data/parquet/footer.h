/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/footer.h - what the writer remembers of row groups until the file ends. */
#ifndef DATA_PARQUET_FOOTER_H
#define DATA_PARQUET_FOOTER_H

#include "data/parquet/leaf_writer.h"

struct pq_written_chunk {
    int64_t start, data, end; /* bytes; start == data without a dictionary */
    int64_t n_values, raw;
    bool dict_used, plain_used;
    struct pq_stats stats;
    struct buf offset_index, column_index; /* encoded; the latter may be empty */
    int64_t offset_index_at, column_index_at;
};

struct pq_written_group {
    int64_t n_rows;
    struct pq_written_chunk *chunks; /* owned; [n] */
    size_t n;
};

struct pq_footer {
    VEC(struct pq_written_group) groups;
    int64_t n_rows;
};

void pq_footer_release(struct pq_footer *f);
enum rc pq_footer_group(struct pq_footer *f, int64_t n_rows, size_t n_leaves,
                        struct err *err) MUST_CHECK;
/* Column i of the newest group; its pages lie in [data, end). */
enum rc pq_footer_chunk(struct pq_footer *f, const struct pq_leaf_writer *l, size_t i,
                        int64_t start, int64_t data, int64_t end,
                        struct err *err) MUST_CHECK;
/* All indexes, to be written at byte `at`. */
enum rc pq_footer_indexes(struct pq_footer *f, int64_t at, struct buf *out,
                          struct err *err) MUST_CHECK;
/* The file's metadata. */
enum rc pq_footer_write(const struct pq_footer *f, const struct data_schema *schema,
                        const struct parquet_writer_options *o,
                        const struct pq_leaf_writer *leaves, struct buf *out,
                        struct err *err) MUST_CHECK;

#endif
