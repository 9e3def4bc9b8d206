/* SPDX-License-Identifier: Apache-2.0 */
/* A text, what a parser made of it, and its diagnostics as a user sees them. */
#ifndef PARSED_H
#define PARSED_H

#include "text/diag.h"
#include "text/node.h"

struct parsed {
    struct doc doc;
    struct diags diags;
    struct buf shown;
    enum rc rc;
};

typedef enum rc parse_fn(struct doc *d, struct diags *diags);

static inline void parsed_init(struct parsed *p, parse_fn *parse, const char *text,
                               size_t n)
{
    struct err err = {0};
    *p = (struct parsed){0};
    buf_init(&p->shown, (size_t)64 << 20);
    p->rc = source_from("t", text, n, &p->doc.src, &err);
    if (p->rc)
        return;
    p->rc = parse(&p->doc, &p->diags);
    diags_print(&p->diags, &p->shown, false);
}

static inline void parsed_release(struct parsed *p)
{
    diags_release(&p->diags);
    doc_release(&p->doc);
    buf_release(&p->shown);
}

/* The characters a node came from. */
static inline struct str parsed_at(const struct node *n)
{
    return str_of(n->at.src->text + n->at.off, n->at.len);
}

#endif
