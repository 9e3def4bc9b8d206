/* SPDX-License-Identifier: Apache-2.0 */
/* comm/call.h - what the ranks must agree about in a call, and how they find out that
 * they do not.
 */
#ifndef COMM_CALL_H
#define COMM_CALL_H

#include "comm/comm.h"

enum comm_call_kind {
    CALL_BARRIER,
    CALL_BROADCAST,
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_ALL_TO_ALL,
    CALL_SEND_ALL,
    CALL_DUP,
    CALL_KINDS,
};

/* Numbers alone, so that it can travel as it is. */
struct comm_call {
    int32_t kind, type, op, root;
    int64_t n;       /* elements, where all ranks have as many */
    uint64_t counts; /* comm_call_counts() of a list that all share; 0: none */
};

const char *comm_call_name(int kind); /* "all_reduce"; "an unknown call" */
uint64_t comm_call_counts(const int64_t *counts, int world);

/* RC_INVAL (E2503) when ranks a and b do not make the same call. */
enum rc comm_call_compare(int a, const struct comm_call *of_a, int b,
                          const struct comm_call *of_b, struct err *err) MUST_CHECK;
/* E2503: they disagree about `what`. */
enum rc comm_call_differs(int a, int kind_a, int b, int kind_b, const char *what,
                          struct err *err);

#endif
