/* SPDX-License-Identifier: Apache-2.0 */
/* Small tables under a wide first layer: a model learns the same whether its graph is
 * told which rows have the same vectors or not.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "device_copies.h"
#include "embed/embed.h"
#include "model/model.h"
#include "tap.h"
#include "text/conf.h"

#define ROWS 200
#define STEPS 12
#define SLOTS 8

#define ID(name, dim, buckets, more)                                                  \
    "feature_configs { id_feature { feature_name: '" name "' expression: 'user:" name \
    "' embedding_dim: " dim " " buckets " " more                                      \
    " init_fn: 'nn.init.uniform_,a=-0.5,b=0.5' } }\n"

static const char config[] =
    "train_input_path: 'a' eval_input_path: 'b' model_dir: 'm'\n"
    "train_config { num_epochs: 1\n"
    " sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }\n"
    " dense_optimizer { adam_optimizer { lr: 0.1 } constant_learning_rate {} } }\n"
    "data_config { dataset_type: ParquetDataset label_fields: ['clk', 'buy'] }\n" //
    ID("a", "16", "num_buckets: 5", "")                                           //
    ID("b", "16", "num_buckets: 4000", "")                                        //
    ID("c", "8", "num_buckets: 7", "pooling: 'mean'")                             //
    ID("d", "16", "", "zch { zch_size: 64 eviction_interval: 5 lfu {} }")         //
    "feature_configs { raw_feature { feature_name: 'p' expression: 'user:p' } }\n"
    "model_config { feature_groups { group_name: 'all' group_type: DEEP feature_names: "
    "['a', 'p', 'b', 'c', 'd'] }\n mmoe { expert_mlp { hidden_units: [64, 8] } "
    "num_expert: 2\n task_towers { tower_name: 't' label_name: 'clk' mlp { hidden_units: "
    "[8] } losses { binary_cross_entropy {} } } } }\n";

struct data {
    int64_t a[ROWS], b[ROWS], c[ROWS], c_at[ROWS + 1], d[ROWS];
    float p[ROWS], label[ROWS];
};

/* Every fifth row has no c. */
static void draw(struct data *d)
{
    struct rng r;
    rng_init(&r, 3, 1, 4, 1);
    for (int64_t k = 0; k < ROWS; k++) {
        d->a[k] = (int64_t)rng_below(&r, 5);
        d->b[k] = (int64_t)rng_below(&r, 4000);
        d->c[d->c_at[k]] = (int64_t)rng_below(&r, 7);
        d->c_at[k + 1] = d->c_at[k] + (k % 5 != 0);
        d->d[k] = (int64_t)rng_below(&r, 40);
        d->p[k] = rng_f32(&r);
        d->label[k] = d->a[k] % 2 == 0 || rng_f32(&r) < 0.2f;
    }
}

static struct embed_slot_ids ids_of(const struct data *d, char name)
{
    struct embed_slot_ids s = {.rows = ROWS, .ids = d->c, .offsets = d->c_at};
    if (name != 'c') {
        s.ids = name == 'a' ? d->a : name == 'b' ? d->b : d->d;
        s.offsets = NULL;
    }
    return s;
}

static void fill(struct model *m, const struct data *d, struct embed_slot_ids *slots)
{
    for (size_t i = 0; i < m->inputs.n; i++) {
        const struct model_input *in = &m->inputs.at[i];
        if (in->slot >= 0) {
            slots[in->slot] = ids_of(d, in->feature->name[0]);
            continue;
        }
        struct view v = graph_write_begin(m->graph, in->val);
        for (int64_t k = 0; k < ROWS; k++)
            view_row(&v, k)[in->col] = d->p[k];
        graph_write_end(m->graph, in->val);
    }
    graph_set(m->graph, m->tasks.at[0].labels, d->label);
}

static void step(struct model *m, const struct data *d, uint64_t t, bool codes)
{
    struct embed_slot_ids slots[SLOTS];
    struct view views[SLOTS];
    struct err err = {0};
    size_t n;
    CHECK(graph_rows(m->graph, &(struct nn_batch_rows){.n = {ROWS}}, NULL) == RC_OK);
    fill(m, d, slots);
    CHECK(embed_batch(embed_of(m->lookup), slots, true, &err) == RC_OK);
    for (size_t k = 0; k < m->embedded.n; k++)
        views[k] = graph_write_begin(m->graph, m->embedded.at[k]);
    embed_forward(embed_of(m->lookup), views);
    for (size_t k = 0; k < m->embedded.n; k++)
        graph_write_end(m->graph, m->embedded.at[k]);
    if (codes)
        model_codes(m, slots);
    graph_forward(m->graph, t);
    graph_backward(m->graph, true);
    CHECK(graph_wait(m->graph, NULL) == RC_OK);
    for (size_t k = 0; k < m->embedded.n; k++)
        views[k] = graph_read_grad(m->graph, m->embedded.at[k]);
    embed_backward(embed_of(m->lookup), views,
                   &(struct embed_row_step){.lr = 0.1, .step = t + 1});
    struct param *const *params = graph_params(m->graph, &n);
    for (size_t k = 0; k < n; k++) {
        const float *slopes = param_read_grad(params[k]);
        float *w = param_write_begin(params[k]);
        for (int64_t x = 0; slopes && x < params[k]->n; x++)
            w[x] -= 0.1f * slopes[x];
        param_write_end(params[k]);
    }
}

struct outcome {
    size_t coded;
    double losses[STEPS];
    float rows[5 * 16]; /* of table a */
    uint64_t digest;
};

static void keep_rows(const struct model *m, struct outcome *o)
{
    for (int t = 0; t < embed_n_tables(embed_of(m->lookup)); t++) {
        const struct embed_table *table = embed_table_at(embed_of(m->lookup), t);
        for (int64_t k = 0; k < 5; k++) {
            float row[16];
            embed_table_get(table, k, row);
            o->digest = hash_xxh3_seeded(row, (size_t)table->conf.dim * 4, o->digest);
            if (table->conf.rows == 5)
                memcpy(o->rows + k * 16, row, sizeof(row));
        }
    }
}

static struct outcome train_on(const struct device *device, int threads, bool codes,
                               float max_gradient)
{
    struct outcome o = {0};
    struct conf conf;
    struct diags diags = {0};
    struct err err = {0};
    struct model *m = NULL;
    struct pool *pool = NULL;
    static struct data d;
    memset(&d, 0, sizeof(d));
    draw(&d);
    CHECK(pool_create(threads, &pool, NULL) == RC_OK);
    CHECK(conf_from("f", config, sizeof(config) - 1, &(struct conf_options){0}, &conf,
                    &diags, &err) == RC_OK);
    struct model_options options = {.graph = {.pool = pool,
                                              .device = device,
                                              .training = true,
                                              .seed = 7,
                                              .tile_rows = 32},
                                    .row_opt = {.kind = ROW_ADAGRAD, .eps = 1e-8},
                                    .max_gradient = max_gradient};
    CHECK(model_create(conf.data, &options, &m, &err) == RC_OK);
    o.coded = m ? m->coded.n : 0;
    for (uint64_t t = 0; m && t < STEPS; t++) {
        step(m, &d, t, codes);
        o.losses[t] = graph_loss(m->graph) / ROWS;
    }
    o.digest = hash_xxh3(o.losses, sizeof(o.losses));
    if (m)
        keep_rows(m, &o);
    model_destroy(m);
    pool_destroy(pool);
    diags_release(&diags);
    conf_release(&conf);
    return o;
}

static struct outcome train(int threads, bool codes, float max_gradient)
{
    return train_on(NULL, threads, codes, max_gradient);
}

static void codes_change_nothing_but_rounding(void)
{
    struct outcome with = train(1, true, 0), without = train(1, false, 0);
    CHECK_INT((int64_t)with.coded, 2); /* a and c */
    CHECK(with.digest != without.digest);
    CHECK(with.losses[STEPS - 1] < 0.9 * with.losses[0]);
    for (int t = 0; t < STEPS; t++)
        CHECK_NEAR(with.losses[t], without.losses[t], 1e-3);
    for (int k = 0; k < 5 * 16; k++)
        CHECK_NEAR(with.rows[k], without.rows[k], 1e-3);
}

static void threads_do_not_change_a_byte(void)
{
    uint64_t one = train(1, true, 0).digest;
    CHECK(train(2, true, 0).digest == one);
    CHECK(train(5, true, 0).digest == one);
}

static void a_device_behind_copies_does_not_change_a_byte(void)
{
    struct device *copies = NULL;
    CHECK(device_open(&device_copies, &copies, NULL) == RC_OK);
    CHECK(train_on(copies, 2, true, 0).digest == train(1, true, 0).digest);
    device_close(copies);
}

/* Gradients that are clamped one by one cannot be added up before. */
static void clamped_gradients_are_not_coded(void)
{
    CHECK_INT((int64_t)train(1, true, 0.5f).coded, 0);
}

static const struct tap_case cases[] = {
    TAP(codes_change_nothing_but_rounding),
    TAP(threads_do_not_change_a_byte),
    TAP(a_device_behind_copies_does_not_change_a_byte),
    TAP(clamped_gradients_are_not_coded),
};
TAP_MAIN(cases)
