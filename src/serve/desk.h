/* SPDX-License-Identifier: Apache-2.0 */
/* serve/desk.h - where one request at a time is read and scored: all memory that this
 * takes, kept from request to request.
 */
#ifndef SERVE_DESK_H
#define SERVE_DESK_H

#include "base/map.h"
#include "data/jsonl/object.h"
#include "train/export/export.h"

struct desk {
    struct scorer *scorer;
    const struct schema *schema; /* borrowed: the export's */
    struct map by_name;
    struct json json;
    struct batch user, items; /* as given; one row, and one per item */
    struct batch rows;        /* what is scored: columns borrowed from the two */
    bool *present;            /* [schema->n]: the request has that column */
    char *wanted;             /* [outputs]: not 0 when asked for; all when none is */
    struct score_output *outputs;
    size_t n_outputs;
    struct desk *next; /* of those that are free */
};

/* RC_NOMEM and what session_share() says. */
enum rc desk_create(const struct export *x, struct desk **out,
                    struct err *err) MUST_CHECK;
void desk_destroy(struct desk *d); /* NULL is fine */

/* Reads a request: `body` has n bytes and room for one more, and is changed. RC_INVAL
 * E2101, E2103, E2104.
 */
enum rc desk_read(struct desk *d, char *body, size_t n, int64_t max_items,
                  struct err *err) MUST_CHECK;
/* RC_INVAL E2110, RC_NOMEM. */
enum rc desk_score(struct desk *d, struct err *err) MUST_CHECK;
/* {"probs": [0.1, ...], ...} */
void desk_print(const struct desk *d, struct buf *out);

#endif
