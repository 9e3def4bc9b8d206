/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a specification back into the flags that made it. Secrets appear by name
 * only: the tree holds no more.
 */
#include <string.h>

#include "job/quote.h"
#include "job/spec.h"

static void put_line(struct buf *out, const char *flag, struct str value)
{
    buf_puts(out, " \\\n    --");
    for (; *flag; flag++)
        buf_putc(out, *flag == '_' ? '-' : *flag);
    buf_putc(out, '=');
    job_quote_shell(value, out);
}

static void put_pair(struct buf *out, const char *flag, const char *name,
                     const char *value)
{
    struct buf pair;
    buf_init(&pair, 16 << 20);
    buf_printf(&pair, "%s=%s", name, value);
    put_line(out, flag, str_of(buf_str(&pair), pair.n));
    buf_release(&pair);
}

static void put_field(const struct job_spec *s, const struct node_entry *e,
                      struct buf *out)
{
    char name[64];
    size_t n = e->key.n < sizeof(name) ? e->key.n : sizeof(name) - 1;
    memcpy(name, e->key.p, n);
    name[n] = '\0';
    const struct field_def *f = schema_field(&jobspec_JobSpec_def, name);
    /* A token would make the new job the old one. */
    if (!f || strcmp(name, "command") == 0 || strcmp(name, "client_token") == 0 ||
        strcmp(name, "hp") == 0 || strcmp(name, "workdir") == 0 ||
        strcmp(name, "array_element") == 0)
        return;
    const struct node *v = e->value;
    if (v->kind == NODE_MAP)
        for (size_t i = 0; i < v->map.n; i++)
            put_pair(out, name, v->map.at[i].key.p, v->map.at[i].value->text.p);
    else if (v->kind == NODE_LIST)
        for (size_t i = 0; i < v->list.n; i++)
            put_line(out, name, v->list.at[i]->text);
    else if (v->kind == NODE_BOOL)
        put_line(out, name, str_c(v->flag ? "true" : "false"));
    else
        put_line(out, name, v->text);
}

void job_spec_script(const struct job_spec *s, struct buf *out)
{
    const struct node *root = s->conf.doc.root;
    if (!s->s->has_source && s->s->has_workdir) { /* it runs where it is submitted */
        buf_puts(out, "cd ");
        job_quote_shell(str_c(s->s->workdir), out);
        buf_puts(out, " &&\n");
    }
    buf_puts(out, "trainyard job submit");
    for (size_t i = 0; i < root->map.n; i++)
        put_field(s, &root->map.at[i], out);
    for (size_t i = 0; i < s->n_hp; i++)
        put_pair(out, "hp", s->hp[i].name, s->hp[i].value);
    buf_puts(out, " \\\n    --");
    if (s->shell) {
        buf_putc(out, ' ');
        job_quote_shell(str_c(s->shell), out);
    }
    for (size_t i = 0; s->argv && s->argv[i]; i++) {
        buf_putc(out, ' ');
        job_quote_shell(str_c(s->argv[i]), out);
    }
    buf_putc(out, '\n');
}
