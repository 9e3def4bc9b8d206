/* SPDX-License-Identifier: Apache-2.0 */
/* A message is a head (word, length, code) and its text. The code is an HMAC-SHA256 over
 * the sender's side, the number of its messages before, word, length and text. A read
 * waits a few seconds for the rest of a message that has begun; the kernel's probes notice
 * a machine that is gone.
 */
#include "cmd/launch_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/str.h"

#define HELLO "trainyard launch\n"
#define NONCE 32
#define PATIENCE_S 5 /* for the rest of a message */

struct hello {
    char words[sizeof(HELLO) - 1];
    unsigned char nonce[NONCE];
};

struct head {
    uint32_t word, n; /* in network order */
    unsigned char code[DIGEST_SHA256];
};

static enum rc send_all(int fd, const void *p, size_t n, struct err *err)
{
    const char *at = p;
    while (n > 0) {
        ssize_t did = send(fd, at, n, MSG_NOSIGNAL);
        if (did < 0 && errno == EINTR)
            continue;
        if (did <= 0)
            return err_sys(err, errno, "cannot send");
        at += did;
        n -= (size_t)did;
    }
    return RC_OK;
}

static enum rc receive_all(int fd, void *p, size_t n, struct err *err)
{
    char *at = p;
    while (n > 0) {
        ssize_t did = recv(fd, at, n, 0);
        if (did < 0 && errno == EINTR)
            continue;
        if (did == 0)
            return err_set(err, RC_IO, "the connection was closed");
        if (did < 0)
            return err_sys(err, errno, "cannot receive");
        at += did;
        n -= (size_t)did;
    }
    return RC_OK;
}

/* A machine that is gone is noticed in ten seconds, whether anything is said or not. */
static void watch_connection(int fd)
{
    static const struct {
        int level, name, value;
    } wanted[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},         {IPPROTO_TCP, TCP_KEEPIDLE, 3},
                  {IPPROTO_TCP, TCP_KEEPINTVL, 2},       {IPPROTO_TCP, TCP_KEEPCNT, 3},
                  {IPPROTO_TCP, TCP_USER_TIMEOUT, 9000}, {IPPROTO_TCP, TCP_NODELAY, 1}};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        setsockopt(fd, wanted[i].level, wanted[i].name, &wanted[i].value,
                   sizeof(wanted[i].value));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

enum rc launch_wire_meet(struct launch_wire *w, int fd, bool listens, const char *secret,
                         struct err *err)
{
    struct hello own, theirs;
    unsigned char both[2 * NONCE];
    *w = (struct launch_wire){.fd = fd, .listens = listens};
    watch_connection(fd);
    memcpy(own.words, HELLO, sizeof(own.words));
    if (getrandom(own.nonce, sizeof(own.nonce), 0) != (ssize_t)sizeof(own.nonce))
        return err_sys(err, errno, "no random numbers");
    enum rc rc = send_all(fd, &own, sizeof(own), err);
    if (!rc)
        rc = receive_all(fd, &theirs, sizeof(theirs), err);
    if (rc)
        return rc;
    if (memcmp(theirs.words, HELLO, sizeof(theirs.words)) != 0)
        return err_coded(err, RC_INVAL, E2504, "what answers there is no launcher");
    memcpy(both, listens ? own.nonce : theirs.nonce, NONCE);
    memcpy(both + NONCE, listens ? theirs.nonce : own.nonce, NONCE);
    digest_hmac_sha256(secret, strlen(secret), str_of((char *)both, sizeof(both)),
                       w->key);
    return RC_OK;
}

void launch_wire_close(struct launch_wire *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Of a message in its place: who sends it, how many came before, what it says. */
static void make_code(const struct launch_wire *w, bool from_listener, uint64_t number,
                      const struct head *head, const char *text, size_t n,
                      unsigned char out[DIGEST_SHA256])
{
    struct buf b;
    buf_init(&b, LAUNCH_TEXT_MAX + 64);
    buf_printf(&b, "%d %ju %u %u\n", from_listener, (uintmax_t)number, ntohl(head->word),
               ntohl(head->n));
    buf_add(&b, text, n);
    digest_hmac_sha256(w->key, sizeof(w->key), str_of(buf_str(&b), b.n), out);
    buf_release(&b);
}

enum rc launch_wire_send(struct launch_wire *w, enum launch_word word, const char *text,
                         struct err *err)
{
    size_t n = strlen(text);
    if (n > LAUNCH_TEXT_MAX)
        return err_coded(err, RC_INVAL, E2504, "a message of %zu bytes is too long", n);
    struct head head = {.word = htonl((uint32_t)word), .n = htonl((uint32_t)n)};
    make_code(w, w->listens, w->sent++, &head, text, n, head.code);
    enum rc rc = send_all(w->fd, &head, sizeof(head), err);
    return rc ? rc : send_all(w->fd, text, n, err);
}

static bool same_code(const unsigned char *a, const unsigned char *b)
{
    unsigned char differ = 0;
    for (size_t i = 0; i < DIGEST_SHA256; i++)
        differ = (unsigned char)(differ | (a[i] ^ b[i]));
    return differ == 0;
}

enum rc launch_wire_receive(struct launch_wire *w, struct launch_message *out,
                            struct err *err)
{
    struct head head;
    unsigned char code[DIGEST_SHA256];
    enum rc rc = receive_all(w->fd, &head, sizeof(head), err);
    if (rc)
        return rc;
    out->n = ntohl(head.n);
    out->word = (enum launch_word)ntohl(head.word);
    if (out->n > LAUNCH_TEXT_MAX)
        return err_coded(err, RC_INVAL, E2504, "what answers there is no launcher");
    rc = receive_all(w->fd, out->text, out->n, err);
    if (rc)
        return rc;
    out->text[out->n] = '\0';
    make_code(w, !w->listens, w->received++, &head, out->text, out->n, code);
    return same_code(code, head.code)
               ? RC_OK
               : err_coded(err, RC_INVAL, E2504,
                           "the other side has another --rdzv-id or "
                           "TRAINYARD_LAUNCH_SECRET");
}
