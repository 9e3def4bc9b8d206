/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/meta.h - what a Parquet file says about itself.
 *
 * The footer, page headers and offset indexes, parsed from Thrift into plain structs.
 * Everything is checked as far as one record alone allows; whoever uses offsets and
 * sizes checks them against the file.
 */
#ifndef DATA_PARQUET_META_H
#define DATA_PARQUET_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum pq_physical {
    PQ_BOOLEAN = 0,
    PQ_INT32 = 1,
    PQ_INT64 = 2,
    PQ_INT96 = 3,
    PQ_FLOAT = 4,
    PQ_DOUBLE = 5,
    PQ_BYTE_ARRAY = 6,
    PQ_FIXED = 7, /* FIXED_LEN_BYTE_ARRAY */
    PQ_PHYSICAL_COUNT
};

enum pq_repetition { PQ_REQUIRED = 0, PQ_OPTIONAL = 1, PQ_REPEATED = 2 };

enum pq_encoding {
    PQ_PLAIN = 0,
    PQ_PLAIN_DICTIONARY = 2,
    PQ_RLE = 3,
    PQ_BIT_PACKED = 4,
    PQ_DELTA_BINARY_PACKED = 5,
    PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    PQ_DELTA_BYTE_ARRAY = 7,
    PQ_RLE_DICTIONARY = 8,
    PQ_BYTE_STREAM_SPLIT = 9,
};

enum pq_page_type {
    PQ_DATA_PAGE = 0,
    PQ_INDEX_PAGE = 1,
    PQ_DICTIONARY_PAGE = 2,
    PQ_DATA_PAGE_V2 = 3,
};

/* The meaning of a schema element: converted and logical types folded into one. */
enum pq_meaning {
    PQ_NO_MEANING,
    PQ_STRING, /* also ENUM and JSON */
    PQ_MAP,
    PQ_LIST,
    PQ_DECIMAL,
    PQ_DATE,
    PQ_TIME_MS,
    PQ_TIME_US,
    PQ_TIME_NS,
    PQ_TIMESTAMP_MS,
    PQ_TIMESTAMP_US,
    PQ_TIMESTAMP_NS,
    PQ_SIGNED,
    PQ_UNSIGNED,
    PQ_UUID,
    PQ_FLOAT16,
    PQ_UNKNOWN, /* always null */
};

struct pq_element {
    const char *name;
    bool is_group;
    enum pq_physical physical; /* unless a group */
    enum pq_repetition repetition;
    enum pq_meaning meaning;
    int32_t type_length; /* PQ_FIXED */
    int32_t n_children;
    int32_t scale, precision;
    bool utc;
};

struct pq_chunk {
    int64_t n_values, compressed; /* bytes with all page headers */
    int64_t data_at, dict_at;     /* dict_at 0: none */
    int64_t index_at;             /* offset index; 0: none */
    int32_t index_size;
    int32_t codec;
    int32_t physical;
    bool has_meta, is_encrypted, is_elsewhere; /* in another file */
};

struct pq_row_group {
    int64_t n_rows, first_row;
    struct pq_chunk *chunks; /* [n_leaves] of the file */
};

struct pq_file_meta {
    int32_t version;
    const char *created_by;      /* "" when absent */
    struct pq_element *elements; /* [n_elements], depth first; owned */
    size_t n_elements, n_leaves;
    struct pq_row_group *groups; /* [n_groups]; owned */
    size_t n_groups;
    int64_t n_rows;
    struct arena mem; /* names, chunks */
};

/* `base` is the footer's place in the file, for messages. RC_FORMAT, RC_NOMEM. `m` is to
 * be released in any case.
 */
enum rc pq_file_meta_parse(struct pq_file_meta *m, const void *p, size_t n, uint64_t base,
                           struct err *err) MUST_CHECK;
void pq_file_meta_release(struct pq_file_meta *m);

struct pq_page {
    enum pq_page_type type;
    int32_t size, compressed; /* bytes behind the header */
    bool has_crc;
    uint32_t crc;
    int32_t n_values;
    int32_t encoding, def_encoding, rep_encoding;
    int32_t n_nulls, n_rows, def_bytes, rep_bytes; /* v2 */
    bool is_compressed;                            /* v2; else true */
};

/* *used is the size of the header. RC_FORMAT; *truncated says that more bytes might help.
 */
enum rc pq_page_parse(struct pq_page *h, const void *p, size_t n, uint64_t base,
                      size_t *used, bool *truncated, struct err *err) MUST_CHECK;

struct pq_location {
    int64_t at, first_row; /* of the page; first_row counts within the row group */
};

/* *out is the caller's, to mem_free(). */
enum rc pq_offset_index_parse(const void *p, size_t n, uint64_t base,
                              struct pq_location **out, size_t *n_out,
                              struct err *err) MUST_CHECK;

const char *pq_physical_name(int32_t physical);
const char *pq_encoding_name(int32_t encoding);

#endif
