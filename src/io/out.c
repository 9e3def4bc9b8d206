/* SPDX-License-Identifier: Apache-2.0 */
/* Stores take at most 10000 parts of at least 5 MiB. Parts begin small, so that little
 * memory is used, and double every thousand, so that 40 TiB fit.
 *
 * One connection to a store is slow, so a few parts are on their way at once, each in a
 * thread of its own, while the next one is filled. A part that failed is told by the call
 * that needs its place, or by the commit.
 */
#include "io/out.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "io/file.h"
#include "io/guard.h"
#include "io/object.h"

#define PART_FIRST ((size_t)8 << 20)
#define PARTS_PER_SIZE 1000
#define PARTS_MAX 10000
#define AT_ONCE 4

/* A part on its way. */
struct sending {
    struct object *object; /* borrowed, as is the id */
    const char *id;
    int number; /* from 1 */
    unsigned char *p;
    size_t n, size;
    pthread_t thread;
    bool running;
    char *etag;
    enum rc rc;
    struct err err;
};

struct io_out {
    struct fs_file *file; /* local; else: */
    int fd;               /* stdout, a pipe or a device; -1: an object */
    char *path;           /* of fd, for messages */
    struct object *object;
    char *id;                        /* of the upload; NULL: nothing was sent yet */
    VEC(char *) etags;               /* of the parts sent or on their way (NULL) */
    struct sending sending[AT_ONCE]; /* part k has the place k % AT_ONCE */
    unsigned char *part;
    size_t n, size; /* bytes in it, and its room */
};

static enum rc open_direct(struct io_out *o, const char *path, struct err *err)
{
    bool is_stdout = strcmp(path, IO_STDOUT) == 0;
    o->fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                      : open(path, O_WRONLY | O_CLOEXEC);
    if (o->fd < 0)
        return err_sys(err, errno, "'%.300s': cannot open", path);
    o->path = mem_strdup(is_stdout ? "stdout" : path);
    return RC_OK;
}

static enum rc write_direct(const struct io_out *o, const char *p, size_t n,
                            struct err *err)
{
    while (n) {
        ssize_t k = write(o->fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_sys(err, errno, "cannot write to '%.300s'", o->path);
        p += k;
        n -= (size_t)k;
    }
    return RC_OK;
}

enum rc io_create(const char *path, struct io_out **out, struct err *err)
{
    struct io_out *o = mem_calloc(1, sizeof(*o));
    enum rc rc;
    o->fd = -1;
    if (io_is_remote(path))
        rc = object_open(path, false, &o->object, err);
    else if (io_is_direct(path))
        rc = open_direct(o, path, err);
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

static void *send_one(void *arg)
{
    struct sending *s = arg;
    s->rc = object_part_put(s->object, s->id, s->number, s->p, s->n, &s->etag, &s->err);
    return NULL;
}

/* Waits for the part in this place, if there is one. */
static enum rc out_collect(struct io_out *o, struct sending *s, struct err *err)
{
    if (!s->running)
        return RC_OK;
    pthread_join(s->thread, NULL);
    s->running = false;
    o->etags.at[s->number - 1] = s->etag;
    if (s->rc && err)
        *err = s->err;
    return s->rc;
}

static enum rc collect_all(struct io_out *o, struct err *err)
{
    enum rc rc = RC_OK;
    for (int i = 0; i < AT_ONCE; i++) {
        enum rc one = out_collect(o, &o->sending[i], rc ? NULL : err);
        rc = rc ? rc : one;
    }
    return rc;
}

/* The filled part goes on its way; the memory of the one that was there is used next. */
static enum rc send_part(struct io_out *o, struct err *err)
{
    struct sending *s = &o->sending[o->etags.n % AT_ONCE];
    if (o->etags.n == PARTS_MAX)
        return err_coded(err, RC_UNSUPPORTED, E1609,
                         "'%.300s': larger than the %d parts that a store takes",
                         object_url(o->object), PARTS_MAX);
    enum rc rc = o->id ? RC_OK : object_parts_begin(o->object, &o->id, err);
    if (!rc)
        rc = out_collect(o, s, err);
    if (rc)
        return rc;
    unsigned char *spare = s->p;
    size_t spare_size = s->size;
    *s = (struct sending){.object = o->object,
                          .id = o->id,
                          .number = (int)o->etags.n + 1,
                          .p = o->part,
                          .n = o->n,
                          .size = o->size};
    o->part = spare;
    o->size = spare_size;
    o->n = 0;
    VEC_PUSH(&o->etags, NULL);
    s->running = pthread_create(&s->thread, NULL, send_one, s) == 0;
    if (s->running)
        return RC_OK;
    (void)send_one(s); /* no thread to be had: here and now */
    o->etags.at[s->number - 1] = s->etag;
    if (s->rc && err)
        *err = s->err;
    return s->rc;
}

/* Room for at least one more byte. */
static enum rc out_grow(struct io_out *o, size_t more, struct err *err)
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
    if (o->fd >= 0)
        return write_direct(o, p, n, err);
    while (!rc && n) {
        if (o->n >= PART_FIRST << (o->etags.n / PARTS_PER_SIZE))
            rc = send_part(o, err);
        if (!rc)
            rc = out_grow(o, n, err);
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
    for (int i = 0; i < AT_ONCE; i++)
        mem_free(o->sending[i].p);
    VEC_RELEASE(&o->etags);
    object_close(o->object);
    if (o->fd >= 0)
        close(o->fd);
    mem_free(o->path);
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
    if (o->fd >= 0) {
        out_free(o);
        return RC_OK;
    }
    if (!o->id) {
        rc = object_put(o->object, o->part, o->n, err);
        out_free(o);
        return rc;
    }
    if (o->n)
        rc = send_part(o, err);
    if (!rc)
        rc = collect_all(o, err);
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
    (void)!collect_all(o, NULL);
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
