/* SPDX-License-Identifier: Apache-2.0 */
/* Users are rows by name. Everything else in the store says by name whose it is, so a name is
 * given out again only when nothing is left under it, and that there was such a user is
 * remembered by a mark, "former/NAME".
 */
#include "store/users.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/notify.h"
#include "store/table.h"

static const struct store_table_column user_columns[] = {
    TABLE_TEXT(struct store_user, name),     TABLE_TEXT(struct store_user, role),
    TABLE_TEXT(struct store_user, projects), TABLE_INT(struct store_user, created),
    TABLE_INT(struct store_user, disabled),
};
static const struct store_table users = {.name = "users",
                                         .columns = user_columns,
                                         .n = ARRAY_LEN(user_columns),
                                         .size = sizeof(struct store_user)};

/* With what is kept beside them. */
static const struct store_table_column seen_columns[] = {
    TABLE_TEXT(struct store_user, name),     TABLE_TEXT(struct store_user, role),
    TABLE_TEXT(struct store_user, projects), TABLE_INT(struct store_user, created),
    TABLE_INT(struct store_user, disabled),  TABLE_INT(struct store_user, uid),
};
static const struct store_table seen = {
    .name = "(SELECT u.*, coalesce(a.uid, 0) AS uid FROM users u LEFT JOIN accounts a ON "
            "a.name = u.name) AS seen",
    .columns = seen_columns,
    .n = ARRAY_LEN(seen_columns),
    .size = sizeof(struct store_user)};

void store_users_release(struct store_users *l)
{
    store_table_release(l);
}

enum rc store_user_left_get(struct store *s, const char *name,
                            struct store_user_left *out, struct err *err)
{
    struct store_user_left l = {0};
    const struct {
        const char *sql;
        int64_t *to;
    } tables[] = {{"SELECT count(*) FROM jobs WHERE owner = $1", &l.jobs},
                  {"SELECT count(*) FROM schedules WHERE owner = $1", &l.schedules},
                  {"SELECT count(*) FROM notify_rules WHERE owner = $1", &l.rules},
                  {"SELECT count(*) FROM models WHERE owner = $1", &l.models},
                  {"SELECT count(*) FROM datasets WHERE owner = $1", &l.datasets}};
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = RC_OK;
    bool found;
    for (size_t i = 0; i < ARRAY_LEN(tables) && !rc; i++)
        rc = store_table_number(s, tables[i].sql, params, 1, tables[i].to, &found, err);
    if (!rc)
        *out = l;
    return rc;
}

/* A name is all that says whose something is. */
static enum rc check_left(struct store *s, const char *name, struct err *err)
{
    struct store_user_left l = {0};
    enum rc rc = store_user_left_get(s, name, &l, err);
    if (rc || l.jobs + l.schedules + l.rules + l.models + l.datasets == 0)
        return rc;
    return err_coded(
        err, RC_INVAL, E3112,
        "the name '%.100s' has belongings: %jd jobs, %jd schedules, %jd notification "
        "rules, %jd models, %jd datasets; delete them with `trainyard user delete "
        "%.100s --purge`, or give them to the new user with --inherit",
        name, (intmax_t)l.jobs, (intmax_t)l.schedules, (intmax_t)l.rules,
        (intmax_t)l.models, (intmax_t)l.datasets, name);
}

static enum rc insert_user(struct store *s, const struct store_user *u, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(u->name)};
    enum rc rc =
        store_table_insert(s, &users, u, "ON CONFLICT DO NOTHING", &changed, err);
    if (!rc && !changed)
        rc = err_coded(err, RC_INVAL, E3110, "there is a user '%.200s' already", u->name);
    if (!rc && !u->inherits)
        rc = check_left(s, u->name, err);
    return rc ? rc
              : store_run(s, "DELETE FROM marks WHERE name = 'former/' || $1", params, 1,
                          NULL, NULL, NULL, err);
}

enum rc store_user_create(struct store *s, const struct store_user *u, struct err *err)
{
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = insert_user(s, u, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}

struct str store_user_project(struct str entry, bool *leads)
{
    struct str name = str_of(entry.p, entry.n);
    size_t mark = strlen(STORE_PROJECT_ADMIN);
    bool marked = entry.n > mark &&
                  memcmp(entry.p + entry.n - mark, STORE_PROJECT_ADMIN, mark) == 0;
    if (marked)
        name.n -= mark;
    if (leads)
        *leads = marked;
    return name;
}

bool store_user_in_project(const char *projects, const char *project, bool *leads)
{
    struct str rest = str_c(projects), part;
    while (rest.n && str_split(&rest, ',', &part))
        if (part.n && str_is(store_user_project(part, leads), project))
            return true;
    if (leads)
        *leads = false;
    return false;
}

enum rc store_user_former(struct store *s, const char *name, bool *former,
                          struct err *err)
{
    int64_t when = 0;
    char *mark = mem_printf("former/%s", name);
    enum rc rc = store_mark_get(s, mark, &when, err);
    *former = when != 0;
    mem_free(mark);
    return rc;
}

static enum rc no_user(const char *name, struct err *err)
{
    return err_coded(err, RC_NOTFOUND, E3111, "no user '%.200s'", name);
}

enum rc store_user_update(struct store *s, const struct store_user *u, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(u->name), DB_TEXT(u->role),
                                            DB_TEXT(u->projects), DB_INT(u->disabled)};
    enum rc rc = store_run(
        s, "UPDATE users SET role = $2, projects = $3, disabled = $4 WHERE name = $1",
        params, ARRAY_LEN(params), NULL, NULL, &changed, err);
    return rc || changed ? rc : no_user(u->name, err);
}

enum rc store_user_get(struct store *s, const char *name, struct store_users *out,
                       struct err *err)
{
    struct store_users l = {0};
    const struct store_db_value params[] = {DB_TEXT(name)};
    enum rc rc = store_table_select(
        s, &seen, name ? "WHERE name = $1" : "ORDER BY name LIMIT 10000", params,
        name ? 1 : 0, &l, err);
    if (!rc && name && l.n == 0)
        rc = no_user(name, err);
    if (!rc)
        *out = l;
    return rc;
}

enum rc store_user_barred(struct store *s, struct store_users *out, struct err *err)
{
    return store_table_select(s, &seen,
                              "WHERE disabled <> 0 OR role NOT IN ('submitter', 'admin')",
                              NULL, 0, out, err);
}

/* True when in doubt. */
static bool has_users(struct store *s)
{
    int64_t n = 1;
    bool found = false;
    enum rc rc =
        store_table_number(s, "SELECT count(*) FROM users", NULL, 0, &n, &found, NULL);
    return rc || !found || n > 0;
}

bool store_user_is_local(struct store *s, const char *account, const char *owner)
{
    struct store_users one = {0};
    bool former = true;
    if (!has_users(s))
        return true;
    if (!account || (strcmp(owner, account) != 0 && strcmp(owner, "root") != 0))
        return false;
    enum rc rc = store_user_get(s, owner, &one, NULL);
    store_users_release(&one);
    return rc == RC_NOTFOUND && store_user_former(s, owner, &former, NULL) == RC_OK &&
           !former;
}

enum rc store_user_oidc(struct store *s, const char *name, bool may, struct err *err)
{
    char *mark = mem_printf("oidc/%s", name);
    enum rc rc = store_mark_set(s, mark, may ? -1 : 0, err);
    mem_free(mark);
    return rc;
}

enum rc store_user_delete(struct store *s, const char *name, struct err *err)
{
    int64_t changed = 0;
    const struct store_db_value params[] = {DB_TEXT(name), DB_INT(clock_wall_ns())};
    enum rc rc = s->db->begin(s->state, err);
    if (rc)
        return rc;
    rc = store_run(s, "DELETE FROM tokens WHERE owner = $1", params, 1, NULL, NULL, NULL,
                   err);
    if (!rc)
        rc = store_run(s, "DELETE FROM marks WHERE name = 'oidc/' || $1", params, 1, NULL,
                       NULL, NULL, err);
    if (!rc)
        rc = store_run(s, "DELETE FROM users WHERE name = $1", params, 1, NULL, NULL,
                       &changed, err);
    if (!rc && !changed)
        rc = no_user(name, err);
    if (!rc)
        rc = store_run(s,
                       "INSERT INTO marks (name, value) VALUES ('former/' || $1, $2) ON "
                       "CONFLICT (name) DO UPDATE SET value = excluded.value",
                       params, 2, NULL, NULL, NULL, err);
    if (!rc)
        rc = s->db->commit(s->state, err);
    if (rc)
        s->db->rollback(s->state);
    return rc;
}
