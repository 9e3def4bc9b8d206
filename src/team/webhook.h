/* SPDX-License-Identifier: Apache-2.0 */
/* team/webhook.h - one message to one URL, with all precautions.
 *
 *     POST, application/json
 *     X-Trainyard-Delivery: key      the same for every try of one message
 *     X-Trainyard-Timestamp: 1700000000
 *     X-Trainyard-Signature: sha256=HEX    HMAC-SHA256 of "TIMESTAMP.BODY"
 *
 * http and https only, certificates checked, no proxies, no credentials in the URL; the
 * host must be allowed, and the address that it resolves to is checked when the
 * connection is made. Redirects are failures unless they are asked for; each is checked
 * like the first URL, and only 307 and 308 keep a POST a POST.
 */
#ifndef TEAM_WEBHOOK_H
#define TEAM_WEBHOOK_H

#include "base/err.h"
#include "team/net_allow.h"

struct team_webhook_conf {
    const struct team_net_allow *allow;
    int redirects;  /* that are followed; 0: none */
    int timeout_ms; /* of a whole try; 0: 10 s */
};

struct team_webhook_message {
    const char *url, *key, *body;
    const char *secret; /* of the signature; NULL: none */
    int64_t time;       /* seconds since 1970 */
    /* Of an answer with status 2xx, whether the message was taken: RC_OK, RC_INVAL (it
     * never will be), RC_IO. NULL: it was. */
    enum rc (*judge)(const void *arg, const char *answer, struct err *err);
    const void *arg;
};

/* Is it a URL that could be sent to at all? RC_INVAL (E5301, E5302). */
enum rc team_webhook_check(const struct team_net_allow *allow, const char *url,
                           struct err *err) MUST_CHECK;
/* RC_OK: a status of 2xx. RC_INVAL: trying again will not help (E5302, E5303), any other
 * rc: it may (E5303).
 */
enum rc team_webhook_send(const struct team_webhook_conf *c,
                          const struct team_webhook_message *m,
                          struct err *err) MUST_CHECK;

#endif
