/* SPDX-License-Identifier: Apache-2.0 */
/* feature/op/formula.h - a formula over the inputs of a feature. */
#ifndef FEATURE_OP_FORMULA_H
#define FEATURE_OP_FORMULA_H

#include "feature/feature_private.h"

struct formula;

/* Never NULL; problems go to diags. Sets the forms of the inputs. */
struct formula *formula_create(struct fg *f, const char *text, double filler,
                               struct feature_plan *p, const char *field,
                               struct diags *diags);
void formula_destroy(struct formula *o); /* NULL is fine */
/* vars[f->n_in] is room. An input without values: nothing. */
enum rc formula_step(struct fg_run *x, const struct formula *o, const struct fg_range *in,
                     struct expr_value *vars);

#endif
