/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/queue_account.h"

#include "base/mem.h"

static void release(struct map *m)
{
    for (size_t i = 0; i < m->n; i++)
        mem_free(m->at[i].value);
    map_release(m);
}

void backend_queue_accounts_release(struct backend_queue_accounts *a)
{
    release(&a->users);
    release(&a->projects);
}

struct backend_queue_account *backend_queue_account(struct backend_queue_accounts *a,
                                                    const char *name, bool project)
{
    struct map *m = project ? &a->projects : &a->users;
    struct map_entry *e = map_put(m, str_c(name ? name : ""));
    if (!e->value) {
        struct backend_queue_account *fresh = mem_calloc(1, sizeof(*fresh));
        fresh->at = m->n;
        e->value = fresh;
    }
    return e->value;
}

void backend_queue_accounts_group(struct backend_queue_accounts *a,
                                  const struct backend_queue_group *g)
{
    backend_queue_account(a, g->name, g->project)->group = g;
}

static void add(struct backend_queue_need *a, const struct backend_queue_need *b)
{
    a->cpu_milli += b->cpu_milli;
    a->memory += b->memory;
    a->gpu += b->gpu;
}

void backend_queue_accounts_run(struct backend_queue_accounts *a,
                                const struct backend_queue_job *j, bool here)
{
    struct backend_queue_account *two[] = {backend_queue_account(a, j->owner, false),
                                           backend_queue_account(a, j->project, true)};
    for (size_t i = 0; i < ARRAY_LEN(two); i++) {
        add(&two[i]->all, &j->need);
        two[i]->running++;
        if (here)
            add(&two[i]->here, &j->need);
    }
}

static double ratio(int64_t a, int64_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

double backend_queue_account_score(const struct backend_queue_account *a,
                                   const struct backend_queue_need *total)
{
    double most = ratio(a->here.cpu_milli, total->cpu_milli);
    double memory = ratio(a->here.memory, total->memory);
    double gpu = ratio(a->here.gpu, total->gpu);
    most = memory > most ? memory : most;
    most = gpu > most ? gpu : most;
    if (!a->group)
        return most / QUEUE_WEIGHT;
    return (most + a->group->recent) /
           (double)(a->group->weight > 0 ? a->group->weight : QUEUE_WEIGHT);
}

static bool allows(const struct backend_queue_account *a,
                   const struct backend_queue_job *j, struct backend_queue_verdict *v)
{
    const struct backend_queue_group *g = a->group;
    if (!g)
        return true;
    const struct {
        const char *name;
        int64_t most, used, need;
    } parts[] = {{"running", g->most_running, a->running, 1},
                 {"gpu", g->most.gpu, a->all.gpu, j->need.gpu},
                 {"memory", g->most.memory, a->all.memory, j->need.memory},
                 {"cpu", g->most.cpu_milli, a->all.cpu_milli, j->need.cpu_milli}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].most >= 0 && parts[i].need > 0 &&
            parts[i].need > parts[i].most - parts[i].used) {
            *v = (struct backend_queue_verdict){.answer = QUEUE_QUOTA,
                                                .lacking = parts[i].name,
                                                .missing = parts[i].used + parts[i].need -
                                                           parts[i].most,
                                                .group = g,
                                                .used = parts[i].used};
            return false;
        }
    return true;
}

bool backend_queue_accounts_allow(struct backend_queue_accounts *a,
                                  const struct backend_queue_job *j,
                                  struct backend_queue_verdict *v)
{
    return allows(backend_queue_account(a, j->project, true), j, v) &&
           allows(backend_queue_account(a, j->owner, false), j, v);
}
