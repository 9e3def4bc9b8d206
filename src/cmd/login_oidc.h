/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/login_oidc.h - a token by way of the server's OpenID provider. */
#ifndef CMD_LOGIN_OIDC_H
#define CMD_LOGIN_OIDC_H

#include "cmd/remote.h"

/* In a browser of this machine (authorization code with PKCE), which comes back to `port` of
 * 127.0.0.1, 0: any. r->token is filled in. RC_INVAL (E5034): the provider or the server
 * refuses; RC_CANCELED (E5034): nobody came back in time.
 */
enum rc login_browser(struct remote *r, int64_t port, struct err *err) MUST_CHECK;
/* On another device: a code to type there is shown. */
enum rc login_device(struct remote *r, struct err *err) MUST_CHECK;

#endif
