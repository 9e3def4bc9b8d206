/* SPDX-License-Identifier: Apache-2.0 */
/* backend host: stands on a host in place of a ssh server, for `--backend mpi`. It tells
 * where it listens in DIR/mpi/hosts/NAME and proves itself by DIR/mpi/secret, both on the
 * file system that hosts share anyway; a process of its own for each connection runs the one
 * command that comes over it, a daemon of mpirun's, and ends it when the other side is gone.
 *
 * `backend host --reach` is the other side, what mpirun calls in place of ssh: it looks for
 * the host in DIR/mpi/hosts, and becomes ssh where it is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/mpirun_hosts.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "cmd/launch_wire.h"
#include "cmd/stop_signals.h"
#include "job/file.h"

#define SECRET_BYTES 32
#define RECORD_MAX 1024
#define CONNECT_MS 3000
#define CONNECTIONS_MAX 256
#define LOOK_S 0.1
#define GRACE_S 5
#define BACKLOG 64

struct host_conf {
    struct job_where where;
    const char *name, *address;
    int64_t port;
    bool reach;
};

struct host {
    char *dir;    /* owned: of jobs */
    char *record; /* owned: path */
    char *secret; /* owned */
    char name[MPIRUN_HOST_SIZE];
    char port[16];
    int listens, signals;
};

/* --- what hosts share --- */

static enum rc make_secret(const char *path, struct err *err)
{
    unsigned char bytes[SECRET_BYTES];
    struct buf b;
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return err_sys(err, errno, "no random numbers");
    buf_init(&b, RECORD_MAX);
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(&b, "%02x", bytes[i]);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum rc rc = RC_OK;
    if (fd < 0 && errno != EEXIST) /* another host made it */
        rc = err_sys(err, errno, "cannot make '%s'", path);
    if (fd >= 0 && write(fd, buf_str(&b), b.n) != (ssize_t)b.n)
        rc = err_sys(err, errno, "cannot write '%s'", path);
    if (fd >= 0)
        close(fd);
    buf_release(&b);
    return rc;
}

static enum rc read_secret(const char *dir, char **out, struct err *err)
{
    char *path = mem_printf("%s/mpi/secret", dir);
    size_t n = 0;
    enum rc rc = fs_exists(path) ? RC_OK : make_secret(path, err);
    if (!rc)
        rc = fs_read(path, RECORD_MAX, out, &n, err);
    if (!rc && n < SECRET_BYTES) {
        mem_free(*out);
        rc = err_coded(err, RC_FORMAT, E3209,
                       "'%s' is cut short: remove it, and start the hosts again", path);
    }
    mem_free(path);
    return rc;
}

/* --- a host --- */

static enum rc listen_on(struct host *h, int64_t port, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);
    int yes = 1;
    snprintf(h->port, sizeof(h->port), "%jd", (intmax_t)port);
    hints.ai_family = AF_INET;
    if (getaddrinfo(NULL, h->port, &hints, &found) != 0)
        return err_coded(err, RC_IO, E3209, "cannot listen on port %s", h->port);
    h->listens = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good =
        h->listens >= 0 &&
        setsockopt(h->listens, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(h->listens, found->ai_addr, found->ai_addrlen) == 0 &&
        listen(h->listens, BACKLOG) == 0 &&
        getsockname(h->listens, (struct sockaddr *)&at, &n) == 0;
    int failed = errno;
    freeaddrinfo(found);
    if (!good)
        return err_coded(err, RC_IO, E3209, "cannot listen on port %s: %s", h->port,
                         strerror(failed));
    getnameinfo((struct sockaddr *)&at, n, NULL, 0, h->port, sizeof(h->port),
                NI_NUMERICSERV);
    return RC_OK;
}

static enum rc check_name(struct host *h, const struct host_conf *c, struct err *err)
{
    struct mpirun_hosts hosts;
    if (c->name)
        snprintf(h->name, sizeof(h->name), "%s", c->name);
    else if (gethostname(h->name, sizeof(h->name) - 1) != 0)
        return err_sys(err, errno, "this host has no name: give it one by --name");
    enum rc rc = mpirun_hosts_parse(str_c(h->name), "--name", &hosts, err);
    bool one = !rc && hosts.at.n == 1 && strcmp(hosts.at.at[0].name, h->name) == 0;
    mpirun_hosts_release(&hosts);
    return one ? RC_OK
               : err_coded(err, RC_INVAL, E3209,
                           "--name '%.100s' is not what a hostfile can call a host",
                           c->name ? c->name : h->name);
}

static enum rc leave_record(struct host *h, const char *address, struct err *err)
{
    char *hosts = mem_printf("%s/mpi/hosts", h->dir);
    char *text = mem_printf("%s %s\n", address ? address : h->name, h->port);
    enum rc rc = fs_mkdirs(hosts, 0700, err);
    if (!rc)
        rc = read_secret(h->dir, &h->secret, err);
    h->record = fs_join(hosts, h->name);
    if (!rc)
        rc = job_file_put(h->record, text, strlen(text), 0600, err);
    if (!rc)
        fprintf(stderr, "backend host: %s at %s waits for jobs of %s\n", h->name,
                str_trim(str_c(text)).p, h->dir);
    mem_free(text);
    mem_free(hosts);
    return rc;
}

/* In a process of its own: one command, to its end or that of the connection. */
static int run_command(struct launch_wire *w, const char *command)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct proc_spec spec = {.argv = argv, .cwd = "/", .in.kind = PROC_NULL};
    struct proc_exit exit = {.code = 127};
    struct proc *p = NULL;
    char text[32];
    struct err err = {0};
    bool gone = false;
    if (proc_start(&spec, &p, &err))
        fprintf(stderr, "backend host: %s\n", err.msg);
    while (p && !proc_wait(p, LOOK_S, &exit)) {
        struct pollfd fd = {.fd = w->fd, .events = POLLIN};
        gone = poll(&fd, 1, 0) > 0; /* nothing else comes */
        if (gone) {
            proc_terminate(p, GRACE_S, &exit);
            break;
        }
    }
    proc_destroy(p);
    snprintf(text, sizeof(text), "0\n%d", exit.code >= 0 ? exit.code : 128 + exit.signal);
    return gone || launch_wire_send(w, LAUNCH_ENDED, text, NULL) ? 1 : 0;
}

static int serve_connection(const struct host *h, int fd)
{
    struct launch_wire w = {.fd = fd};
    struct launch_message *m = mem_alloc(sizeof(*m));
    struct err err = {0};
    int status = 1;
    enum rc rc = launch_wire_meet(&w, fd, true, h->secret, &err);
    if (!rc)
        rc = launch_wire_receive(&w, m, &err);
    if (rc)
        fprintf(stderr, "backend host: a connection is refused: %s\n", err.msg);
    else if (m->word == LAUNCH_START)
        status = run_command(&w, m->text);
    launch_wire_close(&w);
    mem_free(m);
    return status;
}

static void take_connection(const struct host *h, int *children)
{
    int fd = accept4(h->listens, NULL, NULL, SOCK_CLOEXEC);
    pid_t parent = getpid();
    if (fd < 0)
        return;
    pid_t pid = *children < CONNECTIONS_MAX ? fork() : -1;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        close(h->listens);
        _exit(getppid() == parent ? serve_connection(h, fd) : 1);
    }
    *children += pid > 0;
    close(fd);
}

static void serve_host(const struct host *h)
{
    int children = 0;
    for (;;) {
        struct pollfd fds[] = {{.fd = h->listens, .events = POLLIN},
                               {.fd = h->signals, .events = POLLIN}};
        poll(fds, ARRAY_LEN(fds), 1000);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            children--;
        if (stop_signals_came(h->signals))
            return;
        if (fds[0].revents)
            take_connection(h, &children);
    }
}

static enum rc host_run(const struct host_conf *c, struct err *err)
{
    struct host h = {.listens = -1, .signals = -1};
    enum rc rc = cmd_place_dir(&c->where, &h.dir, err);
    if (!rc)
        rc = check_name(&h, c, err);
    if (!rc)
        rc = listen_on(&h, c->port, err);
    h.signals = rc ? -1 : stop_signals_watch();
    if (!rc)
        rc = leave_record(&h, c->address, err);
    if (!rc) {
        serve_host(&h);
        unlink(h.record);
    }
    if (h.listens >= 0)
        close(h.listens);
    if (h.signals >= 0)
        close(h.signals);
    mem_free(h.record);
    mem_free(h.secret);
    mem_free(h.dir);
    return rc;
}

/* --- the other side --- */

static int connect_to(const char *address, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fd = -1;
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        struct timeval patience = {.tv_sec = CONNECT_MS / 1000};
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd >= 0) /* also how long a connect() takes */
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* An fd to the host's process; -1: there is none, and `where` says where one was. */
static int find_host(const char *dir, const char *host, char where[RECORD_MAX])
{
    char *path = mem_printf("%s/mpi/hosts/%s", dir, host), *text = NULL;
    struct str rest, address;
    size_t n = 0;
    int fd = -1;
    *where = '\0';
    if (!strchr(host, '/') && fs_exists(path) &&
        fs_read(path, RECORD_MAX - 1, &text, &n, NULL) == RC_OK) {
        rest = str_trim(str_of(text, n));
        snprintf(where, RECORD_MAX, "%.*s", (int)rest.n, rest.p);
        if (str_split(&rest, ' ', &address)) {
            char *at = mem_strndup(address.p, address.n);
            char *port = mem_strndup(rest.p, rest.n);
            fd = connect_to(at, port);
            mem_free(at);
            mem_free(port);
        }
    }
    mem_free(text);
    mem_free(path);
    return fd;
}

/* Until the command has ended; receive() alone would give up after seconds. */
static enum rc await_end(struct launch_wire *w, struct launch_message *m, int64_t *status,
                         struct err *err)
{
    struct pollfd fd = {.fd = w->fd, .events = POLLIN};
    struct str rest, number;
    while (poll(&fd, 1, -1) < 0 && errno == EINTR)
        ;
    enum rc rc = launch_wire_receive(w, m, err);
    rest = str_of(m->text, rc ? 0 : m->n);
    if (!rc && (m->word != LAUNCH_ENDED || !str_split(&rest, '\n', &number) ||
                !str_to_i64(rest, status)))
        rc = err_coded(err, RC_FORMAT, E3209, "a host answers what is not understood");
    return rc;
}

static enum rc ask_host(const char *dir, int fd, const char *command, int64_t *status,
                        struct err *err)
{
    struct launch_wire w = {.fd = fd};
    struct launch_message *m = mem_alloc(sizeof(*m));
    char *secret = NULL;
    enum rc rc = read_secret(dir, &secret, err);
    if (rc)
        close(fd);
    else
        rc = launch_wire_meet(&w, fd, false, secret, err);
    if (!rc)
        rc = launch_wire_send(&w, LAUNCH_START, command, err);
    if (!rc)
        rc = await_end(&w, m, status, err);
    launch_wire_close(&w);
    mem_free(secret);
    mem_free(m);
    return rc;
}

static enum rc become_ssh(const char *host, const char *command, const char *where,
                          struct err *err)
{
    char *const argv[] = {"ssh",
                          "-o",
                          "BatchMode=yes",
                          "-o",
                          "ConnectTimeout=15",
                          (char *)(uintptr_t)host,
                          (char *)(uintptr_t)command,
                          NULL};
    if (*where)
        fprintf(stderr, "host %s: its 'trainyard backend host' does not answer at %s\n",
                host, where);
    execvp(argv[0], argv);
    return err_coded(err, RC_NOTFOUND, E3209,
                     "host %s cannot be reached: 'trainyard backend host' does not run "
                     "there, and there is no ssh here",
                     host);
}

static enum rc reach_host(const struct host_conf *c, const struct opt_args *args,
                          struct err *err)
{
    char *dir = NULL, where[RECORD_MAX];
    const char *given = env_get("TRAINYARD_MPI_DIR");
    struct buf line;
    int64_t status = 255;
    enum rc rc = RC_OK;
    if (args->n < 2)
        return err_set(err, RC_INVAL, "--reach is for mpirun: HOST COMMAND...");
    if (given)
        dir = mem_strdup(given);
    else
        rc = cmd_place_dir(&c->where, &dir, err);
    buf_init(&line, LAUNCH_TEXT_MAX);
    for (size_t i = 1; i < args->n; i++)
        buf_printf(&line, "%s%s", i > 1 ? " " : "", args->at[i]);
    int fd = rc ? -1 : find_host(dir, args->at[0], where);
    if (!rc && fd < 0)
        rc = become_ssh(args->at[0], buf_str(&line), where, err);
    else if (!rc)
        rc = ask_host(dir, fd, buf_str(&line), &status, err);
    buf_release(&line);
    mem_free(dir);
    if (rc || status == 0)
        return rc;
    err->msg[0] = '\0';
    err->exit = (int)(status & 255);
    return RC_IO;
}

static enum rc backend_host_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct host_conf *c = conf;
    if (c->reach)
        return reach_host(c, args, err);
    if (args->n)
        return err_set(err, RC_INVAL, "'%.64s': this command has options alone",
                       args->at[0]);
    return host_run(c, err);
}

static const struct opt host_opts[] = {
    {OPT_TEXT(struct host_conf, name, NULL,
              "what hostfiles call this host; default: its name"),
     .meta = "NAME"},
    {OPT_TEXT(struct host_conf, address, NULL,
              "under which others reach it; default: its name in hostfiles"),
     .meta = "ADDRESS"},
    {OPT_INT(struct host_conf, port, "0", 0, 65535, "port to wait on; 0: any"),
     .meta = "PORT"},
    {OPT_BOOL(struct host_conf, reach, "false", "what mpirun calls in place of ssh"),
     .hidden = true},
    JOB_WHERE_OPTS(struct host_conf),
    {0},
};

static const struct cmd_example host_examples[] = {
    {"on each host, in place of a ssh server",
     "trainyard backend host --dir /shared/jobs"},
    {"a host that the hostfile calls by its address",
     "trainyard backend host --dir /shared/jobs --name 10.0.0.7"},
    {0},
};

const struct cmd cmd_backend_host = {
    .name = "backend host",
    .summary = "take part in jobs on MPI hosts, where ssh is not set up",
    .description =
        "Runs on a host of a hostfile, as whoever submits the jobs, until SIGTERM or "
        "Ctrl-C. Jobs of --backend mpi start their part of mpirun by it instead of ssh.\n\n"
        "Who can read the directory of jobs can have it run commands: it finds its secret "
        "there (mpi/secret, for its owner alone) and leaves its address (mpi/hosts/NAME). "
        "Messages are authenticated with the secret, which does not travel.",
    .examples = host_examples,
    .opts = host_opts,
    .conf_size = sizeof(struct host_conf),
    .min_args = 0,
    .max_args = SIZE_MAX,
    .stop_at_word = true,
    .run = backend_host_command,
};
