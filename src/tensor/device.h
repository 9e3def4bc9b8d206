/* SPDX-License-Identifier: Apache-2.0 */
/* tensor/device.h - what a device is: memory, copies, and an executor of graphs.
 *
 * Everything a model computes with (parameters, activations, optimizer state) lies in the
 * memory of one device and is changed by calls of that device alone. The CPU is the
 * reference (nn/cpu); others are plug-ins that fill the same table. Contract:
 *
 * - Memory: alloc() gives bytes aligned to 64 whose contents are undefined. Unless
 *   `host_visible`, the host must not touch them between calls; it has copies
 *   (struct device_floats here, graph_read() and its like in nn/graph.h).
 * - Order: calls of one thread take effect in the order in which they are made. They may
 *   be queued; copy() out of the device and synchronise() wait for all before them.
 *   free() may be called while calls that use the memory are queued.
 * - The host's memory: copy() of DEVICE_IN has read `from` when it returns, which may be
 *   reused at once; of DEVICE_OUT, `to` is filled. Nothing else of the host's is kept.
 *   Memory of host_alloc() may be read until the next synchronise().
 * - Failure: alloc() and the executor's plan() say so at once. What fails in a queue is
 *   reported by the next synchronise() of any thread, and all results since the one
 *   before are void; the device can be closed, and used no further. copy() does not say
 *   that its bytes are void: whoever acts on results calls synchronise() (graph_wait(),
 *   which a step does behind the forward pass, and a checkpoint before it is made).
 * - Threads: any thread may call, several at a time with different arrays; one graph is
 *   run by one thread at a time. Inside a call a device may use as many as it likes.
 * - Results: the same calls give the same bytes, on any number of threads.
 */
#ifndef TENSOR_DEVICE_H
#define TENSOR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct device;
struct executor_ops; /* nn/executor.h */
struct lookup_ops;   /* embed/lookup.h */

enum device_way { DEVICE_IN, DEVICE_OUT, DEVICE_WITHIN };

struct device_ops {
    const char *name;  /* "cpu" */
    bool host_visible; /* the host may read and write its memory at any time */
    /* Optional: what belongs to one opened device; close() takes what open() made. */
    enum rc (*open)(void **state, struct err *err);
    void (*close)(void *state);
    void *(*alloc)(const struct device *d, size_t bytes); /* NULL: there is none left */
    void (*free)(const struct device *d, void *at);       /* NULL is fine */
    /* Optional: memory of the host that copies to and from the device are quick with;
     * NULL: there is none left. Contents are undefined.
     */
    void *(*host_alloc)(const struct device *d, size_t bytes);
    void (*host_free)(const struct device *d, void *at); /* NULL is fine */
    void (*copy)(const struct device *d, void *to, const void *from, size_t bytes,
                 enum device_way way);
    void (*fill)(const struct device *d, void *at, int byte, size_t bytes);
    enum rc (*synchronise)(const struct device *d, struct err *err);
    /* Optional: which one it is, "NVIDIA H200"; the device's own. */
    const char *(*about)(const struct device *d);
    /* Runs planned graphs and the loops of dense optimizers. */
    const struct executor_ops *executor;
    /* Optional: keeps embedding tables in the device's memory. */
    const struct lookup_ops *lookup;
};

struct device {
    const struct device_ops *ops;
    void *state;
};

/* RC_INVAL (E0011): the table lacks a method that is not optional, or memory is not aligned, or
 * bytes that are copied there and back are others. RC_NOMEM, and what open() says.
 */
enum rc device_open(const struct device_ops *ops, struct device **out,
                    struct err *err) MUST_CHECK;
void device_close(struct device *d); /* NULL is fine; nothing of it is in use */
/* Waits for all that is queued; what failed there is reported here. */
enum rc device_synchronise(const struct device *d, struct err *err) MUST_CHECK;

/* An array of floats on a device, and where the host sees it. */
struct device_floats {
    const struct device *device;
    float *at;   /* [n], the device's */
    float *host; /* [n]: the same where the device is host_visible, else a copy; owned */
    int64_t n;
};

/* RC_NOMEM; the message is the caller's to write. Contents are zeros, on both sides. */
enum rc device_floats_init(struct device_floats *f, const struct device *d,
                           int64_t n) MUST_CHECK;
void device_floats_release(struct device_floats *f);
/* Elements [from, from + n): of the device to the host's copy, and back. */
void device_floats_pull(const struct device_floats *f, int64_t from, int64_t n);
void device_floats_push(const struct device_floats *f, int64_t from, int64_t n);

#endif
