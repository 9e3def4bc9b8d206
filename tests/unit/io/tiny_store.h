/* SPDX-License-Identifier: Apache-2.0 */
/* tiny_store.h - an object store of one object, in threads of the test itself. Requests
 * are not signed (AWS_NO_SIGN_REQUEST). What servers do wrong is in tests/it/objects.sh.
 */
#ifndef TINY_STORE_H
#define TINY_STORE_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

#define TINY_PART ((size_t)8 << 20)

static struct {
    int fd;
    pthread_mutex_t lock;
    /* guarded by lock: */
    unsigned char *data, *parts;
    size_t n, n_parts;
    bool uploading;
    atomic_int requests, connections;
} tiny = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tiny_send(int fd, const void *p, size_t n)
{
    const char *at = p;
    while (n) {
        ssize_t k = send(fd, at, n, MSG_NOSIGNAL);
        if (k <= 0)
            return;
        at += k;
        n -= (size_t)k;
    }
}

static void tiny_answer(int fd, const char *status, const char *more, const void *body,
                        size_t n)
{
    char head[512];
    int k = snprintf(head, sizeof(head),
                     "HTTP/1.1 %s\r\nContent-Length: %zu\r\nETag: \"e\"\r\n%s\r\n",
                     status, n, more);
    tiny_send(fd, head, (size_t)k);
    tiny_send(fd, body, n);
}

static void tiny_get(int fd, const char *range)
{
    char more[128];
    unsigned long long from = 0, to = 0;
    pthread_mutex_lock(&tiny.lock);
    if (sscanf(range, "bytes=-%llu", &to) == 1) {
        from = to < tiny.n ? tiny.n - to : 0;
        to = tiny.n ? tiny.n - 1 : 0;
    } else {
        CHECK(sscanf(range, "bytes=%llu-%llu", &from, &to) == 2);
        to = to < tiny.n ? to : tiny.n - 1;
    }
    if (from >= tiny.n) {
        snprintf(more, sizeof(more), "Content-Range: bytes */%zu\r\n", tiny.n);
        tiny_answer(fd, "416 Range Not Satisfiable", more, "", 0);
    } else {
        snprintf(more, sizeof(more), "Content-Range: bytes %llu-%llu/%zu\r\n", from, to,
                 tiny.n);
        tiny_answer(fd, "206 Partial Content", more, tiny.data + from,
                    (size_t)(to - from + 1));
    }
    pthread_mutex_unlock(&tiny.lock);
}

static void tiny_replace(unsigned char *data, size_t n)
{
    free(tiny.data);
    tiny.data = data;
    tiny.n = n;
}

/* Any upload has the id "u"; all parts but the last have the same size. */
static void tiny_write(int fd, const char *head, void *body, size_t n)
{
    static const char id[] = "<R><UploadId>u</UploadId></R>";
    bool begins = strstr(head, "?uploads=") != NULL,
         post = head[0] == 'P' && head[1] == 'O';
    pthread_mutex_lock(&tiny.lock);
    if (strstr(head, "partNumber=")) {
        size_t at = (size_t)(atoi(strstr(head, "partNumber=") + 11) - 1) * TINY_PART;
        if (at + n > tiny.n_parts) {
            tiny.parts = realloc(tiny.parts, at + n + 1);
            tiny.n_parts = at + n;
        }
        memcpy(tiny.parts + at, body, n);
    } else if (begins) {
        tiny.uploading = true;
        tiny.n_parts = 0;
    } else if (strstr(head, "uploadId=")) {
        if (post) {
            tiny_replace(tiny.parts, tiny.n_parts);
            tiny.parts = NULL;
        }
        tiny.uploading = false;
        tiny.n_parts = 0;
    } else {
        unsigned char *copy = malloc(n + 1);
        memcpy(copy, body, n);
        tiny_replace(copy, n);
    }
    pthread_mutex_unlock(&tiny.lock);
    tiny_answer(fd, "200 OK", "", begins ? id : "", begins ? sizeof(id) - 1 : 0);
}

static const char *tiny_header(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);
    return at ? at + strlen(name) : "";
}

/* Bytes up to the empty line; those behind it, already read, stay in `head`. */
static bool tiny_read_head(int fd, char *head, size_t room, size_t *n, size_t *head_n)
{
    *n = 0;
    for (;;) {
        head[*n] = '\0';
        const char *end = strstr(head, "\r\n\r\n");
        if (end) {
            *head_n = (size_t)(end - head) + 4;
            return true;
        }
        ssize_t k = *n + 1 < room ? recv(fd, head + *n, room - 1 - *n, 0) : 0;
        if (k <= 0)
            return false;
        *n += (size_t)k;
    }
}

static void *tiny_serve(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char *head = malloc(65536);
    size_t n, head_n;
    while (tiny_read_head(fd, head, 65536, &n, &head_n)) {
        size_t size = (size_t)atoll(tiny_header(head, "Content-Length: "));
        size_t have = n - head_n;
        char *body = malloc(size + 1);
        memcpy(body, head + head_n, have < size ? have : size);
        head[head_n] = '\0';
        while (have < size) {
            ssize_t k = recv(fd, body + have, size - have, 0);
            if (k <= 0)
                break;
            have += (size_t)k;
        }
        atomic_fetch_add(&tiny.requests, 1);
        if (strncmp(head, "GET", 3) == 0)
            tiny_get(fd, tiny_header(head, "Range: "));
        else
            tiny_write(fd, head, body, size);
        free(body);
    }
    close(fd);
    free(head);
    return NULL;
}

static void *tiny_accept(void *arg)
{
    int fd;
    while ((fd = accept(tiny.fd, NULL, NULL)) >= 0) {
        pthread_t t;
        atomic_fetch_add(&tiny.connections, 1);
        if (pthread_create(&t, NULL, tiny_serve, (void *)(intptr_t)fd) == 0)
            pthread_detach(t);
    }
    return NULL;
}

/* Its threads live until the test ends. */
static void tiny_start(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    char url[64];
    pthread_t t;
    tiny.fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(tiny.fd >= 0 && bind(tiny.fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
          listen(tiny.fd, 64) == 0 &&
          getsockname(tiny.fd, (struct sockaddr *)&at, &n) == 0);
    CHECK(pthread_create(&t, NULL, tiny_accept, NULL) == 0);
    pthread_detach(t);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
    setenv("AWS_ENDPOINT_URL", url, 1);
    setenv("AWS_NO_SIGN_REQUEST", "1", 1);
    setenv("no_proxy", "127.0.0.1", 1);
    setenv("HOME", "/nonexistent", 1);
    unsetenv("AWS_ENDPOINT_URL_S3");
    unsetenv("AWS_PROFILE");
}

#endif
