/* SPDX-License-Identifier: Apache-2.0 */
/* team/chat.h - messages in the form that the robots of chat services take.
 *
 * The target of a rule is the URL that the service shows for its robot. A robot that checks
 * signatures has a secret; it stands behind the URL as `#secret=...`, which is never sent.
 */
#ifndef TEAM_CHAT_H
#define TEAM_CHAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The service of that name; NULL: there is none. */
struct team_chat;
const struct team_chat *team_chat_find(const char *name);

#define TEAM_CHAT_WORDS "dingtalk|feishu|slack"

struct team_chat_message {
    char *url, *body; /* owned */
};
/* `payload` is what an ordinary webhook gets (team_rule_payload()); `now` in ns. */
void team_chat_make(const struct team_chat *c, const char *target, const char *payload,
                    int64_t now, struct team_chat_message *out);
void team_chat_release(struct team_chat_message *m);
/* These services answer 200 and say in the body what was wrong. RC_OK: the message was
 * taken. RC_INVAL: trying again will not help, RC_IO: it may; E5303 both.
 */
enum rc team_chat_judge(const struct team_chat *c, const char *answer,
                        struct err *err) MUST_CHECK;
/* The target without its secret, for lists; the caller's. */
char *team_chat_shown(const char *target);

#endif
