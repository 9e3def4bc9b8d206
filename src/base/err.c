/* SPDX-License-Identifier: Apache-2.0 */
/* A message is made whole before it replaces the one that is there, which may be among its
 * arguments; one that does not fit ends in "...", and controls are hidden. Around a call of an
 * implementation the first byte of an earlier message is put aside, which is all that it takes.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Messages name files and values of others, and end on a terminal. */
static void make_safe(struct err *err)
{
    utf8_hide_controls(err->msg, strlen(err->msg), false);
}

/* A message that was cut says so. */
static void mark_cut(char *msg, int wanted)
{
    if (wanted >= ERR_MSG_SIZE)
        memcpy(msg + ERR_MSG_SIZE - 4, "...", 4);
}

static void set_message(struct err *err, enum code code, const char *fmt, va_list ap)
    PRINTF_LIKE(3, 0);

static void set_message(struct err *err, enum code code, const char *fmt, va_list ap)
{
    char msg[ERR_MSG_SIZE]; /* the old message may be among the arguments */
    if (!err)
        return;
    err->code = code;
    mark_cut(msg, vsnprintf(msg, sizeof(msg), fmt, ap));
    memcpy(err->msg, msg, strlen(msg) + 1);
    make_safe(err);
}

enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_message(err, E_NONE, fmt, ap);
    va_end(ap);
    return rc;
}

enum rc err_coded(struct err *err, enum rc rc, enum code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_message(err, code, fmt, ap);
    va_end(ap);
    return rc;
}

enum rc err_wrap(struct err *err, enum rc rc, const char *fmt, ...)
{
    if (!err)
        return rc;
    char old[ERR_MSG_SIZE];
    memcpy(old, err->msg, sizeof(old));
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    if (n < 0 || n >= ERR_MSG_SIZE)
        n = ERR_MSG_SIZE - 1;
    size_t room = sizeof(err->msg) - (size_t)n;
    int more = snprintf(err->msg + n, room, ": %s", old);
    mark_cut(err->msg, n + more);
    make_safe(err);
    return rc;
}

enum rc err_sys(struct err *err, int errnum, const char *fmt, ...)
{
    enum rc rc = errnum == ENOENT ? RC_NOTFOUND : errnum == ENOMEM ? RC_NOMEM : RC_IO;
    if (!err)
        return rc;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, E_NONE, fmt, ap);
    va_end(ap);
    size_t n = strlen(err->msg);
    char text[128];
    const char *why = strerror_r(errnum, text, sizeof(text));
    int more = snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", why);
    mark_cut(err->msg, (int)n + more);
    return rc;
}

enum rc err_from(struct err *err, enum rc rc, const char *interface, const char *name,
                 const char *function)
{
    if (!rc)
        return RC_OK;
    if (rc > RC_OK || rc < RC_CANCELED)
        return err_coded(err, RC_INVAL, E0011,
                         "%s '%s': %s() answered %d, which is not an error code",
                         interface, name, function, (int)rc);
    if (!err || err->msg[0])
        return rc;
    return err_coded(err, rc, E0010, "%s '%s': %s() failed without a message (%s)",
                     interface, name, function, rc_name(rc));
}

struct err_call err_enter(struct err *err, const char *interface, const char *name,
                          const char *function)
{
    struct err_call call = {
        .err = err, .interface = interface, .name = name, .function = function};
    if (err) {
        call.code = err->code;
        call.first = err->msg[0];
        err->code = E_NONE;
        err->msg[0] = '\0';
    }
    return call;
}

enum rc err_leave(const struct err_call *call, enum rc rc)
{
    struct err *err = call->err;
    if (rc)
        return err_from(err, rc, call->interface, call->name, call->function);
    if (err && !err->msg[0]) {
        err->code = call->code;
        err->msg[0] = call->first;
    }
    return RC_OK;
}

enum rc err_broken(const struct err_call *call, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_coded(call->err, RC_INVAL, E0011, "%s '%s': %s() %s", call->interface,
                     call->name, call->function, text);
}

enum code err_code_of(const struct err *err, enum rc rc)
{
    if (err && err->code != E_NONE)
        return err->code;
    switch (rc) {
    case RC_OK:
        return E_NONE;
    case RC_NOMEM:
        return E0001;
    case RC_INVAL:
        return E0002;
    case RC_IO:
        return E0003;
    case RC_FORMAT:
        return E0004;
    case RC_NOTFOUND:
        return E0005;
    case RC_UNSUPPORTED:
        return E0006;
    case RC_CANCELED:
        return E0007;
    }
    return E_NONE;
}

const char *rc_name(enum rc rc)
{
    switch (rc) {
    case RC_OK:
        return "ok";
    case RC_NOMEM:
        return "out of memory";
    case RC_INVAL:
        return "invalid";
    case RC_IO:
        return "i/o";
    case RC_FORMAT:
        return "format";
    case RC_NOTFOUND:
        return "not found";
    case RC_UNSUPPORTED:
        return "unsupported";
    case RC_CANCELED:
        return "canceled";
    }
    return "unknown";
}
