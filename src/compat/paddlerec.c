/* SPDX-License-Identifier: Apache-2.0 */
/* paddlerec -m config.yaml is `run config.yaml`; so is python -m paddlerec.run. */
#include "compat/paddlerec.h"

#include <string.h>

#include "base/str.h"
#include "compat/flags.h"

static const struct compat_flag flags[] = {
    {.name = "model", .letter = 'm'}, {.name = "backend", .letter = 'b'}, {0}};

bool paddlerec_is_module(const char *name)
{
    return strcmp(name, "paddlerec.run") == 0 || strcmp(name, "paddlerec") == 0 ||
           str_ends(name, "paddlerec/run.py");
}

enum rc paddlerec_translate(const struct front_args *in, struct front_call *out,
                            struct err *err)
{
    struct compat_flags f = {0};
    enum rc rc = compat_flags_read(flags, in->argc, in->argv, false, &f, err);
    const char *model = rc ? NULL : compat_flags_get(&f, flags, "model");
    const char *backend = rc ? NULL : compat_flags_get(&f, flags, "backend");
    if (!rc && !model)
        rc = err_coded(err, RC_INVAL, E2204,
                       "-m config.yaml, or -m paddlerec.models.X.Y, is required");
    if (!rc) {
        out->does = FRONT_COMMAND;
        front_word(out, "run");
        if (backend)
            front_option(out, "backend", backend);
        front_word(out, "--");
        front_word(out, model);
    }
    compat_flags_release(&f);
    return rc;
}

static enum rc paddlerec_front(const struct front_args *in, struct front_call *out,
                               struct err *err)
{
    bool help = in->argc == 0 || strcmp(in->argv[0], "-h") == 0 ||
                strcmp(in->argv[0], "--help") == 0;
    if (!help)
        return paddlerec_translate(in, out, err);
    out->does = FRONT_NOTHING;
    out->text = "usage: paddlerec -m config.yaml|paddlerec.models.X.Y [-b backend.yaml]\n"
                "is `trainyard run config.yaml`; see docs/paddlerec.md.\n";
    return RC_OK;
}

const struct front front_paddlerec = {
    .name = "paddlerec", .title = "PaddleRec's runner", .translate = paddlerec_front};
