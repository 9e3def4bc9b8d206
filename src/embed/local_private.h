/* SPDX-License-Identifier: Apache-2.0 */
/* embed/local_private.h - what the files of the local lookup share: local.c answers
 * calls, local_snapshot.c makes images of tables, local_restore.c fills tables from them.
 */
#ifndef EMBED_LOCAL_PRIVATE_H
#define EMBED_LOCAL_PRIVATE_H

#include "embed/lookup.h"
#include "embed/table.h"

struct embed_table *embed_local_table(const struct lookup *l, int table);
enum rc embed_local_snapshot(struct lookup *l, int table, bool whole,
                             struct lookup_snapshot **out, struct err *err) MUST_CHECK;
enum rc embed_local_restore(struct lookup *l, int table, const struct lookup_image *image,
                            struct err *err) MUST_CHECK;

#endif
