/* SPDX-License-Identifier: Apache-2.0 */
/* backend/helper_env.h - the environment of programs that work for a job on the host.
 *
 * Nothing that a job says is in it: a variable such as LD_PRELOAD would run the job's code
 * as whoever runs the helper. A job's variables reach its container through a file.
 */
#ifndef BACKEND_HELPER_ENV_H
#define BACKEND_HELPER_ENV_H

#include "job/contract.h"

/* Whether "NAME=value" is for a container engine: PATH, HOME and where the engine is. */
bool backend_helper_env_is_engine(const char *variable);
/* Whether it is for pip: PATH, HOME, proxies, and where packages come from. */
bool backend_helper_env_is_pip(const char *variable);
/* The same, for packages of a server's users: without an address that holds a password. */
bool backend_helper_env_is_public_pip(const char *variable);
/* Those of `env` (NULL behind the last) that are wanted; PATH in any case. */
void backend_helper_env_fill(struct job_contract_env *out, const char *const *env,
                             bool (*wanted)(const char *variable));

/* Writes a container's variables to `path` (0600), one per line. RC_INVAL (E3018) for one
 * with a line end in it, unless backend_helper_env_by_name().
 */
enum rc backend_helper_env_write(const char *path, const char *const *env,
                                 struct err *err) MUST_CHECK;
/* A variable of the contract's with line ends in its value: its name is ours, so an
 * engine may have it in its own environment and hand it on.
 */
bool backend_helper_env_by_name(const char *variable);

#endif
