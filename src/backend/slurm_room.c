/* SPDX-License-Identifier: Apache-2.0 */
/* A worker needs processors, memory and GPUs of one node, as many as the largest role asks
 * for. Which processors are free sinfo tells; of memory and GPUs only what a node has. So a
 * job for which there seems to be room may wait after all, and job why says for what.
 */
#include "backend/slurm_room.h"

#include <stdio.h>
#include <string.h>

#include "backend/slurm_news.h"
#include "base/mem.h"

#define MIB ((int64_t)1 << 20)
#define ASK_S 8

struct want {
    int64_t cpus, memory_mib, gpus;
};

static struct want want_of(const struct job_spec *s)
{
    struct want w = {.cpus = 1};
    for (size_t i = 0; i < s->n_roles; i++) {
        const struct job_spec_role *r = &s->roles[i];
        int64_t cpus = (r->cpu_milli + 999) / 1000, mib = (r->memory + MIB - 1) / MIB;
        w.cpus = cpus > w.cpus ? cpus : w.cpus;
        w.memory_mib = mib > w.memory_mib ? mib : w.memory_mib;
        w.gpus = r->gpu > w.gpus ? r->gpu : w.gpus;
    }
    return w;
}

/* "gpu:2,shard:4", "gpu:a100:2(S:0)": all GPUs in it. */
static int64_t gpus_in(struct str list)
{
    struct str item;
    int64_t sum = 0;
    while (list.n && str_split(&list, ',', &item)) {
        struct str part = {0}, rest = item;
        int64_t n;
        bool first = true, is_gpu = false;
        while (rest.n && str_split(&rest, ':', &part)) {
            is_gpu = first ? str_is(part, "gpu") : is_gpu;
            const char *end = part.n ? memchr(part.p, '(', part.n) : NULL;
            struct str number = end ? str_of(part.p, (size_t)(end - part.p)) : part;
            if (is_gpu && !first && str_to_i64(number, &n)) {
                sum += n;
                break;
            }
            first = false;
        }
    }
    return sum;
}

struct node_line {
    struct str name;
    int64_t idle, usable, memory_mib, gpus; /* usable: processors that are not down */
};

/* "n1 2/6/0/8 7900 gpu:2" */
static bool read_node(struct str line, struct node_line *out)
{
    struct str cpus, memory, part;
    int64_t v[4];
    if (!str_split(&line, ' ', &out->name) || !str_split(&line, ' ', &cpus) ||
        !str_split(&line, ' ', &memory))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (!str_split(&cpus, '/', &part) || !str_to_i64(part, &v[i]))
            return false;
    if (memory.n && memory.p[memory.n - 1] == '+')
        memory.n--;
    out->idle = v[1];
    out->usable = v[0] + v[1];
    out->gpus = gpus_in(line);
    return str_to_i64(memory, &out->memory_mib);
}

void slurm_room_judge(const char *answer, const struct job_spec *s,
                      struct backend_room *out)
{
    struct want w = want_of(s);
    struct str rest = str_c(answer), line, before = {0};
    int64_t now = 0, ever = 0;
    while (rest.n && str_split(&rest, '\n', &line)) {
        struct node_line n;
        if (!read_node(str_trim(line), &n) || (before.n && str_eq(n.name, before)))
            continue; /* a node in several partitions has a line for each */
        before = n.name;
        if (n.memory_mib < w.memory_mib || n.gpus < w.gpus)
            continue;
        now += n.idle / w.cpus;
        ever += n.usable / w.cpus;
    }
    out->has = ever < s->workers  ? BACKEND_ROOM_NEVER
               : now < s->workers ? BACKEND_ROOM_LATER
                                  : BACKEND_ROOM_NOW;
    snprintf(
        out->text, sizeof(out->text),
        "its nodes have room for %jd of %jd workers now, for %jd when they are empty",
        (intmax_t)(now < s->workers ? now : s->workers), (intmax_t)s->workers,
        (intmax_t)ever);
}

void slurm_room(const struct job_place *p, const struct job_spec *s,
                struct backend_room *out)
{
    const char *partition = jobspec_backend_option(s->s, "partition");
    char *only = partition ? mem_printf("--partition=%s", partition) : NULL;
    const char *const argv[] = {"sinfo", "-h", "-N", "-o", "%N %C %m %G", only, NULL};
    struct proc_output got = {0};
    struct err err = {0};
    enum rc rc = slurm_run(argv, ASK_S, &got, &err);
    if (rc) {
        out->has = rc == RC_CANCELED ? BACKEND_ROOM_LATER : BACKEND_ROOM_NEVER;
        snprintf(out->text, sizeof(out->text), "%.190s", err.msg);
    } else {
        slurm_room_judge(got.out, s, out);
    }
    proc_output_release(&got);
    mem_free(only);
}
