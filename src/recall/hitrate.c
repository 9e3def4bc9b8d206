/* SPDX-License-Identifier: Apache-2.0 */
/* Hit rates. Users are searched for in batches, so that the search is one matrix
 * product; each user is then counted alone: the items it met, each once, against those
 * that were found. With several vectors per user the results are merged first, by
 * nearness or per vector. Sums are made in the order of the users, so that threads
 * change no digit.
 */
#include "recall/hitrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "data/rows.h"

#define TEXT_MAX ((size_t)1 << 26)

struct found {
    int64_t row; /* of the items */
    float score;
};

struct counting {
    const struct recall_items *items, *users;
    const struct hitrate_conf *conf;
    struct hitrate *sum;
    int64_t *rows; /* [batch * per_row][top_k] */
    float *scores;
    VEC(int64_t) truths; /* keys of the user at hand, each once */
    VEC(struct found) merged;
    VEC(size_t) ends; /* of each vector's among them */
    struct writer *writer;
    struct data_schema schema;
    struct batch out;
};

enum { OUT_ID, OUT_IDS, OUT_SCORES, OUT_RATE, OUT_HITS };

static void add_truth(struct counting *c, int64_t key)
{
    for (size_t i = 0; i < c->truths.n; i++)
        if (c->truths.at[i] == key)
            return;
    VEC_PUSH(&c->truths, key);
}

/* Texts "a,b"; an id that is not a number cannot be an item's and still counts. */
static void truths_of_text(struct counting *c, struct str s)
{
    static const struct type text = {.id = TYPE_STR};
    struct column one;
    struct str part;
    int64_t odd = -1;
    column_init(&one, &text);
    while (str_split(&s, ',', &part)) {
        int64_t key;
        part = str_trim(part);
        column_clear(&one);
        if (!part.n || column_add_str(&one, part, NULL))
            continue;
        add_truth(c, id_key(&one, 0, c->items->kind, &key) ? key : odd--);
    }
    column_release(&one);
}

static void find_truths(struct counting *c, int64_t user)
{
    const struct column *t = &c->users->rows.cols[c->users->list_at];
    c->truths.n = 0;
    if (column_is_null(t, user))
        return;
    if (t->type->id == TYPE_STR) {
        truths_of_text(c, column_str(t, user));
        return;
    }
    bool list = t->type->id == TYPE_LIST;
    int64_t from = list ? t->offsets[user] : user;
    int64_t to = list ? t->offsets[user + 1] : user + 1, odd = -1;
    const struct column *ids = list ? &t->kids[0] : t;
    for (int64_t i = from; i < to; i++) {
        int64_t key;
        if (!column_is_null(ids, i))
            add_truth(c, id_key(ids, i, c->items->kind, &key) ? key : odd--);
    }
}

static int64_t valid_vectors(const struct counting *c, int64_t user)
{
    int64_t all = c->users->per_row, at = c->conf->interests_at;
    if (at < 0)
        return all;
    double n = column_number(&c->users->rows.cols[at], user);
    return n < 0 ? 0 : n < (double)all ? (int64_t)n : all;
}

static bool is_zero(const struct counting *c, int64_t user, int64_t k)
{
    const float *v = c->users->vectors + (user * c->users->per_row + k) * c->users->width;
    for (int64_t i = 0; i < c->users->width; i++)
        if (v[i] != 0.0f)
            return false;
    return true;
}

static int by_nearness(const void *a, const void *b, void *arg)
{
    const struct found *x = a, *y = b;
    bool dot = *(const enum recall_metric *)arg == INDEX_DOT;
    if (x->score != y->score)
        return (x->score > y->score) == dot ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The user's items: of all its vectors, or the best of them together. */
static void merge(struct counting *c, int64_t user, int64_t place)
{
    int64_t k = c->conf->top_k, n = valid_vectors(c, user), kept = 0;
    enum recall_metric metric = c->conf->metric;
    c->merged.n = c->ends.n = 0;
    for (int64_t v = 0; v < n; v++) {
        bool skip = c->conf->across && is_zero(c, user, v);
        for (int64_t i = 0; i < k && !skip; i++) {
            int64_t at = (place * c->users->per_row + v) * k + i;
            if (c->rows[at] >= 0)
                VEC_PUSH(&c->merged, ((struct found){c->rows[at], c->scores[at]}));
        }
        VEC_PUSH(&c->ends, c->merged.n);
    }
    if (!c->conf->across)
        return;
    qsort_r(c->merged.at, c->merged.n, sizeof(*c->merged.at), by_nearness, &metric);
    for (size_t i = 0; i < c->merged.n && kept < k; i++) {
        bool twice = false;
        for (int64_t j = 0; j < kept && !twice; j++)
            twice = c->merged.at[j].row == c->merged.at[i].row;
        if (!twice)
            c->merged.at[kept++] = c->merged.at[i];
    }
    c->merged.n = (size_t)kept;
    c->ends.n = 0;
    VEC_PUSH(&c->ends, c->merged.n);
}

static bool was_found(const struct counting *c, int64_t key)
{
    int64_t row = keymap_find(&c->items->index, key);
    for (size_t i = 0; i < c->merged.n && row >= 0; i++)
        if (c->merged.at[i].row == row)
            return true;
    return false;
}

static enum rc add_text(const struct column *c, int64_t row, struct column *to,
                        struct err *err)
{
    struct buf b;
    buf_init(&b, TEXT_MAX);
    recall_value_print(c, row, &b);
    enum rc rc = column_add_str(to, str_of(buf_str(&b), b.n), err);
    buf_release(&b);
    return rc;
}

/* One list per vector, or one for all. */
static enum rc add_details(struct counting *c, int64_t user, double rate, struct err *err)
{
    struct column *o = c->out.cols, *ids = &o[OUT_IDS], *far = &o[OUT_SCORES];
    enum rc rc = column_append(&o[OUT_ID], recall_items_ids(c->users), user, 1, err);
    for (size_t l = 0; l < c->ends.n && !rc; l++) {
        for (size_t i = l ? c->ends.at[l - 1] : 0; i < c->ends.at[l] && !rc; i++) {
            rc = add_text(recall_items_ids(c->items), c->merged.at[i].row,
                          &ids->kids[0].kids[0], err);
            if (!rc)
                rc = column_add_f32(&far->kids[0].kids[0], c->merged.at[i].score, err);
        }
        if (!rc)
            rc = column_add_nested(&ids->kids[0], err);
        if (!rc)
            rc = column_add_nested(&far->kids[0], err);
    }
    if (!rc)
        rc = column_add_nested(ids, err);
    if (!rc)
        rc = column_add_nested(far, err);
    if (!rc)
        rc = column_add_f64(&o[OUT_RATE], rate, err);
    for (size_t i = 0; i < c->truths.n && !rc; i++) {
        int64_t row = keymap_find(&c->items->index, c->truths.at[i]);
        if (was_found(c, c->truths.at[i]))
            rc = add_text(recall_items_ids(c->items), row, &o[OUT_HITS].kids[0], err);
    }
    return rc ? rc : column_add_nested(&o[OUT_HITS], err);
}

static enum rc count_user(struct counting *c, int64_t user, int64_t place,
                          struct err *err)
{
    int64_t hits = 0;
    double *told = c->conf->rates ? c->conf->rates + (user - c->conf->from) : NULL;
    find_truths(c, user);
    if (told)
        *told = -1;
    if (c->truths.n == 0) {
        c->sum->skipped++;
        return RC_OK;
    }
    merge(c, user, place);
    for (size_t i = 0; i < c->truths.n; i++)
        hits += was_found(c, c->truths.at[i]);
    double rate = (double)hits / (double)c->truths.n;
    c->sum->users++;
    c->sum->truths += (int64_t)c->truths.n;
    c->sum->hits += hits;
    c->sum->lucky += hits > 0;
    c->sum->mean += rate;
    if (told)
        *told = rate;
    return c->writer ? add_details(c, user, rate, err) : RC_OK;
}

static enum rc open_details(struct counting *c, struct err *err)
{
    struct type text = type_of(TYPE_STR, false), f32 = type_of(TYPE_F32, false);
    struct arena *mem = &c->schema.mem;
    if (!c->conf->details)
        return RC_OK;
    struct type texts = type_list(mem, text, false), floats = type_list(mem, f32, false);
    struct type ids = type_list(mem, texts, false), far = type_list(mem, floats, false);
    struct type rate = type_of(TYPE_F64, false);
    data_schema_add(&c->schema, str_c("id"), recall_items_ids(c->users)->type);
    data_schema_add(&c->schema, str_c("topk_ids"), &ids);
    data_schema_add(&c->schema, str_c("topk_dists"), &far);
    data_schema_add(&c->schema, str_c("hitrate"), &rate);
    data_schema_add(&c->schema, str_c("hit_ids"), &texts);
    batch_init(&c->out, &c->schema);
    return writer_open(c->conf->details, c->conf->format, &c->schema,
                       &(struct writer_conf){0}, &c->writer, err);
}

static enum rc write_details(struct counting *c, struct err *err)
{
    if (!c->writer)
        return RC_OK;
    enum rc rc = batch_finish(&c->out, err);
    if (!rc && c->out.n)
        rc = writer_add(c->writer, &c->out, err);
    batch_clear(&c->out);
    return rc;
}

static enum rc run_batches(struct counting *c, const struct recall_index *x,
                           struct err *err)
{
    const struct recall_items *u = c->users;
    int64_t all = u->width * u->per_row, to = c->conf->to ? c->conf->to : u->n;
    enum rc rc = RC_OK;
    for (int64_t from = c->conf->from; from < to && !rc; from += c->conf->batch) {
        int64_t n = to - from < c->conf->batch ? to - from : c->conf->batch;
        rc = recall_index_search(x, u->vectors + from * all, n * u->per_row,
                                 c->conf->top_k, c->conf->probes, c->conf->pool, c->rows,
                                 c->scores, err);
        for (int64_t i = 0; i < n && !rc; i++)
            rc = count_user(c, from + i, i, err);
        if (!rc)
            rc = write_details(c, err);
    }
    return rc;
}

enum rc hitrate_run(const struct recall_index *x, const struct recall_items *items,
                    const struct recall_items *users, const struct hitrate_conf *conf,
                    struct hitrate *out, struct err *err)
{
    struct counting c = {.items = items, .users = users, .conf = conf, .sum = out};
    *out = (struct hitrate){0};
    if (items->width != users->width)
        return err_coded(err, RC_INVAL, E2405,
                         "vectors of items have %jd numbers, those of users %jd",
                         (intmax_t)items->width, (intmax_t)users->width);
    size_t room = (size_t)(conf->batch * users->per_row);
    c.rows = mem_try_alloc(room, (size_t)conf->top_k * sizeof(*c.rows));
    c.scores = mem_try_alloc(room, (size_t)conf->top_k * sizeof(*c.scores));
    enum rc rc = c.rows && c.scores
                     ? open_details(&c, err)
                     : err_set(err, RC_NOMEM, "no memory for %zu queries", room);
    if (!rc)
        rc = run_batches(&c, x, err);
    if (c.writer && rc)
        writer_abandon(c.writer);
    else if (c.writer)
        rc = writer_commit(c.writer, err);
    out->mean = out->users ? out->mean / (double)out->users : 0;
    VEC_RELEASE(&c.truths);
    VEC_RELEASE(&c.merged);
    VEC_RELEASE(&c.ends);
    if (conf->details)
        batch_release(&c.out);
    data_schema_release(&c.schema);
    mem_free(c.rows);
    mem_free(c.scores);
    return rc;
}
