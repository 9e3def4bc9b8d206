/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/next.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_NEXT_H
#define NN_OP_NEXT_H

#include "nn/op.h"

enum { NEXT_IN_STATE, NEXT_IN_NEXT, NEXT_IN_OTHER, NEXT_N_IN };

enum { TELL_X, TELL_HAPPENED, TELL_OTHERS, TELL_WEIGHT };

#endif
