/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/server.h - the server, for commands that start one. */
#ifndef CMD_SERVER_H
#define CMD_SERVER_H

#include "base/err.h"
#include "base/opt.h"

struct store;

/* `conf` is that of cmd_server. See api_check(). */
enum rc server_check(const void *conf, struct err *err) MUST_CHECK;

/* Called once the server answers at `url`, on the thread that started it. */
struct server_hook {
    enum rc (*ready)(void *arg, const char *url, struct store *s, struct err *err);
    void *arg;
};
/* A server with these flags, until SIGTERM or SIGINT. The caller has its lock
 * (cmd/server_lock.h), and the hook speaks in its place.
 */
enum rc server_run_with(const struct opt_args *flags, const struct server_hook *hook,
                        struct err *err) MUST_CHECK;

#endif
