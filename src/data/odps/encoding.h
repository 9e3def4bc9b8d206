/* SPDX-License-Identifier: Apache-2.0 */
/* data/odps/encoding.h - compressed answers of the tunnel. */
#ifndef DATA_ODPS_ENCODING_H
#define DATA_ODPS_ENCODING_H

#include "base/err.h"
#include "base/str.h"

/* Names of encodings in Accept-Encoding and Content-Encoding. */
#define ODPS_LZ4 "x-lz4-frame"
#define ODPS_ZSTD "zstd"

/* Replaces a body by what it holds; "" and "identity" leave it. RC_FORMAT E1705 (an
 * encoding that was not asked for, damaged bytes), RC_INVAL E1090 (more than `max`),
 * RC_NOMEM.
 */
enum rc odps_decode(struct str encoding, struct buf *body, size_t max,
                    struct err *err) MUST_CHECK;

#endif
