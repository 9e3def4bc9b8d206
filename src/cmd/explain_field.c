/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cmd/explain_private.h"

#define USES_MAX 8 /* places named before "and N more" */

void field_put_type(const struct field_def *f, struct buf *out)
{
    if (f->label == LABEL_DICT) {
        buf_printf(out, "map<string, %s>", schema_type_name(f));
        return;
    }
    if (f->type == FIELD_UNION)
        buf_printf(out, "by %s", f->tag);
    else
        buf_puts(out, schema_type_name(f));
    if (f->label == LABEL_REP || (f->flags & FIELD_MANY))
        buf_puts(out, "[]");
}

/* Quoted when it would not show otherwise. */
static void put_text(const char *s, struct buf *out)
{
    buf_putc(out, '"');
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            buf_printf(out, "\\x%02x", (unsigned char)*s);
        else if (*s == '"' || *s == '\\')
            buf_printf(out, "\\%c", *s);
        else
            buf_putc(out, *s);
    }
    buf_putc(out, '"');
}

void field_put_default(const struct field_def *f, struct buf *out)
{
    if (!f->init)
        return;
    if (f->type == FIELD_STR && f->label != LABEL_REP)
        put_text(f->init, out);
    else
        buf_puts(out, f->init);
}

static void explain_field_note(struct buf *notes, const char *text)
{
    if (notes->n)
        buf_puts(notes, "; ");
    buf_puts(notes, text);
}

static void note_range(const struct field_def *f, struct buf *notes)
{
    char low[32], high[32];
    if (!(f->min < f->max))
        return;
    str_from_f64(f->min, low);
    str_from_f64(f->max, high);
    if (notes->n)
        buf_puts(notes, "; ");
    if (f->max >= 4294967295.0)
        buf_printf(notes, "at least %s", low);
    else
        buf_printf(notes, "%s..%s", low, high);
}

static void note_words(const char *words, struct buf *notes)
{
    struct str rest = str_c(words), word;
    bool first = true;
    if (notes->n)
        buf_puts(notes, "; ");
    buf_puts(notes, "one of ");
    while (str_split(&rest, '|', &word)) {
        buf_printf(notes, "%s'%.*s'", first ? "" : ", ", (int)word.n, word.p);
        first = false;
    }
}

static void note_variants(const struct field_def *f, struct buf *notes)
{
    if (notes->n)
        buf_puts(notes, "; ");
    buf_printf(notes, "%s is one of ", f->tag);
    for (const struct schema_variant *v = f->variants; v->word; v++)
        buf_printf(notes, "%s%s", v == f->variants ? "" : ", ", v->word);
}

void field_put_meaning(const struct field_def *f, struct buf *out)
{
    struct buf notes;
    buf_init(&notes, EXPLAIN_TEXT_MAX);
    if (f->label == LABEL_REQ)
        explain_field_note(&notes, "required");
    note_range(f, &notes);
    if (f->words)
        note_words(f->words, &notes);
    if (f->type == FIELD_UNION && f->variants)
        note_variants(f, &notes);
    if (f->alias)
        buf_printf(&notes, "%salso written %s", notes.n ? "; " : "", f->alias);
    if (f->flags & FIELD_SECRET)
        explain_field_note(&notes, "secret: never shown in messages");
    if (f->flags & FIELD_DEPRECATED)
        buf_printf(&notes, "%sdeprecated: %s", notes.n ? "; " : "",
                   f->note ? f->note : "no longer needed");
    if (f->flags & FIELD_IGNORED)
        buf_printf(&notes, "%swithout effect: %s", notes.n ? "; " : "",
                   f->note ? f->note : "nothing reads it");
    buf_puts(out, f->doc ? f->doc : "");
    if (notes.n)
        buf_printf(out, " (%s)", buf_str(&notes));
    buf_release(&notes);
}

static bool leads_to(const struct field_def *f, const struct msg_def *msg,
                     const struct enum_def *enums)
{
    if (enums)
        return f->type == FIELD_ENUM && f->enums == enums;
    if (f->type == FIELD_MSG)
        return f->msg == msg;
    if (f->type == FIELD_UNION && f->variants)
        for (const struct schema_variant *v = f->variants; v->word; v++)
            if (v->msg == msg)
                return true;
    return false;
}

void family_put_uses(const struct schema_family *f, const struct msg_def *msg,
                     const struct enum_def *enums, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; f->msgs[i]; i++)
        for (const struct field_def *x = f->msgs[i]->fields(); x->name; x++)
            if (leads_to(x, msg, enums) && n++ < USES_MAX)
                buf_printf(out, "%s%s.%s", n > 1 ? ", " : "", f->msgs[i]->name, x->name);
    if (n > USES_MAX)
        buf_printf(out, " and %zu more", n - USES_MAX);
}
