/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.h - how a function says that it failed.
 *
 * It returns an enum rc (for programs) and fills a struct err (for a person): a message
 * that reads outside-in, and a stable code that `trainyard explain CODE` describes.
 * Callers add only the context that they alone know, with err_wrap(). `err` may be NULL
 * everywhere.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/code.h"
#include "base/compiler.h"

enum rc {
    RC_OK = 0,
    RC_NOMEM = -1,
    RC_INVAL = -2,
    RC_IO = -3,
    RC_FORMAT = -4,
    RC_NOTFOUND = -5,
    RC_UNSUPPORTED = -6,
    RC_CANCELED = -7,
};

#define ERR_MSG_SIZE 1020

struct err {
    enum code code; /* E_NONE: use err_code_of() */
    int exit;       /* status that the program shall end with; 0: as the code says */
    char msg[ERR_MSG_SIZE];
};

/* Each returns `rc`, so that a caller writes `return err_set(err, RC_FORMAT, ...)`. A
 * message that does not fit is cut and ends in "...".
 */
enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...) PRINTF_LIKE(3, 4);
enum rc err_coded(struct err *err, enum rc rc, enum code code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Puts "context: " before the message that is there. */
enum rc err_wrap(struct err *err, enum rc rc, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Appends strerror(errnum); the code follows from errnum (ENOENT: RC_NOTFOUND, ENOMEM:
 * RC_NOMEM, everything else RC_IO).
 */
enum rc err_sys(struct err *err, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* For the functions of an interface, around what an implementation returned: hands `rc` on,
 * and gives a failure without a message one that names the implementation and the function
 * (E0010): "lookup 'remote': prepare() failed without a message (i/o)". What is no value of
 * enum rc is RC_INVAL (E0011): "lookup 'remote': prepare() answered 3, which is not a code of
 * failure".
 */
enum rc err_from(struct err *err, enum rc rc, const char *interface, const char *name,
                 const char *function);

/* The same where `err` may hold words of an earlier failure, which must not become those of
 * this one:
 *
 *     struct err_call call = err_enter(err, "lookup", l->ops->name, "prepare");
 *     return err_leave(&call, l->ops->prepare(l, ids, training, err));
 *
 * They are back when the call has succeeded.
 */
struct err_call {
    struct err *err; /* borrowed; may be NULL */
    const char *interface, *name, *function;
    enum code code; /* and what the message began with, of the earlier failure */
    char first;
};
struct err_call err_enter(struct err *err, const char *interface, const char *name,
                          const char *function);
enum rc err_leave(const struct err_call *call, enum rc rc);
/* A call that succeeded and did not do what its contract says: RC_INVAL (E0011), "lookup
 * 'remote': create() " and the words.
 */
enum rc err_broken(const struct err_call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The code of a failure: the one it carries, or the general one for its rc. */
enum code err_code_of(const struct err *err, enum rc rc);
const char *rc_name(enum rc rc); /* "invalid", "i/o", ... */

#endif
