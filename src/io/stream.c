/* SPDX-License-Identifier: Apache-2.0 */
/* Three layers: the source (file or memory) gives raw bytes, the decoder turns them into
 * plain ones, and the optional read-ahead thread runs the decoder into a ring of chunks.
 * Plain files skip the last two: read() goes straight into the caller's buffer, which
 * costs one copy out of the page cache; mapping was not faster, and a file that is cut
 * while it is read must be an error rather than a signal.
 */
#include "io/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "io/file.h"

#define RAW_SIZE ((size_t)256 << 10)
#define CHUNK_SIZE ((size_t)1 << 20)
#define SKIP_SIZE ((size_t)256 << 10)
#define PLAIN_READ_MAX ((size_t)1 << 30)
#define REMOTE_FIRST ((size_t)16 << 10) /* enough to tell the kind of an object */
#define REMOTE_STEP ((size_t)2 << 20)   /* of which a few are wanted ahead */
#define REMOTE_STEPS 3

/* What the read-ahead thread and the reader share. */
struct ahead {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved; /* a chunk was filled or emptied, or `stop` was set */
    /* guarded by lock: */
    int head, filled; /* oldest filled chunk; number of filled ones */
    bool stop, done;
    enum rc rc; /* how the thread ended */
    struct err err;
    /* the owner of a chunk's bytes is whoever `filled` says */
    int n;
    struct {
        unsigned char *p;
        size_t n;
    } chunk[STREAM_AHEAD_MAX];
    size_t used; /* reader's: bytes taken of chunk[head] */
};

struct stream {
    char *name;
    int fd;                   /* -1: memory or object */
    const unsigned char *mem; /* borrowed */
    struct io_file *object;   /* owned */
    int64_t wanted;           /* bytes of it that were asked for so far */
    int64_t raw_size;         /* -1: unknown */
    int64_t raw_at;           /* bytes taken from the source */
    int64_t at;               /* decompressed bytes handed out */
    enum stream_kind kind;
    unsigned char *raw; /* [RAW_SIZE] */
    size_t raw_pos, raw_n;
    bool raw_end;   /* the source has no more */
    bool unit_open; /* inside a gzip member or a zstd frame */
    bool inflating; /* `z` needs inflateEnd() */
    z_stream z;
    ZSTD_DStream *zstd;
    int want_ahead;
    struct ahead *ahead; /* NULL: decode in the caller's thread */
};

/* Wishes run ahead of the reading, but not of the first look at an object. */
static enum rc object_read(struct stream *s, void *to, size_t n, size_t *got,
                           struct err *err)
{
    int64_t ahead = s->raw_at + (int64_t)n;
    if (s->raw_at > 0)
        ahead += REMOTE_STEPS * (int64_t)REMOTE_STEP;
    while (s->wanted < ahead && s->wanted < s->raw_size && s->raw_at > 0) {
        if (s->wanted < s->raw_at)
            s->wanted = s->raw_at;
        io_want(s->object, (uint64_t)s->wanted, REMOTE_STEP);
        s->wanted += (int64_t)REMOTE_STEP;
    }
    enum rc rc = io_read_at(s->object, (uint64_t)s->raw_at, n, to, got, err);
    s->raw_at += (int64_t)*got;
    return rc;
}

static enum rc source_read(struct stream *s, void *to, size_t n, size_t *got,
                           struct err *err)
{
    *got = 0;
    if (s->object)
        return object_read(s, to, n, got, err);
    if (s->fd < 0) {
        size_t left = (size_t)(s->raw_size - s->raw_at);
        *got = n < left ? n : left;
        if (*got)
            memcpy(to, s->mem + s->raw_at, *got);
        s->raw_at += (int64_t)*got;
        return RC_OK;
    }
    while (*got < n) {
        size_t want = n - *got < PLAIN_READ_MAX ? n - *got : PLAIN_READ_MAX;
        ssize_t k = read(s->fd, (char *)to + *got, want);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_sys(err, errno, "'%s': cannot read at byte %jd", s->name,
                           (intmax_t)s->raw_at);
        if (k == 0)
            break;
        *got += (size_t)k;
        s->raw_at += k;
    }
    return RC_OK;
}

/* Makes sure that raw[raw_pos..raw_n) is not empty unless the source has ended. */
static enum rc raw_fill(struct stream *s, struct err *err)
{
    if (s->raw_pos < s->raw_n || s->raw_end)
        return RC_OK;
    s->raw_pos = 0;
    s->raw_n = 0;
    size_t want = s->object && s->raw_at == 0 ? REMOTE_FIRST : RAW_SIZE;
    enum rc rc = source_read(s, s->raw, want, &s->raw_n, err);
    if (rc == RC_OK && s->raw_n < want)
        s->raw_end = true;
    return rc;
}

static enum rc cut_short(struct stream *s, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1141,
                     "'%s': the %s data ends in the middle, at byte %jd of the file",
                     s->name, s->kind == STREAM_GZIP ? "gzip" : "zstd",
                     (intmax_t)(s->raw_at - (int64_t)(s->raw_n - s->raw_pos)));
}

static enum rc stream_damaged(struct stream *s, const char *why, struct err *err)
{
    return err_coded(err, RC_FORMAT, E1140,
                     "'%s': damaged %s data near byte %jd of the file: %s", s->name,
                     s->kind == STREAM_GZIP ? "gzip" : "zstd",
                     (intmax_t)(s->raw_at - (int64_t)(s->raw_n - s->raw_pos)), why);
}

static enum rc gzip_some(struct stream *s, unsigned char *to, size_t n, size_t *got,
                         struct err *err)
{
    s->z.next_in = s->raw + s->raw_pos;
    s->z.avail_in = (uInt)(s->raw_n - s->raw_pos);
    s->z.next_out = to;
    s->z.avail_out = n < PLAIN_READ_MAX ? (uInt)n : (uInt)PLAIN_READ_MAX;
    uInt room = s->z.avail_out;
    int z = inflate(&s->z, Z_NO_FLUSH);
    s->raw_pos = s->raw_n - s->z.avail_in;
    *got = room - s->z.avail_out;
    if (z == Z_MEM_ERROR)
        return err_set(err, RC_NOMEM, "'%s': no memory to decompress", s->name);
    if (z == Z_STREAM_END) {
        s->unit_open = false;
        return inflateReset(&s->z) == Z_OK ? RC_OK
                                           : stream_damaged(s, "cannot go on", err);
    }
    if (z != Z_OK && z != Z_BUF_ERROR)
        return stream_damaged(s, s->z.msg ? s->z.msg : "unknown cause", err);
    return RC_OK;
}

static enum rc zstd_some(struct stream *s, unsigned char *to, size_t n, size_t *got,
                         struct err *err)
{
    ZSTD_inBuffer in = {.src = s->raw, .size = s->raw_n, .pos = s->raw_pos};
    ZSTD_outBuffer out = {.dst = to, .size = n};
    size_t z = ZSTD_decompressStream(s->zstd, &out, &in);
    s->raw_pos = in.pos;
    *got = out.pos;
    if (ZSTD_isError(z))
        return stream_damaged(s, ZSTD_getErrorName(z), err);
    s->unit_open = z != 0;
    return RC_OK;
}

/* Bytes after a gzip member that start no other one are padding (tar and some devices
 * add zeros); gzip ignores them, and so do we.
 */
static bool gzip_goes_on(const struct stream *s)
{
    return s->raw[s->raw_pos] == 0x1f;
}

static enum rc stream_decode(struct stream *s, unsigned char *to, size_t n, size_t *got,
                             struct err *err)
{
    *got = 0;
    while (*got < n) {
        size_t k = 0;
        enum rc rc = raw_fill(s, err);
        if (rc)
            return rc;
        bool dry = s->raw_pos == s->raw_n;
        if (dry && !s->unit_open)
            return RC_OK;
        if (!s->unit_open && s->kind == STREAM_GZIP && !gzip_goes_on(s)) {
            s->raw_pos = s->raw_n;
            s->raw_end = true;
            return RC_OK;
        }
        size_t before = s->raw_pos;
        s->unit_open = true;
        rc = s->kind == STREAM_GZIP ? gzip_some(s, to + *got, n - *got, &k, err)
                                    : zstd_some(s, to + *got, n - *got, &k, err);
        if (rc)
            return rc;
        *got += k;
        if (dry && k == 0 && s->unit_open)
            return cut_short(s, err);
        if (!dry && k == 0 && s->raw_pos == before && s->unit_open)
            return stream_damaged(s, "no progress", err);
    }
    return RC_OK;
}

static void *ahead_run(void *arg)
{
    struct stream *s = arg;
    struct ahead *a = s->ahead;
    pthread_mutex_lock(&a->lock);
    while (!a->stop && !a->done) {
        if (a->filled == a->n) {
            pthread_cond_wait(&a->moved, &a->lock);
            continue;
        }
        int at = (a->head + a->filled) % a->n;
        pthread_mutex_unlock(&a->lock);
        size_t got = 0;
        struct err err = {0};
        enum rc rc = stream_decode(s, a->chunk[at].p, CHUNK_SIZE, &got, &err);
        pthread_mutex_lock(&a->lock);
        a->chunk[at].n = got;
        a->filled += got > 0;
        a->done = rc != RC_OK || got < CHUNK_SIZE;
        a->rc = rc;
        a->err = err;
        pthread_cond_broadcast(&a->moved);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void ahead_destroy(struct stream *s)
{
    struct ahead *a = s->ahead;
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->moved);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->moved);
    pthread_mutex_destroy(&a->lock);
    for (int i = 0; i < a->n; i++)
        mem_free(a->chunk[i].p);
    mem_free(a);
    s->ahead = NULL;
}

static enum rc ahead_start(struct stream *s, struct err *err)
{
    struct ahead *a = mem_calloc(1, sizeof(*a));
    int n = s->want_ahead < STREAM_AHEAD_MAX ? s->want_ahead : STREAM_AHEAD_MAX;
    int errnum = 0;
    for (a->n = 0; a->n < n; a->n++) {
        a->chunk[a->n].p = mem_try_alloc(CHUNK_SIZE, 1);
        if (!a->chunk[a->n].p)
            break;
    }
    bool whole = a->n == n;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->moved, NULL);
    s->ahead = a;
    if (whole)
        errnum = pthread_create(&a->thread, NULL, ahead_run, s);
    if (whole && errnum == 0)
        return RC_OK;
    pthread_cond_destroy(&a->moved);
    pthread_mutex_destroy(&a->lock);
    for (int i = 0; i < a->n; i++)
        mem_free(a->chunk[i].p);
    mem_free(a);
    s->ahead = NULL;
    if (errnum)
        return err_sys(err, errnum, "'%s': cannot start the read-ahead thread", s->name);
    return err_set(err, RC_NOMEM, "'%s': no memory for read-ahead", s->name);
}

static enum rc ahead_read(struct stream *s, unsigned char *to, size_t n, size_t *got,
                          struct err *err)
{
    struct ahead *a = s->ahead;
    enum rc rc = RC_OK;
    *got = 0;
    pthread_mutex_lock(&a->lock);
    while (*got < n) {
        if (a->filled == 0 && a->done) {
            rc = a->rc;
            if (rc && err)
                *err = a->err;
            break;
        }
        if (a->filled == 0) {
            pthread_cond_wait(&a->moved, &a->lock);
            continue;
        }
        int at = a->head;
        pthread_mutex_unlock(&a->lock);
        size_t left = a->chunk[at].n - a->used, k = n - *got < left ? n - *got : left;
        memcpy(to + *got, a->chunk[at].p + a->used, k);
        *got += k;
        a->used += k;
        pthread_mutex_lock(&a->lock);
        if (a->used == a->chunk[at].n) {
            a->used = 0;
            a->head = (at + 1) % a->n;
            a->filled--;
            pthread_cond_broadcast(&a->moved);
        }
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

static enum stream_kind kind_of(const unsigned char *p, size_t n)
{
    if (n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8)
        return STREAM_GZIP;
    if (n >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
        return STREAM_ZSTD;
    if (n >= 4 && p[0] >= 0x50 && p[0] <= 0x5f && p[1] == 0x2a && p[2] == 0x4d &&
        p[3] == 0x18)
        return STREAM_ZSTD; /* a skippable frame in front */
    return STREAM_PLAIN;
}

static enum rc decoder_start(struct stream *s, struct err *err)
{
    if (s->kind == STREAM_GZIP) {
        if (!s->inflating && inflateInit2(&s->z, 15 + 16) != Z_OK)
            return err_set(err, RC_NOMEM, "'%s': no memory to decompress", s->name);
        if (s->inflating)
            inflateReset(&s->z);
        s->inflating = true;
    } else if (s->kind == STREAM_ZSTD) {
        if (!s->zstd)
            s->zstd = ZSTD_createDStream();
        if (!s->zstd)
            return err_set(err, RC_NOMEM, "'%s': no memory to decompress", s->name);
        ZSTD_initDStream(s->zstd);
    }
    if (s->kind != STREAM_PLAIN && s->want_ahead > 0)
        return ahead_start(s, err);
    return RC_OK;
}

static enum rc stream_begin(struct stream *s, struct err *err)
{
    s->raw = mem_try_alloc(RAW_SIZE, 1);
    if (!s->raw)
        return err_set(err, RC_NOMEM, "'%s': no memory for a buffer of %zu bytes",
                       s->name, RAW_SIZE);
    enum rc rc = raw_fill(s, err);
    if (rc)
        return rc;
    s->kind = kind_of(s->raw, s->raw_n);
    return decoder_start(s, err);
}

static enum rc open_object(struct stream *s, struct err *err)
{
    enum rc rc = io_open(s->name, IO_FRONT, &s->object, err);
    if (rc)
        return rc;
    s->fd = -1;
    s->raw_size = (int64_t)io_size(s->object);
    return stream_begin(s, err);
}

enum rc stream_open(const char *path, int read_ahead, struct stream **out,
                    struct err *err)
{
    struct stream *s = mem_calloc(1, sizeof(*s));
    struct stat st;
    enum rc rc;
    s->name = mem_strdup(path);
    s->want_ahead = read_ahead;
    s->fd = -1;
    if (io_is_remote(path)) {
        rc = open_object(s, err);
        if (rc)
            goto out;
        *out = s;
        return RC_OK;
    }
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &st) < 0) {
        rc = err_sys(err, errno, "cannot open '%s'", path);
        goto out;
    }
    if (S_ISDIR(st.st_mode)) {
        rc = err_sys(err, EISDIR, "cannot open '%s'", path);
        goto out;
    }
    s->raw_size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    /* Advice only: a file system that knows none still reads. */
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    rc = stream_begin(s, err);
    if (rc)
        goto out;
    *out = s;
    s = NULL;
out:
    stream_close(s);
    return rc;
}

enum rc stream_open_memory(const char *name, const void *bytes, size_t n,
                           struct stream **out, struct err *err)
{
    struct stream *s = mem_calloc(1, sizeof(*s));
    s->name = mem_strdup(name);
    s->fd = -1;
    s->mem = bytes;
    s->raw_size = (int64_t)n;
    enum rc rc = stream_begin(s, err);
    if (rc == RC_OK) {
        *out = s;
        s = NULL;
    }
    stream_close(s);
    return rc;
}

void stream_close(struct stream *s)
{
    if (!s)
        return;
    ahead_destroy(s);
    if (s->inflating)
        inflateEnd(&s->z);
    ZSTD_freeDStream(s->zstd);
    if (s->fd >= 0)
        close(s->fd);
    io_close(s->object);
    mem_free(s->raw);
    mem_free(s->name);
    mem_free(s);
}

/* First what was looked at to learn the kind, then straight from the source. */
static enum rc plain_read(struct stream *s, unsigned char *to, size_t n, size_t *got,
                          struct err *err)
{
    size_t k = s->raw_n - s->raw_pos;
    k = k < n ? k : n;
    memcpy(to, s->raw + s->raw_pos, k);
    s->raw_pos += k;
    *got = k;
    if (k == n || s->raw_end)
        return RC_OK;
    size_t more = 0;
    enum rc rc = source_read(s, to + k, n - k, &more, err);
    *got += more;
    return rc;
}

enum rc stream_read(struct stream *s, void *to, size_t n, size_t *got, struct err *err)
{
    enum rc rc;
    size_t k = 0;
    if (n == 0)
        rc = RC_OK;
    else if (s->kind == STREAM_PLAIN)
        rc = plain_read(s, to, n, &k, err);
    else if (s->ahead)
        rc = ahead_read(s, to, n, &k, err);
    else
        rc = stream_decode(s, to, n, &k, err);
    if (rc)
        return rc;
    s->at += (int64_t)k;
    *got = k;
    return RC_OK;
}

static enum rc source_seek(struct stream *s, int64_t offset, struct err *err)
{
    if (s->fd >= 0 && lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
        return err_sys(err, errno, "'%s': cannot go to byte %jd", s->name,
                       (intmax_t)offset);
    s->raw_at = s->wanted = offset;
    s->raw_pos = s->raw_n = 0;
    s->raw_end = false;
    return RC_OK;
}

static enum rc past_end(const struct stream *s, int64_t offset, int64_t size,
                        struct err *err)
{
    return err_set(err, RC_INVAL, "'%s': position %jd is outside its %jd bytes", s->name,
                   (intmax_t)offset, (intmax_t)size);
}

/* Reads and forgets up to `offset`. */
static enum rc skip_to(struct stream *s, int64_t offset, struct err *err)
{
    unsigned char *waste = mem_try_alloc(SKIP_SIZE, 1);
    enum rc rc = RC_OK;
    if (!waste)
        return err_set(err, RC_NOMEM, "'%s': no memory to skip", s->name);
    while (rc == RC_OK && s->at < offset) {
        size_t want = offset - s->at < (int64_t)SKIP_SIZE ? (size_t)(offset - s->at)
                                                          : SKIP_SIZE,
               got = 0;
        rc = stream_read(s, waste, want, &got, err);
        if (rc == RC_OK && got < want)
            rc = past_end(s, offset, s->at, err);
    }
    mem_free(waste);
    return rc;
}

enum rc stream_seek(struct stream *s, int64_t offset, struct err *err)
{
    enum rc rc;
    if (offset < 0 ||
        (s->kind == STREAM_PLAIN && s->raw_size >= 0 && offset > s->raw_size))
        return past_end(s, offset, s->kind == STREAM_PLAIN ? s->raw_size : s->at, err);
    if (s->kind == STREAM_PLAIN && s->raw_size >= 0) {
        rc = source_seek(s, offset, err);
        if (rc == RC_OK)
            s->at = offset;
        return rc;
    }
    if (offset < s->at) {
        ahead_destroy(s);
        rc = source_seek(s, 0, err);
        if (rc)
            return rc;
        s->at = 0;
        s->unit_open = false;
        rc = decoder_start(s, err);
        if (rc)
            return rc;
    }
    return skip_to(s, offset, err);
}

int64_t stream_tell(const struct stream *s)
{
    return s->at;
}

enum stream_kind stream_kind(const struct stream *s)
{
    return s->kind;
}

int64_t stream_raw_size(const struct stream *s)
{
    return s->raw_size;
}

const char *stream_name(const struct stream *s)
{
    return s->name;
}
