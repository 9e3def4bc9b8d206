/* SPDX-License-Identifier: Apache-2.0 */
/* `python -m tzrec.train_eval` and `pip install tzrec`, so that command blocks written
 * for TorchEasyRec run as they are. Everything else goes to the Python or pip that comes
 * next on PATH, untouched.
 */
#include <string.h>

#include "base/str.h"
#include "compat/front.h"
#include "compat/paddlerec.h"
#include "compat/tzrec.h"

static void pass_on(const char *program, const struct front_args *in,
                    struct front_call *out)
{
    out->does = FRONT_PROGRAM;
    front_word(out, program);
    for (int i = 0; i < in->argc; i++)
        front_word(out, in->argv[i]);
}

static bool is_number(const char *s, uint64_t *n)
{
    return s && str_to_u64(str_c(s), n);
}

/* Where the module's name stands: behind -m, with -u and the like before it; or -1. */
static int module_at(const struct front_args *in)
{
    for (int i = 0; i + 1 < in->argc && in->argv[i][0] == '-'; i++)
        if (strcmp(in->argv[i], "-m") == 0)
            return tzrec_is_module(in->argv[i + 1]) ||
                           paddlerec_is_module(in->argv[i + 1])
                       ? i + 1
                       : -1;
        else if (strcmp(in->argv[i], "-c") == 0)
            return -1;
    return in->argc && str_ends(in->argv[0], ".py") && tzrec_is_module(in->argv[0]) ? 0
                                                                                    : -1;
}

static enum rc python_translate(const struct front_args *in, struct front_call *out,
                                struct err *err)
{
    int at = module_at(in);
    uint64_t rank = 0;
    if (at < 0) {
        pass_on("python", in, out);
        return RC_OK;
    }
    if (is_number(in->env("LOCAL_RANK"), &rank) && rank > 0) {
        out->does = FRONT_NOTHING;
        front_note(out,
                   "LOCAL_RANK %ju: this version trains in one process, rank 0; exiting",
                   (uintmax_t)rank);
        return RC_OK;
    }
    struct front_args rest = {
        .argc = in->argc - at - 1, .argv = in->argv + at + 1, .env = in->env};
    if (paddlerec_is_module(in->argv[at]))
        return paddlerec_translate(&rest, out, err);
    return tzrec_translate(in->argv[at], &rest, out, err);
}

static bool is_tzrec(const char *word)
{
    return str_starts(word, "tzrec") && strchr("=<>!~", word[5]); /* or its end */
}

/* `pip install tzrec==1.0 -f URL --trusted-host HOST`: true when nothing else is asked.
 */
static bool installs_tzrec_alone(const struct front_args *in)
{
    static const char *const valued[] = {
        "-f",          "--find-links", "--trusted-host",   "-i",
        "--index-url", "--timeout",    "--extra-index-url"};
    bool found = false;
    for (int i = 1; i < in->argc; i++) {
        bool takes_value = false;
        for (size_t k = 0; k < ARRAY_LEN(valued); k++)
            takes_value = takes_value || strcmp(in->argv[i], valued[k]) == 0;
        if (takes_value)
            i++;
        else if (is_tzrec(in->argv[i]))
            found = true;
        else if (in->argv[i][0] != '-')
            return false;
    }
    return found;
}

static enum rc pip_translate(const struct front_args *in, struct front_call *out,
                             struct err *err)
{
    if (in->argc > 1 && strcmp(in->argv[0], "install") == 0 && installs_tzrec_alone(in)) {
        out->does = FRONT_NOTHING;
        front_note(out, "nothing to install: trainyard takes the command lines of tzrec");
        return RC_OK;
    }
    pass_on("pip", in, out);
    return RC_OK;
}

const struct front front_pip = {
    .name = "pip", .title = "Python's package installer", .translate = pip_translate};
const struct front front_python = {
    .name = "python", .title = "Python", .translate = python_translate};
