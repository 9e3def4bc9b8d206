/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/capacity.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/view.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/status.h"
#include "text/job/job.h"

static int64_t count_gpus(void)
{
    char path[32];
    int64_t n = 0;
    for (; n < 64; n++) {
        snprintf(path, sizeof(path), "/dev/nvidia%d", (int)n);
        if (access(path, R_OK) < 0)
            break;
    }
    return n;
}

static enum rc set_one(struct str name, struct str value, struct backend_queue_need *out)
{
    int64_t v;
    if (str_is(name, "cpu") && jobspec_cpu_milli(value, &v))
        out->cpu_milli = v;
    else if (str_is(name, "memory") && jobspec_bytes(value, &v))
        out->memory = v;
    else if (str_is(name, "gpu") && str_to_i64(value, &v) && v >= 0 && v <= 64)
        out->gpu = v;
    else
        return RC_INVAL;
    return RC_OK;
}

enum rc backend_capacity_find(const char *slots, struct backend_queue_need *out,
                              struct err *err)
{
    cpu_set_t set;
    struct backend_queue_need c = {.cpu_milli = 1000, .gpu = count_gpus()};
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        c.cpu_milli = (int64_t)CPU_COUNT(&set) * 1000;
    c.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    struct str rest = str_c(slots ? slots : ""), part, name;
    while (rest.n && str_split(&rest, ',', &part)) {
        struct str whole = part;
        if (!str_split(&part, '=', &name) || set_one(name, part, &c))
            return err_coded(err, RC_INVAL, E0603,
                             "slots: '%.*s' is not cpu=N, memory=SIZE or gpu=N",
                             (int)whole.n, whole.p);
    }
    *out = c;
    return RC_OK;
}

enum rc backend_capacity_write(const char *dir, const struct backend_queue_need *c,
                               struct err *err)
{
    char *path = fs_join(dir, "capacity.json");
    char *text =
        mem_printf("{\"cpu_milli\": %jd, \"memory\": %jd, \"gpu\": %jd}\n",
                   (intmax_t)c->cpu_milli, (intmax_t)c->memory, (intmax_t)c->gpu);
    enum rc rc = job_file_put(path, text, strlen(text), 0600, err);
    mem_free(text);
    mem_free(path);
    return rc;
}

enum rc backend_capacity_probe_view(const char *dir, struct err *err)
{
    char *path = fs_join(dir, "view.json"), *scratch = fs_join(dir, "probe");
    char what[VIEW_ERROR_SIZE];
    bool view =
        fs_mkdirs(scratch, 0700, NULL) == RC_OK && backend_view_possible(scratch, what);
    const char *text = view ? "{\"view\": 1}\n" : "{\"view\": 0}\n";
    enum rc rc = job_file_put(path, text, strlen(text), 0600, NULL);
    (void)rc; /* then each job finds out for itself */
    mem_free(scratch);
    mem_free(path);
    return RC_OK;
}

/* A file of the agent, to doc_release(); NULL when there is none. */
static const struct node *read_file(const char *dir, const char *name, struct doc *doc)
{
    char *path = fs_join(dir, name), *text = NULL;
    size_t n = 0;
    const struct node *map = NULL;
    if (fs_read(path, 4096, &text, &n, NULL) == RC_OK)
        map = job_json_open(text, doc);
    mem_free(text);
    mem_free(path);
    return map;
}

bool backend_capacity_view(const char *dir)
{
    struct doc doc = {0};
    bool view = node_get_int(read_file(dir, "view.json", &doc), "view", 0) != 0;
    if (doc.src)
        doc_release(&doc);
    return view;
}

bool backend_capacity_read(const char *dir, struct backend_queue_need *out)
{
    struct doc doc = {0};
    const struct node *map = read_file(dir, "capacity.json", &doc);
    if (map)
        *out = (struct backend_queue_need){.cpu_milli = node_get_int(map, "cpu_milli", 0),
                                           .memory = node_get_int(map, "memory", 0),
                                           .gpu = node_get_int(map, "gpu", 0)};
    if (doc.src)
        doc_release(&doc);
    return map != NULL;
}
