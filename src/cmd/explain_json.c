/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of a family for programs: completion, stubs, forms. */
#include <string.h>

#include "cmd/explain_private.h"
#include "text/json_out.h"

static const char *shape_of(const struct field_def *f)
{
    if (f->label == LABEL_DICT)
        return "map";
    return f->label == LABEL_REP || (f->flags & FIELD_MANY) ? "list" : "single";
}

static void put_words(const char *words, struct json_out *j)
{
    struct str rest = str_c(words), word;
    struct buf b;
    buf_init(&b, EXPLAIN_TEXT_MAX);
    json_open(j, "words", '[');
    while (str_split(&rest, '|', &word)) {
        buf_clear(&b);
        buf_add(&b, word.p, word.n);
        json_put_str(j, NULL, buf_str(&b));
    }
    json_close(j, ']');
    buf_release(&b);
}

static void put_field(const struct field_def *f, struct json_out *j)
{
    struct buf meaning;
    buf_init(&meaning, EXPLAIN_TEXT_MAX);
    field_put_meaning(f, &meaning);
    json_open(j, f->name, '{');
    json_put_str(j, "type", schema_type_name(f));
    json_put_str(j, "shape", shape_of(f));
    if (f->type == FIELD_MSG)
        json_put_bool(j, "message", true);
    if (f->type == FIELD_ENUM)
        json_put_bool(j, "enum", true);
    if (f->init)
        json_put_str(j, "default", f->init);
    if (f->oneof)
        json_put_str(j, "oneof", f->oneof);
    if (f->words)
        put_words(f->words, j);
    if (f->min < f->max) {
        json_put_num(j, "min", f->min);
        json_put_num(j, "max", f->max);
    }
    if (f->flags & FIELD_DEPRECATED)
        json_put_bool(j, "deprecated", true);
    if (f->flags & FIELD_IGNORED)
        json_put_bool(j, "ignored", true);
    json_put_str(j, "doc", buf_str(&meaning));
    json_close(j, '}');
    buf_release(&meaning);
}

static void put_msg(const struct msg_def *m, struct json_out *j)
{
    json_open(j, m->name, '{');
    json_put_str(j, "doc", m->doc ? m->doc : "");
    json_put_bool(j, "open", (m->flags & MSG_OPEN) != 0);
    json_open(j, "fields", '{');
    for (const struct field_def *f = m->fields(); f->name; f++)
        put_field(f, j);
    json_close(j, '}');
    json_close(j, '}');
}

static void put_enum(const struct enum_def *e, struct json_out *j)
{
    json_open(j, e->name, '{');
    json_put_str(j, "doc", e->doc ? e->doc : "");
    json_open(j, "values", '{');
    for (const struct enum_value *v = e->values; v->name; v++)
        json_put_str(j, v->name, v->doc ? v->doc : "");
    json_close(j, '}');
    json_close(j, '}');
}

void explain_family_json(const struct schema_family *f, struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "family", f->name);
    json_put_str(&j, "title", f->title);
    json_put_str(&j, "root", f->msgs[0]->name);
    json_open(&j, "messages", '{');
    for (size_t i = 0; f->msgs[i]; i++)
        put_msg(f->msgs[i], &j);
    json_close(&j, '}');
    json_open(&j, "enums", '{');
    for (size_t i = 0; f->enums[i]; i++)
        put_enum(f->enums[i], &j);
    json_close(&j, '}');
    json_close(&j, '}');
    buf_putc(out, '\n');
}
