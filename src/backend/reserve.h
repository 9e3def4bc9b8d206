/* SPDX-License-Identifier: Apache-2.0 */
/* backend/reserve.h - some room on the disk, for the last words of jobs that filled it.
 *
 * A file of a fixed size in the directory of jobs. When the record of jobs cannot be
 * written any more, it is given up; the agent makes it again when there is room.
 */
#ifndef BACKEND_RESERVE_H
#define BACKEND_RESERVE_H

#include <stdbool.h>

#define RESERVE_BYTES (1 << 20)

void backend_reserve_keep(
    const char *dir); /* does nothing when it is there, or cannot be */
bool backend_reserve_give_up(const char *dir); /* false: there was none */

#endif
