/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd with a pool of threads, each with its own connections. A request is
 * answered on the thread that read it, with a connection to the store (struct http_db) taken from
 * a pool for that long.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/changes.h"
#include "http/forward.h"
#include "http/framing.h"
#include "http/runs.h"
#include "http/serving.h"
#include "http/tls_files.h"
#include "http/training.h"
#include "job/snapshot.h"
#include "store/servers.h"
#include "team/deliver.h"
#include "tune/retain.h"

#define LOG_AREA "server"
#define PATIENCE_MS 3000 /* for a store that somebody else holds */
#define CONNECTIONS 8192
/* Of a connection, for the head of a request: a longer address is answered by libmicrohttpd,
 * which has no words of ours. Pages are taken as they are written to.
 */
#define HEAD_MAX ((size_t)256 << 10)
#define CONNECTIONS_CALM (CONNECTIONS / 4 * 3) /* above it those that are silent go */
#define BODIES_MAX ((int64_t)1 << 30)       /* bytes of all bodies under way together */
#define USER_BODIES_MIN ((int64_t)16 << 20) /* and those of one user, at least */
#define PEM_MAX ((size_t)1 << 20)
#define IDLE_S 120 /* of a connection that reads nothing of its answer */

struct http_db *api_db(struct api *a)
{
    pthread_mutex_lock(&a->lock);
    while (!a->free)
        pthread_cond_wait(&a->given, &a->lock);
    struct http_db *d = a->free;
    a->free = d->next;
    pthread_mutex_unlock(&a->lock);
    return d;
}

void api_db_back(struct api *a, struct http_db *d)
{
    pthread_mutex_lock(&a->lock);
    d->next = a->free;
    a->free = d;
    pthread_cond_signal(&a->given);
    pthread_mutex_unlock(&a->lock);
}

static void server_count(struct api *a, const struct http_call *c)
{
    size_t n;
    const struct http_route *all = http_route_all(&n);
    size_t row = c->route ? (size_t)(c->route - all) : n;
    unsigned class = c->status / 100 < API_CLASSES ? c->status / 100 : 5;
    a->answers[row * API_CLASSES + class]++;
}

static void add_headers(struct http_call *c, struct MHD_Response *r)
{
    char number[24];
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Cache-Control", c->cache ? c->cache : "no-store");
    MHD_add_response_header(r, "Content-Security-Policy",
                            c->policy ? c->policy : "default-src 'none'");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    if (c->type && c->status != 204)
        MHD_add_response_header(r, "Content-Type", c->type);
    if (c->hang_up)
        MHD_add_response_header(r, "Connection", "close");
    if (c->allow)
        MHD_add_response_header(r, "Allow", c->allow);
    if (c->location)
        MHD_add_response_header(r, "Location", c->location);
    for (size_t i = 0; i < c->n_headers; i++)
        MHD_add_response_header(r, c->headers[i][0], c->headers[i][1]);
    if (c->status == 401)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"trainyard\"");
    if (c->status == 429 || c->status == 503)
        MHD_add_response_header(r, "Retry-After", "1");
    if (c->log_attempt > 0) {
        snprintf(number, sizeof(number), "%jd", (intmax_t)c->log_attempt);
        MHD_add_response_header(r, "Log-Attempt", number);
        snprintf(number, sizeof(number), "%jd", (intmax_t)c->log_size);
        MHD_add_response_header(r, "Log-Size", number);
        if (c->log_next > 0) {
            snprintf(number, sizeof(number), "%jd", (intmax_t)c->log_next);
            MHD_add_response_header(r, "Log-Next", number);
        }
        MHD_add_response_header(r, "Log-Over", c->log_over ? "true" : "false");
    }
}

enum MHD_Result api_reply(struct http_call *c)
{
    struct MHD_Response *r = c->streaming;
    c->streaming = NULL;
    if (!r)
        r = MHD_create_response_from_buffer(c->out.n, (void *)(uintptr_t)buf_str(&c->out),
                                            MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    add_headers(c, r);
    server_count(c->api, c);
    enum MHD_Result done = MHD_queue_response(c->conn, c->status, r);
    MHD_destroy_response(r);
    return done;
}

/* First sight of a request: its address, before anything is decoded. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *conn)
{
    struct http_call *c = mem_calloc(1, sizeof(*c));
    c->api = arg;
    c->conn = conn;
    c->uri = arena_strndup(&c->arena, uri, strnlen(uri, TARGET_BYTES_MAX + 1));
    return c;
}

static struct http_conn *conn_of(struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static enum rc check_framing(struct http_call *c, const char *method, const char *version,
                             struct err *err)
{
    struct http_framing f = http_framing_check(c->conn, method, version);
    if (!f.wrong)
        return RC_OK;
    c->status = f.status;
    c->hang_up = true;
    return err_coded(err, RC_INVAL, E5003, "%s", f.wrong);
}

int64_t http_user_most(const struct api *a)
{
    return 2 * a->o.max_body > USER_BODIES_MIN ? 2 * a->o.max_body : USER_BODIES_MIN;
}

/* The head is complete. What is refused now is answered before its body comes. */
static enum MHD_Result server_begin(struct api *a, struct http_call *c,
                                    const char *method, const char *version)
{
    struct err err = {0};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    httpd_address_text(info ? info->client_addr : NULL, c->address);
    c->begun = true;
    c->type = method;
    buf_init(&c->out, (size_t)1 << 20);
    enum rc rc = check_framing(c, method, version, &err);
    if (!rc)
        rc = api_admit(c, &err);
    c->type = NULL;
    if (!rc) {
        http_conns_body(a->conns, conn_of(c->conn), (int64_t)c->raw.max);
        return MHD_YES;
    }
    c->answered = true;
    api_fail(c, rc, &err);
    if (c->route && (c->status == 401 || c->status == 403)) {
        struct http_db *d = api_db(a);
        api_audit(c, d);
        api_db_back(a, d);
    }
    http_conns_answer(a->conns, conn_of(c->conn));
    return api_reply(c);
}

static void take_body(struct api *a, struct http_call *c, const char *data, size_t n)
{
    if (c->over || c->raw.too_large || c->raw.no_memory)
        return;
    if (a->body_bytes > BODIES_MAX ||
        !http_budget_take(a->budget, c->who.name, (int64_t)n)) {
        http_call_drop_body(c);
        c->over = true;
        return;
    }
    a->body_bytes += (int64_t)n;
    c->held += (int64_t)n;
    httpd_body_add(&c->raw, data, n);
}

static enum MHD_Result set_aside(struct api *a, struct http_call *c)
{
    struct err err = {0};
    if (http_aside_take(a->aside, c))
        return MHD_YES;
    c->answered = true;
    c->status = 429;
    api_fail(c,
             err_coded(&err, RC_INVAL, E5011,
                       "too many requests that take long are in line; retry later"),
             &err);
    return api_reply(c);
}

static enum MHD_Result server_handle(void *arg, struct MHD_Connection *conn,
                                     const char *path, const char *method,
                                     const char *version, const char *data, size_t *n,
                                     void **state)
{
    struct api *a = arg;
    struct http_call *c = *state;
    if (!c->begun)
        return server_begin(a, c, method, version);
    if (*n) {
        if (!c->answered)
            take_body(a, c, data, *n);
        *n = 0;
        return MHD_YES;
    }
    if (c->answered)
        return MHD_YES;
    if (c->aside)
        return api_reply(c); /* it is back, with its answer */
    http_conns_answer(a->conns, conn_of(conn));
    if (http_aside_wants(c))
        return set_aside(a, c);
    api_answer(c);
    return api_reply(c);
}

static void on_completed(void *arg, struct MHD_Connection *conn, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct api *a = arg;
    struct http_conn *x = conn_of(conn);
    const struct http_call *c = *state;
    if (c && c->aside)
        http_aside_back(a->aside);
    http_call_destroy(*state);
    *state = NULL;
    if (x)
        http_conns_idle(a->conns, x);
}

static void on_connection(void *arg, struct MHD_Connection *conn, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct api *a = arg;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            http_conns_remove(a->conns, *context);
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = info ? http_conns_add(a->conns, info->connect_fd) : NULL;
}

static enum rc read_pem(const char *path, char **out, struct err *err)
{
    size_t n;
    if (!path || !*path)
        return RC_OK;
    return fs_read(path, PEM_MAX, out, &n, err);
}

static enum rc check_options(const struct api_options *o, union httpd_address *at,
                             struct err *err)
{
    bool tls = o->tls_cert && *o->tls_cert && o->tls_key && *o->tls_key;
    if (!httpd_address_parse(o->listen, at))
        return err_coded(err, RC_INVAL, E5001,
                         "--listen: '%.80s' is not an address and a port, such as "
                         "127.0.0.1:8420",
                         o->listen);
    if (!httpd_is_loopback(at) && !tls)
        return err_coded(err, RC_INVAL, E5002,
                         "%s is reachable from the network: use --tls-cert and "
                         "--tls-key",
                         o->listen);
    if (tls && MHD_is_feature_supported(MHD_FEATURE_SSL) == MHD_NO)
        return err_coded(err, RC_UNSUPPORTED, E5002,
                         "libmicrohttpd was built without TLS");
    return http_serving_check(o->serving, err);
}

enum rc api_check(const struct api_options *o, struct err *err)
{
    union httpd_address at;
    char *cert = NULL, *key = NULL;
    enum rc rc = check_options(o, &at, err);
    if (!rc)
        rc = read_pem(o->tls_cert, &cert, err);
    if (!rc)
        rc = read_pem(o->tls_key, &key, err);
    if (!rc && cert && key)
        rc = http_tls_files_check(o->tls_cert, cert, o->tls_key, key, err);
    mem_free(cert);
    mem_free(key);
    return rc;
}

/* Followers hold a connection each. */
static void raise_files(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max > 65536 ? 65536 : r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

/* Past the log of libmicrohttpd: what a client does wrong is not our news. */
static void no_log(void *arg, const char *format, va_list args)
{
}

static enum rc listen_on(struct api *a, const union httpd_address *at, struct err *err)
{
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL |
                     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (at->any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0u) |
                     (a->cert ? MHD_USE_TLS : 0u);
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, a->key},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, a->cert},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
#if MHD_VERSION >= 0x00097701
    struct MHD_OptionItem strict[] = {{MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
                                      {MHD_OPTION_END, 0, NULL}};
#else
    struct MHD_OptionItem strict[] = {{MHD_OPTION_END, 0, NULL}};
#endif
    a->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, server_handle, a, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
        MHD_OPTION_SOCK_ADDR, &at->any, MHD_OPTION_THREAD_POOL_SIZE,
        a->o.threads > 1 ? (unsigned)a->o.threads : 0u, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEAD_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_URI_LOG_CALLBACK,
        on_uri, a, MHD_OPTION_NOTIFY_COMPLETED, on_completed, a,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, a, MHD_OPTION_ARRAY, strict,
        MHD_OPTION_ARRAY, a->cert ? tls : none, MHD_OPTION_END);
    if (!a->daemon)
        return err_coded(err, RC_IO, E5001, "cannot listen on %.80s: %s", a->o.listen,
                         strerror(errno));
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_BIND_PORT);
    a->port = info ? info->port : 0;
    return RC_OK;
}

static enum rc open_store(struct api *a, struct store **out, struct err *err)
{
    enum rc rc = store_open(a->o.place.where, out, err);
    if (!rc)
        store_set_patience(*out, PATIENCE_MS);
    return rc;
}

static enum rc open_stores(struct api *a, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < a->o.threads + ASIDE_THREADS && !rc; i++) {
        struct http_db *d = mem_calloc(1, sizeof(*d));
        rc = open_store(a, &d->store, err);
        d->next = a->free;
        a->free = d;
    }
    return rc;
}

static enum rc first_user(struct api *a, struct err *err)
{
    char *path = fs_join(a->o.place.dir, "admin.token");
    bool made = false;
    enum rc rc = http_auth_first(a->free->store, path, &made, err);
    a->token_new = made;
    if (!rc && (made || fs_exists(path)))
        a->token_file = path;
    else
        mem_free(path);
    return rc;
}

static enum rc cannot_isolate(struct err *err, const char *what)
{
    return err_coded(err, RC_INVAL, E5020,
                     "%.100s: this machine does not let jobs be kept apart, and theirs "
                     "would be yours; start the server as root, install podman, or say "
                     "--trust-submitters",
                     what);
}

/* Without isolation a submitter can do all that the server can. */
static enum rc check_others(struct api *a, struct err *err)
{
    struct store_users users = {0};
    enum rc rc = a->o.others ? RC_OK : store_user_get(a->free->store, NULL, &users, err);
    for (size_t i = 0; i < users.n && !rc; i++)
        if (strcmp(users.at[i].role, "admin") != 0 && !users.at[i].disabled)
            rc = cannot_isolate(err, users.at[i].name);
    store_users_release(&users);
    return rc;
}

/* What a job without code starts from: a directory of its own with nothing in it. */
static enum rc keep_empty(struct api *a, struct err *err)
{
    struct job_snapshot_list l;
    enum rc rc = job_snapshot_list_make(a->empty, false, &l, err);
    if (!rc)
        a->empty_snapshot = mem_printf(SNAPSHOT_PREFIX "%s", l.is.id);
    job_snapshot_list_release(&l);
    return rc;
}

static enum rc start_changes(struct api *a, struct err *err)
{
    struct store *store = NULL;
    a->curves = http_curve_cache_create();
    a->training = http_run_list_create(a->o.runs);
    enum rc rc = open_store(a, &store, err);
    if (!rc)
        rc = http_changes_create(a, store, &a->changes, err);
    if (rc)
        store_close(store);
    return rc;
}

static enum rc start_parts(struct api *a, struct err *err)
{
    a->follow_place = a->watchdog_place = a->o.place;
    enum rc rc = open_store(a, &a->follow_place.store, err);
    if (!rc)
        rc = http_follows_create(&a->follow_place, &a->follows, err);
    if (!rc)
        rc = start_changes(a, err);
    if (!rc)
        rc = http_execs_create(&a->execs, err);
    if (!rc && a->o.queue)
        rc = open_store(a, &a->watchdog_place.store, err);
    else
        a->watchdog_place.store = NULL;
    if (!rc && a->o.queue)
        rc = backend_watchdog_create(&a->watchdog_place, &a->watchdog, err);
    if (!rc)
        rc = http_conns_create(a->o.header_timeout, a->o.body_timeout, CONNECTIONS_CALM,
                               &a->conns, err);
    if (!rc)
        rc = http_aside_create(&a->aside, err);
    if (!rc && a->o.queue && a->o.experiments)
        a->runs = http_runs_create(a);
    if (!rc && a->o.queue) /* before anything is collected */
        rc = tune_note_code(a->free->store, a->o.place.node, a->o.experiments, err);
    return rc;
}

/* Nothing that tells our own programs where to look. */
static const char **job_env_of(const char *const *env)
{
    size_t n = 0;
    while (env && env[n])
        n++;
    const char **out = mem_calloc(n + 1, sizeof(*out));
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!str_starts(env[i], "TRAINYARD_"))
            out[k++] = env[i];
    return out;
}

static char *own_url(const struct api *a)
{
    char host[256] = "";
    size_t n = (size_t)(strrchr(a->o.listen, ':') - a->o.listen);
    snprintf(host, sizeof(host), "%.*s", (int)n, a->o.listen);
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0)
        if (gethostname(host, sizeof(host) - 1) < 0)
            snprintf(host, sizeof(host), "localhost");
    return mem_printf("%s://%s:%d", a->cert ? "https" : "http", host, a->port);
}

/* For other servers on the same store: who has the files of the jobs of this place. */
static enum rc announce(struct api *a, struct err *err)
{
    char *url = a->o.url && *a->o.url ? mem_strdup(a->o.url) : own_url(a);
    struct http_db *d = api_db(a);
    struct store_server x = {
        .node = a->o.place.node, .url = url, .started = clock_wall_ns()};
    enum rc rc = store_server_put(d->store, &x, err);
    if (!rc && a->cert && strcmp(store_kind(d->store), "sqlite") != 0)
        http_forward_try(a, url);
    api_db_back(a, d);
    mem_free(url);
    return rc;
}

static enum rc server_start(struct api *a, struct err *err)
{
    union httpd_address at;
    size_t routes;
    http_route_all(&routes);
    a->answers = mem_calloc((routes + 1) * API_CLASSES, sizeof(*a->answers));
    a->document = api_document(a->o.version);
    a->empty = fs_join(a->o.place.dir, "empty");
    a->auth = http_auth_create();
    a->callers = http_limit_create(a->o.rate);
    a->strangers = http_limit_create(a->o.rate / 10);
    a->refusals = http_limit_create_burst(API_REFUSALS_RATE, API_REFUSALS_MOST);
    a->job_env = job_env_of(a->o.env);
    a->budget = http_budget_create(http_user_most(a));
    raise_files();
    enum rc rc = check_options(&a->o, &at, err);
    if (!rc && a->o.oidc.issuer)
        rc = http_oidc_open(&a->o.oidc, &a->oidc, err);
    if (!rc && a->o.ldap.url)
        rc = http_ldap_open(&a->o.ldap, &a->ldap, err);
    if (!rc)
        rc = read_pem(a->o.tls_cert, &a->cert, err);
    if (!rc)
        rc = read_pem(a->o.tls_key, &a->key, err);
    if (!rc && a->cert && a->key)
        rc = http_tls_files_check(a->o.tls_cert, a->cert, a->o.tls_key, a->key, err);
    if (!rc)
        rc = read_pem(a->o.peer_ca, &a->peer_ca, err);
    if (!rc)
        rc = fs_mkdirs(a->empty, 0700, err);
    if (!rc)
        rc = keep_empty(a, err);
    if (!rc)
        rc = team_net_allow_open(a->o.notify_allow, &a->allow, err);
    if (!rc)
        rc = team_deliver_key(a->o.place.dir, &a->notify_key, err);
    if (!rc)
        rc = open_stores(a, err);
    if (!rc)
        rc = first_user(a, err);
    if (!rc)
        rc = check_others(a, err);
    if (!rc)
        rc = start_parts(a, err);
    if (!rc)
        rc = listen_on(a, &at, err);
    if (!rc)
        rc = announce(a, err);
    return rc;
}

enum rc api_start(const struct api_options *o, struct api **out, struct err *err)
{
    struct api *a = mem_calloc(1, sizeof(*a));
    a->o = *o;
    a->o.threads = o->threads < 1 ? 1 : o->threads;
    pthread_mutex_init(&a->lock, NULL);
    pthread_mutex_init(&a->writer, NULL);
    pthread_mutex_init(&a->replay, NULL);
    pthread_cond_init(&a->given, NULL);
    enum rc rc = server_start(a, err);
    if (rc)
        api_stop(a);
    else
        *out = a;
    return rc;
}

static void free_all(struct api *a)
{
    while (a->free) {
        struct http_db *d = a->free;
        a->free = d->next;
        store_close(d->store);
        mem_free(d);
    }
    store_close(a->follow_place.store);
    store_close(a->watchdog_place.store);
    http_auth_destroy(a->auth);
    http_oidc_close(a->oidc);
    http_ldap_close(a->ldap);
    http_limit_destroy(a->callers);
    http_limit_destroy(a->strangers);
    http_limit_destroy(a->refusals);
    team_net_allow_close(a->allow);
    http_budget_destroy(a->budget);
    if (a->key)
        explicit_bzero(a->key, strlen(a->key));
    void *texts[] = {a->notify_key,
                     a->key,
                     a->cert,
                     a->peer_ca,
                     a->token_file,
                     a->document,
                     a->empty,
                     a->empty_snapshot,
                     (void *)a->answers,
                     (void *)a->job_env};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        mem_free(texts[i]);
    pthread_cond_destroy(&a->given);
    pthread_mutex_destroy(&a->replay);
    pthread_mutex_destroy(&a->writer);
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}

void api_stop(struct api *a)
{
    if (!a)
        return;
    if (a->daemon) {
        MHD_socket fd = MHD_quiesce_daemon(a->daemon);
        http_follows_end(a->follows);
        http_changes_end(a->changes);
        http_execs_end(a->execs);
        http_aside_end(a->aside);
        /* Connections that were resumed must have been seen to before the stop. */
        for (int i = 0; i < 100 && (http_follows_count(a->follows) > 0 ||
                                    http_changes_count(a->changes) > 0);
             i++)
            usleep(10000);
        MHD_stop_daemon(a->daemon);
        if (fd != MHD_INVALID_SOCKET)
            close(fd);
    }
    http_runs_destroy(a->runs);
    backend_watchdog_destroy(a->watchdog);
    http_follows_destroy(a->follows);
    http_changes_destroy(a->changes);
    http_run_list_destroy(a->training);
    http_curve_cache_destroy(a->curves);
    http_execs_destroy(a->execs);
    http_aside_destroy(a->aside);
    http_conns_destroy(a->conns);
    free_all(a);
}

int api_port(const struct api *a)
{
    return a->port;
}

const char *api_token_file(const struct api *a)
{
    return a->token_file;
}

bool api_token_new(const struct api *a)
{
    return a->token_new;
}
