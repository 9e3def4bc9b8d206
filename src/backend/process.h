/* SPDX-License-Identifier: Apache-2.0 */
/* backend/process.h - workers that are processes of this machine, each under a shim. What
 * `local` and `container` have in common; the functions below fit into backend_ops as
 * they are. The handle is the shim's run file.
 */
#ifndef BACKEND_PROCESS_H
#define BACKEND_PROCESS_H

#include "backend/backend.h"
#include "backend/shim.h"

/* `spec` without run, log and grace_s, which come from `w`. `limit`: hold it to the memory
 * of its role by a control group, where that is possible.
 */
enum rc backend_process_start(struct backend_job *j, struct backend_worker *w,
                              struct backend_shim_spec *spec, bool limit,
                              struct err *err) MUST_CHECK;
enum backend_state backend_process_reattach(struct backend_job *j,
                                            struct backend_worker *w);
enum backend_state backend_process_poll(struct backend_job *j, struct backend_worker *w,
                                        struct backend_exit *out);
void backend_process_signal(struct backend_job *j, struct backend_worker *w,
                            enum backend_signal s);
void backend_process_usage(struct backend_job *j, struct backend_worker *const *w,
                           size_t n, struct backend_usage *out);
void backend_process_release(struct backend_job *j, struct backend_worker *w);
/* Sweeps after a death: otherwise shims leave nothing. */
void backend_process_clean(struct backend_job *j, int64_t worker, bool lost);

/* 127.0.0.1, and a port that is free on it. */
void backend_process_address(const struct backend_job *j, int64_t worker,
                             char out[BACKEND_ADDRESS_SIZE]);
int64_t backend_process_port(const struct backend_job *j);

#endif
