/* SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/map.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/source.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts the next word off *at and ends it with a NUL; "" when there is none. */
static char *next_word(char **at)
{
    char *word = *at;
    while (is_blank(*word))
        word++;
    char *end = word;
    while (*end && !is_blank(*end))
        end++;
    *at = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static enum rc add_line(struct ckpt_map *m, char *text, size_t number, struct err *err)
{
    char *now = next_word(&text), *old = next_word(&text), *more = next_word(&text);
    if (!*now)
        return RC_OK;
    if (!*old)
        return err_coded(err, RC_FORMAT, E1511,
                         "line %zu: '%s' stands alone, a second name must follow it",
                         number, now);
    if (*more)
        return err_coded(err, RC_FORMAT, E1511,
                         "line %zu: '%s' follows two names, a line holds no more", number,
                         more);
    struct map_entry *e = map_put(&m->by_now, str_c(now));
    if (e->value)
        return err_coded(err, RC_FORMAT, E1511,
                         "line %zu: '%s' was given in line %zu before", number, now,
                         m->lines.at[(uintptr_t)e->value - 1].line);
    VEC_PUSH(&m->lines, ((struct ckpt_map_line){now, old, number}));
    e->value = (void *)(uintptr_t)m->lines.n;
    return RC_OK;
}

static enum rc check_text(const char *s, size_t n, struct err *err)
{
    size_t line = 1;
    for (size_t at = 0, k; at < n; at += k) {
        k = utf8_len(s + at, n - at);
        if (k == 0 || s[at] == '\0')
            return err_coded(err, RC_FORMAT, E1511, "line %zu: not text in UTF-8", line);
        line += s[at] == '\n';
    }
    return RC_OK;
}

static enum rc add_lines(struct ckpt_map *m, size_t n, struct err *err)
{
    enum rc rc = check_text(m->text, n, err);
    size_t number = 1;
    for (char *at = m->text, *end; at && !rc; at = end, number++) {
        end = strchr(at, '\n');
        if (end)
            *end++ = '\0';
        rc = add_line(m, at, number, err);
    }
    return rc;
}

enum rc ckpt_map_read(const char *path, struct ckpt_map *out, struct err *err)
{
    struct ckpt_map m = {0};
    size_t n = 0;
    enum rc rc = fs_read(path, SOURCE_MAX, &m.text, &n, err);
    if (rc)
        return rc;
    m.path = mem_strdup(path);
    rc = add_lines(&m, n, err);
    if (rc) {
        ckpt_map_release(&m);
        return err_wrap(err, rc, "file '%s'", path);
    }
    *out = m;
    return RC_OK;
}

void ckpt_map_release(struct ckpt_map *m)
{
    mem_free(m->path);
    mem_free(m->text);
    VEC_RELEASE(&m->lines);
    map_release(&m->by_now);
    *m = (struct ckpt_map){0};
}

const struct ckpt_map_line *ckpt_map_find(const struct ckpt_map *m, const char *now,
                                          const char **rest)
{
    for (size_t n = strlen(now); n; n--) {
        if (now[n] && now[n] != '.')
            continue;
        const struct map_entry *e = map_find(&m->by_now, str_of(now, n));
        if (e) {
            *rest = now + n;
            return &m->lines.at[(uintptr_t)e->value - 1];
        }
    }
    return NULL;
}
