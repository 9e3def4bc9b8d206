/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/vec.h"
#include "cmd/cmd.h"

static const struct cmd *const commands[] = {
#define CMD(name, file, task, common) &cmd_##name,
#include "cmd/cmds.def"
#undef CMD
};

static const struct {
    enum cmd_task task;
    int common;
} traits[] = {
#define CMD(name, file, task, common) {CMD_TASK_##task, common},
#include "cmd/cmds.def"
#undef CMD
};

static const char *const titles[] = {
#define TASK(name, title) title,
#include "cmd/tasks.def"
#undef TASK
};

const char *cmd_task_title(enum cmd_task t)
{
    return titles[t];
}

enum cmd_task cmd_task(size_t i)
{
    return traits[i].task;
}

int cmd_common(size_t i)
{
    return traits[i].common;
}

const struct cmd *const *cmd_all(size_t *n)
{
    *n = ARRAY_LEN(commands);
    return commands;
}

/* How many of argv's words spell `name`: 0 when they do not. */
static int words_of(const char *name, int argc, char *const *argv)
{
    const char *blank = strchr(name, ' ');
    if (!blank)
        return strcmp(argv[0], name) == 0 ? 1 : 0;
    size_t n = (size_t)(blank - name);
    bool first = strlen(argv[0]) == n && strncmp(argv[0], name, n) == 0;
    return first && argc > 1 && strcmp(argv[1], blank + 1) == 0 ? 2 : 0;
}

const struct cmd *cmd_find(int argc, char *const *argv, int *words)
{
    const struct cmd *found = NULL;
    *words = 0;
    for (size_t i = 0; argc > 0 && i < ARRAY_LEN(commands); i++) {
        int n = words_of(commands[i]->name, argc, argv);
        if (n > *words) { /* `server install` is not `server` */
            *words = n;
            found = commands[i];
        }
    }
    return found;
}

bool cmd_is_group(const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strncmp(commands[i]->name, word, n) == 0 && commands[i]->name[n] == ' ')
            return true;
    return false;
}

/* `data` alone: E0605 with the words that may follow. */
static enum rc word_missing(const char *group, struct err *err)
{
    size_t n = strlen(group);
    struct buf words;
    buf_init(&words, 500);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strncmp(commands[i]->name, group, n) == 0 && commands[i]->name[n] == ' ')
            buf_printf(&words, "%s%s", words.n ? ", " : "", commands[i]->name + n + 1);
    enum rc rc = err_coded(err, RC_INVAL, E0605, "'%s' needs a second word: %s", group,
                           buf_str(&words));
    buf_release(&words);
    return rc;
}

enum rc cmd_unknown(int argc, char *const *argv, struct err *err)
{
    VEC(const char *) names = {0};
    struct buf given;
    bool group = cmd_is_group(argv[0]);
    if (group && argc == 1)
        return word_missing(argv[0], err);
    buf_init(&given, CMD_TEXT_MAX);
    buf_printf(&given, "%s%s%s", argv[0], group ? " " : "", group ? argv[1] : "");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (!group || str_starts(commands[i]->name, argv[0]))
            VEC_PUSH(&names, commands[i]->name);
    const char *near = str_nearest(str_c(buf_str(&given)), names.at, names.n);
    enum rc rc = near ? err_coded(err, RC_INVAL, E0606,
                                  "unknown command '%.100s', did you mean '%s'?",
                                  buf_str(&given), near)
                      : err_coded(err, RC_INVAL, E0606, "unknown command '%.100s'",
                                  buf_str(&given));
    buf_release(&given);
    VEC_RELEASE(&names);
    return rc;
}
