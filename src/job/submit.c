/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be wrong is looked at before anything is made: the spec, channels,
 * object stores (with the submitter's own key). Then files (code, variables, secrets) are
 * put into the job's directory, and the first events and the index row are written in one
 * transaction: a job exists when that has succeeded, and not before. A client token makes it
 * safe to try again: the job of that token is answered instead.
 */
#include "job/submit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/access.h"
#include "job/artifacts.h"
#include "job/bucket.h"
#include "job/environ.h"
#include "job/gate.h"
#include "job/inputs.h"
#include "job/isolation.h"
#include "job/metric.h"
#include "job/secret.h"
#include "job/state.h"
#include "job/status.h"

#define SPEC_MOST ((size_t)64 << 20)
#define GUEST_SPEC_MOST ((size_t)1 << 20) /* of a server's user */

/* Relative paths of inputs and outputs become absolute: the job runs elsewhere. */
static void absolute_paths(struct job_spec *s, const char *field, const char *cwd)
{
    struct node *map = node_find(s->conf.doc.root, field);
    for (size_t i = 0; map && map->kind == NODE_MAP && i < map->map.n; i++) {
        struct node *v = map->map.at[i].value;
        if (v->kind != NODE_STR || !v->text.n || v->text.p[0] == '/' ||
            strchr(v->text.p, ':'))
            continue;
        char *full = fs_join(cwd, v->text.p);
        if (fs_exists(full))
            map->map.at[i].value =
                node_str(&s->conf.doc.arena, full, strlen(full), v->at);
        mem_free(full);
    }
}

/* A job of an array has its index behind it. */
static void put_name(struct job_spec *s, const char *name)
{
    struct jobspec_array_element e;
    if (!s->s->has_array_element ||
        !jobspec_array_element_read(str_c(s->s->array_element), &e)) {
        job_spec_put(s, "name", name);
        return;
    }
    char *full = mem_printf("%.40s-%jd", name, (intmax_t)e.index);
    job_spec_put(s, "name", full);
    mem_free(full);
}

/* The program's name, as far as a job's name may hold it. */
static void default_name(struct job_spec *s)
{
    const char *first = s->argv ? s->argv[0] : s->shell ? s->shell : "job";
    size_t n = strcspn(first, " \t\n;&|");
    const char *start = first;
    char name[64] = "";
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (first[i] == '/')
            start = first + i + 1;
    for (; start < first + n && k + 1 < sizeof(name); start++)
        name[k++] = jobspec_check_name(str_of(start, 1)) ? '_' : *start;
    name[k] = '\0';
    put_name(s, k ? name : "job");
}

/* Object stores are asked now, with the submitter's own key: an input must be there, and
 * its address gets the form from which a supervisor sees whether it is one object.
 */
static enum rc ask_stores(struct job_spec *s, const struct job_channels *c,
                          struct err *err)
{
    struct node *inputs = node_find(s->conf.doc.root, "input");
    enum rc rc = RC_OK;
    for (size_t i = 0; i < c->list.n && !rc; i++) {
        const struct job_channel *ch = &c->list.at[i];
        const char *found = NULL;
        if (!ch->uri || ch->is_table || ch->is_upload)
            continue;
        if (ch->kind == CHANNEL_OUTPUT) {
            rc = job_bucket_reach(ch->uri, err);
        } else {
            rc = job_bucket_find(ch->uri, &s->conf.doc.arena, &found, err);
            struct node *v =
                ch->kind == CHANNEL_INPUT ? node_find(inputs, ch->name) : NULL;
            if (!rc && v && job_bucket_is(v->text.p))
                node_put(&s->conf.doc.arena, inputs, ch->name,
                         node_str(&s->conf.doc.arena, found, strlen(found), v->at));
        }
        if (rc)
            err_wrap(err, rc, "%s '%.100s'",
                     ch->kind == CHANNEL_OUTPUT    ? "output"
                     : ch->kind == CHANNEL_DATASET ? "dataset"
                                                   : "input",
                     ch->name);
    }
    return rc;
}

/* What the submission brings along; lists have NULL behind the last. */
struct given {
    const char *const *env, *const *secrets;
    enum job_access access;
    const struct job_isolation *isolation; /* NULL: none */
    struct job_isolation stricter;         /* by the gate */
    char chosen[JOB_CHOSEN_SIZE]; /* why `auto` came to its backend; "": it did not */
};

/* Inputs that were sent beside the program. */
static enum rc check_uploads(const struct job_place *p, const struct job_channels *c,
                             struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < c->list.n && !rc; i++) {
        const struct job_channel *ch = &c->list.at[i];
        struct job_snapshot s;
        if (!ch->is_upload)
            continue;
        const char *id = ch->uri + strlen(SNAPSHOT_PREFIX);
        char *objects = job_place_snapshot(p, p->owner, id);
        rc = job_artifacts_settle(p, p->owner, id, err);
        if (!rc)
            rc = job_snapshot_need(objects, id, true, &s, err);
        mem_free(objects);
        if (rc)
            err_wrap(err, rc, "input '%.100s'", ch->name);
    }
    return rc;
}

/* Those that it waits for are named by whole ids, and are there. */
static enum rc check_after(const struct job_place *p, const char *const *ids, int64_t n,
                           struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i++) {
        int64_t seq;
        rc = job_id_ok(ids[i])
                 ? store_seq(p->store, ids[i], &seq, err)
                 : err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", ids[i]);
    }
    return rc;
}

/* What a server's administrator has to say about it. */
static enum rc pass_gate(const struct job_place *p, const struct job_spec *s,
                         struct given *g, struct err *err)
{
    g->isolation = p->isolation;
    if (!p->gate || !job_access_is_guest(p))
        return RC_OK;
    if (p->isolation) {
        g->stricter = *p->isolation;
        g->isolation = &g->stricter;
    }
    return p->gate->check(p->gate->arg, p, s, p->isolation ? &g->stricter : NULL, err);
}

/* Every job takes room in the store and on the disk, long before it starts. */
static enum rc check_number(const struct job_place *p, struct err *err)
{
    int64_t n = 0;
    if (p->most_jobs <= 0 || !job_access_is_guest(p))
        return RC_OK;
    enum rc rc = store_count_in(p->store, p->owner, job_live_states(), &n, err);
    if (!rc && n >= p->most_jobs)
        rc = err_coded(err, RC_INVAL, E3023,
                       "%jd jobs of '%.100s' wait or run, the most (--user-jobs)",
                       (intmax_t)n, p->owner);
    return rc;
}

static enum rc check_all(const struct job_place *p, struct job_spec *s, const char *cwd,
                         struct given *g, struct err *err)
{
    struct job_channels channels = {0};
    struct job_metric_set *metrics = NULL;
    enum rc rc = job_channels_resolve(p, p->owner, s, cwd, NULL, &channels, err);
    if (!rc)
        rc = check_uploads(p, &channels, err);
    if (!rc)
        rc = job_metric_open(s, &metrics, err);
    job_metric_close(metrics);
    if (!rc)
        rc = check_after(p, s->s->after, s->s->n_after, err);
    if (!rc)
        rc = check_after(p, s->s->after_ok, s->s->n_after_ok, err);
    if (!rc && s->s->has_array) /* whoever submits makes one job per index of it */
        rc =
            err_coded(err, RC_INVAL, E3002,
                      "'array' is one job per index: submit each with its array_element");
    if (!rc && !s->shell && !s->argv)
        rc = err_coded(err, RC_INVAL, E3001, "the job has no command");
    if (!rc)
        rc = job_access_choose(p, &channels, g->secrets, &g->access, err);
    /* Somebody else's keys would be needed for somebody else's job. */
    if (!rc && g->env == (const char *const *)environ && g->access == ACCESS_SUBMITTER)
        rc = ask_stores(s, &channels, err);
    job_channels_release(&channels);
    return rc;
}

static enum rc fill_in(struct job_spec *s, const char *cwd, size_t most, struct err *err)
{
    absolute_paths(s, "input", cwd);
    absolute_paths(s, "output", cwd);
    job_secrets_absolute(s, cwd);
    if (!s->s->has_name)
        default_name(s);
    job_spec_put(s, "workdir", cwd);
    if (s->s->has_source && !str_starts(s->s->source, SNAPSHOT_PREFIX)) {
        char *full = fs_join(cwd, s->s->source);
        job_spec_put(s, "source", full);
        mem_free(full);
    }
    struct buf b;
    buf_init(&b, SPEC_MOST);
    job_spec_print(s, &b);
    struct job_spec again;
    enum rc rc = buf_check(&b, err);
    if (!rc && b.n > most)
        rc = err_coded(
            err, RC_INVAL, E3023,
            "the description of the job takes %zu KiB, more than %zu; put what is "
            "large into a file of the program or an input",
            b.n >> 10, most >> 10);
    if (!rc)
        rc = job_spec_from_json(buf_str(&b), &again, err);
    buf_release(&b);
    if (rc)
        return rc;
    job_spec_release(s);
    *s = again;
    return RC_OK;
}

static enum rc keep_env(const struct job_spec *s, const char *dir, const struct given *g,
                        struct err *err)
{
    char *plain = fs_join(dir, "env.json"), *keys = fs_join(dir, "access.json");
    enum rc rc = job_environ_write(plain, g->env,
                                   s->s->inherit ? NULL : job_environ_is_plain, err);
    if (!rc)
        rc = job_access_keep(g->access, keys, g->env, g->secrets, err);
    mem_free(keys);
    mem_free(plain);
    return rc;
}

/* A directory is copied; a snapshot that was sent must be here in full. */
static enum rc take_source(const struct job_place *p, const char *source,
                           struct job_snapshot *out, struct err *err)
{
    bool sent = str_starts(source, SNAPSHOT_PREFIX);
    const char *id = source + strlen(SNAPSHOT_PREFIX);
    char *objects = sent ? job_place_snapshot(p, p->owner, id) : job_place_objects(p);
    enum rc rc = RC_OK;
    if (sent && job_snapshot_is_empty(id)) /* of a schedule that another server took */
        rc = job_snapshot_object_put(objects, id, SNAPSHOT_EMPTY_LIST,
                                     strlen(SNAPSHOT_EMPTY_LIST), NULL, err);
    if (!rc && sent)
        rc = job_artifacts_settle(p, p->owner, id, err);
    if (!rc)
        rc = sent ? job_snapshot_need(objects, id, false, out, err)
                  : job_snapshot_take(objects, source, out, err);
    if (!rc && !sent)
        rc = job_artifacts_settle(p, p->owner, out->id, err);
    mem_free(objects);
    return rc;
}

static enum rc make_files(const struct job_place *p, const struct job_spec *s,
                          const char *dir, const struct given *g,
                          struct job_submit_result *r, struct err *err)
{
    static const char *const subs[] = {"logs", "run"};
    char *secrets = fs_join(dir, "secrets.json");
    enum rc rc = fs_mkdirs(dir, 0700, err);
    for (size_t i = 0; i < ARRAY_LEN(subs) && !rc; i++) {
        char *sub = fs_join(dir, subs[i]);
        rc = fs_mkdirs(sub, 0700, err);
        mem_free(sub);
    }
    if (!rc && s->s->has_source) {
        rc = take_source(p, s->s->source, &r->snapshot, err);
        r->copied = true;
    }
    if (!rc)
        rc = keep_env(s, dir, g, err);
    if (!rc)
        rc = job_secrets_capture(s, g->secrets, secrets, err);
    if (!rc && g->isolation && (g->isolation->count || s->s->has_image))
        rc = job_isolation_write(p, g->isolation, dir, err);
    mem_free(secrets);
    return rc;
}

static void put_ids(struct buf *b, const char *name, const char *const *ids, int64_t n)
{
    if (!n)
        return;
    buf_printf(b, "%s\"%s\": [", b->n > 1 ? ", " : "", name);
    for (int64_t i = 0; i < n; i++)
        buf_printf(b, "%s\"%s\"", i ? ", " : "", ids[i]);
    buf_putc(b, ']');
}

/* What the queue has to know beside the row, as JSON; "" when there is nothing. */
static const char *terms_of(const struct job_spec *s, struct arena *a)
{
    struct jobspec_array_element e;
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_putc(&b, '{');
    put_ids(&b, "after", s->s->after, s->s->n_after);
    put_ids(&b, "after_ok", s->s->after_ok, s->s->n_after_ok);
    if (s->s->has_array_element &&
        jobspec_array_element_read(str_c(s->s->array_element), &e))
        buf_printf(&b, "%s\"array\": \"%s\", \"array_index\": %jd, \"array_limit\": %jd",
                   b.n > 1 ? ", " : "", e.id, (intmax_t)e.index, (intmax_t)e.limit);
    if (s->s->preemptible)
        buf_printf(&b, "%s\"preemptible\": true", b.n > 1 ? ", " : "");
    if (s->queue_timeout_s > 0)
        buf_printf(&b, "%s\"queue_timeout_s\": %g", b.n > 1 ? ", " : "",
                   s->queue_timeout_s);
    buf_putc(&b, '}');
    const char *text = b.n > 2 ? arena_strndup(a, buf_str(&b), b.n) : "";
    buf_release(&b);
    return text;
}

static size_t first_events(const struct job_place *p, const struct job_submit_result *r,
                           const char *chosen, const char *terms, struct arena *a,
                           struct store_event out[4])
{
    int64_t now = clock_wall_ns();
    size_t n = 0;
    out[n++] = (struct store_event){.time = now,
                                    .type = job_event_name(EV_Submitted),
                                    .worker = -1,
                                    .message = arena_printf(a, "by %s", p->owner),
                                    .data = terms};
    if (*chosen)
        out[n++] = (struct store_event){.time = now,
                                        .type = job_event_name(EV_BackendChosen),
                                        .worker = -1,
                                        .message = chosen};
    if (r->copied)
        out[n++] = (struct store_event){
            .time = now,
            .type = job_event_name(EV_Staged),
            .worker = -1,
            .message =
                arena_printf(a, "%jd files, %jd bytes copied",
                             (intmax_t)r->snapshot.files, (intmax_t)r->snapshot.bytes),
            .data =
                arena_printf(a, "{\"snapshot\": \"%s\", \"files\": %jd, \"bytes\": %jd}",
                             r->snapshot.id, (intmax_t)r->snapshot.files,
                             (intmax_t)r->snapshot.bytes)};
    out[n++] = (struct store_event){.time = now,
                                    .type = job_event_name(EV_StateChanged),
                                    .worker = -1,
                                    .reason = job_reason_name(WHY_JobEnqueued),
                                    .data = "{\"state\": \"Queuing\"}"};
    return n;
}

static enum rc write_record(const struct job_place *p, const struct job_spec *s,
                            const char *chosen, struct job_submit_result *r,
                            struct err *err)
{
    struct arena a = {0};
    struct store_event events[4];
    struct store_label *labels =
        arena_alloc(&a, ((size_t)s->s->n_label + 1) * sizeof(*labels));
    struct buf text;
    buf_init(&text, 64 << 20);
    job_spec_print(s, &text);
    for (int64_t i = 0; i < s->s->n_label; i++)
        labels[i] = (struct store_label){.key = s->s->label[i].key,
                                         .value = s->s->label[i].value};
    const char *terms = terms_of(s, &a);
    const char *status = *terms ? arena_printf(&a, "{\"terms\": %s}", terms) : "{}";
    struct store_job row = {.id = r->id,
                            .name = s->s->name,
                            .owner = p->owner,
                            .token = s->s->client_token,
                            .state = job_state_name(JOB_Queuing),
                            .reason = job_reason_name(WHY_JobEnqueued),
                            .queue = s->s->queue,
                            .backend = s->backend,
                            .node = p->node,
                            .project = s->s->project,
                            .status = status,
                            .priority = s->s->priority,
                            .created = clock_wall_ns(),
                            .cpu_milli = s->total_cpu,
                            .memory = s->total_mem,
                            .gpu = s->total_gpu,
                            .timeout_s = (int64_t)s->timeout_s,
                            .workers = s->workers};
    struct store_new job = {.row = &row,
                            .spec = buf_str(&text),
                            .labels = labels,
                            .n_labels = (size_t)s->s->n_label,
                            .events = events,
                            .n_events = first_events(p, r, chosen, terms, &a, events)};
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = store_create(p->store, &job, &r->existed, err);
    buf_release(&text);
    arena_release(&a);
    return rc;
}

static enum rc find_older(const struct job_place *p, const char *token,
                          struct job_submit_result *r, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_by_token(p->store, p->owner, token, &jobs, err);
    if (rc)
        return rc;
    snprintf(r->id, sizeof(r->id), "%s", jobs.at[0].id);
    store_jobs_release(&jobs);
    r->existed = true;
    return RC_OK;
}

enum rc job_submit(const struct job_place *p, struct job_spec *s, const char *const *env,
                   const char *cwd, struct job_submit_result *out, struct err *err)
{
    return job_submit_with(p, s, env, env, cwd, out, err);
}

enum rc job_submit_with(const struct job_place *p, struct job_spec *s,
                        const char *const *env, const char *const *secrets,
                        const char *cwd, struct job_submit_result *out, struct err *err)
{
    static const char *const none[] = {NULL};
    struct given given = {.env = env, .secrets = secrets};
    if (secrets == env && job_access_is_guest(p))
        given.secrets = none; /* the variables of a server are not its users' */
    struct job_submit_result r = {.existed = false};
    /* A token that is known needs no second copy of the code. */
    if (s->s->has_client_token && find_older(p, s->s->client_token, &r, NULL) == RC_OK) {
        *out = r;
        return RC_OK;
    }
    enum rc rc = check_number(p, err);
    if (!rc && job_spec_auto(s) && p->choose)
        rc = p->choose(p, s, given.chosen, err);
    if (!rc)
        rc = pass_gate(p, s, &given, err);
    if (!rc)
        rc = check_all(p, s, cwd, &given, err);
    if (!rc)
        rc = fill_in(s, cwd, job_access_is_guest(p) ? GUEST_SPEC_MOST : SPEC_MOST, err);
    if (!rc)
        rc = job_id_new(r.id, err);
    if (rc)
        return rc;
    char *dir = job_place_dir(p, r.id);
    rc = make_files(p, s, dir, &given, &r, err);
    if (!rc)
        rc = write_record(p, s, given.chosen, &r, err);
    if (rc || r.existed) {
        enum rc gone = fs_remove_all(dir, NULL);
        (void)gone; /* what is left is nobody's and harmless */
    }
    mem_free(dir);
    if (!rc && r.existed)
        rc = find_older(p, s->s->client_token, &r, err);
    if (!rc)
        *out = r;
    return rc;
}
