/* SPDX-License-Identifier: Apache-2.0 */
/* http/api_private.h - the server's context. */
#ifndef HTTP_API_PRIVATE_H
#define HTTP_API_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/watchdog.h"
#include "http/api.h"
#include "http/aside.h"
#include "http/auth.h"
#include "http/budget.h"
#include "http/call.h"
#include "http/conns.h"
#include "http/curves.h"
#include "http/execs.h"
#include "http/follow.h"
#include "http/limit.h"
#include "team/net_allow.h"

#define API_CLASSES 6 /* of statuses: 2xx is [2] */

/* Requests that came to nothing are recorded so many at once, and then so many a second, for
 * each user and each address: nobody fills the store by asking for what is refused.
 */
#define API_REFUSALS_RATE 0.2
#define API_REFUSALS_MOST 200

struct api {
    struct api_options o;
    struct MHD_Daemon *daemon;
    int port;
    char *token_file;           /* owned; NULL: there is none any more */
    bool token_new;             /* this start made it */
    char *cert, *key, *peer_ca; /* owned: content of the files */
    char *document;             /* owned */
    char *empty;                /* owned: a directory with nothing in it */
    char *empty_snapshot;       /* owned: the same as a source */
    const char **job_env; /* owned list: what jobs may inherit, NULL behind the last */
    struct team_net_allow *allow; /* hosts of webhooks */
    char *notify_key;             /* owned */
    struct http_auth *auth;
    struct http_limit *callers, *strangers; /* by token; by address, for those without */
    struct http_limit *refusals;            /* in the audit log, by user or address */
    struct http_budget *budget;             /* bytes of requests, by user */
    struct http_conns *conns;
    struct http_aside *aside; /* for requests that take long */
    struct http_follows *follows;
    struct http_changes *changes;
    struct http_curve_cache *curves;
    struct http_run_list *training; /* what was found in o.runs */
    struct http_execs *execs;
    struct http_oidc *oidc;            /* NULL: no provider */
    struct http_ldap *ldap;            /* NULL: none */
    struct http_runs *runs;            /* NULL: this server runs no experiments */
    struct backend_watchdog *watchdog; /* NULL: this server admits no jobs */
    pthread_mutex_t lock;              /* guards `free` */
    struct job_place follow_place, watchdog_place; /* each with its own store */
    pthread_cond_t given;     /* a connection to the store came back */
    struct http_db *free;     /* those that nobody uses */
    pthread_mutex_t writer;   /* SQLite has one writer: it is better to queue here */
    pthread_mutex_t replay;   /* one experiment is read at a time: it may be large */
    _Atomic int64_t *answers; /* [routes + 1][API_CLASSES]; the last: no route */
    _Atomic int64_t submitted;
    _Atomic int64_t body_bytes; /* of all requests that are under way */
};

struct http_db *api_db(struct api *a); /* waits for a free one */
void api_db_back(struct api *a, struct http_db *d);

/* Looks at the head of a request: path, host, token, rate. On failure the call has its
 * status and an error.
 */
enum rc api_admit(struct http_call *c, struct err *err) MUST_CHECK;
/* Reads the body, runs the handler, writes the audit log. */
void api_answer(struct http_call *c);
/* An entry of the audit log, when the answer is of the kind that has one. */
void api_audit(struct http_call *c, struct http_db *d);
/* The JSON of a failure, and its status when none was set. */
void api_fail(struct http_call *c, enum rc rc, const struct err *err);
enum MHD_Result api_reply(struct http_call *c);
void http_call_destroy(struct http_call *c); /* NULL is fine */
void http_call_drop_body(struct http_call *c);
/* Bytes of requests that one user may have under way. */
int64_t http_user_most(const struct api *a);

/* projects.c: limits and weight, as answers tell and requests ask for them. */
struct store_project;
void http_limits_put(struct json_out *j, const struct store_project *p);
struct store_project http_limits_asked(const struct http_call *c, const char *name);

#endif
