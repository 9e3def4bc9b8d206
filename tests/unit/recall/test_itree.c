/* SPDX-License-Identifier: Apache-2.0 */
#include "recall/itree.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tap.h"

static int64_t order[64];

static void order_of(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
}

/* Codes by hand: halves of 0 1 2 3 4, the first half the last child. */
static void five_items_make_this_tree(void)
{
    static const int64_t codes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13};
    static const int64_t rows[] = {4, 3, 2, 1, 0}, levels[] = {0, 1, 3, 7, 12};
    struct itree t;
    order_of(5);
    CHECK(itree_by_order(order, 5, 2, &t, NULL) == RC_OK);
    CHECK_INT(t.n_levels, 4);
    CHECK_INT(t.n, ARRAY_LEN(codes));
    CHECK_INT(itree_leaves(&t), 5);
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        CHECK_INT(t.codes[i], codes[i]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_INT(t.rows[i], rows[i]);
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        CHECK_INT(t.level_at[i], levels[i]);
    /* leaves below the first child of the root: items 4, 3, 2 */
    CHECK_INT(t.leaf_from[1], 0);
    CHECK_INT(t.leaf_to[1], 3);
    CHECK_INT(t.parent[11], 6);
    itree_release(&t);
}

/* Whatever the size: all leaves on the last level, no deeper than it must be, children
 * where their parents say.
 */
static void check_tree(const struct itree *t, int64_t n, int64_t branch)
{
    int64_t depth = 1, room = branch;
    for (; room < n; room *= branch)
        depth++;
    CHECK_INT(t->n_levels, depth + 1);
    CHECK_INT(itree_leaves(t), n);
    bool seen[64] = {false};
    for (int64_t i = 0; i < n; i++)
        seen[t->rows[i]] = true;
    for (int64_t i = 0; i < n; i++)
        CHECK(seen[i]);
    CHECK_INT(t->parent[0], -1);
    for (int64_t l = 0; l + 1 < t->n_levels; l++)
        for (int64_t k = t->level_at[l]; k < t->level_at[l + 1]; k++) {
            int64_t kids = t->child_at[k + 1] - t->child_at[k], leaves = 0;
            CHECK(kids >= 1 && kids <= branch);
            for (int64_t c = t->child_at[k]; c < t->child_at[k + 1]; c++) {
                CHECK_INT(t->parent[c], k);
                CHECK_INT((t->codes[c] - 1) / branch, t->codes[k]);
                leaves += t->leaf_to[c] - t->leaf_from[c];
            }
            CHECK_INT(t->leaf_to[k] - t->leaf_from[k], leaves);
        }
    CHECK_INT(t->leaf_to[0] - t->leaf_from[0], n);
}

static void trees_of_all_sizes_are_whole(void)
{
    float x[64 * 2];
    struct rng r;
    rng_init(&r, 5, 0, 0, 0);
    rng_fill_uniform(&r, -1, 1, x, 128);
    for (int64_t branch = 2; branch <= 5; branch++)
        for (int64_t n = 1; n <= 60; n += n < 20 ? 1 : 7) {
            struct itree t;
            order_of(n);
            CHECK(itree_by_order(order, n, branch, &t, NULL) == RC_OK);
            check_tree(&t, n, branch);
            itree_release(&t);
            struct itree_cluster conf = {.branch = branch, .iterations = 5, .seed = 2};
            CHECK(itree_by_vectors(x, n, 2, &conf, &t, NULL) == RC_OK);
            check_tree(&t, n, branch);
            itree_release(&t);
        }
}

/* Parts of a node differ by one item at most. */
static void clustering_is_even(void)
{
    enum { N = 61 };
    float x[N * 2];
    for (int64_t i = 0; i < N; i++) { /* most points in one place */
        x[2 * i] = i < 50 ? 0.001f * (float)i : (float)i;
        x[2 * i + 1] = 0;
    }
    for (int64_t branch = 2; branch <= 4; branch++) {
        struct itree t;
        struct itree_cluster conf = {.branch = branch, .iterations = 9, .seed = 4};
        CHECK(itree_by_vectors(x, N, 2, &conf, &t, NULL) == RC_OK);
        for (int64_t k = 0; k < t.n; k++) {
            int64_t least = N, most = 0, n = t.child_at[k + 1] - t.child_at[k];
            for (int64_t c = t.child_at[k]; c < t.child_at[k + 1]; c++) {
                int64_t size = t.leaf_to[c] - t.leaf_from[c];
                least = size < least ? size : least;
                most = size > most ? size : most;
            }
            if (n == branch)
                CHECK(most - least <= 1);
        }
        itree_release(&t);
    }
}

/* Four groups of eight, far apart: each is one subtree. */
static void groups_become_subtrees(void)
{
    enum { N = 32 };
    float x[N * 2];
    struct itree t;
    struct itree_cluster conf = {.branch = 2, .iterations = 25, .seed = 1};
    struct rng r;
    rng_init(&r, 9, 0, 0, 0);
    for (int64_t i = 0; i < N; i++) {
        x[2 * i] = (float)(i % 2) * 100 + rng_f32(&r);
        x[2 * i + 1] = (float)(i / 2 % 2) * 10 + rng_f32(&r);
    }
    CHECK(itree_by_vectors(x, N, 2, &conf, &t, NULL) == RC_OK);
    for (int64_t k = t.level_at[2]; k < t.level_at[3]; k++)
        for (int64_t i = t.leaf_from[k]; i < t.leaf_to[k]; i++)
            CHECK_INT(t.rows[i] % 4, t.rows[t.leaf_from[k]] % 4);
    itree_release(&t);
}

static void threads_do_not_change_the_tree(void)
{
    enum { N = 40000, D = 4 }; /* enough for threads to share a node */
    float *x = mem_alloc(N * D * sizeof(float));
    struct itree t[2];
    struct rng r;
    rng_init(&r, 1, 0, 0, 0);
    rng_fill_uniform(&r, -1, 1, x, (size_t)N * D);
    for (int i = 0; i < 2; i++) {
        struct pool *pool = NULL;
        CHECK(pool_create(1 + 2 * i, &pool, NULL) == RC_OK);
        struct itree_cluster conf = {
            .branch = 2, .iterations = 2, .seed = 6, .pool = pool};
        CHECK(itree_by_vectors(x, N, D, &conf, &t[i], NULL) == RC_OK);
        pool_destroy(pool);
    }
    CHECK(memcmp(t[0].rows, t[1].rows, N * sizeof(int64_t)) == 0);
    CHECK_INT(t[0].n, t[1].n);
    itree_release(&t[0]);
    itree_release(&t[1]);
    mem_free(x);
}

static void one_place_for_two_is_refused(void)
{
    static const int64_t codes[] = {1, 2, 1};
    struct itree t;
    struct err err = {0};
    CHECK(itree_build(codes, 3, 2, &t, &err) == RC_INVAL);
    CHECK_STR(err.msg, "items 0 and 2 have one place in the tree");
}

static void without_memory_it_says_so(void)
{
    float x[30];
    struct rng r;
    rng_init(&r, 3, 0, 0, 0);
    rng_fill_uniform(&r, 0, 1, x, 30);
    int64_t live = mem_live(), n = 0;
    for (enum rc rc = RC_NOMEM; rc; n++) {
        struct itree t = {0};
        struct itree_cluster conf = {.branch = 2, .iterations = 3};
        struct err err = {0};
        mem_fail_at(n + 1);
        rc = itree_by_vectors(x, 15, 2, &conf, &t, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        CHECK(rc == RC_OK || err.msg[0]);
        itree_release(&t);
    }
    CHECK(n > 20);
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(five_items_make_this_tree),
    TAP(trees_of_all_sizes_are_whole),
    TAP(clustering_is_even),
    TAP(groups_become_subtrees),
    TAP(threads_do_not_change_the_tree),
    TAP(one_place_for_two_is_refused),
    TAP(without_memory_it_says_so),
};
TAP_MAIN(cases)
