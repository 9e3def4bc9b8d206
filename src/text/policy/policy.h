/* SPDX-License-Identifier: Apache-2.0 */
/* text/policy/policy.h - the typed form of a server's policy file (YAML or JSON).
 *
 * conf_open() binds `struct policy_Policy` for the kind "policy"; team/policy.h holds jobs
 * to it.
 */
#ifndef TEXT_POLICY_POLICY_H
#define TEXT_POLICY_POLICY_H

#include "text/schema.h"

#define SCHEMA_P(n) policy_##n
#define SCHEMA_DEF(n) policy_##n##_def

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_struct.h"
#include "text/policy/policy.def"
#include "text/schema_end.h"

#include "text/schema_as_decl.h"
#include "text/policy/policy.def"
#include "text/schema_end.h"
/* clang-format on */

#undef SCHEMA_P
#undef SCHEMA_DEF

#endif
