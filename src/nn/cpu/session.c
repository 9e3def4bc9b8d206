/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "nn/cpu/cpu.h"
#include "nn/op/session.h"
#include "tensor/kernel.h"

/* The positions of one row of the batch. */
struct row {
    const struct op_run *r;
    int64_t at, n;
};

static struct row row_of(const struct op_run *r, int64_t b)
{
    const int64_t *at = r->env->rows.offsets[r->out_axis[0]];
    return (struct row){.r = r, .at = at[b], .n = at[b + 1] - at[b]};
}

static float *kept(const struct row *x, int64_t p)
{
    return view_row(&x->r->keep, x->at + p);
}

static int64_t first_of(const struct row *x, int64_t p)
{
    return (int64_t)kept(x, p)[SESSION_KEEP_FIRST];
}

static void find_nodes(const struct row *x)
{
    for (int64_t p = 0; p < x->n; p++) {
        float number = *view_row(&x->r->in[SESSION_NODE], x->at + p), *keep = kept(x, p);
        int64_t first = 0;
        while (*view_row(&x->r->in[SESSION_NODE], x->at + first) != number && first < p)
            first++;
        keep[SESSION_KEEP_FIRST] = (float)first;
        keep[SESSION_KEEP_COME] = keep[SESSION_KEEP_GO] = 0;
    }
}

/* A node that was not there before has no steps yet. */
static bool is_new(const struct row *x, int64_t t)
{
    int64_t a = first_of(x, t), b = first_of(x, t + 1), before = a;
    if (a == t || b == t + 1)
        return true;
    while (before < t && (first_of(x, before) != a || first_of(x, before + 1) != b))
        before++;
    return before == t;
}

static void find_steps(const struct row *x)
{
    for (int64_t t = 0; t + 1 < x->n; t++) {
        bool new = is_new(x, t);
        kept(x, t)[SESSION_KEEP_NEW] = new;
        kept(x, first_of(x, t))[SESSION_KEEP_GO] += new;
        kept(x, first_of(x, t + 1))[SESSION_KEEP_COME] += new;
    }
}

/* Along each new step, at first positions: y gets, of `from`, what comes with it in the
 * first half and, against it, in the second; or, `back`, the other way round.
 */
static void along_steps(const struct row *x, const struct view *from,
                        const struct view *to, bool back)
{
    int64_t half = from->width / 2;
    for (int64_t t = 0; t + 1 < x->n; t++) {
        int64_t a = first_of(x, t), b = first_of(x, t + 1);
        if (kept(x, t)[SESSION_KEEP_NEW] == 0)
            continue;
        float come = 1.0f / kept(x, b)[SESSION_KEEP_COME],
              go = 1.0f / kept(x, a)[SESSION_KEEP_GO];
        int64_t source = x->at + (back ? b : a), sink = x->at + (back ? a : b);
        kernels()->axpy(view_row(to, sink), come, view_row(from, source), half);
        kernels()->axpy(view_row(to, source) + half, go, view_row(from, sink) + half,
                        half);
    }
}

static void session_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    size_t bytes = (size_t)r->out[0].width * sizeof(float);
    for (int64_t b = begin; b < end; b++) {
        struct row x = row_of(r, b);
        find_nodes(&x);
        find_steps(&x);
        for (int64_t p = 0; p < x.n; p++)
            memset(view_row(&r->out[0], x.at + p), 0, bytes);
        along_steps(&x, &r->in[SESSION_X], &r->out[0], false);
        for (int64_t p = 0; p < x.n; p++)
            if (first_of(&x, p) != p)
                memcpy(view_row(&r->out[0], x.at + p),
                       view_row(&r->out[0], x.at + first_of(&x, p)), bytes);
    }
}

/* The slopes of a node are those of all of its positions: they are added up at the first,
 * in place, since nobody else reads them.
 */
static void session_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    for (int64_t b = begin; r->d_in[SESSION_X].data && b < end; b++) {
        struct row x = row_of(r, b);
        for (int64_t p = 0; p < x.n; p++)
            if (first_of(&x, p) != p)
                kernels()->add(view_row(&r->d_out[0], x.at + first_of(&x, p)),
                               view_row(&r->d_out[0], x.at + p), r->out[0].width);
        along_steps(&x, &r->d_out[0], &r->d_in[SESSION_X], true);
    }
}

const struct nn_cpu_op nn_cpu_session_graph = {
    .forward = session_forward,
    .backward = session_backward,
};
