/* SPDX-License-Identifier: Apache-2.0 */
/* Stores take at most 10000 parts of at least 5 MiB. Parts begin small, so that little
 * memory is used, and double every thousand, so that 40 TiB fit.
 */
#include "io/out.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "io/file.h"
#include "io/object.h"

#define PART_FIRST ((size_t)8 << 20)
#define PARTS_PER_SIZE 1000
#define PARTS_MAX 10000

struct io_out {
    struct fs_file *file; /* local; else: */
    struct object *object;
    char *id;          /* of the upload; NULL: nothing was sent yet */
    VEC(char *) etags; /* of the parts sent */
    unsigned char *part;
    size_t n, size; /* bytes in it, and its room */
};

enum rc io_create(const char *path, struct io_out **out, struct err *err)
{
    struct io_out *o = mem_calloc(1, sizeof(*o));
    enum rc rc;
    if (io_is_remote(path))
        rc = object_open(path, false, &o->object, err);
    else
        rc = fs_create(path, 0644, &o->file, err);
    if (rc) {
        mem_free(o);
        return rc;
    }
    *out = o;
    return RC_OK;
}

static enum rc no_memory(const struct io_out *o, size_t n, struct err *err)
{
    return err_set(err, RC_NOMEM, "'%.300s': no memory for a part of %zu bytes",
                   object_url(o->object), n);
}

static enum rc send_part(struct io_out *o, struct err *err)
{
    char *etag = NULL;
    enum rc rc = RC_OK;
    if (o->etags.n == PARTS_MAX)
        return err_coded(err, RC_UNSUPPORTED, E1609,
                         "'%.300s': larger than the %d parts that a store takes",
                         object_url(o->object), PARTS_MAX);
    if (!o->id)
        rc = object_parts_begin(o->object, &o->id, err);
    if (!rc)
        rc = object_part_put(o->object, o->id, (int)o->etags.n + 1, o->part, o->n, &etag,
                             err);
    if (rc)
        return rc;
    VEC_PUSH(&o->etags, etag);
    o->n = 0;
    return RC_OK;
}

/* Room for at least one more byte. */
static enum rc grow(struct io_out *o, size_t more, struct err *err)
{
    size_t most = PART_FIRST << (o->etags.n / PARTS_PER_SIZE);
    if (o->n < o->size)
        return RC_OK;
    size_t size = o->size ? o->size * 2 : (size_t)64 << 10;
    while (size < most && size - o->n < more)
        size *= 2;
    size = size < most ? size : most;
    unsigned char *p = mem_try_realloc(o->part, size, 1);
    if (!p)
        return no_memory(o, size, err);
    o->part = p;
    o->size = size;
    return RC_OK;
}

enum rc io_append(struct io_out *o, const void *p, size_t n, struct err *err)
{
    const unsigned char *from = p;
    enum rc rc = RC_OK;
    if (o->file)
        return fs_append(o->file, p, n, err);
    while (!rc && n) {
        if (o->n >= PART_FIRST << (o->etags.n / PARTS_PER_SIZE))
            rc = send_part(o, err);
        if (!rc)
            rc = grow(o, n, err);
        if (rc)
            break;
        size_t k = n < o->size - o->n ? n : o->size - o->n;
        memcpy(o->part + o->n, from, k);
        o->n += k;
        from += k;
        n -= k;
    }
    return rc;
}

static void out_free(struct io_out *o)
{
    for (size_t i = 0; i < o->etags.n; i++)
        mem_free(o->etags.at[i]);
    VEC_RELEASE(&o->etags);
    object_close(o->object);
    mem_free(o->part);
    mem_free(o->id);
    mem_free(o);
}

enum rc io_commit(struct io_out *o, struct err *err)
{
    enum rc rc = RC_OK;
    if (o->file) {
        rc = fs_commit(o->file, err);
        out_free(o);
        return rc;
    }
    if (!o->id) {
        rc = object_put(o->object, o->part, o->n, err);
        out_free(o);
        return rc;
    }
    if (o->n)
        rc = send_part(o, err);
    if (!rc)
        rc = object_parts_complete(o->object, o->id, o->etags.at, (int)o->etags.n, err);
    if (rc)
        io_abandon(o);
    else
        out_free(o);
    return rc;
}

/* Nothing can be done about an upload that cannot even be given up; stores remove those
 * by a rule of the bucket.
 */
void io_abandon(struct io_out *o)
{
    if (!o)
        return;
    fs_abandon(o->file);
    if (o->id)
        (void)!object_parts_abort(o->object, o->id, NULL);
    out_free(o);
}

enum rc io_make_dirs(const char *path, struct err *err)
{
    return io_is_remote(path) ? RC_OK : fs_mkdirs(path, 0755, err);
}

enum rc io_write(const char *path, const void *p, size_t n, struct err *err)
{
    struct io_out *o = NULL;
    enum rc rc = io_create(path, &o, err);
    if (rc)
        return rc;
    rc = io_append(o, p, n, err);
    if (!rc)
        return io_commit(o, err);
    io_abandon(o);
    return rc;
}
