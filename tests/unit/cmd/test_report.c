/* SPDX-License-Identifier: Apache-2.0 */
/* What the program prints of a failure, in a process of its own whose streams are fresh. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "tap.h"

struct failure {
    enum rc rc;
    const char *printed; /* by the command, to stderr; NULL: nothing */
    const char *msg;     /* of its failure */
    int exit;            /* that it asks for */
};

static void report(const struct failure *f, const char *path)
{
    struct err err = {.exit = f->exit};
    if (!freopen("/dev/null", "w", stdout) || !freopen(path, "w", stderr))
        _exit(99);
    if (f->printed)
        fputs(f->printed, stderr);
    snprintf(err.msg, sizeof(err.msg), "%s", f->msg);
    int status = cmd_report("trainyard", NULL, f->rc, &err);
    fflush(stderr);
    _exit(status);
}

static void check_report(const struct failure *f, int status, const char *said)
{
    char path[] = "/tmp/trainyard-report.XXXXXX", *text = NULL;
    size_t n = 0;
    int fd = mkstemp(path), ended = 0;
    CHECK(fd >= 0 && close(fd) == 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        report(f, path);
    CHECK(waitpid(pid, &ended, 0) == pid && WIFEXITED(ended));
    CHECK_INT(WEXITSTATUS(ended), status);
    CHECK(fs_read(path, 1 << 16, &text, &n, NULL) == RC_OK);
    CHECK_STR(text, said);
    mem_free(text);
    CHECK(unlink(path) == 0);
}

static void a_failure_that_nobody_told_has_a_line(void)
{
    check_report(&(struct failure){.rc = RC_IO, .msg = ""}, 1,
                 "trainyard: error[E0010]: it failed without a message (i/o, -3)\n");
    check_report(&(struct failure){.rc = (enum rc)4, .msg = ""}, 1,
                 "trainyard: error[E0010]: it failed without a message (unknown, 4)\n");
}

static void a_failure_that_was_told_has_no_second_line(void)
{
    check_report(
        &(struct failure){.rc = RC_INVAL, .printed = "a.config:3: no\n", .msg = ""}, 2,
        "a.config:3: no\n");
    check_report(&(struct failure){.rc = RC_IO, .msg = "", .exit = 7}, 7, "");
    check_report(&(struct failure){.rc = RC_IO, .msg = "the cable is cut"}, 1,
                 "trainyard: error[E0003]: the cable is cut\n");
    check_report(&(struct failure){.rc = RC_OK, .msg = ""}, 0, "");
}

static const struct tap_case cases[] = {
    TAP(a_failure_that_nobody_told_has_a_line),
    TAP(a_failure_that_was_told_has_no_second_line),
};
TAP_MAIN(cases)
