/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/help.h"

enum rc cmd_print(struct buf *b, struct err *err)
{
    enum rc rc = buf_check(b, err);
    if (rc)
        return rc;
    if (b->n && isatty(STDOUT_FILENO)) /* a pipe gets the bytes as they are */
        utf8_hide_controls(b->p, b->n, true);
    if (fwrite(buf_str(b), 1, b->n, stdout) != b->n || fflush(stdout) != 0)
        return err_sys(err, errno, "cannot write to stdout");
    buf_clear(b);
    return RC_OK;
}

int cmd_exit_status(enum rc rc, const struct err *err)
{
    if (rc && err && err->exit)
        return err->exit;
    if (rc == RC_OK)
        return 0;
    enum code code = err_code_of(err, rc);
    /* Codes of texts, schemas, meaning and command lines are the user's to mend. */
    const struct code_info *info = code_info(code);
    bool config = info && strcmp(info->id, "E0100") > 0 && strcmp(info->id, "E0700") < 0;
    return rc == RC_INVAL || config ? 2 : 1;
}

/* A command may have said itself what is wrong: problems of a config, a program that it ran. A
 * stream that nothing was printed to has no orientation.
 */
static bool is_mute(const struct err *err)
{
    return !err->exit && fwide(stderr, 0) == 0 && fwide(stdout, 0) == 0;
}

int cmd_report(const char *who, const struct cmd *c, enum rc rc, const struct err *err)
{
    if (rc != RC_OK && !err->msg[0] && is_mute(err))
        fprintf(stderr, "%s%s%s: error[E0010]: it failed without a message (%s, %d)\n",
                who, c ? " " : "", c ? c->name : "", rc_name(rc), (int)rc);
    if (rc == RC_OK || !err->msg[0])
        return cmd_exit_status(rc, err);
    const struct code_info *info = code_info(err_code_of(err, rc));
    fprintf(stderr, "%s%s%s: error[%s]: %s\n", who, c ? " " : "", c ? c->name : "",
            info ? info->id : "E0002", err->msg);
    if (info && strncmp(info->id, "E060", 4) == 0 && info->id[4] < '7')
        fprintf(stderr, "see `trainyard %s%s--help`\n", c ? c->name : "", c ? " " : "");
    return cmd_exit_status(rc, err);
}

static bool wants_help(const struct cmd *c, int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
        if (c->stop_at_word && argv[i][0] != '-')
            return false;
    }
    return false;
}

enum rc cmd_help_print(const struct cmd *c, const char *group, struct err *err)
{
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    if (c)
        help_command(c, &out);
    else
        help_overview(group, &out);
    enum rc rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

enum rc cmd_execute(const struct cmd *c, int argc, char *const *argv, struct err *err)
{
    if (wants_help(c, argc, argv))
        return cmd_help_print(c, NULL, err);
    struct opt_args args = {.stop_at_word = c->stop_at_word};
    void *conf = mem_calloc(1, c->conf_size ? c->conf_size : 1);
    enum rc rc = opt_defaults(c->opts, conf, err);
    if (!rc)
        rc = opt_parse(c->opts, conf, argc, argv, &args, err);
    if (!rc)
        rc = opt_args_check(&args, c->min_args, c->max_args, c->args ? c->args : "", err);
    if (!rc)
        rc = c->run(conf, &args, err);
    opt_args_release(&args);
    opt_release(c->opts, conf);
    mem_free(conf);
    return rc;
}
