/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/device.h"

#include <string.h>

#include "base/mem.h"

static const char *missing_method(const struct device_ops *o)
{
    return !o->alloc                        ? "alloc()"
           : !o->free                       ? "free()"
           : !o->copy                       ? "copy()"
           : !o->fill                       ? "fill()"
           : !o->synchronise                ? "synchronise()"
           : !o->executor                   ? "executor"
           : o->open && !o->close           ? "close() beside its open()"
           : o->host_alloc && !o->host_free ? "host_free() beside its host_alloc()"
                                            : NULL;
}

#define ALIGNMENT 64 /* of what alloc() gives, by contract */
#define TRIAL 192    /* bytes */

/* A few bytes go there and come back: what a device gets wrong for all memory is said before a
 * model is built on it.
 */
static enum rc try_memory(const struct err_call *call, const struct device *d,
                          struct err *err)
{
    const struct device_ops *ops = d->ops;
    unsigned char sent[TRIAL], got[TRIAL];
    for (size_t i = 0; i < TRIAL; i++)
        sent[i] = (unsigned char)(7 * i + 1);
    memset(got, 0, sizeof(got));
    unsigned char *at = ops->alloc(d, TRIAL);
    if (!at)
        return err_set(err, RC_NOMEM, "device '%s' has no memory left", ops->name);
    bool aligned = (uintptr_t)at % ALIGNMENT == 0;
    if (aligned) {
        ops->copy(d, at, sent, TRIAL, DEVICE_IN);
        ops->fill(d, at + ALIGNMENT, 0, ALIGNMENT);
        ops->copy(d, got, at, TRIAL, DEVICE_OUT);
        memset(sent + ALIGNMENT, 0, ALIGNMENT);
    }
    enum rc rc = aligned ? device_synchronise(d, err) : RC_OK;
    ops->free(d, at);
    if (!aligned)
        return err_broken(call, "got memory from alloc() that is not aligned to %d bytes",
                          ALIGNMENT);
    if (!rc && memcmp(sent, got, TRIAL) != 0)
        return err_broken(call, "got other bytes back from copy() than went there");
    return rc;
}

enum rc device_open(const struct device_ops *ops, struct device **out, struct err *err)
{
    struct err_call call = err_enter(err, "device", ops->name, "open");
    const char *lacks = missing_method(ops);
    void *state = NULL;
    if (lacks)
        return err_broken(&call, "finds no %s in the device's table", lacks);
    enum rc rc = ops->open ? ops->open(&state, err) : RC_OK;
    bool silent = err && !err->msg[0];
    bool known = rc <= RC_OK && rc >= RC_CANCELED;
    rc = err_leave(&call, rc);
    if (rc)
        return silent || !known ? rc : err_wrap(err, rc, "device '%s'", ops->name);
    struct device *d = mem_calloc(1, sizeof(*d));
    *d = (struct device){ops, state};
    rc = try_memory(&call, d, err);
    if (rc)
        device_close(d);
    else
        *out = d;
    return rc;
}

void device_close(struct device *d)
{
    if (d && d->ops->close)
        d->ops->close(d->state);
    mem_free(d);
}

enum rc device_synchronise(const struct device *d, struct err *err)
{
    struct err_call call = err_enter(err, "device", d->ops->name, "synchronise");
    return err_leave(&call, d->ops->synchronise(d, err));
}

enum rc device_floats_init(struct device_floats *f, const struct device *d, int64_t n)
{
    size_t bytes = ((size_t)n + 1) * sizeof(float);
    *f = (struct device_floats){.device = d, .n = n};
    f->at = d->ops->alloc(d, bytes);
    f->host = d->ops->host_visible ? f->at : mem_try_calloc((size_t)n + 1, sizeof(float));
    if (!f->at || !f->host) {
        device_floats_release(f);
        return RC_NOMEM;
    }
    d->ops->fill(d, f->at, 0, bytes);
    return RC_OK;
}

void device_floats_release(struct device_floats *f)
{
    if (f->host != f->at)
        mem_free(f->host);
    if (f->at)
        f->device->ops->free(f->device, f->at);
    *f = (struct device_floats){0};
}

void device_floats_pull(const struct device_floats *f, int64_t from, int64_t n)
{
    if (f->host != f->at && n)
        f->device->ops->copy(f->device, f->host + from, f->at + from,
                             (size_t)n * sizeof(float), DEVICE_OUT);
}

void device_floats_push(const struct device_floats *f, int64_t from, int64_t n)
{
    if (f->host != f->at && n)
        f->device->ops->copy(f->device, f->at + from, f->host + from,
                             (size_t)n * sizeof(float), DEVICE_IN);
}
