/* SPDX-License-Identifier: Apache-2.0 */
/* io/event_file.h - reads the scalars of TensorBoard's event files, ours and those of other
 * programs, from wherever they were read before.
 *
 * A file is a row of records (length, checksum, bytes, checksum), each a protobuf message
 * Event. Scalars are simple values, or tensors of one number. Everything else is passed over.
 * A record that is not whole yet is left for the next time.
 */
#ifndef IO_EVENT_FILE_H
#define IO_EVENT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define EVENT_RECORD_MAX (16 << 20)
#define EVENT_TAG_MAX 512

struct io_event {
    bool restart; /* what was said of `step` and later no longer counts; no tag */
    int64_t step;
    int64_t time; /* wall clock, ns */
    const char *tag;
    double value; /* may be no number */
};
typedef void io_event_fn(void *arg, const struct io_event *e);

/* What is in the file `fd` from *offset on; *offset is behind the last whole record then.
 * RC_FORMAT with the place: something in it is no event.
 */
enum rc io_event_read(int fd, int64_t *offset, io_event_fn *fn, void *arg,
                      struct err *err) MUST_CHECK;
/* One message Event of `n` bytes. False: it is none. */
bool io_event_parse(const uint8_t *p, size_t n, io_event_fn *fn, void *arg);

#endif
