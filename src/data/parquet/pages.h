/* SPDX-License-Identifier: Apache-2.0 */
/* data/parquet/pages.h - the pages of one column chunk, one after the other.
 *
 * Bytes are read into a window that moves along the chunk, so that memory is bounded by
 * the largest page and a file that shrinks meanwhile is an error rather than a signal.
 * One struct belongs to one column; different ones may be used by different threads at
 * once.
 */
#ifndef DATA_PARQUET_PAGES_H
#define DATA_PARQUET_PAGES_H

#include "data/column.h"
#include "data/parquet/meta.h"
#include "data/parquet/rle.h"
#include "data/parquet/schema.h"
#include "io/codec.h"
#include "io/file.h"

/* The file: local, an object of a store, or bytes in memory (tests). */
struct pq_source {
    struct io_file *file; /* owned by the reader */
    const uint8_t *bytes; /* borrowed; NULL: file */
    bool is_remote;       /* reads are dear: larger ones, announced ahead */
    uint64_t size;        /* bytes */
    uint64_t data_end;    /* where the footer begins; pages lie before */
};

/* Exactly n bytes. RC_IO, RC_FORMAT (E1002). */
enum rc pq_source_read(const struct pq_source *s, uint64_t at, size_t n, void *out,
                       struct err *err) MUST_CHECK;

/* Of a remote file, windows begin small and double: the first rows of a file should not
 * cost much.
 */
#define PQ_WINDOW_FIRST ((size_t)256 << 10)

struct pq_pages {
    const struct pq_source *source; /* borrowed */
    const struct pq_kernels *kernels;
    const struct pq_leaf *leaf;
    bool check_crc;
    enum codec_id codec;
    uint64_t at, end;         /* next page, end of the chunk */
    uint64_t page_at;         /* of the header that was read last */
    int64_t n_pages;          /* headers read so far in this chunk */
    uint64_t data_at;         /* of its data */
    struct column_mem window; /* owned: bytes [window_at, window_at + window_n) */
    uint64_t window_at;
    size_t window_n;
    unsigned windows;       /* read so far in this chunk, of a remote file */
    struct column_mem body; /* owned: decompressed page */
};

struct pq_body {
    struct levels rep, def;
    const uint8_t *values;
    size_t n;
};

enum rc pq_pages_begin(struct pq_pages *p, const struct pq_chunk *chunk,
                       struct err *err) MUST_CHECK;
void pq_pages_release(struct pq_pages *p);
/* Moves on to the page that begins at `at`, the one behind the first `n_before`. */
enum rc pq_pages_goto(struct pq_pages *p, uint64_t at, int64_t n_before,
                      struct err *err) MUST_CHECK;
/* The header that was read last will be the next one again. */
void pq_pages_unread(struct pq_pages *p);
/* The header of the next page; *more is false at the end of the chunk. Data that is not
 * asked for is never read.
 */
enum rc pq_pages_next(struct pq_pages *p, struct pq_page *h, bool *more,
                      struct err *err) MUST_CHECK;
/* The data behind that header, valid until the next call. */
enum rc pq_pages_load(struct pq_pages *p, const struct pq_page *h, struct codec *codec,
                      struct pq_body *out, struct err *err) MUST_CHECK;

#endif
