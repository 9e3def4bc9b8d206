/* SPDX-License-Identifier: Apache-2.0 */
/* A pod has no credential of the cluster. Every '$' of a command would be Kubernetes' own, so
 * no text of a job's is in a command: the container runs a script from the job's Secret
 * (pods_script.h).
 */
#include "backend/pods_template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/pods_objects.h"
#include "backend/pods_script.h"
#include "base/mem.h"

#define MARK "trainyard"

static const char *option(const struct backend_job *j, const char *name)
{
    return jobspec_backend_option(j->spec->s, name);
}

void pods_labels_put(struct json_out *o, const struct backend_job *j, const char *name,
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

/* Which worker a pod is: told by a number, by a field of the pod, or by the Job controller,
 * which sets the variable itself.
 */
static void put_index(struct json_out *o, const struct pods_template *t)
{
    if (t->worker < 0 && !t->index_field)
        return;
    json_open(o, "env", '[');
    json_open(o, NULL, '{');
    json_put_str(o, "name", "JOB_COMPLETION_INDEX");
    if (t->worker >= 0) {
        put_amount(o, "value", t->worker, "");
    } else {
        json_open(o, "valueFrom", '{');
        json_open(o, "fieldRef", '{');
        json_put_str(o, "fieldPath", t->index_field);
        json_close(o, '}');
        json_close(o, '}');
    }
    json_close(o, '}');
    if (t->worker < 0 && t->first) {
        json_open(o, NULL, '{');
        json_put_str(o, "name", PODS_FIRST);
        put_amount(o, "value", t->first, "");
        json_close(o, '}');
    }
    json_close(o, ']');
}

static void put_container(struct json_out *o, const struct pods_make *m,
                          const struct pods_template *t)
{
    json_open(o, "containers", '[');
    json_open(o, NULL, '{');
    json_put_str(o, "name", t->container);
    json_put_str(o, "image", m->j->spec->s->image);
    if (pull_policy(m->j))
        json_put_str(o, "imagePullPolicy", pull_policy(m->j));
    json_open(o, "command", '[');
    json_put_str(o, NULL, "/bin/sh");
    json_put_str(o, NULL, PODS_START "/run");
    json_close(o, ']');
    put_index(o, t);
    put_resources(o, m->j, m->at, m->n);
    json_put_raw(o, "volumeMounts", m->mounts);
    json_close(o, '}');
    json_close(o, ']');
}

/* A mesh's proxy would keep a pod from ending. */
static void put_pod_metadata(struct json_out *o, const struct pods_make *m,
                             const struct pods_template *t)
{
    json_open(o, "metadata", '{');
    pods_labels_put(o, m->j, m->name, t->worker);
    if (t->label)
        json_put_str(o, t->label, t->label_value);
    json_close(o, '}');
    json_open(o, "annotations", '{');
    json_put_str(o, "sidecar.istio.io/inject", "false");
    json_close(o, '}');
    json_close(o, '}');
}

void pods_template_put(struct json_out *o, const struct pods_make *m,
                       const struct pods_template *t)
{
    json_open(o, "template", '{');
    put_pod_metadata(o, m, t);
    json_open(o, "spec", '{');
    json_put_str(o, "restartPolicy", "Never");
    if (t->subdomain)
        json_put_str(o, "subdomain", t->subdomain);
    if (t->hostname)
        json_put_str(o, "hostname", t->hostname);
    json_put_bool(o, "automountServiceAccountToken", false);
    json_put_bool(o, "enableServiceLinks", false);
    double grace = ceil(m->j->spec->grace_s);
    json_put_int(o, "terminationGracePeriodSeconds", grace < 1 ? 1 : (int64_t)grace);
    put_user(o, m->j);
    put_pod_options(o, m->j);
    json_put_raw(o, "volumes", m->volumes);
    put_container(o, m, t);
    json_close(o, '}');
    json_close(o, '}');
}

/* An index is never tried again, and its end leaves the others alone. */
void pods_indexed_put(struct json_out *o, const struct pods_make *m,
                      const struct pods_template *t)
{
    json_put_int(o, "completions", (int64_t)m->n);
    json_put_int(o, "parallelism", (int64_t)m->n);
    if (m->alone >= 0) {
        json_put_int(o, "backoffLimit", 0);
    } else {
        json_put_str(o, "completionMode", "Indexed");
        json_put_int(o, "backoffLimitPerIndex", 0);
        json_put_int(o, "maxFailedIndexes", (int64_t)m->n);
        json_put_str(o, "podReplacementPolicy", "Failed");
    }
    pods_template_put(o, m, t);
}

void pods_run_policy_put(struct json_out *o, bool once)
{
    json_open(o, "runPolicy", '{');
    json_put_str(o, "cleanPodPolicy", "None");
    if (once)
        json_put_int(o, "backoffLimit", 0);
    json_put_int(o, "ttlSecondsAfterFinished", PODS_KEPT_S);
    json_close(o, '}');
}

void pods_replicas_put(struct json_out *o, const struct pods_make *m, const char *role,
                       int64_t replicas, const struct pods_template *t)
{
    json_open(o, role, '{');
    json_put_int(o, "replicas", replicas);
    json_put_str(o, "restartPolicy", "Never");
    pods_template_put(o, m, t);
    json_close(o, '}');
}
