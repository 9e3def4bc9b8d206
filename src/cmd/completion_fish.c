/* SPDX-License-Identifier: Apache-2.0 */
/* The completion script for fish: one `complete` line per command, group member, option and
 * list of fixed arguments, each under a condition on the words before the cursor.
 */
#include <string.h>

#include "cmd/completion_private.h"

static const char functions[] =
    "# fish completion of trainyard, made by `trainyard completion fish`\n"
    "function __trainyard_words\n"
    "    commandline -opc | string match -v -- '-*'\n"
    "end\n"
    "function __trainyard_start\n"
    "    test (count (__trainyard_words)) -eq 1\n"
    "end\n"
    "function __trainyard_group\n"
    "    set -l words (__trainyard_words)\n"
    "    test (count $words) -eq 2; and test $words[2] = $argv[1]\n"
    "end\n"
    "function __trainyard_is\n"
    "    set -l words (__trainyard_words)\n"
    "    test (count $words) -gt (count $argv); or return 1\n"
    "    for i in (seq (count $argv))\n"
    "        test $words[(math $i + 1)] = $argv[$i]; or return 1\n"
    "    end\n"
    "end\n"
    "complete -c trainyard -e\n"
    "complete -c trainyard -n __trainyard_start -f -l help -d 'show this help'\n"
    "complete -c trainyard -n __trainyard_start -f -l version -d 'show the version'\n";

/* In single quotes, as fish reads them. */
static void put_quoted(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_putc(out, '\'');
}

/* The command's name in the overview: its first word, or a group's with what may follow. */
static void put_name(const struct cmd *c, bool first, struct buf *out)
{
    const char *blank = strchr(c->name, ' ');
    size_t n = blank ? (size_t)(blank - c->name) : strlen(c->name);
    if (first) {
        buf_printf(out, "complete -c trainyard -n __trainyard_start -f -a %.*s -d ",
                   (int)n, c->name);
        put_quoted(out, blank ? "more commands" : c->summary);
        buf_putc(out, '\n');
    }
    if (blank) {
        buf_printf(out, "complete -c trainyard -n '__trainyard_group %.*s' -f -a %s -d ",
                   (int)n, c->name, blank + 1);
        put_quoted(out, c->summary);
        buf_putc(out, '\n');
    }
}

static void put_option(const struct cmd *c, const struct opt *o, struct buf *out)
{
    buf_printf(out, "complete -c trainyard -n '__trainyard_is %s' -l ", c->name);
    completion_flag(o, out);
    if (o->letter)
        buf_printf(out, " -s %c", o->letter);
    if (o->kind != OPT_KIND_BOOL)
        buf_puts(out, " -r");
    if (o->choices) {
        buf_puts(out, " -f -a '");
        completion_spaced(out, o->choices);
        buf_putc(out, '\'');
    }
    buf_puts(out, " -d ");
    put_quoted(out, o->help);
    buf_putc(out, '\n');
}

static void put_arguments(const struct cmd *c, struct buf *out)
{
    if (!c->words)
        return;
    buf_printf(out, "complete -c trainyard -n '__trainyard_is %s' -f -a '", c->name);
    if (strcmp(c->words, CMD_WORDS_EXPLAIN) == 0)
        buf_puts(out, "(trainyard explain --words 2>/dev/null)");
    else
        completion_words(c, out);
    buf_puts(out, "'\n");
}

void completion_fish(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(out, functions);
    for (size_t i = 0; i < n; i++) {
        size_t word = strcspn(all[i]->name, " ");
        bool first = i == 0 || strcspn(all[i - 1]->name, " ") != word ||
                     strncmp(all[i]->name, all[i - 1]->name, word) != 0;
        put_name(all[i], first, out);
        for (const struct opt *o = all[i]->opts; o->kind != OPT_KIND_END; o++)
            if (completion_offers(o))
                put_option(all[i], o, out);
        put_arguments(all[i], out);
    }
}
