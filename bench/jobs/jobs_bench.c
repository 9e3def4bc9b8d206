/* SPDX-License-Identifier: Apache-2.0 */
/* jobs_bench fill WHERE N     N jobs into a store: prints jobs per second
 * jobs_bench list WHERE       lists and filters: prints milliseconds of each, best of 9
 * jobs_bench submit DIR N     N jobs of `true` by the whole way of `job submit`
 * jobs_bench isolated DIR N   the same, isolated as a server isolates its users' jobs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/isolate.h"
#include "base/clock.h"
#include "base/mem.h"
#include "job/isolation.h"
#include "job/submit.h"

static int fail(const struct err *err)
{
    fprintf(stderr, "%s\n", err->msg);
    return 1;
}

static int fill(const char *where, int64_t n)
{
    struct store *s = NULL;
    struct err err = {0};
    const struct store_event events[] = {
        {.time = 1, .type = "Submitted", .worker = -1, .message = "by bench"},
        {.time = 2,
         .type = "StateChanged",
         .worker = -1,
         .reason = "JobEnqueued",
         .data = "{\"state\": \"Queuing\"}"}};
    static const char *const states[] = {"Succeeded", "Succeeded", "Failed", "Running",
                                         "Queuing"};
    if (store_open(where, &s, &err))
        return fail(&err);
    int64_t from = clock_mono_ns();
    for (int64_t i = 0; i < n; i++) {
        char id[JOB_ID_SIZE], name[40], owner[16];
        bool existed;
        if (job_id_new(id, &err))
            return fail(&err);
        snprintf(name, sizeof(name), "train-%jd", (intmax_t)(i % 5000));
        snprintf(owner, sizeof(owner), "user%jd", (intmax_t)(i % 20));
        struct store_label label = {"team", i % 100 ? "ads" : "rare"};
        struct store_job row = {.id = id,
                                .name = name,
                                .owner = owner,
                                .state = states[i % 5],
                                .queue = "default",
                                .backend = "local",
                                .node = "n",
                                .status = "{\"message\": \"\", \"restarts\": 0}",
                                .created = 1000 + i,
                                .priority = 1,
                                .workers = 1};
        struct store_new job = {
            .row = &row,
            .spec = "{\"command\": \"python3 train.py\", \"hp\": {\"lr\": \"0.1\"}}",
            .labels = &label,
            .n_labels = 1,
            .events = events,
            .n_events = 2};
        if (store_create(s, &job, &existed, &err))
            return fail(&err);
    }
    printf("%.0f\n", (double)n / ((double)(clock_mono_ns() - from) / 1e9));
    store_close(s);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int list(const char *where)
{
    const struct {
        const char *name;
        struct store_filter f;
    } cases[] = {
        {"first page of 50", {.limit = 50}},
        {"page in the middle", {.limit = 50, .before = 50000}},
        {"state Failed", {.limit = 50, .states = "Failed"}},
        {"owner and state", {.limit = 50, .owner = "user7", .states = "Running"}},
        {"label, rare", {.limit = 50, .label_key = "team", .label_value = "rare"}},
        {"name, last match", {.limit = 50, .name = "train-4999"}},
        {"name, no match", {.limit = 50, .name = "no such name"}},
        {"live jobs, 1000",
         {.limit = 1000, .states = "Queuing,Running", .oldest_first = true}},
    };
    struct store *s = NULL;
    struct err err = {0};
    double ms[9];
    if (store_open(where, &s, &err))
        return fail(&err);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t k = 0; k < ARRAY_LEN(ms); k++) {
            struct store_jobs jobs = {0};
            int64_t from = clock_mono_ns();
            if (store_list(s, &cases[i].f, &jobs, &err))
                return fail(&err);
            ms[k] = (double)(clock_mono_ns() - from) / 1e6;
            store_jobs_release(&jobs);
        }
        qsort(ms, ARRAY_LEN(ms), sizeof(*ms), by_value);
        printf("%.2f %s\n", ms[0], cases[i].name);
    }
    for (size_t k = 0; k < ARRAY_LEN(ms); k++) {
        struct store_count counts[16];
        size_t n;
        int64_t from = clock_mono_ns();
        if (store_counts(s, counts, 16, &n, &err))
            return fail(&err);
        ms[k] = (double)(clock_mono_ns() - from) / 1e6;
    }
    qsort(ms, ARRAY_LEN(ms), sizeof(*ms), by_value);
    printf("%.2f counts by state\n", ms[0]);
    store_close(s);
    return 0;
}

/* What a server would find; false: this machine cannot isolate. */
static bool find_isolation(const char *dir, struct job_isolation *out)
{
    struct isolate_found found;
    char *scratch = mem_printf("%s/isolation", dir);
    isolate_find(scratch, &found);
    mem_free(scratch);
    *out = (struct job_isolation){.first = ISOLATION_FIRST,
                                  .count = ISOLATION_COUNT,
                                  .processes = ISOLATION_PROCESSES,
                                  .held = {found.cpu, found.memory, found.pids}};
    if (found.mode == ISOLATE_NAMESPACES) {
        out->own = true;
        out->first = (int64_t)geteuid();
    }
    return found.mode >= ISOLATE_NAMESPACES;
}

static int submit(const char *dir, int64_t n, bool isolated)
{
    struct job_isolation isolation;
    struct err err = {0};
    struct store *store = NULL;
    char host[200] = "";
    gethostname(host, sizeof(host) - 1);
    char *where = mem_printf("%s/jobs.db", dir), *node = mem_printf("%s:%s", host, dir);
    struct job_place p = {.dir = dir, .where = where, .owner = "bench", .node = node};
    if (isolated && !find_isolation(dir, &isolation))
        return 3;
    p.isolation = isolated ? &isolation : NULL;
    if (store_open(where, &store, &err))
        return fail(&err);
    p.store = store;
    int64_t from = clock_mono_ns();
    for (int64_t i = 0; i < n; i++) {
        struct job_spec spec;
        struct job_submit_result r;
        if (job_spec_from_json("{\"command\": [\"true\", \"x\"]}", &spec, &err) ||
            job_submit(&p, &spec, (const char *const *)environ, "/", &r, &err))
            return fail(&err);
        job_spec_release(&spec);
    }
    printf("%.0f\n", (double)n / ((double)(clock_mono_ns() - from) / 1e9));
    store_close(store);
    mem_free(node);
    mem_free(where);
    return 0;
}

int main(int argc, char **argv)
{
    int64_t n = 0;
    if (argc == 4 && str_to_i64(str_c(argv[3]), &n) && strcmp(argv[1], "fill") == 0)
        return fill(argv[2], n);
    if (argc == 4 && strcmp(argv[1], "submit") == 0)
        return submit(argv[2], n, false);
    if (argc == 4 && strcmp(argv[1], "isolated") == 0)
        return submit(argv[2], n, true);
    if (argc == 3 && strcmp(argv[1], "list") == 0)
        return list(argv[2]);
    fprintf(stderr,
            "usage: jobs_bench fill WHERE N | list WHERE | submit|isolated DIR N\n");
    return 2;
}
