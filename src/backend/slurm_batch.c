/* SPDX-License-Identifier: Apache-2.0 */
/* One allocation has all workers of an attempt, each with what the largest role asks for;
 * a worker is a node of its own unless `tasks_per_node` says otherwise. Before Slurm's time
 * limit workers get WINCH, which their shims take for a stop with its grace time. We start
 * again ourselves what is to start again, so Slurm must not (--no-requeue).
 */
#include "backend/slurm_batch.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "backend/agent.h"
#include "base/mem.h"
#include "base/vec.h"

#define POLL_S 10
#define WARN_S 30 /* before the end of the time limit, behind the grace time */
#define WARN_FROM_S \
    120 /* shorter limits have no warning: Slurm may give it a minute early */
#define WARN_MAX 65535
#define NICE_STEP 100
#define PRIORITY_MAX 9
#define MIB ((int64_t)1 << 20)

/* The script runs on the first node. A signal that Slurm sends to all is not for srun, which
 * would end the workers before their time; it is in a session of its own.
 */
const char slurm_batch_script[] =
    "#!/bin/sh\n"
    "# $1: the files of this allocation, $2: the program\n"
    "umask 077\n"
    "[ ! -e \"$1.stop\" ] || exit 0\n"
    "if ! (set -C; echo \"$SLURM_JOB_ID\" >\"$1.owner\") 2>/dev/null; then\n"
    "    echo \"Slurm job $(cat \"$1.owner\") has these workers already\" >&2\n"
    "    exit 0\n"
    "fi\n"
    "trap : TERM\n"
    "setsid srun --kill-on-bad-exit=1 --wait=0 --mpi=none --ntasks=\"$SLURM_NTASKS\" \\\n"
    "    --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" --distribution=block --export=ALL \\\n"
    "    --input=none -- \"$2\" job agent --slurm-task \"$1.list\" &\n"
    "while :; do wait $!; status=$?; kill -s 0 $! 2>/dev/null || break; done\n"
    "# A shim was killed: what its worker left is on the nodes.\n"
    "[ $status = 0 ] || srun --ntasks=\"$SLURM_NNODES\" --ntasks-per-node=1 --mpi=none \\\n"
    "    --input=none -- \"$2\" job agent --slurm-sweep \"$1.list\"\n"
    "end=$status\n"
    "while [ $status = 0 ] && [ $end = 0 ] && IFS= read -r handle; do\n"
    "    read -r code signal rest <\"$handle.shim.exit\" || code=1 signal=0\n"
    "    if [ \"$signal\" = 0 ]; then end=$code; else end=$((128 + signal)); fi\n"
    "done <\"$1.list\"\n"
    "echo \"$status\" >\"$1.done.new\" && mv -f \"$1.done.new\" \"$1.done\"\n"
    "exit \"$end\"\n";

typedef VEC(const char *) words;

static void add_option(words *v, struct arena *a, const struct backend_job *j,
                       const char *name)
{
    const char *value = jobspec_backend_option(j->spec->s, name);
    if (value)
        VEC_PUSH(v, arena_printf(a, "--%s=%s", name, value));
}

static int64_t most(const struct backend_launch *at, size_t n, size_t offset)
{
    int64_t best = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        memcpy(&v, (const char *)at[i].w->role + offset, sizeof(v));
        best = v > best ? v : best;
    }
    return best;
}
#define MOST(at, n, field) most(at, n, offsetof(struct job_spec_role, field))

static int64_t tasks_per_node(const struct backend_job *j, size_t n)
{
    const char *text = jobspec_backend_option(j->spec->s, "tasks_per_node");
    int64_t k = 1;
    if (!text || !str_to_i64(str_c(text), &k))
        k = 1;
    return k > (int64_t)n ? (int64_t)n : k;
}

/* gres=shard:1 and gpu=2 are one list. */
static void add_gres(words *v, struct arena *a, const struct backend_job *j, int64_t gpus)
{
    const char *more = jobspec_backend_option(j->spec->s, "gres");
    const char *type = jobspec_backend_option(j->spec->s, "gpu_type");
    const char *gpu = !gpus ? NULL
                            : arena_printf(a, "gpu%s%s:%jd", type ? ":" : "",
                                           type ? type : "", (intmax_t)gpus);
    if (gpu || more)
        VEC_PUSH(v, arena_printf(a, "--gres=%s%s%s", gpu ? gpu : "",
                                 gpu && more ? "," : "", more ? more : ""));
}

static void add_resources(words *v, struct arena *a, const struct backend_job *j,
                          const struct backend_launch *at, size_t n)
{
    int64_t per_node = tasks_per_node(j, n), memory = MOST(at, n, memory);
    int64_t cpus = (MOST(at, n, cpu_milli) + 999) / 1000;
    VEC_PUSH(v, arena_printf(a, "--nodes=%jd",
                             (intmax_t)(((int64_t)n + per_node - 1) / per_node)));
    VEC_PUSH(v, arena_printf(a, "--ntasks=%zu", n));
    VEC_PUSH(v, arena_printf(a, "--ntasks-per-node=%jd", (intmax_t)per_node));
    VEC_PUSH(v, arena_printf(a, "--cpus-per-task=%jd", (intmax_t)(cpus < 1 ? 1 : cpus)));
    if (memory)
        VEC_PUSH(v, arena_printf(a, "--mem=%jdM",
                                 (intmax_t)((memory * per_node + MIB - 1) / MIB)));
    add_gres(v, a, j, MOST(at, n, gpu) * per_node);
}

/* Slurm's limit: the one asked for, or one that ends a job whose supervisor is gone a while
 * behind its own limit. 0: that of the partition.
 */
static double time_limit_s(const struct backend_job *j)
{
    const char *text = jobspec_backend_option(j->spec->s, "time");
    double s = 0;
    if (text && jobspec_seconds(str_c(text), &s))
        return s;
    return j->spec->timeout_s > 0 ? j->spec->timeout_s + j->spec->grace_s + 120 : 0;
}

static void add_time(words *v, struct arena *a, const struct backend_job *j)
{
    double limit = time_limit_s(j), warn = j->spec->grace_s + WARN_S;
    if (limit > 0)
        VEC_PUSH(v, arena_printf(a, "--time=%jd", (intmax_t)ceil(limit / 60)));
    if (limit > 0 && warn > limit / 2)
        warn = limit / 2;
    if (limit <= 0 || limit >= WARN_FROM_S)
        VEC_PUSH(v, arena_printf(a, "--signal=%d@%jd", SIGWINCH,
                                 (intmax_t)(warn > WARN_MAX ? WARN_MAX : warn)));
}

/* A '%' in a path would be a pattern. */
static const char *output_of(const char *base, struct arena *a)
{
    struct buf b;
    buf_init(&b, 2 * strlen(base) + 32);
    buf_puts(&b, "--output=");
    for (const char *c = base; *c; c++) {
        if (*c == '%')
            buf_putc(&b, '%');
        buf_putc(&b, *c);
    }
    buf_puts(&b, ".out");
    const char *text = arena_strdup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static const char *program_of(const struct backend_job *j, struct arena *a)
{
    const char *given = jobspec_backend_option(j->spec->s, "program");
    char *own = backend_agent_program();
    const char *program = arena_strdup(a, given ? given : own);
    mem_free(own);
    return program;
}

char *slurm_batch_name(const struct backend_job *j, const char *tag)
{
    const struct jobspec_JobSpec *s = j->spec->s;
    return mem_printf("%s.%s", s->has_name ? s->name : "trainyard", tag);
}

const char *const *slurm_batch_argv(const struct backend_job *j,
                                    const struct backend_launch *at, size_t n,
                                    const char *base, const char *tag, struct arena *a)
{
    static const char *const options[] = {"partition",  "account", "qos",
                                          "constraint", "exclude", "reservation"};
    const struct jobspec_JobSpec *s = j->spec->s;
    words v = {0};
    VEC_PUSH(&v, "sbatch");
    VEC_PUSH(&v, "--parsable");
    VEC_PUSH(&v, "--no-requeue");
    VEC_PUSH(&v, "--export=ALL");
    VEC_PUSH(&v, "--open-mode=append");
    char *name = slurm_batch_name(j, tag);
    VEC_PUSH(&v, arena_printf(a, "--job-name=%s", name));
    mem_free(name);
    VEC_PUSH(&v, arena_printf(a, "--comment=trainyard:%s", tag));
    VEC_PUSH(&v, arena_printf(a, "--chdir=%s", j->dir));
    VEC_PUSH(&v, output_of(base, a));
    VEC_PUSH(&v, arena_printf(a, "--nice=%jd",
                              (intmax_t)((PRIORITY_MAX - s->priority) * NICE_STEP)));
    add_resources(&v, a, j, at, n);
    add_time(&v, a, j);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        add_option(&v, a, j, options[i]);
    VEC_PUSH(&v, arena_printf(a, "%s.sh", base));
    VEC_PUSH(&v, base);
    VEC_PUSH(&v, program_of(j, a));
    const char **argv = arena_alloc(a, (v.n + 1) * sizeof(*argv));
    memcpy(argv, v.at, v.n * sizeof(*argv));
    VEC_RELEASE(&v);
    return argv;
}

int64_t slurm_batch_poll_ns(const struct backend_job *j)
{
    const char *text = jobspec_backend_option(j->spec->s, "poll");
    double s = POLL_S;
    if (text && !jobspec_seconds(str_c(text), &s))
        s = POLL_S;
    return (int64_t)(s * 1e9);
}
