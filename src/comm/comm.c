/* SPDX-License-Identifier: Apache-2.0 */
/* Finds implementations and checks arguments, and what implementations answer. What is wrong
 * on one rank alone would leave the others waiting, so a refused call aborts the comm.
 */
#include "comm/comm.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm_private.h"

#define ELEMENTS_MAX ((int64_t)1 << 56) /* of one call: sizes in bytes stay numbers */
#define WORLD_MAX (1 << 24)

static const struct comm_ops *const implementations[] = {
#define COMM(name, ranks) &comm_##name##_ops,
#include "comm/comms.def"
};

static const struct {
    const char *name;
    size_t size;
} types[COMM_TYPES] = {
    [COMM_U8] = {"u8", 1},   [COMM_I32] = {"i32", 4}, [COMM_I64] = {"i64", 8},
    [COMM_F32] = {"f32", 4}, [COMM_F64] = {"f64", 8}, [COMM_BF16] = {"bf16", 2},
};

size_t comm_type_size(enum comm_type t)
{
    return types[t].size;
}

const char *comm_type_name(enum comm_type t)
{
    return types[t].name;
}

int comm_rank(const struct comm *c)
{
    return c ? c->rank : 0;
}

int comm_world(const struct comm *c)
{
    return c ? c->world : 1;
}

static const struct comm *innermost(const struct comm *c)
{
    while (c && c->inner)
        c = c->inner;
    return c;
}

/* Kept as step + 1, so that a file of zeros says none. */
void comm_note_step(struct comm *c, int64_t step)
{
    if (!c)
        return;
    c = (struct comm *)innermost(c);
    atomic_store(c->step ? c->step : &c->own_step, step + 1);
}

int64_t comm_step(const struct comm *c)
{
    c = innermost(c);
    return c ? atomic_load(c->step ? c->step : &c->own_step) - 1 : -1;
}

int64_t comm_ns(const struct comm *c)
{
    return c ? atomic_load(&c->ns) : 0;
}

void comm_add_ns(struct comm *c, int64_t ns)
{
    if (c)
        atomic_fetch_add(&c->ns, ns);
}

void comm_be_patient(struct comm *c, bool patient)
{
    for (; c; c = c->inner)
        atomic_store(&c->patient, patient);
}

int comm_speaker(const struct comm *c)
{
    c = innermost(c);
    return c ? atomic_load(&c->speaker) : 0;
}

/* A call of an implementation under way: what it says, and since when. */
struct timed {
    struct comm *c;
    struct err_call call;
    int64_t start;
};

static struct timed begin(struct comm *c, const char *call, struct err *err)
{
    return (struct timed){.c = c,
                          .call = err_enter(err, "comm", c->ops->name, call),
                          .start = clock_mono_ns()};
}

static enum rc end(const struct timed *t, enum rc rc)
{
    comm_add_ns(t->c, clock_mono_ns() - t->start);
    return err_leave(&t->call, rc);
}

enum rc comm_on_host(struct comm *c, struct comm_mem m, struct err *err)
{
    if (m.device == COMM_HOST)
        return RC_OK;
    struct err why = {0};
    enum rc rc = err_coded(&why, RC_UNSUPPORTED, E2504,
                           "comm '%s' cannot reach the memory of device %d", c->ops->name,
                           (int)m.device);
    c->ops->abort(c, &why); /* the others would wait */
    if (err)
        *err = why;
    return rc;
}

static const char *missing_method(const struct comm_ops *o)
{
    const struct {
        const char *name;
        bool there;
    } methods[] = {
        {"open", o->open},
        {"dup", o->dup},
        {"close", o->close},
        {"abort", o->abort},
        {"barrier", o->barrier},
        {"broadcast", o->broadcast},
        {"all_reduce", o->all_reduce},
        {"reduce_scatter", o->reduce_scatter},
        {"all_gather", o->all_gather},
        {"all_to_all", o->all_to_all},
    };
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (!methods[i].there)
            return methods[i].name;
    return NULL;
}

/* What open() and dup() gave is a comm with all methods, and the rank that was asked for; of
 * any world where `world` is 0.
 */
static enum rc check_comm(const struct err_call *call, struct comm *c, int rank,
                          int world)
{
    if (!c || !c->ops)
        return err_broken(call, "succeeded without a comm");
    const char *lacks = missing_method(c->ops);
    bool one = c->rank >= 0 && c->rank < c->world && c->world <= WORLD_MAX;
    if (!lacks && one && (!world || (c->rank == rank && c->world == world)))
        return RC_OK;
    enum rc rc = lacks  ? err_broken(call, "gave a comm that has no %s()", lacks)
                 : !one ? err_broken(call, "gave rank %d of %d ranks", c->rank, c->world)
                        : err_broken(call, "gave rank %d of %d ranks, not rank %d of %d",
                                     c->rank, c->world, rank, world);
    if (c->ops->close)
        c->ops->close(c);
    return rc;
}

enum rc comm_open_by(const struct comm_ops *ops, const struct comm_conf *conf,
                     struct comm **out, struct err *err)
{
    struct err_call call = err_enter(err, "comm", ops->name, "open");
    struct comm *c = NULL;
    if (!ops->open)
        return err_broken(&call, "is missing");
    enum rc rc = err_leave(&call, ops->open(conf, &c, err));
    if (!rc)
        rc = check_comm(&call, c, conf->rank, conf->world);
    if (rc)
        return rc;
    if (!c->inner && c->step != conf->step) /* one that reads it early has set it */
        c->step = conf->step;
    *out = c;
    return RC_OK;
}

enum rc comm_open(const char *name, const struct comm_conf *conf, struct comm **out,
                  struct err *err)
{
    const struct comm_ops *ops = NULL;
    if (conf->world < 0 || conf->rank < 0 ||
        conf->rank >= (conf->world ? conf->world : 1))
        return err_coded(err, RC_INVAL, E2504, "rank %d is not one of %d ranks",
                         conf->rank, conf->world);
    for (size_t i = 0; i < ARRAY_LEN(implementations) && !ops; i++)
        if (strcmp(implementations[i]->name, name) == 0)
            ops = implementations[i];
    enum rc rc = ops ? RC_OK : comm_plugin_find(name, &ops, err);
    return rc ? rc : comm_open_by(ops, conf, out, err);
}

enum ranks_are { ALONE, THREADS, PROCESSES, USUAL };
static const struct {
    const char *name;
    enum ranks_are ranks;
} kinds[] = {
#define COMM(name, ranks) {#name, ranks},
#define COMM_PLUGIN(name, library, ranks) {#name, ranks},
#include "comm/comms.def"
};

enum rc comm_of_processes(const char *wanted, const char **name, struct err *err)
{
    char there[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (kinds[i].ranks != PROCESSES && kinds[i].ranks != USUAL)
            continue;
        if (wanted ? strcmp(kinds[i].name, wanted) == 0 : kinds[i].ranks == USUAL) {
            *name = kinds[i].name;
            return RC_OK;
        }
        if (n < sizeof(there))
            n += (size_t)snprintf(there + n, sizeof(there) - n, "%s%s", n ? ", " : "",
                                  kinds[i].name);
    }
    return err_coded(err, RC_INVAL, E2504,
                     "comm '%s' does not connect processes; those that do: %s",
                     wanted ? wanted : "", there);
}

enum rc comm_dup(struct comm *c, struct comm **out, struct err *err)
{
    *out = NULL;
    if (!c)
        return RC_OK;
    struct err_call call = err_enter(err, "comm", c->ops->name, "dup");
    struct comm *second = NULL;
    enum rc rc = err_leave(&call, c->ops->dup(c, &second, err));
    if (!rc)
        rc = check_comm(&call, second, c->rank, c->world);
    if (!rc)
        *out = second;
    return rc;
}

void comm_close(struct comm *c)
{
    if (c)
        c->ops->close(c);
}

void comm_abort(struct comm *c, const struct err *why)
{
    if (c)
        c->ops->abort(c, why);
}

/* A NULL comm, as one that can be called. */
static struct comm alone(void)
{
    return (struct comm){.ops = &comm_self_ops, .rank = 0, .world = 1};
}

static enum rc refuse(struct comm *c, enum rc rc, struct err *err)
{
    struct err why = {.code = E2503, .msg = "a call with invalid arguments"};
    comm_abort(c, err ? err : &why);
    return rc;
}

enum rc comm_broken(struct comm *c, const char *call, struct err *err, const char *fmt,
                    ...)
{
    struct err why = {0};
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    enum rc rc = err_coded(&why, RC_INVAL, E0011, "comm '%s': %s() delivered %s",
                           c ? c->ops->name : comm_self_ops.name, call, text);
    comm_abort(c, &why);
    if (err)
        *err = why;
    return rc;
}

/* The sum of what ranks say of themselves; -1: such numbers cannot be. */
static int64_t sum_told(const struct comm *c, const int64_t *told)
{
    int64_t n = 0;
    for (int r = 0; r < comm_world(c); r++) {
        if (told[r] < 0 || told[r] > ELEMENTS_MAX - n)
            return -1;
        n += told[r];
    }
    return n;
}

static enum rc check_count(struct comm *c, const char *call, int64_t n, struct err *err)
{
    if (n >= 0)
        return RC_OK;
    enum rc rc = err_coded(err, RC_INVAL, E2503, "%s: %jd elements", call, (intmax_t)n);
    return refuse(c, rc, err);
}

static enum rc check_counts(struct comm *c, const char *call, const int64_t *counts,
                            struct err *err)
{
    enum rc rc = RC_OK;
    for (int r = 0; r < comm_world(c) && !rc; r++)
        rc = check_count(c, call, counts[r], err);
    return rc;
}

static enum rc check_types(struct comm *c, const char *call, struct comm_mem in,
                           struct comm_mem out, struct err *err)
{
    if (in.type == out.type)
        return RC_OK;
    enum rc rc = err_coded(err, RC_INVAL, E2503, "%s: from %s to %s", call,
                           comm_type_name(in.type), comm_type_name(out.type));
    return refuse(c, rc, err);
}

enum rc comm_barrier(struct comm *c, struct err *err)
{
    if (!c)
        return RC_OK;
    struct timed t = begin(c, "barrier", err);
    return end(&t, c->ops->barrier(c, err));
}

enum rc comm_broadcast(struct comm *c, struct comm_mem data, int64_t n, int root,
                       struct err *err)
{
    struct comm one = alone(), *to = c ? c : &one;
    enum rc rc = check_count(c, "broadcast", n, err);
    if (!rc && (root < 0 || root >= to->world)) {
        rc = err_coded(err, RC_INVAL, E2503, "broadcast: root %d of %d ranks", root,
                       to->world);
        refuse(c, rc, err);
    }
    if (rc)
        return rc;
    struct timed t = begin(to, "broadcast", err);
    return end(&t, to->ops->broadcast(to, data, n, root, err));
}

enum rc comm_all_reduce(struct comm *c, struct comm_mem data, int64_t n, enum comm_op op,
                        struct err *err)
{
    struct comm one = alone(), *to = c ? c : &one;
    enum rc rc = check_count(c, "all_reduce", n, err);
    if (rc)
        return rc;
    struct timed t = begin(to, "all_reduce", err);
    return end(&t, to->ops->all_reduce(to, data, n, op, err));
}

enum rc comm_reduce_scatter(struct comm *c, struct comm_mem in, const int64_t *counts,
                            struct comm_mem out, enum comm_op op, struct err *err)
{
    struct comm one = alone(), *to = c ? c : &one;
    enum rc rc = check_types(c, "reduce_scatter", in, out, err);
    if (!rc)
        rc = check_counts(c, "reduce_scatter", counts, err);
    if (rc)
        return rc;
    struct timed t = begin(to, "reduce_scatter", err);
    return end(&t, to->ops->reduce_scatter(to, in, counts, out, op, err));
}

enum rc comm_all_gather(struct comm *c, struct comm_mem in, struct comm_mem out,
                        const int64_t *counts, struct err *err)
{
    struct comm one = alone(), *to = c ? c : &one;
    enum rc rc = check_types(c, "all_gather", in, out, err);
    if (!rc)
        rc = check_counts(c, "all_gather", counts, err);
    if (rc)
        return rc;
    struct timed t = begin(to, "all_gather", err);
    return end(&t, to->ops->all_gather(to, in, out, counts, err));
}

enum rc comm_all_to_all(struct comm *c, struct comm_mem in, const int64_t *send,
                        struct comm_mem out, const int64_t *receive, struct err *err)
{
    struct comm one = alone(), *to = c ? c : &one;
    enum rc rc = check_types(c, "all_to_all", in, out, err);
    if (!rc)
        rc = check_counts(c, "all_to_all", send, err);
    if (!rc)
        rc = check_counts(c, "all_to_all", receive, err);
    if (rc)
        return rc;
    struct timed t = begin(to, "all_to_all", err);
    return end(&t, to->ops->all_to_all(to, in, send, out, receive, err));
}

/* Of a comm without send_all: numbers first, then elements. */
static enum rc send_by_counts(struct comm *c, struct comm_mem in, const int64_t *send,
                              const struct comm_inbox *out, int64_t *receive,
                              struct err *err)
{
    enum rc rc = comm_exchange(c, send, receive, err);
    if (rc)
        return rc;
    int64_t n = sum_told(c, receive);
    if (n < 0)
        return comm_broken(c, "all_to_all", err, "impossible lengths");
    struct comm_mem to = {.type = out->type, .data = out->reserve(out->arg, n)};
    if (n && !to.data) {
        rc = err_coded(err, RC_NOMEM, E2501,
                       "rank %d of %d: send_all: no memory for %jd elements",
                       comm_rank(c), comm_world(c), (intmax_t)n);
        return refuse(c, rc, err);
    }
    return comm_all_to_all(c, in, send, to, receive, err);
}

/* A receiver's inbox, with a note of what was reserved. */
struct noted_inbox {
    const struct comm_inbox *to;
    int64_t n;
};

static void *reserve_noted(void *arg, int64_t n)
{
    struct noted_inbox *x = arg;
    bool can_be = n >= 0 && n <= ELEMENTS_MAX;
    x->n = can_be ? n : -1;
    return can_be ? x->to->reserve(x->to->arg, n) : NULL;
}

static enum rc send_directly(struct comm *c, struct comm_mem in, const int64_t *send,
                             const struct comm_inbox *out, int64_t *receive,
                             struct err *err)
{
    struct noted_inbox x = {.to = out};
    struct comm_inbox to = {.type = out->type, .reserve = reserve_noted, .arg = &x};
    struct timed t = begin(c, "send_all", err);
    enum rc rc = end(&t, c->ops->send_all(c, in, send, &to, receive, err));
    if (!rc && (x.n < 0 || sum_told(c, receive) != x.n))
        return comm_broken(c, "send_all", err, "impossible lengths");
    return rc;
}

enum rc comm_send_all(struct comm *c, struct comm_mem in, const int64_t *send,
                      const struct comm_inbox *out, int64_t *receive, struct err *err)
{
    struct comm one = alone(), *to = c ? c : &one;
    enum rc rc =
        check_types(c, "send_all", in, (struct comm_mem){.type = out->type}, err);
    if (!rc)
        rc = check_counts(c, "send_all", send, err);
    if (rc)
        return rc;
    return to->ops->send_all ? send_directly(to, in, send, out, receive, err)
                             : send_by_counts(to, in, send, out, receive, err);
}

enum rc comm_exchange(struct comm *c, const int64_t *send, int64_t *receive,
                      struct err *err)
{
    int world = comm_world(c);
    int64_t *ones = mem_alloc((size_t)world * sizeof(*ones));
    for (int r = 0; r < world; r++)
        ones[r] = 1;
    enum rc rc = comm_all_to_all(c, comm_i64((int64_t *)(uintptr_t)send), ones,
                                 comm_i64(receive), ones, err);
    mem_free(ones);
    return rc;
}

static enum rc gather_counted(struct comm *c, const void *own, int64_t n_own,
                              const int64_t *counts, void **all, int64_t *n,
                              struct err *err)
{
    *n = sum_told(c, counts);
    if (*n < 0 || counts[comm_rank(c)] != n_own)
        return comm_broken(c, "all_gather", err, "impossible lengths");
    *all = mem_try_alloc((size_t)*n + 1, 1);
    if (!*all) {
        enum rc rc =
            err_set(err, RC_NOMEM, "no memory for %jd bytes of all ranks", (intmax_t)*n);
        return refuse(c, rc, err);
    }
    ((char *)*all)[*n] = '\0';
    return comm_all_gather(c, comm_bytes((void *)(uintptr_t)own), comm_bytes(*all),
                           counts, err);
}

enum rc comm_gather_bytes(struct comm *c, const void *own, int64_t n_own, void **all,
                          int64_t *n, struct err *err)
{
    size_t world = (size_t)comm_world(c);
    int64_t *counts = mem_alloc(2 * world * sizeof(*counts)), *ones = counts + world;
    for (size_t r = 0; r < world; r++)
        ones[r] = 1;
    *all = NULL;
    enum rc rc = comm_all_gather(c, comm_i64(&n_own), comm_i64(counts), ones, err);
    if (!rc)
        rc = gather_counted(c, own, n_own, counts, all, n, err);
    if (rc) {
        mem_free(*all);
        *all = NULL;
    }
    mem_free(counts);
    return rc;
}
