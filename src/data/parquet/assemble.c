/* SPDX-License-Identifier: Apache-2.0 */
/* Every node makes one pass over the levels of its first leaf (schema.h says what they
 * mean). That is a pass per level of nesting, but each is a short loop without state.
 */
#include "data/parquet/assemble.h"

struct bits {
    uint8_t *p;
    int64_t n, n_set;
};

static inline void push_bit(struct bits *b, unsigned set)
{
    b->p[b->n >> 3] |= (uint8_t)(set << (b->n & 7));
    b->n++;
    b->n_set += set;
}

/* A bitmap with room for one bit per level. */
static enum rc bits_room(struct column *c, size_t n, struct bits *b, struct err *err)
{
    enum rc rc = column_mem_reserve(&c->own_valid, n / 8 + 1, 0, err);
    if (rc)
        return rc;
    memset(c->own_valid.p, 0, n / 8 + 8);
    *b = (struct bits){.p = c->own_valid.p};
    return RC_OK;
}

/* Which slots of the node hold something. */
static void slot_bits(const struct pq_node *node, const struct pq_leaf_reader *leaf,
                      struct bits *b)
{
    const uint8_t *def = leaf->defs.p, *rep = leaf->reps.p;
    for (size_t i = 0; i < leaf->n_levels; i++)
        if (rep[i] <= node->rep && def[i] >= node->def_slot)
            push_bit(b, def[i] >= node->def);
}

static enum rc assemble_flat(const struct pq_node *node, struct pq_leaf_reader *leaf,
                             struct column *c, struct err *err)
{
    struct bits b;
    if (node->def == node->def_slot) /* every slot has a value */
        return pq_leaf_spread(leaf, leaf->n_values, NULL, err);
    enum rc rc = bits_room(c, leaf->n_levels, &b, err);
    if (rc)
        return rc;
    slot_bits(node, leaf, &b);
    return pq_leaf_spread(leaf, b.n, b.n_set < b.n ? b.p : NULL, err);
}

static void set_valid(struct column *c, const struct bits *b)
{
    c->n = b->n;
    c->n_null = b->n - b->n_set;
    c->valid = c->n_null ? b->p : NULL;
}

static void list_offsets(const struct pq_node *node, const struct pq_leaf_reader *leaf,
                         int32_t *offsets, struct bits *b)
{
    const uint8_t *def = leaf->defs.p, *rep = leaf->reps.p;
    int32_t items = 0;
    offsets[0] = 0;
    for (size_t i = 0; i < leaf->n_levels; i++) {
        if (def[i] < node->def_slot || rep[i] > node->rep + 1)
            continue;
        if (rep[i] <= node->rep) {
            offsets[b->n] = items;
            push_bit(b, def[i] >= node->def);
        }
        items += def[i] >= node->def_item;
        offsets[b->n] = items;
    }
}

static enum rc assemble_span(const struct pq_node *node, struct pq_leaf_reader *leaves,
                             struct column *c, struct err *err)
{
    const struct pq_leaf_reader *leaf = &leaves[node->leaf];
    struct bits b;
    enum rc rc = column_mem_reserve(&c->own_offsets, (leaf->n_levels + 1) * 4, 0, err);
    if (!rc)
        rc = bits_room(c, leaf->n_levels, &b, err);
    if (rc)
        return rc;
    list_offsets(node, leaf, c->own_offsets.p, &b);
    c->offsets = c->own_offsets.p;
    set_valid(c, &b);
    for (size_t k = 0; !rc && k < c->type->n_kids; k++)
        rc = pq_assemble(&node->kids[k], leaves, &c->kids[k], c->offsets[c->n], err);
    return rc;
}

static enum rc assemble_struct(const struct pq_node *node, struct pq_leaf_reader *leaves,
                               struct column *c, struct err *err)
{
    const struct pq_leaf_reader *leaf = &leaves[node->leaf];
    struct bits b;
    enum rc rc = bits_room(c, leaf->n_levels, &b, err);
    if (rc)
        return rc;
    slot_bits(node, leaf, &b);
    set_valid(c, &b);
    for (size_t k = 0; !rc && k < c->type->n_kids; k++)
        rc = pq_assemble(&node->kids[k], leaves, &c->kids[k], c->n, err);
    return rc;
}

enum rc pq_assemble(const struct pq_node *node, struct pq_leaf_reader *leaves,
                    struct column *c, int64_t rows, struct err *err)
{
    enum rc rc;
    if (c->type->id == TYPE_STRUCT)
        rc = assemble_struct(node, leaves, c, err);
    else if (type_is_nested(c->type->id))
        rc = assemble_span(node, leaves, c, err);
    else
        rc = assemble_flat(node, &leaves[node->leaf], c, err);
    if (!rc && c->n != rows)
        rc = err_coded(err, RC_FORMAT, E1012,
                       "column '%s': its levels give %jd values where %jd belong",
                       leaves[node->leaf].leaf->path, (intmax_t)c->n, (intmax_t)rows);
    return rc;
}
