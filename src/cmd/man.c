/* SPDX-License-Identifier: Apache-2.0 */
/* The man page, from the table of commands: made at build time by `help --man`. */
#include "cmd/help.h"

/* Text that troff takes as it is: no escapes, no requests at the start of a line. */
static void put_plain(struct buf *out, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            buf_puts(out, "\\&");
        if (*text == '\\')
            buf_puts(out, "\\e");
        else if (*text == '-')
            buf_puts(out, "\\-");
        else
            buf_putc(out, *text);
        start = *text == '\n';
    }
}

static void put_command(const struct cmd *c, struct buf *out)
{
    struct buf text;
    buf_init(&text, CMD_TEXT_MAX);
    help_command(c, &text);
    buf_printf(out, ".SS %s\n.nf\n", c->name);
    put_plain(out, buf_str(&text));
    buf_puts(out, ".fi\n");
    buf_release(&text);
}

void help_man(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    buf_puts(out,
             ".TH TRAINYARD 1 \"\" \"trainyard " TY_VERSION "\" \"User Commands\"\n"
             ".SH NAME\ntrainyard \\- train recommender models and run training jobs\n"
             ".SH SYNOPSIS\n.B trainyard\n.I COMMAND\n[options]\n"
             ".SH DESCRIPTION\nOptions may be written \\-\\-like\\-this or "
             "\\-\\-like_this. Results go to standard output, progress and errors to "
             "standard error.\n.SH COMMANDS\n");
    for (size_t i = 0; i < n; i++)
        put_command(all[i], out);
    buf_puts(out,
             ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage or bad configuration.\n"
             ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours, whatever its value\n"
             ".TP\n.B TMPDIR\nwhere temporary files go, instead of /tmp\n");
}
