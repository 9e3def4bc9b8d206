/* SPDX-License-Identifier: Apache-2.0 */
/* Each backend is asked in a process of its own, so that one that hangs or crashes is told as
 * such and takes nobody with it: neither the agent, nor jobs of other backends.
 */
#include "backend/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/call.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/file.h"
#include "job/status.h"
#include "text/json_out.h"

#define LOG_AREA "agent"
#define FRESH_NS (5 * INT64_C(1000000000))
#define FILE_MAX (64 << 10)
#define PATIENCE_MS 20000
#define TRIES 3

static size_t place_of(const char *name)
{
    size_t i = 0;
    while (i < PROBE_MAX && backend_at(i) && strcmp(backend_at(i)->name, name) != 0)
        i++;
    return i < PROBE_MAX && backend_at(i) ? i : PROBE_MAX;
}

/* What the child says; one write, so it comes whole or not at all. */
struct answer {
    enum rc rc;
    struct err err;
};

static void probe_child(const struct backend_ops *b, const char *dir, int to)
{
    struct answer a = {.rc = RC_OK};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    a.rc = backend_call_probe(b, dir, &a.err);
    ssize_t n = write(to, &a, sizeof(a));
    _exit(n == (ssize_t)sizeof(a) ? 0 : 1);
}

/* Of a child that said nothing. SIGKILL comes from outside, of the kernel when memory is
 * short or of an administrator, so it says nothing about the backend: ask again later.
 */
static enum rc no_answer(const struct backend_ops *b, bool late, bool killed, int status,
                         struct err *err)
{
    char words[PROC_WORDS_SIZE];
    bool by_signal = WIFSIGNALED(status);
    proc_exit_words((struct proc_exit){.code = by_signal ? -1 : WEXITSTATUS(status),
                                       .signal = by_signal ? WTERMSIG(status) : 0},
                    words);
    if (late)
        return err_coded(err, RC_CANCELED, E3209,
                         "backend %s: probe() did not answer in %d s", b->name,
                         PATIENCE_MS / 1000);
    if (killed)
        return err_coded(err, RC_CANCELED, E3209,
                         "backend %s: the process of probe() was killed from outside",
                         b->name);
    return err_coded(err, RC_INVAL, E3208, "backend %s: probe() ended its process (%s)",
                     b->name, words);
}

static enum rc hear_child(const struct backend_ops *b, pid_t pid, int from, bool *killed,
                          struct err *err)
{
    struct answer a = {.rc = RC_OK};
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int64_t end = clock_mono_ns() + (int64_t)PATIENCE_MS * 1000000;
    int got = -1, status = 0;
    while (got < 0 && clock_mono_ns() < end)
        got = poll(&ready, 1, (int)((end - clock_mono_ns()) / 1000000 + 1));
    bool told = got > 0 && read(from, &a, sizeof(a)) == (ssize_t)sizeof(a);
    if (got <= 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *killed = !told && got > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!told)
        return no_answer(b, got <= 0, *killed, status, err);
    if (err)
        *err = a.err;
    return a.rc;
}

static enum rc ask_child(const struct backend_ops *b, const char *dir, bool *killed,
                         struct err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        probe_child(b, dir, fds[1]);
    enum rc rc = pid < 0 ? err_sys(err, errno, "cannot fork") : RC_OK;
    close(fds[1]);
    if (!rc)
        rc = hear_child(b, pid, fds[0], killed, err);
    close(fds[0]);
    return rc;
}

/* One that was killed from outside is asked again at once, a few times. */
enum rc backend_probe_one(const struct backend_ops *b, const char *dir, struct err *err)
{
    enum rc rc = RC_OK;
    bool killed = true;
    for (int i = 0; killed && i < TRIES; i++) {
        killed = false;
        rc = ask_child(b, dir, &killed, err);
    }
    return rc;
}

static void ask(const char *dir, size_t i, struct backend_probe *out)
{
    struct err err = {0};
    enum rc rc = backend_probe_one(backend_at(i), dir, &err);
    *out = (struct backend_probe){
        .failed = rc != RC_OK, .passing = rc == RC_CANCELED, .at = clock_wall_ns()};
    if (rc)
        snprintf(out->text, sizeof(out->text), "%.*s", PROBE_TEXT - 1, err.msg);
}

static void write_file(const char *dir, const struct backend_probes *p)
{
    struct buf b;
    buf_init(&b, FILE_MAX);
    struct json_out j = {.out = &b};
    json_open(&j, NULL, '{');
    for (size_t i = 0; i < PROBE_MAX && backend_at(i); i++)
        if (p->at[i].failed) {
            json_open(&j, backend_at(i)->name, '{');
            json_put_bool(&j, "passing", p->at[i].passing);
            json_put_int(&j, "at", p->at[i].at);
            json_put_str(&j, "text", p->at[i].text);
            json_close(&j, '}');
        }
    json_close(&j, '}');
    buf_putc(&b, '\n');
    char *path = fs_join(dir, "backends.json");
    struct err err = {0};
    if (job_file_put(path, buf_str(&b), b.n, 0600, &err))
        log_warn("%s", err.msg);
    mem_free(path);
    buf_release(&b);
}

void backend_probe_all(const char *dir, struct backend_probes *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < PROBE_MAX && backend_at(i); i++) {
        ask(dir, i, &out->at[i]);
        if (out->at[i].failed)
            log_debug("backend %s: %s", backend_at(i)->name, out->at[i].text);
    }
    write_file(dir, out);
}

bool backend_probe_again(const char *dir, struct backend_probes *p, const char *name)
{
    size_t i = place_of(name);
    if (i == PROBE_MAX || !p->at[i].failed || clock_wall_ns() - p->at[i].at < FRESH_NS)
        return false;
    struct backend_probe before = p->at[i];
    ask(dir, i, &p->at[i]);
    write_file(dir, p);
    return before.failed != p->at[i].failed || before.passing != p->at[i].passing ||
           strcmp(before.text, p->at[i].text) != 0;
}

void backend_probe_read(const char *dir, struct backend_probes *out)
{
    char *path = fs_join(dir, "backends.json"), *text = NULL;
    size_t n = 0;
    struct doc doc = {0};
    const struct node *map = NULL;
    memset(out, 0, sizeof(*out));
    if (fs_exists(path) && fs_read(path, FILE_MAX, &text, &n, NULL) == RC_OK)
        map = job_json_open(text, &doc);
    for (size_t i = 0; map && i < PROBE_MAX && backend_at(i); i++) {
        const struct node *one = node_find(map, backend_at(i)->name);
        struct backend_probe *p = &out->at[i];
        p->failed = one != NULL;
        p->passing = node_get_bool(one, "passing", false);
        p->at = node_get_int(one, "at", 0);
        snprintf(p->text, sizeof(p->text), "%s", node_get_text(one, "text", ""));
    }
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    mem_free(path);
}

const struct backend_probe *backend_probe_failure(const struct backend_probes *p,
                                                  const char *name)
{
    size_t i = place_of(name);
    return i < PROBE_MAX && p->at[i].failed ? &p->at[i] : NULL;
}
