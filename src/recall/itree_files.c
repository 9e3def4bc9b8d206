/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a tree. What could not be read back (an id or a text with a separator in it) is
 * refused before anything is written. Attributes of inner nodes are worked out for the
 * whole tree first (itree_attrs.c); then each table is one walk over the nodes, level by
 * level, through a buffer that is flushed as it fills. A file appears under its name whole.
 */
#include "recall/itree_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/rows.h"
#include "data/writer.h"
#include "recall/itree_attrs.h"

#define BLOCK ((size_t)1 << 16)
#define TEXT_MAX ((size_t)1 << 28)
#define CHUNK_ROWS 65536

/* A tree with what its nodes are called and have. */
struct writing {
    const struct itree *t;
    const struct recall_items *items;
    const struct itree_files *conf;
    int64_t max_id;
    int code_width;  /* digits of the largest code */
    int64_t **modes; /* [n_attrs]: NULL of a raw one */
    double **means;  /* [n_attrs]: NULL of others */
};

static bool is_raw(const struct writing *w, size_t attr)
{
    return attr >= w->conf->n_attrs - w->conf->n_raw;
}

static const struct column *attr_column(const struct writing *w, size_t attr)
{
    return &w->items->rows.cols[w->items->attr_at[attr]];
}

static bool is_leaf(const struct writing *w, int64_t node)
{
    return node >= w->t->level_at[w->t->n_levels - 1];
}

static void put_id(const struct writing *w, int64_t node, struct buf *b)
{
    if (is_leaf(w, node))
        recall_value_print(recall_items_ids(w->items), w->t->rows[w->t->leaf_from[node]],
                           b);
    else if (w->items->kind == ID_TEXT)
        buf_printf(b, "nonleaf#%0*jd", w->code_width, (intmax_t)w->t->codes[node]);
    else
        buf_printf(b, "%jd", (intmax_t)(w->max_id + w->t->codes[node] + 1));
}

static enum rc check_text(const struct writing *w, size_t col, struct str s,
                          struct err *err)
{
    struct str delim = str_c(w->conf->attr_delim);
    if (!s.n || (!memchr(s.p, '\t', s.n) && !memchr(s.p, '\n', s.n) &&
                 !memmem(s.p, s.n, delim.p, delim.n)))
        return RC_OK;
    return err_coded(err, RC_INVAL, E1908,
                     "column '%s': '%.*s' holds a tab, a line end or the delimiter '%s'",
                     w->items->schema.at[col].name, (int)(s.n < 60 ? s.n : 60), s.p,
                     w->conf->attr_delim);
}

/* Whether a column of the items stands in the tables. */
static bool is_written(const struct writing *w, size_t col)
{
    bool attr = col == 0;
    for (size_t i = 0; i < w->conf->n_attrs; i++)
        attr |= w->items->attr_at[i] == (int64_t)col;
    return attr;
}

/* Ids and texts that the tables can hold. */
static enum rc check_values(struct writing *w, struct err *err)
{
    const struct column *ids = recall_items_ids(w->items);
    enum rc rc = RC_OK;
    for (size_t c = 0; c < w->items->rows.n_cols && !rc; c++)
        for (int64_t i = 0; i < w->items->n && !rc; i++)
            if (w->items->rows.cols[c].type->id == TYPE_STR && is_written(w, c))
                rc = check_text(w, c, column_str(&w->items->rows.cols[c], i), err);
    for (int64_t i = 0; i < w->items->n && !rc && w->items->kind == ID_NUMBER; i++) {
        int64_t key;
        id_key(ids, i, ID_NUMBER, &key);
        if (key < 0)
            rc = err_coded(err, RC_INVAL, E2403,
                           "row %jd: an item of a tree cannot have the id %jd",
                           (intmax_t)i + 1, (intmax_t)key);
        w->max_id = key > w->max_id ? key : w->max_id;
    }
    int64_t code = w->t->codes[w->t->n - 1];
    if (!rc && w->max_id > INT64_MAX - 1 - code)
        rc = err_coded(err, RC_INVAL, E2403,
                       "items have ids up to %jd: there is no room above them for %jd "
                       "inner nodes",
                       (intmax_t)w->max_id, (intmax_t)w->t->level_at[w->t->n_levels - 1]);
    for (w->code_width = 1; code >= 10; code /= 10)
        w->code_width++;
    return rc;
}

static enum rc take_attrs(struct writing *w, struct err *err)
{
    enum rc rc = RC_OK;
    w->modes = mem_calloc(w->conf->n_attrs + 1, sizeof(*w->modes));
    w->means = mem_calloc(w->conf->n_attrs + 1, sizeof(*w->means));
    for (size_t i = 0; i < w->conf->n_attrs && !rc; i++) {
        const struct column *c = attr_column(w, i);
        if (is_raw(w, i) && !column_is_number(c->type))
            return err_coded(err, RC_INVAL, E2401,
                             "column '%s' holds texts: no mean can be taken of them",
                             w->items->schema.at[w->items->attr_at[i]].name);
        size_t n = (size_t)w->t->n;
        if (is_raw(w, i))
            w->means[i] = mem_try_alloc(n, sizeof(**w->means));
        else
            w->modes[i] = mem_try_alloc(n, sizeof(**w->modes));
        if (!w->means[i] && !w->modes[i])
            return err_set(err, RC_NOMEM, "no memory for %zu nodes", n);
        if (is_raw(w, i))
            itree_means(w->t, c, w->conf->pool, w->means[i]);
        else
            rc = itree_modes(w->t, c, w->conf->pool, w->modes[i], err);
    }
    return rc;
}

static bool is_whole(const struct type *t)
{
    return t->id != TYPE_F32 && t->id != TYPE_F64;
}

static void put_attr(const struct writing *w, int64_t node, size_t attr, struct buf *b)
{
    const struct column *c = attr_column(w, attr);
    char text[32];
    if (!is_raw(w, attr)) {
        if (w->modes[attr][node] >= 0)
            recall_value_print(c, w->modes[attr][node], b);
        return;
    }
    double v = isnan(w->means[attr][node]) ? 0 : w->means[attr][node];
    if (is_whole(c->type))
        buf_printf(b, "%.0f", rint(v));
    else if (c->type->id == TYPE_F32) {
        str_from_f32((float)v, text);
        buf_puts(b, text);
    } else {
        str_from_f64(v, text);
        buf_puts(b, text);
    }
}

/* A text file that grows by lines. */
struct lines {
    struct fs_file *f;
    struct buf b;
    enum rc rc;
};

static void lines_open(struct lines *l, const char *dir, const char *name,
                       struct err *err)
{
    char *path = fs_join(dir, name);
    buf_init(&l->b, TEXT_MAX);
    l->f = NULL;
    l->rc = fs_mkdirs(dir, 0755, err);
    if (!l->rc)
        l->rc = fs_create(path, 0644, &l->f, err);
    mem_free(path);
}

static void lines_flush(struct lines *l, bool all, struct err *err)
{
    if (!l->rc)
        l->rc = buf_check(&l->b, err);
    if (!l->rc && l->b.n && (all || l->b.n >= BLOCK)) {
        l->rc = fs_append(l->f, l->b.p, l->b.n, err);
        buf_clear(&l->b);
    }
}

static enum rc lines_close(struct lines *l, struct err *err)
{
    lines_flush(l, true, err);
    if (l->rc)
        fs_abandon(l->f);
    else
        l->rc = fs_commit(l->f, err);
    buf_release(&l->b);
    return l->rc;
}

static const char *id_type(const struct writing *w)
{
    return w->items->kind == ID_TEXT ? "string" : "int64";
}

static void put_node(const struct writing *w, int64_t node, int64_t level, bool above,
                     struct buf *b)
{
    const char *delim = w->conf->attr_delim;
    if (above)
        buf_puts(b, "-1");
    else
        put_id(w, node, b);
    buf_printf(b, "\t1.0\t%jd%s", above ? (intmax_t)-1 : (intmax_t)level, delim);
    put_id(w, node, b);
    for (size_t i = 0; i < w->conf->n_attrs; i++) {
        buf_puts(b, delim);
        put_attr(w, node, i, b);
    }
    buf_putc(b, '\n');
}

static enum rc write_nodes(const struct writing *w, struct err *err)
{
    struct lines l;
    lines_open(&l, w->conf->dir, "node_table.txt", err);
    buf_printf(&l.b, "id:%s\tweight:float\tfeature:string\n", id_type(w));
    put_node(w, 0, 0, true, &l.b); /* from which the root is reached */
    for (int64_t level = 0; level < w->t->n_levels; level++)
        for (int64_t k = w->t->level_at[level]; k < w->t->level_at[level + 1] && !l.rc;
             k++) {
            put_node(w, k, level, false, &l.b);
            lines_flush(&l, false, err);
        }
    return lines_close(&l, err);
}

static void put_edge(const struct writing *w, int64_t from, int64_t to, struct buf *b)
{
    put_id(w, from, b);
    buf_putc(b, '\t');
    put_id(w, to, b);
    buf_puts(b, "\t1.0\n");
}

static enum rc write_edges(const struct writing *w, struct err *err)
{
    struct lines l;
    const struct itree *t = w->t;
    lines_open(&l, w->conf->dir, "edge_table.txt", err);
    buf_printf(&l.b, "src_id:%s\tdst_id:%s\tweight:float\n", id_type(w), id_type(w));
    for (int64_t k = t->level_at[t->n_levels - 1]; k < t->n && !l.rc; k++) {
        for (int64_t up = t->parent[k]; up > 0; up = t->parent[up])
            put_edge(w, k, up, &l.b);
        lines_flush(&l, false, err);
    }
    return lines_close(&l, err);
}

static enum rc write_children(const struct writing *w, struct err *err)
{
    struct lines l;
    const struct itree *t = w->t;
    lines_open(&l, w->conf->dir, "predict_edge_table.txt", err);
    buf_printf(&l.b, "src_id:%s\tdst_id:%s\tweight:float\n-1\t", id_type(w), id_type(w));
    put_id(w, 0, &l.b);
    buf_puts(&l.b, "\t1.0\n");
    for (int64_t k = 1; k < t->n && !l.rc; k++) {
        put_edge(w, t->parent[k], k, &l.b);
        lines_flush(&l, false, err);
    }
    return lines_close(&l, err);
}

static enum rc write_serving(const struct writing *w, struct err *err)
{
    struct lines l;
    lines_open(&l, w->conf->serving, "serving_tree", err);
    buf_printf(&l.b, "%jd %jd\n", (intmax_t)w->t->n_levels, (intmax_t)w->t->branch);
    for (int64_t k = 0; k < w->t->n && !l.rc; k++) {
        buf_printf(&l.b, "%jd ", (intmax_t)w->t->codes[k]);
        put_id(w, k, &l.b);
        buf_putc(&l.b, '\n');
        lines_flush(&l, false, err);
    }
    return lines_close(&l, err);
}

static enum rc add_id(const struct writing *w, int64_t node, struct column *to,
                      struct err *err)
{
    struct buf b;
    int64_t key;
    if (w->items->kind == ID_NUMBER) {
        if (is_leaf(w, node))
            id_key(recall_items_ids(w->items), w->t->rows[w->t->leaf_from[node]],
                   ID_NUMBER, &key);
        else
            key = w->max_id + w->t->codes[node] + 1;
        return column_add_i64(to, key, err);
    }
    buf_init(&b, TEXT_MAX);
    put_id(w, node, &b);
    enum rc rc = column_add_str(to, str_of(b.p, b.n), err);
    buf_release(&b);
    return rc;
}

static enum rc add_mean(double v, struct column *to, struct err *err)
{
    switch (to->type->id) {
    case TYPE_F32:
        return column_add_f32(to, (float)v, err);
    case TYPE_F64:
        return column_add_f64(to, v, err);
    case TYPE_I32:
        return column_add_i32(to, (int32_t)rint(v), err);
    case TYPE_U32:
        return column_add_u32(to, (uint32_t)rint(v), err);
    case TYPE_U64:
        return column_add_u64(to, (uint64_t)rint(v), err);
    case TYPE_BOOL:
        return column_add_bool(to, rint(v) > 0, err);
    default:
        return column_add_i64(to, (int64_t)rint(v), err);
    }
}

static enum rc add_attr(const struct writing *w, int64_t node, size_t attr,
                        struct column *to, struct err *err)
{
    if (!is_raw(w, attr)) {
        int64_t row = w->modes[attr][node];
        return row < 0 ? column_add_null(to, err)
                       : column_append(to, attr_column(w, attr), row, 1, err);
    }
    double v = w->means[attr][node];
    return isnan(v) ? column_add_null(to, err) : add_mean(v, to, err);
}

static enum rc add_nodes(const struct writing *w, struct writer *out, struct batch *b,
                         struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t from = 0; from < w->t->n && !rc; from += CHUNK_ROWS) {
        int64_t to = from + CHUNK_ROWS < w->t->n ? from + CHUNK_ROWS : w->t->n;
        batch_clear(b);
        for (int64_t k = from; k < to && !rc; k++) {
            rc = add_id(w, k, &b->cols[0], err);
            for (size_t i = 0; i < w->conf->n_attrs && !rc; i++)
                rc = add_attr(w, k, i, &b->cols[i + 1], err);
        }
        if (!rc)
            rc = batch_finish(b, err);
        if (!rc)
            rc = writer_add(out, b, err);
    }
    return rc;
}

static enum rc write_features(const struct writing *w, struct err *err)
{
    struct data_schema schema = {0};
    struct writer *out = NULL;
    struct batch b;
    struct type id = type_of(w->items->kind == ID_TEXT ? TYPE_STR : TYPE_I64, false);
    char *dir = fs_join(w->conf->dir, "node_feature");
    char *path = fs_join(dir, "part-0.parquet");
    data_schema_add(&schema, str_c(w->items->schema.at[0].name), &id);
    for (size_t i = 0; i < w->conf->n_attrs; i++) {
        const struct data_field *f = &w->items->schema.at[w->items->attr_at[i]];
        struct type t = f->type;
        t.nullable = true;
        data_schema_add(&schema, str_c(f->name), &t);
    }
    batch_init(&b, &schema);
    enum rc rc = fs_mkdirs(dir, 0755, err);
    if (!rc)
        rc = writer_open(path, &writer_parquet, &schema, &(struct writer_conf){0}, &out,
                         err);
    if (!rc)
        rc = add_nodes(w, out, &b, err);
    if (rc)
        writer_abandon(out);
    else
        rc = writer_commit(out, err);
    batch_release(&b);
    data_schema_release(&schema);
    mem_free(dir);
    mem_free(path);
    return rc;
}

enum rc itree_write(const struct itree *t, const struct recall_items *items,
                    const struct itree_files *conf, struct err *err)
{
    struct writing w = {.t = t, .items = items, .conf = conf};
    enum rc rc = check_values(&w, err);
    if (!rc)
        rc = take_attrs(&w, err);
    if (!rc)
        rc = write_nodes(&w, err);
    if (!rc)
        rc = write_edges(&w, err);
    if (!rc)
        rc = write_children(&w, err);
    if (!rc)
        rc = write_features(&w, err);
    if (!rc && conf->serving)
        rc = write_serving(&w, err);
    for (size_t i = 0; w.modes && w.means && i < conf->n_attrs; i++) {
        mem_free(w.modes[i]);
        mem_free(w.means[i]);
    }
    mem_free(w.modes);
    mem_free(w.means);
    return rc;
}
