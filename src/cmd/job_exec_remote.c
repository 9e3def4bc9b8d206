/* SPDX-License-Identifier: Apache-2.0 */
/* At a server: one thread asks for output and prints it, this one sends what is typed. The
 * answer to a question for output comes when there is some, so a shell is as quick as the
 * way there and back. Both say how far they are, so a request that is sent again does no
 * harm. A signal that ends us ends the program first, and its last output is still shown;
 * a second one does not wait for that.
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
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/job_exec.h"
#include "http/execs.h"

#define LOG_AREA "job"
#define AGAIN_MS 50 /* until input that was not taken is sent again */

struct session {
    const struct remote *server;
    char *path; /* owned: /api/v1/jobs/ID/exec/SESSION */
    int over;   /* eventfd: the last frame came */
    struct job_terminal terminal;
    int signal; /* that told us to end; 0: none */
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

/* What was typed and has not been taken. */
struct typed {
    char block[16384];
    size_t n, done;
    bool end;   /* nothing follows */
    bool whole; /* and the server knows it */
    int64_t at; /* offset of what comes next */
};

/* A program that does not read holds us up, not the server. False: it takes no more. */
static bool send_rest(struct session *s, struct typed *t)
{
    int64_t taken = t->at;
    if (send_input(s, t->end ? "&end=true" : "", t->block + t->done, t->n - t->done,
                   t->at, &taken))
        return false;
    t->done += (size_t)(taken - t->at);
    t->at = taken;
    t->whole = t->end && t->done >= t->n;
    return true;
}

static bool read_typed(struct session *s, struct typed *t)
{
    ssize_t n = read(0, t->block, sizeof(t->block));
    if (n < 0 && errno == EINTR)
        return true;
    t->n = n > 0 ? (size_t)n : 0;
    t->done = 0;
    t->end = n <= 0;
    return send_rest(s, t);
}

static void tell_size(struct session *s, int64_t at)
{
    struct winsize size;
    char query[64];
    int64_t taken;
    job_terminal_size(&size);
    snprintf(query, sizeof(query), "&rows=%d&columns=%d", size.ws_row, size.ws_col);
    if (send_input(s, query, "", 0, at, &taken))
        return; /* the next change may come through */
}

static void end_program(struct session *s, int signal)
{
    struct err err = {0};
    struct remote_ask q = {.method = "DELETE", .path = s->path};
    if (s->signal) { /* for the second time */
        job_terminal_leave(&s->terminal);
        _exit(128 + signal);
    }
    s->signal = signal;
    if (remote_call(s->server, &q, NULL, NULL, &err))
        log_warn("%s", err.msg); /* the server ends it when we ask no more */
}

static void send_typed(struct session *s, int signals)
{
    struct typed t = {.n = 0};
    bool open = true;
    struct pollfd fds[3] = {{.fd = s->over, .events = POLLIN},
                            {.fd = signals, .events = POLLIN},
                            {.fd = 0, .events = POLLIN}};
    for (;;) {
        bool rest = open && t.done < t.n;
        fds[2].fd = open && !rest ? 0 : -1;
        if (poll(fds, 3, rest ? AGAIN_MS : -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents)
            return;
        int signal = fds[1].revents ? job_terminal_signal(signals) : 0;
        if (signal == SIGWINCH)
            tell_size(s, t.at);
        else if (signal)
            end_program(s, signal);
        if (rest)
            open = send_rest(s, &t);
        else if (fds[2].revents)
            open = read_typed(s, &t);
        open = open && !t.whole;
    }
}

enum rc job_exec_remote(const struct cmd_place *p, const struct job_exec_ask *x,
                        int *status, struct err *err)
{
    struct session s = {.server = &p->remote, .over = eventfd(0, EFD_CLOEXEC)};
    pthread_t thread;
    int signals = job_terminal_signals();
    buf_init(&s.rest, (size_t)64 << 20);
    enum rc rc = start(p, x, &s, err);
    int bad = rc ? 0 : pthread_create(&thread, NULL, read_all, &s);
    if (bad)
        rc = err_sys(err, bad, "cannot start a thread");
    if (!rc) {
        if (x->terminal)
            job_terminal_enter(&s.terminal);
        send_typed(&s, signals);
        pthread_join(thread, NULL);
        job_terminal_leave(&s.terminal);
        rc = s.rc;
        *err = s.err;
        *status = s.signal ? 128 + s.signal : s.status;
    }
    close(signals);
    close(s.over);
    buf_release(&s.rest);
    mem_free(s.path);
    return rc;
}
