/* SPDX-License-Identifier: Apache-2.0 */
/* Values are decoded densely, page by page, and spread over the rows once per batch: a
 * batch without nulls then costs nothing for being nullable, and kernels see long runs.
 *
 * Codes stay codes for as long as the whole batch can be expressed in one dictionary.
 * When a page without dictionary or another row group comes, what was read so far is
 * turned into values and the rest of the batch follows as values.
 */
#include "data/parquet/leaf.h"

#include "base/mem.h"

void pq_leaf_init(struct pq_leaf_reader *r, const struct pq_leaf *leaf)
{
    *r = (struct pq_leaf_reader){.leaf = leaf, .row = -1};
    r->is_nested = leaf->max_rep > 0 || leaf->max_def > 1;
    r->pages.leaf = leaf;
    r->text_type = type_of(TYPE_STR, false);
}

void pq_leaf_release(struct pq_leaf_reader *r)
{
    pq_pages_release(&r->pages);
    pq_values_release(&r->values);
    dict_unref(r->dict);
    dict_unref(r->spare);
    r->text.type = &r->text_type;
    column_release(&r->text);
    mem_free(r->defs.p);
    mem_free(r->reps.p);
    mem_free(r->scratch.p);
    *r = (struct pq_leaf_reader){0};
}

/* A dictionary that nobody looks at any more is filled again. There are two of them,
 * because a batch that crosses row groups still has the one of the first.
 */
static void fresh_dict(struct pq_leaf_reader *r)
{
    if (r->dict && dict_is_shared(r->dict)) {
        struct dict *old = r->dict;
        r->dict = r->spare;
        r->spare = old;
        if (r->dict && dict_is_shared(r->dict)) {
            dict_unref(r->dict);
            r->dict = NULL;
        }
    }
    if (r->dict)
        column_clear(&r->dict->values);
    else
        r->dict = dict_create(r->leaf->type);
}

static enum rc load_dict(struct pq_leaf_reader *r, struct codec *codec,
                         const struct pq_page *h, struct err *err)
{
    struct pq_body body;
    if (r->has_dict)
        return err_coded(err, RC_FORMAT, E1005,
                         "a second dictionary in one column chunk");
    if (h->encoding != PQ_PLAIN && h->encoding != PQ_PLAIN_DICTIONARY)
        return err_coded(err, RC_UNSUPPORTED, E1009, "a dictionary encoded as %s",
                         pq_encoding_name(h->encoding));
    enum rc rc = pq_pages_load(&r->pages, h, codec, &body, err);
    if (!rc)
        rc = pq_values_begin(&r->values, r->kernels, r->leaf, PQ_PLAIN, 0, body.values,
                             body.n, err);
    if (rc)
        return rc;
    size_t width = r->values.width ? r->values.width : 4; /* strings: their length */
    bool fits = r->leaf->physical == PQ_BOOLEAN ? (size_t)h->n_values <= 8 * body.n
                                                : (size_t)h->n_values <= body.n / width;
    if (!fits)
        return err_coded(err, RC_FORMAT, E1006,
                         "a dictionary of %d entries does not fit in %zu bytes",
                         (int)h->n_values, body.n);
    fresh_dict(r);
    struct column *c = &r->dict->values;
    size_t limit = r->max_bytes;
    r->max_bytes = INT32_MAX; /* the page's size is limit enough */
    rc = pq_leaf_fill(r, c, 0, (size_t)h->n_values, err);
    r->max_bytes = limit;
    if (rc)
        return rc;
    c->n = h->n_values;
    c->values = c->own_values.p;
    c->offsets = c->own_offsets.p;
    c->text = c->own_text.p;
    r->dict_longest = c->offsets ? pq_text_longest(c) : 0;
    r->has_dict = true;
    return RC_OK;
}

/* Opens the next data page. While *skip > 0, pages with no more rows than that are passed
 * over without a look at their data; *skip falls by their rows. *more is false at the end
 * of the chunk.
 */
static enum rc next_page(struct pq_leaf_reader *r, struct codec *codec, int64_t *skip,
                         bool *more, struct err *err)
{
    for (;;) {
        struct pq_page h;
        enum rc rc = pq_pages_next(&r->pages, &h, more, err);
        if (rc || !*more)
            return rc;
        if (h.type == PQ_INDEX_PAGE)
            continue;
        if (h.type == PQ_DICTIONARY_PAGE) {
            rc = load_dict(r, codec, &h, err);
            if (rc)
                return rc;
            continue;
        }
        int64_t rows = r->leaf->max_rep == 0 ? h.n_values : -1;
        if (h.type == PQ_DATA_PAGE_V2 && r->leaf->max_rep && !r->in_row)
            rows = h.n_rows;
        if (rows >= 0 && *skip > 0 && rows <= *skip) {
            *skip -= rows;
            continue;
        }
        rc = pq_pages_load(&r->pages, &h, codec, &r->body, err);
        if (rc)
            return rc;
        bool coded = h.encoding == PQ_PLAIN_DICTIONARY || h.encoding == PQ_RLE_DICTIONARY;
        if (coded && !r->has_dict)
            return err_coded(err, RC_FORMAT, E1006, "codes without a dictionary");
        r->entries_left = h.n_values;
        uint32_t n_dict = r->has_dict ? (uint32_t)r->dict->values.n : 0;
        return pq_values_begin(&r->values, r->kernels, r->leaf, h.encoding, n_dict,
                               r->body.values, r->body.n, err);
    }
}

static enum rc column_ended(const struct pq_leaf_reader *r, struct err *err)
{
    int64_t n = r->meta->groups[r->group].n_rows;
    return err_coded(err, RC_FORMAT, E1012,
                     "the column ends after %jd of the row group's %jd rows",
                     (intmax_t)(n - r->rows_left), (intmax_t)n);
}

static enum rc levels_ended(struct err *err)
{
    return err_coded(err, RC_FORMAT, E1006, "the page has fewer levels than values");
}

/* Turns the codes read so far into values. */
static enum rc codes_to_values(struct pq_leaf_reader *r, const struct dict *dict,
                               const uint32_t *codes, size_t n, int64_t at,
                               struct err *err)
{
    struct column *out = r->out;
    const struct column *from = &dict->values;
    size_t width = type_width(r->leaf->type->id);
    size_t longest = dict == r->dict ? r->dict_longest : SIZE_MAX;
    enum rc rc;
    if (!width) {
        bool first = !out->own_offsets.p;
        rc = column_mem_reserve(&out->own_offsets, ((size_t)at + n + 1) * 4,
                                ((size_t)at + 1) * 4, err);
        if (rc)
            return rc;
        if (first || at == 0)
            ((int32_t *)out->own_offsets.p)[0] = 0;
        return pq_text_gather(from, longest, codes, n, out, at, r->max_bytes, err);
    }
    rc = column_mem_reserve(&out->own_values, ((size_t)at + n) * width,
                            (size_t)at * width, err);
    if (rc)
        return rc;
    char *to = (char *)out->own_values.p + (size_t)at * width;
    if (width == 4)
        r->kernels->gather32(from->values, codes, (uint32_t *)(void *)to, n);
    else if (width == 8)
        r->kernels->gather64(from->values, codes, (uint64_t *)(void *)to, n);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = ((const char *)from->values)[codes[i]];
    return RC_OK;
}

static enum rc give_up_codes(struct pq_leaf_reader *r, struct err *err)
{
    size_t n = (size_t)r->n_values;
    struct dict *dict = r->out->dict;
    enum rc rc = column_mem_reserve(&r->scratch, n * 4, 0, err);
    if (rc)
        return rc;
    memcpy(r->scratch.p, r->out->own_values.p, n * 4);
    r->out->dict = NULL;
    rc = codes_to_values(r, dict, r->scratch.p, n, 0, err);
    dict_unref(dict);
    return rc;
}

static enum rc append_codes(struct pq_leaf_reader *r, size_t n, struct err *err)
{
    struct column *out = r->out;
    if (r->want_codes && r->n_values == 0 && !out->dict)
        out->dict = dict_ref(r->dict);
    if (out->dict == r->dict) {
        size_t used = (size_t)r->n_values * 4;
        enum rc rc = column_mem_reserve(&out->own_values, used + n * 4, used, err);
        if (rc)
            return rc;
        return pq_values_codes(&r->values, n, (uint32_t *)out->own_values.p + r->n_values,
                               err);
    }
    uint32_t codes[PQ_BLOCK + PQ_PAD / 4];
    for (size_t done = 0; done < n;) {
        size_t k = n - done < PQ_BLOCK ? n - done : PQ_BLOCK;
        enum rc rc = pq_values_codes(&r->values, k, codes, err);
        if (!rc)
            rc = codes_to_values(r, r->dict, codes, k, r->n_values + (int64_t)done, err);
        if (rc)
            return rc;
        done += k;
    }
    return RC_OK;
}

static enum rc append_values(struct pq_leaf_reader *r, size_t n, struct err *err)
{
    enum rc rc = RC_OK;
    bool coded = pq_values_are_codes(&r->values);
    if (!n)
        return RC_OK;
    if ((size_t)r->n_values + n > r->max_bytes / 8)
        return err_coded(err, RC_INVAL, E1090,
                         "more than %zu values in one batch: use a smaller one",
                         r->max_bytes / 8);
    if (r->out->dict && (!coded || r->out->dict != r->dict))
        rc = give_up_codes(r, err);
    if (!rc)
        rc = coded ? append_codes(r, n, err)
                   : pq_leaf_fill(r, r->out, r->n_values, n, err);
    if (!rc)
        r->n_values += (int64_t)n;
    return rc;
}

/* `n` rows of a column without lists or nested nulls; all of them are in this chunk. */
static enum rc read_flat(struct pq_leaf_reader *r, struct codec *codec, int64_t n,
                         struct err *err)
{
    while (n) {
        int64_t none = 0;
        bool more = true;
        enum rc rc = r->entries_left ? RC_OK : next_page(r, codec, &none, &more, err);
        if (rc)
            return rc;
        if (!more)
            return column_ended(r, err);
        size_t k = (size_t)(n < r->entries_left ? n : r->entries_left), set = 0;
        if (r->leaf->max_def == 0)
            set = k;
        else if (levels_bits(&r->body.def, r->out->own_valid.p, (size_t)r->n_slots, k,
                             &set) != k)
            return levels_ended(err);
        rc = append_values(r, set, err);
        if (rc)
            return rc;
        r->n_slots += (int64_t)k;
        r->entries_left -= (int64_t)k;
        r->rows_left -= (int64_t)k;
        n -= (int64_t)k;
    }
    return RC_OK;
}

/* Passes over n rows of such a column. */
static enum rc skip_flat(struct pq_leaf_reader *r, struct codec *codec, int64_t n,
                         struct err *err)
{
    while (n) {
        int64_t skip = n;
        bool more = true;
        enum rc rc = r->entries_left ? RC_OK : next_page(r, codec, &skip, &more, err);
        if (rc)
            return rc;
        r->rows_left -= n - skip;
        n = skip;
        if (!more || r->rows_left < 0)
            return column_ended(r, err);
        size_t k = (size_t)(n < r->entries_left ? n : r->entries_left), set = 0;
        uint8_t levels[PQ_BLOCK];
        k = k < PQ_BLOCK ? k : PQ_BLOCK;
        if (levels_u8(&r->body.def, levels, k) != k)
            return levels_ended(err);
        for (size_t i = 0; i < k; i++)
            set += levels[i] == r->leaf->max_def;
        rc = pq_values_skip(&r->values, set, err);
        if (rc)
            return rc;
        r->entries_left -= (int64_t)k;
        r->rows_left -= (int64_t)k;
        n -= (int64_t)k;
    }
    return RC_OK;
}

static uint8_t max_level(const uint8_t *levels, size_t n)
{
    uint8_t max = 0;
    for (size_t i = 0; i < n; i++)
        max = levels[i] > max ? levels[i] : max;
    return max;
}

/* Decodes the next levels; *more is false at the end of the chunk. */
static enum rc next_block(struct pq_leaf_reader *r, struct codec *codec, int64_t *skip,
                          bool *more, struct err *err)
{
    *more = true;
    while (!r->entries_left) {
        enum rc rc = next_page(r, codec, skip, more, err);
        if (rc || !*more)
            return rc;
    }
    size_t k = r->entries_left < PQ_BLOCK ? (size_t)r->entries_left : PQ_BLOCK;
    if (levels_u8(&r->body.rep, r->rep, k) != k ||
        levels_u8(&r->body.def, r->def, k) != k)
        return levels_ended(err);
    if (max_level(r->rep, k) > r->leaf->max_rep ||
        max_level(r->def, k) > r->leaf->max_def)
        return err_coded(err, RC_FORMAT, E1006,
                         "a level of %d or %d where the schema allows %d and %d",
                         (int)max_level(r->rep, k), (int)max_level(r->def, k),
                         r->leaf->max_rep, r->leaf->max_def);
    r->entries_left -= (int64_t)k;
    r->block_at = 0;
    r->block_n = k;
    return RC_OK;
}

/* How many of the next levels belong to the next *rows rows, which falls by those that
 * begin among them; *end tells that another row begins behind them.
 */
static size_t levels_of_rows(const struct pq_leaf_reader *r, int64_t *rows, bool *end)
{
    size_t i = r->block_at;
    for (; i < r->block_n; i++) {
        if (r->rep[i])
            continue;
        if (!*rows) {
            *end = true;
            break;
        }
        --*rows;
    }
    return i - r->block_at;
}

static enum rc keep_levels(struct pq_leaf_reader *r, size_t k, struct err *err)
{
    if (r->n_levels + k > r->max_bytes / 8)
        return err_coded(err, RC_INVAL, E1090,
                         "more than %zu list elements in one batch: use a smaller one",
                         r->max_bytes / 8);
    enum rc rc = column_mem_reserve(&r->defs, r->n_levels + k, r->n_levels, err);
    if (!rc)
        rc = column_mem_reserve(&r->reps, r->n_levels + k, r->n_levels, err);
    if (rc)
        return rc;
    memcpy((uint8_t *)r->defs.p + r->n_levels, r->def + r->block_at, k);
    memcpy((uint8_t *)r->reps.p + r->n_levels, r->rep + r->block_at, k);
    r->n_levels += k;
    return RC_OK;
}

/* n rows of a nested column, kept or passed over. */
static enum rc read_nested(struct pq_leaf_reader *r, struct codec *codec, int64_t n,
                           bool keep, struct err *err)
{
    bool end = false, repeated = r->leaf->max_rep > 0;
    while (!end && (n || repeated)) {
        enum rc rc = RC_OK;
        if (r->block_at == r->block_n) {
            int64_t skip = keep ? 0 : n;
            bool more;
            rc = next_block(r, codec, &skip, &more, err);
            if (rc)
                return rc;
            r->rows_left -= n - (keep ? n : skip);
            n = keep ? n : skip;
            if (!more && (n || r->rows_left))
                return column_ended(r, err);
            if (!more)
                break;
            if (repeated && !r->in_row && r->rep[0])
                return err_coded(err, RC_FORMAT, E1006, "the column starts within a row");
        }
        int64_t before = n;
        size_t k = levels_of_rows(r, &n, &end), set = 0;
        r->in_row = true;
        for (size_t i = 0; i < k; i++)
            set += r->def[r->block_at + i] == r->leaf->max_def;
        if (keep)
            rc = keep_levels(r, k, err);
        if (!rc)
            rc = keep ? append_values(r, set, err) : pq_values_skip(&r->values, set, err);
        if (rc)
            return rc;
        r->block_at += k;
        r->rows_left -= before - n;
    }
    if (r->rows_left == 0 && end)
        return err_coded(err, RC_FORMAT, E1012,
                         "the column has more rows than its row group");
    return RC_OK;
}

/* With an offset index, goes to the page of row `skip` of the row group; *skip falls by
 * the rows before it.
 */
static enum rc use_index(struct pq_leaf_reader *r, const struct pq_chunk *chunk,
                         struct codec *codec, int64_t *skip, struct err *err)
{
    struct pq_location *at = NULL;
    struct pq_page h;
    size_t n = 0, i = 0;
    bool more;
    uint64_t size = (uint64_t)chunk->index_size;
    if (chunk->index_at <= 0 || chunk->index_size <= 0 || size > r->pages.source->size)
        return RC_OK;
    enum rc rc = pq_pages_next(&r->pages, &h, &more, err);
    if (!rc && more && h.type == PQ_DICTIONARY_PAGE)
        rc = load_dict(r, codec, &h, err);
    else if (!rc && more)
        pq_pages_unread(&r->pages);
    if (!rc)
        rc = column_mem_reserve(&r->scratch, size, 0, err);
    if (!rc)
        rc = pq_source_read(r->pages.source, (uint64_t)chunk->index_at, size,
                            r->scratch.p, err);
    if (!rc)
        rc = pq_offset_index_parse(r->scratch.p, size, (uint64_t)chunk->index_at, &at, &n,
                                   err);
    if (rc)
        return rc;
    while (i + 1 < n && at[i + 1].first_row <= *skip)
        i++;
    if (i > 0) {
        rc = pq_pages_goto(&r->pages, (uint64_t)at[i].at, (int64_t)i + r->has_dict, err);
        *skip -= at[i].first_row;
        r->rows_left -= at[i].first_row;
    }
    mem_free(at);
    return rc;
}

/* Opens row group r->group and passes over its first `skip` rows. */
static enum rc open_group(struct pq_leaf_reader *r, struct codec *codec, int64_t skip,
                          struct err *err)
{
    const struct pq_row_group *g = &r->meta->groups[r->group];
    const struct pq_chunk *chunk = &g->chunks[r->leaf->chunk];
    r->rows_left = g->n_rows;
    r->entries_left = 0;
    r->block_at = r->block_n = 0;
    r->has_dict = false;
    r->in_row = false;
    enum rc rc = pq_pages_begin(&r->pages, chunk, err);
    if (!rc && r->leaf->max_rep == 0 && chunk->n_values != g->n_rows)
        rc = err_coded(err, RC_FORMAT, E1012, "the column has %jd values for %jd rows",
                       (intmax_t)chunk->n_values, (intmax_t)g->n_rows);
    if (!rc && skip)
        rc = use_index(r, chunk, codec, &skip, err);
    if (rc || !skip)
        return rc;
    return r->is_nested ? read_nested(r, codec, skip, false, err)
                        : skip_flat(r, codec, skip, err);
}

static enum rc seek_row(struct pq_leaf_reader *r, struct codec *codec, int64_t row,
                        struct err *err)
{
    const struct pq_file_meta *m = r->meta;
    size_t lo = 0, hi = m->n_groups;
    while (lo < hi) { /* the first group that ends behind `row` */
        size_t mid = lo + (hi - lo) / 2;
        if (m->groups[mid].first_row + m->groups[mid].n_rows > row)
            hi = mid;
        else
            lo = mid + 1;
    }
    r->group = lo;
    return open_group(r, codec, row - m->groups[lo].first_row, err);
}

static enum rc begin_batch(struct pq_leaf_reader *r, int64_t n, struct err *err)
{
    r->n_values = r->n_slots = 0;
    r->n_levels = 0;
    if (r->is_nested || !r->leaf->max_def)
        return RC_OK;
    size_t bytes = (size_t)n / 8 + 1;
    enum rc rc = column_mem_reserve(&r->out->own_valid, bytes, 0, err);
    if (!rc)
        memset(r->out->own_valid.p, 0, bytes + 8); /* bits are copied 8 bytes at a time */
    return rc;
}

static enum rc read_rows(struct pq_leaf_reader *r, struct codec *codec, int64_t row,
                         int64_t n, struct err *err)
{
    enum rc rc = begin_batch(r, n, err);
    if (!rc && r->row != row)
        rc = seek_row(r, codec, row, err);
    while (!rc && n) {
        if (!r->rows_left) {
            r->group++;
            rc = open_group(r, codec, 0, err);
            continue;
        }
        int64_t k = n < r->rows_left ? n : r->rows_left;
        rc = r->is_nested ? read_nested(r, codec, k, true, err)
                          : read_flat(r, codec, k, err);
        n -= k;
    }
    return rc;
}

enum rc pq_leaf_read(struct pq_leaf_reader *r, struct codec *codec, int64_t row,
                     int64_t n, struct err *err)
{
    enum rc rc = read_rows(r, codec, row, n, err);
    if (!rc && !r->is_nested) {
        bool nulls = r->n_values < r->n_slots;
        rc = pq_leaf_spread(r, r->n_slots, nulls ? r->out->own_valid.p : NULL, err);
    }
    r->row = rc ? -1 : row + n;
    if (!rc)
        return RC_OK;
    return err_wrap(err, rc, "column '%s', row group %zu, page %jd at byte %ju",
                    r->leaf->path, r->group,
                    (intmax_t)(r->pages.n_pages ? r->pages.n_pages - 1 : 0),
                    (uintmax_t)r->pages.page_at);
}

static void spread_offsets(int32_t *offsets, const uint8_t *bits, int64_t n, int64_t k)
{
    for (int64_t i = n; i-- > 0;) {
        offsets[i + 1] = offsets[k];
        k -= pq_bit(bits, (size_t)i);
    }
}

static void spread_bytes(uint8_t *v, const uint8_t *bits, int64_t n, int64_t k)
{
    for (int64_t i = n; i-- > 0;) {
        uint8_t set = (uint8_t)pq_bit(bits, (size_t)i);
        k -= set;
        v[i] = set ? v[k] : 0;
    }
}

enum rc pq_leaf_spread(struct pq_leaf_reader *r, int64_t n_slots, const uint8_t *bits,
                       struct err *err)
{
    struct column *c = r->out;
    size_t n = (size_t)n_slots, k = (size_t)r->n_values;
    size_t width = c->dict ? 4 : type_width(c->type->id);
    enum rc rc = width
                     ? column_mem_reserve(&c->own_values, n * width, k * width, err)
                     : column_mem_reserve(&c->own_offsets, (n + 1) * 4, (k + 1) * 4, err);
    if (rc)
        return rc;
    if (!width && !k)
        ((int32_t *)c->own_offsets.p)[0] = 0;
    if (bits && width == 4)
        r->kernels->expand32(c->own_values.p, bits, n, k);
    else if (bits && width == 8)
        r->kernels->expand64(c->own_values.p, bits, n, k);
    else if (bits && width)
        spread_bytes(c->own_values.p, bits, n_slots, r->n_values);
    else if (bits)
        spread_offsets(c->own_offsets.p, bits, n_slots, r->n_values);
    c->n = n_slots;
    c->n_null = bits ? n_slots - r->n_values : 0;
    c->valid = bits;
    c->values = width ? c->own_values.p : NULL;
    c->offsets = width ? NULL : c->own_offsets.p;
    c->text = width ? NULL : c->own_text.p;
    return RC_OK;
}
