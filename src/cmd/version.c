/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/build_info.h"
#include "cmd/cmd.h"
#include "text/json_out.h"

struct version_conf {
    bool json;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct version_conf, json, "false", "print one JSON object")},
    {0},
};

static void print_text(struct buf *out)
{
    buf_puts(out, "trainyard " TY_VERSION);
    if (build_revision()[0])
        buf_printf(out, " (%s)", build_revision());
    buf_printf(out, "\n%-10s %s\n%-10s %s\n", "compiler", build_compiler(), "libc",
               build_libc());
    for (const struct build_library *l = build_libraries(); l->name; l++)
        buf_printf(out, "%-10s %s (%s)\n", l->name, l->version(), l->use);
}

static void print_json(struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_put_str(&j, "version", TY_VERSION);
    json_put_str(&j, "revision", build_revision()[0] ? build_revision() : NULL);
    json_put_str(&j, "compiler", build_compiler());
    json_put_str(&j, "libc", build_libc());
    json_open(&j, "libraries", '{');
    for (const struct build_library *l = build_libraries(); l->name; l++)
        json_put_str(&j, l->name, l->version());
    json_close(&j, '}');
    json_close(&j, '}');
    buf_putc(out, '\n');
}

static enum rc version_command(const void *conf, const struct opt_args *args,
                               struct err *err)
{
    const struct version_conf *c = conf;
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    if (c->json)
        print_json(&out);
    else
        print_text(&out);
    enum rc rc = cmd_print(&out, err);
    buf_release(&out);
    return rc;
}

static const struct cmd_example examples[] = {
    {"for a bug report", "trainyard version"},
    {"for a script", "trainyard version --json"},
    {0},
};

const struct cmd cmd_version = {
    .name = "version",
    .summary = "show the version, compiler and libraries",
    .description =
        "Includes the git revision if the program was built from a checkout. Library "
        "versions are those loaded at run time, except for snappy (build time).",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct version_conf),
    .run = version_command,
};
