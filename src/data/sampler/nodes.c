/* SPDX-License-Identifier: Apache-2.0 */
/* A table of items in memory: ids, weights, attributes. Attributes stand in one text
 * with delimiters; it is cut up once, here, and each piece becomes a value of the type
 * that its column has in the training data. Later batches only copy rows.
 */
#include "data/sampler/nodes.h"

#include <string.h>

#include "base/mem.h"
#include "data/sampler/attr.h"
#include "data/sampler/table.h"

enum { NOT_WANTED = -1, IS_LEVEL = -2 };

static const struct type key_type = {.id = TYPE_I64};
static const struct type weight_type = {.id = TYPE_F64};

struct reading {
    struct nodes *to;
    const struct nodes_conf *conf;
    bool first; /* nothing was read yet */
};

/* What an attribute of that column is: of a list one of its elements. */
static const struct type *attr_type(const struct nodes_conf *c, int64_t at)
{
    const struct type *t = &c->data->at[at].type;
    return c->list_prefix && t->id == TYPE_LIST ? &t->kids[0].type : t;
}

static enum rc bad_attr(const char *name, const struct type *t, struct err *err)
{
    struct buf type;
    buf_init(&type, 256);
    type_print(t, &type);
    enum rc rc = err_coded(err, RC_INVAL, E1904,
                           "attribute '%s': no values of type %s can be made from text",
                           name, buf_str(&type));
    buf_release(&type);
    return rc;
}

/* Attribute i, whose column has that name. */
static enum rc choose_attr(struct nodes *n, const struct nodes_conf *c, size_t i,
                           const char *name, struct err *err)
{
    int64_t at = data_schema_find(c->data, str_c(name));
    n->column_of[i] = NOT_WANTED;
    if (c->level_field && strcmp(name, c->level_field) == 0) {
        n->column_of[i] = IS_LEVEL;
    } else if (at < 0) {
        if (c->notes)
            buf_printf(c->notes,
                       "attribute '%s' is not a column that training reads: ignored\n",
                       name);
    } else if (data_schema_find(&n->schema, str_c(name)) >= 0) {
        return err_coded(err, RC_INVAL, E1904, "attr_fields names '%s' twice",
                         c->attr_fields[i]);
    } else if (!attr_accepts(attr_type(c, at))) {
        return bad_attr(name, attr_type(c, at), err);
    } else {
        n->column_of[i] = (int64_t)n->schema.n;
        data_schema_add(&n->schema, str_c(name), attr_type(c, at));
    }
    return RC_OK;
}

/* Which attributes are kept, and as what. */
static enum rc choose_attrs(struct nodes *n, const struct nodes_conf *c, struct err *err)
{
    n->column_of = mem_calloc(c->n_attr_fields + 1, sizeof(*n->column_of));
    for (size_t i = 0; i < c->n_attr_fields; i++) {
        char *name =
            mem_printf("%s%s", c->list_prefix ? c->list_prefix : "", c->attr_fields[i]);
        enum rc rc = choose_attr(n, c, i, name, err);
        mem_free(name);
        if (rc)
            return rc;
    }
    return RC_OK;
}

/* Cuts the part before `sep` off; the last part is what remains. */
static struct str sampler_nodes_cut(struct str *rest, struct str sep)
{
    const char *at = sep.n && rest->n ? memmem(rest->p, rest->n, sep.p, sep.n) : NULL;
    struct str part = *rest;
    if (!at) {
        *rest = (struct str){0};
        return part;
    }
    part.n = (size_t)(at - rest->p);
    *rest = str_of(at + sep.n, rest->n - part.n - sep.n);
    return part;
}

static size_t count_pieces(struct str s, struct str sep)
{
    size_t n = 0;
    do {
        sampler_nodes_cut(&s, sep);
        n++;
    } while (s.p);
    return n;
}

static enum rc add_attrs(struct reading *r, struct str text, int64_t row, struct err *err)
{
    const struct nodes_conf *c = r->conf;
    struct str sep = str_c(c->attr_delim), rest = text;
    size_t n = count_pieces(text, sep);
    if (n != c->n_attr_fields && c->n_attr_fields > 0)
        return err_coded(err, RC_FORMAT, E1903,
                         "row %jd: %zu attributes, attr_fields has %zu names",
                         (intmax_t)row, n, c->n_attr_fields);
    for (size_t i = 0; i < c->n_attr_fields; i++) {
        struct str piece = sampler_nodes_cut(&rest, sep);
        int64_t at = r->to->column_of[i], level = 0;
        enum rc rc = RC_OK;
        if (at == IS_LEVEL) {
            rc = str_to_i64(piece, &level)
                     ? column_add_i64(&r->to->levels, level, err)
                     : err_set(err, RC_FORMAT, "'%.*s' is not an integer",
                               (int)(piece.n < 60 ? piece.n : 60), piece.p);
        } else if (at >= 0) {
            rc = attr_add(&r->to->attrs.cols[at], piece, err);
        }
        if (rc == RC_FORMAT)
            err->code = E1903;
        if (rc)
            return err_wrap(err, rc, "row %jd: attribute '%s'", (intmax_t)row,
                            c->attr_fields[i]);
    }
    return RC_OK;
}

static enum rc add_rows(void *arg, const struct sampler_table_rows *rows, struct err *err)
{
    struct reading *r = arg;
    struct nodes *n = r->to;
    enum rc rc = RC_OK;
    if (!r->first && rows->kinds[0] != n->kind)
        return err_coded(err, RC_FORMAT, E1901,
                         "its ids are not of the type of the files before it");
    r->first = false;
    n->kind = rows->kinds[0];
    for (int64_t i = 0; i < rows->batch->n && !rc; i++) {
        int64_t key = 0;
        double weight = 0;
        rc = sampler_table_id(rows, 0, i, &key, err);
        if (!rc)
            rc = sampler_table_weight(rows, 1, i, &weight, err);
        if (!rc)
            rc = column_add_i64(&n->keys, key, err);
        if (!rc)
            rc = column_add_f64(&n->weights, weight, err);
        if (!rc)
            rc = add_attrs(r, column_str(&rows->batch->cols[2], i), rows->first + i, err);
    }
    return rc;
}

static enum rc index_keys(struct nodes *n, struct err *err)
{
    enum rc rc = keymap_init(&n->index, n->n, err);
    for (int64_t i = 0; i < n->n && !rc; i++) {
        int64_t before = keymap_add(&n->index, column_i64(&n->keys, i), i);
        if (before != i)
            rc = err_coded(err, RC_FORMAT, E1902,
                           "row %jd has the id of row %jd, an item may occur only once",
                           (intmax_t)i + 1, (intmax_t)before + 1);
    }
    return rc;
}

static enum rc check_weights(const struct nodes *n, struct err *err)
{
    for (int64_t i = 0; i < n->n; i++)
        if (column_f64(&n->weights, i) > 0)
            return RC_OK;
    return err_coded(err, RC_INVAL, E1905, "no item has a weight above 0");
}

enum rc nodes_read(struct nodes *n, const struct nodes_conf *conf, struct err *err)
{
    *n = (struct nodes){0};
    struct reading r = {.to = n, .conf = conf, .first = true};
    struct sampler_table_conf table = {.what = "item table",
                                       .path = conf->path,
                                       .delim = conf->delim,
                                       .n_ids = 1,
                                       .attrs = true};
    column_init(&n->keys, &key_type);
    column_init(&n->weights, &weight_type);
    column_init(&n->levels, &key_type);
    enum rc rc = choose_attrs(n, conf, err);
    batch_init(&n->attrs, &n->schema);
    if (!rc)
        rc = sampler_table_read(&table, add_rows, &r, err);
    n->n = n->keys.n;
    if (!rc)
        rc = batch_finish(&n->attrs, err);
    if (!rc) {
        rc = index_keys(n, err);
        if (!rc)
            rc = check_weights(n, err);
        if (rc)
            err_wrap(err, rc, "item table '%s'", conf->path);
    }
    if (rc)
        nodes_release(n);
    return rc;
}

void nodes_release(struct nodes *n)
{
    keymap_release(&n->index);
    column_release(&n->keys);
    column_release(&n->weights);
    column_release(&n->levels);
    batch_release(&n->attrs);
    data_schema_release(&n->schema);
    mem_free(n->column_of);
    *n = (struct nodes){0};
}
