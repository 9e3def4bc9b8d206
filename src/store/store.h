/* SPDX-License-Identifier: Apache-2.0 */
/* store/store.h - the record of jobs: an append-only log of events for each, an index for
 * lists and filters, metrics, and named datasets.
 *
 * One SQLite file (any number of processes of one machine), or a PostgreSQL database
 * named by a URL; both keep the same promises:
 *   - the events of a job are numbered 1, 2, 3 ... without holes and never change;
 *   - store_append() succeeds only for a caller who has seen every event so far, so two
 *     writers cannot interleave unnoticed;
 *   - events and the index row that follows from them change together or not at all.
 * What the texts mean is the business of job/. A struct store is used by one thread at a
 * time. Codes: E31xx.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define STORE_ROWS_MAX 10000 /* of one answer */

struct store;

/* `where`: a file (made when it is not there, with its directory) or
 * postgresql://user@host/db. Brings the tables to this version first. RC_NOTFOUND, RC_IO:
 * cannot be opened or reached; RC_UNSUPPORTED: written by a newer version.
 */
enum rc store_open(const char *where, struct store **out, struct err *err) MUST_CHECK;
void store_close(struct store *s); /* NULL is fine */
/* How long a statement waits for others that hold the database; 20 s unless told. Then it
 * fails with RC_IO (E3102).
 */
void store_set_patience(struct store *s, int64_t ms);
const char *store_kind(const struct store *s); /* "sqlite", "postgresql" */
/* True when `where` names a server rather than a file. */
bool store_is_url(const char *where);
int64_t store_version(const struct store *s); /* of the tables */

/* The index row of a job. Texts of a row that is read lie in the arena of their list and
 * are never NULL; of a row that is written they are the caller's, and NULL is "".
 */
struct store_job {
    int64_t num; /* order of creation; read only */
    int64_t seq; /* last event; see store_append() */
    const char *id, *name, *owner;
    const char *token; /* "" when there is none */
    const char *state, *reason, *queue, *backend;
    const char *node;    /* the machine and directory that runs it */
    const char *project; /* "" when it belongs to none */
    const char *status;  /* JSON, the rest of what the events amount to */
    int64_t priority, attempt;
    int64_t created, started, finished; /* wall clock, ns; 0 when not yet */
    int64_t cpu_milli, memory, gpu;     /* of all workers together */
    int64_t timeout_s, workers;
};

struct store_label {
    const char *key, *value;
};

struct store_event {
    int64_t seq;  /* read only */
    int64_t time; /* wall clock, ns */
    const char *type, *reason, *message;
    const char *data;        /* JSON object or "" */
    int64_t attempt, worker; /* worker -1: the job as a whole */
};

struct store_jobs {
    struct arena arena;
    struct store_job *at;
    size_t n;
};
void store_jobs_release(struct store_jobs *l);

struct store_events {
    struct arena arena;
    struct store_event *at;
    size_t n;
};
void store_events_release(struct store_events *l);

/* Records a new job with its first events. When the owner has given the same token
 * before, nothing is written, *existed is true and row->id is not used: store_by_token()
 * finds the other one.
 */
struct store_new {
    const struct store_job *row; /* `seq` is not looked at */
    const char *spec;            /* JSON, kept as it is */
    const struct store_label *labels;
    size_t n_labels;
    const struct store_event *events;
    size_t n_events;
};
enum rc store_create(struct store *s, const struct store_new *job, bool *existed,
                     struct err *err) MUST_CHECK;

/* Adds events behind event row->seq and writes the index fields of `row` (all but num,
 * id, name, owner, token, project, created). RC_CANCELED (E3104): there are other events
 * by now; read them and decide again.
 */
enum rc store_append(struct store *s, const struct store_job *row,
                     const struct store_event *events, size_t n,
                     struct err *err) MUST_CHECK;

/* RC_NOTFOUND (E3103) when there is none. out->n is 1 on success. */
enum rc store_get(struct store *s, const char *id, struct store_jobs *out,
                  struct err *err) MUST_CHECK;
enum rc store_by_token(struct store *s, const char *owner, const char *token,
                       struct store_jobs *out, struct err *err) MUST_CHECK;
/* The caller's, to mem_free(). */
enum rc store_spec(struct store *s, const char *id, char **out,
                   struct err *err) MUST_CHECK;
/* Number of the last event; cheap. */
enum rc store_seq(struct store *s, const char *id, int64_t *seq,
                  struct err *err) MUST_CHECK;

/* Every field that is set must fit; NULL and 0 are "any". */
struct store_filter {
    const char *states; /* "Running,Queuing" */
    const char *owner, *queue, *node, *backend, *project;
    /* Of this owner or of one of these projects (names with ',' between them); both NULL:
     * any. What a user may see.
     */
    const char *seen_by, *seen_projects;
    const char *name; /* part of it, in any case */
    const char *id;   /* its beginning */
    const char *label_key, *label_value;
    const char *without_label; /* only jobs that have no label of this name */
    int64_t since, until;      /* creation, ns */
    int64_t ended_since;       /* end, ns; those that live have none */
    int64_t before;            /* num of the last row of the page before; 0: first page */
    size_t limit;              /* 0: STORE_ROWS_MAX */
    bool oldest_first;         /* then `before` means behind */
};
/* Newest first. */
enum rc store_list(struct store *s, const struct store_filter *f, struct store_jobs *out,
                   struct err *err) MUST_CHECK;

struct store_count {
    char state[24];
    int64_t n;
};
/* Of all jobs, by state, at most `max`; *n of them. */
enum rc store_counts(struct store *s, struct store_count *out, size_t max, size_t *n,
                     struct err *err) MUST_CHECK;
/* The same of those that `seen_by` and `seen_projects` of the filter let through. */
enum rc store_counts_of(struct store *s, const struct store_filter *f,
                        struct store_count *out, size_t max, size_t *n,
                        struct err *err) MUST_CHECK;
/* How many jobs of `owner` are in one of these states ("Running,Queuing"). For states that few
 * jobs are in: however many others the owner has costs nothing.
 */
enum rc store_count_in(struct store *s, const char *owner, const char *states, int64_t *n,
                       struct err *err) MUST_CHECK;
/* Numbers of which at least one is another after something changed. `live`: the states that jobs
 * go on from, as above; only those are read. */
struct store_revision {
    int64_t jobs;         /* how many there are */
    int64_t live, events; /* those that go on, and what happened to them */
    int64_t records;      /* entries of the audit log */
};
enum rc store_revision(struct store *s, const char *live, struct store_revision *out,
                       struct err *err) MUST_CHECK;
/* Events with a number above `after`, in order. */
enum rc store_events_get(struct store *s, const char *id, int64_t after, size_t limit,
                         struct store_events *out, struct err *err) MUST_CHECK;

/* One value of a metric. The place (attempt, worker, at) makes it unique: adding a point
 * again changes nothing, so a reader of logs may start over.
 */
struct store_point {
    const char *name;
    int64_t attempt, worker, at;
    int64_t time; /* ns */
    int64_t step; /* -1: none */
    double value;
};
struct store_points {
    struct arena arena;
    struct store_point *at;
    size_t n;
    int64_t next; /* cursor for the next page */
};
void store_points_release(struct store_points *l);
enum rc store_points_add(struct store *s, const char *id,
                         const struct store_point *points, size_t n,
                         struct err *err) MUST_CHECK;
/* In order of arrival, those behind cursor `after` (0: all); `name` NULL: of all names.
 */
enum rc store_points_get(struct store *s, const char *id, const char *name, int64_t after,
                         size_t limit, struct store_points *out,
                         struct err *err) MUST_CHECK;
/* Every one of them, in the same order; *after is the cursor behind the last then. A text lives
 * as long as the call of `fn`; `attempt` and `at` are not told. */
typedef void store_point_fn(void *arg, const struct store_point *p);
enum rc store_points_each(struct store *s, const char *id, const char *name,
                          int64_t *after, store_point_fn *fn, void *arg,
                          struct err *err) MUST_CHECK;
/* The latest value of each name. */
enum rc store_points_last(struct store *s, const char *id, struct store_points *out,
                          struct err *err) MUST_CHECK;

struct store_dataset {
    const char *name, *id, *type, *uri, *mount, *options, *owner;
    int64_t created;
};
/* What `options` says: users of a server may send outputs there. */
#define STORE_DATASET_WRITABLE "writable"
bool store_dataset_writable(const struct store_dataset *d);
struct store_datasets {
    struct arena arena;
    struct store_dataset *at;
    size_t n;
};
void store_datasets_release(struct store_datasets *l);
/* RC_INVAL (E3106) when the name is taken. */
enum rc store_dataset_create(struct store *s, const struct store_dataset *d,
                             struct err *err) MUST_CHECK;
/* By name or id; NULL: all, by name. RC_NOTFOUND (E3107) for one that is not there. */
enum rc store_dataset_get(struct store *s, const char *name, struct store_datasets *out,
                          struct err *err) MUST_CHECK;
enum rc store_dataset_delete(struct store *s, const char *name,
                             struct err *err) MUST_CHECK;

#endif
