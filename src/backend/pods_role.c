/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/pods_role.h"

#include "backend/pods_kind.h"
#include "base/mem.h"

/* Objects are made by server-side apply, which needs both create and patch. */
#define MAKE "\"create\", \"patch\", \"list\", \"watch\", \"delete\""

static const struct {
    const char *group, *resource, *verbs, *why;
} rules[] = {
    {"", "services", "\"create\", \"patch\"", "workers find each other"},
    {"", "secrets", "\"create\", \"patch\"",
     "variables of workers; none can be read with this"},
    {"", "pods", "\"list\", \"watch\", \"patch\", \"delete\"",
     "how workers are, and their end"},
    {"", "pods/log", "\"get\"", "their output"},
    {"", "events", "\"list\", \"watch\"", "why a pod does not start"},
};

static void print_rule(struct buf *out, const char *why, const char *group,
                       const char *resource, const char *verbs)
{
    buf_printf(out, "# %s\n- apiGroups: [\"%s\"]\n", why, group);
    buf_printf(out, "  resources: [\"%s\"]\n  verbs: [%s]\n", resource, verbs);
}

static void print_kinds(struct buf *out)
{
    const struct pods_row *r;
    for (size_t i = 0; (r = pods_row_at(i)); i++) {
        char *why = i ? mem_printf("jobs with kind=%s alone", r->kind->name)
                      : mem_strdup("one Job per attempt");
        print_rule(out, why, r->group, r->resource, MAKE);
        if (r->kind->before)
            print_rule(out, why, r->group, r->kind->before, MAKE);
        mem_free(why);
    }
}

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
    print_kinds(out);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        print_rule(out, rules[i].why, rules[i].group, rules[i].resource, rules[i].verbs);
    buf_puts(out, "---\n");
    print_head(out, "rbac.authorization.k8s.io/v1", "RoleBinding", ns);
    buf_puts(out, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n"
                  "  name: trainyard\nsubjects:\n- kind: ServiceAccount\n"
                  "  name: trainyard\n");
    buf_printf(out, "  namespace: %s\n", ns);
}
