/* SPDX-License-Identifier: Apache-2.0 */
#include "feature/token/token.h"

#include <utf8proc.h>

#include "base/fs.h"
#include "base/mem.h"
#include "feature/token/token_private.h"

#define FILE_MAX ((size_t)64 << 20)
#define MATCH_LIMIT 1000000 /* steps of a regular expression */

enum rc tokenizer_from(const void *bytes, size_t n, enum tokenizer_kind kind,
                       struct tokenizer **out, struct err *err)
{
    struct tokenizer *t = mem_calloc(1, sizeof(*t));
    enum rc rc = kind == TOKENIZER_BPE ? token_json_load(t, bytes, n, err)
                                       : token_sp_load(t, bytes, n, err);
    if (rc) {
        tokenizer_close(t);
        return rc;
    }
    *out = t;
    return RC_OK;
}

enum rc tokenizer_open(const char *path, enum tokenizer_kind kind, struct tokenizer **out,
                       struct err *err)
{
    char *bytes = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, FILE_MAX, &bytes, &n, err);
    if (rc)
        return rc; /* the message names the file */
    rc = tokenizer_from(bytes, n, kind, out, err);
    mem_free(bytes);
    return rc ? err_wrap(err, rc, "'%s'", path) : RC_OK;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    if (t->ops)
        t->ops->destroy(t->model);
    mem_free(t);
}

int64_t tokenizer_rows(const struct tokenizer *t)
{
    return t->rows;
}

struct token_scratch *token_scratch_create(void)
{
    struct token_scratch *s = mem_calloc(1, sizeof(*s));
    buf_init(&s->text, TOKEN_TEXT_MAX);
    buf_init(&s->next, TOKEN_TEXT_MAX);
    buf_init(&s->word, TOKEN_TEXT_MAX);
    s->match = pcre2_match_data_create(1, NULL);
    s->limits = pcre2_match_context_create(NULL);
    if (s->limits)
        pcre2_set_match_limit(s->limits, MATCH_LIMIT);
    return s;
}

void token_scratch_destroy(struct token_scratch *s)
{
    if (!s)
        return;
    buf_release(&s->text);
    buf_release(&s->next);
    buf_release(&s->word);
    VEC_RELEASE(&s->pieces);
    VEC_RELEASE(&s->made);
    VEC_RELEASE(&s->symbols);
    VEC_RELEASE(&s->heap);
    VEC_RELEASE(&s->best);
    VEC_RELEASE(&s->ids);
    VEC_RELEASE(&s->codes);
    pcre2_match_data_free(s->match);
    pcre2_match_context_free(s->limits);
    mem_free(s);
}

enum rc tokenizer_encode(const struct tokenizer *t, struct token_scratch *s,
                         struct str text, const int64_t **ids, size_t *n, struct err *err)
{
    s->ids.n = 0;
    buf_clear(&s->text);
    enum rc rc = text.n ? t->ops->encode(t->model, s, text, err) : RC_OK;
    if (!rc)
        rc = buf_check(&s->text, err);
    if (rc)
        return rc;
    *ids = s->ids.at;
    *n = s->ids.n;
    return RC_OK;
}

size_t token_char(struct str s, int32_t *c)
{
    utf8proc_int32_t code;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)s.p, (utf8proc_ssize_t)s.n, &code);
    *c = n > 0 ? code : -1;
    return n > 0 ? (size_t)n : 1;
}

void token_put_char(struct buf *to, int32_t c)
{
    utf8proc_uint8_t out[4];
    utf8proc_ssize_t n = utf8proc_encode_char(c, out);
    buf_add(to, out, (size_t)n);
}

void token_add_clean(struct buf *to, struct str s)
{
    size_t start = 0, i = 0;
    while (i < s.n) {
        int32_t c;
        size_t n = (unsigned char)s.p[i] < 0x80
                       ? (c = s.p[i], (size_t)1)
                       : token_char(str_of(s.p + i, s.n - i), &c);
        if (c < 0) {
            buf_add(to, s.p + start, i - start);
            buf_puts(to, "\xef\xbf\xbd");
            start = i + n;
        }
        i += n;
    }
    buf_add(to, s.p + start, s.n - start);
}
