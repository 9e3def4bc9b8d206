/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts, written from the table of commands. The scripts for bash and zsh find
 * the command from the first one or two words, then offer its options, the values of an
 * option that has fixed ones, its fixed arguments, or files. That of fish, which has a line
 * per option, is in completion_fish.c.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/completion_private.h"

static const struct opt opts[] = {{0}};

void completion_flag(const struct opt *o, struct buf *out)
{
    const char *dot = o->flag ? NULL : strrchr(o->field, '.');
    for (const char *c = o->flag ? o->flag : dot ? dot + 1 : o->field; *c; c++)
        buf_putc(out, *c == '_' ? '-' : *c);
}

bool completion_offers(const struct opt *o)
{
    return !o->hidden && o->kind != OPT_KIND_HEADING;
}

static void put_flags(const struct cmd *c, struct buf *out)
{
    for (const struct opt *o = c->opts; o->kind != OPT_KIND_END; o++)
        if (completion_offers(o)) {
            buf_puts(out, "--");
            completion_flag(o, out);
            buf_putc(out, ' ');
        }
    buf_puts(out, "--help");
}

void completion_spaced(struct buf *out, const char *words)
{
    for (; *words; words++)
        buf_putc(out, *words == '|' ? ' ' : *words);
}

/* First words of all commands, or second words of those of a group; each once. */
static void put_commands(const char *group, struct buf *out)
{
    size_t n, last = 0;
    const struct cmd *const *all = cmd_all(&n);
    const char *before = "";
    for (size_t i = 0; i < n; i++) {
        const char *blank = strchr(all[i]->name, ' ');
        size_t first = blank ? (size_t)(blank - all[i]->name) : strlen(all[i]->name);
        if (group) {
            if (blank && strlen(group) == first &&
                strncmp(group, all[i]->name, first) == 0)
                buf_printf(out, "%s%s", out->n && out->p[out->n - 1] != '"' ? " " : "",
                           blank + 1);
            continue;
        }
        if (first == last && strncmp(before, all[i]->name, first) == 0)
            continue;
        buf_printf(out, "%s%.*s", *before ? " " : "", (int)first, all[i]->name);
        before = all[i]->name;
        last = first;
    }
}

void completion_words(const struct cmd *c, struct buf *out)
{
    if (!c->words)
        return;
    if (strcmp(c->words, CMD_WORDS_COMMANDS) == 0)
        put_commands(NULL, out);
    else if (strcmp(c->words, CMD_WORDS_EXPLAIN) == 0)
        buf_puts(out, "$(trainyard explain --words 2>/dev/null)");
    else
        completion_spaced(out, c->words);
}

/* Calls `put` for each group, once. */
static void each_group(struct buf *out, void (*put)(struct buf *, const char *))
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    char group[64] = "";
    for (size_t i = 0; i < n; i++) {
        const char *blank = strchr(all[i]->name, ' ');
        size_t first = blank ? (size_t)(blank - all[i]->name) : 0;
        if (!blank || first >= sizeof(group) ||
            (strlen(group) == first && strncmp(group, all[i]->name, first) == 0))
            continue;
        memcpy(group, all[i]->name, first);
        group[first] = '\0';
        put(out, group);
    }
}

/* Lines of `case "$cmd $prev"`: what may follow an option that takes a value. */
static void put_values(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    for (size_t i = 0; i < n; i++)
        for (const struct opt *o = all[i]->opts; o->kind != OPT_KIND_END; o++) {
            if (!completion_offers(o) || o->kind == OPT_KIND_BOOL)
                continue;
            buf_printf(out, "    \"%s --", all[i]->name);
            completion_flag(o, out);
            buf_puts(out, "\") value=1 args=\"");
            completion_spaced(out, o->choices ? o->choices : "");
            buf_puts(out, "\" ;;\n");
        }
}

static void put_table(struct buf *out)
{
    size_t n;
    const struct cmd *const *all = cmd_all(&n);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "    \"%s\") flags=\"", all[i]->name);
        put_flags(all[i], out);
        buf_puts(out, "\" args=\"");
        completion_words(all[i], out);
        buf_puts(out, "\" ;;\n");
    }
}

static void put_group_case(struct buf *out, const char *group)
{
    buf_printf(out, "    \"%s\") args=\"", group);
    put_commands(group, out);
    buf_puts(out, "\"; [ \"$at\" = 2 ] || cmd=\"$one $two\" ;;\n");
}

/* What bash and zsh share: POSIX words over $one, $two, $prev and $at. */
static void put_body(struct buf *out)
{
    buf_puts(
        out,
        "  cmd=$one args=\"\" flags=\"\" value=\"\"\n  if [ \"$at\" = 1 ]; then\n    args=\"");
    put_commands(NULL, out);
    buf_puts(out, "\" flags=\"--help --version\" cmd=\"\"\n  fi\n");
    buf_puts(out, "  case $cmd in\n");
    each_group(out, put_group_case);
    buf_puts(out, "    *) ;;\n  esac\n  case $cmd in\n");
    put_table(out);
    buf_puts(out, "    *) ;;\n  esac\n  case \"$cmd $prev\" in\n");
    put_values(out);
    buf_puts(out, "    *) ;;\n  esac\n");
}

static void put_bash(struct buf *out)
{
    buf_puts(out,
             "# bash completion of trainyard, made by `trainyard completion bash`\n"
             "_trainyard()\n{\n"
             "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
             "  local one=${COMP_WORDS[1]-} two=${COMP_WORDS[2]-} at=$COMP_CWORD\n"
             "  local cmd args flags value\n");
    put_body(out);
    buf_puts(out, "  if [ -z \"$value\" ] && [ \"${cur:0:1}\" = - ]; then\n"
                  "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cur\")\n"
                  "  elif [ -n \"$args\" ]; then\n"
                  "    mapfile -t COMPREPLY < <(compgen -W \"$args\" -- \"$cur\")\n"
                  "  else\n"
                  "    compopt -o filenames 2>/dev/null\n"
                  "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                  "  fi\n"
                  "}\ncomplete -F _trainyard trainyard\n");
}

static void put_zsh(struct buf *out)
{
    buf_puts(out, "#compdef trainyard\n"
                  "# zsh completion of trainyard, made by `trainyard completion zsh`\n"
                  "_trainyard()\n{\n"
                  "  local cur=$words[CURRENT] prev=$words[CURRENT-1]\n"
                  "  local one=$words[2] two=$words[3] at=$((CURRENT - 1))\n"
                  "  local cmd args flags value\n");
    put_body(out);
    buf_puts(out, "  if [ -z \"$value\" ] && [[ $cur == -* ]]; then\n"
                  "    compadd -- ${=flags}\n"
                  "  elif [ -n \"$args\" ]; then\n"
                  "    compadd -- ${=args}\n"
                  "  else\n"
                  "    _files\n"
                  "  fi\n"
                  "}\n"
                  "if [ \"$funcstack[1]\" = _trainyard ]; then\n"
                  "  _trainyard \"$@\"\n"
                  "else\n"
                  "  compdef _trainyard trainyard\n"
                  "fi\n");
}

static enum rc completion_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    struct buf out;
    enum rc rc = RC_OK;
    buf_init(&out, CMD_TEXT_MAX);
    if (strcmp(args->at[0], "bash") == 0)
        put_bash(&out);
    else if (strcmp(args->at[0], "zsh") == 0)
        put_zsh(&out);
    else if (strcmp(args->at[0], "fish") == 0)
        completion_fish(&out);
    else
        rc = err_coded(err, RC_INVAL, E0604, "'%.100s' is not one of bash, fish, zsh",
                       args->at[0]);
    if (!rc)
        rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

static const struct cmd_example examples[] = {
    {"in this shell", "source <(trainyard completion bash)"},
    {"for all zsh sessions: write to a directory in fpath",
     "trainyard completion zsh > ~/.zfunc/_trainyard"},
    {"for all fish sessions",
     "trainyard completion fish > ~/.config/fish/completions/trainyard.fish"},
    {0},
};

const struct cmd cmd_completion = {
    .name = "completion",
    .args = "bash|fish|zsh",
    .summary = "print a shell completion script",
    .examples = examples,
    .opts = opts,
    .min_args = 1,
    .max_args = 1,
    .words = "bash|fish|zsh",
    .run = completion_command,
};
