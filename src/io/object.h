/* SPDX-License-Identifier: Apache-2.0 */
/* io/object.h - requests to an object store: s3://bucket/key and oss://bucket/key.
 *
 * One struct object is one key (or, for listing, a prefix) and the account it is reached
 * with. Any number of threads may use it at once. Messages begin with the URL.
 * Errors everywhere: RC_NOTFOUND E1604, RC_IO E1606 (refused), E1607 (no answer), E1608
 * (changed meanwhile), E1610 (certificate), RC_INVAL E1602, E1603 (settings), RC_FORMAT
 * E1611 (an answer that makes no sense), RC_NOMEM.
 */
#ifndef IO_OBJECT_H
#define IO_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct object;

/* Begins with the scheme of a store: s3://, oss://. */
bool object_is_url(const char *path);
/* `url` is one. RC_INVAL E1601 for a URL without a bucket or, unless `is_prefix`, without a key.
 * Nothing is sent yet.
 */
enum rc object_open(const char *url, bool is_prefix, struct object **out,
                    struct err *err) MUST_CHECK;
void object_close(struct object *o); /* NULL is fine */
const char *object_url(const struct object *o);
const char *object_key(const struct object *o);

/* What a reply told about the whole object. */
struct object_info {
    uint64_t size;
    char etag[80];    /* "" when the server gives none */
    int64_t modified; /* s since 1970; 0: the server does not tell */
};

/* Bytes [at, at + n) or as many as there are. `etag`, unless NULL or "", is the one the
 * object must still have. `info` may be NULL.
 */
enum rc object_get(struct object *o, uint64_t at, size_t n, const char *etag, void *to,
                   size_t *got, struct object_info *info, struct err *err) MUST_CHECK;
/* The last n bytes, or all when there are fewer. */
enum rc object_get_tail(struct object *o, size_t n, void *to, size_t *got,
                        struct object_info *info, struct err *err) MUST_CHECK;

/* The whole object at once. */
enum rc object_put(struct object *o, const void *p, size_t n, struct err *err) MUST_CHECK;
/* In parts, numbered from 1: nothing is visible before it is completed. Texts that come
 * back are the caller's, to mem_free().
 */
enum rc object_parts_begin(struct object *o, char **id, struct err *err) MUST_CHECK;
enum rc object_part_put(struct object *o, const char *id, int number, const void *p,
                        size_t n, char **etag, struct err *err) MUST_CHECK;
enum rc object_parts_complete(struct object *o, const char *id, char *const *etags,
                              int n_parts, struct err *err) MUST_CHECK;
enum rc object_parts_abort(struct object *o, const char *id, struct err *err) MUST_CHECK;

/* Every object whose key begins with `prefix`, sorted by bytes as the store does. A
 * failure of `each` ends the listing and is returned.
 */
typedef enum rc object_list_fn(void *arg, const char *key, uint64_t size,
                               struct err *err);
enum rc object_list(struct object *o, const char *prefix, object_list_fn *each, void *arg,
                    struct err *err) MUST_CHECK;
/* The same with what a listing tells. `folded`: keys with a '/' behind the prefix come once, as
 * what they have in common up to and with that '/'.
 */
struct object_entry {
    const char *key;
    uint64_t size;
    int64_t modified; /* s since 1970; 0: not told */
    bool folded;      /* the beginning of keys, not one of them */
};
typedef enum rc object_entry_fn(void *arg, const struct object_entry *e, struct err *err);
enum rc object_entries(struct object *o, const char *prefix, bool folded,
                       object_entry_fn *each, void *arg, struct err *err) MUST_CHECK;

/* Fine when it is not there. */
enum rc object_delete(struct object *o, struct err *err) MUST_CHECK;

#endif
