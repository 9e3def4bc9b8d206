/* SPDX-License-Identifier: Apache-2.0 */
/* A column is cut up in one pass. Texts point into the column; numbers are copied. Each
 * value costs one test for room, nothing is allocated once the planes are large enough.
 * Integers without sign are integers unless one of the batch is beyond 2^63; then all are
 * the texts of their digits, which fall into the same buckets.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "feature/feature_private.h"
#include "feature/leaf.h"
#include "feature/number.h"
#include "feature/tidy.h"

static const size_t widths[] = {
    [CELL_TEXT] = sizeof(struct str), [CELL_I64] = sizeof(int64_t),
    [CELL_F32] = sizeof(float),       [CELL_F64] = sizeof(double),
    [CELL_CODE] = sizeof(uint32_t),
};

void cells_release(struct fg_cells *c)
{
    feature_mem_release(&c->val.mem);
    feature_mem_release(&c->key.mem);
    feature_mem_release(&c->val.digits);
    feature_mem_release(&c->key.digits);
    feature_mem_release(&c->row_mem);
    feature_mem_release(&c->step_mem);
    *c = (struct fg_cells){0};
}

/* What is being filled, and for whom. */
struct fill {
    struct fg_run *x;
    const struct fg_input *in;
    struct fg_cells *c;
    int64_t max_steps;
};

static enum rc more_values(struct fill *f)
{
    struct fg_cells *c = f->c;
    size_t want = (size_t)(c->cap ? c->cap * 2 : 256);
    if (!feature_mem_room(&c->val.mem, want, widths[c->val.type]) ||
        (f->in->form == FORM_PAIRS &&
         !feature_mem_room(&c->key.mem, want, widths[c->key.type])))
        return fg_nomem(f->x);
    c->cap = (int64_t)(c->val.mem.cap / widths[c->val.type]);
    if (f->in->form == FORM_PAIRS &&
        c->key.mem.cap / widths[c->key.type] < (size_t)c->cap)
        c->cap = (int64_t)(c->key.mem.cap / widths[c->key.type]);
    return RC_OK;
}

#define ROOM(f)                                   \
    do {                                          \
        if (UNLIKELY((f)->c->n == (f)->c->cap)) { \
            enum rc room_rc = more_values(f);     \
            if (room_rc)                          \
                return room_rc;                   \
        }                                         \
    } while (0)

static enum rc cells_begin(struct fill *f, int64_t rows, enum cell_type val,
                           enum cell_type key)
{
    struct fg_cells *c = f->c;
    c->rows = rows;
    c->one = rows == 1 && f->x->rows != 1;
    c->seq = f->in->seq;
    c->steps = c->n = 0;
    c->val.type = val;
    c->key.type = key;
    c->cap = 0;
    size_t steps = (size_t)rows + 1;
    if (!feature_mem_room(&c->step_mem, steps, sizeof(int64_t)) ||
        !feature_mem_room(&c->row_mem, c->seq ? steps : 1, sizeof(int64_t)))
        return fg_nomem(f->x);
    c->step_at = c->step_mem.p;
    c->row_at = c->row_mem.p;
    c->step_cap = (int64_t)(c->step_mem.cap / sizeof(int64_t)) - 1;
    c->step_at[0] = 0;
    c->row_at[0] = 0;
    c->cap = (int64_t)(c->val.mem.cap / widths[val]);
    if (f->in->form == FORM_PAIRS && c->key.mem.cap / widths[key] < (size_t)c->cap)
        c->cap = (int64_t)(c->key.mem.cap / widths[key]);
    return RC_OK;
}

static enum rc end_step(struct fill *f)
{
    struct fg_cells *c = f->c;
    if (UNLIKELY(c->steps == c->step_cap)) {
        if (!feature_mem_room(&c->step_mem, (size_t)c->step_cap * 2 + 2, sizeof(int64_t)))
            return fg_nomem(f->x);
        c->step_at = c->step_mem.p;
        c->step_cap = (int64_t)(c->step_mem.cap / sizeof(int64_t)) - 1;
    }
    c->step_at[++c->steps] = c->n;
    return RC_OK;
}

/* Ends the row; a sequence without a step gets an empty one. */
static enum rc end_row(struct fill *f, int64_t row)
{
    struct fg_cells *c = f->c;
    enum rc rc = RC_OK;
    if (!c->seq || c->steps == c->row_at[row])
        rc = end_step(f);
    if (c->seq)
        c->row_at[row + 1] = c->steps;
    return rc;
}

static bool full(const struct fill *f, int64_t row)
{
    return f->max_steps && f->c->steps - f->c->row_at[row] >= f->max_steps;
}

static enum rc put_text(struct fill *f, struct str s)
{
    ROOM(f);
    ((struct str *)f->c->val.mem.p)[f->c->n++] = s;
    return RC_OK;
}

static enum rc put_number(struct fill *f, double v)
{
    ROOM(f);
    if (f->c->val.type == CELL_F32)
        ((float *)f->c->val.mem.p)[f->c->n++] = (float)v;
    else
        ((double *)f->c->val.mem.p)[f->c->n++] = v;
    return RC_OK;
}

static enum rc put_parsed(struct fill *f, struct str s)
{
    double v;
    const struct pc_DataConfig *data = f->x->plan->data;
    if (!number_parse(s, &v) && !(data && data->tidy_text && tidy_seconds(s, &v)))
        return fg_fail(f->x, f->in, RC_FORMAT, E1303, "'%.*s' is not a number", SHOWN(s));
    return put_number(f, v);
}

static enum rc put_pair(struct fill *f, struct str s)
{
    char c = f->in->colon ? f->in->colon : ':';
    const char *colon = f->in->last_colon ? memrchr(s.p, c, s.n) : memchr(s.p, c, s.n);
    struct str key = s, val = str_of(NULL, 0);
    if (colon) {
        key.n = (size_t)(colon - s.p);
        val = str_of(colon + 1, s.n - key.n - 1);
    }
    ROOM(f);
    ((struct str *)f->c->key.mem.p)[f->c->n] = key;
    ((struct str *)f->c->val.mem.p)[f->c->n++] = val;
    return RC_OK;
}

static enum rc put_one(struct fill *f, struct str s)
{
    switch (f->in->form) {
    case FORM_NUMBER:
    case FORM_NUMBERS:
        return put_parsed(f, s);
    case FORM_PAIRS:
        return s.n ? put_pair(f, s) : RC_OK;
    default:
        return s.n ? put_text(f, s) : RC_OK;
    }
}

/* The values in the text of a row or step. */
static enum rc put_split(struct fill *f, struct str s)
{
    char sep = f->in->sep;
    if (f->in->form == FORM_WHOLE || f->in->form == FORM_NUMBER)
        return put_one(f, s);
    for (;;) {
        const char *end = memchr(s.p, sep, s.n);
        if (!end)
            return put_one(f, s);
        enum rc rc = put_one(f, str_of(s.p, (size_t)(end - s.p)));
        if (rc)
            return rc;
        s.n -= (size_t)(end + 1 - s.p);
        s.p = end + 1;
    }
}

static enum rc put_steps(struct fill *f, struct str s, int64_t row)
{
    struct str delim = f->x->f->delim;
    while (!full(f, row)) {
        const char *end = delim.n == 1 ? memchr(s.p, *delim.p, s.n)
                                       : memmem(s.p, s.n, delim.p, delim.n);
        size_t n = end ? (size_t)(end - s.p) : s.n;
        enum rc rc = n ? put_split(f, str_of(s.p, n)) : RC_OK;
        if (!rc)
            rc = end_step(f);
        if (rc || !end)
            return rc;
        s.n -= n + delim.n;
        s.p = end + delim.n;
    }
    return RC_OK;
}

static enum cell_type text_type(const struct fill *f, bool list)
{
    if (f->in->form != FORM_NUMBER && f->in->form != FORM_NUMBERS)
        return CELL_TEXT;
    return list && !f->in->wide && f->x->f->sink == SINK_NUMBERS ? CELL_F32 : CELL_F64;
}

static enum rc read_texts(struct fill *f, const struct column *col)
{
    enum rc rc = cells_begin(f, col->n, text_type(f, false), CELL_TEXT);
    for (int64_t r = 0; !rc && r < col->n; r++) {
        struct str s = column_str(col, r);
        f->x->row = r;
        if (s.n && !column_is_null(col, r) && !fg_masked(f->x, f->in, r))
            rc = f->in->seq ? put_steps(f, s, r) : put_split(f, s);
        if (!rc)
            rc = end_row(f, r);
    }
    return rc;
}

static enum rc read_codes(struct fill *f, const struct column *col)
{
    enum rc rc = cells_begin(f, col->n, CELL_CODE, CELL_TEXT);
    f->c->dict = col->dict;
    f->c->split = true;
    for (int64_t r = 0; !rc && r < col->n; r++) {
        if (!column_is_null(col, r) && !fg_masked(f->x, f->in, r)) {
            ROOM(f);
            ((uint32_t *)f->c->val.mem.p)[f->c->n++] = column_code(col, r);
        }
        rc = end_row(f, r);
    }
    return rc;
}

#define DIGITS 24 /* of an integer of 64 bits, and more */

static enum cell_type whole_type(const struct column *leaf)
{
    return leaf->type->id == TYPE_U64 && !leaf_fits(leaf) ? CELL_TEXT : CELL_I64;
}

/* Room for the digits of all values of a leaf, so that texts stay where they are. */
static enum rc digits_room(struct fill *f, struct fg_plane *p, const struct column *leaf)
{
    if (p->type == CELL_TEXT && leaf->type->id == TYPE_U64 &&
        !feature_mem_room(&p->digits, (size_t)leaf->n + 1, DIGITS))
        return fg_nomem(f->x);
    return RC_OK;
}

static struct str leaf_digits(struct fg_plane *p, const struct column *leaf, int64_t i)
{
    char *text = (char *)p->digits.p + i * DIGITS;
    int n = snprintf(text, DIGITS, "%" PRIu64, leaf_u64(leaf, i));
    return str_of(text, (size_t)n);
}

/* How numbers are kept that came as numbers. */
static enum cell_type number_type(const struct fill *f, const struct column *leaf)
{
    if (f->in->form == FORM_NUMBER || f->in->form == FORM_NUMBERS)
        return f->in->wide ? CELL_F64 : CELL_F32;
    if (f->in->form == FORM_PAIRS)
        return CELL_TEXT; /* keys without values */
    if (leaf_is_whole(leaf) || leaf->type->id == TYPE_U64)
        return whole_type(leaf);
    return leaf->type->id == TYPE_F32 ? CELL_F32 : CELL_F64;
}

static enum rc put_leaf(struct fill *f, const struct column *leaf, int64_t i)
{
    struct fg_cells *c = f->c;
    ROOM(f);
    if (f->in->form == FORM_PAIRS) {
        if (c->key.type == CELL_TEXT)
            ((struct str *)c->key.mem.p)[c->n] = leaf_digits(&c->key, leaf, i);
        else
            ((int64_t *)c->key.mem.p)[c->n] = leaf_i64(leaf, i);
        ((struct str *)c->val.mem.p)[c->n++] = str_of(NULL, 0);
        return RC_OK;
    }
    switch (c->val.type) {
    case CELL_TEXT:
        ((struct str *)c->val.mem.p)[c->n++] = leaf_digits(&c->val, leaf, i);
        return RC_OK;
    case CELL_I64:
        ((int64_t *)c->val.mem.p)[c->n++] = leaf_i64(leaf, i);
        return RC_OK;
    case CELL_CODE:
        ((uint32_t *)c->val.mem.p)[c->n++] = column_code(leaf, i);
        return RC_OK;
    default:
        return put_number(f, leaf_f64(leaf, i));
    }
}

static enum rc read_numbers(struct fill *f, const struct column *col)
{
    enum rc rc = cells_begin(f, col->n, number_type(f, col), whole_type(col));
    if (!rc)
        rc = digits_room(f, f->in->form == FORM_PAIRS ? &f->c->key : &f->c->val, col);
    for (int64_t r = 0; !rc && r < col->n; r++) {
        f->x->row = r;
        if (!column_is_null(col, r) && !fg_masked(f->x, f->in, r))
            rc = put_leaf(f, col, r);
        if (!rc)
            rc = end_row(f, r);
    }
    return rc;
}

/* Element i of a list: a value, or in a sequence the values of a step. */
static enum rc put_element(struct fill *f, const struct column *leaf, int64_t i,
                           bool split)
{
    if (column_is_null(leaf, i))
        return RC_OK;
    if (leaf->type->id != TYPE_STR || f->c->val.type == CELL_CODE)
        return put_leaf(f, leaf, i);
    struct str s = column_str(leaf, i);
    if (!s.n)
        return RC_OK;
    return split ? put_split(f, s) : put_one(f, s);
}

static enum rc read_list(struct fill *f, const struct column *col)
{
    const struct column *leaf = &col->kids[0];
    bool nested = leaf->type->id == TYPE_LIST, seq = f->in->seq;
    const struct column *inner = leaf;
    if (nested)
        leaf = &leaf->kids[0];
    bool text = leaf->type->id == TYPE_STR;
    bool codes = text && leaf->dict && f->in->keep_codes;
    enum rc rc = cells_begin(f, col->n,
                             codes  ? CELL_CODE
                             : text ? text_type(f, true)
                                    : number_type(f, leaf),
                             text ? CELL_TEXT : whole_type(leaf));
    if (!rc)
        rc = digits_room(f, f->in->form == FORM_PAIRS ? &f->c->key : &f->c->val, leaf);
    f->c->dict = codes ? leaf->dict : NULL;
    f->c->split = seq && !nested;
    for (int64_t r = 0; !rc && r < col->n; r++) {
        bool skip = column_is_null(col, r) || fg_masked(f->x, f->in, r);
        f->x->row = r;
        for (int64_t i = col->offsets[r]; !rc && !skip && i < col->offsets[r + 1]; i++) {
            if (seq && full(f, r))
                break;
            if (!nested)
                rc = put_element(f, leaf, i, seq);
            for (int64_t k = nested ? inner->offsets[i] : 0;
                 nested && !rc && k < inner->offsets[i + 1]; k++)
                rc = put_element(f, leaf, k, false);
            if (!rc && seq)
                rc = end_step(f);
        }
        if (!rc)
            rc = end_row(f, r);
    }
    return rc;
}

static enum cell_type leaf_type(const struct column *c)
{
    return c->type->id == TYPE_STR   ? CELL_TEXT
           : leaf_is_whole(c)        ? CELL_I64
           : c->type->id == TYPE_U64 ? whole_type(c)
           : c->type->id == TYPE_F32 ? CELL_F32
                                     : CELL_F64;
}

static void put_plane(struct fg_plane *p, int64_t at, const struct column *leaf,
                      int64_t i)
{
    switch (p->type) {
    case CELL_TEXT:
        ((struct str *)p->mem.p)[at] =
            leaf->type->id == TYPE_U64 ? leaf_digits(p, leaf, i) : column_str(leaf, i);
        break;
    case CELL_I64:
        ((int64_t *)p->mem.p)[at] = leaf_i64(leaf, i);
        break;
    case CELL_F32:
        ((float *)p->mem.p)[at] = (float)leaf_f64(leaf, i);
        break;
    default:
        ((double *)p->mem.p)[at] = leaf_f64(leaf, i);
        break;
    }
}

/* A null value is kept as an empty one where it can be: among texts. */
static enum rc read_map(struct fill *f, const struct column *col)
{
    const struct column *key = &col->kids[0], *val = &col->kids[1];
    enum rc rc = cells_begin(f, col->n, leaf_type(val), leaf_type(key));
    if (!rc)
        rc = digits_room(f, &f->c->val, val);
    if (!rc)
        rc = digits_room(f, &f->c->key, key);
    for (int64_t r = 0; !rc && r < col->n; r++) {
        bool skip = column_is_null(col, r);
        f->x->row = r;
        for (int64_t i = col->offsets[r]; !skip && i < col->offsets[r + 1]; i++) {
            if (column_is_null(val, i))
                continue;
            ROOM(f);
            put_plane(&f->c->key, f->c->n, key, i);
            put_plane(&f->c->val, f->c->n++, val, i);
        }
        rc = end_row(f, r);
    }
    return rc;
}

/* Is a leaf of this type something to read? */
static bool is_readable(const struct type *t)
{
    bool id = t->id == TYPE_BOOL || t->id == TYPE_I32 || t->id == TYPE_I64 ||
              t->id == TYPE_U32 || t->id == TYPE_U64 || t->id == TYPE_F32 ||
              t->id == TYPE_F64 || t->id == TYPE_STR;
    return id && (t->logical == LOGICAL_NONE || t->logical == LOGICAL_BINARY ||
                  t->logical == LOGICAL_DECIMAL || t->logical == LOGICAL_FLOAT16 ||
                  leaf_is_time(t));
}

static bool is_float(const struct type *t)
{
    return t->id == TYPE_F32 || t->id == TYPE_F64;
}

bool cells_accept(const struct fg_input *in, const struct type *t)
{
    if (t->id == TYPE_MAP)
        return in->form == FORM_PAIRS && !in->seq && is_readable(&t->kids[0].type) &&
               !is_float(&t->kids[0].type) && is_readable(&t->kids[1].type);
    if (t->id == TYPE_LIST)
        t = &t->kids[0].type;
    if (t->id == TYPE_LIST)
        t = &t->kids[0].type;
    return is_readable(t) && !(in->form == FORM_PAIRS && is_float(t)) &&
           !(in->form == FORM_WHOLE && t->id != TYPE_STR && is_float(t));
}

static enum rc cells_refuse(struct fg_run *x, const struct fg_input *in,
                            const struct type *t)
{
    struct buf name;
    buf_init(&name, 256);
    type_print(t, &name);
    x->row = -1;
    enum rc rc =
        fg_fail(x, in, RC_INVAL, E1302, "type %s cannot be read here", buf_str(&name));
    buf_release(&name);
    return rc;
}

enum rc cells_read(struct fg_run *x, const struct fg_input *in, struct fg_cells *c)
{
    const struct column *col = fg_column(x, in);
    struct fill f = {
        .x = x, .in = in, .c = c, .max_steps = in->seq ? x->f->max_steps : 0};
    if (!cells_accept(in, col->type))
        return cells_refuse(x, in, col->type);
    switch (col->type->id) {
    case TYPE_STR:
        return col->dict && in->keep_codes && !in->seq ? read_codes(&f, col)
                                                       : read_texts(&f, col);
    case TYPE_LIST:
        return read_list(&f, col);
    case TYPE_MAP:
        return read_map(&f, col);
    default:
        return read_numbers(&f, col);
    }
}

enum rc cells_of_const(struct fg_run *x, const struct fg_input *in, struct fg_cells *c)
{
    struct fill f = {.x = x, .in = in, .c = c};
    enum rc rc = cells_begin(&f, 1, text_type(&f, false), CELL_TEXT);
    c->one = true;
    x->row = 0;
    if (!rc && in->literal.n)
        rc = put_split(&f, in->literal);
    return rc ? rc : end_row(&f, 0);
}

struct str plane_text(const struct fg_plane *p, const struct dict *dict, int64_t i,
                      struct cell_buf *buf)
{
    switch (p->type) {
    case CELL_TEXT:
        return ((const struct str *)p->mem.p)[i];
    case CELL_I64:
        return str_of(buf->text,
                      bucket_digits(((const int64_t *)p->mem.p)[i], buf->text));
    case CELL_F32:
        str_from_f32(((const float *)p->mem.p)[i], buf->text);
        return str_c(buf->text);
    case CELL_F64:
        str_from_f64(((const double *)p->mem.p)[i], buf->text);
        return str_c(buf->text);
    case CELL_CODE:
        return column_str(&dict->values, ((const uint32_t *)p->mem.p)[i]);
    }
    return str_of(NULL, 0);
}

bool plane_number(const struct fg_plane *p, int64_t i, double *out)
{
    switch (p->type) {
    case CELL_TEXT:
        return number_parse(((const struct str *)p->mem.p)[i], out);
    case CELL_I64:
        *out = (double)((const int64_t *)p->mem.p)[i];
        return true;
    case CELL_F32:
        *out = (double)((const float *)p->mem.p)[i];
        return true;
    case CELL_F64:
        *out = ((const double *)p->mem.p)[i];
        return true;
    case CELL_CODE:
        break;
    }
    return false;
}
