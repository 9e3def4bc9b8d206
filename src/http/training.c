/* SPDX-License-Identifier: Apache-2.0 */
/* Training runs: those in the directories that the server was told to show, and those in the
 * outputs of jobs. What a run says of itself (run.json, run_end.json), its checkpoints,
 * evaluations and selected features come from its files; curves from its files of events, of
 * which only what is new is read. Files may be anybody's: each is bounded, and JSON is parsed
 * and printed again.
 */
#include "http/training.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/forward.h"
#include "http/handlers.h"
#include "http/run_files.h"
#include "io/event_file.h"
#include "text/json.h"

#define FRESH_NS (2 * CLOCK_SECOND)
#define RUN_JSON_MAX ((size_t)16 << 20)
#define TEXT_MAX ((size_t)4 << 20)
#define EVALUATIONS_MAX 2000
#define CKPT "model.ckpt-"
#define EVENTS "events.out.tfevents."
#define POINTS 1000

struct http_run_list {
    const char *const *roots;
    pthread_mutex_t lock; /* guards all below */
    struct http_run_places places;
    int64_t looked; /* clock_mono_ns(); 0: never */
};

struct http_run_list *http_run_list_create(const char *const *roots)
{
    struct http_run_list *l = mem_calloc(1, sizeof(*l));
    l->roots = roots;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void http_run_list_destroy(struct http_run_list *l)
{
    if (!l)
        return;
    http_run_places_release(&l->places);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

/* With the lock. */
static void refresh(struct http_run_list *l)
{
    int64_t now = clock_mono_ns();
    if (!l->roots || (l->looked && now - l->looked < FRESH_NS))
        return;
    http_run_places_release(&l->places);
    http_run_places_find(l->roots, &l->places);
    l->looked = clock_mono_ns();
}

uint64_t http_run_list_revision(struct http_run_list *l)
{
    uint64_t h = 0;
    pthread_mutex_lock(&l->lock);
    refresh(l);
    for (size_t i = 0; i < l->places.list.n; i++) {
        const struct http_run_place *p = &l->places.list.at[i];
        h = hash_xxh3_seeded(p->id, sizeof(p->id), h);
        h = hash_xxh3_seeded(&p->changed, sizeof(p->changed), h);
    }
    pthread_mutex_unlock(&l->lock);
    return h;
}

/* Texts of *out are in the call's arena. */
static enum rc find_place(struct http_call *c, const char *id, struct http_run_place *out,
                          struct err *err)
{
    struct http_run_list *l = c->api->training;
    bool found = false;
    pthread_mutex_lock(&l->lock);
    refresh(l);
    for (size_t i = 0; i < l->places.list.n && !found; i++) {
        *out = l->places.list.at[i];
        found = strcmp(out->id, id) == 0;
    }
    if (found) {
        out->root = arena_strdup(&c->arena, out->root);
        out->name = arena_strdup(&c->arena, out->name);
        out->dir = arena_strdup(&c->arena, out->dir);
    }
    pthread_mutex_unlock(&l->lock);
    if (found)
        return RC_OK;
    c->status = 404;
    return err_coded(err, RC_NOTFOUND, E5007, "there is no training run '%.40s'", id);
}

/* A JSON object of a file, printed again; NULL: there is none, or it is not one. */
static const char *read_object(struct http_call *c, const struct http_run_files *f,
                               const char *path)
{
    const char *text = http_run_files_text(c, f, path, RUN_JSON_MAX), *out = NULL;
    struct doc d = {0};
    struct buf b;
    if (!text)
        return NULL;
    buf_init(&b, RUN_JSON_MAX * 2);
    if (json_read(path, text, strlen(text), &d, NULL) == RC_OK &&
        d.root->kind == NODE_MAP) {
        json_print(d.root, 0, &b);
        out = arena_strdup(&c->arena, buf_str(&b));
    }
    doc_release(&d);
    buf_release(&b);
    return out;
}

/* "process 12 on host x" of a lock that a killed run left behind. */
static bool lock_is_stale(const char *text)
{
    long pid = 0;
    char host[300] = "", here[300] = "";
    if (!text || sscanf(text, "process %ld on host %299s", &pid, host) != 2 || pid <= 0)
        return false;
    if (gethostname(here, sizeof(here) - 1) != 0 || strcmp(host, here) != 0)
        return false;
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* What is known of it without what it said of its end. "": another program's, which says
 * nothing. */
static const char *state_without_end(struct http_call *c, const struct http_run_files *f)
{
    if (http_run_files_find(f, ".lock"))
        return lock_is_stale(http_run_files_text(c, f, ".lock", 4096)) ? "Interrupted"
                                                                       : "Running";
    return http_run_files_find(f, "run.json") ? "Interrupted" : "";
}

static const char *state_of(struct http_call *c, const struct http_run_files *f)
{
    static const char *const known[] = {"Succeeded", "Failed", "Stopped"};
    const char *text = http_run_files_text(c, f, "run_end.json", RUN_JSON_MAX);
    const char *is = NULL;
    struct doc d = {0};
    if (text && json_read("run_end.json", text, strlen(text), &d, NULL) == RC_OK &&
        d.root->kind == NODE_MAP) {
        const char *said = node_get_text(d.root, "state", "");
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            is = strcmp(said, known[i]) == 0 ? known[i] : is;
    }
    doc_release(&d);
    return is ? is : state_without_end(c, f);
}

struct checkpoint {
    int64_t step, bytes, changed, files;
};

static int by_step(const void *a, const void *b)
{
    const struct checkpoint *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* The step of a path inside a checkpoint; -1: it is in none. */
static int64_t step_of(const char *path)
{
    struct str s = str_c(path), part;
    int64_t step = -1;
    if (strncmp(path, CKPT, sizeof(CKPT) - 1) != 0 || !strchr(path, '/') ||
        !str_split(&s, '/', &part))
        return -1;
    part.p += sizeof(CKPT) - 1;
    part.n -= sizeof(CKPT) - 1;
    return str_to_i64(part, &step) && step >= 0 ? step : -1;
}

static void put_checkpoints(struct json_out *j, const struct http_run_files *f)
{
    VEC(struct checkpoint) all = {0};
    for (size_t i = 0; i < f->list.n; i++) {
        const struct http_run_file *x = &f->list.at[i];
        int64_t step = step_of(x->path);
        size_t k = all.n; /* files of one come together, mostly */
        while (step >= 0 && k > 0 && all.at[k - 1].step != step)
            k--;
        if (step < 0)
            continue;
        if (k == 0) {
            struct checkpoint one = {.step = step};
            VEC_PUSH(&all, one);
            k = all.n;
        }
        struct checkpoint *p = &all.at[k - 1];
        p->bytes += x->bytes;
        p->changed = x->changed > p->changed ? x->changed : p->changed;
        p->files++;
    }
    if (all.n)
        qsort(all.at, all.n, sizeof(*all.at), by_step);
    json_open(j, "checkpoints", '[');
    for (size_t i = 0; i < all.n; i++) {
        json_open(j, NULL, '{');
        json_put_int(j, "step", all.at[i].step);
        json_put_int(j, "bytes", all.at[i].bytes);
        json_put_int(j, "files", all.at[i].files);
        json_put_time(j, "changed", all.at[i].changed);
        json_close(j, '}');
    }
    json_close(j, ']');
    VEC_RELEASE(&all);
}

/* A line of JSON for each; the last ones. */
static void put_evaluations(struct http_call *c, const struct http_run_files *f)
{
    const char *text = http_run_files_text(c, f, "train_eval_result_v2.txt", TEXT_MAX);
    struct str rest = str_c(text ? text : ""), line;
    size_t n = 0, skip = 0;
    for (const char *p = text; p && *p; p++)
        n += *p == '\n';
    skip = n > EVALUATIONS_MAX ? n - EVALUATIONS_MAX : 0;
    json_open(&c->json, "evaluations", '[');
    while (rest.n && str_split(&rest, '\n', &line)) {
        struct doc d = {0};
        struct buf b;
        if (skip) {
            skip--;
            continue;
        }
        buf_init(&b, TEXT_MAX);
        if (line.n && json_read("a result", line.p, line.n, &d, NULL) == RC_OK &&
            d.root->kind == NODE_MAP) {
            json_print(d.root, 0, &b);
            json_put_raw(&c->json, NULL, buf_str(&b));
        }
        doc_release(&d);
        buf_release(&b);
    }
    json_close(&c->json, ']');
}

/* feature_selection/feature_dropout_ratio_GROUP.csv of `trainyard features select`. */
static void put_importance(struct http_call *c, const struct http_run_files *f)
{
    static const char before[] = "feature_selection/feature_dropout_ratio_";
    json_open(&c->json, "importance", '[');
    for (size_t i = 0; i < f->list.n; i++) {
        const char *path = f->list.at[i].path;
        size_t n = strlen(path);
        if (strncmp(path, before, sizeof(before) - 1) != 0 || n < 4 ||
            strcmp(path + n - 4, ".csv") != 0)
            continue;
        const char *text = http_run_files_text(c, f, path, TEXT_MAX);
        struct str rest = str_c(text ? text : ""), line, name;
        json_open(&c->json, NULL, '{');
        json_put_str(&c->json, "group",
                     arena_strndup(&c->arena, path + sizeof(before) - 1,
                                   n - 4 - (sizeof(before) - 1)));
        json_open(&c->json, "features", '[');
        while (rest.n && str_split(&rest, '\n', &line)) {
            double drop;
            if (!str_split(&line, ',', &name) || !str_to_f64(line, &drop))
                continue; /* the head */
            json_open(&c->json, NULL, '{');
            json_put_str(&c->json, "name", arena_strndup(&c->arena, name.p, name.n));
            json_put_num(&c->json, "drop", drop);
            json_close(&c->json, '}');
        }
        json_close(&c->json, ']');
        json_close(&c->json, '}');
    }
    json_close(&c->json, ']');
}

static void put_run(struct http_call *c, const struct http_run_files *f, const char *id,
                    const char *name)
{
    struct json_out *j = &c->json;
    const char *about = read_object(c, f, "run.json"),
               *end = read_object(c, f, "run_end.json"),
               *config = http_run_files_text(c, f, "pipeline.config", TEXT_MAX);
    int64_t bytes = 0, changed = 0;
    for (size_t i = 0; i < f->list.n; i++) {
        bytes += f->list.at[i].bytes;
        if (f->list.at[i].changed > changed)
            changed = f->list.at[i].changed;
    }
    json_open(j, NULL, '{');
    json_put_str(j, "id", id);
    json_put_str(j, "name", name);
    json_put_str(j, "state", state_of(c, f));
    json_put_time(j, "changed", changed);
    json_put_int(j, "bytes", bytes);
    json_put_int(j, "files", (int64_t)f->list.n);
    json_put_bool(j, "more", f->list.n >= RUN_FILES_MAX);
    put_checkpoints(j, f);
    put_evaluations(c, f);
    put_importance(c, f);
    if (config)
        json_put_str(j, "config", config);
    if (about)
        json_put_raw(j, "about", about);
    if (end)
        json_put_raw(j, "end", end);
    json_close(j, '}');
}

/* The word behind "model" in the first bytes of run.json; "": none. */
static const char *model_of(struct http_call *c, const struct http_run_files *f)
{
    char head[400];
    int fd = http_run_files_open(c, f, "run.json");
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return "";
    head[n] = '\0';
    const char *at = strstr(head, "\"model\":\"");
    if (!at)
        return "";
    at += strlen("\"model\":\"");
    return arena_strndup(&c->arena, at,
                         strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_"));
}

/* What the list says of one: files that tell it, by their names. */
static void put_line(struct http_call *c, const struct http_run_place *p)
{
    static const char *const names[] = {"run.json", "run_end.json", ".lock"};
    struct http_run_files f = {.root = p->root,
                               .below = arena_printf(&c->arena, "%s/", p->name)};
    struct http_run_file known[ARRAY_LEN(names)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        known[i] = (struct http_run_file){.path = names[i]};
        struct http_run_files one = {.root = f.root, .below = f.below};
        one.list.at = &known[i];
        one.list.n = 1;
        int fd = http_run_files_open(c, &one, names[i]);
        if (fd < 0)
            continue;
        close(fd);
        VEC_PUSH(&f.list, known[i]);
    }
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "id", p->id);
    json_put_str(&c->json, "name", p->name);
    json_put_str(&c->json, "root", p->root);
    json_put_str(&c->json, "model", model_of(c, &f));
    json_put_str(&c->json, "state", state_of(c, &f));
    json_put_time(&c->json, "changed", p->changed);
    json_close(&c->json, '}');
    http_run_files_release(&f);
}

enum rc http_list_training(struct http_call *c, struct err *err)
{
    struct http_run_list *l = c->api->training;
    VEC(struct http_run_place) all = {0};
    pthread_mutex_lock(&l->lock);
    refresh(l);
    bool more = l->places.more;
    for (size_t i = 0; i < l->places.list.n; i++) {
        struct http_run_place p = l->places.list.at[i];
        p.root = arena_strdup(&c->arena, p.root);
        p.name = arena_strdup(&c->arena, p.name);
        VEC_PUSH(&all, p);
    }
    pthread_mutex_unlock(&l->lock);
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "runs", '[');
    for (size_t i = 0; i < all.n; i++)
        put_line(c, &all.at[i]);
    json_close(&c->json, ']');
    json_put_bool(&c->json, "more", more);
    json_put_bool(&c->json, "shown", l->roots && l->roots[0]);
    json_close(&c->json, '}');
    VEC_RELEASE(&all);
    return RC_OK;
}

enum rc http_get_training(struct http_call *c, struct err *err)
{
    struct http_run_place at;
    struct http_run_files f = {0};
    enum rc rc = find_place(c, c->params[0], &at, err);
    if (!rc)
        rc = http_run_files_of_dir(&at, &f, err);
    if (!rc)
        put_run(c, &f, at.id, at.name);
    http_run_files_release(&f);
    return rc;
}

enum rc http_get_job_training(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct job_outputs all = {0};
    struct http_run_files f = {0};
    enum http_files where;
    enum rc rc = http_call_outputs(c, &jobs, &where, err);
    bool away = !rc && where == FILES_AWAY;
    if (away)
        rc = http_forward(c, jobs.at[0].node, err);
    store_jobs_release(&jobs);
    if (rc || away)
        return rc;
    if (where == FILES_STORED) {
        c->status = 404;
        return err_coded(err, RC_NOTFOUND, E5007,
                         "the outputs of the job lie in the store of artifacts");
    }
    rc = job_outputs_read(&c->place, c->params[0], &all, err);
    if (rc)
        return rc;
    rc = http_run_files_of_job(c, &all, &f, err);
    if (!rc)
        put_run(c, &f, c->params[0],
                arena_printf(&c->arena, "%s/%s", f.channel, f.below));
    http_run_files_release(&f);
    job_outputs_release(&all);
    return rc;
}

struct reading {
    struct http_curves *curves;
    const char *before; /* of the tags of this file */
    const char *only;   /* NULL: all */
};

static void take_event(void *arg, const struct io_event *e)
{
    struct reading *r = arg;
    char name[EVENT_TAG_MAX + 16];
    if (e->restart) {
        size_t n = strlen(r->before);
        for (size_t i = 0; i < r->curves->at.n; i++)
            if (n == 0 || strncmp(r->curves->at.at[i].name, r->before, n) == 0)
                http_thin_cut(&r->curves->at.at[i].thin, e->step);
        return;
    }
    snprintf(name, sizeof(name), "%s%s", r->before, e->tag);
    if (!r->only || strcmp(r->only, name) == 0)
        http_curves_add(r->curves, name, 0, e->step, e->time, e->value);
}

static int by_path(const void *a, const void *b)
{
    const struct http_run_file *const *x = a, *const *y = b;
    return strcmp((*x)->path, (*y)->path);
}

static struct http_curve_file *place_in(struct http_curves *l, const char *path)
{
    for (size_t i = 0; i < l->files.n; i++)
        if (strcmp(l->files.at[i].path, path) == 0)
            return &l->files.at[i];
    struct http_curve_file one = {.path = mem_strdup(path)};
    VEC_PUSH(&l->files, one);
    return &l->files.at[l->files.n - 1];
}

/* Whether what was read before is still what the files begin with. */
static bool still_good(const struct http_curves *l, const struct http_run_files *f)
{
    for (size_t i = 0; i < l->files.n; i++) {
        const struct http_run_file *x = http_run_files_find(f, l->files.at[i].path);
        if (!x || x->bytes < l->files.at[i].offset)
            return false;
    }
    return true;
}

/* A file that is not one of events to its end is shown as far as it is. */
static void read_events(struct http_call *c, const struct http_run_files *f,
                        struct http_curves *l)
{
    VEC(const struct http_run_file *) all = {0};
    for (size_t i = 0; i < f->list.n; i++) {
        const char *path = f->list.at[i].path, *slash = strrchr(path, '/');
        if (strncmp(slash ? slash + 1 : path, EVENTS, sizeof(EVENTS) - 1) == 0)
            VEC_PUSH(&all, &f->list.at[i]);
    }
    if (all.n)
        qsort(all.at, all.n, sizeof(*all.at), by_path); /* names begin with the time */
    for (size_t i = 0; i < all.n; i++) {
        const char *path = all.at[i]->path, *slash = strrchr(path, '/');
        struct http_curve_file *at = place_in(l, path);
        if (at->offset >= all.at[i]->bytes)
            continue;
        struct reading r = {
            .curves = l,
            .only = http_schema_text(c->query, "name", NULL),
            .before =
                slash ? arena_printf(&c->arena, "%.*s/", (int)(slash - path), path) : ""};
        int fd = http_run_files_open(c, f, path);
        if (fd < 0)
            continue;
        if (io_event_read(fd, &at->offset, take_event, &r, NULL))
            at->offset = all.at[i]->bytes; /* nothing behind it can be told */
        close(fd);
    }
    VEC_RELEASE(&all);
}

enum rc http_list_training_series(struct http_call *c, struct err *err)
{
    struct http_run_place at;
    struct http_run_files f = {0};
    enum rc rc = find_place(c, c->params[0], &at, err);
    if (!rc)
        rc = http_run_files_of_dir(&at, &f, err);
    if (rc)
        return rc;
    int64_t points = http_schema_int(c->query, "points", POINTS);
    const char *key =
        arena_printf(&c->arena, "run %s %jd %s", c->params[0], (intmax_t)points,
                     http_schema_text(c->query, "name", ""));
    struct http_curves *l = http_curve_cache_take(c->api->curves, key);
    if (l && !still_good(l, &f)) {
        http_curves_destroy(l);
        l = NULL;
    }
    if (!l)
        l = http_curves_create((size_t)points);
    read_events(c, &f, l);
    http_curves_put(&c->json, l);
    http_curve_cache_give(c->api->curves, key, l);
    http_run_files_release(&f);
    return RC_OK;
}
