/* SPDX-License-Identifier: Apache-2.0 */
/* train/look.h - a look at data before anything is trained on it.
 *
 * Opens it as training does, checks its columns and their types, and makes features and
 * labels of the first batch: what would stop a run at its start is told without one.
 */
#ifndef TRAIN_LOOK_H
#define TRAIN_LOOK_H

#include "train/session.h"
#include "train/source.h"

struct train_look {
    int64_t rows; /* of all files; -1: they do not tell, or were not looked at */
    size_t files;
    int64_t seen;  /* rows of the first batch, all of which were good */
    char *why_not; /* why nothing was looked at, for a person; NULL: it was */
    char *notes;   /* lines about values outside their tables; "" or NULL: none */
};

/* Data that is not there, and streams, which would lose what is read, are not looked at:
 * RC_OK with `why_not`. Problems of columns go to `diags`; RC_INVAL, RC_FORMAT, as
 * training says them. To be released in any case.
 */
enum rc train_look_at(const struct train_session *s, const char *path,
                      enum train_source_use use, struct train_look *out,
                      struct diags *diags, struct err *err) MUST_CHECK;
void train_look_release(struct train_look *l); /* twice is fine */

#endif
