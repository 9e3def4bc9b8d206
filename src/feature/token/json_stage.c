/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizers and pre-tokenizers. Most pre-tokenizers are a regular expression and a way
 * to treat its matches.
 */
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "feature/token/json_private.h"

#define META "\xe2\x96\x81" /* U+2581, stands for a blank */
#define RUST_WORD "\\p{L}\\p{Nl}\\p{M}\\p{Nd}\\p{Pc}"
#define GPT2                                                                         \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|" \
    "\\s+"

void stage_emit(struct token_scratch *s, struct str piece)
{
    struct token_piece p = {.at = s->next.n, .n = piece.n, .id = -1};
    buf_add(&s->next, piece.p, piece.n);
    VEC_PUSH(&s->made, p);
}

static void close_piece(struct token_scratch *s, size_t at)
{
    struct token_piece p = {.at = at, .n = s->next.n - at, .id = -1};
    VEC_PUSH(&s->made, p);
}

static bool is_ascii(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

static enum rc run_form(const struct stage *st, struct token_scratch *s, struct str in,
                        bool first, struct err *err)
{
    utf8proc_option_t form = (utf8proc_option_t)st->unicode_form;
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)in.p;
    if (is_ascii(in)) {
        stage_emit(s, in);
        return RC_OK;
    }
    utf8proc_ssize_t n = 0, room = (utf8proc_ssize_t)s->codes.cap;
    for (;;) {
        n = utf8proc_decompose(text, (utf8proc_ssize_t)in.n, s->codes.at, room, form);
        if (n < 0)
            return err_set(err, RC_NOMEM, "%zu bytes of text cannot be normalised", in.n);
        if (n < room) /* one more, for the end that the next call may write */
            break;
        room = n + 1;
        s->codes.at = mem_realloc(s->codes.at, (size_t)room, sizeof(*s->codes.at));
        s->codes.cap = (size_t)room;
    }
    n = utf8proc_reencode(s->codes.at, n, form); /* in place */
    stage_emit(s, str_of((const char *)s->codes.at, n > 0 ? (size_t)n : 0));
    return RC_OK;
}

static enum rc run_lower(const struct stage *st, struct token_scratch *s, struct str in,
                         bool first, struct err *err)
{
    size_t begin = s->next.n;
    for (size_t at = 0; at < in.n;) {
        int32_t c;
        at += token_char(str_of(in.p + at, in.n - at), &c);
        if (c == 0x130)
            buf_puts(&s->next, "i\xcc\x87"); /* the one letter that becomes two */
        else
            token_put_char(&s->next, utf8proc_tolower(c));
    }
    close_piece(s, begin);
    return RC_OK;
}

static enum rc run_no_marks(const struct stage *st, struct token_scratch *s,
                            struct str in, bool first, struct err *err)
{
    size_t begin = s->next.n;
    for (size_t at = 0; at < in.n;) {
        int32_t c;
        size_t n = token_char(str_of(in.p + at, in.n - at), &c);
        utf8proc_category_t k = utf8proc_category(c);
        if (k != UTF8PROC_CATEGORY_MN && k != UTF8PROC_CATEGORY_MC &&
            k != UTF8PROC_CATEGORY_ME)
            buf_add(&s->next, in.p + at, n);
        at += n;
    }
    close_piece(s, begin);
    return RC_OK;
}

static enum rc run_strip(const struct stage *st, struct token_scratch *s, struct str in,
                         bool first, struct err *err)
{
    struct str t = str_trim(in);
    size_t left = st->left ? (size_t)(t.p - in.p) : 0;
    size_t right = st->right ? (size_t)(t.p - in.p) + t.n : in.n;
    stage_emit(s, str_of(in.p + left, right > left ? right - left : 0));
    return RC_OK;
}

static enum rc run_prepend(const struct stage *st, struct token_scratch *s, struct str in,
                           bool first, struct err *err)
{
    size_t begin = s->next.n;
    if (in.n)
        buf_add(&s->next, st->a.p, st->a.n);
    buf_add(&s->next, in.p, in.n);
    close_piece(s, begin);
    return RC_OK;
}

static void bpe_stage_replace(struct token_scratch *s, struct str in, struct str from,
                              struct str to)
{
    while (in.n) {
        const char *found = from.n ? memmem(in.p, in.n, from.p, from.n) : NULL;
        size_t n = found ? (size_t)(found - in.p) : in.n;
        buf_add(&s->next, in.p, n);
        if (!found)
            return;
        buf_add(&s->next, to.p, to.n);
        in = str_of(found + from.n, in.n - n - from.n);
    }
}

static enum rc run_replace(const struct stage *st, struct token_scratch *s, struct str in,
                           bool first, struct err *err)
{
    size_t begin = s->next.n;
    bpe_stage_replace(s, in, st->a, st->b);
    close_piece(s, begin);
    return RC_OK;
}

/* Blanks become `a`, one is put in front; `left`: of every piece, `right`: of the first.
 */
static enum rc run_meta(const struct stage *st, struct token_scratch *s, struct str in,
                        bool first, struct err *err)
{
    size_t begin = s->next.n;
    bool starts = in.n && (in.p[0] == ' ' ||
                           (in.n >= st->a.n && memcmp(in.p, st->a.p, st->a.n) == 0));
    if ((st->left || (st->right && first)) && !starts)
        buf_add(&s->next, st->a.p, st->a.n);
    bpe_stage_replace(s, in, str_c(" "), st->a);
    close_piece(s, begin);
    return RC_OK;
}

static enum rc run_blank_before(const struct stage *st, struct token_scratch *s,
                                struct str in, bool first, struct err *err)
{
    size_t begin = s->next.n;
    if (in.n && in.p[0] != ' ')
        buf_putc(&s->next, ' ');
    buf_add(&s->next, in.p, in.n);
    close_piece(s, begin);
    return RC_OK;
}

/* Each byte becomes a printable character: itself, or one from U+0100 on. */
static enum rc run_bytes(const struct stage *st, struct token_scratch *s, struct str in,
                         bool first, struct err *err)
{
    size_t begin = s->next.n;
    for (size_t i = 0; i < in.n; i++) {
        int32_t b = (unsigned char)in.p[i];
        if (b <= 32)
            b += 256;
        else if (b >= 127 && b <= 160)
            b += 256 + 33 - 127;
        else if (b == 173)
            b = 256 + 67;
        if (b < 0x80)
            buf_putc(&s->next, (char)b);
        else
            token_put_char(&s->next, b);
    }
    close_piece(s, begin);
    return RC_OK;
}

static struct str text_of(struct bpe *m, const struct node *n, const char *key,
                          const char *otherwise)
{
    const struct node *v = node_find(n, key);
    struct str s = v && v->kind == NODE_STR ? v->text : str_c(otherwise);
    return str_of(arena_strndup(&m->mem, s.p, s.n), s.n);
}

static bool flag_of(const struct node *n, const char *key, bool otherwise)
{
    const struct node *v = node_find(n, key);
    return v && v->kind == NODE_BOOL ? v->flag : otherwise;
}

static enum rc unsupported(const char *what, struct str name, struct err *err)
{
    return err_coded(err, RC_UNSUPPORTED, E1313, "%s '%.*s' is not supported", what,
                     (int)(name.n < 60 ? name.n : 60), name.p ? name.p : "");
}

typedef enum rc stage_read(struct bpe *m, const struct node *n, stages *to,
                           struct err *err);

static enum rc read_list(struct bpe *m, const struct node *list, stages *to,
                         stage_read *one, struct err *err)
{
    if (!list || list->kind != NODE_LIST)
        return err_coded(err, RC_FORMAT, E1313, "a Sequence without a list");
    enum rc rc = RC_OK;
    for (size_t i = 0; !rc && i < list->list.n; i++)
        rc = one(m, list->list.at[i], to, err);
    return rc;
}

/* {"String": ...} or {"Regex": ...} */
static bool pattern_of(struct bpe *m, const struct node *n, struct str *text, bool *regex)
{
    const struct node *p = node_find(n, "pattern");
    *regex = node_find(p, "Regex") != NULL;
    *text = text_of(m, p, *regex ? "Regex" : "String", "");
    return text->n > 0;
}

static enum rc read_replace(struct bpe *m, const struct node *n, struct stage *st,
                            struct err *err)
{
    bool regex;
    if (!pattern_of(m, n, &st->a, &regex))
        return err_coded(err, RC_FORMAT, E1313, "Replace without a pattern");
    st->b = text_of(m, n, "content", "");
    st->run = regex ? stage_replace_regex : run_replace;
    return regex ? stage_regex(st, st->a, err) : RC_OK;
}

static enum rc read_normalizer(struct bpe *m, const struct node *n, stages *to,
                               struct err *err)
{
    static const struct {
        const char *name;
        int flags;
    } forms[] = {
        {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
        {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
        {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
        {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    };
    struct str type = text_of(m, n, "type", "");
    struct stage st = {0};
    enum rc rc = RC_OK;
    if (str_is(type, "Sequence"))
        return read_list(m, node_find(n, "normalizers"), to, read_normalizer, err);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (str_is(type, forms[i].name)) {
            st.run = run_form;
            st.unicode_form = forms[i].flags;
        }
    if (str_is(type, "Lowercase")) {
        st.run = run_lower;
    } else if (str_is(type, "StripAccents")) {
        st.run = run_no_marks;
    } else if (str_is(type, "Strip")) {
        st.run = run_strip;
        st.left = flag_of(n, "strip_left", true);
        st.right = flag_of(n, "strip_right", true);
    } else if (str_is(type, "Prepend")) {
        st.run = run_prepend;
        st.a = text_of(m, n, "prepend", "");
    } else if (str_is(type, "Replace")) {
        rc = read_replace(m, n, &st, err);
    }
    if (!rc && !st.run)
        return unsupported("normalizer", type, err);
    VEC_PUSH(to, st);
    return rc;
}

static enum rc push_split(stages *to, const char *pattern, enum split_way way,
                          bool invert, struct err *err)
{
    struct stage st = {.run = stage_split, .way = way, .invert = invert};
    enum rc rc = stage_regex(&st, str_c(pattern), err);
    if (!rc)
        VEC_PUSH(to, st);
    return rc;
}

static enum rc read_way(struct str name, enum split_way *way, struct err *err)
{
    static const char *const names[] = {
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_WITH_NEXT] = "MergedWithNext",
        [SPLIT_CONTIGUOUS] = "Contiguous",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i])) {
            *way = (enum split_way)i;
            return RC_OK;
        }
    return unsupported("behavior", name, err);
}

static enum rc read_bytelevel(struct bpe *m, const struct node *n, stages *to,
                              struct err *err)
{
    struct stage prefix = {.run = run_blank_before}, bytes = {.run = run_bytes};
    enum rc rc = RC_OK;
    if (flag_of(n, "add_prefix_space", true))
        VEC_PUSH(to, prefix);
    if (flag_of(n, "use_regex", true))
        rc = push_split(to, GPT2, SPLIT_ISOLATED, false, err);
    VEC_PUSH(to, bytes);
    return rc;
}

/* A text that stands for itself, as a regular expression. */
static struct str quoted(struct bpe *m, struct str s)
{
    return str_c(arena_printf(&m->mem, "\\Q%.*s\\E", (int)s.n, s.p));
}

static enum rc read_split(struct bpe *m, const struct node *n, stages *to,
                          struct err *err)
{
    struct stage st = {.run = stage_split, .invert = flag_of(n, "invert", false)};
    struct str pattern;
    bool regex;
    if (!pattern_of(m, n, &pattern, &regex))
        return err_coded(err, RC_FORMAT, E1313, "Split without a pattern");
    enum rc rc = read_way(text_of(m, n, "behavior", ""), &st.way, err);
    if (!rc)
        rc = stage_regex(&st, regex ? pattern : quoted(m, pattern), err);
    if (!rc)
        VEC_PUSH(to, st);
    return rc;
}

static enum rc read_metaspace(struct bpe *m, const struct node *n, stages *to,
                              struct err *err)
{
    struct str scheme = text_of(m, n, "prepend_scheme", "");
    struct stage st = {.run = run_meta, .a = text_of(m, n, "replacement", META)};
    if (!scheme.n)
        scheme = str_c(flag_of(n, "add_prefix_space", true) ? "always" : "never");
    st.left = str_is(scheme, "always");
    st.right = str_is(scheme, "first");
    VEC_PUSH(to, st);
    if (!flag_of(n, "split", true))
        return RC_OK;
    return push_split(to, quoted(m, st.a).p, SPLIT_WITH_NEXT, false, err);
}

static enum rc read_splitter(struct bpe *m, const struct node *n, stages *to,
                             struct err *err)
{
    struct str type = text_of(m, n, "type", "");
    if (str_is(type, "Sequence"))
        return read_list(m, node_find(n, "pretokenizers"), to, read_splitter, err);
    if (str_is(type, "ByteLevel"))
        return read_bytelevel(m, n, to, err);
    if (str_is(type, "Split"))
        return read_split(m, n, to, err);
    if (str_is(type, "Metaspace"))
        return read_metaspace(m, n, to, err);
    if (str_is(type, "Whitespace"))
        return push_split(to, "[" RUST_WORD "]+|[^" RUST_WORD "\\s]+", SPLIT_REMOVED,
                          true, err);
    if (str_is(type, "WhitespaceSplit"))
        return push_split(to, "\\s", SPLIT_REMOVED, false, err);
    if (str_is(type, "Digits"))
        return push_split(to, "\\p{N}",
                          flag_of(n, "individual_digits", false) ? SPLIT_ISOLATED
                                                                 : SPLIT_CONTIGUOUS,
                          false, err);
    if (str_is(type, "Punctuation")) {
        enum split_way way = SPLIT_ISOLATED;
        enum rc rc = read_way(text_of(m, n, "behavior", "Isolated"), &way, err);
        return rc ? rc : push_split(to, "[\\p{P}$+<=>^`|~]", way, false, err);
    }
    return unsupported("pre_tokenizer", type, err);
}

enum rc stage_normalizers(struct bpe *m, const struct node *n, struct err *err)
{
    return !n || n->kind == NODE_NULL ? RC_OK : read_normalizer(m, n, &m->normal, err);
}

enum rc stage_splitters(struct bpe *m, const struct node *n, struct err *err)
{
    return !n || n->kind == NODE_NULL ? RC_OK : read_splitter(m, n, &m->split, err);
}

enum rc stages_run(const stages *all, struct token_scratch *s, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t k = 0; !rc && k < all->n; k++) {
        buf_clear(&s->next);
        s->made.n = 0;
        for (size_t i = 0; !rc && i < s->pieces.n; i++) {
            struct token_piece p = s->pieces.at[i];
            struct str in = str_of(s->text.p + p.at, p.n);
            if (p.id < 0) {
                rc = all->at[k].run(&all->at[k], s, in, i == 0, err);
                continue;
            }
            stage_emit(s, in);
            s->made.at[s->made.n - 1].id = p.id;
        }
        if (!rc)
            rc = buf_check(&s->next, err);
        struct buf text = s->text;
        s->text = s->next;
        s->next = text;
        token_pieces pieces = s->pieces;
        s->pieces = s->made;
        s->made = pieces;
    }
    return rc;
}

void stages_release(stages *all)
{
    for (size_t i = 0; i < all->n; i++)
        pcre2_code_free(all->at[i].regex);
    VEC_RELEASE(all);
}
