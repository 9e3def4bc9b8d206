/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are made by a child, so that the supervisor never waits for an API server; what the
 * child came to is told by its files, in this supervisor and in the next one alike.
 */
#include "backend/pods_alloc.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/pods_objects.h"
#include "backend/pods_requests.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define SECOND_NS INT64_C(1000000000)
#define AGAIN_NS (2 * SECOND_NS)
#define AGAIN_MAX_NS (30 * SECOND_NS)
#define FILE_MAX (4 << 20)
#define PREFIX "pods."

static char *file_of(const struct pods_alloc *a, const char *ending)
{
    return mem_printf("%s.%s", a->base, ending);
}

static enum rc write_file(const struct pods_alloc *a, const char *ending,
                          const void *data, size_t n, struct err *err)
{
    char *path = file_of(a, ending);
    enum rc rc = job_file_put(path, data, n, 0600, err);
    mem_free(path);
    return rc;
}

/* NULL: there is no such file. The caller's. */
static char *read_file(const struct pods_alloc *a, const char *ending, int64_t *written)
{
    char *path = file_of(a, ending), *text = NULL;
    struct stat st;
    size_t n = 0;
    if (stat(path, &st) < 0 || fs_read(path, FILE_MAX, &text, &n, NULL))
        text = NULL;
    else if (written)
        *written = (int64_t)st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec;
    mem_free(path);
    return text;
}

static bool has_file(const struct pods_alloc *a, const char *ending)
{
    char *path = file_of(a, ending);
    bool there = fs_exists(path);
    mem_free(path);
    return there;
}

char *pods_alloc_ask(const struct backend_job *j)
{
    return mem_printf("%s/run/" PREFIX "%jd.ask", j->dir, (intmax_t)j->attempt);
}

/* "pods.2" or "pods.2.3-1" -> the name of the object. */
static struct pods_alloc *alloc_new(const struct backend_job *j, const char *file,
                                    const struct kube_options *o)
{
    struct pods_alloc *a = mem_calloc(1, sizeof(*a));
    a->base = mem_printf("%s/run/%s", j->dir, file);
    a->name = mem_printf("%s-%s", j->id, file + strlen(PREFIX));
    for (char *c = a->name; *c; c++)
        if (*c == '.')
            *c = '-';
    a->row = strchr(file + strlen(PREFIX), '.') ? pods_row_at(0) : pods_row_of(j);
    a->o = o;
    a->stopped = has_file(a, "stop");
    return a;
}

void pods_alloc_destroy(struct pods_alloc *a)
{
    if (!a)
        return;
    if (a->child)
        waitpid(a->child, NULL, WNOHANG); /* it ends by itself, and its files tell how */
    mem_free(a->base);
    mem_free(a->name);
    mem_free(a);
}

static void write_error(const struct pods_alloc *a, enum rc rc, enum job_reason why,
                        const char *words)
{
    char *text =
        mem_printf("%s\n%s", rc == RC_CANCELED ? "" : job_reason_name(why), words);
    enum rc done = write_file(a, "error", text, strlen(text), NULL);
    (void)done; /* it is tried again */
    mem_free(text);
}

/* In the child, which holds the lock. */
static void make_objects(const struct pods_alloc *a)
{
    struct kube_client *c = NULL;
    struct err err = {0};
    enum job_reason why = WHY_Rejected;
    char *uid = NULL;
    struct pods_objects o = {.row = a->row,
                             .name = a->name,
                             .object = read_file(a, "object", NULL),
                             .secret = read_file(a, "secret", NULL),
                             .service = read_file(a, "service", NULL),
                             .before = read_file(a, "before", NULL)};
    enum rc rc = o.object && o.secret && (o.before || !a->row->kind->before)
                     ? RC_OK
                     : err_set(&err, RC_IO, "the files of its objects are gone");
    if (!rc)
        rc = kube_client_open(a->o, &c, &err);
    if (rc)
        why = WHY_BackendUnavailable;
    else
        rc = pods_request_submit(c, &o, &uid, &why, &err);
    if (rc)
        write_error(a, rc, why, err.msg);
    else
        rc = write_file(a, "answer", uid, strlen(uid), NULL);
    _exit(rc ? 1 : 0);
}

static void start_child(struct pods_alloc *a)
{
    char *lock = file_of(a, "lock");
    a->child = fork();
    if (a->child == 0) {
        close_range(3, ~0U, 0);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_NAME, "ty-pods-make");
        int fd = job_lock_take(lock);
        if (fd >= 0 && !has_file(a, "answer") && !has_file(a, "stop"))
            make_objects(a);
        _exit(0);
    }
    if (a->child < 0)
        a->child = 0;
    mem_free(lock);
}

static bool is_locked(const struct pods_alloc *a)
{
    char *lock = file_of(a, "lock");
    bool held = job_lock_held(lock);
    mem_free(lock);
    return held;
}

static bool take_answer(struct pods_alloc *a)
{
    char *uid = read_file(a, "answer", &a->made_at);
    a->made = uid != NULL;
    mem_free(uid);
    return a->made;
}

static void refuse(struct pods_alloc *a, enum job_reason why, const char *text)
{
    a->why = why;
    snprintf(a->text, sizeof(a->text), "%.399s", text);
}

/* What went wrong the last time; true: for good. */
static bool take_error(struct pods_alloc *a)
{
    char *text = read_file(a, "error", NULL);
    char *rest = text ? strchr(text, '\n') : NULL;
    enum job_reason why = WHY_None;
    if (rest) {
        *rest++ = '\0';
        snprintf(a->text, sizeof(a->text), "%.399s", rest);
        if (*text && job_reason_find(text, &why))
            a->why = why;
    }
    mem_free(text);
    return a->why != WHY_None;
}

static void plan_again(struct pods_alloc *a)
{
    int64_t pause = AGAIN_NS;
    for (int i = 0; i < a->failures && pause < AGAIN_MAX_NS; i++)
        pause *= 2;
    a->failures++;
    a->again = clock_mono_ns() + (pause < AGAIN_MAX_NS ? pause : AGAIN_MAX_NS);
}

void pods_alloc_advance(struct pods_alloc *a)
{
    if (a->made || a->why != WHY_None)
        return;
    if (a->child) {
        if (waitpid(a->child, NULL, WNOHANG) == 0)
            return;
        a->child = 0;
        if (!take_answer(a) && !take_error(a))
            plan_again(a);
        return;
    }
    if (clock_mono_ns() < a->again || is_locked(a) || take_answer(a) || take_error(a))
        return;
    if (a->stopped)
        refuse(a, WHY_UserStopped, "it was not submitted");
    else
        start_child(a);
}

void pods_alloc_forbid(struct pods_alloc *a)
{
    if (a->stopped)
        return;
    enum rc rc = write_file(a, "stop", "", 0, NULL);
    (void)rc; /* this supervisor knows it anyway */
    a->stopped = true;
    a->again = 0;
}

static enum rc write_object(const struct pods_alloc *a, const struct backend_job *j,
                            const struct backend_launch *at, size_t n, struct err *err)
{
    char *ask = pods_alloc_ask(j);
    struct buf b, before;
    buf_init(&b, FILE_MAX);
    buf_init(&before, FILE_MAX);
    enum rc rc = pods_object_make(j, at, n, a->row, a->name, ask, &b, &before, err);
    if (!rc)
        rc = write_file(a, "object", buf_str(&b), b.n, err);
    if (!rc && before.n)
        rc = write_file(a, "before", buf_str(&before), before.n, err);
    buf_release(&b);
    buf_release(&before);
    mem_free(ask);
    return rc;
}

static enum rc write_secret(const struct pods_alloc *a, const struct backend_job *j,
                            const struct backend_launch *at, size_t n, struct err *err)
{
    struct buf b;
    buf_init(&b, FILE_MAX);
    enum rc rc = pods_object_secret(j, at, n, a->row, a->name, &b, err);
    if (!rc)
        rc = write_file(a, "secret", buf_str(&b), b.n, err);
    buf_release(&b);
    return rc;
}

/* The Service is that of the attempt: a worker that starts again alone has it already. */
static enum rc write_service(const struct pods_alloc *a, const struct backend_job *j,
                             struct err *err)
{
    struct buf b;
    buf_init(&b, FILE_MAX);
    pods_object_service(j, a->row, a->name, &b);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = write_file(a, "service", buf_str(&b), b.n, err);
    buf_release(&b);
    return rc;
}

/* Pods read requests, and may be another user there. */
static enum rc make_asks(const struct backend_job *j, const struct backend_launch *at,
                         size_t n, struct err *err)
{
    char *ask = pods_alloc_ask(j);
    enum rc rc = fs_mkdirs(ask, 0755, err);
    for (size_t i = 0; i < n && !rc; i++) {
        char *path = mem_printf("%s/%jd", ask, (intmax_t)at[i].w->index);
        rc = job_file_put(path, "resume\n", 7, 0644, err);
        mem_free(path);
    }
    mem_free(ask);
    return rc;
}

static enum rc write_handles(const struct pods_alloc *a, struct backend_launch *at,
                             size_t n, struct err *err)
{
    char *name = fs_basename(a->base);
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = job_file_put(at[i].w->handle, name, strlen(name), 0600, err);
    mem_free(name);
    return rc;
}

enum rc pods_alloc_create(struct backend_job *j, struct backend_launch *at, size_t n,
                          const struct kube_options *o, struct pods_alloc **out,
                          struct err *err)
{
    const struct backend_worker *w = at[0].w;
    char file[100];
    if (w->life)
        snprintf(file, sizeof(file), PREFIX "%jd.%jd-%jd", (intmax_t)j->attempt,
                 (intmax_t)w->index, (intmax_t)w->life);
    else
        snprintf(file, sizeof(file), PREFIX "%jd", (intmax_t)j->attempt);
    struct pods_alloc *a = alloc_new(j, file, o);
    enum rc rc = make_asks(j, at, n, err);
    if (!rc)
        rc = write_object(a, j, at, n, err);
    if (!rc)
        rc = write_secret(a, j, at, n, err);
    if (!rc && !w->life && a->row->kind->service)
        rc = write_service(a, j, err);
    if (!rc)
        rc = write_handles(a, at, n, err);
    if (rc) {
        pods_alloc_destroy(a);
        return rc;
    }
    snprintf(a->text, sizeof(a->text), "it is being submitted");
    start_child(a);
    *out = a;
    return RC_OK;
}

enum rc pods_alloc_open(const struct backend_job *j, const char *handle,
                        const struct kube_options *o, struct pods_alloc **out,
                        struct err *err)
{
    char *name = NULL;
    size_t n = 0;
    enum rc rc = fs_read(handle, 100, &name, &n, err);
    if (!rc && (!str_starts(name, PREFIX) || strchr(name, '/')))
        rc = err_set(err, RC_FORMAT, "'%s' is no handle of a worker in Kubernetes",
                     handle);
    if (!rc)
        *out = alloc_new(j, name, o);
    mem_free(name);
    return rc;
}
