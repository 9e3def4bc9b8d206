/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, all made from the table of commands (cmds.def): the overview (the commonest
 * commands first, then by task, commands of two words as one line per first word), a group's
 * commands, and one command with its options and examples.
 */
#include "cmd/help.h"

#include <string.h>

#include "base/mem.h"

#define WIDTH 80
#define NAMES 11 /* columns of a command in the overview */

void help_fill(struct buf *out, const char *text, size_t indent, size_t width)
{
    struct str rest = str_c(text), line;
    while (str_split(&rest, '\n', &line)) {
        if (line.n) {
            buf_pad(out, indent);
            buf_wrap(out, line, indent, width);
        } else {
            buf_putc(out, '\n');
        }
    }
}

void help_usage(const struct cmd *c, struct buf *out)
{
    buf_printf(out, "trainyard %s", c->name);
    for (const struct opt *o = c->opts; o->kind != OPT_KIND_END; o++)
        if (!o->hidden) {
            buf_puts(out, " [options]");
            break;
        }
    if (c->args)
        buf_printf(out, " %s", c->args);
}

static bool in_group(const struct cmd *c, const char *group)
{
    size_t n = strlen(group);
    return strncmp(c->name, group, n) == 0 && c->name[n] == ' ';
}

/* Commands of a group, a line each. */
static void list_commands(const char *group, struct buf *out)
{
    size_t n, width = 0;
    const struct cmd *const *all = cmd_all(&n);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(all[i]->name);
        if (in_group(all[i], group) && length > width)
            width = length;
    }
    for (size_t i = 0; i < n; i++)
        if (in_group(all[i], group))
            buf_printf(out, "  %-*s  %s\n", (int)width, all[i]->name, all[i]->summary);
}

/* The length of a command's first word when a second follows it, else 0. */
static size_t group_length(const struct cmd *c)
{
    const char *blank = strchr(c->name, ' ');
    return blank ? (size_t)(blank - c->name) : 0;
}

static void put_entry(struct buf *out, struct str name, const char *text)
{
    buf_printf(out, "  %-*.*s  ", NAMES, (int)name.n, name.p);
    buf_wrap(out, str_c(text), NAMES + 4, WIDTH - 1);
}

static void list_common(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(out, "Common commands:\n");
    for (int place = 1; place <= (int)n; place++)
        for (size_t i = 0; i < n; i++)
            if (cmd_common(i) == place)
                put_entry(out, str_c(all[i]->name), all[i]->summary);
}

/* One line for all commands that begin with the word of command `i`, the first of them. */
static void put_group(size_t i, struct buf *out)
{
    size_t n, length;
    const struct cmd *const *all = cmd_all(&n);
    struct buf words;
    buf_init(&words, CMD_TEXT_MAX);
    length = group_length(all[i]);
    for (size_t k = i; k < n && strncmp(all[k]->name, all[i]->name, length + 1) == 0; k++)
        buf_printf(&words, "%s%s", k > i ? ", " : "", all[k]->name + length + 1);
    put_entry(out, (struct str){all[i]->name, length}, buf_str(&words));
    buf_release(&words);
}

/* Commands of one word that are not among the commonest, and groups. */
static void list_task(enum cmd_task task, struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_printf(out, "\n%s:\n", cmd_task_title(task));
    for (size_t i = 0; i < n; i++) {
        size_t length = group_length(all[i]);
        bool first = i == 0 || strncmp(all[i]->name, all[i - 1]->name, length + 1) != 0;
        if (cmd_task(i) != task)
            continue;
        if (length && first)
            put_group(i, out);
        else if (!length && !cmd_common(i))
            put_entry(out, str_c(all[i]->name), all[i]->summary);
    }
}

static void put_footer(const char *group, struct buf *out)
{
    buf_printf(out, "\nRun `trainyard help %s%sCOMMAND` for options and examples.\n",
               group ? group : "", group ? " " : "");
    buf_puts(out,
             "Options may be written --like-this or --like_this.\n"
             "Exit status: 0 success, 1 failure, 2 wrong usage or bad configuration.\n");
}

void help_overview(const char *group, struct buf *out)
{
    if (group) {
        buf_printf(out, "Usage: trainyard %s COMMAND [options]\n\nCommands:\n", group);
        list_commands(group, out);
        put_footer(group, out);
        return;
    }
    buf_puts(out, "Trainyard " TY_VERSION
                  " trains recommender models and runs training jobs.\n\n"
                  "Usage: trainyard COMMAND [options]\n\n");
    list_common(out);
    for (int t = 0; t < CMD_TASKS; t++)
        list_task((enum cmd_task)t, out);
    put_footer(NULL, out);
}

/* The command's own and --help in one table, so that they align. */
static void put_options(const struct cmd *c, struct buf *out)
{
    size_t n = 0;
    while (c->opts[n].kind != OPT_KIND_END)
        n++;
    struct opt *all = mem_calloc(n + 2, sizeof(*all));
    memcpy(all, c->opts, n * sizeof(*all));
    all[n] = (struct opt){
        .kind = OPT_KIND_BOOL, .field = "help", .help = "show this help", .letter = 'h'};
    opt_help(all, out);
    mem_free(all);
}

/* How much of a command line fits into `room` columns: up to the last blank outside of
 * quotes, if possible one before an option or an operator; all of it when there is none.
 */
static size_t line_part(const char *line, size_t room)
{
    size_t cut = 0, option = 0, n = strlen(line);
    bool quoted = false;
    for (size_t i = 0; i < n && n > room; i++) {
        quoted ^= line[i] == '\'';
        if (line[i] != ' ' || quoted || (i > room && cut))
            continue;
        cut = i;
        if (strchr("->&", line[i + 1]))
            option = i;
    }
    return option ? option : cut ? cut : n;
}

/* An example; one that is too long continues on further lines, as a shell reads it. */
static void put_example(struct buf *out, const char *line)
{
    size_t indent = 2;
    for (;;) {
        size_t n = line_part(line, WIDTH - 3 - indent);
        buf_pad(out, indent);
        buf_add(out, line, n);
        line += n;
        if (!*line)
            break;
        buf_puts(out, " \\\n");
        line++;
        indent = 6;
    }
    buf_putc(out, '\n');
}

void help_command(const struct cmd *c, struct buf *out)
{
    buf_puts(out, "Usage: ");
    help_usage(c, out);
    buf_printf(out, "\n\n%s: %s.\n", c->name, c->summary);
    if (c->description) {
        buf_putc(out, '\n');
        help_fill(out, c->description, 0, WIDTH - 1);
    }
    /* A table that begins with a heading of its own needs no other. */
    buf_puts(out, c->opts->kind == OPT_KIND_HEADING ? "\n" : "\nOptions:\n");
    put_options(c, out);
    if (!c->examples)
        return;
    buf_puts(out, "\nExamples:\n");
    for (const struct cmd_example *e = c->examples; e->line; e++) {
        buf_printf(out, "%s  # %s\n", e == c->examples ? "" : "\n", e->what);
        put_example(out, e->line);
    }
}
