/* SPDX-License-Identifier: Apache-2.0 */
/* Workers are processes of this machine, the reference for all other backends. A worker
 * sees its tree as /ml in a mount namespace of its own (`mount`); where the machine does
 * not let us make one but lets bwrap, in that one's (`bubblewrap`); else at its real path
 * (`plain`), and only the variables of the contract tell where. The agent finds out once
 * whether a namespace is possible, and leaves the answer in its directory.
 */
#include <errno.h>
#include <string.h>

#include "backend/bubblewrap.h"
#include "backend/capacity.h"
#include "backend/confine.h"
#include "backend/process.h"
#include "backend/view.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"

static const char plain[] = "plain", mounted[] = "mount", bubbled[] = "bubblewrap";

static bool literal_ml(const struct job_spec *s)
{
    if (s->shell)
        return strstr(s->shell, "/ml/") != NULL;
    for (size_t i = 0; s->argv && s->argv[i]; i++)
        if (strstr(s->argv[i], "/ml/"))
            return true;
    return false;
}

static bool may_use(const struct backend_job *j, const char *view)
{
    const char *only = j->p->view;
    return !only || !*only || strcmp(only, view) == 0;
}

static void local_prepare(struct backend_job *j)
{
    char *scratch = fs_join(j->dir, "root");
    char what[VIEW_ERROR_SIZE];
    j->view = plain;
    if (j->isolation)
        j->view = mounted; /* nothing less will do: start() fails without it */
    else if (may_use(j, mounted) && fs_mkdirs(scratch, 0700, NULL) == RC_OK &&
             (backend_capacity_view(j->p->dir) || backend_view_possible(scratch, what)))
        j->view = mounted;
    else if (may_use(j, bubbled) && backend_bubblewrap_possible())
        j->view = bubbled;
    mem_free(scratch);
    j->links = j->view == plain;
    j->root = j->links ? j->ml : "/ml";
    if (j->links && (literal_ml(j->spec) || j->spec->s->n_data))
        j->warn(j, "no private /ml is possible here, so paths below /ml and mounts of "
                   "datasets do not exist; only the PAI_* variables hold real paths");
}

typedef VEC(struct backend_view_mount) mount_list;

static void fill_mounts(const struct backend_job *j, struct arena *a, mount_list *out)
{
    struct backend_view_mount tree[CONFINE_MOUNTS];
    size_t n;
    confine_mounts(j, a, tree, &n);
    for (size_t i = 0; i < n; i++)
        VEC_PUSH(out, tree[i]);
    for (size_t i = 0; i < j->mounts->list.n; i++) {
        const struct job_contract_mount *m = &j->mounts->list.at[i];
        struct backend_view_mount v = {
            .from = m->from, .to = m->to, .read_only = m->read_only};
        VEC_PUSH(out, v);
    }
    char *venv = fs_join(j->dir, "venv"); /* which an isolated job would not see */
    const char *place = arena_strdup(a, venv);
    struct backend_view_mount packages = {.from = place, .to = place};
    if (j->isolation && fs_exists(venv))
        VEC_PUSH(out, packages);
    mem_free(venv);
}

/* bwrap looks for the command only when it runs; what is surely not there is told now. */
static enum rc use_bubble(struct backend_job *j, const struct backend_launch *l,
                          const mount_list *mounts, struct backend_shim_spec *spec,
                          struct arena *a, struct err *err)
{
    const char *name = l->argv[0];
    char *path = proc_which(name, job_contract_env_get(l->env, "PATH"));
    bool there = path != NULL || strchr(name, '/');
    mem_free(path);
    if (!there) {
        j->launch_status = 127;
        return err_sys(err, ENOENT, "cannot execute '%.150s'", name);
    }
    spec->argv = backend_bubblewrap_argv(mounts->at, mounts->n, l->cwd, l->argv, a);
    spec->cwd = "/";
    return RC_OK;
}

static enum rc start_worker(struct backend_job *j, struct backend_launch *l,
                            struct err *err)
{
    struct arena a = {0};
    mount_list mounts = {0};
    struct backend_shim_spec spec = {.argv = l->argv,
                                     .env = job_contract_env_list(l->env),
                                     .cwd = l->cwd,
                                     .secrets = l->secrets};
    enum rc rc = RC_OK;
    if (j->view != plain)
        fill_mounts(j, &a, &mounts);
    if (j->view == bubbled)
        rc = use_bubble(j, l, &mounts, &spec, &a, err);
    if (j->view == mounted) {
        spec.scratch = arena_printf(&a, "%s/root", j->dir);
        spec.mounts = mounts.at;
        spec.n_mounts = mounts.n;
    }
    if (!rc && j->isolation)
        rc = confine_jail(j, l->w, &a, &spec.jail, err);
    if (!rc)
        rc = backend_process_start(j, l->w, &spec, true, err);
    l->started = rc == RC_OK;
    VEC_RELEASE(&mounts);
    arena_release(&a);
    return rc;
}

/* On which the view of an isolated job is built. */
static enum rc make_root(const struct backend_job *j, struct err *err)
{
    struct err why = {0};
    char *root = fs_join(j->dir, "root");
    enum rc rc = j->isolation ? fs_mkdirs(root, 0700, &why) : RC_OK;
    mem_free(root);
    return rc ? err_set(err, RC_IO, "cannot isolate the job: %s", why.msg) : RC_OK;
}

static enum rc local_start(struct backend_job *j, struct backend_launch *at, size_t n,
                           struct err *err)
{
    enum rc rc = confine_tree(j, err);
    if (!rc)
        rc = make_root(j, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = start_worker(j, &at[i], err);
    return rc;
}

const struct backend_ops backend_local = {
    .name = "local",
    .host_files = true,
    .processes = true,
    .probe = backend_capacity_probe_view,
    .capacity = backend_capacity_find,
    .prepare = local_prepare,
    .address = backend_process_address,
    .port = backend_process_port,
    .start = local_start,
    .reattach = backend_process_reattach,
    .poll = backend_process_poll,
    .signal = backend_process_signal,
    .usage = backend_process_usage,
    .release = backend_process_release,
    .clean = backend_process_clean,
};
