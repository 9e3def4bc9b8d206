/* SPDX-License-Identifier: Apache-2.0 */
/* io/stream.h - the bytes of one input from front to back, decompressed on the way.
 *
 * The kind is chosen by the first bytes, never by the name: gzip (also several members
 * in a row), zstd (several frames, skippable ones too), else plain. Memory is bounded
 * whatever the size of the file: one raw buffer, the window of the decompressor (zstd:
 * at most 128 MiB) and, with read-ahead, a few chunks. One stream is used by one thread
 * at a time; the read-ahead thread is its own business.
 */
#ifndef IO_STREAM_H
#define IO_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct stream;

enum stream_kind { STREAM_PLAIN, STREAM_GZIP, STREAM_ZSTD };

/* Opens `path`, a file or an object of a store (io/file.h), at its first byte.
 * `read_ahead` > 0 decompresses that many chunks of 1 MiB ahead in a thread of its own
 * (at most STREAM_AHEAD_MAX); for plain files it is the kernel that reads ahead. The
 * caller's, to stream_close(). RC_NOTFOUND, RC_IO, RC_NOMEM.
 */
#define STREAM_AHEAD_MAX 16
enum rc stream_open(const char *path, int read_ahead, struct stream **out,
                    struct err *err) MUST_CHECK;
/* The same over bytes in memory, which stay the caller's and must outlive the stream;
 * `name` takes the place of the path in messages.
 */
enum rc stream_open_memory(const char *name, const void *bytes, size_t n,
                           struct stream **out, struct err *err) MUST_CHECK;
void stream_close(struct stream *s); /* NULL is fine */

/* The next `n` decompressed bytes; *got is less than n only at the end of the input.
 * RC_IO, RC_FORMAT (E1140 damaged, E1141 cut short), RC_NOMEM. After a failure only
 * stream_seek() and stream_close() are of use.
 */
enum rc stream_read(struct stream *s, void *to, size_t n, size_t *got,
                    struct err *err) MUST_CHECK;
/* Goes to `offset` in the decompressed bytes. Plain: at once. Compressed: decompresses
 * up to there, from the start when it lies behind. RC_INVAL past the end.
 */
enum rc stream_seek(struct stream *s, int64_t offset, struct err *err) MUST_CHECK;

int64_t stream_tell(const struct stream *s); /* decompressed bytes handed out so far */
enum stream_kind stream_kind(const struct stream *s);
/* Bytes of the file as it lies there; -1 when it has no size (a pipe). */
int64_t stream_raw_size(const struct stream *s);
const char *stream_name(const struct stream *s); /* borrowed */

#endif
