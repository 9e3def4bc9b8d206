/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/programs.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#define SECONDS_MAX 5.0
#define OUTPUT_MAX 65536
#define SAID_MAX 200

const struct program *program_table(void)
{
    static const struct program table[] = {
        {.name = "docker",
         .argv = {"docker", "--version"},
         .needed_for = "jobs in Docker containers",
         .planned = true},
        {.name = "git",
         .argv = {"git", "--version"},
         .needed_for = "the revision in `trainyard version` of a build"},
        {.name = "kubectl",
         .argv = {"kubectl", "version", "--client"},
         .needed_for = "jobs on Kubernetes",
         .planned = true},
        {.name = "mpirun",
         .argv = {"mpirun", "--version"},
         .needed_for = "training on several machines with MPI",
         .planned = true},
        {.name = "nvidia-smi",
         .argv = {"nvidia-smi", "--query-gpu=driver_version,name,memory.total",
                  "--format=csv,noheader"},
         .needed_for = "training on NVIDIA GPUs",
         .planned = true,
         .lines = true},
        {.name = "podman",
         .argv = {"podman", "--version"},
         .needed_for = "jobs in Podman containers",
         .planned = true},
        {.name = "python3",
         .argv = {"python3", "--version"},
         .needed_for = "the project's own tests and lint"},
        {.name = "sbatch",
         .argv = {"sbatch", "--version"},
         .needed_for = "submitting jobs to Slurm",
         .planned = true},
        {.name = "sinfo",
         .argv = {"sinfo", "--version"},
         .needed_for = "the state of a Slurm cluster",
         .planned = true},
        {.name = NULL},
    };
    return table;
}

const char *program_state_name(enum program_state s)
{
    static const char *const names[] = {
        [PROGRAM_OK] = "ok", [PROGRAM_MISSING] = "missing", [PROGRAM_BROKEN] = "broken"};
    return names[s];
}

/* The first "1.2" or "1.2.3-x" of a text, the caller's; NULL when there is none. */
static char *find_version(const char *s)
{
    for (const char *p = s; *p; p++) {
        if (!isdigit((unsigned char)*p) ||
            (p > s && isalnum((unsigned char)p[-1]) && p[-1] != 'v'))
            continue;
        size_t n = strspn(p, "0123456789");
        if (p[n] == '.' && isdigit((unsigned char)p[n + 1]))
            return mem_strndup(p, strspn(p, "0123456789abcdefghijklmnopqrstuvwxyz.+~-"));
        p += n - 1;
    }
    return NULL;
}

/* The first line that is not empty, or all of them joined by "; ". */
static char *programs_summary(const char *text, bool all)
{
    struct str rest = str_c(text), line;
    struct buf out;
    buf_init(&out, OUTPUT_MAX * 2);
    while (str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.n == 0)
            continue;
        if (out.n && !all)
            break;
        buf_printf(&out, "%s%.*s", out.n ? "; " : "",
                   line.n > SAID_MAX ? SAID_MAX : (int)line.n, line.p);
    }
    return buf_take(&out);
}

static void programs_judge(struct program_found *f, const struct proc_output *o)
{
    const char *said = o->n_out ? o->out : o->err;
    if (o->exit.code == 0) {
        f->said = programs_summary(said, f->program->lines);
        f->version = find_version(f->said);
        return;
    }
    char words[PROC_WORDS_SIZE];
    char *why = programs_summary(o->n_err ? o->err : o->out, false);
    proc_exit_words(o->exit, words);
    f->state = PROGRAM_BROKEN;
    f->said = mem_printf("%s%s%s", words, *why ? ": " : "", why);
    mem_free(why);
}

void program_look(const struct program *p, struct program_found *out)
{
    *out = (struct program_found){.program = p, .path = proc_which(p->argv[0], NULL)};
    if (!out->path) {
        out->state = PROGRAM_MISSING;
        return;
    }
    struct proc_spec spec = {.argv = p->argv};
    struct proc_limits limits = {.seconds = SECONDS_MAX, .max_bytes = OUTPUT_MAX};
    struct proc_output o = {0};
    struct err err = {0};
    enum rc rc = proc_capture(&spec, &limits, &o, &err);
    if (rc) {
        out->state = PROGRAM_BROKEN;
        out->said = rc == RC_CANCELED ? mem_printf("no answer within %.0f s", SECONDS_MAX)
                                      : mem_strdup(err.msg);
        return;
    }
    programs_judge(out, &o);
    proc_output_release(&o);
}

void program_found_release(struct program_found *f)
{
    mem_free(f->path);
    mem_free(f->version);
    mem_free(f->said);
    *f = (struct program_found){0};
}
