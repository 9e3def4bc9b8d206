/* SPDX-License-Identifier: Apache-2.0 */
/* text/nni/algo.h - the register of tuners and assessors: names, arguments, what they
 * accept.
 */
#ifndef TEXT_NNI_ALGO_H
#define TEXT_NNI_ALGO_H

#include "text/nni/space.h"
#include "text/schema.h"

enum nni_role { NNI_TUNER, NNI_ASSESSOR };

enum nni_algo_flags {
    NNI_NESTED = 1,         /* takes choices below choices */
    NNI_NUMERIC = 2,        /* options of a choice must be numbers */
    NNI_ONE_CHOICE = 4,     /* the space is exactly one choice */
    NNI_STOPS_TRIALS = 8,   /* does an assessor's work too; none may stand beside it */
    NNI_NEEDS_SPACE = 16,   /* at least one parameter */
    NNI_ELSEWHERE = 32,     /* an algorithm of NNI that searches network architectures */
    NNI_MAXIMIZE_ONLY = 64, /* larger results must be better */
};

struct nni_algo {
    enum nni_role role;
    const char *name;
    const char *alias;          /* or NULL */
    const struct msg_def *args; /* NULL: not checked */
    unsigned types;             /* tuners: NNI_BIT() of each accepted type */
    unsigned flags;
};

/* By name or alias, case does not count; NULL when there is none. */
const struct nni_algo *nni_algo_find(enum nni_role role, const char *name);
/* The name that is probably meant, or NULL. */
const char *nni_algo_nearest(enum nni_role role, const char *name);
/* All, sorted by role and name. */
const struct nni_algo *nni_algos(size_t *n);

/* classArgs (a map, may be NULL) against the algorithm's table. Problems go to `diags`,
 * positions pointing at the argument. */
void nni_args_check(const struct nni_algo *algo, const struct node *args,
                    struct diags *diags);
/* classArgs that nni_args_check() has no objection to, as the struct of algo->args (such
 * as struct nni_TpeArgs), defaults included. `args` may be NULL; everything lies in `a`.
 * A null stands for "none" where that is one of the words, else for absent.
 */
const void *nni_args_bind(const struct nni_algo *algo, const struct node *args,
                          struct arena *a);
/* A space against what the algorithm accepts. `where` is blamed when there is nothing in
 * the space to point at. */
void nni_algo_check_space(const struct nni_algo *algo, const struct nni_space *space,
                          struct span where, struct diags *diags);

#endif
