/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/cmd.h - what a subcommand is.
 *
 * One const struct cmd in its own file and one row in cmds.def add a command; the build,
 * help, completion, the man page and the reference all read the two. A command of two words
 * ("data gen") is `cmd_data_gen` with .name = "data gen".
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"

#define CMD_TEXT_MAX ((size_t)64 << 20) /* ceiling of a text that a command prints */
#define CMD_ANY SIZE_MAX                /* max_args: no limit */
#define CMD_WORDS_COMMANDS "@commands"  /* words: the names of the commands */
#define CMD_WORDS_EXPLAIN "@explain"    /* words: what `explain` knows */

struct cmd_example {
    const char *what; /* "the same for an editor", lower case, no full stop */
    const char *line; /* "trainyard check --json pipeline.config" */
};

struct cmd {
    const char *name;        /* one word, or two with a blank between them */
    const char *args;        /* as the usage line shows them, "FILE..."; NULL: none */
    const char *summary;     /* one line, lower case, no full stop */
    const char *description; /* sentences; an empty line parts paragraphs; may be NULL */
    const struct cmd_example *examples; /* ends with a NULL line; may be NULL */
    const struct opt *opts;             /* never NULL; {0} alone when there are none */
    size_t conf_size;                   /* of the struct that `opts` describes */
    size_t min_args, max_args;          /* arguments beside options */
    const char *words; /* for completion: the arguments that there are, "a|b|c", or one of
                          CMD_WORDS_*; NULL: files */
    bool stop_at_word; /* what follows the first argument is another program's */
    /* Results go to stdout, progress and diagnostics to stderr. A failure with an empty
     * err->msg was shown already; any other is printed by main(). `conf` holds the
     * options and is released by the caller.
     */
    enum rc (*run)(const void *conf, const struct opt_args *args, struct err *err);
};

#define CMD(name, file, task, common) extern const struct cmd cmd_##name;
#include "cmd/cmds.def"
#undef CMD

/* What people come to do: the headings of the overview, in order. */
enum cmd_task {
#define TASK(name, title) CMD_TASK_##name,
#include "cmd/tasks.def"
#undef TASK
    CMD_TASKS
};
const char *cmd_task_title(enum cmd_task t);

/* All commands, sorted by name. */
const struct cmd *const *cmd_all(size_t *n);
/* Of command `i` of cmd_all(): its task, and its place among the commonest (from 1; 0: it is
 * not one of them).
 */
enum cmd_task cmd_task(size_t i);
int cmd_common(size_t i);
/* The command that argv[0], or argv[0] and argv[1] together, name; *words says how many
 * of them. NULL when there is none.
 */
const struct cmd *cmd_find(int argc, char *const *argv, int *words);
/* True when `word` is the first of a two-word command. */
bool cmd_is_group(const char *word);
/* E0606, with the nearest name that there is; E0605 when `argv` is a group alone. */
enum rc cmd_unknown(int argc, char *const *argv, struct err *err);

/* Reads the options, runs, releases. `argv` starts behind the command's name. */
enum rc cmd_execute(const struct cmd *c, int argc, char *const *argv, struct err *err);
/* Help to stdout: of `c`, or the overview of `group` or of everything (both NULL). */
enum rc cmd_help_print(const struct cmd *c, const char *group, struct err *err);
/* 0 done, 1 failed, 2 usage or bad configuration. */
int cmd_exit_status(enum rc rc, const struct err *err);
/* Prints a failure to stderr, one line (wrong usage also gets a pointer to the help), and
 * returns the exit status. A failure without a message has been told by the command, or is
 * told as E0010 where nothing was printed. `c` may be NULL.
 */
int cmd_report(const char *who, const struct cmd *c, enum rc rc, const struct err *err);
/* A command line to copy: words with blanks between them, each quoted where the shell would
 * take it apart. The list ends with NULL.
 */
void cmd_put_words(struct buf *out, const char *first, ...);
/* Writes `b` to stdout and empties it. RC_IO when stdout does not take it. */
enum rc cmd_print(struct buf *b, struct err *err) MUST_CHECK;

#endif
