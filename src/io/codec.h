/* SPDX-License-Identifier: Apache-2.0 */
/* io/codec.h - compression of whole blocks whose size is known (pages, not streams).
 *
 * A struct codec keeps the libraries' working memory between calls, so that a warm one
 * allocates nothing; it is used by one thread at a time. For streams: io/stream.h.
 */
#ifndef IO_CODEC_H
#define IO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum codec_id {
#define CODEC(id, ...) CODEC_##id,
#include "io/codecs.def"
#undef CODEC
    CODEC_COUNT
};

struct codec;

struct codec *codec_create(void);
void codec_destroy(struct codec *c); /* NULL is fine */

const char *codec_name(enum codec_id id);              /* "zstd" */
bool codec_find(const char *name, enum codec_id *out); /* by that name */
bool codec_can_decode(enum codec_id id);
bool codec_can_encode(enum codec_id id);
/* Whether `n` bytes can decompress to `size` at all: to be asked before memory of a size
 * that a file states is taken.
 */
bool codec_plausible(enum codec_id id, size_t n, size_t size);

/* Exactly `size` bytes into `out`. RC_FORMAT (E1010) when it is not that many or the
 * input is damaged, RC_UNSUPPORTED, RC_NOMEM.
 */
enum rc codec_decode(struct codec *c, enum codec_id id, const void *in, size_t n,
                     void *out, size_t size, struct err *err) MUST_CHECK;

/* Room that codec_encode() needs at most. */
size_t codec_bound(enum codec_id id, size_t n);
/* `level` 0 is the library's default. RC_UNSUPPORTED, RC_NOMEM. */
enum rc codec_encode(struct codec *c, enum codec_id id, int level, const void *in,
                     size_t n, void *out, size_t room, size_t *size,
                     struct err *err) MUST_CHECK;

#endif
