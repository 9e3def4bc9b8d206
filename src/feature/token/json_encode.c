/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "feature/token/json_private.h"

static const struct bpe_merge *find_merge(const struct bpe *m, int64_t a, int64_t b)
{
    uint64_t pair = (uint64_t)a << 32 | (uint64_t)b;
    uint64_t h = pair * 0x9e3779b97f4a7c15ull;
    for (size_t i = (size_t)(h >> 20) & (m->n_slots - 1);;
         i = (i + 1) & (m->n_slots - 1)) {
        if (m->merges[i].pair == pair)
            return &m->merges[i];
        if (m->merges[i].pair == UINT64_MAX)
            return NULL;
    }
}

static bool known_pair(const void *model, const struct token_scratch *s, const char *base,
                       const struct token_symbol *a, const struct token_symbol *b,
                       double *rank, int64_t *id)
{
    const struct bpe_merge *found = find_merge(model, a->id, b->id);
    if (!found)
        return false;
    *rank = (double)found->rank;
    *id = (int64_t)found->id;
    return true;
}

static int64_t char_id(const struct bpe *m, struct token_scratch *s, struct str c,
                       bool first, bool last)
{
    bool prefix = !first && m->prefix.n, suffix = last && m->suffix.n;
    if (!prefix && !suffix)
        return vocab_find(&m->vocab, c);
    buf_clear(&s->word);
    if (prefix)
        buf_add(&s->word, m->prefix.p, m->prefix.n);
    buf_add(&s->word, c.p, c.n);
    if (suffix)
        buf_add(&s->word, m->suffix.p, m->suffix.n);
    return vocab_find(&m->vocab, str_of(s->word.p, s->word.n));
}

static void bpe_put(struct token_scratch *s, size_t at, size_t n, int64_t id)
{
    struct token_symbol one = {.at = at, .n = n, .id = id};
    VEC_PUSH(&s->symbols, one);
}

/* A character that the vocabulary lacks: its bytes, the unknown token, or nothing. */
static bool put_unknown(const struct bpe *m, struct token_scratch *s, struct str word,
                        size_t at, size_t n, bool after_unknown)
{
    bool all = m->byte_fallback;
    for (size_t k = 0; all && k < n; k++)
        all = m->bytes[(unsigned char)word.p[at + k]] >= 0;
    for (size_t k = 0; all && k < n; k++)
        bpe_put(s, at + k, 1, m->bytes[(unsigned char)word.p[at + k]]);
    if (all || m->unk < 0)
        return false;
    if (after_unknown && m->fuse_unk)
        s->symbols.at[s->symbols.n - 1].n += n;
    else
        bpe_put(s, at, n, m->unk);
    return true;
}

static void encode_word(const struct bpe *m, struct token_scratch *s, struct str word)
{
    int64_t whole = m->ignore_merges ? vocab_find(&m->vocab, word) : -1;
    bool unknown = false;
    if (whole >= 0) {
        VEC_PUSH(&s->ids, whole);
        return;
    }
    s->symbols.n = 0;
    for (size_t at = 0; at < word.n;) {
        int32_t c;
        size_t n = token_char(str_of(word.p + at, word.n - at), &c);
        int64_t id = char_id(m, s, str_of(word.p + at, n), at == 0, at + n == word.n);
        if (id >= 0)
            bpe_put(s, at, n, id);
        unknown = id < 0 && put_unknown(m, s, word, at, n, unknown);
        at += n;
    }
    token_merge(m, s, word.p, known_pair);
    for (int64_t i = s->symbols.n ? 0 : -1; i >= 0; i = s->symbols.at[i].next)
        VEC_PUSH(&s->ids, s->symbols.at[i].id);
}

static void truncate(const struct bpe *m, struct token_scratch *s)
{
    size_t max = (size_t)m->cut;
    if (!max || s->ids.n <= max)
        return;
    if (m->cut_left)
        memmove(s->ids.at, s->ids.at + (s->ids.n - max), max * sizeof(*s->ids.at));
    s->ids.n = max;
}

static enum rc bpe_encode(const void *model, struct token_scratch *s, struct str text,
                          struct err *err)
{
    const struct bpe *m = model;
    token_add_clean(&s->text, text);
    struct token_piece all = {.n = s->text.n, .id = -1};
    s->pieces.n = 0;
    VEC_PUSH(&s->pieces, all);
    added_run(&m->raw, s);
    enum rc rc = stages_run(&m->normal, s, err);
    if (rc)
        return rc;
    added_run(&m->normalized, s);
    rc = stages_run(&m->split, s, err);
    if (!rc)
        rc = buf_check(&s->text, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < s->pieces.n; i++) {
        const struct token_piece *p = &s->pieces.at[i];
        if (p->id >= 0)
            VEC_PUSH(&s->ids, p->id);
        else if (p->n)
            encode_word(m, s, str_of(s->text.p + p->at, p->n));
    }
    truncate(m, s);
    return RC_OK;
}

static void destroy(void *model)
{
    struct bpe *m = model;
    if (!m)
        return;
    vocab_release(&m->vocab);
    stages_release(&m->normal);
    stages_release(&m->split);
    mem_free(m->merges);
    arena_release(&m->mem);
    mem_free(m);
}

const struct tokenizer_ops token_json_ops = {.encode = bpe_encode, .destroy = destroy};
