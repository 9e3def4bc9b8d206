/* SPDX-License-Identifier: Apache-2.0 */
/* The edge: finds the command, prints its failure, maps it to an exit status. Nothing
 * happens before dispatch, so that the program starts in a few milliseconds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/fronts.h"
#include "cmd/help.h"

/* Options of the program itself, and a group named alone. */
static int run_general(int argc, char *const *argv, struct err *err)
{
    if (argc == 0) {
        struct buf out;
        buf_init(&out, CMD_TEXT_MAX);
        help_overview(NULL, &out);
        fputs(buf_str(&out), stderr);
        buf_release(&out);
        return 2;
    }
    bool help =
        argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return cmd_report("trainyard", NULL, cmd_help_print(NULL, NULL, err), err);
    if (strcmp(argv[0], "--version") == 0)
        return cmd_report("trainyard", NULL,
                          cmd_execute(&cmd_version, argc - 1, argv + 1, err), err);
    if (cmd_is_group(argv[0]) && help)
        return cmd_report("trainyard", NULL, cmd_help_print(NULL, argv[0], err), err);
    if (argv[0][0] == '-')
        return cmd_report(
            "trainyard", NULL,
            err_coded(err, RC_INVAL, E0601, "unknown option '%.100s'", argv[0]), err);
    return cmd_report("trainyard", NULL, cmd_unknown(argc, argv, err), err);
}

/* A closed stdin, stdout or stderr must not become the number of a file that matters. */
static void fill_standard_fds(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    fill_standard_fds();
    const struct front *front = argc > 0 ? front_find(argv[0]) : NULL;
    if (front)
        return front_run(front, argc - 1, argv + 1);
    if (argc < 1)
        return run_general(0, argv, &err);
    int words = 0;
    const struct cmd *c = cmd_find(argc - 1, argv + 1, &words);
    if (!c)
        return run_general(argc - 1, argv + 1, &err);
    return cmd_report("trainyard", c,
                      cmd_execute(c, argc - 1 - words, argv + 1 + words, &err), &err);
}
