/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd with a pool of threads, each with its own connections; a request is
 * scored on the thread that read it, so there are as many workspaces as threads and no queue
 * between them.
 */
#include "serve/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/httpd.h"
#include "serve/server_private.h"

static enum MHD_Result server_reply(struct MHD_Connection *c, struct serve_answer *a)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        a->body.n, (void *)(uintptr_t)buf_str(&a->body), MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", a->type);
    if (a->status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    enum MHD_Result done = MHD_queue_response(c, a->status, r);
    MHD_destroy_response(r);
    return done;
}

static bool allowed(const struct serve_server *s, struct MHD_Connection *c,
                    const char *path)
{
    const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    if (!s->o.token || strcmp(path, "/healthz") == 0)
        return true;
    return given && str_starts(given, "Bearer ") && httpd_same(s->o.token, given + 7);
}

static void server_respond(struct serve_server *s, struct MHD_Connection *c,
                           const char *path, const char *method, struct httpd_body *u,
                           struct serve_answer *a)
{
    bool post = strcmp(method, "POST") == 0;
    if (!allowed(s, c, path))
        serve_answer_error(a, 401, E2111, "a token is needed");
    else if (u->too_large)
        serve_answer_error(a, 413, E2105, "the body has more than %jd bytes",
                           (intmax_t)s->o.max_body);
    else if (u->no_memory || (!u->p && !(u->p = mem_try_alloc(1, 1))))
        serve_answer_error(a, 500, E0001, "no memory for the body");
    else if (post && strcmp(path, "/score") == 0)
        serve_answer_score(s, u->p, u->n, a);
    else if (post && strcmp(path, "/reload") == 0)
        serve_answer_reload(s, a);
    else if (strcmp(method, "GET") == 0 && strcmp(path, "/score") != 0 &&
             strcmp(path, "/reload") != 0)
        serve_answer_get(s, path, a);
    else
        serve_answer_error(a, 405, E2107, "%.20s %.100s is not served", method, path);
}

static enum MHD_Result server_handle(void *arg, struct MHD_Connection *c,
                                     const char *path, const char *method,
                                     const char *version, const char *data, size_t *n,
                                     void **state)
{
    struct serve_server *s = arg;
    struct httpd_body *u = *state;
    if (!u) {
        u = mem_calloc(1, sizeof(*u));
        u->max = (size_t)s->o.max_body;
        *state = u;
        return MHD_YES;
    }
    if (*n) {
        httpd_body_add(u, data, *n);
        *n = 0;
        return MHD_YES;
    }
    struct serve_answer a = {0};
    buf_init(&a.body, ANSWER_MAX);
    server_respond(s, c, path, method, u, &a);
    enum MHD_Result done = server_reply(c, &a);
    buf_release(&a.body);
    return done;
}

static void completed(void *arg, struct MHD_Connection *c, void **state,
                      enum MHD_RequestTerminationCode code)
{
    if (*state) {
        httpd_body_release(*state);
        mem_free(*state);
    }
    *state = NULL;
}

static enum rc parse_address(const char *text, union httpd_address *out, struct err *err)
{
    if (httpd_address_parse(text, out))
        return RC_OK;
    return err_coded(err, RC_INVAL, E2108,
                     "--listen: '%.80s' is not an address and a port, such as "
                     "127.0.0.1:8500",
                     text);
}

static enum rc listen_on(struct serve_server *s, struct err *err)
{
    union httpd_address at;
    enum rc rc = parse_address(s->o.listen, &at, err);
    if (rc)
        return rc;
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL |
                     (at.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, server_handle, s, MHD_OPTION_SOCK_ADDR, &at.any,
        MHD_OPTION_THREAD_POOL_SIZE, s->o.threads > 1 ? (unsigned)s->o.threads : 0u,
        MHD_OPTION_CONNECTION_LIMIT, 4096u, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(s->o.timeout < 1 ? 1 : s->o.timeout), MHD_OPTION_NOTIFY_COMPLETED,
        completed, NULL, MHD_OPTION_LISTENING_ADDRESS_REUSE, 0u,
        MHD_OPTION_TCP_FASTOPEN_QUEUE_SIZE, 0u, MHD_OPTION_END);
    if (!s->daemon)
        return err_coded(err, RC_IO, E2108, "cannot listen on %.80s: %s", s->o.listen,
                         strerror(errno));
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    s->port = info ? info->port : 0;
    return RC_OK;
}

enum rc serve_start(const struct serve_options *o, struct serve_server **out,
                    struct err *err)
{
    struct serve_server *s = mem_calloc(1, sizeof(*s));
    s->o = *o;
    s->o.threads = o->threads < 1 ? 1 : o->threads;
    enum rc rc = serve_versions_open(o->model, s->o.threads, &s->versions, err);
    if (!rc)
        rc = listen_on(s, err);
    if (rc)
        serve_stop(s, 0);
    else
        *out = s;
    return rc;
}

void serve_stop(struct serve_server *s, double grace)
{
    if (!s)
        return;
    if (s->daemon) {
        MHD_socket fd = MHD_quiesce_daemon(s->daemon);
        int64_t until = clock_mono_ns() + (int64_t)(grace * 1e9);
        while (s->metrics.in_flight > 0 && clock_mono_ns() < until)
            usleep(1000);
        MHD_stop_daemon(s->daemon);
        if (fd != MHD_INVALID_SOCKET)
            close(fd);
    }
    serve_versions_close(s->versions);
    mem_free(s);
}

int serve_port(const struct serve_server *s)
{
    return s->port;
}

enum rc serve_reload(struct serve_server *s, bool force, char **what, struct err *err)
{
    bool changed = false;
    *what = NULL;
    enum rc rc = serve_versions_reload(s->versions, force, &changed, err);
    if (rc)
        s->metrics.failed_swaps++;
    if (changed) {
        s->metrics.swaps++;
        *what = serve_describe(s);
    }
    return rc;
}

char *serve_describe(struct serve_server *s)
{
    struct serve_version *v = serve_versions_hold(s->versions);
    char *text = serve_answer_describe(v);
    serve_versions_drop(s->versions, v);
    return text;
}
