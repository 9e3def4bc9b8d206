/* SPDX-License-Identifier: Apache-2.0 */
/* http/call.h - one request while it is answered, and what handlers do with it. */
#ifndef HTTP_CALL_H
#define HTTP_CALL_H

#include <microhttpd.h>

#include "http/auth.h"
#include "http/route.h"
#include "io/httpd.h"
#include "job/place.h"
#include "text/json_out.h"

struct api;

#define HTTP_HEADERS_MAX 6

/* A connection to the store, for one request at a time. */
struct http_db {
    struct store *store;
    struct http_db *next; /* of those that are free */
};

struct http_call {
    struct api *api;
    struct MHD_Connection *conn;
    struct arena arena;
    const char *uri; /* as it came */
    struct http_target target;
    const struct http_route *route; /* NULL until it is found */
    const char *params[ROUTE_PARAMS_MAX];
    struct http_caller who;
    const char *bearer; /* "Bearer TOKEN", by whatever way it came; NULL: none */
    bool by_cookie;     /* it came as a session's cookie: of a browser */
    char address[HTTPD_ADDRESS_SIZE];
    bool begun;    /* the head was looked at */
    bool answered; /* before the body came */
    bool aside;    /* by a thread for requests that take long */
    struct httpd_body raw;
    int64_t held;       /* bytes of the body that count for its sender */
    bool over;          /* the sender has too much under way */
    bool hang_up;       /* nothing that follows on the connection is believed */
    struct node *query; /* checked; in the arena */
    struct doc doc;     /* of a JSON body */
    struct node *body;  /* its root, checked; NULL: none */

    /* While a handler runs. */
    struct http_db *db;
    bool locks;             /* it changes something, and the store has one writer */
    bool locked;            /* between http_call_lock() and http_call_unlock() */
    struct job_place place; /* with the connection's store and the caller as owner */

    /* The answer. */
    unsigned status; /* 0: the route's */
    const char *type;
    struct buf out;
    struct json_out json; /* writes to `out` */
    const char *allow;    /* header, or NULL */
    const char *location; /* header, or NULL */
    const char *policy;   /* header Content-Security-Policy; NULL: nothing is allowed */
    const char *cache;    /* header Cache-Control; NULL: no-store */
    const char *headers[HTTP_HEADERS_MAX][2]; /* further ones; see http_call_header() */
    size_t n_headers;
    int64_t log_size, log_attempt;  /* headers when log_attempt is above 0 */
    int64_t log_next;               /* header: where to go on; 0: none */
    bool log_over;                  /* header: the log grows no more */
    struct MHD_Response *streaming; /* instead of `out`; owned until it is sent */
    struct diags *problems;         /* owned; more than one thing was wrong */
};

/* The job params[0] if the caller may see it; RC_NOTFOUND (E3103), as if it were not
 * there, otherwise. Who may see a job may control it, if the role allows that at all.
 */
enum rc http_call_job(struct http_call *c, struct store_jobs *out,
                      struct err *err) MUST_CHECK;
/* The same for a request about the job's files. *elsewhere: they lie at another server, and
 * its answer (or why there is none) is the answer to this request.
 */
enum rc http_call_files(struct http_call *c, struct store_jobs *out, bool *elsewhere,
                        struct err *err) MUST_CHECK;
/* Where the outputs of a job are: in this server's directory or behind it in the store of
 * artifacts, only in that store (another server ran the job), or at another server.
 */
enum http_files { FILES_HERE, FILES_STORED, FILES_AWAY };
enum rc http_call_outputs(struct http_call *c, struct store_jobs *out,
                          enum http_files *where, struct err *err) MUST_CHECK;
/* Whether the files of a job lie at another server. */
bool http_call_elsewhere(const struct http_call *c, const struct store_job *j);
/* Is `project` the caller's, or is the caller an admin? */
bool http_call_in_project(const struct http_call *c, const char *project);
/* Does it belong to the caller, or does the caller administer its project or the server? */
bool http_call_owns(const struct http_call *c, const char *owner, const char *project);
/* RC_INVAL (E5010) with status 403 when not; `what`: "job". */
enum rc http_call_need_owner(struct http_call *c, const char *what, const char *owner,
                             const char *project, struct err *err) MUST_CHECK;
/* RC_INVAL (E5010) with status 403. */
enum rc http_call_forbid(struct http_call *c, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* people.c: RC_INVAL (E5016) with status 409 when `except` is the last admin. */
enum rc http_keep_an_admin(struct http_call *c, const char *except,
                           struct err *err) MUST_CHECK;
/* models.c: may the caller see it? */
struct store_model;
bool http_call_sees_model(const struct http_call *c, const struct store_model *m);

/* SQLite has one writer, so handlers that change something hold a lock: those that are
 * answered aside (http/aside.h) do not, nor does one between unlock and lock, where it waits
 * for files or for others. A second lock, or unlock, does nothing, and nothing happens where
 * there is no such lock.
 */
void http_call_lock(struct http_call *c);
void http_call_unlock(struct http_call *c);

/* A header of the answer, which is dropped should it be an error. Texts live as long as the
 * call.
 */
void http_call_header(struct http_call *c, const char *name, const char *value);

/* One job as JSON into c->json; `key` as in json_out. */
void http_call_put_job(struct http_call *c, const char *key, const struct store_job *j);

#endif
