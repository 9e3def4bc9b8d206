/* SPDX-License-Identifier: Apache-2.0 */
/* On a host: mpirun's variables tell which rank this is, BASE.seats where the others are. */
#include <stdio.h>
#include <string.h>

#include "backend/mpirun_hosts.h"
#include "backend/mpirun_runner.h"
#include "backend/task.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"

#define SEATS_MAX (16 << 20)
#define REQUESTS_MS 500

struct world {
    char *seats; /* owned */
    char name[MPIRUN_HOST_SIZE];
};

/* Line number `task` of the seats. */
static bool seat_at(struct world *w, int64_t task)
{
    struct str rest = str_c(w->seats), line;
    for (int64_t i = 0; rest.n && str_split(&rest, '\n', &line); i++)
        if (i == task) {
            snprintf(w->name, sizeof(w->name), "%.*s", (int)line.n, line.p);
            return line.n > 0;
        }
    return false;
}

static const char *reach_host(void *arg, int64_t task, const char *noted)
{
    struct world *w = arg;
    if (noted)
        snprintf(w->name, sizeof(w->name), "%s", noted);
    else if (!seat_at(w, task))
        return NULL;
    return w->name;
}

/* A worker is a rank of mpirun's where the job asks for it. */
static bool is_of_world(const char *e)
{
    static const char *const names[] = {"OMPI_", "PMIX_", "ORTE_", "PRTE_", "HWLOC_"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(e, names[i]))
            return true;
    return false;
}

static bool is_nothing(const char *e)
{
    return false;
}

static enum rc run_rank(const char *list, const char *base, int64_t rank, struct err *err)
{
    struct mpirun_runner_conf c;
    struct arena a = {0};
    struct world w = {.seats = NULL};
    size_t n = 0;
    char *path = mem_printf("%s.seats", base), *stop = mem_printf("%s.stop", base);
    enum rc rc = mpirun_runner_read(base, &c, &a, err);
    if (!rc)
        rc = fs_read(path, SEATS_MAX, &w.seats, &n, err);
    if (!rc && !seat_at(&w, rank))
        rc =
            err_set(err, RC_INVAL, "'%s' has no host for rank %jd", path, (intmax_t)rank);
    char *node = mem_strdup(w.name);
    struct backend_task t = {.list = list,
                             .number = rank,
                             .node = node,
                             .reach = reach_host,
                             .arg = &w,
                             .keeps = !rc && c.world ? is_of_world : is_nothing,
                             .requests_ms = REQUESTS_MS};
    if (!rc && !fs_exists(stop))
        rc = backend_task_run(&t, err);
    mem_free(node);
    mem_free(w.seats);
    mem_free(stop);
    mem_free(path);
    arena_release(&a);
    return rc;
}

enum rc mpirun_task_run(const char *list, struct err *err)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", NULL};
    const char *text = env_first(names);
    int64_t rank;
    if (!text || !str_to_i64(str_c(text), &rank) || !str_ends(list, ".list"))
        return err_set(err, RC_INVAL,
                       "this is to be started by mpirun: there is no "
                       "OMPI_COMM_WORLD_RANK");
    char *base = mem_strndup(list, strlen(list) - strlen(".list"));
    enum rc rc = run_rank(list, base, rank, err);
    mem_free(base);
    return rc;
}
