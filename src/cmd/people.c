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
#include "text/job/job.h"

struct people_conf {
    struct job_where where;
    const char *role, *note;
    struct opt_list project;
    double expires;
    bool json;
};

#define PLACE_OPTS JOB_WHERE_OPTS(struct people_conf), JOB_SERVER_OPT(struct people_conf)

static const struct opt plain_opts[] = {PLACE_OPTS, {0}};

static const struct opt user_opts[] = {
    {OPT_CHOICE(struct people_conf, role, "submitter", "viewer|submitter|admin",
                "role of the user")},
    {OPT_LIST(struct people_conf, project, "project the user belongs to"), .meta = "P"},
    PLACE_OPTS,
    {0},
};

static const struct opt token_opts[] = {
    {OPT_CHOICE(struct people_conf, role, "admin", "viewer|submitter|admin",
                "role of the token; never more than the role of its user")},
    {OPT_TEXT(struct people_conf, note, "", "for people"), .meta = "TEXT"},
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

static enum rc user_create(const struct people_conf *c, const struct cmd_place *p,
                           const char *name, struct err *err)
{
    struct buf projects, body;
    enum rc rc = RC_OK;
    buf_init(&projects, AUTH_PROJECTS_SIZE - 1);
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    json_put_str(&j, "name", name);
    json_put_str(&j, "role", c->role);
    json_open(&j, "projects", '[');
    for (size_t i = 0; i < c->project.n && !rc; i++) {
        rc = check_name(c->project.at[i], err);
        buf_printf(&projects, "%s%s", i ? "," : "", c->project.at[i]);
        json_put_str(&j, NULL, c->project.at[i]);
    }
    json_close(&j, ']');
    json_close(&j, '}');
    struct store_user u = {.name = name,
                           .role = c->role,
                           .projects = buf_str(&projects),
                           .created = clock_wall_ns()};
    if (!rc)
        rc = buf_check(&projects, err);
    if (!rc)
        rc = p->p.store
                 ? store_user_create(p->p.store, &u, err)
                 : people_call(p, "POST", mem_strdup("/api/v1/users"), &body, NULL, err);
    buf_release(&body);
    buf_release(&projects);
    return rc;
}

static enum rc user_delete(const struct people_conf *c, const struct cmd_place *p,
                           const char *name, struct err *err)
{
    return p->p.store ? store_user_delete(p->p.store, name, err)
                      : people_call(p, "DELETE", mem_printf("/api/v1/users/%s", name),
                                    NULL, NULL, err);
}

static enum rc token_local(const struct people_conf *c, const struct cmd_place *p,
                           const char *user, struct err *err)
{
    struct arena a = {0};
    struct store_users users = {0};
    char text[AUTH_TOKEN_SIZE];
    struct store_token t = {
        .owner = user,
        .role = c->role,
        .note = c->note,
        .expires = c->expires > 0 ? clock_wall_ns() + (int64_t)(c->expires * 1e9) : 0};
    enum rc rc = store_user_get(p->p.store, user, &users, err);
    if (!rc)
        rc = http_auth_make(p->p.store, &t, &a, text, err);
    if (!rc)
        printf("%s\n", text);
    explicit_bzero(text, sizeof(text));
    store_users_release(&users);
    arena_release(&a);
    return rc;
}

static enum rc token_create(const struct people_conf *c, const struct cmd_place *p,
                            const char *user, struct err *err)
{
    struct buf body;
    struct doc doc = {0};
    if (p->p.store)
        return token_local(c, p, user, err);
    buf_init(&body, 1 << 16);
    struct json_out j = {.out = &body};
    json_open(&j, NULL, '{');
    json_put_str(&j, "role", c->role);
    json_put_str(&j, "note", c->note);
    if (c->expires >= 1)
        json_put_int(&j, "expires_s", (int64_t)c->expires);
    json_close(&j, '}');
    enum rc rc = people_call(p, "POST", mem_printf("/api/v1/users/%s/tokens", user),
                             &body, &doc, err);
    if (!rc)
        printf("%s\n", node_get_text(doc.root, "token", ""));
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

static void put_user(const char *name, const char *role, const char *projects, bool off)
{
    printf("%-24s  %-10s  %-8s  %s\n", name, role, off ? "disabled" : "", projects);
}

static void put_remote_user(const struct node *u)
{
    const struct node *projects = node_find(u, "projects"),
                      *off = node_find(u, "disabled");
    struct buf b;
    buf_init(&b, 1 << 16);
    for (size_t i = 0; projects && projects->kind == NODE_LIST && i < projects->list.n;
         i++)
        buf_printf(&b, "%s%s", i ? "," : "", projects->list.at[i]->text.p);
    put_user(node_get_text(u, "name", ""), node_get_text(u, "role", ""), buf_str(&b),
             off && off->kind == NODE_BOOL && off->flag);
    buf_release(&b);
}

static enum rc user_list(const struct people_conf *c, const struct cmd_place *p,
                         const char *none, struct err *err)
{
    struct store_users l = {0};
    struct doc doc = {0};
    enum rc rc =
        p->p.store ? store_user_get(p->p.store, NULL, &l, err)
                   : people_call(p, "GET", mem_strdup("/api/v1/users"), NULL, &doc, err);
    for (size_t i = 0; i < l.n && !rc; i++)
        put_user(l.at[i].name, l.at[i].role, l.at[i].projects, l.at[i].disabled != 0);
    const struct node *users = rc || !doc.src ? NULL : node_find(doc.root, "users");
    for (size_t i = 0; users && users->kind == NODE_LIST && i < users->list.n; i++)
        put_remote_user(users->list.at[i]);
    if (doc.src)
        doc_release(&doc);
    store_users_release(&l);
    return rc;
}

static void put_token(const char *id, const char *role, const char *expires,
                      const char *note)
{
    struct buf b;
    buf_init(&b, 4096);
    job_quote_terminal(str_c(note), &b);
    printf("%-18s  %-10s  %-24s  %s\n", id, role, *expires ? expires : "never expires",
           buf_str(&b));
    buf_release(&b);
}

static enum rc token_list(const struct people_conf *c, const struct cmd_place *p,
                          const char *user, struct err *err)
{
    struct store_tokens l = {0};
    struct doc doc = {0};
    enum rc rc = p->p.store
                     ? store_token_list(p->p.store, user, &l, err)
                     : people_call(p, "GET", mem_printf("/api/v1/users/%s/tokens", user),
                                   NULL, &doc, err);
    for (size_t i = 0; i < l.n && !rc; i++) {
        char time[CLOCK_TEXT_SIZE] = "";
        if (l.at[i].expires)
            clock_rfc3339(l.at[i].expires, time);
        put_token(l.at[i].id, l.at[i].role, time, l.at[i].note);
    }
    const struct node *list = rc || !doc.src ? NULL : node_find(doc.root, "tokens");
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->list.n; i++) {
        const struct node *t = list->list.at[i];
        put_token(node_get_text(t, "id", ""), node_get_text(t, "role", ""),
                  node_get_text(t, "expires", ""), node_get_text(t, "note", ""));
    }
    if (doc.src)
        doc_release(&doc);
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

#define COMMAND(id, words, args_, n_args, opts_, summary_, about, what, line) \
    static enum rc run_##id(const void *conf, const struct opt_args *args,    \
                            struct err *err)                                  \
    {                                                                         \
        return with_place(conf, args, id, err);                               \
    }                                                                         \
    static const struct cmd_example examples_##id[] = {{what, line}, {0}};    \
    const struct cmd cmd_##id = {.name = words,                               \
                                 .args = args_,                               \
                                 .summary = summary_,                         \
                                 .description = about,                        \
                                 .examples = examples_##id,                   \
                                 .opts = opts_,                               \
                                 .conf_size = sizeof(struct people_conf),     \
                                 .min_args = n_args,                          \
                                 .max_args = n_args,                          \
                                 .run = run_##id}

COMMAND(user_create, "user create", "NAME", 1, user_opts, "create a user",
        "Users see and control their own jobs and those of their projects. `token "
        "create` makes a token to log in with.",
        "a member of a project", "trainyard user create ann --project ads");
COMMAND(user_list, "user list", NULL, 0, plain_opts, "list users, roles and projects",
        NULL, "all of them", "trainyard user list");
COMMAND(user_delete, "user delete", "NAME", 1, plain_opts,
        "delete a user and their tokens; jobs stay", NULL, "delete a user",
        "trainyard user delete ann");
COMMAND(
    token_create, "token create", "USER", 1, token_opts, "create a token and print it",
    "The token is printed once and never stored; the store keeps a hash. With write "
    "access to the local store you can create one without a server (`--server local`), "
    "for example after losing all other tokens.",
    "for three months", "trainyard token create ann --expires 90d --note laptop");
COMMAND(token_list, "token list", "USER", 1, plain_opts, "list the tokens of a user",
        NULL, "list them", "trainyard token list ann");
COMMAND(token_delete, "token delete", "ID", 1, plain_opts, "revoke a token", NULL,
        "revoke a lost token", "trainyard token delete tk-0123456789ab");
