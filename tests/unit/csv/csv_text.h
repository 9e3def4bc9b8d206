/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the CSV reader share: text in, JSON lines out. */
#ifndef CSV_TEXT_H
#define CSV_TEXT_H

#include "base/mem.h"
#include "data/csv/csv.h"

/* Every row as one JSON object and a newline; `max` rows per batch. On failure `out` ends
 * with the rows of whole batches.
 */
static inline enum rc rows_as_json(struct csv_reader *r, int64_t max, struct buf *out,
                                   struct err *err)
{
    struct batch b;
    enum rc rc;
    batch_init(&b, csv_schema(r));
    do {
        rc = csv_next(r, max, &b, err);
        for (int64_t i = 0; i < b.n; i++) {
            batch_print_json(&b, i, out);
            buf_putc(out, '\n');
        }
    } while (rc == RC_OK && b.n);
    batch_release(&b);
    return rc;
}

static inline enum rc csv_as_json(const void *text, size_t n, const struct csv_conf *conf,
                                  int64_t max, struct buf *out, struct err *err)
{
    struct csv_reader *r = NULL;
    enum rc rc = csv_open_memory("t.csv", text, n, conf, &r, err);
    if (rc == RC_OK)
        rc = rows_as_json(r, max, out, err);
    csv_close(r);
    return rc;
}

#endif
