/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is a formula or a message, and a formula gives the same twice. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "feature/expr/expr.h"

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"x", "y", "v", "w", "e"};
    static const double v[] = {1, -2, 3, 0.5}, w[] = {4, 5};
    static const struct expr_value vars[] = {
        {1, 3, NULL}, {1, NAN, NULL}, {4, 0, v}, {2, 0, w}, {0, 0, v}};
    struct expr *e = NULL;
    struct err err = {0};
    struct expr_value a, b;
    if (expr_parse(str_of((const char *)data, n), names, 5, &e, &err)) {
        must(err.msg[0] && err.code == E1310 && !e);
        return 0;
    }
    struct expr_stack *s = expr_stack_create(), *t = expr_stack_create();
    must(expr_eval(e, vars, 9, s, &a, &err) == RC_OK);
    must(expr_eval(e, vars, 9, t, &b, &err) == RC_OK);
    must(a.n == b.n && a.n <= 4);
    if (a.n == 1)
        must(same(a.one, b.one));
    for (int64_t i = 0; a.n != 1 && i < a.n; i++)
        must(same(a.p[i], b.p[i]));
    expr_stack_destroy(s);
    expr_stack_destroy(t);
    expr_destroy(e);
    return 0;
}
