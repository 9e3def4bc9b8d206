/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include "base/cpu.h"
#include "tap.h"

static void text_of(const void *p, size_t n, size_t step, char out[SHA256_TEXT_SIZE])
{
    struct sha256 s;
    sha256_init(&s);
    for (size_t at = 0; at < n; at += step)
        sha256_add(&s, (const char *)p + at, n - at < step ? n - at : step);
    sha256_text(&s, out);
}

static void known_texts_have_their_digests(void)
{
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char got[SHA256_TEXT_SIZE];
    for (int level = CPU_LEVEL_BASE; level < CPU_LEVELS; level++) {
        cpu_limit((enum cpu_level)level);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            text_of(rows[i].text, strlen(rows[i].text), 7, got);
            CHECK_STR(got, rows[i].digest);
        }
    }
}

static void the_processors_instructions_give_what_plain_code_gives(void)
{
    enum { MOST = 1500 };
    unsigned char data[MOST + 1];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 131 + i / 7);
    for (size_t n = 0; n <= MOST; n++) {
        char plain[SHA256_TEXT_SIZE], fast[SHA256_TEXT_SIZE], whole[SHA256_TEXT_SIZE];
        cpu_limit(CPU_LEVEL_BASE);
        text_of(data + n % 2, n, 1 + n % 200, plain);
        cpu_limit(CPU_LEVEL_AMX);
        text_of(data + n % 2, n, 1 + n % 131, fast);
        text_of(data + n % 2, n, MOST, whole);
        CHECK_STR(fast, plain);
        CHECK_STR(whole, plain);
    }
}

static const struct tap_case cases[] = {
    TAP(known_texts_have_their_digests),
    TAP(the_processors_instructions_give_what_plain_code_gives),
};
TAP_MAIN(cases)
