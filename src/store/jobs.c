/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: creation, new events, lookups. The guard of the event log is the condition
 * `seq = ` of the update: whoever has not seen the last event changes no row.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/store_private.h"

#define COLUMNS                                                                       \
    "num, seq, id, name, owner, token, state, reason, queue, backend, node, "         \
    "status, priority, attempt, created, started, finished, cpu_milli, memory, gpu, " \
    "timeout_s, workers, project"
#define EVENTS_AT_ONCE 16 /* rows of one insert: 9 parameters each */

void store_jobs_release(struct store_jobs *l)
{
    arena_release(&l->arena);
    *l = (struct store_jobs){0};
}

struct reading {
    struct store_jobs *out;
    size_t cap;
};

static enum rc take_job(void *arg, const struct store_db_row *row, struct err *err)
{
    struct reading *r = arg;
    struct store_jobs *l = r->out;
    if (l->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 16;
        struct store_job *at = arena_try_alloc(&l->arena, cap, sizeof(*at));
        if (!at)
            return err_set(err, RC_NOMEM, "out of memory for %zu jobs", cap);
        if (l->n)
            memcpy(at, l->at, l->n * sizeof(*at));
        l->at = at;
        r->cap = cap;
    }
    struct store_job *j = &l->at[l->n++];
    const char **texts[] = {&j->id,     &j->name,  &j->owner,   &j->token, &j->state,
                            &j->reason, &j->queue, &j->backend, &j->node,  &j->status};
    int64_t *numbers[] = {&j->priority,  &j->attempt,   &j->created, &j->started,
                          &j->finished,  &j->cpu_milli, &j->memory,  &j->gpu,
                          &j->timeout_s, &j->workers};
    j->num = store_db_int(row, 0);
    j->seq = store_db_int(row, 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_strdup(&l->arena, store_db_text(row, 2 + i));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        *numbers[i] = store_db_int(row, 2 + ARRAY_LEN(texts) + i);
    j->project = arena_strdup(
        &l->arena, store_db_text(row, 2 + ARRAY_LEN(texts) + ARRAY_LEN(numbers)));
    return RC_OK;
}

static enum rc insert_job(struct store *s, const struct store_new *n, int64_t *changed,
                          struct err *err)
{
    const struct store_job *j = n->row;
    const struct store_db_value params[] = {
        DB_TEXT(j->id),       DB_TEXT(j->name),
        DB_TEXT(j->owner),    j->token && *j->token ? DB_TEXT(j->token) : DB_NULL,
        DB_TEXT(j->state),    DB_TEXT(j->reason),
        DB_TEXT(j->queue),    DB_TEXT(j->backend),
        DB_TEXT(j->node),     DB_INT(j->priority),
        DB_INT(j->attempt),   DB_INT(j->created),
        DB_INT(j->started),   DB_INT(j->finished),
        DB_INT(j->cpu_milli), DB_INT(j->memory),
        DB_INT(j->gpu),       DB_INT(j->timeout_s),
        DB_INT(j->workers),   DB_INT((int64_t)n->n_events),
        DB_TEXT(j->status),   DB_TEXT(j->project),
    };
    return store_run(
        s,
        "INSERT INTO jobs (id, name, owner, token, state, reason, queue, backend, node, "
        "priority, attempt, created, started, finished, cpu_milli, memory, gpu, timeout_s, "
        "workers, seq, status, project, name_low) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "
        "$13, $14, $15, $16, $17, $18, $19, $20, $21, $22, lower($2)) ON CONFLICT (owner, token) DO NOTHING",
        params, ARRAY_LEN(params), NULL, NULL, changed, err);
}

/* Up to EVENTS_AT_ONCE rows with one statement. */
static enum rc insert_some(struct store *s, const char *id, int64_t seq,
                           const struct store_event *events, size_t n, struct err *err)
{
    struct store_db_value params[EVENTS_AT_ONCE * 9];
    struct buf sql;
    size_t at = 0;
    buf_init(&sql, 1 << 16);
    buf_puts(&sql, "INSERT INTO events (job, seq, time, type, attempt, worker, reason, "
                   "message, data) VALUES ");
    for (size_t i = 0; i < n; i++) {
        const struct store_event *e = &events[i];
        buf_puts(&sql, i ? ", (" : "(");
        for (size_t k = 0; k < 9; k++)
            buf_printf(&sql, "%s$%zu", k ? ", " : "", at + k + 1);
        buf_putc(&sql, ')');
        const struct store_db_value row[] = {
            DB_TEXT(id),        DB_INT(seq + (int64_t)i), DB_INT(e->time),
            DB_TEXT(e->type),   DB_INT(e->attempt),       DB_INT(e->worker),
            DB_TEXT(e->reason), DB_TEXT(e->message),      DB_TEXT(e->data)};
        memcpy(&params[at], row, sizeof(row));
        at += ARRAY_LEN(row);
    }
    struct store_db_call call = {
        .sql = buf_str(&sql), .at = params, .n = at, .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&sql);
    return rc;
}

static enum rc insert_events(struct store *s, const char *id, int64_t seq,
                             const struct store_event *events, size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i += EVENTS_AT_ONCE) {
        size_t some = n - i < EVENTS_AT_ONCE ? n - i : EVENTS_AT_ONCE;
        rc = insert_some(s, id, seq + (int64_t)i, events + i, some, err);
    }
    return rc;
}

static enum rc insert_rest(struct store *s, const struct store_new *n, struct err *err)
{
    const struct store_db_value spec[] = {DB_TEXT(n->row->id), DB_TEXT(n->spec)};
    enum rc rc = store_run(s, "INSERT INTO specs (job, spec) VALUES ($1, $2)", spec, 2,
                           NULL, NULL, NULL, err);
    for (size_t i = 0; i < n->n_labels && !rc; i++) {
        const struct store_db_value label[] = {
            DB_TEXT(n->row->id), DB_TEXT(n->labels[i].key), DB_TEXT(n->labels[i].value)};
        rc = store_run(s,
                       "INSERT INTO labels (job, key, value) VALUES ($1, $2, $3) "
                       "ON CONFLICT (job, key) DO UPDATE SET value = excluded.value",
                       label, 3, NULL, NULL, NULL, err);
    }
    return rc ? rc : insert_events(s, n->row->id, 1, n->events, n->n_events, err);
}

enum rc store_create(struct store *s, const struct store_new *job, bool *existed,
                     struct err *err)
{
    int64_t changed = 0;
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = store_fence_check(s, err);
    if (!rc)
        rc = insert_job(s, job, &changed, err);
    if (!rc && changed)
        rc = insert_rest(s, job, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc) {
        s->db->rollback(s->state);
        return rc;
    }
    *existed = changed == 0;
    return RC_OK;
}

static enum rc update_row(struct store *s, const struct store_job *j, size_t n_events,
                          int64_t *changed, struct err *err)
{
    const struct store_db_value params[] = {
        DB_TEXT(j->id),       DB_INT(j->seq),     DB_INT(j->seq + (int64_t)n_events),
        DB_TEXT(j->state),    DB_TEXT(j->reason), DB_TEXT(j->queue),
        DB_TEXT(j->backend),  DB_TEXT(j->node),   DB_INT(j->priority),
        DB_INT(j->attempt),   DB_INT(j->started), DB_INT(j->finished),
        DB_INT(j->cpu_milli), DB_INT(j->memory),  DB_INT(j->gpu),
        DB_INT(j->timeout_s), DB_INT(j->workers), DB_TEXT(j->status),
    };
    return store_run(s,
                     "UPDATE jobs SET seq = $3, state = $4, reason = $5, queue = $6, "
                     "backend = $7, node = $8, priority = $9, attempt = $10, "
                     "started = $11, finished = $12, cpu_milli = $13, memory = $14, "
                     "gpu = $15, timeout_s = $16, workers = $17, status = $18 "
                     "WHERE id = $1 AND seq = $2",
                     params, ARRAY_LEN(params), NULL, NULL, changed, err);
}

enum rc store_append(struct store *s, const struct store_job *row,
                     const struct store_event *events, size_t n, struct err *err)
{
    int64_t changed = 0;
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = store_fence_check(s, err);
    if (!rc)
        rc = update_row(s, row, n, &changed, err);
    if (!rc && changed == 0)
        rc = err_coded(err, RC_CANCELED, E3104,
                       "job '%s' has events behind number %jd by now", row->id,
                       (intmax_t)row->seq);
    if (!rc)
        rc = insert_events(s, row->id, row->seq + 1, events, n, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}

/* The job that a query finds; `missing` says what it is not. */
static enum rc get_one(struct store *s, const char *sql,
                       const struct store_db_value *params, size_t n, const char *missing,
                       struct store_jobs *out, struct err *err)
{
    struct store_jobs l = {0};
    struct reading r = {.out = &l};
    enum rc rc = store_run(s, sql, params, n, take_job, &r, NULL, err);
    if (!rc && l.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3103, "no job %s", missing);
    if (rc)
        store_jobs_release(&l);
    else
        *out = l;
    return rc;
}

enum rc store_get(struct store *s, const char *id, struct store_jobs *out,
                  struct err *err)
{
    char missing[80];
    snprintf(missing, sizeof(missing), "'%.64s'", id);
    return get_one(s, "SELECT " COLUMNS " FROM jobs WHERE id = $1",
                   (const struct store_db_value[]){DB_TEXT(id)}, 1, missing, out, err);
}

enum rc store_by_token(struct store *s, const char *owner, const char *token,
                       struct store_jobs *out, struct err *err)
{
    char missing[96];
    snprintf(missing, sizeof(missing), "with token '%.64s'", token);
    return get_one(s, "SELECT " COLUMNS " FROM jobs WHERE owner = $1 AND token = $2",
                   (const struct store_db_value[]){DB_TEXT(owner), DB_TEXT(token)}, 2,
                   missing, out, err);
}

static enum rc take_text(void *arg, const struct store_db_row *row, struct err *err)
{
    *(char **)arg = mem_strdup(store_db_text(row, 0));
    return RC_OK;
}

enum rc store_spec(struct store *s, const char *id, char **out, struct err *err)
{
    char *text = NULL;
    const struct store_db_value params[] = {DB_TEXT(id)};
    enum rc rc = store_run(s, "SELECT spec FROM specs WHERE job = $1", params, 1,
                           take_text, &text, NULL, err);
    if (rc)
        return rc;
    if (!text)
        return err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    *out = text;
    return RC_OK;
}

struct number {
    int64_t v;
    bool found;
};

static enum rc take_number(void *arg, const struct store_db_row *row, struct err *err)
{
    *(struct number *)arg = (struct number){.v = store_db_int(row, 0), .found = true};
    return RC_OK;
}

enum rc store_seq(struct store *s, const char *id, int64_t *seq, struct err *err)
{
    struct number n = {0};
    const struct store_db_value params[] = {DB_TEXT(id)};
    enum rc rc = store_run(s, "SELECT seq FROM jobs WHERE id = $1", params, 1,
                           take_number, &n, NULL, err);
    if (!rc && !n.found)
        rc = err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", id);
    if (!rc)
        *seq = n.v;
    return rc;
}

/* A statement in the making. */
struct query {
    struct buf sql;
    struct store_db_value params[DB_PARAMS_MAX];
    size_t n;
};

static void add_text(struct query *q, const char *column, const char *value)
{
    if (!value || !*value)
        return;
    q->params[q->n++] = DB_TEXT(value);
    buf_printf(&q->sql, " AND %s = $%zu", column, q->n);
}

static void add_number(struct query *q, const char *condition, int64_t value)
{
    if (!value)
        return;
    q->params[q->n++] = DB_INT(value);
    buf_printf(&q->sql, " AND %s $%zu", condition, q->n);
}

static void add_states(struct query *q, const char *states, struct arena *a)
{
    struct str rest = str_c(states ? states : ""), part;
    size_t count = 0;
    if (!rest.n)
        return;
    buf_puts(&q->sql, " AND state IN (");
    while (str_split(&rest, ',', &part) && q->n < 32) {
        q->params[q->n++] = DB_TEXT(arena_strndup(a, part.p, part.n));
        buf_printf(&q->sql, "%s$%zu", count++ ? ", " : "", q->n);
    }
    buf_putc(&q->sql, ')');
}

/* Of a user, or of a project of theirs. */
static void add_seen(struct query *q, const struct store_filter *f, struct arena *a)
{
    if (!f->seen_by)
        return;
    struct str rest = str_c(f->seen_projects ? f->seen_projects : ""), part;
    q->params[q->n++] = DB_TEXT(f->seen_by);
    buf_printf(&q->sql, " AND (owner = $%zu", q->n);
    while (rest.n && str_split(&rest, ',', &part) && q->n < DB_PARAMS_MAX - 16) {
        if (!part.n)
            continue;
        q->params[q->n++] = DB_TEXT(arena_strndup(a, part.p, part.n));
        buf_printf(&q->sql, " OR project = $%zu", q->n);
    }
    buf_putc(&q->sql, ')');
}

/* A part of a name, in any case. */
static void add_name(struct store *s, struct query *q, const char *name, struct arena *a)
{
    if (!name || !*name)
        return;
    char *part = arena_strdup(a, name);
    for (char *c = part; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
    q->params[q->n++] = DB_TEXT(part);
    buf_printf(&q->sql, " AND %s(name_low, $%zu) > 0", s->db->find, q->n);
}

static void add_conditions(struct store *s, struct query *q, const struct store_filter *f,
                           struct arena *a)
{
    buf_puts(&q->sql, " WHERE 1 = 1");
    add_states(q, f->states, a);
    add_text(q, "owner", f->owner);
    add_text(q, "queue", f->queue);
    add_text(q, "node", f->node);
    add_text(q, "backend", f->backend);
    add_text(q, "project", f->project);
    add_seen(q, f, a);
    add_name(s, q, f->name, a);
    if (f->id && *f->id) {
        q->params[q->n++] = DB_TEXT(f->id);
        buf_printf(&q->sql, " AND substr(id, 1, %zu) = $%zu", strlen(f->id), q->n);
    }
    add_number(q, "created >=", f->since);
    add_number(q, "created <", f->until);
    add_number(q, "finished >=", f->ended_since);
    add_number(q, f->oldest_first ? "num >" : "num <", f->before);
    if (f->without_label && *f->without_label) {
        q->params[q->n++] = DB_TEXT(f->without_label);
        buf_printf(&q->sql, " AND id NOT IN (SELECT job FROM labels WHERE key = $%zu)",
                   q->n);
    }
    if (!f->label_key || !*f->label_key)
        return;
    q->params[q->n++] = DB_TEXT(f->label_key);
    buf_printf(&q->sql, " AND id IN (SELECT job FROM labels WHERE key = $%zu", q->n);
    add_text(q, "value", f->label_value);
    buf_putc(&q->sql, ')');
}

enum rc store_list(struct store *s, const struct store_filter *f, struct store_jobs *out,
                   struct err *err)
{
    struct query q = {.n = 0};
    struct store_jobs l = {0};
    struct reading r = {.out = &l};
    size_t limit = f->limit && f->limit < STORE_ROWS_MAX ? f->limit : STORE_ROWS_MAX;
    buf_init(&q.sql, 1 << 16);
    /* SQLite: rows are found by the narrow indexes first, and only a page of them is read
     * whole. PostgreSQL would read the whole table to find that page's rows again.
     */
    bool narrow = s->db->narrow_first;
    buf_puts(&q.sql, "SELECT " COLUMNS " FROM jobs");
    buf_puts(&q.sql, narrow ? " WHERE num IN (SELECT num FROM jobs" : "");
    add_conditions(s, &q, f, &l.arena);
    const char *order = f->oldest_first ? "ASC" : "DESC";
    buf_printf(&q.sql, " ORDER BY num %s LIMIT %zu", order, limit);
    if (narrow)
        buf_printf(&q.sql, ") ORDER BY num %s", order);
    struct store_db_call call = {.sql = buf_str(&q.sql),
                                 .at = q.params,
                                 .n = q.n,
                                 .fn = take_job,
                                 .arg = &r,
                                 .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&q.sql);
    if (rc) {
        store_jobs_release(&l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

struct counting {
    struct store_count *out;
    size_t max, n;
};

static enum rc take_count(void *arg, const struct store_db_row *row, struct err *err)
{
    struct counting *c = arg;
    if (c->n == c->max)
        return RC_OK;
    struct store_count *o = &c->out[c->n++];
    const char *state = store_db_text(row, 0);
    size_t n = strlen(state);
    if (n >= sizeof(o->state))
        n = sizeof(o->state) - 1;
    memcpy(o->state, state, n);
    o->state[n] = '\0';
    o->n = store_db_int(row, 1);
    return RC_OK;
}

enum rc store_counts_of(struct store *s, const struct store_filter *f,
                        struct store_count *out, size_t max, size_t *n, struct err *err)
{
    struct counting c = {.out = out, .max = max};
    struct query q = {.n = 0};
    struct arena a = {0};
    buf_init(&q.sql, 1 << 16);
    buf_puts(&q.sql, "SELECT state, count(*) FROM jobs WHERE 1 = 1");
    add_seen(&q, f, &a);
    buf_puts(&q.sql, " GROUP BY state ORDER BY state");
    struct store_db_call call = {.sql = buf_str(&q.sql),
                                 .at = q.params,
                                 .n = q.n,
                                 .fn = take_count,
                                 .arg = &c,
                                 .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&q.sql);
    arena_release(&a);
    if (!rc)
        *n = c.n;
    return rc;
}

enum rc store_count_in(struct store *s, const char *owner, const char *states, int64_t *n,
                       struct err *err)
{
    struct query q = {.n = 0};
    struct number found = {0};
    struct arena a = {0};
    buf_init(&q.sql, 1 << 16);
    buf_puts(&q.sql, "SELECT count(*) FROM jobs WHERE 1 = 1");
    add_states(&q, states, &a);
    q.params[q.n++] = DB_TEXT(owner);
    buf_printf(&q.sql, " AND owner || '' = $%zu", q.n); /* not by the index of owners */
    struct store_db_call call = {.sql = buf_str(&q.sql),
                                 .at = q.params,
                                 .n = q.n,
                                 .fn = take_number,
                                 .arg = &found,
                                 .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&q.sql);
    arena_release(&a);
    if (!rc)
        *n = found.v;
    return rc;
}

enum rc store_counts(struct store *s, struct store_count *out, size_t max, size_t *n,
                     struct err *err)
{
    struct counting c = {.out = out, .max = max};
    enum rc rc =
        store_run(s, "SELECT state, count(*) FROM jobs GROUP BY state ORDER BY state",
                  NULL, 0, take_count, &c, NULL, err);
    if (!rc)
        *n = c.n;
    return rc;
}

static enum rc take_revision(void *arg, const struct store_db_row *row, struct err *err)
{
    struct store_revision *r = arg;
    *r = (struct store_revision){store_db_int(row, 0), store_db_int(row, 1),
                                 store_db_int(row, 2), store_db_int(row, 3)};
    return RC_OK;
}

enum rc store_revision(struct store *s, const char *live, struct store_revision *out,
                       struct err *err)
{
    struct query q = {.n = 0};
    struct arena a = {0};
    buf_init(&q.sql, 1 << 16);
    buf_puts(&q.sql,
             "SELECT (SELECT count(*) FROM jobs), count(*), coalesce(sum(seq), 0), "
             "(SELECT coalesce(max(num), 0) FROM audit) FROM jobs WHERE 1 = 1");
    add_states(&q, live, &a);
    struct store_db_call call = {.sql = buf_str(&q.sql),
                                 .at = q.params,
                                 .n = q.n,
                                 .fn = take_revision,
                                 .arg = out,
                                 .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&q.sql);
    arena_release(&a);
    return rc;
}
