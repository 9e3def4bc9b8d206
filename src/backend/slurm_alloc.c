/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch and scancel run beside the supervisor, which never waits for them: start() only
 * begins, and every look goes one step further. What sbatch came to is told by its files, in
 * this supervisor and in the next one alike:
 *
 *     no lock file                   it was never run: run it
 *     the lock is held               it runs
 *     a number in BASE.answer        submitted
 *     a refusal in BASE.error        never will be
 *     else                           ask squeue for the tag: there, or run it again
 */
#include "backend/slurm_alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/handoff.h"
#include "backend/slurm_batch.h"
#include "backend/task.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"

#define SECOND_NS INT64_C(1000000000)
#define SURE_NS \
    (3 * SECOND_NS) /* behind sbatch's end its request has arrived, or never will */
#define AGAIN_NS (5 * SECOND_NS)
#define FILE_MAX (1 << 20)

/* `wanted`, the stronger the greater. */
enum { BELL = 1, HARD, WHOLE };

char *slurm_alloc_file(const struct slurm_alloc *a, const char *ending)
{
    return mem_printf("%s.%s", a->base, ending);
}

/* "" where there is no such file. The caller's. */
static char *read_file(const struct slurm_alloc *a, const char *ending, int64_t *written)
{
    char *path = slurm_alloc_file(a, ending), *text = NULL;
    struct stat st;
    size_t n = 0;
    if (stat(path, &st) == 0 && written)
        *written = (int64_t)st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec;
    if (!fs_exists(path) || fs_read(path, FILE_MAX, &text, &n, NULL))
        text = mem_strdup("");
    mem_free(path);
    return text;
}

static enum rc write_file(const struct slurm_alloc *a, const char *ending,
                          const void *data, size_t n, struct err *err)
{
    char *path = slurm_alloc_file(a, ending);
    enum rc rc = job_file_put(path, data, n, 0600, err);
    mem_free(path);
    return rc;
}

static bool has_file(const struct slurm_alloc *a, const char *ending)
{
    char *path = slurm_alloc_file(a, ending);
    bool there = fs_exists(path);
    mem_free(path);
    return there;
}

/* "12;cluster\n" */
static int64_t number_in(const char *text)
{
    struct str rest = str_trim(str_c(text)), first;
    int64_t n = 0;
    if (!str_split(&rest, ';', &first) || !str_to_i64(str_trim(first), &n) || n < 0)
        return 0;
    return n;
}

static struct slurm_alloc *alloc_new(const struct backend_job *j, const char *name)
{
    struct slurm_alloc *a = mem_calloc(1, sizeof(*a));
    a->base = mem_printf("%s/run/%s", j->dir, name);
    a->tag = mem_printf("%s.%s", j->id, name + strlen("slurm."));
    a->name = slurm_batch_name(j, a->tag);
    a->stopped = has_file(a, "stop");
    return a;
}

void slurm_alloc_destroy(struct slurm_alloc *a)
{
    if (!a)
        return;
    if (a->sbatch)
        proc_disown(a->sbatch); /* it ends by itself, and its files tell how */
    if (a->scancel)
        proc_disown(a->scancel);
    mem_free(a->base);
    mem_free(a->name);
    mem_free(a->tag);
    mem_free(a);
}

static struct proc *start_command(const char *const *argv, struct proc_io in,
                                  const char *out, const char *errors, struct err *err)
{
    struct job_contract_env env = {.list = {0}};
    struct proc *p = NULL;
    slurm_env_fill(&env);
    struct proc_spec spec = {.argv = argv,
                             .env = job_contract_env_list(&env),
                             .in = in,
                             .out = {.kind = out ? PROC_FILE : PROC_NULL, .path = out},
                             .err = {.kind = PROC_FILE, .path = errors},
                             .new_session = true};
    if (proc_start(&spec, &p, err))
        p = NULL;
    job_contract_env_release(&env);
    return p;
}

static void refuse(struct slurm_alloc *a, enum job_reason why, const char *text)
{
    a->why = why;
    snprintf(a->text, sizeof(a->text), "%.399s", text);
}

/* The words of BASE.argv; in `arena`. */
static const char *const *read_argv(const struct slurm_alloc *a, struct arena *arena)
{
    char *path = slurm_alloc_file(a, "argv"), *data = NULL;
    size_t n = 0, k = 0;
    const char **argv = NULL;
    if (fs_read(path, FILE_MAX, &data, &n, NULL) == RC_OK && n && !data[n - 1]) {
        argv = arena_alloc(arena, (n + 1) * sizeof(*argv));
        for (const char *at = data; at < data + n; at += strlen(at) + 1)
            argv[k++] = arena_strdup(arena, at);
    }
    mem_free(data);
    mem_free(path);
    return argv;
}

static void submit(struct slurm_alloc *a)
{
    struct arena arena = {0};
    struct err err = {0};
    const char *const *argv = read_argv(a, &arena);
    char *lock = slurm_alloc_file(a, "lock"), *answer = slurm_alloc_file(a, "answer");
    char *errors = slurm_alloc_file(a, "error");
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    snprintf(a->text, sizeof(a->text), "it is being submitted");
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (fd < 0 || errno != EWOULDBLOCK)
            refuse(a, WHY_BackendUnavailable, strerror(errno));
    } else {
        struct proc_io in = {.kind = PROC_FD, .fd = fd};
        a->sbatch = argv ? start_command(argv, in, answer, errors, &err) : NULL;
        if (!a->sbatch)
            refuse(a, WHY_BackendUnavailable, argv ? err.msg : "its files are gone");
    }
    if (fd >= 0)
        close(fd);
    mem_free(errors);
    mem_free(answer);
    mem_free(lock);
    arena_release(&arena);
}

/* sbatch of a supervisor that is dead. */
static bool still_submits(const struct slurm_alloc *a)
{
    char *lock = slurm_alloc_file(a, "lock");
    int fd = open(lock, O_RDWR | O_CLOEXEC);
    bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    mem_free(lock);
    return held;
}

static void take_number(struct slurm_alloc *a)
{
    char *answer = read_file(a, "answer", NULL);
    a->number = number_in(answer);
    mem_free(answer);
    if (a->number)
        return;
    char *owner = read_file(a, "owner", NULL);
    a->number = number_in(owner);
    mem_free(owner);
}

/* What the messages of sbatch mean; AWAY also when there are none. */
static enum slurm_failure take_messages(struct slurm_alloc *a, int64_t *at)
{
    char *said = read_file(a, "error", at);
    enum slurm_failure f = *said ? slurm_failure_of(said) : SLURM_AWAY;
    struct buf b;
    buf_init(&b, sizeof(a->text));
    if (*said)
        slurm_message_put(said, &b);
    else
        buf_puts(&b, "whether it was submitted is being looked up");
    if (f == SLURM_REFUSED)
        refuse(a, WHY_Rejected, buf_str(&b));
    else
        snprintf(a->text, sizeof(a->text), "%s", buf_str(&b));
    buf_release(&b);
    mem_free(said);
    return f;
}

/* sbatch ended without a number: what now? `f` says how. */
static void look_for_tag(struct slurm_alloc *a, enum slurm_failure f, int64_t tried,
                         const char *answer, int64_t at)
{
    struct slurm_news n;
    char number[32];
    if (f == SLURM_UNSENT && a->stopped) {
        refuse(a, WHY_UserStopped, "it was not submitted");
        return;
    }
    if (!answer || at < tried + SURE_NS)
        return;
    if (slurm_news_find(answer, 0, a->tag, &n)) {
        a->number = n.number;
        int length = snprintf(number, sizeof(number), "%jd\n", (intmax_t)n.number);
        enum rc rc = write_file(a, "answer", number, (size_t)length, NULL);
        (void)rc; /* it is found again */
    } else if (a->stopped) {
        refuse(a, WHY_UserStopped, "it was not submitted");
    } else if (clock_wall_ns() > tried + AGAIN_NS) {
        submit(a);
    }
}

static void advance_submission(struct slurm_alloc *a, const char *answer, int64_t at)
{
    struct proc_exit exit;
    int64_t tried = 0;
    if (a->sbatch && !proc_poll(a->sbatch, &exit))
        return;
    proc_destroy(a->sbatch);
    a->sbatch = NULL;
    if (!has_file(a, "lock")) {
        if (a->stopped)
            refuse(a, WHY_UserStopped, "it was not submitted");
        else
            submit(a);
        return;
    }
    if (still_submits(a))
        return;
    take_number(a);
    if (a->number)
        return;
    enum slurm_failure f = take_messages(a, &tried);
    if (a->why == WHY_None)
        look_for_tag(a, f, tried, answer, at);
}

/* Slurm had it, and does not know it any more. One that never began was forgotten by a
 * controller that died, and is submitted again; should it come back, it finds an owner.
 */
static void take_absence(struct slurm_alloc *a)
{
    a->state = slurm_news_account(a->number, a->tag);
    if (a->state || a->stopped || has_file(a, "owner")) {
        a->over = !a->state || a->state->phase == SLURM_OVER;
        return;
    }
    a->number = 0;
    submit(a);
}

/* What squeue says of it; not to be there means nothing in an answer older than itself. */
static void take_news(struct slurm_alloc *a, const char *answer, int64_t at)
{
    struct slurm_news n;
    int64_t known = 0;
    if (!answer || a->over)
        return;
    if (slurm_news_find(answer, a->number, a->tag, &n)) {
        a->state = n.state;
        snprintf(a->reason, sizeof(a->reason), "%.*s", (int)n.reason.n, n.reason.p);
        snprintf(a->nodes, sizeof(a->nodes), "%.*s", (int)n.nodes.n, n.nodes.p);
        a->over = n.state->phase == SLURM_OVER;
    } else {
        char *text = read_file(a, "answer", &known);
        mem_free(text);
        if (at > known + SURE_NS)
            take_absence(a);
    }
    if (a->over)
        a->over_at = clock_mono_ns();
}

/* URG tells shims to look for a request; see shim.h. */
static const char *option_for(const struct slurm_alloc *a)
{
    if (a->wanted == WHOLE || (a->wanted == HARD && a->destroyed > 0))
        return NULL;
    return a->wanted == HARD ? "--signal=KILL" : "--signal=URG";
}

static void send_signal(struct slurm_alloc *a)
{
    char number[32];
    const char *argv[5] = {"scancel"}, *option = option_for(a);
    char *errors = slurm_alloc_file(a, "scancel"),
         *name = mem_printf("--name=%s", a->name);
    size_t n = 1;
    snprintf(number, sizeof(number), "%jd", (intmax_t)a->number);
    if (option)
        argv[n++] = option;
    argv[n++] = name; /* numbers can be somebody else's by now */
    argv[n++] = number;
    a->scancel =
        start_command(argv, (struct proc_io){.kind = PROC_NULL}, NULL, errors, NULL);
    a->destroyed += a->wanted == HARD;
    mem_free(name);
    mem_free(errors);
}

static void advance_signals(struct slurm_alloc *a)
{
    struct proc_exit exit = {.code = 0};
    if (a->scancel) {
        if (!proc_poll(a->scancel, &exit))
            return;
        proc_destroy(a->scancel);
        a->scancel = NULL;
        if (exit.code == 0)
            a->wanted = 0;
        else
            a->again_at = clock_mono_ns() + AGAIN_NS;
    }
    if (a->wanted && a->number && !a->over && clock_mono_ns() >= a->again_at)
        send_signal(a);
}

void slurm_alloc_advance(struct slurm_alloc *a, const char *answer, int64_t at)
{
    if (!a->number && a->why == WHY_None)
        advance_submission(a, answer, at);
    if (a->number)
        take_news(a, answer, at);
    advance_signals(a);
}

void slurm_alloc_signal(struct slurm_alloc *a, enum backend_signal s, bool runs)
{
    bool ends = s != BACKEND_PAUSE && s != BACKEND_RESUME;
    int wanted = ends && !runs ? WHOLE : s == BACKEND_DESTROY ? HARD : BELL;
    if (ends && !a->stopped) {
        enum rc rc = write_file(a, "stop", "", 0, NULL);
        (void)rc; /* this supervisor knows it anyway */
        a->stopped = true;
    }
    if (a->scancel) { /* may have rung before this worker's request was there */
        proc_destroy(a->scancel);
        a->scancel = NULL;
    }
    if (a->wanted < wanted)
        a->wanted = wanted;
    a->again_at = 0;
}

static enum rc write_argv(const struct slurm_alloc *a, const struct backend_job *j,
                          const struct backend_launch *at, size_t n, struct err *err)
{
    struct arena arena = {0};
    struct buf b;
    buf_init(&b, FILE_MAX);
    const char *const *w = slurm_batch_argv(j, at, n, a->base, a->tag, &arena);
    for (; *w; w++)
        buf_add(&b, *w, strlen(*w) + 1);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = write_file(a, "argv", b.p, b.n, err);
    buf_release(&b);
    arena_release(&arena);
    return rc;
}

/* Handles come last: with them the allocation exists. */
static enum rc write_all(const struct slurm_alloc *a, const struct backend_job *j,
                         struct backend_launch *at, size_t n, struct err *err)
{
    char *list = slurm_alloc_file(a, "list");
    enum rc rc = backend_task_list(list, at, n, err);
    mem_free(list);
    if (!rc)
        rc = write_argv(a, j, at, n, err);
    if (!rc)
        rc = write_file(a, "sh", slurm_batch_script, strlen(slurm_batch_script), err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = backend_handoff_write(j, &at[i], err);
    char *name = fs_basename(a->base);
    for (size_t i = 0; i < n && !rc; i++)
        rc = job_file_put(at[i].w->handle, name, strlen(name), 0600, err);
    mem_free(name);
    return rc;
}

enum rc slurm_alloc_create(const struct backend_job *j, struct backend_launch *at,
                           size_t n, struct slurm_alloc **out, struct err *err)
{
    const struct backend_worker *w = at[0].w;
    char name[100];
    if (w->life)
        snprintf(name, sizeof(name), "slurm.%jd.%jd-%jd", (intmax_t)j->attempt,
                 (intmax_t)w->index, (intmax_t)w->life);
    else
        snprintf(name, sizeof(name), "slurm.%jd", (intmax_t)j->attempt);
    struct slurm_alloc *a = alloc_new(j, name);
    enum rc rc = write_all(a, j, at, n, err);
    if (rc) {
        slurm_alloc_destroy(a);
        return rc;
    }
    submit(a);
    *out = a;
    return RC_OK;
}

enum rc slurm_alloc_open(const struct backend_job *j, const char *handle,
                         struct slurm_alloc **out, struct err *err)
{
    char *name = NULL;
    size_t n = 0;
    enum rc rc = fs_read(handle, 100, &name, &n, err);
    if (!rc && (!str_starts(name, "slurm.") || strchr(name, '/')))
        rc = err_set(err, RC_FORMAT, "'%s' is not the handle of a Slurm worker", handle);
    if (!rc)
        *out = alloc_new(j, name);
    mem_free(name);
    return rc;
}
