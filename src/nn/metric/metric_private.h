/* SPDX-License-Identifier: Apache-2.0 */
/* nn/metric/metric_private.h - what the kinds of metrics share. */
#ifndef NN_METRIC_METRIC_PRIVATE_H
#define NN_METRIC_METRIC_PRIVATE_H

#include "nn/metric/metric.h"
#include "text/schema.h"

/* A failure fills `err`; one without a message gets E0010 with the metric's name, and an answer
 * that is no code of failure E0011.
 */
struct metric_ops {
    const char *name;
    size_t size; /* of the struct that begins with a struct metric */
    enum metric_wants wants;
    bool grouped;
    /* Optional. `conf` is the metric's own message, NULL for exact_auc. */
    enum rc (*init)(struct metric *m, const struct msg *conf, struct err *err);
    void (*release)(struct metric *m); /* optional; also half-built */
    void (*reset)(struct metric *m);
    /* Rows without NaN, of the right width. */
    enum rc (*update)(struct metric *m, const struct metric_rows *rows, struct err *err);
    /* `from` has the same ops. */
    enum rc (*merge)(struct metric *m, const struct metric *from, struct err *err);
    /* A number, or metric_none() where the rows have none (no rows, one class), with words that
     * say why. A value may be NaN or infinite: it is shown as "nan" or "inf", and as null in
     * JSON.
     */
    enum rc (*compute)(const struct metric *m, struct metric_value *out, struct err *err);
    void (*save)(const struct metric *m, const char *prefix, struct nn_state *out);
    enum rc (*load)(struct metric *m, const char *prefix, const struct nn_state *in,
                    struct err *err);
};
#define METRIC(name, message, file, needs, doc) \
    extern const struct metric_ops metric_##name;
#include "text/pipeline/metrics.def"
/* Those that no config names: exact AUC of `eval`, and the moving average of another. */
extern const struct metric_ops metric_decayed, metric_exact_auc;

struct metric {
    const struct metric_ops *ops;
    char name[32];
    const char *grouping_key; /* borrowed from the message */
    uint64_t seed;
    int64_t max_rows;
};

/* A metric of one kind; `conf` as in init. */
enum rc metric_make(const struct metric_ops *ops, const struct msg *conf,
                    const struct metric_options *options, struct metric **out,
                    struct err *err) MUST_CHECK;
const struct metric_ops *metric_ops_find(const char *name); /* NULL when unknown */

static inline struct metric_value metric_none(const char *why)
{
    return (struct metric_value){.why = why};
}
static inline struct metric_value metric_number(double value)
{
    return (struct metric_value){.defined = true, .value = value};
}

/* All labels must be 0 or 1; else RC_INVAL. */
enum rc metric_check_binary(const struct metric_rows *rows, struct err *err) MUST_CHECK;
/* All labels must be whole numbers from `low` up to width - 1. */
enum rc metric_check_classes(const struct metric_rows *rows, int low,
                             struct err *err) MUST_CHECK;

/* nn_state_copy() of "<prefix><key>". */
enum rc metric_copy(const struct nn_state *in, const char *prefix, const char *key,
                    enum nn_state_type type, void *to, int64_t n,
                    struct err *err) MUST_CHECK;
/* Counts must not be negative or NaN. */
enum rc metric_check_counts(const double *at, int64_t n, struct err *err) MUST_CHECK;

/* An array that grows with the rows. */
struct metric_kept {
    void *at;
    int64_t n, cap;
    size_t size; /* of an element */
};
/* Room for `more` elements; RC_NOMEM also beyond `max`. */
enum rc metric_kept_reserve(struct metric_kept *k, int64_t more, int64_t max,
                            struct err *err) MUST_CHECK;
/* Appends n elements for which there is room. */
void metric_kept_add(struct metric_kept *k, const void *at, int64_t n);
void metric_kept_release(struct metric_kept *k);
/* Replaces all by the item "<prefix><key>", which may have any length up to max. */
enum rc metric_kept_load(struct metric_kept *k, enum nn_state_type type,
                         const char *prefix, const char *key, const struct nn_state *in,
                         int64_t max, struct err *err) MUST_CHECK;

#endif
