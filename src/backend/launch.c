/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker is started with: its variables, its directory, its share of the GPUs. The
 * backend says where workers find each other (address, port) and where they see their
 * tree (root); everything else is the same wherever they run.
 */
#include <string.h>

#include "backend/call.h"
#include "backend/confine.h"
#include "backend/sup_private.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/environ.h"

/* "2,3" of "0,1,2,3" for worker 1 with two each. */
const char *launch_gpus(const struct sup *s, int64_t index, struct arena *a)
{
    struct str rest = str_c(s->rec.now.gpus), part;
    int64_t first = 0, n = s->workers[index].b.role->gpu;
    struct buf b;
    if (!n)
        return NULL;
    for (int64_t i = 0; i < index; i++)
        first += s->workers[i].b.role->gpu;
    buf_init(&b, 4096);
    for (int64_t i = 0; rest.n && str_split(&rest, ',', &part); i++)
        if (i >= first && i < first + n)
            buf_printf(&b, "%s%.*s", b.n ? "," : "", (int)part.n, part.p);
    const char *text = arena_strndup(a, buf_str(&b), b.n);
    buf_release(&b);
    return text;
}

/* Adds variables of the submission that are not set yet. */
static void submitted_env(const struct backend_job *j, struct job_contract_env *e)
{
    struct job_environ_list env;
    char *path = fs_join(j->dir, "env.json");
    job_environ_read(path, &env);
    for (size_t i = 0; i < env.list.n; i++) {
        const char *value = strchr(env.list.at[i], '=');
        char *name = mem_strndup(env.list.at[i], (size_t)(value - env.list.at[i]));
        if (!job_contract_env_get(e, name))
            job_contract_env_put(e, name, value + 1);
        mem_free(name);
    }
    job_environ_release(&env);
    mem_free(path);
    if (!job_contract_env_get(e, "PATH"))
        job_contract_env_put(e, "PATH", "/usr/local/bin:/usr/bin:/bin");
}

/* What the submission's environment and the job's packages add; an image has its own. */
static void base_env(const struct sup *s, struct job_contract_env *e)
{
    if (!s->job.ops->host_files)
        return;
    submitted_env(&s->job, e);
    confine_env(&s->job, e);
    char *venv = fs_join(s->dir, "venv");
    if (confine_packages_ready(&s->job)) {
        const char *old = job_contract_env_get(e, "PATH");
        char *full = mem_printf("%s/bin:%s", venv, old ? old : "/usr/bin:/bin");
        job_contract_env_put(e, "PATH", full);
        job_contract_env_put(e, "VIRTUAL_ENV", venv);
        mem_free(full);
    }
    mem_free(venv);
}

/* Where the job's program finds itself. */
static const char *work_dir(const struct sup *s, struct arena *a)
{
    if (s->rec.now.snapshot[0] || !s->job.ops->host_files || !s->spec.s->has_workdir)
        return arena_printf(a, "%s/usercode", s->job.root);
    return s->spec.s->workdir;
}

/* The addresses of all workers, in `a`. */
static enum rc hosts_of(const struct sup *s, struct arena *a, const char *const **out,
                        struct err *err)
{
    const char **list = arena_alloc(a, (size_t)s->n_workers * sizeof(*list));
    char text[BACKEND_ADDRESS_SIZE];
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < s->n_workers && !rc; i++) {
        rc = backend_call_address(&s->job, i, text, err);
        list[i] = arena_strdup(a, text);
    }
    *out = list;
    return rc;
}

static void put_secrets(struct sup *s, struct launch *l)
{
    for (size_t i = 0; i < s->secrets.list.n; i++)
        job_contract_env_put(&l->env, s->secrets.list.at[i].name,
                             s->secrets.list.at[i].value);
}

/* A text that begins like an option is none. */
static void fill_shell(const char *text, const char *out[5])
{
    size_t n = 0;
    out[n++] = "/bin/sh";
    out[n++] = "-c";
    if (strchr("-+", text[0]))
        out[n++] = "--";
    out[n++] = text;
    out[n] = NULL;
}

enum rc launch_fill(struct sup *s, struct sup_worker *w, int64_t port, struct launch *l,
                    struct err *err)
{
    const char *const *hosts = NULL;
    enum rc rc = hosts_of(s, &l->arena, &hosts, err);
    if (rc)
        return rc;
    struct job_contract_worker cw = {.job = s->id,
                                     .index = w->b.index,
                                     .count = s->n_workers,
                                     .attempt = s->rec.now.attempt,
                                     .restarts = s->rec.now.restarts,
                                     .hosts = hosts,
                                     .port = port,
                                     .gpus = launch_gpus(s, w->b.index, &l->arena),
                                     .root = s->job.root,
                                     .work = work_dir(s, &l->arena)};
    base_env(s, &l->env);
    job_contract_env_fill(&l->env, &s->spec, &s->channels, &cw);
    put_secrets(s, l);
    for (size_t i = 0; w->b.index == 0 && i < l->env.warnings.n; i++)
        sup_warn(s, l->env.warnings.at[i]);
    if (s->spec.shell)
        fill_shell(s->spec.shell, l->shell);
    l->at = (struct backend_launch){.w = &w->b,
                                    .argv = s->spec.shell ? l->shell : s->spec.argv,
                                    .env = &l->env,
                                    .cwd = cw.work,
                                    .gpus = cw.gpus,
                                    .secrets = sup_masks(s)};
    return RC_OK;
}

void launch_release(struct launch *l)
{
    job_contract_env_release(&l->env);
    arena_release(&l->arena);
}
