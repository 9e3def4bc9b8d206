/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of items, users and edges out of a click log, in one pass. Keys are numbered in
 * the order in which they first appear, with a count and the text of their line each;
 * the tables are written at the end, in that order, so that the same log gives the same
 * files. Values that hold a separator of the table are refused with their row.
 */
#include "data/sampler/make.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/sampler/attr.h"
#include "data/sampler/keymap.h"
#include "data/sampler/sampler_private.h"

#define TEXT_MAX ((size_t)1 << 31)
#define FIRST_ROOM 1024

/* Distinct keys in the order in which they came, each with a text and a count. */
struct entries {
    struct keymap index;
    struct sampler_list keys, counts, text_at; /* text i ends at text_at[i] */
    struct buf text;
};

static void entries_release(struct entries *e)
{
    keymap_release(&e->index);
    mem_free(e->keys.at);
    mem_free(e->counts.at);
    mem_free(e->text_at.at);
    buf_release(&e->text);
}

static enum rc sampler_make_grow(struct entries *e, struct err *err)
{
    struct keymap wider;
    if (e->index.n < e->index.size / 2)
        return RC_OK;
    enum rc rc = keymap_init(&wider, e->index.n ? 2 * e->index.n : FIRST_ROOM, err);
    if (rc)
        return rc;
    for (int64_t i = 0; i < e->index.n; i++)
        keymap_add(&wider, e->keys.at[i], i);
    keymap_release(&e->index);
    e->index = wider;
    return RC_OK;
}

/* Counts a key; *fresh when it came for the first time: then its text is to be added. */
static enum rc sampler_make_count(struct entries *e, int64_t key, bool *fresh,
                                  int64_t *number, struct err *err)
{
    enum rc rc = sampler_make_grow(e, err);
    int64_t n = e->index.n;
    if (!rc)
        rc = list_room(&e->keys, n + 1, err);
    if (!rc)
        rc = list_room(&e->counts, n + 1, err);
    if (!rc)
        rc = list_room(&e->text_at, n + 1, err);
    if (rc)
        return rc;
    *number = keymap_add(&e->index, key, n);
    *fresh = *number == n;
    if (*fresh) {
        e->keys.at[n] = key;
        e->counts.at[n] = 0;
    }
    e->counts.at[*number]++;
    return RC_OK;
}

static struct str text_of(const struct entries *e, int64_t i)
{
    int64_t from = i ? e->text_at.at[i - 1] : 0;
    return str_of(e->text.p + from, (size_t)(e->text_at.at[i] - from));
}

struct making {
    const struct sampler_make_conf *conf;
    const struct data_schema *schema;
    size_t item, user;
    size_t *attrs;
    bool lists; /* rows have several items: their columns are lists */
    struct entries items, users, edges;
    struct sampler_make_counts *counts;
};

/* What a value is: of lists of items one of theirs. */
static const struct type *value_type(const struct making *m, size_t col)
{
    const struct type *t = &m->schema->at[col].type;
    return m->lists && t->id == TYPE_LIST ? &t->kids[0].type : t;
}

static enum rc sampler_make_find(const struct making *m, const char *name, bool id,
                                 size_t *out, struct err *err)
{
    const struct data_schema *s = m->schema;
    int64_t at = data_schema_find(s, str_c(name));
    if (at < 0)
        return err_coded(err, RC_INVAL, E1904, "there is no column '%s' in the data",
                         name);
    const struct type *t = value_type(m, (size_t)at);
    if (id ? !id_column(t) : !attr_accepts(t))
        return err_coded(err, RC_INVAL, E1904, "column '%s' cannot be used here", name);
    if (m->lists && name != m->conf->user && t == &s->at[at].type)
        return err_coded(err, RC_INVAL, E1904,
                         "column '%s' is no list, as '%s' is: each item needs a value",
                         name, m->conf->item);
    *out = (size_t)at;
    return RC_OK;
}

/* A value as attr_add() reads it. */
static void put_value(struct buf *b, const struct column *c, int64_t i)
{
    char text[32];
    if (column_is_null(c, i))
        return;
    if (c->type->id == TYPE_STR) {
        struct str s = column_str(c, i);
        buf_add(b, s.p, s.n);
        return;
    }
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    if (c->type->id == TYPE_I32 || c->type->id == TYPE_I64) {
        buf_printf(b, "%jd",
                   c->type->id == TYPE_I32 ? (intmax_t)column_i32(c, i)
                                           : (intmax_t)column_i64(c, i));
        return;
    }
    if (c->type->id == TYPE_F32)
        str_from_f32(column_f32(c, i), text);
    else
        str_from_f64(column_f64(c, i), text);
    buf_puts(b, text);
}

static void put_attr(struct buf *b, const struct column *c, int64_t i)
{
    if (c->type->id != TYPE_LIST && c->type->id != TYPE_MAP) {
        put_value(b, c, i);
        return;
    }
    for (int32_t k = c->offsets[i]; !column_is_null(c, i) && k < c->offsets[i + 1]; k++) {
        if (k > c->offsets[i])
            buf_putc(b, ATTR_LIST_SEP);
        put_value(b, &c->kids[0], k);
        if (c->type->id == TYPE_MAP) {
            buf_putc(b, ':');
            put_value(b, &c->kids[1], k);
        }
    }
}

/* No value may hold what separates values. */
static enum rc check_value(const struct making *m, const char *column, struct str s,
                           bool attr, struct err *err)
{
    struct str delim = str_c(m->conf->attr_delim);
    bool bad = s.n && (memchr(s.p, '\t', s.n) || memchr(s.p, '\n', s.n) ||
                       (attr && memmem(s.p, s.n, delim.p, delim.n)));
    if (!bad)
        return RC_OK;
    return err_coded(err, RC_INVAL, E1908,
                     "column '%s': '%.*s' holds a tab, a line end or the delimiter '%s'",
                     column, (int)(s.n < 60 ? s.n : 60), s.p, m->conf->attr_delim);
}

/* One item of a row, or all that a row has. */
struct spot {
    const struct batch *b;
    int64_t row, place;
};

/* The column and row of a value of an item; RC_INVAL E1904. */
static enum rc value_at(const struct making *m, const struct spot *s, size_t col,
                        const struct column **c, int64_t *at, struct err *err)
{
    *c = &s->b->cols[col];
    *at = s->row;
    if (!m->lists)
        return RC_OK;
    const int32_t *own = (*c)->offsets, *items = s->b->cols[m->item].offsets;
    if (own[s->row + 1] - own[s->row] != items[s->row + 1] - items[s->row])
        return err_coded(err, RC_INVAL, E1904,
                         "column '%s': a row has %d values for the %d items of '%s'",
                         m->schema->at[col].name, own[s->row + 1] - own[s->row],
                         items[s->row + 1] - items[s->row], m->conf->item);
    *at = own[s->row] + s->place;
    *c = &(*c)->kids[0];
    return RC_OK;
}

static enum rc add_text(struct making *m, struct entries *e, const struct spot *s,
                        const size_t *cols, size_t n, bool attrs, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t k = 0; k < n && !rc; k++) {
        const struct column *c = &s->b->cols[cols[k]];
        int64_t row = s->row;
        if (k)
            buf_puts(&e->text, m->conf->attr_delim);
        size_t from = e->text.n;
        if (e == &m->items)
            rc = value_at(m, s, cols[k], &c, &row, err);
        if (rc)
            break;
        put_attr(&e->text, c, row);
        rc = buf_check(&e->text, err);
        if (!rc)
            rc = check_value(m, m->schema->at[cols[k]].name,
                             str_of(e->text.p + from, e->text.n - from), attrs, err);
    }
    e->text_at.at[e->index.n - 1] = (int64_t)e->text.n;
    return rc;
}

static enum id_kind kind_of(const struct making *m, size_t col)
{
    return value_type(m, col)->id == TYPE_STR ? ID_TEXT : ID_NUMBER;
}

/* An item's text is its id and, behind a tab, its attributes. */
static enum rc add_item(struct making *m, const struct spot *s, int64_t *item,
                        struct err *err)
{
    const struct column *c;
    int64_t key, at;
    bool fresh;
    enum rc rc = value_at(m, s, m->item, &c, &at, err);
    if (rc)
        return rc;
    id_key(c, at, kind_of(m, m->item), &key);
    rc = sampler_make_count(&m->items, key, &fresh, item, err);
    if (rc || !fresh)
        return rc;
    rc = add_text(m, &m->items, s, &m->item, 1, false, err);
    buf_putc(&m->items.text, '\t');
    if (!rc)
        rc = add_text(m, &m->items, s, m->attrs, m->conf->n_attrs, true, err);
    m->items.text_at.at[*item] = (int64_t)m->items.text.n;
    return rc;
}

static enum rc add_pair(struct making *m, const struct spot *s, struct err *err)
{
    int64_t item, user, key, pair;
    bool fresh;
    enum rc rc = add_item(m, s, &item, err);
    if (rc || !m->conf->user)
        return rc;
    id_key(&s->b->cols[m->user], s->row, kind_of(m, m->user), &key);
    rc = sampler_make_count(&m->users, key, &fresh, &user, err);
    if (!rc && fresh)
        rc = add_text(m, &m->users, s, &m->user, 1, false, err);
    return rc ? rc : sampler_make_count(&m->edges, user << 32 | item, &fresh, &pair, err);
}

static enum rc add_row(struct making *m, const struct batch *b, int64_t row,
                       struct err *err)
{
    struct spot s = {.b = b, .row = row};
    const int32_t *items = b->cols[m->item].offsets;
    int64_t n = m->lists ? items[row + 1] - items[row] : 1;
    enum rc rc = RC_OK;
    for (; s.place < n && !rc; s.place++)
        rc = add_pair(m, &s, err);
    return rc;
}

static enum rc read_all(struct making *m, struct dataset *d, struct err *err)
{
    const struct batch *b = NULL;
    enum rc rc = dataset_next(d, &b, err);
    while (!rc && b) {
        for (int64_t i = 0; i < b->n && !rc; i++)
            rc = add_row(m, b, i, err);
        m->counts->rows += b->n;
        if (!rc)
            rc = dataset_next(d, &b, err);
    }
    return rc;
}

#define BLOCK 65536

/* One line per entry through `line`; `first` stands above them. */
static enum rc write_table(const struct making *m, const char *name, const char *first,
                           int64_t n,
                           void (*line)(const struct making *, int64_t, struct buf *),
                           struct err *err)
{
    char *path = fs_join(m->conf->out, name);
    struct fs_file *f = NULL;
    struct buf b;
    buf_init(&b, TEXT_MAX);
    buf_puts(&b, first);
    enum rc rc = fs_create(path, 0644, &f, err);
    for (int64_t i = 0; i < n && !rc; i++) {
        line(m, i, &b);
        rc = buf_check(&b, err);
        if (!rc && (b.n >= BLOCK || i + 1 == n)) {
            rc = fs_append(f, b.p, b.n, err);
            buf_clear(&b);
        }
    }
    if (!rc && b.n)
        rc = fs_append(f, b.p, b.n, err);
    if (rc)
        fs_abandon(f);
    else
        rc = fs_commit(f, err);
    buf_release(&b);
    mem_free(path);
    return rc;
}

static void item_line(const struct making *m, int64_t i, struct buf *b)
{
    struct str s = text_of(&m->items, i);
    const char *tab = memchr(s.p, '\t', s.n);
    size_t id = (size_t)(tab - s.p);
    buf_add(b, s.p, id);
    buf_printf(b, "\t%jd\t", (intmax_t)m->items.counts.at[i]);
    buf_add(b, tab + 1, s.n - id - 1);
    buf_putc(b, '\n');
}

static void user_line(const struct making *m, int64_t i, struct buf *b)
{
    struct str s = text_of(&m->users, i);
    buf_add(b, s.p, s.n);
    buf_printf(b, "\t%jd\n", (intmax_t)m->users.counts.at[i]);
}

static void edge_line(const struct making *m, int64_t i, struct buf *b)
{
    int64_t key = m->edges.keys.at[i];
    struct str user = text_of(&m->users, key >> 32);
    struct str item = text_of(&m->items, key & 0xffffffff);
    const char *tab = memchr(item.p, '\t', item.n);
    buf_add(b, user.p, user.n);
    buf_putc(b, '\t');
    buf_add(b, item.p, (size_t)(tab - item.p));
    buf_printf(b, "\t%jd\n", (intmax_t)m->edges.counts.at[i]);
}

static enum rc write_all(const struct making *m, struct err *err)
{
    static const char *const types[] = {[ID_NUMBER] = "int64", [ID_TEXT] = "string"};
    const char *item = types[kind_of(m, m->item)],
               *user = m->conf->user ? types[kind_of(m, m->user)] : "";
    char *items = mem_printf("id:%s\tweight:float\tattrs:string\n", item);
    char *users = mem_printf("id:%s\tweight:float\n", user);
    char *edges = mem_printf("userid:%s\titemid:%s\tweight:float\n", user, item);
    enum rc rc = fs_mkdirs(m->conf->out, 0755, err);
    if (!rc)
        rc = write_table(m, "items.txt", items, m->items.index.n, item_line, err);
    if (!rc && m->conf->user)
        rc = write_table(m, "users.txt", users, m->users.index.n, user_line, err);
    if (!rc && m->conf->user)
        rc = write_table(m, "edges.txt", edges, m->edges.index.n, edge_line, err);
    mem_free(items);
    mem_free(users);
    mem_free(edges);
    return rc;
}

enum rc sampler_tables(struct dataset *d, const struct sampler_make_conf *conf,
                       struct sampler_make_counts *out, struct err *err)
{
    struct making m = {.conf = conf, .schema = dataset_schema(d), .counts = out};
    *out = (struct sampler_make_counts){0};
    buf_init(&m.items.text, TEXT_MAX);
    buf_init(&m.users.text, TEXT_MAX);
    m.attrs = mem_calloc(conf->n_attrs + 1, sizeof(*m.attrs));
    int64_t item = data_schema_find(m.schema, str_c(conf->item));
    m.lists = item >= 0 && m.schema->at[item].type.id == TYPE_LIST;
    enum rc rc = sampler_make_find(&m, conf->item, true, &m.item, err);
    if (!rc && conf->user)
        rc = sampler_make_find(&m, conf->user, true, &m.user, err);
    for (size_t i = 0; i < conf->n_attrs && !rc; i++)
        rc = sampler_make_find(&m, conf->attrs[i], false, &m.attrs[i], err);
    if (!rc)
        rc = read_all(&m, d, err);
    if (!rc)
        rc = write_all(&m, err);
    out->items = m.items.index.n;
    out->users = m.users.index.n;
    out->edges = m.edges.index.n;
    entries_release(&m.items);
    entries_release(&m.users);
    entries_release(&m.edges);
    mem_free(m.attrs);
    return rc;
}
