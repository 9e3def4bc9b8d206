/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "team/fire_private.h"
#include "team/spec_dates.h"

enum rc team_fire_plan_open(const struct store_schedule *x, struct team_fire_plan *out,
                            struct err *err)
{
    struct team_fire_plan f = {.x = x};
    enum rc rc = team_cron_parse(x->cron, &f.cron, err);
    if (!rc)
        rc = team_schedule_policy_parse(x->catch_up, &f.policy, err);
    if (!rc)
        rc = team_zone_open(x->zone, &f.zone, err);
    if (!rc)
        *out = f;
    return rc;
}

void team_fire_plan_close(struct team_fire_plan *f)
{
    team_zone_close(f->zone);
    f->zone = NULL;
}

struct team_civil team_fire_clock(const struct team_fire_plan *f, int64_t planned)
{
    int64_t t = team_civil_floor(planned, CLOCK_SECOND);
    return team_civil_of(t + team_zone_at(f->zone, t).offset);
}

/* A schedule that is deleted and made again is another one: it has another birthday. */
static void token_of(const struct store_schedule *x, int64_t planned,
                     char out[SHA256_TEXT_SIZE])
{
    struct sha256 h;
    char *text =
        mem_printf("%s/%jd/%jd", x->name, (intmax_t)x->created, (intmax_t)planned);
    sha256_init(&h);
    sha256_add(&h, text, strlen(text));
    sha256_text(&h, out);
    mem_free(text);
}

static struct node *text_node(struct arena *a, const char *text)
{
    return node_str(a, text, strlen(text), (struct span){0});
}

/* What every run of a schedule gets: name, project, token, a label to find it by. */
static void mark(const struct team_fire_plan *f, int64_t planned, struct job_spec *s)
{
    char token[SHA256_TEXT_SIZE];
    struct arena *a = &s->conf.doc.arena;
    struct node *root = s->conf.doc.root, *labels = node_find(root, "label");
    token_of(f->x, planned, token);
    job_spec_put(s, "client_token", token);
    if (!s->s->has_name)
        job_spec_put(s, "name", f->x->name);
    if (*f->x->project)
        job_spec_put(s, "project", f->x->project);
    if (!labels) {
        labels = node_create(a, NODE_MAP, (struct span){0});
        node_put(a, root, "label", labels);
    }
    node_put(a, labels, "schedule", text_node(a, f->x->name));
}

enum rc team_fire_spec(const struct team_fire_plan *f, int64_t planned,
                       struct job_spec *out, struct err *err)
{
    struct arena a = {0};
    struct job_spec s = {0};
    struct team_dates_param *params = NULL;
    struct team_dates d = {.at = team_fire_clock(f, planned)};
    struct buf b;
    enum rc rc = team_spec_dates_params(f->x->params, &a, &params, &d.n, err);
    d.params = params;
    if (!rc)
        rc = team_spec_dates_fill(f->x->spec, &d, &s, err);
    arena_release(&a);
    if (rc)
        return rc;
    mark(f, planned, &s);
    buf_init(&b, 16 << 20);
    job_spec_print(&s, &b);
    job_spec_release(&s);
    rc = buf_check(&b, err);
    if (!rc) {
        rc = job_spec_from_json(buf_str(&b), out, err);
        if (rc)
            job_spec_release(out);
    }
    buf_release(&b);
    return rc;
}
