/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/nni.h - the typed form of NNI's experiment files.
 *
 * `struct nni_ExperimentConfig` is what conf_open() binds for the kind "nni-experiment";
 * the other structs hang off it or are the arguments of an algorithm (text/nni/algo.h).
 * Files of NNI's first generation (trainingServicePlatform) are rewritten before the
 * schema sees them, so readers know one form only.
 */
#ifndef TEXT_NNI_NNI_H
#define TEXT_NNI_NNI_H

#include "text/job/job.h"
#include "text/schema.h"

/* "10m", "0.5h": a number and one of d, h, m, s; rounded up to whole seconds. False when
 * it is none, or does not fit.
 */
bool nni_duration(struct str text, int64_t *seconds) MUST_CHECK;
/* "8gb", "100 kb": a number and one of tb, gb, mb, kb, b (factors of 1024); rounded up to
 * whole megabytes.
 */
bool nni_size(struct str text, int64_t *megabytes) MUST_CHECK;

/* For field tables: NULL, or what is wrong. */
const char *nni_check_duration(struct str value);
/* A name that lists and terminals show to others. */
const char *nni_check_label(struct str value);
const char *nni_check_size(struct str value);
const char *nni_check_auto(struct str value); /* "auto" or a count */

#define NNI_OBJECTIVES_MAX 8
#define NNI_CONSTRAINTS_MAX 16

extern const struct schema_variant nni_services[];
extern const struct schema_family schema_family_nni;

#define SCHEMA_P(n) nni_##n
#define SCHEMA_DEF(n) nni_##n##_def
#define SCHEMA_WORD(e, w) nni_##e##_##w

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_struct.h"
#include "text/nni/all.def"
#include "text/schema_end.h"

#include "text/schema_as_decl.h"
#include "text/nni/all.def"
#include "text/schema_end.h"
/* clang-format on */

#undef SCHEMA_P
#undef SCHEMA_DEF
#undef SCHEMA_WORD

#endif
