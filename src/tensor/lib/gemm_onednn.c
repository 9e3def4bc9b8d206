/* SPDX-License-Identifier: Apache-2.0 */
/* Products by oneDNN, loaded when asked for; one thread per call. A product is compiled
 * for its number of rows and strides, so each weight keeps the plans it has met; a plan
 * owns its scratch memory and serves one thread at a time.
 *
 * Kept to compare ourselves with; unlike our own products this allocates when a new
 * number of rows turns up, and a row's last bits may follow how rows are cut.
 */
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "tensor/gemm_private.h"
#include "tensor/kernel.h"

#define FUNCTIONS(F)                      \
    F(set_max_cpu_isa)                    \
    F(engine_create)                      \
    F(stream_create)                      \
    F(stream_wait)                        \
    F(memory_desc_init_by_strides)        \
    F(memory_desc_init_by_tag)            \
    F(memory_desc_get_size)               \
    F(memory_create)                      \
    F(memory_destroy)                     \
    F(memory_set_data_handle)             \
    F(primitive_attr_create)              \
    F(primitive_attr_destroy)             \
    F(primitive_attr_set_scratchpad_mode) \
    F(primitive_attr_set_post_ops)        \
    F(post_ops_create)                    \
    F(post_ops_destroy)                   \
    F(post_ops_append_sum)                \
    F(post_ops_append_eltwise)            \
    F(matmul_desc_init)                   \
    F(primitive_desc_create)              \
    F(primitive_desc_destroy)             \
    F(primitive_desc_query_md)            \
    F(primitive_create)                   \
    F(primitive_destroy)                  \
    F(primitive_execute)                  \
    F(reorder_primitive_desc_create)

static struct {
#define F(name) TYPEOF(dnnl_##name) * name;
    FUNCTIONS(F)
#undef F
    void (*omp_set_num_threads)(int);
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    bool ready;
} d; /* once loaded, the same for the life of the program */

static enum rc onednn_load(struct err *err)
{
    if (d.ready)
        return RC_OK;
    void *lib = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL), *fn;
    if (!lib)
        return err_set(err, RC_NOTFOUND, "cannot load libdnnl.so.2: %s", dlerror());
#define F(name)                                                             \
    fn = dlsym(lib, "dnnl_" #name);                                         \
    if (!fn)                                                                \
        return err_set(err, RC_NOTFOUND, "libdnnl.so.2 lacks dnnl_" #name); \
    memcpy(&d.name, &fn, sizeof(fn));
    FUNCTIONS(F)
#undef F
    fn = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    fn = fn ? fn : dlsym(lib, "omp_set_num_threads");
    memcpy(&d.omp_set_num_threads, &fn, sizeof(fn));
    /* The tile kernels of 2.6.3 run into tiles that nobody set up, and die of SIGILL. */
    if (cpu_has(CPU_AMX_TILE))
        d.set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
    if (d.engine_create(&d.engine, dnnl_cpu, 0) ||
        d.stream_create(&d.stream, d.engine, dnnl_stream_default_flags))
        return err_set(err, RC_NOTFOUND, "libdnnl.so.2 has no engine for this processor");
    d.ready = true;
    return RC_OK;
}

enum kind { FORWARD, BACKWARD, GRADIENT };

/* c[m][n] (+)= a[m][k] * b[k][n], everything that a plan depends on. */
struct key {
    enum kind kind;
    int64_t m, n, k, lda, ldb, ldc;
    bool bias, add, relu;
};

struct plan {
    struct plan *next;
    struct key key;
    bool busy;
    dnnl_primitive_t primitive;
    dnnl_memory_t a, b, c, bias, scratch;
    void *scratch_bytes;
    uint16_t *halves[2]; /* a and, for gradients, b in bf16; NULL for f32 */
};

struct dnnl_weight {
    pthread_mutex_t lock; /* guards plans and their busy */
    struct plan *plans;
    dnnl_memory_desc_t packed[2]; /* forward, backward; as oneDNN likes them */
    void *bytes[2];
    dnnl_primitive_t reorder[2];
    dnnl_memory_t from[2], to[2];
};

static dnnl_data_type_t type_of(const struct gemm_weight *w)
{
    return w->precision == GEMM_BF16 ? dnnl_bf16 : dnnl_f32;
}

static dnnl_memory_desc_t matrix(dnnl_data_type_t type, int64_t rows, int64_t cols,
                                 int64_t row_stride, int64_t col_stride)
{
    dnnl_memory_desc_t md;
    d.memory_desc_init_by_strides(&md, 2, (dnnl_dims_t){rows, cols}, type,
                                  (dnnl_dims_t){row_stride, col_stride});
    return md;
}

static dnnl_primitive_attr_t attributes(const struct key *k)
{
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;
    d.primitive_attr_create(&attr);
    d.primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    d.post_ops_create(&ops);
    if (k->add)
        d.post_ops_append_sum(ops, 1.0f);
    if (k->relu)
        d.post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
    d.primitive_attr_set_post_ops(attr, ops);
    d.post_ops_destroy(ops);
    return attr;
}

/* The description of a product; `b` may leave its layout open. */
static dnnl_primitive_desc_t describe(const struct gemm_weight *w, const struct key *k,
                                      const dnnl_memory_desc_t *b)
{
    dnnl_data_type_t type = type_of(w);
    dnnl_memory_desc_t a = k->kind == GRADIENT ? matrix(type, k->m, k->k, 1, k->lda)
                                               : matrix(type, k->m, k->k, k->lda, 1);
    dnnl_memory_desc_t c = matrix(dnnl_f32, k->m, k->n, k->ldc, 1);
    dnnl_memory_desc_t bias = matrix(dnnl_f32, 1, k->n, k->n, 1);
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr = attributes(k);
    d.matmul_desc_init(&desc, &a, b, k->bias ? &bias : NULL, &c);
    d.primitive_desc_create(&pd, &desc, attr, d.engine, NULL);
    d.primitive_attr_destroy(attr);
    return pd;
}

static void use_one_thread(void)
{
    if (d.omp_set_num_threads)
        d.omp_set_num_threads(1);
}

static struct plan *plan_create(const struct gemm_weight *w, const struct key *k)
{
    const struct dnnl_weight *o = w->packed;
    bool bf16 = w->precision == GEMM_BF16;
    dnnl_memory_desc_t b = k->kind == GRADIENT ? matrix(type_of(w), k->k, k->n, k->ldb, 1)
                                               : o->packed[k->kind];
    dnnl_primitive_desc_t pd = describe(w, k, &b);
    struct plan *p = mem_calloc(1, sizeof(*p));
    p->key = *k;
    p->busy = true;
    if (bf16)
        p->halves[0] = mem_calloc((size_t)(k->m * k->k), sizeof(uint16_t));
    if (bf16 && k->kind == GRADIENT)
        p->halves[1] = mem_calloc((size_t)(k->k * k->n), sizeof(uint16_t));
    const dnnl_memory_desc_t *mds[] = {
        d.primitive_desc_query_md(pd, dnnl_query_src_md, 0), &b,
        d.primitive_desc_query_md(pd, dnnl_query_dst_md, 0),
        d.primitive_desc_query_md(pd, dnnl_query_weights_md, 1),
        d.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0)};
    dnnl_memory_t *memories[] = {&p->a, &p->b, &p->c, &p->bias, &p->scratch};
    size_t scratch = d.memory_desc_get_size(mds[4]);
    p->scratch_bytes = mem_alloc(scratch + 64);
    for (size_t i = 0; i < ARRAY_LEN(mds); i++)
        if (i != 3 || k->bias)
            d.memory_create(memories[i], mds[i], d.engine,
                            i == 4 ? p->scratch_bytes : DNNL_MEMORY_NONE);
    d.primitive_create(&p->primitive, pd);
    d.primitive_desc_destroy(pd);
    return p;
}

static void plan_destroy(struct plan *p)
{
    dnnl_memory_t memories[] = {p->a, p->b, p->c, p->bias, p->scratch};
    for (size_t i = 0; i < ARRAY_LEN(memories); i++)
        if (memories[i])
            d.memory_destroy(memories[i]);
    d.primitive_destroy(p->primitive);
    mem_free(p->scratch_bytes);
    mem_free(p->halves[0]);
    mem_free(p->halves[1]);
    mem_free(p);
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->kind == b->kind && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->bias == b->bias && a->add == b->add && a->relu == b->relu;
}

static struct plan *plan_take(const struct gemm_weight *w, const struct key *k)
{
    struct dnnl_weight *o = w->packed;
    pthread_mutex_lock(&o->lock);
    struct plan *p = o->plans;
    while (p && (p->busy || !same_key(&p->key, k)))
        p = p->next;
    if (p)
        p->busy = true;
    pthread_mutex_unlock(&o->lock);
    if (p)
        return p;
    p = plan_create(w, k);
    pthread_mutex_lock(&o->lock);
    p->next = o->plans;
    o->plans = p;
    pthread_mutex_unlock(&o->lock);
    return p;
}

/* Rows of v where oneDNN reads them: rounded into `halves` when there are any. */
static void *operand(uint16_t *halves, struct view v)
{
    for (int64_t r = 0; halves && r < v.rows; r++)
        kernels()->to_bf16(halves + r * v.width, view_row(&v, r), v.width);
    return halves ? (void *)halves : (void *)v.data;
}

static int64_t operand_ld(const struct gemm_weight *w, struct view v)
{
    return w->precision == GEMM_BF16 ? v.width : v.ld;
}

/* `b` is the second operand of a gradient; else it is the packed weight. */
static void plan_run(const struct gemm_weight *w, const struct key *k, struct view a,
                     const struct view *b, const float *bias, float *c)
{
    struct dnnl_weight *o = w->packed;
    if (k->m == 0 || k->k == 0)
        return;
    use_one_thread();
    struct plan *p = plan_take(w, k);
    d.memory_set_data_handle(p->a, operand(p->halves[0], a));
    d.memory_set_data_handle(p->b, b ? operand(p->halves[1], *b) : o->bytes[k->kind]);
    d.memory_set_data_handle(p->c, c);
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, p->a},
                               {DNNL_ARG_WEIGHTS, p->b},
                               {DNNL_ARG_DST, p->c},
                               {DNNL_ARG_SCRATCHPAD, p->scratch},
                               {DNNL_ARG_BIAS, p->bias}};
    if (bias)
        d.memory_set_data_handle(p->bias, (void *)bias);
    d.primitive_execute(p->primitive, d.stream, bias ? 5 : 4, args);
    d.stream_wait(d.stream);
    pthread_mutex_lock(&o->lock);
    p->busy = false;
    pthread_mutex_unlock(&o->lock);
}

static void onednn_destroy(struct gemm_weight *w)
{
    struct dnnl_weight *o = w->packed;
    if (!o)
        return;
    for (struct plan *p = o->plans, *next; p; p = next) {
        next = p->next;
        plan_destroy(p);
    }
    for (int i = 0; i < 2; i++) {
        if (o->reorder[i])
            d.primitive_destroy(o->reorder[i]);
        if (o->from[i])
            d.memory_destroy(o->from[i]);
        if (o->to[i])
            d.memory_destroy(o->to[i]);
        mem_free(o->bytes[i]);
    }
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
    w->packed = NULL;
}

/* Asks oneDNN which layout it wants for a weight, and how to get there. */
static bool make_layout(const struct gemm_weight *w, enum kind kind)
{
    enum { USUAL_ROWS = 256 };
    struct dnnl_weight *o = w->packed;
    int64_t n = kind == FORWARD ? w->out : w->in, k = kind == FORWARD ? w->in : w->out;
    struct key key = {.kind = kind, .m = USUAL_ROWS, .n = n, .k = k, .lda = k, .ldc = n};
    dnnl_memory_desc_t any, plain;
    d.memory_desc_init_by_tag(&any, 2, (dnnl_dims_t){k, n}, type_of(w),
                              dnnl_format_tag_any);
    plain = kind == FORWARD ? matrix(dnnl_f32, k, n, 1, w->in)
                            : matrix(dnnl_f32, k, n, w->in, 1);
    dnnl_primitive_desc_t pd = describe(w, &key, &any), reorder = NULL;
    if (!pd)
        return false;
    o->packed[kind] = *d.primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    d.primitive_desc_destroy(pd);
    o->bytes[kind] =
        mem_try_aligned(64, d.memory_desc_get_size(&o->packed[kind]) + 64, 1);
    if (!o->bytes[kind])
        return false;
    d.memory_create(&o->from[kind], &plain, d.engine, DNNL_MEMORY_NONE);
    d.memory_create(&o->to[kind], &o->packed[kind], d.engine, o->bytes[kind]);
    d.reorder_primitive_desc_create(&reorder, &plain, d.engine, &o->packed[kind],
                                    d.engine, NULL);
    d.primitive_create(&o->reorder[kind], reorder);
    d.primitive_desc_destroy(reorder);
    return true;
}

static enum rc onednn_create(struct gemm_weight *w, struct err *err)
{
    struct dnnl_weight *o = mem_calloc(1, sizeof(*o));
    w->packed = o;
    pthread_mutex_init(&o->lock, NULL);
    use_one_thread();
    if (make_layout(w, FORWARD) && (!w->backward || make_layout(w, BACKWARD)))
        return RC_OK;
    onednn_destroy(w);
    return gemm_no_memory(w, err);
}

static void onednn_pack(struct gemm_weight *w, const float *from)
{
    struct dnnl_weight *o = w->packed;
    use_one_thread();
    for (int i = 0; i < 2 && o->reorder[i]; i++) {
        d.memory_set_data_handle(o->from[i], (void *)from);
        d.primitive_execute(
            o->reorder[i], d.stream, 2,
            (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, o->from[i]}, {DNNL_ARG_TO, o->to[i]}});
        d.stream_wait(d.stream);
    }
}

static void onednn_forward(const struct gemm_weight *w, struct view x, const float *bias,
                           enum gemm_act act, struct view y)
{
    struct key k = {.kind = FORWARD,
                    .m = x.rows,
                    .n = w->out,
                    .k = w->in,
                    .lda = operand_ld(w, x),
                    .ldc = y.ld,
                    .bias = bias,
                    .relu = act == GEMM_ACT_RELU};
    plan_run(w, &k, x, NULL, bias, y.data);
    if (act != GEMM_ACT_RELU)
        gemm_apply_act(act, y);
}

static void onednn_backward(const struct gemm_weight *w, struct view dy, bool add,
                            struct view dx)
{
    struct key k = {.kind = BACKWARD,
                    .m = dy.rows,
                    .n = w->in,
                    .k = w->out,
                    .lda = operand_ld(w, dy),
                    .ldc = dx.ld,
                    .add = add};
    plan_run(w, &k, dy, NULL, NULL, dx.data);
}

static void onednn_gradient(const struct gemm_weight *w, struct view dy, struct view x,
                            struct gemm_piece at, float *dw)
{
    struct view units = view_cols(&dy, at.unit, at.units),
                cols = view_cols(&x, at.col, at.cols);
    struct key k = {.kind = GRADIENT,
                    .m = at.units,
                    .n = at.cols,
                    .k = dy.rows,
                    .lda = operand_ld(w, units),
                    .ldb = operand_ld(w, cols),
                    .ldc = w->in,
                    .add = true};
    plan_run(w, &k, units, &cols, NULL, dw + at.unit * w->in + at.col);
}

const struct gemm_ops gemm_onednn = {
    .name = "onednn",
    .load = onednn_load,
    .create = onednn_create,
    .destroy = onednn_destroy,
    .pack = onednn_pack,
    .forward = onednn_forward,
    .backward = onednn_backward,
    .gradient = onednn_gradient,
    .large_pieces = true,
};
