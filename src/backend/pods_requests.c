/* SPDX-License-Identifier: Apache-2.0 */
/* The Job comes first, for the other objects belong to it by its uid; a pod that is stopped gets
 * a deadline that is over, which leaves it there with its output and its exit status.
 */
#include "backend/pods_requests.h"

#include <stdio.h>
#include <string.h>

#include "backend/pods_objects.h"
#include "backend/pods_words.h"
#include "base/mem.h"

#define UID_MAX 63

static char *path_of(const struct kube_client *c, const char *group, const char *kind,
                     const char *name)
{
    return mem_printf("%s/namespaces/%s/%s/%s", group, kube_client_config(c)->ns, kind,
                      name);
}

/* The JSON with the Job's uid in its place. */
static char *with_uid(const char *json, const char *uid)
{
    const char *at = strstr(json, PODS_UID);
    if (!at)
        return mem_strdup(json);
    return mem_printf("%.*s%s%s", (int)(at - json), json, uid, at + strlen(PODS_UID));
}

static enum rc apply(struct kube_client *c, const char *group, const char *kind,
                     const char *name, const char *json, char **uid, struct err *err)
{
    char *path = path_of(c, group, kind, name);
    struct kube_reply r;
    enum rc rc = kube_client_apply(c, path, json, &r, err);
    const char *is = node_get_text(node_get_map(r.object, "metadata"), "uid", NULL);
    if (!rc && uid &&
        (!is || strlen(is) > UID_MAX || strspn(is, "0123456789abcdef-") != strlen(is)))
        rc = err_set(err, RC_CANCELED, "the API server made a Job without a uid");
    if (!rc && uid)
        *uid = mem_strdup(is);
    kube_reply_release(&r);
    mem_free(path);
    return rc;
}

static enum rc apply_part(struct kube_client *c, const char *kind, const char *name,
                          const char *json, const char *uid, struct err *err)
{
    char *text = with_uid(json, uid);
    enum rc rc = apply(c, "/api/v1", kind, name, text, NULL, err);
    mem_free(text);
    return rc ? err_wrap(err, rc, "its %s", kind) : rc;
}

enum rc pods_request_submit(struct kube_client *c, const struct pods_objects *o,
                            char **uid, enum job_reason *why, struct err *err)
{
    char *is = NULL;
    enum rc rc = apply(c, "/apis/batch/v1", "jobs", o->name, o->job, &is, err);
    bool made = rc == RC_OK;
    if (!rc && o->service)
        rc = apply_part(c, "services", o->name, o->service, is, err);
    if (!rc)
        rc = apply_part(c, "secrets", o->name, o->secret, is, err);
    if (!rc) {
        *uid = is;
        return RC_OK;
    }
    mem_free(is);
    *why = strstr(err->msg, "exceeded quota") ? WHY_QuotaExceeded : WHY_Rejected;
    if (made && rc != RC_CANCELED) {
        enum rc again = pods_request_delete(c, o->name, NULL);
        (void)again; /* it is deleted with the job */
    }
    return rc;
}

/* What is not there needs nothing. */
static enum rc ask(struct kube_client *c, const struct kube_call *q, struct err *err)
{
    struct kube_reply r;
    enum rc rc = kube_client_call(c, q, &r, err);
    if (r.status == 404 || r.status == 410)
        rc = RC_OK;
    kube_reply_release(&r);
    return rc;
}

enum rc pods_request_stop(struct kube_client *c, const char *pod, struct err *err)
{
    char *path = path_of(c, "/api/v1", "pods", pod);
    struct kube_call q = {.method = "PATCH",
                          .path = path,
                          .type = "application/merge-patch+json",
                          .body = "{\"spec\":{\"activeDeadlineSeconds\":1}}"};
    enum rc rc = ask(c, &q, err);
    mem_free(path);
    return rc;
}

static enum rc delete_object(struct kube_client *c, char *path, const char *body,
                             struct err *err)
{
    struct kube_call q = {.method = "DELETE", .path = path, .body = body};
    enum rc rc = ask(c, &q, err);
    mem_free(path);
    return rc;
}

enum rc pods_request_kill(struct kube_client *c, const char *pod, int grace_s,
                          struct err *err)
{
    char body[64];
    snprintf(body, sizeof(body), "{\"gracePeriodSeconds\":%d}", grace_s);
    return delete_object(c, path_of(c, "/api/v1", "pods", pod), body, err);
}

enum rc pods_request_delete(struct kube_client *c, const char *job, struct err *err)
{
    return delete_object(c, path_of(c, "/apis/batch/v1", "jobs", job),
                         "{\"propagationPolicy\":\"Background\"}", err);
}

/* All of a kind that have the job's label. */
static enum rc list(struct kube_client *c, const char *group, const char *kind,
                    const char *id, struct kube_reply *r, struct err *err)
{
    char *path = mem_printf("%s/namespaces/%s/%s?labelSelector=trainyard.io%%2Fjob%%3D%s",
                            group, kube_client_config(c)->ns, kind, id);
    struct kube_call q = {.method = "GET", .path = path};
    enum rc rc = kube_client_call(c, &q, r, err);
    mem_free(path);
    return rc;
}

/* "ID-ATTEMPT-WORKER-LIFE" is of one worker alone. */
static bool is_of_worker(const char *name, const char *id, int64_t worker)
{
    int64_t v[3] = {-1, -1, -1};
    struct str rest = str_c(name + strlen(id)), part;
    size_t n = 0;
    if (!str_split(&rest, '-', &part))
        return false;
    while (n < 3 && str_split(&rest, '-', &part) && str_to_i64(part, &v[n]))
        n++;
    return n == 3 && v[1] == worker;
}

static enum rc delete_jobs(struct kube_client *c, const char *id, int64_t worker,
                           struct err *err)
{
    struct kube_reply r;
    enum rc rc = list(c, "/apis/batch/v1", "jobs", id, &r, err);
    const struct node *items = rc ? NULL : node_get_list(r.object, "items");
    for (size_t i = 0; items && i < items->list.n && !rc; i++) {
        const struct node *meta = node_get_map(items->list.at[i], "metadata");
        const char *name = node_get_text(meta, "name", "");
        if (node_get_text(meta, "deletionTimestamp", NULL) || !str_starts(name, id))
            continue;
        if (worker < 0 || is_of_worker(name, id, worker))
            rc = pods_request_delete(c, name, err);
    }
    kube_reply_release(&r);
    return rc;
}

/* One that has ended needs no time. */
static enum rc delete_pods(struct kube_client *c, const char *id, int64_t worker,
                           int grace_s, size_t *left, struct err *err)
{
    struct kube_reply r;
    enum rc rc = list(c, "/api/v1", "pods", id, &r, err);
    const struct node *items = rc ? NULL : node_get_list(r.object, "items");
    *left = 0;
    for (size_t i = 0; items && i < items->list.n && !rc; i++) {
        struct pods_pod p;
        if (!pods_pod_read(items->list.at[i], &p) || (worker >= 0 && p.worker != worker))
            continue;
        ++*left;
        rc = pods_request_kill(c, p.name, p.state == PODS_ENDED ? 0 : grace_s, err);
    }
    kube_reply_release(&r);
    return rc;
}

enum rc pods_request_remove(struct kube_client *c, const char *id, int64_t worker,
                            int grace_s, size_t *left, struct err *err)
{
    enum rc rc = delete_jobs(c, id, worker, err);
    return rc ? rc : delete_pods(c, id, worker, grace_s, left, err);
}
