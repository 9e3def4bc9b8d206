/* SPDX-License-Identifier: Apache-2.0 */
/* What a user leaves behind in the folders of experiments; the rest is team/leave.c's. */
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"

typedef enum rc left_fn(struct http_call *c, const char *dir, struct err *err);

/* Each folder whose owner is `name`, whoever asks; *n counts them. */
static enum rc each_of(struct http_call *c, const char *name, left_fn *fn, size_t *n,
                       struct err *err)
{
    const char *home = c->api->o.experiments;
    struct fs_names names = {0};
    *n = 0;
    if (!home || !fs_is_dir(home))
        return RC_OK;
    enum rc rc = fs_list(home, &names, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        struct exp_peek is;
        char *dir = fs_join(home, names.at[i]);
        if (experiment_peek(dir, &is, NULL) == RC_OK && strcmp(is.owner, name) == 0) {
            ++*n;
            rc = fn ? fn(c, dir, err) : RC_OK;
        }
        mem_free(dir);
    }
    fs_names_release(&names);
    return rc;
}

enum rc http_experiments_left(struct http_call *c, const char *name, struct err *err)
{
    size_t n = 0;
    enum rc rc = each_of(c, name, NULL, &n, err);
    if (rc || !n)
        return rc;
    return err_coded(
        err, RC_INVAL, E3112,
        "the name '%.100s' has belongings: %zu experiments; delete them with "
        "`trainyard user delete %.100s --purge`, or give them to the new "
        "user with --inherit",
        name, n, name);
}

static enum rc check_over(struct http_call *c, const char *dir, struct err *err)
{
    struct exp_peek is;
    enum rc rc = experiment_peek(dir, &is, err);
    if (!rc && http_experiments_alive(c, dir))
        rc = err_coded(err, RC_CANCELED, E5022,
                       "experiment '%s' of '%.100s' is running; stop it first", is.id,
                       is.owner);
    return rc;
}

static enum rc remove_one(struct http_call *c, const char *dir, struct err *err)
{
    return fs_remove_all(dir, err);
}

enum rc http_experiments_purge(struct http_call *c, const char *name, bool *any,
                               struct err *err)
{
    size_t n = 0;
    enum rc rc = each_of(c, name, check_over, &n, err);
    *any = n > 0;
    return rc ? rc : each_of(c, name, remove_one, &n, err);
}
