/* SPDX-License-Identifier: Apache-2.0 */
/* epoll for files, a heap for timers (a timerfd each would cost a system call per
 * change), one signalfd, pidfds for children, and an eventfd that other threads write to.
 *
 * Callbacks may stop any watcher. Files: events of this round that wait for a stopped one
 * are struck out. Lists of signals and children are walked with a cursor that stopping
 * moves on. Work on other threads is in loop_work.c.
 */
#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop_private.h"
#include "base/mem.h"

static uint32_t to_epoll(unsigned events)
{
    return (events & LOOP_READ ? (uint32_t)EPOLLIN : 0u) |
           (events & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0u);
}

static unsigned from_epoll(uint32_t events)
{
    return (events & (EPOLLIN | EPOLLRDHUP) ? (unsigned)LOOP_READ : 0u) |
           (events & EPOLLOUT ? (unsigned)LOOP_WRITE : 0u) |
           (events & (EPOLLHUP | EPOLLERR) ? (unsigned)LOOP_HANGUP : 0u);
}

enum rc loop_fd_start(struct loop *l, struct loop_fd *w, int fd, unsigned events,
                      loop_fd_fn *fn, void *arg, struct err *err)
{
    struct epoll_event e = {.events = to_epoll(events), .data.ptr = w};
    loop_fd_stop(w);
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
        if (errno == EPERM)
            return err_set(err, RC_INVAL, "file %d cannot be waited for", fd);
        return err_sys(err, errno, "cannot wait for file %d", fd);
    }
    *w = (struct loop_fd){.loop = l, .fd = fd, .events = events, .fn = fn, .arg = arg};
    return RC_OK;
}

void loop_fd_change(struct loop_fd *w, unsigned events)
{
    struct epoll_event e = {.events = to_epoll(events), .data.ptr = w};
    if (w->loop && w->events != events)
        epoll_ctl(w->loop->epoll, EPOLL_CTL_MOD, w->fd, &e);
    w->events = events;
}

void loop_fd_stop(struct loop_fd *w)
{
    struct loop *l = w->loop;
    if (!l)
        return;
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    for (int i = 0; i < l->n_events; i++)
        if (l->events[i].data.ptr == w)
            l->events[i].data.ptr = NULL;
    w->loop = NULL;
}

/* Timers: a binary heap, the one due first on top. */

static bool loop_earlier(const struct loop_timer *a, const struct loop_timer *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void loop_place(struct loop *l, struct loop_timer *t, size_t at)
{
    l->timers.at[at] = t;
    t->at = at;
}

static void sift(struct loop *l, struct loop_timer *t, size_t at)
{
    while (at && loop_earlier(t, l->timers.at[(at - 1) / 2])) {
        loop_place(l, l->timers.at[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= l->timers.n)
            break;
        if (child + 1 < l->timers.n &&
            loop_earlier(l->timers.at[child + 1], l->timers.at[child]))
            child++;
        if (!loop_earlier(l->timers.at[child], t))
            break;
        loop_place(l, l->timers.at[child], at);
        at = child;
    }
    loop_place(l, t, at);
}

void loop_timer_stop(struct loop_timer *t)
{
    struct loop *l = t->loop;
    if (!l)
        return;
    t->loop = NULL;
    struct loop_timer *last = l->timers.at[--l->timers.n];
    if (last != t)
        sift(l, last, t->at);
}

static void arm(struct loop *l, struct loop_timer *t, int64_t due)
{
    t->loop = l;
    t->due = due;
    t->order = l->order++;
    VEC_PUSH(&l->timers, t);
    sift(l, t, l->timers.n - 1);
}

void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ns,
                      int64_t repeat_ns, loop_fn *fn, void *arg)
{
    loop_timer_stop(t);
    *t = (struct loop_timer){.repeat = repeat_ns, .fn = fn, .arg = arg};
    int64_t now = clock_mono_ns(), delay = delay_ns < 0 ? 0 : delay_ns;
    arm(l, t, delay > INT64_MAX - now ? INT64_MAX : now + delay);
}

/* Those that were there when the round began: a timer that starts itself anew with no
 * delay does not keep the loop from everything else.
 */
static void run_timers(struct loop *l)
{
    int64_t now = clock_mono_ns();
    uint64_t newer = l->order;
    while (l->timers.n) {
        struct loop_timer *t = l->timers.at[0];
        if (t->due > now || t->order >= newer)
            return;
        loop_timer_stop(t);
        if (t->repeat > 0) {
            int64_t due = t->due + t->repeat;
            arm(l, t, due > now ? due : now + t->repeat);
        }
        t->fn(t->arg);
    }
}

static void on_signal(void *arg, int fd, unsigned events)
{
    struct loop *l = arg;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        for (struct loop_signal *s = l->signals; s; s = l->next_signal) {
            l->next_signal = s->next;
            if (s->number == (int)info.ssi_signo)
                s->fn(s->arg, s->number);
        }
        l->next_signal = NULL;
    }
}

enum rc loop_signal_start(struct loop *l, struct loop_signal *s, int signal,
                          loop_signal_fn *fn, void *arg, struct err *err)
{
    loop_signal_stop(s);
    sigset_t one;
    sigemptyset(&one);
    if (sigaddset(&one, signal) < 0 || sigaddset(&l->mask, signal) < 0)
        return err_set(err, RC_INVAL, "there is no signal %d", signal);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    int fd = signalfd(l->signal_fd, &l->mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_sys(err, errno, "cannot wait for signal %d", signal);
    if (l->signal_fd < 0) {
        l->signal_fd = fd;
        enum rc rc = loop_fd_start(l, &l->signal_watch, fd, LOOP_READ, on_signal, l, err);
        if (rc)
            return rc;
    }
    *s = (struct loop_signal){
        .loop = l, .next = l->signals, .number = signal, .fn = fn, .arg = arg};
    l->signals = s;
    return RC_OK;
}

void loop_signal_stop(struct loop_signal *s)
{
    struct loop *l = s->loop;
    if (!l)
        return;
    if (l->next_signal == s)
        l->next_signal = s->next;
    struct loop_signal **at = &l->signals;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->loop = NULL;
}

static void check_child(struct loop_child *c)
{
    struct proc_exit exit;
    if (!proc_poll(c->proc, &exit))
        return;
    loop_child_stop(c);
    c->fn(c->arg, exit);
}

static void on_pidfd(void *arg, int fd, unsigned events)
{
    check_child(arg);
}

/* One SIGCHLD may stand for many: all are asked. */
static void check_children(void *arg, int signal)
{
    struct loop *l = arg;
    for (struct loop_child *c = l->children; c; c = l->next_child) {
        l->next_child = c->next;
        check_child(c);
    }
    l->next_child = NULL;
}

static void first_check(void *arg)
{
    check_children(arg, SIGCHLD);
}

static enum rc watch_by_signal(struct loop *l, struct loop_child *c, struct err *err)
{
    if (!l->child_signal.loop) {
        enum rc rc =
            loop_signal_start(l, &l->child_signal, SIGCHLD, check_children, l, err);
        if (rc)
            return rc;
    }
    c->next = l->children;
    l->children = c;
    /* It may have ended before. */
    loop_timer_start(l, &l->child_timer, 0, 0, first_check, l);
    return RC_OK;
}

enum rc loop_child_start(struct loop *l, struct loop_child *c, struct proc *p,
                         loop_child_fn *fn, void *arg, struct err *err)
{
    loop_child_stop(c);
    *c = (struct loop_child){.proc = p, .fn = fn, .arg = arg};
    int fd = proc_pidfd(p);
    enum rc rc = fd >= 0 ? loop_fd_start(l, &c->watch, fd, LOOP_READ, on_pidfd, c, err)
                         : watch_by_signal(l, c, err);
    if (!rc)
        c->loop = l;
    return rc;
}

void loop_child_stop(struct loop_child *c)
{
    struct loop *l = c->loop;
    if (!l)
        return;
    c->loop = NULL;
    if (c->watch.loop) {
        loop_fd_stop(&c->watch);
        return;
    }
    if (l->next_child == c)
        l->next_child = c->next;
    struct loop_child **at = &l->children;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

/* Milliseconds to wait, rounded up; -1 for ever. */
static int wait_ms(const struct loop *l, int64_t ns)
{
    int64_t wait = ns < 0 ? INT64_MAX : ns;
    if (l->timers.n) {
        int64_t left = l->timers.at[0]->due - clock_mono_ns();
        wait = left < 0 ? 0 : left < wait ? left : wait;
    }
    if (wait == INT64_MAX)
        return -1;
    int64_t ms = wait / 1000000 + (wait % 1000000 != 0);
    return ms > 1000000 ? 1000000 : (int)ms;
}

enum rc loop_step(struct loop *l, int64_t ns, struct err *err)
{
    int n = epoll_wait(l->epoll, l->events, LOOP_EVENTS, wait_ms(l, ns));
    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "cannot wait for events");
    l->n_events = n < 0 ? 0 : n;
    for (int i = 0; i < l->n_events; i++) {
        struct loop_fd *w = l->events[i].data.ptr;
        if (w)
            w->fn(w->arg, w->fd, from_epoll(l->events[i].events));
    }
    l->n_events = 0;
    run_timers(l);
    return RC_OK;
}

enum rc loop_run(struct loop *l, struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && !atomic_exchange(&l->stopped, false))
        rc = loop_step(l, -1, err);
    return rc;
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stopped, true);
    loop_wake(l);
}

enum rc loop_create(int n_workers, struct loop **out, struct err *err)
{
    if (n_workers < 1 || n_workers > LOOP_WORKERS_MAX)
        return err_set(err, RC_INVAL, "threads of a loop: %d is outside [1, %d]",
                       n_workers, LOOP_WORKERS_MAX);
    struct loop *l = mem_calloc(1, sizeof(*l));
    enum rc rc = RC_OK;
    l->signal_fd = -1;
    l->n_workers_max = n_workers;
    sigemptyset(&l->mask);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->epoll < 0 || l->wake_fd < 0)
        rc = err_sys(err, errno, "cannot make an event loop");
    else
        rc =
            loop_fd_start(l, &l->wake_watch, l->wake_fd, LOOP_READ, loop_on_wake, l, err);
    if (rc) {
        loop_destroy(l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

void loop_destroy(struct loop *l)
{
    if (!l)
        return;
    loop_end_work(l);
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    if (l->epoll >= 0)
        close(l->epoll);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
    VEC_RELEASE(&l->timers);
    mem_free(l);
}
