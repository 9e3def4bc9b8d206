/* SPDX-License-Identifier: Apache-2.0 */
/* A store has no directories: everything below the longest prefix without a pattern is
 * listed once, and the keys are matched here.
 */
#include "io/glob.h"

#include <fnmatch.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/object.h"

static bool is_pattern(const char *s)
{
    return strpbrk(s, "*?[") != NULL;
}

static bool is_hidden(struct str part)
{
    return part.n && (part.p[0] == '.' || part.p[0] == '_');
}

static struct str part_at(const char *s)
{
    const char *slash = strchr(s, '/');
    return slash ? str_of(s, (size_t)(slash - s)) : str_c(s);
}

static const char *behind(const char *s, struct str part)
{
    s += part.n;
    return *s == '/' ? s + 1 : NULL;
}

static bool part_matches(struct str pattern, struct str part)
{
    if (is_hidden(part) && pattern.n && pattern.p[0] != part.p[0])
        return false;
    char *a = mem_strndup(pattern.p, pattern.n), *b = mem_strndup(part.p, part.n);
    bool yes = fnmatch(a, b, FNM_PERIOD) == 0;
    mem_free(a);
    mem_free(b);
    return yes;
}

/* `**` swallows parts one by one; keys have at most 1024 bytes, so this ends soon. */
bool io_glob_matches(const char *pattern, const char *key)
{
    while (pattern && key) {
        struct str want = part_at(pattern), have = part_at(key);
        const char *rest = behind(pattern, want), *below = behind(key, have);
        if (str_is(want, "**")) {
            if (!rest) {
                for (const char *k = key; k; k = behind(k, part_at(k)))
                    if (is_hidden(part_at(k)))
                        return false;
                return true;
            }
            if (io_glob_matches(rest, key))
                return true;
            if (is_hidden(have))
                return false;
            key = below;
            continue;
        }
        if (!part_matches(want, have))
            return false;
        pattern = rest;
        key = below;
    }
    return !pattern && !key;
}

struct search {
    const char *base;    /* "s3://bucket/" */
    const char *pattern; /* of keys; NULL: all below `below` */
    const char *below;
    VEC(char *) found;
};

static bool all_shown(const char *key)
{
    for (const char *k = key; k; k = behind(k, part_at(k)))
        if (is_hidden(part_at(k)))
            return false;
    return true;
}

static enum rc glob_take(void *arg, const char *key, uint64_t size, struct err *err)
{
    struct search *s = arg;
    size_t n = strlen(key);
    if (!n || key[n - 1] == '/')
        return RC_OK; /* what some tools put where a directory would be */
    if (s->pattern ? !io_glob_matches(s->pattern, key)
                   : !all_shown(key + strlen(s->below)))
        return RC_OK;
    VEC_PUSH(&s->found, mem_printf("%s%s", s->base, key));
    return RC_OK;
}

static enum rc exact(void *arg, const char *key, uint64_t size, struct err *err)
{
    struct search *s = arg;
    if (strcmp(key, s->below) == 0)
        VEC_PUSH(&s->found, mem_printf("%s%s", s->base, key));
    return RC_CANCELED; /* the first one is enough: keys are sorted */
}

static enum rc search_plain(struct object *o, struct search *s, struct err *err)
{
    const char *key = object_key(o);
    s->below = key;
    if (key[0] && !str_ends(key, "/")) {
        enum rc rc = object_list(o, key, exact, s, err);
        if ((rc && rc != RC_CANCELED) || s->found.n)
            return rc == RC_CANCELED ? RC_OK : rc;
    }
    char *dir = key[0] && !str_ends(key, "/") ? mem_printf("%s/", key) : mem_strdup(key);
    s->below = dir;
    enum rc rc = object_list(o, dir, glob_take, s, err);
    mem_free(dir);
    return rc;
}

static enum rc search_pattern(struct object *o, struct search *s, struct err *err)
{
    char *prefix = mem_strdup(object_key(o));
    prefix[strcspn(prefix, "*?[")] = '\0';
    s->pattern = object_key(o);
    enum rc rc = object_list(o, prefix, glob_take, s, err);
    mem_free(prefix);
    return rc;
}

enum rc io_glob(const char *url, struct fs_names *out, struct err *err)
{
    struct object *o = NULL;
    struct search s = {0};
    enum rc rc = object_open(url, true, &o, err);
    if (rc)
        return rc;
    size_t n = strlen(url) - strlen(object_key(o));
    char *base = mem_strndup(url, n);
    s.base = base;
    rc =
        is_pattern(object_key(o)) ? search_pattern(o, &s, err) : search_plain(o, &s, err);
    object_close(o);
    mem_free(base);
    if (rc) {
        for (size_t i = 0; i < s.found.n; i++)
            mem_free(s.found.at[i]);
        VEC_RELEASE(&s.found);
        return rc;
    }
    *out = (struct fs_names){.at = s.found.at, .n = s.found.n};
    return RC_OK;
}
