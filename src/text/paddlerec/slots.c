/* SPDX-License-Identifier: Apache-2.0 */
#include "text/paddlerec/slots.h"

#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

#define WIDTH_MAX ((int64_t)1 << 31)

static enum rc read_dim(struct str part, struct prec_slot *s, struct err *err)
{
    int64_t dim;
    if (!str_to_i64(part, &dim) || dim < 1)
        return err_set(err, RC_FORMAT, "'%.*s' is not a size of at least 1",
                       (int)(part.n > 40 ? 40 : part.n), part.p);
    if (s->n_dims == PREC_DIMS_MAX)
        return err_set(err, RC_FORMAT, "more than %d dimensions", PREC_DIMS_MAX);
    if (dim > WIDTH_MAX / s->width)
        return err_set(err, RC_FORMAT, "more than %jd values", (intmax_t)WIDTH_MAX);
    s->dims[s->n_dims++] = dim;
    s->width *= dim;
    return RC_OK;
}

static enum rc read_dims(struct str text, struct prec_slot *s, struct err *err)
{
    struct str part;
    if (text.n == 0)
        return err_set(err, RC_FORMAT, "a size is missing behind ':'");
    if (text.p[0] != '[')
        return read_dim(text, s, err);
    if (text.n < 3 || text.p[text.n - 1] != ']')
        return err_set(err, RC_FORMAT,
                       "'[' is not closed; sizes are written [2,3], without blanks");
    text = str_of(text.p + 1, text.n - 2);
    while (str_split(&text, ',', &part)) {
        enum rc rc = read_dim(part, s, err);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc read_slot(struct str word, bool dense, struct arena *a,
                         struct prec_slot *s, struct err *err)
{
    const char *colon = memchr(word.p, ':', word.n);
    struct str name = colon ? str_of(word.p, (size_t)(colon - word.p)) : word;
    if (name.n == 0)
        return err_set(err, RC_FORMAT, "a slot without a name");
    s->name = arena_strndup(a, name.p, name.n);
    s->width = 1;
    if (!dense)
        return colon ? err_set(err, RC_FORMAT,
                               "'%s': a sparse slot has a name only, no ':'", s->name)
                     : RC_OK;
    if (!colon)
        return err_set(err, RC_FORMAT, "'%s': a dense slot is written name:size",
                       s->name);
    enum rc rc = read_dims(str_of(colon + 1, word.n - name.n - 1), s, err);
    return rc ? err_wrap(err, rc, "'%s'", s->name) : RC_OK;
}

/* Cuts the next word off *rest. */
static bool next_word(struct str *rest, struct str *word)
{
    while (rest->n && isspace((unsigned char)*rest->p))
        *rest = str_of(rest->p + 1, rest->n - 1);
    size_t n = 0;
    while (n < rest->n && !isspace((unsigned char)rest->p[n]))
        n++;
    *word = str_of(rest->p, n);
    *rest = str_of(rest->p + n, rest->n - n);
    return n > 0;
}

enum rc prec_slots_parse(struct str text, bool dense, struct arena *a,
                         struct prec_slots *out, size_t *bad, size_t *bad_len,
                         struct err *err)
{
    VEC(struct prec_slot) list = {0};
    struct map seen = {0};
    struct str rest = text, word;
    enum rc rc = RC_OK;
    while (next_word(&rest, &word)) {
        struct prec_slot s = {.off = (size_t)(word.p - text.p), .len = word.n};
        *bad = s.off;
        *bad_len = s.len;
        rc = read_slot(word, dense, a, &s, err);
        if (rc)
            goto out;
        struct map_entry *e = map_put(&seen, str_c(s.name));
        if (e->value) {
            rc = err_set(err, RC_FORMAT, "'%s' occurs twice here", s.name);
            goto out;
        }
        if (list.n == PREC_SLOTS_MAX) {
            rc = err_set(err, RC_FORMAT, "more than %d slots", PREC_SLOTS_MAX);
            goto out;
        }
        e->value = a;
        VEC_PUSH(&list, s);
    }
    struct prec_slot *all = arena_alloc(a, (list.n + 1) * sizeof(*all));
    if (list.n)
        memcpy(all, list.at, list.n * sizeof(*all));
    *out = (struct prec_slots){.at = all, .n = list.n};
out:
    map_release(&seen);
    VEC_RELEASE(&list);
    return rc;
}
