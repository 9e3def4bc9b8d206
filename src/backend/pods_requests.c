/* SPDX-License-Identifier: Apache-2.0 */
/* The object with the pods comes first, for the others belong to it by its uid; a pod that is stopped gets
 * a deadline that is over, which leaves it there with its output and its exit status.
 */
#include "backend/pods_requests.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend/pods_objects.h"
#include "backend/pods_words.h"
#include "base/mem.h"

#define UID_MAX 63
#define SEEN_TRIES 20 /* in ten seconds */

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
        rc = err_set(err, RC_CANCELED, "the API server made a %s without a uid", kind);
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

static enum rc delete_of(struct kube_client *c, const struct pods_row *r,
                         const char *resource, const char *name, struct err *err)
{
    char *group = pods_row_path(r);
    enum rc rc = delete_object(c, path_of(c, group, resource, name),
                               "{\"propagationPolicy\":\"Background\"}", err);
    mem_free(group);
    return rc;
}

enum rc pods_request_delete(struct kube_client *c, const struct pods_row *r,
                            const char *name, struct err *err)
{
    return delete_of(c, r, r->resource, name, err);
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

static enum rc delete_all(struct kube_client *c, const struct pods_row *row,
                          const char *resource, const char *id, int64_t worker,
                          struct err *err)
{
    struct kube_reply r;
    char *group = pods_row_path(row);
    enum rc rc = list(c, group, resource, id, &r, err);
    const struct node *items = rc ? NULL : node_get_list(r.object, "items");
    for (size_t i = 0; items && i < items->list.n && !rc; i++) {
        const struct node *meta = node_get_map(items->list.at[i], "metadata");
        const char *name = node_get_text(meta, "name", "");
        if (node_get_text(meta, "deletionTimestamp", NULL) || !str_starts(name, id))
            continue;
        if (worker < 0 || is_of_worker(name, id, worker))
            rc = delete_of(c, row, resource, name, err);
    }
    kube_reply_release(&r);
    mem_free(group);
    return rc == RC_NOTFOUND ? RC_OK : rc; /* a cluster without this kind has none */
}

/* Workers that started again alone are Jobs in every kind. */
static enum rc delete_objects(struct kube_client *c, const struct pods_row *r,
                              const char *id, int64_t worker, struct err *err)
{
    const struct pods_row *plain = pods_row_at(0);
    enum rc rc = delete_all(c, plain, plain->resource, id, worker, err);
    if (!rc && r != plain)
        rc = delete_all(c, r, r->resource, id, worker, err);
    if (!rc && r->kind->before)
        rc = delete_all(c, r, r->kind->before, id, worker, err);
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

enum rc pods_request_remove(struct kube_client *c, const struct pods_row *r,
                            const char *id, int64_t worker, int grace_s, size_t *left,
                            struct err *err)
{
    enum rc rc = delete_objects(c, r, id, worker, err);
    return rc ? rc : delete_pods(c, id, worker, grace_s, left, err);
}

/* What the object needed first is from now on part of it. */
static enum rc own_before(struct kube_client *c, const struct pods_objects *o,
                          const char *uid, struct err *err)
{
    char *group = pods_row_path(o->row);
    char *path = path_of(c, group, o->row->kind->before, o->name);
    struct kube_reply r;
    struct buf b;
    buf_init(&b, 4096);
    struct json_out j = {.out = &b};
    json_open(&j, NULL, '{');
    json_open(&j, "metadata", '{');
    json_open(&j, "ownerReferences", '[');
    pods_object_reference(&j, o->row, o->name, uid);
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, '}');
    struct kube_call q = {.method = "PATCH",
                          .path = path,
                          .type = "application/merge-patch+json",
                          .body = buf_str(&b)};
    enum rc rc = kube_client_call(c, &q, &r, err);
    kube_reply_release(&r);
    buf_release(&b);
    mem_free(path);
    mem_free(group);
    return rc;
}

/* The others belong to the object, or are made for it. */
static enum rc apply_parts(struct kube_client *c, const struct pods_objects *o,
                           const char *uid, struct err *err)
{
    enum rc rc = RC_OK;
    if (o->before)
        rc = own_before(c, o, uid, err);
    if (!rc && o->service)
        rc = apply_part(c, "services", o->name, o->service, uid, err);
    return rc ? rc : apply_part(c, "secrets", o->name, o->secret, uid, err);
}

/* A kind whose operator is not installed: said before anything is made. */
static enum rc probe_kind(struct kube_client *c, const struct pods_row *r,
                          struct err *err)
{
    char *path = pods_row_path(r);
    struct kube_call q = {.method = "GET", .path = path};
    struct kube_reply a;
    enum rc rc = kube_client_call(c, &q, &a, err);
    const struct node *list = rc ? NULL : node_get_list(a.object, "resources");
    bool there = false;
    for (size_t i = 0; list && i < list->list.n; i++)
        there = there ||
                strcmp(node_get_text(list->list.at[i], "name", ""), r->resource) == 0;
    if (rc == RC_NOTFOUND || (!rc && !there))
        rc = err_set(err, RC_UNSUPPORTED,
                     "the cluster has no %s of %s/%s: install its operator, or leave "
                     "'kind=%s' away",
                     r->resource, r->group, r->version, r->kind->name);
    kube_reply_release(&a);
    mem_free(path);
    return rc;
}

/* Those who check the object may not have seen yet what it needs, which was just made. */
static enum rc apply_behind(struct kube_client *c, const struct pods_objects *o,
                            const char *group, char **uid, struct err *err)
{
    const struct pods_row *r = o->row;
    enum rc rc = RC_OK;
    for (int i = 0; i < SEEN_TRIES; i++) {
        rc = apply(c, group, r->resource, o->name, o->object, uid, err);
        if (rc != RC_INVAL || !o->before || !strstr(err->msg, "not found"))
            break;
        nanosleep(&(struct timespec){.tv_nsec = 500 * 1000000}, NULL);
    }
    return rc;
}

static enum rc apply_object(struct kube_client *c, const struct pods_objects *o,
                            char **uid, struct err *err)
{
    const struct pods_row *r = o->row;
    char *group = pods_row_path(r);
    enum rc rc = r == pods_row_at(0) ? RC_OK : probe_kind(c, r, err);
    if (!rc && o->before)
        rc = apply(c, group, r->kind->before, o->name, o->before, NULL, err);
    if (!rc)
        rc = apply_behind(c, o, group, uid, err);
    mem_free(group);
    return rc;
}

/* Nothing stays of what was refused. */
static void delete_made(struct kube_client *c, const struct pods_objects *o)
{
    enum rc rc = pods_request_delete(c, o->row, o->name, NULL);
    if (o->before)
        rc = delete_of(c, o->row, o->row->kind->before, o->name, NULL);
    (void)rc; /* it is deleted with the job */
}

enum rc pods_request_submit(struct kube_client *c, const struct pods_objects *o,
                            char **uid, enum job_reason *why, struct err *err)
{
    char *is = NULL;
    enum rc rc = apply_object(c, o, &is, err);
    bool made = rc == RC_OK || o->before;
    if (!rc)
        rc = apply_parts(c, o, is, err);
    if (!rc) {
        *uid = is;
        return RC_OK;
    }
    mem_free(is);
    *why = strstr(err->msg, "exceeded quota") ? WHY_QuotaExceeded : WHY_Rejected;
    if (made && rc != RC_CANCELED)
        delete_made(c, o);
    return rc;
}
