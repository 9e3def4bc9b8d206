/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite in WAL mode: readers never wait, one writer at a time. `synchronous` is NORMAL:
 * what was committed survives the death of any process; a power failure may cost the last
 * moments, never the file. FULL would sync the disk once per event (2 ms on a usual disk)
 * and hold up every other writer meanwhile.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "store/db.h"
#include "store/schema.h"

#define BUSY_MS 20000

struct kept {
    const char *sql; /* the constant it was made from */
    sqlite3_stmt *stmt;
};

struct lite {
    sqlite3 *db;
    VEC(struct kept) kept;
    int64_t patience_ms;
};

static const char *const migrations[] = {
    SCHEMA_V1,
    "CREATE TRIGGER events_kept BEFORE DELETE ON events BEGIN "
    "SELECT RAISE(ABORT, 'events are never removed'); END",
    "CREATE TRIGGER events_fixed BEFORE UPDATE ON events BEGIN "
    "SELECT RAISE(ABORT, 'events are never changed'); END",
    NULL,
    SCHEMA_V2,
    NULL,
    SCHEMA_V3,
    "DROP TRIGGER IF EXISTS events_kept",
    "CREATE TRIGGER events_kept BEFORE DELETE ON events WHEN EXISTS (SELECT 1 FROM jobs "
    "WHERE id = OLD.job) BEGIN SELECT RAISE(ABORT, 'events are never removed'); END",
    NULL,
    SCHEMA_V4,
    NULL,
    SCHEMA_V5,
    NULL,
    NULL,
};

static enum rc failed(struct lite *l, const char *what, struct err *err)
{
    int code = l->db ? sqlite3_errcode(l->db) : SQLITE_NOMEM;
    const char *msg = l->db ? sqlite3_errmsg(l->db) : "out of memory";
    if (code == SQLITE_FULL)
        return err_coded(err, RC_IO, E3108, "%s: the disk is full", what);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return err_coded(err, RC_IO, E3102, "%s: the store stayed locked for %g s", what,
                         (double)l->patience_ms / 1000);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        return err_coded(err, RC_FORMAT, E3109, "%s: %s", what, msg);
    return err_coded(err, RC_IO, E3102, "%s: %s", what, msg);
}

static void lite_close(void *state)
{
    struct lite *l = state;
    for (size_t i = 0; i < l->kept.n; i++)
        sqlite3_finalize(l->kept.at[i].stmt);
    VEC_RELEASE(&l->kept);
    sqlite3_close(l->db);
    mem_free(l);
}

static enum rc pragma(struct lite *l, const char *sql, struct err *err)
{
    if (sqlite3_exec(l->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return RC_OK;
    return failed(l, "cannot set up the store", err);
}

static enum rc make_parent(const char *path, struct err *err)
{
    char *dir = fs_dirname(path);
    enum rc rc = fs_mkdirs(dir, 0700, err);
    mem_free(dir);
    return rc;
}

/* Readable by the owner alone, for it may hold secrets; SQLite gives its other files the
 * mode of this one. Not by umask(), which belongs to all threads. A file that is there is
 * not opened: closing it again would give up the locks of other connections to it.
 */
static void make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static enum rc lite_open(const char *where, void **state, struct err *err)
{
    struct lite *l = mem_calloc(1, sizeof(*l));
    l->patience_ms = BUSY_MS;
    enum rc rc = make_parent(where, err);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (!rc)
        make_file(where); /* where that fails, SQLite says why */
    if (!rc && sqlite3_open_v2(where, &l->db, flags, NULL) != SQLITE_OK)
        rc = failed(l, "cannot open", err);
    if (!rc)
        sqlite3_busy_timeout(l->db, BUSY_MS);
    if (!rc)
        rc = pragma(l, "PRAGMA journal_mode = WAL", err);
    if (!rc)
        rc = pragma(l, "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY", err);
    if (rc) {
        lite_close(l);
        return err_wrap(err, rc, "store '%s'", where);
    }
    *state = l;
    return RC_OK;
}

static enum rc prepare(struct lite *l, const struct store_db_call *call,
                       sqlite3_stmt **out, struct err *err)
{
    for (size_t i = 0; !call->once && i < l->kept.n; i++)
        if (l->kept.at[i].sql == call->sql) {
            *out = l->kept.at[i].stmt;
            return RC_OK;
        }
    if (sqlite3_prepare_v3(l->db, call->sql, -1,
                           call->once ? 0 : SQLITE_PREPARE_PERSISTENT, out,
                           NULL) != SQLITE_OK)
        return failed(l, "store", err);
    if (!call->once) {
        struct kept k = {.sql = call->sql, .stmt = *out};
        VEC_PUSH(&l->kept, k);
    }
    return RC_OK;
}

static int bind(sqlite3_stmt *stmt, const struct store_db_call *call)
{
    for (size_t i = 0; i < call->n; i++) {
        char name[24];
        snprintf(name, sizeof(name), "$%zu", i + 1);
        int at = sqlite3_bind_parameter_index(stmt, name);
        const struct store_db_value *v = &call->at[i];
        int rc = SQLITE_OK;
        if (at == 0)
            continue;
        if (v->null)
            rc = sqlite3_bind_null(stmt, at);
        else if (v->s)
            rc = sqlite3_bind_text(stmt, at, v->s, -1, SQLITE_STATIC);
        else
            rc = sqlite3_bind_int64(stmt, at, v->i);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

static enum rc give_row(sqlite3_stmt *stmt, const struct store_db_call *call,
                        struct err *err)
{
    const char *texts[DB_COLUMNS_MAX];
    int n = sqlite3_column_count(stmt);
    if (n > DB_COLUMNS_MAX)
        n = DB_COLUMNS_MAX;
    for (int i = 0; i < n; i++)
        texts[i] = (const char *)sqlite3_column_text(stmt, i);
    struct store_db_row row = {.at = texts, .n = (size_t)n};
    return call->fn(call->arg, &row, err);
}

static enum rc step_all(struct lite *l, sqlite3_stmt *stmt,
                        const struct store_db_call *call, struct err *err)
{
    for (;;) {
        int got = sqlite3_step(stmt);
        if (got == SQLITE_DONE)
            return RC_OK;
        if (got != SQLITE_ROW)
            return failed(l, "store", err);
        enum rc rc = call->fn ? give_row(stmt, call, err) : RC_OK;
        if (rc)
            return rc;
    }
}

static enum rc lite_run(void *state, const struct store_db_call *call, int64_t *changed,
                        struct err *err)
{
    struct lite *l = state;
    sqlite3_stmt *stmt = NULL;
    enum rc rc = prepare(l, call, &stmt, err);
    if (rc)
        return rc;
    if (bind(stmt, call) != SQLITE_OK)
        rc = failed(l, "store", err);
    if (!rc)
        rc = step_all(l, stmt, call, err);
    if (!rc && changed)
        *changed = sqlite3_changes64(l->db);
    if (call->once) {
        sqlite3_finalize(stmt);
    } else {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
    return rc;
}

static enum rc simple(void *state, const char *sql, struct err *err)
{
    struct store_db_call call = {.sql = sql};
    return lite_run(state, &call, NULL, err);
}

static enum rc lite_begin(void *state, struct err *err)
{
    return simple(state, "BEGIN IMMEDIATE", err);
}

static enum rc lite_commit(void *state, struct err *err)
{
    return simple(state, "COMMIT", err);
}

static void lite_rollback(void *state)
{
    struct lite *l = state;
    if (!sqlite3_get_autocommit(l->db))
        sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
}

static void lite_patience(void *state, int64_t ms)
{
    struct lite *l = state;
    l->patience_ms = ms;
    sqlite3_busy_timeout(l->db, (int)ms);
}

static enum rc lite_lock_schema(void *state, struct err *err)
{
    return RC_OK; /* the transaction is that lock */
}

const struct store_db_ops db_sqlite = {
    .name = "sqlite",
    .serial = "INTEGER PRIMARY KEY AUTOINCREMENT",
    .find = "instr",
    .narrow_first = true,
    .now_ms = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
    .migrations = migrations,
    .open = lite_open,
    .close = lite_close,
    .patience = lite_patience,
    .begin = lite_begin,
    .commit = lite_commit,
    .rollback = lite_rollback,
    .lock_schema = lite_lock_schema,
    .run = lite_run,
};
