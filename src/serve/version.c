/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a model, counted by their users. The one that serves has one count for
 * being current and one for each request; a reload loads the next with all its workspaces
 * before it takes a lock that requests need, exchanges the pointer, and drops the old
 * one, which its last user destroys. One lock guards the pointer and all counts, another
 * lets one reload at a time load. Whether the path leads to something new is seen by the
 * directory, and by inode and time of its manifest. Workspaces wait in a list per
 * version; who finds none waits for one.
 */
#define LOG_AREA "serve"
#include "serve/version.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

struct serve_version {
    struct train_export *export;
    struct stat manifest; /* as it was when it was loaded */
    int64_t refs;         /* guarded by versions.lock */
    pthread_mutex_t lock; /* guards `free` */
    pthread_cond_t given;
    struct serve_workspace *free;
    _Atomic int64_t *outside; /* [features]: values outside their tables */
};

struct serve_versions {
    char *path;
    int workspaces;
    pthread_mutex_t loading; /* taken before `lock` */
    pthread_mutex_t lock;    /* guards `current` and all refs */
    struct serve_version *current;
};

static void version_destroy(struct serve_version *v)
{
    if (!v)
        return;
    while (v->free) {
        struct serve_workspace *d = v->free;
        v->free = d->next;
        serve_workspace_destroy(d);
    }
    pthread_cond_destroy(&v->given);
    pthread_mutex_destroy(&v->lock);
    train_export_close(v->export);
    mem_free(v->outside);
    mem_free(v);
}

static bool has_manifest(const char *dir, struct stat *st)
{
    char *path = fs_join(dir, "manifest.json");
    bool there = stat(path, st) == 0;
    mem_free(path);
    return there;
}

/* Numbers by value, before names; names by bytes. */
static bool is_later(const char *a, const char *b)
{
    int64_t x, y;
    bool na = str_to_i64(str_c(a), &x), nb = str_to_i64(str_c(b), &y);
    if (na && nb)
        return x > y;
    return na != nb ? nb : strcmp(a, b) > 0;
}

/* The directory of the export that should serve, links followed; the caller's. */
static enum rc version_resolve(const char *path, char **out, struct err *err)
{
    struct fs_names names = {0};
    struct stat st;
    const char *best = NULL;
    char *dir = NULL;
    if (has_manifest(path, &st)) {
        dir = mem_strdup(path);
    } else {
        enum rc rc = fs_list(path, &names, err);
        if (rc)
            return rc;
        for (size_t i = 0; i < names.n; i++) {
            char *sub = fs_join(path, names.at[i]);
            if (names.at[i][0] != '.' && has_manifest(sub, &st) &&
                (!best || is_later(names.at[i], best)))
                best = names.at[i];
            mem_free(sub);
        }
        if (best)
            dir = fs_join(path, best);
        fs_names_release(&names);
    }
    if (!dir)
        return err_coded(err, RC_NOTFOUND, E2002,
                         "'%s' is not an export and contains "
                         "none",
                         path);
    char *real = realpath(dir, NULL);
    *out = mem_strdup(real ? real : dir);
    free(real);
    mem_free(dir);
    return RC_OK;
}

static enum rc version_load(const char *dir, int workspaces, struct serve_version **out,
                            struct err *err)
{
    struct serve_version *v = mem_calloc(1, sizeof(*v));
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->given, NULL);
    v->refs = 1;
    has_manifest(dir, &v->manifest);
    enum rc rc = train_export_open(dir, EXPORT_NO_PLACES, NULL, &v->export, err);
    if (!rc)
        v->outside =
            mem_calloc(feature_plan_count(train_export_session(v->export)->plan) + 1,
                       sizeof(*v->outside));
    for (int i = 0; i < workspaces && !rc; i++) {
        struct serve_workspace *d = NULL;
        rc = serve_workspace_create(v->export, &d, err);
        if (d) {
            d->next = v->free;
            v->free = d;
        }
    }
    if (rc)
        version_destroy(v);
    else
        *out = v;
    return rc;
}

enum rc serve_versions_open(const char *path, int workspaces, struct serve_versions **out,
                            struct err *err)
{
    struct serve_versions *v = mem_calloc(1, sizeof(*v));
    char *dir = NULL;
    v->path = mem_strdup(path);
    v->workspaces = workspaces;
    pthread_mutex_init(&v->loading, NULL);
    pthread_mutex_init(&v->lock, NULL);
    enum rc rc = version_resolve(path, &dir, err);
    if (!rc)
        rc = version_load(dir, workspaces, &v->current, err);
    mem_free(dir);
    if (rc)
        serve_versions_close(v);
    else
        *out = v;
    return rc;
}

void serve_versions_close(struct serve_versions *v)
{
    if (!v)
        return;
    version_destroy(v->current);
    pthread_mutex_destroy(&v->loading);
    pthread_mutex_destroy(&v->lock);
    mem_free(v->path);
    mem_free(v);
}

static bool is_same(const struct serve_version *v, const char *dir)
{
    struct stat st;
    return strcmp(train_export_dir(v->export), dir) == 0 && has_manifest(dir, &st) &&
           st.st_ino == v->manifest.st_ino &&
           st.st_mtim.tv_sec == v->manifest.st_mtim.tv_sec &&
           st.st_mtim.tv_nsec == v->manifest.st_mtim.tv_nsec;
}

enum rc serve_versions_reload(struct serve_versions *v, bool force, bool *changed,
                              struct err *err)
{
    struct serve_version *next = NULL, *old = NULL;
    char *dir = NULL;
    *changed = false;
    pthread_mutex_lock(&v->loading);
    enum rc rc = version_resolve(v->path, &dir, err);
    if (!rc && (force || !is_same(v->current, dir)))
        rc = version_load(dir, v->workspaces, &next, err);
    if (next) {
        pthread_mutex_lock(&v->lock);
        old = v->current;
        v->current = next;
        pthread_mutex_unlock(&v->lock);
        serve_versions_drop(v, old);
        *changed = true;
    }
    pthread_mutex_unlock(&v->loading);
    mem_free(dir);
    if (rc && err)
        err->code = E2109;
    return rc;
}

struct serve_version *serve_versions_hold(struct serve_versions *v)
{
    pthread_mutex_lock(&v->lock);
    struct serve_version *held = v->current;
    held->refs++;
    pthread_mutex_unlock(&v->lock);
    return held;
}

void serve_versions_drop(struct serve_versions *v, struct serve_version *held)
{
    pthread_mutex_lock(&v->lock);
    bool last = --held->refs == 0;
    pthread_mutex_unlock(&v->lock);
    if (last)
        version_destroy(held);
}

const struct train_export *serve_version_export(const struct serve_version *v)
{
    return v->export;
}

const char *serve_version_dir(const struct serve_version *v)
{
    return train_export_dir(v->export);
}

struct serve_workspace *serve_version_workspace(struct serve_version *v)
{
    pthread_mutex_lock(&v->lock);
    while (!v->free)
        pthread_cond_wait(&v->given, &v->lock);
    struct serve_workspace *d = v->free;
    v->free = d->next;
    pthread_mutex_unlock(&v->lock);
    return d;
}

/* Once for each feature and version: counters tell the rest. */
static void tell_outside(const struct feature_info *f, const struct feature_out *x)
{
    log_warn("feature '%s': %s of items[%jd] is outside its table of %ju rows and counts "
             "as 0; trainyard_values_outside_total counts such values",
             f->name, x->outside.value, (intmax_t)x->outside.row, (uintmax_t)f->rows);
}

void serve_version_count_outside(struct serve_version *v, const struct serve_workspace *d)
{
    const struct feature_batch *b = d->scorer->features;
    for (size_t i = 0; d->rows.n > 0 && i < b->n; i++) {
        const struct feature_out *x = &b->at[i];
        if (x->outside.n && atomic_fetch_add(&v->outside[i], x->outside.n) == 0)
            tell_outside(feature_plan_info(d->scorer->session->plan, i), x);
    }
}

void serve_version_print_outside(struct serve_version *v, struct buf *out)
{
    const struct feature_plan *plan = train_export_session(v->export)->plan;
    buf_puts(out, "# HELP trainyard_values_outside_total Values outside the table of "
                  "their feature, which count as 0, of the version that serves.\n"
                  "# TYPE trainyard_values_outside_total counter\n");
    for (size_t i = 0; i < feature_plan_count(plan); i++) {
        int64_t n = v->outside[i];
        if (n)
            buf_printf(out, "trainyard_values_outside_total{feature=\"%s\"} %jd\n",
                       feature_plan_info(plan, i)->name, (intmax_t)n);
    }
}

void serve_version_give_back(struct serve_version *v, struct serve_workspace *d)
{
    pthread_mutex_lock(&v->lock);
    d->next = v->free;
    v->free = d;
    pthread_cond_signal(&v->given);
    pthread_mutex_unlock(&v->lock);
}
