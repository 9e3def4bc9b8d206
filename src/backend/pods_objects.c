/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts are ours, so no kind of object tries a worker again. Secret and Service belong to the
 * object: whoever deletes it deletes all.
 */
#include "backend/pods_objects.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/pods_place.h"
#include "backend/pods_script.h"
#include "backend/pods_template.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/digest.h"

#define OBJECT_MAX (4 << 20)
#define SECRET_MAX ((size_t)1000 << 10) /* of a Secret, by Kubernetes */

void pods_yard(const char *dir, char out[PODS_YARD_SIZE])
{
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    char *text = mem_printf("%s:%s", host, dir);
    snprintf(out, PODS_YARD_SIZE, "%016jx", (uintmax_t)hash_xxh3(text, strlen(text)));
    mem_free(text);
}

char *pods_service_name(const struct backend_job *j)
{
    return mem_printf("%s-%jd", j->id, (intmax_t)j->attempt);
}

char *pods_object_name(const struct backend_job *j, int64_t worker, int64_t life)
{
    if (!life)
        return pods_service_name(j);
    return mem_printf("%s-%jd-%jd-%jd", j->id, (intmax_t)j->attempt, (intmax_t)worker,
                      (intmax_t)life);
}

static const char *option(const struct backend_job *j, const char *name)
{
    return jobspec_backend_option(j->spec->s, name);
}

/* `owner`: the kind of the object that it belongs to; NULL: to none. */
static void put_metadata(struct json_out *o, const struct backend_job *j,
                         const char *name, const struct pods_row *owner)
{
    json_open(o, "metadata", '{');
    json_put_str(o, "name", name);
    pods_labels_put(o, j, name, -1);
    if (!owner && option(j, "queue"))
        json_put_str(o, "kueue.x-k8s.io/queue-name", option(j, "queue"));
    json_close(o, '}');
    if (owner) {
        json_open(o, "ownerReferences", '[');
        pods_object_reference(o, owner, name, PODS_UID);
        json_close(o, ']');
    }
    json_close(o, '}');
}

void pods_object_reference(struct json_out *o, const struct pods_row *r, const char *name,
                           const char *uid)
{
    char *api = pods_row_api(r);
    json_open(o, NULL, '{');
    json_put_str(o, "apiVersion", api);
    json_put_str(o, "kind", r->object);
    json_put_str(o, "name", name);
    json_put_str(o, "uid", uid);
    json_close(o, '}');
    mem_free(api);
}

static void put_object(struct json_out *o, const struct pods_row *r,
                       const struct pods_make *m, bool before)
{
    char *api = pods_row_api(r);
    json_open(o, NULL, '{');
    json_put_str(o, "apiVersion", api);
    json_put_str(o, "kind", before ? r->kind->before_object : r->object);
    put_metadata(o, m->j, m->name, NULL);
    json_open(o, "spec", '{');
    if (before)
        r->kind->put_before(o, m);
    else
        r->kind->put_spec(o, m);
    json_close(o, '}');
    json_close(o, '}');
    mem_free(api);
}

enum rc pods_object_make(const struct backend_job *j, const struct backend_launch *at,
                         size_t n, const struct pods_row *r, const char *name,
                         const char *ask, struct buf *out, struct buf *before,
                         struct err *err)
{
    struct buf volumes, mounts;
    buf_init(&volumes, OBJECT_MAX);
    buf_init(&mounts, OBJECT_MAX);
    struct json_out v = {.out = &volumes}, m = {.out = &mounts};
    json_open(&v, NULL, '[');
    json_open(&m, NULL, '[');
    enum rc rc = pods_place_put(j, name, ask, &v, &m, err);
    json_close(&v, ']');
    json_close(&m, ']');
    struct pods_make make = {.j = j,
                             .at = at,
                             .n = n,
                             .name = name,
                             .alone = at[0].w->life ? at[0].w->index : -1,
                             .volumes = buf_str(&volumes),
                             .mounts = buf_str(&mounts)};
    struct json_out o = {.out = out}, b = {.out = before};
    put_object(&o, r, &make, false);
    if (r->kind->before)
        put_object(&b, r, &make, true);
    buf_release(&volumes);
    buf_release(&mounts);
    if (!rc)
        rc = buf_check(out, err);
    return rc ? rc : buf_check(before, err);
}

static void put_data(struct json_out *o, const char *key, const char *p, size_t n)
{
    char *text = mem_alloc((n + 2) / 3 * 4 + 1);
    digest_base64((const unsigned char *)p, n, text);
    json_put_str(o, key, text);
    mem_free(text);
}

static size_t put_scripts(struct json_out *o, const struct backend_launch *at, size_t n)
{
    size_t total = 0;
    char key[32];
    put_data(o, "run", pods_script_run, strlen(pods_script_run));
    for (size_t i = 0; i < n; i++) {
        struct buf b;
        buf_init(&b, OBJECT_MAX);
        pods_script_worker(&at[i], &b);
        snprintf(key, sizeof(key), "worker-%jd", (intmax_t)at[i].w->index);
        put_data(o, key, buf_str(&b), b.n);
        total += b.failed ? SECRET_MAX : b.n;
        buf_release(&b);
    }
    return total;
}

enum rc pods_object_secret(const struct backend_job *j, const struct backend_launch *at,
                           size_t n, const struct pods_row *r, const char *name,
                           struct buf *out, struct err *err)
{
    struct json_out o = {.out = out};
    json_open(&o, NULL, '{');
    json_put_str(&o, "apiVersion", "v1");
    json_put_str(&o, "kind", "Secret");
    put_metadata(&o, j, name, r);
    json_open(&o, "data", '{');
    size_t total = put_scripts(&o, at, n);
    json_close(&o, '}');
    json_close(&o, '}');
    if (total > SECRET_MAX)
        return err_set(err, RC_INVAL,
                       "the variables of all workers have %zu bytes together, and a "
                       "Secret of Kubernetes holds 1 MiB",
                       total);
    return buf_check(out, err);
}

void pods_object_service(const struct backend_job *j, const struct pods_row *r,
                         const char *owner, struct buf *out)
{
    struct json_out o = {.out = out};
    json_open(&o, NULL, '{');
    json_put_str(&o, "apiVersion", "v1");
    json_put_str(&o, "kind", "Service");
    put_metadata(&o, j, owner, r);
    json_open(&o, "spec", '{');
    json_put_str(&o, "clusterIP", "None");
    json_put_bool(&o, "publishNotReadyAddresses", true);
    json_open(&o, "selector", '{');
    json_put_str(&o, PODS_LABEL_JOB, j->id);
    json_close(&o, '}');
    json_close(&o, '}');
    json_close(&o, '}');
}
