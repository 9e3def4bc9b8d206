/* SPDX-License-Identifier: Apache-2.0 */
/* custom_feature: the operators that are built in, and what they are told. */
#include "text/pipeline/pipeline_private.h"

/* What each operator cannot do without, and its words. */
static void check_params(struct pc_check *x, const struct pc_CustomFeature *c)
{
    static const struct {
        const char *operator;
        const char *needs;
    } rows[] = {{"RegexReplace", "regex_patten"}, {"SeqExpr", "formula"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(str_c(c->operator_name), rows[i].operator) &&
            !pc_operator_param(c->operator_params, rows[i].needs))
            schema_report(x->diags, DIAG_ERROR, E0313, &c->base, "operator_params",
                          "%s needs the parameter '%s'", rows[i].operator, rows[i].needs);
    const struct node *encoding = pc_operator_param(c->operator_params, "encoding");
    if (!encoding || !str_is(str_c(c->operator_name), "EditDistance") ||
        str_is(encoding->text, "utf-8") || str_is(encoding->text, "latin"))
        return;
    struct diag *g =
        schema_report(x->diags, DIAG_ERROR, E0313, &c->base, "operator_params",
                      "EditDistance: encoding is utf-8 or latin, not '%.*s'",
                      (int)encoding->text.n, encoding->text.p ? encoding->text.p : "");
    g->at = encoding->at;
}

/* Libraries made for another program cannot be loaded; ours are looked at when
 * the features are made.
 */
void check_operator(struct pc_check *x, const struct pc_feature *f)
{
    static const char *const known[] = {"EditDistance", "RegexReplace", "SeqExpr"};
    const struct pc_CustomFeature *c = (const void *)f->msg;
    if (!x->generates)
        return;
    if (check_listed(c->operator_name, known, ARRAY_LEN(known))) {
        check_params(x, c);
        return;
    }
    if (*c->operator_lib_file && !str_starts(c->operator_lib_file, "pyfg/"))
        return;
    struct diag *g = schema_report(x->diags, DIAG_ERROR, E0354, f->msg, "operator_name",
                                   "there is no operator '%s'", c->operator_name);
    diag_hint(x->diags, g, "EditDistance, RegexReplace and SeqExpr are built in");
    check_nearest_in(x, g, c->operator_name, known, ARRAY_LEN(known));
}
