/* SPDX-License-Identifier: Apache-2.0 */
/* serve/workspace.h - where one request at a time is read and scored: all memory that this
 * takes, kept from request to request.
 */
#ifndef SERVE_WORKSPACE_H
#define SERVE_WORKSPACE_H

#include "base/map.h"
#include "data/jsonl/object.h"
#include "train/export/export.h"

/* Which part of a request is being read, for messages. */
enum serve_reading { READING_KEYS, READING_USER, READING_ITEMS };

struct serve_workspace {
    bool has_items; /* the request has that key */
    enum serve_reading reading;
    struct train_scorer *scorer;
    const struct data_schema *schema; /* borrowed: the export's */
    struct map by_name;
    struct jsonl_tokens json;
    struct batch user, items; /* as given; one row, and one per item */
    struct batch rows;        /* what is scored: columns borrowed from the two */
    struct batch
        mixed; /* columns that some items have and the others take from the user */
    uint8_t *user_given; /* [schema->n]: the user has that column */
    uint8_t *given;      /* [items.n][schema->n]: the item has it */
    size_t given_cap;
    char *wanted; /* [outputs]: not 0 when asked for; all when none is */
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
/* The first item of the request that does not have the column; -1: all have it. */
int64_t serve_workspace_lacks(const struct serve_workspace *d, size_t column);
/* RC_INVAL E2110, RC_NOMEM. */
enum rc serve_workspace_score(struct serve_workspace *d, struct err *err) MUST_CHECK;
/* {"probs": [0.1, ...], ...}; null where a number is not finite. */
void serve_workspace_print(const struct serve_workspace *d, struct buf *out);
/* What is wrong with the outputs that are printed, item by item: [{"item": 3, "code":
 * "E2113", "message": ...}, ...]; returns how many items, and prints nothing for none.
 */
int64_t serve_workspace_print_errors(const struct serve_workspace *d, struct buf *out);

#endif
