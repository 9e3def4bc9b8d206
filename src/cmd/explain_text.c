/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal's form. A message is a table with the meaning as its last column; where
 * long names leave that column too narrow, the meaning goes on a line of its own.
 */
#include <string.h>

#include "base/mem.h"
#include "cmd/explain_private.h"
#include "cmd/help.h"

#define WIDTH 100
#define LEFT_MAX 56 /* of the columns before the meaning, side by side */

struct row {
    struct buf type, init, meaning;
};

static size_t max_of(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct table {
    size_t name, type, init; /* widths */
    bool below;              /* the meaning stands on the next line */
};

static void row_fill(struct row *r, const struct field_def *f)
{
    buf_clear(&r->type);
    buf_clear(&r->init);
    buf_clear(&r->meaning);
    field_put_type(f, &r->type);
    field_put_default(f, &r->init);
    field_put_meaning(f, &r->meaning);
}

static void row_init(struct row *r)
{
    buf_init(&r->type, EXPLAIN_TEXT_MAX);
    buf_init(&r->init, EXPLAIN_TEXT_MAX);
    buf_init(&r->meaning, EXPLAIN_TEXT_MAX);
}

static void row_release(struct row *r)
{
    buf_release(&r->type);
    buf_release(&r->init);
    buf_release(&r->meaning);
}

static struct table measure(const struct msg_def *m, struct row *r)
{
    struct table t = {.name = 5, .type = 4, .init = 7};
    for (const struct field_def *f = m->fields(); f->name; f++) {
        row_fill(r, f);
        t.name = max_of(t.name, strlen(f->name) + (f->oneof ? 2 : 0));
        t.type = max_of(t.type, r->type.n);
        t.init = max_of(t.init, r->init.n);
    }
    t.below = t.name + t.type + t.init + 8 > LEFT_MAX;
    return t;
}

/* Fills `text` from column `indent` on; the first line stands there already. */
static void put_wrapped(struct buf *out, const char *text, size_t indent)
{
    struct buf filled;
    buf_init(&filled, EXPLAIN_TEXT_MAX);
    help_fill(&filled, text, indent, WIDTH);
    buf_puts(out, filled.n > indent ? buf_str(&filled) + indent : "\n");
    buf_release(&filled);
}

static void put_row(const struct table *t, const struct field_def *f, const struct row *r,
                    struct buf *out)
{
    const char *inset = f->oneof ? "  " : "";
    buf_printf(out, "  %s%-*s  %-*s  %-*s", inset, (int)(t->name - strlen(inset)),
               f->name, (int)t->type, buf_str(&r->type), (int)t->init, buf_str(&r->init));
    if (t->below) {
        while (out->n && out->p[out->n - 1] == ' ')
            out->p[--out->n] = '\0';
        buf_puts(out, "\n      ");
        put_wrapped(out, buf_str(&r->meaning), 6);
    } else {
        buf_puts(out, "  ");
        put_wrapped(out, buf_str(&r->meaning), t->name + t->type + t->init + 8);
    }
}

static void put_fields(const struct msg_def *m, struct buf *out)
{
    struct row r;
    row_init(&r);
    struct table t = measure(m, &r);
    const char *oneof = NULL;
    buf_printf(out, "  %-*s  %-*s  %s%s\n", (int)t.name, "field", (int)t.type, "type",
               "default", t.below ? "" : "  meaning");
    for (const struct field_def *f = m->fields(); f->name; f++) {
        if (f->oneof && (!oneof || strcmp(oneof, f->oneof) != 0))
            buf_printf(out, "  one of these (%s):\n", f->oneof);
        oneof = f->oneof;
        row_fill(&r, f);
        put_row(&t, f, &r, out);
    }
    row_release(&r);
}

static void put_uses(const struct hit *h, const struct msg_def *m,
                     const struct enum_def *e, struct buf *out)
{
    struct buf uses;
    buf_init(&uses, EXPLAIN_TEXT_MAX);
    family_put_uses(h->family, m, e, &uses);
    if (uses.n) {
        buf_puts(out, "used in ");
        put_wrapped(out, buf_str(&uses), 8);
    }
    buf_release(&uses);
}

static void put_msg(const struct hit *h, const struct msg_def *m, struct buf *out)
{
    buf_printf(out, "%s, a message of %s\n", m->name, h->family->title);
    help_fill(out, m->doc ? m->doc : "", 0, WIDTH);
    put_uses(h, m, NULL, out);
    buf_putc(out, '\n');
    if (m->fields()->name)
        put_fields(m, out);
    else
        buf_puts(out, "  It has no fields.\n");
    if (m->flags & MSG_OPEN)
        buf_puts(out, "\n  Other keys are allowed and kept.\n");
}

static void put_values(const struct enum_def *e, struct buf *out)
{
    size_t width = 0;
    for (const struct enum_value *v = e->values; v->name; v++)
        width = max_of(width, strlen(v->name));
    for (const struct enum_value *v = e->values; v->name; v++) {
        buf_printf(out, "  %-*s  %4d  ", (int)width, v->name, v->number);
        put_wrapped(out, v->doc ? v->doc : "", width + 10);
    }
}

static void put_enum(const struct hit *h, const struct enum_def *e, struct buf *out)
{
    buf_printf(out, "%s, a choice of %s\n", e->name, h->family->title);
    help_fill(out, e->doc ? e->doc : "", 0, WIDTH);
    put_uses(h, NULL, e, out);
    buf_putc(out, '\n');
    put_values(e, out);
}

static void put_field(const struct hit *h, struct buf *out)
{
    struct row r;
    row_init(&r);
    row_fill(&r, h->field);
    buf_printf(out, "%s.%s, a field of %s\n", h->msg->name, h->field->name,
               h->family->title);
    buf_printf(out, "  %-8s %s\n", "type", buf_str(&r.type));
    if (r.init.n)
        buf_printf(out, "  %-8s %s\n", "default", buf_str(&r.init));
    if (h->field->oneof)
        buf_printf(out, "  %-8s %s (of its members the last one set counts)\n", "one of",
                   h->field->oneof);
    buf_printf(out, "  %-8s ", "meaning");
    put_wrapped(out, buf_str(&r.meaning), 11);
    row_release(&r);
}

/* True when an earlier hit shows the same message or enum in full. */
static bool shown(const struct hits *h, size_t upto, const struct msg_def *m,
                  const struct enum_def *e)
{
    for (size_t i = 0; i < upto; i++) {
        const struct hit *x = &h->list.at[i];
        if (m && (x->field ? x->field->msg == m : x->msg == m))
            return true;
        if (e && (x->field ? x->field->enums == e : x->enums == e))
            return true;
    }
    return false;
}

static void put_hit(const struct hits *h, size_t at, struct buf *out)
{
    const struct hit *x = &h->list.at[at];
    if (!x->field && x->msg)
        put_msg(x, x->msg, out);
    if (x->field)
        put_field(x, out);
    if (x->field && x->field->type == FIELD_MSG && !shown(h, at, x->field->msg, NULL)) {
        buf_putc(out, '\n');
        put_msg(x, x->field->msg, out);
    }
    if (x->field && x->field->enums && !shown(h, at, NULL, x->field->enums)) {
        buf_putc(out, '\n');
        put_values(x->field->enums, out);
    }
    if (x->value)
        buf_printf(out, "%s (%d), a value of %s: %s\n", x->value->name, x->value->number,
                   x->enums->name, x->value->doc ? x->value->doc : "");
    else if (x->enums)
        put_enum(x, x->enums, out);
}

/* True for a field whose message is a hit itself: its "used in" line names the field. */
static bool told_already(const struct hits *h, const struct hit *x)
{
    for (size_t i = 0; x->field && x->field->msg && i < h->list.n; i++)
        if (!h->list.at[i].field && h->list.at[i].msg == x->field->msg)
            return true;
    return false;
}

void explain_hits(const struct hits *h, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < h->list.n; i++) {
        if (told_already(h, &h->list.at[i]))
            continue;
        if (!first)
            buf_putc(out, '\n');
        put_hit(h, i, out);
        first = false;
    }
}

void explain_code(const struct code_info *code, struct buf *out)
{
    buf_printf(out, "%s: %s\n\n", code->id, code->title);
    help_fill(out, code->text, 0, 80);
}

static void put_line(struct buf *out, const char *name, size_t width, const char *doc)
{
    buf_printf(out, "  %-*s  ", (int)width, name);
    put_wrapped(out, doc ? doc : "", width + 4);
}

static void list_family(const struct schema_family *f, struct buf *out)
{
    size_t width = 0;
    for (size_t i = 0; f->msgs[i]; i++)
        width = max_of(width, strlen(f->msgs[i]->name));
    for (size_t i = 0; f->enums[i]; i++)
        width = max_of(width, strlen(f->enums[i]->name));
    buf_printf(out, "%s (%s), messages:\n", f->title, f->name);
    for (size_t i = 0; f->msgs[i]; i++)
        put_line(out, f->msgs[i]->name, width, f->msgs[i]->doc);
    if (f->enums[0])
        buf_printf(out, "\n%s (%s), choices:\n", f->title, f->name);
    for (size_t i = 0; f->enums[i]; i++)
        put_line(out, f->enums[i]->name, width, f->enums[i]->doc);
    buf_putc(out, '\n');
}

void explain_all(families all, struct buf *out)
{
    for (size_t i = 0; all[i]; i++)
        list_family(all[i], out);
    buf_puts(out, "Error codes:\n");
    size_t n;
    const struct code_info *codes = code_all(&n);
    for (size_t i = 0; i < n; i++)
        put_line(out, codes[i].id, 5, codes[i].title);
}
