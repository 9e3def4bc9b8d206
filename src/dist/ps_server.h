/* SPDX-License-Identifier: Apache-2.0 */
/* dist/ps_server.h - a parameter server's side of the conversation: questions of trainers
 * in, answers out, and in the synchronous mode the rounds that all trainers wait for.
 */
#ifndef DIST_PS_SERVER_H
#define DIST_PS_SERVER_H

#include <signal.h>

#include "comm/link.h"
#include "dist/ps_store.h"

struct dist_ps_server;

struct dist_ps_server_conf {
    struct dist_ps_job job;
    struct dist_ps_store *store;   /* borrowed */
    struct comm_link_server *link; /* borrowed */
    char digest[DIST_PS_DIGEST];
    /* A trainer that says nothing for so long counts as gone: its steps are not waited for
     * any more; in the synchronous mode that ends the run. 0: never.
     */
    int64_t silence_ms;
    /* Where it writes what it has every so often, so that one that is started in its place
     * goes on from there; 0: after each update. NULL: nowhere.
     */
    const char *snapshot;
    int64_t snapshot_ms;
    /* Set by a signal: it ends. NULL: none. */
    const volatile sig_atomic_t *stop;
};

struct dist_ps_server *dist_ps_server_create(const struct dist_ps_server_conf *conf);
void dist_ps_server_destroy(struct dist_ps_server *s); /* NULL is fine */

/* What conf.snapshot holds, if it is there, before the first question. RC_FORMAT (E2703): it
 * is damaged, or of another model; RC_IO.
 */
enum rc dist_ps_server_restore(struct dist_ps_server *s, struct err *err) MUST_CHECK;
/* Answers until all trainers are done. RC_IO (E2705): one is gone in the synchronous mode;
 * RC_CANCELED: told to stop.
 */
enum rc dist_ps_server_run(struct dist_ps_server *s, struct err *err) MUST_CHECK;
/* One message; what is wrong with it goes back to whoever sent it. RC_IO, RC_NOMEM: of the
 * server itself.
 */
enum rc dist_ps_server_handle(struct dist_ps_server *s, const struct comm_link_asked *q,
                              struct err *err) MUST_CHECK;

#endif
