/* SPDX-License-Identifier: Apache-2.0 */
/* One row at a time: words of the counter-based generator, one per field, then values,
 * then effects. Hidden effects are hashes of (seed, field, value) read as numbers, so
 * that tables of tens of millions of ids need no memory.
 */
#include "data/gen/gen_private.h"

#include <math.h>

#include "base/mem.h"

#define STREAM_FIELDS 0x67656e31 /* uses of the generator, see base/rng.h */
#define STREAM_HOOKS 0x67656e32
#define BIN_SCALE 8192.0 /* bins per unit of log odds; they span [-16, 16) */
#define SQRT3 1.7320508075688772

static const struct gen_kind *const kinds[] = {
#define GEN(name) &gen_##name,
#include "data/gen/gens.def"
#undef GEN
};

const struct gen_kind *const *gen_all(size_t *n)
{
    *n = ARRAY_LEN(kinds);
    return kinds;
}

const struct gen_kind *gen_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const char *gen_name(const struct gen_kind *k)
{
    return k->name;
}

size_t gen_labels(const struct gen_kind *k)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n_fields; i++)
        n += k->fields[i].value == GEN_LABEL;
    return n;
}

const char *gen_label(const struct gen_kind *k, size_t i)
{
    for (size_t f = 0; f < k->n_fields; f++)
        if (k->fields[f].value == GEN_LABEL && i-- == 0)
            return k->fields[f].name;
    return NULL;
}

static enum type_id type_of_field(const struct gen_field *f)
{
    switch (f->value) {
    case GEN_PRICE:
        return TYPE_F32;
    case GEN_WORD:
        return TYPE_STR;
    case GEN_OWN:
        return f->type;
    default:
        return TYPE_I64;
    }
}

void gen_schema(const struct gen_kind *k, struct data_schema *out)
{
    for (size_t i = 0; i < k->n_fields; i++) {
        const struct gen_field *f = &k->fields[i];
        struct type t = type_of(type_of_field(f), f->nulls > 0);
        if (t.id == TYPE_LIST)
            t = type_list(&out->mem, type_of(TYPE_I64, false), false);
        data_schema_add(out, str_c(f->name), &t);
    }
}

double gen_log2(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
    double m;
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    double s = (m - 1) / (m + 1), s2 = s * s, sum;
    sum = 1 + s2 * (1.0 / 3 + s2 * (0.2 + s2 * (1.0 / 7 + s2 * (1.0 / 9 + s2 / 11))));
    return exponent + 2 * s * sum * 1.44269504088896340736;
}

void gen_score_init(struct gen_score *s)
{
    *s = (struct gen_score){.neg = mem_calloc(GEN_BINS, sizeof(*s->neg)),
                            .pos = mem_calloc(GEN_BINS, sizeof(*s->pos))};
}

void gen_score_release(struct gen_score *s)
{
    mem_free(s->neg);
    mem_free(s->pos);
    *s = (struct gen_score){0};
}

void gen_score_add(struct gen_score *to, const struct gen_score *from)
{
    for (size_t i = 0; i < GEN_BINS; i++) {
        to->neg[i] += from->neg[i];
        to->pos[i] += from->pos[i];
    }
    to->n += from->n;
    to->n_pos += from->n_pos;
    to->loss += from->loss;
}

/* Pairs within a bin count as half won. A bin is 1/8192 of log odds wide: what is lost
 * by that is far below the last digit that is printed.
 */
double gen_score_auc(const struct gen_score *s)
{
    double won = 0, below = 0;
    for (size_t i = 0; i < GEN_BINS; i++) {
        won += (double)s->pos[i] * (below + 0.5 * (double)s->neg[i]);
        below += (double)s->neg[i];
    }
    double pairs = (double)s->n_pos * (double)(s->n - s->n_pos);
    return pairs > 0 ? won / pairs : (double)NAN;
}

double gen_score_logloss(const struct gen_score *s)
{
    return s->n ? s->loss / (double)s->n : (double)NAN;
}

static void score_count(struct gen_score *s, double p, int y)
{
    double q = y ? p : 1 - p;
    double odds = gen_log2(p / (1 - p)) * 0.69314718055994530942;
    double bin = (odds + 16) * BIN_SCALE;
    size_t at = bin <= 0 ? 0 : bin >= (double)(GEN_BINS - 1) ? GEN_BINS - 1 : (size_t)bin;
    s->n++;
    s->n_pos += y;
    if (y)
        s->pos[at]++;
    else
        s->neg[at]++;
    s->loss -= gen_log2(q) * 0.69314718055994530942;
}

struct maker {
    const struct gen_kind *k;
    struct gen_row row;
    int64_t v[GEN_FIELDS_MAX];
    uint32_t words[GEN_FIELDS_MAX];
    double lg[GEN_FIELDS_MAX], per_lg[GEN_FIELDS_MAX]; /* log2(card + 1), 1 / that */
    struct rng rng;
};

static void maker_init(struct maker *m, const struct gen_kind *k, uint64_t seed,
                       struct batch *b)
{
    *m = (struct maker){.k = k};
    m->row = (struct gen_row){.seed = seed, .v = m->v, .b = b};
    rng_init(&m->rng, seed, STREAM_FIELDS, 0, 0);
    rng_init(&m->row.rng, seed, STREAM_HOOKS, 0, 0);
    for (size_t i = 0; i < k->n_fields; i++) {
        m->lg[i] = gen_log2((double)k->fields[i].card + 1);
        m->per_lg[i] = m->lg[i] > 0 ? 1 / m->lg[i] : 0;
    }
}

/* The top byte of a word decides about null, so that one word is enough. */
static int64_t value_of(const struct maker *m, size_t i)
{
    const struct gen_field *f = &m->k->fields[i];
    uint32_t word = m->words[i];
    if (f->of) {
        uint64_t h = gen_mix(m->row.seed + i, (uint64_t)m->v[f->of - 1] + 1);
        word = (uint32_t)h;
    }
    if (f->nulls > 0 && (float)(gen_mix(word, i) & 0xffff) < f->nulls * 65536.0f)
        return -1;
    if (f->value == GEN_WORD)
        return (int64_t)((uint64_t)word * f->card >> 32);
    return gen_zipf(word, f->card, m->lg[i]);
}

static enum rc put_value(struct maker *m, size_t i, struct err *err)
{
    const struct gen_field *f = &m->k->fields[i];
    struct column *c = &m->row.b->cols[i];
    int64_t v = m->v[i];
    if (v < 0)
        return column_add_null(c, err);
    switch (f->value) {
    case GEN_PRICE:
        return column_add_f32(c, (float)(v + 1) / 100.0f, err);
    case GEN_WORD:
        return column_add_str(c, str_c(f->words[v]), err);
    default:
        return column_add_i64(c, v, err);
    }
}

/* Counts act through their logarithm, which a model sees as a number; ids by identity.
 */
static void add_effects(const struct maker *m, double z[GEN_LABELS_MAX])
{
    double side[3][GEN_DIM] = {{0}};
    for (size_t i = 0; i < m->k->n_fields; i++) {
        const struct gen_field *f = &m->k->fields[i];
        if (f->value == GEN_OWN || f->value == GEN_LABEL || m->v[i] < 0)
            continue;
        bool is_count = f->value == GEN_COUNT || f->value == GEN_PRICE;
        uint64_t h =
            gen_mix(m->row.seed ^ 0x5bd1e995 * (i + 1), is_count ? 0 : (uint64_t)m->v[i]);
        double by = f->effect * SQRT3 * 0x1p-15;
        if (is_count)
            by *= 2 * gen_log_like(m->v[i]) * m->per_lg[i] - 1;
        z[0] += by * (double)(int16_t)h;
        z[1] += by * (double)(int16_t)(h >> 16);
        if (f->side) {
            uint64_t hidden = gen_mix(h, i);
            for (int d = 0; d < GEN_DIM; d++)
                side[f->side][d] +=
                    (double)(int16_t)(hidden >> 16 * d) * (SQRT3 * 0x1p-15);
        }
    }
    double dot = 0;
    for (int d = 0; d < GEN_DIM; d++)
        dot += side[GEN_USER][d] * side[GEN_ITEM][d];
    z[0] += m->k->taste * dot;
    z[1] += 0.5 * m->k->taste * dot;
}

static void draw_labels(struct maker *m, const double z[GEN_LABELS_MAX], size_t n_labels,
                        double p[GEN_LABELS_MAX])
{
    double all = 1;
    int so_far = 1;
    for (size_t i = 0; i < n_labels; i++) {
        double one = gen_sigmoid(z[i]);
        double u = ((double)m->words[m->k->n_fields + i] + 0.5) * 0x1p-32;
        all *= one;
        so_far &= u < one;
        p[i] = all;
        m->row.y[i] = so_far;
    }
}

static enum rc make_row(struct maker *m, int64_t number, size_t n_labels,
                        struct gen_score *scores, struct err *err)
{
    const struct gen_kind *k = m->k;
    double z[GEN_LABELS_MAX], p[GEN_LABELS_MAX];
    enum rc rc = RC_OK;
    size_t label = 0;
    m->row.number = number;
    m->rng.row = m->row.rng.row = (uint64_t)number;
    rng_seek(&m->rng, 0);
    rng_seek(&m->row.rng, 0);
    rng_fill_u32(&m->rng, m->words, k->n_fields + n_labels);
    for (size_t i = 0; i < k->n_fields; i++)
        if (k->fields[i].value < GEN_OWN && !k->fields[i].of)
            m->v[i] = value_of(m, i);
    if (k->adjust)
        k->adjust(&m->row);
    for (size_t i = 0; i < k->n_fields; i++)
        if (k->fields[i].value < GEN_OWN && k->fields[i].of)
            m->v[i] = value_of(m, i);
    memcpy(z, k->bias, sizeof(z));
    add_effects(m, z);
    if (k->score)
        rc = k->score(&m->row, z, err);
    draw_labels(m, z, n_labels, p);
    for (size_t i = 0; !rc && i < k->n_fields; i++) {
        if (k->fields[i].value < GEN_OWN)
            rc = put_value(m, i, err);
        else if (k->fields[i].value == GEN_LABEL)
            rc = column_add_i64(&m->row.b->cols[i], m->row.y[label++], err);
    }
    if (!rc && k->finish)
        rc = k->finish(&m->row, err);
    for (size_t i = 0; scores && i < n_labels; i++)
        score_count(&scores[i], p[i], m->row.y[i]);
    return rc;
}

enum rc gen_rows(const struct gen_kind *k, uint64_t seed, int64_t first, int64_t n,
                 struct batch *b, struct gen_score *scores, struct err *err)
{
    struct maker m;
    size_t n_labels = gen_labels(k);
    enum rc rc = RC_OK;
    batch_clear(b);
    maker_init(&m, k, seed, b);
    for (size_t i = 0; !rc && i < b->n_cols; i++)
        rc = column_reserve(&b->cols[i], n, err);
    for (int64_t r = 0; !rc && r < n; r++)
        rc = make_row(&m, first + r, n_labels, scores, err);
    if (!rc)
        rc = batch_finish(b, err);
    if (rc)
        batch_clear(b);
    return rc;
}
