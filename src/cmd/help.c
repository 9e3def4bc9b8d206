/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/help.h"

#include <string.h>

#include "base/mem.h"

#define WIDTH 80

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
    size_t n = group ? strlen(group) : 0;
    return !group || (strncmp(c->name, group, n) == 0 && c->name[n] == ' ');
}

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

void help_overview(const char *group, struct buf *out)
{
    if (group) {
        buf_printf(out, "Usage: trainyard %s COMMAND [options]\n\nCommands:\n", group);
    } else {
        buf_puts(out, "Trainyard " TY_VERSION
                      " trains recommender models and runs training jobs.\n\n"
                      "Usage: trainyard COMMAND [options]\n\nCommands:\n");
    }
    list_commands(group, out);
    buf_printf(out,
               "\n`trainyard help %s%sCOMMAND` tells more about each, with examples.\n",
               group ? group : "", group ? " " : "");
    buf_puts(out, "Options may be written --like-this or --like_this.\n"
                  "Exit status: 0 done, 1 failed, 2 wrong usage or bad configuration.\n");
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
        .kind = OPT_KIND_BOOL, .field = "help", .help = "show this text", .letter = 'h'};
    opt_help(all, out);
    mem_free(all);
}

void help_command(const struct cmd *c, struct buf *out)
{
    buf_puts(out, "Usage: ");
    help_usage(c, out);
    buf_printf(out, "\n\n%s: %s.\n", c->name, c->summary);
    if (c->description) {
        buf_putc(out, '\n');
        help_fill(out, c->description, 0, WIDTH);
    }
    buf_puts(out, "\nOptions:\n");
    put_options(c, out);
    if (!c->examples)
        return;
    buf_puts(out, "\nExamples:\n");
    for (const struct cmd_example *e = c->examples; e->line; e++)
        buf_printf(out, "%s  # %s\n  %s\n", e == c->examples ? "" : "\n", e->what,
                   e->line);
}
