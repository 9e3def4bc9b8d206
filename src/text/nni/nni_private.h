/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/nni_private.h - what the parts of the experiment's check share. */
#ifndef TEXT_NNI_NNI_PRIVATE_H
#define TEXT_NNI_NNI_PRIVATE_H

#include "text/conf.h"
#include "text/nni/nni.h"

struct nni_checker {
    struct conf *c;
    const struct nni_ExperimentConfig *e;
    struct diags *d;
};

/* The last entry whose key is `name` without regard to case and '_', or NULL. */
struct node_entry *nni_find(const struct node *map, const char *name);
bool nni_key_is(struct str key, const char *name);

/* What the file sets, by the schema's spelling; NULL when it does not. */
const struct node *nni_get(const struct msg *m, const char *name);
/* An integer that the file or the schema's default sets. */
bool nni_int(const struct msg *m, const char *name, int64_t *out);

/* "trialGpuNumber" as "trial_gpu_number"; lies in the arena. */
const char *nni_snake(const char *name, struct arena *a);
/* `path` as seen from the directory of the file; lies in the arena. "~" is the home of
 * the user.
 */
const char *nni_path(struct conf *c, const char *path);
/* "${your ...}", as examples leave it for the reader to fill in. */
bool nni_is_placeholder(struct str text);

/* "<Class>: <name> is not set" for each of `names` (ends with NULL) that is not. */
void nni_need(struct nni_checker *x, const struct msg *m, const char *const *names);
/* An integer below `least` is an error. */
void nni_at_least(struct nni_checker *x, const struct msg *m, const char *name,
                  int64_t least);
/* A path that is set must name a directory. */
void nni_need_dir(struct nni_checker *x, const struct msg *m, const char *name);

void nni_convert_v1(struct conf *c, struct diags *diags);
void nni_check_services(struct nni_checker *x);

#endif
