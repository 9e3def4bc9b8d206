/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/log_writer.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tap.h"

static const char *const secrets[] = {"tops3cret", "abc", "long-secret-value", NULL};

/* The log after `pieces` (NULL behind the last; "!" stands for a moment of silence). */
static char *log_of(const char *const *pieces)
{
    char *dir = NULL, *text = NULL;
    size_t n = 0;
    struct backend_log_writer p;
    CHECK(fs_temp_dir("ty-writer", &dir, NULL) == RC_OK);
    char *path = fs_join(dir, "log");
    CHECK_INT(backend_log_writer_open(&p, path, secrets), 0);
    for (; *pieces; pieces++)
        if (strcmp(*pieces, "!") == 0)
            backend_log_writer_flush(&p, false);
        else
            backend_log_writer_feed(&p, (*pieces)[0] == 'e', *pieces + 1,
                                    strlen(*pieces) - 1);
    backend_log_writer_close(&p);
    CHECK(fs_read(path, 1 << 20, &text, &n, NULL) == RC_OK);
    CHECK(fs_remove_all(dir, NULL) == RC_OK);
    mem_free(path);
    mem_free(dir);
    return text;
}

static void streams_are_merged_by_lines(void)
{
    const struct {
        const char *pieces[8];
        const char *want;
    } cases[] = {
        {{"oa", "eb\n", "oc\n"}, "b\nac\n"},
        {{"oa\nb", "ex\n", "oc\n"}, "a\nx\nbc\n"},
        {{"ono end"}, "no end"},
        {{"ohold", "!", "eerr\n", "o more\n"}, "hold\nerr\n more\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = log_of(cases[i].pieces);
        CHECK_STR(got, cases[i].want);
        mem_free(got);
    }
}

static void secrets_are_masked_however_they_come(void)
{
    const struct {
        const char *pieces[12];
        const char *want;
    } cases[] = {
        {{"omy tops3cret here\n"}, "my *** here\n"},
        {{"otops3crettops3cret\n"}, "******\n"},
        {{"oto", "!", "ops3", "!", "ocret", "!", "o!\n"}, "***!\n"},
        {{"otops3cret", "!"}, "***"},
        {{"otops3", "!", "o other\n"}, "tops3 other\n"},
        {{"oabc is too short to hide\n"}, "abc is too short to hide\n"},
        {{"etops3", "olong-secret-", "ecret\n", "ovalue\n"}, "***\n***\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = log_of(cases[i].pieces);
        CHECK_STR(got, cases[i].want);
        mem_free(got);
    }
}

static const struct tap_case cases[] = {
    TAP(streams_are_merged_by_lines),
    TAP(secrets_are_masked_however_they_come),
};
TAP_MAIN(cases)
