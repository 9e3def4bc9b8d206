/* SPDX-License-Identifier: Apache-2.0 */
/* io/out.h - a file to write from front to back: of this machine, or an object.
 *
 * It appears under its name when io_commit() succeeded, whole, or not at all: a local
 * file grows under another name (base/fs.h), an object in parts that nobody sees until
 * they are completed. Stdout ("-"), a pipe or a device takes what is written as it comes
 * (io/guard.h). Used by one thread at a time; memory is bounded by five parts.
 */
#ifndef IO_OUT_H
#define IO_OUT_H

#include <stddef.h>

#include "base/err.h"

struct io_out;

/* Messages name the path. RC_IO; what io/object.h lists. */
enum rc io_create(const char *path, struct io_out **out, struct err *err) MUST_CHECK;
enum rc io_append(struct io_out *o, const void *p, size_t n, struct err *err) MUST_CHECK;
/* Both end `o`, whatever they return. */
enum rc io_commit(struct io_out *o, struct err *err) MUST_CHECK;
void io_abandon(struct io_out *o); /* NULL is fine */

/* Directories up to `path`, which is one; stores have none, so nothing happens there. */
enum rc io_make_dirs(const char *path, struct err *err) MUST_CHECK;
/* All of it at once. */
enum rc io_write(const char *path, const void *p, size_t n, struct err *err) MUST_CHECK;

#endif
