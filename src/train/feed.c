/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of features into the inputs of a graph, and its ids into slots of the lookup.
 * train_feed_create() finds once which feature of the plan each input reads; per batch, ids are
 * borrowed from the features as they are, and copied onto a shelf of the input only where
 * the model wants them otherwise: the first id of each row, or steps of a sequence that
 * are cut or filled up to those of the feature that leads its group.
 */
#include "train/feed.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/sessions.h"
#include "train/weights.h"

#define EXACT_BITS 16777216.0f /* whole numbers below it are exact in a float */

/* Memory of one input that had to be rearranged. */
struct shelf {
    int64_t *ids, *offsets;
    float *weights;
    int64_t n_ids, n_rows; /* room */
};

struct train_feed {
    struct model *m;
    const struct feature_plan *plan;
    int64_t *feature_at;    /* [m->inputs.n]: place in the plan */
    bool *fills;            /* [m->inputs.n]: the last to write numbers into its value */
    struct shelf *shelves;  /* [m->inputs.n] */
    int64_t *leader_at;     /* [m->axes.n] */
    int64_t **axis_offsets; /* [m->axes.n]: own, where sequences are cut */
    int64_t *axis_room;
    struct embed_slot_ids *slots;                 /* [lookup_n_slots] */
    struct embed_slot_ids *dense;                 /* [m->dense.n] */
    int64_t *label_at, *weight_at, *indicator_at; /* [m->tasks.n]: targets, or -1 */
    struct train_sessions sessions;
    const struct feature_batch *batch; /* taken; borrowed */
    /* What has equal rows in this batch: inputs, and values of the graph with all of theirs. */
    bool shares;       /* it is asked for */
    bool *alike;       /* [m->inputs.n] */
    bool *whole;       /* [m->embedded.n] */
    size_t *output_at; /* [m->inputs.n]: of m->embedded */
    struct nn_columns
        *once; /* [m->inputs.n]: of values with different ones beside them */
    struct nn_batch_rows rows;
    struct train_feed_uneven uneven;
};

void train_feed_destroy(struct train_feed *f)
{
    if (!f)
        return;
    for (size_t i = 0; f->shelves && i < f->m->inputs.n; i++) {
        mem_free(f->shelves[i].ids);
        mem_free(f->shelves[i].offsets);
        mem_free(f->shelves[i].weights);
    }
    for (size_t i = 0; f->axis_offsets && i < f->m->axes.n; i++)
        mem_free(f->axis_offsets[i]);
    mem_free(f->feature_at);
    mem_free(f->fills);
    mem_free(f->alike);
    mem_free(f->whole);
    mem_free(f->output_at);
    mem_free(f->once);
    mem_free(f->shelves);
    mem_free(f->leader_at);
    mem_free(f->axis_offsets);
    mem_free(f->axis_room);
    mem_free(f->slots);
    mem_free(f->dense);
    mem_free(f->label_at);
    mem_free(f->weight_at);
    mem_free(f->indicator_at);
    train_sessions_release(&f->sessions);
    mem_free(f);
}

/* The place of a label or sample weight among the targets of a batch, or -1. */
static int64_t target_at(const struct feature_batch *b, const char *name,
                         enum feature_use use)
{
    for (size_t i = 0; name && i < b->n_labels + b->n_weights; i++)
        if (b->targets[i].use == use && strcmp(b->targets[i].name, name) == 0)
            return (int64_t)i;
    return -1;
}

static enum rc find_targets(struct train_feed *f, struct err *err)
{
    struct feature_batch *b = feature_batch_create(f->plan);
    enum rc rc = RC_OK;
    for (size_t i = 0; i < f->m->tasks.n && !rc && b->n_labels; i++) {
        const struct model_task *t = &f->m->tasks.at[i];
        f->label_at[i] = target_at(b, t->label, FEATURE_LABEL);
        f->weight_at[i] = target_at(b, t->sample_weight, FEATURE_WEIGHT);
        f->indicator_at[i] = target_at(b, t->indicator, FEATURE_LABEL);
        bool no_label = f->label_at[i] < 0 && t->label;
        if (no_label || (t->sample_weight && f->weight_at[i] < 0) ||
            (t->indicator && f->indicator_at[i] < 0))
            rc = err_coded(
                err, RC_INVAL, E1401,
                "task '%s': column '%s' is not a label or sample weight of data_config",
                t->name,
                no_label              ? t->label
                : f->weight_at[i] < 0 ? t->sample_weight
                                      : t->indicator);
    }
    feature_batch_destroy(b);
    return rc;
}

static enum rc find_features(struct train_feed *f, struct err *err)
{
    for (size_t i = 0; i < f->m->inputs.n; i++) {
        const char *name = f->m->inputs.at[i].feature->name;
        f->feature_at[i] = feature_plan_find(f->plan, str_c(name));
        if (f->feature_at[i] < 0)
            return err_set(err, RC_INVAL,
                           "the model wants a feature '%s' that is not there", name);
    }
    for (size_t i = 0; i < f->m->axes.n; i++)
        f->leader_at[i] =
            feature_plan_find(f->plan, str_c(f->m->axes.at[i].leader->name));
    return RC_OK;
}

/* A device copies a value when it is whole. */
static void find_last(struct train_feed *f)
{
    for (size_t i = 0; i < f->m->inputs.n; i++) {
        const struct model_input *in = &f->m->inputs.at[i];
        f->fills[i] = in->slot < 0;
        for (size_t k = i; k-- > 0 && f->fills[i];)
            if (f->m->inputs.at[k].slot < 0 && f->m->inputs.at[k].val == in->val) {
                f->fills[k] = false;
                break;
            }
    }
}

/* Which value of the graph each input is a part of. */
static void find_outputs(struct train_feed *f)
{
    const struct model *m = f->m;
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        size_t at = 0;
        while (in->slot < 0 && m->embedded.at[at] != in->val)
            at++;
        f->output_at[i] = in->slot < 0 ? at
                          : in->dense  ? (size_t)m->dense.at[in->slot].slot.output
                                       : (size_t)lookup_slot(m->lookup, in->slot)->output;
    }
}

enum rc train_feed_create(struct model *m, const struct feature_plan *plan,
                          struct train_feed **out, struct err *err)
{
    struct train_feed *f = mem_calloc(1, sizeof(*f));
    f->m = m;
    f->plan = plan;
    f->feature_at = mem_calloc(m->inputs.n + 1, sizeof(*f->feature_at));
    f->fills = mem_calloc(m->inputs.n + 1, sizeof(*f->fills));
    find_last(f);
    f->alike = mem_calloc(m->inputs.n + 1, sizeof(*f->alike));
    f->whole = mem_calloc(m->embedded.n + 1, sizeof(*f->whole));
    f->output_at = mem_calloc(m->inputs.n + 1, sizeof(*f->output_at));
    f->once = mem_calloc(m->inputs.n + 1, sizeof(*f->once));
    find_outputs(f);
    f->shelves = mem_calloc(m->inputs.n + 1, sizeof(*f->shelves));
    f->leader_at = mem_calloc(m->axes.n + 1, sizeof(*f->leader_at));
    f->axis_offsets = mem_calloc(m->axes.n + 1, sizeof(*f->axis_offsets));
    f->axis_room = mem_calloc(m->axes.n + 1, sizeof(*f->axis_room));
    f->slots = mem_calloc((size_t)lookup_n_slots(m->lookup) + 1, sizeof(*f->slots));
    f->dense = mem_calloc(m->dense.n + 1, sizeof(*f->dense));
    f->label_at = mem_calloc(m->tasks.n + 1, sizeof(*f->label_at));
    f->weight_at = mem_calloc(m->tasks.n + 1, sizeof(*f->weight_at));
    f->indicator_at = mem_calloc(m->tasks.n + 1, sizeof(*f->indicator_at));
    enum rc rc = find_features(f, err);
    if (!rc)
        rc = find_targets(f, err);
    if (rc)
        train_feed_destroy(f);
    else
        *out = f;
    return rc;
}

static int64_t steps_at(const struct feature_out *o, int64_t row)
{
    return o->seq_offsets[row + 1] - o->seq_offsets[row];
}

static int64_t longest_row(const struct feature_out *o, int64_t rows)
{
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++)
        n = steps_at(o, r) > n ? steps_at(o, r) : n;
    return n;
}

static int64_t at_most(int64_t n, int64_t limit)
{
    return limit && n > limit ? limit : n;
}

/* The leader's steps, cut; with `longest`, also those that other sequences have beyond. */
static int64_t steps_of_row(const struct train_feed *f, size_t i,
                            const struct feature_batch *b, int64_t row, int64_t longest)
{
    const struct model_axis *a = &f->m->axes.at[i];
    int64_t own = steps_at(&b->at[f->leader_at[i]], row), n = own;
    for (size_t k = 0; longest && k < f->m->inputs.n; k++) {
        if (f->m->inputs.at[k].axis != a->axis)
            continue;
        int64_t other = at_most(steps_at(&b->at[f->feature_at[k]], row), longest);
        n = other > n ? other : n;
    }
    return at_most(own == 0 && n > 0 ? longest : n, a->max_length);
}

/* Numbers of steps that TorchEasyRec's way to count them wants. */
static void set_steps(struct train_feed *f, size_t i, const struct feature_batch *b)
{
    const struct model_axis *a = &f->m->axes.at[i];
    const struct feature_out *leader = &b->at[f->leader_at[i]];
    const int64_t *offsets = f->rows.offsets[a->axis];
    struct nn_val *to = a->own ? a->own : a->share;
    struct view v = graph_write_begin(f->m->graph, to);
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t n = steps_at(leader, r), own = at_most(n, a->max_length);
        int64_t count = a->uncut ? n : own;
        for (int64_t at = offsets[r]; at < offsets[r + 1]; at++)
            *view_row(&v, at) = a->own ? (float)(at - offsets[r] < own)
                                       : 1.0f / (float)(count > 1 ? count : 1);
    }
    graph_write_end(f->m->graph, to);
}

/* Offsets of a sequence axis: those of its leader, cut where the model wants fewer steps.
 */
static enum rc set_axis(struct train_feed *f, size_t i, const struct feature_batch *b,
                        struct err *err)
{
    const struct model_axis *a = &f->m->axes.at[i];
    const struct feature_out *leader = &b->at[f->leader_at[i]];
    f->rows.offsets[a->axis] = leader->seq_offsets;
    f->rows.n[a->axis] = leader->steps;
    if (a->max_length == 0 && !a->extends)
        return RC_OK;
    if (b->rows + 1 > f->axis_room[i]) {
        mem_free(f->axis_offsets[i]);
        f->axis_offsets[i] = mem_try_alloc((size_t)b->rows + 1, sizeof(int64_t));
        f->axis_room[i] = f->axis_offsets[i] ? b->rows + 1 : 0;
    }
    int64_t *at = f->axis_offsets[i];
    if (!at)
        return err_set(err, RC_NOMEM, "no memory for %jd rows", (intmax_t)b->rows);
    int64_t longest = a->extends ? longest_row(leader, b->rows) : 0;
    at[0] = 0;
    for (int64_t r = 0; r < b->rows; r++)
        at[r + 1] = at[r] + steps_of_row(f, i, b, r, longest);
    f->rows.offsets[a->axis] = at;
    f->rows.n[a->axis] = at[b->rows];
    return RC_OK;
}

static enum rc make_room(struct shelf *s, int64_t ids, int64_t rows, struct err *err)
{
    if (ids > s->n_ids) {
        mem_free(s->ids);
        mem_free(s->weights);
        s->ids = mem_try_alloc((size_t)ids, sizeof(*s->ids));
        s->weights = mem_try_alloc((size_t)ids, sizeof(*s->weights));
        s->n_ids = s->ids && s->weights ? ids : 0;
    }
    if (rows + 1 > s->n_rows) {
        mem_free(s->offsets);
        s->offsets = mem_try_alloc((size_t)rows + 1, sizeof(*s->offsets));
        s->n_rows = s->offsets ? rows + 1 : 0;
    }
    if (ids > s->n_ids || rows + 1 > s->n_rows)
        return err_set(err, RC_NOMEM, "no memory for %jd ids", (intmax_t)ids);
    return RC_OK;
}

/* One id per row: the first, or none. */
static enum rc first_ids(struct train_feed *f, size_t i, const struct feature_out *o,
                         struct embed_slot_ids *to, struct err *err)
{
    struct shelf *s = &f->shelves[i];
    enum rc rc = make_room(s, o->rows, 0, err);
    for (int64_t r = 0; !rc && r < o->rows; r++)
        s->ids[r] = o->offsets[r] < o->offsets[r + 1] ? o->ids[o->offsets[r]] : -1;
    *to = (struct embed_slot_ids){.ids = s->ids, .rows = o->rows};
    return rc;
}

static bool same_steps(const struct feature_out *o, const int64_t *offsets, int64_t rows)
{
    return o->seq_offsets == offsets ||
           memcmp(o->seq_offsets, offsets, (size_t)(rows + 1) * sizeof(*offsets)) == 0;
}

/* Which of the model's sequence axes; -1: none. */
static int64_t axis_at(const struct train_feed *f, int axis)
{
    for (size_t i = 0; i < f->m->axes.n; i++)
        if (f->m->axes.at[i].axis == axis)
            return (int64_t)i;
    return -1;
}

static void note_uneven(struct train_feed *f, const struct feature_batch *b)
{
    for (size_t i = 0; i < f->m->inputs.n && !f->uneven.feature; i++) {
        const struct model_input *in = &f->m->inputs.at[i];
        int64_t at = axis_at(f, in->axis);
        if (at < 0 || f->m->axes.at[at].extends)
            continue;
        const int64_t *o = b->at[f->feature_at[i]].seq_offsets;
        const int64_t *leader = b->at[f->leader_at[at]].seq_offsets;
        if (same_steps(&b->at[f->feature_at[i]], leader, b->rows))
            continue;
        f->uneven = (struct train_feed_uneven){.feature = in->feature->name,
                                               .leader = f->m->axes.at[at].leader->name,
                                               .rows = b->rows};
        for (int64_t r = b->rows - 1; r >= 0; r--)
            if (o[r + 1] - o[r] != leader[r + 1] - leader[r]) {
                f->uneven.differ++;
                f->uneven.first = r;
            }
    }
}

struct train_feed_uneven train_feed_uneven(const struct train_feed *f)
{
    return f->uneven;
}

/* Steps of a sequence, cut or filled up with empty steps to those of its axis. */
static enum rc fitted_steps(struct train_feed *f, size_t i, const struct feature_out *o,
                            const int64_t *offsets, struct embed_slot_ids *to,
                            struct err *err)
{
    struct shelf *s = &f->shelves[i];
    int64_t positions = offsets[o->rows], n = 0, at = 0;
    enum rc rc = make_room(s, o->n_ids, positions, err);
    if (rc)
        return rc;
    for (int64_t r = 0; r < o->rows; r++) {
        int64_t have = o->seq_offsets[r + 1] - o->seq_offsets[r];
        for (int64_t k = 0; k < offsets[r + 1] - offsets[r]; k++) {
            s->offsets[at++] = n;
            if (k >= have)
                continue;
            int64_t step = o->seq_offsets[r] + k;
            for (int64_t x = o->step_offsets[step]; x < o->step_offsets[step + 1];
                 x++, n++) {
                s->ids[n] = o->ids[x];
                s->weights[n] = o->weights ? o->weights[x] : 1.0f;
            }
        }
    }
    s->offsets[at] = n;
    *to = (struct embed_slot_ids){.ids = s->ids,
                                  .offsets = s->offsets,
                                  .weights = o->weights ? s->weights : NULL,
                                  .rows = positions};
    return RC_OK;
}

static struct embed_slot_ids *slot_of(struct train_feed *f, const struct model_input *in)
{
    return in->dense ? &f->dense[in->slot] : &f->slots[in->slot];
}

static enum rc lay_out_ids(struct train_feed *f, size_t i, const struct feature_batch *b,
                           struct err *err)
{
    const struct model_input *in = &f->m->inputs.at[i];
    const struct feature_out *o = &b->at[f->feature_at[i]];
    struct embed_slot_ids *to = slot_of(f, in);
    if (in->axis == AXIS_BATCH || in->axis == f->m->match.items) {
        if (in->first_only && !o->single)
            return first_ids(f, i, o, to, err);
        *to = (struct embed_slot_ids){.ids = o->ids,
                                      .offsets = o->single ? NULL : o->offsets,
                                      .weights = o->weights,
                                      .rows = o->rows};
        return RC_OK;
    }
    const int64_t *offsets = f->rows.offsets[in->axis];
    if (!same_steps(o, offsets, b->rows))
        return fitted_steps(f, i, o, offsets, to, err);
    bool plain = o->n_ids == o->steps && o->step_offsets[o->steps] == o->steps;
    for (int64_t s = 0; plain && s < o->steps; s++)
        plain = o->step_offsets[s] == s;
    *to = (struct embed_slot_ids){.ids = o->ids,
                                  .offsets = plain ? NULL : o->step_offsets,
                                  .weights = o->weights,
                                  .rows = o->steps};
    return RC_OK;
}

/* Rows of the input that belong to the first row of the batch. */
static int64_t first_rows(const struct train_feed *f, const struct model_input *in)
{
    bool steps = axis_at(f, in->axis) >= 0;
    return steps ? f->rows.offsets[in->axis][1] : 1;
}

/* Whether the input has equal rows: its feature does, and if it is a sequence, so does the
 * one that leads it.
 */
static bool is_alike(const struct train_feed *f, size_t i, const struct feature_batch *b)
{
    int64_t axis = axis_at(f, f->m->inputs.at[i].axis);
    return f->shares && b->rows > 1 && b->at[f->feature_at[i]].alike &&
           (axis < 0 ||
            (b->at[f->leader_at[axis]].alike && !f->m->axes.at[axis].extends));
}

/* TorchEasyRec looks up a sequence group, its query too, without weights. Ids that are the
 * same in all rows are looked up once.
 */
static enum rc set_slot(struct train_feed *f, size_t i, const struct feature_batch *b,
                        struct err *err)
{
    const struct model_input *in = &f->m->inputs.at[i];
    enum rc rc = lay_out_ids(f, i, b, err);
    if (in->unweighted)
        slot_of(f, in)->weights = NULL;
    if (!rc && f->alike[i] && !in->dense)
        slot_of(f, in)->rows = first_rows(f, in);
    return rc;
}

/* Numbers into their columns; steps that a sequence lacks are zeros. */
static void set_numbers(struct train_feed *f, size_t i, const struct feature_batch *b)
{
    const struct model_input *in = &f->m->inputs.at[i];
    const struct feature_out *o = &b->at[f->feature_at[i]];
    struct view v = graph_write_begin(f->m->graph, in->val);
    size_t bytes = (size_t)in->width * sizeof(float);
    if (in->axis == AXIS_BATCH || in->axis == f->m->match.items) {
        for (int64_t r = 0; r < o->rows; r++)
            memcpy(view_row(&v, r) + in->col, o->values + r * in->width, bytes);
        return;
    }
    const int64_t *offsets = f->rows.offsets[in->axis];
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t have = o->seq_offsets[r + 1] - o->seq_offsets[r];
        for (int64_t k = 0; k < offsets[r + 1] - offsets[r]; k++) {
            float *to = view_row(&v, offsets[r] + k) + in->col;
            if (k < have)
                memcpy(to, o->values + (o->seq_offsets[r] + k) * in->width, bytes);
            else
                memset(to, 0, bytes);
        }
    }
}

/* Whether a loss takes the label for the number of a class. */
static bool counts_classes(const struct model_task *t)
{
    for (int64_t i = 0; i < t->n_losses; i++)
        if (t->losses[i]->softmax_cross_entropy || t->losses[i]->hinge_loss)
            return true;
    return false;
}

/* Whether a loss takes the label for the probability of an event. */
static bool wants_probability(const struct model_task *t)
{
    for (int64_t i = 0; i < t->n_losses; i++)
        if (t->losses[i]->binary_cross_entropy || t->losses[i]->binary_focal_loss ||
            t->losses[i]->log_loss)
            return true;
    return false;
}

static enum rc check_probability(const struct model_task *t, int64_t row, float label,
                                 struct err *err)
{
    if (label >= 0.0f && label <= 1.0f)
        return RC_OK;
    return err_coded(err, RC_INVAL, E1401,
                     "label '%s': row %jd of the batch is %g; binary losses take 0 to 1",
                     t->label, (intmax_t)row, (double)label);
}

static enum rc check_class(const struct model_task *t, int64_t row, float label,
                           struct err *err)
{
    if (label >= 0.0f && label < (float)t->num_class && label == truncf(label))
        return RC_OK;
    return err_coded(err, RC_INVAL, E1401,
                     "label '%s': row %jd of the batch is %g, not a class from 0 to %u",
                     t->label, (intmax_t)row, (double)label, t->num_class - 1);
}

/* A label as losses take it. */
static float label_of(const struct model_task *t, float value)
{
    if (!t->masked)
        return value;
    return (uint64_t)(int64_t)value & t->bits ? 1.0f : 0.0f;
}

static enum rc check_label(const struct model_task *t, int64_t row, float value,
                           struct err *err)
{
    if (!isfinite(value))
        return err_coded(err, RC_INVAL, E1401, "label '%s': row %jd of the batch is %g",
                         t->label, (intmax_t)row, (double)value);
    if (t->masked && (value < 0 || value >= EXACT_BITS || value != truncf(value)))
        return err_coded(
            err, RC_INVAL, E1401,
            "label '%s': row %jd of the batch is %g; with task_bitmask it is "
            "a whole number from 0 to below 2^24",
            t->label, (intmax_t)row, (double)value);
    value = label_of(t, value);
    return counts_classes(t)      ? check_class(t, row, value, err)
           : wants_probability(t) ? check_probability(t, row, value, err)
                                  : RC_OK;
}

/* A list in each row, as long as the row has candidates. */
static enum rc check_list(const struct train_feed *f, const struct model_task *t,
                          const struct feature_target *from,
                          const struct feature_batch *b, struct err *err)
{
    int64_t at = axis_at(f, t->axis);
    const struct feature_out *leader = &b->at[f->leader_at[at]];
    if (!from->offsets)
        return err_coded(err, RC_INVAL, E1401,
                         "label '%s' is one number per row; it needs a list with one per "
                         "candidate",
                         t->label);
    for (int64_t r = 0; r < b->rows; r++)
        if (from->offsets[r + 1] - from->offsets[r] != steps_at(leader, r))
            return err_coded(err, RC_INVAL, E1401,
                             "label '%s': row %jd of the batch has %jd labels for %jd "
                             "candidates ('%s')",
                             t->label, (intmax_t)r,
                             (intmax_t)(from->offsets[r + 1] - from->offsets[r]),
                             (intmax_t)steps_at(leader, r),
                             f->m->axes.at[at].leader->name);
    return RC_OK;
}

static enum rc check_labels(const struct train_feed *f, size_t i,
                            const struct feature_batch *b, struct err *err)
{
    const struct model_task *t = &f->m->tasks.at[i];
    if (!t->labels)
        return RC_OK;
    const struct feature_target *from = &b->targets[f->label_at[i]];
    enum rc rc = RC_OK;
    if (t->axis != AXIS_BATCH)
        rc = check_list(f, t, from, b, err);
    else if (from->offsets)
        rc = err_coded(err, RC_INVAL, E1401, "label '%s' is a list", t->label);
    for (int64_t r = 0; r < b->rows && !rc; r++) {
        int64_t k = from->offsets ? from->offsets[r] : r;
        for (int64_t end = from->offsets ? from->offsets[r + 1] : r + 1; k < end && !rc;
             k++)
            rc = check_label(t, r, from->values[k], err);
    }
    return rc;
}

static enum rc set_labels(struct train_feed *f, size_t i, const struct feature_batch *b,
                          struct err *err)
{
    const struct model_task *t = &f->m->tasks.at[i];
    enum rc rc = check_labels(f, i, b, err);
    if (rc || !t->labels)
        return rc;
    const float *values = b->targets[f->label_at[i]].values;
    if (!t->masked) {
        graph_set(f->m->graph, t->labels, values);
        return RC_OK;
    }
    struct view v = graph_write_begin(f->m->graph, t->labels);
    for (int64_t k = 0; k < v.rows; k++)
        *view_row(&v, k) = label_of(t, values[k]);
    graph_write_end(f->m->graph, t->labels);
    return RC_OK;
}

/* Where a column of the model's own stands among the targets. */
static enum rc check_column(const struct model_column *c, const struct feature_batch *b,
                            int64_t *target, struct err *err)
{
    int64_t at = *target = target_at(b, c->name, FEATURE_LABEL);
    if (at < 0 || b->targets[at].offsets)
        return err_coded(err, RC_INVAL, E1401, "column '%s' is %s", c->name,
                         at < 0 ? "no label of data_config" : "a list");
    for (int64_t r = 0; r < b->rows; r++) {
        float x = b->targets[at].values[r];
        if (!(x >= 0 && x < (float)c->below) || x != floorf(x))
            return err_coded(
                err, RC_INVAL, E1401,
                "column '%s': row %jd of the batch is %g, not one of 0 to %jd", c->name,
                (intmax_t)r, (double)x, (intmax_t)(c->below - 1));
    }
    return RC_OK;
}

static enum rc set_column(struct train_feed *f, const struct model_column *c,
                          const struct feature_batch *b, struct err *err)
{
    int64_t at;
    enum rc rc = check_column(c, b, &at, err);
    if (!rc)
        graph_set(f->m->graph, c->val, b->targets[at].values);
    return rc;
}

enum rc train_feed_check(const struct train_feed *f, const struct feature_batch *b,
                         struct err *err)
{
    enum rc rc = RC_OK;
    int64_t at;
    for (size_t i = 0; i < f->m->tasks.n && !rc; i++)
        rc = check_labels(f, i, b, err);
    for (size_t i = 0; i < f->m->columns.n && !rc; i++)
        rc = check_column(&f->m->columns.at[i], b, &at, err);
    return rc;
}

static enum rc set_weights(struct train_feed *f, size_t i, const struct feature_batch *b,
                           struct err *err)
{
    const struct model_task *t = &f->m->tasks.at[i];
    if (!t->weights)
        return RC_OK;
    const float *weights =
        f->weight_at[i] >= 0 ? b->targets[f->weight_at[i]].values : NULL;
    const float *space =
        f->indicator_at[i] >= 0 ? b->targets[f->indicator_at[i]].values : NULL;
    struct view v = graph_write_begin(f->m->graph, t->weights);
    enum rc rc = train_weights_fill(t, weights, space, v, err);
    graph_write_end(f->m->graph, t->weights);
    return rc;
}

static enum rc set_sessions(struct train_feed *f, size_t i, const struct feature_batch *b,
                            struct err *err)
{
    const struct model_task *t = &f->m->tasks.at[i];
    if (!t->session)
        return RC_OK;
    int64_t at = feature_plan_find(f->plan, str_c(t->session->name));
    if (at < 0)
        return err_set(err, RC_INVAL, "the sessions' feature '%s' is not there",
                       t->session->name);
    struct view v = graph_write_begin(f->m->graph, t->sessions);
    enum rc rc = train_sessions_number(&f->sessions, &b->at[at], b->rows,
                                       f->rows.offsets[t->axis], v, err);
    graph_write_end(f->m->graph, t->sessions);
    return rc;
}

static enum rc set_targets(struct train_feed *f, const struct feature_batch *b,
                           struct err *err)
{
    struct model *m = f->m;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < m->tasks.n && !rc; i++) {
        rc = set_labels(f, i, b, err);
        if (!rc)
            rc = set_weights(f, i, b, err);
        if (!rc)
            rc = set_sessions(f, i, b, err);
    }
    for (size_t i = 0; i < m->columns.n && !rc; i++)
        rc = set_column(f, &m->columns.at[i], b, err);
    return rc;
}

enum rc train_feed_take(struct train_feed *f, const struct feature_batch *b,
                        struct err *err)
{
    enum rc rc = RC_OK;
    f->batch = b;
    for (int i = 0; i < graph_n_axes(f->m->graph); i++) {
        f->rows.n[i] = i == AXIS_BATCH ? b->rows : 0;
        f->rows.offsets[i] = NULL;
    }
    for (size_t i = 0; i < f->m->axes.n && !rc; i++)
        rc = set_axis(f, i, b, err);
    if (!rc)
        note_uneven(f, b);
    for (size_t i = 0; i < f->m->inputs.n && !rc; i++)
        f->alike[i] = is_alike(f, i, b);
    for (size_t i = 0; i < f->m->inputs.n && !rc; i++)
        if (f->m->inputs.at[i].slot >= 0)
            rc = set_slot(f, i, b, err);
    return rc;
}

/* The first column of its value that an input fills. */
static int64_t column_of(const struct train_feed *f, const struct model_input *in)
{
    return in->slot < 0 ? in->col
           : in->dense  ? f->m->dense.at[in->slot].slot.col
                        : lookup_slot(f->m->lookup, in->slot)->col;
}

/* Inputs of a value follow each other, in the order of their columns. */
static void tell_columns(struct train_feed *f)
{
    const struct model *m = f->m;
    for (size_t i = 0, end; f->shares && i < m->inputs.n; i = end) {
        size_t output = f->output_at[i];
        int n = 0;
        for (end = i; end < m->inputs.n && f->output_at[end] == output; end++) {
            const struct model_input *in = &m->inputs.at[end];
            int64_t col = column_of(f, in);
            if (!f->alike[end] || in->axis != AXIS_BATCH)
                continue;
            if (n == 0 || f->once[i + (size_t)n - 1].to != col)
                f->once[i + (size_t)n++] = (struct nn_columns){col, col};
            f->once[i + (size_t)n - 1].to = col + in->width;
        }
        if (n > 0 && !f->whole[output])
            graph_alike_columns(m->embedded.at[output], &f->once[i], n);
    }
}

/* Tells the graph which of its inputs have equal rows. */
static void tell_alike(struct train_feed *f)
{
    const struct model *m = f->m;
    for (size_t i = 0; i < m->embedded.n; i++)
        f->whole[i] = f->shares;
    for (size_t i = 0; i < m->inputs.n; i++)
        f->whole[f->output_at[i]] &= f->alike[i];
    for (size_t i = 0; i < m->embedded.n; i++)
        if (f->whole[i])
            graph_alike(m->graph, m->embedded.at[i]);
    tell_columns(f);
}

void train_feed_share(struct train_feed *f, bool on)
{
    f->shares = on && graph_takes_alike(f->m->graph);
}

void train_feed_spread(const struct train_feed *f, const struct view *outputs)
{
    const struct model *m = f->m;
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        if (!f->alike[i] || in->slot < 0 || in->dense || f->whole[f->output_at[i]])
            continue;
        const struct view *v = &outputs[f->output_at[i]];
        int64_t n = first_rows(f, in), col = lookup_slot(m->lookup, in->slot)->col;
        for (int64_t r = n; r < v->rows; r++)
            memcpy(view_row(v, r) + col, view_row(v, r - n) + col,
                   (size_t)in->width * sizeof(float));
    }
}

enum rc train_feed_fill(struct train_feed *f, bool targets, struct err *err)
{
    const struct feature_batch *b = f->batch;
    struct model *m = f->m;
    struct model_match_batch match = {.items = b->item_rows || b->own_at ? b->item_rows
                                                                         : b->rows,
                                      .n_common = b->n_common,
                                      .hard_at = b->hard_at,
                                      .own_at = b->own_at};
    enum rc rc = model_match_rows(m, &match, &f->rows, err);
    if (!rc)
        rc = graph_rows(m->graph, &f->rows, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < m->inputs.n; i++) {
        if (m->inputs.at[i].slot < 0)
            set_numbers(f, i, b);
        if (f->fills[i])
            graph_write_end(m->graph, m->inputs.at[i].val);
    }
    for (size_t i = 0; i < m->axes.n; i++)
        if (m->axes.at[i].own || m->axes.at[i].share)
            set_steps(f, i, b);
    tell_alike(f);
    return targets ? set_targets(f, b, err) : RC_OK;
}

const struct embed_slot_ids *train_feed_ids(const struct train_feed *f)
{
    return f->slots;
}

const struct embed_slot_ids *train_feed_dense_ids(const struct train_feed *f)
{
    return f->dense;
}
