/* SPDX-License-Identifier: Apache-2.0 */
/* A column that features read as text (ids, words) must keep its kind: 7, 7.0 and "007"
 * are other texts and other ids. Whole numbers of 32 and 64 bits are written alike, and
 * where a column is read as numbers alone only its values count. A file that tells types
 * itself may hold as text what was a whole number before: it is written the same way.
 */
#include "train/columns.h"

#include <string.h>

#define WHY "with which the model was trained"

/* A label that is a number or one of two texts has no kind to keep. */
static const struct feature_column *column_of(const struct feature_plan *plan,
                                              const char *name)
{
    size_t n;
    const struct feature_column *all = feature_plan_columns(plan, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].two_texts ? NULL : &all[i];
    return NULL;
}

void train_columns_add(struct data_schema *known, const struct feature_plan *plan,
                       const struct data_schema *found)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct data_field *f = &found->at[i];
        if (column_of(plan, f->name) && data_schema_find(known, str_c(f->name)) < 0)
            data_schema_add(known, str_c(f->name), &f->type);
    }
}

void train_columns_print(const struct data_schema *known, struct buf *out)
{
    buf_putc(out, '{');
    for (size_t i = 0; i < known->n; i++) {
        buf_puts(out, i ? ", " : "");
        buf_json_str(out, known->at[i].name, strlen(known->at[i].name));
        buf_puts(out, ": \"");
        type_print(&known->at[i].type, out);
        buf_putc(out, '"');
    }
    buf_putc(out, '}');
}

void train_columns_read(const struct node *saved, struct data_schema *known)
{
    struct arena mem = {0};
    struct type t;
    for (size_t i = 0; saved && saved->kind == NODE_MAP && i < saved->map.n; i++) {
        const struct node_entry *p = &saved->map.at[i];
        if (p->value->kind == NODE_STR && type_parse(p->value->text, &mem, &t) &&
            data_schema_find(known, p->key) < 0)
            data_schema_add(known, p->key, &t);
    }
    arena_release(&mem);
}

void train_columns_know(struct data_schema *known, const struct feature_plan *plan,
                        const struct node *manifest, const struct data_schema *samples)
{
    train_columns_read(node_find(manifest, TRAIN_COLUMNS), known);
    train_columns_add(known, plan, samples);
}

void train_columns_conf(const struct data_schema *known, const struct feature_plan *plan,
                        struct arena *a, struct reader_conf *out)
{
    struct reader_field *types =
        arena_alloc(a, (out->n_types + known->n + 1) * sizeof(*types));
    size_t n = out->n_types;
    if (n)
        memcpy(types, out->types, n * sizeof(*types));
    for (size_t i = 0; i < known->n; i++) {
        const struct feature_column *c = column_of(plan, known->at[i].name);
        struct type t = type_copy(a, &known->at[i].type);
        if (c && !c->text && t.id == TYPE_F32) /* text has more digits, and no limit */
            t.id = TYPE_F64;
        if (c && c->sampled && t.id == TYPE_LIST) /* or an item alone, behind an export */
            continue;
        if (c)
            types[n++] = (struct reader_field){.name = arena_strdup(a, c->name),
                                               .type = t,
                                               .widens = !c->text,
                                               .why = WHY};
    }
    out->types = types;
    out->n_types = n;
}

enum kind { KIND_WHOLE, KIND_FRACTION, KIND_TEXT, KIND_OTHER };

/* Of the values, however deep they lie. */
static enum kind kind_of(const struct type *t)
{
    while (type_is_nested(t->id) && t->n_kids)
        t = &t->kids[t->n_kids - 1].type;
    switch (t->id) {
    case TYPE_BOOL: /* 0 and 1 */
    case TYPE_I32:
    case TYPE_I64:
    case TYPE_U32:
    case TYPE_U64:
        return KIND_WHOLE;
    case TYPE_F32:
    case TYPE_F64:
        return KIND_FRACTION;
    case TYPE_STR:
        return KIND_TEXT;
    default:
        return KIND_OTHER;
    }
}

static bool same_meaning(const struct type *then, const struct type *now, bool by_text,
                         bool text)
{
    enum kind a = kind_of(then), b = kind_of(now);
    if (a == b)
        return true;
    if (a == KIND_TEXT || b == KIND_TEXT)
        return !text && !(by_text && (a == KIND_FRACTION || b == KIND_FRACTION));
    return !by_text;
}

static enum rc other_type(const struct data_field *then, const struct data_field *now,
                          const char *path, struct err *err)
{
    struct buf a, b;
    buf_init(&a, 256);
    buf_init(&b, 256);
    type_print(&then->type, &a);
    type_print(&now->type, &b);
    enum rc rc =
        err_coded(err, RC_INVAL, E1411,
                  "column '%.100s' of '%.300s' is %s, but was %s when the model was "
                  "trained: the same ids would be other rows of its tables",
                  now->name, path, buf_str(&b), buf_str(&a));
    buf_release(&a);
    buf_release(&b);
    return rc;
}

enum rc train_columns_check(const struct data_schema *known,
                            const struct feature_plan *plan,
                            const struct data_schema *found, bool text, const char *path,
                            struct err *err)
{
    for (size_t i = 0; i < known->n; i++) {
        const struct feature_column *c = column_of(plan, known->at[i].name);
        int64_t at = data_schema_find(found, str_c(known->at[i].name));
        if (c && at >= 0 &&
            !same_meaning(&known->at[i].type, &found->at[at].type, c->text, text))
            return other_type(&known->at[i], &found->at[at], path, err);
    }
    return RC_OK;
}
