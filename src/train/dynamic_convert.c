/* SPDX-License-Identifier: Apache-2.0 */
/* Both kinds of tables have the same name in a checkpoint, and both are rows with a list of
 * their ids; a zch table has one row more, which all other ids share. So a table is
 * converted by leaving that row out and by writing what decides about ids in the terms of
 * the other kind. A run that takes the checkpoint counts batches from 0: the last batch of
 * an id is written as so many before that.
 */
#include "train/dynamic_convert.h"

#include <string.h>

#include "base/mem.h"
#include "ckpt/state.h"
#include "text/json.h"
#include "train/session.h"

/* One table that is converted; tensors are borrowed from the checkpoint. */
struct converted {
    char *name;
    const struct embed_table_conf *to;
    const struct ckpt_st_tensor *rows, *keys, *counts, *last;
    int64_t *scores[2]; /* counts, last; owned */
    int64_t now;
};

struct converting {
    const struct ckpt *c;
    VEC(struct converted) tables;
    struct ckpt_writer *w;
};

static const struct ckpt_st_tensor *part(const struct ckpt *c, const char *name,
                                         const char *what)
{
    char *whole = mem_printf("%s.%s", name, what);
    const struct ckpt_st_tensor *t = ckpt_find(c, whole);
    mem_free(whole);
    return t;
}

static const struct node *facts_of(const struct ckpt *c, const char *name)
{
    return node_find(ckpt_json(c, "tables"), name);
}

static bool is_zch(const struct ckpt *c, const char *name)
{
    const struct node *rule = node_find(facts_of(c, name), "rule");
    return rule && rule->kind == NODE_STR && str_starts(rule->text.p, "zch ");
}

static bool is_list(const struct ckpt_st_tensor *t, int64_t n)
{
    return t && t->type == ST_I64 && t->n_dims == 1 && t->dims[0] == n;
}

static enum rc take_table(struct converting *x, const struct embed_table_conf *t,
                          struct err *err)
{
    struct converted v = {.to = t, .name = ckpt_table_name(t)};
    const struct node *now = node_find(node_find(facts_of(x->c, v.name), "ids"), "now");
    v.rows = part(x->c, v.name, "rows");
    v.keys = part(x->c, v.name, "keys");
    v.counts = part(x->c, v.name, "counts");
    v.last = part(x->c, v.name, "last");
    bool good = v.rows && v.rows->n_dims == 2 && v.rows->dims[0] > 0 &&
                is_list(v.keys, v.rows->dims[0] - 1);
    if (good && v.rows->dims[1] == t->dim) {
        if (now)
            (void)node_i64(now, &v.now);
        VEC_PUSH(&x->tables, v);
        return RC_OK;
    }
    enum rc rc =
        err_coded(err, RC_INVAL, E2309,
                  good ? "table '%s' has rows of %jd in the checkpoint and of %jd "
                         "in the config"
                       : "table '%s' has no rows of ids in the checkpoint",
                  v.name, good ? (intmax_t)v.rows->dims[1] : 0, (intmax_t)t->dim);
    mem_free(v.name);
    return rc;
}

static enum rc find_tables(struct converting *x, const struct lookup *l, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < lookup_n_tables(l) && !rc; i++) {
        const struct embed_table_conf *t = lookup_table(l, i);
        char *name = ckpt_table_name(t);
        if (t->keyed.kind == KEYED_GROWING && is_zch(x->c, name))
            rc = take_table(x, t, err);
        mem_free(name);
    }
    if (!rc && !x->tables.n)
        rc = err_coded(err, RC_INVAL, E2309,
                       "no table is zch in the checkpoint and dynamicemb in the config");
    return rc;
}

/* Whether a tensor belongs to a table that is converted. */
static bool belongs(const struct converting *x, const char *name)
{
    const char *own = str_starts(name, "optimizer.") ? name + strlen("optimizer.") : name;
    for (size_t i = 0; i < x->tables.n; i++) {
        const char *table = x->tables.at[i].name;
        if (str_starts(own, table) && own[strlen(table)] == '.')
            return true;
    }
    return false;
}

static const void *stored_rows(const void *arg, int64_t row, int64_t n, void *scratch,
                               struct err *err)
{
    const struct ckpt_st_tensor *t = arg;
    size_t bytes = (size_t)(t->bytes / (t->n_dims && t->dims[0] ? t->dims[0] : 1));
    return t->data + (size_t)row * bytes;
}

/* The first `rows` of a tensor as they are. */
static void copy_rows(struct converting *x, enum ckpt_part to,
                      const struct ckpt_st_tensor *t, int64_t rows)
{
    struct ckpt_st_source s = {.name = t->name,
                               .type = t->type,
                               .n_dims = t->n_dims,
                               .rows = rows,
                               .fn = stored_rows,
                               .arg = t};
    memcpy(s.dims, t->dims, sizeof(s.dims));
    if (t->n_dims)
        s.dims[0] = rows;
    s.row_bytes = (size_t)(t->bytes / (t->n_dims && t->dims[0] ? t->dims[0] : 1));
    ckpt_add_source(x->w, to, &s);
}

static void copy_rest(struct converting *x)
{
    for (size_t i = 0; i < ckpt_count(x->c); i++) {
        const struct ckpt_st_tensor *t = ckpt_at(x->c, i);
        if (!belongs(x, t->name))
            copy_rows(x, ckpt_part_at(x->c, i), t, t->n_dims ? t->dims[0] : 1);
    }
}

static int64_t number_at(const struct ckpt_st_tensor *t, int64_t i)
{
    int64_t v;
    memcpy(&v, t->data + (size_t)i * sizeof(v), sizeof(v));
    return v;
}

/* What the table keeps of its ids, where both kinds mean the same by it. */
static bool add_scores(struct converting *x, struct converted *v)
{
    int64_t n = v->keys->dims[0];
    enum embed_keyed_worth worth = v->to->keyed.worth;
    if ((worth != WORTH_COUNT && worth != WORTH_RECENT) || !is_list(v->counts, n) ||
        !is_list(v->last, n))
        return false;
    for (int k = 0; k < 2; k++)
        v->scores[k] = mem_try_alloc((size_t)n + 1, sizeof(int64_t));
    if (!v->scores[0] || !v->scores[1])
        return false;
    for (int64_t i = 0; i < n; i++) {
        v->scores[0][i] = number_at(v->counts, i);
        v->scores[1][i] = number_at(v->last, i) - v->now;
    }
    ckpt_add_i64(x->w, CKPT_STATE, v->counts->name, v->scores[0], n);
    ckpt_add_i64(x->w, CKPT_STATE, v->last->name, v->scores[1], n);
    return true;
}

static void put_facts(struct buf *b, const char *name, bool scores)
{
    buf_puts(b, b->n ? ", " : "{");
    buf_json_str(b, name, strlen(name));
    buf_printf(b, ": {\"optimizer\": \"none\"%s}",
               scores ? ", \"scores\": \"kept\"" : "");
}

/* The blob "tables": converted ones anew, others as they were. */
static void add_facts(struct converting *x, struct buf *facts)
{
    const struct node *all = ckpt_json(x->c, "tables");
    for (size_t i = 0; all && all->kind == NODE_MAP && i < all->map.n; i++) {
        struct str key = all->map.at[i].key;
        bool ours = false;
        for (size_t k = 0; k < x->tables.n; k++)
            ours |= str_is(key, x->tables.at[k].name);
        if (ours)
            continue;
        buf_puts(facts, facts->n ? ", " : "{");
        buf_json_str(facts, key.p, key.n);
        buf_puts(facts, ": ");
        json_print(all->map.at[i].value, 0, facts);
    }
    buf_puts(facts, facts->n ? "}" : "{}");
    ckpt_add_json(x->w, "tables", buf_str(facts));
}

static void add_tables(struct converting *x, struct train_dynamic_report *out)
{
    struct buf facts;
    buf_init(&facts, (size_t)1 << 24);
    for (size_t i = 0; i < x->tables.n; i++) {
        struct converted *v = &x->tables.at[i];
        int64_t n = v->keys->dims[0];
        copy_rows(x, CKPT_MODEL, v->rows, n);
        copy_rows(x, CKPT_MODEL, v->keys, n);
        bool scores = add_scores(x, v);
        put_facts(&facts, v->name, scores);
        VEC_PUSH(&out->tables, ((struct train_dynamic_table){
                                   .name = mem_strdup(v->name),
                                   .from = scores ? "with scores" : "without scores",
                                   .rows = n,
                                   .capacity = v->to->keyed.capacity}));
    }
    add_facts(x, &facts);
    buf_release(&facts);
}

static void copy_blob(struct converting *x, const char *name)
{
    const struct node *blob = ckpt_json(x->c, name);
    struct buf b;
    if (!blob)
        return;
    buf_init(&b, (size_t)1 << 30);
    json_print(blob, 0, &b);
    ckpt_add_json(x->w, name, buf_str(&b));
    buf_release(&b);
}

static enum rc convert(struct converting *x, const struct train_dynamic_conf *how,
                       struct train_dynamic_report *out, struct err *err)
{
    struct ckpt_writer_conf conf = {.config = how->config};
    x->w = ckpt_writer_open(how->save_dir, &conf);
    copy_rest(x);
    add_tables(x, out);
    copy_blob(x, "counters");
    return ckpt_commit(x->w, err);
}

enum rc train_dynamic_convert(const struct ckpt *c, const struct pc_EasyRecConfig *to,
                              const struct train_dynamic_conf *how,
                              struct train_dynamic_report *out, struct diags *diags,
                              struct err *err)
{
    struct converting x = {.c = c};
    struct train_session_options options = {.pool = how->pool, .no_labels = true};
    struct train_session *s = NULL;
    *out = (struct train_dynamic_report){0};
    enum rc rc = train_session_create(to, &options, &s, diags, err);
    if (!rc)
        rc = find_tables(&x, s->model->lookup, err);
    if (!rc)
        rc = convert(&x, how, out, err);
    for (size_t i = 0; i < x.tables.n; i++) {
        mem_free(x.tables.at[i].name);
        mem_free(x.tables.at[i].scores[0]);
        mem_free(x.tables.at[i].scores[1]);
    }
    VEC_RELEASE(&x.tables);
    train_session_destroy(s);
    if (rc)
        train_dynamic_report_release(out);
    return rc;
}
