/* SPDX-License-Identifier: Apache-2.0 */
/* nn/op/next.h - what the definition of these ops and their implementations share. */
#ifndef NN_OP_NEXT_H
#define NN_OP_NEXT_H

#include "nn/op.h"

enum { IN_STATE, IN_NEXT, IN_OTHER, N_IN };

enum { TELL_X, TELL_HAPPENED, TELL_OTHERS, TELL_WEIGHT };

#endif
