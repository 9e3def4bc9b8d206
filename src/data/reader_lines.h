/* SPDX-License-Identifier: Apache-2.0 */
/* data/reader_lines.h - what the readers of text formats share: their places in a file,
 * and the index of a file that is not compressed.
 */
#ifndef DATA_READER_LINES_H
#define DATA_READER_LINES_H

#include "data/csv/csv.h"
#include "data/reader.h"

struct reader_cursor lines_cursor(const struct csv_cursor *c);
struct csv_cursor lines_place(const struct reader_cursor *at);

/* Cuts the file into n parts: cuts[n + 1]. */
typedef enum rc lines_split_fn(const char *path, const struct reader_conf *conf, size_t n,
                               struct csv_cursor *cuts, struct err *err);
/* A place per MiB or so. RC_UNSUPPORTED: compressed. */
enum rc lines_index(const char *path, const struct reader_conf *conf,
                    lines_split_fn *split, struct reader_index *out,
                    struct err *err) MUST_CHECK;

#endif
