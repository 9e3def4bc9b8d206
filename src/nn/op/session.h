/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/session.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_SESSION_H
#define NN_OP_SESSION_H

#include "nn/op.h"

enum { SESSION_X, SESSION_NODE };

/* What is kept of a position: the first position of the same node; whether the step from
 * here to the next joins two nodes that no step before did; and, at the first position
 * of a node, how many nodes lead to it and to how many it leads.
 */
enum {
    SESSION_KEEP_FIRST,
    SESSION_KEEP_NEW,
    SESSION_KEEP_COME,
    SESSION_KEEP_GO,
    SESSION_KEEP_ALL
};

#endif
