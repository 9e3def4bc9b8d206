/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/train_config.h - the config of train and eval: opened, changed by options, its
 * problems shown.
 */
#ifndef CMD_TRAIN_CONFIG_H
#define CMD_TRAIN_CONFIG_H

#include "base/opt.h"
#include "text/conf.h"

/* A field of the config that an option of its own sets, when it is not NULL. */
struct config_override {
    const char *flag; /* "--model-dir" */
    const char *path; /* "model_dir" */
    const char *value;
};

/* Opens `path` as a pipeline.config. Overrides come first, then --set, then
 * --edit-config-json. Problems are printed to stderr; a failure without a message was
 * shown there. `c` and `diags` must be released in any case, `diags` first.
 */
enum rc config_open(const char *path, const struct config_override *overrides, size_t n,
                    const struct opt_list *set, const char *edit_json, struct conf *c,
                    struct diags *diags, struct err *err) MUST_CHECK;
/* The same, and shows nothing: for a look before it is opened. */
enum rc config_read(const char *path, const struct config_override *overrides, size_t n,
                    const struct opt_list *set, const char *edit_json, struct conf *c,
                    struct diags *diags, struct err *err) MUST_CHECK;
/* Says which checkpoint was chosen, and why, unless the user named it. */
void config_tell_checkpoint(const char *path, const char *why);
/* Says that the columns of text are guessed, when what was loaded does not tell them. */
struct train_session;
void config_note_types(const char *command, const struct train_session *s);
/* Bytes that a run may use: `asked` when it is not 0, else what is free on this machine
 * and allowed by the control groups above us, less STORAGE_RESERVE_PERCENT (a share of 1)
 * when that is set.
 */
int64_t config_memory(int64_t asked);
/* USE_FARM_HASH_TO_BUCKETIZE=true: texts are hashed as TorchEasyRec does under it. */
bool config_farm_hash(void);
/* FORCE_LOAD_SHARDING_PLAN=1: tables lie as in the plan of the run that it goes on from. */
bool config_force_plan(void);
/* The same, problems as one object of JSON per line. */
enum rc config_open_json(const char *path, const struct config_override *overrides,
                         size_t n, const struct opt_list *set, const char *edit_json,
                         struct conf *c, struct diags *diags, struct err *err) MUST_CHECK;
/* Prints and forgets what is in `diags`, as text or as lines of JSON. */
void config_show(struct diags *diags);
void config_show_json(struct diags *diags);

#endif
