/* SPDX-License-Identifier: Apache-2.0 */
/* text/pipeline/pipeline.h - the C structs and schema of a pipeline.config.
 *
 * `struct pc_EasyRecConfig` is what conf_open() binds for the kind "pipeline". Names are
 * those of the file: conf->train_config->num_steps, conf->model_config->dlrm. Optional
 * scalars come with has_<name>; enum words are pc_<Enum>_<WORD>.
 */
#ifndef TEXT_PIPELINE_PIPELINE_H
#define TEXT_PIPELINE_PIPELINE_H

#include "text/schema.h"

#define SCHEMA_P(n) pc_##n
#define SCHEMA_DEF(n) pc_##n##_def
#define SCHEMA_WORD(e, w) pc_##e##_##w

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_struct.h"
#include "text/pipeline/all.def"
#include "text/schema_end.h"

#include "text/schema_as_decl.h"
#include "text/pipeline/all.def"
#include "text/schema_end.h"
/* clang-format on */

#undef SCHEMA_P
#undef SCHEMA_DEF
#undef SCHEMA_WORD

extern const struct schema_family schema_family_pipeline;

#endif
