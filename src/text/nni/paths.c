/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions that every part of the check asks. */
#include <ctype.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "text/nni/nni_private.h"

bool nni_key_is(struct str key, const char *name)
{
    size_t i = 0;
    for (;; i++, name++) {
        while (i < key.n && key.p[i] == '_')
            i++;
        while (*name == '_')
            name++;
        if (i == key.n || !*name)
            return i == key.n && !*name;
        if (tolower((unsigned char)key.p[i]) != tolower((unsigned char)*name))
            return false;
    }
}

struct node_entry *nni_find(const struct node *map, const char *name)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    for (size_t i = map->map.n; i-- > 0;)
        if (nni_key_is(map->map.at[i].key, name))
            return &map->map.at[i];
    return NULL;
}

const struct node *nni_get(const struct msg *m, const char *name)
{
    return m ? node_find(m->node, name) : NULL;
}

bool nni_int(const struct msg *m, const char *name, int64_t *out)
{
    const struct node *n = nni_get(m, name);
    if (n)
        return node_i64(n, out);
    const struct field_def *f = m ? schema_field(m->def, name) : NULL;
    return f && f->init && str_to_i64(str_c(f->init), out);
}

const char *nni_snake(const char *name, struct arena *a)
{
    char *out = arena_alloc(a, 2 * strlen(name) + 1);
    size_t n = 0;
    for (; *name; name++) {
        if (isupper((unsigned char)*name) && n)
            out[n++] = '_';
        out[n++] = (char)tolower((unsigned char)*name);
    }
    return out;
}

const char *nni_path(struct conf *c, const char *path)
{
    if (path[0] == '~' && (path[1] == '/' || !path[1])) {
        const struct passwd *me = getpwuid(getuid());
        return me ? arena_printf(&c->arena, "%s%s", me->pw_dir, path + 1) : path;
    }
    char *dir = fs_dirname(c->doc.src->name);
    char *whole = fs_join(dir, path);
    const char *out = arena_strdup(&c->arena, whole);
    mem_free(whole);
    mem_free(dir);
    return out;
}

bool nni_is_placeholder(struct str text)
{
    text = str_trim(text);
    if (text.n >= 3 && text.p[0] == '$')
        text = str_of(text.p + 1, text.n - 1);
    return text.n >= 3 && text.p[0] == '{' && text.p[text.n - 1] == '}' &&
           !memchr(text.p, ':', text.n);
}

void nni_need(struct nni_checker *x, const struct msg *m, const char *const *names)
{
    for (; *names; names++)
        if (!nni_get(m, *names))
            schema_report(x->d, DIAG_ERROR, E0406, m, NULL, "%s: %s is not set",
                          m->def->name, nni_snake(*names, &x->c->arena));
}

void nni_at_least(struct nni_checker *x, const struct msg *m, const char *name,
                  int64_t least)
{
    int64_t v;
    const struct node *n = nni_get(m, name);
    if (n && node_i64(n, &v) && v < least)
        schema_report(x->d, DIAG_ERROR, E0412, m, name,
                      "%s: %s must be at least %jd, not %jd", m->def->name,
                      nni_snake(name, &x->c->arena), (intmax_t)least, (intmax_t)v);
}

void nni_need_dir(struct nni_checker *x, const struct msg *m, const char *name)
{
    const struct node *n = nni_get(m, name);
    if (!n || nni_is_placeholder(n->text) || fs_is_dir(nni_path(x->c, n->text.p)))
        return;
    schema_report(x->d, DIAG_ERROR, E0418, m, name, "%s: %s \"%s\" is not a directory",
                  m->def->name, nni_snake(name, &x->c->arena), n->text.p);
}
