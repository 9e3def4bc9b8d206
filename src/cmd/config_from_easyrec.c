/* SPDX-License-Identifier: Apache-2.0 */
/* config from-easyrec: reads a config of EasyRec and its fg.json, writes a pipeline.config,
 * and checks it: what has no counterpart is a note, what is still wrong a diagnostic.
 */
#include <stdio.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/train_config.h"
#include "compat/easyrec.h"
#include "io/guard.h"
#include "text/conf.h"
#include "text/json.h"
#include "text/prototext.h"

#define TEXT_MAX (CMD_TEXT_MAX * 64)

struct easyrec_conf {
    const char *fg_json, *output;
    bool use_old_fg, overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct easyrec_conf, fg_json, NULL, "fg.json of the features"),
     .meta = "FILE", .alias = "fg-json-path"},
    {OPT_BOOL(struct easyrec_conf, use_old_fg, "false",
              "use the features of the config; take only their inputs from fg.json")},
    {OPT_TEXT(struct easyrec_conf, output, "-", "file to write; -: stdout"),
     .meta = "FILE", .alias = "output-tzrec-config-path"},
    DATA_OVERWRITE_OPT(struct easyrec_conf),
    {0},
};

static enum rc read_doc(const char *path, bool json, struct doc *d, struct err *err)
{
    struct diags diags = {0};
    enum rc rc = source_open(path, &d->src, err);
    if (!rc)
        rc = json ? json_parse(d, &diags) : prototext_parse(d, &diags);
    if (rc && diags.list.n && err)
        err->msg[0] = '\0'; /* they say it */
    config_show(&diags);
    diags_release(&diags);
    return rc;
}

static enum rc check_outputs(const struct easyrec_conf *c, const char *path,
                             struct err *err)
{
    char *in[] = {(char *)path, (char *)c->fg_json};
    struct fs_names inputs = {.at = in, .n = c->fg_json ? 2 : 1};
    return io_guard_file(c->output, &inputs, c->overwrite, err);
}

/* Whatever a run would refuse, with the place in the new file. */
static enum rc check_result(const struct easyrec_conf *c, const struct buf *text,
                            struct err *err)
{
    struct conf config = {0};
    struct diags diags = {0};
    struct conf_options o = {.kind = &conf_kind_pipeline};
    enum rc rc = conf_from(io_output_name(c->output), buf_str(text), text->n, &o, &config,
                           &diags, err);
    config_show(&diags);
    if (rc)
        rc =
            err_coded(err, RC_INVAL, E2209,
                      "'%s' was written, and needs changes by hand before it can be used",
                      io_output_name(c->output));
    diags_release(&diags);
    conf_release(&config);
    return rc;
}

static enum rc write_result(const struct easyrec_conf *c, const struct compat_easyrec *x,
                            struct err *err)
{
    struct buf text, out;
    buf_init(&text, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    prototext_print(x->to, &text);
    buf_add(&out, text.p, text.n);
    for (size_t i = 0; i < x->notes.n; i++)
        fprintf(stderr, "note: %s\n", x->notes.at[i]);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = io_is_direct(c->output) ? cmd_print(&out, err)
                                     : fs_write(c->output, text.p, text.n, 0666, err);
    if (!rc)
        rc = check_result(c, &text, err);
    buf_release(&out);
    buf_release(&text);
    return rc;
}

static enum rc from_easyrec_command(const void *conf, const struct opt_args *args,
                                    struct err *err)
{
    const struct easyrec_conf *c = conf;
    struct doc from = {0}, fg = {0};
    struct arena arena = {0};
    struct compat_easyrec x = {.arena = &arena, .old_fg = c->use_old_fg};
    enum rc rc = check_outputs(c, args->at[0], err);
    if (!rc)
        rc = read_doc(args->at[0], false, &from, err);
    if (!rc && c->fg_json && c->fg_json[0])
        rc = read_doc(c->fg_json, true, &fg, err);
    x.from = from.root;
    x.fg = fg.root;
    if (!rc) {
        rc = compat_easyrec_convert(&x, err);
        if (rc)
            rc = err_wrap(err, rc, "'%.300s'", args->at[0]);
    }
    if (!rc)
        rc = write_result(c, &x, err);
    VEC_RELEASE(&x.notes);
    arena_release(&arena);
    doc_release(&from);
    doc_release(&fg);
    return rc;
}

static const struct cmd_example examples[] = {
    {"with the feature generation of the old job",
     "trainyard config from-easyrec easyrec.config --fg-json fg.json --output "
     "new.config"},
    {0},
};

const struct cmd cmd_config_from_easyrec = {
    .name = "config from-easyrec",
    .args = "CONFIG",
    .summary = "convert an EasyRec config to a pipeline.config",
    .description =
        "EasyRec is TorchEasyRec's predecessor on TensorFlow. Features, groups, "
        "models, losses and metrics are converted where both have them; notes list "
        "what was left out. The result is checked; exit status 2 means that it was "
        "written but needs manual changes.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct easyrec_conf),
    .min_args = 1,
    .max_args = 1,
    .run = from_easyrec_command,
};
