/* SPDX-License-Identifier: Apache-2.0 */
/* team/deliver.h - creates rules of notification, and sends the messages that are due: each
 * at least once, with the same key each time, until the receiver accepts it or a day has
 * passed.
 */
#ifndef TEAM_DELIVER_H
#define TEAM_DELIVER_H

#include "job/place.h"
#include "store/notify.h"
#include "team/net_allow.h"

#define DELIVER_TRIES 30 /* about a day: pauses of 10 s, doubled, an hour at most */

struct team_deliver_conf {
    const struct team_net_allow *allow;
    const char *mail_command; /* NULL: mail is not sent */
    const char *key;          /* secrets of rules are made of it */
    const char *account;      /* see struct job_place */
    int redirects;            /* of webhooks that are followed */
    int timeout_ms;           /* of a webhook; 0: 10 s */
    /* Asked before each message: false ends the round. NULL: always. */
    bool (*may)(void *arg);
    void *arg;
};

/* Sends what is due. *sent: taken by the other side. RC_IO and the like are of the store.
 */
enum rc team_deliver_due(struct store *s, const struct team_deliver_conf *c, int64_t now,
                         int64_t *sent, struct err *err) MUST_CHECK;
/* The pause behind the `tries`-th try, ns. */
int64_t team_deliver_pause(int64_t tries);

/* Checks and writes a rule; r->id is set and the caller's, to mem_free(). E5301, E5302.
 */
enum rc team_deliver_rule_create(struct store *s, const struct team_deliver_conf *c,
                                 struct store_rule *r, struct err *err) MUST_CHECK;
/* The secret that a rule's messages are signed with. */
#define DELIVER_SECRET_SIZE 65
void team_deliver_secret(const struct team_deliver_conf *c, const char *rule,
                         char out[DELIVER_SECRET_SIZE]);
/* The key of this directory, made on first use; the caller's, to mem_free(). */
enum rc team_deliver_key(const char *dir, char **out, struct err *err) MUST_CHECK;

#endif
