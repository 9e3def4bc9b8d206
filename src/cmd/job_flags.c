/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/job_flags.h"
#include "cmd/colour.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "cmd/cmd.h"

#define PREFIX "flags."

typedef VEC(struct job_spec_flag) flag_list;

/* Every row of the table that has a value becomes a flag of the specification. */
static void take_flags(const struct opt *opts, const void *conf, flag_list *out)
{
    for (const struct opt *o = opts; o->kind; o++) {
        const char *at = (const char *)conf + o->at;
        if (!o->field || !str_starts(o->field, PREFIX))
            continue;
        const char *name = o->field + strlen(PREFIX);
        if (o->kind == OPT_KIND_TEXT && *(const char *const *)(const void *)at) {
            struct job_spec_flag f = {name, *(const char *const *)(const void *)at};
            VEC_PUSH(out, f);
        }
        if (o->kind == OPT_KIND_BOOL && *(const bool *)at) {
            struct job_spec_flag f = {name, "true"};
            VEC_PUSH(out, f);
        }
        const struct opt_list *list = (const void *)at;
        for (size_t i = 0; o->kind == OPT_KIND_LIST && i < list->n; i++) {
            struct job_spec_flag f = {name, list->at[i]};
            VEC_PUSH(out, f);
        }
    }
}

bool job_flags_any(const struct opt *opts, const void *conf)
{
    flag_list flags = {0};
    take_flags(opts, conf, &flags);
    bool any = flags.n > 0;
    VEC_RELEASE(&flags);
    return any;
}

/* --env NAME stands for NAME=value of our own environment. */
static void copy_env(flag_list *flags, struct arena *a)
{
    for (size_t i = 0; i < flags->n; i++) {
        const char *value = flags->at[i].value;
        size_t n = strlen(value);
        if (strcmp(flags->at[i].name, "env") != 0 || strchr(value, '='))
            continue;
        for (char **e = environ; *e; e++)
            if (strncmp(*e, value, n) == 0 && (*e)[n] == '=')
                flags->at[i].value = arena_strdup(a, *e);
    }
}

static void show_diags(struct diags *d)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    diags_sort(d);
    diags_print(d, &b, cmd_colours(STDERR_FILENO));
    fputs(buf_str(&b), stderr);
    buf_release(&b);
}

enum rc job_flags_load(const struct opt *opts, const void *conf,
                       const struct opt_args *args, size_t skip, struct job_spec *spec,
                       struct err *err)
{
    flag_list flags = {0};
    struct diags diags = {0};
    struct arena a = {0};
    size_t n_files = args->n - args->n_dashed;
    *spec = (struct job_spec){0};
    if (n_files > skip + 1)
        return err_coded(err, RC_INVAL, E0604,
                         "unexpected argument '%.100s'; the command goes after `--`",
                         args->at[skip + 1]);
    take_flags(opts, conf, &flags);
    copy_env(&flags, &a);
    struct job_spec_flags f = {.at = flags.at,
                               .n = flags.n,
                               .command = args->at + n_files,
                               .n_command = args->n_dashed};
    enum rc rc =
        job_spec_load(n_files > skip ? args->at[skip] : NULL, &f, spec, &diags, err);
    if (diags.list.n)
        show_diags(&diags);
    diags_release(&diags);
    VEC_RELEASE(&flags);
    arena_release(&a);
    return rc;
}
