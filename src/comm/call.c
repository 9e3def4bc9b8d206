/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/call.h"

#include "base/hash.h"

static const char *const names[CALL_KINDS] = {
    [CALL_BARRIER] = "barrier",       [CALL_BROADCAST] = "broadcast",
    [CALL_ALL_REDUCE] = "all_reduce", [CALL_REDUCE_SCATTER] = "reduce_scatter",
    [CALL_ALL_GATHER] = "all_gather", [CALL_ALL_TO_ALL] = "all_to_all",
    [CALL_SEND_ALL] = "send_all",     [CALL_DUP] = "dup",
};

const char *comm_call_name(int kind)
{
    return kind >= 0 && kind < CALL_KINDS ? names[kind] : "an unknown call";
}

uint64_t comm_call_counts(const int64_t *counts, int world)
{
    return hash_xxh3(counts, (size_t)world * sizeof(*counts));
}

enum rc comm_call_differs(int a, int kind_a, int b, int kind_b, const char *what,
                          struct err *err)
{
    return err_coded(err, RC_INVAL, E2503,
                     "rank %d calls %s, rank %d calls %s: they disagree about %s", a,
                     comm_call_name(kind_a), b, comm_call_name(kind_b), what);
}

enum rc comm_call_compare(int a, const struct comm_call *of_a, int b,
                          const struct comm_call *of_b, struct err *err)
{
    const char *what = of_a->kind != of_b->kind       ? "which call it is"
                       : of_a->type != of_b->type     ? "the type"
                       : of_a->op != of_b->op         ? "the operation"
                       : of_a->root != of_b->root     ? "the root"
                       : of_a->n != of_b->n           ? "the number of elements"
                       : of_a->counts != of_b->counts ? "the counts"
                                                      : NULL;
    if (!what)
        return RC_OK;
    return comm_call_differs(a, of_a->kind, b, of_b->kind, what, err);
}
