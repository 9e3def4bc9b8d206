/* SPDX-License-Identifier: Apache-2.0 */
/* A tokenizer.json, from its tree to tables: the vocabulary, the merges by pair of ids,
 * tokens that are cut out first, and the stages before and after. Ids and counts are
 * checked here, once, so that encoding can index without looking. Of a merge that stands
 * twice the first counts.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "feature/token/json_private.h"
#include "text/json.h"

#define ID_MAX 0x7fffffff

static enum rc bpe_load_bad(struct err *err, const char *what)
{
    return err_coded(err, RC_FORMAT, E1313, "%s", what);
}

static enum rc put_token(struct bpe *m, struct str text, int64_t id, int64_t *rows,
                         struct err *err)
{
    if (id < 0 || id > ID_MAX)
        return bpe_load_bad(err, "a token has an id outside of [0, 2147483647]");
    struct str own = str_of(arena_strndup(&m->mem, text.p, text.n), text.n);
    if (id >= *rows)
        *rows = id + 1;
    return vocab_put(&m->vocab, own, id, NULL, err);
}

static enum rc load_vocab(struct bpe *m, const struct node *vocab, int64_t *rows,
                          struct err *err)
{
    if (!vocab || vocab->kind != NODE_MAP || !vocab->map.n)
        return bpe_load_bad(err, "model.vocab is not an object of tokens");
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < vocab->map.n; i++) {
        int64_t id;
        if (!node_i64(vocab->map.at[i].value, &id))
            return bpe_load_bad(err, "a token of model.vocab has no integer as id");
        rc = put_token(m, vocab->map.at[i].key, id, rows, err);
    }
    for (int b = 0; b < 256; b++) {
        char text[8];
        snprintf(text, sizeof(text), "<0x%02X>", (unsigned)b);
        m->bytes[b] = vocab_find(&m->vocab, str_c(text));
    }
    return rc;
}

/* "a b" or ["a", "b"] */
static bool merge_parts(const struct node *n, struct str *a, struct str *b)
{
    if (n->kind == NODE_LIST) {
        if (n->list.n != 2 || n->list.at[0]->kind != NODE_STR ||
            n->list.at[1]->kind != NODE_STR)
            return false;
        *a = n->list.at[0]->text;
        *b = n->list.at[1]->text;
        return true;
    }
    const char *blank = n->kind == NODE_STR ? memchr(n->text.p, ' ', n->text.n) : NULL;
    if (!blank)
        return false;
    *a = str_of(n->text.p, (size_t)(blank - n->text.p));
    *b = str_of(blank + 1, n->text.n - a->n - 1);
    return true;
}

/* The same pair twice: the first counts. */
static void put_merge(struct bpe *m, int64_t a, int64_t b, size_t rank, int64_t id)
{
    uint64_t pair = (uint64_t)a << 32 | (uint64_t)b;
    uint64_t h = pair * 0x9e3779b97f4a7c15ull;
    size_t i = (size_t)(h >> 20) & (m->n_slots - 1);
    while (m->merges[i].pair != UINT64_MAX && m->merges[i].pair != pair)
        i = (i + 1) & (m->n_slots - 1);
    if (m->merges[i].pair == UINT64_MAX)
        m->merges[i] =
            (struct bpe_merge){.pair = pair, .rank = (uint32_t)rank, .id = (uint32_t)id};
}

static enum rc load_merge(struct bpe *m, const struct node *n, size_t rank,
                          struct buf *text, struct err *err)
{
    struct str a, b, rest;
    if (!merge_parts(n, &a, &b))
        return bpe_load_bad(err, "a merge is neither \"a b\" nor [\"a\", \"b\"]");
    bool cut =
        m->prefix.n && b.n >= m->prefix.n && memcmp(b.p, m->prefix.p, m->prefix.n) == 0;
    rest = cut ? str_of(b.p + m->prefix.n, b.n - m->prefix.n) : b;
    buf_clear(text);
    buf_add(text, a.p, a.n);
    buf_add(text, rest.p, rest.n);
    int64_t x = vocab_find(&m->vocab, a), y = vocab_find(&m->vocab, b);
    int64_t id = vocab_find(&m->vocab, str_of(buf_str(text), text->n));
    if (x < 0 || y < 0 || id < 0)
        return err_coded(err, RC_FORMAT, E1313,
                         "merge %zu, '%.*s' and '%.*s', has a token that is not in the "
                         "vocabulary",
                         rank + 1, (int)(a.n < 60 ? a.n : 60), a.p,
                         (int)(b.n < 60 ? b.n : 60), b.p);
    put_merge(m, x, y, rank, id);
    return RC_OK;
}

static enum rc load_merges(struct bpe *m, const struct node *merges, struct err *err)
{
    struct buf text;
    if (!merges || merges->kind != NODE_LIST)
        return bpe_load_bad(err, "model.merges is not a list");
    for (m->n_slots = 16; m->n_slots < merges->list.n * 2;)
        m->n_slots *= 2;
    m->merges = mem_try_alloc(m->n_slots, sizeof(*m->merges));
    if (!m->merges)
        return err_set(err, RC_NOMEM, "no memory for %zu merges", merges->list.n);
    for (size_t i = 0; i < m->n_slots; i++)
        m->merges[i].pair = UINT64_MAX;
    buf_init(&text, TOKEN_TEXT_MAX);
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < merges->list.n; i++)
        rc = load_merge(m, merges->list.at[i], i, &text, err);
    buf_release(&text);
    return rc;
}

static struct str own_text(struct bpe *m, const struct node *n, const char *key)
{
    const struct node *v = node_find(n, key);
    if (!v || v->kind != NODE_STR)
        return str_of("", 0);
    return str_of(arena_strndup(&m->mem, v->text.p, v->text.n), v->text.n);
}

static bool flag(const struct node *n, const char *key)
{
    const struct node *v = node_find(n, key);
    return v && v->kind == NODE_BOOL && v->flag;
}

static enum rc load_model(struct bpe *m, const struct node *n, int64_t *rows,
                          struct err *err)
{
    const struct node *type = node_find(n, "type"), *drop = node_find(n, "dropout");
    double dropout = 0;
    if (!n || n->kind != NODE_MAP)
        return bpe_load_bad(err, "no object 'model': this is not a tokenizer.json");
    if (type && type->kind == NODE_STR && !str_is(type->text, "BPE"))
        return err_coded(err, RC_UNSUPPORTED, E1313,
                         "a model of type '%.*s'; only BPE is supported",
                         (int)(type->text.n < 40 ? type->text.n : 40), type->text.p);
    if (drop && node_number(drop, &dropout) && dropout > 0)
        return err_coded(err, RC_UNSUPPORTED, E1313, "a model with dropout");
    m->prefix = own_text(m, n, "continuing_subword_prefix");
    m->suffix = own_text(m, n, "end_of_word_suffix");
    m->fuse_unk = flag(n, "fuse_unk");
    m->byte_fallback = flag(n, "byte_fallback");
    m->ignore_merges = flag(n, "ignore_merges");
    enum rc rc = load_vocab(m, node_find(n, "vocab"), rows, err);
    if (rc)
        return rc;
    struct str unk = own_text(m, n, "unk_token");
    m->unk = unk.n ? vocab_find(&m->vocab, unk) : -1;
    if (unk.n && m->unk < 0)
        return bpe_load_bad(err, "unk_token is not in the vocabulary");
    return load_merges(m, node_find(n, "merges"), err);
}

/* As the normalizer leaves it. */
static enum rc normalized(struct bpe *m, struct str *text, struct token_scratch *s,
                          struct err *err)
{
    struct token_piece all = {.n = text->n, .id = -1};
    buf_clear(&s->text);
    buf_add(&s->text, text->p, text->n);
    s->pieces.n = 0;
    VEC_PUSH(&s->pieces, all);
    enum rc rc = stages_run(&m->normal, s, err);
    if (!rc)
        *text = str_of(arena_strndup(&m->mem, buf_str(&s->text), s->text.n), s->text.n);
    return rc;
}

static enum rc load_added(struct bpe *m, const struct node *list, int64_t *rows,
                          struct err *err)
{
    size_t n = list && list->kind == NODE_LIST ? list->list.n : 0, kept[2] = {0, 0};
    struct added_token *of[2] = {
        arena_alloc(&m->mem, (n + 1) * sizeof(struct added_token)),
        arena_alloc(&m->mem, (n + 1) * sizeof(struct added_token))};
    struct token_scratch *s = token_scratch_create();
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < n; i++) {
        const struct node *t = list->list.at[i];
        struct added_token a = {.text = own_text(m, t, "content"),
                                .single_word = flag(t, "single_word"),
                                .lstrip = flag(t, "lstrip"),
                                .rstrip = flag(t, "rstrip")};
        bool normal = flag(t, "normalized");
        if (!node_find(t, "id") || !node_i64(node_find(t, "id"), &a.id) || !a.text.n) {
            rc = bpe_load_bad(err, "an added token without id or content");
            break;
        }
        rc = put_token(m, a.text, a.id, rows, err);
        if (!rc && normal)
            rc = normalized(m, &a.text, s, err);
        if (!rc && a.text.n)
            of[normal][kept[normal]++] = a;
    }
    token_scratch_destroy(s);
    added_build(&m->raw, of[0], kept[0], &m->mem);
    added_build(&m->normalized, of[1], kept[1], &m->mem);
    return rc;
}

static void load_truncation(struct bpe *m, const struct node *n)
{
    const struct node *max = node_find(n, "max_length"), *way = node_find(n, "direction");
    if (max && node_i64(max, &m->cut) && m->cut < 0)
        m->cut = 0;
    m->cut_left = way && way->kind == NODE_STR && str_is(way->text, "Left");
}

static enum rc bpe_load_load(struct tokenizer *t, const struct node *root,
                             struct err *err)
{
    struct bpe *m = t->model;
    int64_t rows = 0;
    enum rc rc = load_model(m, node_find(root, "model"), &rows, err);
    if (!rc)
        rc = stage_normalizers(m, node_find(root, "normalizer"), err);
    if (!rc)
        rc = stage_splitters(m, node_find(root, "pre_tokenizer"), err);
    if (!rc)
        rc = load_added(m, node_find(root, "added_tokens"), &rows, err);
    load_truncation(m, node_find(root, "truncation"));
    t->rows = rows;
    return rc;
}

enum rc token_json_load(struct tokenizer *t, const char *text, size_t n, struct err *err)
{
    struct doc d = {0};
    struct diags diags = {0};
    t->ops = &token_json_ops;
    t->model = mem_calloc(1, sizeof(struct bpe));
    enum rc rc = source_from("tokenizer.json", text, n, &d.src, err);
    if (!rc && json_parse(&d, &diags)) {
        const struct diag *g = diags.list.n ? &diags.list.at[0] : NULL;
        uint32_t line = 0, col = 0;
        if (g && g->at.src)
            source_locate(g->at.src, g->at.off, &line, &col);
        rc = err_coded(err, RC_FORMAT, E1313, "line %u, column %u: %s", line, col,
                       g ? g->msg : "no JSON");
    }
    if (!rc)
        rc = bpe_load_load(t, d.root, err);
    diags_release(&diags);
    doc_release(&d);
    return rc;
}
