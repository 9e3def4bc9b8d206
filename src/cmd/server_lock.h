/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/server_lock.h - one server per directory. Servers that share a database have a directory
 * each, and know nothing of this lock.
 */
#ifndef CMD_SERVER_LOCK_H
#define CMD_SERVER_LOCK_H

#include "base/err.h"

/* Takes the lock of `dir`, which ends with this process at the latest: *fd is the caller's, to
 * close. RC_INVAL (E5021): another server has it; the message says which.
 */
enum rc server_lock_take(const char *dir, int *fd, struct err *err) MUST_CHECK;

#endif
