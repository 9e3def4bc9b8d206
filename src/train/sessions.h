/* SPDX-License-Identifier: Apache-2.0 */
/* train/sessions.h - numbers the sessions of a batch, for losses that compare rows of one
 * session.
 */
#ifndef TRAIN_SESSIONS_H
#define TRAIN_SESSIONS_H

#include "base/err.h"
#include "feature/feature.h"
#include "tensor/tensor.h"

/* A zeroed one is empty; it grows with the batches and then stays. */
struct train_sessions {
    int64_t *ids;     /* [size]: open addressing by the hash of the id */
    int64_t *numbers; /* [size]: -1 where there is none */
    int64_t size;     /* a power of two */
};
void train_sessions_release(struct train_sessions *s);

/* out[row] = the number of the session that the row's first id names: 0, 1, ... by first
 * appearance. A row without an id is a session of its own. With offsets [rows + 1] row r
 * stands for rows offsets[r] to offsets[r + 1] of `out`, its candidates. RC_NOMEM.
 */
enum rc train_sessions_number(struct train_sessions *s, const struct feature_out *ids,
                              int64_t rows, const int64_t *offsets, struct view out,
                              struct err *err) MUST_CHECK;

#endif
