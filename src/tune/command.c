/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a trial: {{name}} is replaced by the parameter's value, quoted for the shell
 * as the place where it stands asks for; `trainyard train` without such places gets every
 * parameter as --set.
 */
#include "tune/command.h"

#include <string.h>

#include "base/str.h"
#include "text/json.h"

#define TEXT_MAX ((size_t)16 << 20)

static const struct node *find(const struct node *root, struct str path)
{
    struct str part;
    const struct node *n = root;
    char key[256];
    for (size_t i = 0; root->kind == NODE_MAP && i < root->map.n; i++)
        if (str_eq(root->map.at[i].key, path))
            return root->map.at[i].value; /* a name with dots in it */
    while (n && str_split(&path, '.', &part)) {
        if (part.n >= sizeof(key))
            return NULL;
        memcpy(key, part.p, part.n);
        key[part.n] = 0;
        n = node_find(n, key);
    }
    return n;
}

/* Where a place for a parameter stands in the command. */
enum quoting { QUOTED_NOT, QUOTED_SINGLE, QUOTED_DOUBLE };

static enum quoting quoting_after(enum quoting q, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && q != QUOTED_SINGLE)
            i++;
        else if (s[i] == '\'' && q != QUOTED_DOUBLE)
            q = q == QUOTED_SINGLE ? QUOTED_NOT : QUOTED_SINGLE;
        else if (s[i] == '"' && q != QUOTED_SINGLE)
            q = q == QUOTED_DOUBLE ? QUOTED_NOT : QUOTED_DOUBLE;
    }
    return q;
}

/* So that a shell takes it as it is: in single quotes, or within those that are there. */
static void quote(enum quoting q, const char *s, size_t n, struct buf *out)
{
    if (q == QUOTED_NOT)
        buf_putc(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (q == QUOTED_DOUBLE && strchr("$`\\\"", s[i]) && s[i])
            buf_putc(out, '\\');
        if (q != QUOTED_DOUBLE && s[i] == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, s[i]);
    }
    if (q == QUOTED_NOT)
        buf_putc(out, '\'');
}

static void put_value(enum quoting q, const struct node *v, struct buf *out)
{
    if (v->kind == NODE_STR) {
        quote(q, v->text.p, v->text.n, out);
        return;
    }
    struct buf text;
    buf_init(&text, TEXT_MAX);
    json_print(v, 0, &text);
    if (v->kind == NODE_LIST || v->kind == NODE_MAP)
        quote(q, buf_str(&text), text.n, out);
    else
        buf_puts(out, buf_str(&text));
    buf_release(&text);
}

static enum rc command_fill(const char *command, const struct node *params,
                            struct buf *out, struct err *err)
{
    const char *at = command;
    enum quoting q = QUOTED_NOT;
    for (const char *open; (open = strstr(at, "{{"));) {
        const char *close = strstr(open, "}}");
        if (!close)
            break;
        struct str name = str_trim(str_of(open + 2, (size_t)(close - open) - 2));
        const struct node *v = find(params, name);
        if (!v)
            return err_coded(err, RC_INVAL, E4007,
                             "the trial command uses {{%.*s}}, which is not a parameter",
                             (int)name.n, name.p);
        buf_add(out, at, (size_t)(open - at));
        q = quoting_after(q, at, (size_t)(open - at));
        put_value(q, v, out);
        at = close + 2;
    }
    buf_puts(out, at);
    return RC_OK;
}

/* `trainyard train ...`, by whatever path, without places for parameters. */
static bool is_training(const char *command)
{
    struct str rest = str_trim(str_c(command)), word;
    if (strstr(command, "{{") || strpbrk(command, ";|&<>\n") ||
        !str_split(&rest, ' ', &word))
        return false;
    const char *slash = memrchr(word.p, '/', word.n);
    if (slash)
        word = str_of(slash + 1, (size_t)(word.p + word.n - slash) - 1);
    rest = str_trim(rest);
    return str_is(word, "trainyard") && str_split(&rest, ' ', &word) &&
           str_is(word, "train");
}

static void add_settings(const char *command, const struct node *params, struct buf *out)
{
    buf_puts(out, command);
    if (!strstr(command, "--model-dir") && !strstr(command, "--model_dir"))
        buf_puts(out, " --model-dir \"$NNI_OUTPUT_DIR/model\"");
    for (size_t i = 0; params->kind == NODE_MAP && i < params->map.n; i++) {
        const struct node_entry *e = &params->map.at[i];
        struct buf one;
        buf_init(&one, TEXT_MAX);
        buf_add(&one, e->key.p, e->key.n);
        buf_putc(&one, '=');
        if (e->value->kind == NODE_STR)
            buf_add(&one, e->value->text.p, e->value->text.n);
        else
            json_print(e->value, 0, &one);
        buf_puts(out, " --set ");
        quote(QUOTED_NOT, buf_str(&one), one.n, out);
        buf_release(&one);
    }
}

enum rc tune_command_of(const char *command, const char *params, char **out,
                        struct err *err)
{
    struct doc d = {0};
    struct buf b;
    buf_init(&b, TEXT_MAX);
    enum rc rc = json_read("parameters", params, strlen(params), &d, err);
    if (!rc && is_training(command))
        add_settings(command, d.root, &b);
    else if (!rc)
        rc = command_fill(command, d.root, &b, err);
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc)
        *out = buf_take(&b);
    buf_release(&b);
    doc_release(&d);
    return rc;
}
