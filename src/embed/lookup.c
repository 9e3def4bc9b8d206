/* SPDX-License-Identifier: Apache-2.0 */
/* Finds implementations and hands calls on to them. What is the same for all of them is
 * here too: the columns of a row, and lists of numbers at any address.
 */
#include "embed/lookup.h"

#include <string.h>

#include "base/compiler.h"

static const struct lookup_ops *const implementations[] = {
#define LOOKUP(name) &lookup_##name##_ops,
#include "embed/lookups.def"
#undef LOOKUP
};

const struct lookup_ops *lookup_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(implementations); i++)
        if (strcmp(implementations[i]->name, name) == 0)
            return implementations[i];
    return NULL;
}

enum rc lookup_create(const struct lookup_ops *ops, const struct lookup_conf *conf,
                      struct lookup **out, struct err *err)
{
    return (ops ? ops : &lookup_local_ops)->create(conf, out, err);
}

void lookup_destroy(struct lookup *l)
{
    if (l)
        l->ops->destroy(l);
}

const struct embed_table_conf *lookup_slot_table(const struct lookup *l, int slot)
{
    return lookup_table(l, lookup_slot(l, slot)->table);
}

void lookup_snapshot_release(struct lookup_snapshot *s)
{
    if (s)
        s->ops->release(s);
}

int64_t lookup_list_at(const struct lookup_list *l, int64_t i)
{
    int64_t v;
    memcpy(&v, (const unsigned char *)l->data + (size_t)i * sizeof(v), sizeof(v));
    return v;
}

int lookup_columns(const struct embed_table_conf *conf,
                   struct lookup_column out[LOOKUP_COLUMNS_MAX])
{
    static const char *const names[ROW_STATES_MAX] = {"momentum1", "momentum2"};
    int n = 0;
    out[n++] = (struct lookup_column){.type = conf->type, .width = conf->dim};
    for (int i = 0; conf->trainable && i < ROW_STATES_MAX; i++) {
        enum embed_row_state state = embed_row_opt_array(conf->opt.kind, i);
        bool once = state == ROW_STATE_ONCE;
        if (state != ROW_STATE_NONE)
            out[n++] = (struct lookup_column){.state = names[i],
                                              .type = DT_F32,
                                              .width = once ? 1 : conf->dim,
                                              .flat = once};
    }
    return n;
}

int lookup_add_table(struct lookup *l, const struct embed_table_conf *conf,
                     struct err *err)
{
    return l->ops->add_table(l, conf, err);
}

int lookup_add_slot(struct lookup *l, const struct embed_slot_conf *conf)
{
    return l->ops->add_slot(l, conf);
}

enum rc lookup_finish(struct lookup *l, struct err *err)
{
    return l->ops->finish ? l->ops->finish(l, err) : RC_OK;
}

const char *lookup_by_host(const struct lookup *l, int table)
{
    return l->ops->by_host ? l->ops->by_host(l, table) : NULL;
}

int lookup_n_tables(const struct lookup *l)
{
    return l->ops->n_tables(l);
}

int lookup_n_slots(const struct lookup *l)
{
    return l->ops->n_slots(l);
}

const struct embed_table_conf *lookup_table(const struct lookup *l, int table)
{
    return l->ops->table(l, table);
}

const struct embed_slot_conf *lookup_slot(const struct lookup *l, int slot)
{
    return l->ops->slot(l, slot);
}

enum rc lookup_share(struct lookup *l, const struct lookup *with, struct err *err)
{
    return l->ops->share(l, with, err);
}

enum rc lookup_prepare(struct lookup *l, const struct embed_slot_ids *ids, bool training,
                       struct err *err)
{
    return l->ops->prepare(l, ids, training, err);
}

enum rc lookup_forward(struct lookup *l, const struct view *outputs, struct err *err)
{
    return l->ops->forward(l, outputs, err);
}

enum rc lookup_update(struct lookup *l, const struct view *grads,
                      const struct embed_row_step *step, struct err *err)
{
    return l->ops->update(l, grads, step, err);
}

enum rc lookup_snapshot(struct lookup *l, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err)
{
    return l->ops->snapshot(l, table, whole, out, err);
}

enum rc lookup_restore(struct lookup *l, int table, const struct lookup_image *image,
                       struct err *err)
{
    enum rc rc = lookup_image_check(l->ops->table(l, table), image, err);
    return rc ? rc : l->ops->restore(l, table, image, err);
}

bool lookup_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    return l->ops->peek(l, table, id, out);
}

enum rc lookup_track(struct lookup *l, struct err *err)
{
    return l->ops->track(l, err);
}

bool lookup_tracks(const struct lookup *l, int table)
{
    return l->ops->tracks(l, table);
}

enum rc lookup_touched(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                       struct err *err)
{
    return l->ops->touched(l, table, ids, n, err);
}

void lookup_forget_touched(struct lookup *l)
{
    l->ops->forget_touched(l);
}

void lookup_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    l->ops->memory(l, table, out);
}

size_t lookup_reach(const struct lookup *l, int table, int64_t rows)
{
    return l->ops->reach(l, table, rows);
}
