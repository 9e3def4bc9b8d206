/* SPDX-License-Identifier: Apache-2.0 */
/* A file's lock says that its runner lives, its name who came first, and its lines, once it
 * has some, what is taken. Nothing else is kept, so a runner that is killed gives back what
 * it had, and whoever looks next removes its file. One lock is held while files are made,
 * looked at or renamed: a file that nobody has locked yet is never seen.
 */
#include "backend/mpirun_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "job/file.h"

#define HAVE "have-"
#define NAMES_SHOWN 3
#define LEASE_MAX (1 << 20)

struct mpirun_slots {
    struct mpirun_slots_want want;
    char *dir;      /* owned: DIR/mpi/slots */
    char *name;     /* owned: of our file in it */
    char queue[32]; /* "wait-QUEUE-": how names of our queue begin */
    int fd;         /* locked */
};

/* An fd, -1: it cannot be had. */
static int lock_all(const struct mpirun_slots *s)
{
    char *path = mem_printf("%s/mpi/lock", s->want.dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0)
        if (errno != EINTR) {
            close(fd);
            fd = -1;
        }
    mem_free(path);
    return fd;
}

static void unlock_all(int fd)
{
    if (fd >= 0)
        close(fd);
}

int64_t mpirun_slots_most(const struct mpirun_hosts *h, int64_t per_host)
{
    int64_t sum = 0;
    for (size_t i = 0; i < h->at.n; i++) {
        int64_t slots = h->at.at[i].slots;
        sum += per_host && per_host < slots ? per_host : slots;
    }
    return sum;
}

enum rc mpirun_slots_open(const struct mpirun_slots_want *want, struct mpirun_slots **out,
                          struct err *err)
{
    struct mpirun_slots *s = mem_calloc(1, sizeof(*s));
    s->want = *want;
    s->dir = mem_printf("%s/mpi/slots", want->dir);
    snprintf(s->queue, sizeof(s->queue), "wait-%016jx-",
             (uintmax_t)hash_xxh3(want->hostfile, strlen(want->hostfile)));
    s->name = mem_printf("%s%016jx-%s", s->queue, (uintmax_t)clock_wall_ns(), want->tag);
    s->fd = -1;
    enum rc rc = fs_mkdirs(s->dir, 0700, err);
    int all = rc ? -1 : lock_all(s);
    char *path = fs_join(s->dir, s->name);
    if (!rc && all >= 0)
        s->fd = job_lock_take(path);
    if (!rc && s->fd < 0)
        rc = err_sys(err, errno, "cannot make '%s'", path);
    unlock_all(all);
    mem_free(path);
    if (rc)
        mpirun_slots_close(s);
    else
        *out = s;
    return rc;
}

void mpirun_slots_close(struct mpirun_slots *s)
{
    if (!s)
        return;
    char *path = fs_join(s->dir, s->name);
    if (s->fd >= 0) {
        unlink(path);
        close(s->fd);
    }
    mem_free(path);
    mem_free(s->dir);
    mem_free(s->name);
    mem_free(s);
}

/* Its runner lives; what a dead one left is removed. */
static bool is_alive(const struct mpirun_slots *s, const char *name)
{
    char *path = fs_join(s->dir, name);
    bool alive = job_lock_held(path);
    if (!alive)
        unlink(path);
    mem_free(path);
    return alive;
}

/* How many before us in our queue; *first: one of them. */
static size_t count_before(const struct mpirun_slots *s, const struct fs_names *names,
                           const char **first)
{
    size_t n = 0;
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->at[i];
        if (!str_starts(name, s->queue) || strcmp(name, s->name) >= 0 ||
            !is_alive(s, name))
            continue;
        if (!n++)
            *first = name;
    }
    return n;
}

struct taken {
    VEC(int64_t) at; /* of hosts->at */
    struct buf who;
    size_t n_who;
};

/* "have-WHEN-JOB.ATTEMPT" */
static struct str job_in(const char *name)
{
    const char *tag = strrchr(name, '-');
    const char *begin = strstr(name, "-jb-");
    begin = begin ? begin + 1 : tag ? tag + 1 : name;
    return str_of(begin, strcspn(begin, "."));
}

static void add_lease(const struct mpirun_slots *s, const char *name, struct taken *t)
{
    char *path = fs_join(s->dir, name), *text = NULL;
    size_t n = 0;
    bool ours = false; /* it has some of our hosts */
    if (fs_read(path, LEASE_MAX, &text, &n, NULL) != RC_OK)
        text = NULL;
    struct str rest = str_of(text ? text : "", text ? n : 0), line, host;
    while (rest.n && str_split(&rest, '\n', &line)) {
        int64_t count;
        if (!str_split(&line, ' ', &host) || !str_to_i64(line, &count))
            continue;
        for (size_t i = 0; i < t->at.n; i++)
            if (str_is(host, s->want.hosts->at.at[i].name)) {
                t->at.at[i] += count;
                ours = true;
            }
    }
    if (ours && t->n_who++ < NAMES_SHOWN) {
        struct str job = job_in(name);
        buf_printf(&t->who, "%s%.*s", t->who.n ? ", " : "", (int)job.n, job.p);
    }
    mem_free(text);
    mem_free(path);
}

static void read_taken(const struct mpirun_slots *s, const struct fs_names *names,
                       struct taken *t)
{
    *t = (struct taken){.n_who = 0};
    buf_init(&t->who, MPIRUN_TEXT_SIZE);
    for (size_t i = 0; i < s->want.hosts->at.n; i++)
        VEC_PUSH(&t->at, 0);
    for (size_t i = 0; i < names->n; i++)
        if (str_starts(names->at[i], HAVE) && is_alive(s, names->at[i]))
            add_lease(s, names->at[i], t);
}

/* Hosts in the order of the file, each up to its free slots. Returns what is missing. */
static int64_t place(const struct mpirun_slots *s, const struct taken *t, int64_t *counts)
{
    int64_t left = s->want.workers;
    for (size_t i = 0; i < s->want.hosts->at.n; i++) {
        int64_t room = s->want.hosts->at.at[i].slots - t->at.at[i];
        if (s->want.per_host && room > s->want.per_host)
            room = s->want.per_host;
        room = room < 0 ? 0 : room;
        counts[i] = room < left ? room : left;
        left -= counts[i];
    }
    return left;
}

static bool write_lease(struct mpirun_slots *s, const int64_t *counts)
{
    struct buf b;
    const char *behind = s->name + strlen(s->queue);
    char *name = mem_printf(HAVE "%s", behind), *from = fs_join(s->dir, s->name);
    char *to = fs_join(s->dir, name);
    buf_init(&b, LEASE_MAX);
    for (size_t i = 0; i < s->want.hosts->at.n; i++)
        if (counts[i])
            buf_printf(&b, "%s %jd\n", s->want.hosts->at.at[i].name, (intmax_t)counts[i]);
    bool good = !b.failed && pwrite(s->fd, buf_str(&b), b.n, 0) == (ssize_t)b.n &&
                rename(from, to) == 0;
    if (good) {
        mem_free(s->name);
        s->name = name;
    } else {
        mem_free(name);
    }
    buf_release(&b);
    mem_free(from);
    mem_free(to);
    return good;
}

static void describe_before(size_t n, const char *first, char text[MPIRUN_TEXT_SIZE])
{
    struct str job = job_in(first);
    if (n == 1)
        snprintf(text, MPIRUN_TEXT_SIZE, "%.*s waits for these hosts before it",
                 (int)job.n, job.p);
    else
        snprintf(text, MPIRUN_TEXT_SIZE, "%zu jobs wait for these hosts before it", n);
}

static void describe_missing(const struct mpirun_slots *s, const struct taken *t,
                             int64_t missing, char text[MPIRUN_TEXT_SIZE])
{
    int64_t used = 0;
    for (size_t i = 0; i < t->at.n; i++)
        used += t->at.at[i];
    snprintf(text, MPIRUN_TEXT_SIZE,
             "%jd of its %jd workers find no slot: %jd of the %jd slots of its hosts are "
             "taken, by %s%s",
             (intmax_t)missing, (intmax_t)s->want.workers, (intmax_t)used,
             (intmax_t)mpirun_hosts_slots(s->want.hosts), buf_str(&t->who),
             t->n_who > NAMES_SHOWN ? " and others" : "");
}

static bool try_take(struct mpirun_slots *s, const struct fs_names *names,
                     int64_t *counts, char text[MPIRUN_TEXT_SIZE])
{
    const char *first = NULL;
    struct taken t;
    size_t before = count_before(s, names, &first);
    if (before) {
        describe_before(before, first, text);
        return false;
    }
    read_taken(s, names, &t);
    int64_t missing = place(s, &t, counts);
    bool taken = !missing && write_lease(s, counts);
    if (missing)
        describe_missing(s, &t, missing, text);
    else if (!taken)
        snprintf(text, MPIRUN_TEXT_SIZE, "'%.300s' cannot be written", s->dir);
    VEC_RELEASE(&t.at);
    buf_release(&t.who);
    return taken;
}

bool mpirun_slots_take(struct mpirun_slots *s, int64_t *counts,
                       char text[MPIRUN_TEXT_SIZE])
{
    struct fs_names names = {0};
    struct err err = {0};
    int all = lock_all(s);
    bool taken = false;
    if (all < 0 || fs_list(s->dir, &names, &err))
        snprintf(text, MPIRUN_TEXT_SIZE, "'%.300s' cannot be read", s->dir);
    else
        taken = try_take(s, &names, counts, text);
    fs_names_release(&names);
    unlock_all(all);
    return taken;
}

int64_t mpirun_slots_taken(const char *dir, const struct mpirun_hosts *h)
{
    char *path = mem_printf("%s/mpi/slots", dir);
    struct mpirun_slots s = {.want = {.dir = dir, .hosts = h}, .dir = path, .fd = -1};
    struct fs_names names = {0};
    struct taken t;
    int64_t sum = 0;
    int all = fs_is_dir(path) ? lock_all(&s) : -1;
    if (all >= 0 && fs_list(path, &names, NULL) == RC_OK) {
        read_taken(&s, &names, &t);
        for (size_t i = 0; i < t.at.n; i++)
            sum += t.at.at[i];
        VEC_RELEASE(&t.at);
        buf_release(&t.who);
    }
    fs_names_release(&names);
    unlock_all(all);
    mem_free(path);
    return sum;
}
