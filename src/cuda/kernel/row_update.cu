/* SPDX-License-Identifier: Apache-2.0 */
/* Each distinct row of a batch: its gradients are summed and it is updated, as embed/rows.c and
 * embed/row_opt.c do it, operation by operation. A few lanes of a warp have a row, V of its
 * floats each; wider rows are taken in blocks of columns, one after the other. Weights and
 * state are asked for before the gradients, since both come from far. Norms are sums in double
 * in the order of the elements, which all lanes make together, in passes before the one that
 * changes the row; a pass over several blocks sums their gradients anew.
 */
#include "launch.cuh"
#include "stretch.cuh"

/* The lanes of a row, and the columns that this one has in the block at hand. */
struct place {
    int lane, lanes;
    unsigned mask; /* of the warp */
    int64_t col, dim;
};

static __device__ place place_here(int lanes, int64_t dim)
{
    int in_warp = (int)(threadIdx.x % WARP), lane = in_warp % lanes;
    unsigned all = lanes == WARP ? 0xffffffffu : (1u << lanes) - 1;
    return {lane, lanes, all << (in_warp - lane), 0, dim};
}

template <int V> static __device__ __forceinline__ place at_block(place at, int block)
{
    at.col = (int64_t)(block * at.lanes + at.lane) * V;
    return at;
}

template <int V> struct part {
    float x[V];
};

template <int V>
static __device__ __forceinline__ part<V> load(place at, const float *from)
{
    part<V> p = {};
    if (at.col >= at.dim)
        return p;
    if constexpr (V == 4) {
        float4 four = *(const float4 *)(from + at.col);
        p = {four.x, four.y, four.z, four.w};
    } else {
        p.x[0] = from[at.col];
    }
    return p;
}

template <int V>
static __device__ __forceinline__ void store(place at, const part<V> &p, float *to)
{
    if (at.col >= at.dim)
        return;
    if constexpr (V == 4)
        *(float4 *)(to + at.col) = make_float4(p.x[0], p.x[1], p.x[2], p.x[3]);
    else
        to[at.col] = p.x[0];
}

/* --- sums of gradients --- */

/* The gradient of one occurrence, and how it counts. */
struct source {
    const float *at; /* NULL: none */
    float scale, most;
    uint32_t row;
    int32_t twin;
};

static __device__ __forceinline__ source source_of(const cuda_batch &b, const cuda_sorted &o,
                                                   const cuda_slot_view *grads,
                                                   uint32_t name)
{
    uint32_t number = name >> o.shift, k = name & ((1u << o.shift) - 1);
    const cuda_slot slot = b.slots[number];
    const cuda_slot_view view = grads[number];
    source s = {nullptr, 1.0f, view.most, k, slot.twin};
    if (slot.offsets >= 0) {
        s.row = b.from[slot.begin + k];
        s.scale = b.scales[slot.begin + k];
    } else if (slot.weights >= 0) {
        s.scale = b.weights[slot.weights + k];
    }
    if (view.at)
        s.at = view.at + (int64_t)s.row * view.ld;
    return s;
}

static __device__ __forceinline__ float clamped(float v, float most)
{
    return v > most ? most : v < -most ? -most : v;
}

template <int V>
static __device__ __forceinline__ void add(part<V> *sum, const part<V> &d, float scale,
                                           float most)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        sum->x[i] += scale * (most > 0 ? clamped(d.x[i], most) : d.x[i]);
}

/* Gradients of the slots that go along with the one of `s`. */
template <int V>
static __device__ void add_twins(place at, const cuda_batch &b,
                                 const cuda_slot_view *grads, const source &s,
                                 part<V> *sum)
{
    for (int32_t i = s.twin; i >= 0; i = b.slots[i].twin) {
        const cuda_slot_view view = grads[i];
        if (view.at)
            add(sum, load<V>(at, view.at + (int64_t)s.row * view.ld), s.scale,
                view.most);
    }
}

/* *sum += occurrences [from, to) of the sorted ones, in order. */
template <int V>
static __device__ __forceinline__ void add_run_each(place at, const cuda_batch &b,
                                                    const cuda_sorted &o,
                                                    const cuda_slot_view *grads,
                                                    uint32_t from, uint32_t to, part<V> *sum)
{
    constexpr int AT_ONCE = 4;
    for (uint32_t k = from; k < to; k += AT_ONCE) {
        source s[AT_ONCE];
        part<V> d[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            s[j] = {nullptr, 0, 0, 0, -1};
            if (k + j < to)
                s[j] = source_of(b, o, grads, o.sorted[k + j]);
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (s[j].at)
                d[j] = load<V>(at, s[j].at);
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            if (s[j].at)
                add(sum, d[j], s[j].scale, s[j].most);
            if (s[j].twin >= 0)
                add_twins(at, b, grads, s[j], sum);
        }
    }
}

template <class T>
static __device__ __forceinline__ T of_lane(place at, T mine, int lane)
{
    return __shfl_sync(at.mask, mine, lane, at.lanes);
}

/* Occurrences that have twins or a limit, one after the other. */
template <int V>
static __device__ void add_special(place at, const cuda_batch &b,
                                   const cuda_slot_view *grads, const source &mine, int n,
                                   part<V> *sum)
{
    for (int i = 0; i < n; i++) {
        source s = {(const float *)of_lane(at, (unsigned long long)mine.at, i),
                    of_lane(at, mine.scale, i), of_lane(at, mine.most, i),
                    of_lane(at, mine.row, i), of_lane(at, mine.twin, i)};
        if (s.at)
            add(sum, load<V>(at, s.at), s.scale, s.most);
        if (s.twin >= 0)
            add_twins(at, b, grads, s, sum);
    }
}

/* The same where many lanes have a row: each finds out about one occurrence, so that gradients
 * are asked for without waiting for what comes before them.
 */
template <int V>
static __device__ __forceinline__ void add_run_together(place at, const cuda_batch &b,
                                                        const cuda_sorted &o,
                                                        const cuda_slot_view *grads,
                                                        uint32_t from, uint32_t to,
                                                        part<V> *sum)
{
    constexpr int AT_ONCE = 4;
    for (uint32_t k = from; k < to; k += (uint32_t)at.lanes) {
        source mine = {nullptr, 0, 0, 0, -1};
        int n = to - k < (uint32_t)at.lanes ? (int)(to - k) : at.lanes;
        if (at.lane < n)
            mine = source_of(b, o, grads, o.sorted[k + (uint32_t)at.lane]);
        if (__any_sync(at.mask, mine.twin >= 0 || mine.most > 0)) {
            add_special(at, b, grads, mine, n, sum);
            continue;
        }
        for (int i = 0; i < n; i += AT_ONCE) {
            part<V> d[AT_ONCE];
            bool there[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                const float *from =
                    (const float *)of_lane(at, (unsigned long long)mine.at, i + j);
                there[j] = i + j < n && from;
                if (there[j])
                    d[j] = load<V>(at, from);
            }
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                float scale = of_lane(at, mine.scale, i + j);
                if (there[j])
                    add(sum, d[j], scale, 0.0f);
            }
        }
    }
}

#define TOGETHER 8 /* lanes of a row from which on they look at occurrences together */

template <int V>
static __device__ __forceinline__ void add_run(place at, const cuda_batch &b,
                                               const cuda_sorted &o,
                                               const cuda_slot_view *grads, uint32_t from,
                                               uint32_t to, part<V> *sum)
{
    if (at.lanes < TOGETHER)
        add_run_each<V>(at, b, o, grads, from, to, sum);
    else
        add_run_together<V>(at, b, o, grads, from, to, sum);
}

template <int V>
static __device__ __forceinline__ void sum_run(place at, const cuda_batch &b,
                                               const cuda_sorted &o,
                                               const cuda_slot_view *grads, uint32_t from,
                                               uint32_t to, part<V> *sum)
{
    *sum = {};
    add_run<V>(at, b, o, grads, from, to, sum);
}

/* --- rules --- */

/* *sum += x over the elements of the block, in their order; the same in all lanes. */
template <int V>
static __device__ void add_in_order(place at, const double x[V], double *sum)
{
    int64_t first = at.col - (int64_t)at.lane * V;
    for (int l = 0; l < at.lanes; l++)
#pragma unroll
        for (int v = 0; v < V; v++) {
            double one = __shfl_sync(at.mask, x[v], l, at.lanes);
            if (first + l * V + v < at.dim)
                *sum += one;
        }
}

template <int V>
static __device__ void add_squares(place at, const part<V> &p, double *sum)
{
    double x[V];
    for (int v = 0; v < V; v++)
        x[v] = (double)p.x[v] * (double)p.x[v];
    add_in_order<V>(at, x, sum);
}

/* What is one number for the whole row. */
struct whole {
    float once;          /* the state of rules by row */
    double keep, step;   /* CUDA_ROW_ROWWISE_ADAGRAD */
    float scale;         /* rules with one second moment */
    double size, length; /* of the row, and of its gradient or direction */
};

/* A block of a row and of its state. */
template <int V> struct row_part {
    part<V> w, first, second;
};

template <int V>
static __device__ __forceinline__ void sgd(row_part<V> *p, const part<V> &g, float lr)
{
#pragma unroll
    for (int v = 0; v < V; v++)
        p->w.x[v] -= lr * g.x[v];
}

template <int V>
static __device__ __forceinline__ void adagrad(const cuda_row_rule &r, row_part<V> *p,
                                               const part<V> &g)
{
    float lr = (float)r.lr, eps = (float)r.eps;
#pragma unroll
    for (int v = 0; v < V; v++) {
        p->first.x[v] += g.x[v] * g.x[v];
        p->w.x[v] -= lr * g.x[v] / (sqrtf(p->first.x[v]) + eps);
    }
}

template <int V>
static __device__ void rowwise_adagrad(const whole &all, row_part<V> *p, const part<V> &g)
{
    for (int v = 0; v < V; v++)
        p->w.x[v] = (float)all.keep * p->w.x[v] - (float)all.step * g.x[v];
}

/* *g becomes the direction. */
template <int V>
static __device__ __forceinline__ void adam_direction(const cuda_row_rule &r, row_part<V> *p,
                                                      part<V> *g)
{
    float beta1 = (float)r.beta1, beta2 = (float)r.beta2, wd = (float)r.weight_decay;
#pragma unroll
    for (int v = 0; v < V; v++) {
        float d = g->x[v];
        float m1 = p->first.x[v] = beta1 * p->first.x[v] + (1.0f - beta1) * d;
        float m2 = p->second.x[v] = beta2 * p->second.x[v] + (1.0f - beta2) * d * d;
        g->x[v] = m1 * r.correct1 / (sqrtf(m2 * r.correct2) + (float)r.eps) + wd * p->w.x[v];
    }
}

template <int V>
static __device__ void rowwise_direction(const cuda_row_rule &r, const whole &all,
                                         row_part<V> *p, part<V> *g)
{
    float beta1 = (float)r.beta1, wd = (float)r.weight_decay;
    for (int v = 0; v < V; v++) {
        float m1 = p->first.x[v] = beta1 * p->first.x[v] + (1.0f - beta1) * g->x[v];
        g->x[v] = m1 * r.correct1 * all.scale + wd * p->w.x[v];
    }
}

template <int V>
static __device__ void lars(const cuda_row_rule &r, const whole &all, row_part<V> *p,
                            const part<V> &g)
{
    double wd = r.weight_decay, base = all.length + wd * all.size;
    float local = (float)(base > 0 ? r.lr * 0.001 * all.size / base : r.lr);
    for (int v = 0; v < V; v++) {
        p->first.x[v] = (float)r.momentum * p->first.x[v] +
                        local * (g.x[v] + (float)wd * p->w.x[v]);
        p->w.x[v] -= p->first.x[v];
    }
}

template <int V>
static __device__ void adadelta(const cuda_row_rule &r, row_part<V> *p, const part<V> &g)
{
    float rho = (float)r.rho, eps = (float)r.eps, wd = (float)r.weight_decay;
    for (int v = 0; v < V; v++) {
        float d = g.x[v] + wd * p->w.x[v];
        float square = p->first.x[v] = rho * p->first.x[v] + (1.0f - rho) * d * d;
        float step = sqrtf(p->second.x[v] + eps) / sqrtf(square + eps) * d;
        p->second.x[v] = rho * p->second.x[v] + (1.0f - rho) * step * step;
        p->w.x[v] -= (float)r.lr * step;
    }
}

template <int V>
static __device__ void rmsprop(const cuda_row_rule &r, row_part<V> *p, const part<V> &g)
{
    float alpha = (float)r.alpha, eps = (float)r.eps, wd = (float)r.weight_decay;
    for (int v = 0; v < V; v++) {
        float d = g.x[v] + wd * p->w.x[v];
        float s = p->first.x[v] = alpha * p->first.x[v] + (1.0f - alpha) * d * d;
        p->w.x[v] -= (float)r.lr * d / (sqrtf(s) + eps);
    }
}

static __device__ __forceinline__ float lamb_rate(const cuda_row_rule &r, const whole &all)
{
    double trust = all.size > 0 && all.length > 0 ? all.size / all.length : 1;
    return (float)(r.lr * trust);
}

template <int V>
static __device__ __forceinline__ void change(const cuda_row_rule &r, const whole &all,
                                              row_part<V> *p, part<V> g)
{
    switch (r.kind) {
    case CUDA_ROW_SGD:
        sgd(p, g, (float)r.lr);
        break;
    case CUDA_ROW_ADAGRAD:
        adagrad(r, p, g);
        break;
    case CUDA_ROW_ROWWISE_ADAGRAD:
        rowwise_adagrad(all, p, g);
        break;
    case CUDA_ROW_ADAM:
        adam_direction(r, p, &g);
        sgd(p, g, (float)r.lr);
        break;
    case CUDA_ROW_PARTIAL_ROWWISE_ADAM:
        rowwise_direction(r, all, p, &g);
        sgd(p, g, (float)r.lr);
        break;
    case CUDA_ROW_LAMB:
        adam_direction(r, p, &g);
        sgd(p, g, lamb_rate(r, all));
        break;
    case CUDA_ROW_PARTIAL_ROWWISE_LAMB:
        rowwise_direction(r, all, p, &g);
        sgd(p, g, lamb_rate(r, all));
        break;
    case CUDA_ROW_LARS_SGD:
        lars(r, all, p, g);
        break;
    case CUDA_ROW_ADADELTA:
        adadelta(r, p, g);
        break;
    case CUDA_ROW_RMSPROP:
        rmsprop(r, p, g);
        break;
    }
}

/* --- rows --- */

/* Where the state of a rule lies behind the weights (whole arrays, and one float), and which
 * numbers of the whole row it needs.
 */
struct rule_needs {
    bool first, second;
    int64_t once; /* -1: none */
    bool square, norms;
};

static __host__ __device__ __forceinline__ rule_needs needs_of(cuda_row_kind kind, int64_t dim)
{
    switch (kind) {
    case CUDA_ROW_SGD:
        return {false, false, -1, false, false};
    case CUDA_ROW_ROWWISE_ADAGRAD:
        return {false, false, 0, true, false};
    case CUDA_ROW_PARTIAL_ROWWISE_ADAM:
        return {true, false, dim, true, false};
    case CUDA_ROW_PARTIAL_ROWWISE_LAMB:
        return {true, false, dim, true, true};
    case CUDA_ROW_LAMB:
        return {true, true, -1, false, true};
    case CUDA_ROW_LARS_SGD:
        return {true, false, -1, false, true};
    case CUDA_ROW_ADAM:
    case CUDA_ROW_ADADELTA:
        return {true, true, -1, false, false};
    default:
        return {true, false, -1, false, false};
    }
}

template <int V>
static __device__ __forceinline__ row_part<V> load_row(place at, const float *w,
                                                       const rule_needs &n)
{
    row_part<V> p;
    p.w = load<V>(at, w);
    if (n.first)
        p.first = load<V>(at, w + at.dim);
    if (n.second)
        p.second = load<V>(at, w + 2 * at.dim);
    return p;
}

template <int V>
static __device__ __forceinline__ void store_row(place at, const row_part<V> &p, float *w,
                                                 const rule_needs &n)
{
    store<V>(at, p.w, w);
    if (n.first)
        store<V>(at, p.first, w + at.dim);
    if (n.second)
        store<V>(at, p.second, w + 2 * at.dim);
}

/* The numbers of the whole row; `gradient(place)` is that of a block. */
template <int V, class Gradient>
static __device__ whole take_whole(place row, int blocks, const cuda_row_rule &r,
                                   const rule_needs &n, const float *w, Gradient gradient)
{
    whole all = {};
    double sum = 0, size = 0, length = 0, l2 = r.l2 ? r.weight_decay : 0;
    for (int i = 0; n.square && i < blocks; i++) {
        place at = at_block<V>(row, i);
        part<V> g = gradient(at), old = load<V>(at, w);
        double x[V];
        for (int v = 0; v < V; v++) {
            double d = (double)g.x[v];
            if (r.kind == CUDA_ROW_ROWWISE_ADAGRAD)
                d += l2 * (double)old.x[v];
            x[v] = d * d;
        }
        add_in_order<V>(at, x, &sum);
    }
    all.once = n.once >= 0 ? w[row.dim + n.once] : 0;
    float mean = (float)(sum / (double)row.dim), beta2 = (float)r.beta2;
    if (r.kind == CUDA_ROW_ROWWISE_ADAGRAD) {
        all.once += mean;
        all.step = r.lr / (sqrt((double)all.once) + r.eps);
        all.keep = r.decouple ? 1 - r.lr * r.weight_decay : 1 - all.step * l2;
    } else if (n.square) {
        all.once = beta2 * all.once + (1.0f - beta2) * mean;
        all.scale = 1.0f / (sqrtf(all.once * r.correct2) + (float)r.eps);
    }
    for (int i = 0; n.norms && i < blocks; i++) {
        place at = at_block<V>(row, i);
        row_part<V> p = load_row<V>(at, w, n);
        part<V> g = gradient(at);
        add_squares<V>(at, p.w, &size);
        if (r.kind == CUDA_ROW_LAMB)
            adam_direction(r, &p, &g);
        else if (r.kind == CUDA_ROW_PARTIAL_ROWWISE_LAMB)
            rowwise_direction(r, all, &p, &g);
        add_squares<V>(at, g, &length);
    }
    all.size = sqrt(size / (double)row.dim * (double)row.dim);
    all.length = sqrt(length / (double)row.dim * (double)row.dim);
    return all;
}

template <int V, bool WHOLE, class Gradient>
static __device__ __forceinline__ void update_row(place row, const cuda_row_rule &r,
                                                  const rule_needs &n, float *w,
                                                  Gradient gradient)
{
    int blocks = (int)((row.dim + row.lanes * V - 1) / (row.lanes * V));
    whole all = {};
    if constexpr (WHOLE)
        all = take_whole<V>(row, blocks, r, n, w, gradient);
    for (int i = 0; i < blocks; i++) {
        place at = at_block<V>(row, i);
        row_part<V> p = load_row<V>(at, w, n);
        change(r, all, &p, gradient(at));
        store_row<V>(at, p, w, n);
    }
    if (WHOLE && n.once >= 0 && row.lane == 0)
        w[row.dim + n.once] = all.once;
}

struct update_args {
    cuda_table t;
    cuda_batch b;
    cuda_sorted o;
    const cuda_slot_view *grads;
    cuda_row_rule rule;
    int lanes;
    bool all_have; /* every slot has a gradient */
};

static __device__ __forceinline__ uint32_t end_of(const update_args &a, uint32_t u)
{
    return u + 1 < a.o.counts[0] ? a.o.starts[u + 1] : a.b.n_valid;
}

static __device__ __forceinline__ uint32_t first_item(int lanes)
{
    return (blockIdx.x * THREADS + threadIdx.x) / (unsigned)lanes;
}

static __device__ __forceinline__ uint32_t item_step(int lanes)
{
    return gridDim.x * (THREADS / (unsigned)lanes);
}

/* Whether an occurrence has a gradient; a row without any is left alone. */
static __device__ bool any_gradient(const update_args &a, uint32_t from, uint32_t to)
{
    bool any = a.all_have;
    for (uint32_t k = from; k < to && !any; k++)
        for (int32_t i = (int32_t)(a.o.sorted[k] >> a.o.shift); i >= 0; i = a.b.slots[i].twin)
            any |= a.grads[i].at != nullptr;
    return any;
}

/* Rows of few occurrences. WHOLE: the rule needs numbers of the whole row. */
template <int V, bool WHOLE>
static __global__ void __launch_bounds__(THREADS) update_rows(update_args a)
{
    place row = place_here(a.lanes, a.t.dim);
    rule_needs needs = needs_of(a.rule.kind, a.t.dim);
    uint32_t distinct = a.o.counts[0];
    for (uint32_t u = first_item(a.lanes); u < distinct; u += item_step(a.lanes)) {
        uint32_t from = a.o.starts[u], to = end_of(a, u);
        float *w = a.t.data + (int64_t)a.o.sorted_keys[from] * a.t.stride;
        if (to - from > CUDA_RUN_MAX || !any_gradient(a, from, to))
            continue;
        update_row<V, WHOLE>(row, a.rule, needs, w, [&](place at) {
            part<V> sum;
            sum_run<V>(at, a.b, a.o, a.grads, from, to, &sum);
            return sum;
        });
    }
}

/* The same for rows of one block and the common rules, which are constants here: several rows at
 * once, since everything comes from far.
 */
#define ROWS_AT_ONCE 4

template <int V, cuda_row_kind KIND>
static __global__ void __launch_bounds__(THREADS) update_narrow(update_args a)
{
    place at = at_block<V>(place_here(a.lanes, a.t.dim), 0);
    constexpr rule_needs needs = {KIND != CUDA_ROW_SGD, KIND == CUDA_ROW_ADAM, -1, false, false};
    const whole none = {};
    cuda_row_rule rule = a.rule;
    rule.kind = KIND;
    uint32_t distinct = a.o.counts[0], step = item_step(a.lanes) * ROWS_AT_ONCE;
    for (uint32_t u = first_item(a.lanes) * ROWS_AT_ONCE; u < distinct; u += step) {
        uint32_t from[ROWS_AT_ONCE], to[ROWS_AT_ONCE];
        float *w[ROWS_AT_ONCE];
        source s[ROWS_AT_ONCE];
        row_part<V> p[ROWS_AT_ONCE];
        part<V> d[ROWS_AT_ONCE];
#pragma unroll
        for (int j = 0; j < ROWS_AT_ONCE; j++) {
            from[j] = u + j < distinct ? a.o.starts[u + j] : 0;
            to[j] = u + j < distinct ? end_of(a, u + j) : 0;
            if (to[j] - from[j] > CUDA_RUN_MAX || !any_gradient(a, from[j], to[j]))
                to[j] = from[j];
        }
#pragma unroll
        for (int j = 0; j < ROWS_AT_ONCE; j++)
            if (from[j] < to[j]) {
                w[j] = a.t.data + (int64_t)a.o.sorted_keys[from[j]] * a.t.stride;
                s[j] = source_of(a.b, a.o, a.grads, a.o.sorted[from[j]]);
            }
#pragma unroll
        for (int j = 0; j < ROWS_AT_ONCE; j++)
            if (from[j] < to[j]) {
                p[j] = load_row<V>(at, w[j], needs);
                d[j] = s[j].at ? load<V>(at, s[j].at) : part<V>{};
            }
#pragma unroll
        for (int j = 0; j < ROWS_AT_ONCE; j++)
            if (from[j] < to[j]) {
                part<V> sum = {};
                if (s[j].at)
                    add(&sum, d[j], s[j].scale, s[j].most);
                if (s[j].twin >= 0)
                    add_twins(at, a.b, a.grads, s[j], &sum);
                if (to[j] - from[j] > 1)
                    add_run<V>(at, a.b, a.o, a.grads, from[j] + 1, to[j], &sum);
                change(rule, none, &p[j], sum);
                store_row<V>(at, p[j], w[j], needs);
            }
    }
}

/* The same where many lanes have a row: one at a time, and many warps. Where the next row's
 * occurrences are is asked for before this row's floats are.
 */
template <int V, cuda_row_kind KIND>
static __global__ void __launch_bounds__(THREADS, 3) update_wide(update_args a)
{
    place at = at_block<V>(place_here(a.lanes, a.t.dim), 0);
    constexpr rule_needs needs = {KIND != CUDA_ROW_SGD, KIND == CUDA_ROW_ADAM, -1, false, false};
    const whole none = {};
    cuda_row_rule rule = a.rule;
    rule.kind = KIND;
    uint32_t distinct = a.o.counts[0], step = item_step(a.lanes), u = first_item(a.lanes);
    uint32_t from = u < distinct ? a.o.starts[u] : 0, to = u < distinct ? end_of(a, u) : 0;
    for (; u < distinct; u += step) {
        uint32_t next = u + step, next_from = 0, next_to = 0;
        if (to - from <= CUDA_RUN_MAX && any_gradient(a, from, to)) {
            float *w = a.t.data + (int64_t)a.o.sorted_keys[from] * a.t.stride;
            row_part<V> p = load_row<V>(at, w, needs);
            part<V> sum = {};
            if (next < distinct) {
                next_from = a.o.starts[next];
                next_to = end_of(a, next);
            }
            add_run_together<V>(at, a.b, a.o, a.grads, from, to, &sum);
            change(rule, none, &p, sum);
            store_row<V>(at, p, w, needs);
        } else if (next < distinct) {
            next_from = a.o.starts[next];
            next_to = end_of(a, next);
        }
        from = next_from;
        to = next_to;
    }
}

/* One stretch of a row of many occurrences. */
template <int V>
static __global__ void __launch_bounds__(THREADS) sum_stretches(update_args a)
{
    place row = place_here(a.lanes, a.t.dim);
    uint32_t n = a.o.counts[2];
    for (uint32_t i = first_item(a.lanes); i < n; i += item_step(a.lanes)) {
        uint32_t which = a.o.stretches[i], u = a.o.longs[2 * which];
        uint32_t begin = a.o.starts[u], end = end_of(a, u);
        uint32_t length = stretch_of(end - begin);
        uint32_t from = begin + (i - a.o.longs[2 * which + 1]) * length;
        uint32_t to = from + length < end ? from + length : end;
        for (int block = 0; block * a.lanes * V < a.t.dim; block++) {
            place at = at_block<V>(row, block);
            part<V> sum;
            sum_run<V>(at, a.b, a.o, a.grads, from, to, &sum);
            store<V>(at, sum, a.o.partials + (int64_t)i * a.t.dim);
        }
    }
}

#define PARTS_AT_ONCE 16

/* Rows of many occurrences: their stretches are added. */
template <int V, bool WHOLE>
static __global__ void __launch_bounds__(THREADS) update_longs(update_args a)
{
    place row = place_here(a.lanes, a.t.dim);
    rule_needs needs = needs_of(a.rule.kind, a.t.dim);
    uint32_t n = a.o.counts[1];
    for (uint32_t i = first_item(a.lanes); i < n; i += item_step(a.lanes)) {
        uint32_t u = a.o.longs[2 * i], from = a.o.starts[u], to = end_of(a, u);
        uint32_t length = stretch_of(to - from), parts = (to - from + length - 1) / length;
        const float *first = a.o.partials + (int64_t)a.o.longs[2 * i + 1] * a.t.dim;
        float *w = a.t.data + (int64_t)a.o.sorted_keys[from] * a.t.stride;
        if (!any_gradient(a, from, to))
            continue;
        update_row<V, WHOLE>(row, a.rule, needs, w, [&](place at) {
            part<V> sum = {};
            for (uint32_t k = 0; k < parts; k += PARTS_AT_ONCE) {
                part<V> d[PARTS_AT_ONCE];
#pragma unroll
                for (uint32_t j = 0; j < PARTS_AT_ONCE; j++)
                    if (k + j < parts)
                        d[j] = load<V>(at, first + (int64_t)(k + j) * a.t.dim);
#pragma unroll
                for (uint32_t j = 0; j < PARTS_AT_ONCE; j++)
                    if (k + j < parts)
                        add(&sum, d[j], 1.0f, 0.0f);
            }
            return sum;
        });
    }
}

/* So many blocks that all are at work at once. */
static unsigned blocks_at_once(int64_t n, int64_t per_block)
{
    int units = 0;
    unsigned blocks = blocks_for(n, per_block);
    cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0);
    return units > 0 && blocks > (unsigned)units * 8 ? (unsigned)units * 8 : blocks;
}

template <int V, cuda_row_kind KIND>
static void launch_kind(cuda_stream s, const update_args &a)
{
    unsigned per_block = THREADS / (unsigned)a.lanes;
    if (a.lanes >= TOGETHER)
        update_wide<V, KIND><<<blocks_at_once(a.b.n_valid, per_block), THREADS, 0, s>>>(a);
    else
        update_narrow<V, KIND>
            <<<blocks_for(a.b.n_valid, per_block * ROWS_AT_ONCE), THREADS, 0, s>>>(a);
}

/* False: no kernel suits the rule or the width. */
template <int V> static bool launch_common(cuda_stream s, const update_args &a)
{
    if (a.t.dim > a.lanes * V)
        return false;
    if (a.rule.kind == CUDA_ROW_SGD)
        launch_kind<V, CUDA_ROW_SGD>(s, a);
    else if (a.rule.kind == CUDA_ROW_ADAGRAD)
        launch_kind<V, CUDA_ROW_ADAGRAD>(s, a);
    else if (a.rule.kind == CUDA_ROW_ADAM)
        launch_kind<V, CUDA_ROW_ADAM>(s, a);
    else
        return false;
    return true;
}

template <int V, bool WHOLE> static void launch(cuda_stream s, const update_args &a)
{
    unsigned per_block = THREADS / (unsigned)a.lanes;
    if (!launch_common<V>(s, a))
        update_rows<V, WHOLE><<<blocks_for(a.b.n_valid, per_block), THREADS, 0, s>>>(a);
    if (a.b.n_valid <= CUDA_RUN_MAX)
        return;
    uint32_t most = a.b.n_valid / CUDA_RUN_MAX;
    sum_stretches<V><<<blocks_for(2 * most, per_block), THREADS, 0, s>>>(a);
    update_longs<V, WHOLE><<<blocks_for(most, per_block), THREADS, 0, s>>>(a);
}

void cuda_rows_update(cuda_stream s, cuda_table t, cuda_batch b, cuda_sorted o,
                      const cuda_slot_view *grads, cuda_row_rule rule, bool aligned,
                      bool all_have)
{
    update_args a = {t, b, o, grads, rule, 1, all_have};
    int64_t parts = aligned ? t.dim / 4 : t.dim;
    if (b.n_valid == 0)
        return;
    while (a.lanes < WARP && a.lanes < parts)
        a.lanes *= 2;
    rule_needs needs = needs_of(rule.kind, t.dim);
    bool whole = needs.square || needs.norms;
    if (aligned)
        (whole ? launch<4, true> : launch<4, false>)(s, a);
    else
        (whole ? launch<1, true> : launch<1, false>)(s, a);
}
