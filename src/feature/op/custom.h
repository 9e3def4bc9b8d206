/* SPDX-License-Identifier: Apache-2.0 */
/* feature/op/custom.h - operators that a custom_feature may name. */
#ifndef FEATURE_OP_CUSTOM_H
#define FEATURE_OP_CUSTOM_H

#include "feature/op/formula.h"
#include "trainyard/feature_plugin.h"

/* What a custom_feature's f->op is. */
struct custom {
    const struct custom_ops *ops;
    struct formula *formula; /* SeqExpr */
    void *regex;             /* RegexReplace */
    struct str replacement;
    bool latin;                             /* EditDistance */
    const struct ty_feature_operator *plug; /* a library's */
    void *library;
    char *params; /* JSON */
    size_t n_in;
};

struct custom_ops {
    const char *name;
    size_t min_in, max_in;
    void (*compile)(struct custom *c, struct fg *f, struct feature_plan *p,
                    struct diags *diags);
    enum rc (*step)(struct fg_run *x, struct custom *c, const struct fg_range *in);
    void (*release)(struct custom *c);
    void *(*scratch)(const struct custom *c);
    void (*scratch_destroy)(const struct custom *c, void *scratch);
};

/* What the operator's scratch() made. */
void *custom_inner(const struct fg_run *x);

extern const struct custom_ops custom_edit_distance, custom_regex_replace,
    custom_seq_expr, custom_plugin;

#endif
