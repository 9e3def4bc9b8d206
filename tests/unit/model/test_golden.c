/* SPDX-License-Identifier: Apache-2.0 */
/* Models against an independent implementation: outputs, losses, every gradient, ten
 * steps of training, and evaluation after them. The files and the scripts that made them
 * are in tests/golden/models. Each model runs twice: on the CPU, and on a device whose
 * memory the host cannot see (device_copies.h), which must give the same bytes.
 */
#include "embed/embed.h"
#include "model/model.h"
#include "model/reference.h"

#include <dlfcn.h>

#include "base/fs.h"
#include "base/hash.h"
#include "device_copies.h"
#include "golden/golden.h"
#include "nn/device_plugin.h"
#include "nn/executor.h"
#include "nn/optim/optim.h"
#include "nn/optim/sparse.h"
#include "text/conf.h"

#define SLOTS_MAX 64

/* Relative to the largest value of the array compared. */
#define TOL_FIRST 1e-5
#define TOL_STEPS 1e-4

struct run {
    struct golden *file;
    const char *name;
    struct conf conf;
    struct diags diags;
    struct model *model;
    struct pool *pool;
    const struct device *device; /* NULL: the CPU */
    uint64_t digest;             /* of all values that were compared */
    struct embed_slot_ids slots[SLOTS_MAX], dense[SLOTS_MAX];
    struct view views[SLOTS_MAX];
};

static void load_dense(struct run *r)
{
    const struct node *weights = golden_at(r->file->doc.root, "weights");
    size_t n;
    struct param *const *params = graph_params(r->model->graph, &n);
    CHECK_INT(n, weights ? weights->map.n : 0);
    for (size_t i = 0; i < n; i++) {
        struct floats f = golden_floats(r->file, golden_at(weights, params[i]->name));
        CHECK_INT(f.n, params[i]->n);
        if (f.n == params[i]->n)
            param_set(params[i], f.at);
    }
}

/* Rows that an image of a table hands out: all of `at`, or zeros. */
struct given_rows {
    const float *at;
    int64_t dim;
};

static enum rc read_given(const void *arg, int column, int64_t from, int64_t n, void *out,
                          struct err *err)
{
    const struct given_rows *g = arg;
    size_t bytes = (size_t)(n * g->dim) * sizeof(float);
    if (g->at)
        memcpy(out, g->at + from * g->dim, bytes);
    else
        memset(out, 0, bytes);
    return RC_OK;
}

/* All rows of a table; optimizer state starts from its initial values. */
static void set_rows_of_table(struct run *r, int table, const float *rows)
{
    const struct embed_table_conf *t = lookup_table(r->model->lookup, table);
    struct given_rows given = {rows, t->dim};
    struct lookup_image image = {.form = LOOKUP_ALL,
                                 .rows = t->rows,
                                 .n = t->rows,
                                 .has = {true},
                                 .types = {DT_F32},
                                 .read = read_given,
                                 .arg = &given};
    CHECK(lookup_restore(r->model->lookup, table, &image, NULL) == RC_OK);
}

static void load_tables(struct run *r)
{
    const struct node *tables = golden_at(r->file->doc.root, "tables");
    CHECK_INT(lookup_n_tables(r->model->lookup), tables ? tables->map.n : 0);
    for (int i = 0; i < lookup_n_tables(r->model->lookup); i++) {
        const struct embed_table_conf *t = lookup_table(r->model->lookup, i);
        struct floats f = golden_floats(r->file, golden_at(tables, t->name));
        CHECK_INT(f.n, t->rows * t->dim);
        if (f.n == t->rows * t->dim)
            set_rows_of_table(r, i, f.at);
    }
}

/* Of a case with `dense_tables`: those that the dense optimizer trains. */
static bool is_dense(const void *arg, const struct pc_feature *f, const char *table,
                     bool sequence)
{
    const struct run *r = arg;
    const struct node *list = node_get_list(r->file->doc.root, "dense_tables");
    for (size_t i = 0; list && i < list->list.n; i++)
        if (str_is(list->list.at[i]->text, table))
            return true;
    return false;
}

static struct model_options options_of(const struct run *r, bool plain)
{
    const struct pc_EasyRecConfig *conf = r->conf.data;
    struct optim_sparse sparse = {0};
    CHECK(optim_sparse_from(conf->train_config->sparse_optimizer, &sparse, NULL) ==
          RC_OK);
    if (plain)
        sparse.rule = (struct embed_row_opt){.kind = ROW_SGD};
    return (struct model_options){.graph = {.pool = r->pool,
                                            .device = r->device,
                                            .training = true,
                                            .seed = 7,
                                            .tile_rows = 4},
                                  .lookup = r->device ? r->device->ops->lookup : NULL,
                                  .row_opt = sparse.rule,
                                  .reference = REFERENCE_TABLES,
                                  .dense = is_dense,
                                  .dense_arg = r};
}

/* `plain`: rows are updated by plain descent. */
static bool open_run(struct run *r, bool plain, int threads)
{
    struct err err = {0};
    struct golden *file = r->file;
    const char *name = r->name;
    *r = (struct run){
        .file = file, .name = name, .device = r->device, .digest = r->digest};
    const struct node *config = golden_at(file->doc.root, "config");
    CHECK(pool_create(threads, &r->pool, NULL) == RC_OK);
    enum rc rc = conf_from(name, config->text.p, config->text.n,
                           &(struct conf_options){0}, &r->conf, &r->diags, &err);
    if (!rc) {
        struct model_options o = options_of(r, plain);
        rc = model_create(r->conf.data, &o, &r->model, &err);
    }
    struct buf b;
    buf_init(&b, 1 << 20);
    diags_print(&r->diags, &b, false);
    if (rc)
        printf("# %s: %s %s\n", name, err.msg, buf_str(&b));
    buf_release(&b);
    CHECK(rc == RC_OK);
    if (rc)
        return false;
    load_dense(r);
    load_tables(r);
    return true;
}

static void close_run(struct run *r)
{
    model_destroy(r->model);
    pool_destroy(r->pool);
    diags_release(&r->diags);
    conf_release(&r->conf);
}

/* Offsets of the positions that count on an axis. */
static struct ints axis_offsets(struct run *r, const struct node *batch, int axis)
{
    for (size_t i = 0; i < r->model->axes.n; i++) {
        const struct model_axis *a = &r->model->axes.at[i];
        if (a->axis != axis)
            continue;
        const struct node *f = golden_at(golden_at(batch, "features"), a->leader->name);
        struct ints from = golden_ints(r->file, golden_at(f, "positions"));
        struct ints to = {arena_alloc(&r->file->arena, (size_t)from.n * sizeof(int64_t)),
                          from.n};
        for (int64_t k = 0; k + 1 < from.n; k++) {
            int64_t n = from.at[k + 1] - from.at[k];
            to.at[k + 1] =
                to.at[k] + (a->max_length && n > a->max_length ? a->max_length : n);
        }
        return to;
    }
    CHECK(!"every sequence axis is listed");
    return (struct ints){0};
}

static void set_rows(struct run *r, const struct node *batch)
{
    struct nn_batch_rows rows = {.n = {(int64_t)golden_number(batch, "rows")}};
    for (size_t k = 0; k < r->model->axes.n; k++) {
        int axis = r->model->axes.at[k].axis;
        struct ints at = axis_offsets(r, batch, axis);
        rows.n[axis] = at.at[rows.n[0]];
        rows.offsets[axis] = at.at;
    }
    const struct node *items = node_find(batch, "items");
    const struct node *hard = node_find(batch, "hard_at");
    const struct node *own = node_find(batch, "own_at");
    struct model_match_batch match = {
        .items = items ? (int64_t)golden_number(batch, "items") : rows.n[0],
        .n_common = items ? (int64_t)golden_number(batch, "common") : 0,
        .hard_at = hard ? golden_ints(r->file, hard).at : NULL,
        .own_at = own ? golden_ints(r->file, own).at : NULL};
    CHECK(model_match_rows(r->model, &match, &rows, NULL) == RC_OK);
    CHECK(graph_rows(r->model->graph, &rows, NULL) == RC_OK);
}

/* Rows of the batch or of its items; else positions of a sequence. */
static bool has_rows(const struct run *r, int axis)
{
    return axis == AXIS_BATCH || axis == r->model->match.items;
}

/* The positions of a sequence, cut to those of the axis. `position` says where each is in
 * the file.
 */
static struct ints positions_of(struct run *r, const struct node *batch, int axis,
                                const struct node *feature)
{
    struct ints from = golden_ints(r->file, golden_at(feature, "positions"));
    struct ints to = axis_offsets(r, batch, axis);
    struct ints out = {
        arena_alloc(&r->file->arena, (size_t)(to.at[to.n - 1] + 1) * sizeof(int64_t)), 0};
    for (int64_t k = 0; k + 1 < to.n; k++)
        for (int64_t i = 0; i < to.at[k + 1] - to.at[k]; i++)
            out.at[out.n++] = from.at[k] + i;
    return out;
}

static void fill_ids(struct run *r, const struct node *batch,
                     const struct model_input *in, const struct node *feature)
{
    struct ints ids = golden_ints(r->file, golden_at(feature, "ids"));
    struct ints at = golden_ints(r->file, golden_at(feature, "offsets"));
    struct embed_slot_ids *s = in->dense ? &r->dense[in->slot] : &r->slots[in->slot];
    *s = (struct embed_slot_ids){.ids = ids.at, .offsets = at.at, .rows = at.n - 1};
    if (node_find(feature, "weights"))
        s->weights = golden_floats(r->file, node_find(feature, "weights")).at;
    if (in->first_only) {
        int64_t *first = arena_alloc(&r->file->arena, (size_t)at.n * sizeof(*first));
        for (int64_t k = 0; k + 1 < at.n; k++)
            first[k] = at.at[k] < at.at[k + 1] ? ids.at[at.at[k]] : -1;
        *s = (struct embed_slot_ids){.ids = first, .rows = at.n - 1};
    } else if (!has_rows(r, in->axis)) {
        struct ints p = positions_of(r, batch, in->axis, feature);
        int64_t *cut = arena_alloc(&r->file->arena, (size_t)(p.n + 1) * sizeof(*cut));
        int64_t *kept = arena_alloc(&r->file->arena, (size_t)(ids.n + 1) * sizeof(*kept));
        for (int64_t k = 0; k < p.n; k++) {
            cut[k + 1] = cut[k];
            for (int64_t i = at.at[p.at[k]]; i < at.at[p.at[k] + 1]; i++)
                kept[cut[k + 1]++] = ids.at[i];
        }
        *s = (struct embed_slot_ids){.ids = kept, .offsets = cut, .rows = p.n};
    }
}

static void fill_numbers(struct run *r, const struct node *batch,
                         const struct model_input *in, const struct node *feature)
{
    struct floats f = golden_floats(r->file, golden_at(feature, "numbers"));
    struct view v = graph_write_begin(r->model->graph, in->val);
    struct ints p = {0};
    if (!has_rows(r, in->axis))
        p = positions_of(r, batch, in->axis, feature);
    for (int64_t k = 0; k < v.rows; k++)
        memcpy(view_row(&v, k) + in->col, f.at + (p.n ? p.at[k] : k) * in->width,
               (size_t)in->width * sizeof(float));
    graph_write_end(r->model->graph, in->val);
}

static void fill_column(struct run *r, struct nn_val *val, struct floats f, float scale)
{
    struct view v = graph_write_begin(r->model->graph, val);
    CHECK_INT(f.n, v.rows);
    for (int64_t k = 0; k < v.rows && k < f.n; k++)
        *view_row(&v, k) = f.at[k] * scale;
    graph_write_end(r->model->graph, val);
}

/* Sessions are numbered by their first row. */
static void fill_sessions(struct run *r, const struct model_task *t,
                          const struct node *features)
{
    const struct node *f = golden_at(features, t->session->name);
    struct ints ids = golden_ints(r->file, golden_at(f, "ids"));
    struct ints at = golden_ints(r->file, golden_at(f, "offsets"));
    struct view v = graph_write_begin(r->model->graph, t->sessions);
    const int64_t *rows = graph_batch_rows(r->model->graph)->offsets[t->axis];
    for (int64_t k = 0; k + 1 < at.n; k++) {
        int64_t first = 0;
        while (ids.at[at.at[first]] != ids.at[at.at[k]])
            first++;
        for (int64_t i = rows ? rows[k] : k; i < (rows ? rows[k + 1] : k + 1); i++)
            *view_row(&v, i) = (float)first;
    }
    graph_write_end(r->model->graph, t->sessions);
}

static void fill_labels(struct run *r, const struct model_task *t,
                        const struct node *column)
{
    struct floats f = golden_floats(r->file, column);
    struct floats y = {arena_alloc(&r->file->arena, (size_t)f.n * sizeof(*y.at)), f.n};
    for (int64_t k = 0; k < f.n; k++)
        y.at[k] = !t->masked ? f.at[k] : ((uint64_t)f.at[k] & t->bits) ? 1.0f : 0.0f;
    fill_column(r, t->labels, y, 1.0f);
}

static void fill(struct run *r, const struct node *batch)
{
    const struct model *m = r->model;
    const struct node *features = golden_at(batch, "features");
    const struct node *weights = golden_at(batch, "row_weights");
    for (size_t k = 0; k < m->inputs.n; k++) {
        const struct model_input *in = &m->inputs.at[k];
        const struct node *f = golden_at(features, in->feature->name);
        if (in->slot >= 0)
            fill_ids(r, batch, in, f);
        else
            fill_numbers(r, batch, in, f);
    }
    for (size_t k = 0; k < m->tasks.n; k++) {
        const struct model_task *t = &m->tasks.at[k];
        if (t->labels)
            fill_labels(r, t, golden_at(golden_at(batch, "columns"), t->label));
        if (t->session)
            fill_sessions(r, t, features);
        CHECK(t->weighted == (node_find(weights, t->name) != NULL));
        if (t->weighted)
            fill_column(r, t->weights,
                        golden_floats(r->file, node_find(weights, t->name)),
                        1.0f / (float)graph_rows_of(m->graph, t->weights));
    }
}

static void fill_columns(struct run *r, const struct node *batch)
{
    for (size_t k = 0; k < r->model->columns.n; k++) {
        const struct model_column *c = &r->model->columns.at[k];
        const struct node *from = golden_at(golden_at(batch, "columns"), c->name);
        fill_column(r, c->val, golden_floats(r->file, from), 1.0f);
    }
}

static void forward(struct run *r, const struct node *batch, bool training, uint64_t step)
{
    struct err err = {0};
    set_rows(r, batch);
    fill(r, batch);
    fill_columns(r, batch);
    bool there = r->model->lookup->ops->on_device;
    CHECK(lookup_prepare(r->model->lookup, r->slots, training, &err) == RC_OK);
    for (size_t k = 0; k < r->model->embedded.n; k++)
        r->views[k] = there
                          ? graph_device_view(r->model->graph, r->model->embedded.at[k])
                          : graph_write_begin(r->model->graph, r->model->embedded.at[k]);
    CHECK(lookup_forward(r->model->lookup, r->views, &err) == RC_OK);
    CHECK(model_dense_forward(r->model, r->dense, r->views, &err) == RC_OK);
    for (size_t k = 0; k < r->model->embedded.n && !there; k++)
        graph_write_end(r->model->graph, r->model->embedded.at[k]);
    if (training)
        model_codes(r->model, r->slots);
    graph_training(r->model->graph, training);
    graph_forward(r->model->graph, step);
    CHECK(graph_wait(r->model->graph, &err) == RC_OK);
}

static void backward(struct run *r, double lr, uint64_t step)
{
    struct view grads[SLOTS_MAX];
    bool there = r->model->lookup->ops->on_device;
    graph_backward(r->model->graph, true);
    for (size_t k = 0; k < r->model->embedded.n; k++)
        grads[k] = there ? graph_device_grad(r->model->graph, r->model->embedded.at[k])
                         : graph_read_grad(r->model->graph, r->model->embedded.at[k]);
    model_dense_backward(r->model, r->dense, grads);
    CHECK(lookup_update(r->model->lookup, grads,
                        &(struct embed_row_step){.lr = lr, .step = step}, NULL) == RC_OK);
}

static void add_digest(struct run *r, const float *v, int64_t n)
{
    r->digest = hash_xxh3_seeded(v, (size_t)n * sizeof(*v), r->digest);
}

static void compare_outputs(struct run *r, const struct node *want, double tolerance)
{
    for (size_t i = 0; want && i < want->map.n; i++) {
        const char *name =
            arena_strndup(&r->file->arena, want->map.at[i].key.p, want->map.at[i].key.n);
        const struct nn_val *v = graph_output(r->model->graph, name);
        if (!v)
            printf("# %s: there is no output '%s'\n", r->name, name);
        CHECK(v != NULL);
        if (!v)
            continue;
        int64_t floats =
            graph_rows_of(r->model->graph, v) * nn_shape_width(nn_val_shape(v));
        float *flat = arena_alloc(&r->file->arena, (size_t)floats * sizeof(*flat));
        graph_get(r->model->graph, v, flat);
        add_digest(r, flat, floats);
        golden_compare(r->name, "output", name, flat,
                       golden_floats(r->file, want->map.at[i].value), floats, tolerance);
    }
}

static void compare_tables(struct run *r, const char *what, const struct node *want,
                           double tolerance)
{
    for (int i = 0; i < lookup_n_tables(r->model->lookup); i++) {
        const struct embed_table_conf *t = lookup_table(r->model->lookup, i);
        int64_t n = t->rows * t->dim;
        float *flat = arena_alloc(&r->file->arena, (size_t)n * sizeof(*flat));
        for (int64_t k = 0; k < t->rows; k++)
            CHECK(lookup_peek(r->model->lookup, i, k, flat + k * t->dim));
        add_digest(r, flat, n);
        golden_compare(r->name, what, t->name, flat,
                       golden_floats(r->file, golden_at(want, t->name)), n, tolerance);
    }
}

/* The loss does not depend on these values: their gradient is rounding alone, which Adam
 * turns into steps of full size. A gradient must be next to nothing; any other value is
 * taken as the file has it.
 */
static void excuse_free(struct run *r, const struct param *p, float *got,
                        struct floats want, bool gradient)
{
    const struct node *ranges = node_find(golden_at(r->file->doc.root, "free"), p->name);
    struct ints range = golden_ints(r->file, ranges);
    for (int64_t k = range.n == 2 ? range.at[0] : 0;
         range.n == 2 && k < range.at[1] && k < p->n && k < want.n; k++) {
        if (gradient)
            CHECK_NEAR(got[k], 0, 1e-7);
        got[k] = want.at[k];
    }
}

static void compare_params(struct run *r, const char *what, const struct node *want,
                           bool gradient, double tolerance)
{
    size_t n;
    struct param *const *params = graph_params(r->model->graph, &n);
    for (size_t i = 0; i < n; i++) {
        struct param *p = params[i];
        if (gradient && !p->grad)
            continue;
        size_t bytes = (size_t)p->n * sizeof(float);
        struct floats values = golden_floats(r->file, golden_at(want, p->name));
        float *got = arena_alloc(&r->file->arena, bytes);
        (gradient ? param_get_grad : param_get)(p, got);
        add_digest(r, got, p->n);
        excuse_free(r, p, got, values, gradient);
        golden_compare(r->name, what, p->name, got, values, p->n, tolerance);
    }
}

static void compare_losses(struct run *r, const struct node *losses)
{
    for (size_t i = 0; losses && i < losses->map.n; i++) {
        const char *name = arena_strndup(&r->file->arena, losses->map.at[i].key.p,
                                         losses->map.at[i].key.n);
        double want = golden_number(losses, name);
        CHECK_NEAR(graph_loss_named(r->model->graph, name), want, TOL_FIRST * fabs(want));
    }
}

static void compare_first(struct run *r, const struct node *batch)
{
    const struct node *first = golden_at(r->file->doc.root, "first");
    forward(r, batch, true, 0);
    compare_outputs(r, golden_at(first, "outputs"), TOL_FIRST);
    compare_losses(r, golden_at(first, "losses"));
    /* a step of plain descent from zero with rate -1 leaves the gradient in the row */
    for (int i = 0; i < lookup_n_tables(r->model->lookup); i++)
        set_rows_of_table(r, i, NULL);
    backward(r, -1.0, 1);
    compare_params(r, "gradient", golden_at(first, "gradients"), true, TOL_FIRST);
    compare_tables(r, "row gradients", golden_at(first, "row_gradients"), TOL_FIRST);
}

/* Both optimizers are those of the config. */
static void train(struct run *r, const struct node *batches, struct floats want)
{
    const struct pc_EasyRecConfig *conf = r->conf.data;
    struct optim_sparse sparse;
    struct optim *dense = NULL;
    struct optim_options options = {.pool = r->pool};
    size_t n;
    struct param *const *params = graph_params(r->model->graph, &n);
    CHECK(optim_sparse_from(conf->train_config->sparse_optimizer, &sparse, NULL) ==
          RC_OK);
    CHECK(optim_create(conf->train_config->dense_optimizer, params, n, &options, &dense,
                       NULL) == RC_OK);
    for (uint64_t k = 0; dense && k < (uint64_t)want.n; k++) {
        forward(r, batches->list.at[k % batches->list.n], true, k);
        CHECK_NEAR(graph_loss(r->model->graph), want.at[k],
                   TOL_STEPS * fabs((double)want.at[k]));
        backward(r, nn_schedule_lr(&sparse.schedule, k), k + 1);
        optim_step(dense, k, 0);
    }
    optim_destroy(dense);
}

static void compare_steps(struct run *r, const struct node *batches)
{
    const struct node *root = r->file->doc.root;
    struct floats want = golden_floats(r->file, golden_at(root, "steps"));
    CHECK_INT(want.n, 10);
    train(r, batches, want);
    compare_params(r, "after training", golden_at(root, "weights_after"), false,
                   TOL_STEPS);
    compare_tables(r, "after training", golden_at(root, "tables_after"), TOL_STEPS);
    forward(r, batches->list.at[1], false, 0);
    compare_outputs(r, golden_at(root, "evaluation"), TOL_STEPS);
    if (node_find(root, "evaluation_loss")) { /* where training counts more losses */
        double loss = golden_number(root, "evaluation_loss");
        CHECK_NEAR(graph_loss(r->model->graph), loss, TOL_STEPS * fabs(loss));
    }
}

/* Of a model whose training draws random numbers. */
static void compare_evaluation(struct run *r, const struct node *batches)
{
    const struct node *root = r->file->doc.root;
    forward(r, batches->list.at[1], false, 0);
    compare_outputs(r, golden_at(root, "evaluation"), TOL_FIRST);
    compare_losses(r, golden_at(root, "evaluation_losses"));
}

/* Ops that a card has no kernels for. Any other runs on the card, in whatever golden it is: what
 * the host did for it would have the right numbers, too, and take its time.
 */
static const char *const by_host[] = {
    "attention",  /* of heads wider than 256 */
    "batch norm", /* over padded sequences */
    "capsule routing",  "code candidates", "contrast loss", "convolution of fields",
    "distance",         "feature dropout", "flagged share", "jrc loss",
    "nearest code",     "reservoir",       "rotate",        "session graph",
    "straight through",
};

static void check_by_host(const struct run *r)
{
    const char *ops[64];
    size_t n = graph_by_host(r->model->graph, ops, ARRAY_LEN(ops));
    CHECK(n <= ARRAY_LEN(ops));
    for (size_t i = 0; i < n && i < ARRAY_LEN(ops); i++) {
        bool known = false;
        for (size_t k = 0; k < ARRAY_LEN(by_host); k++)
            known |= strcmp(ops[i], by_host[k]) == 0;
        printf("# %s: '%s' is left to the host\n", r->name, ops[i]);
        CHECK(known);
    }
}

/* Batches of a shape that has been seen are started from a recording. */
static void check_replays(const struct run *r)
{
    if (r->device && r->device->ops->executor->replays)
        CHECK(graph_replays(r->model->graph) > 0);
}

/* Returns a digest of all that was compared. */
static uint64_t run_on(struct golden *file, const char *name, const struct device *device)
{
    struct run r = {.file = file, .name = name, .device = device};
    const struct node *batches = golden_at(file->doc.root, "batches");
    bool random = !node_find(file->doc.root, "first");
    if (open_run(&r, true, 1)) {
        check_by_host(&r);
        if (random)
            compare_evaluation(&r, batches);
        else
            compare_first(&r, batches->list.at[0]);
    }
    close_run(&r);
    if (!random && open_run(&r, false, 2)) {
        compare_steps(&r, batches);
        check_replays(&r);
    }
    if (!random)
        close_run(&r);
    return r.digest;
}

/* A device from a library that TRAINYARD_TEST_DEVICE names (`make test-cuda`); NULL:
 * there is no such variable.
 */
static const struct device *plugged_in(void)
{
    static struct device *device;
    const char *path = getenv("TRAINYARD_TEST_DEVICE");
    struct err err = {0};
    if (!path || device)
        return device;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct nn_device_plugin *p = lib ? dlsym(lib, DEVICE_PLUGIN_SYMBOL) : NULL;
    if (!p || device_open(p->ops, &device, &err)) {
        printf("Bail out! %s: %s\n", path, p ? err.msg : dlerror());
        exit(1);
    }
    return device;
}

static void golden(const char *name)
{
    struct golden file;
    struct device *copies = NULL;
    char path[512];
    snprintf(path, sizeof(path), "%s/models/%s.json", TY_GOLDEN, name);
    CHECK(device_open(&device_copies, &copies, NULL) == RC_OK);
    if (golden_open(&file, path)) {
        /* such tables are the CPU's alone */
        bool dense = node_find(file.doc.root, "dense_tables") != NULL;
        if (plugged_in() && !dense)
            run_on(&file, name, plugged_in());
        uint64_t cpu = run_on(&file, name, NULL);
        uint64_t other = dense ? cpu : run_on(&file, name, copies);
        CHECK(cpu != 0 && cpu == other);
        const struct copies *c = copies->state;
        CHECK_INT(c->blocks.n, 0); /* all was given back */
    }
    golden_close(&file);
    device_close(copies);
}

#define GOLDEN(name)       \
    static void name(void) \
    {                      \
        golden(#name);     \
    }
#include "unit/model/goldens.def"
#undef GOLDEN

static const char *const names[] = {
#define GOLDEN(name) #name,
#include "unit/model/goldens.def"
#undef GOLDEN
};

static void every_file_and_every_model_is_compared(void)
{
    struct fs_names files = {0};
    size_t n, n_json = 0;
    const struct model_ops *const *all = model_all(&n);
    CHECK(fs_list(TY_GOLDEN "/models", &files, NULL) == RC_OK);
    for (size_t i = 0; i < files.n; i++)
        n_json += str_ends(files.at[i], ".json");
    CHECK_INT(n_json, ARRAY_LEN(names));
    fs_names_release(&files);
    for (size_t k = 0; k < n; k++) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            found |= str_starts(names[i], all[k]->name);
        if (!found)
            printf("# model '%s' has no golden\n", all[k]->name);
        CHECK(found);
    }
}

static const struct tap_case cases[] = {
    TAP(every_file_and_every_model_is_compared),
#define GOLDEN(name) TAP(name),
#include "unit/model/goldens.def"
#undef GOLDEN
};
TAP_MAIN(cases)
