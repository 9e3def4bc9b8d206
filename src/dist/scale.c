/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/scale.h"

#include "dist/sum.h"

#define ID 8.0
#define FLOAT 4.0
#define HEADERS 1.05      /* bytes on a link for one of a message: Ethernet, IP and TCP */
#define FORWARD (1.0 / 3) /* share of computing before the backward pass */

const char *dist_scale_part_name(enum dist_scale_part part)
{
    static const char *const names[SCALE_PARTS] = {[SCALE_COMPUTE] = "compute",
                                                   [SCALE_LATENCY] = "latency",
                                                   [SCALE_TABLES] = "tables",
                                                   [SCALE_DENSE] = "dense"};
    return names[part];
}

/* What a call takes: on the link, where a courier waits while the rank computes, and of the
 * rank itself, which copies what stays on its host and makes messages.
 */
struct cost {
    double link, own;
};

static struct cost add(struct cost a, struct cost b)
{
    return (struct cost){a.link + b.link, a.own + b.own};
}

/* Bytes that a rank sends to all others alike: out of its host, along with those of its
 * neighbours, and within it.
 */
static struct cost spread(const struct dist_scale_network *n, double bytes, int ranks,
                          int local)
{
    double away = (double)(ranks - local) / ranks, near = (double)(local - 1) / ranks;
    return (struct cost){local * bytes * away * HEADERS / n->bytes,
                         bytes * near / n->copy};
}

/* Slices to whoever adds them up, spread; then the sums, round a ring of all ranks, of which
 * each host has one way out.
 */
static struct cost dense_cost(const struct dist_scale_network *n, double bytes, int ranks,
                              int hosts)
{
    double round = ranks == 2 ? bytes : bytes * (ranks - 1) / ranks;
    struct cost ring = {hosts > 1 ? round * HEADERS / n->bytes : 0,
                        hosts > 1 ? 0 : round / n->copy};
    return ranks == 2 ? ring : add(spread(n, bytes, ranks, ranks / hosts), ring);
}

/* In each call ranks say what comes, then it comes. */
static struct cost call_cost(const struct dist_scale_network *n, int ranks, int hosts)
{
    return (struct cost){hosts > 1 ? 2 * n->latency : 0, 2 * (ranks - 1) * n->message};
}

static double largest(double a, double b)
{
    return a > b ? a : b;
}

static double buckets_of(const struct dist_scale_step *step, int ranks)
{
    int64_t n = (int64_t)step->dense / dist_sum_least(ranks);
    return n > 1 ? (double)n : 1;
}

/* When the courier is done with the dense gradients, counted from when vectors are there:
 * rows and ids of the next batch go first, then buckets as the backward pass fills them. The
 * last one is full at its end.
 */
static double dense_end(double compute, double before, double buckets, double each)
{
    double forward = compute * FORWARD;
    double first = forward + (compute - forward) / buckets;
    return largest(largest(before, first) + buckets * each, compute + each);
}

void dist_scale_predict(const struct dist_scale_step *step,
                        const struct dist_scale_network *network, int ranks, int hosts,
                        struct dist_scale *out)
{
    double *s = out->seconds;
    *out = (struct dist_scale){0};
    s[SCALE_COMPUTE] = step->seconds;
    if (ranks > 1) {
        int local = ranks / hosts, calls = ranks == 2 ? 1 : 2; /* of a bucket */
        double buckets = buckets_of(step, ranks);
        struct cost call = call_cost(network, ranks, hosts);
        struct cost ids = spread(network, step->ids * ID, ranks, local);
        struct cost vectors = spread(network, step->floats * FLOAT, ranks, local);
        struct cost dense = dense_cost(network, step->dense * FLOAT, ranks, hosts);
        double each = dense.link / buckets + calls * call.link;
        double end = dense_end(step->seconds, 2 * call.link + ids.link, buckets, each);
        s[SCALE_LATENCY] = (2 + calls) * call.link + (4 + buckets * calls) * call.own;
        s[SCALE_TABLES] = 2 * vectors.link + 2 * vectors.own + ids.own;
        s[SCALE_DENSE] = end - step->seconds - calls * call.link + dense.own;
    }
    for (int i = 0; i < SCALE_PARTS; i++) {
        out->total += s[i];
        if (i > SCALE_COMPUTE && s[i] > (out->slowest ? s[out->slowest] : 0))
            out->slowest = (enum dist_scale_part)i;
    }
    out->rows = step->rows * ranks / out->total;
    out->efficiency = step->seconds / out->total;
}
