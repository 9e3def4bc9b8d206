/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions `sub.path OP literal`. A field that is not set counts with its default; an
 * element whose oneof has another member than the path names never matches.
 */
#include <math.h>
#include <string.h>

#include "text/edit_private.h"
#include "text/normalise.h"
#include "text/yaml_scalar.h"

/* What the path of a condition leads to in one element. */
struct found {
    const struct node *value;      /* NULL when not set */
    const struct field_def *field; /* NULL when free */
    bool inactive;                 /* another member of a oneof is set */
};

static enum rc not_comparable(struct editor *ed, const struct edit_text *at,
                              const char *what)
{
    return edit_fail(ed, E0123, at, NULL, "'%.*s' is %s and cannot be compared",
                     (int)at->s.n, at->s.p, what);
}

static enum rc enter_field(struct editor *ed, const struct msg_def **def,
                           const struct edit_text *name, struct found *f)
{
    f->field = *def ? normalise_field(*def, ed->dialect, name->s) : NULL;
    if (*def && !f->field && !((*def)->flags & MSG_OPEN)) {
        const char *near = normalise_nearest(*def, name->s);
        return edit_fail(
            ed, E0121, name,
            near ? arena_printf(&ed->diags->arena, "did you mean '%s'?", near) : NULL,
            "%s has no field '%.*s'", (*def)->name, (int)name->s.n, name->s.p);
    }
    const char *key = f->field ? f->field->name
                               : arena_strndup(&ed->diags->arena, name->s.p, name->s.n);
    f->value = f->value ? node_find(f->value, key) : NULL;
    f->inactive |= f->field && f->field->oneof && !f->value;
    *def = f->field && f->field->type == FIELD_MSG ? f->field->msg : NULL;
    return RC_OK;
}

static enum rc follow(struct editor *ed, const struct edit_place *element,
                      const struct edit_step *s, struct found *out)
{
    const struct msg_def *def = element->def;
    struct str rest = s->path.s, part;
    bool typed = def != NULL;
    *out = (struct found){.value = place_get(ed, element)};
    while (str_split(&rest, '.', &part)) {
        struct edit_text name = edit_part(&s->path, part.p, part.n);
        name = edit_trim(&name);
        if (typed && out->field && !def && out->field->type != FIELD_ANY)
            return not_comparable(ed, &name, "below a single value");
        enum rc rc = enter_field(ed, &def, &name, out);
        if (rc)
            return rc;
        typed = typed && out->field;
        const struct field_def *f = out->field;
        if (f && (f->label == LABEL_REP || f->label == LABEL_DICT))
            return not_comparable(ed, &name, "a list");
        if (f && f->type == FIELD_MSG && !rest.p)
            return not_comparable(ed, &name, "a message");
    }
    return RC_OK;
}

/* A scalar of the field's type in comparable form. */
struct scalar {
    enum { IS_TEXT, IS_NUMBER, IS_INT } kind;
    struct str text;
    double number;
    uint64_t mag; /* IS_INT */
    bool neg;
};

static struct scalar of_text(struct str s)
{
    return (struct scalar){.kind = IS_TEXT, .text = s};
}

static struct scalar of_int(int64_t v)
{
    return (struct scalar){.kind = IS_INT,
                           .number = (double)v,
                           .mag = v < 0 ? 0 - (uint64_t)v : (uint64_t)v,
                           .neg = v < 0};
}

static bool bool_word(struct str s, bool *out)
{
    static const char *const yes[] = {"true", "True", "TRUE", "1", "t"};
    static const char *const no[] = {"false", "False", "FALSE", "0", "f"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_is(s, yes[i]) || str_is(s, no[i])) {
            *out = str_is(s, yes[i]);
            return true;
        }
    }
    return false;
}

static bool of_number(struct arena *a, struct str s, struct scalar *out)
{
    const struct node *n = yaml_scalar(a, s, (struct span){0});
    double v;
    if (!node_number(n, &v))
        return false;
    *out = (struct scalar){.kind = IS_NUMBER, .text = s, .number = v};
    if (n->kind == NODE_INT) {
        out->kind = IS_INT;
        out->mag = n->num.mag;
        out->neg = n->num.neg && n->num.mag;
    }
    return true;
}

/* `s` read as the field's type; false when it is none. */
static bool of_field(struct editor *ed, const struct field_def *f, struct str s,
                     struct scalar *out)
{
    const struct enum_value *v;
    int64_t number;
    bool flag;
    switch (f->type) {
    case FIELD_STR:
        *out = of_text(s);
        return true;
    case FIELD_BOOL:
        if (!bool_word(s, &flag))
            return false;
        *out = of_int(flag);
        return true;
    case FIELD_ENUM:
        v = schema_enum_word(f->enums, s);
        if (!v && str_to_i64(s, &number))
            v = schema_enum_number(f->enums, number);
        if (!v)
            return false;
        *out = of_int(v->number);
        return true;
    default:
        return of_number(&ed->diags->arena, s, out);
    }
}

static struct str default_of(const struct field_def *f)
{
    if (f->init)
        return str_c(f->init);
    if (f->type == FIELD_ENUM)
        return str_c(f->enums->values[0].name);
    return str_c(f->type == FIELD_STR ? "" : f->type == FIELD_BOOL ? "false" : "0");
}

static int sign(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Two int64 of any sign and uint64, exactly. */
static int compare_ints(const struct scalar *a, const struct scalar *b)
{
    if (a->neg != b->neg)
        return a->neg ? -1 : 1;
    int by_size = a->mag < b->mag ? -1 : a->mag > b->mag;
    return a->neg ? -by_size : by_size;
}

static int compare_text(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int by_bytes = n ? memcmp(a.p, b.p, n) : 0;
    return by_bytes ? by_bytes : sign((int64_t)a.n, (int64_t)b.n);
}

static bool holds(enum edit_cond_op op, int order)
{
    switch (op) {
    case COND_GE:
        return order >= 0;
    case COND_LE:
        return order <= 0;
    case COND_GT:
        return order > 0;
    case COND_LT:
        return order < 0;
    case COND_EQ:
        return order == 0;
    }
    return false;
}

static bool edit_cond_compare(const struct field_def *f, const struct scalar *a,
                              const struct scalar *b, enum edit_cond_op op)
{
    if (a->kind == IS_TEXT || b->kind == IS_TEXT)
        return holds(op, compare_text(a->text, b->text));
    if (a->kind == IS_INT && b->kind == IS_INT)
        return holds(op, compare_ints(a, b));
    double x = a->number, y = b->number;
    if (f && f->type == FIELD_FLOAT) {
        x = (double)(float)x;
        y = (double)(float)y;
    }
    if (isnan(x) || isnan(y))
        return false;
    return holds(op, x < y ? -1 : x > y);
}

static enum rc matches_field(struct editor *ed, const struct found *found,
                             const struct edit_step *s, bool *yes)
{
    struct scalar have, want;
    const struct field_def *f = found->field;
    struct str text = found->value ? found->value->text : default_of(f);
    if (!of_field(ed, f, s->want.s, &want))
        return edit_fail(ed, E0123, &s->want, NULL,
                         "'%.*s' cannot be compared with '%s', which is of type %s",
                         (int)s->want.s.n, s->want.s.p, f->name, schema_type_name(f));
    *yes = of_field(ed, f, text, &have) && edit_cond_compare(f, &have, &want, s->op);
    return RC_OK;
}

static bool matches_free(struct editor *ed, const struct node *value,
                         const struct edit_step *s)
{
    struct scalar have, want;
    bool x, y;
    if (!value || !node_is_scalar(value))
        return false;
    if (value->kind == NODE_BOOL && bool_word(value->text, &x) &&
        bool_word(s->want.s, &y)) {
        have = of_int(x);
        want = of_int(y);
    } else if (value->kind == NODE_STR ||
               !of_number(&ed->diags->arena, value->text, &have) ||
               !of_number(&ed->diags->arena, s->want.s, &want)) {
        have = of_text(value->text);
        want = of_text(s->want.s);
    }
    return edit_cond_compare(NULL, &have, &want, s->op);
}

enum rc edit_matches(struct editor *ed, const struct edit_place *element,
                     const struct edit_step *s, bool *yes)
{
    struct found found;
    *yes = false;
    if (element->shape == EDIT_SCALAR)
        return edit_fail(ed, E0123, &s->text, "use an index or a slice",
                         "the elements of '%s' are single values, which have no fields",
                         element->field->name);
    enum rc rc = follow(ed, element, s, &found);
    if (rc || found.inactive)
        return rc;
    if (found.field && found.field->type != FIELD_ANY && found.field->type != FIELD_UNION)
        return matches_field(ed, &found, s, yes);
    *yes = matches_free(ed, found.value, s);
    return RC_OK;
}

const char *edit_nearest(struct editor *ed, const struct edit_step *s,
                         const struct node *list)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < list->list.n && s->op == COND_EQ; i++) {
        const struct node *n = list->list.at[i];
        struct str rest = s->path.s, part;
        while (n && str_split(&rest, '.', &part)) {
            part = str_trim(part);
            n = node_find(n, arena_strndup(&ed->diags->arena, part.p, part.n));
        }
        if (n && n->kind == NODE_STR)
            VEC_PUSH(&names, n->text.p);
    }
    const char *near = str_nearest(s->want.s, names.at, names.n);
    VEC_RELEASE(&names);
    return near;
}
