/* SPDX-License-Identifier: Apache-2.0 */
/* One watch per kind of object, one of pods and one of events feed one table of jobs; a job whose entry changed has its file written anew. What
 * a new list does not have any more is gone. A job of which nothing is left is forgotten
 * after ten minutes, when its supervisor has long read so.
 */
#include "backend/pods_watcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "backend/pods_news.h"
#include "backend/pods_objects.h"
#include "backend/pods_requests.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "job/file.h"
#include "kube/watch.h"

#define SECOND_NS INT64_C(1000000000)
#define LOOK_NS (10 * SECOND_NS)   /* at who needs us */
#define LINGER_NS (30 * SECOND_NS) /* behind the last */
#define FORGET_NS (600 * SECOND_NS)
#define WORK_MS 500
#define WHERE_MAX (1 << 16)
#define NEWS_MAX (64 << 20)

enum { PODS, EVENTS, OBJECTS }; /* from there on: objects of pods_kinds.def */
#define PARTS_MAX 16

struct entry {
    char *id; /* owned */
    struct pods_news news;
    bool dirty;
    int64_t empty; /* monotonic ns: nothing was left then; 0: something is */
};

struct watcher;
struct part {
    struct watcher *w;
    struct kube_watch watch;
    int64_t began; /* wall clock of the list that is read */
    int64_t listed;
    char *path; /* owned */
};

struct watcher {
    const char *dir;
    char *query; /* owned */
    struct kube_client *client;
    struct io_http_streams *set;
    struct part parts[PARTS_MAX]; /* those with a path are in use */
    VEC(struct entry *) jobs;
    char said[400]; /* what `state` has now */
};

static struct entry *find_entry(struct watcher *w, const char *id)
{
    for (size_t i = 0; i < w->jobs.n; i++)
        if (strcmp(w->jobs.at[i]->id, id) == 0)
            return w->jobs.at[i];
    return NULL;
}

static struct entry *take_entry(struct watcher *w, const struct node *object)
{
    const struct node *meta = node_get_map(object, "metadata");
    const char *id = node_get_text(node_get_map(meta, "labels"), PODS_LABEL_JOB, NULL);
    if (!id || !*id || strchr(id, '/') || id[0] == '.')
        return NULL;
    struct entry *e = find_entry(w, id);
    if (!e) {
        e = mem_calloc(1, sizeof(*e));
        e->id = mem_strdup(id);
        VEC_PUSH(&w->jobs, e);
    }
    e->dirty = true;
    return e;
}

static void change_pod(struct entry *e, enum kube_event type, const struct node *object)
{
    struct pods_pod p;
    size_t i = 0;
    if (!pods_pod_read(object, &p))
        return;
    while (i < e->news.pods.n && strcmp(e->news.pods.at[i].uid, p.uid) != 0)
        i++;
    if (type == KUBE_DELETED && p.state != PODS_ENDED)
        p.state = PODS_GONE;
    if (i == e->news.pods.n)
        VEC_PUSH(&e->news.pods, p);
    else if (e->news.pods.at[i].state != PODS_ENDED || p.state == PODS_ENDED)
        e->news.pods.at[i] = p;
}

static void change_job(struct entry *e, int64_t kind, enum kube_event type,
                       const struct node *object)
{
    const struct node *meta = node_get_map(object, "metadata");
    struct pods_job j = {.kind = kind, .gone = type == KUBE_DELETED};
    size_t i = 0;
    snprintf(j.name, sizeof(j.name), "%s", node_get_text(meta, "name", ""));
    snprintf(j.uid, sizeof(j.uid), "%s", node_get_text(meta, "uid", ""));
    j.over = pods_job_read(object, j.text);
    while (i < e->news.jobs.n && strcmp(e->news.jobs.at[i].uid, j.uid) != 0)
        i++;
    if (i == e->news.jobs.n)
        VEC_PUSH(&e->news.jobs, j);
    else
        e->news.jobs.at[i] = j;
}

/* "jb-x" of the object "jb-x-1-0-abcde", of those that we know. */
static struct entry *entry_of_name(struct watcher *w, const char *name)
{
    for (size_t i = 0; i < w->jobs.n; i++) {
        size_t n = strlen(w->jobs.at[i]->id);
        if (strncmp(name, w->jobs.at[i]->id, n) == 0 && name[n] == '-')
            return w->jobs.at[i];
    }
    return NULL;
}

static void change_event(struct watcher *w, enum kube_event type,
                         const struct node *object)
{
    const char *name = node_get_text(node_get_map(object, "involvedObject"), "name", "");
    struct pods_event e;
    struct entry *of = entry_of_name(w, name);
    if (!of || type == KUBE_DELETED ||
        strcmp(node_get_text(object, "type", ""), "Warning") != 0)
        return;
    snprintf(e.object, sizeof(e.object), "%s", name);
    snprintf(e.text, sizeof(e.text), "%s: %.250s", node_get_text(object, "reason", ""),
             node_get_text(object, "message", ""));
    size_t i = 0;
    while (i < of->news.events.n && strcmp(of->news.events.at[i].object, name) != 0)
        i++;
    if (i == of->news.events.n)
        VEC_PUSH(&of->news.events, e);
    else
        of->news.events.at[i] = e;
    of->dirty = true;
}

static void on_change(void *arg, enum kube_event type, const struct node *object)
{
    struct part *p = arg;
    struct watcher *w = p->w;
    if (p == &w->parts[EVENTS]) {
        change_event(w, type, object);
        return;
    }
    struct entry *e = take_entry(w, object);
    if (e && p == &w->parts[PODS])
        change_pod(e, type, object);
    else if (e)
        change_job(e, p - &w->parts[OBJECTS], type, object);
}

static void on_relist(void *arg)
{
    struct part *p = arg;
    struct watcher *w = p->w;
    p->began = clock_wall_ns();
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct pods_news *n = &w->jobs.at[i]->news;
        for (size_t k = 0; p == &w->parts[PODS] && k < n->pods.n; k++)
            n->pods.at[k].stale = true;
        for (size_t k = 0; p >= &w->parts[OBJECTS] && k < n->jobs.n; k++)
            if (n->jobs.at[k].kind == p - &w->parts[OBJECTS])
                n->jobs.at[k].stale = true;
    }
}

static void on_listed(void *arg)
{
    struct part *p = arg;
    p->listed = p->began;
    for (size_t i = 0; i < p->w->jobs.n; i++) {
        struct entry *e = p->w->jobs.at[i];
        for (size_t k = 0; k < e->news.pods.n; k++) {
            struct pods_pod *pod = &e->news.pods.at[k];
            if (pod->stale && pod->state != PODS_ENDED)
                pod->state = PODS_GONE;
            e->dirty = e->dirty || pod->stale;
            pod->stale = false;
        }
        for (size_t k = 0; k < e->news.jobs.n; k++) {
            struct pods_job *job = &e->news.jobs.at[k];
            job->gone = job->gone || job->stale;
            e->dirty = e->dirty || job->stale;
            job->stale = false;
        }
    }
}

static char *file_of(const struct watcher *w, const char *id)
{
    return mem_printf("%s/jobs/%s", w->dir, id);
}

static void write_entry(const struct watcher *w, struct entry *e)
{
    char *path = file_of(w, e->id);
    struct buf b;
    buf_init(&b, NEWS_MAX);
    pods_news_print(&e->news, &b);
    if (!b.failed && job_file_put(path, buf_str(&b), b.n, 0600, NULL) == RC_OK)
        e->dirty = false;
    buf_release(&b);
    mem_free(path);
}

static bool is_empty(const struct entry *e)
{
    bool left = false;
    for (size_t i = 0; i < e->news.jobs.n; i++)
        left = left || !e->news.jobs.at[i].gone;
    return !left;
}

static void entry_destroy(struct entry *e)
{
    pods_news_release(&e->news);
    mem_free(e->id);
    mem_free(e);
}

static void forget(struct watcher *w, size_t i)
{
    char *path = file_of(w, w->jobs.at[i]->id);
    unlink(path);
    mem_free(path);
    entry_destroy(w->jobs.at[i]);
    w->jobs.at[i] = w->jobs.at[--w->jobs.n];
}

static void write_news(struct watcher *w)
{
    int64_t now = clock_mono_ns();
    for (size_t i = 0; i < w->jobs.n; i++) {
        struct entry *e = w->jobs.at[i];
        if (e->dirty)
            write_entry(w, e);
        if (!is_empty(e))
            e->empty = 0;
        else if (!e->empty)
            e->empty = now;
        else if (now - e->empty > FORGET_NS)
            forget(w, i--);
    }
}

/* Events are for people alone: without leave to see them all else works. */
static void write_state(struct watcher *w)
{
    int64_t listed = INT64_MAX;
    const char *why = "";
    for (size_t i = 0; i < PARTS_MAX; i++) {
        const struct part *p = &w->parts[i];
        if (!p->path || i == EVENTS)
            continue;
        listed = p->listed < listed ? p->listed : listed;
        why = p->watch.why[0] && !(i > OBJECTS && p->watch.absent) ? p->watch.why : why;
    }
    char text[sizeof(w->said)];
    snprintf(text, sizeof(text), "%jd %.300s", (intmax_t)listed, why);
    if (strcmp(text, w->said) == 0)
        return;
    char *path = fs_join(w->dir, "state");
    if (job_file_put(path, text, strlen(text), 0600, NULL) == RC_OK)
        memcpy(w->said, text, sizeof(text));
    mem_free(path);
}

/* No supervisor holds the lock that all of them share, or our directory is gone. */
static bool unneeded(const struct watcher *w)
{
    char *path = fs_join(w->dir, "users");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool nobody = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return nobody;
}

/* Jobs that ended while the cluster did not answer; true: none is left. */
static bool remove_ended(struct watcher *w)
{
    char *dir = fs_join(w->dir, "remove");
    DIR *d = opendir(dir);
    bool none = true;
    for (struct dirent *f; d && (f = readdir(d));) {
        size_t left = 1;
        if (f->d_name[0] == '.')
            continue;
        char *path = fs_join(dir, f->d_name), *kind = NULL;
        size_t n = 0;
        if (fs_read(path, 100, &kind, &n, NULL))
            kind = NULL;
        const struct pods_row *r = pods_row_find(kind);
        if (pods_request_remove(w->client, r ? r : pods_row_at(0), f->d_name, -1, 1,
                                &left, NULL) ||
            left)
            none = false;
        else
            unlink(path);
        mem_free(kind);
        mem_free(path);
    }
    if (d)
        closedir(d);
    mem_free(dir);
    return none;
}

static void set_part(struct watcher *w, size_t i, const char *group, const char *resource)
{
    struct part *p = &w->parts[i];
    p->w = w;
    p->path = mem_printf("%s/namespaces/%s/%s", group, kube_client_config(w->client)->ns,
                         resource);
    p->watch = (struct kube_watch){
        .path = p->path,
        .query = i == EVENTS ? "" : w->query,
        .client = w->client,
        .set = w->set,
        .user = {
            .relist = on_relist, .change = on_change, .listed = on_listed, .arg = p}};
}

/* Kinds that jobs have come to use; the first is always watched. */
static void add_kinds(struct watcher *w)
{
    const struct pods_row *r;
    for (size_t i = 0; (r = pods_row_at(i)) && OBJECTS + i < PARTS_MAX; i++) {
        if (w->parts[OBJECTS + i].path)
            continue;
        char *file = mem_printf("%s/kinds/%s", w->dir, r->kind->name);
        char *group = pods_row_path(r);
        if (!i || fs_exists(file))
            set_part(w, OBJECTS + i, group, r->resource);
        mem_free(group);
        mem_free(file);
    }
}

static void watch_all(struct watcher *w)
{
    int64_t looked = clock_mono_ns(), alone = 0;
    for (;;) {
        add_kinds(w);
        for (size_t i = 0; i < PARTS_MAX; i++)
            if (w->parts[i].path)
                kube_watch_step(&w->parts[i].watch);
        write_news(w);
        write_state(w);
        io_http_streams_work(w->set, WORK_MS);
        int64_t now = clock_mono_ns();
        if (now - looked < LOOK_NS && (!alone || now - alone < LINGER_NS))
            continue;
        looked = now;
        if (!remove_ended(w) || !unneeded(w))
            alone = 0;
        else if (!fs_exists(w->dir) || (alone && now - alone >= LINGER_NS))
            return;
        else if (!alone)
            alone = now;
    }
}

static void watcher_release(struct watcher *w)
{
    for (size_t i = 0; i < PARTS_MAX; i++) {
        kube_watch_release(&w->parts[i].watch);
        mem_free(w->parts[i].path);
    }
    for (size_t i = 0; i < w->jobs.n; i++)
        entry_destroy(w->jobs.at[i]);
    VEC_RELEASE(&w->jobs);
    io_http_streams_destroy(w->set);
    kube_client_close(w->client);
    mem_free(w->query);
}

/* "YARD\nFILES\nCONTEXT\nNAMESPACE\n", empty: not given. */
static enum rc read_where(const char *dir, char **text, const char *out[4],
                          struct err *err)
{
    char *path = fs_join(dir, "where");
    size_t n = 0, k = 0;
    enum rc rc = fs_read(path, WHERE_MAX, text, &n, err);
    for (char *at = rc ? NULL : *text; at && k < 4; k++) {
        char *end = strchr(at, '\n');
        if (end)
            *end = '\0';
        out[k] = *at ? at : NULL;
        at = end ? end + 1 : NULL;
    }
    if (!rc && (k < 4 || !out[0]))
        rc = err_set(err, RC_FORMAT, "'%s' does not say where a cluster is", path);
    mem_free(path);
    return rc;
}

static void say_failure(const char *dir, const char *why)
{
    char *path = fs_join(dir, "state"), *text = mem_printf("0 %s", why);
    enum rc rc = job_file_put(path, text, strlen(text), 0600, NULL);
    (void)rc; /* it is said again by the next */
    mem_free(text);
    mem_free(path);
}

static enum rc begin_watching(struct watcher *w, struct err *err)
{
    const char *where[4] = {NULL};
    char *text = NULL;
    enum rc rc = read_where(w->dir, &text, where, err);
    if (!rc)
        rc = kube_client_open(&(struct kube_options){where[1], where[2], where[3]},
                              &w->client, err);
    w->query = mem_printf("labelSelector="
                          "trainyard.io%%2Fyard%%3D%s",
                          where[0] ? where[0] : "");
    w->set = io_http_streams_create();
    if (!rc && !w->set)
        rc = err_set(err, RC_NOMEM, "no memory for connections");
    if (!rc) {
        set_part(w, PODS, "/api/v1", "pods");
        set_part(w, EVENTS, "/api/v1", "events");
    }
    mem_free(text);
    return rc;
}

enum rc pods_watcher_run(const char *dir, struct err *err)
{
    struct watcher w = {.dir = dir};
    char *lock = fs_join(dir, "lock");
    int fd = job_lock_take(lock);
    mem_free(lock);
    if (fd < 0)
        return RC_OK; /* there is one */
    prctl(PR_SET_NAME, "ty-pods");
    enum rc rc = begin_watching(&w, err);
    if (!rc)
        watch_all(&w);
    else
        say_failure(dir, err->msg);
    watcher_release(&w);
    close(fd);
    return rc;
}

static enum rc put_if_other(const char *path, const char *text, struct err *err)
{
    char *old = NULL;
    size_t n = 0;
    bool same = fs_exists(path) && fs_read(path, WHERE_MAX, &old, &n, NULL) == RC_OK &&
                strcmp(old, text) == 0;
    mem_free(old);
    return same ? RC_OK : job_file_put(path, text, strlen(text), 0600, err);
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

enum rc pods_watcher_place(const char *jobs_dir, const struct kube_options *o,
                           const struct kube_config *c, const char *yard, char **out,
                           struct err *err)
{
    char *key = mem_printf("%s\n%s\n%s\n%s", c->server, c->ns, or_empty(o->files),
                           or_empty(o->context));
    char *dir = mem_printf("%s/shared/kubernetes-%016jx", jobs_dir,
                           (uintmax_t)hash_xxh3(key, strlen(key)));
    char *jobs = fs_join(dir, "jobs"), *where = fs_join(dir, "where");
    char *text = mem_printf("%s\n%s\n%s\n%s\n", yard, or_empty(o->files),
                            or_empty(o->context), c->ns);
    char *todo = fs_join(dir, "remove");
    enum rc rc = fs_mkdirs(jobs, 0700, err);
    if (!rc)
        rc = fs_mkdirs(todo, 0700, err);
    if (!rc)
        rc = put_if_other(where, text, err);
    if (rc)
        mem_free(dir);
    else
        *out = dir;
    mem_free(todo);
    mem_free(text);
    mem_free(where);
    mem_free(jobs);
    mem_free(key);
    return rc;
}

enum rc pods_watcher_add(const char *dir, const struct pods_row *kind, struct err *err)
{
    char *kinds = fs_join(dir, "kinds"), *path = fs_join(kinds, kind->kind->name);
    enum rc rc = fs_exists(path) ? RC_OK : fs_mkdirs(kinds, 0700, err);
    if (!rc && !fs_exists(path))
        rc = job_file_put(path, "", 0, 0600, err);
    mem_free(path);
    mem_free(kinds);
    return rc;
}

void pods_watcher_state(const char *dir, struct pods_watcher_state *out)
{
    char *path = fs_join(dir, "state"), *text = NULL;
    size_t n = 0;
    *out = (struct pods_watcher_state){.listed = 0};
    if (fs_exists(path) && fs_read(path, WHERE_MAX, &text, &n, NULL) == RC_OK) {
        struct str rest = str_c(text), first;
        if (str_split(&rest, ' ', &first) && str_to_i64(first, &out->listed))
            snprintf(out->away, sizeof(out->away), "%.*s", (int)rest.n,
                     rest.n ? rest.p : "");
    }
    mem_free(text);
    mem_free(path);
}
