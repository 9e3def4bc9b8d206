/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks, threads of one process, of which one has a lookup or a comm that breaks its
 * contract: all ranks end with what that rank has to say, and none by a signal.
 */
#include <pthread.h>
#include <unistd.h>

#include "ckpt/ckpt.h"
#include "comm/comm_private.h"
#include "comm/threads.h"
#include "embed/lookup_wrap.h"
#include "rows.h"
#include "train/trainer.h"

#define ROWS 500

static struct {
    bool store_gone, mute; /* what rank 1's snapshots do */
} fault;

static _Thread_local int own_rank;

static enum rc mute_read(const void *arg, int column, int64_t from, int64_t n, void *out,
                         struct err *err)
{
    return RC_IO;
}

static enum rc faulty_snapshot(struct lookup *l, int table, bool whole,
                               struct lookup_snapshot **out, struct err *err)
{
    if (own_rank == 1 && fault.store_gone)
        return err_set(err, RC_IO, "the store of this rank is gone");
    enum rc rc = lookup_snapshot(lookup_inner(l), table, whole, out, err);
    if (!rc && own_rank == 1 && fault.mute)
        (*out)->image.read = mute_read;
    return rc;
}

static void faulty_destroy(struct lookup *l)
{
    lookup_wrap_release((struct lookup_wrap *)l);
    mem_free(l);
}

static enum rc faulty_create(const struct lookup_conf *conf, struct lookup **out,
                             struct err *err);

static const struct lookup_ops faulty_ops = {
    .name = "faulty", .summary = "breaks its contract", .create = faulty_create};

static enum rc faulty_create(const struct lookup_conf *conf, struct lookup **out,
                             struct err *err)
{
    struct lookup *inner = NULL;
    enum rc rc = lookup_create(NULL, conf, &inner, err);
    if (rc)
        return rc;
    struct lookup_wrap *w = mem_calloc(1, sizeof(*w));
    lookup_wrap_init(w, &faulty_ops, inner);
    w->ops.destroy = faulty_destroy;
    w->ops.snapshot = faulty_snapshot;
    *out = &w->lookup;
    return RC_OK;
}

struct one {
    struct comm_group *group;
    int rank;
    enum rc rc;
    struct err err;
};

static void train(struct one *w, struct comm *comm)
{
    struct conf conf = {0};
    struct diags diags = {0};
    struct train_result result = {0};
    char *text = mem_printf("train_input_path: \"rows.csv\" %s", rows_deepfm);
    rows_conf(text, &conf, &diags);
    ((struct pc_EasyRecConfig *)conf.data)->model_dir = "model";
    struct train_options o = {
        .conf = &conf, .threads = 1, .seed = 9, .comm = comm, .lookup = &faulty_ops};
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
    own_rank = w->rank;
    CHECK(comm_open("threads", &conf, &c, &w->err) == RC_OK);
    train(w, c);
    comm_close(c);
    return NULL;
}

static void two_ranks(struct one w[2])
{
    struct comm_group *g = comm_group_create(2, 20000);
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        w[i] = (struct one){.group = g, .rank = i};
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
    CHECK(fs_temp_dir("trainyard-faulty", &top, &err) == RC_OK);
    CHECK(chdir(top) == 0);
    rows_write("rows.csv", rows, ROWS);
    memset(&fault, 0, sizeof(fault));
    return top;
}

static void leave(char *top)
{
    CHECK(chdir("/") == 0);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static void check_both_say(const char *said)
{
    struct one w[2];
    int64_t last = -1;
    two_ranks(w);
    for (int i = 0; i < 2; i++) {
        CHECK(w[i].rc != RC_OK);
        CHECK_HAS(w[i].err.msg, said);
    }
    CHECK(ckpt_latest("model", &last, NULL) != RC_OK || last < 0);
}

static void a_snapshot_that_fails_on_one_rank_is_told_by_all(void)
{
    char *top = enter();
    fault.store_gone = true;
    check_both_say("the store of this rank is gone");
    leave(top);
}

static void a_read_that_fails_without_a_word_on_one_rank_is_named_by_all(void)
{
    char *top = enter();
    fault.mute = true;
    check_both_say("image 'of a table': read() failed without a message (i/o)");
    leave(top);
}

static const struct tap_case cases[] = {
    TAP(a_snapshot_that_fails_on_one_rank_is_told_by_all),
    TAP(a_read_that_fails_without_a_word_on_one_rank_is_named_by_all),
};
TAP_MAIN(cases)
