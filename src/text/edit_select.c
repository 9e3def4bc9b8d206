/* SPDX-License-Identifier: Apache-2.0 */
/* Each step turns the places found so far into the next ones. Messages that are missing
 * on the way are made at once; the undo log takes them back when a later step fails.
 */
#include <string.h>

#include "text/edit_private.h"
#include "text/normalise.h"

static struct arena *arena_of(struct editor *ed)
{
    return &ed->c->arena;
}

static bool is_many(const struct field_def *f)
{
    return f->label == LABEL_REP || (f->flags & FIELD_MANY);
}

static bool is_set(const struct node *n)
{
    return n && n->kind != NODE_NULL;
}

struct node *place_get(const struct editor *ed, const struct edit_place *p)
{
    if (!p->parent)
        return ed->c->doc.root;
    if (p->key)
        return node_find(p->parent, p->key);
    return p->index < p->parent->list.n ? p->parent->list.at[p->index] : NULL;
}

/* Of a oneof only one member can be set. */
static void drop_rivals(struct editor *ed, const struct edit_place *p)
{
    if (!p->owner || !p->field || !p->field->oneof)
        return;
    for (const struct field_def *f = p->owner->fields(); f->name; f++) {
        if (f == p->field || !f->oneof || strcmp(f->oneof, p->field->oneof) != 0)
            continue;
        if (node_remove(p->parent, f->name))
            diag_add(ed->diags, DIAG_NOTE, E0206, p->at.at, "'%s' replaces '%s'",
                     p->field->name, f->name);
    }
}

void place_set(struct editor *ed, const struct edit_place *p, struct node *value)
{
    edit_touch(ed, p->parent);
    if (!p->key) {
        if (p->index < p->parent->list.n)
            p->parent->list.at[p->index] = value;
        else
            node_push(arena_of(ed), p->parent, value);
        return;
    }
    drop_rivals(ed, p);
    node_put(arena_of(ed), p->parent, p->key, value);
    node_entry_find(p->parent, p->key)->key_at = p->at.at;
}

static struct node *ensure(struct editor *ed, const struct edit_place *p,
                           enum node_kind kind)
{
    struct node *n = place_get(ed, p);
    if (is_set(n))
        return n;
    n = node_create(arena_of(ed), kind, p->at.at);
    place_set(ed, p, n);
    return n;
}

/* The message of a union is told by the tag of the node that is there. */
static const struct msg_def *union_def(const struct editor *ed,
                                       const struct edit_place *p)
{
    const struct node *n = place_get(ed, p);
    const struct node *tag = n ? node_find(n, p->field->tag) : NULL;
    return tag && node_is_scalar(tag) ? normalise_variant(p->field, tag->text) : NULL;
}

/* Fills in what the place holds by its field; `element`: it is one of a list. */
static void edit_select_settle(const struct editor *ed, struct edit_place *p,
                               bool element)
{
    const struct field_def *f = p->field;
    p->shape = EDIT_FREE;
    p->def = NULL;
    if (!f)
        return;
    if (f->label == LABEL_DICT) {
        p->shape = element ? EDIT_SCALAR : EDIT_DICT;
    } else if (is_many(f) && !element) {
        p->shape = EDIT_LIST;
    } else if (f->type == FIELD_MSG) {
        p->shape = EDIT_MSG;
        p->def = f->msg;
    } else if (f->type == FIELD_UNION) {
        p->def = union_def(ed, p);
        p->shape = p->def ? EDIT_MSG : EDIT_FREE;
    } else if (f->type != FIELD_ANY) {
        p->shape = EDIT_SCALAR;
    }
}

static enum rc unknown_field(struct editor *ed, const struct msg_def *def,
                             const struct edit_text *name)
{
    const char *near = normalise_nearest(def, name->s);
    const char *hint =
        near ? arena_printf(&ed->diags->arena, "did you mean '%s'?", near)
             : arena_printf(&ed->diags->arena, "`trainyard explain %s` lists its fields",
                            def->name);
    return edit_fail(ed, E0121, name, hint, "%s has no field '%.*s'", def->name,
                     (int)name->s.n, name->s.p);
}

/* Finds the field `name` of a message; *out is NULL where free keys are allowed. */
static enum rc find_field(struct editor *ed, const struct msg_def *def,
                          const struct edit_text *name, const struct field_def **out)
{
    *out = def ? normalise_field(def, ed->dialect, name->s) : NULL;
    if (def && !*out && !(def->flags & MSG_OPEN))
        return unknown_field(ed, def, name);
    return RC_OK;
}

static const char *name_of(const struct edit_place *p)
{
    return p->field ? p->field->name : p->key ? p->key : "it";
}

/* May a name follow? */
static enum rc check_passable(struct editor *ed, const struct edit_place *p,
                              const struct edit_text *at)
{
    const struct node *n = place_get(ed, p);
    bool list = p->shape == EDIT_LIST ||
                (p->shape == EDIT_FREE && is_set(n) && n->kind == NODE_LIST);
    if (list)
        return edit_fail(
            ed, E0123, at,
            arena_printf(&ed->diags->arena,
                         "say which elements: %s[0], %s[:] or %s[name=value]", name_of(p),
                         name_of(p), name_of(p)),
            "'%s' is a list", name_of(p));
    bool scalar = p->shape == EDIT_SCALAR ||
                  (p->shape == EDIT_FREE && is_set(n) && n->kind != NODE_MAP);
    if (scalar)
        return edit_fail(ed, E0123, at, NULL,
                         "'%s' is a single value; '%.*s' cannot lie below it", name_of(p),
                         (int)at->s.n, at->s.p);
    return RC_OK;
}

/* Protobuf text keeps a map field as a list of { key: value: } pairs. */
static struct node *find_pair(struct editor *ed, struct node *pairs,
                              const struct edit_text *name)
{
    for (size_t i = 0; i < pairs->list.n; i++) {
        const struct node *key = node_find(pairs->list.at[i], "key");
        if (key && str_eq(key->text, name->s))
            return pairs->list.at[i];
    }
    struct node *pair = node_create(arena_of(ed), NODE_MAP, name->at);
    node_put(arena_of(ed), pair, "key",
             node_str(arena_of(ed), name->s.p, name->s.n, name->at));
    edit_touch(ed, pairs);
    node_push(arena_of(ed), pairs, pair);
    return pair;
}

/* The pair itself, which is what goes away. */
static bool enter_pair(const struct node *pairs, const struct edit_text *name,
                       struct edit_place *out)
{
    for (size_t i = 0; i < pairs->list.n; i++) {
        const struct node *key = node_find(pairs->list.at[i], "key");
        if (!key || !str_eq(key->text, name->s))
            continue;
        out->key = NULL;
        out->index = i;
        return true;
    }
    return false;
}

static void enter_dict(struct editor *ed, const struct edit_place *p,
                       const struct edit_text *name, struct edit_place *out,
                       bool *skipped)
{
    struct node *n = ensure(ed, p, edit_is_yaml(ed) ? NODE_MAP : NODE_LIST);
    *out = (struct edit_place){.field = p->field, .parent = n, .at = *name};
    if (n->kind == NODE_LIST && ed->removing) {
        *skipped = !enter_pair(n, name, out);
    } else if (n->kind == NODE_LIST) {
        out->parent = find_pair(ed, n, name);
        out->key = "value";
    } else {
        out->key = arena_strndup(arena_of(ed), name->s.p, name->s.n);
    }
    edit_select_settle(ed, out, true);
}

/* *skipped: the element has another member of the oneof, and was chosen, not named. */
static enum rc enter_name(struct editor *ed, const struct edit_place *p,
                          const struct edit_step *s, struct edit_place *out,
                          bool *skipped)
{
    const struct field_def *f = NULL;
    enum rc rc = check_passable(ed, p, &s->text);
    *skipped = false;
    if (rc)
        return rc;
    if (ed->removing && !is_set(place_get(ed, p))) {
        *skipped = true;
        return RC_OK;
    }
    if (p->shape == EDIT_DICT) {
        enter_dict(ed, p, &s->text, out, skipped);
        return RC_OK;
    }
    rc = find_field(ed, p->def, &s->text, &f);
    if (rc)
        return rc;
    if (f && f->oneof && ed->many) {
        const struct node *there = place_get(ed, p);
        *skipped = !there || !node_find(there, f->name);
        if (*skipped)
            return RC_OK;
    }
    *out = (struct edit_place){
        .parent = ensure(ed, p, NODE_MAP),
        .owner = p->def,
        .field = f,
        .at = s->text,
        .key = f ? f->name : arena_strndup(arena_of(ed), s->text.s.p, s->text.s.n)};
    edit_select_settle(ed, out, false);
    return RC_OK;
}

static enum rc step_name(struct editor *ed, const struct edit_places *from,
                         const struct edit_step *s, struct edit_places *to)
{
    for (size_t i = 0; i < from->n; i++) {
        struct edit_place next;
        bool skipped;
        enum rc rc = enter_name(ed, &from->at[i], s, &next, &skipped);
        if (rc)
            return rc;
        if (!skipped)
            VEC_PUSH(to, next);
    }
    if (to->n == 0 && !ed->removing)
        return edit_fail(ed, E0122, &s->text,
                         "name one element by its index to turn it into this kind",
                         "none of the selected elements is of the kind '%.*s'",
                         (int)s->text.s.n, s->text.s.p);
    return RC_OK;
}

static struct edit_place element_of(const struct editor *ed, const struct edit_place *p,
                                    const struct edit_step *s, struct node *list,
                                    size_t index)
{
    struct edit_place e = {
        .parent = list, .index = index, .field = p->field, .at = s->text};
    edit_select_settle(ed, &e, true);
    return e;
}

static enum rc select_index(struct editor *ed, const struct edit_place *p,
                            const struct edit_step *s, struct node *list,
                            struct edit_places *to)
{
    int64_t n = (int64_t)list->list.n;
    int64_t i = s->from < 0 ? s->from + n : s->from;
    if (i < 0 || i > n)
        return edit_fail(ed, E0122, &s->text,
                         arena_printf(&ed->diags->arena, "%s[%jd] adds one at the end",
                                      name_of(p), (intmax_t)n),
                         "%s[%jd] does not exist: the list has %jd element%s", name_of(p),
                         (intmax_t)s->from, (intmax_t)n, n == 1 ? "" : "s");
    struct edit_place e = element_of(ed, p, s, list, (size_t)i);
    VEC_PUSH(to, e);
    return RC_OK;
}

/* A bound of a slice as in Python: negative ones count from the end, all are clipped. */
static int64_t clip(int64_t at, int64_t n)
{
    if (at < 0)
        at = at < -n ? 0 : at + n;
    return at > n ? n : at;
}

static void select_slice(const struct editor *ed, const struct edit_place *p,
                         const struct edit_step *s, struct node *list,
                         struct edit_places *to)
{
    int64_t n = (int64_t)list->list.n;
    int64_t from = s->has_from ? clip(s->from, n) : 0;
    int64_t end = s->has_to ? clip(s->to, n) : n;
    for (int64_t i = from; i < end; i++) {
        struct edit_place e = element_of(ed, p, s, list, (size_t)i);
        VEC_PUSH(to, e);
    }
}

static enum rc select_matching(struct editor *ed, const struct edit_place *p,
                               const struct edit_step *s, struct node *list,
                               struct edit_places *to)
{
    for (size_t i = 0; i < list->list.n; i++) {
        struct edit_place e = element_of(ed, p, s, list, i);
        bool yes = false;
        enum rc rc = edit_matches(ed, &e, s, &yes);
        if (rc)
            return rc;
        if (yes)
            VEC_PUSH(to, e);
    }
    return RC_OK;
}

static enum rc nothing_selected(struct editor *ed, const struct edit_place *p,
                                const struct edit_step *s)
{
    const struct node *list = place_get(ed, p);
    size_t n = list->list.n;
    if (s->kind == STEP_SLICE || n == 0)
        return edit_fail(ed, E0122, &s->text, NULL,
                         "%s[%.*s] selects nothing: the list has %zu element%s",
                         name_of(p), (int)s->text.s.n, s->text.s.p, n, n == 1 ? "" : "s");
    const char *near = edit_nearest(ed, s, list);
    return edit_fail(
        ed, E0122, &s->text,
        near ? arena_printf(&ed->diags->arena, "did you mean '%s'?", near) : NULL,
        "no element of '%s' satisfies '%.*s'", name_of(p), (int)s->text.s.n, s->text.s.p);
}

static enum rc step_brackets(struct editor *ed, const struct edit_places *from,
                             const struct edit_step *s, struct edit_places *to)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct edit_place *p = &from->at[i];
        const struct node *there = place_get(ed, p);
        if (p->shape != EDIT_LIST &&
            (p->shape != EDIT_FREE || (is_set(there) && there->kind != NODE_LIST)))
            return edit_fail(ed, E0123, &s->text, NULL, "'%s' is not a list", name_of(p));
        if (ed->removing && !is_set(there))
            continue;
        struct node *list = ensure(ed, p, NODE_LIST);
        enum rc rc = RC_OK;
        if (s->kind == STEP_INDEX)
            rc = select_index(ed, p, s, list, to);
        else if (s->kind == STEP_SLICE)
            select_slice(ed, p, s, list, to);
        else
            rc = select_matching(ed, p, s, list, to);
        if (rc)
            return rc;
    }
    if (to->n || (ed->removing && s->kind == STEP_SLICE))
        return RC_OK;
    const struct edit_place *last = from->n ? &from->at[from->n - 1] : NULL;
    return last && is_set(place_get(ed, last)) ? nothing_selected(ed, last, s) : RC_OK;
}

enum rc edit_select(struct editor *ed, const struct edit_steps *steps,
                    struct edit_places *out)
{
    const struct msg_def *root = ed->c->kind->root;
    struct edit_place start = {.def = root, .shape = root ? EDIT_MSG : EDIT_FREE};
    enum rc rc = RC_OK;
    ed->many = false;
    VEC_PUSH(out, start);
    for (size_t i = 0; i < steps->n && !rc; i++) {
        const struct edit_step *s = &steps->at[i];
        struct edit_places next = {0};
        rc = s->kind == STEP_NAME ? step_name(ed, out, s, &next)
                                  : step_brackets(ed, out, s, &next);
        if (s->kind == STEP_SLICE || s->kind == STEP_COND)
            ed->many = true;
        VEC_RELEASE(out);
        *out = next;
    }
    return rc;
}
