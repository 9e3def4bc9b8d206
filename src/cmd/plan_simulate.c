/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a few steps here (train/step_sample.h), asks dist/scale.h what they would take on
 * more and more ranks with the given link between hosts, and prints a line for each number:
 * the parts of a step, rows per second, efficiency and what takes most beside computing; then what 85 % of
 * efficiency at 64 ranks would need.
 */
#include "cmd/plan_simulate.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "dist/shards.h"
#include "train/step_sample.h"

#define COPY 4e9      /* bytes per second between two ranks of one host */
#define MESSAGE 4e-6  /* seconds of a rank for a message */
#define GOAL 0.85     /* efficiency, */
#define GOAL_RANKS 64 /* of so many ranks */

enum rc plan_ranks_range(const char *text, int *from, int *to, struct err *err)
{
    int64_t a = 0, b = 0;
    const char *dots = strstr(text, "..");
    struct str first = str_c(text);
    if (dots)
        first.n = (size_t)(dots - text);
    bool fine = str_to_i64(first, &a);
    b = a;
    if (fine && dots)
        fine = str_to_i64(str_c(dots + 2), &b);
    if (!fine || a < 1 || b < a || b > DIST_SHARDS_MAX)
        return err_coded(
            err, RC_INVAL, E0603,
            "--ranks: '%s' is neither a number from 1 to %d nor two of them as "
            "in 8..%d",
            text, DIST_SHARDS_MAX, DIST_SHARDS_MAX);
    *from = (int)a;
    *to = (int)b;
    return RC_OK;
}

/* A number and one of the units; false: neither. */
static bool read_unit(struct str text, const char *const *units, const double *factors,
                      size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(units[i]);
        if (text.n <= length || memcmp(text.p + text.n - length, units[i], length) != 0)
            continue;
        struct str number = {.p = text.p, .n = text.n - length};
        if (!str_to_f64(number, out) || !(*out > 0))
            return false;
        *out *= factors[i];
        return true;
    }
    return false;
}

static enum rc read_link(const char *text, struct dist_scale_network *out,
                         struct err *err)
{
    static const char *const rates[] = {"Gbit", "Mbit"}, *const times[] = {"us", "ms"};
    static const double bytes[] = {1e9 / 8, 1e6 / 8}, seconds[] = {1e-6, 1e-3};
    struct str rest = str_c(text), rate, time;
    *out = (struct dist_scale_network){.copy = COPY, .message = MESSAGE};
    if (str_split(&rest, ',', &rate) && str_split(&rest, ',', &time) &&
        read_unit(rate, rates, bytes, ARRAY_LEN(rates), &out->bytes) &&
        read_unit(time, times, seconds, ARRAY_LEN(times), &out->latency))
        return RC_OK;
    return err_coded(
        err, RC_INVAL, E0603,
        "--link: '%s' is not a rate and a one-way time such as 25Gbit,5us or 100Mbit,1ms",
        text);
}

static void print_line(int ranks, int hosts, const struct dist_scale *x, struct buf *out)
{
    buf_printf(out, "%7d %6d", ranks, hosts);
    for (int i = 0; i < SCALE_PARTS; i++)
        buf_printf(out, " %9.3f", x->seconds[i] * 1e3);
    buf_printf(out, " %9.3f %12.0f %9.0f%%  %s\n", x->total * 1e3, x->rows,
               x->efficiency * 100, dist_scale_part_name(x->slowest));
}

static void print_object(int ranks, int hosts, const struct dist_scale *x, bool first,
                         struct buf *out)
{
    buf_printf(out, "%s{\"ranks\": %d, \"hosts\": %d", first ? "" : ", ", ranks, hosts);
    for (int i = 0; i < SCALE_PARTS; i++)
        buf_printf(out, ", \"%s_ms\": %.6f", dist_scale_part_name(i),
                   x->seconds[i] * 1e3);
    buf_printf(out,
               ", \"step_ms\": %.6f, \"rows_per_s\": %.0f, \"efficiency\": %.4f, "
               "\"then\": \"%s\"}",
               x->total * 1e3, x->rows, x->efficiency, dist_scale_part_name(x->slowest));
}

/* The slowest link that gives the goal, by halving; 0: none does. */
static double rate_for_goal(const struct dist_scale_step *step,
                            struct dist_scale_network network, int hosts)
{
    struct dist_scale x;
    double low = 1e6, high = 1e13;
    network.bytes = high;
    dist_scale_predict(step, &network, GOAL_RANKS, hosts, &x);
    if (x.efficiency < GOAL)
        return 0;
    for (int i = 0; i < 60; i++) {
        network.bytes = (low + high) / 2;
        dist_scale_predict(step, &network, GOAL_RANKS, hosts, &x);
        *(x.efficiency < GOAL ? &low : &high) = network.bytes;
    }
    return high;
}

static void print_goal(const struct dist_scale_step *step,
                       const struct dist_scale_network *network, int local,
                       struct buf *out)
{
    int hosts = GOAL_RANKS % local == 0 ? GOAL_RANKS / local : GOAL_RANKS;
    double rate = rate_for_goal(step, *network, hosts);
    buf_printf(out, "\n%.0f %% at %d ranks on %d hosts needs ", GOAL * 100, GOAL_RANKS,
               hosts);
    if (rate > 0)
        buf_printf(out, "%.1f Gbit/s between hosts\n", rate * 8 / 1e9);
    else
        buf_puts(out, "larger batches: no link is fast enough\n");
}

static void print_all(const struct dist_scale_step *step,
                      const struct dist_scale_network *network,
                      const struct plan_simulate_conf *c, struct buf *out)
{
    int local = c->from / c->hosts;
    if (c->json)
        buf_printf(out,
                   "{\"rows\": %.1f, \"compute_ms\": %.6f, \"ids\": %.1f, "
                   "\"floats\": %.1f, \"dense\": %.0f, \"ranks\": [",
                   step->rows, step->seconds * 1e3, step->ids, step->floats, step->dense);
    else
        buf_printf(
            out,
            "measured: a batch of %.0f rows takes %.2f ms of a processor; %.0f "
            "distinct ids, %.2f MB of vectors, %.2f MB of dense gradients\n\n"
            "  ranks  hosts   compute   latency    tables     dense   step ms       "
            "rows/s efficiency then\n",
            step->rows, step->seconds * 1e3, step->ids, step->floats * 4e-6,
            step->dense * 4e-6);
    for (int ranks = c->from; ranks <= c->to; ranks *= 2) {
        struct dist_scale x;
        dist_scale_predict(step, network, ranks, ranks / local, &x);
        if (c->json)
            print_object(ranks, ranks / local, &x, ranks == c->from, out);
        else
            print_line(ranks, ranks / local, &x, out);
    }
    if (c->json)
        buf_puts(out, "]}\n");
    else
        print_goal(step, network, local, out);
}

enum rc plan_simulate_print(const struct pc_EasyRecConfig *config,
                            const struct plan_simulate_conf *conf, struct diags *diags,
                            struct buf *out, struct err *err)
{
    struct dist_scale_step step;
    struct dist_scale_network network;
    enum rc rc = read_link(conf->link, &network, err);
    if (!rc)
        rc = train_step_sample(config, &step, diags, err);
    if (!rc)
        print_all(&step, &network, conf, out);
    return rc;
}
