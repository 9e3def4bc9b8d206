/* SPDX-License-Identifier: Apache-2.0 */
/* feature/expr/expr.h - formulas over named numbers and vectors, in the manner of
 * muParser.
 *
 * From low to high: ?:  ||  &&  |  &  <= >= != == > <  + -  * /  unary - +  ^ (power,
 * from the right). Constants _pi and _e. Functions: functions.def. A value is a vector; one of
 * length 1 is a scalar and fits every length. Of two other lengths the shorter one is
 * lengthened with the filler.
 *
 * A parsed formula is only read and may be shared by threads; each thread brings its own
 * stack. After warm-up nothing is allocated.
 */
#ifndef FEATURE_EXPR_EXPR_H
#define FEATURE_EXPR_EXPR_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define EXPR_TEXT_MAX 65536
#define EXPR_DEPTH_MAX 100 /* of parentheses and operators inside each other */
#define EXPR_CODE_MAX 10000

struct expr;

/* A scalar has n == 1 and its value in `one`; another length has its values at p. */
struct expr_value {
    int64_t n;
    double one;
    const double *p;
};

struct expr_stack;
struct expr_stack *expr_stack_create(void);
void expr_stack_destroy(struct expr_stack *s); /* NULL is fine */

/* names[n_names]: what the formula may refer to. RC_INVAL: the message has the place. */
enum rc expr_parse(struct str text, const char *const *names, size_t n_names,
                   struct expr **out, struct err *err) MUST_CHECK;
void expr_destroy(struct expr *e); /* NULL is fine */
/* Does the formula use name number i? */
bool expr_uses(const struct expr *e, size_t i);

/* vars[n_names]. *out is valid until the next use of the stack. RC_NOMEM. */
enum rc expr_eval(const struct expr *e, const struct expr_value *vars, double filler,
                  struct expr_stack *s, struct expr_value *out,
                  struct err *err) MUST_CHECK;
/* One scalar variable, a scalar result (of a vector the first value); NaN when memory is
 * short.
 */
double expr_eval1(const struct expr *e, double x, struct expr_stack *s);

#endif
