/* SPDX-License-Identifier: Apache-2.0 */
/* Announcements are those that Open MPI 4.1 prints. */
#include "cmd/mpirun_words.h"

#include <string.h>

#include "tap.h"

#define RULE \
    "--------------------------------------------------------------------------\n"

static struct mpirun_words w;

/* All at once, then byte by byte: pieces of a pipe end anywhere. */
static void feed(const char *text, bool bytes)
{
    mpirun_words_init(&w);
    for (size_t i = 0; bytes && text[i]; i++)
        mpirun_words_feed(&w, text + i, 1);
    if (!bytes)
        mpirun_words_feed(&w, text, strlen(text));
    mpirun_words_end(&w);
}

static void a_killed_rank_is_understood(void)
{
    static const char text[] =
        "step 5  loss 0.1\n" RULE
        "Primary job  terminated normally, but 1 process returned\n"
        "a non-zero exit code. Per user-direction, the job has been aborted.\n" RULE RULE
        "mpirun noticed that process rank 3 with PID 0 on node worker-1 exited on signal 9 "
        "(Killed).\n" RULE "- a line of a rank\n";
    for (int bytes = 0; bytes < 2; bytes++) {
        feed(text, bytes);
        CHECK_STR(buf_str(&w.pass), "step 5  loss 0.1\n- a line of a rank\n");
        CHECK_INT(w.rank, 3);
        CHECK_INT(w.signal, 9);
        CHECK_STR(w.host, "worker-1");
        CHECK_STR(buf_str(&w.other), "");
        CHECK_INT(w.said, false);
        mpirun_words_release(&w);
    }
}

static void an_exit_status_is_understood(void)
{
    feed("trainyard train: error[E1404]: bad\n" RULE
         "mpirun detected that one or more processes exited with non-zero status, thus "
         "causing\nthe job to be terminated. The first process to do so was:\n\n"
         "  Process name: [[30895,1],1]\n  Exit code:    3\n" RULE,
         false);
    CHECK_STR(buf_str(&w.pass), "trainyard train: error[E1404]: bad\n");
    CHECK_INT(w.said, true);
    CHECK_INT(w.rank, 1);
    CHECK_INT(w.code, 3);
    mpirun_words_release(&w);
}

static void what_is_not_understood_is_kept(void)
{
    feed(RULE "There are not enough slots available.\n" RULE, true);
    CHECK_STR(buf_str(&w.pass), "");
    CHECK_STR(buf_str(&w.other), "There are not enough slots available.\n");
    CHECK_INT(w.rank, -1);
    mpirun_words_release(&w);
}

static void a_line_under_way_is_handed_on_at_once(void)
{
    mpirun_words_init(&w);
    mpirun_words_feed(&w, "\r12%  step", 10);
    CHECK_STR(buf_str(&w.pass), "\r12%  step");
    mpirun_words_feed(&w, " 7\n" RULE, strlen(" 7\n" RULE));
    CHECK_STR(buf_str(&w.pass), "\r12%  step 7\n");
    CHECK_INT(w.in_block, true);
    mpirun_words_release(&w);
}

static const struct tap_case cases[] = {
    TAP(a_killed_rank_is_understood),
    TAP(an_exit_status_is_understood),
    TAP(what_is_not_understood_is_kept),
    TAP(a_line_under_way_is_handed_on_at_once),
};
TAP_MAIN(cases)
