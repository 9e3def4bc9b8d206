/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/pods_role.h"

#include "base/compiler.h"

/* Objects are made by server-side apply, which needs both create and patch. */
static const struct {
    const char *group, *resource, *verbs, *why;
} rules[] = {
    {"batch", "jobs", "\"create\", \"patch\", \"list\", \"watch\", \"delete\"",
     "one Job per attempt"},
    {"", "services", "\"create\", \"patch\"", "workers find each other"},
    {"", "secrets", "\"create\", \"patch\"",
     "variables of workers; none can be read with this"},
    {"", "pods", "\"list\", \"watch\", \"patch\", \"delete\"",
     "how workers are, and their end"},
    {"", "pods/log", "\"get\"", "their output"},
    {"", "events", "\"list\", \"watch\"", "why a pod does not start"},
};

static void print_head(struct buf *out, const char *api, const char *kind, const char *ns)
{
    buf_printf(out, "apiVersion: %s\nkind: %s\nmetadata:\n  name: trainyard\n", api,
               kind);
    buf_printf(out, "  namespace: %s\n", ns);
}

void pods_role_print(const char *ns, struct buf *out)
{
    print_head(out, "v1", "ServiceAccount", ns);
    buf_puts(out, "---\n");
    print_head(out, "rbac.authorization.k8s.io/v1", "Role", ns);
    buf_puts(out, "rules:\n");
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        buf_printf(out, "# %s\n- apiGroups: [\"%s\"]\n", rules[i].why, rules[i].group);
        buf_printf(out, "  resources: [\"%s\"]\n  verbs: [%s]\n", rules[i].resource,
                   rules[i].verbs);
    }
    buf_puts(out, "---\n");
    print_head(out, "rbac.authorization.k8s.io/v1", "RoleBinding", ns);
    buf_puts(out, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n"
                  "  name: trainyard\nsubjects:\n- kind: ServiceAccount\n"
                  "  name: trainyard\n");
    buf_printf(out, "  namespace: %s\n", ns);
}
