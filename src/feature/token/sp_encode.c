/* SPDX-License-Identifier: Apache-2.0 */
/* Unigram models: the way through the text whose pieces have the largest sum of scores.
 * BPE models: the neighbours that form the piece with the best score are merged first.
 */
#include "base/mem.h"
#include "feature/token/sp_private.h"

#define UNKNOWN_PENALTY 10.0f

static void sp_give(const struct sp *m, struct token_scratch *s, struct str piece,
                    int64_t id, bool *after_unknown)
{
    bool unknown = id == m->unk;
    if (unknown && m->byte_fallback) {
        for (size_t i = 0; i < piece.n; i++)
            VEC_PUSH(&s->ids, m->bytes[(uint8_t)piece.p[i]]);
    } else if (!unknown || !*after_unknown) { /* neighbouring unknown pieces are one */
        VEC_PUSH(&s->ids, id);
    }
    *after_unknown = unknown;
}

/* In float, as the library does: where two ways are equally good, rounding decides. */
static void improve(struct token_scratch *s, size_t from, size_t to, int64_t id,
                    float score)
{
    struct token_best *b = &s->best.at[to];
    float sum = score + s->best.at[from].score;
    if (b->from < 0 || sum > b->score)
        *b = (struct token_best){.score = sum, .from = (int64_t)from, .id = id};
}

/* All pieces that begin at `at`. */
static void pieces_at(const struct sp *m, struct token_scratch *s, struct str t,
                      size_t at)
{
    int32_t c;
    size_t one = token_char(str_of(t.p + at, t.n - at), &c);
    uint32_t node = 0;
    bool single = false;
    for (size_t i = at; i < t.n; i++) {
        node = sp_step(m, node, (uint8_t)t.p[i]);
        if (!node)
            break;
        int32_t id = m->tree.at[node].id;
        size_t n = i + 1 - at;
        if (id < 0 || m->at[id].type == SP_UNUSED)
            continue;
        float score = m->at[id].type == SP_USER
                          ? (float)((double)((float)n * m->max_score) - 0.1)
                          : m->at[id].score;
        improve(s, at, i + 1, id, score);
        single = single || n == one;
    }
    if (!single)
        improve(s, at, at + one, m->unk, m->min_score - UNKNOWN_PENALTY);
}

static void unigram(const struct sp *m, struct token_scratch *s, struct str t)
{
    struct token_best none = {.from = -1};
    bool unknown = false;
    int32_t c;
    s->best.n = 0;
    for (size_t i = 0; i <= t.n; i++)
        VEC_PUSH(&s->best, none);
    for (size_t at = 0; at < t.n;) {
        pieces_at(m, s, t, at);
        at += token_char(str_of(t.p + at, t.n - at), &c);
    }
    /* Backwards through the text; the places are linked the other way in `id` order. */
    s->symbols.n = 0;
    for (size_t end = t.n; end > 0; end = (size_t)s->best.at[end].from) {
        const struct token_best *b = &s->best.at[end];
        struct token_symbol one = {
            .at = (size_t)b->from, .n = end - (size_t)b->from, .id = b->id};
        VEC_PUSH(&s->symbols, one);
    }
    for (size_t i = s->symbols.n; i-- > 0;) {
        const struct token_symbol *y = &s->symbols.at[i];
        sp_give(m, s, str_of(t.p + y->at, y->n), y->id, &unknown);
    }
}

static bool known_pair(const void *model, const struct token_scratch *s, const char *base,
                       const struct token_symbol *a, const struct token_symbol *b,
                       double *rank, int64_t *id)
{
    const struct sp *m = model;
    if (a->id == -2 || b->id == -2) /* user-defined: never merged */
        return false;
    *id = vocab_find(&m->vocab, str_of(base + a->at, a->n + b->n));
    if (*id < 0)
        return false;
    *rank = -(double)m->at[*id].score;
    return true;
}

static void bpe(const struct sp *m, struct token_scratch *s, struct str t)
{
    bool unknown = false;
    s->symbols.n = 0;
    for (size_t at = 0; at < t.n;) {
        int32_t c;
        struct str rest = str_of(t.p + at, t.n - at);
        size_t user = sp_user_piece(m, rest), n = user ? user : token_char(rest, &c);
        struct token_symbol one = {.at = at, .n = n, .id = user ? -2 : -1};
        VEC_PUSH(&s->symbols, one);
        at += n;
    }
    token_merge(m, s, t.p, known_pair);
    for (int64_t i = s->symbols.n ? 0 : -1; i >= 0; i = s->symbols.at[i].next) {
        struct str piece = str_of(t.p + s->symbols.at[i].at, s->symbols.at[i].n);
        int64_t id = vocab_find(&m->vocab, piece);
        sp_give(m, s, piece, id < 0 ? m->unk : id, &unknown);
    }
}

static enum rc sp_encode_text(const void *model, struct token_scratch *s, struct str text,
                              struct err *err)
{
    const struct sp *m = model;
    buf_clear(&s->next);
    token_add_clean(&s->next, text);
    sp_normalize(m, str_of(buf_str(&s->next), s->next.n), &s->text);
    enum rc rc = buf_check(&s->next, err);
    if (!rc)
        rc = buf_check(&s->text, err);
    if (rc || !s->text.n)
        return rc;
    struct str t = str_of(s->text.p, s->text.n);
    if (m->model == SP_UNIGRAM)
        unigram(m, s, t);
    else
        bpe(m, s, t);
    return RC_OK;
}

static void destroy(void *model)
{
    struct sp *m = model;
    if (!m)
        return;
    vocab_release(&m->vocab);
    VEC_RELEASE(&m->tree);
    arena_release(&m->mem);
    mem_free(m);
}

const struct tokenizer_ops token_sp_ops = {.encode = sp_encode_text, .destroy = destroy};
