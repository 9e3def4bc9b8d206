/* SPDX-License-Identifier: Apache-2.0 */
/* text/paddlerec/paddlerec.h - the typed form of PaddleRec's config.yaml and
 * backend.yaml.
 *
 * conf_open() binds `struct prec_Config` for the kind "paddlerec-config" and
 * `struct prec_Backend` for "paddlerec-backend". Keys that PaddleRec leaves free
 * (hyper_parameters, dataset) stay in the tree: see base.node of the message.
 */
#ifndef TEXT_PADDLEREC_PADDLEREC_H
#define TEXT_PADDLEREC_PADDLEREC_H

#include <math.h>

#include "text/schema.h"

#define SCHEMA_P(n) prec_##n
#define SCHEMA_DEF(n) prec_##n##_def
#define SCHEMA_WORD(e, w) prec_##e##_##w

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_struct.h"
#include "text/paddlerec/all.def"
#include "text/schema_end.h"

#include "text/schema_as_decl.h"
#include "text/paddlerec/all.def"
#include "text/schema_end.h"
/* clang-format on */

#undef SCHEMA_P
#undef SCHEMA_DEF
#undef SCHEMA_WORD

extern const struct schema_family schema_family_paddlerec;

#endif
