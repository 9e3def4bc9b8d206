/* SPDX-License-Identifier: Apache-2.0 */
/* data/odps/type.h - types of MaxCompute and what they are here. */
#ifndef DATA_ODPS_TYPE_H
#define DATA_ODPS_TYPE_H

#include "data/type.h"

enum odps_kind {
    ODPS_BOOLEAN,
    ODPS_SMALL, /* TINYINT, SMALLINT, INT: int32 here */
    ODPS_BIGINT,
    ODPS_FLOAT,
    ODPS_DOUBLE,
    ODPS_STRING, /* also VARCHAR, CHAR, JSON */
    ODPS_BINARY,
    ODPS_DECIMAL,   /* text on the wire, a double here */
    ODPS_DATETIME,  /* milliseconds */
    ODPS_DATE,      /* days */
    ODPS_TIMESTAMP, /* seconds and nanoseconds */
    ODPS_TIMESTAMP_NTZ,
    ODPS_ARRAY,
    ODPS_MAP,
    ODPS_STRUCT,
};

/* Kids lie in the arena that odps_type_parse() was given. */
struct odps_type {
    enum odps_kind kind;
    int32_t precision, scale;
    struct odps_type *kids; /* [n_kids] */
    const char **names;     /* of a struct's kids */
    size_t n_kids;
};

/* "array<map<string,bigint>>", in any case. RC_UNSUPPORTED E1706 for a type that is not
 * known or nested too deep.
 */
enum rc odps_type_parse(struct str text, struct arena *mem, struct odps_type *out,
                        struct err *err) MUST_CHECK;
/* The column type that holds it; kids go to `mem`. */
struct type odps_type_ours(const struct odps_type *t, struct arena *mem);
/* Whether a column of type `from` can be written as `to`. */
bool odps_type_takes(const struct odps_type *to, const struct type *from);
void odps_type_print(const struct odps_type *t, struct buf *out);

#endif
