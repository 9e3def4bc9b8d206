/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/zip.h - archives of a few files, as any program for ZIP files reads them. Entries are
 * stored, not compressed; larger archives than 4 GiB are not made.
 */
#ifndef CMD_ZIP_H
#define CMD_ZIP_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct zip_entry {
    char *name; /* owned */
    uint32_t crc, size, at;
};
struct zip_writer {
    struct buf out; /* the archive so far */
    VEC(struct zip_entry) entries;
};
void zip_begin(struct zip_writer *w);
void zip_add(struct zip_writer *w, const char *name, const char *data, size_t n);
void zip_end(struct zip_writer *w); /* the archive is in `out` */
void zip_release(struct zip_writer *w);

/* The content of `name`, borrowed from the archive. RC_FORMAT (E4005): it is no archive, or a
 * damaged one, or the entry is compressed; RC_NOTFOUND: it has none of that name.
 */
enum rc zip_find(const char *data, size_t n, const char *name, struct str *out,
                 struct err *err) MUST_CHECK;

#endif
