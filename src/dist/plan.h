/* SPDX-License-Identifier: Apache-2.0 */
/* dist/plan.h - where the tables of a model go on several ranks, and what a step is
 * expected to take there.
 *
 *     dist_plan_make(&topology, tables, n, &plan, err)
 *     plan.at[i]        how table i is cut, and which rank has which part
 *     dist_plan_release(&plan)
 *
 * The costs, the options and the search are those of TorchRec's planner as TorchEasyRec
 * uses it, so that a plan can be compared with one made there. Times are in milliseconds,
 * bandwidths in bytes per millisecond. Nothing is measured.
 */
#ifndef DIST_PLAN_H
#define DIST_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum dist_kind {
    DIST_DATA_PARALLEL,
    DIST_TABLE_WISE,
    DIST_COLUMN_WISE,
    DIST_TABLE_COLUMN_WISE,
    DIST_ROW_WISE,
    DIST_TABLE_ROW_WISE,
    DIST_GRID,
    DIST_KINDS
};
enum dist_kernel { DIST_DENSE, DIST_FUSED, DIST_UVM, DIST_UVM_CACHING, DIST_KERNELS };

const char *dist_kind_name(enum dist_kind kind);       /* "row_wise" */
const char *dist_kernel_name(enum dist_kernel kernel); /* "fused" */
/* By that name; DIST_KINDS, DIST_KERNELS when there is none. */
enum dist_kind dist_kind_find(const char *name);
enum dist_kernel dist_kernel_find(const char *name);

struct dist_topology {
    int world, local; /* ranks; of one host */
    double batch;     /* rows of a batch of one rank */
    double intra, cross;
    double device_bytes;        /* for tables, of one rank: memory of its card; 0: none */
    double host_bytes;          /* and of the machine */
    int device_bins, host_bins; /* of the search, for one rank */
};
/* With the bandwidths and bins that are usual there. */
struct dist_topology dist_topology_of(int world, int local, double batch);

struct dist_plan_table {
    const char *name; /* borrowed */
    int64_t rows, dim;
    double element; /* bytes */
    double inputs;  /* features that use it */
    double pooling; /* ids of one of them in a row */
    double state;   /* bytes of optimizer state for one of weights */
    bool sequence, weighted, keyed;
    unsigned kinds, kernels; /* bit k: dist_kind, dist_kernel k is allowed; 0: any */
};

/* What a part costs its rank. */
struct dist_plan_cost {
    double forward, forward_comm, backward, backward_comm;
};
double dist_plan_cost_sum(const struct dist_plan_cost *c);

struct dist_plan_shard {
    int rank;
    int64_t rows, cols;
    double device_bytes, host_bytes;
    struct dist_plan_cost cost;
};

/* One way to place one table. */
struct dist_plan_option {
    enum dist_kind kind;
    enum dist_kernel kernel;
    int n;
    struct dist_plan_shard *shards; /* owned */
};
/* A plan's costs before ranks are chosen. The caller releases it. */
void dist_plan_option_make(const struct dist_topology *t, const struct dist_plan_table *x,
                           enum dist_kind kind, enum dist_kernel kernel,
                           struct dist_plan_option *out);
void dist_plan_option_release(struct dist_plan_option *o);

struct dist_plan {
    int n, world;
    struct dist_plan_option *at;  /* [n] */
    struct dist_plan_cost *costs; /* [world] */
    double *bytes;                /* [world] */
    int slowest;                  /* rank */
    double ms;                    /* of it */
};

/* RC_NOMEM E1408 when no placement fits, with the table that takes most and the shortage.
 * On success *out is the caller's, to release.
 */
enum rc dist_plan_make(const struct dist_topology *t,
                       const struct dist_plan_table *tables, int n, struct dist_plan *out,
                       struct err *err) MUST_CHECK;
void dist_plan_release(struct dist_plan *p);
/* The least number of ranks, up to DIST_SHARDS_MAX, that holds the tables; 0: none. */
int dist_plan_least_ranks(const struct dist_topology *t,
                          const struct dist_plan_table *tables, int n);

#endif
