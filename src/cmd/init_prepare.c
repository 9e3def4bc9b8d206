/* SPDX-License-Identifier: Apache-2.0 */
/* The rows as training reads them: a second pass over the input that writes Parquet files,
 * one to train on and one that is held out. On the way texts lose the blanks and quotes
 * around them, two-valued text labels become 0 and 1, dates seconds since 1970, booleans
 * integers, and integers beyond 2^63 text. A column that needs none of that is copied.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cmd/init_private.h"
#include "data/rows.h"
#include "data/writer.h"
#include "feature/tidy.h"

enum change { AS_IT_IS, TIDY, LABEL_TEXT, TIME, BOOLEAN, BIG };

static enum change change_of(const struct init_column *c, const struct type *t)
{
    if (c->use == INIT_LABEL && c->one)
        return LABEL_TEXT;
    if (c->clock != INIT_CLOCK_NONE && !c->ticks && c->use != INIT_LABEL)
        return TIME;
    return t->id == TYPE_STR    ? TIDY
           : t->id == TYPE_BOOL ? BOOLEAN
           : t->id == TYPE_U64  ? BIG
                                : AS_IT_IS;
}

bool init_must_prepare(const struct init_plan *p, const struct init_seen *seen,
                       const struct data_schema *schema)
{
    for (size_t i = 0; i < p->n; i++) {
        enum change change = change_of(&p->at[i], &schema->at[i].type);
        bool used = p->at[i].use != INIT_SKIP;
        if (used && change == TIDY && seen->sample->words[i].untidy)
            return true;
        if (used && change != TIDY && change != AS_IT_IS)
            return true;
    }
    return false;
}

bool init_has_tidied(const struct init_plan *p, const struct init_seen *seen,
                     const struct data_schema *schema)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct init_column *c = &p->at[i];
        enum change change = change_of(c, &schema->at[i].type);
        if (c->use == INIT_SKIP || c->use == INIT_LABEL)
            continue;
        if ((change == TIDY && seen->sample->words[i].untidy) ||
            (change == TIME && c->clock == INIT_CLOCK_TEXT))
            return true;
    }
    return false;
}

/* ---- one value ---- */

static enum rc add_time(struct column *to, const struct init_column *c,
                        const struct column *from, int64_t i, struct err *err)
{
    double seconds;
    bool ok = c->clock == INIT_CLOCK_TEXT
                  ? tidy_seconds(tidy_text(column_str(from, i)), &seconds)
                  : init_clock_number(column_number(from, i), c->clock, &seconds);
    return ok ? column_add_i64(to, (int64_t)seconds, err) : column_add_null(to, err);
}

static enum rc add_value(struct column *to, const struct init_column *c,
                         enum change change, const struct column *from, int64_t i,
                         struct err *err)
{
    char digits[32];
    if (column_is_null(from, i))
        return column_add_null(to, err);
    switch (change) {
    case LABEL_TEXT:
        return column_add_i64(to, str_is(tidy_text(column_str(from, i)), c->one), err);
    case TIME:
        return add_time(to, c, from, i, err);
    case BOOLEAN:
        return column_add_i64(to, column_bool(from, i), err);
    case BIG:
        snprintf(digits, sizeof(digits), "%" PRIu64, column_u64(from, i));
        return column_add_str(to, str_c(digits), err);
    default:
        return column_add_str(to, tidy_text(column_str(from, i)), err);
    }
}

/* ---- which rows go where ---- */

struct copier {
    const struct init_plan *p;
    struct init_split *split; /* NULL: all rows are for training */
    struct data_schema schema;
    enum change *change; /* [p->n] */
    struct batch out;    /* scratch */
    int64_t *rows[2];    /* of a batch: those to train on, those held out */
    int64_t n[2], cap;
    struct writer *writer[2];
};

static uint64_t hash_value(const struct column *c, int64_t i, uint64_t seed)
{
    if (type_is_nested(c->type->id) || column_is_null(c, i))
        return seed * 31;
    if (c->type->id == TYPE_STR) {
        struct str s = tidy_text(column_str(c, i));
        return hash_xxh3_seeded(s.p, s.n, seed);
    }
    double v = column_number(c, i);
    return hash_xxh3_seeded(&v, sizeof(v), seed);
}

/* Equal features fall on the same side, whatever their labels. */
static bool hash_holds_out(const struct copier *k, const struct batch *b, int64_t i)
{
    uint64_t h = 1;
    for (size_t c = 0; c < k->p->n; c++)
        if (k->p->at[c].use != INIT_LABEL)
            h = hash_value(&b->cols[c], i, h);
    return (double)(h >> 11) * 0x1p-53 < k->split->share;
}

static bool holds_out(const struct copier *k, const struct batch *b, int64_t i)
{
    double seconds;
    if (!k->split || k->split->share <= 0)
        return false;
    if (k->split->by_time < 0)
        return hash_holds_out(k, b, i);
    const struct init_column *c = &k->p->at[k->split->by_time];
    const struct column *col = &b->cols[k->split->by_time];
    if (column_is_null(col, i))
        return false;
    bool ok = c->clock == INIT_CLOCK_TEXT
                  ? tidy_seconds(tidy_text(column_str(col, i)), &seconds)
                  : init_clock_number(column_number(col, i), c->clock, &seconds);
    return ok && seconds >= k->split->from;
}

static void part_rows(struct copier *k, const struct batch *b)
{
    if (b->n > k->cap) {
        k->cap = b->n;
        for (size_t s = 0; s < 2; s++)
            k->rows[s] = mem_realloc(k->rows[s], (size_t)k->cap, sizeof(*k->rows[s]));
    }
    k->n[0] = k->n[1] = 0;
    for (int64_t i = 0; i < b->n; i++) {
        bool out = holds_out(k, b, i);
        k->rows[out][k->n[out]++] = i;
    }
}

static enum rc copy_column(struct copier *k, const struct batch *b, size_t c, size_t side,
                           struct err *err)
{
    struct column *to = &k->out.cols[c];
    const struct column *from = &b->cols[c];
    if (k->change[c] == AS_IT_IS)
        return column_gather(to, from, k->rows[side], k->n[side], err);
    enum rc rc = RC_OK;
    for (int64_t i = 0; !rc && i < k->n[side]; i++)
        rc = add_value(to, &k->p->at[c], k->change[c], from, k->rows[side][i], err);
    return rc;
}

static enum rc copy_side(struct copier *k, const struct batch *b, size_t side,
                         struct err *err)
{
    enum rc rc = RC_OK;
    if (!k->n[side])
        return RC_OK;
    batch_clear(&k->out);
    for (size_t c = 0; !rc && c < k->p->n; c++)
        rc = copy_column(k, b, c, side, err);
    if (!rc)
        rc = batch_finish(&k->out, err);
    return rc ? rc : writer_add(k->writer[side], &k->out, err);
}

static void copier_init(struct copier *k, const struct init_plan *p,
                        struct init_split *split, const struct data_schema *from)
{
    *k = (struct copier){.p = p, .split = split};
    k->change = mem_calloc(p->n + 1, sizeof(*k->change));
    data_schema_copy(&k->schema, from);
    for (size_t i = 0; i < p->n; i++) {
        struct type *t = &k->schema.at[i].type;
        k->change[i] = change_of(&p->at[i], t);
        if (k->change[i] == TIDY || k->change[i] == BIG)
            *t = type_of(TYPE_STR, true);
        else if (k->change[i] != AS_IT_IS)
            *t = type_of(TYPE_I64, true);
    }
    batch_init(&k->out, &k->schema);
}

static void copier_release(struct copier *k)
{
    writer_abandon(k->writer[0]);
    writer_abandon(k->writer[1]);
    batch_release(&k->out);
    data_schema_release(&k->schema);
    mem_free(k->change);
    mem_free(k->rows[0]);
    mem_free(k->rows[1]);
}

static enum rc copy_all(struct copier *k, struct dataset *d, int64_t rows[2],
                        struct err *err)
{
    const struct batch *b = NULL;
    enum rc rc = dataset_next(d, &b, err);
    while (!rc && b) {
        part_rows(k, b);
        for (size_t s = 0; !rc && s < 2; s++) {
            rows[s] += k->n[s];
            rc = copy_side(k, b, s, err);
        }
        if (!rc)
            rc = dataset_next(d, &b, err);
    }
    return rc;
}

enum rc init_prepare(struct dataset *d, const struct init_plan *p,
                     struct init_split *split, const char *train, const char *eval,
                     struct err *err)
{
    const char *const paths[2] = {train, eval};
    struct writer_conf conf = {0};
    struct copier k;
    int64_t rows[2] = {0};
    enum rc rc = RC_OK;
    bool both = split && split->share > 0;
    copier_init(&k, p, split, dataset_schema(d));
    for (size_t s = 0; !rc && s < (both ? 2 : 1); s++)
        rc = writer_open(paths[s], &writer_parquet, &k.schema, &conf, &k.writer[s], err);
    if (!rc)
        rc = copy_all(&k, d, rows, err);
    if (!rc && both && (!rows[0] || !rows[1]))
        rc = err_coded(err, RC_INVAL, E1221,
                       "holding rows out leaves none to %s; say --holdout 0 or another "
                       "--holdout-by",
                       rows[0] ? "evaluate on" : "train on");
    for (size_t s = 0; !rc && s < (both ? 2 : 1); s++) {
        rc = writer_commit(k.writer[s], err);
        k.writer[s] = NULL;
    }
    copier_release(&k);
    if (!rc && split) {
        split->train_rows = rows[0];
        split->eval_rows = rows[1];
    }
    return rc;
}
