/* SPDX-License-Identifier: Apache-2.0 */
/* train/select.h - which features a model can do without, as variational_dropout has
 * learnt it: each feature of a group has a probability of being left out.
 */
#ifndef TRAIN_SELECT_H
#define TRAIN_SELECT_H

#include "base/vec.h"
#include "ckpt/ckpt.h"
#include "text/conf.h"
#include "text/pipeline/pipeline.h"

struct train_select_feature {
    const char *name; /* <group>_seq_encoder_<i> for what a sequence encoder makes */
    double drop;      /* probability of being left out */
};

struct train_select_group {
    const char *name;
    struct train_select_feature *at; /* [n], the most useful first */
    size_t n;
};

struct train_selection {
    VEC(struct train_select_group) groups; /* in the order of the config */
    struct arena arena;
};

/* What `ckpt` has learnt about the groups of `conf`, whose names are borrowed. Groups
 * that had no choice (sequences, a single feature) are left out. RC_INVAL (E1510): the
 * checkpoint has nothing of the kind, or of other features.
 */
enum rc train_select_read(const struct pc_EasyRecConfig *conf, const struct ckpt *ckpt,
                          struct train_selection *out, struct err *err) MUST_CHECK;
void train_select_release(struct train_selection *s); /* twice is fine */

/* Leaves the `most` best of each group in the tree of `c`, and takes out the features
 * that nothing refers to any more; with `clear` variational_dropout, too. Sequences stay.
 * The bound struct is left as it is. Returns how many features were taken out.
 */
size_t train_select_prune(const struct train_selection *s, size_t most, bool clear,
                          struct conf *c);

#endif
