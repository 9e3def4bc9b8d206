/* SPDX-License-Identifier: Apache-2.0 */
/* On a node: Slurm's variables tell which worker this is and where the others are. A node
 * whose name means nothing here (a test's) is reached at the address from which the step was
 * launched, which is the first node's.
 */
#include "backend/slurm_task.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "backend/slurm_hosts.h"
#include "backend/task.h"
#include "base/env.h"

struct step {
    const char *nodes, *layout;
    const char *fallback;
    char name[SLURM_HOST_SIZE];
};

/* Of the task, "" where there is none. */
static const char *variable(const char *name, const char *other)
{
    const char *const names[] = {name, other, NULL};
    const char *value = env_first(names);
    return value ? value : "";
}

static bool resolves(const char *name)
{
    struct addrinfo *list = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    bool good = getaddrinfo(name, NULL, &hints, &list) == 0;
    if (list)
        freeaddrinfo(list);
    return good;
}

static const char *reach_node(void *arg, int64_t task, const char *noted)
{
    struct step *s = arg;
    if (noted)
        snprintf(s->name, sizeof(s->name), "%s", noted);
    else if (!slurm_host_at(s->nodes, slurm_node_of_task(s->layout, task), s->name))
        return NULL;
    return resolves(s->name) || !*s->fallback ? s->name : s->fallback;
}

/* What Slurm set for this task is the worker's too: devices, and what MPI looks for. */
static bool from_slurm(const char *e)
{
    static const char *const names[] = {"SLURM",
                                        "CUDA_VISIBLE_DEVICES=",
                                        "GPU_DEVICE_ORDINAL=",
                                        "ROCR_VISIBLE_DEVICES=",
                                        "ZE_AFFINITY_MASK=",
                                        "TMPDIR="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(e, names[i]))
            return true;
    return false;
}

enum rc slurm_task_run(const char *list, struct err *err)
{
    struct step s = {.nodes = variable("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
                     .layout =
                         variable("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"),
                     .fallback = variable("SLURM_LAUNCH_NODE_IPADDR", NULL)};
    struct backend_task t = {.list = list,
                             .node = variable("SLURMD_NODENAME", "SLURM_JOB_NODELIST"),
                             .reach = reach_node,
                             .arg = &s,
                             .keeps = from_slurm};
    if (!str_to_i64(str_c(variable("SLURM_PROCID", NULL)), &t.number))
        return err_set(err, RC_INVAL,
                       "this is to be started by srun: there is no SLURM_PROCID");
    return backend_task_run(&t, err);
}
