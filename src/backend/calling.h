/* SPDX-License-Identifier: Apache-2.0 */
/* backend/calling.h - which method of a backend a supervisor is in.
 *
 * The supervisor notes it in the file `calling` of the job's directory, which it has mapped:
 * the note costs no system call, and it is there whatever becomes of the process. By it the
 * agent tells a supervisor that was ended inside a method, and in which one, and finds
 * methods that do not return.
 */
#ifndef BACKEND_CALLING_H
#define BACKEND_CALLING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BACKEND_CALLING_METHOD 24

struct backend_calling {
    char method[BACKEND_CALLING_METHOD]; /* "": in none */
    int64_t since;                       /* monotonic ns */
    int64_t pid;
};

/* NULL when the file cannot be made: then nothing is noted. */
struct backend_calling *backend_calling_open(const char *dir);
void backend_calling_close(struct backend_calling *c);
/* `c` may be NULL. */
void backend_calling_enter(struct backend_calling *c, const char *method);
void backend_calling_leave(struct backend_calling *c);

/* Of a job's directory: false when its last supervisor is, or was, in no method. */
bool backend_calling_read(const char *dir, struct backend_calling *out);

#endif
