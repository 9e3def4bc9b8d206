/* SPDX-License-Identifier: Apache-2.0 */
/* Events and metrics of jobs. Both grow for as long as a job runs, so they are read in
 * pages behind a cursor: the sequence number of events, the row number of metrics. A page
 * owns its texts in an arena. Metrics are written many rows to an insert, in one
 * transaction; their place in the log is part of the key, so a log that is read again
 * adds nothing twice. Values are kept as text, which gives back the same double in either
 * database.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "store/store_private.h"

#define POINTS_AT_ONCE 16 /* rows of one insert: 8 parameters each */

void store_events_release(struct store_events *l)
{
    arena_release(&l->arena);
    *l = (struct store_events){0};
}

void store_points_release(struct store_points *l)
{
    arena_release(&l->arena);
    *l = (struct store_points){0};
}

/* Room for one more element of `size` bytes in an array of an arena, or NULL. */
static void *grow(struct arena *a, void *at, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return at;
    size_t more = *cap ? *cap * 2 : 16;
    void *fresh = arena_try_alloc(a, more, size);
    if (!fresh)
        return NULL;
    if (n)
        memcpy(fresh, at, n * size);
    *cap = more;
    return fresh;
}

struct reading {
    struct store_events *events;
    struct store_points *points;
    size_t cap;
};

static enum rc take_event(void *arg, const struct store_db_row *row, struct err *err)
{
    struct reading *r = arg;
    struct store_events *l = r->events;
    void *at = grow(&l->arena, l->at, l->n, &r->cap, sizeof(*l->at));
    if (!at)
        return err_set(err, RC_NOMEM, "out of memory for %zu events", l->n);
    l->at = at;
    l->at[l->n++] = (struct store_event){
        .seq = store_db_int(row, 0),
        .time = store_db_int(row, 1),
        .type = arena_strdup(&l->arena, store_db_text(row, 2)),
        .attempt = store_db_int(row, 3),
        .worker = store_db_int(row, 4),
        .reason = arena_strdup(&l->arena, store_db_text(row, 5)),
        .message = arena_strdup(&l->arena, store_db_text(row, 6)),
        .data = arena_strdup(&l->arena, store_db_text(row, 7)),
    };
    return RC_OK;
}

enum rc store_events_get(struct store *s, const char *id, int64_t after, size_t limit,
                         struct store_events *out, struct err *err)
{
    struct store_events l = {0};
    struct reading r = {.events = &l};
    if (!limit || limit > STORE_ROWS_MAX)
        limit = STORE_ROWS_MAX;
    const struct store_db_value params[] = {DB_TEXT(id), DB_INT(after),
                                            DB_INT((int64_t)limit)};
    enum rc rc =
        store_run(s,
                  "SELECT seq, time, type, attempt, worker, reason, message, data FROM "
                  "events WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                  params, 3, take_event, &r, NULL, err);
    if (rc) {
        store_events_release(&l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

static enum rc insert_points(struct store *s, const char *id, const struct store_point *p,
                             size_t n, struct err *err)
{
    struct store_db_value params[POINTS_AT_ONCE * 8];
    char values[POINTS_AT_ONCE][32];
    struct buf sql;
    size_t at = 0;
    buf_init(&sql, 1 << 16);
    buf_puts(&sql, "INSERT INTO metrics (job, name, attempt, worker, place, time, step, "
                   "value) VALUES ");
    for (size_t i = 0; i < n; i++) {
        buf_puts(&sql, i ? ", (" : "(");
        for (size_t k = 0; k < 8; k++)
            buf_printf(&sql, "%s$%zu", k ? ", " : "", at + k + 1);
        buf_putc(&sql, ')');
        str_from_f64(p[i].value, values[i]);
        const struct store_db_value row[] = {DB_TEXT(id),          DB_TEXT(p[i].name),
                                             DB_INT(p[i].attempt), DB_INT(p[i].worker),
                                             DB_INT(p[i].at),      DB_INT(p[i].time),
                                             DB_INT(p[i].step),    DB_TEXT(values[i])};
        memcpy(&params[at], row, sizeof(row));
        at += ARRAY_LEN(row);
    }
    buf_puts(&sql, " ON CONFLICT (job, name, attempt, worker, place) DO NOTHING");
    struct store_db_call call = {
        .sql = buf_str(&sql), .at = params, .n = at, .once = true};
    enum rc rc = s->db->run(s->state, &call, NULL, err);
    buf_release(&sql);
    return rc;
}

enum rc store_points_add(struct store *s, const char *id,
                         const struct store_point *points, size_t n, struct err *err)
{
    if (!n)
        return RC_OK;
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i += POINTS_AT_ONCE)
        rc = insert_points(s, id, points + i,
                           n - i < POINTS_AT_ONCE ? n - i : POINTS_AT_ONCE, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}

static enum rc take_point(void *arg, const struct store_db_row *row, struct err *err)
{
    struct reading *r = arg;
    struct store_points *l = r->points;
    void *at = grow(&l->arena, l->at, l->n, &r->cap, sizeof(*l->at));
    if (!at)
        return err_set(err, RC_NOMEM, "out of memory for %zu values", l->n);
    l->at = at;
    double value = 0;
    if (!str_to_f64(str_c(store_db_text(row, 7)), &value))
        return err_coded(err, RC_FORMAT, E3109, "a metric's value is '%.40s'",
                         store_db_text(row, 7));
    l->at[l->n++] = (struct store_point){
        .name = arena_strdup(&l->arena, store_db_text(row, 1)),
        .attempt = store_db_int(row, 2),
        .worker = store_db_int(row, 3),
        .at = store_db_int(row, 4),
        .time = store_db_int(row, 5),
        .step = store_db_int(row, 6),
        .value = value,
    };
    l->next = store_db_int(row, 0);
    return RC_OK;
}

#define POINT_COLUMNS "num, name, attempt, worker, place, time, step, value"

static enum rc read_points(struct store *s, const char *sql,
                           const struct store_db_value *params, size_t n,
                           struct store_points *out, struct err *err)
{
    struct store_points l = {0};
    struct reading r = {.points = &l};
    enum rc rc = store_run(s, sql, params, n, take_point, &r, NULL, err);
    if (rc) {
        store_points_release(&l);
        return rc;
    }
    *out = l;
    return RC_OK;
}

enum rc store_points_get(struct store *s, const char *id, const char *name, int64_t after,
                         size_t limit, struct store_points *out, struct err *err)
{
    if (!limit || limit > STORE_ROWS_MAX)
        limit = STORE_ROWS_MAX;
    const struct store_db_value params[] = {DB_TEXT(id), DB_INT(after),
                                            DB_INT((int64_t)limit), DB_TEXT(name)};
    return read_points(s,
                       name ? "SELECT " POINT_COLUMNS
                              " FROM metrics WHERE job = $1 AND num > $2 AND name = $4 "
                              "ORDER BY num LIMIT $3"
                            : "SELECT " POINT_COLUMNS
                              " FROM metrics WHERE job = $1 AND num > $2 ORDER BY num "
                              "LIMIT $3",
                       params, name ? 4 : 3, out, err);
}

struct each {
    store_point_fn *fn;
    void *arg;
    int64_t after;
    size_t n;
};

static enum rc pass_point(void *arg, const struct store_db_row *row, struct err *err)
{
    struct each *e = arg;
    struct store_point p = {.name = store_db_text(row, 1),
                            .worker = store_db_int(row, 2),
                            .time = store_db_int(row, 3),
                            .step = store_db_int(row, 4)};
    if (!str_to_f64(str_c(store_db_text(row, 5)), &p.value))
        return err_coded(err, RC_FORMAT, E3109, "a metric's value is '%.40s'",
                         store_db_text(row, 5));
    e->after = store_db_int(row, 0);
    e->n++;
    e->fn(e->arg, &p);
    return RC_OK;
}

#define EACH \
    "SELECT num, name, worker, time, step, value FROM metrics WHERE job = $1 AND num > $2"

enum rc store_points_each(struct store *s, const char *id, const char *name,
                          int64_t *after, store_point_fn *fn, void *arg, struct err *err)
{
    struct each e = {.fn = fn, .arg = arg, .after = *after, .n = STORE_ROWS_MAX};
    enum rc rc = RC_OK;
    while (!rc && e.n == STORE_ROWS_MAX) {
        const struct store_db_value params[] = {DB_TEXT(id), DB_INT(e.after),
                                                DB_INT(STORE_ROWS_MAX), DB_TEXT(name)};
        e.n = 0;
        rc = store_run(s,
                       name ? EACH " AND name = $4 ORDER BY num LIMIT $3"
                            : EACH " ORDER BY num LIMIT $3",
                       params, name ? 4 : 3, pass_point, &e, NULL, err);
    }
    *after = e.after;
    return rc;
}

enum rc store_points_last(struct store *s, const char *id, struct store_points *out,
                          struct err *err)
{
    const struct store_db_value params[] = {DB_TEXT(id)};
    return read_points(s,
                       "SELECT " POINT_COLUMNS
                       " FROM metrics WHERE num IN (SELECT max(num) FROM metrics WHERE "
                       "job = $1 GROUP BY name) ORDER BY name",
                       params, 1, out, err);
}
