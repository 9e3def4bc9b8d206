/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine and this process may use, read from /proc, /sys and limits of the
 * process. Nothing fails: a value that cannot be read stays 0, "" or MACHINE_NONE. `root`
 * stands before the paths of /proc and /sys, so that tests can show other machines.
 *
 * The memory limit is the smallest one of the control groups from ours up to the root, in
 * version 2 and in version 1; one of at least the machine's memory counts as none.
 */
#include "cmd/machine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define PROC_FILE_MAX ((size_t)1 << 20)
#define NO_LIMIT_V1 \
    (INT64_C(1) << 62) /* what version 1 writes is a little above this \
                        */

/* The text of a file of /proc or /sys, the caller's; NULL when it cannot be read. */
static char *read_text(const char *root, const char *path)
{
    char *whole = mem_printf("%s%s", root, path), *text = NULL;
    size_t n;
    if (fs_read(whole, PROC_FILE_MAX, &text, &n, NULL))
        text = NULL;
    mem_free(whole);
    return text;
}

/* "MemTotal:   16384 kB" in /proc/meminfo. */
static int64_t meminfo(const char *text, const char *name)
{
    struct str rest = str_c(text), line;
    size_t n = strlen(name);
    while (str_split(&rest, '\n', &line)) {
        if (line.n <= n || memcmp(line.p, name, n) != 0 || line.p[n] != ':')
            continue;
        struct str value = str_trim(str_of(line.p + n + 1, line.n - n - 1));
        bool kilo = value.n > 3 && memcmp(value.p + value.n - 3, " kB", 3) == 0;
        int64_t v;
        if (kilo)
            value.n -= 3;
        if (str_to_i64(str_trim(value), &v) && v >= 0 && v <= INT64_MAX / 1024)
            return kilo ? v * 1024 : v;
    }
    return 0;
}

static void look_at_meminfo(struct machine_memory *m, const char *root)
{
    char *text = read_text(root, "/proc/meminfo");
    if (!text)
        return;
    m->total = meminfo(text, "MemTotal");
    m->available = meminfo(text, "MemAvailable");
    m->huge_size = meminfo(text, "Hugepagesize");
    m->huge_total = meminfo(text, "HugePages_Total");
    m->huge_free = meminfo(text, "HugePages_Free");
    mem_free(text);
}

/* "always [madvise] never": the word in brackets. */
static void look_at_transparent(struct machine_memory *m, const char *root)
{
    char *text = read_text(root, "/sys/kernel/mm/transparent_hugepage/enabled");
    char *open = text ? strchr(text, '[') : NULL,
         *close = open ? strchr(open, ']') : NULL;
    if (close && (size_t)(close - open) <= sizeof(m->transparent)) {
        memcpy(m->transparent, open + 1, (size_t)(close - open - 1));
        m->transparent[close - open - 1] = '\0';
    }
    mem_free(text);
}

/* "inactive_file 4096": a number of memory.stat. */
static int64_t stat_of(const char *text, const char *name)
{
    struct str rest = str_c(text ? text : ""), line, word;
    int64_t v = 0;
    while (str_split(&rest, '\n', &line))
        if (str_split(&line, ' ', &word) && str_is(word, name) && str_to_i64(line, &v))
            return v;
    return 0;
}

/* What the group at base/path uses, less the pages of files that the system takes back. */
static int64_t group_used(const char *root, const char *base, struct str path,
                          const char *file)
{
    int64_t v = 0;
    char *name = mem_printf("%s%.*s/%s", base, (int)path.n, path.p, file);
    char *stat_name = mem_printf("%s%.*s/memory.stat", base, (int)path.n, path.p);
    char *text = read_text(root, name), *stat = read_text(root, stat_name);
    if (text && str_to_i64(str_trim(str_c(text)), &v))
        v -= stat_of(stat, "inactive_file");
    mem_free(name);
    mem_free(stat_name);
    mem_free(text);
    mem_free(stat);
    return v > 0 ? v : 0;
}

/* The smallest limit in `file` of the directory base/path and all above it. */
static int64_t smallest(const char *root, const char *base, struct str path,
                        const char *file)
{
    int64_t least = MACHINE_NONE, v;
    for (;;) {
        char *name = mem_printf("%s%.*s/%s", base, (int)path.n, path.p, file);
        char *text = read_text(root, name);
        if (text && str_to_i64(str_trim(str_c(text)), &v) && v >= 0 && v < NO_LIMIT_V1 &&
            (least == MACHINE_NONE || v < least))
            least = v;
        mem_free(text);
        mem_free(name);
        if (path.n == 0)
            return least;
        while (path.n && path.p[path.n - 1] != '/')
            path.n--;
        while (path.n && path.p[path.n - 1] == '/')
            path.n--;
    }
}

static bool names_memory(struct str controllers)
{
    struct str one;
    while (str_split(&controllers, ',', &one))
        if (str_is(one, "memory"))
            return true;
    return false;
}

/* Lines "0::/path" (version 2) and "4:memory,hugetlb:/path" (version 1). */
static void look_at_cgroup(struct machine_memory *m, const char *root)
{
    char *text = read_text(root, "/proc/self/cgroup");
    struct str rest = str_c(text ? text : ""), line, number, controllers;
    m->limit = MACHINE_NONE;
    while (str_split(&rest, '\n', &line)) {
        struct str path = line;
        if (!str_split(&path, ':', &number) || !str_split(&path, ':', &controllers))
            continue;
        if (path.n == 1)
            path.n = 0; /* "/" */
        int version = controllers.n == 0 ? 2 : names_memory(controllers) ? 1 : 0;
        int64_t limit =
            version == 2 ? smallest(root, "/sys/fs/cgroup", path, "memory.max")
            : version == 1
                ? smallest(root, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
                : MACHINE_NONE;
        if (limit != MACHINE_NONE && (m->limit == MACHINE_NONE || limit < m->limit)) {
            m->limit = limit;
            m->cgroup = version;
            m->limit_used =
                version == 2 ? group_used(root, "/sys/fs/cgroup", path, "memory.current")
                             : group_used(root, "/sys/fs/cgroup/memory", path,
                                          "memory.usage_in_bytes");
        }
    }
    if (m->total > 0 && m->limit >= m->total)
        m->limit = MACHINE_NONE; /* limits nothing */
    mem_free(text);
}

static int64_t limit_of(rlim_t v)
{
    return v == RLIM_INFINITY || v > (rlim_t)INT64_MAX ? MACHINE_NONE : (int64_t)v;
}

/* What ulimit -v leaves: the limit less what is mapped already. */
static void look_at_address_space(struct machine_memory *m, const char *root)
{
    char *text = read_text(root, "/proc/self/statm");
    struct str rest = str_c(text ? text : ""), word;
    struct rlimit r;
    int64_t pages = 0;
    m->address_space = MACHINE_NONE;
    if (str_split(&rest, ' ', &word) && str_to_i64(word, &pages) &&
        getrlimit(RLIMIT_AS, &r) == 0 && limit_of(r.rlim_cur) != MACHINE_NONE) {
        int64_t left = limit_of(r.rlim_cur) - pages * (int64_t)sysconf(_SC_PAGESIZE);
        m->address_space = left > 0 ? left : 0;
    }
    mem_free(text);
}

static void look_at_limits(struct machine *m)
{
    static const struct {
        int which;
        struct machine_limit limit;
    } table[MACHINE_LIMITS] = {
        {RLIMIT_NOFILE, {.key = "open_files", .label = "open files"}},
        {RLIMIT_NPROC, {.key = "processes", .label = "processes"}},
        {RLIMIT_STACK, {.key = "stack", .label = "stack", .bytes = true}},
        {RLIMIT_MEMLOCK,
         {.key = "locked_memory", .label = "locked memory", .bytes = true}},
    };
    for (size_t i = 0; i < MACHINE_LIMITS; i++) {
        struct rlimit r;
        m->limits[i] = table[i].limit;
        m->limits[i].soft = m->limits[i].hard = MACHINE_NONE;
        if (getrlimit((__rlimit_resource_t)table[i].which, &r) == 0) {
            m->limits[i].soft = limit_of(r.rlim_cur);
            m->limits[i].hard = limit_of(r.rlim_max);
        }
    }
}

static void look_at_disk(struct machine_disk *d, const char *key, char *path)
{
    *d = (struct machine_disk){
        .key = key, .path = path, .available = MACHINE_NONE, .total = MACHINE_NONE};
    if (fs_space(path, &d->available, &d->total, NULL))
        d->available = d->total = MACHINE_NONE;
}

static void look_at_disks(struct machine *m)
{
    char *cwd = getcwd(NULL, 0);
    const char *tmp = getenv("TMPDIR");
    look_at_disk(&m->disks[0], "cwd", mem_strdup(cwd ? cwd : "."));
    look_at_disk(&m->disks[1], "tmp", mem_strdup(tmp && *tmp ? tmp : "/tmp"));
    free(cwd); /* getcwd's own */
}

void machine_look(struct machine *m, const char *root)
{
    *m = (struct machine){0};
    if (uname(&m->system) < 0)
        m->system = (struct utsname){0};
    cpu_model(m->cpu_model);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    m->cores_online = online > 0 ? (int)online : 0;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        m->cores_bound = CPU_COUNT(&set);
    m->cores_usable = cpu_count();
    look_at_meminfo(&m->memory, root);
    look_at_transparent(&m->memory, root);
    look_at_cgroup(&m->memory, root);
    look_at_address_space(&m->memory, root);
    look_at_limits(m);
    look_at_disks(m);
}

void machine_release(struct machine *m)
{
    for (size_t i = 0; i < MACHINE_DISKS; i++)
        mem_free(m->disks[i].path);
    *m = (struct machine){0};
}
