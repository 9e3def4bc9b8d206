/* SPDX-License-Identifier: Apache-2.0 */
/* comm/comm.h - collectives among the ranks of one training run.
 *
 *     struct comm *c = NULL; // a single rank
 *     float grads[4] = {0};
 *     enum rc rc = comm_all_reduce(c, comm_f32(grads), 4, COMM_SUM, err);
 *
 * A rank is one participant of `world`, numbered from 0. A NULL comm is a single rank, so
 * code that knows of ranks costs nothing without them.
 *
 * Every call but comm_abort() and comm_close() is collective: all ranks make the same
 * calls in the same order, with the same type, operation, root and counts. It returns
 * when this rank's result is complete and its input may be changed again. One thread at
 * a time uses a comm; another thread that communicates meanwhile needs its own, from
 * comm_dup().
 *
 * Results do not depend on timing. A reduction combines the values of rank 0, 1, 2, ...
 * in that order, element by element: (x0 + x1) + x2. bf16 is added in f32 and rounded
 * once, at the end. MIN and MAX of a NaN are NaN. All ranks get the same bytes.
 *
 * Failure. A call never waits longer than the comm's timeout for a peer that does not
 * come. When a rank aborts, closes its comm, disagrees with the others about a call or
 * does not come in time, the comm is broken: the call under way and every later one
 * returns that error on every rank (E2501 a peer gave up, E2502 a timeout, E2503
 * disagreement; RC_IO, RC_NOMEM). What the outputs hold then is undefined, and where ranks
 * are processes a peer may still read or write the memory of that call: it is not used
 * for anything else. There is no way back: the process closes the comm and ends, and the
 * run goes on from its last checkpoint.
 */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum comm_type { COMM_U8, COMM_I32, COMM_I64, COMM_F32, COMM_F64, COMM_BF16, COMM_TYPES };
enum comm_op { COMM_SUM, COMM_MIN, COMM_MAX };
enum comm_device { COMM_HOST }; /* where memory lies; a device plug-in adds its own */

size_t comm_type_size(enum comm_type t);
const char *comm_type_name(enum comm_type t); /* "f32" */

/* Elements in memory; borrowed for the call. NULL data is fine for no elements. */
struct comm_mem {
    void *data;
    enum comm_type type;
    enum comm_device device;
};
static inline struct comm_mem comm_f32(float *data)
{
    return (struct comm_mem){.data = data, .type = COMM_F32};
}
static inline struct comm_mem comm_i64(int64_t *data)
{
    return (struct comm_mem){.data = data, .type = COMM_I64};
}
static inline struct comm_mem comm_bytes(void *data)
{
    return (struct comm_mem){.data = data, .type = COMM_U8};
}

struct comm_group; /* comm/threads.h */

struct comm_conf {
    int rank, world;          /* world 0: as whoever started the processes says (mpi) */
    int64_t timeout_ms;       /* for a peer in one call; 0: COMM_TIMEOUT_MS */
    struct comm_group *group; /* threads: what the ranks meet in; others: NULL */
    int64_t piece;            /* mpi: most elements of a message; 0: what MPI allows */
    int64_t silence_ms; /* mpi: a rank not heard of for so long fails the run; 0: off */
    /* Where comm_note_step() writes, as step + 1, so that a file of zeros says none; must
     * outlive the comm. NULL: in the comm. comm_open() sees to it for every implementation;
     * one that reads comm_step() in a thread of its own takes it over before it starts that.
     * A comm of comm_dup() counts for itself, from none.
     */
    _Atomic int64_t *step;
};
#define COMM_TIMEOUT_MS 600000

/* What an implementation's struct begins with. */
struct comm {
    const struct comm_ops *ops;
    int rank, world;
    _Atomic int64_t ns; /* that this rank has spent in calls; comm.c counts */
    /* Nobody waits for the call under way: it leaves the core to others. */
    _Atomic bool patient;
    _Atomic int64_t *step;    /* of comm_conf; borrowed; NULL: own_step */
    _Atomic int64_t own_step; /* + 1; 0: none yet */
    /* Whose message of a failure counts: 0, unless the implementation learns that rank 0 is
     * not heard of. It sets this, from any thread, before the call that fails returns.
     */
    _Atomic int speaker;
    struct comm *inner; /* of comm_wrap.h: has the step and the speaker; else NULL */
};

/* Where elements go of which only the sender knows how many there are: `reserve` makes room
 * for n of them, NULL when there is no memory.
 */
struct comm_inbox {
    enum comm_type type;
    void *(*reserve)(void *arg, int64_t n);
    void *arg;
};

/* One way to reach the other ranks. The functions of this header check arguments, then
 * call these; `c` is never NULL here. A failure has a message; one that has none gets E0010.
 * A call on memory of a device that the implementation does not know is RC_UNSUPPORTED (E2504).
 *
 * All methods must be there but send_all, which is made of two all_to_all else: comm_open()
 * and comm_dup() refuse a comm without one of them, and success without a comm (E0011). A comm
 * that changes a few calls of another starts from comm/comm_wrap.h.
 */
struct comm_ops {
    const char *name, *summary;
    enum rc (*open)(const struct comm_conf *conf, struct comm **out, struct err *err);
    enum rc (*dup)(struct comm *c, struct comm **out, struct err *err);
    void (*close)(struct comm *c);
    void (*abort)(struct comm *c, const struct err *why);
    enum rc (*barrier)(struct comm *c, struct err *err);
    enum rc (*broadcast)(struct comm *c, struct comm_mem data, int64_t n, int root,
                         struct err *err);
    enum rc (*all_reduce)(struct comm *c, struct comm_mem data, int64_t n,
                          enum comm_op op, struct err *err);
    enum rc (*reduce_scatter)(struct comm *c, struct comm_mem in, const int64_t *counts,
                              struct comm_mem out, enum comm_op op, struct err *err);
    enum rc (*all_gather)(struct comm *c, struct comm_mem in, struct comm_mem out,
                          const int64_t *counts, struct err *err);
    enum rc (*all_to_all)(struct comm *c, struct comm_mem in, const int64_t *send,
                          struct comm_mem out, const int64_t *receive, struct err *err);
    /* Optional. */
    enum rc (*send_all)(struct comm *c, struct comm_mem in, const int64_t *send,
                        const struct comm_inbox *out, int64_t *receive, struct err *err);
};

#define COMM(name, ranks) extern const struct comm_ops comm_##name##_ops;
#include "comm/comms.def"

/* By its name in comms.def; RC_NOTFOUND (E2504), RC_INVAL (E0011). Opening is collective where ranks are
 * processes. On success *out is the caller's, to comm_close().
 */
enum rc comm_open(const char *name, const struct comm_conf *conf, struct comm **out,
                  struct err *err) MUST_CHECK;
/* The comm of ranks that are processes: the one called `wanted`, or the first of comms.def
 * where that is NULL. RC_INVAL (E2504): `wanted` is none of them. *name is a constant.
 */
enum rc comm_of_processes(const char *wanted, const char **name,
                          struct err *err) MUST_CHECK;
/* Collective: a second comm among the same ranks, for another thread of each. */
enum rc comm_dup(struct comm *c, struct comm **out, struct err *err) MUST_CHECK;
/* NULL is fine; the comms of a process in any order. A peer that still waits for this rank
 * gets E2501. Over MPI the last one to be closed waits until all ranks have come so far,
 * unless it is broken.
 */
void comm_close(struct comm *c);
/* Breaks the comm for all ranks, with the caller's reason; returns at once. Any thread.
 * With one rank there is nobody to tell: nothing happens.
 */
void comm_abort(struct comm *c, const struct err *why);

int comm_rank(const struct comm *c);  /* 0 for NULL */
int comm_world(const struct comm *c); /* 1 for NULL */

/* The step that this rank is at, for messages; -1: none yet. Any thread. */
void comm_note_step(struct comm *c, int64_t step);
int64_t comm_step(const struct comm *c);
/* Nanoseconds that this rank has spent in calls so far, most of them waiting. */
int64_t comm_ns(const struct comm *c);
void comm_add_ns(struct comm *c, int64_t ns);
/* Calls leave the core to whoever computes, because nobody waits for them. Any thread. */
void comm_be_patient(struct comm *c, bool patient);
/* The rank that tells the user why a run failed: 0, unless that one is not heard of. */
int comm_speaker(const struct comm *c);

enum rc comm_barrier(struct comm *c, struct err *err) MUST_CHECK;
/* data[n] of `root` to all. */
enum rc comm_broadcast(struct comm *c, struct comm_mem data, int64_t n, int root,
                       struct err *err) MUST_CHECK;
/* In place: data[n] of all ranks, combined, on all ranks. */
enum rc comm_all_reduce(struct comm *c, struct comm_mem data, int64_t n, enum comm_op op,
                        struct err *err) MUST_CHECK;
/* in[sum of counts] of all ranks is combined; rank r gets the counts[r] elements behind
 * those of ranks before it. `out` does not overlap `in`. Counts may be 0.
 */
enum rc comm_reduce_scatter(struct comm *c, struct comm_mem in, const int64_t *counts,
                            struct comm_mem out, enum comm_op op,
                            struct err *err) MUST_CHECK;
/* in[counts[rank]] of all ranks, one behind the other in the order of ranks, to out[sum
 * of counts] of all. `in` may be this rank's own place in `out`.
 */
enum rc comm_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                        const int64_t *counts, struct err *err) MUST_CHECK;
/* The same for bytes of which no rank knows how many the others have. *all is the caller's,
 * to mem_free(); *n: its bytes, behind which stands a zero. RC_NOMEM; E0011: impossible
 * lengths.
 */
enum rc comm_gather_bytes(struct comm *c, const void *own, int64_t n_own, void **all,
                          int64_t *n, struct err *err) MUST_CHECK;
/* `in` holds send[s] elements for each rank s, `out` gets receive[s] from each, both in
 * the order of ranks and without gaps. They do not overlap. send[s] here is receive[r]
 * there; comm_exchange() tells ranks what to expect.
 */
enum rc comm_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                        struct comm_mem out, const int64_t *receive,
                        struct err *err) MUST_CHECK;
/* The same where receivers do not know what they will get: receive[s] is what came from rank
 * s, as many together as were reserved. RC_NOMEM; E0011: impossible lengths.
 */
enum rc comm_send_all(struct comm *c, struct comm_mem in, const int64_t *send,
                      const struct comm_inbox *out, int64_t *receive,
                      struct err *err) MUST_CHECK;
/* What a call delivered cannot be what other ranks sent: RC_INVAL (E0011), "comm 'mpi':
 * broadcast() delivered " and the words, and breaks the comm, so that nobody waits. For whoever
 * reads what has arrived, before it is used as a size, an index or a text.
 */
enum rc comm_broken(struct comm *c, const char *call, struct err *err, const char *fmt,
                    ...) PRINTF_LIKE(4, 5);
/* One number for each rank: receive[s] is what rank s gave as send[this rank]. */
enum rc comm_exchange(struct comm *c, const int64_t *send, int64_t *receive,
                      struct err *err) MUST_CHECK;

#endif
