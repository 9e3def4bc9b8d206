/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing over an array in order of insertion. */
#include "feature/vocab.h"

#include <stdint.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"

#define VOCAB_FILE_MAX ((size_t)8 << 30)

void vocab_release(struct vocab *v)
{
    mem_free(v->at);
    mem_free(v->slots);
    mem_free(v->text);
    *v = (struct vocab){.max_id = -1};
}

static enum rc vocab_grow(struct vocab *v, struct err *err)
{
    size_t cap = v->cap ? v->cap * 2 : 16, n_slots = cap * 2;
    struct vocab_entry *at = mem_try_realloc(v->at, cap, sizeof(*at));
    uint32_t *slots = at ? mem_try_calloc(n_slots, sizeof(*slots)) : NULL;
    if (at)
        v->at = at;
    if (!slots || cap > UINT32_MAX / 2) {
        mem_free(slots);
        return err_set(err, RC_NOMEM, "no memory for a vocabulary of %zu words", v->n);
    }
    for (size_t i = 0; i < v->n; i++) {
        size_t s = v->at[i].hash & (n_slots - 1);
        while (slots[s])
            s = (s + 1) & (n_slots - 1);
        slots[s] = (uint32_t)i + 1;
    }
    mem_free(v->slots);
    v->slots = slots;
    v->n_slots = n_slots;
    v->cap = cap;
    return RC_OK;
}

/* The slot of `text`, or the free one where it belongs. */
static size_t find_slot(const struct vocab *v, struct str text, uint64_t hash)
{
    size_t s = hash & (v->n_slots - 1);
    for (; v->slots[s]; s = (s + 1) & (v->n_slots - 1)) {
        const struct vocab_entry *e = &v->at[v->slots[s] - 1];
        if (e->hash == hash && str_eq(e->text, text))
            break;
    }
    return s;
}

enum rc vocab_put(struct vocab *v, struct str text, int64_t id, int64_t *old,
                  struct err *err)
{
    uint64_t hash = hash_xxh3(text.p, text.n);
    enum rc rc = v->n == v->cap ? vocab_grow(v, err) : RC_OK;
    if (rc)
        return rc;
    size_t s = find_slot(v, text, hash);
    if (old)
        *old = v->slots[s] ? v->at[v->slots[s] - 1].id : -1;
    if (!v->slots[s]) {
        v->at[v->n] = (struct vocab_entry){.text = text, .hash = hash};
        v->slots[s] = (uint32_t)++v->n;
    }
    v->at[v->slots[s] - 1].id = id;
    if (v->n == 1 || id > v->max_id)
        v->max_id = id;
    return RC_OK;
}

int64_t vocab_find(const struct vocab *v, struct str text)
{
    if (v->n == 0)
        return -1;
    size_t s = find_slot(v, text, hash_xxh3(text.p, text.n));
    return v->slots[s] ? v->at[v->slots[s] - 1].id : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static enum rc read_line(struct vocab *v, struct str line, int64_t index, struct err *err)
{
    size_t n = 0;
    while (n < line.n && !is_blank(line.p[n]))
        n++;
    struct str word = str_of(line.p, n);
    struct str number = str_trim(str_of(line.p + n, line.n - n));
    int64_t id = index, old;
    if (number.n && (!str_to_i64(number, &id) || id < 0))
        return err_coded(err, RC_FORMAT, E1309, "line %jd: '%.*s' is not an id",
                         (intmax_t)index + 1, (int)(number.n < 60 ? number.n : 60),
                         number.p);
    enum rc rc = vocab_put(v, word, id, &old, err);
    if (!rc && old >= 0 && old != id)
        rc = err_coded(err, RC_FORMAT, E1309, "line %jd: '%.*s' appears twice",
                       (intmax_t)index + 1, (int)(n < 60 ? n : 60), line.p);
    return rc;
}

/* Of v->text, which holds n bytes. */
static enum rc read_lines(struct vocab *v, size_t n, struct err *err)
{
    struct str rest = str_of(v->text, n), line;
    enum rc rc = RC_OK;
    for (int64_t i = 0; !rc && str_split(&rest, '\n', &line); i++) {
        line = str_trim(line);
        if (line.n)
            rc = read_line(v, line, i, err);
    }
    return rc;
}

enum rc vocab_read(struct vocab *v, const char *path, struct err *err)
{
    size_t n;
    enum rc rc = fs_read(path, VOCAB_FILE_MAX, &v->text, &n, err);
    if (rc)
        return rc;
    rc = read_lines(v, n, err);
    return rc ? err_wrap(err, rc, "vocabulary '%s'", path) : RC_OK;
}

enum rc vocab_parse(struct vocab *v, const char *text, size_t n, struct err *err)
{
    v->text = mem_alloc(n + 1);
    memcpy(v->text, text, n);
    v->text[n] = '\0';
    return read_lines(v, n, err);
}
