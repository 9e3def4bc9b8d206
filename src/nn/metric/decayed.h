/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/decayed.h - metrics shown while training: a moving average over windows. */
#ifndef NN_METRIC_DECAYED_H
#define NN_METRIC_DECAYED_H

#include "nn/metric/metric_private.h"

/* Takes `window` over, also on failure. RC_INVAL, RC_NOMEM. */
enum rc metric_decayed_create(struct metric *window, double rate, uint32_t step,
                              struct metric **out, struct err *err) MUST_CHECK;
const struct metric *metric_decayed_window(const struct metric *m); /* borrowed */

#endif
