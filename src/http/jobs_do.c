/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting and controlling jobs. Secrets of a job are kept nowhere but in its own 0600
 * file; it inherits the server's PATH and the like, and nothing else of its environment.
 */
#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "backend/why.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "http/job_body.h"
#include "job/artifacts.h"
#include "job/remove.h"
#include "job/submit.h"

/* The environment that the job is submitted with is the server's, of which only PATH and
 * its like are taken; the secrets of a request are never in it, so they reach no helper.
 */
static enum rc jobs_do_submit(struct http_call *c, struct job_spec *spec,
                              const char *const *secrets, struct job_submit_result *r,
                              struct err *err)
{
    static const char *const none[] = {NULL};
    enum rc rc = backend_agent_check(&c->place, c->api->o.slots, spec, err);
    if (!rc)
        rc = job_submit_with(&c->place, spec, c->api->job_env, secrets ? secrets : none,
                             c->api->empty, r, err);
    if (!rc) {
        c->api->submitted += !r->existed;
        backend_watchdog_poke(c->api->watchdog);
    }
    return rc;
}

static enum rc answer_job(struct http_call *c, const struct job_submit_result *r,
                          struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(c->place.store, r->id, &jobs, err);
    if (rc)
        return rc;
    c->status = r->existed ? 200 : 201;
    c->location = arena_printf(&c->arena, "/api/v1/jobs/%s", r->id);
    http_call_put_job(c, NULL, &jobs.at[0]);
    store_jobs_release(&jobs);
    return RC_OK;
}

/* What was sent for a job that is refused may go when its owner needs the room. */
static void let_files_go(const struct http_call *c)
{
    char *text = mem_strndup(c->raw.p ? c->raw.p : "", c->raw.n);
    job_collect_let_go_spec(&c->place, c->place.owner, text);
    mem_free(text);
}

enum rc http_create_job(struct http_call *c, struct err *err)
{
    struct job_spec spec = {0};
    struct job_submit_result r = {.existed = false};
    const struct node *secrets = NULL;
    const char *const *values = NULL;
    enum rc rc = http_job_body_secrets(c, c->body, &secrets, &values, err);
    if (rc)
        return rc;
    rc = http_job_body_read(c, c->body, secrets, &spec, err);
    if (!rc)
        rc = jobs_do_submit(c, &spec, values, &r, err);
    if (rc)
        let_files_go(c);
    else
        rc = answer_job(c, &r, err);
    return http_job_body_end(c, &spec, rc, err);
}

/* The files of a job that another member of its project submitted become the caller's. */
static enum rc share_files(struct http_call *c, const struct job_spec *spec,
                           const char *owner, struct err *err)
{
    const char *own = c->place.owner;
    const size_t skip = strlen(SNAPSHOT_PREFIX);
    enum rc rc = RC_OK;
    if (spec->s->has_source && str_starts(spec->s->source, SNAPSHOT_PREFIX))
        rc = job_artifacts_share(&c->place, owner, own, spec->s->source + skip, err);
    for (int64_t i = 0; i < spec->s->n_input && !rc; i++) {
        const char *uri = spec->s->input[i].value;
        if (!str_starts(uri, SNAPSHOT_PREFIX))
            continue;
        char *id = mem_strndup(uri + skip, strcspn(uri + skip, "/"));
        rc = job_artifacts_share(&c->place, owner, own, id, err);
        mem_free(id);
    }
    return rc;
}

/* Secrets are kept with the job alone, so they are given anew. */
static enum rc check_rerun(const struct job_spec *spec, const char *id, struct err *err)
{
    struct buf flags;
    buf_init(&flags, 400);
    for (int64_t i = 0; i < spec->s->n_secret; i++)
        buf_printf(&flags, " --secret %.*s", (int)strcspn(spec->s->secret[i], "="),
                   spec->s->secret[i]);
    enum rc rc = RC_OK;
    if (spec->s->n_secret)
        rc = err_coded(err, RC_INVAL, E5015,
                       "job %.64s had secrets, which are not kept for another: submit it "
                       "again with%s",
                       id, buf_str(&flags));
    buf_release(&flags);
    return rc;
}

enum rc http_rerun_job(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct job_spec spec = {0};
    struct job_submit_result r = {.existed = false};
    char *text = NULL;
    bool elsewhere = false;
    /* Its code is at the server that has it, or in the store of artifacts for all. */
    enum rc rc = c->place.artifacts ? http_call_job(c, &jobs, err)
                                    : http_call_files(c, &jobs, &elsewhere, err);
    if (elsewhere) {
        store_jobs_release(&jobs);
        return rc;
    }
    if (!rc)
        rc = store_spec(c->place.store, c->params[0], &text, err);
    if (!rc)
        rc = job_spec_from_json(text, &spec, err);
    if (!rc)
        rc = check_rerun(&spec, c->params[0], err);
    http_call_unlock(c);
    if (!rc)
        rc = share_files(c, &spec, jobs.at[0].owner, err);
    http_call_lock(c);
    store_jobs_release(&jobs);
    if (!rc) {
        node_remove(spec.conf.doc.root, "client_token"); /* it would be the old job */
        node_remove(spec.conf.doc.root, "workdir");
        rc = job_spec_again(&spec, err);
    }
    if (!rc)
        rc = http_job_body_check(c, &spec, NULL, err);
    if (!rc)
        rc = jobs_do_submit(c, &spec, NULL, &r, err);
    if (!rc)
        rc = answer_job(c, &r, err);
    job_spec_release(&spec);
    mem_free(text);
    return rc;
}

static enum rc answer_request(struct http_call *c, enum rc rc,
                              const struct job_request_result *r)
{
    if (rc)
        return rc;
    if (r->alone)
        backend_watchdog_poke(c->api->watchdog);
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "id", c->params[0]);
    json_put_str(&c->json, "state", job_state_name(r->state));
    json_put_bool(&c->json, "ended", r->ended);
    json_close(&c->json, '}');
    return RC_OK;
}

static enum rc may_control(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = http_call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    return rc;
}

enum rc http_stop_job(struct http_call *c, struct err *err)
{
    struct job_request_result r;
    enum rc rc = may_control(c, err);
    if (!rc)
        rc = job_request_stop(&c->place, c->params[0],
                              http_schema_bool(c->body, "force", false), &r, err);
    return answer_request(c, rc, &r);
}

enum rc http_suspend_job(struct http_call *c, struct err *err)
{
    struct job_request_result r;
    enum rc rc = may_control(c, err);
    if (!rc)
        rc = job_request_suspend(&c->place, c->params[0], &r, err);
    return answer_request(c, rc, &r);
}

enum rc http_resume_job(struct http_call *c, struct err *err)
{
    struct job_request_result r;
    enum rc rc = may_control(c, err);
    if (!rc)
        rc = job_request_resume(&c->place, c->params[0], &r, err);
    return answer_request(c, rc, &r);
}

enum rc http_why_job(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct buf text;
    enum rc rc = http_call_job(c, &jobs, err);
    if (rc)
        return rc;
    buf_init(&text, 4096);
    rc = backend_why(&c->place, c->api->o.slots, &jobs.at[0], &text, err);
    if (!rc) {
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "id", jobs.at[0].id);
        json_put_str(&c->json, "state", jobs.at[0].state);
        json_put_str(&c->json, "why", buf_str(&text));
        json_close(&c->json, '}');
    }
    buf_release(&text);
    store_jobs_release(&jobs);
    return rc;
}
