/* SPDX-License-Identifier: Apache-2.0 */
/* a.b[0].c[1:3].d[e.f=x].g: names separated by dots, each with any number of brackets;
 * dots inside brackets belong to the condition.
 */
#include <string.h>

#include "text/edit_private.h"

static enum rc parse_bound(struct editor *ed, struct edit_text text, int64_t *out,
                           bool *given)
{
    text = edit_trim(&text);
    *given = text.s.n > 0;
    if (text.s.n && !str_to_i64(text.s, out))
        return edit_fail(ed, E0120, &text, "slices are written [a:b], [a:], [:b] or [:]",
                         "'%.*s' is not a slice bound", (int)text.s.n, text.s.p);
    return RC_OK;
}

static enum rc parse_slice(struct editor *ed, const char *colon, struct edit_step *s)
{
    const struct str *in = &s->text.s;
    size_t before = (size_t)(colon - in->p);
    s->kind = STEP_SLICE;
    enum rc rc =
        parse_bound(ed, edit_part(&s->text, in->p, before), &s->from, &s->has_from);
    if (rc)
        return rc;
    return parse_bound(ed, edit_part(&s->text, colon + 1, in->n - before - 1), &s->to,
                       &s->has_to);
}

/* The last occurrence of the first operator, in this order, that occurs at all. */
static const char *find_op(struct str in, enum edit_cond_op *op, size_t *len)
{
    static const char *const ops[] = {[COND_GE] = ">=",
                                      [COND_LE] = "<=",
                                      [COND_GT] = ">",
                                      [COND_LT] = "<",
                                      [COND_EQ] = "="};
    for (enum edit_cond_op o = COND_GE; o <= COND_EQ; o++) {
        *len = strlen(ops[o]);
        for (size_t i = in.n < *len ? 0 : in.n - *len + 1; i-- > 0;)
            if (memcmp(in.p + i, ops[o], *len) == 0) {
                *op = o;
                return in.p + i;
            }
    }
    return NULL;
}

static enum rc parse_condition(struct editor *ed, const char *at, size_t op_len,
                               struct edit_step *s)
{
    const struct str *in = &s->text.s;
    struct edit_text left = edit_part(&s->text, in->p, (size_t)(at - in->p));
    const char *right = at + op_len;
    struct edit_text want = edit_part(&s->text, right, (size_t)(in->p + in->n - right));
    s->kind = STEP_COND;
    s->path = edit_trim(&left);
    s->want = edit_trim(&want);
    const struct str *w = &s->want.s;
    if (w->n >= 2 && (w->p[0] == '"' || w->p[0] == '\'') && w->p[w->n - 1] == w->p[0])
        s->want = edit_part(&s->want, w->p + 1, w->n - 2);
    if (s->path.s.n == 0)
        return edit_fail(ed, E0120, &s->text, "write [name=value]",
                         "the condition '[%.*s]' names no field", (int)in->n, in->p);
    return RC_OK;
}

static enum rc parse_brackets(struct editor *ed, const struct edit_text *inner,
                              struct edit_steps *out)
{
    struct edit_step s = {.kind = STEP_INDEX, .text = edit_trim(inner)};
    const struct str *in = &s.text.s;
    size_t op_len;
    const char *op = find_op(*in, &s.op, &op_len);
    const char *colon = in->n ? memchr(in->p, ':', in->n) : NULL;
    enum rc rc = RC_OK;
    if (op)
        rc = parse_condition(ed, op, op_len, &s);
    else if (colon)
        rc = parse_slice(ed, colon, &s);
    else if (!str_to_i64(*in, &s.from))
        rc = edit_fail(ed, E0120, inner,
                       "write an index [0], a slice [1:3] or a condition [name=value]",
                       "'[%.*s]' selects nothing that could be read", (int)inner->s.n,
                       inner->s.p);
    if (!rc)
        VEC_PUSH(out, s);
    return rc;
}

/* One segment: a name and its brackets. */
static enum rc parse_segment(struct editor *ed, const struct edit_text *segment,
                             struct edit_steps *out)
{
    struct edit_text t = edit_trim(segment);
    size_t n = 0;
    while (n < t.s.n && t.s.p[n] != '[' && t.s.p[n] != ']')
        n++;
    struct edit_text name = edit_part(&t, t.s.p, n);
    name = edit_trim(&name);
    if (name.s.n == 0)
        return edit_fail(ed, E0120, &t, "a path is written a.b[0].c",
                         "a segment of the path has no name");
    VEC_PUSH(out, ((struct edit_step){.kind = STEP_NAME, .text = name}));
    while (n < t.s.n) {
        const char *open = t.s.p + n;
        const char *close = *open == '[' ? memchr(open, ']', t.s.n - n) : NULL;
        struct edit_text rest = edit_part(&t, open, t.s.n - n);
        if (*open == ' ') {
            n++;
            continue;
        }
        if (!close)
            return edit_fail(ed, E0120, &rest, NULL,
                             "the brackets of '%.*s' do not match", (int)t.s.n, t.s.p);
        struct edit_text inner = edit_part(&t, open + 1, (size_t)(close - open - 1));
        enum rc rc = parse_brackets(ed, &inner, out);
        if (rc)
            return rc;
        n = (size_t)(close - t.s.p) + 1;
    }
    return RC_OK;
}

enum rc edit_parse_path(struct editor *ed, const struct edit_text *path,
                        struct edit_steps *out)
{
    size_t from = 0;
    bool inside = false;
    for (size_t i = 0; i <= path->s.n; i++) {
        char c = i < path->s.n ? path->s.p[i] : '.';
        if (c == '[')
            inside = true;
        else if (c == ']')
            inside = false;
        if (i < path->s.n && (c != '.' || inside))
            continue;
        struct edit_text segment = edit_part(path, path->s.p + from, i - from);
        enum rc rc = parse_segment(ed, &segment, out);
        if (rc)
            return rc;
        from = i + 1;
    }
    return RC_OK;
}
