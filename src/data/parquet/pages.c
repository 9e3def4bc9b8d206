/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of one column chunk. A window of the file is kept in memory and moved
 * forward as pages are asked for; small pages are read many at a time, remote files in
 * the pieces that ahead.c has announced. Loading a page checks its CRC when there is
 * one, decompresses it and finds where levels and values begin, for both versions of
 * data pages.
 */
#include "data/parquet/pages.h"

#include <zlib.h>

#include "base/mem.h"

/* Read at once when pages are smaller than that. */
#define WINDOW ((size_t)128 << 10)
#define REMOTE_WINDOW_MAX ((size_t)4 << 20)
#define HEADER_GUESS ((size_t)1 << 10)
#define HEADER_MAX ((size_t)16 << 20)

enum rc pq_source_read(const struct pq_source *s, uint64_t at, size_t n, void *out,
                       struct err *err)
{
    if (at > s->size || n > s->size - at)
        return err_coded(err, RC_FORMAT, E1002,
                         "%zu bytes at byte %ju lie outside of a file of %ju bytes", n,
                         (uintmax_t)at, (uintmax_t)s->size);
    if (s->bytes) {
        memcpy(out, s->bytes + at, n);
        return RC_OK;
    }
    size_t got = 0;
    enum rc rc = io_read_at(s->file, at, n, out, &got, err);
    if (!rc && got < n)
        rc = err_coded(err, RC_FORMAT, E1002,
                       "the file became shorter while it was read, at byte %ju",
                       (uintmax_t)(at + got));
    return rc;
}

static enum rc codec_of(int32_t id, enum codec_id *out, struct err *err)
{
    static const int8_t ids[] = {
#define CODEC(id, name, ratio, number, ...) [number] = CODEC_##id + 1,
#include "io/codecs.def"
#undef CODEC
    };
    if (id < 0 || id >= (int32_t)ARRAY_LEN(ids) || !ids[id])
        return err_coded(err, RC_UNSUPPORTED, E1009, "compression %d%s is not supported",
                         (int)id, id == 3 ? " (LZO)" : "");
    *out = (enum codec_id)(ids[id] - 1);
    if (!codec_can_decode(*out))
        return err_coded(err, RC_UNSUPPORTED, E1009,
                         "compression %s is not supported by this build",
                         codec_name(*out));
    return RC_OK;
}

enum rc pq_pages_begin(struct pq_pages *p, const struct pq_chunk *chunk, struct err *err)
{
    int64_t start = chunk->data_at;
    p->n_pages = 0;
    p->page_at = 0;
    p->windows = 0;
    if (chunk->is_encrypted)
        return err_coded(err, RC_UNSUPPORTED, E1008, "the column is encrypted");
    if (chunk->is_elsewhere)
        return err_coded(err, RC_UNSUPPORTED, E1009, "the column lies in another file");
    if (!chunk->has_meta || chunk->physical != (int32_t)p->leaf->physical)
        return err_coded(err, RC_FORMAT, E1004,
                         "the column chunk is of type %s, the schema says %s",
                         chunk->has_meta ? pq_physical_name(chunk->physical) : "none",
                         pq_physical_name((int32_t)p->leaf->physical));
    if (chunk->dict_at > 0 && chunk->dict_at < start)
        start = chunk->dict_at;
    if (start < 0 || chunk->compressed < 0 || (uint64_t)start > p->source->data_end ||
        (uint64_t)chunk->compressed > p->source->data_end - (uint64_t)start)
        return err_coded(err, RC_FORMAT, E1002,
                         "the column chunk of %jd bytes at byte %jd lies outside of the "
                         "file's data, which ends at byte %ju",
                         (intmax_t)chunk->compressed, (intmax_t)start,
                         (uintmax_t)p->source->data_end);
    p->at = (uint64_t)start;
    p->end = p->at + (uint64_t)chunk->compressed;
    return codec_of(chunk->codec, &p->codec, err);
}

void pq_pages_release(struct pq_pages *p)
{
    mem_free(p->window.p);
    mem_free(p->body.p);
    *p = (struct pq_pages){0};
}

enum rc pq_pages_goto(struct pq_pages *p, uint64_t at, int64_t n_before, struct err *err)
{
    if (at < p->at || at >= p->end)
        return err_coded(err, RC_FORMAT, E1004,
                         "the offset index points to byte %ju, outside of its column",
                         (uintmax_t)at);
    p->at = at;
    p->n_pages = n_before;
    return RC_OK;
}

void pq_pages_unread(struct pq_pages *p)
{
    p->at = p->page_at;
    p->n_pages--;
}

/* Bytes to read at `at` from a local file. */
static size_t local_window(const struct pq_pages *p, uint64_t at, size_t n)
{
    size_t want = n + HEADER_GUESS > WINDOW ? n + HEADER_GUESS : WINDOW;
    return want < p->source->data_end - at ? want : (size_t)(p->source->data_end - at);
}

/* A remote file is read no further than its column goes. */
static size_t remote_window(const struct pq_pages *p, uint64_t at, size_t n,
                            unsigned number)
{
    size_t want = PQ_WINDOW_FIRST << (number < 4 ? number : 4);
    uint64_t end = at < p->end && n <= p->end - at ? p->end : p->source->data_end;
    if (want > REMOTE_WINDOW_MAX)
        want = REMOTE_WINDOW_MAX;
    if (want < n)
        want = n;
    return want < end - at ? want : (size_t)(end - at);
}

/* What the window has already is kept: then reads follow each other without a gap, and
 * what was announced is what is read.
 */
static enum rc move_remote(struct pq_pages *p, uint64_t at, size_t n, struct err *err)
{
    size_t have = 0;
    if (p->window_n && at >= p->window_at && at - p->window_at < p->window_n) {
        have = p->window_n - (size_t)(at - p->window_at);
        memmove(p->window.p, (char *)p->window.p + (at - p->window_at), have);
    }
    uint64_t from = at + have;
    size_t more = remote_window(p, from, n - have, p->windows++);
    uint64_t next = from + more;
    p->window_n = 0;
    if (p->windows > 1 && next < p->end)
        io_want(p->source->file, next, remote_window(p, next, 0, p->windows));
    enum rc rc = column_mem_reserve(&p->window, have + more, have, err);
    if (!rc)
        rc = pq_source_read(p->source, from, more, (uint8_t *)p->window.p + have, err);
    if (rc)
        return rc;
    p->window_at = at;
    p->window_n = have + more;
    return RC_OK;
}

static enum rc move_local(struct pq_pages *p, uint64_t at, size_t n, struct err *err)
{
    size_t want = local_window(p, at, n);
    p->window_n = 0;
    enum rc rc = column_mem_reserve(&p->window, want, 0, err);
    if (!rc)
        rc = pq_source_read(p->source, at, want, p->window.p, err);
    if (rc)
        return rc;
    p->window_at = at;
    p->window_n = want;
    return RC_OK;
}

/* Makes [at, at + n) readable at *out; the caller checked that it lies in the file's
 * data.
 */
static enum rc view(struct pq_pages *p, uint64_t at, size_t n, const uint8_t **out,
                    struct err *err)
{
    enum rc rc = RC_OK;
    if (!p->window_n || at < p->window_at || at - p->window_at > p->window_n ||
        n > p->window_n - (size_t)(at - p->window_at))
        rc =
            p->source->is_remote ? move_remote(p, at, n, err) : move_local(p, at, n, err);
    if (!rc)
        *out = (const uint8_t *)p->window.p + (at - p->window_at);
    return rc;
}

/* A page that overruns its chunk is read all the same: early writers left the dictionary
 * out of the chunk's size.
 */
enum rc pq_pages_next(struct pq_pages *p, struct pq_page *h, bool *more, struct err *err)
{
    size_t used = 0, left = (size_t)(p->source->data_end - p->at);
    bool truncated = true;
    *more = p->at < p->end;
    if (!*more)
        return RC_OK;
    p->page_at = p->at;
    enum rc rc = RC_FORMAT;
    for (size_t n = HEADER_GUESS; rc && truncated; n *= 8) {
        const uint8_t *bytes;
        size_t k = n < left ? n : left;
        rc = view(p, p->at, k, &bytes, err);
        if (rc)
            return rc;
        rc = pq_page_parse(h, bytes, k, p->at, &used, &truncated, err);
        if (k == left || n >= HEADER_MAX)
            break;
    }
    if (rc)
        return rc;
    p->n_pages++;
    p->data_at = p->at + used;
    if ((size_t)h->compressed > left - used)
        return err_coded(err, RC_FORMAT, E1005,
                         "a page of %d bytes runs past the end of the file's data",
                         (int)h->compressed);
    p->at = p->data_at + (size_t)h->compressed;
    return RC_OK;
}

static enum rc check_crc(const struct pq_page *h, const uint8_t *bytes, struct err *err)
{
    uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)h->compressed);
    if (crc == h->crc)
        return RC_OK;
    return err_coded(err, RC_FORMAT, E1007, "the checksum is %08x, the page says %08x",
                     (unsigned)crc, (unsigned)h->crc);
}

/* `n` stored bytes that stand for `size`; uncompressed ones stay where they are. */
static enum rc decompress(struct pq_pages *p, struct codec *codec, bool compressed,
                          const uint8_t *in, size_t n, size_t size, const uint8_t **out,
                          struct err *err)
{
    if (!compressed || p->codec == CODEC_NONE) {
        if (n != size)
            return err_coded(err, RC_FORMAT, E1005,
                             "an uncompressed page of %zu bytes claims to have %zu", n,
                             size);
        *out = in;
        return RC_OK;
    }
    if (!codec_plausible(p->codec, n, size))
        return err_coded(err, RC_FORMAT, E1005,
                         "%zu bytes of %s cannot decompress to %zu", n,
                         codec_name(p->codec), size);
    enum rc rc = column_mem_reserve(&p->body, size, 0, err);
    if (!rc && size)
        rc = codec_decode(codec, p->codec, in, n, p->body.p, size, err);
    *out = p->body.p;
    return rc;
}

static unsigned level_width(int max)
{
    unsigned w = 0;
    for (; max; max >>= 1)
        w++;
    return w;
}

/* Levels of a v1 page stand at its front, before the values. */
static enum rc front_levels(struct pq_pages *p, struct levels *l, int max,
                            int32_t encoding, int32_t n_values, const uint8_t **at,
                            const uint8_t *end, struct err *err)
{
    size_t left = (size_t)(end - *at), n;
    *l = (struct levels){.is_rle = true, .width = level_width(max)};
    rle_init(&l->rle, p->kernels, *at, 0, 0); /* all 0 */
    if (!max)
        return RC_OK;
    if (encoding == PQ_BIT_PACKED) {
        n = ((size_t)n_values * l->width + 7) / 8;
        if (n > left)
            return err_coded(err, RC_FORMAT, E1006,
                             "levels run past the end of the page");
        *l = (struct levels){.width = l->width, .p = *at, .bits = n * 8};
        *at += n;
        return RC_OK;
    }
    if (encoding != PQ_RLE)
        return err_coded(err, RC_UNSUPPORTED, E1009, "%s is not an encoding of levels",
                         pq_encoding_name(encoding));
    if (left < 4 || pq_load32(*at) > left - 4)
        return err_coded(err, RC_FORMAT, E1006, "levels run past the end of the page");
    n = pq_load32(*at);
    rle_init(&l->rle, p->kernels, *at + 4, n, l->width);
    *at += 4 + n;
    return RC_OK;
}

static enum rc load_v1(struct pq_pages *p, const struct pq_page *h, struct codec *codec,
                       const uint8_t *in, struct pq_body *out, struct err *err)
{
    const uint8_t *at;
    bool levels = h->type == PQ_DATA_PAGE;
    enum rc rc =
        decompress(p, codec, true, in, (size_t)h->compressed, (size_t)h->size, &at, err);
    if (rc)
        return rc;
    const uint8_t *end = at + h->size;
    if (levels)
        rc = front_levels(p, &out->rep, p->leaf->max_rep, h->rep_encoding, h->n_values,
                          &at, end, err);
    if (!rc && levels)
        rc = front_levels(p, &out->def, p->leaf->max_def, h->def_encoding, h->n_values,
                          &at, end, err);
    out->values = at;
    out->n = (size_t)(end - at);
    return rc;
}

static void level_bytes(struct pq_pages *p, struct levels *l, int max, const uint8_t *at,
                        int32_t n)
{
    *l = (struct levels){.is_rle = true, .width = level_width(max)};
    rle_init(&l->rle, p->kernels, at, max ? (size_t)n : 0, l->width);
}

static enum rc load_v2(struct pq_pages *p, const struct pq_page *h, struct codec *codec,
                       const uint8_t *in, struct pq_body *out, struct err *err)
{
    int32_t levels = h->rep_bytes + h->def_bytes;
    level_bytes(p, &out->rep, p->leaf->max_rep, in, h->rep_bytes);
    level_bytes(p, &out->def, p->leaf->max_def, in + h->rep_bytes, h->def_bytes);
    out->n = (size_t)(h->size - levels);
    if (!out->n) {
        out->values = in; /* all null: nothing to decompress */
        return RC_OK;
    }
    return decompress(p, codec, h->is_compressed, in + levels,
                      (size_t)(h->compressed - levels), out->n, &out->values, err);
}

enum rc pq_pages_load(struct pq_pages *p, const struct pq_page *h, struct codec *codec,
                      struct pq_body *out, struct err *err)
{
    const uint8_t *in;
    enum rc rc = view(p, p->data_at, (size_t)h->compressed, &in, err);
    if (!rc && h->has_crc && p->check_crc)
        rc = check_crc(h, in, err);
    if (rc)
        return rc;
    if (h->type == PQ_DATA_PAGE_V2)
        return load_v2(p, h, codec, in, out, err);
    return load_v1(p, h, codec, in, out, err);
}
