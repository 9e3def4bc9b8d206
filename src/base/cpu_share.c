/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu_share.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

static int compare(const void *a, const void *b)
{
    const struct cpu_place *x = a, *y = b;
    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static bool same_core(const struct cpu_place *a, const struct cpu_place *b)
{
    return a->package == b->package && a->core == b->core;
}

/* Where core number `core` begins. */
static int begin_of(const struct cpu_place *at, int n, int core)
{
    int seen = 0, i = 0;
    for (; i < n; i++)
        if ((i == 0 || !same_core(&at[i], &at[i - 1])) && seen++ == core)
            break;
    return i;
}

struct cpu_share cpu_share_of(struct cpu_place *at, int n, int part, int parts)
{
    struct cpu_share s = {0};
    int cores = 0;
    if (n < parts)
        return s;
    qsort(at, (size_t)n, sizeof(*at), compare);
    for (int i = 0; i < n; i++)
        cores += i == 0 || !same_core(&at[i], &at[i - 1]);
    int64_t of = cores >= parts ? cores : n;
    int from = (int)(of * part / parts), to = (int)(of * (part + 1) / parts);
    s.first = cores >= parts ? begin_of(at, n, from) : from;
    s.n = (cores >= parts ? begin_of(at, n, to) : to) - s.first;
    return s;
}

/* A number that the system tells of a processor; each is a core of its own where it does not. */
static int topology(int cpu, const char *name, int none)
{
    char path[128], *text;
    size_t n;
    int64_t value;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
    if (fs_read(path, 64, &text, &n, NULL))
        return none;
    bool ok = str_to_i64(str_trim(str_of(text, n)), &value);
    mem_free(text);
    return ok ? (int)value : none;
}

int cpu_share_take(int part, int parts)
{
    struct cpu_place at[CPU_SETSIZE];
    cpu_set_t set;
    int n = 0;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            at[n++] =
                (struct cpu_place){.cpu = cpu,
                                   .package = topology(cpu, "physical_package_id", 0),
                                   .core = topology(cpu, "core_id", cpu)};
    struct cpu_share s = cpu_share_of(at, n, part, parts);
    CPU_ZERO(&set);
    for (int i = 0; i < s.n; i++)
        CPU_SET((size_t)at[s.first + i].cpu, &set);
    return s.n && sched_setaffinity(0, sizeof(set), &set) == 0 ? s.n : 0;
}
