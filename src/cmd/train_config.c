/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/train_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/colour.h"
#include "cmd/machine.h"
#include "train/session.h"

void config_show(struct diags *diags)
{
    struct buf b;
    if (diags->list.n == 0) {
        diags_release(diags);
        return;
    }
    buf_init(&b, CMD_TEXT_MAX);
    diags_sort(diags);
    diags_print(diags, &b, cmd_colours(STDERR_FILENO));
    fwrite(buf_str(&b), 1, b.n, stderr);
    buf_release(&b);
    diags_release(diags);
}

void config_note_types(const char *command, const struct train_session *s)
{
    const struct pc_DataConfig *d = s->conf->data_config;
    if (s->columns.n == 0 && d && d->dataset_type == pc_DatasetType_CsvDataset)
        fprintf(
            stderr,
            "trainyard %s: note: the checkpoint does not tell the types of its columns "
            "(an earlier version wrote it, or it was converted): they are guessed from "
            "this data\n",
            command);
}

void config_show_json(struct diags *diags)
{
    struct buf b;
    buf_init(&b, CMD_TEXT_MAX);
    diags_sort(diags);
    diags_json(diags, &b);
    fwrite(buf_str(&b), 1, b.n, stderr);
    buf_release(&b);
    diags_release(diags);
}

void config_tell_checkpoint(const char *path, const char *why)
{
    if (strcmp(why, "as named") != 0)
        fprintf(stderr, "checkpoint  %s (%s)\n", path, why);
}

bool config_farm_hash(void)
{
    const char *text = getenv("USE_FARM_HASH_TO_BUCKETIZE");
    return text && strcmp(text, "true") == 0;
}

bool config_force_plan(void)
{
    const char *text = getenv("FORCE_LOAD_SHARDING_PLAN");
    return text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
}

int64_t config_memory(int64_t asked)
{
    struct machine m;
    const char *text = getenv("STORAGE_RESERVE_PERCENT");
    double reserve = 0;
    if (asked > 0)
        return asked;
    machine_look(&m, "");
    int64_t bytes = m.memory.available;
    if (m.memory.limit != MACHINE_NONE && m.memory.limit - m.memory.limit_used < bytes)
        bytes = m.memory.limit - m.memory.limit_used;
    if (m.memory.address_space != MACHINE_NONE && m.memory.address_space < bytes)
        bytes = m.memory.address_space;
    if (bytes < 1)
        bytes = 1; /* 0 would mean: not checked */
    machine_release(&m);
    if (text && (!str_to_f64(str_c(text), &reserve) || !(reserve >= 0 && reserve < 1)))
        reserve = 0;
    return (int64_t)((double)bytes * (1 - reserve));
}

enum rc config_read(const char *path, const struct config_override *overrides, size_t n,
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
    if (diags->list.n && rc && err)
        err->msg[0] = '\0'; /* they say it */
    arena_release(&a);
    mem_free(edits);
    return rc;
}

enum rc config_open(const char *path, const struct config_override *overrides, size_t n,
                    const struct opt_list *set, const char *edit_json, struct conf *c,
                    struct diags *diags, struct err *err)
{
    enum rc rc = config_read(path, overrides, n, set, edit_json, c, diags, err);
    config_show(diags);
    return rc;
}

enum rc config_open_json(const char *path, const struct config_override *overrides,
                         size_t n, const struct opt_list *set, const char *edit_json,
                         struct conf *c, struct diags *diags, struct err *err)
{
    enum rc rc = config_read(path, overrides, n, set, edit_json, c, diags, err);
    config_show_json(diags);
    return rc;
}
