/* SPDX-License-Identifier: Apache-2.0 */
/* backend/call.h - the one way to a backend's methods. Each function calls the method of
 * its name, where there is one, and holds the answer against the contract in backend.h, so
 * that no backend, however wrong, gives a job that never ends, a failure without words, or
 * a number that nobody knows. An answer outside the contract becomes a failure with E3208
 * and a message that names backend, method and value; in the life of a worker it is an end
 * with the reason BackendFault.
 */
#ifndef BACKEND_CALL_H
#define BACKEND_CALL_H

#include "backend/backend.h"

/* Does it have every method that is not optional? E3208: the message names the first that
 * is missing. Asked before any method is called: by backend_call_probe(), and where a job
 * finds its backend.
 */
enum rc backend_call_check(const struct backend_ops *b, struct err *err) MUST_CHECK;
/* As the methods; a failure always has a message and a code. E3208, E3209. */
enum rc backend_call_probe(const struct backend_ops *b, const char *dir,
                           struct err *err) MUST_CHECK;
enum rc backend_call_capacity(const struct backend_ops *b, const char *slots,
                              struct backend_queue_need *out, struct err *err) MUST_CHECK;
enum rc backend_call_open(struct backend_job *j, struct err *err) MUST_CHECK;
enum rc backend_call_prepare(struct backend_job *j, struct err *err) MUST_CHECK;
enum rc backend_call_packages(struct backend_job *j, struct arena *a,
                              const char *const **argv, struct job_contract_env *env,
                              struct err *err) MUST_CHECK;
enum rc backend_call_address(const struct backend_job *j, int64_t worker,
                             char out[BACKEND_ADDRESS_SIZE], struct err *err) MUST_CHECK;
enum rc backend_call_port(const struct backend_job *j, int64_t *out,
                          struct err *err) MUST_CHECK;
/* RC_OK: all of them have `started` and a handle. */
enum rc backend_call_start(struct backend_job *j, struct backend_launch *at, size_t n,
                           struct err *err) MUST_CHECK;
/* A fault is LOST; the next backend_call_poll() tells it as the reason of the end. */
enum backend_state backend_call_reattach(struct backend_job *j, struct backend_worker *w);
enum rc backend_call_refresh(struct backend_job *j, struct err *err) MUST_CHECK;
/* `out` is always filled. A fault is LOST, or ENDED where the worker surely has. */
enum backend_state backend_call_poll(struct backend_job *j, struct backend_worker *w,
                                     struct backend_exit *out);
void backend_call_signal(struct backend_job *j, struct backend_worker *w,
                         enum backend_signal s);
/* False also when logs() says that there is more and brings nothing. */
bool backend_call_logs(struct backend_job *j, struct backend_worker *w,
                       struct backend_log *log);
void backend_call_usage(struct backend_job *j, struct backend_worker *const *w, size_t n,
                        struct backend_usage *out);
enum rc backend_call_enter(struct backend_job *j, const struct backend_entry *e,
                           const char *const *argv, struct arena *a,
                           const char *const **out, struct job_contract_env *env,
                           struct err *err) MUST_CHECK;
/* Any number of times: the method is called once for each start() or reattach(). */
void backend_call_release(struct backend_job *j, struct backend_worker *w);
void backend_call_clean(struct backend_job *j, int64_t worker, bool lost);
/* Any number of times: the method is called once behind an open() that succeeded. */
void backend_call_close(struct backend_job *j, bool ended);

#endif
