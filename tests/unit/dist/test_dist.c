/* SPDX-License-Identifier: Apache-2.0 */
/* What a run over shards is made of: who has which shard and which row, sums in the order
 * of shards, and bytes of all ranks. Ranks are threads.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "comm/threads.h"
#include "dist/owner.h"
#include "dist/sharded.h"
#include "dist/sum.h"
#include "tap.h"

#define WORLD_MAX 5
#define N 101
#define SHARDS 7

struct rank {
    struct comm *comm;
    void (*run)(struct rank *r);
    float sum[N];
    int64_t bad;
    enum rc rc;
    struct err err;
};

static void *rank_main(void *arg)
{
    struct rank *r = arg;
    r->run(r);
    if (r->rc)
        comm_abort(r->comm, &r->err);
    return NULL;
}

static void run_ranks(struct rank *ranks, int world, void (*run)(struct rank *r))
{
    pthread_t threads[WORLD_MAX];
    struct comm_group *g = comm_group_create(world, 60000);
    for (int i = 0; i < world; i++) {
        struct comm_conf conf = {.rank = i, .world = world, .group = g};
        ranks[i] = (struct rank){.run = run};
        CHECK(comm_open("threads", &conf, &ranks[i].comm, &ranks[i].err) == RC_OK);
    }
    comm_group_unref(g);
    for (int i = 0; i < world; i++)
        pthread_create(&threads[i], NULL, rank_main, &ranks[i]);
    for (int i = 0; i < world; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < world; i++) {
        CHECK_INT(ranks[i].rc, RC_OK);
        CHECK_STR(ranks[i].err.msg, "");
        CHECK_INT(ranks[i].bad, 0);
        comm_close(ranks[i].comm);
    }
}

static void shards_follow_each_other_over_ranks(void)
{
    for (int world = 1; world <= 9; world++)
        for (int total = world; total <= 30; total++) {
            int next = 0;
            for (int r = 0; r < world; r++) {
                struct dist_shards s = dist_shards_of(r, world, total);
                CHECK(s.first == next && s.n >= total / world &&
                      s.n <= total / world + 1);
                CHECK_INT(s.total, total);
                next += s.n;
            }
            CHECK_INT(next, total);
        }
}

/* Rows that each of `world` ranks keeps. */
static void count_rows(const struct embed_table_conf *t, int table, int world,
                       int64_t *counts)
{
    struct dist_owner o = dist_owner_of(t, table, world, NULL);
    memset(counts, 0, (size_t)world * sizeof(*counts));
    for (int64_t r = 0; r < t->rows; r++)
        counts[dist_owner_at(&o, r)]++;
}

static void rows_of_a_table_are_kept_by_all_ranks_alike(void)
{
    struct embed_table_conf t = {
        .name = "t", .rows = 1000000, .dim = 16, .opt.kind = ROW_ADAGRAD};
    int64_t counts[4];
    t.trainable = true;
    count_rows(&t, 0, 4, counts);
    for (int r = 0; r < 4; r++)
        CHECK(counts[r] > 200000 && counts[r] < 300000);
    /* blocks of a large table are megabytes: a page is touched by one rank alone */
    struct dist_owner o = dist_owner_of(&t, 0, 4, NULL);
    CHECK((embed_table_stride(&t) * 4 << o.shift) >= 2 << 20);
    CHECK_INT(dist_owner_at(&o, 0), dist_owner_at(&o, ((int64_t)1 << o.shift) - 1));
    /* a rank of two touches half of the large pages of a table of 8 MiB */
    t.rows = 65536;
    o = dist_owner_of(&t, 0, 2, NULL);
    CHECK_INT(embed_table_stride(&t) * 4 << o.shift, 2 << 20);
    /* small ones begin on another rank each */
    t.rows = 50;
    for (int table = 0; table < 4; table++) {
        count_rows(&t, table, 4, counts);
        CHECK_INT(counts[table], 50);
    }
}

static void a_table_with_keys_is_one_ranks(void)
{
    struct embed_table_conf t = {.name = "t", .rows = 1000, .dim = 4};
    t.keyed.kind = KEYED_ZCH;
    struct dist_owner o = dist_owner_of(&t, 5, 3, NULL);
    for (int64_t id = 0; id < 100000; id += 997)
        CHECK_INT(dist_owner_at(&o, id), 2);
}

/* Ids that compete for places are on one rank, and all ranks have some. */
static void ids_of_a_growing_table_are_spread_by_bucket(void)
{
    struct embed_table_conf t = {.name = "t", .dim = 4};
    int ranks[24];
    int64_t counts[3] = {0};
    t.keyed =
        (struct embed_keyed_conf){.kind = KEYED_GROWING, .capacity = 24 * 8, .bucket = 8};
    struct dist_owner o = dist_owner_of(&t, 1, 3, NULL);
    CHECK_INT(o.classes, 24);
    for (int i = 0; i < 24; i++)
        ranks[i] = -1;
    for (int64_t id = 0; id < 9000; id++) {
        int r = dist_owner_at(&o, id), *of = &ranks[embed_id_class(id, 24)];
        CHECK(*of < 0 || *of == r);
        *of = r;
        counts[r]++;
    }
    for (int r = 0; r < 3; r++)
        CHECK(counts[r] > 2500 && counts[r] < 3500);
    /* nor are those apart that are counted together before they are admitted */
    t.keyed.admit = 2;
    t.keyed.counters = 160;
    t.keyed.counter_bucket = 16;
    CHECK_INT(dist_owner_of(&t, 1, 3, NULL).classes, 2);
    t.keyed.counters = 7 * 16;
    o = dist_owner_of(&t, 1, 3, NULL);
    CHECK_INT(o.classes, 0);
    for (int64_t id = 0; id < 1000; id++)
        CHECK_INT(dist_owner_at(&o, id), 1);
}

/* Values whose sum depends on the order of the additions. */
static float value_of(int shard, int64_t i)
{
    return (float)(shard % 2 ? -1 : 1) * (1.0f + (float)i * 0.37f) *
           (shard % 3 ? 1e-6f : 1e6f);
}

/* Shard 2 has no rows; the second round begins from nothing again. */
static void sum_shards(struct rank *r)
{
    struct dist_shards shards =
        dist_shards_of(comm_rank(r->comm), comm_world(r->comm), SHARDS);
    int64_t rows[SHARDS] = {3, 1, 0, 4, 1, 5, 9};
    struct dist_sum sum;
    float v[N];
    r->rc = dist_sum_init(&sum, r->comm, shards, N, &r->err);
    for (int round = 0; round < 2 && !r->rc; round++) {
        for (int s = 0; s < shards.n; s++) {
            for (int64_t i = 0; i < N; i++)
                v[i] = value_of(shards.first + s, i + round);
            if (rows[shards.first + s])
                dist_sum_add(&sum, s, v);
        }
        r->rc = dist_sum_finish(&sum, rows, r->sum, &r->err);
    }
    dist_sum_release(&sum);
}

static void sums_are_in_the_order_of_shards_on_any_number_of_ranks(void)
{
    struct rank ranks[WORLD_MAX];
    float want[N];
    for (int64_t i = 0; i < N; i++) {
        want[i] = value_of(0, i + 1);
        for (int s = 1; s < SHARDS; s++)
            want[i] = s == 2 ? want[i] : want[i] + value_of(s, i + 1);
    }
    for (int world = 1; world <= WORLD_MAX; world++) {
        run_ranks(ranks, world, sum_shards);
        for (int i = 0; i < world; i++)
            CHECK(memcmp(ranks[i].sum, want, sizeof(want)) == 0);
    }
}

/* Rank r has r bytes of the letter of its number. */
static void gather(struct rank *r)
{
    int rank = comm_rank(r->comm), world = comm_world(r->comm);
    char own[WORLD_MAX];
    void *all = NULL;
    int64_t n = 0, at = 0;
    memset(own, 'a' + rank, sizeof(own));
    r->rc = comm_gather_bytes(r->comm, own, rank, &all, &n, &r->err);
    r->bad += n != world * (world - 1) / 2;
    for (int k = 0; k < world && !r->bad; k++)
        for (int i = 0; i < k; i++)
            r->bad += ((const char *)all)[at++] != 'a' + k;
    mem_free(all);
}

static void bytes_of_all_ranks_come_in_their_order(void)
{
    struct rank ranks[WORLD_MAX];
    for (int world = 1; world <= WORLD_MAX; world++)
        run_ranks(ranks, world, gather);
}

/* Ids outside their table are named as the local lookup names them. */
static void an_id_outside_its_table_is_named(void)
{
    struct lookup *l = NULL;
    struct err err = {0};
    struct lookup_conf conf = {0};
    struct embed_table_conf t = {.name = "t", .rows = 10, .dim = 2, .trainable = true};
    int64_t ids[] = {3, 11, 4}, offsets[] = {0, 1, 3};
    CHECK(lookup_create(&dist_sharded_ops, &conf, &l, &err) == RC_OK);
    int table = lookup_add_table(l, &t, &err);
    struct embed_slot_conf f = {.feature = "f", .table = table};
    CHECK_INT(lookup_add_slot(l, &f, &err), 0);
    CHECK_INT(lookup_n_slots(l), 1);
    struct embed_slot_ids slot = {.ids = ids, .offsets = offsets, .rows = 2};
    CHECK_INT(lookup_prepare(l, &slot, true, &err), RC_INVAL);
    CHECK_INT(err.code, E1402);
    CHECK_STR(err.msg,
              "feature 'f': row 1 of the batch: id 11 is outside table 't' of 10 rows");
    CHECK_INT(lookup_n_slots(l), 1);
    lookup_destroy(l);
}

static const struct tap_case cases[] = {
    TAP(shards_follow_each_other_over_ranks),
    TAP(rows_of_a_table_are_kept_by_all_ranks_alike),
    TAP(a_table_with_keys_is_one_ranks),
    TAP(ids_of_a_growing_table_are_spread_by_bucket),
    TAP(sums_are_in_the_order_of_shards_on_any_number_of_ranks),
    TAP(bytes_of_all_ranks_come_in_their_order),
    TAP(an_id_outside_its_table_is_named),
};
TAP_MAIN(cases)
