/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sampler/attr.h"

#include <string.h>

static bool is_plain(const struct type *t)
{
    return t->id == TYPE_I32 || t->id == TYPE_I64 || t->id == TYPE_F32 ||
           t->id == TYPE_F64 || t->id == TYPE_STR;
}

bool attr_accepts(const struct type *t)
{
    if (t->id != TYPE_LIST && t->id != TYPE_MAP)
        return is_plain(t);
    for (size_t i = 0; i < t->n_kids; i++)
        if (!is_plain(&t->kids[i].type))
            return false;
    return true;
}

static enum rc not_a(struct str s, const char *what, struct err *err)
{
    return err_set(err, RC_FORMAT, "'%.*s' is not %s", (int)(s.n < 60 ? s.n : 60), s.p,
                   what);
}

static enum rc add_plain(struct column *c, struct str s, struct err *err)
{
    int64_t whole;
    double real;
    switch (c->type->id) {
    case TYPE_STR:
        return column_add_str(c, s, err);
    case TYPE_I32:
        if (!str_to_i64(s, &whole) || whole < INT32_MIN || whole > INT32_MAX)
            return not_a(s, "a 32-bit integer", err);
        return column_add_i32(c, (int32_t)whole, err);
    case TYPE_I64:
        return str_to_i64(s, &whole) ? column_add_i64(c, whole, err)
                                     : not_a(s, "an integer", err);
    default:
        if (!str_to_f64(s, &real))
            return not_a(s, "a number", err);
        return c->type->id == TYPE_F32 ? column_add_f32(c, (float)real, err)
                                       : column_add_f64(c, real, err);
    }
}

static enum rc add_entry(struct column *c, struct str s, struct err *err)
{
    const char *colon = s.n ? memchr(s.p, ':', s.n) : NULL;
    if (!colon)
        return not_a(s, "key:value", err);
    size_t n = (size_t)(colon - s.p);
    enum rc rc = add_plain(&c->kids[0], str_of(s.p, n), err);
    return rc ? rc : add_plain(&c->kids[1], str_of(colon + 1, s.n - n - 1), err);
}

enum rc attr_add(struct column *c, struct str text, struct err *err)
{
    struct str part;
    enum rc rc = RC_OK;
    if (text.n == 0 && c->type->id != TYPE_STR)
        return column_add_null(c, err);
    if (is_plain(c->type))
        return add_plain(c, text, err);
    while (!rc && str_split(&text, ATTR_LIST_SEP, &part))
        rc = c->type->id == TYPE_MAP ? add_entry(c, part, err)
                                     : add_plain(&c->kids[0], part, err);
    return rc ? rc : column_add_nested(c, err);
}
