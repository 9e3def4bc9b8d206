/* SPDX-License-Identifier: Apache-2.0 */
/* Looking a name up. Nothing is indexed: a lookup happens once per run of the program and
 * walks a few thousand constant rows.
 */
#include <ctype.h>
#include <string.h>

#include "cmd/explain.h"

/* Case and '_' do not count, so that IdFeature and id_feature are one name. */
static bool alike(struct str a, const char *b)
{
    size_t i = 0;
    for (;;) {
        while (i < a.n && a.p[i] == '_')
            i++;
        while (*b == '_')
            b++;
        if (i == a.n || !*b)
            return i == a.n && !*b;
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)*b))
            return false;
        i++;
        b++;
    }
}

static bool field_alike(struct str name, const struct field_def *f)
{
    return alike(name, f->name) || (f->alias && alike(name, f->alias));
}

static void explain_find_add(struct hits *h, struct hit hit)
{
    for (size_t i = 0; i < h->list.n; i++) {
        const struct hit *old = &h->list.at[i];
        if (old->msg == hit.msg && old->field == hit.field && old->enums == hit.enums &&
            old->value == hit.value)
            return;
    }
    VEC_PUSH(&h->list, hit);
}

static void find_name(const struct schema_family *f, struct str name, struct hits *out)
{
    for (size_t i = 0; f->msgs[i]; i++)
        if (alike(name, f->msgs[i]->name))
            explain_find_add(out, (struct hit){.family = f, .msg = f->msgs[i]});
    for (size_t i = 0; f->enums[i]; i++)
        if (alike(name, f->enums[i]->name))
            explain_find_add(out, (struct hit){.family = f, .enums = f->enums[i]});
    for (size_t i = 0; f->msgs[i]; i++)
        for (const struct field_def *x = f->msgs[i]->fields(); x->name; x++)
            if (field_alike(name, x))
                explain_find_add(
                    out, (struct hit){.family = f, .msg = f->msgs[i], .field = x});
    if (out->list.n)
        return;
    for (size_t i = 0; f->enums[i]; i++)
        for (const struct enum_value *v = f->enums[i]->values; v->name; v++)
            if (alike(name, v->name))
                explain_find_add(
                    out, (struct hit){.family = f, .enums = f->enums[i], .value = v});
}

static void find_in_msg(const struct hit *at, const struct msg_def *msg, struct str name,
                        struct hits *out)
{
    for (const struct field_def *x = msg->fields(); x->name; x++)
        if (field_alike(name, x))
            explain_find_add(out,
                             (struct hit){.family = at->family, .msg = msg, .field = x});
}

/* What `name` means below `at`: a field of its message, a variant, a value of its enum.
 */
static void descend(const struct hit *at, struct str name, struct hits *out)
{
    const struct field_def *f = at->field;
    const struct enum_def *e = f ? f->enums : at->enums;
    if (!f && at->msg)
        find_in_msg(at, at->msg, name, out);
    if (f && f->type == FIELD_MSG)
        find_in_msg(at, f->msg, name, out);
    if (f && f->type == FIELD_UNION && f->variants)
        for (const struct schema_variant *v = f->variants; v->word; v++) {
            if (alike(name, v->word))
                explain_find_add(out, (struct hit){.family = at->family, .msg = v->msg});
            else
                find_in_msg(at, v->msg, name, out);
        }
    for (const struct enum_value *v = e ? e->values : NULL; v && v->name; v++)
        if (alike(name, v->name))
            explain_find_add(out,
                             (struct hit){.family = at->family, .enums = e, .value = v});
}

/* `a[0]` is `a`. */
static struct str without_index(struct str part)
{
    const char *bracket = part.n ? memchr(part.p, '[', part.n) : NULL;
    return bracket ? str_of(part.p, (size_t)(bracket - part.p)) : part;
}

/* How far a path could be followed, over all families: for the message when it ends. */
struct miss {
    size_t depth;    /* parts that were found */
    struct str part; /* the one that was not */
    struct hits at;  /* what the parts before it stand for */
};

static void note_miss(struct miss *m, size_t depth, struct str part, struct hits *at)
{
    if (depth <= m->depth && m->part.p) {
        hits_release(at);
        return;
    }
    hits_release(&m->at);
    *m = (struct miss){.depth = depth, .part = part, .at = *at};
}

static void find_path(const struct schema_family *f, struct str path, struct hits *out,
                      struct miss *miss)
{
    struct str part;
    struct hits now = {0};
    for (size_t depth = 0; str_split(&path, '.', &part); depth++) {
        struct hits next = {0};
        part = without_index(part);
        if (depth == 0)
            find_name(f, part, &next);
        for (size_t i = 0; i < now.list.n; i++)
            descend(&now.list.at[i], part, &next);
        if (next.list.n == 0) {
            note_miss(miss, depth, part, &now);
            return;
        }
        hits_release(&now);
        now = next;
    }
    for (size_t i = 0; i < now.list.n; i++)
        explain_find_add(out, now.list.at[i]);
    hits_release(&now);
}

struct names {
    VEC(const char *) list;
};

static void add_fields(const struct msg_def *msg, struct names *out)
{
    for (const struct field_def *x = msg->fields(); x->name; x++)
        VEC_PUSH(&out->list, x->name);
}

static void add_family(const struct schema_family *f, struct names *out)
{
    for (size_t i = 0; f->msgs[i]; i++) {
        VEC_PUSH(&out->list, f->msgs[i]->name);
        add_fields(f->msgs[i], out);
    }
    for (size_t i = 0; f->enums[i]; i++)
        VEC_PUSH(&out->list, f->enums[i]->name);
}

/* Names that could have stood where the path ended. */
static void add_candidates(const struct miss *m, struct names *out)
{
    for (size_t i = 0; i < m->at.list.n; i++) {
        const struct hit *h = &m->at.list.at[i];
        if (h->field && h->field->type == FIELD_MSG)
            add_fields(h->field->msg, out);
        else if (!h->field && h->msg)
            add_fields(h->msg, out);
    }
}

static enum rc not_found(families all, struct str family, const struct miss *m,
                         struct err *err)
{
    struct names names = {0};
    if (m->depth)
        add_candidates(m, &names);
    else
        for (size_t i = 0; all[i]; i++)
            if (!family.n || str_is(family, all[i]->name))
                add_family(all[i], &names);
    const char *near = str_nearest(m->part, names.list.at, names.list.n);
    int cut = m->part.n > 100 ? 100 : (int)m->part.n;
    const struct hit *at = m->depth ? &m->at.list.at[0] : NULL;
    const char *owner = !at         ? NULL
                        : at->field ? at->field->name
                        : at->msg   ? at->msg->name
                                    : NULL;
    struct buf text;
    buf_init(&text, 1000);
    if (owner)
        buf_printf(&text, "'%s' has no field '%.*s'", owner, cut, m->part.p);
    else
        buf_printf(&text, "nothing is named '%.*s'", cut, m->part.p);
    if (near)
        buf_printf(&text, ", did you mean '%s'?", near);
    enum rc rc = err_coded(err, RC_NOTFOUND, E0608, "%s", buf_str(&text));
    buf_release(&text);
    VEC_RELEASE(&names.list);
    return rc;
}

/* Cuts "family:" off *what; false when no family has that name. */
static bool split_family(families all, struct str *what, struct str *family)
{
    const char *colon = what->n ? memchr(what->p, ':', what->n) : NULL;
    *family = str_of(what->p, 0);
    if (!colon)
        return true;
    *family = str_of(what->p, (size_t)(colon - what->p));
    *what = str_of(colon + 1, what->n - family->n - 1);
    for (size_t i = 0; all[i]; i++)
        if (str_is(*family, all[i]->name))
            return true;
    return false;
}

static enum rc unknown_family(families all, struct str family, struct err *err)
{
    struct buf known;
    buf_init(&known, 1000);
    for (size_t i = 0; all[i]; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", all[i]->name);
    enum rc rc =
        err_coded(err, RC_NOTFOUND, E0608, "'%.*s' is not a kind of file (%s)",
                  family.n > 100 ? 100 : (int)family.n, family.p, buf_str(&known));
    buf_release(&known);
    return rc;
}

enum rc explain_find(families all, const char *what, struct hits *out, struct err *err)
{
    struct str rest = str_c(what), family;
    struct miss miss = {0};
    if (!split_family(all, &rest, &family))
        return unknown_family(all, family, err);
    for (size_t i = 0; all[i]; i++)
        if (!family.n || str_is(family, all[i]->name))
            find_path(all[i], rest, out, &miss);
    if (!miss.part.p)
        miss.part = rest;
    enum rc rc = out->list.n ? RC_OK : not_found(all, family, &miss, err);
    hits_release(&miss.at);
    return rc;
}

void hits_release(struct hits *h)
{
    VEC_RELEASE(&h->list);
}

void explain_words(families all, struct buf *out)
{
    for (size_t k = 0; all[k]; k++) {
        struct names names = {0};
        add_family(all[k], &names);
        for (size_t i = 0; i < names.list.n; i++)
            buf_printf(out, "%s\n", names.list.at[i]);
        VEC_RELEASE(&names.list);
    }
    size_t n;
    const struct code_info *codes = code_all(&n);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\n", codes[i].id);
}
