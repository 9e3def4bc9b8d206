/* SPDX-License-Identifier: Apache-2.0 */
/* The model is a protobuf message: pieces (1), how it was trained (2), its normalizer
 * (3). Only the fields that change the result are looked at.
 */
#include <float.h>
#include <string.h>

#include "base/mem.h"
#include "feature/token/sp_private.h"

/* What is left of a message. */
struct wire {
    const uint8_t *p, *end;
};

struct field {
    uint32_t number;
    uint64_t value;     /* varint, fixed */
    struct wire inside; /* length-delimited */
    bool is_bytes;
};

static bool sp_load_varint(struct wire *w, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && w->p < w->end; shift += 7) {
        uint8_t b = *w->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool fixed(struct wire *w, size_t n, uint64_t *out)
{
    if ((size_t)(w->end - w->p) < n)
        return false;
    *out = 0;
    memcpy(out, w->p, n);
    w->p += n;
    return true;
}

static bool next_field(struct wire *w, struct field *f)
{
    uint64_t key, n;
    if (!sp_load_varint(w, &key))
        return false;
    *f = (struct field){.number = (uint32_t)(key >> 3)};
    switch (key & 7) {
    case 0:
        return sp_load_varint(w, &f->value);
    case 1:
        return fixed(w, 8, &f->value);
    case 5:
        return fixed(w, 4, &f->value);
    case 2:
        if (!sp_load_varint(w, &n) || n > (size_t)(w->end - w->p))
            return false;
        f->inside = (struct wire){w->p, w->p + n};
        f->is_bytes = true;
        w->p += n;
        return true;
    default:
        return false;
    }
}

static enum rc sp_load_bad(struct err *err, const char *what)
{
    return err_coded(err, RC_FORMAT, E1313, "%s", what);
}

static const char broken[] = "this is not a sentencepiece model, or a damaged one";

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, sizeof(v));
    return v;
}

static enum rc load_piece(struct sp *m, struct wire w, struct err *err)
{
    struct sp_piece *p = &m->at[m->n];
    struct field f;
    *p = (struct sp_piece){.type = SP_NORMAL};
    while (w.p < w.end) {
        if (!next_field(&w, &f))
            return sp_load_bad(err, broken);
        if (f.number == 1 && f.is_bytes) {
            size_t n = (size_t)(f.inside.end - f.inside.p);
            p->text = str_of(arena_strndup(&m->mem, (const char *)f.inside.p, n), n);
        } else if (f.number == 2) {
            p->score = float_of(f.value);
        } else if (f.number == 3) {
            if (f.value < SP_NORMAL || f.value > SP_BYTE)
                return sp_load_bad(err, "a piece of an unknown type");
            p->type = (enum sp_type)f.value;
        }
    }
    m->n++;
    return RC_OK;
}

static enum rc load_trainer(struct sp *m, struct wire w, struct err *err)
{
    struct field f;
    while (w.p < w.end) {
        if (!next_field(&w, &f))
            return sp_load_bad(err, broken);
        if (f.number == 3 && f.value != SP_UNIGRAM && f.value != SP_BPE)
            return err_coded(err, RC_UNSUPPORTED, E1313,
                             "a model of kind %ju; unigram (1) and BPE (2) are supported",
                             (uintmax_t)f.value);
        if (f.number == 3)
            m->model = (enum sp_model)f.value;
        else if (f.number == 24)
            m->blank_behind = f.value != 0;
        else if (f.number == 35)
            m->byte_fallback = f.value != 0;
    }
    return RC_OK;
}

/* Bytes of the double array, the double array, texts. */
static enum rc load_table(struct sp *m, struct wire w, struct err *err)
{
    size_t n = (size_t)(w.end - w.p);
    uint32_t bytes = 0;
    if (!n)
        return RC_OK;
    if (n >= 4)
        memcpy(&bytes, w.p, 4);
    if (n < 4 || bytes > n - 4 || bytes % 4 || !bytes)
        return sp_load_bad(err, "the model's table of characters is damaged");
    uint32_t *trie = arena_try_alloc(&m->mem, bytes / 4, 4);
    if (!trie)
        return err_set(err, RC_NOMEM, "no memory for %u bytes", (unsigned)bytes);
    memcpy(trie, w.p + 4, bytes);
    m->trie = trie;
    m->n_trie = bytes / 4;
    m->pool.n = n - 4 - bytes;
    m->pool.p = arena_strndup(&m->mem, (const char *)w.p + 4 + bytes, m->pool.n);
    return RC_OK;
}

static enum rc load_normalizer(struct sp *m, struct wire w, struct err *err)
{
    struct field f;
    enum rc rc = RC_OK;
    while (!rc && w.p < w.end) {
        if (!next_field(&w, &f))
            return sp_load_bad(err, broken);
        if (f.number == 2 && f.is_bytes)
            rc = load_table(m, f.inside, err);
        else if (f.number == 3)
            m->dummy_prefix = f.value != 0;
        else if (f.number == 4)
            m->squeeze = f.value != 0;
        else if (f.number == 5)
            m->escape = f.value != 0;
    }
    return rc;
}

uint32_t sp_step(const struct sp *m, uint32_t node, uint8_t byte)
{
    if (!node)
        return m->root[byte];
    for (uint32_t i = m->tree.at[node].kid; i; i = m->tree.at[i].next)
        if (m->tree.at[i].byte == byte)
            return i;
    return 0;
}

static void plant(struct sp *m, struct str text, int32_t id)
{
    uint32_t node = 0;
    for (size_t i = 0; i < text.n; i++) {
        uint8_t byte = (uint8_t)text.p[i];
        uint32_t kid = sp_step(m, node, byte);
        if (!kid) {
            struct sp_node fresh = {.id = -1, .byte = byte};
            kid = (uint32_t)m->tree.n;
            if (node) {
                fresh.next = m->tree.at[node].kid;
                m->tree.at[node].kid = kid;
            } else {
                m->root[byte] = kid;
            }
            VEC_PUSH(&m->tree, fresh);
        }
        node = kid;
    }
    if (node && m->tree.at[node].id < 0)
        m->tree.at[node].id = id;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool byte_piece(struct str s, int *byte)
{
    if (s.n != 6 || memcmp(s.p, "<0x", 3) != 0 || s.p[5] != '>' || hex(s.p[3]) < 0 ||
        hex(s.p[4]) < 0)
        return false;
    *byte = hex(s.p[3]) * 16 + hex(s.p[4]);
    return true;
}

/* Which pieces a text may be cut into. */
static enum rc index_pieces(struct sp *m, struct err *err)
{
    struct sp_node nothing = {.id = -1};
    bool any = false;
    enum rc rc = RC_OK;
    VEC_PUSH(&m->tree, nothing); /* so that 0 means none */
    memset(m->bytes, 0xff, sizeof(m->bytes));
    m->unk = -1;
    m->max_score = FLT_MIN; /* scores are logarithms: the library's largest is this */
    for (size_t i = 0; !rc && i < m->n; i++) {
        const struct sp_piece *p = &m->at[i];
        int byte;
        if (p->type == SP_UNKNOWN)
            m->unk = (int64_t)i;
        if (p->type == SP_BYTE && byte_piece(p->text, &byte))
            m->bytes[byte] = (int64_t)i;
        if (p->type == SP_UNUSED && m->model == SP_BPE)
            return err_coded(err, RC_UNSUPPORTED, E1313,
                             "a BPE model with unused pieces");
        if ((p->type != SP_NORMAL && p->type != SP_USER && p->type != SP_UNUSED) ||
            !p->text.n)
            continue;
        m->has_user = m->has_user || p->type == SP_USER;
        plant(m, p->text, (int32_t)i);
        rc = vocab_put(&m->vocab, p->text, (int64_t)i, NULL, err);
        if (p->type != SP_NORMAL)
            continue;
        m->min_score = !any || p->score < m->min_score ? p->score : m->min_score;
        m->max_score = p->score > m->max_score ? p->score : m->max_score;
        any = true;
    }
    if (!rc && m->unk < 0)
        return sp_load_bad(err, "the model has no piece for unknown text");
    for (int b = 0; !rc && m->byte_fallback && b < 256; b++)
        if (m->bytes[b] < 0)
            return sp_load_bad(err,
                               "the model falls back to bytes, and lacks pieces of some");
    return rc;
}

static enum rc sp_load_load(struct sp *m, struct wire w, struct err *err)
{
    struct wire count = w;
    struct field f;
    size_t n = 0;
    while (count.p < count.end) {
        if (!next_field(&count, &f))
            return sp_load_bad(err, broken);
        n += f.number == 1 && f.is_bytes;
    }
    if (!n || n > INT32_MAX)
        return sp_load_bad(err, broken);
    m->at = arena_try_alloc(&m->mem, n, sizeof(*m->at));
    if (!m->at)
        return err_set(err, RC_NOMEM, "no memory for %zu pieces", n);
    enum rc rc = RC_OK;
    while (!rc && w.p < w.end && next_field(&w, &f)) {
        if (!f.is_bytes)
            continue;
        rc = f.number == 1   ? load_piece(m, f.inside, err)
             : f.number == 2 ? load_trainer(m, f.inside, err)
             : f.number == 3 ? load_normalizer(m, f.inside, err)
                             : RC_OK;
    }
    return rc ? rc : index_pieces(m, err);
}

enum rc token_sp_load(struct tokenizer *t, const uint8_t *bytes, size_t n,
                      struct err *err)
{
    struct sp *m = mem_calloc(1, sizeof(*m));
    m->model = SP_UNIGRAM;
    m->dummy_prefix = m->squeeze = m->escape = true;
    t->ops = &token_sp_ops;
    t->model = m;
    enum rc rc = sp_load_load(m, (struct wire){bytes, bytes + n}, err);
    t->rows = (int64_t)m->n;
    return rc;
}
