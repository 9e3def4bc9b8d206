/* SPDX-License-Identifier: Apache-2.0 */
/* The short ways of id_feature: no cells are made, each value goes from the column to its
 * id in one loop. They give what the long way gives; tests compare the two.
 *
 * Flat columns: at most one id per row. Sequences: exactly one id per step, since a
 * sequence always has a default and value_dim is 1 here, or no value can hold several.
 */
#include "feature/op/id_fast.h"

#include <string.h>

#include "base/hash.h"

struct writer {
    struct fg_run *x;
    const struct fg_bucket *b;
    int64_t *ids, *offsets, *seq;
    int64_t n;   /* ids so far */
    int64_t def; /* id of a missing value */
    bool has_def;
};

static void id_fast_begin(struct writer *w, struct fg_run *x)
{
    *w = (struct writer){.x = x,
                         .b = &x->f->bucket,
                         .ids = x->out->own_ids.p,
                         .offsets = x->out->own_offsets.p,
                         .seq = x->out->own_seq.p,
                         .has_def = x->f->n_def > 0,
                         .def = x->f->n_def > 0 ? x->f->def_ids[0] : 0};
}

static inline void put_default(struct writer *w)
{
    w->ids[w->n] = w->def;
    w->n += w->has_def;
}

static enum rc put_text(struct writer *w, int64_t row, struct str s)
{
    if (LIKELY(bucket_text(w->b, s, &w->ids[w->n]))) {
        w->n++;
        return RC_OK;
    }
    w->x->row = row;
    return fg_fail(w->x, NULL, RC_FORMAT, E1304, "'%.*s' is not an integer", SHOWN(s));
}

/* Rows [r, end), texts of any length; a text can always be hashed. */
static void hash_rows(struct writer *w, const struct column *col, int64_t r, int64_t end)
{
    for (; r < end; r++) {
        int32_t n = col->offsets[r + 1] - col->offsets[r];
        if (n)
            w->ids[w->n++] =
                bucket_modulo(w->b, hash_std(col->text + col->offsets[r], (size_t)n));
        else
            put_default(w);
        w->offsets[r + 1] = w->n;
    }
}

#define BLOCK 256 /* rows */

/* True when every text of the rows [r, end) has eight bytes or none. */
static bool only_eights(const struct column *col, int64_t r, int64_t end)
{
    int32_t other = 0;
    for (; r < end; r++)
        other |= (col->offsets[r + 1] - col->offsets[r]) & ~8;
    return other == 0;
}

/* Texts of eight bytes or none: those that are there stand one behind the other. */
static void hash_eights(struct writer *w, const struct column *col, int64_t r,
                        int64_t end)
{
    const uint32_t *at = (const uint32_t *)col->offsets;
    uint32_t first = at[r];
    int64_t n = (at[end] - first) / 8, base = w->n, all[BLOCK];
    bool direct = !w->has_def || n == end - r;
    bucket_eights(w->b, col->text + first, n, direct ? w->ids + base : all);
    if (direct) {
        for (int64_t i = r; i < end; i++)
            w->offsets[i + 1] = base + (at[i + 1] - first) / 8;
        w->n += n;
        return;
    }
    for (int64_t i = r; i < end; i++) {
        w->ids[base + i - r] = at[i + 1] != at[i] ? all[(at[i] - first) / 8] : w->def;
        w->offsets[i + 1] = base + i - r + 1;
    }
    w->n += end - r;
}

/* Texts of eight bytes are the rule. */
static void flat_hashes(struct fg_run *x, const struct column *col)
{
    struct writer w;
    id_fast_begin(&w, x);
    for (int64_t r = 0; r < x->rows; r += BLOCK) {
        int64_t end = r + BLOCK < x->rows ? r + BLOCK : x->rows;
        if (only_eights(col, r, end))
            hash_eights(&w, col, r, end);
        else
            hash_rows(&w, col, r, end);
    }
    x->n = w.n;
}

static enum rc flat_texts(struct fg_run *x, const struct column *col)
{
    struct writer w;
    enum rc rc = RC_OK;
    if (x->f->bucket.kind == BUCKET_HASH && !x->f->bucket.farm && !col->valid) {
        flat_hashes(x, col);
        return RC_OK;
    }
    id_fast_begin(&w, x);
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        struct str s = str_of(col->text + col->offsets[r],
                              (size_t)(col->offsets[r + 1] - col->offsets[r]));
        if (s.n && !column_is_null(col, r))
            rc = put_text(&w, r, s);
        else
            put_default(&w);
        w.offsets[r + 1] = w.n;
    }
    x->n = w.n;
    return rc;
}

/* All rows have a value, and the id is the value: no questions per row. */
static void whole_numbers(struct fg_run *x, const struct column *col)
{
    int64_t *ids = x->out->own_ids.p, *offsets = x->out->own_offsets.p;
    uint64_t n = x->f->bucket.n;
    const int64_t *v = col->values;
    for (int64_t r = 0; r < x->rows; r++)
        ids[r] = (uint64_t)v[r] < n ? v[r] : BUCKET_OUTSIDE;
    for (int64_t r = 0; r < x->rows; r++)
        offsets[r + 1] = r + 1;
    x->n = x->rows;
}

static enum rc flat_numbers(struct fg_run *x, const struct column *col)
{
    struct writer w;
    bool wide = col->type->id == TYPE_I64;
    if (wide && !col->valid && x->f->bucket.kind == BUCKET_NUM) {
        whole_numbers(x, col);
        return RC_OK;
    }
    id_fast_begin(&w, x);
    for (int64_t r = 0; r < x->rows; r++) {
        if (LIKELY(!column_is_null(col, r)))
            w.ids[w.n++] =
                bucket_i64(w.b, wide ? column_i64(col, r) : column_i32(col, r));
        else
            put_default(&w);
        w.offsets[r + 1] = w.n;
    }
    x->n = w.n;
    return RC_OK;
}

static enum rc flat_codes(struct fg_run *x, const struct column *col)
{
    enum rc rc = memo_use(x, &x->st->memo, col->dict);
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        x->row = r;
        if (!column_is_null(col, r))
            rc = memo_sink(x, &x->st->memo, column_code(col, r), true);
        if (LIKELY(!rc && sink_given(x) == 1))
            x->step_base = x->n;
        else if (!rc)
            rc = sink_end_step(x);
        ((int64_t *)x->out->own_offsets.p)[r + 1] = x->n;
    }
    return rc;
}

/* Steps of row r that are kept. */
static int64_t id_fast_kept(const struct fg_run *x, const struct column *col, int64_t r)
{
    int64_t n = column_is_null(col, r) ? 0 : col->offsets[r + 1] - col->offsets[r];
    return x->f->max_steps && n > x->f->max_steps ? x->f->max_steps : n;
}

static enum rc room(struct fg_run *x, struct writer *w, int64_t more)
{
    x->n = w->n;
    enum rc rc = sink_room(x, more);
    w->ids = x->out->own_ids.p;
    return rc;
}

/* One id per step: ids and steps are counted alike. */
static enum rc finish_steps(struct fg_run *x, const struct writer *w)
{
    struct feature_out *o = x->out;
    x->n = o->steps = w->n;
    if (!feature_mem_room(&o->own_step, (size_t)w->n + 1, sizeof(int64_t)))
        return fg_nomem(x);
    int64_t *step = o->own_step.p;
    for (int64_t i = 0; i <= w->n; i++)
        step[i] = i;
    return RC_OK;
}

static inline void end_row(struct writer *w, int64_t r, int64_t before)
{
    if (w->n == before)
        put_default(w);
    w->offsets[r + 1] = w->seq[r + 1] = w->n;
}

static enum rc list_numbers(struct fg_run *x, const struct column *col)
{
    const struct column *kid = &col->kids[0];
    bool wide = kid->type->id == TYPE_I64;
    struct writer w;
    id_fast_begin(&w, x);
    enum rc rc = room(x, &w, kid->n + x->rows);
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        int64_t before = w.n, i = col->offsets[r], end = i + id_fast_kept(x, col, r);
        for (; i < end; i++) {
            if (LIKELY(!column_is_null(kid, i)))
                w.ids[w.n++] =
                    bucket_i64(w.b, wide ? column_i64(kid, i) : column_i32(kid, i));
            else
                put_default(&w);
        }
        end_row(&w, r, before);
    }
    return rc ? rc : finish_steps(x, &w);
}

static enum rc list_codes(struct fg_run *x, const struct column *col)
{
    const struct column *kid = &col->kids[0];
    struct fg_memo *m = &x->st->memo;
    struct writer w;
    enum rc rc = memo_use(x, m, kid->dict);
    id_fast_begin(&w, x);
    if (!rc)
        rc = room(x, &w, kid->n + x->rows + 1);
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        int64_t before = w.n, i = col->offsets[r], end = i + id_fast_kept(x, col, r);
        for (; !rc && i < end; i++) {
            int64_t id = ((const int64_t *)m->slot.p)[column_code(kid, i)];
            if (LIKELY(id >= 0 && !column_is_null(kid, i))) {
                w.ids[w.n++] = id;
                continue;
            }
            x->row = r;
            x->n = w.n;
            rc = column_is_null(kid, i) ? RC_OK
                                        : memo_sink(x, m, column_code(kid, i), true);
            w.ids = x->out->own_ids.p;
            if (x->n == w.n)
                put_default(&w);
            else
                w.n++; /* of several the first */
        }
        end_row(&w, r, before);
    }
    return rc ? rc : finish_steps(x, &w);
}

/* The first value of a step; empty ones are passed over. */
static struct str first_value(struct str step, char sep)
{
    struct str part = str_of(NULL, 0);
    if (!memchr(step.p, sep, step.n))
        return step;
    while (!part.n && str_split(&step, sep, &part))
        ;
    return part;
}

/* Up to seven digits at p, from `end - p >= 8` bytes: how many, and their value. */
static inline size_t few_digits(const char *p, int64_t *v)
{
    uint64_t t;
    memcpy(&t, p, sizeof(t));
    t ^= 0x3030303030303030u;
    uint64_t other = ((t + 0x7676767676767676u) | t) & 0x8080808080808080u;
    size_t n = other ? (size_t)__builtin_ctzll(other) >> 3 : 8;
    if (n == 0 || n == 8)
        return 0;
    t <<= (8 - n) * 8; /* leading zeros */
    t = t * 10 + (t >> 8);
    *v = (int64_t)(((t & 0x000000ff000000ffu) * (100 + ((uint64_t)1000000 << 32)) +
                    ((t >> 16) & 0x000000ff000000ffu) * (1 + ((uint64_t)10000 << 32))) >>
                   32);
    return n;
}

/* Steps of one row that are short numbers, as long as there are such; where it stopped.
 */
static const char *short_steps(struct writer *w, const char *p, const char *end,
                               const char *last, char delim, int64_t most, bool *more)
{
    uint64_t n_buckets = w->b->n;
    for (int64_t k = 0; k < most && p <= last && p < end; k++) {
        int64_t v;
        size_t n = few_digits(p, &v);
        const char *at = p + n;
        if (UNLIKELY(!n || at > end || (at < end && *at != delim)))
            return p;
        w->ids[w->n++] = (uint64_t)v < n_buckets ? v : BUCKET_OUTSIDE;
        *more = at < end;
        p = at + 1;
    }
    return p;
}

static enum rc text_steps(struct fg_run *x, const struct column *col)
{
    char delim = *x->f->delim.p, sep = x->f->sep;
    int64_t most = x->f->max_steps ? x->f->max_steps : INT64_MAX;
    bool split = memchr(col->text, sep, (size_t)col->offsets[col->n]) != NULL;
    bool numbers = x->f->bucket.kind == BUCKET_NUM && !split;
    const char *last =
        col->text + col->offsets[col->n] - 8; /* 8 bytes can be read there */
    struct writer w;
    enum rc rc = RC_OK;
    numbers = numbers && col->offsets[col->n] >= 8;
    id_fast_begin(&w, x);
    for (int64_t r = 0; !rc && r < x->rows; r++) {
        const char *p = col->text + col->offsets[r],
                   *end = col->text + col->offsets[r + 1];
        int64_t before = w.n, longest = end - p + 2;
        bool more = p < end && !column_is_null(col, r);
        if (x->cap - w.n < longest)
            rc = room(x, &w, longest);
        if (!rc && more && numbers)
            p = short_steps(&w, p, end, last, delim, most, &more);
        while (!rc && more && w.n - before < most) {
            const char *at = p;
            while (at < end && *at != delim)
                at++;
            struct str s = str_of(p, (size_t)(at - p));
            if (split)
                s = first_value(s, sep);
            if (s.n)
                rc = put_text(&w, r, s);
            else
                put_default(&w);
            more = at < end;
            p = at + 1;
        }
        end_row(&w, r, before);
    }
    return rc ? rc : finish_steps(x, &w);
}

typedef enum rc way_fn(struct fg_run *x, const struct column *col);

static bool is_plain(const struct column *c, enum type_id id)
{
    return c->type->id == id && !c->dict && c->type->logical == LOGICAL_NONE;
}

static way_fn *flat_way(const struct fg_run *x, const struct column *col)
{
    const struct fg_input *in = &x->f->in[0];
    if (col->type->id == TYPE_STR && col->dict)
        return in->keep_codes ? flat_codes : NULL;
    if (col->type->id == TYPE_STR)
        return col->n && col->offsets[col->n] &&
                       !memchr(col->text, in->sep, (size_t)col->offsets[col->n])
                   ? flat_texts
                   : NULL;
    return is_plain(col, TYPE_I64) || is_plain(col, TYPE_I32) ? flat_numbers : NULL;
}

static way_fn *sequence_way(const struct fg_run *x, const struct column *col)
{
    const struct column *kid = col->type->id == TYPE_LIST ? &col->kids[0] : NULL;
    if (x->f->n_def != 1)
        return NULL;
    if (kid && (is_plain(kid, TYPE_I64) || is_plain(kid, TYPE_I32)))
        return list_numbers;
    if (x->f->keep != 1)
        return NULL;
    if (kid)
        return kid->type->id == TYPE_STR && kid->dict ? list_codes : NULL;
    return is_plain(col, TYPE_STR) && x->f->delim.n == 1 && col->n && col->offsets[col->n]
               ? text_steps
               : NULL;
}

enum rc feature_id_fast(struct fg_run *x, bool *done)
{
    const struct fg *f = x->f;
    const struct fg_input *in = &f->in[0];
    if (in->slot < 0 || f->weighted || f->sink != SINK_IDS || in->seq != f->sequence ||
        f->bucket.kind == BUCKET_BOUNDS || (x->mask && f->use_mask))
        return RC_OK;
    const struct column *col = fg_column(x, in);
    if (col->n != x->rows)
        return RC_OK;
    way_fn *way = in->seq ? sequence_way(x, col) : flat_way(x, col);
    *done = way != NULL;
    return way ? way(x, col) : RC_OK;
}
