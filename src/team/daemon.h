/* SPDX-License-Identifier: Apache-2.0 */
/* team/daemon.h - what a server does by itself: leads if nobody else does, fires
 * schedules, notices what is to be told, and tells it.
 *
 * Three threads with stores of their own decide, send and renew the lease, so that none
 * waits for another. Any number of daemons may run on one store.
 */
#ifndef TEAM_DAEMON_H
#define TEAM_DAEMON_H

#include "job/place.h"

struct team_daemon;

/* All borrowed, as long as the daemon lives. */
struct team_daemon_conf {
    const struct job_place *place; /* its store is not used: `where` is opened */
    const char *const *env;        /* of jobs that schedules submit */
    const char *allow;             /* hosts of webhooks; see net_allow.h */
    const char *mail_command;      /* NULL: none */
    int redirects;                 /* of webhooks */
    void (*submitted)(void *arg); /* a schedule has submitted a job; NULL: nobody cares */
    void *arg;
};

/* E5302 (the list of hosts), E31xx. */
enum rc team_daemon_create(const struct team_daemon_conf *c, struct team_daemon **out,
                           struct err *err) MUST_CHECK;
/* Waits for the end of what is being done. NULL is fine. */
void team_daemon_destroy(struct team_daemon *s);
bool team_daemon_leads(struct team_daemon *s); /* any thread */

#endif
