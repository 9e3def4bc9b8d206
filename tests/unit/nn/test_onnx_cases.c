/* SPDX-License-Identifier: Apache-2.0 */
/* What an op is in ONNX is proved by onnxruntime, which runs the cases of interop/onnx_cases.h
 * and compares: here, that no op is without a case.
 */
#include "interop/onnx_cases.h"
#include "nn/graph_private.h"
#include "nn/onnx.h"
#include "tap.h"

static const struct op *const registry[] = {
#define OP(name, file) &op_##name,
#include "nn/ops.def"
#undef OP
};

/* Whether a graph that is finished, and so can be exported, has the op. */
static bool has_op(const struct graph *g, const struct op *op)
{
    for (size_t i = 0; i < g->ops.n; i++)
        if (g->ops.at[i]->op == op)
            return true;
    return false;
}

static void every_op_with_an_onnx_form_has_a_case_that_proves_it(void)
{
    bool proved[ARRAY_LEN(registry)] = {0};
    for (size_t i = 0; i < ARRAY_LEN(onnx_cases); i++) {
        struct nn_val *x, *seq;
        struct err err = {0};
        struct graph *g = onnx_case_graph(&onnx_cases[i], "y", &x, &seq);
        CHECK_INT(graph_finish(g, &err), RC_OK);
        CHECK_STR(err.msg, "");
        for (size_t k = 0; k < ARRAY_LEN(registry); k++)
            proved[k] = proved[k] || has_op(g, registry[k]);
        graph_destroy(g);
    }
    for (size_t k = 0; k < ARRAY_LEN(registry); k++) {
        bool wanted = registry[k]->onnx != onnx_nothing;
        if (wanted && !proved[k])
            printf("# tests/interop/onnx_cases.h has no case of op '%s'\n",
                   registry[k]->name);
        CHECK(proved[k] || !wanted);
    }
}

static const struct tap_case cases[] = {
    TAP(every_op_with_an_onnx_form_has_a_case_that_proves_it),
};
TAP_MAIN(cases)
