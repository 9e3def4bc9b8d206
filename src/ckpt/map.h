/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt/map.h - fine_tune_ckpt_param_map: which tensor of an older checkpoint a parameter
 * is loaded from.
 *
 * One line per parameter: its name in the current model, a tab or blanks, its name in the
 * checkpoint. Empty lines are skipped.
 */
#ifndef CKPT_MAP_H
#define CKPT_MAP_H

#include <stddef.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct ckpt_map_line {
    const char *now, *old;
    size_t line; /* from 1 */
};

struct ckpt_map {
    char *path, *text;
    VEC(struct ckpt_map_line) lines;
    struct map by_now; /* to the number of the line plus one */
};

/* RC_NOTFOUND, RC_IO; RC_FORMAT (E1511) with file and line. The map is the caller's, to
 * release, on success only.
 */
enum rc ckpt_map_read(const char *path, struct ckpt_map *out, struct err *err) MUST_CHECK;
void ckpt_map_release(struct ckpt_map *m);

/* The line for `now`, or for the longest part of it before a '.' that has one: what
 * belongs to a parameter (its optimizer state) goes along with it. NULL when there is
 * none. *rest is what follows that part.
 */
const struct ckpt_map_line *ckpt_map_find(const struct ckpt_map *m, const char *now,
                                          const char **rest);

#endif
