/* SPDX-License-Identifier: Apache-2.0 */
/* base/env.h - the environment of the process, the one place where it is asked.
 *
 * For what belongs to the surroundings by custom (credentials, endpoints, homes) and has
 * no flag. Nothing here changes the environment.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

/* Borrowed from the environment; NULL when it is not set or empty. */
const char *env_get(const char *name);
/* The first of several names, NULL behind the last one, that is set. */
const char *env_first(const char *const *names);
/* A whole number within [lo, hi]; `preset` when it is not set or not one. */
int64_t env_int(const char *name, int64_t lo, int64_t hi, int64_t preset);
bool env_is_true(const char *name); /* 1, true, yes, on in any case */
/* A path below the user's home, to mem_free(); NULL when there is no home. */
char *env_home_path(const char *rest);

#endif
