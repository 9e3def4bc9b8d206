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

#define ANSWER_MAX ((size_t)1 << 30)

struct serve_server {
    struct serve_options o;
    struct serve_versions *versions;
    struct serve_metrics metrics;
    struct MHD_Daemon *daemon;
    int port;
};

/* An answer: status and body. */
struct serve_answer {
    unsigned status;
    const char *type; /* of the content */
    struct buf body;
};

/* {"error": {"code": ..., "message": ...}} */
void serve_answer_error(struct serve_answer *a, unsigned status, enum code code,
                        const char *fmt, ...) PRINTF_LIKE(4, 5);
/* `body` has room for one more byte and is changed. */
void serve_answer_score(struct serve_server *s, char *body, size_t n,
                        struct serve_answer *a);
void serve_answer_get(struct serve_server *s, const char *path, struct serve_answer *a);
void serve_answer_reload(struct serve_server *s, struct serve_answer *a);
char *serve_answer_describe(const struct serve_version *v) MUST_CHECK;

#endif
