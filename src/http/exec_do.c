/* SPDX-License-Identifier: Apache-2.0 */
/* Programs beside the workers of jobs: to start one, to read what it writes, to write to it.
 * Whoever may see a job may not do this: only its owner and admins, because the program
 * has all that the job has, its secrets too.
 */
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "http/api_private.h"
#include "http/execs.h"
#include "http/handlers.h"

#define OUTPUT_TYPE "application/octet-stream"

/* The worker lives on another machine: the server there has the program, too. */
static enum rc elsewhere(struct http_call *c, bool *is, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = http_call_files(c, &jobs, is, err);
    store_jobs_release(&jobs);
    return rc;
}

static enum rc check_job(struct http_call *c, const struct store_job *j, struct err *err)
{
    if (c->who.role != ROLE_ADMIN && strcmp(j->owner, c->who.name) != 0)
        return http_call_forbid(c, err, "only the owner of a job and admins may do that");
    if (strcmp(j->state, "Running") != 0)
        return err_coded(err, RC_INVAL, E3014,
                         "job %s is %s; programs can be run beside running workers only",
                         j->id, j->state);
    if (http_schema_int(c->body, "worker", 0) >= j->workers)
        return err_coded(err, RC_INVAL, E3015, "job %s has %jd workers, numbered from 0",
                         j->id, (intmax_t)j->workers);
    return RC_OK;
}

enum rc http_start_exec(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    VEC(const char *) argv = {0};
    char id[EXEC_ID_SIZE] = "";
    const struct node *words = node_find(c->body, "command");
    bool away = false;
    enum rc rc = http_call_files(c, &jobs, &away, err);
    if (away) {
        store_jobs_release(&jobs);
        return rc;
    }
    if (!rc)
        rc = check_job(c, &jobs.at[0], err);
    store_jobs_release(&jobs);
    if (!rc && !words->list.n)
        rc = err_coded(err, RC_INVAL, E5006, "'command': no words");
    for (size_t i = 0; !rc && i < words->list.n; i++)
        VEC_PUSH(&argv, words->list.at[i]->text.p);
    VEC_PUSH(&argv, NULL);
    struct http_exec_start s = {.place = &c->place,
                                .job = c->params[0],
                                .user = c->who.name,
                                .worker = http_schema_int(c->body, "worker", 0),
                                .argv = argv.at,
                                .terminal = http_schema_bool(c->body, "terminal", false),
                                .rows = http_schema_int(c->body, "rows", 24),
                                .columns = http_schema_int(c->body, "columns", 80),
                                .term = http_schema_text(c->body, "term", "")};
    if (!rc)
        rc = http_execs_start(c->api->execs, &s, id, err);
    if (rc && err->code == E5011)
        c->status = 429;
    VEC_RELEASE(&argv);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "session", id);
    json_close(&c->json, '}');
    return RC_OK;
}

enum rc http_read_exec(struct http_call *c, struct err *err)
{
    bool away = false;
    enum rc rc = elsewhere(c, &away, err);
    if (rc || away)
        return rc;
    c->type = OUTPUT_TYPE;
    return http_execs_read(c->api->execs, c->params[1], c->params[0], c->who.name,
                           http_schema_int(c->query, "after", 0), c->conn, &c->streaming,
                           err);
}

enum rc http_write_exec(struct http_call *c, struct err *err)
{
    int64_t taken = 0;
    struct http_exec_input in = {.data = c->raw.n ? c->raw.p : "",
                                 .n = c->raw.n,
                                 .at = http_schema_int(c->query, "at", 0),
                                 .end = http_schema_bool(c->query, "end", false),
                                 .rows = http_schema_int(c->query, "rows", 0),
                                 .columns = http_schema_int(c->query, "columns", 0)};
    bool away = false;
    enum rc rc = elsewhere(c, &away, err);
    if (rc || away)
        return rc;
    rc = http_execs_write(c->api->execs, c->params[1], c->params[0], c->who.name, &in,
                          &taken, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_put_int(&c->json, "taken", taken);
    json_close(&c->json, '}');
    return RC_OK;
}

enum rc http_stop_exec(struct http_call *c, struct err *err)
{
    bool away = false;
    enum rc rc = elsewhere(c, &away, err);
    if (rc || away)
        return rc;
    return http_execs_stop(c->api->execs, c->params[1], c->params[0], c->who.name, err);
}
