/* SPDX-License-Identifier: Apache-2.0 */
/* nn/state.h - named arrays: what optimizers, averages and metrics put into a checkpoint.
 *
 * An owner lists its arrays in a fixed order; whoever writes the checkpoint reads them
 * where they are. To restore, the reader lists what the file holds, and the owner takes
 * what it knows by name. A zeroed struct state is an empty list.
 */
#ifndef NN_STATE_H
#define NN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

enum state_type { STATE_F32, STATE_F64, STATE_I64 };

struct state_item {
    const char *name; /* in the arena */
    enum state_type type;
    const void *data; /* [n], borrowed from the owner */
    int64_t n;
};

struct state {
    struct arena names;
    VEC(struct state_item) items;
};

void state_release(struct state *s);
void state_add(struct state *s, enum state_type type, const void *data, int64_t n,
               const char *fmt, ...) PRINTF_LIKE(5, 6);

/* NULL when there is none. */
const struct state_item *state_find(const struct state *s, const char *name);
/* The item `name`, which must have this type and, unless n is negative, n values.
 * RC_NOTFOUND, RC_FORMAT.
 */
enum rc state_expect(const struct state *s, const char *name, enum state_type type,
                     int64_t n, const struct state_item **out,
                     struct err *err) MUST_CHECK;
/* Copies the n values of `name` to `to`; the same codes, and then `to` is untouched. */
enum rc state_copy(const struct state *s, const char *name, enum state_type type,
                   void *to, int64_t n, struct err *err) MUST_CHECK;

size_t state_size(enum state_type type); /* bytes of a value */
const char *state_type_name(enum state_type type);

#endif
