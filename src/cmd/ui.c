/* SPDX-License-Identifier: Apache-2.0 */
/* ui: the console for one person. Starts a server on loopback for the jobs of this machine's
 * user and shows an address that opens one session; with a server in that directory already,
 * shows an address of that one and ends. Whoever may write to the store may make such an
 * address: no account and no token is asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/server.h"
#include "cmd/server_lock.h"
#include "http/auth.h"
#include "store/servers.h"
#include "store/users.h"

struct ui_conf {
    struct job_where where;
    const char *user, *experiments;
    int64_t port;
    bool no_open;
    struct opt_list serving;
    const struct opt_args *dirs; /* not a flag */
};

static const struct opt opts[] = {
    {OPT_INT(struct ui_conf, port, "0", 0, 65535,
             "port of 127.0.0.1 for a server that it starts; 0: any free port")},
    {OPT_BOOL(struct ui_conf, no_open, "false",
              "only show the address; do not open a browser")},
    {OPT_TEXT(struct ui_conf, user, NULL,
              "user whose session it opens; default: the first admin"),
     .meta = "NAME"},
    {OPT_TEXT(struct ui_conf, experiments, NULL,
              "directory of experiments to show; default: that of `trainyard tune`, "
              "~/nni-experiments"),
     .meta = "DIR"},
    {OPT_LIST(struct ui_conf, serving,
              "model server (`trainyard serve`) that the console shows under this name, "
              "and sends requests to"),
     .meta = "NAME=URL"},
    JOB_WHERE_OPTS(struct ui_conf),
    {0},
};

/* The caller's. */
static enum rc choose_user(struct store *s, const char *asked, char **out,
                           struct err *err)
{
    struct store_users l = {0};
    enum rc rc = store_user_get(s, asked, &l, err);
    const char *name = asked;
    for (size_t i = 0; i < l.n && !rc && !name; i++)
        if (strcmp(l.at[i].role, "admin") == 0 && !l.at[i].disabled)
            name = l.at[i].name;
    if (!rc && !name)
        rc = err_coded(err, RC_NOTFOUND, E3111, "there is no admin; name a --user");
    if (!rc)
        *out = mem_strdup(name);
    store_users_release(&l);
    return rc;
}

/* A person sits at this screen, and there is something to show a page with. */
static bool has_browser(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return isatty(2) && ((x && *x) || (wayland && *wayland));
}

static void open_browser(const char *address)
{
    const char *argv[] = {"xdg-open", address, NULL};
    struct proc_spec spec = {.argv = argv,
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_NULL},
                             .err = {.kind = PROC_NULL},
                             .new_session = true};
    struct proc *p = NULL;
    if (proc_start(&spec, &p, NULL) == RC_OK)
        proc_disown(p);
}

static enum rc show_link(void *arg, const char *url, struct store *s, struct err *err)
{
    const struct ui_conf *c = arg;
    char text[AUTH_TOKEN_SIZE], *user = NULL;
    enum rc rc = choose_user(s, c->user, &user, err);
    if (!rc)
        rc = http_auth_link_make(s, user, text, err);
    mem_free(user);
    if (rc)
        return rc;
    char *address = mem_printf("%s/#link=%s", url, text);
    printf("%s\n", address);
    fflush(stdout);
    fprintf(stderr,
            "open this address in a browser on this machine, within five minutes; "
            "it works once\n");
    if (!c->no_open && has_browser())
        open_browser(address);
    explicit_bzero(address, strlen(address));
    explicit_bzero(text, sizeof(text));
    mem_free(address);
    return RC_OK;
}

static enum rc start_server(const struct ui_conf *c, struct err *err)
{
    char listen[32];
    const char **at = mem_calloc(12 + 2 * (c->dirs->n + c->serving.n), sizeof(*at));
    struct opt_args flags = {.at = at, .n = 3};
    at[0] = "--listen";
    at[1] = listen;
    at[2] = "--trust-submitters";
    struct server_hook hook = {show_link, (void *)(uintptr_t)c};
    snprintf(listen, sizeof(listen), "127.0.0.1:%jd", (intmax_t)c->port);
    const struct {
        const char *flag, *value;
    } more[] = {{"--dir", c->where.dir},
                {"--store", c->where.store},
                {"--experiments", c->experiments}};
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        if (more[i].value) {
            at[flags.n++] = more[i].flag;
            at[flags.n++] = more[i].value;
        }
    for (size_t i = 0; i < c->dirs->n; i++) {
        at[flags.n++] = "--runs";
        at[flags.n++] = c->dirs->at[i];
    }
    for (size_t i = 0; i < c->serving.n; i++) {
        at[flags.n++] = "--serving";
        at[flags.n++] = c->serving.at[i];
    }
    enum rc rc = server_run_with(&flags, &hook, err);
    mem_free(at);
    return rc;
}

/* Of the server that has the directory. */
static enum rc ask_running(const struct ui_conf *c, struct err *err)
{
    struct cmd_place p;
    struct store_servers l = {0};
    enum rc rc = cmd_place_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = store_server_get(p.p.store, p.p.node, &l, err);
    if (!rc && !l.n)
        rc = err_coded(err, RC_NOTFOUND, E5021,
                       "the server of '%.200s' has not said yet where it answers", p.dir);
    if (!rc)
        rc = show_link((void *)(uintptr_t)c, l.at[0].url, p.p.store, err);
    store_servers_release(&l);
    cmd_place_close(&p);
    return rc;
}

/* That server has its own. */
static void say_what_is_not_shown(const struct ui_conf *c, const struct opt_args *given)
{
    if (given->n || c->serving.n)
        fprintf(stderr, "a server runs already in this directory and shows what it was "
                        "started with: end it to see other runs\n");
}

static enum rc ui_command(const void *conf, const struct opt_args *args, struct err *err)
{
    static const char *const here[] = {"."};
    struct opt_args dirs = {.at = (const char **)(uintptr_t)here, .n = 1};
    struct ui_conf with = *(const struct ui_conf *)conf, *c = &with;
    with.dirs = args->n ? args : &dirs;
    char *dir = NULL;
    int lock = -1;
    log_setup(LOG_LEVEL_WARN, LOG_TEXT, 2);
    enum rc rc = cmd_place_dir(&c->where, &dir, err);
    if (!rc)
        rc = server_lock_take(dir, &lock, err);
    mem_free(dir);
    if (rc == RC_INVAL && err_code_of(err, rc) == E5021) {
        say_what_is_not_shown(c, args);
        return ask_running(c, err);
    }
    if (rc)
        return rc;
    rc = start_server(c, err);
    close(lock);
    return rc;
}

static const struct cmd_example examples[] = {
    {"look at the jobs, runs and experiments of this machine", "trainyard ui"},
    {"look at the training runs below two directories",
     "trainyard ui runs /data/old-runs"},
    {"on a machine without a screen, through ssh -L 8420:127.0.0.1:8420",
     "trainyard ui --port 8420"},
    {0},
};

const struct cmd cmd_ui = {
    .name = "ui",
    .args = "[DIR...]",
    .max_args = 100,
    .summary = "open the console: jobs, training runs, experiments in a browser",
    .description =
        "Starts a server on 127.0.0.1 for you alone and prints an address that opens the "
        "console once, in a browser on this machine. If a server already runs in the "
        "directory, an address of that server is printed instead. Ends with Ctrl-C; jobs "
        "keep running. Training runs below each DIR are shown; default: those below the "
        "current directory. Jobs that you start in the console run as you, like those of "
        "`trainyard job run`. See docs/console.md.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct ui_conf),
    .run = ui_command,
};
