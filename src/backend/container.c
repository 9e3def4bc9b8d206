/* SPDX-License-Identifier: Apache-2.0 */
/* podman or docker, whichever is there. The engine's client is the worker that the shim
 * watches. A job's variables go through a file, so their values are in no command line and
 * in no environment but the container's; the host's network lets workers of one job find
 * each other at 127.0.0.1.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/helper_env.h"
#include "backend/sup_private.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/environ.h"

typedef VEC(const char *) words;

static const char *engine(void)
{
    static const char *const names[] = {"podman", "docker"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = proc_which(names[i], NULL);
        bool here = path != NULL;
        mem_free(path);
        if (here)
            return names[i];
    }
    return NULL;
}

static const char *container_name(const struct sup *s, const struct sup_worker *w,
                                  struct arena *a)
{
    return arena_printf(a, "trainyard-%s-%jd-%jd", s->id, (intmax_t)w->index,
                        (intmax_t)s->rec.now.attempt);
}

/* Fields of a mount have commas between them, so a source with one goes by a link. */
static enum rc add_mount(const struct sup *s, words *v, struct arena *a, const char *from,
                         const char *to, bool read_only, struct err *err)
{
    if (strpbrk(to, ",\"\n"))
        return err_coded(err, RC_INVAL, E3301, "'%.200s' is no place in a container", to);
    if (strpbrk(from, ",\"\n")) {
        const char *link = arena_printf(a, "%s/run/mount-%zu", s->dir, v->n);
        unlink(link);
        if (symlink(from, link) < 0)
            return err_sys(err, errno, "cannot link '%s'", link);
        from = link;
    }
    VEC_PUSH(v, "--mount");
    VEC_PUSH(v, arena_printf(a, "type=bind,source=%s,destination=%s%s", from, to,
                             read_only ? ",readonly" : ""));
    return RC_OK;
}

static void add_limits(words *v, struct arena *a, const struct sup *s,
                       const struct spec_role *r)
{
    if (s->spec.s->has_cpu) /* not every machine lets an ordinary user set limits */
        VEC_PUSH(v, arena_printf(a, "--cpus=%g", (double)r->cpu_milli / 1000));
    if (r->memory)
        VEC_PUSH(v, arena_printf(a, "--memory=%jd", (intmax_t)r->memory));
}

static void add_gpus(words *v, struct arena *a, const char *name, const char *gpus)
{
    struct str rest = str_c(gpus ? gpus : ""), part;
    if (!rest.n)
        return;
    if (strcmp(name, "docker") == 0) {
        VEC_PUSH(v, "--gpus");
        VEC_PUSH(v, arena_printf(a, "\"device=%s\"", gpus));
        return;
    }
    while (str_split(&rest, ',', &part)) {
        VEC_PUSH(v, "--device");
        VEC_PUSH(v, arena_printf(a, "nvidia.com/gpu=%.*s", (int)part.n, part.p));
    }
}

/* Beside the run file; there as long as the worker runs. */
static const char *env_file(const struct sup_worker *w, struct arena *a)
{
    return arena_printf(a, "%s.env", w->run);
}

void container_forget(const struct sup_worker *w)
{
    struct arena a = {0};
    unlink(env_file(w, &a));
    arena_release(&a);
}

static enum rc add_env(const struct sup_worker *w, words *v, struct arena *a,
                       const char *const *env, struct err *err)
{
    VEC_PUSH(v, "--env-file");
    VEC_PUSH(v, env_file(w, a));
    for (const char *const *e = env; *e; e++)
        if (helper_env_by_name(*e)) {
            VEC_PUSH(v, "--env");
            VEC_PUSH(v, arena_strndup(a, *e, strcspn(*e, "=")));
        }
    return helper_env_write(env_file(w, a), env, err);
}

/* What the engine's client itself needs, and by what a sweep knows it as the job's. */
void container_env(const struct sup *s, const char *const *job, struct contract_env *out)
{
    static const char *const marks[] = {"TRAINYARD_JOB_ID", "TRAINYARD_ATTEMPT",
                                        "TRAINYARD_WORKER"};
    struct environ_list kept;
    char *path = fs_join(s->dir, "env.json");
    environ_read(path, &kept);
    helper_env_fill(out, kept.list.at, helper_env_is_engine);
    for (; *job; job++) {
        size_t n = strcspn(*job, "=");
        bool wanted = helper_env_by_name(*job);
        for (size_t i = 0; i < ARRAY_LEN(marks) && !wanted; i++)
            wanted = strlen(marks[i]) == n && strncmp(*job, marks[i], n) == 0;
        char *name = mem_strndup(*job, n);
        if (wanted)
            contract_env_put(out, name, *job + n + 1);
        mem_free(name);
    }
    environ_release(&kept);
    mem_free(path);
}

enum rc container_argv(const struct sup *s, const struct sup_worker *w,
                       const char *const *env, const char *gpus, struct arena *a,
                       const char *const **out, struct err *err)
{
    const char *name = engine();
    words v = {0};
    if (!name)
        return err_coded(err, RC_NOTFOUND, E3203, "run a container: no podman or docker");
    const char *const first[] = {
        name,        "run",       "--rm", "--name",    container_name(s, w, a), "--label",
        "trainyard", "--network", "host", "--workdir", "/ml/usercode"};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        VEC_PUSH(&v, first[i]);
    add_limits(&v, a, s, w->role);
    add_gpus(&v, a, name, gpus);
    enum rc rc = add_mount(s, &v, a, s->ml, "/ml", false, err);
    for (size_t i = 0; i < s->mounts.list.n && !rc; i++)
        rc = add_mount(s, &v, a, s->mounts.list.at[i].from, s->mounts.list.at[i].to,
                       s->mounts.list.at[i].read_only, err);
    if (!rc)
        rc = add_env(w, &v, a, env, err);
    VEC_PUSH(&v, "--"); /* nothing behind it is an option of the engine's */
    VEC_PUSH(&v, s->spec.s->image);
    if (s->spec.shell) {
        VEC_PUSH(&v, "/bin/sh");
        VEC_PUSH(&v, "-c");
        if (strchr("-+", s->spec.shell[0]))
            VEC_PUSH(&v, "--");
        VEC_PUSH(&v, s->spec.shell);
    }
    for (size_t i = 0; s->spec.argv && s->spec.argv[i]; i++)
        VEC_PUSH(&v, s->spec.argv[i]);
    const char **copy = arena_alloc(a, (v.n + 1) * sizeof(*copy));
    memcpy(copy, v.at, v.n * sizeof(*copy));
    *out = copy;
    VEC_RELEASE(&v);
    return rc;
}

/* Whether the engine did it. */
static bool ask_engine(const struct sup *s, const char *const *argv)
{
    static const char *const none[] = {NULL};
    struct contract_env env = {0};
    container_env(s, none, &env);
    struct proc_spec spec = {.argv = argv, .env = contract_env_list(&env)};
    struct proc_limits limits = {.seconds = 30, .max_bytes = 1 << 20};
    struct proc_output got = {0};
    bool good = proc_capture(&spec, &limits, &got, NULL) == RC_OK && got.exit.code == 0;
    proc_output_release(&got);
    contract_env_release(&env);
    return good;
}

bool container_has_image(const struct sup *s)
{
    const char *name = engine();
    const char *argv[] = {name, "image", "inspect", "--", s->spec.s->image, NULL};
    return name && ask_engine(s, argv);
}

void container_clean(const struct sup *s)
{
    const char *name = engine();
    struct arena a = {0};
    for (int64_t i = 0; name && i < s->n_workers; i++) {
        const char *one = container_name(s, &s->workers[i], &a);
        /* podman would wait for a polite end first */
        const char *podman[] = {name, "rm", "-f", "-t", "0", "--", one, NULL};
        const char *docker[] = {name, "rm", "-f", "--", one, NULL};
        const char *const *argv = strcmp(name, "podman") == 0 ? podman : docker;
        ask_engine(s, argv);
    }
    arena_release(&a);
}
