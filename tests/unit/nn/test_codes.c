/* SPDX-License-Identifier: Apache-2.0 */
/* Codes of a codebook: which are chosen, what their gradients are, and losses between rows. */
#include <math.h>

#include "base/pool.h"
#include "nn/metric/codes.h"
#include "nn/op/reservoir.h"
#include "unit/nn/gradcheck.h"

enum { ROWS = 12, CODES = 5, WIDTH = 3, SEED = 3, STEP = 1 };

static struct nn_val *build_l2(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_distance(g, x[0], x[1], DISTANCE_L2);
}

static struct nn_val *build_cos(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_distance(g, x[0], x[1], DISTANCE_COS);
}

/* One is above the other everywhere, where the slope is steady. */
static struct nn_val *build_l1(struct graph *g, struct nn_val *const *x, int axis)
{
    return nn_distance(g, nn_scale(g, x[0], 1, 3), x[1], DISTANCE_L1);
}

static struct nn_val *build_contrast(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *flag = nn_stop_gradient(g, nn_scale(g, nn_slice(g, x[0], 0, 1), 9, 1));
    return nn_contrast_loss(g, "scale", nn_scale(g, x[0], 0.2f, 0), x[1],
                            nn_scale(g, x[2], 0.2f, 0), x[3], flag);
}

static struct nn_val *build_share(struct graph *g, struct nn_val *const *x, int axis)
{
    struct nn_val *flag = nn_stop_gradient(g, nn_scale(g, x[0], 9, 0.5f));
    return nn_flagged_share(g, nn_scale(g, x[0], 1, 0), flag, false);
}

static void slopes_of_losses_are_right(void)
{
    struct nn_shape row = {0, 1, {5}}, one = {0, 1, {1}};
    gradcheck(&(struct gradcheck){"l2", build_l2, 2, {row, row}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"l1", build_l1, 2, {row, row}, 7, .eval = false});
    gradcheck(&(struct gradcheck){"cos", build_cos, 2, {row, row}, 7, .eval = false});
    gradcheck(&(struct gradcheck){
        "contrast", build_contrast, 4, {row, row, row, row}, 6, .eval = false});
    gradcheck(
        &(struct gradcheck){"share", build_share, 1, {one}, 7, .low = 0.1f, .high = 1});
}

/* A graph of one layer of codes, its inputs filled. */
struct codes {
    struct graph *g;
    struct nn_val *x, *e, *code, *weights;
    struct param *book, *started, *unused;
};

static struct codes make(const struct nn_code_conf *conf, int64_t rows)
{
    struct codes c = {
        .g = graph_create(&(struct graph_options){.training = true, .seed = SEED})};
    struct nn_shape shape = {AXIS_BATCH, 1, {WIDTH}};
    struct rng r;
    c.x = nn_input(c.g, "x", &shape, true);
    c.weights = nn_input(c.g, "w", &shape, false);
    c.book = nn_param(c.g, "book", (const int64_t[]){CODES, WIDTH}, 2,
                      (struct nn_init){INIT_UNIFORM, -1, 1}, true);
    c.started =
        nn_param(c.g, "started", (const int64_t[]){1}, 1,
                 (struct nn_init){conf->starts ? INIT_ZEROS : INIT_ONES, 0, 0}, false);
    if (conf->restart)
        c.unused = nn_param(c.g, "unused", (const int64_t[]){CODES}, 1,
                            (struct nn_init){INIT_ZEROS, 0, 0}, false);
    c.e = nn_nearest_code(c.g, c.book, c.started, c.unused, c.x, conf, &c.code);
    nn_output(c.g, "e", c.e);
    nn_output_whole(c.g, "code", c.code);
    nn_loss(c.g, "loss", nn_row_sum(c.g, nn_mul(c.g, c.e, c.weights)));
    CHECK(graph_finish(c.g, NULL) == RC_OK);
    CHECK(graph_rows(c.g, &(struct nn_batch_rows){.n = {rows}}, NULL) == RC_OK);
    rng_init(&r, 5, 0, 0, 0);
    struct nn_val *in[] = {c.x, c.weights};
    for (int i = 0; i < 2; i++) {
        struct view v = graph_write_begin(c.g, in[i]);
        rng_fill_uniform(&r, -1, 1, v.data, (size_t)(v.rows * v.width));
        graph_write_end(c.g, in[i]);
    }
    return c;
}

static double apart(const float *a, const float *b, bool cosine)
{
    double sum = 0, dot = 0, sa = 0, sb = 0;
    for (int i = 0; i < WIDTH; i++) {
        double x = (double)a[i], y = (double)b[i];
        sum += (x - y) * (x - y);
        dot += x * y;
        sa += x * x;
        sb += y * y;
    }
    return cosine ? -dot / sqrt(sa * sb) : sum;
}

static int nearest(const float *x, const float *book, bool cosine)
{
    int best = 0;
    for (int k = 1; k < CODES; k++)
        if (apart(x, book + k * WIDTH, cosine) < apart(x, book + best * WIDTH, cosine))
            best = k;
    return best;
}

static void the_nearest_code_is_taken(void)
{
    for (int cosine = 0; cosine < 2; cosine++) {
        struct codes c = make(&(struct nn_code_conf){.cosine = cosine}, ROWS);
        graph_forward(c.g, STEP);
        graph_backward(c.g, true);
        struct view x = graph_read(c.g, c.x), e = graph_read(c.g, c.e);
        struct view code = graph_read(c.g, c.code), w = graph_read(c.g, c.weights);
        const float *book = param_read(c.book), *grad = param_read_grad(c.book);
        double want[CODES * WIDTH] = {0};
        for (int r = 0; r < ROWS; r++) {
            int k = nearest(view_row(&x, r), book, cosine);
            CHECK_INT((int64_t)*view_row(&code, r), k);
            for (int i = 0; i < WIDTH; i++) {
                CHECK(view_row(&e, r)[i] == book[k * WIDTH + i]);
                want[k * WIDTH + i] += (double)view_row(&w, r)[i];
            }
        }
        for (int i = 0; i < CODES * WIDTH; i++)
            CHECK_NEAR(grad[i], want[i], 1e-5);
        graph_destroy(c.g);
    }
}

/* What a drawn row's gradient goes by: softmax(-distance + noise) times fixed numbers. */
static double soft(const float *x, const float *book, bool cosine, int row,
                   const double *values)
{
    double sum = 0, all = 0, logits[CODES], most = -INFINITY;
    struct rng rng;
    rng_init(&rng, SEED, 1, STEP, (uint64_t)row); /* the first op of its graph */
    for (int k = 0; k < CODES; k++) {
        double u = rng_f64(&rng);
        logits[k] = -apart(x, book + k * WIDTH, cosine) - log(-log(u));
        most = logits[k] > most ? logits[k] : most;
    }
    for (int k = 0; k < CODES; k++) {
        sum += exp(logits[k] - most);
        all += exp(logits[k] - most) * values[k];
    }
    return all / sum;
}

static double soft_loss(const struct view *x, const float *book, bool cosine,
                        double values[ROWS][CODES])
{
    double sum = 0;
    for (int r = 0; r < ROWS; r++)
        sum += soft(view_row(x, r), book, cosine, r, values[r]);
    return sum;
}

static void compare_slope(struct view *x, float *book, bool cosine,
                          double values[ROWS][CODES], float *at, double got)
{
    float old = *at, h = 1e-3f;
    *at = old + h;
    double up = soft_loss(x, book, cosine, values);
    *at = old - h;
    double down = soft_loss(x, book, cosine, values);
    *at = old;
    CHECK_NEAR(got, (up - down) / (2 * (double)h), 2e-3);
}

static void drawn_codes_have_the_gradient_of_their_softmax(void)
{
    for (int cosine = 0; cosine < 2; cosine++) {
        struct codes c =
            make(&(struct nn_code_conf){.cosine = cosine, .gumbel = true}, ROWS);
        graph_forward(c.g, STEP);
        graph_backward(c.g, true);
        struct view x = graph_read(c.g, c.x), w = graph_read(c.g, c.weights);
        struct view code = graph_read(c.g, c.code), dx = graph_read_grad(c.g, c.x);
        const float *grad = param_read_grad(c.book);
        float *book = param_write_begin(c.book);
        double values[ROWS][CODES], hard[CODES * WIDTH] = {0};
        for (int r = 0; r < ROWS; r++)
            for (int k = 0; k < CODES; k++) {
                values[r][k] = 0;
                for (int i = 0; i < WIDTH; i++) {
                    values[r][k] +=
                        (double)view_row(&w, r)[i] * (double)book[k * WIDTH + i];
                    if (k == (int)*view_row(&code, r))
                        hard[k * WIDTH + i] += (double)view_row(&w, r)[i];
                }
            }
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < WIDTH; i++)
                compare_slope(&x, book, cosine, values, view_row(&x, r) + i,
                              (double)view_row(&dx, r)[i]);
        for (int i = 0; i < CODES * WIDTH; i++)
            compare_slope(&x, book, cosine, values, book + i, (double)grad[i] - hard[i]);
        param_write_end(c.book);
        graph_destroy(c.g);
    }
}

static void balancing_uses_every_code(void)
{
    struct nn_code_conf conf = {.sinkhorn_iterations = 50, .sharpness = 10};
    struct codes c = make(&conf, 200);
    int64_t counts[CODES] = {0};
    static const float far[CODES * WIDTH] = {0, 0, 0, 3, 0,  0,  0, 3,
                                             0, 0, 0, 3, -3, -3, 0};
    param_set(c.book, far); /* the first is the nearest to all rows */
    graph_forward(c.g, STEP);
    struct view code = graph_read(c.g, c.code);
    for (int64_t r = 0; r < code.rows; r++)
        counts[(int64_t)*view_row(&code, r)]++;
    for (int k = 0; k < CODES; k++)
        CHECK(counts[k] >= 20);
    graph_training(c.g, false); /* an evaluation takes the nearest */
    graph_forward(c.g, STEP);
    code = graph_read(c.g, c.code);
    for (int64_t r = 0; r < code.rows; r++)
        CHECK(*view_row(&code, r) == 0.0f);
    graph_destroy(c.g);
}

static void the_first_batch_gives_the_first_codes(void)
{
    struct nn_code_conf conf = {.starts = true, .last = true};
    struct codes c = make(&conf, ROWS);
    float first[CODES * WIDTH], second[CODES * WIDTH];
    graph_forward(c.g, STEP);
    CHECK(*param_read(c.started) == 1.0f);
    param_get(c.book, first);
    struct view x = graph_read(c.g, c.x), code = graph_read(c.g, c.code);
    for (int k = 0; k < CODES; k++) { /* each is the mean of the rows that have it */
        double sum[WIDTH] = {0};
        int n = 0;
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < WIDTH && (int)*view_row(&code, r) == k; i++) {
                sum[i] += (double)view_row(&x, r)[i];
                n += i == 0;
            }
        CHECK(n > 0);
        for (int i = 0; i < WIDTH; i++)
            CHECK_NEAR(first[k * WIDTH + i], sum[i] / n, 1e-5);
    }
    graph_forward(c.g, STEP + 1);
    param_get(c.book, second);
    CHECK(memcmp(first, second, sizeof(first)) == 0);
    graph_destroy(c.g);
}

static void a_reservoir_keeps_each_row_as_often(void)
{
    enum { MOST = 20, BATCH = 50, BATCHES = 40 };
    int64_t early = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct graph *g =
            graph_create(&(struct graph_options){.training = true, .seed = seed});
        struct nn_val *x =
            nn_input(g, "x", &(struct nn_shape){AXIS_BATCH, 1, {1}}, false);
        nn_loss(g, "loss", nn_reservoir(g, "r", x, MOST));
        CHECK(graph_finish(g, NULL) == RC_OK);
        CHECK(graph_rows(g, &(struct nn_batch_rows){.n = {BATCH}}, NULL) == RC_OK);
        for (int b = 0; b < BATCHES; b++) {
            struct view v = graph_write_begin(g, x);
            for (int r = 0; r < BATCH; r++)
                *view_row(&v, r) = (float)(b * BATCH + r);
            graph_write_end(g, x);
            graph_training(g, true);
            graph_forward(g, (uint64_t)b);
            graph_training(g, false); /* rows of an evaluation do not count */
            graph_forward(g, (uint64_t)b);
        }
        CHECK_INT(op_reservoir_seen(param_read(graph_param(g, "r.seen"))),
                  BATCH * BATCHES);
        for (int i = 0; i < MOST; i++)
            early += param_read(graph_param(g, "r.rows"))[i] < BATCH * BATCHES / 2;
        graph_destroy(g);
    }
    CHECK(early > 160 && early < 240); /* half of 400, four deviations */
}

static double compute(struct metric *m, bool *defined)
{
    struct metric_value v;
    CHECK(metric_compute(m, &v, NULL) == RC_OK);
    *defined = v.defined;
    return v.value;
}

static void metrics_of_codes_are_counted(void)
{
    static const float codes[] = {0, 1, 0, 1, 2, 1, 0, 3};
    static const double want[] = {[METRIC_CODES_UNIQUE] = 0.75,
                                  [METRIC_CODES_COLLISIONS] = 0.25,
                                  [METRIC_CODES_USE] = 0.5,
                                  [METRIC_CODES_ENTROPY] = 0.40563906};
    struct metric_rows rows = {.n = 4, .pred = codes, .width = 2, .label = codes};
    for (int k = METRIC_CODES_UNIQUE; k <= METRIC_CODES_ENTROPY; k++) {
        struct metric *m = NULL, *other = NULL;
        struct nn_state state = {0};
        bool defined;
        CHECK(metric_create_codes((enum metric_codes)k, 0, 4, &(struct metric_options){0},
                                  &m, NULL) == RC_OK);
        CHECK(metric_create_codes((enum metric_codes)k, 0, 4, &(struct metric_options){0},
                                  &other, NULL) == RC_OK);
        compute(m, &defined);
        CHECK(!defined);
        CHECK(metric_update(m, &rows, NULL) == RC_OK);
        CHECK_NEAR(compute(m, &defined), want[k], 1e-6);
        metric_save(m, "x.", &state);
        CHECK(metric_load(other, "x.", &state, NULL) == RC_OK);
        CHECK_NEAR(compute(other, &defined), want[k], 1e-6);
        CHECK(metric_merge(other, m, NULL) == RC_OK);
        compute(other, &defined);
        CHECK(defined);
        nn_state_release(&state);
        metric_destroy(m);
        metric_destroy(other);
    }
    struct metric *m = NULL;
    struct err err = {0};
    CHECK(metric_create_codes(METRIC_CODES_USE, 1, 3, &(struct metric_options){0}, &m,
                              NULL) == RC_OK);
    CHECK_STR(metric_name(m), "codebook_use_1");
    CHECK(metric_update(m, &rows, &err) == RC_INVAL);
    CHECK_STR(err.msg, "codebook_use_1: row 3: 3 is no code of layer 1");
    metric_destroy(m);
}

/* Two codes far from all rows: they wait, then are rows of the batch, not the same one. */
static void codes_without_rows_begin_anew(void)
{
    struct codes c = make(&(struct nn_code_conf){.restart = 3}, ROWS);
    float book[CODES * WIDTH];
    memcpy(book, param_read(c.book), sizeof(book));
    for (int i = 0; i < 2 * WIDTH; i++)
        book[i] = 50;
    param_set(c.book, book);
    graph_training(c.g, true);
    for (uint64_t step = 0; step < 4; step++) {
        graph_forward(c.g, step);
        const float *now = param_read(c.book);
        struct view x = graph_read(c.g, c.x);
        int found[2] = {-1, -1};
        for (int k = 0; k < 2; k++)
            for (int r = 0; r < ROWS; r++)
                if (memcmp(now + k * WIDTH, view_row(&x, r), WIDTH * sizeof(float)) == 0)
                    found[k] = r;
        CHECK((found[0] >= 0) == (step == 3) && (found[1] >= 0) == (step == 3));
        CHECK(step < 3 || found[0] != found[1]);
        CHECK_INT((int64_t)param_read(c.unused)[0], step == 3 ? 0 : (int64_t)step + 1);
        CHECK(memcmp(now + 2 * WIDTH, book + 2 * WIDTH, 3 * WIDTH * sizeof(float)) == 0);
    }
    graph_training(c.g, false); /* nothing is counted outside of training */
    float before = param_read(c.unused)[2];
    graph_forward(c.g, 9);
    CHECK(param_read(c.unused)[2] == before);
    graph_destroy(c.g);
}

static const struct tap_case cases[] = {
    TAP(slopes_of_losses_are_right),
    TAP(the_nearest_code_is_taken),
    TAP(drawn_codes_have_the_gradient_of_their_softmax),
    TAP(balancing_uses_every_code),
    TAP(the_first_batch_gives_the_first_codes),
    TAP(codes_without_rows_begin_anew),
    TAP(a_reservoir_keeps_each_row_as_often),
    TAP(metrics_of_codes_are_counted),
};
TAP_MAIN(cases)
