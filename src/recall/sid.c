/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples of codes. Equal ones are found by sorting the items by their codes, so that nothing
 * depends on a hash; of equal tuples the items stay in the order of the table.
 */
#include "recall/sid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "recall/kmeans.h"

#define NORM_EPS 1e-12

void recall_sid_release(struct recall_sid *s)
{
    mem_free(s->codes);
    *s = (struct recall_sid){0};
}

static enum rc sid_room(struct recall_sid *s, struct err *err)
{
    int64_t values = s->n * s->layers;
    s->codes = s->n <= INT64_MAX / RECALL_SID_LAYERS_MAX
                   ? mem_try_alloc((size_t)values, sizeof(*s->codes))
                   : NULL;
    return s->codes ? RC_OK
                    : err_set(err, RC_NOMEM, "no memory for the codes of %jd items",
                              (intmax_t)s->n);
}

/* --- residual k-means --- */

struct residual {
    float *x, *left, *centres; /* x: as it was; left: what codes leave of it */
    int32_t *nearest;
    int64_t n, d;
};

static void residual_release(struct residual *r)
{
    mem_free(r->left);
    mem_free(r->centres);
    mem_free(r->nearest);
}

static void make_one_long(struct residual *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        float *x = r->left + i * r->d;
        double size = 0;
        for (int64_t k = 0; k < r->d; k++)
            size += (double)x[k] * (double)x[k];
        size = sqrt(size) > NORM_EPS ? sqrt(size) : NORM_EPS;
        for (int64_t k = 0; k < r->d; k++)
            x[k] = (float)((double)x[k] / size);
    }
}

static enum rc fit_layer(struct residual *r, const struct recall_sid_conf *c,
                         int64_t layer, struct recall_sid *out, struct err *err)
{
    struct kmeans_conf conf = {.k = c->sizes[layer],
                               .iterations = c->iterations,
                               .seed = c->seed,
                               .stream = (uint64_t)layer,
                               .pool = c->pool};
    if (c->normalise)
        make_one_long(r);
    enum rc rc = kmeans(r->left, r->n, r->d, &conf, r->centres, r->nearest, err);
    for (int64_t i = 0; i < r->n && !rc; i++) {
        out->codes[i * out->layers + layer] = r->nearest[i];
        for (int64_t k = 0; k < r->d; k++)
            r->left[i * r->d + k] -= r->centres[r->nearest[i] * r->d + k];
    }
    return rc;
}

static double spread_of(const float *x, int64_t n, int64_t d)
{
    double sum = 0;
    for (int64_t k = 0; k < d; k++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++)
            mean += (double)x[i * d + k] / (double)n;
        for (int64_t i = 0; i < n; i++)
            sum += ((double)x[i * d + k] - mean) * ((double)x[i * d + k] - mean);
    }
    return sum / (double)(n * d);
}

static double squares_of(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum / (double)n;
}

static enum rc check_sizes(const struct recall_sid_conf *c, int64_t n, int64_t *most,
                           struct err *err)
{
    *most = 0;
    if (c->layers < 1 || c->layers > RECALL_SID_LAYERS_MAX)
        return err_coded(err, RC_INVAL, E2406, "a codebook has 1 to %d layers, not %jd",
                         RECALL_SID_LAYERS_MAX, (intmax_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++) {
        if (c->sizes[i] < 1 || c->sizes[i] > KMEANS_CENTRES_MAX || c->sizes[i] > n)
            return err_coded(
                err, RC_INVAL, E2406,
                "layer %jd has %jd codes: there are 1 to %d, and no more than "
                "the %jd items",
                (intmax_t)i, (intmax_t)c->sizes[i], KMEANS_CENTRES_MAX, (intmax_t)n);
        *most = c->sizes[i] > *most ? c->sizes[i] : *most;
    }
    return RC_OK;
}

enum rc recall_sid_fit(const float *x, int64_t n, int64_t d,
                       const struct recall_sid_conf *conf, struct recall_sid *out,
                       struct err *err)
{
    struct residual r = {.n = n, .d = d};
    int64_t most;
    *out = (struct recall_sid){.n = n, .layers = conf->layers, .error = -1, .spread = -1};
    enum rc rc = check_sizes(conf, n, &most, err);
    if (rc)
        return rc;
    memcpy(out->sizes, conf->sizes, (size_t)conf->layers * sizeof(*conf->sizes));
    rc = sid_room(out, err);
    r.left = mem_try_alloc((size_t)(n * d), sizeof(float));
    r.centres = mem_try_alloc((size_t)(most * d), sizeof(float));
    r.nearest = mem_try_alloc((size_t)n, sizeof(*r.nearest));
    if (!rc && (!r.left || !r.centres || !r.nearest))
        rc = err_set(err, RC_NOMEM, "no memory for %jd items", (intmax_t)n);
    if (!rc)
        memcpy(r.left, x, (size_t)(n * d) * sizeof(float));
    for (int64_t i = 0; i < conf->layers && !rc; i++)
        rc = fit_layer(&r, conf, i, out, err);
    if (!rc && !conf->normalise) {
        out->error = squares_of(r.left, n * d);
        out->spread = spread_of(x, n, d);
    }
    residual_release(&r);
    if (rc)
        recall_sid_release(out);
    return rc;
}

/* --- codes of a column --- */

static bool code_at(const struct column *c, int64_t i, int64_t *out)
{
    if (column_is_null(c, i) || (c->type->id != TYPE_I32 && c->type->id != TYPE_I64))
        return false;
    *out = c->type->id == TYPE_I32 ? column_i32(c, i) : column_i64(c, i);
    return true;
}

static enum rc read_row(const struct column *c, const char *name, int64_t row, bool given,
                        struct recall_sid *s, struct err *err)
{
    int64_t from = c->offsets[row], n = c->offsets[row + 1] - from, code = 0;
    if (n != s->layers)
        return err_coded(err, RC_INVAL, E2406,
                         "column '%s', row %jd: %jd codes; others have %jd", name,
                         (intmax_t)row + 1, (intmax_t)n, (intmax_t)s->layers);
    for (int64_t l = 0; l < n; l++) {
        int64_t most = given ? s->sizes[l] : INT32_MAX;
        if (!code_at(&c->kids[0], from + l, &code) || code < 0 || code >= most)
            return err_coded(
                err, RC_INVAL, E2406,
                "column '%s', row %jd: code %jd of layer %jd is not one of 0 to "
                "%jd",
                name, (intmax_t)row + 1, (intmax_t)code, (intmax_t)l, (intmax_t)most - 1);
        s->codes[row * s->layers + l] = (int32_t)code;
        if (!given && code >= s->sizes[l])
            s->sizes[l] = code + 1;
    }
    return RC_OK;
}

enum rc recall_sid_read(const struct column *c, const char *name, const int64_t *sizes,
                        int64_t layers, struct recall_sid *out, struct err *err)
{
    bool list = c->type->id == TYPE_LIST && c->n > 0;
    *out = (struct recall_sid){.n = c->n, .error = -1, .spread = -1};
    out->layers = layers > 0 ? layers : list ? c->offsets[1] : 0;
    if (!list || out->layers < 1 || out->layers > RECALL_SID_LAYERS_MAX)
        return err_coded(err, RC_INVAL, E2406,
                         "column '%s' does not hold lists of 1 to %d codes", name,
                         RECALL_SID_LAYERS_MAX);
    if (layers > 0)
        memcpy(out->sizes, sizes, (size_t)layers * sizeof(*sizes));
    enum rc rc = sid_room(out, err);
    for (int64_t i = 0; i < c->n && !rc; i++)
        rc = read_row(c, name, i, layers > 0, out, err);
    if (rc)
        recall_sid_release(out);
    return rc;
}

/* --- equal tuples --- */

static int by_tuple(const void *x, const void *y, void *arg)
{
    const struct recall_sid *s = arg;
    int64_t i = *(const int64_t *)x, k = *(const int64_t *)y;
    for (int64_t l = 0; l < s->layers; l++) {
        int32_t a = s->codes[i * s->layers + l], b = s->codes[k * s->layers + l];
        if (a != b)
            return a < b ? -1 : 1;
    }
    return i < k ? -1 : i > k;
}

static bool same_tuple(const struct recall_sid *s, int64_t i, int64_t k)
{
    return memcmp(s->codes + i * s->layers, s->codes + k * s->layers,
                  (size_t)s->layers * sizeof(*s->codes)) == 0;
}

/* Items sorted by their codes; the caller's, NULL without memory. */
static int64_t *sorted_items(const struct recall_sid *s)
{
    int64_t *at = mem_try_alloc((size_t)s->n, sizeof(*at));
    for (int64_t i = 0; at && i < s->n; i++)
        at[i] = i;
    if (at)
        qsort_r(at, (size_t)s->n, sizeof(*at), by_tuple, (void *)(uintptr_t)s);
    return at;
}

static enum rc no_items_memory(const struct recall_sid *s, struct err *err)
{
    return err_set(err, RC_NOMEM, "no memory for %jd items", (intmax_t)s->n);
}

enum rc recall_sid_tell_apart(struct recall_sid *s, struct err *err)
{
    struct recall_sid more = {
        .n = s->n, .layers = s->layers + 1, .error = s->error, .spread = s->spread};
    if (s->layers == RECALL_SID_LAYERS_MAX)
        return err_coded(err, RC_INVAL, E2406, "there are %d layers already",
                         RECALL_SID_LAYERS_MAX);
    int64_t *at = sorted_items(s), run = 0;
    enum rc rc = at ? sid_room(&more, err) : no_items_memory(s, err);
    for (int64_t i = 0; i < s->n && !rc; i++) {
        run = i && same_tuple(s, at[i - 1], at[i]) ? run + 1 : 0;
        int32_t *to = more.codes + at[i] * more.layers;
        memcpy(to, s->codes + at[i] * s->layers, (size_t)s->layers * sizeof(*to));
        to[s->layers] = (int32_t)run;
        if (run >= more.sizes[s->layers])
            more.sizes[s->layers] = run + 1;
    }
    mem_free(at);
    if (rc)
        return rc;
    memcpy(more.sizes, s->sizes, (size_t)s->layers * sizeof(*s->sizes));
    recall_sid_release(s);
    *s = more;
    return RC_OK;
}

/* --- figures --- */

/* How many items each code of a layer has; the caller's, NULL without memory. */
static int64_t *count_codes(const struct recall_sid *s, int64_t layer)
{
    int64_t *counts = mem_try_calloc((size_t)s->sizes[layer], sizeof(*counts));
    for (int64_t i = 0; counts && i < s->n; i++)
        counts[s->codes[i * s->layers + layer]]++;
    return counts;
}

static enum rc measure_layer(const struct recall_sid *s, int64_t layer,
                             struct recall_sid_use *out, struct err *err)
{
    int64_t *counts = count_codes(s, layer), size = s->sizes[layer];
    double entropy = 0;
    if (!counts)
        return no_items_memory(s, err);
    *out = (struct recall_sid_use){.least = s->n};
    for (int64_t k = 0; k < size; k++) {
        double p = (double)counts[k] / (double)s->n;
        entropy -= p > 0 ? p * log(p) : 0;
        out->used += counts[k] > 0;
        out->least = counts[k] < out->least ? counts[k] : out->least;
        out->most = counts[k] > out->most ? counts[k] : out->most;
    }
    out->entropy = size > 1 ? entropy / log((double)size) : 1;
    mem_free(counts);
    return RC_OK;
}

enum rc recall_sid_measure(const struct recall_sid *s, struct recall_sid_stats *out,
                           struct err *err)
{
    *out = (struct recall_sid_stats){0};
    int64_t *at = sorted_items(s);
    if (!at)
        return no_items_memory(s, err);
    for (int64_t from = 0, to; from < s->n; from = to) {
        for (to = from + 1; to < s->n && same_tuple(s, at[from], at[to]);)
            to++;
        out->tuples++;
        out->shared += to - from > 1 ? to - from : 0;
        out->largest = to - from > out->largest ? to - from : out->largest;
    }
    mem_free(at);
    enum rc rc = RC_OK;
    for (int64_t l = 0; l < s->layers && !rc; l++)
        rc = measure_layer(s, l, &out->use[l], err);
    return rc;
}

/* --- the picture --- */

#define WIDE 720  /* of the picture, */
#define LEFT 60   /* and where its bars begin */
#define BARS 640  /* pixels that they have */
#define PANEL 130 /* of a layer */
#define TALL 90   /* its bars */

static int by_count(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a < b) - (a > b);
}

static enum rc draw_layer(const struct recall_sid *s,
                          const struct recall_sid_stats *stats, int64_t layer,
                          struct buf *out, struct err *err)
{
    const struct recall_sid_use *u = &stats->use[layer];
    int64_t *counts = count_codes(s, layer), size = s->sizes[layer],
            top = 24 + layer * PANEL;
    int64_t bars = size < BARS ? size : BARS;
    if (!counts)
        return no_items_memory(s, err);
    qsort(counts, (size_t)size, sizeof(*counts), by_count);
    buf_printf(out,
               "<text x=\"%d\" y=\"%jd\">layer %jd: %jd of %jd codes used, entropy %.3f, "
               "%jd to %jd items per code</text>\n",
               LEFT, (intmax_t)top, (intmax_t)layer, (intmax_t)u->used, (intmax_t)size,
               u->entropy, (intmax_t)u->least, (intmax_t)u->most);
    buf_printf(out, "<text x=\"4\" y=\"%jd\">%jd</text>\n", (intmax_t)top + 18,
               (intmax_t)u->most);
    for (int64_t b = 0; b < bars; b++) {
        int64_t n = counts[b * size / bars];
        double tall = u->most ? (double)n / (double)u->most * TALL : 0;
        buf_printf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
                   LEFT + (double)(b * BARS) / (double)bars,
                   (double)top + 8 + TALL - tall, (double)BARS / (double)bars, tall);
    }
    mem_free(counts);
    return RC_OK;
}

enum rc recall_sid_picture(const struct recall_sid *s,
                           const struct recall_sid_stats *stats, struct buf *out,
                           struct err *err)
{
    enum rc rc = RC_OK;
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%jd\" "
               "font-family=\"sans-serif\" font-size=\"13\" fill=\"#3367a6\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
               WIDE, (intmax_t)(s->layers * PANEL + 20));
    for (int64_t l = 0; l < s->layers && !rc; l++)
        rc = draw_layer(s, stats, l, out, err);
    buf_puts(out, "</svg>\n");
    return rc ? rc : buf_check(out, err);
}
