/* SPDX-License-Identifier: Apache-2.0 */
#include "data/csv/scan.h"

#include "base/mem.h"
#include "tap.h"

#define MAX 5000

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static struct csv_scan scan_of(csv_scan_fn *fn, char delim, bool quoting,
                               const unsigned char *p, size_t n, uint32_t *out)
{
    struct csv_scan s = csv_scan_start(delim, '"', quoting);
    for (size_t i = 0; i < MAX + 2 * CSV_SCAN_PAD; i++)
        out[i] = 0xabababab;
    fn(&s, p, n, out);
    return s;
}

static void expect(const char *text, bool quoting, const uint32_t *want, size_t n)
{
    static uint32_t got[MAX + 2 * CSV_SCAN_PAD];
    struct csv_scan_kind kinds[4];
    size_t n_kinds = csv_scan_kinds(kinds);
    for (size_t k = 0; k < n_kinds; k++) {
        struct csv_scan s = scan_of(kinds[k].fn, ',', quoting,
                                    (const unsigned char *)text, strlen(text), got);
        CHECK_INT(s.n_fields, n);
        for (size_t i = 0; i < n && i < s.n_fields; i++)
            CHECK_INT(got[i], want[i]);
    }
}
#define EXPECT(text, quoting, ...)                                          \
    do {                                                                    \
        const uint32_t want_[] = {__VA_ARGS__};                             \
        expect((text), (quoting), want_, sizeof(want_) / sizeof(want_[0])); \
    } while (0)

static void every_kind_knows_the_rules_of_quotes(void)
{
    EXPECT("a,bc\nd,\n", true, 2, 5, 7, 8);
    EXPECT("\"a,b\",c\n", true, 6, 8);
    EXPECT("\"a\"\"b,\",c\n", true, 8, 10);
    EXPECT("\"a\n\",\"\"\n", true, 5, 8);
    EXPECT("5\" x,y\"\n", true, 5, 8);      /* quotes within text are text */
    EXPECT("\"a\"b\"c,d\"\n", true, 7, 10); /* and so after a closed quote */
    EXPECT("\"a,b\",c\n", false, 3, 6, 8);  /* quoting off */
    EXPECT("\"open,\n", true, );
}

/* Random text, rich in quotes at the edges of fields, so that blocks of 64 begin and end
 * in every state.
 */
static void every_kind_agrees_with_the_reference(void)
{
    static unsigned char text[MAX + CSV_SCAN_PAD];
    static uint32_t want[MAX + 2 * CSV_SCAN_PAD], got[MAX + 2 * CSV_SCAN_PAD];
    static const char *const alphabets[] = {"ab,\n",
                                            "\"",
                                            "a\",",
                                            "abcdefgh,\n\"",
                                            "aaaaaaaaaaaaaaa,\"\"\"\n",
                                            ",\"\n\xc3\xa9",
                                            "abcdefghijklmnopqrstuvwxyz,\n"};
    struct csv_scan_kind kinds[4];
    size_t n_kinds = csv_scan_kinds(kinds);
    uint64_t x = 1;
    CHECK(n_kinds >= 1 && csv_scan_best() == kinds[n_kinds - 1].fn);
    for (int round = 0; round < 6000; round++) {
        const char *abc = alphabets[round % 7];
        bool quoting = next_random(&x) % 8 != 0;
        size_t n = next_random(&x) % (round % 10 ? 300 : MAX);
        for (size_t i = 0; i < n; i++)
            text[i] = (unsigned char)abc[next_random(&x) % strlen(abc)];
        memset(text + n, ',', CSV_SCAN_PAD); /* what lies behind must not count */
        struct csv_scan r = scan_of(csv_scan_ref, ',', quoting, text, n, want);
        for (size_t k = 1; k < n_kinds; k++) {
            struct csv_scan s = scan_of(kinds[k].fn, ',', quoting, text, n, got);
            CHECK_INT(s.n_fields, r.n_fields);
            CHECK_INT(s.n_lines, r.n_lines);
            CHECK_INT(s.n_breaks, r.n_breaks);
            CHECK(s.in_quotes == r.in_quotes && s.may_open == r.may_open);
            CHECK(s.saw_high == r.saw_high && s.saw_quote == r.saw_quote);
            CHECK(memcmp(got, want, r.n_fields * sizeof(*got)) == 0);
            for (size_t i = n + CSV_SCAN_PAD; i < MAX + 2 * CSV_SCAN_PAD; i++)
                CHECK(got[i] == 0xabababab);
        }
        if (tap_failed) {
            printf("# round %d, %zu bytes\n", round, n);
            return;
        }
    }
}

static void every_delimiter_works(void)
{
    static uint32_t got[MAX + 2 * CSV_SCAN_PAD];
    struct csv_scan_kind kinds[4];
    size_t n_kinds = csv_scan_kinds(kinds);
    for (int d = 1; d < 256; d++) {
        unsigned char text[3 + CSV_SCAN_PAD] = {'x', (unsigned char)d, 'y'};
        if (d == '\n' || d == '"')
            continue;
        for (size_t k = 0; k < n_kinds; k++)
            CHECK_INT(scan_of(kinds[k].fn, (char)d, true, text, 3, got).n_fields,
                      d == 'x' || d == 'y' ? 2 : 1);
    }
}

static const struct tap_case cases[] = {
    TAP(every_kind_knows_the_rules_of_quotes),
    TAP(every_kind_agrees_with_the_reference),
    TAP(every_delimiter_works),
};
TAP_MAIN(cases)
