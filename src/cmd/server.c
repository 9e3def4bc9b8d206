/* SPDX-License-Identifier: Apache-2.0 */
/* server: a team's server. Locks and opens the jobs directory, starts the API (http/), then the
 * daemon of the team (schedules, notifications), and waits for SIGTERM or SIGINT; the end
 * goes the other way round. Signals are blocked before the API makes its threads, so that
 * every thread inherits it and only sigwait() sees them. With --no-queue another process
 * runs jobs and schedules, and this one only answers.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/build_info.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/server.h"
#include "cmd/server_isolate.h"
#include "cmd/server_lock.h"
#include "cmd/team_env.h"
#include "cmd/tune_common.h"
#include "http/api.h"
#include "job/artifacts.h"
#include "job/bucket.h"
#include "job/space.h"
#include "team/archiver.h"
#include "team/cleaner.h"
#include "team/ticker.h"
#include "tune/retain.h"

#define LOG_AREA "server"
#define SERVING_TOKEN_MAX 4096

struct server_conf {
    struct job_where where;
    const char *listen, *tls_cert, *tls_key, *log, *experiments, *policy;
    const char *oidc_issuer, *oidc_client_id, *oidc_client_secret_file, *oidc_claim,
        *oidc_domain, *oidc_role;
    double oidc_lifetime, ldap_lifetime;
    const char *ldap_url, *ldap_ca, *ldap_user_dn, *ldap_base, *ldap_filter,
        *ldap_bind_dn, *ldap_password_file, *ldap_role;
    struct opt_list ldap_group;
    struct opt_list host, runs, serving;
    int64_t threads, max_body, user_storage, user_jobs, min_free, job_log_size;
    double rate, header_timeout, body_timeout, clean_every;
    const char *advertise, *peer_ca, *artifacts, *serving_token_file;
    bool no_queue;
    struct server_isolate_conf jobs;
    const struct server_hook *hook; /* not a flag; NULL: the server greets */
};

static const struct opt opts[] = {
    {OPT_TEXT(struct server_conf, listen, "127.0.0.1:8420",
              "address and port; port 0: any free port"),
     .meta = "HOST:PORT"},
    {OPT_TEXT(struct server_conf, tls_cert, NULL,
              "certificate (PEM); required to listen on the network"),
     .meta = "FILE"},
    {OPT_TEXT(struct server_conf, tls_key, NULL, "private key (PEM)"), .meta = "FILE"},
    {OPT_LIST(struct server_conf, host,
              "additional host name to accept in the Host header"),
     .meta = "NAME"},
    {OPT_INT(struct server_conf, threads, "0", 0, 64,
             "requests answered in parallel; 0: two per CPU")},
    {OPT_SIZE(struct server_conf, max_body, "64m", 1024, (int64_t)1 << 30,
              "maximum size of a request body")},
    {OPT_SIZE(struct server_conf, user_storage, "0", 0, INT64_MAX,
              "bytes of uploads and models that one user may store; 0: no limit")},
    {OPT_INT(struct server_conf, user_jobs, "20000", 0, INT64_MAX,
             "jobs of one user that may wait or run at a time; 0: no limit")},
    {OPT_SIZE(struct server_conf, min_free, "512m", 0, INT64_MAX,
              "free bytes of the disk below which no job starts and no upload is taken")},
    {OPT_SIZE(
        struct server_conf, job_log_size, "1g", 0, INT64_MAX,
        "maximum size of the log of a worker, whose beginning and end are kept; 0: no "
        "limit")},
    {OPT_DURATION(struct server_conf, clean_every, "10m", 0, 3155760000,
                  "how often to delete expired jobs and unreferenced files; 0: never")},
    {OPT_TEXT(struct server_conf, artifacts, NULL,
              "object store to keep uploads, models and outputs of ended jobs in: "
              "s3://bucket/prefix; see docs/server.md"),
     .meta = "URL"},
    {OPT_TEXT(struct server_conf, advertise, NULL,
              "URL under which other servers on the same store reach this one; default: "
              "the address it listens on"),
     .meta = "URL"},
    {OPT_TEXT(
         struct server_conf, peer_ca, NULL,
         "certificates (PEM) to trust when it asks other servers on the same store for "
         "files; default: those of SSL_CERT_FILE, or of the machine"),
     .meta = "FILE"},
    {OPT_NUM(struct server_conf, rate, "1000", 0, 1e9,
             "requests per second and token, and a tenth of it per address without a "
             "valid token; 0: no limit")},
    {OPT_DURATION(struct server_conf, header_timeout, "20s", 1, 3600,
                  "time limit for request headers and between requests")},
    {OPT_DURATION(struct server_conf, body_timeout, "60s", 1, 3600,
                  "time limit for a request body, plus one second per 64 KiB")},
    {OPT_BOOL(struct server_conf, no_queue, "false",
              "do not start jobs; another process does")},
    {OPT_TEXT(struct server_conf, experiments, NULL,
              "directory of experiments to show; default: that of `trainyard tune`, "
              "~/nni-experiments"),
     .meta = "DIR"},
    {OPT_LIST(struct server_conf, runs,
              "directory whose training runs the console shows to everybody who may log "
              "in"),
     .meta = "DIR"},
    {OPT_LIST(struct server_conf, serving,
              "model server (`trainyard serve`) that the console shows under this name, "
              "and lets submitters send requests to"),
     .meta = "NAME=URL"},
    {OPT_TEXT(struct server_conf, serving_token_file, NULL,
              "file with the token that model servers ask for"),
     .meta = "FILE"},
    {OPT_CHOICE(struct server_conf, log, "text", "text|json", "log format on stderr")},
    {OPT_TEXT(struct server_conf, policy, NULL,
              "file that says what jobs of each role may request; see docs/server.md"),
     .meta = "FILE"},
    {OPT_HEADING("Login through an OpenID provider")},
    {OPT_TEXT(struct server_conf, oidc_issuer, NULL,
              "address of the provider, as its tokens name it"),
     .meta = "URL"},
    {OPT_TEXT(struct server_conf, oidc_client_id, NULL, "name of this server there"),
     .meta = "ID"},
    {OPT_TEXT(struct server_conf, oidc_client_secret_file, NULL,
              "file with the client's secret; absent: a public client"),
     .meta = "FILE"},
    {OPT_TEXT(struct server_conf, oidc_claim, "preferred_username",
              "claim that is the user's name here"),
     .meta = "NAME"},
    {OPT_TEXT(
         struct server_conf, oidc_domain, NULL,
         "e-mail domain in that claim, removed from the name; other domains are refused"),
     .meta = "DOMAIN"},
    {OPT_CHOICE(
        struct server_conf, oidc_role, NULL, "viewer|submitter",
        "role of users who log in for the first time; absent: only users that an admin "
        "enabled with `user update --oidc`")},
    {OPT_DURATION(struct server_conf, oidc_lifetime, "12h", 60, 31536000,
                  "lifetime of a login")},
    {OPT_HEADING("Login with an LDAP password")},
    {OPT_TEXT(struct server_conf, ldap_url, NULL,
              "LDAP server: ldaps://HOST, or ldap://HOST with StartTLS"),
     .meta = "URL"},
    {OPT_TEXT(struct server_conf, ldap_ca, NULL,
              "certificates (PEM) to trust; default: those of the machine"),
     .meta = "FILE"},
    {OPT_TEXT(
         struct server_conf, ldap_user_dn, NULL,
         "name of a user's entry, with {} for the user: uid={},ou=people,dc=example"),
     .meta = "DN"},
    {OPT_TEXT(struct server_conf, ldap_base, NULL,
              "instead of --ldap-user-dn: where to search for users"),
     .meta = "DN"},
    {OPT_TEXT(struct server_conf, ldap_filter, "(uid={})",
              "search filter, with {} for the user"),
     .meta = "FILTER"},
    {OPT_TEXT(struct server_conf, ldap_bind_dn, NULL,
              "account to search with; absent: anonymous"),
     .meta = "DN"},
    {OPT_TEXT(struct server_conf, ldap_password_file, NULL,
              "file with the password of that account"),
     .meta = "FILE"},
    {OPT_LIST(struct server_conf, ldap_group,
              "role of the members of a group: submitter=cn=ml,ou=groups,dc=example"),
     .meta = "ROLE=DN"},
    {OPT_CHOICE(struct server_conf, ldap_role, NULL, "viewer|submitter",
                "role of users in none of the groups; absent: they are refused")},
    {OPT_DURATION(struct server_conf, ldap_lifetime, "12h", 60, 31536000,
                  "lifetime of a login")},
    {OPT_HEADING("Isolation of jobs")},
    {OPT_TEXT(struct server_conf, jobs.job_uids, SERVER_ISOLATE_UIDS,
              "user ids to run jobs under when the server is root, one per user"),
     .meta = "FIRST-LAST"},
    {OPT_INT(struct server_conf, jobs.job_processes, "4096", 16, 4194304,
             "maximum number of processes and threads per worker")},
    {OPT_SIZE(struct server_conf, jobs.job_file_size, "0", 0, INT64_MAX,
              "maximum size of a file that a job writes; 0: no limit")},
    {OPT_SIZE(struct server_conf, jobs.job_disk, "0", 0, INT64_MAX,
              "maximum size of all files that a job writes; 0: no limit")},
    {OPT_CHOICE(struct server_conf, jobs.job_network, "host", "host|none",
                "network of jobs: the host's, or only a loopback of their own")},
    {OPT_BOOL(struct server_conf, jobs.trust_submitters, "false",
              "do not isolate jobs: anyone who submits one can do what this user can")},
    JOB_WHERE_OPTS(struct server_conf),
    {0},
};

/* Until SIGTERM or SIGINT. */
static void wait_for_end(void)
{
    sigset_t set;
    int number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    while (sigwait(&set, &number) != 0)
        continue;
}

static void block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static enum rc call_hook(const struct server_conf *c, const struct api *a,
                         struct store *s, struct err *err)
{
    int host = (int)(strrchr(c->listen, ':') - c->listen);
    char *url = mem_printf("%s://%.*s:%d", c->tls_cert ? "https" : "http", host,
                           c->listen, api_port(a));
    enum rc rc = c->hook->ready(c->hook->arg, url, s, err);
    mem_free(url);
    return rc;
}

static void say_hello(const struct server_conf *c, const struct api *a)
{
    size_t host = (size_t)(strrchr(c->listen, ':') - c->listen);
    const char *file = api_token_file(a);
    if (file)
        fprintf(stderr, "%s in %s\n",
                api_token_new(a) ? "created the user admin; its token is"
                                 : "the token of the user admin is still",
                file);
    fprintf(stderr, "listening on %s://%.*s:%d\n", c->tls_cert ? "https" : "http",
            (int)host, c->listen, api_port(a));
}

/* *secret is the caller's: what `out` points to. */
static enum rc read_oidc(const struct server_conf *c, char **secret,
                         struct http_oidc_conf *out, struct err *err)
{
    size_t n = 0;
    enum rc rc = RC_OK;
    if (c->oidc_client_secret_file)
        rc = fs_read(c->oidc_client_secret_file, 65536, secret, &n, err);
    if (*secret) /* an editor leaves a line end */
        (*secret)[strcspn(*secret, "\r\n")] = '\0';
    *out = (struct http_oidc_conf){.issuer = c->oidc_issuer,
                                   .client_id = c->oidc_client_id,
                                   .secret = *secret,
                                   .claim = c->oidc_claim,
                                   .domain = c->oidc_domain,
                                   .role = c->oidc_role,
                                   .lifetime_s = (int64_t)c->oidc_lifetime};
    return rc;
}

/* *password and *groups are the caller's: what `out` points to. */
static enum rc read_ldap(const struct server_conf *c, char **password,
                         const char ***groups, struct http_ldap_conf *out,
                         struct err *err)
{
    size_t n = 0;
    enum rc rc = RC_OK;
    if (c->ldap_password_file)
        rc = fs_read(c->ldap_password_file, 65536, password, &n, err);
    if (*password)
        (*password)[strcspn(*password, "\r\n")] = '\0';
    *groups = mem_calloc(c->ldap_group.n + 1, sizeof(**groups));
    for (size_t i = 0; i < c->ldap_group.n; i++)
        (*groups)[i] = c->ldap_group.at[i];
    *out = (struct http_ldap_conf){.url = c->ldap_url,
                                   .ca = c->ldap_ca,
                                   .user_dn = c->ldap_user_dn,
                                   .base = c->ldap_base,
                                   .filter = c->ldap_filter,
                                   .bind_dn = c->ldap_bind_dn,
                                   .password = *password,
                                   .groups = *groups,
                                   .role = c->ldap_role,
                                   .lifetime_s = (int64_t)c->ldap_lifetime};
    return rc;
}

/* Without '/' at its end; the caller's. */
static enum rc open_artifacts(const char *url, struct job_place *p, char **out,
                              struct err *err)
{
    if (!job_bucket_is(url))
        return err_coded(err, RC_INVAL, E5006,
                         "--artifacts '%.200s': s3://bucket/prefix is required", url);
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    p->artifacts = *out = mem_strndup(url, n);
    char *left = fs_join(p->dir, "fetched");
    enum rc gone = fs_remove_all(left, NULL);
    (void)gone; /* what a server that was killed had fetched */
    mem_free(left);
    enum rc rc = job_artifacts_claim(p, err);
    return rc ? err_wrap(err, rc, "--artifacts") : RC_OK;
}

/* The caller's; absolute even when it is not there yet. */
static char *http_experiments_dir(const char *given)
{
    if (!given || !*given)
        return tune_home();
    char *here = tune_absolute(".", "."), *dir = tune_absolute(given, here);
    mem_free(here);
    return dir;
}

/* What is opened before the API, and closed behind it. */
struct server_parts {
    struct cmd_place p;
    struct server_isolate isolate;
    struct team_policy *policy;
    char *artifacts, *experiments, *serving_token;
    const char **hosts, **runs, **serving;
};

static void forget_token(char *token)
{
    if (token)
        explicit_bzero(token, strlen(token));
    mem_free(token);
}

/* NULL behind the last; texts are borrowed. */
static const char **list_of(const struct opt_list *given)
{
    const char **all = mem_calloc(given->n + 1, sizeof(*all));
    for (size_t i = 0; i < given->n; i++)
        all[i] = given->at[i];
    return all;
}

static void close_parts(struct server_parts *s)
{
    mem_free(s->artifacts);
    mem_free(s->experiments);
    mem_free(s->hosts);
    for (size_t i = 0; s->runs && s->runs[i]; i++)
        mem_free((void *)(uintptr_t)s->runs[i]);
    mem_free(s->runs);
    mem_free(s->serving);
    forget_token(s->serving_token);
    server_isolate_release(&s->isolate);
    team_policy_close(s->policy);
    cmd_place_close(&s->p);
}

/* Without links, so that none is followed later. */
static enum rc find_runs(const struct opt_list *given, const char ***out, struct err *err)
{
    const char **all = mem_calloc(given->n + 1, sizeof(*all));
    *out = all;
    for (size_t i = 0; i < given->n; i++) {
        char path[PATH_MAX];
        if (!realpath(given->at[i], path))
            return err_sys(err, errno, "--runs %.300s", given->at[i]);
        if (!fs_is_dir(path))
            return err_set(err, RC_INVAL, "--runs %.300s: this is no directory",
                           given->at[i]);
        all[i] = mem_strdup(path);
    }
    return RC_OK;
}

static enum rc read_serving_token(const char *path, char **out, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, SERVING_TOKEN_MAX, &text, &n, err);
    if (rc)
        return err_wrap(err, rc, "--serving-token-file");
    struct str s = str_trim(str_of(text, n));
    bool good = s.n > 0;
    for (size_t i = 0; i < s.n; i++)
        good = good && (unsigned char)s.p[i] > ' ' && (unsigned char)s.p[i] < 0x7f;
    if (good)
        *out = mem_strndup(s.p, s.n);
    explicit_bzero(text, n);
    mem_free(text);
    return good ? RC_OK
                : err_coded(err, RC_INVAL, E5040,
                            "--serving-token-file %.300s: a token is one word", path);
}

static enum rc open_parts(const struct server_conf *c, struct server_parts *s,
                          struct err *err)
{
    struct server_isolate_conf jobs = c->jobs;
    jobs.keys[0] = c->tls_key;
    jobs.keys[1] = c->oidc_client_secret_file;
    jobs.keys[2] = c->ldap_password_file;
    enum rc rc = server_isolate_find(s->p.p.dir, &jobs, &s->isolate, err);
    if (!rc && c->policy)
        rc = team_policy_open(c->policy, &s->policy, err);
    s->p.p.gate = s->policy ? team_policy_gate(s->policy) : NULL;
    s->p.p.isolation = s->isolate.on ? &s->isolate.jobs : NULL;
    s->p.p.served = true;
    s->p.p.most_jobs = c->user_jobs;
    if (!rc && c->artifacts)
        rc = open_artifacts(c->artifacts, &s->p.p, &s->artifacts, err);
    if (!rc)
        rc = job_space_keep(s->p.p.dir, c->min_free, err);
    if (!rc)
        rc = job_space_keep_log(s->p.p.dir, c->job_log_size, err);
    s->hosts = list_of(&c->host);
    s->experiments = http_experiments_dir(c->experiments);
    s->serving = list_of(&c->serving);
    if (!rc && c->serving_token_file)
        rc = read_serving_token(c->serving_token_file, &s->serving_token, err);
    return rc ? rc : find_runs(&c->runs, &s->runs, err);
}

static struct api_options api_options_of(const struct server_conf *c,
                                         const struct server_parts *s)
{
    return (struct api_options){
        .place = s->p.p,
        .listen = c->listen,
        .url = c->advertise,
        .tls_cert = c->tls_cert,
        .tls_key = c->tls_key,
        .peer_ca = c->peer_ca,
        .hosts = s->hosts,
        .slots = getenv("TRAINYARD_SLOTS"),
        .version = TY_VERSION,
        .env = (const char *const *)environ,
        .experiments = s->experiments,
        .runs = s->runs,
        .serving = s->serving,
        .serving_token = s->serving_token,
        .threads = c->threads > 0 ? (int)c->threads : 2 * cpu_count(),
        .max_body = c->max_body,
        .user_storage = c->user_storage,
        .rate = c->rate,
        .header_timeout = c->header_timeout,
        .body_timeout = c->body_timeout,
        .notify_allow = getenv("TRAINYARD_NOTIFY_ALLOW"),
        .mail = getenv("TRAINYARD_MAIL_COMMAND") || c->no_queue,
        .queue = !c->no_queue,
        .others = s->isolate.others,
        .images_only = s->isolate.images_only,
    };
}

/* Experiments that policies no longer keep, beside the cleaner of jobs. */
struct experiment_cleaner {
    struct api *api;
    struct store *store;
    int64_t every_ns;
    struct team_ticker *ticker;
};

static int64_t clean_experiments(void *arg)
{
    struct experiment_cleaner *c = arg;
    struct tune_removed n = {0};
    struct err err = {0};
    if (api_retain_experiments(c->api, c->store, false, &n, &err))
        log_warn("%s", err.msg);
    else if (n.experiments)
        log_info("removed %jd experiments by policy", (intmax_t)n.experiments);
    return c->every_ns;
}

static enum rc start_cleaner(const struct server_conf *conf, const struct job_place *p,
                             struct experiment_cleaner *c, struct err *err)
{
    c->every_ns = (int64_t)(conf->clean_every * 1e9);
    enum rc rc = store_open(p->where, &c->store, err);
    return rc ? rc
              : team_ticker_create(c->every_ns, clean_experiments, c, &c->ticker, err);
}

/* From the API's start to its end. */
static enum rc serve(const struct server_conf *c, const struct server_parts *s,
                     const struct api_options *o, struct err *err)
{
    const struct job_place *p = &s->p.p;
    struct api *a = NULL;
    struct team_daemon_conf team = team_env_daemon(p);
    struct team_daemon *daemon = NULL;
    struct team_archiver *archiver = NULL;
    struct team_cleaner *cleaner = NULL;
    enum rc rc = api_start(o, &a, err);
    if (!rc && !c->no_queue)
        rc = team_daemon_create(&team, &daemon, err);
    if (!rc && s->artifacts)
        rc = team_archiver_create(p, &archiver, err);
    struct experiment_cleaner experiments = {.api = a};
    if (!rc && !c->no_queue && c->clean_every > 0)
        rc = team_cleaner_create(p, c->clean_every, &cleaner, err);
    if (!rc && !c->no_queue && c->clean_every > 0)
        rc = start_cleaner(c, p, &experiments, err);
    if (!rc && c->hook)
        rc = call_hook(c, a, p->store, err);
    if (!rc && !c->hook) {
        server_isolate_tell(&s->isolate, c->jobs.trust_submitters);
        say_hello(c, a);
    }
    if (!rc)
        wait_for_end();
    team_ticker_destroy(experiments.ticker);
    store_close(experiments.store);
    team_cleaner_destroy(cleaner);
    team_archiver_destroy(archiver);
    team_daemon_destroy(daemon);
    api_stop(a);
    return rc;
}

static enum rc server_run(const struct server_conf *c, struct err *err)
{
    struct server_parts s = {.policy = NULL};
    char *secret = NULL, *password = NULL;
    const char **groups = NULL;
    enum rc rc = cmd_place_open(&c->where, &s.p, err);
    if (rc)
        return rc;
    rc = open_parts(c, &s, err);
    block_signals();
    struct api_options o = api_options_of(c, &s);
    if (!rc)
        rc = read_oidc(c, &secret, &o.oidc, err);
    if (!rc)
        rc = read_ldap(c, &password, &groups, &o.ldap, err);
    if (!rc)
        rc = serve(c, &s, &o, err);
    if (secret)
        explicit_bzero(secret, strlen(secret));
    if (password)
        explicit_bzero(password, strlen(password));
    mem_free(secret);
    mem_free(password);
    mem_free(groups);
    close_parts(&s);
    return rc;
}

enum rc server_check(const void *conf, struct err *err)
{
    const struct server_conf *c = conf;
    struct api_options o = {
        .listen = c->listen, .tls_cert = c->tls_cert, .tls_key = c->tls_key};
    if (!c->tls_cert != !c->tls_key)
        return err_coded(err, RC_INVAL, E5002,
                         "--tls-cert and --tls-key must be given together");
    o.serving = list_of(&c->serving);
    enum rc rc = api_check(&o, err);
    char *token = NULL;
    if (!rc && c->serving_token_file)
        rc = read_serving_token(c->serving_token_file, &token, err);
    forget_token(token);
    mem_free((void *)(uintptr_t)o.serving);
    return rc;
}

enum rc server_run_with(const struct opt_args *flags, const struct server_hook *hook,
                        struct err *err)
{
    struct opt_args rest = {0};
    struct server_conf *c = mem_calloc(1, sizeof(*c));
    enum rc rc = opt_defaults(opts, c, err);
    if (!rc)
        rc = opt_parse(opts, c, (int)flags->n, (char *const *)(uintptr_t)flags->at, &rest,
                       err);
    if (!rc)
        rc = server_check(c, err);
    c->hook = hook;
    if (!rc)
        rc = server_run(c, err);
    opt_args_release(&rest);
    opt_release(opts, c);
    mem_free(c);
    return rc;
}

/* The lock comes before the store, which another server may have open in an older form. */
static enum rc server_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct server_conf *c = conf;
    char *dir = NULL;
    int lock = -1;
    log_setup(LOG_LEVEL_INFO, strcmp(c->log, "json") == 0 ? LOG_JSON : LOG_TEXT, 2);
    enum rc rc = server_check(conf, err);
    if (!rc)
        rc = cmd_place_dir(&c->where, &dir, err);
    if (!rc)
        rc = server_lock_take(dir, &lock, err);
    mem_free(dir);
    if (rc)
        return rc;
    rc = server_run(c, err);
    close(lock);
    return rc;
}

static const struct cmd_example examples[] = {
    {"on this machine", "trainyard server"},
    {"for a team",
     "trainyard server --listen 0.0.0.0:8420 --tls-cert c.pem --tls-key k.pem"},
    {0},
};

const struct cmd cmd_server = {
    .name = "server",
    .summary = "run a team's server: jobs, logs, datasets, users",
    .description =
        "Serves the API that /api/v1/openapi.json describes, and runs the jobs of its "
        "directory. The first start creates the user 'admin' and writes a token for it "
        "to admin.token in that directory, readable only by you. Jobs keep running "
        "when the server stops or is killed, and the next server picks them up. See "
        "docs/server.md.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct server_conf),
    .run = server_command,
};
