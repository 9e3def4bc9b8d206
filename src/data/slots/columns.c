/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a slot file as a text: name=kind(slot,..), separated by blanks. Each slot
 * that a column names is added to the set once; columns hold its number in that set, so that a
 * line is taken apart by slots and then put together by columns. Names of columns are unique.
 */
#include <string.h>

#include "base/mem.h"
#include "data/slots/slots_private.h"

void slots_set_release(struct slots_set *s)
{
    for (size_t i = 0; i < s->list.n; i++)
        mem_free(s->list.at[i].at);
    VEC_RELEASE(&s->list);
    VEC_RELEASE(&s->usual);
    map_release(&s->by_name);
    arena_release(&s->mem);
}

int slots_set_find(const struct slots_set *s, struct str name)
{
    const struct map_entry *e = map_find(&s->by_name, name);
    return e ? (int)((uintptr_t)e->value - 1) : -1;
}

int slots_set_add(struct slots_set *s, struct str name)
{
    struct map_entry *e = map_put(&s->by_name, name);
    if (!e->value) {
        VEC_PUSH(&s->list,
                 ((struct slots_slot){.name = arena_strndup(&s->mem, name.p, name.n)}));
        e->value = (void *)(uintptr_t)s->list.n;
    }
    return (int)((uintptr_t)e->value - 1);
}

bool slots_slot_add(struct slots_slot *s, struct str value)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 8;
        struct str *at = mem_try_realloc(s->at, cap, sizeof(*at));
        if (!at)
            return false;
        s->at = at;
        s->cap = cap;
    }
    s->at[s->n++] = value;
    return true;
}

void slots_columns_release(struct slots_columns *c)
{
    VEC_RELEASE(&c->list);
    arena_release(&c->mem);
}

static const struct {
    const char *name;
    enum slots_kind kind;
} kinds[] = {{"id", SLOTS_ID},         {"ids", SLOTS_IDS},   {"float", SLOTS_FLOAT},
             {"floats", SLOTS_FLOATS}, {"pair", SLOTS_PAIR}, {"value", SLOTS_VALUE},
             {"head", SLOTS_HEAD},     {"tail", SLOTS_TAIL}, {"last", SLOTS_LAST},
             {"other", SLOTS_OTHER},   {"text", SLOTS_TEXT}};

bool slots_kind_is_list(enum slots_kind kind)
{
    return kind == SLOTS_IDS || kind == SLOTS_FLOATS || kind == SLOTS_HEAD ||
           kind == SLOTS_TAIL || kind == SLOTS_TEXT;
}

bool slots_kind_is_whole(enum slots_kind kind)
{
    return kind != SLOTS_FLOAT && kind != SLOTS_FLOATS;
}

static enum rc refuse(struct str part, const char *why, struct err *err)
{
    return err_coded(err, RC_INVAL, E1164, "column '%.*s' of a slot file: %s",
                     (int)(part.n > 80 ? 80 : part.n), part.p, why);
}

/* Those whose arguments say all values of a slot, or how many of them, or which. */
static enum rc read_list(struct str whole, const struct str *args, size_t n,
                         struct slots_column *c, struct err *err)
{
    if (n > 1 && (!str_to_i64(args[1], &c->n) || c->n < 1 || c->n > SLOTS_WIDTH_MAX))
        return refuse(whole, "the second argument is a number of values", err);
    if (n > 2 && (!str_to_i64(args[2], &c->part) || c->part < 0 ||
                  c->part > SLOTS_WIDTH_MAX / c->n))
        return refuse(whole, "the third argument is which share of that many values",
                      err);
    c->part += n > 2;
    return RC_OK;
}

static enum rc read_place(struct str whole, const struct str *args, size_t n,
                          struct slots_column *c, struct slots_set *slots,
                          struct err *err)
{
    c->at = -1;
    if (n > 1 && (!str_to_i64(args[1], &c->at) || c->at < 0 || c->at > SLOTS_WIDTH_MAX))
        return refuse(whole, "the second argument is a place", err);
    if (c->kind == SLOTS_PAIR ? n == 1 : n == 3)
        return refuse(whole,
                      c->kind == SLOTS_PAIR ? "pair takes a slot, a place, perhaps a slot"
                                            : "takes a slot, perhaps a number",
                      err);
    c->weight = n == 3 ? slots_set_add(slots, args[2]) : -1;
    return RC_OK;
}

/* What stands between the parentheses. */
static enum rc read_arguments(struct str text, struct str whole, struct slots_column *c,
                              struct slots_set *slots, struct err *err)
{
    struct str part, args[3] = {{0}};
    size_t n = 0;
    while (str_split(&text, ',', &part)) {
        if (n == ARRAY_LEN(args) || part.n == 0)
            return refuse(whole, "a slot, a number and for pair another slot", err);
        args[n++] = part;
    }
    if (n == 0)
        return refuse(whole, "the slot is missing", err);
    c->slot = -1;
    if (c->kind == SLOTS_VALUE)
        return n == 1 && str_to_i64(args[0], &c->at)
                   ? RC_OK
                   : refuse(whole, "value takes a whole number", err);
    c->slot = slots_set_add(slots, args[0]);
    switch (c->kind) {
    case SLOTS_IDS:
    case SLOTS_FLOATS:
        return read_list(whole, args, n, c, err);
    case SLOTS_TEXT:
        return n == 2 ? read_list(whole, args, n, c, err)
                      : refuse(whole, "text takes a slot and a number of values", err);
    case SLOTS_HEAD:
    case SLOTS_TAIL:
    case SLOTS_LAST:
    case SLOTS_OTHER:
        return n == 1 ? RC_OK : refuse(whole, "takes a slot alone", err);
    default:
        return read_place(whole, args, n, c, slots, err);
    }
}

static enum rc read_column(struct str part, struct slots_columns *out,
                           struct slots_set *slots, struct err *err)
{
    const char *equals = memchr(part.p, '=', part.n);
    const char *open =
        equals ? memchr(equals, '(', part.n - (size_t)(equals - part.p)) : NULL;
    if (!open || equals == part.p || part.p[part.n - 1] != ')')
        return refuse(part, "is written name=kind(slot)", err);
    struct str kind = str_of(equals + 1, (size_t)(open - equals - 1));
    struct slots_column c = {0};
    size_t i = 0;
    while (i < ARRAY_LEN(kinds) && !str_is(kind, kinds[i].name))
        i++;
    if (i == ARRAY_LEN(kinds))
        return refuse(
            part,
            "the kind is id, ids, float, floats, pair, value, head, tail, last, other "
            "or text",
            err);
    c.kind = kinds[i].kind;
    c.name = arena_strndup(&out->mem, part.p, (size_t)(equals - part.p));
    struct str inside = str_of(open + 1, part.n - (size_t)(open - part.p) - 2);
    enum rc rc = read_arguments(inside, part, &c, slots, err);
    if (!rc)
        VEC_PUSH(&out->list, c);
    return rc;
}

enum rc slots_columns_parse(const char *text, struct slots_columns *out,
                            struct slots_set *slots, struct err *err)
{
    struct str rest = str_c(text), part;
    struct map names = {0};
    enum rc rc = RC_OK;
    while (!rc && str_split(&rest, ' ', &part)) {
        if (part.n == 0)
            continue;
        if (out->list.n == SLOTS_COLUMNS_MAX) {
            rc = refuse(part, "there are too many columns", err);
            break;
        }
        rc = read_column(part, out, slots, err);
        struct map_entry *e =
            rc ? NULL : map_put(&names, str_c(out->list.at[out->list.n - 1].name));
        if (e && e->value)
            rc = refuse(part, "another column has this name", err);
        else if (e)
            e->value = out;
    }
    map_release(&names);
    if (!rc && out->list.n == 0)
        rc = err_coded(err, RC_INVAL, E1164, "a slot file without columns");
    return rc;
}

struct type slots_column_type(const struct slots_column *c, struct arena *mem)
{
    struct type i64 = type_of(TYPE_I64, false), f32 = type_of(TYPE_F32, false);
    struct type one = slots_kind_is_whole(c->kind) ? i64 : f32;
    if (c->kind == SLOTS_PAIR)
        return type_map(mem, i64, f32, false);
    return slots_kind_is_list(c->kind) ? type_list(mem, one, false) : one;
}

enum rc slots_columns_check(const char *format, const char *columns, struct err *err)
{
    struct slots_columns c = {0};
    struct slots_set slots = {0};
    enum rc rc = slots_format_find(format)
                     ? slots_columns_parse(columns, &c, &slots, err)
                     : err_coded(err, RC_INVAL, E1164,
                                 "'%.40s' is not a line format; there are %s", format,
                                 slots_formats());
    slots_columns_release(&c);
    slots_set_release(&slots);
    return rc;
}
