/* SPDX-License-Identifier: Apache-2.0 */
/* compat/easyrec.h - a config of EasyRec (TensorFlow) as a pipeline.config. */
#ifndef COMPAT_EASYREC_H
#define COMPAT_EASYREC_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "text/node.h"

struct compat_easyrec {
    struct arena *arena;     /* of the result and the notes */
    const struct node *from; /* the config as text/prototext.h reads it */
    const struct node *fg;   /* fg.json; NULL: none */
    bool
        old_fg; /* features are those of the config, fg.json gives their expressions alone */
    struct node *to;         /* out: the tree of a pipeline.config */
    VEC(const char *) notes; /* out: what was left out or chosen, to be released */
};

/* Features, groups, towers, losses, metrics, the learning rate and paths are taken over;
 * whatever has no counterpart is a note. RC_INVAL E2209: it is no such config, or its model
 * is not one that can be converted.
 */
enum rc compat_easyrec_convert(struct compat_easyrec *x, struct err *err) MUST_CHECK;

#endif
