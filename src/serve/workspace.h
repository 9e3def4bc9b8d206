/* SPDX-License-Identifier: Apache-2.0 */
/* serve/workspace.h - where one request at a time is read and scored: all memory that this
 * takes, kept from request to request.
 */
#ifndef SERVE_WORKSPACE_H
#define SERVE_WORKSPACE_H

#include "base/map.h"
#include "data/jsonl/object.h"
#include "train/export/export.h"

struct serve_workspace {
    bool has_items; /* the request has that key */
    struct train_scorer *scorer;
    const struct data_schema *schema; /* borrowed: the export's */
    struct map by_name;
    struct jsonl_tokens json;
    struct batch user, items; /* as given; one row, and one per item */
    struct batch rows;        /* what is scored: columns borrowed from the two */
    bool *present;            /* [schema->n]: the request has that column */
    char *wanted;             /* [outputs]: not 0 when asked for; all when none is */
    struct train_score_output *outputs;
    size_t n_outputs;
    struct serve_workspace *next; /* of those that are free */
};

/* RC_NOMEM and what train_session_share() says. */
enum rc serve_workspace_create(const struct train_export *x, struct serve_workspace **out,
                               struct err *err) MUST_CHECK;
void serve_workspace_destroy(struct serve_workspace *d); /* NULL is fine */

/* Reads a request: `body` has n bytes and room for one more, and is changed. RC_INVAL
 * E2101, E2103, E2104.
 */
enum rc serve_workspace_read(struct serve_workspace *d, char *body, size_t n,
                             int64_t max_items, struct err *err) MUST_CHECK;
/* RC_INVAL E2110, RC_NOMEM. */
enum rc serve_workspace_score(struct serve_workspace *d, struct err *err) MUST_CHECK;
/* {"probs": [0.1, ...], ...} */
void serve_workspace_print(const struct serve_workspace *d, struct buf *out);

#endif
