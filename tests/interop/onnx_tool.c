/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_tool DIR - every op of nn/ops.h in a small graph: DIR/<case>.onnx, and
 * DIR/<case>.safetensors with inputs and outputs of one batch. export.py runs them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "nn/onnx.h"
#include "onnx_cases.h"
#include "train/export/export.h"

#define ROWS 5

static const int64_t lengths[ROWS] = {3, 0, 7, 1, 12};

static void fill(struct graph *g, struct nn_val *v, uint64_t stream)
{
    struct view view = graph_write_begin(g, v);
    struct rng r;
    rng_init(&r, 7, stream, 0, 0);
    for (int64_t k = 0; k < view.rows; k++)
        rng_fill_uniform(&r, -4, 4, view_row(&view, k), (size_t)view.width);
    graph_write_end(g, v);
}

/* Running statistics and the like are not what they begin as. */
static void stir(struct graph *g)
{
    size_t n;
    struct param *const *params = graph_params(g, &n);
    for (size_t i = 0; i < n; i++) {
        struct rng r;
        rng_init(&r, 11, i, 0, 0);
        rng_fill_uniform(&r, 0.2f, 1.5f, param_write_begin(params[i]),
                         (size_t)params[i]->n);
        param_write_end(params[i]);
    }
}

static enum rc run_case(const struct onnx_case *c, const char *dir, struct err *err)
{
    struct nn_val *x, *seq;
    int64_t offsets[ROWS + 1] = {0};
    const char *output = "y";
    struct graph *g = onnx_case_graph(c, output, &x, &seq);
    struct buf b;
    buf_init(&b, ONNX_BYTES_MAX);
    for (int i = 0; i < ROWS; i++)
        offsets[i + 1] = offsets[i] + lengths[i];
    struct nn_batch_rows rows = {.n = {ROWS, offsets[ROWS]}, .offsets = {NULL, offsets}};
    enum rc rc = graph_finish(g, err);
    if (!rc)
        rc = graph_rows(g, &rows, err);
    if (!rc) {
        stir(g);
        fill(g, x, 1);
        fill(g, seq, 2);
        graph_forward(g, 0);
        rc = onnx_print(g, &output, 1, &b, err);
    }
    char *path = mem_printf("%s/%s.onnx", dir, c->name);
    if (!rc)
        rc = fs_write(path, buf_str(&b), b.n, 0644, err);
    mem_free(path);
    path = mem_printf("%s/%s.safetensors", dir, c->name);
    if (!rc)
        rc = train_export_put_graph(g, &output, 1, path, err);
    mem_free(path);
    buf_release(&b);
    graph_destroy(g);
    return rc ? err_wrap(err, rc, "%s", c->name) : RC_OK;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < ARRAY_LEN(onnx_cases); i++)
        if (run_case(&onnx_cases[i], argv[1], &err)) {
            fprintf(stderr, "onnx_tool: %s\n", err.msg);
            return 1;
        }
    return 0;
}
