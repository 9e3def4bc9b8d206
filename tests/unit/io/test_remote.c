/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a store, from within: many threads on one file, wishes that nobody reads,
 * memory that runs out.
 */
#include "base/mem.h"
#include "io/file.h"
#include "io/http.h"
#include "io/out.h"
#include "io/stream.h"
#include "tiny_store.h"

#define SIZE ((size_t)9 << 20)
#define URL "s3://bucket/key"

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 2654435761u >> 13);
}

static void put_object(size_t n)
{
    unsigned char *p = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = byte_at(i);
    pthread_mutex_lock(&tiny.lock);
    tiny_replace(p, n);
    pthread_mutex_unlock(&tiny.lock);
}

static bool right(const unsigned char *p, size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != byte_at(at + i))
            return false;
    return true;
}

static void the_end_comes_with_the_size(void)
{
    struct io_file *f = NULL;
    struct io_cost cost;
    unsigned char tail[100];
    size_t got = 0;
    put_object(SIZE);
    CHECK(io_open(URL, IO_BACK, &f, NULL) == RC_OK);
    CHECK(io_file_is_remote(f));
    CHECK_INT(io_size(f), SIZE);
    CHECK(io_read_at(f, SIZE - 100, 100, tail, &got, NULL) == RC_OK && got == 100);
    CHECK(right(tail, SIZE - 100, 100));
    CHECK(io_read_at(f, SIZE - 10, 100, tail, &got, NULL) == RC_OK && got == 10);
    CHECK(io_read_at(f, SIZE, 100, tail, &got, NULL) == RC_OK && got == 0);
    io_cost(f, &cost);
    CHECK_INT(cost.requests, 1);
    CHECK_INT(cost.bytes, 65536);
    io_close(f);
}

struct reading {
    struct io_file *f;
    unsigned seed;
    bool good;
};

static void *read_at_random(void *arg)
{
    struct reading *r = arg;
    unsigned char *p = malloc(300000);
    uint64_t x = r->seed;
    r->good = true;
    for (int k = 0; k < 40; k++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(x >> 20) % SIZE, n = 1 + (size_t)(x >> 40) % 290000, got = 0;
        if (k % 3 == 0)
            io_want(r->f, at, n);
        if (k % 5 == 0)
            io_want(r->f, at / 2, 700000); /* perhaps nobody reads it */
        n = n < SIZE - at ? n : SIZE - at;
        if (io_read_at(r->f, at, n, p, &got, NULL) || got != n || !right(p, at, n))
            r->good = false;
    }
    free(p);
    return NULL;
}

static void threads_read_what_is_there(void)
{
    struct io_file *f = NULL;
    struct reading r[6];
    pthread_t t[6];
    put_object(SIZE);
    CHECK(io_open(URL, IO_FRONT, &f, NULL) == RC_OK);
    for (unsigned i = 0; i < 6; i++) {
        r[i] = (struct reading){.f = f, .seed = i + 1};
        CHECK(pthread_create(&t[i], NULL, read_at_random, &r[i]) == 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(t[i], NULL);
        CHECK(r[i].good);
    }
    io_want(f, 0, SIZE); /* on their way when the file is closed */
    io_close(f);
}

static void what_was_wanted_is_fetched_once(void)
{
    struct io_file *f = NULL;
    struct io_cost cost;
    unsigned char *p = malloc(SIZE);
    size_t got = 0;
    put_object(SIZE);
    CHECK(io_open(URL, IO_FRONT, &f, NULL) == RC_OK);
    io_want(f, 1 << 20, 1 << 20);
    io_want(f, 1 << 20, 1 << 20);
    io_want(f, 3 << 19, 1 << 20); /* half of it is wanted already */
    CHECK(io_read_at(f, 1 << 20, 3 << 19, p, &got, NULL) == RC_OK);
    CHECK(right(p, 1 << 20, 3 << 19));
    io_cost(f, &cost);
    CHECK_INT(cost.requests, 3);
    CHECK_INT(cost.bytes, (16 << 10) + (3 << 19));
    io_close(f);
    free(p);
}

static void a_stream_reads_all_and_can_go_back(void)
{
    struct stream *s = NULL;
    unsigned char *p = malloc(SIZE + 1);
    size_t got = 0;
    put_object(SIZE);
    CHECK(stream_open(URL, 0, &s, NULL) == RC_OK);
    CHECK_INT(stream_raw_size(s), SIZE);
    CHECK(stream_read(s, p, SIZE + 1, &got, NULL) == RC_OK && got == SIZE);
    CHECK(right(p, 0, SIZE));
    CHECK(stream_seek(s, 5000000, NULL) == RC_OK);
    CHECK(stream_read(s, p, 1000, &got, NULL) == RC_OK && got == 1000);
    CHECK(right(p, 5000000, 1000));
    stream_close(s);
    put_object(0);
    CHECK(stream_open(URL, 0, &s, NULL) == RC_OK);
    CHECK(stream_read(s, p, 10, &got, NULL) == RC_OK && got == 0);
    stream_close(s);
    free(p);
}

static enum rc write_object(size_t n, size_t step, struct err *err)
{
    struct io_out *o = NULL;
    unsigned char *p = malloc(step + 1);
    enum rc rc = io_create(URL, &o, err);
    for (size_t at = 0; !rc && at < n; at += step) {
        size_t k = step < n - at ? step : n - at;
        for (size_t i = 0; i < k; i++)
            p[i] = byte_at(at + i);
        rc = io_append(o, p, k, err);
    }
    if (rc)
        io_abandon(o);
    else
        rc = io_commit(o, err);
    free(p);
    return rc;
}

static void what_is_written_is_there(void)
{
    static const size_t sizes[] = {0,   1, 70000, (size_t)8 << 20, ((size_t)8 << 20) + 1,
                                   SIZE};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK(write_object(sizes[i], i % 2 ? 70001 : (size_t)3 << 20, NULL) == RC_OK);
        CHECK_INT(tiny.n, sizes[i]);
        CHECK(right(tiny.data, 0, tiny.n));
        CHECK(!tiny.uploading);
    }
}

static void an_abandoned_object_never_was(void)
{
    struct io_out *o = NULL;
    unsigned char *p = calloc(1, SIZE);
    put_object(10);
    CHECK(io_create(URL, &o, NULL) == RC_OK);
    CHECK(io_append(o, p, SIZE, NULL) == RC_OK);
    CHECK(tiny.uploading);
    io_abandon(o);
    CHECK(!tiny.uploading);
    CHECK_INT(tiny.n, 10);
    free(p);
}

static void memory_that_runs_out_is_an_error(void)
{
    struct io_file *f = NULL;
    int64_t live = mem_live();
    put_object(SIZE);
    for (int64_t at = 1;; at++) {
        unsigned char p[1000];
        size_t got = 0;
        mem_fail_at(at);
        enum rc rc = io_open(URL, IO_BACK, &f, NULL);
        if (!rc) {
            io_want(f, 0, 1 << 20); /* a wish that fails is only forgotten */
            rc = io_read_at(f, 1000, 1000, p, &got, NULL);
            CHECK(rc || right(p, 1000, 1000));
        }
        mem_fail_at(0);
        io_close(rc == RC_NOMEM && !got && !f ? NULL : f);
        f = NULL;
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        CHECK_INT(mem_live(), live);
        if (rc == RC_OK && at > 20)
            break;
    }
    bool done = false;
    for (int64_t at = 1; !done && at < 200; at++) {
        put_object(10);
        mem_fail_at(at);
        enum rc rc = write_object(SIZE, 1 << 20, NULL);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        /* An answer that cannot be kept leaves open whether it happened, but what is
         * there is whole.
         */
        CHECK(tiny.n == SIZE || (rc && tiny.n == 10));
        CHECK_INT(mem_live(), live);
        done = rc == RC_OK;
    }
    CHECK(done);
}

static void connections_are_used_again(void)
{
    CHECK(atomic_load(&tiny.connections) < 30);
    CHECK(atomic_load(&tiny.requests) > 100);
    io_http_close_idle();
}

static const struct tap_case cases[] = {
    TAP(tiny_start),
    TAP(the_end_comes_with_the_size),
    TAP(threads_read_what_is_there),
    TAP(what_was_wanted_is_fetched_once),
    TAP(a_stream_reads_all_and_can_go_back),
    TAP(what_is_written_is_there),
    TAP(an_abandoned_object_never_was),
    TAP(memory_that_runs_out_is_an_error),
    TAP(connections_are_used_again),
};
TAP_MAIN(cases)
