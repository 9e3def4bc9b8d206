/* SPDX-License-Identifier: Apache-2.0 */
/* podman or docker, whichever is there. The engine's client is the worker that the shim
 * watches. Variables are given by name only, so their values are in no command line; the
 * host's network lets workers of one job find each other at 127.0.0.1.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/sup_private.h"
#include "base/fs.h"
#include "base/mem.h"

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

static void add_env(words *v, struct arena *a, const char *const *env)
{
    for (; *env; env++) {
        VEC_PUSH(v, "--env");
        VEC_PUSH(v, arena_strndup(a, *env, strcspn(*env, "=")));
    }
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
    add_env(&v, a, env);
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

bool container_has_image(const struct sup *s)
{
    const char *name = engine();
    const char *argv[] = {name, "image", "inspect", "--", s->spec.s->image, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.seconds = 30, .max_bytes = 1 << 20};
    struct proc_output got = {0};
    if (!name || proc_capture(&spec, &limits, &got, NULL))
        return false;
    bool there = got.exit.code == 0;
    proc_output_release(&got);
    return there;
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
        struct proc_spec spec = {.argv = argv};
        struct proc_limits limits = {.seconds = 30, .max_bytes = 4096};
        struct proc_output got = {0};
        if (proc_capture(&spec, &limits, &got, NULL) == RC_OK)
            proc_output_release(&got);
    }
    arena_release(&a);
}
