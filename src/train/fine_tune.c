/* SPDX-License-Identifier: Apache-2.0 */
#include "train/fine_tune.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ckpt/state.h"
#include "train/row_meaning.h"

#define OPTIM_PREFIX "optimizer."
#define STATE_PREFIX "state."
#define NAMES_SHOWN 3 /* of each kind that did not fit */

/* States of dense parameters that the checkpoint has, in memory of their own. */
struct found {
    struct nn_state wanted; /* what the optimizer lists */
    struct nn_state have;
    struct arena arena;
};

/* Its name in the checkpoint: of "state.<param>.exp_avg" the part <param> is mapped. */
static const char *old_name(struct found *f, const struct ckpt_map *map, const char *name)
{
    size_t skip = str_starts(name, STATE_PREFIX) ? strlen(STATE_PREFIX) : 0;
    const char *rest = "";
    const struct ckpt_map_line *line =
        map ? ckpt_map_find(map, name + skip, &rest) : NULL;
    return line ? arena_printf(&f->arena, "%.*s%s%s", (int)skip, name, line->old, rest)
                : name;
}

static void take_floats(struct found *f, const struct ckpt *c,
                        const struct nn_state_item *it, const char *old)
{
    const struct ckpt_st_tensor *t =
        ckpt_find(c, arena_printf(&f->arena, OPTIM_PREFIX "%s", old));
    if (!t || t->n_dims != 1 || t->dims[0] != it->n)
        return;
    float *v = arena_try_alloc(&f->arena, (size_t)it->n, sizeof(*v));
    if (v && ckpt_st_read_f32(t, 0, it->n, v, 1, NULL) == RC_OK)
        nn_state_add(&f->have, STATE_F32, v, it->n, "%s", it->name);
}

/* Counters stand in the checkpoint's blob of that name: {"state.x.step": [7]}. */
static void take_counter(struct found *f, const struct ckpt *c,
                         const struct nn_state_item *it, const char *old)
{
    const struct node *list = node_find(ckpt_json(c, "counters"), old);
    if (!list || list->kind != NODE_LIST || list->list.n != 1 || it->n != 1)
        return;
    int64_t *i = arena_alloc(&f->arena, sizeof(*i));
    double *d = arena_alloc(&f->arena, sizeof(*d));
    if (it->type == STATE_I64 && node_i64(list->list.at[0], i))
        nn_state_add(&f->have, STATE_I64, i, 1, "%s", it->name);
    else if (it->type == STATE_F64 && node_number(list->list.at[0], d))
        nn_state_add(&f->have, STATE_F64, d, 1, "%s", it->name);
}

static enum rc load_optimizer(struct train_session *s, const struct ckpt *c,
                              const struct ckpt_map *map, size_t *n, struct err *err)
{
    struct found f = {0};
    size_t missing = 0;
    optim_save(s->optim, false, &f.wanted);
    for (size_t i = 0; i < f.wanted.items.n; i++) {
        const struct nn_state_item *it = &f.wanted.items.at[i];
        const char *old = old_name(&f, map, it->name);
        if (it->type == STATE_F32)
            take_floats(&f, c, it, old);
        else
            take_counter(&f, c, it, old);
    }
    enum rc rc = optim_load(s->optim, &f.have, &missing, err);
    *n = optim_params(s->optim)->n - missing;
    nn_state_release(&f.wanted);
    nn_state_release(&f.have);
    arena_release(&f.arena);
    return rc;
}

/* Some names of one kind; the states that belong to tensors go without saying. */
static void list_names(const struct ckpt_report *r, enum ckpt_diff_kind kind, bool reason,
                       char *out, size_t size)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < r->diffs.n; i++) {
        const char *name = r->diffs.at[i].name;
        if (r->diffs.at[i].kind != kind || str_starts(name, OPTIM_PREFIX))
            continue;
        const char *why = reason ? r->diffs.at[i].text : "";
        if (n++ < NAMES_SHOWN && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s'%.160s'%s%.120s%s",
                                   n > 1 ? ", " : "", name, *why ? " (" : "", why,
                                   *why ? ")" : "");
    }
    if (n > NAMES_SHOWN && at < size)
        snprintf(out + at, size - at, " and %zu more", n - NAMES_SHOWN);
}

static void list_rest(const struct ckpt_report *r, struct train_fine_tune_result *out)
{
    list_names(r, CKPT_MISSING, false, out->missing, sizeof(out->missing));
    list_names(r, CKPT_SHAPE, false, out->shapes, sizeof(out->shapes));
    list_names(r, CKPT_EXTRA, false, out->extra, sizeof(out->extra));
    list_names(r, CKPT_MEANING, true, out->meanings, sizeof(out->meanings));
    list_names(r, CKPT_MOVED, true, out->moved, sizeof(out->moved));
}

enum rc train_fine_tune(struct train_session *s, const struct ckpt *c,
                        const struct train_fine_tune_conf *conf,
                        struct train_fine_tune_result *out, struct err *err)
{
    struct ckpt_state state = {.lookup = s->model->lookup};
    struct ckpt_report report = {0};
    struct ckpt_map map = {0};
    struct ckpt_load how = {
        .partial = true, .no_optimizer = conf->fresh, .other_shapes = !conf->strict};
    bool mapped = conf->map && conf->map[0];
    *out = (struct train_fine_tune_result){0};
    if (mapped) {
        enum rc bad = ckpt_map_read(conf->map, &map, err);
        if (bad)
            return bad;
        how.map = &map;
    }
    state.params = graph_params(s->model->graph, &state.n_params);
    struct train_row_meaning *meaning = train_row_meaning_create(s, c, false);
    how.other_rows = train_row_meaning_differs;
    how.rows_then = train_row_meaning_rows;
    how.arg = meaning;
    enum rc rc = ckpt_load_state(c, &state, &how, &report, err);
    train_row_meaning_destroy(meaning);
    out->loaded = report.n_loaded;
    list_rest(&report, out);
    if (!rc && !conf->fresh)
        rc = load_optimizer(s, c, how.map, &out->n_optimizer, err);
    ckpt_report_release(&report);
    if (mapped)
        ckpt_map_release(&map);
    return rc ? err_wrap(err, rc, "%s", ckpt_path(c)) : RC_OK;
}
