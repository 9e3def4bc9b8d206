/* SPDX-License-Identifier: Apache-2.0 */
/* Threads take a batch of users each; their results are written in order. A user's nodes
 * at hand, all users of a batch one after the other, become a longer batch that the
 * scorer sees as any other: columns of items from the node table, the others repeated.
 */
#include "train/export/retrieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "data/rows.h"
#include "data/sampler/edges.h"
#include "train/export/predict_private.h"
#include "train/source.h"

#define SCORE_ROWS 4096 /* at a time */
#define RECALL_IDS "recall_ids"

/* The tree, read once. */
struct tree_tables {
    struct nodes nodes;
    struct edges children;
    struct data_schema data; /* columns of the input */
    int64_t *attr_at;        /* [data.n]: column of nodes.attrs, or -1 */
    int64_t id_at;           /* of nodes.attrs: the item's id */
    size_t item_at;          /* of the input: likewise */
    int64_t levels;          /* of the tree */
    int64_t first;           /* level that is scored first, */
    int64_t *first_nodes;    /* and its nodes */
    int64_t n_first, leaves;
};

struct scored {
    int64_t node;
    float score;
};

/* One batch of users. */
struct seeker {
    const struct tree_tables *t;
    const struct train_retrieve_options *o;
    const char *output; /* of the model */
    struct train_scorer *scorer;
    struct data_schema schema;
    int64_t file;
    struct batch rows, longer, out;
    struct train_predict_place behind;
    int64_t part;             /* of the output, that its rows go to */
    bool ends;                /* that part */
    VEC(int64_t) nodes, next; /* all users' nodes, one after the other */
    VEC(int64_t) at, next_at; /* where each user's begin, and the end */
    VEC(int64_t) from;        /* of each node: its user */
    VEC(struct scored) scores;
    int64_t found;
    enum rc rc;
    struct err err;
};

static void tables_release(struct tree_tables *t)
{
    nodes_release(&t->nodes);
    edges_release(&t->children);
    data_schema_release(&t->data);
    mem_free(t->attr_at);
    mem_free(t->first_nodes);
}

static const int64_t *children_of(const struct tree_tables *t, int64_t node, int64_t *n)
{
    return edges_of(&t->children, column_i64(&t->nodes.keys, node), n);
}

static enum rc bad_tree(const char *what, struct err *err)
{
    return err_coded(err, RC_INVAL, E2404, "%s", what);
}

/* The root, and how many levels there are. */
static enum rc find_root(struct tree_tables *t, int64_t *root, struct err *err)
{
    *root = -1;
    for (int64_t i = 0; i < t->nodes.n; i++) {
        int64_t level = column_i64(&t->nodes.levels, i);
        if (level == 0 && *root >= 0)
            return bad_tree("the tree has two nodes of level 0", err);
        if (level == 0)
            *root = i;
        t->levels = level + 1 > t->levels ? level + 1 : t->levels;
    }
    for (int64_t i = 0; i < t->nodes.n; i++)
        t->leaves += column_i64(&t->nodes.levels, i) == t->levels - 1;
    if (*root < 0 || t->levels < 2)
        return bad_tree("the tree has no root of level 0 with nodes below", err);
    return RC_OK;
}

/* Nodes of the first level that is scored: all that the root's children lead to. */
static enum rc first_level(struct tree_tables *t, const struct train_retrieve_options *o,
                           struct err *err)
{
    VEC(int64_t) at = {0}, next = {0};
    int64_t root, wide = 1;
    enum rc rc = find_root(t, &root, err);
    if (rc)
        return rc;
    while (t->first < t->levels - 1 && wide < 2 * o->branch * o->items) {
        wide *= o->branch;
        t->first++;
    }
    VEC_PUSH(&at, root);
    for (int64_t l = 0; l < t->first; l++) {
        next.n = 0;
        for (size_t i = 0; i < at.n; i++) {
            int64_t n;
            const int64_t *kids = children_of(t, at.at[i], &n);
            for (int64_t k = 0; k < n; k++)
                VEC_PUSH(&next, kids[k]);
        }
        at.n = 0;
        for (size_t i = 0; i < next.n; i++)
            VEC_PUSH(&at, next.at[i]);
    }
    VEC_RELEASE(&next);
    if (at.n == 0)
        rc = bad_tree("the root of the tree leads nowhere: predict_edge_input_path has "
                      "no children of it",
                      err);
    t->first_nodes = at.at;
    t->n_first = (int64_t)at.n;
    return rc;
}

static enum rc find_columns(struct tree_tables *t, const char *id, struct err *err)
{
    t->attr_at = mem_calloc(t->data.n + 1, sizeof(*t->attr_at));
    for (size_t i = 0; i < t->data.n; i++)
        t->attr_at[i] = data_schema_find(&t->nodes.schema, str_c(t->data.at[i].name));
    t->id_at = data_schema_find(&t->nodes.schema, str_c(id));
    int64_t item = data_schema_find(&t->data, str_c(id));
    if (t->id_at < 0 || item < 0)
        return err_coded(err, RC_INVAL, E2404,
                         "item_id_field: there is no column '%s' in the input", id);
    t->item_at = (size_t)item;
    return RC_OK;
}

static enum rc tables_read(struct tree_tables *t, const struct train_retrieve_options *o,
                           const struct data_schema *data, struct err *err)
{
    struct sampler_conf c;
    const struct pc_DataConfig *d = o->predict.data;
    if (!d->tdm_sampler ||
        !train_source_sampler(d, NULL, SOURCE_EVAL, 0, (struct train_source_share){0},
                              NULL, &c))
        return bad_tree("data_config has no tdm_sampler: the model is not one of a tree",
                        err);
    if (o->nodes)
        c.items = o->nodes;
    data_schema_copy(&t->data, data);
    enum rc rc = sampler_nodes(&c, &t->data, NULL, &t->nodes, err);
    struct edges_conf edges = {
        .what = "tree's children",
        .path = o->children ? o->children : d->tdm_sampler->predict_edge_input_path,
        .delim = c.field_delim};
    if (!rc)
        rc = edges_read(&t->children, &edges, &t->nodes, err);
    if (!rc)
        rc = find_columns(t, c.item_id_field, err);
    if (!rc)
        rc = first_level(t, o, err);
    return rc;
}

/* Nodes [begin, end) of all users as rows of the longer batch. */
static enum rc fill_longer(struct seeker *x, int64_t begin, int64_t end)
{
    enum rc rc = RC_OK;
    batch_clear(&x->longer);
    for (size_t i = 0; i < x->longer.n_cols && !rc; i++) {
        struct column *to = &x->longer.cols[i];
        int64_t attr = x->t->attr_at[i];
        if (attr >= 0)
            rc = column_gather(to, &x->t->nodes.attrs.cols[attr], x->nodes.at + begin,
                               end - begin, &x->err);
        else
            rc = column_gather(to, &x->rows.cols[i], x->from.at + begin, end - begin,
                               &x->err);
    }
    x->longer.n = end - begin;
    return rc;
}

static enum rc score_nodes(struct seeker *x)
{
    int64_t n = (int64_t)x->nodes.n;
    enum rc rc = RC_OK;
    x->from.n = x->scores.n = 0;
    for (int64_t u = 0; u < x->rows.n; u++)
        for (int64_t k = x->at.at[u]; k < x->at.at[u + 1]; k++)
            VEC_PUSH(&x->from, u);
    for (int64_t begin = 0; begin < n && !rc; begin += SCORE_ROWS) {
        int64_t end = begin + SCORE_ROWS < n ? begin + SCORE_ROWS : n;
        rc = fill_longer(x, begin, end);
        if (!rc)
            rc = train_scorer_run(x->scorer, &x->longer, &x->err);
        if (rc)
            break;
        struct view v = train_scorer_view(x->scorer, x->output);
        for (int64_t k = begin; k < end && !rc; k++) {
            struct scored s = {.node = x->nodes.at[k], .score = *view_row(&v, k - begin)};
            if (!isfinite(s.score)) /* it could not be sorted */
                rc = err_coded(
                    &x->err, RC_INVAL, E2017, "row %jd: output '%s' is %g",
                    (intmax_t)(x->behind.at.row - x->rows.n + x->from.at[k] + 1),
                    x->output, (double)s.score);
            VEC_PUSH(&x->scores, s);
        }
    }
    return rc;
}

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Keeps the best nodes of each user; above the leaves their children come next. A node
 * without children stays as it is.
 */
static void keep_best(struct seeker *x, bool last)
{
    int64_t most = last ? x->o->items : 2 * x->o->items;
    x->next.n = x->next_at.n = 0;
    VEC_PUSH(&x->next_at, 0);
    for (int64_t u = 0; u < x->rows.n; u++) {
        struct scored *s = x->scores.at + x->at.at[u];
        int64_t n = x->at.at[u + 1] - x->at.at[u];
        qsort(s, (size_t)n, sizeof(*s), by_score);
        for (int64_t k = 0; k < n && k < most; k++) {
            int64_t n_kids = 0;
            const int64_t *kids = last ? NULL : children_of(x->t, s[k].node, &n_kids);
            if (n_kids == 0)
                VEC_PUSH(&x->next, s[k].node);
            for (int64_t c = 0; c < n_kids; c++)
                VEC_PUSH(&x->next, kids[c]);
        }
        VEC_PUSH(&x->next_at, (int64_t)x->next.n);
    }
    x->nodes.n = x->at.n = 0;
    for (size_t i = 0; i < x->next.n; i++)
        VEC_PUSH(&x->nodes, x->next.at[i]);
    for (size_t i = 0; i < x->next_at.n; i++)
        VEC_PUSH(&x->at, x->next_at.at[i]);
}

static enum rc fill_result(struct seeker *x)
{
    struct column *to = &x->out.cols[x->out.n_cols - 1];
    const struct column *ids = &x->t->nodes.attrs.cols[x->t->id_at];
    enum rc rc = RC_OK;
    for (int64_t u = 0; u < x->rows.n && !rc; u++) {
        int64_t key = 0, own = -1, n = x->at.at[u + 1] - x->at.at[u];
        if (id_key(&x->rows.cols[x->t->item_at], u, x->t->nodes.kind, &key))
            own = keymap_find(&x->t->nodes.index, key);
        for (int64_t k = x->at.at[u]; k < x->at.at[u + 1]; k++)
            x->found += x->nodes.at[k] == own;
        rc = column_gather(&to->kids[0], ids, x->nodes.at + x->at.at[u], n, &x->err);
        if (!rc)
            rc = column_add_nested(to, &x->err);
    }
    for (size_t i = 0; i + 1 < x->out.n_cols && !rc; i++)
        rc = column_append(&x->out.cols[i],
                           batch_find(&x->rows, str_c(x->out.schema->at[i].name)), 0,
                           x->rows.n, &x->err);
    x->out.n = x->rows.n;
    return rc;
}

static enum rc seek_batch(struct seeker *x)
{
    enum rc rc = RC_OK;
    x->nodes.n = x->at.n = 0;
    x->found = 0;
    VEC_PUSH(&x->at, 0);
    for (int64_t u = 0; u < x->rows.n; u++) {
        for (int64_t k = 0; k < x->t->n_first; k++)
            VEC_PUSH(&x->nodes, x->t->first_nodes[k]);
        VEC_PUSH(&x->at, (int64_t)x->nodes.n);
    }
    for (int64_t l = x->t->first; l < x->t->levels && !rc; l++) {
        rc = score_nodes(x);
        if (!rc)
            keep_best(x, l == x->t->levels - 1);
    }
    batch_clear(&x->out);
    return rc ? rc : fill_result(x);
}

static void seek_batches(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct seeker *x = arg;
    for (int64_t i = begin; i < end; i++)
        if (!x[i].rc && x[i].rows.n)
            x[i].rc = seek_batch(&x[i]);
}

static void seeker_release(struct seeker *x)
{
    train_scorer_destroy(x->scorer);
    batch_release(&x->rows);
    batch_release(&x->longer);
    batch_release(&x->out);
    data_schema_release(&x->schema);
    VEC_RELEASE(&x->nodes);
    VEC_RELEASE(&x->next);
    VEC_RELEASE(&x->at);
    VEC_RELEASE(&x->next_at);
    VEC_RELEASE(&x->from);
    VEC_RELEASE(&x->scores);
}

/* What one retrieval holds. */
struct run {
    const struct train_retrieve_options *o;
    struct train_predict_input in;
    struct train_predict_output out;
    struct tree_tables tables;
    struct data_schema result;
    struct seeker *seekers; /* [n] */
    int64_t n;
    struct pool *pool;
    struct train_predict_dealer dealer;
};

/* The next rows of this rank; none at the end. */
static enum rc read_batch(struct run *r, struct seeker *x, struct err *err)
{
    enum rc rc = RC_OK;
    do
        rc = train_predict_input_next(&r->in, &x->schema, &x->file, &x->rows, err);
    while (!rc && x->rows.n &&
           !train_predict_deal(&r->dealer, x->rows.n, &x->part, &x->ends));
    if (!rc && x->rows.n && !data_schema_equal(&x->schema, &r->tables.data))
        rc = err_coded(err, RC_INVAL, E2404,
                       "%s: its columns are not those of the first file",
                       train_predict_input_file(&r->in));
    x->behind = r->in.place;
    x->rc = RC_OK;
    return rc;
}

static enum rc run_all(struct run *r, struct train_retrieve_summary *out, struct err *err)
{
    bool more = true;
    enum rc rc = RC_OK;
    while (!rc && more) {
        int64_t n = 0;
        for (; n < r->n && more && !rc; n++) {
            rc = read_batch(r, &r->seekers[n], err);
            more = !rc && r->seekers[n].rows.n > 0;
        }
        if (!rc)
            pool_for(r->pool, n, 1, seek_batches, r->seekers);
        for (int64_t i = 0; i < n && !rc; i++) {
            struct seeker *x = &r->seekers[i];
            rc = x->rc;
            if (rc) {
                if (err)
                    *err = x->err;
                err_wrap(err, rc, "%s: the batch that ends with row %jd",
                         r->in.files.at[x->behind.file], (intmax_t)x->behind.at.row);
            } else if (x->rows.n) {
                rc = train_predict_output_add(
                    &r->out,
                    &(struct train_predict_rows){.rows = &x->out,
                                                 .behind = x->behind,
                                                 .part = x->part,
                                                 .ends = x->ends},
                    err);
                out->rows += x->rows.n;
                out->found += x->found;
            }
        }
    }
    return rc;
}

/* Of all ranks, on all of them. */
static enum rc sum_up(struct comm *comm, struct train_retrieve_summary *out,
                      struct err *err)
{
    int64_t sums[] = {out->rows, out->found};
    enum rc rc = comm_all_reduce(comm, comm_i64(sums), ARRAY_LEN(sums), COMM_SUM, err);
    out->rows = sums[0];
    out->found = sums[1];
    return rc;
}

static const char *score_output(const struct train_session *s, struct err *err)
{
    const struct graph *g = s->model->graph;
    const char *name = graph_output(g, "probs1") ? "probs1" : "probs";
    const struct nn_val *v = graph_output(g, name);
    if (v && nn_shape_width(nn_val_shape(v)) == 1)
        return name;
    (void)!bad_tree("the model has no output 'probs1' or 'probs' of one value", err);
    return NULL;
}

static enum rc open_seekers(struct run *r, struct train_session *s, struct err *err)
{
    const char *output = score_output(s, err);
    enum rc rc = output ? RC_OK : RC_INVAL;
    r->n = r->o->predict.threads < 1 ? 1 : r->o->predict.threads;
    r->seekers = mem_calloc((size_t)r->n, sizeof(*r->seekers));
    for (int64_t i = 0; i < r->n && !rc; i++) {
        struct seeker *x = &r->seekers[i];
        *x = (struct seeker){.t = &r->tables, .o = r->o, .output = output, .file = -1};
        batch_init(&x->longer, &r->tables.data);
        batch_init(&x->out, &r->result);
        rc = train_scorer_create(s, r->n > 1, &x->scorer, err);
    }
    return rc;
}

/* Reserved columns, then the items. */
static void make_result(struct run *r, size_t n_reserved)
{
    struct type id = r->tables.nodes.schema.at[r->tables.id_at].type;
    for (size_t i = 0; i < n_reserved; i++)
        data_schema_add(&r->result, str_c(r->in.kept.at[i].name), &r->in.kept.at[i].type);
    struct type list = type_list(&r->result.mem, id, false);
    data_schema_add(&r->result, str_c(RECALL_IDS), &list);
}

static size_t count_names(const char *list)
{
    size_t n = 0;
    struct str rest = str_c(list ? list : ""), part;
    while (str_split(&rest, ',', &part))
        n += str_trim(part).n > 0;
    return n;
}

static const struct writer_ops *result_format(const struct run *r)
{
    const struct writer_ops *w = writer_find(r->in.reader->ops->name);
    if (r->o->predict.format)
        return r->o->predict.format;
    return w && !w->scheme && w->nested ? w : &writer_parquet;
}

static enum rc open_all(struct run *r, const struct train_predict_options *reading,
                        struct train_session *s, struct diags *diags, struct err *err)
{
    enum rc rc = train_predict_input_open(&r->in, s, NULL, reading, diags, err);
    if (!rc)
        rc = tables_read(&r->tables, r->o, reader_schema(r->in.reader), err);
    if (!rc) {
        make_result(r, count_names(r->o->predict.reserved));
        rc = train_predict_output_open(&r->out, &r->o->predict, result_format(r),
                                       &r->result, &r->in.files, err);
    }
    if (!rc)
        r->dealer = train_predict_dealer_of(&r->out);
    if (!rc && r->out.rows > 0 && !r->out.done)
        rc = train_predict_input_seek(&r->in, &r->out.next, err);
    if (!rc)
        rc = open_seekers(r, s, err);
    return rc;
}

enum rc train_retrieve_run(struct train_session *s,
                           const struct train_retrieve_options *o,
                           struct train_retrieve_summary *out, struct diags *diags,
                           struct err *err)
{
    struct run r = {.o = o, .pool = s->options.pool};
    const struct pc_TDMSampler *sampler = o->predict.data->tdm_sampler;
    struct train_predict_options reading = o->predict;
    bool any = o->predict.reserved && o->predict.reserved[0];
    char *names = mem_printf("%s%s%s", any ? o->predict.reserved : "", any ? "," : "",
                             sampler ? sampler->item_id_field : "");
    reading.reserved = names; /* the item's id is read, too */
    *out = (struct train_retrieve_summary){0};
    enum rc rc = RC_OK;
    if (str_starts(names, "ALL_"))
        rc = err_coded(err, RC_INVAL, E2011,
                       "name the columns to be kept one by one: '%s'",
                       o->predict.reserved);
    if (!rc)
        rc = open_all(&r, &reading, s, diags, err);
    out->predict.before = r.out.rows;
    out->predict.done_before = r.out.done;
    out->first_level = r.tables.first;
    out->levels = r.tables.levels;
    out->leaves = r.tables.leaves;
    if (!rc && !r.out.done) {
        rc = run_all(&r, out, err);
        if (!rc && out->predict.before + r.dealer.seen == 0)
            rc = err_coded(err, RC_INVAL, E2014, "no rows in '%s'", o->predict.input);
        if (r.dealer.ranks > 1)
            r.out.next = r.in.place; /* behind the rows of all */
        rc = train_predict_output_finish(&r.out, rc, err);
        if (!rc)
            rc = sum_up(o->predict.comm, out, err);
    }
    train_predict_output_release(&r.out);
    out->predict.rows = r.out.rows - out->predict.before;
    out->predict.parts = r.out.parts;
    for (int64_t i = 0; r.seekers && i < r.n; i++)
        seeker_release(&r.seekers[i]);
    mem_free(r.seekers);
    tables_release(&r.tables);
    data_schema_release(&r.result);
    train_predict_input_release(&r.in);
    mem_free(names);
    return rc;
}
