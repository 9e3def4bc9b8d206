/* SPDX-License-Identifier: Apache-2.0 */
/* embed/lookup_wrap.h - a lookup around another one: hands every call on, until the owner
 * puts functions of its own into w->ops.
 *
 *     lookup_wrap_init(w, named, inner)    everything goes to `inner`
 *     lookup_wrap_release(w)               at its end
 */
#ifndef EMBED_LOOKUP_WRAP_H
#define EMBED_LOOKUP_WRAP_H

#include "embed/lookup.h"

struct lookup_wrap {
    struct lookup lookup;  /* first: what callers see */
    struct lookup_ops ops; /* of this object */
    struct lookup *inner;  /* owned */
};

/* `named` gives name, summary and create; `destroy` is the owner's to set and calls
 * lookup_wrap_release().
 */
void lookup_wrap_init(struct lookup_wrap *w, const struct lookup_ops *named,
                      struct lookup *inner);
void lookup_wrap_release(struct lookup_wrap *w);
static inline struct lookup *lookup_inner(const struct lookup *l)
{
    return ((const struct lookup_wrap *)l)->inner;
}

#endif
