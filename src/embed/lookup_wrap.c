/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of a lookup, handed on to the one inside: one function per operation, put into a
 * table of the object's own, where whoever wraps replaces those that interest it. Nothing else
 * is kept, so what a caller sees is the lookup inside, under another name.
 */
#include "embed/lookup_wrap.h"

static int wrap_add_table(struct lookup *l, const struct embed_table_conf *conf,
                          struct err *err)
{
    return lookup_add_table(lookup_inner(l), conf, err);
}

static int wrap_add_slot(struct lookup *l, const struct embed_slot_conf *conf,
                         struct err *err)
{
    return lookup_add_slot(lookup_inner(l), conf, err);
}

static int wrap_n_tables(const struct lookup *l)
{
    return lookup_n_tables(lookup_inner(l));
}

static int wrap_n_slots(const struct lookup *l)
{
    return lookup_n_slots(lookup_inner(l));
}

static const struct embed_table_conf *wrap_table(const struct lookup *l, int table)
{
    return lookup_table(lookup_inner(l), table);
}

static const struct embed_slot_conf *wrap_slot(const struct lookup *l, int slot)
{
    return lookup_slot(lookup_inner(l), slot);
}

static enum rc wrap_share(struct lookup *l, const struct lookup *with, struct err *err)
{
    return lookup_share(lookup_inner(l), lookup_inner(with), err);
}

static enum rc wrap_finish(struct lookup *l, struct err *err)
{
    return lookup_finish(lookup_inner(l), err);
}

static const char *wrap_by_host(const struct lookup *l, int table)
{
    return lookup_by_host(lookup_inner(l), table);
}

static enum rc wrap_prepare(struct lookup *l, const struct embed_slot_ids *ids,
                            bool training, struct err *err)
{
    return lookup_prepare(lookup_inner(l), ids, training, err);
}

static enum rc wrap_forward(struct lookup *l, const struct view *outputs, struct err *err)
{
    return lookup_forward(lookup_inner(l), outputs, err);
}

static enum rc wrap_update(struct lookup *l, const struct view *grads,
                           const struct embed_row_step *step, struct err *err)
{
    return lookup_update(lookup_inner(l), grads, step, err);
}

static enum rc wrap_snapshot(struct lookup *l, int table, bool whole,
                             struct lookup_snapshot **out, struct err *err)
{
    return lookup_snapshot(lookup_inner(l), table, whole, out, err);
}

static enum rc wrap_restore(struct lookup *l, int table, const struct lookup_image *image,
                            struct err *err)
{
    return lookup_restore(lookup_inner(l), table, image, err);
}

static bool wrap_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    return lookup_peek(lookup_inner(l), table, id, out);
}

static enum rc wrap_track(struct lookup *l, struct err *err)
{
    return lookup_track(lookup_inner(l), err);
}

static bool wrap_tracks(const struct lookup *l, int table)
{
    return lookup_tracks(lookup_inner(l), table);
}

static enum rc wrap_touched(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                            struct err *err)
{
    return lookup_touched(lookup_inner(l), table, ids, n, err);
}

static void wrap_forget_touched(struct lookup *l)
{
    lookup_forget_touched(lookup_inner(l));
}

static void wrap_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    lookup_memory(lookup_inner(l), table, out);
}

static size_t wrap_reach(const struct lookup *l, int table, int64_t rows)
{
    return lookup_reach(lookup_inner(l), table, rows);
}

void lookup_wrap_init(struct lookup_wrap *w, const struct lookup_ops *named,
                      struct lookup *inner)
{
    *w = (struct lookup_wrap){.ops =
                                  {
                                      .name = named->name,
                                      .summary = named->summary,
                                      .create = named->create,
                                      .on_device = inner && inner->ops->on_device,
                                      .add_table = wrap_add_table,
                                      .add_slot = wrap_add_slot,
                                      .n_tables = wrap_n_tables,
                                      .n_slots = wrap_n_slots,
                                      .table = wrap_table,
                                      .slot = wrap_slot,
                                      .share = wrap_share,
                                      .finish = wrap_finish,
                                      .by_host = wrap_by_host,
                                      .prepare = wrap_prepare,
                                      .forward = wrap_forward,
                                      .update = wrap_update,
                                      .snapshot = wrap_snapshot,
                                      .restore = wrap_restore,
                                      .peek = wrap_peek,
                                      .track = wrap_track,
                                      .tracks = wrap_tracks,
                                      .touched = wrap_touched,
                                      .forget_touched = wrap_forget_touched,
                                      .memory = wrap_memory,
                                      .reach = wrap_reach,
                                  },
                              .inner = inner};
    w->lookup.ops = &w->ops;
}

void lookup_wrap_release(struct lookup_wrap *w)
{
    lookup_destroy(w->inner);
    w->inner = NULL;
}
