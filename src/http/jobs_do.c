/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting and controlling jobs.
 *
 * A job that came over the network names no files of this machine: its code is a snapshot
 * that was sent, its inputs are datasets, its secrets come with the request and are kept
 * nowhere but in the job's own 0600 file. It inherits the server's PATH and the like, and
 * nothing else of its environment.
 */
#include <string.h>

#include "backend/agent.h"
#include "backend/capacity.h"
#include "backend/why.h"
#include "base/mem.h"
#include "base/vec.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "job/submit.h"
#include "text/json.h"

static enum rc no_path(struct err *err, const char *field, const char *value,
                       const char *what)
{
    return err_coded(err, RC_INVAL, E5015, "'%s': '%.100s' %s", field, value, what);
}

static bool is_dataset(const char *uri)
{
    return str_starts(uri, "dataset:") || str_starts(uri, "pai://datasets/");
}

/* Nothing of this machine by path. */
static enum rc check_paths(const struct spec *s, struct err *err)
{
    const struct jobspec_JobSpec *j = s->s;
    if (j->has_workdir)
        return no_path(err, "workdir", j->workdir, "is set by the server");
    if (j->inherit)
        return no_path(err, "inherit", "true", "would hand out the server's environment");
    if (j->has_source && !str_starts(j->source, SNAPSHOT_PREFIX))
        return no_path(err, "source", j->source,
                       "is a path; send a snapshot and name it snapshot:ID");
    for (int64_t i = 0; i < j->n_input; i++)
        if (!is_dataset(j->input[i].value))
            return no_path(err, "input", j->input[i].value,
                           "is a path; name a dataset: dataset:NAME");
    for (int64_t i = 0; i < j->n_output; i++)
        if (!is_dataset(j->output[i].value))
            return no_path(err, "output", j->output[i].value,
                           "is a path; name a dataset: dataset:NAME");
    for (int64_t i = 0; i < j->n_data; i++)
        if (j->data[i][0] == '/')
            return no_path(err, "data", j->data[i], "is a path; name a dataset");
    for (int64_t i = 0; i < j->n_secret; i++)
        if (strstr(j->secret[i], "=file:"))
            return no_path(err, "secret", j->secret[i],
                           "is a file of the server; give it in secret_values");
    return RC_OK;
}

/* The environment that the job is submitted with: the server's, which only PATH and its
 * like are taken of, and the secrets of the request.
 */
typedef VEC(const char *) env_list;

static enum rc make_env(struct call *c, const struct node *secrets, env_list *out,
                        struct err *err)
{
    for (const char *const *e = c->api->o.env; e && *e; e++)
        if (strncmp(*e, "TRAINYARD_", 10) != 0)
            VEC_PUSH(out, *e);
    for (size_t i = 0; secrets && i < secrets->map.n; i++) {
        const struct node_entry *e = &secrets->map.at[i];
        if (e->value->kind != NODE_STR || !e->key.n || memchr(e->key.p, '=', e->key.n))
            return err_coded(err, RC_INVAL, E5006,
                             "'secret_values': a map of names and texts");
        VEC_PUSH(out, arena_printf(&c->arena, "%.*s=%s", (int)e->key.n, e->key.p,
                                   e->value->text.p));
    }
    VEC_PUSH(out, NULL);
    return RC_OK;
}

/* Secrets must be among those of the request: the server's own variables are not theirs.
 */
static enum rc check_secrets(const struct spec *s, const struct node *secrets,
                             struct err *err)
{
    for (int64_t i = 0; i < s->s->n_secret; i++) {
        const char *text = s->s->secret[i], *eq = strchr(text, '=');
        const char *from = eq && str_starts(eq + 1, "env:") ? eq + 5 : text;
        if (!secrets || !node_find(secrets, from))
            return err_coded(err, RC_INVAL, E5015,
                             "'secret': '%.100s' has no value in secret_values", from);
    }
    return RC_OK;
}

static enum rc submit(struct call *c, struct spec *spec, const struct node *secrets,
                      struct submit_result *r, struct err *err)
{
    env_list env = {0};
    struct queue_need need = {spec->total_cpu, spec->total_mem, spec->total_gpu};
    enum rc rc = RC_OK;
    if (spec->s->has_project && !call_in_project(c, spec->s->project))
        return call_forbid(c, err, "'project': you are no member of '%.100s'",
                           spec->s->project);
    if (!spec->s->has_source) /* a working directory of its own */
        spec_put(spec, "source", c->api->empty_snapshot);
    rc = agent_check(&c->place, c->api->o.slots, &need, err);
    if (!rc)
        rc = make_env(c, secrets, &env, err);
    if (!rc)
        rc = spec_again(spec, err);
    if (!rc)
        rc = submit_job(&c->place, spec, env.at, c->api->empty, r, err);
    VEC_RELEASE(&env);
    if (!rc) {
        c->api->submitted += !r->existed;
        keeper_poke(c->api->keeper);
    }
    return rc;
}

static enum rc answer_job(struct call *c, const struct submit_result *r, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(c->place.store, r->id, &jobs, err);
    if (rc)
        return rc;
    c->status = r->existed ? 200 : 201;
    c->location = arena_printf(&c->arena, "/api/v1/jobs/%s", r->id);
    call_put_job(c, NULL, &jobs.at[0]);
    store_jobs_release(&jobs);
    return RC_OK;
}

/* The body without secret_values, as a specification; all that is wrong with it goes to
 * the answer.
 */
static enum rc read_spec(struct call *c, struct spec *spec, struct err *err)
{
    struct buf text;
    buf_init(&text, c->raw.max * 2);
    json_print(c->body, 0, &text);
    enum rc rc = buf_check(&text, err);
    c->problems = mem_calloc(1, sizeof(*c->problems));
    if (!rc)
        rc = spec_parse(buf_str(&text), text.n, spec, c->problems, err);
    if (rc && c->problems->list.n) {
        c->status = 422;
        err_coded(err, rc, c->problems->list.at[0].code, "the job: %.400s",
                  c->problems->list.at[0].msg);
    }
    buf_release(&text);
    return rc;
}

enum rc create_job(struct call *c, struct err *err)
{
    struct spec spec = {0};
    struct submit_result r = {.existed = false};
    const struct node *secrets = node_find(c->body, "secret_values");
    if (secrets && secrets->kind != NODE_MAP)
        return err_coded(err, RC_INVAL, E5006, "'secret_values': not an object");
    node_remove(c->body, "secret_values");
    enum rc rc = read_spec(c, &spec, err);
    if (!rc)
        rc = check_paths(&spec, err);
    if (!rc)
        rc = check_secrets(&spec, secrets, err);
    if (!rc)
        rc = submit(c, &spec, secrets, &r, err);
    if (!rc)
        rc = answer_job(c, &r, err);
    /* The problems point into the specification. */
    if (rc)
        api_fail(c, rc, err);
    if (c->problems)
        diags_release(c->problems);
    mem_free(c->problems);
    c->problems = NULL;
    spec_release(&spec);
    return RC_OK;
}

enum rc rerun_job(struct call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct spec spec = {0};
    struct submit_result r = {.existed = false};
    char *text = NULL;
    enum rc rc = call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    if (!rc)
        rc = store_spec(c->place.store, c->params[0], &text, err);
    if (!rc)
        rc = spec_from_json(text, &spec, err);
    if (!rc) {
        node_remove(spec.conf.doc.root, "client_token"); /* it would be the old job */
        node_remove(spec.conf.doc.root, "workdir");
        rc = spec_again(&spec, err);
    }
    if (!rc)
        rc = check_paths(&spec, err);
    if (!rc)
        rc = check_secrets(&spec, NULL, err);
    if (!rc)
        rc = submit(c, &spec, NULL, &r, err);
    if (!rc)
        rc = answer_job(c, &r, err);
    spec_release(&spec);
    mem_free(text);
    return rc;
}

static enum rc answer_request(struct call *c, enum rc rc, const struct request_result *r)
{
    if (rc)
        return rc;
    if (r->alone)
        keeper_poke(c->api->keeper);
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "id", c->params[0]);
    json_put_str(&c->json, "state", job_state_name(r->state));
    json_put_bool(&c->json, "ended", r->ended);
    json_close(&c->json, '}');
    return RC_OK;
}

static enum rc may_control(struct call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = call_job(c, &jobs, err);
    store_jobs_release(&jobs);
    return rc;
}

enum rc stop_job(struct call *c, struct err *err)
{
    struct request_result r;
    enum rc rc = may_control(c, err);
    if (!rc)
        rc = request_stop(&c->place, c->params[0], schema_bool(c->body, "force", false),
                          &r, err);
    return answer_request(c, rc, &r);
}

enum rc suspend_job(struct call *c, struct err *err)
{
    struct request_result r;
    enum rc rc = may_control(c, err);
    if (!rc)
        rc = request_suspend(&c->place, c->params[0], &r, err);
    return answer_request(c, rc, &r);
}

enum rc resume_job(struct call *c, struct err *err)
{
    struct request_result r;
    enum rc rc = may_control(c, err);
    if (!rc)
        rc = request_resume(&c->place, c->params[0], &r, err);
    return answer_request(c, rc, &r);
}

enum rc why_job(struct call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct buf text;
    enum rc rc = call_job(c, &jobs, err);
    if (rc)
        return rc;
    buf_init(&text, 4096);
    rc = why_say(&c->place, c->api->o.slots, &jobs.at[0], &text, err);
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
