/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: the specification's table 12.9, and the files that are refused. */
#include "base/fs.h"
#include "feature/token/text_norm.h"
#include "feature/token/token.h"
#include "token_files.h"
#include "vector.h"

#include <unistd.h>

/* The tokens of `text`, "19758 299", or "error: ...". */
static const char *tokens(const void *file, size_t n, enum tokenizer_kind kind,
                          const char *text)
{
    static char out[2000];
    struct tokenizer *t = NULL;
    struct token_scratch *s = token_scratch_create();
    struct err err = {0};
    const int64_t *ids = NULL;
    size_t count = 0, at = 0;
    enum rc rc = tokenizer_from(file, n, kind, &t, &err);
    if (!rc)
        rc = tokenizer_encode(t, s, str_c(text), &ids, &count, &err);
    out[0] = '\0';
    if (rc)
        snprintf(out, sizeof(out), "error: %s", err.msg);
    for (size_t i = 0; !rc && i < count && at < sizeof(out) - 30; i++)
        at += (size_t)snprintf(out + at, 30, "%s%jd", i ? " " : "", (intmax_t)ids[i]);
    token_scratch_destroy(s);
    tokenizer_close(t);
    return out;
}

static const char *bpe(const char *json, const char *text)
{
    return tokens(json, strlen(json), TOKENIZER_BPE, text);
}

static void the_tables_words(void)
{
    struct buf model;
    CHECK_STR(bpe(NEOX, "abc efg"), "19758 299 16054");
    CHECK_STR(bpe(NEOX, "hij"), "73 1944");
    CHECK_STR(bpe(NEOX, "xyz"), "35609");
    CHECK_STR(bpe(NEOX, "0"), "17");
    CHECK_STR(bpe(NEOX, ""), "");
    buf_init(&model, 1 << 20);
    t5_model(&model);
#define SP(text) tokens(model.p, model.n, TOKENIZER_SENTENCEPIECE, text)
    CHECK_STR(SP("abc efg"), "703 75 3 15 89 122");
    CHECK_STR(SP("hij"), "7102 354");
    CHECK_STR(SP("xyz"), "3 226 63 172");
    CHECK_STR(SP("  abc  "), "703 75");  /* blanks are squeezed */
    CHECK_STR(SP(" \t"), "3 2");         /* without a table a tab is unknown text */
    CHECK_STR(SP("aQRSb"), "3 9 2 115"); /* unknown neighbours are one */
    CHECK_STR(SP("a\xff"
                 "b"),
              "3 9 2 115"); /* no UTF-8 */
    CHECK_STR(SP(""), "");
    buf_release(&model);
}

static void added_tokens_come_first(void)
{
    CHECK_STR(bpe(NEOX, "abc<|endoftext|>hij<|last|>"), "19758 0 73 1944 50276");
    CHECK_STR(bpe(NEOX, "<|endoftext|><|endoftext|>"), "0 0");
    CHECK_STR(bpe(NEOX, "abc<|endoftex"),
              "19758 832 70 89"); /* what is unknown is left out */
}

#define AB \
    "\"a\":0,\"b\":1,\"ab\":2,\"c\":3,\"<u>\":4,\"abc\":5,\"<0xC3>\":6,\"<0xA9>\":7"
#define AB_MERGES "[\"a\",\"b\"],[\"ab\",\"c\"]"
#define PLAIN(more) TOKENIZER("null", "null", "", more BPE_OF(AB, AB_MERGES))

static void models_have_options(void)
{
    CHECK_STR(bpe(PLAIN(""), "abcab"), "5 2");
    CHECK_STR(bpe(PLAIN(""), "aQb"), "2"); /* no unknown token: left out */
    CHECK_STR(bpe(PLAIN("\"unk_token\":\"<u>\","), "aQRb"), "0 4 4 1");
    CHECK_STR(bpe(PLAIN("\"unk_token\":\"<u>\",\"fuse_unk\":true,"), "aQRb"), "0 4 1");
    CHECK_STR(bpe(PLAIN("\"byte_fallback\":true,"), "a\xc3\xa9"), "0 6 7");
    CHECK_STR(bpe(TOKENIZER("null", "null", "", "\"ignore_merges\":true," BPE_OF(AB, "")),
                  "abc"),
              "5");
    CHECK_STR(bpe(TOKENIZER("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},"
                            "{\"type\":\"Lowercase\"}]}",
                            "{\"type\":\"WhitespaceSplit\"}", "", BPE_OF(AB, AB_MERGES)),
                  "\xef\xbc\xa1"
                  "B c"),
              "2 3");
}

static void what_is_not_understood_is_named(void)
{
    CHECK_STR(bpe("{", "a"),
              "error: line 1, column 2: expected a key in double quotes or '}', found "
              "the end of the text");
    CHECK_STR(bpe("{}", "a"), "error: no object 'model': this is not a tokenizer.json");
    CHECK_STR(bpe("{\"model\":{\"type\":\"WordPiece\"}}", "a"),
              "error: a model of type 'WordPiece'; only BPE is supported");
    CHECK_STR(bpe("{\"model\":{\"type\":\"BPE\"}}", "a"),
              "error: model.vocab is not an object of tokens");
    CHECK_STR(bpe(TOKENIZER("null", "null", "", BPE_OF(AB, "\"b c\"")), "a"),
              "error: merge 1, 'b' and 'c', has a token that is not in the vocabulary");
    CHECK_STR(bpe(TOKENIZER("null", "null", "", BPE_OF("\"a\":-1", "")), "a"),
              "error: a token has an id outside of [0, 2147483647]");
    CHECK_STR(
        bpe(TOKENIZER("{\"type\":\"BertNormalizer\"}", "null", "", BPE_OF(AB, "")), "a"),
        "error: normalizer 'BertNormalizer' is not supported");
    CHECK_STR(
        bpe(TOKENIZER("null", "{\"type\":\"UnicodeScripts\"}", "", BPE_OF(AB, "")), "a"),
        "error: pre_tokenizer 'UnicodeScripts' is not supported");
    CHECK_STR(bpe(TOKENIZER("null",
                            "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},"
                            "\"behavior\":\"Isolated\"}",
                            "", BPE_OF(AB, "")),
                  "a"),
              "error: regular expression '(': missing closing parenthesis");
    CHECK_STR(tokens("abc", 3, TOKENIZER_SENTENCEPIECE, "a"),
              "error: this is not a sentencepiece model, or a damaged one");
}

/* Every beginning of a model, and every byte of it changed: no crash, no endless loop. */
static void damaged_models_are_survived(void)
{
    struct buf m;
    buf_init(&m, 1 << 20);
    put_piece(&m, "<unk>", 0, 2);
    put_piece(&m, SP_BLANK, -1, 1);
    put_piece(&m, "ab", -2, 1);
    put_piece(&m, "b", -3, 4);
    /* one unit that is its own kid, and a text */
    put_bytes(&m, 3,
              "\x12\x0e\x08\0\0\0"
              "a\1\0\0"
              "a\4\0\0"
              "x",
              16);
    for (size_t n = 0; n <= m.n; n++)
        tokens(m.p, n, TOKENIZER_SENTENCEPIECE, "ab aab b");
    for (size_t i = 0; i < m.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            m.p[i] = (char)(m.p[i] ^ 1 << bit);
            tokens(m.p, m.n, TOKENIZER_SENTENCEPIECE, "ab aab b");
            m.p[i] = (char)(m.p[i] ^ 1 << bit);
        }
    CHECK(m.n > 0);
    buf_release(&m);
}

#define TOK "tokenize_feature { feature_name: 'f' expression: 'user:q' embedding_dim: 4 "
#define NEOX_FILE "vocab_file: 'tokenizer.json' "
#define T5_FILE "vocab_file: 'spiece.model' tokenizer_type: 'sentencepiece' "
#define DEF(text) "default_value: '" text "' }"
#define ROWS "q str abc efg / \"\" / hij"

static void features_match(void)
{
    static const struct vector rows[] = {
        {TOK NEOX_FILE DEF(""), ROWS, "v 19758 299 16054 73 1944, L 3 0 2"},
        {TOK NEOX_FILE DEF("xyz"), ROWS, "v 19758 299 16054 35609 73 1944, L 3 1 2"},
        {TOK NEOX_FILE "text_normalizer { norm_options: TEXT_UPPER2LOWER } " DEF(""),
         "q str ABC efg / \"\" / HIJ", "v 19758 299 16054 73 1944, L 3 0 2"},
        {TOK NEOX_FILE "tokens_as_sequence: true " DEF("xyz"), ROWS,
         "v 19758 299 16054 35609 73 1944, K 1 1 1 1 1 1, S 3 1 2"},
        {TOK NEOX_FILE "tokens_as_sequence: true " DEF("abc efg"), "q str hij / N",
         "v 73 1944 19758 299 16054, K 1 1 1 1 1, S 2 3"},
        {TOK T5_FILE DEF(""), ROWS, "v 703 75 3 15 89 122 7102 354, L 6 0 2"},
        {TOK T5_FILE DEF("xyz"), ROWS,
         "v 703 75 3 15 89 122 3 226 63 172 7102 354, L 6 4 2"},
        {"sequence_feature { sequence_name: 's' sequence_length: 50 sequence_delim: ';' "
         "features { " TOK NEOX_FILE DEF("") " } }",
         "s__q str abc efg;hij / \"\" / hij",
         "v 19758 299 16054 73 1944 17 73 1944, K 3 2 1 2, S 2 1 1"},
        {"sequence_tokenize_feature { feature_name: 'f' expression: 'user:q' embedding_dim: 4 "
         "sequence_length: 50 sequence_delim: ';' " NEOX_FILE DEF(""),
         "q str abc efg;hij / \"\" / hij",
         "v 19758 299 16054 73 1944 17 73 1944, K 3 2 1 2, S 2 1 1"},
        {"sequence_tokenize_feature { feature_name: 'f' expression: 'user:q' embedding_dim: 4 "
         "sequence_length: 50 " NEOX_FILE DEF(""),
         "q [str] [abc efg,hij] / [] / [hij]",
         "v 19758 299 16054 73 1944 17 73 1944, K 3 2 1 2, S 2 1 1"},
        {TOK "vocab_file: 'none.json' }", ROWS,
         "error: feature 'f': file 'none.json': cannot open: No such file or directory"},
        {TOK NEOX_FILE
         "text_normalizer { norm_options: [TEXT_UPPER2LOWER, TEXT_LOWER2UPPER] } }",
         ROWS,
         "error: feature 'f': TEXT_LOWER2UPPER and TEXT_UPPER2LOWER exclude each other"},
    };
    static const struct vector none[] = {
        {TOK NEOX_FILE DEF(""), "f str 19758~299 / \"\" / 73", "v 19758 299 73, L 2 0 1"},
        {TOK NEOX_FILE "tokens_as_sequence: true " DEF(""), "f [i64] [7,8] / [9]",
         "v 7 8 9, K 1 1 1, S 2 1"},
    };
    static const struct vector bucketize[] = {{TOK NEOX_FILE DEF(""),
                                               "f str abc efg / \"\" / hij",
                                               "v 19758 299 16054 73 1944"}};
    char *dir = NULL;
    struct buf model;
    buf_init(&model, 1 << 20);
    t5_model(&model);
    CHECK_INT(fs_temp_dir("test-tokenize", &dir, NULL), RC_OK);
    char *json = fs_join(dir, "tokenizer.json"), *spm = fs_join(dir, "spiece.model");
    CHECK_INT(fs_write(json, NEOX, strlen(NEOX), 0644, NULL), RC_OK);
    CHECK_INT(fs_write(spm, model.p, model.n, 0644, NULL), RC_OK);
    CHECK_INT(chdir(dir), 0);
    FG_VECTORS(rows);
    VECTORS("FG_NONE", none);
    VECTORS("FG_BUCKETIZE", bucketize);
    CHECK_INT(chdir("/"), 0);
    CHECK_INT(fs_remove_all(dir, NULL), RC_OK);
    mem_free(json);
    mem_free(spm);
    mem_free(dir);
    buf_release(&model);
}

static void the_table_has_a_row_per_token(void)
{
    struct tokenizer *t = NULL;
    CHECK_INT(tokenizer_from(NEOX, strlen(NEOX), TOKENIZER_BPE, &t, NULL), RC_OK);
    CHECK_INT(tokenizer_rows(t), 50277);
    tokenizer_close(t);
}

static const char *normalised(struct feature_text_norm t, const char *in)
{
    static char out[200];
    struct buf b;
    buf_init(&b, 1000);
    feature_text_norm_run(&t, str_c(in), &b);
    snprintf(out, sizeof(out), "%s", buf_str(&b));
    buf_release(&b);
    return out;
}

static void texts_are_normalised(void)
{
    CHECK_STR(normalised((struct feature_text_norm){.upper = true}, "aé1"), "AÉ1");
    CHECK_STR(normalised((struct feature_text_norm){.lower = true}, "AÉ1"), "aé1");
    CHECK_STR(normalised((struct feature_text_norm){.half_width = true}, "Ａ１！　b"),
              "A1! b");
    CHECK_STR(normalised((struct feature_text_norm){.simplified = true}, "連衣裙 漢語"),
              "连衣裙 汉语");
    CHECK_STR(normalised((struct feature_text_norm){.filter = true}, "a-b, c。d€"),
              "ab cd");
    CHECK_STR(normalised((struct feature_text_norm){.no_blanks = true}, " a b　c\t"),
              "abc");
    CHECK_STR(normalised((struct feature_text_norm){.split_chars = true}, "ab裙子c 裙"),
              "ab 裙 子 c 裙");
    CHECK_STR(
        normalised((struct feature_text_norm){.lower = true, .max_chars = 3}, "ABé"),
        "abé");
    CHECK_STR(
        normalised((struct feature_text_norm){.lower = true, .max_chars = 2}, "ABé"),
        "ABé");
    int32_t stops[] = {'b', 0x88d9};
    struct feature_text_norm own = {.filter = true, .stops = stops, .n_stops = 2};
    CHECK_STR(normalised(own, "ab,裙子"), "a,子");
    /* width before script before case before the filter */
    struct feature_text_norm all = {
        .upper = true, .half_width = true, .simplified = true, .filter = true};
    CHECK_STR(normalised(all, "ａ－連"), "A连");
}

static void a_warm_tokenizer_allocates_nothing(void)
{
    struct tokenizer *t = NULL;
    struct token_scratch *s = token_scratch_create();
    const int64_t *ids;
    size_t n;
    CHECK_INT(tokenizer_from(NEOX, strlen(NEOX), TOKENIZER_BPE, &t, NULL), RC_OK);
    CHECK_INT(tokenizer_encode(t, s, str_c("abc efg hij xyz abc"), &ids, &n, NULL),
              RC_OK);
    int64_t before = mem_total();
    for (int i = 0; i < 100; i++)
        CHECK_INT(tokenizer_encode(t, s, str_c("abc efg hij"), &ids, &n, NULL), RC_OK);
    CHECK_INT(mem_total(), before);
    token_scratch_destroy(s);
    tokenizer_close(t);
}

static const struct tap_case cases[] = {
    TAP(the_tables_words),
    TAP(added_tokens_come_first),
    TAP(models_have_options),
    TAP(what_is_not_understood_is_named),
    TAP(damaged_models_are_survived),
    TAP(features_match),
    TAP(the_table_has_a_row_per_token),
    TAP(texts_are_normalised),
    TAP(a_warm_tokenizer_allocates_nothing),
};
TAP_MAIN(cases)
