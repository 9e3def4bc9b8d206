/* SPDX-License-Identifier: Apache-2.0 */
/* team/steward.h - what a server does by itself: leads if nobody else does, fires
 * schedules, notices what is to be told, and tells it.
 *
 * Three threads with stores of their own decide, send and renew the lease, so that none
 * waits for another. Any number of stewards may run on one store.
 */
#ifndef TEAM_STEWARD_H
#define TEAM_STEWARD_H

#include "job/place.h"

struct steward;

/* All borrowed, as long as the steward lives. */
struct steward_conf {
    const struct place *place;    /* its store is not used: `where` is opened */
    const char *const *env;       /* of jobs that schedules submit */
    const char *allow;            /* hosts of webhooks; see net_allow.h */
    const char *mail_command;     /* NULL: none */
    int redirects;                /* of webhooks */
    void (*submitted)(void *arg); /* a schedule has submitted a job; NULL: nobody cares */
    void *arg;
};

/* E5302 (the list of hosts), E31xx. */
enum rc steward_create(const struct steward_conf *c, struct steward **out,
                       struct err *err) MUST_CHECK;
/* Waits for the end of what is being done. NULL is fine. */
void steward_destroy(struct steward *s);
bool steward_leads(struct steward *s); /* any thread */

#endif
