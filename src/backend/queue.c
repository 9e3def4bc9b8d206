/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting jobs of one priority, project and user are a lane, in the order of age; lanes
 * wait in a heap. Starting a job can only make its own project and user larger, so the
 * key of a lane never becomes smaller: it is enough to look again at the key of the
 * topmost lane before it is believed.
 *
 * Why nobody starves who is first in line: what passes it either ends before it could
 * begin, or is counted in `spare`, which is what the machine has beside it. Jobs that
 * started since it waits never hold more than that for long, and those that ran before
 * end some day.
 */
#include "backend/queue.h"

#include <stdlib.h>
#include <string.h>

#include "backend/queue_account.h"
#include "base/mem.h"

#define SECOND INT64_C(1000000000)

/* What decides between lanes; smaller goes first. */
struct rank {
    int64_t priority; /* negated */
    bool patient;     /* has not waited for long */
    double project, owner;
    int64_t num;
};

struct lane {
    size_t next, end; /* of planning.order */
    struct backend_queue_account *project, *owner;
    struct rank rank;
};

struct planning {
    const struct backend_queue_world *w;
    struct backend_queue_need free;
    struct backend_queue_verdict *verdicts;
    struct backend_queue_accounts accounts;
    struct backend_queue_account **owners, **projects; /* of waiting[i] */
    size_t *order;      /* indices of waiting, lane by lane */
    struct lane *lanes; /* a heap */
    size_t n_lanes;
    const struct backend_queue_job *head; /* first that did not fit */
    int64_t start_at;                /* when it surely can: wall ns, INT64_MAX unknown */
    struct backend_queue_need spare; /* what will be there beside it then */
};

static void add(struct backend_queue_need *a, const struct backend_queue_need *b,
                int sign)
{
    a->cpu_milli += sign * b->cpu_milli;
    a->memory += sign * b->memory;
    a->gpu += sign * b->gpu;
}

const char *backend_queue_lacking(const struct backend_queue_need *room,
                                  const struct backend_queue_need *need, int64_t *missing)
{
    const struct {
        const char *name;
        int64_t room, need;
    } parts[] = {{"gpu", room->gpu, need->gpu},
                 {"memory", room->memory, need->memory},
                 {"cpu", room->cpu_milli, need->cpu_milli}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].need > 0 && parts[i].need > parts[i].room) {
            *missing = parts[i].need - parts[i].room;
            return parts[i].name;
        }
    return NULL;
}

static int by_lane(const void *a, const void *b, void *arg)
{
    const struct planning *p = arg;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const struct backend_queue_job *x = &p->w->waiting[i], *y = &p->w->waiting[k];
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (p->projects[i] != p->projects[k])
        return p->projects[i]->at < p->projects[k]->at ? -1 : 1;
    if (p->owners[i] != p->owners[k])
        return p->owners[i]->at < p->owners[k]->at ? -1 : 1;
    return x->num < y->num ? -1 : x->num > y->num;
}

static bool same_lane(const struct planning *p, size_t i, size_t k)
{
    return p->w->waiting[i].priority == p->w->waiting[k].priority &&
           p->projects[i] == p->projects[k] && p->owners[i] == p->owners[k];
}

static struct rank rank_of(const struct planning *p, const struct lane *l)
{
    const struct backend_queue_job *j = &p->w->waiting[p->order[l->next]];
    struct rank r = {.priority = -j->priority,
                     .patient = p->w->now - j->since < QUEUE_STARVING_S * SECOND,
                     .num = j->num};
    if (r.patient) {
        r.project = backend_queue_account_score(l->project, &p->w->total);
        r.owner = backend_queue_account_score(l->owner, &p->w->total);
    }
    return r;
}

static int compare(const struct rank *a, const struct rank *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->patient != b->patient)
        return a->patient ? 1 : -1;
    if (a->project != b->project)
        return a->project < b->project ? -1 : 1;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    return a->num < b->num ? -1 : a->num > b->num;
}

static void sift(struct planning *p, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t k = 2 * at + 1; k <= 2 * at + 2 && k < p->n_lanes; k++)
            if (compare(&p->lanes[k].rank, &p->lanes[least].rank) < 0)
                least = k;
        if (least == at)
            return;
        struct lane other = p->lanes[at];
        p->lanes[at] = p->lanes[least];
        p->lanes[least] = other;
        at = least;
    }
}

static void make_lanes(struct planning *p)
{
    size_t n = p->w->n_waiting;
    for (size_t i = 0; i < n; i++) {
        const struct backend_queue_job *j = &p->w->waiting[i];
        p->order[i] = i;
        p->owners[i] = backend_queue_account(&p->accounts, j->owner, false);
        p->projects[i] = backend_queue_account(&p->accounts, j->project, true);
    }
    qsort_r(p->order, n, sizeof(*p->order), by_lane, p);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_lane(p, p->order[i], p->order[end]); end++)
            ;
        struct lane *l = &p->lanes[p->n_lanes++];
        *l = (struct lane){.next = i,
                           .end = end,
                           .project = p->projects[p->order[i]],
                           .owner = p->owners[p->order[i]]};
        l->rank = rank_of(p, l);
    }
    for (size_t i = p->n_lanes; i-- > 0;)
        sift(p, i);
}

/* The next in line: an index of waiting; false when nobody is left. */
static bool next_in_line(struct planning *p, size_t *out)
{
    while (p->n_lanes) {
        struct lane *l = &p->lanes[0];
        if (l->next == l->end) {
            *l = p->lanes[--p->n_lanes];
            sift(p, 0);
            continue;
        }
        struct rank now = rank_of(p, l);
        if (compare(&now, &l->rank) != 0) {
            l->rank = now;
            sift(p, 0);
            continue;
        }
        *out = p->order[l->next++];
        return true;
    }
    return false;
}

struct ending {
    int64_t at;
    const struct backend_queue_need *need;
};

static int by_end(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int64_t end_of(int64_t since, int64_t timeout_s)
{
    if (timeout_s <= 0 || timeout_s > INT64_MAX / SECOND ||
        since > INT64_MAX - timeout_s * SECOND)
        return INT64_MAX;
    return since + timeout_s * SECOND;
}

/* When enough running jobs will have reached their time limits for the head, and what
 * will be left beside it.
 */
static void reserve(struct planning *p, const struct backend_queue_job *head)
{
    const struct backend_queue_world *w = p->w;
    struct ending *ends = mem_calloc(w->n_running + 1, sizeof(*ends));
    struct backend_queue_need room = p->free;
    int64_t missing;
    p->head = head;
    p->start_at = INT64_MAX;
    for (size_t i = 0; i < w->n_running; i++) {
        const struct backend_queue_job *r = &w->running[i];
        ends[i] = (struct ending){r->away ? INT64_MAX : end_of(r->since, r->timeout_s),
                                  &r->need};
    }
    qsort(ends, w->n_running, sizeof(*ends), by_end);
    for (size_t i = 0; i < w->n_running && ends[i].at < INT64_MAX; i++) {
        add(&room, ends[i].need, 1);
        if (!backend_queue_lacking(&room, &head->need, &missing)) {
            p->start_at = ends[i].at;
            break;
        }
    }
    mem_free(ends);
    if (p->start_at == INT64_MAX) {
        /* Nobody knows when; at the latest once all are gone that ran before it came. */
        room = w->total;
        for (size_t i = 0; i < w->n_running; i++)
            if (!w->running[i].away && w->running[i].since > head->since)
                add(&room, &w->running[i].need, -1);
    }
    add(&room, &head->need, -1);
    p->spare = room;
}

static bool may_pass(struct planning *p, const struct backend_queue_job *j)
{
    int64_t missing;
    if (p->start_at < INT64_MAX && end_of(p->w->now, j->timeout_s) <= p->start_at)
        return true;
    if (!backend_queue_lacking(&p->spare, &j->need, &missing)) {
        add(&p->spare, &j->need, -1);
        return true;
    }
    return p->start_at == INT64_MAX &&
           p->w->now - p->head->since < QUEUE_PATIENCE_S * SECOND;
}

static void judge(struct planning *p, size_t i)
{
    const struct backend_queue_job *j = &p->w->waiting[i];
    struct backend_queue_verdict *v = &p->verdicts[i];
    int64_t missing = 0;
    const char *what =
        j->away ? NULL : backend_queue_lacking(&p->w->total, &j->need, &missing);
    if (what) {
        *v = (struct backend_queue_verdict){
            .answer = QUEUE_NEVER, .lacking = what, .missing = missing};
        return;
    }
    if (!backend_queue_accounts_allow(&p->accounts, j, v))
        return;
    if (j->away) {
        *v = (struct backend_queue_verdict){.answer = QUEUE_START};
        backend_queue_accounts_run(&p->accounts, j, false);
        return;
    }
    what = backend_queue_lacking(&p->free, &j->need, &missing);
    if (!what && (!p->head || may_pass(p, j))) {
        *v = (struct backend_queue_verdict){.answer = QUEUE_START};
        add(&p->free, &j->need, -1);
        backend_queue_accounts_run(&p->accounts, j, true);
        return;
    }
    if (p->head) {
        *v = (struct backend_queue_verdict){.answer = QUEUE_BEHIND,
                                            .lacking = what,
                                            .missing = missing,
                                            .ahead = p->head->id};
        return;
    }
    *v = (struct backend_queue_verdict){
        .answer = QUEUE_FULL, .lacking = what, .missing = missing};
    reserve(p, j);
}

void backend_queue_plan(const struct backend_queue_world *w,
                        struct backend_queue_verdict *verdicts)
{
    size_t n = w->n_waiting;
    struct planning p = {.w = w,
                         .free = w->total,
                         .verdicts = verdicts,
                         .start_at = INT64_MAX,
                         .owners = mem_calloc(n + 1, sizeof(*p.owners)),
                         .projects = mem_calloc(n + 1, sizeof(*p.projects)),
                         .order = mem_calloc(n + 1, sizeof(*p.order)),
                         .lanes = mem_calloc(n + 1, sizeof(*p.lanes))};
    for (size_t i = 0; i < w->n_groups; i++)
        backend_queue_accounts_group(&p.accounts, &w->groups[i]);
    for (size_t i = 0; i < w->n_running; i++) {
        if (!w->running[i].away)
            add(&p.free, &w->running[i].need, -1);
        backend_queue_accounts_run(&p.accounts, &w->running[i], !w->running[i].away);
    }
    for (size_t i = 0; i < w->n_elsewhere; i++)
        backend_queue_accounts_run(&p.accounts, &w->elsewhere[i], false);
    make_lanes(&p);
    for (size_t i; next_in_line(&p, &i);)
        judge(&p, i);
    backend_queue_accounts_release(&p.accounts);
    mem_free(p.lanes);
    mem_free(p.order);
    mem_free(p.projects);
    mem_free(p.owners);
}
