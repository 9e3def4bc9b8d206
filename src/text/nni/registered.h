/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/registered.h - classes that a user has registered under a name, which experiment
 * files then use like that of a built-in algorithm.
 *
 * The register is XDG_CONFIG_HOME/trainyard/algorithms.json, or that below ~/.config.
 */
#ifndef TEXT_NNI_REGISTERED_H
#define TEXT_NNI_REGISTERED_H

#include "base/vec.h"
#include "text/nni/algo.h"

struct nni_registered {
    const char *type;       /* "tuner", "assessor", "advisor" */
    const char *name;       /* unique, whatever the case */
    const char *class_name; /* module.Class */
    const char *validator;  /* module.Class that checks classArgs; "": none */
    const char *dir;        /* where modules are looked for first */
};
struct nni_register {
    struct arena arena;
    VEC(struct nni_registered) list;
};

/* Nothing registered yet: an empty one. RC_FORMAT (E4020): not a register. */
enum rc nni_register_read(struct nni_register *out, struct err *err) MUST_CHECK;
enum rc nni_register_write(const struct nni_register *r, struct err *err) MUST_CHECK;
void nni_register_release(struct nni_register *r);
/* By name; NULL when there is none. */
const struct nni_registered *nni_register_find(const struct nni_register *r,
                                               const char *name);

/* One that can take the role (an advisor is a tuner), copied to `a`; false when there is none. */
bool nni_registered_get(enum nni_role role, const char *name, struct arena *a,
                        struct nni_registered *out);

#endif
