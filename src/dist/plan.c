/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses an option per table. Which there are depends on the table: pooled ones on a CPU
 * go whole, by columns or as copies; cards also cut rows; keyed ones are cut by rows. If
 * nothing fits, a CPU cuts rows, too.
 *
 * Proposals are made and placed one after the other; the one whose slowest rank has least
 * to do wins: the options with least memory; then, by dynamic programming over the tables,
 * the cheapest for each amount of memory, the largest first (state: memory in use, in bins
 * of both kinds of memory); then the same option for all tables.
 */
#include "dist/plan.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dist/plan_private.h"
#include "dist/shards.h"

#define CELLS_MAX ((int64_t)64 << 20) /* of all tables, in the search */
#define NONE (-1)

#define BIT(k) (1u << (k))
static const unsigned by_row =
    BIT(DIST_ROW_WISE) | BIT(DIST_TABLE_ROW_WISE) | BIT(DIST_GRID);
static const unsigned by_table =
    BIT(DIST_DATA_PARALLEL) | BIT(DIST_TABLE_WISE) | BIT(DIST_COLUMN_WISE);

/* What is offered for a table; a grid only when it is asked for. */
static unsigned offered(const struct dist_topology *t, const struct dist_plan_table *x,
                        bool rows)
{
    bool card = t->device_bytes > 0;
    unsigned all = by_table;
    if (x->keyed)
        return BIT(DIST_ROW_WISE);
    if (!x->sequence)
        all |= BIT(DIST_TABLE_COLUMN_WISE);
    if (card || rows)
        all |= x->sequence ? BIT(DIST_ROW_WISE) : by_row;
    if (!(x->kinds & BIT(DIST_GRID)))
        all &= ~BIT(DIST_GRID);
    unsigned asked = x->kinds ? all & x->kinds : all;
    /* any other cut is made where nothing else is allowed */
    return asked ? asked : x->kinds;
}

static bool kernel_is_offered(const struct dist_topology *t,
                              const struct dist_plan_table *x, enum dist_kind kind,
                              enum dist_kernel kernel)
{
    bool dense = kernel == DIST_DENSE, copies = kind == DIST_DATA_PARALLEL;
    if (dense != copies || (kernel >= DIST_UVM && t->device_bytes <= 0))
        return false;
    /* on a CPU the kinds of memory of a card are all the same */
    if (t->device_bytes <= 0 || x->keyed || !x->kernels || copies)
        return true;
    return x->kernels & BIT(kernel);
}

static bool option_fits(const struct dist_topology *t, const struct dist_plan_option *o)
{
    for (int i = 0; i < o->n; i++)
        if (o->shards[i].device_bytes > t->device_bytes ||
            o->shards[i].host_bytes > t->host_bytes)
            return false;
    return true;
}

static void add_options(const struct dist_topology *t, const struct dist_plan_table *x,
                        bool rows, struct dist_options *o, int *count)
{
    unsigned allowed = offered(t, x, rows);
    for (int kind = 0; kind < DIST_KINDS; kind++)
        for (int kernel = 0; kernel < DIST_KERNELS; kernel++) {
            struct dist_plan_option one;
            if (!(allowed & BIT(kind)) ||
                !kernel_is_offered(t, x, (enum dist_kind)kind, (enum dist_kernel)kernel))
                continue;
            dist_plan_option_make(t, x, (enum dist_kind)kind, (enum dist_kernel)kernel,
                                  &one);
            if (!option_fits(t, &one)) {
                dist_plan_option_release(&one);
                continue;
            }
            o->all = mem_realloc(o->all, (size_t)*count + 1, sizeof(*o->all));
            o->all[(*count)++] = one;
        }
}

static void options_init(struct dist_options *o, const struct dist_topology *t,
                         const struct dist_plan_table *tables, int n, bool rows)
{
    int count = 0;
    *o = (struct dist_options){.n = n};
    o->first = mem_calloc((size_t)n + 1, sizeof(*o->first));
    for (int i = 0; i < n; i++) {
        o->first[i] = count;
        add_options(t, &tables[i], rows, o, &count);
    }
    o->first[n] = count;
}

static void options_release(struct dist_options *o)
{
    for (int i = 0; o->first && i < o->first[o->n]; i++)
        dist_plan_option_release(&o->all[i]);
    mem_free(o->all);
    mem_free(o->first);
}

static double option_ms(const struct dist_plan_option *o)
{
    double ms = 0;
    for (int i = 0; i < o->n; i++)
        ms += dist_plan_cost_sum(&o->shards[i].cost);
    return ms;
}

static double option_bytes(const struct dist_plan_option *o, bool device)
{
    double bytes = 0;
    for (int i = 0; i < o->n; i++)
        bytes += device ? o->shards[i].device_bytes : o->shards[i].host_bytes;
    return bytes;
}

void dist_plan_release(struct dist_plan *p)
{
    for (int i = 0; i < p->n; i++)
        dist_plan_option_release(&p->at[i]);
    mem_free(p->at);
    mem_free(p->costs);
    mem_free(p->bytes);
    *p = (struct dist_plan){0};
}

/* --- proposals --- */

struct search {
    const struct dist_topology *t;
    const struct dist_options *o;
    int *choice; /* [n] */
    struct dist_plan best;
    bool found;
    int failed; /* the table for which a proposal had no room */
};

static void propose(struct search *s)
{
    struct dist_plan p;
    if (!dist_plan_place(s->t, s->o, s->choice, &p, &s->failed))
        return;
    if (s->found && p.ms >= s->best.ms) {
        dist_plan_release(&p);
        return;
    }
    if (s->found)
        dist_plan_release(&s->best);
    s->best = p;
    s->found = true;
}

static void propose_smallest(struct search *s)
{
    for (int i = 0; i < s->o->n; i++) {
        double least = DBL_MAX;
        for (int k = s->o->first[i]; k < s->o->first[i + 1]; k++) {
            const struct dist_plan_option *o = &s->o->all[k];
            double bytes = option_bytes(o, true) + option_bytes(o, false);
            if (bytes < least) {
                least = bytes;
                s->choice[i] = k;
            }
        }
    }
    propose(s);
}

/* The same kind and kernel for every table that has it; none when one has not. */
static void propose_uniform(struct search *s)
{
    for (int kind = 0; kind < DIST_KINDS; kind++) {
        bool all = true;
        for (int i = 0; i < s->o->n && all; i++) {
            double least = DBL_MAX;
            all = false;
            for (int k = s->o->first[i]; k < s->o->first[i + 1]; k++)
                if ((int)s->o->all[k].kind == kind && option_ms(&s->o->all[k]) < least) {
                    least = option_ms(&s->o->all[k]);
                    s->choice[i] = k;
                    all = true;
                }
        }
        if (all)
            propose(s);
    }
}

/* --- dynamic programming --- */

struct cell {
    float ms; /* < 0: nobody comes here */
    double device, host;
};

struct step {
    int32_t from; /* cell of the tables before */
    int32_t option;
};

struct grid {
    int64_t device, host, cells; /* bins of each kind of memory */
    double all_device, all_host; /* bytes of all ranks */
    struct cell *now, *next;
    struct step *steps; /* [tables][cells] */
};

static void grid_init(struct grid *g, const struct dist_topology *t, int n)
{
    g->all_device = t->device_bytes * t->world;
    g->all_host = t->host_bytes * t->world;
    g->device = t->device_bytes > 0 ? (int64_t)t->device_bins * t->world : 1;
    g->host = (int64_t)t->host_bins * t->world;
    while (g->device * g->host > CELLS_MAX / (n + 1) && g->device + g->host > 2) {
        g->device = (g->device + 1) / 2;
        g->host = (g->host + 1) / 2;
    }
    g->cells = g->device * g->host;
    g->now = mem_alloc((size_t)g->cells * sizeof(*g->now));
    g->next = mem_alloc((size_t)g->cells * sizeof(*g->next));
    g->steps = mem_alloc((size_t)(g->cells * (n + 1)) * sizeof(*g->steps));
}

static int64_t bin_of(double used, double all, int64_t bins)
{
    int64_t b = all > 0 ? (int64_t)(used / all * (double)bins) : 0;
    return b < bins ? b : bins - 1;
}

static void forget(struct cell *cells, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        cells[i].ms = NONE;
}

/* From one cell with one option of the next table. */
static void go_on(struct grid *g, int table, int64_t from, int option,
                  const struct dist_plan_option *o)
{
    const struct cell *c = &g->now[from];
    double device = c->device + option_bytes(o, true);
    double host = c->host + option_bytes(o, false);
    if (device > g->all_device || host > g->all_host)
        return;
    int64_t at = bin_of(device, g->all_device, g->device) * g->host +
                 bin_of(host, g->all_host, g->host);
    float ms = c->ms + (float)option_ms(o);
    if (g->next[at].ms >= 0 && g->next[at].ms <= ms)
        return;
    g->next[at] = (struct cell){.ms = ms, .device = device, .host = host};
    g->steps[(int64_t)table * g->cells + at] =
        (struct step){.from = (int32_t)from, .option = option};
}

static void fill(struct grid *g, const struct dist_options *o)
{
    forget(g->now, g->cells);
    g->now[0] = (struct cell){0};
    for (int i = 0; i < o->n; i++) {
        forget(g->next, g->cells);
        for (int64_t c = 0; c < g->cells; c++)
            for (int k = o->first[i]; g->now[c].ms >= 0 && k < o->first[i + 1]; k++)
                go_on(g, i, c, k, &o->all[k]);
        struct cell *swap = g->now;
        g->now = g->next;
        g->next = swap;
    }
}

static void read_back(const struct grid *g, int64_t cell, struct search *s)
{
    for (int i = s->o->n - 1; i >= 0; i--) {
        const struct step *step = &g->steps[(int64_t)i * g->cells + cell];
        s->choice[i] = step->option;
        cell = step->from;
    }
    propose(s);
}

/* For each level of memory, from the most down, the cheapest. */
static void propose_levels(struct search *s)
{
    struct grid g = {0};
    grid_init(&g, s->t, s->o->n);
    fill(&g, s->o);
    bool card = s->t->device_bytes > 0;
    int64_t levels = card ? g.device : g.host, width = card ? g.host : 1;
    for (int64_t level = levels - 1; level >= 0; level--) {
        int64_t best = NONE;
        for (int64_t c = level * width; c < (level + 1) * width; c++)
            if (g.now[c].ms >= 0 && (best < 0 || g.now[c].ms < g.now[best].ms))
                best = c;
        if (best >= 0)
            read_back(&g, best, s);
    }
    mem_free(g.now);
    mem_free(g.next);
    mem_free(g.steps);
}

/* --- all of it --- */

/* The first table that has no option at all; -1: each has. */
static int hopeless(const struct dist_options *o)
{
    for (int i = 0; i < o->n; i++)
        if (o->first[i] == o->first[i + 1])
            return i;
    return NONE;
}

static bool search_options(const struct dist_topology *t,
                           const struct dist_plan_table *tables, int n, bool rows,
                           struct dist_plan *out, int *failed)
{
    struct dist_options o;
    options_init(&o, t, tables, n, rows);
    struct search s = {.t = t, .o = &o, .choice = mem_calloc((size_t)n + 1, sizeof(int))};
    *failed = hopeless(&o);
    if (*failed < 0) {
        propose_smallest(&s);
        propose_levels(&s);
        propose_uniform(&s);
        *failed = s.failed;
    }
    mem_free(s.choice);
    options_release(&o);
    *out = s.best;
    return s.found;
}

static bool find(const struct dist_topology *t, const struct dist_plan_table *tables,
                 int n, struct dist_plan *out, int *failed)
{
    return search_options(t, tables, n, false, out, failed) ||
           search_options(t, tables, n, true, out, failed);
}

int dist_plan_least_ranks(const struct dist_topology *t,
                          const struct dist_plan_table *tables, int n)
{
    struct dist_plan p;
    int failed, low = 0, high = 1;
    for (; high <= DIST_SHARDS_MAX; low = high, high *= 2) {
        struct dist_topology more = *t;
        more.world = high;
        more.local = t->local < high ? t->local : high;
        more.host_bins = 1; /* only whether it fits is asked */
        more.device_bins = 1;
        if (find(&more, tables, n, &p, &failed))
            break;
    }
    if (high > DIST_SHARDS_MAX)
        return 0;
    dist_plan_release(&p);
    while (high - low > 1) {
        struct dist_topology more = *t;
        int mid = low + (high - low) / 2;
        more.world = more.local = mid;
        more.host_bins = more.device_bins = 1;
        if (find(&more, tables, n, &p, &failed)) {
            dist_plan_release(&p);
            high = mid;
        } else {
            low = mid;
        }
    }
    return high;
}

/* What a rank needs at least for a table, cut as finely as it may be. */
static double least_bytes(const struct dist_topology *t, const struct dist_plan_table *x)
{
    double least = DBL_MAX;
    unsigned allowed = offered(t, x, true);
    for (int kind = 0; kind < DIST_KINDS; kind++) {
        struct dist_plan_option o;
        if (!(allowed & BIT(kind)))
            continue;
        dist_plan_option_make(t, x, (enum dist_kind)kind,
                              kind == DIST_DATA_PARALLEL ? DIST_DENSE : DIST_FUSED, &o);
        double bytes = o.shards[0].device_bytes + o.shards[0].host_bytes;
        least = bytes < least ? bytes : least;
        dist_plan_option_release(&o);
    }
    return least;
}

enum rc dist_plan_make(const struct dist_topology *t,
                       const struct dist_plan_table *tables, int n, struct dist_plan *out,
                       struct err *err)
{
    int failed = 0;
    char ranks[64] = "";
    if (find(t, tables, n, out, &failed))
        return RC_OK;
    const struct dist_plan_table *x = &tables[failed];
    double room = t->device_bytes > 0 ? t->device_bytes : t->host_bytes;
    int enough = dist_plan_least_ranks(t, tables, n);
    if (enough)
        snprintf(ranks, sizeof(ranks), "; %d ranks hold the tables", enough);
    return err_coded(err, RC_NOMEM, E1408,
                     "the tables do not fit on %d rank%s with %.1f MiB for tables each: "
                     "table '%s' needs %.1f MiB on a rank beside the others%s",
                     t->world, t->world == 1 ? "" : "s", room / (1 << 20), x->name,
                     least_bytes(t, x) / (1 << 20), ranks);
}
