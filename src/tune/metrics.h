/* SPDX-License-Identifier: Apache-2.0 */
/* tune/metrics.h - what NNI's Python package writes to $NNI_SYS_DIR/.nni/metrics:
 *
 *     ME000094{"parameter_id": 0, "trial_job_id": "AbCdE", "type": "FINAL", ...}\n
 *
 * two letters, six digits with the number of bytes that follow, and a JSON object whose
 * `value` is JSON inside a string.
 */
#ifndef TUNE_METRICS_H
#define TUNE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum tune_metric_type { METRIC_PERIODICAL, METRIC_FINAL, METRIC_OTHER };

struct tune_metric {
    enum tune_metric_type type;
    int64_t sequence;
    bool number;  /* `value` is one: a number, or an object with a numeric "default" */
    double value; /* NAN and infinities are numbers too */
    const char *json; /* the value as it was reported; valid during the call */
};

/* Gives every whole record in `data` to `found`; *used says how many bytes they took, so
 * that a caller keeps the tail and comes back with more behind it. RC_FORMAT (E4003): not
 * a record; the message says where.
 */
typedef void tune_metric_fn(void *arg, const struct tune_metric *m);
enum rc tune_metrics_read(const char *data, size_t n, tune_metric_fn *found, void *arg,
                          size_t *used, struct err *err) MUST_CHECK;

/* A value in the form that Python's json writes it, NaN and Infinity included. */
bool tune_metrics_value(const char *json, double *out);

#endif
