/* SPDX-License-Identifier: Apache-2.0 */
/* Users and tokens of a server; without one, of the store of this machine, whose owner
 * may do everything anyway.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/job_common.h"
#include "http/auth.h"
#include "job/quote.h"
#include "job/status.h"
#include "store/users.h"
#include "team/leave.h"
#include "text/job/job.h"

struct people_conf {
    struct job_where where;
    const char *role, *note;
    struct opt_list project, add_project, remove_project;
    double expires;
    bool json, disable, enable, stop_jobs, no_projects, oidc, inherit, purge;
};

#define PLACE_OPTS JOB_WHERE_OPTS(struct people_conf), JOB_SERVER_OPT(struct people_conf)

static const struct opt plain_opts[] = {PLACE_OPTS, {0}};

static const struct opt list_opts[] = {
    {OPT_BOOL(struct people_conf, json, "false", "print JSON")},
    PLACE_OPTS,
    {0},
};

static const struct opt update_opts[] = {
    {OPT_CHOICE(struct people_conf, role, NULL, ROLE_WORDS, "new role")},
    {OPT_LIST(struct people_conf, project,
              "project the user belongs to from now on; replaces the old ones"),
     .meta = "P"},
    {OPT_LIST(struct people_conf, add_project,
              "project the user belongs to as well; P:admin: as an admin of the project"),
     .meta = "P"},
    {OPT_LIST(struct people_conf, remove_project, "project the user leaves"),
     .meta = "P"},
    {OPT_BOOL(struct people_conf, no_projects, "false", "remove from all projects")},
    {OPT_BOOL(struct people_conf, disable, "false",
              "refuse all tokens of the user, start none of their jobs, and stop their "
              "schedules and notifications; running jobs continue")},
    {OPT_BOOL(struct people_conf, stop_jobs, "false",
              "with --disable: also stop the user's running and queued jobs")},
    {OPT_BOOL(struct people_conf, enable, "false", "undo --disable")},
    {OPT_BOOL(
        struct people_conf, oidc, "false",
        "link the next login under this name, through the OpenID provider or LDAP, to "
        "this user")},
    PLACE_OPTS,
    {0},
};

static const struct opt user_opts[] = {
    {OPT_CHOICE(struct people_conf, role, "submitter", ROLE_WORDS, "role of the user")},
    {OPT_LIST(struct people_conf, project,
              "project the user belongs to; P:admin: as an admin of the project"),
     .meta = "P"},
    {OPT_BOOL(struct people_conf, inherit, "false",
              "give the user what a former user of that name left")},
    PLACE_OPTS,
    {0},
};

static const struct opt delete_opts[] = {
    {OPT_BOOL(
        struct people_conf, purge, "false",
        "also delete jobs, schedules, notification rules, models, uploads, experiments "
        "and dataset names; works for users deleted earlier, too")},
    PLACE_OPTS,
    {0},
};

static const struct opt token_opts[] = {
    {OPT_CHOICE(struct people_conf, role, NULL, ROLE_WORDS,
                "role of the token; never more than the role of its user, which is the "
                "default")},
    {OPT_TEXT(struct people_conf, note, "", "name of the token, for people"),
     .meta = "TEXT"},
    {OPT_DURATION(struct people_conf, expires, "0", 0, 3e9,
                  "lifetime of the token; 0: unlimited")},
    PLACE_OPTS,
    {0},
};

static enum rc people_call(const struct cmd_place *p, const char *method, char *path,
                           struct buf *body, struct doc *doc, struct err *err)
{
    struct remote_ask q = {.method = method,
                           .path = path,
                           .type = body ? "application/json" : NULL,
                           .body = body ? body->p : NULL,
                           .n = body ? body->n : 0};
    enum rc rc = remote_call(&p->remote, &q, doc, NULL, err);
    mem_free(path);
    return rc;
}

/* Names become part of an address, and are checked there as well. */
static enum rc check_name(const char *name, struct err *err)
{
    const char *wrong = jobspec_check_name(str_c(name));
    return wrong ? err_coded(err, RC_INVAL, E5006, "'%.100s': %s", name, wrong) : RC_OK;
}

static enum rc check_project(const char *text, struct err *err)
{
    struct str name = store_user_project(str_c(text), NULL);
    const char *wrong = jobspec_check_name(name);
    return wrong ? err_coded(err, RC_INVAL, E5006, "'%.150s': %s", text, wrong) : RC_OK;
}

/* Projects, as JSON and with ',' between the names. */
static enum rc put_projects(const struct opt_list *l, struct json_out *j,
                            struct buf *names, struct err *err)
{
    enum rc rc = RC_OK;
    json_open(j, "projects", '[');
    for (size_t i = 0; i < l->n && !rc; i++) {
        rc = check_project(l->at[i], err);
        buf_printf(names, "%s%s", i ? "," : "", l->at[i]);
        json_put_str(j, NULL, l->at[i]);
    }
    json_close(j, ']');
    return rc ? rc : buf_check(names, err);
}

static int64_t time_of(const struct node *map, const char *key)
{
    int64_t ns = 0;
    const char *text = node_get_text(map, key, "");
    return *text && clock_from_rfc3339(str_c(text), &ns) ? ns : 0;
}

static void take_user(const struct node *n, struct arena *a, struct store_user *out)
{
    const struct node *projects = node_find(n, "projects"),
                      *off = node_find(n, "disabled");
    struct buf b;
    buf_init(&b, 1 << 16);
    for (size_t i = 0; projects && projects->kind == NODE_LIST && i < projects->list.n;
         i++)
        buf_printf(&b, "%s%s", i ? "," : "", projects->list.at[i]->text.p);
    *out = (struct store_user){.name = arena_strdup(a, node_get_text(n, "name", "")),
                               .role = arena_strdup(a, node_get_text(n, "role", "")),
                               .projects = arena_strdup(a, buf_str(&b)),
                               .disabled = off && off->kind == NODE_BOOL && off->flag,
                               .uid = node_get_int(n, "uid", 0),
                               .created = time_of(n, "created")};
    buf_release(&b);
}

static enum rc remote_users(const struct cmd_place *p, struct store_users *out,
                            struct err *err)
{
    struct doc doc = {0};
    enum rc rc = people_call(p, "GET", mem_strdup("/api/v1/users"), NULL, &doc, err);
    const struct node *l = rc ? NULL : node_find(doc.root, "users");
    size_t n = l && l->kind == NODE_LIST ? l->list.n : 0;
    out->at = arena_alloc(&out->arena, (n + 1) * sizeof(*out->at));
    for (size_t i = 0; i < n; i++)
        take_user(l->list.at[i], &out->arena, &out->at[out->n++]);
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static bool same_project(const char *a, const char *b)
{
    struct str x = store_user_project(str_c(a), NULL),
               y = store_user_project(str_c(b), NULL);
    return x.n == y.n && memcmp(x.p, y.p, x.n) == 0;
}

static bool in_list(const char *name, size_t n, const char *const *list)
{
    for (size_t i = 0; i < n; i++)
        if (same_project(name, list[i]))
            return true;
    return false;
}

/* All users as they are, to see whom a change meets. */
static enum rc read_users(const struct cmd_place *p, struct store_users *out,
                          struct err *err)
{
    return p->p.store ? store_user_get(p->p.store, NULL, out, err)
                      : remote_users(p, out, err);
}

/* The projects that `name` is in after --add-project and --remove-project, in l's arena. */
static enum rc changed_projects(const struct people_conf *c, struct store_users *l,
                                const char *name, struct opt_list *out, struct err *err)
{
    const struct store_user *u = NULL;
    const struct opt_list *add = &c->add_project, *gone = &c->remove_project;
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i].name, name) == 0)
            u = &l->at[i];
    if (!u)
        return err_coded(err, RC_NOTFOUND, E3111, "no user '%.100s'", name);
    struct str rest = str_c(u->projects), part;
    size_t most = add->n + strlen(u->projects) + 1;
    const char **at = arena_alloc(&l->arena, most * sizeof(*at));
    size_t n = 0, left = 0;
    while (rest.n && str_split(&rest, ',', &part)) {
        const char *old = arena_strndup(&l->arena, part.p, part.n);
        left += in_list(old, gone->n, gone->at);
        if (!in_list(old, gone->n, gone->at) && !in_list(old, add->n, add->at))
            at[n++] = old;
    }
    if (left < gone->n)
        return err_coded(err, RC_INVAL, E0603, "'%.100s' is only in: %.300s", name,
                         *u->projects ? u->projects : "no project");
    for (size_t i = 0; i < add->n; i++)
        at[n++] = add->at[i];
    out->n = n;
    out->at = at;
    return RC_OK;
}

/* A misspelt name would be a project of one. */
static void tell_new_projects(const struct store_users *before, const char *name,
                              const struct opt_list *given)
{
    for (size_t i = 0; i < given->n; i++) {
        bool known = false;
        for (size_t k = 0; k < before->n; k++) {
            struct str rest = str_c(before->at[k].projects), part;
            struct str want = store_user_project(str_c(given->at[i]), NULL);
            while (rest.n && str_split(&rest, ',', &part)) {
                struct str is = store_user_project(part, NULL);
                known |= is.n == want.n && memcmp(is.p, want.p, is.n) == 0;
            }
        }
        if (!known)
            fprintf(stderr, "note: nobody was in the project '%s' before '%s'\n",
                    given->at[i], name);
    }
}

static enum rc user_create(const struct people_conf *c, const struct cmd_place *p,
                           const char *name, struct err *err)
{
    struct buf projects, body;
    buf_init(&projects, AUTH_PROJECTS_SIZE - 1);
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    json_put_str(&j, "name", name);
    json_put_str(&j, "role", c->role);
    if (c->inherit)
        json_put_bool(&j, "inherit", true);
    enum rc rc = put_projects(&c->project, &j, &projects, err);
    json_close(&j, '}');
    struct store_user u = {.name = name,
                           .role = c->role,
                           .projects = buf_str(&projects),
                           .created = clock_wall_ns(),
                           .inherits = c->inherit};
    struct store_users before = {0};
    bool seen = !rc && c->project.n && read_users(p, &before, NULL) == RC_OK;
    if (!rc)
        rc = p->p.store
                 ? team_leave_enter(&p->p, &u, err)
                 : people_call(p, "POST", mem_strdup("/api/v1/users"), &body, NULL, err);
    if (!rc && seen)
        tell_new_projects(&before, name, &c->project);
    store_users_release(&before);
    buf_release(&body);
    buf_release(&projects);
    return rc;
}

/* Whether somebody else can still do everything. */
static enum rc keep_an_admin(const struct store_users *all, const char *except,
                             struct err *err)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->at[i].role, "admin") == 0 && !all->at[i].disabled &&
            strcmp(all->at[i].name, except) != 0)
            return RC_OK;
    return err_coded(err, RC_CANCELED, E5016, "'%s' is the last admin", except);
}

/* What a server does with the same change. */
static enum rc update_here(const struct people_conf *c, const struct cmd_place *p,
                           const char *name, const char *projects, struct err *err)
{
    struct store *s = p->p.store;
    int64_t stopped;
    struct store_users all = {0};
    enum rc rc = store_user_get(s, NULL, &all, err);
    struct store_user *u = NULL;
    for (size_t i = 0; i < all.n && !rc; i++)
        if (strcmp(all.at[i].name, name) == 0)
            u = &all.at[i];
    if (!rc && !u)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no user '%.100s'", name);
    if (!rc) {
        bool was_admin = strcmp(u->role, "admin") == 0 && !u->disabled;
        u->role = c->role ? c->role : u->role;
        u->projects = projects ? projects : u->projects;
        u->disabled = c->enable                    ? 0
                      : c->disable && !u->disabled ? clock_wall_ns()
                                                   : u->disabled;
        if (was_admin && (u->disabled || strcmp(u->role, "admin") != 0))
            rc = keep_an_admin(&all, name, err);
    }
    if (!rc)
        rc = store_user_update(s, u, err);
    if (!rc && c->oidc)
        rc = store_user_oidc(s, name, true, err);
    if (!rc && c->stop_jobs)
        rc = team_leave_stop(&p->p, name, &stopped, err);
    store_users_release(&all);
    return rc;
}

static enum rc user_update(const struct people_conf *c, const struct cmd_place *p,
                           const char *name, struct err *err)
{
    struct buf projects, body;
    struct store_users before = {0};
    struct opt_list wanted = c->project;
    bool some = c->add_project.n || c->remove_project.n;
    bool moved = c->project.n || c->no_projects || some;
    if ((c->disable && c->enable) || (c->project.n > 0) + c->no_projects + some > 1)
        return err_coded(
            err, RC_INVAL, E0603,
            "--disable and --enable exclude each other, and so do --project, "
            "--no-projects and --add-project with --remove-project");
    if (c->stop_jobs && !c->disable)
        return err_coded(err, RC_INVAL, E0603, "--stop-jobs goes with --disable");
    if (!c->role && !moved && !c->disable && !c->enable && !c->oidc)
        return err_coded(err, RC_INVAL, E0603,
                         "nothing to change: --role, --project, --add-project, "
                         "--remove-project, --disable, --enable or --oidc");
    enum rc rc = some ? read_users(p, &before, err) : RC_OK;
    if (!rc && some)
        rc = changed_projects(c, &before, name, &wanted, err);
    else if (moved && read_users(p, &before, NULL))
        before.n = 0; /* then nobody is told */
    buf_init(&projects, AUTH_PROJECTS_SIZE - 1);
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    if (c->role)
        json_put_str(&j, "role", c->role);
    if (c->disable || c->enable)
        json_put_bool(&j, "disabled", c->disable);
    if (c->stop_jobs)
        json_put_bool(&j, "stop_jobs", true);
    if (moved && !rc)
        rc = put_projects(&wanted, &j, &projects, err);
    if (c->oidc)
        json_put_bool(&j, "oidc", true);
    json_close(&j, '}');
    if (!rc)
        rc = p->p.store ? update_here(c, p, name, moved ? buf_str(&projects) : NULL, err)
                        : people_call(p, "PATCH", mem_printf("/api/v1/users/%s", name),
                                      &body, NULL, err);
    if (!rc && before.n)
        tell_new_projects(&before, name, &wanted);
    store_users_release(&before);
    buf_release(&body);
    buf_release(&projects);
    return rc;
}

static enum rc user_delete(const struct people_conf *c, const struct cmd_place *p,
                           const char *name, struct err *err)
{
    if (!p->p.store)
        return people_call(
            p, "DELETE",
            mem_printf("/api/v1/users/%s%s", name, c->purge ? "?purge=true" : ""), NULL,
            NULL, err);
    bool any = false;
    enum rc rc = c->purge ? team_leave_purge(&p->p, name, &any, err) : RC_OK;
    if (!rc)
        rc = store_user_delete(p->p.store, name, err);
    return rc == RC_NOTFOUND && any ? RC_OK : rc;
}

static void tell_lifetime(const struct people_conf *c)
{
    if (c->expires <= 0)
        fprintf(stderr, "note: this token never expires; --expires 90d limits it, "
                        "`token delete` ends it\n");
}

static enum rc token_local(const struct people_conf *c, const struct cmd_place *p,
                           const char *user, struct err *err)
{
    struct arena a = {0};
    struct store_users users = {0};
    char text[AUTH_TOKEN_SIZE];
    struct store_token t = {
        .owner = user,
        .note = c->note,
        .expires = c->expires > 0 ? clock_wall_ns() + (int64_t)(c->expires * 1e9) : 0};
    enum rc rc = store_user_get(p->p.store, user, &users, err);
    if (!rc)
        t.role = c->role ? http_role_least(c->role, users.at[0].role) : users.at[0].role;
    if (!rc)
        rc = http_auth_make(p->p.store, &t, &a, text, err);
    if (!rc) {
        printf("%s\n", text);
        tell_lifetime(c);
    }
    explicit_bzero(text, sizeof(text));
    store_users_release(&users);
    arena_release(&a);
    return rc;
}

/* Who asks; *all (may be NULL): sees everybody's. The caller's, NULL on failure. */
static char *ask_me(const struct cmd_place *p, bool *all, struct err *err)
{
    struct doc doc = {0};
    enum http_role role = ROLE_NONE;
    if (people_call(p, "GET", mem_strdup("/api/v1/me"), NULL, &doc, err))
        return NULL;
    char *name = mem_strdup(node_get_text(doc.root, "name", ""));
    if (all)
        *all = http_role_find(node_get_text(doc.root, "role", ""), &role) &&
               http_role_sees_all(role);
    doc_release(&doc);
    return name;
}

static enum rc token_create(const struct people_conf *c, const struct cmd_place *p,
                            const char *user, struct err *err)
{
    struct buf body;
    struct doc doc = {0};
    if (p->p.store && user)
        return token_local(c, p, user, err);
    if (p->p.store)
        return err_coded(err, RC_INVAL, E0603, "without a server the user must be named");
    char *me = user ? NULL : ask_me(p, NULL, err);
    if (!user && !me)
        return RC_IO;
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    if (c->role)
        json_put_str(&j, "role", c->role);
    json_put_str(&j, "note", c->note);
    if (c->expires >= 1)
        json_put_int(&j, "expires_s", (int64_t)c->expires);
    json_close(&j, '}');
    enum rc rc =
        people_call(p, "POST", mem_printf("/api/v1/users/%s/tokens", user ? user : me),
                    &body, &doc, err);
    mem_free(me);
    if (!rc) {
        printf("%s\n", node_get_text(doc.root, "token", ""));
        tell_lifetime(c);
    }
    if (doc.src)
        doc_release(&doc);
    buf_release(&body);
    return rc;
}

static enum rc token_delete(const struct people_conf *c, const struct cmd_place *p,
                            const char *id, struct err *err)
{
    return p->p.store ? store_token_delete(p->p.store, id, err)
                      : people_call(p, "DELETE", mem_printf("/api/v1/tokens/%s", id),
                                    NULL, NULL, err);
}

/* Lists of users and of tokens come as rows of texts, from a store or from a server, and are
 * printed in one way. */
#define USER_ROW "%-24s  %-10s  %-8s  %-10s  %s\n"

static void put_user(const struct people_conf *c, const struct store_user *u,
                     struct json_out *j)
{
    if (!c->json) {
        char uid[24] = "";
        if (u->uid)
            snprintf(uid, sizeof(uid), "%jd", (intmax_t)u->uid);
        printf(USER_ROW, u->name, u->role, u->disabled ? "disabled" : "", uid,
               u->projects);
        return;
    }
    json_open(j, NULL, '{');
    json_put_str(j, "name", u->name);
    json_put_str(j, "role", u->role);
    json_put_str(j, "projects", u->projects);
    json_put_bool(j, "disabled", u->disabled != 0);
    if (u->uid)
        json_put_int(j, "uid", u->uid);
    json_put_time(j, "created", u->created);
    json_close(j, '}');
}

static enum rc user_list(const struct people_conf *c, const struct cmd_place *p,
                         const char *none, struct err *err)
{
    struct store_users l = {0};
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    struct json_out j = {.out = &b};
    enum rc rc =
        p->p.store ? store_user_get(p->p.store, NULL, &l, err) : remote_users(p, &l, err);
    if (!rc && !c->json)
        printf(USER_ROW, "name", "role", "state", "uid", "projects");
    json_open(&j, NULL, '[');
    for (size_t i = 0; i < l.n && !rc; i++)
        put_user(c, &l.at[i], &j);
    json_close(&j, ']');
    if (!rc && c->json)
        printf("%s\n", buf_str(&b));
    buf_release(&b);
    store_users_release(&l);
    return rc;
}

static void put_moment(int64_t ns, const char *otherwise, char out[CLOCK_TEXT_SIZE])
{
    if (ns)
        clock_rfc3339(ns, out);
    else
        snprintf(out, CLOCK_TEXT_SIZE, "%s", otherwise);
}

static void put_token(const struct people_conf *c, const struct store_token *t,
                      struct json_out *j)
{
    char expires[CLOCK_TEXT_SIZE], used[CLOCK_TEXT_SIZE];
    struct buf b;
    if (c->json) {
        json_open(j, NULL, '{');
        json_put_str(j, "id", t->id);
        json_put_str(j, "owner", t->owner);
        json_put_str(j, "role", t->role);
        json_put_str(j, "name", t->note);
        json_put_time(j, "created", t->created);
        json_put_time(j, "expires", t->expires);
        json_put_time(j, "used", t->used);
        json_close(j, '}');
        return;
    }
    buf_init(&b, 4096);
    job_quote_terminal(str_c(t->note), &b);
    put_moment(t->expires, "never", expires);
    put_moment(t->used, "never", used);
    printf("%-18s  %-20s  %-10s  %-24s  %-24s  %s\n", t->id, t->owner, t->role, expires,
           used, buf_str(&b));
    buf_release(&b);
}

/* A token can do no more than its user, whatever it was made with. */
static enum rc local_tokens(const struct cmd_place *p, const char *user,
                            struct store_tokens *out, struct err *err)
{
    struct store_users users = {0};
    enum rc rc = store_user_get(p->p.store, user, &users, err);
    if (!rc)
        rc = store_token_list(p->p.store, user, out, err);
    for (size_t i = 0; i < out->n && !rc; i++)
        for (size_t k = 0; k < users.n; k++)
            if (strcmp(users.at[k].name, out->at[i].owner) == 0)
                out->at[i].role = http_role_least(out->at[i].role, users.at[k].role);
    store_users_release(&users);
    return rc;
}

static enum rc remote_tokens(const struct cmd_place *p, const char *user,
                             struct store_tokens *out, struct err *err)
{
    struct doc doc = {0};
    struct arena *a = &out->arena;
    bool all = false;
    char *me = user ? mem_strdup(user) : ask_me(p, &all, err);
    if (!me)
        return RC_IO;
    enum rc rc = people_call(p, "GET",
                             all ? mem_strdup("/api/v1/tokens")
                                 : mem_printf("/api/v1/users/%s/tokens", me),
                             NULL, &doc, err);
    mem_free(me);
    const struct node *l = rc ? NULL : node_find(doc.root, "tokens");
    size_t n = l && l->kind == NODE_LIST ? l->list.n : 0;
    out->at = arena_alloc(a, (n + 1) * sizeof(*out->at));
    for (size_t i = 0; i < n; i++) {
        const struct node *t = l->list.at[i];
        out->at[out->n++] =
            (struct store_token){.id = arena_strdup(a, node_get_text(t, "id", "")),
                                 .owner = arena_strdup(a, node_get_text(t, "owner", "")),
                                 .role = arena_strdup(a, node_get_text(t, "role", "")),
                                 .note = arena_strdup(a, node_get_text(t, "note", "")),
                                 .created = time_of(t, "created"),
                                 .expires = time_of(t, "expires"),
                                 .used = time_of(t, "used")};
    }
    if (doc.src)
        doc_release(&doc);
    return rc;
}

static enum rc token_list(const struct people_conf *c, const struct cmd_place *p,
                          const char *user, struct err *err)
{
    struct store_tokens l = {0};
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    struct json_out j = {.out = &b};
    enum rc rc =
        p->p.store ? local_tokens(p, user, &l, err) : remote_tokens(p, user, &l, err);
    json_open(&j, NULL, '[');
    if (!rc && !c->json)
        printf("%-18s  %-20s  %-10s  %-24s  %-24s  %s\n", "id", "owner", "role",
               "expires", "last used", "name");
    for (size_t i = 0; i < l.n && !rc; i++)
        put_token(c, &l.at[i], &j);
    json_close(&j, ']');
    if (!rc && c->json)
        printf("%s\n", buf_str(&b));
    buf_release(&b);
    store_tokens_release(&l);
    return rc;
}

typedef enum rc people_fn(const struct people_conf *c, const struct cmd_place *p,
                          const char *name, struct err *err);

static enum rc with_place(const void *conf, const struct opt_args *args, people_fn *fn,
                          struct err *err)
{
    const struct people_conf *c = conf;
    struct cmd_place p;
    enum rc rc = args->n ? check_name(args->at[0], err) : RC_OK;
    if (!rc)
        rc = job_open(&c->where, &p, err);
    if (rc)
        return rc;
    rc = fn(c, &p, args->n ? args->at[0] : NULL, err);
    cmd_place_close(&p);
    return rc;
}

#define COMMAND(id, words, args_, least, most, opts_, summary_, about, what, line) \
    static enum rc run_##id(const void *conf, const struct opt_args *args,         \
                            struct err *err)                                       \
    {                                                                              \
        return with_place(conf, args, id, err);                                    \
    }                                                                              \
    static const struct cmd_example examples_##id[] = {{what, line}, {0}};         \
    const struct cmd cmd_##id = {.name = words,                                    \
                                 .args = args_,                                    \
                                 .summary = summary_,                              \
                                 .description = about,                             \
                                 .examples = examples_##id,                        \
                                 .opts = opts_,                                    \
                                 .conf_size = sizeof(struct people_conf),          \
                                 .min_args = least,                                \
                                 .max_args = most,                                 \
                                 .run = run_##id}

COMMAND(user_create, "user create", "NAME", 1, 1, user_opts, "create a user",
        "Users see and control their own jobs and those of their projects. `token "
        "create` makes a token to log in with.",
        "a member of a project", "trainyard user create ann --project ads");
COMMAND(
    user_update, "user update", "NAME", 1, 1, update_opts,
    "change role or projects of a user, or disable one",
    "A disabled user's tokens are refused from the next request on, and experiments of "
    "the user get no further trials; running jobs are kept. The last admin can be "
    "neither disabled nor given a lesser role.",
    "somebody has left", "trainyard user update ann --disable");
COMMAND(user_list, "user list", NULL, 0, 0, list_opts, "list users, roles and projects",
        NULL, "all of them", "trainyard user list");
COMMAND(user_delete, "user delete", "NAME", 1, 1, delete_opts,
        "delete a user and their tokens; jobs stay",
        "What the user owned stays available to their projects and to admins; schedules "
        "stop and notifications are muted. The name can be used again once all of it is "
        "deleted (--purge), or by a user who takes it over (user create --inherit). "
        "Purging is refused while a job or an experiment of the user runs.",
        "a user with all that is theirs", "trainyard user delete ann --purge");
COMMAND(
    token_create, "token create", "[USER]", 0, 1, token_opts,
    "create a token for yourself or, as an admin, for a user",
    "A token for yourself has at most the role and the lifetime of the one that you "
    "are logged in with. The token is printed once and never stored; the store keeps a "
    "hash. With write access to the local store you can create one without a server "
    "(`--server local`), for example after losing all other tokens.",
    "for three months", "trainyard token create ann --expires 90d --note laptop");
COMMAND(token_list, "token list", "[USER]", 0, 1, list_opts,
        "list your tokens; as an admin those of a user, or all",
        "Shows the owner of each token, its role (never above the user's), when it "
        "expires, when it was last used, and its name (`token create --note`).",
        "list them", "trainyard token list ann");
COMMAND(token_delete, "token delete", "ID", 1, 1, plain_opts,
        "revoke one of your tokens or, as an admin, any token", NULL,
        "revoke a lost token", "trainyard token delete tk-0123456789ab");
