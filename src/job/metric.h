/* SPDX-License-Identifier: Apache-2.0 */
/* job/metric.h - values in the lines that a job writes.
 *
 * Two ways: patterns of the specification (PCRE2, one group, which is the value; bounded
 * in time whatever the pattern), and a line protocol that needs no pattern:
 *
 *     ::trainyard progress=45 eta=120 step=900 auc=0.71
 *
 * progress (percent), eta (seconds) and step are known; every other name is a metric.
 */
#ifndef JOB_METRIC_H
#define JOB_METRIC_H

#include "base/err.h"
#include "base/str.h"
#include "job/spec.h"

#define METRIC_LINE_MAX 8192 /* bytes of a line that are looked at */

struct job_metric_set;

/* RC_INVAL (E3010) names the metric and the place in its pattern. */
enum rc job_metric_open(const struct job_spec *s, struct job_metric_set **out,
                        struct err *err) MUST_CHECK;
void job_metric_close(struct job_metric_set *m); /* NULL is fine */

struct job_metric_sink {
    void *arg;
    void (*value)(void *arg, const char *name, double v, int64_t step);
    /* Each is negative when the line did not say. */
    void (*progress)(void *arg, double percent, int64_t eta_s, int64_t step);
};
/* Looks at one line without its end. */
void job_metric_line(struct job_metric_set *m, struct str line,
                     const struct job_metric_sink *sink);

#endif
