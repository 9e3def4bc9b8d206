/* SPDX-License-Identifier: Apache-2.0 */
/* step MODEL BATCH [THREADS] [bf16|tf32] [adam] [varlen] [uniform] [rows=N] [dim=N] [device=LIBRARY] [SECONDS]: training steps on batches in
 * memory.
 *
 * The same shapes as torch_peer.py: dlrm, deepfm, mmoe, din, and lookup, which is the
 * embedding layer of dlrm alone; or the model of a file whose name ends in .config. Ids
 * are log-uniform. Prints one line of JSON: samples per second by the median and the best
 * step, and of all of them to their end (whole), milliseconds by phase, median and best, and of processor time of all threads,
 * mean and best. With
 * - for SECONDS it does so for each line of its input, which says how many. With
 * device=LIBRARY the graph runs on the device of that plug-in, which keeps the tables;
 * phases are then what the host takes to queue them. rows=N and dim=N change the tables of
 * dlrm, uniform draws ids evenly, adam updates rows by Adam and not by Adagrad.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/rng.h"
#include "embed/lookup.h"
#include "model/model.h"
#include "nn/device_plugin.h"
#include "nn/optim/optim.h"
#include "text/conf.h"

#define BATCHES 4
#define SLOTS_MAX 128
#define STEPS_MAX 100000
#define SEQUENCE 50
#define WARM_UP (2 * BATCHES)

enum backend_phase {
    PHASE_LOOKUP,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_ROWS,
    PHASE_DENSE,
    PHASES
};
static const char *const phase_names[] = {"lookup", "forward", "backward", "rows",
                                          "dense"};

struct bench {
    struct model *m;
    int64_t rows;
    int64_t negatives; /* that a sampler draws for the batch */
    bool varlen;
    bool rows_only; /* no graph: lookups and updates */
    bool uniform;
    struct device *device; /* NULL: the CPU */
    int64_t *offsets[BATCHES];
    struct embed_slot_ids slots[BATCHES][SLOTS_MAX];
    struct optim *optim;
    struct view given[SLOTS_MAX]; /* gradients of rows_only */
    double ms[PHASES][STEPS_MAX], total[STEPS_MAX], cpu[STEPS_MAX];
    int64_t n;
    double seconds; /* that the n steps took, to their end on the device */
};

static const struct {
    const char *name;
    int64_t rows;
} taobao[] = {{"user_id", 1141730},
              {"cms_segid", 98},
              {"cms_group_id", 14},
              {"final_gender_code", 3},
              {"age_level", 8},
              {"pvalue_level", 5},
              {"shopping_level", 5},
              {"occupation", 3},
              {"new_user_class_level", 6},
              {"pid", 20},
              {"adgroup_id", 846812},
              {"cate_id", 12961},
              {"campaign_id", 423438},
              {"customer", 255877},
              {"brand", 461498},
              {"price", 99}};

static int64_t dim = 16, criteo_rows = 100000; /* dim=N, rows=N */

static void add_id(struct buf *b, const char *name, int64_t rows)
{
    buf_printf(
        b,
        "feature_configs { id_feature { feature_name: '%s' expression: 'user:%s' "
        "embedding_dim: %jd num_buckets: %jd init_fn: 'nn.init.uniform_,a=-0.01,b=0.01' } "
        "}\n",
        name, name, (intmax_t)dim, (intmax_t)rows);
}

static void add_names(struct buf *b, const char *key, const char *prefix, int n)
{
    buf_printf(b, " %s: [", key);
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s'%s%d'", i ? ", " : "", prefix, i);
    buf_puts(b, "]");
}

static void criteo_features(struct buf *b)
{
    char name[16];
    for (int i = 0; i < 13; i++)
        buf_printf(
            b,
            "feature_configs { raw_feature { feature_name: 'd%d' expression: 'user:d%d' } }\n",
            i, i);
    for (int i = 0; i < 26; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        add_id(b, name, criteo_rows);
    }
}

static void taobao_features(struct buf *b, bool sequences)
{
    for (size_t i = 0; i < ARRAY_LEN(taobao); i++)
        add_id(b, taobao[i].name, taobao[i].rows);
    if (!sequences)
        return;
    buf_puts(
        b, "feature_configs { sequence_feature { sequence_name: 's' sequence_length: 50 "
           "sequence_delim: ';'\n");
    for (size_t i = 10; i < 15; i++)
        if (i != 12 && i != 13)
            buf_printf(
                b,
                " features { id_feature { feature_name: '%s' expression: 'user:%s' "
                "embedding_dim: 16 num_buckets: %jd } }\n",
                taobao[i].name, taobao[i].name, (intmax_t)taobao[i].rows);
    buf_puts(b, "} }\n");
}

static void taobao_group(struct buf *b)
{
    buf_puts(b, " feature_groups { group_name: 'all' group_type: DEEP feature_names: [");
    for (size_t i = 0; i < ARRAY_LEN(taobao); i++)
        buf_printf(b, "%s'%s'", i ? ", " : "", taobao[i].name);
    buf_puts(b, "] }\n");
}

/* The file's text; false: it is no file. */
static bool read_config(const char *path, struct buf *b)
{
    char *text;
    size_t n;
    struct err err = {0};
    if (!str_ends(path, ".config"))
        return false;
    if (fs_read(path, 1 << 20, &text, &n, &err)) {
        fprintf(stderr, "step: %s\n", err.msg);
        return false;
    }
    buf_add(b, text, n);
    mem_free(text);
    return true;
}

static bool write_config(const char *model, struct buf *b)
{
    buf_puts(
        b,
        "train_input_path: 'a' eval_input_path: 'b' model_dir: 'm'\n"
        "train_config { num_epochs: 1\n"
        " sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }\n"
        " dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} } }\n"
        "data_config { dataset_type: ParquetDataset label_fields: ['clk', 'buy'] }\n");
    if (strcmp(model, "lookup") == 0)
        model = "dlrm";
    bool criteo = strcmp(model, "dlrm") == 0 || strcmp(model, "deepfm") == 0;
    if (criteo)
        criteo_features(b);
    else
        taobao_features(b, strcmp(model, "din") == 0);
    buf_puts(b, "model_config {\n");
    if (strcmp(model, "dlrm") == 0) {
        buf_puts(b, " feature_groups { group_name: 'sparse' group_type: DEEP");
        add_names(b, "feature_names", "c", 26);
        buf_puts(b, " } feature_groups { group_name: 'dense' group_type: DEEP");
        add_names(b, "feature_names", "d", 13);
        buf_printf(
            b,
            " } dlrm { dense_mlp { hidden_units: [512, 256, %jd] } arch_with_sparse: false"
            " final { hidden_units: [512, 256] } }",
            (intmax_t)dim);
    } else if (criteo) {
        buf_puts(b, " feature_groups { group_name: 'wide' group_type: WIDE");
        add_names(b, "feature_names", "c", 26);
        buf_puts(b, " } feature_groups { group_name: 'fm' group_type: DEEP");
        add_names(b, "feature_names", "c", 26);
        buf_puts(b, " } feature_groups { group_name: 'deep' group_type: DEEP");
        add_names(b, "feature_names", "c", 26);
        add_names(b, "feature_names", "d", 13);
        buf_puts(
            b, " } deepfm { wide_embedding_dim: 1 deep { hidden_units: [512, 256, 128] } "
               "final { hidden_units: [64] } }");
    } else if (strcmp(model, "mmoe") == 0) {
        taobao_group(b);
        buf_puts(b,
                 " mmoe { expert_mlp { hidden_units: [512, 256, 128] } num_expert: 3\n");
        for (int i = 0; i < 2; i++)
            buf_printf(
                b,
                " task_towers { tower_name: 't%d' label_name: '%s' mlp { hidden_units: "
                "[256, 128, 64] } losses { binary_cross_entropy {} } }\n",
                i, i ? "buy" : "clk");
        buf_puts(b, " }");
    } else if (strcmp(model, "din") == 0) {
        taobao_group(b);
        buf_puts(
            b,
            " feature_groups { group_name: 'seq' group_type: SEQUENCE feature_names: "
            "['adgroup_id', 'cate_id', 'brand', 's__adgroup_id', 's__cate_id', "
            "'s__brand'] }\n multi_tower_din { towers { input: 'all' mlp { hidden_units: "
            "[512, 256, 128] } } din_towers { input: 'seq' attn_mlp { hidden_units: "
            "[256, 64] } } final { hidden_units: [64] } }");
    } else {
        return false;
    }
    buf_puts(b,
             strcmp(model, "mmoe") ? " losses { binary_cross_entropy {} }\n}\n" : "}\n");
    return true;
}

static int64_t draw_id(const struct bench *b, struct rng *r, int64_t rows)
{
    if (b->uniform)
        return (int64_t)rng_below(r, (uint64_t)rows);
    double u = rng_f64(r);
    uint64_t x = (uint64_t)pow((double)rows, u) - 1;
    return (int64_t)(rows > 100 ? x * 2654435761u % (uint64_t)rows : x % (uint64_t)rows);
}

/* The ids of a feature are the same in all of its groups. */
static const struct embed_slot_ids *drawn_before(const struct bench *b, int k,
                                                 size_t input)
{
    const struct model_input *in = &b->m->inputs.at[input];
    for (size_t i = 0; i < input; i++) {
        const struct model_input *other = &b->m->inputs.at[i];
        if (other->feature == in->feature && other->axis == in->axis && other->slot >= 0)
            return &b->slots[k][other->slot];
    }
    return NULL;
}

static int64_t rows_of(const struct bench *b, int k, int axis)
{
    if (axis == AXIS_BATCH)
        return b->rows;
    return axis == b->m->match.items ? b->rows + b->negatives : b->offsets[k][b->rows];
}

static void draw_batch(struct bench *b, int k)
{
    struct rng r;
    rng_init(&r, 1, (uint64_t)k, 0, 0);
    int64_t *at = mem_calloc((size_t)b->rows + 1, sizeof(*at));
    for (int64_t i = 0; i < b->rows; i++)
        at[i + 1] = at[i] + (b->varlen ? 1 + (int64_t)rng_below(&r, SEQUENCE) : SEQUENCE);
    b->offsets[k] = at;
    for (size_t i = 0; i < b->m->inputs.n; i++) {
        const struct model_input *in = &b->m->inputs.at[i];
        if (in->slot < 0)
            continue;
        const struct embed_slot_ids *same = drawn_before(b, k, i);
        if (same) {
            b->slots[k][in->slot] = *same;
            continue;
        }
        int64_t n = rows_of(b, k, in->axis);
        int64_t *ids = mem_calloc((size_t)n, sizeof(*ids));
        for (int64_t x = 0; x < n; x++)
            ids[x] = draw_id(b, &r, lookup_slot_table(b->m->lookup, in->slot)->rows);
        b->slots[k][in->slot] = (struct embed_slot_ids){.ids = ids, .rows = n};
    }
}

/* The first ids of that axis, or NULL. */
static const int64_t *ids_on(const struct bench *b, int k, int axis)
{
    for (size_t i = 0; i < b->m->inputs.n; i++)
        if (b->m->inputs.at[i].slot >= 0 && b->m->inputs.at[i].axis == axis)
            return b->slots[k][b->m->inputs.at[i].slot].ids;
    return NULL;
}

/* The number of a position is its id, as graphs of sessions want it. */
static void fill_inputs(struct bench *b, int batch)
{
    struct rng r;
    rng_init(&r, 2, 0, 0, 0);
    for (size_t i = 0; i < b->m->inputs.n; i++) {
        const struct model_input *in = &b->m->inputs.at[i];
        const int64_t *ids = in->axis == AXIS_BATCH ? NULL : ids_on(b, batch, in->axis);
        if (in->slot >= 0)
            continue;
        struct view v = graph_write_begin(b->m->graph, in->val);
        for (int64_t k = 0; k < v.rows; k++)
            view_row(&v, k)[in->col] = ids ? (float)ids[k] : rng_f32(&r);
        graph_write_end(b->m->graph, in->val);
    }
    for (size_t i = 0; i < b->m->tasks.n; i++) {
        if (!b->m->tasks.at[i].labels)
            continue; /* of a match model */
        struct view v = graph_write_begin(b->m->graph, b->m->tasks.at[i].labels);
        for (int64_t k = 0; k < v.rows; k++)
            *view_row(&v, k) = rng_f32(&r) < 0.25f;
        graph_write_end(b->m->graph, b->m->tasks.at[i].labels);
    }
}

/* Milliseconds of processor time; neighbours do not count. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void lap(struct bench *b, enum backend_phase p, int64_t *since)
{
    int64_t now = clock_mono_ns();
    b->ms[p][b->n] = (double)(now - *since) * 1e-6;
    *since = now;
}

/* Vectors into the graph, where it has them. */
static enum rc look_up(struct bench *b, int k, struct err *err)
{
    struct model *m = b->m;
    struct view views[SLOTS_MAX];
    bool there = m->lookup->ops->on_device;
    enum rc rc = lookup_prepare(m->lookup, b->slots[k], true, err);
    for (size_t i = 0; i < m->embedded.n; i++)
        views[i] = there ? graph_device_view(m->graph, m->embedded.at[i])
                         : graph_write_begin(m->graph, m->embedded.at[i]);
    if (!rc)
        rc = lookup_forward(m->lookup, views, err);
    for (size_t i = 0; i < m->embedded.n && !there; i++)
        graph_write_end(m->graph, m->embedded.at[i]);
    model_codes(m, b->slots[k]);
    return rc;
}

static enum rc update_rows(struct bench *b, uint64_t t, struct err *err)
{
    struct model *m = b->m;
    struct view views[SLOTS_MAX];
    for (size_t i = 0; i < m->embedded.n; i++)
        views[i] = b->given[i].data ? b->given[i]
                   : m->lookup->ops->on_device
                       ? graph_device_grad(m->graph, m->embedded.at[i])
                       : graph_read_grad(m->graph, m->embedded.at[i]);
    return lookup_update(m->lookup, views,
                         &(struct embed_row_step){.lr = 0.01, .step = t + 1}, err);
}

static enum rc step(struct bench *b, uint64_t t, struct err *err)
{
    int k = (int)(t % BATCHES);
    struct model *m = b->m;
    struct nn_batch_rows rows = {.n = {b->rows}};
    for (size_t i = 0; i < m->axes.n; i++) {
        rows.n[m->axes.at[i].axis] = b->offsets[k][b->rows];
        rows.offsets[m->axes.at[i].axis] = b->offsets[k];
    }
    enum rc rc =
        model_match_rows(m, b->rows + b->negatives, b->negatives, NULL, &rows, err);
    if (!rc)
        rc = graph_rows(m->graph, &rows, err);
    if (!rc && t < BATCHES)
        fill_inputs(b, k);
    int64_t start = clock_mono_ns(), since = start;
    double cpu = cpu_ms();
    if (!rc)
        rc = look_up(b, k, err);
    if (rc)
        return rc;
    lap(b, PHASE_LOOKUP, &since);
    if (!b->rows_only)
        graph_forward(m->graph, t);
    rc = b->rows_only ? RC_OK : graph_wait(m->graph, err); /* a step looks at its loss */
    lap(b, PHASE_FORWARD, &since);
    if (!b->rows_only)
        graph_backward(m->graph, true);
    lap(b, PHASE_BACKWARD, &since);
    if (!rc)
        rc = update_rows(b, t, err);
    lap(b, PHASE_ROWS, &since);
    if (!b->rows_only)
        optim_step(b->optim, t, 0);
    if (!rc && ((b->rows_only && !b->device) || b->n % BATCHES == 0))
        rc = graph_wait(m->graph, err); /* else it goes on while the next batch is fed */
    lap(b, PHASE_DENSE, &since);
    b->total[b->n] = (double)(since - start) * 1e-6;
    b->cpu[b->n] = cpu_ms() - cpu;
    return rc;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double median(double *v, int64_t n)
{
    qsort(v, (size_t)n, sizeof(*v), ascending);
    return v[n / 2];
}

static double mean(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

static void report(struct bench *b, const char *model)
{
    double half = median(b->total, b->n), best = b->total[0];
    printf("{\"model\": \"%s\", \"batch\": %jd, \"samples_per_s\": %.0f, \"best\": %.0f",
           model, (intmax_t)b->rows, (double)b->rows / half * 1e3,
           (double)b->rows / best * 1e3);
    for (int p = 0; p < PHASES; p++) {
        double middle = median(b->ms[p], b->n);
        printf(", \"%s_ms\": [%.3f, %.3f]", phase_names[p], middle, b->ms[p][0]);
    }
    /* of a thread that runs elsewhere the clock knows only at every tick */
    double cpu = mean(b->cpu, b->n);
    median(b->cpu, b->n);
    printf(", \"cpu_ms\": [%.3f, %.3f]", cpu, b->cpu[0]);
    printf(", \"whole\": %.0f", (double)(b->rows * b->n) / b->seconds);
    printf(", \"loss\": %.5f, \"steps\": %jd}\n", graph_loss(b->m->graph),
           (intmax_t)b->n);
}

/* Steps go on from where they were. */
static enum rc run(struct bench *b, double seconds, uint64_t *t, struct err *err)
{
    int64_t begin = 0, end = 0;
    enum rc rc = RC_OK;
    for (b->n = 0; b->n < STEPS_MAX && !rc; ++*t) {
        rc = step(b, *t, err);
        if (!rc && *t >= WARM_UP && !end) {
            rc = graph_wait(b->m->graph, err);
            begin = clock_mono_ns();
            end = begin + (int64_t)(seconds * 1e9);
            continue; /* what comes behind it counts */
        }
        if (*t > WARM_UP)
            b->n++;
        if (end && b->n && clock_mono_ns() > end)
            break;
    }
    if (!rc)
        rc = graph_wait(b->m->graph, err);
    b->seconds = (double)(clock_mono_ns() - begin) * 1e-9;
    return rc;
}

/* A turn for each line of the input. */
static enum rc turns(struct bench *b, const char *model, uint64_t *t, struct err *err)
{
    char line[64];
    double seconds;
    while (fgets(line, sizeof(line), stdin)) {
        if (!str_to_f64(str_trim(str_c(line)), &seconds))
            return err_set(err, RC_INVAL, "how many seconds?");
        enum rc rc = run(b, seconds, t, err);
        if (rc)
            return rc;
        report(b, model);
        fflush(stdout);
    }
    return RC_OK;
}

/* Gradients that do not come from a graph. */
static enum rc fill_grads(struct bench *b, struct err *err)
{
    struct rng r;
    uint64_t t = 0;
    enum rc rc = step(b, t, err);
    rng_init(&r, 3, 0, 0, 0);
    for (size_t i = 0; i < b->m->embedded.n && !rc; i++) {
        struct view v = graph_read_grad(b->m->graph, b->m->embedded.at[i]);
        v.ld = v.width;
        /* memory as a graph has it: aligned, and in large pages */
        v.data = mem_try_large((size_t)(v.rows * v.ld), sizeof(float));
        if (!v.data)
            return err_set(err, RC_NOMEM, "no memory for gradients");
        rng_fill_uniform(&r, -0.01f, 0.01f, v.data, (size_t)(v.rows * v.ld));
        b->given[i] = v;
        if (!b->device)
            continue;
        size_t bytes = (size_t)(v.rows * v.ld) * sizeof(float);
        b->given[i].data = b->device->ops->alloc(b->device, bytes);
        b->device->ops->copy(b->device, b->given[i].data, v.data, bytes, DEVICE_IN);
    }
    return rc;
}

static enum rc open_device(struct bench *b, const char *path, struct err *err)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct nn_device_plugin *p = lib ? dlsym(lib, DEVICE_PLUGIN_SYMBOL) : NULL;
    if (!p)
        return err_set(err, RC_NOTFOUND, "%s", dlerror());
    return device_open(p->ops, &b->device, err);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct buf text;
    struct conf conf = {0};
    struct diags diags = {0};
    struct err err = {0};
    struct pool *pool = NULL;
    struct model_options o = {.row_opt = {.kind = ROW_ADAGRAD, .eps = 1e-8}};
    int64_t threads = 2;
    const char *plugin = NULL;
    double seconds = 4;
    uint64_t t = 0;
    buf_init(&text, 1 << 20);
    for (int i = 3; i < argc; i++) {
        if (strncmp(argv[i], "rows=", 5) == 0)
            (void)!str_to_i64(str_c(argv[i] + 5), &criteo_rows);
        if (strncmp(argv[i], "dim=", 4) == 0)
            (void)!str_to_i64(str_c(argv[i] + 4), &dim);
    }
    if (argc < 3 || !str_to_i64(str_c(argv[2]), &b.rows) ||
        !(read_config(argv[1], &text) || write_config(argv[1], &text))) {
        fprintf(
            stderr,
            "usage: step dlrm|deepfm|mmoe|din|lookup|FILE.config BATCH [THREADS] [bf16|tf32] [adam] [varlen] [uniform] [rows=N] [dim=N] [device=LIBRARY] [SECONDS]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "bf16") == 0)
            o.graph.precision = GEMM_BF16;
        else if (strcmp(argv[i], "tf32") == 0)
            o.graph.tf32 = true;
        else if (strcmp(argv[i], "adam") == 0)
            o.row_opt = (struct embed_row_opt){
                .kind = ROW_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
        else if (strcmp(argv[i], "varlen") == 0)
            b.varlen = true;
        else if (strcmp(argv[i], "uniform") == 0)
            b.uniform = true;
        else if (strncmp(argv[i], "device=", 7) == 0)
            plugin = argv[i] + 7;
        else if (strncmp(argv[i], "rows=", 5) == 0 || strncmp(argv[i], "dim=", 4) == 0)
            continue; /* read below */
        else if (strcmp(argv[i], "-") == 0)
            seconds = -1;
        else if (i == 3)
            (void)!str_to_i64(str_c(argv[i]), &threads);
        else
            (void)!str_to_f64(str_c(argv[i]), &seconds);
    }
    enum rc rc = pool_create((int)threads, &pool, &err);
    if (!rc && plugin)
        rc = open_device(&b, plugin, &err);
    if (b.device) {
        o.graph.device = b.device;
        o.lookup = b.device->ops->lookup;
    }
    if (!rc)
        rc = conf_from(argv[1], buf_str(&text), text.n, &(struct conf_options){0}, &conf,
                       &diags, &err);
    o.graph.pool = pool;
    o.graph.training = true;
    if (!rc)
        rc = model_create(conf.data, &o, &b.m, &err);
    if (!rc) {
        const struct pc_EasyRecConfig *c = (const void *)conf.data;
        size_t n;
        struct param *const *p = graph_params(b.m->graph, &n);
        rc = optim_create(c->train_config->dense_optimizer, p, n,
                          &(struct optim_options){.pool = pool}, &b.optim, &err);
        b.negatives = pc_sampler_of(c->data_config).num_sample;
    }
    if (!rc) {
        for (int k = 0; k < BATCHES; k++)
            draw_batch(&b, k);
        b.rows_only = strcmp(argv[1], "lookup") == 0;
        if (b.rows_only)
            rc = fill_grads(&b, &err);
        if (!rc)
            rc = seconds < 0 ? turns(&b, argv[1], &t, &err) : run(&b, seconds, &t, &err);
    }
    if (rc) {
        buf_clear(&text);
        diags_print(&diags, &text, false);
        fprintf(stderr, "%s\n%s", err.msg, buf_str(&text));
        return 1;
    }
    if (seconds >= 0)
        report(&b, argv[1]);
    return 0;
}
