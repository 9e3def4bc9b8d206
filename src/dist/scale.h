/* SPDX-License-Identifier: Apache-2.0 */
/* dist/scale.h - what a step takes on many ranks, from what it takes on one and from what
 * the network between hosts can do.
 *
 *     dist_scale_predict(&step, &network, ranks, hosts, &out)
 *
 * Every rank has one shard, rows of tables lie on all ranks. The calls of a step are those
 * of dist/exchange.h and dist/sum.h. Vectors are waited for; rows and ids of the next batch
 * and buckets of dense gradients travel while the step computes, as far as the link has time
 * for them; gradients of vectors follow. What a rank copies or sends itself is not hidden. A
 * host's link is shared by its ranks; ranks of one host copy in memory.
 */
#ifndef DIST_SCALE_H
#define DIST_SCALE_H

#include <stdint.h>

/* One step of one rank. */
struct dist_scale_step {
    double seconds;     /* that it computes */
    double rows;        /* of its batch */
    double ids, floats; /* distinct ids, and floats of their vectors */
    double dense;       /* floats of dense gradients */
};

struct dist_scale_network {
    double bytes,
        latency;    /* between hosts: bytes per second of a host, seconds one way */
    double copy;    /* within one: bytes per second of a rank */
    double message; /* seconds of a rank for each message */
};

enum dist_scale_part {
    SCALE_COMPUTE,
    SCALE_LATENCY,
    SCALE_TABLES,
    SCALE_DENSE,
    SCALE_PARTS
};
const char *dist_scale_part_name(enum dist_scale_part part); /* "tables" */

struct dist_scale {
    double seconds[SCALE_PARTS]; /* of a step */
    double total;
    double rows;                  /* per second, of all ranks */
    double efficiency;            /* against as many ranks that need no others */
    enum dist_scale_part slowest; /* what takes most beside computing */
};

/* hosts divide ranks. */
void dist_scale_predict(const struct dist_scale_step *step,
                        const struct dist_scale_network *network, int ranks, int hosts,
                        struct dist_scale *out);

#endif
