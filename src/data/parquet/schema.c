/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for lists follow the format's LogicalTypes document, including those for
 * files written before it: a repeated field may itself be the element.
 */
#include "data/parquet/schema.h"

#include <string.h>

#include "base/mem.h"

struct builder {
    struct pq_schema *s;
    const struct pq_element *at; /* [n] */
    size_t n, next;              /* next element to be read */
    size_t next_leaf;
    int depth;
    struct err *err;
};

/* What lies above the element that is being built. */
struct above {
    const char *path; /* "" or "a.b." */
    int def, rep, def_slot;
    bool counted; /* the next element is repeated, and the levels know it already */
};

static enum rc build_node(struct builder *b, const struct above *up, struct type *type,
                          struct pq_node *node);

static bool is_annotated(const struct pq_element *e, enum pq_meaning m)
{
    return e->is_group && e->meaning == m;
}

static enum rc decimal_of(const struct pq_element *e, struct pq_leaf *leaf,
                          struct type *t)
{
    static const int8_t by_physical[PQ_PHYSICAL_COUNT] = {[PQ_INT32] = PQ_I32_DECIMAL,
                                                          [PQ_INT64] = PQ_I64_DECIMAL,
                                                          [PQ_BYTE_ARRAY] =
                                                              PQ_BYTES_DECIMAL,
                                                          [PQ_FIXED] = PQ_FIXED_DECIMAL};
    if (!by_physical[e->physical])
        return RC_UNSUPPORTED;
    leaf->convert = (enum pq_convert)by_physical[e->physical];
    t->id = TYPE_F64;
    t->logical = LOGICAL_DECIMAL;
    t->scale = e->scale;
    t->precision = e->precision;
    return e->scale < -400 || e->scale > 400 ? RC_UNSUPPORTED : RC_OK;
}

static void integer_of(const struct pq_element *e, struct type *t)
{
    static const int8_t logical[] = {[PQ_DATE] = LOGICAL_DATE,
                                     [PQ_TIME_MS] = LOGICAL_TIME_MS,
                                     [PQ_TIME_US] = LOGICAL_TIME_US,
                                     [PQ_TIME_NS] = LOGICAL_TIME_NS,
                                     [PQ_TIMESTAMP_MS] = LOGICAL_TIMESTAMP_MS,
                                     [PQ_TIMESTAMP_US] = LOGICAL_TIMESTAMP_US,
                                     [PQ_TIMESTAMP_NS] = LOGICAL_TIMESTAMP_NS,
                                     [PQ_UNKNOWN] = LOGICAL_NONE};
    bool wide = e->physical == PQ_INT64;
    enum logical l = (enum logical)logical[e->meaning];
    t->id = wide ? TYPE_I64 : TYPE_I32;
    if (e->meaning == PQ_UNSIGNED)
        t->id = wide ? TYPE_U64 : TYPE_U32;
    else if (l && wide == (l != LOGICAL_DATE && l != LOGICAL_TIME_MS))
        t->logical = l;
    t->utc = l >= LOGICAL_TIMESTAMP_MS && e->utc;
}

static void bytes_of(const struct pq_element *e, struct pq_leaf *leaf, struct type *t)
{
    bool fixed = e->physical == PQ_FIXED;
    t->id = TYPE_STR;
    t->logical = LOGICAL_BINARY;
    leaf->convert = fixed ? PQ_FIXED_BYTES : PQ_BYTES;
    if (e->meaning == PQ_STRING)
        t->logical = LOGICAL_NONE;
    else if (fixed && e->meaning == PQ_UUID && e->type_length == 16)
        t->logical = LOGICAL_UUID;
    if (fixed && e->meaning == PQ_FLOAT16 && e->type_length == 2) {
        t->id = TYPE_F32;
        t->logical = LOGICAL_FLOAT16;
        leaf->convert = PQ_HALF;
    }
}

static enum rc flat_type(const struct pq_element *e, struct pq_leaf *leaf, struct type *t)
{
    leaf->convert = PQ_AS_IS;
    if (e->meaning == PQ_DECIMAL)
        return decimal_of(e, leaf, t);
    switch (e->physical) {
    case PQ_BOOLEAN:
        t->id = TYPE_BOOL;
        break;
    case PQ_INT32:
    case PQ_INT64:
        integer_of(e, t);
        break;
    case PQ_INT96:
        leaf->convert = PQ_INT96_TIME;
        t->id = TYPE_I64;
        t->logical = LOGICAL_TIMESTAMP_NS;
        break;
    case PQ_FLOAT:
        t->id = TYPE_F32;
        break;
    case PQ_DOUBLE:
        t->id = TYPE_F64;
        break;
    default:
        bytes_of(e, leaf, t);
    }
    return RC_OK;
}

static enum rc build_leaf(struct builder *b, const struct pq_element *e,
                          const struct above *up, const char *path, struct type *type,
                          struct pq_node *node)
{
    struct pq_leaf *leaf = &b->s->leaves[b->next_leaf];
    *leaf = (struct pq_leaf){.path = path,
                             .chunk = b->next_leaf,
                             .physical = e->physical,
                             .type_length = e->type_length,
                             .max_def = node->def,
                             .max_rep = up->rep,
                             .type = type};
    b->next_leaf++;
    if (e->physical == PQ_FIXED && (e->type_length < 1 || e->type_length > 1 << 24))
        return err_coded(b->err, RC_FORMAT, E1004,
                         "column '%s': a fixed length of %d bytes is outside [1, %d]",
                         path, (int)e->type_length, 1 << 24);
    if (flat_type(e, leaf, type))
        return err_coded(
            b->err, RC_UNSUPPORTED, E1009,
            "column '%s': a decimal of type %s and scale %d is not supported", path,
            pq_physical_name((int32_t)e->physical), (int)e->scale);
    return RC_OK;
}

static struct data_field *kids_of(struct builder *b, struct type *type,
                                  struct pq_node *node, size_t n)
{
    type->n_kids = n;
    type->kids = arena_alloc(&b->s->schema.mem, n * sizeof(*type->kids));
    node->kids = arena_alloc(&b->s->mem, n * sizeof(*node->kids));
    return type->kids;
}

/* The element is the repeated field itself (two levels) or its only child (three). */
static bool element_is_repeated(const struct pq_element *list, const struct pq_element *r)
{
    if (!r->is_group || r->n_children != 1)
        return true;
    if (r[1].repetition == PQ_REPEATED || strcmp(r->name, "array") == 0)
        return true;
    size_t n = strlen(list->name);
    return strncmp(r->name, list->name, n) == 0 && strcmp(r->name + n, "_tuple") == 0;
}

/* Builds the element that is b->at[b->next], a repeated field, as a required one. */
static enum rc build_element(struct builder *b, struct above *up, bool repeated_itself,
                             const char *name, struct type *type, struct pq_node *node)
{
    const struct pq_element *r = &b->at[b->next];
    struct data_field *kid = kids_of(b, type, node, 1);
    kid->name = name;
    up->counted = repeated_itself;
    if (!repeated_itself) {
        up->path = arena_printf(&b->s->mem, "%s%s.", up->path, r->name);
        b->next++;
    }
    return build_node(b, up, &kid->type, &node->kids[0]);
}

static enum rc build_list(struct builder *b, const struct pq_element *e,
                          const struct above *up, const char *path, struct type *type,
                          struct pq_node *node)
{
    type->id = TYPE_LIST;
    node->def_item = node->def + 1;
    struct above below = {.path = arena_printf(&b->s->mem, "%s.", path),
                          .def = node->def_item,
                          .rep = up->rep + 1,
                          .def_slot = node->def_item};
    return build_element(b, &below, element_is_repeated(e, e + 1), "element", type, node);
}

static enum rc build_map(struct builder *b, const struct pq_element *e,
                         const struct above *up, const char *path, struct type *type,
                         struct pq_node *node)
{
    const struct pq_element *r = e + 1;
    type->id = TYPE_MAP;
    node->def_item = node->def + 1;
    struct above below = {.path = arena_printf(&b->s->mem, "%s.%s.", path, r->name),
                          .def = node->def_item,
                          .rep = up->rep + 1,
                          .def_slot = node->def_item};
    struct data_field *kids = kids_of(b, type, node, 2);
    kids[0].name = "key";
    kids[1].name = "value";
    b->next++;
    for (size_t i = 0; i < 2; i++) {
        enum rc rc = build_node(b, &below, &kids[i].type, &node->kids[i]);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc build_struct(struct builder *b, const struct pq_element *e,
                            const struct above *up, const char *path, struct type *type,
                            struct pq_node *node)
{
    size_t n = (size_t)e->n_children;
    struct above below = {.path = arena_printf(&b->s->mem, "%s.", path),
                          .def = node->def,
                          .rep = up->rep,
                          .def_slot = up->def_slot};
    type->id = TYPE_STRUCT;
    struct data_field *kids = kids_of(b, type, node, n);
    for (size_t i = 0; i < n; i++) {
        kids[i].name = arena_strdup(&b->s->schema.mem, b->at[b->next].name);
        enum rc rc = build_node(b, &below, &kids[i].type, &node->kids[i]);
        if (rc)
            return rc;
    }
    return RC_OK;
}

/* Whether `e` is written as maps are: one repeated group of two fields, the first flat or
 * not; else it is read as what it is made of.
 */
static bool is_map(const struct pq_element *e)
{
    return is_annotated(e, PQ_MAP) && e->n_children == 1 && e[1].is_group &&
           e[1].repetition == PQ_REPEATED && e[1].n_children == 2;
}

static bool is_list(const struct pq_element *e)
{
    return (is_annotated(e, PQ_LIST) || is_annotated(e, PQ_MAP)) && e->n_children == 1 &&
           e[1].repetition == PQ_REPEATED;
}

/* A repeated field outside of a list annotation: a required list of required elements. */
static enum rc build_bare_list(struct builder *b, const struct above *up,
                               struct type *type, struct pq_node *node)
{
    *type = (struct type){.id = TYPE_LIST};
    node->def_item = up->def + 1;
    struct above below = {.path = up->path,
                          .def = node->def_item,
                          .rep = up->rep + 1,
                          .def_slot = node->def_item};
    return build_element(b, &below, true, "element", type, node);
}

static enum rc build_group(struct builder *b, const struct pq_element *e,
                           const struct above *up, const char *path, struct type *type,
                           struct pq_node *node)
{
    if (is_map(e))
        return build_map(b, e, up, path, type, node);
    if (is_list(e))
        return build_list(b, e, up, path, type, node);
    return build_struct(b, e, up, path, type, node);
}

static enum rc build_node(struct builder *b, const struct above *up, struct type *type,
                          struct pq_node *node)
{
    const struct pq_element *e = &b->at[b->next];
    bool nullable = e->repetition == PQ_OPTIONAL;
    enum rc rc;
    *node = (struct pq_node){.type = type,
                             .def_slot = up->def_slot,
                             .def = up->def + nullable,
                             .rep = up->rep,
                             .leaf = b->next_leaf};
    if (++b->depth > PQ_DEPTH_MAX)
        return err_coded(b->err, RC_UNSUPPORTED, E1009,
                         "the schema is nested more than %d deep at '%s%s'", PQ_DEPTH_MAX,
                         up->path, e->name);
    if (e->repetition == PQ_REPEATED && !up->counted) {
        rc = build_bare_list(b, up, type, node);
    } else {
        const char *path = arena_printf(&b->s->mem, "%s%s", up->path, e->name);
        b->next++;
        *type = (struct type){.nullable = nullable};
        rc = e->is_group ? build_group(b, e, up, path, type, node)
                         : build_leaf(b, e, up, path, type, node);
    }
    b->depth--;
    return rc;
}

static enum rc check_tree(const struct pq_file_meta *m, struct err *err)
{
    uint64_t left = 1;
    size_t i = 0;
    for (; left && i < m->n_elements; i++) {
        const struct pq_element *e = &m->elements[i];
        left--;
        if (!e->is_group)
            continue;
        if (e->n_children < (i ? 1 : 0))
            return err_coded(err, RC_FORMAT, E1004,
                             "schema element %zu '%s' is a group of %d fields", i,
                             e->name, (int)e->n_children);
        left += (uint64_t)e->n_children;
    }
    if (left || i != m->n_elements)
        return err_coded(err, RC_FORMAT, E1004,
                         "the schema's %zu elements do not form one tree", m->n_elements);
    return RC_OK;
}

enum rc pq_schema_build(struct pq_schema *s, const struct pq_file_meta *m,
                        struct err *err)
{
    struct builder b = {.s = s, .at = m->elements, .n = m->n_elements, .next = 1};
    *s = (struct pq_schema){.n_leaves = m->n_leaves};
    b.err = err;
    enum rc rc = check_tree(m, err);
    if (rc)
        return rc;
    size_t n = m->elements[0].is_group ? (size_t)m->elements[0].n_children : 0;
    s->leaves = arena_try_alloc(&s->mem, m->n_leaves, sizeof(*s->leaves));
    s->nodes = arena_try_alloc(&s->mem, n, sizeof(*s->nodes));
    s->schema.at = mem_try_calloc(n, sizeof(*s->schema.at));
    if (!s->leaves || !s->nodes || !s->schema.at)
        return err_set(err, RC_NOMEM, "out of memory for %zu columns", n);
    s->schema.cap = n;
    const struct above top = {.path = ""};
    for (size_t i = 0; i < n; i++) {
        struct data_field *f = &s->schema.at[i];
        f->name = arena_strdup(&s->schema.mem, m->elements[b.next].name);
        s->schema.n++;
        rc = build_node(&b, &top, &f->type, &s->nodes[i]);
        if (rc)
            return rc;
    }
    return RC_OK;
}

void pq_schema_release(struct pq_schema *s)
{
    data_schema_release(&s->schema);
    arena_release(&s->mem);
    *s = (struct pq_schema){0};
}
