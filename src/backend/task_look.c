/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's side of task.h: what it reads and writes beside the handles. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "backend/capacity.h"
#include "backend/task.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "job/file.h"

#define TEXT_MAX 4096
#define LIST_MAX (4 << 20)
#define PORT_FIRST 20000
#define PORT_COUNT 12000 /* below those that systems give out themselves */

void backend_task_prepare(struct backend_job *j)
{
    const char *asked = jobspec_backend_option(j->spec->s, "view");
    const char *only = j->p->view;
    char *scratch = fs_join(j->dir, "root");
    char what[VIEW_ERROR_SIZE];
    bool mount = asked && strcmp(asked, "mount") == 0;
    bool may = fs_mkdirs(scratch, 0700, NULL) == RC_OK;
    if (!asked && may && (!only || !*only || strcmp(only, "mount") == 0))
        mount = backend_capacity_view(j->p->dir) || backend_view_possible(scratch, what);
    mem_free(scratch);
    j->view = mount ? "mount" : "plain";
    j->links = !mount;
    j->root = mount ? "/ml" : j->ml;
}

int64_t backend_task_port(const struct backend_job *j)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%s.%jd", j->id, (intmax_t)j->attempt);
    return PORT_FIRST + (int64_t)(hash_xxh3(text, (size_t)n) % PORT_COUNT);
}

/* "HANDLE.ENDING" as text, NULL: it is not there. The caller's. */
static char *beside(const struct backend_worker *w, const char *ending)
{
    char *path = mem_printf("%s.%s", w->handle, ending), *text = NULL;
    size_t n = 0;
    if (!fs_exists(path) || fs_read(path, TEXT_MAX, &text, &n, NULL))
        text = NULL;
    mem_free(path);
    return text;
}

static void fill_exit(const struct backend_worker *w, const struct backend_shim_exit *e,
                      struct backend_exit *out)
{
    *out = (struct backend_exit){.code = e->code,
                                 .signal = e->signal,
                                 .cpu_s = e->cpu_s,
                                 .rss_bytes = e->rss_bytes,
                                 .ended = e->ended,
                                 .log_cut = e->log_cut};
    char *text = e->code == 126 || e->code == 127 ? beside(w, "text") : NULL;
    if (text)
        snprintf(out->text, sizeof(out->text), "%s", text);
    mem_free(text);
}

bool backend_task_look(const struct backend_worker *w, bool *ended, int *told,
                       struct backend_exit *out)
{
    struct backend_shim_exit e;
    char *run = mem_printf("%s.shim", w->handle);
    bool runs = fs_exists(run);
    *ended = runs && backend_shim_exit_read(run, &e);
    if (*ended) {
        fill_exit(w, &e, out);
        *told = e.told;
    }
    mem_free(run);
    return runs;
}

void backend_task_note(const struct backend_job *j, struct backend_worker *w)
{
    char *path = mem_printf("%s/run/%jd.%jd.node", j->dir, (intmax_t)w->index,
                            (intmax_t)j->attempt);
    char *text = NULL;
    size_t n = 0;
    if (!w->node[0] && fs_exists(path) && fs_read(path, 1000, &text, &n, NULL) == RC_OK)
        snprintf(w->node, sizeof(w->node), "%s", text);
    mem_free(text);
    mem_free(path);
}

void backend_task_request(const struct backend_worker *w, enum backend_signal s)
{
    static const char *const words[] = {[BACKEND_STOP] = "stop",
                                        [BACKEND_KILL] = "kill",
                                        [BACKEND_PAUSE] = "pause",
                                        [BACKEND_RESUME] = "resume",
                                        [BACKEND_DESTROY] = "kill"};
    char *path = mem_printf("%s.ask", w->handle), *before = beside(w, "ask");
    struct str rest = str_c(before ? before : "0 "), first;
    int64_t number = 0;
    if (!str_split(&rest, ' ', &first) || !str_to_i64(first, &number))
        number = 0;
    char *text = mem_printf("%jd %s\n", (intmax_t)number + 1, words[s]);
    enum rc rc = job_file_put(path, text, strlen(text), 0600, NULL);
    (void)rc; /* it is destroyed in a while */
    mem_free(text);
    mem_free(before);
    mem_free(path);
}

enum rc backend_task_list(const char *list, const struct backend_launch *at, size_t n,
                          struct err *err)
{
    struct buf b;
    buf_init(&b, LIST_MAX);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s\n", at[i].w->handle);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(list, b.p, b.n, 0600, err);
    buf_release(&b);
    return rc;
}

void backend_task_refresh(const struct backend_job *j)
{
    char *path = fs_join(j->dir, "run");
    DIR *d = opendir(path);
    while (d && readdir(d))
        ;
    if (d)
        closedir(d);
    mem_free(path);
}
