/* SPDX-License-Identifier: Apache-2.0 */
/* Backends of this machine share its queue, which is asked as if the job stood at its end.
 * Jobs of a server's users go to no cluster: they would not be isolated there.
 */
#include "backend/choose.h"

#include <stdio.h>
#include <string.h>

#include "backend/agent.h"
#include "backend/backend.h"
#include "backend/capacity.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "job/access.h"

#define CANDIDATES_MAX 32

struct candidate {
    const struct backend_ops *ops;
    struct backend_room room;
};

static void refuse(struct backend_room *r, const char *text)
{
    *r = (struct backend_room){.has = BACKEND_ROOM_NEVER};
    snprintf(r->text, sizeof(r->text), "%.190s", text);
}

static void judge(const struct backend_queue_world *w,
                  const struct backend_queue_verdict *v, struct backend_room *out)
{
    struct buf b;
    buf_init(&b, 4 * sizeof(out->text));
    out->has = v->answer == QUEUE_START   ? BACKEND_ROOM_NOW
               : v->answer == QUEUE_NEVER ? BACKEND_ROOM_NEVER
                                          : BACKEND_ROOM_LATER;
    if (v->answer == QUEUE_START)
        buf_puts(&b, "what it asks for is free on this machine");
    else
        backend_queue_why(w, w->n_waiting - 1, v, &b);
    snprintf(out->text, sizeof(out->text), "%.190s", buf_str(&b));
    buf_release(&b);
}

/* The job at the end of those that wait. */
static void plan_last(const struct job_place *p, const struct job_spec *s,
                      const struct backend_queue_need *total,
                      struct backend_agent_queue *q, struct backend_room *out)
{
    static const struct backend_share none;
    static const struct backend_share_elsewhere nowhere;
    struct backend_queue_job j = {.id = "",
                                  .owner = p->owner,
                                  .project = s->s->project,
                                  .priority = s->s->priority,
                                  .num = INT64_MAX,
                                  .since = clock_wall_ns(),
                                  .timeout_s = (int64_t)s->timeout_s,
                                  .need = {s->total_cpu, s->total_mem, s->total_gpu}};
    VEC_PUSH(&q->waiting, j);
    struct backend_queue_world w = backend_agent_world(total, q, &none, &nowhere);
    struct backend_queue_verdict *v = mem_calloc(w.n_waiting, sizeof(*v));
    backend_queue_plan(&w, v);
    judge(&w, &v[w.n_waiting - 1], out);
    mem_free(v);
}

static void ask_machine(const struct job_place *p, const struct job_spec *s,
                        struct backend_room *out)
{
    struct backend_agent_queue q;
    struct backend_queue_need total;
    struct err err = {0};
    enum rc rc = RC_OK;
    if (!backend_capacity_read(p->dir, &total))
        rc = backend_capacity_find(env_get("TRAINYARD_SLOTS"), &total, &err);
    if (!rc)
        rc = backend_agent_queue_read(p, NULL, &q, &err);
    if (rc) {
        refuse(out, err.msg);
        return;
    }
    plan_last(p, s, &total, &q, out);
    backend_agent_queue_release(&q);
}

static void ask(const struct job_place *p, const struct job_spec *s,
                const struct backend_probes *probes, struct candidate *c)
{
    const struct backend_probe *f = backend_probe_failure(probes, c->ops->name);
    if (c->ops->own_queue && p->isolation && job_access_is_guest(p))
        refuse(&c->room, "it does not isolate jobs of a server's users");
    else if (f && !f->passing)
        refuse(&c->room, f->text);
    else if (!c->ops->own_queue)
        ask_machine(p, s, &c->room);
    else if (c->ops->room)
        c->ops->room(p, s, &c->room);
    else
        refuse(&c->room, "it does not say what it has");
    if (f && f->passing && c->room.has == BACKEND_ROOM_NOW)
        c->room.has = BACKEND_ROOM_LATER;
}

/* Does it run the kind of job: with an image, or without? */
static bool is_candidate(const struct backend_ops *ops, const struct job_spec *s)
{
    const struct jobspec_backend *b = jobspec_backend_find(ops->name);
    return b && (b->image != JOB_IMAGE_NEVER) == s->s->has_image;
}

static size_t gather(const struct job_place *p, const struct job_spec *s,
                     struct candidate *out)
{
    const struct backend_ops *ops;
    struct backend_probes probes;
    size_t n = 0;
    backend_probe_read(p->dir, &probes);
    for (size_t i = 0; (ops = backend_at(i)) && n < CANDIDATES_MAX; i++)
        if (is_candidate(ops, s)) {
            out[n] = (struct candidate){.ops = ops};
            ask(p, s, &probes, &out[n++]);
        }
    return n;
}

static const struct candidate *best_of(const struct candidate *c, size_t n)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (c[i].room.has != BACKEND_ROOM_NEVER &&
            (!best || c[i].room.has < best->room.has))
            best = &c[i];
    return best;
}

/* "mpi: 4 of 4 slots are free; not local: it asks for more". */
static void describe(const struct candidate *c, size_t n, const struct candidate *best,
                     struct buf *out)
{
    if (best)
        buf_printf(out, "%s: %s", best->ops->name, best->room.text);
    for (size_t i = 0; i < n; i++)
        if (!best || c + i < best)
            buf_printf(out, "%snot %s: %s", out->n ? "; " : "", c[i].ops->name,
                       c[i].room.text);
}

/* Settings of other backends were for the case that one of those is chosen. */
static void keep_options(struct job_spec *s, const char *backend)
{
    struct node *map = node_find(s->conf.doc.root, "backend_option");
    const struct jobspec_option *o;
    for (int64_t k = 0; map && k < s->s->n_backend_option; k++) {
        bool takes = false;
        for (size_t i = 0; (o = jobspec_option_at(i)); i++)
            takes = takes || (strcmp(o->backend, backend) == 0 &&
                              strcmp(o->name, s->s->backend_option[k].key) == 0);
        if (!takes)
            node_remove(map, s->s->backend_option[k].key);
    }
}

enum rc backend_choose(const struct job_place *p, struct job_spec *s,
                       char text[JOB_CHOSEN_SIZE], struct err *err)
{
    struct candidate *c = mem_calloc(CANDIDATES_MAX, sizeof(*c));
    size_t n = gather(p, s, c);
    const struct candidate *best = best_of(c, n);
    struct buf b;
    enum rc rc = RC_OK;
    buf_init(&b, CANDIDATES_MAX * sizeof(struct backend_room));
    describe(c, n, best, &b);
    snprintf(text, JOB_CHOSEN_SIZE, "%s", buf_str(&b));
    if (!best)
        rc = err_coded(err, RC_INVAL, E3204, "no backend can run it: %s", buf_str(&b));
    if (!rc) {
        keep_options(s, best->ops->name);
        job_spec_put(s, "backend", best->ops->name);
        rc = job_spec_again(s, err);
    }
    buf_release(&b);
    mem_free(c);
    return rc;
}
