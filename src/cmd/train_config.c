/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/train_config.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"

void config_show(struct diags *diags)
{
    struct buf b;
    if (diags->list.n == 0)
        return;
    buf_init(&b, CMD_TEXT_MAX);
    diags_sort(diags);
    diags_print(diags, &b, isatty(STDERR_FILENO) != 0);
    fwrite(buf_str(&b), 1, b.n, stderr);
    buf_release(&b);
    diags_release(diags);
}

enum rc config_open(const char *path, const struct config_override *overrides, size_t n,
                    const struct opt_list *set, const char *edit_json, struct conf *c,
                    struct diags *diags, struct err *err)
{
    struct conf_edit *edits = mem_calloc(n + set->n + 1, sizeof(*edits));
    struct arena a = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (overrides[i].value)
            edits[count++] = (struct conf_edit){
                .origin = overrides[i].flag,
                .text = arena_printf(&a, "%s=%s", overrides[i].path, overrides[i].value)};
    for (size_t i = 0; i < set->n; i++)
        edits[count++] = (struct conf_edit){.origin = "--set", .text = set->at[i]};
    if (edit_json)
        edits[count++] = (struct conf_edit){
            .origin = "--edit-config-json", .text = edit_json, .json = true};
    struct conf_options o = {
        .kind = &conf_kind_pipeline, .edits = edits, .n_edits = count};
    enum rc rc = conf_open(path, &o, c, diags, err);
    if (diags->list.n) {
        if (rc && err)
            err->msg[0] = '\0';
        config_show(diags);
    }
    arena_release(&a);
    mem_free(edits);
    return rc;
}
