/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/space.h - search spaces: checked, and flattened for tuners.
 *
 *     {"lr": {"_type": "loguniform", "_value": [1e-5, 0.1]},
 *      "layer": {"_type": "choice", "_value": [
 *          {"_name": "conv", "filters": {"_type": "randint", "_value": [8, 65]}},
 *          {"_name": "none"}]}}
 *
 * The flat form lists parameters depth first in the order of the file: each choice is
 * followed at once by the parameters of its option 0, then of option 1, and so on. A
 * parameter is active when it has no parent, or its parent is active and chose `option`.
 */
#ifndef TEXT_NNI_SPACE_H
#define TEXT_NNI_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "text/diag.h"
#include "text/node.h"

enum nni_type {
    NNI_CHOICE,
    NNI_RANDINT,
    NNI_UNIFORM,
    NNI_QUNIFORM,
    NNI_LOGUNIFORM,
    NNI_QLOGUNIFORM,
    NNI_NORMAL,
    NNI_QNORMAL,
    NNI_LOGNORMAL,
    NNI_QLOGNORMAL,
    NNI_TYPES
};

#define NNI_BIT(type_) (1u << NNI_##type_)
#define NNI_ALL ((1u << NNI_TYPES) - 1)
/* What every tuner but Batch takes, the q-logarithm of some excepted. */
#define NNI_FLAT                                                                 \
    (NNI_BIT(CHOICE) | NNI_BIT(RANDINT) | NNI_BIT(UNIFORM) | NNI_BIT(QUNIFORM) | \
     NNI_BIT(LOGUNIFORM))

struct nni_param {
    const char *name; /* its key */
    const char *path; /* for people: "layer/conv/filters" */
    enum nni_type type;
    bool categorical; /* choice, randint */
    bool log;         /* low, high, mu, sigma are of the logarithm */
    bool clip;        /* uniform family: user values stay in clip_low..clip_high */
    bool nested;      /* choice whose options are objects with _name */
    int64_t size;     /* categorical: number of options, else 0 */
    int64_t lower;    /* randint: value of index 0 */
    double low, high; /* uniform family, in the tuner's scale */
    double clip_low, clip_high;        /* in the user's scale */
    double mu, sigma;                  /* normal family, in the tuner's scale */
    double q;                          /* step, 0: none */
    const struct node *const *options; /* choice: [size], borrowed from the tree */
    const char *const *option_names;   /* nested: [size], the _name of each */
    int64_t parent;                    /* index of the choice it hangs on, -1: none */
    int64_t option;                    /* of the parent */
    struct span at;                    /* its key */
};

struct nni_space {
    const struct nni_param *at; /* [n] */
    int64_t n;
};

/* Checks `root` and fills *out, which lies in `a` and borrows from the tree. Problems go
 * to `diags`, at the place that is wrong; parameters with errors are left out. RC_FORMAT
 * when there was an error.
 */
enum rc nni_space_build(const struct node *root, struct arena *a, struct diags *diags,
                        struct nni_space *out) MUST_CHECK;

const char *nni_type_name(enum nni_type type);

#endif
