/* SPDX-License-Identifier: Apache-2.0 */
#include "text/defaults.h"

#include <string.h>

/* The text of a default as a value of its type; NULL when it is no such thing. */
static struct node *default_node(const struct field_def *f, struct arena *a)
{
    struct str text = str_c(f->init);
    struct span nowhere = {0};
    int64_t i;
    uint64_t u;
    double d;
    switch (f->type) {
    case FIELD_BOOL:
        return node_bool(a, str_is(text, "true"), nowhere);
    case FIELD_I32:
    case FIELD_I64:
        return str_to_i64(text, &i) ? node_int(a, i, nowhere) : NULL;
    case FIELD_U32:
    case FIELD_U64:
        return str_to_u64(text, &u) ? node_uint(a, u, nowhere) : NULL;
    case FIELD_FLOAT:
    case FIELD_DOUBLE:
        return str_to_f64(text, &d) ? node_real(a, d, nowhere) : NULL;
    case FIELD_STR:
        return node_str(a, text.p, text.n, nowhere);
    case FIELD_ENUM: {
        struct node *n = node_str(a, text.p, text.n, nowhere);
        n->kind = NODE_WORD;
        return n;
    }
    default:
        return NULL;
    }
}

static void fill_sub(const struct field_def *f, struct node *value, struct arena *a)
{
    if (value->kind == NODE_MAP)
        schema_fill_defaults(f->msg, value, a);
    for (size_t i = 0; value->kind == NODE_LIST && i < value->list.n; i++)
        if (value->list.at[i]->kind == NODE_MAP)
            schema_fill_defaults(f->msg, value->list.at[i], a);
}

void schema_fill_defaults(const struct msg_def *def, struct node *root, struct arena *a)
{
    for (const struct field_def *f = def->fields(); f->name; f++) {
        struct node *value = node_find(root, f->name);
        bool single = f->label == LABEL_OPT || f->label == LABEL_REQ;
        if (value && f->type == FIELD_MSG && f->msg)
            fill_sub(f, value, a);
        if (value || !single || !f->init || f->oneof)
            continue;
        value = default_node(f, a);
        if (value)
            node_put(a, root, f->name, value);
    }
}
