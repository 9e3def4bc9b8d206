/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionaries of a file hold each text once. Its ids are found out when it is met first
 * and kept as long as the same dictionary comes back; our reference makes sure that
 * nobody fills its memory with another one meanwhile.
 */
#include <string.h>

#include "feature/feature_private.h"

void memo_release(struct fg_memo *m)
{
    dict_unref(m->dict);
    feature_mem_release(&m->slot);
    VEC_RELEASE(&m->spans);
    VEC_RELEASE(&m->ids);
    *m = (struct fg_memo){0};
}

enum rc memo_use(struct fg_run *x, struct fg_memo *m, struct dict *dict)
{
    if (m->dict == dict)
        return RC_OK;
    size_t n = (size_t)dict->values.n;
    dict_unref(m->dict);
    m->dict = NULL;
    if (!feature_mem_room(&m->slot, n + 1, sizeof(int64_t)))
        return fg_nomem(x);
    memset(m->slot.p, 0xff, (n + 1) * sizeof(int64_t)); /* MEMO_NEW */
    m->spans.n = m->ids.n = 0;
    m->dict = dict_ref(dict);
    return RC_OK;
}

static enum rc add_id(struct fg_run *x, struct fg_memo *m, struct str s)
{
    int64_t id;
    if (!s.n)
        return RC_OK;
    if (!bucket_text(&x->f->bucket, s, &id))
        return fg_fail(x, NULL, RC_FORMAT, E1304, "'%.*s' is not an integer", SHOWN(s));
    VEC_PUSH(&m->ids, id);
    return RC_OK;
}

static enum rc find_out(struct fg_run *x, struct fg_memo *m, uint32_t code, bool split)
{
    struct str rest = column_str(&m->dict->values, code), part = rest;
    size_t begin = m->ids.n;
    enum rc rc = RC_OK;
    if (!split)
        rc = add_id(x, m, rest);
    while (split && !rc && str_split(&rest, x->f->sep, &part))
        rc = add_id(x, m, part);
    if (rc) {
        m->ids.n = begin;
        return rc;
    }
    int64_t *slot = (int64_t *)m->slot.p + code;
    if (m->ids.n - begin == 1 && m->ids.at[begin] >= 0) {
        *slot = m->ids.at[--m->ids.n];
        return RC_OK;
    }
    struct fg_range span = {(int64_t)begin, (int64_t)m->ids.n};
    *slot = -2 - (int64_t)m->spans.n;
    VEC_PUSH(&m->spans, span);
    return RC_OK;
}

enum rc memo_sink(struct fg_run *x, struct fg_memo *m, uint32_t code, bool split)
{
    const int64_t *slot = (const int64_t *)m->slot.p + code;
    enum rc rc = UNLIKELY(*slot == MEMO_NEW) ? find_out(x, m, code, split) : RC_OK;
    if (rc)
        return rc;
    const int64_t *ids = slot;
    int64_t n = 1;
    if (UNLIKELY(*slot < MEMO_NEW)) {
        struct fg_range r = m->spans.at[-2 - *slot];
        n = r.end - r.begin;
        if (n == 0)
            return RC_OK;
        ids = m->ids.at + r.begin;
    }
    rc = sink_room(x, n);
    if (rc)
        return rc;
    int64_t *to = (int64_t *)x->out->own_ids.p + x->n;
    for (int64_t i = 0; i < n; i++)
        to[i] = ids[i];
    x->n += n;
    return RC_OK;
}
