/* SPDX-License-Identifier: Apache-2.0 */
/* At a server: one thread asks for output and prints it, this one sends what is typed. The
 * answer to a question for output comes when there is some, so a shell is as quick as the
 * way there and back. Both say how far they are, so a request that is sent again does no
 * harm.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/job_exec.h"
#include "http/execs.h"

struct session {
    const struct remote *server;
    char *path; /* owned: /api/v1/jobs/ID/exec/SESSION */
    int over;   /* eventfd: the last frame came */
    int status;
    struct err err;
    enum rc rc;
    struct buf rest; /* of a frame that has not come whole */
    int64_t got;
};

static enum rc start(const struct cmd_place *p, const struct job_exec_ask *x,
                     struct session *s, struct err *err)
{
    struct buf body;
    struct doc doc = {0};
    struct winsize size;
    const char *term = getenv("TERM");
    char *path = mem_printf("/api/v1/jobs/%s/exec", x->id);
    buf_init(&body, 1 << 20);
    job_terminal_size(&size);
    buf_puts(&body, "{\"command\": [");
    for (size_t i = 0; i < x->n; i++) {
        buf_puts(&body, i ? ", " : "");
        buf_json_str(&body, x->argv[i], strlen(x->argv[i]));
    }
    buf_printf(&body,
               "], \"worker\": %jd, \"terminal\": %s, \"rows\": %d, \"columns\": %d, "
               "\"term\": ",
               (intmax_t)x->worker, x->terminal ? "true" : "false", size.ws_row,
               size.ws_col);
    term = term && strlen(term) <= 60 ? term : "dumb";
    buf_json_str(&body, term, strlen(term));
    buf_putc(&body, '}');
    struct remote_ask q = {.method = "POST",
                           .path = path,
                           .type = "application/json",
                           .body = body.p,
                           .n = body.n};
    enum rc rc = remote_call(&p->remote, &q, &doc, NULL, err);
    if (!rc)
        s->path = mem_printf("%s/%s", path, node_get_text(doc.root, "session", ""));
    if (doc.src)
        doc_release(&doc);
    buf_release(&body);
    mem_free(path);
    return rc;
}

static void put_all(int fd, const char *p, size_t n)
{
    for (ssize_t done; n; p += done, n -= (size_t)done) {
        done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return;
        done = done < 0 ? 0 : done;
    }
}

/* Prints whole frames; true at the last. */
static bool take_frames(struct session *s)
{
    size_t at = 0;
    bool last = false;
    while (!last && s->rest.n - at >= 5) {
        const unsigned char *h = (const unsigned char *)s->rest.p + at;
        size_t n = (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 | h[4];
        if (s->rest.n - at - 5 < n)
            break;
        const char *data = s->rest.p + at + 5;
        last = h[0] == EXEC_END;
        if (last)
            s->status = (int)strtol(data, NULL, 10);
        else
            put_all(h[0] == EXEC_ERR ? 2 : 1, data, n);
        at += 5 + n;
    }
    if (at) {
        memmove(s->rest.p, s->rest.p + at, s->rest.n - at);
        s->rest.n -= at;
    }
    return last;
}

static void *read_all(void *arg)
{
    struct session *s = arg;
    for (bool last = false; !last && !s->rc;) {
        struct io_http_reply reply = {0};
        char *path = mem_printf("%s?after=%jd", s->path, (intmax_t)s->got);
        struct remote_ask q = {.method = "GET", .path = path};
        s->rc = remote_call(s->server, &q, NULL, &reply, &s->err);
        if (!s->rc && reply.body.n) {
            buf_add(&s->rest, reply.body.p, reply.body.n);
            s->got += (int64_t)reply.body.n;
            last = take_frames(s);
        }
        io_http_reply_release(&reply);
        mem_free(path);
    }
    uint64_t one = 1;
    ssize_t n = write(s->over, &one, sizeof(one));
    (void)n; /* an eventfd takes it */
    return NULL;
}

/* Sends input and says how much of it was taken. */
static enum rc send_input(const struct session *s, const char *query, const char *data,
                          size_t n, int64_t at, int64_t *taken)
{
    struct doc doc = {0};
    struct err err = {0};
    char *path = mem_printf("%s?at=%jd%s", s->path, (intmax_t)at, query);
    struct remote_ask q = {.method = "POST",
                           .path = path,
                           .type = "application/octet-stream",
                           .body = data,
                           .n = n};
    enum rc rc = remote_call(s->server, &q, &doc, NULL, &err);
    *taken = rc ? at : node_get_int(doc.root, "taken", at);
    if (doc.src)
        doc_release(&doc);
    mem_free(path);
    return rc;
}

/* A program that does not read holds us up, not the server. False: it ended. */
static bool send_all(struct session *s, const char *data, size_t n, bool end, int64_t *at)
{
    int64_t until = *at + (int64_t)n, taken = *at;
    for (const char *from = data;;) {
        struct pollfd over = {.fd = s->over, .events = POLLIN};
        if (send_input(s, end ? "&end=true" : "", from, (size_t)(until - *at), *at,
                       &taken))
            return false;
        from += taken - *at;
        *at = taken;
        if (taken >= until)
            return true;
        if (poll(&over, 1, 50) > 0)
            return false;
    }
}

static void tell_size(struct session *s, int resized, int64_t at)
{
    struct signalfd_siginfo info;
    struct winsize size;
    char query[64];
    int64_t taken;
    if (read(resized, &info, sizeof(info)) <= 0)
        return;
    job_terminal_size(&size);
    snprintf(query, sizeof(query), "&rows=%d&columns=%d", size.ws_row, size.ws_col);
    if (send_input(s, query, "", 0, at, &taken))
        return; /* the next change may come through */
}

static void send_typed(struct session *s, int resized)
{
    char block[16384];
    int64_t at = 0;
    struct pollfd fds[3] = {{.fd = s->over, .events = POLLIN},
                            {.fd = 0, .events = POLLIN},
                            {.fd = resized, .events = POLLIN}};
    while ((poll(fds, 3, -1) >= 0 || errno == EINTR) && !fds[0].revents) {
        if (fds[2].revents)
            tell_size(s, resized, at);
        if (!fds[1].revents)
            continue;
        ssize_t n = read(0, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (!send_all(s, block, n > 0 ? (size_t)n : 0, n <= 0, &at) || n <= 0)
            fds[1].fd = -1;
    }
}

enum rc job_exec_remote(const struct cmd_place *p, const struct job_exec_ask *x,
                        int *status, struct err *err)
{
    struct session s = {.server = &p->remote, .over = eventfd(0, EFD_CLOEXEC)};
    struct job_terminal ours = {.raw = false};
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int resized = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    buf_init(&s.rest, (size_t)64 << 20);
    enum rc rc = start(p, x, &s, err);
    int bad = rc ? 0 : pthread_create(&thread, NULL, read_all, &s);
    if (bad)
        rc = err_sys(err, bad, "cannot start a thread");
    if (!rc) {
        if (x->terminal)
            job_terminal_enter(&ours);
        send_typed(&s, resized);
        pthread_join(thread, NULL);
        job_terminal_leave(&ours);
        rc = s.rc;
        *err = s.err;
        *status = s.status;
    }
    close(resized);
    close(s.over);
    buf_release(&s.rest);
    mem_free(s.path);
    return rc;
}
