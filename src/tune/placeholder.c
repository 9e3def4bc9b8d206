/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/placeholder.h"

#include <string.h>

#include "base/str.h"
#include "text/json.h"

#define TEXT_MAX ((size_t)16 << 20)

static const struct node *find(const struct node *root, struct str path)
{
    struct str part;
    const struct node *n = root;
    char key[256];
    while (n && str_split(&path, '.', &part)) {
        if (part.n >= sizeof(key))
            return NULL;
        memcpy(key, part.p, part.n);
        key[part.n] = 0;
        n = node_find(n, key);
    }
    return n;
}

/* In single quotes, so that a shell takes it as it is. */
static void quote(const char *s, size_t n, struct buf *out)
{
    buf_putc(out, '\'');
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, s[i]);
    buf_putc(out, '\'');
}

static void put_value(const struct node *v, struct buf *out)
{
    if (v->kind == NODE_STR) {
        quote(v->text.p, v->text.n, out);
        return;
    }
    struct buf text;
    buf_init(&text, TEXT_MAX);
    json_print(v, 0, &text);
    if (v->kind == NODE_LIST || v->kind == NODE_MAP)
        quote(buf_str(&text), text.n, out);
    else
        buf_puts(out, buf_str(&text));
    buf_release(&text);
}

static enum rc fill(const char *command, const struct node *params, struct buf *out,
                    struct err *err)
{
    const char *at = command;
    for (const char *open; (open = strstr(at, "{{"));) {
        const char *close = strstr(open, "}}");
        if (!close)
            break;
        struct str name = str_trim(str_of(open + 2, (size_t)(close - open) - 2));
        const struct node *v = find(params, name);
        if (!v)
            return err_coded(
                err, RC_INVAL, E4007,
                "the trial command has {{%.*s}}, but there is no such parameter",
                (int)name.n, name.p);
        buf_add(out, at, (size_t)(open - at));
        put_value(v, out);
        at = close + 2;
    }
    buf_puts(out, at);
    return RC_OK;
}

enum rc placeholder_fill(const char *command, const char *params, char **out,
                         struct err *err)
{
    struct doc d = {0};
    struct diags unheard = {0};
    struct buf b;
    buf_init(&b, TEXT_MAX);
    enum rc rc = source_from("parameters", params, strlen(params), &d.src, err);
    if (!rc)
        rc = json_parse(&d, &unheard);
    if (!rc)
        rc = fill(command, d.root, &b, err);
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc)
        *out = buf_take(&b);
    buf_release(&b);
    diags_release(&unheard);
    doc_release(&d);
    return rc;
}
