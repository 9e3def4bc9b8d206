/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL through libpq, one connection per store. Constant statements are prepared at
 * their first use. A connection that broke is opened again by the next call that is not
 * inside a transaction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/db.h"
#include "store/pq.h"
#include "store/schema.h"

#define NUMBER_SIZE 24

struct pg {
    struct store_pq pq;
    PGconn *conn;
    VEC(const char *) prepared; /* constant texts; their index is their name */
};

static const char *const migrations[] = {
    SCHEMA_V1,
    "CREATE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN "
    "RAISE EXCEPTION 'events are never changed'; END $body$",
    "CREATE TRIGGER events_fixed BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE "
    "FUNCTION events_refuse()",
    NULL,
    SCHEMA_V2,
    NULL,
    SCHEMA_V3,
    "CREATE OR REPLACE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$body$ BEGIN IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = "
    "OLD.job) THEN RETURN OLD; END IF; RAISE EXCEPTION 'events are never changed'; END "
    "$body$",
    NULL,
    SCHEMA_V4,
    NULL,
    SCHEMA_V5,
    NULL,
    NULL,
};

/* libpq's messages have several lines and end in one. */
static void one_line(const char *text, char out[300])
{
    size_t n = 0;
    for (; *text && n < 299; text++)
        if (*text != '\n' && *text != '\t')
            out[n++] = *text;
        else if (n && out[n - 1] != ' ' && text[1])
            out[n++] = ' ';
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

static enum rc failed(struct pg *p, const char *what, struct err *err)
{
    char text[300];
    one_line(p->pq.PQerrorMessage(p->conn), text);
    return err_coded(err, RC_IO, E3102, "%s: %s", what, text);
}

static void no_notice(void *arg, const char *message)
{
}

static void pg_close(void *state)
{
    struct pg *p = state;
    if (p->conn)
        p->pq.PQfinish(p->conn);
    VEC_RELEASE(&p->prepared);
    mem_free(p);
}

static enum rc pg_open(const char *where, void **state, struct err *err)
{
    struct pg *p = mem_calloc(1, sizeof(*p));
    enum rc rc = store_pq_load(&p->pq, err);
    if (!rc) {
        p->conn = p->pq.PQconnectdb(where);
        if (!p->conn || p->pq.PQstatus(p->conn) != CONNECTION_OK)
            rc = failed(p, "store", err); /* the URL may hold a password: not shown */
    }
    if (rc) {
        pg_close(p);
        return rc;
    }
    p->pq.PQsetNoticeProcessor(p->conn, no_notice, NULL);
    *state = p;
    return RC_OK;
}

static enum rc revive(struct pg *p, struct err *err)
{
    if (p->pq.PQstatus(p->conn) == CONNECTION_OK)
        return RC_OK;
    p->prepared.n = 0;
    p->pq.PQreset(p->conn);
    return p->pq.PQstatus(p->conn) == CONNECTION_OK ? RC_OK : failed(p, "store", err);
}

static enum rc name_of(struct pg *p, const char *sql, char name[24], struct err *err)
{
    size_t i = 0;
    while (i < p->prepared.n && p->prepared.at[i] != sql)
        i++;
    snprintf(name, 24, "s%zu", i);
    if (i < p->prepared.n)
        return RC_OK;
    PGresult *r = p->pq.PQprepare(p->conn, name, sql, 0, NULL);
    bool ok = p->pq.PQresultStatus(r) == PGRES_COMMAND_OK;
    p->pq.PQclear(r);
    if (!ok)
        return failed(p, "store", err);
    VEC_PUSH(&p->prepared, sql);
    return RC_OK;
}

static enum rc give_rows(struct pg *p, PGresult *r, const struct store_db_call *call,
                         struct err *err)
{
    int n = p->pq.PQnfields(r), rows = p->pq.PQntuples(r);
    const char *texts[DB_COLUMNS_MAX];
    if (n > DB_COLUMNS_MAX)
        n = DB_COLUMNS_MAX;
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < n; k++)
            texts[k] = p->pq.PQgetisnull(r, i, k) ? NULL : p->pq.PQgetvalue(r, i, k);
        struct store_db_row row = {.at = texts, .n = (size_t)n};
        enum rc rc = call->fn(call->arg, &row, err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc take_result(struct pg *p, PGresult *r, const struct store_db_call *call,
                           int64_t *changed, struct err *err)
{
    ExecStatusType status = p->pq.PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        return failed(p, "store", err);
    if (changed && !str_to_i64(str_c(p->pq.PQcmdTuples(r)), changed))
        *changed = 0;
    return call->fn ? give_rows(p, r, call, err) : RC_OK;
}

static enum rc pg_run(void *state, const struct store_db_call *call, int64_t *changed,
                      struct err *err)
{
    struct pg *p = state;
    const char *values[DB_PARAMS_MAX];
    char numbers[DB_PARAMS_MAX][NUMBER_SIZE], name[24];
    if (call->n > DB_PARAMS_MAX)
        return err_set(err, RC_INVAL, "%zu parameters are too many", call->n);
    for (size_t i = 0; i < call->n; i++) {
        const struct store_db_value *v = &call->at[i];
        if (!v->s && !v->null)
            snprintf(numbers[i], NUMBER_SIZE, "%jd", (intmax_t)v->i);
        values[i] = v->null ? NULL : v->s ? v->s : numbers[i];
    }
    enum rc rc = revive(p, err);
    if (!rc && !call->once)
        rc = name_of(p, call->sql, name, err);
    if (rc)
        return rc;
    PGresult *r = call->once ? p->pq.PQexecParams(p->conn, call->sql, (int)call->n, NULL,
                                                  values, NULL, NULL, 0)
                             : p->pq.PQexecPrepared(p->conn, name, (int)call->n, values,
                                                    NULL, NULL, 0);
    rc = take_result(p, r, call, changed, err);
    p->pq.PQclear(r);
    return rc;
}

static enum rc simple(struct pg *p, const char *sql, struct err *err)
{
    PGresult *r = p->pq.PQexec(p->conn, sql);
    ExecStatusType status = p->pq.PQresultStatus(r);
    p->pq.PQclear(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        return failed(p, "store", err);
    return RC_OK;
}

/* A process that is stopped in the middle of a transaction would keep its locks, that of
 * the lease among them: the server ends it for us, so that another can take over.
 */
static enum rc pg_begin(void *state, struct err *err)
{
    enum rc rc = revive(state, err);
    return rc ? rc
              : simple(state,
                       "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'",
                       err);
}

static enum rc pg_commit(void *state, struct err *err)
{
    return simple(state, "COMMIT", err);
}

static void pg_rollback(void *state)
{
    struct pg *p = state;
    if (p->pq.PQstatus(p->conn) == CONNECTION_OK &&
        p->pq.PQtransactionStatus(p->conn) != PQTRANS_IDLE) {
        enum rc rc = simple(p, "ROLLBACK", NULL);
        (void)rc; /* the connection is broken then, and the transaction with it */
    }
}

static void pg_patience(void *state, int64_t ms)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "SET lock_timeout = %jd", (intmax_t)ms);
    enum rc rc = simple(state, sql, NULL);
    (void)rc; /* a connection that broke says so at its next use */
}

static enum rc pg_lock_schema(void *state, struct err *err)
{
    return simple(state, "SELECT pg_advisory_xact_lock(7236728)", err);
}

const struct store_db_ops db_postgresql = {
    .name = "postgresql",
    .serial = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    .find = "strpos",
    .now_ms = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    .migrations = migrations,
    .open = pg_open,
    .close = pg_close,
    .patience = pg_patience,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .lock_schema = pg_lock_schema,
    .run = pg_run,
};
