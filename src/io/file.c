/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks are what was wanted, in the order it was. A block is fetched by one of the
 * file's threads, or by the first reader that needs it before a thread came to it. When
 * it failed, it is dropped, and the reader asks for itself: so that an error reaches the
 * one who reads, and a wish alone never fails.
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/object.h"

#define THREADS 4
#define FRONT_FIRST ((size_t)16 << 10)
#define BACK_FIRST ((size_t)64 << 10)

enum block_state { BLOCK_WANTED, BLOCK_COMING, BLOCK_THERE, BLOCK_FAILED };

struct block {
    struct block *next;
    uint64_t at;
    size_t n, read; /* bytes, and how many of them were read */
    unsigned char *p;
    enum block_state state;
    int users; /* readers that wait for it or copy from it */
};

struct io_file {
    int fd; /* -1: an object */
    char *path;
    uint64_t size;
    struct object *object;
    struct object_info info;

    pthread_mutex_t lock;
    pthread_cond_t moved; /* a block changed its state, or `stop` was set */
    /* guarded by lock: */
    struct block *blocks; /* oldest first */
    size_t kept;          /* bytes of all of them */
    bool stop;
    int n_threads;
    struct io_cost cost;
    pthread_t threads[THREADS]; /* started and joined by callers of want and close */
};

bool io_is_remote(const char *path)
{
    return object_is_url(path);
}

uint64_t io_size(const struct io_file *f)
{
    return f->size;
}

bool io_file_is_remote(const struct io_file *f)
{
    return f->object != NULL;
}

void io_cost(struct io_file *f, struct io_cost *out)
{
    pthread_mutex_lock(&f->lock);
    *out = f->cost;
    pthread_mutex_unlock(&f->lock);
}

static void block_free(struct io_file *f, struct block *b)
{
    for (struct block **at = &f->blocks; *at; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            break;
        }
    f->kept -= b->n;
    mem_free(b->p);
    mem_free(b);
}

void io_close(struct io_file *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_cond_broadcast(&f->moved);
    int n = f->n_threads;
    pthread_mutex_unlock(&f->lock);
    for (int i = 0; i < n; i++)
        pthread_join(f->threads[i], NULL);
    while (f->blocks)
        block_free(f, f->blocks);
    if (f->fd >= 0)
        close(f->fd);
    object_close(f->object);
    pthread_cond_destroy(&f->moved);
    pthread_mutex_destroy(&f->lock);
    mem_free(f->path);
    mem_free(f);
}

static enum rc open_local(struct io_file *f, struct err *err)
{
    struct stat st;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st) < 0)
        return err_sys(err, errno, "cannot open");
    if (!S_ISREG(st.st_mode))
        return err_set(err, RC_INVAL, "not a regular file");
    f->size = (uint64_t)st.st_size;
    return RC_OK;
}

/* A block that is there already. */
static void file_keep(struct io_file *f, uint64_t at, size_t n, unsigned char *p)
{
    struct block *b = mem_calloc(1, sizeof(*b));
    *b = (struct block){.at = at, .n = n, .p = p, .state = BLOCK_THERE};
    f->blocks = b;
    f->kept = n;
}

static enum rc open_object(struct io_file *f, enum io_end first, struct err *err)
{
    size_t n = first == IO_FRONT ? FRONT_FIRST : BACK_FIRST, got = 0;
    enum rc rc = object_open(f->path, false, &f->object, err);
    if (rc)
        return rc;
    unsigned char *p = mem_try_alloc(n, 1);
    if (!p)
        return err_set(err, RC_NOMEM, "no memory for a buffer of %zu bytes", n);
    rc = first == IO_FRONT ? object_get(f->object, 0, n, NULL, p, &got, &f->info, err)
                           : object_get_tail(f->object, n, p, &got, &f->info, err);
    if (rc || !got) {
        mem_free(p);
    } else {
        /* A server may send the whole of a small object for its tail. */
        file_keep(f, first == IO_FRONT ? 0 : f->info.size - got, got, p);
        f->cost = (struct io_cost){.requests = 1, .bytes = (int64_t)got};
    }
    f->size = f->info.size;
    return rc;
}

enum rc io_open(const char *path, enum io_end first, struct io_file **out,
                struct err *err)
{
    struct io_file *f = mem_calloc(1, sizeof(*f));
    f->fd = -1;
    f->path = mem_strdup(path);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    enum rc rc = io_is_remote(path) ? open_object(f, first, err) : open_local(f, err);
    if (rc) {
        io_close(f);
        return rc;
    }
    *out = f;
    return RC_OK;
}

static enum rc read_local(struct io_file *f, uint64_t at, size_t n, void *to, size_t *got,
                          struct err *err)
{
    while (*got < n) {
        ssize_t k = pread(f->fd, (char *)to + *got, n - *got, (off_t)(at + *got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_sys(err, errno, "cannot read %zu bytes at byte %ju", n,
                           (uintmax_t)at);
        if (k == 0)
            break;
        *got += (size_t)k;
    }
    return RC_OK;
}

static enum rc file_ask(struct io_file *f, uint64_t at, size_t n, void *to,
                        struct err *err)
{
    size_t got = 0;
    enum rc rc = object_get(f->object, at, n, f->info.etag, to, &got, NULL, err);
    pthread_mutex_lock(&f->lock);
    f->cost.requests++;
    f->cost.bytes += (int64_t)got;
    pthread_mutex_unlock(&f->lock);
    if (!rc && got != n)
        rc = err_coded(err, RC_IO, E1608,
                       "'%.300s': the object changed while it was read", f->path);
    return rc;
}

/* With the lock, which is given up meanwhile. */
static void fetch(struct io_file *f, struct block *b)
{
    b->state = BLOCK_COMING;
    pthread_mutex_unlock(&f->lock);
    unsigned char *p = mem_try_alloc(b->n, 1);
    enum rc rc = p ? file_ask(f, b->at, b->n, p, NULL) : RC_NOMEM;
    pthread_mutex_lock(&f->lock);
    b->state = rc ? BLOCK_FAILED : BLOCK_THERE;
    if (rc)
        mem_free(p);
    else
        b->p = p;
    pthread_cond_broadcast(&f->moved);
}

static struct block *next_wanted(const struct io_file *f)
{
    struct block *b = f->blocks;
    while (b && b->state != BLOCK_WANTED)
        b = b->next;
    return b;
}

static void *fetch_all(void *arg)
{
    struct io_file *f = arg;
    pthread_mutex_lock(&f->lock);
    while (!f->stop) {
        struct block *b = next_wanted(f);
        if (b)
            fetch(f, b);
        else
            pthread_cond_wait(&f->moved, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Drops blocks nobody is at, oldest first, until n more bytes fit. */
static bool make_room(struct io_file *f, size_t n)
{
    struct block *b = f->blocks;
    while (b && f->kept + n > IO_KEPT_MAX) {
        struct block *next = b->next;
        if (!b->users && (b->state == BLOCK_THERE || b->state == BLOCK_FAILED))
            block_free(f, b);
        b = next;
    }
    return f->kept + n <= IO_KEPT_MAX;
}

static struct block *block_at(const struct io_file *f, uint64_t at)
{
    struct block *b = f->blocks;
    while (b && (at < b->at || at - b->at >= b->n))
        b = b->next;
    return b;
}

static void want_some(struct io_file *f, uint64_t at, size_t n)
{
    struct block **end = &f->blocks;
    if (!make_room(f, n))
        return;
    while (*end)
        end = &(*end)->next;
    *end = mem_calloc(1, sizeof(**end));
    **end = (struct block){.at = at, .n = n};
    f->kept += n;
    int waiting = 0;
    for (struct block *b = f->blocks; b; b = b->next)
        waiting += b->state == BLOCK_WANTED || b->state == BLOCK_COMING;
    /* Without a thread the reader fetches it when it gets there. */
    if (f->n_threads < THREADS && f->n_threads < waiting &&
        pthread_create(&f->threads[f->n_threads], NULL, fetch_all, f) == 0)
        f->n_threads++;
    pthread_cond_broadcast(&f->moved);
}

void io_want(struct io_file *f, uint64_t at, size_t n)
{
    if (!f->object || at >= f->size)
        return;
    uint64_t end = n < f->size - at ? at + n : f->size;
    pthread_mutex_lock(&f->lock);
    while (at < end) {
        struct block *b = block_at(f, at);
        if (b) {
            at = b->at + b->n;
            continue;
        }
        size_t k = end - at < IO_REQUEST_MAX ? (size_t)(end - at) : IO_REQUEST_MAX;
        want_some(f, at, k);
        at += k;
    }
    pthread_mutex_unlock(&f->lock);
}

/* Copies from the block at `at`; *k is 0 when there is none (any more). With the lock. */
static void read_block(struct io_file *f, uint64_t at, size_t n, void *to, size_t *k)
{
    struct block *b = block_at(f, at);
    *k = 0;
    if (!b)
        return;
    b->users++;
    if (b->state == BLOCK_WANTED)
        fetch(f, b);
    while (b->state == BLOCK_COMING)
        pthread_cond_wait(&f->moved, &f->lock);
    if (b->state == BLOCK_THERE) {
        size_t skip = (size_t)(at - b->at);
        *k = n < b->n - skip ? n : b->n - skip;
        pthread_mutex_unlock(&f->lock);
        memcpy(to, b->p + skip, *k);
        pthread_mutex_lock(&f->lock);
        b->read += *k;
    }
    b->users--;
    if (!b->users && (b->state == BLOCK_FAILED || b->read >= b->n))
        block_free(f, b);
}

/* Bytes from `at` on that no block has. With the lock. */
static size_t gap_at(const struct io_file *f, uint64_t at, size_t n)
{
    for (const struct block *b = f->blocks; b; b = b->next)
        if (b->at > at && b->at - at < n)
            n = (size_t)(b->at - at);
    return n < IO_REQUEST_MAX ? n : IO_REQUEST_MAX;
}

enum rc io_read_at(struct io_file *f, uint64_t at, size_t n, void *to, size_t *got,
                   struct err *err)
{
    *got = 0;
    if (!f->object)
        return read_local(f, at, n, to, got, err);
    if (at >= f->size)
        return RC_OK;
    if (n > f->size - at)
        n = (size_t)(f->size - at);
    while (*got < n) {
        size_t k, gap;
        unsigned char *here = (unsigned char *)to + *got;
        pthread_mutex_lock(&f->lock);
        read_block(f, at + *got, n - *got, here, &k);
        gap = gap_at(f, at + *got, n - *got);
        pthread_mutex_unlock(&f->lock);
        if (!k) {
            enum rc rc = file_ask(f, at + *got, gap, here, err);
            if (rc)
                return rc;
            k = gap;
        }
        *got += k;
    }
    return RC_OK;
}
