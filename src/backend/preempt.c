/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/preempt.h"

#include <stdlib.h>

#include "base/mem.h"

static void add(struct backend_queue_need *a, const struct backend_queue_need *b,
                int sign)
{
    a->cpu_milli += sign * b->cpu_milli;
    a->memory += sign * b->memory;
    a->gpu += sign * b->gpu;
}

static bool fits(const struct backend_queue_need *room, const struct backend_queue_job *j)
{
    int64_t missing;
    return !backend_queue_lacking(room, &j->need, &missing);
}

static int by_worth(const void *a, const void *b, void *arg)
{
    const struct backend_queue_job *running = arg;
    const struct backend_queue_job *x = &running[*(const size_t *)a],
                                   *y = &running[*(const size_t *)b];
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return x->since > y->since ? -1 : x->since < y->since;
}

/* Those that are not needed after all stay, the worthiest first. */
static size_t spare(const struct backend_queue_world *w,
                    const struct backend_queue_job *head, const size_t *order, size_t n,
                    struct backend_queue_need *room, bool *victims)
{
    size_t left = n;
    for (size_t i = n; i-- > 0;) {
        add(room, &w->running[order[i]].need, -1);
        if (fits(room, head)) {
            victims[order[i]] = false;
            left--;
        } else {
            add(room, &w->running[order[i]].need, 1);
        }
    }
    return left;
}

size_t backend_preempt_plan(const struct backend_queue_world *w,
                            const struct backend_queue_job *head, bool *victims)
{
    size_t *order = mem_calloc(w->n_running + 1, sizeof(*order)), n = 0, used = 0;
    struct backend_queue_need room = w->total;
    for (size_t i = 0; i < w->n_running; i++) {
        const struct backend_queue_job *r = &w->running[i];
        victims[i] = false;
        if (r->away)
            continue;
        if (!r->leaving)
            add(&room, &r->need, -1);
        if (r->preemptible && !r->leaving && r->priority < head->priority)
            order[n++] = i;
    }
    qsort_r(order, n, sizeof(*order), by_worth, (void *)(uintptr_t)w->running);
    while (used < n && !fits(&room, head)) {
        victims[order[used]] = true;
        add(&room, &w->running[order[used++]].need, 1);
    }
    if (!fits(&room, head)) {
        while (used)
            victims[order[--used]] = false;
    }
    used = used ? spare(w, head, order, used, &room, victims) : 0;
    mem_free(order);
    return used;
}
