/* SPDX-License-Identifier: Apache-2.0 */
/* FG_NONE: the columns hold ids and numbers already; they are split, cast and filled. No
 * operator and no bucket is at work. Texts are cut at fg_encoded_multival_sep and, of
 * sequences, at the delimiter of steps; lists and maps give their values as they are. A
 * missing value gets fg_encoded_default_value.
 */
#include <inttypes.h>
#include <string.h>

#include "feature/feature_private.h"
#include "feature/leaf.h"
#include "feature/number.h"

static bool is_flat(const struct type *t)
{
    return (t->id == TYPE_I32 || t->id == TYPE_I64 || t->id == TYPE_U32 ||
            t->id == TYPE_U64 || t->id == TYPE_F32 || t->id == TYPE_F64 ||
            t->id == TYPE_STR) &&
           (t->logical == LOGICAL_NONE || t->logical == LOGICAL_BINARY ||
            t->logical == LOGICAL_DECIMAL || t->logical == LOGICAL_FLOAT16);
}

static bool is_real(const struct type *t)
{
    return t->id == TYPE_F32 || t->id == TYPE_F64;
}

bool none_accept(const struct fg *f, const struct type *t)
{
    bool ids = f->sink == SINK_IDS;
    if (t->id == TYPE_MAP)
        return ids && f->weighted && !f->sequence && is_flat(&t->kids[0].type) &&
               !is_real(&t->kids[0].type) && is_flat(&t->kids[1].type);
    if (t->id == TYPE_LIST) {
        t = &t->kids[0].type;
        if (t->id == TYPE_LIST && f->sequence)
            t = &t->kids[0].type;
        return is_flat(t) && (!f->weighted || t->id == TYPE_STR);
    }
    return is_flat(t) && !(ids && is_real(t)) && (!f->weighted || t->id == TYPE_STR);
}

static enum rc put_id(struct fg_run *x, struct str s, float weight)
{
    int64_t id;
    bool over;
    if (!bucket_parse(s, &id, &over) || over)
        return fg_fail(x, NULL, RC_FORMAT, E1304, "'%.*s' is not an integer of 64 bits",
                       SHOWN(s));
    return sink_i64(x, id, weight);
}

static enum rc put_weighted(struct fg_run *x, struct str s)
{
    const char *colon = memrchr(s.p, ':', s.n);
    double w = 1.0;
    if (colon) {
        struct str weight = str_of(colon + 1, s.n - (size_t)(colon + 1 - s.p));
        if (!number_parse(weight, &w))
            return fg_fail(x, NULL, RC_FORMAT, E1303, "weight '%.*s' is not a number",
                           SHOWN(weight));
        s.n = (size_t)(colon - s.p);
    }
    return put_id(x, s, (float)w);
}

static enum rc put_token(struct fg_run *x, struct str s)
{
    double v;
    if (x->f->sink == SINK_IDS)
        return x->f->weighted ? put_weighted(x, s) : put_id(x, s, 1.0f);
    if (!number_parse(s, &v))
        return fg_fail(x, NULL, RC_FORMAT, E1303, "'%.*s' is not a number", SHOWN(s));
    return sink_number(x, v, false);
}

static const char *none_find(struct str s, struct str sep)
{
    return sep.n == 1 ? memchr(s.p, *sep.p, s.n) : memmem(s.p, s.n, sep.p, sep.n);
}

static enum rc put_tokens(struct fg_run *x, struct str s)
{
    struct str sep = x->plan->multi_sep;
    for (;;) {
        const char *end = none_find(s, sep);
        enum rc rc = put_token(x, end ? str_of(s.p, (size_t)(end - s.p)) : s);
        if (rc || !end)
            return rc;
        s.n -= (size_t)(end - s.p) + sep.n;
        s.p = end + sep.n;
    }
}

/* An id without sign has to be one with it. */
static enum rc put_u64(struct fg_run *x, uint64_t id, float weight)
{
    if (id > INT64_MAX)
        return fg_fail(x, NULL, RC_FORMAT, E1304,
                       "%" PRIu64 " is not an integer of 64 bits with sign", id);
    return sink_i64(x, (int64_t)id, weight);
}

/* Value i of a list; a null is left out. */
static enum rc put_leaf(struct fg_run *x, const struct column *c, int64_t i)
{
    if (column_is_null(c, i))
        return RC_OK;
    if (c->type->id == TYPE_STR)
        return put_token(x, column_str(c, i));
    if (x->f->sink == SINK_NUMBERS)
        return sink_number(x, (double)leaf_f32(c, i), true);
    if (leaf_is_whole(c))
        return sink_i64(x, leaf_i64(c, i), 1.0f);
    if (c->type->id == TYPE_U64)
        return put_u64(x, leaf_u64(c, i), 1.0f);
    double v = leaf_f64(c, i);
    if (!(v > -9.2e18 && v < 9.2e18))
        return fg_fail(x, NULL, RC_FORMAT, E1304, "%g is not an integer of 64 bits", v);
    return sink_i64(x, (int64_t)v, 1.0f);
}

static enum rc end_step(struct fg_run *x)
{
    if (sink_given(x) == 0 && x->f->sink == SINK_NUMBERS && !x->f->has_def)
        return fg_fail(x, NULL, RC_FORMAT, E1306,
                       "the value is missing, and there is no fg_encoded_default_value");
    return sink_end_step(x);
}

static enum rc put_steps(struct fg_run *x, struct str s)
{
    for (;;) {
        const char *end = none_find(s, x->f->delim);
        struct str step = end ? str_of(s.p, (size_t)(end - s.p)) : s;
        enum rc rc = step.n ? put_tokens(x, step) : RC_OK;
        if (!rc)
            rc = end_step(x);
        if (rc || !end)
            return rc;
        s.n -= step.n + x->f->delim.n;
        s.p = end + x->f->delim.n;
    }
}

/* As in TorchEasyRec, the default stands for a sequence without steps; a step of a list of
 * lists that holds no ids stays empty.
 */
static enum rc put_list_steps(struct fg_run *x, const struct column *c, int64_t r)
{
    const struct column *kid = &c->kids[0];
    bool nested = kid->type->id == TYPE_LIST;
    enum rc rc = RC_OK;
    for (int64_t i = c->offsets[r]; !rc && i < c->offsets[r + 1]; i++) {
        if (!nested)
            rc = put_leaf(x, kid, i);
        for (int64_t k = nested ? kid->offsets[i] : 0;
             nested && !rc && k < kid->offsets[i + 1]; k++)
            rc = put_leaf(x, &kid->kids[0], k);
        if (!rc)
            rc = nested && x->f->sink == SINK_IDS ? sink_end_bare_step(x) : end_step(x);
    }
    return rc;
}

/* tokens_as_sequence: each value is a step. */
static enum rc put_token_steps(struct fg_run *x, struct str s)
{
    struct str sep = x->plan->multi_sep;
    for (;;) {
        const char *end = none_find(s, sep);
        enum rc rc = put_token(x, end ? str_of(s.p, (size_t)(end - s.p)) : s);
        if (!rc)
            rc = end_step(x);
        if (rc || !end)
            return rc;
        s.n -= (size_t)(end - s.p) + sep.n;
        s.p = end + sep.n;
    }
}

static enum rc put_default_steps(struct fg_run *x)
{
    enum rc rc = RC_OK;
    for (int64_t i = 0; !rc && i < x->f->n_def; i++) {
        rc = sink_i64(x, x->f->def_ids[i], 1.0f);
        if (!rc)
            rc = sink_end_step(x);
    }
    return rc;
}

static enum rc put_sequence(struct fg_run *x, const struct column *c, int64_t r)
{
    if (c->type->id == TYPE_LIST)
        return put_list_steps(x, c, r);
    if (c->type->id == TYPE_STR)
        return x->f->conf->tokens_as_sequence ? put_token_steps(x, column_str(c, r))
                                              : put_steps(x, column_str(c, r));
    enum rc rc = put_leaf(x, c, r);
    return rc ? rc : end_step(x);
}

static enum rc put_map(struct fg_run *x, const struct column *c, int64_t r)
{
    const struct column *key = &c->kids[0], *val = &c->kids[1];
    enum rc rc = RC_OK;
    for (int64_t i = c->offsets[r]; !rc && i < c->offsets[r + 1]; i++) {
        double w = 1.0;
        if (val->type->id == TYPE_STR && !number_parse(column_str(val, i), &w))
            return fg_fail(x, NULL, RC_FORMAT, E1303, "weight '%.*s' is not a number",
                           SHOWN(column_str(val, i)));
        if (val->type->id != TYPE_STR && !column_is_null(val, i))
            w = leaf_f64(val, i);
        rc = key->type->id == TYPE_STR ? put_id(x, column_str(key, i), (float)w)
             : leaf_is_whole(key)      ? sink_i64(x, leaf_i64(key, i), (float)w)
             : key->type->id == TYPE_U64
                 ? put_u64(x, leaf_u64(key, i), (float)w)
                 : sink_i64(x, (int64_t)leaf_f32(key, i), (float)w);
    }
    return rc;
}

static enum rc put_row(struct fg_run *x, const struct column *c, int64_t r)
{
    enum rc rc = RC_OK;
    switch (c->type->id) {
    case TYPE_STR:
        return put_tokens(x, column_str(c, r));
    case TYPE_MAP:
        return put_map(x, c, r);
    case TYPE_LIST:
        for (int64_t i = c->offsets[r]; !rc && i < c->offsets[r + 1]; i++)
            rc = put_leaf(x, &c->kids[0], i);
        return rc;
    default:
        return put_leaf(x, c, r);
    }
}

static bool is_missing(const struct fg_run *x, const struct column *c, int64_t r)
{
    if (column_is_null(c, r) || fg_masked(x, &x->f->in[0], x->row))
        return true;
    if (c->type->id == TYPE_STR)
        return column_str(c, r).n == 0;
    return type_is_nested(c->type->id) && c->offsets[r] == c->offsets[r + 1];
}

static enum rc one_row(struct fg_run *x, const struct column *c, int64_t r)
{
    bool missing = is_missing(x, c, r);
    if (!x->f->sequence) {
        enum rc rc = missing ? RC_OK : put_row(x, c, r);
        return rc ? rc : end_step(x);
    }
    if (!missing)
        return put_sequence(x, c, r);
    if (x->f->conf->tokens_as_sequence)
        return put_default_steps(x);
    bool filled = x->f->sink == SINK_IDS ? x->f->n_def > 0 : x->f->has_def;
    return filled ? end_step(x) : RC_OK;
}

enum rc none_run(struct fg_run *x)
{
    const struct column *c = fg_column(x, &x->f->in[0]);
    enum rc rc = RC_OK;
    if (!none_accept(x->f, c->type)) {
        struct buf name;
        buf_init(&name, 256);
        type_print(c->type, &name);
        rc = fg_fail(x, NULL, RC_INVAL, E1302, "type %s cannot be read here",
                     buf_str(&name));
        buf_release(&name);
        return rc;
    }
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        x->row = r;
        rc = one_row(x, c, c->n == 1 ? 0 : r);
        sink_end_row(x);
    }
    return rc;
}
