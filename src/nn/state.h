/* SPDX-License-Identifier: Apache-2.0 */
/* nn/state.h - named arrays: what optimizers, averages and metrics put into a checkpoint.
 *
 * An owner lists its arrays in a fixed order; whoever writes the checkpoint reads them
 * where they are. To restore, the reader lists what the file holds, and the owner takes
 * what it knows by name. A zeroed struct nn_state is an empty list.
 */
#ifndef NN_STATE_H
#define NN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum nn_state_type { STATE_F32, STATE_F64, STATE_I64 };

struct nn_state_item {
    const char *name; /* in the arena */
    enum nn_state_type type;
    const void *data; /* [n], borrowed from the owner */
    int64_t n;
};

struct nn_state {
    struct arena names;
    VEC(struct nn_state_item) items;
};

void nn_state_release(struct nn_state *s);
void nn_state_add(struct nn_state *s, enum nn_state_type type, const void *data,
                  int64_t n, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* NULL when there is none. */
const struct nn_state_item *nn_state_find(const struct nn_state *s, const char *name);
/* The item `name`, which must have this type and, unless n is negative, n values.
 * RC_NOTFOUND, RC_FORMAT.
 */
enum rc nn_state_expect(const struct nn_state *s, const char *name,
                        enum nn_state_type type, int64_t n,
                        const struct nn_state_item **out, struct err *err) MUST_CHECK;
/* Copies the n values of `name` to `to`; the same codes, and then `to` is untouched. */
enum rc nn_state_copy(const struct nn_state *s, const char *name, enum nn_state_type type,
                      void *to, int64_t n, struct err *err) MUST_CHECK;

size_t nn_state_size(enum nn_state_type type); /* bytes of a value */
const char *nn_state_type_name(enum nn_state_type type);

#endif
