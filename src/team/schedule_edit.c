/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules are made, paused, looked at and deleted; what is due is fire.c's business. A new
 * one is tried: its job, as the first run would submit it, must have a command, datasets that
 * are there and a machine that it fits on, so that it is refused now and not at night. Which
 * server has its files is written into its row.
 */
#include <string.h>

#include "backend/agent.h"
#include "base/mem.h"
#include "job/remove.h"
#include "job/snapshot.h"
#include "store/store.h"
#include "team/fire.h"
#include "team/fire_private.h"
#include "team/schedule_secrets.h"
#include "text/job/job.h"

enum rc team_fire_unknown(enum rc rc, const char *name, struct err *err)
{
    return rc == RC_NOTFOUND ? err_coded(err, rc, E5103, "no schedule '%.128s'", name)
                             : rc;
}

/* Its code or an input was sent to a server, and lies below its directory. */
static bool has_files(const struct job_spec *s)
{
    bool any = s->s->has_source && str_starts(s->s->source, SNAPSHOT_PREFIX) &&
               !job_snapshot_is_empty(s->s->source + strlen(SNAPSHOT_PREFIX));
    for (int64_t i = 0; i < s->s->n_input && !any; i++)
        any = str_starts(s->s->input[i].value, SNAPSHOT_PREFIX);
    return any;
}

static enum rc check_dataset(const struct job_place *p, struct str name, struct err *err)
{
    struct store_datasets l = {0};
    char *text = mem_strndup(name.p, name.n);
    enum rc rc = store_dataset_get(p->store, text, &l, err);
    store_datasets_release(&l);
    mem_free(text);
    return rc;
}

/* Datasets by name, with dates filled in: those of the first run. */
static enum rc check_datasets(const struct job_place *p, const struct job_spec *s,
                              struct err *err)
{
    static const char prefix[] = "dataset:";
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < s->s->n_input && !rc; i++)
        if (str_starts(s->s->input[i].value, prefix)) {
            rc = check_dataset(p, str_c(s->s->input[i].value + strlen(prefix)), err);
            rc = rc ? err_wrap(err, rc, "input '%.100s'", s->s->input[i].key) : RC_OK;
        }
    for (int64_t i = 0; i < s->s->n_data && !rc; i++) {
        const char *d = s->s->data[i];
        if (d[0] != '/' && !strstr(d, "://"))
            rc = check_dataset(p, str_of(d, strcspn(d, ":")), err);
    }
    return rc;
}

/* A job that could never be submitted is refused now, not at night. */
static enum rc try_spec(const struct job_place *p, const struct team_fire_plan *f,
                        int64_t planned, bool *files, struct err *err)
{
    struct job_spec s;
    enum rc rc = team_fire_spec(f, planned, &s, err);
    if (rc)
        return rc;
    if (!s.shell && !s.argv)
        rc = err_coded(err, RC_INVAL, E3001, "the job has no command");
    if (!rc)
        rc = check_datasets(p, &s, err);
    if (!rc)
        rc = backend_agent_check(p, NULL, &s, err);
    *files = has_files(&s);
    job_spec_release(&s);
    return rc;
}

static enum rc write_schedule(const struct job_place *p, const struct store_schedule *x,
                              const char *const *secrets, struct err *err)
{
    enum rc rc = team_schedule_secrets_keep(p, x, secrets, err);
    if (!rc)
        rc = store_schedule_create(p->store, x, err);
    if (rc)
        team_schedule_secrets_forget(p, x);
    if (rc == RC_INVAL && err && err->code == E3110)
        err->code = E5104;
    return rc;
}

/* Checks all of it, and sets `next`. */
static enum rc prepare(const struct job_place *p, struct store_schedule *x, int64_t now,
                       bool *files, struct err *err)
{
    struct team_fire_plan f;
    const char *wrong = NULL;
    if (*x->project && (wrong = jobspec_check_name(str_c(x->project))))
        return err_coded(err, RC_INVAL, E5105, "project '%.100s': %s", x->project, wrong);
    enum rc rc = team_fire_plan_open(x, &f, err);
    if (rc)
        return rc;
    x->next = team_schedule_next(&f.cron, f.zone, now);
    if (!x->next)
        rc =
            err_coded(err, RC_INVAL, E5101, "cron line '%.80s' never comes due", x->cron);
    else
        rc = try_spec(p, &f, x->next, files, err);
    team_fire_plan_close(&f);
    return rc;
}

/* The machine that alone can run it, for its files or secrets. */
static const char *node_of(const struct job_place *p, bool files,
                           const char *const *secrets)
{
    bool kept = (files && !p->artifacts) || (secrets && secrets[0]);
    return kept && p->node ? p->node : "";
}

enum rc team_schedule_create(const struct job_place *p, struct store_schedule *x,
                             const char *const *secrets, int64_t now, struct err *err)
{
    bool files = false;
    const char *wrong = jobspec_check_name(str_c(x->name));
    if (wrong)
        return err_coded(err, RC_INVAL, E5105, "name '%.100s': %s", x->name, wrong);
    x->created = now;
    enum rc rc = prepare(p, x, now, &files, err);
    x->node = node_of(p, files, secrets);
    return rc ? rc : write_schedule(p, x, secrets, err);
}

/* Puts what changes into the row; *text is the caller's. */
static void overlay(const struct team_schedule_change *c, struct store_schedule *x,
                    char **text)
{
    size_t word = strcspn(x->catch_up, " ");
    const char *overlap = x->catch_up[word] ? x->catch_up + word + 1 : "skip";
    *text = c->catch_up
                ? mem_printf("%s %s", c->catch_up, c->overlap ? c->overlap : overlap)
                : mem_printf("%.*s %s", (int)word, x->catch_up,
                             c->overlap ? c->overlap : overlap);
    x->catch_up = *text;
    x->cron = c->cron ? c->cron : x->cron;
    x->zone = c->zone ? c->zone : x->zone;
    x->params = c->params ? c->params : x->params;
    x->spec = c->spec ? c->spec : x->spec;
    x->project = c->spec ? c->project : x->project;
}

/* A new job brings its own secrets; those of the old one go. */
static enum rc change_secrets(const struct job_place *p, const struct store_schedule *x,
                              const char *const *secrets, struct err *err)
{
    team_schedule_secrets_forget(p, x);
    return team_schedule_secrets_keep(p, x, secrets, err);
}

enum rc team_schedule_update(const struct job_place *p, const char *name,
                             const struct team_schedule_change *change,
                             const char *const *secrets, int64_t now, struct err *err)
{
    struct store_schedules l = {0};
    char *text = NULL;
    bool files = false;
    enum rc rc = team_schedule_get(p, name, &l, err);
    if (rc)
        return rc;
    struct store_schedule *x = &l.at[0], old = *x;
    overlay(change, x, &text);
    rc = !change->created || x->created == change->created
             ? prepare(p, x, now, &files, err)
             : team_fire_unknown(RC_NOTFOUND, name, err);
    if (!rc && change->spec) {
        x->node = node_of(p, files, secrets);
        rc = change_secrets(p, x, secrets, err);
    }
    if (!rc)
        rc = store_schedule_update(p->store, x, err);
    if (!rc && change->spec)
        job_collect_let_go_spec(p, old.owner, old.spec);
    mem_free(text);
    store_schedules_release(&l);
    return rc;
}

enum rc team_schedule_get(const struct job_place *p, const char *name,
                          struct store_schedules *out, struct err *err)
{
    return team_fire_unknown(store_schedule_get(p->store, name, out, err), name, err);
}

enum rc team_schedule_delete(const struct job_place *p, const char *name, struct err *err)
{
    struct store_schedules l = {0};
    enum rc rc = team_schedule_get(p, name, &l, err);
    if (!rc)
        rc = team_fire_unknown(store_schedule_delete(p->store, name, err), name, err);
    if (!rc) {
        team_schedule_secrets_forget(p, &l.at[0]);
        job_collect_let_go_spec(p, l.at[0].owner, l.at[0].spec);
    }
    store_schedules_release(&l);
    return rc;
}

enum rc team_schedule_pause(const struct job_place *p, const char *name, bool paused,
                            int64_t now, struct err *err)
{
    struct store_schedules l = {0};
    struct team_fire_plan f;
    enum rc rc = team_schedule_get(p, name, &l, err);
    if (rc)
        return rc;
    struct store_schedule *x = &l.at[0];
    if (x->paused != paused) {
        rc = team_fire_plan_open(x, &f, err);
        if (!rc) {
            x->paused = paused;
            x->next = team_schedule_next(&f.cron, f.zone, now);
            rc = store_schedule_update(p->store, x, err);
            team_fire_plan_close(&f);
        }
    }
    store_schedules_release(&l);
    return rc;
}

enum rc team_schedule_clock(const struct store_schedule *x, int64_t planned,
                            struct team_civil *out, struct err *err)
{
    struct team_fire_plan f;
    enum rc rc = team_fire_plan_open(x, &f, err);
    if (rc)
        return rc;
    *out = team_fire_clock(&f, planned);
    team_fire_plan_close(&f);
    return RC_OK;
}
