/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/metrics.h"

static const double limits[METRIC_BUCKETS] = {0.00025, 0.0005, 0.001, 0.002, 0.003,
                                              0.005,   0.0075, 0.01,  0.02,  0.05,
                                              0.1,     0.25,   1,     5};

void serve_metrics_time(struct serve_metrics *m, int64_t ns)
{
    int i = 0;
    while (i < METRIC_BUCKETS && (double)ns > limits[i] * 1e9)
        i++;
    m->buckets[i]++;
    m->sum_ns += ns;
    m->count++;
}

static void metrics_put(struct buf *b, const char *name, const char *type,
                        const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_times(struct serve_metrics *m, struct buf *b)
{
    int64_t sum = 0;
    metrics_put(b, "trainyard_request_seconds", "histogram", "Time from body to answer.");
    for (int i = 0; i < METRIC_BUCKETS; i++) {
        sum += m->buckets[i];
        buf_printf(b, "trainyard_request_seconds_bucket{le=\"%g\"} %jd\n", limits[i],
                   (intmax_t)sum);
    }
    sum += m->buckets[METRIC_BUCKETS];
    buf_printf(b, "trainyard_request_seconds_bucket{le=\"+Inf\"} %jd\n", (intmax_t)sum);
    buf_printf(b, "trainyard_request_seconds_sum %.9f\n", (double)m->sum_ns / 1e9);
    buf_printf(b, "trainyard_request_seconds_count %jd\n", (intmax_t)m->count);
}

void serve_metrics_print(struct serve_metrics *m, struct buf *out)
{
    metrics_put(out, "trainyard_requests_total", "counter",
                "Requests to /score by result.");
    buf_printf(out, "trainyard_requests_total{result=\"ok\"} %jd\n", (intmax_t)m->ok);
    buf_printf(out, "trainyard_requests_total{result=\"refused\"} %jd\n",
               (intmax_t)m->refused);
    buf_printf(out, "trainyard_requests_total{result=\"failed\"} %jd\n",
               (intmax_t)m->failed);
    buf_printf(out, "trainyard_requests_total{result=\"busy\"} %jd\n", (intmax_t)m->busy);
    metrics_put(out, "trainyard_items_total", "counter", "Candidates scored.");
    buf_printf(out, "trainyard_items_total %jd\n", (intmax_t)m->items);
    metrics_put(out, "trainyard_items_not_finite_total", "counter",
                "Candidates whose score is not a finite number.");
    buf_printf(out, "trainyard_items_not_finite_total %jd\n", (intmax_t)m->not_finite);
    metrics_put(out, "trainyard_requests_in_flight", "gauge", "Requests under way.");
    buf_printf(out, "trainyard_requests_in_flight %jd\n", (intmax_t)m->in_flight);
    metrics_put(out, "trainyard_model_swaps_total", "counter",
                "Versions taken or refused.");
    buf_printf(out, "trainyard_model_swaps_total{result=\"ok\"} %jd\n",
               (intmax_t)m->swaps);
    buf_printf(out, "trainyard_model_swaps_total{result=\"failed\"} %jd\n",
               (intmax_t)m->failed_swaps);
    put_times(m, out);
}
