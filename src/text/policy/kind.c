/* SPDX-License-Identifier: Apache-2.0 */
/* The policy file: found by its keys. */
#include "text/conf.h"
#include "text/policy/policy.h"

#define SCHEMA_P(n) policy_##n
#define SCHEMA_DEF(n) policy_##n##_def

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_table.h"
#include "text/policy/policy.def"
#include "text/schema_end.h"
/* clang-format on */

static const struct msg_def *const msgs[] = {&policy_Policy_def, &policy_PolicyRole_def,
                                             NULL};
static const struct enum_def *const enums[] = {NULL};
static const struct schema_family family = {
    .name = "policy", .title = "policy file", .msgs = msgs, .enums = enums};

static int policy_probe(const char *path, enum syntax syntax, const struct node *root)
{
    bool role = node_find(root, "submitter") || node_find(root, "admin");
    return syntax != SYNTAX_PROTOTEXT && node_find(root, "policy") && role ? 90 : 0;
}

static enum schema_dialect policy_dialect(enum syntax syntax)
{
    return SCHEMA_YAML;
}

static void check_role(const struct policy_PolicyRole *r, const char *name,
                       struct diags *diags)
{
    if (r && r->require_image && !r->n_images)
        schema_report(diags, DIAG_WARNING, E0209, &r->base, "require_image",
                      "%s: any image may be named; images restricts them", name);
}

static void policy_check(struct conf *c, struct diags *diags)
{
    const struct policy_Policy *p = c->data;
    if (!p->has_policy || !*p->policy)
        schema_report(diags, DIAG_ERROR, E0209, &p->base, "policy",
                      "a policy file begins with its name: `policy: NAME`");
    if (!p->submitter && !p->admin)
        schema_report(diags, DIAG_ERROR, E0209, &p->base, "submitter",
                      "the policy restricts nobody: give rules for submitter or admin");
    check_role(p->submitter, "submitter", diags);
    check_role(p->admin, "admin", diags);
}

const struct conf_kind conf_kind_policy = {
    .name = "policy",
    .title = "policy file",
    .example = "policy.yaml",
    .family = &family,
    .root = &policy_Policy_def,
    .usual = SYNTAX_YAML,
    .probe = policy_probe,
    .dialect = policy_dialect,
    .check = policy_check,
};
