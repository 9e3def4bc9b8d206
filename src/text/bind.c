/* SPDX-License-Identifier: Apache-2.0 */
/* From a normal tree to the C structs of a schema. Nothing can be wrong any more here:
 * every field is of its declared type, in its declared form. A struct is allocated in
 * the arena, filled with defaults from the table, and then with what the tree holds, by
 * the offsets that the table states; repeated fields become arrays of exactly their
 * length.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "text/schema.h"

/* The double that the shortest decimal of float32(v) stands for: 0.1f becomes 0.1. */
static double float_value(double v)
{
    char text[32];
    if (!isfinite(v))
        return v;
    str_from_f32((float)v, text);
    return strtod(text, NULL);
}

static double number_of(const struct field_def *f, const struct node *n)
{
    double v = 0;
    node_number(n, &v);
    return f->type == FIELD_FLOAT ? float_value(v) : v;
}

static size_t element_size(const struct field_def *f)
{
    static const size_t sizes[] = {
        [FIELD_BOOL] = sizeof(bool),     [FIELD_I32] = sizeof(int32_t),
        [FIELD_I64] = sizeof(int64_t),   [FIELD_U32] = sizeof(uint32_t),
        [FIELD_U64] = sizeof(uint64_t),  [FIELD_FLOAT] = sizeof(double),
        [FIELD_DOUBLE] = sizeof(double), [FIELD_STR] = sizeof(char *),
        [FIELD_ENUM] = sizeof(int),      [FIELD_MSG] = sizeof(void *),
        [FIELD_ANY] = sizeof(void *),    [FIELD_UNION] = sizeof(void *),
    };
    return sizes[f->type];
}

static void store(const struct field_def *f, const struct node *n, void *to)
{
    int64_t i = 0;
    uint64_t u = 0;
    switch (f->type) {
    case FIELD_BOOL:
        *(bool *)to = n->kind == NODE_BOOL && n->flag;
        break;
    case FIELD_I32:
        node_i64(n, &i);
        *(int32_t *)to = (int32_t)i;
        break;
    case FIELD_I64:
        node_i64(n, &i);
        *(int64_t *)to = i;
        break;
    case FIELD_U32:
        node_u64(n, &u);
        *(uint32_t *)to = (uint32_t)u;
        break;
    case FIELD_U64:
        node_u64(n, &u);
        *(uint64_t *)to = u;
        break;
    case FIELD_FLOAT:
    case FIELD_DOUBLE:
        *(double *)to = number_of(f, n);
        break;
    case FIELD_STR:
        *(const char **)to = n->text.p;
        break;
    case FIELD_ENUM:
        *(int *)to = schema_enum_word(f->enums, n->text)->number;
        break;
    case FIELD_MSG:
    case FIELD_ANY:
    case FIELD_UNION:
        break;
    }
}

static void store_default(const struct field_def *f, void *to)
{
    struct str s = f->init ? str_c(f->init) : str_of("", 0);
    double v = 0;
    int64_t i = 0;
    uint64_t u = 0;
    switch (f->type) {
    case FIELD_STR:
        *(const char **)to = f->init ? f->init : "";
        break;
    case FIELD_BOOL:
        *(bool *)to = str_is(s, "true");
        break;
    case FIELD_FLOAT:
    case FIELD_DOUBLE:
        if (str_to_f64(s, &v))
            *(double *)to = f->type == FIELD_FLOAT ? float_value(v) : v;
        break;
    case FIELD_ENUM: {
        const struct enum_value *e = f->init ? schema_enum_word(f->enums, s) : NULL;
        *(int *)to = e ? e->number : f->enums->values[0].number;
        break;
    }
    case FIELD_I32:
        if (str_to_i64(s, &i))
            *(int32_t *)to = (int32_t)i;
        break;
    case FIELD_I64:
        if (str_to_i64(s, &i))
            *(int64_t *)to = i;
        break;
    case FIELD_U32:
        if (str_to_u64(s, &u))
            *(uint32_t *)to = (uint32_t)u;
        break;
    case FIELD_U64:
        if (str_to_u64(s, &u))
            *(uint64_t *)to = u;
        break;
    case FIELD_MSG:
    case FIELD_ANY:
    case FIELD_UNION:
        break;
    }
}

static const void *bind_message(const struct msg_def *def, const struct node *n,
                                const struct msg *parent, const char *field,
                                int64_t index, struct arena *a);

static const struct msg_def *def_of(const struct field_def *f, const struct node *n)
{
    if (f->type == FIELD_MSG)
        return f->msg;
    const struct node *tag = node_find(n, f->tag);
    for (const struct schema_variant *v = f->variants; tag && v->word; v++)
        if (strlen(v->word) == tag->text.n &&
            strncasecmp(v->word, tag->text.p, tag->text.n) == 0)
            return v->msg;
    return NULL;
}

static void bind_messages(const struct field_def *f, const struct node *n, struct msg *m,
                          struct arena *a)
{
    size_t count = n->kind == NODE_LIST ? n->list.n : 1;
    const void **items = arena_alloc(a, count * sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct node *item = n->kind == NODE_LIST ? n->list.at[i] : n;
        items[i] = bind_message(def_of(f, item), item, m, f->name,
                                n->kind == NODE_LIST ? (int64_t)i : -1, a);
    }
    memcpy((char *)m + f->at, &items, sizeof(items));
    *(int64_t *)((char *)m + f->count) = (int64_t)count;
}

static void bind_list(const struct field_def *f, const struct node *n, struct msg *m,
                      struct arena *a)
{
    size_t size = element_size(f);
    char *items = arena_alloc(a, n->list.n * size);
    for (size_t i = 0; i < n->list.n; i++)
        store(f, n->list.at[i], items + i * size);
    memcpy((char *)m + f->at, &items, sizeof(items));
    *(int64_t *)((char *)m + f->count) = (int64_t)n->list.n;
}

/* A pair is { const char *key; value } whatever the value's type: see struct schema_kv_*.
 */
static void store_pair(const struct field_def *f, const char *key,
                       const struct node *value, char *to)
{
    memcpy(to, &key, sizeof(key));
    if (value)
        store(f, value, to + sizeof(key));
    else
        store_default(f, to + sizeof(key));
}

/* Of pairs with the same key the last one counts. */
static void bind_dict(const struct field_def *f, const struct node *n, struct msg *m,
                      struct arena *a)
{
    size_t size = sizeof(struct schema_kv_U64);
    size_t total = n->kind == NODE_MAP ? n->map.n : n->list.n;
    char *pairs = arena_alloc(a, (total + 1) * size);
    struct map seen = {0};
    for (size_t i = 0; i < total; i++) {
        bool listed = n->kind == NODE_LIST;
        const struct node *key = listed ? node_find(n->list.at[i], "key") : NULL;
        struct str name = listed ? key ? key->text : str_of("", 0) : n->map.at[i].key;
        const struct node *value =
            listed ? node_find(n->list.at[i], "value") : n->map.at[i].value;
        struct map_entry *e = map_put(&seen, name);
        if (!e->value)
            e->value = pairs + (seen.n - 1) * size;
        store_pair(f, name.p, value, e->value);
    }
    memcpy((char *)m + f->at, &pairs, sizeof(pairs));
    *(int64_t *)((char *)m + f->count) = (int64_t)seen.n;
    map_release(&seen);
}

static void bind_field(const struct field_def *f, const struct node *n, struct msg *m,
                       struct arena *a)
{
    char *to = (char *)m + f->at;
    if (f->type == FIELD_ANY) {
        memcpy(to, &n, sizeof(n));
    } else if (f->label == LABEL_DICT) {
        bind_dict(f, n, m, a);
    } else if (f->type == FIELD_UNION ||
               (f->type == FIELD_MSG && f->label == LABEL_REP)) {
        bind_messages(f, n, m, a);
    } else if (f->type == FIELD_MSG) {
        const void *sub = bind_message(f->msg, n, m, f->name, -1, a);
        memcpy(to, &sub, sizeof(sub));
    } else if (f->label == LABEL_REP) {
        bind_list(f, n, m, a);
    } else {
        store(f, n, to);
        *(bool *)((char *)m + f->has) = true;
    }
}

static const void *bind_message(const struct msg_def *def, const struct node *n,
                                const struct msg *parent, const char *field,
                                int64_t index, struct arena *a)
{
    struct msg *m = arena_alloc(a, def->size);
    *m = (struct msg){
        .def = def, .node = n, .parent = parent, .field = field, .index = index};
    for (const struct field_def *f = def->fields(); f->name; f++)
        if (f->label == LABEL_OPT || f->label == LABEL_REQ)
            store_default(f, (char *)m + f->at);
    for (size_t i = 0; n->kind == NODE_MAP && i < n->map.n; i++) {
        const struct field_def *f = schema_field(def, n->map.at[i].key.p);
        if (f)
            bind_field(f, n->map.at[i].value, m, a);
    }
    return m;
}

const void *schema_bind(const struct msg_def *def, const struct node *root,
                        struct arena *a)
{
    return bind_message(def, root, NULL, NULL, -1, a);
}
