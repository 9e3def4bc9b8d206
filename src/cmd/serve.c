/* SPDX-License-Identifier: Apache-2.0 */
/* serve: starts the scoring server and waits in one poll() for signals and for the next
 * look at the model. SIGHUP and the passing of --watch both reload; when the new version
 * cannot be loaded the one before goes on serving. Any other signal ends the server,
 * which gives requests under way some seconds. Beyond this machine a token is required,
 * unless its absence is asked for.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cmd/cmd.h"
#include "serve/server.h"

#define GRACE 10.0 /* seconds for requests under way when asked to end */
#define TOKEN_MAX ((size_t)4096)

struct serve_conf {
    const char *model, *listen, *token_file;
    int64_t threads, max_body, max_items, max_requests;
    double timeout, watch;
    bool no_token;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct serve_conf, model, NULL,
              "an export, a link to one, or a directory of versions"),
     .meta = "DIR", .filled = true},
    {OPT_TEXT(struct serve_conf, listen, "127.0.0.1:8500",
              "address and port; port 0: any free port"),
     .meta = "HOST:PORT", .filled = true},
    {OPT_INT(struct serve_conf, threads, "0", 0, POOL_THREADS_MAX,
             "requests scored in parallel; 0: one per CPU")},
    {OPT_DURATION(
        struct serve_conf, watch, "5s", 0, 86400,
        "how often to check for a new version; 0: only on POST /reload or SIGHUP")},
    {OPT_SIZE(struct serve_conf, max_body, "8m", 1024, (int64_t)1 << 30,
              "maximum size of a request body")},
    {OPT_INT(struct serve_conf, max_items, "10000", 1, 1 << 20,
             "maximum items per request")},
    {OPT_INT(struct serve_conf, max_requests, "256", 1, 1 << 20,
             "maximum concurrent requests; more are answered with 503")},
    {OPT_DURATION(struct serve_conf, timeout, "30s", 1, 3600,
                  "idle time after which a connection is closed")},
    {OPT_TEXT(struct serve_conf, token_file, NULL, "require the token in this file"),
     .meta = "FILE", .filled = true},
    {OPT_BOOL(struct serve_conf, no_token, "false",
              "allow listening on the network without a token")},
    {0},
};

static bool is_local(const char *listen)
{
    return str_starts(listen, "127.") || str_starts(listen, "[::1]");
}

static enum rc read_token(const struct serve_conf *c, char **out, struct err *err)
{
    char *text = NULL;
    size_t n;
    *out = NULL;
    if (c->token_file && c->no_token)
        return err_coded(err, RC_INVAL, E0609,
                         "--no-token contradicts --token-file; leave one out");
    if (!c->token_file && !is_local(c->listen) && !c->no_token)
        return err_coded(err, RC_INVAL, E2112,
                         "%s is reachable from the network: use --token-file, or "
                         "--no-token if the network is trusted",
                         c->listen);
    if (!c->token_file)
        return RC_OK;
    enum rc rc = fs_read(c->token_file, TOKEN_MAX, &text, &n, err);
    if (rc)
        return rc;
    struct str token = str_trim(str_of(text, n));
    if (token.n < 16)
        rc = err_coded(err, RC_INVAL, E2112, "%s: a token has at least 16 characters",
                       c->token_file);
    else
        *out = mem_strndup(token.p, token.n);
    mem_free(text);
    return rc;
}

static int signals_open(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void reload_model(struct serve_server *s)
{
    struct err err = {0};
    char *what = NULL;
    if (serve_reload(s, false, &what, &err))
        fprintf(stderr,
                "trainyard serve: warning[E2109]: %s; the version before serves\n",
                err.msg);
    if (what)
        fprintf(stderr, "serving %s\n", what);
    mem_free(what);
}

static bool signal_is(int fd, int *number)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    *number = (int)info.ssi_signo;
    return true;
}

static enum rc wait_for_end(struct serve_server *s, int signals, double watch,
                            struct err *err)
{
    struct pollfd p = {.fd = signals, .events = POLLIN};
    for (;;) {
        int number = 0;
        int n = poll(&p, 1, watch > 0 ? (int)(watch * 1000) : -1);
        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "waiting for signals");
        if (n > 0 && signal_is(signals, &number) && number != SIGHUP)
            return RC_OK;
        reload_model(s);
    }
}

static enum rc serve_command(const void *conf, const struct opt_args *args,
                             struct err *err)
{
    const struct serve_conf *c = conf;
    struct serve_server *s = NULL;
    char *token = NULL;
    if (!c->model)
        return err_coded(err, RC_INVAL, E0605, "--model DIR is missing");
    enum rc rc = read_token(c, &token, err);
    int signals = rc ? -1 : signals_open();
    if (!rc) {
        struct serve_options o = {.model = c->model,
                                  .listen = c->listen,
                                  .token = token,
                                  .threads =
                                      c->threads > 0 ? (int)c->threads : cpu_count(),
                                  .max_body = c->max_body,
                                  .max_items = c->max_items,
                                  .max_requests = c->max_requests,
                                  .timeout = c->timeout};
        rc = serve_start(&o, &s, err);
    }
    if (!rc) {
        char *what = serve_describe(s);
        size_t host = (size_t)(strrchr(c->listen, ':') - c->listen);
        fprintf(stderr, "serving %s\nlistening on http://%.*s:%d\n", what, (int)host,
                c->listen, serve_port(s));
        mem_free(what);
        rc = wait_for_end(s, signals, c->watch, err);
    }
    serve_stop(s, GRACE);
    if (signals >= 0)
        close(signals);
    mem_free(token);
    return rc;
}

static const struct cmd_example examples[] = {
    {"on this machine", "trainyard serve --model model --listen 127.0.0.1:8500"},
    {"the newest of many versions, checked every second",
     "trainyard serve --model versions --watch 1s"},
    {0},
};

const struct cmd cmd_serve = {
    .name = "serve",
    .summary = "serve an export over HTTP",
    .description =
        "POST /score takes {\"user\": {...}, \"items\": [{...}, ...]} and returns the "
        "model's outputs for each item; user columns are given once. GET /model lists "
        "columns and outputs; GET /healthz and /metrics are for monitoring.\n"
        "\n"
        "A new version takes over without dropping a request: replace the link that "
        "--model names, or add a directory next to the others.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct serve_conf),
    .min_args = 0,
    .max_args = 0,
    .run = serve_command,
};
