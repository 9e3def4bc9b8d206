/* SPDX-License-Identifier: Apache-2.0 */
/* Finds implementations and hands calls on to them. What is the same for all of them is
 * here too: the columns of a row, lists of numbers at any address, a message for a failure that
 * came without one, that an object and its numbers are what the contract says, and that rows
 * leave and come likewise.
 */
#include "embed/lookup.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

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

static const char *missing_method(const struct lookup_ops *o)
{
    const struct {
        const char *name;
        bool there;
    } methods[] = {
        {"destroy", o->destroy},   {"add_table", o->add_table},
        {"add_slot", o->add_slot}, {"n_tables", o->n_tables},
        {"n_slots", o->n_slots},   {"table", o->table},
        {"slot", o->slot},         {"share", o->share},
        {"prepare", o->prepare},   {"forward", o->forward},
        {"update", o->update},     {"snapshot", o->snapshot},
        {"restore", o->restore},   {"peek", o->peek},
        {"track", o->track},       {"tracks", o->tracks},
        {"touched", o->touched},   {"forget_touched", o->forget_touched},
        {"memory", o->memory},     {"reach", o->reach},
    };
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (!methods[i].there)
            return methods[i].name;
    return NULL;
}

enum rc lookup_create(const struct lookup_ops *ops, const struct lookup_conf *conf,
                      struct lookup **out, struct err *err)
{
    ops = ops ? ops : &lookup_local_ops;
    struct err_call call = err_enter(err, "lookup", ops->name, "create");
    struct lookup *l = NULL;
    if (!ops->create)
        return err_broken(&call, "is missing");
    enum rc rc = err_leave(&call, ops->create(conf, &l, err));
    if (rc)
        return rc;
    if (!l || !l->ops)
        return err_broken(&call, "succeeded without a lookup");
    const char *lacks = missing_method(l->ops);
    if (lacks && l->ops->destroy)
        l->ops->destroy(l);
    if (lacks)
        return err_broken(&call, "gave a lookup that has no %s()", lacks);
    *out = l;
    return RC_OK;
}

static struct err_call enter(const struct lookup *l, const char *function,
                             struct err *err)
{
    return err_enter(err, "lookup", l->ops->name, function);
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
    if (s && s->ops)
        s->ops->release(s);
}

enum rc lookup_snapshot_detach(struct lookup_snapshot *s, struct err *err)
{
    struct err_call call = err_enter(err, "snapshot", "of a table", "detach");
    return err_leave(&call, s->ops->detach(s, err));
}

enum rc lookup_image_read(const struct lookup_image *image, int column, int64_t from,
                          int64_t n, void *out, struct err *err)
{
    struct err_call call = err_enter(err, "image", "of a table", "read");
    return err_leave(&call, image->read(image->arg, column, from, n, out, err));
}

enum rc lookup_image_write(const struct lookup_image *image, int column, const char *temp,
                           int64_t offset, bool *done, uint32_t *crc32c, struct err *err)
{
    struct err_call call = err_enter(err, "image", "of a table", "write");
    *done = false;
    return image->write ? err_leave(&call, image->write(image->arg, column, temp, offset,
                                                        done, crc32c, err))
                        : RC_OK;
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

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The rows of a dynamic table follow from its configuration. */
static bool same_table(const struct embed_table_conf *got,
                       const struct embed_table_conf *asked)
{
    return got && same_name(got->name, asked->name) && got->dim == asked->dim &&
           got->type == asked->type && got->trainable == asked->trainable &&
           (asked->keyed.kind || got->rows == asked->rows);
}

static bool same_slot(const struct embed_slot_conf *got,
                      const struct embed_slot_conf *asked)
{
    return got && same_name(got->feature, asked->feature) && got->table == asked->table &&
           got->output == asked->output && got->col == asked->col;
}

/* Where there is one more than `before` its number is the last. */
static bool number_fits(int number, int before, int n)
{
    return number >= 0 && number < n && (n == before || number == n - 1);
}

int lookup_add_table(struct lookup *l, const struct embed_table_conf *conf,
                     struct err *err)
{
    struct err_call call = enter(l, "add_table", err);
    int before = lookup_n_tables(l), table = l->ops->add_table(l, conf, err);
    int n = lookup_n_tables(l);
    (void)err_leave(&call, table == -1 ? RC_INVAL : RC_OK);
    if (table == -1)
        return table;
    if (!number_fits(table, before, n))
        err_broken(&call, "gave '%s' the number %d, and there are %d tables", conf->name,
                   table, n);
    else if (!same_table(lookup_table(l, table), conf))
        err_broken(&call, "gave '%s' the number %d, of which table() says otherwise",
                   conf->name, table);
    else
        return table;
    return -1;
}

int lookup_add_slot(struct lookup *l, const struct embed_slot_conf *conf, struct err *err)
{
    struct err_call call = enter(l, "add_slot", err);
    int before = lookup_n_slots(l), slot = l->ops->add_slot(l, conf, err);
    int n = lookup_n_slots(l);
    (void)err_leave(&call, slot == -1 ? RC_INVAL : RC_OK);
    if (slot == -1)
        return slot;
    if (!number_fits(slot, before, n))
        err_broken(&call, "gave '%s' the number %d, and there are %d slots",
                   conf->feature, slot, n);
    else if (!same_slot(lookup_slot(l, slot), conf))
        err_broken(&call, "gave '%s' the number %d, of which slot() says otherwise",
                   conf->feature, slot);
    else
        return slot;
    return -1;
}

enum rc lookup_finish(struct lookup *l, struct err *err)
{
    struct err_call call = enter(l, "finish", err);
    return err_leave(&call, l->ops->finish ? l->ops->finish(l, err) : RC_OK);
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
    struct err_call call = enter(l, "share", err);
    return err_leave(&call, l->ops->share(l, with, err));
}

enum rc lookup_prepare(struct lookup *l, const struct embed_slot_ids *ids, bool training,
                       struct err *err)
{
    struct err_call call = enter(l, "prepare", err);
    return err_leave(&call, l->ops->prepare(l, ids, training, err));
}

enum rc lookup_forward(struct lookup *l, const struct view *outputs, struct err *err)
{
    struct err_call call = enter(l, "forward", err);
    return err_leave(&call, l->ops->forward(l, outputs, err));
}

enum rc lookup_update(struct lookup *l, const struct view *grads,
                      const struct embed_row_step *step, struct err *err)
{
    struct err_call call = enter(l, "update", err);
    return err_leave(&call, l->ops->update(l, grads, step, err));
}

enum rc lookup_snapshot(struct lookup *l, int table, bool whole,
                        struct lookup_snapshot **out, struct err *err)
{
    struct lookup_snapshot *s = NULL;
    struct err_call call = enter(l, "snapshot", err);
    enum rc rc = err_leave(&call, l->ops->snapshot(l, table, whole, &s, err));
    if (rc)
        return rc;
    rc = lookup_snapshot_check(lookup_table(l, table), s, whole, err);
    if (rc) {
        lookup_snapshot_release(s);
        return err_wrap(err, rc, "lookup '%s'", l->ops->name);
    }
    *out = s;
    return RC_OK;
}

enum rc lookup_restore(struct lookup *l, int table, const struct lookup_image *image,
                       struct err *err)
{
    enum rc rc = lookup_image_check(l->ops->table(l, table), image, err);
    if (rc)
        return rc;
    struct err_call call = enter(l, "restore", err);
    return err_leave(&call, l->ops->restore(l, table, image, err));
}

bool lookup_peek(const struct lookup *l, int table, int64_t id, float *out)
{
    return l->ops->peek(l, table, id, out);
}

enum rc lookup_track(struct lookup *l, struct err *err)
{
    struct err_call call = enter(l, "track", err);
    return err_leave(&call, l->ops->track(l, err));
}

bool lookup_tracks(const struct lookup *l, int table)
{
    return l->ops->tracks(l, table);
}

bool lookup_touched_fits(const struct embed_table_conf *t, const struct lookup_list *ids)
{
    int64_t last = -1;
    if (ids->n < 0 || (ids->n && !ids->data))
        return false;
    for (int64_t i = 0; i < ids->n; i++) {
        int64_t id = lookup_list_at(ids, i);
        if (id <= last || (!t->keyed.kind && id >= t->rows))
            return false;
        last = id;
    }
    return true;
}

enum rc lookup_touched(const struct lookup *l, int table, int64_t **ids, int64_t *n,
                       struct err *err)
{
    struct err_call call = enter(l, "touched", err);
    struct lookup_list got = {0};
    int64_t *at = NULL;
    enum rc rc = err_leave(&call, l->ops->touched(l, table, &at, &got.n, err));
    if (rc)
        return rc;
    got.data = at;
    if (!lookup_touched_fits(lookup_table(l, table), &got)) {
        mem_free(at);
        return err_broken(&call, "gave %jd ids that do not ascend within table '%s'",
                          (intmax_t)got.n, lookup_table(l, table)->name);
    }
    *ids = at;
    *n = got.n;
    return RC_OK;
}

void lookup_forget_touched(struct lookup *l)
{
    l->ops->forget_touched(l);
}

void lookup_memory(const struct lookup *l, int table, struct lookup_memory *out)
{
    *out = (struct lookup_memory){0};
    l->ops->memory(l, table, out);
}

size_t lookup_reach(const struct lookup *l, int table, int64_t rows)
{
    return l->ops->reach(l, table, rows);
}
