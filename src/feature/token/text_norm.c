/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the characters. The order is fixed: width, script, case, filter, blanks.
 */
#include "feature/token/text_norm.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "feature/token/token_private.h"

#define STOPS_MAX ((size_t)1 << 20)

static const struct {
    uint16_t from, to;
} simplified[] = {
#define HAN(from, to) {from, to},
#include "feature/token/simplified.def"
#undef HAN
};

static int by_code(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

enum rc feature_text_norm_stops(struct feature_text_norm *t, const char *path,
                                struct err *err)
{
    VEC(int32_t) found = {0};
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, STOPS_MAX, &text, &n, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n;) {
        int32_t c;
        i += token_char(str_of(text + i, n - i), &c);
        if (c >= 0 && c != '\n' && c != '\r')
            VEC_PUSH(&found, c);
    }
    mem_free(text);
    if (!found.n)
        return err_set(err, RC_FORMAT, "'%s' holds no characters", path);
    qsort(found.at, found.n, sizeof(*found.at), by_code);
    t->stops = found.at;
    t->n_stops = found.n;
    return RC_OK;
}

void feature_text_norm_release(struct feature_text_norm *t)
{
    mem_free(t->stops);
    *t = (struct feature_text_norm){0};
}

static int32_t simplify(int32_t c)
{
    size_t lo = 0, hi = ARRAY_LEN(simplified);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (simplified[mid].from < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < ARRAY_LEN(simplified) && simplified[lo].from == c ? simplified[lo].to : c;
}

static bool is_stop(const struct feature_text_norm *t, int32_t c)
{
    if (t->n_stops)
        return bsearch(&c, t->stops, t->n_stops, sizeof(c), by_code) != NULL;
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_SO;
}

static bool is_blank(int32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') ||
           (c > 0x7f && utf8proc_category(c) == UTF8PROC_CATEGORY_ZS);
}

static bool is_han(int32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x3134f) || (c >= 0xf900 && c <= 0xfaff);
}

static int32_t changed(const struct feature_text_norm *t, int32_t c)
{
    if (t->half_width && c >= 0xff01 && c <= 0xff5e)
        c -= 0xff01 - '!';
    else if (t->half_width && c == 0x3000)
        c = ' ';
    if (t->simplified && c >= 0x3400)
        c = simplify(c);
    if (t->upper)
        c = utf8proc_toupper(c);
    if (t->lower)
        c = utf8proc_tolower(c);
    return c;
}

static bool is_long(const struct feature_text_norm *t, struct str in)
{
    size_t chars = 0;
    for (size_t i = 0; t->max_chars && i < in.n && chars <= t->max_chars; i++)
        chars += ((unsigned char)in.p[i] & 0xc0) != 0x80;
    return t->max_chars && chars > t->max_chars;
}

void feature_text_norm_run(const struct feature_text_norm *t, struct str in,
                           struct buf *out)
{
    buf_clear(out);
    if (is_long(t, in)) {
        buf_add(out, in.p, in.n);
        return;
    }
    for (size_t i = 0; i < in.n;) {
        int32_t c;
        i += token_char(str_of(in.p + i, in.n - i), &c);
        c = c < 0 ? 0xfffd : changed(t, c);
        if ((t->filter && is_stop(t, c)) || (t->no_blanks && is_blank(c)))
            continue;
        bool apart = t->split_chars && is_han(c);
        if (apart && out->n && out->p[out->n - 1] != ' ')
            buf_putc(out, ' ');
        token_put_char(out, c);
        if (apart && i < in.n)
            buf_putc(out, ' ');
    }
    while (t->split_chars && out->n && out->p[out->n - 1] == ' ')
        out->n--;
}
