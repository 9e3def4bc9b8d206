/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks, threads of one process, of which one has a comm that tells it lies: what another
 * rank sent arrives changed, once, at the n-th call of one method. Numbers of a model may be
 * any then; counts, requests and texts are checked. Each run ends by itself, without a signal,
 * and a run that fails says why.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "comm/comm_wrap.h"
#include "comm/threads.h"
#include "rows.h"
#include "train/trainer.h"

#define ROWS 300
#define TIMEOUT_MS 4000

enum method { BROADCAST, ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, SEND_ALL, COUNTS, METHODS };
enum lie { BELOW, HUGE_NUMBER, ONE_MORE, NOTHING, NOISE, LIES };
static const char *const method_names[METHODS] = {
    [BROADCAST] = "broadcast",   [ALL_REDUCE] = "all_reduce", [ALL_GATHER] = "all_gather",
    [ALL_TO_ALL] = "all_to_all", [SEND_ALL] = "send_all",     [COUNTS] = "counts"};
static const char *const lie_names[LIES] = {[BELOW] = "below 0",
                                            [HUGE_NUMBER] = "huge",
                                            [ONE_MORE] = "one more",
                                            [NOTHING] = "nothing",
                                            [NOISE] = "noise"};

static struct {
    enum method method;
    enum lie lie;
    int rank; /* that hears it */
    int call; /* which one, from 0 */
    _Atomic int calls;
    _Atomic bool told;
} fault;

/* Only of what is as wide as a number: one number among them, or all bytes. */
static void change(void *data, size_t bytes)
{
    struct rng r;
    int64_t v;
    rng_init(&r, (uint64_t)fault.call + 1, 0, 0, 0);
    if (fault.lie == NOTHING)
        memset(data, 0, bytes);
    for (size_t i = 0; fault.lie == NOISE && i < bytes; i++)
        ((unsigned char *)data)[i] = (unsigned char)rng_u64(&r);
    if (fault.lie >= NOTHING || bytes < sizeof(v))
        return;
    size_t at = (size_t)(rng_u64(&r) % (bytes / sizeof(v))) * sizeof(v);
    memcpy(&v, (char *)data + at, sizeof(v));
    v = fault.lie == BELOW ? -1 : fault.lie == HUGE_NUMBER ? INT64_MAX - 1 : v + 1;
    memcpy((char *)data + at, &v, sizeof(v));
}

static enum rc lied(enum rc rc, enum method m, void *data, int64_t n, size_t size)
{
    if (rc || m != fault.method || n <= 0 || !data ||
        atomic_fetch_add(&fault.calls, 1) != fault.call)
        return rc;
    change(data, (size_t)n * size);
    atomic_store(&fault.told, true);
    return rc;
}

static int64_t total(const struct comm *c, const int64_t *counts)
{
    int64_t n = 0;
    for (int r = 0; r < comm_world(c); r++)
        n += counts[r];
    return n;
}

static enum rc garbled_broadcast(struct comm *c, struct comm_mem data, int64_t n,
                                 int root, struct err *err)
{
    enum rc rc = comm_broadcast(comm_inner(c), data, n, root, err);
    return root == comm_rank(c)
               ? rc
               : lied(rc, BROADCAST, data.data, n, comm_type_size(data.type));
}

static enum rc garbled_all_reduce(struct comm *c, struct comm_mem data, int64_t n,
                                  enum comm_op op, struct err *err)
{
    enum rc rc = comm_all_reduce(comm_inner(c), data, n, op, err);
    return lied(rc, ALL_REDUCE, data.data, n, comm_type_size(data.type));
}

static enum rc garbled_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                                  const int64_t *counts, struct err *err)
{
    enum rc rc = comm_all_gather(comm_inner(c), in, out, counts, err);
    return lied(rc, ALL_GATHER, out.data, total(c, counts), comm_type_size(out.type));
}

static enum rc garbled_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                                  struct comm_mem out, const int64_t *receive,
                                  struct err *err)
{
    enum rc rc = comm_all_to_all(comm_inner(c), in, send, out, receive, err);
    return lied(rc, ALL_TO_ALL, out.data, total(c, receive), comm_type_size(out.type));
}

/* What was reserved, beside the receiver's own inbox. */
struct noted {
    const struct comm_inbox *to;
    void *at;
    int64_t n;
};

static void *note_room(void *arg, int64_t n)
{
    struct noted *x = arg;
    x->n = n;
    x->at = x->to->reserve(x->to->arg, n);
    return x->at;
}

static enum rc garbled_send_all(struct comm *c, struct comm_mem in, const int64_t *send,
                                const struct comm_inbox *out, int64_t *receive,
                                struct err *err)
{
    struct noted x = {.to = out};
    struct comm_inbox to = {.type = out->type, .reserve = note_room, .arg = &x};
    enum rc rc = comm_send_all(comm_inner(c), in, send, &to, receive, err);
    rc = lied(rc, SEND_ALL, x.at, x.n, comm_type_size(out->type));
    return lied(rc, COUNTS, receive, comm_world(c), sizeof(*receive));
}

static void garbled_close(struct comm *c)
{
    comm_wrap_release((struct comm_wrap *)c);
    mem_free(c);
}

static struct comm *garble(struct comm *inner);

static enum rc garbled_dup(struct comm *c, struct comm **out, struct err *err)
{
    struct comm *inner = NULL;
    enum rc rc = comm_dup(comm_inner(c), &inner, err);
    if (!rc)
        *out = garble(inner);
    return rc;
}

static enum rc garbled_open(const struct comm_conf *conf, struct comm **out,
                            struct err *err)
{
    struct comm *inner = NULL;
    enum rc rc = comm_open("threads", conf, &inner, err);
    if (!rc)
        *out = garble(inner);
    return rc;
}

static const struct comm_ops garbled_ops = {
    .name = "garbled", .summary = "tells lies", .open = garbled_open};

static struct comm *garble(struct comm *inner)
{
    struct comm_wrap *w = mem_calloc(1, sizeof(*w));
    comm_wrap_init(w, &garbled_ops, inner);
    w->ops.close = garbled_close;
    w->ops.dup = garbled_dup;
    w->ops.broadcast = garbled_broadcast;
    w->ops.all_reduce = garbled_all_reduce;
    w->ops.all_gather = garbled_all_gather;
    w->ops.all_to_all = garbled_all_to_all;
    w->ops.send_all = garbled_send_all;
    return &w->comm;
}

struct one {
    struct comm_group *group;
    const char *config;
    int rank;
    enum rc rc;
    struct err err;
};

static void train(struct one *w, struct comm *comm)
{
    struct conf conf = {0};
    struct diags diags = {0};
    struct train_result result = {0};
    char *text =
        mem_printf("train_input_path: \"rows.csv\" eval_input_path: \"rows.csv\" "
                   "%s",
                   w->config);
    rows_conf(text, &conf, &diags);
    ((struct pc_EasyRecConfig *)conf.data)->model_dir = "model";
    struct train_options o = {
        .conf = &conf, .threads = 1, .seed = 9, .comm = comm, .shards = 4};
    w->rc = train_run(&o, &result, &diags, &w->err);
    if (w->rc)
        comm_abort(comm, &w->err);
    train_result_release(&result);
    diags_release(&diags);
    conf_release(&conf);
    mem_free(text);
}

static void *rank_thread(void *arg)
{
    struct one *w = arg;
    struct comm_conf conf = {.rank = w->rank, .world = 2, .group = w->group};
    struct comm *c = NULL;
    CHECK(comm_open("threads", &conf, &c, &w->err) == RC_OK);
    c = w->rank == fault.rank ? garble(c) : c;
    train(w, c);
    comm_close(c);
    return NULL;
}

static void two_ranks(struct one w[2], const char *config)
{
    struct comm_group *g = comm_group_create(2, TIMEOUT_MS);
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        w[i] = (struct one){.group = g, .rank = i, .config = config};
        CHECK(pthread_create(&t[i], NULL, rank_thread, &w[i]) == 0);
    }
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(t[i], NULL) == 0);
    comm_group_unref(g);
}

static char *enter(void)
{
    struct err err = {0};
    char *top = NULL;
    int64_t rows[ROWS];
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = i;
    CHECK(fs_temp_dir("trainyard-garbled", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    rows_write("rows.csv", rows, ROWS);
    return top;
}

static void leave(char *top)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

/* Whether there was such a call. */
static bool run_with(enum method m, enum lie lie, int call, int rank)
{
    struct one w[2];
    fault.rank = rank;
    fault.method = m;
    fault.lie = lie;
    fault.call = call;
    atomic_store(&fault.calls, 0);
    atomic_store(&fault.told, false);
    CHECK(fs_remove_all("model", NULL) == RC_OK);
    two_ranks(w, rows_deepfm);
    if (getenv("TY_TEST_SHOW"))
        printf("# %s, %s, call %d, rank %d: %d %s | %d %s\n", method_names[m],
               lie_names[lie], call, rank, w[0].rc, w[0].err.msg, w[1].rc, w[1].err.msg);
    for (int i = 0; i < 2; i++)
        CHECK(!w[i].rc == !w[i].err.msg[0]);
    return atomic_load(&fault.told);
}

static int calls_each(void)
{
    const char *text = getenv("TY_TEST_CALLS");
    return text ? atoi(text) : 3;
}

static void lies_of(enum method m)
{
    char *top = enter();
    bool any = false;
    for (int lie = 0; lie < LIES; lie++)
        for (int call = 0; call < calls_each(); call++) {
            bool first = run_with(m, (enum lie)lie, call, call % 2);
            any = any || first;
        }
    CHECK(any);
    leave(top);
}

static void what_a_broadcast_brings_is_checked(void)
{
    lies_of(BROADCAST);
}

static void what_a_reduction_brings_is_checked(void)
{
    lies_of(ALL_REDUCE);
}

static void what_is_gathered_is_checked(void)
{
    lies_of(ALL_GATHER);
}

static void what_all_send_is_checked(void)
{
    lies_of(ALL_TO_ALL);
}

static void messages_of_unknown_length_are_checked(void)
{
    lies_of(SEND_ALL);
}

static void lengths_of_messages_are_checked(void)
{
    lies_of(COUNTS);
}

static const struct tap_case cases[] = {
    TAP(what_a_broadcast_brings_is_checked),
    TAP(what_a_reduction_brings_is_checked),
    TAP(what_is_gathered_is_checked),
    TAP(what_all_send_is_checked),
    TAP(messages_of_unknown_length_are_checked),
    TAP(lengths_of_messages_are_checked),
};
TAP_MAIN(cases)
