/* SPDX-License-Identifier: Apache-2.0 */
/* serve/server_private.h - between the HTTP side (server.c) and what is answered
 * (answer.c).
 */
#ifndef SERVE_SERVER_PRIVATE_H
#define SERVE_SERVER_PRIVATE_H

#include "base/str.h"
#include "serve/metrics.h"
#include "serve/server.h"
#include "serve/version.h"

struct server {
    struct server_options o;
    struct versions *versions;
    struct metrics metrics;
    struct MHD_Daemon *daemon;
    int port;
};

/* An answer: status and body. */
struct answer {
    unsigned status;
    const char *type; /* of the content */
    struct buf body;
};

/* {"error": {"code": ..., "message": ...}} */
void answer_error(struct answer *a, unsigned status, enum code code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* `body` has room for one more byte and is changed. */
void answer_score(struct server *s, char *body, size_t n, struct answer *a);
void answer_get(struct server *s, const char *path, struct answer *a);
void answer_reload(struct server *s, struct answer *a);
char *answer_describe(const struct version *v) MUST_CHECK;

#endif
