/* SPDX-License-Identifier: Apache-2.0 */
/* comm/link.h - questions and answers between processes that come and go: trainers ask
 * parameter servers. Collectives among ranks are comm.h.
 *
 *     comm_link_serve(ops, &conf, "127.0.0.1:7000", &server, err)
 *     comm_link_receive(server, 100, &asked, err)          a question, and who asks
 *     comm_link_reply(server, &asked.peer, data, n, err)   now or later, in any order
 *
 *     comm_link_connect(ops, &conf, "127.0.0.1:7000", &client, err)
 *     comm_link_ask(client, data, n, err)
 *     comm_link_answer(client, 100, &data, &n, err)
 *
 * Both sides prove that they know the job's secret, and what they say is encrypted; who does
 * not gets no answer and is not heard. A client may ask before the server is there, and a
 * server that is started again is found again; a question or answer under way then is lost,
 * and the client asks again. One thread at a time uses a server or client.
 */
#ifndef COMM_LINK_H
#define COMM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define COMM_LINK_MESSAGE_MAX ((size_t)1 << 30) /* bytes */
#define COMM_LINK_SECRET_MIN 16                 /* characters */

struct comm_link_hub; /* comm/link_local.h */

struct comm_link_conf {
    const char *secret;        /* of the job; borrowed */
    struct comm_link_hub *hub; /* of the local link: where both sides meet; else NULL */
};

/* Who asked; to be copied freely. */
struct comm_link_peer {
    unsigned char id[32];
    size_t n;
};

struct comm_link_asked {
    struct comm_link_peer peer;
    const void *data; /* borrowed until the next call; NULL: nobody asked in time */
    size_t n;
};

/* What an implementation's structs begin with. */
struct comm_link_server {
    const struct comm_link_ops *ops;
};
struct comm_link_client {
    const struct comm_link_ops *ops;
};

struct comm_link_ops {
    const char *name, *summary;
    enum rc (*serve)(const struct comm_link_conf *conf, const char *address,
                     struct comm_link_server **out, struct err *err);
    void (*stop)(struct comm_link_server *s);
    enum rc (*receive)(struct comm_link_server *s, int64_t ms,
                       struct comm_link_asked *out, struct err *err);
    enum rc (*reply)(struct comm_link_server *s, const struct comm_link_peer *to,
                     const void *data, size_t n, struct err *err);
    enum rc (*connect)(const struct comm_link_conf *conf, const char *address,
                       struct comm_link_client **out, struct err *err);
    void (*disconnect)(struct comm_link_client *c);
    enum rc (*ask)(struct comm_link_client *c, const void *data, size_t n,
                   struct err *err);
    enum rc (*answer)(struct comm_link_client *c, int64_t ms, const void **data,
                      size_t *n, struct err *err);
};

/* What the library that brings the link of processes exports. */
#define COMM_LINK_PLUGIN_SYMBOL "trainyard_link_plugin"
struct comm_link_plugin {
    const char *version; /* TY_VERSION */
    const struct comm_link_ops *ops;
};
/* The link between processes, a library of its own. RC_NOTFOUND, RC_UNSUPPORTED (E2701). */
enum rc comm_link_of_processes(const struct comm_link_ops **out,
                               struct err *err) MUST_CHECK;

/* `address` is HOST:PORT. On success *out is the caller's, to comm_link_stop(). RC_INVAL: the
 * address or secret cannot be; RC_IO: the port is taken.
 */
enum rc comm_link_serve(const struct comm_link_ops *ops,
                        const struct comm_link_conf *conf, const char *address,
                        struct comm_link_server **out, struct err *err) MUST_CHECK;
void comm_link_stop(
    struct comm_link_server *s); /* NULL is fine; answers given are still sent */
/* Waits up to `ms` for a question. RC_IO. */
enum rc comm_link_receive(struct comm_link_server *s, int64_t ms,
                          struct comm_link_asked *out, struct err *err) MUST_CHECK;
/* To somebody who is gone: nothing happens. RC_IO, RC_NOMEM. */
enum rc comm_link_reply(struct comm_link_server *s, const struct comm_link_peer *to,
                        const void *data, size_t n, struct err *err) MUST_CHECK;

enum rc comm_link_connect(const struct comm_link_ops *ops,
                          const struct comm_link_conf *conf, const char *address,
                          struct comm_link_client **out, struct err *err) MUST_CHECK;
void comm_link_disconnect(struct comm_link_client *c); /* NULL is fine */
enum rc comm_link_ask(struct comm_link_client *c, const void *data, size_t n,
                      struct err *err) MUST_CHECK;
/* *data NULL: no answer within `ms`; else borrowed until the next call. */
enum rc comm_link_answer(struct comm_link_client *c, int64_t ms, const void **data,
                         size_t *n, struct err *err) MUST_CHECK;

#endif
