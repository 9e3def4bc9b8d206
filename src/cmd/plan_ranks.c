/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the planner (dist/plan.h) for a placement of the tables and prints it: each table
 * with the way it is cut and the ranks that have it, each rank with its parts, their bytes
 * and the parts of its time, the rank that all wait for and what would lift it.
 */
#include "cmd/plan_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "train/budget.h"
#include "train/placement.h"

struct str plan_short_name(const char *name)
{
    static const char *const before[] = {".embedding_bags.", ".embeddings."};
    struct str s = str_c(name);
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        const char *at = strstr(name, before[i]);
        if (at)
            s = str_c(at + strlen(before[i]));
    }
    if (s.n > 7 && str_ends(name, ".weight"))
        s.n -= 7;
    return s;
}

static enum rc read_number(const char *name, double lo, double hi, double *out,
                           struct err *err)
{
    const char *text = getenv(name);
    if (!text || !text[0])
        return RC_OK;
    if (str_to_f64(str_c(text), out) && *out >= lo && *out <= hi)
        return RC_OK;
    return err_set(err, RC_INVAL,
                   "the variable %s is '%s', which is not a number from %g to %g", name,
                   text, lo, hi);
}

static enum rc read_conf(const struct plan_ranks_conf *c,
                         struct train_placement_conf *out, struct err *err)
{
    double bins = 0;
    *out = (struct train_placement_conf){
        .ranks = c->ranks, .hosts = c->hosts, .memory = c->memory};
    enum rc rc = read_number("INTRA_NODE_BANDWIDTH", 1, 1e18, &out->intra, err);
    if (!rc)
        rc = read_number("CROSS_NODE_BANDWIDTH", 1, 1e18, &out->cross, err);
    if (!rc)
        rc = read_number("STORAGE_RESERVE_PERCENT", 0, 1, &out->reserve, err);
    if (!rc)
        rc = read_number("TZREC_DP_DDR_BINS_PER_DEVICE", 1, 10000, &bins, err);
    out->bins = (int)bins;
    return rc;
}

static bool on_rank(const struct dist_plan_option *o, int rank)
{
    for (int i = 0; i < o->n; i++)
        if (o->shards[i].rank == rank)
            return true;
    return false;
}

static int count_shards(const struct dist_plan *p, int rank)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->at[i].n; k++)
            n += p->at[i].shards[k].rank == rank;
    return n;
}

/* "0-3", "0, 2". */
static void put_ranks(const struct dist_plan_option *o, int world, struct buf *out)
{
    size_t start = out->n;
    for (int r = 0; r < world; r++) {
        int last = r;
        if (!on_rank(o, r))
            continue;
        while (last + 1 < world && on_rank(o, last + 1))
            last++;
        buf_printf(out, "%s%d", out->n > start ? ", " : "", r);
        if (last > r)
            buf_printf(out, "-%d", last);
        r = last;
    }
}

static void print_tables(const struct train_placement *p, struct buf *out)
{
    char t[32];
    int width = 5;
    for (size_t i = 0; i < p->tables.n; i++) {
        int n = (int)plan_short_name(p->tables.at[i].name).n;
        width = n > width ? n : width;
    }
    buf_printf(out, "%-*s  %-17s  %6s  %22s  %10s  ranks\n", width, "table", "placement",
               "shards", "rows x columns", "each");
    for (int i = 0; i < p->plan.n; i++) {
        const struct dist_plan_option *o = &p->plan.at[i];
        struct str name = plan_short_name(p->tables.at[i].name);
        char size[48];
        snprintf(size, sizeof(size), "%jd x %jd", (intmax_t)o->shards[0].rows,
                 (intmax_t)o->shards[0].cols);
        buf_printf(
            out, "%-*.*s  %-17s  %6d  %22s  %10s  ", width, (int)name.n, name.p,
            dist_kind_name(o->kind), o->n, size,
            train_budget_text(
                (int64_t)(o->shards[0].host_bytes + o->shards[0].device_bytes), t));
        put_ranks(o, p->plan.world, out);
        buf_putc(out, '\n');
    }
}

static void print_ranks(const struct train_placement *p, struct buf *out)
{
    char t[32];
    buf_printf(out, "\n%4s  %4s  %6s  %10s  %9s  %9s  %9s  %9s  %9s\n", "rank", "host",
               "shards", "bytes", "forward", "comm", "backward", "comm", "ms");
    for (int r = 0; r < p->plan.world; r++) {
        const struct dist_plan_cost *c = &p->plan.costs[r];
        buf_printf(out, "%4d  %4d  %6d  %10s  %9.4f  %9.4f  %9.4f  %9.4f  %9.4f\n", r,
                   r / p->topology.local, count_shards(&p->plan, r),
                   train_budget_text((int64_t)p->plan.bytes[r], t), c->forward,
                   c->forward_comm, c->backward, c->backward_comm, dist_plan_cost_sum(c));
    }
}

/* What takes most of the slowest rank's time, and what would take less. */
static const char *advice(const struct train_placement *p, const char **part)
{
    const struct dist_plan_cost *c = &p->plan.costs[p->plan.slowest];
    bool hosts = p->topology.world > p->topology.local;
    if (c->forward_comm + c->backward_comm > c->forward + c->backward) {
        *part = "communication";
        return hosts
                   ? "a faster network between hosts or more ranks on each would lift it"
                   : "fewer ranks or smaller embedding_dim would lift it";
    }
    *part = "reading and updating rows";
    for (int i = 0; i < p->plan.n; i++)
        if (on_rank(&p->plan.at[i], p->plan.slowest) &&
            p->plan.at[i].kind == DIST_TABLE_WISE)
            return "more ranks, or row_wise for its tables, would lift it";
    return "more ranks would lift it";
}

static void print_text(const struct train_placement *p, struct buf *out)
{
    const char *part, *what = advice(p, &part);
    buf_printf(out,
               "placement    of the planner, for %d ranks on %d host%s with batches of "
               "%.0f rows each; times are estimates\n\n",
               p->topology.world, p->topology.world / p->topology.local,
               p->topology.world > p->topology.local ? "s" : "", p->topology.batch);
    print_tables(p, out);
    print_ranks(p, out);
    buf_printf(out, "\nslowest      rank %d with %.4f ms, most of it %s; %s\n\n",
               p->plan.slowest, p->plan.ms, part, what);
}

static void json_shards(const struct dist_plan_option *o, struct buf *out)
{
    for (int k = 0; k < o->n; k++)
        buf_printf(out,
                   "%s{\"rank\": %d, \"rows\": %jd, \"columns\": %jd, \"bytes\": %.0f, "
                   "\"ms\": %.6f}",
                   k ? ", " : "", o->shards[k].rank, (intmax_t)o->shards[k].rows,
                   (intmax_t)o->shards[k].cols,
                   o->shards[k].host_bytes + o->shards[k].device_bytes,
                   dist_plan_cost_sum(&o->shards[k].cost));
}

static void print_json(const struct train_placement *p, struct buf *out)
{
    buf_printf(out, ", \"placement\": {\"hosts\": %d, \"tables\": [",
               p->topology.world / p->topology.local);
    for (int i = 0; i < p->plan.n; i++) {
        const struct dist_plan_option *o = &p->plan.at[i];
        buf_printf(out, "%s{\"name\": ", i ? ", " : "");
        buf_json_str(out, p->tables.at[i].name, strlen(p->tables.at[i].name));
        buf_printf(out,
                   ", \"sharding_type\": \"%s\", \"compute_kernel\": \"%s\", "
                   "\"shards\": [",
                   dist_kind_name(o->kind), dist_kernel_name(o->kernel));
        json_shards(o, out);
        buf_puts(out, "]}");
    }
    buf_puts(out, "], \"ranks\": [");
    for (int r = 0; r < p->plan.world; r++) {
        const struct dist_plan_cost *c = &p->plan.costs[r];
        buf_printf(out,
                   "%s{\"bytes\": %.0f, \"forward\": %.6f, \"forward_comm\": %.6f, "
                   "\"backward\": %.6f, \"backward_comm\": %.6f}",
                   r ? ", " : "", p->plan.bytes[r], c->forward, c->forward_comm,
                   c->backward, c->backward_comm);
    }
    buf_printf(out, "], \"slowest\": %d, \"ms\": %.6f}", p->plan.slowest, p->plan.ms);
}

static void print_none(const struct plan_ranks_conf *c, const struct err *err,
                       struct buf *out)
{
    if (c->json) {
        buf_puts(out, ", \"placement\": null, \"placement_error\": ");
        buf_json_str(out, err->msg, strlen(err->msg));
    } else {
        buf_printf(out, "placement    none with all rows of all tables: %s\n\n",
                   err->msg);
    }
}

enum rc plan_ranks_print(const struct train_session *s,
                         const struct plan_ranks_conf *conf, struct buf *out,
                         struct err *err)
{
    struct train_placement_conf c;
    struct train_placement p = {0};
    enum rc rc = read_conf(conf, &c, err);
    if (rc)
        return rc;
    rc = train_placement_make(&p, s, &c, err);
    if (rc == RC_NOMEM) { /* the rows in use may fit all the same: the budget says so */
        print_none(conf, err, out);
        rc = RC_OK;
        *err = (struct err){0};
    } else if (!rc && conf->json) {
        print_json(&p, out);
    } else if (!rc) {
        print_text(&p, out);
    }
    train_placement_release(&p);
    return rc;
}
