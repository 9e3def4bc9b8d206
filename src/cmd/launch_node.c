/* SPDX-License-Identifier: Apache-2.0 */
/* One loop over the connection to node 0, the user's signals and the daemons that run
 * here. A daemon is what mpirun would start over ssh: a line for the shell. When the
 * connection is lost, or the user asks twice, daemons are ended, and with them their ranks.
 */
#include "cmd/launch_node.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/launch_wire.h"

#define AGAIN_NS (CLOCK_SECOND / 2) /* between two tries to reach node 0 */
#define GRACE_S 5                   /* for a daemon to end with its run */
#define CONNECT_MS 3000
#define SHARED_DIR "/dev/shm"
#define SHARED_VARIABLE "OMPI_MCA_btl_vader_backing_directory"

struct daemon {
    char *id; /* node 0's number of it */
    struct proc *p;
};

struct node {
    const struct launch_node_conf *conf;
    struct launch_wire wire;
    VEC(struct daemon) daemons;
    int asked;
};

static int connect_to(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int failed = 0;
    socklen_t n = sizeof(failed);
    if (fd < 0)
        return -1;
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && poll(&p, 1, CONNECT_MS) > 0 &&
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &n) == 0 && failed == 0)) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return fd;
    }
    close(fd);
    return -1;
}

static int try_once(const struct launch_node_conf *c)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fd = -1;
    if (getaddrinfo(c->address, c->port, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
        fd = connect_to(a);
    freeaddrinfo(found);
    return fd;
}

/* True when the user asked to stop. */
static bool asked_to_stop(const struct launch_node_conf *c)
{
    struct signalfd_siginfo info;
    return read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

static enum rc reach(const struct launch_node_conf *c, int *out, struct err *err)
{
    int64_t start = clock_mono_ns();
    for (*out = try_once(c); *out < 0; *out = try_once(c)) {
        if (asked_to_stop(c))
            return err_set(err, RC_CANCELED, "stopped while it waited for node 0");
        if ((double)(clock_mono_ns() - start) > c->timeout_s * (double)CLOCK_SECOND)
            return err_coded(err, RC_IO, E2502,
                             "node 0 at %s port %s did not answer for %.0f s "
                             "(PROCESS_GROUP_TIMEOUT_SECONDS)",
                             c->address, c->port, c->timeout_s);
        nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
    }
    return RC_OK;
}

static enum rc join(struct node *x, struct launch_message *m, struct err *err)
{
    const struct launch_node_conf *c = x->conf;
    char host[256] = "";
    int fd = -1;
    enum rc rc = reach(c, &fd, err);
    if (!rc)
        rc = launch_wire_meet(&x->wire, fd, false, c->secret, err);
    if (rc)
        return rc;
    if (gethostname(host, sizeof(host) - 1) != 0)
        snprintf(host, sizeof(host), "?");
    char *text = mem_printf("%s\n%jd\n%jd\n%s", TY_VERSION, (intmax_t)c->node_rank,
                            (intmax_t)c->ranks, host);
    rc = launch_wire_send(&x->wire, LAUNCH_JOIN, text, err);
    mem_free(text);
    if (!rc)
        rc = launch_wire_receive(&x->wire, m, err);
    if (rc) /* who has another secret hangs up on us */
        return rc == RC_IO ? err_coded(err, rc, E2504,
                                       "node 0 at %s port %s refuses this host: another "
                                       "--rdzv-id or TRAINYARD_LAUNCH_SECRET",
                                       c->address, c->port)
                           : rc;
    if (m->word == LAUNCH_REFUSED)
        return err_coded(err, RC_INVAL, E2503, "node 0 refuses this host: %.300s",
                         m->text);
    return RC_OK;
}

/* A connection that has ended is noticed when it is read. */
static void tell(struct node *x, enum launch_word word, const char *text)
{
    if (launch_wire_send(&x->wire, word, text, NULL) != RC_OK)
        shutdown(x->wire.fd, SHUT_WR);
}

static void start_daemon(struct node *x, char *text)
{
    char *command = strchr(text, '\n');
    struct proc *p = NULL;
    struct err err = {0};
    if (!command)
        return;
    *command++ = '\0';
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct proc_spec spec = {.argv = argv, .in.kind = PROC_NULL};
    if (proc_start(&spec, &p, &err) == RC_OK) {
        VEC_PUSH(&x->daemons, ((struct daemon){.id = mem_strdup(text), .p = p}));
        return;
    }
    fprintf(stderr, "launch: note: %s\n", err.msg);
    char *ended = mem_printf("%s\n127", text);
    tell(x, LAUNCH_ENDED, ended);
    mem_free(ended);
}

static void reap_daemons(struct node *x)
{
    for (size_t i = 0; i < x->daemons.n;) {
        struct daemon *d = &x->daemons.at[i];
        struct proc_exit exit;
        if (!proc_poll(d->p, &exit)) {
            i++;
            continue;
        }
        char *text =
            mem_printf("%s\n%d", d->id, exit.code >= 0 ? exit.code : 128 + exit.signal);
        tell(x, LAUNCH_ENDED, text);
        mem_free(text);
        mem_free(d->id);
        proc_destroy(d->p);
        x->daemons.at[i] = x->daemons.at[--x->daemons.n];
    }
}

/* The run is over: daemons end by themselves, or are ended. */
static void end_daemons(struct node *x, double grace)
{
    for (size_t i = 0; i < x->daemons.n; i++) {
        struct proc_exit exit;
        if (!proc_wait(x->daemons.at[i].p, grace, &exit))
            proc_terminate(x->daemons.at[i].p, GRACE_S, &exit);
        proc_destroy(x->daemons.at[i].p);
        mem_free(x->daemons.at[i].id);
    }
    VEC_RELEASE(&x->daemons);
}

/* "1\nwhy": what node 0 has printed for the user is said here, too, in a note. */
static enum rc finish(char *text, struct err *err)
{
    char *why = strchr(text, '\n');
    int64_t code = 1;
    if (why)
        *why++ = '\0';
    if (!str_to_i64(str_c(text), &code) || code < 0 || code > 255)
        code = 1;
    if (code == 0)
        return RC_OK;
    err_coded(err, RC_IO, E2501, "node 0 ended the run%s%s", why && *why ? ": " : "",
              why ? why : "");
    err->exit = (int)code;
    return RC_IO;
}

static enum rc hear_user(struct node *x, struct err *err)
{
    while (asked_to_stop(x->conf))
        x->asked++;
    if (x->asked > 1)
        return err_set(err, RC_CANCELED, "stopped");
    if (x->asked == 1)
        tell(x, LAUNCH_STOP, "");
    return RC_OK;
}

/* *over once node 0 says so. */
static enum rc hear_node_0(struct node *x, struct launch_message *m, bool *over,
                           struct err *err)
{
    enum rc rc = launch_wire_receive(&x->wire, m, err);
    if (rc)
        return err_coded(err, rc, E2501, "the connection to node 0 at %s is lost",
                         x->conf->address);
    *over = m->word == LAUNCH_OVER;
    if (m->word == LAUNCH_START)
        start_daemon(x, m->text);
    return *over ? finish(m->text, err) : RC_OK;
}

static enum rc follow(struct node *x, struct launch_message *m, bool *over,
                      struct err *err)
{
    enum rc rc = RC_OK;
    while (!rc && !*over) {
        struct pollfd fds[] = {{.fd = x->wire.fd, .events = POLLIN},
                               {.fd = x->conf->signals, .events = POLLIN}};
        poll(fds, ARRAY_LEN(fds), 300);
        if (fds[1].revents)
            rc = hear_user(x, err);
        reap_daemons(x);
        if (!rc && fds[0].revents)
            rc = hear_node_0(x, m, over, err);
    }
    return rc;
}

/* Ranks of a host share memory in files that Open MPI names after the host and the number
 * of a rank on its node. Two nodes may be on one host, as workers of a job are: each but node
 * 0 has a directory of its own for them. NULL: the user names one, or there is none.
 */
static char *make_shared_dir(void)
{
    char name[] = SHARED_DIR "/trainyard-XXXXXX";
    if (getenv(SHARED_VARIABLE) || !mkdtemp(name))
        return NULL;
    setenv(SHARED_VARIABLE, name, 1);
    return mem_strdup(name);
}

static void remove_shared_dir(char *dir)
{
    if (!dir)
        return;
    unsetenv(SHARED_VARIABLE);
    if (fs_remove_all(dir, NULL) != RC_OK)
        fprintf(stderr, "launch: note: '%s' cannot be removed\n", dir);
    mem_free(dir);
}

enum rc launch_node_run(const struct launch_node_conf *conf, struct err *err)
{
    struct node x = {.conf = conf, .wire.fd = -1};
    char *shared = make_shared_dir();
    struct launch_message *m = mem_alloc(sizeof(*m));
    bool over = false;
    enum rc rc = join(&x, m, err);
    if (!rc)
        rc = follow(&x, m, &over, err);
    end_daemons(&x, over ? GRACE_S : 0);
    launch_wire_close(&x.wire);
    remove_shared_dir(shared);
    mem_free(m);
    return rc;
}
