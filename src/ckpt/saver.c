/* SPDX-License-Identifier: Apache-2.0 */
/* A thread per save: saves are minutes apart, and a thread that waits in between would be
 * one more thing to stop. fork() would spare the copy, but a child of a program with
 * threads, GPU contexts or MPI may do next to nothing.
 */
#include "ckpt/saver.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/mem.h"

struct ckpt_saver {
    char *model_dir;
    int64_t keep;
    bool started; /* `thread` is to be joined */
    pthread_t thread;
    atomic_bool busy;
    /* Of the save in flight; the thread's until it is joined. */
    struct ckpt_writer *w;
    int64_t best;
    enum rc rc;
    struct err err;
};

struct ckpt_saver *ckpt_saver_create(const struct ckpt_saver_conf *conf)
{
    struct ckpt_saver *s = mem_calloc(1, sizeof(*s));
    s->model_dir = mem_strdup(conf->model_dir);
    s->keep = conf->keep;
    return s;
}

static void *saver_thread(void *arg)
{
    struct ckpt_saver *s = arg;
    s->err = (struct err){0};
    s->rc = ckpt_commit(s->w, &s->err);
    s->w = NULL;
    if (!s->rc && s->keep > 0)
        s->rc = ckpt_prune(s->model_dir, s->keep, s->best, &s->err);
    atomic_store(&s->busy, false);
    return NULL;
}

/* Signals are for the threads that were there before. */
static int start_thread(struct ckpt_saver *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int errnum = pthread_create(&s->thread, NULL, saver_thread, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return errnum;
}

enum rc ckpt_saver_wait(struct ckpt_saver *s, struct err *err)
{
    if (s->started)
        pthread_join(s->thread, NULL);
    s->started = false;
    enum rc rc = s->rc;
    if (rc)
        err_coded(err, rc, err_code_of(&s->err, rc), "%s", s->err.msg);
    s->rc = RC_OK;
    return rc;
}

enum rc ckpt_saver_start(struct ckpt_saver *s, struct ckpt_writer *w, int64_t best,
                         struct err *err)
{
    enum rc rc = ckpt_saver_wait(s, err);
    s->w = w;
    s->best = best;
    atomic_store(&s->busy, true);
    if (ckpt_detach(w, NULL) == RC_OK && start_thread(s) == 0)
        s->started = true;
    else
        saver_thread(s);
    return rc;
}

bool ckpt_saver_busy(const struct ckpt_saver *s)
{
    return atomic_load(&s->busy);
}

void ckpt_saver_destroy(struct ckpt_saver *s)
{
    if (!s)
        return;
    (void)!ckpt_saver_wait(s, NULL);
    mem_free(s->model_dir);
    mem_free(s);
}
