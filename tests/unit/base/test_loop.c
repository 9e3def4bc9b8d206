/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/loop_private.h"
#include "base/mem.h"
#include "base/proc_private.h"
#include "base/str.h"
#include "tap.h"

#define MS INT64_C(1000000)

static struct loop *make(void)
{
    struct loop *l = NULL;
    struct err err = {0};
    CHECK(loop_create(3, &l, &err) == RC_OK);
    return l;
}

static void run(struct loop *l)
{
    struct err err = {0};
    CHECK(loop_run(l, &err) == RC_OK);
    CHECK_STR(err.msg, "");
}

static void stop(void *arg)
{
    loop_stop(arg);
}

/* What a case writes down while the loop runs. */
struct notes {
    struct loop *l;
    char text[256];
    struct loop_timer t[8];
    struct loop_fd fd[4];
    int left;
};

static void note(struct notes *n, const char *word)
{
    size_t at = strlen(n->text);
    snprintf(n->text + at, sizeof(n->text) - at, "%s%s", at ? " " : "", word);
}

static void note_a(void *arg)
{
    note(arg, "a");
}

static void note_b(void *arg)
{
    note(arg, "b");
}

static void note_c_and_stop(void *arg)
{
    struct notes *n = arg;
    note(n, "c");
    loop_stop(n->l);
}

static void timers_fire_in_order(void)
{
    int64_t live = mem_live();
    struct notes n = {.l = make()};
    loop_timer_start(n.l, &n.t[0], 30 * MS, 0, note_c_and_stop, &n);
    loop_timer_start(n.l, &n.t[1], 0, 0, note_a, &n);
    loop_timer_start(n.l, &n.t[2], 0, 0, note_b, &n);
    loop_timer_start(n.l, &n.t[3], 10 * MS, 0, note_b, &n);
    loop_timer_start(n.l, &n.t[4], 5 * MS, 0, note_a, &n);
    loop_timer_start(n.l, &n.t[5], 1 * MS, 0, note_b, &n);
    loop_timer_stop(&n.t[5]);
    loop_timer_stop(&n.t[5]);
    loop_timer_start(n.l, &n.t[6], -5, 0, note_a, &n);
    loop_timer_start(n.l, &n.t[7], INT64_MAX, 0, note_a, &n);
    run(n.l);
    CHECK_STR(n.text, "a b a a b c");
    CHECK(n.t[0].loop == NULL && n.t[7].loop == n.l);
    loop_timer_stop(&n.t[7]);
    loop_destroy(n.l);
    CHECK_INT(mem_live(), live);
}

static void beat(void *arg)
{
    struct notes *n = arg;
    note(n, "x");
    if (--n->left == 0) {
        loop_timer_stop(&n->t[0]);
        loop_stop(n->l);
    }
}

static void again(void *arg)
{
    struct notes *n = arg;
    if (--n->left)
        loop_timer_start(n->l, &n->t[1], 0, 0, again, n);
    else
        loop_stop(n->l);
}

static void timers_repeat_and_restart_themselves(void)
{
    struct notes n = {.l = make(), .left = 4};
    loop_timer_start(n.l, &n.t[0], 0, 1 * MS, beat, &n);
    run(n.l);
    CHECK_STR(n.text, "x x x x");
    CHECK(n.t[0].loop == NULL);
    n.left = 500;
    loop_timer_start(n.l, &n.t[1], 0, 0, again, &n);
    run(n.l);
    CHECK_INT(n.left, 0);
    loop_destroy(n.l);
}

struct due {
    struct loop_timer t;
    int64_t *last;
    int *count;
};

static void check_order(void *arg)
{
    struct due *d = arg;
    CHECK(d->t.due >= *d->last);
    *d->last = d->t.due;
    ++*d->count;
}

static void many_timers_keep_their_order(void)
{
    enum { N = 500 };
    static struct due d[N];
    int64_t last = 0;
    int count = 0;
    struct notes n = {.l = make()};
    for (size_t i = 0; i < N; i++) {
        d[i] = (struct due){.last = &last, .count = &count};
        loop_timer_start(n.l, &d[i].t, (int64_t)((i * 7919) % N) * 1000, 0, check_order,
                         &d[i]);
    }
    for (size_t i = 0; i < N; i += 3)
        loop_timer_stop(&d[i].t);
    for (size_t i = 1; i < N; i += 30) /* moves it */
        loop_timer_start(n.l, &d[i].t, (int64_t)i * 1000, 0, check_order, &d[i]);
    loop_timer_start(n.l, &n.t[0], 20 * MS, 0, note_c_and_stop, &n);
    run(n.l);
    CHECK_INT(count, N - (N + 2) / 3);
    loop_destroy(n.l);
}

static void on_read(void *arg, int fd, unsigned events)
{
    struct notes *n = arg;
    char text[32];
    ssize_t got = read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    note(n, got > 0 ? text : "end");
    if (got <= 0) {
        CHECK(events & (LOOP_HANGUP | LOOP_READ));
        loop_fd_stop(&n->fd[0]);
        loop_stop(n->l);
    }
}

static void on_write(void *arg, int fd, unsigned events)
{
    struct notes *n = arg;
    CHECK_INT(events, LOOP_WRITE);
    CHECK(write(fd, "hello", 5) == 5);
    loop_fd_stop(&n->fd[1]);
    close(fd);
}

static void files_are_watched(void)
{
    struct notes n = {.l = make()};
    int fds[2];
    CHECK(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    CHECK(loop_fd_start(n.l, &n.fd[0], fds[0], LOOP_READ, on_read, &n, NULL) == RC_OK);
    CHECK(loop_fd_start(n.l, &n.fd[1], fds[1], LOOP_WRITE, on_write, &n, NULL) == RC_OK);
    run(n.l);
    CHECK_STR(n.text, "hello end");
    close(fds[0]);
    loop_fd_stop(&n.fd[0]);
    loop_destroy(n.l);
}

static void events_can_be_turned_off_and_on(void)
{
    struct notes n = {.l = make()};
    int fds[2];
    CHECK(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    CHECK(loop_fd_start(n.l, &n.fd[0], fds[0], 0, on_read, &n, NULL) == RC_OK);
    CHECK(write(fds[1], "x", 1) == 1);
    CHECK(loop_step(n.l, 0, NULL) == RC_OK);
    CHECK_STR(n.text, "");
    loop_fd_change(&n.fd[0], LOOP_READ);
    CHECK(loop_step(n.l, -1, NULL) == RC_OK);
    CHECK_STR(n.text, "x");
    CHECK(loop_step(n.l, 2 * MS, NULL) == RC_OK);
    loop_fd_stop(&n.fd[0]);
    close(fds[0]);
    close(fds[1]);
    loop_destroy(n.l);
}

/* Both files are ready; whoever is called first stops the other. */
static void stop_both(void *arg, int fd, unsigned events)
{
    struct notes *n = arg;
    note(n, "once");
    loop_fd_stop(&n->fd[0]);
    loop_fd_stop(&n->fd[1]);
    loop_stop(n->l);
}

static void a_stopped_file_is_not_called_in_the_same_round(void)
{
    struct notes n = {.l = make()};
    int fds[4];
    CHECK(pipe2(fds, O_CLOEXEC) == 0 && pipe2(fds + 2, O_CLOEXEC) == 0);
    CHECK(write(fds[1], "x", 1) == 1 && write(fds[3], "x", 1) == 1);
    for (int i = 0; i < 2; i++)
        CHECK(loop_fd_start(n.l, &n.fd[i], fds[2 * i], LOOP_READ, stop_both, &n, NULL) ==
              RC_OK);
    run(n.l);
    CHECK(loop_step(n.l, 0, NULL) == RC_OK);
    CHECK_STR(n.text, "once");
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    loop_destroy(n.l);
}

static void files_that_cannot_be_watched_are_refused(void)
{
    struct loop *l = make();
    struct loop_fd w = {0};
    struct loop_signal s = {0};
    struct err err = {0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char want[64];
    snprintf(want, sizeof(want), "file %d cannot be waited for", fd);
    CHECK(loop_fd_start(l, &w, fd, LOOP_READ, NULL, NULL, &err) == RC_INVAL);
    CHECK_STR(err.msg, want);
    CHECK(w.loop == NULL);
    close(fd);
    CHECK(loop_fd_start(l, &w, -1, LOOP_READ, NULL, NULL, &err) == RC_IO);
    CHECK_STR(err.msg, "cannot wait for file -1: Bad file descriptor");
    CHECK(loop_signal_start(l, &s, 9999, NULL, NULL, &err) == RC_INVAL);
    CHECK_STR(err.msg, "there is no signal 9999");
    loop_destroy(l);
    CHECK(loop_create(0, &l, &err) == RC_INVAL);
    CHECK_STR(err.msg, "threads of a loop: 0 is outside [1, 64]");
    loop_destroy(NULL);
}

static struct loop_signal sig[3];

static void on_signal(void *arg, int signal)
{
    struct notes *n = arg;
    note(n, signal == SIGUSR1 ? "usr1" : "usr2");
    if (signal == SIGUSR2) {
        loop_signal_stop(&sig[0]);
        loop_signal_stop(&sig[1]);
        loop_signal_stop(&sig[2]);
        loop_stop(n->l);
    }
}

static void signals_arrive_as_calls(void)
{
    struct notes n = {.l = make()};
    memset(sig, 0, sizeof(sig));
    CHECK(loop_signal_start(n.l, &sig[0], SIGUSR1, on_signal, &n, NULL) == RC_OK);
    CHECK(loop_signal_start(n.l, &sig[1], SIGUSR2, on_signal, &n, NULL) == RC_OK);
    CHECK(loop_signal_start(n.l, &sig[2], SIGUSR2, on_signal, &n, NULL) == RC_OK);
    raise(SIGUSR1);
    CHECK(loop_step(n.l, -1, NULL) == RC_OK);
    CHECK_STR(n.text, "usr1");
    raise(SIGUSR2);
    run(n.l);
    CHECK_STR(n.text, "usr1 usr2"); /* the first one stopped the second */
    raise(SIGUSR1);                 /* stays blocked: we are still here */
    CHECK(loop_step(n.l, 0, NULL) == RC_OK);
    CHECK_STR(n.text, "usr1 usr2");
    loop_destroy(n.l);
}

static void on_child(void *arg, struct proc_exit exit)
{
    struct notes *n = arg;
    char words[PROC_WORDS_SIZE];
    proc_exit_words(exit, words);
    note(n, words);
    if (--n->left == 0)
        loop_stop(n->l);
}

static struct proc *child(const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct proc_spec spec = {.argv = argv, .in = {.kind = PROC_PIPE}};
    struct proc *p = NULL;
    CHECK(proc_start(&spec, &p, NULL) == RC_OK);
    return p;
}

static void watch_children(bool pidfd)
{
    struct notes n = {.l = make(), .left = 2};
    struct loop_child c[3] = {{0}};
    struct proc *p[3] = {child("exit 3"), child("read x; kill -9 $$"), child("read x")};
    struct proc_exit exit;
    if (!pidfd)
        for (int i = 0; i < 3; i++)
            proc_drop_pidfd(p[i]);
    for (int i = 0; i < 3; i++)
        CHECK(loop_child_start(n.l, &c[i], p[i], on_child, &n, NULL) == RC_OK);
    loop_child_stop(&c[2]);
    loop_child_stop(&c[2]);
    while (!n.text[0])
        CHECK(loop_step(n.l, -1, NULL) == RC_OK);
    CHECK_STR(n.text, "exit status 3");
    proc_pipe_close(p[1], 0);
    proc_pipe_close(p[2], 0);
    run(n.l);
    CHECK_STR(n.text, "exit status 3 killed by SIGKILL");
    CHECK(c[0].loop == NULL && c[1].loop == NULL);
    CHECK(proc_poll(p[0], &exit) && exit.code == 3); /* known, though reaped */
    CHECK(proc_wait(p[2], -1, &exit) && exit.code != 0);
    for (int i = 0; i < 3; i++)
        proc_destroy(p[i]);
    loop_destroy(n.l);
}

static void ends_of_children_arrive(void)
{
    watch_children(true);
}

static void ends_of_children_arrive_without_pidfds(void)
{
    watch_children(false);
}

struct item {
    struct loop_work w;
    struct notes *n;
    pthread_t ran_on;
    int value;
    bool canceled;
};

static void square(void *arg)
{
    struct item *it = arg;
    it->ran_on = pthread_self();
    it->value *= it->value;
}

static void collect(void *arg, bool canceled)
{
    struct item *it = arg;
    it->canceled = canceled;
    if (--it->n->left == 0)
        loop_stop(it->n->l);
}

static void work_runs_elsewhere_and_is_done_here(void)
{
    enum { N = 200 };
    static struct item items[N];
    struct notes n = {.l = make(), .left = N};
    for (int i = 0; i < N; i++) {
        items[i] = (struct item){.n = &n, .value = i};
        loop_work_start(n.l, &items[i].w, square, collect, &items[i]);
    }
    run(n.l);
    for (int i = 0; i < N; i++) {
        CHECK_INT(items[i].value, i * i);
        CHECK(!items[i].canceled && !pthread_equal(items[i].ran_on, pthread_self()));
    }
    loop_destroy(n.l);
}

static atomic_int gate; /* 0 closed, 1 open */
static atomic_int inside;

static void wait_for_gate(void *arg)
{
    atomic_fetch_add(&inside, 1);
    while (!atomic_load(&gate))
        usleep(100);
}

/* Once loop_destroy() has begun. */
static void *open_gate(void *arg)
{
    struct loop *l = arg;
    bool closing = false;
    while (!closing) {
        pthread_mutex_lock(&l->lock);
        closing = l->closing;
        pthread_mutex_unlock(&l->lock);
    }
    atomic_store(&gate, 1);
    return NULL;
}

static void destroying_cancels_what_has_not_begun(void)
{
    struct notes n = {.l = NULL, .left = 100};
    struct item busy = {.n = &n, .canceled = true}, queued = {.n = &n, .value = 5};
    CHECK(loop_create(1, &n.l, NULL) == RC_OK);
    atomic_store(&gate, 0);
    atomic_store(&inside, 0);
    loop_work_start(n.l, &busy.w, wait_for_gate, collect, &busy);
    loop_work_start(n.l, &queued.w, square, collect, &queued);
    while (!atomic_load(&inside))
        usleep(100);
    loop_post(n.l, note_a, &n);
    pthread_t opener;
    CHECK(pthread_create(&opener, NULL, open_gate, n.l) == 0);
    loop_destroy(n.l);
    pthread_join(opener, NULL);
    CHECK(!busy.canceled);
    CHECK_INT(n.left, 98);
    CHECK_STR(n.text, "a");
    CHECK(queued.canceled && queued.value == 5);
}

static void *post_many(void *arg)
{
    struct notes *n = arg;
    for (int i = 0; i < 100; i++)
        loop_post(n->l, note_a, n);
    loop_post(n->l, note_c_and_stop, n);
    return NULL;
}

static void other_threads_may_post_and_stop(void)
{
    static struct notes n;
    n = (struct notes){.l = make()};
    pthread_t t;
    CHECK(pthread_create(&t, NULL, post_many, &n) == 0);
    run(n.l);
    pthread_join(t, NULL);
    CHECK_INT(strlen(n.text), 201); /* 100 times "a ", then "c" */
    CHECK(n.text[200] == 'c');
    loop_stop(n.l);
    run(n.l); /* a stop before the run counts */
    loop_post(n.l, stop, n.l);
    run(n.l);
    loop_destroy(n.l);
}

static const struct tap_case cases[] = {
    TAP(timers_fire_in_order),
    TAP(timers_repeat_and_restart_themselves),
    TAP(many_timers_keep_their_order),
    TAP(files_are_watched),
    TAP(events_can_be_turned_off_and_on),
    TAP(a_stopped_file_is_not_called_in_the_same_round),
    TAP(files_that_cannot_be_watched_are_refused),
    TAP(signals_arrive_as_calls),
    TAP(ends_of_children_arrive),
    TAP(ends_of_children_arrive_without_pidfds),
    TAP(work_runs_elsewhere_and_is_done_here),
    TAP(destroying_cancels_what_has_not_begun),
    TAP(other_threads_may_post_and_stop),
};
TAP_MAIN(cases)
