/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of a line as one row of columns. All values are converted before the first column
 * grows, so that a faulty line leaves no trace.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "data/csv/num.h"
#include "data/slots/slots_private.h"

void slots_row_release(struct slots_row *r)
{
    VEC_RELEASE(&r->ids);
    VEC_RELEASE(&r->reals);
    VEC_RELEASE(&r->counts);
}

static bool not_number(const struct slots_slot *s, struct str value, const char *what,
                       struct slots_fault *fault)
{
    *fault = (struct slots_fault){.code = E1161, .at = value, .slot = s->name};
    snprintf(fault->what, sizeof(fault->what), "is not %s", what);
    return false;
}

static bool wrong_count(const struct slots_slot *s, int64_t want,
                        struct slots_fault *fault)
{
    *fault = (struct slots_fault){
        .code = E1162, .at = s->n ? s->at[0] : (struct str){0}, .slot = s->name};
    snprintf(fault->what, sizeof(fault->what), "holds %zu value%s, where %jd %s expected",
             s->n, s->n == 1 ? "" : "s", (intmax_t)want, want == 1 ? "is" : "are");
    return false;
}

static bool add_id(struct slots_row *r, const struct slots_slot *s, struct str value,
                   struct slots_fault *fault)
{
    int64_t id;
    if (num_i64(value.p, value.n, &id) != NUM_OK)
        return not_number(s, value, "a whole number of 64 bits", fault);
    VEC_PUSH(&r->ids, id);
    return true;
}

static bool add_real(struct slots_row *r, const struct slots_slot *s, struct str value,
                     struct slots_fault *fault)
{
    float real;
    if (num_f32(value.p, value.n, &real) != NUM_OK)
        return not_number(s, value, "a 32-bit float", fault);
    VEC_PUSH(&r->reals, real);
    return true;
}

/* One value of a slot: of ids or of floats. */
static bool add_one(struct slots_row *r, const struct slots_slot *s, int64_t at, bool ids,
                    int64_t padding, struct slots_fault *fault)
{
    if (s->n == 0 && ids)
        VEC_PUSH(&r->ids, padding);
    else if (s->n == 0)
        VEC_PUSH(&r->reals, (float)padding);
    if (s->n == 0)
        return true;
    if (at < 0 && s->n != 1)
        return wrong_count(s, 1, fault);
    if (at >= (int64_t)s->n)
        return wrong_count(s, at + 1, fault);
    struct str value = s->at[at < 0 ? 0 : at];
    return ids ? add_id(r, s, value, fault) : add_real(r, s, value, fault);
}

/* All of them, or one share. A slot that the line lacks is padded to the number that it
 * should have.
 */
static bool add_list(struct slots_row *r, const struct slots_slot *s,
                     const struct slots_column *c, int64_t padding,
                     struct slots_fault *fault)
{
    bool ids = c->kind == SLOTS_IDS, ok = true;
    size_t from = c->part ? (size_t)((c->part - 1) * c->n) : 0;
    size_t to = c->part ? from + (size_t)c->n : s->n;
    if (s->n && to > s->n)
        return wrong_count(s, (int64_t)to, fault);
    if (s->n && !c->part && c->n && (int64_t)s->n != c->n)
        return wrong_count(s, c->n, fault);
    for (size_t i = from; ok && s->n && i < to; i++)
        ok = ids ? add_id(r, s, s->at[i], fault) : add_real(r, s, s->at[i], fault);
    for (int64_t i = 0; s->n == 0 && i < (c->n ? c->n : 1); i++)
        (void)add_one(r, s, 0, ids, padding, fault);
    return ok;
}

/* Of a session: all but its last value or its first, the last, or one of those before it,
 * which follows from the values.
 */
static bool add_session(struct slots_row *r, const struct slots_slot *s,
                        enum slots_kind kind, struct slots_fault *fault)
{
    size_t from = kind == SLOTS_TAIL, to = s->n - (kind == SLOTS_HEAD);
    bool ok = true;
    if (s->n < 2)
        return wrong_count(s, 2, fault);
    if (kind == SLOTS_LAST) {
        from = s->n - 1;
    } else if (kind == SLOTS_OTHER) {
        uint64_t drawn = s->n;
        for (size_t i = 0; i < s->n; i++)
            drawn = hash_xxh3_seeded(s->at[i].p, s->at[i].n, drawn);
        from = (size_t)(drawn % (s->n - 1));
        to = from + 1;
    }
    for (size_t i = from; ok && i < to; i++)
        ok = add_id(r, s, s->at[i], fault);
    return ok;
}

/* The values in front, as many as value `room` says. */
static bool add_text(struct slots_row *r, const struct slots_slot *s, int64_t room,
                     struct slots_fault *fault)
{
    int64_t n;
    bool ok = true;
    if ((int64_t)s->n <= room)
        return wrong_count(s, room + 1, fault);
    if (num_i64(s->at[room].p, s->at[room].n, &n) != NUM_OK || n < 1 || n > room) {
        *fault = (struct slots_fault){.code = E1162, .at = s->at[room], .slot = s->name};
        snprintf(fault->what, sizeof(fault->what), "a text has 1 to %jd values",
                 (intmax_t)room);
        return false;
    }
    for (int64_t i = 0; ok && i < n; i++)
        ok = add_id(r, s, s->at[i], fault);
    return ok;
}

static bool add_column(struct slots_row *r, const struct slots_column *c,
                       const struct slots_set *slots, int64_t padding,
                       struct slots_fault *fault)
{
    if (c->kind == SLOTS_VALUE) {
        VEC_PUSH(&r->ids, c->at);
        return true;
    }
    const struct slots_slot *s = &slots->list.at[c->slot];
    switch (c->kind) {
    case SLOTS_ID:
    case SLOTS_FLOAT:
        return add_one(r, s, c->at, c->kind == SLOTS_ID, padding, fault);
    case SLOTS_IDS:
    case SLOTS_FLOATS:
        return add_list(r, s, c, padding, fault);
    case SLOTS_HEAD:
    case SLOTS_TAIL:
    case SLOTS_LAST:
    case SLOTS_OTHER:
        return add_session(r, s, c->kind, fault);
    case SLOTS_TEXT:
        return add_text(r, s, c->n, fault);
    default: /* a pair */
        break;
    }
    if (!add_one(r, s, c->at, true, padding, fault))
        return false;
    if (c->weight < 0) { /* id 0 stands for nothing */
        VEC_PUSH(&r->reals, r->ids.at[r->ids.n - 1] ? 1.0f : 0.0f);
        return true;
    }
    return add_one(r, &slots->list.at[c->weight], c->at, false, padding, fault);
}

bool slots_row_make(struct slots_row *r, const struct slots_columns *c,
                    const struct slots_set *slots, int64_t padding,
                    struct slots_fault *fault)
{
    r->ids.n = r->reals.n = r->counts.n = 0;
    for (size_t k = 0; k < c->list.n; k++) {
        size_t before = r->ids.n + r->reals.n;
        if (!add_column(r, &c->list.at[k], slots, padding, fault))
            return false;
        VEC_PUSH(&r->counts, r->ids.n + r->reals.n - before);
    }
    return true;
}

static enum rc put_ids(struct column *c, const int64_t *from, size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = column_add_i64(c, from[i], err);
    return rc;
}

static enum rc put_reals(struct column *c, const float *from, size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = column_add_f32(c, from[i], err);
    return rc;
}

enum rc slots_row_put(const struct slots_row *r, const struct slots_columns *c,
                      struct batch *b, struct err *err)
{
    const int64_t *ids = r->ids.at;
    const float *reals = r->reals.at;
    enum rc rc = RC_OK;
    for (size_t k = 0; !rc && k < c->list.n; k++) {
        enum slots_kind kind = c->list.at[k].kind;
        struct column *to = &b->cols[k];
        bool list = slots_kind_is_list(kind) || kind == SLOTS_PAIR;
        bool whole = slots_kind_is_whole(kind);
        bool real = !whole || kind == SLOTS_PAIR;
        size_t n = kind == SLOTS_PAIR ? 1 : r->counts.at[k];
        if (whole)
            rc = put_ids(list ? &to->kids[0] : to, ids, n, err);
        if (!rc && real)
            rc = put_reals(list ? &to->kids[kind == SLOTS_PAIR] : to, reals, n, err);
        if (!rc && list)
            rc = column_add_nested(to, err);
        if (whole && n) /* there may be no such values at all */
            ids += n;
        if (real && n)
            reals += n;
    }
    return rc;
}
