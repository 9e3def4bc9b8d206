/* SPDX-License-Identifier: Apache-2.0 */
#include "team/retention.h"

#include <string.h>

#include "base/str.h"
#include "store/users.h"
#include "text/job/job.h"

static enum rc check_user(struct store *s, const char *account, const char *name,
                          struct err *err)
{
    struct store_users users = {0};
    struct store_user_left left = {0};
    enum rc rc = store_user_get(s, name, &users, err);
    store_users_release(&users);
    if (rc != RC_NOTFOUND || (account && strcmp(name, account) == 0))
        return rc == RC_NOTFOUND ? RC_OK : rc;
    rc = store_user_left_get(s, name, &left, err);
    if (!rc && !left.jobs)
        rc = err_coded(err, RC_INVAL, E5504,
                       "there is no user '%.100s', and no job of that name", name);
    return rc;
}

enum rc team_retention_put(struct store *s, const char *account,
                           const struct store_retention *x, struct err *err)
{
    static const char user[] = "user:", project[] = "project:";
    const char *whose = x->name;
    if (str_starts(whose, RETENTION_EXPERIMENTS))
        whose += strlen(RETENTION_EXPERIMENTS);
    bool of_user = str_starts(whose, user), of_project = str_starts(whose, project);
    const char *name = whose + (of_user      ? sizeof(user) - 1
                                : of_project ? sizeof(project) - 1
                                             : 0);
    const char *wrong = jobspec_check_name(str_c(name));
    enum rc rc = RC_OK;
    if (x->age_s < 0 && x->jobs < 0 && x->bytes < 0)
        return err_coded(err, RC_INVAL, E5504,
                         "a policy without a limit deletes nothing: give an age, a count "
                         "or a size; `retention delete` removes a policy");
    if (wrong || (!of_user && !of_project && strcmp(whose, "default") != 0))
        return err_coded(err, RC_INVAL, E5504, "%s '%.100s': %s",
                         of_user      ? "user"
                         : of_project ? "project"
                                      : "policy",
                         name,
                         wrong ? wrong : "is not user:NAME, project:NAME or default");
    if (of_user)
        rc = check_user(s, account, name, err);
    return rc ? rc : store_retention_put(s, x, err);
}
