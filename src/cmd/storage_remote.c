/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/storage_ops.h"

static enum rc storage_call(const struct cmd_place *p, const char *method,
                            const char *path, const char *body, struct doc *doc,
                            struct err *err)
{
    struct remote_ask q = {.method = method,
                           .path = path,
                           .type = body ? "application/json" : NULL,
                           .body = body,
                           .n = body ? strlen(body) : 0};
    return remote_call(&p->remote, &q, doc, NULL, err);
}

static void storage_done(struct doc *doc)
{
    if (doc->src)
        doc_release(doc);
}

static enum rc storage_delete_remote(const struct cmd_place *p, const char *id,
                                     struct err *err)
{
    if (!job_id_ok(id))
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    char *path = mem_printf("/api/v1/jobs/%s", id);
    enum rc rc = storage_call(p, "DELETE", path, NULL, NULL, err);
    mem_free(path);
    return rc;
}

static enum rc storage_report_remote(const struct cmd_place *p, bool by_project,
                                     struct job_report *out, struct err *err)
{
    struct doc doc = {0};
    struct job_report r = {.here_bytes = 0};
    enum rc rc = storage_call(
        p, "GET", by_project ? "/api/v1/storage?by=project" : "/api/v1/storage", NULL,
        &doc, err);
    const struct node *use = rc ? NULL : node_find(doc.root, "use");
    for (size_t i = 0; use && use->kind == NODE_LIST && i < use->list.n; i++) {
        const struct node *n = use->list.at[i];
        struct job_report_row row = {
            .name = arena_strdup(&r.arena, node_get_text(n, "name", "")),
            .jobs = node_get_int(n, "jobs", 0),
            .job_bytes = node_get_int(n, "job_bytes", 0),
            .models = node_get_int(n, "models", 0),
            .stored_bytes = node_get_int(n, "stored_bytes", 0),
            .experiments = node_get_int(n, "experiments", 0),
            .experiment_bytes = node_get_int(n, "experiment_bytes", 0)};
        VEC_PUSH(&r.rows, row);
    }
    if (!rc) {
        r.disk = (struct job_space){.total = node_get_int(doc.root, "total", 0),
                                    .free = node_get_int(doc.root, "free", 0),
                                    .min_free = node_get_int(doc.root, "min_free", 0)};
        r.here_bytes = node_get_int(doc.root, "here_bytes", 0);
        *out = r;
    }
    storage_done(&doc);
    return rc;
}

static enum rc storage_collect_remote(const struct cmd_place *p, int64_t young_s,
                                      bool dry, struct job_removed *out, struct err *err)
{
    struct doc doc = {0};
    char *body = mem_printf("{\"dry_run\": %s, \"older_than_s\": %jd}",
                            dry ? "true" : "false", (intmax_t)young_s);
    enum rc rc = storage_call(p, "POST", "/api/v1/storage/collect", body, &doc, err);
    if (!rc)
        *out = (struct job_removed){
            .jobs = node_get_int(doc.root, "jobs", 0),
            .job_bytes = node_get_int(doc.root, "job_bytes", 0),
            .objects = node_get_int(doc.root, "objects", 0),
            .object_bytes = node_get_int(doc.root, "object_bytes", 0),
            .orphans = node_get_int(doc.root, "orphans", 0),
            .experiments = node_get_int(doc.root, "experiments", 0),
            .experiment_bytes = node_get_int(doc.root, "experiment_bytes", 0)};
    storage_done(&doc);
    mem_free(body);
    return rc;
}

static enum rc retention_put_remote(const struct cmd_place *p,
                                    const struct store_retention *x, struct err *err)
{
    char *body = mem_printf("{\"age_s\": %jd, \"jobs\": %jd, \"bytes\": %jd}",
                            (intmax_t)x->age_s, (intmax_t)x->jobs, (intmax_t)x->bytes);
    char *path = mem_printf("/api/v1/retention/%s", x->name);
    enum rc rc = storage_call(p, "PUT", path, body, NULL, err);
    mem_free(path);
    mem_free(body);
    return rc;
}

static enum rc retention_get_remote(const struct cmd_place *p,
                                    struct store_retentions *out, struct err *err)
{
    struct doc doc = {0};
    struct store_retentions l = {0};
    enum rc rc = storage_call(p, "GET", "/api/v1/retention", NULL, &doc, err);
    const struct node *list = rc ? NULL : node_find(doc.root, "policies");
    size_t n = list && list->kind == NODE_LIST ? list->list.n : 0;
    l.at = arena_alloc(&l.arena, (n + 1) * sizeof(*l.at));
    for (size_t i = 0; i < n; i++) {
        const struct node *x = list->list.at[i];
        l.at[l.n++] = (struct store_retention){
            .name = arena_strdup(&l.arena, node_get_text(x, "name", "")),
            .age_s = node_get_int(x, "age_s", -1),
            .jobs = node_get_int(x, "jobs", -1),
            .bytes = node_get_int(x, "bytes", -1)};
    }
    storage_done(&doc);
    if (rc)
        store_retentions_release(&l);
    else
        *out = l;
    return rc;
}

static enum rc retention_delete_remote(const struct cmd_place *p, const char *name,
                                       struct err *err)
{
    char *path = mem_printf("/api/v1/retention/%s", name);
    enum rc rc = storage_call(p, "DELETE", path, NULL, NULL, err);
    mem_free(path);
    return rc;
}

const struct storage_ops storage_ops_remote = {
    .delete_job = storage_delete_remote,
    .report = storage_report_remote,
    .collect = storage_collect_remote,
    .retention_put = retention_put_remote,
    .retention_get = retention_get_remote,
    .retention_delete = retention_delete_remote,
};
