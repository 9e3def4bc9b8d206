/* SPDX-License-Identifier: Apache-2.0 */
#include "data/odps/encoding.h"

#include <lz4frame.h>
#include <strings.h>
#include <zstd.h>

#include "base/mem.h"

#define STEP ((size_t)256 << 10)

/* One step of a decompressor: reads up to *n_in, writes up to *n_out, sets both to what it
 * did. *left is 0 at the end of a frame. False: damaged.
 */
typedef bool step_fn(void *state, const void *in, size_t *n_in, void *out, size_t *n_out,
                     size_t *left);

static bool lz4_step(void *state, const void *in, size_t *n_in, void *out, size_t *n_out,
                     size_t *left)
{
    *left = LZ4F_decompress(state, out, n_out, in, n_in, NULL);
    return !LZ4F_isError(*left);
}

static bool zstd_step(void *state, const void *in, size_t *n_in, void *out, size_t *n_out,
                      size_t *left)
{
    ZSTD_inBuffer from = {.src = in, .size = *n_in};
    ZSTD_outBuffer to = {.dst = out, .size = *n_out};
    *left = ZSTD_decompressStream(state, &to, &from);
    *n_in = from.pos;
    *n_out = to.pos;
    return !ZSTD_isError(*left);
}

/* All frames of `in`, one after the other. */
static enum rc decode_frames(step_fn *step, void *state, const struct buf *in,
                             struct buf *out, struct err *err)
{
    char *piece = mem_alloc(STEP);
    size_t at = 0, left = 0;
    bool good = true, moved = true;
    while (good && moved && (at < in->n || left)) {
        size_t n = in->n - at, made = STEP;
        good = step(state, in->p + at, &n, piece, &made, &left);
        moved = n || made;
        if (good)
            buf_add(out, piece, made);
        at += n;
    }
    mem_free(piece);
    if (!good || left || at < in->n)
        return err_coded(err, RC_FORMAT, E1705, "the answer's compression is damaged");
    return buf_check(out, err);
}

enum rc odps_decode(struct str encoding, struct buf *body, size_t max, struct err *err)
{
    struct buf out;
    void *state = NULL;
    bool lz4 = encoding.n == sizeof(ODPS_LZ4) - 1 &&
               strncasecmp(encoding.p, ODPS_LZ4, encoding.n) == 0;
    if (!encoding.n || str_is(encoding, "identity"))
        return RC_OK;
    if (!lz4 && !str_is(encoding, ODPS_ZSTD))
        return err_coded(err, RC_FORMAT, E1705, "the answer is compressed as '%.*s'",
                         (int)(encoding.n < 60 ? encoding.n : 60), encoding.p);
    if (lz4 &&
        LZ4F_isError(LZ4F_createDecompressionContext((LZ4F_dctx **)&state, LZ4F_VERSION)))
        state = NULL;
    if (!lz4)
        state = ZSTD_createDStream();
    if (!state)
        return err_set(err, RC_NOMEM, "out of memory");
    buf_init(&out, max);
    enum rc rc = decode_frames(lz4 ? lz4_step : zstd_step, state, body, &out, err);
    if (lz4)
        (void)LZ4F_freeDecompressionContext(state);
    else
        (void)ZSTD_freeDStream(state);
    if (!rc) {
        struct buf swap = *body;
        *body = out;
        out = swap;
    }
    buf_release(&out);
    return rc;
}
