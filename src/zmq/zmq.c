/* SPDX-License-Identifier: Apache-2.0 */
/* The link between processes over ZeroMQ: a ROUTER of the server, a DEALER of each client.
 * ZeroMQ finds a server that comes later or again, frames messages, and with CURVE encrypts
 * them and checks who speaks.
 *
 * The server's key pair follows from the job's secret. Its public half is as secret: a
 * client cannot begin the handshake without it, and it does not travel in the clear. So who
 * does not know the secret is dropped by ZeroMQ before a message of his reaches us, and a
 * false server cannot answer a client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "comm/link.h"

#define KEY 32
#define KEY_TEXT 41        /* in the letters of Z85, with a NUL */
#define LINGER_MS 2000     /* for what was said last */
#define HANDSHAKE_MS 30000 /* for a peer that does not say who it is */

static const struct comm_link_ops zmq_link_ops;

struct zmq_end {
    void *context, *socket;
    zmq_msg_t message; /* the one at hand */
    bool held;
};

struct zmq_server {
    struct comm_link_server base;
    struct zmq_end end;
};

struct zmq_client {
    struct comm_link_client base;
    struct zmq_end end;
};

static enum rc failed(const char *what, struct err *err)
{
    return err_coded(err, RC_IO, E2701, "%s: %s", what, zmq_strerror(zmq_errno()));
}

/* Both halves of the server's key, as texts. */
static enum rc derive_keys(const char *secret, char hidden[KEY_TEXT],
                           char shown[KEY_TEXT], struct err *err)
{
    static const char use[] = "trainyard parameter servers\n";
    char hex[SHA256_TEXT_SIZE];
    unsigned char key[KEY];
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, use, sizeof(use));
    sha256_add(&s, secret, strlen(secret));
    sha256_text(&s, hex);
    for (int i = 0; i < KEY; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        key[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    bool good = zmq_z85_encode(hidden, key, KEY) && zmq_curve_public(shown, hidden) == 0;
    explicit_bzero(key, sizeof(key));
    explicit_bzero(hex, sizeof(hex));
    return good ? RC_OK : failed("no keys", err);
}

static bool set_text(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text)) == 0;
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof(value)) == 0;
}

static bool set_limits(void *socket)
{
    int64_t most = (int64_t)COMM_LINK_MESSAGE_MAX;
    return set_int(socket, ZMQ_LINGER, LINGER_MS) && set_int(socket, ZMQ_IPV6, 1) &&
           set_int(socket, ZMQ_SNDHWM, 0) && set_int(socket, ZMQ_RCVHWM, 0) &&
           set_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) &&
           zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof(most)) == 0;
}

static void end_close(struct zmq_end *e)
{
    if (e->held)
        zmq_msg_close(&e->message);
    if (e->socket)
        zmq_close(e->socket);
    if (e->context)
        zmq_ctx_term(e->context);
}

static enum rc end_open(struct zmq_end *e, int type, struct err *err)
{
    if (!zmq_has("curve"))
        return err_coded(err, RC_UNSUPPORTED, E2701,
                         "this libzmq cannot encrypt (it is built without CURVE)");
    e->context = zmq_ctx_new();
    e->socket = e->context ? zmq_socket(e->context, type) : NULL;
    return e->socket && set_limits(e->socket) ? RC_OK : failed("no socket", err);
}

static enum rc bind_server(struct zmq_end *e, const char *secret, const char *address,
                           struct err *err)
{
    char hidden[KEY_TEXT], shown[KEY_TEXT], *url = mem_printf("tcp://%s", address);
    enum rc rc = derive_keys(secret, hidden, shown, err);
    if (!rc && (!set_int(e->socket, ZMQ_CURVE_SERVER, 1) ||
                !set_text(e->socket, ZMQ_CURVE_SECRETKEY, hidden) ||
                zmq_bind(e->socket, url) != 0))
        rc = failed(url, err);
    explicit_bzero(hidden, sizeof(hidden));
    mem_free(url);
    return rc;
}

static enum rc connect_client(struct zmq_end *e, const char *secret, const char *address,
                              struct err *err)
{
    char hidden[KEY_TEXT], shown[KEY_TEXT], own[KEY_TEXT], own_hidden[KEY_TEXT];
    char *url = mem_printf("tcp://%s", address);
    enum rc rc = derive_keys(secret, hidden, shown, err);
    if (!rc && (zmq_curve_keypair(own, own_hidden) != 0 ||
                !set_text(e->socket, ZMQ_CURVE_SERVERKEY, shown) ||
                !set_text(e->socket, ZMQ_CURVE_PUBLICKEY, own) ||
                !set_text(e->socket, ZMQ_CURVE_SECRETKEY, own_hidden) ||
                zmq_connect(e->socket, url) != 0))
        rc = failed(url, err);
    explicit_bzero(hidden, sizeof(hidden));
    explicit_bzero(own_hidden, sizeof(own_hidden));
    mem_free(url);
    return rc;
}

/* Whether something is there to receive within `ms`. */
static enum rc wait_end(struct zmq_end *e, int64_t ms, bool *there, struct err *err)
{
    zmq_pollitem_t item = {.socket = e->socket, .events = ZMQ_POLLIN};
    if (e->held)
        zmq_msg_close(&e->message);
    e->held = false;
    int n = zmq_poll(&item, 1, (long)ms);
    *there = n > 0;
    return n >= 0 || zmq_errno() == EINTR ? RC_OK : failed("cannot wait", err);
}

static bool take_part(struct zmq_end *e)
{
    zmq_msg_init(&e->message);
    e->held = zmq_msg_recv(&e->message, e->socket, ZMQ_DONTWAIT) >= 0;
    if (!e->held)
        zmq_msg_close(&e->message);
    return e->held;
}

/* Parts that nobody of ours sends are read and thrown away. */
static void drop_rest(struct zmq_end *e)
{
    while (e->held && zmq_msg_more(&e->message)) {
        zmq_msg_t rest;
        zmq_msg_init(&rest);
        bool more =
            zmq_msg_recv(&rest, e->socket, ZMQ_DONTWAIT) >= 0 && zmq_msg_more(&rest);
        zmq_msg_close(&rest);
        if (!more)
            return;
    }
}

static enum rc zmq_serve(const struct comm_link_conf *conf, const char *address,
                         struct comm_link_server **out, struct err *err)
{
    struct zmq_server *s = mem_calloc(1, sizeof(*s));
    s->base.ops = &zmq_link_ops;
    enum rc rc = end_open(&s->end, ZMQ_ROUTER, err);
    if (!rc)
        rc = bind_server(&s->end, conf->secret, address, err);
    if (rc) {
        end_close(&s->end);
        mem_free(s);
        return rc;
    }
    *out = &s->base;
    return RC_OK;
}

static void zmq_stop(struct comm_link_server *base)
{
    struct zmq_server *s = (struct zmq_server *)base;
    end_close(&s->end);
    mem_free(s);
}

static enum rc zmq_receive(struct comm_link_server *base, int64_t ms,
                           struct comm_link_asked *out, struct err *err)
{
    struct zmq_end *e = &((struct zmq_server *)base)->end;
    bool there;
    enum rc rc = wait_end(e, ms, &there, err);
    if (rc || !there || !take_part(e))
        return rc;
    bool usable =
        zmq_msg_more(&e->message) && zmq_msg_size(&e->message) <= sizeof(out->peer.id);
    if (usable) {
        out->peer.n = zmq_msg_size(&e->message);
        memcpy(out->peer.id, zmq_msg_data(&e->message), out->peer.n);
        zmq_msg_close(&e->message);
        usable = take_part(e);
    }
    drop_rest(e);
    if (usable) {
        out->data = zmq_msg_data(&e->message);
        out->n = zmq_msg_size(&e->message);
    }
    return RC_OK;
}

static enum rc zmq_reply(struct comm_link_server *base, const struct comm_link_peer *to,
                         const void *data, size_t n, struct err *err)
{
    struct zmq_end *e = &((struct zmq_server *)base)->end;
    if (zmq_send(e->socket, to->id, to->n, ZMQ_SNDMORE) < 0 ||
        zmq_send(e->socket, data, n, 0) < 0)
        return failed("cannot answer", err);
    return RC_OK;
}

static enum rc zmq_link_connect(const struct comm_link_conf *conf, const char *address,
                                struct comm_link_client **out, struct err *err)
{
    struct zmq_client *c = mem_calloc(1, sizeof(*c));
    c->base.ops = &zmq_link_ops;
    enum rc rc = end_open(&c->end, ZMQ_DEALER, err);
    if (!rc)
        rc = connect_client(&c->end, conf->secret, address, err);
    if (rc) {
        end_close(&c->end);
        mem_free(c);
        return rc;
    }
    *out = &c->base;
    return RC_OK;
}

static void zmq_link_disconnect(struct comm_link_client *base)
{
    struct zmq_client *c = (struct zmq_client *)base;
    end_close(&c->end);
    mem_free(c);
}

static enum rc zmq_ask(struct comm_link_client *base, const void *data, size_t n,
                       struct err *err)
{
    struct zmq_end *e = &((struct zmq_client *)base)->end;
    return zmq_send(e->socket, data, n, 0) < 0 ? failed("cannot ask", err) : RC_OK;
}

static enum rc zmq_answer(struct comm_link_client *base, int64_t ms, const void **data,
                          size_t *n, struct err *err)
{
    struct zmq_end *e = &((struct zmq_client *)base)->end;
    bool there;
    enum rc rc = wait_end(e, ms, &there, err);
    if (rc || !there || !take_part(e))
        return rc;
    drop_rest(e);
    *data = zmq_msg_data(&e->message);
    *n = zmq_msg_size(&e->message);
    return RC_OK;
}

static const struct comm_link_ops zmq_link_ops = {
    .name = "zmq",
    .summary = "processes, over ZeroMQ",
    .serve = zmq_serve,
    .stop = zmq_stop,
    .receive = zmq_receive,
    .reply = zmq_reply,
    .connect = zmq_link_connect,
    .disconnect = zmq_link_disconnect,
    .ask = zmq_ask,
    .answer = zmq_answer,
};

extern const struct comm_link_plugin trainyard_link_plugin;
const struct comm_link_plugin trainyard_link_plugin = {.version = TY_VERSION,
                                                       .ops = &zmq_link_ops};
