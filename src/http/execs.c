/* SPDX-License-Identifier: Apache-2.0 */
/* One lock for all: there are few sessions, and nothing slow happens under it. A session's
 * thread is the only one that reads its process; it stops reading while more is held than
 * BUFFER, so that a client that is slow slows the program down and not the server. A
 * request for output that finds none suspends its connection, and the thread resumes it;
 * while it is suspended only the thread can see that the client closes it. Bytes are let
 * go when the client says that it has them. The end of a session is the end of its
 * process, which ends the program and itself (backend/exec.h): processes that the program
 * has left behind may hold its output for as long as they like.
 */
#include "http/execs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "backend/agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"

#define BUFFER ((size_t)256 << 10)
#define BLOCK 16384
#define BEAT_NS (10 * CLOCK_SECOND) /* then an empty answer */
#define GONE_NS (20 * CLOCK_SECOND) /* without a question: the client has gone */
#define LEFT_NS (3 * CLOCK_SECOND)  /* the same, after it closed its connection */
#define END_NS (8 * CLOCK_SECOND)   /* for a program and its process to end */
#define PER_USER 16
#define TICK_MS 200

struct session {
    struct http_execs *all;
    struct session *next;
    char id[EXEC_ID_SIZE], job[JOB_ID_SIZE], user[128];
    struct proc *proc;
    int in, out[2], terminal; /* -1: closed, or none */
    struct buf held;          /* frames that the client has not confirmed */
    int64_t base;             /* offset of the first of them */
    int64_t taken;            /* bytes of input */
    int64_t asked;            /* monotonic, of the last question */
    bool left;                /* the client closed its connection after it */
    bool over, stop, done;    /* the last frame is there; to be ended; its thread ended */
    pthread_t thread;
    struct reader *reader; /* waits */
};

struct reader {
    struct session *s; /* NULL: it is gone */
    struct http_execs *all;
    struct MHD_Connection *conn;
    int64_t at, since;
    bool waiting, sent;
};

struct http_execs {
    pthread_mutex_t lock;
    struct session *first;
    bool ending; /* nobody waits any more */
};

static void put_frame(struct session *s, int kind, const char *data, size_t n)
{
    unsigned char head[5] = {(unsigned char)kind, (unsigned char)(n >> 24),
                             (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                             (unsigned char)n};
    buf_add(&s->held, head, sizeof(head));
    buf_add(&s->held, data, n);
}

/* The lock is held. */
static void wake(struct session *s)
{
    struct reader *r = s->reader;
    if (r && r->waiting) {
        r->waiting = false;
        MHD_resume_connection(r->conn);
    }
}

static void read_stream(struct session *s, int i)
{
    char block[BLOCK];
    ssize_t n = read(s->out[i], block, sizeof(block));
    if (n < 0 && errno == EINTR)
        return;
    pthread_mutex_lock(&s->all->lock);
    if (n > 0)
        put_frame(s, i ? EXEC_ERR : EXEC_OUT, block, (size_t)n);
    wake(s);
    pthread_mutex_unlock(&s->all->lock);
    if (n <= 0) { /* of a terminal: EIO */
        close(s->out[i]);
        s->out[i] = -1;
    }
}

/* The lock is held. */
static bool hung_up(const struct reader *r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd fd = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return poll(&fd, 1, 0) > 0;
}

/* False: it has to be ended. */
static bool go_on(struct session *s, bool *full)
{
    int64_t now = clock_mono_ns();
    pthread_mutex_lock(&s->all->lock);
    const struct reader *r = s->reader;
    bool waiting = r && r->waiting;
    *full = s->held.n > BUFFER;
    if (waiting && hung_up(r))
        s->left = true;
    if (waiting && (s->left || now - r->since > BEAT_NS))
        wake(s);
    bool gone = !waiting && now - s->asked > (s->left ? LEFT_NS : GONE_NS);
    bool stop = s->stop || gone;
    pthread_mutex_unlock(&s->all->lock);
    return !stop;
}

/* Reads what there is; false: there was nothing for a while. */
static bool read_streams(struct session *s, bool full, bool ended)
{
    struct pollfd fds[3] = {{.fd = full ? -1 : s->out[0], .events = POLLIN},
                            {.fd = full ? -1 : s->out[1], .events = POLLIN},
                            {.fd = ended ? -1 : proc_pidfd(s->proc), .events = POLLIN}};
    if (poll(fds, 3, ended && !full ? 0 : TICK_MS) <= 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (s->out[i] >= 0 && fds[i].revents)
            read_stream(s, i);
    return true;
}

/* Reads until it has ended; one that has to end is told, and killed later. */
static void attend(struct session *s, struct proc_exit *exit)
{
    bool full = false, ended = false, more = true;
    int64_t until = 0;
    while (!ended || more || (full && !until)) {
        if (!go_on(s, &full) && !until) {
            proc_signal(s->proc, SIGHUP);
            until = clock_mono_ns() + END_NS;
        }
        more = read_streams(s, full, ended) || !ended;
        ended = proc_poll(s->proc, exit);
        if (until && !ended && clock_mono_ns() > until)
            break;
    }
    if (!ended)
        proc_terminate(s->proc, 0, exit);
}

static void *session_main(void *arg)
{
    struct session *s = arg;
    struct proc_exit exit = {.code = -1, .signal = SIGKILL};
    attend(s, &exit);
    char text[16];
    snprintf(text, sizeof(text), "%d", exit.signal ? 128 + exit.signal : exit.code);
    pthread_mutex_lock(&s->all->lock);
    put_frame(s, EXEC_END, text, strlen(text));
    s->over = true;
    s->asked = clock_mono_ns();
    wake(s);
    s->done = true;
    pthread_mutex_unlock(&s->all->lock);
    return NULL;
}

static void close_session(struct session *s)
{
    int fds[] = {s->in, s->out[0], s->out[1], s->terminal};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    proc_destroy(s->proc);
    buf_release(&s->held);
    mem_free(s);
}

/* Forgets those whose client has seen the end, or never will. The lock is held. */
static void sweep(struct http_execs *x, bool all)
{
    int64_t now = clock_mono_ns();
    for (struct session **at = &x->first; *at;) {
        struct session *s = *at;
        bool old = s->done && !s->reader && (all || now - s->asked > GONE_NS);
        if (!old) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        pthread_join(s->thread, NULL);
        close_session(s);
    }
}

enum rc http_execs_create(struct http_execs **out, struct err *err)
{
    struct http_execs *x = mem_calloc(1, sizeof(*x));
    pthread_mutex_init(&x->lock, NULL);
    *out = x;
    return RC_OK;
}

void http_execs_end(struct http_execs *x)
{
    bool left = x != NULL;
    for (int i = 0; left && i < 200; i++) { /* longer than END_NS */
        pthread_mutex_lock(&x->lock);
        x->ending = true;
        for (struct session *s = x->first; s; s = s->next) {
            s->stop = true;
            wake(s);
        }
        sweep(x, true);
        left = x->first != NULL;
        pthread_mutex_unlock(&x->lock);
        if (left)
            poll(NULL, 0, 50);
    }
}

void http_execs_destroy(struct http_execs *x)
{
    if (!x)
        return;
    http_execs_end(x);
    pthread_mutex_destroy(&x->lock);
    mem_free(x);
}

static void resize(int terminal, int64_t rows, int64_t columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows,
                           .ws_col = (unsigned short)columns};
    if (terminal >= 0 && rows > 0 && columns > 0)
        ioctl(terminal, TIOCSWINSZ, &size);
}

/* Our end of a new terminal; the other in *slave. -1: errno says why. */
static int open_terminal(int *slave)
{
    char name[64];
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    *slave = -1;
    if (fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 &&
        ptsname_r(fd, name, sizeof(name)) == 0)
        *slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave < 0 && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

typedef VEC(const char *) words;

struct numbers {
    char worker[24], parent[24];
};

static void fill_argv(const struct http_exec_start *s, const char *self,
                      struct numbers *n, words *v)
{
    snprintf(n->worker, sizeof(n->worker), "%jd", (intmax_t)s->worker);
    snprintf(n->parent, sizeof(n->parent), "%jd", (intmax_t)getpid());
    const char *const first[] = {self,       "job",     "exec",     "--by",   s->user,
                                 "--worker", n->worker, "--parent", n->parent};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        VEC_PUSH(v, first[i]);
    if (s->terminal)
        VEC_PUSH(v, "--in-terminal");
    VEC_PUSH(v, s->job);
    VEC_PUSH(v, "--");
    for (const char *const *w = s->argv; *w; w++)
        VEC_PUSH(v, *w);
    VEC_PUSH(v, NULL);
}

/* What the program needs to find the store and the engine of containers, and no more: it comes
 * near the job.
 */
static void fill_env(const char *const *own, size_t n, words *out)
{
    static const char *const kept[] = {"PATH=",
                                       "HOME=",
                                       "LANG=",
                                       "LC_",
                                       "PG",
                                       "XDG_",
                                       "DOCKER_",
                                       "CONTAINERS_",
                                       "TMPDIR=",
                                       "LD_LIBRARY_PATH=",
                                       "ASAN_OPTIONS=",
                                       "LSAN_OPTIONS=",
                                       "TSAN_OPTIONS=",
                                       "UBSAN_OPTIONS="};
    for (size_t i = 0; i < n; i++)
        VEC_PUSH(out, own[i]);
    for (char **e = environ; *e; e++)
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
            if (str_starts(*e, kept[i]))
                VEC_PUSH(out, *e);
    VEC_PUSH(out, NULL);
}

/* Where the store is goes by environment: a URL may hold a password. */
static enum rc start_program(struct session *n, const struct http_exec_start *s,
                             struct err *err)
{
    struct numbers numbers;
    char *self = backend_agent_program();
    char *dir = mem_printf("TRAINYARD_DIR=%s", s->place->dir);
    char *store = mem_printf("TRAINYARD_STORE=%s", s->place->where);
    char *term = mem_printf("TERM=%.60s", s->term && *s->term ? s->term : "dumb");
    words argv = {0}, env = {0};
    int slave = -1;
    fill_argv(s, self, &numbers, &argv);
    fill_env((const char *const[]){dir, store, term}, 3, &env);
    enum rc rc = RC_OK;
    if (s->terminal && (n->terminal = open_terminal(&slave)) < 0)
        rc = err_sys(err, errno, "cannot open a terminal");
    resize(n->terminal, s->rows, s->columns);
    struct proc_io pipe = {.kind = PROC_PIPE}, tty = {.kind = PROC_FD, .fd = slave};
    struct proc_spec spec = {.argv = argv.at,
                             .env = env.at,
                             .cwd = "/",
                             .in = s->terminal ? tty : pipe,
                             .out = s->terminal ? tty : pipe,
                             .err = s->terminal ? tty : pipe,
                             .new_session = true};
    if (!rc)
        rc = proc_start(&spec, &n->proc, err);
    if (slave >= 0)
        close(slave);
    VEC_RELEASE(&argv);
    VEC_RELEASE(&env);
    mem_free(term);
    mem_free(store);
    mem_free(dir);
    mem_free(self);
    return rc;
}

static int own(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void take_files(struct session *n)
{
    bool tty = n->terminal >= 0;
    n->in = own(tty ? n->terminal : proc_pipe(n->proc, 0));
    n->out[0] = own(tty ? n->terminal : proc_pipe(n->proc, 1));
    n->out[1] = tty ? -1 : own(proc_pipe(n->proc, 2));
    for (int i = 0; i < 3; i++)
        proc_pipe_close(n->proc, i);
    if (n->in >= 0)
        fcntl(n->in, F_SETFL, fcntl(n->in, F_GETFL) | O_NONBLOCK);
}

static int64_t count_of(const struct http_execs *x, const char *user)
{
    int64_t n = 0;
    for (const struct session *s = x->first; s; s = s->next)
        n += !s->done && strcmp(s->user, user) == 0;
    return n;
}

enum rc http_execs_start(struct http_execs *x, const struct http_exec_start *s,
                         char id[EXEC_ID_SIZE], struct err *err)
{
    struct session *n = mem_calloc(1, sizeof(*n));
    *n = (struct session){.all = x, .in = -1, .out = {-1, -1}, .terminal = -1};
    buf_init(&n->held, 16 * BUFFER);
    enum rc rc = job_id_new(n->id, err);
    memcpy(n->id, "xs", 2);
    snprintf(n->job, sizeof(n->job), "%s", s->job);
    snprintf(n->user, sizeof(n->user), "%s", s->user);
    n->asked = clock_mono_ns();
    pthread_mutex_lock(&x->lock);
    sweep(x, false);
    if (!rc && count_of(x, s->user) >= PER_USER)
        rc = err_coded(err, RC_INVAL, E5011, "you run %d programs beside jobs already",
                       PER_USER);
    if (!rc)
        rc = start_program(n, s, err);
    if (!rc) {
        take_files(n);
        int bad = pthread_create(&n->thread, NULL, session_main, n);
        rc = bad ? err_sys(err, bad, "cannot start a thread") : RC_OK;
    }
    if (!rc) {
        n->next = x->first;
        x->first = n;
        memcpy(id, n->id, EXEC_ID_SIZE);
    }
    pthread_mutex_unlock(&x->lock);
    if (rc)
        close_session(n);
    return rc;
}

/* The lock is held. */
static struct session *find(struct http_execs *x, const char *id, const char *job,
                            const char *user, struct err *err)
{
    for (struct session *s = x->first; s; s = s->next)
        if (strcmp(s->id, id) == 0 && strcmp(s->job, job) == 0 &&
            strcmp(s->user, user) == 0)
            return s;
    err_coded(err, RC_NOTFOUND, E3103, "no session '%.20s' of job %s", id, job);
    return NULL;
}

static ssize_t read_output(void *arg, uint64_t pos, char *to, size_t max)
{
    struct reader *r = arg;
    ssize_t result = MHD_CONTENT_READER_END_OF_STREAM;
    pthread_mutex_lock(&r->all->lock);
    struct session *s = r->s;
    int64_t left = s ? s->base + (int64_t)s->held.n - r->at : 0;
    if (s && left > 0) {
        size_t n = (size_t)left < max ? (size_t)left : max;
        memcpy(to, s->held.p + (r->at - s->base), n);
        r->at += (int64_t)n;
        r->sent = true;
        result = (ssize_t)n;
    } else if (s && !r->sent && !s->over && !s->left && !s->all->ending &&
               clock_mono_ns() - r->since < BEAT_NS) {
        r->waiting = true;
        MHD_suspend_connection(r->conn);
        result = 0;
    }
    pthread_mutex_unlock(&r->all->lock);
    return result;
}

static void close_reader(void *arg)
{
    struct reader *r = arg;
    pthread_mutex_lock(&r->all->lock);
    if (r->s && r->s->reader == r) {
        r->s->reader = NULL;
        r->s->asked = clock_mono_ns();
    }
    pthread_mutex_unlock(&r->all->lock);
    mem_free(r);
}

enum rc http_execs_read(struct http_execs *x, const char *id, const char *job,
                        const char *user, int64_t after, struct MHD_Connection *conn,
                        struct MHD_Response **out, struct err *err)
{
    struct reader *r = mem_calloc(1, sizeof(*r));
    *r = (struct reader){.all = x, .conn = conn, .since = clock_mono_ns()};
    pthread_mutex_lock(&x->lock);
    struct session *s = find(x, id, job, user, err);
    if (s) {
        wake(s); /* a question that was asked again is answered once */
        if (s->reader)
            s->reader->s = NULL;
        int64_t drop = after - s->base;
        if (drop > 0 && drop <= (int64_t)s->held.n) {
            memmove(s->held.p, s->held.p + drop, s->held.n - (size_t)drop);
            s->held.n -= (size_t)drop;
            s->base = after;
        }
        r->at = after < s->base ? s->base : after;
        r->s = s;
        s->reader = r;
        s->asked = r->since;
        s->left = false;
    }
    pthread_mutex_unlock(&x->lock);
    struct MHD_Response *response =
        s ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_output, r,
                                              close_reader)
          : NULL;
    if (!response) {
        close_reader(r);
        return s ? err_set(err, RC_NOMEM, "out of memory for an answer") : RC_NOTFOUND;
    }
    *out = response;
    return RC_OK;
}

enum rc http_execs_write(struct http_execs *x, const char *id, const char *job,
                         const char *user, const struct http_exec_input *in,
                         int64_t *taken, struct err *err)
{
    pthread_mutex_lock(&x->lock);
    struct session *s = find(x, id, job, user, err);
    if (s) {
        int64_t skip = s->taken - in->at;
        resize(s->terminal, in->rows, in->columns);
        if (skip >= 0 && skip < (int64_t)in->n && s->in >= 0) {
            ssize_t n = write(s->in, (const char *)in->data + skip, in->n - (size_t)skip);
            s->taken += n > 0 ? n : 0;
        }
        if (in->end && s->taken >= in->at + (int64_t)in->n && s->in >= 0) {
            if (s->terminal >= 0) /* Ctrl-D */
                *taken = write(s->in, "\004", 1);
            close(s->in);
            s->in = -1;
        }
        *taken = s->taken;
        s->asked = clock_mono_ns();
    }
    pthread_mutex_unlock(&x->lock);
    return s ? RC_OK : RC_NOTFOUND;
}

enum rc http_execs_stop(struct http_execs *x, const char *id, const char *job,
                        const char *user, struct err *err)
{
    pthread_mutex_lock(&x->lock);
    struct session *s = find(x, id, job, user, err);
    if (s)
        s->stop = true;
    pthread_mutex_unlock(&x->lock);
    return s ? RC_OK : RC_NOTFOUND;
}
