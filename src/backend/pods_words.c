/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a pod tells how its worker is; conditions and reasons of the pod tell why
 * there is no container, or who ended it. Words are in pods_words.def.
 */
#include "backend/pods_words.h"

#include <stdio.h>
#include <string.h>

#include "backend/pods_kind.h"
#include "backend/pods_objects.h"
#include "base/str.h"
#include "kube/credential.h"

enum use { WAIT, NEVER, END, EVICT };

static const struct word {
    const char *name;
    enum use use;
    enum job_reason why;
    const char *words;
} words[] = {
#define WORD(name, use, why, text) {name, use, WHY_##why, text},
#include "backend/pods_words.def"
#undef WORD
};

static const struct word *find_word(const char *reason, enum use use)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].use == use && str_starts(reason, words[i].name))
            return &words[i];
    return NULL;
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

/* The condition of this type, NULL: there is none. */
static const struct node *condition(const struct node *status, const char *type)
{
    const struct node *list = node_get_list(status, "conditions");
    for (size_t i = 0; list && i < list->list.n; i++) {
        const char *is = node_get_text(list->list.at[i], "type", "");
        if (strcmp(is, type) == 0)
            return list->list.at[i];
    }
    return NULL;
}

static bool is_true(const struct node *c)
{
    return strcmp(node_get_text(c, "status", ""), "True") == 0;
}

static void say(struct pods_pod *p, const char *what, const char *reason,
                const char *message)
{
    snprintf(p->text, sizeof(p->text), "%s%s%s%s%s%.180s", what,
             reason && *reason ? " (" : "", reason ? reason : "",
             reason && *reason ? ")" : "", message && *message ? ": " : "",
             message ? message : "");
}

/* Why no node, or no container, is there yet. */
static void read_wait(const struct node *status, const struct node *waiting,
                      struct pods_pod *p)
{
    const struct node *placed = condition(status, "PodScheduled");
    const char *reason = node_get_text(waiting, "reason", "");
    const char *message = node_get_text(waiting, "message", NULL);
    const struct word *never = find_word(reason, NEVER), *w = find_word(reason, WAIT);
    p->state = PODS_WAITING;
    if (never) {
        p->hopeless = true;
        w = never;
    }
    if (w) {
        p->why = w->why;
        say(p, w->words, reason, message);
    } else if (placed && !is_true(placed)) {
        say(p, "no node can take it yet", node_get_text(placed, "reason", NULL),
            node_get_text(placed, "message", NULL));
    } else {
        say(p, p->placed ? "its container is being made" : "it waits for a node", reason,
            message);
    }
}

/* Somebody or something took the pod away while it ran. */
static void read_eviction(const struct node *status, struct pods_pod *p)
{
    const struct node *c = condition(status, "DisruptionTarget");
    const char *reason = node_get_text(c, "reason", "");
    const struct word *w = c && is_true(c) ? find_word(reason, EVICT) : NULL;
    if (!w)
        return;
    p->why = w->why;
    say(p, w->words, reason, node_get_text(c, "message", NULL));
}

static void read_end(const struct node *status, const struct node *ended,
                     struct pods_pod *p)
{
    const char *reason = node_get_text(status, "reason", NULL);
    const char *message = node_get_text(status, "message", NULL);
    const char *inner = node_get_text(ended, "reason", "");
    const struct word *w = find_word(reason ? reason : inner, END);
    p->state = PODS_ENDED;
    p->code = ended ? (int)(node_get_int(ended, "exitCode", -1) & 0xff) : -1;
    p->ended = kube_time_read(node_get_text(ended, "finishedAt", NULL));
    if (!w && reason)
        w = find_word(inner, END);
    if (w) {
        p->why = w->why;
        say(p, w->words, reason ? reason : inner,
            message ? message : node_get_text(ended, "message", NULL));
    } else if (!ended) {
        p->why = WHY_NodeFailure;
        say(p, "it ended before its container did", reason, message);
    }
    read_eviction(status, p);
}

/* A pod may have containers that others put there: ours has the name of its kind. */
static const struct node *our_container(const struct node *status)
{
    const struct node *list = node_get_list(status, "containerStatuses");
    const struct pods_row *r;
    for (size_t i = 0; list && i < list->list.n; i++)
        for (size_t k = 0; (r = pods_row_at(k)); k++)
            if (strcmp(node_get_text(list->list.at[i], "name", ""), r->kind->container) ==
                0)
                return list->list.at[i];
    return list && list->list.n ? list->list.at[0] : NULL;
}

static const struct node *container_state(const struct node *status, const char *key)
{
    return node_get_map(node_get_map(our_container(status), "state"), key);
}

/* Operators of Kubeflow's count the pods of each role. */
static bool read_replica(const struct node *labels, int64_t *out)
{
    const char *role = node_get_text(labels, "training.kubeflow.org/replica-type", "");
    const char *index =
        node_get_text(labels, "training.kubeflow.org/replica-index", NULL);
    const char *by = node_get_text(labels, "training.kubeflow.org/operator-name", "");
    if (!index || !str_to_i64(str_c(index), out) || *out < 0)
        return false;
    /* mpi-operator counts the launcher as one of them */
    *out += strcmp(role, "worker") == 0 && strcmp(by, "mpi-operator") != 0;
    return true;
}

static bool read_worker(const struct node *meta, int64_t *out)
{
    static const char *const names[] = {PODS_LABEL_WORKER,
                                        "batch.kubernetes.io/job-completion-index",
                                        "volcano.sh/task-index"};
    static const char *const maps[] = {"labels", "annotations"};
    for (size_t m = 0; m < ARRAY_LEN(maps); m++)
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            const char *text = node_get_text(node_get_map(meta, maps[m]), names[i], NULL);
            if (text && str_to_i64(str_c(text), out) && *out >= 0)
                return true;
        }
    return read_replica(node_get_map(meta, "labels"), out);
}

bool pods_pod_read(const struct node *object, struct pods_pod *out)
{
    const struct node *meta = node_get_map(object, "metadata");
    const struct node *status = node_get_map(object, "status");
    const char *phase = node_get_text(status, "phase", "");
    const char *node = node_get_text(node_get_map(object, "spec"), "nodeName", NULL);
    const struct node *ended = container_state(status, "terminated");
    *out = (struct pods_pod){.worker = -1, .code = -1};
    copy(out->owner, sizeof(out->owner),
         node_get_text(node_get_map(meta, "labels"), PODS_LABEL_OWNER, NULL));
    copy(out->name, sizeof(out->name), node_get_text(meta, "name", NULL));
    copy(out->uid, sizeof(out->uid), node_get_text(meta, "uid", NULL));
    copy(out->node, sizeof(out->node), node);
    out->placed = node != NULL;
    out->deleting = node_get_text(meta, "deletionTimestamp", NULL) != NULL;
    if (!out->owner[0] || !out->name[0] || !read_worker(meta, &out->worker))
        return false;
    bool over = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    bool runs = container_state(status, "running") != NULL;
    if (ended || (over && (!runs || condition(status, "DisruptionTarget"))))
        read_end(status, ended, out);
    else if (runs)
        out->state = PODS_RUNNING;
    else
        read_wait(status, container_state(status, "waiting"), out);
    return true;
}

bool pods_job_read(const struct node *object, char text[PODS_TEXT_SIZE])
{
    static const char *const ends[] = {"Complete", "Completed", "Succeeded", "Failed"};
    const struct node *status = node_get_map(object, "status"), *c;
    const struct node *state = node_get_map(status, "state"); /* Volcano's */
    copy(text, PODS_TEXT_SIZE, node_get_text(state, "message", ""));
    const char *phase = node_get_text(state, "phase", "");
    if (strcmp(phase, "Aborted") == 0 || strcmp(phase, "Terminated") == 0 ||
        strcmp(phase, "Completed") == 0 || strcmp(phase, "Failed") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        c = condition(status, ends[i]);
        if (c && is_true(c)) {
            snprintf(text, PODS_TEXT_SIZE, "%s: %.200s",
                     node_get_text(c, "reason", ends[i]),
                     node_get_text(c, "message", ""));
            return true;
        }
    }
    c = condition(status, "Suspended");
    if (c && is_true(c))
        copy(text, PODS_TEXT_SIZE, "it is suspended, as by a queue that has no room yet");
    return false;
}
