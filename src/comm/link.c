/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/link.h"

#include <string.h>

#include "base/plugin.h"

enum rc comm_link_of_processes(const struct comm_link_ops **out, struct err *err)
{
    const void *found;
    struct plugin_wanted wanted = {.what = "the link to parameter servers",
                                   .library = "libtrainyard_zmq.so",
                                   .symbol = COMM_LINK_PLUGIN_SYMBOL,
                                   .code = E2701};
    enum rc rc = plugin_load(&wanted, &found, err);
    if (!rc)
        *out = ((const struct comm_link_plugin *)found)->ops;
    return rc;
}

static enum rc check_conf(const struct comm_link_conf *conf, const char *address,
                          struct err *err)
{
    if (!conf->secret || strlen(conf->secret) < COMM_LINK_SECRET_MIN)
        return err_coded(err, RC_INVAL, E2702,
                         "the job's secret has fewer than %d characters",
                         COMM_LINK_SECRET_MIN);
    if (!strrchr(address, ':') || address[0] == ':')
        return err_coded(err, RC_INVAL, E2706, "'%s' is not HOST:PORT", address);
    return RC_OK;
}

enum rc comm_link_serve(const struct comm_link_ops *ops,
                        const struct comm_link_conf *conf, const char *address,
                        struct comm_link_server **out, struct err *err)
{
    enum rc rc = check_conf(conf, address, err);
    return rc ? rc : ops->serve(conf, address, out, err);
}

void comm_link_stop(struct comm_link_server *s)
{
    if (s)
        s->ops->stop(s);
}

enum rc comm_link_receive(struct comm_link_server *s, int64_t ms,
                          struct comm_link_asked *out, struct err *err)
{
    *out = (struct comm_link_asked){0};
    return s->ops->receive(s, ms, out, err);
}

enum rc comm_link_reply(struct comm_link_server *s, const struct comm_link_peer *to,
                        const void *data, size_t n, struct err *err)
{
    return s->ops->reply(s, to, data, n, err);
}

enum rc comm_link_connect(const struct comm_link_ops *ops,
                          const struct comm_link_conf *conf, const char *address,
                          struct comm_link_client **out, struct err *err)
{
    enum rc rc = check_conf(conf, address, err);
    return rc ? rc : ops->connect(conf, address, out, err);
}

void comm_link_disconnect(struct comm_link_client *c)
{
    if (c)
        c->ops->disconnect(c);
}

enum rc comm_link_ask(struct comm_link_client *c, const void *data, size_t n,
                      struct err *err)
{
    if (n == 0 || n > COMM_LINK_MESSAGE_MAX)
        return err_coded(err, RC_INVAL, E2703, "a message of %zu bytes", n);
    return c->ops->ask(c, data, n, err);
}

enum rc comm_link_answer(struct comm_link_client *c, int64_t ms, const void **data,
                         size_t *n, struct err *err)
{
    *data = NULL;
    return c->ops->answer(c, ms, data, n, err);
}
