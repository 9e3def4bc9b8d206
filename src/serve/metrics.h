/* SPDX-License-Identifier: Apache-2.0 */
/* serve/metrics.h - counters of a server, in the text form that Prometheus reads. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/str.h"

#define METRIC_BUCKETS 14

/* Zeroed, all are 0. Any thread may count. */
struct serve_metrics {
    _Atomic int64_t ok, refused, failed, busy; /* requests to /score by how they ended */
    _Atomic int64_t items, not_finite; /* scored; of those, without a finite score */
    _Atomic int64_t in_flight;
    _Atomic int64_t buckets[METRIC_BUCKETS + 1]; /* of the time that a request took */
    _Atomic int64_t sum_ns, count;
    _Atomic int64_t swaps, failed_swaps;
};

void serve_metrics_time(struct serve_metrics *m, int64_t ns);
void serve_metrics_print(struct serve_metrics *m, struct buf *out);

#endif
