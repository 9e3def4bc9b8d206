/* SPDX-License-Identifier: Apache-2.0 */
/* text/diag.h - everything that is wrong with a file, collected, then shown like a
 * compiler.
 *
 *     pipeline.config:47:5: error[E0201]: IdFeature has no field 'embeding_dim'
 *        47 |     embeding_dim: 16
 *           |     ^~~~~~~~~~~~
 *           = in id_feature 'user_id', feature_configs[3]
 *           = did you mean 'embedding_dim'?
 */
#ifndef TEXT_DIAG_H
#define TEXT_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/code.h"
#include "base/str.h"
#include "base/vec.h"
#include "text/source.h"

#define DIAGS_MAX 1000 /* more are counted, not kept */

enum severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

struct diag {
    enum severity severity;
    enum code code;
    struct span at;
    const char *msg; /* lower case, no full stop */
    /* What encloses it: "feature 'uid', feature_configs[3]"; or NULL. */
    const char *where;
    const char *hint; /* "did you mean ...?", or what to do; or NULL */
};

/* Belongs to one thread. The sources that it points to must outlive it. */
struct diags {
    struct arena arena;
    VEC(struct diag) list;
    size_t n_errors, n_warnings; /* all, also those beyond DIAGS_MAX */
};

void diags_release(struct diags *d);

/* Adds one; the result can be given a hint and a place, and stays valid until the next.
 */
struct diag *diag_add(struct diags *d, enum severity severity, enum code code,
                      struct span at, const char *fmt, ...) PRINTF_LIKE(5, 6);
void diag_hint(struct diags *d, struct diag *g, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_where(struct diags *d, struct diag *g, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* By file in order of first appearance, then by position. */
void diags_sort(struct diags *d);
/* The form above for each, and at the end a line "2 errors, 1 warning" when there is any.
 */
void diags_print(const struct diags *d, struct buf *out, bool colour);
/* One JSON object per line: severity, code, title, file, line, column, end_line,
 * end_column, message, where, hint.
 */
void diags_json(const struct diags *d, struct buf *out);

#endif
