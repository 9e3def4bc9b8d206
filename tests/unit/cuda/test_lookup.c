/* SPDX-License-Identifier: Apache-2.0 */
/* The card's lookup beside the local one, row by row and bit by bit: initial values, pooled,
 * weighted and plain slots, twins, every optimizer, images in both directions. The plug-in is
 * the one that TRAINYARD_TEST_DEVICE names (`make test-cuda`).
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "embed/lookup.h"
#include "nn/device_plugin.h"
#include "tap.h"

#define BATCH 90
#define TABLES 6
#define SLOTS 8
#define WIDTH_MAX 2048
#define LONG_RUN \
    64           /* CUDA_RUN_MAX: up to so many occurrences sums are those of the CPU */
#define MANY 128 /* stretches of that length, before they get longer */

static struct err err;
static struct device *device;

static bool open_device(void)
{
    const char *path = getenv("TRAINYARD_TEST_DEVICE");
    if (device)
        return true;
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct nn_device_plugin *p = lib ? dlsym(lib, DEVICE_PLUGIN_SYMBOL) : NULL;
    if (path && (!p || device_open(p->ops, &device, &err)))
        printf("Bail out! %s: %s\n", path, p ? err.msg : dlerror());
    if (!device)
        tap_skip("TRAINYARD_TEST_DEVICE names no plug-in");
    return device != NULL;
}

struct shape {
    enum embed_row_opt_kind kind;
    int64_t dim;
    int64_t most; /* ids are below it; rows may be more */
};

static struct embed_table_conf conf_of(const struct shape *s, int table)
{
    static const char *const names[] = {"uniform",   "normal", "const",
                                        "truncated", "frozen", "half"};
    static const enum embed_init inits[] = {EMBED_UNIFORM,   EMBED_NORMAL,  EMBED_CONST,
                                            EMBED_TRUNCATED, EMBED_UNIFORM, EMBED_NORMAL};
    return (struct embed_table_conf){
        .name = names[table],
        .rows = 1000 + 37 * table,
        .dim = table == 4 ? s->dim + 1 : s->dim,
        .type = table == 5 ? DT_BF16 : DT_F32,
        .init = inits[table],
        .a = table == 2 ? 0.25 : -0.1,
        .b = 0.1,
        .lo = -0.15,
        .hi = 0.05,
        .trainable = table != 4,
        .opt = {.kind = s->kind,
                .beta1 = 0.9,
                .beta2 = 0.99,
                .eps = 1e-8,
                .weight_decay = 0.01,
                .decay_mode = s->dim % 2 ? DECAY_L2 : DECAY_DECOUPLE,
                .momentum = 0.9,
                .rho = 0.95,
                .alpha = 0.9,
                .initial_accumulator = 0.1},
        .seed = 7};
}

/* Slots: a use of each table, a second use of the first table with other ids, and one with the
 * same ids as the second table's.
 */
static int table_of(int slot)
{
    return slot < TABLES ? slot : slot - TABLES;
}

static struct lookup *create(const struct lookup_ops *ops, const struct shape *s)
{
    struct lookup *l = NULL;
    int64_t col = 0;
    CHECK(lookup_create(ops, &(struct lookup_conf){.device = device}, &l, &err) == RC_OK);
    for (int i = 0; i < TABLES; i++) {
        struct embed_table_conf c = conf_of(s, i);
        CHECK_INT(lookup_add_table(l, &c, &err), i);
    }
    for (int i = 0; i < SLOTS; i++) {
        struct embed_table_conf c = conf_of(s, table_of(i));
        struct embed_slot_conf slot = {.feature = i == 6 ? "other" : c.name,
                                       .table = table_of(i),
                                       .pooling = i % 3 == 2 ? EMBED_MEAN : EMBED_SUM,
                                       .output = 0,
                                       .col = col,
                                       .max_gradient = i == 3 ? 0.5f : 0};
        if (i == 7)
            slot.pooling = EMBED_SUM;
        CHECK_INT(lookup_add_slot(l, &slot, &err), i);
        col += c.dim + (s->dim % 4 == 0 ? (4 - c.dim % 4) % 4 : 0);
    }
    CHECK(lookup_finish(l, &err) == RC_OK);
    return l;
}

struct batch {
    int64_t ids[SLOTS][BATCH * 4], offsets[SLOTS][BATCH + 1];
    float weights[SLOTS][BATCH * 4];
    struct embed_slot_ids slots[SLOTS];
};

/* Slots 1 and 7 have one id per row; 0, 2 and 3 several; 3 has weights; some ids are none. */
static void draw(struct batch *b, const struct shape *s, uint64_t step)
{
    struct rng r;
    rng_init(&r, 11, 0, step, 0);
    for (int i = 0; i < SLOTS; i++) {
        bool several = i == 0 || i == 2 || i == 3 || i == 5;
        int64_t n = 0;
        for (int k = 0; k < BATCH; k++) {
            int64_t here = several ? (int64_t)rng_below(&r, 4) : 1;
            b->offsets[i][k] = n;
            for (int64_t j = 0; j < here; j++, n++) {
                b->ids[i][n] =
                    rng_below(&r, 10) ? (int64_t)rng_below(&r, (uint64_t)s->most) : -1;
                b->weights[i][n] = rng_f32(&r) * 2;
            }
        }
        b->offsets[i][BATCH] = n;
        b->slots[i] =
            (struct embed_slot_ids){.ids = b->ids[i],
                                    .offsets = several ? b->offsets[i] : NULL,
                                    .weights = i == 3 || i == 6 ? b->weights[i] : NULL,
                                    .rows = BATCH};
    }
    b->slots[7] = b->slots[1];
}

/* Memory that a lookup sees, and the host's copy of it. */
struct memory {
    float *host, *card;
    struct view view;
};

static int64_t width_of(const struct lookup *l)
{
    const struct embed_slot_conf *last = lookup_slot(l, SLOTS - 1);
    int64_t end = last->col + lookup_table(l, last->table)->dim;
    return (end + 3) / 4 * 4;
}

static void memory_init(struct memory *m, const struct lookup *l)
{
    int64_t width = width_of(l);
    m->host = mem_calloc((size_t)(BATCH * width), sizeof(float));
    m->card = NULL;
    if (l->ops->on_device)
        m->card = device->ops->alloc(device, (size_t)(BATCH * width) * sizeof(float));
    m->view = view_of(m->card ? m->card : m->host, BATCH, width);
}

static void memory_move(const struct memory *m, enum device_way way)
{
    size_t bytes = (size_t)(m->view.rows * m->view.width) * sizeof(float);
    if (m->card && way == DEVICE_IN)
        device->ops->copy(device, m->card, m->host, bytes, way);
    else if (m->card)
        device->ops->copy(device, m->host, m->card, bytes, way);
}

static void memory_release(struct memory *m)
{
    if (m->card)
        device->ops->free(device, m->card);
    mem_free(m->host);
}

/* A step; the vectors are left in `out`. */
static void train(struct lookup *l, const struct shape *s, uint64_t step,
                  struct memory *out)
{
    static struct batch b;
    struct rng r;
    int64_t width = width_of(l);
    draw(&b, s, step);
    CHECK(lookup_prepare(l, b.slots, true, &err) == RC_OK);
    memory_init(out, l);
    memory_move(out, DEVICE_IN);
    CHECK(lookup_forward(l, &out->view, &err) == RC_OK);
    memory_move(out, DEVICE_OUT);
    struct memory grad;
    memory_init(&grad, l);
    rng_init(&r, 12, 0, step, 0);
    rng_fill_normal(&r, 0, 1, grad.host, (size_t)(BATCH * width));
    memory_move(&grad, DEVICE_IN);
    CHECK(lookup_update(l, &grad.view,
                        &(struct embed_row_step){.lr = 0.05, .step = step + 1},
                        &err) == RC_OK);
    CHECK(device->ops->synchronise(device, &err) == RC_OK);
    memory_release(&grad);
}

static void check_same_image(const struct lookup_image *a, const struct lookup_image *b,
                             const struct embed_table_conf *conf)
{
    struct lookup_column cols[LOOKUP_COLUMNS_MAX];
    int n = lookup_columns(conf, cols);
    static float x[WIDTH_MAX], y[WIDTH_MAX];
    int64_t bad = 0;
    CHECK_INT(a->form, b->form);
    CHECK_INT(a->n, b->n);
    for (int c = 0; c < n; c++)
        for (int64_t i = 0; i < a->n; i++) {
            size_t bytes = (size_t)cols[c].width * dtype_size(cols[c].type);
            CHECK(a->read(a->arg, c, i, 1, x, &err) == RC_OK);
            CHECK(b->read(b->arg, c, i, 1, y, &err) == RC_OK);
            bad += memcmp(x, y, bytes) != 0;
        }
    CHECK_INT(bad, 0);
    if (a->used && b->used)
        CHECK(memcmp(a->used, b->used, (size_t)(conf->rows + 7) / 8) == 0);
}

static void check_same_tables(struct lookup *a, struct lookup *b)
{
    for (int t = 0; t < TABLES; t++) {
        struct lookup_snapshot *x = NULL, *y = NULL;
        CHECK(lookup_snapshot(a, t, false, &x, &err) == RC_OK);
        CHECK(lookup_snapshot(b, t, false, &y, &err) == RC_OK);
        if (x && y)
            check_same_image(&x->image, &y->image, lookup_table(a, t));
        lookup_snapshot_release(x);
        lookup_snapshot_release(y);
    }
}

static void train_both(struct lookup *a, struct lookup *b, const struct shape *s,
                       uint64_t from, uint64_t to)
{
    for (uint64_t step = from; step < to; step++) {
        struct memory x, y;
        train(a, s, step, &x);
        train(b, s, step, &y);
        CHECK(memcmp(x.host, y.host,
                     (size_t)(x.view.rows * x.view.width) * sizeof(float)) == 0);
        memory_release(&x);
        memory_release(&y);
    }
}

static void rows_start_from_the_same_values(void)
{
    if (!open_device())
        return;
    static const int64_t dims[] = {1, 3, 8, 130};
    for (size_t i = 0; i < ARRAY_LEN(dims); i++) {
        struct shape s = {ROW_ADAM, dims[i], 900};
        struct lookup *a = create(NULL, &s), *b = create(device->ops->lookup, &s);
        float x[WIDTH_MAX], y[WIDTH_MAX];
        int64_t bad = 0;
        for (int t = 0; t < TABLES; t++)
            for (int64_t row = 0; row < lookup_table(a, t)->rows; row += 7) {
                CHECK(lookup_peek(a, t, row, x) && lookup_peek(b, t, row, y));
                bad += memcmp(x, y, (size_t)lookup_table(a, t)->dim * sizeof(float)) != 0;
            }
        CHECK_INT(bad, 0);
        CHECK(!lookup_peek(b, 0, 1000, y));
        lookup_destroy(a);
        lookup_destroy(b);
    }
}

static void every_optimizer_gives_the_bytes_of_the_cpu(void)
{
    if (!open_device())
        return;
    static const int64_t dims[] = {1, 6, 16, 33, 128, 200, 512};
    for (int kind = 0; kind < ROW_OPT_KINDS; kind++)
        for (size_t i = 0; i < ARRAY_LEN(dims); i++) {
            struct shape s = {(enum embed_row_opt_kind)kind, dims[i], 60};
            struct lookup *a = create(NULL, &s), *b = create(device->ops->lookup, &s);
            train_both(a, b, &s, 0, 4);
            check_same_tables(a, b);
            if (tap_failed)
                printf("# %s, %jd wide\n", embed_row_opt_name(s.kind), (intmax_t)s.dim);
            lookup_destroy(a);
            lookup_destroy(b);
        }
}

static void images_go_both_ways(void)
{
    if (!open_device())
        return;
    struct shape s = {ROW_PARTIAL_ROWWISE_ADAM, 16, 500};
    struct lookup *a = create(NULL, &s), *b = create(device->ops->lookup, &s);
    struct lookup *c = create(NULL, &s);
    struct memory m;
    for (uint64_t step = 0; step < 3; step++) {
        train(a, &s, step, &m);
        memory_release(&m);
    }
    train(b, &s, 40, &m); /* rows that the image does not have are forgotten */
    memory_release(&m);
    for (int t = 0; t < TABLES; t++) {
        struct lookup_snapshot *x = NULL;
        CHECK(lookup_snapshot(a, t, false, &x, &err) == RC_OK);
        CHECK(lookup_restore(b, t, &x->image, &err) == RC_OK);
        lookup_snapshot_release(x);
    }
    check_same_tables(a, b);
    train_both(a, b, &s, 3, 6);
    for (int t = 0; t < TABLES; t++) {
        struct lookup_snapshot *x = NULL;
        CHECK(lookup_snapshot(b, t, false, &x, &err) == RC_OK);
        CHECK(lookup_restore(c, t, &x->image, &err) == RC_OK);
        lookup_snapshot_release(x);
    }
    check_same_tables(b, c);
    train_both(c, b, &s, 6, 8);
    check_same_tables(b, c);
    lookup_destroy(a);
    lookup_destroy(b);
    lookup_destroy(c);
}

static void changed_rows_are_noted(void)
{
    if (!open_device())
        return;
    struct shape s = {ROW_SGD, 8, 300};
    struct lookup *a = create(NULL, &s), *b = create(device->ops->lookup, &s);
    CHECK(lookup_track(a, &err) == RC_OK && lookup_track(b, &err) == RC_OK);
    for (uint64_t turn = 0; turn < 2; turn++) {
        train_both(a, b, &s, 2 * turn, 2 * turn + 2);
        for (int t = 0; t < TABLES; t++) {
            int64_t *x, *y, n, m;
            CHECK(lookup_touched(a, t, &x, &n, &err) == RC_OK);
            CHECK(lookup_touched(b, t, &y, &m, &err) == RC_OK);
            CHECK(n == m && n > 0 && memcmp(x, y, (size_t)n * sizeof(*x)) == 0);
            mem_free(x);
            mem_free(y);
        }
        lookup_forget_touched(a);
        lookup_forget_touched(b);
    }
    lookup_destroy(a);
    lookup_destroy(b);
}

static void an_id_outside_its_table_is_named_and_changes_nothing(void)
{
    if (!open_device())
        return;
    struct shape s = {ROW_ADAGRAD, 16, 300};
    struct lookup *a = create(NULL, &s), *b = create(device->ops->lookup, &s);
    static struct batch x;
    struct err other = {0};
    draw(&x, &s, 1);
    x.ids[2][5] = 5000;
    CHECK(lookup_prepare(a, x.slots, true, &other) == RC_INVAL);
    CHECK(lookup_prepare(b, x.slots, true, &err) == RC_INVAL);
    CHECK_STR(err.msg, other.msg);
    CHECK_INT(err.code, E1402);
    err = (struct err){0};
    train_both(a, b, &s, 0, 2);
    check_same_tables(a, b);
    lookup_destroy(a);
    lookup_destroy(b);
}

/* Occurrences of a row in stretches, as docs/gpu.md says. */
static float stretched_sum(const float *g, int64_t n)
{
    int64_t length = n <= LONG_RUN * MANY ? LONG_RUN : LONG_RUN * 2;
    float sum = 0;
    for (int64_t i = 0; n > LONG_RUN && i < n; i += length) {
        float part = 0;
        for (int64_t k = i; k < n && k < i + length; k++)
            part += g[k];
        sum += part;
    }
    for (int64_t k = 0; n <= LONG_RUN && k < n; k++)
        sum += g[k];
    return sum;
}

/* One table of dim 1 by plain descent with rate 1, so that a row becomes its negative sum. */
static void frequent_rows_are_summed_in_stretches(void)
{
    if (!open_device())
        return;
    static const int64_t counts[] = {1, 64, 65, 129, 5000, 8192, 8193, 40001};
    int64_t n = 0, at = 0;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        n += counts[i];
    struct embed_table_conf conf = {.name = "t",
                                    .rows = 8,
                                    .dim = 1,
                                    .init = EMBED_CONST,
                                    .trainable = true,
                                    .opt = {.kind = ROW_SGD}};
    int64_t *ids = mem_calloc((size_t)n, sizeof(*ids)), left[ARRAY_LEN(counts)];
    float *g = mem_calloc((size_t)n, sizeof(*g)),
          *own = mem_calloc((size_t)n, sizeof(*own));
    float *card = device->ops->alloc(device, (size_t)n * sizeof(float));
    struct rng r;
    rng_init(&r, 5, 0, 0, 0);
    memcpy(left, counts, sizeof(left));
    rng_fill_normal(&r, 0, 1, g, (size_t)n);
    while (at < n) { /* rows in a mixed order */
        size_t row = rng_below(&r, ARRAY_LEN(counts));
        if (left[row] > 0) {
            left[row]--;
            ids[at++] = (int64_t)row;
        }
    }
    device->ops->copy(device, card, g, (size_t)n * sizeof(float), DEVICE_IN);
    for (int turn = 0; turn < 2; turn++) {
        struct lookup *l = NULL;
        struct view v = view_of(card, n, 1);
        struct embed_slot_ids slot = {.ids = ids, .rows = n};
        CHECK(lookup_create(device->ops->lookup, &(struct lookup_conf){.device = device},
                            &l, &err) == RC_OK);
        CHECK_INT(lookup_add_table(l, &conf, &err), 0);
        CHECK_INT(lookup_add_slot(l, &(struct embed_slot_conf){.feature = "t"}, &err), 0);
        CHECK(lookup_prepare(l, &slot, true, &err) == RC_OK);
        CHECK(lookup_update(l, &v, &(struct embed_row_step){.lr = 1, .step = 1}, &err) ==
              RC_OK);
        for (size_t row = 0; row < ARRAY_LEN(counts); row++) {
            float w = 1;
            int64_t k = 0;
            for (int64_t i = 0; i < n; i++)
                if (ids[i] == (int64_t)row)
                    own[k++] = g[i];
            CHECK_INT(k, counts[row]);
            CHECK(lookup_peek(l, 0, (int64_t)row, &w));
            CHECK(w == 0.0f - stretched_sum(own, k));
        }
        lookup_destroy(l);
    }
    device->ops->free(device, card);
    mem_free(ids);
    mem_free(g);
    mem_free(own);
}

static void tables_that_the_host_keeps_are_named(void)
{
    if (!open_device())
        return;
    struct shape s = {ROW_SGD, 8, 300};
    struct lookup *l = create(device->ops->lookup, &s);
    CHECK(lookup_by_host(l, 0) == NULL);
    CHECK(lookup_by_host(l, 4) == NULL);
    CHECK_STR(lookup_by_host(l, 5), "bf16");
    lookup_destroy(l);
}

static void tables_larger_than_the_card_are_refused_with_sizes(void)
{
    if (!open_device())
        return;
    struct lookup *l = NULL;
    struct embed_table_conf conf = {.name = "huge",
                                    .rows = 2000000000,
                                    .dim = 128,
                                    .trainable = true,
                                    .opt = {.kind = ROW_ADAM}};
    struct err e = {0};
    CHECK(lookup_create(device->ops->lookup, &(struct lookup_conf){.device = device}, &l,
                        &err) == RC_OK);
    if (lookup_add_table(l, &conf, &e) == 0) { /* the host has the address space */
        CHECK(lookup_finish(l, &e) == RC_NOMEM);
        CHECK_INT(e.code, E2304);
        CHECK(strstr(e.msg, "take 3072.") && strstr(e.msg, "'huge': 2000000000 rows"));
    }
    lookup_destroy(l);
}

static const struct tap_case cases[] = {
    TAP(rows_start_from_the_same_values),
    TAP(every_optimizer_gives_the_bytes_of_the_cpu),
    TAP(images_go_both_ways),
    TAP(changed_rows_are_noted),
    TAP(an_id_outside_its_table_is_named_and_changes_nothing),
    TAP(frequent_rows_are_summed_in_stretches),
    TAP(tables_that_the_host_keeps_are_named),
    TAP(tables_larger_than_the_card_are_refused_with_sizes),
};
TAP_MAIN(cases)
