/* SPDX-License-Identifier: Apache-2.0 */
#include "team/standing.h"

#include <string.h>

#include "job/status.h"

enum rc team_standing_open(struct store *s, const char *account,
                           struct team_standing *out, struct err *err)
{
    *out = (struct team_standing){.store = s, .account = account};
    return store_user_get(s, NULL, &out->users, err);
}

void team_standing_close(struct team_standing *t)
{
    store_users_release(&t->users);
    arena_release(&t->arena);
}

/* The list ends somewhere; who is behind its end is asked for by name. */
static const struct store_user *find(struct team_standing *t, const char *name,
                                     struct store_users *one)
{
    for (size_t i = 0; i < t->users.n; i++)
        if (strcmp(t->users.at[i].name, name) == 0)
            return &t->users.at[i];
    return store_user_get(t->store, name, one, NULL) == RC_OK ? &one->at[0] : NULL;
}

static const char *wrong_with(struct arena *a, const struct store_user *u,
                              const char *project, bool submits)
{
    if (u->disabled)
        return arena_printf(a, "'%.100s' is disabled", u->name);
    if (strcmp(u->role, "admin") == 0)
        return NULL;
    if (submits && strcmp(u->role, "submitter") != 0)
        return arena_printf(a, "'%.100s' may not submit jobs", u->name);
    if (*project && !store_user_in_project(u->projects, project, NULL))
        return arena_printf(a,
                            "'%.100s' is not a member of the project '%.100s' any more",
                            u->name, project);
    return NULL;
}

const char *team_standing_wrong(struct team_standing *t, const char *owner,
                                const char *project, bool submits)
{
    struct store_users one = {0};
    const char *wrong = NULL;
    if (t->users.n == 0)
        return NULL;
    const struct store_user *u = find(t, owner, &one);
    if (u)
        wrong = wrong_with(&t->arena, u, project, submits);
    else if (!store_user_is_local(t->store, t->account, owner))
        wrong = arena_printf(&t->arena, "'%.100s' is not a user of this server any more",
                             owner);
    store_users_release(&one);
    return wrong;
}

void team_standing_schedules(struct team_standing *t, struct store_schedules *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->at[i].stopped = team_standing_wrong(t, l->at[i].owner, l->at[i].project, true);
}

void team_standing_rules(struct team_standing *t, struct store_rules *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct doc doc = {0};
        const struct node *map = job_json_open(l->at[i].condition, &doc);
        const char *project = node_get_text(map, "project", "");
        l->at[i].muted = team_standing_wrong(t, l->at[i].owner, project, false);
        if (doc.src)
            doc_release(&doc);
    }
}
