/* SPDX-License-Identifier: Apache-2.0 */
/* data/odps/odps.h - tables of MaxCompute: odps://project/tables/[schema.]table/pt=a/..
 *
 * Rows go over the tunnel service, in its record format, through libcurl. A download
 * session is a snapshot of a table or partition with a fixed number of rows; all readers
 * of one process share the session of a path. How requests are signed and rows encoded is
 * in docs/sources.md.
 */
#ifndef DATA_ODPS_ODPS_H
#define DATA_ODPS_ODPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fs.h"
#include "data/odps/type.h"
#include "data/type.h"

struct odps_path {
    char *url;             /* as written */
    char *project, *table; /* owned */
    char *schema;          /* NULL: none */
    char *partition;       /* "pt=a,sub=b"; NULL: the whole table */
    bool append;           /* written with ?overwrite=false: rows there stay */
};

bool odps_is_url(const char *path);
/* RC_INVAL E1701. */
enum rc odps_path_parse(const char *url, struct odps_path *out,
                        struct err *err) MUST_CHECK;
void odps_path_release(struct odps_path *p);
/* One URL per partition: "odps://p/tables/t/pt=a&pt=b" is two. They are added to `out`.
 */
enum rc odps_expand(const char *url, struct fs_names *out, struct err *err) MUST_CHECK;

/* How rows travel; zeroed: with the project's own quota, uncompressed. Copied. */
struct odps_conf {
    const char *quota;       /* of the tunnel; NULL: the project's */
    const char *compression; /* asked for: "LZ4_FRAME", "ZSTD"; NULL: none */
};

/* One account at one service. Any thread may use it. */
struct odps;
/* From ODPS_CONFIG_FILE_PATH, ODPS_ENDPOINT and their kin. RC_INVAL E1702. */
enum rc odps_open(const struct odps_conf *conf, struct odps **out,
                  struct err *err) MUST_CHECK;
void odps_close(struct odps *o); /* NULL is fine */

struct odps_column {
    char *name; /* owned */
    struct odps_type type;
    bool is_key; /* of the partition: its value is part of the path */
};

struct odps_session {
    char *id;                    /* owned */
    int64_t rows;                /* download only */
    struct odps_column *columns; /* [n], keys last */
    size_t n, n_keys;
    struct arena mem; /* of the types */
};
void odps_session_release(struct odps_session *s);

/* The session of a path, made by the first caller and shared afterwards. RC_NOTFOUND
 * E1703, RC_IO E1704, E1607, RC_FORMAT E1705, RC_UNSUPPORTED E1706.
 */
enum rc odps_download(struct odps *o, const struct odps_path *path,
                      struct odps_session *out, struct err *err) MUST_CHECK;
/* Forgets the shared session of a path, which expired. */
void odps_forget(const char *url);

/* Rows [from, from + n) of the columns named (with commas between them, in the table's
 * order; NULL: all) in wire form, added to `out`. RC_INVAL E1090 when they do not fit.
 */
enum rc odps_rows(struct odps *o, const struct odps_path *path, const char *session,
                  const char *columns, int64_t from, int64_t n, struct buf *out,
                  struct err *err) MUST_CHECK;

/* Makes the table of `path` with these columns, and the keys of its partition as texts; it
 * lives ODPS_TABLE_LIFECYCLE days, if that is set. None that exists is touched. RC_INVAL
 * E1709 (a name or type that no table has), E1702; RC_IO E1711 (the service refuses).
 */
enum rc odps_create_table(struct odps *o, const struct odps_path *path,
                          const struct data_schema *schema, struct err *err) MUST_CHECK;

/* An upload: blocks, numbered from 0, that appear together. A partition that is missing
 * is made; *no_table says that the table is, and nothing was done.
 */
enum rc odps_upload(struct odps *o, const struct odps_path *path, bool overwrite,
                    struct odps_session *out, bool *no_table, struct err *err) MUST_CHECK;
enum rc odps_block(struct odps *o, const struct odps_path *path, const char *session,
                   int64_t number, const void *p, size_t n, struct err *err) MUST_CHECK;
enum rc odps_commit(struct odps *o, const struct odps_path *path, const char *session,
                    int64_t n_blocks, struct err *err) MUST_CHECK;

#endif
