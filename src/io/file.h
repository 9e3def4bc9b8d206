/* SPDX-License-Identifier: Apache-2.0 */
/* io/file.h - one file to read at any place: of this machine, or an object of a store.
 *
 * Reads of an object are requests for a range; io_want() says what will be read next, and
 * threads of the file fetch it meanwhile. What was wanted is kept until it was read, up
 * to IO_KEPT_MAX bytes in all; a wish that does not fit is forgotten, and the read then
 * asks for itself. For local files, wishes are the kernel's business.
 *
 * Any number of threads may read from one file at once.
 */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define IO_KEPT_MAX ((size_t)64 << 20)
#define IO_REQUEST_MAX ((size_t)8 << 20) /* bytes of one request */

struct io_file;

bool io_is_remote(const char *path); /* s3:// or oss:// */

/* Which end will be read first: it comes with the answer that tells the size. */
enum io_end { IO_FRONT, IO_BACK };

/* A regular file or an object; the caller's, to io_close(). RC_NOTFOUND, RC_IO, RC_INVAL
 * (a directory or a pipe); what io/object.h lists.
 */
enum rc io_open(const char *path, enum io_end first, struct io_file **out,
                struct err *err) MUST_CHECK;
void io_close(struct io_file *f); /* NULL is fine */
uint64_t io_size(const struct io_file *f);
bool io_file_is_remote(const struct io_file *f);

/* Up to n bytes at `at`; fewer only where the file ends. */
enum rc io_read_at(struct io_file *f, uint64_t at, size_t n, void *to, size_t *got,
                   struct err *err) MUST_CHECK;
void io_want(struct io_file *f, uint64_t at, size_t n);

/* What an object cost so far; 0 for a local file. */
struct io_cost {
    int64_t requests, bytes;
};
void io_cost(struct io_file *f, struct io_cost *out);

#endif
