/* SPDX-License-Identifier: Apache-2.0 */
/* data/sampler/edges.h - who is connected with which items. */
#ifndef DATA_SAMPLER_EDGES_H
#define DATA_SAMPLER_EDGES_H

#include "data/sampler/nodes.h"

struct edges_conf {
    const char *what; /* for messages: "positive edges" */
    const char *path;
    char delim;
    bool sorted; /* the items of a source by row, for edges_has(); else as in the file */
    struct buf *notes; /* as in nodes_conf */
};

struct edges {
    enum id_kind kind; /* of the sources */
    struct keymap sources;
    int64_t *at;     /* [sources.n + 1] */
    int64_t *items;  /* rows of the item table, each source's one after the other */
    int64_t unknown; /* edges to items that the item table does not have: left out */
};

/* RC_FORMAT E1901, E1902, RC_NOMEM; `e` is empty then. */
enum rc edges_read(struct edges *e, const struct edges_conf *conf,
                   const struct nodes *nodes, struct err *err) MUST_CHECK;
void edges_release(struct edges *e);

/* The items of a source; none when it is not there. Borrowed. */
const int64_t *edges_of(const struct edges *e, int64_t source, int64_t *n);
bool edges_has(const struct edges *e, int64_t source, int64_t item); /* sorted ones */

#endif
