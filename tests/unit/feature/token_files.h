/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenizer files for tests: the parts of two public ones (GPT-NeoX's tokenizer.json and
 * a T5 model of sentencepiece) that a few words need, with the ids and scores they have
 * there, so that the specification's vectors hold.
 */
#ifndef TOKEN_FILES_H
#define TOKEN_FILES_H

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define NEOX_VOCAB                                                                      \
    "\"0\":17,\"A\":34,\"B\":35,\"C\":36,\"H\":41,\"I\":42,\"J\":43,\"a\":66,\"b\":67," \
    "\"c\":68,\"e\":70,\"f\":71,\"g\":72,\"h\":73,\"i\":74,\"j\":75,\"x\":89,\"y\":90," \
    "\"z\":91,\"\\u0120\":209,\"\\u0120e\":299,\"ab\":357,\"\\u01200\":470,\"ef\":832," \
    "\"ij\":1944,\"AB\":2925,\"BC\":3979,\"xy\":5246,\"hi\":5801,\"bc\":12847,"         \
    "\"fg\":16054,\"HI\":18469,\"abc\":19758,\"ABC\":25647,\"IJ\":25696,"               \
    "\"\\u0120ef\":29692,\"yz\":30608,\"xyz\":35609"
#define NEOX_MERGES                                                                     \
    "\"\\u0120 e\",\"a b\",\"\\u0120 0\",\"e f\",\"i j\",\"A B\",\"B C\",\"x y\","      \
    "\"h i\",\"b c\",\"f g\",\"H I\",\"ab c\",\"AB C\",\"I J\",\"\\u0120e f\",\"y z\"," \
    "\"xy z\""
#define BYTELEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define ADDED(id, text)                                                               \
    "{\"id\":" id ",\"content\":\"" text "\",\"single_word\":false,\"lstrip\":false," \
    "\"rstrip\":false,\"normalized\":false,\"special\":true}"
#define TOKENIZER(normalizer, splitter, added, model)                                    \
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[" added \
    "],\"normalizer\":" normalizer ",\"pre_tokenizer\":" splitter ",\"model\":{" model   \
    "}}"
#define BPE_OF(vocab, merges) \
    "\"type\":\"BPE\",\"vocab\":{" vocab "},\"merges\":[" merges "]"
#define NEOX                                                              \
    TOKENIZER("{\"type\":\"NFC\"}", BYTELEVEL,                            \
              ADDED("0", "<|endoftext|>") "," ADDED("50276", "<|last|>"), \
              BPE_OF(NEOX_VOCAB, NEOX_MERGES))

/* ---- protobuf ---- */

static inline void put_varint(struct buf *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_putc(to, (char)(v | 0x80));
    buf_putc(to, (char)v);
}

static inline void put_bytes(struct buf *to, unsigned field, const void *p, size_t n)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, n);
    buf_add(to, p, n);
}

static inline void put_piece(struct buf *to, const char *text, float score, unsigned type)
{
    struct buf one;
    buf_init(&one, 1 << 16);
    put_bytes(&one, 1, text, strlen(text));
    put_varint(&one, 2 << 3 | 5);
    buf_add(&one, &score, sizeof(score));
    put_varint(&one, 3 << 3);
    put_varint(&one, type);
    put_bytes(to, 1, one.p, one.n);
    buf_release(&one);
}

#define SP_BLANK "\xe2\x96\x81"

/* 7200 pieces, of which most are there for the numbers. */
static inline void t5_model(struct buf *to)
{
    static const struct {
        int id;
        const char *text;
        float score;
    } pieces[] = {{3, SP_BLANK, -2.0123f},
                  {9, "a", -4.0971f},
                  {15, "e", -4.6749f},
                  {23, "i", -5.4699f},
                  {63, "y", -6.6545f},
                  {75, "c", -6.9257f},
                  {89, "f", -7.11f},
                  {107, "h", -7.2543f},
                  {115, "b", -7.3754f},
                  {122, "g", -7.408f},
                  {172, "z", -7.7457f},
                  {226, "x", -8.0151f},
                  {354, "j", -8.4551f},
                  {632, "0", -9.0758f},
                  {703, SP_BLANK "ab", -9.1899f},
                  {7102, SP_BLANK "hi", -11.3443f}};
    size_t next = 0;
    for (int id = 0; id < 7200; id++) {
        char text[16];
        if (next < ARRAY_LEN(pieces) && pieces[next].id == id) {
            put_piece(to, pieces[next].text, pieces[next].score, 1);
            next++;
            continue;
        }
        snprintf(text, sizeof(text), "~%d", id);
        put_piece(to, id == 2 ? "<unk>" : text, -13.5f, id == 2 ? 2 : id < 3 ? 3 : 5);
    }
}

#endif
