/* SPDX-License-Identifier: Apache-2.0 */
#include "job/log_clean.h"

#include <string.h>

#include "tap.h"

/* In pieces of every size, so that each sequence is cut everywhere. */
static void cleans_to(const char *text, const char *want)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        struct job_log_clean c = {.n = 0};
        struct buf out;
        buf_init(&out, 1 << 16);
        for (size_t i = 0; i < strlen(text); i += step) {
            size_t left = strlen(text) - i;
            job_log_clean(&c, text + i, left < step ? left : step, &out);
        }
        CHECK_STR(buf_str(&out), want);
        buf_release(&out);
    }
}

static void text_and_colours_pass(void)
{
    cleans_to("loss 0.5\tstep 3\r\n", "loss 0.5\tstep 3\r\n");
    cleans_to("\x1b[1;31mred\x1b[0m\n", "\x1b[1;31mred\x1b[0m\n");
    cleans_to("\xc3\xa9t\xc3\xa9 \xc2\xa9 \xe4\xb8\xad\n",
              "\xc3\xa9t\xc3\xa9 \xc2\xa9 \xe4\xb8\xad\n");
}

static void what_a_terminal_obeys_is_shown(void)
{
    cleans_to("\x1b]0;title\x07x\n", "\\x1b]0;title\\x07x\n");
    cleans_to("\x1b[2J\x1b[1;1Hx\n", "\\x1b[2J\\x1b[1;1Hx\n");
    cleans_to("\x1b\x1b[31mred\n", "\\x1b\x1b[31mred\n");
    cleans_to("\xc2\x9b"
              "31mx\n",
              "\\x9b31mx\n");
    cleans_to("\x1b[?25lx\b\n", "\\x1b[?25lx\\x08\n");
}

static void a_sequence_without_end_is_let_go(void)
{
    cleans_to("\x1b[1111111111111111111111111111111111111mx\n",
              "\\x1b[1111111111111111111111111111111111111mx\n");
}

static const struct tap_case cases[] = {
    TAP(text_and_colours_pass),
    TAP(what_a_terminal_obeys_is_shown),
    TAP(a_sequence_without_end_is_let_go),
};

int main(int argc, char **argv)
{
    return tap_run(cases, ARRAY_LEN(cases), argc, argv);
}
