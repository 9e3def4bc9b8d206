/* SPDX-License-Identifier: Apache-2.0 */
/* Costs against the closed forms, worked out apart from this program for one table of 10^6
 * rows and 128 columns of 4 bytes with batches of 8192 on 8 ranks with cards; then choices.
 */
#include "dist/plan.h"
#include "dist/scale.h"

#include <string.h>

#include "base/compiler.h"
#include "tap.h"

#define MIB ((double)(1 << 20))
#define GIB (1024 * MIB)

static struct dist_topology cards(int world, int local)
{
    struct dist_topology t = dist_topology_of(world, local, 8192);
    t.device_bytes = 80 * GIB;
    t.host_bytes = 200 * GIB;
    return t;
}

static struct dist_topology cpus(int world, int local, double mib)
{
    struct dist_topology t = dist_topology_of(world, local, 8192);
    t.host_bytes = mib * MIB;
    return t;
}

static struct dist_plan_table table(const char *name, int64_t rows, int64_t dim)
{
    return (struct dist_plan_table){
        .name = name, .rows = rows, .dim = dim, .element = 4, .inputs = 1, .pooling = 1};
}

static void check_cost(const struct dist_topology *t, int64_t dim, enum dist_kind kind,
                       struct dist_plan_cost want)
{
    struct dist_plan_table x = table("t", 1000000, dim);
    struct dist_plan_option o;
    dist_plan_option_make(t, &x, kind,
                          kind == DIST_DATA_PARALLEL ? DIST_DENSE : DIST_FUSED, &o);
    const struct dist_plan_cost *got = &o.shards[0].cost;
    CHECK_NEAR(got->forward, want.forward, 1e-8);
    CHECK_NEAR(got->forward_comm, want.forward_comm, 1e-8);
    CHECK_NEAR(got->backward, want.backward, 1e-8);
    CHECK_NEAR(got->backward_comm, want.backward_comm, 1e-6);
    dist_plan_option_release(&o);
}

static void costs_are_those_of_the_closed_forms(void)
{
    struct dist_topology one = cards(8, 8), two = cards(8, 4);
    check_cost(
        &one, 128, DIST_TABLE_WISE,
        (struct dist_plan_cost){0.0702210493, 0.0520833333, 0.140442099, 0.0520833333});
    check_cost(
        &one, 64, DIST_TABLE_WISE,
        (struct dist_plan_cost){0.0406901042, 0.0260416667, 0.0813802083, 0.0260416667});
    check_cost(&one, 16, DIST_TABLE_WISE,
               (struct dist_plan_cost){0.0238152784, 0.00651041667, 0.0476305567,
                                       0.00651041667});
    check_cost(
        &one, 128, DIST_ROW_WISE,
        (struct dist_plan_cost){0.0392611875, 0.0520833333, 0.0785223749, 0.137611483});
    check_cost(
        &one, 128, DIST_TABLE_ROW_WISE,
        (struct dist_plan_cost){0.0392611875, 0.0520833333, 0.0785223749, 0.137611483});
    check_cost(&one, 128, DIST_DATA_PARALLEL,
               (struct dist_plan_cost){0.0175552623, 0, 0.0351105247, 14.5709103});
    check_cost(
        &two, 128, DIST_TABLE_ROW_WISE,
        (struct dist_plan_cost){0.0436840249, 0.677083333, 0.0873680497, 0.762611483});
    check_cost(&two, 128, DIST_TABLE_WISE,
               (struct dist_plan_cost){0.0702210493, 2.5, 0.140442099, 2.5});
    check_cost(&two, 128, DIST_DATA_PARALLEL,
               (struct dist_plan_cost){0.0175552623, 0, 0.0351105247, 24.1076534});
}

static void parts_are_cut_as_their_kind_says(void)
{
    struct dist_topology t = cards(8, 4);
    struct dist_plan_table x = table("t", 1001, 512);
    static const struct {
        enum dist_kind kind;
        int n;
        int64_t rows, cols, last;
    } cases[] = {
        {DIST_DATA_PARALLEL, 8, 1001, 512, 1001},
        {DIST_TABLE_WISE, 1, 1001, 512, 1001},
        {DIST_COLUMN_WISE, 4, 1001, 128, 1001},
        {DIST_TABLE_COLUMN_WISE, 4, 1001, 128, 1001},
        {DIST_ROW_WISE, 8, 126, 512, 119},
        {DIST_TABLE_ROW_WISE, 4, 251, 512, 248},
        {DIST_GRID, 16, 251, 128, 248},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dist_plan_option o;
        dist_plan_option_make(&t, &x, cases[i].kind, DIST_FUSED, &o);
        CHECK_INT(o.n, cases[i].n);
        CHECK_INT(o.shards[0].rows, cases[i].rows);
        CHECK_INT(o.shards[0].cols, cases[i].cols);
        CHECK_INT(o.shards[o.n - 1].rows, cases[i].last);
        dist_plan_option_release(&o);
    }
    x.dim = 100; /* no part of at least 128 columns */
    struct dist_plan_option o;
    dist_plan_option_make(&t, &x, DIST_COLUMN_WISE, DIST_FUSED, &o);
    CHECK_INT(o.n, 1);
    dist_plan_option_release(&o);
}

/* ids and vectors of a batch, and the rows with their state */
static void memory_counts_rows_state_and_traffic(void)
{
    struct dist_topology t = cpus(4, 4, 1000);
    struct dist_plan_table x = table("t", 1000, 16);
    struct dist_plan_option o;
    x.state = 2; /* adam */
    dist_plan_option_make(&t, &x, DIST_TABLE_WISE, DIST_FUSED, &o);
    CHECK_NEAR(o.shards[0].host_bytes,
               1000 * 16 * 4 * 3 + 8192 * 4 * 8 + 8192.0 * 4 * 16 * 4, 1);
    CHECK_NEAR(o.shards[0].device_bytes, 0, 0);
    dist_plan_option_release(&o);
    dist_plan_option_make(&t, &x, DIST_ROW_WISE, DIST_FUSED, &o);
    CHECK_NEAR(o.shards[3].host_bytes, 250 * 16 * 4 * 3 + 8192 * 8 + 8192.0 * 4 * 16 * 4,
               1);
    dist_plan_option_release(&o);
}

/* By the sum of costs it would stay whole on one rank, but all would wait for that one. */
static void the_rank_that_all_wait_for_decides(void)
{
    struct dist_topology t = cards(8, 8);
    struct dist_plan_table x = table("t", 1000000, 128);
    struct dist_plan p;
    CHECK_INT(dist_plan_make(&t, &x, 1, &p, NULL), RC_OK);
    CHECK_STR(dist_kind_name(p.at[0].kind), "row_wise");
    CHECK_NEAR(p.ms, 0.307478378, 1e-8);
    dist_plan_release(&p);
}

static void equal_tables_are_dealt_evenly(void)
{
    struct dist_topology t = cpus(4, 4, 2000);
    struct dist_plan_table x[8];
    struct dist_plan p;
    int n[4] = {0};
    for (int i = 0; i < 8; i++)
        x[i] = table("t", 100000, 16);
    CHECK_INT(dist_plan_make(&t, x, 8, &p, NULL), RC_OK);
    for (int i = 0; i < 8; i++) {
        CHECK_STR(dist_kind_name(p.at[i].kind), "table_wise");
        n[p.at[i].shards[0].rank]++;
    }
    for (int r = 0; r < 4; r++)
        CHECK_INT(n[r], 2);
    dist_plan_release(&p);
}

static void limits_and_keys_decide_first(void)
{
    struct dist_topology t = cpus(4, 2, 2000);
    struct dist_plan_table x[] = {table("a", 100000, 256), table("b", 1000, 16),
                                  table("c", 1000, 16), table("d", 1000, 16)};
    struct dist_plan p;
    x[0].kinds = 1u << DIST_TABLE_COLUMN_WISE;
    x[1].kinds = 1u << DIST_TABLE_ROW_WISE;
    x[2].keyed = true;
    x[2].kinds = 1u << DIST_TABLE_WISE; /* does not count */
    x[3].kinds = 1u << DIST_DATA_PARALLEL;
    CHECK_INT(dist_plan_make(&t, x, 4, &p, NULL), RC_OK);
    CHECK_INT(p.at[0].kind, DIST_TABLE_COLUMN_WISE);
    CHECK_INT(p.at[0].shards[0].rank / 2, p.at[0].shards[1].rank / 2);
    CHECK_INT(p.at[1].kind, DIST_TABLE_ROW_WISE);
    CHECK_INT(p.at[1].shards[0].rank + 1, p.at[1].shards[1].rank);
    CHECK_INT(p.at[2].kind, DIST_ROW_WISE);
    CHECK_INT(p.at[3].kind, DIST_DATA_PARALLEL);
    CHECK_INT(p.at[3].n, 4);
    dist_plan_release(&p);
}

static void a_table_too_large_for_a_rank_is_cut(void)
{
    struct dist_topology t = cpus(4, 4, 200);
    struct dist_plan_table x = table("t", 1000000, 64); /* 244 MiB */
    struct dist_plan p;
    CHECK_INT(dist_plan_make(&t, &x, 1, &p, NULL), RC_OK);
    CHECK_STR(dist_kind_name(p.at[0].kind), "row_wise");
    dist_plan_release(&p);
}

static void what_does_not_fit_names_table_and_ranks(void)
{
    struct dist_topology t = cpus(2, 2, 40);
    struct dist_plan_table x[] = {table("small", 1000, 16), table("large", 1000000, 64)};
    struct err err = {0};
    struct dist_plan p;
    t.batch = 64; /* what goes between ranks grows with their number */
    CHECK_INT(dist_plan_make(&t, x, 2, &p, &err), RC_NOMEM);
    CHECK_INT(err.code, E1408);
    CHECK_HAS(err.msg, "the tables do not fit on 2 ranks with 40.0 MiB for tables each: "
                       "table 'large' needs 122.");
    int enough = dist_plan_least_ranks(&t, x, 2);
    CHECK_HAS(err.msg, " MiB on a rank beside the others; 7 ranks hold the tables");
    CHECK_INT(enough, 7);
    t.world = t.local = enough;
    CHECK_INT(dist_plan_make(&t, x, 2, &p, NULL), RC_OK);
    dist_plan_release(&p);
    t.world = t.local = enough - 1;
    CHECK_INT(dist_plan_make(&t, x, 2, &p, NULL), RC_NOMEM);
}

static void names_are_found(void)
{
    for (int k = 0; k < DIST_KINDS; k++)
        CHECK_INT(dist_kind_find(dist_kind_name((enum dist_kind)k)), k);
    CHECK_INT(dist_kind_find("rowwise"), DIST_KINDS);
    CHECK_INT(dist_kernel_find("fused_uvm"), DIST_UVM);
    CHECK_INT(dist_kernel_find("key_value"), DIST_KERNELS);
}

/* 10 ms of computing, 1 MB of ids, 2 MB of vectors both ways, 4 MB of dense gradients. */
static const struct dist_scale_step heavy = {
    .seconds = 0.01, .rows = 1000, .ids = 125e3, .floats = 5e5, .dense = 1e6};
static const struct dist_scale_network slow = {
    .bytes = 1.05e8, .latency = 1e-3, .copy = 1e9, .message = 1e-5};

static void what_a_step_computes_hides_what_travels_meanwhile(void)
{
    struct dist_scale x;
    dist_scale_predict(&heavy, &slow, 1, 1, &x);
    CHECK_NEAR(x.total, 0.01, 1e-12);
    CHECK_NEAR(x.rows, 1e5, 1e-6);
    CHECK_INT(x.slowest, SCALE_COMPUTE);
    /* two hosts: half of 4 MB of vectors, all gradients, at 100 MB/s without headers; ids are
     * there after 9 ms, then three buckets of 15.3 ms follow, 10 of which are computed in
     */
    dist_scale_predict(&heavy, &slow, 2, 2, &x);
    CHECK_NEAR(x.seconds[SCALE_TABLES], 0.02, 1e-12);
    CHECK_NEAR(x.seconds[SCALE_LATENCY], 3 * 2e-3 + 7 * 2e-5, 1e-12);
    CHECK_NEAR(x.seconds[SCALE_DENSE], 0.009 + 0.046 - 0.01 - 0.002, 1e-12);
    CHECK_INT(x.slowest, SCALE_DENSE);
    CHECK_NEAR(x.efficiency, 0.01 / (0.01 + 0.02 + 0.043 + 0.00614), 1e-9);
    /* with a link a hundred times as fast all but the last bucket is hidden */
    struct dist_scale_network fast = slow;
    fast.bytes *= 100;
    fast.latency = 0;
    dist_scale_predict(&heavy, &fast, 2, 2, &x);
    CHECK_NEAR(x.seconds[SCALE_DENSE], 4e6 / 3 / 1e10, 1e-12);
}

static void ranks_of_a_host_share_its_link(void)
{
    struct dist_scale two, four;
    dist_scale_predict(&heavy, &slow, 4, 4, &four);
    dist_scale_predict(&heavy, &slow, 4, 2, &two);
    CHECK_NEAR(four.seconds[SCALE_TABLES], 4e6 * 0.75 / 1e8, 1e-12);
    CHECK_NEAR(two.seconds[SCALE_TABLES], 2 * 4e6 * 0.5 / 1e8 + 5e6 * 0.25 / 1e9, 1e-12);
    /* on one host nothing goes over a link, and nothing is hidden */
    dist_scale_predict(&heavy, &slow, 4, 1, &two);
    CHECK_NEAR(two.seconds[SCALE_TABLES], 5e6 * 0.75 / 1e9, 1e-12);
    CHECK_NEAR(two.seconds[SCALE_LATENCY], 10 * 6e-5, 1e-12);
    CHECK_NEAR(two.seconds[SCALE_DENSE], 4e6 * 0.75 * 2 / 1e9, 1e-12);
}

static const struct tap_case cases[] = {
    TAP(costs_are_those_of_the_closed_forms),
    TAP(parts_are_cut_as_their_kind_says),
    TAP(memory_counts_rows_state_and_traffic),
    TAP(the_rank_that_all_wait_for_decides),
    TAP(equal_tables_are_dealt_evenly),
    TAP(limits_and_keys_decide_first),
    TAP(a_table_too_large_for_a_rank_is_cut),
    TAP(what_does_not_fit_names_table_and_ranks),
    TAP(names_are_found),
    TAP(what_a_step_computes_hides_what_travels_meanwhile),
    TAP(ranks_of_a_host_share_its_link),
};
TAP_MAIN(cases)
