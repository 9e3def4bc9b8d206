/* SPDX-License-Identifier: Apache-2.0 */
/* The reference pages in docs/reference. They are checked in, and `make lint` compares
 * them with what this file writes.
 */
#include <ctype.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/explain_private.h"
#include "cmd/help.h"

#define MADE \
    "<!-- made by `trainyard explain --markdown docs/reference`; do not edit -->\n\n"

/* Bars, angle brackets and line ends would break a table. */
static void put_cell(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '|')
            buf_puts(out, "\\|");
        else if (*s == '<')
            buf_puts(out, "&lt;");
        else if (*s == '*')
            buf_puts(out, "\\*");
        else
            buf_putc(out, *s == '\n' ? ' ' : *s);
    }
}

static void put_anchor(struct buf *out, const char *name)
{
    for (; *name; name++)
        if (isalnum((unsigned char)*name) || *name == '_' || *name == '-')
            buf_putc(out, (char)tolower((unsigned char)*name));
}

static void put_type(const struct field_def *f, struct buf *out)
{
    struct buf type;
    buf_init(&type, EXPLAIN_TEXT_MAX);
    field_put_type(f, &type);
    bool linked = f->type == FIELD_MSG || f->type == FIELD_ENUM;
    if (linked)
        buf_putc(out, '[');
    put_cell(out, buf_str(&type));
    if (linked) {
        buf_puts(out, "](#");
        put_anchor(out, f->type == FIELD_MSG ? f->msg->name : f->enums->name);
        buf_putc(out, ')');
    }
    buf_release(&type);
}

static void put_field(const struct field_def *f, struct buf *out)
{
    struct buf cell;
    buf_init(&cell, EXPLAIN_TEXT_MAX);
    buf_printf(out, "| `%s` | ", f->name);
    put_type(f, out);
    buf_puts(out, " | ");
    field_put_default(f, &cell);
    if (cell.n) {
        buf_putc(out, '`');
        buf_puts(out, buf_str(&cell));
        buf_putc(out, '`');
    }
    buf_puts(out, " | ");
    buf_clear(&cell);
    if (f->oneof)
        buf_printf(&cell, "[one of %s] ", f->oneof);
    field_put_meaning(f, &cell);
    put_cell(out, buf_str(&cell));
    buf_puts(out, " |\n");
    buf_release(&cell);
}

static void put_msg(const struct schema_family *f, const struct msg_def *m,
                    struct buf *out)
{
    struct buf uses;
    buf_init(&uses, EXPLAIN_TEXT_MAX);
    buf_printf(out, "\n## %s\n\n", m->name);
    put_cell(out, m->doc ? m->doc : "");
    family_put_uses(f, m, NULL, &uses);
    if (uses.n)
        buf_printf(out, "\n\nUsed in %s.", buf_str(&uses));
    if (m->flags & MSG_OPEN)
        buf_puts(out, "\n\nOther keys are allowed and kept.");
    buf_puts(out, "\n\n");
    if (m->fields()->name)
        buf_puts(out, "| field | type | default | meaning |\n|---|---|---|---|\n");
    else
        buf_puts(out, "It has no fields.\n");
    for (const struct field_def *x = m->fields(); x->name; x++)
        put_field(x, out);
    buf_release(&uses);
}

static void put_enum(const struct enum_def *e, struct buf *out)
{
    buf_printf(out, "\n## %s\n\n", e->name);
    put_cell(out, e->doc ? e->doc : "");
    buf_puts(out, "\n\n| value | number | meaning |\n|---|---|---|\n");
    for (const struct enum_value *v = e->values; v->name; v++) {
        buf_printf(out, "| `%s` | %d | ", v->name, v->number);
        put_cell(out, v->doc ? v->doc : "");
        buf_puts(out, " |\n");
    }
}

/* All in one list: what a config may say in vain. */
static void put_ignored(const struct schema_family *f, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; f->msgs[i]; i++)
        for (const struct field_def *x = f->msgs[i]->fields(); x->name; x++) {
            if (!(x->flags & FIELD_IGNORED))
                continue;
            if (!any)
                buf_puts(out,
                         "\n## Fields without effect\n\nThey are accepted, and named "
                         "by a warning (E0208) with the reason.\n\n"
                         "| field | why |\n|---|---|\n");
            any = true;
            buf_printf(out, "| [%s](#", f->msgs[i]->name);
            put_anchor(out, f->msgs[i]->name);
            buf_printf(out, ")`.%s` | ", x->name);
            put_cell(out, x->note ? x->note : "nothing reads it");
            buf_puts(out, " |\n");
        }
}

void explain_family_md(const struct schema_family *f, struct buf *out)
{
    buf_printf(
        out,
        "# %s\n\n" MADE
        "Every message of the family `%s`, then every choice. `X[]` is a list of X. "
        "A field without a default is zero, empty or absent unless it is set.\n",
        f->title, f->name);
    put_ignored(f, out);
    for (size_t i = 0; f->msgs[i]; i++)
        put_msg(f, f->msgs[i], out);
    for (size_t i = 0; f->enums[i]; i++)
        put_enum(f->enums[i], out);
}

void explain_codes_md(struct buf *out)
{
    buf_puts(out,
             "# Error codes\n\n" MADE
             "A code keeps its meaning for ever. `trainyard explain CODE` shows the same "
             "text.\n");
    size_t n;
    const struct code_info *all = code_all(&n);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "\n## %s: %s\n\n", all[i].id, all[i].title);
        help_fill(out, all[i].text, 0, 100);
    }
}

void explain_commands_md(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(out, "# Commands\n\n" MADE "What `trainyard help COMMAND` shows.\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "\n## %s\n\n```text\n", all[i]->name);
        help_command(all[i], out);
        buf_puts(out, "```\n");
    }
}
