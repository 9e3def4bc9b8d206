/* SPDX-License-Identifier: Apache-2.0 */
/* serve/server.h - scores over HTTP: POST /score, GET /model, /samples, /healthz, /metrics, POST
 * /reload. docs/serving.md has the requests and answers.
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct serve_options {
    const char *model;  /* see serve/version.h */
    const char *listen; /* "127.0.0.1:8500", "[::1]:8500"; port 0: any */
    const char *token;  /* NULL: none is asked for */
    int threads;        /* that read, score and answer */
    int64_t max_body, max_items, max_requests;
    double timeout; /* seconds without a byte after which a connection is closed */
};

struct serve_server;

/* Loads the model and listens. RC_* of train_export_open(); RC_INVAL E2108. */
enum rc serve_start(const struct serve_options *o, struct serve_server **out,
                    struct err *err) MUST_CHECK;
/* Takes no further connections, waits up to `grace` seconds for those under way, ends. */
void serve_stop(struct serve_server *s, double grace); /* NULL is fine */

int serve_port(const struct serve_server *s);
/* Looks for a new version. *what says which one serves now, for a line of the log; the
 * caller's, to mem_free(); NULL when nothing changed. E2109.
 */
enum rc serve_reload(struct serve_server *s, bool force, char **what,
                     struct err *err) MUST_CHECK;
/* "deepfm, step 21, version 0123456789abcdef"; the caller's. */
char *serve_describe(struct serve_server *s) MUST_CHECK;

#endif
