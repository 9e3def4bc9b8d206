/* SPDX-License-Identifier: Apache-2.0 */
/* store/servers.h - under which address the files of a machine's jobs are answered. */
#ifndef STORE_SERVERS_H
#define STORE_SERVERS_H

#include "store/store.h"

struct store_server {
    const char *node; /* see struct store_job */
    const char *url;
    int64_t started; /* wall clock, ns */
};
struct store_servers {
    struct arena arena;
    struct store_server *at;
    size_t n;
};
void store_servers_release(struct store_servers *l);
/* The latest server of a node takes the place of those before it. */
enum rc store_server_put(struct store *s, const struct store_server *x,
                         struct err *err) MUST_CHECK;
/* out->n is 0 when no server of that node was ever started. */
enum rc store_server_get(struct store *s, const char *node, struct store_servers *out,
                         struct err *err) MUST_CHECK;

#endif
