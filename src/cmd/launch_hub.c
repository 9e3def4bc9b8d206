/* SPDX-License-Identifier: Apache-2.0 */
/* A thread accepts launchers of other hosts (TCP) and agents of mpirun (a socket of this
 * machine, for our own user only), passes commands from agents to hosts and exit statuses
 * back, and notices when a host is gone. The lock guards the list of hosts; the thread
 * alone changes it.
 *
 * Hosts stay connected over several starts of a run. Each has a name of its own for
 * mpirun: that of the machine, with its number behind it where two are called the same.
 */
#include "cmd/launch_hub.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/launch_wire.h"

#define LAST_CALL_S 10 /* for more hosts, once there are enough */
#define HOST_SIZE 256

struct guest {
    struct launch_wire wire;
    int64_t node_rank, ranks; /* node_rank -1: any */
    char host[HOST_SIZE], name[HOST_SIZE + 16];
    bool gone, used; /* used: in the last gathering */
};

struct agent {
    int fd, id;
    struct guest *guest;
};

struct launch_hub {
    struct launch_hub_conf conf;
    int listens, local, wake;
    char name[64];
    pthread_t thread;
    pthread_mutex_t lock; /* guards `guests`, `failed`, `why`, `quit` */
    VEC(struct guest *) guests;
    bool failed, quit;
    struct err why;
    VEC(struct agent) agents; /* the thread's own, as the rest */
    int next_id;
    struct launch_message message;
    bool told_stranger;
};

/* --- sockets --- */

/* An fd, or -1 with errno. */
static int listen_at(const char *address, const char *port, int family)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int yes = 1, fd = -1;
    hints.ai_family = family;
    if (getaddrinfo(address, port, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    bool done = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                listen(fd, 64) == 0;
    int failed = errno;
    if (!done && fd >= 0)
        close(fd);
    freeaddrinfo(found);
    errno = failed;
    return done ? fd : -1;
}

bool launch_hub_may_listen(const char *address, const char *port)
{
    int fd = listen_at(address, port, AF_UNSPEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* All addresses, of both kinds where the machine has both. */
static enum rc listen_tcp(const struct launch_hub_conf *c, int *out, struct err *err)
{
    *out = listen_at(NULL, c->port, AF_INET6);
    if (*out < 0 && errno != EADDRINUSE)
        *out = listen_at(NULL, c->port, AF_INET);
    if (*out >= 0)
        return RC_OK;
    int failed = errno;
    return err_coded(err, RC_IO, E2504, "cannot listen on port %s: %s%s", c->port,
                     strerror(failed),
                     failed == EADDRINUSE ? "; another run has it: choose another "
                                            "--master-port"
                                          : "");
}

static socklen_t local_address(const char *name, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static enum rc listen_local(struct launch_hub *h, struct err *err)
{
    struct sockaddr_un at;
    snprintf(h->name, sizeof(h->name), "trainyard-launch-%jd-%jx", (intmax_t)getpid(),
             (uintmax_t)clock_mono_ns());
    socklen_t n = local_address(h->name, &at);
    h->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (h->local < 0 || bind(h->local, (struct sockaddr *)&at, n) < 0 ||
        listen(h->local, 64) < 0)
        return err_sys(err, errno, "cannot listen for mpirun");
    return RC_OK;
}

/* --- hosts --- */

static bool name_is_taken(const struct launch_hub *h, const char *name)
{
    char own[HOST_SIZE] = "";
    if (gethostname(own, sizeof(own) - 1) == 0 && strcmp(own, name) == 0)
        return true;
    for (size_t i = 0; i < h->guests.n; i++)
        if (!h->guests.at[i]->gone && strcmp(h->guests.at[i]->name, name) == 0)
            return true;
    return false;
}

/* mpirun takes letters, digits and dashes; what is behind a dot is left out. */
static void name_guest(const struct launch_hub *h, struct guest *g)
{
    char base[HOST_SIZE];
    snprintf(base, sizeof(base), "%s", g->host[0] ? g->host : "host");
    base[strcspn(base, ".")] = '\0';
    for (char *c = base; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-",
                    *c))
            *c = '-';
    snprintf(g->name, sizeof(g->name), "%s", base);
    for (int i = 1; name_is_taken(h, g->name); i++)
        snprintf(g->name, sizeof(g->name), "%s-%d", base, i);
}

static bool read_join(struct launch_message *m, struct guest *g, struct str *version)
{
    struct str rest = str_of(m->text, m->n), rank, ranks, host;
    if (m->word != LAUNCH_JOIN || !str_split(&rest, '\n', version) ||
        !str_split(&rest, '\n', &rank) || !str_split(&rest, '\n', &ranks) ||
        !str_split(&rest, '\n', &host) || !str_to_i64(rank, &g->node_rank) ||
        !str_to_i64(ranks, &g->ranks) || g->ranks < 1)
        return false;
    snprintf(g->host, sizeof(g->host), "%.*s", (int)host.n, host.p);
    return true;
}

/* Why a host cannot take part; "" when it can. A run with another version cannot come to
 * anything: it ends.
 */
static void judge(struct launch_hub *h, const struct guest *g, struct str version,
                  struct buf *why)
{
    int64_t here = 1;
    for (size_t i = 0; i < h->guests.n; i++) {
        const struct guest *other = h->guests.at[i];
        here += !other->gone;
        if (!other->gone && g->node_rank >= 0 && other->node_rank == g->node_rank)
            buf_printf(why, "node_rank %jd is that of host %s, which is here",
                       (intmax_t)g->node_rank, other->host);
    }
    if (!why->n && g->node_rank >= h->conf.most)
        buf_printf(why, "node_rank %jd of %jd nodes", (intmax_t)g->node_rank,
                   (intmax_t)h->conf.most);
    if (!why->n && here >= h->conf.most)
        buf_printf(why, "all %jd nodes are here", (intmax_t)h->conf.most);
    if (str_is(version, TY_VERSION))
        return;
    buf_clear(why);
    buf_printf(why, "node_rank %jd on host %s has version %.*s, node 0 has %s",
               (intmax_t)g->node_rank, g->host, (int)version.n, version.p, TY_VERSION);
    h->failed = true;
    err_coded(&h->why, RC_INVAL, E2503, "%s", buf_str(why));
}

static void admit(struct launch_hub *h, struct guest *g, struct str version)
{
    struct buf why;
    buf_init(&why, 4096);
    pthread_mutex_lock(&h->lock);
    judge(h, g, version, &why);
    if (!why.n) {
        name_guest(h, g);
        VEC_PUSH(&h->guests, g);
    }
    pthread_mutex_unlock(&h->lock);
    enum rc rc = launch_wire_send(&g->wire, why.n ? LAUNCH_REFUSED : LAUNCH_WELCOME,
                                  buf_str(&why), NULL);
    if (why.n) {
        launch_wire_close(&g->wire);
        mem_free(g);
    } else if (rc) {
        g->gone = true;
    }
    buf_release(&why);
}

static void accept_host(struct launch_hub *h)
{
    struct err err = {0};
    struct str version;
    int fd = accept4(h->listens, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct guest *g = mem_calloc(1, sizeof(*g));
    enum rc rc = launch_wire_meet(&g->wire, fd, true, h->conf.secret, &err);
    if (!rc)
        rc = launch_wire_receive(&g->wire, &h->message, &err);
    if (!rc && read_join(&h->message, g, &version)) {
        admit(h, g, version);
        return;
    }
    if (rc == RC_INVAL && !h->told_stranger)
        fprintf(stderr,
                "launch: note: a process that wants to join this run is refused: "
                "%s\n",
                err.msg);
    h->told_stranger = h->told_stranger || rc == RC_INVAL;
    launch_wire_close(&g->wire);
    mem_free(g);
}

/* --- agents --- */

static void answer(struct launch_hub *h, size_t i, int status)
{
    unsigned char byte = (unsigned char)status;
    send(h->agents.at[i].fd, &byte, 1, MSG_NOSIGNAL); /* it may be gone itself */
    close(h->agents.at[i].fd);
    h->agents.at[i] = h->agents.at[--h->agents.n];
}

static struct guest *find_guest(const struct launch_hub *h, struct str name)
{
    for (size_t i = 0; i < h->guests.n; i++)
        if (!h->guests.at[i]->gone && str_is(name, h->guests.at[i]->name))
            return h->guests.at[i];
    return NULL;
}

static bool is_own(int fd)
{
    struct ucred who;
    socklen_t n = sizeof(who);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.uid == geteuid();
}

/* "host\ncommand", to its end. */
static size_t read_request(int fd, char *text, size_t size)
{
    struct timeval patience = {.tv_sec = 2};
    size_t n = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    for (ssize_t did = 1; did > 0 && n<size; n += did> 0 ? (size_t)did : 0)
        did = recv(fd, text + n, size - n, 0);
    return n;
}

static void accept_agent(struct launch_hub *h)
{
    int fd = accept4(h->local, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct str rest = {.p = h->message.text}, host;
    if (is_own(fd))
        rest.n = read_request(fd, h->message.text, LAUNCH_TEXT_MAX / 2);
    VEC_PUSH(&h->agents, ((struct agent){.fd = fd, .id = h->next_id++}));
    struct agent *a = &h->agents.at[h->agents.n - 1];
    if (str_split(&rest, '\n', &host))
        a->guest = find_guest(h, host);
    char *text = mem_printf("%d\n%.*s", a->id, (int)rest.n, rest.p);
    if (!a->guest || launch_wire_send(&a->guest->wire, LAUNCH_START, text, NULL) != RC_OK)
        answer(h, h->agents.n - 1, 255);
    mem_free(text);
}

/* --- the thread --- */

static void drop(struct launch_hub *h, struct guest *g)
{
    pthread_mutex_lock(&h->lock);
    g->gone = true;
    pthread_mutex_unlock(&h->lock);
    launch_wire_close(&g->wire);
    for (size_t i = 0; i < h->agents.n;)
        if (h->agents.at[i].guest == g)
            answer(h, i, 255);
        else
            i++;
}

static void hear_guest(struct launch_hub *h, struct guest *g)
{
    struct str rest, number;
    int64_t id = -1, status = 255;
    if (launch_wire_receive(&g->wire, &h->message, NULL) != RC_OK) {
        drop(h, g);
        return;
    }
    if (h->message.word == LAUNCH_STOP)
        kill(getpid(), SIGTERM); /* as if the user had asked here */
    rest = str_of(h->message.text, h->message.n);
    if (h->message.word != LAUNCH_ENDED || !str_split(&rest, '\n', &number) ||
        !str_to_i64(number, &id) || !str_to_i64(rest, &status))
        return;
    for (size_t i = 0; i < h->agents.n; i++)
        if (h->agents.at[i].id == id) {
            answer(h, i, (int)status);
            return;
        }
}

static bool is_over(struct launch_hub *h)
{
    pthread_mutex_lock(&h->lock);
    bool quit = h->quit;
    pthread_mutex_unlock(&h->lock);
    return quit;
}

static void *serve_hub(void *arg)
{
    struct launch_hub *h = arg;
    VEC(struct pollfd) fds = {0};
    while (!is_over(h)) {
        fds.n = 0;
        VEC_PUSH(&fds, ((struct pollfd){.fd = h->wake, .events = POLLIN}));
        VEC_PUSH(&fds, ((struct pollfd){.fd = h->listens, .events = POLLIN}));
        VEC_PUSH(&fds, ((struct pollfd){.fd = h->local, .events = POLLIN}));
        size_t first = fds.n, n = h->guests.n;
        for (size_t i = 0; i < n; i++)
            VEC_PUSH(&fds,
                     ((struct pollfd){.fd = h->guests.at[i]->wire.fd, .events = POLLIN}));
        if (poll(fds.at, fds.n, 1000) <= 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (fds.at[first + i].revents)
                hear_guest(h, h->guests.at[i]);
        if (fds.at[1].revents)
            accept_host(h);
        if (fds.at[2].revents)
            accept_agent(h);
    }
    VEC_RELEASE(&fds);
    return NULL;
}

enum rc launch_hub_open(const struct launch_hub_conf *conf, struct launch_hub **out,
                        struct err *err)
{
    struct launch_hub *h = mem_calloc(1, sizeof(*h));
    sigset_t all, old;
    h->conf = *conf;
    h->listens = h->local = -1;
    h->wake = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&h->lock, NULL);
    enum rc rc = listen_tcp(conf, &h->listens, err);
    if (!rc)
        rc = listen_local(h, err);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = rc ? 0 : pthread_create(&h->thread, NULL, serve_hub, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed)
        rc = err_sys(err, failed, "cannot start a thread");
    h->quit = rc != RC_OK;
    if (rc)
        launch_hub_close(h, 1, "");
    else
        *out = h;
    return rc;
}

const char *launch_hub_name(const struct launch_hub *h)
{
    return h->name;
}

static void tell_over(struct launch_hub *h, int status, const char *why)
{
    char *text = mem_printf("%d\n%s", status, why ? why : "");
    for (size_t i = 0; i < h->guests.n; i++)
        if (!h->guests.at[i]->gone &&
            launch_wire_send(&h->guests.at[i]->wire, LAUNCH_OVER, text, NULL) != RC_OK)
            fprintf(stderr, "launch: note: host %s cannot be told of the end\n",
                    h->guests.at[i]->host);
    mem_free(text);
}

void launch_hub_close(struct launch_hub *h, int status, const char *why)
{
    if (!h)
        return;
    if (!h->quit) {
        pthread_mutex_lock(&h->lock);
        h->quit = true;
        pthread_mutex_unlock(&h->lock);
        eventfd_write(h->wake, 1);
        pthread_join(h->thread, NULL);
        tell_over(h, status, why);
    }
    for (size_t i = 0; i < h->agents.n; i++)
        close(h->agents.at[i].fd);
    for (size_t i = 0; i < h->guests.n; i++) {
        launch_wire_close(&h->guests.at[i]->wire);
        mem_free(h->guests.at[i]);
    }
    VEC_RELEASE(&h->agents);
    VEC_RELEASE(&h->guests);
    for (size_t i = 0; i < 3; i++) {
        int fd = (int[]){h->listens, h->local, h->wake}[i];
        if (fd >= 0)
            close(fd);
    }
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

/* --- gathering --- */

static int64_t count_here(const struct launch_hub *h)
{
    int64_t n = 1;
    for (size_t i = 0; i < h->guests.n; i++)
        n += !h->guests.at[i]->gone;
    return n;
}

static bool has_rank(const struct launch_hub *h, int64_t rank)
{
    for (size_t i = 0; i < h->guests.n; i++)
        if (!h->guests.at[i]->gone && h->guests.at[i]->node_rank == rank)
            return true;
    return false;
}

static enum rc name_missing(const struct launch_hub *h, struct err *err)
{
    struct buf b;
    buf_init(&b, 4096);
    for (int64_t r = 1; r < h->conf.most; r++)
        if (!has_rank(h, r))
            buf_printf(&b, "%s%jd", b.n ? ", " : "", (intmax_t)r);
    enum rc rc = err_coded(
        err, RC_IO, E2502,
        "after %.0f s (PROCESS_GROUP_TIMEOUT_SECONDS) %jd of %jd nodes are here; these "
        "node_ranks have not come to port %s: %s",
        h->conf.timeout_s, (intmax_t)count_here(h), (intmax_t)h->conf.least, h->conf.port,
        buf_str(&b));
    buf_release(&b);
    return rc;
}

static void put_hosts(struct launch_hub *h, struct launch_hosts *out)
{
    char own[HOST_SIZE] = "localhost";
    if (gethostname(own, sizeof(own) - 1) != 0)
        snprintf(own, sizeof(own), "localhost");
    buf_init(&out->list, (size_t)1 << 20);
    buf_printf(&out->list, "%s:%jd", own, (intmax_t)h->conf.ranks);
    out->n = 1;
    out->ranks = (int)h->conf.ranks;
    for (int64_t r = -1; r < h->conf.most; r++) /* by their number, if they have one */
        for (size_t i = 0; i < h->guests.n; i++) {
            struct guest *g = h->guests.at[i];
            g->used = !g->gone;
            if (g->gone || g->node_rank != r)
                continue;
            buf_printf(&out->list, ",%s:%jd", g->name, (intmax_t)g->ranks);
            out->n++;
            out->ranks += (int)g->ranks;
        }
}

/* RC_OK with *enough, an error, or neither: more are awaited. */
static enum rc look(struct launch_hub *h, int64_t start, int64_t *enough_since,
                    bool *enough, struct err *err)
{
    int64_t now = clock_mono_ns(), here = count_here(h);
    if (h->failed) {
        *err = h->why;
        return RC_INVAL;
    }
    if (here < h->conf.least)
        *enough_since = 0;
    else if (!*enough_since)
        *enough_since = now;
    *enough = here >= h->conf.most ||
              (*enough_since && now - *enough_since > LAST_CALL_S * CLOCK_SECOND);
    if (!*enough && !*enough_since &&
        (double)(now - start) > h->conf.timeout_s * (double)CLOCK_SECOND)
        return name_missing(h, err);
    return RC_OK;
}

enum rc launch_hub_gather(struct launch_hub *h, struct launch_hosts *hosts,
                          struct err *err)
{
    int64_t start = clock_mono_ns(), enough_since = 0;
    bool enough = false;
    enum rc rc = RC_OK;
    while (!rc && !enough) {
        struct pollfd asked = {.fd = h->conf.signals, .events = POLLIN};
        pthread_mutex_lock(&h->lock);
        rc = look(h, start, &enough_since, &enough, err);
        if (!rc && enough)
            put_hosts(h, hosts);
        pthread_mutex_unlock(&h->lock);
        if (!rc && !enough && poll(&asked, 1, 100) > 0)
            rc = err_set(err, RC_CANCELED, "stopped while it waited for other hosts");
    }
    return rc;
}

bool launch_hub_lost(struct launch_hub *h, char *host, size_t size)
{
    bool lost = false;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->guests.n && !lost; i++)
        if (h->guests.at[i]->used && h->guests.at[i]->gone) {
            snprintf(host, size, "%s", h->guests.at[i]->host);
            lost = true;
        }
    pthread_mutex_unlock(&h->lock);
    return lost;
}

/* --- the agent's own process --- */

enum rc launch_hub_agent(const char *name, const char *host, const char *command,
                         int *status, struct err *err)
{
    struct sockaddr_un at;
    unsigned char byte = 255;
    socklen_t n = local_address(name, &at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *text = mem_printf("%s\n%s", host, command);
    size_t left = strlen(text);
    enum rc rc = RC_OK;
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, n) < 0)
        rc = err_sys(err, errno, "cannot reach the launcher of this run");
    for (const char *p = text; !rc && left > 0;) {
        ssize_t did = send(fd, p, left, MSG_NOSIGNAL);
        if (did < 0)
            rc = err_sys(err, errno, "cannot send to the launcher of this run");
        p += did > 0 ? did : 0;
        left -= did > 0 ? (size_t)did : 0;
    }
    if (!rc)
        shutdown(fd, SHUT_WR);
    if (!rc && recv(fd, &byte, 1, 0) != 1)
        byte = 255;
    *status = byte;
    mem_free(text);
    if (fd >= 0)
        close(fd);
    return rc;
}
