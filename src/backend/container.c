/* SPDX-License-Identifier: Apache-2.0 */
/* podman or docker, whichever is there. The engine's client is the worker that the shim
 * watches. A job's variables go through a file, so their values are in no command line and
 * in no environment but the container's; the host's network lets workers of one job find
 * each other at 127.0.0.1. A client that was killed leaves its container, which clean()
 * removes by its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/confine.h"
#include "backend/helper_env.h"
#include "backend/process.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/proc.h"
#include "job/environ.h"
#include "job/tree.h"

#define LOG_TAIL 4096
#define ENGINE_FAILED 125 /* exit status of an engine that could not start a container */

/* The first process around a shell's text: a signal to it is for all that the text started,
 * and it stays until they have ended. Without it the kernel would keep the signal from the
 * text's shell, which would be the first, and take every process with that.
 */
static const char first_process[] =
    "t=; trap 't=1; kill -s TERM -- -1 2>/dev/null' TERM\n"
    "\"$@\" & p=$!\n"
    "while :; do wait $p; s=$?; kill -s 0 $p 2>/dev/null || break; done\n"
    "while [ \"$t\" ] && kill -s 0 -- -1 2>/dev/null; do\n"
    "    sleep 0.1 2>/dev/null || sleep 1 || break\n"
    "done\n"
    "exit $s";

typedef VEC(const char *) words;

#define PACKAGES (-1) /* in the place of a worker: the installation of packages */
#define PACKAGES_DIR "/trainyard/packages"

/* A user installation finds what the image has, adds what is missing, and needs neither
 * venv nor rights; a virtual environment in an image has none, so there packages go to a
 * directory of the path. What the image's variables are is kept, to be added to.
 */
static const char install_packages[] =
    "cd /ml/usercode\n"
    "python=$(command -v python3 || command -v python) || {\n"
    "    echo 'this image has no python3, so no packages can be installed: use an image "
    "that has them' >&2; exit 127; }\n"
    "printf %s \"$PATH\" >\"$PYTHONUSERBASE/PATH\"\n"
    "printf %s \"$PYTHONPATH\" >\"$PYTHONUSERBASE/PYTHONPATH\"\n"
    "if \"$python\" -c 'import site, sys; sys.exit(not site.ENABLE_USER_SITE)'\n"
    "then set -- --user; else set -- --target \"$PYTHONUSERBASE/lib/target\"; fi\n"
    "exec \"$python\" -m pip install \"$@\" --disable-pip-version-check "
    "--no-warn-script-location -r \"$PYTHONUSERBASE/requirements.txt\"";

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

static const char *container_name(const struct backend_job *j, int64_t worker,
                                  struct arena *a)
{
    if (worker == PACKAGES)
        return arena_printf(a, "trainyard-%s-prepare", j->id);
    return arena_printf(a, "trainyard-%s-%jd-%jd", j->id, (intmax_t)worker,
                        (intmax_t)j->attempt);
}

/* Fields of a mount have commas between them, so a source with one goes by a link. It is
 * named for where it leads, so that one that is there is right and is left alone: the
 * engine may be following it for another worker.
 */
static enum rc add_mount(const struct backend_job *j, words *v, struct arena *a,
                         const char *from, const char *to, bool read_only,
                         struct err *err)
{
    if (strpbrk(to, ",\"\n"))
        return err_coded(err, RC_INVAL, E3301, "'%.200s' is not a path in a container",
                         to);
    if (strpbrk(from, ",\"\n")) {
        const char *link = arena_printf(a, "%s/run/mount-%016jx", j->dir,
                                        (uintmax_t)hash_xxh3(from, strlen(from)));
        if (symlink(from, link) < 0 && errno != EEXIST)
            return err_sys(err, errno, "cannot link '%s'", link);
        from = link;
    }
    VEC_PUSH(v, "--mount");
    VEC_PUSH(v, arena_printf(a, "type=bind,source=%s,destination=%s%s", from, to,
                             read_only ? ",readonly" : ""));
    return RC_OK;
}

/* What the job says of containers alone. */
static void add_options(words *v, struct arena *a, const struct backend_job *j)
{
    const char *shm = jobspec_backend_option(j->spec->s, "shm_size");
    const char *pull = jobspec_backend_option(j->spec->s, "pull");
    int64_t bytes;
    if (shm && jobspec_bytes(str_c(shm), &bytes))
        VEC_PUSH(v, arena_printf(a, "--shm-size=%jd", (intmax_t)bytes));
    if (pull)
        VEC_PUSH(v, arena_printf(a, "--pull=%s", pull));
}

static void add_limits(words *v, struct arena *a, const struct backend_job *j,
                       const struct job_spec_role *r)
{
    if (j->spec->s->has_cpu) /* not every machine lets an ordinary user set limits */
        VEC_PUSH(v, arena_printf(a, "--cpus=%g", (double)r->cpu_milli / 1000));
    if (r->memory)
        VEC_PUSH(v, arena_printf(a, "--memory=%jd", (intmax_t)r->memory));
}

/* A job that is not its own user's gets no privilege from its image either. */
static void add_confinement(words *v, struct arena *a, const struct backend_job *j)
{
    const struct job_isolation_job *i = j->isolation;
    if (!i)
        return;
    VEC_PUSH(v, "--cap-drop=ALL");
    VEC_PUSH(v, "--security-opt=no-new-privileges");
    if (i->uid && !i->own)
        VEC_PUSH(v,
                 arena_printf(a, "--user=%jd:%jd", (intmax_t)i->uid, (intmax_t)i->uid));
    if (i->processes)
        VEC_PUSH(v, arena_printf(a, "--pids-limit=%jd", (intmax_t)i->processes));
    if (i->file_bytes)
        VEC_PUSH(v, arena_printf(a, "--ulimit=fsize=%jd", (intmax_t)i->file_bytes));
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
static const char *env_file(const struct backend_worker *w, struct arena *a)
{
    return arena_printf(a, "%s.env", w->handle);
}

static void forget_env(const struct backend_worker *w)
{
    struct arena a = {0};
    unlink(env_file(w, &a));
    arena_release(&a);
}

static enum rc add_env(const char *file, words *v, struct arena *a,
                       const char *const *env, struct err *err)
{
    VEC_PUSH(v, "--env-file");
    VEC_PUSH(v, file);
    for (const char *const *e = env; *e; e++)
        if (backend_helper_env_by_name(*e)) {
            VEC_PUSH(v, "--env");
            VEC_PUSH(v, arena_strndup(a, *e, strcspn(*e, "=")));
        }
    return backend_helper_env_write(file, env, err);
}

/* What the engine's client itself needs, and by what a sweep knows it as the job's. */
static void client_env(const struct backend_job *j, const char *const *job,
                       struct job_contract_env *out)
{
    static const char *const marks[] = {"TRAINYARD_JOB_ID", "TRAINYARD_ATTEMPT",
                                        "TRAINYARD_WORKER"};
    struct job_environ_list kept;
    char *path = fs_join(j->dir, "env.json");
    job_environ_read(path, &kept);
    backend_helper_env_fill(out, kept.list.at, backend_helper_env_is_engine);
    for (; *job; job++) {
        size_t n = strcspn(*job, "=");
        bool wanted = backend_helper_env_by_name(*job);
        for (size_t i = 0; i < ARRAY_LEN(marks) && !wanted; i++)
            wanted = strlen(marks[i]) == n && strncmp(*job, marks[i], n) == 0;
        char *name = mem_strndup(*job, n);
        if (wanted)
            job_contract_env_put(out, name, *job + n + 1);
        mem_free(name);
    }
    job_environ_release(&kept);
    mem_free(path);
}

static void add_command(words *v, const struct backend_job *j, const char *const *argv)
{
    static const char *const around[] = {"/bin/sh", "-c", first_process, "first"};
    for (size_t i = 0; j->spec->shell && i < ARRAY_LEN(around); i++)
        VEC_PUSH(v, around[i]);
    for (; *argv; argv++)
        VEC_PUSH(v, *argv);
}

static enum rc add_mounts(const struct backend_job *j, words *v, struct arena *a,
                          struct err *err)
{
    const char *packages = arena_printf(a, "%s/packages", j->dir);
    enum rc rc = add_mount(j, v, a, j->ml, "/ml", false, err);
    for (size_t i = 0; i < j->mounts->list.n && !rc; i++)
        rc = add_mount(j, v, a, j->mounts->list.at[i].from, j->mounts->list.at[i].to,
                       j->mounts->list.at[i].read_only, err);
    if (!rc && fs_exists(packages))
        rc = add_mount(j, v, a, packages, PACKAGES_DIR, false, err);
    return rc;
}

/* "ENGINE run ... -- IMAGE", without limits. */
static enum rc engine_run(const struct backend_job *j, int64_t worker, words *v,
                          struct arena *a, struct err *err)
{
    const char *name = engine();
    if (!name)
        return err_coded(err, RC_NOTFOUND, E3203, "run a container: no podman or docker");
    const char *const first[] = {name,
                                 "run",
                                 "--rm",
                                 "--name",
                                 container_name(j, worker, a),
                                 "--label",
                                 "trainyard",
                                 "--network",
                                 j->isolation && j->isolation->no_network ? "none"
                                                                          : "host",
                                 "--workdir",
                                 "/ml/usercode"};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        VEC_PUSH(v, first[i]);
    add_options(v, a, j);
    add_confinement(v, a, j);
    return add_mounts(j, v, a, err);
}

static const char *const *end_argv(words *v, struct arena *a)
{
    const char **copy = arena_alloc(a, (v->n + 1) * sizeof(*copy));
    memcpy(copy, v->at, v->n * sizeof(*copy));
    VEC_RELEASE(v);
    return copy;
}

/* The engine's command line around the worker's, in `a`. */
static enum rc client_argv(const struct backend_job *j, const struct backend_launch *l,
                           struct arena *a, const char *const **out, struct err *err)
{
    words v = {0};
    enum rc rc = engine_run(j, l->w->index, &v, a, err);
    if (!rc) {
        add_limits(&v, a, j, l->w->role);
        add_gpus(&v, a, engine(), l->gpus);
        rc = add_env(env_file(l->w, a), &v, a, job_contract_env_list(l->env), err);
    }
    VEC_PUSH(&v, "--"); /* nothing behind it is an option of the engine's */
    VEC_PUSH(&v, j->spec->s->image);
    add_command(&v, j, l->argv);
    *out = end_argv(&v, a);
    return rc;
}

/* Where pip finds packages and how; paths of this machine are not there. */
static bool is_pip_there(const char *variable)
{
    const char *value = strchr(variable, '=');
    return value && value[1] != '/' && !str_starts(variable, "LD_LIBRARY_PATH=") &&
           backend_helper_env_is_pip(variable);
}

static const char *packages_env(const struct backend_job *j, struct arena *a)
{
    return arena_printf(a, "%s/run/prepare.env", j->dir);
}

static enum rc container_packages(struct backend_job *j, struct arena *a,
                                  const char *const **argv, struct job_contract_env *env,
                                  struct err *err)
{
    static const char *const none[] = {NULL};
    words v = {0};
    struct job_contract_env inside = {0};
    enum rc rc = confine_tree(j, err);
    for (const char *const *e = (const char *const *)environ; *e; e++)
        if (is_pip_there(*e))
            VEC_PUSH(&inside.list, *e);
    job_contract_env_put(&inside, "HOME", "/tmp");
    job_contract_env_put(&inside, "PYTHONUSERBASE", PACKAGES_DIR);
    job_contract_env_put(&inside, "PIP_BREAK_SYSTEM_PACKAGES", "1");
    if (!rc)
        rc = engine_run(j, PACKAGES, &v, a, err);
    if (!rc)
        rc = add_env(packages_env(j, a), &v, a, job_contract_env_list(&inside), err);
    const char *const rest[] = {"--", j->spec->s->image, "/bin/sh", "-c",
                                install_packages};
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        VEC_PUSH(&v, rest[i]);
    *argv = end_argv(&v, a);
    client_env(j, none, env);
    job_contract_env_release(&inside);
    return rc;
}

/* "/trainyard/packages/bin:" and what the job or the image has there already. */
static void extend_path(const struct backend_job *j, struct job_contract_env *e,
                        const char *name, const char *part)
{
    char *file = mem_printf("packages/%s", name), *image = NULL;
    const char *old = job_contract_env_get(e, name);
    size_t n = 0;
    if (!old) /* what the job has made of it since is the job's to see */
        old = image = job_tree_read(j->dir, file, 1 << 16, &n);
    char *full = mem_printf("%s/%s%s%s", PACKAGES_DIR, part, old && *old ? ":" : "",
                            old ? old : "");
    job_contract_env_put(e, name, full);
    mem_free(full);
    mem_free(image);
    mem_free(file);
}

static void use_packages(const struct backend_job *j, struct job_contract_env *e)
{
    if (!confine_packages_ready(j))
        return;
    job_contract_env_put(e, "PYTHONUSERBASE", PACKAGES_DIR);
    extend_path(j, e, "PATH", "bin");
    if (job_tree_has(j->dir, "packages/lib/target", true))
        extend_path(j, e, "PYTHONPATH", "lib/target");
}

/* Whether the engine did it. */
static bool ask_engine(const struct backend_job *j, const char *const *argv)
{
    static const char *const none[] = {NULL};
    struct job_contract_env env = {0};
    client_env(j, none, &env);
    struct proc_spec spec = {.argv = argv, .env = job_contract_env_list(&env)};
    struct proc_limits limits = {.seconds = 30, .max_bytes = 1 << 20};
    struct proc_output got = {0};
    bool good = proc_capture(&spec, &limits, &got, NULL) == RC_OK && got.exit.code == 0;
    proc_output_release(&got);
    job_contract_env_release(&env);
    return good;
}

static bool has_image(const struct backend_job *j)
{
    const char *name = engine();
    const char *argv[] = {name, "image", "inspect", "--", j->spec->s->image, NULL};
    return name && ask_engine(j, argv);
}

/* Asked once by a supervisor: all workers have the same image, and are polled often. */
static bool knows_image(struct backend_job *j)
{
    static const char there[] = "there", missing[] = "missing";
    if (!j->own)
        j->own = (void *)(uintptr_t)(has_image(j) ? there : missing);
    return j->own == there;
}

static enum rc container_probe(const char *dir, struct err *err)
{
    if (!engine())
        return err_coded(err, RC_NOTFOUND, E3203, "run a container: no podman or docker");
    return RC_OK;
}

static void container_prepare(struct backend_job *j)
{
    j->root = "/ml";
    j->view = "container";
    j->links = false;
}

static enum rc start_client(struct backend_job *j, struct backend_launch *l,
                            struct err *err)
{
    struct arena a = {0};
    struct job_contract_env own = {0};
    struct backend_shim_spec spec = {.cwd = j->dir, .secrets = l->secrets};
    use_packages(j, l->env);
    enum rc rc = client_argv(j, l, &a, &spec.argv, err);
    client_env(j, job_contract_env_list(l->env), &own);
    spec.env = job_contract_env_list(&own);
    if (!rc)
        rc = backend_process_start(j, l->w, &spec, false, err);
    l->started = rc == RC_OK;
    if (rc)
        forget_env(l->w);
    job_contract_env_release(&own);
    arena_release(&a);
    return rc;
}

static void forget_packages_env(const struct backend_job *j)
{
    struct arena a = {0};
    unlink(packages_env(j, &a));
    arena_release(&a);
}

/* Without a network each container has a loopback of its own. */
static enum rc check_network(const struct backend_job *j, struct err *err)
{
    if (!j->isolation || !j->isolation->no_network || j->spec->workers < 2)
        return RC_OK;
    return err_coded(
        err, RC_UNSUPPORTED, E3207,
        "the %jd workers of this job could not reach each other: the server "
        "gives jobs no network (--job-network none), and containers have one "
        "each",
        (intmax_t)j->spec->workers);
}

static enum rc container_start(struct backend_job *j, struct backend_launch *at, size_t n,
                               struct err *err)
{
    forget_packages_env(j);
    enum rc rc = check_network(j, err);
    if (!rc)
        rc = confine_tree(j, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = start_client(j, &at[i], err);
    return rc;
}

static enum rc container_enter(struct backend_job *j, const struct backend_entry *e,
                               const char *const *argv, struct arena *a,
                               const char *const **out, struct job_contract_env *env,
                               struct err *err)
{
    static const char *const none[] = {NULL}, *const shell[] = {"/bin/sh", NULL};
    const char *name = engine();
    words v = {0};
    if (!name)
        return err_coded(err, RC_NOTFOUND, E3203, "run a container: no podman or docker");
    const char *const first[] = {name,    "exec", e->terminal ? "-it" : "-i",     "--env",
                                 e->mark, "--",   container_name(j, e->worker, a)};
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        VEC_PUSH(&v, first[i]);
    for (argv = argv && argv[0] ? argv : shell; *argv; argv++)
        VEC_PUSH(&v, *argv);
    *out = end_argv(&v, a);
    client_env(j, none, env);
    return RC_OK;
}

/* The last line of a text, and its length. */
static const char *last_line(const char *text, size_t *n)
{
    size_t end = strlen(text), begin;
    while (end && (text[end - 1] == '\n' || text[end - 1] == '\r'))
        end--;
    for (begin = end; begin && text[begin - 1] != '\n';)
        begin--;
    *n = end - begin;
    return text + begin;
}

/* What an engine that could not start a container wrote last, behind its "Error: "; false:
 * that line is not the engine's. The exit statuses 126 and 127 are the engine's only where
 * it names the runtime below it ("OCI ..."): a program may end with them as well.
 */
static bool engine_said(const char *log, int code, char *out, size_t size)
{
    static const char *const begins[] = {"Error: ",
                                         "docker: Error response from daemon: "};
    char tail[LOG_TAIL + 1], line[LOG_TAIL + 1];
    size_t n = 0;
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = end > LOG_TAIL ? end - LOG_TAIL : 0;
    ssize_t got = fd < 0 ? 0 : pread(fd, tail, LOG_TAIL, from);
    if (fd >= 0)
        close(fd);
    tail[got > 0 ? got : 0] = '\0';
    const char *last = last_line(tail, &n);
    snprintf(line, sizeof(line), "%.*s", (int)n, last);
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(line, begins[i]) &&
            (code == ENGINE_FAILED || strstr(line, "OCI "))) {
            snprintf(out, size, "%s", line + strlen(begins[i]));
            return true;
        }
    return false;
}

/* What the engine's own failure means, and its words. */
static void tell_engine(struct backend_job *j, const struct backend_worker *w,
                        struct backend_exit *out)
{
    char said[LOG_TAIL + 1] = "";
    bool known = engine_said(w->log, out->code, said, sizeof(said));
    if (!known && out->code != ENGINE_FAILED)
        return;
    bool there = out->code != ENGINE_FAILED || knows_image(j);
    out->why = there ? WHY_LaunchFailure : WHY_ImagePull;
    snprintf(out->text, sizeof(out->text), "%simage '%.100s'%s%s%.200s",
             there ? "the container engine could not start " : "", j->spec->s->image,
             there ? "" : " could not be had", known ? ": " : "; see the log", said);
}

/* An engine that could not start its container says so by its exit status and its last
 * line; of a container that was killed for its memory it tells only that it was killed.
 */
static enum backend_state container_poll(struct backend_job *j, struct backend_worker *w,
                                         struct backend_exit *out)
{
    enum backend_state state = backend_process_poll(j, w, out);
    if (state != BACKEND_RUNNING)
        forget_env(w);
    if (state != BACKEND_ENDED)
        return state;
    bool killed = out->signal == SIGKILL || out->code == 128 + SIGKILL;
    out->out_of_memory = w->role->memory && killed;
    if (out->code >= ENGINE_FAILED && out->code <= 127)
        tell_engine(j, w, out);
    return state;
}

/* All in one call: an engine that hangs costs its time once. */
static void container_clean(struct backend_job *j, int64_t worker, bool lost)
{
    const char *name = engine();
    struct arena a = {0};
    words v = {0};
    forget_packages_env(j);
    backend_process_clean(j, worker, lost);
    if (!name)
        return;
    /* podman would wait for a polite end first, and remove none when one is missing */
    const char *const podman[] = {name, "rm", "-f", "-t", "0", "--ignore", "--"};
    const char *const docker[] = {name, "rm", "-f", "--"};
    bool is_podman = strcmp(name, "podman") == 0;
    for (size_t i = 0; i < (is_podman ? ARRAY_LEN(podman) : ARRAY_LEN(docker)); i++)
        VEC_PUSH(&v, is_podman ? podman[i] : docker[i]);
    for (int64_t i = 0; i < j->spec->workers; i++)
        if (worker < 0 || worker == i)
            VEC_PUSH(&v, container_name(j, i, &a));
    if (worker < 0 && lost)
        VEC_PUSH(&v, container_name(j, PACKAGES, &a));
    ask_engine(j, end_argv(&v, &a));
    arena_release(&a);
}

const struct backend_ops backend_container = {
    .name = "container",
    .processes = true,
    .probe = container_probe,
    .prepare = container_prepare,
    .packages = container_packages,
    .address = backend_process_address,
    .port = backend_process_port,
    .start = container_start,
    .reattach = backend_process_reattach,
    .poll = container_poll,
    .signal = backend_process_signal,
    .enter = container_enter,
    .usage = backend_process_usage,
    .release = backend_process_release,
    .clean = container_clean,
};
