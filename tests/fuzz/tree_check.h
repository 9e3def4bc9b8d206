/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every parser of text/: used by their fuzz targets. */
#ifndef TREE_CHECK_H
#define TREE_CHECK_H

#include <stdlib.h>

#include "text/diag.h"
#include "text/node.h"

typedef enum rc tree_parse_fn(struct doc *d, struct diags *diags);
typedef void tree_print_fn(const struct node *root, struct buf *out);

static inline void span_check(const struct source *src, struct span at)
{
    if (at.src && (at.src != src || at.off > src->n || at.len > src->n - at.off))
        abort();
}

static inline void node_check(const struct source *src, const struct node *n)
{
    span_check(src, n->at);
    if (n->kind == NODE_LIST)
        for (size_t i = 0; i < n->list.n; i++)
            node_check(src, n->list.at[i]);
    if (n->kind == NODE_MAP)
        for (size_t i = 0; i < n->map.n; i++) {
            span_check(src, n->map.at[i].key_at);
            node_check(src, n->map.at[i].value);
        }
}

/* Parses, and checks the tree and the messages. Aborts on a broken promise. */
static inline enum rc tree_parse(struct doc *d, struct diags *diags, tree_parse_fn *parse)
{
    struct buf shown;
    enum rc rc = parse(d, diags);
    if ((rc == RC_OK) != (diags->n_errors == 0) || (rc == RC_OK && !d->root))
        abort();
    if (d->root)
        node_check(d->src, d->root);
    for (size_t i = 0; i < diags->list.n; i++)
        span_check(d->src, diags->list.at[i].at);
    buf_init(&shown, (size_t)1 << 22);
    diags_sort(diags);
    diags_print(diags, &shown, false);
    diags_json(diags, &shown);
    buf_release(&shown);
    return rc;
}

static inline void tree_check(const uint8_t *data, size_t n, tree_parse_fn *parse,
                              tree_print_fn *print)
{
    struct doc d = {0}, again = {0};
    struct diags diags = {0}, none = {0};
    struct buf out;
    buf_init(&out, (size_t)1 << 26);
    if (source_from("input", (const char *)data, n, &d.src, NULL) == RC_OK &&
        tree_parse(&d, &diags, parse) == RC_OK && print) {
        print(d.root, &out);
        if (out.failed || source_from("printed", out.p, out.n, &again.src, NULL) ||
            tree_parse(&again, &none, parse) || !node_equal(d.root, again.root))
            abort();
    }
    buf_release(&out);
    diags_release(&diags);
    diags_release(&none);
    doc_release(&d);
    doc_release(&again);
}

#endif
