/* SPDX-License-Identifier: Apache-2.0 */
/* Each round reads the rules, and then the live jobs and those that have ended since the
 * last round; of each job only events, points and log bytes behind the last ones that were
 * seen. What is to be told is written as a delivery whose key says what happened, so nothing
 * is told twice, whoever looks and however often.
 */
#include "team/notice.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/state.h"
#include "job/status.h"
#include "store/leases.h"
#include "team/notice_private.h"
#include "team/standing.h"

#define LOG_AREA "notify"
#define MARK "notify.ended"
#define MARK_NS (10 * CLOCK_SECOND)   /* how often it is written */
#define SLACK_NS (120 * CLOCK_SECOND) /* clocks of machines differ, writers are slow */
#define AWAY_NS (7 * 86400 * CLOCK_SECOND)
#define POINTS_PAGE 5000

static bool has_label(const struct job_place *p, const char *id, const char *key,
                      const char *value)
{
    char *spec = NULL;
    struct doc doc = {0};
    if (store_spec(p->store, id, &spec, NULL))
        return false;
    const struct node *map = job_json_open(spec, &doc);
    bool same = strcmp(node_get_text(node_find(map, "label"), key, "\n"), value) == 0;
    if (doc.src)
        doc_release(&doc);
    mem_free(spec);
    return same;
}

bool team_notice_about(const struct team_looking *l, const struct team_rule *r,
                       const struct store_job *j)
{
    if (!team_rule_is_about(r, j) || (j->finished && j->finished < r->row->created))
        return false;
    if (r->schedule && !has_label(l->p, j->id, "schedule", r->schedule))
        return false;
    return !r->label_key || has_label(l->p, j->id, r->label_key, r->label_value);
}

enum rc team_notice_tell(struct team_looking *l, struct team_watched *w,
                         const struct team_rule *r, const struct team_rule_fact *f,
                         struct err *err)
{
    char key[65];
    struct buf payload;
    bool added = false;
    team_rule_key(r, f, key);
    if (map_find(&w->told, str_c(key)))
        return RC_OK;
    buf_init(&payload, 1 << 20);
    team_rule_payload(r, f, &payload);
    struct store_delivery d = {.key = key,
                               .rule = r->row->id,
                               .job = f->job->id,
                               .payload = buf_str(&payload),
                               .state = "pending",
                               .message = "",
                               .due = l->now,
                               .created = l->now};
    enum rc rc = store_delivery_add(l->p->store, &d, &added, err);
    buf_release(&payload);
    if (rc)
        return rc;
    map_put(&w->told, str_c(key));
    l->added += added;
    return RC_OK;
}

static enum rc tell_state(struct team_looking *l, struct team_watched *w,
                          const struct store_job *j, const struct store_event *e,
                          const char *state, struct err *err)
{
    struct store_job then = *j;
    struct buf text;
    char what[32];
    enum rc rc = RC_OK;
    then.state = state;
    then.reason = e->reason;
    buf_init(&text, 2000);
    buf_printf(&text, "job %s (%s) is %s", j->id, j->name, state);
    if (*e->reason)
        buf_printf(&text, ": %s", e->reason);
    if (*e->message)
        buf_printf(&text, ", %.500s", e->message);
    snprintf(what, sizeof(what), "event/%jd", (intmax_t)e->seq);
    for (size_t i = 0; i < l->rules.n && !rc; i++) {
        const struct team_rule *r = &l->rules.at[i];
        struct team_rule_fact f = {.job = &then,
                                   .time = e->time,
                                   .what = what,
                                   .text = buf_str(&text),
                                   .extra = ""};
        if (e->time >= r->row->created && team_rule_wants_state(r, state) &&
            team_notice_about(l, r, j))
            rc = team_notice_tell(l, w, r, &f, err);
    }
    buf_release(&text);
    return rc;
}

static enum rc look_events(struct team_looking *l, struct team_watched *w,
                           const struct store_job *j, struct err *err)
{
    if (j->seq <= w->seq)
        return RC_OK;
    struct store_events ev = {0};
    enum rc rc = store_events_get(l->p->store, j->id, w->seq, 0, &ev, err);
    for (size_t i = 0; i < ev.n && !rc; i++) {
        struct doc doc = {0};
        if (strcmp(ev.at[i].type, job_event_name(EV_StateChanged)) == 0) {
            const struct node *map = job_json_open(ev.at[i].data, &doc);
            rc = tell_state(l, w, j, &ev.at[i], node_get_text(map, "state", ""), err);
        }
        if (doc.src)
            doc_release(&doc);
        if (!rc)
            w->seq = ev.at[i].seq;
    }
    store_events_release(&ev);
    return rc;
}

static enum rc tell_value(struct team_looking *l, struct team_watched *w,
                          const struct team_rule *r, const struct store_job *j,
                          const struct store_point *x, struct err *err)
{
    char what[48], number[32], limit[32], text[700], extra[400];
    bool above = r->has_above && x->value > r->above;
    str_from_f64(x->value, number);
    str_from_f64(above ? r->above : r->below, limit);
    snprintf(what, sizeof(what), "metric/%jd", (intmax_t)x->attempt);
    snprintf(text, sizeof(text), "job %s (%.200s): %.100s is %s, %s %s", j->id, j->name,
             x->name, number, above ? "above" : "below", limit);
    struct buf b;
    buf_init(&b, sizeof(extra) - 1);
    buf_puts(&b, ", \"metric\": ");
    buf_json_str(&b, x->name, strlen(x->name));
    buf_printf(&b, ", \"value\": %s", number);
    if (x->step >= 0) /* the program may have given none */
        buf_printf(&b, ", \"step\": %jd", (intmax_t)x->step);
    struct team_rule_fact f = {.job = j,
                               .time = x->time,
                               .what = what,
                               .text = text,
                               .extra = b.failed ? "" : buf_str(&b)};
    enum rc rc = team_notice_tell(l, w, r, &f, err);
    buf_release(&b);
    return rc;
}

static enum rc look_points(struct team_looking *l, struct team_watched *w,
                           const struct store_job *j, struct err *err)
{
    bool wanted = false;
    for (size_t i = 0; i < l->rules.n; i++)
        wanted |=
            l->rules.at[i].on == RULE_METRIC && team_rule_is_about(&l->rules.at[i], j);
    if (!wanted)
        return RC_OK;
    struct store_points pts = {0};
    enum rc rc =
        store_points_get(l->p->store, j->id, NULL, w->points, POINTS_PAGE, &pts, err);
    for (size_t i = 0; i < pts.n && !rc; i++)
        for (size_t k = 0; k < l->rules.n && !rc; k++) {
            const struct team_rule *r = &l->rules.at[k];
            if (pts.at[i].time >= r->row->created &&
                team_rule_wants_value(r, pts.at[i].name, pts.at[i].value) &&
                team_notice_about(l, r, j))
                rc = tell_value(l, w, r, j, &pts.at[i], err);
        }
    if (!rc && pts.n)
        w->points = pts.next;
    store_points_release(&pts);
    return rc;
}

static struct team_watched *watch(struct team_notice *n, const char *id)
{
    struct map_entry *e = map_put(&n->jobs, str_c(id));
    if (!e->value)
        e->value = mem_calloc(1, sizeof(struct team_watched));
    struct team_watched *w = e->value;
    w->round = n->round;
    return w;
}

static enum rc look_at(struct team_notice *n, struct team_looking *l,
                       const struct store_jobs *jobs, bool leads, bool ended,
                       struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < jobs->n && !rc; i++) {
        const struct store_job *j = &jobs->at[i];
        struct team_watched *w = watch(n, j->id);
        if (leads)
            rc = look_events(l, w, j, err);
        if (!rc && leads)
            rc = look_points(l, w, j, err);
        if (!rc && strcmp(j->node, l->p->node) == 0) {
            rc = team_notice_logs(l, w, j, ended, err);
            if (!rc && !ended)
                rc = team_notice_stall(l, w, j, err);
        }
    }
    return rc;
}

/* Jobs that were not met in this round are over. */
static void forget(struct team_notice *n, bool all)
{
    struct map kept = {0};
    for (size_t i = 0; i < n->jobs.n; i++) {
        struct map_entry *e = &n->jobs.at[i];
        struct team_watched *w = e->value;
        if (!all && w->round == n->round) {
            map_put(&kept, str_of(e->key, e->key_len))->value = w;
            continue;
        }
        map_release(&w->told);
        mem_free(w);
    }
    map_release(&n->jobs);
    n->jobs = kept;
}

void team_notice_release(struct team_notice *n)
{
    forget(n, true);
}

static enum rc open_rules(struct team_looking *l, struct store_rules *rows,
                          struct err *err)
{
    struct team_standing people = {0};
    enum rc rc = store_rule_get(l->p->store, NULL, NULL, rows, err);
    if (!rc && rows->n)
        rc = team_standing_open(l->p->store, l->p->account, &people, err);
    team_standing_rules(&people, rows);
    for (size_t i = 0; i < rows->n && !rc; i++) {
        struct team_rule r;
        struct err why = {0};
        if (rows->at[i].muted)
            continue;
        if (team_rule_open(&rows->at[i], &r, &why))
            log_warn("rule %s: %s", rows->at[i].id, why.msg);
        else
            VEC_PUSH(&l->rules, r);
    }
    for (size_t i = 0; i < rows->n; i++)
        rows->at[i].muted = NULL; /* it goes with `people` */
    team_standing_close(&people);
    return rc;
}

/* From which end on jobs that ended are looked at. */
static enum rc since(const struct job_place *p, int64_t now, int64_t *out,
                     struct err *err)
{
    int64_t mark = 0;
    enum rc rc = store_mark_get(p->store, MARK, &mark, err);
    if (!mark || mark > now)
        mark = now;
    if (mark < now - AWAY_NS)
        mark = now - AWAY_NS;
    *out = mark - SLACK_NS;
    return rc;
}

static enum rc set_mark(struct team_notice *n, const struct job_place *p, int64_t now,
                        struct err *err)
{
    if (n->marked <= now && now - n->marked < MARK_NS)
        return RC_OK;
    enum rc rc = store_fence_begin(p->store, err);
    if (rc)
        return rc;
    rc = store_mark_set(p->store, MARK, now, err);
    rc = store_fence_end(p->store, rc, err);
    if (!rc)
        n->marked = now;
    return rc;
}

static enum rc look_at_all(struct team_notice *n, struct team_looking *l, bool leads,
                           struct err *err)
{
    struct store_jobs live = {0}, ended = {0};
    struct store_filter f = {.states = job_live_states()}, e = {0};
    enum rc rc = store_list(l->p->store, &f, &live, err);
    if (!rc)
        rc = since(l->p, l->now, &e.ended_since, err);
    if (!rc)
        rc = store_list(l->p->store, &e, &ended, err);
    n->round++;
    if (!rc)
        rc = look_at(n, l, &live, leads, false, err);
    if (!rc)
        rc = look_at(n, l, &ended, leads, true, err);
    if (!rc)
        forget(n, false);
    store_jobs_release(&ended);
    store_jobs_release(&live);
    return rc;
}

enum rc team_notice_look(struct team_notice *n, const struct job_place *p, bool leads,
                         int64_t now, int64_t *added, struct err *err)
{
    struct team_looking l = {.p = p, .now = now};
    struct store_rules rows = {0};
    enum rc rc = open_rules(&l, &rows, err);
    if (!rc && l.rules.n)
        rc = look_at_all(n, &l, leads, err);
    if (!rc && leads)
        rc = set_mark(n, p, now, err);
    for (size_t i = 0; i < l.rules.n; i++)
        team_rule_close(&l.rules.at[i]);
    VEC_RELEASE(&l.rules);
    store_rules_release(&rows);
    *added = l.added;
    return rc;
}
