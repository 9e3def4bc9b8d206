/* SPDX-License-Identifier: Apache-2.0 */
/* A column starts with a dictionary. It is given up for the whole chunk when it does not
 * pay on the first page, and for the pages to come when it grows too large.
 */
#include "data/parquet/leaf_writer.h"

#include <string.h>
#include <xxhash.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "data/parquet/encode.h"
#include "data/parquet/stats.h"
#include "data/parquet/thrift.h"

#define HEADER_MAX ((size_t)1 << 16)

void pq_leaf_writer_release(struct pq_leaf_writer *w)
{
    if (w->dict.values.type)
        column_release(&w->dict.values);
    mem_free(w->dict.slots);
    mem_free(w->def.p);
    mem_free(w->rep.p);
    mem_free(w->values.p);
    mem_free(w->pages.p);
    mem_free(w->body.p);
    mem_free(w->packed.p);
    VEC_RELEASE(&w->entries);
    *w = (struct pq_leaf_writer){0};
}

static void clear_dict(struct pq_leaf_writer *w)
{
    column_clear(&w->dict.values);
    if (w->dict.slots)
        memset(w->dict.slots, 0, w->dict.n_slots * sizeof(*w->dict.slots));
    w->dict.bytes = 0;
}

static void clear_page(struct pq_leaf_writer *w)
{
    w->n_levels = w->values_n = w->plain_bytes = 0;
    w->n_rows = w->n_page_values = 0;
    w->stats = (struct pq_stats){0};
}

void pq_leaf_writer_reset(struct pq_leaf_writer *w)
{
    if (!w->dict.values.type) {
        w->dict.type = *w->type;
        column_init(&w->dict.values, &w->dict.type);
    }
    clear_dict(w);
    clear_page(w);
    w->use_dict = !w->o->no_dict && w->physical != PQ_BOOLEAN;
    w->dict_used = w->plain_used = false;
    w->pages_n = 0;
    w->raw = w->chunk_rows = w->chunk_values = 0;
    w->chunk_stats = (struct pq_stats){0};
    w->entries.n = 0;
}

static enum rc append(struct column_mem *m, size_t *n, const void *p, size_t more,
                      struct err *err)
{
    enum rc rc = column_mem_reserve(m, *n + more, *n, err);
    if (rc)
        return rc;
    if (more)
        memcpy((char *)m->p + *n, p, more);
    *n += more;
    return RC_OK;
}

/* The same for a level, a code or a length, of which every value has some. */
static inline enum rc append_u32(struct column_mem *m, size_t *n, uint32_t v,
                                 struct err *err)
{
    if (UNLIKELY(!m->p || *n + sizeof(v) > m->cap))
        return append(m, n, &v, sizeof(v), err);
    memcpy((char *)m->p + *n, &v, sizeof(v));
    *n += sizeof(v);
    return RC_OK;
}

/* Entry i in plain encoding, without the length of a text. */
static struct str entry(const struct column *c, int64_t i)
{
    size_t width = type_width(c->type->id);
    if (!width)
        return column_str(c, i);
    if (c->dict) {
        i = column_code(c, i);
        c = &c->dict->values;
    }
    return str_of((const char *)c->values + (size_t)i * width, width);
}

static enum rc grow_slots(struct pq_dict_builder *d, struct err *err)
{
    size_t n = d->n_slots ? 2 * d->n_slots : 1024;
    uint32_t *slots = mem_try_calloc(n, sizeof(*slots));
    if (!slots)
        return err_set(err, RC_NOMEM, "out of memory for a dictionary of %zu", n / 2);
    for (int64_t i = 0; i < d->values.n; i++) {
        struct str s = entry(&d->values, i);
        size_t at = XXH3_64bits(s.p, s.n) & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    mem_free(d->slots);
    d->slots = slots;
    d->n_slots = n;
    return RC_OK;
}

static enum rc add_entry(struct pq_dict_builder *d, struct str s, struct err *err)
{
    struct column *c = &d->values;
    size_t width = type_width(c->type->id);
    if (!width) {
        d->bytes += s.n + 4;
        return column_add_str(c, s, err);
    }
    enum rc rc = column_reserve(c, 1, err);
    if (rc)
        return rc;
    memcpy((char *)c->own_values.p + (size_t)c->n * width, s.p, width);
    c->n++;
    d->bytes += width;
    return RC_OK;
}

static enum rc find_code(struct pq_dict_builder *d, struct str s, uint32_t *code,
                         struct err *err)
{
    if ((size_t)d->values.n * 2 >= d->n_slots) {
        enum rc rc = grow_slots(d, err);
        if (rc)
            return rc;
    }
    size_t at = XXH3_64bits(s.p, s.n) & (d->n_slots - 1);
    for (; d->slots[at]; at = (at + 1) & (d->n_slots - 1)) {
        *code = d->slots[at] - 1;
        if (str_eq(entry(&d->values, *code), s))
            return RC_OK;
    }
    enum rc rc = add_entry(d, s, err);
    if (rc)
        return rc;
    *code = (uint32_t)d->values.n - 1;
    d->slots[at] = *code + 1;
    return RC_OK;
}

static enum rc add_plain(struct pq_leaf_writer *w, struct str s, struct err *err)
{
    enum rc rc = RC_OK;
    if (w->physical == PQ_BOOLEAN) {
        size_t i = (size_t)w->n_page_values;
        uint8_t none = 0;
        if (i % 8 == 0)
            rc = append(&w->values, &w->values_n, &none, 1, err);
        if (!rc)
            ((uint8_t *)w->values.p)[i / 8] |= (uint8_t)((s.p[0] & 1) << (i % 8));
        return rc;
    }
    if (w->physical == PQ_BYTE_ARRAY) {
        uint32_t n = (uint32_t)s.n;
        rc = append_u32(&w->values, &w->values_n, n, err);
    }
    return rc ? rc : append(&w->values, &w->values_n, s.p, s.n, err);
}

/* The codes of the open page become values. */
static enum rc page_to_plain(struct pq_leaf_writer *w, struct err *err)
{
    size_t n = w->values_n / sizeof(uint32_t);
    enum rc rc = column_mem_reserve(&w->body, w->values_n, 0, err);
    if (rc)
        return rc;
    if (n)
        memcpy(w->body.p, w->values.p, w->values_n);
    w->values_n = 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add_plain(w, entry(&w->dict.values, ((uint32_t *)w->body.p)[i]), err);
    return rc;
}

static enum rc add_levels(struct pq_leaf_writer *w, int rep, int def, struct err *err)
{
    uint32_t d = (uint32_t)def, r = (uint32_t)rep;
    size_t n = w->n_levels * sizeof(d);
    enum rc rc = RC_OK;
    if (w->max_def)
        rc = append_u32(&w->def, &(size_t){n}, d, err);
    if (!rc && w->max_rep)
        rc = append_u32(&w->rep, &(size_t){n}, r, err);
    w->n_levels++;
    return rc;
}

static size_t level_bytes(const struct column_mem *m, size_t n, int max)
{
    return max ? 4 + pq_rle_bound(n, pq_bits_for((uint32_t)max)) : 0;
}

static size_t put_levels(const struct column_mem *m, size_t n, int max, uint8_t *out)
{
    if (!max)
        return 0;
    uint32_t size = (uint32_t)pq_rle_encode(m->p, n, pq_bits_for((uint32_t)max), out + 4);
    memcpy(out, &size, sizeof(size));
    return 4 + size;
}

/* Levels and values of the page, in w->body. */
static enum rc build_body(struct pq_leaf_writer *w, size_t *n, struct err *err)
{
    size_t n_codes = w->values_n / sizeof(uint32_t);
    unsigned width = 0;
    size_t room = level_bytes(&w->rep, w->n_levels, w->max_rep) +
                  level_bytes(&w->def, w->n_levels, w->max_def);
    if (w->use_dict && w->dict.values.n > 1)
        width = pq_bits_for((uint32_t)w->dict.values.n - 1);
    room += w->use_dict ? 1 + pq_rle_bound(n_codes, width) : w->values_n;
    enum rc rc = column_mem_reserve(&w->body, room, 0, err);
    if (rc)
        return rc;
    uint8_t *out = w->body.p;
    out += put_levels(&w->rep, w->n_levels, w->max_rep, out);
    out += put_levels(&w->def, w->n_levels, w->max_def, out);
    if (w->use_dict) {
        *out++ = (uint8_t)width;
        if (n_codes)
            out += pq_rle_encode(w->values.p, n_codes, width, out);
    } else if (w->values_n) {
        memcpy(out, w->values.p, w->values_n);
        out += w->values_n;
    }
    *n = (size_t)(out - (uint8_t *)w->body.p);
    return RC_OK;
}

/* Compresses `n` bytes of `from` to *out, and writes the page header to `head`. */
static enum rc seal_page(struct pq_leaf_writer *w, const void *from, size_t n,
                         bool is_dict, int32_t n_values, struct buf *head,
                         const void **out, size_t *size, struct err *err)
{
    struct thrift_out t;
    *out = from;
    *size = n;
    if (n > INT32_MAX)
        return err_coded(err, RC_INVAL, E1020, "a page of %zu bytes: use smaller values",
                         n);
    if (w->o->codec != CODEC_NONE) {
        size_t room = codec_bound(w->o->codec, n);
        enum rc rc = column_mem_reserve(&w->packed, room, 0, err);
        if (!rc)
            rc = codec_encode(w->codec, w->o->codec, w->o->level, from, n, w->packed.p,
                              room, size, err);
        if (rc)
            return rc;
        *out = w->packed.p;
    }
    buf_clear(head);
    thrift_out_init(&t, head);
    thrift_put_struct(&t, 0);
    thrift_put_i32(&t, 1, is_dict ? PQ_DICTIONARY_PAGE : PQ_DATA_PAGE);
    thrift_put_i32(&t, 2, (int32_t)n);
    thrift_put_i32(&t, 3, (int32_t)*size);
    if (w->o->crc)
        thrift_put_i32(&t, 4, (int32_t)crc32(0, *out, (uInt)*size));
    thrift_put_struct(&t, is_dict ? 7 : 5);
    thrift_put_i32(&t, 1, n_values);
    thrift_put_i32(&t, 2, !is_dict && w->use_dict ? PQ_RLE_DICTIONARY : PQ_PLAIN);
    if (!is_dict) {
        thrift_put_i32(&t, 3, PQ_RLE);
        thrift_put_i32(&t, 4, PQ_RLE);
    }
    thrift_put_end(&t);
    thrift_put_end(&t);
    w->raw += (int64_t)(n + head->n);
    return buf_check(head, err);
}

static void close_entry(struct pq_leaf_writer *w, size_t at, size_t size)
{
    w->stats.n_values = w->n_page_values;
    w->stats.n_nulls = (int64_t)w->n_levels - w->n_page_values;
    VEC_PUSH(&w->entries, ((struct pq_page_entry){.at = (int64_t)at,
                                                  .size = (int32_t)size,
                                                  .first_row = w->chunk_rows,
                                                  .stats = w->stats}));
    pq_stats_merge(&w->chunk_stats, w->type, &w->stats);
    w->chunk_rows += w->n_rows;
    w->chunk_values += (int64_t)w->n_levels;
    w->dict_used |= w->use_dict;
    w->plain_used |= !w->use_dict;
}

static enum rc close_page(struct pq_leaf_writer *w, struct err *err)
{
    struct buf head;
    const void *data;
    size_t n = 0, size = 0, at = w->pages_n;
    if (!w->n_levels)
        return RC_OK;
    bool first = !w->dict_used;
    if (w->use_dict && first && w->dict.bytes + w->n_levels > w->plain_bytes &&
        w->dict.values.n > 1) {
        enum rc rc = page_to_plain(w, err); /* it does not pay */
        if (rc)
            return rc;
        w->use_dict = false;
        clear_dict(w);
    }
    buf_init(&head, HEADER_MAX);
    enum rc rc = build_body(w, &n, err);
    if (!rc)
        rc = seal_page(w, w->body.p, n, false, (int32_t)w->n_levels, &head, &data, &size,
                       err);
    if (!rc)
        rc = append(&w->pages, &w->pages_n, head.p, head.n, err);
    if (!rc)
        rc = append(&w->pages, &w->pages_n, data, size, err);
    buf_release(&head);
    if (rc)
        return rc;
    close_entry(w, at, w->pages_n - at);
    if (w->use_dict && w->dict.bytes > w->o->dict_bytes)
        w->use_dict = false; /* for what follows; the pages so far need it */
    clear_page(w);
    return RC_OK;
}

enum rc pq_leaf_writer_row(struct pq_leaf_writer *w, struct err *err)
{
    enum rc rc = RC_OK;
    bool full = w->n_rows >= w->o->page_rows || w->values_n >= w->o->page_bytes ||
                w->n_levels >= INT32_MAX / 2 ||
                (w->use_dict && w->dict.bytes > w->o->dict_bytes);
    if (full)
        rc = close_page(w, err);
    w->n_rows++;
    return rc;
}

enum rc pq_leaf_writer_null(struct pq_leaf_writer *w, int rep, int def, struct err *err)
{
    return add_levels(w, rep, def, err);
}

enum rc pq_leaf_writer_value(struct pq_leaf_writer *w, const struct column *c, int64_t i,
                             int rep, struct err *err)
{
    struct str s = entry(c, i);
    enum rc rc = add_levels(w, rep, w->max_def, err);
    if (rc)
        return rc;
    pq_stats_add(&w->stats, w->type, s.p, s.n);
    if (w->use_dict) {
        uint32_t code;
        rc = find_code(&w->dict, s, &code, err);
        if (!rc)
            rc = append_u32(&w->values, &w->values_n, code, err);
        w->plain_bytes += s.n + (w->physical == PQ_BYTE_ARRAY ? 4 : 0);
    } else {
        rc = add_plain(w, s, err);
    }
    w->n_page_values++;
    return rc;
}

enum rc pq_leaf_writer_close(struct pq_leaf_writer *w, struct buf *dict, struct err *err)
{
    const void *data;
    size_t size;
    buf_clear(dict);
    enum rc rc = close_page(w, err);
    if (rc || !w->dict_used)
        return rc;
    w->values_n = 0;
    for (int64_t i = 0; !rc && i < w->dict.values.n; i++)
        rc = add_plain(w, entry(&w->dict.values, i), err);
    if (!rc)
        rc = column_mem_reserve(&w->values, 1, 0, err);
    if (!rc)
        rc = seal_page(w, w->values.p, w->values_n, true, (int32_t)w->dict.values.n, dict,
                       &data, &size, err);
    if (rc)
        return rc;
    buf_add(dict, data, size);
    return buf_check(dict, err);
}
