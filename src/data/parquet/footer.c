/* SPDX-License-Identifier: Apache-2.0 */
/* What a written file says about itself: chunks and their statistics are noted as
 * columns are written, page indexes and the footer are encoded at the end. Field numbers
 * are those of parquet.thrift. A type is described twice, as ConvertedType for old
 * readers and as LogicalType for new ones.
 */
#include "data/parquet/footer.h"

#include <string.h>

#include "base/mem.h"
#include "data/parquet/thrift.h"

#define INDEX_MAX ((size_t)1 << 30)

void pq_footer_release(struct pq_footer *f)
{
    for (size_t i = 0; i < f->groups.n; i++) {
        struct pq_written_group *g = &f->groups.at[i];
        for (size_t k = 0; k < g->n; k++) {
            buf_release(&g->chunks[k].offset_index);
            buf_release(&g->chunks[k].column_index);
        }
        mem_free(g->chunks);
    }
    VEC_RELEASE(&f->groups);
}

enum rc pq_footer_group(struct pq_footer *f, int64_t n_rows, size_t n_leaves,
                        struct err *err)
{
    struct pq_written_group g = {.n_rows = n_rows, .n = n_leaves};
    g.chunks = mem_try_calloc(n_leaves, sizeof(*g.chunks));
    if (!g.chunks)
        return err_set(err, RC_NOMEM, "out of memory for a row group");
    VEC_PUSH(&f->groups, g);
    f->n_rows += n_rows;
    return RC_OK;
}

static void encode_offset_index(const struct pq_leaf_writer *l, int64_t data,
                                struct buf *out)
{
    struct thrift_out t;
    thrift_out_init(&t, out);
    thrift_put_struct(&t, 0);
    thrift_put_list(&t, 1, THRIFT_STRUCT, l->entries.n);
    for (size_t i = 0; i < l->entries.n; i++) {
        thrift_put_struct(&t, 0);
        thrift_put_i64(&t, 1, data + l->entries.at[i].at);
        thrift_put_i32(&t, 2, l->entries.at[i].size);
        thrift_put_i64(&t, 3, l->entries.at[i].first_row);
        thrift_put_end(&t);
    }
    thrift_put_end(&t);
}

/* Left out when one page's smallest or largest value is not known. */
static void encode_column_index(const struct pq_leaf_writer *l, struct buf *out)
{
    struct thrift_out t;
    size_t n = l->entries.n;
    for (size_t i = 0; i < n; i++)
        if (!l->entries.at[i].stats.has && l->entries.at[i].stats.n_values)
            return;
    thrift_out_init(&t, out);
    thrift_put_struct(&t, 0);
    thrift_put_list(&t, 1, THRIFT_TRUE, n);
    for (size_t i = 0; i < n; i++)
        thrift_put_item_bool(&t, l->entries.at[i].stats.n_values == 0);
    thrift_put_list(&t, 2, THRIFT_BINARY, n);
    for (size_t i = 0; i < n; i++) {
        const struct pq_stats *s = &l->entries.at[i].stats;
        thrift_put_item_binary(&t, str_of((const char *)s->min, s->has ? s->min_n : 0));
    }
    thrift_put_list(&t, 3, THRIFT_BINARY, n);
    for (size_t i = 0; i < n; i++) {
        const struct pq_stats *s = &l->entries.at[i].stats;
        thrift_put_item_binary(&t, str_of((const char *)s->max, s->has ? s->max_n : 0));
    }
    thrift_put_i32(&t, 4, 0); /* in no order that we know of */
    thrift_put_list(&t, 5, THRIFT_I64, n);
    for (size_t i = 0; i < n; i++)
        thrift_put_item_i64(&t, l->entries.at[i].stats.n_nulls);
    thrift_put_end(&t);
}

enum rc pq_footer_chunk(struct pq_footer *f, const struct pq_leaf_writer *l, size_t i,
                        int64_t start, int64_t data, int64_t end, struct err *err)
{
    struct pq_written_chunk *c = &f->groups.at[f->groups.n - 1].chunks[i];
    *c = (struct pq_written_chunk){.start = start,
                                   .data = data,
                                   .end = end,
                                   .n_values = l->chunk_values,
                                   .raw = l->raw,
                                   .dict_used = l->dict_used,
                                   .plain_used = l->plain_used,
                                   .stats = l->chunk_stats};
    buf_init(&c->offset_index, INDEX_MAX);
    buf_init(&c->column_index, INDEX_MAX);
    if (l->o->no_index)
        return RC_OK;
    encode_offset_index(l, data, &c->offset_index);
    encode_column_index(l, &c->column_index);
    enum rc rc = buf_check(&c->offset_index, err);
    return rc ? rc : buf_check(&c->column_index, err);
}

enum rc pq_footer_indexes(struct pq_footer *f, int64_t at, struct buf *out,
                          struct err *err)
{
    buf_clear(out);
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < f->groups.n; i++)
            for (size_t k = 0; k < f->groups.at[i].n; k++) {
                struct pq_written_chunk *c = &f->groups.at[i].chunks[k];
                struct buf *b = kind ? &c->offset_index : &c->column_index;
                *(kind ? &c->offset_index_at : &c->column_index_at) =
                    at + (int64_t)out->n;
                buf_add(out, b->p, b->n);
            }
    return buf_check(out, err);
}

static void put_stats(struct thrift_out *t, int id, const struct pq_stats *s)
{
    thrift_put_struct(t, id);
    thrift_put_i64(t, 3, s->n_nulls);
    if (s->has) {
        thrift_put_binary(t, 5, str_of((const char *)s->max, s->max_n));
        thrift_put_binary(t, 6, str_of((const char *)s->min, s->min_n));
        thrift_put_bool(t, 7, true);
        thrift_put_bool(t, 8, true);
    }
    thrift_put_end(t);
}

static int32_t codec_number(enum codec_id id)
{
    static const int8_t numbers[] = {
#define CODEC(id, name, ratio, number, ...) number,
#include "io/codecs.def"
#undef CODEC
    };
    return numbers[id];
}

static void put_chunk(struct thrift_out *t, const struct pq_written_chunk *c,
                      const struct pq_leaf_writer *l, enum codec_id codec)
{
    thrift_put_struct(t, 0);
    thrift_put_i64(t, 2, 0);
    thrift_put_struct(t, 3);
    thrift_put_i32(t, 1, (int32_t)l->physical);
    thrift_put_list(t, 2, THRIFT_I32,
                    (size_t)1 + (c->dict_used || c->plain_used) + (c->dict_used ? 1 : 0));
    thrift_put_item_i64(t, PQ_RLE);
    if (c->dict_used || c->plain_used)
        thrift_put_item_i64(t, PQ_PLAIN);
    if (c->dict_used)
        thrift_put_item_i64(t, PQ_RLE_DICTIONARY);
    thrift_put_list(t, 3, THRIFT_BINARY, l->n_path);
    for (size_t i = 0; i < l->n_path; i++)
        thrift_put_item_binary(t, str_c(l->path[i]));
    thrift_put_i32(t, 4, codec_number(codec));
    thrift_put_i64(t, 5, c->n_values);
    thrift_put_i64(t, 6, c->raw);
    thrift_put_i64(t, 7, c->end - c->start);
    thrift_put_i64(t, 9, c->data);
    if (c->dict_used)
        thrift_put_i64(t, 11, c->start);
    put_stats(t, 12, &c->stats);
    thrift_put_end(t);
    if (c->offset_index.n) {
        thrift_put_i64(t, 4, c->offset_index_at);
        thrift_put_i32(t, 5, (int32_t)c->offset_index.n);
    }
    if (c->column_index.n) {
        thrift_put_i64(t, 6, c->column_index_at);
        thrift_put_i32(t, 7, (int32_t)c->column_index.n);
    }
    thrift_put_end(t);
}

static void put_group(struct thrift_out *t, const struct pq_written_group *g,
                      size_t number, const struct pq_leaf_writer *leaves,
                      enum codec_id codec)
{
    int64_t raw = 0, packed = 0;
    thrift_put_struct(t, 0);
    thrift_put_list(t, 1, THRIFT_STRUCT, g->n);
    for (size_t i = 0; i < g->n; i++) {
        put_chunk(t, &g->chunks[i], &leaves[i], codec);
        raw += g->chunks[i].raw;
        packed += g->chunks[i].end - g->chunks[i].start;
    }
    thrift_put_i64(t, 2, raw);
    thrift_put_i64(t, 3, g->n_rows);
    if (g->n)
        thrift_put_i64(t, 5, g->chunks[0].start);
    thrift_put_i64(t, 6, packed);
    thrift_put_end(t);
}

static void put_time(struct thrift_out *t, int id, int unit, bool utc)
{
    thrift_put_struct(t, id);
    thrift_put_bool(t, 1, utc);
    thrift_put_struct(t, 2);
    thrift_put_struct(t, unit);
    thrift_put_end(t);
    thrift_put_end(t);
    thrift_put_end(t);
}

static void put_empty(struct thrift_out *t, int id)
{
    thrift_put_struct(t, id);
    thrift_put_end(t);
}

/* Numbers of ConvertedType, -1 for none; and the LogicalType. */
static int converted_of(const struct type *x)
{
    static const int8_t by_logical[LOGICAL_COUNT] = {[LOGICAL_DATE] = 6,
                                                     [LOGICAL_TIME_MS] = 7,
                                                     [LOGICAL_TIME_US] = 8,
                                                     [LOGICAL_TIMESTAMP_MS] = 9,
                                                     [LOGICAL_TIMESTAMP_US] = 10};
    if (x->id == TYPE_STR)
        return x->logical == LOGICAL_NONE ? 0 : -1;
    if (x->id == TYPE_LIST)
        return 3;
    if (x->id == TYPE_MAP)
        return 1;
    if (x->id == TYPE_U32)
        return x->logical == LOGICAL_UINT8 ? 11 : 13;
    if (x->id == TYPE_U64)
        return 14;
    bool wall_clock = x->logical >= LOGICAL_TIMESTAMP_MS &&
                      x->logical <= LOGICAL_TIMESTAMP_NS && !x->utc;
    return by_logical[x->logical] && !wall_clock ? by_logical[x->logical] : -1;
}

static void put_logical(struct thrift_out *t, const struct type *x)
{
    enum logical l = x->logical;
    bool integer = x->id == TYPE_U32 || x->id == TYPE_U64;
    bool time = l >= LOGICAL_TIME_MS && l <= LOGICAL_TIMESTAMP_NS;
    bool plain = (x->id == TYPE_STR && l == LOGICAL_NONE) || x->id == TYPE_LIST ||
                 x->id == TYPE_MAP || l == LOGICAL_DATE;
    if (!integer && !time && !plain)
        return;
    thrift_put_struct(t, 10);
    if (x->id == TYPE_STR) {
        put_empty(t, 1);
    } else if (x->id == TYPE_MAP) {
        put_empty(t, 2);
    } else if (x->id == TYPE_LIST) {
        put_empty(t, 3);
    } else if (l == LOGICAL_DATE) {
        put_empty(t, 6);
    } else if (integer) {
        thrift_put_struct(t, 10);
        thrift_put_i8(t, 1, l == LOGICAL_UINT8 ? 8 : x->id == TYPE_U32 ? 32 : 64);
        thrift_put_bool(t, 2, false);
        thrift_put_end(t);
    } else if (l <= LOGICAL_TIME_NS) {
        put_time(t, 7, 1 + (int)l - LOGICAL_TIME_MS, true);
    } else {
        put_time(t, 8, 1 + (int)l - LOGICAL_TIMESTAMP_MS, x->utc);
    }
    thrift_put_end(t);
}

static size_t put_element(struct thrift_out *t, const char *name, const struct type *x,
                          int32_t physical, int32_t repetition, int32_t n_children)
{
    thrift_put_struct(t, 0);
    if (physical >= 0)
        thrift_put_i32(t, 1, physical);
    if (repetition >= 0)
        thrift_put_i32(t, 3, repetition);
    thrift_put_binary(t, 4, str_c(name));
    if (physical < 0)
        thrift_put_i32(t, 5, n_children);
    if (x && converted_of(x) >= 0)
        thrift_put_i32(t, 6, converted_of(x));
    if (x)
        put_logical(t, x);
    thrift_put_end(t);
    return 1;
}

static size_t put_type(struct thrift_out *t, const char *name, const struct type *x,
                       const struct pq_leaf_writer **leaf)
{
    int32_t repetition = x->nullable ? PQ_OPTIONAL : PQ_REQUIRED;
    if (!x->n_kids)
        return put_element(t, name, x, (int32_t)(*leaf)++->physical, repetition, 0);
    bool span = x->id != TYPE_STRUCT;
    size_t n = put_element(t, name, x, -1, repetition, span ? 1 : (int32_t)x->n_kids);
    if (span)
        n += put_element(t, x->id == TYPE_MAP ? "key_value" : "list", NULL, -1,
                         PQ_REPEATED, (int32_t)x->n_kids);
    for (size_t i = 0; i < x->n_kids; i++)
        n += put_type(t, x->kids[i].name, &x->kids[i].type, leaf);
    return n;
}

static size_t count_elements(const struct type *x)
{
    size_t n = x->id == TYPE_LIST || x->id == TYPE_MAP ? 2 : 1;
    for (size_t i = 0; i < x->n_kids; i++)
        n += count_elements(&x->kids[i].type);
    return n;
}

enum rc pq_footer_write(const struct pq_footer *f, const struct data_schema *schema,
                        const struct parquet_writer_options *o,
                        const struct pq_leaf_writer *leaves, struct buf *out,
                        struct err *err)
{
    struct thrift_out t;
    const struct pq_leaf_writer *leaf = leaves;
    size_t n = 1;
    buf_clear(out);
    thrift_out_init(&t, out);
    for (size_t i = 0; i < schema->n; i++)
        n += count_elements(&schema->at[i].type);
    thrift_put_struct(&t, 0);
    thrift_put_i32(&t, 1, 2);
    thrift_put_list(&t, 2, THRIFT_STRUCT, n);
    put_element(&t, "schema", NULL, -1, -1, (int32_t)schema->n);
    for (size_t i = 0; i < schema->n; i++)
        put_type(&t, schema->at[i].name, &schema->at[i].type, &leaf);
    thrift_put_i64(&t, 3, f->n_rows);
    thrift_put_list(&t, 4, THRIFT_STRUCT, f->groups.n);
    for (size_t i = 0; i < f->groups.n; i++)
        put_group(&t, &f->groups.at[i], i, leaves, o->codec);
    thrift_put_binary(&t, 6, str_c("trainyard version " TY_VERSION));
    size_t n_leaves = (size_t)(leaf - leaves);
    thrift_put_list(&t, 7, THRIFT_STRUCT, n_leaves);
    for (size_t i = 0; i < n_leaves; i++) { /* ColumnOrder: as the type says */
        thrift_put_struct(&t, 0);
        put_empty(&t, 1);
        thrift_put_end(&t);
    }
    thrift_put_end(&t);
    return buf_check(out, err);
}
