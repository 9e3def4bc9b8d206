/* SPDX-License-Identifier: Apache-2.0 */
/* backend role: what a backend has to be allowed by the service that it uses. */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/mem.h"
#include "cmd/cmd.h"

struct role_conf {
    const char *namespace;
};

static const struct opt role_opts[] = {
    {OPT_TEXT(struct role_conf, namespace, "default", "where its jobs will run"),
     .meta = "NAMESPACE"},
    {0},
};

static enum rc backend_role_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct role_conf *c = conf;
    const struct backend_ops *ops = backend_find(args->at[0]);
    const char *bad = jobspec_check_kube_name(str_c(c->namespace));
    if (!ops)
        return err_set(err, RC_INVAL, "there is no backend '%.64s'", args->at[0]);
    if (!ops->role)
        return err_set(err, RC_INVAL, "the %s backend needs no rights beyond its user's",
                       ops->name);
    if (bad)
        return err_set(err, RC_INVAL, "--namespace '%.64s': %s", c->namespace, bad);
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    ops->role(c->namespace, &b);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        fputs(buf_str(&b), stdout);
    buf_release(&b);
    return rc;
}

static const struct cmd_example role_examples[] = {
    {"allow it in the namespace lab",
     "trainyard backend role kubernetes --namespace lab | kubectl apply -f -"},
    {0},
};

const struct cmd cmd_backend_role = {
    .name = "backend role",
    .args = "BACKEND",
    .summary = "print the least rights that a backend needs from its cluster",
    .description =
        "Prints objects that give an account exactly what jobs need, for an administrator "
        "to look at and to apply.\n\nOf kubernetes: a ServiceAccount, a Role and a "
        "RoleBinding, all named trainyard, of one namespace. Secrets are written and "
        "never read; no other namespace and nothing of the cluster itself is touched.",
    .examples = role_examples,
    .opts = role_opts,
    .conf_size = sizeof(struct role_conf),
    .min_args = 1,
    .max_args = 1,
    .words = "kubernetes",
    .run = backend_role_command,
};
