/* SPDX-License-Identifier: Apache-2.0 */
/* NNI's experiment control. An experiment has a folder rather than a port: --port,
 * --url_prefix and --debug are taken and have no effect. What has no counterpart yet is
 * refused by name.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "compat/flags.h"
#include "compat/front.h"

#define COMMON_RULES                                                                     \
    {.name = "port", .letter = 'p'}, {.name = "debug", .no_value = true, .letter = 'd'}, \
        {.name = "experiment_dir", .letter = 'e'},                                       \
        {.name = "version", .no_value = true},                                           \
    {                                                                                    \
        .name = "help", .no_value = true, .letter = 'h'                                  \
    }

/* -c, -f, -p, -t and -T mean different things to different commands, hence several sets. */
static const struct compat_flag start_rules[] = {
    COMMON_RULES,
    {.name = "config", .letter = 'c'},
    {.name = "url_prefix", .letter = 'u'},
    {.name = "foreground", .no_value = true, .letter = 'f'},
    {0},
};
static const struct compat_flag log_rules[] = {
    COMMON_RULES,
    {.name = "head", .letter = 'H'},
    {.name = "tail", .letter = 'T'},
    {.name = "path", .no_value = true},
    {.name = "trial_id"},
    {0},
};
static const struct compat_flag top_rules[] = {
    COMMON_RULES,
    {.name = "time", .letter = 't'},
    {0},
};
static const struct compat_flag archive_rules[] = {
    {.name = "path", .letter = 'p'},
    {.name = "codeDir", .letter = 'c'},
    {.name = "help", .no_value = true, .letter = 'h'},
    {.name = "version", .no_value = true},
    {.name = "experiment_dir", .letter = 'e'},
    {0},
};
static const struct compat_flag algo_rules[] = {
    {.name = "meta_path", .letter = 'm'},
    {.name = "help", .no_value = true, .letter = 'h'},
    {.name = "version", .no_value = true},
    {0},
};
static const struct compat_flag space_rules[] = {
    {.name = "trial_command", .letter = 't'},
    {.name = "trial_dir", .letter = 'd'},
    {.name = "file", .letter = 'f'},
    {.name = "help", .no_value = true, .letter = 'h'},
    {.name = "version", .no_value = true},
    {0},
};
static const struct compat_flag other_rules[] = {
    COMMON_RULES,
    {.name = "all", .no_value = true, .letter = 'a'},
    {.name = "value", .letter = 'v'},
    {.name = "trial_id", .letter = 'T'},
    {.name = "head"},
    {.name = "tail"},
    {.name = "type", .letter = 't'},
    {.name = "filename", .letter = 'f'},
    {.name = "intermediate", .no_value = true, .letter = 'i'},
    {0},
};

static const char help_text[] =
    "nnictl create --config FILE [--foreground] | resume [ID] | view [ID] | stop [ID|--all]\n"
    "nnictl update searchspace [ID] --filename F\n"
    "nnictl update concurrency|duration|trialnum [ID] --value V\n"
    "nnictl trial ls [ID] [--head N] [--tail N] | trial kill [ID] --trial_id T\n"
    "nnictl experiment show|status|list [ID] | experiment delete ID|--all\n"
    "nnictl experiment save [ID] [--path DIR] | experiment load --path ZIP --codeDir DIR\n"
    "nnictl experiment export [ID] [--type json|csv] [--filename F] [--intermediate]\n"
    "nnictl log stdout|stderr [ID] [--head N] [--tail N] [--path] | log trial [ID] --trial_id T\n"
    "nnictl config show [ID] | webui url [ID] | top [--time SECONDS]\n"
    "nnictl algo register --meta_path FILE | algo unregister NAME | algo show NAME | algo list\n"
    "nnictl ss_gen --trial_command COMMAND [--trial_dir DIR] [--file FILE]\n"
    "Without an ID the experiment that was made last is meant. See docs/tuning.md.\n";

/* A verb of nnictl: its one or two words, our command, and which of the flags go with it.
 */
static const struct verb {
    const char *first, *second;
    const char *ours[5]; /* words, NULL behind the last */
    const char *takes;   /* "theirs=ours theirs=ours" */
    const char *needs;   /* a flag that must be there, or NULL */
} verbs[] = {
    {"create", NULL, {"tune", "create"}, "config=config", "config"},
    {"resume", NULL, {"tune", "resume"}, "", NULL},
    {"view", NULL, {"tune", "view"}, "", NULL},
    {"stop", NULL, {"tune", "stop"}, "all=all", NULL},
    {"update", "searchspace", {"tune", "update"}, "filename=space", "filename"},
    {"update", "concurrency", {"tune", "update"}, "value=concurrency", "value"},
    {"update", "duration", {"tune", "update"}, "value=duration", "value"},
    {"update", "trialnum", {"tune", "update"}, "value=trials", "value"},
    {"trial", "ls", {"tune", "trials", "--nni"}, "head=head tail=tail", NULL},
    {"trial", "kill", {"tune", "stop"}, "trial_id=trial", "trial_id"},
    {"experiment", "show", {"tune", "get", "--as", "/experiment"}, "", NULL},
    {"experiment", "status", {"tune", "get", "--as", "/check-status"}, "", NULL},
    {"experiment", "list", {"tune", "list"}, "", NULL},
    {"experiment", "delete", {"tune", "delete"}, "all=all", NULL},
    {"experiment", "save", {"tune", "save"}, "path=to", NULL},
    {"experiment", "load", {"tune", "load"}, "codeDir=code", "path"},
    {"experiment",
     "export",
     {"tune", "export"},
     "type=type filename=file intermediate=intermediate",
     NULL},
    {"log", "stdout", {"tune", "logs"}, "head=head tail=tail path=path", NULL},
    {"log", "stderr", {"tune", "logs"}, "head=head tail=tail path=path", NULL},
    {"log",
     "trial",
     {"tune", "logs"},
     "trial_id=trial head=head tail=tail path=path",
     "trial_id"},
    {"config", "show", {"tune", "get", "--as", "config"}, "", NULL},
    {"webui", "url", {"tune", "get"}, "", NULL},
    {"top", NULL, {"tune", "list"}, "time=watch", NULL},
    {"algo", "register", {"tune", "register"}, "", "meta_path"},
    {"algo", "reg", {"tune", "register"}, "", "meta_path"},
    {"algo", "unregister", {"tune", "unregister"}, "", NULL},
    {"algo", "unreg", {"tune", "unregister"}, "", NULL},
    {"algo", "show", {"tune", "algorithms", "--json"}, "", NULL},
    {"algo", "list", {"tune", "algorithms"}, "", NULL},
    {"ss_gen",
     NULL,
     {"tune", "space", "--overwrite"},
     "trial_command=command trial_dir=dir file=file",
     "trial_command"},
};

static const struct compat_flag *rules_for(int argc, char *const *argv)
{
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        if (strcmp(argv[i], "experiment") == 0 && i + 1 < argc &&
            (strcmp(argv[i + 1], "save") == 0 || strcmp(argv[i + 1], "load") == 0))
            return archive_rules;
        return strcmp(argv[i], "create") == 0 || strcmp(argv[i], "resume") == 0 ||
                       strcmp(argv[i], "view") == 0
                   ? start_rules
               : strcmp(argv[i], "log") == 0    ? log_rules
               : strcmp(argv[i], "top") == 0    ? top_rules
               : strcmp(argv[i], "algo") == 0   ? algo_rules
               : strcmp(argv[i], "ss_gen") == 0 ? space_rules
                                                : other_rules;
    }
    return other_rules;
}

static const struct verb *find(const char *first, const char *second)
{
    for (size_t i = 0; first && i < ARRAY_LEN(verbs); i++)
        if (strcmp(first, verbs[i].first) == 0 &&
            (!verbs[i].second || (second && strcmp(second, verbs[i].second) == 0)))
            return &verbs[i];
    return NULL;
}

/* Each "theirs=ours" of the verb that was given. */
static void pass_flags(const struct verb *v, const struct compat_flag *rules,
                       const struct compat_flags *f, struct front_call *out)
{
    struct str rest = str_c(v->takes), part;
    while (rest.n && str_split(&rest, ' ', &part)) {
        struct str theirs;
        char name[32], ours[32];
        (void)str_split(&part, '=', &theirs);
        snprintf(name, sizeof(name), "%.*s", (int)theirs.n, theirs.p);
        snprintf(ours, sizeof(ours), "%.*s", (int)part.n, part.p);
        const char *value = compat_flags_get(f, rules, name);
        if (value && !value[0]) /* one that stands alone */
            front_word(out, arena_printf(&out->arena, "--%s", ours));
        else if (value)
            front_option(out, arena_strdup(&out->arena, ours), value);
    }
}

static enum rc translate_verb(const struct verb *v, const struct compat_flag *rules,
                              const struct compat_flags *f, struct front_call *out,
                              struct err *err)
{
    size_t words = v->second ? 2 : 1;
    const char *dir = compat_flags_get(f, rules, "experiment_dir");
    const char *id = f->unknown.n > words ? f->unknown.at[words] : NULL;
    if (v->needs && !compat_flags_get(f, rules, v->needs))
        return err_coded(err, RC_INVAL, E2204, "nnictl %s needs --%s", v->first,
                         v->needs);
    if (f->unknown.n > words + 1)
        return err_coded(err, RC_INVAL, E2203, "nnictl %s: unexpected argument '%s'",
                         v->first, f->unknown.at[words + 1]);
    if (strcmp(v->first, "webui") == 0)
        front_note(out, "an experiment has a folder, not a page of its own");
    out->does = FRONT_COMMAND;
    for (size_t i = 0; v->ours[i]; i++)
        front_word(out, v->ours[i]);
    pass_flags(v, rules, f, out);
    if (rules == top_rules && !compat_flags_get(f, rules, "time"))
        front_option(out, "watch", "3"); /* as nnictl does */
    if (rules == start_rules && strcmp(v->first, "view") != 0 &&
        compat_flags_get(f, rules, "foreground"))
        front_word(out, "--wait");
    if (v->second && strcmp(v->second, "load") == 0)
        front_word(out, compat_flags_get(f, rules, "path"));
    if (v->needs && strcmp(v->needs, "meta_path") == 0)
        front_word(out, compat_flags_get(f, rules, "meta_path"));
    if (dir && id)
        front_option(out, "dir", arena_printf(&out->arena, "%s/%s", dir, id));
    else if (id)
        front_word(out, id);
    return RC_OK;
}

static enum rc nnictl_translate(const struct front_args *in, struct front_call *out,
                                struct err *err)
{
    struct compat_flags f = {0};
    const struct compat_flag *rules = rules_for(in->argc, in->argv);
    enum rc rc = compat_flags_read(rules, in->argc, in->argv, false, &f, err);
    const char *first = f.unknown.n ? f.unknown.at[0] : NULL;
    const char *second = f.unknown.n > 1 ? f.unknown.at[1] : NULL;
    const struct verb *v = find(first, second);
    if (rc) {
        compat_flags_release(&f);
        return rc;
    }
    if (compat_flags_get(&f, rules, "version")) {
        out->does = FRONT_COMMAND;
        front_word(out, "version");
    } else if (!first || compat_flags_get(&f, rules, "help")) {
        out->does = FRONT_NOTHING;
        out->text = help_text;
    } else if (!v) {
        rc = err_coded(err, RC_INVAL, E2203, "'nnictl %s%s%s' is not supported", first,
                       second ? " " : "", second ? second : "");
    } else {
        rc = translate_verb(v, rules, &f, out, err);
    }
    compat_flags_release(&f);
    return rc;
}

const struct front front_nnictl = {
    .name = "nnictl", .title = "NNI's experiment control", .translate = nnictl_translate};
