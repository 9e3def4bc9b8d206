/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"
#include "cmd/help.h"

struct help_conf {
    bool man;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct help_conf, man, "false", "print the man page"), .hidden = true},
    {0},
};

static enum rc help_help_command(const void *conf, const struct opt_args *args,
                                 struct err *err)
{
    struct buf out;
    int words = 0;
    enum rc rc = RC_OK;
    buf_init(&out, CMD_TEXT_MAX);
    /* The words came as arguments and are only read. */
    char *const *argv = (char *const *)args->at;
    const struct cmd *c = cmd_find((int)args->n, argv, &words);
    if (((const struct help_conf *)conf)->man)
        help_man(&out);
    else if (args->n == 0)
        help_overview(NULL, &out);
    else if (c)
        help_command(c, &out);
    else if (args->n == 1 && cmd_is_group(args->at[0]))
        help_overview(args->at[0], &out);
    else
        rc = cmd_unknown((int)args->n, argv, err);
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

static const struct cmd_example examples[] = {
    {"all commands", "trainyard help"},
    {"options and examples of one command", "trainyard help version"},
    {0},
};

const struct cmd cmd_help = {
    .name = "help",
    .args = "[COMMAND]",
    .summary = "show the help of a command",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct help_conf),
    .max_args = 2,
    .words = CMD_WORDS_COMMANDS,
    .run = help_help_command,
};
