/* SPDX-License-Identifier: Apache-2.0 */
/* One line of codecs.def per codec; its functions are here. Each takes the whole block and
 * gives the whole result, so that the same loop of a reader serves all. Working memory of
 * the libraries is made at first use and kept in struct codec.
 */
#include "io/codec.h"

#include <limits.h>
#include <lz4.h>
#include <snappy-c.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#ifdef TY_BROTLI
#include <brotli/decode.h>
#endif

#include "base/mem.h"
#include "io/snappy.h"

struct codec {
    ZSTD_DCtx *zstd_in;
    ZSTD_CCtx *zstd_out;
    z_stream gzip;
    bool has_gzip;
};

struct codec *codec_create(void)
{
    return mem_calloc(1, sizeof(struct codec));
}

void codec_destroy(struct codec *c)
{
    if (!c)
        return;
    ZSTD_freeDCtx(c->zstd_in);
    ZSTD_freeCCtx(c->zstd_out);
    if (c->has_gzip)
        inflateEnd(&c->gzip);
    mem_free(c);
}

typedef enum rc decode_fn(struct codec *, const uint8_t *in, size_t n, uint8_t *out,
                          size_t size, struct err *);
typedef enum rc encode_fn(struct codec *, int level, const uint8_t *in, size_t n,
                          uint8_t *out, size_t room, size_t *size, struct err *);

static enum rc codec_damaged(struct err *err, const char *codec, size_t n, size_t size)
{
    return err_coded(err, RC_FORMAT, E1010,
                     "%zu bytes of %s data do not decompress to %zu bytes", n, codec,
                     size);
}

static enum rc none_decode(struct codec *c, const uint8_t *in, size_t n, uint8_t *out,
                           size_t size, struct err *err)
{
    if (n != size)
        return err_coded(err, RC_FORMAT, E1010, "%zu uncompressed bytes where %zu belong",
                         n, size);
    memcpy(out, in, n);
    return RC_OK;
}

static enum rc none_encode(struct codec *c, int level, const uint8_t *in, size_t n,
                           uint8_t *out, size_t room, size_t *size, struct err *err)
{
    memcpy(out, in, n);
    *size = n;
    return RC_OK;
}

static size_t none_bound(size_t n)
{
    return n;
}

static enum rc snappy_decode(struct codec *c, const uint8_t *in, size_t n, uint8_t *out,
                             size_t size, struct err *err)
{
    return snappy_block(in, n, out, size) ? RC_OK : codec_damaged(err, "snappy", n, size);
}

static enum rc snappy_encode(struct codec *c, int level, const uint8_t *in, size_t n,
                             uint8_t *out, size_t room, size_t *size, struct err *err)
{
    *size = room;
    if (snappy_compress((const char *)in, n, (char *)out, size) != SNAPPY_OK)
        return err_set(err, RC_INVAL, "snappy refuses %zu bytes", n);
    return RC_OK;
}

static enum rc gzip_decode(struct codec *c, const uint8_t *in, size_t n, uint8_t *out,
                           size_t size, struct err *err)
{
    if (!c->has_gzip && inflateInit2(&c->gzip, 15 + 32) != Z_OK)
        return err_set(err, RC_NOMEM, "out of memory for gzip");
    c->has_gzip = true;
    if (n > UINT_MAX || size > UINT_MAX)
        return codec_damaged(err, "gzip", n, size);
    inflateReset2(&c->gzip, 15 + 32);
    c->gzip.next_in = in;
    c->gzip.avail_in = (uInt)n;
    c->gzip.next_out = out;
    c->gzip.avail_out = (uInt)size;
    int z = inflate(&c->gzip, Z_FINISH);
    while (z == Z_STREAM_END && c->gzip.avail_in && c->gzip.avail_out) {
        inflateReset(&c->gzip); /* the next member */
        z = inflate(&c->gzip, Z_FINISH);
    }
    return z == Z_STREAM_END && !c->gzip.avail_out ? RC_OK
                                                   : codec_damaged(err, "gzip", n, size);
}

static enum rc gzip_encode(struct codec *c, int level, const uint8_t *in, size_t n,
                           uint8_t *out, size_t room, size_t *size, struct err *err)
{
    z_stream z = {0};
    if (n > UINT_MAX || room > UINT_MAX)
        return err_set(err, RC_INVAL, "gzip refuses %zu bytes", n);
    if (deflateInit2(&z, level ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(err, RC_NOMEM, "out of memory for gzip");
    z.next_in = in;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    int end = deflate(&z, Z_FINISH);
    *size = room - z.avail_out;
    deflateEnd(&z);
    return end == Z_STREAM_END ? RC_OK
                               : err_set(err, RC_INVAL, "gzip refuses %zu bytes", n);
}

static size_t gzip_bound(size_t n)
{
    return compressBound(n) + 32;
}

static enum rc zstd_decode(struct codec *c, const uint8_t *in, size_t n, uint8_t *out,
                           size_t size, struct err *err)
{
    if (!c->zstd_in)
        c->zstd_in = ZSTD_createDCtx();
    if (!c->zstd_in)
        return err_set(err, RC_NOMEM, "out of memory for zstd");
    size_t got = ZSTD_decompressDCtx(c->zstd_in, out, size, in, n);
    return ZSTD_isError(got) || got != size ? codec_damaged(err, "zstd", n, size) : RC_OK;
}

static enum rc zstd_encode(struct codec *c, int level, const uint8_t *in, size_t n,
                           uint8_t *out, size_t room, size_t *size, struct err *err)
{
    if (!c->zstd_out)
        c->zstd_out = ZSTD_createCCtx();
    if (!c->zstd_out)
        return err_set(err, RC_NOMEM, "out of memory for zstd");
    size_t got = ZSTD_compressCCtx(c->zstd_out, out, room, in, n, level ? level : 1);
    if (ZSTD_isError(got))
        return err_set(err, RC_INVAL, "zstd: %s", ZSTD_getErrorName(got));
    *size = got;
    return RC_OK;
}

static bool lz4_block(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    return n <= INT_MAX && size <= INT_MAX &&
           LZ4_decompress_safe((const char *)in, (char *)out, (int)n, (int)size) ==
               (int)size;
}

static enum rc lz4_raw_decode(struct codec *c, const uint8_t *in, size_t n, uint8_t *out,
                              size_t size, struct err *err)
{
    return lz4_block(in, n, out, size) ? RC_OK : codec_damaged(err, "lz4", n, size);
}

static enum rc lz4_raw_encode(struct codec *c, int level, const uint8_t *in, size_t n,
                              uint8_t *out, size_t room, size_t *size, struct err *err)
{
    int got = n <= INT_MAX && room <= INT_MAX
                  ? LZ4_compress_default((const char *)in, (char *)out, (int)n, (int)room)
                  : 0;
    if (got <= 0)
        return err_set(err, RC_INVAL, "lz4 refuses %zu bytes", n);
    *size = (size_t)got;
    return RC_OK;
}

static size_t lz4_bound(size_t n)
{
    return n <= LZ4_MAX_INPUT_SIZE ? (size_t)LZ4_compressBound((int)n) : 0;
}

static size_t big_endian(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

/* Hadoop's framing: per block its size, then one or more compressed parts, each with the
 * size of its compressed bytes.
 */
static bool lz4_hadoop_blocks(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    while (n >= 8) {
        size_t block = big_endian(in), part = big_endian(in + 4);
        in += 8;
        n -= 8;
        if (part > n || block > size || !lz4_block(in, part, out, block))
            return false;
        in += part;
        n -= part;
        out += block;
        size -= block;
    }
    return n == 0 && size == 0;
}

static enum rc lz4_hadoop_decode(struct codec *c, const uint8_t *in, size_t n,
                                 uint8_t *out, size_t size, struct err *err)
{
    if (lz4_hadoop_blocks(in, n, out, size) || lz4_block(in, n, out, size))
        return RC_OK;
    return codec_damaged(err, "lz4", n, size);
}

#ifdef TY_BROTLI
static enum rc brotli_decode(struct codec *c, const uint8_t *in, size_t n, uint8_t *out,
                             size_t size, struct err *err)
{
    size_t got = size;
    if (BrotliDecoderDecompress(n, in, &got, out) != BROTLI_DECODER_RESULT_SUCCESS ||
        got != size)
        return codec_damaged(err, "brotli", n, size);
    return RC_OK;
}
#else
#define brotli_decode NULL
#endif

static const struct {
    const char *name;
    size_t ratio; /* the most bytes that one can become */
    decode_fn *decode;
    encode_fn *encode;
    size_t (*bound)(size_t n);
} codecs[] = {
#define CODEC(id, name, ratio, number, decode, encode, bound) \
    {name, ratio, decode, encode, bound},
#include "io/codecs.def"
#undef CODEC
};

const char *codec_name(enum codec_id id)
{
    return codecs[id].name;
}

bool codec_find(const char *name, enum codec_id *out)
{
    for (int i = 0; i < CODEC_COUNT; i++)
        if (strcmp(codecs[i].name, name) == 0) {
            *out = (enum codec_id)i;
            return true;
        }
    return false;
}

bool codec_can_decode(enum codec_id id)
{
    return codecs[id].decode != NULL;
}

bool codec_can_encode(enum codec_id id)
{
    return codecs[id].encode != NULL;
}

bool codec_plausible(enum codec_id id, size_t n, size_t size)
{
    return size / codecs[id].ratio <= n + 16;
}

enum rc codec_decode(struct codec *c, enum codec_id id, const void *in, size_t n,
                     void *out, size_t size, struct err *err)
{
    if (!codecs[id].decode)
        return err_coded(err, RC_UNSUPPORTED, E1009, "this build has no %s",
                         codecs[id].name);
    return codecs[id].decode(c, in, n, out, size, err);
}

size_t codec_bound(enum codec_id id, size_t n)
{
    return codecs[id].bound ? codecs[id].bound(n) : 0;
}

enum rc codec_encode(struct codec *c, enum codec_id id, int level, const void *in,
                     size_t n, void *out, size_t room, size_t *size, struct err *err)
{
    if (!codecs[id].encode)
        return err_coded(err, RC_UNSUPPORTED, E1009, "this build does not write %s",
                         codecs[id].name);
    return codecs[id].encode(c, level, in, n, out, room, size, err);
}
