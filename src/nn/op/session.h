/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/session.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_SESSION_H
#define NN_OP_SESSION_H

#include "nn/op.h"

enum { IN_X, IN_NODE };

/* What is kept of a position: the first position of the same node; whether the step from
 * here to the next joins two nodes that no step before did; and, at the first position
 * of a node, how many nodes lead to it and to how many it leads.
 */
enum { KEEP_FIRST, KEEP_NEW, KEEP_COME, KEEP_GO, KEEP_ALL };

#endif
