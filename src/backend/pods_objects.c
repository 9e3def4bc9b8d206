/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts are ours, so an index is never tried again by Kubernetes (backoffLimitPerIndex 0),
 * and its end leaves the other workers alone. Secret and Service belong to the Job: whoever
 * deletes it deletes all. A pod has no credential of the cluster. Every '$' of a command
 * would be Kubernetes' own, so no text of a job's is in a command.
 */
#include "backend/pods_objects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/pods_place.h"
#include "backend/pods_script.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/digest.h"
#include "text/json_out.h"

#define OBJECT_MAX (4 << 20)
#define SECRET_MAX ((size_t)1000 << 10) /* of a Secret, by Kubernetes */
#define KEPT_S (7 * 86400)              /* a Job that nobody deletes */
#define MARK "trainyard"

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

static void put_labels(struct json_out *o, const struct backend_job *j, const char *name,
                       int64_t worker)
{
    char yard[PODS_YARD_SIZE], number[32];
    pods_yard(j->p->dir, yard);
    json_open(o, "labels", '{');
    json_put_str(o, "app.kubernetes.io/managed-by", MARK);
    json_put_str(o, PODS_LABEL_JOB, j->id);
    json_put_str(o, PODS_LABEL_YARD, yard);
    json_put_str(o, PODS_LABEL_OWNER, name);
    if (worker >= 0) {
        snprintf(number, sizeof(number), "%jd", (intmax_t)worker);
        json_put_str(o, PODS_LABEL_WORKER, number);
    }
}

static void put_metadata(struct json_out *o, const struct backend_job *j,
                         const char *name, bool owned)
{
    json_open(o, "metadata", '{');
    json_put_str(o, "name", name);
    put_labels(o, j, name, -1);
    if (!owned && option(j, "queue"))
        json_put_str(o, "kueue.x-k8s.io/queue-name", option(j, "queue"));
    json_close(o, '}');
    if (owned) {
        json_open(o, "ownerReferences", '[');
        json_open(o, NULL, '{');
        json_put_str(o, "apiVersion", "batch/v1");
        json_put_str(o, "kind", "Job");
        json_put_str(o, "name", name);
        json_put_str(o, "uid", PODS_UID);
        json_close(o, '}');
        json_close(o, ']');
    }
    json_close(o, '}');
}

static int64_t most(const struct backend_launch *at, size_t n, size_t offset)
{
    int64_t best = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t v;
        memcpy(&v, (const char *)at[i].w->role + offset, sizeof(v));
        best = v > best ? v : best;
    }
    return best;
}
#define MOST(at, n, field) most(at, n, offsetof(struct job_spec_role, field))

static void put_amount(struct json_out *o, const char *key, int64_t v, const char *unit)
{
    char text[32];
    snprintf(text, sizeof(text), "%jd%s", (intmax_t)v, unit);
    json_put_str(o, key, text);
}

/* Processor time is a request, which others may use while it is idle; memory and GPUs are
 * limits as well.
 */
static void put_resources(struct json_out *o, const struct backend_job *j,
                          const struct backend_launch *at, size_t n)
{
    const char *gpu = option(j, "gpu_resource");
    int64_t memory = MOST(at, n, memory), cpu = MOST(at, n, cpu_milli);
    json_open(o, "resources", '{');
    for (int limits = 0; limits < 2; limits++) {
        json_open(o, limits ? "limits" : "requests", '{');
        if (!limits && cpu)
            put_amount(o, "cpu", cpu, "m");
        if (memory)
            put_amount(o, "memory", memory, "");
        if (MOST(at, n, gpu))
            put_amount(o, gpu ? gpu : "nvidia.com/gpu", MOST(at, n, gpu), "");
        json_close(o, '}');
    }
    json_close(o, '}');
}

/* An empty part may be nowhere. */
static char *copy_of(struct str s)
{
    return mem_strndup(s.n ? s.p : "", s.n);
}

/* "name=value,name=value" as a map. */
static void put_selector(struct json_out *o, const char *text)
{
    struct str rest = str_c(text), item, name;
    json_open(o, "nodeSelector", '{');
    while (rest.n && str_split(&rest, ',', &item)) {
        if (!str_split(&item, '=', &name) || !name.n)
            continue;
        char *key = copy_of(name), *value = copy_of(item);
        json_put_str(o, key, value);
        mem_free(key);
        mem_free(value);
    }
    json_close(o, '}');
}

/* "key[=value][:Effect],..."; without a value any will do, without an effect all. */
static void put_tolerations(struct json_out *o, const char *text)
{
    struct str rest = str_c(text), item, key, value;
    json_open(o, "tolerations", '[');
    while (rest.n && str_split(&rest, ',', &item)) {
        (void)str_split(&item, ':', &value); /* item: the effect */
        struct str effect = item;
        (void)str_split(&value, '=', &key);
        char *texts[] = {copy_of(key), copy_of(value), copy_of(effect)};
        json_open(o, NULL, '{');
        json_put_str(o, "key", texts[0]);
        json_put_str(o, "operator", value.n ? "Equal" : "Exists");
        if (value.n)
            json_put_str(o, "value", texts[1]);
        if (effect.n)
            json_put_str(o, "effect", texts[2]);
        json_close(o, '}');
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
            mem_free(texts[i]);
    }
    json_close(o, ']');
}

static const char *pull_policy(const struct backend_job *j)
{
    const char *pull = option(j, "pull");
    if (!pull)
        return NULL;
    return strcmp(pull, "always") == 0  ? "Always"
           : strcmp(pull, "never") == 0 ? "Never"
                                        : "IfNotPresent";
}

/* Who the processes are: ourselves, as on a single machine, unless the image is to say. */
static void put_user(struct json_out *o, const struct backend_job *j)
{
    const char *as = option(j, "run_as");
    if ((as && strcmp(as, "image") == 0) || geteuid() == 0)
        return;
    json_open(o, "securityContext", '{');
    json_put_int(o, "runAsUser", geteuid());
    json_put_int(o, "runAsGroup", getegid());
    json_put_bool(o, "runAsNonRoot", true);
    json_close(o, '}');
}

static void put_pod_options(struct json_out *o, const struct backend_job *j)
{
    static const struct {
        const char *option, *field;
    } texts[] = {{"priority_class", "priorityClassName"},
                 {"service_account", "serviceAccountName"},
                 {"scheduler", "schedulerName"},
                 {"runtime_class", "runtimeClassName"}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (option(j, texts[i].option))
            json_put_str(o, texts[i].field, option(j, texts[i].option));
    if (option(j, "node_selector"))
        put_selector(o, option(j, "node_selector"));
    if (option(j, "tolerations"))
        put_tolerations(o, option(j, "tolerations"));
    if (option(j, "pull_secret")) {
        json_open(o, "imagePullSecrets", '[');
        json_open(o, NULL, '{');
        json_put_str(o, "name", option(j, "pull_secret"));
        json_close(o, '}');
        json_close(o, ']');
    }
}

static void put_container(struct json_out *o, const struct backend_job *j,
                          const struct backend_launch *at, size_t n, int64_t alone,
                          const char *mounts)
{
    json_open(o, "containers", '[');
    json_open(o, NULL, '{');
    json_put_str(o, "name", "worker");
    json_put_str(o, "image", j->spec->s->image);
    if (pull_policy(j))
        json_put_str(o, "imagePullPolicy", pull_policy(j));
    json_open(o, "command", '[');
    json_put_str(o, NULL, "/bin/sh");
    json_put_str(o, NULL, PODS_START "/run");
    json_close(o, ']');
    if (alone >= 0) {
        json_open(o, "env", '[');
        json_open(o, NULL, '{');
        json_put_str(o, "name", "JOB_COMPLETION_INDEX");
        put_amount(o, "value", alone, "");
        json_close(o, '}');
        json_close(o, ']');
    }
    put_resources(o, j, at, n);
    json_put_raw(o, "volumeMounts", mounts);
    json_close(o, '}');
    json_close(o, ']');
}

/* `alone`: the worker that starts again, -1: all. */
static void put_template(struct json_out *o, const struct backend_job *j,
                         const struct backend_launch *at, size_t n, const char *name,
                         int64_t alone, const char *volumes, const char *mounts)
{
    char *service = pods_service_name(j);
    json_open(o, "template", '{');
    json_open(o, "metadata", '{');
    put_labels(o, j, name, alone);
    json_close(o, '}');
    json_close(o, '}');
    json_open(o, "spec", '{');
    json_put_str(o, "restartPolicy", "Never");
    json_put_str(o, "subdomain", service);
    if (alone >= 0) {
        char *host = mem_printf("%s-%jd", service, (intmax_t)alone);
        json_put_str(o, "hostname", host);
        mem_free(host);
    }
    json_put_bool(o, "automountServiceAccountToken", false);
    json_put_bool(o, "enableServiceLinks", false);
    double grace = ceil(j->spec->grace_s);
    json_put_int(o, "terminationGracePeriodSeconds", grace < 1 ? 1 : (int64_t)grace);
    put_user(o, j);
    put_pod_options(o, j);
    json_put_raw(o, "volumes", volumes);
    put_container(o, j, at, n, alone, mounts);
    json_close(o, '}');
    json_close(o, '}');
    mem_free(service);
}

static void put_job_spec(struct json_out *o, size_t n, int64_t alone)
{
    json_put_int(o, "completions", (int64_t)n);
    json_put_int(o, "parallelism", (int64_t)n);
    json_put_int(o, "ttlSecondsAfterFinished", KEPT_S);
    if (alone >= 0) {
        json_put_int(o, "backoffLimit", 0);
        return;
    }
    json_put_str(o, "completionMode", "Indexed");
    json_put_int(o, "backoffLimitPerIndex", 0);
    json_put_int(o, "maxFailedIndexes", (int64_t)n);
    json_put_str(o, "podReplacementPolicy", "Failed");
}

enum rc pods_object_job(const struct backend_job *j, const struct backend_launch *at,
                        size_t n, const char *name, const char *ask, struct buf *out,
                        struct err *err)
{
    struct buf volumes, mounts;
    int64_t alone = at[0].w->life ? at[0].w->index : -1;
    buf_init(&volumes, OBJECT_MAX);
    buf_init(&mounts, OBJECT_MAX);
    struct json_out v = {.out = &volumes}, m = {.out = &mounts}, o = {.out = out};
    json_open(&v, NULL, '[');
    json_open(&m, NULL, '[');
    enum rc rc = pods_place_put(j, name, ask, &v, &m, err);
    json_close(&v, ']');
    json_close(&m, ']');
    json_open(&o, NULL, '{');
    json_put_str(&o, "apiVersion", "batch/v1");
    json_put_str(&o, "kind", "Job");
    put_metadata(&o, j, name, false);
    json_open(&o, "spec", '{');
    put_job_spec(&o, n, alone);
    put_template(&o, j, at, n, name, alone, buf_str(&volumes), buf_str(&mounts));
    json_close(&o, '}');
    json_close(&o, '}');
    buf_release(&volumes);
    buf_release(&mounts);
    return rc ? rc : buf_check(out, err);
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
                           size_t n, const char *name, struct buf *out, struct err *err)
{
    struct json_out o = {.out = out};
    json_open(&o, NULL, '{');
    json_put_str(&o, "apiVersion", "v1");
    json_put_str(&o, "kind", "Secret");
    put_metadata(&o, j, name, true);
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

void pods_object_service(const struct backend_job *j, const char *owner, struct buf *out)
{
    struct json_out o = {.out = out};
    json_open(&o, NULL, '{');
    json_put_str(&o, "apiVersion", "v1");
    json_put_str(&o, "kind", "Service");
    put_metadata(&o, j, owner, true);
    json_open(&o, "spec", '{');
    json_put_str(&o, "clusterIP", "None");
    json_put_bool(&o, "publishNotReadyAddresses", true);
    json_open(&o, "selector", '{');
    json_put_str(&o, PODS_LABEL_JOB, j->id);
    json_close(&o, '}');
    json_close(&o, '}');
    json_close(&o, '}');
}
