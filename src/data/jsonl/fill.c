/* SPDX-License-Identifier: Apache-2.0 */
/* A value goes straight from its text into its column, without a tree between. Keys are
 * looked for where the previous row had them: behind the column that came last.
 */
#include <math.h>

#include "data/csv/num.h"
#include "data/jsonl/jsonl_private.h"

static bool put_value(struct jsonl_tokens *j, struct column *c, int depth);

/* Adding fails only for want of memory, or past the limits of a column. */
static bool added(struct jsonl_tokens *j, enum rc rc)
{
    if (rc == RC_OK)
        return true;
    return jsonl_token_fault(j, j->p, rc == RC_NOMEM ? E0001 : E1090,
                             rc == RC_NOMEM ? "out of memory"
                                            : "too much data in one batch");
}

static bool number_fault(struct jsonl_tokens *j, const struct str *s, enum num r)
{
    const unsigned char *at = (const unsigned char *)s->p;
    if (r == NUM_RANGE)
        return jsonl_token_fault(j, at, E1155, "the number does not fit type");
    return jsonl_token_fault(j, at, E1152, "expected type");
}

/* 1.0 and 1e3 are whole numbers too. */
static enum num whole_number(struct str s, int64_t *out)
{
    double d;
    enum num r = num_i64(s.p, s.n, out);
    if (r != NUM_BAD)
        return r;
    r = num_f64(s.p, s.n, &d);
    if (r != NUM_OK)
        return r;
    if (!(fabs(d) <= 0x1p53) || d != floor(d))
        return NUM_BAD;
    *out = (int64_t)d;
    return NUM_OK;
}

static bool put_number(struct jsonl_tokens *j, struct column *c, struct str s)
{
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    float f = 0;
    enum num r;
    switch (c->type->id) {
    case TYPE_I32:
    case TYPE_U32:
        r = whole_number(s, &i);
        if (r == NUM_OK && (c->type->id == TYPE_I32 ? i != (int32_t)i : i != (uint32_t)i))
            r = NUM_RANGE;
        if (r != NUM_OK)
            return number_fault(j, &s, r);
        return added(j, c->type->id == TYPE_I32 ? column_add_i32(c, (int32_t)i, NULL)
                                                : column_add_u32(c, (uint32_t)i, NULL));
    case TYPE_I64:
        r = whole_number(s, &i);
        return r == NUM_OK ? added(j, column_add_i64(c, i, NULL))
                           : number_fault(j, &s, r);
    case TYPE_U64:
        if (!str_to_u64(s, &u))
            return number_fault(j, &s, NUM_RANGE);
        return added(j, column_add_u64(c, u, NULL));
    case TYPE_F32:
        r = num_f32(s.p, s.n, &f);
        return r == NUM_OK ? added(j, column_add_f32(c, f, NULL))
                           : number_fault(j, &s, r);
    case TYPE_F64:
        if (UNLIKELY(j->exact_now && csv_is_large_number(s)))
            return jsonl_token_fault(j, (const unsigned char *)s.p, E1119,
                                     "would be another number as type");
        r = num_f64(s.p, s.n, &d);
        return r == NUM_OK ? added(j, column_add_f64(c, d, NULL))
                           : number_fault(j, &s, r);
    case TYPE_STR: /* ids are written with and without quotes */
        return added(j, column_add_str(c, s, NULL));
    default:
        return number_fault(j, &s, NUM_BAD);
    }
}

static bool put_string(struct jsonl_tokens *j, struct column *c)
{
    const unsigned char *at = j->p;
    struct str s;
    if (!jsonl_token_string(j, &s))
        return false;
    if (c->type->id == TYPE_STR)
        return added(j, column_add_str(c, s, NULL));
    if ((c->type->id == TYPE_F32 || c->type->id == TYPE_F64) &&
        jsonl_token_is_number_word(s))
        return put_number(j, c, s);
    return jsonl_token_fault(j, at, E1152, "expected type");
}

/* In a column of numbers 1 or 0, as those that init makes of booleans. */
static bool put_bool(struct jsonl_tokens *j, struct column *c, bool v)
{
    const unsigned char *at = j->p;
    if (!jsonl_token_word(j, v ? "true" : "false"))
        return false;
    if (c->type->id == TYPE_BOOL)
        return added(j, column_add_bool(c, v, NULL));
    if (c->type->id == TYPE_STR)
        return added(j, column_add_str(c, str_c(v ? "true" : "false"), NULL));
    if (type_is_nested(c->type->id))
        return jsonl_token_fault(j, at, E1152, "expected type");
    if (put_number(j, c, str_c(v ? "1" : "0")))
        return true;
    j->fault = at; /* not in the digit, which lies elsewhere */
    return false;
}

static bool put_list(struct jsonl_tokens *j, struct column *c, int depth)
{
    bool first = true;
    if (c->type->id != TYPE_LIST)
        return jsonl_token_fault(j, j->p, E1152, "expected type");
    j->p++;
    while (jsonl_token_more(j, ']', &first))
        if (!put_value(j, &c->kids[0], depth - 1))
            return false;
    return !j->fault && added(j, column_add_nested(c, NULL));
}

static bool take_key(struct jsonl_tokens *j, struct str *key)
{
    if (jsonl_token_peek(j) != '"')
        return jsonl_token_fault(j, j->p, E1150, "expected a key in quotes");
    return jsonl_token_string(j, key);
}

static bool put_map_key(struct jsonl_tokens *j, struct column *keys)
{
    const unsigned char *at;
    struct str s;
    if (jsonl_token_peek(j) != '"')
        return jsonl_token_fault(j, j->p, E1150, "expected a key in quotes");
    at = j->p;
    if (keys->type->id == TYPE_STR)
        return put_string(j, keys);
    if (!jsonl_token_string(j, &s))
        return false;
    if (put_number(j, keys, s))
        return true;
    j->fault = at; /* the digits may lie in the room of the string */
    return false;
}

static bool put_map(struct jsonl_tokens *j, struct column *c, int depth)
{
    bool first = true;
    j->p++;
    while (jsonl_token_more(j, '}', &first))
        if (!put_map_key(j, &c->kids[0]) || !jsonl_token_take(j, ':', "expected ':'") ||
            !put_value(j, &c->kids[1], depth - 1))
            return false;
    return !j->fault && added(j, column_add_nested(c, NULL));
}

static size_t kid_find(const struct type *t, struct str name)
{
    size_t k = 0;
    while (k < t->n_kids && !str_is(name, t->kids[k].name))
        k++;
    return k;
}

/* Null for every column that the object did not name. */
static bool fill_missing(struct jsonl_tokens *j, struct column *cols, size_t n,
                         int64_t row)
{
    for (size_t k = 0; k < n; k++)
        if (cols[k].n == row && !added(j, column_add_null(&cols[k], NULL)))
            return false;
    return true;
}

static bool put_struct(struct jsonl_tokens *j, struct column *c, int depth)
{
    bool first = true;
    struct str key;
    j->p++;
    while (jsonl_token_more(j, '}', &first)) {
        const unsigned char *at = (jsonl_token_peek(j), j->p);
        if (!take_key(j, &key))
            return false;
        size_t k = kid_find(c->type, key);
        if (k < c->type->n_kids && c->kids[k].n > c->n)
            return jsonl_token_fault(j, at, E1157, "the key is given twice");
        if (!jsonl_token_take(j, ':', "expected ':'"))
            return false;
        if (!(k < c->type->n_kids ? put_value(j, &c->kids[k], depth - 1)
                                  : jsonl_token_skip(j, depth - 1)))
            return false;
    }
    return !j->fault && fill_missing(j, c->kids, c->type->n_kids, c->n) &&
           added(j, column_add_nested(c, NULL));
}

static bool put_object(struct jsonl_tokens *j, struct column *c, int depth)
{
    if (c->type->id == TYPE_MAP)
        return put_map(j, c, depth);
    if (c->type->id == TYPE_STRUCT)
        return put_struct(j, c, depth);
    return jsonl_token_fault(j, j->p, E1152, "expected type");
}

static bool put_value(struct jsonl_tokens *j, struct column *c, int depth)
{
    struct str s;
    if (depth <= 0)
        return jsonl_token_fault(j, j->p, E1154, "nested too deeply");
    switch (jsonl_token_peek(j)) {
    case '"':
        return put_string(j, c);
    case '[':
        return put_list(j, c, depth);
    case '{':
        return put_object(j, c, depth);
    case 't':
        return put_bool(j, c, true);
    case 'f':
        return put_bool(j, c, false);
    case 'n':
        return jsonl_token_word(j, "null") && added(j, column_add_null(c, NULL));
    default:
        return jsonl_token_number(j, &s) && put_number(j, c, s);
    }
}

static size_t column_of(const struct map *by_name, const struct batch *b, struct str key,
                        size_t expected)
{
    if (expected < b->n_cols && str_is(key, b->schema->at[expected].name))
        return expected;
    struct map_entry *e = map_find(by_name, key);
    return e ? (size_t)(uintptr_t)e->value - 1 : SIZE_MAX;
}

bool jsonl_object(struct jsonl_tokens *j, const struct map *by_name, struct batch *b,
                  int64_t row, uint8_t *given, const char **name)
{
    bool first = true;
    size_t expected = 0;
    struct str key;
    *name = "";
    if (jsonl_token_peek(j) != '{')
        return jsonl_token_fault(j, j->p, E1151, "expected an object");
    j->p++;
    while (jsonl_token_more(j, '}', &first)) {
        const unsigned char *at = (jsonl_token_peek(j), j->p);
        *name = "";
        if (!take_key(j, &key))
            return false;
        size_t k = column_of(by_name, b, key, expected);
        if (k == SIZE_MAX && j->all_keys)
            return jsonl_token_fault(j, at, E1156,
                                     "a key that the rows before it do not have");
        if (k == SIZE_MAX) {
            if (!jsonl_token_take(j, ':', "expected ':'") ||
                !jsonl_token_skip(j, JSONL_DEPTH))
                return false;
            continue;
        }
        expected = k + 1;
        j->exact_now = j->exact && j->exact[k];
        *name = b->schema->at[k].name;
        if (b->cols[k].n > row)
            return jsonl_token_fault(j, at, E1157, "the key is given twice");
        if (!jsonl_token_take(j, ':', "expected ':'") ||
            !put_value(j, &b->cols[k], JSONL_DEPTH))
            return false;
        if (given)
            given[k] = 1;
    }
    *name = "";
    return !j->fault && fill_missing(j, b->cols, b->n_cols, row);
}

bool jsonl_fill(struct jsonl_tokens *j, const struct map *by_name, struct batch *b,
                int64_t row, const char **name)
{
    if (!jsonl_object(j, by_name, b, row, NULL, name))
        return false;
    if (jsonl_token_peek(j) != '\n')
        return jsonl_token_fault(j, j->p, E1150, "expected the end of the line");
    return true;
}

void jsonl_names(const struct data_schema *s, struct map *by_name)
{
    for (size_t k = 0; k < s->n; k++)
        map_put(by_name, str_c(s->at[k].name))->value = (void *)(uintptr_t)(k + 1);
}

void jsonl_truncate(struct column *c, int64_t n)
{
    if (c->valid) {
        uint8_t *bits = c->own_valid.p;
        for (int64_t i = n; i < c->n; i++) {
            c->n_null -= column_is_null(c, i);
            bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
        }
    }
    c->n = n < c->n ? n : c->n;
    for (size_t k = 0; k < c->type->n_kids; k++)
        jsonl_truncate(&c->kids[k], c->type->id == TYPE_STRUCT ? c->n
                                    : c->offsets               ? c->offsets[c->n]
                                                               : 0);
}
