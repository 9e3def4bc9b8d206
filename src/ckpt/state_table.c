/* SPDX-License-Identifier: Apache-2.0 */
/* A table is handed out row by row, straight from its memory; rows that were never used
 * are worked out on the way. A detached one holds its used rows only, packed, and finds a
 * row by counting the used ones before it: `rank` counts up to each word of the bitmap.
 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/state_private.h"

static const struct {
    const char *name;
    bool per_row; /* one float, else one per weight */
} row_states[ROW_OPT_KINDS][2] = {
    [ROW_ADAGRAD] = {{"momentum1", false}},
    [ROW_ROWWISE_ADAGRAD] = {{"momentum1", true}},
    [ROW_ADAM] = {{"momentum1", false}, {"momentum2", false}},
    [ROW_PARTIAL_ROWWISE_ADAM] = {{"momentum1", false}, {"momentum2", true}},
    [ROW_LAMB] = {{"momentum1", false}, {"momentum2", false}},
    [ROW_PARTIAL_ROWWISE_LAMB] = {{"momentum1", false}, {"momentum2", true}},
    [ROW_LARS_SGD] = {{"momentum1", false}},
    [ROW_ADADELTA] = {{"momentum1", false}, {"momentum2", false}},
    [ROW_RMSPROP] = {{"momentum1", false}},
};

int table_columns(const struct table *t, struct table_column out[TABLE_COLUMNS_MAX])
{
    int n = 0;
    int64_t col = t->conf.dim;
    out[n++] = (struct table_column){.part = CKPT_MODEL, .width = col};
    for (int i = 0; t->conf.trainable && i < 2; i++) {
        const char *name = row_states[t->conf.opt.kind][i].name;
        bool per_row = row_states[t->conf.opt.kind][i].per_row;
        if (!name)
            break;
        out[n] = (struct table_column){.part = CKPT_OPTIMIZER,
                                       .suffix = name,
                                       .col = col,
                                       .width = per_row ? 1 : t->conf.dim,
                                       .flat = per_row};
        col += out[n++].width;
    }
    return n;
}

/* A model may name its tables by the whole path of their weights, as others do. */
static char *weight_name(const struct table *t)
{
    return str_ends(t->name, ".weight") ? mem_strdup(t->name)
                                        : mem_printf("embedding.%s.weight", t->name);
}

char *table_column_name(const struct table *t, const struct table_column *c)
{
    char *weight = weight_name(t);
    if (!c || !c->suffix)
        return weight;
    char *name = mem_printf("optimizer.%s.%s", weight, c->suffix);
    mem_free(weight);
    return name;
}

char *table_used_name(const struct table *t)
{
    char *weight = weight_name(t), *name = mem_printf("%s.used", weight);
    mem_free(weight);
    return name;
}

char *table_origin(const struct table *t)
{
    static const char *const kinds[] = {[TABLE_UNIFORM] = "uniform",
                                        [TABLE_NORMAL] = "normal",
                                        [TABLE_CONST] = "constant"};
    return mem_printf("%s(%a, %a), seed %ju, stream %016jx", kinds[t->conf.init],
                      t->conf.a, t->conf.b, (uintmax_t)t->conf.seed,
                      (uintmax_t)t->stream);
}

struct snapshot {
    const struct table *t;
    const uint64_t *used; /* live, or `used_copy` */
    float *first_state;   /* [stride - dim]: of a row that was never used */
    /* Of a detached one: */
    uint64_t *used_copy;
    int64_t *rank; /* [words]: used rows before each word */
    float *rows;   /* [used rows][stride] */
};

struct column_arg {
    const struct snapshot *s;
    struct table_column col;
};

static size_t words_of(const struct table *t)
{
    return (size_t)(t->conf.rows + 63) / 64;
}

static int64_t count_used(const struct snapshot *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < words_of(s->t); i++)
        n += __builtin_popcountll(s->used[i]);
    return n;
}

static int64_t snapshot_bytes(const void *owner)
{
    const struct snapshot *s = owner;
    return count_used(s) * s->t->stride * (int64_t)sizeof(float) +
           (int64_t)(words_of(s->t) * 2 * sizeof(uint64_t));
}

/* Copies runs of used rows; what is left out of a word of 64 rows is rarely large. */
static void pack_rows(struct snapshot *s)
{
    int64_t at = 0;
    size_t row_bytes = (size_t)s->t->stride * sizeof(float);
    for (size_t i = 0; i < words_of(s->t); i++) {
        s->rank[i] = at;
        for (uint64_t bits = s->used[i]; bits;) {
            int from = CTZ64(bits);
            uint64_t above = bits >> from;
            int run = ~above ? CTZ64(~above) : 64;
            memcpy(s->rows + at * s->t->stride, table_row(s->t, (int64_t)i * 64 + from),
                   (size_t)run * row_bytes);
            at += run;
            bits = from + run == 64 ? 0 : bits >> (from + run) << (from + run);
        }
    }
}

static enum rc snapshot_detach(void *owner, struct err *err)
{
    struct snapshot *s = owner;
    size_t words = words_of(s->t), used = (size_t)count_used(s);
    if (s->rows)
        return RC_OK;
    s->used_copy = mem_try_alloc(words, sizeof(*s->used_copy));
    s->rank = mem_try_alloc(words, sizeof(*s->rank));
    s->rows = mem_try_alloc(used + 1, (size_t)s->t->stride * sizeof(float));
    if (!s->used_copy || !s->rank || !s->rows) {
        mem_free(s->used_copy);
        mem_free(s->rank);
        mem_free(s->rows);
        s->used_copy = NULL;
        s->rank = NULL;
        s->rows = NULL;
        return err_set(err, RC_NOMEM, "no memory for a copy of %zu rows of table '%s'",
                       used, s->t->name);
    }
    pack_rows(s);
    memcpy(s->used_copy, s->used, words * sizeof(*s->used));
    s->used = s->used_copy;
    return RC_OK;
}

static void snapshot_release(void *owner)
{
    struct snapshot *s = owner;
    mem_free(s->used_copy);
    mem_free(s->rank);
    mem_free(s->rows);
    mem_free(s->first_state);
    mem_free(s);
}

static const struct ckpt_owner_ops snapshot_ops = {
    .bytes = snapshot_bytes, .detach = snapshot_detach, .release = snapshot_release};

/* A used row, or NULL. */
static const float *row_of(const struct snapshot *s, int64_t row)
{
    uint64_t word = s->used[row >> 6], bit = (uint64_t)1 << (row & 63);
    if (!(word & bit))
        return NULL;
    if (!s->rows)
        return table_row(s->t, row);
    int64_t at = s->rank[row >> 6] + __builtin_popcountll(word & (bit - 1));
    return s->rows + at * s->t->stride;
}

static const void *column_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct column_arg *a = arg;
    const struct snapshot *s = a->s;
    float *out = scratch;
    size_t bytes = (size_t)a->col.width * sizeof(float);
    for (int64_t i = 0; i < n; i++, out += a->col.width) {
        const float *from = row_of(s, row + i);
        if (from)
            memcpy(out, from + a->col.col, bytes);
        else if (a->col.suffix)
            memcpy(out, s->first_state + (a->col.col - s->t->conf.dim), bytes);
        else
            table_first(s->t, row + i, out);
    }
    return scratch;
}

static const void *used_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct snapshot *s = arg;
    return (const unsigned char *)s->used + row;
}

static void no_detach_release(void *owner)
{
    mem_free(owner);
}

static int64_t no_bytes(const void *owner)
{
    return 0;
}

static enum rc no_detach(void *owner, struct err *err)
{
    return RC_OK;
}

static const struct ckpt_owner_ops arg_ops = {
    .bytes = no_bytes, .detach = no_detach, .release = no_detach_release};

static void add_column(struct ckpt_writer *w, const struct snapshot *s,
                       const struct table_column *col)
{
    struct column_arg *arg = mem_calloc(1, sizeof(*arg));
    *arg = (struct column_arg){.s = s, .col = *col};
    char *name = table_column_name(s->t, col);
    struct st_source source = {.name = name,
                               .type = ST_F32,
                               .n_dims = col->flat ? 1 : 2,
                               .dims = {s->t->conf.rows, col->flat ? 0 : col->width},
                               .rows = s->t->conf.rows,
                               .row_bytes = (size_t)col->width * sizeof(float),
                               .fn = column_rows,
                               .arg = arg};
    ckpt_add_owner(w, &arg_ops, arg);
    ckpt_add_source(w, col->part, &source);
    mem_free(name);
}

void table_add(struct ckpt_writer *w, const struct table *t)
{
    struct snapshot *s = mem_calloc(1, sizeof(*s));
    struct table_column cols[TABLE_COLUMNS_MAX];
    int n = table_columns(t, cols);
    s->t = t;
    s->used = t->used;
    s->first_state = mem_calloc((size_t)(t->stride - t->conf.dim) + 1, sizeof(float));
    if (t->conf.trainable)
        row_opt_init(&t->conf.opt, s->first_state, t->conf.dim);
    ckpt_add_owner(w, &snapshot_ops, s);
    for (int i = 0; i < n; i++)
        add_column(w, s, &cols[i]);
    char *name = table_used_name(t);
    struct st_source used = {.name = name,
                             .type = ST_U8,
                             .n_dims = 1,
                             .dims = {(t->conf.rows + 7) / 8},
                             .rows = (t->conf.rows + 7) / 8,
                             .row_bytes = 1,
                             .fn = used_rows,
                             .arg = s};
    ckpt_add_source(w, CKPT_STATE, &used);
    mem_free(name);
}
