/* SPDX-License-Identifier: Apache-2.0 */
/* Logging in through an OpenID provider or LDAP. */
#include "http/role.h"
#include "http/schemas_private.h"

static const struct http_schema_item LoginWays_items[] = {
    ITEM(oidc, BOOL, "there is an OpenID provider", MUST),
    ITEM(authorization_endpoint, STRING, "where browsers are sent"),
    ITEM(client_id, STRING, "of this server at the provider"),
    ITEM(scope, STRING, "to ask for"),
    ITEM(device, BOOL, "the provider logs in devices without a browser", MUST),
    ITEM(ldap, BOOL, "name and password of LDAP are taken", MUST),
    {0}};
TABLE(LoginWays, "how to log in");

#define NO_NUL .pattern = "^[^\\u0000]*$"

static const struct http_schema_item LoginProof_items[] = {
    ITEM(code, STRING, "that the browser came back with", .min = 1, .max = 4096, NO_NUL),
    ITEM(code_verifier, STRING, "of PKCE", .min = 43, .max = 128, NO_NUL),
    ITEM(redirect_uri, STRING, "that the browser was sent back to", .min = 1, .max = 500,
         NO_NUL),
    ITEM(nonce, STRING, "that the browser was sent with", .min = 16, .max = 200, NO_NUL),
    ITEM(device_code, STRING, "instead: of /login/device", .min = 1, .max = 4096, NO_NUL),
    ITEM(name, STRING, "instead: of an LDAP user", .min = 1, .max = 128, NO_NUL),
    ITEM(password, STRING, "of that user", .min = 0, .max = 1024, NO_NUL),
    {0}};
TABLE(LoginProof, "what a login at the provider left, or name and password");

static const struct http_schema_item LoginMade_items[] = {
    ITEM(pending, BOOL, "nobody has confirmed the device yet; ask again", MUST),
    ITEM(token, STRING, "the secret; it is not kept and never told again"),
    ITEM(name, STRING, "of the user"),
    ITEM(role, STRING, "of the user", .words = ROLE_WORDS),
    ITEM(expires, TIME, "the end of the token"),
    {0}};
TABLE(LoginMade, "a login");

static const struct http_schema_item LoginDevice_items[] = {
    ITEM(device_code, STRING, "for /login", MUST),
    ITEM(user_code, STRING, "for the person to type", MUST),
    ITEM(verification_uri, STRING, "where to type it", MUST),
    ITEM(verification_uri_complete, STRING, "the same with the code in it"),
    ITEM(interval, INT, "seconds between two questions", MUST),
    ITEM(expires_in, INT, "seconds until it is too late", MUST),
    {0}};
TABLE(LoginDevice, "what a device shows");

static const struct http_schema_item SessionNew_items[] = {
    ITEM(token, STRING, "a token of the user", .min = 1, .max = 200, NO_NUL),
    ITEM(link, STRING, "instead: of the address that `trainyard ui` shows", .min = 1,
         .max = 200, NO_NUL),
    {0}};
TABLE(SessionNew, "what a session is opened with");

static const struct http_schema_item Session_items[] = {
    ITEM(name, STRING, "the user", MUST),
    ITEM(role, STRING, "what the session may do", .words = ROLE_WORDS, MUST),
    ITEM(projects, STRINGS, "whose jobs are seen, too", MUST),
    ITEM(leads, STRINGS, "those of them that are administered", MUST),
    ITEM(csrf, STRING,
         "for the header X-Trainyard-Csrf of every change; absent: not by a cookie"),
    ITEM(expires, TIME, "when it ends; absent: never"),
    ITEM(version, STRING, "of the server", MUST),
    ITEM(queue, BOOL, "this server admits jobs", MUST),
    {0}};
TABLE(Session, "a session of a browser");
