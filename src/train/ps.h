/* SPDX-License-Identifier: Apache-2.0 */
/* train/ps.h - a session whose parameters are kept by parameter servers (dist/ps.h): what a
 * trainer does in place of an update, and what a server is.
 */
#ifndef TRAIN_PS_H
#define TRAIN_PS_H

#include <signal.h>

#include "comm/link.h"
#include "dist/ps.h"

struct train_session;
struct train_ps;

/* All borrowed while it is attached. */
struct train_ps_conf {
    struct dist_ps_job job;
    int worker;
    const struct comm_link_ops *ops;
    struct comm_link_conf link;
    const char *const *servers; /* [job.servers]: HOST:PORT */
    /* Async, in batches of one replica: see dist/ps_client.h. */
    int64_t queue, merge, before_pull, replicas;
    bool sum;
    int64_t geo_step; /* batches between two exchanges */
    int64_t deadline_ms, tries;
};

/* The session was made with dist_ps_lookup_ops, for geo with a local lookup. From then on its
 * steps go to the servers. RC_UNSUPPORTED (E2704): a setting that they cannot train;
 * those of dist_ps_client_create().
 */
enum rc train_ps_attach(struct train_session *s, const struct train_ps_conf *conf,
                        struct train_ps **out, struct err *err) MUST_CHECK;
void train_ps_detach(struct train_ps *p); /* NULL is fine */

/* Behind the backward pass: gradients, or of geo the update and perhaps an exchange. */
enum rc train_ps_step(struct train_ps *p, struct err *err) MUST_CHECK;
/* All steps so far have arrived, and the parameters here are those of the servers. */
enum rc train_ps_settle(struct train_ps *p, struct err *err) MUST_CHECK;
/* Tables, parameters and their optimizers' state are those of the servers: to save. */
enum rc train_ps_fetch(struct train_ps *p, struct err *err) MUST_CHECK;
/* No more steps will come. */
enum rc train_ps_complete(struct train_ps *p, struct err *err) MUST_CHECK;

struct train_ps_serve_conf {
    struct dist_ps_job job;
    int server;
    const struct comm_link_ops *ops;
    struct comm_link_conf link;
    const char *address; /* HOST:PORT to listen at */
    int64_t silence_ms;  /* of a trainer; 0: any */
    /* See dist/ps_server.h; one that is there is gone on from. NULL: none. */
    const char *snapshot;
    int64_t snapshot_ms;
    const volatile sig_atomic_t *stop;
};
/* Serves the session's model until all trainers are done. */
enum rc train_ps_serve(struct train_session *s, const struct train_ps_serve_conf *conf,
                       struct err *err) MUST_CHECK;

#endif
