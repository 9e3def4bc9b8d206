/* SPDX-License-Identifier: Apache-2.0 */
/* comm/reduce.h - the one arithmetic of reductions, which every implementation uses: that
 * is what makes their results equal.
 */
#ifndef COMM_REDUCE_H
#define COMM_REDUCE_H

#include "comm/comm.h"

/* out[i] = in[0][from + i] op in[1][from + i] op ..., in that order, for i < n. `out` may
 * be in[k] + from for any k. Pointers are elements of `type`.
 */
void comm_reduce(enum comm_type type, enum comm_op op, const void *const *in, int world,
                 int64_t from, int64_t n, void *out);

#endif
