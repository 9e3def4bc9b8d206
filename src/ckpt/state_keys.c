/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of keyed tables: those with rows belong to the model, what decides about them to
 * the state.
 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

static void add(struct ckpt_writer *w, const struct embed_table *t, enum ckpt_part part,
                const char *what, const int64_t *data, int64_t n)
{
    char *name = table_part_name(t, what);
    ckpt_add_i64(w, part, name, data, n);
    mem_free(name);
}

void table_add_keys(struct ckpt_writer *w, const struct embed_table *t)
{
    const struct embed_keyed *k = t->keyed;
    add(w, t, CKPT_MODEL, "keys", k->ids.keys, k->ids.n);
    add(w, t, CKPT_STATE, "counts", k->ids.counts, k->ids.n);
    add(w, t, CKPT_STATE, "last", k->ids.last, k->ids.n);
    if (k->waiting.n) {
        add(w, t, CKPT_STATE, "waiting.keys", k->waiting.keys, k->waiting.n);
        add(w, t, CKPT_STATE, "waiting.counts", k->waiting.counts, k->waiting.n);
        add(w, t, CKPT_STATE, "waiting.last", k->waiting.last, k->waiting.n);
    }
    if (k->history.n) {
        add(w, t, CKPT_STATE, "history.ids", k->history.ids, k->history.n);
        add(w, t, CKPT_STATE, "history.times", k->history.times, k->history.n);
    }
}
